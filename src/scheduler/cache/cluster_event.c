/*
 * Names of events for metrics, as upstream's scheduler has them.
 */
#include "scheduler/cache/cluster_event.h"

#include "base/core/compiler.h"

static const char *const kinds[EVENT_KINDS] = {
	[EVENT_ASSIGNED_POD] = "AssignedPod",
	[EVENT_UNSCHEDULED_POD] = "UnscheduledPod",
	[EVENT_NODE] = "Node",
	[EVENT_PVC] = "PersistentVolumeClaim",
	[EVENT_PV] = "PersistentVolume",
	[EVENT_STORAGE_CLASS] = "StorageClass",
	[EVENT_CSI_NODE] = "CSINode",
	[EVENT_CSI_DRIVER] = "CSIDriver",
	[EVENT_CSI_CAPACITY] = "CSIStorageCapacity",
	[EVENT_VOLUME_ATTACHMENT] = "VolumeAttachment",
	[EVENT_CLAIM] = "ResourceClaim",
	[EVENT_CLAIM_TEMPLATE] = "ResourceClaimTemplate",
	[EVENT_SLICE] = "ResourceSlice",
	[EVENT_DEVICE_CLASS] = "DeviceClass",
	[EVENT_TAINT_RULE] = "DeviceTaintRule",
	[EVENT_NAMESPACE] = "Namespace",
	[EVENT_EXTENSION] = "ExtendedResource",
	[EVENT_WILDCARD] = "*",
};

const char *cluster_event_label(const struct cluster_event *e)
{
	return e->label ? e->label : kinds[e->kind];
}

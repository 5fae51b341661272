/*
 * gates - feature gates: their names, defaults, and the values that --feature-gates sets.
 *
 * This table is the only list of gates. Fields and kinds name their gate in schema/; code calls
 * gates_on().
 */
#ifndef API_SCHEMA_GATES_H
#define API_SCHEMA_GATES_H

#include "base/core/error.h"
#include "base/core/str.h"

/*        name                                    default  stage      locked */
#define GATE_MAP(X)                                                         \
	X(DynamicResourceAllocation, true, "GA", true)                      \
	X(DRAAdminAccess, true, "GA", true)                                 \
	X(DRAPrioritizedList, true, "GA", true)                             \
	X(DRAResourceClaimDeviceStatus, true, "GA", false)                  \
	X(DRAExtendedResource, true, "GA", true)                            \
	X(DRADeviceTaints, true, "GA", false)                               \
	X(DRADeviceTaintRules, true, "GA", false)                           \
	X(DRAConsumableCapacity, true, "BETA", false)                       \
	X(DRADeviceBindingConditions, true, "BETA", false)                  \
	X(DRAPartitionableDevices, true, "BETA", false)                     \
	X(DRAFractionalCapacityRange, true, "BETA", false)                  \
	X(DRASchedulerFilterTimeout, true, "BETA", false)                   \
	X(DRAResourceClaimGranularStatusAuthorization, true, "BETA", false) \
	X(DRAWorkloadResourceClaims, false, "BETA", false)                  \
	X(DRADerivedAttributes, false, "ALPHA", false)                      \
	X(DRADeviceCompatibilityGroups, false, "ALPHA", false)              \
	X(DRAListTypeAttributes, false, "ALPHA", false)                     \
	X(DRANodeAllocatableResources, false, "ALPHA", false)               \
	X(DRAOptionalNodeOperations, false, "ALPHA", false)                 \
	X(DRAPartitionableDevicesType, false, "ALPHA", false)               \
	X(DRAResourcePoolStatus, true, "ALPHA", false)                      \
	X(DRAResourceAvailabilityVisibility, true, "ALPHA", false)          \
	X(ResourceHealthStatus, true, "BETA", false)                        \
	X(ResourceHealthStatusMessage, true, "BETA", false)                 \
	X(KubeletPodResourcesWatch, true, "ALPHA", false)                   \
	X(StorageVersionAPI, true, "ALPHA", false)                          \
	X(DeviceAllocationFence, true, "BETA", false)

#define GATE_ENUM(name, initial, stage, locked) GATE_##name,
enum gate { GATE_NONE, GATE_MAP(GATE_ENUM) GATE_COUNT };
#undef GATE_ENUM

struct gates {
	bool on[GATE_COUNT]; /* on[GATE_NONE] is always true */
};

/* Sets the defaults. */
void gates_init(struct gates *g);

/*
 * Applies one "Name=true|false". -ERR_BAD_REQUEST for locked gates, and for unknown ones, with a
 * suggestion.
 */
int gates_set(struct gates *g, struct str assignment, struct error *err);

const char *gate_name(enum gate gate);
/* "ALPHA", "BETA" or, for GA, "", as in the metric kubernetes_feature_enabled. */
const char *gate_stage(enum gate gate);

static inline bool gates_on(const struct gates *g, enum gate gate)
{
	return g->on[gate];
}

#endif

/*
 * disk_status - builds the status of the node's NodeDiskIOStatus, and decides when to publish it.
 *
 * The object is cluster-scoped and named like its node:
 *
 *	spec:   {nodeName}
 *	status: {observedTime, deviceCount,
 *	         summary: {device, readCapacity, readUsed, writeCapacity, writeUsed},
 *	         devices: [{name, primary, attributed,
 *	                    capacity: {readBytesPerSecond, writeBytesPerSecond},
 *	                    used: {readBytesPerSecond, writeBytesPerSecond, utilizationPercent,
 *	                           readOperationsPerSecond, writeOperationsPerSecond},
 *	                    pods: [{uid, readBytesPerSecond, writeBytesPerSecond}]}],
 *	         probe: {device, state, message, readBytesPerSecond, writeBytesPerSecond, startTime,
 *	                 completionTime}}
 *
 * An unknown capacity is omitted. The primary device is the one that the user named, else the one
 * with the highest write capacity, else read capacity, else the first by name. `pods` has the
 * DISK_STATUS_PODS_MAX busiest ones, by UID. `attributed` says whether the control group of any pod
 * has used the device; if so, a pod that is not listed is idle. `summary` describes the primary
 * device for people, with text such as "1.5Mi".
 *
 * No I/O.
 */
#ifndef DRIVERS_DISK_STATUS_H
#define DRIVERS_DISK_STATUS_H

#include "base/json/json.h"
#include "drivers/disk/book.h"
#include "drivers/disk/meter.h"
#include "drivers/disk/spec.h"

#define DISK_GROUP    "diskio.devplane.dev"
#define DISK_VERSION  "v1alpha1"
#define DISK_KIND     "NodeDiskIOStatus"
#define DISK_RESOURCE "nodediskiostatuses"
#define DISK_CRD_NAME DISK_RESOURCE "." DISK_GROUP
/* Annotation of the object: the name of a device to probe. */
#define DISK_PROBE_ANNOTATION DISK_GROUP "/probe"

/* The last probe that the annotation requested. */
struct disk_probe_answer {
	const char *state; /* "Running", "Succeeded", "Failed"; NULL: no probe yet */
	char device[DISK_NAME_SIZE];
	char message[512]; /* why it failed */
	struct disk_capacity found;
	int64_t started, ended; /* wall clock, ns; ended 0: still running */
};

struct disk_status_input {
	const struct disk_meter *meter;
	const struct disk_spec *spec;
	const struct disk_book *book;
	const struct disk_probe_answer *probe;
	int64_t wall; /* ns */
};

/* The user's setting, else the last probe's result, else zeroes. */
struct disk_capacity disk_status_capacity(const struct disk_spec *spec,
					  const struct disk_book *book, const char *device);

/* The device of pods that do not name one. NULL if there is no device. */
const struct disk_device *disk_status_primary(const struct disk_status_input *in);

/*
 * Builds the status; the tree and its text are in the arena. It is sent as a merge patch, so
 * missing members of `summary` and `probe` are null, to remove old values. `probe` is omitted if
 * there was no probe.
 */
struct json *disk_status_tree(struct arena *a, const struct disk_status_input *in);

/*
 * Whether `now` differs enough from `published`. Changes of devices, capacities, the primary device
 * and the probe always count. A rate must change by more than `share` (0.05) of the capacity, or of
 * the larger rate if the capacity is unknown. Changes below 64 KiB/s or 16 operations/s never
 * count, and operations count only if the capacity is unknown.
 */
bool disk_status_changed(const struct json *published, const struct json *now, double share);

#endif

/*
 * disk_status - what the node's NodeDiskIOStatus says, and when that is news.
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
 * A capacity that is not known is left out. The primary device is the one that the user named, else
 * the one with most write capacity, else the one with most read capacity, else the first by name.
 * `pods` has the DISK_STATUS_PODS_MAX busiest, by uid; `attributed` is whether any pod's control
 * group has counted on the device: then a pod that is not there does nothing. `summary` is the
 * primary device's, for people: text such as "1.5Mi".
 *
 * Pure.
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
/* On the object: the name of a device that is to be probed. */
#define DISK_PROBE_ANNOTATION DISK_GROUP "/probe"

/* The definition of that resource, as YAML: examples/disk/crd.yaml without its comments. */
extern const char disk_crd_yaml[];

/* The last probe that was asked for by annotation. */
struct disk_probe_answer {
	const char *state; /* "Running", "Succeeded", "Failed"; NULL: there was none */
	char device[DISK_NAME_SIZE];
	char message[512]; /* why it failed */
	struct disk_capacity found;
	int64_t started, ended; /* wall clock, ns; ended 0: not yet */
};

struct disk_status_input {
	const struct disk_meter *meter;
	const struct disk_spec *spec;
	const struct disk_book *book;
	const struct disk_probe_answer *probe;
	int64_t wall; /* ns */
};

/* The user's word, else the last probe's; zeroes when nobody knows. */
struct disk_capacity disk_status_capacity(const struct disk_spec *spec,
					  const struct disk_book *book, const char *device);

/* The device of pods that do not name one; NULL: no device. */
const struct disk_device *disk_status_primary(const struct disk_status_input *in);

/*
 * In the arena, which also gets all text. A member of `summary` and `probe` that there is none of
 * is null, and `probe` is left out when there was none: as a merge patch it replaces what was
 * there.
 */
struct json *disk_status_tree(struct arena *a, const struct disk_status_input *in);

/*
 * Whether one differs from what was published by more than `share` (0.05): devices, capacities,
 * the primary, a probe at all; a rate by more than that share of the capacity, or, where that is
 * not known, of the larger one. Small change (64 KiB/s, 16 operations/s) is none, and operations
 * matter only where no capacity is known.
 */
bool disk_status_changed(const struct json *published, const struct json *now, double share);

#endif

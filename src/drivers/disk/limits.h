/*
 * disk_limits - computes how much each pod of a node may read and write, so that all get their
 * requests.
 *
 * For a device with a capacity of C bytes per second in one direction, let S be the sum of the
 * granted requests, and n the number of pods that use it now:
 *
 *	limit of a pod = its granted request + (C - S) / n           at least DISK_LIMIT_MIN
 *
 * So the limits of the pods that use it add up to C, and each pod gets its request, whatever the
 * others do. If no pod has a request, or C is unknown, there is no limit.
 *
 * A capacity may be estimated too high, and then limits alone guarantee nothing. So a pod also has
 * a weight, in the proportion of the limits: the part of C that its limit is. A weight has no
 * direction. If the limits of both directions differ, the larger part counts.
 *
 * The author of a pod writes its annotations, and may change them later or bypass the scheduler. So
 * requests are granted only as far as the device has room: earlier grants stay, then older pods
 * come before newer ones. Pods are identified by UID. No I/O.
 */
#ifndef DRIVERS_DISK_LIMITS_H
#define DRIVERS_DISK_LIMITS_H

#include "base/core/vec.h"
#include "drivers/disk/stat.h"

enum { DISK_WEIGHT_MAX = 10000 }; /* the kernel's, of io.weight */

enum disk_direction { DISK_READ, DISK_WRITE, DISK_DIRECTIONS };

/* A pod with a request. */
struct disk_limits_pod {
	char uid[DISK_UID_SIZE];
	char device[DISK_NAME_SIZE]; /* "": the primary device */
	int64_t created; /* creationTimestamp; wall clock, ns */
	int64_t request[DISK_DIRECTIONS]; /* bytes per second */
	int64_t granted[DISK_DIRECTIONS]; /* internal */
};

struct disk_limits {
	VEC(struct disk_limits_pod) pods; /* ordered by creation */
};

struct disk_limits_device {
	const char *name;
	bool primary;
	int64_t capacity[DISK_DIRECTIONS]; /* 0: unknown */
	size_t users[DISK_DIRECTIONS]; /* number of pods that use it now */
	bool limited[DISK_DIRECTIONS]; /* set by disk_limits_grant() */
	int64_t each[DISK_DIRECTIONS]; /* set by it: for each pod, in addition to its request */
};

void disk_limits_init(struct disk_limits *l);
void disk_limits_release(struct disk_limits *l);

/* Adds a pod, or changes its request. `granted` is ignored. */
void disk_limits_put(struct disk_limits *l, const struct disk_limits_pod *p);
void disk_limits_remove(struct disk_limits *l, struct str uid);

/* Grants the requests for the device, and sets `limited` and `each`. */
void disk_limits_grant(struct disk_limits *l, struct disk_limits_device *d);

/* A pod's limit on the device, in bytes per second. 0: no limit. */
int64_t disk_limits_of(const struct disk_limits *l, const struct disk_limits_device *d,
		       struct str uid, enum disk_direction x);

/* A pod's weight on the device, 1 to DISK_WEIGHT_MAX. 0: the default, as it has no limit. */
unsigned disk_limits_weight(const struct disk_limits *l, const struct disk_limits_device *d,
			    struct str uid);

#endif

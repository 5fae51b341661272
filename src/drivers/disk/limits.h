/*
 * disk_limits - how much each pod of a node may read and write, so that all get their requests.
 *
 * For a device that can do C bytes per second in a direction, with S for the sum of the granted
 * requests and n for the number of pods that use it now:
 *
 *	limit of a pod = its granted request + (C - S) / n           at least DISK_LIMIT_MIN
 *
 * So the limits of the pods that use it add up to C, and each gets what it requested, whatever the
 * others try. If no pod has a request, or C is not known, there is no limit.
 *
 * Annotations are text of a pod's author, who may change them later or bypass the scheduler. So
 * requests are granted as far as the device has room: what was granted before stays, then earlier
 * pods come before later ones. Pods are known by uid. Pure.
 */
#ifndef DRIVERS_DISK_LIMITS_H
#define DRIVERS_DISK_LIMITS_H

#include "base/core/vec.h"
#include "drivers/disk/stat.h"

enum disk_direction { DISK_READ, DISK_WRITE, DISK_DIRECTIONS };

/* A pod that requests something. */
struct disk_limits_pod {
	char uid[DISK_UID_SIZE];
	char device[DISK_NAME_SIZE]; /* "": the primary one */
	int64_t created; /* wall clock, ns: the API server's */
	int64_t request[DISK_DIRECTIONS]; /* bytes per second */
	int64_t granted[DISK_DIRECTIONS]; /* ours */
};

struct disk_limits {
	VEC(struct disk_limits_pod) pods; /* in the order in which they were created */
};

struct disk_limits_device {
	const char *name;
	bool primary;
	int64_t capacity[DISK_DIRECTIONS]; /* 0: not known */
	size_t users[DISK_DIRECTIONS]; /* pods that use it now */
	bool limited[DISK_DIRECTIONS]; /* answers of disk_limits_grant() */
	int64_t each[DISK_DIRECTIONS]; /* beyond requests, for each pod */
};

void disk_limits_init(struct disk_limits *l);
void disk_limits_release(struct disk_limits *l);

/* The pod is there with this request, or has another one now. `granted` is not read. */
void disk_limits_put(struct disk_limits *l, const struct disk_limits_pod *p);
void disk_limits_remove(struct disk_limits *l, struct str uid);

/* Grants requests for the device, and fills what is left for each pod. */
void disk_limits_grant(struct disk_limits *l, struct disk_limits_device *d);

/* What any pod may do on it, in bytes per second; 0: there is no limit. */
int64_t disk_limits_of(const struct disk_limits *l, const struct disk_limits_device *d,
		       struct str uid, enum disk_direction x);

#endif

/*
 * disk_node - one node's disks and the pods on it, as the scheduler's plugin disk_io counts them.
 *
 * What the node's driver publishes (struct disk_devices) is immutable and counted: copies of a node
 * share it. Of pods it is known which are there and what they ask for; everything else is computed
 * when it is asked for, so taking a pod away leaves exactly what was before it came.
 *
 * What is left of a device in one direction (bytes per second), with p for the pods on the node:
 *
 *	committed = sum over p of max(request of p, measured use of p) + other use
 *	available = max(0, capacity - committed)
 *
 * Other use is what the driver measures on the device, but not for a pod that it lists: the
 * system's, that of static pods, and that of pods that are idle or too many to be listed. A pod
 * that is listed but not (any more) on the node does not count, so that preemption sees what a
 * victim would leave. If the driver does not measure pods on a device, the pods' own requests may
 * explain the use:
 *
 *	committed = max(sum over p of request of p, measured use)
 *
 * So a request is kept free in full, also while its pod rests; and what others do without having
 * asked is not promised to anybody.
 *
 * Pure. Running out of memory aborts.
 */
#ifndef DISK_NODE_H
#define DISK_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DISK_NAME_SIZE = 64, /* a device's name and a NUL */
	DISK_DEVICES_MAX = 256,
	DISK_PODS_MAX = 256, /* listed of one device */
};

enum disk_direction { DISK_READ, DISK_WRITE, DISK_DIRECTIONS };

/* --- what a node's driver says --------------------------------------------------------------- */

/* A pod's measured use of a device. */
struct disk_use {
	uint64_t pod; /* disk_hash() of its uid */
	int64_t rate[DISK_DIRECTIONS];
};

struct disk_device {
	char name[DISK_NAME_SIZE];
	bool primary, attributed;
	int64_t capacity[DISK_DIRECTIONS]; /* 0: not known */
	int64_t used[DISK_DIRECTIONS];
	struct disk_use *pods;
	size_t npods;
};

struct disk_devices {
	unsigned refs;
	size_t n;
	struct disk_device *v;
};

/* With one reference, n devices of zeroes, each with room for the pods that are added. */
struct disk_devices *disk_devices_new(size_t n);
struct disk_devices *disk_devices_ref(struct disk_devices *d);
void disk_devices_unref(struct disk_devices *d); /* NULL allowed */
void disk_device_add_use(struct disk_device *d, const struct disk_use *u); /* up to DISK_PODS_MAX */
bool disk_devices_equal(const struct disk_devices *a, const struct disk_devices *b);

/* Of a uid; pods are told apart by it. */
uint64_t disk_hash(const char *text, size_t n);

/* --- what a pod asks for --------------------------------------------------------------------- */

struct disk_request {
	int64_t rate[DISK_DIRECTIONS]; /* 0: nothing */
	char device[DISK_NAME_SIZE]; /* "": the primary one */
};

static inline bool disk_request_is_any(const struct disk_request *r)
{
	return r->rate[DISK_READ] > 0 || r->rate[DISK_WRITE] > 0;
}

/* --- the node -------------------------------------------------------------------------------- */

struct disk_node;

/* Takes a reference of `devices`. No pod is on it. */
struct disk_node *disk_node_new(struct disk_devices *devices);
struct disk_node *disk_node_clone(const struct disk_node *n);
void disk_node_free(struct disk_node *n); /* NULL allowed */

const struct disk_devices *disk_node_devices(const struct disk_node *n);
/* The driver says something new; the pods stay. Takes a reference. */
void disk_node_set_devices(struct disk_node *n, struct disk_devices *devices);

/* `r` may ask for nothing: the pod is there all the same. */
void disk_node_add(struct disk_node *n, uint64_t pod, const struct disk_request *r);
/* False: there is no such pod. */
bool disk_node_remove(struct disk_node *n, uint64_t pod);
size_t disk_node_pods(const struct disk_node *n);

/* The one that the request means, or NULL. */
const struct disk_device *disk_node_device(const struct disk_node *n, const struct disk_request *r);
int64_t disk_node_committed(const struct disk_node *n, const struct disk_device *d,
			    enum disk_direction x);
/* 0 also when the capacity is not known. */
int64_t disk_node_available(const struct disk_node *n, const struct disk_device *d,
			    enum disk_direction x);

/* --- decisions ------------------------------------------------------------------------------- */

enum disk_verdict {
	DISK_FITS,
	DISK_NO_DEVICE, /* no such device, or no primary one */
	DISK_READ_FULL, /* too little is left; other pods may go */
	DISK_WRITE_FULL,
	DISK_READ_SMALL, /* more than the device can do at all, or nobody knows what it can */
	DISK_WRITE_SMALL,
};

enum disk_verdict disk_node_fits(const struct disk_node *n, const struct disk_request *r);

/* The direction in which least is left after placing: what is asked and what there is in it. */
void disk_node_admit(const struct disk_node *n, const struct disk_request *r,
		     int64_t *ret_requested, int64_t *ret_available);

/*
 * 0 to 100: the share of the device that is left after placing the pod, the mean of the directions
 * that it asks for.
 */
int64_t disk_node_score(const struct disk_node *n, const struct disk_request *r);

#endif

/*
 * slice_plan - computes the next write that brings a driver's ResourceSlices on its node in line
 * with its device table. It sends nothing itself.
 *
 * The counter sets of a pool come first, in slices of their own. Then its devices are divided into
 * slices in the order of the table. The first part of a slice's name is its index, as in upstream
 * ("003-gpu.example.com-node1-x7f2k"). A change that affects a single slice is made in place. If
 * several writes are needed, the pool's generation is incremented, so that readers can see an
 * incomplete pool. Surplus slices are deleted first.
 *
 * Slices of a pool that other nodes can reach do not name the node. They are marked with it, so
 * that a pool that is gone from the table is deleted only by the driver that published it.
 *
 * Fields that the server adds (timeAdded of taints), and different spellings of a quantity, are not
 * differences. If an instance of the driver that was started after us has written a slice, there is
 * nothing to do while that slice exists.
 */
#ifndef DRIVERS_SDK_SLICE_PLAN_H
#define DRIVERS_SDK_SLICE_PLAN_H

#include "base/core/vec.h"
#include "client/informer/cache.h"
#include "drivers/prepare/device_table.h"

/* Annotations of slices. */
#define SLICE_PLAN_INSTANCE "devplane.dev/instance"
#define SLICE_PLAN_STARTED  "devplane.dev/instance-started"
/* The node whose driver publishes the slice, if the slice does not name one. */
#define SLICE_PLAN_PUBLISHER "devplane.dev/publisher"

struct slice_pool {
	char *name;
	int64_t target; /* generation of the writes in progress; 0: none */
};

struct slice_plan {
	/* Set by the caller; borrowed. */
	struct str driver, node;
	struct str instance, started; /* RFC 3339 with microseconds; empty: no rolling updates */
	bool taint_unhealthy;
	/* Internal. */
	VEC(struct slice_pool) pools;
};

enum slice_action { SLICE_NONE, SLICE_DELETE, SLICE_UPDATE, SLICE_CREATE };

struct slice_step {
	enum slice_action action;
	struct cached *of; /* the slice to change or delete; borrowed from the cache */
	struct json *object; /* the body to send; a new slice still lacks its owner */
	bool common; /* the slice does not belong to the node, and has no owner */
};

/* Copies of the API server's slices: those that name the node, and those that name no node. */
struct slice_caches {
	const struct cache *node;
	const struct cache *common; /* NULL: not known; then no such slice is written */
};

void slice_plan_init(struct slice_plan *p); /* zeroed, with the first fields set */
void slice_plan_release(struct slice_plan *p);

/* Call it after the table has changed: the writes in progress are planned again. */
void slice_plan_reset(struct slice_plan *p);

/*
 * Returns the next write, or SLICE_NONE. `existing` must include all earlier writes. Trees are
 * allocated in `a` and borrow from the cache.
 */
int slice_plan_next(struct slice_plan *p, const struct device_table *t,
		    const struct slice_caches *existing, struct arena *a,
		    struct slice_step *ret_step, struct error *err);

/* Makes the Node the owner of a new slice, so that they are deleted together. */
void slice_plan_own(const struct slice_plan *p, struct arena *a, struct json *object,
		    struct str node_uid);

#endif

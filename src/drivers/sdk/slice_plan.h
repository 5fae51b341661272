/*
 * slice_plan - what is to be written so that the ResourceSlices of a driver on its node say
 * what the driver's table says. Pure: one step at a time, from what is there now.
 *
 * The devices of a pool are cut into slices in the order of the table; a slice knows its place by
 * the first part of its name, as upstream's do ("003-gpu.example.com-node1-x7f2k"). When more than
 * one write is needed the pool's generation goes up, so that readers see that it changes; what
 * only one slice shows is changed in place. Surplus slices go first.
 *
 * What the server adds by itself (timeAdded of taints) and another way to write a quantity is no
 * difference. A slice that an instance wrote that was started after us stands: then there is
 * nothing to do for as long as it does.
 */
#ifndef DRIVERS_SDK_SLICE_PLAN_H
#define DRIVERS_SDK_SLICE_PLAN_H

#include "base/core/vec.h"
#include "client/informer/cache.h"
#include "drivers/prepare/device_table.h"

/* Annotations of slices. */
#define SLICE_PLAN_INSTANCE "devplane.dev/instance"
#define SLICE_PLAN_STARTED  "devplane.dev/instance-started"

struct slice_pool {
	char *name;
	int64_t target; /* generation of the writes under way; 0: none are */
};

struct slice_plan {
	/* To be set; borrowed. */
	struct str driver, node;
	struct str instance, started; /* empty: no rolling updates; RFC 3339 with microseconds */
	bool taint_unhealthy;
	/* The plan's own. */
	VEC(struct slice_pool) pools;
};

enum slice_action { SLICE_NONE, SLICE_DELETE, SLICE_UPDATE, SLICE_CREATE };

struct slice_step {
	enum slice_action action;
	struct cached *of; /* the slice to change or delete; borrowed from the cache */
	struct json *object; /* what to send; a new one lacks its owner */
};

void slice_plan_init(struct slice_plan *p); /* of zeroes with the first fields set */
void slice_plan_release(struct slice_plan *p);

/* The table has changed: what was under way is decided anew. */
void slice_plan_reset(struct slice_plan *p);

/*
 * The next write, or SLICE_NONE. `existing` must show what was written before. Trees are in `a`
 * and borrow from the cache.
 */
int slice_plan_next(struct slice_plan *p, const struct device_table *t,
		    const struct cache *existing, struct arena *a, struct slice_step *ret_step,
		    struct error *err);

/* Makes the node own the new slice, so that they go together. */
void slice_plan_own(const struct slice_plan *p, struct arena *a, struct json *object,
		    struct str node_uid);

#endif

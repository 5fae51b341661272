/*
 * eviction - the time at which a pod must go, and the taints' sources that demand it.
 *
 * A source is text: "r/NAME" for a DeviceTaintRule, "s/NAME" for a ResourceSlice. An eviction is
 * one immutable block of memory; it is drafted in an arena. If several sources demand it, the
 * earliest time counts.
 */
#ifndef CONTROLLER_TAINT_EVICTION_EVICTION_H
#define CONTROLLER_TAINT_EVICTION_EVICTION_H

#include "base/core/arena.h"
#include "base/core/vec.h"

#define EVICTION_RULE  "r/"
#define EVICTION_SLICE "s/"

struct eviction {
	int64_t when; /* ns since 1970 */
	bool at_once; /* immediately, whatever the clock says; `when` is only informative */
	size_t n;
	struct str sources[]; /* unique, in byte order: rules first */
};

/* Zero it, except for the arena. */
struct eviction_draft {
	struct arena *arena;
	int64_t when; /* valid if `n` > 0 */
	bool at_once;
	struct str *sources;
	size_t n, room;
};

/* `source` is copied into the draft's arena. */
void eviction_add(struct eviction_draft *d, int64_t when, struct str source);

/* The same without a delay. Clocks may differ, so `since` may lie in our future. */
void eviction_add_at_once(struct eviction_draft *d, int64_t since, struct str source);

/* Whether its time has come. */
bool eviction_is_due(const struct eviction *e, int64_t now);

/* Adds all sources and the time of another eviction. */
void eviction_join(struct eviction_draft *d, const struct eviction *e);

/* On the heap, for free(); NULL if nothing was added. */
struct eviction *eviction_new(const struct eviction_draft *d);

/* NULL means no eviction; two NULLs are equal. */
bool eviction_equal(const struct eviction *a, const struct eviction *b);
bool eviction_has(const struct eviction *e, struct str source);

/* "DeviceTaintRule a, ResourceSlice b", in the arena. */
struct str eviction_print(const struct eviction *e, struct arena *a);

#endif

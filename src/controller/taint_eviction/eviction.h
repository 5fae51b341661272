/*
 * eviction - when something must go, and what wants it to.
 *
 * A source is text: "r/NAME" for a DeviceTaintRule, "s/NAME" for a ResourceSlice. An eviction is
 * one block of memory and does not change; it is drafted in an arena. What several want is to be
 * done at the earliest time that one of them says.
 */
#ifndef CONTROLLER_TAINT_EVICTION_EVICTION_H
#define CONTROLLER_TAINT_EVICTION_EVICTION_H

#include "base/core/arena.h"
#include "base/core/vec.h"

#define EVICTION_RULE  "r/"
#define EVICTION_SLICE "s/"

struct eviction {
	int64_t when; /* ns since 1970 */
	bool at_once; /* whatever the clock says: `when` is only since when */
	size_t n;
	struct str sources[]; /* each once, in byte order: rules first */
};

/* Zero it but for the arena. */
struct eviction_draft {
	struct arena *arena;
	int64_t when; /* unless `n` is 0 */
	bool at_once;
	struct str *sources;
	size_t n, room;
};

/* `source` is copied into the draft's arena. */
void eviction_add(struct eviction_draft *d, int64_t when, struct str source);

/* The same where nothing is waited for: clocks may differ, and `since` lie in the future here. */
void eviction_add_at_once(struct eviction_draft *d, int64_t since, struct str source);

/* Its time has come. */
bool eviction_is_due(const struct eviction *e, int64_t now);

/* All that another wants. */
void eviction_join(struct eviction_draft *d, const struct eviction *e);

/* On the heap, for free(); NULL when nothing was added. */
struct eviction *eviction_new(const struct eviction_draft *d);

/* NULL: none; two of them are equal. */
bool eviction_equal(const struct eviction *a, const struct eviction *b);
bool eviction_has(const struct eviction *e, struct str source);

/* "DeviceTaintRule a, ResourceSlice b", in the arena. */
struct str eviction_print(const struct eviction *e, struct arena *a);

#endif

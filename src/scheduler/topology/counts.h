/*
 * topology_counts - a number per domain of a topology: by key and value of a node's label.
 *
 * A clone shares the counts of what it was cloned from, which must outlive it and not be changed
 * any more, and keeps its own changes beside them: those of a what-if are few.
 * Memory is an arena's.
 */
#ifndef SCHEDULER_TOPOLOGY_COUNTS_H
#define SCHEDULER_TOPOLOGY_COUNTS_H

#include "base/core/arena.h"
#include "base/core/map.h"
#include "base/json/json.h"

struct topology_count {
	struct str key, value;
	int64_t n;
};

struct topology_key {
	struct str key;
	struct map values; /* of struct topology_count */
};

struct topology_counts {
	struct topology_key **keys;
	size_t nkeys, room;
	struct topology_count *changed; /* of a clone; goes before the keys' */
	size_t nchanged, changed_room;
	size_t entries; /* domains whose number is not 0 */
	bool clone;
};

/* Adds to the domain of that key in which a node with these labels lies, if it lies in any. */
void topology_counts_add(struct topology_counts *t, struct arena *a, struct str key,
			 const struct json *labels, int64_t by);

/* 0 when there is none. */
int64_t topology_counts_get(const struct topology_counts *t, struct str key, struct str value);

/* A node with these labels lies in some domain whose number is above 0. */
bool topology_counts_any(const struct topology_counts *t, const struct json *labels);

/* Of all keys together. */
int64_t topology_counts_sum(const struct topology_counts *t, const struct json *labels);

void topology_counts_clone(struct topology_counts *to, const struct topology_counts *from,
			   struct arena *a);

#endif

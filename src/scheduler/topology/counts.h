/*
 * topology_counts - a count per topology domain, by key and value of a node's label.
 *
 * A clone shares the counts of its original, which must outlive the clone and must not change any
 * longer. The clone keeps its own changes separately, since a what-if has few. Memory comes from an
 * arena.
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
	struct topology_count *changed; /* for a clone: overrides the counts of the keys */
	size_t nchanged, changed_room;
	size_t entries; /* number of domains with a count other than 0 */
	bool clone;
};

/* Adds to the domain of a node with these labels. Does nothing if the node lacks the key. */
void topology_counts_add(struct topology_counts *t, struct arena *a, struct str key,
			 const struct json *labels, int64_t by);

/* Returns the count, or 0 for an unknown domain. */
int64_t topology_counts_get(const struct topology_counts *t, struct str key, struct str value);

/* Whether a node with these labels is in some domain with a count above 0. */
bool topology_counts_any(const struct topology_counts *t, const struct json *labels);

/* Returns the sum over all keys for a node with these labels. */
int64_t topology_counts_sum(const struct topology_counts *t, const struct json *labels);

void topology_counts_clone(struct topology_counts *to, const struct topology_counts *from,
			   struct arena *a);

#endif

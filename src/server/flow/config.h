/*
 * flow_config - FlowSchemas and PriorityLevelConfigurations as the server follows them.
 *
 * Made of the objects there are, at the state; immutable and counted from then on, so that every
 * I/O loop sorts requests by the one it has. What is mandatory is always in it, whatever was
 * stored. Seats, which change, are beside it (flow/seats.h), and outlive it.
 */
#ifndef SERVER_FLOW_CONFIG_H
#define SERVER_FLOW_CONFIG_H

#include <stdatomic.h>

#include "base/core/arena.h"
#include "server/core/user.h"

struct flow_seats;
struct json;
struct metrics_counter;
struct metrics_histogram;

/* What a request is sorted by. */
struct flow_query {
	const struct user *user;
	struct str verb; /* "get", "list", ..; of a path: the method in lower case */
	struct str path; /* p NULL: a resource is asked for */
	struct str group, resource, subresource, ns;
};

/* A PriorityLevelConfiguration. */
struct flow_level {
	struct str name, uid;
	bool exempt; /* its requests never wait */
	bool queues; /* those that find no seat wait; else they are refused */
	int64_t shares;
	int64_t nominal, borrowed; /* seats of its own, and beyond them */
	int64_t borrowing; /* percent of its seats; -1: no limit */
	int64_t flow_max, all_max; /* that wait: of one flow, of all */
	struct flow_seats *seats; /* set by the owner */
};

enum flow_by { FLOW_BY_NOTHING, FLOW_BY_USER, FLOW_BY_NAMESPACE };

/* A FlowSchema. */
struct flow_schema {
	struct str name, uid;
	int64_t precedence;
	enum flow_by by; /* what its requests are told apart by */
	const struct flow_rule *rules;
	size_t nrules;
	const struct flow_level *level;
	struct metrics_counter *dispatched; /* set by the owner; or NULL */
	struct metrics_histogram *waited;
};

struct flow_config {
	atomic_uint refs;
	struct arena arena;
	struct flow_level *levels;
	size_t nlevels;
	struct flow_schema *schemas; /* in the order in which they are asked */
	size_t nschemas;
};

/*
 * Of the trees of all objects; they are copied. A schema whose level is not there, or that cannot
 * be read, is left out. `total` is the number of seats that the levels share.
 */
struct flow_config *flow_config_new(const struct json *const *schemas, size_t nschemas,
				    const struct json *const *levels, size_t nlevels,
				    int64_t total);
struct flow_config *flow_config_ref(struct flow_config *c);
void flow_config_unref(struct flow_config *c); /* NULL allowed */

/* The first schema that matches; never NULL, as the last takes everything. */
const struct flow_schema *flow_config_match(const struct flow_config *c,
					    const struct flow_query *q);

#endif

/*
 * flow_config - the FlowSchemas and PriorityLevelConfigurations in effect.
 *
 * Made from the stored objects on the state's loop. From then on it is immutable and
 * reference-counted, so that every I/O loop classifies requests by its own current one. It always
 * includes the mandatory objects, whatever is stored. The seats, which do change, are in
 * flow/seats.h and outlive it.
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

/* The attributes by which a request is classified. */
struct flow_query {
	const struct user *user;
	struct str verb; /* "get", "list", ..; for a path: the method in lower case */
	struct str path; /* p NULL: the request is for a resource */
	struct str group, resource, subresource, ns;
};

/* A PriorityLevelConfiguration. */
struct flow_level {
	struct str name, uid;
	bool exempt; /* its requests never wait */
	bool queues; /* requests without a seat wait; otherwise they are rejected */
	int64_t shares;
	int64_t nominal, borrowed; /* its own seats, and how many more it may borrow */
	int64_t borrowing; /* limit for borrowing in percent of its seats; -1: no limit */
	int64_t flow_max, all_max; /* limits for waiting requests: per flow, and of the level */
	struct flow_seats *seats; /* set by the owner */
};

enum flow_by { FLOW_BY_NOTHING, FLOW_BY_USER, FLOW_BY_NAMESPACE };

/* A FlowSchema. */
struct flow_schema {
	struct str name, uid;
	int64_t precedence;
	enum flow_by by; /* how its requests are divided into flows */
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
	struct flow_schema *schemas; /* in the order in which they are matched */
	size_t nschemas;
};

/*
 * From the trees of all objects, which are copied. A schema is left out if its level does not
 * exist or if it cannot be read. `total` is the number of seats that the levels share.
 */
struct flow_config *flow_config_new(const struct json *const *schemas, size_t nschemas,
				    const struct json *const *levels, size_t nlevels,
				    int64_t total);
struct flow_config *flow_config_ref(struct flow_config *c);
void flow_config_unref(struct flow_config *c); /* NULL allowed */

/* The first schema that matches. Never NULL: the last one matches everything. */
const struct flow_schema *flow_config_match(const struct flow_config *c,
					    const struct flow_query *q);

#endif

/*
 * authorizers - the parts of authorization, for its own files.
 */
#ifndef SERVER_AUTHZ_AUTHORIZERS_H
#define SERVER_AUTHZ_AUTHORIZERS_H

#include <stdatomic.h>

#include "server/authz/authz.h"
#include "server/authz/node_pods.h"
#include "server/authz/rbac.h"
#include "server/engine/state.h"

struct rbac_aggregate;
struct rights;

enum { AUTHZ_OBSERVERS = 5 };

struct authz {
	struct arena arena; /* memory with the same lifetime */
	struct rbac *rbac;
	struct node_pods *pods;
	struct rbac_rules node_rules; /* the rules of system:node, for all nodes */
	struct rbac_aggregate *aggregate; /* or NULL: not started */
	struct state *state;
	struct state_observer observers[AUTHZ_OBSERVERS];
	/*
	 * Which roles and bindings `rbac` has: each change raises it, on the state's loop and
	 * before the writer of the change gets its reply. Read on lanes.
	 */
	_Atomic uint64_t epoch;
	struct rights **lanes; /* allocated one by one: no two threads share a cache line */
	size_t nlanes;
};

/*
 * The node authorizer. Returns AUTHZ_ALLOW, AUTHZ_NO_OPINION with the reason in `reason`, or
 * AUTHZ_DENY for access that nodes never get, whatever roles they have.
 */
enum authz_decision node_authorize(struct authz *az, const struct authz_query *q, struct str node,
				   struct arena *a, struct buf *reason);

/* Whether an update changes only fields that the garbage collector and migrations write. */
bool authz_only_gc_fields(const struct json *old, const struct json *object);

/* Finds an object by its resource's name; NULL if not found. */
struct object *authz_object(struct authz *az, struct str group, struct str resource, struct str ns,
			    struct str name);

#endif

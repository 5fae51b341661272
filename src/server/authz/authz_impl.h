/*
 * authz_impl - the parts of authorization, for its own files.
 */
#ifndef SERVER_AUTHZ_AUTHZ_IMPL_H
#define SERVER_AUTHZ_AUTHZ_IMPL_H

#include "server/authz/authz.h"
#include "server/authz/node_pods.h"
#include "server/authz/rbac.h"
#include "server/engine/state.h"

struct rbac_aggregate;

enum { AUTHZ_OBSERVERS = 5 };

struct authz {
	struct arena arena; /* what lives as long as it */
	struct rbac *rbac;
	struct node_pods *pods;
	struct rbac_rules node_rules; /* what all nodes may, of system:node */
	struct rbac_aggregate *aggregate; /* or NULL: not begun */
	struct state *state;
	struct state_observer observers[AUTHZ_OBSERVERS];
};

/*
 * The node authorizer: AUTHZ_ALLOW, or AUTHZ_NO_OPINION with why in `reason`; AUTHZ_DENY for what
 * nodes may never do, whatever roles they were given.
 */
enum authz_decision node_authorize(struct authz *az, const struct authz_query *q, struct str node,
				   struct arena *a, struct buf *reason);

/* Whether an update changes nothing but what the garbage collector and migrations write. */
bool authz_only_gc_fields(const struct json *old, const struct json *object);

/* An object by its resource's name; NULL when there is none. */
struct object *authz_object(struct authz *az, struct str group, struct str resource, struct str ns,
			    struct str name);

#endif

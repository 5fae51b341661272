/*
 * authz - authorizes requests.
 *
 * Upstream's chain: system:masters may do everything; the node authorizer decides for members of
 * system:nodes; then RBAC. Denies by default. Follows the roles and bindings of the state as an
 * observer, with an index by subject. So the cost of a decision depends on the user's bindings,
 * not on the size of the cluster.
 *
 * A lane remembers what RBAC allowed its requests, until any role or binding changes. The change
 * takes effect before its writer gets the reply, so no request that begins after the reply is
 * allowed by a right that was taken away. Denials and the node authorizer's decisions, which
 * depend on more objects, are always made on the state's loop.
 *
 * Threads: the state's loop; authz_recall() and authz_remember() a lane's.
 */
#ifndef SERVER_AUTHZ_AUTHZ_H
#define SERVER_AUTHZ_AUTHZ_H

#include "api/schema/object_target.h"
#include "api/selector/selector.h"
#include "base/core/error.h"
#include "base/core/str.h"
#include "server/core/user.h"

struct arena;
struct authz;
struct json;
struct state;
struct state_observer;

/* The access to decide about: a resource, or a path. */
struct authz_query {
	const struct user *user;
	struct str verb; /* "get", "deletecollection", "impersonate"; for a path: the method */
	bool is_path;
	struct str path; /* if is_path */
	struct str group, version, resource;
	OBJECT_TARGET;
	const struct selector *fields, *labels; /* for a list, watch or deletecollection; or NULL */
	bool wants_reason; /* sets the right's reason, at some cost */
};

enum authz_decision { AUTHZ_NO_OPINION, AUTHZ_ALLOW, AUTHZ_DENY };

struct authz *authz_new(size_t nlanes);
void authz_free(struct authz *az);

/* The observers to pass in state_opts.observers. The array lives as long as `az`. */
const struct state_observer *authz_observers(struct authz *az, size_t *ret_n);

/* Sets the state that decisions read (pods of a node, ..). Call it before the first decision. */
void authz_attach(struct authz *az, struct state *st);

/*
 * *ret_reason is upstream's `reason`, in the arena; empty if it gives no reason. ret_reason may be
 * NULL.
 */
enum authz_decision authz_decide(struct authz *az, const struct authz_query *q, struct arena *a,
				 struct str *ret_reason);

/*
 * The same with an error: 0, or -ERR_FORBIDDEN with upstream's text (`User "x" cannot get
 * resource ..`), to be used with status_about{group, resource, name}.
 */
int authz_require(struct authz *az, const struct authz_query *q, struct arena *a,
		  struct error *err);

/* An allowed decision, for a lane to remember. */
struct authz_right {
	uint64_t epoch; /* of the roles and bindings that it was decided on; 0: nothing */
	bool any_ns, any_name; /* it holds for all namespaces, for all names */
	struct str
		reason; /* if the query wants it: why access is allowed, or refused; may be empty */
};

/* authz_require() that sets *ret_right; if it fails, only the reason. */
int authz_require_right(struct authz *az, const struct authz_query *q, struct arena *a,
			struct authz_right *ret_right, struct error *err);

/* --- on a lane ---------------------------------------------------------------------- */

/*
 * Whether the access is allowed, as far as the lane knows: the user is in system:masters, or the
 * lane remembers the right. False: authz_require() decides. *ret_reason is that of the right, valid
 * until the lane remembers another; ret_reason may be NULL.
 */
bool authz_recall(struct authz *az, size_t lane, const struct authz_query *q,
		  struct str *ret_reason);

/* Remembers the right that allowed this access. */
void authz_remember(struct authz *az, size_t lane, const struct authz_query *q,
		    const struct authz_right *right);

/* --- nodes -------------------------------------------------------------------------- */

/*
 * Checks a token that a node requests (serviceaccounts/token): it must be for a pod on that node
 * and for an audience that the pod uses. Accepts all users that are not nodes. -ERR_FORBIDDEN,
 * -ERR_NOT_FOUND.
 */
struct authz_account {
	struct str ns, name;
};
int authz_admit_token(struct authz *az, const struct user *u, struct authz_account account,
		      const struct json *request, struct arena *a, struct error *err);

#endif

/*
 * authz - who may do what.
 *
 * Upstream's chain: system:masters may do all; the node authorizer for
 * members of system:nodes; RBAC. Deny by default. Follows the roles and bindings
 * of the state as an observer, with an index by subject, so that a decision costs
 * what its user's bindings cost, not what the cluster has.
 * Threads: the state's loop.
 */
#ifndef SERVER_AUTHZ_AUTHZ_H
#define SERVER_AUTHZ_AUTHZ_H

#include "api/selector/selector.h"
#include "base/core/error.h"
#include "base/core/str.h"
#include "server/core/user.h"

struct arena;
struct authz;
struct json;
struct state;
struct state_observer;

/* What is asked for; about a resource, or a path. */
struct authz_query {
	const struct user *user;
	struct str verb; /* "get", "deletecollection", "impersonate"; of a path: the method */
	bool is_path;
	struct str path; /* when is_path */
	struct str group, version, resource, subresource, ns, name;
	const struct selector *fields, *labels; /* of a list, watch or deletecollection; or NULL */
};

enum authz_decision { AUTHZ_NO_OPINION, AUTHZ_ALLOW, AUTHZ_DENY };

struct authz *authz_new(void);
void authz_free(struct authz *az);

/* What it must be told of; for state_opts.observers. The array lives as long as `az`. */
const struct state_observer *authz_observers(struct authz *az, size_t *ret_n);

/* All that is known comes from this state (pods of a node, ..); before the first question. */
void authz_attach(struct authz *az, struct state *st);

/* *ret_reason (may be NULL) is upstream's `reason`, in the arena; empty when it has none. */
enum authz_decision authz_decide(struct authz *az, const struct authz_query *q, struct arena *a,
				 struct str *ret_reason);

/*
 * The same as an error: 0, or -ERR_FORBIDDEN with upstream's text (`User "x" cannot get
 * resource ..`), for status_about{group, resource, name}.
 */
int authz_require(struct authz *az, const struct authz_query *q, struct arena *a,
		  struct error *err);

/*
 * A token that a node asks for (serviceaccounts/token) must be for a pod of its own and an
 * audience that the pod wants. Others than nodes pass. -ERR_FORBIDDEN, -ERR_NOT_FOUND.
 */
struct authz_account {
	struct str ns, name;
};
int authz_admit_token(struct authz *az, const struct user *u, struct authz_account account,
		      const struct json *request, struct arena *a, struct error *err);

#endif

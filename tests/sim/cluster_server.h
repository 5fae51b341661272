/*
 * cluster_server - the API server of a simulated cluster, and what it has committed.
 *
 * The real server with the real LMDB store in a folder, which commits in the turns of its first
 * loop; without TLS. Users come from a file of tokens, rights from RBAC and the node authorizer.
 */
#ifndef SIM_CLUSTER_SERVER_H
#define SIM_CLUSTER_SERVER_H

#include "base/error.h"
#include "base/json.h"

struct arena;
struct cluster_role;
struct cluster_role_ops;

extern const struct cluster_role_ops cluster_server_ops;

/* It runs and has loaded its state. */
bool cluster_server_ready(const struct cluster_role *role);

/* 0, or why it takes no writes: the store has failed for good, the disk is full. */
int cluster_server_health(const struct cluster_role *role, struct error *err);

/*
 * Calls `fn` for every committed object of a resource ("resource.k8s.io", "resourceclaims"; "" is
 * core) with its tree in `a`. Between turns only.
 */
void cluster_server_each(const struct cluster_role *role, const char *group, const char *resource,
			 struct arena *a, void (*fn)(void *arg, const struct json *tree),
			 void *arg);

/* One of them; NULL: not there. */
struct json *cluster_server_get(const struct cluster_role *role, const char *group,
				const char *resource, const char *ns, const char *name,
				struct arena *a);

/* Its revision of what is committed. */
int64_t cluster_server_revision(const struct cluster_role *role);

#endif

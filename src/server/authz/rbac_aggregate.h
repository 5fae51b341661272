/*
 * rbac_aggregate - ClusterRoles that combine the rules of others.
 *
 * A ClusterRole with an aggregationRule gets the rules of all ClusterRoles that its selectors
 * match, ordered by selector and then by name, each rule once. When one of these changes, the
 * roles that depend on it are computed again, together at the end of the turn, and written if
 * they differ. So several servers on one store agree and do not overwrite each other. The result
 * is what upstream's controller applies, with the same field manager.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_AUTHZ_RBAC_AGGREGATE_H
#define SERVER_AUTHZ_RBAC_AGGREGATE_H

#include "base/core/error.h"

struct json;
struct object;
struct rbac_aggregate;
struct server;

/*
 * Begins with the roles in the state. Calls `done` when all aggregated roles have their rules for
 * the first time, or with the error.
 */
struct rbac_aggregate *rbac_aggregate_new(struct server *s,
					  void (*done)(void *arg, const struct error *err),
					  void *arg);
/* After `done` got an error: calls `done` once more, after the next attempt. */
void rbac_aggregate_again(struct rbac_aggregate *g,
			  void (*done)(void *arg, const struct error *err), void *arg);
void rbac_aggregate_free(struct rbac_aggregate *g); /* after the state has stopped */

/* For an observer of ClusterRoles; `tree` is that of `now`. */
void rbac_aggregate_change(struct rbac_aggregate *g, struct object *now, struct object *before,
			   const struct json *tree);
/* Forgets all roles; changes for all of them follow. */
void rbac_aggregate_reset(struct rbac_aggregate *g);

#endif

/*
 * rbac_aggregate - ClusterRoles whose rules are those of others.
 *
 * A ClusterRole with an aggregationRule has the rules of all ClusterRoles that its
 * selectors match, by selector and then by name, each rule once. When one that matters
 * changes, the roles that gather from it are computed anew, together at the end of the
 * turn, and written when they differ; so several servers on one store agree and
 * do not fight. The result is what upstream's controller applies, under the same field manager.
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
 * Begins, with all that the state has; `done` when the rules of all that gather are in
 * place for the first time, or with why that cannot be.
 */
struct rbac_aggregate *rbac_aggregate_new(struct server *s,
					  void (*done)(void *arg, const struct error *err),
					  void *arg);
/* After `done` came with an error: it comes once more, after the next attempt. */
void rbac_aggregate_again(struct rbac_aggregate *g,
			  void (*done)(void *arg, const struct error *err), void *arg);
void rbac_aggregate_free(struct rbac_aggregate *g); /* when the state is stopped */

/* A ClusterRole changed: as an observer is told; `tree` is that of `now`. */
void rbac_aggregate_change(struct rbac_aggregate *g, struct object *now, struct object *before,
			   const struct json *tree);
/* All that is known of them is void; changes tell them anew. */
void rbac_aggregate_reset(struct rbac_aggregate *g);

#endif

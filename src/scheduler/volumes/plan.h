/*
 * volume_plan - which volumes a pod's unbound claims would get on a node.
 *
 * Claims that wait for their first consumer get an available volume that fits, the smallest, or one
 * that a driver will make there. What was decided for a pod and is not yet seen in the caches is
 * assumed, so that the next pod does not get the same volume.
 */
#ifndef SCHEDULER_VOLUMES_PLAN_H
#define SCHEDULER_VOLUMES_PLAN_H

#include "base/core/map.h"
#include "scheduler/framework/binding.h"
#include "scheduler/framework/resource_score.h"
#include "scheduler/volumes/volumes.h"

/* The plugin's own. */
struct volume_binder {
	struct map assumed; /* struct assumed_volume by "pv NAME" and "pvc NS/NAME" */
	int64_t bind_timeout_ms;
	struct resource_scores shape; /* only the shape */
	struct arena arena;
};

/* Volumes of one class, in the order of their names. */
struct volume_candidates {
	struct str class;
	struct volume **v;
	size_t n;
};

struct volume_plan {
	struct volume_match {
		struct volume *volume;
		struct volume_claim *claim;
	} * matches;
	struct volume_provision {
		struct volume_claim *claim;
		int64_t capacity; /* of the node's storage; -1: not known */
	} * provisions;
	size_t nmatches, nprovisions;
};

struct volume_bind;

/* The cycle's state. */
struct volume_pod {
	struct volume_claim **bound, **unbound; /* unbound ones wait for a consumer */
	struct volume **volumes; /* of the bound ones; NULL: it does not exist */
	size_t nbound, nunbound;
	struct volume_candidates *candidates; /* by unbound claim */
	struct volume_plan plan; /* after reserve */
	bool reserved;
};

/*
 * What the node could give, in the arena. UNRESOLVABLE with upstream's reasons; ERROR for a claim
 * whose class is gone.
 */
struct verdict volume_plan_make(const struct services *s, const struct volume_pod *pod,
				struct str node, const struct json *labels,
				struct volume_plan *ret_plan, struct arena *a);

/* By the shape: how much of the storage the pod would take. */
int64_t volume_plan_score(const struct volume_binder *b, const struct volume_plan *plan,
			  struct arena *a);

/* --- assumptions --------------------------------------------------------------------------- */

void volume_assume(struct volume_binder *b, const struct volume_plan *plan, struct str node);
void volume_forget(struct volume_binder *b, const struct volume_plan *plan);
/* What is assumed of it is put into the struct; text in the arena. */
void volume_claim_overlay(struct volume_binder *b, struct volume_claim *c, struct arena *a);
void volume_overlay(struct volume_binder *b, struct volume *v, struct arena *a);
void volume_binder_release(struct volume_binder *b);

/* --- writing it down ----------------------------------------------------------------------- */

/* Writes volumes and claims, then waits until all are bound. Ends by binding_done(). */
void volume_bind_begin(struct plugin *p, struct binding *b, const struct volume_plan *plan);

/*
 * How far it is, by the caches: 1 when all is bound, 0 when not yet, negative when it must be tried
 * anew. Revisions are those that were written, by place in the plan.
 */
int volume_bind_check(const struct services *s, const struct volume_plan *plan, struct str node,
		      const uint64_t *match_revisions, const uint64_t *provision_revisions,
		      struct error *err);

#endif

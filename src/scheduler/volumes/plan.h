/*
 * volume_plan - decides which volumes a pod's unbound claims would get on a node.
 *
 * A claim that waits for its first consumer gets the smallest available volume that fits, or one
 * that a driver will provision on the node. Decisions that the caches do not show yet are assumed,
 * so that the next pod does not get the same volume.
 */
#ifndef SCHEDULER_VOLUMES_PLAN_H
#define SCHEDULER_VOLUMES_PLAN_H

#include "base/core/map.h"
#include "scheduler/framework/binding.h"
#include "scheduler/framework/resource_score.h"
#include "scheduler/volumes/volumes.h"

/* State of the plugin. */
struct volume_binder {
	struct map assumed; /* struct assumed_volume by "pv NAME" and "pvc NS/NAME" */
	int64_t bind_timeout_ms;
	struct resource_scores shape; /* only the shape */
	struct arena arena;
};

/* Volumes of one class, sorted by name. */
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
		int64_t capacity; /* of the node's storage; -1: unknown */
	} * provisions;
	size_t nmatches, nprovisions;
};

struct volume_bind;

/* The cycle's state. */
struct volume_pod {
	struct volume_claim **bound, **unbound; /* unbound claims wait for a consumer */
	struct volume **volumes; /* of the bound claims; NULL: does not exist */
	size_t nbound, nunbound;
	struct volume_candidates *candidates; /* by unbound claim */
	struct volume_plan plan; /* after reserve */
	bool reserved;
};

/*
 * Plans the volumes for a node, in the arena. Returns UNRESOLVABLE with upstream's reasons, or
 * ERROR if a claim's class does not exist.
 */
struct verdict volume_plan_make(const struct services *s, const struct volume_pod *pod,
				struct str node, const struct json *labels,
				struct volume_plan *ret_plan, struct arena *a);

/* Scores the share of the node's storage that the pod would take, with the configured shape. */
int64_t volume_plan_score(const struct volume_binder *b, const struct volume_plan *plan,
			  struct arena *a);

/* --- assumptions --------------------------------------------------------------------------- */

void volume_assume(struct volume_binder *b, const struct volume_plan *plan, struct str node);
void volume_forget(struct volume_binder *b, const struct volume_plan *plan);
/* Apply assumed decisions to the struct, with text in the arena. */
void volume_claim_overlay(struct volume_binder *b, struct volume_claim *c, struct arena *a);
void volume_overlay(struct volume_binder *b, struct volume *v, struct arena *a);
void volume_binder_release(struct volume_binder *b);

/* --- writing it down ----------------------------------------------------------------------- */

/* Writes volumes and claims, then waits until all are bound. Ends with binding_done(). */
void volume_bind_begin(struct plugin *p, struct binding *b, const struct volume_plan *plan);

/*
 * Checks the caches: returns 1 if everything is bound, 0 if not yet, negative if the pod must be
 * tried again. The revisions are those of our writes, by index in the plan.
 */
int volume_bind_check(const struct services *s, const struct volume_plan *plan, struct str node,
		      const uint64_t *match_revisions, const uint64_t *provision_revisions,
		      struct error *err);

#endif

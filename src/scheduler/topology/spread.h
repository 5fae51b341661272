/*
 * spread - constraints, counting and state; private to the files of PodTopologySpread.
 */
#ifndef SCHEDULER_TOPOLOGY_SPREAD_H
#define SCHEDULER_TOPOLOGY_SPREAD_H

#include "base/core/arena.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/topology/node_view.h"

/* Arguments of the plugin: default constraints for pods without their own. */
struct spread_args {
	struct arena arena; /* initialised by the caller */
	/* upstream's system defaults: on hosts and zones; nodes without a zone count, too. */
	bool system;
	struct spread_constraint *defaults;
	size_t ndefaults;
	struct node_views *views; /* owned by the plugin; not an argument */
};

/* Returns -ERR_INVALID with upstream's message. `args` is copied. */
int spread_args_read(struct spread_args *s, const struct json *args, struct error *err);

/* The cycle's state, set by pre_filter and pre_score; each part may be NULL. */
struct spread_state {
	struct spread_filter *filter;
	struct spread_score *score;
};

struct spread_constraints {
	const struct spread_constraint *v;
	size_t n;
};

/*
 * Returns the pod's constraints, or the defaults: the preferred ones (`anyway`) or the required
 * ones. They are in `a`.
 */
struct spread_constraints spread_constraints(const struct plugin *p, const struct podinfo *pod,
					     bool anyway, struct arena *a);

/*
 * Returns the combined selectors of the pod's Services and controller; without terms if the pod has
 * neither. Text is borrowed from cached objects.
 */
struct selector spread_default_selector(const struct services *s, const struct podinfo *pod,
					struct arena *a);

static inline bool spread_selects(const struct spread_constraint *c, const struct json *labels)
{
	return !c->nothing && labels_match(&c->pods, labels);
}

/* Whether the node has all topology keys. */
bool spread_has_keys(struct spread_constraints c, const struct nodeobject *n);

/* Whether the constraint's policies count pods on the node. */
bool spread_counts_node(const struct spread_constraint *c, const struct podinfo *pod,
			const struct nodeobject *n);

/*
 * A cached view: the number of pods on each node that a constraint selects in a namespace (without
 * terminating pods), and the node's domain.
 */
struct spread_view {
	struct node_view *view;
	const struct spread_constraint *constraint;
	struct str ns;
};

/* Call node_views_begin() of the plugin's views first. */
struct spread_view spread_view(const struct plugin *p, const struct spread_constraint *k,
			       struct cycle *c);
struct node_seen spread_look(const struct spread_view *v, const struct nodeinfo *n);

/* spread_filter.c */
struct verdict spread_pre_filter(struct plugin *p, struct cycle *c);
void *spread_clone_state(const struct plugin *p, struct cycle *c, void *state);
void spread_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		    const struct nodeinfo *n);
void spread_remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
		       const struct nodeinfo *n);
struct verdict spread_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n);

/* spread_score.c */
struct verdict spread_pre_score(struct plugin *p, struct cycle *c);
struct verdict spread_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score);
void spread_normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n);

/* spread_hints.c */
extern const struct plugin_event spread_events[];

extern const struct plugin_kind plugin_pod_topology_spread;

#endif

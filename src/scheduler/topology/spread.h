/*
 * spread - between the files of PodTopologySpread: constraints, counting, state.
 */
#ifndef SCHEDULER_TOPOLOGY_SPREAD_H
#define SCHEDULER_TOPOLOGY_SPREAD_H

#include "base/core/arena.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/topology/node_view.h"

/* Arguments of the plugin: constraints for pods that have none. */
struct spread_args {
	struct arena arena; /* initialised by the caller */
	bool system; /* upstream's own: on hosts and zones, and nodes without a zone count, too */
	struct spread_constraint *defaults;
	size_t ndefaults;
	struct node_views *views; /* the plugin's; not an argument */
};

/* -ERR_INVALID with upstream's words. Nothing of `args` is kept. */
int spread_args_read(struct spread_args *s, const struct json *args, struct error *err);

/* Kept for a pod from pre_filter and pre_score on; each part may be NULL. */
struct spread_state {
	struct spread_filter *filter;
	struct spread_score *score;
};

struct spread_constraints {
	const struct spread_constraint *v;
	size_t n;
};

/* The pod's, or the default ones, that are preferred (`anyway`) or required. In `a`. */
struct spread_constraints spread_constraints(const struct plugin *p, const struct podinfo *pod,
					     bool anyway, struct arena *a);

/*
 * What the Services and the controller of the pod select it by, together; without terms when
 * there are none. Text is borrowed from cached objects.
 */
struct selector spread_default_selector(const struct services *s, const struct podinfo *pod,
					struct arena *a);

static inline bool spread_selects(const struct spread_constraint *c, const struct json *labels)
{
	return !c->nothing && labels_match(&c->pods, labels);
}

/* The node has all topology keys. */
bool spread_has_keys(struct spread_constraints c, const struct nodeobject *n);

/* Its policies let pods on the node count. */
bool spread_counts_node(const struct spread_constraint *c, const struct podinfo *pod,
			const struct nodeobject *n);

/*
 * How many pods of a namespace a constraint selects on nodes (terminating ones left out), and in
 * which domain a node is.
 */
struct spread_view {
	struct node_view *view;
	const struct spread_constraint *constraint;
	struct str ns;
};

/* In the plugin's views, which have begun. */
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

/*
 * pod_affinity - private to the files of InterPodAffinity.
 */
#ifndef SCHEDULER_TOPOLOGY_POD_AFFINITY_H
#define SCHEDULER_TOPOLOGY_POD_AFFINITY_H

#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/topology/counts.h"
#include "scheduler/topology/node_view.h"

struct pod_affinity_args {
	int32_t hard_weight; /* score weight of existing pods' required affinity */
	bool ignore_existing; /* ignore preferences of existing pods if the new pod has none */
	struct node_views *views; /* owned by the plugin; not an argument */
};

/* The cycle's state, set by pre_filter and pre_score; each part may be NULL. */
struct pod_affinity_state {
	struct pod_affinity_filter *filter;
	struct topology_counts *score;
};

/*
 * Returns the terms of the pod to schedule, with namespace selectors replaced by the names of the
 * matching namespaces. So other pods can be matched without looking up their namespaces.
 */
struct affinity_terms pod_affinity_resolve(const struct plugin *p, struct cycle *c,
					   struct affinity_terms terms);

/* Returns the labels of the pod's namespace, or NULL. */
const struct json *pod_affinity_namespace(const struct plugin *p, struct cycle *c);

/* Whether there are terms and the pod matches all of them. */
bool pod_affinity_all(struct affinity_terms terms, const struct podinfo *pod);

/*
 * For every pod of the cluster that matches all of these resolved terms, adds `by` to the pod's
 * domain of each term's key. Counts per node are cached for the next pod.
 */
void pod_affinity_count(const struct plugin *p, struct cycle *c, struct affinity_terms terms,
			struct topology_counts *to, int64_t by);

struct pod_affinity_state *pod_affinity_state(const struct plugin *p, struct cycle *c);

/* pod_affinity_filter.c */
struct verdict pod_affinity_pre_filter(struct plugin *p, struct cycle *c);
void *pod_affinity_clone_state(const struct plugin *p, struct cycle *c, void *state);
void pod_affinity_add_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			  const struct nodeinfo *n);
void pod_affinity_remove_pod(struct plugin *p, struct cycle *c, const struct podinfo *other,
			     const struct nodeinfo *n);
struct verdict pod_affinity_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n);

/* pod_affinity_score.c */
struct verdict pod_affinity_pre_score(struct plugin *p, struct cycle *c);
struct verdict pod_affinity_score(struct plugin *p, struct cycle *c, size_t at, int64_t *ret_score);
void pod_affinity_normalize(struct plugin *p, struct cycle *c, int64_t *scores, size_t n);

extern const struct plugin_kind plugin_inter_pod_affinity;

#endif

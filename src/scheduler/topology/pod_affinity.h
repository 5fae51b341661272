/*
 * pod_affinity - between the files of InterPodAffinity.
 */
#ifndef SCHEDULER_TOPOLOGY_POD_AFFINITY_H
#define SCHEDULER_TOPOLOGY_POD_AFFINITY_H

#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/common.h"
#include "scheduler/topology/counts.h"
#include "scheduler/topology/node_view.h"

struct pod_affinity_args {
	int32_t hard_weight; /* of required affinity of pods that are there, in scores */
	bool ignore_existing; /* preferences of pods that are there, when the new one has none */
	struct node_views *views; /* the plugin's; not an argument */
};

/* Kept for a pod from pre_filter and pre_score on; each part may be NULL. */
struct pod_affinity_state {
	struct pod_affinity_filter *filter;
	struct topology_counts *score;
};

/*
 * Terms of the pod that is scheduled, with selectors of namespaces replaced by the names of those
 * that there are now: other pods are then matched without looking at their namespaces.
 */
struct affinity_terms pod_affinity_resolve(const struct plugin *p, struct cycle *c,
					   struct affinity_terms terms);

/* Labels of the pod's namespace; NULL: none. */
const struct json *pod_affinity_namespace(const struct plugin *p, struct cycle *c);

/* There are terms, and the pod matches all of them. */
bool pod_affinity_all(struct affinity_terms terms, const struct podinfo *pod);

/*
 * Adds, for every pod of the cluster that matches all of these resolved terms, `by` to the domain
 * of each term's key in which the pod is. What nodes have is remembered for the next pod.
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

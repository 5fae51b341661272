/*
 * podinfo - a pod as the scheduler reads it: parsed once, immutable, shared.
 *
 * Made from a cached object when an event brings it. What rarely occurs (affinity, spread
 * constraints, volumes ..) is NULL or empty and costs nothing. Text is borrowed from the
 * object, which is held.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_CACHE_PODINFO_H
#define SCHEDULER_CACHE_PODINFO_H

#include "api/selector/node_selector.h"
#include "api/selector/selector.h"
#include "base/core/arena.h"
#include "base/core/error.h"
#include "scheduler/cache/amounts.h"

struct cached;
struct json;

enum taint_effect {
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE,
	TAINT_NO_EXECUTE,
	TAINT_ANY, /* a toleration without an effect */
};

struct toleration {
	struct str key, value; /* empty key with exists: every taint */
	bool exists; /* operator Exists; else Equal */
	/* Operators Lt and Gt (numbers) are kept as text here; empty: one of the above. */
	struct str operator;
	enum taint_effect effect;
};

struct pod_port {
	struct str ip; /* "" and "0.0.0.0" are made "0.0.0.0" */
	struct str protocol; /* "TCP" by default */
	int32_t port; /* the host's; never 0 */
};

/* A term of inter-pod affinity: which pods, in which namespaces, within what. */
struct affinity_term {
	struct selector pods; /* matchLabelKeys merged in, as the API server does it */
	bool nothing; /* no labelSelector at all: matches no pod */
	const struct str *namespaces;
	size_t nnamespaces; /* 0 and no selector: the pod's own, filled in */
	bool has_namespace_selector;
	struct selector namespace_selector; /* of labels of Namespaces; empty: all of them */
	struct str topology_key;
	int32_t weight; /* of preferred terms */
};

struct affinity_terms {
	const struct affinity_term *v;
	size_t n;
};

struct spread_constraint {
	int32_t max_skew, min_domains;
	struct str topology_key;
	bool schedule_anyway; /* else DoNotSchedule */
	struct selector pods;
	bool nothing;
	bool honor_affinity; /* nodeAffinityPolicy; default true */
	bool honor_taints; /* nodeTaintsPolicy; default false */
};

struct preferred_node {
	int32_t weight;
	struct node_selector_term term;
};

struct pod_claim {
	struct str name; /* in the pod's spec */
	struct str claim; /* resourceClaimName, or the generated one of status; p NULL: none yet */
	bool from_template;
	bool none_needed; /* status has an entry without a name */
};

struct pod_volume {
	struct str name;
	struct str pvc; /* of a claim in the pod's namespace; or empty */
	struct str pvc_key; /* "ns/name" of it; or empty */
	bool ephemeral; /* pvc is the name of the generated claim */
	const struct json *source; /* the volume's own object */
};

struct podinfo {
	unsigned refs;
	struct cached *object;
	struct str ns, name, uid, key; /* key: "ns/name" */
	struct str node; /* spec.nodeName; empty: not bound. Set in an assumed pod */
	struct str scheduler; /* "default-scheduler" */
	struct str nominated; /* status.nominatedNodeName */
	const struct json *labels; /* object; or NULL */
	const struct json *annotations;
	int32_t priority;
	bool never_preempts; /* preemptionPolicy: Never */
	bool deleting, terminal; /* deletionTimestamp; phase Succeeded or Failed */
	int64_t created_s, started_s; /* Unix seconds; started: status.startTime, 0 when not */
	uint64_t revision;
	int64_t generation; /* metadata.generation, for observedGeneration of its condition */
	const struct json *tree; /* of what is below here: all of it while the pod is unbound */

	/* What it takes, as upstream sums it: max of init and sum of others, sidecars, overhead,
	 * pod-level requests. `nonzero`: a container without one counts 100m and 200Mi. */
	struct amounts requests;
	struct amount_names *names; /* where those of requests are held; or NULL */
	int64_t nonzero_cpu_milli, nonzero_memory;

	/*
	 * A bound pod has ports, claims, volumes (claims and disks only) and terms of inter-pod
	 * affinity; the rest of what follows, which only deciding on a pod needs, is empty then.
	 */
	const struct str *gates; /* schedulingGates */
	const struct pod_port *ports;
	const struct toleration *tolerations;
	const struct pod_claim *claims;
	const struct pod_volume *volumes;
	const struct str *pvc_keys; /* of volumes that are claims by name: in order, each once */
	const struct str *images; /* of all containers */
	const struct spread_constraint *spread;
	const struct preferred_node *preferred_nodes;
	size_t ngates, nports, ntolerations, nclaims, nvolumes, npvc_keys, nimages, nspread;
	size_t npreferred_nodes;

	const struct json *node_labels; /* spec.nodeSelector; or NULL */
	const struct node_selector *required_nodes; /* or NULL */
	struct affinity_terms affinity, anti_affinity; /* required */
	struct affinity_terms preferred_affinity, preferred_anti_affinity;
	struct arena arena; /* of the above */
};

/*
 * Reads a pod. -ERR_INVALID when it is none that validation would have let through; it is then
 * not scheduled, and not counted on its node.
 */
int podinfo_new(struct cached *object, struct amount_names *names, struct podinfo **ret_pod,
		struct error *err);
struct podinfo *podinfo_ref(struct podinfo *p);
void podinfo_unref(struct podinfo *p); /* NULL allowed */
DEFINE_CLEANUP(podinfo_unref, struct podinfo *);

/* The same pod as if bound to the node: shares the object. */
struct podinfo *podinfo_assumed(struct podinfo *p, struct str node);

/*
 * nonzero_* of a pod that waits without what it requests as a whole: upstream's score of
 * NodeResourcesFit counts containers only.
 */
void podinfo_nonzero_of_containers(const struct podinfo *p, struct amount_names *names,
				   int64_t *ret_cpu_milli, int64_t *ret_memory);

/* What plugins ask often. */
struct str podinfo_label(const struct podinfo *p, struct str key); /* p NULL when absent */
bool affinity_term_matches(const struct affinity_term *t, const struct podinfo *p,
			   const struct json *namespace_labels);
bool toleration_tolerates(const struct toleration *t, struct str key, struct str value,
			  enum taint_effect effect);

/*
 * Which of EVENT_UPDATE_* (cluster_event.h) the change from old to new is, as upstream tells them
 * apart; EVENT_UPDATE_OTHER when it is none of the others.
 */
unsigned podinfo_changes(const struct podinfo *old, const struct podinfo *p);

#endif

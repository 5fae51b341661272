/*
 * podinfo - a pod as the scheduler reads it: parsed once, immutable, shared.
 *
 * It is created from a cached object when an event arrives. Rare fields (affinity, spread
 * constraints, volumes ..) are NULL or empty, and then cost nothing. Text is borrowed from the
 * object, on which it holds a reference.
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
	struct str key, value; /* an empty key with `exists` matches every taint */
	bool exists; /* operator Exists; else Equal */
	/* "Lt" or "Gt", which compare numbers; empty for Exists and Equal. */
	struct str operator;
	enum taint_effect effect;
};

struct pod_port {
	struct str ip; /* "" is stored as "0.0.0.0" */
	struct str protocol; /* "TCP" by default */
	int32_t port; /* the host's; never 0 */
};

/* A term of inter-pod affinity: a selector of pods, their namespaces, and the topology key. */
struct affinity_term {
	struct selector pods; /* including matchLabelKeys, which are merged as in the API server */
	bool nothing; /* without a labelSelector: matches no pod */
	const struct str *namespaces;
	/* If the term has neither namespaces nor selector, the pod's own is filled in. */
	size_t nnamespaces;
	bool has_namespace_selector;
	struct selector namespace_selector; /* on labels of Namespaces; empty: all namespaces */
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
	/* resourceClaimName, or the generated name in status; p NULL: not generated yet. */
	struct str claim;
	bool from_template;
	bool none_needed; /* status has an entry without a name: no claim is needed */
};

struct pod_volume {
	struct str name;
	struct str pvc; /* name of a PersistentVolumeClaim in the pod's namespace, or empty */
	struct str pvc_key; /* "ns/name" of the claim, or empty */
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
	int64_t created_s, started_s; /* Unix seconds; started: status.startTime, or 0 */
	uint64_t revision;
	int64_t generation; /* metadata.generation, for observedGeneration of its condition */
	const struct json *tree; /* owner of the JSON below; the whole pod while it is unbound */

	/*
	 * The pod's requests, summed as upstream does: the maximum of init containers and the sum
	 * of the others, sidecars, overhead, pod-level requests. `nonzero`: a container without
	 * requests counts as 100m and 200Mi.
	 */
	struct amounts requests;
	struct amount_names *names; /* holds the names of requests; or NULL */
	int64_t nonzero_cpu_milli, nonzero_memory;

	/*
	 * A bound pod only has ports, claims, volumes (claims and disks) and inter-pod affinity
	 * terms. The other fields below are only needed to schedule a pod, and are empty for bound
	 * pods.
	 */
	const struct str *gates; /* schedulingGates */
	const struct pod_port *ports;
	const struct toleration *tolerations;
	const struct pod_claim *claims;
	const struct pod_volume *volumes;
	const struct str *pvc_keys; /* of volumes with a named claim: sorted, without duplicates */
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
 * Reads a pod. Returns -ERR_INVALID if validation should have rejected it. Such a pod is not
 * scheduled and not counted on its node.
 */
int podinfo_new(struct cached *object, struct amount_names *names, struct podinfo **ret_pod,
		struct error *err);
struct podinfo *podinfo_ref(struct podinfo *p);
void podinfo_unref(struct podinfo *p); /* NULL allowed */
DEFINE_CLEANUP(podinfo_unref, struct podinfo *);

/* Returns a copy that is bound to the node. It shares the object. */
struct podinfo *podinfo_assumed(struct podinfo *p, struct str node);

/*
 * Returns nonzero_* of an unbound pod without its pod-level requests: upstream's score of
 * NodeResourcesFit counts containers only.
 */
void podinfo_nonzero_of_containers(const struct podinfo *p, struct amount_names *names,
				   int64_t *ret_cpu_milli, int64_t *ret_memory);

/* Shortcuts for plugins. */
struct str podinfo_label(const struct podinfo *p, struct str key); /* p NULL when absent */
bool affinity_term_matches(const struct affinity_term *t, const struct podinfo *p,
			   const struct json *namespace_labels);
bool toleration_tolerates(const struct toleration *t, struct str key, struct str value,
			  enum taint_effect effect);

/*
 * Returns the EVENT_UPDATE_* bits (cluster_event.h) of the change from `old` to `p`, as upstream
 * classifies them; EVENT_UPDATE_OTHER if no other bit applies.
 */
unsigned podinfo_changes(const struct podinfo *old, const struct podinfo *p);

#endif

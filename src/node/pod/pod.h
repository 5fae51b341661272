/*
 * pod - one Pod as the agent holds it: the object, its tree, and functions to read it.
 *
 * Immutable and reference counted: a change of the object makes another struct pod. All code that
 * decides about pods (lifecycle.h, assign.h, volumes.h, device_status.h) takes one and reads the
 * tree.
 * Threads: the loop's (the count is not atomic).
 */
#ifndef NODE_POD_POD_H
#define NODE_POD_POD_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json.h"

struct cached;

struct pod {
	unsigned refs;
	struct arena arena;
	struct str uid, ns, name;
	struct json *tree, *metadata, *spec, *status; /* spec and status are never NULL */
	bool deleting; /* metadata.deletionTimestamp is set */
	/*
	 * It comes from a manifest file of this machine (manifests/manifest.h). The API server has
	 * at most its mirror pod, which is another object with another uid.
	 */
	bool is_static;
	/* The deletion's grace period, else spec.terminationGracePeriodSeconds; 30 by default. */
	int64_t grace_s;
};

/* Holds the object. Returns -ERR_PROTOCOL if it is not a Pod with a uid. */
int pod_new(struct cached *object, struct pod **ret_pod, struct error *err);

/* The same from text; for tests and files. */
int pod_parse(struct str text, struct pod **ret_pod, struct error *err);

struct pod *pod_ref(struct pod *p);
void pod_unref(struct pod *p); /* NULL allowed */

enum pod_container_kind {
	POD_INIT, /* runs to its end before the next one */
	POD_SIDECAR, /* an init container with restartPolicy Always */
	POD_MAIN,
	POD_EPHEMERAL,
};

/* Walks all containers: init and sidecar in their order, then main, then ephemeral ones. */
struct pod_containers {
	const struct pod *pod;
	struct json *next;
	int list;
	/* The current container. */
	struct json *container;
	struct str name;
	enum pod_container_kind kind;
};

/*
 *	struct pod_containers c = pod_containers(pod);
 *
 *	while (pod_containers_next(&c))
 */
struct pod_containers pod_containers(const struct pod *p);
bool pod_containers_next(struct pod_containers *c);

/* Returns the container of that name, or NULL. `ret_kind` may be NULL. */
struct json *pod_container(const struct pod *p, struct str name, enum pod_container_kind *ret_kind);

/* "Always" unless the pod sets another one. */
struct str pod_restart_policy(const struct pod *p);

/* status.phase is Succeeded or Failed. */
bool pod_terminal(const struct pod *p);

bool pod_host_network(const struct pod *p);

/*
 * Whether the pod is critical, as upstream: it is static, or has at least the priority of
 * system-cluster-critical.
 */
bool pod_is_critical(const struct pod *p);
/* Whether it is critical and has the priority class system-node-critical. */
bool pod_is_node_critical(const struct pod *p);

/*
 * The name of the ResourceClaim for the entry `name` of spec.resourceClaims: from there, or from
 * status.resourceClaimStatuses. Empty: not created yet. *ret_none: the pod needs no claim for it.
 */
struct str pod_claim_name(const struct pod *p, struct str name, bool *ret_none);

/* The amount of a resource that a container requests: limits, else requests; 0 if not set. */
int64_t pod_container_limit(const struct json *container, struct str resource);

DEFINE_CLEANUP(pod_unref, struct pod *);

#endif

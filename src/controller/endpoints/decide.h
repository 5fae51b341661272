/*
 * network_endpoints_decide - which endpoints a Service has on a secondary network.
 *
 * A Service takes part by the annotation devplane.dev/network: NAME. Its pods are those
 * that spec.selector chooses or, when it has none, the annotation devplane.dev/network-selector,
 * a label selector in its text form. An entry of a claim's status.devices is on the network
 * that its data.network names, else on the one that is called as the pod calls the claim
 * (pod.spec.resourceClaims[].name).
 *
 * No I/O: objects in, endpoints out. endpoints/slices.h makes EndpointSlices of them.
 */
#ifndef CONTROLLER_ENDPOINTS_DECIDE_H
#define CONTROLLER_ENDPOINTS_DECIDE_H

#include "api/selector/selector.h"
#include "base/core/map.h"
#include "base/json/json.h"

#define NETWORK_ANNOTATION          STR("devplane.dev/network")
#define NETWORK_SELECTOR_ANNOTATION STR("devplane.dev/network-selector")

/* --- a Service --------------------------------------------------------------------------- */

/* What a Service says about it; borrowed from its tree and arena. */
struct network_service {
	struct str network;
	struct selector selector;
	bool selects; /* it has a selector; without one it has no pods */
	bool ipv4, ipv6; /* the families that it wants */
	bool headless, publish_not_ready;
};

/*
 * 1 when it takes part, 0 when not; -ERR_INVALID when it would like to and an
 * annotation cannot be read.
 */
int network_service_read(struct arena *a, const struct json *service,
			 struct network_service *ret_service, struct error *err);

/* `get` as for selector_matches(). */
bool network_service_selects(const struct network_service *s,
			     struct str (*get)(const void *source, struct str key),
			     const void *source);

/* --- a pod ------------------------------------------------------------------------------- */

/* A claim of a pod: how the pod calls it, and its own name. */
struct network_claim_ref {
	struct str name, claim;
};

/* Claims that exist already, in the arena; borrowed from the tree. Returns how many. */
size_t network_pod_claims(struct arena *a, const struct json *pod,
			  struct network_claim_ref **ret_refs);

bool network_pod_ready(const struct json *pod);

/* --- what is wanted ---------------------------------------------------------------------- */

/* One address of one pod. */
struct network_endpoint {
	struct network_endpoint *next; /* of its group */
	struct str address, pod, uid, node;
	struct str hostname; /* or empty */
	bool ready, serving, terminating;
	bool placed; /* network_slices' own: it is in a slice */
};

/* Endpoints that may share slices: one family, the same ports. */
struct network_group {
	struct network_group *next;
	struct str key; /* family and ports as text */
	const char *address_type; /* "IPv4", "IPv6" */
	struct json *ports; /* as a slice has them */
	struct network_endpoint *first, **last;
	size_t n;
	size_t number; /* of the group */
	struct network_held *slices; /* network_slices' own */
};

struct network_wanted {
	struct arena *arena;
	const struct json *service;
	struct network_service says;
	struct map groups, endpoints; /* by key; by group, address and pod */
	struct network_group *first, **last;
};

/* `service` takes part and says so; both and the arena must outlive it. */
void network_wanted_init(struct network_wanted *w, struct arena *a, const struct json *service,
			 const struct network_service *says);
void network_wanted_release(struct network_wanted *w); /* all else is the arena's */

/*
 * Adds what a pod brings that the Service selects. `claims` are in the order of
 * network_pod_claims(), NULL for one that is not known. Nothing is kept of the trees.
 */
void network_wanted_add(struct network_wanted *w, const struct json *pod,
			const struct network_claim_ref *refs, const struct json *const *claims,
			size_t n);

/* The key of the group for slices of this address type with these ports, in the arena. */
struct str network_group_key(struct arena *a, struct str address_type, const struct json *ports);

#endif

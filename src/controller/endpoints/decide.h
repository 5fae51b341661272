/*
 * network_endpoints_decide - which endpoints a Service has on a secondary network.
 *
 * A Service opts in with the annotation devplane.dev/network: NAME. Its pods are those that
 * spec.selector selects. Without a selector, the annotation devplane.dev/network-selector selects
 * them; it is a label selector in text form. An entry of a claim's status.devices is on the
 * network that its data.network names. If it names none, the network is the pod's name for the
 * claim (pod.spec.resourceClaims[].name).
 *
 * No I/O: objects in, endpoints out. endpoints/slices.h turns them into EndpointSlices.
 */
#ifndef CONTROLLER_ENDPOINTS_DECIDE_H
#define CONTROLLER_ENDPOINTS_DECIDE_H

#include "api/selector/selector.h"
#include "base/core/map.h"
#include "base/json/json.h"

#define NETWORK_ANNOTATION          STR("devplane.dev/network")
#define NETWORK_SELECTOR_ANNOTATION STR("devplane.dev/network-selector")

/* --- a Service --------------------------------------------------------------------------- */

/* The settings of a Service; borrowed from its tree and arena. */
struct network_service {
	struct str network;
	struct selector selector;
	bool selects; /* it has a selector; without one it has no pods */
	bool ipv4, ipv6; /* the IP families that it requests */
	bool headless, publish_not_ready;
};

/*
 * Returns 1 if the Service opts in, 0 if not, and -ERR_INVALID if it opts in with a malformed
 * annotation.
 */
int network_service_read(struct arena *a, const struct json *service,
			 struct network_service *ret_service, struct error *err);

/* `get` as for selector_matches(). */
bool network_service_selects(const struct network_service *s,
			     struct str (*get)(const void *source, struct str key),
			     const void *source);

/* --- a pod ------------------------------------------------------------------------------- */

/* A claim of a pod: the pod's name for it, and the claim's own name. */
struct network_claim_ref {
	struct str name, claim;
};

/*
 * Lists the pod's claims that exist already, in the arena; borrowed from the tree. Returns the
 * number.
 */
size_t network_pod_claims(struct arena *a, const struct json *pod,
			  struct network_claim_ref **ret_refs);

bool network_pod_ready(const struct json *pod);

/* --- the desired endpoints ----------------------------------------------------------------- */

/* One address of one pod. */
struct network_endpoint {
	struct network_endpoint *next; /* of its group */
	struct str address, pod, uid, node;
	struct str hostname, zone; /* or empty */
	bool ready, serving, terminating;
	bool placed; /* private to network_slices: it is in a slice */
};

/* Endpoints that may share slices: one family, the same ports. */
struct network_group {
	struct network_group *next;
	struct str key; /* family and ports as text */
	const char *address_type; /* "IPv4", "IPv6" */
	struct json *ports; /* in the form of an EndpointSlice */
	struct network_endpoint *first, **last;
	size_t n;
	size_t number; /* index of the group */
	struct network_held *slices; /* private to network_slices */
};

/* Which hints endpoints get. */
enum network_hints {
	NETWORK_HINTS_NONE,
	NETWORK_HINTS_ZONE, /* their own zone */
	NETWORK_HINTS_NODE, /* and their own node */
};

struct network_wanted {
	struct arena *arena;
	const struct json *service;
	struct network_service says;
	/* Options, which the caller may change after network_wanted_init(). */
	struct str manager; /* the label managed-by; NETWORK_MANAGER */
	bool placeholders; /* a family without endpoints has an empty slice; false */
	enum network_hints hints; /* none */
	bool triggers; /* keep the annotation of the time of the change; false */
	struct str trigger; /* that time; empty: none */
	/* Private. */
	struct map groups, endpoints; /* by key; by group, address and pod */
	struct network_group *first, **last;
};

/* `says` are the settings read from `service`. Both and the arena must outlive it. */
void network_wanted_init(struct network_wanted *w, struct arena *a, const struct json *service,
			 const struct network_service *says);
void network_wanted_release(struct network_wanted *w); /* everything else belongs to the arena */

/*
 * Adds the endpoints of a pod that the Service selects. `claims` are in the order of
 * network_pod_claims(), NULL for an unknown claim. Keeps no reference to the trees.
 */
void network_wanted_add(struct network_wanted *w, const struct json *pod,
			const struct network_claim_ref *refs, const struct json *const *claims,
			size_t n);

/*
 * Adds the endpoints of a pod with these addresses; used for the cluster's network. Addresses that
 * no slice can have, and families that the Service does not have, are skipped.
 */
void network_wanted_add_addresses(struct network_wanted *w, const struct json *pod, struct str zone,
				  const struct str *addresses, size_t n);

/* The families of a Service: spec.ipFamilies, or those that its addresses suggest. */
void network_service_families(const struct json *spec, struct network_service *s);
/* A selector of a map of labels; text is borrowed. */
struct selector network_selector_of_map(struct arena *a, const struct json *map);

/* The key of the group of slices with this address type and these ports, in the arena. */
struct str network_group_key(struct arena *a, struct str address_type, const struct json *ports);

#endif

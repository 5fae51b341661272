/*
 * network_slices - EndpointSlices from what is wanted and what is there.
 *
 * Upstream's rules: at most a hundred endpoints in a slice, one family and one set of ports; an
 * endpoint stays in the slice that it is in; slices that change anyhow are filled first, then
 * one that has room for all the rest, then new ones; one that would be deleted is used
 * instead of a new one. What is already right is not written. A Service without endpoints has
 * no slices.
 *
 * No I/O.
 */
#ifndef CONTROLLER_ENDPOINTS_SLICES_H
#define CONTROLLER_ENDPOINTS_SLICES_H

#include "base/json/json.h"

struct network_wanted;

#define NETWORK_MANAGED_BY_LABEL   STR("endpointslice.kubernetes.io/managed-by")
#define NETWORK_SERVICE_NAME_LABEL STR("kubernetes.io/service-name")
#define NETWORK_MANAGER            "devplane-network-endpoints"

enum { NETWORK_SLICE_MAX = 100 }; /* endpoints */

enum network_verb { NETWORK_CREATE, NETWORK_UPDATE, NETWORK_DELETE };

/* One write. Creates have a generateName, updates the resourceVersion that they are based on. */
struct network_write {
	struct network_write *next;
	enum network_verb verb;
	struct json *slice;
};

/*
 * The writes that make `slices`, those of ours that name the Service, what is wanted, in the
 * order in which they should be done: no address goes before it has come elsewhere. The trees
 * are changed in place, and `wanted` is used up. NULL: all is right.
 */
struct network_write *network_slices_plan(struct network_wanted *wanted, struct json *const *slices,
					  size_t n);

#endif

/*
 * network_slices - plans EndpointSlices: from the desired endpoints and the existing slices. For
 * Services on secondary networks and for those on the cluster's.
 *
 * The rules are upstream's. A slice has at most a hundred endpoints, of one family and with one
 * set of ports. An endpoint stays in its slice. New endpoints go first into slices that change
 * anyway, then into one slice that has room for all the rest, then into new slices. A slice that
 * would be deleted is reused instead of creating one. Slices that are already right are not
 * written. A family without endpoints has no slice, or an empty one if placeholders are wanted.
 *
 * No I/O.
 */
#ifndef CONTROLLER_ENDPOINTS_SLICES_H
#define CONTROLLER_ENDPOINTS_SLICES_H

#include "base/json/json.h"

struct network_wanted;

#define NETWORK_MANAGED_BY_LABEL   STR("endpointslice.kubernetes.io/managed-by")
#define NETWORK_SERVICE_NAME_LABEL STR("kubernetes.io/service-name")
#define NETWORK_TRIGGER_ANNOTATION STR("endpoints.kubernetes.io/last-change-trigger-time")
#define NETWORK_MANAGER            "devplane-network-endpoints"

enum { NETWORK_SLICE_MAX = 100 }; /* endpoints */

enum network_verb { NETWORK_CREATE, NETWORK_UPDATE, NETWORK_DELETE };

/* One write. A create has a generateName, an update has the resourceVersion it is based on. */
struct network_write {
	struct network_write *next;
	enum network_verb verb;
	struct json *slice;
};

/*
 * Returns the writes that turn `slices` (our own that name the Service) into the desired state, or
 * NULL if nothing is to be done. Do them in this order: no address is removed before it was added
 * elsewhere. The trees are changed in place, and `wanted` is consumed.
 */
struct network_write *network_slices_plan(struct network_wanted *wanted, struct json *const *slices,
					  size_t n);

#endif

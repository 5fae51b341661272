/*
 * status_writer_patch - computes the patch from a pod's present status to the wanted one. Pure.
 *
 * Only fields that a node agent writes count. Fields of other writers (resourceClaimStatuses,
 * nominatedNodeName, ..) are neither compared nor sent.
 */
#ifndef NODE_STATUS_WRITER_PATCH_H
#define NODE_STATUS_WRITER_PATCH_H

#include "base/json/json.h"

/*
 * Returns the `status` of a strategic merge patch that turns `server` into `wanted`, or NULL if
 * nothing differs. It has each top-level field that differs, whole; a field that is no longer
 * wanted is null. Conditions are merged by type; a condition of ours that is no longer wanted is
 * deleted. Without `pod_level` the pod's own allocatedResourcesStatus is left alone. Borrows text
 * of both.
 */
struct json *status_patch_make(struct arena *a, const struct json *server,
			       const struct json *wanted, bool pod_level);

/*
 * The same for the condition of this type alone. Nothing else is compared or sent, because another
 * agent writes it.
 */
struct json *status_patch_condition(struct arena *a, const struct json *server,
				    const struct json *wanted, struct str type);

/* Appends the status as compact text, reduced to the fields that are compared. */
void status_patch_reduce(struct arena *a, const struct json *status, struct buf *out);

#endif

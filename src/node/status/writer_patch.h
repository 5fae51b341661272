/*
 * status_writer_patch - from the status that a pod has to the one it should have. Pure.
 *
 * Only fields that a node agent writes count; what others keep in a pod's status
 * (resourceClaimStatuses, nominatedNodeName, ..) is neither compared nor sent.
 */
#ifndef NODE_STATUS_WRITER_PATCH_H
#define NODE_STATUS_WRITER_PATCH_H

#include "base/json/json.h"

/*
 * The `status` of a strategic merge patch that turns `server` into `wanted`: top-level fields that
 * differ, whole; those that are wanted no more as null; conditions by type, where one of
 * ours that is not wanted any more is deleted. NULL when nothing differs. Without `pod_level` the
 * pod's own allocatedResourcesStatus is left alone. Borrows text of both.
 */
struct json *status_patch_make(struct arena *a, const struct json *server,
			       const struct json *wanted, bool pod_level);

/* Appends the status as compact text, reduced to what is compared. */
void status_patch_reduce(struct arena *a, const struct json *status, struct buf *out);

#endif

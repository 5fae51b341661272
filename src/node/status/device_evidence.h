/*
 * device_evidence - reads the health that devices had when containers ended (KEP-4680). Pure.
 *
 * A container's entries are evidence once it has failed, or once all containers of its pod have
 * ended. device_status.h describes how evidence is used.
 */
#ifndef NODE_STATUS_DEVICE_EVIDENCE_H
#define NODE_STATUS_DEVICE_EVIDENCE_H

#include "base/json/json.h"
#include "node/assign/assign.h"

/*
 * True if the pod has ended: `before` has a terminal phase, or all main containers in `now` ended.
 */
bool device_evidence_over(const struct json *before, const struct json *now);

/*
 * The entries (allocatedResourcesStatus) of `before` that are evidence for the container status
 * `now`, or NULL. `before` is the same container's status, or NULL.
 */
const struct json *device_evidence_of(const struct json *before, const struct json *now, bool over);

/*
 * Whether `kept`, a device's entry that is evidence, overrides `now`, its present health. If so,
 * sets *ret_health and *ret_message to the kept ones.
 */
bool device_evidence_holds(const struct json *kept, enum assign_health now,
			   enum assign_health *ret_health, struct str *ret_message);

/* Returns the health of a device's entry. */
enum assign_health device_evidence_health(const struct json *entry);

#endif

/*
 * claim_access - who may write which part of a ResourceClaim's status (KEP-4817).
 *
 * A caller needs the right to write resourceclaims/status. These rules then limit which parts of
 * the status it may change. They compare the stored claim with the claim after the write, from
 * which the entries of deallocated devices were already dropped. They apply to every kind of
 * write, dry runs included:
 *
 * - If allocation or reservedFor changes, the caller needs the request's verb on
 *   resourceclaims/binding, cluster-wide.
 * - If entries of status.devices are added, changed or removed while the claim stays allocated,
 *   the caller needs one of two rights for each of their drivers. Upstream's right is
 *   associated-node:VERB or arbitrary-node:VERB on resourceclaims/driver, in the claim's
 *   namespace, with the driver as resource name. associated-node counts only for a service
 *   account whose token is for the claim's node. KEP-4817's right is update-device-status on
 *   drivers, with the driver or "*" as resource name. It does not count for a caller on another
 *   node, or on an unknown node, if the claim's node is known. The claim's node is known only if
 *   the allocation selects exactly one node by its name.
 *
 * A rejection is an error of the field status.allocation or status.devices, so the client gets a
 * 422 together with all other errors.
 *
 * Gates: without DRAResourceClaimGranularStatusAuthorization these rules do not apply, as
 * upstream. Without DRAResourceClaimDeviceStatus entries cannot be written at all.
 *
 * Threads: the state's loop, except for claim_access_attach().
 */
#ifndef SERVER_PLUGINS_CLAIM_ACCESS_H
#define SERVER_PLUGINS_CLAIM_ACCESS_H

#include "base/core/str.h"

struct json;
struct admission_request;
struct user;

/*
 * Attaches the rules to the write if it writes the status of a ResourceClaim and the gate is on;
 * otherwise does nothing.
 */
void claim_access_attach(struct admission_request *req);

/*
 * The one node that an allocation selects by name. p NULL if it selects nodes in any other way,
 * or none.
 */
struct str claim_access_node(const struct json *allocation);

/* Where a caller runs. */
struct claim_access_place {
	bool on_node; /* it is part of a node: a kubelet, or a pod with its own token */
	bool account; /* it is a service account */
	struct str node; /* p NULL: not on a node, or on an unknown one */
};
struct claim_access_place claim_access_place(const struct user *u);

#endif

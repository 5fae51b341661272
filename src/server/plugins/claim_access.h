/*
 * claim_access - who may write which part of a ResourceClaim's status.
 *
 * The right to write resourceclaims/status opens the door; these rules say what of
 * the status may then be changed. They look at what the write would make of the stored
 * object, after entries of deallocated devices were dropped, whatever kind of
 * write it is, dry runs too:
 *
 * - allocation or reservedFor changes: the verb of the request on
 *   resourceclaims/binding, cluster-wide.
 * - entries of status.devices were added, changed or removed, while the claim stays
 *   allocated: for each of their drivers one of two rights. Upstream's is
 *   associated-node:VERB or arbitrary-node:VERB on resourceclaims/driver, in the claim's
 *   namespace, named like the driver; the former only counts for a service account
 *   whose token is of the claim's node. The KEP's is update-device-status on
 *   drivers, named like the driver or "*"; it does not count for somebody of another
 *   node than the claim's. The claim's node is known when its allocation selects exactly
 *   one node by its name, and in no other form.
 *
 * A refusal is a fault of the field, status.allocation or status.devices, and so a 422 that
 * comes together with what else is wrong.
 * Gates: without DRAResourceClaimGranularStatusAuthorization there are none of these
 * rules, as upstream; without DRAResourceClaimDeviceStatus entries cannot be written at all.
 * Threads: the state's loop, but for claim_access_attach().
 */
#ifndef SERVER_PLUGINS_CLAIM_ACCESS_H
#define SERVER_PLUGINS_CLAIM_ACCESS_H

#include "base/core/str.h"

struct json;
struct admission_request;
struct user;

/* Has the rules asked when the write is one of theirs; else does nothing. */
void claim_access_attach(struct admission_request *req);

/* The one node that an allocation selects by name; p NULL for any other form, or none. */
struct str claim_access_node(const struct json *allocation);

/* Where a caller is. */
struct claim_access_place {
	bool on_node; /* it is part of a node: a kubelet, or a pod with its own token */
	bool account; /* it is a service account */
	struct str node; /* p NULL: on none, or on one that cannot be told */
};
struct claim_access_place claim_access_place(const struct user *u);

#endif

/*
 * pod_claims_decide - the rules for pods' claims.
 *
 * These are the rules of upstream's resource claim controller, without reading and writing
 * objects: which pods still use a claim, and what follows from that. dra/claims/pod_claims.h says
 * which claim a pod refers to, and makes the claim of a template. No I/O: trees in, trees and
 * decisions out. Results live in the arena and borrow from the trees.
 */
#ifndef CONTROLLER_POD_CLAIMS_DECIDE_H
#define CONTROLLER_POD_CLAIMS_DECIDE_H

#include "dra/claims/pod_claims.h"

/* --- a pod ----------------------------------------------------------------------------------- */

/* Whether none of its containers runs or ever will. */
bool pod_claims_pod_done(const struct json *pod);

/* --- a claim --------------------------------------------------------------------------------- */

/* Whether it is allocated but not yet reserved for that pod. */
bool pod_claims_wants_reservation(const struct json *claim, struct str pod_uid);

bool pod_claims_has_finalizer(const struct json *claim);

/* --- created claims -------------------------------------------------------------------------- */

/* How many names to try for one claim, see pod_claims_make(). */
enum { POD_CLAIMS_NAME_TRIES = 8 };

/* Claims that were found or created for a pod, by the pod's names for them. */
struct pod_claims_made {
	struct pod_claims_made *next;
	struct str pod_claim, claim;
};

/*
 * The patch of a pod's status that adds the created claims to those listed already. It fails if
 * another pod has that name now.
 */
struct json *pod_claims_status_patch(struct arena *a, const struct json *pod,
				     const struct pod_claims_made *made);

/* --- users of a claim -------------------------------------------------------------------- */

enum pod_claims_verdict {
	POD_CLAIMS_KEEP,
	POD_CLAIMS_DROP,
	POD_CLAIMS_ASK, /* the pod or its uid is unknown here: read it from the server */
};

/*
 * Whether an entry of status.reservedFor is still valid. `gone`: its uid is known to be deleted.
 * `pod` is the known pod of that name, or NULL. `asked`: `pod` was read from the server, so NULL
 * means that it does not exist.
 */
enum pod_claims_verdict pod_claims_judge(const struct json *entry, bool gone,
					 const struct json *pod, bool asked);

/* The steps for a claim, in this order. */
struct pod_claims_plan {
	bool write_status; /* the tree has changed: write it to the status */
	bool drop_finalizer; /* afterwards, if the reply has no allocation */
	bool unused; /* no pod uses it: delete it if the pod that it was created for is done */
};

/*
 * Removes from the tree the entries whose verdict is POD_CLAIMS_DROP, and the allocation if no
 * user is left or the claim is being deleted. There must be one verdict for each entry, none of
 * them POD_CLAIMS_ASK.
 */
struct pod_claims_plan pod_claims_settle(struct json *claim,
					 const enum pod_claims_verdict *verdicts);

/* Adds the pod to the users in the tree. */
void pod_claims_reserve(struct arena *a, struct json *claim, const struct json *pod);
void pod_claims_drop_finalizer(struct json *claim);

/*
 * Whether to delete an unused claim, given the pod of its owner's name. If `pod` is NULL the claim
 * is kept: the garbage collector deletes it if the pod is gone. `asked`: `pod` was read from the
 * server.
 */
enum pod_claims_verdict pod_claims_judge_unused(const struct json *claim, const struct json *pod,
						bool asked);

#endif

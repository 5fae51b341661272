/*
 * pod_claims_decide - the rules for pods' claims.
 *
 * These are the rules of upstream's resource claim controller, without reading and writing
 * objects: which claim a pod refers to, the claim to create from a template, which pods still use
 * a claim, and what follows from that. No I/O: trees in, trees and decisions out. Results live in
 * the arena and borrow from the trees.
 */
#ifndef CONTROLLER_POD_CLAIMS_DECIDE_H
#define CONTROLLER_POD_CLAIMS_DECIDE_H

#include "base/json/json.h"

#define POD_CLAIMS_ANNOTATION          STR("resource.kubernetes.io/pod-claim-name")
#define POD_CLAIMS_EXTENDED_ANNOTATION STR("resource.kubernetes.io/extended-resource-claim")
#define POD_CLAIMS_FINALIZER           STR("resource.kubernetes.io/delete-protection")

/* --- a pod ----------------------------------------------------------------------------------- */

enum pod_claims_ref_state {
	POD_CLAIMS_REF_NAMED, /* the claim's name is known */
	POD_CLAIMS_REF_MISSING, /* the claim must be created from a template */
	POD_CLAIMS_REF_UNNEEDED, /* a controller decided that the pod needs none */
	POD_CLAIMS_REF_UNKNOWN, /* the entry has a form that we do not know */
};

/* The claim that an entry of spec.resourceClaims refers to. */
struct pod_claims_ref {
	enum pod_claims_ref_state state;
	struct str pod_claim; /* the pod's name for it */
	struct str claim; /* with POD_CLAIMS_REF_NAMED */
	struct str template; /* empty: the claim is the user's own */
};

struct pod_claims_ref pod_claims_ref_of(const struct json *pod, const struct json *entry);

/* The claim that the scheduler created for the pod's extended resources; or empty. */
struct str pod_claims_extended(const struct json *pod);

/* Whether none of its containers runs or ever will. */
bool pod_claims_pod_done(const struct json *pod);

/* --- a claim --------------------------------------------------------------------------------- */

/* Whether the object with this uid is the claim's controller. */
bool pod_claims_controlled_by(const struct json *claim, struct str uid);

/* The pod that the claim was created for. Returns false if it was created for none. */
bool pod_claims_owner(const struct json *claim, struct str *ret_name, struct str *ret_uid);

/* Whether it was created from a template for this entry of this pod. */
bool pod_claims_made_for(const struct json *claim, struct str pod_uid, struct str pod_claim);

/* Whether it is allocated but not yet reserved for that pod. */
bool pod_claims_wants_reservation(const struct json *claim, struct str pod_uid);

bool pod_claims_has_finalizer(const struct json *claim);

/* --- from a template ------------------------------------------------------------------------- */

enum {
	POD_CLAIMS_BASE_MAX = 57, /* of a name, without the random-looking suffix */
	POD_CLAIMS_NAME_TRIES = 8,
};

/*
 * The generateName: "POD-CLAIM-", with both parts shortened in proportion if they are too long. As
 * upstream, a shortened name does not end with a dash.
 */
struct str pod_claims_generate_name(struct arena *a, struct str pod, struct str pod_claim);

/*
 * The claim for one entry of a pod. Its name looks generated but depends only on the pod's uid,
 * the entry and `attempt`. So creating it twice, after a lost reply or in a new process, fails
 * because it exists. Use another attempt if the name belongs to a different claim.
 */
struct json *pod_claims_make(struct arena *a, const struct json *pod, struct str pod_claim,
			     const struct json *template, unsigned attempt);

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

/*
 * pod_claims_decide - what becomes of pods' claims.
 *
 * The rules of upstream's resource claim controller, apart from how objects are found and
 * written: which claim a pod means, the claim that a template makes, who still uses a claim,
 * and what follows from that. No I/O: trees in, trees and decisions out. What is made lives in
 * the arena and borrows from the trees.
 */
#ifndef CONTROLLER_POD_CLAIMS_DECIDE_H
#define CONTROLLER_POD_CLAIMS_DECIDE_H

#include "base/json/json.h"

#define POD_CLAIMS_ANNOTATION          STR("resource.kubernetes.io/pod-claim-name")
#define POD_CLAIMS_EXTENDED_ANNOTATION STR("resource.kubernetes.io/extended-resource-claim")
#define POD_CLAIMS_FINALIZER           STR("resource.kubernetes.io/delete-protection")

/* --- a pod ----------------------------------------------------------------------------------- */

enum pod_claims_ref_state {
	POD_CLAIMS_REF_NAMED, /* it has a name */
	POD_CLAIMS_REF_MISSING, /* it is to be made from a template, and has not been */
	POD_CLAIMS_REF_UNNEEDED, /* it was decided that the pod needs none */
	POD_CLAIMS_REF_UNKNOWN, /* the pod says it in a way that we do not know */
};

/* What an entry of spec.resourceClaims leads to. */
struct pod_claims_ref {
	enum pod_claims_ref_state state;
	struct str pod_claim; /* how the pod calls it */
	struct str claim; /* with POD_CLAIMS_REF_NAMED */
	struct str template; /* or empty: the claim is the user's */
};

struct pod_claims_ref pod_claims_ref_of(const struct json *pod, const struct json *entry);

/* The claim that the scheduler made for the pod's extended resources; or empty. */
struct str pod_claims_extended(const struct json *pod);

/* None of its containers runs, and none ever will. */
bool pod_claims_pod_done(const struct json *pod);

/* --- a claim --------------------------------------------------------------------------------- */

/* The object with this uid is the claim's controller. */
bool pod_claims_controlled_by(const struct json *claim, struct str uid);

/* The pod for which it was made; false when it was made for none. */
bool pod_claims_owner(const struct json *claim, struct str *ret_name, struct str *ret_uid);

/* It was made for this pod, from a template, as this claim of it. */
bool pod_claims_made_for(const struct json *claim, struct str pod_uid, struct str pod_claim);

/* It is allocated, and not yet reserved for that pod. */
bool pod_claims_wants_reservation(const struct json *claim, struct str pod_uid);

bool pod_claims_has_finalizer(const struct json *claim);

/* --- from a template ------------------------------------------------------------------------- */

enum {
	POD_CLAIMS_BASE_MAX = 57, /* of a name, before the letters that make it unique */
	POD_CLAIMS_NAME_TRIES = 8,
};

/*
 * The generateName: "POD-CLAIM-", both shortened in proportion when they are too long. As
 * upstream has it there is then no dash at the end.
 */
struct str pod_claims_generate_name(struct arena *a, struct str pod, struct str pod_claim);

/*
 * The claim for one entry of a pod. Its name looks like a generated one but depends on the pod's
 * uid, the entry and `attempt` alone, so whoever makes it twice, after an answer that was
 * lost or in a new process, is told that it exists. Another attempt is for names that
 * belong to others.
 */
struct json *pod_claims_make(struct arena *a, const struct json *pod, struct str pod_claim,
			     const struct json *template, unsigned attempt);

/* Claims that were found or made for a pod, by how it calls them. */
struct pod_claims_made {
	struct pod_claims_made *next;
	struct str pod_claim, claim;
};

/*
 * The patch of a pod's status that tells what was made, beside what it tells already; it fails
 * for another pod of that name.
 */
struct json *pod_claims_status_patch(struct arena *a, const struct json *pod,
				     const struct pod_claims_made *made);

/* --- who uses a claim ------------------------------------------------------------------------ */

enum pod_claims_verdict {
	POD_CLAIMS_KEEP,
	POD_CLAIMS_DROP,
	POD_CLAIMS_ASK, /* it, or its pod's uid, is not known here: the server must say */
};

/*
 * Whether an entry of status.reservedFor holds. `gone`: its uid is known to have been deleted.
 * `pod`: the one of that name that is known; or NULL. `asked`: the server has said
 * so, and NULL means that there is none.
 */
enum pod_claims_verdict pod_claims_judge(const struct json *entry, bool gone,
					 const struct json *pod, bool asked);

/* What is to be done with a claim, in this order. */
struct pod_claims_plan {
	bool write_status; /* the tree has changed: it goes to the status */
	bool drop_finalizer; /* then, when the answer has no allocation */
	bool unused; /* nobody uses it: it goes with the pod that it was made for */
};

/*
 * Takes the entries whose verdict is POD_CLAIMS_DROP out of the tree (one verdict for each, none of
 * them POD_CLAIMS_ASK), and its allocation where the last user has gone or it is being deleted.
 */
struct pod_claims_plan pod_claims_settle(struct json *claim,
					 const enum pod_claims_verdict *verdicts);

/* Changes the tree: the pod is one more that uses it. */
void pod_claims_reserve(struct arena *a, struct json *claim, const struct json *pod);
void pod_claims_drop_finalizer(struct json *claim);

/*
 * Whether an unused claim goes, given the pod of its owner's name; NULL: it is not known. `asked`:
 * the server has said so.
 */
enum pod_claims_verdict pod_claims_judge_unused(const struct json *claim, const struct json *pod,
						bool asked);

#endif

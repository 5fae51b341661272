/*
 * pod_claims - which claims a pod refers to, and the claim that a template makes.
 *
 * The same for the controller that creates the claims, for the scheduler and the node agent that
 * look for them, and for commands that explain them. No I/O: trees in, trees out. Results live in
 * the arena and borrow from the trees.
 */
#ifndef DRA_CLAIMS_POD_CLAIMS_H
#define DRA_CLAIMS_POD_CLAIMS_H

#include "base/json/json.h"

/* Of a claim made from a template: the pod's name for it. */
#define POD_CLAIMS_ANNOTATION "resource.kubernetes.io/pod-claim-name"
/* "true" of a claim that the scheduler made for a pod's extended resources. */
#define POD_CLAIMS_EXTENDED_ANNOTATION "resource.kubernetes.io/extended-resource-claim"
/* Of an allocated claim. */
#define POD_CLAIMS_FINALIZER "resource.kubernetes.io/delete-protection"

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

/* --- a claim --------------------------------------------------------------------------------- */

/* Whether the object with this uid is the claim's controller. */
bool pod_claims_controlled_by(const struct json *claim, struct str uid);

/* The pod that the claim was created for. Returns false if it was created for none. */
bool pod_claims_owner(const struct json *claim, struct str *ret_name, struct str *ret_uid);

/* Whether it was created from a template for this entry of this pod. */
bool pod_claims_made_for(const struct json *claim, struct str pod_uid, struct str pod_claim);

/* --- from a template ------------------------------------------------------------------------- */

/* Of a name, without the random-looking suffix. */
enum { POD_CLAIMS_BASE_MAX = 57 };

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

#endif

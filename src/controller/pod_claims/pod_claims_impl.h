/*
 * pod_claims_impl - shared by its files: the controller's state, and the job for one pod or claim.
 */
#ifndef CONTROLLER_POD_CLAIMS_POD_CLAIMS_IMPL_H
#define CONTROLLER_POD_CLAIMS_POD_CLAIMS_IMPL_H

#include "controller/pod_claims/decide.h"
#include "controller/pod_claims/gone.h"
#include "controller/pod_claims/metrics.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/served.h"
#include "controller/shared/work.h"

struct workqueue;

struct pod_claims {
	struct context ctx;
	struct following following;
	struct followed pods; /* indexes: POD_CLAIMS_BY_CLAIM, POD_CLAIMS_BY_TEMPLATE */
	struct followed claims; /* indexes: POD_CLAIMS_BY_OWNER, POD_CLAIMS_BY_USER */
	struct followed templates;
	struct served_wait wait; /* for a discovery refresh */
	struct loop_timer again; /* starts the next one */
	bool looked;
	struct workqueue *queue; /* "pod:NAMESPACE/NAME", "claim:NAMESPACE/NAME" */
	struct works jobs;
	struct pod_claims_gone gone; /* uids of pods */
	struct pod_claims_metrics metrics;
	struct arena scratch; /* for one event, or one step */
};

#define POD_CLAIMS_BY_CLAIM    "resourceclaim" /* pods, by the keys of their claims */
#define POD_CLAIMS_BY_TEMPLATE "resourceclaimtemplate" /* pods, by the keys of their templates */
#define POD_CLAIMS_BY_OWNER    "owner-uid" /* claims, by the uids of their owners */
#define POD_CLAIMS_BY_USER     "user-uid" /* claims, by the uids of those they are reserved for */

#define POD_CLAIMS_POD_KEY   STR("pod:")
#define POD_CLAIMS_CLAIM_KEY STR("claim:")

/* --- jobs ------------------------------------------------------------------------------------ */

/* The work for one key: one request after the other. */
struct pod_claims_job {
	struct work work;
	struct pod_claims *owner;
	struct str ns, name; /* in the key */
	void (*on_answer)(struct pod_claims_job *j, const struct client_answer *a,
			  const struct error *err);
	/* For a pod: */
	struct json *pod;
	struct json *entry; /* the entry of spec.resourceClaims being processed */
	unsigned attempt; /* number of the name tried for it */
	struct pod_claims_made *made, **made_last;
	/* For a claim: */
	struct json *claim;
	struct json *user; /* the entry of status.reservedFor being judged */
	enum pod_claims_verdict *verdicts;
	size_t judged;
	bool unseen; /* a user was kept that only the server knows: check again later */
	struct pod_claims_plan plan;
};

/* The queue's handler. */
void pod_claims_handle(void *arg, struct str key);

/* Not work_end(): a claim with a user that is unseen is looked at again. */
void pod_claims_job_end(struct pod_claims_job *j, bool again);

void pod_claims_pod_begin(struct pod_claims_job *j); /* pod_claims/pod.c */
void pod_claims_claim_begin(struct pod_claims_job *j); /* pod_claims/claim.c */

#endif

/*
 * pod_claims_impl - between its files: who is concerned, and what is done for a pod or a claim.
 */
#ifndef CONTROLLER_POD_CLAIMS_POD_CLAIMS_IMPL_H
#define CONTROLLER_POD_CLAIMS_POD_CLAIMS_IMPL_H

#include "client/informer/informer.h"
#include "controller/pod_claims/decide.h"
#include "controller/pod_claims/gone.h"
#include "controller/pod_claims/metrics.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"

struct workqueue;

struct pod_claims_followed {
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
};

struct pod_claims {
	struct context ctx;
	struct pod_claims_followed pods; /* indexes: POD_CLAIMS_BY_CLAIM, POD_CLAIMS_BY_TEMPLATE */
	struct pod_claims_followed claims; /* indexes: POD_CLAIMS_BY_OWNER, POD_CLAIMS_BY_USER */
	struct pod_claims_followed templates;
	struct served_wait wait; /* for what the server serves */
	struct loop_timer again; /* to the next look at that */
	bool looked, following;
	struct workqueue *queue; /* "pod:NAMESPACE/NAME", "claim:NAMESPACE/NAME" */
	struct list jobs;
	struct pod_claims_gone gone; /* uids of pods */
	struct pod_claims_metrics metrics;
	struct arena scratch; /* of one event, or one step */
};

#define POD_CLAIMS_BY_CLAIM    "resourceclaim" /* pods, by the keys of their claims */
#define POD_CLAIMS_BY_TEMPLATE "resourceclaimtemplate" /* pods, by the keys of their templates */
#define POD_CLAIMS_BY_OWNER    "owner-uid" /* claims, by the uids of their owners */
#define POD_CLAIMS_BY_USER     "user-uid" /* claims, by the uids of those they are reserved for */

#define POD_CLAIMS_POD_KEY   STR("pod:")
#define POD_CLAIMS_CLAIM_KEY STR("claim:")

/* --- jobs ------------------------------------------------------------------------------------ */

/* One key's work: one request after the other. */
struct pod_claims_job {
	struct list link;
	struct pod_claims *owner;
	struct str key, ns, name; /* the queue's until it is done */
	struct arena arena;
	struct client_request request;
	void (*on_answer)(struct pod_claims_job *j, const struct client_answer *a,
			  const struct error *err);
	/* Of a pod's. */
	struct json *pod;
	struct json *entry; /* of spec.resourceClaims, that is looked at */
	unsigned attempt; /* at a name for it */
	struct pod_claims_made *made, **made_last;
	/* Of a claim's. */
	struct json *claim;
	struct json *user; /* of status.reservedFor, that is looked at */
	enum pod_claims_verdict *verdicts;
	size_t judged;
	bool unseen; /* a user was kept that only the server knows: to be looked at again */
	struct pod_claims_plan plan;
};

/* The queue's handler. */
void pod_claims_handle(void *arg, struct str key);

/* Ends all of it, without a word to the queue. */
void pod_claims_jobs_release(struct pod_claims *c);

void pod_claims_job_end(struct pod_claims_job *j, bool again);

/* Says what failed, unless it is a matter of course, and tries again. */
void pod_claims_job_fail(struct pod_claims_job *j, const char *what, const struct error *err);

void pod_claims_pod_begin(struct pod_claims_job *j); /* pod_claims/pod.c */
void pod_claims_claim_begin(struct pod_claims_job *j); /* pod_claims/claim.c */

#endif

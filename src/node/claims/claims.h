/*
 * claims - prepares the ResourceClaims of pods before they start, and unprepares them afterwards.
 *
 * As upstream's kubelet, the agent reads the claim from the API server and checks it. The claim
 * must belong to the pod (if it was made from a template), be allocated, and be reserved for the
 * pod. All its drivers must be registered. Nothing is recorded before these checks pass, so a pod
 * that fails here leaves no trace. Then the claim is recorded in the assignment log (assign.h), on
 * disk, before any driver is called. Each driver gets one call with all its claims, and returns the
 * devices.
 *
 * - The claim behind a pod's extended resources is prepared with the others, under the name
 *   CLAIMS_EXTENDED.
 * - When the last pod that uses a claim ends, the claim is unprepared. If a driver is not
 *   connected, the agent retries.
 * - After a restart, claims are prepared again when their pods are synced: drivers are idempotent.
 * - Every 60 s the agent unprepares claims of pods that no longer exist, and claims without pods.
 *   Until then their devices are not prepared for other claims.
 * - A device that only one claim may have is not prepared for another claim before the first one is
 *   unprepared, whatever the API server's objects say.
 *
 * Operations on the same claim never run at the same time. If pods share a claim, it is prepared
 * once, and unprepared when the last of them goes. A pod that needs a claim which is being prepared
 * or unprepared waits. Operations of one pod run in the order in which they were requested.
 * Threads: the loop's.
 */
#ifndef NODE_CLAIMS_CLAIMS_H
#define NODE_CLAIMS_CLAIMS_H

#include "base/core/error.h"
#include "node/assign/assign.h"
#include "node/plugins/plugins.h"

struct claims;
struct client;
struct log;
struct loop;
struct metrics;

enum { CLAIMS_RECONCILE_MS = 60 * 1000 };

/* Used instead of a name in spec.resourceClaims; such names never begin with a dot. */
#define CLAIMS_EXTENDED ".extended"

/* The functions that reach drivers (plugins_*). Tests pass their own, with their own `plugins`. */
struct claims_drivers {
	bool (*has)(const struct plugins *p, struct str driver);
	void (*prepare)(struct plugins *p, struct str driver, const struct plugin_claim *v,
			size_t n, plugins_claims_done *done, void *arg);
	void (*unprepare)(struct plugins *p, struct str driver, const struct plugin_claim *v,
			  size_t n, plugins_claims_done *done, void *arg);
};

struct claims_opts {
	struct loop *loop;
	struct client *client;
	struct assign *assign;
	struct plugins *plugins;
	const struct claims_drivers *drivers; /* NULL: plugins_* */
	/* Saves the assignment log to disk, then calls done. */
	void (*save)(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
	/*
	 * Whether a pod with this uid still needs its claims. Must return true until pods are
	 * known.
	 */
	bool (*pod_active)(void *arg, struct str pod_uid);
	/* Whether the pod is known to be on this node and has not ended. May be NULL. */
	bool (*pod_here)(void *arg, struct str pod_uid);
	void *arg;
	/* For dra_operations_duration_seconds and dra_resource_claims_in_use; or NULL. */
	struct metrics *metrics;
	const struct log *log;
};

struct claims *claims_new(const struct claims_opts *opts);

/*
 * Cancels running operations; their `done` is not called. Driver calls and saves must not return
 * after this: free the plugins before, or in the same turn. NULL allowed.
 */
void claims_free(struct claims *c);

typedef void claims_done(void *arg, const struct error *err);

/*
 * `done` is called once, never from within; NULL allowed. Pods without claims succeed. After a
 * failure the caller must retry; finished steps are kept for the retry. Error messages are
 * upstream's.
 */
void claims_prepare(struct claims *c, struct pod *pod, claims_done *done, void *arg);
void claims_unprepare(struct claims *c, struct str pod_uid, claims_done *done, void *arg);

/* Number of running and waiting operations. */
size_t claims_pending(const struct claims *c);

/* --- which devices a container gets; pure --------------------------------------------- */

/* The part before the slash: a subrequest "request/sub" belongs to "request". */
struct str claims_base_request(struct str request);

/*
 * Whether a device belongs to this request of its claim. Base names are compared. An empty request,
 * or a device without requests, matches any.
 */
bool claims_device_fits(const struct assign_claim_device *d, struct str request);

/*
 * Walks a container's references: the entries of its resources.claims, then the requests behind its
 * extended resources.
 */
struct claims_refs {
	const struct pod *pod;
	const struct json *container;
	const struct json *next;
	bool extended;
	/* The current reference. */
	struct str pod_claim; /* the name of spec.resourceClaims, or CLAIMS_EXTENDED */
	struct str request; /* as the container names it; empty: the whole claim */
};
struct claims_refs claims_refs(const struct pod *pod, const struct json *container);
bool claims_refs_next(struct claims_refs *r);

/* Runs the periodic check now: pods became known for the first time, or a driver has come back. */
void claims_reconcile(struct claims *c);

/* CDI ids that a container gets: those of its claims, filtered by request, each once. In `a`. */
size_t claims_cdi_ids(const struct assign *assign, const struct pod *pod,
		      const struct json *container, struct arena *a, const struct str **ret_ids);

DEFINE_CLEANUP(claims_free, struct claims *);

#endif

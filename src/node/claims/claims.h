/*
 * claims - prepares the ResourceClaims of pods before they start, and unprepares them after.
 *
 * As upstream's kubelet: the claim is read from the API server, must belong to the pod (when it
 * was made from a template), be allocated and reserved for it, and all its drivers must be
 * registered; until then nothing is noted, so that a pod that fails here can go without a trace.
 * Then the log of assignments (assign.h) has it, on the disk, before any driver is asked; one
 * call per driver with all its claims; devices come from the answer. The claim that stands behind
 * a pod's extended resources is prepared with the others, under the name CLAIMS_EXTENDED. The
 * last pod's end unprepares; a driver that is not there is waited for by trying again. After a
 * restart claims are prepared again when their pods are synced: drivers are idempotent. A
 * periodic look (60 s) unprepares what belongs to pods that are not there any more, or to nobody;
 * nothing is prepared on devices that such a claim still has. A device that only one claim may
 * have is not prepared for another one before the first is unprepared, whatever the cluster says.
 *
 * Pods that share a claim: whatever is done about a claim is done alone. A pod that wants one
 * that is being prepared or unprepared waits for that; prepared it is once, and unprepared when
 * the last one goes. What concerns one pod is done in the order in which it was asked for.
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

/* In place of a name of spec.resourceClaims, which never begins with a dot. */
#define CLAIMS_EXTENDED ".extended"

/* How drivers are reached: plugins_*. A test gives its own, on a `plugins` of its own. */
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
	/* Makes the log of assignments durable, then calls done. */
	void (*save)(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
	/*
	 * Whether a pod with this uid still needs its claims. True for all until pods are known.
	 */
	bool (*pod_active)(void *arg, struct str pod_uid);
	/* Whether it is known to be here and not to have ended. NULL: nobody asks. */
	bool (*pod_here)(void *arg, struct str pod_uid);
	void *arg;
	/* Or NULL: dra_operations_duration_seconds, dra_resource_claims_in_use. */
	struct metrics *metrics;
	const struct log *log;
};

struct claims *claims_new(const struct claims_opts *opts);

/*
 * Gives up what is under way; `done`s that have not come are not called. Calls of drivers and
 * saves must not come back any more: free the plugins before, or in the same turn. NULL allowed.
 */
void claims_free(struct claims *c);

typedef void claims_done(void *arg, const struct error *err);

/*
 * Both: `done` comes once, never from within; NULL allowed. Failures are to be tried again by the
 * caller, and leave what was done for the next try: success is for pods without claims, too.
 * Messages are upstream's.
 */
void claims_prepare(struct claims *c, struct pod *pod, claims_done *done, void *arg);
void claims_unprepare(struct claims *c, struct str pod_uid, claims_done *done, void *arg);

/* What is under way or waits. */
size_t claims_pending(const struct claims *c);

/* --- which container gets what; pure -------------------------------------------------- */

/* The part before the slash: a subrequest stands for its request. */
struct str claims_base_request(struct str request);

/*
 * Whether a device belongs to this request of its claim. Base names are compared. An
 * empty request, and a device of no request, fits any.
 */
bool claims_device_fits(const struct assign_claim_device *d, struct str request);

/*
 * Walks what a container names: entries of its resources.claims, then the requests that stand
 * behind its extended resources.
 */
struct claims_refs {
	const struct pod *pod;
	const struct json *container;
	const struct json *next;
	bool extended;
	/* The current one. */
	struct str pod_claim; /* the name of spec.resourceClaims, or CLAIMS_EXTENDED */
	struct str request; /* as the container has it; empty: all of the claim */
};
struct claims_refs claims_refs(const struct pod *pod, const struct json *container);
bool claims_refs_next(struct claims_refs *r);

/* The periodic look now: pods are known for the first time, or a driver has come back. */
void claims_reconcile(struct claims *c);

/* CDI ids that a container gets: those of its claims, filtered by request, each once; in `a`. */
size_t claims_cdi_ids(const struct assign *assign, const struct pod *pod,
		      const struct json *container, struct arena *a, const struct str **ret_ids);

DEFINE_CLEANUP(claims_free, struct claims *);

#endif

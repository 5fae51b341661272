/*
 * claims - prepares the ResourceClaims of pods before they start, and unprepares them after.
 *
 * As upstream's kubelet: the claim is read from the API server, must belong to the pod (when it was made
 * from a template), be allocated and reserved for it; the log of assignments (assign.h) has it, on the
 * disk, before any driver is asked; one call per driver with all its claims; devices come from the
 * answer. The last pod's end unprepares; a driver that is not there is waited for. After a restart
 * claims are prepared again when their pods are synced: drivers are idempotent.
 * A periodic look (60 s) unprepares what belongs to pods that are not there any more.
 * Threads: the loop's.
 */
#ifndef NODE_CLAIMS_H
#define NODE_CLAIMS_H

#include "base/error.h"
#include "node/assign.h"
#include "node/plugins.h"

struct claims;
struct client;
struct log;
struct loop;
struct metrics;

struct claims_opts {
	struct loop *loop;
	struct client *client;
	struct assign *assign;
	struct plugins *plugins;
	/* Makes the log of assignments durable, then calls done. */
	void (*save)(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg);
	/* Whether a pod with this uid still needs its claims. */
	bool (*pod_active)(void *arg, struct str pod_uid);
	void *arg;
	struct metrics
		*metrics; /* or NULL: dra_operations_duration_seconds and the rest of facts/03 */
	const struct log *log;
};

struct claims *claims_new(const struct claims_opts *opts);
void claims_free(struct claims *c); /* NULL allowed */

typedef void claims_done(void *arg, const struct error *err);

/* At once with success for a pod without claims. Failures are to be tried again by the caller. */
void claims_prepare(struct claims *c, struct pod *pod, claims_done *done, void *arg);
void claims_unprepare(struct claims *c, struct str pod_uid, claims_done *done, void *arg);

/* CDI ids that a container gets: those of its claims, filtered by request; in `a`. */
size_t claims_cdi_ids(const struct assign *assign, const struct pod *pod,
		      const struct json *container, struct arena *a, const struct str **ret_ids);

#endif

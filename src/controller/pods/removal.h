/*
 * pod_removal - marks a pod as a target of disruption, or as failed, and deletes it.
 *
 * It reads the pod from the server, writes the mark if there is one to write, and deletes the pod
 * with its uid as precondition. Before each request it asks whether the pod still has to go. All
 * steps may be repeated: after a crash or a lost reply the caller starts a new removal.
 */
#ifndef CONTROLLER_PODS_REMOVAL_H
#define CONTROLLER_PODS_REMOVAL_H

#include "base/core/arena.h"
#include "base/json/json.h"
#include "client/api/client.h"
#include "client/informer/cache.h"

struct context;

/* An index of pods by their node; in the array, the last row has no name. */
#define PODS_BY_NODE "spec.nodeName"
extern const struct cache_index pods_by_node[];

enum pod_removal_end {
	POD_REMOVAL_DONE, /* deleted by us */
	POD_REMOVAL_GONE, /* it was gone, or replaced, or somebody else had deleted it */
	POD_REMOVAL_SPARED, /* it does not have to go any more */
	POD_REMOVAL_FAILED,
};

/* Embed it, zero it, fill it, start it. Texts live until it has ended. */
struct pod_removal {
	/* Set before. */
	const struct context *ctx;
	struct arena *arena; /* for requests */
	struct str ns, name, uid;
	const char *manager; /* field manager of the patch; no escaping needed */
	const char *reason, *message; /* of condition DisruptionTarget; NULL: no condition */
	/*
	 * Sets phase Failed before the deletion, together with the condition; a pod that has
	 * finished gets neither. It is then deleted without grace period, even if somebody has
	 * deleted it with one.
	 */
	bool force;
	/* Whether the pod has to go. `pod` is NULL when it is asked again before the deletion. */
	bool (*due)(struct pod_removal *r, const struct json *pod);
	/* The pod will be marked; for events. May be NULL. */
	void (*marking)(struct pod_removal *r);
	/*
	 * Called once, last, never from within pod_removal_start(). `what` says in words which
	 * step has failed; else it is NULL, as `err`.
	 */
	void (*done)(struct pod_removal *r, enum pod_removal_end end, const char *what,
		     const struct error *err);
	void *arg;

	/* Private. */
	struct resource pods;
	struct client_request request;
	void (*on_answer)(struct pod_removal *r, const struct client_answer *a,
			  const struct error *err);
};

void pod_removal_start(struct pod_removal *r);

/* Cancels it without calling `done`. A no-op if it was not started, or has ended. */
void pod_removal_cancel(struct pod_removal *r);

/*
 * The strategic merge patch of a pod's status that pod_removal writes; NULL: nothing to write.
 * `reason` may be NULL; `fail` sets phase Failed. Pure.
 */
struct json *pod_removal_mark(struct arena *a, const struct json *pod, const char *reason,
			      const char *message, bool fail, int64_t now_ns);

#endif

/*
 * owned - which objects belong to a controller: pods of a Job, ReplicaSets of a Deployment.
 *
 * An object belongs to the owner that its controller reference names by uid. If it has the owner's
 * labels and no controller, the owner adopts it; if it belongs to the owner and has lost the
 * labels, the owner releases it. The rules are upstream's. Indexes find the candidates, so no
 * change costs a walk over a namespace's pods.
 */
#ifndef CONTROLLER_PODS_OWNED_H
#define CONTROLLER_PODS_OWNED_H

#include "api/selector/selector.h"
#include "base/core/vec.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/cache.h"

struct context;

/* Indexes for the informer of the owned objects. */
#define OWNED_BY_CONTROLLER "controller-uid" /* the uid in the controller reference */
#define OWNED_ORPHANS       "orphan-namespace" /* the namespace, if there is no controller */
cache_index_fn owned_index_controller, owned_index_orphan;

/* Both; the last row has no name. */
extern const struct cache_index owned_indexes[];

/* The controller reference of an object. */
struct owned_ref {
	struct str kind, name, uid; /* uid empty: it has no controller */
};

/* Borrowed from the object or the arena. */
struct owned_ref owned_ref_of(const struct cached *o, struct arena *a);

/* Whether it has no controller. `a` is scratch memory and is cleared. */
bool owned_is_orphan(const struct cached *o, struct arena *a);

/*
 * The object that controls `o`: the one of that kind in its namespace with the name and the uid of
 * its controller reference. NULL: the cache of that kind has none. `a` is scratch memory and is
 * cleared.
 */
struct cached *owned_controller_in(const struct cache *owners, const char *kind,
				   const struct cached *o, struct arena *a);

/* Who claims. Everything is borrowed. */
struct owner {
	struct resource resource; /* "apps/v1 replicasets" */
	struct str api_version, kind, ns, name, uid;
	const struct selector *selector;
	bool deleting; /* it adopts nothing */
};

/* The owner as the object of an event. */
struct recorder_object owner_about(const struct owner *owner, struct str resource_version);

enum owned_verdict {
	OWNED_OTHERS, /* not ours */
	OWNED_KEPT, /* ours */
	OWNED_ADOPT, /* to become ours */
	OWNED_RELEASE, /* no longer ours */
};

/*
 * An object that is being deleted is neither adopted nor released. If it is the owner's but has
 * lost the labels, it is then not ours, as if it were released.
 */
enum owned_verdict owned_judge(const struct owner *owner, const struct cached *o, struct arena *a);

/* --- claiming ---------------------------------------------------------------------------- */

/*
 * Finds an owner's objects, and adopts and releases where needed. Embed it, zero it, call
 * owned_claim(). It first reads the owner from the server if it adopts, and ends with an error if
 * the owner there has another uid or is being deleted. An object that is gone meanwhile is skipped.
 * If one cannot be adopted or released, the others still are, and the first error is reported.
 */
struct owned_list {
	struct cached **v;
	size_t n, cap, max; /* as a VEC */
};

struct owned_claim {
	/* Set before. */
	const struct context *ctx;
	const struct owner *owner;
	const struct cache *cache; /* of the owned objects, with both indexes */
	const struct resource *resource; /* of the owned objects */
	struct str finalizer; /* removed together with the reference, for Jobs; or empty */
	struct arena *arena; /* the job's; for requests */
	/*
	 * Whether to leave the object as it is, neither adopted nor released: for ReplicaSets a
	 * finished pod. If it is ours already, it is in the result. May be NULL.
	 */
	bool (*leave)(const struct cached *o);
	/* Called once; at once, from within owned_claim(), if no request is needed. */
	void (*done)(struct owned_claim *c, const struct error *err);
	void *arg;

	/* The result: the objects that are ours now, in the order of their keys; references. */
	struct owned_list owned;

	/* Private. */
	struct owned_list adopt, release;
	struct client_request request;
	size_t at;
	struct error first;
};

void owned_claim(struct owned_claim *c);

/* Cancels the request and drops the references. */
void owned_claim_release(struct owned_claim *c);

#endif

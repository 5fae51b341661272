/*
 * dra_state - the scheduler's devices and claims: observed state plus its own pending decisions.
 *
 * Holds the inventory of src/dra, and the claims by key. Writes of this process count at once,
 * until the watch shows them (upstream's assume cache): the next cycle sees a claim that we
 * allocated as allocated.
 *
 *	decided    an allocation made by Reserve: it holds its devices, besides those that the claim
 *	           itself holds, until it is stored or dropped. No other pod may allocate the claim.
 *	stored     the API server's reply to our write: it counts until the watch shows the same
 *	           version or a newer one. With the reply, the claim itself holds the devices.
 *
 * The scheduler's event handlers put claims, slices, classes and taint rules here before the queue
 * gets the event.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_DRA_STATE_H
#define SCHEDULER_DRA_STATE_H

#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/str.h"

struct cached;
struct cluster_event;
struct dra_state;
struct gates;
struct inventory;
struct json;
struct log;

struct dra_state *dra_state_new(const struct gates *gates, const struct log *log);
void dra_state_free(struct dra_state *s);
struct inventory *dra_state_inventory(struct dra_state *s);
const struct gates *dra_state_gates(const struct dra_state *s);

/* --- what the watch shows ----------------------------------------------------------------- */

/* Objects from the watch. */
void dra_state_put_claim(struct dra_state *s, struct cached *o);
void dra_state_remove_claim(struct dra_state *s, struct cached *o);
void dra_state_put_slice(struct dra_state *s, struct cached *o);
void dra_state_remove_slice(struct dra_state *s, struct cached *o);
void dra_state_put_class(struct dra_state *s, struct cached *o);
void dra_state_remove_class(struct dra_state *s, struct cached *o);
void dra_state_put_taint_rule(struct dra_state *s, struct cached *o);
void dra_state_remove_taint_rule(struct dra_state *s, struct cached *o);

/* Returns a claim, including our own writes, or NULL. Borrowed until the next change. */
struct cached *dra_state_claim(const struct dra_state *s, struct str key);

/* The same with often-used fields. */
struct dra_claim {
	struct cached *object;
	struct str owner; /* uid of its controller, or empty */
	bool allocated;
	bool decided; /* an allocation is decided but not stored */
};
/* Returns false if not found. Text is borrowed as above. */
bool dra_state_find(const struct dra_state *s, struct str key, struct dra_claim *ret_claim);

/* Returns the claim that was created for a pod's extended resources, by the pod's uid, or NULL. */
struct cached *dra_state_claim_of_pod(const struct dra_state *s, struct str pod_uid);

/* --- what we do --------------------------------------------------------------------------- */

/*
 * Holds the devices of an allocation that is decided for a claim. The decision is identified by the
 * claim's uid; for a claim that does not exist yet, the caller chooses one. Returns -ERR_CONFLICT
 * if there is already a decision, or the claim has an allocation.
 */
int dra_state_decide(struct dra_state *s, const struct json *claim, const struct json *allocation,
		     struct error *err);
/* The decision was stored: removes it. */
void dra_state_settle(struct dra_state *s, struct str uid);
/*
 * The decision failed: drops it. Returns true if this frees its devices; then wake the waiting
 * pods.
 */
bool dra_state_drop(struct dra_state *s, struct str uid);

/*
 * Puts the API server's reply to our write. `decision` is the uid of the decision that it stores,
 * whose devices the claim holds now; or empty. If the watch has removed the claim meanwhile, it
 * stays removed, unless we have just created it (`is_new`). Returns true if the decision's devices
 * are free, because the claim has released them already; then wake the waiting pods.
 */
bool dra_state_stored(struct dra_state *s, struct cached *o, struct str decision, bool is_new);
/*
 * Removes a new claim that was deleted before the watch showed it. Returns true if it was still
 * known.
 */
bool dra_state_gone(struct dra_state *s, struct str key, struct str uid);
/*
 * Call this when the watch has delivered everything up to `revision`. A claim of ours that is not
 * newer and that the watch did not show was created and deleted between two lists. Removes and
 * returns one such claim; NULL if no such claim is left. Call it between turns of the watch, not
 * from its handlers.
 */
struct cached *dra_state_take_lost(struct dra_state *s, uint64_t revision);

/* `fn` is called when the claim changes or is removed, until dra_state_unwait(). */
struct dra_waiter {
	struct list link;
	void (*fn)(struct dra_waiter *w);
};
void dra_state_wait(struct dra_state *s, struct str key, struct dra_waiter *w);
void dra_state_unwait(struct dra_waiter *w); /* does nothing if it is not waiting */

/* --- what pods may wait for ----------------------------------------------------------------- */

/* Describes a change of a claim. It is computed once per event. */
struct dra_change {
	bool freed; /* devices that it held are free now */
	bool created;
	bool status; /* something in its status changed */
};
struct dra_change dra_state_change(struct dra_state *s, const struct cluster_event *e);

/*
 * Whether a device class offers the extended resource, so that nodes without it may still satisfy
 * it.
 */
bool dra_state_backs_resource(const struct dra_state *s, struct str name);

#endif

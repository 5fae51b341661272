/*
 * dra_state - devices and claims as the scheduler knows them: what was seen, and what was decided.
 *
 * Holds the inventory of src/dra and the claims by key with what this process has written or is
 * writing on top, until the watch shows it (upstream's assume cache): a claim that we allocated
 * is allocated for the next cycle, whatever the watch says yet.
 *
 *	decided    an allocation that Reserve made: its devices are held, beside whatever the claim
 *	           itself holds, until it is stored or dropped. Nobody else may have the claim.
 *	stored     the API server's answer to our write: counts until the watch shows the same
 *	           version or a newer one. The decision's devices are the claim's from then on.
 *
 * The scheduler's event handlers tell it of claims, slices, classes and taint rules before the
 * queue is told of the event.
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

/* An object as the watch shows it. */
void dra_state_put_claim(struct dra_state *s, struct cached *o);
void dra_state_remove_claim(struct dra_state *s, struct cached *o);
void dra_state_put_slice(struct dra_state *s, struct cached *o);
void dra_state_remove_slice(struct dra_state *s, struct cached *o);
void dra_state_put_class(struct dra_state *s, struct cached *o);
void dra_state_remove_class(struct dra_state *s, struct cached *o);
void dra_state_put_taint_rule(struct dra_state *s, struct cached *o);
void dra_state_remove_taint_rule(struct dra_state *s, struct cached *o);

/* A claim with what we know beyond the watch; NULL: none. Borrowed until the next change. */
struct cached *dra_state_claim(const struct dra_state *s, struct str key);

/* The same with what is asked often. */
struct dra_claim {
	struct cached *object;
	struct str owner; /* uid of its controller; empty: none */
	bool allocated;
	bool decided; /* an allocation for it is on its way */
};
/* False: there is none. Text is borrowed as above. */
bool dra_state_find(const struct dra_state *s, struct str key, struct dra_claim *ret_claim);

/* The claim that was made for a pod's extended resources, by the pod's uid; NULL: none. */
struct cached *dra_state_claim_of_pod(const struct dra_state *s, struct str pod_uid);

/* --- what we do --------------------------------------------------------------------------- */

/*
 * Holds the devices of an allocation that is decided for a claim, by the claim's uid, which for
 * a claim that is yet to be created is one of the caller's. -ERR_CONFLICT when there is such a
 * decision already, or the claim has an allocation by now.
 */
int dra_state_decide(struct dra_state *s, const struct json *claim, const struct json *allocation,
		     struct error *err);
/* It was stored, and all is well. */
void dra_state_settle(struct dra_state *s, struct str uid);
/* It came to nothing. True when its devices are free by that: those who wait should hear of it. */
bool dra_state_drop(struct dra_state *s, struct str uid);

/*
 * The API server's answer to a write of ours. `decision` is the uid of what is stored with it: its
 * devices are the claim's now; or empty. A claim that the watch has removed meanwhile stays
 * removed, unless it is new: made by us a moment ago. True when the decision's devices are free by
 * that, since the claim has given them back already: those who wait should hear of it.
 */
bool dra_state_stored(struct dra_state *s, struct cached *o, struct str decision, bool is_new);
/* A claim that was new is gone before the watch showed it. True: it was there until now. */
bool dra_state_gone(struct dra_state *s, struct str key, struct str uid);
/*
 * The watch has shown all there is up to this version: a claim of ours that is no newer, and was
 * not among it, is gone for good (it came and went between two lists). Takes one such claim out;
 * NULL: there is none left. To be called between turns of the watch, not from its handlers.
 */
struct cached *dra_state_take_lost(struct dra_state *s, uint64_t revision);

/* Calls when the claim changes or goes away, until taken off. */
struct dra_waiter {
	struct list link;
	void (*fn)(struct dra_waiter *w);
};
void dra_state_wait(struct dra_state *s, struct str key, struct dra_waiter *w);
void dra_state_unwait(struct dra_waiter *w); /* harmless when it waits no more */

/* --- what pods may wait for ----------------------------------------------------------------- */

/* What an event of a claim was, worked out once per event. */
struct dra_change {
	bool freed; /* devices that it held are free now */
	bool created;
	bool status; /* something in its status changed */
};
struct dra_change dra_state_change(struct dra_state *s, const struct cluster_event *e);

/* A class offers the extended resource by devices: nodes without it may still have it. */
bool dra_state_backs_resource(const struct dra_state *s, struct str name);

#endif

/*
 * state - the sequencer: all API objects, the order of writes, the watch feed.
 *
 * The state alone owns the objects, in two views. *Committed* is what every read and watch sees.
 * *Tip* is committed plus the writes that are under way; new writes are checked against it. So
 * checks and revisions are serial by construction. The store's feed advances committed, object by
 * object in revision order, and a writer gets its reply after that.
 *
 * Requests arrive as jobs. The state's loop calls `run`, in batches and in order of arrival; the
 * loop that submitted the job calls `done`. If both are the same loop, nothing is posted and no
 * system call is made.
 *
 * Threads: any loop may call state_submit(), state_is_shared(), state_resource() of a compiled-in
 * kind, and the functions for reading on a lane. Everything else only on the state's loop.
 */
#ifndef SERVER_ENGINE_STATE_H
#define SERVER_ENGINE_STATE_H

#include "api/object/object.h"
#include "api/schema/schema.h"
#include "api/selector/selector.h"
#include "base/ordered/omap.h"
#include "net/loop/loop.h"
#include "store/store.h"

struct job;
struct lane;
struct metrics;
struct resource; /* all objects of one resource, whatever the version */
struct state;

/*
 * An observer follows one resource on the state's loop. It gets every change at commit, in order
 * and before the writer gets its reply. After the objects were read (again), it gets reset() and
 * then every object as new.
 */
struct state_observer {
	struct str group, resource; /* "rbac.authorization.k8s.io", "roles"; "" is core */
	/* `now` is NULL for a deleted object, `before` for a new one. Both are borrowed. */
	void (*changed)(void *arg, struct object *now, struct object *before);
	void (*reset)(void *arg); /* forget all objects; or NULL */
	bool early; /* gets all objects before the other resources are read */
	void *arg;
};

struct state_opts {
	struct loop *loop;
	struct store *store; /* the state closes it */
	const struct gates *gates; /* borrowed */
	struct loop *const *lanes; /* I/O loops; may include `loop` */
	size_t nlanes;
	/* The storage versions of the stored kinds. NULL: all of schema_kinds(). Borrowed. */
	const struct schema_kind *const *kinds;
	size_t nkinds;
	const struct state_observer *observers; /* borrowed */
	size_t nobservers;
	size_t ring_bytes; /* limit for the events of one resource; 0: 64 MiB. See ring.h */
	int64_t event_ttl_ms; /* lifetime of objects of kinds with SCHEMA_EVENTS; 0: one hour */
	struct metrics *metrics; /* or NULL */
	/*
	 * Called once: err is NULL when all objects are loaded and the feed runs, else the
	 * reason.
	 */
	void (*on_ready)(void *arg, const struct error *err);
	/* The store did not answer; the state keeps retrying. Or NULL. */
	void (*on_waiting)(void *arg, const struct error *err);
	void *arg;
};

struct state *state_new(const struct state_opts *opts);

/*
 * Ends watches, waits for writes, closes the store, and calls `done` when all jobs are back on
 * their lanes. The lanes' loops must still run.
 */
void state_stop(struct state *st, void (*done)(void *arg), void *arg);
void state_free(struct state *st); /* after `done` */

/* Returns 0 if all objects are loaded and writes are accepted; else `err` says why. For /readyz. */
int state_health(struct state *st, struct error *err);

/* --- jobs ------------------------------------------------------------------------- */

/* Embed it. Belongs to the state from state_submit() until done(). */
struct job {
	struct loop *home;
	bool writes; /* runs at the end of a turn, after reads, because it takes longer */
	bool large; /* runs alone: one large job per turn, and its done() in another turn */
	void (*run)(struct state *st, struct job *j); /* must lead, now or later, to job_finish() */
	void (*done)(struct job *j);
	int64_t limit_ms; /* how long a read may wait for the newest state; 0: 3 s */
	bool named; /* the client named the revision that it reads at */
	/* Private. */
	struct loop_msg msg;
	struct list link;
	struct state *state;
	int64_t wanted; /* the revision that it waits for */
	int64_t deadline;
	void (*resume)(struct state *st, struct job *j, const struct error *err);
};

void state_submit(struct state *st, struct job *j);
void job_finish(struct job *j);

/*
 * On the state's loop: continues with `run` in a later turn, queued with the large jobs. Returns
 * false if the state is stopping.
 */
bool state_run_later(struct state *st, struct job *j, void (*run)(struct state *st, struct job *j));

/*
 * Calls `resume` as soon as committed has what a read must see: with `revision` 0 every write
 * acknowledged to any client before now (linearizable), else that revision. Calls it immediately
 * if committed has it already. `err` is -ERR_TIMEOUT after 3 s for a revision ("Too large
 * resource version" if the client named it), after the job's own limit otherwise; or
 * -ERR_UNAVAILABLE.
 */
void state_sync(struct state *st, struct job *j, int64_t revision,
		void (*resume)(struct state *st, struct job *j, const struct error *err));

/*
 * The same for a read of objects of that kind, which must see at least `revision`; -1: any
 * revision that is here. While the state reads everything again, custom definitions are known
 * before their objects are in place, so a read of a custom kind waits for the objects.
 */
void state_read(struct state *st, struct job *j, const struct schema_kind *kind, int64_t revision,
		void (*resume)(struct state *st, struct job *j, const struct error *err));

/*
 * Whether other servers write to the same store. If so, committed may lack writes that they have
 * already acknowledged.
 */
bool state_is_shared(const struct state *st);

/* --- reading ---------------------------------------------------------------------- */

int64_t state_revision(const struct state *st); /* of committed */

/* By storage name; never NULL. For a custom kind also after the kind was changed or deleted. */
struct resource *state_resource(struct state *st, const struct schema_kind *kind);

/* The resources that nearly every write reads. NULL if they are not among the stored kinds. */
struct resource *state_namespaces(const struct state *st);
struct resource *state_quotas(const struct state *st);

/*
 * Adds or changes the resource of a custom kind, which must be a storage version. A new resource
 * has no objects yet; the feed, or a load that is under way, adds them. If a resource of that
 * name exists, its watches end and its objects are converted to the new kind. Either way its
 * history begins now.
 */
void state_put_resource(struct state *st, const struct schema_kind *kind);

/* The definition was deleted: watches end, remaining objects are dropped, and writes fail. */
void state_drop_resource(struct state *st, const struct schema_kind *kind);

/*
 * Whether the stored value of a committed object is sealed with another key than a write would use
 * now. For a resource of a compiled-in kind on any loop.
 */
bool resource_seal_is_old(const struct resource *r, const struct object *o);

/* The committed object, borrowed until control returns to the loop. NULL if not found. */
struct object *resource_get(const struct resource *r, struct str ns, struct str name);
size_t resource_count(const struct resource *r);

/* --- reading on a lane -------------------------------------------------------------- */

/*
 * Whether a lane may read committed objects itself, instead of by a job: everything is loaded, the
 * state is not stopping, and no other server writes to the store. False while the state reads
 * everything again. Any thread.
 */
bool state_lets_look(const struct state *st);

/*
 * The same for preparing writes on committed objects. Also true if other servers write to the
 * store, because the state checks every draft. Any thread.
 */
bool state_lets_draft(const struct state *st);

/*
 * The committed object of a compiled-in kind with a new reference, or NULL. It includes every write
 * of this server that was acknowledged before the call, because the state publishes an object
 * before its writer gets the reply. It may include a write that is acknowledged a moment later.
 * What one lane finds never goes back in revision. On the loop of that lane; takes no lock.
 */
struct object *resource_look(const struct resource *r, size_t lane, struct str ns, struct str name);

struct list_query {
	struct str ns; /* empty: all */
	struct selector labels, fields;
	size_t limit; /* 0: all */
	struct str after; /* list the keys after this one; empty: from the start */
	int64_t revision; /* the list exactly as of this revision; 0: committed */
	/* Evaluate selectors on a few hundred objects per turn: done() may come in a later turn. */
	bool in_turns;
};

/* References to objects, in key order. */
struct list_result {
	struct object **items;
	size_t n;
	int64_t revision; /* of the listed state */
	bool more; /* the limit cut the list short */
	struct str last; /* key of the last item if `more`; in the arena */
	int64_t remaining; /* items after `last`; -1: not counted, because of selectors */
	size_t bytes; /* size of the items: the sum of object_item_size() */
};

/*
 * Lists committed, or the state as of an older revision: from the ring if it reaches back far
 * enough, else asynchronously from the store's history. With in_turns, the list shows the state
 * at the time of this call even if `done` comes later; without it `done` is called immediately,
 * except for a list from the store. Everything that the query points to must live until `done`.
 * The arena holds the references to the items. -ERR_EXPIRED if the revision is no longer
 * available.
 */
void resource_list(struct resource *r, const struct list_query *q, struct arena *a,
		   void (*done)(void *arg, const struct list_result *result,
				const struct error *err),
		   void *arg);

/* --- writing ---------------------------------------------------------------------- */

/*
 * The object that the next write of this key replaces: the newest pending state, else committed.
 * NULL if not found.
 */
struct object *resource_tip(const struct resource *r, struct str ns, struct str name);

/* The conditions under which a write takes effect. All zero: none but its base. */
struct state_terms {
	/*
	 * Names of the guards that the write takes, alive until done(); nguards may be 0.
	 * state_guard_owner() of each must be NULL in this turn. The write takes effect only if
	 * the committed state of this turn includes every earlier write with these guards,
	 * whichever server made it. So a rule over several objects holds if every write that
	 * could break it takes the same guard and is decided on committed objects.
	 */
	const struct str *guards;
	size_t nguards;
	int64_t send_by; /* as in store/store.h; 0: no limit */
	/* Other keys that the decision depends on: see store/store.h. */
	struct store_basis bases[STORE_BASES_MAX];
};

/* Embed it, or put it in the request's arena; alive until done(). */
struct state_write {
	/*
	 * err NULL: the write is durable and committed. `object` goes into the client's reply:
	 * the new state, or for a deletion the last state with the deletion's revision. Borrowed
	 * until return. -ERR_CONFLICT: another writer was first, or an earlier write of the key
	 * failed. Decide again and retry.
	 */
	void (*done)(struct state_write *w, struct object *object, const struct error *err);
	void *arg;
	struct state_terms terms;
	/* Private. */
	struct store_write store;
	struct resource *resource;
	struct object *pending; /* new state, without its revision; NULL: deletion */
	struct object *base; /* the object that it replaces; NULL: it creates one */
	uint32_t changes; /* the resource's `changes` when `pending` was made */
	struct object *result; /* the object that `done` gets */
	struct bytes *value; /* as stored */
	struct state_write *older, *newer; /* pending writes of one key */
	struct str key;
	bool tip; /* is in the list of pending writes of its key */
	struct list waits; /* struct state_wait */
};

/* An object as it will be stored. */
struct state_text {
	struct bytes *value; /* a reference */
	struct object *pending; /* without its revision; a reference */
};

/*
 * Encodes a tree of the storage version, for a write of that name. On any loop for a compiled-in
 * kind. -ERR_TOO_LARGE beyond OBJECT_MAX.
 */
int state_text_make(const struct resource *r, struct str ns, struct str name,
		    const struct json *tree, struct state_text *ret_text, struct error *err);
void state_text_release(struct state_text *t); /* of one that was not written */

/*
 * Writes `text` (NULL: delete) in place of `base`, which resource_tip() returned in this turn, and
 * takes over its references, also if it fails. ns and name are copied to the arena, which must live
 * until done(). Returns 0, and done() follows later; or -ERR_UNAVAILABLE if the state is stopping,
 * and done() is not called.
 */
int state_write_text(struct state_write *w, struct resource *r, struct str ns, struct str name,
		     struct object *base, struct state_text *text, struct arena *a,
		     struct error *err);

/*
 * The same for a tree of the storage version (NULL: delete). Also -ERR_TOO_LARGE, without done().
 */
int state_write(struct state_write *w, struct resource *r, struct str ns, struct str name,
		struct object *base, const struct json *tree, struct arena *a, struct error *err);

/* The newest pending write of a key; NULL if none. Borrowed until control returns to the loop. */
struct state_write *resource_pending(const struct resource *r, struct str ns, struct str name);

/*
 * The pending write that holds this guard; NULL if none. Borrowed until control returns to the
 * loop.
 */
struct state_write *state_guard_owner(const struct state *st, struct str guard);

/* Calls `over` once, after done() of that write, whatever the outcome. Embed it. */
struct state_wait {
	void (*over)(struct state_wait *wait);
	struct list link; /* private */
};
void state_write_wait(struct state_write *w, struct state_wait *wait);

#endif

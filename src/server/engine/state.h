/*
 * state - the sequencer: all API objects, the order of writes, the watch feed.
 *
 * It alone owns the objects. Two views: *committed*, which every read and watch
 * sees, and *tip*, committed plus the writes that are under way, against which
 * further writes are checked. Checks and revisions are thus serial by
 * construction. The store's feed moves committed on, object by object in the
 * order of revisions; writers are answered after that.
 *
 * Requests reach it as jobs: `run` is called on the state's loop, in batches,
 * in order of arrival; `done` on the loop that the job came from. When both are
 * the same loop nothing is posted and no system call is made.
 *
 * Threads: everything but state_submit() belongs to the state's loop.
 */
#ifndef SERVER_ENGINE_STATE_H
#define SERVER_ENGINE_STATE_H

#include "api/object/object.h"
#include "api/schema/schema.h"
#include "api/selector/selector.h"
#include "base/core/omap.h"
#include "net/loop/loop.h"
#include "store/store.h"

struct job;
struct lane;
struct metrics;
struct resource; /* all objects of one resource, whatever the version */
struct state;

/*
 * Somebody who follows a resource at the state: told of every change when it is
 * committed, in order, before anybody is answered; and of all there is when the
 * objects were read, after reset().
 */
struct state_observer {
	struct str group, resource; /* "rbac.authorization.k8s.io", "roles"; "" is core */
	/* `now` is NULL when it is gone, `before` when it is new. Borrowed. */
	void (*changed)(void *arg, struct object *now, struct object *before);
	void (*reset)(void *arg); /* forget all; or NULL */
	bool early; /* told of all there is before the other resources are read */
	void *arg;
};

struct state_opts {
	struct loop *loop;
	struct store *store; /* the state closes it */
	const struct gates *gates; /* borrowed */
	struct loop *const *lanes; /* I/O loops; may include `loop` */
	size_t nlanes;
	/* What is stored: storage versions. NULL: all of schema_kinds(). Borrowed. */
	const struct schema_kind *const *kinds;
	size_t nkinds;
	const struct state_observer *observers; /* borrowed */
	size_t nobservers;
	size_t ring_bytes; /* most that a resource's events may weigh; 0: 64 MiB. See ring.h */
	int64_t event_ttl_ms; /* of kinds with SCHEMA_EVENTS; 0: one hour */
	struct metrics *metrics; /* or NULL */
	/* All is loaded and the feed runs (err NULL), or why that cannot be. Once. */
	void (*on_ready)(void *arg, const struct error *err);
	/* The store did not answer; the state tries again until it does. Or NULL. */
	void (*on_waiting)(void *arg, const struct error *err);
	void *arg;
};

struct state *state_new(const struct state_opts *opts);

/*
 * Ends watches, waits for writes, closes the store; then `done`, when all jobs are back at their
 * lanes. Lanes' loops must run.
 */
void state_stop(struct state *st, void (*done)(void *arg), void *arg);
void state_free(struct state *st); /* after `done` */

/* 0 when all is loaded and writes are taken; else why not. For /readyz. */
int state_health(struct state *st, struct error *err);

/* --- jobs ------------------------------------------------------------------------- */

/* Embed it. Belongs to the state from state_submit() until done(). */
struct job {
	struct loop *home;
	bool writes; /* which takes longer: it runs at the end of a turn, after reads */
	bool large; /* of these one runs per turn, and done() comes in another turn */
	void (*run)(struct state *st, struct job *j); /* leads, now or later, to job_finish() */
	void (*done)(struct job *j);
	int64_t limit_ms; /* how long a read may wait for the newest state; 0: 3 s */
	bool named; /* its client has named the revision that it reads at */
	/* Private. */
	struct loop_msg msg;
	struct list link;
	struct state *state;
	int64_t wanted; /* the revision it waits for */
	int64_t deadline;
	void (*resume)(struct state *st, struct job *j, const struct error *err);
};

void state_submit(struct state *st, struct job *j);
void job_finish(struct job *j);

/* At the state: goes on with `run` in a later turn, as large jobs do. False: the state stops. */
bool state_run_later(struct state *st, struct job *j, void (*run)(struct state *st, struct job *j));

/*
 * Calls `resume` when committed has reached what a read must see: with
 * `revision` 0 everything acknowledged to anybody before now (linearizable),
 * else that revision. At once when it has. err: -ERR_TIMEOUT after 3 s for a
 * revision ("Too large resource version" if the client has named it), after the
 * job's own limit otherwise; -ERR_UNAVAILABLE.
 */
void state_sync(struct state *st, struct job *j, int64_t revision,
		void (*resume)(struct state *st, struct job *j, const struct error *err));

/*
 * The same for a read of objects of that kind, which must see at least `revision`; -1: any that is
 * here. While everything is read again, definitions are known before the objects are in place, so
 * objects of custom kinds are waited for.
 */
void state_read(struct state *st, struct job *j, const struct schema_kind *kind, int64_t revision,
		void (*resume)(struct state *st, struct job *j, const struct error *err));

/* Whether others write to the store, too: then committed may lack what they were told is done. */
bool state_is_shared(const struct state *st);

/* --- reading ---------------------------------------------------------------------- */

int64_t state_revision(const struct state *st); /* of committed */

/* By storage name. Of a custom kind also when that was changed or is gone; never NULL else. */
struct resource *state_resource(struct state *st, const struct schema_kind *kind);

/* Those that nearly every write asks for. */
struct resource *state_namespaces(const struct state *st);
struct resource *state_quotas(const struct state *st);

/*
 * The resource of a custom kind, which must be a storage version: made (without objects; the
 * feed, or the reading that is under way, brings them), or changed when there is one of that name:
 * its watches end, its objects are shown as the new kind has them. Its history begins now.
 */
void state_put_resource(struct state *st, const struct schema_kind *kind);

/* The definition is gone: watches end, what is left of objects is forgotten, writes fail. */
void state_drop_resource(struct state *st, const struct schema_kind *kind);

/* Committed; borrowed until control returns to the loop. NULL: not there. */
struct object *resource_get(const struct resource *r, struct str ns, struct str name);
size_t resource_count(const struct resource *r);

struct list_query {
	struct str ns; /* empty: all */
	struct selector labels, fields;
	size_t limit; /* 0: all */
	struct str after; /* key to begin behind; empty: the start */
	int64_t revision; /* exactly as of; 0: committed */
	bool in_turns; /* selectors look at some hundred objects in a turn: done may come later */
};

/* References to objects, in order of keys. */
struct list_result {
	struct object **items;
	size_t n;
	int64_t revision; /* of the state that is shown */
	bool more; /* the limit cut it */
	struct str last; /* key of the last item, when more; in the arena */
	int64_t remaining; /* items behind; -1: not counted (selectors) */
	size_t bytes; /* of the items: object_item_size() */
};

/*
 * Lists. From committed, or as of an older revision: from the ring when that
 * reaches back, else from the store's history (then asynchronously). With in_turns, what
 * is listed is what there is now, whenever `done` comes; else that comes at once. What the
 * query points to must live until then. References are held by the arena. -ERR_EXPIRED when
 * the revision is gone.
 */
void resource_list(struct resource *r, const struct list_query *q, struct arena *a,
		   void (*done)(void *arg, const struct list_result *result,
				const struct error *err),
		   void *arg);

/* --- writing ---------------------------------------------------------------------- */

/* What a key is for the next write: the newest pending state, else committed. NULL: not there. */
struct object *resource_tip(const struct resource *r, struct str ns, struct str name);

/* Embed it, or put it in the request's arena; alive until done(). */
struct state_write {
	/*
	 * err NULL: durable and committed. `object` is what clients are answered
	 * with: the new state, or the last one with the deletion's revision. Borrowed
	 * until return. -ERR_CONFLICT: somebody else was first, or a write before it
	 * failed: decide anew and try again.
	 */
	void (*done)(struct state_write *w, struct object *object, const struct error *err);
	void *arg;
	/*
	 * Names of guards that the write takes, alive until done(); or none. state_guard_owner() of
	 * each must be NULL in this turn. The write takes effect only if the committed state, as it
	 * is in this turn, has every earlier write of these guards, whichever server made it. So a
	 * rule over several objects holds if every write that could break it takes the same guard
	 * and is decided on committed objects.
	 */
	const struct str *guards;
	size_t nguards;
	int64_t send_by; /* as in store.h; 0: none */
	struct store_basis
		bases[STORE_BASES_MAX]; /* other keys that it was decided on: see store.h */
	/* Private. */
	struct store_write store;
	struct resource *resource;
	struct object *pending; /* new state, without its revision; NULL: deletion */
	struct object *base; /* what it was decided on; NULL: nothing */
	uint32_t changes; /* of the resource's kind until `pending` was made */
	struct object *result; /* what `done` is given */
	struct bytes *value; /* as stored */
	struct state_write *older, *newer; /* pending writes of one key */
	struct str key;
	bool tip; /* is among the pending writes of its key */
	struct list waits; /* struct state_wait */
};

/*
 * Writes `tree` (of the storage version; NULL: delete) where `base`, from
 * resource_tip() in this turn, is now; ns and name are copied to the arena, which must
 * live until done(). -ERR_TOO_LARGE beyond OBJECT_MAX, -ERR_UNAVAILABLE when the state
 * is being stopped: then done is not called. Else 0, and done comes later.
 */
int state_write(struct state_write *w, struct resource *r, struct str ns, struct str name,
		struct object *base, const struct json *tree, struct arena *a, struct error *err);

/* The newest write of a key that is under way; NULL: none. Borrowed until control returns. */
struct state_write *resource_pending(const struct resource *r, struct str ns, struct str name);

/* The write under way that has this guard; NULL: none. Borrowed until control returns. */
struct state_write *state_guard_owner(const struct state *st, struct str guard);

/* Calls `over` once, after done() of that write, whatever its outcome. Embed it. */
struct state_wait {
	void (*over)(struct state_wait *wait);
	struct list link; /* private */
};
void state_write_wait(struct state_write *w, struct state_wait *wait);

#endif

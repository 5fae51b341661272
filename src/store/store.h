/*
 * store - the revisioned key-value store below the API server.
 *
 * One interface, two backends: LMDB in a folder (lmdb/store.h) and an etcd v3
 * cluster (etcd/store.h). A key names one object; its value is bytes that the
 * store does not look into. Every change has a revision: cluster-wide, strictly
 * increasing, the one clock of the system.
 *
 * Writes are asynchronous and ordered; on etcd only those of one key are. A write
 * is acknowledged (done) only when it survives `kill -9` and power loss. Before that
 * its event was delivered, so whoever follows the feed has seen a write by the time
 * it is acknowledged.
 *
 * A write has one of three outcomes for its writer:
 *
 *   written      err NULL. Durable at `revision`, and its event was delivered. It was this write
 *                that made the change, not another one with equal bytes, so exactly one writer
 *                is told so.
 *   not written  -ERR_CONFLICT: the key or the basis was not as expected, a guard was touched,
 *                or `after` was not written. -ERR_UNAVAILABLE, -ERR_TOO_LARGE, -ERR_INVALID:
 *                refused. Nothing was written and nothing will be. By the time of a conflict the
 *                feed has delivered the change that it conflicts with, so deciding again on
 *                committed state makes progress. After LMDB's -ERR_IO the store takes no
 *                more writes, so the writer may treat it as not written.
 *   unknown      -ERR_TIMEOUT (etcd only). It may have been written, or may still be. If it is,
 *                the feed delivers it as somebody else's change.
 *
 * The layers above may conclude:
 *   - The state (server/engine/state_write.c) keeps a write as its key's tip until the outcome,
 *     and then forgets it, whatever the outcome: only the feed changes committed state.
 *   - A decision that succeeds may build on unfinished writes, because `after` (or a guard)
 *     makes it fail with them. A refusal may not: it waits for the writes that it was decided
 *     on, and is decided again on what became of them (server/verbs/mutation.c).
 *   - The client is answered with success for "written", with a decision made again (or the
 *     refusal that this gives) for a conflict, with 503 for other refusals, and with 504 for
 *     "unknown" and for a decision whose wait took too long. Only 504 and a lost connection leave
 *     the client in doubt.
 *
 * The feed is the one way to learn of changes, one's own and, on etcd, those of
 * other processes: every event once, in the order of revisions, without gaps.
 *
 * Threads: everything belongs to the loop that the store was opened on;
 * callbacks come on it and never from inside the call that asked. A backend's
 * own threads are its own affair.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/core/bytes.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/str.h"

struct arena;
struct loop;
struct metrics;
struct store;

/* etcd takes 128 operations in a transaction. */
enum { STORE_GUARDS_MAX = 64 };

/* Where an object lives. Pieces are borrowed during a call. No piece contains '/' or NUL but
 * `resource`, which has one '/': "resource.k8s.io/resourceclaims", "core/pods". */
struct store_key {
	struct str resource;
	struct str ns; /* empty: not namespaced */
	struct str name;
};

/*
 * A key that a write was decided on. If `at` is not 0, the write takes effect only if the key's
 * last change is at this revision, so it must still exist. Unlike a guard it is not touched: any
 * number of writes may be under way. Only etcd looks at it. The key's pieces must live until done.
 */
struct store_basis {
	struct store_key key;
	int64_t at;
};

#define STORE_BASES_MAX 2

/*
 * One write. Embed it; it belongs to the store from store_write() until done().
 * The pieces of `key` must live as long.
 */
struct store_write {
	struct store_key key;
	struct bytes
		*value; /* what to store; NULL: delete. The caller keeps its reference until done */
	/*
	 * What the key must be at: the revision of its last change, or 0 for a
	 * key that must not exist. Ignored when `after` is set: then it is what
	 * that earlier, unfinished write of the same key will have made.
	 */
	int64_t expected;
	struct store_write *after;
	/*
	 * Guards protect facts that span keys, such as "no two claims hold this device". A guard
	 * is a name (any bytes but NUL). The write takes effect only if no write has touched
	 * any of its guards after revision `view`, and then touches them all, in the same
	 * transaction. Only etcd looks at them: on LMDB nobody else writes. They must live until
	 * done. At most STORE_GUARDS_MAX.
	 */
	const struct str *guards;
	size_t nguards;
	int64_t view;
	/*
	 * Loop time in ms after which etcd's client does not send the write any more; 0: none. A
	 * write that was not sent by then is not written (-ERR_CONFLICT), so that it is decided
	 * again. LMDB takes writes in order and ignores it.
	 */
	int64_t send_by;
	/*
	 * Other keys that the write was decided on, as an object is on its namespace and on the
	 * definition of its kind.
	 */
	struct store_basis bases[STORE_BASES_MAX];

	/* Called once, with the outcome: see above. err NULL: written. */
	void (*done)(struct store_write *w, const struct error *err);
	int64_t revision; /* set before its event is delivered */

	/* Private to the store. */
	struct list link;
	struct store_write *waiting; /* writes that come after this one */
	int result;
	void *state;
};

/* One change. Borrowed during the callback; take a reference to `value` to keep it. */
struct store_event {
	struct store_key key;
	int64_t revision;
	struct bytes *value; /* NULL: deleted */
	struct store_write
		*write; /* the write of this process that made it, when that is known; else NULL */
};

struct store_feed {
	/* Events in order. `revision`: everything up to it has now been delivered. */
	void (*on_events)(void *arg, const struct store_event *events, size_t n, int64_t revision);
	/*
	 * The feed cannot go on without a gap (etcd compacted what was missed).
	 * All must be read again: store_range() and store_follow() anew.
	 */
	void (*on_lost)(void *arg, const struct error *err);
	void *arg;
};

/* One key of a range, or one change of the past. */
struct store_item {
	struct store_key key;
	int64_t revision; /* of its last change */
	struct slice value; /* in the arena or counted; lives as long as the result's arena */
};

struct store_range {
	struct str resource; /* required */
	struct str ns; /* empty: all namespaces */
	struct str after_ns, after_name; /* begin behind this key; both empty: at the start */
	size_t limit; /* 0: all */
	int64_t revision; /* state as of this revision; 0: now */
};

struct store_range_result {
	struct store_item *items; /* ordered by namespace, then name */
	size_t n;
	bool more; /* the limit cut it */
	int64_t revision; /* of the state that was read */
};

/* A change of the past, with what it replaced. */
struct store_change {
	struct store_key key;
	int64_t revision;
	struct slice value; /* p NULL: deleted */
	struct slice prev; /* p NULL: was created */
	int64_t prev_revision;
};

/* Changes in the order of revisions. */
struct store_past {
	struct store_change *changes;
	size_t n;
	int64_t from; /* after this revision they are complete */
};

/* What a backend is. Only store.c and the backends look into it. */
struct store_ops;

/* --- life ---------------------------------------------------------------------- */

/* Writes that are under way are finished first; then `closed` is called. */
void store_close(struct store *s, void (*closed)(void *arg), void *arg);

/* --- writing ------------------------------------------------------------------- */

/* Hands a write over. Never fails here: see done(). */
void store_write(struct store *s, struct store_write *w);

/* Whether done() has said "not written" (see above): nothing was written and nothing will be. */
static inline bool store_has_refused(const struct error *err)
{
	return err->code == ERR_CONFLICT || err->code == ERR_UNAVAILABLE ||
	       err->code == ERR_TOO_LARGE || err->code == ERR_INVALID;
}

/* Writes that are under way. */
size_t store_pending(const struct store *s);

/*
 * 0 when writes are taken; else why not (a failed fsync, no etcd reachable):
 * the server is then not ready. Reads may go on.
 */
int store_health(struct store *s, struct error *err);

/* --- reading ------------------------------------------------------------------- */

/*
 * Reads a range. `done` is called once; the result lives in `arena` until that
 * is cleared. -ERR_EXPIRED: the revision is compacted. -ERR_TIMEOUT: it lies in
 * the future. Pages of one revision taken one after the other are one snapshot.
 */
void store_range(struct store *s, const struct store_range *range, struct arena *arena,
		 void (*done)(void *arg, const struct store_range_result *result,
			      const struct error *err),
		 void *arg);

/*
 * The revision of the newest write that anybody was acknowledged before this
 * call: what a linearizable read must have seen. LMDB answers from memory; on
 * etcd one question is asked for all who wait.
 */
void store_current(struct store *s,
		   void (*done)(void *arg, int64_t revision, const struct error *err), void *arg);

/*
 * True when nobody else writes this data (LMDB): whoever follows the feed has then seen
 * everything that was acknowledged to anybody, and need not ask store_current().
 */
bool store_is_local(const struct store *s);

/*
 * Starts the feed: everything after `revision`. Once, or again after on_lost.
 * The feed's struct is copied.
 */
void store_follow(struct store *s, int64_t revision, const struct store_feed *feed);

/*
 * The changes of one resource after `revision`, as far as they are kept, so that
 * a restarted server can let watchers go on where they were. Of more than
 * `max_bytes` of values only the newest changes, up to the one that reaches it:
 * they are complete after the revision asked for, or after a later one. Backends
 * without a past give none, and the current revision. Synchronous; only before
 * store_follow().
 */
int store_history(struct store *s, struct str resource, int64_t revision, size_t max_bytes,
		  struct arena *arena, struct store_past *ret_past, struct error *err);

/* Forgets what was superseded at or before `revision`. Both backends do so by themselves, too. */
void store_compact(struct store *s, int64_t revision,
		   void (*done)(void *arg, const struct error *err), void *arg);

/*
 * States before this revision cannot be read, as far as is known here: what others make etcd
 * forget is known a while later, or, when they do not say so, never.
 */
int64_t store_compacted(const struct store *s);

/* A name for this data that stays the same as long as the data does. */
struct str store_cluster_id(const struct store *s);

#endif

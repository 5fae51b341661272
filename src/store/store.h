/*
 * store - the revisioned key-value store below the API server.
 *
 * There is one interface with two backends: LMDB in a folder (lmdb/store.h) and an etcd v3 cluster
 * (etcd/store.h). A key names one object. Its value is bytes that the store does not look into.
 * Every change gets a revision: a number that grows with every change of the whole cluster and
 * serves as the system's only clock.
 *
 * Writes are asynchronous. LMDB commits them in the order of the store_write() calls; etcd keeps
 * the order only among writes of the same key. The store calls done() only when the write survives
 * `kill -9` and power loss. It delivers the write's event first, so a follower of the feed has seen
 * a write by the time it is acknowledged.
 *
 * A write has one of three outcomes for its writer:
 *
 *   written      err NULL. Durable at `revision`, and its event was delivered. This write made the
 *                change, not another one with equal bytes, so exactly one writer gets this
 *                outcome.
 *   not written  -ERR_CONFLICT: the key or a basis was not as expected, a guard was touched,
 *                or `after` was not written. -ERR_UNAVAILABLE, -ERR_TOO_LARGE, -ERR_INVALID:
 *                rejected. Nothing was written and nothing will be. By the time of a conflict the
 *                feed has delivered the conflicting change, so a new decision on committed state
 *                makes progress. After LMDB's -ERR_IO the store accepts no further writes, so
 *                the writer may treat it as not written.
 *   unknown      -ERR_TIMEOUT (etcd only). It may have been written, or may still be. If it is,
 *                the feed delivers it as the change of another writer.
 *
 * The layers above rely on this:
 *   - The state (server/engine/state_write.c) keeps a write as its key's tip until the outcome,
 *     and then drops it, whatever the outcome: only the feed changes committed state.
 *   - A decision that succeeds may build on unfinished writes, because `after` (or a guard)
 *     makes it fail with them. A rejection may not: it waits for the writes that it was based
 *     on, and is decided again once their outcome is known (server/verbs/mutation.c).
 *   - The client gets success for "written", a new decision (or the resulting rejection) for a
 *     conflict, 503 for other rejections, and 504 for "unknown" and for a decision that waited
 *     too long. Only 504 and a lost connection leave the client in doubt.
 *
 * The feed is the only way to learn of changes: those of this process and, on etcd, those of other
 * processes. It delivers every event once, in the order of revisions, without gaps.
 *
 * Threads: call everything on the loop that the store was opened on. Callbacks run on that loop,
 * never from inside the call that requested them. Backends may use threads of their own internally.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdatomic.h>

#include "base/core/bytes.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/str.h"

struct arena;
struct loop;
struct metrics;
struct store;

/* The maximum number of guards of a write: etcd allows 128 operations in a transaction. */
enum { STORE_GUARDS_MAX = 64 };

/* The address of an object. The pieces are borrowed for the duration of a call. No piece may
 * contain NUL, and only `resource` contains a '/', exactly one: "resource.k8s.io/resourceclaims",
 * "core/pods". */
struct store_key {
	struct str resource;
	struct str ns; /* empty: not namespaced */
	struct str name;
};

/*
 * A key that a write was decided on. If `at` is not 0, the write takes effect only if the key's
 * last change is at this revision, so the key must still exist. Unlike a guard, a basis is not
 * touched, so any number of writes on the same basis can be in flight. Only etcd checks it. The
 * key's pieces must live until done().
 */
struct store_basis {
	struct store_key key;
	int64_t at;
};

#define STORE_BASES_MAX 2

/*
 * One write. Embed it in your own struct. It belongs to the store from store_write() until done(),
 * and the pieces of `key` must live as long.
 */
struct store_write {
	struct store_key key;
	struct bytes *value; /* NULL: delete. The caller keeps its reference until done() */
	/*
	 * The revision that the key's last change must have, or 0 if the key must not exist.
	 * Ignored if `after` is set: the write then requires the state that the earlier, unfinished
	 * write `after` of the same key will have made.
	 */
	int64_t expected;
	struct store_write *after;
	/*
	 * Guards protect facts that span keys, such as "no two claims hold this device". A guard
	 * is a name (any bytes but NUL). The write takes effect only if no write has touched
	 * any of its guards after revision `view`, and then touches them all, in the same
	 * transaction. Only etcd looks at them: on LMDB nobody else writes. They must live until
	 * done. etcd rejects more than STORE_GUARDS_MAX.
	 */
	const struct str *guards;
	size_t nguards;
	int64_t view;
	/*
	 * Loop time in ms after which etcd's client no longer sends the write; 0: no limit. If the
	 * write was not sent by then, it fails as not written (-ERR_CONFLICT), so that it is
	 * decided again. LMDB takes writes in order and ignores this.
	 */
	int64_t send_by;
	/*
	 * Other keys that the write was decided on, such as the object's namespace and the
	 * CustomResourceDefinition of its kind.
	 */
	struct store_basis bases[STORE_BASES_MAX];

	/* Called once, with one of the outcomes described above. err NULL: written. */
	void (*done)(struct store_write *w, const struct error *err);
	int64_t revision; /* set before its event is delivered */

	/* Private to the store. */
	struct list link;
	struct store_write *waiting; /* writes that come after this one */
	int result;
	void *state;
	/* Private to store/sealed: the value and done() of the caller, and what became of it. */
	void *owner;
	struct bytes *clear;
	void (*reply)(struct store_write *w, const struct error *err);
	uint32_t seal;
	uint8_t stage;
};

/* One change. Borrowed during the callback; take a reference to `value` to keep it. */
struct store_event {
	struct store_key key;
	int64_t revision;
	struct bytes *value; /* NULL: deleted */
	/* The write of this process that made it. NULL if unknown, or another process made it. */
	struct store_write *write;
	uint32_t seal; /* see store_note_seal() */
};

struct store_feed {
	/* Events in order. Everything up to `revision` has been delivered after this call. */
	void (*on_events)(void *arg, const struct store_event *events, size_t n, int64_t revision);
	/*
	 * The feed cannot continue without a gap, because etcd compacted events before they were
	 * delivered. Read everything again with store_range(), and call store_follow() again.
	 */
	void (*on_lost)(void *arg, const struct error *err);
	void *arg;
};

/* One key of a range, or one change of the past. */
struct store_item {
	struct store_key key;
	int64_t revision; /* of its last change */
	struct slice value; /* in the arena or counted; lives as long as the result's arena */
	uint32_t seal; /* see store_note_seal() */
};

struct store_range {
	struct str resource; /* required */
	struct str ns; /* empty: all namespaces */
	struct str after_ns, after_name; /* start after this key; both empty: from the beginning */
	size_t limit; /* 0: all */
	int64_t revision; /* state as of this revision; 0: now */
};

struct store_range_result {
	struct store_item *items; /* ordered by namespace, then name */
	size_t n;
	bool more; /* `limit` cut the result short */
	int64_t revision; /* of the state that was read */
};

/* A past change, with the value that it replaced. */
struct store_change {
	struct store_key key;
	int64_t revision;
	struct slice value; /* p NULL: deleted */
	struct slice prev; /* p NULL: the change created the key */
	int64_t prev_revision;
};

/* Changes in the order of revisions. */
struct store_past {
	struct store_change *changes;
	size_t n;
	int64_t from; /* all changes after this revision are included */
};

/* A backend's functions (backend.h). Only store.c and the backends look into it. */
struct store_ops;

/* --- life ---------------------------------------------------------------------- */

/* Finishes the writes in flight, closes the store, and then calls `closed`. */
void store_close(struct store *s, void (*closed)(void *arg), void *arg);

/* --- writing ------------------------------------------------------------------- */

/* Submits a write. All errors are reported by w->done(). */
void store_write(struct store *s, struct store_write *w);

/* Whether an error of done() means "not written" (see above). */
static inline bool store_has_refused(const struct error *err)
{
	return err->code == ERR_CONFLICT || err->code == ERR_UNAVAILABLE ||
	       err->code == ERR_TOO_LARGE || err->code == ERR_INVALID;
}

/* The number of writes in flight. */
size_t store_pending(const struct store *s);

/*
 * Returns 0 if the store accepts writes. Otherwise `err` has the reason (a failed fsync, no etcd
 * reachable) and the server is not ready. Reads may still work.
 */
int store_health(struct store *s, struct error *err);

/* --- reading ------------------------------------------------------------------- */

/*
 * Reads a range. `done` is called once; the result lives in `arena` until the arena is cleared.
 * -ERR_EXPIRED: the revision is compacted. -ERR_TIMEOUT: the revision lies in the future. Pages
 * read at the same revision form one snapshot.
 */
void store_range(struct store *s, const struct store_range *range, struct arena *arena,
		 void (*done)(void *arg, const struct store_range_result *result,
			      const struct error *err),
		 void *arg);

/*
 * Reports the revision of the newest write that was acknowledged to any client before this call. A
 * linearizable read must include it. LMDB answers from memory; the etcd backend sends one request
 * for all callers that wait.
 */
void store_current(struct store *s,
		   void (*done)(void *arg, int64_t revision, const struct error *err), void *arg);

/*
 * Returns true if no other process writes this data (LMDB). A follower of the feed has then seen
 * every acknowledged write and need not call store_current().
 */
bool store_is_local(const struct store *s);

/*
 * Starts the feed with the first change after `revision`. Call it once, and again after on_lost.
 * The feed's struct is copied.
 */
void store_follow(struct store *s, int64_t revision, const struct store_feed *feed);

/*
 * Reads the changes of one resource after `revision`, as far as they are kept, so that a restarted
 * server can let watchers resume. If their values exceed `max_bytes`, only the newest changes are
 * returned, up to and including the one that reaches the limit. ret_past->from is the revision
 * after which they are complete: the requested one or a later one. Backends without history return
 * no changes, and the current revision. Synchronous; call it only before store_follow().
 */
int store_history(struct store *s, struct str resource, int64_t revision, size_t max_bytes,
		  struct arena *arena, struct store_past *ret_past, struct error *err);

/*
 * Deletes versions that were superseded at or before `revision`. Both backends also do this on
 * their own schedule.
 */
void store_compact(struct store *s, int64_t revision,
		   void (*done)(void *arg, const struct error *err), void *arg);

/*
 * Returns the oldest revision whose state can be read, as far as this process knows. If another
 * process compacts etcd, this process learns of it later, or never if the other does not announce
 * it.
 */
int64_t store_compacted(const struct store *s);

/*
 * Values may be sealed, that is encrypted (store/sealed/store.h). A seal is the number of the key
 * that a value is sealed with; 0: none. This call keeps *seal at the seal that a write of this
 * resource would get now, so that a reader on any thread can tell which objects are sealed with an
 * old key. STORE_SEAL_UNKNOWN: the store cannot say. *seal must outlive the store.
 */
#define STORE_SEAL_UNKNOWN UINT32_MAX
void store_note_seal(struct store *s, struct str resource, atomic_uint *seal);

/* An identifier of the data. It stays the same as long as the data does. */
struct str store_cluster_id(const struct store *s);

#endif

/*
 * etcd_write - writes to etcd: one transaction each, many at once.
 *
 * A transaction compares the mod revisions of the key and of its bases with the expected ones, and
 * each guard's with the view (store.h). If all hold, it puts or deletes the key and touches the
 * guards. It also stores the write's stamp (etcd/stamp.h). Writes of different keys are sent
 * concurrently, up to ETCD_WRITES_MAX. A write that comes `after` another is sent when that one's
 * revision is known.
 *
 * While the feed runs, a write ends when the feed has delivered everything up to the revision of
 * etcd's answer: its own event if it succeeded, the conflicting change if not. The feed may take
 * the write's event from that answer.
 *
 * An answer of etcd proves:
 *  - "succeeded": written, at the revision of the answer.
 *  - "compare failed", to the only transaction that was sent: not written.
 *  - a rejection before the proposal (no leader, no space, too large): not written.
 *  - no answer: nothing. The member may have proposed the transaction, and it may be applied
 *    at any later time. The write is in doubt, and the feed has to show its outcome:
 *
 *    An update or a deletion is sent again. The mod revision that it compares with never comes
 *    back, and a guard that was touched stays touched, so at most one of both takes effect. If the
 *    second succeeds, the write is written. If its compare fails, we wait for the feed to reach the
 *    revision of that answer: it shows a change with our stamp (written), or none (not
 *    written, now or ever).
 *
 *    A creation is not sent again. The key's absence can come back: a creation that took effect
 *    and was deleted by another writer could take effect a second time. We wait for the feed to
 *    reach the revision of a linearizable read. If it shows our stamp, the write is written. If
 *    not, the creation may still be on its way, and the outcome is unknown.
 *
 *    If the feed had a gap in between (etcd compacted it), or etcd does not answer for
 *    DOUBT_MS, the outcome is unknown unless the stamp was seen.
 */
#ifndef STORE_ETCD_WRITE_H
#define STORE_ETCD_WRITE_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/map.h"
#include "net/loop/loop.h"
#include "store/store.h"

struct etcd_client;

struct etcd_writes {
	struct store *store; /* its `pending` is updated */
	struct etcd_client *client;
	struct str prefix;
	uint64_t stamp; /* of the newest write; never 0 */
	/* Revision and stamp of the newest deletion in the feed. */
	int64_t deletion_revision;
	uint64_t deletion_stamp;
	struct buf deletion_key; /* `<prefix>.deleted` */
	struct arena arena; /* for building a transaction */
	struct map keys; /* key to the newest sent write of that key */
	struct list queued; /* waiting to be sent */
	struct list landed; /* answered, waiting for the feed; sorted by revision */
	struct list dead; /* failed without being sent */
	/* Calls done() of ended writes where that must not happen immediately. */
	struct loop_task task;
	size_t sent; /* number in flight */
	bool following; /* the feed runs, so writes may wait for it */
	int64_t delivered; /* revision up to which the feed has delivered */
	unsigned epoch; /* counts the starts and ends of the feed */
	struct error refusal; /* why etcd rejected the last write; code 0: it did not */
	int64_t refused_at; /* ms */
	struct loop_task *ended; /* deferred whenever a write has ended; or NULL */
	struct loop_task *answered; /* the feed's: deferred when a write has succeeded */
};

/* `prefix` must outlive it. */
void etcd_writes_init(struct etcd_writes *ws, struct store *store, struct etcd_client *client,
		      struct str prefix);

/* All writes must have ended. */
void etcd_writes_release(struct etcd_writes *ws);

void etcd_writes_add(struct etcd_writes *ws, struct store_write *w);

/* --- called by the feed -------------------------------------------------------------- */

/*
 * The feed starts after this revision, or restarts after it was lost. In the second case the
 * follower has read everything before that revision, and writes that waited for those changes end.
 */
void etcd_writes_follow(struct etcd_writes *ws, int64_t revision);

/* The feed has a gap. */
void etcd_writes_lost(struct etcd_writes *ws);

/*
 * The feed has stopped for good: ends all writes that wait for it, with the outcome known so far.
 */
void etcd_writes_unfollow(struct etcd_writes *ws);

/*
 * Called for every change, also of other keys, before it is delivered. Returns our write that made
 * it, or NULL. *value is the value in etcd, NULL for a deletion; the stamp is cut off it.
 */
struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      struct str *value);

/*
 * Finds our write that made the change right after `revision`, if etcd has answered it. Returns
 * false if none is known; else *ret_event is to be delivered, with a reference to the value. *at is
 * where the search goes on: NULL in the first of several calls with rising revisions.
 */
bool etcd_writes_next(struct etcd_writes *ws, struct list **at, int64_t revision,
		      struct store_event *ret_event);

/* Everything up to the revision has been delivered. */
void etcd_writes_delivered(struct etcd_writes *ws, int64_t revision);

#endif

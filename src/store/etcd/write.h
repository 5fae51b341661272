/*
 * etcd_write - writes to etcd: one transaction each, many at once.
 *
 * A transaction compares the mod revisions of the key and of its bases with the expected ones, and
 * each guard's with the view (store.h); if all hold, it puts or deletes the key and touches the
 * guards. It also stores the write's stamp (etcd/stamp.h). Writes of different keys go side by
 * side, up to ETCD_WRITES_MAX; a write that comes `after` another is sent when that one's revision
 * is known.
 *
 * While the feed runs, a write ends when the feed has delivered everything up to the revision of
 * etcd's answer: its own event if it succeeded, the change that it conflicts with if not.
 *
 * What etcd's answer proves:
 *  - "succeeded": written, at the revision of the answer.
 *  - "compare failed", to the only transaction that was sent: not written.
 *  - a refusal before the proposal (no leader, no space, too large): not written.
 *  - no answer: nothing. The member may have proposed the transaction, and it may be applied
 *    at any later time. The write is in doubt, and the feed has to show what became of it:
 *
 *    An update or a deletion is sent again. The mod revision that it compares with never comes
 *    back, and a guard that was touched stays touched, so at most one of both takes effect. If the
 *    second succeeds, the write is written. If its compare fails, the feed is awaited up to the
 *    revision of that answer: it shows a change with our stamp (written), or none (not
 *    written, now or ever).
 *
 *    A creation is not sent again. The key's absence does come back: a creation that took
 *    effect and was deleted by somebody could take effect a second time. The feed is awaited
 *    up to the revision of a linearizable read. It shows our stamp (written), or not: then the
 *    creation may still be on its way, and the outcome is unknown.
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
	struct store *store; /* whose `pending` is kept */
	struct etcd_client *client;
	struct str prefix;
	uint64_t stamp; /* of the newest write; never 0 */
	/* The newest deletion that the feed announced: its revision and stamp. */
	int64_t deletion_revision;
	uint64_t deletion_stamp;
	struct buf deletion_key; /* `<prefix>.deleted` */
	struct arena arena; /* of the transaction that is being put together */
	struct map keys; /* key to the newest of its writes that were sent */
	struct list queued; /* wait for a place */
	struct list landed; /* answered, waiting for the feed; by revision */
	struct list dead; /* failed without being sent */
	struct loop_task task; /* tells what is to be told and must not be told now */
	size_t sent; /* on their way */
	bool following; /* the feed runs, so waiting for it is not in vain */
	int64_t delivered; /* up to where */
	unsigned epoch; /* counts its beginnings and ends */
	struct error refusal; /* why etcd refused the last write; code 0: it did not */
	int64_t refused_at; /* ms */
	struct loop_task *ended; /* deferred whenever a write has ended; NULL: nobody cares */
};

/* `prefix` must outlive it. */
void etcd_writes_init(struct etcd_writes *ws, struct store *store, struct etcd_client *client,
		      struct str prefix);

/* No write may be left. */
void etcd_writes_release(struct etcd_writes *ws);

void etcd_writes_add(struct etcd_writes *ws, struct store_write *w);

/* --- what the feed tells ------------------------------------------------------------- */

/*
 * It begins, behind this revision; or again, when it was lost: then whoever
 * follows has read what is before, and writes that have waited for that are told.
 */
void etcd_writes_follow(struct etcd_writes *ws, int64_t revision);

/* It has left something out. */
void etcd_writes_lost(struct etcd_writes *ws);

/* It has ended for good: ends all that wait for it, with what is known. */
void etcd_writes_unfollow(struct etcd_writes *ws);

/*
 * A change is about to be delivered; all changes are shown here, those of other keys too.
 * Returns our write that made it, or NULL. *value is what etcd stores, NULL for a deletion; the
 * stamp is cut off it.
 */
struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      struct str *value);

/* All up to the revision has been delivered. */
void etcd_writes_delivered(struct etcd_writes *ws, int64_t revision);

#endif

/*
 * etcd_write - writes to etcd: one transaction each, many at once.
 *
 * A write is a transaction that compares the key's mod revision and puts or
 * deletes it. Writes of different keys go side by side, up to ETCD_WRITES_MAX;
 * one that comes `after` another goes out when that one's revision is known.
 *
 * While the feed runs, a write's end is told when the feed has delivered
 * everything up to the revision of etcd's answer: its own event when it
 * succeeded, and what it conflicted with when it did not.
 *
 * When the answer is lost, the write may have happened, or may happen yet, for
 * the member that went silent can have proposed it. Then:
 *  - an update or a deletion is simply sent again: the mod revision that it
 *    compares with never comes back, so of both at most one takes effect. If the
 *    second finds the key changed, the feed shows by whom: the first change of the
 *    key behind the expected revision is ours if it made what we wanted.
 *  - a creation is not: the key's absence does come back, and a creation that
 *    was answered, then deleted by somebody, could take effect a second time.
 *    Instead the feed is awaited up to a revision that a linearizable read gave; it shows
 *    our creation, or nothing, and then the outcome is not known: -ERR_TIMEOUT.
 * Two processes that want the very same bytes at the very same revision cannot
 * be told apart this way; both are then told that they succeeded, and the key
 * is as both wanted it.
 */
#ifndef STORE_ETCD_WRITE_H
#define STORE_ETCD_WRITE_H

#include "base/map.h"
#include "net/loop.h"
#include "store/store.h"

struct etcd_client;

struct etcd_writes {
	struct store *store; /* whose `pending` is kept */
	struct etcd_client *client;
	struct str prefix;
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

/* An event is about to be delivered: our write that made it, or NULL. `value` NULL: a deletion. */
struct store_write *etcd_writes_match(struct etcd_writes *ws, struct str key, int64_t revision,
				      const struct str *value);

/* All up to the revision has been delivered. */
void etcd_writes_delivered(struct etcd_writes *ws, int64_t revision);

#endif

/*
 * etcd_feed - delivers every change in etcd, once, in order, from one watch and from the answers to
 * our own writes.
 *
 * The watch covers all keys of etcd, not only ours, so it shows every revision, and the revision of
 * the last event is how far the feed has got. Changes of other keys only advance that revision. If
 * the stream is lost, it is opened again after the last delivered revision. The events of a
 * revision are delivered together, so nothing is delivered twice. The feed is lost if etcd has
 * compacted what it missed, or if etcd's revision is below the delivered one (its data was restored
 * from a backup).
 *
 * The stream moves to another member if its own is silent or has no leader. It also moves if it
 * brings nothing for two seconds although answers to calls had later revisions: its member lags
 * behind.
 */
#ifndef STORE_ETCD_FEED_H
#define STORE_ETCD_FEED_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "base/time/backoff.h"
#include "store/etcd/client.h"
#include "store/store.h"

struct etcd_writes;
struct metrics;

/* A change from the stream. */
struct etcd_change {
	struct str key, value; /* borrowed, or in the feed's arena */
	bool deleted;
	int64_t revision;
};

struct etcd_feed {
	struct etcd_client *client;
	struct etcd_writes *writes; /* are notified of delivered changes */
	struct str prefix;
	struct store_feed to;
	bool following;
	int64_t delivered; /* everything up to this revision was delivered */
	struct grpc_call *stream; /* NULL: not open */
	struct loop_task answered; /* delivers writes whose answers have come */
	struct loop_timer retry;
	struct backoff backoff;
	int64_t down_since; /* ms: when it stopped working; INT64_MAX: it works */
	struct error failure; /* why the last stream ended */
	VEC(struct etcd_change) changes; /* not delivered yet */
	/* How many of them are from earlier responses: their revision may be incomplete. */
	size_t kept;
	VEC(struct store_event) events; /* being delivered */
	struct arena arena; /* keys and values of `changes` */
	struct etcd_call check; /* a read that checks whether etcd's revision went back */
	bool checking;
	struct loop_timer lag; /* checks whether the stream keeps up */
	int64_t goal; /* revision that the stream should have reached */
	int64_t mark; /* `delivered` when it last advanced */
	int64_t marked_at; /* ms */
	int64_t patience_ms; /* how long a stream may stand still */
	struct metrics_counter *reconnects, *delivered_events; /* or NULL */
};

int etcd_feed_init(struct etcd_feed *f, struct etcd_client *client, struct etcd_writes *writes,
		   struct str prefix, struct metrics *m, struct error *err);
void etcd_feed_release(struct etcd_feed *f);

/* As store_follow(). */
void etcd_feed_follow(struct etcd_feed *f, int64_t revision, const struct store_feed *to);

/* For the client's listener: a member can be used; the stream's member is stuck. */
void etcd_feed_on_ready(void *feed);
void etcd_feed_on_stuck(void *feed);

/* Returns 0, or why it has not worked for some seconds. */
int etcd_feed_health(const struct etcd_feed *f, struct error *err);

#endif

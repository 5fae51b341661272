/*
 * etcd_feed - every change in etcd, once, in order, from one watch.
 *
 * The watch covers all keys of etcd, not only ours, so that every revision shows
 * up in it, and the revision of the last event is how far the feed has got.
 * What is not ours moves only that on. When the stream is lost it is opened
 * anew behind what was delivered; a revision's events are delivered together, so
 * nothing comes twice. The feed is lost when etcd has compacted what it missed,
 * or when etcd's revision is behind what it has delivered (its data was put back).
 *
 * The stream moves to another member when its own is silent or without a leader,
 * or when it brings nothing for two seconds though answers to calls were of later
 * revisions: then its member lags behind.
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

/* A change as the stream told it. */
struct etcd_change {
	struct str key, value; /* borrowed, or of the feed's arena */
	bool deleted;
	int64_t revision;
};

struct etcd_feed {
	struct etcd_client *client;
	struct etcd_writes *writes; /* wait for what is delivered */
	struct str prefix;
	struct store_feed to;
	bool following;
	int64_t delivered; /* all up to it */
	struct grpc_call *stream; /* NULL: none */
	struct loop_timer retry;
	struct backoff backoff;
	int64_t down_since; /* ms without a working stream; INT64_MAX: it works */
	struct error failure; /* why the last stream ended */
	VEC(struct etcd_change) changes; /* not delivered */
	size_t kept; /* of them, from earlier responses: their revision may not be complete */
	VEC(struct store_event) events; /* being delivered */
	struct arena arena; /* keys and values of `changes` */
	struct etcd_call check; /* whether etcd's revision went back */
	bool checking;
	struct loop_timer lag; /* looks whether the stream keeps up */
	int64_t goal; /* revision that it should have reached */
	int64_t mark; /* `delivered` when it last moved on */
	int64_t marked_at; /* ms */
	int64_t patience_ms; /* with a stream that does not move on */
	struct metrics_counter *reconnects, *delivered_events; /* or NULL */
};

int etcd_feed_init(struct etcd_feed *f, struct etcd_client *client, struct etcd_writes *writes,
		   struct str prefix, struct metrics *m, struct error *err);
void etcd_feed_release(struct etcd_feed *f);

/* As store_follow(). */
void etcd_feed_follow(struct etcd_feed *f, int64_t revision, const struct store_feed *to);

/* Ends it without a word. */
void etcd_feed_stop(struct etcd_feed *f);

/* For the client's listener: a member can be used; the stream's member cannot. */
void etcd_feed_on_ready(void *feed);
void etcd_feed_on_stuck(void *feed);

/* 0, or why it has not worked for some seconds. */
int etcd_feed_health(const struct etcd_feed *f, struct error *err);

#endif

/*
 * etcd_compact - makes etcd forget what is older than a window.
 *
 * Of all processes on one etcd, one does it, by the protocol of Kubernetes' own
 * API server, whose key is used, so that both may live on one etcd: once in a
 * window each process tries to put `compact_rev_key` if nobody else has put it
 * since its last try. Whoever succeeds compacts to the revision that etcd was at
 * when it tried before. What is superseded is thus kept for one to two windows.
 * The key's value is that revision: whoever did not succeed looks at it some times
 * in a window, and knows so as well what is gone.
 */
#ifndef STORE_ETCD_COMPACT_H
#define STORE_ETCD_COMPACT_H

#include "store/etcd/client.h"

struct etcd_compactor {
	struct etcd_client *client;
	struct loop_timer timer;
	int64_t window_ms;
	int64_t version; /* of the key, at the last try */
	int64_t revision; /* of etcd, then; 0: there was none */
	bool won; /* the last try */
	int64_t asked; /* to be forgotten, when it did */
	int64_t compacted; /* states before it are gone, as far as is known; 0: none */
	unsigned int ticks; /* of the timer, some in a window; not those that found it busy */
	struct etcd_call call;
	bool busy;
};

/* A negative window: never. */
void etcd_compactor_init(struct etcd_compactor *k, struct etcd_client *client, int64_t window_ms);
void etcd_compactor_stop(struct etcd_compactor *k);

/* States before the revision are gone: somebody else has seen to that. */
void etcd_compactor_note(struct etcd_compactor *k, int64_t revision);

/* Compacts now. `done` as of store_compact(): what is compacted already is no failure. */
void etcd_compact(struct etcd_client *client, int64_t revision,
		  void (*done)(void *arg, const struct error *err), void *arg);

#endif

/*
 * etcd_compact - compacts etcd to a time window.
 *
 * One of all processes on an etcd does it, by the protocol of Kubernetes' own API server and with
 * the same key, so that both can share one etcd. Once per window, each process tries to put
 * `compact_rev_key`, on the condition that no other process has put it since its last try. The
 * process that succeeds compacts to the revision that etcd had at its previous try. So superseded
 * versions are kept for one to two windows. The key's value is that revision: the other processes
 * read it several times per window and thus know what was compacted.
 */
#ifndef STORE_ETCD_COMPACT_H
#define STORE_ETCD_COMPACT_H

#include "store/etcd/client.h"

struct etcd_compactor {
	struct etcd_client *client;
	struct loop_timer timer;
	int64_t window_ms;
	int64_t version; /* version of the key at the last try */
	int64_t revision; /* revision of etcd at the last try; 0: there was no try */
	bool won; /* whether the last try succeeded */
	int64_t asked; /* revision to compact to, if it succeeded */
	int64_t compacted; /* states before it are gone, as far as known; 0: none */
	unsigned int ticks; /* of the timer, several per window; not counting those while busy */
	struct etcd_call call;
	bool busy;
};

/* A negative window disables compaction. */
void etcd_compactor_init(struct etcd_compactor *k, struct etcd_client *client, int64_t window_ms);
void etcd_compactor_stop(struct etcd_compactor *k);

/* Reports that another process has compacted to this revision. */
void etcd_compactor_note(struct etcd_compactor *k, int64_t revision);

/*
 * Compacts now and calls `done` as store_compact() does. An already compacted revision is not an
 * error.
 */
void etcd_compact(struct etcd_client *client, int64_t revision,
		  void (*done)(void *arg, const struct error *err), void *arg);

#endif

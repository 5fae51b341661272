/*
 * etcd_log - for tests: the data of a simulated etcd, and its answers.
 *
 * A log of all changes with an index by key. Transactions, ranges at any
 * revision that is not compacted, in pages, and the errors in etcd's words.
 */
#ifndef STORE_ETCD_LOG_H
#define STORE_ETCD_LOG_H

#include "base/core/arena.h"
#include "base/core/omap.h"
#include "base/core/vec.h"
#include "grpc/status.h"
#include "store/etcd/rpc.h"

struct etcd_log_change {
	struct str key, value;
	bool deleted;
	int64_t revision;
	int64_t version; /* of the key after it; 0: deleted */
};

struct etcd_log {
	VEC(struct etcd_log_change) changes; /* in the order of revisions */
	struct omap keys; /* key -> its changes */
	struct arena arena; /* texts of the changes */
	int64_t revision; /* begins with 1, as etcd's */
	int64_t compacted; /* the store's revision at this point is the oldest known; 0: all is */
	uint64_t term; /* of raft */
};

void etcd_log_init(struct etcd_log *l);
void etcd_log_release(struct etcd_log *l);

/* Adds a change at the current revision. Value NULL: a deletion. */
void etcd_log_add(struct etcd_log *l, struct str key, const struct str *value);

/* The key's last change up to the revision, or NULL. */
const struct etcd_log_change *etcd_log_find(const struct etcd_log *l, struct str key,
					    int64_t revision);

/* Forgets all changes behind the revision, as a restored copy of the data. */
void etcd_log_go_back(struct etcd_log *l, int64_t revision);

/* The index of the first change at or behind the revision; `changes.n`: there is none. */
size_t etcd_log_seek(const struct etcd_log *l, int64_t revision);

/* Applies the transaction at the next revision; false, with no change, if a comparison fails. */
bool etcd_log_apply(struct etcd_log *l, const Etcd__TxnRequest *in);

/* etcd's reply to a transaction that has just been applied; in the arena. */
Etcd__TxnResponse *etcd_log_reply(const struct etcd_log *l, const Etcd__TxnRequest *in,
				  bool succeeded, struct arena *a);

/* A read at a member that has applied all up to `current`. Not GRPC_OK: *ret_why says why. */
enum grpc_code etcd_log_range(const struct etcd_log *l, const Etcd__RangeRequest *in,
			      int64_t current, struct arena *a, Etcd__RangeResponse *out,
			      struct str *ret_why);

/* `n` changes from the index on, as the events of a watch's response; in the arena. */
void etcd_log_events(const struct etcd_log *l, size_t from, size_t n, struct arena *a,
		     Etcd__WatchResponse *out);

Etcd__ResponseHeader etcd_log_header(const struct etcd_log *l, int64_t revision);

/* A copy to be freed as an unpacked one. */
Etcd__TxnRequest *etcd_log_copy_txn(const Etcd__TxnRequest *in);

/* Answers to requests that cannot be served, in etcd's words. */
extern const struct str etcd_log_compacted, etcd_log_future;

#endif

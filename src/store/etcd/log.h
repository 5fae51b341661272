/*
 * etcd_log - for tests: the data of a simulated etcd, and its answers.
 *
 * A log of all changes with an index by key. It serves transactions, and ranges in pages at any
 * revision that is not compacted. Errors have etcd's words.
 */
#ifndef STORE_ETCD_LOG_H
#define STORE_ETCD_LOG_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "grpc/status.h"
#include "store/etcd/rpc.h"

struct etcd_log_change {
	struct str key, value;
	bool deleted;
	int64_t revision;
	int64_t version; /* version of the key after the change; 0: deleted */
};

struct etcd_log {
	VEC(struct etcd_log_change) changes; /* in the order of revisions */
	struct omap keys; /* key -> its changes */
	struct arena arena; /* texts of the changes */
	int64_t revision; /* starts at 1, as etcd's */
	/* The oldest revision whose state can be read; 0: nothing was compacted. */
	int64_t compacted;
	uint64_t term; /* of raft */
};

void etcd_log_init(struct etcd_log *l);
void etcd_log_release(struct etcd_log *l);

/* Adds a change at the current revision. Value NULL: a deletion. */
void etcd_log_add(struct etcd_log *l, struct str key, const struct str *value);

/* Returns the key's last change up to the revision, or NULL. */
const struct etcd_log_change *etcd_log_find(const struct etcd_log *l, struct str key,
					    int64_t revision);

/* Deletes all changes after the revision, like a restored backup. */
void etcd_log_go_back(struct etcd_log *l, int64_t revision);

/* Returns the index of the first change at or after the revision; `changes.n` if not found. */
size_t etcd_log_seek(const struct etcd_log *l, int64_t revision);

/* Applies the transaction at the next revision; false, with no change, if a comparison fails. */
bool etcd_log_apply(struct etcd_log *l, const Etcd__TxnRequest *in);

/* Makes etcd's reply to a transaction that has just been applied; in the arena. */
Etcd__TxnResponse *etcd_log_reply(const struct etcd_log *l, const Etcd__TxnRequest *in,
				  bool succeeded, struct arena *a);

/*
 * Reads at a member that has applied everything up to `current`. On an error, *ret_why has the
 * reason.
 */
enum grpc_code etcd_log_range(const struct etcd_log *l, const Etcd__RangeRequest *in,
			      int64_t current, struct arena *a, Etcd__RangeResponse *out,
			      struct str *ret_why);

/* Makes the events of a watch response from `n` changes, starting at the index; in the arena. */
void etcd_log_events(const struct etcd_log *l, size_t from, size_t n, struct arena *a,
		     Etcd__WatchResponse *out);

Etcd__ResponseHeader etcd_log_header(const struct etcd_log *l, int64_t revision);

/* Makes a copy; free it like an unpacked message. */
Etcd__TxnRequest *etcd_log_copy_txn(const Etcd__TxnRequest *in);

/* Answers to requests that cannot be served, in etcd's words. */
extern const struct str etcd_log_compacted, etcd_log_future;

#endif

/*
 * store_lmdb - the store in a folder, on LMDB.
 *
 * Three tables in one environment: `current` (key -> revision, bytes),
 * `superseded` (key, revision -> bytes) and `log` (revision -> key, change),
 * beside a small one for the format version, the cluster id and the short ids of
 * resources. One commit covers many writes and is acknowledged after its
 * fdatasync. What was superseded is kept for `history_ms`, as far as there is room for it, and
 * then pruned, a bounded piece per commit.
 *
 * A full disk, or a full quota, fails writes with -ERR_UNAVAILABLE and a text that says so; reads
 * go on, and so do writes once there is room. After a failed fsync nobody knows
 * what the disk holds: this process never writes the environment again.
 * Recovery is opening: there is no repair step.
 *
 * A new store is at revision 1, as etcd is: to clients "0" means any revision.
 */
#ifndef STORE_LMDB_STORE_H
#define STORE_LMDB_STORE_H

#include "store/store.h"

struct store_lmdb_opts {
	const char *dir; /* made when missing, mode 0700 */
	int64_t history_ms; /* how long what was superseded is kept; 0: 5 minutes */
	size_t history_bytes; /* ... and how many bytes of it; 0: no limit */
	int64_t quota_bytes; /* of all (lmdb/quota.h); 0: no limit; -1: by the free disk */
	size_t map_size; /* most bytes of the file; 0: 64 GiB */
	bool read_only; /* for tools: no lock, no commits */
	/*
	 * Commit on the loop's own thread at the end of the turn instead of on a
	 * thread of the store's: for simulations, where all is one thread.
	 */
	bool inline_commit;
	struct metrics *metrics; /* or NULL */
};

/*
 * Opens, or makes, the store. -ERR_CONFLICT when another process has it open
 * for writing; -ERR_INVALID when it is not ours, or of a newer format.
 */
int store_lmdb_open(struct loop *l, const struct store_lmdb_opts *opts, struct store **ret_store,
		    struct error *err);

#endif

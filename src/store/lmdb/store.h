/*
 * store_lmdb - the store in a folder, on LMDB.
 *
 * Three tables in one environment: `current` (key -> revision, bytes), `superseded` (key, revision
 * -> bytes) and `log` (revision -> key, change). A small fourth table holds the format version, the
 * cluster id and the short ids of resources. One commit covers many writes and is acknowledged
 * after its fdatasync. Superseded versions are kept for `history_ms`, as far as there is space, and
 * are then pruned, a bounded amount per commit.
 *
 * If the disk or the quota is full, writes fail with -ERR_UNAVAILABLE and a message that says so.
 * Reads still work, and so do writes once there is space again. After a failed fsync the content of
 * the disk is unknown, so this process never writes the environment again. Recovery is just opening
 * the store: there is no repair step.
 *
 * With a journal, -ERR_UNAVAILABLE has another cause as well: data.mdb cannot take what is in the
 * journal already. A read of the newest state waits until it is in data.mdb. A store with a journal
 * has a format of its own, so that an older devplane does not open it without the journal.
 *
 * A new store starts at revision 1, as etcd does, because "0" means any revision to clients.
 */
#ifndef STORE_LMDB_STORE_H
#define STORE_LMDB_STORE_H

#include "store/store.h"

struct store_lmdb_opts {
	const char *dir; /* created if missing, mode 0700 */
	int64_t history_ms; /* how long superseded versions are kept; 0: 5 minutes */
	size_t history_bytes; /* maximum size of history; 0: no limit */
	int64_t quota_bytes; /* of everything (lmdb/quota.h); 0: no limit; -1: by free disk space */
	size_t map_size; /* maximum size of the file in bytes; 0: 64 GiB */
	bool read_only; /* for tools: no lock, no commits */
	/*
	 * Commit on the loop's own thread at the end of the turn, instead of on a thread of the
	 * store. For simulations, which have only one thread.
	 */
	bool inline_commit;
	/*
	 * Acknowledge a write when it is in a journal, a sequential file in the folder `journal`,
	 * and bring data.mdb up to date later, many writes at a time. With inline_commit both
	 * happen on the loop's thread. A journal that an earlier process left is applied first,
	 * with or without this; without, it is then removed.
	 */
	bool journal;
	size_t journal_segment_bytes; /* size of the journal's files; 0: 64 MiB */
	size_t journal_backlog; /* changes that may be in the journal only; 0: 200,000 */
	struct metrics *metrics; /* or NULL */
};

/*
 * Opens or creates the store. -ERR_CONFLICT if another process has it open for writing;
 * -ERR_INVALID if the folder holds something else, or a newer format.
 */
int store_lmdb_open(struct loop *l, const struct store_lmdb_opts *opts, struct store **ret_store,
		    struct error *err);

#endif

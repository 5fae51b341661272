/*
 * lmdb_env - the environment of the LMDB store: a folder, its lock, its tables.
 *
 * In the folder are `data.mdb` (everything), `data.mdb-lock` (LMDB's table of
 * readers) and `lock`, which the one process that may write holds locked and
 * has its pid in. `data.mdb` is made under another name and renamed, so it
 * exists only whole; opening one is all the recovery there is.
 *
 * The table `meta` holds "format", "cluster-id", "compacted" (a revision) and
 * one "resource/NAME" -> id for each resource that was ever written.
 *
 * Threads: one environment is shared by the loop, which reads through a
 * transaction that it was given, and the committer, which alone writes.
 */
#ifndef STORE_LMDB_ENV_H
#define STORE_LMDB_ENV_H

#include <lmdb.h>

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/system/uuid.h"

struct prng;

enum { LMDB_FORMAT = 1 };
enum { LMDB_PATH_MAX = 4096 };

struct lmdb_env {
	MDB_env *mdb;
	MDB_dbi current, superseded, log, meta;
	char dir[LMDB_PATH_MAX];
	char cluster_id[UUID_TEXT_SIZE];
	int lock_fd; /* -1: read only */
	int witness_fd; /* a second descriptor of data.mdb; see lmdb_env_trusts_disk() */
	char *map; /* where the file is mapped, or NULL when that is not known */
	size_t map_n;
};

struct lmdb_env_opts {
	const char *dir;
	const char *file; /* in it; NULL: data.mdb. Another one must exist */
	size_t map_size; /* most that the file may grow to; 0: what it was last opened with */
	bool read_only; /* takes no lock, makes nothing */
	struct prng *prng; /* for a new cluster's id; not needed for read_only */
};

/*
 * Opens, or makes, the environment. -ERR_CONFLICT: another process has it open
 * for writing. -ERR_INVALID: not a store, or of a newer format. -ERR_NOT_FOUND:
 * read_only and there is none.
 */
int lmdb_env_open(struct lmdb_env *e, const struct lmdb_env_opts *opts, struct error *err);

/* All transactions must have ended. Also after a failed open. */
void lmdb_env_close(struct lmdb_env *e);

/* Takes the folder's lock alone, making the folder when it is missing. Returns a descriptor. */
int lmdb_env_lock(const char *dir, struct error *err);

/* DIR/NAME; false when that is too long. */
bool lmdb_env_path(char ret_path[static LMDB_PATH_MAX], const char *dir, const char *name);

/* fsync() of a file or folder by its name. */
int lmdb_env_sync_path(const char *path, struct error *err);

/*
 * True unless a write-back to the file has ever failed. The kernel reports each
 * such failure once per descriptor, so a descriptor that nobody else syncs
 * still knows of one that LMDB's own was told, or was not told, about.
 */
bool lmdb_env_trusts_disk(const struct lmdb_env *e);

/* The highest revision and the compacted one, as the transaction sees them. */
int lmdb_env_revisions(const struct lmdb_env *e, MDB_txn *txn, int64_t *ret_revision,
		       int64_t *ret_compacted, struct error *err);

/* A number of `meta`; 0 when it is not there. */
int lmdb_meta_get(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t *ret_value);
int lmdb_meta_put(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t value);

/* Bytes of the file that have ever been used; 0 when that is not known. Any thread. */
size_t lmdb_env_used_bytes(const struct lmdb_env *e);
/* Pages that are free, of those from `first` on. */
size_t lmdb_env_free_pages(MDB_txn *txn, size_t first);

/*
 * Gives back the memory of pages that were read: they stay in the kernel's
 * cache, but no longer count as ours.
 */
void lmdb_env_forget_pages(const struct lmdb_env *e);

/*
 * The same for a part of the file, at *at (0 at first), which moves on: giving back all that a busy
 * store has touched takes milliseconds. False when that was the last part.
 */
bool lmdb_env_forget_some(const struct lmdb_env *e, size_t *at);

/* "what: LMDB's text of rc"; returns -code. */
int lmdb_error(struct error *err, enum error_code code, int rc, const char *what);

static inline MDB_val lmdb_val(struct str s)
{
	return (MDB_val){ .mv_size = s.n, .mv_data = (void *)(uintptr_t)s.p };
}

static inline struct str lmdb_str(const MDB_val *v)
{
	return str_of(v->mv_data, v->mv_size);
}

#endif

/*
 * lmdb_env - the environment of the LMDB store: a folder, its lock, its tables.
 *
 * The folder contains `data.mdb` (all data), `data.mdb-lock` (LMDB's table of readers) and `lock`.
 * The one process that may write holds a lock on `lock`, and its pid is in it. `data.mdb` is
 * created under another name and renamed, so it is never incomplete. Recovery is just opening it.
 *
 * The table `meta` holds "format", "cluster-id", "compacted" (a revision), "journal" (the last
 * record applied, see lmdb/apply.h) and one "resource/NAME" -> id for each resource that was ever
 * written.
 *
 * Threads: the loop and the committer share one environment. The loop reads through a transaction
 * that it gets; only the committer writes.
 */
#ifndef STORE_LMDB_ENV_H
#define STORE_LMDB_ENV_H

#include <lmdb.h>

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/system/uuid.h"

struct prng;

/* A store with a journal has another format: opening it without would lose acknowledged writes. */
enum { LMDB_FORMAT = 1, LMDB_FORMAT_JOURNAL = 2 };
enum { LMDB_PATH_MAX = 4096 };

struct lmdb_env {
	MDB_env *mdb;
	MDB_dbi current, superseded, log, meta;
	char dir[LMDB_PATH_MAX];
	char cluster_id[UUID_TEXT_SIZE];
	int lock_fd; /* -1: read only */
	int witness_fd; /* a second descriptor of data.mdb; see lmdb_env_trusts_disk() */
	char *map; /* where the file is mapped; NULL if unknown */
	size_t map_n;
};

struct lmdb_env_opts {
	const char *dir;
	const char *file; /* file name in `dir`; NULL: data.mdb. Any other file must exist */
	size_t map_size; /* maximum size of the file; 0: as when it was last opened */
	bool read_only; /* takes no lock, creates nothing */
	struct prng *prng; /* for a new cluster's id; not needed for read_only */
};

/*
 * Opens or creates the environment. -ERR_CONFLICT: another process has it open for writing.
 * -ERR_INVALID: not a store, or of a newer format. -ERR_NOT_FOUND: read_only and it does not exist.
 */
int lmdb_env_open(struct lmdb_env *e, const struct lmdb_env_opts *opts, struct error *err);

/* End all transactions first. Call it also after a failed open. */
void lmdb_env_close(struct lmdb_env *e);

/* Takes only the folder's lock; creates the folder if missing. Returns a descriptor. */
int lmdb_env_lock(const char *dir, struct error *err);

/* Makes DIR/NAME. Returns false if it is too long. */
bool lmdb_env_path(char ret_path[static LMDB_PATH_MAX], const char *dir, const char *name);

/* Calls fsync() on a file or folder given by name. */
int lmdb_env_sync_path(const char *path, struct error *err);

/*
 * Returns true unless a write-back to the file has ever failed. The kernel reports each such
 * failure once per descriptor. This uses a descriptor that nothing else syncs, so it sees a failure
 * whether or not LMDB's own descriptor reported it.
 */
bool lmdb_env_trusts_disk(const struct lmdb_env *e);

/* Reads the highest revision and the compacted revision, as the transaction sees them. */
int lmdb_env_revisions(const struct lmdb_env *e, MDB_txn *txn, int64_t *ret_revision,
		       int64_t *ret_compacted, struct error *err);

/* Read and write a number of `meta`; 0 if not found. */
int lmdb_meta_get(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t *ret_value);
int lmdb_meta_put(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t value);

/* Durably sets "format", if it is another one. */
int lmdb_env_set_format(const struct lmdb_env *e, int64_t format, struct error *err);

/* Bytes of the file that have ever been used; 0 if unknown. Any thread. */
size_t lmdb_env_used_bytes(const struct lmdb_env *e);
/* Makes the file at least so long. The caller has just committed: all that is missing is free. */
void lmdb_env_lengthen(const struct lmdb_env *e, size_t used);
/* Counts the free pages with a number of at least `first`. */
size_t lmdb_env_free_pages(MDB_txn *txn, size_t first);

/*
 * Releases the memory of pages that were read. They stay in the kernel's page cache, but no longer
 * count as memory of this process.
 */
void lmdb_env_forget_pages(const struct lmdb_env *e);

/*
 * The same for one part of the file, at *at (0 at first), which it advances. Releasing everything
 * that a busy store has touched takes milliseconds. Returns false after the last part.
 */
bool lmdb_env_forget_some(const struct lmdb_env *e, size_t *at);

/* Sets err to "what: LMDB's text of rc"; returns -code. */
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

/*
 * Copies of the whole store. Each is written next to its final place, synced and renamed, so that a
 * file of that name is always complete. LMDB's own copy function leaves out free pages and needs
 * only a reader's lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "store/lmdb/apply.h"
#include "store/lmdb/check.h"
#include "store/lmdb/env.h"
#include "store/journal/journal.h"
#include "store/lmdb/prune.h"
#include "store/lmdb/tools.h"
#include "store/store_limits.h"

enum { FILE_MODE = 0600 };

#define NEW_FILE "data.mdb.new"

/* Syncs the folder of a file. */
static int sync_folder_of(const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char dir[LMDB_PATH_MAX];

	(void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		       slash ? path : ".");
	return lmdb_env_sync_path(dir, err);
}

static int copy_create(const char *path, struct error *err)
{
	int fd;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make %s", path);
	return fd;
}

/* Syncs, closes and renames the written file; removes it if anything failed. */
static int publish(int fd, int r, const char *temporary, const char *path, struct error *err)
{
	if (r == 0 && fsync(fd) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot sync %s", temporary);
	if (close(fd) < 0 && r == 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot write %s", temporary);
	if (r == 0 && rename(temporary, path) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot rename %s", temporary);
	if (r < 0) {
		(void)unlink(temporary);
		return r;
	}
	return sync_folder_of(path, err);
}

static int copy_env(const struct lmdb_env *e, const char *temporary, const char *path,
		    struct error *err)
{
	int fd = copy_create(temporary, err);
	int rc, r = 0;

	if (fd < 0)
		return fd;
	rc = mdb_env_copyfd2(e->mdb, fd, MDB_CP_COMPACT);
	if (rc)
		r = lmdb_error(err, ERR_IO, rc, temporary);
	return publish(fd, r, temporary, path, err);
}

int store_lmdb_backup(const char *dir, const char *file, bool force, struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .read_only = true };
	char temporary[LMDB_PATH_MAX];
	struct lmdb_env e;
	int r;

	if (!force && access(file, F_OK) == 0)
		return error_set(err, ERR_ALREADY_EXISTS, "%s exists already", file);
	if (snprintf(temporary, sizeof(temporary), "%s.part", file) >= (int)sizeof(temporary))
		return error_set(err, ERR_INVALID, "the file's name is too long");
	r = lmdb_apply_wait(dir, err);
	if (r == 0)
		r = lmdb_env_open(&e, &opts, err);
	if (r < 0)
		return r;
	r = copy_env(&e, temporary, file, err);
	lmdb_env_close(&e);
	return r;
}

/* --- restoring ------------------------------------------------------------------------- */

static int copy_bytes(int from, int to, const char *path, struct error *err)
{
	char piece[64 * KIB];
	ssize_t n, put;

	while ((n = read(from, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, ERR_IO, errno, "cannot read %s", path);
		for (ssize_t at = 0; at < n; at += put) {
			put = write(to, piece + at, (size_t)(n - at));
			if (put < 0 && errno != EINTR)
				return error_set_errno(err, ERR_IO, errno, "cannot copy %s", path);
			put = MAX(put, (ssize_t)0);
		}
	}
	return 0;
}

static int copy_file(const char *from, const char *to, struct error *err)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out, r;

	if (in < 0)
		return error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
				       "cannot read %s", from);
	out = copy_create(to, err);
	r = out < 0 ? out : copy_bytes(in, out, from, err);
	(void)close(in);
	if (out >= 0 && close(out) < 0 && r == 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot write %s", to);
	return r == 0 ? lmdb_env_sync_path(to, err) : r;
}

static int check_copy(const char *dir, const char *file, struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .file = NEW_FILE, .read_only = true };
	struct store_lmdb_report report;
	char lock[LMDB_PATH_MAX];
	struct lmdb_env e;
	int r = lmdb_env_open(&e, &opts, err);

	if (r == 0) {
		r = lmdb_check_env(&e, &report, err);
		if (r == 0 && report.faults)
			r = error_set(err, ERR_INVALID, "%zu faults, the first is: %.*s",
				      report.faults,
				      (int)strcspn(report.text.p ? report.text.p : "", "\n"),
				      report.text.p ? report.text.p : "");
		store_lmdb_report_release(&report);
		lmdb_env_close(&e);
	}
	if (lmdb_env_path(lock, dir, NEW_FILE "-lock"))
		(void)unlink(lock);
	return r < 0 ? error_wrap(err, r, "%s is not a good copy", file) : 0;
}

static int restore_locked(const char *dir, const char *file, struct error *err)
{
	char path[LMDB_PATH_MAX], fresh[LMDB_PATH_MAX];
	int r;

	if (!lmdb_env_path(path, dir, "data.mdb") || !lmdb_env_path(fresh, dir, NEW_FILE))
		return error_set(err, ERR_INVALID, "the folder's name is too long");
	if (access(path, F_OK) == 0)
		return error_set(err, ERR_ALREADY_EXISTS,
				 "%s has a store already; restore into an empty folder", dir);
	if (journal_exists(dir))
		return error_set(err, ERR_ALREADY_EXISTS,
				 "%s has the journal of another store; restore into an empty "
				 "folder",
				 dir);
	r = copy_file(file, fresh, err);
	if (r == 0)
		r = check_copy(dir, file, err);
	if (r == 0 && rename(fresh, path) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot rename %s", fresh);
	if (r < 0) {
		(void)unlink(fresh);
		return r;
	}
	return lmdb_env_sync_path(dir, err);
}

int store_lmdb_restore(const char *dir, const char *file, struct error *err)
{
	int lock, r;

	if (access(file, R_OK) < 0)
		return error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
				       "cannot read %s", file);
	lock = lmdb_env_lock(dir, err);
	if (lock < 0)
		return lock;
	r = restore_locked(dir, file, err);
	(void)close(lock);
	return r;
}

/* --- compacting --------------------------------------------------------------------------- */

/* Deletes all history, in transactions of bounded size. */
static int forget_all(const struct lmdb_env *e, int64_t revision, struct error *err)
{
	struct lmdb_prune prune;
	MDB_txn *txn;
	int rc;

	do {
		prune = (struct lmdb_prune){ .compact = revision, .budget = STORE_PRUNE_MAX };
		rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);
		if (rc)
			break;
		rc = lmdb_prune_run(&prune, e, txn);
		if (rc) {
			mdb_txn_abort(txn);
			break;
		}
		rc = mdb_txn_commit(txn);
	} while (rc == 0 && prune.more);
	if (rc == 0)
		rc = mdb_env_sync(e->mdb, 1);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
}

static int newest_revision(const struct lmdb_env *e, int64_t *ret_revision, struct error *err)
{
	int64_t compacted;
	MDB_txn *txn;
	int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);
	int r;

	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	r = lmdb_env_revisions(e, txn, ret_revision, &compacted, err);
	mdb_txn_abort(txn);
	return r;
}

static size_t copy_size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

int store_lmdb_compact_file(const char *dir, bool keep_history, size_t *ret_before,
			    size_t *ret_after, struct error *err)
{
	const struct lmdb_env_opts opts = { .dir = dir, .file = "data.mdb" };
	char path[LMDB_PATH_MAX], fresh[LMDB_PATH_MAX];
	struct lmdb_env e;
	int64_t revision;
	int r;

	if (!lmdb_env_path(path, dir, "data.mdb") || !lmdb_env_path(fresh, dir, NEW_FILE))
		return error_set(err, ERR_INVALID, "the folder's name is too long");
	if (access(path, F_OK) < 0)
		return error_set_errno(err, ERR_NOT_FOUND, errno, "%s", path);
	r = lmdb_env_open(&e, &opts, err);
	if (r < 0)
		return r;
	*ret_before = copy_size_of(path);
	r = lmdb_apply_journal(&e, err);
	if (r == 0)
		r = newest_revision(&e, &revision, err);
	if (r == 0 && !keep_history)
		r = forget_all(&e, revision, err);
	if (r == 0)
		r = copy_env(&e, fresh, path, err);
	*ret_after = copy_size_of(path);
	lmdb_env_close(&e);
	return r;
}

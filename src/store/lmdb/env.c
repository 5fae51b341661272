/*
 * Flags of the environment, and why:
 *
 *  MDB_NOMETASYNC  A commit writes its pages, syncs them, then writes the meta page that makes
 *                  them count, without syncing that. The committer syncs it right after with
 *                  mdb_env_sync(). This costs the same as LMDB's own way (a meta page written
 *                  through O_DSYNC), but separates the steps: mdb_txn_commit() fails only
 *                  before the meta page is written, so nothing has happened yet.
 *  MDB_NOTLS       Read transactions move from the committer to the loop.
 *  MDB_NORDAHEAD   Objects are read one by one; reading ahead only evicts other pages.
 *  no MDB_WRITEMAP A stray pointer cannot reach the data, and a full disk is an error from
 *                  pwrite() instead of a SIGBUS.
 *
 * LMDB's lock serialises writers of several processes but does not reject them. Our revisions and
 * views are in the memory of one process, so our own lock rejects a second writer.
 */
#include "store/lmdb/env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "store/lmdb/keys.h"

enum { TABLES = 4, DIR_MODE = 0700, FILE_MODE = 0600, MAP_SIZE_MIN = 1 << 30 };

/* For lmdb_env_forget_some(). */
enum { FORGET_PARTS = 250, FORGET_LEAST = 512 * 1024, FORGET_ALIGN = 64 * 1024 };

int lmdb_error(struct error *err, enum error_code code, int rc, const char *what)
{
	(void)error_set(err, code, "%s: %s", what, mdb_strerror(rc));
	if (err && rc > 0)
		err->sys_errno = rc;
	return -(int)code;
}

bool lmdb_env_path(char ret_path[static LMDB_PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(ret_path, LMDB_PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < LMDB_PATH_MAX;
}

int lmdb_env_sync_path(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -1 : fsync(fd);

	if (r < 0)
		(void)error_set_errno(err, ERR_IO, errno, "cannot sync %s", path);
	if (fd >= 0)
		(void)close(fd);
	return r < 0 ? -ERR_IO : 0;
}

/* --- the folder and its lock ---------------------------------------------------- */

/* Makes the folder and missing parents; syncs each new entry in its parent. */
static int make_folder(const char *dir, struct error *err)
{
	char path[LMDB_PATH_MAX], parent[LMDB_PATH_MAX] = ".";
	size_t n = strlen(dir);

	if (n == 0 || n >= sizeof(path))
		return error_set(err, ERR_INVALID, "the folder's name is empty or too long");
	for (size_t i = 1; i <= n; i++) {
		if (dir[i] != '/' && dir[i] != '\0')
			continue;
		memcpy(path, dir, i);
		path[i] = '\0';
		if (mkdir(path, DIR_MODE) == 0) {
			if (lmdb_env_sync_path(parent, err) < 0)
				return -ERR_IO;
		} else if (errno != EEXIST) {
			return error_set_errno(err, ERR_IO, errno, "cannot make %s", path);
		}
		memcpy(parent, path, i + 1);
	}
	return 0;
}

static int refuse_second(int fd, const char *dir, struct error *err)
{
	char pid[32] = "";
	ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[n > 0 ? n : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	return error_set(err, ERR_CONFLICT, "%s is in use by process %s", dir,
			 pid[0] ? pid : "(not known)");
}

int lmdb_env_lock(const char *dir, struct error *err)
{
	char path[LMDB_PATH_MAX], pid[32];
	int r = make_folder(dir, err);
	int fd, n;

	if (r < 0)
		return r;
	if (!lmdb_env_path(path, dir, "lock"))
		return error_set(err, ERR_INVALID, "the folder's name is too long");
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK
			    ? refuse_second(fd, dir, err)
			    : error_set_errno(err, ERR_IO, errno, "cannot lock %s", path);
		(void)close(fd);
		return r;
	}
	/* The pid is only for the message above; failing to write it does no harm. */
	n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, pid, (size_t)n, 0);
	return fd;
}

/* --- creating the file --------------------------------------------------------------- */

static int env_put_text(MDB_txn *txn, MDB_dbi meta, const char *name, struct str value)
{
	MDB_val k = lmdb_val(str_from(name)), v = lmdb_val(value);

	return mdb_put(txn, meta, &k, &v, 0);
}

static int fill_new(MDB_env *mdb, struct str cluster_id)
{
	static const char *const tables[TABLES] = { "current", "superseded", "log", "meta" };
	char format[LMDB_NUMBER];
	MDB_dbi dbi = 0;
	MDB_txn *txn;
	int rc = mdb_txn_begin(mdb, NULL, 0, &txn);

	if (rc)
		return rc;
	for (size_t i = 0; i < TABLES && rc == 0; i++)
		rc = mdb_dbi_open(txn, tables[i], MDB_CREATE, &dbi);
	lmdb_number_put(format, LMDB_FORMAT);
	if (rc == 0)
		rc = env_put_text(txn, dbi, "format", str_of(format, sizeof(format)));
	if (rc == 0)
		rc = env_put_text(txn, dbi, "cluster-id", cluster_id);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	return mdb_txn_commit(txn);
}

static int write_new(const char *path, struct prng *prng, struct error *err)
{
	char id[UUID_TEXT_SIZE];
	struct uuid uuid;
	MDB_env *mdb;
	int rc;

	uuid_make_seeded(&uuid, prng);
	if (mdb_env_create(&mdb) != 0)
		return error_set(err, ERR_IO, "cannot make an LMDB environment");
	(void)mdb_env_set_maxdbs(mdb, TABLES);
	rc = mdb_env_open(mdb, path, MDB_NOSUBDIR | MDB_NOLOCK, FILE_MODE);
	if (rc == 0)
		rc = fill_new(mdb, uuid_print(&uuid, id));
	mdb_env_close(mdb);
	return rc ? lmdb_error(err, ERR_IO, rc, path) : 0;
}

static int make_new(const char *dir, const char *path, struct prng *prng, struct error *err)
{
	char fresh[LMDB_PATH_MAX];
	int r;

	if (!lmdb_env_path(fresh, dir, "data.mdb.new"))
		return error_set(err, ERR_INVALID, "the folder's name is too long");
	(void)unlink(fresh);
	r = write_new(fresh, prng, err);
	if (r == 0)
		r = lmdb_env_sync_path(fresh, err);
	if (r == 0 && rename(fresh, path) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot rename %s", fresh);
	return r < 0 ? r : lmdb_env_sync_path(dir, err);
}

/* --- opening --------------------------------------------------------------------------- */

static int read_format(struct lmdb_env *e, MDB_txn *txn, struct error *err)
{
	MDB_val k = lmdb_val(STR("cluster-id")), v;
	int64_t format;

	if (lmdb_meta_get(e, txn, "format", &format) != 0 || format < 1)
		return error_set(err, ERR_INVALID, "%s is not a store of devplane's", e->dir);
	if (format > LMDB_FORMAT_JOURNAL)
		return error_set(err, ERR_INVALID,
				 "%s has format %" PRId64 "; this devplane knows up to %d", e->dir,
				 format, LMDB_FORMAT_JOURNAL);
	if (mdb_get(txn, e->meta, &k, &v) != 0 || v.mv_size != UUID_TEXT_SIZE - 1)
		return error_set(err, ERR_INVALID, "%s has no cluster id", e->dir);
	memcpy(e->cluster_id, v.mv_data, v.mv_size);
	return 0;
}

static int open_tables(struct lmdb_env *e, struct error *err)
{
	struct {
		const char *name;
		MDB_dbi *dbi;
	} const tables[TABLES] = { { "current", &e->current },
				   { "superseded", &e->superseded },
				   { "log", &e->log },
				   { "meta", &e->meta } };
	MDB_txn *txn;
	int rc = mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn);
	int r;

	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	for (size_t i = 0; i < TABLES && rc == 0; i++)
		rc = mdb_dbi_open(txn, tables[i].name, 0, tables[i].dbi);
	if (rc)
		r = error_set(err, ERR_INVALID, "%s is not a store of devplane's: %s", e->dir,
			      mdb_strerror(rc));
	else
		r = read_format(e, txn, err);
	/* Handles opened in a transaction belong to the environment once it commits. */
	rc = r < 0 ? 0 : mdb_txn_commit(txn);
	if (r < 0)
		mdb_txn_abort(txn);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : r;
}

/*
 * Finds the mapping in /proc/self/maps, because LMDB does not report it. Without it, memory of
 * pages is never released.
 */
static void find_map(struct lmdb_env *e)
{
	unsigned long from, to, inode;
	char line[LMDB_PATH_MAX + 128];
	struct stat st;
	FILE *f = fopen("/proc/self/maps", "re");

	if (!f)
		return;
	if (fstat(e->witness_fd, &st) < 0)
		st.st_ino = 0;
	while (!e->map && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &inode) != 3 ||
		    inode != st.st_ino || inode == 0 || !strstr(line, "/data.mdb\n"))
			continue;
		e->map = (char *)from;
		e->map_n = to - from;
	}
	(void)fclose(f);
}

size_t lmdb_env_used_bytes(const struct lmdb_env *e)
{
	MDB_envinfo info;
	MDB_stat st;

	if (mdb_env_info(e->mdb, &info) != 0 || mdb_env_stat(e->mdb, &st) != 0)
		return 0;
	return (info.me_last_pgno + 1) * st.ms_psize;
}

void lmdb_env_lengthen(const struct lmdb_env *e, size_t used)
{
	mdb_filehandle_t fd;
	struct stat st;

	if (mdb_env_get_fd(e->mdb, &fd) == 0 && fstat(fd, &st) == 0 && (size_t)st.st_size < used)
		BEST_EFFORT(ftruncate(fd, (off_t)used));
}

/* Counts the pages of a list that are not below `first`. The list begins with its length. */
static size_t count_from(const MDB_val *list, size_t first)
{
	size_t room = list->mv_size / sizeof(size_t), n = 0, pages = 0, page;

	if (room)
		memcpy(&n, list->mv_data, sizeof(n));
	n = MIN(n, room ? room - 1 : 0);
	for (size_t i = 1; first && i <= n; i++) {
		memcpy(&page, (const char *)list->mv_data + i * sizeof(page), sizeof(page));
		pages += page >= first;
	}
	return first ? pages : n;
}

size_t lmdb_env_free_pages(MDB_txn *txn, size_t first)
{
	size_t pages = 0;
	MDB_cursor *c;
	MDB_val k, v;

	/* Table 0 is LMDB's list of free pages. */
	if (mdb_cursor_open(txn, 0, &c) != 0)
		return 0;
	while (mdb_cursor_get(c, &k, &v, MDB_NEXT) == 0)
		pages += count_from(&v, first);
	mdb_cursor_close(c);
	return pages;
}

/* Whether the n pages from `first` to the last one are free. */
static bool end_is_free(const struct lmdb_env *e, size_t first, size_t n)
{
	size_t pages;
	MDB_txn *txn;

	if (mdb_txn_begin(e->mdb, NULL, MDB_RDONLY, &txn) != 0)
		return false;
	pages = lmdb_env_free_pages(txn, first);
	mdb_txn_abort(txn);
	return pages == n;
}

/*
 * Pages at the end of the file that a change allocated and freed again belong to LMDB but were
 * never written, so the file may be too short. If all missing pages are free, extends the file to
 * its full length. Otherwise cuts it again, because zeros are not valid pages. Only a process that
 * holds the lock may do this; others report the file as truncated until then.
 */
static bool lengthen(const struct lmdb_env *e, const char *path, size_t is, size_t used)
{
	MDB_stat st;

	if (e->lock_fd < 0 || mdb_env_stat(e->mdb, &st) != 0 || truncate(path, (off_t)used) < 0)
		return false;
	if (end_is_free(e, is / st.ms_psize, used / st.ms_psize - is / st.ms_psize))
		return true;
	BEST_EFFORT(truncate(path, (off_t)is));
	return false;
}

/* Reading after the end of a mapped file is a SIGBUS; a truncated copy would cause that. */
static int check_length(struct lmdb_env *e, const char *path, struct error *err)
{
	size_t used = lmdb_env_used_bytes(e);
	struct stat file;

	if (!used || fstat(e->witness_fd, &file) < 0)
		return error_set(err, ERR_IO, "cannot examine %s", path);
	if ((size_t)file.st_size >= used || lengthen(e, path, (size_t)file.st_size, used))
		return 0;
	return error_set(err, ERR_INVALID, "%s is cut short: %lld bytes of %zu", path,
			 (long long)file.st_size, used);
}

/*
 * Returns LMDB's error code. After a failed mdb_env_open(), mdb_env_close() is the only allowed
 * call.
 */
static int open_sized(struct lmdb_env *e, const char *path, size_t map_size, bool read_only)
{
	unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
	int rc = mdb_env_create(&e->mdb);

	if (rc)
		return rc;
	(void)mdb_env_set_maxdbs(e->mdb, TABLES);
	if (map_size)
		(void)mdb_env_set_mapsize(e->mdb, map_size);
	rc = mdb_env_open(e->mdb, path, flags | (read_only ? MDB_RDONLY : MDB_NOMETASYNC),
			  FILE_MODE);
	if (rc) {
		mdb_env_close(e->mdb);
		e->mdb = NULL;
	}
	return rc;
}

static int open_mdb(struct lmdb_env *e, const char *path, const struct lmdb_env_opts *opts,
		    struct error *err)
{
	size_t map_size = opts->map_size;
	mdb_filehandle_t fd;
	int rc;

	/*
	 * Address space may be scarce: a resource limit, a sanitizer. The size only limits growth.
	 */
	do {
		rc = open_sized(e, path, map_size, opts->read_only);
		map_size /= 2;
	} while (rc == ENOMEM && map_size >= MAP_SIZE_MIN);
	if (rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH)
		return lmdb_error(err, ERR_INVALID, rc, path);
	if (rc)
		return lmdb_error(err, rc == ENOENT ? ERR_NOT_FOUND : ERR_IO, rc, path);
	/* LMDB does not set close-on-exec for this descriptor. */
	if (mdb_env_get_fd(e->mdb, &fd) == 0)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	e->witness_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (e->witness_fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", path);
	find_map(e);
	rc = check_length(e, path, err);
	return rc < 0 ? rc : open_tables(e, err);
}

int lmdb_env_open(struct lmdb_env *e, const struct lmdb_env_opts *opts, struct error *err)
{
	char path[LMDB_PATH_MAX];
	int r = 0;

	*e = (struct lmdb_env){ .lock_fd = -1, .witness_fd = -1 };
	if (!lmdb_env_path(path, opts->dir, opts->file ? opts->file : "data.mdb") ||
	    !lmdb_env_path(e->dir, opts->dir, ""))
		return error_set(err, ERR_INVALID, "the folder's name is too long");
	e->dir[strlen(e->dir) - 1] = '\0';
	if (!opts->read_only) {
		e->lock_fd = lmdb_env_lock(opts->dir, err);
		r = MIN(e->lock_fd, 0);
	}
	if (r == 0 && !opts->read_only && !opts->file && access(path, F_OK) < 0 && errno == ENOENT)
		r = make_new(opts->dir, path, opts->prng, err);
	if (r == 0)
		r = open_mdb(e, path, opts, err);
	if (r < 0)
		lmdb_env_close(e);
	return r;
}

void lmdb_env_close(struct lmdb_env *e)
{
	if (e->mdb)
		mdb_env_close(e->mdb);
	if (e->witness_fd >= 0)
		(void)close(e->witness_fd);
	if (e->lock_fd >= 0)
		(void)close(e->lock_fd);
	*e = (struct lmdb_env){ .lock_fd = -1, .witness_fd = -1 };
}

/* --- an open environment ----------------------------------------------------------------- */

bool lmdb_env_trusts_disk(const struct lmdb_env *e)
{
	return fdatasync(e->witness_fd) == 0;
}

int lmdb_meta_get(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t *ret_value)
{
	MDB_val k = lmdb_val(str_from(name)), v;
	int rc = mdb_get(txn, e->meta, &k, &v);

	if (rc == MDB_NOTFOUND) {
		*ret_value = 0;
		return 0;
	}
	if (rc == 0 && v.mv_size != LMDB_NUMBER)
		return MDB_CORRUPTED;
	if (rc == 0)
		*ret_value = lmdb_number_get(v.mv_data);
	return rc;
}

int lmdb_meta_put(const struct lmdb_env *e, MDB_txn *txn, const char *name, int64_t value)
{
	char number[LMDB_NUMBER];

	lmdb_number_put(number, value);
	return env_put_text(txn, e->meta, name, str_of(number, sizeof(number)));
}

int lmdb_env_set_format(const struct lmdb_env *e, int64_t format, struct error *err)
{
	int64_t now = 0;
	MDB_txn *txn;
	int rc = mdb_txn_begin(e->mdb, NULL, 0, &txn);

	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	rc = lmdb_meta_get(e, txn, "format", &now);
	if (rc || now == format) {
		mdb_txn_abort(txn);
		return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
	}
	rc = lmdb_meta_put(e, txn, "format", format);
	if (rc)
		mdb_txn_abort(txn);
	else
		rc = mdb_txn_commit(txn);
	if (rc == 0)
		rc = mdb_env_sync(e->mdb, 1);
	return rc ? lmdb_error(err, ERR_IO, rc, e->dir) : 0;
}

int lmdb_env_revisions(const struct lmdb_env *e, MDB_txn *txn, int64_t *ret_revision,
		       int64_t *ret_compacted, struct error *err)
{
	int64_t newest = 0;
	MDB_cursor *c;
	MDB_val k, v;
	int rc = lmdb_meta_get(e, txn, "compacted", ret_compacted);

	if (rc == 0)
		rc = mdb_cursor_open(txn, e->log, &c);
	if (rc)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	rc = mdb_cursor_get(c, &k, &v, MDB_LAST);
	if (rc == 0 && k.mv_size == LMDB_NUMBER)
		newest = lmdb_number_get(k.mv_data);
	mdb_cursor_close(c);
	if (rc != 0 && rc != MDB_NOTFOUND)
		return lmdb_error(err, ERR_IO, rc, e->dir);
	/*
	 * If the log is empty, its last entry was the last one pruned. The first revision is 1, as
	 * in etcd, because "0" means any revision to clients.
	 */
	*ret_revision = MAX(MAX(newest, *ret_compacted), (int64_t)1);
	return 0;
}

void lmdb_env_forget_pages(const struct lmdb_env *e)
{
	if (e->map)
		(void)madvise(e->map, e->map_n, MADV_DONTNEED);
}

bool lmdb_env_forget_some(const struct lmdb_env *e, size_t *at)
{
	size_t used = e->map ? MIN(lmdb_env_used_bytes(e), e->map_n) : 0;
	size_t part = used / FORGET_PARTS / FORGET_ALIGN * FORGET_ALIGN;

	part = MAX(part, (size_t)FORGET_LEAST);
	if (*at < used)
		(void)madvise(e->map + *at, MIN(part, used - *at), MADV_DONTNEED);
	*at += part;
	if (*at < used)
		return true;
	*at = 0;
	return false;
}

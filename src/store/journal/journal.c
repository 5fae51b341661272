/*
 * The order of steps that survives a power cut at any of them:
 *
 *  new segment   write its header into a file with another name, sync the file, rename it, sync the
 *                folder. So a file named as a segment always has a valid header, and its name is
 *                durable before its first record is acknowledged.
 *  record        write it after the last one, sync the file. A failed write leaves no whole
 *                record behind: the next one takes its place, or its first block is overwritten.
 *  spare         rename a segment. If that is lost in a power cut, the segment still has its
 *                records, or already the header of a newer one without records. The number in the
 *                header counts, not the one in the name.
 *
 * The reader stops at the first record that is not whole or has another sequence. As each record is
 * synced before the next is written, a whole record of the same salt after that place means damage,
 * and so does a segment whose first record does not follow.
 */
#include "store/journal/journal.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "net/loop/gzip.h"

enum {
	SUM_AT = 8, /* after the magic */
	SUMMED_AT = 12, /* number, first, salt, cluster id, zeros */
	NAME_MAX_BYTES = 32,
	FOLDER_MODE = 0700,
	FILE_MODE = 0600,
	SEGMENTS_MAX = 1 << 20,
	ID_BYTES = UUID_TEXT_SIZE - 1,
};

#define MAGIC           "DPjournl"
#define SEGMENT_BYTES   (64UL * MIB)
#define SEGMENT_PREFIX  "segment-"
#define SPARE_PREFIX    "spare-"
#define UNFINISHED_NAME "unfinished"

/* --- names and headers --------------------------------------------------------------- */

static void segment_name(char name[static NAME_MAX_BYTES], const char *prefix, uint64_t number)
{
	(void)snprintf(name, NAME_MAX_BYTES, "%s%016" PRIx64, prefix, number);
}

/* Makes DIR/NAME. */
static int path_in(const char *dir, const char *name, char ret_path[static JOURNAL_PATH_MAX],
		   struct error *err)
{
	int n = snprintf(ret_path, JOURNAL_PATH_MAX, "%s/%s", dir, name);

	if (n > 0 && n < JOURNAL_PATH_MAX)
		return 0;
	return error_set(err, ERR_INVALID, "the folder's name is too long");
}

/* Syncs a folder, so that the names in it are durable. */
static int sync_folder(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int e = fd < 0 || fsync(fd) < 0 ? errno : 0;

	if (fd >= 0)
		(void)close(fd);
	return e ? error_set_errno(err, ERR_IO, e, "cannot sync %s", path) : 0;
}

static void put_u64(char *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static uint64_t get_u64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static void segment_put(char *p, const struct journal_segment *s, const char *cluster_id)
{
	uint32_t sum;

	memset(p, 0, JOURNAL_RECORD_BLOCK);
	memcpy(p, MAGIC, sizeof(MAGIC) - 1);
	put_u64(p + 12, s->number);
	put_u64(p + 20, (uint64_t)s->first);
	put_u64(p + 28, s->salt);
	memcpy(p + 36, cluster_id, ID_BYTES);
	sum = htobe32(gzip_crc32(str_of(p + SUMMED_AT, JOURNAL_RECORD_BLOCK - SUMMED_AT)));
	memcpy(p + SUM_AT, &sum, sizeof(sum));
}

bool journal_segment_parse(struct str bytes, struct journal_segment *ret_segment,
			   char *ret_cluster_id)
{
	uint32_t sum;

	if (bytes.n < JOURNAL_RECORD_BLOCK || memcmp(bytes.p, MAGIC, sizeof(MAGIC) - 1) != 0)
		return false;
	memcpy(&sum, bytes.p + SUM_AT, sizeof(sum));
	if (be32toh(sum) !=
	    gzip_crc32(str_of(bytes.p + SUMMED_AT, JOURNAL_RECORD_BLOCK - SUMMED_AT)))
		return false;
	*ret_segment = (struct journal_segment){ .number = get_u64(bytes.p + 12),
						 .first = (int64_t)get_u64(bytes.p + 20),
						 .salt = get_u64(bytes.p + 28),
						 .bytes = bytes.n };
	ret_segment->last = ret_segment->first - 1;
	memcpy(ret_cluster_id, bytes.p + 36, ID_BYTES);
	ret_cluster_id[ID_BYTES] = '\0';
	return ret_segment->first > 0;
}

/* --- the folder ------------------------------------------------------------------------ */

bool journal_exists(const char *dir)
{
	char path[JOURNAL_PATH_MAX];

	return path_in(dir, JOURNAL_DIR, path, NULL) == 0 && access(path, F_OK) == 0;
}

static bool is_ours(const char *name)
{
	struct str s = str_from(name);

	return str_starts(s, STR(SEGMENT_PREFIX)) || str_starts(s, STR(SPARE_PREFIX)) ||
	       str_eqz(s, UNFINISHED_NAME);
}

static int remove_files(const char *path, struct error *err)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!folder && errno == ENOENT)
		return 0;
	if (!folder)
		return error_set_errno(err, ERR_IO, errno, "cannot read %s", path);
	while (r == 0 && (entry = readdir(folder)))
		if (is_ours(entry->d_name) && unlinkat(dirfd(folder), entry->d_name, 0) < 0)
			r = error_set_errno(err, ERR_IO, errno, "cannot remove %s/%s", path,
					    entry->d_name);
	(void)closedir(folder);
	return r;
}

int journal_remove(const char *dir, struct error *err)
{
	char path[JOURNAL_PATH_MAX];
	int r = path_in(dir, JOURNAL_DIR, path, err);

	if (r == 0)
		r = remove_files(path, err);
	if (r == 0 && rmdir(path) < 0 && errno != ENOENT)
		r = error_set_errno(err, ERR_IO, errno, "cannot remove %s", path);
	return r == 0 ? sync_folder(dir, err) : r;
}

/* --- opening ----------------------------------------------------------------------------- */

static int make_folder(struct journal *j, const char *dir, struct error *err)
{
	if (mkdir(j->dir, FOLDER_MODE) < 0 && errno != EEXIST)
		return error_set_errno(err, ERR_IO, errno, "cannot make %s", j->dir);
	j->dir_fd = open(j->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->dir_fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", j->dir);
	return sync_folder(dir, err);
}

int journal_open(struct journal *j, const char *dir, const char *cluster_id, int64_t sequence,
		 size_t segment_bytes, struct error *err)
{
	int r;

	*j = (struct journal){ .dir_fd = -1,
			       .fd = -1,
			       .sequence = sequence,
			       .segment_bytes = segment_bytes ? segment_bytes : SEGMENT_BYTES };
	(void)snprintf(j->cluster_id, sizeof(j->cluster_id), "%s", cluster_id);
	buf_init(&j->scratch, SIZE_MAX / 2);
	vec_init(&j->segments, SEGMENTS_MAX);
	r = path_in(dir, JOURNAL_DIR, j->dir, err);
	if (r == 0)
		r = remove_files(j->dir, err);
	return r == 0 ? make_folder(j, dir, err) : r;
}

void journal_close(struct journal *j)
{
	if (j->fd >= 0)
		(void)close(j->fd);
	if (j->dir_fd >= 0)
		(void)close(j->dir_fd);
	j->fd = j->dir_fd = -1;
	vec_release(&j->segments);
	buf_release(&j->scratch);
}

/* --- appending ----------------------------------------------------------------------------- */

static bool is_space(int e)
{
	return e == ENOSPC || e == EDQUOT || e == EFBIG;
}

static int journal_fail(const struct journal *j, int e, const char *what, struct error *err)
{
	if (is_space(e))
		return error_set_errno(err, ERR_UNAVAILABLE, e,
				       "cannot write %s: free some space there; reads go on",
				       j->dir);
	return error_set_errno(err, ERR_IO, e, "cannot %s in %s", what, j->dir);
}

/* Writes everything, or returns an errno and what was written. A short write means a full disk. */
static int write_whole(int fd, struct str bytes, size_t at, size_t *ret_done)
{
	ssize_t put;

	for (*ret_done = 0; *ret_done < bytes.n; *ret_done += (size_t)put) {
		put = pwrite(fd, bytes.p + *ret_done, bytes.n - *ret_done, (off_t)(at + *ret_done));
		if (put < 0 && errno == EINTR)
			put = 0;
		else if (put < 0)
			return errno;
		else if (put == 0)
			return ENOSPC;
	}
	return 0;
}

static int sync_file(struct journal *j, int fd)
{
	int64_t began = clock_monotonic(clock_system());
	int e = fdatasync(fd) < 0 ? errno : 0;

	j->sync_ns = clock_monotonic(clock_system()) - began;
	return e;
}

/* A new file of full size, under the name of an unfinished one. */
static int make_file(struct journal *j, size_t bytes, struct error *err)
{
	int fd = openat(j->dir_fd, UNFINISHED_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
			FILE_MODE);
	int e;

	if (fd < 0)
		return journal_fail(j, errno, "make a file", err);
	e = posix_fallocate(fd, 0, (off_t)bytes);
	if (e == 0)
		return fd;
	(void)close(fd);
	(void)unlinkat(j->dir_fd, UNFINISHED_NAME, 0);
	return journal_fail(j, e, "allocate a file", err);
}

/* Opens a spare file of at least *bytes, and sets *bytes to its size. Returns -1 without one. */
static int take_spare(struct journal *j, size_t *bytes)
{
	char name[NAME_MAX_BYTES];
	int fd = -1;

	while (fd < 0 && j->spares) {
		size_t has = j->spare_bytes[--j->spares];

		segment_name(name, SPARE_PREFIX, j->spares);
		if (has >= *bytes && renameat(j->dir_fd, name, j->dir_fd, UNFINISHED_NAME) == 0)
			fd = openat(j->dir_fd, UNFINISHED_NAME, O_RDWR | O_CLOEXEC);
		else
			(void)unlinkat(j->dir_fd, name, 0);
		if (fd < 0)
			atomic_fetch_sub(&j->bytes, has);
		else
			*bytes = has;
	}
	return fd;
}

static int begin_segment(struct journal *j, int fd, const struct journal_segment *s,
			 struct error *err)
{
	char name[NAME_MAX_BYTES], head[JOURNAL_RECORD_BLOCK];
	size_t done;
	int e;

	segment_put(head, s, j->cluster_id);
	segment_name(name, SEGMENT_PREFIX, s->number);
	e = write_whole(fd, str_of(head, sizeof(head)), 0, &done);
	if (e == 0)
		e = sync_file(j, fd);
	/* The file has no records that count, so a failed sync loses nothing. */
	if (e)
		return journal_fail(j, e, "write a file", err);
	if (renameat(j->dir_fd, UNFINISHED_NAME, j->dir_fd, name) < 0)
		return journal_fail(j, errno, "rename a file", err);
	/* Whether the name is durable is unknown then, so never append again. */
	if (fsync(j->dir_fd) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot sync %s", j->dir);
	return 0;
}

static int journal_rotate(struct journal *j, size_t record, struct error *err)
{
	struct journal_segment s = { .number = j->number + 1,
				     .first = j->sequence + 1,
				     .last = j->sequence,
				     .salt = random_u64() };
	int fd, r;

	s.bytes = MAX(j->segment_bytes, JOURNAL_RECORD_BLOCK + record);
	fd = take_spare(j, &s.bytes);
	if (fd < 0) {
		fd = make_file(j, s.bytes, err);
		if (fd < 0)
			return fd;
		atomic_fetch_add(&j->bytes, s.bytes);
	}
	r = begin_segment(j, fd, &s, err);
	if (r < 0) {
		(void)close(fd);
		(void)unlinkat(j->dir_fd, UNFINISHED_NAME, 0);
		atomic_fetch_sub(&j->bytes, s.bytes);
		return r;
	}
	if (j->fd >= 0)
		(void)close(j->fd);
	j->fd = fd;
	j->at = JOURNAL_RECORD_BLOCK;
	j->number = s.number;
	(void)vec_push(&j->segments, s);
	return 0;
}

/* After `done` bytes were written: no part of the record may be taken for the whole. */
static int erase(struct journal *j, size_t done, int e, struct error *err)
{
	static const char zeros[JOURNAL_RECORD_BLOCK];
	struct str over = str_of(zeros, MIN(done, sizeof(zeros)));
	int again = is_space(e) ? write_whole(j->fd, over, j->at, &done) : e;

	if (again == 0)
		again = sync_file(j, j->fd);
	return again ? error_set_errno(err, ERR_IO, again, "cannot write %s", j->dir)
		     : journal_fail(j, e, "write", err);
}

int journal_append(struct journal *j, struct journal_record *r, struct error *err)
{
	struct journal_segment *s = j->segments.n ? &j->segments.v[j->segments.n - 1] : NULL;
	size_t done;
	int rc, e;

	r->sequence = j->sequence + 1;
	buf_clear(&j->scratch);
	rc = journal_record_encode(r, s ? s->salt : 0, &j->scratch);
	if (rc == 0 && (!s || j->at + j->scratch.n > s->bytes)) {
		rc = journal_rotate(j, j->scratch.n, err);
		if (rc < 0)
			return rc;
		s = &j->segments.v[j->segments.n - 1];
		buf_clear(&j->scratch);
		rc = journal_record_encode(r, s->salt, &j->scratch);
	}
	if (rc < 0)
		return error_set(err, ERR_UNAVAILABLE, "%s: a record is too large", j->dir);
	e = write_whole(j->fd, buf_str(&j->scratch), j->at, &done);
	if (e)
		return erase(j, done, e, err);
	e = sync_file(j, j->fd);
	if (e)
		return error_set_errno(err, ERR_IO, e, "cannot sync %s", j->dir);
	j->at += j->scratch.n;
	j->sequence = s->last = r->sequence;
	return 0;
}

void journal_release(struct journal *j, int64_t sequence)
{
	char name[NAME_MAX_BYTES], spare[NAME_MAX_BYTES];

	while (j->segments.n > 1 && j->segments.v[0].last <= sequence) {
		const struct journal_segment *s = &j->segments.v[0];

		segment_name(name, SEGMENT_PREFIX, s->number);
		segment_name(spare, SPARE_PREFIX, j->spares);
		if (j->spares < JOURNAL_SPARES &&
		    renameat(j->dir_fd, name, j->dir_fd, spare) == 0) {
			j->spare_bytes[j->spares++] = s->bytes;
		} else {
			(void)unlinkat(j->dir_fd, name, 0);
			atomic_fetch_sub(&j->bytes, s->bytes);
		}
		vec_remove(&j->segments, 0);
	}
}

/* --- reading --------------------------------------------------------------------------------- */

/* Whether a whole record of the segment, with a later sequence, begins at `at` or after it. */
static bool has_later(struct str bytes, const struct journal_segment *s, size_t at)
{
	int64_t sequence;
	size_t size;

	for (; at < bytes.n; at += JOURNAL_RECORD_BLOCK)
		if (journal_record_is_at(str_skip(bytes, at), s->salt, &sequence, &size) &&
		    sequence > s->last)
			return true;
	return false;
}

int journal_segment_next(struct str bytes, struct journal_segment *s, size_t *at,
			 struct str *ret_record)
{
	int64_t sequence;
	size_t size;

	if (*at < bytes.n &&
	    journal_record_is_at(str_skip(bytes, *at), s->salt, &sequence, &size) &&
	    sequence == s->last + 1) {
		*ret_record = str_of(bytes.p + *at, MIN(size, bytes.n - *at));
		*at += size;
		s->last = sequence;
		return 1;
	}
	return has_later(bytes, s, *at) ? -ERR_INVALID : 0;
}

struct found {
	char name[NAME_MAX_BYTES];
	uint64_t number;
};

struct reading {
	const struct journal_reader *in;
	char dir[JOURNAL_PATH_MAX];
	VEC(struct found) files;
	int64_t last;
};

static int tell_damage(const struct reading *r, const char *what, struct error *err)
{
	if (r->in->live)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"%s is damaged: %s after record %" PRId64
		"; starting would lose acknowledged writes. Restore a backup, or move %s away "
		"to start without the writes after that record",
		r->dir, what, r->last, r->dir);
}

static int by_number(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int read_some(int fd, char *p, size_t n, size_t *ret_n)
{
	ssize_t got;

	for (*ret_n = 0; *ret_n < n; *ret_n += (size_t)got) {
		got = pread(fd, p + *ret_n, n - *ret_n, (off_t)*ret_n);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got < 0)
			return errno;
		else if (got == 0)
			break;
	}
	return 0;
}

/* Reads up to `max` bytes of a file. It may be gone: *ret_n is 0 then. */
static int read_file(const struct reading *r, const char *name, size_t max, char **ret_p,
		     size_t *ret_n, struct error *err)
{
	char path[JOURNAL_PATH_MAX];
	struct stat st;
	int fd, e;

	*ret_n = 0;
	e = path_in(r->dir, name, path, err);
	if (e < 0)
		return e;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0) {
		e = errno;
		if (fd >= 0)
			(void)close(fd);
		return error_set_errno(err, ERR_IO, e, "cannot read %s", path);
	}
	max = MIN(max, (size_t)st.st_size);
	*ret_p = xmalloc(MAX(max, (size_t)1));
	e = read_some(fd, *ret_p, max, ret_n);
	(void)close(fd);
	return e ? error_set_errno(err, ERR_IO, e, "cannot read %s", path) : 0;
}

static int find_file(struct reading *r, const char *name, struct error *err)
{
	char cluster_id[UUID_TEXT_SIZE];
	struct found f = { .number = 0 };
	struct journal_segment s;
	char *p = NULL;
	size_t n;
	int rc = read_file(r, name, JOURNAL_RECORD_BLOCK, &p, &n, err);

	(void)snprintf(f.name, sizeof(f.name), "%s", name);
	if (rc == 0 && n && !journal_segment_parse(str_of(p, n), &s, cluster_id)) {
		rc = tell_damage(r, "a file without a valid header", err);
	} else if (rc == 0 && n && strcmp(cluster_id, r->in->cluster_id) != 0) {
		rc = error_set(err, ERR_INVALID,
			       "%s belongs to another store, with the cluster id %s; move it to "
			       "that store's folder, or away",
			       r->dir, cluster_id);
	} else if (rc == 0 && n) {
		f.number = s.number;
		(void)vec_push(&r->files, f);
	}
	free(p);
	return rc;
}

static int find_files(struct reading *r, struct error *err)
{
	DIR *folder = opendir(r->dir);
	struct dirent *entry;
	int rc = 0;

	if (!folder && errno == ENOENT)
		return 0;
	if (!folder)
		return error_set_errno(err, ERR_IO, errno, "cannot read %s", r->dir);
	while (rc == 0 && (entry = readdir(folder)))
		if (str_starts(str_from(entry->d_name), STR(SEGMENT_PREFIX)))
			rc = find_file(r, entry->d_name, err);
	(void)closedir(folder);
	if (r->files.n)
		qsort(r->files.v, r->files.n, sizeof(*r->files.v), by_number);
	return rc;
}

static int hand_over(struct reading *r, struct str bytes, int64_t sequence, struct error *err)
{
	struct journal_record *record;

	if (sequence <= r->last)
		return 0;
	record = journal_record_parse(bytes);
	if (!record)
		return tell_damage(r, "a malformed record", err);
	r->last = sequence;
	return r->in->each(r->in->arg, record, err);
}

static int read_segment(struct reading *r, struct str bytes, struct error *err)
{
	char cluster_id[UUID_TEXT_SIZE];
	size_t at = JOURNAL_RECORD_BLOCK;
	struct journal_segment s;
	struct str record;
	int rc;

	/* Empty: it was removed meanwhile, so its records are in data.mdb. */
	if (bytes.n == 0)
		return 0;
	if (!journal_segment_parse(bytes, &s, cluster_id))
		return tell_damage(r, "a file without a valid header", err);
	if (s.first > r->last + 1)
		return tell_damage(r, "a record is missing", err);
	while ((rc = journal_segment_next(bytes, &s, &at, &record)) == 1) {
		rc = hand_over(r, record, s.last, err);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return tell_damage(r, "a bad record that is not the last one", err);
	return r->in->forget ? r->in->forget(r->in->arg, err) : 0;
}

int journal_read(const struct journal_reader *in, int64_t *ret_last, struct error *err)
{
	struct reading r = { .in = in, .last = in->after };
	int rc;

	vec_init(&r.files, SEGMENTS_MAX);
	rc = path_in(in->dir, JOURNAL_DIR, r.dir, err);
	if (rc == 0)
		rc = find_files(&r, err);
	for (size_t i = 0; rc == 0 && i < r.files.n; i++) {
		char *p = NULL;
		size_t n;

		rc = read_file(&r, r.files.v[i].name, SIZE_MAX, &p, &n, err);
		if (rc == 0)
			rc = read_segment(&r, str_of(p, n), err);
		free(p);
	}
	vec_release(&r.files);
	*ret_last = r.last;
	return rc;
}

/*
 * Every look lists the whole folder: it has few files, and notifications may be merged or lost. The
 * files that a look found carry its number, so the others are missing.
 */
#include "node/manifests/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/ordered/omap.h"
#include "net/loop/loop.h"
#include "node/node_limits.h"

enum {
	PERIOD_MS = 20 * 1000,
	NOTICE_MS = 100, /* a file is often written in several steps */
	MISSING_MS = 1000,
};

struct manifest_file {
	char *path;
	struct stat seen; /* when it was read */
	uint64_t look; /* the last look that found it */
	uint64_t trouble; /* hash of the problem reported last; 0: none */
	bool read; /* its content was reported */
	bool missing; /* the last look did not find it */
};

struct manifest_folder {
	struct manifest_folder_opts opts;
	char *path;
	struct omap files; /* by path */
	uint64_t look;
	uint64_t trouble; /* of the folder, as that of a file */
	bool known;
	struct loop_watch *watch;
	struct loop_timer timer;
};

/* --- problems ----------------------------------------------------------------------- */

static void folder_report(struct manifest_folder *f, const char *path, uint64_t *told,
			  const struct error *err)
{
	uint64_t what = hash_bytes(str_from(err->msg), 1) | 1;

	if (*told != what)
		f->opts.on_problem(f->opts.arg, str_from(path), err);
	*told = what;
}

/* --- files -------------------------------------------------------------------------- */

static void manifest_file_free(struct manifest_file *v)
{
	free(v->path);
	free(v);
}

static struct manifest_file *folder_file(struct manifest_folder *f, const char *path)
{
	struct manifest_file *v = omap_get(&f->files, str_from(path));

	if (v || f->files.n >= MANIFEST_FILES_MAX)
		return v;
	v = XNEW(struct manifest_file);
	v->path = xstrdup(path);
	(void)omap_put(&f->files, str_from(v->path), v);
	return v;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_same_content(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

static int file_read_all(int fd, struct buf *text, const char *path, struct error *err)
{
	char block[16384];
	ssize_t n;

	while ((n = read(fd, block, sizeof(block))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, ERR_IO, errno, "cannot read %s", path);
		if (buf_add(text, block, (size_t)n) < 0)
			return error_set(err, ERR_TOO_LARGE, "%s is larger than %lu MiB", path,
					 MANIFEST_FILE_MAX >> 20);
	}
	return 0;
}

/* Opens without waiting: a pipe of that name must not block the agent. */
static int file_load(const char *path, struct buf *text, struct stat *st, struct error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	int r = 0;

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", path);
	if (fstat(fd, st) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot read %s", path);
	else if (!S_ISREG(st->st_mode))
		r = error_set(err, ERR_INVALID, "%s is not a regular file", path);
	else
		r = file_read_all(fd, text, path, err);
	(void)close(fd);
	return r;
}

static void folder_read_file(struct manifest_folder *f, struct manifest_file *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MANIFEST_FILE_MAX);
	struct stat st;
	struct error err;

	v->look = f->look;
	v->missing = false;
	if (v->read && stat(v->path, &st) == 0 && is_same_content(&st, &v->seen))
		return;
	if (file_load(v->path, &text, &st, &err) < 0) {
		folder_report(f, v->path, &v->trouble, &err);
		return;
	}
	v->trouble = 0;
	v->read = true;
	v->seen = st;
	f->opts.on_file(f->opts.arg, str_from(v->path), buf_str(&text));
}

/* --- looks -------------------------------------------------------------------------- */

/* Adds the folder's files to those that are known. Returns -1 with errno. */
static int folder_list(struct manifest_folder *f)
{
	char path[PATH_MAX];
	struct manifest_file *v;
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(f->path);

	if (!d)
		return -1;
	while ((e = readdir(d))) {
		int n = snprintf(path, sizeof(path), "%s/%s", f->path, e->d_name);

		if (e->d_name[0] == '.' || n < 0 || (size_t)n >= sizeof(path) ||
		    stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		v = folder_file(f, path);
		if (v)
			v->look = f->look;
	}
	(void)closedir(d);
	return 0;
}

static void folder_read_all(struct manifest_folder *f)
{
	struct omap_cursor c;

	for (bool ok = omap_first(&f->files, &c); ok; ok = omap_next(&c)) {
		struct manifest_file *v = omap_value(&c);

		if (v->look == f->look)
			folder_read_file(f, v);
	}
}

/* Removes the files that two looks missed. Returns whether one is missing for the first time. */
static bool folder_sweep(struct manifest_folder *f)
{
	struct omap_cursor c;
	bool again = false, ok = omap_first(&f->files, &c);

	while (ok) {
		struct manifest_file *v = omap_value(&c);
		bool lost = v->look != f->look, gone = lost && (v->missing || !v->read);

		if (lost && !gone)
			v->missing = again = true;
		if (gone)
			(void)omap_remove(&f->files, str_from(v->path));
		if (gone && v->read)
			f->opts.on_gone(f->opts.arg, str_from(v->path));
		ok = omap_seek_after(&f->files, &c, str_from(v->path));
		if (gone)
			manifest_file_free(v);
	}
	return again;
}

static void folder_on_notice(void *arg, struct str name UNUSED, const struct error *err)
{
	struct manifest_folder *f = arg;

	if (err)
		loop_watch_free(TAKE(f->watch));
	loop_timer_start(&f->timer, NOTICE_MS);
}

/* Without a watch, the periodic looks find changes. */
static void folder_watch(struct manifest_folder *f)
{
	if (!f->watch)
		(void)loop_watch_new(f->opts.loop, f->path, folder_on_notice, f, &f->watch, NULL);
}

/* Returns 0 if the files were found, or there is nothing. */
static int folder_scan(struct manifest_folder *f, struct error *err)
{
	struct stat st;

	if (stat(f->path, &st) < 0)
		return errno == ENOENT
			       ? 0
			       : error_set_errno(err, ERR_IO, errno, "cannot read %s", f->path);
	folder_watch(f);
	if (S_ISREG(st.st_mode)) {
		folder_file(f, f->path)->look = f->look;
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is neither a folder nor a file", f->path);
	return folder_list(f) < 0 ? error_set_errno(err, ERR_IO, errno, "cannot read %s", f->path)
				  : 0;
}

void manifest_folder_look(struct manifest_folder *f)
{
	struct error err;
	bool again = false;

	f->look++;
	if (folder_scan(f, &err) < 0) {
		folder_report(f, f->path, &f->trouble, &err);
	} else {
		f->trouble = 0;
		f->known = true;
		folder_read_all(f);
		again = folder_sweep(f);
	}
	loop_timer_start(&f->timer, again ? MISSING_MS : f->opts.period_ms);
}

static void folder_on_timer(struct loop_timer *t)
{
	manifest_folder_look(CONTAINER_OF(t, struct manifest_folder, timer));
}

/* --- life --------------------------------------------------------------------------- */

struct manifest_folder *manifest_folder_new(const struct manifest_folder_opts *opts)
{
	struct manifest_folder *f = XNEW(struct manifest_folder);

	f->opts = *opts;
	if (f->opts.period_ms <= 0)
		f->opts.period_ms = PERIOD_MS;
	f->path = xstrdup(opts->path);
	omap_init(&f->files);
	loop_timer_init(&f->timer, opts->loop, folder_on_timer);
	return f;
}

void manifest_folder_start(struct manifest_folder *f)
{
	manifest_folder_look(f);
}

bool manifest_folder_known(const struct manifest_folder *f)
{
	return f->known;
}

void manifest_folder_free(struct manifest_folder *f)
{
	struct omap_cursor c;

	if (!f)
		return;
	loop_timer_stop(&f->timer);
	loop_watch_free(f->watch);
	for (bool ok = omap_first(&f->files, &c); ok; ok = omap_next(&c))
		manifest_file_free(omap_value(&c));
	omap_release(&f->files);
	free(f->path);
	free(f);
}

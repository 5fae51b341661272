/*
 * Earlier files first, the rename last. A crash in between leaves a temporary file, or a file
 * beside its compressed copy; the next rotation removes both.
 */
#include "node/logs/rotate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "net/loop/gzip.h"
#include "net/loop/loop.h"
#include "net/net_limits.h"
#include "node/runtime/runtime.h"

enum { PIECE = 64 * 1024, LEVEL = 6, FILES_MAX = 1024 };

#define TEMPORARY  ".tmp"
#define COMPRESSED ".gz"

struct log_rotate {
	struct log_rotate_opts opts;
	struct arena arena;
	struct loop_task task; /* the next piece */
	struct log_rotate_plan plan;
	size_t next; /* next file to compress */
	const char *folder, *path, *rotated;
	struct str id;
	/* The file that is being compressed. */
	int from, to;
	struct gzip *gzip;
	bool moved; /* the log is renamed, and the runtime's reply is pending */
};

/* --- the plan ---------------------------------------------------------------------- */

static bool has_compressed(struct str name, const struct str *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i].n == name.n + strlen(COMPRESSED) && str_starts(names[i], name) &&
		    str_ends(names[i], STR(COMPRESSED)))
			return true;
	}
	return false;
}

void log_rotate_plan(const struct str *names, size_t n, size_t max_files, struct arena *a,
		     struct log_rotate_plan *ret_plan)
{
	struct str *kept = ARENA_ARRAY(a, struct str, n + 1);
	size_t nkept = 0, most = max_files > 2 ? max_files - 2 : 0, drop;
	struct log_rotate_plan p = { .remove = ARENA_ARRAY(a, struct str, n + 1),
				     .compress = ARENA_ARRAY(a, struct str, n + 1) };

	for (size_t i = 0; i < n; i++) {
		if (str_ends(names[i], STR(TEMPORARY)) || has_compressed(names[i], names, n))
			p.remove[p.nremove++] = names[i];
		else
			kept[nkept++] = names[i];
	}
	qsort(kept, nkept, sizeof(*kept), str_order);
	/* The log and the file rotated now make two. */
	drop = nkept > most ? nkept - most : 0;
	for (size_t i = 0; i < nkept; i++) {
		if (i < drop)
			p.remove[p.nremove++] = kept[i];
		else if (!str_ends(kept[i], STR(COMPRESSED)))
			p.compress[p.ncompress++] = kept[i];
	}
	*ret_plan = p;
}

/* Calls fn for each entry of a folder whose name has the prefix. */
static void each_file(const char *folder, struct str prefix,
		      void (*fn)(void *arg, const char *folder, const char *name), void *arg)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    str_starts(str_from(e->d_name), prefix))
			fn(arg, folder, e->d_name);
	}
	if (d)
		(void)closedir(d);
	else if (fd >= 0)
		(void)close(fd);
}

/* --- removing ---------------------------------------------------------------------- */

static void unlink_one(void *arg, const char *folder, const char *name)
{
	struct buf path = BUF_INIT(HTTP_HEADERS_MAX);

	(void)arg;
	(void)buf_printf(&path, "%s/%s", folder, name);
	(void)unlink(path.p);
	buf_release(&path);
}

static void remove_container(void *arg, const char *folder, const char *name)
{
	struct buf path = BUF_INIT(HTTP_HEADERS_MAX);
	struct stat st;

	(void)arg;
	(void)buf_printf(&path, "%s/%s", folder, name);
	if (lstat(path.p, &st) == 0 && S_ISDIR(st.st_mode)) {
		each_file(path.p, STR_NULL, unlink_one, NULL);
		(void)rmdir(path.p);
	} else {
		(void)unlink(path.p);
	}
	buf_release(&path);
}

void log_rotate_remove_pod(const char *folder)
{
	each_file(folder, STR_NULL, remove_container, NULL);
	(void)rmdir(folder);
}

/* "DIR/0.log" is "DIR" and "0.log". */
static const char *rotate_split(struct arena *a, const char *path, struct str *ret_name)
{
	const char *slash = strrchr(path, '/');

	*ret_name = str_from(slash ? slash + 1 : path);
	return slash ? arena_strdup(a, str_of(path, (size_t)(slash - path))) : ".";
}

void log_rotate_remove(const char *path)
{
	CLEANUP(arena_release) struct arena a;
	const char *folder;
	struct str name;

	arena_init(&a, SIZE_MAX);
	folder = rotate_split(&a, path, &name);
	(void)unlink(path);
	each_file(folder, str_from(arena_printf(&a, "%.*s.", STR_ARG(name))), unlink_one, NULL);
}

/* --- compressing ------------------------------------------------------------------- */

static const char *file_of(struct log_rotate *r, struct str name, const char *suffix)
{
	return arena_printf(&r->arena, "%s/%.*s%s", r->folder, STR_ARG(name), suffix);
}

static void rotate_finish(struct log_rotate *r, const struct error *err)
{
	r->opts.done(r->opts.arg, err);
}

static void close_files(struct log_rotate *r)
{
	gzip_free(TAKE(r->gzip));
	if (r->from >= 0)
		(void)close(r->from);
	if (r->to >= 0)
		(void)close(r->to);
	r->from = r->to = -1;
}

static int open_files(struct log_rotate *r, struct error *err)
{
	const char *from = file_of(r, r->plan.compress[r->next], "");
	const char *to = file_of(r, r->plan.compress[r->next], TEMPORARY);
	struct stat st;

	/* Only regular files are compressed: reading a pipe could block for ever. */
	if (lstat(from, &st) < 0 || !S_ISREG(st.st_mode)) {
		r->next++;
		return 0;
	}
	r->from = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	r->to = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (r->from < 0 || r->to < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot compress %s", from);
	r->gzip = gzip_deflate_new(LEVEL);
	return 0;
}

static int rotate_write_all(int fd, struct str text, struct error *err)
{
	while (text.n > 0) {
		ssize_t n = write(fd, text.p, text.n);

		if (n < 0 && errno != EINTR)
			return error_set_errno(err, ERR_IO, errno, "a compressed log");
		text = str_skip(text, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

/* Compresses the next piece; returns 1 after the last one. */
static int compress_piece(struct log_rotate *r, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4 * PIECE);
	char piece[PIECE];
	ssize_t n = read(r->from, piece, sizeof(piece));
	struct str in = str_of(piece, n > 0 ? (size_t)n : 0);
	int z = 0, e = 0;

	if (n < 0)
		return error_set_errno(err, ERR_IO, errno, "a rotated log cannot be read");
	while (z == 0 && e == 0 && (in.n > 0 || n == 0)) {
		z = gzip_step(r->gzip, &in, n == 0, &out, PIECE, err);
		if (z >= 0)
			e = rotate_write_all(r->to, buf_str(&out), err);
		buf_clear(&out);
	}
	return z < 0 ? z : e < 0 ? e : n == 0;
}

/* The compressed file is complete: it replaces the original. */
static int compressed(struct log_rotate *r, struct error *err)
{
	struct str name = r->plan.compress[r->next++];

	close_files(r);
	if (rename(file_of(r, name, TEMPORARY), file_of(r, name, COMPRESSED)) < 0)
		return error_set_errno(err, ERR_IO, errno, "a compressed log cannot be renamed");
	(void)unlink(file_of(r, name, ""));
	return 0;
}

/* --- rotating ---------------------------------------------------------------------- */

/*
 * The runtime continues with the old file, so restore its name. If the runtime has created a new
 * file and only its reply was lost, both stay.
 */
static void move_back(struct log_rotate *r)
{
	(void)renameat2(AT_FDCWD, r->rotated, AT_FDCWD, r->path, RENAME_NOREPLACE);
}

static void on_reopened(void *arg, const struct error *err)
{
	struct log_rotate *r = arg;

	r->moved = false;
	if (err)
		move_back(r);
	rotate_finish(r, err);
}

static int move_away(struct log_rotate *r, struct error *err)
{
	int64_t wall = clock_wall(loop_clock(r->opts.loop));
	struct timestamp_civil t = timestamp_civil(wall / CLOCK_SEC);

	r->rotated = arena_printf(&r->arena, "%s.%04d%02d%02d-%02d%02d%02d", r->path, t.year,
				  t.month, t.day, t.hour, t.minute, t.second);
	/*
	 * A second rotation within a second would overwrite the first: leave it for a later round.
	 */
	if (renameat2(AT_FDCWD, r->path, AT_FDCWD, r->rotated, RENAME_NOREPLACE) < 0)
		return error_set_errno(err, ERR_IO, errno, "%s cannot be renamed", r->path);
	r->moved = true;
	r->opts.runtime->ops->reopen_log(r->opts.runtime, r->id, on_reopened, r);
	return 0;
}

static int rotate_step(struct log_rotate *r, struct error *err)
{
	int e;

	if (r->next == r->plan.ncompress)
		return move_away(r, err);
	e = r->from < 0 ? open_files(r, err) : compress_piece(r, err);
	if (e > 0)
		e = compressed(r, err);
	if (e == 0)
		loop_defer(r->opts.loop, &r->task);
	return e;
}

static void rotate_on_task(struct loop_task *t)
{
	struct log_rotate *r = CONTAINER_OF(t, struct log_rotate, task);
	struct error err;

	if (rotate_step(r, &err) < 0) {
		close_files(r);
		rotate_finish(r, &err);
	}
}

struct names {
	struct arena *arena;
	struct str *v;
	size_t n;
};

static void rotate_add_name(void *arg, const char *folder, const char *name)
{
	struct names *all = arg;

	(void)folder;
	if (all->n < FILES_MAX)
		all->v[all->n++] = arena_str(all->arena, str_from(name));
}

struct log_rotate *log_rotate_new(const struct log_rotate_opts *opts)
{
	struct log_rotate *r = XNEW(struct log_rotate);
	struct names all = { .arena = &r->arena };
	struct str name;

	r->opts = *opts;
	r->from = r->to = -1;
	arena_init(&r->arena, SIZE_MAX);
	r->path = arena_strdup(&r->arena, opts->path);
	r->id = arena_str(&r->arena, opts->container_id);
	r->folder = rotate_split(&r->arena, r->path, &name);
	all.v = ARENA_ARRAY(&r->arena, struct str, FILES_MAX);
	each_file(r->folder, str_from(arena_printf(&r->arena, "%.*s.", STR_ARG(name))),
		  rotate_add_name, &all);
	log_rotate_plan(all.v, all.n, opts->max_files, &r->arena, &r->plan);
	for (size_t i = 0; i < r->plan.nremove; i++)
		(void)unlink(file_of(r, r->plan.remove[i], ""));
	loop_task_init(&r->task, rotate_on_task);
	loop_defer(opts->loop, &r->task);
	return r;
}

bool log_rotate_moved(const struct log_rotate *r)
{
	return r->moved;
}

void log_rotate_free(struct log_rotate *r)
{
	if (!r)
		return;
	if (r->moved)
		move_back(r);
	loop_task_cancel(&r->task);
	close_files(r);
	arena_release(&r->arena);
	free(r);
}

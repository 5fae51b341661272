/*
 * A compressed file appears under its name when it is complete: until then it has a name that ends
 * in ".tmp", which a tidying that comes later removes.
 */
#include "server/audit/rotate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/time/timestamp.h"
#include "net/loop/gzip.h"
#include "server/server_limits.h"

#define DAY_NS (86400 * CLOCK_SEC)

enum {
	STAMP_N = sizeof("2006-01-02T15-04-05.000") - 1,
	CHUNK = 64 * 1024,
	GZIP_LEVEL = 6,
};

/* --- names -------------------------------------------------------------------------------- */

/* "/var/log/audit.log": the folder ends after its slash, and the extension begins with its dot. */
struct parts {
	struct str folder, stem, extension;
};

static struct parts parts_of(const char *path)
{
	struct str all = str_from(path);
	size_t begin = all.n, dot = all.n;

	while (begin && path[begin - 1] != '/')
		begin--;
	for (size_t i = begin; i < all.n; i++)
		if (path[i] == '.')
			dot = i;
	return (struct parts){ str_of(path, begin), str_of(path + begin, dot - begin),
			       str_skip(all, dot) };
}

static int stamp_int(struct str s, size_t at, size_t n)
{
	int v = 0;

	for (size_t i = at; i < at + n; i++) {
		if (!str_is_digit(s.p[i]))
			return -1;
		v = v * 10 + (s.p[i] - '0');
	}
	return v;
}

static bool read_stamp(struct str s, int64_t *ret_wall_ns)
{
	static const char form[] = "dddd-dd-ddTdd-dd-dd.ddd";
	int year, month, day, hour, minute, second;

	if (s.n != STAMP_N)
		return false;
	for (size_t i = 0; i < STAMP_N; i++)
		if (form[i] == 'd' ? !str_is_digit(s.p[i]) : s.p[i] != form[i])
			return false;
	year = stamp_int(s, 0, 4);
	month = stamp_int(s, 5, 2);
	day = stamp_int(s, 8, 2);
	hour = stamp_int(s, 11, 2);
	minute = stamp_int(s, 14, 2);
	second = stamp_int(s, 17, 2);
	if (year < 1970 || year > 2200 || month < 1 || month > 12 || day < 1 || day > 31)
		return false;
	*ret_wall_ns = (timestamp_of_date(year, month, day) + hour * 3600 + minute * 60 + second) *
			       CLOCK_SEC +
		       stamp_int(s, 20, 3) * CLOCK_MS;
	return true;
}

const char *audit_rotate_name(struct arena *a, const char *path, int64_t wall_ns)
{
	struct timestamp_civil t = timestamp_civil(wall_ns / CLOCK_SEC);
	struct parts p = parts_of(path);

	return arena_printf(a, "%.*s%.*s-%04d-%02d-%02dT%02d-%02d-%02d.%03d%.*s", STR_ARG(p.folder),
			    STR_ARG(p.stem), t.year, t.month, t.day, t.hour, t.minute, t.second,
			    (int)(wall_ns / CLOCK_MS % 1000), STR_ARG(p.extension));
}

bool audit_rotate_time(const char *path, struct str name, int64_t *ret_wall_ns,
		       bool *ret_compressed)
{
	struct parts p = parts_of(path);

	*ret_compressed = str_ends(name, STR(".gz"));
	if (*ret_compressed)
		name.n -= 3;
	if (name.n != p.stem.n + 1 + STAMP_N + p.extension.n || !str_starts(name, p.stem) ||
	    name.p[p.stem.n] != '-' || !str_ends(name, p.extension))
		return false;
	return read_stamp(str_of(name.p + p.stem.n + 1, STAMP_N), ret_wall_ns);
}

/* --- older files -------------------------------------------------------------------------- */

struct backup {
	struct str name;
	int64_t wall_ns;
	bool compressed;
};

struct backups {
	VEC(struct backup) v;
};

static int newest_first(const void *a, const void *b)
{
	const struct backup *x = a, *y = b;

	return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

static struct str folder_of(const char *path)
{
	struct str folder = parts_of(path).folder;

	return folder.n ? folder : STR("./");
}

static const char *backup_path(struct arena *a, const char *path, struct str name)
{
	return arena_printf(a, "%.*s%.*s", STR_ARG(folder_of(path)), STR_ARG(name));
}

/* Also removes what an interrupted compression has left. */
static void look_at(struct arena *a, const char *path, struct str name, struct backups *all)
{
	struct backup b = { .name = name };
	int64_t ignored;
	bool half = str_ends(name, STR(".gz.tmp"));

	if (half && audit_rotate_time(path, str_of(name.p, name.n - 4), &ignored, &b.compressed))
		(void)unlink(backup_path(a, path, name));
	if (half || !audit_rotate_time(path, name, &b.wall_ns, &b.compressed))
		return;
	b.name = arena_str(a, name);
	(void)vec_push(&all->v, b);
}

static int list_backups(struct arena *a, const char *path, struct backups *all, struct error *err)
{
	const char *folder = arena_strdup(a, folder_of(path));
	DIR *d = opendir(folder);
	const struct dirent *e;

	if (!d)
		return error_set_errno(err, ERR_IO, errno, "cannot list %s", folder);
	while ((e = readdir(d)))
		look_at(a, path, str_from(e->d_name), all);
	(void)closedir(d);
	if (all->v.n)
		qsort(all->v.v, all->v.n, sizeof(*all->v.v), newest_first);
	return 0;
}

/* --- compressing -------------------------------------------------------------------------- */

static int write_all(int fd, struct str s)
{
	while (s.n) {
		ssize_t n = write(fd, s.p, s.n);

		if (n < 0 && errno != EINTR)
			return -1;
		s = str_skip(s, (size_t)MAX(n, (ssize_t)0));
	}
	return 0;
}

/* Returns 0 or -1; errno says why. */
static int compress_to(int in, int out)
{
	CLEANUP(gzip_free) struct gzip *z = gzip_deflate_new(GZIP_LEVEL);
	CLEANUP(buf_release) struct buf packed = BUF_INIT(CHUNK);
	CLEANUP(free) char *chunk = xmalloc(CHUNK);
	int done = 0;

	while (!done) {
		ssize_t n = read(in, chunk, CHUNK);
		struct str input = str_of(chunk, (size_t)MAX(n, (ssize_t)0));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		do {
			buf_clear(&packed);
			done = gzip_step(z, &input, n == 0, &packed, CHUNK, NULL);
			if (done < 0 || write_all(out, buf_str(&packed)) < 0)
				return -1;
		} while (!done && (input.n || packed.n == CHUNK));
	}
	return fsync(out);
}

static int rotate_compress(const char *from, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	const char *to, *half;
	int in, out = -1, r = -1;

	arena_init(&a, SIZE_MAX);
	to = arena_printf(&a, "%s.gz", from);
	half = arena_printf(&a, "%s.tmp", to);
	in = open(from, O_RDONLY | O_CLOEXEC);
	if (in >= 0)
		out = open(half, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out >= 0)
		r = compress_to(in, out);
	if (r == 0)
		r = rename(half, to);
	if (r < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot compress %s", from);
	if (out >= 0)
		(void)close(out);
	if (in >= 0)
		(void)close(in);
	(void)unlink(r == 0 ? from : half);
	return r;
}

int audit_rotate_tidy(const char *path, const struct audit_rotation *r, int64_t wall_ns,
		      struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct backups all = { 0 };
	int ret;

	arena_init(&a, SIZE_MAX);
	vec_init(&all.v, AUDIT_BACKUPS_MAX);
	ret = list_backups(&a, path, &all, err);
	for (size_t i = 0; i < all.v.n; i++) {
		const struct backup *b = &all.v.v[i];
		const char *at = backup_path(&a, path, b->name);
		bool many = r->max_backups > 0 && i >= (size_t)r->max_backups;
		bool old = r->max_age_days > 0 && b->wall_ns < wall_ns - r->max_age_days * DAY_NS;
		int one = 0;

		if ((many || old) && unlink(at) < 0)
			one = error_set_errno(err, ERR_IO, errno, "cannot remove %s", at);
		else if (!many && !old && r->compress && !b->compressed)
			one = rotate_compress(at, err);
		ret = ret < 0 ? ret : one;
	}
	vec_release(&all.v);
	return ret;
}

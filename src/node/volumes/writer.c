/*
 * The present files are read and compared with the wanted ones: refreshes are rare and files are
 * small, so nothing has to be remembered over a restart. Leftovers of a crash ("..TIME" folders
 * that "..data" does not name) are removed with the next change.
 */
#include "node/volumes/writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/time/timestamp.h"

#define DATA     "..data"
#define DATA_NEW "..data_tmp"

enum { DEPTH_MAX = 32, STATE_NAME = 64 };

struct writer {
	int dir; /* the volume's folder */
	int state; /* the new state's folder, or -1 */
	char name[STATE_NAME]; /* of the new state */
	const struct volume_payload *payload;
	struct map names; /* first parts of the files' paths */
	const struct volume_owner *owner;
};

/* --- comparing ------------------------------------------------------------------------------ */

static bool has_content(int dir, const struct volume_file *f)
{
	int fd = openat(dir, f->path.p, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char chunk[16 * KIB];
	size_t at = 0;
	struct stat st;
	ssize_t n = 0;
	bool same;

	if (fd < 0)
		return false;
	same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == f->data.n;
	while (same && at < f->data.n && (n = read(fd, chunk, sizeof(chunk))) > 0) {
		same = (size_t)n <= f->data.n - at && memcmp(chunk, f->data.p + at, (size_t)n) == 0;
		at += (size_t)n;
	}
	(void)close(fd);
	return same && at == f->data.n;
}

/* Counts files below an open folder, which is closed; more than `max` if it is too deep. */
static size_t count_files(int fd, unsigned depth, size_t max)
{
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	struct stat st;
	size_t n = 0;

	if (!d)
		return max + 1;
	while (n <= max && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || depth == 0)
			n = max + 1;
		else if (!S_ISDIR(st.st_mode))
			n++;
		else
			n += count_files(openat(dirfd(d), e->d_name,
						O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
					 depth - 1, max);
	}
	(void)closedir(d);
	return n;
}

static int open_state(int dir)
{
	char name[STATE_NAME];
	ssize_t n = readlinkat(dir, DATA, name, sizeof(name) - 1);

	if (n <= 0)
		return -1;
	name[n] = '\0';
	if (strchr(name, '/'))
		return -1;
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_current(const struct writer *w)
{
	const struct volume_payload *p = w->payload;
	int state = open_state(w->dir);
	bool same = state >= 0;

	for (size_t i = 0; i < p->files.n && same; i++)
		same = has_content(state, p->files.v[i]);
	if (state < 0)
		return false;
	if (!same) {
		(void)close(state);
		return false;
	}
	return count_files(state, DEPTH_MAX, p->files.n) == p->files.n;
}

/* --- a new state ---------------------------------------------------------------------------- */

/* "..2026_01_31_12_00_00.123456789" */
static int make_state(struct writer *w, int64_t wall_ns, struct error *err)
{
	char text[TIMESTAMP_SIZE];

	(void)timestamp_print(wall_ns, TIMESTAMP_SECONDS, text);
	for (char *c = text; *c; c++)
		*c = *c == 'Z' ? '\0' : (*c >= '0' && *c <= '9') ? *c : '_';
	(void)snprintf(w->name, sizeof(w->name), "..%s.%llu", text,
		       (unsigned long long)random_below(10000000000));
	if (mkdirat(w->dir, w->name, 0755) < 0)
		return error_set_errno(err, ERR_IO, errno, "mkdir %s", w->name);
	w->state = openat(w->dir, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->state < 0 || fchmod(w->state, 0755) < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", w->name);
	volume_dir_own(w->dir, w->name, w->owner);
	return 0;
}

/* Returns 0 also if it exists already. */
static int make_parent(struct writer *w, const char *path, struct error *err)
{
	if (mkdirat(w->state, path, 0755) < 0)
		return errno == EEXIST ? 0 : error_set_errno(err, ERR_IO, errno, "mkdir %s", path);
	BEST_EFFORT(fchmodat(w->state, path, 0755, 0));
	volume_dir_own(w->state, path, w->owner);
	return 0;
}

static int make_parents(struct writer *w, const struct volume_file *f, struct error *err)
{
	CLEANUP(free) char *path = str_dup(f->path);
	int r = 0;

	for (char *p = strchr(path, '/'); p && r == 0; p = strchr(p + 1, '/')) {
		*p = '\0';
		r = make_parent(w, path, err);
		*p = '/';
	}
	return r;
}

static int writer_write_all(int fd, struct str data)
{
	while (data.n > 0) {
		ssize_t n = write(fd, data.p, data.n);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data = str_skip(data, (size_t)n);
	}
	return 0;
}

static int write_file(struct writer *w, const struct volume_file *f, struct error *err)
{
	int fd, e, r;

	r = make_parents(w, f, err);
	if (r < 0)
		return r;
	fd = openat(w->state, f->path.p, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "create %.*s", STR_ARG(f->path));
	e = -writer_write_all(fd, f->data);
	if (e == 0 && fchmod(fd, f->mode & 07777) < 0)
		e = errno;
	if (e == 0 && f->user >= 0 && fchown(fd, (uid_t)f->user, (gid_t)-1) < 0)
		e = errno;
	if (close(fd) < 0 && e == 0)
		e = errno;
	if (e != 0)
		return error_set_errno(err, ERR_IO, e, "write %.*s", STR_ARG(f->path));
	volume_dir_own(w->state, f->path.p, w->owner);
	return 0;
}

static int write_state(struct writer *w, int64_t wall_ns, struct error *err)
{
	int r = make_state(w, wall_ns, err);

	for (size_t i = 0; i < w->payload->files.n && r == 0; i++)
		r = write_file(w, w->payload->files.v[i], err);
	return r;
}

static int swap(struct writer *w, struct error *err)
{
	(void)unlinkat(w->dir, DATA_NEW, 0);
	if (symlinkat(w->name, w->dir, DATA_NEW) < 0)
		return error_set_errno(err, ERR_IO, errno, "symlink " DATA_NEW);
	volume_dir_own(w->dir, DATA_NEW, w->owner);
	if (renameat(w->dir, DATA_NEW, w->dir, DATA) < 0)
		return error_set_errno(err, ERR_IO, errno, "rename " DATA);
	return 0;
}

/* --- names in the volume -------------------------------------------------------------------- */

static struct str first_part(struct str path)
{
	struct str part = path;

	(void)str_split(&path, '/', &part);
	return part;
}

static void gather_names(struct writer *w)
{
	const struct volume_payload *p = w->payload;

	map_init(&w->names);
	for (size_t i = 0; i < p->files.n; i++)
		(void)map_put(&w->names, first_part(p->files.v[i]->path), p->files.v[i]);
}

/* Creates the visible links. A folder of that name (a mount point of another volume) stays. */
static int link_names(struct writer *w, struct error *err)
{
	char name[NAME_MAX + 1], target[NAME_MAX + sizeof(DATA) + 1];
	size_t at = 0;
	struct str part;
	void *file;

	while (map_next(&w->names, &at, &part, &file)) {
		(void)snprintf(name, sizeof(name), "%.*s", STR_ARG(part));
		(void)snprintf(target, sizeof(target), DATA "/%s", name);
		if (symlinkat(target, w->dir, name) == 0)
			volume_dir_own(w->dir, name, w->owner);
		else if (errno != EEXIST)
			return error_set_errno(err, ERR_IO, errno, "symlink %s", name);
	}
	return 0;
}

/* Whether an entry is one of our links, so that we may remove it. */
static bool is_our_link(int dir, const char *name)
{
	char target[NAME_MAX + sizeof(DATA) + 1];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n > 0 && str_starts(str_of(target, (size_t)n), STR(DATA "/"));
}

static void tidy_entry(struct writer *w, const char *name)
{
	bool ours = strncmp(name, "..", 2) == 0;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	if (ours && strcmp(name, DATA) != 0 && strcmp(name, w->name) != 0)
		(void)volume_dir_remove_at(w->dir, name, NULL);
	else if (!ours && is_our_link(w->dir, name) && !map_get(&w->names, str_from(name)))
		(void)unlinkat(w->dir, name, 0);
}

/* Removes old states and names. Entries that cannot be removed are left for the next time. */
static void tidy(struct writer *w)
{
	int fd = openat(w->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)))
		tidy_entry(w, e->d_name);
	(void)closedir(d);
}

static int renew(struct writer *w, int64_t wall_ns, struct error *err)
{
	int r;

	r = write_state(w, wall_ns, err);
	if (r == 0)
		r = swap(w, err);
	if (r < 0) {
		if (w->name[0])
			(void)volume_dir_remove_at(w->dir, w->name, NULL);
		return r;
	}
	return 0;
}

int volume_writer_write(const char *dir, const struct volume_payload *p,
			const struct volume_owner *owner, int64_t wall_ns, bool *ret_changed,
			struct error *err)
{
	struct writer w = { .state = -1, .payload = p, .owner = owner };
	bool current;
	int r = 0;

	w.dir = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w.dir < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", dir);
	gather_names(&w);
	current = is_current(&w);
	if (!current)
		r = renew(&w, wall_ns, err);
	if (r == 0)
		r = link_names(&w, err);
	if (r == 0 && !current)
		tidy(&w);
	if (w.state >= 0)
		(void)close(w.state);
	(void)close(w.dir);
	map_release(&w.names);
	if (ret_changed)
		*ret_changed = r == 0 && !current;
	return r;
}

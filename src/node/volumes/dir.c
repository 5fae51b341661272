/*
 * Trees are removed without recursion and with three descriptors: a folder that is not empty is
 * moved up beside its parent, so any depth, which a container chooses, costs nothing extra. rmdir()
 * returns EBUSY for mount points, so nothing mounted is ever entered.
 */
#include "node/volumes/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/system/file.h"
#include "node/node_limits.h"

/* --- creating ------------------------------------------------------------------------------- */

static int make_one(const char *path, unsigned mode, struct error *err)
{
	struct stat st;

	if (mkdir(path, mode) == 0) {
		(void)chmod(path, mode);
		return 0;
	}
	if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return error_set_errno(err, ERR_IO, errno, "mkdir %s", path);
}

int volume_dir_make(const char *path, unsigned mode, struct error *err)
{
	CLEANUP(free) char *copy = xstrdup(path);
	int r;

	for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		r = make_one(copy, mode, err);
		*p = '/';
		if (r < 0)
			return r;
	}
	return make_one(path, mode, err);
}

/* --- removing ------------------------------------------------------------------------------- */

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d;

	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (!d)
		(void)close(fd);
	return d;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Returns 1 for a folder that is not empty, 0 if it is gone. */
static int remove_entry(int at, const char *name, struct error *err)
{
	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return error_set_errno(err, ERR_IO, errno, "remove %s", name);
	if (unlinkat(at, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return 1;
	return error_set_errno(err, ERR_IO, errno, "remove %s", name);
}

/* Moves a folder up, under a name that cannot be guessed. */
static int move_up(int from, const char *name, int top, struct error *err)
{
	char to[32];

	(void)snprintf(to, sizeof(to), "..rm-%016llx", (unsigned long long)random_u64());
	if (renameat(from, name, top, to) < 0)
		return error_set_errno(err, ERR_IO, errno, "remove %s", name);
	return 0;
}

/* Empties folder `name` of `top` by removing its entries, or moving them up to `top`. */
static int empty_into(int top, const char *name, unsigned *budget, struct error *err)
{
	DIR *d = open_dir(top, name);
	const struct dirent *e;
	int r = 0;

	if (!d)
		return error_set_errno(err, ERR_IO, errno, "open %s", name);
	while (r >= 0 && *budget > 0 && (e = readdir(d))) {
		if (is_dots(e->d_name))
			continue;
		--*budget;
		r = remove_entry(dirfd(d), e->d_name, err);
		if (r == 1)
			r = move_up(dirfd(d), e->d_name, top, err);
	}
	(void)closedir(d);
	return r < 0 ? r : 0;
}

/* One pass over `top`. Returns 1 if there were folders, or the budget is spent: call it again. */
static int empty_some(DIR *top, unsigned *budget, struct error *err)
{
	const struct dirent *e;
	bool more = false;
	int r = 0;

	while (r >= 0 && (e = readdir(top))) {
		if (is_dots(e->d_name))
			continue;
		if (*budget == 0)
			return 1;
		--*budget;
		r = remove_entry(dirfd(top), e->d_name, err);
		if (r != 1)
			continue;
		more = true;
		r = empty_into(dirfd(top), e->d_name, budget, err);
	}
	return r < 0 ? r : more;
}

int volume_dir_remove_some(int dir, const char *name, unsigned budget, struct error *err)
{
	DIR *top;
	int r;

	r = remove_entry(dir, name, err);
	if (r <= 0)
		return r;
	top = open_dir(dir, name);
	if (!top)
		return error_set_errno(err, ERR_IO, errno, "open %s", name);
	r = empty_some(top, &budget, err);
	(void)closedir(top);
	if (r != 0)
		return r;
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_set_errno(err, ERR_IO, errno, "remove %s", name);
	return 0;
}

int volume_dir_remove_at(int dir, const char *name, struct error *err)
{
	int r;

	do
		r = volume_dir_remove_some(dir, name, UINT_MAX, err);
	while (r > 0);
	return r;
}

int volume_dir_remove(const char *path, struct error *err)
{
	int r = volume_dir_remove_at(AT_FDCWD, path, err);

	return r < 0 ? error_wrap(err, r, "remove %s", path) : 0;
}

/* --- mounting ------------------------------------------------------------------------------- */

bool volume_dir_is_mount(const char *path)
{
	CLEANUP(free) char *parent = NULL;
	struct stat st, above;

	if (lstat(path, &st) < 0)
		return false;
	parent = xmalloc(strlen(path) + 4);
	(void)snprintf(parent, strlen(path) + 4, "%s/..", path);
	if (S_ISDIR(st.st_mode) && stat(parent, &above) == 0)
		return st.st_dev != above.st_dev || st.st_ino == above.st_ino;
	return false;
}

int volume_dir_mount_tmpfs(const char *path, int64_t size, struct error *err)
{
	char options[64], with_noswap[80];

	if (volume_dir_is_mount(path))
		return 0;
	options[0] = '\0';
	if (size > 0)
		(void)snprintf(options, sizeof(options), "size=%lld", (long long)size);
	(void)snprintf(with_noswap, sizeof(with_noswap), "%s%snoswap", options,
		       size > 0 ? "," : "");
	if (mount("tmpfs", path, "tmpfs", 0, with_noswap) == 0)
		return 0;
	if (errno == EINVAL && mount("tmpfs", path, "tmpfs", 0, options) == 0)
		return 0;
	return error_set_errno(err, ERR_IO, errno, "mount a tmpfs at %s", path);
}

int volume_dir_bind(int fd, const char *target, struct error *err)
{
	char from[64];

	(void)snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (mount(from, target, NULL, MS_BIND, NULL) < 0)
		return error_set_errno(err, ERR_IO, errno, "mount at %s", target);
	return 0;
}

/* Paths in mountinfo have spaces and the like as \ooo. Works in place; returns the length. */
static size_t dir_unescape(char *s, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n; out++) {
		if (s[i] == '\\' && i + 3 < n) {
			s[out] = (char)((s[i + 1] - '0') * 64 + (s[i + 2] - '0') * 8 +
					(s[i + 3] - '0'));
			i += 4;
		} else {
			s[out] = s[i++];
		}
	}
	return out;
}

/* The fifth word of a line is the mount point. */
static struct str mount_point(struct str line)
{
	struct str word = STR_NULL;

	for (int i = 0; i < 5; i++) {
		if (!str_split(&line, ' ', &word))
			return STR_NULL;
	}
	return word;
}

static bool is_at_or_below(struct str path, struct str base)
{
	return str_starts(path, base) && (path.n == base.n || path.p[base.n] == '/');
}

static int unmount_one(struct str at, struct error *err)
{
	CLEANUP(free) char *path = str_dup(at);

	path[dir_unescape(path, at.n)] = '\0';
	if (umount2(path, UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT)
		return 0;
	if (errno == EBUSY && umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) == 0)
		return 0;
	return error_set_errno(err, ERR_IO, errno, "unmount %s", path);
}

int volume_dir_unmount_below(const char *path, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MOUNTINFO_MAX);
	VEC(struct str) found;
	struct str rest, line;
	int r;

	r = file_read("/proc/self/mountinfo", &text, err);
	if (r < 0)
		return r;
	vec_init(&found, MOUNTINFO_MAX);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		struct str at = mount_point(line);
		CLEANUP(free) char *plain = str_dup(at);

		if (is_at_or_below(str_of(plain, dir_unescape(plain, at.n)), str_from(path)))
			(void)vec_push(&found, at);
	}
	/* Mounts on top of others come later in the list. */
	while (r == 0 && found.n > 0)
		r = unmount_one(found.v[--found.n], err);
	vec_release(&found);
	return r;
}

/* --- ownership ------------------------------------------------------------------------------ */

void volume_dir_own(int dir, const char *name, const struct volume_owner *o)
{
	mode_t more = o->readonly ? 0440 : 0660;
	struct stat st;

	if (o->group < 0)
		return;
	BEST_EFFORT(fchownat(dir, name, (uid_t)-1, (gid_t)o->group, AT_SYMLINK_NOFOLLOW));
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
		return;
	if (S_ISDIR(st.st_mode))
		more |= S_ISGID | 0110;
	BEST_EFFORT(fchmodat(dir, name, (st.st_mode & 07777) | more, 0));
}

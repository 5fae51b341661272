/*
 * The kernel can resolve a path beneath a folder (openat2), but not create missing parts on the
 * way. So we walk one name at a time, never through a link. Passed folders are a stack of
 * descriptors. ".." in a link's target pops one; a link's target is put in front of the rest of the
 * path. No step uses a name twice, so nobody can change it between check and use.
 */
#include "node/volumes/subpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "node/node_limits.h"

struct walk {
	int fds[SUBPATH_DEPTH_MAX]; /* [0]: the base */
	size_t n;
	char *rest; /* the rest of the path */
	unsigned links; /* followed */
	unsigned mode; /* for created folders */
};

const char *volume_subpath_fault(struct str path)
{
	struct str part;

	while (str_split(&path, '/', &part)) {
		if (str_eqz(part, ".."))
			return "must not contain '..'";
	}
	return NULL;
}

static int leads_out(struct error *err)
{
	return error_set(err, ERR_FORBIDDEN, "subpath leads out of its volume");
}

static int subpath_push(struct walk *w, int fd, struct error *err)
{
	if (w->n == SUBPATH_DEPTH_MAX) {
		(void)close(fd);
		return error_set(err, ERR_TOO_LARGE, "subpath has more than %d folders",
				 SUBPATH_DEPTH_MAX);
	}
	w->fds[w->n++] = fd;
	return 0;
}

/* Puts the link's target in front of the rest. */
static int subpath_follow(struct walk *w, int link, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	size_t size;
	char *joined;

	if (n <= 0)
		return error_set_errno(err, ERR_IO, n < 0 ? errno : ENOENT, "read a link");
	target[n] = '\0';
	if (target[0] == '/')
		return leads_out(err);
	if (++w->links > SUBPATH_LINKS_MAX)
		return error_set(err, ERR_FORBIDDEN, "too many links");
	size = (size_t)n + strlen(w->rest) + 2;
	joined = xmalloc(size);
	(void)snprintf(joined, size, "%s/%s", target, w->rest);
	free(w->rest);
	w->rest = joined;
	return 0;
}

static int open_name(struct walk *w, const char *name, struct error *err)
{
	int at = w->fds[w->n - 1];
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno != ENOENT || (mkdirat(at, name, w->mode) < 0 && errno != EEXIST))
		return error_set_errno(err, ERR_IO, errno, "open %s", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", name);
	(void)fchmod(fd, w->mode);
	return fd;
}

static int subpath_step(struct walk *w, const char *name, struct error *err)
{
	struct stat st;
	int fd, r;

	if (strcmp(name, "") == 0 || strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		if (w->n == 1)
			return leads_out(err);
		(void)close(w->fds[--w->n]);
		return 0;
	}
	fd = open_name(w, name, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
		return subpath_push(w, fd, err);
	r = subpath_follow(w, fd, err);
	(void)close(fd);
	return r;
}

/* Removes the first name from the rest. */
static char *next_name(struct walk *w)
{
	char *slash = strchr(w->rest, '/'), *name, *rest;

	if (!slash) {
		name = w->rest;
		w->rest = xstrdup("");
		return name;
	}
	name = xstrndup(w->rest, (size_t)(slash - w->rest));
	rest = xstrdup(slash + 1);
	free(w->rest);
	w->rest = rest;
	return name;
}

static int walk_all(struct walk *w, struct error *err)
{
	int r = 0;

	while (r == 0 && w->rest[0]) {
		CLEANUP(free) char *name = next_name(w);

		r = subpath_step(w, name, err);
	}
	return r;
}

int volume_subpath_open(const char *base, struct str path, unsigned mode, int *ret_fd,
			struct error *err)
{
	struct walk w = { .n = 1, .mode = mode };
	int r;

	if (path.n > 0 && (path.p[0] == '/' || memchr(path.p, '\0', path.n)))
		return leads_out(err);
	w.fds[0] = open(base, O_PATH | O_CLOEXEC);
	if (w.fds[0] < 0)
		return error_set_errno(err, ERR_IO, errno, "open %s", base);
	w.rest = str_dup(path);
	r = walk_all(&w, err);
	free(w.rest);
	if (r == 0)
		*ret_fd = w.fds[--w.n];
	while (w.n > 0)
		(void)close(w.fds[--w.n]);
	return r;
}

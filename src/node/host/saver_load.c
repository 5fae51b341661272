/*
 * Reads a state file: checked, or set aside. A broken file is evidence, so it is kept under another
 * name, a few of them at most. Half-written files that a crash left beside it are removed.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "node/host/saver.h"
#include "node/host/saver_header.h"
#include "node/node_limits.h"

enum { TEMPORARY_SUFFIX = 7 }; /* ".XXXXXX" of file_write_atomic() */

static int set_aside(const char *path, struct error *failure)
{
	char to[PATH_MAX + 16];
	struct error why = *failure;
	struct stat st;

	/* FILE.broken, FILE.broken.1, ..; if all names are taken, the last one is replaced. */
	(void)snprintf(to, sizeof(to), "%s.broken", path);
	for (int i = 1; i < STATE_BROKEN_MAX && lstat(to, &st) == 0; i++)
		(void)snprintf(to, sizeof(to), "%s.broken.%d", path, i);
	if (rename(path, to) < 0)
		return error_set_errno(failure, ERR_IO, errno,
				       "%s cannot be used (%.200s) nor renamed", path, why.msg);
	return error_set(failure, ERR_CONFLICT, "%s cannot be used and is now %s: %.200s", path, to,
			 why.msg);
}

static bool is_temporary(const char *name, struct str base)
{
	struct str s = str_from(name), rest;

	if (s.n != base.n + TEMPORARY_SUFFIX || !str_starts(s, base) || s.p[base.n] != '.')
		return false;
	rest = str_skip(s, base.n + 1);
	return !str_eqz(rest, "broken") && str_chr(rest, '.') < 0;
}

static void remove_temporary(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct str base = str_from(slash ? slash + 1 : path);
	char folder[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	struct dirent *e;
	DIR *d;

	(void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 2,
		       slash ? path : "./");
	d = opendir(folder);
	if (!d)
		return;
	while ((e = readdir(d))) {
		if (!is_temporary(e->d_name, base))
			continue;
		(void)snprintf(file, sizeof(file), "%s%s", folder, e->d_name);
		(void)unlink(file);
	}
	(void)closedir(d);
}

int saver_load(const char *path, const char *kind, unsigned version, struct buf *body,
	       struct error *err)
{
	CLEANUP(buf_release) struct buf content = BUF_INIT(STATE_FILE_MAX);
	struct error own;
	struct str found;
	int r;

	if (!err)
		err = &own;
	remove_temporary(path);
	r = file_read(path, &content, err);
	if (r == -ERR_NOT_FOUND)
		return 0;
	if (r == -ERR_IO)
		return r;
	if (r == 0)
		r = saver_header_check(buf_str(&content), kind, version, &found, err);
	if (r < 0)
		return set_aside(path, err);
	if (buf_add_str(body, found) < 0)
		return error_set(err, ERR_IO, "%s has more than %zu bytes", path, body->max);
	return 1;
}

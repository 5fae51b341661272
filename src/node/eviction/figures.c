/*
 * Reading takes microseconds, so it runs on the loop; except for the usage of folders, whose
 * callers limit the number of files.
 */
#include "node/eviction/figures.h"

#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/core/limits.h"
#include "base/system/file.h"

/* --- memory ------------------------------------------------------------------------- */

/* "MemTotal:       16308308 kB" */
static bool meminfo_value(struct str text, struct str name, int64_t *ret_bytes)
{
	struct str line, number;
	int64_t kib;

	while (str_split(&text, '\n', &line)) {
		if (!str_starts(line, name))
			continue;
		line = str_trim(str_skip(line, name.n));
		if (!str_ends(line, STR("kB")))
			return false;
		number = str_trim(str_of(line.p, line.n - 2));
		if (!str_to_i64(number, &kib) || kib < 0 || kib > INT64_MAX / 1024)
			return false;
		*ret_bytes = kib * 1024;
		return true;
	}
	return false;
}

bool eviction_figures_memory(struct str meminfo, struct eviction_figure *ret_figure)
{
	struct eviction_figure f = { .known = true };

	if (!meminfo_value(meminfo, STR("MemTotal:"), &f.capacity) ||
	    !meminfo_value(meminfo, STR("MemAvailable:"), &f.available))
		return false;
	*ret_figure = f;
	return true;
}

static void figures_memory(const char *procfs, struct eviction_figure *ret_figure)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/meminfo", procfs);

	if (n > 0 && (size_t)n < sizeof(path) && file_read(path, &text, NULL) == 0)
		(void)eviction_figures_memory(buf_str(&text), ret_figure);
}

/* --- file systems ------------------------------------------------------------------- */

static int64_t fs_bytes(unsigned long blocks, unsigned long size)
{
	return size > 0 && blocks > (unsigned long)INT64_MAX / size ? INT64_MAX
								    : (int64_t)(blocks * size);
}

static void figures_fs(const char *folder, struct eviction_figure *ret_bytes,
		       struct eviction_figure *ret_inodes)
{
	struct statvfs fs;

	if (!folder || statvfs(folder, &fs) < 0)
		return;
	*ret_bytes = (struct eviction_figure){ .known = fs.f_blocks > 0,
					       .available = fs_bytes(fs.f_bavail, fs.f_frsize),
					       .capacity = fs_bytes(fs.f_blocks, fs.f_frsize) };
	/* Some file systems, such as btrfs, have no fixed number of inodes. */
	*ret_inodes = (struct eviction_figure){ .known = fs.f_files > 0,
						.available = (int64_t)fs.f_favail,
						.capacity = (int64_t)fs.f_files };
}

void eviction_figures_read(const struct eviction_machine *m, struct eviction_figure *ret_figures)
{
	memset(ret_figures, 0, EVICTION_SIGNALS * sizeof(ret_figures[0]));
	if (m->procfs)
		figures_memory(m->procfs, &ret_figures[EVICTION_MEMORY]);
	figures_fs(m->nodefs, &ret_figures[EVICTION_NODEFS], &ret_figures[EVICTION_NODEFS_INODES]);
	figures_fs(m->imagefs, &ret_figures[EVICTION_IMAGEFS],
		   &ret_figures[EVICTION_IMAGEFS_INODES]);
}

bool eviction_figures_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev;
}

void eviction_figures_usage(const char *folder, size_t *left, int64_t *bytes, int64_t *inodes)
{
	char path[4096];
	char *paths[] = { path, NULL };
	FTSENT *e;
	FTS *f;

	(void)snprintf(path, sizeof(path), "%s", folder);
	f = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	if (!f)
		return;
	/* The walk goes on without counting: fts_close() leaks if it ends early. */
	while ((e = fts_read(f))) {
		if (*left == 0) {
			(void)fts_set(f, e, FTS_SKIP);
			continue;
		}
		if (e->fts_info == FTS_DP || e->fts_info == FTS_NS || e->fts_info == FTS_ERR)
			continue;
		--*left;
		*bytes += e->fts_statp->st_blocks * 512;
		++*inodes;
	}
	(void)fts_close(f);
}

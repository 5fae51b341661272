/*
 * In a container the cgroup's path may not exist below the mount, which shows the container's own
 * cgroup as its root. So files that are missing are skipped, and the root is read as well.
 */
#include "base/system/cpus.h"

#include <sched.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/limits.h"
#include "base/system/file.h"

size_t cpus_quota(struct str text)
{
	struct str period = str_trim_space(text), quota;
	uint64_t used, of;

	if (!str_split(&period, ' ', &quota) || !str_to_u64(quota, &used) ||
	    !str_to_u64(period, &of) || !used || !of)
		return 0;
	return (size_t)(used / of + (used % of != 0));
}

struct str cpus_cgroup(struct str text)
{
	static const struct str v2 = STR("0::");
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (str_starts(line, v2))
			return str_skip(line, v2.n);
	}
	return STR_NULL;
}

/* The quota in a folder; 0: none, or no such folder. */
static size_t folder_quota(const char *root, struct str cgroup)
{
	struct buf text = BUF_INIT(KIB), path = BUF_INIT(KIB);
	size_t n = 0;

	if (buf_printf(&path, "%s%.*s/cpu.max", root, (int)cgroup.n, cgroup.p ? cgroup.p : "") ==
		    0 &&
	    file_read(path.p, &text, NULL) == 0)
		n = cpus_quota(buf_str(&text));
	buf_release(&text);
	buf_release(&path);
	return n;
}

size_t cpus_limit(const char *root, struct str cgroup)
{
	size_t least = 0, n;

	for (;;) {
		while (cgroup.n && cgroup.p[cgroup.n - 1] == '/')
			cgroup.n--;
		n = folder_quota(root, cgroup);
		if (n && (!least || n < least))
			least = n;
		if (!cgroup.n)
			return least;
		while (cgroup.n && cgroup.p[cgroup.n - 1] != '/')
			cgroup.n--;
	}
}

static size_t affinity(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return (size_t)CPU_COUNT(&set);
	/* The kernel knows more CPUs than fit into the set. */
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (size_t)online : 1;
}

size_t cpus_usable(void)
{
	struct buf text = BUF_INIT(64 * KIB);
	size_t n = affinity(), limit = 0;

	if (file_read("/proc/self/cgroup", &text, NULL) == 0)
		limit = cpus_limit("/sys/fs/cgroup", cpus_cgroup(buf_str(&text)));
	buf_release(&text);
	return limit && limit < n ? limit : n;
}

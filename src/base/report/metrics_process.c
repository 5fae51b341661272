/*
 * Every figure is a callback that reads its file again: a scrape comes every few seconds at most,
 * and there is no state to keep or to become stale.
 */
#include "base/report/metrics_process.h"

#include <dirent.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "base/system/file.h"

/* Fields of /proc/PID/stat behind the command's name, counted from 0: proc(5) counts from 3. */
enum {
	STAT_UTIME = 14 - 3,
	STAT_STIME = 15 - 3,
	STAT_START = 22 - 3,
	STAT_VSIZE = 23 - 3,
	STAT_RSS = 24 - 3,
};

static bool stat_field(struct str fields, size_t index, uint64_t *ret_value)
{
	struct str field;

	for (size_t i = 0; i <= index; i++)
		if (!str_split(&fields, ' ', &field))
			return false;
	return str_to_u64(field, ret_value);
}

bool metrics_process_parse(struct str text, struct metrics_process_stat *ret_stat)
{
	/* The name may hold spaces and parentheses; the last one ends it. */
	const char *end = text.n ? memrchr(text.p, ')', text.n) : NULL;
	struct str fields = end ? str_skip(text, (size_t)(end - text.p) + 2) : STR_NULL;
	struct metrics_process_stat stat;
	uint64_t user, system;

	if (!stat_field(fields, STAT_UTIME, &user) || !stat_field(fields, STAT_STIME, &system) ||
	    !stat_field(fields, STAT_START, &stat.start_ticks) ||
	    !stat_field(fields, STAT_VSIZE, &stat.virtual_bytes) ||
	    !stat_field(fields, STAT_RSS, &stat.resident_pages))
		return false;
	stat.cpu_ticks = user + system;
	*ret_stat = stat;
	return true;
}

static bool read_stat(struct metrics_process_stat *ret_stat)
{
	struct buf text = BUF_INIT(64 * KIB);
	bool ok = file_read("/proc/self/stat", &text, NULL) == 0 &&
		  metrics_process_parse(buf_str(&text), ret_stat);

	buf_release(&text);
	return ok;
}

static double cpu_seconds(void *ctx UNUSED)
{
	struct metrics_process_stat stat;

	return read_stat(&stat) ? (double)stat.cpu_ticks / (double)sysconf(_SC_CLK_TCK) : NAN;
}

static double resident_bytes(void *ctx UNUSED)
{
	struct metrics_process_stat stat;

	return read_stat(&stat) ? (double)stat.resident_pages * (double)sysconf(_SC_PAGESIZE) : NAN;
}

static double virtual_bytes(void *ctx UNUSED)
{
	struct metrics_process_stat stat;

	return read_stat(&stat) ? (double)stat.virtual_bytes : NAN;
}

/* The machine's boot time in seconds since 1970; 0 if /proc/stat does not have it. */
static uint64_t boot_time(void)
{
	struct buf text = BUF_INIT(4 * MIB); /* it has a line per processor and per interrupt */
	uint64_t seconds = 0;
	struct str rest, line;

	if (file_read("/proc/stat", &text, NULL) == 0) {
		rest = buf_str(&text);
		while (str_split(&rest, '\n', &line))
			if (str_starts(line, STR("btime ")))
				(void)str_to_u64(str_skip(line, strlen("btime ")), &seconds);
	}
	buf_release(&text);
	return seconds;
}

static double start_seconds(void *ctx UNUSED)
{
	struct metrics_process_stat stat;
	uint64_t boot = boot_time();

	if (boot == 0 || !read_stat(&stat))
		return NAN;
	return (double)boot + (double)stat.start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static double open_fds(void *ctx UNUSED)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int n = 0;

	if (!dir)
		return NAN;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	(void)closedir(dir);
	return n - 1; /* the directory itself was open */
}

static double max_fds(void *ctx UNUSED)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (double)limit.rlim_cur : NAN;
}

struct figure {
	struct metrics_spec spec;
	double (*read)(void *ctx);
};

static const struct figure figures[] = {
	{ .spec = { .name = "process_cpu_seconds_total",
		    .help = "CPU time used by user and system code, in seconds.",
		    .type = METRICS_COUNTER },
	  .read = cpu_seconds },
	{ .spec = { .name = "process_open_fds",
		    .help = "Open file descriptors.",
		    .type = METRICS_GAUGE },
	  .read = open_fds },
	{ .spec = { .name = "process_max_fds",
		    .help = "Maximum number of open file descriptors.",
		    .type = METRICS_GAUGE },
	  .read = max_fds },
	{ .spec = { .name = "process_resident_memory_bytes",
		    .help = "Memory held in RAM, in bytes.",
		    .type = METRICS_GAUGE },
	  .read = resident_bytes },
	{ .spec = { .name = "process_virtual_memory_bytes",
		    .help = "Address space in use, in bytes.",
		    .type = METRICS_GAUGE },
	  .read = virtual_bytes },
	{ .spec = { .name = "process_start_time_seconds",
		    .help = "Start time of the process, in seconds since 1970.",
		    .type = METRICS_GAUGE },
	  .read = start_seconds },
};

int metrics_process_register(struct metrics *m, struct error *err)
{
	struct metrics_family *family;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		r = metrics_register(m, &figures[i].spec, &family, err);
		if (r < 0)
			return r;
		metrics_callback(family, figures[i].read, NULL);
	}
	return 0;
}

/*
 * Both checks take microseconds, so they run on the loop.
 */
#include "node/registration/pressure.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "base/core/limits.h"
#include "base/system/file.h"

enum { STAYS_MS = 5 * 60 * 1000 };

#define MEMORY_LOW (100 * MIB)

/* Bytes; -1: unknown. */
static int64_t available_memory(const char *procfs)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	char path[4096];
	ptrdiff_t at;
	struct str rest, line;
	int64_t kib;

	(void)snprintf(path, sizeof(path), "%s/meminfo", procfs);
	if (file_read(path, &text, NULL) < 0)
		return -1;
	at = str_find(buf_str(&text), STR("MemAvailable:"));
	if (at < 0)
		return -1;
	rest = str_skip(buf_str(&text), (size_t)at + 13);
	(void)str_split(&rest, 'k', &line);
	return str_to_i64(str_trim(line), &kib) ? kib * (int64_t)KIB : -1;
}

static bool pressure_note(bool low, int64_t *seen_at, bool before, int64_t now_ms)
{
	if (low)
		*seen_at = now_ms;
	return low || (before && now_ms - *seen_at < STAYS_MS);
}

void node_pressure_look(struct node_pressure *p, const char *procfs, const char *dir,
			int64_t now_ms)
{
	int64_t memory = procfs ? available_memory(procfs) : -1;
	bool memory_low = memory >= 0 && memory < (int64_t)MEMORY_LOW, disk_low = false;
	struct statvfs fs;

	if (dir && statvfs(dir, &fs) == 0) {
		p->storage_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
		disk_low = fs.f_bavail < fs.f_blocks / 10 ||
			   (fs.f_files > 0 && fs.f_favail < fs.f_files / 20);
	}
	p->memory = pressure_note(memory_low, &p->memory_at, p->memory, now_ms);
	p->disk = pressure_note(disk_low, &p->disk_at, p->disk, now_ms);
}

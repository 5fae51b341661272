/*
 * disk_stat - parses the kernel's counters of block devices.
 *
 *	/proc/diskstats                          a line per device: major, minor, name, counters
 *	io.stat                                  cgroup v2: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 .."
 *	blkio.throttle.io_service_bytes          cgroup v1: "8:0 Read 1", "8:0 Write 2", ..
 *
 * Unknown lines are skipped, since kernels add columns and kinds of lines. No I/O.
 */
#ifndef DRIVERS_DISK_STAT_H
#define DRIVERS_DISK_STAT_H

#include "base/core/str.h"

enum {
	DISK_NAME_SIZE = 64, /* with the NUL; the kernel's names have at most 31 bytes */
	DISK_UID_SIZE = 64, /* the same for a pod's UID */
	DISK_SECTOR = 512, /* the unit of diskstats in bytes, for all devices */
};

/* Whether the text is valid as a device name, safe for paths and objects. */
bool disk_name_is_fit(struct str name);

/*
 * One line of diskstats. Counters of bytes and operations have the width of the kernel's long,
 * counters of milliseconds have 32 bits; all of them wrap. Columns that the kernel lacks (discards
 * before 4.18, flushes before 5.5) are 0.
 */
struct disk_stat {
	uint32_t major, minor;
	char name[DISK_NAME_SIZE]; /* as in /sys/block: '!' for '/' */
	uint64_t reads, reads_merged, read_sectors, read_ms;
	uint64_t writes, writes_merged, write_sectors, write_ms;
	uint64_t in_flight; /* a gauge, not a counter */
	uint64_t busy_ms, weighted_ms;
	uint64_t discards, discards_merged, discard_sectors, discard_ms;
	uint64_t flushes, flush_ms;
};

/* Takes the next valid line from the front of *text. Returns false at the end. */
bool disk_stat_next(struct str *text, struct disk_stat *ret_stat);

/* The counters of one control group on one device. */
struct disk_group_stat {
	uint32_t major, minor;
	uint64_t read_bytes, write_bytes;
};

/* The same for the files of both versions. v1 has several lines per device; each is one result. */
bool disk_group_v2_next(struct str *text, struct disk_group_stat *ret_stat);
bool disk_group_v1_next(struct str *text, struct disk_group_stat *ret_stat);

/* Whether a folder holds pods: "kubepods", "kubepods.slice", "kubelet-kubepods.slice". */
bool disk_group_is_pods(struct str folder);

/*
 * The UID of the pod that a folder belongs to: "pod<uid>", or with systemd
 * "kubepods-burstable-pod<uid>.slice" with '_' for '-'. Returns false if it is not a pod's.
 */
bool disk_group_pod(struct str folder, char ret_uid[static DISK_UID_SIZE]);

#endif

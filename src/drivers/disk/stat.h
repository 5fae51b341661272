/*
 * disk_stat - what the kernel counts of block devices, read from its text.
 *
 *	/proc/diskstats                          a line per device: major, minor, name, counters
 *	io.stat                                  cgroup v2: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 .."
 *	blkio.throttle.io_service_bytes          cgroup v1: "8:0 Read 1", "8:0 Write 2", ..
 *
 * Lines that make no sense are passed over: kernels add columns and kinds of lines. Pure.
 */
#ifndef DRIVERS_DISK_STAT_H
#define DRIVERS_DISK_STAT_H

#include "base/core/str.h"

enum {
	DISK_NAME_SIZE = 64, /* a device's name and a NUL; the kernel's have at most 31 bytes */
	DISK_UID_SIZE = 64, /* the same of a pod's uid */
	DISK_SECTOR = 512, /* bytes of what diskstats calls a sector, whatever the device has */
};

/* Whether text can be the name of a device, which goes into paths and objects. */
bool disk_name_is_fit(struct str name);

/*
 * One line of diskstats. Counters of bytes and operations are as wide as the kernel's long,
 * those of milliseconds have 32 bits; all of them wrap. Columns that the kernel does not have
 * (discards since 4.18, flushes since 5.5) are 0.
 */
struct disk_stat {
	uint32_t major, minor;
	char name[DISK_NAME_SIZE]; /* as /sys/block writes it: '!' for '/' */
	uint64_t reads, reads_merged, read_sectors, read_ms;
	uint64_t writes, writes_merged, write_sectors, write_ms;
	uint64_t in_flight; /* a state, not a counter */
	uint64_t busy_ms, weighted_ms;
	uint64_t discards, discards_merged, discard_sectors, discard_ms;
	uint64_t flushes, flush_ms;
};

/* Takes the next line that is one off the front of *text. False at its end. */
bool disk_stat_next(struct str *text, struct disk_stat *ret_stat);

/* What one control group did on one device. */
struct disk_group_stat {
	uint32_t major, minor;
	uint64_t read_bytes, write_bytes;
};

/* The same for either version's file. Of v1 each of a device's lines is told alone. */
bool disk_group_v2_next(struct str *text, struct disk_group_stat *ret_stat);
bool disk_group_v1_next(struct str *text, struct disk_group_stat *ret_stat);

/* Whether a folder is of several pods: "kubepods", "kubepods.slice", "kubelet-kubepods.slice". */
bool disk_group_is_pods(struct str folder);

/*
 * The pod that a folder below it is of: "pod<uid>", or as systemd has it
 * "kubepods-burstable-pod<uid>.slice" with '_' for '-'. False: of none.
 */
bool disk_group_pod(struct str folder, char ret_uid[static DISK_UID_SIZE]);

#endif

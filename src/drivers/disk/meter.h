/*
 * disk_meter - computes rates of block devices, and of pods on them, from counters.
 *
 * A round consists of disk_meter_begin(), all devices, the control groups of all pods, and
 * disk_meter_end(). Rates start with the second round in which a device is seen. They are
 * exponential moving averages: after `smoothing_ns` of a new steady rate, the average has moved 63
 * % of the way.
 *
 * If a single counter decreases, and it was in the upper half of 32 bits, it has wrapped. Otherwise
 * all counters were reset (the device was replaced), and everything they count happened since the
 * last round. Devices and pods that are not seen in a round are forgotten.
 *
 * No I/O: time is a parameter.
 * Threads: one at a time.
 */
#ifndef DRIVERS_DISK_METER_H
#define DRIVERS_DISK_METER_H

#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "drivers/disk/stat.h"

/* Per second, except `busy`: the share of time with requests in progress, 0 to 1. */
struct disk_rates {
	double read_bytes, write_bytes, reads, writes, busy;
};

/* A pod's use of one device. */
struct disk_pod {
	char key[DISK_UID_SIZE + 24]; /* "MAJOR:MINOR/UID" */
	const char *uid; /* within key */
	uint64_t read_bytes, write_bytes; /* counters of the last round; new_*: of this round */
	uint64_t new_read, new_write;
	double read, write; /* bytes per second */
	bool seen, rated;
};

struct disk_device {
	struct disk_stat stat; /* of the last round */
	struct disk_rates rates;
	bool seen, rated; /* rated: seen in two rounds */
};

struct disk_meter {
	VEC(struct disk_device) devices; /* sorted by name */
	struct omap pods; /* key to struct disk_pod */
	int64_t smoothing_ns;
	int64_t before, now; /* times of the last and this round; 0: none yet */
};

void disk_meter_init(struct disk_meter *m, int64_t smoothing_ns);
void disk_meter_release(struct disk_meter *m);

/* `now` is monotonic, in ns; above 0 and later than that of the last round. */
void disk_meter_begin(struct disk_meter *m, int64_t now);
/* Devices and pods beyond DISK_DEVICES_MAX and DISK_PODS_MAX are ignored. */
void disk_meter_device(struct disk_meter *m, const struct disk_stat *s);
/* Call it after all devices. Counters of several groups of a pod are added up. */
void disk_meter_pod(struct disk_meter *m, const char *uid, const struct disk_group_stat *s);
void disk_meter_end(struct disk_meter *m);

const struct disk_device *disk_meter_find(const struct disk_meter *m, const char *name);

/* Iterates over the pods of a device, by UID. Start with a zeroed cursor; ends with NULL. */
struct disk_pod_walk {
	struct omap_cursor cursor;
	char prefix[24];
	bool begun;
};
const struct disk_pod *disk_meter_next_pod(const struct disk_meter *m, const struct disk_device *d,
					   struct disk_pod_walk *w);

#endif

/*
 * disk_meter - rates of block devices, and of pods on them, out of counters.
 *
 * A round is disk_meter_begin(), every device that is there, every control group of a pod, and
 * disk_meter_end(). Rates begin with the second round in which something is seen. What is read
 * out is a mean that forgets exponentially: after `smoothing_ns` of a new steady rate it is 63 %
 * of the way there.
 *
 * Counters that fall: one alone that was in the upper half of 32 bits has wrapped; anything
 * else means that they began anew (a device was replaced), and all that they count has happened
 * since the last round. What is not seen in a round is forgotten.
 *
 * Pure: time is a parameter. Threads: one at a time.
 */
#ifndef DRIVERS_DISK_METER_H
#define DRIVERS_DISK_METER_H

#include "base/core/omap.h"
#include "base/core/vec.h"
#include "drivers/disk/stat.h"

/* Per second, but for `busy`: share of the time with something to do, 0 to 1. */
struct disk_rates {
	double read_bytes, write_bytes, reads, writes, busy;
};

/* A pod's use of one device. */
struct disk_pod {
	char key[DISK_UID_SIZE + 24]; /* "MAJOR:MINOR/UID" */
	const char *uid; /* within key */
	uint64_t read_bytes, write_bytes; /* counted: as of the last round, and in this one */
	uint64_t new_read, new_write;
	double read, write; /* bytes per second */
	bool seen, rated;
};

struct disk_device {
	struct disk_stat stat; /* as of the last round */
	struct disk_rates rates;
	bool seen, rated; /* rated: it has had two rounds */
};

struct disk_meter {
	VEC(struct disk_device) devices; /* by name */
	struct omap pods; /* key to struct disk_pod */
	int64_t smoothing_ns;
	int64_t before, now; /* of the last round and of this one; 0: none yet */
};

void disk_meter_init(struct disk_meter *m, int64_t smoothing_ns);
void disk_meter_release(struct disk_meter *m);

/* `now`: monotonic ns, more than 0 and later than the last. */
void disk_meter_begin(struct disk_meter *m, int64_t now);
/* Beyond the limits (DISK_DEVICES_MAX, DISK_PODS_MAX) they are passed over. */
void disk_meter_device(struct disk_meter *m, const struct disk_stat *s);
/* What groups of the same pod did on a device adds up. After the devices. */
void disk_meter_pod(struct disk_meter *m, const char *uid, const struct disk_group_stat *s);
void disk_meter_end(struct disk_meter *m);

const struct disk_device *disk_meter_find(const struct disk_meter *m, const char *name);

/* The pods of a device, by uid: start with *c zeroed, until NULL. */
struct disk_pod_walk {
	struct omap_cursor cursor;
	char prefix[24];
	bool begun;
};
const struct disk_pod *disk_meter_next_pod(const struct disk_meter *m, const struct disk_device *d,
					   struct disk_pod_walk *w);

#endif

/*
 * Any bytes as what the kernel counts of disks and of control groups, as the user's capacity of a
 * disk, as a group's name and as the file of probes; and any series of counters as rates.
 */
#include <math.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "drivers/disk/book.h"
#include "drivers/disk/meter.h"
#include "drivers/disk/spec.h"
#include "target.h"

static void check_rate(double v)
{
	require(isfinite(v) && v >= 0);
}

/* Each line is a round of its own, so that counters rise and fall as they like. */
static void measure(struct str text, struct str groups)
{
	struct disk_group_stat g;
	struct disk_meter m;
	struct disk_stat s;
	int64_t now = 1;

	disk_meter_init(&m, CLOCK_SEC);
	while (disk_stat_next(&text, &s)) {
		require(s.name[0] && strlen(s.name) < DISK_NAME_SIZE && !strchr(s.name, '/'));
		disk_meter_begin(&m, now);
		disk_meter_device(&m, &s);
		if (disk_group_v2_next(&groups, &g) || disk_group_v1_next(&groups, &g))
			disk_meter_pod(&m, "u", &g);
		disk_meter_end(&m);
		now += CLOCK_SEC;
		check_rate(m.devices.v[0].rates.read_bytes);
		check_rate(m.devices.v[0].rates.writes);
		require(m.devices.v[0].rates.busy <= 1);
	}
	disk_meter_release(&m);
}

static void read_book(struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB), again = BUF_INIT(MIB);
	struct disk_book b;
	struct error err = { 0 };

	disk_book_init(&b);
	if (disk_book_parse(&b, text, &err) < 0) {
		require(err.msg[0]);
	} else {
		disk_book_print(&b, &out);
		require(disk_book_parse(&b, buf_str(&out), &err) == 0);
		disk_book_print(&b, &again);
		require(str_eq(buf_str(&out), buf_str(&again)));
	}
	disk_book_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = str_of(data, size), rest = text;
	struct disk_group_stat g;
	struct disk_capacity c;
	struct error err = { 0 };
	char uid[DISK_UID_SIZE];

	measure(text, text);
	while (disk_group_v1_next(&rest, &g))
		require(g.read_bytes == 0 || g.write_bytes == 0);
	if (disk_group_pod(text, uid))
		require(uid[0] && !strchr(uid, '/'));
	if (disk_capacity_parse(text, &c, &err) < 0)
		require(err.code == ERR_INVALID && err.msg[0]);
	else
		require(c.device[0] && (c.read > 0 || c.write > 0));
	read_book(text);
	return 0;
}

/*
 * The kernel's texts, the user's words, the file of probes, and made-up machines.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/disk/book.h"
#include "drivers/disk/host.h"
#include "drivers/disk/throttle.h"

/* --- texts ----------------------------------------------------------------------------------- */

static void every_column_of_diskstats_is_read(void **state)
{
	struct str text = STR("   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
			      "   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
			      " 104       0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11\n");
	struct disk_stat s;

	(void)state;
	assert_true(disk_stat_next(&text, &s));
	assert_string_equal(s.name, "sda");
	assert_int_equal(s.major, 8);
	assert_int_equal(s.reads, 1);
	assert_int_equal(s.read_sectors, 3);
	assert_int_equal(s.writes, 5);
	assert_int_equal(s.write_sectors, 7);
	assert_int_equal(s.in_flight, 9);
	assert_int_equal(s.busy_ms, 10);
	assert_int_equal(s.discard_sectors, 14);
	assert_int_equal(s.flushes, 16);
	assert_int_equal(s.flush_ms, 17);
	assert_true(disk_stat_next(&text, &s));
	assert_int_equal(s.minor, 1);
	assert_int_equal(s.discard_ms, 15);
	assert_int_equal(s.flushes, 0);
	assert_true(disk_stat_next(&text, &s));
	assert_string_equal(s.name, "cciss!c0d0");
	assert_int_equal(s.discards, 0);
	assert_false(disk_stat_next(&text, &s));
}

static void lines_that_make_no_sense_are_passed_over(void **state)
{
	struct str text = STR("\nnonsense\n8 0 sda 1 2 3\n8 0 sda a 2 3 4 5 6 7 8 9 10 11\n"
			      "8 0 .. 1 2 3 4 5 6 7 8 9 10 11\n"
			      "8 0 sdb 99999999999999999999 2 3 4 5 6 7 8 9 10 11\n"
			      "8 16 sdc 1 2 3 4 5 6 7 8 9 10 11 and more");
	struct disk_stat s;

	(void)state;
	assert_false(disk_stat_next(&text, &s));
	text = STR("8 16 sdc 1 2 3 4 5 6 7 8 9 10 11");
	assert_true(disk_stat_next(&text, &s));
}

static void groups_of_version_2_are_read(void **state)
{
	struct str text = STR("8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n"
			      "8:16 \n253:0 cost.usage=7\n"
			      "254:3 wbytes=5 rbytes=6 cost.wait=7\n8:32 rbytes=x");
	struct disk_group_stat s;

	(void)state;
	assert_true(disk_group_v2_next(&text, &s));
	assert_int_equal(s.read_bytes, 4096);
	assert_int_equal(s.write_bytes, 8192);
	assert_true(disk_group_v2_next(&text, &s));
	assert_int_equal(s.major, 254);
	assert_int_equal(s.minor, 3);
	assert_int_equal(s.read_bytes, 6);
	assert_false(disk_group_v2_next(&text, &s));
}

static void groups_of_version_1_are_read(void **state)
{
	struct str text = STR("8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 1\n8:0 Async 2\n"
			      "8:0 Discard 0\n8:0 Total 12288\nTotal 12288\n");
	struct disk_group_stat s;

	(void)state;
	assert_true(disk_group_v1_next(&text, &s));
	assert_int_equal(s.read_bytes, 4096);
	assert_int_equal(s.write_bytes, 0);
	assert_true(disk_group_v1_next(&text, &s));
	assert_int_equal(s.read_bytes, 0);
	assert_int_equal(s.write_bytes, 8192);
	assert_false(disk_group_v1_next(&text, &s));
}

static void pods_are_known_by_their_folders(void **state)
{
	static const struct {
		const char *folder, *uid;
	} rows[] = {
		{ "pod5a7e-11", "5a7e-11" },
		{ "kubepods-pod5a7e_11.slice", "5a7e-11" },
		{ "kubepods-besteffort-pod5a7e_11.slice", "5a7e-11" },
		{ "kubelet-kubepods-burstable-podab.slice", "ab" },
		{ "pod", NULL },
		{ "podman", "man" }, /* only asked below folders of pods */
		{ "burstable", NULL },
		{ "kubepods-burstable.slice", NULL },
		{ "user-pod1.slice", NULL },
		{ "pod../x", NULL },
		{ "pod1_2", NULL },
	};
	char uid[DISK_UID_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool found = disk_group_pod(str_from(rows[i].folder), uid);

		if (found != (rows[i].uid != NULL) || (found && strcmp(uid, rows[i].uid) != 0))
			fail_msg("%s: %s", rows[i].folder, found ? uid : "no pod");
	}
}

/* --- words of the user ----------------------------------------------------------------------- */

static void capacities_are_quantities_per_second(void **state)
{
	struct disk_capacity c;

	(void)state;
	assert_int_equal(disk_capacity_parse(STR("sda=read:500Mi,write:1G"), &c, NULL), 0);
	assert_string_equal(c.device, "sda");
	assert_int_equal(c.read, 500 * 1024 * 1024);
	assert_int_equal(c.write, 1000000000);
	assert_int_equal(disk_capacity_parse(STR("nvme0n1=write:5"), &c, NULL), 0);
	assert_int_equal(c.read, 0);
}

static void capacities_that_make_no_sense_are_refused_with_a_reason(void **state)
{
	static const char *const rows[][2] = {
		{ "", "it is not DEVICE=read:QUANTITY,write:QUANTITY" },
		{ "sda", "it is not DEVICE=read:QUANTITY,write:QUANTITY" },
		{ "=read:1", "\"\" is not a device name from /sys/block, such as sda" },
		{ "/dev/sda=read:1",
		  "\"/dev/sda\" is not a device name from /sys/block, such as sda" },
		{ "sda=", "\"\" is neither read:QUANTITY nor write:QUANTITY" },
		{ "sda=500Mi", "\"500Mi\" is neither read:QUANTITY nor write:QUANTITY" },
		{ "sda=reed:1", "\"reed\" is neither read nor write" },
		{ "sda=read:fast", "\"fast\" is not a quantity such as 500Mi" },
		{ "sda=read:-1", "\"-1\" is not more than 0" },
		{ "sda=read:0", "\"0\" is not more than 0" },
		{ "sda=read:1,read:2", "read is set twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct disk_capacity c;
		struct error err = { 0 };

		assert_int_equal(disk_capacity_parse(str_from(rows[i][0]), &c, &err), -ERR_INVALID);
		assert_string_equal(err.msg, rows[i][1]);
	}
}

static void hardware_with_a_medium_is_measured_unless_told_otherwise(void **state)
{
	static const char *const globs[] = { "loop*" }, *const not [] = { "sdb", "loop7" };
	struct disk_hardware disk = { .whole = true, .device = true };
	struct disk_hardware soft = { .whole = true }, part = { .device = true };
	struct disk_hardware empty = { .whole = true, .device = true, .empty = true };
	struct disk_spec s = { .excluded = not, .nexcluded = 2 };

	(void)state;
	assert_true(disk_spec_wants(&s, "sda", &disk));
	assert_false(disk_spec_wants(&s, "sdb", &disk));
	assert_false(disk_spec_wants(&s, "sda1", &part));
	assert_false(disk_spec_wants(&s, "dm-0", &soft));
	assert_false(disk_spec_wants(&s, "sdc", &empty));
	assert_false(disk_spec_wants(&s, "sr0", &disk));
	s.patterns = globs;
	s.npatterns = 1;
	assert_true(disk_spec_wants(&s, "loop0", &soft));
	assert_false(disk_spec_wants(&s, "loop7", &soft));
	assert_false(disk_spec_wants(&s, "sda", &disk));
}

/* --- folders --------------------------------------------------------------------------------- */

struct tree {
	char root[64];
	char proc[96], sys[96], groups[96];
};

static int set_up(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));

	(void)snprintf(t->root, sizeof(t->root), "/tmp/disk_host_test.XXXXXX");
	assert_non_null(mkdtemp(t->root));
	(void)snprintf(t->proc, sizeof(t->proc), "%s/proc", t->root);
	(void)snprintf(t->sys, sizeof(t->sys), "%s/sys", t->root);
	(void)snprintf(t->groups, sizeof(t->groups), "%s/sys/fs/cgroup", t->root);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *t = *state;

	(void)folder_fixture_try_remove(t->root);
	free(t);
	return 0;
}

/* Writes a file, with the folders above it. */
static void put(const struct tree *t, const char *path, const char *text)
{
	char whole[512], *slash;
	struct error err = { 0 };

	(void)snprintf(whole, sizeof(whole), "%s/%s", t->root, path);
	slash = strrchr(whole, '/');
	*slash = 0;
	assert_int_equal(folder_make(whole, 0755, &err), 0);
	*slash = '/';
	if (file_write_atomic(whole, str_from(text), 0644, &err) < 0)
		fail_msg("%s", err.msg);
}

#define SDA  "8 0 sda 10 0 2048 5 20 0 4096 5 0 100 100\n"
#define SDA1 "8 1 sda1 10 0 2048 5 20 0 4096 5 0 100 100\n"
#define LOOP "7 0 loop0 10 0 2048 5 20 0 4096 5 0 100 100\n"

static void make_disks(const struct tree *t)
{
	put(t, "proc/diskstats", LOOP SDA SDA1);
	put(t, "sys/block/sda/size", "1000\n");
	put(t, "sys/block/sda/device/model", "x\n");
	put(t, "sys/block/sda/sda1/partition", "1\n");
	put(t, "sys/block/loop0/size", "0\n");
}

static struct disk_host opened(const struct tree *t)
{
	struct disk_host_opts o = { .proc_root = t->proc, .sys_root = t->sys };
	struct disk_host h;
	struct error err = { 0 };

	if (disk_host_open(&h, &o, &err) < 0)
		fail_msg("%s", err.msg);
	return h;
}

/* A round a second after the last. */
static void sample(const struct disk_host *h, struct disk_meter *m)
{
	struct disk_spec spec = { 0 };
	struct error err = { 0 };

	if (disk_host_sample(h, &spec, m, m->before + CLOCK_SEC, &err) < 0)
		fail_msg("%s", err.msg);
}

static double write_of(const struct disk_meter *m, const char *uid)
{
	const struct disk_device *d = disk_meter_find(m, "sda");
	struct disk_pod_walk w = { 0 };
	const struct disk_pod *p;

	while ((p = disk_meter_next_pod(m, d, &w)))
		if (strcmp(p->uid, uid) == 0)
			return p->write;
	return -1;
}

static void whole_disks_are_told_from_partitions(void **state)
{
	const struct tree *t = *state;
	struct disk_meter m;
	struct disk_host h;

	make_disks(t);
	h = opened(t);
	disk_meter_init(&m, 0);
	sample(&h, &m);
	assert_int_equal(m.devices.n, 1);
	assert_string_equal(m.devices.v[0].stat.name, "sda");
	put(t, "proc/diskstats", "8 0 sda 11 0 4096 5 20 0 4096 5 0 100 100\n");
	sample(&h, &m);
	assert_int_equal((int64_t)m.devices.v[0].rates.read_bytes, 1048576);
	assert_int_equal(h.groups, DISK_GROUPS_NONE);
	assert_non_null(strstr(h.groups_why.msg, "neither the io controller of cgroup v2 nor v1"));
	disk_meter_release(&m);
}

static void without_diskstats_there_is_nothing_to_measure(void **state)
{
	const struct tree *t = *state;
	struct disk_host_opts o = { .proc_root = t->proc, .sys_root = t->sys };
	struct disk_host h;
	struct error err;

	assert_int_equal(disk_host_open(&h, &o, &err), -ERR_IO);
	assert_non_null(strstr(err.msg, "/proc/diskstats, which has the disks' counters"));
}

static void pods_of_version_2_are_found_below_either_driver_s_folders(void **state)
{
	const struct tree *t = *state;
	struct disk_meter m;
	struct disk_host h;

	make_disks(t);
	put(t, "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
	put(t, "sys/fs/cgroup/system.slice/podx/io.stat", "8:0 rbytes=1 wbytes=1\n");
	put(t, "sys/fs/cgroup/kubepods/poda-1/io.stat", "8:0 rbytes=0 wbytes=100\n");
	put(t, "sys/fs/cgroup/kubepods/poda-1/c/io.stat", "8:0 rbytes=0 wbytes=100\n");
	put(t,
	    "sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/"
	    "kubepods-burstable-podb_2.slice/io.stat",
	    "8:0 rbytes=0 wbytes=7\n");
	put(t,
	    "sys/fs/cgroup/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podc.slice/"
	    "io.stat",
	    "8:0 rbytes=0 wbytes=1\n9:9 rbytes=0 wbytes=1\n");
	h = opened(t);
	assert_int_equal(h.groups, DISK_GROUPS_V2);
	disk_meter_init(&m, 0);
	sample(&h, &m);
	put(t, "sys/fs/cgroup/kubepods/poda-1/io.stat", "8:0 rbytes=0 wbytes=400\n");
	sample(&h, &m);
	assert_int_equal((int64_t)write_of(&m, "a-1"), 300);
	assert_int_equal((int64_t)write_of(&m, "b-2"), 0);
	assert_int_equal((int64_t)write_of(&m, "c"), 0);
	assert_int_equal(m.pods.n, 3);
	disk_meter_release(&m);
}

static void version_1_is_summed_up_where_the_kernel_does_not(void **state)
{
	const struct tree *t = *state;
	struct disk_meter m;
	struct disk_host h;

	make_disks(t);
	put(t, "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", "Total 0\n");
	put(t, "sys/fs/cgroup/blkio/kubepods/burstable/podu/blkio.throttle.io_service_bytes",
	    "8:0 Write 1\n");
	put(t, "sys/fs/cgroup/blkio/kubepods/burstable/podu/c1/blkio.throttle.io_service_bytes",
	    "8:0 Read 0\n8:0 Write 10\n8:0 Total 10\n");
	h = opened(t);
	assert_int_equal(h.groups, DISK_GROUPS_V1);
	disk_meter_init(&m, 0);
	sample(&h, &m);
	put(t, "sys/fs/cgroup/blkio/kubepods/burstable/podu/c1/blkio.throttle.io_service_bytes",
	    "8:0 Read 0\n8:0 Write 110\n8:0 Total 110\n");
	sample(&h, &m);
	assert_int_equal((int64_t)write_of(&m, "u"), 100);
	/* With a file that counts the subtree, only the pod's own is read. */
	put(t, "sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes_recursive", "Total 0\n");
	h = opened(t);
	assert_string_equal(h.groups_file, "blkio.throttle.io_service_bytes_recursive");
	assert_false(h.groups_sum);
	disk_meter_release(&m);
}

static void this_machine_can_be_measured(void **state)
{
	struct disk_host_opts o = { 0 };
	struct disk_spec spec = { 0 };
	struct disk_meter m;
	struct disk_host h;
	struct error err = { 0 };

	(void)state;
	disk_meter_init(&m, 0);
	if (disk_host_open(&h, &o, &err) == 0)
		assert_int_equal(disk_host_sample(&h, &spec, &m, 1, &err), 0);
	disk_meter_release(&m);
}

static void a_partition_s_number_leads_to_its_disk(void **state)
{
	const struct tree *t = *state;
	struct disk_host h;
	char name[DISK_NAME_SIZE], path[256];

	make_disks(t);
	put(t, "sys/dev/block/x", "");
	h = opened(t);
	(void)snprintf(path, sizeof(path), "%s/dev/block/8:1", t->sys);
	assert_int_equal(symlink("../../block/sda/sda1", path), 0);
	assert_true(disk_host_name_of(&h, 8, 1, name));
	assert_string_equal(name, "sda");
	(void)snprintf(path, sizeof(path), "%s/dev/block/8:0", t->sys);
	assert_int_equal(symlink("../../block/sda", path), 0);
	assert_true(disk_host_name_of(&h, 8, 0, name));
	assert_string_equal(name, "sda");
	assert_false(disk_host_name_of(&h, 0, 42, name));
}

/* --- the file of probes ---------------------------------------------------------------------- */

static void a_saved_probe_result_is_loaded_again(void **state)
{
	const struct tree *t = *state;
	struct disk_capacity read = { "sda", 100, 0 }, write = { "sda", 0, 50 };
	const struct disk_book_entry *e;
	struct disk_book b;
	struct error err = { 0 };

	disk_book_init(&b);
	assert_int_equal(disk_book_load(&b, t->root, &err), 0);
	assert_null(disk_book_find(&b, "sda"));
	assert_true(disk_book_note(&b, &read, 5 * CLOCK_SEC));
	assert_true(disk_book_note(&b, &write, 6 * CLOCK_SEC));
	assert_int_equal(disk_book_save(&b, t->root, &err), 0);
	disk_book_release(&b);
	disk_book_init(&b);
	assert_int_equal(disk_book_load(&b, t->root, &err), 0);
	e = disk_book_find(&b, "sda");
	assert_non_null(e);
	assert_int_equal(e->capacity.read, 100);
	assert_int_equal(e->capacity.write, 50);
	assert_int_equal(e->time, 6 * CLOCK_SEC);
	disk_book_release(&b);
}

static void a_file_that_makes_no_sense_changes_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{\"version\":2}",
		"{\"version\":1,\"devices\":[{}]}",
		"{\"version\":1,\"devices\":[{\"name\":\"a\",\"read\":-1,\"time\":"
		"\"2006-01-02T15:04:05Z\"}]}",
		"{\"version\":1,\"devices\":[{\"name\":\"a\\u0000b\",\"time\":"
		"\"2006-01-02T15:04:05Z\"}]}",
	};
	struct disk_capacity c = { "sda", 100, 0 };
	struct disk_book b;

	(void)state;
	disk_book_init(&b);
	assert_true(disk_book_note(&b, &c, 1));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = { 0 };

		if (disk_book_parse(&b, str_from(rows[i]), &err) != -ERR_INVALID || !err.msg[0])
			fail_msg("row %zu was taken", i);
		assert_non_null(disk_book_find(&b, "sda"));
	}
	disk_book_release(&b);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* --- limits ---------------------------------------------------------------------------------- */

static void expect_file(const struct tree *t, const char *path, const char *text)
{
	CLEANUP(buf_release) struct buf now = BUF_INIT(4096);
	char whole[512];

	(void)snprintf(whole, sizeof(whole), "%s/%s", t->root, path);
	assert_int_equal(file_read(whole, &now, NULL), 0);
	assert_string_equal(now.n ? now.p : "", text);
}

static void set_throttle(const struct tree *t, const char *pod, int64_t read, int64_t write,
			 unsigned weight)
{
	struct disk_throttle l = { .major = 8, .limit = { read, write }, .weight = weight };
	struct disk_host h = opened(t);
	struct error err = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", t->root, pod);
	if (disk_throttle_set(&h, path, &l, &err) < 0)
		fail_msg("%s", err.msg);
}

static void set_limits(const struct tree *t, const char *pod, int64_t read, int64_t write)
{
	set_throttle(t, pod, read, write, 0);
}

static void limits_of_version_2_are_the_pod_s(void **state)
{
	struct tree *t = *state;
	static const char pod[] = "sys/fs/cgroup/kubepods/podu1";

	make_disks(t);
	put(t, "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
	put(t, "sys/fs/cgroup/kubepods/podu1/io.max", "");
	set_limits(t, pod, 0, 0);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max", "");
	set_limits(t, pod, 0, 1000);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max", "8:0 rbps=max wbps=1000\n");
	/* As the kernel shows it: the same is not written again. */
	put(t, "sys/fs/cgroup/kubepods/podu1/io.max",
	    "8:16 rbps=1 wbps=1 riops=max wiops=max\n8:0 rbps=max wbps=1000 riops=max "
	    "wiops=max\n");
	set_limits(t, pod, 0, 1000);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max",
		    "8:16 rbps=1 wbps=1 riops=max wiops=max\n8:0 rbps=max wbps=1000 riops=max "
		    "wiops=max\n");
	set_limits(t, pod, 5, 10000);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max", "8:0 rbps=5 wbps=10000\n");
	set_limits(t, pod, 0, 0);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max", "8:0 rbps=max wbps=max\n");
	/* A pod that went meanwhile is no failure. */
	set_limits(t, "sys/fs/cgroup/kubepods/podgone", 1, 1);
}

static void weights_of_version_2_are_the_pod_s(void **state)
{
	static const char pod[] = "sys/fs/cgroup/kubepods/podu1";
	static const char file[] = "sys/fs/cgroup/kubepods/podu1/io.weight";
	struct tree *t = *state;
	struct disk_host h;
	char path[512];

	make_disks(t);
	put(t, "sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
	put(t, "sys/fs/cgroup/kubepods/podu1/io.max", "");
	(void)snprintf(path, sizeof(path), "%s/%s", t->root, pod);
	h = opened(t);
	assert_false(disk_throttle_weighs(&h, path));
	set_throttle(t, pod, 0, 1000, 7000);
	expect_file(t, "sys/fs/cgroup/kubepods/podu1/io.max", "8:0 rbps=max wbps=1000\n");
	put(t, file, "default 100\n");
	assert_true(disk_throttle_weighs(&h, path));
	set_throttle(t, pod, 0, 1000, 0);
	expect_file(t, file, "default 100\n");
	set_throttle(t, pod, 0, 1000, 7000);
	expect_file(t, file, "8:0 7000\n");
	/* As the kernel shows it: the same is not written again. */
	put(t, file, "default 100\n8:0 7000\n");
	set_throttle(t, pod, 0, 1000, 7000);
	expect_file(t, file, "default 100\n8:0 7000\n");
	set_throttle(t, pod, 0, 0, 0);
	expect_file(t, file, "8:0 default\n");
}

#define BLKIO "sys/fs/cgroup/blkio/"
#define PODU  BLKIO "kubepods/burstable/podu1/"

static void limits_of_version_1_are_divided_among_containers(void **state)
{
	static const char *const folders[] = { PODU, PODU "pause/", PODU "main/", PODU "other/" };
	static const char *const counts[] = { "", "8:0 Read 0\n8:0 Write 0\nTotal 0\n",
					      "8:0 Read 0\n8:0 Write 9\n7:0 Read 9\nTotal 18\n",
					      "8:0 Read 1\n8:0 Write 1\nTotal 2\n" };
	struct tree *t = *state;
	char path[512];

	make_disks(t);
	put(t, BLKIO "blkio.throttle.io_service_bytes_recursive", "");
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		(void)snprintf(path, sizeof(path), "%sblkio.throttle.io_service_bytes", folders[i]);
		put(t, path, counts[i]);
		(void)snprintf(path, sizeof(path), "%sblkio.throttle.read_bps_device", folders[i]);
		put(t, path, "");
		(void)snprintf(path, sizeof(path), "%sblkio.throttle.write_bps_device", folders[i]);
		put(t, path, "");
	}
	set_limits(t, PODU, 0, 1000);
	expect_file(t, PODU "main/blkio.throttle.write_bps_device", "8:0 500\n");
	expect_file(t, PODU "pause/blkio.throttle.write_bps_device", "8:0 500\n");
	expect_file(t, PODU "main/blkio.throttle.read_bps_device", "");
	put(t, PODU "other/blkio.throttle.io_service_bytes", counts[1]);
	set_limits(t, PODU, 7, 1000);
	expect_file(t, PODU "main/blkio.throttle.write_bps_device", "8:0 1000\n");
	expect_file(t, PODU "main/blkio.throttle.read_bps_device", "8:0 7\n");
	set_limits(t, PODU, 0, 0);
	expect_file(t, PODU "main/blkio.throttle.write_bps_device", "8:0 0\n");
	expect_file(t, PODU "main/blkio.throttle.read_bps_device", "8:0 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_column_of_diskstats_is_read),
		cmocka_unit_test(lines_that_make_no_sense_are_passed_over),
		cmocka_unit_test(groups_of_version_2_are_read),
		cmocka_unit_test(groups_of_version_1_are_read),
		cmocka_unit_test(pods_are_known_by_their_folders),
		cmocka_unit_test(capacities_are_quantities_per_second),
		cmocka_unit_test(capacities_that_make_no_sense_are_refused_with_a_reason),
		cmocka_unit_test(hardware_with_a_medium_is_measured_unless_told_otherwise),
		T(whole_disks_are_told_from_partitions),
		T(without_diskstats_there_is_nothing_to_measure),
		T(pods_of_version_2_are_found_below_either_driver_s_folders),
		T(version_1_is_summed_up_where_the_kernel_does_not),
		T(limits_of_version_2_are_the_pod_s),
		T(weights_of_version_2_are_the_pod_s),
		T(limits_of_version_1_are_divided_among_containers),
		T(this_machine_can_be_measured),
		T(a_partition_s_number_leads_to_its_disk),
		T(a_saved_probe_result_is_loaded_again),
		T(a_file_that_makes_no_sense_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

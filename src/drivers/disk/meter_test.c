/*
 * Counters become rates, rates become a status, and a status is news or not.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "drivers/disk/status.h"
#include "drivers/drivers_limits.h"

#define MB INT64_C(1048576)

struct world {
	struct disk_meter meter;
	struct disk_book book;
	struct disk_spec spec;
	struct disk_probe_answer probe;
	struct arena arena;
	int64_t now;
};

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	disk_meter_init(&w->meter, 0);
	disk_book_init(&w->book);
	arena_init(&w->arena, SIZE_MAX);
	w->now = 100 * CLOCK_SEC;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	disk_meter_release(&w->meter);
	disk_book_release(&w->book);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static struct disk_stat stat_of(const char *name, uint32_t minor)
{
	struct disk_stat s = { .major = 8, .minor = minor };

	(void)snprintf(s.name, sizeof(s.name), "%s", name);
	return s;
}

/* A round a second later, with these devices. */
static void round_of(struct world *w, const struct disk_stat *v, size_t n)
{
	w->now += CLOCK_SEC;
	disk_meter_begin(&w->meter, w->now);
	for (size_t i = 0; i < n; i++)
		disk_meter_device(&w->meter, &v[i]);
	disk_meter_end(&w->meter);
}

/* A round with a device and what one pod has done on it. */
static void pod_round(struct world *w, const struct disk_stat *s, const char *uid, uint64_t read,
		      uint64_t write)
{
	struct disk_group_stat g = {
		.major = s->major, .minor = s->minor, .read_bytes = read, .write_bytes = write
	};

	w->now += CLOCK_SEC;
	disk_meter_begin(&w->meter, w->now);
	disk_meter_device(&w->meter, s);
	if (uid)
		disk_meter_pod(&w->meter, uid, &g);
	disk_meter_end(&w->meter);
}

static const struct disk_rates *rates(const struct world *w, const char *name)
{
	const struct disk_device *d = disk_meter_find(&w->meter, name);

	if (!d)
		fail_msg("%s is not there", name);
	return &d->rates;
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 0.001 * fabs(want) + 1e-9)
		fail_msg("%f is not %f", got, want);
}

/* --- rates ----------------------------------------------------------------------------------- */

static void rates_begin_with_the_second_round(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	s.read_sectors = 1000000;
	round_of(w, &s, 1);
	assert_near(rates(w, "sda")->read_bytes, 0);
	s.read_sectors += 2048;
	s.write_sectors += 4096;
	s.reads += 10;
	s.writes += 20;
	s.busy_ms += 250;
	round_of(w, &s, 1);
	assert_near(rates(w, "sda")->read_bytes, (double)MB);
	assert_near(rates(w, "sda")->write_bytes, 2.0 * (double)MB);
	assert_near(rates(w, "sda")->reads, 10);
	assert_near(rates(w, "sda")->writes, 20);
	assert_near(rates(w, "sda")->busy, 0.25);
}

static void a_new_rate_shows_by_63_percent_after_the_smoothing_time(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	w->meter.smoothing_ns = 5 * CLOCK_SEC;
	round_of(w, &s, 1);
	round_of(w, &s, 1);
	for (int i = 0; i < 5; i++) {
		s.write_sectors += 2048;
		round_of(w, &s, 1);
	}
	assert_near(rates(w, "sda")->write_bytes, (double)MB * (1 - exp(-1)));
}

static void a_counter_of_32_bits_wraps(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	s.write_sectors = UINT32_MAX - 1023;
	s.busy_ms = UINT32_MAX - 99;
	s.writes = 7;
	round_of(w, &s, 1);
	s.write_sectors = 1024;
	s.busy_ms = 400;
	s.writes = 9;
	round_of(w, &s, 1);
	assert_near(rates(w, "sda")->write_bytes, (double)MB);
	assert_near(rates(w, "sda")->busy, 0.5);
}

static void counters_that_begin_anew_count_from_nothing(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	s.write_sectors = 3000000000;
	s.read_sectors = 5000;
	s.reads = 10;
	s.writes = 1000;
	s.busy_ms = 1000000;
	round_of(w, &s, 1);
	s = stat_of("sda", 0);
	s.write_sectors = 2048;
	s.writes = 4;
	s.busy_ms = 100;
	round_of(w, &s, 1);
	assert_near(rates(w, "sda")->write_bytes, (double)MB);
	assert_near(rates(w, "sda")->writes, 4);
	assert_near(rates(w, "sda")->busy, 0.1);
	assert_near(rates(w, "sda")->read_bytes, 0);
}

static void one_counter_that_falls_without_a_wrap_began_anew(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	s.read_sectors = 5000;
	round_of(w, &s, 1);
	s.read_sectors = 2048;
	round_of(w, &s, 1);
	assert_near(rates(w, "sda")->read_bytes, (double)MB);
}

static void devices_come_and_go_in_the_order_of_names(void **state)
{
	struct world *w = *state;
	struct disk_stat v[] = { stat_of("sdb", 16), stat_of("sda", 0), stat_of("nvme0n1", 1) };

	round_of(w, v, 3);
	assert_int_equal(w->meter.devices.n, 3);
	assert_string_equal(w->meter.devices.v[0].stat.name, "nvme0n1");
	assert_string_equal(w->meter.devices.v[2].stat.name, "sdb");
	round_of(w, v, 2);
	assert_int_equal(w->meter.devices.n, 2);
	assert_null(disk_meter_find(&w->meter, "nvme0n1"));
	/* Another one of the same name has no past. */
	v[0].minor = 32;
	v[0].read_sectors = 99999;
	round_of(w, v, 2);
	assert_near(rates(w, "sdb")->read_bytes, 0);
	assert_false(disk_meter_find(&w->meter, "sdb")->rated);
}

static void beyond_the_limit_devices_are_passed_over(void **state)
{
	struct world *w = *state;

	disk_meter_begin(&w->meter, w->now);
	for (uint32_t i = 0; i < DISK_DEVICES_MAX + 10; i++) {
		char name[16];
		struct disk_stat s;

		(void)snprintf(name, sizeof(name), "d%u", i);
		s = stat_of(name, i);
		disk_meter_device(&w->meter, &s);
	}
	disk_meter_end(&w->meter);
	assert_int_equal(w->meter.devices.n, DISK_DEVICES_MAX);
}

static void pods_have_their_share_of_a_device(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);
	struct disk_pod_walk walk = { 0 };
	const struct disk_pod *p;

	pod_round(w, &s, "u1", 1000, 2000);
	p = disk_meter_next_pod(&w->meter, &w->meter.devices.v[0], &walk);
	assert_non_null(p);
	assert_near(p->read, 0); /* nobody knows since when it counts */
	pod_round(w, &s, "u1", 1500, 4000);
	walk = (struct disk_pod_walk){ 0 };
	p = disk_meter_next_pod(&w->meter, &w->meter.devices.v[0], &walk);
	assert_string_equal(p->uid, "u1");
	assert_near(p->read, 500);
	assert_near(p->write, 2000);
	assert_null(disk_meter_next_pod(&w->meter, &w->meter.devices.v[0], &walk));
	/* A container that ended took its count along. */
	pod_round(w, &s, "u1", 100, 4000);
	assert_near(p->read, 0);
	pod_round(w, &s, NULL, 0, 0);
	assert_int_equal(w->meter.pods.n, 0);
	/* One that comes now has begun at nothing. */
	pod_round(w, &s, "u2", 700, 0);
	walk = (struct disk_pod_walk){ 0 };
	assert_near(disk_meter_next_pod(&w->meter, &w->meter.devices.v[0], &walk)->read, 700);
}

static void groups_of_one_pod_add_up_and_other_devices_do_not_count(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);
	struct disk_group_stat g = { .major = 8, .minor = 0, .read_bytes = 10 };
	struct disk_group_stat other = { .major = 9, .minor = 0, .read_bytes = 10 };

	round_of(w, &s, 1);
	w->now += CLOCK_SEC;
	disk_meter_begin(&w->meter, w->now);
	disk_meter_device(&w->meter, &s);
	disk_meter_pod(&w->meter, "u", &g);
	disk_meter_pod(&w->meter, "u", &g);
	disk_meter_pod(&w->meter, "u", &other);
	disk_meter_end(&w->meter);
	assert_int_equal(w->meter.pods.n, 1);
	for (struct disk_pod_walk walk = { 0 };;) {
		const struct disk_pod *p = disk_meter_next_pod(&w->meter, &w->meter.devices.v[0],
							       &walk);

		assert_non_null(p);
		assert_near(p->read, 20);
		break;
	}
}

/* --- status ---------------------------------------------------------------------------------- */

static struct json *status(struct world *w)
{
	struct disk_status_input in = { .meter = &w->meter,
					.spec = &w->spec,
					.book = &w->book,
					.probe = &w->probe,
					.wall = INT64_C(1136214245) * CLOCK_SEC };

	return disk_status_tree(&w->arena, &in);
}

static void assert_tree(const struct json *v, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	(void)json_print(&out, v, NULL);
	assert_string_equal(out.p, want);
}

static void the_status_tells_capacity_use_and_pods(void **state)
{
	static const struct disk_capacity said[] = { { "sda", 500 * MB, 200 * MB } };
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	w->spec.capacities = said;
	w->spec.ncapacities = 1;
	pod_round(w, &s, "u", 0, 0);
	s.read_sectors = 3072;
	s.reads = 3;
	s.busy_ms = 100;
	pod_round(w, &s, "u", 1024, 0);
	assert_tree(status(w),
		    "{\"observedTime\":\"2006-01-02T15:04:05Z\",\"deviceCount\":1,\"summary\":{"
		    "\"device\":\"sda\",\"readCapacity\":\"500Mi\",\"readUsed\":\"1.5Mi\","
		    "\"writeCapacity\":\"200Mi\",\"writeUsed\":\"0\"},\"devices\":[{\"name\":"
		    "\"sda\",\"primary\":true,\"attributed\":true,\"capacity\":{"
		    "\"readBytesPerSecond\":524288000,"
		    "\"writeBytesPerSecond\":209715200},\"used\":{\"readBytesPerSecond\":1572864,"
		    "\"writeBytesPerSecond\":0,\"readOperationsPerSecond\":3,"
		    "\"writeOperationsPerSecond\":0,\"utilizationPercent\":10},\"pods\":[{\"uid\":"
		    "\"u\",\"readBytesPerSecond\":1024,\"writeBytesPerSecond\":0}]}]}");
}

static void unknown_values_are_removed_from_the_status(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);

	round_of(w, &s, 1);
	w->probe = (struct disk_probe_answer){ .state = "Running", .device = "sda" };
	assert_tree(json_getz(status(w), "summary"),
		    "{\"device\":\"sda\",\"readCapacity\":null,\"readUsed\":\"0\","
		    "\"writeCapacity\":null,\"writeUsed\":\"0\"}");
	assert_tree(json_getz(status(w), "probe"),
		    "{\"device\":\"sda\",\"state\":\"Running\",\"message\":null,"
		    "\"readBytesPerSecond\":null,\"writeBytesPerSecond\":null,\"startTime\":"
		    "\"1970-01-01T00:00:00Z\",\"completionTime\":null}");
	assert_tree(json_getz(json_at(json_getz(status(w), "devices"), 0), "capacity"), "{}");
}

static struct str primary_of(struct world *w)
{
	struct json *v = status(w);

	JSON_FOREACH (it, json_getz(v, "devices"))
		if (json_true_at(it, "primary"))
			return json_text_at(it, "name");
	return STR("none");
}

static void the_primary_device_has_most_write_capacity_or_is_named(void **state)
{
	static const struct disk_capacity said[] = { { "sda", 900, 100 }, { "sdb", 100, 200 } };
	struct world *w = *state;
	struct disk_stat v[] = { stat_of("sda", 0), stat_of("sdb", 1), stat_of("sdc", 2) };
	struct disk_capacity probed = { "sdc", 1, 300 };

	round_of(w, v, 3);
	assert_true(str_eqz(primary_of(w), "sda"));
	w->spec.capacities = said;
	w->spec.ncapacities = 2;
	assert_true(str_eqz(primary_of(w), "sdb"));
	assert_true(disk_book_note(&w->book, &probed, 1));
	assert_true(str_eqz(primary_of(w), "sdc"));
	w->spec.primary = "sda";
	assert_true(str_eqz(primary_of(w), "sda"));
	w->spec.primary = "sdz";
	assert_true(str_eqz(primary_of(w), "none"));
}

static void the_users_word_wins_over_a_probe(void **state)
{
	static const struct disk_capacity said[] = { { "sda", 900, 0 } };
	struct world *w = *state;
	struct disk_capacity probed = { "sda", 10, 20 }, c;

	w->spec.capacities = said;
	w->spec.ncapacities = 1;
	assert_true(disk_book_note(&w->book, &probed, 1));
	c = disk_status_capacity(&w->spec, &w->book, "sda");
	assert_int_equal(c.read, 900);
	assert_int_equal(c.write, 20);
}

static void only_the_busiest_pods_are_told(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);
	struct json *pods;
	char uid[16];

	round_of(w, &s, 1);
	w->now += CLOCK_SEC;
	disk_meter_begin(&w->meter, w->now);
	disk_meter_device(&w->meter, &s);
	for (uint64_t i = 0; i < DISK_STATUS_PODS_MAX + 10; i++) {
		struct disk_group_stat g = { .major = 8, .read_bytes = i };

		(void)snprintf(uid, sizeof(uid), "u%03u", (unsigned)i);
		disk_meter_pod(&w->meter, uid, &g);
	}
	disk_meter_end(&w->meter);
	pods = json_getz(json_at(json_getz(status(w), "devices"), 0), "pods");
	assert_int_equal(json_count(pods), DISK_STATUS_PODS_MAX);
	assert_true(str_eqz(json_text_at(json_first(pods), "uid"), "u010"));
}

/* --- news ------------------------------------------------------------------------------------ */

/* A status of a device with 100 MiB/s capacity that writes so many bytes, a pod all of it. */
static struct json *status_with(struct world *w, int64_t write, bool pod, const char *device)
{
	struct json *tree = NULL;
	char *used = arena_printf(&w->arena, "\"writeBytesPerSecond\":%lld", (long long)write);
	char *text = arena_printf(&w->arena,
				  "{\"devices\":[{\"name\":\"%s\",\"capacity\":{"
				  "\"writeBytesPerSecond\":104857600},\"used\":{%s,"
				  "\"writeOperationsPerSecond\":%lld},\"pods\":[%s%s%s]}]}",
				  device, used, (long long)write, pod ? "{\"uid\":\"u\"," : "",
				  pod ? used : "", pod ? "}" : "");

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

static void news_is_what_changes_by_more_than_a_share_of_the_capacity(void **state)
{
	struct world *w = *state;
	struct json *old = status_with(w, 10 * MB, true, "sda");

	assert_true(disk_status_changed(NULL, old, 0.05));
	assert_false(disk_status_changed(old, old, 0.05));
	assert_false(disk_status_changed(old, status_with(w, 14 * MB, true, "sda"), 0.05));
	assert_true(disk_status_changed(old, status_with(w, 16 * MB, true, "sda"), 0.05));
	assert_true(disk_status_changed(old, status_with(w, 4 * MB, true, "sda"), 0.05));
	assert_true(disk_status_changed(old, status_with(w, 10 * MB, false, "sda"), 0.05));
	assert_true(disk_status_changed(old, status_with(w, 10 * MB, true, "sdb"), 0.05));
	assert_true(disk_status_changed(old, status_with(w, 11 * MB, true, "sda"), 0));
	assert_false(disk_status_changed(old, status_with(w, 10 * MB + 9000, true, "sda"), 0));
}

static void a_capacity_and_a_probe_are_news_at_once(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);
	struct disk_capacity probed = { "sda", 10, 20 };
	struct json *old;

	round_of(w, &s, 1);
	old = status(w);
	assert_false(disk_status_changed(old, status(w), 0.05));
	w->probe = (struct disk_probe_answer){ .state = "Running", .device = "sda" };
	assert_true(disk_status_changed(old, status(w), 0.05));
	old = status(w);
	w->probe.state = "Succeeded";
	assert_true(disk_status_changed(old, status(w), 0.05));
	old = status(w);
	assert_true(disk_book_note(&w->book, &probed, 1));
	assert_true(disk_status_changed(old, status(w), 0.05));
}

static void without_a_capacity_the_larger_rate_is_what_counts(void **state)
{
	struct world *w = *state;
	struct disk_stat s = stat_of("sda", 0);
	struct json *old;

	round_of(w, &s, 1);
	s.write_sectors += 204800;
	round_of(w, &s, 1);
	old = status(w);
	s.write_sectors += 208000;
	round_of(w, &s, 1);
	assert_false(disk_status_changed(old, status(w), 0.05));
	s.write_sectors += 220000;
	round_of(w, &s, 1);
	assert_true(disk_status_changed(old, status(w), 0.05));
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(rates_begin_with_the_second_round),
		T(a_new_rate_shows_by_63_percent_after_the_smoothing_time),
		T(a_counter_of_32_bits_wraps),
		T(counters_that_begin_anew_count_from_nothing),
		T(one_counter_that_falls_without_a_wrap_began_anew),
		T(devices_come_and_go_in_the_order_of_names),
		T(beyond_the_limit_devices_are_passed_over),
		T(pods_have_their_share_of_a_device),
		T(groups_of_one_pod_add_up_and_other_devices_do_not_count),
		T(the_status_tells_capacity_use_and_pods),
		T(unknown_values_are_removed_from_the_status),
		T(the_primary_device_has_most_write_capacity_or_is_named),
		T(the_users_word_wins_over_a_probe),
		T(only_the_busiest_pods_are_told),
		T(news_is_what_changes_by_more_than_a_share_of_the_capacity),
		T(a_capacity_and_a_probe_are_news_at_once),
		T(without_a_capacity_the_larger_rate_is_what_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Devices by state and health as metrics, from objects on a fake API server.
 */
#include "controller/slice_status/slice_status_fixture.h"

#include "base/core/limits.h"
#include "controller/devices/device_metrics.h"

static void begin(struct bench *b)
{
	*b = (struct bench){ .health = true, .metrics = metrics_new() };
	bench_init(b, 1);
	tell(b, "node n1");
}

enum { ABSENT = -1 };

/* The value of a series, by its printed labels; ABSENT: not found. */
static double value(struct bench *b, const char *series)
{
	struct buf text = BUF_INIT(16 * MIB);
	struct str rest, line;
	double v = ABSENT;

	assert_int_equal(metrics_print(b->metrics, &text), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		if (str_starts(line, str_from(series)))
			v = strtod(line.p + strlen(series), NULL);
	buf_release(&text);
	return v;
}

#define DEVICES(pool, node, state, health)                                                  \
	"devplane_devices{driver=\"" WORLD_DRIVER "\",pool=\"" pool "\",node=\"" node "\"," \
	"state=\"" state "\",health=\"" health "\"} "
#define CAPACITY(pool, node, name)                                                                 \
	"devplane_device_free_capacity{driver=\"" WORLD_DRIVER "\",pool=\"" pool "\",node=\"" node \
	"\",capacity=\"" name "\"} "

#define TOTAL(pool, node, name)                                                               \
	"devplane_device_capacity{driver=\"" WORLD_DRIVER "\",pool=\"" pool "\",node=\"" node \
	"\",capacity=\"" name "\"} "
#define SHARES(pool, node) \
	"devplane_device_shares{driver=\"" WORLD_DRIVER "\",pool=\"" pool "\",node=\"" node "\"} "

static void assert_value(struct bench *b, const char *series, double expected)
{
	double got = value(b, series);

	if (got != expected)
		fail_msg("%s is %f and not %f", series, got, expected);
}

static void devices_are_counted_by_state_and_health(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/2 n1 g0 g1(!k=NoSchedule)");
	tell(&b, "slice b p 1/2 n1 g2");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Allocated", "NotReported"), 1);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 1);
	assert_value(&b, DEVICES("p", "n1", "Unavailable", "NotReported"), 1);
	assert_int_equal(
		fakeapi_call(b.w->api, "PUT", "/api/v1/nodes/n1",
			     STR("{\"metadata\":{\"name\":\"n1\",\"annotations\":{"
				 "\"devplane.dev/device-health\":\"[{\\\"id\\\":\\\"" WORLD_DRIVER
				 "/p/g2\\\",\\\"health\\\":"
				 "\\\"Unhealthy\\\"}]\"}}}"),
			     NULL),
		200);
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "Unhealthy"), 1);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 0);
	tell(&b, "remove claim ns/c");
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 1);
	tell(&b, "remove slice a");
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 0);
	tell(&b, "remove slice b");
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Unavailable", "Unhealthy"), ABSENT);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), ABSENT);
	bench_release(&b);
}

static void free_capacity_is_that_of_devices_that_can_be_had(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 all g0(multi,memory=10) g1(multi,memory=10,!k=NoSchedule) g2");
	run(&b);
	assert_value(&b, CAPACITY("p", "", "memory"), 10);
	tell(&b, "claim ns/c p/g0(share=1,memory=4)");
	run(&b);
	assert_value(&b, CAPACITY("p", "", "memory"), 6);
	assert_value(&b, DEVICES("p", "", "PartiallyAllocated", "NotReported"), 1);
	tell(&b, "claim ns/c p/g0");
	run(&b);
	assert_value(&b, CAPACITY("p", "", "memory"), 0);
	bench_release(&b);
}

static void capacity_in_total_does_not_depend_on_holders(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 all g0(multi,memory=10) g1(multi,memory=10,!k=NoSchedule) g2");
	run(&b);
	assert_value(&b, TOTAL("p", "", "memory"), 20);
	tell(&b, "claim ns/c p/g0(share=1,memory=4)");
	tell(&b, "claim ns/d p/g1");
	run(&b);
	assert_value(&b, TOTAL("p", "", "memory"), 20);
	tell(&b, "remove slice a");
	run(&b);
	assert_value(&b, TOTAL("p", "", "memory"), ABSENT);
	bench_release(&b);
}

static void shares_of_shareable_devices_are_counted(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 all g0(multi,memory=10) g1(multi) g2");
	tell(&b, "slice b q 1/1 all g0");
	run(&b);
	assert_value(&b, SHARES("p", ""), 0);
	assert_value(&b, SHARES("q", ""), ABSENT); /* nothing to share */
	tell(&b, "claim ns/c p/g0(share=1,memory=4)");
	tell(&b, "claim ns/d p/g0(share=2,memory=4)");
	tell(&b, "claim ns/e p/g1(share=3)");
	tell(&b, "claim ns/f p/g2");
	run(&b);
	assert_value(&b, SHARES("p", ""), 3);
	tell(&b, "remove claim ns/d");
	run(&b);
	assert_value(&b, SHARES("p", ""), 2);
	tell(&b, "remove slice a");
	run(&b);
	assert_value(&b, SHARES("p", ""), ABSENT);
	bench_release(&b);
}

/* Returns the number of series of a family, given as the beginning of their lines. */
static unsigned count_series(struct bench *b, const char *family)
{
	struct buf text = BUF_INIT(16 * MIB);
	struct str rest, line;
	unsigned n = 0;

	assert_int_equal(metrics_print(b->metrics, &text), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		n += str_starts(line, str_from(family));
	buf_release(&text);
	return n;
}

/* A pool with two devices, one of them shared, on a node of its own. */
static void add_pool(struct bench *b, unsigned i)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "node n%u", i);
	tell_line(b, str_from(line));
	(void)snprintf(line, sizeof(line), "slice s%u p%u 1/1 n%u g0 g1(multi,memory=10)", i, i, i);
	tell_line(b, str_from(line));
}

static void many_pools_share_a_series(void **state)
{
	enum { POOLS = DEVICE_METRICS_PLACES_MAX + 7 };
	struct bench b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < POOLS; i++)
		add_pool(&b, i);
	run(&b);
	assert_value(&b, DEVICES("other", "other", "Available", "NotReported"), 14);
	assert_value(&b, CAPACITY("other", "other", "memory"), 70);
	assert_value(&b, TOTAL("other", "other", "memory"), 70);
	assert_value(&b, SHARES("other", "other"), 0);
	assert_int_equal(count_series(&b, "devplane_device_capacity{"),
			 DEVICE_METRICS_PLACES_MAX + 1);
	assert_int_equal(count_series(&b, "devplane_device_shares{"),
			 DEVICE_METRICS_PLACES_MAX + 1);
	assert_int_equal(count_series(&b, "devplane_devices{"), DEVICE_METRICS_PLACES_MAX + 1);
	assert_int_equal(count_series(&b, "devplane_device_free_capacity{"),
			 DEVICE_METRICS_PLACES_MAX + 1);
	bench_release(&b);
}

static void a_deleted_pool_gives_its_series_to_another(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < DEVICE_METRICS_PLACES_MAX; i++)
		add_pool(&b, i);
	run(&b);
	add_pool(&b, 1000);
	run(&b);
	assert_value(&b, CAPACITY("p1000", "n1000", "memory"), ABSENT);
	assert_value(&b, CAPACITY("other", "other", "memory"), 10);
	tell(&b, "remove slice s7");
	run(&b);
	assert_value(&b, CAPACITY("p7", "n7", "memory"), ABSENT);
	/* The next change of its status moves the pool to its own series. */
	tell(&b, "claim ns/c p1000/g0");
	run(&b);
	assert_value(&b, CAPACITY("p1000", "n1000", "memory"), 10);
	assert_value(&b, DEVICES("p1000", "n1000", "Allocated", "NotReported"), 1);
	assert_value(&b, CAPACITY("other", "other", "memory"), ABSENT);
	assert_value(&b, DEVICES("other", "other", "Available", "NotReported"), ABSENT);
	bench_release(&b);
}

static void nodes_of_one_pool_are_bounded_too(void **state)
{
	enum { NODES = DEVICE_METRICS_PLACES_MAX + 3 };
	struct bench b;
	char line[64];

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < NODES; i++) {
		(void)snprintf(line, sizeof(line), "node n%u", i);
		tell_line(&b, str_from(line));
		(void)snprintf(line, sizeof(line), "slice s%u p 1/1 n%u g%u", i, i, i);
		tell_line(&b, str_from(line));
	}
	run(&b);
	assert_value(&b, DEVICES("other", "other", "Available", "NotReported"), 3);
	assert_int_equal(count_series(&b, "devplane_devices{"), DEVICE_METRICS_PLACES_MAX + 1);
	bench_release(&b);
}

static void report(struct bench *b, const char *health)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{\"metadata\":{\"name\":\"n1\",\"annotations\":{"
		       "\"devplane.dev/device-health\":\"[{\\\"id\\\":\\\"" WORLD_DRIVER
		       "/p/g0\\\",\\\"health\\\":\\\"%s\\\"}]\"}}}",
		       health);
	assert_int_equal(fakeapi_call(b->w->api, "PUT", "/api/v1/nodes/n1", str_from(body), NULL),
			 200);
	run(b);
}

#define PLACE(family)                                                              \
	"devplane_device_" family "_total{driver=\"" WORLD_DRIVER "\",pool=\"p\"," \
	"node=\"n1\""

static void changes_of_health_and_flaps_are_counted(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 n1 g0 g1");
	run(&b);
	assert_value(&b, PLACE("health_changes") ",health=\"Unhealthy\"} ", 0);
	report(&b, "Unhealthy");
	assert_value(&b, PLACE("health_changes") ",health=\"Unhealthy\"} ", 1);
	report(&b, "Unknown");
	report(&b, "Nonsense");
	report(&b, "Unhealthy");
	assert_value(&b, PLACE("health_changes") ",health=\"Unhealthy\"} ", 2);
	assert_value(&b, PLACE("health_changes") ",health=\"Unknown\"} ", 1);
	assert_value(&b, PLACE("health_flaps") "} ", 0);
	report(&b, "Nonsense");
	report(&b, "Unhealthy");
	assert_value(&b, PLACE("health_flaps") "} ", 1);
	/* After a quiet time, two failures do not count as a flap. */
	report(&b, "Nonsense");
	controller_world_run(b.w, 31 * 60 * 1000);
	report(&b, "Unhealthy");
	report(&b, "Nonsense");
	report(&b, "Unhealthy");
	assert_value(&b, PLACE("health_flaps") "} ", 1);
	bench_release(&b);
}

static void the_time_in_a_state_is_summed(void **state)
{
	struct bench b;
	double seconds;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 n1 g0 g1 g2");
	tell(&b, "claim ns/c p/g0");
	run(&b);
	controller_world_run(b.w, 100 * 1000);
	seconds = value(&b, PLACE("state_seconds") ",state=\"Available\"} ");
	assert_true(seconds > 190 && seconds < 210);
	seconds = value(&b, PLACE("state_seconds") ",state=\"Allocated\"} ");
	assert_true(seconds > 95 && seconds < 105);
	tell(&b, "remove claim ns/c");
	run(&b);
	controller_world_run(b.w, 100 * 1000);
	seconds = value(&b, PLACE("state_seconds") ",state=\"Available\"} ");
	assert_true(seconds > 490 && seconds < 515);
	assert_true(value(&b, "devplane_device_metrics_timestamp_seconds ") > 1);
	bench_release(&b);
}

/* The slices of a pool, with a capacity of a name of its own each. */
static void capacities_of_a_place_are_bounded(void **state)
{
	enum { PARTS = DEVICE_METRICS_CAPACITIES_MAX + 24 };
	struct bench b;
	char line[96];

	(void)state;
	begin(&b);
	for (unsigned i = 0; i < PARTS; i++) {
		(void)snprintf(line, sizeof(line), "slice s%u p 1/%u n1 g%u(multi,c%u=10)", i,
			       PARTS, i, i);
		tell_line(&b, str_from(line));
	}
	run(&b);
	assert_int_equal(count_series(&b, "devplane_device_free_capacity{"),
			 DEVICE_METRICS_CAPACITIES_MAX);
	assert_int_equal(count_series(&b, "devplane_device_capacity{"),
			 DEVICE_METRICS_CAPACITIES_MAX);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), PARTS);
	bench_release(&b);
}

static void metrics_of_a_stopped_controller_are_removed(void **state)
{
	struct bench b;

	(void)state;
	begin(&b);
	tell(&b, "slice a p 1/1 n1 g0");
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 1);
	bench_stop(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), ABSENT);
	bench_start(&b);
	run(&b);
	assert_value(&b, DEVICES("p", "n1", "Available", "NotReported"), 1);
	bench_release(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_counted_by_state_and_health),
		cmocka_unit_test(free_capacity_is_that_of_devices_that_can_be_had),
		cmocka_unit_test(capacity_in_total_does_not_depend_on_holders),
		cmocka_unit_test(shares_of_shareable_devices_are_counted),
		cmocka_unit_test(changes_of_health_and_flaps_are_counted),
		cmocka_unit_test(the_time_in_a_state_is_summed),
		cmocka_unit_test(many_pools_share_a_series),
		cmocka_unit_test(a_deleted_pool_gives_its_series_to_another),
		cmocka_unit_test(nodes_of_one_pool_are_bounded_too),
		cmocka_unit_test(capacities_of_a_place_are_bounded),
		cmocka_unit_test(metrics_of_a_stopped_controller_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

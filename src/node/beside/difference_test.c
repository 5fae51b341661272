/*
 * Differences between a kubelet's reports of device health and ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "node/beside/difference.h"

enum { GRACE_MS = 1000 };

struct fixture {
	struct arena a;
	struct beside_differences d;
	struct buf lines;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){ 0 };
	arena_init(&f.a, MIB);
	buf_init(&f.lines, KIB);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	beside_differences_release(&f->d);
	buf_release(&f->lines);
	arena_release(&f->a);
	return 0;
}

static void on_tell(void *arg, const struct beside_difference *d, bool over)
{
	struct fixture *f = arg;

	(void)buf_printf(&f->lines, "%s%s %s %s\n", over ? "-" : "+", d->id,
			 assign_health_name(d->kubelet), assign_health_name(d->driver));
}

/* A status whose container has the device; NULL: without reports. */
static struct json *status_of(struct fixture *f, const char *health)
{
	struct json *v;
	const char *text = "{}";

	if (health)
		text = arena_printf(&f->a,
				    "{\"containerStatuses\":[{\"name\":\"main\","
				    "\"allocatedResourcesStatus\":[{\"name\":\"claim:gpu\","
				    "\"resources\":[{\"resourceID\":\"d/p/gpu0\",\"health\":\"%s\"}"
				    "]}]}]}",
				    health);
	assert_int_equal(json_parse(&f->a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static void compare(struct fixture *f, const char *kubelet, const char *ours, int64_t now_ms)
{
	beside_differences_compare(&f->d, status_of(f, kubelet), status_of(f, ours), now_ms,
				   on_tell, f);
}

static void expect(struct fixture *f, int64_t now_ms, int64_t next, const char *lines)
{
	assert_int_equal(beside_differences_due(&f->d, GRACE_MS, now_ms, on_tell, f), next);
	assert_string_equal(f->lines.n > 0 ? f->lines.p : "", lines);
	buf_clear(&f->lines);
}

static void a_difference_counts_once_after_the_grace_period(void **state)
{
	struct fixture *f = *state;

	compare(f, "Healthy", "Unhealthy", 0);
	expect(f, 0, GRACE_MS, "");
	compare(f, "Healthy", "Unhealthy", 500);
	expect(f, 999, GRACE_MS, "");
	expect(f, 1000, INT64_MAX, "+d/p/gpu0 Healthy Unhealthy\n");
	assert_int_equal(f->d.counted, 1);
	compare(f, "Healthy", "Unhealthy", 5000);
	expect(f, 9000, INT64_MAX, "");
}

static void a_kubelet_that_follows_in_time_does_not_count(void **state)
{
	struct fixture *f = *state;

	compare(f, "Healthy", "Unhealthy", 0);
	compare(f, "Unhealthy", "Unhealthy", 900);
	expect(f, 2000, INT64_MAX, "");
}

static void the_end_of_a_counted_difference_is_reported(void **state)
{
	struct fixture *f = *state;

	compare(f, "Healthy", "Unknown", 0);
	expect(f, 1000, INT64_MAX, "+d/p/gpu0 Healthy Unknown\n");
	compare(f, "Unknown", "Unknown", 1100);
	expect(f, 1100, INT64_MAX, "-d/p/gpu0 Healthy Unknown\n");
	assert_int_equal(f->d.counted, 0);
}

static void another_difference_of_the_device_begins_anew(void **state)
{
	struct fixture *f = *state;

	compare(f, "Healthy", "Unhealthy", 0);
	expect(f, 1000, INT64_MAX, "+d/p/gpu0 Healthy Unhealthy\n");
	compare(f, "Healthy", "Unknown", 1500);
	expect(f, 1500, 2500, "");
	expect(f, 2500, INT64_MAX, "+d/p/gpu0 Healthy Unknown\n");
	assert_int_equal(f->d.counted, 1);
}

static void a_kubelet_without_reports_does_not_differ(void **state)
{
	struct fixture *f = *state;

	compare(f, NULL, "Unhealthy", 0);
	compare(f, "Unhealthy", NULL, 0);
	expect(f, 2000, INT64_MAX, "");
}

static void a_container_that_has_ended_does_not_differ(void **state)
{
	struct fixture *f = *state;
	struct json *kubelet = status_of(f, "Unknown"), *ours = status_of(f, "Healthy");
	struct json *container = json_first(json_getz(kubelet, "containerStatuses"));

	(void)json_need_object(&f->a, json_need_object(&f->a, container, "state"), "terminated");
	beside_differences_compare(&f->d, kubelet, ours, 0, on_tell, f);
	expect(f, 2000, INT64_MAX, "");
}

static void a_pod_that_is_gone_ends_its_differences(void **state)
{
	struct fixture *f = *state;

	compare(f, "Healthy", "Unhealthy", 0);
	expect(f, 1000, INT64_MAX, "+d/p/gpu0 Healthy Unhealthy\n");
	beside_differences_compare(&f->d, NULL, NULL, 1000, on_tell, f);
	expect(f, 1000, INT64_MAX, "-d/p/gpu0 Healthy Unhealthy\n");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_difference_counts_once_after_the_grace_period),
		T(a_kubelet_that_follows_in_time_does_not_count),
		T(the_end_of_a_counted_difference_is_reported),
		T(another_difference_of_the_device_begins_anew),
		T(a_kubelet_without_reports_does_not_differ),
		T(a_container_that_has_ended_does_not_differ),
		T(a_pod_that_is_gone_ends_its_differences),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The order of finished pods.
 */
#include "controller/pod_garbage/finished.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"

static void put(struct finished_pods *f, const char *name, const char *created, const char *status)
{
	struct arena a;
	struct json *pod;
	char *text;

	arena_init(&a, MIB);
	text = arena_printf(
		&a, "{\"metadata\":{\"name\":\"%s\",\"creationTimestamp\":\"%s\"},\"status\":{%s}}",
		name, created, status);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &pod, NULL), 0);
	finished_pods_put(f, str_from(arena_printf(&a, "ns/%s", name)), pod);
	arena_release(&a);
}

static void append(void *arg, struct str key)
{
	(void)buf_printf(arg, "%.*s ", STR_ARG(key));
}

static void assert_first(const struct finished_pods *f, size_t n, const char *wanted)
{
	struct buf text = BUF_INIT(KIB);

	finished_pods_first(f, n, append, &text);
	if (!str_eqz(buf_str(&text), wanted))
		fail_msg("%.*s", STR_ARG(buf_str(&text)));
	buf_release(&text);
}

static void evicted_ones_then_older_ones_then_by_name(void **state UNUSED)
{
	struct finished_pods f;

	finished_pods_init(&f);
	put(&f, "young", "2026-01-03T00:00:00Z", "\"phase\":\"Succeeded\"");
	put(&f, "old", "2026-01-01T00:00:00Z", "\"phase\":\"Failed\"");
	put(&f, "evicted", "2026-01-04T00:00:00Z", "\"phase\":\"Failed\",\"reason\":\"Evicted\"");
	put(&f, "b", "2026-01-02T00:00:00Z", "\"phase\":\"Failed\"");
	put(&f, "a", "2026-01-02T00:00:00Z", "\"phase\":\"Succeeded\",\"reason\":\"Evicted\"");
	put(&f, "running", "2020-01-01T00:00:00Z", "\"phase\":\"Running\"");
	put(&f, "none", "2020-01-01T00:00:00Z", "");
	assert_int_equal(finished_pods_count(&f), 5);
	assert_first(&f, 9, "ns/evicted ns/old ns/a ns/b ns/young ");
	assert_first(&f, 2, "ns/evicted ns/old ");
	put(&f, "old", "2026-01-01T00:00:00Z", "\"phase\":\"Failed\"");
	assert_int_equal(finished_pods_count(&f), 5);
	put(&f, "old", "2026-01-01T00:00:00Z", "\"phase\":\"Running\"");
	finished_pods_remove(&f, STR("ns/a"));
	finished_pods_remove(&f, STR("ns/unknown"));
	assert_first(&f, 9, "ns/evicted ns/b ns/young ");
	assert_true(finished_pods_has(&f, STR("ns/b")));
	assert_false(finished_pods_has(&f, STR("ns/a")));
	finished_pods_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evicted_ones_then_older_ones_then_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

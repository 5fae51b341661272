#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "devplane/driver.h"
#include "drivers/gpu_health/book.h"

#define GPU  STR("GPU-1")
#define TIME (INT64_C(1767323045) * CLOCK_SEC)

static const struct gpu_health_opts defaults;

static int setup(void **state)
{
	static char folder[] = "/tmp/gpu-book-XXXXXX";

	(void)snprintf(folder, sizeof(folder), "/tmp/gpu-book-XXXXXX");
	*state = mkdtemp(folder);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	folder_fixture_remove(*state);
	return 0;
}

static const char *file_in(const char *folder)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/health.json", folder);
	return path;
}

static struct gpu_health_book *broken_book(void)
{
	CLEANUP(xid_rules_free) struct xid_rules *rules = xid_rules_new();
	struct gpu_health_book *b = gpu_health_book_new();
	struct gpu_xid x = { .xid = 48, .at_ns = TIME };

	(void)gpu_health_note_xid(gpu_health_book_get(b, GPU), &x, xid_rules_find(rules, 48));
	(void)gpu_health_book_get(b, STR("GPU-2"));
	return b;
}

static uint32_t health_of(struct gpu_health_book *b, struct gpu_health_view *v)
{
	gpu_health_view(gpu_health_book_get(b, GPU), &defaults, v);
	return v->health;
}

static void a_restart_forgets_nothing(void **state)
{
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = broken_book();
	CLEANUP(gpu_health_book_free) struct gpu_health_book *again = gpu_health_book_new();
	struct gpu_health_view before, after;

	assert_int_equal(gpu_health_book_save(b, file_in(*state), "boot-1", NULL), 0);
	assert_int_equal(gpu_health_book_load(again, file_in(*state), "boot-1", NULL), 0);
	assert_int_equal(health_of(b, &before), DP_UNHEALTHY);
	assert_int_equal(health_of(again, &after), DP_UNHEALTHY);
	assert_string_equal(before.message, after.message);
	assert_string_equal(after.taints[0].value, "48");
}

static void a_reboot_lets_the_poll_decide(void **state)
{
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = broken_book();
	CLEANUP(gpu_health_book_free) struct gpu_health_book *again = gpu_health_book_new();
	struct gpu_health_view v;

	assert_int_equal(gpu_health_book_save(b, file_in(*state), "boot-1", NULL), 0);
	assert_int_equal(gpu_health_book_load(again, file_in(*state), "boot-2", NULL), 0);
	assert_int_equal(health_of(again, &v), DP_UNKNOWN);
	assert_int_equal(v.ntaints, 0);
}

static void a_machine_without_boot_id_keeps_nothing(void **state)
{
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = broken_book();
	CLEANUP(gpu_health_book_free) struct gpu_health_book *again = gpu_health_book_new();
	struct gpu_health_view v;

	assert_int_equal(gpu_health_book_save(b, file_in(*state), "", NULL), 0);
	assert_int_equal(gpu_health_book_load(again, file_in(*state), "", NULL), 0);
	assert_int_equal(health_of(again, &v), DP_UNKNOWN);
}

static void a_missing_file_is_an_empty_book(void **state)
{
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = gpu_health_book_new();

	assert_int_equal(gpu_health_book_load(b, file_in(*state), "boot-1", NULL), 0);
}

static void fields_of_newer_versions_are_tolerated(void **state)
{
	static const char text[] =
		"{\"version\":7,\"new\":[1],\"bootID\":\"b\",\"gpus\":{\"GPU-1\":{\"new\":{},"
		"\"findings\":[{\"finding\":\"haunted\",\"at\":\"2026-01-02T03:04:05Z\"},"
		"{\"finding\":\"lost\",\"at\":\"2026-01-02T03:04:05Z\",\"new\":1}]}}}";
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = gpu_health_book_new();
	struct gpu_health_view v;

	(void)state;
	assert_int_equal(gpu_health_book_parse(b, str_from(text), "b", NULL), 0);
	assert_int_equal(health_of(b, &v), DP_UNHEALTHY);
	assert_int_equal(v.ntaints, 1);
}

static const char half_good[] =
	"{\"bootID\":\"b\",\"gpus\":{\"GPU-1\":{\"findings\":[{\"finding\":\"lost\",\"at\":"
	"\"2026-01-02T03:04:05Z\"},{\"finding\":\"lost\"}]}}}";

static void a_damaged_file_starts_anew(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"bootID\":\"b\"}",
		"{\"bootID\":1,\"gpus\":{}}",
		"{\"bootID\":\"b\",\"gpus\":{\"GPU-1\":{}}}",
		"{\"bootID\":\"b\",\"gpus\":{\"\":{\"findings\":[]}}}",
		"{\"bootID\":\"b\",\"gpus\":{\"GPU-1\":{\"findings\":[{\"finding\":\"lost\"}]}}}",
		half_good,
	};
	struct gpu_health_view v;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(gpu_health_book_free) struct gpu_health_book *b = gpu_health_book_new();
		struct error err = { .msg = "" };

		assert_int_equal(file_write_atomic(file_in(*state), str_from(texts[i]), 0600, NULL),
				 0);
		assert_int_equal(gpu_health_book_load(b, file_in(*state), "b", &err), -ERR_INVALID);
		assert_non_null(strstr(err.msg, "the health of GPUs starts anew: "));
		assert_non_null(strstr(err.msg, "the file is damaged"));
		assert_int_equal(health_of(b, &v), DP_UNKNOWN);
	}
}

static void a_book_has_a_limit(void **state)
{
	CLEANUP(gpu_health_book_free) struct gpu_health_book *b = gpu_health_book_new();
	struct gpu_health *first = gpu_health_book_get(b, STR("0"));
	char uuid[16];

	(void)state;
	for (int i = 0; i < 256; i++) {
		(void)snprintf(uuid, sizeof(uuid), "%d", i);
		assert_non_null(gpu_health_book_get(b, str_from(uuid)));
	}
	assert_null(gpu_health_book_get(b, STR("256")));
	assert_ptr_equal(gpu_health_book_get(b, STR("0")), first);
	assert_null(gpu_health_book_get(b, STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_restart_forgets_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reboot_lets_the_poll_decide, setup, teardown),
		cmocka_unit_test_setup_teardown(a_machine_without_boot_id_keeps_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_missing_file_is_an_empty_book, setup, teardown),
		cmocka_unit_test(fields_of_newer_versions_are_tolerated),
		cmocka_unit_test_setup_teardown(a_damaged_file_starts_anew, setup, teardown),
		cmocka_unit_test(a_book_has_a_limit),
	};

	return cmocka_run_group_tests_name("book", tests, NULL, NULL);
}

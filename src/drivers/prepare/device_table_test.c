/*
 * Valid lists of devices, and those that are rejected with an error message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/prepare/device_table.h"

#include "base/core/mem.h"

static const struct device_defaults defaults = { .pool = { "node-1", 6 },
						 .timeout_s = 30,
						 .now_s = 100 };

/* The text of the refusal of one device; "" when it is taken. */
static const char *refusal(struct dp_device *d, struct error *err)
{
	struct device_table *t = NULL;

	d->size = sizeof(*d);
	err->msg[0] = 0;
	if (device_table_new(d, 1, &defaults, &t, err) == 0)
		device_table_free(t);
	else
		assert_null(t);
	return err->msg;
}

static void assert_text(const struct json *v, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(65536);

	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, want);
}

static void a_device_becomes_what_a_slice_has(void **state UNUSED)
{
	struct dp_attribute a[] = { { sizeof(a[0]), DP_STRING, "model", "x", 0 },
				    { sizeof(a[0]), DP_INT, "example.com/index", NULL, -7 },
				    { sizeof(a[0]), DP_BOOL, "ecc", NULL, 2 },
				    { sizeof(a[0]), DP_VERSION, "driver", "1.2.3", 0 } };
	struct dp_capacity c = { sizeof(c), 0, "memory", "1024Mi" };
	struct dp_taint t = { sizeof(t), 0, "example.com/old", NULL, "NoExecute" };
	struct dp_device d[] = { { sizeof(d[0]), DP_HEALTHY, "gpu-0", NULL, a, &c, &t, 4, 1, 1 },
				 { sizeof(d[0]), DP_UNHEALTHY, "gpu-0", "other", .message = "hot",
				   .health_timeout_s = 5, .has_numa = 1, .numa = 0 } };
	CLEANUP(device_table_free) struct device_table *table = NULL;
	struct device *found;

	assert_int_equal(device_table_new(d, 2, &defaults, &table, NULL), 0);
	assert_text(
		table->v[0].spec,
		"{\"name\":\"gpu-0\",\"attributes\":{\"model\":{\"string\":\"x\"},"
		"\"example.com/index\":{\"int\":-7},\"ecc\":{\"bool\":true},"
		"\"driver\":{\"version\":\"1.2.3\"}},\"capacity\":{\"memory\":{\"value\":\"1Gi\"}},"
		"\"taints\":[{\"key\":\"example.com/old\",\"effect\":\"NoExecute\"}]}");
	assert_text(table->v[1].spec, "{\"name\":\"gpu-0\"}");
	found = device_table_find(table, STR("node-1"), STR("gpu-0"));
	assert_ptr_equal(found, &table->v[0]);
	assert_int_equal(found->timeout_s, 30);
	assert_int_equal(found->numa, -1);
	found = device_table_find(table, STR("other"), STR("gpu-0"));
	assert_ptr_equal(found, &table->v[1]);
	assert_int_equal(found->timeout_s, 5);
	assert_int_equal(found->numa, 0);
	assert_string_equal(found->message, "hot");
	assert_null(device_table_find(table, STR("other"), STR("gpu-1")));
}

static void devices_that_the_api_would_reject_are_rejected(void **state UNUSED)
{
	struct dp_attribute a = { sizeof(a), DP_VERSION, "v", "1.0", 0 };
	struct dp_capacity c = { sizeof(c), 0, "memory", "lots" };
	struct dp_taint t = { sizeof(t), 0, "key", NULL, "Sometimes" };
	struct dp_device bad[] = {
		{ .name = "GPU_0" },
		{ .name = NULL },
		{ .name = "a", .health = 4 },
		{ .name = "a", .attributes = &a, .nattributes = 1 },
		{ .name = "a", .capacity = &c, .ncapacity = 1 },
		{ .name = "a", .taints = &t, .ntaints = 1 },
		{ .name = "a", .attributes = &a, .nattributes = 33 },
		{ .name = "a", .taints = &t, .ntaints = 16 },
	};
	static const char *const words[] = {
		"GPU_0",  "device \"\"",  "health is invalid", "attribute", "capacity \"memory\"",
		"effect", "more than 32", "more than 15"
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_non_null(strstr(refusal(&bad[i], &err), words[i]));
}

static void a_device_that_comes_twice_is_refused(void **state UNUSED)
{
	struct dp_device d[] = { { .size = sizeof(d[0]), .name = "a" },
				 { .size = sizeof(d[0]), .name = "a", .pool = "node-1" } };
	struct device_table *t;
	struct error err;

	assert_int_equal(device_table_new(d, 2, &defaults, &t, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "twice"));
}

/* A vendor that was compiled with a later header has longer structs. */
static void longer_structs_are_read_by_their_own_size(void **state UNUSED)
{
	struct {
		struct dp_device d;
		uint64_t later[3];
	} v[2] = { { .d = { .size = sizeof(v[0]), .name = "a" }, .later = { 1, 2, 3 } },
		   { .d = { .size = sizeof(v[0]), .name = "b" }, .later = { 4, 5, 6 } } };
	CLEANUP(device_table_free) struct device_table *t = NULL;

	assert_int_equal(device_table_new(&v[0].d, 2, &defaults, &t, NULL), 0);
	assert_int_equal(t->n, 2);
	assert_string_equal(t->v[1].name.p, "b");
}

static void structs_without_a_size_are_refused(void **state UNUSED)
{
	struct dp_device d = { .size = 8, .name = "a" };
	struct device_table *t;
	struct error err;

	assert_int_equal(device_table_new(&d, 1, &defaults, &t, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "size"));
}

static void messages_are_cut_between_characters(void **state UNUSED)
{
	char *long_text = xmalloc(70001), *m;

	for (size_t i = 0; i < 70000; i += 2)
		memcpy(long_text + i, "\xc3\xbc", 2);
	long_text[70000] = 0;
	m = device_message_dup(long_text + 1 - 1);
	assert_int_equal(strlen(m), 65536);
	free(m);
	memmove(long_text + 1, long_text, 69999);
	long_text[0] = 'x';
	long_text[69999] = 0;
	m = device_message_dup(long_text);
	assert_int_equal(strlen(m), 65535);
	assert_true(str_is_utf8(str_from(m)));
	free(m);
	assert_null(device_message_dup(""));
	assert_null(device_message_dup("\xff"));
	free(long_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_becomes_what_a_slice_has),
		cmocka_unit_test(devices_that_the_api_would_reject_are_rejected),
		cmocka_unit_test(a_device_that_comes_twice_is_refused),
		cmocka_unit_test(longer_structs_are_read_by_their_own_size),
		cmocka_unit_test(structs_without_a_size_are_refused),
		cmocka_unit_test(messages_are_cut_between_characters),
	};

	return cmocka_run_group_tests_name("drivers/device_table", tests, NULL, NULL);
}

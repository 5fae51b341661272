/*
 * Records of a pool's devices: bounds, and changes that are there already.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "controller/device_history/record.h"

struct fixture {
	struct arena arena;
	struct json *object;
};

static void begin(struct fixture *f)
{
	arena_init(&f->arena, 64 * MIB);
	f->object = json_make_object(&f->arena);
}

static void end(struct fixture *f)
{
	arena_release(&f->arena);
}

static void add(struct fixture *f, const char *device, const char *from, const char *to, int second)
{
	struct json *change = json_make_object(&f->arena);

	json_put_str(&f->arena, change, "time",
		     str_from(arena_printf(&f->arena, "2026-11-18T03:%02d:%02dZ", second / 60,
					   second % 60)));
	json_put_str(&f->arena, change, "field", STR("state"));
	json_put_str(&f->arena, change, "from", str_from(from));
	json_put_str(&f->arena, change, "to", str_from(to));
	device_record_add(f->object, str_from(device), change, &f->arena);
}

static struct json *device(struct fixture *f, const char *name)
{
	return json_find(json_pointer(f->object, STR("/status/devices")), "name", str_from(name));
}

static size_t changes(struct fixture *f, const char *name)
{
	return json_count(json_getz(device(f, name), "changes"));
}

static void a_device_keeps_its_newest_changes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	for (int i = 0; i < 40; i++)
		add(&f, "g", i % 2 ? "B" : "A", i % 2 ? "A" : "B", i);
	assert_int_equal(changes(&f, "g"), DEVICE_RECORD_CHANGES_MAX);
	assert_int_equal(json_i64_at(device(&f, "g"), "omittedChanges", 0), 8);
	assert_true(str_eqz(json_text_at(json_getz(f.object, "status"), "lastChangeTime"),
			    "2026-11-18T03:00:39Z"));
	assert_true(str_eqz(device_record_last(device(&f, "g"), "state"), "A"));
	assert_int_equal(device_record_last(device(&f, "g"), "health").n, 0);
	end(&f);
}

static void a_change_that_is_there_already_is_not_added(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, "g", "A", "B", 1);
	add(&f, "g", "A", "B", 2);
	assert_int_equal(changes(&f, "g"), 1);
	add(&f, "g", "B", "B", 3); /* another holder */
	assert_int_equal(changes(&f, "g"), 2);
	end(&f);
}

static size_t printed(const struct fixture *f)
{
	struct buf text = BUF_INIT(MIB);
	size_t n;

	assert_int_equal(json_print(&text, f->object, NULL), 0);
	n = text.n;
	buf_release(&text);
	return n;
}

static void trimming_takes_from_the_devices_that_have_most(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	add(&f, "quiet", "A", "B", 0);
	for (int i = 0; i < 30; i++)
		add(&f, "loud", i % 2 ? "B" : "A", i % 2 ? "A" : "B", i);
	assert_true(printed(&f) > 1000);
	device_record_trim(f.object, 1000, &f.arena);
	assert_true(printed(&f) <= 1000);
	assert_int_equal(changes(&f, "quiet"), 1);
	assert_in_range(changes(&f, "loud"), 2, 20);
	assert_int_equal(changes(&f, "loud") +
				 (size_t)json_i64_at(device(&f, "loud"), "omittedChanges", 0),
			 30);
	device_record_trim(f.object, 100, &f.arena);
	assert_null(device(&f, "quiet"));
	end(&f);
}

static void a_pool_has_a_bounded_number_of_devices(void **state)
{
	struct fixture f;
	char name[32];

	(void)state;
	begin(&f);
	for (int i = 0; i < DEVICE_RECORD_DEVICES_MAX + 10; i++) {
		(void)snprintf(name, sizeof(name), "g%d", i);
		add(&f, arena_strdup(&f.arena, str_from(name)), "A", "B", 0);
	}
	assert_int_equal(json_count(json_pointer(f.object, STR("/status/devices"))),
			 DEVICE_RECORD_DEVICES_MAX);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_keeps_its_newest_changes),
		cmocka_unit_test(a_change_that_is_there_already_is_not_added),
		cmocka_unit_test(trimming_takes_from_the_devices_that_have_most),
		cmocka_unit_test(a_pool_has_a_bounded_number_of_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

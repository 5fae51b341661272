/*
 * Limits of pods, without files.
 */
#include "drivers/disk/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"

#define M INT64_C(1048576)

static int set_up(void **state)
{
	struct disk_limits *l = XNEW(struct disk_limits);

	disk_limits_init(l);
	*state = l;
	return 0;
}

static int tear_down(void **state)
{
	disk_limits_release(*state);
	free(*state);
	return 0;
}

static void put(struct disk_limits *l, const char *uid, int64_t created, int64_t write,
		const char *device)
{
	struct disk_limits_pod p = { .created = created, .request = { 0, write * M } };

	(void)snprintf(p.uid, sizeof(p.uid), "%s", uid);
	(void)snprintf(p.device, sizeof(p.device), "%s", device);
	disk_limits_put(l, &p);
}

/* MiB/s that the pod may write on a primary device sda of 100, which so many pods use. */
static int64_t limit_of(struct disk_limits *l, const char *uid, size_t users)
{
	struct disk_limits_device d = { .name = "sda",
					.primary = true,
					.capacity = { 0, 100 * M },
					.users = { users, users } };

	disk_limits_grant(l, &d);
	assert_int_equal(disk_limits_of(l, &d, str_from(uid), DISK_READ), 0);
	return disk_limits_of(l, &d, str_from(uid), DISK_WRITE) / M;
}

static void nobody_is_limited_where_nobody_requests(void **state)
{
	struct disk_limits *l = *state;

	assert_int_equal(limit_of(l, "a", 3), 0);
	put(l, "b", 1, 40, "sdb");
	assert_int_equal(limit_of(l, "a", 3), 0);
	assert_int_equal(limit_of(l, "b", 3), 0);
}

static void limits_add_up_to_the_capacity(void **state)
{
	struct disk_limits *l = *state;

	put(l, "a", 1, 60, "");
	/* Alone, it may do all that there is. */
	assert_int_equal(limit_of(l, "a", 1), 100);
	assert_int_equal(limit_of(l, "a", 2), 80);
	assert_int_equal(limit_of(l, "other", 2), 20);
	put(l, "b", 2, 30, "sda");
	assert_int_equal(limit_of(l, "a", 2), 65);
	assert_int_equal(limit_of(l, "b", 2), 35);
	disk_limits_remove(l, STR("a"));
	assert_int_equal(limit_of(l, "b", 2), 65);
	assert_int_equal(limit_of(l, "a", 2), 35);
	assert_int_equal(limit_of(l, "b", 0), 100);
}

static void a_pod_that_asks_for_too_much_takes_nothing_from_others(void **state)
{
	struct disk_limits *l = *state;

	put(l, "b", 2, 1000, "");
	put(l, "a", 1, 60, "");
	assert_int_equal(limit_of(l, "a", 2), 60);
	assert_int_equal(limit_of(l, "b", 2), 40);
	assert_int_equal(limit_of(l, "other", 2), DISK_LIMIT_MIN / M);
	/* An author raises the request of an older pod. */
	put(l, "a", 1, 100, "");
	assert_int_equal(limit_of(l, "a", 2), 60);
	assert_int_equal(limit_of(l, "b", 2), 40);
	/* And lowers it again. */
	put(l, "a", 1, 10, "");
	assert_int_equal(limit_of(l, "a", 2), 10);
	assert_int_equal(limit_of(l, "b", 2), 90);
}

static void a_pod_that_moves_to_another_device_begins_anew(void **state)
{
	struct disk_limits *l = *state;

	put(l, "a", 1, 60, "sdb");
	put(l, "b", 2, 70, "");
	assert_int_equal(limit_of(l, "b", 2), 85);
	put(l, "a", 1, 60, "sda");
	assert_int_equal(limit_of(l, "b", 2), 70);
	assert_int_equal(limit_of(l, "a", 2), 30);
}

static unsigned weight_of(struct disk_limits *l, const char *uid, int64_t read_capacity)
{
	struct disk_limits_device d = { .name = "sda",
					.primary = true,
					.capacity = { read_capacity * M, 100 * M },
					.users = { 2, 2 } };

	disk_limits_grant(l, &d);
	return disk_limits_weight(l, &d, str_from(uid));
}

static void weights_have_the_proportion_of_the_limits(void **state)
{
	struct disk_limits_pod reader = { .uid = "r", .created = 2, .request = { 150 * M, 0 } };
	struct disk_limits *l = *state;

	assert_int_equal(weight_of(l, "a", 0), 0);
	put(l, "a", 1, 60, "");
	/* Limits of 80 and 20 of 100. */
	assert_int_equal(weight_of(l, "a", 0), 8000);
	assert_int_equal(weight_of(l, "other", 0), 2000);
	/* Limits of 25 of 200 to read, and of 80 of 100 to write. */
	disk_limits_put(l, &reader);
	assert_int_equal(weight_of(l, "a", 200), 8000);
	assert_int_equal(weight_of(l, "r", 200), 8750);
	/* The smallest limit is more than the device can do. */
	disk_limits_remove(l, STR("r"));
	put(l, "a", 1, 100, "");
	assert_int_equal(weight_of(l, "a", 0), DISK_WEIGHT_MAX);
	assert_int_equal(weight_of(l, "other", 0), 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_is_limited_where_nobody_requests),
		TEST(limits_add_up_to_the_capacity),
		TEST(a_pod_that_asks_for_too_much_takes_nothing_from_others),
		TEST(a_pod_that_moves_to_another_device_begins_anew),
		TEST(weights_have_the_proportion_of_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

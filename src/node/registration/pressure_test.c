/*
 * Memory and disk pressure, in made-up trees.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/str.h"
#include "base/system/file.h"
#include "node/registration/pressure.h"

enum { MINUTE = 60000 };

static char dir[] = "/tmp/node-pressure-XXXXXX";

static int make_dir(void **state UNUSED)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state UNUSED)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/meminfo", dir);
	(void)unlink(path);
	return rmdir(dir);
}

static void put_memory(const char *text)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/meminfo", dir);
	assert_int_equal(file_write_atomic(path, str_from(text), 0600, NULL), 0);
}

static void low_memory_is_noticed_and_forgotten_after_five_minutes(void **state UNUSED)
{
	struct node_pressure p = { 0 };

	put_memory("MemTotal: 8000000 kB\nMemAvailable:  102400 kB\nBuffers: 1 kB\n");
	node_pressure_look(&p, dir, NULL, 0);
	assert_false(p.memory);
	put_memory("MemTotal: 8000000 kB\nMemAvailable:  102399 kB\nBuffers: 1 kB\n");
	node_pressure_look(&p, dir, NULL, MINUTE);
	assert_true(p.memory);
	put_memory("MemTotal: 8000000 kB\nMemAvailable:  800000 kB\n");
	node_pressure_look(&p, dir, NULL, 5 * MINUTE);
	assert_true(p.memory);
	node_pressure_look(&p, dir, NULL, 6 * MINUTE);
	assert_false(p.memory);
}

static void unreadable_memory_or_disk_means_no_pressure(void **state UNUSED)
{
	struct node_pressure p = { 0 };

	put_memory("nonsense");
	node_pressure_look(&p, dir, "/nowhere/at/all", 0);
	node_pressure_look(&p, "/nowhere/at/all", NULL, 0);
	assert_false(p.memory);
	assert_false(p.disk);
	assert_int_equal(p.storage_bytes, 0);
}

static void a_file_system_has_a_size(void **state UNUSED)
{
	struct node_pressure p = { 0 };

	node_pressure_look(&p, NULL, dir, 0);
	assert_true(p.storage_bytes > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(low_memory_is_noticed_and_forgotten_after_five_minutes),
		cmocka_unit_test(unreadable_memory_or_disk_means_no_pressure),
		cmocka_unit_test(a_file_system_has_a_size),
	};

	return cmocka_run_group_tests_name("node/node_pressure", tests, make_dir, remove_dir);
}

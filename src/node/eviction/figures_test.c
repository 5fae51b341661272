#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "node/eviction/figures.h"

static void meminfo_has_both_figures(void **state)
{
	struct eviction_figure f = { 0 };

	(void)state;
	assert_true(eviction_figures_memory(STR("MemTotal:       16308308 kB\nMemFree: 1 kB\n"
						"MemAvailable:    123 kB\nBuffers: 7 kB\n"),
					    &f));
	assert_true(f.known);
	assert_int_equal(f.capacity, INT64_C(16308308) * 1024);
	assert_int_equal(f.available, 123 * 1024);
}

static void nonsense_is_unknown(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n\n",
		"MemTotal: 1 kB\n",
		"MemAvailable: 1 kB\n",
		"MemTotal: 1 kB\nMemAvailable: \n",
		"MemTotal: 1 kB\nMemAvailable: kB\n",
		"MemTotal: 1 kB\nMemAvailable: 1 MB\n",
		"MemTotal: 1 kB\nMemAvailable: -1 kB\n",
		"MemTotal: 1 kB\nMemAvailable: 9223372036854775807 kB\n",
		"MemTotal: 1 kB\nMemAvailable: 99999999999999999999999 kB\n",
		"MemTotal: 1 kB\nMemAvailable: 1e3 kB\n",
		"MemTotal: 1 kB\n MemAvailable: 1 kB\n",
	};
	struct eviction_figure f = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (eviction_figures_memory(str_from(bad[i]), &f) || f.known)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void file_systems_are_read_where_there_are_some(void **state)
{
	struct eviction_machine m = { .nodefs = "/tmp", .imagefs = "/nowhere/at/all" };
	struct eviction_figure f[EVICTION_SIGNALS];

	(void)state;
	eviction_figures_read(&m, f);
	assert_false(f[EVICTION_MEMORY].known);
	assert_true(f[EVICTION_NODEFS].known);
	assert_true(f[EVICTION_NODEFS].capacity >= f[EVICTION_NODEFS].available);
	assert_false(f[EVICTION_IMAGEFS].known);
	assert_true(eviction_figures_same("/tmp", "/tmp"));
	assert_false(eviction_figures_same("/tmp", "/proc"));
	assert_false(eviction_figures_same("/tmp", "/nowhere"));
}

static void usage_stops_at_its_limit(void **state)
{
	int64_t bytes = 0, inodes = 0;
	char dir[64], path[128];
	size_t left = 100;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/tmp/figures-XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 10; i++) {
		(void)snprintf(path, sizeof(path), "%s/%d", dir, i);
		assert_int_equal(file_write_atomic(path, STR("12345"), 0600, NULL), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("/usr", path), 0);
	eviction_figures_usage(dir, &left, &bytes, &inodes);
	assert_int_equal(inodes, 12);
	assert_int_equal(left, 88);
	assert_true(bytes > 0);
	left = 5;
	eviction_figures_usage(dir, &left, &bytes, &inodes);
	assert_int_equal(left, 0);
	assert_int_equal(inodes, 17);
	eviction_figures_usage("/nowhere/at/all", &left, &bytes, &inodes);
	folder_fixture_remove(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(meminfo_has_both_figures),
		cmocka_unit_test(nonsense_is_unknown),
		cmocka_unit_test(file_systems_are_read_where_there_are_some),
		cmocka_unit_test(usage_stops_at_its_limit),
	};

	return cmocka_run_group_tests_name("node/eviction_figures", tests, NULL, NULL);
}

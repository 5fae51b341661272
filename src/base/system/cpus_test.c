/* The quota's text, the cgroup's ancestors, and the mask of this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sched.h>

#include "base/core/compiler.h"
#include "base/system/cpus.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"

static void a_quota_is_rounded_up(void **state UNUSED)
{
	static const struct {
		const char *text;
		size_t want;
	} v[] = {
		{ "max 100000\n", 0 },
		{ "100000 100000\n", 1 },
		{ "100001 100000", 2 },
		{ "50000 100000\n", 1 },
		{ "1000 100000\n", 1 },
		{ "250000 100000\n", 3 },
		{ "1600000 100000\n", 16 },
		{ "30000 10000\n", 3 },
		/* Not valid. */
		{ "", 0 },
		{ "max", 0 },
		{ "100000", 0 },
		{ "0 100000", 0 },
		{ "100000 0", 0 },
		{ "-1 100000", 0 },
		{ "100000 100000 1", 0 },
		{ "100000  100000", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		if (cpus_quota(str_from(v[i].text)) != v[i].want)
			fail_msg("\"%s\": %zu", v[i].text, cpus_quota(str_from(v[i].text)));
	}
}

static void assert_cgroup(const char *text, const char *want)
{
	struct str got = cpus_cgroup(str_from(text));

	if (!str_eqz(got, want))
		fail_msg("%.*s, not %s", (int)got.n, got.p ? got.p : "", want);
}

static void the_cgroup_is_that_of_version_2(void **state UNUSED)
{
	assert_cgroup("0::/system.slice/devplane.service\n", "/system.slice/devplane.service");
	assert_cgroup("0::/\n", "/");
	assert_cgroup("2:cpu:/old\n1:name=systemd:/x\n0::/new\n", "/new");
	assert_cgroup("2:cpu:/old\n10::/x\n", "");
	assert_cgroup("", "");
}

/* A cpu.max in a folder of the scratch tree. */
static void put_quota(const char *root, const char *cgroup, const char *text)
{
	char path[256];
	struct error err;

	(void)snprintf(path, sizeof(path), "%s%s", root, cgroup);
	assert_int_equal(folder_make(path, 0700, &err), 0);
	(void)snprintf(path, sizeof(path), "%s%s/cpu.max", root, cgroup);
	assert_int_equal(file_write_atomic(path, str_from(text), 0600, &err), 0);
}

static void the_smallest_quota_on_the_way_up_counts(void **state UNUSED)
{
	char root[] = "/tmp/cpus_test.XXXXXX";

	assert_non_null(mkdtemp(root));
	assert_int_equal(cpus_limit(root, STR("/a/b/c")), 0);
	put_quota(root, "/a", "max 100000\n");
	put_quota(root, "/a/b", "300000 100000\n");
	put_quota(root, "/a/b/c", "700000 100000\n");
	assert_int_equal(cpus_limit(root, STR("/a")), 0);
	assert_int_equal(cpus_limit(root, STR("/a/b")), 3);
	assert_int_equal(cpus_limit(root, STR("/a/b/c")), 3);
	assert_int_equal(cpus_limit(root, STR("/a/b/c/")), 3);
	assert_int_equal(cpus_limit(root, STR("/a/b/c/unknown")), 3);
	put_quota(root, "/a/b/c", "100000 100000\n");
	assert_int_equal(cpus_limit(root, STR("/a/b/c")), 1);
	/* The root of a container's tree has a quota, too. */
	put_quota(root, "", "200000 100000\n");
	assert_int_equal(cpus_limit(root, STR("/")), 2);
	assert_int_equal(cpus_limit(root, STR_NULL), 2);
	assert_int_equal(cpus_limit(root, STR("/../../elsewhere")), 2);
	assert_int_equal(cpus_limit(root, STR("/a/b/c")), 1);
	folder_fixture_remove(root);
}

static void the_affinity_mask_bounds_it(void **state UNUSED)
{
	cpu_set_t all, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_in_range(cpus_usable(), 1, (size_t)CPU_COUNT(&all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(cpus_usable(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_is_rounded_up),
		cmocka_unit_test(the_cgroup_is_that_of_version_2),
		cmocka_unit_test(the_smallest_quota_on_the_way_up_counts),
		cmocka_unit_test(the_affinity_mask_bounds_it),
	};

	return cmocka_run_group_tests_name("base/cpus", tests, NULL, NULL);
}

/* CPUs packed by NUMA node, socket, core and thread: cases of upstream's tables. */
#include "node/numa/cpu_pick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CPUS_MAX = 80 };

struct bench {
	struct machine m;
	struct machine_cpu cpus[CPUS_MAX];
	struct arena a;
};

/* CPUs are numbered as in Linux: first threads of all cores, then second ones. */
static void bench_init(struct bench *b, int sockets, int cores, int threads, int numa_per_socket)
{
	int ncores = sockets * cores;

	*b = (struct bench){ .m.ncpus = (size_t)(ncores * threads) };
	arena_init(&b->a, SIZE_MAX);
	for (int i = 0; i < ncores * threads; i++) {
		int core = i % ncores;

		b->cpus[i] = (struct machine_cpu){ .id = i, .core = core, .socket = core / cores };
		b->cpus[i].numa = b->cpus[i].socket * numa_per_socket +
				  core % cores * numa_per_socket / cores;
	}
	b->m.cpus = b->cpus;
}

static void expect(struct bench *b, const char *available, int n, const char *want)
{
	struct cpu_set from, got;
	struct error err;

	assert_int_equal(cpu_set_parse(str_from(available), &from, NULL), 0);
	if (cpu_pick(&b->m, &from, n, &b->a, &got, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(cpu_set_print(&got, &b->a).p, want);
	assert_int_equal(cpu_set_count(&got), n);
	arena_clear(&b->a);
}

static void one_socket_with_threads(void **state)
{
	struct bench b;

	bench_init(&b, 1, 4, 2, 1);
	expect(&b, "0-7", 1, "0");
	expect(&b, "0-7", 2, "0,4");
	expect(&b, "1-7", 1, "4"); /* a partly used core is filled first */
	expect(&b, "1-7", 2, "1,5");
	expect(&b, "1-7", 3, "1,4-5");
	expect(&b, "0-7", 8, "0-7");
	expect(&b, "0-7", 0, "");
}

static void two_sockets_are_taken_whole(void **state)
{
	struct bench b;

	bench_init(&b, 2, 3, 2, 1);
	expect(&b, "0-11", 6, "0-2,6-8");
	expect(&b, "1-11", 6, "3-5,9-11");
	expect(&b, "0-11", 8, "0-3,6-9");
	/* The socket with fewer free CPUs comes first. */
	expect(&b, "0,3-11", 2, "0,6");
	expect(&b, "1-11", 1, "6");
}

static void several_nodes_in_a_socket(void **state)
{
	struct bench b;

	bench_init(&b, 2, 4, 1, 2);
	expect(&b, "0-7", 2, "0-1");
	expect(&b, "0-7", 4, "0-3");
	expect(&b, "1-7", 4, "4-7");
	expect(&b, "1-7", 2, "2-3");
	expect(&b, "1-7", 6, "2-7");
}

static void cpus_that_are_offline_leave_smaller_cores(void **state)
{
	struct bench b;

	bench_init(&b, 1, 4, 2, 1);
	/* CPU 7, the second thread of core 3, does not exist. */
	b.m.ncpus = 7;
	expect(&b, "0-7", 1, "3");
	expect(&b, "0-7", 7, "0-6");
}

static void too_many_are_refused(void **state)
{
	struct cpu_set from, got;
	struct error err;
	struct bench b;

	bench_init(&b, 1, 4, 1, 1);
	assert_int_equal(cpu_set_parse(STR("0-1,17"), &from, NULL), 0);
	assert_int_equal(cpu_pick(&b.m, &from, 3, &b.a, &got, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "not enough cpus available to satisfy request: requested=3, "
				     "available=2");
	arena_release(&b.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_socket_with_threads),
		cmocka_unit_test(two_sockets_are_taken_whole),
		cmocka_unit_test(several_nodes_in_a_socket),
		cmocka_unit_test(cpus_that_are_offline_leave_smaller_cores),
		cmocka_unit_test(too_many_are_refused),
	};

	return cmocka_run_group_tests_name("node/cpu_pick", tests, NULL, NULL);
}

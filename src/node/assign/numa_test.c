/* Admission by NUMA nodes: devices, CPUs and memory together, and the policies. */
#include "node/assign/assign_fixture.h"

#include "base/text/cpu_set.h"
#include "node/numa/memory_table.h"

static const int64_t reserved_memory[] = { INT64_C(1) << 30, INT64_C(1) << 30 };

static struct assign_opts all_static(enum topology_policy policy)
{
	return (struct assign_opts){ .topology = policy,
				     .static_cpus = true,
				     .static_memory = true,
				     .reserved_cpus = STR("0"),
				     .reserved_memory = reserved_memory,
				     .nreserved_memory = 2 };
}

/* Guaranteed, with these CPUs, GiB and GPUs. */
static struct pod *pod(struct fixture *f, const char *uid, int cpus, int gib, int gpus)
{
	char *limits = arena_printf(&f->a, "\"cpu\":\"%d\",\"memory\":\"%dGi\"", cpus, gib);

	if (gpus > 0)
		limits = arena_printf(&f->a, "%s,\"" GPU "\":\"%d\"", limits, gpus);
	return fixture_pod(f, uid, "", fixture_container(f, "m", limits));
}

static void admit(struct fixture *f, const struct pod *p)
{
	if (fixture_admit(f, p) < 0)
		fail_msg("%s", f->err.msg);
}

static void has(struct fixture *f, const char *uid, const char *cpus, const char *mems)
{
	assert_string_equal(assign_cpus(f->s, str_from(uid), STR("m"), &f->a).p, cpus);
	assert_string_equal(assign_mems(f->s, str_from(uid), STR("m"), &f->a).p, mems);
}

static void all_of_a_container_comes_from_one_node(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, all_static(TOPOLOGY_SINGLE_NUMA), 8, 2);
	fixture_list(&f, GPU, "aBC", ASSIGN_HEALTHY);
	admit(&f, pod(&f, "p", 2, 2, 2));
	assert_string_equal(fixture_uses(&f, "p"), "m:BC");
	has(&f, "p", "4-5", "1");
	admit(&f, pod(&f, "q", 2, 2, 1));
	assert_string_equal(fixture_uses(&f, "q"), "m:a");
	has(&f, "q", "1-2", "0");
	/* Containers without exclusive CPUs are bound to the rest. */
	has(&f, "none", "0,3,6-7", "");
	assign_end_pod(f.s, STR("p"));
	has(&f, "none", "0,3-7", "");
}

static void the_policy_refuses_what_cannot_be_aligned(void **state)
{
	CLEANUP(fixture_release) struct fixture f, g;
	struct pod *p;

	fixture_init(&f, all_static(TOPOLOGY_SINGLE_NUMA), 8, 2);
	fixture_init(&g, all_static(TOPOLOGY_BEST_EFFORT), 8, 2);
	fixture_list(&f, GPU, "aB", ASSIGN_HEALTHY);
	fixture_list(&g, GPU, "aB", ASSIGN_HEALTHY);
	p = pod(&f, "p", 2, 2, 2);
	assert_int_equal(fixture_admit(&f, p), -ERR_INVALID);
	assert_string_equal(f.io.reason, "TopologyAffinityError");
	assert_string_equal(f.err.msg, "Resources cannot be allocated with Topology locality");
	assert_false(assign_has_pod(f.s, STR("p")));
	has(&f, "none", "0-7", "");
	admit(&g, p);
	assert_string_equal(fixture_uses(&g, "p"), "m:Ba");
}

static void restricted_takes_the_narrowest_that_is_possible_at_all(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, all_static(TOPOLOGY_RESTRICTED), 8, 2);
	fixture_list(&f, GPU, "aB", ASSIGN_HEALTHY);
	/*
	 * Two GPUs never were on one node, so two nodes are preferred for them, but not for CPUs.
	 */
	assert_int_equal(fixture_admit(&f, pod(&f, "p", 2, 2, 2)), -ERR_INVALID);
	assert_string_equal(f.io.reason, "TopologyAffinityError");
	admit(&f, pod(&f, "q", 6, 10, 2));
	assert_string_equal(fixture_uses(&f, "q"), "m:Ba");
	has(&f, "q", "1-2,4-7", "0-1");
}

static void the_whole_pod_is_aligned_in_pod_scope(void **state)
{
	struct assign_opts opts = all_static(TOPOLOGY_SINGLE_NUMA);
	CLEANUP(fixture_release) struct fixture f, g;
	struct pod *p;

	fixture_init(&f, opts, 8, 2);
	opts.topology_pod_scope = true;
	fixture_init(&g, opts, 8, 2);
	p = fixture_pod(
		&f, "p", "",
		arena_printf(&f.a, "%s,%s",
			     fixture_container(&f, "m", "\"cpu\":\"3\",\"memory\":\"1Gi\""),
			     fixture_container(&f, "n", "\"cpu\":\"2\",\"memory\":\"1Gi\"")));
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_string_equal(assign_mems(f.s, STR("p"), STR("m"), &f.a).p, "0");
	assert_string_equal(assign_mems(f.s, STR("p"), STR("n"), &f.a).p, "1");
	assert_int_equal(fixture_admit(&g, p), -ERR_INVALID);
	p = fixture_pod(
		&f, "p", "",
		arena_printf(&f.a, "%s,%s",
			     fixture_container(&f, "m", "\"cpu\":\"2\",\"memory\":\"1Gi\""),
			     fixture_container(&f, "n", "\"cpu\":\"2\",\"memory\":\"1Gi\"")));
	assert_int_equal(fixture_admit(&g, p), 0);
	assert_string_equal(assign_mems(g.s, STR("p"), STR("m"), &g.a).p, "1");
	assert_string_equal(assign_mems(g.s, STR("p"), STR("n"), &g.a).p, "1");
}

static void only_guaranteed_pods_with_whole_cpus_get_their_own(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct cpu_set own;

	fixture_init(&f, all_static(TOPOLOGY_NONE), 4, 1);
	admit(&f, fixture_pod(&f, "a", "",
			      fixture_container(&f, "m", "\"cpu\":\"1500m\",\"memory\":\"1Gi\"")));
	assert_false(assign_own_cpus(f.s, STR("a"), STR("m"), &own));
	assert_string_equal(assign_mems(f.s, STR("a"), STR("m"), &f.a).p, "0");
	admit(&f, fixture_pod(&f, "b", "",
			      "{\"name\":\"m\",\"resources\":{\"requests\":{\"cpu\":\"1\"},"
			      "\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}}"));
	assert_false(assign_own_cpus(f.s, STR("b"), STR("m"), &own));
	admit(&f, fixture_pod(&f, "c", "", fixture_container(&f, "m", "\"cpu\":\"1\"")));
	assert_false(assign_own_cpus(f.s, STR("c"), STR("m"), &own));
	admit(&f, pod(&f, "d", 2, 1, 0));
	assert_true(assign_own_cpus(f.s, STR("d"), STR("m"), &own));
	assert_int_equal(fixture_admit(&f, pod(&f, "e", 2, 1, 0)), -ERR_INVALID);
	assert_string_equal(f.io.reason, "UnexpectedAdmissionError");
	assert_string_equal(f.err.msg, "not enough cpus available to satisfy request: requested=2, "
				       "available=1");
}

static void init_containers_leave_cpus_and_memory_to_later_ones(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	const struct memory_block *b;
	struct pod *p;

	fixture_init(&f, all_static(TOPOLOGY_SINGLE_NUMA), 8, 2);
	p = fixture_pod(&f, "p", fixture_container(&f, "i", "\"cpu\":\"3\",\"memory\":\"6Gi\""),
			fixture_container(&f, "m", "\"cpu\":\"2\",\"memory\":\"4Gi\""));
	admit(&f, p);
	assert_string_equal(assign_cpus(f.s, STR("p"), STR("i"), &f.a).p, "1-3");
	assert_string_equal(assign_cpus(f.s, STR("p"), STR("m"), &f.a).p, "1-2");
	/* 7 GiB are available on each node; 6 of them are taken, once. */
	assert_int_equal(assign_memory(f.s, STR("p"), STR("i"), &f.a, &b), 1);
	assert_int_equal(b->bytes, INT64_C(2) << 30);
	assert_int_equal(assign_memory(f.s, STR("p"), STR("m"), &f.a, &b), 1);
	assert_int_equal(b->bytes, INT64_C(4) << 30);
	admit(&f, pod(&f, "q", 1, 7, 0));
	has(&f, "q", "4", "1");
	assert_int_equal(fixture_admit(&f, pod(&f, "r", 1, 2, 0)), -ERR_INVALID);
	assign_end_pod(f.s, STR("p"));
	admit(&f, pod(&f, "r", 1, 7, 0));
	has(&f, "r", "1", "0");
}

static void memory_groups_are_not_mixed(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, all_static(TOPOLOGY_NONE), 8, 2);
	admit(&f, pod(&f, "wide", 1, 10, 0));
	has(&f, "wide", "1", "0-1");
	/* 4 GiB are left, but only for the two nodes together. */
	admit(&f, pod(&f, "wide2", 1, 3, 0));
	has(&f, "wide2", "2", "0-1");
	assign_end_pod(f.s, STR("wide"));
	assign_end_pod(f.s, STR("wide2"));
	admit(&f, pod(&f, "narrow", 1, 3, 0));
	has(&f, "narrow", "1", "0");
	assert_int_equal(fixture_admit(&f, pod(&f, "wide3", 1, 10, 0)), -ERR_INVALID);
	assert_non_null(strstr(f.err.msg,
			       "[memorymanager] failed to get the default NUMA affinity, no "
			       "NUMA nodes with enough memory is available"));
}

static void huge_pages_are_a_kind_of_memory(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct machine_numa *numa;
	const struct memory_block *b;
	struct machine more;
	struct pod *p;

	fixture_init(&f, all_static(TOPOLOGY_SINGLE_NUMA), 8, 2);
	machine_make(&more, 8, INT64_C(16) << 30, 2);
	numa = (struct machine_numa *)more.numa;
	numa[1].huge_size[0] = 2 << 20;
	numa[1].huge_bytes[0] = 64 << 20;
	numa[1].nhuge = 1;
	assign_set_machine(f.s, &more);
	p = fixture_pod(&f, "p", "",
			fixture_container(&f, "m",
					  "\"cpu\":\"1\",\"memory\":\"1Gi\","
					  "\"hugepages-2Mi\":\"64Mi\""));
	admit(&f, p);
	has(&f, "p", "4", "1");
	assert_int_equal(assign_memory(f.s, STR("p"), STR("m"), &f.a, &b), 2);
	assert_int_equal(b[1].page, 2 << 20);
	assert_int_equal(assign_allocatable_memory(f.s, &f.a, &b), 3);
	assert_int_equal(b[1].bytes, (INT64_C(7) << 30) - (64 << 20));
	p = fixture_pod(&f, "q", "",
			fixture_container(&f, "m",
					  "\"cpu\":\"1\",\"memory\":\"1Gi\","
					  "\"hugepages-2Mi\":\"2Mi\""));
	assert_int_equal(fixture_admit(&f, p), -ERR_INVALID);
	assign_free(f.s);
	f.s = NULL;
	machine_release(&more);
}

static void cpus_that_go_are_not_given(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct machine less;

	fixture_init(&f, all_static(TOPOLOGY_NONE), 4, 1);
	admit(&f, pod(&f, "p", 1, 1, 0));
	machine_make(&less, 2, INT64_C(16) << 30, 1);
	assign_set_machine(f.s, &less);
	has(&f, "p", "1", "0");
	has(&f, "none", "0", "");
	assert_int_equal(fixture_admit(&f, pod(&f, "q", 1, 1, 0)), -ERR_INVALID);
	assign_set_machine(f.s, &f.machine);
	has(&f, "none", "0,2-3", "");
	machine_release(&less);
}

static void a_static_policy_needs_a_reserve(void **state)
{
	struct machine m;
	struct assign *s = NULL;
	struct cpu_set cpus;
	struct error err;

	machine_make(&m, 4, 1 << 30, 1);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &m, .static_cpus = true }, &s, &err),
		-ERR_INVALID);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &m, .static_memory = true }, &s, &err),
		-ERR_INVALID);
	assert_int_equal(assign_new(&(struct assign_opts){ .machine = &m,
							   .static_cpus = true,
							   .reserved_cpu_milli = 1500 },
				    &s, &err),
			 0);
	assign_allocatable_cpus(s, &cpus);
	assert_int_equal(cpu_set_next(&cpus, -1), 2);
	assign_free(s);
	machine_release(&m);
	machine_make(&m, 4, 1 << 30, 9);
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &m, .topology = TOPOLOGY_RESTRICTED },
			   &s, &err),
		-ERR_INVALID);
	machine_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_container_comes_from_one_node),
		cmocka_unit_test(the_policy_refuses_what_cannot_be_aligned),
		cmocka_unit_test(restricted_takes_the_narrowest_that_is_possible_at_all),
		cmocka_unit_test(the_whole_pod_is_aligned_in_pod_scope),
		cmocka_unit_test(only_guaranteed_pods_with_whole_cpus_get_their_own),
		cmocka_unit_test(init_containers_leave_cpus_and_memory_to_later_ones),
		cmocka_unit_test(memory_groups_are_not_mixed),
		cmocka_unit_test(huge_pages_are_a_kind_of_memory),
		cmocka_unit_test(cpus_that_go_are_not_given),
		cmocka_unit_test(a_static_policy_needs_a_reserve),
	};

	return cmocka_run_group_tests_name("node/assign_numa", tests, NULL, NULL);
}

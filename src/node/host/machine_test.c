/* Machines read from made-up trees. */
#include "node/host/machine.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/system/folder_fixture.h"

/* A temporary folder with sys, proc and etc. */
struct tree {
	char root[64];
	struct arena a;
};

static void tree_release_cleanup(struct tree *t)
{
	folder_fixture_remove(t->root);
	arena_release(&t->a);
}

static void put(struct tree *t, const char *path, const char *content)
{
	char *full = arena_printf(&t->a, "%s/%s", t->root, path);
	FILE *f;

	for (char *at = full + strlen(t->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(content, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void put_cpu(struct tree *t, int id, int socket, int core)
{
	put(t, arena_printf(&t->a, "sys/devices/system/cpu/cpu%d/topology/core_id", id),
	    arena_printf(&t->a, "%d\n", core));
	put(t, arena_printf(&t->a, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", id),
	    arena_printf(&t->a, "%d\n", socket));
}

static void put_node(struct tree *t, int id, const char *cpus, long kib, int huge)
{
	char *base = arena_printf(&t->a, "sys/devices/system/node/node%d", id);

	put(t, arena_printf(&t->a, "%s/cpulist", base), cpus);
	put(t, arena_printf(&t->a, "%s/meminfo", base),
	    arena_printf(&t->a, "Node %d MemTotal:       %ld kB\nNode %d MemFree:  1 kB\n", id, kib,
			 id));
	put(t, arena_printf(&t->a, "%s/hugepages/hugepages-2048kB/nr_hugepages", base),
	    arena_printf(&t->a, "%d\n", huge));
	put(t, arena_printf(&t->a, "%s/hugepages/hugepages-1048576kB/nr_hugepages", base), "0\n");
}

/*
 * Two sockets of two cores with two threads; CPU 7 is offline; node 2 has only memory, node 3
 * nothing.
 */
static void tree_init(struct tree *t)
{
	*t = (struct tree){ .root = "/tmp/machine_test.XXXXXX" };
	arena_init(&t->a, SIZE_MAX);
	assert_non_null(mkdtemp(t->root));
	put(t, "sys/devices/system/cpu/online", "0-6\n");
	for (int i = 0; i < 8; i++)
		put_cpu(t, i, i % 4 / 2, i % 2);
	put_node(t, 0, "0-1,4-5\n", 1000, 8);
	put_node(t, 1, "2-3,6\n", 2000, 0);
	put_node(t, 2, "\n", 3000, 0);
	put_node(t, 3, "\n", 0, 0);
	put(t, "sys/devices/system/node/node_online", "0-3\n");
	put(t, "sys/class/dmi/id/product_uuid", "ABC\n");
	put(t, "proc/meminfo", "MemTotal:       6000 kB\nMemFree: 1 kB\nSwapTotal: 50 kB\n");
	put(t, "proc/sys/kernel/random/boot_id", "boot\n");
	put(t, "proc/sys/kernel/osrelease", "6.1.0-13-arm64\n");
	put(t, "proc/sys/kernel/arch", "aarch64\n");
	put(t, "etc/machine-id", "id\n");
	put(t, "etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
}

static int read_tree(struct tree *t, struct machine *m, struct error *err)
{
	return machine_read(m, arena_printf(&t->a, "%s/sys", t->root),
			    arena_printf(&t->a, "%s/proc", t->root),
			    arena_printf(&t->a, "%s/etc", t->root), err);
}

static void must_read(struct tree *t, struct machine *m)
{
	struct error err;

	if (read_tree(t, m, &err) < 0)
		fail_msg("%s", err.msg);
}

static void sockets_cores_and_threads_are_read(void **state)
{
	static const struct machine_cpu want[] = { { 0, 0, 0, 0 }, { 1, 1, 0, 0 }, { 2, 2, 1, 1 },
						   { 3, 3, 1, 1 }, { 4, 0, 0, 0 }, { 5, 1, 0, 0 },
						   { 6, 2, 1, 1 } };
	CLEANUP(tree_release) struct tree t;
	CLEANUP(machine_release) struct machine m = { 0 };

	tree_init(&t);
	must_read(&t, &m);
	assert_int_equal(m.ncpus, 7);
	for (size_t i = 0; i < 7; i++)
		assert_memory_equal(&m.cpus[i], &want[i], sizeof(want[i]));
}

static void nodes_and_memory_are_read(void **state)
{
	CLEANUP(tree_release) struct tree t;
	CLEANUP(machine_release) struct machine m = { 0 };

	tree_init(&t);
	must_read(&t, &m);
	assert_int_equal(m.nnuma, 4);
	assert_int_equal(m.numa[0].memory_bytes, 1000 * 1024);
	assert_int_equal(m.numa[2].memory_bytes, 3000 * 1024);
	assert_int_equal(m.numa[3].memory_bytes, 0);
	assert_int_equal(m.numa[0].nhuge, 2);
	assert_int_equal(m.numa[0].huge_size[0], 2 << 20);
	assert_int_equal(m.numa[0].huge_bytes[0], 16 << 20);
	assert_int_equal(m.numa[0].huge_size[1], 1 << 30);
	assert_int_equal(m.memory_bytes, 6000 * 1024);
	assert_int_equal(m.swap_bytes, 50 * 1024);
	assert_int_equal(machine_nodes(&m), 15);
}

static void names_are_read(void **state)
{
	CLEANUP(tree_release) struct tree t;
	CLEANUP(machine_release) struct machine m = { 0 };

	tree_init(&t);
	must_read(&t, &m);
	assert_true(str_eqz(m.machine_id, "id") && str_eqz(m.boot_id, "boot"));
	assert_true(str_eqz(m.system_uuid, "ABC") && str_eqz(m.kernel, "6.1.0-13-arm64"));
	assert_true(str_eqz(m.os_image, "Debian GNU/Linux 12") && str_eqz(m.arch, "arm64"));
}

static void a_cpu_that_comes_is_a_difference(void **state)
{
	CLEANUP(tree_release) struct tree t;
	CLEANUP(machine_release) struct machine before = { 0 };
	CLEANUP(machine_release) struct machine same = { 0 };
	CLEANUP(machine_release) struct machine cpu = { 0 };
	CLEANUP(machine_release) struct machine memory = { 0 };

	tree_init(&t);
	must_read(&t, &before);
	must_read(&t, &same);
	assert_true(machine_equal(&before, &same));
	put(&t, "sys/devices/system/cpu/online", "0-7\n");
	put_node(&t, 1, "2-3,6-7\n", 2000, 0);
	must_read(&t, &cpu);
	assert_false(machine_equal(&before, &cpu));
	assert_int_equal(cpu.cpus[7].core, 3);
	put_node(&t, 0, "0-1,4-5\n", 1000, 9);
	must_read(&t, &memory);
	assert_false(machine_equal(&cpu, &memory));
}

static void without_nodes_there_is_one(void **state)
{
	CLEANUP(tree_release) struct tree t;
	CLEANUP(machine_release) struct machine m = { 0 };

	t = (struct tree){ .root = "/tmp/machine_test.XXXXXX" };
	arena_init(&t.a, SIZE_MAX);
	assert_non_null(mkdtemp(t.root));
	put(&t, "sys/devices/system/cpu/online", "0-1\n");
	put(&t, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "1\n");
	put(&t, "proc/meminfo", "MemTotal:       6000 kB\n");
	must_read(&t, &m);
	assert_int_equal(m.nnuma, 1);
	assert_int_equal(m.numa[0].memory_bytes, 6000 * 1024);
	assert_int_equal(m.numa[0].huge_bytes[0], 2 << 20);
	assert_int_equal(m.cpus[1].core, 1);
	assert_int_equal(m.cpus[1].socket, 0);
	assert_true(m.kernel.n > 0 && m.arch.n > 0 && str_eqz(m.os_image, "Linux"));
}

static void without_cpus_or_memory_there_is_no_machine(void **state)
{
	CLEANUP(tree_release) struct tree t;
	struct machine m;
	struct error err;

	tree_init(&t);
	put(&t, "proc/meminfo", "MemFree: 1 kB\n");
	assert_int_equal(read_tree(&t, &m, &err), -ERR_IO);
	put(&t, "proc/meminfo", "MemTotal: 99999999999999999999 kB\n");
	assert_int_equal(read_tree(&t, &m, &err), -ERR_IO);
	put(&t, "proc/meminfo", "MemTotal: 1 kB\n");
	put(&t, "sys/devices/system/cpu/online", "x\n");
	assert_int_equal(read_tree(&t, &m, &err), -ERR_IO);
	put(&t, "sys/devices/system/cpu/online", "\n");
	assert_int_equal(read_tree(&t, &m, &err), -ERR_IO);
}

static void a_machine_is_made_up(void **state)
{
	CLEANUP(machine_release) struct machine m = { 0 };

	machine_make(&m, 5, 1001, 2);
	assert_int_equal(m.ncpus, 5);
	assert_int_equal(m.cpus[0].numa, 0);
	assert_int_equal(m.cpus[4].numa, 1);
	assert_int_equal(m.numa[0].memory_bytes + m.numa[1].memory_bytes, 1001);
	machine_release(&m);
	machine_make(&m, 1, 10, 0);
	assert_int_equal(m.nnuma, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_cores_and_threads_are_read),
		cmocka_unit_test(nodes_and_memory_are_read),
		cmocka_unit_test(names_are_read),
		cmocka_unit_test(a_cpu_that_comes_is_a_difference),
		cmocka_unit_test(without_nodes_there_is_one),
		cmocka_unit_test(without_cpus_or_memory_there_is_no_machine),
		cmocka_unit_test(a_machine_is_made_up),
	};

	return cmocka_run_group_tests_name("node/machine", tests, NULL, NULL);
}

/*
 * Reads a machine from /sys and /proc. Files are small and read whole. Missing or odd values read
 * as absent, because kernels, containers and virtual machines all leave something out. Only missing
 * CPUs or memory are an error.
 */
#include <dirent.h>
#include <inttypes.h>
#include <sys/utsname.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/text/cpu_set.h"
#include "node/host/machine.h"

/* --- files ----------------------------------------------------------------------------------- */

/* The content without the newline at its end; empty if it cannot be read. In the arena. */
static struct str machine_read_text(struct arena *a, const char *path)
{
	struct buf b = BUF_INIT(MACHINE_FILE_MAX);
	struct str s = STR_NULL;

	if (file_read(path, &b, NULL) == 0) {
		while (b.n > 0 && (b.p[b.n - 1] == '\n' || b.p[b.n - 1] == '\0'))
			b.n--;
		s = arena_str(a, str_trim(buf_str(&b)));
	}
	buf_release(&b);
	return s;
}

static int64_t machine_read_number(struct arena *a, const char *path, int64_t absent)
{
	int64_t v;

	return str_to_i64(machine_read_text(a, path), &v) ? v : absent;
}

/* "MemTotal: 24643328 kB" of a file like /proc/meminfo, in bytes; -1 if missing. */
static int64_t meminfo(struct str text, struct str key)
{
	struct str line, value;
	int64_t kib;

	while (str_split(&text, '\n', &line)) {
		ptrdiff_t at = str_find(line, key);

		if (at < 0)
			continue;
		value = str_trim(str_skip(line, (size_t)at + key.n));
		if (str_ends(value, STR("kB")))
			value.n -= 2;
		if (str_to_i64(str_trim(value), &kib) && kib >= 0 && kib <= INT64_MAX / 1024)
			return kib * 1024;
	}
	return -1;
}

/* The numbers N of a folder's entries `prefix`N`suffix`, ascending, at most `max`. */
static size_t numbered(const char *folder, struct str prefix, struct str suffix, int64_t *v,
		       size_t max)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	size_t n = 0;

	while (d && n < max && (e = readdir(d)) != NULL) {
		struct str name = str_from(e->d_name);
		size_t at;
		int64_t number;

		if (!str_starts(name, prefix) || !str_ends(name, suffix) ||
		    name.n <= prefix.n + suffix.n)
			continue;
		name = str_skip(name, prefix.n);
		name.n -= suffix.n;
		if (!str_to_i64(name, &number) || number < 0)
			continue;
		for (at = n++; at > 0 && v[at - 1] > number; at--)
			v[at] = v[at - 1];
		v[at] = number;
	}
	if (d)
		(void)closedir(d);
	return n;
}

/* --- CPUs ------------------------------------------------------------------------------------ */

/* core_id is unique only within a socket, so the core's first CPU identifies it in the machine. */
static int core_of(const struct machine_cpu *v, const int64_t *core_ids, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (v[i].socket == v[at].socket && core_ids[i] == core_ids[at])
			return v[i].core;
	}
	return v[at].id;
}

static int read_cpus(struct machine *m, const char *sysfs, struct error *err)
{
	struct arena *a = &m->arena;
	struct str text = machine_read_text(a,
					    arena_printf(a, "%s/devices/system/cpu/online", sysfs));
	struct machine_cpu *v;
	struct cpu_set online;
	int64_t *core_ids;
	int r;

	r = cpu_set_parse(text, &online, err);
	if (r < 0 || cpu_set_empty(&online))
		return error_set(err, ERR_IO, "%s/devices/system/cpu/online names no CPU", sysfs);
	m->cpus = v = ARENA_ARRAY(a, struct machine_cpu, (size_t)cpu_set_count(&online));
	core_ids = ARENA_ARRAY(a, int64_t, (size_t)cpu_set_count(&online));
	for (int id = cpu_set_next(&online, -1); id >= 0; id = cpu_set_next(&online, id)) {
		char *base = arena_printf(a, "%s/devices/system/cpu/cpu%d/topology", sysfs, id);
		size_t at = m->ncpus++;

		v[at].id = id;
		v[at].socket = (int)MAX(
			machine_read_number(a, arena_printf(a, "%s/physical_package_id", base), 0),
			0);
		core_ids[at] = machine_read_number(a, arena_printf(a, "%s/core_id", base), id);
		v[at].core = core_of(v, core_ids, at);
	}
	return 0;
}

static void place_cpus(struct machine *m, const struct cpu_set *cpus, int node)
{
	struct machine_cpu *v = (struct machine_cpu *)m->cpus;

	for (size_t i = 0; i < m->ncpus; i++) {
		if (cpu_set_has(cpus, v[i].id))
			v[i].numa = node;
	}
}

/* --- memory ---------------------------------------------------------------------------------- */

static void read_huge(struct arena *a, const char *folder, struct machine_numa *n)
{
	int64_t kib[MACHINE_HUGE_MAX];

	n->nhuge = numbered(folder, STR("hugepages-"), STR("kB"), kib, MACHINE_HUGE_MAX);
	for (size_t i = 0; i < n->nhuge; i++) {
		char *path = arena_printf(a, "%s/hugepages-%" PRId64 "kB/nr_hugepages", folder,
					  kib[i]);
		int64_t pages = MAX(machine_read_number(a, path, 0), 0);

		n->huge_size[i] = kib[i] * 1024;
		if (__builtin_mul_overflow(n->huge_size[i], pages, &n->huge_bytes[i]))
			n->huge_bytes[i] = 0;
	}
}

static void read_node(struct machine *m, const char *base, int id, struct machine_numa *n)
{
	struct arena *a = &m->arena;
	struct str info = machine_read_text(a, arena_printf(a, "%s/meminfo", base));
	struct cpu_set cpus = { 0 };

	n->id = id;
	n->memory_bytes = MAX(meminfo(info, STR("MemTotal:")), 0);
	read_huge(a, arena_printf(a, "%s/hugepages", base), n);
	(void)cpu_set_parse(machine_read_text(a, arena_printf(a, "%s/cpulist", base)), &cpus, NULL);
	place_cpus(m, &cpus, id);
}

/* One node with everything. */
static void no_numa(struct machine *m, const char *sysfs)
{
	struct machine_numa *n = ARENA_NEW(&m->arena, struct machine_numa);

	n->memory_bytes = m->memory_bytes;
	read_huge(&m->arena, arena_printf(&m->arena, "%s/kernel/mm/hugepages", sysfs), n);
	m->numa = n;
	m->nnuma = 1;
}

static void read_numa(struct machine *m, const char *sysfs)
{
	struct arena *a = &m->arena;
	char *folder = arena_printf(a, "%s/devices/system/node", sysfs);
	int64_t ids[MACHINE_NUMA_MAX];
	size_t n = numbered(folder, STR("node"), STR(""), ids, MACHINE_NUMA_MAX);
	struct machine_numa *v = ARENA_ARRAY(a, struct machine_numa, n);

	for (size_t i = 0; i < n && ids[i] < MACHINE_NUMA_MAX; i++) {
		char *base = arena_printf(a, "%s/node%" PRId64, folder, ids[i]);

		read_node(m, base, (int)ids[i], &v[m->nnuma++]);
	}
	m->numa = v;
	if (m->nnuma == 0)
		no_numa(m, sysfs);
}

static int read_memory(struct machine *m, const char *procfs, struct error *err)
{
	struct str info = machine_read_text(&m->arena,
					    arena_printf(&m->arena, "%s/meminfo", procfs));

	m->memory_bytes = meminfo(info, STR("MemTotal:"));
	m->swap_bytes = MAX(meminfo(info, STR("SwapTotal:")), 0);
	return m->memory_bytes > 0 ? 0
				   : error_set(err, ERR_IO, "%s/meminfo has no MemTotal", procfs);
}

/* --- names ----------------------------------------------------------------------------------- */

/* The value of KEY=value or KEY="value" in a file like os-release. */
static struct str assignment(struct str text, struct str key)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (!str_starts(line, key) || line.n == key.n || line.p[key.n] != '=')
			continue;
		line = str_trim(str_skip(line, key.n + 1));
		if (line.n >= 2 && (line.p[0] == '"' || line.p[0] == '\'') &&
		    line.p[line.n - 1] == line.p[0])
			line = str_of(line.p + 1, line.n - 2);
		return line;
	}
	return STR_NULL;
}

/* Go's names, which node labels use. */
static struct str arch_name(struct str machine)
{
	static const struct {
		const char *kernel, *go;
	} names[] = { { "aarch64", "arm64" },  { "x86_64", "amd64" }, { "armv7l", "arm" },
		      { "i686", "386" },       { "s390x", "s390x" },  { "ppc64le", "ppc64le" },
		      { "riscv64", "riscv64" } };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eqz(machine, names[i].kernel))
			return str_from(names[i].go);
	}
	return machine;
}

/* Values that procfs does not show (arch: before Linux 6.1) come from uname(). */
static void read_kernel(struct machine *m, const char *procfs)
{
	struct arena *a = &m->arena;
	struct str arch = machine_read_text(a, arena_printf(a, "%s/sys/kernel/arch", procfs));
	struct utsname u;

	m->kernel = machine_read_text(a, arena_printf(a, "%s/sys/kernel/osrelease", procfs));
	if ((arch.n == 0 || m->kernel.n == 0) && uname(&u) == 0) {
		if (arch.n == 0)
			arch = arena_str(a, str_from(u.machine));
		if (m->kernel.n == 0)
			m->kernel = arena_str(a, str_from(u.release));
	}
	m->arch = arch_name(arch);
}

static void read_names(struct machine *m, const char *sysfs, const char *procfs, const char *etc)
{
	struct arena *a = &m->arena;
	struct str release = machine_read_text(a, arena_printf(a, "%s/os-release", etc));

	read_kernel(m, procfs);
	m->machine_id = machine_read_text(a, arena_printf(a, "%s/machine-id", etc));
	m->boot_id = machine_read_text(a, arena_printf(a, "%s/sys/kernel/random/boot_id", procfs));
	m->system_uuid = machine_read_text(a,
					   arena_printf(a, "%s/class/dmi/id/product_uuid", sysfs));
	if (m->system_uuid.n == 0)
		m->system_uuid = machine_read_text(
			a, arena_printf(a, "%s/firmware/devicetree/base/vm,uuid", sysfs));
	if (m->system_uuid.n == 0)
		m->system_uuid = m->machine_id;
	m->os_image = assignment(release, STR("PRETTY_NAME"));
	if (m->os_image.n == 0)
		m->os_image = assignment(release, STR("NAME"));
	if (m->os_image.n == 0)
		m->os_image = STR("Linux");
}

int machine_read(struct machine *m, const char *sysfs, const char *procfs, const char *etc,
		 struct error *err)
{
	int r;

	*m = (struct machine){ 0 };
	arena_init(&m->arena, SIZE_MAX);
	r = read_cpus(m, sysfs, err);
	if (r == 0)
		r = read_memory(m, procfs, err);
	if (r < 0) {
		machine_release(m);
		return r;
	}
	read_numa(m, sysfs);
	read_names(m, sysfs, procfs, etc);
	return 0;
}

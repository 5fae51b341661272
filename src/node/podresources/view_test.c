/*
 * Views as text. A pod: "NS/NAME | CONTAINER: devices as ID@NODE; cpus 1,2; TYPE=BYTES@NODES;
 * {NS/CLAIM DRIVER/POOL/DEVICE#SHARE[CDI,..] ..} | ..".
 */
#include "base/core/limits.h"
#include "node/assign/assign_fixture.h"
#include "node/claims/claims.h"
#include "node/podresources/view.h"

#define NIC "x.com/nic"

/* --- text ------------------------------------------------------------------------------------ */

static void print_nodes(struct buf *b, const Podresources__TopologyInfo *t)
{
	for (size_t i = 0; t && i < t->n_nodes; i++)
		(void)buf_printf(b, "%c%" PRId64, i == 0 ? '@' : '+', t->nodes[i]->id);
}

static void print_devices(struct buf *b, Podresources__ContainerDevices *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(v[i]->n_device_ids, 1);
		if (strcmp(v[i]->resource_name, GPU) != 0)
			(void)buf_printf(b, " %s", v[i]->resource_name);
		(void)buf_printf(b, " %s", v[i]->device_ids[0]);
		print_nodes(b, v[i]->topology);
	}
}

static void print_cpus(struct buf *b, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(b, "%s%" PRId64, i == 0 ? " cpus " : ",", v[i]);
}

static void print_memory(struct buf *b, Podresources__ContainerMemory *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(b, " %s=%" PRIu64 "Mi", v[i]->memory_type, v[i]->size >> 20);
		print_nodes(b, v[i]->topology);
	}
}

static void print_claim_device(struct buf *b, const Podresources__ClaimResource *d)
{
	(void)buf_printf(b, " %s/%s/%s", d->driver_name, d->pool_name, d->device_name);
	if (d->share_case == PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID)
		(void)buf_printf(b, "#%s", d->share_id);
	for (size_t i = 0; i < d->n_cdi_devices; i++)
		(void)buf_printf(b, "%s%s", i == 0 ? "[" : ",", d->cdi_devices[i]->name);
	(void)buf_printf(b, d->n_cdi_devices > 0 ? "]" : "");
}

static void print_claims(struct buf *b, Podresources__DynamicResource *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(b, " {%s/%s", v[i]->claim_namespace, v[i]->claim_name);
		for (size_t k = 0; k < v[i]->n_claim_resources; k++)
			print_claim_device(b, v[i]->claim_resources[k]);
		(void)buf_printf(b, "}");
	}
}

static char *print_pod(struct fixture *f, const Podresources__PodResources *m)
{
	struct buf b = BUF_INIT(MIB);
	char *text;

	(void)buf_printf(&b, "%s/%s", m->namespace_, m->name);
	for (size_t i = 0; i < m->n_containers; i++) {
		const Podresources__ContainerResources *c = m->containers[i];

		(void)buf_printf(&b, " | %s:", c->name);
		print_devices(&b, c->devices, c->n_devices);
		print_cpus(&b, c->cpu_ids, c->n_cpu_ids);
		print_memory(&b, c->memory, c->n_memory);
		print_claims(&b, c->dynamic_resources, c->n_dynamic_resources);
	}
	text = arena_strdup(&f->a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* Packed and unpacked, as a client reads it. */
static char *view(struct fixture *f, const char *uid, const struct pod *pod)
{
	Podresources__PodResources *m = podres_view_pod(f->s, str_from(uid), pod, &f->a), *got;
	uint8_t *wire;
	size_t n;
	char *text;

	if (!m)
		return NULL;
	n = podresources__pod_resources__get_packed_size(m);
	wire = arena_alloc(&f->a, n);
	assert_int_equal(podresources__pod_resources__pack(m, wire), n);
	got = podresources__pod_resources__unpack(NULL, n, wire);
	assert_non_null(got);
	text = print_pod(f, got);
	podresources__pod_resources__free_unpacked(got, NULL);
	return text;
}

static char *view_allocatable(struct fixture *f)
{
	Podresources__AllocatableResponse *m = podres_view_allocatable(f->s, &f->a);
	struct buf b = BUF_INIT(MIB);
	char *text;

	(void)buf_printf(&b, "node:");
	print_devices(&b, m->devices, m->n_devices);
	print_cpus(&b, m->cpu_ids, m->n_cpu_ids);
	print_memory(&b, m->memory, m->n_memory);
	text = arena_strdup(&f->a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* --- pods and claims ------------------------------------------------------------------------- */

/* A container with limits and claims, JSON without brackets. */
static char *container(struct fixture *f, const char *name, const char *limits, const char *claims)
{
	return arena_printf(&f->a,
			    "{\"name\":\"%s\",\"resources\":{\"limits\":{%s},\"claims\":[%s]}}",
			    name, limits, claims);
}

static char *sidecar(struct fixture *f, const char *name, const char *limits, const char *claims)
{
	return arena_printf(&f->a, "{\"restartPolicy\":\"Always\",%s",
			    container(f, name, limits, claims) + 1);
}

static char *gpus(struct fixture *f, int n)
{
	return arena_printf(&f->a, "\"" GPU "\":%d", n);
}

static char *both(struct fixture *f, const char *a, const char *b)
{
	return arena_printf(&f->a, "%s,%s", a, b);
}

static struct pod *run(struct fixture *f, const char *uid, const char *init, const char *main)
{
	struct pod *p = fixture_pod(f, uid, init, main);

	if (fixture_admit(f, p) < 0)
		fail_msg("%s", f->err.msg);
	return p;
}

static void list(struct fixture *f, const char *resource, const struct assign_device *v, size_t n)
{
	assign_set_resource(f->s, str_from(resource), v, n);
}

static void use(struct fixture *f, const struct pod *p, const char *pod_claim, const char *name)
{
	struct str driver = STR("d");
	struct assign_claim c = { .uid = str_from(name),
				  .ns = STR("ns"),
				  .name = str_from(name),
				  .drivers = &driver,
				  .ndrivers = 1 };

	if (assign_claim_use(f->s, p, str_from(pod_claim), &c, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

/* Two devices of driver d, for requests r0 and r1, with their own CDI ids. */
static void prepare(struct fixture *f, const char *name)
{
	static const struct str requests[] = { { "r0", 2 }, { "r1", 2 } };
	static const struct str cdi[] = { { "d/g=0", 5 }, { "d/g=0b", 6 }, { "d/g=1", 5 } };
	const struct assign_claim_device v[] = {
		{ .pool = STR("p"),
		  .device = STR("g0"),
		  .requests = &requests[0],
		  .nrequests = 1,
		  .cdi = &cdi[0],
		  .ncdi = 2 },
		{ .pool = STR("p"),
		  .device = STR("g1"),
		  .requests = &requests[1],
		  .nrequests = 1,
		  .cdi = &cdi[2],
		  .ncdi = 1 },
	};

	assign_claim_set_devices(f->s, str_from(name), STR("d"), v, ARRAY_SIZE(v));
}

#define G0 "d/p/g0[d/g=0,d/g=0b]"
#define G1 "d/p/g1[d/g=1]"

/* --- devices of plugins ---------------------------------------------------------------------- */

static void a_pod_without_devices_is_told_with_its_containers(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	(void)run(&f, "p", "", both(&f, container(&f, "a", "", ""), container(&f, "b", "", "")));
	assert_string_equal(view(&f, "p", NULL), "ns/p | a: | b:");
}

static void some_containers_only_have_devices(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 2);
	fixture_list(&f, GPU, "abC", ASSIGN_HEALTHY);
	fixture_list(&f, NIC, "n", ASSIGN_HEALTHY);
	(void)run(&f, "p", "",
		  both(&f, container(&f, "none", "", ""),
		       both(&f, container(&f, "two", both(&f, gpus(&f, 2), "\"" NIC "\":1"), ""),
			    container(&f, "one", gpus(&f, 1), ""))));
	assert_string_equal(view(&f, "p", NULL),
			    "ns/p | none: | two: C@1 a@0 " NIC " n@0 | one: b@0");
}

static void a_device_is_told_once_per_numa_node(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	static const int64_t nodes[] = { 1, 0, 1 };
	const struct assign_device v[] = {
		{ .id = STR("a"), .numa = nodes, .nnuma = 3, .has_topology = true },
		{ .id = STR("b"), .has_topology = true },
		{ .id = STR("c") },
	};

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 2);
	list(&f, GPU, v, ARRAY_SIZE(v));
	(void)run(&f, "p", "", container(&f, "m", gpus(&f, 3), ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | m: a@1 a@0 b c");
	assert_string_equal(view_allocatable(&f), "node: a@1 a@0 b c");
}

static void an_init_container_does_not_list_a_device_that_it_passes_on(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	(void)run(&f, "same", container(&f, "i", gpus(&f, 1), ""),
		  container(&f, "m", gpus(&f, 1), ""));
	assert_string_equal(view(&f, "same", NULL), "ns/same | m: a@0");
	(void)run(&f, "less", container(&f, "i", gpus(&f, 2), ""),
		  container(&f, "m", gpus(&f, 1), ""));
	assert_string_equal(view(&f, "less", NULL), "ns/less | i: c@0 | m: b@0");
	(void)run(&f, "none", container(&f, "i", gpus(&f, 1), ""), container(&f, "m", "", ""));
	assert_string_equal(view(&f, "none", NULL), "ns/none | i: d@0 | m:");
}

static void of_two_init_containers_the_later_one_is_told(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	(void)run(&f, "p",
		  both(&f, container(&f, "i0", gpus(&f, 3), ""),
		       container(&f, "i1", gpus(&f, 2), "")),
		  container(&f, "m", "", ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | i0: c@0 | i1: a@0 b@0 | m:");
}

static void a_sidecar_keeps_what_it_has(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	(void)run(&f, "p",
		  both(&f, container(&f, "i0", gpus(&f, 2), ""),
		       both(&f, sidecar(&f, "s", gpus(&f, 1), ""),
			    container(&f, "i1", gpus(&f, 1), ""))),
		  container(&f, "m", gpus(&f, 1), ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | s: a@0 | m: b@0");
	(void)run(&f, "idle", sidecar(&f, "s", "", ""), container(&f, "m", "", ""));
	assert_string_equal(view(&f, "idle", NULL), "ns/idle | s: | m:");
}

static void main_containers_begin_behind_the_others(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	Podresources__PodResources *m;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	(void)run(&f, "p",
		  both(&f, container(&f, "i0", "", ""),
		       both(&f, sidecar(&f, "s", gpus(&f, 1), ""),
			    container(&f, "i1", gpus(&f, 1), ""))),
		  container(&f, "m", "", ""));
	m = podres_view_pod(f.s, STR("p"), NULL, &f.a);
	assert_int_equal(m->n_containers, 3);
	assert_int_equal(podres_view_first_main(f.s, STR("p"), m), 2);
	(void)run(&f, "q", "", container(&f, "m", "", ""));
	m = podres_view_pod(f.s, STR("q"), NULL, &f.a);
	assert_int_equal(podres_view_first_main(f.s, STR("q"), m), 0);
}

static void pods_that_hold_nothing_any_more_are_not_told(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "a", ASSIGN_HEALTHY);
	assert_null(view(&f, "p", NULL));
	p = fixture_pod(&f, "p", "", container(&f, "m", gpus(&f, 1), ""));
	use(&f, p, "c", "c0");
	assert_null(view(&f, "p", p)); /* so far it only uses a claim */
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_string_equal(view(&f, "p", p), "ns/p | m: a@0");
	assign_end_pod(f.s, STR("p"));
	assert_null(view(&f, "p", p));
	assign_forget_pod(f.s, STR("p"));
	assert_null(view(&f, "p", p));
}

static void a_device_stays_with_its_pod_when_its_plugin_is_gone(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 2);
	fixture_list(&f, GPU, "aB", ASSIGN_HEALTHY);
	(void)fixture_run(&f, "p", 2);
	assign_drop_resource(f.s, STR(GPU));
	assert_string_equal(view(&f, "p", NULL), "ns/p | main: B@1 a@0");
	assert_string_equal(view_allocatable(&f), "node:");
}

/* --- CPUs and memory ------------------------------------------------------------------------- */

static const int64_t reserved[] = { INT64_C(1) << 30, 0 };

static struct assign_opts exclusive(void)
{
	return (struct assign_opts){ .static_cpus = true,
				     .static_memory = true,
				     .reserved_cpus = STR("0"),
				     .reserved_memory = reserved,
				     .nreserved_memory = ARRAY_SIZE(reserved) };
}

static void cpus_of_their_own_are_told_and_shared_ones_are_not(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, exclusive(), 8, 1);
	(void)run(&f, "p", "", container(&f, "m", "\"cpu\":2,\"memory\":\"1Gi\"", ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | m: cpus 1,2 memory=1024Mi@0");
	(void)run(&f, "half", "", container(&f, "m", "\"cpu\":\"500m\",\"memory\":\"1Gi\"", ""));
	assert_string_equal(view(&f, "half", NULL), "ns/half | m: memory=1024Mi@0");
	(void)run(&f, "burst", "", container(&f, "m", "\"cpu\":2", ""));
	assert_string_equal(view(&f, "burst", NULL), "ns/burst | m:");
}

static void an_init_container_is_told_of_the_cpus_and_memory_that_are_left(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, exclusive(), 12, 1);
	(void)run(&f, "p",
		  both(&f, container(&f, "i0", "\"cpu\":4,\"memory\":\"5Gi\"", ""),
		       container(&f, "i1", "\"cpu\":3,\"memory\":\"4Gi\"", "")),
		  container(&f, "m", "\"cpu\":1,\"memory\":\"3Gi\"", ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | i0: cpus 4 | i1: cpus 2,3 memory=2048Mi@0"
						 " | m: cpus 1 memory=3072Mi@0");
	(void)run(&f, "all", container(&f, "i", "\"cpu\":1,\"memory\":\"1Gi\"", ""),
		  container(&f, "m", "\"cpu\":1,\"memory\":\"1Gi\"", ""));
	assert_string_equal(view(&f, "all", NULL), "ns/all | m: cpus 5 memory=1024Mi@0");
}

static void memory_of_two_nodes_is_one_block(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, exclusive(), 8, 2);
	(void)run(&f, "p", "", container(&f, "m", "\"cpu\":1,\"memory\":\"10Gi\"", ""));
	assert_string_equal(view(&f, "p", NULL), "ns/p | m: cpus 1 memory=10240Mi@0+1");
	assert_string_equal(view_allocatable(&f),
			    "node: cpus 1,2,3,4,5,6,7 memory=7168Mi@0 memory=8192Mi@1");
}

static void huge_pages_have_a_type_of_their_own(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct machine_numa node = { .memory_bytes = INT64_C(16) << 30,
				     .huge_size = { 2 << 20, 1 << 30 },
				     .huge_bytes = { 64 << 20, INT64_C(2) << 30 },
				     .nhuge = 2 };

	fixture_init(&f, exclusive(), 4, 1);
	f.machine.numa = &node;
	assign_set_machine(f.s, &f.machine);
	(void)run(&f, "p", "",
		  container(&f, "m",
			    "\"cpu\":1,\"memory\":\"1Gi\",\"hugepages-1Gi\":\"1Gi\""
			    ",\"hugepages-2Mi\":\"4Mi\"",
			    ""));
	assert_string_equal(view(&f, "p", NULL),
			    "ns/p | m: cpus 1 memory=1024Mi@0 hugepages-1Gi=1024Mi@0"
			    " hugepages-2Mi=4Mi@0");
	assert_string_equal(view_allocatable(&f),
			    "node: cpus 1,2,3 memory=13248Mi@0 hugepages-2Mi=64Mi@0"
			    " hugepages-1Gi=2048Mi@0");
}

/* --- claims ---------------------------------------------------------------------------------- */

static void each_device_of_a_claim_has_its_own_cdi_ids(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = run(&f, "p", "",
		both(&f, container(&f, "a", "", "{\"name\":\"c\"}"),
		     both(&f, container(&f, "b", "", "{\"name\":\"c\"}"),
			  container(&f, "none", "", ""))));
	use(&f, p, "c", "claim");
	assert_string_equal(view(&f, "p", p), "ns/p | a: | b: | none:");
	prepare(&f, "claim");
	assert_string_equal(view(&f, "p", p), "ns/p | a: {ns/claim " G0 " " G1 "}"
					      " | b: {ns/claim " G0 " " G1 "} | none:");
	/* While it is unknown which containers name them. */
	assert_string_equal(view(&f, "p", NULL), "ns/p | a: {ns/claim " G0 " " G1 "}"
						 " | b: {ns/claim " G0 " " G1 "}"
						 " | none: {ns/claim " G0 " " G1 "}");
	assign_claim_unuse(f.s, STR("claim"), STR("p"));
	assert_string_equal(view(&f, "p", p), "ns/p | a: | b: | none:");
}

static void a_container_has_the_devices_of_the_requests_that_it_names(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = run(&f, "p", "",
		both(&f, container(&f, "a", "", "{\"name\":\"c\",\"request\":\"r0/small\"}"),
		     both(&f, container(&f, "b", "", "{\"name\":\"c\",\"request\":\"r1\"}"),
			  container(&f, "ab", "",
				    "{\"name\":\"c\",\"request\":\"r1\"},"
				    "{\"name\":\"c\",\"request\":\"r0\"}"))));
	use(&f, p, "c", "claim");
	prepare(&f, "claim");
	assert_string_equal(view(&f, "p", p), "ns/p | a: {ns/claim " G0 "} | b: {ns/claim " G1 "}"
					      " | ab: {ns/claim " G0 " " G1 "}");
}

static void shares_of_a_device_are_told_apart(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	const struct assign_claim_device v[] = {
		{ .pool = STR("p"), .device = STR("g"), .share_id = STR("s1") },
		{ .pool = STR("p"), .device = STR("g"), .share_id = STR("s2") },
		{ .pool = STR("p"), .device = STR("h") },
	};
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = run(&f, "p", "", container(&f, "m", "", "{\"name\":\"c\"}"));
	use(&f, p, "c", "claim");
	assign_claim_set_devices(f.s, STR("claim"), STR("d"), v, ARRAY_SIZE(v));
	assign_claim_set_devices(f.s, STR("claim"), STR("e"), &v[2], 1);
	assert_string_equal(view(&f, "p", p), "ns/p | m: {ns/claim d/p/g#s1 d/p/g#s2 d/p/h e/p/h}");
}

static void init_containers_are_told_of_claims_that_nobody_else_names(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = run(&f, "p",
		both(&f, container(&f, "i0", "", "{\"name\":\"c\"},{\"name\":\"own\"}"),
		     both(&f, container(&f, "i1", "", "{\"name\":\"own\",\"request\":\"r1\"}"),
			  container(&f, "i2", "", "{\"name\":\"c\"}"))),
		container(&f, "m", "", "{\"name\":\"c\",\"request\":\"r0\"}"));
	use(&f, p, "c", "c0");
	use(&f, p, "own", "c1");
	prepare(&f, "c0");
	prepare(&f, "c1");
	assert_string_equal(view(&f, "p", p),
			    "ns/p | i0: {ns/c1 " G0 "} | i1: {ns/c1 " G1 "} | i2: {ns/c0 " G1 "}"
			    " | m: {ns/c0 " G0 "}");
}

static void one_claim_under_two_names_is_told_once(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = run(&f, "p", container(&f, "i", "", "{\"name\":\"b\"}"),
		both(&f, container(&f, "m", "", "{\"name\":\"a\"},{\"name\":\"b\"}"),
		     container(&f, "n", "",
			       "{\"name\":\"b\",\"request\":\"r1\"},{\"name\":\"c\"}")));
	use(&f, p, "a", "claim");
	use(&f, p, "b", "claim");
	use(&f, p, "c", "other");
	prepare(&f, "claim");
	prepare(&f, "other");
	assert_string_equal(view(&f, "p", p), "ns/p | m: {ns/claim " G0 " " G1 "}"
					      " | n: {ns/claim " G1 "} {ns/other " G0 " " G1 "}");
}

static void claims_behind_extended_resources_are_told(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p = NULL;
	struct str text = STR(
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"p\"},\"spec\":{"
		"\"containers\":[{\"name\":\"m\",\"resources\":{\"requests\":{\"" GPU "\":1},"
		"\"limits\":{\"" GPU "\":1}}}]},\"status\":{\"extendedResourceClaimStatus\":{"
		"\"resourceClaimName\":\"ext\",\"requestMappings\":[{\"containerName\":\"m\","
		"\"resourceName\":\"" GPU "\",\"requestName\":\"r1\"}]}}}");

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	assert_int_equal(pod_parse(text, &p, &f.err), 0);
	arena_hold(&f.a, (void (*)(void *))pod_unref, p);
	assert_int_equal(fixture_admit(&f, p), 0);
	use(&f, p, CLAIMS_EXTENDED, "ext");
	prepare(&f, "ext");
	assert_string_equal(view(&f, "p", p), "ns/p | m: {ns/ext " G1 "}");
}

/* --- allocatable ----------------------------------------------------------------------------- */

static void allocatable_has_healthy_devices_held_or_not(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	static const int64_t nodes[] = { 0, 1 };
	const struct assign_device v[] = {
		{ .id = STR("c"), .health = ASSIGN_UNKNOWN },
		{ .id = STR("b"), .health = ASSIGN_UNHEALTHY },
		{ .id = STR("a"), .numa = nodes, .nnuma = 2, .has_topology = true },
	};

	fixture_init(&f, (struct assign_opts){ 0 }, 4, 2);
	assert_string_equal(view_allocatable(&f), "node:");
	fixture_list(&f, NIC, "nM", ASSIGN_HEALTHY);
	list(&f, GPU, v, ARRAY_SIZE(v));
	(void)fixture_run(&f, "p", 1);
	assert_string_equal(view_allocatable(&f), "node: a@0 a@1 " NIC " M@1 " NIC " n@0");
	assign_resource_gone(f.s, STR(NIC));
	assert_string_equal(view_allocatable(&f), "node: a@0 a@1");
	fixture_list(&f, NIC, "n", ASSIGN_HEALTHY);
	fixture_list(&f, GPU, "b", ASSIGN_HEALTHY); /* a is held and no longer listed */
	assert_string_equal(view_allocatable(&f), "node: b@0 " NIC " n@0");
}

static void allocatable_follows_the_machine_but_for_what_is_reserved(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct machine smaller;

	fixture_init(&f, exclusive(), 4, 1);
	assert_string_equal(view_allocatable(&f), "node: cpus 1,2,3 memory=15360Mi@0");
	machine_make(&smaller, 3, INT64_C(8) << 30, 1);
	assign_set_machine(f.s, &smaller);
	assert_string_equal(view_allocatable(&f), "node: cpus 1,2 memory=7168Mi@0");
	machine_release(&smaller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_without_devices_is_told_with_its_containers),
		cmocka_unit_test(some_containers_only_have_devices),
		cmocka_unit_test(a_device_is_told_once_per_numa_node),
		cmocka_unit_test(an_init_container_does_not_list_a_device_that_it_passes_on),
		cmocka_unit_test(of_two_init_containers_the_later_one_is_told),
		cmocka_unit_test(a_sidecar_keeps_what_it_has),
		cmocka_unit_test(main_containers_begin_behind_the_others),
		cmocka_unit_test(pods_that_hold_nothing_any_more_are_not_told),
		cmocka_unit_test(a_device_stays_with_its_pod_when_its_plugin_is_gone),
		cmocka_unit_test(cpus_of_their_own_are_told_and_shared_ones_are_not),
		cmocka_unit_test(an_init_container_is_told_of_the_cpus_and_memory_that_are_left),
		cmocka_unit_test(memory_of_two_nodes_is_one_block),
		cmocka_unit_test(huge_pages_have_a_type_of_their_own),
		cmocka_unit_test(each_device_of_a_claim_has_its_own_cdi_ids),
		cmocka_unit_test(a_container_has_the_devices_of_the_requests_that_it_names),
		cmocka_unit_test(shares_of_a_device_are_told_apart),
		cmocka_unit_test(init_containers_are_told_of_claims_that_nobody_else_names),
		cmocka_unit_test(one_claim_under_two_names_is_told_once),
		cmocka_unit_test(claims_behind_extended_resources_are_told),
		cmocka_unit_test(allocatable_has_healthy_devices_held_or_not),
		cmocka_unit_test(allocatable_follows_the_machine_but_for_what_is_reserved),
	};

	return cmocka_run_group_tests_name("node/podres_view", tests, NULL, NULL);
}

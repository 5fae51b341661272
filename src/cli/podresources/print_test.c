/* Messages of PodResources as tables, lines and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/podresources/items.h"
#include "cli/podresources/json.h"
#include "cli/podresources/print.h"

static const struct podres_print_style plain = { 0 }, wide = { .wide = true },
				       all = { .empty = true };

/* --- messages ----------------------------------------------------------------------------- */

static struct arena arena;

static int begin(void **state UNUSED)
{
	arena_init(&arena, MIB);
	return 0;
}

static int end(void **state UNUSED)
{
	arena_release(&arena);
	return 0;
}

#define MAKE(type, TYPE)                                                           \
	__extension__({                                                            \
		Podresources__##type *made_ = arena_alloc(&arena, sizeof(*made_)); \
		*made_ = (Podresources__##type)PODRESOURCES__##TYPE##__INIT;       \
		made_;                                                             \
	})

static Podresources__TopologyInfo *on_node(int64_t id)
{
	Podresources__TopologyInfo *t = MAKE(TopologyInfo, TOPOLOGY_INFO);

	if (id < 0)
		return NULL;
	t->nodes = ARENA_ARRAY(&arena, Podresources__NumaNode *, 1);
	t->nodes[t->n_nodes++] = MAKE(NumaNode, NUMA_NODE);
	t->nodes[0]->id = id;
	return t;
}

/* `ids` are separated by commas. */
static Podresources__ContainerDevices *devices(const char *resource, const char *ids, int64_t node)
{
	Podresources__ContainerDevices *d = MAKE(ContainerDevices, CONTAINER_DEVICES);
	struct str rest = str_from(ids), id;

	d->resource_name = (char *)resource;
	d->device_ids = ARENA_ARRAY(&arena, char *, strlen(ids) + 1);
	while (str_split(&rest, ',', &id))
		d->device_ids[d->n_device_ids++] = arena_strdup(&arena, id);
	d->topology = on_node(node);
	return d;
}

static Podresources__ContainerMemory *memory(const char *type, uint64_t size, int64_t node)
{
	Podresources__ContainerMemory *m = MAKE(ContainerMemory, CONTAINER_MEMORY);

	m->memory_type = (char *)type;
	m->size = size;
	m->topology = on_node(node);
	return m;
}

/* A device of the claim "gpu", with two CDI names as a kubelet repeats them. */
static Podresources__DynamicResource *claim(const char *device, const char *share)
{
	Podresources__DynamicResource *d = MAKE(DynamicResource, DYNAMIC_RESOURCE);
	Podresources__ClaimResource *r = MAKE(ClaimResource, CLAIM_RESOURCE);

	d->claim_name = (char *)"gpu";
	d->claim_namespace = (char *)"ml";
	d->claim_resources = ARENA_ARRAY(&arena, Podresources__ClaimResource *, 1);
	d->claim_resources[d->n_claim_resources++] = r;
	r->driver_name = (char *)"drv.example";
	r->pool_name = (char *)"n1";
	r->device_name = (char *)device;
	r->cdi_devices = ARENA_ARRAY(&arena, Podresources__CdiDevice *, 2);
	for (; r->n_cdi_devices < 2; r->n_cdi_devices++) {
		r->cdi_devices[r->n_cdi_devices] = MAKE(CdiDevice, CDI_DEVICE);
		r->cdi_devices[r->n_cdi_devices]->name = (char *)"v.com/c=x";
	}
	if (share) {
		r->share_case = PODRESOURCES__CLAIM_RESOURCE__SHARE_SHARE_ID;
		r->share_id = (char *)share;
	}
	return d;
}

enum { PARTS_MAX = 8 };

static Podresources__ContainerResources *container(const char *name)
{
	Podresources__ContainerResources *c = MAKE(ContainerResources, CONTAINER_RESOURCES);

	c->name = (char *)name;
	c->devices = ARENA_ARRAY(&arena, Podresources__ContainerDevices *, PARTS_MAX);
	c->memory = ARENA_ARRAY(&arena, Podresources__ContainerMemory *, PARTS_MAX);
	c->dynamic_resources = ARENA_ARRAY(&arena, Podresources__DynamicResource *, PARTS_MAX);
	c->cpu_ids = ARENA_ARRAY(&arena, int64_t, PARTS_MAX);
	return c;
}

static Podresources__PodResources *pod(const char *ns, const char *name,
				       Podresources__ContainerResources *first,
				       Podresources__ContainerResources *second)
{
	Podresources__PodResources *p = MAKE(PodResources, POD_RESOURCES);

	p->namespace_ = (char *)ns;
	p->name = (char *)name;
	p->containers = ARENA_ARRAY(&arena, Podresources__ContainerResources *, 2);
	p->containers[0] = first;
	p->containers[1] = second;
	p->n_containers = (first != NULL) + (second != NULL);
	return p;
}

static Podresources__PodResources *pod_with(const char *ids)
{
	Podresources__ContainerResources *c = container("main");

	c->devices[c->n_devices++] = devices("acme.com/gpu", ids, 0);
	return pod("ml", "train", c, NULL);
}

static Podresources__PodEvent *event(Podresources__Action action, const char *uid,
				     Podresources__PodResources *p)
{
	Podresources__PodEvent *e = MAKE(PodEvent, POD_EVENT);

	e->action = action;
	e->uid = (char *)uid;
	e->revision = 42;
	e->pod_resources = ARENA_ARRAY(&arena, Podresources__PodResources *, 1);
	e->pod_resources[0] = p;
	e->n_pod_resources = p != NULL;
	return e;
}

/* --- tables ------------------------------------------------------------------------------- */

static void assert_pods(Podresources__PodResources **v, size_t n,
			const struct podres_print_style *style, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	(void)podres_print_pods(&out, v, n, style);
	assert_string_equal(out.p, want);
}

static void a_container_has_a_row_with_all_that_it_holds(void **state UNUSED)
{
	Podresources__ContainerResources *c = container("main");
	Podresources__PodResources *p = pod("ml", "train", c, container("side"));

	c->devices[c->n_devices++] = devices("acme.com/gpu", "gpu-10,gpu-2", 1);
	c->devices[c->n_devices++] = devices("acme.com/gpu", "gpu-2", 0);
	c->devices[c->n_devices++] = devices("acme.com/nic", "nic-0", -1);
	for (int64_t i = 0; i < 5; i++)
		c->cpu_ids[c->n_cpu_ids++] = (int64_t[]){ 2, 1, 3, 8, 0 }[i];
	c->memory[c->n_memory++] = memory("memory", 4UL << 30, 0);
	c->memory[c->n_memory++] = memory("hugepages-2Mi", 64UL << 20, 0);
	c->dynamic_resources[c->n_dynamic_resources++] = claim("gpu-0", NULL);
	c->dynamic_resources[c->n_dynamic_resources++] = claim("gpu-1", "s1");
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\ttrain\tmain\tacme.com/gpu: gpu-2,gpu-10; acme.com/nic: nic-0; "
		    "claim/gpu: drv.example/n1/gpu-0,drv.example/n1/gpu-1(share s1); "
		    "cpus: 0-3,8; hugepages-2Mi: 64Mi; memory: 4Gi\tNotReported\n");
	c->n_memory = c->n_cpu_ids = 0;
	c->n_dynamic_resources = 1;
	assert_pods(&p, 1, &wide,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\tNUMA\tCDI\n"
		    "ml\ttrain\tmain\tacme.com/gpu: gpu-2,gpu-10; acme.com/nic: nic-0; "
		    "claim/gpu: drv.example/n1/gpu-0\tNotReported\t0-1\tv.com/c=x\n");
}

static void pods_are_sorted_and_empty_ones_hidden(void **state UNUSED)
{
	Podresources__ContainerResources *c = container("main");
	Podresources__PodResources *v[] = { pod("ml", "w-10", c, NULL),
					    pod("ml", "w-9", container("main"), NULL),
					    pod("db", "z", NULL, NULL) };

	c->cpu_ids[c->n_cpu_ids++] = 7;
	assert_pods(v, 3, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\tw-10\tmain\tcpus: 7\t<none>\n");
	assert_pods(v, 3, &all,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "db\tz\t<none>\t<none>\t<none>\n"
		    "ml\tw-9\tmain\t<none>\t<none>\n"
		    "ml\tw-10\tmain\tcpus: 7\t<none>\n");
	assert_pods(v, 0, &plain, "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n");
}

static void pod_level_resources_have_a_row(void **state UNUSED)
{
	Podresources__PodResources *p = pod("ml", "a", container("main"), NULL);
	int64_t cpus[] = { 4, 5 };

	p->cpu_ids = cpus;
	p->n_cpu_ids = 2;
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\ta\t<pod>\tcpus: 4-5\t<none>\n");
}

static void control_characters_do_not_get_through(void **state UNUSED)
{
	Podresources__ContainerResources *c = container("a\tb");
	Podresources__PodResources *p = pod("\033[2Jns", "x\ny", c, NULL);

	c->devices[c->n_devices++] = devices("r\033", "\007id", -1);
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "^[[2Jns\tx...\ta b\tr^[:  id\tNotReported\n");
}

static void allocatable_has_a_row_for_each_place(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	Podresources__AllocatableResponse r = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	Podresources__ContainerDevices *d[] = { devices("acme.com/gpu", "g1,both", 1),
						devices("acme.com/gpu", "g0,both", 0),
						devices("acme.com/z", "0,1,2,3,4,5,6,7,8,9", -1) };
	Podresources__ContainerMemory *m[] = { memory("memory", 1UL << 30, 0),
					       memory("memory", 3UL << 30, 1) };
	int64_t cpus[] = { 3, 1, 2 };

	assert_int_equal(podres_print_allocatable(&out, &r, &plain), 0);
	buf_clear(&out);
	r.devices = d;
	r.n_devices = 3;
	r.memory = m;
	r.n_memory = 2;
	r.cpu_ids = cpus;
	r.n_cpu_ids = 3;
	assert_int_equal(podres_print_allocatable(&out, &r, &plain), 7);
	assert_string_equal(out.p,
			    "RESOURCE\tCOUNT\tNUMA\tHEALTH\tDEVICES\n"
			    "acme.com/gpu\t1\t0\tNotReported\tg0\n"
			    "acme.com/gpu\t1\t0-1\tNotReported\tboth\n"
			    "acme.com/gpu\t1\t1\tNotReported\tg1\n"
			    "acme.com/z\t10\t<none>\tNotReported\t0,1,2,3,4,5,6,7,... 2 more\n"
			    "cpus\t3\t<none>\t<none>\t1-3\n"
			    "memory\t1Gi\t0\t<none>\t<none>\n"
			    "memory\t3Gi\t1\t<none>\t<none>\n");
	buf_clear(&out);
	(void)podres_print_allocatable(&out, &r, &wide);
	assert_non_null(strstr(out.p, "5,6,7,8,9\n"));
}

#define HEALTHY   PODRESOURCES__DEVICE_HEALTH__HEALTHY
#define UNHEALTHY PODRESOURCES__DEVICE_HEALTH__UNHEALTHY
#define UNKNOWN   PODRESOURCES__DEVICE_HEALTH__UNKNOWN

/* A container with one healthy device and one that is not. */
static Podresources__ContainerResources *broken(void)
{
	Podresources__ContainerResources *c = container("main");

	c->devices[c->n_devices++] = devices("acme.com/gpu", "0", 0);
	c->devices[0]->health = HEALTHY;
	c->devices[c->n_devices++] = devices("acme.com/gpu", "1", 0);
	c->devices[1]->health = UNHEALTHY;
	c->devices[1]->health_message = (char *)"Xid\t79";
	return c;
}

static void devices_that_are_not_well_are_marked(void **state UNUSED)
{
	Podresources__ContainerResources *c = container("claims");
	Podresources__PodResources *p = pod("ml", "a", broken(), c);
	Podresources__ContainerResources *well = p->containers[0];

	c->dynamic_resources[c->n_dynamic_resources++] = claim("g", "s");
	c->dynamic_resources[0]->claim_resources[0]->health = UNKNOWN;
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\ta\tmain\tacme.com/gpu: 0,1(Unhealthy)\tUnhealthy\n"
		    "ml\ta\tclaims\tclaim/gpu: drv.example/n1/g(share s)(Unknown)\tUnknown\n");
	p->n_containers = 1;
	assert_pods(&p, 1, &wide,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\tNUMA\tCDI\n"
		    "ml\ta\tmain\tacme.com/gpu: 0,1(Unhealthy: Xid 79)\tUnhealthy\t0\t<none>\n");
	well->n_devices = 1;
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\ta\tmain\tacme.com/gpu: 0\tHealthy\n");
	well->devices[0]->health = (Podresources__DeviceHealth)9; /* from a newer server */
	assert_pods(&p, 1, &plain,
		    "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH\n"
		    "ml\ta\tmain\tacme.com/gpu: 0(Unknown)\tUnknown\n");
}

static void allocatable_has_the_devices_of_drivers(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	Podresources__AllocatableResponse r = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	Podresources__ClaimResource *v[] = { claim("g1", NULL)->claim_resources[0],
					     claim("g0", NULL)->claim_resources[0] };

	v[0]->health = v[1]->health = HEALTHY;
	r.claim_resources = v;
	r.n_claim_resources = 2;
	assert_int_equal(podres_print_allocatable(&out, &r, &plain), 1);
	assert_string_equal(out.p, "RESOURCE\tCOUNT\tNUMA\tHEALTH\tDEVICES\n"
				   "drv.example\t2\t<none>\tHealthy\tn1/g0,n1/g1\n");
	buf_clear(&out);
	v[1]->health = UNKNOWN;
	(void)podres_print_allocatable(&out, &r, &plain);
	assert_non_null(strstr(out.p, "\tUnknown\tn1/g0(Unknown),n1/g1\n"));
}

/* --- events ------------------------------------------------------------------------------- */

static void assert_line(struct podres_print_state *s, const Podresources__PodEvent *e,
			const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	assert_int_equal(podres_print_pod_event(s, &out, e), want != NULL);
	if (want)
		assert_string_equal(out.p, want);
}

#define ADDED   PODRESOURCES__ACTION__ADDED
#define DELETED PODRESOURCES__ACTION__DELETED
#define UPDATED PODRESOURCES__ACTION__UPDATED

static void a_line_says_what_an_event_changed(void **state UNUSED)
{
	struct podres_print_state s;
	Podresources__PodEvent *last = event(ADDED, "", NULL);

	podres_print_init(&s, &plain, true);
	assert_line(&s, event(ADDED, "u1", pod_with("a,b")),
		    "ADDED\t42\tml/train\tacme.com/gpu: a,b");
	last->initial_end = true;
	assert_line(&s, last, NULL);
	assert_line(&s, event(UPDATED, "u1", pod_with("b,c")),
		    "UPDATED\t42\tml/train\tacme.com/gpu: b +c -a");
	assert_line(&s, event(UPDATED, "u1", pod_with("b,c")),
		    "UPDATED\t42\tml/train\tacme.com/gpu: b,c");
	assert_line(&s, event(ADDED, "u2", pod_with("x")), "ADDED\t42\tml/train\tacme.com/gpu: +x");
	assert_line(&s, event(DELETED, "u1", pod("ml", "train", NULL, NULL)),
		    "DELETED\t42\tml/train\tacme.com/gpu: -b,c");
	/* Nothing is known about a pod without an earlier event. */
	assert_line(&s, event(DELETED, "u9", pod("ml", "old", NULL, NULL)),
		    "DELETED\t42\tml/old\t<none>");
	assert_line(&s, event(UPDATED, "u8", pod_with("y")),
		    "UPDATED\t42\tml/train\tacme.com/gpu: y");
	podres_print_release(&s);
}

static void a_line_says_that_a_device_broke(void **state UNUSED)
{
	struct podres_print_state s;

	podres_print_init(&s, &plain, false);
	assert_line(&s, event(ADDED, "u1", pod_with("0,1")),
		    "ADDED\t42\tml/train\tacme.com/gpu: +0,1");
	assert_line(&s, event(UPDATED, "u1", pod("ml", "train", broken(), NULL)),
		    "UPDATED\t42\tml/train\tacme.com/gpu: 0,1(Unhealthy)");
	podres_print_release(&s);
	podres_print_init(&s, &wide, false);
	assert_line(&s, event(UPDATED, "u1", pod("ml", "train", broken(), NULL)),
		    "UPDATED\t42\tml/train\t(main) acme.com/gpu: 0,1(Unhealthy: Xid 79)");
	podres_print_release(&s);
}

static void a_reset_forgets_everything(void **state UNUSED)
{
	struct podres_print_state s;

	podres_print_init(&s, &plain, false);
	assert_line(&s, event(ADDED, "u1", pod_with("a")), "ADDED\t42\tml/train\tacme.com/gpu: +a");
	assert_line(&s, event(DELETED, "", NULL),
		    "DELETED\t42\t<all>\tforget what came before: the full state follows");
	assert_line(&s, event(ADDED, "u1", pod_with("b")), "ADDED\t42\tml/train\tacme.com/gpu: b");
	podres_print_release(&s);
}

static void wide_lines_name_containers(void **state UNUSED)
{
	Podresources__ContainerResources *a = container("a"), *b = container("b");
	struct podres_print_style style = { .wide = true, .colour = true };
	struct podres_print_state s;
	Podresources__PodEvent *e;

	a->devices[a->n_devices++] = devices("acme.com/gpu", "0", -1);
	b->devices[b->n_devices++] = devices("acme.com/gpu", "0", -1);
	b->cpu_ids[b->n_cpu_ids++] = 3;
	e = event(UPDATED, "u1", pod("ml", "two", a, b));
	e->revision = 0;
	podres_print_init(&s, &plain, false);
	assert_line(&s, e, "UPDATED\t-\tml/two\tacme.com/gpu: 0; cpus: 3");
	podres_print_release(&s);
	podres_print_init(&s, &wide, false);
	assert_line(&s, e, "UPDATED\t-\tml/two\t(a) acme.com/gpu: 0 (b) acme.com/gpu: 0; cpus: 3");
	podres_print_release(&s);
	podres_print_init(&s, &style, false);
	assert_line(&s, event(DELETED, "u1", pod("ml", "two", NULL, NULL)),
		    "\033[31mDELETED\033[0m\t42\tml/two\t<none>");
	assert_line(&s, event(ADDED, "u1", pod("ml", "two", a, NULL)),
		    "\033[32mADDED\033[0m\t42\tml/two\t(a) acme.com/gpu: \033[32m+0\033[0m");
	podres_print_release(&s);
}

static void assert_allocatable(struct podres_print_state *s, Podresources__AllocatableEvent *e,
			       const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	assert_int_equal(podres_print_allocatable_event(s, &out, e), want != NULL);
	if (want)
		assert_string_equal(out.p, want);
}

static void lines_of_allocatable_count_and_mark(void **state UNUSED)
{
	Podresources__AllocatableEvent *e = MAKE(AllocatableEvent, ALLOCATABLE_EVENT);
	Podresources__AllocatableEvent *last = MAKE(AllocatableEvent, ALLOCATABLE_EVENT);
	Podresources__ContainerDevices *d = devices("acme.com/gpu", "a,b,c", 0);
	Podresources__ContainerMemory *m[] = { memory("memory", 1UL << 30, 0),
					       memory("memory", 1UL << 30, 1) };
	struct podres_print_state s;

	e->revision = 6;
	e->devices = &d;
	e->n_devices = 1;
	e->memory = m;
	e->n_memory = 2;
	last->initial_end = true;
	podres_print_init(&s, &plain, true);
	assert_allocatable(&s, e, "ADDED\t6\tacme.com/gpu: 3; memory: 2Gi");
	assert_allocatable(&s, last, NULL);
	d->n_device_ids = 2;
	e->n_memory = 1;
	e->action = UPDATED;
	assert_allocatable(&s, e, "UPDATED\t6\tacme.com/gpu: 2 -c; memory: 1Gi -1Gi");
	podres_print_release(&s);
}

static void lines_of_allocatable_have_the_devices_of_drivers(void **state UNUSED)
{
	Podresources__AllocatableEvent *e = MAKE(AllocatableEvent, ALLOCATABLE_EVENT);
	Podresources__ClaimResource *v[] = { claim("g0", NULL)->claim_resources[0],
					     claim("g1", NULL)->claim_resources[0] };
	struct podres_print_state s;

	e->revision = 6;
	e->initial_end = true; /* with the last event of the state */
	e->claim_resources = v;
	e->n_claim_resources = 2;
	podres_print_init(&s, &plain, true);
	assert_allocatable(&s, e, "ADDED\t6\tdrv.example: 2");
	e->initial_end = false;
	e->n_claim_resources = 1;
	e->action = DELETED;
	assert_allocatable(&s, e, "DELETED\t6\tdrv.example: 1 -n1/g1");
	podres_print_release(&s);
}

/* --- JSON --------------------------------------------------------------------------------- */

static void assert_json(const ProtobufCMessage *m, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	(void)json_print(&out, podres_json(&arena, m), NULL);
	assert_string_equal(out.p, want);
}

static void json_is_protobufs_own(void **state UNUSED)
{
	Podresources__ContainerResources *c = container("main");
	Podresources__PodEvent *e = event(ADDED, "u1", pod("ml", "a", c, NULL));
	Podresources__PodEvent *last = event(ADDED, "", NULL);
	Podresources__PodEvent *odd = event((Podresources__Action)7, "", NULL);

	c->devices[c->n_devices++] = devices("acme.com/gpu", "0", 0);
	c->devices[c->n_devices++] = devices("acme.com/gpu", "1", 1);
	c->cpu_ids[c->n_cpu_ids++] = 0;
	c->cpu_ids[c->n_cpu_ids++] = 12;
	c->memory[c->n_memory++] = memory("memory", UINT64_MAX, -1);
	c->dynamic_resources[c->n_dynamic_resources++] = claim("g", "");
	assert_json(&e->base,
		    "{\"action\":\"ADDED\",\"uid\":\"u1\",\"podResources\":[{\"name\":\"a\","
		    "\"namespace\":\"ml\",\"containers\":[{\"name\":\"main\",\"devices\":["
		    "{\"resourceName\":\"acme.com/gpu\",\"deviceIds\":[\"0\"],"
		    "\"topology\":{\"nodes\":[{\"ID\":\"0\"}]}},"
		    "{\"resourceName\":\"acme.com/gpu\",\"deviceIds\":[\"1\"],"
		    "\"topology\":{\"nodes\":[{\"ID\":\"1\"}]}}],"
		    "\"cpuIds\":[\"0\",\"12\"],"
		    "\"memory\":[{\"memoryType\":\"memory\",\"size\":\"18446744073709551615\"}],"
		    "\"dynamicResources\":[{\"claimName\":\"gpu\",\"claimNamespace\":\"ml\","
		    "\"claimResources\":[{\"cdiDevices\":[{\"name\":\"v.com/c=x\"},"
		    "{\"name\":\"v.com/c=x\"}],\"driverName\":\"drv.example\",\"poolName\":\"n1\","
		    "\"deviceName\":\"g\",\"shareId\":\"\"}]}]}]}],\"revision\":\"42\"}");
	last->initial_end = true;
	assert_json(&last->base, "{\"action\":\"ADDED\",\"revision\":\"42\",\"initialEnd\":true}");
	assert_json(&odd->base, "{\"action\":7,\"revision\":\"42\"}");
}

static void names_are_ordered_as_people_do(void **state UNUSED)
{
	static const char *const sorted[] = { "", "a", "a1", "a01", "a2", "a10", "a10b", "b" };

	for (size_t i = 0; i + 1 < ARRAY_SIZE(sorted); i++) {
		struct str x = str_from(sorted[i]), y = str_from(sorted[i + 1]);

		if (strcmp(sorted[i], "a1") == 0) /* equal by value: any order, but not the same */
			assert_int_not_equal(podres_items_cmp_names(x, y), 0);
		else
			assert_true(podres_items_cmp_names(x, y) < 0);
		assert_int_equal(podres_items_cmp_names(x, x), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_a_row_with_all_that_it_holds),
		cmocka_unit_test(pods_are_sorted_and_empty_ones_hidden),
		cmocka_unit_test(pod_level_resources_have_a_row),
		cmocka_unit_test(control_characters_do_not_get_through),
		cmocka_unit_test(allocatable_has_a_row_for_each_place),
		cmocka_unit_test(devices_that_are_not_well_are_marked),
		cmocka_unit_test(allocatable_has_the_devices_of_drivers),
		cmocka_unit_test(a_line_says_what_an_event_changed),
		cmocka_unit_test(a_line_says_that_a_device_broke),
		cmocka_unit_test(a_reset_forgets_everything),
		cmocka_unit_test(wide_lines_name_containers),
		cmocka_unit_test(lines_of_allocatable_count_and_mark),
		cmocka_unit_test(lines_of_allocatable_have_the_devices_of_drivers),
		cmocka_unit_test(json_is_protobufs_own),
		cmocka_unit_test(names_are_ordered_as_people_do),
	};

	return cmocka_run_group_tests_name("cli/podres_print", tests, begin, end);
}

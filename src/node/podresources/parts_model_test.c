/*
 * The book against a model of pods that release a part of their things and continue, as a kubelet's
 * replies in attach mode can show. That happens to one pod at a time, or to several at once, where
 * one gains what another releases. The assignment log never does that, so podresources/model_test.c
 * does not either; here states are made up. The same clients read, and the same checks apply.
 */
#include "base/text/cpu_set.h"
#include "node/assign/assign.h"
#include "node/book/crowd_fixture.h"
#include "node/numa/memory_table.h"
#include "node/podresources/make.h"

#include "base/core/limits.h"

enum { PODS = 6, CONTAINERS = 2, CPUS = 12, STEPS = 400, SEEDS = 40 };

static const char *const names[PODS] = { "p0", "p1", "p2", "p3", "p4", "p5" };
static const char *const containers[CONTAINERS] = { "s", "m" };
static const uint64_t capacity[HELD_KINDS][HELD_NODES] = { { 6 * MIB, 4 * MIB }, { 4 * MIB, 0 } };
static const int64_t pages[HELD_KINDS] = { 0, 2 * MIB };

struct model_pod {
	bool there;
	int life; /* its uid is "pN.LIFE" */
	struct held has[CONTAINERS];
};

struct world {
	struct prng g;
	struct crowd crowd;
	struct arena a;
	struct model_pod pod[PODS];
};

static int below(struct world *w, int n)
{
	return (int)prng_below(&w->g, (uint64_t)n);
}

static bool one_in(struct world *w, int n)
{
	return below(w, n) == 0;
}

/* Each of `count` bits with a chance of one in n. */
static unsigned bits_one_in(struct world *w, int n, int count)
{
	unsigned bits = 0;

	for (int i = 0; i < count; i++)
		bits |= one_in(w, n) ? 1U << i : 0;
	return bits;
}

/* --- messages -------------------------------------------------------------------------------- */

static Podresources__ContainerDevices **make_devices(struct world *w, const struct held *h,
						     size_t *ret_n)
{
	static const int64_t nodes[] = { 0, 1 };
	struct podres_devices d = { .a = &w->a };

	vec_init(&d.v, SIZE_MAX);
	for (int r = 0; r < HELD_RESOURCES; r++) {
		for (int i = 0; i < HELD_DEVICES; i++) {
			char id = (char)('a' + i);

			if (h->devices[r] >> i & 1)
				podres_add_device(&d, str_from(held_resources[r]), str_of(&id, 1),
						  &nodes[held_nodes(i) == 2],
						  (size_t)__builtin_popcount(held_nodes(i)));
		}
	}
	return podres_take_devices(&d, ret_n);
}

static Podresources__ContainerMemory **make_memory(struct world *w, const struct held *h,
						   size_t *ret_n)
{
	struct memory_block v[HELD_KINDS << HELD_NODES];
	size_t n = 0;

	for (int k = 0; k < HELD_KINDS; k++) {
		for (uint64_t nodes = 1; nodes < 1 << HELD_NODES; nodes++)
			v[n++] = (struct memory_block){ .nodes = nodes,
							.page = pages[k],
							.bytes = (int64_t)h->memory[k][nodes] };
	}
	return podres_make_memory(v, n, &w->a, ret_n);
}

static Podresources__DynamicResource *make_claim(struct world *w, unsigned devices)
{
	Podresources__DynamicResource *m = ARENA_NEW(&w->a, Podresources__DynamicResource);

	podresources__dynamic_resource__init(m);
	m->claim_name = arena_strdup(&w->a, STR("claim"));
	m->claim_namespace = arena_strdup(&w->a, STR("ns"));
	m->claim_resources = ARENA_ARRAY(&w->a, Podresources__ClaimResource *, HELD_DEVICES);
	for (int i = 0; i < HELD_DEVICES; i++) {
		char id = (char)('a' + i);
		struct str name = str_of(&id, 1);

		if (devices >> i & 1)
			m->claim_resources[m->n_claim_resources++] = podres_make_claim_resource(
				&(struct assign_claim_device){ .driver = STR("d"),
							       .pool = STR("pool"),
							       .device = name,
							       .cdi = &name,
							       .ncdi = 1 },
				&w->a);
	}
	return m;
}

static Podresources__ContainerResources *make_container(struct world *w, const char *name,
							const struct held *h)
{
	Podresources__ContainerResources *m = ARENA_NEW(&w->a, Podresources__ContainerResources);
	struct cpu_set cpus = { .w = { h->cpus } };

	podresources__container_resources__init(m);
	m->name = arena_strdup(&w->a, str_from(name));
	m->devices = make_devices(w, h, &m->n_devices);
	m->cpu_ids = podres_make_cpus(&cpus, &w->a, &m->n_cpu_ids);
	m->memory = make_memory(w, h, &m->n_memory);
	if (h->claim) {
		m->dynamic_resources = ARENA_ARRAY(&w->a, Podresources__DynamicResource *, 1);
		m->dynamic_resources[m->n_dynamic_resources++] = make_claim(w, h->claim);
	}
	return m;
}

static Podresources__PodResources *make_pod(struct world *w, int p)
{
	Podresources__PodResources *m = ARENA_NEW(&w->a, Podresources__PodResources);

	podresources__pod_resources__init(m);
	m->name = arena_strdup(&w->a, str_from(names[p]));
	m->namespace_ = arena_strdup(&w->a, STR("ns"));
	m->containers = ARENA_ARRAY(&w->a, Podresources__ContainerResources *, CONTAINERS);
	for (int c = 0; c < CONTAINERS; c++)
		m->containers[m->n_containers++] = make_container(w, containers[c],
								  &w->pod[p].has[c]);
	return m;
}

static struct podres_entry entry_of(struct world *w, int p, bool there)
{
	char *uid = arena_printf(&w->a, "%s.%d", names[p], w->pod[p].life);

	return (struct podres_entry){ str_from(uid), there ? make_pod(w, p) : NULL, 1 };
}

/* --- changes --------------------------------------------------------------------------------- */

static void give_back(struct world *w, struct held *h)
{
	for (int r = 0; r < HELD_RESOURCES; r++)
		h->devices[r] &= ~bits_one_in(w, 4, HELD_DEVICES);
	h->cpus &= ~(uint64_t)bits_one_in(w, 4, CPUS);
	for (int k = 0; k < HELD_KINDS; k++) {
		for (int nodes = 1; nodes < 1 << HELD_NODES; nodes++)
			h->memory[k][nodes] = one_in(w, 4) ? 0 : h->memory[k][nodes];
	}
}

/* Gains memory of one kind, if the nodes have it. */
static void get_memory(struct world *w, struct held *h, struct held *all)
{
	int k = below(w, HELD_KINDS), nodes = 1 + below(w, (1 << HELD_NODES) - 1);
	uint64_t more = (uint64_t)(1 + below(w, 3)) * MIB, *m = all->memory[k];

	m[nodes] += more;
	if (m[1] <= capacity[k][0] && m[2] <= capacity[k][1] &&
	    m[1] + m[2] + m[3] <= capacity[k][0] + capacity[k][1])
		h->memory[k][nodes] += more;
	else
		m[nodes] -= more;
}

/* Gains some free things. */
static void get(struct world *w, struct held *h, struct held *all)
{
	uint64_t cpus = bits_one_in(w, 4, CPUS) & ~all->cpus;

	for (int r = 0; r < HELD_RESOURCES; r++) {
		unsigned bits = bits_one_in(w, 3, HELD_DEVICES) & ~all->devices[r];

		h->devices[r] |= bits;
		all->devices[r] |= bits;
	}
	h->cpus |= cpus;
	all->cpus |= cpus;
	if (one_in(w, 2))
		get_memory(w, h, all);
	if (one_in(w, 6))
		h->claim = (unsigned)below(w, 1 << HELD_DEVICES);
}

/* Moves a thing to another container of its pod. */
static void move(struct world *w, struct model_pod *m)
{
	int r = below(w, HELD_RESOURCES);
	unsigned bits = m->has[0].devices[r] & bits_one_in(w, 2, HELD_DEVICES);

	m->has[0].devices[r] &= ~bits;
	m->has[1].devices[r] |= bits;
}

static struct held all_held(const struct world *w)
{
	struct held all = { 0 };

	for (int p = 0; p < PODS; p++) {
		for (int c = 0; c < CONTAINERS; c++)
			held_add(&all, &w->pod[p].has[c]);
	}
	return all;
}

/* First all of these pods release, end or begin; then they gain. */
static size_t change_pods(struct world *w, unsigned pods, struct podres_entry *v)
{
	struct held all;
	size_t n = 0;

	for (int p = 0; p < PODS; p++) {
		struct model_pod *m = &w->pod[p];

		if (!(pods >> p & 1))
			continue;
		if (m->there && one_in(w, 4)) {
			v[n++] = entry_of(w, p, false);
			*m = (struct model_pod){ .life = m->life + 1, .there = one_in(w, 2) };
		} else {
			m->there = true;
		}
		for (int c = 0; c < CONTAINERS && one_in(w, 2); c++)
			give_back(w, &m->has[c]);
		move(w, m);
	}
	all = all_held(w);
	for (int p = 0; p < PODS; p++) {
		if (!(pods >> p & 1) || !w->pod[p].there)
			continue;
		for (int c = 0; c < CONTAINERS && one_in(w, 2); c++)
			get(w, &w->pod[p].has[c], &all);
		v[n++] = entry_of(w, p, true);
	}
	return n;
}

static void step_pods(struct world *w)
{
	struct podres_entry v[2 * PODS];
	size_t n;

	if (one_in(w, 3)) {
		n = change_pods(w, bits_one_in(w, 2, PODS), v);
		podres_set_pods(w->crowd.book, v, n);
		return;
	}
	n = change_pods(w, 1U << below(w, PODS), v);
	for (size_t i = 0; i < n; i++) {
		if (v[i].state)
			(void)podres_set_pod(w->crowd.book, v[i].uid, v[i].state, v[i].first_main);
		else
			(void)podres_drop_pod(w->crowd.book, v[i].uid);
	}
}

static void step_allocatable(struct world *w)
{
	Podresources__AllocatableResponse m = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	struct held h = { .devices = { bits_one_in(w, 2, HELD_DEVICES), 0x1f },
			  .memory = { { 0, capacity[0][0], capacity[0][1] } } };
	struct cpu_set cpus = { .w = { ~(uint64_t)bits_one_in(w, 8, CPUS) & 0xfff } };

	m.devices = make_devices(w, &h, &m.n_devices);
	m.cpu_ids = podres_make_cpus(&cpus, &w->a, &m.n_cpu_ids);
	m.memory = make_memory(w, &h, &m.n_memory);
	(void)podres_set_allocatable(w->crowd.book, &m);
}

static void restart(struct world *w, int64_t epoch)
{
	struct podres_entry v[PODS];
	size_t n = 0;

	crowd_new_book(&w->crowd, epoch);
	for (int p = 0; p < PODS; p++) {
		if (w->pod[p].there)
			v[n++] = entry_of(w, p, true);
	}
	podres_set_pods(w->crowd.book, v, n);
	step_allocatable(w);
	crowd_reconnect_all(&w->crowd);
}

/* --- checks ---------------------------------------------------------------------------------- */

static void check_list(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_list(w->crowd.book);
	const Podresources__ListResponse *m = held_unpack(
		b, &podresources__list_response__descriptor, &w->crowd.messages);
	size_t there = 0;

	for (int p = 0; p < PODS; p++)
		there += w->pod[p].there;
	assert_int_equal(m->n_pod_resources, there);
	for (size_t i = 0; i < there; i++) {
		const Podresources__PodResources *pod = m->pod_resources[i];
		int p = held_index(pod->name, names, PODS);

		assert_int_equal(pod->n_containers, CONTAINERS);
		for (int c = 0; c < CONTAINERS; c++) {
			struct held got = held_of_container(pod->containers[c]);

			assert_memory_equal(&got, &w->pod[p].has[c], sizeof(got));
		}
	}
}

static void run(uint64_t seed, struct crowd_tally *t)
{
	struct world *w = XNEW(struct world);

	prng_init(&w->g, seed);
	arena_init(&w->a, SIZE_MAX);
	crowd_init(&w->crowd, &w->g, capacity);
	restart(w, below(w, 3));
	for (int i = 0; i < STEPS; i++) {
		if (one_in(w, 10))
			step_allocatable(w);
		else
			step_pods(w);
		if (one_in(w, 8))
			check_list(w);
		if (one_in(w, 100))
			restart(w, podres_revision(w->crowd.book) + 1 + below(w, 1000));
		crowd_act(&w->crowd);
		arena_clear(&w->a);
	}
	check_list(w);
	crowd_settle(&w->crowd, t);
	crowd_release(&w->crowd);
	arena_release(&w->a);
	free(w);
}

static void nor_when_pods_give_back_parts_and_get_others(void **state)
{
	crowd_run(run, SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nor_when_pods_give_back_parts_and_get_others),
	};

	return cmocka_run_group_tests_name("node/podres_parts_model", tests, NULL, NULL);
}

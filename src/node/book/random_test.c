/*
 * Pods of a small node gain, release and exchange things at random; readers of all kinds read at
 * random moments. After every message of every reader no thing is with two pods and no memory is
 * assigned twice. In the end each reader's state equals the List. The ring and the tombstones are
 * tiny, so that most readers fall out of them all the time.
 */
#include "node/book/podres_fixture.h"

#include "base/core/mem.h"
#include "base/core/random.h"
#include "node/book/podres_impl.h"

enum {
	EPOCH = 1000,
	PODS = 7, /* names; each comes and goes under new uids */
	THINGS = 18, /* devices, CPUs, claim devices: each with one pod at a time */
	MEMORY = 6, /* units on each of two NUMA nodes */
	READERS = 8,
	STEPS = 4000,
	SEEDS = 60,
};

/* The things of one pod, in the world or in a reader's state. */
struct holding {
	bool there;
	char uid[32];
	bool thing[THINGS];
	unsigned memory[2]; /* in blocks of one unit */
	unsigned split; /* things from here on are with the second container */
};

/* A reader's behaviour. */
enum manner {
	KEP, /* opens the watch, lists some time later, applies events above the List's revision */
	INITIAL, /* requests the initial state; starts again when cut off */
	RESUMES, /* the same, but resumes with the last revision that it saw */
};

struct reader {
	enum manner manner;
	unsigned speed; /* reads one message in this many chances */
	struct podres_cursor c;
	int64_t last; /* revision seen in this stream */
	int64_t listed; /* revision of the List; 0: none yet */
	struct holding belief[PODS];
	struct podres_cursor allocatable;
	int64_t ncpus; /* CPUs that it has as allocatable */
	unsigned resets, odd, losses; /* counted, to check that they happen */
};

struct world {
	struct prng g;
	struct arena a;
	struct podres *b;
	struct holding pod[PODS];
	struct reader reader[READERS];
	int64_t ncpus;
	unsigned births;
};

/* --- the world ----------------------------------------------------------------------- */

static const char *thing_word(struct arena *a, unsigned i)
{
	switch (i % 4) {
	case 0:
		return arena_printf(a, "gpu:%u%s", i, i % 8 ? "" : "@1");
	case 1:
		return arena_printf(a, "cpu:%u", i);
	case 2:
		return arena_printf(a, "claim:c/%u", i);
	default:
		return arena_printf(a, "nic:%u", i);
	}
}

static const char *words_of(struct arena *a, const struct holding *h)
{
	struct buf b = BUF_INIT(4096);
	char *text;

	for (unsigned i = 0; i < THINGS; i++) {
		if (i == h->split)
			(void)buf_addz(&b, "| ");
		if (h->thing[i])
			(void)buf_printf(&b, "%s ", thing_word(a, i));
	}
	for (unsigned node = 0; node < 2; node++)
		for (unsigned i = 0; i < h->memory[node]; i++)
			(void)buf_printf(&b, "mem:1@%u ", node);
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

static bool thing_is_free(const struct world *w, unsigned thing)
{
	for (int i = 0; i < PODS; i++)
		if (w->pod[i].there && w->pod[i].thing[thing])
			return false;
	return true;
}

static unsigned memory_used(const struct holding *v, unsigned node)
{
	unsigned n = 0;

	for (int i = 0; i < PODS; i++)
		n += v[i].there ? v[i].memory[node] : 0;
	return n;
}

static void give_back_some(struct world *w, struct holding *h)
{
	for (unsigned i = 0; i < THINGS; i++)
		if (h->thing[i] && prng_below(&w->g, 3) == 0)
			h->thing[i] = false;
	for (unsigned node = 0; node < 2; node++)
		h->memory[node] -= (unsigned)prng_below(&w->g, h->memory[node] + 1);
}

static void get_some(struct world *w, struct holding *h)
{
	for (unsigned i = 0; i < THINGS; i++)
		if (thing_is_free(w, i) && prng_below(&w->g, 4) == 0)
			h->thing[i] = true;
	for (unsigned node = 0; node < 2; node++)
		h->memory[node] += (unsigned)prng_below(&w->g,
							MEMORY - memory_used(w->pod, node) + 1);
}

static struct podres_entry entry_of(struct world *w, unsigned i)
{
	const struct holding *h = &w->pod[i];
	struct podres_entry e = { .uid = arena_str(&w->a, str_from(h->uid)) };

	if (h->there)
		e.state = fixture_pod(&w->a, arena_printf(&w->a, "p%u", i), words_of(&w->a, h));
	return e;
}

/* The pod appears, goes, or releases some of its things. */
static void come_or_go(struct world *w, unsigned i)
{
	struct holding *h = &w->pod[i];

	if (!h->there) {
		*h = (struct holding){ .there = true, .split = THINGS };
		(void)snprintf(h->uid, sizeof(h->uid), "u%u-%u", i, ++w->births);
		return;
	}
	if (prng_below(&w->g, 4) == 0) {
		memset(h->thing, 0, sizeof(h->thing));
		memset(h->memory, 0, sizeof(h->memory));
		h->there = false;
		return;
	}
	if (prng_below(&w->g, 4) == 0)
		h->split = (unsigned)prng_below(&w->g, THINGS + 1);
	if (prng_below(&w->g, 2))
		give_back_some(w, h);
}

/* One pod, or several that exchange things: each may gain what any of them released. */
static void change(struct world *w)
{
	unsigned n = prng_below(&w->g, 3) ? 1 : 2 + (unsigned)prng_below(&w->g, 3);
	unsigned first = (unsigned)prng_below(&w->g, PODS);
	struct podres_entry v[PODS];

	for (unsigned k = 0; k < n; k++)
		come_or_go(w, (first + k) % PODS);
	for (unsigned k = 0; k < n; k++) {
		struct holding *h = &w->pod[(first + k) % PODS];

		if (h->there && prng_below(&w->g, 2))
			get_some(w, h);
		v[k] = entry_of(w, (first + k) % PODS);
	}
	if (n == 1 && v[0].state)
		(void)podres_set_pod(w->b, v[0].uid, v[0].state, 0);
	else
		podres_set_pods(w->b, v, n);
}

static void change_allocatable(struct world *w)
{
	Podresources__AllocatableResponse r = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;

	w->ncpus = (int64_t)prng_below(&w->g, 5);
	for (int64_t i = 0; i < w->ncpus; i++)
		FIXTURE_ADD(&w->a, r.cpu_ids, r.n_cpu_ids, i);
	(void)podres_set_allocatable(w->b, &r);
}

/* --- a reader's state ---------------------------------------------------------------- */

static void believe_container(struct holding *h, const Podresources__ContainerResources *c)
{
	for (size_t i = 0; i < c->n_devices; i++)
		for (size_t j = 0; j < c->devices[i]->n_device_ids; j++)
			h->thing[strtoul(c->devices[i]->device_ids[j], NULL, 10)] = true;
	for (size_t i = 0; i < c->n_cpu_ids; i++)
		h->thing[c->cpu_ids[i]] = true;
	for (size_t i = 0; i < c->n_memory; i++)
		h->memory[c->memory[i]->topology->nodes[0]->id]++;
	for (size_t i = 0; i < c->n_dynamic_resources; i++) {
		const Podresources__DynamicResource *d = c->dynamic_resources[i];

		for (size_t j = 0; j < d->n_claim_resources; j++)
			h->thing[strtoul(d->claim_resources[j]->device_name, NULL, 10)] = true;
	}
}

static struct holding *belief_of(struct holding *v, const Podresources__PodResources *p)
{
	return &v[strtoul(p->name + 1, NULL, 10)];
}

static void believe(struct holding *v, const Podresources__PodResources *p)
{
	struct holding *h = belief_of(v, p);

	*h = (struct holding){ .there = true };
	for (size_t i = 0; i < p->n_containers; i++)
		believe_container(h, p->containers[i]);
}

static void assert_within_capacity(const struct holding *v)
{
	for (unsigned t = 0; t < THINGS; t++) {
		unsigned owners = 0;

		for (int i = 0; i < PODS; i++)
			owners += v[i].there && v[i].thing[t];
		assert_in_range(owners, 0, 1);
	}
	for (unsigned node = 0; node < 2; node++)
		assert_in_range(memory_used(v, node), 0, MEMORY);
}

static void assert_same(const struct holding *believed, const struct holding *listed)
{
	for (int i = 0; i < PODS; i++) {
		assert_int_equal(believed[i].there, listed[i].there);
		assert_memory_equal(believed[i].thing, listed[i].thing, sizeof(listed[i].thing));
		assert_memory_equal(believed[i].memory, listed[i].memory, sizeof(listed[i].memory));
	}
}

static int64_t list_into(struct world *w, struct holding *v)
{
	CLEANUP(bytes_unref) struct bytes *m = podres_list(w->b);
	const Podresources__ListResponse *l = fixture_unpack(
		&w->a, &podresources__list_response__descriptor, m);

	memset(v, 0, PODS * sizeof(*v));
	for (size_t i = 0; i < l->n_pod_resources; i++)
		believe(v, l->pod_resources[i]);
	return l->revision;
}

/* --- readers ------------------------------------------------------------------------- */

static void open_watch(struct world *w, struct reader *r, int64_t after)
{
	podres_begin(w->b, &r->c, PODRES_PODS, r->manner != KEP && after == 0, after);
	r->listed = 0;
	r->last = 0;
	if (after == 0)
		memset(r->belief, 0, sizeof(r->belief));
}

static void apply(struct reader *r, const Podresources__PodEvent *e)
{
	if (e->initial_end || e->revision <= r->listed)
		return;
	if (e->uid[0] == '\0') {
		assert_int_equal(e->action, PODRESOURCES__ACTION__DELETED);
		assert_int_not_equal(r->manner, KEP);
		memset(r->belief, 0, sizeof(r->belief));
		r->resets++;
		return;
	}
	assert_int_equal(e->n_pod_resources, 1);
	if (e->action == PODRESOURCES__ACTION__DELETED)
		*belief_of(r->belief, e->pod_resources[0]) = (struct holding){ 0 };
	else
		believe(r->belief, e->pod_resources[0]);
}

/* Returns false if there was nothing to read. */
static bool read_one(struct world *w, struct reader *r)
{
	CLEANUP(bytes_unref) struct bytes *m = NULL;
	const Podresources__PodEvent *e;
	bool some = podres_backlog(w->b, &r->c) > 0;

	m = podres_read(w->b, &r->c);
	if (r->c.lost) {
		assert_int_equal(r->manner, KEP);
		assert_null(m);
		r->losses++;
		open_watch(w, r, 0);
		return true;
	}
	if (!m) {
		assert_int_equal(podres_backlog(w->b, &r->c), 0);
		return false;
	}
	assert_true(some);
	e = fixture_unpack(&w->a, &podresources__pod_event__descriptor, m);
	assert_true(e->revision > r->last || (e->revision == r->last && e->revision % 2));
	assert_true(e->revision <= podres_revision(w->b));
	r->last = e->revision;
	apply(r, e);
	/*
	 * Without a List, a stream that began late has only a part of the state, but a correct one.
	 */
	assert_within_capacity(r->belief);
	return true;
}

static bool read_allocatable(struct world *w, struct reader *r)
{
	CLEANUP(bytes_unref) struct bytes *m = podres_read(w->b, &r->allocatable);
	const Podresources__AllocatableEvent *e;

	if (!m)
		return false;
	e = fixture_unpack(&w->a, &podresources__allocatable_event__descriptor, m);
	if (!e->initial_end)
		r->ncpus = (int64_t)e->n_cpu_ids;
	return true;
}

static void cut_off(struct world *w, struct reader *r)
{
	r->odd += r->last % 2 != 0;
	open_watch(w, r, r->manner == RESUMES ? r->last : 0);
	podres_begin(w->b, &r->allocatable, PODRES_ALLOCATABLE, true, 0);
}

static void step_reader(struct world *w, struct reader *r)
{
	if (prng_below(&w->g, r->speed))
		return;
	if (prng_below(&w->g, 100) == 0)
		cut_off(w, r);
	if (r->manner == KEP && !r->listed && prng_below(&w->g, 4) == 0)
		r->listed = list_into(w, r->belief);
	(void)read_one(w, r);
	(void)read_allocatable(w, r);
}

static void drain(struct world *w, struct reader *r)
{
	struct holding listed[PODS];

	while (read_one(w, r))
		;
	if (r->manner == KEP && !r->listed)
		r->listed = list_into(w, r->belief);
	while (read_allocatable(w, r))
		;
	(void)list_into(w, listed);
	assert_same(r->belief, listed);
	assert_int_equal(r->ncpus, w->ncpus);
}

/* --- the run ------------------------------------------------------------------------- */

static struct world *world_new(uint64_t seed)
{
	struct world *w = XNEW(struct world);

	prng_init(&w->g, seed);
	arena_init(&w->a, SIZE_MAX);
	w->b = podres_new(EPOCH);
	w->b->events[PODRES_PODS].max = 1 + (uint32_t)prng_below(&w->g, 12);
	w->b->events[PODRES_ALLOCATABLE].max = 2;
	w->b->gone.max = 1 + (uint32_t)prng_below(&w->g, 24);
	for (unsigned i = 0; i < READERS; i++) {
		struct reader *r = &w->reader[i];

		r->manner = i % 3;
		r->speed = 1 + i * i;
		cut_off(w, r);
	}
	return w;
}

static void world_free(struct world *w)
{
	podres_free(w->b);
	arena_release(&w->a);
	free(w);
}

static void run(uint64_t seed, unsigned *resets, unsigned *odd, unsigned *losses)
{
	struct world *w = world_new(seed);

	for (int step = 0; step < STEPS; step++) {
		if (prng_below(&w->g, 4) == 0)
			change(w);
		if (prng_below(&w->g, 20) == 0)
			change_allocatable(w);
		step_reader(w, &w->reader[prng_below(&w->g, READERS)]);
		arena_clear(&w->a);
	}
	for (int i = 0; i < READERS; i++) {
		struct reader *r = &w->reader[i];

		drain(w, r);
		*resets += r->resets;
		*odd += r->odd;
		*losses += r->losses;
	}
	world_free(w);
}

static void no_reader_ever_believes_more_than_there_is(void **state UNUSED)
{
	unsigned resets = 0, odd = 0, losses = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		run(seed, &resets, &odd, &losses);
	/* The run is meaningful only if all this happened. */
	assert_true(resets > 100);
	assert_true(odd > 20);
	assert_true(losses > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_reader_ever_believes_more_than_there_is),
	};

	return cmocka_run_group_tests_name("node/podres_random", tests, NULL, NULL);
}

/*
 * From the log to the clients' state, against a slow and obvious model: random lists of plugins,
 * admissions, ends, claims, machines and restarts. The book is filled as the agent fills it. After
 * every message of every client nothing is with two pods. At the end the state of all clients
 * equals List, and List equals the model.
 */
#include "base/core/limits.h"
#include "base/text/cpu_set.h"
#include "node/assign/assign_fixture.h"
#include "node/book/crowd_fixture.h"
#include "node/numa/memory_table.h"
#include "node/podresources/view.h"

enum { PODS = 6, CONTAINERS = 5, CLAIMS = 3, MACHINES = 3, STEPS = 400, SEEDS = 150 };
enum { FIRST_MAIN = 3 };

static const char *const containers[CONTAINERS] = { "i0", "i1", "s", "m", "n" };
static const enum pod_container_kind kinds[CONTAINERS] = { POD_INIT, POD_INIT, POD_SIDECAR,
							   POD_MAIN, POD_MAIN };
static const char *const claims[CLAIMS] = { "c0", "c1", "c2" };
static const char *const letters[HELD_DEVICES] = { "a", "b", "c", "d", "e" };
static const char *const requests[] = { "", "r0", "r1/sub" };

/* The largest machine's capacity: a smaller one may have less than is held. */
static const uint64_t capacity[HELD_KINDS][HELD_NODES] = { { 1728 * MIB, 1984 * MIB },
							   { 64 * MIB, 64 * MIB } };
static const int64_t reserved[HELD_NODES] = { 256 * MIB, 0 };

struct model_resource {
	unsigned healthy; /* bits */
};

struct model_pod {
	int life; /* its uid is "pN.LIFE" */
	struct pod *spec;
	bool active; /* admitted and not ended */
	bool spec_known; /* whether the agent knows it */
	struct held has[CONTAINERS]; /* at admission; without claims */
	int claim; /* or -1 */
	bool names_claim[CONTAINERS];
	int request[CONTAINERS]; /* for the claim */
};

struct model_claim {
	bool live, unpreparing;
	unsigned users; /* pods, bits */
	unsigned devices; /* bits */
};

struct world {
	struct fixture f;
	struct assign_opts opts;
	struct machine machines[MACHINES];
	int machine;
	struct prng g;
	struct assign_watcher watcher;
	struct model_resource res[HELD_RESOURCES];
	struct model_pod pod[PODS];
	struct model_claim claim[CLAIMS];
	VEC(char *) past; /* uids of ended pods that are not forgotten */
	struct crowd crowd;
};

static int below(struct world *w, int n)
{
	return (int)prng_below(&w->g, (uint64_t)n);
}

static bool one_in(struct world *w, int n)
{
	return below(w, n) == 0;
}

static struct str uid_of(struct world *w, int p)
{
	return str_from(arena_printf(&w->f.a, "p%d.%d", p, w->pod[p].life));
}

/* --- filling the book ------------------------------------------------------------------------ */

/* The present pod of that uid; NULL: a past one. */
static const struct model_pod *pod_of(struct world *w, struct str uid)
{
	for (int p = 0; p < PODS; p++) {
		if (str_eq(uid, uid_of(w, p)))
			return &w->pod[p];
	}
	return NULL;
}

static void feed_pod(struct world *w, struct str uid)
{
	const struct model_pod *m = pod_of(w, uid);
	Podresources__PodResources *state = podres_view_pod(
		w->f.s, uid, m && m->spec_known ? m->spec : NULL, &w->f.a);

	if (state)
		(void)podres_set_pod(w->crowd.book, uid, state,
				     podres_view_first_main(w->f.s, uid, state));
	else
		(void)podres_drop_pod(w->crowd.book, uid);
}

static void feed_allocatable(struct world *w)
{
	(void)podres_set_allocatable(w->crowd.book, podres_view_allocatable(w->f.s, &w->f.a));
}

static void on_log_change(struct assign_watcher *watcher, const struct assign_change *c)
{
	struct world *w = CONTAINER_OF(watcher, struct world, watcher);

	if (c->type == ASSIGN_POD)
		feed_pod(w, c->pod_uid);
	if (c->type == ASSIGN_INVENTORY)
		feed_allocatable(w);
}

/* --- steps: plugins and the machine ---------------------------------------------------------- */

static void step_list(struct world *w)
{
	static const int64_t nodes[] = { 0, 1, 0 };
	struct assign_device v[HELD_DEVICES];
	int r = below(w, HELD_RESOURCES);
	size_t n = 0;

	w->res[r].healthy = 0;
	for (int d = 0; d < HELD_DEVICES; d++) {
		bool healthy = !one_in(w, 6);

		if (one_in(w, 8))
			continue;
		v[n++] = (struct assign_device){ .id = str_from(letters[d]),
						 .health = healthy ? ASSIGN_HEALTHY
								   : ASSIGN_UNHEALTHY,
						 .numa = &nodes[held_nodes(d) == 2],
						 .nnuma = (size_t)__builtin_popcount(held_nodes(d)),
						 .has_topology = d != 3 || r == 1 };
		w->res[r].healthy |= healthy ? 1U << d : 0;
	}
	assign_set_resource(w->f.s, str_from(held_resources[r]), v, n);
}

static void step_gone(struct world *w)
{
	int r = below(w, HELD_RESOURCES);

	if (one_in(w, 3))
		assign_drop_resource(w->f.s, str_from(held_resources[r]));
	else
		assign_resource_gone(w->f.s, str_from(held_resources[r]));
	w->res[r].healthy = 0;
}

static void step_machine(struct world *w)
{
	w->machine = below(w, MACHINES);
	w->opts.machine = &w->machines[w->machine];
	assign_set_machine(w->f.s, w->opts.machine);
}

/* --- steps: pods ----------------------------------------------------------------------------- */

static char *container_text(struct world *w, struct model_pod *m, int c, bool guaranteed)
{
	char *limits = arena_printf(&w->f.a, "\"cpu\":\"%d\",\"memory\":\"%dMi\"",
				    guaranteed ? 1 + below(w, 2) : 0, 32 + 32 * below(w, 20));

	for (int r = 0; r < HELD_RESOURCES; r++) {
		if (one_in(w, 2))
			limits = arena_printf(&w->f.a, "%s,\"%s\":%d", limits, held_resources[r],
					      below(w, 3));
	}
	if (one_in(w, 3))
		limits = arena_printf(&w->f.a, "%s,\"hugepages-2Mi\":\"%dMi\"", limits,
				      2 + 2 * below(w, 12));
	m->names_claim[c] = one_in(w, 2);
	m->request[c] = below(w, (int)ARRAY_SIZE(requests));
	return arena_printf(
		&w->f.a, "{\"name\":\"%s\"%s,\"resources\":{\"claims\":[%s],\"limits\":{%s}}}",
		containers[c], kinds[c] == POD_SIDECAR ? ",\"restartPolicy\":\"Always\"" : "",
		m->names_claim[c] ? arena_printf(&w->f.a, "{\"name\":\"x\",\"request\":\"%s\"}",
						 requests[m->request[c]])
				  : "",
		limits);
}

static void make_spec(struct world *w, int p)
{
	struct model_pod *m = &w->pod[p];
	bool guaranteed = w->opts.static_cpus && !one_in(w, 4);
	char *text[CONTAINERS], *all;

	for (int c = 0; c < CONTAINERS; c++)
		text[c] = container_text(w, m, c, guaranteed);
	all = arena_printf(&w->f.a,
			   "{\"metadata\":{\"name\":\"p%d\",\"namespace\":\"ns\",\"uid\":\"%.*s\"},"
			   "\"spec\":{\"initContainers\":[%s,%s,%s],\"containers\":[%s,%s]}}",
			   p, STR_ARG(uid_of(w, p)), text[0], text[1], text[2], text[3], text[4]);
	pod_unref(m->spec);
	m->spec = NULL;
	if (pod_parse(str_from(all), &m->spec, &w->f.err) < 0)
		fail_msg("%s: %s", w->f.err.msg, all);
	m->spec_known = true;
}

static void learn_container(struct world *w, struct str uid, int c, struct held *ret)
{
	struct str name = str_from(containers[c]);
	const struct memory_block *blocks;
	size_t n = assign_memory(w->f.s, uid, name, &w->f.a, &blocks);
	struct cpu_set cpus = { 0 };

	*ret = (struct held){ 0 };
	if (assign_own_cpus(w->f.s, uid, name, &cpus))
		ret->cpus = cpus.w[0];
	for (size_t i = 0; i < n; i++)
		ret->memory[blocks[i].page > 0][blocks[i].nodes] += (uint64_t)blocks[i].bytes;
}

/* Records what an admission has chosen; from then on only the model says which pod has it. */
static void learn_pod(struct world *w, int p)
{
	struct str uid = uid_of(w, p);
	const struct assign_use *v;
	size_t n = assign_uses(w->f.s, uid, &w->f.a, &v);

	for (int c = 0; c < CONTAINERS; c++)
		learn_container(w, uid, c, &w->pod[p].has[c]);
	for (size_t i = 0; i < n; i++) {
		int c, r;

		if (v[i].resource.n == 0)
			continue;
		c = held_index(arena_strdup(&w->f.a, v[i].container), containers, CONTAINERS);
		r = held_index(arena_strdup(&w->f.a, v[i].resource), held_resources,
			       HELD_RESOURCES);
		w->pod[p].has[c].devices[r] |= 1U << (v[i].id.p[0] - 'a');
	}
}

static void step_admit(struct world *w)
{
	int p = below(w, PODS);
	struct model_pod *m = &w->pod[p];

	if (m->active)
		return;
	if (m->claim < 0)
		make_spec(w, p);
	m->spec_known = true;
	m->active = fixture_admit(&w->f, m->spec) == 0;
	if (m->active)
		learn_pod(w, p);
}

/* The book is updated, and there is nothing new. */
static void step_answer(struct world *w)
{
	struct str uid = uid_of(w, below(w, PODS));
	int64_t before = podres_revision(w->crowd.book);
	struct assign_request q;

	if (assign_next_request(w->f.s, uid, &w->f.a, &q))
		assign_set_answer(w->f.s, uid, q.container, q.resource, STR("answer"));
	assert_int_equal(podres_revision(w->crowd.book), before);
}

static void unuse(struct world *w, int p)
{
	struct model_pod *m = &w->pod[p];
	struct model_claim *c = &w->claim[m->claim];
	struct str uid = str_from(claims[m->claim]);

	c->users &= ~(1U << p);
	m->claim = -1;
	if (!assign_claim_unuse(w->f.s, uid, uid_of(w, p)))
		return;
	assert_int_equal(c->users, 0);
	assign_claim_set_state(w->f.s, uid, ASSIGN_CLAIM_UNPREPARING);
	assign_claim_forget(w->f.s, uid);
	*c = (struct model_claim){ 0 };
}

/* Ends a pod, then makes another one of that name; the log may remember the old one for a while. */
static void step_end(struct world *w)
{
	int p = below(w, PODS);
	struct model_pod *m = &w->pod[p];

	m->active = false;
	if (!one_in(w, 3))
		assign_end_pod(w->f.s, uid_of(w, p));
	if (m->claim >= 0)
		unuse(w, p);
	if (one_in(w, 2)) {
		assign_forget_pod(w->f.s, uid_of(w, p));
	} else {
		assign_end_pod(w->f.s, uid_of(w, p));
		(void)vec_push(&w->past, str_dup(uid_of(w, p)));
	}
	m->life++;
}

static void step_forget(struct world *w)
{
	if (w->past.n == 0)
		return;
	assign_forget_pod(w->f.s, str_from(w->past.v[w->past.n - 1]));
	free(w->past.v[--w->past.n]);
}

/* After a restart the log is there before the pod objects are. */
static void step_learn(struct world *w)
{
	int p = below(w, PODS);

	if (!w->pod[p].spec || w->pod[p].spec_known)
		return;
	w->pod[p].spec_known = true;
	feed_pod(w, uid_of(w, p));
}

/* --- steps: claims --------------------------------------------------------------------------- */

static void step_use(struct world *w)
{
	int p = below(w, PODS), uid = below(w, CLAIMS);
	struct model_pod *m = &w->pod[p];
	struct str driver = STR("d");
	struct assign_claim c = { .uid = str_from(claims[uid]),
				  .ns = STR("ns"),
				  .name = str_from(claims[uid]),
				  .drivers = &driver,
				  .ndrivers = 1 };

	if (m->claim >= 0)
		return;
	if (!m->active)
		make_spec(w, p);
	m->claim = uid;
	w->claim[uid].live = true;
	w->claim[uid].users |= 1U << p;
	if (assign_claim_use(w->f.s, m->spec, STR("x"), &c, &w->f.err) < 0)
		fail_msg("%s", w->f.err.msg);
}

static void step_prepare(struct world *w)
{
	static const struct str of[] = { { "r0", 2 }, { "r1", 2 } };
	int uid = below(w, CLAIMS);
	struct assign_claim_device v[HELD_DEVICES];
	struct str cdi[HELD_DEVICES];
	size_t n = 0;

	if (!w->claim[uid].live)
		return;
	w->claim[uid].devices = (unsigned)below(w, 1 << HELD_DEVICES);
	for (int d = 0; d < HELD_DEVICES; d++) {
		if (!(w->claim[uid].devices >> d & 1))
			continue;
		cdi[n] = str_from(letters[d]);
		v[n] = (struct assign_claim_device){ .pool = STR("pool"),
						     .device = cdi[n],
						     .requests = &of[d % 2],
						     .nrequests = 1,
						     .cdi = &cdi[n],
						     .ncdi = 1 };
		n++;
	}
	assign_claim_set_devices(w->f.s, str_from(claims[uid]), STR("d"), v, n);
}

static void step_unuse(struct world *w)
{
	int p = below(w, PODS);

	if (w->pod[p].claim >= 0)
		unuse(w, p);
}

/* --- the model's state ----------------------------------------------------------------------- */

static void add_claim(const struct world *w, int p, int c, struct held *h)
{
	static const unsigned of_request[] = { ~0U, 0x15, 0x0a };
	const struct model_pod *m = &w->pod[p];

	/* Until it is known which containers name it, all may. */
	if (m->claim >= 0 && !m->spec_known)
		h->claim = w->claim[m->claim].devices;
	else if (m->claim >= 0 && m->names_claim[c])
		h->claim = w->claim[m->claim].devices & of_request[m->request[c]];
}

/* The things listed for one container. */
static struct held told(const struct world *w, int p, int c)
{
	struct held h = w->pod[p].has[c];

	add_claim(w, p, c, &h);
	for (int o = 0; kinds[c] == POD_INIT && o < CONTAINERS; o++) {
		struct held other = w->pod[p].has[o];

		if (o == c || (kinds[o] == POD_INIT && o < c))
			continue;
		add_claim(w, p, o, &other);
		for (int r = 0; r < HELD_RESOURCES; r++)
			h.devices[r] &= ~other.devices[r];
		h.cpus &= ~other.cpus;
		h.claim &= ~other.claim;
	}
	return h;
}

static void check_pod(const struct world *w, const Podresources__PodResources *m)
{
	static const struct held nothing = { 0 };
	int p = m->name[1] - '0';
	size_t at = 0;

	assert_true(w->pod[p].active);
	for (int c = 0; c < CONTAINERS; c++) {
		struct held want = told(w, p, c), got;

		if (kinds[c] == POD_INIT && memcmp(&want, &nothing, sizeof(want)) == 0)
			continue;
		assert_true(at < m->n_containers);
		assert_string_equal(m->containers[at]->name, containers[c]);
		got = held_of_container(m->containers[at++]);
		assert_memory_equal(&got, &want, sizeof(got));
	}
	assert_int_equal(at, m->n_containers);
}

static void check_alpha_container(const Podresources__ContainerResources *got, const unsigned *has)
{
	unsigned want[HELD_RESOURCES];

	memcpy(want, has, sizeof(want));
	for (size_t d = 0; d < got->n_devices; d++) {
		assert_null(got->devices[d]->topology);
		want[held_index(got->devices[d]->resource_name, held_resources, HELD_RESOURCES)] &=
			~held_bit(got->devices[d]->device_ids[0]);
	}
	assert_int_equal(want[0] | want[1], 0);
	assert_int_equal(got->n_cpu_ids + got->n_memory, 0);
}

static void check_alpha(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_list_alpha(w->crowd.book);
	const Podresources__ListResponse *m = held_unpack(
		b, &podresources__list_response__descriptor, &w->crowd.messages);

	for (size_t i = 0; i < m->n_pod_resources; i++) {
		const Podresources__PodResources *pod = m->pod_resources[i];
		int p = pod->name[1] - '0';

		assert_int_equal(pod->n_containers, CONTAINERS - FIRST_MAIN);
		for (int c = FIRST_MAIN; c < CONTAINERS; c++)
			check_alpha_container(pod->containers[c - FIRST_MAIN],
					      w->pod[p].has[c].devices);
	}
}

static void check_list(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_list(w->crowd.book);
	const Podresources__ListResponse *m = held_unpack(
		b, &podresources__list_response__descriptor, &w->crowd.messages);
	size_t active = 0;

	for (int p = 0; p < PODS; p++) {
		struct str name = str_from(arena_printf(&w->f.a, "p%d", p));
		CLEANUP(bytes_unref) struct bytes *one = podres_get(w->crowd.book, STR("ns"), name);

		active += w->pod[p].active;
		assert_int_equal(one != NULL, w->pod[p].active);
	}
	assert_int_equal(m->n_pod_resources, active);
	assert_int_equal(m->revision, podres_revision(w->crowd.book));
	for (size_t i = 0; i < m->n_pod_resources; i++)
		check_pod(w, m->pod_resources[i]);
	check_alpha(w);
}

static struct held allocatable(const struct world *w)
{
	const struct machine *m = &w->machines[w->machine];
	struct held h = { 0 };

	for (int r = 0; r < HELD_RESOURCES; r++)
		h.devices[r] = w->res[r].healthy;
	if (!w->opts.static_cpus)
		return h;
	h.cpus = ((UINT64_C(1) << m->ncpus) - 1) & ~UINT64_C(1);
	for (int n = 0; n < HELD_NODES; n++) {
		h.memory[0][1 << n] = (uint64_t)(m->numa[n].memory_bytes - reserved[n]) - 64 * MIB;
		h.memory[1][1 << n] = 64 * MIB;
	}
	return h;
}

static void check_allocatable(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *b = podres_allocatable(w->crowd.book);
	const Podresources__AllocatableResponse *m = held_unpack(
		b, &podresources__allocatable_response__descriptor, &w->crowd.messages);
	struct held got = held_of_node(m), want = allocatable(w);

	assert_memory_equal(&got, &want, sizeof(got));
}

/* --- the agent ------------------------------------------------------------------------------- */

static void feed_all(struct world *w)
{
	struct podres_entry v[PODS];
	struct str uid = STR_NULL;
	bool ended;
	size_t n = 0;

	while (assign_next_pod(w->f.s, &uid, &ended)) {
		const struct model_pod *m = pod_of(w, uid);
		Podresources__PodResources *state = podres_view_pod(
			w->f.s, uid, m && m->spec_known ? m->spec : NULL, &w->f.a);

		if (state)
			v[n++] = (struct podres_entry){
				uid, state, podres_view_first_main(w->f.s, uid, state)
			};
	}
	podres_set_pods(w->crowd.book, v, n);
	feed_allocatable(w);
}

/* Plugins and clients have to connect again. */
static void restart(struct world *w)
{
	char *text = fixture_encode(&w->f);
	struct assign *log = NULL;

	assert_int_equal(assign_new(&w->opts, &log, &w->f.err), 0);
	if (assign_decode(log, str_from(text), &w->f.err) < 0)
		fail_msg("%s", w->f.err.msg);
	assign_free(w->f.s);
	w->f.s = log;
	assign_add_watcher(log, &w->watcher);
	for (int r = 0; r < HELD_RESOURCES; r++)
		w->res[r].healthy = 0;
	for (int p = 0; p < PODS; p++)
		w->pod[p].spec_known = one_in(w, 2);
	crowd_new_book(&w->crowd, podres_revision(w->crowd.book) + 1 + below(w, 1000));
	feed_all(w);
	crowd_reconnect_all(&w->crowd);
}

static void step(struct world *w)
{
	static void (*const steps[])(struct world *) = {
		step_list,    step_list,    step_gone,    step_admit, step_admit, step_admit,
		step_admit,   step_admit,   step_end,     step_end,   step_end,   step_answer,
		step_learn,   step_learn,   step_use,     step_use,   step_use,   step_prepare,
		step_prepare, step_prepare, step_prepare, step_unuse, step_unuse, step_forget,
	};

	steps[below(w, (int)ARRAY_SIZE(steps))](w);
	if (one_in(w, 50))
		step_machine(w);
	if (one_in(w, 100))
		restart(w);
	if (one_in(w, 8)) {
		check_list(w);
		check_allocatable(w);
	}
	crowd_act(&w->crowd);
	arena_clear(&w->f.a);
}

/* --- worlds ---------------------------------------------------------------------------------- */

static void make_machines(struct world *w)
{
	static const int cpus[MACHINES] = { 10, 8, 10 };
	static const int64_t gib[MACHINES] = { 4, 4, 3 };

	for (int i = 0; i < MACHINES; i++) {
		struct machine *m = &w->machines[i];
		struct machine_numa *v;

		machine_make(m, cpus[i], gib[i] << 30, HELD_NODES);
		v = ARENA_ARRAY(&m->arena, struct machine_numa, HELD_NODES);
		for (int n = 0; n < HELD_NODES; n++) {
			v[n] = m->numa[n];
			v[n].nhuge = 1;
			v[n].huge_size[0] = 2 * MIB;
			v[n].huge_bytes[0] = 64 * MIB;
		}
		m->numa = v;
	}
}

static struct world *world_new(uint64_t seed)
{
	struct world *w = XNEW(struct world);
	bool exclusive = seed % 3 != 0;

	prng_init(&w->g, seed);
	make_machines(w);
	arena_init(&w->f.a, SIZE_MAX);
	vec_init(&w->past, SIZE_MAX);
	w->opts = (struct assign_opts){ .machine = &w->machines[0],
					.static_cpus = exclusive,
					.static_memory = exclusive,
					.topology = seed % 2 ? TOPOLOGY_BEST_EFFORT : TOPOLOGY_NONE,
					.reserved_cpus = STR("0"),
					.reserved_memory = reserved,
					.nreserved_memory = HELD_NODES };
	assert_int_equal(assign_new(&w->opts, &w->f.s, &w->f.err), 0);
	w->watcher.on_change = on_log_change;
	assign_add_watcher(w->f.s, &w->watcher);
	for (int p = 0; p < PODS; p++)
		w->pod[p].claim = -1;
	crowd_init(&w->crowd, &w->g, capacity);
	w->crowd.steady = true;
	crowd_new_book(&w->crowd, below(w, 3));
	feed_all(w);
	crowd_reconnect_all(&w->crowd);
	return w;
}

static void world_free(struct world *w)
{
	crowd_release(&w->crowd);
	for (int p = 0; p < PODS; p++)
		pod_unref(w->pod[p].spec);
	while (w->past.n > 0)
		free(w->past.v[--w->past.n]);
	vec_release(&w->past);
	fixture_release_cleanup(&w->f);
	for (int i = 0; i < MACHINES; i++)
		machine_release(&w->machines[i]);
	free(w);
}

static void run(uint64_t seed, struct crowd_tally *t)
{
	struct world *w = world_new(seed);

	for (int i = 0; i < STEPS; i++)
		step(w);
	check_list(w);
	check_allocatable(w);
	crowd_settle(&w->crowd, t);
	world_free(w);
}

static void no_client_ever_sees_a_thing_with_two_pods(void **state)
{
	crowd_run(run, SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_client_ever_sees_a_thing_with_two_pods),
	};

	return cmocka_run_group_tests_name("node/podres_model", tests, NULL, NULL);
}

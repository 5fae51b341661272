/*
 * The log against a slow and obvious model: random admissions, ends, lists, claims and restarts.
 * After every step the log is encoded and decoded into another one, which must be the same (an
 * agent that dies at any moment). Now and then that one takes over. A watcher that only follows
 * changes must never see a device or CPU with two pods.
 */
#include "node/assign/assign_fixture.h"

#include "base/core/limits.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/text/cpu_set.h"

enum { RESOURCES = 2, DEVICES = 5, PODS = 6, CONTAINERS = 4, CLAIMS = 3, STEPS = 250, SEEDS = 60 };
enum { CPUS = 8 };

static const char *const resources[RESOURCES] = { GPU, "x.com/nic" };
static const char *const pods[PODS] = { "p0", "p1", "p2", "p3", "p4", "p5" };
static const char *const claims[CLAIMS] = { "c0", "c1", "c2" };
static const char *const containers[CONTAINERS] = { "i0", "i1", "s", "m" };
static const enum pod_container_kind kinds[CONTAINERS] = { POD_INIT, POD_INIT, POD_SIDECAR,
							   POD_MAIN };
static const char letters[] = "abcde";

struct model_resource {
	bool offered; /* a plugin has listed it, and it was not dropped */
	bool connected;
	bool listed[DEVICES], healthy[DEVICES];
};

struct model_pod {
	bool known, admitted, ended;
	/* Devices of each container, as bits. */
	unsigned has[CONTAINERS][RESOURCES];
	struct cpu_set cpus[CONTAINERS];
	int claim; /* index of its claim object, or -1 */
};

/* One life of a claim, from its first use to being forgotten. */
struct model_claim {
	int uid;
	bool live, unpreparing;
	unsigned uses; /* bits of pods */
	unsigned devices; /* bits */
};

struct world {
	struct fixture f;
	struct assign_opts opts;
	struct prng g;
	struct assign_watcher watcher;
	struct model_resource res[RESOURCES];
	struct model_pod pod[PODS];
	VEC(struct model_claim) claim;
	/* The watcher's state, from changes alone. */
	unsigned seen[PODS][RESOURCES];
	struct cpu_set seen_cpus[PODS];
	unsigned told[PODS][RESOURCES]; /* devices whose health was reported in this step, bits */
};

static int below(struct world *w, int n)
{
	return (int)prng_below(&w->g, (uint64_t)n);
}

static int index_of(struct str s, const char *const *names, int n)
{
	for (int i = 0; i < n; i++) {
		if (str_eqz(s, names[i]))
			return i;
	}
	fail_msg("%.*s is not ours", STR_ARG(s));
	return -1;
}

/* --- the watcher ----------------------------------------------------------------------------- */

static void see_pod(struct world *w, int p)
{
	const struct assign_use *v;
	size_t n = assign_uses(w->f.s, str_from(pods[p]), &w->f.a, &v);

	memset(w->seen[p], 0, sizeof(w->seen[p]));
	w->seen_cpus[p] = (struct cpu_set){ 0 };
	for (size_t i = 0; i < n; i++) {
		if (v[i].resource.n > 0 && !v[i].past)
			w->seen[p][index_of(v[i].resource, resources, RESOURCES)] |=
				1U << (v[i].id.p[0] - 'a');
	}
	for (int c = 0; c < CONTAINERS; c++) {
		struct cpu_set own;

		if (assign_own_cpus(w->f.s, str_from(pods[p]), str_from(containers[c]), &own))
			cpu_set_or(&w->seen_cpus[p], &own);
	}
	for (int q = 0; q < PODS; q++) {
		struct cpu_set both = w->seen_cpus[p];

		if (q == p)
			continue;
		for (int r = 0; r < RESOURCES; r++)
			assert_int_equal(w->seen[p][r] & w->seen[q][r], 0);
		cpu_set_and(&both, &w->seen_cpus[q]);
		assert_true(cpu_set_empty(&both));
	}
}

static void on_change(struct assign_watcher *watcher, const struct assign_change *c)
{
	struct world *w = CONTAINER_OF(watcher, struct world, watcher);
	unsigned bit, *told;

	assert_int_equal(c->revision, assign_revision(w->f.s));
	if (c->type == ASSIGN_POD)
		see_pod(w, index_of(c->pod_uid, pods, PODS));
	if (c->type != ASSIGN_DEVICE_HEALTH || c->pod_uid.n == 0)
		return;
	bit = 1U << (c->id.p[0] - 'a');
	told = &w->told[index_of(c->pod_uid, pods, PODS)]
		       [index_of(c->resource, resources, RESOURCES)];
	assert_int_equal(*told & bit, 0);
	*told |= bit;
}

/* --- the model ------------------------------------------------------------------------------- */

static unsigned pod_has(const struct model_pod *p, int r)
{
	unsigned bits = 0;

	for (int c = 0; c < CONTAINERS; c++)
		bits |= p->has[c][r];
	return bits;
}

static unsigned held_by_others(const struct world *w, int p, int r)
{
	unsigned bits = 0;

	for (int q = 0; q < PODS; q++) {
		if (q != p && w->pod[q].admitted && !w->pod[q].ended)
			bits |= pod_has(&w->pod[q], r);
	}
	return bits;
}

static unsigned healthy(const struct world *w, int r)
{
	unsigned bits = 0;

	for (int d = 0; d < DEVICES; d++) {
		if (w->res[r].listed[d] && w->res[r].healthy[d])
			bits |= 1U << d;
	}
	return bits;
}

/* Whether the log has the resource: it was offered, or some pod still has a device of it. */
static bool is_known(const struct world *w, int r)
{
	for (int p = 0; p < PODS; p++) {
		if (w->pod[p].known && pod_has(&w->pod[p], r))
			return true;
	}
	return w->res[r].offered;
}

static int bits_of(unsigned v)
{
	return __builtin_popcount(v);
}

/* Counts only: whether the requests can be satisfied, container after container. */
static bool fits(const struct world *w, int p, int want[CONTAINERS][RESOURCES])
{
	for (int r = 0; r < RESOURCES; r++) {
		int left = bits_of(healthy(w, r) & ~held_by_others(w, p, r)), again = 0;

		for (int c = 0; c < CONTAINERS && is_known(w, r); c++) {
			int fresh = MAX(want[c][r] - again, 0);

			if (want[c][r] == 0)
				continue;
			if (!w->res[r].offered || healthy(w, r) == 0 || fresh > left)
				return false;
			left -= fresh;
			if (kinds[c] == POD_INIT)
				again = MAX(again, want[c][r]);
			else
				again -= want[c][r] - fresh;
		}
	}
	return true;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void step_list(struct world *w)
{
	static const int64_t nodes[] = { 0, 1 };
	struct assign_device v[DEVICES + 1];
	int r = below(w, RESOURCES), n = 0;
	struct model_resource *m = &w->res[r];

	memset(m->listed, 0, sizeof(m->listed));
	for (int d = 0; d < DEVICES; d++) {
		if (below(w, 8) == 0)
			continue;
		m->listed[d] = true;
		m->healthy[d] = below(w, 6) != 0;
		v[n++] = (struct assign_device){ .id = str_of(&letters[d], 1),
						 .health = m->healthy[d] ? ASSIGN_HEALTHY
									 : ASSIGN_UNHEALTHY,
						 .numa = &nodes[d % 2],
						 .nnuma = 1,
						 .has_topology = true };
	}
	if (n > 0 && below(w, 4) == 0) {
		v[n] = v[0];
		v[n++].health = ASSIGN_UNKNOWN;
	}
	m->offered = m->connected = true;
	assign_set_resource(w->f.s, str_from(resources[r]), v, (size_t)n);
}

static void step_gone(struct world *w)
{
	int r = below(w, RESOURCES);
	struct model_resource *m = &w->res[r];

	if (below(w, 3) == 0) {
		assign_drop_resource(w->f.s, str_from(resources[r]));
		*m = (struct model_resource){ 0 };
		return;
	}
	assign_resource_gone(w->f.s, str_from(resources[r]));
	m->connected = false;
	memset(m->healthy, 0, sizeof(m->healthy));
}

static char *container_text(struct world *w, int c, const int want[RESOURCES], int cpus)
{
	char *limits = arena_printf(&w->f.a, "\"cpu\":%d,\"memory\":\"1Mi\"", cpus);

	for (int r = 0; r < RESOURCES; r++) {
		if (want[r] > 0)
			limits = arena_printf(&w->f.a, "%s,\"%s\":%d", limits, resources[r],
					      want[r]);
	}
	return arena_printf(&w->f.a, "{\"name\":\"%s\"%s,\"resources\":{\"limits\":{%s}}}",
			    containers[c],
			    kinds[c] == POD_SIDECAR ? ",\"restartPolicy\":\"Always\"" : "", limits);
}

static struct pod *random_pod(struct world *w, int p, int want[CONTAINERS][RESOURCES])
{
	char *text[CONTAINERS];
	bool own_cpus = w->opts.static_cpus && below(w, 2) == 0;

	for (int c = 0; c < CONTAINERS; c++) {
		for (int r = 0; r < RESOURCES; r++)
			want[c][r] = below(w, 2) == 0 ? below(w, 3) : 0;
		text[c] = container_text(w, c, want[c], own_cpus ? 1 + below(w, 2) : 0);
	}
	return fixture_pod(&w->f, pods[p],
			   arena_printf(&w->f.a, "%s,%s,%s", text[0], text[1], text[2]), text[3]);
}

static void learn_devices(struct world *w, int p, int want[CONTAINERS][RESOURCES])
{
	const struct assign_use *v;
	size_t n = assign_uses(w->f.s, str_from(pods[p]), &w->f.a, &v);
	struct model_pod *m = &w->pod[p];

	memset(m->has, 0, sizeof(m->has));
	for (int c = 0; c < CONTAINERS; c++)
		(void)assign_own_cpus(w->f.s, str_from(pods[p]), str_from(containers[c]),
				      &m->cpus[c]);
	for (size_t i = 0; i < n; i++) {
		if (v[i].resource.n > 0)
			m->has[index_of(v[i].container, containers, CONTAINERS)][index_of(
				v[i].resource, resources, RESOURCES)] |= 1U << (v[i].id.p[0] - 'a');
	}
	for (int r = 0; r < RESOURCES; r++) {
		unsigned lasting = m->has[2][r];

		for (int c = 0; c < CONTAINERS; c++)
			assert_int_equal(bits_of(m->has[c][r]), is_known(w, r) ? want[c][r] : 0);
		assert_int_equal(lasting & m->has[3][r], 0);
		assert_int_equal(pod_has(m, r) & ~healthy(w, r), 0);
		assert_int_equal(pod_has(m, r) & held_by_others(w, p, r), 0);
	}
}

static bool asks(void *arg, struct str resource)
{
	return str_eqz(resource, GPU) && arg;
}

static int admit(struct world *w, const struct pod *p)
{
	int r = fixture_admit(&w->f, p);

	while (r == 0 && w->f.io.waiting) {
		const struct assign_wish *wish = &w->f.io.wish;
		size_t n = MIN(wish->navailable, (size_t)wish->size);

		assign_prefer(w->f.s, p->uid, wish, wish->available + wish->navailable - n, n);
		r = fixture_admit(&w->f, p);
	}
	return r;
}

static void step_admit(struct world *w)
{
	int p = below(w, PODS), want[CONTAINERS][RESOURCES];
	struct model_pod *m = &w->pod[p];
	struct pod *pod = random_pod(w, p, want);
	bool fit = fits(w, p, want);
	uint64_t revision = assign_revision(w->f.s);

	if (m->admitted || m->ended)
		return;
	w->f.io.wants_preferred = asks;
	w->f.io.arg = below(w, 2) ? w : NULL;
	if (admit(w, pod) < 0) {
		/* CPUs are not in the model: they may have been missing. */
		assert_true(!fit || w->opts.static_cpus);
		assert_int_equal(assign_revision(w->f.s), revision);
		assert_false(assign_is_admitted(w->f.s, pod->uid));
		return;
	}
	assert_true(fit);
	m->known = m->admitted = true;
	learn_devices(w, p, want);
}

static void step_answer(struct world *w)
{
	struct str uid = str_from(pods[below(w, PODS)]);
	struct assign_request q;

	if (assign_next_request(w->f.s, uid, &w->f.a, &q))
		assign_set_answer(w->f.s, uid, q.container, q.resource, STR("\0answer"));
}

static void step_end(struct world *w)
{
	int p = below(w, PODS);

	assign_end_pod(w->f.s, str_from(pods[p]));
	w->pod[p].ended |= w->pod[p].known;
	memset(w->pod[p].cpus, 0, sizeof(w->pod[p].cpus));
}

static void step_forget(struct world *w)
{
	int p = below(w, PODS);

	assign_forget_pod(w->f.s, str_from(pods[p]));
	w->pod[p] = (struct model_pod){ .claim = -1 };
}

static struct model_claim *live_claim(struct world *w, int uid)
{
	for (size_t i = 0; i < w->claim.n; i++) {
		if (w->claim.v[i].live && w->claim.v[i].uid == uid)
			return &w->claim.v[i];
	}
	return NULL;
}

static void step_use(struct world *w)
{
	int p = below(w, PODS), uid = below(w, CLAIMS), none[CONTAINERS][RESOURCES];
	struct str driver = STR("d");
	struct assign_claim c = { .uid = str_from(claims[uid]),
				  .ns = STR("ns"),
				  .name = str_from(claims[uid]),
				  .drivers = &driver,
				  .ndrivers = 1 };
	struct model_claim *m = live_claim(w, uid);
	bool refused = w->pod[p].ended || (m && m->unpreparing);

	assert_int_equal(
		assign_claim_use(w->f.s, random_pod(w, p, none), STR("gpu"), &c, &w->f.err),
		refused ? -ERR_CONFLICT : 0);
	if (refused)
		return;
	if (!m) {
		(void)vec_push(&w->claim, (struct model_claim){ .uid = uid, .live = true });
		m = &w->claim.v[w->claim.n - 1];
	}
	/*
	 * The pod's entry is this claim now; the one before it stays in use until it is released.
	 */
	m->uses |= 1U << p;
	w->pod[p].known = true;
	w->pod[p].claim = (int)(m - w->claim.v);
}

static void step_prepare(struct world *w)
{
	int uid = below(w, CLAIMS);
	struct model_claim *m = live_claim(w, uid);
	struct assign_claim_device v[DEVICES];
	size_t n = 0;

	if (!m)
		return;
	m->devices = (unsigned)below(w, 1 << DEVICES);
	for (int d = 0; d < DEVICES; d++) {
		if (m->devices >> d & 1)
			v[n++] = (struct assign_claim_device){ .pool = STR("pool"),
							       .device = str_of(&letters[d], 1) };
	}
	assign_claim_set_devices(w->f.s, str_from(claims[uid]), STR("d"), v, n);
	assign_claim_set_state(w->f.s, str_from(claims[uid]), ASSIGN_CLAIM_PREPARED);
	m->unpreparing = false;
}

static void step_unuse(struct world *w)
{
	int p = below(w, PODS), uid = below(w, CLAIMS);
	struct model_claim *m = live_claim(w, uid);
	bool last = assign_claim_unuse(w->f.s, str_from(claims[uid]), str_from(pods[p]));

	if (m)
		m->uses &= ~(1U << p);
	assert_int_equal(last, m && m->uses == 0);
	if (!last)
		return;
	assign_claim_set_state(w->f.s, str_from(claims[uid]), ASSIGN_CLAIM_UNPREPARING);
	m->unpreparing = true;
	if (below(w, 2) == 0)
		return;
	assign_claim_forget(w->f.s, str_from(claims[uid]));
	m->live = false;
}

/* --- checks ---------------------------------------------------------------------------------- */

static void check_resources(struct world *w)
{
	for (int r = 0; r < RESOURCES; r++) {
		struct str at = STR_NULL;
		int64_t capacity = -1, allocatable = -1;
		int listed = 0;

		while (assign_next_resource(w->f.s, &at, &capacity, &allocatable) &&
		       !str_eqz(at, resources[r]))
			capacity = -1;
		assert_int_equal(capacity >= 0, w->res[r].offered);
		assert_int_equal(assign_has_resource(w->f.s, str_from(resources[r])),
				 w->res[r].offered);
		for (int d = 0; d < DEVICES; d++)
			listed += w->res[r].listed[d];
		if (!w->res[r].offered)
			continue;
		assert_int_equal(capacity, listed);
		assert_int_equal(allocatable, bits_of(healthy(w, r)));
	}
}

static void check_pod(struct world *w, const struct assign *s, int p)
{
	const struct model_pod *m = &w->pod[p];
	const struct assign_use *v;
	size_t n = assign_uses(s, str_from(pods[p]), &w->f.a, &v);
	unsigned has[CONTAINERS][RESOURCES] = { 0 }, devices = 0;

	assert_int_equal(assign_has_pod(s, str_from(pods[p])), m->known);
	for (size_t i = 0; i < n; i++) {
		if (v[i].pod_claim.n > 0) {
			devices |= 1U << (v[i].device.device.p[0] - 'a');
			continue;
		}
		assert_int_equal(v[i].past, m->ended);
		has[index_of(v[i].container, containers, CONTAINERS)]
		   [index_of(v[i].resource, resources, RESOURCES)] |= 1U << (v[i].id.p[0] - 'a');
	}
	assert_memory_equal(has, m->has, sizeof(has));
	for (int c = 0; c < CONTAINERS; c++) {
		struct cpu_set own = { 0 };

		(void)assign_own_cpus(s, str_from(pods[p]), str_from(containers[c]), &own);
		assert_true(cpu_set_equal(&own, &m->cpus[c]));
	}
	assert_int_equal(devices, m->claim >= 0 ? w->claim.v[m->claim].devices : 0);
}

static void check_claims(struct world *w, const struct assign *s)
{
	struct assign_claim c;

	for (int uid = 0; uid < CLAIMS; uid++) {
		const struct model_claim *m = live_claim(w, uid);
		unsigned uses = 0;

		assert_int_equal(assign_claim_get(s, str_from(claims[uid]), &w->f.a, &c),
				 m != NULL);
		for (size_t i = 0; m && i < c.npods; i++)
			uses |= 1U << index_of(c.pods[i], pods, PODS);
		assert_int_equal(uses, m ? m->uses : 0);
		if (m)
			assert_int_equal(c.state == ASSIGN_CLAIM_UNPREPARING, m->unpreparing);
	}
	for (int d = 0; d < DEVICES; d++) {
		const struct str *uids;
		unsigned want = 0, got = 0;
		size_t n = assign_pods_of_device(s, STR("d"), STR("pool"), str_of(&letters[d], 1),
						 &w->f.a, &uids);

		for (size_t i = 0; i < n; i++)
			got |= 1U << index_of(uids[i], pods, PODS);
		for (int p = 0; p < PODS; p++) {
			int at = w->pod[p].claim;

			if (at >= 0 && (w->claim.v[at].devices >> d & 1))
				want |= 1U << p;
		}
		assert_int_equal(got, want);
	}
}

static enum assign_health shown(const struct world *w, int r, int d)
{
	enum assign_health h;

	(void)assign_device_health(w->f.s, str_from(resources[r]), str_of(&letters[d], 1), &h,
				   NULL);
	return h;
}

/* The log that a restart would find; it takes over if `crash` is set. */
static void check_restart(struct world *w, bool crash)
{
	char *text = fixture_encode(&w->f);
	struct assign *other = NULL;
	struct buf again = BUF_INIT(MIB);

	assert_int_equal(assign_new(&w->opts, &other, &w->f.err), 0);
	if (assign_decode(other, str_from(text), &w->f.err) < 0)
		fail_msg("%s: %s", w->f.err.msg, text);
	assert_int_equal(assign_encode(other, &again), 0);
	assert_string_equal(again.p, text);
	buf_release(&again);
	for (int p = 0; p < PODS; p++)
		check_pod(w, other, p);
	check_claims(w, other);
	if (!crash) {
		assign_free(other);
		return;
	}
	assign_free(w->f.s);
	w->f.s = other;
	assign_add_watcher(w->f.s, &w->watcher);
	for (int r = 0; r < RESOURCES; r++)
		w->res[r] = (struct model_resource){ .offered = w->res[r].offered };
}

static void check_health(struct world *w, enum assign_health before[RESOURCES][DEVICES],
			 unsigned had[PODS][RESOURCES])
{
	for (int r = 0; r < RESOURCES; r++) {
		unsigned changed = 0;

		for (int d = 0; d < DEVICES; d++) {
			if (before[r][d] != shown(w, r, d))
				changed |= 1U << d;
		}
		for (int p = 0; p < PODS; p++)
			assert_int_equal(w->told[p][r], changed & had[p][r]);
	}
}

/* A device whose last user is forgotten may lose its health: there is no pod left to notify. */
static void step(struct world *w)
{
	static void (*const steps[])(struct world *) = { step_list,   step_list,    step_gone,
							 step_admit,  step_admit,   step_admit,
							 step_answer, step_end,     step_forget,
							 step_use,    step_prepare, step_unuse };
	enum assign_health before[RESOURCES][DEVICES];
	unsigned had[PODS][RESOURCES];
	int i = below(w, (int)ARRAY_SIZE(steps));

	memset(w->told, 0, sizeof(w->told));
	for (int r = 0; r < RESOURCES; r++) {
		for (int d = 0; d < DEVICES; d++)
			before[r][d] = shown(w, r, d);
		for (int p = 0; p < PODS; p++)
			had[p][r] = pod_has(&w->pod[p], r);
	}
	steps[i](w);
	check_health(w, before, had);
	check_resources(w);
	for (int p = 0; p < PODS; p++)
		check_pod(w, w->f.s, p);
	check_claims(w, w->f.s);
	check_restart(w, below(w, 8) == 0);
	arena_clear(&w->f.a);
}

static void run(uint64_t seed, struct assign_opts opts)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	fixture_init(&w->f, opts, CPUS, 2);
	w->opts = opts;
	w->opts.machine = &w->f.machine;
	w->watcher.on_change = on_change;
	assign_add_watcher(w->f.s, &w->watcher);
	prng_init(&w->g, seed);
	vec_init(&w->claim, SIZE_MAX);
	for (int p = 0; p < PODS; p++)
		w->pod[p].claim = -1;
	for (int i = 0; i < STEPS; i++)
		step(w);
	vec_release(&w->claim);
	fixture_release_cleanup(&w->f);
	free(w);
}

static void nothing_is_lost_and_nothing_given_twice(void **state)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		run(seed, (struct assign_opts){ 0 });
}

static void nor_with_cpus_and_memory_of_their_own(void **state)
{
	static const int64_t reserved[] = { 1 << 20, 0 };

	for (uint64_t seed = 0; seed < SEEDS; seed++)
		run(seed, (struct assign_opts){ .static_cpus = true,
						.static_memory = true,
						.topology = TOPOLOGY_BEST_EFFORT,
						.topology_pod_scope = seed % 2 == 0,
						.reserved_cpus = STR("0"),
						.reserved_memory = reserved,
						.nreserved_memory = 2 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost_and_nothing_given_twice),
		cmocka_unit_test(nor_with_cpus_and_memory_of_their_own),
	};

	return cmocka_run_group_tests_name("node/assign_model", tests, NULL, NULL);
}

/*
 * Applies random events to the cache, and checks everything after each: sums of the nodes, the pods
 * of extended resources, the contents of snapshots, and that a held nodeinfo never changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/random.h"
#include "scheduler/cache/nodecache_fixture.h"

enum { NODES = 7, PODS = 40, HELD = 12, STEPS = 6000, TYPES = 2 };

enum pod_state { POD_NONE, POD_ASSUMED, POD_ADDED };

struct model_pod {
	struct podinfo *pod; /* NULL: none */
	enum pod_state state;
};

/* A held nodeinfo, with a hash of its contents at that time. */
struct held {
	struct nodeinfo *node;
	uint64_t print;
};

struct world {
	struct prng prng;
	struct nodecache *cache;
	struct amount_names names;
	struct extended_types types;
	struct extended_type *type[TYPES];
	struct model_pod pods[PODS];
	bool nodes[NODES];
	struct held held[HELD];
	unsigned alive;
	char name[16];
};

static size_t below(struct world *w, size_t n)
{
	return (size_t)prng_below(&w->prng, n);
}

static const char *node_name(struct world *w, size_t at)
{
	snprintf(w->name, sizeof(w->name), "n%zu", at);
	return w->name;
}

/* --- what is compared ------------------------------------------------------------ */

static uint64_t mix(uint64_t print, int64_t v)
{
	return hash_bytes(str_of(&v, sizeof(v)), print);
}

static uint64_t print_of(const struct nodeinfo *n)
{
	uint64_t h = mix(1, (int64_t)n->pods.n);

	for (size_t i = 0; i < n->pods.n; i++)
		h = mix(mix(h, (int64_t)(intptr_t)n->pods.v[i]), n->pods.v[i]->requests.cpu_milli);
	h = mix(mix(h, n->requested.cpu_milli), (int64_t)n->generation);
	h = mix(mix(h, (int64_t)n->with_affinity.n), (int64_t)n->ports.n);
	h = mix(h, (int64_t)(intptr_t)n->node);
	for (size_t i = 0; i < n->extended.n; i++) {
		const struct fixture_value *v = n->extended.v[i].value;

		h = mix(mix(mix(h, v->capacity), v->sum), v->pods);
	}
	return h;
}

/* The sums of the cache and of the plugin's value must cover the same pods. */
static void check_views(const struct nodeinfo *n)
{
	int64_t all = 0, told = 0;
	unsigned pods = 0;

	for (size_t i = 0; i < n->pods.n; i++) {
		int64_t cpu = n->pods.v[i]->requests.cpu_milli;

		all += cpu;
		told += cpu == 13 ? 0 : cpu;
		pods += cpu != 13;
	}
	assert_int_equal(n->requested.cpu_milli, all);
	for (size_t i = 0; i < n->extended.n; i++) {
		const struct fixture_value *v = n->extended.v[i].value;

		assert_int_equal(v->sum, told);
		assert_int_equal(v->pods, pods);
		assert_int_equal(n->extended.v[i].refused.n + pods, n->pods.n);
	}
}

static void check_held(struct world *w)
{
	for (size_t i = 0; i < HELD; i++)
		if (w->held[i].node)
			assert_true(print_of(w->held[i].node) == w->held[i].print);
}

static void check_live(struct world *w)
{
	struct buf faults = BUF_INIT(65536);
	size_t known = 0, assumed = 0;

	nodecache_check(w->cache, &faults);
	if (faults.n > 0)
		fail_msg("%.*s", STR_ARG(buf_str(&faults)));
	buf_release(&faults);
	for (size_t i = 0; i < NODES; i++) {
		const struct nodeinfo *n = nodecache_node(w->cache, str_from(node_name(w, i)));

		if (n)
			check_views(n);
	}
	for (size_t i = 0; i < PODS; i++) {
		struct model_pod *p = &w->pods[i];

		known += p->state != POD_NONE;
		assumed += p->state == POD_ASSUMED;
		if (p->state != POD_NONE)
			assert_ptr_equal(nodecache_pod(w->cache, p->pod->uid), p->pod);
	}
	assert_int_equal(nodecache_pods(w->cache), known);
	assert_int_equal(nodecache_assumed(w->cache), assumed);
}

/* A snapshot shows all nodes, each as it is now. */
static void check_snapshot(struct world *w)
{
	struct snapshot *s = nodecache_snapshot(w->cache);
	size_t nodes = 0, affinity = 0;

	for (size_t i = 0; i < NODES; i++) {
		struct str name = str_from(node_name(w, i));
		struct nodeinfo *n = snapshot_find(s, name);

		assert_int_equal(n != NULL, w->nodes[i]);
		nodes += w->nodes[i];
		if (n)
			assert_true(print_of(n) == print_of(nodecache_node(w->cache, name)));
	}
	assert_int_equal(s->n, nodes);
	for (size_t i = 0; i < s->n; i++) {
		check_views(s->nodes[i]);
		assert_ptr_equal(snapshot_find(s, s->nodes[i]->name), s->nodes[i]);
		if (s->nodes[i]->with_affinity.n > 0)
			assert_ptr_equal(s->with_affinity[affinity++], s->nodes[i]);
	}
	assert_int_equal(s->nwith_affinity, affinity);
}

/* --- events ---------------------------------------------------------------------- */

static struct podinfo *random_pod(struct world *w, size_t at, size_t node)
{
	static const char *const more[] = {
		NULL,
		"'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
		"'topologyKey':'zone'}]}},",
		"'initContainers':[{'name':'s','restartPolicy':'Always','ports':[{'hostPort':80}]}]"
		",",
		"'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}],",
	};
	char uid[16];

	snprintf(uid, sizeof(uid), "u%zu", at);
	/* 13 is what the extended resource refuses. */
	return fixture_pod(&w->names, uid, node_name(w, node), 10 + (int64_t)below(w, 6),
			   more[below(w, ARRAY_SIZE(more))]);
}

static void replace(struct model_pod *m, struct podinfo *p, enum pod_state state)
{
	podinfo_unref(m->pod);
	m->pod = p;
	m->state = state;
}

static void change_pod(struct world *w)
{
	size_t at = below(w, PODS);
	struct model_pod *m = &w->pods[at];
	struct podinfo *p = random_pod(w, at, below(w, NODES));
	bool first = below(w, 2) == 0;

	if (m->state == POD_NONE && first) {
		assert_int_equal(nodecache_assume(w->cache, p, NULL), 0);
		replace(m, p, POD_ASSUMED);
	} else if (m->state == POD_NONE || (m->state == POD_ASSUMED && first)) {
		assert_int_equal(nodecache_add_pod(w->cache, p, NULL), 0);
		replace(m, p, POD_ADDED);
	} else if (m->state == POD_ASSUMED) {
		assert_int_equal(nodecache_forget(w->cache, m->pod, NULL), 0);
		replace(m, NULL, POD_NONE);
		podinfo_unref(p);
	} else if (first) {
		/* May move the pod: that is reported, and done. */
		(void)nodecache_update_pod(w->cache, p, NULL);
		replace(m, p, POD_ADDED);
	} else {
		/* By another version of it. */
		(void)nodecache_remove_pod(w->cache, p, NULL);
		replace(m, NULL, POD_NONE);
		podinfo_unref(p);
	}
}

static void change_node(struct world *w)
{
	size_t at = below(w, NODES);
	struct str name = str_from(node_name(w, at));
	struct nodeobject *n;

	if (w->nodes[at] && below(w, 3) == 0) {
		assert_true(nodecache_remove_node(w->cache, name));
		w->nodes[at] = false;
		return;
	}
	n = fixture_node(&w->names, name.p, below(w, 2) ? "a" : "b", NULL);
	nodecache_put_node(w->cache, n);
	nodeobject_unref(n);
	w->nodes[at] = true;
}

static void change_extended(struct world *w)
{
	struct extended_type *type = w->type[below(w, TYPES)];
	struct str name = str_from(node_name(w, below(w, NODES)));
	const struct nodeinfo *n = nodecache_node(w->cache, name);
	struct fixture_value *old = n ? nodeinfo_extended(n, type->id) : NULL;
	struct fixture_value *copy;

	switch (below(w, 3)) {
	case 0:
		nodecache_set_extended(w->cache, name, type,
				       fixture_value_new(&w->alive, (int64_t)below(w, 100)), true);
		return;
	case 1:
		if (!old)
			return;
		copy = extended_clone(type, old);
		copy->capacity++;
		nodecache_set_extended(w->cache, name, type, copy, false);
		return;
	default:
		nodecache_set_extended(w->cache, name, type, NULL, true);
	}
}

static void hold_one(struct world *w)
{
	struct snapshot *s = nodecache_snapshot(w->cache);
	struct held *h = &w->held[below(w, HELD)];

	nodeinfo_unref(h->node);
	h->node = s->n > 0 ? nodeinfo_ref(s->nodes[below(w, s->n)]) : NULL;
	h->print = h->node ? print_of(h->node) : 0;
}

/* Preemption: pods are taken from a copy and put back; then it is as it was. */
static void what_if(struct world *w)
{
	struct held *h = &w->held[below(w, HELD)];
	struct podinfo *taken[PODS], *guest;
	struct nodeinfo *n;
	size_t ntaken = 0;

	if (!h->node)
		return;
	n = nodeinfo_clone(h->node);
	assert_true(print_of(n) == h->print);
	while (n->pods.n > 0 && below(w, 4) != 0) {
		taken[ntaken] = podinfo_ref(n->pods.v[below(w, n->pods.n)]);
		assert_true(nodeinfo_remove_pod(n, taken[ntaken++]));
		check_views(n);
	}
	guest = random_pod(w, PODS, 0);
	nodeinfo_add_pod(n, guest);
	check_views(n);
	podinfo_unref(guest);
	while (ntaken > 0) {
		nodeinfo_add_pod(n, taken[--ntaken]);
		podinfo_unref(taken[ntaken]);
		check_views(n);
	}
	nodeinfo_unref(n);
}

static void step(struct world *w)
{
	size_t what = below(w, 20);

	if (what < 10)
		change_pod(w);
	else if (what < 12)
		change_node(w);
	else if (what < 15)
		change_extended(w);
	else if (what < 17)
		check_snapshot(w);
	else if (what < 18)
		hold_one(w);
	else
		what_if(w);
	check_live(w);
	check_held(w);
}

static void run(uint64_t seed)
{
	struct world *w = XNEW(struct world);

	prng_init(&w->prng, seed);
	amount_names_init(&w->names);
	extended_types_init(&w->types, NULL);
	w->type[0] = fixture_type(&w->types, "one.example.com");
	w->type[1] = fixture_type(&w->types, "two.example.com");
	w->cache = nodecache_new();
	for (size_t i = 0; i < STEPS; i++)
		step(w);
	for (size_t i = 0; i < PODS; i++)
		podinfo_unref(w->pods[i].pod);
	for (size_t i = 0; i < HELD; i++)
		nodeinfo_unref(w->held[i].node);
	nodecache_free(w->cache);
	assert_int_equal(w->alive, 0);
	extended_types_release(&w->types);
	amount_names_release(&w->names);
	free(w);
}

static void views_agree_whatever_happens(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 3; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(views_agree_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

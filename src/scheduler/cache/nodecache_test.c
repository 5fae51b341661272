/*
 * The cache of nodes: its states of a pod, ghosts, extended resources, and what snapshots cost and
 * show.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/writer.h"
#include "scheduler/cache/nodecache_fixture.h"
#include "scheduler/cache/nodecache_impl.h"

struct world {
	struct nodecache *cache;
	struct amount_names names;
	struct extended_types types;
	struct extended_type *type, *other;
	unsigned alive; /* values of extended resources */
};

static int set_up(void **state)
{
	struct world *w = XNEW(struct world);

	amount_names_init(&w->names);
	extended_types_init(&w->types, NULL);
	w->type = fixture_type(&w->types, "fake.example.com");
	w->other = fixture_type(&w->types, "other.example.com");
	w->cache = nodecache_new();
	*state = w;
	return 0;
}

static void check(struct world *w)
{
	struct buf faults = BUF_INIT(65536);

	nodecache_check(w->cache, &faults);
	if (faults.n > 0)
		fail_msg("%.*s", STR_ARG(buf_str(&faults)));
	buf_release(&faults);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	check(w);
	nodecache_free(w->cache);
	assert_int_equal(w->alive, 0);
	extended_types_release(&w->types);
	amount_names_release(&w->names);
	free(w);
	return 0;
}

static void put_in(struct world *w, const char *name, const char *zone)
{
	struct nodeobject *n = fixture_node(&w->names, name, zone, NULL);

	nodecache_put_node(w->cache, n);
	nodeobject_unref(n);
}

static void put(struct world *w, const char *name)
{
	put_in(w, name, "");
}

static int64_t cpu_on(struct world *w, const char *node)
{
	const struct nodeinfo *n = nodecache_node(w->cache, str_from(node));

	return n ? n->requested.cpu_milli : -1;
}

static int act(struct world *w,
	       int (*verb)(struct nodecache *c, struct podinfo *p, struct error *err),
	       const char *uid, const char *node, int64_t cpu)
{
	struct podinfo *p = fixture_pod(&w->names, uid, node, cpu, NULL);
	struct error err;
	int r = verb(w->cache, p, &err);

	podinfo_unref(p);
	check(w);
	return r;
}

static int add(struct world *w, const char *uid, const char *node, int64_t cpu)
{
	return act(w, nodecache_add_pod, uid, node, cpu);
}

static int drop(struct world *w, const char *uid, const char *node)
{
	return act(w, nodecache_remove_pod, uid, node, 0);
}

static void set(struct world *w, const char *node, int64_t capacity)
{
	nodecache_set_extended(w->cache, str_from(node), w->type,
			       fixture_value_new(&w->alive, capacity), true);
	check(w);
}

static const struct fixture_value *value_on(struct world *w, const char *node)
{
	const struct nodeinfo *n = nodecache_node(w->cache, str_from(node));

	return n ? nodeinfo_extended(n, w->type->id) : NULL;
}

/* --- states of a pod ------------------------------------------------------------- */

enum verb { ASSUME, FORGET, ADD, UPDATE, REMOVE };

static int (*const verbs[])(struct nodecache *c, struct podinfo *p, struct error *err) = {
	nodecache_assume,     nodecache_forget,     nodecache_add_pod,
	nodecache_update_pod, nodecache_remove_pod,
};

static void a_pod_goes_through_its_states(void **state)
{
	static const struct {
		int before; /* -1: unknown; ASSUME; ADD: on node a with 100 */
		enum verb verb;
		const char *node;
		int result;
		int64_t on_a, on_b; /* with 200 after it; -1: no entry */
		bool assumed;
	} cases[] = {
		{ -1, ASSUME, "a", 0, 200, 0, true },
		{ -1, FORGET, "a", 0, 0, 0, false },
		{ -1, ADD, "a", 0, 200, 0, false },
		{ -1, UPDATE, "a", -ERR_NOT_FOUND, 200, 0, false },
		{ -1, REMOVE, "a", -ERR_NOT_FOUND, 0, 0, false },
		{ ASSUME, ASSUME, "a", -ERR_CONFLICT, 100, 0, true },
		{ ASSUME, FORGET, "a", 0, 0, 0, false },
		{ ASSUME, FORGET, "b", -ERR_CONFLICT, 100, 0, true },
		{ ASSUME, ADD, "a", 0, 200, 0, false },
		{ ASSUME, ADD, "b", 0, 0, 200, false },
		{ ASSUME, UPDATE, "a", -ERR_CONFLICT, 200, 0, false },
		{ ASSUME, REMOVE, "a", 0, 0, 0, false },
		{ ADD, ASSUME, "a", -ERR_CONFLICT, 100, 0, false },
		{ ADD, FORGET, "a", -ERR_CONFLICT, 100, 0, false },
		{ ADD, ADD, "a", -ERR_CONFLICT, 200, 0, false },
		{ ADD, UPDATE, "a", 0, 200, 0, false },
		{ ADD, UPDATE, "b", -ERR_CONFLICT, 0, 200, false },
		{ ADD, REMOVE, "a", 0, 0, 0, false },
		{ ADD, REMOVE, "b", -ERR_CONFLICT, 0, 0, false },
		{ ADD, REMOVE, "", 0, 0, 0, false },
	};
	struct world *w = *state;

	put(w, "a");
	put(w, "b");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int r;

		if (cases[i].before >= 0)
			assert_int_equal(act(w, verbs[cases[i].before], "u", "a", 100), 0);
		r = act(w, verbs[cases[i].verb], "u", cases[i].node, 200);
		if (r != cases[i].result || cpu_on(w, "a") != cases[i].on_a ||
		    cpu_on(w, "b") != cases[i].on_b ||
		    nodecache_is_assumed(w->cache, STR("u")) != cases[i].assumed ||
		    nodecache_assumed(w->cache) != cases[i].assumed)
			fail_msg("case %zu: %d, %lld and %lld", i, r, (long long)cpu_on(w, "a"),
				 (long long)cpu_on(w, "b"));
		(void)drop(w, "u", "");
		assert_int_equal(nodecache_pods(w->cache), 0);
		assert_null(nodecache_pod(w->cache, STR("u")));
	}
}

/* --- ghosts ---------------------------------------------------------------------- */

static void pods_may_come_before_their_node(void **state)
{
	struct world *w = *state;
	struct snapshot *s;

	add(w, "u", "a", 100);
	assert_int_equal(cpu_on(w, "a"), 100);
	assert_int_equal(nodecache_nodes(w->cache), 0);
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->n, 0);
	assert_null(snapshot_find(s, STR("a")));
	put(w, "a");
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->nodes[0]->requested.cpu_milli, 100);
}

static void a_node_stays_a_ghost_until_its_pods_are_gone(void **state)
{
	struct world *w = *state;

	put(w, "a");
	set(w, "a", 5);
	add(w, "u", "a", 100);
	assert_int_equal(nodecache_snapshot(w->cache)->n, 1);
	assert_true(nodecache_remove_node(w->cache, STR("a")));
	assert_false(nodecache_remove_node(w->cache, STR("a")));
	check(w);
	assert_int_equal(nodecache_snapshot(w->cache)->n, 0);
	assert_int_equal(cpu_on(w, "a"), 100);
	assert_int_equal(value_on(w, "a")->sum, 100);
	drop(w, "u", "a");
	assert_int_equal(value_on(w, "a")->sum, 0);
	nodecache_set_extended(w->cache, STR("a"), w->type, NULL, true);
	assert_null(nodecache_node(w->cache, STR("a")));
	nodecache_snapshot(w->cache);
	assert_int_equal(w->alive, 0);
}

static void a_node_that_returns_has_its_extended_resource(void **state)
{
	struct world *w = *state;

	put(w, "a");
	set(w, "a", 5);
	assert_true(nodecache_remove_node(w->cache, STR("a")));
	assert_int_equal(nodecache_snapshot(w->cache)->n, 0);
	put(w, "a");
	assert_non_null(value_on(w, "a"));
	assert_int_equal(value_on(w, "a")->capacity, 5);
	add(w, "u", "a", 100);
	assert_int_equal(value_on(w, "a")->sum, 100);
	assert_ptr_equal(nodeinfo_extended(snapshot_find(nodecache_snapshot(w->cache), STR("a")),
					   w->type->id),
			 value_on(w, "a"));
}

static void extended_resources_may_come_before_node_and_pods(void **state)
{
	struct world *w = *state;

	set(w, "a", 5);
	assert_int_equal(nodecache_snapshot(w->cache)->n, 0);
	add(w, "u", "a", 100);
	drop(w, "u", "a");
	assert_non_null(value_on(w, "a"));
	add(w, "u", "a", 100);
	put(w, "a");
	assert_int_equal(value_on(w, "a")->sum, 100);
	set(w, "b", 5);
	nodecache_set_extended(w->cache, STR("b"), w->type, NULL, true);
	assert_null(nodecache_node(w->cache, STR("b")));
	nodecache_set_extended(w->cache, STR("c"), w->type, NULL, true);
	assert_null(nodecache_node(w->cache, STR("c")));
}

/* --- extended resources ---------------------------------------------------------- */

static void a_fresh_value_is_told_of_the_pods_that_are_there(void **state)
{
	struct world *w = *state;

	put(w, "a");
	add(w, "u", "a", 100);
	add(w, "v", "a", 50);
	set(w, "a", 5);
	assert_int_equal(value_on(w, "a")->sum, 150);
	drop(w, "u", "a");
	assert_int_equal(value_on(w, "a")->sum, 50);
	act(w, nodecache_update_pod, "v", "a", 70);
	assert_int_equal(value_on(w, "a")->sum, 70);
	set(w, "a", 6);
	assert_int_equal(value_on(w, "a")->sum, 70);
	assert_int_equal(value_on(w, "a")->capacity, 6);
	assert_int_equal(w->alive, 1);
}

static void a_changed_copy_is_not_told_again(void **state)
{
	struct world *w = *state;
	struct fixture_value *copy;

	put(w, "a");
	add(w, "u", "a", 100);
	set(w, "a", 5);
	copy = extended_clone(w->type, value_on(w, "a"));
	copy->capacity = 9;
	nodecache_set_extended(w->cache, STR("a"), w->type, copy, false);
	assert_int_equal(value_on(w, "a")->sum, 100);
	assert_int_equal(value_on(w, "a")->capacity, 9);
	assert_int_equal(w->alive, 1);
}

static void a_pod_that_was_refused_is_not_removed(void **state)
{
	struct world *w = *state;

	put(w, "a");
	set(w, "a", 5);
	add(w, "u", "a", 13);
	add(w, "v", "a", 7);
	assert_int_equal(value_on(w, "a")->pods, 1);
	assert_int_equal(w->type->refused, 1);
	nodecache_snapshot(w->cache);
	act(w, nodecache_update_pod, "u", "a", 13);
	drop(w, "u", "a"); /* remove_pod would fail the test */
	assert_int_equal(value_on(w, "a")->sum, 7);
	add(w, "x", "a", 13);
	set(w, "a", 6);
	drop(w, "x", "a");
	assert_int_equal(value_on(w, "a")->sum, 7);
}

static void types_do_not_mix(void **state)
{
	struct world *w = *state;
	const struct nodeinfo *n;

	put(w, "a");
	set(w, "a", 5);
	nodecache_set_extended(w->cache, STR("a"), w->other, fixture_value_new(&w->alive, 8), true);
	n = nodecache_node(w->cache, STR("a"));
	assert_int_equal(((struct fixture_value *)nodeinfo_extended(n, w->other->id))->capacity, 8);
	assert_int_equal(value_on(w, "a")->capacity, 5);
	nodecache_set_extended(w->cache, STR("a"), w->type, NULL, true);
	n = nodecache_node(w->cache, STR("a"));
	assert_null(nodeinfo_extended(n, w->type->id));
	assert_non_null(nodeinfo_extended(n, w->other->id));
}

static void a_type_is_registered_once(void **state)
{
	struct world *w = *state;
	struct dp_resource_type bad = { .size = sizeof(bad), .name = "bad.example.com" };
	struct extended_type *t = NULL;
	struct error err;

	assert_ptr_equal(fixture_type(&w->types, "fake.example.com"), w->type);
	assert_ptr_equal(extended_types_find(&w->types, STR("other.example.com")), w->other);
	assert_int_equal(extended_types_register(&w->types, &bad, NULL, NULL, &t, &err),
			 -ERR_INVALID);
	assert_non_null(strstr(err.msg, "bad.example.com"));
}

/* --- snapshots ------------------------------------------------------------------- */

static void a_snapshot_costs_what_changed(void **state)
{
	struct world *w = *state;
	struct snapshot *s;
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put(w, name);
	}
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->changed, 100);
	assert_int_equal(s->rebuilt, 1);
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->changed + s->rebuilt, 0);
	add(w, "u", "n7", 5);
	add(w, "v", "n7", 5);
	set(w, "n8", 1);
	put(w, "n9");
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->changed, 3);
	assert_int_equal(s->rebuilt, 0);
	nodecache_remove_node(w->cache, STR("n50"));
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->changed, 0);
	assert_int_equal(s->rebuilt, 1);
	assert_int_equal(s->n, 99);
	assert_null(snapshot_find(s, STR("n50")));
	assert_int_equal(snapshot_find(s, STR("n7"))->requested.cpu_milli, 10);
}

static void a_snapshot_does_not_change(void **state)
{
	struct world *w = *state;
	struct nodeinfo *held, *mine;

	put(w, "a");
	set(w, "a", 5);
	add(w, "u", "a", 100);
	held = nodeinfo_ref(nodecache_snapshot(w->cache)->nodes[0]);
	add(w, "v", "a", 50);
	set(w, "a", 9);
	nodecache_remove_node(w->cache, STR("a"));
	nodecache_snapshot(w->cache);
	assert_int_equal(held->requested.cpu_milli, 100);
	assert_int_equal(held->pods.n, 1);
	assert_int_equal(((struct fixture_value *)nodeinfo_extended(held, w->type->id))->sum, 100);
	assert_non_null(held->node);

	/* A what-if works on its own copy. */
	mine = nodeinfo_clone(held);
	nodeinfo_remove_pod(mine, held->pods.v[0]);
	assert_int_equal(mine->requested.cpu_milli, 0);
	assert_int_equal(((struct fixture_value *)nodeinfo_extended(mine, w->type->id))->sum, 0);
	assert_int_equal(held->requested.cpu_milli, 100);
	nodeinfo_unref(mine);
	nodeinfo_unref(held);
}

static void unchanged_nodes_are_shared(void **state)
{
	struct world *w = *state;
	struct snapshot *s;

	put(w, "a");
	s = nodecache_snapshot(w->cache);
	assert_ptr_equal(s->nodes[0], nodecache_node(w->cache, STR("a")));
	add(w, "u", "a", 100);
	assert_ptr_not_equal(s->nodes[0], nodecache_node(w->cache, STR("a")));
	s = nodecache_snapshot(w->cache);
	assert_ptr_equal(s->nodes[0], nodecache_node(w->cache, STR("a")));
}

static void expect_order(struct world *w, const char *names)
{
	struct snapshot *s = nodecache_snapshot(w->cache);
	struct buf b = BUF_INIT(4096);

	for (size_t i = 0; i < s->n; i++) {
		(void)buf_add_str(&b, s->nodes[i]->name);
		(void)buf_addc(&b, ' ');
	}
	assert_string_equal(b.p, names);
	buf_release(&b);
}

static void nodes_are_in_turn_from_each_zone(void **state)
{
	struct world *w = *state;

	put_in(w, "a1", "a");
	put_in(w, "a2", "a");
	put_in(w, "a3", "a");
	put_in(w, "b1", "b");
	put_in(w, "none", "");
	put_in(w, "b2", "b");
	expect_order(w, "a1 b1 none a2 b2 a3 ");
	nodecache_remove_node(w->cache, STR("a1"));
	expect_order(w, "a2 b1 none a3 b2 ");
	put_in(w, "a2", "b");
	expect_order(w, "a3 b1 none b2 a2 ");
	nodecache_remove_node(w->cache, STR("none"));
	put_in(w, "none", "");
	expect_order(w, "a3 b1 none b2 a2 ");
}

#define ANTI                                                                                 \
	"'affinity':{'podAntiAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{" \
	"'topologyKey':'zone'}]}},"
#define PREFER                                                                            \
	"'affinity':{'podAffinity':{'preferredDuringSchedulingIgnoredDuringExecution':[{" \
	"'weight':1,'podAffinityTerm':{'topologyKey':'zone'}}]}},"

static void nodes_with_affinity_are_listed(void **state)
{
	struct world *w = *state;
	struct podinfo *anti = fixture_pod(&w->names, "u", "b", 1, ANTI);
	struct podinfo *prefer = fixture_pod(&w->names, "v", "c", 1, PREFER);
	struct snapshot *s;

	put(w, "a");
	put(w, "b");
	put(w, "c");
	nodecache_snapshot(w->cache);
	nodecache_add_pod(w->cache, anti, NULL);
	nodecache_add_pod(w->cache, prefer, NULL);
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->nwith_affinity, 2);
	assert_int_equal(s->nwith_required_anti_affinity, 1);
	assert_true(str_eqz(s->with_affinity[0]->name, "b"));
	add(w, "x", "b", 5);
	s = nodecache_snapshot(w->cache);
	assert_ptr_equal(s->with_affinity[0], snapshot_find(s, STR("b")));
	assert_ptr_equal(s->with_required_anti_affinity[0], snapshot_find(s, STR("b")));
	assert_int_equal(s->with_affinity[0]->requested.cpu_milli, 6);
	nodecache_remove_pod(w->cache, anti, NULL);
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->nwith_affinity, 1);
	assert_int_equal(s->nwith_required_anti_affinity, 0);
	nodecache_remove_node(w->cache, STR("c"));
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->nwith_affinity, 0);
	podinfo_unref(anti);
	podinfo_unref(prefer);
}

#define PORTS(ip) "'initContainers':[{'restartPolicy':'Always','ports':[{'hostPort':80," ip "}]}],"

static void ports_are_taken_until_their_pod_goes(void **state)
{
	static const struct pod_port any = { { "0.0.0.0", 7 }, { "TCP", 3 }, 80 };
	static const struct pod_port one = { { "10.0.0.1", 8 }, { "TCP", 3 }, 80 };
	static const struct pod_port two = { { "10.0.0.2", 8 }, { "TCP", 3 }, 80 };
	static const struct pod_port udp = { { "10.0.0.1", 8 }, { "UDP", 3 }, 80 };
	struct world *w = *state;
	struct podinfo *p = fixture_pod(&w->names, "u", "a", 1, PORTS("'hostIP':'10.0.0.1'"));
	struct podinfo *q = fixture_pod(&w->names, "v", "a", 1, PORTS("'hostIP':'10.0.0.1'"));
	const struct nodeinfo *n;

	put(w, "a");
	nodecache_add_pod(w->cache, p, NULL);
	nodecache_add_pod(w->cache, q, NULL);
	n = nodecache_node(w->cache, STR("a"));
	assert_true(nodeinfo_port_taken(n, &any));
	assert_true(nodeinfo_port_taken(n, &one));
	assert_false(nodeinfo_port_taken(n, &two));
	assert_false(nodeinfo_port_taken(n, &udp));
	nodecache_remove_pod(w->cache, p, NULL);
	check(w);
	podinfo_unref(p);
	n = nodecache_node(w->cache, STR("a"));
	assert_true(nodeinfo_port_taken(n, &one));
	nodecache_remove_pod(w->cache, q, NULL);
	podinfo_unref(q);
	assert_false(nodeinfo_port_taken(nodecache_node(w->cache, STR("a")), &any));
}

#define DATA                                                                    \
	"'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'data'}}," \
	"{'name':'b','persistentVolumeClaim':{'claimName':'data'}}],"

static void users_of_volume_claims_are_counted(void **state)
{
	struct world *w = *state;
	struct podinfo *p = fixture_pod(&w->names, "u", "a", 1, DATA);
	struct podinfo *q = fixture_pod(&w->names, "v", "a", 1, DATA);
	struct podinfo *r = fixture_pod(&w->names, "x", "b", 1, DATA);
	struct str key = STR("ns/data");

	put(w, "a");
	put(w, "b");
	nodecache_add_pod(w->cache, p, NULL);
	nodecache_add_pod(w->cache, q, NULL);
	nodecache_add_pod(w->cache, r, NULL);
	assert_int_equal(snapshot_pvc_users(nodecache_snapshot(w->cache), key), 3);
	nodecache_remove_pod(w->cache, p, NULL);
	podinfo_unref(p); /* the key was its text */
	check(w);
	assert_int_equal(snapshot_pvc_users(nodecache_snapshot(w->cache), key), 2);
	nodecache_remove_node(w->cache, STR("b"));
	assert_int_equal(snapshot_pvc_users(nodecache_snapshot(w->cache), key), 1);
	nodecache_remove_pod(w->cache, q, NULL);
	assert_int_equal(snapshot_pvc_users(nodecache_snapshot(w->cache), key), 0);
	podinfo_unref(q);
	podinfo_unref(r);
}

static void put_images(struct world *w, const char *name, const char *images)
{
	struct nodeobject *n = fixture_node(&w->names, name, "", images);

	nodecache_put_node(w->cache, n);
	nodeobject_unref(n);
}

static void images_are_counted_over_all_nodes(void **state)
{
	struct world *w = *state;
	int64_t size = 0;

	put_images(w, "a", "'images':[{'names':['x','y'],'sizeBytes':7}]");
	put_images(w, "b", "'images':[{'names':['x'],'sizeBytes':7}]");
	assert_int_equal(snapshot_image(nodecache_snapshot(w->cache), STR("x"), &size), 2);
	assert_int_equal(size, 7);
	put_images(w, "b", "'images':[{'names':['z'],'sizeBytes':9}]");
	assert_int_equal(snapshot_image(nodecache_snapshot(w->cache), STR("x"), &size), 1);
	assert_int_equal(snapshot_image(nodecache_snapshot(w->cache), STR("z"), &size), 1);
	assert_int_equal(size, 9);
	nodecache_remove_node(w->cache, STR("a"));
	assert_int_equal(snapshot_image(nodecache_snapshot(w->cache), STR("x"), &size), 0);
	assert_int_equal(snapshot_image(nodecache_snapshot(w->cache), STR("y"), &size), 0);
}

static void a_node_that_came_back_between_snapshots_is_shown_anew(void **state)
{
	struct world *w = *state;
	struct snapshot *s;

	put(w, "a");
	add(w, "u", "a", 5);
	nodecache_snapshot(w->cache);
	nodecache_remove_node(w->cache, STR("a"));
	drop(w, "u", "a");
	put(w, "a");
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->n, 1);
	assert_ptr_equal(snapshot_find(s, STR("a")), s->nodes[0]);
	assert_int_equal(s->nodes[0]->requested.cpu_milli, 0);
	/* And one that came and went in between is not. */
	put(w, "b");
	nodecache_remove_node(w->cache, STR("b"));
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->n, 1);
}

static void the_cache_is_written_as_json(void **state)
{
	struct world *w = *state;
	struct buf out = BUF_INIT(65536);
	struct json_writer writer;
	struct arena a;
	struct json *tree, *n;

	put(w, "a");
	set(w, "a", 5);
	act(w, nodecache_assume, "u", "a", 100);
	json_writer_init(&writer, &out, NULL);
	nodecache_dump(w->cache, &w->names, &writer);
	assert_int_equal(json_writer_finish(&writer), 0);
	arena_init(&a, 1 << 20);
	assert_int_equal(json_parse(&a, buf_str(&out), NULL, &tree, NULL), 0);
	n = json_getz(json_getz(tree, "nodes"), "a");
	assert_int_equal(json_i64_at(json_getz(n, "requested"), "cpuMilli", 0), 100);
	assert_int_equal(json_i64_at(json_getz(n, "requested"), "example.com/gpu", 0), 1);
	assert_true(json_true_at(json_at(json_getz(n, "pods"), 0), "assumed"));
	assert_false(json_true_at(n, "ghost"));
	assert_int_equal(
		json_i64_at(json_getz(json_getz(n, "extendedResources"), "fake.example.com"), "sum",
			    0),
		100);
	arena_release(&a);
	buf_release(&out);
}

#define VOLUME(claim) "{'name':'" claim "','persistentVolumeClaim':{'claimName':'" claim "'}}"

static void volume_claims_of_many_pods_are_kept_in_order(void **state)
{
	static const char *const volumes[] = {
		"'volumes':[" VOLUME("d") "," VOLUME("b") "," VOLUME("d") "],",
		"'volumes':[" VOLUME("e") "," VOLUME("a") "," VOLUME("b") "," VOLUME("c") "],",
		"'volumes':[" VOLUME("b") "],",
	};
	static const char *const keys[] = { "ns/a", "ns/b", "ns/c", "ns/d", "ns/e" };
	static const uint32_t users[] = { 1, 3, 1, 1, 1 };
	struct podinfo *p[3];
	struct nodeinfo *n = nodeinfo_new(STR("n"));
	struct world *w = *state;

	for (int i = 0; i < 3; i++) {
		char uid[2] = { (char)('0' + i), 0 };

		p[i] = fixture_pod(&w->names, uid, "n", 1, volumes[i]);
		nodeinfo_add_pod(n, p[i]);
	}
	assert_int_equal(n->pvcs.n, 5);
	for (int i = 0; i < 5; i++)
		assert_true(str_eqz(n->pvcs.v[i].key, keys[i]) && n->pvcs.v[i].pods == users[i]);
	nodeinfo_remove_pod(n, p[0]);
	podinfo_unref(p[0]); /* and its text, which was the key of b */
	assert_int_equal(n->pvcs.n, 4);
	assert_true(str_eqz(n->pvcs.v[1].key, "ns/b") && n->pvcs.v[1].pods == 2);
	nodeinfo_remove_pod(n, p[1]);
	podinfo_unref(p[1]);
	assert_int_equal(n->pvcs.n, 1);
	assert_true(str_eqz(n->pvcs.v[0].key, "ns/b") && n->pvcs.v[0].pods == 1);
	nodeinfo_remove_pod(n, p[2]);
	podinfo_unref(p[2]);
	assert_int_equal(n->pvcs.n, 0);
	nodeinfo_unref(n);
}

/* Should the cache and a node ever not agree, later changes are shown all the same. */
static void the_list_of_changes_stays_in_order_when_a_pod_is_not_where_it_is_known(void **state)
{
	struct world *w = *state;
	struct nodecache_item *i;
	uint64_t generation;

	add(w, "u", "a", 100);
	put(w, "a");
	put(w, "b");
	i = map_get(&w->cache->items, STR("a"));
	generation = i->info->generation;
	assert_true(nodeinfo_remove_pod(i->info, nodecache_pod(w->cache, STR("u"))));
	i->info->generation = generation;
	assert_int_equal(drop(w, "u", "a"), 0);
	assert_int_equal(nodecache_snapshot(w->cache)->changed, 2);
}

static void a_snapshot_knows_where_its_nodes_are(void **state)
{
	struct world *w = *state;
	struct snapshot *s;

	put_in(w, "a", "z1");
	put_in(w, "b", "z1");
	put_in(w, "c", "z2");
	add(w, "u", "ghost", 1);
	s = nodecache_snapshot(w->cache);
	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(snapshot_place(s, s->nodes[i]->name), i);
	assert_int_equal(snapshot_place(s, STR("ghost")), s->n);
	assert_int_equal(snapshot_place(s, STR("none")), s->n);
	assert_true(nodecache_remove_node(w->cache, STR("a")));
	s = nodecache_snapshot(w->cache);
	assert_int_equal(s->n, 2);
	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(snapshot_place(s, s->nodes[i]->name), i);
	assert_int_equal(snapshot_place(s, STR("a")), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pod_goes_through_its_states),
		TEST(pods_may_come_before_their_node),
		TEST(a_node_stays_a_ghost_until_its_pods_are_gone),
		TEST(extended_resources_may_come_before_node_and_pods),
		TEST(a_node_that_returns_has_its_extended_resource),
		TEST(a_fresh_value_is_told_of_the_pods_that_are_there),
		TEST(a_changed_copy_is_not_told_again),
		TEST(a_pod_that_was_refused_is_not_removed),
		TEST(types_do_not_mix),
		TEST(a_type_is_registered_once),
		TEST(a_snapshot_costs_what_changed),
		TEST(a_snapshot_does_not_change),
		TEST(unchanged_nodes_are_shared),
		TEST(nodes_are_in_turn_from_each_zone),
		TEST(nodes_with_affinity_are_listed),
		TEST(ports_are_taken_until_their_pod_goes),
		TEST(users_of_volume_claims_are_counted),
		TEST(volume_claims_of_many_pods_are_kept_in_order),
		TEST(the_list_of_changes_stays_in_order_when_a_pod_is_not_where_it_is_known),
		TEST(a_snapshot_knows_where_its_nodes_are),
		TEST(images_are_counted_over_all_nodes),
		TEST(a_node_that_came_back_between_snapshots_is_shown_anew),
		TEST(the_cache_is_written_as_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

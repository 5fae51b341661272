/*
 * The garbage collector against a fake API server: the three ways to delete, wrong references, and
 * random graphs whose result is compared with a slow, obvious model.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/random.h"
#include "client/informer/informer.h"
#include "controller/garbage/garbage_impl.h"
#include "controller/run/controller_world.h"

struct bench {
	struct controller_world *w;
	struct garbage *g;
};

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->g = garbage_new(&b->w->ctx, &(struct garbage_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	garbage_free(b->g);
	controller_world_stop(b->w);
}

static void bench_init(struct bench *b, uint64_t seed)
{
	b->w = controller_world_new(seed);
	bench_start(b);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct bench *b, int64_t ms)
{
	controller_world_run(b->w, ms);
}

/* --- objects --------------------------------------------------------------------------------- */

/* A ConfigMap whose uid is its name, owned by the named ConfigMaps, separated by spaces. */
static void add_in(struct bench *b, const char *ns, const char *name, const char *owners)
{
	struct buf meta = BUF_INIT(KIB * 4);
	struct str rest = str_from(owners), owner;

	(void)buf_printf(&meta, ",\"uid\":\"%s\",\"ownerReferences\":[", name);
	for (int i = 0; owners[0] && str_split(&rest, ' ', &owner); i++)
		(void)buf_printf(
			&meta,
			"%s{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%.*s\","
			"\"uid\":\"%.*s\",\"blockOwnerDeletion\":true}",
			i ? "," : "", STR_ARG(owner), STR_ARG(owner));
	(void)buf_addc(&meta, ']');
	fakeapi_add(b->w->api, "configmaps", ns, name, meta.p, "");
	buf_release(&meta);
}

static void add(struct bench *b, const char *name, const char *owners)
{
	add_in(b, "a", name, owners);
}

static void delete_map(struct bench *b, const char *name, const char *policy)
{
	char target[128];

	(void)snprintf(target, sizeof(target),
		       "/api/v1/namespaces/a/configmaps/%s?propagationPolicy=%s", name, policy);
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

static bool exists(struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "configmaps", "a", name) != NULL;
}

static bool names_owner(struct bench *b, const char *name, const char *owner)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "\"name\":\"%s\",\"uid\"", owner);
	return fakeapi_has(b->w->api, "configmaps", "a", name, text);
}

/* --- the three ways -------------------------------------------------------------------------- */

static void in_the_background_dependents_follow_their_owner(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 1);
	add(&b, "owner", "");
	add(&b, "child", "owner");
	add(&b, "grandchild", "child");
	add(&b, "other", "");
	run(&b, 5000);
	delete_map(&b, "owner", "Background");
	run(&b, 5000);
	assert_false(exists(&b, "child"));
	assert_false(exists(&b, "grandchild"));
	assert_true(exists(&b, "other"));
	assert_int_equal(garbage_graph_count(b.g->graph), 1);
	bench_release(&b);
}

static void in_the_foreground_the_owner_goes_last(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 2);
	add(&b, "owner", "");
	add(&b, "child", "owner");
	fakeapi_add(b.w->api, "configmaps", "a", "held",
		    ",\"uid\":\"held\",\"finalizers\":[\"test/hold\"],\"ownerReferences\":[{"
		    "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\","
		    "\"uid\":\"owner\",\"blockOwnerDeletion\":true}]",
		    "");
	run(&b, 5000);
	delete_map(&b, "owner", "Foreground");
	run(&b, 60000);
	assert_false(exists(&b, "child"));
	assert_true(exists(&b, "held"));
	assert_true(exists(&b, "owner"));
	(void)fakeapi_call(b.w->api, "PATCH", "/api/v1/namespaces/a/configmaps/held",
			   STR("{\"metadata\":{\"finalizers\":[]}}"), NULL);
	run(&b, 5000);
	assert_false(exists(&b, "held"));
	assert_false(exists(&b, "owner"));
	bench_release(&b);
}

static void one_that_does_not_block_does_not_hold_its_owner(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 3);
	add(&b, "owner", "");
	fakeapi_add(b.w->api, "configmaps", "a", "held",
		    ",\"finalizers\":[\"test/hold\"],\"ownerReferences\":[{"
		    "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\","
		    "\"uid\":\"held-by\"},{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":"
		    "\"owner\",\"uid\":\"owner\"}]",
		    "");
	run(&b, 5000);
	delete_map(&b, "owner", "Foreground");
	run(&b, 5000);
	assert_false(exists(&b, "owner"));
	assert_true(exists(&b, "held"));
	bench_release(&b);
}

static void orphans_stay_without_their_owner(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 4);
	add(&b, "owner", "");
	add(&b, "second", "");
	for (int i = 0; i < 50; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "c%d", i);
		add(&b, name, "owner second");
	}
	run(&b, 5000);
	delete_map(&b, "owner", "Orphan");
	run(&b, 5000);
	assert_false(exists(&b, "owner"));
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 51);
	assert_false(names_owner(&b, "c7", "owner"));
	assert_true(names_owner(&b, "c7", "second"));
	bench_release(&b);
}

static void a_solid_owner_keeps_it_and_the_other_reference_goes(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 5);
	add(&b, "one", "");
	add(&b, "two", "");
	add(&b, "child", "one two");
	run(&b, 5000);
	delete_map(&b, "one", "Background");
	run(&b, 5000);
	assert_true(exists(&b, "child"));
	assert_false(names_owner(&b, "child", "one"));
	assert_true(names_owner(&b, "child", "two"));
	delete_map(&b, "two", "Foreground");
	run(&b, 5000);
	assert_false(exists(&b, "child"));
	bench_release(&b);
}

static void a_cycle_is_deleted_and_does_not_hang(void **state UNUSED)
{
	static const char *const policies[] = { "Background", "Foreground" };

	for (int i = 0; i < 2; i++) {
		struct bench b;

		bench_init(&b, 6);
		add(&b, "x", "z");
		add(&b, "y", "x");
		add(&b, "z", "y");
		add(&b, "self", "self");
		run(&b, 5000);
		assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 4);
		delete_map(&b, "y", policies[i]);
		delete_map(&b, "self", policies[i]);
		run(&b, 60000);
		assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 0);
		assert_int_equal(garbage_graph_count(b.g->graph), 0);
		bench_release(&b);
	}
}

static void all_of_a_cycle_may_be_deleted_in_the_foreground_at_once(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 13);
	add(&b, "x", "z");
	add(&b, "y", "x");
	add(&b, "z", "y");
	add(&b, "tail", "y");
	run(&b, 5000);
	delete_map(&b, "x", "Foreground");
	delete_map(&b, "y", "Foreground");
	delete_map(&b, "z", "Foreground");
	run(&b, 60000);
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 0);
	bench_release(&b);
}

/* --- references that are wrong ---------------------------------------------------------------- */

static void an_owner_that_never_was_is_none(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 7);
	add(&b, "child", "nobody");
	add(&b, "owner", "");
	add(&b, "half", "nobody owner");
	run(&b, 10000);
	assert_false(exists(&b, "child"));
	assert_true(exists(&b, "half"));
	assert_false(names_owner(&b, "half", "nobody"));
	bench_release(&b);
}

static void an_owner_in_another_namespace_is_none_and_people_are_told(void **state UNUSED)
{
	struct bench b;

	bench_init(&b, 8);
	add_in(&b, "other", "owner", "");
	run(&b, 5000);
	add(&b, "child", "owner");
	run(&b, 10000);
	assert_false(exists(&b, "child"));
	assert_int_equal(fakeapi_count(b.w->api, "events"), 1);
	assert_non_null(fakeapi_find(b.w->api, "configmaps", "other", "owner"));
	bench_release(&b);
}

static void an_unknown_kind_of_owner_is_waited_for(void **state UNUSED)
{
	static const char meta[] = ",\"ownerReferences\":[{\"apiVersion\":\"example.com/v1\","
				   "\"kind\":\"Widget\",\"name\":\"w\",\"uid\":\"w\"}]";
	struct bench b;

	bench_init(&b, 9);
	b.w->api->hide_widgets = true;
	fakeapi_add(b.w->api, "configmaps", "a", "child", meta, "");
	run(&b, 120000);
	assert_true(exists(&b, "child"));
	b.w->api->hide_widgets = false;
	run(&b, 600000);
	assert_false(exists(&b, "child"));
	bench_release(&b);
}

static void a_custom_resource_owns_and_is_owned(void **state UNUSED)
{
	static const char meta[] = ",\"ownerReferences\":[{\"apiVersion\":\"example.com/v1\","
				   "\"kind\":\"Widget\",\"name\":\"w\",\"uid\":\"w\"}]";
	struct bench b;

	bench_init(&b, 10);
	fakeapi_add(b.w->api, "widgets", "a", "w", ",\"uid\":\"w\"", "");
	fakeapi_add(b.w->api, "configmaps", "a", "child", meta, "");
	fakeapi_add(b.w->api, "widgets", "a", "second", meta, "");
	run(&b, 5000);
	assert_int_equal(fakeapi_call(b.w->api, "DELETE",
				      "/apis/example.com/v1/namespaces/a/widgets/w", STR_NULL,
				      NULL),
			 200);
	run(&b, 5000);
	assert_false(exists(&b, "child"));
	assert_int_equal(fakeapi_count(b.w->api, "widgets"), 0);
	bench_release(&b);
}

static void a_cluster_scoped_owner_serves_all_namespaces(void **state UNUSED)
{
	static const char meta[] = ",\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
				   "\"name\":\"n\",\"uid\":\"n\"}]";
	struct bench b;

	bench_init(&b, 11);
	fakeapi_add(b.w->api, "nodes", "", "n", ",\"uid\":\"n\"", "");
	fakeapi_add(b.w->api, "configmaps", "a", "child", meta, "");
	fakeapi_add(b.w->api, "configmaps", "b", "child", meta, "");
	run(&b, 5000);
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 2);
	(void)fakeapi_call(b.w->api, "DELETE", "/api/v1/nodes/n", STR_NULL, NULL);
	run(&b, 5000);
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 0);
	bench_release(&b);
}

/* Initially owners are known before they are needed, and later from the watch. */
static void nothing_is_asked_for_what_is_as_it_should_be(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(12) };
	uint64_t before;

	for (int i = 0; i < 200; i++) {
		char name[16], owner[16];

		(void)snprintf(owner, sizeof(owner), "o%d", i / 20);
		(void)snprintf(name, sizeof(name), "c%d", i);
		if (i % 20 == 0)
			add(&b, owner, "");
		add(&b, name, owner);
	}
	bench_start(&b);
	run(&b, 5000);
	assert_true(garbage_synced(b.g));
	before = b.w->api->requests;
	assert_in_range(before, 1, 10);
	assert_int_equal(b.w->api->writes, 0);
	bench_release(&b);
}

/* --- random graphs ---------------------------------------------------------------------------- */

enum { THINGS = 40, OWNERS_MAX = 3 };

static const struct {
	const char *resource, *kind, *ns, *path;
} places[] = {
	{ "configmaps", "ConfigMap", "a", "/api/v1/namespaces/a/configmaps" },
	{ "configmaps", "ConfigMap", "b", "/api/v1/namespaces/b/configmaps" },
	{ "secrets", "Secret", "a", "/api/v1/namespaces/a/secrets" },
	{ "nodes", "Node", "", "/api/v1/nodes" },
};

/* An object in the model. */
struct thing {
	bool exists;
	int life; /* number of the object of its name: uids are never reused */
	int place;
	int owners[OWNERS_MAX]; /* the owners it names; -1: none here */
	bool valid[OWNERS_MAX]; /* and whether correctly */
};

struct model {
	struct bench b;
	struct prng prng;
	struct thing things[THINGS];
	uint64_t seed;
};

static bool is_owned(const struct thing *t)
{
	for (int i = 0; i < OWNERS_MAX; i++) {
		if (t->owners[i] >= 0)
			return true;
	}
	return false;
}

static bool is_solid(const struct model *m, const struct thing *t, int k)
{
	return t->owners[k] >= 0 && t->valid[k] && m->things[t->owners[k]].exists;
}

/* Removes the thing if none of its owners exists, else removes those references. True: removed. */
static bool settle_one(struct model *m, struct thing *t)
{
	bool solid = false;

	if (!t->exists || !is_owned(t))
		return false;
	for (int k = 0; k < OWNERS_MAX; k++)
		solid |= is_solid(m, t, k);
	for (int k = 0; solid && k < OWNERS_MAX; k++)
		if (!is_solid(m, t, k))
			t->owners[k] = -1;
	t->exists = solid;
	return !solid;
}

/* Removes references to missing owners, and objects without any other, until nothing changes. */
static void model_settle(struct model *m)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (int i = 0; i < THINGS; i++)
			changed |= settle_one(m, &m->things[i]);
	}
}

/* A namespaced owner is named from its own namespace, by its right name, and not by Nodes. */
static void choose_owner(struct model *m, struct thing *t, int k, bool wrong)
{
	int o = (int)prng_below(&m->prng, THINGS);
	const char *ns = places[m->things[o].place].ns;

	t->owners[k] = -1;
	for (int i = 0; i < k; i++) {
		if (t->owners[i] == o)
			return;
	}
	/* A Node with a namespaced owner is undecided: nothing happens to it. */
	if (!places[t->place].ns[0] && ns[0])
		return;
	t->owners[k] = o;
	t->valid[k] = m->things[o].exists && !wrong &&
		      (!ns[0] || strcmp(ns, places[t->place].ns) == 0);
}

static void add_reference(struct model *m, const struct thing *t, int k, bool wrong,
			  struct buf *meta)
{
	int o = t->owners[k];

	if (o < 0)
		return;
	(void)buf_printf(
		meta,
		"%s{\"apiVersion\":\"v1\",\"kind\":\"%s\",\"name\":\"%st%d\",\"uid\":\"u%d-%d\","
		"\"blockOwnerDeletion\":%s}",
		meta->p[meta->n - 1] == '[' ? "" : ",", places[m->things[o].place].kind,
		wrong ? "wrong" : "", o, o, m->things[o].life,
		prng_below(&m->prng, 2) ? "true" : "false");
}

static void model_add(struct model *m, int i)
{
	struct thing *t = &m->things[i];
	struct buf meta = BUF_INIT(KIB * 4);
	char name[16];

	(void)buf_printf(&meta, ",\"uid\":\"u%d-%d\",\"ownerReferences\":[", i, t->life);
	for (int k = 0; k < OWNERS_MAX; k++) {
		bool wrong = prng_below(&m->prng, 12) == 0;

		t->owners[k] = -1;
		if (prng_below(&m->prng, 2) == 0)
			continue;
		choose_owner(m, t, k, wrong);
		add_reference(m, t, k, wrong, &meta);
	}
	(void)buf_addc(&meta, ']');
	(void)snprintf(name, sizeof(name), "t%d", i);
	fakeapi_add(m->b.w->api, places[t->place].resource, places[t->place].ns, name, meta.p, "");
	buf_release(&meta);
}

/* Adds all at once, so that some name others that come later. */
static void add_things(struct model *m)
{
	bool fresh[THINGS] = { false };

	for (int i = 0; i < THINGS; i++) {
		if (m->things[i].exists || prng_below(&m->prng, 2))
			continue;
		fresh[i] = m->things[i].exists = true;
		m->things[i].life++;
		m->things[i].place = (int)prng_below(&m->prng, ARRAY_SIZE(places));
	}
	for (int i = 0; i < THINGS; i++) {
		if (fresh[i])
			model_add(m, i);
	}
}

static void model_delete(struct model *m, int i, const char *policy)
{
	char target[128];

	if (!m->things[i].exists)
		return;
	(void)snprintf(target, sizeof(target), "%s/t%d?propagationPolicy=%s",
		       places[m->things[i].place].path, i, policy);
	(void)fakeapi_call(m->b.w->api, "DELETE", target, STR_NULL, NULL);
	m->things[i].exists = false;
	if (strcmp(policy, "Orphan") != 0)
		return;
	for (int d = 0; d < THINGS; d++) {
		for (int k = 0; k < OWNERS_MAX; k++) {
			if (m->things[d].owners[k] == i)
				m->things[d].owners[k] = -1;
		}
	}
}

/* Whether the server agrees with the model on this object. */
static bool agrees(const struct model *m, int i)
{
	const struct thing *t = &m->things[i];
	const struct fakeapi_object *o;
	char name[16], uid[32];

	(void)snprintf(name, sizeof(name), "t%d", i);
	o = fakeapi_find(m->b.w->api, places[t->place].resource, places[t->place].ns, name);
	if (!t->exists || !o)
		return !t->exists && !o;
	for (int w = 0; w < THINGS; w++) {
		bool wanted = false;

		for (int k = 0; k < OWNERS_MAX; k++)
			wanted |= t->owners[k] == w;
		(void)snprintf(uid, sizeof(uid), "\"uid\":\"u%d-%d\",\"block", w,
			       m->things[w].life);
		if (wanted != (strstr(o->text, uid) != NULL))
			return false;
	}
	return true;
}

static bool all_agree(void *arg)
{
	const struct model *m = arg;

	for (int i = 0; i < THINGS; i++) {
		if (!agrees(m, i))
			return false;
	}
	return true;
}

static void complain(const struct model *m)
{
	for (int i = 0; i < THINGS; i++) {
		const struct thing *t = &m->things[i];
		const struct fakeapi_object *o;
		char name[16];

		if (agrees(m, i))
			continue;
		(void)snprintf(name, sizeof(name), "t%d", i);
		o = fakeapi_find(m->b.w->api, places[t->place].resource, places[t->place].ns, name);
		print_message("seed %llu t%d: model %s, owners %d %d %d; server: %s\n",
			      (unsigned long long)m->seed, i, t->exists ? "there" : "gone",
			      t->owners[0], t->owners[1], t->owners[2], o ? o->text : "gone");
	}
	fail_msg("the collector's end is not the model's");
}

static void disturb(struct model *m)
{
	switch (prng_below(&m->prng, 6)) {
	case 0:
		m->b.w->api->fail = 0.2;
		break;
	case 1:
		(void)sim_break_conns(m->b.w->sim, 0.7);
		break;
	case 2:
		fakeapi_forget_past(m->b.w->api);
		break;
	case 3:
		bench_stop(&m->b);
		bench_start(&m->b);
		break;
	default:
		break;
	}
	run(&m->b, (int64_t)prng_below(&m->prng, 200));
	m->b.w->api->fail = 0;
}

static void one_round(struct model *m)
{
	static const char *const policies[] = { "Background", "Foreground" };

	add_things(m);
	disturb(m);
	model_settle(m);
	if (!sim_run_until(m->b.w->sim, all_agree, m, 4000000))
		complain(m);
	if (prng_below(&m->prng, 3) == 0) {
		model_delete(m, (int)prng_below(&m->prng, THINGS), "Orphan");
	} else {
		for (int i = 0; i < 4; i++)
			model_delete(m, (int)prng_below(&m->prng, THINGS),
				     policies[prng_below(&m->prng, 2)]);
	}
	disturb(m);
	model_settle(m);
	if (!sim_run_until(m->b.w->sim, all_agree, m, 4000000))
		complain(m);
	run(&m->b, 20000);
	if (!all_agree(m))
		complain(m);
}

static void random_graphs_end_as_the_model_says(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct model m = { .seed = seed };

		prng_init(&m.prng, seed);
		for (int i = 0; i < THINGS; i++)
			m.things[i].owners[0] = m.things[i].owners[1] = m.things[i].owners[2] = -1;
		bench_init(&m.b, seed);
		for (int i = 0; i < 6; i++)
			one_round(&m);
		bench_release(&m.b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_background_dependents_follow_their_owner),
		cmocka_unit_test(in_the_foreground_the_owner_goes_last),
		cmocka_unit_test(one_that_does_not_block_does_not_hold_its_owner),
		cmocka_unit_test(orphans_stay_without_their_owner),
		cmocka_unit_test(a_solid_owner_keeps_it_and_the_other_reference_goes),
		cmocka_unit_test(a_cycle_is_deleted_and_does_not_hang),
		cmocka_unit_test(all_of_a_cycle_may_be_deleted_in_the_foreground_at_once),
		cmocka_unit_test(an_owner_that_never_was_is_none),
		cmocka_unit_test(an_owner_in_another_namespace_is_none_and_people_are_told),
		cmocka_unit_test(an_unknown_kind_of_owner_is_waited_for),
		cmocka_unit_test(a_custom_resource_owns_and_is_owned),
		cmocka_unit_test(a_cluster_scoped_owner_serves_all_namespaces),
		cmocka_unit_test(nothing_is_asked_for_what_is_as_it_should_be),
		cmocka_unit_test(random_graphs_end_as_the_model_says),
	};

	return cmocka_run_group_tests_name("controller/garbage", tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "api/object/object.h"
#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "server/authz/rights.h"
#include "server/engine/state.h"
#include "server/server_limits.h"

static const struct str groups[] = { { "dev", 3 }, { "ops", 3 } };
static const struct user ann = { .name = { "ann", 3 }, .groups = groups, .ngroups = 2 };

static struct authz_query query_for(struct str ns, struct str name)
{
	return (struct authz_query){ .user = &ann,
				     .verb = STR("get"),
				     .group = STR("apps"),
				     .version = STR("v1"),
				     .resource = STR("deployments"),
				     .subresource = STR("scale"),
				     .ns = ns,
				     .name = name };
}

/* --- entries ------------------------------------------------------------------------ */

static void a_right_is_found_for_the_same_request(void **state UNUSED)
{
	struct rights *r = rights_new();
	struct authz_query q = query_for(STR("a"), STR("x"));

	assert_false(rights_have(r, &q, 7, NULL));
	rights_add(r, &q, &(struct authz_right){ .epoch = 7 });
	assert_true(rights_have(r, &q, 7, NULL));
	rights_free(r);
}

static void a_request_that_differs_is_another_one(void **state UNUSED)
{
	static const struct str fewer[] = { { "dev", 3 } }, other[] = { { "dev", 3 }, { "op", 2 } },
				joined[] = { { "devops", 6 } };
	const struct user users[] = {
		{ .name = STR("bob"), .groups = groups, .ngroups = 2 },
		{ .name = STR("annd"), .groups = groups, .ngroups = 2 },
		{ .name = STR("ann") },
		{ .name = STR("ann"), .groups = fewer, .ngroups = 1 },
		{ .name = STR("ann"), .groups = other, .ngroups = 2 },
		{ .name = STR("ann"), .groups = joined, .ngroups = 1 },
	};
	struct authz_query q = query_for(STR("a"), STR("x")), others[16];
	struct rights *r = rights_new();
	size_t n = 0;

	rights_add(r, &q, &(struct authz_right){ .epoch = 1 });
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		others[n] = q;
		others[n++].user = &users[i];
	}
	for (size_t i = 0; i < 7; i++)
		others[n + i] = q;
	others[n++].verb = STR("list");
	others[n++].group = STR("app");
	others[n++].resource = STR("deployment");
	others[n++].subresource = STR("");
	others[n++].ns = STR("b");
	others[n++].name = STR("");
	others[n++].is_path = true;
	for (size_t i = 0; i < n; i++)
		if (rights_have(r, &others[i], 1, NULL))
			fail_msg("request %zu has the right of another", i);
	assert_true(rights_have(r, &q, 1, NULL));
	rights_free(r);
}

/* The same bytes, cut elsewhere. */
static void texts_do_not_run_into_each_other(void **state UNUSED)
{
	struct authz_query q = query_for(STR("ab"), STR("c"));
	struct rights *r = rights_new();

	rights_add(r, &q, &(struct authz_right){ .epoch = 1 });
	q.ns = STR("a");
	q.name = STR("bc");
	assert_false(rights_have(r, &q, 1, NULL));
	q = query_for(STR("ab"), STR("c"));
	q.resource = STR("deploymentss");
	q.subresource = STR("cale");
	assert_false(rights_have(r, &q, 1, NULL));
	rights_free(r);
}

static void a_path_is_found_as_a_whole(void **state UNUSED)
{
	struct authz_query q = {
		.user = &ann, .verb = STR("get"), .is_path = true, .path = STR("/metrics")
	};
	struct rights *r = rights_new();

	rights_add(r, &q, &(struct authz_right){ .epoch = 1, .any_ns = true, .any_name = true });
	assert_true(rights_have(r, &q, 1, NULL));
	q.path = STR("/metrics/");
	assert_false(rights_have(r, &q, 1, NULL));
	rights_free(r);
}

static void a_right_reaches_as_far_as_its_binding_and_rule(void **state UNUSED)
{
	static const struct {
		bool any_ns, any_name;
	} rows[] = { { false, false }, { false, true }, { true, false }, { true, true } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct authz_query q = query_for(STR("a"), STR("x"));
		struct rights *r = rights_new();

		rights_add(r, &q,
			   &(struct authz_right){ .epoch = 1,
						  .any_ns = rows[i].any_ns,
						  .any_name = rows[i].any_name });
		assert_true(rights_have(r, &q, 1, NULL));
		q.name = STR("y");
		assert_int_equal(rights_have(r, &q, 1, NULL), rows[i].any_name);
		q = query_for(STR("b"), STR("x"));
		assert_int_equal(rights_have(r, &q, 1, NULL), rows[i].any_ns);
		q.name = STR("");
		assert_int_equal(rights_have(r, &q, 1, NULL), rows[i].any_ns && rows[i].any_name);
		rights_free(r);
	}
}

static void a_right_counts_only_for_its_epoch(void **state UNUSED)
{
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct rights *r = rights_new();

	rights_add(r, &q, &(struct authz_right){ .epoch = 1 });
	assert_false(rights_have(r, &q, 2, NULL));
	rights_add(r, &q, &(struct authz_right){ .epoch = 2 });
	assert_true(rights_have(r, &q, 2, NULL));
	assert_false(rights_have(r, &q, 1, NULL));
	rights_add(r, &q, &(struct authz_right){ 0 });
	assert_true(rights_have(r, &q, 2, NULL));
	rights_free(r);
}

/* An older and wider right of another epoch must not hide the one that counts. */
static void a_stale_right_hides_no_other(void **state UNUSED)
{
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct rights *r = rights_new();

	rights_add(r, &q, &(struct authz_right){ .epoch = 1, .any_ns = true, .any_name = true });
	rights_add(r, &q, &(struct authz_right){ .epoch = 2 });
	assert_true(rights_have(r, &q, 2, NULL));
	rights_free(r);
}

static void a_long_request_is_not_kept(void **state UNUSED)
{
	static char text[AUTHZ_RIGHT_BYTES];
	struct authz_query q = query_for(STR("a"), str_of(text, sizeof(text)));
	const struct user big = { .name = q.name };
	struct rights *r = rights_new();

	rights_add(r, &q, &(struct authz_right){ .epoch = 1 });
	assert_false(rights_have(r, &q, 1, NULL));
	rights_add(r, &q, &(struct authz_right){ .epoch = 1, .any_name = true });
	assert_true(rights_have(r, &q, 1, NULL));
	q.user = &big;
	rights_add(r, &q, &(struct authz_right){ .epoch = 1, .any_ns = true, .any_name = true });
	assert_false(rights_have(r, &q, 1, NULL));
	rights_free(r);
}

static struct authz_query numbered(char name[static 24], int i)
{
	int n = snprintf(name, 24, "n%d", i);

	return query_for(STR("a"), str_of(name, (size_t)n));
}

static void their_number_is_limited(void **state UNUSED)
{
	enum { MANY = 4 * AUTHZ_RIGHTS_MAX };
	struct authz_query hot = query_for(STR("a"), STR("hot"));
	const struct authz_right right = { .epoch = 1 };
	struct rights *r = rights_new();
	char name[24];
	int kept = 0;

	rights_add(r, &hot, &right);
	for (int i = 0; i < MANY; i++) {
		struct authz_query q = numbered(name, i);

		rights_add(r, &q, &right);
		assert_true(rights_have(r, &q, 1, NULL));
		assert_true(rights_have(r, &hot, 1, NULL)); /* it is used, and so not replaced */
	}
	for (int i = 0; i < MANY; i++) {
		struct authz_query q = numbered(name, i);

		kept += rights_have(r, &q, 1, NULL);
	}
	assert_in_range(kept, AUTHZ_RIGHTS_MAX / 2, AUTHZ_RIGHTS_MAX - 1);
	rights_free(r);
}

/* --- with the authorizer -------------------------------------------------------------- */

static const char role_text[] =
	"{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","
	"\"metadata\":{\"name\":\"reader\"},\"rules\":["
	"{\"verbs\":[\"get\"],\"apiGroups\":[\"apps\"],\"resources\":[\"deployments/scale\"]},"
	"{\"verbs\":[\"update\"],\"apiGroups\":[\"apps\"],\"resources\":[\"deployments/scale\"],"
	"\"resourceNames\":[\"x\"]}]}";

#define SUBJECT  "\"subjects\":[{\"kind\":\"User\",\"name\":\"%s\"}],"
#define ROLE_REF "\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"reader\"}}"

struct scene {
	struct authz *authz;
	struct gates gates;
	struct object *role, *wide, *narrow; /* bindings: of the cluster, of namespace a */
};

static struct object *made(const struct scene *s, const char *resource, const char *text)
{
	const struct schema_kind *kind = schema_find_resource(STR("rbac.authorization.k8s.io"),
							      STR("v1"), str_from(resource));
	struct object *o = NULL;

	assert_int_equal(object_new(kind, str_from(text), 5, &s->gates, &o, NULL), 0);
	return o;
}

static const struct state_observer *observer(const struct scene *s, const char *resource)
{
	size_t n;
	const struct state_observer *v = authz_observers(s->authz, &n);

	for (size_t i = 0; i < n; i++)
		if (str_eqz(v[i].resource, resource))
			return &v[i];
	fail_msg("%s is not observed", resource);
	return NULL;
}

/* Commits a change, as the state does. */
static void change(const struct scene *s, const char *resource, struct object *now,
		   struct object *before)
{
	const struct state_observer *o = observer(s, resource);

	o->changed(o->arg, now, before);
}

static void scene_begin(struct scene *s, const char *user)
{
	char text[512];

	gates_init(&s->gates);
	s->authz = authz_new(2);
	s->role = made(s, "clusterroles", role_text);
	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"all\"}," SUBJECT ROLE_REF,
		       user);
	s->wide = made(s, "clusterrolebindings", text);
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"some\",\"namespace\":\"a\"}," SUBJECT ROLE_REF,
		       user);
	s->narrow = made(s, "rolebindings", text);
	change(s, "clusterroles", s->role, NULL);
}

static void scene_end(struct scene *s)
{
	object_unref(s->role);
	object_unref(s->wide);
	object_unref(s->narrow);
	authz_free(s->authz);
}

/* A job at the state, and the lane that gets it back. */
static bool ask(const struct scene *s, size_t lane, const struct authz_query *q)
{
	struct authz_right right;
	struct error err;
	struct arena a;
	int r;

	arena_init(&a, SIZE_MAX);
	r = authz_require_right(s->authz, q, &a, &right, &err);
	arena_release(&a);
	if (r == 0)
		authz_remember(s->authz, lane, q, &right);
	return r == 0;
}

static void a_lane_remembers_what_was_allowed(void **state UNUSED)
{
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct scene s;

	scene_begin(&s, "ann");
	change(&s, "rolebindings", s.narrow, NULL);
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	assert_true(ask(&s, 0, &q));
	assert_true(authz_recall(s.authz, 0, &q, NULL));
	assert_false(authz_recall(s.authz, 1, &q, NULL));
	q.name = STR("other"); /* the rule names no objects */
	assert_true(authz_recall(s.authz, 0, &q, NULL));
	q.ns = STR("b"); /* the binding is of namespace a */
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	assert_false(ask(&s, 0, &q));
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	scene_end(&s);
}

static void a_right_for_names_is_remembered_for_each(void **state UNUSED)
{
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct scene s;

	scene_begin(&s, "ann");
	change(&s, "clusterrolebindings", s.wide, NULL);
	q.verb = STR("update");
	assert_true(ask(&s, 0, &q));
	q.ns = STR("b");
	assert_true(authz_recall(s.authz, 0, &q, NULL));
	q.name = STR("y");
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	assert_false(ask(&s, 0, &q));
	scene_end(&s);
}

static void any_change_of_roles_and_bindings_ends_a_right(void **state UNUSED)
{
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct scene s;

	scene_begin(&s, "ann");
	for (int i = 0; i < 2; i++) {
		bool wide = i == 0;
		const char *bindings = wide ? "clusterrolebindings" : "rolebindings";
		struct object *binding = wide ? s.wide : s.narrow;

		change(&s, bindings, binding, NULL);
		assert_true(ask(&s, 0, &q));
		change(&s, bindings, NULL, binding);
		assert_false(authz_recall(s.authz, 0, &q, NULL));
		assert_false(ask(&s, 0, &q));
		change(&s, bindings, binding, NULL);
		assert_true(ask(&s, 0, &q));
		change(&s, "clusterroles", NULL, s.role);
		assert_false(authz_recall(s.authz, 0, &q, NULL));
		assert_false(ask(&s, 0, &q));
		change(&s, "clusterroles", s.role, NULL);
		assert_true(ask(&s, 0, &q));
		observer(&s, bindings)->reset(s.authz);
		assert_false(authz_recall(s.authz, 0, &q, NULL));
		assert_false(ask(&s, 0, &q));
	}
	change(&s, "rolebindings", s.narrow, NULL);
	assert_true(ask(&s, 0, &q));
	observer(&s, "roles")->reset(s.authz);
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	assert_true(ask(&s, 0, &q));
	observer(&s, "clusterroles")->reset(s.authz);
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	assert_false(ask(&s, 0, &q));
	scene_end(&s);
}

static void a_nodes_rights_are_not_remembered(void **state UNUSED)
{
	static const struct str nodes[] = { { "system:nodes", 12 } };
	const struct user node = { .name = STR("system:node:n1"), .groups = nodes, .ngroups = 1 };
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct scene s;

	scene_begin(&s, "system:node:n1");
	change(&s, "rolebindings", s.narrow, NULL);
	q.user = &node;
	assert_true(ask(&s, 0, &q)); /* by RBAC, after the node authorizer */
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	q.resource = STR("nodes");
	q.subresource = q.ns = STR("");
	q.group = STR("");
	q.name = STR("n1");
	assert_true(ask(&s, 0, &q)); /* by the node authorizer */
	assert_false(authz_recall(s.authz, 0, &q, NULL));
	scene_end(&s);
}

static void administrators_need_no_memory(void **state UNUSED)
{
	static const struct str masters[] = { { "system:masters", 14 } };
	const struct user root = { .name = STR("root"), .groups = masters, .ngroups = 1 };
	struct authz_query q = query_for(STR("a"), STR("x"));
	struct scene s;

	scene_begin(&s, "ann");
	assert_false(authz_recall(s.authz, 1, &q, NULL));
	q.user = &root;
	assert_true(authz_recall(s.authz, 1, &q, NULL));
	scene_end(&s);
}

/* --- threads -------------------------------------------------------------------------- */

enum { ROUNDS = 100 };

/*
 * A state that gives a right and takes it away, and two lanes that ask. The lock stands for the
 * state's loop: a job is decided between two commits. `taken` is what a writer knows: odd after it
 * was acknowledged that the right is gone, and until the next binding is sent.
 */
struct race {
	struct scene scene;
	struct lock loop;
	atomic_uint taken;
	atomic_bool over;
};

struct lane_of_race {
	struct race *race;
	struct thread thread;
	size_t lane, recalled, wrong;
	atomic_uint asked;
};

static void lane_run(void *arg)
{
	struct lane_of_race *l = arg;
	struct race *race = l->race;
	struct authz_query q = query_for(STR("a"), STR("x"));

	while (!atomic_load(&race->over)) {
		unsigned before = atomic_load(&race->taken);
		bool recalled = authz_recall(race->scene.authz, l->lane, &q, NULL);

		l->recalled += recalled;
		l->wrong += recalled && before % 2 && atomic_load(&race->taken) == before;
		if (!recalled) {
			lock_acquire(&race->loop);
			(void)ask(&race->scene, l->lane, &q);
			lock_release(&race->loop);
		}
		(void)atomic_fetch_add(&l->asked, 1);
	}
}

static void commit(struct race *race, struct object *now, struct object *before)
{
	lock_acquire(&race->loop);
	change(&race->scene, "rolebindings", now, before);
	lock_release(&race->loop);
}

/* Until each lane has asked at least once from beginning to end. */
static void let_ask(struct lane_of_race *lanes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned from = atomic_load(&lanes[i].asked);

		while (atomic_load(&lanes[i].asked) - from < 2)
			(void)sched_yield();
	}
}

static void a_right_that_was_taken_away_is_never_recalled(void **state UNUSED)
{
	struct race race = { .scene.role = NULL };
	struct lane_of_race lanes[2];
	struct object *binding;

	scene_begin(&race.scene, "ann");
	binding = race.scene.narrow;
	lock_init(&race.loop);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		lanes[i] = (struct lane_of_race){ .race = &race, .lane = i };
		assert_int_equal(thread_start(&lanes[i].thread, "lane", lane_run, &lanes[i], NULL),
				 0);
	}
	for (int i = 0; i < ROUNDS; i++) {
		commit(&race, binding, NULL);
		let_ask(lanes, ARRAY_SIZE(lanes));
		commit(&race, NULL, binding);
		(void)atomic_fetch_add(&race.taken, 1); /* the writer has its reply */
		let_ask(lanes, ARRAY_SIZE(lanes));
		(void)atomic_fetch_add(&race.taken, 1); /* and sends the next write */
	}
	atomic_store(&race.over, true);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		thread_join(&lanes[i].thread);
		assert_int_equal(lanes[i].wrong, 0);
		assert_true(lanes[i].recalled > 0);
	}
	lock_destroy(&race.loop);
	scene_end(&race.scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_is_found_for_the_same_request),
		cmocka_unit_test(a_request_that_differs_is_another_one),
		cmocka_unit_test(texts_do_not_run_into_each_other),
		cmocka_unit_test(a_path_is_found_as_a_whole),
		cmocka_unit_test(a_right_reaches_as_far_as_its_binding_and_rule),
		cmocka_unit_test(a_right_counts_only_for_its_epoch),
		cmocka_unit_test(a_stale_right_hides_no_other),
		cmocka_unit_test(a_long_request_is_not_kept),
		cmocka_unit_test(their_number_is_limited),
		cmocka_unit_test(a_lane_remembers_what_was_allowed),
		cmocka_unit_test(a_right_for_names_is_remembered_for_each),
		cmocka_unit_test(any_change_of_roles_and_bindings_ends_a_right),
		cmocka_unit_test(a_nodes_rights_are_not_remembered),
		cmocka_unit_test(administrators_need_no_memory),
		cmocka_unit_test(a_right_that_was_taken_away_is_never_recalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

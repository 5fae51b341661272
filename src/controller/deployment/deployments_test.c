/*
 * Deployments and their ReplicaSets against a fake API server, with both controllers: rollouts,
 * stale caches, lost replies, and a crash at every write. Nodes are played by kubelets().
 */
#include "controller/deployment/deployments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/replica_set/replica_sets.h"
#include "controller/run/controller_world.h"

#define WEB  "/apis/apps/v1/namespaces/n/deployments/web"
#define SETS "/apis/apps/v1/namespaces/n/replicasets"
#define PODS "/api/v1/namespaces/n/pods"

enum { REPLICAS = 4, SURGE = 1, UNAVAILABLE = 1 };

struct bench {
	struct controller_world *w;
	struct replica_sets *sets;
	struct deployments *deployments;
	struct arena arena;
	const char *target; /* faults only for paths that contain this; NULL: all */
	unsigned at, upto, writes; /* the writes, from 1, that get the fault */
	int fault;
	unsigned reached; /* writes that got it */
	size_t seen; /* position in the log of changes */
	size_t created; /* pods */
	bool limited; /* replicas have been available: they must stay so */
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (str_eq(q->method, STR("GET")) || str_find(q->path, STR("/events")) >= 0)
		return FAKEAPI_WELL;
	if (b->target && str_find(q->path, str_from(b->target)) < 0)
		return FAKEAPI_WELL;
	b->writes++;
	if (b->writes < b->at || b->writes > b->upto)
		return FAKEAPI_WELL;
	b->reached++;
	return b->fault;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->sets = replica_sets_new(&b->w->ctx, &(struct replica_sets_opts){ 0 });
	b->deployments = deployments_new(&b->w->ctx, &(struct deployments_opts){ 0 });
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	deployments_free(TAKE(b->deployments));
	replica_sets_free(TAKE(b->sets));
	controller_world_stop(b->w);
}

static struct bench *bench_new(uint64_t seed)
{
	struct bench *b = XNEW(struct bench);

	b->w = controller_world_new(seed);
	b->w->api->fault = bench_fault;
	b->w->api->fault_arg = b;
	arena_init(&b->arena, SIZE_MAX);
	bench_start(b);
	return b;
}

static void bench_free(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	arena_release(&b->arena);
	free(b);
}

static void patch(struct bench *b, const char *target, const char *change)
{
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", target, str_from(change), NULL), 200);
}

static void add_web(struct bench *b, const char *spec)
{
	char rest[512];

	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{%s,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
		       "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
		       "\"image\":\"v1\"}}}",
		       spec);
	fakeapi_add(b->w->api, "deployments", "n", "web", ",\"generation\":1,\"uid\":\"web-1\"",
		    rest);
}

#define ROLLING(n)                                                                    \
	"\"replicas\":" n ",\"progressDeadlineSeconds\":600,"                         \
	"\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":1," \
	"\"maxUnavailable\":1}}"
#define RECREATE "\"replicas\":4,\"strategy\":{\"type\":\"Recreate\"}"

static void set_image(struct bench *b, const char *image)
{
	char change[128];

	(void)snprintf(change, sizeof(change),
		       "{\"spec\":{\"template\":{\"spec\":{\"image\":\"%s\"}}}}", image);
	patch(b, WEB, change);
}

/* --- looking --------------------------------------------------------------------------------- */

typedef void each_fn(struct bench *b, const struct fakeapi_object *o, const struct json *tree,
		     void *arg);

/* The function may not change objects. */
static void each(struct bench *b, const char *resource, each_fn *fn, void *arg)
{
	struct omap_cursor c;
	struct json *tree;

	for (bool ok = omap_first(&b->w->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		if (strcmp(o->kind->resource, resource) != 0)
			continue;
		assert_int_equal(json_parse(&b->arena, str_from(o->text), NULL, &tree, NULL), 0);
		fn(b, o, tree, arg);
	}
	arena_clear(&b->arena);
}

struct tally {
	int64_t wanted; /* spec.replicas of all ReplicaSets */
	size_t sets, pods, ready, of_image;
	const char *image;
};

static void tally_set(struct bench *b UNUSED, const struct fakeapi_object *o UNUSED,
		      const struct json *tree, void *arg)
{
	struct tally *t = arg;

	t->wanted += json_i64_at(json_getz(tree, "spec"), "replicas", 0);
	t->sets++;
}

static bool is_ready(const struct json *pod)
{
	return json_getz(json_getz(pod, "status"), "conditions") &&
	       !json_getz(json_getz(pod, "metadata"), "deletionTimestamp");
}

static void tally_pod(struct bench *b UNUSED, const struct fakeapi_object *o UNUSED,
		      const struct json *tree, void *arg)
{
	struct tally *t = arg;

	t->pods++;
	t->ready += is_ready(tree);
	t->of_image += t->image &&
		       str_eqz(json_text_at(json_getz(tree, "spec"), "image"), t->image);
}

static struct tally tally(struct bench *b, const char *image)
{
	struct tally t = { .image = image };

	each(b, "replicasets", tally_set, &t);
	each(b, "pods", tally_pod, &t);
	return t;
}

static bool has_status(struct bench *b, const char *text)
{
	return fakeapi_has(b->w->api, "deployments", "n", "web", text);
}

static bool has_event(struct bench *b, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	bool has;

	(void)fakeapi_call(b->w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	has = strstr(out.p, text) != NULL;
	buf_release(&out);
	return has;
}

/* Counts the pods that were created. */
static void read_log(struct bench *b)
{
	const struct fakeapi *f = b->w->api;

	for (; b->seen < f->log.n; b->seen++)
		b->created += strcmp(f->log.v[b->seen].type, "ADDED") == 0 &&
			      strcmp(f->log.v[b->seen].kind->resource, "pods") == 0;
}

/* --- nodes ----------------------------------------------------------------------------------- */

static void collect_unready(struct bench *b UNUSED, const struct fakeapi_object *o,
			    const struct json *tree, void *arg)
{
	char **names = arg;

	while (*names)
		names++;
	if (!is_ready(tree))
		*names = xstrdup(strrchr(o->key, '/') + 1);
}

/* Pods become ready. Those that are deleted are gone at once: they have no node. */
static void kubelets(struct bench *b)
{
	char *names[256] = { NULL };

	each(b, "pods", collect_unready, names);
	for (size_t i = 0; names[i]; i++) {
		char target[160];

		(void)snprintf(target, sizeof(target), PODS "/%s", names[i]);
		patch(b, target,
		      "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
		      "\"status\":\"True\",\"lastTransitionTime\":\"2024-01-01T00:00:00Z\"}]}}");
		free(names[i]);
	}
}

/* Checks the limits, which must hold at every moment of a rolling update. */
static void check_limits(struct bench *b)
{
	struct tally t = tally(b, NULL);

	if (t.wanted > REPLICAS + SURGE)
		fail_msg("%lld replicas are wanted", (long long)t.wanted);
	if (t.ready >= REPLICAS)
		b->limited = true;
	if (b->limited && t.ready < REPLICAS - UNAVAILABLE)
		fail_msg("only %zu pods are ready", t.ready);
	read_log(b);
}

/* Watches a rolling update for so many steps of 5 ms, or until all pods have the image. */
static bool rolled(struct bench *b, const char *image, int steps)
{
	for (int i = 0; i < steps; i++) {
		struct tally t;

		controller_world_run(b->w, 5);
		check_limits(b);
		if (i % 4 == 0)
			kubelets(b);
		t = tally(b, image);
		if (t.of_image == REPLICAS && t.pods == REPLICAS && t.ready == REPLICAS &&
		    has_status(b, "\"reason\":\"NewReplicaSetAvailable\"") &&
		    has_status(b, "\"updatedReplicas\":4"))
			return true;
	}
	return false;
}

static void run(struct bench *b)
{
	for (int i = 0; i < 100; i++) {
		controller_world_run(b->w, 30);
		kubelets(b);
	}
}

/* --- as it should be ------------------------------------------------------------------------- */

static void a_rollout_stays_within_its_limits(void **state UNUSED)
{
	struct bench *b = bench_new(1);

	add_web(b, ROLLING("4"));
	assert_true(rolled(b, "v1", 2000));
	assert_int_equal(b->created, 4);
	assert_true(has_status(b, "\"deployment.kubernetes.io/revision\":\"1\""));
	set_image(b, "v2");
	assert_true(rolled(b, "v2", 2000));
	/* No pod is created in vain. */
	assert_int_equal(b->created, 8);
	run(b);
	assert_true(has_status(b, "\"deployment.kubernetes.io/revision\":\"2\""));
	assert_true(has_status(b, "\"observedGeneration\":2"));
	assert_true(has_event(b, "Scaled up replica set web-"));
	assert_true(has_event(b, "Scaled down replica set web-"));
	assert_int_equal(tally(b, NULL).sets, 2);
	/* Back again: the old ReplicaSet is used. */
	set_image(b, "v1");
	assert_true(rolled(b, "v1", 2000));
	assert_int_equal(tally(b, NULL).sets, 2);
	assert_true(has_status(b, "\"deployment.kubernetes.io/revision\":\"3\""));
	bench_free(b);
}

static void a_deployment_at_rest_costs_no_request(void **state UNUSED)
{
	struct bench *b = bench_new(2);
	uint64_t writes;

	add_web(b, ROLLING("4"));
	run(b);
	writes = b->w->api->writes;
	bench_stop(b);
	bench_start(b);
	run(b);
	patch(b, WEB, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
	run(b);
	assert_int_equal(b->w->api->writes, writes);
	bench_free(b);
}

static void recreate_never_mixes_versions(void **state UNUSED)
{
	struct bench *b = bench_new(3);

	add_web(b, RECREATE);
	run(b);
	assert_int_equal(tally(b, "v1").of_image, 4);
	set_image(b, "v2");
	for (int i = 0; i < 1000; i++) {
		struct tally t;

		controller_world_run(b->w, 2);
		t = tally(b, "v1");
		assert_true(t.of_image == 0 || t.of_image == t.pods);
	}
	run(b);
	assert_int_equal(tally(b, "v2").of_image, 4);
	bench_free(b);
}

static void a_pause_stops_a_rollout_but_not_scaling(void **state UNUSED)
{
	struct bench *b = bench_new(4);

	add_web(b, ROLLING("4"));
	run(b);
	patch(b, WEB, "{\"spec\":{\"paused\":true}}");
	set_image(b, "v2");
	run(b);
	assert_int_equal(tally(b, "v1").of_image, 4);
	assert_true(has_status(b, "\"reason\":\"DeploymentPaused\""));
	patch(b, WEB, "{\"spec\":{\"replicas\":6}}");
	run(b);
	assert_int_equal(tally(b, "v1").of_image, 6);
	patch(b, WEB, "{\"spec\":{\"paused\":false}}");
	run(b);
	assert_int_equal(tally(b, "v2").of_image, 6);
	bench_free(b);
}

static void sets_are_adopted_and_released(void **state UNUSED)
{
	struct bench *b = bench_new(5);

	fakeapi_add(b->w->api, "replicasets", "n", "mine",
		    ",\"generation\":1,\"labels\":{\"app\":\"web\"}",
		    ",\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
		    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},\"spec\":{"
		    "\"image\":\"v1\"}}}");
	run(b);
	add_web(b, ROLLING("4"));
	run(b);
	assert_true(fakeapi_has(b->w->api, "replicasets", "n", "mine", "web-1"));
	assert_int_equal(tally(b, NULL).sets, 1);
	assert_int_equal(tally(b, "v1").of_image, 4);
	assert_true(has_status(b, "\"updatedReplicas\":4"));
	patch(b, SETS "/mine", "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}");
	run(b);
	assert_false(fakeapi_has(b->w->api, "replicasets", "n", "mine", "web-1"));
	assert_int_equal(tally(b, NULL).sets, 2);
	bench_free(b);
}

static void a_deadline_passes_by_time_alone(void **state UNUSED)
{
	struct bench *b = bench_new(6);

	add_web(b, "\"replicas\":1,\"progressDeadlineSeconds\":20");
	controller_world_run(b->w, 15000);
	assert_true(has_status(b, "\"type\":\"Progressing\",\"status\":\"True\""));
	controller_world_run(b->w, 10000);
	assert_true(has_status(b, "\"reason\":\"ProgressDeadlineExceeded\""));
	run(b);
	assert_true(has_status(b, "\"reason\":\"NewReplicaSetAvailable\""));
	bench_free(b);
}

/* --- as it should not be --------------------------------------------------------------------- */

/* The name that the first ReplicaSet gets; the same in every world. */
static char *first_name(void)
{
	struct bench *b = bench_new(7);
	char *name;

	add_web(b, ROLLING("4"));
	run(b);
	name = xstrdup(fakeapi_name_at(b->w->api, "replicasets", 0));
	bench_free(b);
	return name;
}

static void a_name_that_is_taken_is_a_collision(void **state UNUSED)
{
	struct bench *b = bench_new(8);
	char *name = first_name();

	fakeapi_add(b->w->api, "replicasets", "n", name, ",\"generation\":1",
		    ",\"spec\":{\"replicas\":0,\"selector\":{\"matchLabels\":{\"x\":\"y\"}}}");
	add_web(b, ROLLING("4"));
	run(b);
	assert_true(has_status(b, "\"collisionCount\":1"));
	assert_int_equal(tally(b, "v1").of_image, 4);
	assert_int_equal(tally(b, NULL).sets, 2);
	free(name);
	bench_free(b);
}

static void a_set_that_is_rejected_is_reported(void **state UNUSED)
{
	struct bench *b = bench_new(9);

	b->target = "/replicasets";
	b->at = 1;
	b->upto = UINT32_MAX;
	b->fault = 403;
	add_web(b, ROLLING("4"));
	controller_world_run(b->w, 5000);
	assert_true(has_status(b, "\"reason\":\"ReplicaSetCreateError\""));
	assert_true(has_event(b, "Failed to create new replica set"));
	/* With a back-off: 5 ms that double. */
	assert_in_range(b->writes, 5, 20);
	b->upto = 0;
	run(b);
	run(b);
	assert_int_equal(tally(b, "v1").of_image, 4);
	assert_true(has_status(b, "\"reason\":\"NewReplicaSetAvailable\""));
	bench_free(b);
}

/* The caches of ReplicaSets, or of Deployments, are late in the middle of a rollout. */
static void stale_caches_break_no_limit(void **state UNUSED)
{
	static const char *const resources[] = { "replicasets", "deployments", "pods" };

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		for (int after = 0; after < 12; after++) {
			struct bench *b = bench_new(20 + i);

			add_web(b, ROLLING("4"));
			assert_true(rolled(b, "v1", 2000));
			set_image(b, "v2");
			(void)rolled(b, "v2", after);
			fakeapi_hold_back(b->w->api, resources[i]);
			(void)rolled(b, "v2", 50);
			/* Another version on the way, and back. */
			set_image(b, "v3");
			(void)rolled(b, "v3", 400);
			fakeapi_catch_up(b->w->api);
			(void)rolled(b, "v3", after);
			set_image(b, "v1");
			assert_true(rolled(b, "v1", 4000));
			bench_free(b);
		}
	}
}

static void lost_replies_break_no_limit(void **state UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, 500, 409 };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		for (unsigned at = 1; at < 24; at++) {
			struct bench *b = bench_new(40 + at);

			add_web(b, ROLLING("4"));
			assert_true(rolled(b, "v1", 2000));
			b->target = at % 2 ? "/replicasets" : NULL;
			b->writes = 0;
			b->at = b->upto = (at + 1) / 2;
			b->fault = faults[i];
			set_image(b, "v2");
			assert_true(rolled(b, "v2", 8000));
			assert_int_equal(b->created, 8);
			bench_free(b);
		}
	}
}

/* Rolls out, and dies at the n-th write. Returns whether there was one. */
static bool dies_at(unsigned n, int fault)
{
	struct bench *b = bench_new(n);
	bool died;

	add_web(b, ROLLING("4"));
	assert_true(rolled(b, "v1", 2000));
	b->writes = 0;
	b->at = b->upto = n;
	b->fault = fault;
	set_image(b, "v2");
	for (int i = 0; i < 2000 && b->reached == 0 && !rolled(b, "v2", 1); i++)
		;
	died = b->reached > 0;
	bench_stop(b);
	b->at = b->upto = 0;
	bench_start(b);
	assert_true(rolled(b, "v2", 4000));
	if (b->created != 8)
		fail_msg("%zu pods were created, with a crash at write %u", b->created, n);
	bench_free(b);
	return died;
}

static void a_crash_at_any_write_loses_and_doubles_nothing(void **state UNUSED)
{
	unsigned n = 1;

	while (dies_at(n, FAKEAPI_CUT) && dies_at(n, FAKEAPI_DO_AND_CUT))
		n++;
	assert_in_range(n, 20, 100);
}

static void it_comes_right_whatever_fails(void **state UNUSED)
{
	static const char *const images[] = { "v1", "v2", "v3" };

	for (uint64_t seed = 1; seed <= 15; seed++) {
		struct bench *b = bench_new(100 + seed);

		add_web(b, ROLLING("4"));
		assert_true(rolled(b, "v1", 2000));
		b->w->api->fail = 0.2;
		for (int i = 0; i < 12; i++) {
			set_image(b, images[(seed + (uint64_t)i * 2) % 3]);
			(void)rolled(b, "none", 40);
			if (i % 3 == 0)
				(void)sim_break_conns(b->w->sim, 0.7);
			if (i % 5 == 0)
				fakeapi_forget_past(b->w->api);
			if (i != 6)
				continue;
			bench_stop(b);
			bench_start(b);
		}
		b->w->api->fail = 0;
		set_image(b, "v9");
		if (!rolled(b, "v9", 100000))
			fail_msg("seed %llu", (unsigned long long)seed);
		bench_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rollout_stays_within_its_limits),
		cmocka_unit_test(a_deployment_at_rest_costs_no_request),
		cmocka_unit_test(recreate_never_mixes_versions),
		cmocka_unit_test(a_pause_stops_a_rollout_but_not_scaling),
		cmocka_unit_test(sets_are_adopted_and_released),
		cmocka_unit_test(a_deadline_passes_by_time_alone),
		cmocka_unit_test(a_name_that_is_taken_is_a_collision),
		cmocka_unit_test(a_set_that_is_rejected_is_reported),
		cmocka_unit_test(stale_caches_break_no_limit),
		cmocka_unit_test(lost_replies_break_no_limit),
		cmocka_unit_test(a_crash_at_any_write_loses_and_doubles_nothing),
		cmocka_unit_test(it_comes_right_whatever_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

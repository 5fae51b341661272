/*
 * The controller against a fake API server, with a scheduler and kubelets that the test plays. A
 * model checks after every step that no node has two pods of one revision, nor two pods at all
 * unless the update surges.
 */
#include "controller/daemon_set/daemon_sets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/informer.h"
#include "controller/daemon_set/rules.h"
#include "controller/run/controller_world.h"

#define SETS      "/apis/apps/v1/namespaces/n/daemonsets"
#define PODS      "/api/v1/namespaces/n/pods"
#define REVISIONS "/apis/apps/v1/namespaces/n/controllerrevisions"
#define SURGE     "\"maxUnavailable\":0,\"maxSurge\":1"
#define IN_PLACE  "\"maxUnavailable\":1,\"maxSurge\":0"

enum { STEP_MS = 25, STEPS_MAX = 4000 };

struct bench {
	struct controller_world *w;
	struct daemon_sets *sets;
	struct arena arena;
	bool surge; /* two pods of different revisions may be on a node */
	bool idle; /* kubelets start nothing */
	const char *fails; /* an image whose pods fail */
	/* A fault at the n-th write, counted from 1; 0: none. */
	unsigned writes, fault_at;
	int fault;
	bool crash; /* restart the controller then */
	bool crashed;
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (str_eqz(q->method, "GET") || str_find(q->path, STR("/events")) >= 0)
		return FAKEAPI_WELL;
	if (++b->writes != b->fault_at)
		return FAKEAPI_WELL;
	b->crashed = b->crash;
	return b->fault;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->sets = daemon_sets_new(&b->w->ctx);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	daemon_sets_free(TAKE(b->sets));
	controller_world_stop(b->w);
}

static void bench_init(struct bench *b)
{
	*b = (struct bench){ .w = controller_world_new(7) };
	arena_init(&b->arena, 256 * MIB);
	b->w->api->fault = bench_fault;
	b->w->api->fault_arg = b;
	bench_start(b);
}

static void bench_release(struct bench *b)
{
	fakeapi_catch_up(b->w->api);
	bench_stop(b);
	controller_world_free(b->w);
	arena_release(&b->arena);
}

/* --- objects --------------------------------------------------------------------------------- */

static void add_node(struct bench *b, const char *name, const char *labels)
{
	fakeapi_add(b->w->api, "nodes", "", name,
		    arena_printf(&b->arena, ",\"labels\":{%s}", labels), ",\"spec\":{}");
}

static void call(struct bench *b, const char *method, const char *target, const char *body)
{
	int status = fakeapi_call(b->w->api, method, target, body ? str_from(body) : STR_NULL,
				  NULL);

	assert_in_range(status, 200, 201);
}

static const char *spec_of(struct bench *b, const char *image, const char *rolling,
			   const char *more)
{
	return arena_printf(&b->arena,
			    "{\"selector\":{\"matchLabels\":{\"app\":\"d\"}},%s"
			    "\"template\":{\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{"
			    "\"nodeSelector\":{\"gpu\":\"yes\"},\"containers\":[{\"name\":\"c\","
			    "\"image\":\"%s\"}]}},\"updateStrategy\":{\"type\":\"RollingUpdate\","
			    "\"rollingUpdate\":{%s}}}",
			    more, image, rolling);
}

static void add_set(struct bench *b, const char *image, const char *rolling, const char *more)
{
	fakeapi_add(b->w->api, "daemonsets", "n", "d", ",\"uid\":\"u-d\",\"generation\":1",
		    arena_printf(&b->arena, ",\"spec\":%s", spec_of(b, image, rolling, more)));
}

static void set_image(struct bench *b, const char *image)
{
	call(b, "PATCH", SETS "/d",
	     arena_printf(&b->arena,
			  "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
			  "\"image\":\"%s\"}]}}}}",
			  image));
}

/* --- the scheduler, kubelets and the model --------------------------------------------------- */

struct seen_pod {
	const struct json *tree;
	struct str name, node, revision, image;
	bool deleting, ready, bound;
};

static const struct json *items(struct bench *b, const char *target)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	struct json *list;

	assert_int_equal(fakeapi_call(b->w->api, "GET", target, STR_NULL, &out), 200);
	assert_int_equal(
		json_parse(&b->arena, arena_str(&b->arena, buf_str(&out)), NULL, &list, NULL), 0);
	buf_release(&out);
	return json_getz(list, "items");
}

static void look_at(const struct json *pod, struct seen_pod *ret)
{
	const struct json *meta = json_getz(pod, "metadata"), *spec = json_getz(pod, "spec");
	const struct json *labels = json_getz(meta, "labels");
	const struct json *c = json_find(json_getz(json_getz(pod, "status"), "conditions"), "type",
					 STR("Ready"));

	*ret = (struct seen_pod){
		.tree = pod,
		.name = json_text_at(meta, "name"),
		.node = daemon_pod_node(spec),
		.revision = json_str(json_get(labels, DAEMON_HASH_LABEL)),
		.image = json_text_at(json_first(json_getz(spec, "containers")), "image"),
		.deleting = json_getz(meta, "deletionTimestamp") != NULL,
		.bound = json_text_at(spec, "nodeName").n > 0,
		.ready = str_eqz(json_text_at(c, "status"), "True"),
	};
}

static size_t all_pods(struct bench *b, struct seen_pod **ret)
{
	const struct json *list = items(b, PODS);
	struct seen_pod *v = ARENA_ARRAY(&b->arena, struct seen_pod, json_count(list));
	size_t n = 0;

	JSON_FOREACH (it, list) {
		look_at(it, &v[n]);
		n += v[n].revision.n > 0;
	}
	*ret = v;
	return n;
}

static void check_two(const struct bench *b, const struct seen_pod *p, const struct seen_pod *q)
{
	if (p->deleting || q->deleting || !str_eq(p->node, q->node))
		return;
	if (!b->surge || str_eq(p->revision, q->revision))
		fail_msg("two pods on %.*s: %.*s and %.*s", STR_ARG(p->node), STR_ARG(p->name),
			 STR_ARG(q->name));
}

static void check_model(struct bench *b)
{
	struct seen_pod *v;
	size_t n = all_pods(b, &v);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			check_two(b, &v[i], &v[k]);
}

/* Plays the scheduler's or the kubelet's next step with a pod. */
static void serve_pod(struct bench *b, const struct seen_pod *p)
{
	const char *target = arena_printf(&b->arena, PODS "/%.*s", STR_ARG(p->name));
	const char *phase = b->fails && str_eqz(p->image, b->fails) ? "Failed" : "Running";

	if (p->deleting) {
		call(b, "PATCH", target, "{\"spec\":null}");
	} else if (b->idle) {
		return;
	} else if (!p->bound) {
		call(b, "PATCH", target,
		     arena_printf(&b->arena, "{\"spec\":{\"nodeName\":\"%.*s\"}}",
				  STR_ARG(p->node)));
	} else if (!json_getz(p->tree, "status")) {
		call(b, "PATCH", target,
		     arena_printf(&b->arena,
				  "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":"
				  "\"Ready\",\"status\":\"%s\",\"lastTransitionTime\":"
				  "\"2024-01-01T00:00:00Z\"}]}}",
				  phase, strcmp(phase, "Failed") ? "True" : "False"));
	}
}

static void step(struct bench *b)
{
	struct seen_pod *v;
	size_t n;

	controller_world_run(b->w, STEP_MS);
	check_model(b);
	if (b->crashed) {
		b->crashed = false;
		bench_stop(b);
		bench_start(b);
	}
	n = all_pods(b, &v);
	for (size_t i = 0; i < n; i++)
		serve_pod(b, &v[i]);
	check_model(b);
}

static void run_ms(struct bench *b, int64_t ms)
{
	for (int64_t at = 0; at < ms; at += STEP_MS)
		step(b);
}

/* --- expectations of the test ---------------------------------------------------------------- */

/* "n1=img1 n2=img1", the ready pods by node; others are marked. */
static const char *brief(struct bench *b)
{
	struct seen_pod *v;
	size_t n = all_pods(b, &v), used = 0;
	struct str *words = ARENA_ARRAY(&b->arena, struct str, n);
	struct buf out = BUF_INIT(SIZE_MAX);
	const char *text;

	for (size_t i = 0; i < n; i++)
		words[used++] = str_from(arena_printf(
			&b->arena, "%.*s=%.*s%s%s", STR_ARG(v[i].node), STR_ARG(v[i].image),
			v[i].ready ? "" : "?", v[i].deleting ? "-" : ""));
	if (used > 1)
		qsort(words, used, sizeof(*words), str_order);
	for (size_t i = 0; i < used; i++)
		(void)buf_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(words[i]));
	text = arena_strdup(&b->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

static const struct json *status_of(struct bench *b)
{
	return json_getz(json_first(items(b, SETS)), "status");
}

static int64_t count_of(struct bench *b, const char *name)
{
	return json_i64_at(status_of(b), name, 0);
}

static bool is_settled(struct bench *b, const char *expected, size_t n)
{
	return strcmp(brief(b), expected) == 0 && count_of(b, "numberAvailable") == (int64_t)n &&
	       count_of(b, "updatedNumberScheduled") == (int64_t)n &&
	       count_of(b, "desiredNumberScheduled") == (int64_t)n &&
	       count_of(b, "numberUnavailable") == 0 && count_of(b, "numberMisscheduled") == 0 &&
	       count_of(b, "observedGeneration") ==
		       json_i64_at(json_getz(json_first(items(b, SETS)), "metadata"), "generation",
				   -1);
}

static void settles(struct bench *b, const char *expected, size_t n)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (is_settled(b, expected, n))
			return;
		step(b);
	}
	fail_msg("pods are \"%s\" and not \"%s\"", brief(b), expected);
}

/* --- one after the other --------------------------------------------------------------------- */

static void add_three_nodes(struct bench *b)
{
	add_node(b, "n1", "\"gpu\":\"yes\"");
	add_node(b, "n2", "\"gpu\":\"yes\"");
	add_node(b, "n3", "\"gpu\":\"no\"");
}

static void each_node_that_fits_gets_a_pod(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 1);
	bench_release(&b);
}

static void pods_follow_the_nodes(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2);
	add_node(&b, "n4", "\"gpu\":\"yes\"");
	settles(&b, "n1=v1 n2=v1 n4=v1", 3);
	call(&b, "PATCH", "/api/v1/nodes/n3", "{\"metadata\":{\"labels\":{\"gpu\":\"yes\"}}}");
	settles(&b, "n1=v1 n2=v1 n3=v1 n4=v1", 4);
	call(&b, "PATCH", "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"gpu\":\"no\"}}}");
	settles(&b, "n2=v1 n3=v1 n4=v1", 3);
	/* A taint NoSchedule keeps the pod that is there, NoExecute does not. */
	call(&b, "PATCH", "/api/v1/nodes/n2",
	     "{\"spec\":{\"taints\":[{\"key\":\"x\",\"effect\":\"NoSchedule\"}]}}");
	run_ms(&b, 500);
	assert_string_equal(brief(&b), "n2=v1 n3=v1 n4=v1");
	assert_int_equal(count_of(&b, "numberMisscheduled"), 1);
	assert_int_equal(count_of(&b, "desiredNumberScheduled"), 2);
	call(&b, "PATCH", "/api/v1/nodes/n2",
	     "{\"spec\":{\"taints\":[{\"key\":\"x\",\"effect\":\"NoExecute\"}]}}");
	settles(&b, "n3=v1 n4=v1", 2);
	call(&b, "PATCH", "/api/v1/nodes/n2", "{\"spec\":{\"taints\":null}}");
	settles(&b, "n2=v1 n3=v1 n4=v1", 3);
	bench_release(&b);
}

static void a_node_that_goes_takes_its_waiting_pod(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	b.idle = true;
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "");
	run_ms(&b, 500);
	assert_string_equal(brief(&b), "n1=v1?");
	call(&b, "DELETE", "/api/v1/nodes/n1", NULL);
	settles(&b, "", 0);
	bench_release(&b);
}

static void heartbeats_cost_no_sync(void **state UNUSED)
{
	struct bench b;
	uint64_t before;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2);
	run_ms(&b, 2000);
	before = b.w->api->requests;
	call(&b, "PATCH", "/api/v1/nodes/n1", "{\"status\":{\"beat\":1}}");
	call(&b, "PATCH", "/api/v1/nodes/n3", "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}");
	run_ms(&b, 500);
	assert_int_equal(b.w->api->requests, before);
	bench_release(&b);
}

/* --- updates --------------------------------------------------------------------------------- */

static void an_update_replaces_pods_one_by_one(void **state UNUSED)
{
	struct bench b;
	struct seen_pod *v;

	bench_init(&b);
	for (unsigned i = 0; i < 5; i++)
		add_node(&b, arena_printf(&b.arena, "n%u", i), "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n0=v1 n1=v1 n2=v1 n3=v1 n4=v1", 5);
	set_image(&b, "v2");
	for (unsigned i = 0; i < STEPS_MAX && !is_settled(&b, "n0=v2 n1=v2 n2=v2 n3=v2 n4=v2", 5);
	     i++) {
		size_t n, ready = 0;

		step(&b);
		n = all_pods(&b, &v);
		for (size_t k = 0; k < n; k++)
			ready += v[k].ready && !v[k].deleting;
		assert_true(ready >= 4);
	}
	settles(&b, "n0=v2 n1=v2 n2=v2 n3=v2 n4=v2", 5);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 2);
	bench_release(&b);
}

static void a_surge_keeps_every_node_served(void **state UNUSED)
{
	struct bench b;
	struct seen_pod *v;

	bench_init(&b);
	b.surge = true;
	for (unsigned i = 0; i < 4; i++)
		add_node(&b, arena_printf(&b.arena, "n%u", i), "\"gpu\":\"yes\"");
	add_set(&b, "v1", SURGE, "");
	settles(&b, "n0=v1 n1=v1 n2=v1 n3=v1", 4);
	set_image(&b, "v2");
	for (unsigned i = 0; i < STEPS_MAX && !is_settled(&b, "n0=v2 n1=v2 n2=v2 n3=v2", 4); i++) {
		size_t n, ready = 0, all = 0;

		step(&b);
		n = all_pods(&b, &v);
		for (size_t k = 0; k < n; k++) {
			ready += v[k].ready && !v[k].deleting;
			all += !v[k].deleting;
		}
		assert_in_range(ready, 4, 5);
		assert_in_range(all, 4, 5);
	}
	settles(&b, "n0=v2 n1=v2 n2=v2 n3=v2", 4);
	bench_release(&b);
}

static void a_broken_revision_stops_the_update(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2);
	b.fails = "bad";
	set_image(&b, "bad");
	run_ms(&b, 20000);
	/* The other node keeps its pod. */
	assert_non_null(strstr(brief(&b), "=v1"));
	assert_int_equal(count_of(&b, "numberAvailable"), 1);
	/* And back: the revision of before gets the highest number. */
	set_image(&b, "v1");
	settles(&b, "n1=v1 n2=v1", 2);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 2);
	bench_release(&b);
}

static void failed_pods_are_replaced_at_growing_intervals(void **state UNUSED)
{
	struct bench b;
	struct seen_pod *v;
	struct str name;
	unsigned before;

	bench_init(&b);
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	b.fails = "bad";
	add_set(&b, "bad", IN_PLACE, "");
	run_ms(&b, 10000);
	assert_int_equal(all_pods(&b, &v), 1);
	name = v[0].name;
	before = b.writes;
	/* Deletions at about 0, 1, 3, 7, 15 and 31 s: two or three in the next half minute. */
	run_ms(&b, 30000);
	assert_in_range(b.writes - before, 2, 12);
	/* Each has a name of its own, so that a wait for the end of one ends. */
	assert_int_equal(all_pods(&b, &v), 1);
	assert_false(str_eq(v[0].name, name));
	bench_release(&b);
}

static void on_delete_waits_for_the_user(void **state UNUSED)
{
	struct bench b;
	struct seen_pod *v;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2);
	call(&b, "PATCH", SETS "/d", "{\"spec\":{\"updateStrategy\":{\"type\":\"OnDelete\"}}}");
	set_image(&b, "v2");
	run_ms(&b, 1000);
	assert_string_equal(brief(&b), "n1=v1 n2=v1");
	assert_int_equal(count_of(&b, "updatedNumberScheduled"), 0);
	assert_int_equal(all_pods(&b, &v), 2);
	call(&b, "DELETE", arena_printf(&b.arena, PODS "/%.*s", STR_ARG(v[0].name)), NULL);
	run_ms(&b, 1000);
	assert_int_equal(count_of(&b, "updatedNumberScheduled"), 1);
	call(&b, "DELETE", arena_printf(&b.arena, PODS "/%.*s", STR_ARG(v[1].name)), NULL);
	settles(&b, "n1=v2 n2=v2", 2);
	bench_release(&b);
}

static void old_revisions_beyond_the_limit_are_deleted(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v0", IN_PLACE, "\"revisionHistoryLimit\":2,");
	settles(&b, "n1=v0", 1);
	for (unsigned i = 1; i < 6; i++) {
		set_image(&b, arena_printf(&b.arena, "v%u", i));
		settles(&b, arena_printf(&b.arena, "n1=v%u", i), 1);
	}
	run_ms(&b, 500);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 3);
	bench_release(&b);
}

static void min_ready_seconds_delay_availability(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "\"minReadySeconds\":10,");
	run_ms(&b, 1000);
	assert_string_equal(brief(&b), "n1=v1");
	assert_int_equal(count_of(&b, "numberReady"), 1);
	settles(&b, "n1=v1", 1);
	bench_release(&b);
}

/* --- other owners ---------------------------------------------------------------------------- */

static void pods_are_adopted_and_released(void **state UNUSED)
{
	struct bench b;
	struct seen_pod *v;

	bench_init(&b);
	add_three_nodes(&b);
	fakeapi_add(b.w->api, "pods", "n", "orphan",
		    ",\"uid\":\"u-o\",\"labels\":{\"app\":\"d\",\"controller-revision-hash\":"
		    "\"old\"}",
		    ",\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":"
		    "\"v0\"}]}");
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1 n2=v1", 2); /* adopted, then replaced as an old one */
	assert_int_equal(all_pods(&b, &v), 2);
	call(&b, "PATCH", arena_printf(&b.arena, PODS "/%.*s", STR_ARG(v[0].name)),
	     "{\"metadata\":{\"labels\":{\"app\":\"other\",\"controller-revision-hash\":null}}}");
	settles(&b, "n1=v1 n2=v1", 2);
	assert_int_equal(fakeapi_count(b.w->api, "pods"), 3);
	bench_release(&b);
}

static void a_revision_of_that_name_is_not_taken_for_ours(void **state UNUSED)
{
	struct bench b;
	const struct json *revision;
	const char *name;

	bench_init(&b);
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1", 1);
	revision = json_first(items(&b, REVISIONS));
	name = arena_strdup(&b.arena, json_text_at(json_getz(revision, "metadata"), "name"));
	bench_stop(&b);
	call(&b, "DELETE", arena_printf(&b.arena, REVISIONS "/%s", name), NULL);
	fakeapi_add(b.w->api, "controllerrevisions", "n", name, ",\"uid\":\"foreign\"",
		    ",\"data\":{\"x\":1},\"revision\":1");
	bench_start(&b);
	run_ms(&b, 2000);
	settles(&b, "n1=v1", 1);
	assert_int_equal(count_of(&b, "collisionCount"), 1);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 2);
	bench_release(&b);
}

static void two_revisions_of_one_template_are_merged(void **state UNUSED)
{
	struct bench b;
	struct json *copy, *meta;
	struct buf text = BUF_INIT(MIB);

	bench_init(&b);
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "");
	settles(&b, "n1=v1", 1);
	assert_int_equal(json_copy(&b.arena, json_first(items(&b, REVISIONS)), &copy, NULL), 0);
	meta = json_getz(copy, "metadata");
	json_put_str(&b.arena, meta, "name", STR("d-twin"));
	(void)json_remove(meta, STR("uid"));
	(void)json_remove(meta, STR("resourceVersion"));
	json_set(json_getz(meta, "labels"), DAEMON_HASH_LABEL,
		 json_make_str(&b.arena, STR("twin")));
	json_put_i64(&b.arena, copy, "revision", 5);
	(void)json_print(&text, copy, NULL);
	call(&b, "POST", REVISIONS, text.p);
	buf_release(&text);
	run_ms(&b, 1000);
	settles(&b, "n1=v1", 1);
	assert_int_equal(fakeapi_count(b.w->api, "controllerrevisions"), 1);
	assert_non_null(fakeapi_find(b.w->api, "controllerrevisions", "n", "d-twin"));
	bench_release(&b);
}

/* --- faults ---------------------------------------------------------------------------------- */

/* Nodes come and go, the template changes; at the end every node has its pod. */
static void live_through(struct bench *b, const char *rolling)
{
	add_three_nodes(b);
	add_set(b, "v1", rolling, "");
	settles(b, "n1=v1 n2=v1", 2);
	set_image(b, "v2");
	settles(b, "n1=v2 n2=v2", 2);
	add_node(b, "n4", "\"gpu\":\"yes\"");
	call(b, "PATCH", "/api/v1/nodes/n1", "{\"metadata\":{\"labels\":{\"gpu\":\"no\"}}}");
	settles(b, "n2=v2 n4=v2", 2);
}

static void at_every_write(const char *rolling, int fault, bool crash)
{
	unsigned writes = UINT32_MAX;

	for (unsigned at = 1; at <= writes; at++) {
		struct bench b;

		bench_init(&b);
		b.surge = strcmp(rolling, SURGE) == 0;
		b.fault_at = at;
		b.fault = fault;
		b.crash = crash;
		live_through(&b, rolling);
		run_ms(&b, 500);
		writes = MIN(b.writes, 40U);
		bench_release(&b);
	}
	assert_true(writes > 10);
}

static void a_fault_at_any_write_is_made_good(void **state UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, 409, 500, 403, 429 };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		at_every_write(IN_PLACE, faults[i], false);
		at_every_write(SURGE, faults[i], false);
	}
}

static void a_crash_at_any_write_is_made_good(void **state UNUSED)
{
	at_every_write(IN_PLACE, FAKEAPI_CUT, true);
	at_every_write(IN_PLACE, FAKEAPI_DO_AND_CUT, true);
	at_every_write(SURGE, FAKEAPI_DO_AND_CUT, true);
}

/*
 * A controller sent a creation, and another one took over. The creation arrives when the new one
 * has listed the pods and is about to create its own.
 */
static void a_request_that_outlives_its_controller_makes_no_second_pod(void **state UNUSED)
{
	struct bench b;
	struct buf text = BUF_INIT(MIB);
	struct json *late, *meta;
	struct seen_pod *v;

	bench_init(&b);
	b.idle = true;
	add_node(&b, "n1", "\"gpu\":\"yes\"");
	add_set(&b, "v1", IN_PLACE, "");
	run_ms(&b, 1000);
	assert_int_equal(all_pods(&b, &v), 1);
	bench_stop(&b);
	assert_int_equal(json_copy(&b.arena, v[0].tree, &late, NULL), 0);
	meta = json_getz(late, "metadata");
	(void)json_remove(meta, STR("uid"));
	(void)json_remove(meta, STR("resourceVersion"));
	(void)json_print(&text, late, NULL);
	call(&b, "DELETE", arena_printf(&b.arena, PODS "/%.*s", STR_ARG(v[0].name)), NULL);
	b.fault = FAKEAPI_HOLD;
	b.fault_at = b.writes + 1;
	bench_start(&b);
	run_ms(&b, 1000);
	assert_int_equal(fakeapi_count(b.w->api, "pods"), 0); /* it has sent its own */
	call(&b, "POST", PODS, text.p);
	fakeapi_let_go(b.w->api);
	b.idle = false;
	settles(&b, "n1=v1", 1);
	run_ms(&b, 2000);
	assert_int_equal(all_pods(&b, &v), 1);
	buf_release(&text);
	bench_release(&b);
}

static void a_late_cache_makes_no_second_pod(void **state UNUSED)
{
	static const char *const late[] = { "pods", "nodes", "daemonsets", "controllerrevisions" };

	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		struct bench b;

		bench_init(&b);
		add_three_nodes(&b);
		run_ms(&b, 200);
		add_set(&b, "v1", IN_PLACE, "");
		run_ms(&b, 60);
		fakeapi_hold_back(b.w->api, late[i]);
		set_image(&b, "v2");
		add_node(&b, "n4", "\"gpu\":\"yes\"");
		run_ms(&b, 2000);
		fakeapi_catch_up(b.w->api);
		settles(&b, "n1=v2 n2=v2 n4=v2", 3);
		bench_release(&b);
	}
}

static void a_new_list_brings_the_same(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_three_nodes(&b);
	add_set(&b, "v1", IN_PLACE, "");
	run_ms(&b, 50);
	fakeapi_forget_past(b.w->api);
	settles(&b, "n1=v1 n2=v1", 2);
	(void)sim_break_conns(b.w->sim, 1.0);
	set_image(&b, "v2");
	settles(&b, "n1=v2 n2=v2", 2);
	bench_release(&b);
}

static void nonsense_is_survived(void **state UNUSED)
{
	static const char *const specs[] = {
		"{}",
		"{\"selector\":5,\"template\":[]}",
		"{\"selector\":{\"matchLabels\":{\"app\":\"d\"}},\"template\":{\"spec\":{"
		"\"tolerations\":7,\"affinity\":{\"nodeAffinity\":{"
		"\"requiredDuringSchedulingIgnoredDuringExecution\":[]}}}},\"updateStrategy\":{"
		"\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":-5,\"maxSurge\":"
		"\"%\"}},\"minReadySeconds\":-99999999999,\"revisionHistoryLimit\":-1}",
		("{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"What\"}]},"
		 "\"template\":{\"spec\":{\"nodeName\":{}}}}"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bench b;

		bench_init(&b);
		add_node(&b, "n1", "\"gpu\":\"yes\"");
		fakeapi_add(b.w->api, "daemonsets", "n", "d", ",\"uid\":\"u-d\"",
			    arena_printf(&b.arena, ",\"spec\":%s", specs[i]));
		run_ms(&b, 1000);
		bench_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_that_fits_gets_a_pod),
		cmocka_unit_test(pods_follow_the_nodes),
		cmocka_unit_test(a_node_that_goes_takes_its_waiting_pod),
		cmocka_unit_test(heartbeats_cost_no_sync),
		cmocka_unit_test(an_update_replaces_pods_one_by_one),
		cmocka_unit_test(a_surge_keeps_every_node_served),
		cmocka_unit_test(a_broken_revision_stops_the_update),
		cmocka_unit_test(failed_pods_are_replaced_at_growing_intervals),
		cmocka_unit_test(on_delete_waits_for_the_user),
		cmocka_unit_test(old_revisions_beyond_the_limit_are_deleted),
		cmocka_unit_test(min_ready_seconds_delay_availability),
		cmocka_unit_test(pods_are_adopted_and_released),
		cmocka_unit_test(a_revision_of_that_name_is_not_taken_for_ours),
		cmocka_unit_test(two_revisions_of_one_template_are_merged),
		cmocka_unit_test(a_fault_at_any_write_is_made_good),
		cmocka_unit_test(a_crash_at_any_write_is_made_good),
		cmocka_unit_test(a_request_that_outlives_its_controller_makes_no_second_pod),
		cmocka_unit_test(a_late_cache_makes_no_second_pod),
		cmocka_unit_test(a_new_list_brings_the_same),
		cmocka_unit_test(nonsense_is_survived),
	};

	return cmocka_run_group_tests_name("controller/daemon_sets", tests, NULL, NULL);
}

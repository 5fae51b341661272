/*
 * EndpointSlices of the cluster's network against a fake API server: with faults, late caches and
 * crashes; at the end each ready pod is in exactly one slice.
 */
#include "controller/endpoint_slices/endpoint_slices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/informer.h"
#include "controller/run/controller_world.h"

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices"
#define PODS   "/api/v1/namespaces/n/pods"
#define WEB    "/api/v1/namespaces/n/services/web"

enum { STEP_MS = 50, STEPS_MAX = 2000 };

struct bench {
	struct controller_world *w;
	struct endpoint_slices *slices;
	struct arena arena;
	unsigned writes, fault_at; /* the n-th write gets the fault; 0: none */
	int fault;
	bool crash, crashed;
};

static int bench_fault(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (str_eqz(q->method, "GET") || str_find(q->path, STR("/events")) >= 0 ||
	    ++b->writes != b->fault_at)
		return FAKEAPI_WELL;
	b->crashed = b->crash;
	return b->fault;
}

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->slices = endpoint_slices_new(&b->w->ctx);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	endpoint_slices_free(TAKE(b->slices));
	controller_world_stop(b->w);
}

static void bench_init(struct bench *b)
{
	*b = (struct bench){ .w = controller_world_new(3) };
	arena_init(&b->arena, 256 * MIB);
	b->w->api->fault = bench_fault;
	b->w->api->fault_arg = b;
	fakeapi_add(b->w->api, "nodes", "", "n1",
		    ",\"labels\":{\"topology.kubernetes.io/zone\":\"z1\"}", "");
	bench_start(b);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	arena_release(&b->arena);
}

/* --- objects --------------------------------------------------------------------------------- */

static void add_service(struct bench *b, const char *more)
{
	fakeapi_add(b->w->api, "services", "n", "web", "",
		    arena_printf(&b->arena,
				 ",\"spec\":{\"selector\":{\"app\":\"web\"},\"clusterIP\":"
				 "\"10.0.0.1\",\"ipFamilies\":[\"IPv4\"],\"ports\":[{\"port\":80,"
				 "\"targetPort\":8080,\"protocol\":\"TCP\"}]%s}",
				 more));
}

static void add_pod_at(struct bench *b, const char *name, const char *node, const char *address)
{
	fakeapi_add(b->w->api, "pods", "n", name,
		    arena_printf(&b->arena, ",\"uid\":\"u-%s\",\"labels\":{\"app\":\"web\"}", name),
		    arena_printf(&b->arena,
				 ",\"spec\":{\"nodeName\":\"%s\"},\"status\":{\"phase\":"
				 "\"Running\",\"podIPs\":[{\"ip\":\"%s\"}],\"conditions\":[{"
				 "\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
				 "\"2026-01-01T00:00:00Z\"}]}",
				 node, address));
}

static void add_pod(struct bench *b, const char *name, const char *address)
{
	add_pod_at(b, name, "n1", address);
}

static void call(struct bench *b, const char *method, const char *target, const char *body)
{
	assert_in_range(
		fakeapi_call(b->w->api, method, target, body ? str_from(body) : STR_NULL, NULL),
		200, 201);
}

static void remove_pod(struct bench *b, const char *name)
{
	const char *target = arena_printf(&b->arena, PODS "/%s", name);

	call(b, "DELETE", target, NULL);
	call(b, "PATCH", target, "{\"spec\":null}");
}

/* --- the slices ------------------------------------------------------------------------------ */

static const struct json *all_slices(struct bench *b)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	struct json *list;

	assert_int_equal(fakeapi_call(b->w->api, "GET", SLICES, STR_NULL, &out), 200);
	assert_int_equal(
		json_parse(&b->arena, arena_str(&b->arena, buf_str(&out)), NULL, &list, NULL), 0);
	buf_release(&out);
	return json_getz(list, "items");
}

/* "a=10.1.0.1 b=10.1.0.2-", sorted; '-' is not ready. One slice without endpoints is "blank". */
static const char *brief(struct bench *b)
{
	struct str words[400];
	struct buf out = BUF_INIT(SIZE_MAX);
	size_t n = 0;
	const char *text;

	JSON_FOREACH (s, all_slices(b)) {
		if (json_count(json_getz(s, "endpoints")) == 0)
			words[n++] = STR("blank");
		JSON_FOREACH (e, json_getz(s, "endpoints")) {
			assert_true(n < ARRAY_SIZE(words));
			words[n++] = str_from(arena_printf(
				&b->arena, "%.*s=%.*s%s",
				STR_ARG(json_text_at(json_getz(e, "targetRef"), "name")),
				STR_ARG(json_str(json_first(json_getz(e, "addresses")))),
				json_true_at(json_getz(e, "conditions"), "ready") ? "" : "-"));
		}
	}
	if (n > 1)
		qsort(words, n, sizeof(*words), str_order);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&out, "%s%.*s", i ? " " : "", STR_ARG(words[i]));
	text = arena_strdup(&b->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

static void step(struct bench *b)
{
	controller_world_run(b->w, STEP_MS);
	if (!b->crashed)
		return;
	b->crashed = false;
	bench_stop(b);
	bench_start(b);
}

static void run_ms(struct bench *b, int64_t ms)
{
	for (int64_t at = 0; at < ms; at += STEP_MS)
		step(b);
}

static void settles(struct bench *b, const char *expected)
{
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (strcmp(brief(b), expected) == 0)
			return;
		step(b);
	}
	fail_msg("slices have \"%s\" and not \"%s\"", brief(b), expected);
}

/* --- as it should be ------------------------------------------------------------------------- */

static void slices_follow_pods(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	settles(&b, "blank");
	add_pod(&b, "a", "10.1.0.1");
	add_pod(&b, "b", "10.1.0.2");
	settles(&b, "a=10.1.0.1 b=10.1.0.2");
	assert_int_equal(fakeapi_count(b.w->api, "endpointslices"), 1);
	call(&b, "PATCH", PODS "/b",
	     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
	settles(&b, "a=10.1.0.1 b=10.1.0.2-");
	call(&b, "PATCH", PODS "/a", "{\"status\":{\"podIPs\":[{\"ip\":\"10.1.0.9\"}]}}");
	settles(&b, "a=10.1.0.9 b=10.1.0.2-");
	call(&b, "PATCH", PODS "/b", "{\"status\":{\"phase\":\"Failed\"}}");
	settles(&b, "a=10.1.0.9");
	call(&b, "DELETE", PODS "/a", NULL);
	settles(&b, "a=10.1.0.9-");
	call(&b, "PATCH", PODS "/a", "{\"spec\":null}");
	settles(&b, "blank");
	bench_release(&b);
}

static void labels_and_selectors_decide_who_belongs(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	call(&b, "PATCH", PODS "/a", "{\"metadata\":{\"labels\":{\"app\":\"db\"}}}");
	settles(&b, "blank");
	call(&b, "PATCH", WEB, "{\"spec\":{\"selector\":{\"app\":\"db\"}}}");
	settles(&b, "a=10.1.0.1");
	call(&b, "PATCH", PODS "/a", "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
	settles(&b, "blank");
	bench_release(&b);
}

static void a_slice_is_what_upstream_makes(void **state UNUSED)
{
	struct bench b;
	struct buf out = BUF_INIT(MIB);
	const struct json *slice, *endpoint;

	bench_init(&b);
	add_service(&b, ",\"trafficDistribution\":\"PreferClose\"");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	slice = json_first(all_slices(&b));
	endpoint = json_first(json_getz(slice, "endpoints"));
	(void)json_print(&out, endpoint, NULL);
	assert_string_equal(out.p,
			    "{\"addresses\":[\"10.1.0.1\"],\"conditions\":{\"ready\":true,"
			    "\"serving\":true,\"terminating\":false},\"targetRef\":{\"kind\":"
			    "\"Pod\",\"namespace\":\"n\",\"name\":\"a\",\"uid\":\"u-a\"},"
			    "\"nodeName\":\"n1\",\"zone\":\"z1\",\"hints\":{\"forZones\":[{"
			    "\"name\":\"z1\"}]}}");
	buf_clear(&out);
	(void)json_print(&out, json_getz(json_getz(slice, "metadata"), "labels"), NULL);
	assert_string_equal(out.p, "{\"kubernetes.io/service-name\":\"web\","
				   "\"endpointslice.kubernetes.io/managed-by\":"
				   "\"endpointslice-controller.k8s.io\"}");
	buf_clear(&out);
	(void)json_print(&out, json_getz(slice, "ports"), NULL);
	assert_string_equal(out.p, "[{\"name\":\"\",\"protocol\":\"TCP\",\"port\":8080}]");
	buf_release(&out);
	bench_release(&b);
}

static void a_change_has_its_time(void **state UNUSED)
{
	struct bench b;
	const struct json *notes;

	bench_init(&b);
	add_service(&b, "");
	settles(&b, "blank");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	notes = json_getz(json_getz(json_first(all_slices(&b)), "metadata"), "annotations");
	assert_true(str_eqz(
		json_str(json_get(notes, STR("endpoints.kubernetes.io/last-change-trigger-time"))),
		"2026-01-01T00:00:00Z"));
	bench_release(&b);
}

static void two_families_have_their_own_slices(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	call(&b, "PATCH", WEB, "{\"spec\":{\"ipFamilies\":[\"IPv4\",\"IPv6\"]}}");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1 blank");
	call(&b, "PATCH", PODS "/a",
	     "{\"status\":{\"podIPs\":[{\"ip\":\"10.1.0.1\"},{\"ip\":\"fd00::1\"}]}}");
	settles(&b, "a=10.1.0.1 a=fd00::1");
	call(&b, "PATCH", WEB, "{\"spec\":{\"ipFamilies\":[\"IPv6\"]}}");
	settles(&b, "a=fd00::1");
	bench_release(&b);
}

static void services_without_a_selector_are_left_alone(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	call(&b, "PATCH", WEB, "{\"spec\":{\"type\":\"ExternalName\"}}");
	fakeapi_add(b.w->api, "services", "n", "bare", "", ",\"spec\":{\"ports\":[{\"port\":80}]}");
	fakeapi_add(b.w->api, "endpointslices", "n", "theirs",
		    ",\"labels\":{\"kubernetes.io/service-name\":\"bare\"}",
		    ",\"addressType\":\"IPv4\",\"endpoints\":[]");
	run_ms(&b, 2000);
	assert_string_equal(brief(&b), "blank"); /* which is theirs */
	assert_true(fakeapi_has(b.w->api, "endpointslices", "n", "theirs", "bare"));
	bench_release(&b);
}

static void a_pod_of_an_unknown_node_waits(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	add_pod_at(&b, "a", "n9", "10.1.0.1");
	run_ms(&b, 1000);
	assert_string_equal(brief(&b), "blank");
	fakeapi_add(b.w->api, "nodes", "", "n9", "", "");
	settles(&b, "a=10.1.0.1");
	bench_release(&b);
}

static void nothing_is_written_without_a_change(void **state UNUSED)
{
	struct bench b;
	unsigned before;

	bench_init(&b);
	add_service(&b, "");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	run_ms(&b, 1000);
	before = b.writes;
	call(&b, "PATCH", PODS "/a", "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
	call(&b, "PATCH", "/api/v1/nodes/n1", "{\"status\":{\"beat\":1}}");
	bench_stop(&b);
	bench_start(&b);
	run_ms(&b, 2000);
	assert_int_equal(b.writes, before);
	bench_release(&b);
}

static void a_hundred_endpoints_fill_a_slice(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	for (unsigned i = 0; i < 250; i++)
		add_pod(&b, arena_printf(&b.arena, "p%u", i),
			arena_printf(&b.arena, "10.1.%u.%u", i / 200, i % 200 + 1));
	run_ms(&b, 5000);
	assert_int_equal(fakeapi_count(b.w->api, "endpointslices"), 3);
	bench_release(&b);
}

/* --- faults ---------------------------------------------------------------------------------- */

static void live_through(struct bench *b)
{
	add_service(b, "");
	add_pod(b, "a", "10.1.0.1");
	add_pod(b, "b", "10.1.0.2");
	settles(b, "a=10.1.0.1 b=10.1.0.2");
	remove_pod(b, "a");
	add_pod(b, "c", "10.1.0.3");
	call(b, "PATCH", WEB, "{\"spec\":{\"ports\":[{\"port\":81,\"protocol\":\"TCP\"}]}}");
	settles(b, "b=10.1.0.2 c=10.1.0.3");
	remove_pod(b, "b");
	remove_pod(b, "c");
	settles(b, "blank");
}

static void at_every_write(int fault, bool crash)
{
	unsigned writes = UINT32_MAX;

	for (unsigned at = 1; at <= writes; at++) {
		struct bench b;

		bench_init(&b);
		b.fault_at = at;
		b.fault = fault;
		b.crash = crash;
		live_through(&b);
		run_ms(&b, 1000);
		assert_string_equal(brief(&b), "blank");
		writes = b.writes;
		bench_release(&b);
	}
	assert_in_range(writes, 3, 50);
}

static void a_fault_at_any_write_is_made_good(void **state UNUSED)
{
	static const int faults[] = { FAKEAPI_CUT, FAKEAPI_DO_AND_CUT, 409, 500, 429, 403 };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		at_every_write(faults[i], false);
}

static void a_crash_at_any_write_is_made_good(void **state UNUSED)
{
	at_every_write(FAKEAPI_CUT, true);
	at_every_write(FAKEAPI_DO_AND_CUT, true);
}

static void a_late_cache_doubles_nothing(void **state UNUSED)
{
	static const char *const late[] = { "pods", "services", "endpointslices", "nodes" };

	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		struct bench b;

		bench_init(&b);
		run_ms(&b, 200);
		add_service(&b, "");
		run_ms(&b, 50);
		fakeapi_hold_back(b.w->api, late[i]);
		add_pod(&b, "a", "10.1.0.1");
		run_ms(&b, 1000);
		assert_in_range(fakeapi_count(b.w->api, "endpointslices"), 0, 1);
		fakeapi_catch_up(b.w->api);
		settles(&b, "a=10.1.0.1");
		bench_release(&b);
	}
}

static void slices_that_others_change_come_back(void **state UNUSED)
{
	struct bench b;

	bench_init(&b);
	add_service(&b, "");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	call(&b, "DELETE", SLICES, NULL);
	settles(&b, "a=10.1.0.1");
	call(&b, "PATCH",
	     arena_printf(&b.arena, SLICES "/%.*s",
			  STR_ARG(json_text_at(json_getz(json_first(all_slices(&b)), "metadata"),
					       "name"))),
	     "{\"endpoints\":[{\"addresses\":[\"1.2.3.4\"]}]}");
	settles(&b, "a=10.1.0.1");
	bench_release(&b);
}

static void a_service_of_the_same_name_gets_its_own_slices(void **state UNUSED)
{
	struct bench b;
	struct str first;

	bench_init(&b);
	add_service(&b, "");
	add_pod(&b, "a", "10.1.0.1");
	settles(&b, "a=10.1.0.1");
	first = json_text_at(json_getz(json_first(all_slices(&b)), "metadata"), "name");
	call(&b, "DELETE", WEB, NULL);
	add_service(&b, "");
	run_ms(&b, 2000);
	settles(&b, "a=10.1.0.1");
	assert_false(str_eq(
		first, json_text_at(json_getz(json_first(all_slices(&b)), "metadata"), "name")));
	bench_release(&b);
}

/* As after a crash between a creation and its reply. */
static void twins_become_one(void **state UNUSED)
{
	struct bench b;
	struct json *copy, *meta;
	struct buf text = BUF_INIT(MIB);

	bench_init(&b);
	add_service(&b, "");
	settles(&b, "blank");
	for (unsigned round = 0; round < 2; round++) {
		const char *before = brief(&b);

		assert_int_equal(json_copy(&b.arena, json_first(all_slices(&b)), &copy, NULL), 0);
		meta = json_getz(copy, "metadata");
		json_put_str(&b.arena, meta, "name", STR("twin"));
		(void)json_remove(meta, STR("uid"));
		(void)json_remove(meta, STR("resourceVersion"));
		buf_clear(&text);
		(void)json_print(&text, copy, NULL);
		call(&b, "POST", SLICES, text.p);
		settles(&b, before);
		assert_int_equal(fakeapi_count(b.w->api, "endpointslices"), 1);
		add_pod(&b, "a", "10.1.0.1");
		settles(&b, "a=10.1.0.1");
		if (fakeapi_find(b.w->api, "endpointslices", "n", "twin"))
			break;
	}
	buf_release(&text);
	bench_release(&b);
}

static void nonsense_is_survived(void **state UNUSED)
{
	static const char *const specs[] = {
		"5",
		"{\"selector\":[1,2],\"ports\":7}",
		"{\"selector\":{\"app\":5},\"ports\":[{\"port\":-1},{\"port\":\"x\"},7]}",
		"{\"selector\":{\"app\":\"web\"},\"ipFamilies\":[\"IPv9\",5],\"ports\":{}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bench b;

		bench_init(&b);
		fakeapi_add(b.w->api, "services", "n", "web", "",
			    arena_printf(&b.arena, ",\"spec\":%s", specs[i]));
		add_pod(&b, "a", "10.1.0.1");
		fakeapi_add(b.w->api, "pods", "n", "bad", ",\"labels\":{\"app\":\"web\"}",
			    ",\"status\":{\"podIPs\":[5,{\"ip\":\"x\"},{\"ip\":\"fe80::1\"}],"
			    "\"conditions\":{}}");
		run_ms(&b, 500);
		bench_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_follow_pods),
		cmocka_unit_test(labels_and_selectors_decide_who_belongs),
		cmocka_unit_test(a_slice_is_what_upstream_makes),
		cmocka_unit_test(a_change_has_its_time),
		cmocka_unit_test(two_families_have_their_own_slices),
		cmocka_unit_test(services_without_a_selector_are_left_alone),
		cmocka_unit_test(a_pod_of_an_unknown_node_waits),
		cmocka_unit_test(nothing_is_written_without_a_change),
		cmocka_unit_test(a_hundred_endpoints_fill_a_slice),
		cmocka_unit_test(a_fault_at_any_write_is_made_good),
		cmocka_unit_test(a_crash_at_any_write_is_made_good),
		cmocka_unit_test(a_late_cache_doubles_nothing),
		cmocka_unit_test(slices_that_others_change_come_back),
		cmocka_unit_test(a_service_of_the_same_name_gets_its_own_slices),
		cmocka_unit_test(twins_become_one),
		cmocka_unit_test(nonsense_is_survived),
	};

	return cmocka_run_group_tests_name("controller/endpoint_slices", tests, NULL, NULL);
}

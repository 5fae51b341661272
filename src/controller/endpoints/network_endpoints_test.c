/*
 * EndpointSlices from the status of pods' claims (KEP-4817), against a fake API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/endpoints/network_endpoints.h"
#include "controller/run/controller_world.h"

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices"
#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims"

struct bench {
	struct controller_world *w;
	struct network_endpoints *endpoints;
};

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->endpoints = network_endpoints_new(&b->w->ctx);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	network_endpoints_free(TAKE(b->endpoints));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct bench *b)
{
	controller_world_run(b->w, 3000);
}

static void add_service_as(struct bench *b, const char *name, const char *annotations,
			   const char *selector)
{
	char meta[256], rest[256];

	(void)snprintf(meta, sizeof(meta), ",\"annotations\":{%s}", annotations);
	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"clusterIP\":\"None\",%s\"ports\":[{\"port\":80,\"protocol\":"
		       "\"TCP\"}]}",
		       selector);
	fakeapi_add(b->w->api, "services", "n", name, meta, rest);
}

static void add_service(struct bench *b, const char *name)
{
	add_service_as(b, name, "\"devplane.dev/network\":\"blue\"",
		       "\"selector\":{\"app\":\"web\"},");
}

/* A ready pod, and its claim with an address. */
static void add_pod(struct bench *b, const char *name, const char *address)
{
	char meta[128], rest[512];

	(void)snprintf(meta, sizeof(meta), ",\"uid\":\"u-%s\",\"labels\":{\"app\":\"web\"}", name);
	(void)snprintf(rest, sizeof(rest),
		       ",\"spec\":{\"nodeName\":\"n1\",\"resourceClaims\":[{\"name\":\"blue\","
		       "\"resourceClaimName\":\"c-%s\"}]},\"status\":{\"phase\":\"Running\","
		       "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}",
		       name);
	fakeapi_add(b->w->api, "pods", "n", name, meta, rest);
	(void)snprintf(meta, sizeof(meta), "c-%s", name);
	(void)snprintf(rest, sizeof(rest),
		       ",\"status\":{\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"%s\","
		       "\"uid\":\"u-%s\"}],\"devices\":[{\"driver\":\"d\",\"pool\":\"p\","
		       "\"device\":\"x\",\"networkData\":{\"ips\":[\"%s/8\"]}}]}",
		       name, name, address);
	fakeapi_add(b->w->api, "resourceclaims", "n", meta, "", rest);
}

static void patch(struct bench *b, const char *target, const char *change)
{
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", target, str_from(change), NULL), 200);
}

static void set_address(struct bench *b, const char *pod, const char *address)
{
	char target[128], change[256];

	(void)snprintf(target, sizeof(target), CLAIMS "/c-%s/status", pod);
	(void)snprintf(change, sizeof(change),
		       "{\"status\":{\"devices\":[{\"driver\":\"d\",\"pool\":\"p\",\"device\":"
		       "\"x\",\"networkData\":{\"ips\":[\"%s/8\"]}}]}}",
		       address);
	patch(b, target, change);
}

/* Deletes the pod, and ends it as its node would. */
static void remove_pod(struct bench *b, const char *name)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/n/pods/%s", name);
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
	run(b);
	patch(b, target, "{\"spec\":null}");
	assert_null(fakeapi_find(b->w->api, "pods", "n", name));
}

/* How often a text occurs in all slices of the namespace. */
static size_t count_in_slices(struct bench *b, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX);
	size_t n = 0;

	assert_int_equal(fakeapi_call(b->w->api, "GET", SLICES, STR_NULL, &out), 200);
	for (const char *at = out.p; (at = strstr(at, text)); at++)
		n++;
	buf_release(&out);
	return n;
}

static size_t count_slices(struct bench *b)
{
	return fakeapi_count(b->w->api, "endpointslices");
}

/* --- as it should be ------------------------------------------------------------------------- */

static void slices_follow_addresses_readiness_and_pods(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };

	add_service(&b, "web");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"addresses\":[\"10.9.0.1\"]"), 1);
	add_pod(&b, "b", "10.9.0.2");
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"ready\":true"), 2);
	set_address(&b, "a", "10.9.0.7");
	run(&b);
	assert_int_equal(count_in_slices(&b, "\"addresses\":[\"10.9.0.1\"]"), 0);
	assert_int_equal(count_in_slices(&b, "\"addresses\":[\"10.9.0.7\"]"), 1);
	patch(&b, "/api/v1/namespaces/n/pods/b",
	      "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}}");
	run(&b);
	assert_int_equal(count_in_slices(&b, "\"ready\":true"), 1);
	remove_pod(&b, "b");
	run(&b);
	assert_int_equal(count_in_slices(&b, "\"addresses\""), 1);
	set_address(&b, "a", "fd00::1");
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"addressType\":\"IPv6\""), 1);
	bench_release(&b);
}

static void a_pod_that_ends_is_told_as_terminating(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };

	add_service(&b, "web");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	(void)fakeapi_call(b.w->api, "DELETE", "/api/v1/namespaces/n/pods/a", STR_NULL, NULL);
	run(&b);
	assert_int_equal(
		count_in_slices(&b, "\"ready\":false,\"serving\":true,\"terminating\":true"), 1);
	bench_release(&b);
}

static void labels_decide_who_belongs(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	add_service(&b, "web");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	patch(&b, "/api/v1/namespaces/n/pods/a", "{\"metadata\":{\"labels\":{\"app\":\"other\"}}}");
	run(&b);
	assert_int_equal(count_slices(&b), 0);
	patch(&b, "/api/v1/namespaces/n/pods/a", "{\"metadata\":{\"labels\":{\"app\":\"web\"}}}");
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	bench_release(&b);
}

static void slices_go_with_the_service_or_its_annotation(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	add_service(&b, "web");
	add_service(&b, "also");
	add_service(&b, "later");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_slices(&b), 3);
	(void)fakeapi_call(b.w->api, "DELETE", "/api/v1/namespaces/n/services/web", STR_NULL, NULL);
	patch(&b, "/api/v1/namespaces/n/services/also", "{\"metadata\":{\"annotations\":null}}");
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"kubernetes.io/service-name\":\"later\""), 1);
	/* The same while the controller is down. */
	bench_stop(&b);
	patch(&b, "/api/v1/namespaces/n/services/later", "{\"metadata\":{\"annotations\":null}}");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_slices(&b), 0);
	bench_release(&b);
}

static void slices_that_others_change_or_delete_come_back(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };
	char target[160];

	add_service(&b, "web");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	(void)fakeapi_call(b.w->api, "DELETE", SLICES, STR_NULL, NULL);
	run(&b);
	assert_int_equal(count_in_slices(&b, "\"addresses\":[\"10.9.0.1\"]"), 1);
	(void)snprintf(target, sizeof(target), SLICES "/%s",
		       fakeapi_name_at(b.w->api, "endpointslices", 0));
	patch(&b, target, "{\"endpoints\":[{\"addresses\":[\"1.2.3.4\"]}]}");
	run(&b);
	assert_int_equal(count_in_slices(&b, "\"addresses\":[\"10.9.0.1\"]"), 1);
	assert_int_equal(count_in_slices(&b, "1.2.3.4"), 0);
	bench_release(&b);
}

static void slices_of_others_are_left_alone(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };

	add_service(&b, "web");
	fakeapi_add(b.w->api, "endpointslices", "n", "theirs",
		    ",\"labels\":{\"kubernetes.io/service-name\":\"web\","
		    "\"endpointslice.kubernetes.io/managed-by\":\"somebody\"}",
		    ",\"addressType\":\"IPv4\",\"endpoints\":[]");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	(void)fakeapi_call(b.w->api, "DELETE", "/api/v1/namespaces/n/services/web", STR_NULL, NULL);
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	assert_non_null(fakeapi_find(b.w->api, "endpointslices", "n", "theirs"));
	bench_release(&b);
}

/* --- as little as possible ------------------------------------------------------------------- */

static void a_change_without_effect_causes_no_write(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7) };
	uint64_t writes;

	add_service(&b, "web");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	writes = b.w->api->writes;
	patch(&b, "/api/v1/namespaces/n/pods/a", "{\"status\":{\"startTime\":\"x\"}}");
	patch(&b, CLAIMS "/c-a", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
	patch(&b, "/api/v1/namespaces/n/services/web",
	      "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
	add_service_as(&b, "plain", "", "\"selector\":{\"app\":\"web\"},");
	fakeapi_add(b.w->api, "pods", "other", "a", ",\"labels\":{\"app\":\"web\"}", "");
	run(&b);
	bench_stop(&b);
	bench_start(&b);
	run(&b);
	assert_int_equal(b.w->api->writes, writes);
	bench_release(&b);
}

static void many_pods_at_once_make_full_slices(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(8) };

	add_service(&b, "web");
	bench_start(&b);
	run(&b);
	for (int i = 0; i < 250; i++) {
		char name[16], address[32];

		(void)snprintf(name, sizeof(name), "p%03d", i);
		(void)snprintf(address, sizeof(address), "10.9.1.%d", i + 1);
		add_pod(&b, name, address);
	}
	run(&b);
	assert_int_equal(count_slices(&b), 3);
	assert_int_equal(count_in_slices(&b, "\"addresses\""), 250);
	bench_release(&b);
}

/* --- as it should not be --------------------------------------------------------------------- */

static void a_bad_annotation_is_told_and_leaves_slices_alone(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(9) };
	struct buf out = BUF_INIT(SIZE_MAX);

	add_service_as(&b, "web",
		       "\"devplane.dev/network\":\"blue\",\"devplane.dev/network-selector\":"
		       "\"app=web\"",
		       "");
	add_pod(&b, "a", "10.9.0.1");
	bench_start(&b);
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	patch(&b, "/api/v1/namespaces/n/services/web",
	      "{\"metadata\":{\"annotations\":{\"devplane.dev/network-selector\":\"app in (\"}}}");
	run(&b);
	assert_int_equal(count_slices(&b), 1);
	(void)fakeapi_call(b.w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	if (!strstr(out.p, "\"reason\":\"InvalidNetworkAnnotation\""))
		fail_msg("no such event in %s", out.p);
	/* Without any selector it has no pods. */
	patch(&b, "/api/v1/namespaces/n/services/web",
	      "{\"metadata\":{\"annotations\":{\"devplane.dev/network-selector\":null}}}");
	run(&b);
	assert_int_equal(count_slices(&b), 0);
	(void)fakeapi_call(b.w->api, "GET", "/api/v1/namespaces/n/events", STR_NULL, &out);
	if (!strstr(out.p, "\"reason\":\"NoNetworkSelector\""))
		fail_msg("no such event in %s", out.p);
	buf_release(&out);
	bench_release(&b);
}

/* Whether every pod's address occurs once, and nothing else. */
static void assert_right(struct bench *b, size_t n)
{
	assert_int_equal(count_in_slices(b, "\"addresses\""), n);
	for (size_t i = 0; i < n; i++) {
		char text[48];

		(void)snprintf(text, sizeof(text), "\"addresses\":[\"10.9.2.%zu\"]", i + 1);
		assert_int_equal(count_in_slices(b, text), 1);
	}
}

/* The i-th pod in the first network, or in the second. */
static void numbered(int i, int network, char name[static 16], char address[static 32])
{
	(void)snprintf(name, 16, "p%02d", i);
	(void)snprintf(address, 32, "10.9.%d.%d", network, i + 1);
}

/* Addresses change one by one, while connections break and the controller restarts. */
static void change_all(struct bench *b, int pods)
{
	char name[16], address[32];

	for (int i = 0; i < pods; i++) {
		numbered(i, 2, name, address);
		set_address(b, name, address);
		controller_world_run(b->w, 20);
		if (i % 4 == 0)
			(void)sim_break_conns(b->w->sim, 0.8);
		if (i != pods / 2)
			continue;
		bench_stop(b);
		bench_start(b);
	}
}

static void it_comes_right_whatever_fails(void **state UNUSED)
{
	enum { PODS = 12 };
	char name[16], address[32];

	for (uint64_t seed = 1; seed <= 15; seed++) {
		struct bench b = { .w = controller_world_new(seed) };

		add_service(&b, "web");
		for (int i = 0; i < PODS; i++) {
			numbered(i, 1, name, address);
			add_pod(&b, name, address);
		}
		bench_start(&b);
		b.w->api->fail = 0.3;
		change_all(&b, PODS);
		fakeapi_forget_past(b.w->api);
		b.w->api->fail = 0;
		controller_world_run(b.w, 60000);
		assert_right(&b, PODS);
		assert_int_equal(count_slices(&b), 1);
		bench_release(&b);
	}
}

static size_t count_created(struct bench *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->w->api->log.n; i++) {
		const struct fakeapi_event *e = &b->w->api->log.v[i];

		n += strcmp(e->kind->resource, "endpointslices") == 0 &&
		     strcmp(e->type, "ADDED") == 0;
	}
	return n;
}

static void a_slice_that_the_watch_has_not_shown_is_not_created_again(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(10) };

	add_service(&b, "web");
	bench_start(&b);
	run(&b);
	fakeapi_hold_back(b.w->api, "endpointslices");
	add_pod(&b, "a", "10.9.0.1");
	run(&b);
	add_pod(&b, "b", "10.9.0.2");
	run(&b);
	assert_int_equal(count_created(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"addresses\""), 1);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_int_equal(count_created(&b), 1);
	assert_int_equal(count_in_slices(&b, "\"addresses\""), 2);
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_follow_addresses_readiness_and_pods),
		cmocka_unit_test(a_pod_that_ends_is_told_as_terminating),
		cmocka_unit_test(labels_decide_who_belongs),
		cmocka_unit_test(slices_go_with_the_service_or_its_annotation),
		cmocka_unit_test(slices_that_others_change_or_delete_come_back),
		cmocka_unit_test(slices_of_others_are_left_alone),
		cmocka_unit_test(a_change_without_effect_causes_no_write),
		cmocka_unit_test(many_pods_at_once_make_full_slices),
		cmocka_unit_test(a_bad_annotation_is_told_and_leaves_slices_alone),
		cmocka_unit_test(it_comes_right_whatever_fails),
		cmocka_unit_test(a_slice_that_the_watch_has_not_shown_is_not_created_again),
	};

	return cmocka_run_group_tests_name("controller/network_endpoints", tests, NULL, NULL);
}

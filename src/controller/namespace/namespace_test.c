/*
 * Deletion of namespaces, and the objects that every namespace gets, against a fake API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "client/informer/informer.h"
#include "controller/accounts/root_ca.h"
#include "controller/accounts/service_account.h"
#include "controller/namespace/content.h"
#include "controller/namespace/namespace.h"
#include "controller/namespace/status.h"
#include "controller/run/controller_world.h"
#include "controller/shared/per_namespace.h"

struct bench {
	struct controller_world *w;
	struct namespaces *namespaces;
	struct per_namespace *accounts, *cas;
	struct str ca;
};

static void bench_start(struct bench *b)
{
	controller_world_start(b->w);
	b->namespaces = namespaces_new(&b->w->ctx, &(struct namespaces_opts){ .delay_ms = -1 });
	informers_start(b->w->ctx.informers);
}

static void bench_start_makers(struct bench *b)
{
	controller_world_start(b->w);
	b->ca = STR("CA");
	b->accounts = service_account_new(&b->w->ctx);
	b->cas = root_ca_new(&b->w->ctx, &b->ca);
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	namespaces_free(TAKE(b->namespaces));
	per_namespace_free(TAKE(b->accounts));
	per_namespace_free(TAKE(b->cas));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void add_namespace(struct bench *b, const char *name)
{
	fakeapi_add(
		b->w->api, "namespaces", "", name, "",
		",\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}");
}

static void delete_namespace(struct bench *b, const char *name)
{
	char target[64];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/%s", name);
	assert_int_equal(fakeapi_call(b->w->api, "DELETE", target, STR_NULL, NULL), 200);
}

static bool is_there(struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "namespaces", "", name) != NULL;
}

static void assert_told(struct bench *b, const char *name, const char *text)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "namespaces", "", name);

	assert_non_null(o);
	if (!strstr(o->text, text))
		fail_msg("no %s in %s", text, o->text);
}

/* --- deletion -------------------------------------------------------------------------------- */

static void a_deleted_namespace_is_emptied_and_goes(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };

	bench_start(&b);
	add_namespace(&b, "gone");
	add_namespace(&b, "stays");
	fakeapi_add(b.w->api, "configmaps", "gone", "a", "", "");
	fakeapi_add(b.w->api, "configmaps", "stays", "a", "", "");
	fakeapi_add(b.w->api, "secrets", "gone", "s1", "", "");
	fakeapi_add(b.w->api, "secrets", "gone", "s2", "", "");
	fakeapi_add(b.w->api, "widgets", "gone", "w", "", "");
	controller_world_run(b.w, 3000);
	delete_namespace(&b, "gone");
	controller_world_run(b.w, 3000);
	assert_false(is_there(&b, "gone"));
	assert_true(is_there(&b, "stays"));
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 1);
	assert_int_equal(fakeapi_count(b.w->api, "secrets"), 0);
	assert_int_equal(fakeapi_count(b.w->api, "widgets"), 0);
	bench_release(&b);
}

static void a_finalizer_in_it_holds_it_and_is_told(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };

	bench_start(&b);
	add_namespace(&b, "n");
	fakeapi_add(b.w->api, "widgets", "n", "w", ",\"finalizers\":[\"x/hold\"]", "");
	fakeapi_add(b.w->api, "widgets", "n", "v", ",\"finalizers\":[\"x/hold\",\"y\"]", "");
	fakeapi_add(b.w->api, "configmaps", "n", "a", "", "");
	delete_namespace(&b, "n");
	controller_world_run(b.w, 60000);
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 0);
	assert_told(&b, "n", "\"phase\":\"Terminating\"");
	assert_told(&b, "n", "\"type\":\"NamespaceContentRemaining\",\"status\":\"True\"");
	assert_told(
		&b, "n",
		"\"reason\":\"SomeResourcesRemain\",\"message\":\"Some resources are remaining: "
		"widgets.example.com has 2 resource instances\"");
	assert_told(
		&b, "n",
		"\"message\":\"Some content in the namespace has finalizers remaining: x/hold in "
		"2 resource instances, y in 1 resource instances\"");
	assert_told(&b, "n", "\"type\":\"NamespaceDeletionDiscoveryFailure\",\"status\":\"False\"");
	(void)fakeapi_call(b.w->api, "PATCH", "/apis/example.com/v1/namespaces/n/widgets/w",
			   STR("{\"metadata\":{\"finalizers\":[]}}"), NULL);
	(void)fakeapi_call(b.w->api, "PATCH", "/apis/example.com/v1/namespaces/n/widgets/v",
			   STR("{\"metadata\":{\"finalizers\":[]}}"), NULL);
	controller_world_run(b.w, 20000);
	assert_false(is_there(&b, "n"));
	bench_release(&b);
}

static void pods_go_before_what_they_use(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	bench_start(&b);
	add_namespace(&b, "n");
	fakeapi_add(b.w->api, "configmaps", "n", "used", "", "");
	fakeapi_add(b.w->api, "pods", "n", "p", "",
		    ",\"spec\":{\"nodeName\":\"x\",\"terminationGracePeriodSeconds\":30}");
	delete_namespace(&b, "n");
	controller_world_run(b.w, 20000);
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 1);
	assert_told(&b, "n", "pods. has 1 resource instances");
	/* Its node has ended it. */
	(void)fakeapi_call(b.w->api, "PATCH", "/api/v1/namespaces/n/pods/p", STR("{\"spec\":null}"),
			   NULL);
	controller_world_run(b.w, 40000);
	assert_false(is_there(&b, "n"));
	assert_int_equal(fakeapi_count(b.w->api, "configmaps"), 0);
	bench_release(&b);
}

static void finalizers_of_others_on_the_namespace_are_left_alone(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	bench_start(&b);
	fakeapi_add(b.w->api, "namespaces", "", "n", "",
		    ",\"spec\":{\"finalizers\":[\"kubernetes\",\"example.com/mine\"]}");
	delete_namespace(&b, "n");
	controller_world_run(b.w, 20000);
	assert_told(&b, "n", "\"finalizers\":[\"example.com/mine\"]");
	bench_release(&b);
}

static void one_that_is_emptied_while_everything_fails_is_emptied_all_the_same(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct bench b = { .w = controller_world_new(seed) };

		add_namespace(&b, "n");
		add_namespace(&b, "m");
		for (int i = 0; i < 30; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "o%d", i);
			fakeapi_add(b.w->api, i % 2 ? "secrets" : "configmaps", i % 3 ? "n" : "m",
				    name, "", "");
		}
		bench_start(&b);
		delete_namespace(&b, "n");
		delete_namespace(&b, "m");
		b.w->api->fail = 0.2;
		controller_world_run(b.w, 300);
		(void)sim_break_conns(b.w->sim, 0.8);
		controller_world_run(b.w, 300);
		bench_stop(&b);
		bench_start(&b);
		controller_world_run(b.w, 300);
		fakeapi_forget_past(b.w->api);
		b.w->api->fail = 0;
		controller_world_run(b.w, 200000);
		assert_false(is_there(&b, "n"));
		assert_false(is_there(&b, "m"));
		assert_int_equal(fakeapi_count(b.w->api, "secrets"), 0);
		bench_release(&b);
	}
}

static void grace_is_the_longest_of_those_that_run(void **state UNUSED)
{
	struct arena a;
	struct json *pods;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(
		json_parse(
			&a,
			STR("[{\"spec\":{\"terminationGracePeriodSeconds\":30}},"
			    "{\"spec\":{\"terminationGracePeriodSeconds\":90},\"status\":{"
			    "\"phase\":"
			    "\"Failed\"}},{\"spec\":{\"terminationGracePeriodSeconds\":60}},{}]"),
			NULL, &pods, NULL),
		0);
	assert_int_equal(namespace_content_grace(pods, 0), 60);
	assert_int_equal(namespace_content_grace(pods, 70), 70);
	arena_release(&a);
}

static void conditions_that_did_not_change_are_not_written(void **state UNUSED)
{
	struct arena a;
	struct namespace_status s;
	struct json *ns;
	const struct json *c;

	arena_init(&a, SIZE_MAX);
	ns = json_make_object(&a);
	namespace_status_init(&s, &a);
	namespace_status_content_failed(&s, "b failed");
	namespace_status_content_failed(&s, "a failed");
	assert_true(namespace_status_apply(&s, ns, 5 * CLOCK_SEC));
	assert_false(namespace_status_apply(&s, ns, 6 * CLOCK_SEC));
	c = json_at(json_getz(json_getz(ns, "status"), "conditions"), 2);
	assert_true(
		str_eqz(json_text_at(c, "message"),
			"Failed to delete all resource types, 2 remaining: a failed, b failed"));
	assert_true(str_eqz(json_text_at(c, "lastTransitionTime"), "1970-01-01T00:00:05Z"));
	namespace_status_release(&s);
	namespace_status_init(&s, &a);
	assert_true(namespace_status_apply(&s, ns, 7 * CLOCK_SEC));
	assert_true(str_eqz(json_text_at(c, "reason"), "ContentDeleted"));
	assert_true(str_eqz(json_text_at(c, "lastTransitionTime"), "1970-01-01T00:00:07Z"));
	namespace_status_release(&s);
	arena_release(&a);
}

/* --- objects of every namespace -------------------------------------------------------------- */

static void every_active_namespace_gets_its_account_and_ca(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };

	add_namespace(&b, "early");
	bench_start_makers(&b);
	controller_world_run(b.w, 3000);
	add_namespace(&b, "late");
	controller_world_run(b.w, 3000);
	assert_int_equal(fakeapi_count(b.w->api, "serviceaccounts"), 2);
	assert_true(fakeapi_has(b.w->api, "configmaps", "late", "kube-root-ca.crt",
				"\"data\":{\"ca.crt\":\"CA\"}"));
	assert_true(fakeapi_has(b.w->api, "configmaps", "early", "kube-root-ca.crt",
				"\"kubernetes.io/description\":\"Contains a CA bundle"));
	bench_release(&b);
}

static void they_come_back_when_they_are_deleted_or_changed(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };

	add_namespace(&b, "n");
	bench_start_makers(&b);
	controller_world_run(b.w, 3000);
	(void)fakeapi_call(b.w->api, "DELETE", "/api/v1/namespaces/n/serviceaccounts/default",
			   STR_NULL, NULL);
	(void)fakeapi_call(b.w->api, "PATCH", "/api/v1/namespaces/n/configmaps/kube-root-ca.crt",
			   STR("{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"data\":{\"x\":\"y\"}}"),
			   NULL);
	controller_world_run(b.w, 3000);
	assert_non_null(fakeapi_find(b.w->api, "serviceaccounts", "n", "default"));
	assert_true(fakeapi_has(b.w->api, "configmaps", "n", "kube-root-ca.crt",
				"\"data\":{\"ca.crt\":\"CA\"}"));
	assert_true(fakeapi_has(b.w->api, "configmaps", "n", "kube-root-ca.crt",
				"\"labels\":{\"a\":\"b\"}"));
	bench_release(&b);
}

static void a_namespace_on_its_way_out_gets_nothing(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7) };
	uint64_t writes;

	add_namespace(&b, "n");
	delete_namespace(&b, "n");
	bench_start_makers(&b);
	controller_world_run(b.w, 60000);
	writes = b.w->api->writes;
	assert_int_equal(fakeapi_count(b.w->api, "serviceaccounts"), 0);
	assert_int_equal(writes, 0);
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deleted_namespace_is_emptied_and_goes),
		cmocka_unit_test(a_finalizer_in_it_holds_it_and_is_told),
		cmocka_unit_test(pods_go_before_what_they_use),
		cmocka_unit_test(finalizers_of_others_on_the_namespace_are_left_alone),
		cmocka_unit_test(
			one_that_is_emptied_while_everything_fails_is_emptied_all_the_same),
		cmocka_unit_test(grace_is_the_longest_of_those_that_run),
		cmocka_unit_test(conditions_that_did_not_change_are_not_written),
		cmocka_unit_test(every_active_namespace_gets_its_account_and_ca),
		cmocka_unit_test(they_come_back_when_they_are_deleted_or_changed),
		cmocka_unit_test(a_namespace_on_its_way_out_gets_nothing),
	};

	return cmocka_run_group_tests_name("controller/namespace", tests, NULL, NULL);
}

/*
 * Quotas at the server: rejections have the exact text of kube-apiserver, concurrent charges add
 * up, and nothing is charged if nothing is created.
 */
#include "server/plugins/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/quota/quota.h"
#include "net/sim/sim.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define QUOTAS "/api/v1/namespaces/default/resourcequotas"
#define PODS   "/api/v1/namespaces/default/pods"
#define MAPS   "/api/v1/namespaces/default/configmaps"
#define MERGE  "application/merge-patch+json"

/* A quota with the usage that the controller counted. */
static void quota(struct verb_world *w, const char *name, const char *spec, const char *hard,
		  const char *used)
{
	const char *body = arena_printf(
		&w->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"hard\":{%s}%s}}", name,
		hard, spec);

	(void)verb_world_call(w, "POST", QUOTAS, body, 201);
	if (!used)
		return;
	body = arena_printf(&w->arena, "{\"status\":{\"hard\":{%s},\"used\":{%s}}}", hard, used);
	(void)verb_world_patch(w, arena_printf(&w->arena, QUOTAS "/%s/status", name), MERGE, body,
			       200);
}

static void assert_used(struct verb_world *w, const char *name, const char *want)
{
	struct json *got, *tree;

	got = verb_world_call(w, "GET", arena_printf(&w->arena, QUOTAS "/%s", name), NULL, 200);
	assert_int_equal(json_parse(&w->arena, str_from(want), NULL, &tree, NULL), 0);
	got = json_getz(json_getz(got, "status"), "used");
	if (!json_equal(got, tree)) {
		struct buf b = BUF_INIT(65536);

		(void)json_print(&b, got, NULL);
		fail_msg("used %s, not %s", b.p, want);
	}
}

static const char *pod(struct verb_world *w, const char *name, const char *resources)
{
	return arena_printf(&w->arena,
			    "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"containers\":[{\"name\":"
			    "\"c\",\"image\":\"i\",\"resources\":{%s}}]}}",
			    name, resources);
}

static void refused(struct verb_world *w, const char *path, const char *body, const char *message)
{
	struct json *got = verb_world_call(w, "POST", path, body, 403);

	assert_string_equal(verb_world_text(w, got, "/reason"), "Forbidden");
	assert_string_equal(verb_world_text(w, got, "/message"), message);
}

#define SMALL "\"requests\":{\"cpu\":\"600m\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1\"}"

static void a_pod_is_charged_and_refused_when_it_exceeds(void **state)
{
	struct verb_world *w = *state;

	quota(w, "q", "", "\"pods\":\"3\",\"requests.cpu\":\"1\",\"limits.memory\":\"4Gi\"",
	      "\"pods\":\"0\",\"requests.cpu\":\"0\"");
	refused(w, PODS, pod(w, "p", ""),
		"pods \"p\" is forbidden: failed quota: q: must specify limits.memory for: c; "
		"requests.cpu for: c");
	(void)verb_world_call(w, "DELETE", QUOTAS "/q", NULL, 200);
	quota(w, "q", "", "\"pods\":\"3\",\"requests.cpu\":\"1\"", "\"pods\":\"0\"");
	refused(w, PODS, pod(w, "p", SMALL),
		"pods \"p\" is forbidden: status unknown for quota: q, resources: "
		"pods,requests.cpu");
	(void)verb_world_call(w, "DELETE", QUOTAS "/q", NULL, 200);
	quota(w, "q", "", "\"pods\":\"3\",\"requests.cpu\":\"1\"",
	      "\"pods\":\"0\",\"requests.cpu\":\"0\"");
	(void)verb_world_call(w, "POST", PODS, pod(w, "a", SMALL), 201);
	assert_used(w, "q", "{\"pods\":\"1\",\"requests.cpu\":\"600m\"}");
	refused(w, PODS, pod(w, "b", SMALL),
		"pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: "
		"requests.cpu=600m, limited: requests.cpu=1");
	(void)verb_world_call(w, "POST", PODS "?dryRun=All",
			      pod(w, "c", "\"requests\":{\"cpu\":\"400m\"}"), 201);
	assert_used(w, "q", "{\"pods\":\"1\",\"requests.cpu\":\"600m\"}");
	(void)verb_world_call(w, "POST", PODS, pod(w, "a", SMALL), 409);
	assert_used(w, "q", "{\"pods\":\"1\",\"requests.cpu\":\"600m\"}");
}

static void a_quota_that_was_not_counted_yet_limits_nothing(void **state)
{
	struct verb_world *w = *state;

	quota(w, "q", "", "\"pods\":\"0\",\"configmaps\":\"0\"", NULL);
	(void)verb_world_call(w, "POST", PODS, pod(w, "a", ""), 201);
	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"m\"}}", 201);
}

static void objects_are_counted_by_both_their_names(void **state)
{
	struct verb_world *w = *state;

	quota(w, "q", "", "\"count/configmaps\":\"2\",\"configmaps\":\"5\",\"secrets\":\"0\"",
	      "\"count/configmaps\":\"0\",\"configmaps\":\"0\",\"secrets\":\"0\"");
	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"m1\"}}", 201);
	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"m2\"}}", 201);
	refused(w, MAPS, "{\"metadata\":{\"name\":\"m3\"}}",
		"configmaps \"m3\" is forbidden: exceeded quota: q, requested: "
		"count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2");
	assert_used(w, "q", "{\"count/configmaps\":\"2\",\"configmaps\":\"2\",\"secrets\":\"0\"}");
	/* An update uses nothing more. */
	(void)verb_world_patch(w, MAPS "/m1", MERGE, "{\"data\":{\"a\":\"b\"}}", 200);
}

static void an_update_is_charged_with_the_difference(void **state)
{
	struct verb_world *w = *state;
	const char services[] = "/api/v1/namespaces/default/services";
	const char *body = "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"ports\":[{\"port\":80}]}}";

	quota(w, "q", "", "\"services\":\"1\",\"services.nodeports\":\"0\"",
	      "\"services\":\"0\",\"services.nodeports\":\"0\"");
	quota(w, "r", "", "\"services.nodeports\":\"5\"", "\"services.nodeports\":\"2\"");
	(void)verb_world_call(w, "POST", "/apis/networking.k8s.io/v1/servicecidrs",
			      "{\"metadata\":{\"name\":\"kubernetes\"},\"spec\":{\"cidrs\":["
			      "\"10.0.0.0/24\"]}}",
			      201);
	(void)verb_world_call(w, "POST", services, body, 201);
	assert_used(w, "q", "{\"services\":\"1\",\"services.nodeports\":\"0\"}");
	(void)verb_world_patch(w, "/api/v1/namespaces/default/services/s", MERGE,
			       "{\"spec\":{\"type\":\"NodePort\"}}", 403);
	(void)verb_world_call(w, "DELETE", QUOTAS "/q", NULL, 200);
	(void)verb_world_patch(w, "/api/v1/namespaces/default/services/s", MERGE,
			       "{\"spec\":{\"type\":\"NodePort\"}}", 200);
	assert_used(w, "r", "{\"services.nodeports\":\"3\"}");
	(void)verb_world_patch(
		w, "/api/v1/namespaces/default/services/s", MERGE,
		"{\"spec\":{\"type\":\"NodePort\",\"ports\":[{\"name\":\"a\",\"port\":1"
		"},{\"name\":\"b\",\"port\":2},{\"name\":\"c\",\"port\":3}]}}",
		200);
	assert_used(w, "r", "{\"services.nodeports\":\"5\"}");
}

static void a_scope_leaves_others_alone(void **state)
{
	struct verb_world *w = *state;

	quota(w, "q", ",\"scopes\":[\"BestEffort\"]", "\"pods\":\"0\"", "\"pods\":\"0\"");
	(void)verb_world_call(w, "POST", PODS, pod(w, "a", SMALL), 201);
	refused(w, PODS, pod(w, "b", ""),
		"pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, "
		"limited: pods=0");
}

enum { CREATES = 50, ROOM = 20, SOON_MS = 1000 };

static void of_many_at_once_as_many_as_there_is_room_for_are_made(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[CREATES] = { 0 };
	int made = 0, refusals = 0;

	quota(w, "q", "", "\"count/configmaps\":\"20\"", "\"count/configmaps\":\"0\"");
	quota(w, "r", "", "\"configmaps\":\"30\"", "\"configmaps\":\"0\"");
	for (int i = 0; i < CREATES; i++) {
		asks[i].method = "POST";
		asks[i].target = MAPS;
		asks[i].content_type = "application/json";
		asks[i].body = arena_printf(&w->arena, "{\"metadata\":{\"name\":\"m%d\"}}", i);
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < CREATES; i++) {
		verb_world_finish(w, &asks[i]);
		made += asks[i].status == 201;
		refusals += asks[i].status == 403;
		verb_ask_release(&asks[i]);
	}
	assert_int_equal(made, ROOM);
	assert_int_equal(refusals, CREATES - ROOM);
	assert_used(w, "q", "{\"count/configmaps\":\"20\"}");
	assert_used(w, "r", "{\"configmaps\":\"20\"}");
}

static void begin_map(struct verb_world *w, struct verb_ask *ask, const char *name)
{
	*ask = (struct verb_ask){ .method = "POST",
				  .target = MAPS,
				  .content_type = "application/json" };
	ask->body = arena_printf(&w->arena, "{\"metadata\":{\"name\":\"%s\"}}", name);
	verb_world_begin(w, ask);
}

static int finish(struct verb_world *w, struct verb_ask *ask)
{
	int status;

	verb_world_finish(w, ask);
	status = ask->status;
	verb_ask_release(ask);
	return status;
}

static void creations_of_one_name_at_once_are_charged_once(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[10];
	int made = 0;

	quota(w, "q", "", "\"configmaps\":\"20\"", "\"configmaps\":\"0\"");
	quota(w, "r", "", "\"count/configmaps\":\"20\"", "\"count/configmaps\":\"5\"");
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		begin_map(w, &asks[i], "m");
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		int status = finish(w, &asks[i]);

		assert_true(status == 201 || status == 409);
		made += status == 201;
	}
	assert_int_equal(made, 1);
	sim_run_for(w->sim, SOON_MS);
	assert_used(w, "q", "{\"configmaps\":\"1\"}");
	assert_used(w, "r", "{\"count/configmaps\":\"6\"}");
}

/* A creation that was charged, and then fails at the store. */
static void fail_write(struct verb_world *w, enum error_code code, int status)
{
	struct verb_ask ask;

	fake_store_hold_name(w->server.store, "m");
	begin_map(w, &ask, "m");
	sim_run_for(w->sim, SOON_MS);
	assert_used(w, "q", "{\"configmaps\":\"1\"}");
	fake_store_fail(w->server.store, 1, code);
	fake_store_hold_name(w->server.store, NULL);
	assert_int_equal(finish(w, &ask), status);
	sim_run_for(w->sim, SOON_MS);
}

static void only_a_write_that_was_surely_not_made_is_given_back(void **state)
{
	struct verb_world *w = *state;

	quota(w, "q", "", "\"configmaps\":\"20\"", "\"configmaps\":\"0\"");
	fail_write(w, ERR_UNAVAILABLE, 503);
	assert_used(w, "q", "{\"configmaps\":\"0\"}");
	fail_write(w, ERR_TIMEOUT, 504);
	assert_used(w, "q", "{\"configmaps\":\"1\"}");
}

/* The controller may have released the first charge, so the second one is needed. */
static void a_charge_that_took_too_long_is_made_again(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask;

	quota(w, "q", "", "\"configmaps\":\"20\"", "\"configmaps\":\"0\"");
	fake_store_hold_name(w->server.store, "q");
	begin_map(w, &ask, "m");
	sim_run_for(w->sim, QUOTA_CHARGE_MS + SOON_MS);
	fake_store_hold_name(w->server.store, NULL);
	assert_int_equal(finish(w, &ask), 201);
	sim_run_for(w->sim, SOON_MS);
	assert_used(w, "q", "{\"configmaps\":\"2\"}");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
#define SHARED(name) \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1, verb_world_tear_down)
	const struct CMUnitTest tests[] = {
		T(a_pod_is_charged_and_refused_when_it_exceeds),
		T(a_quota_that_was_not_counted_yet_limits_nothing),
		T(objects_are_counted_by_both_their_names),
		T(an_update_is_charged_with_the_difference),
		T(a_scope_leaves_others_alone),
		T(of_many_at_once_as_many_as_there_is_room_for_are_made),
		T(creations_of_one_name_at_once_are_charged_once),
		T(only_a_write_that_was_surely_not_made_is_given_back),
		T(a_charge_that_took_too_long_is_made_again),
		SHARED(a_pod_is_charged_and_refused_when_it_exceeds),
		SHARED(of_many_at_once_as_many_as_there_is_room_for_are_made),
		SHARED(creations_of_one_name_at_once_are_charged_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

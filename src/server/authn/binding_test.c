#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "server/authn/authn.h"
#include "server/authn/token_claims.h"
#include "server/testing/verb_world.h"

#define ACCOUNTS "/api/v1/namespaces/default/serviceaccounts"
#define PODS     "/api/v1/namespaces/default/pods"

/* Creates an object; returns its uid. */
static struct str make(struct verb_world *w, const char *path, const char *body)
{
	struct json *made = verb_world_call(w, "POST", path, body, 201);

	return json_str(json_pointer(made, STR("/metadata/uid")));
}

static int check(struct verb_world *w, const struct user_binding *b, int64_t now_ns,
		 const char *why)
{
	struct user u = { .name = STR("x"), .binding = b };
	struct error err = { 0 };
	int r = authn_explain_binding(w->server.state, &u, now_ns, &err);

	assert_true(state_lets_look(w->server.state));
	assert_int_equal(authn_binding_holds(w->server.state, 1, &u, now_ns), r == 0);
	if (why)
		assert_string_equal(err.msg, why);
	if (r < 0) {
		assert_int_equal(authn_check_binding(w->server.state, &u, now_ns, &err), r);
		assert_string_equal(err.msg, "Unauthorized");
	}
	return r;
}

static void nobody_else_is_bound(void **state)
{
	struct verb_world *w = *state;

	assert_int_equal(check(w, NULL, 0, NULL), 0);
}

static void an_account_must_be_there_with_its_uid(void **state)
{
	struct verb_world *w = *state;
	struct user_binding b = { .ns = STR("default"), .account = STR("robot") };

	b.account_uid = STR("7");
	assert_int_equal(check(w, &b, 0, "serviceaccounts \"robot\" not found"), -ERR_UNAUTHORIZED);
	b.account_uid = make(w, ACCOUNTS, "{\"metadata\":{\"name\":\"robot\"}}");
	assert_int_equal(check(w, &b, 0, NULL), 0);
	b.account_uid = STR("7");
	assert_int_equal(check(w, &b, 0, NULL), -ERR_UNAUTHORIZED);
}

static void an_account_with_a_finalizer_counts_as_deleted_after_a_minute(void **state)
{
	struct verb_world *w = *state;
	struct user_binding b = { .ns = STR("default"), .account = STR("robot") };
	struct json *gone;
	int64_t deleted_ns;

	b.account_uid = make(w, ACCOUNTS,
			     "{\"metadata\":{\"name\":\"robot\",\"finalizers\":[\"a/b\"]}}");
	gone = verb_world_call(w, "DELETE", ACCOUNTS "/robot", NULL, 200);
	gone = verb_world_call(w, "GET", ACCOUNTS "/robot", NULL, 200);
	assert_int_equal(
		timestamp_parse(json_str(json_pointer(gone, STR("/metadata/deletionTimestamp"))),
				&deleted_ns, NULL),
		0);
	assert_int_equal(check(w, &b, deleted_ns + TOKEN_CLAIMS_LEEWAY_S * CLOCK_SEC, NULL), 0);
	assert_int_equal(check(w, &b, deleted_ns + TOKEN_CLAIMS_LEEWAY_S * CLOCK_SEC + 1,
			       "service account default/robot has been deleted"),
			 -ERR_UNAUTHORIZED);
}

static void a_pod_node_and_secret_must_be_there(void **state)
{
	static const char pod[] = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
				  "\"name\":\"c\",\"image\":\"i\"}]}}";
	struct verb_world *w = *state;
	struct user_binding account = { .ns = STR("default"), .account = STR("robot") }, b;

	account.account_uid = make(w, ACCOUNTS, "{\"metadata\":{\"name\":\"robot\"}}");
	b = account;
	b.pod = STR("p");
	b.pod_uid = STR("7");
	b.node = STR("n"); /* a pod's node is not checked */
	assert_int_equal(check(w, &b, 0, "service account token has been invalidated"),
			 -ERR_UNAUTHORIZED);
	b.pod_uid = make(w, PODS, pod);
	assert_int_equal(check(w, &b, 0, NULL), 0);
	b = account;
	b.node = STR("n");
	b.node_uid = STR("7");
	assert_int_equal(check(w, &b, 0, "service account token has been invalidated"),
			 -ERR_UNAUTHORIZED);
	b.node_uid = make(w, "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"}}");
	assert_int_equal(check(w, &b, 0, NULL), 0);
	b.secret = STR("s");
	b.secret_uid = STR("7");
	assert_int_equal(check(w, &b, 0, "service account token has been invalidated"),
			 -ERR_UNAUTHORIZED);
	b.secret_uid = make(w, "/api/v1/namespaces/default/secrets",
			    "{\"metadata\":{\"name\":\"s\"}}");
	assert_int_equal(check(w, &b, 0, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
		CASE(nobody_else_is_bound),
		CASE(an_account_must_be_there_with_its_uid),
		CASE(an_account_with_a_finalizer_counts_as_deleted_after_a_minute),
		CASE(a_pod_node_and_secret_must_be_there),
	};

	return cmocka_run_group_tests_name("server/authn_binding", tests, NULL, NULL);
}

/*
 * Reviews for webhooks, and valid and invalid responses.
 */
#include "server/webhooks/review.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

#define UID  "01234567-89ab-cdef-0123-456789abcdef"
#define HEAD "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"response\":"

struct world {
	struct arena arena;
	struct webhook_verdict verdict;
	struct error err;
};

static int set_up(void **state)
{
	struct world *w = test_calloc(1, sizeof(*w));

	arena_init(&w->arena, 16 * MIB);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	arena_release(&w->arena);
	test_free(w);
	return 0;
}

static struct json *parse(struct world *w, const char *text)
{
	struct json *tree;

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

static int read_as(struct world *w, enum webhook_version version, bool mutating, const char *text)
{
	w->err = (struct error){ 0 };
	return webhook_review_read(&w->arena, str_from(text), version, STR(UID), mutating,
				   &w->verdict, &w->err);
}

static void refuses(struct world *w, bool mutating, const char *text, const char *why)
{
	assert_int_equal(read_as(w, WEBHOOK_V1, mutating, text), -ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, why);
}

static void a_question_has_its_uid_and_its_objects(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	struct world *w = *state;
	struct webhook_question q = {
		.version = WEBHOOK_V1,
		.request = parse(w, "{\"uid\":\"\",\"operation\":\"CREATE\",\"object\":null}"),
		.object = parse(w, "{\"a\":1}"),
	};

	assert_int_equal(webhook_review_print(&q, &text), 0);
	webhook_review_name(q.version, text.p, STR(UID));
	assert_string_equal(text.p,
			    "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
			    "v1\",\"request\":{\"uid\":\"" UID
			    "\",\"operation\":\"CREATE\",\"object\":{\"a\":1},\"oldObject\":"
			    "null}}");
	q.version = WEBHOOK_V1BETA1;
	buf_clear(&text);
	assert_int_equal(webhook_review_print(&q, &text), 0);
	webhook_review_name(q.version, text.p, STR(UID));
	assert_non_null(strstr(text.p, "/v1beta1\",\"request\":{\"uid\":\"" UID "\","));
}

static void the_first_version_that_is_known_is_spoken(void **state)
{
	struct world *w = *state;

	assert_int_equal(webhook_review_version(parse(w, "[\"v2\",\"v1beta1\",\"v1\"]")),
			 WEBHOOK_V1BETA1);
	assert_int_equal(webhook_review_version(parse(w, "[\"v1\"]")), WEBHOOK_V1);
	assert_int_equal(webhook_review_version(parse(w, "[\"v2\"]")), WEBHOOK_NO_VERSION);
	assert_int_equal(webhook_review_version(NULL), WEBHOOK_NO_VERSION);
}

static void an_answer_is_for_the_question_that_was_asked(void **state)
{
	struct world *w = *state;

	assert_int_equal(read_as(w, WEBHOOK_V1, false, "no"), -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "couldn't get version/kind; json parse error: "));
	refuses(w, false, "[]", "failed to call webhook: the response is not an AdmissionReview");
	refuses(w, false, "{}", "received invalid webhook response: webhook response was absent");
	refuses(w, false, HEAD "{\"uid\":\"x\"}}",
		"received invalid webhook response: expected response.uid=\"" UID "\", got \"x\"");
	refuses(w, false,
		"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\","
		"\"response\":{\"uid\":\"" UID "\"}}",
		"received invalid webhook response: expected webhook response of "
		"admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1beta1, "
		"Kind=AdmissionReview");
	assert_int_equal(read_as(w, WEBHOOK_V1, false, HEAD "{\"uid\":\"" UID "\"}}"), 0);
	assert_false(w->verdict.allowed);
	/* The older version was never checked strictly. */
	assert_int_equal(read_as(w, WEBHOOK_V1BETA1, false, "{\"response\":{\"allowed\":true}}"),
			 0);
	assert_true(w->verdict.allowed);
}

static void a_patch_is_for_mutating_webhooks_and_has_its_type(void **state)
{
	struct world *w = *state;
	/* [{"op":"remove","path":"/a"}] */
	static const char good[] = HEAD "{\"uid\":\"" UID
					"\",\"allowed\":true,\"patchType\":\"JSONPatch\","
					"\"patch\":\"W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0=\"}}";

	refuses(w, false, good,
		"received invalid webhook response: validating webhook may not return "
		"response.patch");
	assert_int_equal(read_as(w, WEBHOOK_V1, true, good), 0);
	assert_int_equal(json_count(w->verdict.patch), 1);
	refuses(w, true, HEAD "{\"uid\":\"" UID "\",\"allowed\":true,\"patch\":\"W10=\"}}",
		"received invalid webhook response: webhook returned response.patch but not "
		"response.patchType");
	refuses(w, true, HEAD "{\"uid\":\"" UID "\",\"allowed\":true,\"patchType\":\"JSONPatch\"}}",
		"received invalid webhook response: webhook returned response.patchType but not "
		"response.patch");
	refuses(w, true,
		HEAD "{\"uid\":\"" UID
		     "\",\"allowed\":true,\"patch\":\"W10=\",\"patchType\":\"Merge\"}}",
		"unsupported patch type \"Merge\"");
	assert_int_equal(read_as(w, WEBHOOK_V1, true,
				 HEAD "{\"uid\":\"" UID "\",\"allowed\":true,\"patch\":\"e30=\","
				      "\"patchType\":\"JSONPatch\"}}"),
			 -ERR_UNAVAILABLE);
	assert_non_null(strstr(w->err.msg, "received undecodable patch in webhook response: "));
	/* An empty list changes nothing. */
	assert_int_equal(read_as(w, WEBHOOK_V1, true,
				 HEAD "{\"uid\":\"" UID "\",\"allowed\":true,\"patch\":\"W10=\","
				      "\"patchType\":\"JSONPatch\"}}"),
			 0);
	assert_null(w->verdict.patch);
}

static void refusal(struct world *w, const char *status, int code, const char *message)
{
	struct webhook_verdict v = { .status = status ? parse(w, status) : NULL };
	struct json *tree;
	int got = 0;

	tree = webhook_review_refusal(&w->arena, STR("a.b.c"), &v, &got);
	assert_int_equal(got, code);
	assert_int_equal(json_i64_at(tree, "code", 0), code);
	assert_string_equal(arena_strdup(&w->arena, json_text_at(tree, "message")), message);
	assert_true(str_eqz(json_text_at(tree, "status"), "Failure"));
}

static void a_refusal_is_never_a_success(void **state)
{
	struct world *w = *state;

	refusal(w, NULL, 400, "admission webhook \"a.b.c\" denied the request without explanation");
	refusal(w, "{\"code\":200,\"reason\":\"Why\"}", 400,
		"admission webhook \"a.b.c\" denied the request: Why");
	refusal(w, "{\"code\":403,\"reason\":\"Why\",\"message\":\"so\",\"status\":\"Success\"}",
		403, "admission webhook \"a.b.c\" denied the request: so");
	refusal(w, "{\"code\":99999}", 500,
		"admission webhook \"a.b.c\" denied the request without explanation");
}

static void a_status_that_is_none_is_told_in_words(void **state)
{
	struct world *w = *state;

	assert_int_equal(webhook_review_bad_status(404, STR("x"), &w->err), -ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, "failed to call webhook: the server could not find the "
					"requested resource");
	assert_int_equal(webhook_review_bad_status(500, STR("x"), &w->err), -ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, "failed to call webhook: an error on the server (\"x\") "
					"has prevented the request from succeeding");
	assert_int_equal(webhook_review_bad_status(302, STR(""), &w->err), -ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, "failed to call webhook: the server responded with the "
					"status code 302 but did not return more information");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_question_has_its_uid_and_its_objects, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_first_version_that_is_known_is_spoken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_answer_is_for_the_question_that_was_asked,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_patch_is_for_mutating_webhooks_and_has_its_type,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_is_never_a_success, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_status_that_is_none_is_told_in_words, set_up,
						tear_down),
	};

	return cmocka_run_group_tests_name("server/webhook_review", tests, NULL, NULL);
}

/*
 * Replies for errors: the texts are those of upstream's constructors for the same failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/object/status.h"
#include "base/core/limits.h"
#include "base/json/json.h"

static const struct status_about claim = {
	.group = { "resource.k8s.io", 15 },
	.resource = { "resourceclaims", 14 },
	.kind = { "ResourceClaim", 13 },
	.name = { "gpu", 3 },
};
static const struct status_about pod = {
	.resource = { "pods", 4 },
	.kind = { "Pod", 3 },
	.name = { "x", 1 },
};

#define HEAD   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
#define OF_GPU "\"details\":{\"name\":\"gpu\",\"group\":\"resource.k8s.io\",\"kind\":"

static void assert_status(enum error_code code, const char *msg, const struct status_about *about,
			  const char *expected)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct error err;

	error_set(&err, code, "%s", msg);
	assert_int_equal(status_print(&err, about, &out), 0);
	assert_string_equal(out.p, expected);
}

static void an_absent_object_is_named(void **state)
{
	assert_status(ERR_NOT_FOUND, "", &pod,
		      HEAD "\"message\":\"pods \\\"x\\\" not found\",\"reason\":\"NotFound\","
			   "\"details\":{\"name\":\"x\",\"kind\":\"pods\"},\"code\":404}");
	assert_status(ERR_NOT_FOUND, "", &claim,
		      HEAD "\"message\":\"resourceclaims.resource.k8s.io \\\"gpu\\\" not found\","
			   "\"reason\":\"NotFound\"," OF_GPU "\"resourceclaims\"},\"code\":404}");
	assert_status(ERR_ALREADY_EXISTS, "", &pod,
		      HEAD "\"message\":\"pods \\\"x\\\" already exists\","
			   "\"reason\":\"AlreadyExists\","
			   "\"details\":{\"name\":\"x\",\"kind\":\"pods\"},\"code\":409}");
}

static void an_unknown_path_has_a_message_and_empty_details(void **state)
{
	assert_status(ERR_NOT_FOUND, "", NULL,
		      HEAD "\"message\":\"the server could not find the requested resource\","
			   "\"reason\":\"NotFound\",\"details\":{},\"code\":404}");
}

static void a_conflict_says_what_is_wrong_and_with_what(void **state)
{
	assert_status(ERR_CONFLICT, "", &claim,
		      HEAD "\"message\":\"Operation cannot be fulfilled on "
			   "resourceclaims.resource.k8s.io \\\"gpu\\\": the object has been "
			   "modified; please apply your changes to the latest version and try "
			   "again\",\"reason\":\"Conflict\"," OF_GPU
			   "\"resourceclaims\"},\"code\":409}");
	assert_status(ERR_CONFLICT, "Precondition failed: UID in precondition: a, b", &pod,
		      HEAD "\"message\":\"Operation cannot be fulfilled on pods \\\"x\\\": "
			   "Precondition failed: UID in precondition: a, b\","
			   "\"reason\":\"Conflict\",\"details\":{\"name\":\"x\",\"kind\":\"pods\"},"
			   "\"code\":409}");
	assert_status(ERR_CONFLICT, "Apply failed", NULL,
		      HEAD "\"message\":\"Apply failed\",\"reason\":\"Conflict\",\"details\":{},"
			   "\"code\":409}");
}

static void a_bad_request_has_no_details(void **state)
{
	assert_status(ERR_BAD_REQUEST, "no", &pod,
		      HEAD "\"message\":\"no\",\"reason\":\"BadRequest\",\"code\":400}");
	assert_status(ERR_EXPIRED, "too old resource version: 1 (7)", &pod,
		      HEAD "\"message\":\"too old resource version: 1 (7)\","
			   "\"reason\":\"Expired\",\"code\":410}");
	assert_status(ERR_UNAUTHORIZED, "", NULL,
		      HEAD "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\","
			   "\"code\":401}");
}

static void a_forbidden_status_names_the_object_as_far_as_known(void **state)
{
	struct status_about all = pod;

	all.name = STR_NULL;
	assert_status(ERR_FORBIDDEN, "no", &pod,
		      HEAD
		      "\"message\":\"pods \\\"x\\\" is forbidden: no\","
		      "\"reason\":\"Forbidden\",\"details\":{\"name\":\"x\",\"kind\":\"pods\"},"
		      "\"code\":403}");
	assert_status(ERR_FORBIDDEN, "no", &all,
		      HEAD "\"message\":\"pods is forbidden: no\","
			   "\"reason\":\"Forbidden\",\"details\":{\"kind\":\"pods\"},"
			   "\"code\":403}");
	assert_status(ERR_FORBIDDEN, "no", NULL,
		      HEAD "\"message\":\"forbidden: no\",\"reason\":\"Forbidden\",\"details\":{},"
			   "\"code\":403}");
}

static void an_invalid_object_is_told_all_its_faults(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct field_path spec = field_path_name(NULL, "spec");
	struct field_path name = field_path_name(&spec, "driver");
	struct status_about about = claim;
	struct field_errors errs;

	arena_init(&a, MIB);
	field_errors_init(&errs, &a);
	field_errors_required(&errs, &name, NULL);
	about.causes = &errs;
	assert_status(ERR_INVALID, "", &about,
		      HEAD "\"message\":\"ResourceClaim.resource.k8s.io \\\"gpu\\\" is invalid: "
			   "spec.driver: Required value\",\"reason\":\"Invalid\"," OF_GPU
			   "\"ResourceClaim\",\"causes\":[{\"reason\":\"FieldValueRequired\","
			   "\"message\":\"Required value\",\"field\":\"spec.driver\"}]},"
			   "\"code\":422}");
	field_errors_invalid(&errs, &spec, FIELD_STR(STR("a\"b")), "bad");
	assert_status(ERR_INVALID, "", &about,
		      HEAD "\"message\":\"ResourceClaim.resource.k8s.io \\\"gpu\\\" is invalid: "
			   "[spec.driver: Required value, spec: Invalid value: "
			   "\\\"a\\\\\\\"b\\\": bad]\",\"reason\":\"Invalid\"," OF_GPU
			   "\"ResourceClaim\",\"causes\":[{\"reason\":\"FieldValueRequired\","
			   "\"message\":\"Required value\",\"field\":\"spec.driver\"},"
			   "{\"reason\":\"FieldValueInvalid\","
			   "\"message\":\"Invalid value: \\\"a\\\\\\\"b\\\": bad\","
			   "\"field\":\"spec\"}]},\"code\":422}");
}

static void a_patch_that_does_not_fit_has_its_own_words(void **state)
{
	assert_status(ERR_INVALID, "the server rejected our request due to an error in our request",
		      NULL,
		      HEAD "\"message\":\"the server rejected our request due to an error in our "
			   "request\",\"reason\":\"Invalid\",\"details\":{},\"code\":422}");
}

static void a_resource_version_from_the_future_asks_for_patience(void **state)
{
	const struct status_about about = { .cause_reason = "ResourceVersionTooLarge",
					    .cause_message = "Too large resource version",
					    .retry_after_s = 1 };

	assert_status(ERR_TIMEOUT, "Too large resource version: 9, current: 7", &about,
		      HEAD "\"message\":\"Timeout: Too large resource version: 9, current: 7\","
			   "\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":"
			   "\"ResourceVersionTooLarge\",\"message\":"
			   "\"Too large resource version\"}],\"retryAfterSeconds\":1},"
			   "\"code\":504}");
}

static void messages_get_upstreams_words_before_them(void **state)
{
	assert_status(ERR_TOO_LARGE, "limit is 3145728", &pod,
		      HEAD "\"message\":\"Request entity too large: limit is 3145728\","
			   "\"reason\":\"RequestEntityTooLarge\",\"code\":413}");
	assert_status(ERR_INTERNAL, "disk", &pod,
		      HEAD "\"message\":\"Internal error occurred: disk\","
			   "\"reason\":\"InternalError\",\"details\":{\"causes\":"
			   "[{\"message\":\"disk\"}]},\"code\":500}");
}

static void every_code_makes_a_status(void **state)
{
	for (int code = ERR_OK + 1; code < ERR_COUNT; code++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
		CLEANUP(arena_release) struct arena a;
		struct error err;
		struct json *v;
		int64_t http;

		arena_init(&a, MIB);
		error_set(&err, (enum error_code)code, "%s", "\xff");
		assert_int_equal(status_print(&err, &pod, &out), 0);
		assert_int_equal(json_parse(&a, buf_str(&out), NULL, &v, &err), 0);
		assert_true(json_i64(json_getz(v, "code"), &http));
		assert_int_equal(http, error_http_status(code));
	}
}

static void a_full_buffer_is_told(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(40);
	struct error err;

	error_set(&err, ERR_NOT_FOUND, "x");
	assert_int_equal(status_print(&err, &pod, &out), -ERR_TOO_LARGE);
}

static void a_deletion_is_a_success_with_a_uid(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct status_about about = claim;

	about.uid = STR("u-1");
	assert_int_equal(status_print_deleted(&about, &out), 0);
	assert_string_equal(out.p, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
				   "\"status\":\"Success\"," OF_GPU
				   "\"resourceclaims\",\"uid\":\"u-1\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_absent_object_is_named),
		cmocka_unit_test(an_unknown_path_has_a_message_and_empty_details),
		cmocka_unit_test(a_conflict_says_what_is_wrong_and_with_what),
		cmocka_unit_test(a_bad_request_has_no_details),
		cmocka_unit_test(a_forbidden_status_names_the_object_as_far_as_known),
		cmocka_unit_test(an_invalid_object_is_told_all_its_faults),
		cmocka_unit_test(a_patch_that_does_not_fit_has_its_own_words),
		cmocka_unit_test(a_resource_version_from_the_future_asks_for_patience),
		cmocka_unit_test(messages_get_upstreams_words_before_them),
		cmocka_unit_test(every_code_makes_a_status),
		cmocka_unit_test(a_full_buffer_is_told),
		cmocka_unit_test(a_deletion_is_a_success_with_a_uid),
	};

	return cmocka_run_group_tests_name("api/status", tests, NULL, NULL);
}

/*
 * Bodies of real kinds: their stored form is what upstream's typed objects print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "base/core/limits.h"

static void assert_stored(const char *api_version, const char *kind, const char *text,
			  const char *expected, const char *faults)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const struct schema_kind *k = schema_find_kind(str_from(api_version), str_from(kind));
	struct decode_report report = { 0 };
	struct error err = { 0 };
	struct json *v, *same;

	arena_init(&a, 4 * MIB);
	assert_non_null(k);
	assert_int_equal(decode_parse(&a, str_from(text), DECODE_JSON, &report, &v, &err), 0);
	if (decode_fit(&a, v, k->type, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(json_parse(&a, str_from(expected), NULL, &same, &err), 0);
	assert_int_equal(json_print(&out, v, NULL), 0);
	if (!json_equal(v, same))
		fail_msg("%s", out.p);
	if (!faults) {
		assert_int_equal(report.n, 0);
		return;
	}
	(void)decode_strict_error(&report, &err);
	assert_string_equal(err.msg, faults);
}

static void a_pod_shows_what_go_always_prints(void **state)
{
	assert_stored(
		"v1", "Pod",
		"{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":null,\"labels\":{}},"
		"\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"\",\"tty\":false,"
		"\"resources\":{\"limits\":{\"cpu\":2,\"memory\":\"1024Mi\"}}},"
		"{\"name\":\"d\"}],\"terminationGracePeriodSeconds\":0,\"hostNetwork\":false}}",
		"{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"resources\":{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}},"
		"{\"name\":\"d\",\"resources\":{}}],\"terminationGracePeriodSeconds\":0},"
		"\"status\":{}}",
		NULL);
}

static void unknown_fields_of_a_pod_have_upstreams_paths(void **state)
{
	assert_stored(
		"v1", "Pod",
		"{\"metadata\":{\"nme\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
		"\"imagee\":\"x\"}],\"Hostname\":\"h\"}}",
		"{\"metadata\":{},\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{}}]},"
		"\"status\":{}}",
		"strict decoding error: unknown field \"metadata.nme\", unknown field "
		"\"spec.containers[0].imagee\", unknown field \"spec.Hostname\"");
}

static void a_claim_keeps_opaque_parameters_as_they_are(void **state)
{
	assert_stored("resource.k8s.io/v1", "ResourceClaim",
		      "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{"
		      "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\",\"count\":0,"
		      "\"adminAccess\":false}}],\"config\":[{\"opaque\":{\"driver\":\"d\","
		      "\"parameters\":{\"z\":null,\"y\":[],\"x\":0}}}]}}}",
		      "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{"
		      "\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\","
		      "\"adminAccess\":false}}],\"config\":[{\"opaque\":{\"driver\":\"d\","
		      "\"parameters\":{\"z\":null,\"y\":[],\"x\":0}}}]}},\"status\":{}}",
		      NULL);
}

static void a_slice_has_its_numbers_even_when_they_are_zero(void **state)
{
	assert_stored("resource.k8s.io/v1", "ResourceSlice", "{}",
		      "{\"metadata\":{},\"spec\":{\"driver\":\"\",\"pool\":{\"name\":\"\","
		      "\"generation\":0,\"resourceSliceCount\":0}}}",
		      NULL);
}

static void a_lease_keeps_microseconds(void **state)
{
	assert_stored("coordination.k8s.io/v1", "Lease",
		      "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"\","
		      "\"renewTime\":\"2024-05-06T07:08:09.5Z\"}}",
		      "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"\","
		      "\"renewTime\":\"2024-05-06T07:08:09.500000Z\"}}",
		      NULL);
}

static void every_kind_is_stable_when_it_is_empty(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++) {
		CLEANUP(arena_release) struct arena a;
		struct json *v, *copy;
		struct error err;

		arena_init(&a, MIB);
		v = json_make_object(&a);
		if (decode_fit(&a, v, kinds[i]->type, NULL, &err) < 0)
			fail_msg("%.*s: %s", STR_ARG(kinds[i]->kind), err.msg);
		assert_int_equal(json_copy(&a, v, &copy, &err), 0);
		assert_int_equal(decode_fit(&a, copy, kinds[i]->type, NULL, &err), 0);
		assert_true(json_equal(v, copy));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_shows_what_go_always_prints),
		cmocka_unit_test(unknown_fields_of_a_pod_have_upstreams_paths),
		cmocka_unit_test(a_claim_keeps_opaque_parameters_as_they_are),
		cmocka_unit_test(a_slice_has_its_numbers_even_when_they_are_zero),
		cmocka_unit_test(a_lease_keeps_microseconds),
		cmocka_unit_test(every_kind_is_stable_when_it_is_empty),
	};

	return cmocka_run_group_tests_name("api/decode_kinds", tests, NULL, NULL);
}

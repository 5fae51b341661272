/*
 * What converts one way must come back as it was, in both directions, and fit
 * the type of the version that it was converted to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/convert.h"
#include "api/decode.h"
#include "base/limits.h"

typedef void convert_fn(struct arena *a, struct json *object);

struct pair {
	const char *api_version, *storage_version, *kind;
	convert_fn *to, *from;
};

static const struct pair claim = { "resource.k8s.io/v1beta1", "resource.k8s.io/v1", "ResourceClaim",
				   convert_resource_v1beta1_resource_claim_to_storage,
				   convert_resource_v1beta1_resource_claim_from_storage };
static const struct pair template = {
	"resource.k8s.io/v1beta1", "resource.k8s.io/v1", "ResourceClaimTemplate",
	convert_resource_v1beta1_resource_claim_template_to_storage,
	convert_resource_v1beta1_resource_claim_template_from_storage
};
static const struct pair slice = { "resource.k8s.io/v1beta1", "resource.k8s.io/v1", "ResourceSlice",
				   convert_resource_v1beta1_resource_slice_to_storage,
				   convert_resource_v1beta1_resource_slice_from_storage };
static const struct pair event = { "events.k8s.io/v1", "v1", "Event", convert_event_to_core,
				   convert_event_from_core };

static struct json *fitting(struct arena *a, const char *api_version, const char *kind,
			    const char *text)
{
	const struct schema_kind *k = schema_find_kind(str_from(api_version), str_from(kind));
	struct error err;
	struct json *v;

	assert_non_null(k);
	assert_int_equal(decode_parse(a, str_from(text), DECODE_JSON, NULL, &v, &err), 0);
	if (decode_fit(a, v, k->type, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return v;
}

/* The tree as it is, when nothing in it is unknown to the version. */
static void assert_fits(struct arena *a, const char *api_version, const char *kind,
			const struct json *v)
{
	const struct schema_kind *k = schema_find_kind(str_from(api_version), str_from(kind));
	struct decode_report report = { 0 };
	struct json *copy;
	struct error err;

	assert_int_equal(json_copy(a, v, &copy, &err), 0);
	if (decode_fit(a, copy, k->type, &report, &err) < 0)
		fail_msg("%s", err.msg);
	if (report.n)
		fail_msg("%.*s", STR_ARG(report.faults->text));
	assert_true(json_equal(copy, v));
}

static void assert_converts(const struct pair *p, const char *text, const char *stored_text)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v, *stored, *before, *stored_before;

	arena_init(&a, 4 * MIB);
	v = fitting(&a, p->api_version, p->kind, text);
	stored = fitting(&a, p->storage_version, p->kind, stored_text);
	assert_int_equal(json_copy(&a, v, &before, NULL), 0);
	assert_int_equal(json_copy(&a, stored, &stored_before, NULL), 0);
	p->to(&a, v);
	assert_true(json_equal(v, stored_before));
	assert_fits(&a, p->storage_version, p->kind, v);
	p->from(&a, v);
	assert_true(json_equal(v, before));
	p->from(&a, stored);
	assert_true(json_equal(stored, before));
	assert_fits(&a, p->api_version, p->kind, stored);
	p->to(&a, stored);
	assert_true(json_equal(stored, stored_before));
}

static void requests_of_claims_are_wrapped(void **state)
{
	assert_converts(&claim,
			"{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"deviceClassName\":"
			"\"gpu\",\"selectors\":[{\"cel\":{\"expression\":\"true\"}}],"
			"\"allocationMode\":\"ExactCount\",\"count\":2,\"adminAccess\":false,"
			"\"tolerations\":[{\"operator\":\"Exists\"}],\"capacity\":{\"requests\":{"
			"\"memory\":\"1Gi\"}}}]}}}",
			"{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
			"\"deviceClassName\":\"gpu\",\"selectors\":[{\"cel\":{\"expression\":"
			"\"true\"}}],\"allocationMode\":\"ExactCount\",\"count\":2,"
			"\"adminAccess\":false,\"tolerations\":[{\"operator\":\"Exists\"}],"
			"\"capacity\":{\"requests\":{\"memory\":\"1Gi\"}}}}]}}}");
}

static void alternatives_are_not_wrapped(void **state)
{
	assert_converts(&claim,
			"{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"firstAvailable\":["
			"{\"name\":\"a\",\"deviceClassName\":\"gpu\"}]},{\"name\":\"empty\"}]}}}",
			"{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"firstAvailable\":["
			"{\"name\":\"a\",\"deviceClassName\":\"gpu\"}]},{\"name\":\"empty\"}]}}}");
}

static void claims_without_requests_pass(void **state)
{
	assert_converts(&claim, "{\"metadata\":{\"name\":\"c\"}}",
			"{\"metadata\":{\"name\":\"c\"}}");
	assert_converts(&claim,
			"{\"spec\":{},\"status\":{\"reservedFor\":[{\"resource\":\"pods\","
			"\"name\":\"p\",\"uid\":\"u\"}]}}",
			"{\"spec\":{},\"status\":{\"reservedFor\":[{\"resource\":\"pods\","
			"\"name\":\"p\",\"uid\":\"u\"}]}}");
}

static void templates_have_their_claim_one_level_down(void **state)
{
	assert_converts(&template,
			"{\"spec\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"devices\":{"
			"\"requests\":[{\"name\":\"r\",\"deviceClassName\":\"gpu\"}]}}}}",
			"{\"spec\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"devices\":{"
			"\"requests\":[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]}"
			"}}}");
}

static void devices_lose_their_wrapper(void **state)
{
	assert_converts(
		&slice,
		"{\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\",\"generation\":1,"
		"\"resourceSliceCount\":1},\"nodeName\":\"n\",\"devices\":[{\"name\":\"gpu-0\","
		"\"basic\":{\"attributes\":{\"model\":{\"string\":\"x\"}},\"capacity\":{"
		"\"memory\":{\"value\":\"1Gi\"}},\"taints\":[{\"key\":\"k\",\"effect\":"
		"\"NoSchedule\"}]}},{\"name\":\"gpu-1\",\"basic\":{}}]}}",
		"{\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\",\"generation\":1,"
		"\"resourceSliceCount\":1},\"nodeName\":\"n\",\"devices\":[{\"name\":\"gpu-0\","
		"\"attributes\":{\"model\":{\"string\":\"x\"}},\"capacity\":{\"memory\":{"
		"\"value\":\"1Gi\"}},\"taints\":[{\"key\":\"k\",\"effect\":\"NoSchedule\"}]},"
		"{\"name\":\"gpu-1\"}]}}");
}

static void events_have_other_names_for_the_same(void **state)
{
	assert_converts(
		&event,
		"{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2024-01-02T03:04:05.000006Z\","
		"\"series\":{\"count\":2,\"lastObservedTime\":"
		"\"2024-01-02T03:04:06.000000Z\"},\"reportingController\":\"c\","
		"\"reportingInstance\":\"i\",\"action\":\"a\",\"reason\":\"r\",\"regarding\":{"
		"\"kind\":\"Pod\",\"name\":\"p\"},\"related\":{\"kind\":\"Node\"},"
		"\"note\":\"text\",\"type\":\"Normal\",\"deprecatedSource\":{\"component\":"
		"\"x\"},\"deprecatedFirstTimestamp\":\"2024-01-02T03:04:05Z\","
		"\"deprecatedLastTimestamp\":\"2024-01-02T03:04:06Z\",\"deprecatedCount\":3}",
		"{\"metadata\":{\"name\":\"e\"},\"eventTime\":\"2024-01-02T03:04:05.000006Z\","
		"\"series\":{\"count\":2,\"lastObservedTime\":"
		"\"2024-01-02T03:04:06.000000Z\"},\"reportingComponent\":\"c\","
		"\"reportingInstance\":\"i\",\"action\":\"a\",\"reason\":\"r\","
		"\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},\"related\":{\"kind\":"
		"\"Node\"},\"message\":\"text\",\"type\":\"Normal\",\"source\":{\"component\":"
		"\"x\"},\"firstTimestamp\":\"2024-01-02T03:04:05Z\",\"lastTimestamp\":"
		"\"2024-01-02T03:04:06Z\",\"count\":3}");
}

static void a_bare_event_passes(void **state)
{
	assert_converts(&event,
			"{\"metadata\":{\"name\":\"e\"},\"series\":{\"lastObservedTime\":"
			"\"2024-01-02T03:04:06.000000Z\"}}",
			"{\"metadata\":{\"name\":\"e\"},\"series\":{\"lastObservedTime\":"
			"\"2024-01-02T03:04:06.000000Z\"}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_claims_are_wrapped),
		cmocka_unit_test(alternatives_are_not_wrapped),
		cmocka_unit_test(claims_without_requests_pass),
		cmocka_unit_test(templates_have_their_claim_one_level_down),
		cmocka_unit_test(devices_lose_their_wrapper),
		cmocka_unit_test(events_have_other_names_for_the_same),
		cmocka_unit_test(a_bare_event_passes),
	};

	return cmocka_run_group_tests_name("api/convert", tests, NULL, NULL);
}

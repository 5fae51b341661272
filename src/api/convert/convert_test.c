/*
 * Converting there and back must give the original, in both directions, and the result must fit the
 * type of its version.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "api/convert/convert.h"
#include "base/core/limits.h"

struct versions {
	const char *api_version, *storage_version, *kind;
};

static const struct versions claim = { "resource.k8s.io/v1beta1", "resource.k8s.io/v1",
				       "ResourceClaim" };
static const struct versions template = { "resource.k8s.io/v1beta1", "resource.k8s.io/v1",
					  "ResourceClaimTemplate" };
static const struct versions slice = { "resource.k8s.io/v1beta1", "resource.k8s.io/v1",
				       "ResourceSlice" };
static const struct versions autoscaler = { "autoscaling/v1", "autoscaling/v2",
					    "HorizontalPodAutoscaler" };
static const struct versions event = { "events.k8s.io/v1", "v1", "Event" };

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

/* Asserts that the version knows everything in the tree. */
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

static void assert_converts(const struct versions *p, const char *text, const char *stored_text)
{
	CLEANUP(arena_release) struct arena a;
	const struct schema_kind *kind = schema_find_kind(str_from(p->api_version),
							  str_from(p->kind));
	struct json *v, *stored, *before, *stored_before;

	assert_true(convert_differs(kind) && !convert_differs(kind->storage));
	arena_init(&a, 4 * MIB);
	v = fitting(&a, p->api_version, p->kind, text);
	stored = fitting(&a, p->storage_version, p->kind, stored_text);
	assert_int_equal(json_copy(&a, v, &before, NULL), 0);
	assert_int_equal(json_copy(&a, stored, &stored_before, NULL), 0);
	convert_to_storage(&a, v, kind);
	assert_true(json_equal(v, stored_before));
	assert_fits(&a, p->storage_version, p->kind, v);
	convert_from_storage(&a, v, kind);
	assert_true(json_equal(v, before));
	convert_from_storage(&a, stored, kind);
	assert_true(json_equal(stored, before));
	assert_fits(&a, p->api_version, p->kind, stored);
	convert_to_storage(&a, stored, kind);
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

static void assert_prints(struct arena *a, const struct json *v, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(1 * MIB);

	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(arena_printf(a, "%.*s", STR_ARG(buf_str(&b))), expected);
}

static void members_keep_the_order_of_their_type(void **state)
{
	const struct schema_kind *kind = schema_find_kind(STR("resource.k8s.io/v1beta1"),
							  STR("ResourceClaim"));
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, 1 * MIB);
	assert_int_equal(json_parse(&a,
				    STR("{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"a\","
					"\"firstAvailable\":[]},{\"name\":\"b\",\"exactly\":{"
					"\"deviceClassName\":\"c\",\"count\":1}}]}}}"),
				    NULL, &v, NULL),
			 0);
	convert_from_storage(&a, v, kind);
	assert_prints(&a, v,
		      "{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"a\",\"deviceClassName\":"
		      "\"\",\"firstAvailable\":[]},{\"name\":\"b\",\"deviceClassName\":\"c\","
		      "\"count\":1}]}}}");
}

static void objects_of_another_shape_are_not_converted(void **state)
{
	static const char *const texts[] = {
		"{\"spec\":1}",
		"{\"spec\":{\"devices\":\"x\"}}",
		"{\"spec\":{\"devices\":[1,null,\"x\",[]]}}",
	};
	const struct schema_kind *kind = schema_find_kind(STR("resource.k8s.io/v1beta1"),
							  STR("ResourceSlice"));
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, 1 * MIB);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(json_parse(&a, str_from(texts[i]), NULL, &v, NULL), 0);
		convert_to_storage(&a, v, kind);
		convert_from_storage(&a, v, kind);
		assert_prints(&a, v, texts[i]);
	}
	assert_int_equal(json_parse(&a,
				    STR("{\"spec\":{\"devices\":[{\"name\":\"a\",\"basic\":1}]}}"),
				    NULL, &v, NULL),
			 0);
	convert_to_storage(&a, v, kind);
	assert_prints(&a, v, "{\"spec\":{\"devices\":[{\"name\":\"a\"}]}}");
}

#define REFERENCE "\"scaleTargetRef\":{\"kind\":\"Deployment\",\"name\":\"web\"},\"maxReplicas\":5"
#define PROCESSOR(percent)                                                            \
	"{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":" \
	"\"Utilization\",\"averageUtilization\":" percent "}}}"

static void an_autoscaler_of_version_1_aims_at_the_processor(void **state)
{
	assert_converts(&autoscaler,
			"{\"spec\":{" REFERENCE ",\"targetCPUUtilizationPercentage\":50},"
			"\"status\":{\"currentReplicas\":0,\"desiredReplicas\":0}}",
			"{\"spec\":{" REFERENCE
			",\"metrics\":[" PROCESSOR("50") "]},"
							 "\"status\":{\"desiredReplicas\":0}}");
}

static void fields_that_version_1_lacks_are_in_annotations(void **state)
{
	assert_converts(
		&autoscaler,
		"{\"metadata\":{\"annotations\":{\"a\":\"b\","
		"\"autoscaling.alpha.kubernetes.io/metrics\":\"["
		"{\\\"type\\\":\\\"Pods\\\",\\\"pods\\\":{\\\"metricName\\\":\\\"qps\\\","
		"\\\"targetAverageValue\\\":\\\"3\\\"}},"
		"{\\\"type\\\":\\\"Object\\\",\\\"object\\\":{\\\"target\\\":{"
		"\\\"kind\\\":\\\"Ingress\\\",\\\"name\\\":\\\"i\\\"},\\\"metricName\\\":"
		"\\\"hits\\\",\\\"targetValue\\\":\\\"7\\\"}}]\","
		"\"autoscaling.alpha.kubernetes.io/behavior\":\"{\\\"scaleUp\\\":{"
		"\\\"stabilizationWindowSeconds\\\":3}}\","
		"\"autoscaling.alpha.kubernetes.io/current-metrics\":\"[{\\\"type\\\":"
		"\\\"Resource\\\",\\\"resource\\\":{\\\"name\\\":\\\"cpu\\\","
		"\\\"currentAverageUtilization\\\":9,\\\"currentAverageValue\\\":"
		"\\\"100m\\\"}}]\","
		"\"autoscaling.alpha.kubernetes.io/conditions\":\"[{\\\"type\\\":"
		"\\\"AbleToScale\\\",\\\"status\\\":\\\"True\\\"}]\"}},"
		"\"spec\":{" REFERENCE ",\"targetCPUUtilizationPercentage\":50},"
		"\"status\":{\"currentReplicas\":2,\"desiredReplicas\":2,"
		"\"currentCPUUtilizationPercentage\":9}}",
		"{\"metadata\":{\"annotations\":{\"a\":\"b\"}},"
		"\"spec\":{" REFERENCE ",\"metrics\":["
		"{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"qps\"},\"target\":{\"type\":"
		"\"AverageValue\",\"averageValue\":\"3\"}}},"
		"{\"type\":\"Object\",\"object\":{\"describedObject\":{\"kind\":\"Ingress\","
		"\"name\":\"i\"},\"metric\":{\"name\":\"hits\"},\"target\":{\"type\":\"Value\","
		"\"value\":\"7\"}}}," PROCESSOR(
			"50") "],"
			      "\"behavior\":{\"scaleUp\":{\"stabilizationWindowSeconds\":3}}},"
			      "\"status\":{\"currentReplicas\":2,\"desiredReplicas\":2,"
			      "\"currentMetrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":"
			      "\"cpu\",\"current\":{\"averageUtilization\":9,\"averageValue\":"
			      "\"100m\"}}}],\"conditions\":[{\"type\":\"AbleToScale\",\"status\":"
			      "\"True\"}]}}");
}

static void annotations_that_do_not_fit_count_for_nothing(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const struct schema_kind *kind = schema_find_kind(STR("autoscaling/v1"),
							  STR("HorizontalPodAutoscaler"));
	struct json *v, *want;

	arena_init(&a, 4 * MIB);
	v = fitting(&a, "autoscaling/v1", "HorizontalPodAutoscaler",
		    "{\"metadata\":{\"annotations\":{"
		    "\"autoscaling.alpha.kubernetes.io/metrics\":\"[1,{\\\"type\\\":2},{"
		    "\\\"resource\\\":{\\\"targetAverageValue\\\":{}}}]\","
		    "\"autoscaling.alpha.kubernetes.io/behavior\":\"{\\\"scaleUp\\\":7}\","
		    "\"autoscaling.alpha.kubernetes.io/current-metrics\":\"{}\","
		    "\"autoscaling.alpha.kubernetes.io/conditions\":\"[[\"}},"
		    "\"spec\":{" REFERENCE "}}");
	convert_to_storage(&a, v, kind);
	want = fitting(&a, "autoscaling/v2", "HorizontalPodAutoscaler",
		       "{\"spec\":{" REFERENCE ",\"metrics\":[" PROCESSOR("80") "]}}");
	assert_fits(&a, "autoscaling/v2", "HorizontalPodAutoscaler", v);
	assert_true(json_equal(json_getz(v, "spec"), json_getz(want, "spec")));
	assert_null(json_getz(json_getz(v, "metadata"), "annotations"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_autoscaler_of_version_1_aims_at_the_processor),
		cmocka_unit_test(fields_that_version_1_lacks_are_in_annotations),
		cmocka_unit_test(annotations_that_do_not_fit_count_for_nothing),
		cmocka_unit_test(requests_of_claims_are_wrapped),
		cmocka_unit_test(alternatives_are_not_wrapped),
		cmocka_unit_test(claims_without_requests_pass),
		cmocka_unit_test(templates_have_their_claim_one_level_down),
		cmocka_unit_test(devices_lose_their_wrapper),
		cmocka_unit_test(events_have_other_names_for_the_same),
		cmocka_unit_test(a_bare_event_passes),
		cmocka_unit_test(members_keep_the_order_of_their_type),
		cmocka_unit_test(objects_of_another_shape_are_not_converted),
	};

	return cmocka_run_group_tests_name("api/convert", tests, NULL, NULL);
}

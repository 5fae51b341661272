/*
 * Which pods a node admits: amounts, affinity, the operating system.
 */
#include "node/pod/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define POD(spec) "{\"metadata\":{\"name\":\"p\",\"uid\":\"u\"},\"spec\":{" spec "}}"
#define ASKS(cpu, memory)                                                                       \
	"{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"" memory \
	"\"}}}"
#define TERM(key, op, values)                                                                    \
	"\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"    \
	"{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" op \
	"\",\"values\":[" values "]}]}]}}}"

#define LIMIT(name, n) \
	"\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{\"" name "\":\"" n "\"}}}]"

struct row {
	const char *pod, *reason; /* reason NULL: admitted */
};

static const struct row rows[] = {
	{ POD("\"containers\":[" ASKS("1", "1Gi") "]"), NULL },
	{ POD("\"containers\":[" ASKS("1500m", "1Gi") "]"), "OutOfcpu" },
	{ POD("\"containers\":[" ASKS("1", "3Gi") "]"), "OutOfmemory" },
	{ POD("\"containers\":[" ASKS("500m", "1") "," ASKS("600m", "1") "]"), "OutOfcpu" },
	{ POD("\"initContainers\":[" ASKS("900m", "1") "," ASKS("1", "1") "],\"containers\":[" ASKS(
		  "1", "1") "]"),
	  NULL },
	{ POD("\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":\"Always\",\"resources\":{"
	      "\"requests\":{\"cpu\":\"100m\"}}}],\"containers\":[" ASKS("1", "1") "]"),
	  "OutOfcpu" },
	{ POD("\"overhead\":{\"cpu\":\"1m\"},\"containers\":[" ASKS("1", "1") "]"), "OutOfcpu" },
	{ POD("\"os\":{\"name\":\"windows\"}"), "PodOSNotSupported" },
	{ POD(LIMIT("vendor.com/plugin", "9")), NULL },
	{ POD(LIMIT("vendor.com/fixed", "1")), NULL },
	{ POD(LIMIT("vendor.com/fixed", "2")), "OutOfvendor.com/fixed" },
	{ POD(LIMIT("vendor.com/other", "1")), NULL },
	{ POD("\"nodeSelector\":{\"zone\":\"a\"}"), NULL },
	{ POD("\"nodeSelector\":{\"zone\":\"b\"}"), "NodeAffinity" },
	{ POD(TERM("zone", "In", "\"a\",\"b\"")), NULL },
	{ POD(TERM("zone", "NotIn", "\"a\"")), "NodeAffinity" },
	{ POD(TERM("none", "NotIn", "\"a\"")), NULL },
	{ POD(TERM("zone", "Exists", "")), NULL },
	{ POD(TERM("zone", "DoesNotExist", "")), "NodeAffinity" },
	{ POD(TERM("rank", "Gt", "\"4\"")), NULL },
	{ POD(TERM("rank", "Lt", "\"5\"")), "NodeAffinity" },
};

static bool is_device(void *arg, struct str resource)
{
	return str_eqz(resource, "vendor.com/plugin");
}

static int64_t used_of(void *arg, struct str resource)
{
	return 1;
}

static void each_row(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *node = NULL;
	struct fit_sum used = { .cpu_milli = 1000, .memory = (int64_t)1 << 30, .pods = 1 };

	arena_init(&a, 1 << 20);
	assert_int_equal(
		json_parse(&a,
			   STR("{\"metadata\":{\"labels\":{\"zone\":\"a\",\"rank\":\"5\"}},"
			       "\"status\":{\"allocatable\":{\"vendor.com/fixed\":\"2\"}}}"),
			   NULL, &node, NULL),
		0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fit_node n = { .object = node,
				      .cpu_milli = 2000,
				      .memory = (int64_t)2 << 30,
				      .max_pods = 2,
				      .is_device = is_device,
				      .used = used_of };
		CLEANUP(pod_unref) struct pod *pod = NULL;
		char reason[FIT_REASON_SIZE] = "";
		int r;

		assert_int_equal(pod_parse(str_from(rows[i].pod), &pod, NULL), 0);
		r = fit_check(&n, &used, pod, reason, NULL);
		if (rows[i].reason)
			assert_string_equal(reason, rows[i].reason);
		else
			assert_int_equal(r, 0);
	}
}

static void a_full_node_takes_no_pod(void **state)
{
	struct fit_node n = { .cpu_milli = 1, .memory = 1, .max_pods = 1 };
	struct fit_sum used = { 0 };
	CLEANUP(pod_unref) struct pod *pod = NULL;
	char reason[FIT_REASON_SIZE] = "";

	assert_int_equal(pod_parse(STR(POD("\"containers\":[]")), &pod, NULL), 0);
	assert_int_equal(fit_check(&n, &used, pod, reason, NULL), 0);
	fit_add(&used, pod);
	assert_int_equal(fit_check(&n, &used, pod, reason, NULL), -ERR_INVALID);
	assert_string_equal(reason, "OutOfpods");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(a_full_node_takes_no_pod),
	};

	return cmocka_run_group_tests_name("node/fit", tests, NULL, NULL);
}

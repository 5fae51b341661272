/*
 * Defaults: each row has an object, a place in it, and the value there afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/defaults/defaults.h"
#include "api/validate/validate.h"
#include "base/core/limits.h"

#define NOW_NS (INT64_C(1767225600) * 1000000000 + 5) /* 2026-01-01T00:00:00Z */

struct row {
	const char *api_version, *kind;
	const char *body; /* without apiVersion and kind */
	const char *at; /* JSON Pointer */
	const char *value; /* JSON text; NULL: absent */
};

#define POD(spec, at, value)                                          \
	{                                                             \
		"v1", "Pod", "{\"spec\":" spec "}", "/spec" at, value \
	}
#define CTR(container, at, value) POD("{\"containers\":[" container "]}", "/containers/0" at, value)
#define SERVICE(spec, at, value)                                          \
	{                                                                 \
		"v1", "Service", "{\"spec\":" spec "}", "/spec" at, value \
	}
#define RES "resource.k8s.io/v1"

static const struct row rows[] = {
	{ RES, "ResourceClaim", "{\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{}}]}}}",
	  "/spec/devices/requests/0/exactly", "{\"allocationMode\":\"ExactCount\",\"count\":1}" },
	{ RES, "ResourceClaim",
	  "{\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{\"allocationMode\":\"All\"}}]}}}",
	  "/spec/devices/requests/0/exactly", "{\"allocationMode\":\"All\"}" },
	{ RES, "ResourceClaim",
	  "{\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{\"count\":3}}]}}}",
	  "/spec/devices/requests/0/exactly/count", "3" },
	{ RES, "ResourceClaim",
	  "{\"spec\":{\"devices\":{\"requests\":[{\"firstAvailable\":[{}]}]}}}",
	  "/spec/devices/requests/0/firstAvailable/0/count", "1" },
	{ RES, "ResourceClaim",
	  "{\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{\"tolerations\":[{\"key\":\"a\"}]}}]"
	  "}}}",
	  "/spec/devices/requests/0/exactly/tolerations/0/operator", "\"Equal\"" },
	{ RES, "DeviceTaintRule", "{\"spec\":{\"taint\":{\"key\":\"a\"}}}", "/spec/taint/timeAdded",
	  "\"2026-01-01T00:00:00Z\"" },
	{ RES, "DeviceTaintRule", "{\"spec\":{\"taint\":{\"timeAdded\":\"2020-01-01T00:00:00Z\"}}}",
	  "/spec/taint/timeAdded", "\"2020-01-01T00:00:00Z\"" },
	{ RES, "ResourceSlice", "{\"spec\":{\"devices\":[{\"taints\":[{\"key\":\"a\"}]}]}}",
	  "/spec/devices/0/taints/0/timeAdded", "\"2026-01-01T00:00:00Z\"" },
	{ "resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "{\"spec\":{}}", "/spec/limit",
	  "100" },
	{ "resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest", "{\"spec\":{\"limit\":0}}",
	  "/spec/limit", "0" },

	POD("{}", "/restartPolicy", "\"Always\""),
	POD("{}", "/dnsPolicy", "\"ClusterFirst\""),
	POD("{}", "/terminationGracePeriodSeconds", "30"),
	POD("{\"terminationGracePeriodSeconds\":0}", "/terminationGracePeriodSeconds", "0"),
	POD("{\"terminationGracePeriodSeconds\":-5}", "/terminationGracePeriodSeconds", "1"),
	POD("{}", "/securityContext", "{}"),
	POD("{}", "/schedulerName", "\"default-scheduler\""),
	POD("{}", "/enableServiceLinks", "true"),
	POD("{\"enableServiceLinks\":false}", "/enableServiceLinks", "false"),
	{ "v1", "ReplicationController",
	  "{\"metadata\":{},\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
	  "\"spec\":{}}}}",
	  "/spec/selector", "{\"a\":\"b\"}" },
	{ "v1", "ReplicationController",
	  "{\"metadata\":{},\"spec\":{\"selector\":{\"c\":\"d\"},\"template\":{\"metadata\":{"
	  "\"labels\":{\"a\":\"b\"}},\"spec\":{}}}}",
	  "/spec/selector", "{\"c\":\"d\"}" },
	{ "v1", "ReplicationController",
	  "{\"metadata\":{},\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
	  "\"spec\":{}}}}",
	  "/metadata/labels", "{\"a\":\"b\"}" },
	POD("{\"serviceAccount\":\"a\"}", "/serviceAccountName", "\"a\""),
	POD("{\"serviceAccountName\":\"b\",\"serviceAccount\":\"a\"}", "/serviceAccount", "\"b\""),
	POD("{\"volumes\":[{\"name\":\"v\"}]}", "/volumes/0/emptyDir", "{}"),
	POD("{\"volumes\":[{\"name\":\"v\",\"secret\":{}}]}", "/volumes/0",
	    "{\"name\":\"v\",\"secret\":{\"defaultMode\":420}}"),
	POD("{\"volumes\":[{\"name\":\"v\",\"image\":{\"reference\":\"a:1\"}}]}",
	    "/volumes/0/image/pullPolicy", "\"IfNotPresent\""),
	CTR("{\"image\":\"busybox\"}", "/imagePullPolicy", "\"Always\""),
	CTR("{\"image\":\"busybox:latest\"}", "/imagePullPolicy", "\"Always\""),
	CTR("{\"image\":\"busybox:1.36\"}", "/imagePullPolicy", "\"IfNotPresent\""),
	CTR("{\"image\":\"registry:5000/busybox\"}", "/imagePullPolicy", "\"Always\""),
	CTR("{\"image\":\"registry:5000/busybox:1\"}", "/imagePullPolicy", "\"IfNotPresent\""),
	CTR("{\"image\":\"busybox@sha256:00\"}", "/imagePullPolicy", "\"IfNotPresent\""),
	CTR("{\"image\":\"busybox\",\"imagePullPolicy\":\"Never\"}", "/imagePullPolicy",
	    "\"Never\""),
	CTR("{\"image\":\"\"}", "/imagePullPolicy", "\"IfNotPresent\""),
	CTR("{}", "/terminationMessagePath", "\"/dev/termination-log\""),
	CTR("{}", "/terminationMessagePolicy", "\"File\""),
	CTR("{\"ports\":[{\"containerPort\":80}]}", "/ports/0",
	    "{\"containerPort\":80,\"protocol\":\"TCP\"}"),
	CTR("{\"livenessProbe\":{\"httpGet\":{\"port\":80}}}", "/livenessProbe/periodSeconds",
	    "10"),
	CTR("{\"livenessProbe\":{\"httpGet\":{\"port\":80}}}", "/livenessProbe/httpGet/scheme",
	    "\"HTTP\""),
	CTR("{\"livenessProbe\":{\"failureThreshold\":7}}", "/livenessProbe/failureThreshold", "7"),
	CTR("{\"resources\":{\"limits\":{\"cpu\":\"1\"}}}", "/resources/requests",
	    "{\"cpu\":\"1\"}"),
	CTR("{\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":"
	    "\"500m\"}}}",
	    "/resources/requests", "{\"cpu\":\"500m\",\"memory\":\"1Gi\"}"),
	CTR("{\"env\":[{\"name\":\"A\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"x\"}}}]}",
	    "/env/0/valueFrom/fieldRef/apiVersion", "\"v1\""),
	POD("{\"hostNetwork\":true,\"containers\":[{\"ports\":[{\"containerPort\":80}]}]}",
	    "/containers/0/ports/0/hostPort", "80"),
	{ "v1", "Pod", "{\"status\":{\"podIP\":\"1.2.3.4\"}}", "/status/podIPs",
	  "[{\"ip\":\"1.2.3.4\"}]" },
	{ "v1", "Pod", "{\"status\":{\"podIPs\":[{\"ip\":\"1.2.3.4\"}]}}", "/status/podIP",
	  "\"1.2.3.4\"" },
	{ "apps/v1", "Deployment",
	  "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":"
	  "\"1\"}}}]}}}}",
	  "/spec/template/spec/containers/0/resources/requests", NULL },
	{ "apps/v1", "Deployment", "{\"spec\":{\"template\":{\"spec\":{}}}}",
	  "/spec/template/spec/restartPolicy", "\"Always\"" },
	{ "apps/v1", "Deployment", "{\"spec\":{}}", "/spec/strategy",
	  "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\",\"maxSurge\":"
	  "\"25%\"}}" },
	{ "apps/v1", "Deployment", "{\"spec\":{\"strategy\":{\"type\":\"Recreate\"}}}",
	  "/spec/strategy", "{\"type\":\"Recreate\"}" },
	{ "apps/v1", "Deployment", "{\"spec\":{\"replicas\":0}}", "/spec/replicas", "0" },
	{ "apps/v1", "Deployment", "{\"spec\":{}}", "/spec/replicas", "1" },
	{ "apps/v1", "DaemonSet", "{\"spec\":{}}", "/spec/updateStrategy/rollingUpdate",
	  "{\"maxUnavailable\":1,\"maxSurge\":0}" },
	{ "apps/v1", "StatefulSet", "{\"spec\":{}}", "/spec/updateStrategy/rollingUpdate/partition",
	  "0" },
	{ "apps/v1", "StatefulSet", "{\"spec\":{}}",
	  "/spec/persistentVolumeClaimRetentionPolicy/whenScaled", "\"Retain\"" },
	{ "batch/v1", "Job", "{\"spec\":{}}", "/spec/completions", "1" },
	{ "batch/v1", "Job", "{\"spec\":{\"parallelism\":5}}", "/spec/completions", NULL },
	{ "batch/v1", "Job", "{\"spec\":{\"completions\":5}}", "/spec/parallelism", "1" },
	{ "batch/v1", "Job", "{\"spec\":{}}", "/spec/backoffLimit", "6" },
	{ "batch/v1", "Job", "{\"spec\":{\"backoffLimit\":0}}", "/spec/backoffLimit", "0" },
	{ "batch/v1", "Job", "{\"spec\":{\"backoffLimitPerIndex\":1}}", "/spec/backoffLimit",
	  "2147483647" },
	{ "batch/v1", "Job", "{\"spec\":{}}", "/spec/podReplacementPolicy",
	  "\"TerminatingOrFailed\"" },
	{ "batch/v1", "Job", "{\"spec\":{\"podFailurePolicy\":{\"rules\":[]}}}",
	  "/spec/podReplacementPolicy", "\"Failed\"" },
	{ "batch/v1", "Job", "{\"spec\":{}}", "/spec/manualSelector", "false" },
	{ "batch/v1", "Job",
	  "{\"spec\":{\"podFailurePolicy\":{\"rules\":[{\"onPodConditions\":[{\"type\":\"x\"}]}]}}"
	  "}",
	  "/spec/podFailurePolicy/rules/0/onPodConditions/0/status", "\"True\"" },
	SERVICE("{\"ports\":[{\"port\":80}]}", "/ports/0",
		"{\"port\":80,\"protocol\":\"TCP\",\"targetPort\":80}"),
	SERVICE("{}", "/type", "\"ClusterIP\""),
	SERVICE("{}", "/sessionAffinity", "\"None\""),
	SERVICE("{}", "/internalTrafficPolicy", "\"Cluster\""),
	SERVICE("{\"type\":\"ExternalName\"}", "/internalTrafficPolicy", NULL),
	SERVICE("{\"type\":\"NodePort\"}", "/externalTrafficPolicy", "\"Cluster\""),
	SERVICE("{\"type\":\"LoadBalancer\"}", "/allocateLoadBalancerNodePorts", "true"),
	SERVICE("{\"sessionAffinity\":\"ClientIP\"}",
		"/sessionAffinityConfig/clientIP/timeoutSeconds", "10800"),
	{ "v1", "Secret", "{}", "/type", "\"Opaque\"" },
	{ "v1", "Node", "{\"status\":{\"capacity\":{\"cpu\":\"1\"}}}", "/status/allocatable",
	  "{\"cpu\":\"1\"}" },
	{ "v1", "Node",
	  "{\"status\":{\"capacity\":{\"cpu\":\"1\"},\"allocatable\":{\"cpu\":\"0\"}}}",
	  "/status/allocatable", "{\"cpu\":\"0\"}" },
	{ "v1", "LimitRange",
	  "{\"spec\":{\"limits\":[{\"type\":\"Container\",\"max\":{\"cpu\":\"1\"}}]}}",
	  "/spec/limits/0/defaultRequest", "{\"cpu\":\"1\"}" },
	{ "v1", "PersistentVolumeClaim", "{\"spec\":{}}", "/spec/volumeMode", "\"Filesystem\"" },
};

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void check_row(const struct row *row)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf found = BUF_INIT(64 * KIB);
	const struct schema_kind *kind = schema_find_kind(str_from(row->api_version),
							  str_from(row->kind));
	struct json *object, *value;

	arena_init(&a, MIB);
	assert_non_null(kind);
	object = parsed(&a, row->body);
	defaults_fill(&a, object, kind->type, NOW_NS);
	value = json_pointer(object, str_from(row->at));
	if (row->value ? value && json_equal(value, parsed(&a, row->value)) : !value)
		return;
	(void)json_print(&found, object, NULL);
	fail_msg("%s %s: %s is not %s in %s", row->kind, row->body, row->at,
		 row->value ? row->value : "absent", found.p);
}

static void absent_fields_get_their_defaults(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i]);
}

static void filling_in_twice_changes_nothing_more(void **state)
{
	CLEANUP(arena_release) struct arena a;

	(void)state;
	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct schema_kind *kind = schema_find_kind(str_from(rows[i].api_version),
								  str_from(rows[i].kind));
		struct json *once = parsed(&a, rows[i].body), *twice = NULL;

		defaults_fill(&a, once, kind->type, NOW_NS);
		assert_int_equal(json_copy(&a, once, &twice, NULL), 0);
		defaults_fill(&a, twice, kind->type, NOW_NS + 1000000000);
		assert_true(json_equal(once, twice));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_fields_get_their_defaults),
		cmocka_unit_test(filling_in_twice_changes_nothing_more),
	};

	return cmocka_run_group_tests_name("api/defaults", tests, NULL, NULL);
}

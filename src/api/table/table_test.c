/* Tables of real kinds: columns in upstream's order, cells as upstream shows them. */
#include "api/table/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

static int64_t now(void)
{
	int64_t ns;

	assert_int_equal(timestamp_parse(STR("2026-01-02T00:00:00Z"), &ns, NULL), 0);
	return ns;
}

static const struct schema_kind *kind(const char *group, const char *version, const char *resource)
{
	const struct schema_kind *k = schema_find_resource(str_from(group), str_from(version),
							   str_from(resource));

	if (!k)
		fail_msg("no kind %s", resource);
	return k;
}

/* The cells of one object, as JSON text. */
static void assert_cells(const struct schema_kind *k, const char *object, const char *want)
{
	struct buf out = BUF_INIT(MIB), cells = BUF_INIT(MIB);
	struct json *tree, *row;
	struct arena a;

	arena_init(&a, MIB);
	if (json_parse(&a, str_from(object), NULL, &tree, NULL) < 0)
		fail_msg("bad test object: %s", object);
	assert_int_equal(table_row(k, tree, TABLE_INCLUDE_NONE, STR("v1"), now(), &out), 0);
	if (json_parse(&a, buf_str(&out), NULL, &row, NULL) < 0)
		fail_msg("no JSON: %s", out.p);
	assert_int_equal(json_print(&cells, json_getz(row, "cells"), NULL), 0);
	assert_string_equal(cells.p, want);
	buf_release(&cells);
	buf_release(&out);
	arena_release(&a);
}

static void assert_columns(const struct schema_kind *k, const char *want)
{
	struct buf out = BUF_INIT(MIB), names = BUF_INIT(MIB);
	struct json *table;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(table_begin(k, STR("v1"), STR("{}"), true, &out), 0);
	assert_int_equal(table_end(&out), 0);
	if (json_parse(&a, buf_str(&out), NULL, &table, NULL) < 0)
		fail_msg("no JSON: %s", out.p);
	JSON_FOREACH (c, json_getz(table, "columnDefinitions")) {
		int64_t priority = -1;

		assert_true(json_i64(json_getz(c, "priority"), &priority));
		(void)buf_printf(&names, "%s%.*s%s", names.n ? "," : "",
				 STR_ARG(json_text_at(c, "name")), priority ? "*" : "");
	}
	assert_string_equal(names.p, want);
	buf_release(&names);
	buf_release(&out);
	arena_release(&a);
}

#define META(name) \
	"\"metadata\":{\"name\":\"" name "\",\"creationTimestamp\":\"2026-01-01T23:00:00Z\"}"

static void pods_have_upstreams_columns(void **state)
{
	assert_columns(kind("", "v1", "pods"), "Name,Ready,Status,Restarts,Age,IP*,Node*,"
					       "Nominated Node*,Readiness Gates*");
}

static void a_new_pod_is_pending(void **state)
{
	assert_cells(kind("", "v1", "pods"),
		     "{" META("p") ",\"spec\":{\"containers\":[{\"name\":\"c\"}]},"
				   "\"status\":{\"phase\":\"Pending\"}}",
		     "[\"p\",\"0/1\",\"Pending\",\"0\",\"60m\",\"<none>\",\"<none>\",\"<none>\","
		     "\"<none>\"]");
}

static void a_running_pod_shows_its_restarts_and_when_the_last_was(void **state)
{
	assert_cells(
		kind("", "v1", "pods"),
		"{" META(
			"p") ",\"spec\":{\"containers\":[{\"name\":\"c\"}],\"nodeName\":\"n\","
			     "\"readinessGates\":[{\"conditionType\":\"G\"}]},"
			     "\"status\":{\"phase\":\"Running\",\"podIPs\":[{\"ip\":\"10.0.0.1\"}],"
			     "\"conditions\":[{\"type\":\"G\",\"status\":\"True\"}],"
			     "\"containerStatuses\":[{\"name\":\"c\",\"ready\":true,"
			     "\"restartCount\":3,\"state\":{\"running\":{}},\"lastState\":"
			     "{\"terminated\":{\"finishedAt\":\"2026-01-01T23:50:00Z\"}}}]}}",
		"[\"p\",\"1/1\",\"Running\",\"3 (10m ago)\",\"60m\",\"10.0.0.1\",\"n\",\"<none>\","
		"\"1/1\"]");
}

static void a_pod_shows_the_reason_of_what_is_wrong(void **state)
{
	static const struct {
		const char *status, *shown;
	} cases[] = {
		{ "\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\"}"
		  "}}]",
		  "CrashLoopBackOff" },
		{ "\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":2}}}]",
		  "ExitCode:2" },
		{ "\"containerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":2,\"signal\":9}}"
		  "}]",
		  "Signal:9" },
		{ "\"initContainerStatuses\":[{\"state\":{\"terminated\":{\"exitCode\":1}}}]",
		  "Init:ExitCode:1" },
		{ "\"initContainerStatuses\":[{\"state\":{\"running\":{}}}]", "Init:0/1" },
		{ "\"conditions\":[{\"type\":\"PodScheduled\",\"reason\":\"SchedulingGated\"}]",
		  "SchedulingGated" },
		{ "\"reason\":\"Evicted\"", "Evicted" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char object[1024], want[256];

		(void)snprintf(object, sizeof(object),
			       "{" META("p") ",\"spec\":{\"containers\":[{\"name\":\"c\"}],"
					     "\"initContainers\":[{\"name\":\"i\"}]},"
					     "\"status\":{\"phase\":\"Running\",%s}}",
			       cases[i].status);
		(void)snprintf(want, sizeof(want),
			       "[\"p\",\"0/1\",\"%s\",\"0\",\"60m\",\"<none>\",\"<none>\","
			       "\"<none>\",\"<none>\"]",
			       cases[i].shown);
		assert_cells(kind("", "v1", "pods"), object, want);
	}
}

static void a_deleted_pod_is_terminating(void **state)
{
	assert_cells(
		kind("", "v1", "pods"),
		"{\"metadata\":{\"name\":\"p\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
		"\"deletionTimestamp\":\"2026-01-02T00:00:00Z\"},\"spec\":{},"
		"\"status\":{\"phase\":\"Running\"}}",
		"[\"p\",\"0/0\",\"Terminating\",\"0\",\"24h\",\"<none>\",\"<none>\",\"<none>\","
		"\"<none>\"]");
}

static void nodes_show_readiness_and_roles(void **state)
{
	assert_cells(
		kind("", "v1", "nodes"),
		"{\"metadata\":{\"name\":\"n\",\"labels\":{\"node-role.kubernetes.io/worker\":\"\","
		"\"node-role.kubernetes.io/control-plane\":\"\"}},"
		"\"spec\":{\"unschedulable\":true},\"status\":{\"conditions\":[{\"type\":\"Ready\","
		"\"status\":\"True\"}],\"nodeInfo\":{\"kubeletVersion\":\"v1\","
		"\"kernelVersion\":\"6.1\",\"architecture\":\"arm64\"},"
		"\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"1.2.3.4\"}]}}",
		"[\"n\",\"Ready,SchedulingDisabled\",\"control-plane,worker\",\"<unknown>\","
		"\"v1\",\"1.2.3.4\",\"<none>\",\"<unknown>\",\"6.1 (arm64)\",\"<unknown>\"]");
}

static void claims_show_their_state(void **state)
{
	const struct schema_kind *k = kind("resource.k8s.io", "v1", "resourceclaims");

	assert_columns(k, "Name,State,Age,Devices*,Addresses*");
	assert_columns(kind("resource.k8s.io", "v1beta1", "resourceclaims"),
		       "Name,State,Age,Devices*,Addresses*");
	assert_cells(k, "{" META("c") "}", "[\"c\",\"pending\",\"60m\",\"<none>\",\"<none>\"]");
	assert_cells(k, "{" META("c") ",\"status\":{\"allocation\":{}}}",
		     "[\"c\",\"allocated\",\"60m\",\"<none>\",\"<none>\"]");
	assert_cells(k, "{" META("c") ",\"status\":{\"allocation\":{},\"reservedFor\":[{}]}}",
		     "[\"c\",\"allocated,reserved\",\"60m\",\"<none>\",\"<none>\"]");
	assert_cells(k, "{\"metadata\":{\"name\":\"c\",\"deletionTimestamp\":\"x\"}}",
		     "[\"c\",\"deleted\",\"<unknown>\",\"<none>\",\"<none>\"]");
}

#define GIVEN ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{},{}]}}"
#define READY(status)                                                               \
	"\"conditions\":[{\"type\":\"X\",\"status\":\"True\"},{\"type\":\"Ready\"," \
	"\"status\":\"" status "\"}]"

static void claims_show_their_devices_when_asked_for_more(void **state)
{
	static const struct {
		const char *status, *cells;
	} rows[] = {
		{ GIVEN "}", "\"2\",\"<none>\"" },
		{ GIVEN ",\"devices\":[{\"data\":{}}]}", "\"2\",\"<none>\"" },
		{ GIVEN ",\"devices\":[{" READY("True") "}]}", "\"1/2 ready\",\"<none>\"" },
		{ GIVEN ",\"devices\":[{" READY("True") "},{" READY("True") "}]}",
		  "\"2/2 ready\",\"<none>\"" },
		{ GIVEN ",\"devices\":[{" READY("False") "},{" READY("Unknown") "}]}",
		  "\"0/2 ready\",\"<none>\"" },
		{ GIVEN
		  ",\"devices\":[{\"networkData\":{\"ips\":[\"10.9.0.1/24\",\"fd00::1/64\"]}},"
		  "{\"networkData\":{\"ips\":[\"10.9.0.2/24\"]}},{\"networkData\":{}}]}",
		  "\"2\",\"10.9.0.1/24,fd00::1/64,10.9.0.2/24\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char object[1024], want[256];

		(void)snprintf(object, sizeof(object), "{%s%s}", META("c"), rows[i].status);
		(void)snprintf(want, sizeof(want), "[\"c\",\"allocated\",\"60m\",%s]",
			       rows[i].cells);
		assert_cells(kind("resource.k8s.io", "v1", "resourceclaims"), object, want);
	}
}

static void pool_status_requests_sum_their_pools(void **state)
{
	const struct schema_kind *k = kind("resource.k8s.io", "v1alpha3",
					   "resourcepoolstatusrequests");

	assert_columns(k, "Name,Driver,Total,Available,Allocated,Unavailable,Errors,Pools,Status,"
			  "Completed");
	assert_cells(k, "{" META("r") ",\"spec\":{\"driver\":\"d\"}}",
		     "[\"r\",\"d\",\"-\",\"-\",\"-\",\"-\",\"-\",0,\"Pending\",\"<none>\"]");
	assert_cells(
		k,
		"{" META("r") ",\"spec\":{\"driver\":\"d\"},\"status\":{\"poolCount\":3,"
			      "\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\","
			      "\"lastTransitionTime\":\"2026-01-01T23:59:00Z\"}],"
			      "\"pools\":[{\"totalDevices\":4,\"availableDevices\":1,"
			      "\"allocatedDevices\":3},{\"totalDevices\":2,"
			      "\"validationError\":\"x\"}]}}",
		"[\"r\",\"d\",\"6\",\"1\",\"3\",\"0\",\"1\",3,\"Complete (2/3 pools)\",\"60s\"]");
}

static void services_show_ports_and_addresses(void **state)
{
	assert_cells(
		kind("", "v1", "services"),
		"{" META("s") ",\"spec\":{\"type\":\"NodePort\",\"clusterIPs\":[\"10.0.0.1\"],"
			      "\"ports\":[{\"port\":80,\"nodePort\":30000,\"protocol\":\"TCP\"},"
			      "{\"port\":53,\"protocol\":\"UDP\"}],\"selector\":"
			      "{\"b\":\"2\",\"a\":\"1\"}}}",
		"[\"s\",\"NodePort\",\"10.0.0.1\",\"<none>\",\"80:30000/TCP,53/UDP\",\"60m\","
		"\"a=1,b=2\"]");
}

static void events_show_their_name_last(void **state)
{
	const struct schema_kind *k = kind("", "v1", "events");

	assert_columns(k, "Last Seen,Type,Reason,Object,Subobject*,Source*,Message,First Seen*,"
			  "Count*,Name*");
	assert_cells(
		k,
		"{" META("e") ",\"type\":\"Normal\",\"reason\":\"Started\",\"message\":\" hi\\n\","
			      "\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},"
			      "\"source\":{\"component\":\"kubelet\",\"host\":\"n\"},"
			      "\"firstTimestamp\":\"2026-01-01T23:58:00Z\"}",
		"[\"2m\",\"Normal\",\"Started\",\"pod/p\",\"\",\"kubelet, n\",\"hi\",\"2m\",1,"
		"\"e\"]");
}

static void endpoints_show_three_and_count_the_rest(void **state)
{
	assert_cells(
		kind("", "v1", "endpoints"),
		"{" META(
			"e") ",\"subsets\":[{\"addresses\":[{\"ip\":\"1.1.1.1\"},{\"ip\":\"::1\"}],"
			     "\"ports\":[{\"port\":80},{\"port\":81}]}]}",
		"[\"e\",\"1.1.1.1:80,[::1]:80,1.1.1.1:81 + 1 more...\",\"60m\"]");
}

static void numbers_stay_numbers(void **state)
{
	assert_cells(
		kind("apps", "v1", "replicasets"),
		"{" META("r") ",\"spec\":{\"replicas\":3,\"selector\":{\"matchLabels\":"
			      "{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"k\",\"operator\":"
			      "\"In\",\"values\":[\"x\",\"y\"]}]}},\"status\":{\"replicas\":2}}",
		"[\"r\",3,2,0,\"60m\",\"\",\"\",\"a=b,k in (x,y)\"]");
	assert_cells(kind("", "v1", "configmaps"),
		     "{" META("c") ",\"data\":{\"a\":\"\"},\"binaryData\":{\"b\":\"\"}}",
		     "[\"c\",2,\"60m\"]");
}

static void policies_and_bindings_show_their_parameters(void **state)
{
	const struct schema_kind *policy = kind("admissionregistration.k8s.io", "v1",
						"validatingadmissionpolicies");
	const struct schema_kind *binding = kind("admissionregistration.k8s.io", "v1",
						 "mutatingadmissionpolicybindings");

	assert_cells(policy,
		     "{" META("p") ",\"spec\":{\"validations\":[{},{}],\"paramKind\":{"
				   "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}}}",
		     "[\"p\",2,\"v1/ConfigMap\",\"60m\"]");
	assert_cells(policy, "{" META("p") "}", "[\"p\",0,\"<unset>\",\"60m\"]");
	assert_cells(binding,
		     "{" META("b") ",\"spec\":{\"policyName\":\"p\",\"paramRef\":{\"name\":"
				   "\"x\"}}}",
		     "[\"b\",\"p\",\"*/x\",\"60m\"]");
	assert_cells(binding,
		     "{" META("b") ",\"spec\":{\"policyName\":\"p\",\"paramRef\":{\"selector\":"
				   "{\"matchLabels\":{\"a\":\"b\"}}}}}",
		     "[\"b\",\"p\",\"a=b\",\"60m\"]");
}

static void kinds_without_columns_have_name_and_age(void **state)
{
	assert_columns(kind("", "v1", "serviceaccounts"), "Name,Age");
	assert_columns(kind("resource.k8s.io", "v1", "deviceclasses"), "Name,Age");
}

static void rows_carry_what_was_asked_for(void **state)
{
	const struct schema_kind *k = kind("", "v1", "serviceaccounts");
	static const char text[] = "{\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"a\"}}";
	struct buf out = BUF_INIT(MIB);
	struct json *tree;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &tree, NULL), 0);
	assert_int_equal(table_row(k, tree, TABLE_INCLUDE_METADATA, STR("v1"), now(), &out), 0);
	assert_string_equal(out.p, "{\"cells\":[\"a\",\"<unknown>\"],\"object\":{\"kind\":"
				   "\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
				   "\"metadata\":{\"name\":\"a\"}}}");
	buf_clear(&out);
	assert_int_equal(table_row(k, tree, TABLE_INCLUDE_OBJECT, STR("v1"), now(), &out), 0);
	assert_non_null(strstr(out.p, "\"object\":{\"kind\":\"ServiceAccount\""));
	buf_clear(&out);
	assert_int_equal(table_row(k, tree, TABLE_INCLUDE_NONE, STR("v1"), now(), &out), 0);
	assert_non_null(strstr(out.p, "\"object\":null}"));
	buf_release(&out);
	arena_release(&a);
}

static void later_tables_of_a_watch_have_no_columns(void **state)
{
	struct buf out = BUF_INIT(MIB);

	(void)table_begin(kind("", "v1", "pods"), STR("v1"), STR("{\"resourceVersion\":\"5\"}"),
			  false, &out);
	(void)table_end(&out);
	assert_string_equal(out.p, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
				   "\"metadata\":{\"resourceVersion\":\"5\"},"
				   "\"columnDefinitions\":null,\"rows\":[]}");
	buf_release(&out);
}

/* Every cell of every kind accepts any object, and appends one value. */
static void every_kind_can_show_an_empty_object(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"metadata\":{},\"spec\":{},\"status\":{}}",
		"{\"metadata\":[],\"spec\":\"x\",\"status\":7,\"data\":1,\"subjects\":{}}",
	};
	const struct schema_kind *const *kinds;
	struct arena a;
	size_t n;

	arena_init(&a, 64 * MIB);
	kinds = schema_kinds(&n);
	for (size_t i = 0; i < n * ARRAY_SIZE(texts); i++) {
		struct buf out = BUF_INIT(MIB);
		struct json *tree, *row;

		(void)json_parse(&a, str_from(texts[i / n]), NULL, &tree, NULL);
		(void)table_row(kinds[i % n], tree, TABLE_INCLUDE_NONE, STR("v1"), now(), &out);
		if (json_parse(&a, buf_str(&out), NULL, &row, NULL) < 0)
			fail_msg("%.*s: %s", STR_ARG(kinds[i % n]->kind), out.p);
		buf_release(&out);
	}
	arena_release(&a);
}

static void ages_are_shown_as_kubectl_shows_them(void **state)
{
	static const struct {
		int64_t s;
		const char *shown;
	} cases[] = { { 5, "5s" },          { 119, "119s" },  { 130, "2m10s" },
		      { 3600, "60m" },      { 86400, "24h" }, { 86400 * 3 + 3600, "3d1h" },
		      { 86400 * 10, "10d" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = BUF_INIT(64);

		(void)table_age(now() - cases[i].s * 1000000000, now(), &out);
		assert_string_equal(out.p, cases[i].shown);
		buf_release(&out);
	}
}

static void flow_schemas_show_their_level_and_whether_it_is_missing(void **state)
{
	const struct schema_kind *k = kind("flowcontrol.apiserver.k8s.io", "v1", "flowschemas");

	assert_columns(k, "Name,PriorityLevel,MatchingPrecedence,DistinguisherMethod,Age,"
			  "MissingPL");
	assert_cells(k,
		     "{" META("f") ",\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"l\"},"
				   "\"matchingPrecedence\":7}}",
		     "[\"f\",\"l\",7,\"<none>\",\"60m\",\"?\"]");
	assert_cells(
		k,
		"{" META("f") ",\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"l\"},"
			      "\"matchingPrecedence\":7,\"distinguisherMethod\":{\"type\":"
			      "\"ByUser\"}},\"status\":{\"conditions\":[{\"type\":\"Dangling\","
			      "\"status\":\"True\"}]}}",
		"[\"f\",\"l\",7,\"ByUser\",\"60m\",\"True\"]");
}

static void priority_levels_show_their_shares_and_queues(void **state)
{
	const struct schema_kind *k = kind("flowcontrol.apiserver.k8s.io", "v1",
					   "prioritylevelconfigurations");

	assert_columns(k, "Name,Type,NominalConcurrencyShares,Queues,HandSize,QueueLengthLimit,"
			  "Age");
	assert_cells(k, "{" META("l") ",\"spec\":{\"type\":\"Exempt\",\"exempt\":{}}}",
		     "[\"l\",\"Exempt\",\"<none>\",\"<none>\",\"<none>\",\"<none>\",\"60m\"]");
	assert_cells(k,
		     "{" META("l") ",\"spec\":{\"type\":\"Limited\",\"limited\":{"
				   "\"nominalConcurrencyShares\":5,\"limitResponse\":{\"type\":"
				   "\"Reject\"}}}}",
		     "[\"l\",\"Limited\",5,\"<none>\",\"<none>\",\"<none>\",\"60m\"]");
	assert_cells(k,
		     "{" META("l") ",\"spec\":{\"type\":\"Limited\",\"limited\":{"
				   "\"nominalConcurrencyShares\":0,\"limitResponse\":{\"type\":"
				   "\"Queue\",\"queuing\":{\"queues\":64,\"handSize\":6,"
				   "\"queueLengthLimit\":50}}}}}",
		     "[\"l\",\"Limited\",0,64,6,50,\"60m\"]");
}

#define SCALER(metrics, current)                                                         \
	"{\"metadata\":{\"name\":\"h\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"}," \
	"\"spec\":{\"scaleTargetRef\":{\"kind\":\"Deployment\",\"name\":\"web\"},"       \
	"\"minReplicas\":1,\"maxReplicas\":5,\"metrics\":[" metrics                      \
	"]},\"status\":{\"currentReplicas\":2,\"currentMetrics\":[" current "]}}"
#define CPU                                                                  \
	"{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{" \
	"\"averageUtilization\":50}}}"

static void autoscalers_show_what_is_measured_of_what_is_aimed_at(void **state)
{
	const struct schema_kind *k = kind("autoscaling", "v2", "horizontalpodautoscalers");

	assert_cells(k, SCALER("", ""), "[\"h\",\"Deployment/web\",\"<none>\",\"1\",5,2,\"24h\"]");
	assert_cells(k,
		     SCALER(CPU, "{\"type\":\"Resource\",\"resource\":{\"current\":{"
				 "\"averageUtilization\":20}}}"),
		     "[\"h\",\"Deployment/web\",\"cpu: 20%/50%\",\"1\",5,2,\"24h\"]");
	assert_cells(
		k,
		SCALER("{\"type\":\"External\",\"external\":{\"target\":{\"averageValue\":\"7\"}}},"
		       "{\"type\":\"Odd\"}," CPU "," CPU,
		       ""),
		"[\"h\",\"Deployment/web\",\"<unknown>/7 (avg), <unknown type> + 2 more...\",\"1\","
		"5,2,\"24h\"]");
	assert_cells(kind("autoscaling", "v1", "horizontalpodautoscalers"),
		     "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"scaleTargetRef\":{\"kind\":\"A\","
		     "\"name\":\"b\"},\"maxReplicas\":5,\"targetCPUUtilizationPercentage\":40}}",
		     "[\"h\",\"A/b\",\"cpu: <unknown>/40%\",\"<unset>\",5,0,\"<unknown>\"]");
}

static void quotas_show_requests_and_limits_apart(void **state)
{
	assert_cells(kind("", "v1", "resourcequotas"),
		     "{\"metadata\":{\"name\":\"q\"},\"status\":{\"hard\":{\"pods\":\"5\","
		     "\"limits.cpu\":\"2\",\"cpu\":\"1\"},\"used\":{\"pods\":\"3\"}}}",
		     "[\"q\",\"cpu: 0/1, pods: 3/5\",\"limits.cpu: 0/2\",\"<unknown>\"]");
}

static void signing_requests_show_what_became_of_them(void **state)
{
	const struct schema_kind *k = kind("certificates.k8s.io", "v1",
					   "certificatesigningrequests");

	assert_cells(k, "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"username\":\"bob\"}}",
		     "[\"c\",\"<unknown>\",\"<none>\",\"bob\",\"<none>\",\"Pending\"]");
	assert_cells(k,
		     "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"signerName\":\"s\","
		     "\"username\":\"bob\",\"expirationSeconds\":3600},\"status\":{\"conditions\":"
		     "[{\"type\":\"Approved\"}],\"certificate\":\"eA==\"}}",
		     "[\"c\",\"<unknown>\",\"s\",\"bob\",\"60m\",\"Approved,Issued\"]");
}

static void policies_and_services_show_what_they_refer_to(void **state)
{
	assert_cells(
		kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"),
		"{\"metadata\":{\"name\":\"b\"},\"spec\":{\"policyName\":\"p\","
		"\"paramRef\":{\"name\":\"x\"}}}",
		"[\"b\",\"p\",\"*/x\",\"<unknown>\"]");
	assert_cells(kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
		     "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"validations\":[{},{}]}}",
		     "[\"p\",2,\"<unset>\",\"<unknown>\"]");
	assert_cells(kind("apiregistration.k8s.io", "v1", "apiservices"),
		     "{\"metadata\":{\"name\":\"v1.x\"},\"spec\":{\"service\":{\"name\":\"s\","
		     "\"namespace\":\"n\"}},\"status\":{\"conditions\":[{\"type\":\"Available\","
		     "\"status\":\"False\",\"reason\":\"Gone\"}]}}",
		     "[\"v1.x\",\"n/s\",\"False (Gone)\",\"<unknown>\"]");
	assert_cells(kind("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"),
		     "{\"metadata\":{\"name\":\"f\"},\"spec\":{\"matchingPrecedence\":7,"
		     "\"priorityLevelConfiguration\":{\"name\":\"l\"}}}",
		     "[\"f\",\"l\",7,\"<none>\",\"<unknown>\",\"?\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(autoscalers_show_what_is_measured_of_what_is_aimed_at),
		cmocka_unit_test(quotas_show_requests_and_limits_apart),
		cmocka_unit_test(signing_requests_show_what_became_of_them),
		cmocka_unit_test(policies_and_services_show_what_they_refer_to),
		cmocka_unit_test(pods_have_upstreams_columns),
		cmocka_unit_test(flow_schemas_show_their_level_and_whether_it_is_missing),
		cmocka_unit_test(priority_levels_show_their_shares_and_queues),
		cmocka_unit_test(a_new_pod_is_pending),
		cmocka_unit_test(a_running_pod_shows_its_restarts_and_when_the_last_was),
		cmocka_unit_test(a_pod_shows_the_reason_of_what_is_wrong),
		cmocka_unit_test(a_deleted_pod_is_terminating),
		cmocka_unit_test(nodes_show_readiness_and_roles),
		cmocka_unit_test(claims_show_their_state),
		cmocka_unit_test(claims_show_their_devices_when_asked_for_more),
		cmocka_unit_test(pool_status_requests_sum_their_pools),
		cmocka_unit_test(services_show_ports_and_addresses),
		cmocka_unit_test(events_show_their_name_last),
		cmocka_unit_test(endpoints_show_three_and_count_the_rest),
		cmocka_unit_test(numbers_stay_numbers),
		cmocka_unit_test(policies_and_bindings_show_their_parameters),
		cmocka_unit_test(kinds_without_columns_have_name_and_age),
		cmocka_unit_test(rows_carry_what_was_asked_for),
		cmocka_unit_test(later_tables_of_a_watch_have_no_columns),
		cmocka_unit_test(every_kind_can_show_an_empty_object),
		cmocka_unit_test(ages_are_shown_as_kubectl_shows_them),
	};

	return cmocka_run_group_tests_name("api/table", tests, NULL, NULL);
}

/*
 * Warnings about objects on which no running controller acts. In this world no controller runs.
 */
#include "server/plugins/workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "server/core/parts.h"
#include "server/testing/verb_world.h"

#define CORE      "/api/v1/namespaces/default/"
#define APPS      "/apis/apps/v1/namespaces/default/"
#define BATCH     "/apis/batch/v1/namespaces/default/"
#define CSRS      "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define CLAIMS    CORE "persistentvolumeclaims"
#define ENDPOINTS CORE "endpoints"

#define TEMPLATE(more)                                              \
	"'template':{'metadata':{'labels':{'a':'b'}},'spec':{" more \
	"'containers':[{'name':'c','image':'i'}]}}"
#define JOB(more)      "'spec':{" more TEMPLATE("'restartPolicy':'Never',") "}"
#define SELECTED(more) "'spec':{'selector':{'matchLabels':{'a':'b'}}," more TEMPLATE("") "}"
#define CLAIM(more)                                        \
	"'spec':{" more "'accessModes':['ReadWriteOnce']," \
	"'resources':{'requests':{'storage':'1Gi'}}}"
#define SUBSETS "'subsets':[{'addresses':[{'ip':'192.0.2.1'}],'ports':[{'port':80}]}]"
/* `openssl req -new`, of a P-256 key, with the subject CN=me. */
#define CSR(signer) \
	"'spec':{'signerName':'" signer "','usages':['client auth'],'request':'" CSR_PEM "'}"
#define CSR_PEM                                                                            \
	"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HOENBUUF3RFRFTE1Ba0dBMVVF" \
	"QXd3Q2JXVXdXVEFUQmdjcWhrak9QUUlCQmdncWhrak9QUU1CQndOQwpBQVN1clFwV2swcXo5dWMrOTJR" \
	"T0dHODhrKzQzQjh2TXZnOTZRd29yZTJHU3lLQ1ZSNDJNaHpvY2dUYkNCNFN4CkYyaXlVMURHQU9FZWc3" \
	"M2x2dXREZlpIeW9BQXdDZ1lJS29aSXpqMEVBd0lEU0FBd1JRSWdYWjVQSnJ6QmEycmkKbTBFU2xla3RR" \
	"VGkrbnBtaVIxZjZQTkF6L2ZoQ2JIc0NJUURPb0hlTDMvR3RLSXJQbFFxcWwwVjZNbHRJaVpUZApSVW9u" \
	"WVZEaVNxZFd6dz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="

/* Creates an object with this metadata and these other fields; returns the reply's warnings. */
static const char *warnings_of(struct verb_world *w, const char *target, const char *meta,
			       const char *more)
{
	char *body = arena_printf(&w->arena, "{'metadata':{%s},%s}", meta, more);
	struct verb_ask ask = { .method = "POST", .target = target, .body = body };
	const char *warnings;

	for (char *c = body; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	verb_world_ask(w, &ask);
	if (ask.status != 201)
		fail_msg("%s: %d %.*s", target, ask.status, (int)ask.got.n, ask.got.p);
	warnings = arena_printf(&w->arena, "%s", ask.warnings);
	verb_ask_release(&ask);
	return warnings;
}

static void the_warning_names_what_to_run(void **state)
{
	static const struct {
		const char *target, *more, *warning;
	} cases[] = {
		{ BATCH "jobs", JOB(""),
		  "nothing acts on jobs: no job-controller runs; start `devplane controller`, or "
		  "kube-controller-manager" },
		{ APPS "daemonsets", SELECTED(""),
		  "nothing acts on daemonsets: no daemonset-controller runs; start `devplane "
		  "controller`, or kube-controller-manager" },
		{ APPS "statefulsets", SELECTED("'serviceName':'s',"),
		  "nothing acts on statefulsets: no statefulset-controller runs, and devplane has "
		  "none; start kube-controller-manager" },
		{ CLAIMS, CLAIM(""),
		  "nothing acts on persistentvolumeclaims: no persistentvolume-binder-controller "
		  "runs, and devplane has none; start kube-controller-manager" },
		{ CSRS, CSR("kubernetes.io/kubelet-serving"),
		  "nothing acts on certificatesigningrequests: no "
		  "certificatesigningrequest-signing-controller runs, and devplane has none; start "
		  "kube-controller-manager" },
		{ ENDPOINTS, SUBSETS,
		  "nothing acts on endpoints: no endpointslice-mirroring-controller runs, and "
		  "devplane has none; start kube-controller-manager" },
		{ "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
		  "'spec':{'maxReplicas':2,'scaleTargetRef':{'kind':'Deployment','name':'d'}}",
		  "no horizontal-pod-autoscaler-controller runs" },
		{ "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
		  "'spec':{'minAvailable':1}", "no disruption-controller runs" },
		{ BATCH "cronjobs", "'spec':{'schedule':'* * * * *','jobTemplate':{" JOB("") "}}",
		  "no cronjob-controller runs" },
	};
	struct verb_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = warnings_of(w, cases[i].target, "'name':'a'", cases[i].more);

		if (!strstr(got, cases[i].warning))
			fail_msg("%s: \"%s\" in \"%s\"", cases[i].target, cases[i].warning, got);
	}
}

static void objects_that_need_no_controller_are_not_warned_about(void **state)
{
	static const struct {
		const char *target, *meta, *more;
	} cases[] = {
		{ BATCH "jobs", "'name':'a'", JOB("'managedBy':'example.com/other',") },
		{ CORE "services", "'name':'plain'",
		  "'spec':{'clusterIP':'None','ports':[{'port':80}]}" },
		{ CORE "services", "'name':'outside'",
		  "'spec':{'type':'ExternalName','externalName':'example.com','selector':{'a':'b'}"
		  "}" },
		{ CLAIMS, "'name':'a','annotations':{'pv.kubernetes.io/bind-completed':'yes'}",
		  CLAIM("'volumeName':'v',") },
		{ CSRS, "'name':'a'", CSR("example.com/signer") },
		{ ENDPOINTS,
		  "'name':'a','labels':{'endpointslice.kubernetes.io/skip-mirror':'true'}",
		  SUBSETS },
		{ ENDPOINTS,
		  "'name':'b','annotations':{'control-plane.alpha.kubernetes.io/leader':'{}'}",
		  SUBSETS },
		{ CORE "configmaps", "'name':'a'", "'data':{}" },
	};
	struct verb_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *got = warnings_of(w, cases[i].target, cases[i].meta, cases[i].more);

		if (strstr(got, "nothing acts on"))
			fail_msg("%s with %s: \"%s\"", cases[i].target, cases[i].meta, got);
	}
}

/* The mirror is made of Endpoints that somebody else keeps, not of a selector's. */
static void endpoints_of_a_service_with_a_selector_are_not_mirrored(void **state)
{
	struct verb_world *w = *state;

	(void)warnings_of(w, CORE "services", "'name':'web'",
			  "'spec':{'clusterIP':'None','selector':{'a':'b'},'ports':[{'port':80}]}");
	assert_null(strstr(warnings_of(w, ENDPOINTS, "'name':'web'", SUBSETS), "nothing acts on"));
	(void)warnings_of(w, CORE "services", "'name':'db'",
			  "'spec':{'clusterIP':'None','ports':[{'port':80}]}");
	assert_non_null(
		strstr(warnings_of(w, ENDPOINTS, "'name':'db'", SUBSETS), "nothing acts on"));
}

static void a_running_controller_manager_acts_on_all_kinds(void **state)
{
	struct verb_world *w = *state;
	char now[TIMESTAMP_SIZE];

	(void)timestamp_print(clock_wall(w->server.clock), TIMESTAMP_MICRO, now);
	(void)verb_world_call(
		w, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
		arena_printf(&w->arena,
			     "{\"metadata\":{\"name\":\"kube-controller-manager\"},\"spec\":{"
			     "\"holderIdentity\":\"m\",\"renewTime\":\"%s\"}}",
			     now),
		201);
	assert_string_equal(warnings_of(w, CLAIMS, "'name':'b'", CLAIM("")), "");
	assert_string_equal(
		warnings_of(w, CSRS, "'name':'b'", CSR("kubernetes.io/kubelet-serving")), "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, verb_world_set_up, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_warning_names_what_to_run),
		TEST(objects_that_need_no_controller_are_not_warned_about),
		TEST(endpoints_of_a_service_with_a_selector_are_not_mirrored),
		TEST(a_running_controller_manager_acts_on_all_kinds),
	};

	return cmocka_run_group_tests_name("server/admit_workloads", tests, NULL, NULL);
}

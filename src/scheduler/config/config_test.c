/*
 * The configuration file: what it may say, what it means, what is refused and how.
 */
#include "scheduler/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

static void config_release_cleanup(struct config *c)
{
	config_release(c);
}

static void read_ok(struct config *c, const char *text)
{
	struct error err = { 0 };

	config_init(c);
	if (config_read(c, str_from(text), &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_str(struct str s, const char *z)
{
	char *copy = str_dup(s);

	assert_string_equal(copy, z);
	free(copy);
}

/* "A B:3 C": names, with the weights that are said. */
static void assert_set(const struct config_plugin *v, size_t n, const char *z)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(65536);

	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&got, "%s%.*s", i ? " " : "", STR_ARG(v[i].name));
		if (v[i].weight)
			(void)buf_printf(&got, ":%d", v[i].weight);
	}
	assert_string_equal(got.p ? got.p : "", z);
}

#define BEFORE                                                                             \
	"SchedulingGates PrioritySort NodeName NodeUnschedulable TaintToleration:3 "       \
	"NodeAffinity:2 NodePorts NodeResourcesFit:1 VolumeRestrictions NodeVolumeLimits " \
	"VolumeBinding VolumeZone PodTopologySpread:2 InterPodAffinity:2 DynamicResources:2 "
#define DEFAULTS                                                                      \
	BEFORE "DefaultPreemption NodeResourcesBalancedAllocation:1 ImageLocality:1 " \
	       "DefaultBinder NodeDeclaredFeatures"

static void assert_defaults(const struct config *c)
{
	const struct config_profile *p = &c->profiles[0];

	assert_int_equal(c->nprofiles, 1);
	assert_str(p->name, "default-scheduler");
	assert_set(p->points[POINT_MULTI].enabled, p->points[POINT_MULTI].nenabled, DEFAULTS);
	assert_int_equal(p->points[POINT_FILTER].nenabled, 0);
	assert_int_equal(p->percentage_of_nodes, 0);
	assert_int_equal(c->initial_backoff_ms, 1000);
	assert_int_equal(c->max_backoff_ms, 10000);
	assert_true(c->leader_elect);
	assert_str(c->lease_name, "kube-scheduler");
	assert_str(c->lease_namespace, "kube-system");
	assert_int_equal(c->lease_duration_ms, 15000);
	assert_int_equal(c->renew_deadline_ms, 10000);
	assert_int_equal(c->retry_period_ms, 2000);
	assert_true(c->qps == 0);
	assert_int_equal(c->burst, 0);
}

static void nothing_said_is_the_defaults(void **state)
{
	CLEANUP(config_release) struct config c;

	config_init(&c);
	assert_defaults(&c);
	config_release(&c);
	read_ok(&c, HEAD);
	assert_defaults(&c);
}

static void every_field_has_its_place(void **state)
{
	CLEANUP(config_release) struct config c;

	read_ok(&c, HEAD "parallelism: 4\n"
			 "leaderElection: {leaderElect: false, leaseDuration: 30s, renewDeadline: "
			 "1m30s, retryPeriod: 500ms, resourceLock: leases, resourceName: lock, "
			 "resourceNamespace: ns}\n"
			 "clientConnection: {kubeconfig: /etc/k, qps: 12.5, burst: 7, contentType: "
			 "application/json, acceptContentTypes: ''}\n"
			 "enableProfiling: false\nenableContentionProfiling: null\n"
			 "percentageOfNodesToScore: 30\npodInitialBackoffSeconds: 2\n"
			 "podMaxBackoffSeconds: 20\nextenders: []\ndelayCacheUntilActive: true\n"
			 "profiles:\n"
			 "- schedulerName: one\n  percentageOfNodesToScore: 0\n"
			 "  pluginConfig: [{name: NodeResourcesFit, args: {kind: "
			 "NodeResourcesFitArgs, ignoredResources: [a]}}]\n"
			 "- schedulerName: two\n"
			 "devplane: {plugins: [{path: /usr/lib/a.so}, {path: b.so}]}\n");
	assert_false(c.leader_elect);
	assert_int_equal(c.lease_duration_ms, 30000);
	assert_int_equal(c.renew_deadline_ms, 90000);
	assert_int_equal(c.retry_period_ms, 500);
	assert_str(c.lease_name, "lock");
	assert_str(c.lease_namespace, "ns");
	assert_str(c.kubeconfig, "/etc/k");
	assert_true(c.qps == 12.5);
	assert_int_equal(c.burst, 7);
	assert_int_equal(c.initial_backoff_ms, 2000);
	assert_int_equal(c.max_backoff_ms, 20000);
	assert_int_equal(c.nprofiles, 2);
	assert_int_equal(c.profiles[0].percentage_of_nodes, 0);
	assert_int_equal(c.profiles[1].percentage_of_nodes, 30);
	assert_int_equal(c.nplugin_paths, 2);
	assert_str(c.plugin_paths[0], "/usr/lib/a.so");
	assert_str(c.plugin_paths[1], "b.so");
	assert_true(json_has_text(
		json_getz(config_args(&c.profiles[0], STR("NodeResourcesFit")), "ignoredResources"),
		STR("a")));
	assert_null(config_args(&c.profiles[1], STR("NodeResourcesFit")));
}

static void json_is_read_as_well(void **state)
{
	CLEANUP(config_release) struct config c;

	read_ok(&c, "{\"apiVersion\":\"kubescheduler.config.k8s.io/v1\",\n\t\"kind\":"
		    "\"KubeSchedulerConfiguration\",\"podMaxBackoffSeconds\":60}");
	assert_int_equal(c.max_backoff_ms, 60000);
}

static void defaults_are_changed_by_the_profile(void **state)
{
	static const struct {
		const char *multi, *enabled;
	} rows[] = {
		{ "{enabled: [{name: Own, weight: 4}]}", DEFAULTS " Own:4" },
		{ "{disabled: [{name: '*'}], enabled: [{name: Own}, {name: DefaultBinder}]}",
		  "Own DefaultBinder" },
		/* Named again: in its place, with what is said now. */
		{ "{enabled: [{name: DefaultPreemption, weight: 9}]}",
		  BEFORE "DefaultPreemption:9 NodeResourcesBalancedAllocation:1 ImageLocality:1 "
			 "DefaultBinder NodeDeclaredFeatures" },
		/* Disabled and enabled: enabled, at the end. */
		{ "{disabled: [{name: DefaultPreemption}], enabled: [{name: DefaultPreemption}]}",
		  BEFORE "NodeResourcesBalancedAllocation:1 ImageLocality:1 DefaultBinder "
			 "NodeDeclaredFeatures DefaultPreemption" },
		/* Disabled plugins need not exist. */
		{ "{disabled: [{name: Nothing}]}", DEFAULTS },
		/* Duplicates are accepted here; profile_new() rejects them. */
		{ "{disabled: [{name: '*'}], enabled: [{name: A}, {name: A}]}", "A A" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(65536);
		CLEANUP(config_release) struct config c;
		const struct config_set *s;

		(void)buf_printf(&text, HEAD "profiles: [{plugins: {multiPoint: %s}}]\n",
				 rows[i].multi);
		read_ok(&c, text.p);
		s = &c.profiles[0].points[POINT_MULTI];
		assert_set(s->enabled, s->nenabled, rows[i].enabled);
	}
}

static void points_keep_what_they_say(void **state)
{
	CLEANUP(config_release) struct config c;
	const struct config_profile *p;

	read_ok(&c, HEAD "profiles:\n- plugins:\n    filter: {enabled: [{name: A}], disabled: "
			 "[{name: B}, {name: C}]}\n    postBind: {enabled: [{name: D}]}\n"
			 "    podGroupPostFilter: {}\n");
	p = &c.profiles[0];
	assert_set(p->points[POINT_FILTER].enabled, p->points[POINT_FILTER].nenabled, "A");
	assert_set(p->points[POINT_FILTER].disabled, p->points[POINT_FILTER].ndisabled, "B C");
	assert_set(p->points[POINT_POST_BIND].enabled, p->points[POINT_POST_BIND].nenabled, "D");
}

static const struct {
	const char *text, *message;
} refused[] = {
	{ "a: [\n",
	  "line 2, column 1: did not find expected node content while parsing a flow node" },
	{ "", "not an object" },
	{ "kind: KubeSchedulerConfiguration\n", "Object 'apiVersion' is missing" },
	{ "apiVersion: v1\n", "Object 'Kind' is missing" },
	{ "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: "
	  "KubeSchedulerConfiguration\n",
	  "no kind \"KubeSchedulerConfiguration\" is registered for version "
	  "\"kubescheduler.config.k8s.io/v1beta3\", expected KubeSchedulerConfiguration of "
	  "kubescheduler.config.k8s.io/v1" },
	{ HEAD "foo: 1\n", "strict decoding error: unknown field \"foo\"" },
	{ HEAD "profiles: [{plugins: {filter: {use: []}}}]\n",
	  "strict decoding error: unknown field \"profiles[0].plugins.filter.use\"" },
	{ HEAD "profiles: [{plugins: {filter: {enabled: [{name: a, wieght: 1}]}}}]\n",
	  "strict decoding error: unknown field "
	  "\"profiles[0].plugins.filter.enabled[0].wieght\"" },
	{ HEAD "parallelism: 1\nparallelism: 2\n",
	  "strict decoding error: key \"parallelism\" already set in map" },
	{ HEAD "parallelism: x\n", "parallelism: Invalid value: \"x\": must be an integer" },
	{ HEAD "parallelism: 0\n", "parallelism: Invalid value: 0: should be an integer "
				   "value greater than zero" },
	{ HEAD "profiles: 3\n", "profiles: Invalid value: 3: must be a list" },
	{ HEAD "profiles: [3]\n", "profiles[0]: Invalid value: 3: must be an object" },
	{ HEAD "percentageOfNodesToScore: 101\nprofiles: [{percentageOfNodesToScore: "
	       "-1}]\n",
	  "[profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid range "
	  "[0-100], percentageOfNodesToScore: Invalid value: 101: not in valid range "
	  "[0-100]]" },
	{ HEAD "podInitialBackoffSeconds: 0\n",
	  "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0" },
	{ HEAD "podInitialBackoffSeconds: 11\n",
	  "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to "
	  "PodInitialBackoffSeconds" },
	{ HEAD "profiles: [{schedulerName: a}, {schedulerName: a}]\n",
	  "profiles[1].schedulerName: Duplicate value: \"a\"" },
	{ HEAD "profiles: [{schedulerName: a}, {}]\n",
	  "profiles[1].schedulerName: Required value" },
	{ HEAD "profiles: [{schedulerName: ''}]\n", "profiles[0].schedulerName: Required value" },
	{ HEAD "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: "
	       "{enabled: [{name: X}]}}}]\n",
	  "profiles[1].plugins.queueSort: Invalid value: must be the same for all "
	  "profiles" },
	{ HEAD "profiles: [{plugins: {queueSort: {enabled: [{name: X}, {name: Z}]}}}]\n",
	  "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort "
	  "plugin can be enabled" },
	{ HEAD "profiles: [{plugins: {filter: {enabled: [{weight: 1}]}}}]\n",
	  "profiles[0].plugins.filter.enabled[0].name: Required value" },
	{ HEAD "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]\n",
	  "profiles[0].plugins.filter.enabled[0]: Invalid value: \"EBSLimits\": was "
	  "invalid in version \"v1\" (KubeSchedulerConfiguration is version "
	  "\"kubescheduler.config.k8s.io/v1\")" },
	{ HEAD "profiles: [{pluginConfig: [{name: A}, {name: B}, {name: A}]}]\n",
	  "profiles[0].pluginConfig[2]: Duplicate value: \"A\"" },
	{ HEAD "profiles: [{pluginConfig: [{name: A, args: 1}]}]\n",
	  "profiles[0].pluginConfig[0].args: Invalid value: must be an object" },
	{ HEAD "profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: "
	       "NodeResourcesFitArgs}}]}]\n",
	  "decoding .profiles[0].pluginConfig[0]: args for plugin NodeAffinity were not of "
	  "type NodeAffinityArgs.kubescheduler.config.k8s.io, got NodeResourcesFitArgs" },
	{ HEAD "leaderElection: {leaseDuration: 5s}\n",
	  "leaderElection.leaseDuration: Invalid value: 5000000000: must be greater than "
	  "`RenewDeadline`" },
	{ HEAD "leaderElection: {retryPeriod: -1s, resourceLock: endpoints}\n",
	  "[leaderElection.retryPeriod: Invalid value: -1000000000: must be greater than "
	  "zero, leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock "
	  "value must be \"leases\"]" },
	{ HEAD "leaderElection: {retryPeriod: 5}\n",
	  "leaderElection.retryPeriod: Invalid value: 5: must be a duration such as 15s" },
	{ HEAD "clientConnection: {burst: -3}\n",
	  "clientConnection.burst: Invalid value: -3: must be non-negative" },
	{ HEAD "extenders: [{urlPrefix: x}]\n",
	  "extenders: Forbidden: extenders are not supported, use devplane.plugins" },
	{ HEAD "devplane: {plugins: [{}]}\n", "devplane.plugins[0].path: Required value" },
	{ HEAD "devplane: {plugin: []}\n",
	  "strict decoding error: unknown field \"devplane.plugin\"" },
};

static void an_error_names_the_path_of_the_field(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		CLEANUP(config_release) struct config c;
		struct error err = { 0 };

		config_init(&c);
		assert_int_equal(config_read(&c, str_from(refused[i].text), &err), -ERR_INVALID);
		assert_string_equal(err.msg, refused[i].message);
		assert_defaults(&c);
		assert_int_equal(config_read(&c, str_from(refused[i].text), NULL), -ERR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_said_is_the_defaults),
		cmocka_unit_test(every_field_has_its_place),
		cmocka_unit_test(json_is_read_as_well),
		cmocka_unit_test(defaults_are_changed_by_the_profile),
		cmocka_unit_test(points_keep_what_they_say),
		cmocka_unit_test(an_error_names_the_path_of_the_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Services, pods and times, as tables.
 */
#include "controller/endpoint_slices/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/yaml/yaml.h"

static struct json *cluster_parse(struct arena *a, const char *yaml)
{
	struct json *v = NULL;
	struct error err;

	if (yaml_parse(a, str_from(yaml), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, yaml);
	return v;
}

static void services_are_read(void **state UNUSED)
{
	static const struct {
		const char *spec;
		bool selects, headless, ipv4, ipv6;
		enum network_hints hints;
	} cases[] = {
		{ "{selector: {a: b}, clusterIP: 10.0.0.1}", true, false, true, false,
		  NETWORK_HINTS_NONE },
		{ "{selector: {a: b}, clusterIP: 'fd00::1'}", true, false, false, true,
		  NETWORK_HINTS_NONE },
		{ "{selector: {a: b}, clusterIP: None}", true, true, true, true,
		  NETWORK_HINTS_NONE },
		{ "{selector: {a: b}, clusterIP: None, ipFamilies: [IPv6]}", true, true, false,
		  true, NETWORK_HINTS_NONE },
		{ "{selector: {a: b}, clusterIP: 10.0.0.1, trafficDistribution: PreferSameZone}",
		  true, false, true, false, NETWORK_HINTS_ZONE },
		{ "{selector: {a: b}, clusterIP: 10.0.0.1, trafficDistribution: PreferSameNode}",
		  true, false, true, false, NETWORK_HINTS_NODE },
		{ "{selector: {a: b}, type: ExternalName}", false },
		{ "{selector: {}}", false },
		{ "{}", false },
		{ "7", false },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct json *v = cluster_parse(&a,
						     arena_printf(&a, "spec: %s", cases[i].spec));
		struct network_service s = { 0 };

		if (cluster_service_read(&a, v, &s) != cases[i].selects)
			fail_msg("case %zu", i);
		if (cases[i].selects &&
		    (s.headless != cases[i].headless || s.ipv4 != cases[i].ipv4 ||
		     s.ipv6 != cases[i].ipv6 || cluster_service_hints(v) != cases[i].hints))
			fail_msg("case %zu", i);
	}
	arena_release(&a);
}

static void the_annotation_for_topology_comes_first(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(
		cluster_service_hints(cluster_parse(
			&a, "metadata: {annotations: {service.kubernetes.io/topology-mode: Auto}}\n"
			    "spec: {trafficDistribution: PreferClose}")),
		NETWORK_HINTS_NONE);
	assert_int_equal(
		cluster_service_hints(cluster_parse(
			&a, "metadata: {annotations: {service.kubernetes.io/topology-aware-hints: "
			    "Disabled, service.kubernetes.io/topology-mode: Auto}}\n"
			    "spec: {trafficDistribution: PreferClose}")),
		NETWORK_HINTS_ZONE);
	arena_release(&a);
}

static void addresses_are_those_of_pods_that_run(void **state UNUSED)
{
	static const struct {
		const char *status;
		size_t n;
	} cases[] = {
		{ "{podIPs: [{ip: 10.0.0.1}]}", 1 },
		{ "{phase: Pending, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}]}", 2 },
		{ "{phase: Succeeded, podIPs: [{ip: 10.0.0.1}]}", 0 },
		{ "{phase: Failed, podIPs: [{ip: 10.0.0.1}]}", 0 },
		{ "{podIPs: [{}, 7, {ip: 5}]}", 0 },
		{ "{podIPs: 7}", 0 },
		{ "{}", 0 },
	};
	struct arena a;
	struct str *v;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct json *pod = cluster_parse(
			&a, arena_printf(&a, "status: %s", cases[i].status));

		if (cluster_pod_addresses(&a, pod, &v) != cases[i].n)
			fail_msg("case %zu", i);
	}
	arena_release(&a);
}

static void the_trigger_is_the_first_change_since_the_last_sync(void **state UNUSED)
{
	struct cluster_trigger t = { 0 };
	struct arena a;
	const struct json *service;

	arena_init(&a, MIB);
	service = cluster_parse(&a, "metadata: {creationTimestamp: '1970-01-01T00:00:05Z'}");
	cluster_trigger_pod(&t, 7);
	assert_int_equal(cluster_trigger_end(&t, service), INT64_C(5000000000));
	cluster_trigger_pod(&t, 7);
	assert_int_equal(cluster_trigger_end(&t, service), 0);
	cluster_trigger_pod(&t, 9);
	cluster_trigger_pod(&t, 8);
	cluster_trigger_pod(&t, 7);
	cluster_trigger_pod(&t, 0);
	assert_int_equal(cluster_trigger_end(&t, service), 8);
	cluster_trigger_pod(&t, 9);
	assert_int_equal(cluster_trigger_end(&t, service), 0);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_are_read),
		cmocka_unit_test(the_annotation_for_topology_comes_first),
		cmocka_unit_test(addresses_are_those_of_pods_that_run),
		cmocka_unit_test(the_trigger_is_the_first_change_since_the_last_sync),
	};

	return cmocka_run_group_tests_name("controller/endpoint_slices_cluster", tests, NULL, NULL);
}

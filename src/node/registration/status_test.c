/*
 * The Node's status, and its patches, applied as a server applies them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/patch/strategic.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "node/health/health.h"
#include "node/registration/status.h"

struct bench {
	struct arena arena;
	struct machine machine;
	struct machine_numa numa;
	struct assign *assign;
	struct node_status_input in;
};

static void bench_init(struct bench *b)
{
	arena_init(&b->arena, 16 * MIB);
	machine_make(&b->machine, 4, INT64_C(8) << 30, 1);
	b->numa = (struct machine_numa){ .memory_bytes = INT64_C(8) << 30,
					 .huge_size = { 2 * MIB, 1024 * MIB },
					 .huge_bytes = { 64 * MIB, 0 },
					 .nhuge = 2 };
	b->machine.numa = &b->numa;
	b->machine.arch = STR("arm64");
	b->machine.boot_id = STR("boot-1");
	assert_int_equal(
		assign_new(&(struct assign_opts){ .machine = &b->machine }, &b->assign, NULL), 0);
	b->in = (struct node_status_input){ .name = STR("n1"),
					    .ip = STR("10.1.2.3"),
					    .machine = &b->machine,
					    .assign = b->assign,
					    .max_pods = 110,
					    .reserved_cpu_milli = 500,
					    .reserved_memory = 1024 * MIB,
					    .storage_bytes = INT64_C(100) << 30,
					    .runtime_ready = true,
					    .runtime_name = STR("containerd"),
					    .runtime_version = STR("1.6.20"),
					    .wall_ns = 1000 * CLOCK_SEC };
}

static void bench_release(struct bench *b)
{
	assign_free(b->assign);
	machine_release(&b->machine);
	arena_release(&b->arena);
}

static void offer(struct bench *b, const char *resource, size_t n)
{
	struct assign_device devices[2] = { { .id = STR("a") },
					    { .id = STR("b"), .health = ASSIGN_UNHEALTHY } };

	assign_set_resource(b->assign, str_from(resource), devices, n);
}

static void assert_at(const struct json *node, const char *pointer, const char *text)
{
	struct str got = json_str(json_pointer(node, str_from(pointer)));

	if (!str_eqz(got, text))
		fail_msg("%s is '%.*s', not '%s'", pointer, STR_ARG(got), text);
}

/* Applies the patch as the server does. */
static struct json *patched(struct bench *b, struct json *known, const struct json *patch)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"), STR("nodes"));

	assert_non_null(patch);
	assert_int_equal(patch_strategic(&b->arena, &known, kind->type, patch, NULL), 0);
	return known;
}

static void resources_are_what_the_machine_has_less_what_is_reserved(void **state UNUSED)
{
	struct bench b;
	struct json *n;

	bench_init(&b);
	offer(&b, "acme.com/gpu", 2);
	n = node_status_make(&b.arena, &b.in, NULL);
	assert_at(n, "/status/capacity/cpu", "4");
	assert_at(n, "/status/allocatable/cpu", "3500m");
	assert_at(n, "/status/capacity/memory", "8Gi");
	assert_at(n, "/status/allocatable/memory", "7104Mi");
	assert_at(n, "/status/capacity/hugepages-2Mi", "64Mi");
	assert_at(n, "/status/capacity/hugepages-1Gi", "0");
	assert_at(n, "/status/capacity/ephemeral-storage", "100Gi");
	assert_at(n, "/status/capacity/pods", "110");
	assert_at(n, "/status/capacity/acme.com~1gpu", "2");
	assert_at(n, "/status/allocatable/acme.com~1gpu", "1");
	assert_at(n, "/metadata/annotations/devplane.dev~1extended-resources", "acme.com/gpu");
	assert_int_equal(node_status_cpu_milli(&b.in), 3500);
	b.in.reserved_memory = INT64_C(16) << 30;
	assert_int_equal(node_status_memory(&b.in), 0);
	bench_release(&b);
}

static void conditions_read_as_kubelet_writes_them(void **state UNUSED)
{
	struct bench b;
	struct json *n, *later;

	bench_init(&b);
	n = node_status_make(&b.arena, &b.in, NULL);
	assert_at(n, "/status/conditions/0/type", "MemoryPressure");
	assert_at(n, "/status/conditions/0/reason", "KubeletHasSufficientMemory");
	assert_at(n, "/status/conditions/1/message", "kubelet has no disk pressure");
	assert_at(n, "/status/conditions/2/status", "False");
	assert_at(n, "/status/conditions/3/type", "Ready");
	assert_at(n, "/status/conditions/3/reason", "KubeletReady");
	assert_at(n, "/status/conditions/3/lastTransitionTime", "1970-01-01T00:16:40Z");
	b.in.runtime_ready = false;
	b.in.runtime_message = STR("cni is not there");
	b.in.disk_pressure = true;
	b.in.wall_ns = 2000 * CLOCK_SEC;
	later = node_status_make(&b.arena, &b.in, n);
	assert_at(later, "/status/conditions/0/lastTransitionTime", "1970-01-01T00:16:40Z");
	assert_at(later, "/status/conditions/0/lastHeartbeatTime", "1970-01-01T00:33:20Z");
	assert_at(later, "/status/conditions/1/reason", "KubeletHasDiskPressure");
	assert_at(later, "/status/conditions/1/lastTransitionTime", "1970-01-01T00:33:20Z");
	assert_at(later, "/status/conditions/3/reason", "KubeletNotReady");
	assert_at(later, "/status/conditions/3/message", "cni is not there");
	bench_release(&b);
}

static void names_and_versions_are_told(void **state UNUSED)
{
	static const char *const labels[] = { "zone=a", "kubernetes.io/hostname=other" };
	static const char *const taints[] = { "gpu=yes:NoSchedule", "alone:NoExecute" };
	struct bench b;
	struct json *n;

	bench_init(&b);
	b.in.labels = labels;
	b.in.nlabels = 2;
	b.in.taints = taints;
	b.in.ntaints = 2;
	assert_int_equal(node_status_check(&b.in, NULL), 0);
	n = node_status_make(&b.arena, &b.in, NULL);
	assert_at(n, "/metadata/labels/zone", "a");
	assert_at(n, "/metadata/labels/kubernetes.io~1hostname", "other");
	assert_at(n, "/metadata/labels/kubernetes.io~1arch", "arm64");
	assert_at(n, "/spec/taints/0/value", "yes");
	assert_at(n, "/spec/taints/1/key", "alone");
	assert_at(n, "/spec/taints/1/effect", "NoExecute");
	assert_at(n, "/status/addresses/0/address", "10.1.2.3");
	assert_at(n, "/status/addresses/1/type", "Hostname");
	assert_at(n, "/status/nodeInfo/containerRuntimeVersion", "containerd://1.6.20");
	assert_at(n, "/status/nodeInfo/operatingSystem", "linux");
	assert_null(json_pointer(n, STR("/metadata/annotations")));
	b.in.hollow = true;
	n = node_status_make(&b.arena, &b.in, NULL);
	assert_at(n, "/metadata/labels/devplane.dev~1runtime", "hollow");
	assert_non_null(json_pointer(n, STR("/metadata/annotations/devplane.dev~1hollow")));
	bench_release(&b);
}

static void labels_and_taints_that_are_none_are_refused(void **state UNUSED)
{
	static const char *const bad_labels[] = { "a b=c", "=x", "a=b c" };
	static const char *const bad_taints[] = { "a=b", "a=b:Sometimes", ":NoSchedule" };
	struct bench b;
	struct error err;

	bench_init(&b);
	for (size_t i = 0; i < 3; i++) {
		b.in.labels = &bad_labels[i];
		b.in.nlabels = 1;
		assert_int_equal(node_status_check(&b.in, &err), -ERR_INVALID);
		assert_non_null(strstr(err.msg, bad_labels[i]));
	}
	b.in.nlabels = 0;
	for (size_t i = 0; i < 3; i++) {
		b.in.taints = &bad_taints[i];
		b.in.ntaints = 1;
		assert_int_equal(node_status_check(&b.in, &err), -ERR_INVALID);
	}
	bench_release(&b);
}

/* --- patches --------------------------------------------------------------------------------- */

static void nothing_is_patched_for_a_heartbeat(void **state UNUSED)
{
	struct bench b;
	struct json *known, *wanted, *beat;

	bench_init(&b);
	offer(&b, "acme.com/gpu", 2);
	known = node_status_make(&b.arena, &b.in, NULL);
	b.in.wall_ns += 60 * CLOCK_SEC;
	wanted = node_status_make(&b.arena, &b.in, known);
	assert_null(node_status_patch(&b.arena, known, wanted));
	beat = node_status_beat(&b.arena, NULL, wanted);
	known = patched(&b, known, beat);
	assert_at(known, "/status/conditions/3/lastHeartbeatTime", "1970-01-01T00:17:40Z");
	assert_int_equal(json_count(json_pointer(known, STR("/status/conditions"))), 4);
	bench_release(&b);
}

static void vanished_resources_are_removed_and_those_of_others_stay(void **state UNUSED)
{
	struct bench b;
	struct json *known, *wanted, *other;

	bench_init(&b);
	offer(&b, "acme.com/gpu", 2);
	offer(&b, "acme.com/nic", 1);
	known = node_status_make(&b.arena, &b.in, NULL);
	json_put_str(&b.arena, json_pointer(known, STR("/status/capacity")), "else.com/dongle",
		     STR("4"));
	json_put_str(&b.arena, json_pointer(known, STR("/metadata/labels")), "mine", STR("x"));
	other = json_make_object(&b.arena);
	json_put_str(&b.arena, other, "type", STR("NetworkUnavailable"));
	json_append(json_pointer(known, STR("/status/conditions")), other);

	assign_drop_resource(b.assign, STR("acme.com/gpu"));
	b.numa.nhuge = 1;
	b.in.ip = STR("10.1.2.4");
	wanted = node_status_make(&b.arena, &b.in, known);
	known = patched(&b, known, node_status_patch(&b.arena, known, wanted));
	assert_null(json_pointer(known, STR("/status/capacity/acme.com~1gpu")));
	assert_null(json_pointer(known, STR("/status/allocatable/acme.com~1gpu")));
	assert_at(known, "/status/capacity/acme.com~1nic", "1");
	assert_at(known, "/status/capacity/else.com~1dongle", "4");
	assert_null(json_pointer(known, STR("/status/capacity/hugepages-1Gi")));
	assert_at(known, "/metadata/labels/mine", "x");
	assert_at(known, "/metadata/annotations/devplane.dev~1extended-resources", "acme.com/nic");
	assert_at(known, "/status/addresses/0/address", "10.1.2.4");
	assert_int_equal(json_count(json_pointer(known, STR("/status/addresses"))), 2);
	assert_non_null(node_status_condition(known, STR("NetworkUnavailable")));
	assert_null(node_status_patch(&b.arena, known, wanted));
	bench_release(&b);
}

static void on_health(void *arg, const struct health_device *now, enum assign_health before)
{
	(void)arg;
	(void)now;
	(void)before;
}

static void health_is_written_when_it_changes_and_removed_with_its_driver(void **state UNUSED)
{
	static const char at[] = "/metadata/annotations/devplane.dev~1device-health";
	struct health *h = health_new(&(struct health_opts){ .on_change = on_health });
	struct plugin_health v = { .pool = STR("p"),
				   .device = STR("g0"),
				   .health = ASSIGN_UNHEALTHY };
	struct json *known, *wanted;
	struct bench b;

	bench_init(&b);
	b.in.health = h;
	known = node_status_make(&b.arena, &b.in, NULL);
	assert_null(json_pointer(known, str_from(at)));
	health_report(h, STR("d"), &v, 1, 0);
	wanted = node_status_make(&b.arena, &b.in, known);
	known = patched(&b, known, node_status_patch(&b.arena, known, wanted));
	assert_at(known, at,
		  "[{\"id\":\"d/p/g0\",\"health\":\"Unhealthy\",\"since\":"
		  "\"1970-01-01T00:16:40Z\"}]");
	b.in.wall_ns += 100 * CLOCK_SEC;
	assert_null(node_status_patch(&b.arena, known, node_status_make(&b.arena, &b.in, known)));
	v.health = ASSIGN_HEALTHY;
	health_report(h, STR("d"), &v, 1, 0);
	wanted = node_status_make(&b.arena, &b.in, known);
	known = patched(&b, known, node_status_patch(&b.arena, known, wanted));
	assert_at(known, at,
		  "[{\"driver\":\"d\",\"pool\":\"p\",\"health\":\"Healthy\","
		  "\"devices\":[\"g0\"]}]");
	v.message = STR("still fine");
	health_report(h, STR("d"), &v, 1, 1000);
	b.in.wall_ns += 100 * CLOCK_SEC;
	assert_null(node_status_patch(&b.arena, known, node_status_make(&b.arena, &b.in, known)));
	health_driver_gone(h, STR("d"));
	wanted = node_status_make(&b.arena, &b.in, known);
	known = patched(&b, known, node_status_patch(&b.arena, known, wanted));
	assert_null(json_pointer(known, str_from(at)));
	health_free(h);
	bench_release(&b);
}

static void equal_quantities_of_other_spelling_are_left_alone(void **state UNUSED)
{
	struct bench b;
	struct json *known, *wanted;

	bench_init(&b);
	known = node_status_make(&b.arena, &b.in, NULL);
	json_put_str(&b.arena, json_pointer(known, STR("/status/capacity")), "memory",
		     STR("8192Mi"));
	wanted = node_status_make(&b.arena, &b.in, known);
	assert_null(node_status_patch(&b.arena, known, wanted));
	bench_release(&b);
}

static void an_empty_node_becomes_whole(void **state UNUSED)
{
	struct bench b;
	struct json *known, *wanted;

	bench_init(&b);
	offer(&b, "acme.com/gpu", 1);
	known = json_make_object(&b.arena);
	json_put_str(&b.arena, json_need_object(&b.arena, known, "metadata"), "name", STR("n1"));
	wanted = node_status_make(&b.arena, &b.in, known);
	known = patched(
		&b, known,
		node_status_beat(&b.arena, node_status_patch(&b.arena, known, wanted), wanted));
	assert_true(json_equal(json_getz(known, "status"), json_getz(wanted, "status")));
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resources_are_what_the_machine_has_less_what_is_reserved),
		cmocka_unit_test(conditions_read_as_kubelet_writes_them),
		cmocka_unit_test(names_and_versions_are_told),
		cmocka_unit_test(labels_and_taints_that_are_none_are_refused),
		cmocka_unit_test(nothing_is_patched_for_a_heartbeat),
		cmocka_unit_test(vanished_resources_are_removed_and_those_of_others_stay),
		cmocka_unit_test(health_is_written_when_it_changes_and_removed_with_its_driver),
		cmocka_unit_test(equal_quantities_of_other_spelling_are_left_alone),
		cmocka_unit_test(an_empty_node_becomes_whole),
	};

	return cmocka_run_group_tests_name("node/node_status", tests, NULL, NULL);
}

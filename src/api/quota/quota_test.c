/*
 * The usage of objects, with the values that kube-apiserver 1.37 charges for them.
 */
#include "api/quota/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"

#define NOW_NS (INT64_C(1790000000) * 1000000000) /* 2026-09-21T14:13:20Z */

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *tree = NULL;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return tree;
}

static struct str resource_of(const struct quota_context *ctx, struct str device_class)
{
	(void)ctx;
	return str_eqz(device_class, "gpu") ? STR("example.com/gpu") : STR("");
}

static bool is_device(const struct quota_context *ctx, struct str extended_resource)
{
	(void)ctx;
	return str_eqz(extended_resource, "example.com/gpu");
}

static const struct json *find_pod(const struct quota_context *ctx, struct str ns, struct str name)
{
	(void)ns;
	return str_eqz(name, "p")
		       ? parsed(ctx->arena,
				"{\"metadata\":{\"uid\":\"1\"},\"spec\":{\"containers\":[{\"name\":"
				"\"c\","
				"\"resources\":{\"requests\":{\"example.com/gpu\":\"2\"}}}]}}")
		       : NULL;
}

static struct quota_context context(struct arena *a)
{
	return (struct quota_context){ .now_ns = NOW_NS,
				       .arena = a,
				       .resource_of = resource_of,
				       .is_device = is_device,
				       .pod = find_pod };
}

static const struct measured {
	const char *group, *resource, *object, *usage;
} table[] = {
	{ "", "pods", "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}", "count/pods=1,pods=1" },
	{ "", "pods",
	  "{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":"
	  "\"100m\","
	  "\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"1\"}}},{\"name\":\"b\",\"resources\":{"
	  "\"requests\":{\"cpu\":\"1\",\"example.com/x\":\"2\",\"hugepages-2Mi\":\"4Mi\"}}}]}}",
	  "count/pods=1,cpu=1100m,hugepages-2Mi=4Mi,limits.cpu=1,memory=1Gi,pods=1,"
	  "requests.cpu=1100m,requests.example.com/x=2,requests.hugepages-2Mi=4Mi,"
	  "requests.memory=1Gi" },
	/* A pod that has ended still counts as an object. */
	{ "", "pods",
	  "{\"spec\":{\"containers\":[{\"name\":\"a\"}]},\"status\":{\"phase\":\"Failed\"}}",
	  "count/pods=1" },
	{ "", "pods",
	  "{\"metadata\":{\"deletionTimestamp\":\"2026-09-21T14:13:00Z\","
	  "\"deletionGracePeriodSeconds\":20},\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
	  "count/pods=1,pods=1" },
	{ "", "pods",
	  "{\"metadata\":{\"deletionTimestamp\":\"2026-09-21T14:13:00Z\","
	  "\"deletionGracePeriodSeconds\":19},\"spec\":{\"containers\":[{\"name\":\"a\"}]}}",
	  "count/pods=1" },
	/* The largest init container plus sidecars; overhead; pod-level resources. */
	{ "", "pods",
	  "{\"spec\":{\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":\"Always\","
	  "\"resources\":{\"requests\":{\"cpu\":\"1\"}}},{\"name\":\"i\",\"resources\":{"
	  "\"requests\":{\"cpu\":\"5\"}}}],\"containers\":[{\"name\":\"a\",\"resources\":{"
	  "\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"2\"}}}],\"overhead\":{\"cpu\":"
	  "\"100m\",\"memory\":\"1Mi\"}}}",
	  "count/pods=1,cpu=6100m,limits.cpu=2100m,memory=1Mi,pods=1,requests.cpu=6100m,"
	  "requests.memory=1Mi" },
	{ "", "pods",
	  "{\"spec\":{\"resources\":{\"requests\":{\"cpu\":\"3\"},\"limits\":{\"memory\":\"1Gi\"}},"
	  "\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":"
	  "\"1Mi\"}}}]}}",
	  "count/pods=1,cpu=3,limits.memory=1Gi,memory=1Mi,pods=1,requests.cpu=3,"
	  "requests.memory=1Mi" },
	/* Resized in place: the maximum counts, but not an infeasible request. */
	{ "", "pods",
	  "{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}"
	  "]"
	  "},\"status\":{\"containerStatuses\":[{\"name\":\"a\",\"allocatedResources\":{\"cpu\":"
	  "\"2\"},\"resources\":{\"requests\":{\"cpu\":\"1500m\"}}}]}}",
	  "count/pods=1,cpu=2,pods=1,requests.cpu=2" },
	{ "", "pods",
	  "{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"9\"}}}"
	  "]"
	  "},\"status\":{\"conditions\":[{\"type\":\"PodResizePending\",\"reason\":\"Infeasible\"}]"
	  ","
	  "\"containerStatuses\":[{\"name\":\"a\",\"allocatedResources\":{\"cpu\":\"2\"}}]}}",
	  "count/pods=1,cpu=2,pods=1,requests.cpu=2" },
	{ "", "services", "{\"spec\":{\"type\":\"ClusterIP\",\"ports\":[{\"port\":1}]}}",
	  "count/services=1,services=1,services.loadbalancers=0,services.nodeports=0" },
	{ "", "services",
	  "{\"spec\":{\"type\":\"LoadBalancer\",\"allocateLoadBalancerNodePorts\":false,\"ports\":["
	  "{\"port\":1,\"nodePort\":30000},{\"port\":2}]}}",
	  "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1" },
	{ "", "persistentvolumeclaims",
	  "{\"spec\":{\"storageClassName\":\"gold\",\"resources\":{\"requests\":{\"storage\":\"1."
	  "5\"}"
	  "}}}",
	  "count/persistentvolumeclaims=1,"
	  "gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,"
	  "gold.storageclass.storage.k8s.io/requests.storage=2,persistentvolumeclaims=1,"
	  "requests.storage=2" },
	{ "", "persistentvolumeclaims",
	  "{\"metadata\":{\"annotations\":{\"volume.beta.kubernetes.io/storage-class\":\"\"}},"
	  "\"spec\":{\"storageClassName\":\"gold\",\"resources\":{\"requests\":{\"storage\":"
	  "\"1Gi\"}"
	  "}},\"status\":{\"allocatedResources\":{\"storage\":\"2Gi\"}}}",
	  "count/persistentvolumeclaims=1,persistentvolumeclaims=1,requests.storage=2Gi" },
	{ "resource.k8s.io", "resourceclaims",
	  "{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"a\",\"exactly\":{\"deviceClassName\":"
	  "\"nic\",\"allocationMode\":\"ExactCount\",\"count\":3}},{\"name\":\"b\","
	  "\"firstAvailable\":[{\"deviceClassName\":\"nic\",\"allocationMode\":\"ExactCount\","
	  "\"count\":2},{\"deviceClassName\":\"nic\",\"allocationMode\":\"ExactCount\",\"count\":1}"
	  ","
	  "{\"deviceClassName\":\"gpu\",\"allocationMode\":\"All\"}]}]}}}",
	  "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=32,"
	  "nic.deviceclass.resource.k8s.io/devices=5,"
	  "requests.deviceclass.resource.kubernetes.io/gpu=32,"
	  "requests.deviceclass.resource.kubernetes.io/nic=5,requests.example.com/gpu=32" },
	/* Resources that its pod is charged for already do not count again. */
	{ "resource.k8s.io", "resourceclaims",
	  "{\"metadata\":{\"name\":\"c\",\"annotations\":{"
	  "\"resource.kubernetes.io/extended-resource-claim\":\"true\"},\"ownerReferences\":[{"
	  "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"1\",\"controller\":true}"
	  "]"
	  "},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"a\",\"exactly\":{\"deviceClassName\":"
	  "\"gpu\",\"allocationMode\":\"ExactCount\",\"count\":3}}]}}}",
	  "count/resourceclaims.resource.k8s.io=1,gpu.deviceclass.resource.k8s.io/devices=3,"
	  "requests.deviceclass.resource.kubernetes.io/gpu=3,requests.example.com/gpu=1" },
	{ "", "secrets", "{}", "count/secrets=1,secrets=1" },
	{ "apps", "deployments", "{}", "count/deployments.apps=1" },
};

static void each_object_uses_what_upstream_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		const struct measured *m = &table[i];
		CLEANUP(arena_release) struct arena a;
		CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
		struct quota_context ctx;
		struct quota_item item;
		struct quota_kind k;

		arena_init(&a, SIZE_MAX);
		ctx = context(&a);
		assert_true(quota_kind_of(str_from(m->group), str_from(m->resource), &k));
		quota_measure(&k, &ctx, parsed(&a, m->object), &a, &item);
		amount_list_print(&item.usage, &b);
		assert_string_equal(b.p, m->usage);
		for (size_t j = 0; j < item.usage.n; j++)
			if (!str_starts(item.usage.v[j].name,
					STR("requests.deviceclass.resource.kubernetes.io/nic")))
				assert_true(quota_kind_has(&k, &ctx, item.usage.v[j].name));
	}
}

static void kinds_are_known_by_their_counts(void **state)
{
	struct quota_kind k;

	(void)state;
	assert_true(quota_kind_counted(STR("count/widgets.example.com"), &k));
	assert_true(str_eqz(k.resource, "widgets") && str_eqz(k.group, "example.com"));
	assert_true(quota_kind_counted(STR("count/pods"), &k));
	assert_int_equal(k.sort, QUOTA_PODS);
	assert_true(quota_kind_counted(STR("secrets"), &k));
	assert_true(str_eqz(k.alias, "secrets"));
	assert_false(quota_kind_counted(STR("count/events"), &k));
	assert_false(quota_kind_counted(STR("count/"), &k));
	assert_false(quota_kind_counted(STR("pods"), &k));
	assert_false(quota_kind_of(STR("events.k8s.io"), STR("events"), &k));
}

/* Pods inside and outside of a scope. */
static const struct {
	const char *scope, *op, *values, *pod;
	bool in;
} scopes[] = {
	{ "Terminating", "Exists", NULL, "{\"spec\":{\"activeDeadlineSeconds\":0}}", true },
	{ "NotTerminating", "Exists", NULL, "{\"spec\":{\"activeDeadlineSeconds\":0}}", false },
	{ "BestEffort", "Exists", NULL, "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}", true },
	{ "BestEffort", "Exists", NULL,
	  "{\"spec\":{\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}", false },
	{ "NotBestEffort", "Exists", NULL, "{\"status\":{\"qosClass\":\"Burstable\"}}", true },
	{ "PriorityClass", "Exists", NULL, "{\"spec\":{\"priorityClassName\":\"a\"}}", true },
	{ "PriorityClass", "In", "[\"a\"]", "{\"spec\":{\"priorityClassName\":\"a\"}}", true },
	{ "PriorityClass", "In", "[\"a\"]", "{\"spec\":{}}", false },
	{ "PriorityClass", "NotIn", "[\"a\"]", "{\"spec\":{}}", true },
	{ "PriorityClass", "DoesNotExist", NULL, "{\"spec\":{}}", true },
	{ "PriorityClass", "DoesNotExist", NULL, "{\"spec\":{\"priorityClassName\":\"a\"}}",
	  false },
	{ "CrossNamespacePodAffinity", "Exists", NULL,
	  "{\"spec\":{\"affinity\":{\"podAffinity\":{"
	  "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"namespaces\":[\"x\"]}]}}}}",
	  true },
	{ "CrossNamespacePodAffinity", "Exists", NULL,
	  "{\"spec\":{\"affinity\":{\"podAffinity\":{"
	  "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"x\"}]}}}}",
	  false },
	{ "VolumeAttributesClass", "Exists", NULL, "{\"spec\":{}}", false },
};

static void pods_are_in_the_scopes_that_upstream_says(void **state)
{
	struct quota_kind k;

	(void)state;
	assert_true(quota_kind_of(STR(""), STR("pods"), &k));
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		CLEANUP(arena_release) struct arena a;
		struct quota_context ctx;
		struct quota_item item;
		struct quota q;

		arena_init(&a, SIZE_MAX);
		ctx = context(&a);
		quota_measure(&k, &ctx, parsed(&a, scopes[i].pod), &a, &item);
		quota_read(
			parsed(&a,
			       arena_printf(&a,
					    "{\"spec\":{\"scopeSelector\":{\"matchExpressions\":["
					    "{\"scopeName\":\"%s\",\"operator\":\"%s\",\"values\":"
					    "%s}]}}}",
					    scopes[i].scope, scopes[i].op,
					    scopes[i].values ? scopes[i].values : "[]")),
			&a, &q);
		if (quota_covers(&q, &item) != scopes[i].in)
			fail_msg("%s %s %s", scopes[i].scope, scopes[i].op, scopes[i].pod);
	}
}

static void a_claim_is_in_the_scope_of_any_of_its_classes(void **state)
{
	static const char *const claim =
		"{\"spec\":{\"volumeAttributesClassName\":\"slow\"},"
		"\"status\":{\"currentVolumeAttributesClassName\":\"fast\"}}";
	CLEANUP(arena_release) struct arena a;
	struct quota_context ctx;
	struct quota_item item;
	struct quota_kind k;
	struct quota q;

	(void)state;
	arena_init(&a, SIZE_MAX);
	ctx = context(&a);
	assert_true(quota_kind_of(STR(""), STR("persistentvolumeclaims"), &k));
	quota_measure(&k, &ctx, parsed(&a, claim), &a, &item);
	quota_read(
		parsed(&a,
		       "{\"spec\":{\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":"
		       "\"VolumeAttributesClass\",\"operator\":\"In\",\"values\":[\"fast\"]}]}}}"),
		&a, &q);
	assert_true(quota_covers(&q, &item));
	quota_read(parsed(&a, "{\"spec\":{\"scopes\":[\"BestEffort\"]}}"), &a, &q);
	assert_false(quota_covers(&q, &item));
}

static void nothing_is_charged_when_one_of_two_refuses(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct quota_context ctx;
	struct quota_request rq = { 0 };
	struct quota quotas[2];
	struct error err;
	bool changed;

	(void)state;
	arena_init(&a, SIZE_MAX);
	ctx = context(&a);
	quota_read(
		parsed(&a,
		       "{\"metadata\":{\"name\":\"wide\"},\"status\":{\"hard\":{\"secrets\":\"9\"},"
		       "\"used\":{\"secrets\":\"1\"}}}"),
		&a, &quotas[0]);
	quota_read(
		parsed(&a,
		       "{\"metadata\":{\"name\":\"full\"},\"status\":{\"hard\":{\"secrets\":\"1\"},"
		       "\"used\":{\"secrets\":\"1\"}}}"),
		&a, &quotas[1]);
	assert_true(quota_kind_of(STR(""), STR("secrets"), &rq.kind));
	quota_measure(&rq.kind, &ctx, parsed(&a, "{}"), &a, &rq.item);
	assert_int_equal(quota_charge(quotas, 2, &rq, &ctx, &changed, &err), -ERR_FORBIDDEN);
	assert_string_equal(err.msg, "exceeded quota: full, requested: secrets=1, used: secrets=1, "
				     "limited: secrets=1");
	assert_false(quotas[0].changed || quotas[1].changed || changed);
	assert_int_equal(quota_charge(quotas, 1, &rq, &ctx, &changed, &err), 0);
	assert_true(quotas[0].changed && changed);
	/* A status write may exceed the quota: it is charged, not rejected. */
	rq.status_only = true;
	assert_int_equal(quota_charge(quotas, 2, &rq, &ctx, &changed, &err), 0);
	assert_int_equal(quantity_value(*amount_list_get(&quotas[1].used, STR("secrets"))), 2);
}

#define SPEC(more) "{\"spec\":{\"containers\":[{\"name\":\"c\"}]" more "}}"

/* Objects that differ for some quota are not equal: quotas have scopes for each of these. */
static void objects_that_quotas_tell_apart_are_not_equal(void **state)
{
	static const struct {
		const char *resource, *one, *other;
	} rows[] = {
		{ "pods", SPEC(""), SPEC(",\"priorityClassName\":\"high\"") },
		{ "pods", SPEC(""), SPEC(",\"activeDeadlineSeconds\":5") },
		{ "pods", SPEC(""), "{\"spec\":{\"containers\":[{\"name\":\"d\"}]}}" },
		{ "pods", SPEC(""),
		  SPEC(",\"affinity\":{\"podAffinity\":{"
		       "\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"namespaces\":["
		       "\"n\"]}]}}") },
		{ "persistentvolumeclaims", "{\"spec\":{\"volumeAttributesClassName\":\"gold\"}}",
		  "{\"spec\":{\"volumeAttributesClassName\":\"silver\"}}" },
	};
	CLEANUP(arena_release) struct arena a;
	struct quota_item one, same, other;
	struct quota_context ctx;
	struct quota_kind k;

	(void)state;
	arena_init(&a, SIZE_MAX);
	ctx = context(&a);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(quota_kind_of(STR(""), str_from(rows[i].resource), &k));
		quota_measure(&k, &ctx, parsed(&a, rows[i].one), &a, &one);
		quota_measure(&k, &ctx, parsed(&a, rows[i].one), &a, &same);
		quota_measure(&k, &ctx, parsed(&a, rows[i].other), &a, &other);
		assert_true(quota_item_equal(&one, &same));
		assert_false(quota_item_equal(&one, &other));
	}
}

enum { MANY = 8000 };

/* Adds containers, every other one as a sidecar too. Each has its own resource and a shared one. */
static void add_many(struct buf *b, const char *list, const char *more)
{
	(void)buf_printf(b, "\"%s\":[", list);
	for (int i = 0; i < MANY; i++)
		(void)buf_printf(b,
				 "%s{\"name\":\"%c%d\"%s,\"resources\":{\"requests\":{"
				 "\"example.com/%c%d\":\"1\",\"example.com/all\":\"2\"}}}",
				 i ? "," : "", list[0], i, i % 2 ? more : "", list[0], i);
	(void)buf_addz(b, "]");
}

static void a_pod_of_many_containers_takes_memory_as_it_is_long(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);
	CLEANUP(arena_release) struct arena tree, a;
	struct quota_context ctx;
	struct quota_item item;
	struct quota_kind k;
	struct json *pod;

	(void)state;
	(void)buf_addz(&b, "{\"spec\":{");
	add_many(&b, "containers", "");
	(void)buf_addz(&b, ",");
	add_many(&b, "initContainers", ",\"restartPolicy\":\"Always\"");
	(void)buf_addz(&b, "}}");
	arena_init(&tree, SIZE_MAX);
	arena_init(&a, 64 * MIB);
	ctx = context(&tree);
	pod = parsed(&tree, b.p);
	assert_true(quota_kind_of(STR(""), STR("pods"), &k));
	quota_measure(&k, &ctx, pod, &a, &item);
	assert_false(a.refused);
	assert_true(a.used < 64 * MIB);
	/* Besides the containers' own: the count under two names, and the shared one. */
	assert_int_equal(item.usage.n, 2 * MANY + 3);
	assert_int_equal(
		quantity_value(*amount_list_get(&item.usage, STR("requests.example.com/c7999"))),
		1);
	assert_int_equal(
		quantity_value(*amount_list_get(&item.usage, STR("requests.example.com/i7998"))),
		1);
	assert_int_equal(
		quantity_value(*amount_list_get(&item.usage, STR("requests.example.com/all"))),
		3 * MANY);
	/* If there is no memory, the arena records that. */
	arena_release(&a);
	arena_init(&a, 256 * KIB);
	quota_measure(&k, &ctx, pod, &a, &item);
	assert_true(a.refused);
	assert_true(a.used < 512 * KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_object_uses_what_upstream_says),
		cmocka_unit_test(kinds_are_known_by_their_counts),
		cmocka_unit_test(pods_are_in_the_scopes_that_upstream_says),
		cmocka_unit_test(a_claim_is_in_the_scope_of_any_of_its_classes),
		cmocka_unit_test(nothing_is_charged_when_one_of_two_refuses),
		cmocka_unit_test(objects_that_quotas_tell_apart_are_not_equal),
		cmocka_unit_test(a_pod_of_many_containers_takes_memory_as_it_is_long),
	};

	return cmocka_run_group_tests_name("api/quota", tests, NULL, NULL);
}

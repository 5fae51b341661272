#include "api/schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schema/schema_tables.h"

static void say(const struct schema_type *t, const struct schema_field *f, const char *what)
{
	fail_msg("%.*s.%.*s %s", STR_ARG(t->openapi), STR_ARG(f->name), what);
}

/* --- every type ------------------------------------------------------------------- */

static bool same_number(const struct schema_field *a, const struct schema_field *b)
{
	return a->number == b->number && a->inline_number == b->inline_number &&
	       a->inline_inner == b->inline_inner;
}

static void check_order(const struct schema_type *t)
{
	for (size_t i = 0; i < t->nfields; i++) {
		const struct schema_field *f = &t->fields[i];

		assert_ptr_equal(schema_field(t, f->name), f);
		if (i > 0 &&
		    str_cmp(t->fields[t->by_name[i - 1]].name, t->fields[t->by_name[i]].name) >= 0)
			say(t, f, "is out of order in by_name");
		for (size_t j = 0; j < i; j++)
			if (f->number && same_number(f, &t->fields[j]))
				say(t, f, "shares its number");
	}
}

static void check_field(const struct schema_type *t, const struct schema_field *f)
{
	bool typed = f->value >= SCHEMA_OBJECT;

	if (typed != (f->type != NULL))
		say(t, f, "has a type that does not go with its value");
	if (!f->number && !str_eqz(f->name, "apiVersion") && !str_eqz(f->name, "kind"))
		say(t, f, "has no number");
	if ((f->merge == SCHEMA_LIST_MAP) != (f->list_keys != NULL))
		say(t, f, "has keys that do not go with its merge kind");
	for (const struct str *key = f->list_keys; key && key->p; key++)
		if (!schema_field(f->type, *key))
			say(t, f, "has a key that its elements have not");
	if (f->patch_key.p && !schema_field(f->type, f->patch_key))
		say(t, f, "has a patch key that its elements have not");
	if (f->oneof > t->nunions)
		say(t, f, "is of a union that is not there");
	if ((f->flags & SCHEMA_GATE_SERVED) && f->gate == GATE_NONE)
		say(t, f, "is SERVED without a gate");
}

static void every_type_is_sound(void **state)
{
	size_t n;
	const struct schema_type *const *types = schema_types(&n);

	assert_true(n > 500);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(schema_type_find(types[i]->openapi), types[i]);
		check_order(types[i]);
		for (size_t j = 0; j < types[i]->nfields; j++)
			check_field(types[i], &types[i]->fields[j]);
	}
}

/* --- descriptions ----------------------------------------------------------------- */

/* Whether `explain` needs a sentence for each field of a type. */
static bool is_explained(const struct schema_type *t)
{
	static const char *const packages[] = {
		"io.k8s.api.resource.",
		"io.k8s.apimachinery.pkg.apis.meta.",
		"io.k8s.apiextensions-apiserver.",
		"io.k8s.api.rbac.",
		"io.k8s.api.authentication.",
		"io.k8s.api.authorization.",
		"io.k8s.api.coordination.",
		"io.k8s.api.autoscaling.v1.",
	};
	static const char *const core[] = {
		"Binding",
		"Container",
		"ContainerStatus",
		"Event",
		"Node",
		"NodeSelector",
		"NodeSelectorTerm",
		"NodeSelectorRequirement",
		"NodeStatus",
		"ObjectReference",
		"Pod",
		"PodResourceClaim",
		"PodSpec",
		"PodStatus",
		"ResourceClaim",
		"PodResourceClaimStatus",
		"ResourceHealth",
		"ResourceStatus",
		"Taint",
		"ResourceRequirements",
		"Toleration",
		"PodCondition",
		"NodeCondition",
		"NodeSpec",
	};

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (str_starts(t->openapi, str_from(packages[i])))
			return true;
	if (!str_starts(t->openapi, STR("io.k8s.api.core.v1.")))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(core); i++)
		if (str_eqz(t->name, core[i]))
			return true;
	return false;
}

/* One sentence for a terminal: not empty, with a full stop, not too long. */
static void check_sentence(const struct schema_type *t, const struct schema_field *f,
			   const char *doc)
{
	static const struct schema_field whole = { .name = STR("") };
	size_t n = doc ? strlen(doc) : 0;

	f = f ? f : &whole;
	if (n == 0)
		say(t, f, "has no sentence");
	else if (doc[n - 1] != '.' || n > 160)
		say(t, f, "has no sentence that can be shown");
}

static void types_that_users_look_up_have_descriptions(void **state)
{
	size_t n, explained = 0;
	const struct schema_type *const *types = schema_types(&n);

	for (size_t i = 0; i < n; i++) {
		if (!is_explained(types[i]))
			continue;
		explained++;
		check_sentence(types[i], NULL, types[i]->doc);
		for (size_t j = 0; j < types[i]->nfields; j++)
			check_sentence(types[i], &types[i]->fields[j], types[i]->fields[j].doc);
	}
	assert_true(explained > 200);
}

static void every_kind_is_described(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		check_sentence(kinds[i]->type, NULL, kinds[i]->type->doc);
}

/* --- every kind ------------------------------------------------------------------- */

static void check_subresources(const struct schema_kind *k)
{
	for (size_t i = 0; i < k->nsubresources; i++) {
		const struct schema_subresource *s = &k->subresources[i];
		char api_version[128];

		(void)snprintf(api_version, sizeof(api_version), "%.*s%s%.*s", STR_ARG(s->group),
			       s->group.n ? "/" : "", STR_ARG(s->version));
		/* If the server proxies the request, only the parameters in the URL have a kind. */
		assert_true(s->connect || schema_find_kind(str_from(api_version), s->kind));
		assert_ptr_equal(schema_subresource(k, s->name), s);
	}
}

static void every_kind_is_sound(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	assert_true(n > 60);
	for (size_t i = 0; i < n; i++) {
		const struct schema_kind *k = kinds[i];
		bool lists = k->verbs & SCHEMA_LIST_VERB;

		assert_ptr_equal(schema_find_resource(k->group, k->version, k->resource), k);
		assert_ptr_equal(schema_find_kind(k->api_version, k->kind), k);
		assert_ptr_equal(schema_kind_of(k->type), k);
		assert_non_null(schema_field(k->type, STR("apiVersion")));
		assert_true(k->verbs != 0);
		assert_ptr_equal(k->storage->storage, k->storage);
		assert_true(str_eq(k->storage->storage_name, k->storage_name));
		assert_true(lists == (k->list_kind.n > 0));
		if (lists)
			assert_non_null(schema_find_kind(k->api_version, k->list_kind));
		if (k->flags & SCHEMA_STATUS)
			assert_non_null(schema_field(k->type, STR("status")));
		check_subresources(k);
	}
}

/* Returns the field at a selectable path, as far as the schema knows it. */
static const struct schema_field *walk(const struct schema_type *t, struct str path)
{
	const struct schema_field *f = NULL;
	struct str name;

	while (str_split(&path, '.', &name)) {
		f = t ? schema_field(t, name) : NULL;
		t = f ? f->type : NULL;
	}
	return f;
}

static void selectable_fields_exist(void **state)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < kinds[i]->nselectables; j++) {
			const struct schema_selectable *s = &kinds[i]->selectables[j];

			/* Derived, not a field: whether a job has succeeded. */
			if (str_eqz(s->path, "status.successful"))
				continue;
			if (!walk(kinds[i]->type, s->path))
				fail_msg("%.*s has no %.*s", STR_ARG(kinds[i]->kind),
					 STR_ARG(s->path));
			if (!walk(kinds[i]->storage->type, s->storage_path))
				fail_msg("%.*s has no %.*s in storage", STR_ARG(kinds[i]->kind),
					 STR_ARG(s->storage_path));
		}
}

/* --- known numbers ------------------------------------------------------------------ */

struct known {
	const char *type, *field;
	uint16_t inline_number, number;
};

static void protobuf_numbers_are_upstreams(void **state)
{
	static const struct known known[] = {
		{ "io.k8s.api.resource.v1.ResourceSliceSpec", "sharedCounters", 0, 8 },
		{ "io.k8s.api.resource.v1.ResourceSlice", "status", 0, 5677 },
		{ "io.k8s.api.resource.v1.Device", "allowMultipleAllocations", 0, 12 },
		{ "io.k8s.api.resource.v1.Device", "nodeAllocatableResources", 0, 14 },
		{ "io.k8s.api.resource.v1.DeviceAttribute", "int", 0, 2 },
		{ "io.k8s.api.resource.v1.DeviceAttribute", "version", 0, 5 },
		{ "io.k8s.api.resource.v1.CapacityRequestPolicy", "validRange", 0, 4 },
		{ "io.k8s.api.resource.v1.DeviceClaimConfiguration", "opaque", 2, 1 },
		{ "io.k8s.api.resource.v1.DeviceAllocationConfiguration", "opaque", 3, 1 },
		{ "io.k8s.api.resource.v1.ResourceClaimStatus", "devices", 0, 4 },
		{ "io.k8s.api.resource.v1.DeviceRequestAllocationResult", "consumedCapacity", 0,
		  10 },
		{ "io.k8s.api.resource.v1.ResourceClaimConsumerReference", "uid", 0, 5 },
		{ "io.k8s.api.resource.v1.AllocatedDeviceStatus", "shareID", 0, 7 },
		{ "io.k8s.api.resource.v1.DeviceClassSpec", "extendedResourceName", 0, 4 },
		{ "io.k8s.api.resource.v1.DeviceTaintSelector", "device", 0, 4 },
		{ "io.k8s.api.resource.v1alpha3.PoolStatus", "shareableSummary", 0, 13 },
		{ "io.k8s.api.resource.v1alpha3.ResourcePoolStatusRequestStatus", "poolCount", 0,
		  6 },
		{ "io.k8s.api.core.v1.PodStatus", "allocatedResourcesStatus", 0, 4680 },
		{ "io.k8s.api.core.v1.Volume", "image", 2, 30 },
		{ "io.k8s.api.core.v1.Probe", "exec", 1, 1 },
		{ "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "managedFields", 0, 17 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct schema_type *t = schema_type_find(str_from(known[i].type));
		const struct schema_field *f;

		assert_non_null(t);
		f = schema_field(t, str_from(known[i].field));
		if (!f)
			fail_msg("%s has no %s", known[i].type, known[i].field);
		assert_int_equal(f->number, known[i].number);
		assert_int_equal(f->inline_number, known[i].inline_number);
	}
}

static void a_rule_inside_a_rule_is_inlined_twice(void **state)
{
	const struct schema_type *t = schema_type_find(
		STR("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations"));
	const struct schema_field *f = schema_field(t, STR("apiVersions"));

	assert_int_equal(f->inline_number, 2);
	assert_int_equal(f->inline_inner, 2);
	assert_int_equal(f->number, 2);
}

static void kinds_behave_as_upstreams_strategies(void **state)
{
	const struct schema_kind *claim = schema_find_resource(STR("resource.k8s.io"), STR("v1"),
							       STR("resourceclaims"));
	const struct schema_kind *rule = schema_find_resource(STR("resource.k8s.io"), STR("v1"),
							      STR("devicetaintrules"));
	const struct schema_kind *event = schema_find_resource(STR("events.k8s.io"), STR("v1"),
							       STR("events"));

	assert_true(claim->flags & SCHEMA_NAMESPACED);
	assert_true(claim->flags & SCHEMA_UNCONDITIONAL_UPDATE);
	assert_true(claim->flags & SCHEMA_RETURN_DELETED);
	assert_false(claim->flags & SCHEMA_GENERATION);
	assert_false(rule->flags & (SCHEMA_UNCONDITIONAL_UPDATE | SCHEMA_RETURN_DELETED));
	assert_true(rule->flags & SCHEMA_GENERATION);
	assert_int_equal(rule->gate, GATE_DRADeviceTaintRules);
	assert_true(str_eqz(event->storage_name, "core/events"));
	assert_true(str_eqz(event->storage->api_version, "v1"));
}

/* Rules of single kinds are rows, so that the generic code of a write names no kind. */
static void single_kinds_have_their_rules_in_rows(void **state)
{
	static const struct {
		const char *api_version, *kind;
		uint32_t flags;
		bool deletes;
	} rows[] = {
		{ "v1", "Node", SCHEMA_STATUS_ON_CREATE, false },
		{ "v1", "Namespace", SCHEMA_SPEC_FINALIZERS | SCHEMA_OWN_NAMESPACE, true },
		{ "v1", "Pod", 0, false },
		{ "apiextensions.k8s.io/v1", "CustomResourceDefinition", SCHEMA_STATUS_KEEPS_META,
		  true },
		{ "resource.k8s.io/v1", "ResourceClaim",
		  SCHEMA_STATUS_KEEPS_META | SCHEMA_NETWORK_NAMES, false },
		{ "resource.k8s.io/v1beta1", "ResourceClaim",
		  SCHEMA_STATUS_KEEPS_META | SCHEMA_NETWORK_NAMES, false },
		{ "resource.k8s.io/v1beta1", "ResourceSlice", SCHEMA_STATUS_KEEPS_META, false },
		{ "resource.k8s.io/v1beta2", "ResourceClaim",
		  SCHEMA_STATUS_KEEPS_META | SCHEMA_NETWORK_NAMES, false },
		{ "storage.k8s.io/v1", "VolumeAttachment", SCHEMA_STATUS_KEEPS_META, false },
		{ "networking.k8s.io/v1", "ServiceCIDR", SCHEMA_STATUS_KEEPS_META, false },
		{ "networking.k8s.io/v1", "Ingress", 0, false },
	};
	const uint32_t all = SCHEMA_STATUS_ON_CREATE | SCHEMA_SPEC_FINALIZERS |
			     SCHEMA_STATUS_KEEPS_META | SCHEMA_OWN_NAMESPACE | SCHEMA_NETWORK_NAMES;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct schema_kind *k = schema_find_kind(str_from(rows[i].api_version),
							       str_from(rows[i].kind));

		assert_non_null(k);
		assert_int_equal(k->flags & all, rows[i].flags);
		assert_int_equal(k->prepare_delete != NULL, rows[i].deletes);
	}
}

static void assert_resets(const char *api_version, const char *kind, const char *subresource,
			  const char *expected)
{
	const struct schema_kind *k = schema_find_kind(str_from(api_version), str_from(kind));
	const struct str *paths = schema_resets(k, str_from(subresource));
	char text[256] = "";

	for (; paths && paths->p; paths++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.*s",
			       text[0] ? "," : "", STR_ARG(*paths));
	assert_string_equal(text, expected);
}

static void requests_ignore_what_upstreams_strategies_reset(void **state)
{
	assert_resets("v1", "Pod", "", "status");
	assert_resets("v1", "Pod", "status",
		      "metadata.deletionTimestamp,metadata.ownerReferences,spec");
	assert_resets("v1", "Pod", "resize", "");
	assert_resets("v1", "Pod", "nothing", "");
	assert_resets("v1", "ConfigMap", "", "");
	assert_resets("v1", "Namespace", "finalize", "status");
	assert_resets("apps/v1", "Deployment", "status", "metadata.labels,spec");
	assert_resets("apps/v1", "Deployment", "scale", "");
	assert_resets("certificates.k8s.io/v1", "CertificateSigningRequest", "", "spec,status");
	assert_resets("certificates.k8s.io/v1", "CertificateSigningRequest", "approval",
		      "spec,status.certificate");
	assert_resets("resource.k8s.io/v1beta1", "ResourceClaim", "", "status");
	assert_resets("resource.k8s.io/v1beta2", "ResourceClaim", "status", "metadata,spec");
	assert_resets("apiextensions.k8s.io/v1", "CustomResourceDefinition", "status", "spec");
}

static void v1beta2_is_v1_under_another_name(void **state)
{
	const struct schema_kind *k = schema_find_resource(STR("resource.k8s.io"), STR("v1beta2"),
							   STR("resourceslices"));

	assert_non_null(k);
	assert_true(str_eqz(k->storage->api_version, "resource.k8s.io/v1"));
	assert_null(k->to_storage);
	assert_int_equal(k->nconverts, 0);
	assert_true(str_eqz(k->type->openapi, "io.k8s.api.resource.v1beta2.ResourceSlice"));
}

static void options_are_found_in_every_group_version(void **state)
{
	assert_ptr_equal(schema_find_kind(STR("v1"), STR("DeleteOptions"))->type,
			 schema_delete_options());
	assert_ptr_equal(schema_find_kind(STR("resource.k8s.io/v1"), STR("DeleteOptions"))->type,
			 schema_delete_options());
	assert_ptr_equal(schema_find_kind(STR("meta.k8s.io/v1"), STR("DeleteOptions"))->type,
			 schema_delete_options());
	assert_null(schema_find_kind(STR("nowhere/v1"), STR("DeleteOptions")));
	assert_null(schema_find_kind(STR("resource.k8s.io/v1"), STR("Pod")));
	assert_non_null(schema_find_kind(STR("v1"), STR("PodList")));
	assert_ptr_equal(
		schema_field(schema_find_kind(STR("v1"), STR("Pod"))->type, STR("metadata"))->type,
		schema_object_meta());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_sound),
		cmocka_unit_test(types_that_users_look_up_have_descriptions),
		cmocka_unit_test(every_kind_is_described),
		cmocka_unit_test(every_kind_is_sound),
		cmocka_unit_test(selectable_fields_exist),
		cmocka_unit_test(protobuf_numbers_are_upstreams),
		cmocka_unit_test(a_rule_inside_a_rule_is_inlined_twice),
		cmocka_unit_test(kinds_behave_as_upstreams_strategies),
		cmocka_unit_test(single_kinds_have_their_rules_in_rows),
		cmocka_unit_test(requests_ignore_what_upstreams_strategies_reset),
		cmocka_unit_test(v1beta2_is_v1_under_another_name),
		cmocka_unit_test(options_are_found_in_every_group_version),
	};

	return cmocka_run_group_tests_name("api/schema", tests, NULL, NULL);
}

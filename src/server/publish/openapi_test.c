#include "server/publish/openapi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/schema/schema.h"
#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "server/publish/document.h"

#define PROTOBUF "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
#define POD      "io.k8s.api.core.v1.Pod"

struct world {
	struct gates gates;
	const struct schema_kind *const *kinds;
	size_t nkinds;
	struct openapi *openapi;
	struct arena arena;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	gates_init(&w->gates);
	w->kinds = schema_kinds(&w->nkinds);
	w->openapi = openapi_new(&w->gates, w->kinds, w->nkinds, NULL);
	arena_init(&w->arena, 256UL * MIB);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	openapi_free(w->openapi);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static const struct document *get(struct world *w, const char *path, const char *accept)
{
	const struct document *d = NULL;
	struct error err;

	if (openapi_get(w->openapi, str_from(path), str_from(accept), &d, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	return d;
}

static struct json *tree(struct world *w, const char *path)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(&w->arena, bytes_str(get(w, path, "application/json")->bytes), NULL, &v,
		       &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	return v;
}

/* The schema of a type, in either version. */
static struct json *type_of(const struct json *document, struct str name)
{
	struct json *types = json_getz(document, "definitions");

	if (!types)
		types = json_getz(json_getz(document, "components"), "schemas");
	return json_get(types, name);
}

static struct json *property(const struct json *document, const char *type, const char *field)
{
	return json_getz(json_getz(type_of(document, str_from(type)), "properties"), field);
}

static void is_text(const struct json *object, const char *key, const char *want)
{
	struct str have = json_text_at(object, key);

	if (!str_eqz(have, want))
		fail_msg("%s is \"%.*s\", not \"%s\"", key, STR_ARG(have), want);
}

static bool has_text(const struct json *list, const char *want)
{
	JSON_FOREACH (e, list)
		if (str_eqz(json_str(e), want))
			return true;
	return false;
}

static const struct json *named(const struct json *list, const char *name)
{
	JSON_FOREACH (e, list)
		if (str_eqz(json_text_at(e, "name"), name))
			return e;
	return NULL;
}

/* --- all documents ------------------------------------------------------------------- */

/* Checks that every reference in the document has its type there; returns their number. */
static size_t check_references(const struct json *document, const struct json *v, struct str prefix)
{
	size_t n = 0;

	JSON_FOREACH (child, v) {
		struct str ref = json_str(child);

		n += json_is_container(child) ? check_references(document, child, prefix) : 0;
		if (!ref.p || !str_eqz(json_key(child), "$ref"))
			continue;
		n++;
		assert_true(str_starts(ref, prefix));
		if (!type_of(document, str_skip(ref, prefix.n)))
			fail_msg("%.*s leads nowhere", STR_ARG(ref));
	}
	return n;
}

static void every_document_is_whole(void **state)
{
	struct json *paths = json_getz(tree(*state, "/openapi/v3"), "paths"), *d;
	char path[256];

	assert_true(json_count(paths) > 20);
	JSON_FOREACH (entry, paths) {
		(void)snprintf(path, sizeof(path), "/openapi/v3/%.*s", STR_ARG(json_key(entry)));
		d = tree(*state, path);
		assert_true(check_references(d, d, STR("#/components/schemas/")) > 10);
	}
	d = tree(*state, "/openapi/v2");
	assert_true(check_references(d, d, STR("#/definitions/")) > 1000);
}

static void the_root_names_documents_by_their_hash(void **state)
{
	struct json *root = tree(*state, "/openapi/v3");
	const struct document *d = get(*state, "/openapi/v3/apis/apps/v1", "");
	char url[256];

	(void)snprintf(url, sizeof(url), "/openapi/v3/apis/apps/v1?hash=%.*s",
		       STR_ARG(document_hash(d)));
	is_text(json_getz(json_getz(root, "paths"), "apis/apps/v1"), "serverRelativeURL", url);
	assert_ptr_equal(get(*state, "/openapi/v3/apis/apps/v1", ""), d);
}

/* --- content --------------------------------------------------------------------------- */

static void types_say_their_fields_and_how_lists_merge(void **state)
{
	struct json *d = tree(*state, "/openapi/v3/api/v1");
	const struct json *containers = property(d, "io.k8s.api.core.v1.PodSpec", "containers");
	const struct json *pod = type_of(d, STR(POD));

	is_text(containers, "type", "array");
	is_text(json_getz(containers, "items"), "$ref",
		"#/components/schemas/io.k8s.api.core.v1.Container");
	is_text(containers, "x-kubernetes-list-type", "map");
	assert_true(has_text(json_getz(containers, "x-kubernetes-list-map-keys"), "name"));
	is_text(containers, "x-kubernetes-patch-merge-key", "name");
	is_text(containers, "x-kubernetes-patch-strategy", "merge");
	assert_true(has_text(json_getz(type_of(d, STR("io.k8s.api.core.v1.PodSpec")), "required"),
			     "containers"));
	is_text(json_at(json_getz(pod, "x-kubernetes-group-version-kind"), 0), "kind", "Pod");
	is_text(pod, "description", "A group of containers that run together on one node.");
	is_text(property(d, "io.k8s.api.core.v1.ContainerPort", "containerPort"), "format",
		"int32");
	is_text(property(d, "io.k8s.api.core.v1.Secret", "type"), "default", "Opaque");
	is_text(json_getz(property(d, "io.k8s.api.core.v1.Secret", "data"), "additionalProperties"),
		"format", "byte");
	is_text(type_of(d, STR("io.k8s.api.core.v1.ObjectReference")), "x-kubernetes-map-type",
		"atomic");
	is_text(property(d, "io.k8s.api.core.v1.PersistentVolumeSpec", "claimRef"),
		"x-kubernetes-map-type", "granular");
}

static void both_versions_carry_the_sentences(void **state)
{
	static const char *const paths[] = { "/openapi/v2", "/openapi/v3/apis/resource.k8s.io/v1" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const struct json *d = tree(w, paths[i]);

		is_text(type_of(d, STR("io.k8s.api.resource.v1.Device")), "description",
			"One device that can be allocated.");
		is_text(property(d, "io.k8s.api.resource.v1.Device", "name"), "description",
			"DNS label of the device, unique in its pool.");
		is_text(property(d, "io.k8s.api.resource.v1.ResourceSlice", "kind"), "description",
			"Name of the kind, in CamelCase; it cannot change.");
	}
}

static void quantities_are_text_or_numbers_in_v3_alone(void **state)
{
	const struct str name = STR("io.k8s.apimachinery.pkg.api.resource.Quantity");

	is_text(type_of(tree(*state, "/openapi/v2"), name), "type", "string");
	assert_int_equal(
		json_count(json_getz(type_of(tree(*state, "/openapi/v3/api/v1"), name), "oneOf")),
		2);
}

static void a_patch_says_what_kubectl_looks_for(void **state)
{
	struct json *d = tree(*state, "/openapi/v3/apis/resource.k8s.io/v1");
	const struct json *patch = json_getz(
		json_getz(json_getz(d, "paths"), "/apis/resource.k8s.io/v1/namespaces/{namespace}/"
						 "resourceclaims/{name}"),
		"patch");
	const struct json *content = json_getz(json_getz(patch, "requestBody"), "content");
	const struct json *gvk = json_getz(patch, "x-kubernetes-group-version-kind");

	is_text(patch, "operationId", "patchResourceV1NamespacedResourceClaim");
	is_text(patch, "x-kubernetes-action", "patch");
	is_text(gvk, "group", "resource.k8s.io");
	is_text(gvk, "kind", "ResourceClaim");
	is_text(named(json_getz(patch, "parameters"), "fieldValidation"), "in", "query");
	assert_non_null(json_getz(content, "application/strategic-merge-patch+json"));
	assert_non_null(json_getz(content, "application/apply-patch+yaml"));
}

static void an_operation_without_parameters_has_no_list_of_them(void **state)
{
	struct json *d = tree(*state, "/openapi/v3/apis/resource.k8s.io/v1");
	const struct json *at = json_getz(json_getz(d, "paths"),
					  "/apis/resource.k8s.io/v1/deviceclasses/{name}");

	assert_non_null(json_getz(at, "get"));
	assert_null(json_getz(json_getz(at, "get"), "parameters"));
	assert_non_null(json_getz(json_getz(at, "delete"), "parameters"));
}

static void v2_keeps_bodies_among_the_parameters(void **state)
{
	struct json *d = tree(*state, "/openapi/v2");
	const struct json *post = json_getz(
		json_getz(json_getz(d, "paths"), "/api/v1/namespaces/{namespace}/pods"), "post");
	const struct json *body = named(json_getz(post, "parameters"), "body");

	is_text(d, "swagger", "2.0");
	is_text(json_getz(body, "schema"), "$ref", "#/definitions/" POD);
	assert_true(has_text(json_getz(post, "tags"), "core_v1"));
}

static void subresources_have_their_own_kinds(void **state)
{
	const char *path = "/api/v1/namespaces/{namespace}/pods/{name}/eviction";
	struct json *d = tree(*state, "/openapi/v3/api/v1");
	const struct json *post = json_getz(json_getz(json_getz(d, "paths"), path), "post");

	is_text(post, "operationId", "createCoreV1NamespacedPodEviction");
	is_text(json_getz(post, "x-kubernetes-group-version-kind"), "group", "policy");
	assert_non_null(type_of(d, STR("io.k8s.api.policy.v1.Eviction")));
}

static void resources_behind_a_disabled_gate_are_not_described(void **state)
{
	struct world *w = *state;
	struct json *paths;

	openapi_free(w->openapi);
	assert_int_equal(gates_set(&w->gates, STR("DRADeviceTaintRules=false"), NULL), 0);
	w->openapi = openapi_new(&w->gates, w->kinds, w->nkinds, NULL);
	paths = json_getz(tree(w, "/openapi/v3/apis/resource.k8s.io/v1"), "paths");
	assert_null(json_getz(paths, "/apis/resource.k8s.io/v1/devicetaintrules"));
	assert_non_null(json_getz(paths, "/apis/resource.k8s.io/v1/resourceslices"));
}

/* --- requests ---------------------------------------------------------------------------- */

static void the_accept_header_chooses(void **state)
{
	struct world *w = *state;
	const struct document *d = NULL;

	assert_string_equal(get(w, "/openapi/v2", "")->content_type, "application/json");
	assert_string_equal(get(w, "/openapi/v2", PROTOBUF ", */*")->content_type,
			    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
	assert_string_equal(
		get(w, "/openapi/v3/api/v1/", "text/plain, application/json;q=0.5")->content_type,
		"application/json");
	assert_int_equal(
		openapi_get(w->openapi, STR("/openapi/v3/api/v1"), STR(PROTOBUF), &d, NULL),
		-ERR_NOT_ACCEPTABLE);
	assert_string_equal(get(w, "/openapi/v3", PROTOBUF)->content_type, "application/json");
	assert_int_equal(openapi_get(w->openapi, STR("/openapi/v3/api/v2"), STR(""), &d, NULL),
			 -ERR_NOT_FOUND);
}

/* --- protobuf: read by a decoder that shares nothing with the encoder ---------------------- */

static uint64_t take_varint(struct str *s)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char c;

		assert_true(s->n > 0 && shift < 64);
		c = (unsigned char)*s->p;
		*s = str_of(s->p + 1, s->n - 1);
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			return v;
	}
}

/* The bytes of the `skip`-th field of that number. p is NULL if not found. */
static struct str field(struct str message, unsigned number, size_t skip)
{
	while (message.n > 0) {
		uint64_t tag = take_varint(&message);
		uint64_t n = take_varint(&message);

		if ((tag & 7) == 0)
			continue;
		assert_int_equal(tag & 7, 2);
		assert_true(n <= message.n);
		if (tag >> 3 == number && skip-- == 0)
			return str_of(message.p, n);
		message = str_of(message.p + n, message.n - n);
	}
	return STR_NULL;
}

/* In a list of {name(1), value(2)}, the value of that name. */
static struct str entry(struct str message, unsigned number, const char *name)
{
	for (size_t i = 0;; i++) {
		struct str e = field(message, number, i);

		if (!e.p)
			fail_msg("there is no \"%s\"", name);
		if (str_eqz(field(e, 1, 0), name))
			return field(e, 2, 0);
	}
}

static void protobuf_says_the_same_as_json(void **state)
{
	struct str d = bytes_str(get(*state, "/openapi/v2", PROTOBUF)->bytes);
	struct str pod = entry(field(d, 9, 0), 1, POD);
	struct str status = entry(field(pod, 25, 0), 1, "status");
	struct str gvk = entry(pod, 31, "x-kubernetes-group-version-kind");
	struct str path = entry(field(d, 8, 0), 2, "/api/v1/namespaces/{namespace}/pods/{name}");
	struct str patch = field(path, 8, 0), parameter;
	bool found = false;

	assert_true(str_eqz(field(d, 1, 0), "2.0"));
	assert_true(str_eqz(field(field(pod, 22, 0), 1, 0), "object"));
	assert_true(str_eqz(field(status, 1, 0), "#/definitions/io.k8s.api.core.v1.PodStatus"));
	assert_true(str_eqz(field(gvk, 2, 0),
			    "[{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Pod\"}]"));
	assert_true(str_eqz(field(patch, 5, 0), "patchCoreV1NamespacedPod"));
	for (size_t i = 0; (parameter = field(patch, 8, i)).p; i++) {
		struct str query = field(field(field(parameter, 1, 0), 2, 0), 3, 0);

		found = found || str_eqz(field(query, 4, 0), "fieldValidation");
	}
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_document_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(the_root_names_documents_by_their_hash, setup,
						teardown),
		cmocka_unit_test_setup_teardown(types_say_their_fields_and_how_lists_merge, setup,
						teardown),
		cmocka_unit_test_setup_teardown(both_versions_carry_the_sentences, setup, teardown),
		cmocka_unit_test_setup_teardown(quantities_are_text_or_numbers_in_v3_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_patch_says_what_kubectl_looks_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_operation_without_parameters_has_no_list_of_them,
						setup, teardown),
		cmocka_unit_test_setup_teardown(v2_keeps_bodies_among_the_parameters, setup,
						teardown),
		cmocka_unit_test_setup_teardown(subresources_have_their_own_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(resources_behind_a_disabled_gate_are_not_described,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_accept_header_chooses, setup, teardown),
		cmocka_unit_test_setup_teardown(protobuf_says_the_same_as_json, setup, teardown),
	};

	return cmocka_run_group_tests_name("server/openapi", tests, NULL, NULL);
}

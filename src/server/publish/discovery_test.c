#include "server/publish/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "server/publish/document.h"
#include "server/request/negotiate.h"

struct world {
	struct gates gates;
	const struct schema_kind *const *kinds;
	size_t nkinds;
	struct discovery *discovery;
	struct arena arena;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	gates_init(&w->gates);
	w->kinds = schema_kinds(&w->nkinds);
	w->discovery = discovery_new(&w->gates, w->kinds, w->nkinds);
	arena_init(&w->arena, 64UL * MIB);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	discovery_free(w->discovery);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static const struct document *get(struct world *w, const char *path, enum accept_as as)
{
	const struct accept accept = { .as = as };
	const struct document *d = NULL;

	assert_int_equal(discovery_get(w->discovery, str_from(path), &accept, &d, NULL), 0);
	return d;
}

static struct json *parse(struct world *w, const struct document *d)
{
	struct json *tree = NULL;
	struct error err;

	if (json_parse(&w->arena, bytes_str(d->bytes), NULL, &tree, &err) < 0)
		fail_msg("%s", err.msg);
	return tree;
}

/* The element of a list whose member `key` is `value`, or NULL. */
static const struct json *element(const struct json *list, const char *key, const char *value)
{
	JSON_FOREACH (e, list)
		if (str_eqz(json_text_at(e, key), value))
			return e;
	return NULL;
}

static bool has_text(const struct json *list, const char *value)
{
	JSON_FOREACH (e, list)
		if (str_eqz(json_str(e), value))
			return true;
	return false;
}

static void the_old_roots_name_versions_and_groups(void **state)
{
	struct json *api = parse(*state, get(*state, "/api", ACCEPT_OBJECT));
	struct json *apis = parse(*state, get(*state, "/apis/", ACCEPT_OBJECT));
	const struct json *group = element(json_getz(apis, "groups"), "name", "resource.k8s.io");

	assert_true(str_eqz(json_text_at(api, "kind"), "APIVersions"));
	assert_true(has_text(json_getz(api, "versions"), "v1"));
	assert_true(str_eqz(json_text_at(apis, "kind"), "APIGroupList"));
	assert_null(element(json_getz(apis, "groups"), "name", ""));
	assert_int_equal(json_count(json_getz(group, "versions")), 4);
	assert_true(str_eqz(json_str(json_pointer(group, STR("/preferredVersion/groupVersion"))),
			    "resource.k8s.io/v1"));
}

static void a_group_says_its_versions_with_the_preferred_first(void **state)
{
	struct json *group = parse(*state, get(*state, "/apis/resource.k8s.io", ACCEPT_OBJECT));
	static const char *const versions[] = { "v1", "v1beta2", "v1beta1", "v1alpha3" };

	assert_true(str_eqz(json_text_at(group, "kind"), "APIGroup"));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		assert_true(
			str_eqz(json_text_at(json_at(json_getz(group, "versions"), i), "version"),
				versions[i]));
	assert_true(str_eqz(json_str(json_pointer(group, STR("/preferredVersion/version"))), "v1"));
}

static void resources_and_subresources_are_listed(void **state)
{
	struct json *list = parse(*state, get(*state, "/api/v1", ACCEPT_OBJECT));
	const struct json *resources = json_getz(list, "resources");
	const struct json *pods = element(resources, "name", "pods");
	const struct json *eviction = element(resources, "name", "pods/eviction");
	bool namespaced = false;

	assert_true(json_bool(json_getz(pods, "namespaced"), &namespaced) && namespaced);
	assert_true(str_eqz(json_text_at(pods, "kind"), "Pod"));
	assert_true(has_text(json_getz(pods, "shortNames"), "po"));
	assert_true(has_text(json_getz(pods, "categories"), "all"));
	assert_int_equal(json_count(json_getz(pods, "verbs")), 8);
	assert_true(str_eqz(json_text_at(eviction, "group"), "policy"));
	assert_true(str_eqz(json_text_at(element(resources, "name", "pods/exec"), "kind"),
			    "PodExecOptions"));
	assert_null(element(resources, "name", "pods/nothing"));
	assert_null(json_getz(list, "apiVersion"));
}

static struct str hash_of(void *state, const char *path, const char *resource)
{
	struct json *list = parse(state, get(state, path, ACCEPT_OBJECT));

	return json_text_at(element(json_getz(list, "resources"), "name", resource),
			    "storageVersionHash");
}

/* The values are those of a kube-apiserver that stores the same versions. */
static void stored_resources_have_a_storage_version_hash(void **state)
{
	static const char *const versions[] = { "/apis/resource.k8s.io/v1",
						"/apis/resource.k8s.io/v1beta1" };

	assert_true(str_eqz(hash_of(*state, "/api/v1", "pods"), "xPOwRZ+Yhw8="));
	assert_null(hash_of(*state, "/api/v1", "pods/status").p);
	assert_null(hash_of(*state, "/api/v1", "bindings").p);
	assert_true(str_eqz(hash_of(*state, "/api/v1", "events"), "r2yiGXH7wu8="));
	assert_true(str_eqz(hash_of(*state, "/apis/events.k8s.io/v1", "events"), "r2yiGXH7wu8="));
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		assert_true(
			str_eqz(hash_of(*state, versions[i], "resourceclaims"), "wgAZaHcZxUg="));
}

static void features_tell_which_gates_are_on(void **state)
{
	struct json *list = parse(*state, get(*state, "/api/v1", ACCEPT_OBJECT));
	const struct json *features = json_getz(list, "features");
	bool on = false;

	assert_true(json_bool(json_getz(features, "DRAResourceAvailabilityVisibility"), &on));
	assert_true(on);
	assert_true(json_bool(json_getz(features, "DRAListTypeAttributes"), &on));
	assert_false(on);
	assert_null(
		json_getz(parse(*state, get(*state, "/apis/apps/v1", ACCEPT_OBJECT)), "features"));
}

static void the_aggregated_form_holds_all_groups(void **state)
{
	const struct document *d = get(*state, "/apis", ACCEPT_DISCOVERY_V2);
	struct json *list = parse(*state, d);
	const struct json *group = NULL, *version, *claims;

	JSON_FOREACH (item, json_getz(list, "items"))
		if (str_eqz(json_str(json_pointer(item, STR("/metadata/name"))), "resource.k8s.io"))
			group = item;
	version = element(json_getz(group, "versions"), "version", "v1");
	claims = element(json_getz(version, "resources"), "resource", "resourceclaims");

	assert_string_equal(d->content_type, "application/json;g=apidiscovery.k8s.io;v=v2;as="
					     "APIGroupDiscoveryList");
	assert_true(str_eqz(json_text_at(version, "freshness"), "Current"));
	assert_true(str_eqz(json_text_at(claims, "scope"), "Namespaced"));
	assert_true(str_eqz(json_str(json_pointer(claims, STR("/responseKind/kind"))),
			    "ResourceClaim"));
	assert_true(str_eqz(json_str(json_pointer(claims, STR("/subresources/0/subresource"))),
			    "status"));
}

static void the_aggregated_core_is_one_group_without_a_name(void **state)
{
	struct json *list = parse(*state, get(*state, "/api", ACCEPT_DISCOVERY_V2));

	assert_int_equal(json_count(json_getz(list, "items")), 1);
	assert_null(json_pointer(list, STR("/items/0/metadata/name")));
	assert_non_null(element(json_pointer(list, STR("/items/0/versions/0/resources")),
				"resource", "nodes"));
}

static void older_clients_get_v2beta1(void **state)
{
	const struct accept accept = { .as = ACCEPT_DISCOVERY_V2, .as_version = STR("v2beta1") };
	struct world *w = *state;
	const struct document *d = NULL;

	assert_int_equal(discovery_get(w->discovery, STR("/api"), &accept, &d, NULL), 0);
	assert_true(
		str_eqz(json_text_at(parse(w, d), "apiVersion"), "apidiscovery.k8s.io/v2beta1"));
}

static void resources_behind_a_disabled_gate_are_not_listed(void **state)
{
	const struct accept accept = { .as = ACCEPT_OBJECT };
	struct world *w = *state;
	const struct document *d = NULL;
	const struct json *resources;
	struct discovery *off;

	assert_int_equal(gates_set(&w->gates, STR("DRADeviceTaintRules=false"), NULL), 0);
	assert_int_equal(gates_set(&w->gates, STR("DRAResourceAvailabilityVisibility=false"), NULL),
			 0);
	off = discovery_new(&w->gates, w->kinds, w->nkinds);
	assert_int_equal(discovery_get(off, STR("/apis/resource.k8s.io/v1"), &accept, &d, NULL), 0);
	resources = json_getz(parse(w, d), "resources");
	assert_null(element(resources, "name", "devicetaintrules"));
	assert_null(element(resources, "name", "resourceslices/status"));
	assert_non_null(element(resources, "name", "resourceslices"));
	discovery_free(off);
}

static void other_paths_are_not_found(void **state)
{
	static const char *const paths[] = { "/apis/nowhere", "/apis/apps/v2", "/api/v1/pods", "",
					     "/" };
	const struct accept accept = { .as = ACCEPT_OBJECT };
	struct world *w = *state;
	const struct document *d = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(discovery_get(w->discovery, str_from(paths[i]), &accept, &d, NULL),
				 -ERR_NOT_FOUND);
}

static void an_etag_stands_for_its_content(void **state)
{
	const struct document *apps = get(*state, "/apis/apps/v1", ACCEPT_OBJECT);
	const struct document *core = get(*state, "/api/v1", ACCEPT_OBJECT);
	char header[128];

	assert_int_equal(strlen(apps->etag), 34);
	assert_string_not_equal(apps->etag, core->etag);
	assert_true(document_matches(apps, str_from(apps->etag)));
	assert_false(document_matches(apps, str_from(core->etag)));
	(void)snprintf(header, sizeof(header), "%s , W/%s", core->etag, apps->etag);
	assert_true(document_matches(apps, str_from(header)));
	assert_false(document_matches(apps, STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_old_roots_name_versions_and_groups, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_group_says_its_versions_with_the_preferred_first,
						setup, teardown),
		cmocka_unit_test_setup_teardown(resources_and_subresources_are_listed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stored_resources_have_a_storage_version_hash, setup,
						teardown),
		cmocka_unit_test_setup_teardown(features_tell_which_gates_are_on, setup, teardown),
		cmocka_unit_test_setup_teardown(the_aggregated_form_holds_all_groups, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_aggregated_core_is_one_group_without_a_name,
						setup, teardown),
		cmocka_unit_test_setup_teardown(older_clients_get_v2beta1, setup, teardown),
		cmocka_unit_test_setup_teardown(resources_behind_a_disabled_gate_are_not_listed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(other_paths_are_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(an_etag_stands_for_its_content, setup, teardown),
	};

	return cmocka_run_group_tests_name("server/discovery", tests, NULL, NULL);
}

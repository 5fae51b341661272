#include "server/custom/custom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/random.h"
#include "net/sim/sim.h"
#include "server/publish/catalogue.h"
#include "server/publish/discovery.h"
#include "server/publish/document.h"
#include "server/publish/openapi.h"
#include "server/request/negotiate.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define MERGE       "application/merge-patch+json"
#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS     "/apis/example.com/v1/namespaces/default/widgets"
#define FINALIZED   "\"finalizers\":[\"example.com/held\"]"

/* plural, kind, singular and short name; more properties of spec; more versions. */
static const char *definition(struct verb_world *w, const char *plural, const char *kind,
			      const char *properties, const char *versions)
{
	return arena_printf(
		&w->arena,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
		"\"metadata\":{\"name\":\"%s.example.com\"},\"spec\":{\"group\":\"example.com\","
		"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},"
		"\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
		"\"subresources\":{\"status\":{}},\"schema\":{\"openAPIV3Schema\":{"
		"\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\","
		"\"properties\":{\"color\":{\"type\":\"string\",\"default\":\"red\"}%s}},"
		"\"status\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}"
		"}}%s]}}",
		plural, plural, kind, properties, versions);
}

static struct json *define(struct verb_world *w, const char *plural, const char *kind)
{
	return verb_world_call(w, "POST", DEFINITIONS, definition(w, plural, kind, "", ""), 201);
}

static const char *widget(struct verb_world *w, const char *name, const char *meta,
			  const char *spec)
{
	return arena_printf(&w->arena,
			    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\","
			    "\"metadata\":{\"name\":\"%s\"%s},\"spec\":{%s}}",
			    name, meta, spec);
}

static const char *condition(struct verb_world *w, const struct json *tree, const char *type)
{
	JSON_FOREACH (c, json_pointer(tree, STR("/status/conditions")))
		if (str_eqz(json_text_at(c, "type"), type))
			return verb_world_text(w, c, "/status");
	return "";
}

/* Repeats a request until it gets the status: the server's own work takes some turns. */
static struct json *wait_for(struct verb_world *w, const char *target, int status)
{
	for (int i = 0; i < 200; i++) {
		struct verb_ask ask = { .method = "GET", .target = target };
		struct json *tree = verb_world_ask(w, &ask);

		verb_ask_release(&ask);
		if (ask.status == status)
			return tree;
		sim_run_for(w->sim, 50);
	}
	fail_msg("%s: never %d", target, status);
	return NULL;
}

/* --- definitions -------------------------------------------------------------------- */

static void a_definition_is_served_when_it_is_acknowledged(void **state)
{
	struct verb_world *w = *state;
	struct json *tree = define(w, "widgets", "Widget");

	assert_string_equal(condition(w, tree, "NamesAccepted"), "True");
	assert_string_equal(condition(w, tree, "Established"), "True");
	assert_string_equal(verb_world_text(w, tree, "/status/acceptedNames/listKind"),
			    "WidgetList");
	assert_string_equal(verb_world_text(w, tree, "/status/storedVersions/0"), "v1");
	tree = verb_world_call(w, "GET", WIDGETS, NULL, 200);
	assert_string_equal(verb_world_text(w, tree, "/kind"), "WidgetList");
	tree = verb_world_call(w, "POST", WIDGETS, widget(w, "a", "", ""), 201);
	assert_string_equal(verb_world_text(w, tree, "/spec/color"), "red");
	verb_world_call(w, "POST", WIDGETS, widget(w, "b", "", "\"color\":7"), 422);
	verb_world_call(w, "GET", WIDGETS "/a", NULL, 200);
	verb_world_call(w, "GET", WIDGETS "/b", NULL, 404);
	verb_world_call(w, "GET", "/apis/example.com/v2/widgets", NULL, 404);
}

static void a_dry_run_defines_nothing(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;

	tree = verb_world_call(w, "POST", DEFINITIONS "?dryRun=All",
			       definition(w, "widgets", "Widget", "", ""), 201);
	assert_string_equal(condition(w, tree, "Established"), "True");
	verb_world_call(w, "GET", WIDGETS, NULL, 404);
}

static void names_are_given_to_who_waits_when_they_become_free(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;

	define(w, "widgets", "Widget");
	tree = define(w, "gadgets", "Widget"); /* the kind is taken */
	assert_string_equal(condition(w, tree, "NamesAccepted"), "False");
	assert_string_equal(condition(w, tree, "Established"), "False");
	verb_world_call(w, "GET", "/apis/example.com/v1/gadgets", NULL, 404);
	verb_world_call(w, "DELETE", DEFINITIONS "/widgets.example.com", NULL, 200);
	wait_for(w, "/apis/example.com/v1/gadgets", 200);
	tree = verb_world_call(w, "GET", DEFINITIONS "/gadgets.example.com", NULL, 200);
	assert_string_equal(condition(w, tree, "NamesAccepted"), "True");
	assert_string_equal(condition(w, tree, "Established"), "True");
}

static void of_two_that_come_at_once_one_gets_the_names(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[2] = { { .method = "POST", .target = DEFINITIONS },
				    { .method = "POST", .target = DEFINITIONS } };
	unsigned established = 0;

	asks[0].body = definition(w, "widgets", "Widget", "", "");
	asks[1].body = definition(w, "gadgets", "Widget", "", "");
	for (int i = 0; i < 2; i++)
		verb_world_begin(w, &asks[i]);
	for (int i = 0; i < 2; i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 201);
		if (strstr(asks[i].got.p, "InitialNamesAccepted"))
			established++;
		verb_ask_release(&asks[i]);
	}
	assert_int_equal(established, 1);
}

static void a_version_may_be_deprecated(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = "/apis/example.com/v1beta1/widgets" };
	struct verb_ask watch = {
		.method = "GET",
		.target = "/apis/example.com/v1beta1/widgets?watch=true&timeoutSeconds=1",
	};

	verb_world_call(w, "POST", DEFINITIONS,
			definition(w, "widgets", "Widget", "",
				   ",{\"name\":\"v1beta1\",\"served\":true,\"storage\":false,"
				   "\"deprecated\":true,\"schema\":{\"openAPIV3Schema\":{"
				   "\"type\":\"object\"}}},{\"name\":\"v1alpha1\",\"served\":false,"
				   "\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":"
				   "\"object\"}}}"),
			201);
	verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 200);
	assert_string_equal(ask.warnings, "299 - \"example.com/v1beta1 Widget is deprecated; use "
					  "example.com/v1 Widget\"\n");
	verb_ask_release(&ask);
	verb_world_ask(w, &watch);
	assert_int_equal(watch.status, 200);
	assert_string_equal(watch.warnings, ask.warnings);
	verb_ask_release(&watch);
	verb_world_call(w, "GET", "/apis/example.com/v1alpha1/widgets", NULL, 404);
}

/* --- changes ------------------------------------------------------------------------ */

static void a_changed_definition_ends_its_watches_and_shows_objects_anew(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask watches[2] = { { .method = "GET", .target = WIDGETS "?watch=true" },
				       { .method = "GET", .target = WIDGETS "?watch=true" } };
	struct json *tree;

	define(w, "widgets", "Widget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "a", "", "\"color\":\"blue\""), 201);
	for (int i = 0; i < 2; i++)
		verb_world_begin(w, &watches[i]); /* one on each loop */
	sim_run_for(w->sim, 100);
	assert_false(watches[0].over || watches[1].over);
	verb_world_patch(w, DEFINITIONS "/widgets.example.com", MERGE,
			 "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", 200);
	sim_run_for(w->sim, 100);
	assert_false(watches[0].over || watches[1].over); /* the kind has not changed */
	verb_world_patch(
		w, DEFINITIONS "/widgets.example.com", MERGE,
		"{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
		"\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
		"\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\",\"default\":4}}"
		"}}"
		"}}}]}}",
		200);
	for (int i = 0; i < 2; i++) {
		verb_world_finish(w, &watches[i]);
		assert_non_null(strstr(watches[i].got.p, "\"ADDED\""));
		verb_ask_release(&watches[i]);
	}
	tree = verb_world_call(w, "GET", WIDGETS "/a", NULL, 200);
	assert_null(json_pointer(tree, STR("/spec/color")));
	assert_non_null(json_pointer(tree, STR("/spec/size")));
}

/* --- deletion ----------------------------------------------------------------------- */

static void deletion_takes_the_objects_along(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;
	char name[16];

	define(w, "widgets", "Widget");
	for (int i = 0; i < 150; i++) {
		(void)snprintf(name, sizeof(name), "w%d", i);
		verb_world_call(w, "POST", WIDGETS, widget(w, name, "", ""), 201);
	}
	tree = verb_world_call(w, "DELETE", DEFINITIONS "/widgets.example.com", NULL, 200);
	assert_string_equal(condition(w, tree, "Terminating"), "True");
	wait_for(w, DEFINITIONS "/widgets.example.com", 404);
	verb_world_call(w, "GET", WIDGETS, NULL, 404);
	define(w, "widgets", "Widget");
	tree = verb_world_call(w, "GET", WIDGETS, NULL, 200);
	assert_int_equal(json_count(json_getz(tree, "items")), 0);
}

static void finalizers_of_objects_are_waited_for(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;

	define(w, "widgets", "Widget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "held", "," FINALIZED, ""), 201);
	verb_world_call(w, "POST", WIDGETS, widget(w, "free", "", ""), 201);
	verb_world_call(w, "DELETE", DEFINITIONS "/widgets.example.com", NULL, 200);
	wait_for(w, WIDGETS "/free", 404);
	sim_run_for(w->sim, 10 * 1000);
	tree = verb_world_call(w, "GET", DEFINITIONS "/widgets.example.com", NULL, 200);
	assert_string_equal(condition(w, tree, "Terminating"), "True");
	tree = verb_world_call(w, "POST", WIDGETS, widget(w, "late", "", ""), 403);
	assert_string_equal(verb_world_text(w, tree, "/message"),
			    "widgets.example.com \"late\" is forbidden: create not allowed while "
			    "custom resource definition is terminating");
	tree = verb_world_call(w, "GET", WIDGETS "/held", NULL, 200);
	assert_non_null(json_pointer(tree, STR("/metadata/deletionTimestamp")));
	verb_world_patch(w, WIDGETS "/held", MERGE, "{\"metadata\":{\"finalizers\":null}}", 200);
	wait_for(w, DEFINITIONS "/widgets.example.com", 404);
}

/* Another server deletes the definition while a creation is on its way to the store. */
static void nothing_is_created_under_a_definition_that_another_server_deleted(void **state)
{
	struct verb_ask ask = { .method = "POST", .target = WIDGETS };
	struct verb_world *w = *state;

	define(w, "widgets", "Widget");
	ask.body = widget(w, "late", "", "");
	fake_store_hold(w->server.store, true);
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 100);
	(void)fake_data_put(w->data, STR("apiextensions.k8s.io/customresourcedefinitions"), STR(""),
			    STR("widgets.example.com"), STR(""));
	fake_store_hold(w->server.store, false);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 404);
	verb_ask_release(&ask);
	define(w, "widgets", "Widget");
	verb_world_call(w, "GET", WIDGETS "/late", NULL, 404);
}

/*
 * Another server deletes the last object and the definition, and this one gets both events at
 * once.
 */
static void a_watch_tells_of_the_last_deletion_before_it_ends(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask watches[2] = { { .method = "GET", .target = WIDGETS "?watch=true" },
				       { .method = "GET", .target = WIDGETS "?watch=true" } };

	define(w, "widgets", "Widget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "last", "", ""), 201);
	for (int i = 0; i < 2; i++)
		verb_world_begin(w, &watches[i]); /* one on each loop */
	sim_run_for(w->sim, 100);
	(void)fake_data_put(w->data, STR("example.com/widgets"), STR("default"), STR("last"),
			    STR(""));
	(void)fake_data_put(w->data, STR("apiextensions.k8s.io/customresourcedefinitions"), STR(""),
			    STR("widgets.example.com"), STR(""));
	for (int i = 0; i < 2; i++) {
		verb_world_finish(w, &watches[i]);
		assert_true(str_find(buf_str(&watches[i].got), STR("\"DELETED\"")) >= 0);
		verb_ask_release(&watches[i]);
	}
}

/* While this server gets no events, another one creates the definition again, without widgets. */
static int64_t make_again(struct verb_world *w)
{
	struct str definitions = STR("apiextensions.k8s.io/customresourcedefinitions");
	struct str name = STR("widgets.example.com");
	struct json *tree = verb_world_call(w, "GET", DEFINITIONS "/widgets.example.com", NULL,
					    200);
	struct bytes *text = NULL;
	int64_t revision;

	json_put_str(&w->arena, json_getz(tree, "metadata"), "uid",
		     STR("00000000-0000-4000-8000-000000000000"));
	assert_int_equal(object_encode(tree, &text, NULL), 0);
	fake_store_lose(w->server.store);
	(void)fake_data_put(w->data, STR("example.com/widgets"), STR("default"), STR("a"), STR(""));
	(void)fake_data_put(w->data, definitions, STR(""), name, STR(""));
	revision = fake_data_put(w->data, definitions, STR(""), name, bytes_str(text));
	bytes_unref(text);
	return revision;
}

/* During a reload, the definition is known before the objects are in place. */
static void a_server_that_reads_again_lists_what_was_there_at_its_revision(void **state)
{
	struct verb_world *w = *state;
	int64_t again, at = 0;

	define(w, "widgets", "Widget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "a", "", ""), 201);
	again = make_again(w);
	while (at < again) {
		struct verb_ask ask = { .method = "GET", .target = WIDGETS "?resourceVersion=0" };
		struct json *tree = verb_world_ask(w, &ask);

		assert_int_equal(ask.status, 200);
		verb_ask_release(&ask);
		at = strtoll(verb_world_text(w, tree, "/metadata/resourceVersion"), NULL, 10);
		assert_int_equal(json_count(json_getz(tree, "items")), at < again);
		sim_run_for(w->sim, 1);
	}
}

/*
 * Another server had the definition with a widget, and deleted both before this one saw them.
 * Returns a revision at which the widget existed.
 */
static int64_t leave_a_past(struct verb_world *w)
{
	struct str widgets = STR("example.com/widgets"), ns = STR("default"), name = STR("old");
	const char *text = widget(w, "old", ",\"namespace\":\"default\"", "");
	int64_t revision = fake_data_put(w->data, widgets, ns, name, str_from(text));

	(void)fake_data_put(w->data, widgets, ns, name, STR(""));
	return revision;
}

static struct json *read_widgets(struct verb_world *w, const char *query, int64_t revision,
				 int status)
{
	const char *target = arena_printf(&w->arena, WIDGETS "?%s&resourceVersion=%lld", query,
					  (long long)revision);

	return verb_world_call(w, "GET", target, NULL, status);
}

static void a_watch_from_before_its_definition_expires(void **state)
{
	struct verb_world *w = *state;
	int64_t before = leave_a_past(w), defined = 0;
	struct json *tree = define(w, "widgets", "Widget");

	assert_true(str_to_i64(json_str(json_pointer(tree, STR("/metadata/resourceVersion"))),
			       &defined));
	read_widgets(w, "watch=true&timeoutSeconds=1", before, 410);
	read_widgets(w, "watch=true&timeoutSeconds=1", defined - 1, 410);
	read_widgets(w, "watch=true&timeoutSeconds=1", defined, 200);
}

static void a_list_from_before_its_definition_has_the_objects_of_then(void **state)
{
	struct verb_world *w = *state;
	int64_t before = leave_a_past(w);
	struct json *tree;

	define(w, "widgets", "Widget");
	tree = read_widgets(w, "resourceVersionMatch=Exact", before, 200);
	assert_string_equal(verb_world_text(w, tree, "/items/0/metadata/name"), "old");
}

static void apply_creates_nothing_under_a_definition_that_goes(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;

	define(w, "widgets", "Widget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "held", "," FINALIZED, ""), 201);
	verb_world_call(w, "DELETE", DEFINITIONS "/widgets.example.com", NULL, 200);
	tree = verb_world_patch(w, WIDGETS "/late?fieldManager=me", "application/apply-patch+yaml",
				widget(w, "late", "", ""), 403);
	assert_string_equal(verb_world_text(w, tree, "/message"),
			    "widgets.example.com \"late\" is forbidden: create not allowed while "
			    "custom resource definition is terminating");
}

static void collections_of_definitions_go_as_well(void **state)
{
	struct verb_world *w = *state;

	define(w, "widgets", "Widget");
	define(w, "gadgets", "Gadget");
	verb_world_call(w, "POST", WIDGETS, widget(w, "a", "", ""), 201);
	verb_world_call(w, "DELETE", DEFINITIONS, NULL, 200);
	wait_for(w, DEFINITIONS "/widgets.example.com", 404);
	wait_for(w, DEFINITIONS "/gadgets.example.com", 404);
	define(w, "widgets", "Widget");
	verb_world_call(w, "GET", WIDGETS "/a", NULL, 404);
}

static void a_definition_that_was_never_established_goes_at_once(void **state)
{
	struct verb_world *w = *state;

	define(w, "widgets", "Widget");
	define(w, "gadgets", "Widget");
	verb_world_call(w, "DELETE", DEFINITIONS "/gadgets.example.com", NULL, 200);
	wait_for(w, DEFINITIONS "/gadgets.example.com", 404);
	verb_world_call(w, "GET", WIDGETS, NULL, 200);
}

/* --- all at once -------------------------------------------------------------------- */

enum { ROUNDS = 120, AT_ONCE = 8 };

static void choose(struct verb_world *w, struct prng *prng, struct verb_ask *ask)
{
	static const char *const plurals[] = { "widgets", "gadgets", "gizmos" };
	static const char *const kinds[] = { "Widget", "Gadget", "Widget" }; /* two conflict */
	uint32_t which = prng_below(prng, 3), name = prng_below(prng, 4);
	const char *objects = arena_printf(&w->arena, "/apis/example.com/v1/namespaces/default/%s",
					   plurals[which]);
	const char *object = arena_printf(&w->arena, "%s/o%u", objects, name);
	const char *own = arena_printf(&w->arena, DEFINITIONS "/%s.example.com", plurals[which]);

	*ask = (struct verb_ask){ .method = "GET", .target = object };
	switch (prng_below(prng, 10)) {
	case 0:
	case 1:
		ask->method = "POST";
		ask->target = DEFINITIONS;
		ask->body = definition(w, plurals[which], kinds[which], "", "");
		break;
	case 2:
		ask->method = "DELETE";
		ask->target = own;
		break;
	case 3:
		ask->method = "PATCH";
		ask->content_type = "application/json-patch+json";
		ask->target = own;
		ask->body = arena_printf(
			&w->arena,
			"[{\"op\":\"replace\",\"path\":\"/spec/versions/0/schema/openAPIV3Schema/"
			"properties/spec/properties/color/default\",\"value\":\"c%u\"}]",
			name);
		break;
	case 4:
		ask->target = arena_printf(&w->arena, "%s?watch=true&timeoutSeconds=1", objects);
		break;
	case 5:
		ask->target = objects;
		break;
	case 6:
		ask->method = "DELETE";
		ask->target = object;
		break;
	default:
		ask->method = "POST";
		ask->target = objects;
		ask->body = arena_printf(&w->arena,
					 "{\"apiVersion\":\"example.com/v1\",\"kind\":\"%s\","
					 "\"metadata\":{\"name\":\"o%u\"},\"spec\":{}}",
					 kinds[which], name);
	}
}

/* 503 is for watches whose kind changed while they were opened. */
static bool is_expected(int status)
{
	static const int all[] = { 200, 201, 403, 404, 409, 503 };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (status == all[i])
			return true;
	return false;
}

static void check_answer(const struct verb_ask *ask, uint64_t seed)
{
	if (!is_expected(ask->status))
		fail_msg("seed %llu: %s %s: %d %s", (unsigned long long)seed, ask->method,
			 ask->target, ask->status, ask->got.p);
}

/* Definitions are created, changed and deleted while their objects are written and watched. */
static void storm(struct verb_world *w, uint64_t seed)
{
	struct verb_ask asks[AT_ONCE];
	struct prng prng;
	struct json *tree;

	prng_init(&prng, seed);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < AT_ONCE; i++) {
			choose(w, &prng, &asks[i]);
			verb_world_begin(w, &asks[i]);
		}
		for (size_t i = 0; i < AT_ONCE; i++) {
			verb_world_finish(w, &asks[i]);
			check_answer(&asks[i], seed);
			verb_ask_release(&asks[i]);
		}
	}
	verb_world_call(w, "DELETE", DEFINITIONS, NULL, 200);
	wait_for(w, DEFINITIONS "/widgets.example.com", 404);
	wait_for(w, DEFINITIONS "/gadgets.example.com", 404);
	wait_for(w, DEFINITIONS "/gizmos.example.com", 404);
	define(w, "widgets", "Widget");
	tree = verb_world_call(w, "GET", WIDGETS, NULL, 200);
	assert_int_equal(json_count(json_getz(tree, "items")), 0);
}

static void concurrent_changes_of_definitions_end_well(void **state)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct verb_world w;

		(void)state;
		verb_world_init(&w, seed, seed % 2 ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_1, seed % 2);
		storm(&w, seed);
		verb_world_release(&w);
	}
}

/* --- documents ---------------------------------------------------------------------- */

static const struct document *openapi_of(struct verb_world *w, const char *path)
{
	const struct document *d = NULL;

	(void)openapi_get(custom_catalogue(w->server.custom)->openapi, str_from(path), STR(""), &d,
			  NULL);
	return d;
}

static struct json *discovery_of(struct verb_world *w, const char *path)
{
	struct accept accept = { .as_version = STR("v1") };
	const struct document *d = NULL;
	struct json *tree;

	if (discovery_get(custom_catalogue(w->server.custom)->discovery, str_from(path), &accept,
			  &d, NULL) < 0)
		return NULL;
	assert_int_equal(
		json_parse(&w->arena, arena_str(&w->arena, bytes_str(d->bytes)), NULL, &tree, NULL),
		0);
	return tree;
}

static void discovery_lists_what_is_defined(void **state)
{
	struct verb_world *w = *state;
	struct json *tree;

	assert_null(discovery_of(w, "/apis/example.com"));
	define(w, "widgets", "Widget");
	tree = discovery_of(w, "/apis/example.com");
	assert_string_equal(verb_world_text(w, tree, "/preferredVersion/version"), "v1");
	tree = discovery_of(w, "/apis/example.com/v1");
	assert_string_equal(verb_world_text(w, tree, "/resources/0/name"), "widgets");
	assert_string_equal(verb_world_text(w, tree, "/resources/1/name"), "widgets/status");
	verb_world_call(w, "DELETE", DEFINITIONS "/widgets.example.com", NULL, 200);
	wait_for(w, DEFINITIONS "/widgets.example.com", 404);
	assert_null(discovery_of(w, "/apis/example.com"));
}

static void openapi_changes_only_where_definitions_do(void **state)
{
	struct verb_world *w = *state;
	const struct document *apps = openapi_of(w, "/openapi/v3/apis/apps/v1"), *own;
	char before[DOCUMENT_ETAG_SIZE];

	assert_null(openapi_of(w, "/openapi/v3/apis/example.com/v1"));
	define(w, "widgets", "Widget");
	own = openapi_of(w, "/openapi/v3/apis/example.com/v1");
	assert_non_null(own);
	assert_non_null(strstr(bytes_str(own->bytes).p, "\"com.example.v1.Widget\""));
	memcpy(before, own->etag, sizeof(before));
	define(w, "gadgets", "Gadget");
	assert_ptr_equal(openapi_of(w, "/openapi/v3/apis/apps/v1"), apps);
	own = openapi_of(w, "/openapi/v3/apis/example.com/v1");
	assert_string_not_equal(own->etag, before);
	assert_non_null(strstr(bytes_str(own->bytes).p, "\"com.example.v1.GadgetList\""));
}

#define WORLD(test) cmocka_unit_test_setup_teardown(test, verb_world_set_up, verb_world_tear_down)
#define SHARED(test) \
	cmocka_unit_test_setup_teardown(test, verb_world_set_up_http1, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD(a_definition_is_served_when_it_is_acknowledged),
		WORLD(a_dry_run_defines_nothing),
		WORLD(names_are_given_to_who_waits_when_they_become_free),
		WORLD(of_two_that_come_at_once_one_gets_the_names),
		WORLD(a_version_may_be_deprecated),
		WORLD(a_changed_definition_ends_its_watches_and_shows_objects_anew),
		WORLD(deletion_takes_the_objects_along),
		SHARED(deletion_takes_the_objects_along),
		WORLD(finalizers_of_objects_are_waited_for),
		SHARED(finalizers_of_objects_are_waited_for),
		SHARED(nothing_is_created_under_a_definition_that_another_server_deleted),
		SHARED(a_watch_tells_of_the_last_deletion_before_it_ends),
		SHARED(a_server_that_reads_again_lists_what_was_there_at_its_revision),
		SHARED(a_watch_from_before_its_definition_expires),
		SHARED(a_list_from_before_its_definition_has_the_objects_of_then),
		WORLD(apply_creates_nothing_under_a_definition_that_goes),
		WORLD(collections_of_definitions_go_as_well),
		WORLD(a_definition_that_was_never_established_goes_at_once),
		cmocka_unit_test(concurrent_changes_of_definitions_end_well),
		WORLD(discovery_lists_what_is_defined),
		WORLD(openapi_changes_only_where_definitions_do),
	};

	return cmocka_run_group_tests_name("server/custom", tests, NULL, NULL);
}

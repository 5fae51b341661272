/*
 * Replies in protobuf, compared with the JSON of the same: both must have the same content.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/decode.h"
#include "api/codec/protobuf.h"
#include "api/codec/protobuf_wire.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/gzip.h"
#include "net/sim/sim.h"
#include "server/engine/watch_text.h"
#include "server/testing/verb_world.h"

#define PROTOBUF        "application/vnd.kubernetes.protobuf"
#define CLIENT          PROTOBUF ",application/json" /* as sent by Go's typed clients */
#define PARTIAL         ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define PARTIALS        ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
#define MAPS            "/api/v1/namespaces/default/configmaps"
#define PODS            "/api/v1/namespaces/default/pods"
#define CLAIMS(version) "/apis/resource.k8s.io/" version "/namespaces/default/resourceclaims"

static const char *const a_claim =
	"{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\","
	"\"exactly\":{\"deviceClassName\":\"d.io\"}}]}}}";

/* --- reading ---------------------------------------------------------------------- */

/* The tree of the JSON that corresponds to a reply. */
static struct json *decoded(struct verb_world *w, struct str body)
{
	struct protobuf_envelope e;
	const struct schema_kind *kind;
	struct json *tree = NULL;
	struct error err = { 0 };
	size_t unknown = 0;

	if (protobuf_open(body, &e, &err) < 0)
		fail_msg("%s", err.msg);
	kind = schema_find_kind(e.api_version, e.kind);
	if (!kind)
		fail_msg("%.*s %.*s", STR_ARG(e.api_version), STR_ARG(e.kind));
	if (protobuf_decode_body(&w->arena, kind, body, &unknown, &tree, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(unknown, 0);
	return tree;
}

static struct json *ask(struct verb_world *w, struct verb_ask *a, int status)
{
	struct json *tree;

	a->accept = a->accept ? a->accept : CLIENT;
	verb_world_begin(w, a);
	verb_world_finish(w, a);
	if (a->status != status)
		fail_msg("%s %s: %d", a->method, a->target, a->status);
	assert_string_equal(a->content, PROTOBUF);
	tree = decoded(w, arena_str(&w->arena, buf_str(&a->got)));
	if (!a->content_encoding[0])
		assert_int_equal(a->length, a->got.n);
	verb_ask_release(a);
	return tree;
}

static struct json *call(struct verb_world *w, const char *method, const char *target,
			 const char *body, int status)
{
	struct verb_ask a = { .method = method, .target = target, .body = body };

	return ask(w, &a, status);
}

/* Ignores empty lists, zero values, and the kinds that items of lists name. */
static void normal(struct verb_world *w, struct json *tree)
{
	const struct schema_kind *kind = schema_find_kind(json_text_at(tree, "apiVersion"),
							  json_text_at(tree, "kind"));

	JSON_FOREACH (item, json_getz(tree, "items")) {
		(void)json_remove(item, STR("apiVersion"));
		(void)json_remove(item, STR("kind"));
	}
	assert_int_equal(decode_fit(&w->arena, tree, kind->type, NULL, NULL), 0);
	if (!json_count(json_getz(tree, "items")))
		(void)json_remove(tree, STR("items"));
}

static void assert_same(struct verb_world *w, struct json *got, struct json *want)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	normal(w, got);
	normal(w, want);
	if (json_equal(got, want))
		return;
	(void)json_print(&text, got, NULL);
	(void)buf_addz(&text, "\n");
	(void)json_print(&text, want, NULL);
	fail_msg("%s", text.p);
}

/* GET in both forms; returns the protobuf reply. */
static struct json *get_both(struct verb_world *w, const char *target)
{
	struct json *got = call(w, "GET", target, NULL, 200);

	assert_same(w, got, verb_world_call(w, "GET", target, NULL, 200));
	return got;
}

/* --- objects ---------------------------------------------------------------------- */

static void every_write_answers_with_the_object(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask patch = { .method = "PATCH",
				  .target = MAPS "/a",
				  .content_type = "application/merge-patch+json",
				  .body = "{\"data\":{\"k\":\"3\"}}" };
	struct json *got;

	got = call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}", 201);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMap");
	assert_string_not_equal(verb_world_text(w, got, "/metadata/uid"), "");
	assert_same(w, got, verb_world_call(w, "GET", MAPS "/a", NULL, 200));
	got = call(w, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"2\"}}",
		   200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "2");
	got = ask(w, &patch, 200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "3");
	got = get_both(w, MAPS "/a");
	assert_string_equal(verb_world_text(w, got, "/data/k"), "3");
	got = call(w, "POST", MAPS "?dryRun=All",
		   "{\"metadata\":{\"name\":\"b\"},\"data\":{\"k\":\"1\"}}", 201);
	assert_string_equal(verb_world_text(w, got, "/metadata/name"), "b");
}

static void subresources_and_deletions_too(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask status = { .method = "PATCH",
				   .target = PODS "/p/status",
				   .content_type = "application/merge-patch+json",
				   .body = "{\"status\":{\"phase\":\"Running\"}}" };
	struct json *got;

	(void)call(w, "POST", PODS,
		   "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\","
		   "\"image\":\"i\"}]}}",
		   201);
	(void)get_both(w, PODS "/p");
	got = ask(w, &status, 200);
	assert_string_equal(verb_world_text(w, got, "/status/phase"), "Running");
	got = call(w, "POST", PODS "/p/binding",
		   "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"p\"},"
		   "\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}",
		   201);
	assert_string_equal(verb_world_text(w, got, "/status"), "Success");
	/* The reply for a pod is the pod, for a ConfigMap a Status. */
	got = call(w, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Pod");
	(void)call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	got = call(w, "DELETE", MAPS "/a", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Status");
	assert_string_equal(verb_world_text(w, got, "/status"), "Success");
	assert_string_equal(verb_world_text(w, got, "/details/name"), "a");
}

static void failures_are_statuses(void **state)
{
	struct verb_world *w = *state;
	struct json *got = call(w, "GET", MAPS "/a", NULL, 404);

	assert_string_equal(verb_world_text(w, got, "/message"), "configmaps \"a\" not found");
	assert_string_equal(verb_world_text(w, got, "/reason"), "NotFound");
	assert_string_equal(verb_world_text(w, got, "/details/name"), "a");
	assert_int_equal(json_getz(got, "code")->i64, 404);
	got = call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"A\"}}", 422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"), "metadata.name");
	/* Before the form was negotiated. */
	got = call(w, "GET", "/api/v1/nothings", NULL, 404);
	assert_string_equal(verb_world_text(w, got, "/reason"), "NotFound");
	got = call(w, "GET", MAPS "?watch=1&resourceVersion=100000", NULL, 504);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "ResourceVersionTooLarge");
}

static void every_served_version_is(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)call(w, "POST", CLAIMS("v1"), a_claim, 201);
	got = get_both(w, CLAIMS("v1") "/c");
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "resource.k8s.io/v1");
	got = get_both(w, CLAIMS("v1beta2") "/c");
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "resource.k8s.io/v1beta2");
	got = get_both(w, CLAIMS("v1beta1") "/c");
	assert_string_equal(verb_world_text(w, got, "/spec/devices/requests/0/deviceClassName"),
			    "d.io");
	(void)get_both(w, CLAIMS("v1"));
	(void)get_both(w, CLAIMS("v1beta2"));
	(void)get_both(w, CLAIMS("v1beta1"));
}

/* --- lists ------------------------------------------------------------------------ */

static void lists_have_the_items_and_their_metadata(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	char target[512];

	got = get_both(w, MAPS);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMapList");
	/* Items whose length takes one byte, and two. */
	verb_world_make_maps(w, 7, 10);
	(void)get_both(w, MAPS);
	(void)get_both(w, MAPS "?labelSelector=odd%3Dyes");
	got = get_both(w, MAPS "?limit=3");
	assert_int_equal(json_count(json_getz(got, "items")), 3);
	assert_int_equal(json_pointer(got, STR("/metadata/remainingItemCount"))->i64, 4);
	(void)snprintf(target, sizeof(target), MAPS "?limit=3&continue=%s",
		       verb_world_text(w, got, "/metadata/continue"));
	got = get_both(w, target);
	assert_string_equal(verb_world_text(w, got, "/items/0/metadata/name"), "m003");
	got = call(w, "DELETE", MAPS "?limit=2", NULL, 200);
	assert_int_equal(json_count(json_getz(got, "items")), 2);
}

/* More than is encoded in one turn, and more than is sent in one. */
static void large_lists_are_made_in_steps(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	verb_world_make_maps(w, 40, 20000);
	got = get_both(w, MAPS);
	assert_int_equal(json_count(json_getz(got, "items")), 40);
	assert_same(w, call(w, "GET", MAPS, NULL, 200), got);
}

static void large_lists_are_compressed_when_wanted(void **state)
{
	struct verb_world *w = *state;
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * MIB);
	struct verb_ask zipped = {
		.method = "GET", .target = MAPS, .encoding = "gzip", .accept = CLIENT
	};

	verb_world_make_maps(w, 60, 4000);
	verb_world_begin(w, &zipped);
	verb_world_finish(w, &zipped);
	assert_string_equal(zipped.content_encoding, "gzip");
	assert_int_equal(gzip_inflate(buf_str(&zipped.got), &out, 16 * MIB, NULL), 0);
	assert_same(w, decoded(w, buf_str(&out)), verb_world_call(w, "GET", MAPS, NULL, 200));
	verb_ask_release(&zipped);
}

/* --- partial objects -------------------------------------------------------------- */

static void informers_of_metadata_get_partial_objects(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask list = { .method = "GET", .target = MAPS, .accept = PROTOBUF PARTIALS };
	struct verb_ask one = { .method = "GET",
				.target = MAPS "/m001",
				.accept = PROTOBUF PARTIAL ",application/json" PARTIAL };
	struct verb_ask dry = { .method = "POST",
				.target = MAPS "?dryRun=All",
				.accept = PROTOBUF PARTIAL,
				.body = "{\"metadata\":{\"name\":\"x\"},\"data\":{\"a\":\"b\"}}" };
	struct json *got;

	verb_world_make_maps(w, 3, 10);
	got = ask(w, &list, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "PartialObjectMetadataList");
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "meta.k8s.io/v1");
	assert_int_equal(json_count(json_getz(got, "items")), 3);
	assert_string_equal(verb_world_text(w, got, "/items/1/metadata/name"), "m001");
	assert_string_equal(verb_world_text(w, got, "/items/1/metadata/labels/odd"), "yes");
	assert_string_not_equal(verb_world_text(w, got, "/metadata/resourceVersion"), "");
	got = ask(w, &one, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "PartialObjectMetadata");
	assert_string_equal(verb_world_text(w, got, "/metadata/name"), "m001");
	got = ask(w, &dry, 201);
	assert_string_equal(verb_world_text(w, got, "/metadata/name"), "x");
}

/* In that list, field 1 has the items and field 2 the metadata. */
static void the_old_list_of_them_is_upstream_s(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask list = { .method = "GET",
				 .target = MAPS,
				 .accept = PROTOBUF ";as=PartialObjectMetadataList;"
						    "g=meta.k8s.io;v=v1beta1" };
	struct protobuf_envelope e;
	struct wire_field f;
	int items = 0, metadata = 0;

	verb_world_make_maps(w, 2, 10);
	verb_world_begin(w, &list);
	verb_world_finish(w, &list);
	assert_int_equal(protobuf_open(buf_str(&list.got), &e, NULL), 0);
	assert_true(str_eqz(e.api_version, "meta.k8s.io/v1beta1"));
	while (wire_next(&e.message, &f, NULL) > 0) {
		items += f.number == 1;
		metadata += f.number == 2;
	}
	assert_int_equal(items, 2);
	assert_int_equal(metadata, 1);
	verb_ask_release(&list);
}

static void expect_json(struct verb_world *w, const char *target, const char *accept, int status,
			const char *message)
{
	struct verb_ask a = { .method = "GET", .target = target, .accept = accept };
	struct json *got = verb_world_ask(w, &a);

	assert_int_equal(a.status, status);
	assert_string_equal(a.content, "application/json");
	assert_string_equal(verb_world_text(w, got, status == 200 ? "/kind" : "/message"), message);
	verb_ask_release(&a);
}

static void unsupported_media_types_are_rejected_or_skipped(void **state)
{
	struct verb_world *w = *state;
	static const char *const all = "only the following media types are accepted: "
				       "application/json, application/yaml, " PROTOBUF;

	verb_world_make_maps(w, 1, 10);
	expect_json(w, MAPS, PROTOBUF PARTIAL, 406,
		    "you requested PartialObjectMetadata, but the requested object is a list "
		    "(ConfigMapList)");
	expect_json(w, MAPS "/m000", PROTOBUF PARTIALS, 406,
		    "you requested PartialObjectMetadataList, but the requested object is not a "
		    "list (ConfigMap)");
	expect_json(w, MAPS, PROTOBUF ";as=Table;g=meta.k8s.io;v=v1", 406, all);
	expect_json(w, MAPS,
		    PROTOBUF ";as=Table;g=meta.k8s.io;v=v1,application/json;as=Table;"
			     "g=meta.k8s.io;v=v1",
		    200, "Table");
	expect_json(w, MAPS, PROTOBUF ";stream=tail", 406, all);
}

/* --- watches ---------------------------------------------------------------------- */

struct seen {
	char types[256]; /* of all events, concatenated */
	struct json *last; /* the object of the last event */
};

static struct seen events(struct verb_world *w, struct verb_ask *a)
{
	struct str rest = arena_str(&w->arena, buf_str(&a->got));
	struct seen s = { 0 };

	while (rest.n) {
		const unsigned char *p = (const unsigned char *)rest.p;
		struct wire_field type, object, raw;
		struct str event;
		size_t n;

		assert_true(rest.n > 4);
		n = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
		assert_true(n <= rest.n - 4);
		event = str_of(rest.p + 4, n);
		rest = str_skip(rest, 4 + n);
		assert_int_equal(wire_next(&event, &type, NULL), 1);
		assert_int_equal(wire_next(&event, &object, NULL), 1);
		assert_int_equal(event.n, 0);
		assert_int_equal(wire_next(&object.bytes, &raw, NULL), 1);
		n = strlen(s.types);
		(void)snprintf(s.types + n, sizeof(s.types) - n, "%.*s ", STR_ARG(type.bytes));
		s.last = decoded(w, raw.bytes);
	}
	return s;
}

/* A watch in some form that sees a ConfigMap change. */
static struct seen watch(struct verb_world *w, const char *target, const char *accept)
{
	struct verb_ask a = { .method = "GET", .target = target, .accept = accept };
	struct seen s;

	verb_world_begin(w, &a);
	sim_run_for(w->sim, 500);
	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"a\",\"labels\":{\"odd\":\"yes\"}},"
			      "\"data\":{\"k\":\"1\"}}",
			      201);
	(void)verb_world_call(w, "PUT", MAPS "/a",
			      "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"2\"}}", 200);
	(void)verb_world_call(w, "DELETE", MAPS "/a", NULL, 200);
	verb_world_finish(w, &a);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.content, PROTOBUF ";stream=watch");
	s = events(w, &a);
	verb_ask_release(&a);
	return s;
}

#define WATCH "?watch=1&timeoutSeconds=5"

static void a_watch_is_frames(void **state)
{
	struct verb_world *w = *state;
	struct seen s;

	verb_world_make_maps(w, 1, 10);
	s = watch(w, MAPS WATCH, CLIENT);
	assert_string_equal(s.types, "ADDED ADDED MODIFIED DELETED ");
	assert_string_equal(verb_world_text(w, s.last, "/kind"), "ConfigMap");
	assert_string_equal(verb_world_text(w, s.last, "/data/k"), "2");
	/* In all namespaces; and alone. */
	s = watch(w, "/api/v1/configmaps" WATCH, PROTOBUF);
	assert_string_equal(s.types, "ADDED ADDED MODIFIED DELETED ");
	s = watch(w, MAPS WATCH "&fieldSelector=metadata.name%3Da", PROTOBUF ";stream=watch");
	assert_string_equal(s.types, "ADDED MODIFIED DELETED ");
}

/* An object that no longer matches is shown in its previous state, at the new revision. */
static void a_watch_with_a_selector_too(void **state)
{
	struct verb_world *w = *state;
	struct seen s = watch(w, MAPS WATCH "&labelSelector=odd%3Dyes", CLIENT);
	struct json *after = verb_world_call(w, "GET", MAPS, NULL, 200);

	assert_string_equal(s.types, "ADDED DELETED ");
	assert_string_equal(verb_world_text(w, s.last, "/data/k"), "1");
	assert_int_equal(strtol(verb_world_text(w, s.last, "/metadata/resourceVersion"), NULL, 10),
			 strtol(verb_world_text(w, after, "/metadata/resourceVersion"), NULL, 10) -
				 1);
}

static void a_watch_of_metadata_too(void **state)
{
	struct verb_world *w = *state;
	struct seen s = watch(w, MAPS WATCH "&allowWatchBookmarks=true", PROTOBUF PARTIAL);

	assert_string_equal(s.types, "BOOKMARK ADDED MODIFIED DELETED BOOKMARK ");
	assert_string_equal(verb_world_text(w, s.last, "/kind"), "PartialObjectMetadata");
	assert_string_equal(verb_world_text(w, s.last, "/apiVersion"), "meta.k8s.io/v1");
}

/* The schema does not have the old version's name: only checks that it arrives. */
static void a_watch_of_old_metadata_has_its_version(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask a = { .method = "GET",
			      .target = MAPS WATCH,
			      .accept = PROTOBUF ";as=PartialObjectMetadata;g=meta.k8s.io;"
						 "v=v1beta1" };

	verb_world_make_maps(w, 1, 10);
	verb_world_begin(w, &a);
	verb_world_finish(w, &a);
	assert_int_equal(a.status, 200);
	assert_true(str_find(buf_str(&a.got), STR("meta.k8s.io/v1beta1")) > 0);
	verb_ask_release(&a);
}

static void an_error_is_an_event_with_a_status(void **state)
{
	struct verb_world *w = *state;
	struct watch_form form = { .protobuf = true };
	struct verb_ask a = { 0 };
	struct error err;
	struct seen s;
	struct bytes *b;

	(void)error_set(&err, ERR_EXPIRED, "too old resource version: 1 (2)");
	b = watch_text_error(&form, &err);
	buf_init(&a.got, MIB);
	(void)buf_add_str(&a.got, bytes_str(b));
	s = events(w, &a);
	assert_string_equal(s.types, "ERROR ");
	assert_string_equal(verb_world_text(w, s.last, "/reason"), "Expired");
	assert_int_equal(json_getz(s.last, "code")->i64, 410);
	verb_ask_release(&a);
	bytes_unref(b);
}

/* A damaged object is reported; no event is skipped. */
static void an_object_that_is_damaged_is_an_error(void **state)
{
	const struct schema_kind *kind = schema_find_kind(STR("v1"), STR("ConfigMap"));
	struct watch_form form = { .protobuf = true, .kind = kind };
	struct verb_world *w = *state;
	struct verb_ask a = { 0 };
	struct object *o = NULL;
	struct seen s;
	struct bytes *b;

	assert_int_equal(object_new(kind, STR("{\"metadata\":{\"name\":\"a\"},\"x\":tru}"), 5,
				    &w->server.gates, &o, NULL),
			 0);
	b = watch_text_event(&form, RING_ADDED, o, false, 0);
	buf_init(&a.got, MIB);
	(void)buf_add_str(&a.got, bytes_str(b));
	s = events(w, &a);
	assert_string_equal(s.types, "ERROR ");
	assert_string_equal(verb_world_text(w, s.last, "/reason"), "InternalError");
	assert_string_equal(verb_world_text(w, s.last, "/message"), "a stored object is not JSON");
	assert_int_equal(json_getz(s.last, "code")->i64, 500);
	verb_ask_release(&a);
	bytes_unref(b);
	object_unref(o);
}

static void the_initial_state_ends_with_a_bookmark(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask a = { .method = "GET",
			      .target = MAPS
			      "?watch=1&timeoutSeconds=1&sendInitialEvents=true"
			      "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			      .accept = CLIENT };
	struct seen s;

	verb_world_make_maps(w, 2, 20000);
	verb_world_begin(w, &a);
	verb_world_finish(w, &a);
	s = events(w, &a);
	assert_string_equal(s.types, "ADDED ADDED BOOKMARK ");
	assert_string_equal(verb_world_text(w, s.last, "/kind"), "ConfigMap");
	assert_string_equal(
		verb_world_text(w, s.last, "/metadata/annotations/k8s.io~1initial-events-end"),
		"true");
	verb_ask_release(&a);
}

static void a_watch_of_another_version_too(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask a = { .method = "GET",
			      .target = CLAIMS("v1beta1") WATCH,
			      .accept = CLIENT };
	struct seen s;

	verb_world_begin(w, &a);
	sim_run_for(w->sim, 500);
	(void)verb_world_call(w, "POST", CLAIMS("v1"), a_claim, 201);
	verb_world_finish(w, &a);
	s = events(w, &a);
	assert_string_equal(s.types, "ADDED ");
	assert_string_equal(verb_world_text(w, s.last, "/apiVersion"), "resource.k8s.io/v1beta1");
	assert_string_equal(verb_world_text(w, s.last, "/spec/devices/requests/0/deviceClassName"),
			    "d.io");
	verb_ask_release(&a);
}

/* Each gets all events, in its own form. */
static void watches_of_different_forms_stand_side_by_side(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[] = {
		{ .method = "GET", .target = MAPS WATCH },
		{ .method = "GET", .target = MAPS WATCH, .accept = CLIENT },
		{ .method = "GET", .target = MAPS WATCH, .accept = PROTOBUF PARTIAL },
		{ .method = "GET", .target = MAPS WATCH, .accept = CLIENT },
		{ .method = "GET", .target = "/api/v1/configmaps" WATCH, .accept = CLIENT },
		{ .method = "GET", .target = "/api/v1/configmaps" WATCH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		verb_world_begin(w, &asks[i]);
	sim_run_for(w->sim, 500);
	verb_world_make_maps(w, 5, 10);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		verb_world_finish(w, &asks[i]);
		if (asks[i].accept)
			assert_string_equal(events(w, &asks[i]).types,
					    "ADDED ADDED ADDED ADDED ADDED ");
		else
			assert_non_null(strstr(asks[i].got.p, "m004"));
		verb_ask_release(&asks[i]);
	}
}

#define TEST(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down), \
		cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1,          \
						verb_world_tear_down)
#define TEST_2(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_write_answers_with_the_object),
		TEST(subresources_and_deletions_too),
		TEST(failures_are_statuses),
		TEST(every_served_version_is),
		TEST(lists_have_the_items_and_their_metadata),
		TEST(large_lists_are_made_in_steps),
		TEST(large_lists_are_compressed_when_wanted),
		TEST(informers_of_metadata_get_partial_objects),
		TEST(the_old_list_of_them_is_upstream_s),
		TEST(unsupported_media_types_are_rejected_or_skipped),
		TEST_2(a_watch_is_frames),
		TEST_2(a_watch_with_a_selector_too),
		TEST_2(a_watch_of_metadata_too),
		TEST_2(a_watch_of_old_metadata_has_its_version),
		TEST_2(an_error_is_an_event_with_a_status),
		TEST_2(an_object_that_is_damaged_is_an_error),
		TEST_2(the_initial_state_ends_with_a_bookmark),
		TEST_2(a_watch_of_another_version_too),
		TEST_2(watches_of_different_forms_stand_side_by_side),
	};

	return cmocka_run_group_tests_name("server/verb_protobuf", tests, NULL, NULL);
}

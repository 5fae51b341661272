/*
 * Lists, forms of objects, deletions of collections, and the beginnings of watches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/yaml/yaml.h"
#include "net/loop/gzip.h"
#include "net/sim/sim.h"
#include "server/http/audit.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define CLAIMS "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
#define TABLE  "application/json;as=Table;v=v1;g=meta.k8s.io"

static size_t items(const struct json *list)
{
	return json_count(json_getz(list, "items"));
}

static void a_list_holds_what_matches(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = MAPS };
	struct json *got;

	got = verb_world_call(w, "GET", MAPS, NULL, 200);
	assert_int_equal(items(got), 0);
	verb_world_make_maps(w, 7, 10);
	got = verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 200);
	assert_string_equal(ask.content, "application/json");
	assert_int_equal(ask.length, ask.got.n);
	assert_int_equal(items(got), 7);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMapList");
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "v1");
	assert_string_not_equal(verb_world_text(w, got, "/metadata/resourceVersion"), "");
	assert_string_equal(verb_world_text(w, got, "/items/6/metadata/name"), "m006");
	verb_ask_release(&ask);
	got = verb_world_call(w, "GET", MAPS "?labelSelector=odd%3Dyes", NULL, 200);
	assert_int_equal(items(got), 3);
	got = verb_world_call(w, "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dm001",
			      NULL, 200);
	assert_int_equal(items(got), 1);
	got = verb_world_call(w, "GET", MAPS "?resourceVersion=0", NULL, 200);
	assert_int_equal(items(got), 7);
}

static void pages_are_of_one_revision(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	char target[512];
	const char *first;

	verb_world_make_maps(w, 7, 10);
	got = verb_world_call(w, "GET", MAPS "?limit=3", NULL, 200);
	assert_int_equal(items(got), 3);
	assert_int_equal(json_pointer(got, STR("/metadata/remainingItemCount"))->i64, 4);
	first = verb_world_text(w, got, "/metadata/resourceVersion");
	/* An object that is deleted after the first page is still in the second. */
	(void)verb_world_call(w, "DELETE", MAPS "/m004", NULL, 200);
	(void)snprintf(target, sizeof(target), MAPS "?limit=3&continue=%s",
		       verb_world_text(w, got, "/metadata/continue"));
	got = verb_world_call(w, "GET", target, NULL, 200);
	assert_int_equal(items(got), 3);
	assert_string_equal(verb_world_text(w, got, "/items/1/metadata/name"), "m004");
	assert_string_equal(verb_world_text(w, got, "/metadata/resourceVersion"), first);
	(void)snprintf(target, sizeof(target), MAPS "?continue=%s",
		       verb_world_text(w, got, "/metadata/continue"));
	got = verb_world_call(w, "GET", target, NULL, 200);
	assert_int_equal(items(got), 1);
	assert_null(json_pointer(got, STR("/metadata/continue")));
	(void)snprintf(target, sizeof(target), MAPS "?continue=x");
	got = verb_world_call(w, "GET", target, NULL, 400);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "invalid continue token: continue key is not valid");
}

static void a_token_that_expired_has_a_successor(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	char target[512];
	const char *first;

	verb_world_make_maps(w, 7, 10);
	got = verb_world_call(w, "GET", MAPS "?limit=3", NULL, 200);
	first = verb_world_text(w, got, "/metadata/resourceVersion");
	(void)snprintf(target, sizeof(target), MAPS "?limit=3&continue=%s",
		       verb_world_text(w, got, "/metadata/continue"));
	(void)verb_world_call(w, "POST", "/api/v1/namespaces/default/secrets",
			      "{\"metadata\":{\"name\":\"s\"}}", 201);
	(void)verb_world_call(w, "GET", target, NULL, 200);
	fake_data_compact(w->data, (int64_t)strtoll(first, NULL, 10) + 1);
	got = verb_world_call(w, "GET", target, NULL, 410);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Expired");
	assert_non_null(strstr(verb_world_text(w, got, "/message"), "token in this response"));
	(void)snprintf(target, sizeof(target), MAPS "?limit=3&continue=%s",
		       verb_world_text(w, got, "/metadata/continue"));
	got = verb_world_call(w, "GET", target, NULL, 200);
	assert_int_equal(items(got), 3);
	assert_string_equal(verb_world_text(w, got, "/items/0/metadata/name"), "m003");
	assert_string_not_equal(verb_world_text(w, got, "/metadata/resourceVersion"), first);
	assert_int_equal(json_pointer(got, STR("/metadata/remainingItemCount"))->i64, 1);
	(void)snprintf(target, sizeof(target),
		       MAPS "?resourceVersion=%s&resourceVersionMatch=Exact", first);
	got = verb_world_call(w, "GET", target, NULL, 410);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "The resourceVersion for the provided list is too old.");
	assert_null(json_pointer(got, STR("/metadata/continue")));
}

static void lists_are_of_the_revision_that_is_asked_for(void **state)
{
	struct verb_world *w = *state;
	char target[256];
	struct json *got;
	const char *rv;

	verb_world_make_maps(w, 2, 10);
	got = verb_world_call(w, "GET", MAPS, NULL, 200);
	rv = verb_world_text(w, got, "/metadata/resourceVersion");
	(void)verb_world_call(w, "DELETE", MAPS "/m000", NULL, 200);
	(void)snprintf(target, sizeof(target), MAPS "?resourceVersion=%s&resourceVersionMatch=%s",
		       rv, "Exact");
	got = verb_world_call(w, "GET", target, NULL, 200);
	assert_int_equal(items(got), 2);
	assert_string_equal(verb_world_text(w, got, "/metadata/resourceVersion"), rv);
	(void)snprintf(target, sizeof(target), MAPS "?resourceVersion=%s&resourceVersionMatch=%s",
		       rv, "NotOlderThan");
	got = verb_world_call(w, "GET", target, NULL, 200);
	assert_int_equal(items(got), 1);
	got = verb_world_call(w, "GET", MAPS "?resourceVersion=100000", NULL, 504);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "ResourceVersionTooLarge");
}

static void kubectl_gets_tables(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask list = { .method = "GET", .target = MAPS, .accept = TABLE };
	struct verb_ask one = { .method = "GET", .target = MAPS "/m001", .accept = TABLE };
	struct verb_ask whole = { .method = "GET",
				  .target = MAPS "?includeObject=Object",
				  .accept = TABLE };
	struct verb_ask yaml = { .method = "GET",
				 .target = MAPS,
				 .accept = "application/yaml;as=Table;v=v1;g=meta.k8s.io" };
	struct json *got;

	verb_world_make_maps(w, 3, 10);
	got = verb_world_ask(w, &list);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Table");
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "meta.k8s.io/v1");
	assert_int_equal(json_count(json_getz(got, "rows")), 3);
	assert_string_equal(verb_world_text(w, got, "/rows/2/cells/0"), "m002");
	assert_string_equal(verb_world_text(w, got, "/rows/2/object/kind"),
			    "PartialObjectMetadata");
	got = verb_world_ask(w, &whole);
	assert_string_equal(verb_world_text(w, got, "/rows/2/object/kind"), "ConfigMap");
	got = verb_world_ask(w, &one);
	assert_int_equal(json_count(json_getz(got, "rows")), 1);
	(void)verb_world_ask(w, &yaml);
	assert_int_equal(yaml.status, 200);
	assert_int_equal(yaml_parse(&w->arena, buf_str(&yaml.got), NULL, &got, NULL), 0);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Table");
	assert_int_equal(json_count(json_getz(got, "rows")), 3);
	verb_ask_release(&list);
	verb_ask_release(&one);
	verb_ask_release(&whole);
	verb_ask_release(&yaml);
}

static void informers_of_metadata_get_partial_objects(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask list = {
		.method = "GET",
		.target = MAPS,
		.accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	};
	struct verb_ask one = { .method = "GET",
				.target = MAPS "/m001",
				.accept = "application/json;as=PartialObjectMetadata;v=v1;"
					  "g=meta.k8s.io" };
	struct verb_ask wrong = { .method = "GET", .target = MAPS, .accept = one.accept };
	struct json *got;

	verb_world_make_maps(w, 3, 10);
	got = verb_world_ask(w, &list);
	assert_string_equal(verb_world_text(w, got, "/kind"), "PartialObjectMetadataList");
	assert_string_equal(verb_world_text(w, got, "/items/1/kind"), "PartialObjectMetadata");
	assert_string_equal(verb_world_text(w, got, "/items/1/metadata/name"), "m001");
	assert_null(json_pointer(got, STR("/items/1/data")));
	got = verb_world_ask(w, &one);
	assert_string_equal(verb_world_text(w, got, "/metadata/name"), "m001");
	(void)verb_world_ask(w, &wrong);
	assert_int_equal(wrong.status, 406);
	verb_ask_release(&list);
	verb_ask_release(&one);
	verb_ask_release(&wrong);
}

static void compare_forms(struct verb_world *w)
{
	struct verb_ask plain = { .method = "GET", .target = MAPS };
	struct verb_ask yaml = { .method = "GET", .target = MAPS, .accept = "application/yaml" };
	struct verb_ask human = { .method = "GET", .target = MAPS, .user_agent = "curl/8" };
	struct json *expected = verb_world_ask(w, &plain), *got;

	(void)verb_world_ask(w, &yaml);
	assert_string_equal(yaml.content, "application/yaml");
	assert_int_equal(yaml_parse(&w->arena, buf_str(&yaml.got), NULL, &got, NULL), 0);
	assert_true(json_equal(got, expected));
	got = verb_world_ask(w, &human);
	assert_true(json_equal(got, expected));
	assert_non_null(strstr(human.got.p, "\n  \"items\": ["));
	verb_ask_release(&plain);
	verb_ask_release(&yaml);
	verb_ask_release(&human);
}

static void yaml_and_indented_lists_say_the_same(void **state)
{
	struct verb_world *w = *state;

	compare_forms(w);
	verb_world_make_maps(w, 3, 10);
	compare_forms(w);
}

/* Checks that all items of a list begin with their metadata. */
static void assert_bare_items(struct verb_world *w, struct verb_ask *ask, size_t n)
{
	struct json *got = verb_world_ask(w, ask);

	if (ask->accept)
		assert_int_equal(yaml_parse(&w->arena, buf_str(&ask->got), NULL, &got, NULL), 0);
	assert_int_equal(ask->status, 200);
	assert_int_equal(items(got), n);
	assert_string_not_equal(verb_world_text(w, got, "/kind"), "");
	assert_string_not_equal(verb_world_text(w, got, "/apiVersion"), "");
	JSON_FOREACH (item, json_getz(got, "items")) {
		assert_non_null(json_getz(item, "metadata"));
		assert_null(json_getz(item, "kind"));
		assert_null(json_getz(item, "apiVersion"));
	}
	if (ask->length >= 0)
		assert_int_equal(ask->length, ask->got.n);
	verb_ask_release(ask);
}

static void items_of_built_in_kinds_say_no_kind(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[] = {
		{ .method = "GET", .target = MAPS },
		{ .method = "GET", .target = MAPS "?limit=5" },
		{ .method = "GET", .target = "/api/v1/configmaps?labelSelector=!x&limit=5" },
		{ .method = "GET", .target = MAPS "?limit=5", .user_agent = "curl/8" },
		{ .method = "GET", .target = MAPS "?limit=5", .accept = "application/yaml" },
		{ .method = "DELETE", .target = MAPS "?dryRun=All&limit=5" },
	};

	verb_world_make_maps(w, 5, 10);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		assert_bare_items(w, &asks[i], 5);
}

static void other_versions_are_converted(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", CLAIMS,
			      "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"devices\":{\"requests\":"
			      "[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"d.io\"}}]}}}",
			      201);
	got = verb_world_call(w, "GET",
			      "/apis/resource.k8s.io/v1beta2/namespaces/default/resourceclaims/c",
			      NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "resource.k8s.io/v1beta2");
	assert_string_equal(
		verb_world_text(w, got, "/spec/devices/requests/0/exactly/deviceClassName"),
		"d.io");
	got = verb_world_call(w, "GET", "/apis/resource.k8s.io/v1beta2/resourceclaims", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/apiVersion"), "resource.k8s.io/v1beta2");
	assert_string_equal(
		verb_world_text(w, got, "/items/0/spec/devices/requests/0/exactly/deviceClassName"),
		"d.io");
	assert_null(json_pointer(got, STR("/items/0/kind")));
	assert_null(json_pointer(got, STR("/items/0/apiVersion")));
}

static void large_lists_are_compressed_when_wanted(void **state)
{
	struct verb_world *w = *state;
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * MIB);
	struct verb_ask plain = { .method = "GET", .target = MAPS };
	struct verb_ask zipped = { .method = "GET", .target = MAPS, .encoding = "gzip" };
	struct verb_ask small = { .method = "GET", .target = MAPS "?limit=2", .encoding = "gzip" };

	verb_world_make_maps(w, 60, 4000);
	(void)verb_world_ask(w, &plain);
	assert_string_equal(plain.content_encoding, "");
	assert_true(plain.got.n > 60 * 4000);
	assert_int_equal(plain.length, plain.got.n);
	(void)verb_world_ask(w, &zipped);
	assert_string_equal(zipped.content_encoding, "gzip");
	assert_true(zipped.got.n < plain.got.n / 10);
	assert_int_equal(gzip_inflate(buf_str(&zipped.got), &out, 16 * MIB, NULL), 0);
	assert_true(str_eq(buf_str(&out), buf_str(&plain.got)));
	(void)verb_world_ask(w, &small);
	assert_string_equal(small.content_encoding, "");
	verb_ask_release(&plain);
	verb_ask_release(&zipped);
	verb_ask_release(&small);
}

/* Printing and compressing alternate: printed text must not end up between compressed text. */
static void lists_that_are_printed_anew_are_compressed_too(void **state)
{
	struct verb_world *w = *state;
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * MIB);
	struct verb_ask plain = { .method = "GET", .target = MAPS "?pretty=true" };
	struct verb_ask zipped = { .method = "GET",
				   .target = MAPS "?pretty=true",
				   .encoding = "gzip" };

	verb_world_make_maps(w, 500, 400);
	(void)verb_world_ask(w, &plain);
	(void)verb_world_ask(w, &zipped);
	assert_string_equal(zipped.content_encoding, "gzip");
	assert_int_equal(gzip_inflate(buf_str(&zipped.got), &out, 16 * MIB, NULL), 0);
	assert_true(str_eq(buf_str(&out), buf_str(&plain.got)));
	verb_ask_release(&plain);
	verb_ask_release(&zipped);
}

static void collections_are_deleted_by_selector(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	verb_world_make_maps(w, 99, 10);
	got = verb_world_call(w, "DELETE", MAPS "?labelSelector=odd%3Dyes&dryRun=All", NULL, 200);
	assert_int_equal(items(got), 49);
	got = verb_world_call(w, "DELETE", MAPS "?labelSelector=odd%3Dyes", NULL, 200);
	assert_int_equal(items(got), 49);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMapList");
	got = verb_world_call(w, "GET", MAPS, NULL, 200);
	assert_int_equal(items(got), 50);
	got = verb_world_call(w, "DELETE", MAPS "?limit=10", NULL, 200);
	assert_int_equal(items(got), 10);
	(void)verb_world_call(w, "DELETE", MAPS, "{\"propagationPolicy\":\"Background\"}", 200);
	got = verb_world_call(w, "GET", MAPS, NULL, 200);
	assert_int_equal(items(got), 0);
}

static bool has_text(void *arg)
{
	struct verb_ask *ask = arg;

	return ask->got.n && strstr(ask->got.p, "m000") && strstr(ask->got.p, "DELETED");
}

static void watches_begin_where_they_should(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask all = { .method = "GET", .target = MAPS "?watch=1&timeoutSeconds=5" };
	struct verb_ask initial = { .method = "GET",
				    .target = MAPS
				    "?watch=1&timeoutSeconds=5&sendInitialEvents=true"
				    "&resourceVersionMatch=NotOlderThan"
				    "&allowWatchBookmarks=true" };
	struct verb_ask later = { .method = "GET",
				  .target = MAPS "?watch=1&timeoutSeconds=5&sendInitialEvents=false"
						 "&resourceVersionMatch=NotOlderThan" };
	struct verb_ask yaml = { .method = "GET",
				 .target = MAPS "?watch=1",
				 .accept = "application/yaml" };

	verb_world_make_maps(w, 1, 10);
	verb_world_begin(w, &all);
	verb_world_begin(w, &initial);
	verb_world_begin(w, &later);
	sim_run_for(w->sim, 500);
	(void)verb_world_call(w, "DELETE", MAPS "/m000", NULL, 200);
	assert_true(sim_run_until(w->sim, has_text, &all, 4000));
	assert_non_null(strstr(all.got.p, "ADDED"));
	assert_true(sim_run_until(w->sim, has_text, &initial, 4000));
	assert_non_null(strstr(initial.got.p, "k8s.io/initial-events-end"));
	assert_true(sim_run_until(w->sim, has_text, &later, 4000));
	assert_null(strstr(later.got.p, "ADDED"));
	verb_world_finish(w, &all);
	verb_world_finish(w, &initial);
	verb_world_finish(w, &later);
	assert_int_equal(all.status, 200);
	(void)verb_world_ask(w, &yaml);
	assert_int_equal(yaml.status, 406);
	verb_ask_release(&all);
	verb_ask_release(&initial);
	verb_ask_release(&later);
	verb_ask_release(&yaml);
}

static bool is_over(void *arg)
{
	return ((struct verb_ask *)arg)->over;
}

/* The server does not have this revision yet, so the watch is rejected. */
#define FUTURE_WATCH MAPS "?watch=1&resourceVersion=100000"

/* The line of the audit log for this stage of the only request. */
static struct json *audit_line(struct verb_world *w, const char *path, const char *stage)
{
	struct json *line = NULL;
	char text[4096];
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(text, sizeof(text), f)) {
		struct str copy = arena_str(&w->arena, str_from(text));

		assert_int_equal(json_parse(&w->arena, copy, NULL, &line, NULL), 0);
		if (str_eqz(json_text_at(line, "stage"), stage))
			break;
		line = NULL;
	}
	(void)fclose(f);
	assert_non_null(line);
	return line;
}

static void a_rejected_watch_is_audited_with_its_status(void **state)
{
	struct verb_world *w = *state;
	char path[] = "/tmp/devplane-audit-XXXXXX";
	struct audit_opts opts = { .path = path, .metrics = w->server.metrics, .log = &w->log };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(audit_open(&opts, &w->server.audit, NULL), 0);
	(void)verb_world_call(w, "GET", FUTURE_WATCH, NULL, 504);
	assert_int_equal(
		json_pointer(audit_line(w, path, "ResponseStarted"), STR("/responseStatus/code"))
			->i64,
		504);
	assert_int_equal(
		json_pointer(audit_line(w, path, "ResponseComplete"), STR("/responseStatus/code"))
			->i64,
		504);
	audit_close(w->server.audit);
	w->server.audit = NULL;
	(void)close(fd);
	(void)unlink(path);
}

static void a_rejected_watch_has_the_header_fields_of_other_replies(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask read = { .method = "GET", .target = MAPS "?resourceVersion=100000" };
	struct verb_ask watch = { .method = "GET", .target = FUTURE_WATCH };

	(void)verb_world_ask(w, &read);
	(void)verb_world_ask(w, &watch);
	assert_int_equal(read.status, 504);
	assert_int_equal(watch.status, 504);
	assert_int_equal(strlen(watch.audit_id), strlen(read.audit_id));
	assert_string_equal(watch.cache_control, "no-cache, private");
	assert_string_equal(watch.cache_control, read.cache_control);
	assert_string_equal(watch.retry_after, "1");
	assert_string_equal(watch.retry_after, read.retry_after);
	verb_ask_release(&read);
	verb_ask_release(&watch);
}

#define LONG_WATCH MAPS "?watch=1&timeoutSeconds=9999999999"

static void a_watch_ends_when_its_user_loses_the_right(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = LONG_WATCH };

	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 100 * 1000);
	assert_false(ask.over);
	w->right_lost = true;
	assert_true(sim_run_until(w->sim, is_over, &ask, 30 * 1000));
	assert_int_equal(ask.status, 200);
	verb_ask_release(&ask);
}

static void a_watch_ends_with_its_users_token(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = LONG_WATCH };

	w->user_ends_s = clock_wall(w->server.clock) / CLOCK_SEC + 60;
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 55 * 1000);
	assert_false(ask.over);
	assert_true(sim_run_until(w->sim, is_over, &ask, 10 * 1000));
	verb_ask_release(&ask);
}

/* A watch with any requested timeout ends no later than those without one. */
static void no_watch_is_for_ever(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = LONG_WATCH };

	w->server.opts.min_request_timeout_ms = 300 * 1000;
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 590 * 1000);
	assert_false(ask.over);
	assert_true(sim_run_until(w->sim, is_over, &ask, 20 * 1000));
	verb_ask_release(&ask);
}

#define TEST(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down), \
		cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1,          \
						verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_holds_what_matches),
		TEST(pages_are_of_one_revision),
		TEST(a_token_that_expired_has_a_successor),
		TEST(lists_are_of_the_revision_that_is_asked_for),
		TEST(kubectl_gets_tables),
		TEST(informers_of_metadata_get_partial_objects),
		TEST(yaml_and_indented_lists_say_the_same),
		TEST(items_of_built_in_kinds_say_no_kind),
		TEST(other_versions_are_converted),
		TEST(large_lists_are_compressed_when_wanted),
		TEST(lists_that_are_printed_anew_are_compressed_too),
		TEST(collections_are_deleted_by_selector),
		cmocka_unit_test_setup_teardown(watches_begin_where_they_should, verb_world_set_up,
						verb_world_tear_down),
		TEST(a_rejected_watch_is_audited_with_its_status),
		TEST(a_rejected_watch_has_the_header_fields_of_other_replies),
		TEST(a_watch_ends_when_its_user_loses_the_right),
		TEST(a_watch_ends_with_its_users_token),
		TEST(no_watch_is_for_ever),
	};

	return cmocka_run_group_tests_name("server/verb_list", tests, NULL, NULL);
}

/*
 * Single objects: created, read, replaced, patched, deleted, over real streams and the real
 * state.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/sim/sim.h"
#include "server/http/exchange.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"

static const char *const a_pod = "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":"
				 "[{\"name\":\"c\",\"image\":\"i\"}]}}";

static void an_object_lives_and_dies(void **state)
{
	struct verb_world *w = *state;
	struct json *made, *got, *changed;

	made = verb_world_call(w, "POST", MAPS,
			       "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}", 201);
	assert_string_equal(verb_world_text(w, made, "/kind"), "ConfigMap");
	assert_string_not_equal(verb_world_text(w, made, "/metadata/uid"), "");
	assert_string_not_equal(verb_world_text(w, made, "/metadata/resourceVersion"), "");
	got = verb_world_call(w, "GET", MAPS "/a", NULL, 200);
	assert_true(json_equal(made, got));

	changed = verb_world_call(w, "PUT", MAPS "/a",
				  "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"2\"}}", 200);
	assert_string_equal(verb_world_text(w, changed, "/data/k"), "2");
	assert_string_equal(verb_world_text(w, changed, "/metadata/uid"),
			    verb_world_text(w, made, "/metadata/uid"));
	assert_string_not_equal(verb_world_text(w, changed, "/metadata/resourceVersion"),
				verb_world_text(w, made, "/metadata/resourceVersion"));

	got = verb_world_call(w, "DELETE", MAPS "/a", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Status");
	assert_string_equal(verb_world_text(w, got, "/status"), "Success");
	assert_string_equal(verb_world_text(w, got, "/details/uid"),
			    verb_world_text(w, made, "/metadata/uid"));
	got = verb_world_call(w, "GET", MAPS "/a", NULL, 404);
	assert_string_equal(verb_world_text(w, got, "/message"), "configmaps \"a\" not found");
}

/* Requests take the lanes in turn: on a local store, one of them reads itself. */
static void each_lane_reads_what_was_acknowledged(void **state)
{
	struct verb_world *w = *state;

	for (int i = 0; i < 4; i++) {
		struct json *made, *got;

		made = verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
		for (int k = 0; k < 3; k++) {
			got = verb_world_call(w, "GET", MAPS "/a", NULL, 200);
			assert_true(json_equal(made, got));
		}
		(void)verb_world_call(w, "DELETE", MAPS "/a", NULL, 200);
		for (int k = 0; k < 3; k++) {
			got = verb_world_call(w, "GET", MAPS "/a", NULL, 404);
			assert_string_equal(verb_world_text(w, got, "/details/name"), "a");
		}
	}
	assert_true(w->served[0] > 0 && w->served[1] > 0);
}

static void a_write_that_changes_nothing_writes_nothing(void **state)
{
	struct verb_world *w = *state;
	const char *body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}";
	struct json *made = verb_world_call(w, "POST", MAPS, body, 201);
	struct json *same = verb_world_call(w, "PUT", MAPS "/a", body, 200);

	assert_true(json_equal(made, same));
}

static void stale_writes_are_conflicts(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	got = verb_world_call(
		w, "PUT", MAPS "/a",
		"{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"},\"data\":{\"k\":\"1\"}}",
		409);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Conflict");
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Operation cannot be fulfilled on configmaps \"a\": the object has been "
		"modified; please apply your changes to the latest version and try again");
}

static void names_are_taken_once_and_generated_anew(void **state)
{
	struct verb_world *w = *state;
	struct json *got, *other;

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	got = verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 409);
	assert_string_equal(verb_world_text(w, got, "/reason"), "AlreadyExists");
	assert_string_equal(verb_world_text(w, got, "/message"), "configmaps \"a\" already exists");
	got = verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"generateName\":\"x-\"}}", 201);
	other = verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"generateName\":\"x-\"}}", 201);
	assert_string_not_equal(verb_world_text(w, got, "/metadata/name"),
				verb_world_text(w, other, "/metadata/name"));
}

static void namespaces_must_be_there_and_stay(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	got = verb_world_call(w, "POST", "/api/v1/namespaces/none/configmaps",
			      "{\"metadata\":{\"name\":\"a\"}}", 404);
	assert_string_equal(verb_world_text(w, got, "/message"), "namespaces \"none\" not found");
	(void)verb_world_call(w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}",
			      201);
	got = verb_world_call(w, "DELETE", "/api/v1/namespaces/n", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/status/phase"), "Terminating");
	got = verb_world_call(w, "POST", "/api/v1/namespaces/n/configmaps",
			      "{\"metadata\":{\"name\":\"a\"}}", 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"configmaps \"a\" is forbidden: unable to create new content in namespace "
		"n because it is being terminated");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "NamespaceTerminating");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/field"),
			    "metadata.namespace");
	got = verb_world_call(w, "PUT", "/api/v1/namespaces/n/finalize",
			      "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"finalizers\":[]}}", 200);
	(void)verb_world_call(w, "GET", "/api/v1/namespaces/n", NULL, 404);
	got = verb_world_call(w, "DELETE", "/api/v1/namespaces/default", NULL, 403);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"namespaces \"default\" is forbidden: this namespace may not be deleted");
}

static void dry_runs_leave_no_trace(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	got = verb_world_call(w, "POST", MAPS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}",
			      201);
	assert_string_not_equal(verb_world_text(w, got, "/metadata/uid"), "");
	assert_null(json_pointer(got, STR("/metadata/resourceVersion")));
	(void)verb_world_call(w, "GET", MAPS "/a", NULL, 404);

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	got = verb_world_call(w, "PUT", MAPS "/a?dryRun=All",
			      "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}", 200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "1");
	(void)verb_world_call(
		w, "DELETE", MAPS "/a",
		"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"dryRun\":[\"All\"]}", 200);
	got = verb_world_call(w, "GET", MAPS "/a", NULL, 200);
	assert_null(json_pointer(got, STR("/data")));
}

static void finalizers_hold_what_is_deleted(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/y\"]}}", 201);
	got = verb_world_call(w, "DELETE", MAPS "/a", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMap");
	assert_string_not_equal(verb_world_text(w, got, "/metadata/deletionTimestamp"), "");
	(void)verb_world_call(w, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"}}", 200);
	(void)verb_world_call(w, "GET", MAPS "/a", NULL, 404);
}

static void preconditions_of_a_delete_hold(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	got = verb_world_call(w, "DELETE", MAPS "/a", "{\"preconditions\":{\"uid\":\"x\"}}", 409);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Conflict");
	got = verb_world_call(w, "DELETE", MAPS "/a?propagationPolicy=Sometimes", NULL, 422);
	assert_string_equal(verb_world_text(w, got, "/details/kind"), "DeleteOptions");
	(void)verb_world_call(w, "DELETE", MAPS "/a?propagationPolicy=Background", NULL, 200);
}

static struct json *call_protobuf(struct verb_world *w, const char *method, const char *target,
				  struct str body, int status)
{
	struct verb_ask ask = { .method = method,
				.target = target,
				.content_type = "application/vnd.kubernetes.protobuf",
				.accept = "application/json",
				.body = body.p,
				.body_n = body.n };
	struct json *got = verb_world_ask(w, &ask);

	assert_int_equal(ask.status, status);
	verb_ask_release(&ask);
	return got;
}

/* As Go clients send them by default; they may read JSON (verbs/protobuf_test.c). */
static void bodies_may_be_protobuf(void **state)
{
	struct str map = STR("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
			     "ConfigMap\x12\x0f\x0a\x05\x0a\x03"
			     "box\x12\x06\x0a\x01"
			     "a\x12\x01"
			     "1");
	/* In any group version: preconditions{uid: "x"}, and none. */
	struct str of_another = STR("k8s\0\x0a\x18\x0a\x07"
				    "apps/v1\x12\x0d"
				    "DeleteOptions\x12\x05\x12\x03\x0a\x01x");
	struct str plain = STR("k8s\0\x0a\x13\x0a\x02v1\x12\x0d"
			       "DeleteOptions\x12\x02\x08\x00");
	struct verb_world *w = *state;
	struct json *got;

	got = call_protobuf(w, "POST", MAPS "?fieldValidation=Strict", map, 201);
	assert_string_equal(verb_world_text(w, got, "/kind"), "ConfigMap");
	assert_string_equal(verb_world_text(w, got, "/data/a"), "1");
	(void)call_protobuf(w, "PUT", MAPS "/box", map, 200);
	got = call_protobuf(w, "POST", PODS, map, 400);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "ConfigMap in version \"v1\" cannot be handled as a Pod: converting "
			    "(v1.ConfigMap) to (core.Pod): unknown conversion");
	got = call_protobuf(w, "POST", MAPS, str_of(map.p, map.n - 1), 400);
	assert_string_equal(verb_world_text(w, got, "/reason"), "BadRequest");
	(void)call_protobuf(w, "DELETE", MAPS "/box", map, 400);
	(void)call_protobuf(w, "DELETE", MAPS "/box", of_another, 409);
	(void)call_protobuf(w, "DELETE", MAPS "/box", plain, 200);
	(void)verb_world_call(w, "GET", MAPS "/box", NULL, 404);
}

static void patches_are_applied(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask merge = { .method = "PATCH",
				  .target = MAPS "/a",
				  .content_type = "application/merge-patch+json",
				  .body = "{\"data\":{\"k\":\"1\",\"l\":null}}" };
	struct verb_ask other = { .method = "PATCH",
				  .target = MAPS "/a?force=true",
				  .content_type = "application/merge-patch+json",
				  .body = "{}" };
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS,
			      "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"0\",\"l\":\"0\"}}",
			      201);
	got = verb_world_ask(w, &merge);
	assert_int_equal(merge.status, 200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "1");
	assert_null(json_pointer(got, STR("/data/l")));
	got = verb_world_ask(w, &other);
	assert_int_equal(other.status, 422);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be "
		"specified for non-apply patch");
	verb_ask_release(&merge);
	verb_ask_release(&other);
}

/* Each is decided on the previous one; none waits for a commit. */
static void patches_of_many_at_once_all_count(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[20];
	char bodies[20][64];
	struct json *got;

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(bodies[i], sizeof(bodies[i]), "{\"data\":{\"k%d\":\"1\"}}", i);
		asks[i] = (struct verb_ask){ .method = "PATCH",
					     .target = MAPS "/a",
					     .content_type = "application/merge-patch+json",
					     .body = bodies[i] };
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < 20; i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 200);
		verb_ask_release(&asks[i]);
	}
	got = verb_world_call(w, "GET", MAPS "/a", NULL, 200);
	assert_int_equal(json_count(json_getz(got, "data")), 20);
	assert_true(w->served[0] > 0 && w->served[1] > 0);
}

static void status_is_written_apart(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", PODS, a_pod, 201);
	got = verb_world_call(w, "GET", PODS "/p/status", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/kind"), "Pod");
	got = verb_world_call(w, "PUT", PODS "/p/status",
			      "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"no\","
			      "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},"
			      "\"status\":{\"phase\":\"Running\"}}",
			      200);
	assert_string_equal(verb_world_text(w, got, "/status/phase"), "Running");
	assert_string_equal(verb_world_text(w, got, "/spec/nodeName"), "");
}

static void pods_are_bound_and_evicted(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	(void)verb_world_call(w, "POST", PODS, a_pod, 201);
	got = verb_world_call(w, "POST", PODS "/p/binding",
			      "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\","
			      "\"name\":\"n1\"}}",
			      201);
	assert_string_equal(verb_world_text(w, got, "/status"), "Success");
	got = verb_world_call(w, "GET", PODS "/p", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/spec/nodeName"), "n1");
	got = verb_world_call(w, "POST", PODS "/p/binding",
			      "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\","
			      "\"name\":\"n2\"}}",
			      409);
	got = verb_world_call(w, "POST", PODS "/p/eviction",
			      "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":"
			      "{\"gracePeriodSeconds\":0}}",
			      201);
	assert_string_equal(verb_world_text(w, got, "/status"), "Success");
	(void)verb_world_call(w, "GET", PODS "/p", NULL, 404);
}

static void unserved_requests_are_rejected(void **state)
{
	static const struct {
		const char *method, *target, *accept, *type, *body;
		int status;
		const char *message;
	} rows[] = {
		{ "GET", "/api/v1/nothings", NULL, NULL, NULL, 404,
		  "the server could not find the requested resource" },
		{ "GET", "/apis/none.io/v1/nothings", NULL, NULL, NULL, 404, NULL },
		{ "GET", "/nowhere", NULL, NULL, NULL, 404, NULL },
		{ "GET", "/api/v1/configmaps/a", NULL, NULL, NULL, 404, NULL },
		{ "GET", "/api/v1/namespaces/default/nodes", NULL, NULL, NULL, 404, NULL },
		{ "GET", MAPS "/a/status", NULL, NULL, NULL, 404, NULL },
		{ "POST", MAPS "/a", NULL, NULL, "{}", 405,
		  "the server does not allow this method on the requested resource" },
		{ "POST", "/api/v1/configmaps", NULL, NULL, "{}", 405, NULL },
		{ "PUT", MAPS, NULL, NULL, "{}", 405, NULL },
		{ "GET", PODS "/p/binding", NULL, NULL, NULL, 405, NULL },
		{ "OPTIONS", MAPS, NULL, NULL, NULL, 405, NULL },
		{ "GET", MAPS "/a", "text/csv", NULL, NULL, 406,
		  "only the following media types are accepted: application/json, "
		  "application/yaml, application/vnd.kubernetes.protobuf" },
		{ "POST", MAPS, NULL, "application/cbor", "k8s", 415, NULL },
		{ "POST", MAPS, NULL, "application/vnd.kubernetes.protobuf", "k8s", 400, NULL },
		{ "PATCH", MAPS "/a", NULL, "application/json", "{}", 415, NULL },
		{ "PATCH", MAPS "/a?fieldManager=m", NULL, "application/apply-patch+yaml", "{}",
		  400, "invalid object type: /, Kind=" },
		{ "PATCH", MAPS "/a?fieldManager=m", NULL, "application/apply-patch+cbor", "{}",
		  415, NULL },
		{ "PATCH", MAPS "/a", NULL, "application/merge-patch+json", "{}", 404, NULL },
		{ "POST", MAPS, NULL, NULL, "{", 400, NULL },
		{ "PUT", MAPS "/a", NULL, NULL, "{\"metadata\":{\"name\":\"b\"}}", 400,
		  "the name of the object (b) does not match the name on the URL (a)" },
		{ "PUT", MAPS "/a", NULL, NULL, "{\"metadata\":{\"name\":\"a\"}}", 404, NULL },
		{ "GET", MAPS "?fieldSelector=data.k%3D1", NULL, NULL, NULL, 400,
		  "\"data.k\" is not a known field selector: only \"metadata.name\", "
		  "\"metadata.namespace\"" },
		{ "GET", PODS "?fieldSelector=spec.x%3D1", NULL, NULL, NULL, 400,
		  "field label not supported: spec.x" },
		{ "GET", "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.x%3D1", NULL,
		  NULL, NULL, 400,
		  "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x" },
		{ "GET", MAPS "?includeObject=Some", "application/json;as=Table;v=v1;g=meta.k8s.io",
		  NULL, NULL, 400, NULL },
		{ "POST", "/api/v1/namespaces?dryRun=Some", NULL, NULL, "{}", 422,
		  "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: "
		  "[\"Some\"]: "
		  "supported values: \"All\"" },
	};
	struct verb_world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verb_ask ask = { .method = rows[i].method,
					.target = rows[i].target,
					.accept = rows[i].accept,
					.content_type = rows[i].type,
					.body = rows[i].body };
		struct json *got = verb_world_ask(w, &ask);

		if (ask.status != rows[i].status)
			print_error("%s %s: %s\n", ask.method, ask.target, ask.got.p);
		assert_int_equal(ask.status, rows[i].status);
		if (rows[i].message)
			assert_string_equal(verb_world_text(w, got, "/message"), rows[i].message);
		verb_ask_release(&ask);
	}
}

static void large_bodies_are_refused_with_a_status(void **state)
{
	struct verb_world *w = *state;
	char *body = xmalloc(HTTP_BODY_MAX + 2);
	struct verb_ask ask = {
		.method = "POST", .target = MAPS, .body = body, .body_n = HTTP_BODY_MAX + 1
	};
	struct json *got;

	memset(body, ' ', HTTP_BODY_MAX + 1);
	got = verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 413);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Request entity too large: limit is 3145728");
	verb_ask_release(&ask);
	free(body);
}

static bool has_status(void *arg)
{
	return ((struct verb_ask *)arg)->status != 0;
}

static bool is_over(void *arg)
{
	return ((struct verb_ask *)arg)->over;
}

static void an_answer_that_nobody_takes_keeps_nothing_and_ends(void **state)
{
	static const char head[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"";
	struct verb_world *w = *state;
	size_t n = 200 * KIB;
	char *body = xmalloc(n);
	struct verb_ask ask = { .method = "POST", .target = MAPS, .body = body, .body_n = n };
	const struct exchange *x;

	memset(body, 'x', n);
	memcpy(body, head, sizeof(head) - 1);
	memcpy(body + n - 3, "\"}}", 3);
	ask.hold = true;
	verb_world_begin(w, &ask);
	assert_true(sim_run_until(w->sim, has_status, &ask, 1000));
	assert_int_equal(ask.status, 201);
	x = w->last->data;
	assert_true(w->last->out_bytes > 0);
	assert_null(x->incoming.p);
	assert_null(x->room);
	assert_int_equal(x->work.used, 0);
	assert_string_equal(x->about.name.p, "a");
	assert_true(sim_run_until(w->sim, is_over, &ask, 61 * 1000));
	assert_int_equal(ask.err.code, ERR_CANCELED);
	verb_ask_release(&ask);
	free(body);
}

static void unknown_fields_are_warned_of(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "POST",
				.target = MAPS,
				.body = "{\"metadata\":{\"name\":\"a\"},\"foo\":1}" };

	(void)verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 201);
	assert_string_equal(ask.warnings, "299 - \"unknown field \\\"foo\\\"\"\n");
	verb_ask_release(&ask);
	(void)verb_world_call(w, "POST", MAPS "?fieldValidation=Strict",
			      "{\"metadata\":{\"name\":\"b\"},\"foo\":1}", 400);
}

/* A request rejected for its method or form does not reach the code that warns. */
static void a_deprecated_version_warns_where_upstream_does(void **state)
{
	static const char endpoints[] = "/api/v1/namespaces/default/endpoints";
	static const char watch[] =
		"/api/v1/namespaces/default/endpoints?watch=true&timeoutSeconds=1";
	static const char unknown[] = "/api/v1/namespaces/default/endpoints?fieldSelector=a%3Db";
	static const char warning[] = "299 - \"v1 Endpoints is deprecated in v1.33+; use "
				      "discovery.k8s.io/v1 EndpointSlice\"\n";
	const struct {
		struct verb_ask ask;
		int status;
		const char *warnings;
	} cases[] = {
		{ { .method = "GET", .target = endpoints }, 200, warning },
		{ { .method = "GET", .target = watch }, 200, warning },
		{ { .method = "GET", .target = unknown }, 400, warning },
		{ { .method = "PUT", .target = endpoints, .body = "{}" }, 405, "" },
		{ { .method = "OPTIONS", .target = endpoints }, 405, "" },
		{ { .method = "GET", .target = endpoints, .accept = "image/png" }, 406, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verb_ask ask = cases[i].ask;

		(void)verb_world_ask(*state, &ask);
		assert_int_equal(ask.status, cases[i].status);
		assert_string_equal(ask.warnings, cases[i].warnings);
		verb_ask_release(&ask);
	}
}

static void other_paths_are_answered_elsewhere(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "GET", .target = "/version", .accept = "text/plain" };

	(void)verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 200);
	assert_string_equal(ask.got.p, "1.37");
	verb_ask_release(&ask);
}

static void reads_of_the_future_time_out(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	got = verb_world_call(w, "GET", "/api/v1/namespaces/default?resourceVersion=100000", NULL,
			      504);
	assert_string_equal(verb_world_text(w, got, "/reason"), "Timeout");
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/reason"),
			    "ResourceVersionTooLarge");
	(void)verb_world_call(w, "GET", "/api/v1/namespaces/default?resourceVersion=0", NULL, 200);
	(void)verb_world_call(w, "GET", "/api/v1/namespaces/default?resourceVersion=1", NULL, 200);
}

/* A client is not rejected because of a state that nobody can read yet. */
static void refusals_wait_for_what_they_are_decided_on(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[] = {
		{ .method = "POST", .target = MAPS, .body = "{\"metadata\":{\"name\":\"a\"}}" },
		{ .method = "POST", .target = MAPS, .body = "{\"metadata\":{\"name\":\"a\"}}" },
		{ .method = "PUT",
		  .target = MAPS "/a",
		  .body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}" },
	};
	static const int statuses[] = { 201, 409, 200 };

	/* An HTTP/1.1 connection has one request at a time. */
	if (w->protocol == HTTP_PROTOCOL_1)
		return;
	fake_store_hold(w->server.store, true);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		verb_world_begin(w, &asks[i]);
		sim_run_for(w->sim, 50);
	}
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		assert_false(asks[i].over);
	fake_store_hold(w->server.store, false);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, statuses[i]);
		verb_ask_release(&asks[i]);
	}
}

/* Creates ConfigMaps, so that other keys are committed meanwhile. */
static void commit_others(struct verb_world *w, int n)
{
	char body[64];

	for (int i = 0; i < n; i++) {
		(void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"other-%d\"}}", i);
		(void)verb_world_call(w, "POST", MAPS, body, 201);
	}
}

/* However much is committed meanwhile: the write that would cause the rejection never happens. */
static void no_refusal_is_decided_on_a_write_that_fails(void **state)
{
	struct verb_world *w = *state;
	const char *body = "{\"metadata\":{\"name\":\"a\"}}";
	struct verb_ask first = { .method = "POST", .target = MAPS, .body = body };
	struct verb_ask second = first;

	if (w->protocol == HTTP_PROTOCOL_1)
		return;
	fake_store_hold_name(w->server.store, "a");
	verb_world_begin(w, &first);
	sim_run_for(w->sim, 50);
	verb_world_begin(w, &second);
	commit_others(w, 250);
	assert_false(first.over || second.over);
	fake_store_fail(w->server.store, 1, ERR_UNAVAILABLE);
	fake_store_hold_name(w->server.store, NULL);
	verb_world_finish(w, &first);
	verb_world_finish(w, &second);
	assert_int_equal(first.status, 503);
	assert_int_equal(second.status, 201);
	verb_ask_release(&first);
	verb_ask_release(&second);
}

/* A rejection that holds for the committed object does not wait for pending writes. */
static void a_stale_write_conflicts_while_others_are_under_way(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "PUT",
				.target = MAPS "/a",
				.body = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}" };

	(void)verb_world_call(w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	if (w->protocol == HTTP_PROTOCOL_1)
		return;
	fake_store_hold_name(w->server.store, "a");
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 50);
	(void)verb_world_call(w, "PUT", MAPS "/a",
			      "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}", 409);
	assert_false(ask.over);
	fake_store_hold_name(w->server.store, NULL);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 200);
	verb_ask_release(&ask);
}

/* The namespace is being created, or deleted, by a pending write that may still fail. */
static void a_namespace_in_doubt_is_waited_for(void **state)
{
	struct verb_world *w = *state;
	const char *maps = "/api/v1/namespaces/n/configmaps";
	struct verb_ask made = { .method = "POST",
				 .target = "/api/v1/namespaces",
				 .body = "{\"metadata\":{\"name\":\"n\"}}" };
	struct verb_ask early = { .method = "POST",
				  .target = maps,
				  .body = "{\"metadata\":{\"name\":\"a\"}}" };

	if (w->protocol == HTTP_PROTOCOL_1)
		return;
	fake_store_hold_name(w->server.store, "n");
	verb_world_begin(w, &made);
	sim_run_for(w->sim, 50);
	verb_world_begin(w, &early);
	commit_others(w, 3);
	assert_false(early.over);
	fake_store_fail(w->server.store, 1, ERR_UNAVAILABLE);
	fake_store_hold_name(w->server.store, NULL);
	verb_world_finish(w, &made);
	verb_world_finish(w, &early);
	assert_int_equal(made.status, 503);
	assert_int_equal(early.status, 404);
	verb_ask_release(&made);
	verb_ask_release(&early);
}

/* Another server deletes the namespace while a creation is on its way to the store. */
static void nothing_is_created_in_a_namespace_that_another_server_deleted(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "POST",
				.target = "/api/v1/namespaces/n/configmaps",
				.body = "{\"metadata\":{\"name\":\"late\"}}" };

	if (w->local)
		return;
	verb_world_call(w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}", 201);
	fake_store_hold(w->server.store, true);
	verb_world_begin(w, &ask);
	sim_run_for(w->sim, 100);
	(void)fake_data_put(w->data, STR("core/namespaces"), STR(""), STR("n"), STR(""));
	fake_store_hold(w->server.store, false);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 404);
	verb_ask_release(&ask);
	verb_world_call(w, "GET", "/api/v1/namespaces/n/configmaps/late", NULL, 404);
}

/* The store hangs: the client gets a timeout, and a late result does no harm. */
static void writes_have_a_time_limit(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "POST",
				.target = MAPS,
				.body = "{\"metadata\":{\"name\":\"a\"}}" };
	struct json *got;

	fake_store_hold(w->server.store, true);
	got = verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 504);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Timeout: request did not complete within the allotted timeout");
	verb_ask_release(&ask);
	ask.target = MAPS "?timeout=2s";
	ask.body = "{\"metadata\":{\"name\":\"b\"}}";
	ask.body_n = 0;
	ask.over = false;
	(void)verb_world_ask(w, &ask);
	assert_int_equal(ask.status, 504);
	verb_ask_release(&ask);
	fake_store_hold(w->server.store, false);
	sim_run_for(w->sim, 1000);
	(void)verb_world_call(w, "GET", MAPS "/a", NULL, 200);
}

/* A request that its client cancels while it is at the state does no harm. */
static void clients_may_leave_at_any_time(void **state)
{
	struct verb_world *w = *state;

	for (int i = 0; i < 40; i++) {
		char body[64];
		struct verb_ask ask = { .method = "POST", .target = MAPS, .body = body };
		struct error err;

		(void)snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"a%d\"}}", i);
		verb_world_begin(w, &ask);
		sim_run_for(w->sim, i % 10);
		(void)error_set(&err, ERR_CANCELED, "left");
		if (ask.stream)
			http_stream_reset(ask.stream, &err);
		verb_world_finish(w, &ask);
		verb_ask_release(&ask);
	}
	(void)verb_world_call(w, "GET", MAPS, NULL, 200);
}

#define TEST(name)                                                                      \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down), \
		cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1,          \
						verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_object_lives_and_dies),
		TEST(each_lane_reads_what_was_acknowledged),
		TEST(a_write_that_changes_nothing_writes_nothing),
		TEST(stale_writes_are_conflicts),
		TEST(names_are_taken_once_and_generated_anew),
		TEST(namespaces_must_be_there_and_stay),
		TEST(dry_runs_leave_no_trace),
		TEST(finalizers_hold_what_is_deleted),
		TEST(preconditions_of_a_delete_hold),
		TEST(bodies_may_be_protobuf),
		TEST(patches_are_applied),
		TEST(patches_of_many_at_once_all_count),
		TEST(status_is_written_apart),
		TEST(pods_are_bound_and_evicted),
		TEST(unserved_requests_are_rejected),
		TEST(large_bodies_are_refused_with_a_status),
		TEST(unknown_fields_are_warned_of),
		TEST(a_deprecated_version_warns_where_upstream_does),
		TEST(other_paths_are_answered_elsewhere),
		TEST(reads_of_the_future_time_out),
		TEST(writes_have_a_time_limit),
		TEST(refusals_wait_for_what_they_are_decided_on),
		TEST(no_refusal_is_decided_on_a_write_that_fails),
		TEST(a_stale_write_conflicts_while_others_are_under_way),
		TEST(a_namespace_in_doubt_is_waited_for),
		TEST(nothing_is_created_in_a_namespace_that_another_server_deleted),
		cmocka_unit_test_setup_teardown(an_answer_that_nobody_takes_keeps_nothing_and_ends,
						verb_world_set_up, verb_world_tear_down),
		cmocka_unit_test_setup_teardown(clients_may_leave_at_any_time, verb_world_set_up,
						verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/verb", tests, NULL, NULL);
}

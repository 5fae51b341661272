/*
 * Writes of a connection whose loop is not the state's: drafted there, with the results that the
 * state's own loop has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report/metrics.h"
#include "server/testing/verb_world.h"

#define MAPS  "/api/v1/namespaces/default/configmaps"
#define MERGE "application/merge-patch+json"

enum { TOGETHER = 24 };

/* --- what became of the drafts ---------------------------------------------------- */

static long drafts(struct verb_world *w, const char *result)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024UL * 1024);
	char series[96];
	const char *at;

	assert_int_equal(metrics_print(w->server.metrics, &text), 0);
	(void)snprintf(series, sizeof(series), "\ndevplane_write_drafts_total{result=\"%s\"} ",
		       result);
	at = strstr(text.p, series);
	assert_non_null(at);
	return strtol(at + strlen(series), NULL, 10);
}

/* The next request is one of that lane. */
static void choose(struct verb_world *w, unsigned lane)
{
	unsigned before = w->served[lane];

	do {
		before = w->served[lane];
		(void)verb_world_call(w, "GET", "/api/v1/namespaces/default", NULL, 200);
	} while (w->served[lane] == before);
	w->asked++; /* the client after next is the same again */
}

static struct json *call(struct verb_world *w, unsigned lane, const char *method,
			 const char *target, const char *body, int status)
{
	choose(w, lane);
	return verb_world_call(w, method, target, body, status);
}

static struct json *patch(struct verb_world *w, unsigned lane, const char *target, const char *body,
			  int status)
{
	choose(w, lane);
	return verb_world_patch(w, target, MERGE, body, status);
}

/* --- cases ------------------------------------------------------------------------ */

static void every_verb_is_drafted(void **state)
{
	struct verb_world *w = *state;
	struct json *made, *got;

	made = call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}",
		    201);
	assert_string_not_equal(verb_world_text(w, made, "/metadata/uid"), "");
	assert_int_equal(drafts(w, "used"), 1);
	(void)patch(w, 1, MAPS "/a", "{\"data\":{\"p\":\"2\"}}", 200);
	got = call(w, 1, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"3\"}}",
		   200);
	assert_string_equal(verb_world_text(w, got, "/data/k"), "3");
	assert_string_equal(verb_world_text(w, got, "/data/p"), "");
	assert_int_equal(drafts(w, "used"), 3);
	got = call(w, 1, "PUT", MAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"3\"}}",
		   200);
	assert_int_equal(drafts(w, "used"), 4);
	assert_true(json_equal(got, call(w, 0, "GET", MAPS "/a", NULL, 200)));
	got = call(w, 1, "DELETE", MAPS "/a", NULL, 200);
	assert_string_equal(verb_world_text(w, got, "/details/uid"),
			    verb_world_text(w, made, "/metadata/uid"));
	assert_int_equal(drafts(w, "used"), 5);
	(void)call(w, 0, "GET", MAPS "/a", NULL, 404);
	assert_int_equal(drafts(w, "dropped") + drafts(w, "again"), 0);
}

static void the_states_own_loop_drafts_nothing(void **state)
{
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	(void)patch(w, 0, MAPS "/a", "{\"data\":{\"p\":\"2\"}}", 200);
	assert_int_equal(drafts(w, "used") + drafts(w, "again") + drafts(w, "dropped"), 0);
}

/* Names and times aside, both loops say the same. */
static void refusals_are_those_of_the_state(void **state)
{
	static const struct {
		const char *method, *target, *body;
		int status;
	} rows[] = {
		{ "POST", MAPS, "{\"metadata\":{\"name\":\"taken\"}}", 409 },
		{ "POST", MAPS, "{\"metadata\":{\"name\":\"Not_A_Name\"}}", 422 },
		{ "POST", MAPS, "{\"metadata\":{}}", 422 },
		{ "POST", "/api/v1/namespaces/none/configmaps", "{\"metadata\":{\"name\":\"a\"}}",
		  404 },
		{ "PUT", MAPS "/none", "{\"metadata\":{\"name\":\"none\",\"uid\":\"u\"}}", 404 },
		{ "PUT", MAPS "/taken",
		  "{\"metadata\":{\"name\":\"taken\",\"resourceVersion\":\"1\"}}", 409 },
		{ "PUT", MAPS "/taken", "{\"metadata\":{\"name\":\"other\"}}", 400 },
		{ "DELETE", MAPS "/none", NULL, 404 },
		{ "DELETE", MAPS "/taken", "{\"preconditions\":{\"uid\":\"other\"}}", 409 },
	};
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", MAPS, "{\"metadata\":{\"name\":\"taken\"}}", 201);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *one = call(w, 0, rows[i].method, rows[i].target, rows[i].body,
					rows[i].status);
		struct json *other = call(w, 1, rows[i].method, rows[i].target, rows[i].body,
					  rows[i].status);

		assert_true(json_equal(one, other));
	}
	assert_int_equal(drafts(w, "used"), 0);
}

static void a_terminating_namespace_takes_nothing_new(void **state)
{
	struct verb_world *w = *state;

	(void)call(w, 0, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"going\"}}", 201);
	(void)call(w, 1, "POST", "/api/v1/namespaces/going/configmaps",
		   "{\"metadata\":{\"name\":\"a\"}}", 201);
	(void)call(w, 0, "DELETE", "/api/v1/namespaces/going", NULL, 200);
	(void)call(w, 1, "POST", "/api/v1/namespaces/going/configmaps",
		   "{\"metadata\":{\"name\":\"b\"}}", 403);
	(void)patch(w, 1, "/api/v1/namespaces/going/configmaps/a", "{\"data\":{\"k\":\"1\"}}", 200);
	assert_int_equal(drafts(w, "used"), 2);
}

/* Both lanes write one object at once: every write takes effect once. */
static void writers_of_one_object_lose_nothing(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[TOGETHER];
	char bodies[TOGETHER][64];
	struct json *got;

	(void)call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"hot\"}}", 201);
	for (int i = 0; i < TOGETHER; i++) {
		(void)snprintf(bodies[i], sizeof(bodies[i]), "{\"data\":{\"k%d\":\"%d\"}}", i, i);
		asks[i] = (struct verb_ask){ .method = "PATCH",
					     .target = MAPS "/hot",
					     .content_type = MERGE,
					     .body = bodies[i] };
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < TOGETHER; i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 200);
		verb_ask_release(&asks[i]);
	}
	got = verb_world_call(w, "GET", MAPS "/hot", NULL, 200);
	assert_int_equal(json_count(json_getz(got, "data")), TOGETHER);
	assert_true(drafts(w, "dropped") + drafts(w, "again") > 0);
}

static void generated_names_differ(void **state)
{
	struct verb_world *w = *state;
	struct json *one, *other;

	one = call(w, 1, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}", 201);
	other = call(w, 1, "POST", MAPS, "{\"metadata\":{\"generateName\":\"g-\"}}", 201);
	assert_string_not_equal(verb_world_text(w, one, "/metadata/name"),
				verb_world_text(w, other, "/metadata/name"));
	assert_string_not_equal(verb_world_text(w, one, "/metadata/uid"),
				verb_world_text(w, other, "/metadata/uid"));
	assert_int_equal(drafts(w, "used"), 2);
}

/* A webhook that cannot be reached, and may be ignored: the state asks it. */
static void webhooks_are_the_states(void **state)
{
	struct verb_world *w = *state;

	(void)call(
		w, 0, "POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
		"{\"metadata\":{\"name\":\"h\"},\"webhooks\":[{\"name\":\"h.example.com\","
		"\"clientConfig\":{\"url\":\"https://127.0.0.1:1/\"},\"sideEffects\":\"None\","
		"\"failurePolicy\":\"Ignore\",\"timeoutSeconds\":1,"
		"\"admissionReviewVersions\":[\"v1\"],\"rules\":[{\"apiGroups\":[\"\"],"
		"\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":[\"secrets\"]}]}]}",
		201);
	(void)call(w, 1, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}", 201);
	assert_int_equal(drafts(w, "used"), 1);
	(void)call(w, 1, "POST", "/api/v1/namespaces/default/secrets",
		   "{\"metadata\":{\"name\":\"a\"}}", 201);
	assert_int_equal(drafts(w, "used"), 1);
	assert_int_equal(drafts(w, "dropped"), 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
	const struct CMUnitTest tests[] = {
		CASE(every_verb_is_drafted),
		CASE(the_states_own_loop_drafts_nothing),
		CASE(refusals_are_those_of_the_state),
		CASE(a_terminating_namespace_takes_nothing_new),
		CASE(writers_of_one_object_lose_nothing),
		CASE(generated_names_differ),
		CASE(webhooks_are_the_states),
		/* HTTP/1.1, and a store that others write to. */
		cmocka_unit_test_setup_teardown(every_verb_is_drafted, verb_world_set_up_http1,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(writers_of_one_object_lose_nothing,
						verb_world_set_up_http1, verb_world_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

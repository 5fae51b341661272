/*
 * Reviews in a simulated world: an API server that answers them as the test sets.
 */
#include "client/reviews/reviewer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "client/testing/fakeapi_world.h"
#include "net/http/http.h"

enum { SOON_MS = 1000, MINUTE_MS = 60 * 1000 };

struct world {
	struct sim *sim;
	struct loop *loop, *api_loop;
	struct http_server *api;
	struct client *client;
	struct reviewer *reviewer;
	struct arena arena;
	struct review review;
	const char *status; /* JSON: that of every review */
	int http; /* HTTP status of every review */
	char seen[4096]; /* the last review */
	unsigned asked, answered;
	bool yes, drained;
	struct error err; /* of the last answer */
};

static void review_reply(struct http_stream *s, struct str body)
{
	struct world *w = s->data;
	struct http_field type = HTTP_FIELD("content-type", STR("application/json"));

	w->asked++;
	(void)snprintf(w->seen, sizeof(w->seen), "%.*s", STR_ARG(body));
	(void)http_stream_respond(s, w->http, &type, 1, -1);
	(void)http_stream_send_copy(s, str_from(w->status));
	(void)http_stream_end(s, NULL, 0);
}

static const struct http_stream_ops review_ops = { 0 };

static void on_review(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	s->ops = &review_ops;
	s->data = arg;
	http_stream_collect(s, review_reply);
}

static void on_answer(struct review *v, bool yes, const struct error *err)
{
	struct world *w = CONTAINER_OF(v, struct world, review);

	w->answered++;
	w->yes = yes;
	w->err = err ? *err : (struct error){ 0 };
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };
	struct http_server_opts o = { .nloops = 1, .handler = on_review, .arg = w };
	struct addr at;

	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "role");
	w->api_loop = sim_loop_new(w->sim, "api");
	o.loops = &w->api_loop;
	w->api = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->api, &at, NULL, 0, NULL, NULL), 0);
	w->client = fakeapi_client(NULL, w->loop);
	w->reviewer = reviewer_new(w->client);
	arena_init(&w->arena, MIB);
	w->review = (struct review){ .arena = &w->arena, .done = on_answer };
	w->http = 201;
	*state = w;
	return 0;
}

static void on_drained(void *arg)
{
	*(bool *)arg = true;
}

static int end(void **state)
{
	struct world *w = *state;

	client_free(w->client);
	reviewer_free(w->reviewer);
	http_server_drain(w->api, 0, on_drained, &w->drained);
	sim_run_for(w->sim, SOON_MS);
	assert_true(w->drained);
	http_server_free(w->api);
	arena_release(&w->arena);
	loop_free(w->loop);
	loop_free(w->api_loop);
	sim_free(w->sim);
	free(w);
	return 0;
}

static bool ask_token(struct world *w, const char *token, const char *status)
{
	unsigned before = w->answered;

	w->status = status;
	w->review.user = NULL;
	reviewer_token(w->reviewer, &w->review, str_from(token));
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->answered, before + 1);
	return w->yes;
}

static bool ask_path(struct world *w, const char *path, const char *status)
{
	struct json *at = json_make_object(&w->arena);
	unsigned before = w->answered;

	w->status = status;
	json_put_str(&w->arena, at, "path", str_from(path));
	json_put_str(&w->arena, at, "verb", STR("get"));
	reviewer_access(w->reviewer, &w->review, at);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->answered, before + 1);
	return w->yes;
}

#define EVE                                                           \
	"{\"status\":{\"authenticated\":true,\"user\":{\"username\":" \
	"\"eve\",\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}}"
#define ALLOWED "{\"status\":{\"allowed\":true}}"
#define DENIED  "{\"status\":{\"allowed\":false}}"

static void a_path_is_reviewed_for_the_user_of_a_token(void **state)
{
	struct world *w = *state;

	assert_true(ask_token(w, "t", EVE));
	assert_non_null(strstr(w->seen, "\"token\":\"t\""));
	assert_true(ask_path(w, "/metrics", ALLOWED));
	assert_non_null(strstr(w->seen, "\"user\":\"eve\""));
	assert_non_null(strstr(w->seen, "\"groups\":[\"g\"]"));
	assert_non_null(strstr(w->seen, "\"extra\":{\"k\":[\"v\"]}"));
	assert_non_null(strstr(w->seen, "\"nonResourceAttributes\":{\"path\":\"/metrics\","
					"\"verb\":\"get\"}"));
	assert_null(strstr(w->seen, "\"resourceAttributes\""));
}

static void results_are_cached_for_a_bounded_time(void **state)
{
	struct world *w = *state;

	assert_true(ask_token(w, "t", EVE));
	assert_true(ask_token(w, "t", EVE));
	assert_int_equal(w->asked, 1);
	assert_false(ask_path(w, "/metrics", DENIED));
	assert_false(ask_path(w, "/metrics", ALLOWED));
	assert_true(ask_path(w, "/debug/cache", ALLOWED));
	assert_int_equal(w->asked, 3);
	sim_run_for(w->sim, MINUTE_MS);
	assert_true(ask_path(w, "/metrics", ALLOWED));
	assert_int_equal(w->asked, 4);
	sim_run_for(w->sim, 2 * MINUTE_MS);
	assert_false(ask_token(w, "t", "{\"status\":{\"authenticated\":false}}"));
	assert_null(w->review.user);
	assert_int_equal(w->asked, 5);
}

static void a_review_that_fails_is_an_error_and_not_cached(void **state)
{
	struct world *w = *state;

	w->http = 403;
	assert_false(ask_token(w, "t", "{}"));
	assert_int_equal(w->err.code, ERR_FORBIDDEN);
	w->http = 201;
	assert_false(ask_token(w, "t", "{}"));
	assert_string_equal(w->err.msg, "the review's reply has no status");
	assert_true(ask_token(w, "t", EVE));
	assert_int_equal(w->err.code, ERR_OK);
}

static void a_cancelled_review_is_not_answered(void **state)
{
	struct world *w = *state;

	w->status = EVE;
	reviewer_token(w->reviewer, &w->review, STR("t"));
	reviewer_cancel(&w->review);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->answered, 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_path_is_reviewed_for_the_user_of_a_token),
		CASE(results_are_cached_for_a_bounded_time),
		CASE(a_review_that_fails_is_an_error_and_not_cached),
		CASE(a_cancelled_review_is_not_answered),
	};

	return cmocka_run_group_tests_name("client/reviewer", tests, NULL, NULL);
}

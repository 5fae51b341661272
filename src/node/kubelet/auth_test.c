/*
 * Authentication and authorization of the kubelet's API, in a simulated world: an agent that
 * requests reviews, and a server that answers them as the test sets.
 */
#include "node/kubelet/auth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/api/client.h"
#include "client/testing/fakeapi_world.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop/loop.h"

enum { SOON_MS = 1000, MINUTE_MS = 60 * 1000 };

struct world {
	struct sim *sim;
	struct loop *agent_loop, *api_loop, *asker_loop;
	struct http_server *agent, *api;
	struct client *client;
	struct kubelet_auth *auth;
	const char *user; /* JSON: the user of every token; NULL: invalid */
	const char *allowed; /* the permitted subresource; NULL: none */
	bool down; /* reviews are answered 500 */
	unsigned tokens, rights; /* number of reviews */
	char seen[4096]; /* the last one */
	int status; /* of the last reply */
	struct error err; /* of the last check */
	unsigned drained;
};

/* --- reviews ----------------------------------------------------------------------- */

static void review(struct http_stream *s, struct str body)
{
	struct world *w = s->data;
	bool token = str_ends(s->in.path, STR("/tokenreviews"));
	struct http_field type = HTTP_FIELD("content-type", STR("application/json"));
	char status[256], text[512], sub[64];

	(void)snprintf(w->seen, sizeof(w->seen), "%.*s", STR_ARG(body));
	(void)snprintf(sub, sizeof(sub), "\"subresource\":\"%s\"", w->allowed ? w->allowed : "-");
	if (token)
		w->tokens++;
	else
		w->rights++;
	if (token && w->user)
		(void)snprintf(status, sizeof(status), "{\"authenticated\":true,\"user\":%s}",
			       w->user);
	else if (token)
		(void)snprintf(status, sizeof(status), "{\"authenticated\":false}");
	else
		(void)snprintf(status, sizeof(status), "{\"allowed\":%s}",
			       strstr(w->seen, sub) ? "true" : "false");
	(void)snprintf(text, sizeof(text), "{\"status\":%s}", status);
	(void)http_stream_respond(s, w->down ? 500 : 201, &type, 1, -1);
	(void)http_stream_send_copy(s, str_from(text));
	(void)http_stream_end(s, NULL, 0);
}

static const struct http_stream_ops review_ops = { 0 };

static void on_review(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	s->ops = &review_ops;
	s->data = arg;
	http_stream_collect(s, review);
}

/* --- the agent --------------------------------------------------------------------- */

struct question {
	struct kubelet_ask ask;
	struct world *world;
};

static void on_known(struct kubelet_ask *q, const struct error *err)
{
	struct world *w = CONTAINER_OF(q, struct question, ask)->world;

	w->err = err ? *err : (struct error){ 0 };
	if (err)
		http_stream_fail(q->http, err);
	else
		(void)http_stream_reply(q->http, 200, STR("text/plain"), slice_static(STR("yes")));
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	kubelet_auth_cancel(&((struct question *)s->data)->ask);
}

static const struct http_stream_ops agent_ops = { .on_close = on_close };

static void on_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct world *w = arg;
	struct question *q = ARENA_NEW(&s->arena, struct question);

	q->ask.http = s;
	q->ask.done = on_known;
	q->world = w;
	s->ops = &agent_ops;
	s->data = q;
	kubelet_auth_ask(w->auth, &q->ask);
}

/* --- the client ------------------------------------------------------------------- */

static void got_head(struct http_stream *s)
{
	((struct world *)s->data)->status = s->in.status;
}

static void got_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops asker_ops = { .on_head = got_head, .on_body = got_body };

/* Returns the status of the reply; `authorization` may be NULL. */
static int ask(struct world *w, const char *method, const char *path, const char *authorization)
{
	struct http_field field = HTTP_FIELD("authorization", STR_NULL);
	struct http_request r = { .method = str_from(method),
				  .scheme = STR("http"),
				  .authority = STR("agent"),
				  .target = str_from(path),
				  .fields = &field,
				  .nfields = authorization != NULL,
				  .end = true,
				  .ops = &asker_ops,
				  .data = w };
	struct http_client_opts to = { .protocol = HTTP_PROTOCOL_2 };
	struct http_client *asker;
	struct http_stream *s;

	assert_int_equal(addr_parse(&to.to, STR("agent:81"), 0, NULL), 0);
	assert_int_equal(http_client_new(w->asker_loop, &to, &asker, NULL), 0);
	if (authorization)
		field.value = str_from(authorization);
	w->status = 0;
	assert_int_equal(http_client_request(asker, &r, &s, NULL), 0);
	sim_run_for(w->sim, SOON_MS);
	http_client_free(asker);
	return w->status;
}

/* --- life -------------------------------------------------------------------------- */

static struct http_server *serve(struct world *w, struct loop *l,
				 void (*handler)(void *arg, struct http_stream *s, size_t lane))
{
	struct http_server_opts o = { .loops = &l, .nloops = 1, .handler = handler, .arg = w };
	struct http_server *s = http_server_new(&o);
	struct addr at;

	assert_int_equal(addr_parse(&at, l == w->api_loop ? STR(":80") : STR(":81"), 0, NULL), 0);
	assert_int_equal(http_server_listen(s, &at, NULL, 0, NULL, NULL), 0);
	return s;
}

static void begin_with(struct world *w, bool anonymous)
{
	w->auth = kubelet_auth_new(&(struct kubelet_auth_opts){
		.client = w->client, .node_name = "n1", .anonymous = anonymous });
}

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };

	w->sim = sim_new(&so);
	w->agent_loop = sim_loop_new(w->sim, "agent");
	w->api_loop = sim_loop_new(w->sim, "api");
	w->asker_loop = sim_loop_new(w->sim, "asker");
	w->api = serve(w, w->api_loop, on_review);
	w->agent = serve(w, w->agent_loop, on_request);
	w->client = fakeapi_client(NULL, w->agent_loop);
	w->user = "{\"username\":\"eve\",\"groups\":[\"g\"]}";
	w->allowed = "proxy";
	*state = w;
	return 0;
}

static void on_drained(void *arg)
{
	((struct world *)arg)->drained++;
}

static int end(void **state)
{
	struct world *w = *state;

	http_server_drain(w->agent, 0, on_drained, w);
	sim_run_for(w->sim, SOON_MS);
	client_free(w->client);
	kubelet_auth_free(w->auth);
	http_server_drain(w->api, 0, on_drained, w);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->drained, 2);
	http_server_free(w->agent);
	http_server_free(w->api);
	loop_free(w->agent_loop);
	loop_free(w->api_loop);
	loop_free(w->asker_loop);
	sim_free(w->sim);
	free(w);
	return 0;
}

/* --- tests ------------------------------------------------------------------------- */

static void a_token_and_a_right_are_reviewed_once_in_a_while(void **state)
{
	struct world *w = *state;

	begin_with(w, false);
	assert_int_equal(ask(w, "GET", "/containerLogs/ns/p/c", "Bearer t"), 200);
	assert_non_null(strstr(w->seen, "\"user\":\"eve\""));
	assert_non_null(strstr(w->seen, "\"groups\":[\"g\"]"));
	assert_non_null(strstr(w->seen, "\"name\":\"n1\""));
	assert_non_null(strstr(w->seen, "\"verb\":\"get\""));
	assert_int_equal(ask(w, "GET", "/containerLogs/ns/p/d", "bearer t"), 200);
	assert_int_equal(w->tokens, 1);
	assert_int_equal(w->rights, 1);
	assert_int_equal(ask(w, "GET", "/exec/ns/p/c", "Bearer t"), 200);
	assert_non_null(strstr(w->seen, "\"verb\":\"create\""));
	assert_int_equal(ask(w, "POST", "/exec/ns/p/c", "Bearer t"), 200);
	assert_int_equal(w->rights, 2);
	sim_run_for(w->sim, 6 * MINUTE_MS);
	assert_int_equal(ask(w, "GET", "/exec/ns/p/c", "Bearer t"), 200);
	assert_int_equal(w->tokens, 2);
	assert_int_equal(w->rights, 3);
}

static void another_token_is_another_user(void **state)
{
	struct world *w = *state;

	begin_with(w, false);
	assert_int_equal(ask(w, "GET", "/exec/ns/p/c", "Bearer t"), 200);
	w->user = NULL;
	assert_int_equal(ask(w, "GET", "/exec/ns/p/c", "Bearer u"), 401);
	assert_string_equal(w->err.msg, "Unauthorized");
	assert_int_equal(w->tokens, 2);
	assert_int_equal(w->rights, 1);
}

static void each_subresource_is_tried_and_a_refusal_names_them(void **state)
{
	struct world *w = *state;

	begin_with(w, false);
	w->allowed = "pods";
	assert_int_equal(ask(w, "GET", "/pods", "Bearer t"), 200);
	assert_int_equal(w->rights, 1);
	w->allowed = NULL;
	assert_int_equal(ask(w, "GET", "/healthz", "Bearer t"), 403);
	assert_int_equal(w->rights, 3);
	assert_string_equal(w->err.msg, "Forbidden (user=eve, verb=get, resource=nodes, "
					"subresource(s)=[healthz proxy])\n");
	/* It is cached for half a minute. */
	w->allowed = "proxy";
	assert_int_equal(ask(w, "GET", "/healthz", "Bearer t"), 403);
	sim_run_for(w->sim, MINUTE_MS);
	assert_int_equal(ask(w, "GET", "/healthz", "Bearer t"), 200);
}

static void without_a_token_one_is_anonymous_or_nobody(void **state)
{
	struct world *w = *state;

	begin_with(w, false);
	assert_int_equal(ask(w, "GET", "/pods", NULL), 401);
	assert_int_equal(ask(w, "GET", "/pods", "Basic dTpw"), 401);
	kubelet_auth_free(TAKE(w->auth));
	begin_with(w, true);
	assert_int_equal(ask(w, "GET", "/pods", NULL), 200);
	assert_non_null(strstr(w->seen, "\"user\":\"system:anonymous\""));
	assert_non_null(strstr(w->seen, "system:unauthenticated"));
	/* An invalid token does not make a caller anonymous. */
	w->user = NULL;
	assert_int_equal(ask(w, "GET", "/pods", "Bearer bad"), 401);
	assert_int_equal(ask(w, "GET", "/pods", "Bearer"), 401);
}

static void a_failed_review_is_rejected_and_not_cached(void **state)
{
	struct world *w = *state;

	begin_with(w, true);
	w->down = true;
	assert_int_equal(ask(w, "GET", "/pods", "Bearer t"), 401);
	assert_int_equal(ask(w, "GET", "/pods", NULL), 500);
	assert_non_null(strstr(w->err.msg, "Authorization error (user=system:anonymous"));
	w->down = false;
	assert_int_equal(ask(w, "GET", "/pods", "Bearer t"), 200);
	assert_int_equal(ask(w, "GET", "/pods", NULL), 200);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_token_and_a_right_are_reviewed_once_in_a_while),
		CASE(another_token_is_another_user),
		CASE(each_subresource_is_tried_and_a_refusal_names_them),
		CASE(without_a_token_one_is_anonymous_or_nobody),
		CASE(a_failed_review_is_rejected_and_not_cached),
	};

	return cmocka_run_group_tests_name("node/kubelet_auth", tests, NULL, NULL);
}

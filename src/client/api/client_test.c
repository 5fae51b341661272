/*
 * The client against a simulated server: replies, failures, retries, cancellation, and being freed
 * at bad moments, over HTTP/2 and HTTP/1.1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/client_limits.h"
#include "client/testing/api_world.h"

enum { HANG_MS = 900 * 1000 };

/* The last request that was not for the collection, as the server saw it. */
struct seen {
	char method[16], target[512], content_type[64], body[2048];
	unsigned hold; /* number of requests to leave unanswered */
	const char *reply;
	const char *warnings[2]; /* headers of the reply */
	int status;
};

struct call {
	struct client_request request;
	struct api_world *w;
	unsigned done;
	int status;
	struct error err;
	char body[1024], warnings[256]; /* each followed by '|' */
	bool send_again, free_client;
	int64_t at; /* ms when it ended */
};

struct test {
	struct api_world w;
	struct seen seen;
};

static void copy(char *to, size_t size, struct str s)
{
	(void)snprintf(to, size, "%.*s", STR_ARG(s));
}

static void reply_with_warnings(struct http_stream *s, const struct seen *seen)
{
	struct http_field fields[] = { HTTP_FIELD("content-type", STR("application/json")),
				       HTTP_FIELD("warning", str_from(seen->warnings[0])),
				       HTTP_FIELD("warning", str_from(seen->warnings[1])) };

	(void)http_stream_respond(s, seen->status, fields, seen->warnings[1] ? 3 : 2, 2);
	(void)http_stream_send_copy(s, STR("{}"));
	(void)http_stream_end(s, NULL, 0);
}

static void handle(struct api_world *w, struct http_stream *s, struct str body)
{
	struct seen *seen = w->data;

	copy(seen->method, sizeof(seen->method), s->in.method);
	copy(seen->target, sizeof(seen->target), s->in.target);
	copy(seen->content_type, sizeof(seen->content_type),
	     http_fields_get(&s->in.fields, STR("content-type")));
	copy(seen->body, sizeof(seen->body), body);
	if (seen->hold) {
		seen->hold--;
		return;
	}
	if (seen->warnings[0]) {
		reply_with_warnings(s, seen);
		return;
	}
	api_world_reply(s, seen->status ? seen->status : 200, "application/json",
			seen->reply ? seen->reply : "{\"ok\":true}");
}

static void on_done(struct client_request *r, const struct client_answer *a,
		    const struct error *err)
{
	struct call *c = r->arg;

	c->done++;
	c->status = a->status;
	c->err = err ? *err : (struct error){ 0 };
	c->at = sim_elapsed_ms(c->w->sim);
	copy(c->body, sizeof(c->body), a->body);
	for (size_t i = 0, n = 0; i < a->nwarnings; i++)
		n += (size_t)snprintf(c->warnings + n, sizeof(c->warnings) - n, "%.*s|",
				      STR_ARG(a->warnings[i]));
	assert_false(client_busy(r));
	if (c->send_again) {
		c->send_again = false;
		client_send(c->w->client, r);
	}
	if (c->free_client)
		client_free(TAKE(c->w->client));
}

static void call_init(struct test *t, struct call *c, const char *path)
{
	*c = (struct call){ .w = &t->w, .request = { .path = str_from(path), .on_done = on_done } };
	c->request.arg = c;
}

static bool is_done(void *arg)
{
	return ((struct call *)arg)->done > 0;
}

static void wait_done(struct call *c)
{
	assert_true(sim_run_until(c->w->sim, is_done, c, HANG_MS));
	assert_int_equal(c->done, 1);
}

static void begin(struct test *t, uint64_t seed, enum http_protocol protocol)
{
	t->seen = (struct seen){ 0 };
	api_world_init(&t->w, &(struct sim_opts){ .seed = seed }, protocol);
	t->w.handler = handle;
	t->w.data = &t->seen;
}

static void end(struct test *t)
{
	api_world_release(&t->w);
}

/* --- answers ------------------------------------------------------------------------------- */

static void a_request_is_answered(void **state UNUSED)
{
	for (int protocol = HTTP_PROTOCOL_1; protocol <= HTTP_PROTOCOL_2; protocol++) {
		struct test t;
		struct call c;

		begin(&t, 1, (enum http_protocol)protocol);
		call_init(&t, &c, "/other");
		c.request.query = STR("a=b");
		client_send(t.w.client, &c.request);
		assert_int_equal(c.done, 0);
		wait_done(&c);
		assert_int_equal(c.err.code, ERR_OK);
		assert_int_equal(c.status, 200);
		assert_string_equal(c.body, "{\"ok\":true}");
		assert_string_equal(t.seen.target, "/other?a=b");
		assert_string_equal(t.w.last_authorization, "Bearer secret");
		assert_non_null(strstr(t.w.last_agent, "devplane-test/"));
		end(&t);
	}
}

static void a_request_may_have_a_token_of_its_own(void **state UNUSED)
{
	struct client_access access;
	struct test t;
	struct call c;

	begin(&t, 2, HTTP_PROTOCOL_1);
	call_init(&t, &c, "/other");
	c.request.bearer = STR("theirs");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_string_equal(t.w.last_authorization, "Bearer theirs");
	assert_true(client_access(t.w.client, &access));
	assert_true(str_eqz(access.authorization, "Bearer secret"));
	assert_true(access.authority.n > 0 && !access.tls && access.nacting == 0);
	end(&t);
}

static void warnings_come_with_answers(void **state UNUSED)
{
	static const struct {
		int status;
		const char *fields[2], *want;
	} v[] = {
		{ 200, { "299 - \"a is deprecated; use b\"" }, "a is deprecated; use b|" },
		{ 404, { "299 - \"of a failure\"" }, "of a failure|" },
		{ 200,
		  { "299 - \"unknown field \\\"f\\\\\\\"\"", "299 - \"x\"" },
		  "unknown field \"f\\\"|x|" },
		{ 200,
		  { "299 - \"one, \" \"Sun, 06 Nov 1994 08:49:37 GMT\" ,299 x \"two\","
		    "  299 - \"three\"" },
		  "one, |two|three|" },
		{ 200, { "110 - \"stale\", 299 - \"\", 299 - \"rest\"" }, "rest|" },
		{ 200, { "299 - \"no end", "299 - \"no end\\\"" }, "" },
		{ 200, { "299 - \"one\" two, 299 - \"three\"", "" }, "" },
		{ 200, { "hello", "299" }, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct test t;
		struct call c;

		begin(&t, 1, HTTP_PROTOCOL_1);
		t.seen.status = v[i].status;
		t.seen.warnings[0] = v[i].fields[0];
		t.seen.warnings[1] = v[i].fields[1];
		call_init(&t, &c, "/other");
		client_send(t.w.client, &c.request);
		wait_done(&c);
		assert_string_equal(c.warnings, v[i].want);
		end(&t);
	}
}

static void failures_have_the_code_of_their_reason(void **state UNUSED)
{
	static const struct {
		const char *body;
		int status;
		enum error_code code;
		const char *message;
	} cases[] = {
		{ "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409,\"message\":"
		  "\"m\"}",
		  409, ERR_ALREADY_EXISTS, "m" },
		{ "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409,\"message\":\"m\"}",
		  409, ERR_CONFLICT, "m" },
		{ "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410,\"message\":\"m\"}",
		  410, ERR_EXPIRED, "m" },
		{ "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,\"message\":\"m\"}",
		  504, ERR_TIMEOUT, "m" },
		{ "{\"kind\":\"Status\",\"reason\":\"ServerTimeout\",\"code\":500,\"message\":"
		  "\"m\"}",
		  500, ERR_SERVER_TIMEOUT, "m" },
		{ "{\"kind\":\"Status\",\"reason\":\"Unheard\",\"code\":403,\"message\":\"m\"}",
		  403, ERR_FORBIDDEN, "m" },
		{ "a proxy's page", 404, ERR_NOT_FOUND, "the server answered 404 Not Found" },
		{ "", 418, ERR_BAD_REQUEST, "the server answered 418 " },
		{ "[]", 599, ERR_INTERNAL, "the server answered 599 " },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		client_error_of_status(str_from(cases[i].body), cases[i].status, &err, NULL);
		assert_int_equal(err.code, cases[i].code);
		assert_string_equal(err.msg, cases[i].message);
	}
}

static void a_refusal_is_told_with_its_body(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 2, HTTP_PROTOCOL_2);
	t.seen.status = 409;
	t.seen.reply = "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"try "
		       "again\",\"code\":409}";
	call_init(&t, &c, "/other");
	c.request.method = STR("PUT");
	c.request.body = STR("{}");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(c.err.code, ERR_CONFLICT);
	assert_string_equal(c.err.msg, "try again");
	assert_string_equal(c.body, t.seen.reply);
	assert_string_equal(t.seen.body, "{}");
	assert_string_equal(t.seen.content_type, "application/json");
	end(&t);
}

static void too_large_versions_are_recognised(void **state UNUSED)
{
	struct error err;
	bool too_large = false;

	client_error_of_status(
		STR("{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504,\"details\":"
		    "{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}"),
		504, &err, &too_large);
	assert_true(too_large);
	client_error_of_status(STR("{\"kind\":\"Status\",\"reason\":\"Timeout\",\"code\":504}"),
			       504, &err, &too_large);
	assert_false(too_large);
}

/* --- verbs ------------------------------------------------------------------------------ */

static void verbs_ask_for_the_right_thing(void **state UNUSED)
{
	struct resource claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	struct resource nodes = resource_builtin("", "v1", "nodes");
	struct client_delete_opts opts = { .uid = STR("u"), .propagation = "Foreground" };
	struct arena a;
	struct json *tree;
	struct test t;
	struct call c;

	arena_init(&a, MIB);
	tree = json_make_object(&a);
	begin(&t, 3, HTTP_PROTOCOL_2);

	call_init(&t, &c, "");
	client_get(t.w.client, &c.request, &claims, STR("ns"), STR("a"));
	wait_done(&c);
	assert_string_equal(t.seen.target,
			    "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a");

	call_init(&t, &c, "");
	c.request.query = STR("fieldManager=x");
	client_create(t.w.client, &c.request, &claims, STR("ns"), tree);
	wait_done(&c);
	assert_string_equal(t.seen.method, "POST");
	assert_string_equal(t.seen.target,
			    "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims?fieldManager=x");
	assert_string_equal(t.seen.body, "{}");

	call_init(&t, &c, "");
	client_update_status(t.w.client, &c.request, &nodes, STR("ignored"), STR("n"), tree);
	wait_done(&c);
	assert_string_equal(t.seen.method, "PUT");
	assert_string_equal(t.seen.target, "/api/v1/nodes/n/status");

	call_init(&t, &c, "");
	c.request.body = STR("{\"a\":1}");
	client_patch(t.w.client, &c.request, &nodes, (struct resource_name){ .name = STR("a b%") },
		     CLIENT_PATCH_STRATEGIC, NULL);
	wait_done(&c);
	assert_string_equal(t.seen.method, "PATCH");
	assert_string_equal(t.seen.target, "/api/v1/nodes/a%20b%25");
	assert_string_equal(t.seen.content_type, "application/strategic-merge-patch+json");
	assert_string_equal(t.seen.body, "{\"a\":1}");

	call_init(&t, &c, "");
	client_delete(t.w.client, &c.request, &claims, STR("ns"), STR("a"), &opts);
	wait_done(&c);
	assert_string_equal(t.seen.method, "DELETE");
	assert_string_equal(
		t.seen.body,
		"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
		"\"propagationPolicy\":\"Foreground\",\"preconditions\":{\"uid\":\"u\"}}");
	end(&t);
	arena_release(&a);
}

/* --- retries ---------------------------------------------------------------------------- */

static void busy_servers_are_asked_again(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 10, HTTP_PROTOCOL_2);
	t.w.fail_status = 429;
	t.w.fail_count = 3;
	t.w.fail_retry_after = 2;
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(c.status, 200);
	assert_in_range(c.at, 6000, 7000);
	end(&t);
}

static void retries_come_to_an_end(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 11, HTTP_PROTOCOL_2);
	t.w.fail_status = 503;
	t.w.fail_count = 100;
	t.w.fail_retry_after = 1;
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(c.err.code, ERR_UNAVAILABLE);
	assert_int_equal(t.w.fail_count, 100 - 11);
	/* With no_retry, or without Retry-After: sent once. */
	call_init(&t, &c, "/other");
	c.request.no_retry = true;
	client_send(t.w.client, &c.request);
	wait_done(&c);
	t.w.fail_retry_after = -1;
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(t.w.fail_count, 100 - 13);
	end(&t);
}

static void a_read_survives_its_connection(void **state UNUSED)
{
	for (int post = 0; post < 2; post++) {
		struct test t;
		struct call c;

		begin(&t, 12, HTTP_PROTOCOL_2);
		t.seen.hold = 1;
		call_init(&t, &c, "/other");
		if (post)
			c.request.method = STR("POST");
		client_send(t.w.client, &c.request);
		while (t.seen.hold)
			assert_true(sim_step(t.w.sim));
		api_world_crash(&t.w);
		api_world_begin(&t.w);
		wait_done(&c);
		/* A write may have been executed: only its sender can decide what to do. */
		assert_int_equal(c.err.code ? 0 : c.status, post ? 0 : 200);
		end(&t);
	}
}

static void an_absent_server_is_told_of_and_found_again(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 13, HTTP_PROTOCOL_2);
	api_world_crash(&t.w);
	for (int i = 0; i < 5; i++) {
		call_init(&t, &c, "/other");
		client_send(t.w.client, &c.request);
		wait_done(&c);
		assert_int_equal(c.err.code, ERR_UNAVAILABLE);
		assert_non_null(strstr(c.err.msg, "server:80"));
	}
	/* At least the back-offs of four attempts. */
	assert_true(c.at > 50 + 100 + 200 + 400);
	api_world_begin(&t.w);
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(c.status, 200);
	end(&t);
}

/* --- timeouts and cancellation ---------------------------------------------------------- */

static void silence_ends_in_a_time_out(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 20, HTTP_PROTOCOL_2);
	t.seen.hold = 2;
	call_init(&t, &c, "/other");
	c.request.timeout_ms = 5000;
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_int_equal(c.err.code, ERR_TIMEOUT);
	assert_in_range(c.at, 5000, 5010);
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_in_range(c.at, 65000, 65020);
	end(&t);
}

static void cancelled_requests_are_not_told(void **state UNUSED)
{
	for (unsigned steps = 0; steps < 40; steps++) {
		struct test t;
		struct call c, other;

		begin(&t, steps, steps % 2 ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_1);
		call_init(&t, &c, "/other");
		call_init(&t, &other, "/other");
		client_send(t.w.client, &c.request);
		client_send(t.w.client, &other.request);
		for (unsigned i = 0; i < steps; i++)
			(void)sim_step(t.w.sim);
		if (!c.done) {
			client_cancel(&c.request);
			client_cancel(&c.request);
			wait_done(&other);
			assert_int_equal(c.done, 0);
			assert_int_equal(other.status, 200);
		}
		end(&t);
	}
}

static void a_freed_client_ends_its_requests(void **state UNUSED)
{
	for (unsigned steps = 0; steps < 40; steps++) {
		struct test t;
		struct call c[3];

		begin(&t, steps, steps % 2 ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_1);
		for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
			call_init(&t, &c[i], "/other");
			client_send(t.w.client, &c[i].request);
		}
		c[1].free_client = steps % 3 == 0;
		for (unsigned i = 0; i < steps; i++)
			(void)sim_step(t.w.sim);
		client_free(TAKE(t.w.client));
		for (size_t i = 0; i < ARRAY_SIZE(c); i++)
			assert_int_equal(c[i].done, 1);
		end(&t);
	}
}

static void a_request_may_be_used_again_when_it_is_done(void **state UNUSED)
{
	struct test t;
	struct call c;

	begin(&t, 21, HTTP_PROTOCOL_2);
	call_init(&t, &c, "/other");
	c.send_again = true;
	client_send(t.w.client, &c.request);
	sim_run_for(t.w.sim, 1000);
	assert_int_equal(c.done, 2);
	end(&t);
}

/* --- many requests ---------------------------------------------------------------------- */

static void many_requests_run_side_by_side(void **state UNUSED)
{
	for (int protocol = HTTP_PROTOCOL_1; protocol <= HTTP_PROTOCOL_2; protocol++) {
		struct call *c = xcalloc(300, sizeof(*c));
		struct http_server_stats stats;
		struct test t;

		begin(&t, 30, (enum http_protocol)protocol);
		for (size_t i = 0; i < 300; i++) {
			call_init(&t, &c[i], "/other");
			client_send(t.w.client, &c[i].request);
		}
		for (size_t i = 0; i < 300; i++)
			wait_done(&c[i]);
		http_server_stats(t.w.server, &stats);
		assert_in_range(stats.accepted, 1,
				protocol == HTTP_PROTOCOL_1 ? CLIENT_LINKS_MAX : 4);
		sim_run_for(t.w.sim, 1000);
		http_server_stats(t.w.server, &stats);
		assert_in_range(stats.conns, 1, 4); /* unneeded connections are closed */
		end(&t);
		free(c);
	}
}

static void on_watch_data(struct client_request *r UNUSED, struct str piece UNUSED)
{
}

static void watches_do_not_hold_requests_back(void **state UNUSED)
{
	for (int protocol = HTTP_PROTOCOL_1; protocol <= HTTP_PROTOCOL_2; protocol++) {
		size_t n = 200;
		struct call *watches = xcalloc(n, sizeof(*watches)), c;
		struct test t;

		begin(&t, 31, (enum http_protocol)protocol);
		t.seen.hold = (unsigned)n;
		for (size_t i = 0; i < n; i++) {
			call_init(&t, &watches[i], "/watch");
			watches[i].request.timeout_ms = -1;
			watches[i].request.on_data = on_watch_data;
			client_send(t.w.client, &watches[i].request);
		}
		while (t.seen.hold)
			assert_true(sim_step(t.w.sim));
		call_init(&t, &c, "/other");
		client_send(t.w.client, &c.request);
		wait_done(&c);
		assert_int_equal(c.status, 200);
		for (size_t i = 0; i < n; i++)
			client_cancel(&watches[i].request);
		end(&t);
		free(watches);
	}
}

static void a_rate_limit_spreads_requests(void **state UNUSED)
{
	struct kubeconfig config = { .source = STR("the test"),
				     .server = STR("http://server:80/") };
	struct client_opts opts = { .config = &config, .qps = 10, .burst = 5 };
	struct test t;
	struct call c[25];

	begin(&t, 32, HTTP_PROTOCOL_2);
	client_free(t.w.client);
	assert_int_equal(client_new(t.w.outside, &opts, &t.w.client, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		call_init(&t, &c[i], "/other");
		client_send(t.w.client, &c[i].request);
	}
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		wait_done(&c[i]);
	assert_in_range(c[4].at, 0, 100);
	assert_in_range(c[24].at, 1990, 2200);
	end(&t);
}

static void the_time_of_a_request_begins_when_the_rate_limit_lets_it_go(void **state UNUSED)
{
	struct kubeconfig config = { .source = STR("the test"),
				     .server = STR("http://server:80/") };
	struct client_opts opts = { .config = &config, .qps = 10, .burst = 1, .timeout_ms = 1000 };
	struct test t;
	struct call c[25], last;

	begin(&t, 33, HTTP_PROTOCOL_2);
	client_free(t.w.client);
	assert_int_equal(client_new(t.w.outside, &opts, &t.w.client, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		call_init(&t, &c[i], "/other");
		client_send(t.w.client, &c[i].request);
	}
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		wait_done(&c[i]);
		assert_int_equal(c[i].status, 200);
	}
	/* This time it does. */
	t.seen.hold = 1;
	call_init(&t, &c[0], "/other");
	client_send(t.w.client, &c[0].request);
	call_init(&t, &last, "/other");
	client_send(t.w.client, &last.request);
	wait_done(&c[0]);
	wait_done(&last);
	assert_int_equal(c[0].err.code, ERR_TIMEOUT);
	end(&t);
}

/* The client has the token "first"; its file, at `path`, has "second". */
static void begin_with_token_file(struct test *t, uint64_t seed, char *path)
{
	int fd = mkstemp(path);
	struct kubeconfig config = { .source = STR("the test"),
				     .server = STR("http://server:80"),
				     .token = STR("first"),
				     .token_file = path };
	struct client_opts opts = { .config = &config, .protocol = HTTP_PROTOCOL_2 };

	assert_int_equal(write(fd, "second\n", 7), 7);
	(void)close(fd);
	begin(t, seed, HTTP_PROTOCOL_2);
	client_free(t->w.client);
	assert_int_equal(client_new(t->w.outside, &opts, &t->w.client, NULL), 0);
}

static void a_token_file_is_read_again(void **state UNUSED)
{
	static const char *const expected[] = { "Bearer first", "Bearer first", "Bearer second",
						"Bearer second" };
	char path[] = "/tmp/client_token.XXXXXX";
	struct test t;
	struct call c;

	begin_with_token_file(&t, 34, path);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		call_init(&t, &c, "/other");
		client_send(t.w.client, &c.request);
		wait_done(&c);
		assert_string_equal(t.w.last_authorization, expected[i]);
		sim_run_for(t.w.sim, i == 1 ? 60 * 1000 : 1000);
		if (i == 2) /* one that is gone leaves the last */
			assert_int_equal(unlink(path), 0);
	}
	end(&t);
}

static void a_token_file_is_read_again_when_the_token_was_rejected(void **state UNUSED)
{
	char path[] = "/tmp/client_token.XXXXXX";
	struct test t;
	struct call c;

	begin_with_token_file(&t, 36, path);
	for (size_t i = 0; i < 2; i++) {
		t.seen.status = i == 0 ? 401 : 200;
		call_init(&t, &c, "/other");
		client_send(t.w.client, &c.request);
		wait_done(&c);
		assert_int_equal(c.status, t.seen.status);
		assert_string_equal(t.w.last_authorization, i ? "Bearer second" : "Bearer first");
	}
	(void)unlink(path);
	end(&t);
}

static void requests_act_as_whom_the_config_says(void **state UNUSED)
{
	struct str groups[] = { STR("a"), STR("b") };
	struct kubeconfig_extra extra[] = { { STR("acme.com/Scope"), STR("x") } };
	struct kubeconfig config = { .source = STR("test"),
				     .server = STR("http://server:80"),
				     .as = STR("bob"),
				     .as_uid = STR("7"),
				     .as_groups = groups,
				     .nas_groups = ARRAY_SIZE(groups),
				     .as_extra = extra,
				     .nas_extra = ARRAY_SIZE(extra) };
	struct client_opts opts = { .config = &config, .protocol = HTTP_PROTOCOL_2 };
	struct test t;
	struct call c;

	begin(&t, 35, HTTP_PROTOCOL_2);
	client_free(t.w.client);
	assert_int_equal(client_new(t.w.outside, &opts, &t.w.client, NULL), 0);
	groups[0] = groups[1] = STR("gone");
	call_init(&t, &c, "/other");
	client_send(t.w.client, &c.request);
	wait_done(&c);
	assert_string_equal(t.w.last_acting,
			    "user=bob;uid=7;group=a;group=b;extra-acme.com%2fscope=x;");
	end(&t);
}

static void bad_servers_are_refused(void **state UNUSED)
{
	static const char *const bad[] = { "", "server:80", "ftp://server", "https://:x",
					   "http://" };
	struct kubeconfig config = { .source = STR("FILE") };
	struct client_opts opts = { .config = &config };
	struct test t;
	struct client *c;
	struct error err;

	begin(&t, 33, HTTP_PROTOCOL_2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		config.server = str_from(bad[i]);
		assert_true(client_new(t.w.outside, &opts, &c, &err) < 0);
		assert_non_null(strstr(err.msg, "FILE"));
	}
	config.server = STR("https://server");
	config.cert = config.key = STR("nonsense");
	assert_true(client_new(t.w.outside, &opts, &c, &err) < 0);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_answered),
		cmocka_unit_test(a_request_may_have_a_token_of_its_own),
		cmocka_unit_test(warnings_come_with_answers),
		cmocka_unit_test(failures_have_the_code_of_their_reason),
		cmocka_unit_test(a_refusal_is_told_with_its_body),
		cmocka_unit_test(too_large_versions_are_recognised),
		cmocka_unit_test(verbs_ask_for_the_right_thing),
		cmocka_unit_test(busy_servers_are_asked_again),
		cmocka_unit_test(retries_come_to_an_end),
		cmocka_unit_test(a_read_survives_its_connection),
		cmocka_unit_test(an_absent_server_is_told_of_and_found_again),
		cmocka_unit_test(silence_ends_in_a_time_out),
		cmocka_unit_test(cancelled_requests_are_not_told),
		cmocka_unit_test(a_freed_client_ends_its_requests),
		cmocka_unit_test(a_request_may_be_used_again_when_it_is_done),
		cmocka_unit_test(many_requests_run_side_by_side),
		cmocka_unit_test(watches_do_not_hold_requests_back),
		cmocka_unit_test(a_rate_limit_spreads_requests),
		cmocka_unit_test(the_time_of_a_request_begins_when_the_rate_limit_lets_it_go),
		cmocka_unit_test(a_token_file_is_read_again),
		cmocka_unit_test(a_token_file_is_read_again_when_the_token_was_rejected),
		cmocka_unit_test(requests_act_as_whom_the_config_says),
		cmocka_unit_test(bad_servers_are_refused),
	};

	return cmocka_run_group_tests_name("client/client", tests, NULL, NULL);
}

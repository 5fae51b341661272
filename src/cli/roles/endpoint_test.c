/*
 * A role's endpoint in a simulated world: an API server that answers reviews as the test sets, and
 * a caller with and without TLS.
 */
#include "cli/roles/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/report/metrics.h"
#include "base/system/file.h"
#include "cli/roles/endpoint_guard.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/net_limits.h"
#include "net/sim/sim.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

enum { SOON_MS = 1500 };

struct world {
	struct sim *sim;
	struct loop *loop, *api_loop, *caller_loop;
	struct http_server *api;
	struct kubeconfig kubeconfig;
	struct metrics *metrics;
	struct endpoint *endpoint;
	bool known, allowed, down; /* answers of reviews */
	unsigned tokens, rights;
	char seen[4096]; /* the last review */
	int status; /* of the last reply */
	char body[4096];
	size_t nbody;
	struct tls *tls; /* the caller's */
	unsigned drained;
};

/* --- the API server ---------------------------------------------------------------- */

static void review_reply(struct http_stream *s, struct str body)
{
	struct world *w = s->data;
	bool token = str_ends(s->in.path, STR("/tokenreviews"));
	struct http_field type = HTTP_FIELD("content-type", STR("application/json"));
	char text[256];

	(void)snprintf(w->seen, sizeof(w->seen), "%.*s", STR_ARG(body));
	if (token) {
		w->tokens++;
		(void)snprintf(text, sizeof(text),
			       "{\"status\":{\"authenticated\":%s,\"user\":{\"username\":"
			       "\"scraper\"}}}",
			       w->known ? "true" : "false");
	} else {
		w->rights++;
		(void)snprintf(text, sizeof(text), "{\"status\":{\"allowed\":%s}}",
			       w->allowed ? "true" : "false");
	}
	(void)http_stream_respond(s, w->down ? 403 : 201, &type, 1, -1);
	(void)http_stream_send_copy(s, w->down ? STR("{}") : str_from(text));
	(void)http_stream_end(s, NULL, 0);
}

static const struct http_stream_ops review_ops = { 0 };

static void on_review(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	s->ops = &review_ops;
	s->data = arg;
	http_stream_collect(s, review_reply);
}

/* --- the caller -------------------------------------------------------------------- */

static void got_head(struct http_stream *s)
{
	((struct world *)s->data)->status = s->in.status;
}

static void got_body(struct http_stream *s, struct str piece)
{
	struct world *w = s->data;
	size_t n = MIN(piece.n, sizeof(w->body) - 1 - w->nbody);

	memcpy(w->body + w->nbody, piece.p, n);
	w->nbody += n;
	w->body[w->nbody] = '\0';
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops caller_ops = { .on_head = got_head, .on_body = got_body };

static int ask(struct world *w, bool tls, const char *path, const char *token)
{
	char bearer[64];
	struct http_field field = HTTP_FIELD("authorization", STR_NULL);
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("http"),
				  .authority = STR("role"),
				  .target = str_from(path),
				  .fields = &field,
				  .nfields = token != NULL,
				  .end = true,
				  .ops = &caller_ops,
				  .data = w };
	struct http_client_opts to = { .tls = tls ? w->tls : NULL, .protocol = HTTP_PROTOCOL_2 };
	struct http_client *caller;
	struct http_stream *s;

	assert_int_equal(addr_parse(&to.to, STR("role:81"), 0, NULL), 0);
	assert_int_equal(http_client_new(w->caller_loop, &to, &caller, NULL), 0);
	(void)snprintf(bearer, sizeof(bearer), "Bearer %s", token ? token : "");
	field.value = str_from(bearer);
	w->status = 0;
	w->nbody = 0;
	w->body[0] = '\0';
	assert_int_equal(http_client_request(caller, &r, &s, NULL), 0);
	sim_run_for(w->sim, SOON_MS);
	http_client_free(caller);
	sim_run_for(w->sim, 1);
	return w->status;
}

/* --- life -------------------------------------------------------------------------- */

static int begin(void **state)
{
	static const struct str text = STR(
		"{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://api:80\"}}],"
		"\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],"
		"\"users\":[{\"name\":\"u\",\"user\":{}}],\"current-context\":\"x\"}");
	static const char *const alpn[] = { "h2", NULL };
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };
	struct http_server_opts o = { .nloops = 1, .handler = on_review, .arg = w };
	struct tls_opts t = { .insecure_skip_verify = true, .alpn = alpn };
	struct addr at;

	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "role");
	w->api_loop = sim_loop_new(w->sim, "api");
	w->caller_loop = sim_loop_new(w->sim, "caller");
	o.loops = &w->api_loop;
	w->api = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->api, &at, NULL, 0, NULL, NULL), 0);
	assert_int_equal(kubeconfig_parse(&w->kubeconfig, text, "test", "/", NULL, NULL), 0);
	assert_int_equal(tls_new(&t, &w->tls, NULL), 0);
	w->metrics = metrics_new();
	w->known = w->allowed = true;
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

	endpoint_stop(w->endpoint, on_drained, w);
	sim_run_for(w->sim, SOON_MS);
	endpoint_free(w->endpoint);
	http_server_drain(w->api, 0, on_drained, w);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->drained, 2);
	http_server_free(w->api);
	tls_unref(w->tls);
	metrics_free(w->metrics);
	kubeconfig_release(&w->kubeconfig);
	loop_free(w->loop);
	loop_free(w->api_loop);
	loop_free(w->caller_loop);
	sim_free(w->sim);
	free(w);
	return 0;
}

static int check_socket(void *arg, struct error *err)
{
	struct world *w = arg;

	return w->down ? error_set(err, ERR_UNAVAILABLE, "not connected to /k") : 0;
}

static void note_socket(void *arg UNUSED, struct buf *out)
{
	(void)buf_addz(out, "connected to /k");
}

static const struct endpoint_check checks[] = {
	{ .name = "socket", .ready_only = true, .run = check_socket, .note = note_socket },
	{ NULL },
};

static int serve(struct world *w, const struct endpoint_guard_options *guard, struct error *err)
{
	struct endpoint_opts o = { .loop = w->loop,
				   .address = ":81",
				   .checks = checks,
				   .arg = w,
				   .metrics = w->metrics,
				   .kubeconfig = &w->kubeconfig,
				   .guard = guard };

	return endpoint_new(&o, &w->endpoint, err);
}

/* --- tests ------------------------------------------------------------------------- */

static void health_is_open_and_metrics_need_a_token(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve(w, NULL, NULL), 0);
	assert_int_equal(ask(w, true, "/healthz", NULL), 200);
	assert_int_equal(ask(w, true, "/readyz/ping", NULL), 200);
	assert_int_equal(ask(w, true, "/metrics", NULL), 401);
	assert_non_null(strstr(w->body, "send a bearer token"));
	assert_int_equal(ask(w, true, "/nowhere", NULL), 401);
	assert_int_equal(w->tokens + w->rights, 0);
	assert_int_equal(ask(w, true, "/metrics", "t"), 200);
	assert_non_null(strstr(w->seen, "\"nonResourceAttributes\":{\"path\":\"/metrics\","
					"\"verb\":\"get\"}"));
	assert_int_equal(ask(w, true, "/metrics", "t"), 200);
	assert_int_equal(w->tokens, 1);
	assert_int_equal(w->rights, 1);
}

static void readiness_names_each_check_and_its_note(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve(w, NULL, NULL), 0);
	assert_int_equal(ask(w, true, "/readyz", NULL), 200);
	assert_string_equal(w->body, "ok");
	assert_int_equal(ask(w, true, "/readyz?verbose", NULL), 200);
	assert_string_equal(w->body, "[+]ping ok\n[+]socket ok: connected to /k\n"
				     "readyz check passed\n");
	w->down = true;
	assert_int_equal(ask(w, true, "/readyz", NULL), 500);
	assert_string_equal(w->body, "[+]ping ok\n[-]socket failed: not connected to /k\n"
				     "readyz check failed\n");
	assert_int_equal(ask(w, true, "/livez", NULL), 200);
}

static void plain_text_is_not_served_beside_tls(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve(w, NULL, NULL), 0);
	assert_int_equal(ask(w, false, "/healthz", NULL), 0);
}

static void the_api_server_decides(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve(w, NULL, NULL), 0);
	w->known = false;
	assert_int_equal(ask(w, true, "/metrics", "bad"), 401);
	w->known = true;
	w->allowed = false;
	assert_int_equal(ask(w, true, "/metrics", "good"), 403);
	assert_string_equal(w->body, "Forbidden: \"scraper\" needs a ClusterRole with verb get on "
				     "nonResourceURLs /metrics\n");
	w->down = true;
	assert_int_equal(ask(w, true, "/metrics", "other"), 500);
	assert_non_null(strstr(w->body, "cannot ask the API server about you"));
}

static void plain_http_is_a_choice(void **state)
{
	struct world *w = *state;

	assert_int_equal(serve(w, &(struct endpoint_guard_options){ .secure = "never" }, NULL), 0);
	assert_int_equal(ask(w, false, "/metrics", NULL), 200);
	assert_int_equal(w->tokens + w->rights, 0);
}

static void loopback_addresses_are_plain_by_default(void **state UNUSED)
{
	static const struct {
		const char *address, *secure;
		bool wanted;
	} cases[] = {
		{ "127.0.0.1:1", "auto", false },  { "[::1]:1", "auto", false },
		{ "localhost:1", "auto", false },  { "unix:/x", "auto", false },
		{ "0.0.0.0:1", "auto", true },     { ":1", "auto", true },
		{ "10.0.0.1:1", "auto", true },    { "[fd00::1]:1", NULL, true },
		{ "127.0.0.1:1", "always", true }, { "10.0.0.1:1", "never", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct endpoint_guard_options o = { .secure = cases[i].secure };
		struct addr at;

		assert_int_equal(addr_parse(&at, str_from(cases[i].address), 0, NULL), 0);
		if (endpoint_guard_wanted(&o, &at) != cases[i].wanted)
			fail_msg("%s with %s", cases[i].address, cases[i].secure);
	}
}

static void a_certificate_needs_its_key(void **state)
{
	struct world *w = *state;
	struct endpoint_guard_options half = { .cert_file = "/nowhere/cert" };
	struct endpoint_guard_options missing = { .cert_file = "/nowhere/cert",
						  .key_file = "/nowhere/key" };
	struct error err;

	assert_int_equal(serve(w, &half, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "belong together"));
	assert_int_equal(serve(w, &missing, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "/nowhere/cert"));
	assert_int_equal(serve(w, NULL, &err), 0);
}

/* Writes a new certificate and key for host "role", and makes the caller trust it only. */
static void renew_files(struct world *w, const struct endpoint_guard_options *to)
{
	static const char *const alpn[] = { "h2", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(PEM_FILE_MAX);
	CLEANUP(buf_release) struct buf key = BUF_INIT(PEM_FILE_MAX);
	struct str host = STR("role");
	struct pki_leaf leaf = {
		.common_name = host, .hosts = &host, .nhosts = 1, .server = true, .lifetime = 86400
	};
	struct tls_opts t = { .alpn = alpn };

	assert_int_equal(pki_issue_alone(STR("ca"), &leaf, loop_clock(w->loop), &cert, &key, NULL),
			 0);
	assert_int_equal(file_write_atomic(to->cert_file, buf_str(&cert), 0600, NULL), 0);
	assert_int_equal(file_write_atomic(to->key_file, buf_str(&key), 0600, NULL), 0);
	tls_unref(w->tls);
	t.ca = buf_str(&cert);
	assert_int_equal(tls_new(&t, &w->tls, NULL), 0);
}

static void certificate_files_are_read_again(void **state)
{
	struct world *w = *state;
	char dir[] = "/tmp/endpoint_test.XXXXXX", cert[64], key[64];
	struct endpoint_guard_options o = { .cert_file = cert, .key_file = key };

	assert_non_null(mkdtemp(dir));
	(void)snprintf(cert, sizeof(cert), "%s/cert", dir);
	(void)snprintf(key, sizeof(key), "%s/key", dir);
	renew_files(w, &o);
	assert_int_equal(serve(w, &o, NULL), 0);
	assert_int_equal(ask(w, true, "/healthz", NULL), 200);
	renew_files(w, &o);
	assert_int_equal(ask(w, true, "/healthz", NULL), 0);
	sim_run_for(w->sim, 3600 * 1000);
	assert_int_equal(ask(w, true, "/healthz", NULL), 200);
	/* A file that is gone leaves the old certificate in use. */
	assert_int_equal(unlink(cert), 0);
	sim_run_for(w->sim, 2 * 3600 * 1000);
	assert_int_equal(ask(w, true, "/healthz", NULL), 200);
	assert_int_equal(unlink(key), 0);
	assert_int_equal(rmdir(dir), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(health_is_open_and_metrics_need_a_token),
		CASE(readiness_names_each_check_and_its_note),
		CASE(plain_text_is_not_served_beside_tls),
		CASE(the_api_server_decides),
		CASE(plain_http_is_a_choice),
		cmocka_unit_test(loopback_addresses_are_plain_by_default),
		CASE(a_certificate_needs_its_key),
		CASE(certificate_files_are_read_again),
	};

	return cmocka_run_group_tests_name("cli/endpoint", tests, NULL, NULL);
}

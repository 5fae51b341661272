/*
 * Streams of the kubelet's API in a simulated world: a client, a node, and the runtime's own
 * server, to which the node forwards the request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/sim/sim.h"
#include "node/kubelet/server_impl.h"

enum { SOON_MS = 1000, TEAPOT = 418 };

struct world {
	struct sim *sim;
	struct loop *loops[3]; /* of the client, the node, the runtime */
	struct http_server *node, *behind;
	struct kubelet_server server;
	struct runtime runtime;
	char seen[1024]; /* the fields at the runtime's server: "name=value;" each */
	int status; /* of the last reply */
	unsigned drained;
};

static void find_url(struct runtime *r UNUSED, const struct runtime_stream *s,
		     runtime_id_done *done, void *arg)
{
	assert_string_equal(s->id.p, "c1");
	done(arg, STR("http://runtime:81/exec/token"), NULL);
}

static int find_stream(void *arg UNUSED, const struct kubelet_route *route UNUSED,
		       struct runtime_stream *stream, struct error *err UNUSED)
{
	stream->id = STR("c1");
	return 0;
}

static const struct http_stream_ops no_ops = { 0 };

static void on_node_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct kubelet_request *r = ARENA_NEW(&s->arena, struct kubelet_request);

	*r = (struct kubelet_request){ .server = &((struct world *)arg)->server,
				       .http = s,
				       .route.page = KUBELET_EXEC };
	s->ops = &no_ops;
	kubelet_serve_stream(r);
}

static void on_runtime_request(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	CLEANUP(buf_release) struct buf seen = BUF_INIT(sizeof(((struct world *)arg)->seen) - 1);
	struct world *w = arg;

	for (size_t i = 0; i < s->in.fields.n; i++)
		(void)buf_printf(&seen, "%.*s=%.*s;", STR_ARG(s->in.fields.v[i].name),
				 STR_ARG(s->in.fields.v[i].value));
	(void)snprintf(w->seen, sizeof(w->seen), "%s", seen.p ? seen.p : "");
	s->ops = &no_ops;
	(void)http_stream_reply(s, TEAPOT, STR("text/plain"), slice_static(STR("no")));
}

static void got_head(struct http_stream *s)
{
	((struct world *)s->data)->status = s->in.status;
}

static void got_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static const struct http_stream_ops client_ops = { .on_head = got_head, .on_body = got_body };

static struct http_server *serve(struct world *w, struct loop *l, const char *at,
				 void (*handler)(void *arg, struct http_stream *s, size_t lane))
{
	struct http_server_opts o = { .loops = &l, .nloops = 1, .handler = handler, .arg = w };
	struct http_server *s = http_server_new(&o);
	struct addr addr;

	assert_int_equal(addr_parse(&addr, str_from(at), 0, NULL), 0);
	assert_int_equal(http_server_listen(s, &addr, NULL, 0, NULL, NULL), 0);
	return s;
}

static int begin(void **state)
{
	static const struct runtime_ops ops = { .stream = find_url };
	static const struct kubelet_host host = { .find_stream = find_stream };
	static const char *const hosts[] = { "client", "node", "runtime" };
	struct world *w = calloc(1, sizeof(*w));

	w->sim = sim_new(&(struct sim_opts){ .seed = 1 });
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		w->loops[i] = sim_loop_new(w->sim, hosts[i]);
	w->node = serve(w, w->loops[1], ":80", on_node_request);
	w->behind = serve(w, w->loops[2], ":81", on_runtime_request);
	w->runtime.ops = &ops;
	w->server.opts = (struct kubelet_server_opts){ .runtime = &w->runtime, .host = &host };
	list_init(&w->server.calls);
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

	http_server_drain(w->node, 0, on_drained, w);
	http_server_drain(w->behind, 0, on_drained, w);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->drained, 2);
	http_server_free(w->node);
	http_server_free(w->behind);
	for (size_t i = 0; i < ARRAY_SIZE(w->loops); i++)
		loop_free(w->loops[i]);
	sim_free(w->sim);
	free(w);
	return 0;
}

static void ask(struct world *w, const struct http_field *fields, size_t n)
{
	struct http_request r = { .method = STR("POST"),
				  .authority = STR("node"),
				  .target = STR("/exec/ns/p/c?command=true&output=1"),
				  .upgrade = STR("SPDY/3.1"),
				  .fields = fields,
				  .nfields = n,
				  .end = true,
				  .ops = &client_ops,
				  .data = w };
	struct http_client_opts to = { .protocol = HTTP_PROTOCOL_1 };
	struct http_client *client;
	struct http_stream *s;

	assert_int_equal(addr_parse(&to.to, STR("node:80"), 0, NULL), 0);
	assert_int_equal(http_client_new(w->loops[0], &to, &client, NULL), 0);
	assert_int_equal(http_client_request(client, &r, &s, NULL), 0);
	sim_run_for(w->sim, SOON_MS);
	http_client_free(client);
	sim_run_for(w->sim, SOON_MS);
}

static void the_runtime_gets_no_credentials_and_no_fields_of_the_hop(void **state)
{
	static const char *const dropped[] = { "authorization", "cookie", "te=", "trailer" };
	struct http_field fields[] = {
		HTTP_FIELD("authorization", STR("Bearer t")),
		HTTP_FIELD("cookie", STR("c=1")),
		HTTP_FIELD("proxy-authorization", STR("Basic cDpw")),
		HTTP_FIELD("te", STR("trailers")),
		HTTP_FIELD("trailer", STR("x-sum")),
		HTTP_FIELD("x-stream-protocol-version", STR("v4.channel.k8s.io")),
	};
	struct world *w = *state;

	ask(w, fields, ARRAY_SIZE(fields));
	assert_int_equal(w->status, TEAPOT);
	assert_non_null(strstr(w->seen, "x-stream-protocol-version=v4.channel.k8s.io;"));
	assert_non_null(strstr(w->seen, "upgrade=SPDY/3.1;"));
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
		if (strstr(w->seen, dropped[i]))
			fail_msg("%s: %s", dropped[i], w->seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_runtime_gets_no_credentials_and_no_fields_of_the_hop, begin, end),
	};

	return cmocka_run_group_tests_name("node/kubelet", tests, NULL, NULL);
}

/*
 * `devplane probe get URL`: sends one request with the roles' own client. The body goes to
 * standard output as it arrives; with --verbose, the negotiated protocol goes to standard error.
 */
#include <inttypes.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "cli/probe/client_tls.h"
#include "cli/probe/commands.h"
#include "cli/program/cli.h"
#include "net/http/client.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"

struct get_options {
	const char *method, *data, *unix_path, *protocol;
	struct client_tls_options tls;
	struct flag_list headers;
	int64_t timeout; /* ns */
	bool verbose;
};

static const struct flag flags[] = {
	{ "method", 'X', FLAG_STRING(struct get_options, method), .arg = "METHOD",
	  .help = "method of the request; default GET, or POST with --data" },
	{ "data", 'd', FLAG_STRING(struct get_options, data), .arg = "FILE",
	  .help = "send this file as the body; - is standard input" },
	{ "header", 'H', FLAG_REPEAT(struct get_options, headers), .arg = "NAME:VALUE",
	  .help = "add a header field" },
	{ "protocol", 0, FLAG_STRING(struct get_options, protocol), .choices = "any|http1|http2",
	  .initial = "any", .help = "any: negotiated by ALPN with TLS, else HTTP/1.1" },
	CLIENT_TLS_FLAGS(struct get_options, tls),
	{ "unix-socket", 0, FLAG_STRING(struct get_options, unix_path), .arg = "PATH",
	  .help = "connect to this socket instead of the URL's host" },
	{ "timeout", 0, FLAG_DURATION(struct get_options, timeout), .arg = "TIME", .initial = "30s",
	  .min = CLOCK_MS, .max = 86400 * CLOCK_SEC, .help = "timeout for the request" },
	{ "verbose", 0, FLAG_BOOL(struct get_options, verbose),
	  .help = "print the response's header on standard error" },
	{ NULL },
};

struct get {
	struct cli *cli;
	const struct get_options *options;
	struct loop *loop;
	struct tls *tls;
	struct http_client *client;
	struct loop_timer timer;
	struct str authority, target;
	bool https;
	struct buf body;
	int status;
	bool asked, done;
	struct error err; /* code ERR_OK: no failure */
};

static void command_get_finish(struct get *g, const struct error *err)
{
	if (g->done)
		return;
	g->done = true;
	if (err)
		g->err = *err;
	loop_stop(g->loop);
}

static void command_get_on_head(struct http_stream *s)
{
	struct get *g = s->data;

	g->status = s->in.status;
	if (!g->options->verbose)
		return;
	(void)fprintf(g->cli->err, "%s %d %s\n", s->in.version == HTTP_2 ? "HTTP/2" : "HTTP/1.1",
		      s->in.status, http_status_text(s->in.status));
	for (size_t i = 0; i < s->in.fields.n; i++)
		(void)fprintf(g->cli->err, "%.*s: %.*s\n", STR_ARG(s->in.fields.v[i].name),
			      STR_ARG(s->in.fields.v[i].value));
}

static void command_get_on_body(struct http_stream *s, struct str piece)
{
	struct get *g = s->data;

	(void)fwrite(piece.p, 1, piece.n, g->cli->out);
	http_stream_consume(s, piece.n);
}

static void command_get_on_close(struct http_stream *s, const struct error *err)
{
	command_get_finish(s->data, err);
}

static const struct http_stream_ops stream_ops = {
	.on_head = command_get_on_head,
	.on_body = command_get_on_body,
	.on_close = command_get_on_close,
};

static int parse_headers(struct get *g, struct http_field *fields, struct error *err)
{
	const struct flag_list *list = &g->options->headers;
	struct str rest, name;

	for (size_t i = 0; i < list->n; i++) {
		rest = str_from(list->v[i]);
		if (!str_split(&rest, ':', &name) || !rest.p || !name.n)
			return cli_bad_usage(g->cli, err, "--header wants NAME:VALUE, not \"%s\"",
					     list->v[i]);
		fields[i] = (struct http_field){ arena_str(&g->cli->arena, name), str_trim(rest) };
		for (size_t k = 0; k < name.n; k++) {
			char *c = (char *)(uintptr_t)&fields[i].name.p[k];

			*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
		}
	}
	return 0;
}

static int send_request(struct get *g, struct error *err)
{
	const struct get_options *o = g->options;
	struct http_field *fields = ARENA_ARRAY(&g->cli->arena, struct http_field,
						o->headers.n + 1);
	struct http_request r = { .method = str_from(o->method ? o->method
						     : o->data ? "POST"
							       : "GET"),
				  .scheme = g->https ? STR("https") : STR("http"),
				  .authority = g->authority,
				  .target = g->target,
				  .fields = fields,
				  .nfields = o->headers.n,
				  .length = (int64_t)g->body.n,
				  .end = g->body.n == 0,
				  .ops = &stream_ops,
				  .data = g };
	struct http_stream *s;
	int ret = parse_headers(g, fields, err);

	if (ret == 0)
		ret = http_client_request(g->client, &r, &s, err);
	if (ret < 0 || r.end)
		return ret;
	(void)http_stream_send_copy(s, buf_str(&g->body));
	return http_stream_end(s, NULL, 0);
}

static void command_get_on_open(void *arg)
{
	struct get *g = arg;
	struct error err;

	g->asked = true;
	if (send_request(g, &err) < 0)
		command_get_finish(g, &err);
}

/* Before the request was sent, this is the failure; afterwards the stream reports it. */
static void command_get_on_client_close(void *arg, const struct error *err)
{
	struct get *g = arg;

	if (!g->asked)
		command_get_finish(g, err);
}

static void on_timeout(struct loop_timer *t)
{
	struct get *g = CONTAINER_OF(t, struct get, timer);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "no complete answer within the time limit");
	command_get_finish(g, &err);
}

/* --- before the loop runs ------------------------------------------------------------------ */

static int parse_url(struct get *g, struct addr *ret_to, struct error *err)
{
	struct str url = str_from(g->cli->operands.v[0]);
	ptrdiff_t slash;

	g->https = str_starts(url, STR("https://"));
	if (g->https || str_starts(url, STR("http://")))
		url = str_skip(url, g->https ? 8 : 7);
	slash = str_chr(url, '/');
	g->authority = slash < 0 ? url : str_of(url.p, (size_t)slash);
	g->target = slash < 0 ? STR("/") : str_skip(url, (size_t)slash);
	if (!g->authority.n)
		return cli_bad_usage(g->cli, err, "\"%s\" names no host", g->cli->operands.v[0]);
	if (g->options->unix_path)
		return addr_parse(
			ret_to,
			str_from(arena_printf(&g->cli->arena, "unix:%s", g->options->unix_path)), 0,
			err);
	return addr_parse(ret_to, g->authority, g->https ? 443 : 80, err);
}

static int command_get_make_tls(struct get *g, struct error *err)
{
	static const char *const any[] = { "h2", "http/1.1", NULL };
	static const char *const one[] = { "http/1.1", NULL };
	const struct get_options *o = g->options;

	return client_tls_new(g->cli, &o->tls, strcmp(o->protocol, "http1") == 0 ? one : any,
			      &g->tls, err);
}

static enum http_protocol protocol_of(const char *word)
{
	if (strcmp(word, "http1") == 0)
		return HTTP_PROTOCOL_1;
	return strcmp(word, "http2") == 0 ? HTTP_PROTOCOL_2 : HTTP_PROTOCOL_ANY;
}

static int command_get_ask(struct get *g, struct error *err)
{
	struct http_client_opts opts = { .protocol = protocol_of(g->options->protocol),
					 .on_open = command_get_on_open,
					 .on_close = command_get_on_client_close,
					 .arg = g };
	struct addr host;
	int r = parse_url(g, &opts.to, err);

	if (r == 0 && g->https)
		r = command_get_make_tls(g, err);
	if (r == 0 && g->options->data)
		r = file_read(g->options->data, &g->body, err);
	if (r == 0)
		r = addr_parse(&host, g->authority, g->https ? 443 : 80, err);
	if (r < 0)
		return r;
	opts.tls = g->tls;
	opts.server_name = host.host;
	r = http_client_new(g->loop, &opts, &g->client, err);
	if (r < 0)
		return r;
	loop_timer_init(&g->timer, g->loop, on_timeout);
	loop_timer_start(&g->timer, g->options->timeout / CLOCK_MS);
	loop_run(g->loop);
	loop_timer_stop(&g->timer);
	http_client_free(g->client);
	return 0;
}

static int command_get_run(struct cli *cli, struct error *err)
{
	struct get g = { .cli = cli, .options = cli->options, .body = BUF_INIT(256 * MIB) };
	int r = loop_new(&g.loop, err);

	if (r == 0)
		r = command_get_ask(&g, err);
	loop_free(g.loop);
	tls_unref(g.tls);
	buf_release(&g.body);
	if (r < 0)
		return r;
	if (g.err.code)
		return error_set(err, g.err.code, "%s", g.err.msg);
	if (g.status >= 400)
		return error_set(err, ERR_INTERNAL, "the server answered %d %s", g.status,
				 http_status_text(g.status));
	return 0;
}

const struct command cmd_probe_get = {
	.name = "get",
	.summary = "make one HTTP request",
	.usage = "URL [FLAGS]",
	.about = "Makes one request with the same client that the roles use, and prints the body. "
		 "Fails if the response's status is 400 or above.",
	.examples = "devplane probe get http://127.0.0.1:8080/request\n"
		    "devplane probe get https://localhost:8443/ --certificate-authority ca.crt "
		    "--verbose\n"
		    "devplane probe get http://localhost/healthz --unix-socket /run/probe.sock",
	.flags = flags,
	.options_size = sizeof(struct get_options),
	.operands_min = 1,
	.operands_max = 1,
	.run = command_get_run,
};

/*
 * `devplane probe call TARGET METHOD`: makes one gRPC call with the roles' own client. The result
 * is one line of JSON, even if the call failed.
 */
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/text/base64.h"
#include "cli/probe/call.h"
#include "cli/probe/client_tls.h"
#include "cli/probe/commands.h"
#include "cli/program/cli.h"
#include "net/net_limits.h"
#include "net/tls/tls.h"

struct call_options {
	int64_t count, size, cancel_after, max_message;
	int64_t interval, delay, rest, slow, deadline; /* ns */
	const char *fail, *fail_message, *service, *authority;
	struct flag_list metadata;
	struct client_tls_options tls;
	bool use_tls, wait_for_ready, echo_metadata;
};

#define SIZE_LIMIT (1024 * 1024 * 1024)
#define HOUR       (3600 * CLOCK_SEC)

static const struct flag flags[] = {
	{ "count", 'n', FLAG_INT(struct call_options, count), .arg = "N", .initial = "1",
	  .max = INT64_MAX, .help = "messages to send (upload, chat) or to request (download)" },
	{ "size", 's', FLAG_INT(struct call_options, size), .arg = "BYTES", .initial = "0",
	  .max = SIZE_LIMIT, .help = "size of each message in bytes" },
	{ "interval", 0, FLAG_DURATION(struct call_options, interval), .arg = "TIME", .max = HOUR,
	  .help = "download: interval between messages" },
	{ "delay", 0, FLAG_DURATION(struct call_options, delay), .arg = "TIME", .max = HOUR,
	  .help = "echo: delay of the server's reply" },
	{ "rest", 0, FLAG_DURATION(struct call_options, rest), .arg = "TIME", .max = HOUR,
	  .help = "upload, chat: pause of the server after the first message" },
	{ "slow", 0, FLAG_DURATION(struct call_options, slow), .arg = "TIME", .max = HOUR,
	  .help = "pause after each received message" },
	{ "cancel-after", 0, FLAG_INT(struct call_options, cancel_after), .arg = "N",
	  .max = INT64_MAX, .help = "cancel after this many received messages" },
	{ "fail", 0, FLAG_STRING(struct call_options, fail), .arg = "CODE",
	  .help = "echo, download: status for the server to fail with, by name or number" },
	{ "fail-message", 0, FLAG_STRING(struct call_options, fail_message), .arg = "TEXT",
	  .initial = "as asked", .help = "message of that status" },
	{ "service", 0, FLAG_STRING(struct call_options, service), .arg = "NAME", .initial = "",
	  .help = "health, watch: service to check; empty: the server" },
	{ "metadata", 'H', FLAG_LIST(struct call_options, metadata), .arg = "KEY=VALUE",
	  .help = "metadata to send; if KEY ends in -bin, the value is base64" },
	{ "echo-metadata", 0, FLAG_BOOL(struct call_options, echo_metadata),
	  .help = "echo: let the server send the metadata back" },
	{ "deadline", 0, FLAG_DURATION(struct call_options, deadline), .arg = "TIME",
	  .max = 24 * HOUR, .help = "end the call after this time" },
	{ "max-message", 0, FLAG_INT(struct call_options, max_message), .arg = "BYTES",
	  .max = SIZE_LIMIT, .help = "largest message to accept; default the method's limit" },
	{ "wait-for-ready", 0, FLAG_BOOL(struct call_options, wait_for_ready),
	  .help = "wait until the server can be reached" },
	{ "authority", 0, FLAG_STRING(struct call_options, authority), .arg = "HOST",
	  .help = ":authority of the call, which the certificate must match; default the target's "
		  "host" },
	{ "tls", 0, FLAG_BOOL(struct call_options, use_tls),
	  .help = "use TLS; targets that begin with https:// always do" },
	CLIENT_TLS_FLAGS(struct call_options, tls),
	{ NULL },
};

struct call {
	struct probe_call probe;
	struct probe_ask ask;
	struct cli *cli;
	const struct call_options *options;
	struct loop *loop;
	struct tls *tls;
	struct grpc_channel *channel;
	struct grpc_metadata *metadata;
	int64_t began; /* ms */
	struct buf line; /* the result */
	struct error err; /* code ERR_OK: the status is OK */
};

/* --- the result ---------------------------------------------------------------------------- */

/* Values may be any bytes, but JSON strings may not. */
static void write_value(struct json_writer *w, const struct grpc_metadata *md)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(HTTP_HEADERS_MAX * 2);

	if (str_ends(md->key, STR("-bin")) || !str_is_utf8(md->value))
		(void)base64_encode(&text, md->value, BASE64_STD);
	else
		(void)buf_add_str(&text, md->value);
	json_writer_str(w, buf_str(&text));
}

static void write_metadata(struct json_writer *w, const char *key, const struct grpc_metadata *v,
			   size_t n)
{
	json_writer_keyz(w, key);
	json_writer_begin_object(w);
	for (size_t i = 0; i < n; i++) {
		json_writer_key(w, v[i].key);
		write_value(w, &v[i]);
	}
	json_writer_end_object(w);
}

static void write_number(struct json_writer *w, const char *key, uint64_t v)
{
	json_writer_keyz(w, key);
	json_writer_u64(w, v);
}

static void write_result(struct call *c, const struct grpc_status *st)
{
	const struct grpc_metadata *v;
	struct json_writer w;
	size_t n;

	json_writer_init(&w, &c->line, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "code");
	json_writer_strz(&w, grpc_code_name(st->code));
	json_writer_keyz(&w, "message");
	json_writer_str(&w, str_is_utf8(st->message) ? st->message : STR("(not UTF-8)"));
	write_number(&w, "sent", c->probe.sent);
	write_number(&w, "received", c->probe.received);
	write_number(&w, "bytes", c->probe.bytes);
	write_number(&w, "elapsedMs", (uint64_t)(loop_now(c->loop) - c->began));
	if (c->probe.reply.n) {
		json_writer_keyz(&w, "reply");
		json_writer_raw(&w, buf_str(&c->probe.reply));
	}
	v = grpc_call_headers(c->probe.call, &n);
	write_metadata(&w, "headers", v, n);
	v = grpc_call_trailers(c->probe.call, &n);
	write_metadata(&w, "trailers", v, n);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
}

static void command_call_on_end(struct probe_call *p, const struct grpc_status *st)
{
	struct call *c = CONTAINER_OF(p, struct call, probe);

	write_result(c, st);
	if (grpc_status_error(st, &c->err) < 0)
		(void)error_wrap(&c->err, 0, "the call ended with %s", grpc_code_name(st->code));
	loop_stop(c->loop);
}

/* --- before the loop runs ------------------------------------------------------------------ */

static int parse_metadata(struct call *c, struct error *err)
{
	const struct flag_list *list = &c->options->metadata;
	struct arena *a = &c->cli->arena;
	struct str key, value;

	c->metadata = ARENA_ARRAY(a, struct grpc_metadata, list->n);
	for (size_t i = 0; i < list->n; i++) {
		CLEANUP(buf_release) struct buf raw = BUF_INIT(HTTP_HEADERS_MAX);

		value = str_from(list->v[i]);
		if (!str_split(&value, '=', &key) || !value.p)
			return cli_bad_usage(c->cli, err, "--metadata wants KEY=VALUE, not \"%s\"",
					     list->v[i]);
		if (str_ends(key, STR("-bin"))) {
			if (base64_decode(&raw, value, BASE64_STD, err) < 0)
				return cli_bad_usage(c->cli, err, "--metadata %.*s wants base64",
						     STR_ARG(key));
			value = arena_str(a, buf_str(&raw));
		}
		c->metadata[i] = (struct grpc_metadata){ key, value };
	}
	return 0;
}

static int fill_ask(struct call *c, struct error *err)
{
	const struct call_options *o = c->options;
	enum grpc_code code = GRPC_OK;

	if (o->fail && !grpc_code_parse(str_from(o->fail), &code))
		return cli_bad_usage(c->cli, err, "\"%s\" is not a gRPC status", o->fail);
	c->ask = (struct probe_ask){
		.count = (uint64_t)o->count,
		.size = (uint32_t)o->size,
		.interval_ms = (uint32_t)(o->interval / CLOCK_MS),
		.delay_ms = (uint32_t)(o->delay / CLOCK_MS),
		.rest_ms = (uint32_t)(o->rest / CLOCK_MS),
		.fail_code = (int)code,
		.fail_message = arena_strdup(&c->cli->arena, str_from(o->fail_message)),
		.service = arena_strdup(&c->cli->arena, str_from(o->service)),
		.echo_metadata = o->echo_metadata,
		.slow_ms = o->slow / CLOCK_MS,
		.cancel_after = (uint64_t)o->cancel_after,
	};
	c->probe.ask = &c->ask;
	c->probe.on_end = command_call_on_end;
	c->probe.method = probe_method_find(str_from(c->cli->operands.v[1]));
	if (!c->probe.method)
		return cli_bad_usage(c->cli, err, "\"%s\" is not one of %s", c->cli->operands.v[1],
				     probe_method_words());
	return 0;
}

static int open_channel(struct call *c, struct error *err)
{
	static const char *const alpn[] = { "h2", NULL };
	const struct call_options *o = c->options;
	struct grpc_channel_opts opts = { .authority = o->authority, .server_name = o->authority };
	struct str target = str_from(c->cli->operands.v[0]);
	int r;

	r = addr_parse(&opts.to, target, 443, err);
	if (r == 0 && (o->use_tls || str_starts(target, STR("https://"))))
		r = client_tls_new(c->cli, &o->tls, alpn, &c->tls, err);
	if (r < 0)
		return r;
	opts.tls = c->tls;
	c->channel = grpc_channel_new(c->loop, &opts);
	return 0;
}

static int call(struct call *c, struct error *err)
{
	const struct call_options *o = c->options;
	struct grpc_call_opts opts = {
		.deadline_ms = o->deadline / CLOCK_MS,
		.max_response = (size_t)o->max_message,
		.nmetadata = o->metadata.n,
		.wait_for_ready = o->wait_for_ready,
	};
	int r = fill_ask(c, err);

	if (r == 0)
		r = parse_metadata(c, err);
	if (r == 0)
		r = open_channel(c, err);
	if (r < 0)
		return r;
	opts.metadata = c->metadata;
	c->began = loop_now(c->loop);
	probe_call_start(&c->probe, c->loop, c->channel, &opts);
	loop_run(c->loop);
	(void)fprintf(c->cli->out, "%.*s\n", STR_ARG(buf_str(&c->line)));
	return 0;
}

static int command_call_run(struct cli *cli, struct error *err)
{
	struct call c = { .cli = cli, .options = cli->options, .line = BUF_INIT(MIB) };
	int r = loop_new(&c.loop, err);

	if (r == 0)
		r = call(&c, err);
	grpc_channel_free(c.channel);
	loop_free(c.loop);
	tls_unref(c.tls);
	probe_call_release(&c.probe);
	buf_release(&c.line);
	if (r < 0)
		return r;
	return c.err.code ? error_set(err, c.err.code, "%s", c.err.msg) : 0;
}

const struct command cmd_probe_call = {
	.name = "call",
	.summary = "make one gRPC call",
	.usage = "TARGET METHOD [FLAGS]",
	.about = "Makes one call with the same client that the roles use. TARGET is HOST:PORT or "
		 "unix:PATH. METHOD is one of the probe's own (echo, download, upload, chat), or "
		 "health or watch, which every server with gRPC's health service answers. Prints "
		 "one line of JSON, and fails if the status is not OK.",
	.examples =
		"devplane probe call 127.0.0.1:8080 echo --size 1000\n"
		"devplane probe call unix:/run/probe.sock download --count 100000 --slow 1ms\n"
		"devplane probe call localhost:8443 health --tls --certificate-authority ca.crt",
	.flags = flags,
	.options_size = sizeof(struct call_options),
	.operands_min = 2,
	.operands_max = 2,
	.run = command_call_run,
};

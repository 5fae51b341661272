/*
 * `devplane probe serve`: the server side. One HTTP server on any number of sockets; requests with
 * a gRPC content type go to the probe's services.
 */
#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "base/system/file.h"
#include "cli/probe/commands.h"
#include "cli/probe/http.h"
#include "cli/probe/service.h"
#include "cli/program/cli.h"
#include "cli/roles/role.h"
#include "grpc/server.h"
#include "net/http/server.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"

struct serve_options {
	struct role_options role;
	struct flag_list listen, listen_tls;
	const char *cert_file, *key_file, *client_ca_file, *ca_out;
	int64_t max_body;
	int64_t head_timeout, idle_timeout, drain_timeout; /* ns */
};

static const struct flag flags[] = {
	{ "listen", 'l', FLAG_LIST(struct serve_options, listen), .arg = "ADDRESS",
	  .help = "address to listen on without TLS: HOST:PORT or unix:PATH; port 0 picks a free "
		  "one" },
	{ "listen-tls", 'L', FLAG_LIST(struct serve_options, listen_tls), .arg = "ADDRESS",
	  .help = "address to listen on with TLS" },
	{ "tls-cert-file", 0, FLAG_STRING(struct serve_options, cert_file), .arg = "FILE",
	  .help = "certificate for TLS, with its chain; if not set, one is created at startup" },
	{ "tls-private-key-file", 0, FLAG_STRING(struct serve_options, key_file), .arg = "FILE",
	  .help = "private key of the certificate" },
	{ "client-ca-file", 0, FLAG_STRING(struct serve_options, client_ca_file), .arg = "FILE",
	  .help = "require client certificates that this CA signed" },
	{ "ca-out", 0, FLAG_STRING(struct serve_options, ca_out), .arg = "FILE",
	  .help = "file to write the CA of the created certificate to" },
	{ "max-body", 0, FLAG_INT(struct serve_options, max_body), .arg = "BYTES",
	  .initial = "3145728", .min = 1, .max = INT64_MAX,
	  .help = "largest accepted body, in bytes" },
	{ "head-timeout", 0, FLAG_DURATION(struct serve_options, head_timeout), .arg = "TIME",
	  .initial = "10s", .min = CLOCK_MS, .max = 3600 * CLOCK_SEC,
	  .help = "timeout for a request's header" },
	{ "idle-timeout", 0, FLAG_DURATION(struct serve_options, idle_timeout), .arg = "TIME",
	  .initial = "90s", .min = CLOCK_MS, .max = 86400 * CLOCK_SEC,
	  .help = "close connections that are idle for this long" },
	{ "drain-timeout", 0, FLAG_DURATION(struct serve_options, drain_timeout), .arg = "TIME",
	  .initial = "10s", .max = 3600 * CLOCK_SEC,
	  .help = "on SIGTERM, how long to wait for running requests" },
	ROLE_FLAGS_PARALLEL(struct serve_options, role),
	{ NULL },
};

struct serve {
	struct cli *cli;
	const struct serve_options *options;
	struct role role;
	struct metrics *metrics;
	struct grpc_server *grpc;
	struct http_server *http;
	struct tls *tls;
};

static void command_serve_handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct serve *v = arg;

	if (grpc_server_wants(s))
		grpc_server_handle(v->grpc, s);
	else
		probe_http_handle(s, v->metrics);
}

/* --- TLS --------------------------------------------------------------------------------- */

/* A CA that lives as long as this process, and a certificate for this host's names. */
static int make_pair(struct serve *v, struct buf *cert, struct buf *key, struct error *err)
{
	static const struct str hosts[] = { { "localhost", 9 }, { "127.0.0.1", 9 }, { "::1", 3 } };
	struct pki_leaf leaf = { .common_name = STR("devplane-probe"),
				 .hosts = hosts,
				 .nhosts = ARRAY_SIZE(hosts),
				 .server = true,
				 .lifetime = 30 * 86400 };
	CLEANUP(pki_ca_free) struct pki_ca *ca = NULL;
	CLEANUP(buf_release) struct buf ca_cert = BUF_INIT(64 * KIB);
	int r;

	r = pki_ca_new(STR("devplane-probe-ca"), 30 * 86400, clock_system(), &ca, err);
	if (r == 0)
		r = pki_issue(ca, &leaf, clock_system(), cert, key, err);
	if (r == 0)
		r = pki_ca_cert(ca, &ca_cert, err);
	if (r == 0 && v->options->ca_out)
		r = file_write_atomic(v->options->ca_out, buf_str(&ca_cert), 0644, err);
	return r;
}

static int load_pair(const struct serve_options *o, struct buf *cert, struct buf *key,
		     struct error *err)
{
	int r = file_read(o->cert_file, cert, err);

	return r < 0 ? r : file_read(o->key_file, key, err);
}

static int command_serve_make_tls(struct serve *v, struct error *err)
{
	static const char *const alpn[] = { "h2", "http/1.1", NULL };
	CLEANUP(buf_release) struct buf cert = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf key = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf ca = BUF_INIT(MIB);
	const struct serve_options *o = v->options;
	struct tls_pair pair;
	struct tls_opts to = { .server = true, .pairs = &pair, .npairs = 1, .alpn = alpn };
	int r;

	if (!o->cert_file != !o->key_file)
		return cli_bad_usage(v->cli, err,
				     "--tls-cert-file and --tls-private-key-file go together");
	r = o->cert_file ? load_pair(o, &cert, &key, err) : make_pair(v, &cert, &key, err);
	if (r == 0 && o->client_ca_file)
		r = file_read(o->client_ca_file, &ca, err);
	if (r < 0)
		return r;
	pair = (struct tls_pair){ buf_str(&cert), buf_str(&key) };
	to.ca = buf_str(&ca);
	to.ask_client_cert = to.require_client_cert = o->client_ca_file != NULL;
	return tls_new(&to, &v->tls, err);
}

/* --- starting and stopping ------------------------------------------------------------------ */

static int listen_all(struct serve *v, const struct flag_list *where, struct tls *tls,
		      struct error *err)
{
	struct addr at, bound;
	int r;

	for (size_t i = 0; i < where->n; i++) {
		r = addr_parse(&at, str_from(where->v[i]), 0, err);
		if (r == 0)
			r = http_server_listen(v->http, &at, tls, 0, &bound, err);
		if (r < 0)
			return r;
		/* For scripts: one line per socket, before anything is served. */
		(void)fprintf(v->cli->out, "listening on %s%s%s\n",
			      at.kind == ADDR_UNIX ? ""
			      : tls                ? "https://"
						   : "http://",
			      bound.text, at.kind == ADDR_UNIX && tls ? " (TLS)" : "");
	}
	(void)fflush(v->cli->out);
	return 0;
}

static void command_serve_on_drained(void *arg)
{
	struct serve *v = arg;

	role_stop(&v->role);
}

static void command_serve_on_stop(void *arg)
{
	struct serve *v = arg;

	http_server_drain(v->http, v->options->drain_timeout / CLOCK_MS, command_serve_on_drained,
			  v);
}

/* --- figures ---------------------------------------------------------------------------------- */

static struct http_server_stats stats_of(void *serve)
{
	struct http_server_stats stats;

	http_server_stats(((struct serve *)serve)->http, &stats);
	return stats;
}

static double read_accepted(void *ctx)
{
	return (double)stats_of(ctx).accepted;
}

static double read_conns(void *ctx)
{
	return (double)stats_of(ctx).conns;
}

static double read_requests(void *ctx)
{
	return (double)stats_of(ctx).requests;
}

static int command_serve_add_metrics(struct serve *v, struct error *err)
{
	static const struct {
		struct metrics_spec spec;
		double (*read)(void *ctx);
	} rows[] = {
		{ { .name = "devplane_probe_connections_accepted_total",
		    .help = "Accepted connections.",
		    .type = METRICS_COUNTER },
		  read_accepted },
		{ { .name = "devplane_probe_connections",
		    .help = "Open connections.",
		    .type = METRICS_GAUGE },
		  read_conns },
		{ { .name = "devplane_probe_requests_total",
		    .help = "Received requests.",
		    .type = METRICS_COUNTER },
		  read_requests },
	};
	struct metrics_family *f;
	int r;

	v->metrics = metrics_new();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		r = metrics_register(v->metrics, &rows[i].spec, &f, err);
		if (r < 0)
			return r;
		metrics_callback_of(f, rows[i].read, v, NULL, 0);
	}
	return metrics_process_register(v->metrics, err);
}

/* --- the command ------------------------------------------------------------------------------ */

static int command_serve_start(struct serve *v, struct error *err)
{
	const struct serve_options *o = v->options;
	struct http_server_opts opts = {
		.loops = io_threads_loops(v->role.io),
		.nloops = io_threads_count(v->role.io),
		.config = { .body_max = o->max_body,
			    .head_timeout_ms = o->head_timeout / CLOCK_MS,
			    .idle_timeout_ms = o->idle_timeout / CLOCK_MS },
		.handler = command_serve_handle,
		.arg = v,
	};
	static const char *const anywhere[] = { "127.0.0.1:8080" };
	struct flag_list listen = o->listen;
	int r;

	if (!listen.n && !o->listen_tls.n)
		listen = (struct flag_list){ (const char **)(uintptr_t)anywhere, 1 };
	r = command_serve_add_metrics(v, err);
	if (r == 0 && o->listen_tls.n)
		r = command_serve_make_tls(v, err);
	if (r < 0)
		return r;
	v->grpc = grpc_server_new(NULL);
	probe_service_add(v->grpc);
	v->http = http_server_new(&opts);
	r = listen_all(v, &listen, NULL, err);
	return r < 0 ? r : listen_all(v, &o->listen_tls, v->tls, err);
}

static int command_serve_run(struct cli *cli, struct error *err)
{
	struct serve v = { .cli = cli, .options = cli->options };
	int r = role_init(&v.role, &v.options->role, command_serve_on_stop, &v, err);

	if (r < 0)
		return r;
	r = command_serve_start(&v, err);
	if (r == 0) {
		role_ready(&v.role);
		r = role_run(&v.role, err);
	}
	http_server_free(v.http);
	grpc_server_free(v.grpc);
	tls_unref(v.tls);
	metrics_free(v.metrics);
	role_release(&v.role);
	return r;
}

const struct command cmd_probe_serve = {
	.name = "serve",
	.summary = "serve probes over HTTP and gRPC",
	.about = "Listens until it is stopped. Each socket serves HTTP/1.1, HTTP/2 and gRPC; GET / "
		 "lists the paths. Without --listen and --listen-tls it listens on 127.0.0.1:8080. "
		 "Without a certificate it creates one for localhost, and --ca-out writes the CA "
		 "that clients must trust.",
	.examples = "devplane probe serve --listen 0.0.0.0:8080\n"
		    "devplane probe serve --listen-tls :8443 --ca-out ca.crt\n"
		    "devplane probe serve --listen unix:/run/probe.sock\n"
		    "curl http://127.0.0.1:8080/request",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.flags = flags,
	.options_size = sizeof(struct serve_options),
	.run = command_serve_run,
};

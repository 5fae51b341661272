/*
 * `devplane ui`: the device page for any API server (cli/ui/site.h), on a laptop or in a pod.
 */
#include "cli/ui/site.h"

#include <sys/resource.h>

#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "base/system/file.h"
#include "base/time/timestamp.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/endpoint.h"
#include "cli/roles/endpoint_guard.h"
#include "cli/roles/role.h"
#include "cli/roles/serving_cert.h"
#include "cli/ui/oidc.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/program.h"
#include "net/net_limits.h"

enum { OPEN_TIMEOUT_MS = 30 * 1000, CLUSTERS_MAX = 64 };

struct ui_options {
	struct role_options role;
	struct endpoint_guard_options guard;
	const char *kubeconfig, *address, *metrics_address, *cert_file, *key_file;
	const char *oidc_issuer, *oidc_client, *oidc_secret_file, *oidc_redirect, *oidc_ca_file;
	struct flag_list contexts, oidc_scopes;
	bool link, no_browser;
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct ui_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account, of which only the server's address and CA are used" },
	{ "context", 0, FLAG_REPEAT(struct ui_options, contexts), .arg = "NAME",
	  .help = "kubeconfig context to use instead of the current one; may be repeated, and the "
		  "page then lets users choose between the clusters" },
	{ "bind-address", 0, FLAG_STRING(struct ui_options, address), .arg = "ADDRESS",
	  .initial = "127.0.0.1:8440",
	  .help = "address that serves the page: plain HTTP on a loopback address, HTTPS "
		  "elsewhere; port 0 picks a free one" },
	{ "tls-cert-file", 0, FLAG_STRING(struct ui_options, cert_file), .arg = "FILE",
	  .help = "certificate to serve HTTPS with, also on a loopback address; it is read again "
		  "every hour; default elsewhere a self-signed one in memory" },
	{ "tls-private-key-file", 0, FLAG_STRING(struct ui_options, key_file), .arg = "FILE",
	  .help = "private key of that certificate" },
	{ "login-link", 0, FLAG_BOOL(struct ui_options, link), .initial = "true",
	  .help = "print a link that logs in once as the kubeconfig's user; never on other "
		  "addresses than loopback, and never as the pod's service account" },
	{ "no-browser", 0, FLAG_BOOL(struct ui_options, no_browser),
	  .help = "do not open that link in the browser (with xdg-open)" },
	{ "oidc-issuer-url", 0, FLAG_STRING(struct ui_options, oidc_issuer), .arg = "URL",
	  .help = "OpenID Connect provider that users may log in with; the API server must accept "
		  "its ID tokens" },
	{ "oidc-client-id", 0, FLAG_STRING(struct ui_options, oidc_client), .arg = "ID",
	  .help = "client ID of the page at that provider" },
	{ "oidc-client-secret-file", 0, FLAG_STRING(struct ui_options, oidc_secret_file),
	  .arg = "FILE", .help = "file with the client secret; default none, a public client" },
	{ "oidc-redirect-url", 0, FLAG_STRING(struct ui_options, oidc_redirect), .arg = "URL",
	  .help = "URL of the page for browsers, with the path /ui/oidc/callback; required unless "
		  "the page is on a loopback address" },
	{ "oidc-scope", 0, FLAG_REPEAT(struct ui_options, oidc_scopes), .arg = "SCOPE",
	  .help = "scope to request besides openid, such as email; may be repeated" },
	{ "oidc-ca-file", 0, FLAG_STRING(struct ui_options, oidc_ca_file), .arg = "FILE",
	  .help = "CA to verify the provider with instead of the system's" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct ui_options, metrics_address),
	  .arg = "ADDRESS", .initial = "0",
	  .help = "address that serves /healthz, /readyz and /metrics, such as 127.0.0.1:10261; "
		  "port 0 picks a free one, \"0\" disables it" },
	ENDPOINT_GUARD_FLAGS(struct ui_options, guard),
	ROLE_FLAGS(struct ui_options, role),
	{ NULL },
};

struct ui {
	struct cli *cli;
	const struct ui_options *options;
	struct role role;
	struct kubeconfig *configs;
	size_t nconfigs;
	struct metrics *metrics;
	struct endpoint *endpoint;
	struct serving_cert *cert; /* NULL: plain HTTP */
	struct site *site;
	struct program *browser;
	struct addr at;
	struct oidc_provider oidc;
	struct buf oidc_secret, oidc_ca;
	const char *link;
	struct error failure;
	bool own, local, ready, stopping;
};

/* --- the end --------------------------------------------------------------------------- */

static void ui_on_silent(void *arg)
{
	struct ui *v = arg;

	site_free(TAKE(v->site));
	endpoint_free(TAKE(v->endpoint));
	serving_cert_free(TAKE(v->cert));
	program_free(TAKE(v->browser));
	role_stop_soon(&v->role);
}

static void ui_on_site_stopped(void *arg)
{
	struct ui *v = arg;

	endpoint_stop(v->endpoint, ui_on_silent, v);
}

static void ui_on_stop(void *arg)
{
	struct ui *v = arg;

	if (v->stopping)
		return;
	v->stopping = true;
	if (v->site)
		site_stop(v->site, ui_on_site_stopped, v);
	else
		ui_on_site_stopped(v);
}

/* --- options --------------------------------------------------------------------------- */

static int ui_load(struct ui *v, struct error *err)
{
	const struct ui_options *o = v->options;
	size_t n = MAX(o->contexts.n, (size_t)1);
	int r = 0;

	if (n > CLUSTERS_MAX)
		return cli_bad_usage(v->cli, err, "--context: at most %d clusters", CLUSTERS_MAX);
	v->configs = ARENA_ARRAY(&v->cli->arena, struct kubeconfig, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct kubeconfig_opts k = { .path = o->kubeconfig,
					     .context = o->contexts.n ? o->contexts.v[i] : NULL };

		r = kubeconfig_load(&v->configs[i], &k, err);
		v->nconfigs += r == 0;
	}
	return r;
}

static int ui_read_oidc_files(struct ui *v, struct error *err)
{
	const struct ui_options *o = v->options;
	int r = 0;

	if (o->oidc_secret_file)
		r = file_read(o->oidc_secret_file, &v->oidc_secret, err);
	if (r == 0 && o->oidc_ca_file)
		r = file_read(o->oidc_ca_file, &v->oidc_ca, err);
	return r;
}

/* The port may be free to choose, so that a default redirect URL needs a port in the address. */
static const char *ui_redirect_url(struct ui *v)
{
	if (v->options->oidc_redirect || !v->local || !v->at.port)
		return v->options->oidc_redirect;
	return arena_printf(&v->cli->arena, "http%s://%s/ui/oidc/callback",
			    v->options->cert_file ? "s" : "", v->at.text);
}

static int ui_read_oidc(struct ui *v, struct error *err)
{
	const struct ui_options *o = v->options;
	int r;

	if (!o->oidc_issuer && !o->oidc_client)
		return 0;
	if (!o->oidc_issuer || !o->oidc_client)
		return cli_bad_usage(v->cli, err,
				     "--oidc-issuer-url and --oidc-client-id belong together: "
				     "give both, or none");
	if (oidc_check_url(str_from(o->oidc_issuer), NULL) < 0)
		return cli_bad_usage(v->cli, err, "--oidc-issuer-url must begin with https://");
	r = ui_read_oidc_files(v, err);
	v->oidc = (struct oidc_provider){ .issuer = o->oidc_issuer,
					  .client_id = o->oidc_client,
					  .client_secret = str_trim_space(buf_str(&v->oidc_secret)),
					  .redirect_url = ui_redirect_url(v),
					  .scopes = o->oidc_scopes.v,
					  .nscopes = o->oidc_scopes.n };
	if (r == 0 && !v->oidc.redirect_url)
		return cli_bad_usage(v->cli, err,
				     "--oidc-redirect-url is required here: the URL of the page, "
				     "with the path /ui/oidc/callback");
	return r;
}

static int ui_read(struct ui *v, struct error *err)
{
	const struct ui_options *o = v->options;
	int r;

	if (!o->cert_file != !o->key_file)
		return cli_bad_usage(v->cli, err,
				     "--tls-cert-file and --tls-private-key-file belong together: "
				     "give both, or none");
	r = addr_parse(&v->at, str_from(o->address), 0, err);
	if (r < 0 || v->at.kind != ADDR_INET)
		return cli_bad_usage(v->cli, err,
				     "--bind-address: \"%s\" is not an IP address with a port",
				     o->address);
	r = ui_load(v, err);
	if (r < 0)
		return r;
	v->local = !endpoint_guard_wanted(NULL, &v->at);
	/* Only a pod's configuration has no context. */
	v->own = o->link && v->local && v->configs[0].context.n;
	return ui_read_oidc(v, err);
}

/* --- the link -------------------------------------------------------------------------- */

static void ui_on_opened(void *arg, const struct program_end *end)
{
	struct ui *v = arg;

	if (end->status != 0 || end->signum != 0)
		log_warn(&v->role.log, "no browser could be opened (xdg-open failed): open the "
				       "link by hand");
	program_free(TAKE(v->browser));
}

static void ui_open_browser(struct ui *v)
{
	const char *const argv[] = { "xdg-open", v->link, NULL };
	struct program_opts opts = { .argv = argv,
				     .output_max = 4096,
				     .timeout_ms = OPEN_TIMEOUT_MS,
				     .on_end = ui_on_opened,
				     .arg = v };
	struct error err;

	if (program_new(v->role.loop, &opts, &v->browser, &err) < 0)
		log_warn(&v->role.log, "no browser could be opened: open the link by hand",
			 LOG_ERR(&err));
}

static void ui_print_link(struct ui *v)
{
	char code[UI_SECRET_SIZE], until[TIMESTAMP_SIZE];
	struct str end = timestamp_print(site_link(v->site, code), TIMESTAMP_SECONDS, until);

	v->link = arena_printf(&v->cli->arena, "%s/ui/#code=%s", site_url(v->site), code);
	(void)fprintf(v->cli->out, "  logs in %.*s once, until %.*s: %s\n",
		      STR_ARG(site_own_name(v->site)), STR_ARG(end), v->link);
}

static void ui_announce(struct ui *v)
{
	(void)fprintf(v->cli->out, "devplane ui runs for %.*s\n", STR_ARG(v->configs[0].server));
	(void)fprintf(v->cli->out, "  page at %s/ui/\n", site_url(v->site));
	if (v->own)
		ui_print_link(v);
	else
		(void)fprintf(v->cli->out, "  log in with a bearer token, such as that of `kubectl "
					   "create token NAME`\n");
	endpoint_announce(v->endpoint, v->cli->out);
	(void)fflush(v->cli->out);
	v->ready = true;
	role_ready(&v->role);
	if (v->own && !v->options->no_browser)
		ui_open_browser(v);
}

static void ui_on_identified(void *arg, const struct error *err)
{
	struct ui *v = arg;

	if (!err) {
		ui_announce(v);
		return;
	}
	v->failure = *err;
	(void)error_wrap(&v->failure, -(int)err->code, "%.*s", STR_ARG(v->configs[0].server));
	ui_on_stop(v);
}

/* --- the beginning --------------------------------------------------------------------- */

static int ui_check_ready(void *arg, struct error *err)
{
	const struct ui *v = arg;

	return v->ready && !v->stopping ? 0 : error_set(err, ERR_UNAVAILABLE, "not serving");
}

static const struct endpoint_check ui_checks[] = {
	{ .name = "page", .ready_only = true, .run = ui_check_ready },
	{ .name = NULL },
};

static int ui_serve_metrics(struct ui *v, struct error *err)
{
	struct endpoint_opts e = { .loop = v->role.loop,
				   .address = v->options->metrics_address,
				   .checks = ui_checks,
				   .arg = v,
				   .metrics = v->metrics,
				   .kubeconfig = &v->configs[0],
				   .guard = &v->options->guard,
				   .log = &v->role.log };

	return strcmp(e.address, "0") == 0 ? 0 : endpoint_new(&e, &v->endpoint, err);
}

static int ui_open_cert(struct ui *v, struct error *err)
{
	struct serving_cert_opts c = { .loop = v->role.loop,
				       .log = &v->role.log,
				       .cert_file = v->options->cert_file,
				       .key_file = v->options->key_file,
				       .name = "the certificate of the page",
				       .ca_name = "devplane-ui-ca" };

	if (v->local && !c.cert_file)
		return 0;
	return serving_cert_new(&c, &v->cert, err);
}

static int ui_start(struct ui *v, struct error *err)
{
	const struct kubeconfig **configs = ARENA_ARRAY(&v->cli->arena, const struct kubeconfig *,
							v->nconfigs);
	struct site_opts s = { .loop = v->role.loop,
			       .clusters = configs,
			       .nclusters = v->nconfigs,
			       .kubeconfig = v->options->kubeconfig,
			       .own = v->own,
			       .at = v->at,
			       .oidc = v->oidc.issuer ? &v->oidc : NULL,
			       .oidc_ca = buf_str(&v->oidc_ca),
			       .log = &v->role.log,
			       .metrics = v->metrics };
	int r = ui_open_cert(v, err);

	for (size_t i = 0; i < v->nconfigs; i++)
		configs[i] = &v->configs[i];
	s.cert = v->cert;
	if (r == 0)
		r = ui_serve_metrics(v, err);
	if (r == 0)
		r = site_new(&s, &v->site, err);
	if (r < 0)
		return r;
	if (v->own)
		site_identify(v->site, ui_on_identified, v);
	else
		ui_announce(v);
	return 0;
}

/* A forwarded request has two connections, and the usual limit is 1024. */
static void ui_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int ui_run(struct cli *cli, struct error *err)
{
	struct ui v = { .cli = cli,
			.options = cli->options,
			.oidc_secret = BUF_INIT(PEM_FILE_MAX),
			.oidc_ca = BUF_INIT(PEM_FILE_MAX) };
	int r = ui_read(&v, err);

	ui_raise_files();
	if (r == 0)
		r = role_init(&v.role, &v.options->role, ui_on_stop, &v, err);
	if (r == 0) {
		v.metrics = metrics_new();
		(void)metrics_process_register(v.metrics, NULL);
		if (ui_start(&v, &v.failure) < 0)
			ui_on_stop(&v);
		r = role_run(&v.role, err);
		if (r == 0 && v.failure.code)
			r = error_copy(err, &v.failure);
		metrics_free(v.metrics);
		role_release(&v.role);
	}
	for (size_t i = 0; i < v.nconfigs; i++)
		kubeconfig_release(&v.configs[i]);
	buf_release(&v.oidc_secret);
	buf_release(&v.oidc_ca);
	return r;
}

static const struct command_note files[] = {
	{ "~/.kube/config", "the kubeconfig, unless --kubeconfig or $KUBECONFIG name another" },
	{ NULL },
};

const struct command cmd_ui = {
	.name = "ui",
	.summary = "serve the device page for any API server",
	.group = COMMAND_ROLE,
	.about = "Serves the device page of a devplane server or a kube-apiserver. Browsers talk "
		 "to this command only: it forwards what the page reads, with the credentials of "
		 "the user who logged in and never with its own.\n\n"
		 "On your machine it prints a link that logs in once as the kubeconfig's user, and "
		 "opens it in the browser. In a pod, users log in with a bearer token of theirs or "
		 "at an OpenID Connect provider; the service account needs no rights.\n\n"
		 "A session ends after an hour without use, after twelve hours, when its token "
		 "expires, and with this command.",
	.examples = "  devplane ui\n"
		    "  devplane ui --kubeconfig team.kubeconfig --context lab --context prod\n"
		    "  devplane ui --bind-address :8443 --tls-cert-file tls.crt \\\n"
		    "    --tls-private-key-file tls.key --metrics-bind-address :10261\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct ui_options),
	.run = ui_run,
};

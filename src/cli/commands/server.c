/*
 * `devplane server`: the API server. Flags that kube-apiserver has keep its
 * names and meaning.
 */
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "cli/commands/commands.h"
#include "cli/commands/server_audit.h"
#include "cli/program/cli.h"
#include "cli/roles/role.h"

enum { STRANGERS_MAX = 4096 }; /* connections of one address, if the limit on files allows more */

struct server_options {
	struct role_options role;
	const char *data_dir, *bind_address;
	int64_t secure_port;
	const char *cert_file, *key_file, *client_ca_file, *token_auth_file;
	struct flag_list issuers, key_files, audiences;
	const char *signing_key_file, *jwks_uri;
	int64_t token_max; /* ns */
	bool anonymous, extend_tokens, ui, kubeconfig;
	struct flag_list service_ranges, enable_plugins, disable_plugins;
	const char *node_ports, *advertise_address, *admission_config;
	struct flag_list etcd_servers, feature_gates;
	const char *etcd_ca_file, *etcd_cert_file, *etcd_key_file, *etcd_prefix;
	const char *kubelet_cert_file, *kubelet_key_file, *kubelet_ca_file;
	struct flag_list kubelet_address_types, node_address_ranges;
	struct server_audit_options audit;
	const char *ui_explain, *encryption_config;
	int64_t event_ttl, history, request_timeout, min_request_timeout, drain_timeout; /* ns; s */
	int64_t watch_cache, history_bytes, quota_bytes;
	bool fairness, kubelet_names, store_journal, encryption_reload;
	int64_t max_reading, max_writing, max_user_watches, max_conns, max_strangers;
};

static const struct flag flags[] = {
	{ "data-dir", 'd', FLAG_STRING(struct server_options, data_dir), .arg = "DIR",
	  .initial = "devplane-data",
	  .help = "folder for certificates, admin.kubeconfig and, without etcd, all objects" },
	{ "write-kubeconfig", 0, FLAG_BOOL(struct server_options, kubeconfig), .initial = "true",
	  .help = "write admin.kubeconfig at every start" },
	{ "bind-address", 0, FLAG_STRING(struct server_options, bind_address), .arg = "ADDRESS",
	  .initial = "127.0.0.1", .help = "address to listen on; 0.0.0.0 or :: for all" },
	{ "secure-port", 'p', FLAG_INT(struct server_options, secure_port), .arg = "PORT",
	  .initial = "6443", .min = 0, .max = 65535,
	  .help = "port to listen on; 0 picks a free one" },
	{ "tls-cert-file", 0, FLAG_STRING(struct server_options, cert_file), .arg = "FILE",
	  .help = "serving certificate with its chain; if not set, one is created at startup" },
	{ "tls-private-key-file", 0, FLAG_STRING(struct server_options, key_file), .arg = "FILE",
	  .help = "private key of that certificate" },
	{ "client-ca-file", 0, FLAG_STRING(struct server_options, client_ca_file), .arg = "FILE",
	  .help = "also accept client certificates that this CA signed" },
	{ "token-auth-file", 0, FLAG_STRING(struct server_options, token_auth_file), .arg = "FILE",
	  .help = "bearer tokens, one per line: token,user,uid,\"group,group\"" },
	{ "anonymous-auth", 0, FLAG_BOOL(struct server_options, anonymous), .initial = "true",
	  .help = "accept requests without credentials, as system:anonymous" },
	{ "ui", 0, FLAG_BOOL(struct server_options, ui), .initial = "true",
	  .help = "serve the device page at /ui/" },
	{ "ui-explain", 0, FLAG_STRING(struct server_options, ui_explain),
	  .choices = "process|supervisor|none", .initial = "process",
	  .help = "how the page's explanations run: in processes of the server, in processes of "
		  "the supervisor whose socket is the standard input (set by devplane up), or not "
		  "at all" },
	{ "service-account-issuer", 0, FLAG_REPEAT(struct server_options, issuers), .arg = "URL",
	  .help = "issuers of service account tokens; the first is put into new tokens, all are "
		  "accepted (default https://kubernetes.default.svc.cluster.local)" },
	{ "service-account-signing-key-file", 0,
	  FLAG_STRING(struct server_options, signing_key_file), .arg = "FILE",
	  .help = "key to sign service account tokens with; if not set, one is created in "
		  "--data-dir" },
	{ "service-account-key-file", 0, FLAG_REPEAT(struct server_options, key_files),
	  .arg = "FILE",
	  .help = "more PEM keys to accept tokens from, such as the previous signing key" },
	{ "service-account-jwks-uri", 0, FLAG_STRING(struct server_options, jwks_uri), .arg = "URL",
	  .help = "URL of the public keys, if this server does not publish them" },
	{ "service-account-max-token-expiration", 0,
	  FLAG_DURATION(struct server_options, token_max), .arg = "TIME", .initial = "0",
	  .max = (INT64_C(1) << 32) * CLOCK_SEC,
	  .help = "maximum lifetime of a requested token, at least 1h; 0: no limit" },
	{ "service-account-extend-token-expiration", 0,
	  FLAG_BOOL(struct server_options, extend_tokens), .initial = "true",
	  .help = "extend the lifetime of pods' tokens to a year" },
	{ "api-audiences", 0, FLAG_LIST(struct server_options, audiences), .arg = "NAME",
	  .help = "audiences that this API server accepts in tokens (default: the issuers)" },
	{ "advertise-address", 0, FLAG_STRING(struct server_options, advertise_address),
	  .arg = "IP",
	  .help = "address of this server in the endpoints of service kubernetes (default: "
		  "--bind-address, or an interface's address if that means all)" },
	{ "service-cluster-ip-range", 0, FLAG_LIST(struct server_options, service_ranges),
	  .arg = "CIDR",
	  .help = "address range of services; for dual stack, one of IPv4 and one of IPv6 "
		  "(default " SERVER_SERVICE_CIDR ")" },
	{ "service-node-port-range", 0, FLAG_STRING(struct server_options, node_ports),
	  .arg = "FIRST-LAST", .initial = "30000-32767",
	  .help = "port range for node ports of services" },
	{ "enable-admission-plugins", 0, FLAG_LIST(struct server_options, enable_plugins),
	  .arg = "NAME",
	  .help = "admission plugins to enable: AlwaysPullImages, EventRateLimit, "
		  "OwnerReferencesPermissionEnforcement, StorageObjectInUseProtection" },
	{ "disable-admission-plugins", 0, FLAG_LIST(struct server_options, disable_plugins),
	  .arg = "NAME", .help = "admission plugins to disable, such as TaintNodesByCondition" },
	{ "admission-control-config-file", 0, FLAG_STRING(struct server_options, admission_config),
	  .arg = "FILE",
	  .help = "AdmissionConfiguration (YAML) for PodSecurity and EventRateLimit" },
	{ "encryption-provider-config", 0, FLAG_STRING(struct server_options, encryption_config),
	  .arg = "FILE",
	  .help = "EncryptionConfiguration (YAML) that says which objects are stored encrypted" },
	{ "encryption-provider-config-automatic-reload", 0,
	  FLAG_BOOL(struct server_options, encryption_reload),
	  .help = "read that file again when it changes" },
	{ "etcd-servers", 0, FLAG_LIST(struct server_options, etcd_servers), .arg = "URL",
	  .help = "keep objects in this etcd cluster instead of in --data-dir" },
	{ "etcd-cafile", 0, FLAG_STRING(struct server_options, etcd_ca_file), .arg = "FILE",
	  .help = "CA to verify etcd's certificates with" },
	{ "etcd-certfile", 0, FLAG_STRING(struct server_options, etcd_cert_file), .arg = "FILE",
	  .help = "client certificate for etcd" },
	{ "etcd-keyfile", 0, FLAG_STRING(struct server_options, etcd_key_file), .arg = "FILE",
	  .help = "private key of that certificate" },
	{ "etcd-prefix", 0, FLAG_STRING(struct server_options, etcd_prefix), .arg = "PREFIX",
	  .initial = "/registry", .help = "prefix of all keys in etcd" },
	{ "kubelet-client-certificate", 0, FLAG_STRING(struct server_options, kubelet_cert_file),
	  .arg = "FILE",
	  .help = "client certificate for kubelets; if not set, one is created at startup" },
	{ "kubelet-client-key", 0, FLAG_STRING(struct server_options, kubelet_key_file),
	  .arg = "FILE", .help = "private key of that certificate" },
	{ "kubelet-certificate-authority", 0, FLAG_STRING(struct server_options, kubelet_ca_file),
	  .arg = "FILE",
	  .help = "CA to verify kubelets' certificates with; if not set, they are not verified" },
	{ "kubelet-certificate-names", 0, FLAG_BOOL(struct server_options, kubelet_names),
	  .help = "require a kubelet's certificate to name its node, instead of the address that "
		  "the server connects to" },
	{ "kubelet-preferred-address-types", 0,
	  FLAG_LIST(struct server_options, kubelet_address_types), .arg = "TYPE",
	  .help = "order of preference of a node's address types (default "
		  "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP)" },
	{ "node-address-ranges", 0, FLAG_LIST(struct server_options, node_address_ranges),
	  .arg = "CIDR",
	  .help = "address ranges of nodes; the server connects to kubelets only there (default: "
		  "anywhere)" },
	{ "feature-gates", 0, FLAG_LIST(struct server_options, feature_gates), .arg = "NAME=BOOL",
	  .help = "switch features on or off, such as ResourceHealthStatus=false" },
	{ "event-ttl", 0, FLAG_DURATION(struct server_options, event_ttl), .arg = "TIME",
	  .initial = "1h", .min = CLOCK_SEC, .max = 365 * 86400 * CLOCK_SEC,
	  .help = "how long events are kept" },
	{ "history", 0, FLAG_DURATION(struct server_options, history), .arg = "TIME",
	  .initial = "5m", .min = CLOCK_SEC, .max = 365 * 86400 * CLOCK_SEC,
	  .help = "how long old revisions can still be listed and watched from" },
	{ "history-bytes", 0, FLAG_INT(struct server_options, history_bytes), .arg = "BYTES",
	  .initial = "536870912", .min = 0, .max = INT64_C(1) << 50,
	  .help = "maximum size of old revisions in bytes, beyond which the oldest are dropped "
		  "early; 0: no limit; not used with etcd" },
	{ "store-quota-bytes", 0, FLAG_INT(struct server_options, quota_bytes), .arg = "BYTES",
	  .initial = "-1", .min = -1, .max = INT64_C(1) << 50,
	  .help = "maximum size of all objects and old revisions in bytes; 0: no limit; -1: half "
		  "of the disk space that is free at startup; not used with etcd" },
	{ "store-journal", 0, FLAG_BOOL(struct server_options, store_journal),
	  .help = "acknowledge writes when they are in a journal, and bring the data file up to "
		  "date later: faster under many writes; not with --etcd-servers" },
	{ "watch-cache-bytes", 0, FLAG_INT(struct server_options, watch_cache), .arg = "BYTES",
	  .initial = "67108864", .min = 65536, .max = INT64_C(1) << 40,
	  .help = "maximum memory for the recent events of one resource, in bytes" },
	{ "request-timeout", 0, FLAG_DURATION(struct server_options, request_timeout),
	  .arg = "TIME", .initial = "1m", .min = CLOCK_SEC, .max = 86400 * CLOCK_SEC,
	  .help = "timeout for requests other than watches" },
	{ "min-request-timeout", 0, FLAG_INT(struct server_options, min_request_timeout),
	  .arg = "SECONDS", .initial = "1800", .min = 1, .max = 86400,
	  .help = "watches without a timeout end after this time to twice this time" },
	{ "enable-priority-and-fairness", 0, FLAG_BOOL(struct server_options, fairness),
	  .initial = "true",
	  .help = "queue requests fairly, by FlowSchemas and PriorityLevelConfigurations" },
	{ "max-requests-inflight", 0, FLAG_INT(struct server_options, max_reading), .arg = "N",
	  .initial = "400", .max = 1000000,
	  .help = "maximum number of concurrent reads, 0: no limit; with fairness, the sum of both "
		  "limits is shared" },
	{ "max-mutating-requests-inflight", 0, FLAG_INT(struct server_options, max_writing),
	  .arg = "N", .initial = "200", .max = 1000000,
	  .help = "maximum number of concurrent writes, 0: no limit" },
	{ "max-watches-per-user", 0, FLAG_INT(struct server_options, max_user_watches), .arg = "N",
	  .initial = "10000", .max = 100000000,
	  .help = "maximum number of open watches per user, 0: no limit; system:masters is not "
		  "limited" },
	{ "max-connections", 0, FLAG_INT(struct server_options, max_conns), .arg = "N",
	  .initial = "0", .max = 100000000,
	  .help = "maximum number of connections; 0: three quarters of the open-file limit" },
	{ "max-unauthenticated-connections", 0, FLAG_INT(struct server_options, max_strangers),
	  .arg = "N", .initial = "0", .max = 100000000,
	  .help = "maximum number of unauthenticated connections per address; 0: a quarter of "
		  "--max-connections, at most 4096" },
	{ "shutdown-grace", 0, FLAG_DURATION(struct server_options, drain_timeout), .arg = "TIME",
	  .initial = "10s", .max = 3600 * CLOCK_SEC,
	  .help = "on SIGTERM, how long to wait for running requests" },
	SERVER_AUDIT_FLAGS(struct server_options, audit),
	ROLE_FLAGS_PARALLEL(struct server_options, role),
	{ NULL },
};

struct serve {
	struct cli *cli;
	const struct server_options *options;
	struct role role;
	struct server *server;
	struct audit_opts audit;
	struct error failure; /* why it could not start */
};

static int take_explainer(struct serve *v, struct server_opts *opts, struct error *err)
{
	struct stat st;

	opts->no_explain = strcmp(v->options->ui_explain, "none") == 0;
	if (strcmp(v->options->ui_explain, "supervisor") != 0)
		return 0;
	if (fstat(STDIN_FILENO, &st) < 0 || !S_ISSOCK(st.st_mode))
		return cli_bad_usage(v->cli, err,
				     "--ui-explain=supervisor is for servers that devplane up "
				     "starts: the standard input is not a socket");
	opts->explain_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return opts->explain_fd < 0
		       ? error_set_errno(err, ERR_IO, errno, "cannot keep the supervisor's socket")
		       : 0;
}

/* Keys must not be in core dumps, nor be read by other processes of this user. */
static int take_encryption(const struct server_options *o, struct server_opts *opts,
			   struct error *err)
{
	opts->encryption_config_file = o->encryption_config;
	opts->encryption_reload = o->encryption_reload;
	if (o->encryption_config && prctl(PR_SET_DUMPABLE, 0) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot switch off core dumps");
	return 0;
}

static int check_options(struct serve *v, const struct server_options *o, struct error *err)
{
	if (!o->cert_file != !o->key_file)
		return cli_bad_usage(v->cli, err,
				     "--tls-cert-file and --tls-private-key-file go together");
	if (!o->kubelet_cert_file != !o->kubelet_key_file)
		return cli_bad_usage(
			v->cli, err,
			"--kubelet-client-certificate and --kubelet-client-key go together");
	if (o->kubelet_names && !o->kubelet_ca_file)
		return cli_bad_usage(v->cli, err,
				     "--kubelet-certificate-names needs "
				     "--kubelet-certificate-authority");
	if (o->store_journal && o->etcd_servers.n)
		return cli_bad_usage(v->cli, err,
				     "--store-journal is for data in --data-dir: leave out "
				     "--store-journal or --etcd-servers");
	if (o->encryption_reload && !o->encryption_config)
		return cli_bad_usage(v->cli, err,
				     "--encryption-provider-config-automatic-reload needs "
				     "--encryption-provider-config");
	if (o->token_max && o->token_max < 3600 * CLOCK_SEC)
		return cli_bad_usage(v->cli, err,
				     "--service-account-max-token-expiration must be at least 1h");
	return 0;
}

/*
 * The soft limit on open files is often 1024, for programs that use select(2); the server raises
 * it to the hard limit. The store, logs and outgoing connections need files, too.
 */
static int64_t most_conns(const struct server_options *o)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return o->max_conns ? o->max_conns : INT32_MAX;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	if (o->max_conns || files.rlim_cur > INT32_MAX)
		return o->max_conns ? o->max_conns : INT32_MAX;
	return MAX((int64_t)files.rlim_cur * 3 / 4, 1);
}

static void read_limits(const struct server_options *o, struct server_opts *opts)
{
	int64_t conns = most_conns(o);

	opts->max_reading = o->max_reading ? o->max_reading : INT32_MAX;
	opts->max_writing = o->max_writing ? o->max_writing : INT32_MAX;
	opts->max_user_watches = o->max_user_watches ? o->max_user_watches : -1;
	opts->max_conns = conns;
	opts->max_strangers = o->max_strangers ? o->max_strangers
					       : MAX(MIN(conns / 4, (int64_t)STRANGERS_MAX), 1);
}

static int read_audit(struct serve *v, struct server_opts *opts, struct error *err)
{
	int r = server_audit_read(v->cli, &v->options->audit, &v->audit, err);

	if (r == 0 && (v->audit.path || v->audit.webhook_config))
		opts->audit = &v->audit;
	return r;
}

static int read_options(struct serve *v, struct server_opts *ret_opts, struct error *err)
{
	const struct server_options *o = v->options;
	struct error why;
	int r;

	*ret_opts = (struct server_opts){
		.data_dir = o->data_dir,
		.bind_address = o->bind_address,
		.secure_port = (int)o->secure_port,
		.cert_file = o->cert_file,
		.key_file = o->key_file,
		.client_ca_file = o->client_ca_file,
		.token_auth_file = o->token_auth_file,
		.no_anonymous = !o->anonymous,
		.no_ui = !o->ui,
		.no_kubeconfig = !o->kubeconfig,
		.service_account_issuers = (const char *const *)o->issuers.v,
		.nservice_account_issuers = o->issuers.n,
		.service_account_key_files = (const char *const *)o->key_files.v,
		.nservice_account_key_files = o->key_files.n,
		.service_account_signing_key_file = o->signing_key_file,
		.service_account_jwks_uri = o->jwks_uri,
		.api_audiences = (const char *const *)o->audiences.v,
		.napi_audiences = o->audiences.n,
		.token_max_s = o->token_max / CLOCK_SEC,
		.no_token_extension = !o->extend_tokens,
		.service_cluster_ip_ranges = (const char *const *)o->service_ranges.v,
		.nservice_cluster_ip_ranges = o->service_ranges.n,
		.service_node_port_range = o->node_ports,
		.advertise_address = o->advertise_address,
		.enable_admission_plugins = (const char *const *)o->enable_plugins.v,
		.nenable_admission_plugins = o->enable_plugins.n,
		.disable_admission_plugins = (const char *const *)o->disable_plugins.v,
		.ndisable_admission_plugins = o->disable_plugins.n,
		.admission_config_file = o->admission_config,
		.etcd_servers = (const char *const *)o->etcd_servers.v,
		.netcd_servers = o->etcd_servers.n,
		.etcd_ca_file = o->etcd_ca_file,
		.etcd_cert_file = o->etcd_cert_file,
		.etcd_key_file = o->etcd_key_file,
		.etcd_prefix = o->etcd_prefix,
		.kubelet_cert_file = o->kubelet_cert_file,
		.kubelet_key_file = o->kubelet_key_file,
		.kubelet_ca_file = o->kubelet_ca_file,
		.kubelet_names = o->kubelet_names,
		.kubelet_address_types = (const char *const *)o->kubelet_address_types.v,
		.nkubelet_address_types = o->kubelet_address_types.n,
		.node_address_ranges = (const char *const *)o->node_address_ranges.v,
		.nnode_address_ranges = o->node_address_ranges.n,
		.event_ttl_ms = o->event_ttl / CLOCK_MS,
		.history_ms = o->history / CLOCK_MS,
		.history_bytes = (size_t)o->history_bytes,
		.store_quota_bytes = o->quota_bytes,
		.store_journal = o->store_journal,
		.watch_cache_bytes = (size_t)o->watch_cache,
		.request_timeout_ms = o->request_timeout / CLOCK_MS,
		.min_request_timeout_ms = o->min_request_timeout * 1000,
		.no_fairness = !o->fairness,
	};
	read_limits(o, ret_opts);
	r = check_options(v, o, err);
	if (r == 0)
		r = read_audit(v, ret_opts, err);
	if (r < 0)
		return r;
	gates_init(&ret_opts->gates);
	for (size_t i = 0; i < o->feature_gates.n; i++) {
		if (gates_set(&ret_opts->gates, str_from(o->feature_gates.v[i]), &why) < 0)
			return cli_bad_usage(v->cli, err, "--feature-gates: %s", why.msg);
	}
	return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

static void server_on_stopped(void *arg)
{
	struct serve *v = arg;

	role_stop(&v->role);
}

static void server_on_stop(void *arg)
{
	struct serve *v = arg;

	server_stop(v->server, v->options->drain_timeout / CLOCK_MS, server_on_stopped, v);
}

static void on_ready(void *arg, const struct error *err)
{
	struct serve *v = arg;

	if (err) {
		v->failure = *err;
		server_on_stop(v);
		return;
	}
	/* For users and scripts: one block, printed once, when everything works. */
	(void)fprintf(v->cli->out, "devplane server is ready at https://%s\n",
		      server_address(v->server)->text);
	if (server_kubeconfig(v->server))
		(void)fprintf(v->cli->out, "  export KUBECONFIG=%s\n  kubectl get namespaces\n",
			      server_kubeconfig(v->server));
	(void)fflush(v->cli->out);
	role_ready(&v->role);
}

static int server_serve(struct serve *v, struct error *err)
{
	struct server_opts opts;
	int r;

	r = read_options(v, &opts, err);
	if (r == 0)
		r = take_explainer(v, &opts, err);
	if (r == 0)
		r = take_encryption(v->options, &opts, err);
	if (r < 0)
		return r;
	opts.loops = io_threads_loops(v->role.io);
	opts.nloops = io_threads_count(v->role.io);
	opts.spare_first = v->role.spared;
	opts.log = &v->role.log;
	opts.on_ready = on_ready;
	opts.arg = v;
	r = server_new(&opts, &v->server, &v->failure);
	if (r < 0)
		server_on_stop(v);
	r = role_run(&v->role, err);
	server_free(v->server);
	return r != 0 || v->failure.code == ERR_OK ? r : error_copy(err, &v->failure);
}

static int server_run(struct cli *cli, struct error *err)
{
	struct serve v = { .cli = cli, .options = cli->options };
	struct role_options role = v.options->role;
	int r;

	role.orders = true;
	r = role_init(&v.role, &role, server_on_stop, &v, err);
	if (r < 0)
		return r;
	r = server_serve(&v, err);
	role_release(&v.role);
	return r;
}

static const struct command_note files[] = {
	{ "DIR/admin.kubeconfig",
	  "an administrator's kubeconfig, written at every start; only its owner can read it" },
	{ "DIR/pki/", "certificates and keys of the cluster's CA and of service accounts' tokens" },
	{ "DIR/store/", "all objects, without etcd; see devplane store" },
	{ "/var/lib/devplane-server/", "the data folder of the systemd unit" },
	{ "/etc/default/devplane-server", "DEVPLANE_ARGS: more flags for the systemd unit" },
	{ NULL },
};

const struct command cmd_server = {
	.name = "server",
	.summary = "serve the Kubernetes API",
	.group = COMMAND_ROLE,
	.about = "An API server for kubectl, client libraries, drivers, schedulers and kubelets. "
		 "Objects are kept in the data folder, or in etcd. The first start creates a CA in "
		 "the data folder. Every start writes admin.kubeconfig, which grants all "
		 "rights.\n\n"
		 "An acknowledged write is durable. SIGTERM stops the server cleanly: watches end, "
		 "and running requests are answered.",
	.examples = "  devplane server --data-dir /var/lib/devplane\n"
		    "  devplane server --data-dir d --etcd-servers http://127.0.0.1:2379\n"
		    "  kubectl --kubeconfig d/admin.kubeconfig get namespaces\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct server_options),
	.run = server_run,
};

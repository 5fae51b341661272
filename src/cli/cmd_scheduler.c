/*
 * `devplane scheduler`: finds nodes for pods. Flags that kube-scheduler has keep its names and
 * meaning, and its configuration file is understood.
 */
#include "scheduler/scheduler.h"

#include "api/gates.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/metrics_process.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/endpoint.h"
#include "cli/role.h"
#include "client/kubeconfig.h"
#include "scheduler/config.h"

struct scheduler_options {
	struct role_options role;
	const char *kubeconfig, *context, *config, *metrics_address;
	struct flag_list feature_gates;
	bool leader_elect;
	const char *lease_name, *lease_namespace;
	int64_t lease_duration, renew_deadline, retry_period; /* ns; 0: the configuration's */
};

#define YEAR (365 * 86400 * CLOCK_SEC)

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct scheduler_options, kubeconfig), .arg = "FILE",
	  .help = "how to reach the API server; else the configuration's, $KUBECONFIG, "
		  "~/.kube/config or the pod's account" },
	{ "context", 0, FLAG_STRING(struct scheduler_options, context), .arg = "NAME",
	  .help = "context of the kubeconfig instead of its current one" },
	{ "config", 0, FLAG_STRING(struct scheduler_options, config), .arg = "FILE",
	  .help = "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): profiles, "
		  "plugins, shared objects to load" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct scheduler_options, metrics_address),
	  .arg = "ADDRESS", .initial = "127.0.0.1:10259",
	  .help = "where /healthz, /readyz, /metrics, /debug/cache and /debug/queue are; port 0 "
		  "picks one, \"0\" is nowhere" },
	{ "leader-elect", 0, FLAG_BOOL(struct scheduler_options, leader_elect), .initial = "true",
	  .help = "decide only while holding a lease, so that several may run" },
	{ "leader-elect-lease-duration", 0, FLAG_DURATION(struct scheduler_options, lease_duration),
	  .arg = "TIME", .max = YEAR,
	  .help = "others take over when the leader was not heard of for so long; 15s" },
	{ "leader-elect-renew-deadline", 0, FLAG_DURATION(struct scheduler_options, renew_deadline),
	  .arg = "TIME", .max = YEAR,
	  .help = "the leader gives up when it could not renew for so long; 10s" },
	{ "leader-elect-retry-period", 0, FLAG_DURATION(struct scheduler_options, retry_period),
	  .arg = "TIME", .max = YEAR, .help = "between two looks at the lease; 2s" },
	{ "leader-elect-resource-name", 0, FLAG_STRING(struct scheduler_options, lease_name),
	  .arg = "NAME",
	  .help = "name of the lease; kube-scheduler, so that ours and upstream's "
		  "take turns" },
	{ "leader-elect-resource-namespace", 0,
	  FLAG_STRING(struct scheduler_options, lease_namespace), .arg = "NAME",
	  .help = "namespace of the lease; kube-system" },
	{ "feature-gates", 0, FLAG_LIST(struct scheduler_options, feature_gates),
	  .arg = "NAME=BOOL", .help = "switch features on or off" },
	ROLE_FLAGS(struct scheduler_options, role),
	{ NULL },
};

struct schedule {
	struct cli *cli;
	const struct scheduler_options *options;
	struct role role;
	struct kubeconfig kubeconfig;
	struct config config;
	struct gates gates;
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: nowhere */
	struct scheduler *scheduler;
	char identity[ROLE_IDENTITY_SIZE];
	struct error failure; /* why it ended by itself */
	bool stopping;
};

/* --- options -------------------------------------------------------------------------------- */

static int read_config(struct schedule *v, struct error *err)
{
	const char *path = v->options->config;
	struct buf text;
	int r = 0;

	config_init(&v->config);
	if (!path)
		return 0;
	buf_init(&text, SCHEDULER_CONFIG_MAX);
	r = file_read(path, &text, err);
	if (r == 0)
		r = config_read(&v->config, buf_str(&text), err);
	buf_release(&text);
	return r < 0 ? error_wrap(err, r, "--config %s", path) : 0;
}

/* Flags win over the file. */
static void apply_flags(struct schedule *v)
{
	const struct scheduler_options *o = v->options;
	struct config *c = &v->config;

	c->leader_elect = c->leader_elect && o->leader_elect;
	if (o->lease_duration)
		c->lease_duration_ms = o->lease_duration / CLOCK_MS;
	if (o->renew_deadline)
		c->renew_deadline_ms = o->renew_deadline / CLOCK_MS;
	if (o->retry_period)
		c->retry_period_ms = o->retry_period / CLOCK_MS;
	if (o->lease_name)
		c->lease_name = str_from(o->lease_name);
	if (o->lease_namespace)
		c->lease_namespace = str_from(o->lease_namespace);
}

static int read_files(struct schedule *v, struct error *err)
{
	struct kubeconfig_opts k = { .path = v->options->kubeconfig,
				     .context = v->options->context };
	char *path = NULL;
	int r;

	r = read_config(v, err);
	if (r < 0)
		return r;
	apply_flags(v);
	if (!k.path && v->config.kubeconfig.n > 0)
		k.path = path = str_dup(v->config.kubeconfig);
	r = kubeconfig_load(&v->kubeconfig, &k, err);
	free(path);
	return r;
}

/* --- health --------------------------------------------------------------------------------- */

static int check_alive(void *arg, struct error *err)
{
	const struct schedule *v = arg;

	return v->scheduler ? scheduler_check(v->scheduler, err) : 0;
}

static int check_ready(void *arg, struct error *err)
{
	const struct schedule *v = arg;

	if (v->stopping || !v->scheduler)
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	return scheduler_check_ready(v->scheduler, err);
}

static const struct endpoint_check checks[] = {
	{ .name = "leaderElection", .run = check_alive },
	{ .name = "sched-handler-sync", .ready_only = true, .run = check_ready },
	{ NULL },
};

static void write_cache(void *arg, struct buf *out)
{
	const struct schedule *v = arg;

	if (v->scheduler)
		scheduler_dump_cache(v->scheduler, out);
}

static void write_queue(void *arg, struct buf *out)
{
	const struct schedule *v = arg;

	if (v->scheduler)
		scheduler_dump_queue(v->scheduler, out);
}

static const struct endpoint_page pages[] = {
	{ "/debug/cache", write_cache },
	{ "/debug/queue", write_queue },
	{ NULL },
};

/* --- life ----------------------------------------------------------------------------------- */

/* Connections give their memory back in the loop's next turn. */
static void on_silent(void *arg)
{
	struct schedule *v = arg;

	scheduler_free(TAKE(v->scheduler));
	role_stop_soon(&v->role);
}

static void on_stopped(void *arg)
{
	struct schedule *v = arg;

	endpoint_stop(v->endpoint, on_silent, v);
}

static void on_stop(void *arg)
{
	struct schedule *v = arg;

	if (v->stopping)
		return;
	v->stopping = true;
	if (v->scheduler)
		scheduler_stop(v->scheduler, on_stopped, v);
	else
		on_stopped(v);
}

static void on_lost(void *arg, const struct error *why)
{
	struct schedule *v = arg;

	v->failure = *why;
	on_stop(v);
}

static int start(struct schedule *v, struct error *err)
{
	struct scheduler_opts s = { .loop = v->role.loop,
				    .kubeconfig = &v->kubeconfig,
				    .config = &v->config,
				    .gates = &v->gates,
				    .identity = v->identity,
				    .metrics = v->metrics,
				    .log = &v->role.log,
				    .on_lost = on_lost,
				    .arg = v };
	struct endpoint_opts e = { .loop = v->role.loop,
				   .address = v->options->metrics_address,
				   .checks = checks,
				   .pages = pages,
				   .arg = v,
				   .metrics = v->metrics };
	int r;

	r = role_gates(v->cli, &v->options->feature_gates, &v->gates, err);
	if (r == 0)
		r = read_files(v, err);
	if (r == 0 && strcmp(e.address, "0") != 0)
		r = endpoint_new(&e, &v->endpoint, err);
	if (r < 0)
		return r;
	return scheduler_new(&s, &v->scheduler, err);
}

static void announce(struct schedule *v)
{
	(void)fprintf(v->cli->out, "devplane scheduler runs for %.*s\n",
		      STR_ARG(v->kubeconfig.server));
	if (v->endpoint)
		(void)fprintf(v->cli->out, "  health and metrics at http://%s\n",
			      endpoint_address(v->endpoint)->text);
	(void)fflush(v->cli->out);
	role_ready(&v->role);
}

static int schedule(struct schedule *v, struct error *err)
{
	int r;

	r = start(v, &v->failure);
	if (r < 0)
		on_stop(v);
	else
		announce(v);
	r = role_run(&v->role, err);
	if (r == 0 && v->failure.code != ERR_OK) {
		*err = v->failure;
		r = -(int)v->failure.code;
	}
	return r;
}

static void release(struct schedule *v)
{
	endpoint_free(v->endpoint);
	metrics_free(v->metrics);
	kubeconfig_release(&v->kubeconfig);
	config_release(&v->config);
}

static int run(struct cli *cli, struct error *err)
{
	struct schedule v = { .cli = cli, .options = cli->options };
	int r;

	r = role_init(&v.role, &v.options->role, on_stop, &v, err);
	if (r < 0)
		return r;
	v.metrics = metrics_new();
	(void)metrics_process_register(v.metrics, NULL);
	role_identity(v.identity);
	r = schedule(&v, err);
	release(&v);
	role_release(&v.role);
	return r;
}

static const struct command_note files[] = {
	{ "/etc/devplane/scheduler.kubeconfig", "the kubeconfig of the systemd unit" },
	{ "/etc/default/devplane-scheduler", "DEVPLANE_ARGS: more flags for the systemd unit" },
	{ NULL },
};

const struct command cmd_scheduler = {
	.name = "scheduler",
	.summary = "find nodes for pods, with and without device claims",
	.group = COMMAND_ROLE,
	.about = "A scheduler for an API server, ours or kube-apiserver. It reads kube-scheduler's "
		 "configuration file and takes its place: profiles, plugins and their arguments, "
		 "preemption, device claims, volumes. Plugins of your own are shared objects that "
		 "the file names; see docs/scheduler-plugins.md. Several may run: the one that "
		 "holds the lease decides, the others keep their caches warm.\n\n"
		 "SIGTERM stops it in order and gives the lease back. It ends with a failure when "
		 "it loses the lease.",
	.examples = "  devplane scheduler --kubeconfig d/admin.kubeconfig\n"
		    "  devplane scheduler --kubeconfig d/admin.kubeconfig --config scheduler.yaml\n"
		    "  curl -s http://127.0.0.1:10259/debug/cache\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct scheduler_options),
	.run = run,
};

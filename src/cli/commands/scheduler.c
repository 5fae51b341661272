/*
 * `devplane scheduler`: assigns pods to nodes. Flags that kube-scheduler has keep its names and
 * meaning, and its configuration file is supported.
 */
#include "scheduler/run/scheduler.h"

#include "api/schema/gates.h"
#include "base/core/clock.h"
#include "base/system/file.h"
#include "cli/cli_limits.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/elected_role.h"
#include "scheduler/config/config.h"

struct scheduler_options {
	struct role_options role;
	struct endpoint_guard_options guard;
	const char *kubeconfig, *context, *config, *metrics_address;
	struct flag_list feature_gates;
	bool leader_elect;
	const char *lease_name, *lease_namespace;
	int64_t lease_duration, renew_deadline, retry_period; /* ns; 0: the configuration's */
};

#define YEAR (365 * 86400 * CLOCK_SEC)

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct scheduler_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default the one in --config, $KUBECONFIG, "
		  "~/.kube/config or the pod's service account" },
	{ "context", 0, FLAG_STRING(struct scheduler_options, context), .arg = "NAME",
	  .help = "kubeconfig context to use instead of the current one" },
	{ "config", 0, FLAG_STRING(struct scheduler_options, config), .arg = "FILE",
	  .help = "a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): profiles, "
		  "plugins, shared objects to load" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct scheduler_options, metrics_address),
	  .arg = "ADDRESS", .initial = "127.0.0.1:10259",
	  .help = "address that serves /healthz, /readyz, /metrics, /debug/cache and /debug/queue; "
		  "port 0 picks a free one, \"0\" disables it" },
	{ "leader-elect", 0, FLAG_BOOL(struct scheduler_options, leader_elect), .initial = "true",
	  .help = "schedule only while holding a lease, so that several schedulers can run" },
	{ "leader-elect-lease-duration", 0, FLAG_DURATION(struct scheduler_options, lease_duration),
	  .arg = "TIME", .max = YEAR,
	  .help = "time without a renewal after which others take over the lease; default 15s" },
	{ "leader-elect-renew-deadline", 0, FLAG_DURATION(struct scheduler_options, renew_deadline),
	  .arg = "TIME", .max = YEAR,
	  .help = "time without a successful renewal after which the leader exits; default 10s" },
	{ "leader-elect-retry-period", 0, FLAG_DURATION(struct scheduler_options, retry_period),
	  .arg = "TIME", .max = YEAR,
	  .help = "interval between attempts to get or renew the lease; default 2s" },
	{ "leader-elect-resource-name", 0, FLAG_STRING(struct scheduler_options, lease_name),
	  .arg = "NAME",
	  .help = "name of the lease; default kube-scheduler, so that it excludes upstream's "
		  "scheduler" },
	{ "leader-elect-resource-namespace", 0,
	  FLAG_STRING(struct scheduler_options, lease_namespace), .arg = "NAME",
	  .help = "namespace of the lease; default kube-system" },
	{ "feature-gates", 0, FLAG_LIST(struct scheduler_options, feature_gates),
	  .arg = "NAME=BOOL", .help = "switch features on or off" },
	ENDPOINT_GUARD_FLAGS(struct scheduler_options, guard),
	ROLE_FLAGS(struct scheduler_options, role),
	{ NULL },
};

struct schedule {
	struct cli *cli;
	const struct scheduler_options *options;
	struct elected_role frame;
	struct config config;
	struct gates gates;
	struct scheduler *scheduler; /* NULL: not started */
};

/* --- options -------------------------------------------------------------------------------- */

static int read_config(struct schedule *v, struct error *err)
{
	const char *path = v->options->config;
	struct buf text;
	int r = 0;

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
	r = kubeconfig_load(&v->frame.kubeconfig, &k, err);
	free(path);
	return r;
}

/* --- pages ---------------------------------------------------------------------------------- */

/* The endpoint's pages get the elected_role as argument, from which this finds the command. */
static const struct schedule *of_frame(const void *frame)
{
	return CONTAINER_OF(frame, const struct schedule, frame);
}

static void write_cache(void *arg, struct buf *out)
{
	const struct schedule *v = of_frame(arg);

	if (v->scheduler)
		scheduler_dump_cache(v->scheduler, out);
}

static void write_queue(void *arg, struct buf *out)
{
	const struct schedule *v = of_frame(arg);

	if (v->scheduler)
		scheduler_dump_queue(v->scheduler, out);
}

static const struct endpoint_page pages[] = {
	{ "/debug/cache", write_cache },
	{ "/debug/queue", write_queue },
	{ NULL },
};

/* --- life ----------------------------------------------------------------------------------- */

static int scheduler_read_all(void *arg, struct error *err)
{
	struct schedule *v = arg;
	int r = role_gates(v->cli, &v->options->feature_gates, &v->gates, err);

	return r < 0 ? r : read_files(v, err);
}

static int scheduler_start(void *arg, struct error *err)
{
	struct schedule *v = arg;
	struct scheduler_opts s = { .loop = v->frame.role.loop,
				    .kubeconfig = &v->frame.kubeconfig,
				    .config = &v->config,
				    .gates = &v->gates,
				    .identity = v->frame.identity,
				    .metrics = v->frame.metrics,
				    .log = &v->frame.role.log,
				    .on_lost = elected_role_lost,
				    .arg = &v->frame };

	return scheduler_new(&s, &v->scheduler, err);
}

static int commands_scheduler_check(void *arg, struct error *err)
{
	return scheduler_check(((const struct schedule *)arg)->scheduler, err);
}

static int commands_scheduler_check_ready(void *arg, struct error *err)
{
	return scheduler_check_ready(((const struct schedule *)arg)->scheduler, err);
}

static void commands_scheduler_stop(void *arg, void (*done)(void *arg), void *done_arg)
{
	scheduler_stop(((struct schedule *)arg)->scheduler, done, done_arg);
}

static void free_all(void *arg)
{
	scheduler_free(TAKE(((struct schedule *)arg)->scheduler));
}

static const struct elected_role_ops ops = {
	.name = "scheduler",
	.ready_check = "sched-handler-sync",
	.pages = pages,
	.read = scheduler_read_all,
	.start = scheduler_start,
	.check = commands_scheduler_check,
	.check_ready = commands_scheduler_check_ready,
	.stop = commands_scheduler_stop,
	.free = free_all,
};

static int scheduler_run(struct cli *cli, struct error *err)
{
	struct schedule v = { .cli = cli, .options = cli->options };
	struct elected_role_serving serving = { v.options->metrics_address, &v.options->guard };
	int r;

	config_init(&v.config);
	r = elected_role_run(&v.frame, cli, &v.options->role, &serving, &ops, &v, err);
	config_release(&v.config);
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
	.about = "A scheduler for a devplane server or kube-apiserver. It replaces kube-scheduler "
		 "and reads its configuration file: profiles, plugins and their arguments, "
		 "preemption, device claims, volumes. Your own plugins are shared objects that the "
		 "file names; see docs/scheduler-plugins.md. You can run several: the one that "
		 "holds the lease schedules, the others keep their caches up to date.\n\n"
		 "SIGTERM stops it cleanly and releases the lease. If it loses the lease, it exits "
		 "with an error.",
	.examples = "  devplane scheduler --kubeconfig d/admin.kubeconfig\n"
		    "  devplane scheduler --kubeconfig d/admin.kubeconfig --config scheduler.yaml\n"
		    "  curl -s http://127.0.0.1:10259/debug/cache\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct scheduler_options),
	.run = scheduler_run,
};

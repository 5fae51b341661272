/*
 * `devplane controller`: namespaces, garbage collection, service accounts, pods' claims, Jobs,
 * `devplane controller`: namespaces, garbage collection, service accounts, pods' claims, nodes,
 * availability of devices, network endpoints. Flags that kube-controller-manager has keep its
 * names and meaning.
 */
#include "controller/run/controller.h"

#include "api/schema/gates.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/system/file.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/elected_role.h"
#include "net/net_limits.h"

struct controller_options {
	struct role_options role;
	struct endpoint_guard_options guard;
	const char *kubeconfig, *context, *metrics_address, *root_ca_file;
	struct flag_list feature_gates, controllers;
	bool leader_elect;
	const char *lease_name, *lease_namespace;
	int64_t lease_duration, renew_deadline, retry_period; /* ns */
	int64_t namespace_syncs, gc_syncs, claim_syncs, slice_syncs, taint_syncs, qps, burst;
	int64_t deployment_syncs, replica_set_syncs;
	int64_t namespace_sync_period, namespace_delay, gc_sync_period; /* ns */
	int64_t taint_after, taint_clear_after; /* ns */
	int64_t taint_percent;
	int64_t node_grace, node_startup_grace; /* ns */
	int64_t node_taint_syncs, large_cluster, finished_pods, pod_quarantine /* ns */;
	const char *eviction_rate, *secondary_rate, *unhealthy_zone;
};

#define YEAR (365 * 86400 * CLOCK_SEC)

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct controller_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account" },
	{ "context", 0, FLAG_STRING(struct controller_options, context), .arg = "NAME",
	  .help = "kubeconfig context to use instead of the current one" },
	{ "controllers", 0, FLAG_LIST(struct controller_options, controllers), .arg = "NAME",
	  .help = "controllers to run: NAME, -NAME to leave one out, * for all that are on by "
		  "default" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct controller_options, metrics_address),
	  .arg = "ADDRESS", .initial = "127.0.0.1:10257",
	  .help = "address that serves /healthz, /readyz and /metrics; port 0 picks a free one, "
		  "\"0\" disables it" },
	{ "leader-elect", 0, FLAG_BOOL(struct controller_options, leader_elect), .initial = "true",
	  .help = "work only while holding a lease, so that several controllers can run" },
	{ "leader-elect-lease-duration", 0,
	  FLAG_DURATION(struct controller_options, lease_duration), .arg = "TIME", .initial = "15s",
	  .min = CLOCK_SEC, .max = YEAR,
	  .help = "time without a renewal after which others take over the lease" },
	{ "leader-elect-renew-deadline", 0,
	  FLAG_DURATION(struct controller_options, renew_deadline), .arg = "TIME", .initial = "10s",
	  .min = CLOCK_MS, .max = YEAR,
	  .help = "time without a successful renewal after which the leader exits" },
	{ "leader-elect-retry-period", 0, FLAG_DURATION(struct controller_options, retry_period),
	  .arg = "TIME", .initial = "2s", .min = CLOCK_MS, .max = YEAR,
	  .help = "interval between attempts to get or renew the lease" },
	{ "leader-elect-resource-name", 0, FLAG_STRING(struct controller_options, lease_name),
	  .arg = "NAME", .initial = "devplane-controller", .help = "name of the lease" },
	{ "leader-elect-resource-namespace", 0,
	  FLAG_STRING(struct controller_options, lease_namespace), .arg = "NAME",
	  .initial = "kube-system", .help = "namespace of the lease" },
	{ "root-ca-file", 0, FLAG_STRING(struct controller_options, root_ca_file), .arg = "FILE",
	  .help = "CA to publish as kube-root-ca.crt in every namespace; default the "
		  "kubeconfig's" },
	{ "concurrent-namespace-syncs", 0, FLAG_INT(struct controller_options, namespace_syncs),
	  .arg = "COUNT", .initial = "10", .min = 1, .max = 1000,
	  .help = "namespaces to empty in parallel" },
	{ "namespace-sync-period", 0,
	  FLAG_DURATION(struct controller_options, namespace_sync_period), .arg = "TIME",
	  .initial = "5m", .min = CLOCK_SEC, .max = YEAR,
	  .help = "interval between checks of every namespace" },
	{ "namespace-deletion-delay", 0, FLAG_DURATION(struct controller_options, namespace_delay),
	  .arg = "TIME", .initial = "5s", .max = YEAR,
	  .help = "delay between a namespace's deletion and deleting its objects; 0s is safe with "
		  "one API server" },
	{ "concurrent-gc-syncs", 0, FLAG_INT(struct controller_options, gc_syncs), .arg = "COUNT",
	  .initial = "20", .min = 1, .max = 1000,
	  .help = "objects to garbage-collect in parallel" },
	{ "gc-sync-period", 0, FLAG_DURATION(struct controller_options, gc_sync_period),
	  .arg = "TIME", .initial = "30s", .min = CLOCK_SEC, .max = YEAR,
	  .help = "interval between discoveries of the server's resources" },
	{ "concurrent-resourceclaim-syncs", 0, FLAG_INT(struct controller_options, claim_syncs),
	  .arg = "COUNT", .initial = "50", .min = 1, .max = 1000,
	  .help = "pods and claims to process in parallel" },
	{ "concurrent-deployment-syncs", 0, FLAG_INT(struct controller_options, deployment_syncs),
	  .arg = "COUNT", .initial = "5", .min = 1, .max = 1000,
	  .help = "Deployments to process in parallel" },
	{ "concurrent-replicaset-syncs", 0, FLAG_INT(struct controller_options, replica_set_syncs),
	  .arg = "COUNT", .initial = "5", .min = 1, .max = 1000,
	  .help = "ReplicaSets to process in parallel" },
	{ "concurrent-resourceslice-status-syncs", 0,
	  FLAG_INT(struct controller_options, slice_syncs), .arg = "COUNT", .initial = "32",
	  .min = 1, .max = 1000, .help = "ResourceSlice statuses to write in parallel" },
	{ "concurrent-device-taint-eviction-syncs", 0,
	  FLAG_INT(struct controller_options, taint_syncs), .arg = "COUNT", .initial = "8",
	  .min = 1, .max = 1000,
	  .help = "pod evictions and DeviceTaintRule status updates to run in parallel" },
	{ "kube-api-qps", 0, FLAG_INT(struct controller_options, qps), .arg = "COUNT",
	  .initial = "5000", .min = 0, .max = 1000000,
	  .help = "requests per second to the API server; 0: no limit" },
	{ "kube-api-burst", 0, FLAG_INT(struct controller_options, burst), .arg = "COUNT",
	  .initial = "10000", .min = 1, .max = 1000000,
	  .help = "requests allowed in a burst above --kube-api-qps" },
	{ "device-health-taint-after", 0, FLAG_DURATION(struct controller_options, taint_after),
	  .arg = "TIME", .initial = "10s", .min = CLOCK_MS, .max = YEAR,
	  .help = "device-health-taints: taint a device after it has been unhealthy for this "
		  "long" },
	{ "device-health-taint-clear-after", 0,
	  FLAG_DURATION(struct controller_options, taint_clear_after), .arg = "TIME",
	  .initial = "1m", .min = CLOCK_MS, .max = YEAR,
	  .help = "remove the taint after the device has been healthy for this long" },
	{ "device-health-taint-percent", 0, FLAG_INT(struct controller_options, taint_percent),
	  .arg = "PERCENT", .initial = "50", .min = 1, .max = 100,
	  .help = "maximum share of a pool's devices to taint, in percent; at least one device" },
	{ "node-monitor-grace-period", 0, FLAG_DURATION(struct controller_options, node_grace),
	  .arg = "TIME", .initial = "50s", .min = CLOCK_SEC, .max = YEAR,
	  .help = "time without a heartbeat after which a node's state is Unknown" },
	{ "node-startup-grace-period", 0,
	  FLAG_DURATION(struct controller_options, node_startup_grace), .arg = "TIME",
	  .initial = "1m", .min = CLOCK_SEC, .max = YEAR,
	  .help = "the same for a node that has not posted its status yet" },
	{ "node-eviction-rate", 0, FLAG_STRING(struct controller_options, eviction_rate),
	  .arg = "RATE", .initial = "0.1",
	  .help = "nodes per second and zone whose pods may be evicted because the node is lost" },
	{ "secondary-node-eviction-rate", 0, FLAG_STRING(struct controller_options, secondary_rate),
	  .arg = "RATE", .initial = "0.01",
	  .help = "the same for an unhealthy zone with more than --large-cluster-size-threshold "
		  "nodes; smaller ones have 0" },
	{ "unhealthy-zone-threshold", 0, FLAG_STRING(struct controller_options, unhealthy_zone),
	  .arg = "SHARE", .initial = "0.55",
	  .help = "share of nodes that are not ready, at least 3, that makes a zone unhealthy" },
	{ "large-cluster-size-threshold", 0, FLAG_INT(struct controller_options, large_cluster),
	  .arg = "COUNT", .initial = "50", .min = 0, .max = 1000000,
	  .help = "number of nodes above which a zone is large" },
	{ "concurrent-taint-eviction-syncs", 0,
	  FLAG_INT(struct controller_options, node_taint_syncs), .arg = "COUNT", .initial = "8",
	  .min = 1, .max = 1000, .help = "pods to evict from tainted nodes in parallel" },
	{ "terminated-pod-gc-threshold", 0, FLAG_INT(struct controller_options, finished_pods),
	  .arg = "COUNT", .initial = "12500", .min = 0, .max = 100000000,
	  .help = "finished pods to keep; the oldest of more are deleted; 0: keep all" },
	{ "orphaned-pod-quarantine", 0, FLAG_DURATION(struct controller_options, pod_quarantine),
	  .arg = "TIME", .initial = "40s", .min = CLOCK_MS, .max = YEAR,
	  .help = "time for which a node must be missing before its pods are deleted" },
	{ "feature-gates", 0, FLAG_LIST(struct controller_options, feature_gates),
	  .arg = "NAME=BOOL", .help = "switch features on or off" },
	ENDPOINT_GUARD_FLAGS(struct controller_options, guard),
	ROLE_FLAGS(struct controller_options, role),
	{ NULL },
};

struct control {
	struct cli *cli;
	const struct controller_options *options;
	struct elected_role frame;
	struct controller *controller;
	struct controller_opts opts;
	struct buf root_ca;
};

/* --- options --------------------------------------------------------------------------------- */

/*
 * "*,-x" and "x,y". An empty list, or "*", starts with the default parts; names add to it, and
 * names with a minus remove, in any order.
 */
static int read_parts(struct control *v, unsigned *ret_parts, struct error *err)
{
	const struct flag_list *list = &v->options->controllers;
	unsigned on = 0, off = 0;
	bool all = list->n == 0;

	for (size_t i = 0; i < list->n; i++) {
		struct str name = str_from(list->v[i]);
		bool minus = str_starts(name, STR("-"));
		unsigned part;

		if (str_eq(name, STR("*"))) {
			all = true;
			continue;
		}
		part = controller_part_find(str_skip(name, minus ? 1 : 0));
		if (part == 0)
			return cli_bad_usage(v->cli, err,
					     "--controllers: \"%s\" is not one of them",
					     list->v[i]);
		if (minus)
			off |= part;
		else
			on |= part;
	}
	*ret_parts = ((all ? (unsigned)CONTROLLER_ALL : 0) | on) & ~off;
	if (*ret_parts == 0)
		return cli_bad_usage(v->cli, err, "--controllers selects no controller");
	return 0;
}

/* A part whose gate is off does not run, whether it was enabled by name or by default. */
static unsigned gated_parts(unsigned parts, const struct gates *gates)
{
	if (!gates_on(gates, GATE_DRAResourceAvailabilityVisibility))
		parts &= ~(unsigned)CONTROLLER_SLICE_STATUS;
	if (!gates_on(gates, GATE_DRAResourcePoolStatus))
		parts &= ~(unsigned)CONTROLLER_POOL_REQUESTS;
	if (!gates_on(gates, GATE_DRADeviceTaints))
		parts &= ~(unsigned)(CONTROLLER_TAINT_EVICTION | CONTROLLER_HEALTH_TAINTS);
	return parts;
}

static int read_files(struct control *v, struct error *err)
{
	const struct controller_options *o = v->options;
	struct kubeconfig_opts k = { .path = o->kubeconfig, .context = o->context };
	int r;

	r = kubeconfig_load(&v->frame.kubeconfig, &k, err);
	if (r == 0 && o->root_ca_file)
		r = file_read(o->root_ca_file, &v->root_ca, err);
	return r;
}

/* A decimal number from 0 to `max`; none is written as a negative one, which means 0. */
static int read_rate(struct control *v, const char *flag, const char *text, double max,
		     double *ret_rate, struct error *err)
{
	struct json *number = NULL;
	struct arena a;
	double rate = -1;
	bool ok;

	arena_init(&a, KIB);
	ok = json_parse(&a, str_from(text), NULL, &number, NULL) == 0 && json_f64(number, &rate) &&
	     rate >= 0 && rate <= max;
	arena_release(&a);
	if (!ok)
		return cli_bad_usage(v->cli, err, "%s: \"%s\" is not a number from 0 to %g", flag,
				     text, max);
	*ret_rate = rate > 0 ? rate : -1;
	return 0;
}

static int read_rates(struct control *v, struct error *err)
{
	const struct controller_options *o = v->options;
	struct node_lifecycle_opts *to = &v->opts.node_lifecycle;
	int r = read_rate(v, "--node-eviction-rate", o->eviction_rate, 1e6, &to->rate, err);

	if (r == 0)
		r = read_rate(v, "--secondary-node-eviction-rate", o->secondary_rate, 1e6,
			      &to->secondary_rate, err);
	if (r == 0)
		r = read_rate(v, "--unhealthy-zone-threshold", o->unhealthy_zone, 1, &to->unhealthy,
			      err);
	return r;
}

/* --- life ------------------------------------------------------------------------------------ */

static void set_node_opts(struct control *v, const struct node_lifecycle_opts *rates)
{
	const struct controller_options *o = v->options;

	v->opts.node_lifecycle = *rates;
	v->opts.node_lifecycle.grace_ms = o->node_grace / CLOCK_MS;
	v->opts.node_lifecycle.startup_grace_ms = o->node_startup_grace / CLOCK_MS;
	v->opts.node_lifecycle.large = (size_t)o->large_cluster;
	v->opts.node_taints_workers = (unsigned)o->node_taint_syncs;
	v->opts.pod_garbage = (struct pod_garbage_opts){
		.threshold = o->finished_pods ? o->finished_pods : -1,
		.quarantine_ms = o->pod_quarantine / CLOCK_MS,
	};
}

static int controller_read_all(void *arg, struct error *err)
{
	struct control *v = arg;
	struct gates gates;
	int r = read_parts(v, &v->opts.parts, err);

	if (r == 0)
		r = read_rates(v, err);
	if (r == 0)
		r = role_gates(v->cli, &v->options->feature_gates, &gates, err);
	if (r == 0)
		r = read_files(v, err);
	if (r < 0)
		return r;
	v->opts.parts = gated_parts(v->opts.parts, &gates);
	if (v->opts.parts == 0)
		return cli_bad_usage(v->cli, err,
				     "--controllers selects only controllers that --feature-gates "
				     "disables");
	return 0;
}

static int controller_start(void *arg, struct error *err)
{
	struct control *v = arg;
	const struct controller_options *o = v->options;
	struct node_lifecycle_opts rates = v->opts.node_lifecycle;

	v->opts = (struct controller_opts){
		.loop = v->frame.role.loop,
		.kubeconfig = &v->frame.kubeconfig,
		.parts = v->opts.parts,
		.root_ca = buf_str(&v->root_ca),
		.qps = (double)o->qps,
		.burst = (double)o->burst,
		.no_election = !o->leader_elect,
		.identity = v->frame.identity,
		.lease_namespace = o->lease_namespace,
		.lease_name = o->lease_name,
		.lease_duration_ms = o->lease_duration / CLOCK_MS,
		.renew_deadline_ms = o->renew_deadline / CLOCK_MS,
		.retry_period_ms = o->retry_period / CLOCK_MS,
		.namespaces = { .workers = (unsigned)o->namespace_syncs,
				.delay_ms = o->namespace_delay ? o->namespace_delay / CLOCK_MS : -1,
				.resync_ms = o->namespace_sync_period / CLOCK_MS },
		.garbage = { .workers = (unsigned)o->gc_syncs,
			     .sync_period_ms = o->gc_sync_period / CLOCK_MS },
		.claims = { .workers = (unsigned)o->claim_syncs },
		.slice_status_workers = (unsigned)o->slice_syncs,
		.taint_eviction_workers = (unsigned)o->taint_syncs,
		.deployment_workers = (unsigned)o->deployment_syncs,
		.replica_set_workers = (unsigned)o->replica_set_syncs,
		.health_taints = { .after_ms = o->taint_after / CLOCK_MS,
				   .clear_ms = o->taint_clear_after / CLOCK_MS,
				   .percent = (unsigned)o->taint_percent },
		.metrics = v->frame.metrics,
		.log = &v->frame.role.log,
		.on_lost = elected_role_lost,
		.arg = &v->frame,
	};
	set_node_opts(v, &rates);
	return controller_new(&v->opts, &v->controller, err);
}

static int commands_controller_check(void *arg, struct error *err)
{
	return controller_check(((const struct control *)arg)->controller, err);
}

static int commands_controller_check_ready(void *arg, struct error *err)
{
	return controller_check_ready(((const struct control *)arg)->controller, err);
}

static void commands_controller_stop(void *arg, void (*done)(void *arg), void *done_arg)
{
	controller_stop(((struct control *)arg)->controller, done, done_arg);
}

static void free_all(void *arg)
{
	controller_free(((struct control *)arg)->controller);
}

static const struct elected_role_ops ops = {
	.name = "controller",
	.ready_check = "informer-sync",
	.read = controller_read_all,
	.start = controller_start,
	.check = commands_controller_check,
	.check_ready = commands_controller_check_ready,
	.stop = commands_controller_stop,
	.free = free_all,
};

static int controller_run(struct cli *cli, struct error *err)
{
	struct control v = { .cli = cli,
			     .options = cli->options,
			     .root_ca = BUF_INIT(PEM_FILE_MAX) };
	struct elected_role_serving serving = { v.options->metrics_address, &v.options->guard };
	int r = elected_role_run(&v.frame, cli, &v.options->role, &serving, &ops, &v, err);

	buf_release(&v.root_ca);
	return r;
}

static const struct command_note files[] = {
	{ "/etc/devplane/controller.kubeconfig", "the kubeconfig of the systemd unit" },
	{ "/etc/default/devplane-controller", "DEVPLANE_ARGS: more flags for the systemd unit" },
	{ NULL },
};

const struct command cmd_controller = {
	.name = "controller",
	.summary = "run controllers: namespaces, garbage collection, accounts, claims",
	.group = COMMAND_ROLE,
	.about =
		"Controllers for a devplane server or kube-apiserver. They empty deleted "
		"namespaces, delete objects whose owners are gone, give every namespace its "
		"default ServiceAccount and kube-root-ca.crt, create claims of pods from "
		"templates, release unused claims, taint nodes that are lost and evict their pods, "
		"and publish in ResourceSlices which devices are free. You can run several: only "
		"the one that holds the lease works.\n\n"
		"SIGTERM stops it cleanly and releases the lease. If it loses the lease, it exits "
		"with an error.",
	.examples =
		"  devplane controller --kubeconfig d/admin.kubeconfig\n"
		"  devplane controller --kubeconfig d/admin.kubeconfig --leader-elect=false \\\n"
		"    --controllers '*,-garbage-collector-controller'\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct controller_options),
	.run = controller_run,
};

/*
 * `devplane driver sim`: the simulated vendor of drivers/vendor.h as a role; its subcommands are in
 * cmd_driver_control.c.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/metrics.h"
#include "base/metrics_process.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/endpoint.h"
#include "cli/role.h"
#include "drivers/vendor.h"
#include "drivers/vendor_control.h"

struct sim_options {
	struct role_options role;
	const char *kubeconfig, *node_name, *root_dir, *cdi_dir, *name, *mode, *kind, *resource;
	const char *dialect, *instance, *metrics_address;
	int64_t devices, numa_nodes;
	int64_t timeout, heartbeat; /* ns */
	bool no_taint, no_health;
};

#define DAY (86400 * CLOCK_SEC)

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct sim_options, kubeconfig), .arg = "FILE",
	  .help = "how to reach the API server; else $KUBECONFIG, ~/.kube/config or the pod's "
		  "account; not needed with --mode plugin" },
	{ "node-name", 0, FLAG_STRING(struct sim_options, node_name), .arg = "NAME",
	  .help = "the Node that has the devices; required with --mode dra" },
	{ "root-dir", 0, FLAG_STRING(struct sim_options, root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet", .help = "folder of the kubelet, or of devplane node" },
	{ "cdi-dir", 0, FLAG_STRING(struct sim_options, cdi_dir), .arg = "DIR",
	  .initial = "/var/run/cdi", .help = "where CDI files are written" },
	{ "mode", 0, FLAG_STRING(struct sim_options, mode), .choices = "dra|plugin",
	  .initial = "dra", .help = "a DRA driver, or a device plugin" },
	{ "kind", 0, FLAG_STRING(struct sim_options, kind), .choices = "gpu|nic|fpga",
	  .initial = "gpu", .help = "what to simulate" },
	{ "devices", 0, FLAG_INT(struct sim_options, devices), .arg = "COUNT", .initial = "4",
	  .min = 1, .max = DRIVER_DEVICES_MAX, .help = "how many" },
	{ "numa-nodes", 0, FLAG_INT(struct sim_options, numa_nodes), .arg = "COUNT", .initial = "1",
	  .min = 1, .max = 1024, .help = "NUMA nodes that they are spread over" },
	{ "name", 0, FLAG_STRING(struct sim_options, name), .arg = "DRIVER",
	  .help = "the driver's name; KIND.sim.devplane.dev if not given" },
	{ "resource", 0, FLAG_STRING(struct sim_options, resource), .arg = "NAME",
	  .help = "--mode plugin: the extended resource; sim.devplane.dev/KIND if not given" },
	{ "instance", 0, FLAG_STRING(struct sim_options, instance), .arg = "UID",
	  .help = "rolling update: something that no other instance of the driver has" },
	{ "health-timeout", 0, FLAG_DURATION(struct sim_options, timeout), .arg = "TIME",
	  .initial = "30s", .min = CLOCK_SEC, .max = DAY,
	  .help = "a report is good for so long, in whole seconds" },
	{ "health-heartbeat", 0, FLAG_DURATION(struct sim_options, heartbeat), .arg = "TIME",
	  .initial = "0s", .max = DAY,
	  .help = "between reports without news; 0s: a third of --health-timeout" },
	{ "no-health", 0, FLAG_BOOL(struct sim_options, no_health),
	  .help = "have no health service at all" },
	{ "dialect", 0, FLAG_STRING(struct sim_options, dialect),
	  .choices = "all|v1|v1alpha1|nodehealth", .initial = "all",
	  .help = "which health service to offer" },
	{ "no-taint", 0, FLAG_BOOL(struct sim_options, no_taint),
	  .help = "do not taint failed devices in their ResourceSlice" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct sim_options, metrics_address),
	  .arg = "ADDRESS", .initial = "127.0.0.1:0",
	  .help = "where /healthz, /readyz and /metrics are; port 0 picks one, \"0\" is nowhere" },
	ROLE_FLAGS(struct sim_options, role),
	{ NULL },
};

struct driver_sim {
	struct cli *cli;
	const struct sim_options *options;
	struct role role;
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: nowhere */
	struct vendor *vendor;
	struct vendor_control *control;
	struct error failure; /* why it did not start */
	bool stopping;
};

/* --- health ------------------------------------------------------------------------------- */

static int check_ready(void *arg, struct error *err)
{
	const struct driver_sim *v = arg;

	if (v->stopping || !v->vendor)
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	return vendor_check(v->vendor, err);
}

static const struct endpoint_check checks[] = {
	{ .name = "resourceslices", .ready_only = true, .run = check_ready },
	{ NULL },
};

/* --- end ---------------------------------------------------------------------------------- */

static void on_silent(void *arg)
{
	struct driver_sim *v = arg;

	endpoint_free(TAKE(v->endpoint));
	role_stop_soon(&v->role);
}

static void on_vendor_stopped(void *arg)
{
	struct driver_sim *v = arg;

	vendor_free(TAKE(v->vendor));
	endpoint_stop(v->endpoint, on_silent, v);
}

static void on_control_stopped(void *arg)
{
	struct driver_sim *v = arg;

	vendor_control_free(TAKE(v->control));
	if (v->vendor)
		vendor_stop(v->vendor, on_vendor_stopped, v);
	else
		on_vendor_stopped(v);
}

static void on_stop(void *arg)
{
	struct driver_sim *v = arg;

	if (v->stopping)
		return;
	v->stopping = true;
	if (v->control)
		vendor_control_stop(v->control, on_control_stopped, v);
	else
		on_control_stopped(v);
}

/* --- beginning ---------------------------------------------------------------------------- */

static uint32_t dialects(const char *word)
{
	if (strcmp(word, "v1") == 0)
		return DP_HEALTH_V1;
	if (strcmp(word, "v1alpha1") == 0)
		return DP_HEALTH_V1ALPHA1;
	return strcmp(word, "nodehealth") == 0 ? DP_HEALTH_NODE : DP_HEALTH_ALL;
}

static int start_vendor(struct driver_sim *v, struct error *err)
{
	const struct sim_options *o = v->options;
	struct vendor_opts vo = {
		.loop = v->role.loop,
		.log = &v->role.log,
		.metrics = v->metrics,
		.kind = o->kind,
		.name = o->name,
		.resource = o->resource,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->root_dir,
		.cdi_dir = o->cdi_dir,
		.instance = o->instance,
		.devices = (unsigned)o->devices,
		.numa_nodes = (unsigned)o->numa_nodes,
		.plugin = strcmp(o->mode, "plugin") == 0,
		.no_taint = o->no_taint,
		.no_health = o->no_health,
		.dialects = dialects(o->dialect),
		.timeout_s = (uint32_t)(o->timeout / CLOCK_SEC),
		.heartbeat_ms = (uint32_t)(o->heartbeat / CLOCK_MS),
	};
	int r = vendor_new(&vo, &v->vendor, err);

	if (r < 0)
		v->cli->bad_usage = true;
	return r < 0 ? r : vendor_start(v->vendor, err);
}

static int start(struct driver_sim *v, struct error *err)
{
	const struct sim_options *o = v->options;
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct endpoint_opts e = { .loop = v->role.loop,
				   .address = o->metrics_address,
				   .checks = checks,
				   .arg = v,
				   .metrics = v->metrics };
	int r;

	if (strcmp(o->mode, "dra") == 0 && !o->node_name)
		return cli_bad_usage(v->cli, err,
				     "--mode dra needs --node-name, the Node that has the devices");
	r = start_vendor(v, err);
	if (r == 0)
		r = vendor_control_path(o->root_dir, vendor_name(v->vendor), o->instance, &path,
					err);
	if (r == 0)
		r = vendor_control_new(v->role.loop, v->vendor, buf_str(&path), &v->control, err);
	if (r == 0 && strcmp(o->metrics_address, "0") != 0)
		r = endpoint_new(&e, &v->endpoint, err);
	return r;
}

static void announce(struct driver_sim *v)
{
	const struct sim_options *o = v->options;

	(void)fprintf(v->cli->out, "devplane driver sim runs as %s with %d %s%s in %s\n",
		      vendor_name(v->vendor), (int)o->devices, o->kind, o->devices == 1 ? "" : "s",
		      o->root_dir);
	if (v->endpoint)
		(void)fprintf(v->cli->out, "  health and metrics at http://%s\n",
			      endpoint_address(v->endpoint)->text);
	(void)fflush(v->cli->out);
}

static int run(struct cli *cli, struct error *err)
{
	struct driver_sim v = { .cli = cli, .options = cli->options };
	int r = role_init(&v.role, &v.options->role, on_stop, &v, err);

	if (r < 0)
		return r;
	v.metrics = metrics_new();
	(void)metrics_process_register(v.metrics, NULL);
	if (start(&v, &v.failure) < 0)
		on_stop(&v);
	else
		announce(&v);
	r = role_run(&v.role, err);
	if (r == 0 && v.failure.code != ERR_OK) {
		*err = v.failure;
		r = -(int)v.failure.code;
	}
	metrics_free(v.metrics);
	role_release(&v.role);
	return r;
}

static const struct command *const rows[] = {
	&cmd_driver_sim_list,
	&cmd_driver_sim_fail,
	&cmd_driver_sim_heal,
	&cmd_driver_sim_silence,
	&cmd_driver_sim_remove,
	&cmd_driver_sim_restore,
	NULL,
};

const struct command cmd_driver_sim = {
	.name = "sim",
	.summary = "simulate a vendor of GPUs, NICs or FPGAs",
	.usage = "[COMMAND] [FLAGS]",
	.about = "A driver without hardware: a DRA driver that publishes ResourceSlices, or with "
		 "--mode plugin a device plugin. Containers that get a device see it: variables "
		 "DEVPLANE_SIM_DEVICE_n and DEVPLANE_SIM_UUID_n, and a node /dev/simKINDn that is "
		 "the host's /dev/null.\n\n"
		 "While it runs, its subcommands break devices, heal them, let them fall silent, "
		 "unplug them and plug them in. A failed device is Unhealthy with the message and, "
		 "but for --no-taint, tainted NoSchedule in its slice.\n\n"
		 "SIGTERM stops it in order: its sockets go, its slices stay.",
	.examples = "devplane driver sim --kubeconfig d/admin.kubeconfig --node-name n1 --root-dir "
		    "d/n1\n"
		    "devplane driver sim fail gpu-0 --message \"double-bit ECC error\" --root-dir "
		    "d/n1\n"
		    "devplane driver sim heal gpu-0 --root-dir d/n1\n"
		    "devplane driver sim --mode plugin --kind nic --devices 8 --root-dir d/n1",
	.flags = flags,
	.options_size = sizeof(struct sim_options),
	.run = run,
	.subcommands = rows,
};

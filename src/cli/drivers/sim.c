/*
 * `devplane driver sim`: runs the simulated vendor of drivers/sim/vendor.h as a role; its
 * subcommands are in control.c.
 */
#include "api/api_limits.h"
#include "cli/drivers/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/driver_role.h"
#include "drivers/drivers_limits.h"
#include "drivers/sim/vendor.h"

struct sim_options {
	struct driver_options driver;
	const char *kubeconfig, *node_name, *name, *mode, *kind, *resource;
	const char *dialect, *instance;
	int64_t devices, numa_nodes, status_data;
	bool no_status, no_slices;
	const char *pool;
	bool partitions, shares;
	int64_t fabric;
	const char *fabric_publisher, *fabric_nodes;
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct sim_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account; not needed with --mode plugin" },
	{ "node-name", 0, FLAG_STRING(struct sim_options, node_name), .arg = "NAME",
	  .help = "the Node that has the devices; required with --mode dra" },
	{ "mode", 0, FLAG_STRING(struct sim_options, mode), .choices = "dra|plugin",
	  .initial = "dra", .help = "run as a DRA driver, or as a device plugin" },
	{ "kind", 0, FLAG_STRING(struct sim_options, kind), .choices = "gpu|nic|fpga",
	  .initial = "gpu", .help = "kind of device to simulate" },
	{ "devices", 0, FLAG_INT(struct sim_options, devices), .arg = "COUNT", .initial = "4",
	  .min = 1, .max = DRIVER_DEVICES_MAX, .help = "number of devices" },
	{ "numa-nodes", 0, FLAG_INT(struct sim_options, numa_nodes), .arg = "COUNT", .initial = "1",
	  .min = 1, .max = 1024, .help = "number of NUMA nodes to spread the devices over" },
	{ "name", 0, FLAG_STRING(struct sim_options, name), .arg = "DRIVER",
	  .help = "name of the driver; default KIND.sim.devplane.dev" },
	{ "resource", 0, FLAG_STRING(struct sim_options, resource), .arg = "NAME",
	  .help = "--mode plugin: name of the extended resource; default sim.devplane.dev/KIND" },
	{ "instance", 0, FLAG_STRING(struct sim_options, instance), .arg = "UID",
	  .help = "for rolling updates: an ID that is unique among the driver's instances" },
	{ "dialect", 0, FLAG_STRING(struct sim_options, dialect),
	  .choices = "all|v1|v1alpha1|nodehealth", .initial = "all",
	  .help = "health service to offer" },
	{ "status-data", 0, FLAG_INT(struct sim_options, status_data), .arg = "BYTES",
	  .initial = "0", .max = OPAQUE_PARAMETERS_MAX,
	  .help = "size in bytes of `data` in claims' status, at least 128; 0: only the device's "
		  "uuid" },
	{ "pool", 0, FLAG_STRING(struct sim_options, pool), .arg = "NAME",
	  .help = "pool of the devices; default the node's name" },
	{ "no-slices", 0, FLAG_BOOL(struct sim_options, no_slices),
	  .help = "publish no ResourceSlices, because something else does, as for a pool that "
		  "several nodes can reach" },
	{ "partitions", 0, FLAG_BOOL(struct sim_options, partitions),
	  .help = "let each GPU be divided: publish its parts, and the counters that they share "
		  "(KEP-4815)" },
	{ "shares", 0, FLAG_BOOL(struct sim_options, shares),
	  .help = "let several claims share a device, each with a part of its capacity "
		  "(KEP-5075)" },
	{ "fabric", 0, FLAG_INT(struct sim_options, fabric), .arg = "COUNT", .initial = "0",
	  .max = DRIVER_DEVICES_MAX,
	  .help = "number of devices in a second pool, \"fabric\", that several nodes reach; give "
		  "it to the drivers of all these nodes" },
	{ "fabric-publisher", 0, FLAG_STRING(struct sim_options, fabric_publisher), .arg = "NODE",
	  .help = "node whose driver publishes the pool \"fabric\"; others only prepare its "
		  "devices; default this node" },
	{ "fabric-nodes", 0, FLAG_STRING(struct sim_options, fabric_nodes), .arg = "LABEL=VALUE",
	  .help = "nodes that reach the pool \"fabric\"; default all" },
	{ "no-status", 0, FLAG_BOOL(struct sim_options, no_status),
	  .help = "do not write the status of claims" },
	DRIVER_FLAGS(struct sim_options, driver),
	{ NULL },
};

struct driver_sim {
	struct cli *cli;
	const struct sim_options *options;
	struct driver_role *role;
	struct vendor *vendor;
};

/* --- end ---------------------------------------------------------------------------------- */

static void on_vendor_stopped(void *arg)
{
	struct driver_sim *v = arg;

	vendor_free(TAKE(v->vendor));
	driver_role_stopped(v->role);
}

static void sim_stop(void *arg)
{
	struct driver_sim *v = arg;

	if (v->vendor)
		vendor_stop(v->vendor, on_vendor_stopped, v);
	else
		on_vendor_stopped(v);
}

/* --- starting ----------------------------------------------------------------------------- */

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
		.loop = v->role->role.loop,
		.log = &v->role->role.log,
		.metrics = v->role->metrics,
		.kind = o->kind,
		.name = o->name,
		.resource = o->resource,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->driver.root_dir,
		.cdi_dir = o->driver.cdi_dir,
		.instance = o->instance,
		.devices = (unsigned)o->devices,
		.numa_nodes = (unsigned)o->numa_nodes,
		.plugin = strcmp(o->mode, "plugin") == 0,
		.no_taint = o->driver.no_taint,
		.no_health = o->driver.no_health,
		.no_status = o->no_status,
		.no_slices = o->no_slices,
		.control = true,
		.pool = o->pool,
		.partitions = o->partitions,
		.shares = o->shares,
		.fabric = (unsigned)o->fabric,
		.fabric_publisher = o->fabric_publisher,
		.fabric_label = o->fabric_nodes,
		.status_data = (unsigned)o->status_data,
		.dialects = dialects(o->dialect),
		.timeout_s = (uint32_t)(o->driver.timeout / CLOCK_SEC),
		.heartbeat_ms = (uint32_t)(o->driver.heartbeat / CLOCK_MS),
	};
	int r = vendor_new(&vo, &v->vendor, err);

	if (r < 0)
		v->cli->bad_usage = true;
	return r < 0 ? r : vendor_start(v->vendor, err);
}

static int sim_start(void *arg, struct driver_role *role, struct error *err)
{
	struct driver_sim *v = arg;
	const struct sim_options *o = v->options;

	v->role = role;
	role->kubeconfig = v->options->kubeconfig;
	if (strcmp(o->mode, "dra") == 0 && !o->node_name)
		return cli_bad_usage(v->cli, err,
				     "--mode dra needs --node-name, the Node that has the devices");
	return start_vendor(v, err);
}

static int sim_check(void *arg, struct error *err)
{
	const struct driver_sim *v = arg;

	return vendor_check(v->vendor, err);
}

static int sim_check_registered(void *arg, struct error *err)
{
	const struct driver_sim *v = arg;

	return vendor_check_registered(v->vendor, err);
}

static void sim_announce(void *arg, FILE *out)
{
	const struct driver_sim *v = arg;
	const struct sim_options *o = v->options;

	(void)fprintf(out, "devplane driver sim runs as %s with %d %s%s in %s\n",
		      vendor_name(v->vendor), (int)o->devices, o->kind, o->devices == 1 ? "" : "s",
		      o->driver.root_dir);
}

static const struct driver_role_ops ops = {
	.start = sim_start,
	.announce = sim_announce,
	.check = sim_check,
	.check_registered = sim_check_registered,
	.stop = sim_stop,
};

static int sim_run(struct cli *cli, struct error *err)
{
	struct driver_sim v = { .cli = cli, .options = cli->options };

	return driver_role_run(cli, &v.options->driver, &ops, &v, err);
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
	.summary = "simulate GPUs, NICs or FPGAs",
	.usage = "[COMMAND] [FLAGS]",
	.about =
		"A driver without hardware: a DRA driver that publishes ResourceSlices, or a "
		"device plugin with --mode plugin. A container with a device gets the variables "
		"DEVPLANE_SIM_DEVICE_n and DEVPLANE_SIM_UUID_n, and a device node /dev/simKINDn, "
		"which is the host's /dev/null.\n\n"
		"While it runs, use its subcommands to fail, heal, silence, remove and restore "
		"devices. A failed device is reported Unhealthy with the message and, without "
		"--no-taint, tainted NoSchedule in its slice. The devices in the status of each "
		"prepared claim have the condition Ready, which follows.\n\n"
		"With --partitions a GPU of 80 GiB can be divided into parts of 10, 20 and 40 GiB: "
		"each is a device of type \"partition\" with a profile such as 1g.10gb. With "
		"--shares claims share a device by requesting capacity. With --fabric there are "
		"network-attached devices of type \"fabric\".\n\n"
		"SIGTERM stops it cleanly: its sockets are removed, its slices stay.",
	.examples = "devplane driver sim --kubeconfig d/admin.kubeconfig --node-name n1 --root-dir "
		    "d/n1\n"
		    "devplane driver sim fail gpu-0 --message \"double-bit ECC error\" --root-dir "
		    "d/n1\n"
		    "devplane driver sim heal gpu-0 --root-dir d/n1\n"
		    "devplane driver sim --mode plugin --kind nic --devices 8 --root-dir d/n1\n"
		    "devplane driver sim --partitions --devices 2 --node-name n1 --root-dir d/n1",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.flags = flags,
	.options_size = sizeof(struct sim_options),
	.run = sim_run,
	.subcommands = rows,
};

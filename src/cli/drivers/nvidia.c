/*
 * `devplane driver nvidia`: runs the driver of drivers/nvidia/driver.h as a role. Its subcommands
 * are in nvidia_show.c.
 */
#include "cli/drivers/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/driver_role.h"
#include "drivers/nvidia/driver.h"

struct nvidia_options {
	struct driver_options driver;
	const char *kubeconfig, *node_name, *name, *library;
	const char *host_root, *driver_root, *library_dir, *shares, *xid_rules;
	int64_t poll, deadline; /* ns */
	bool no_mig, static_mig, evict;
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct nvidia_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account" },
	{ "node-name", 0, FLAG_STRING(struct nvidia_options, node_name), .arg = "NAME",
	  .required = true, .help = "the Node that has the GPUs" },
	{ "no-mig", 0, FLAG_BOOL(struct nvidia_options, no_mig),
	  .help = "offer full GPUs only; by default MIG partitions are offered as well, and made "
		  "when a pod gets one" },
	{ "static-mig", 0, FLAG_BOOL(struct nvidia_options, static_mig),
	  .help = "offer MIG devices that somebody else made" },
	{ "shares", 0, FLAG_STRING(struct nvidia_options, shares), .arg = "memory|N|unlimited",
	  .help = "let several claims share a full GPU: claims divide its memory, or up to N, or "
		  "any number of claims" },
	{ "xid-rules", 0, FLAG_STRING(struct nvidia_options, xid_rules), .arg = "FILE",
	  .help = "how serious Xids are; overrides the built-in rules" },
	{ "evict-lost", 0, FLAG_BOOL(struct nvidia_options, evict),
	  .help = "evict pods from a GPU that is lost (NoExecute instead of NoSchedule)" },
	{ "poll-interval", 0, FLAG_DURATION(struct nvidia_options, poll), .arg = "TIME",
	  .initial = "5s", .min = 100 * CLOCK_MS, .max = DRIVER_ROLE_DAY,
	  .help = "interval between polls of the GPUs' health; events are seen at once" },
	{ "nvml-timeout", 0, FLAG_DURATION(struct nvidia_options, deadline), .arg = "TIME",
	  .initial = "10s", .min = 100 * CLOCK_MS, .max = DRIVER_ROLE_DAY,
	  .help = "devices are Unknown if NVIDIA's library does not answer for this long" },
	{ "nvml-library", 0, FLAG_STRING(struct nvidia_options, library), .arg = "FILE",
	  .help = "NVIDIA's management library; default libnvidia-ml.so.1 of the loader" },
	{ "host-root", 0, FLAG_STRING(struct nvidia_options, host_root), .arg = "DIR",
	  .help = "folder that has the machine's root, for a driver in a container; default /" },
	{ "driver-root", 0, FLAG_STRING(struct nvidia_options, driver_root), .arg = "DIR",
	  .help = "folder on the machine in which NVIDIA's driver is installed; default /" },
	{ "library-dir", 0, FLAG_STRING(struct nvidia_options, library_dir), .arg = "DIR",
	  .help = "folder of libcuda below --driver-root; default the usual ones" },
	{ "name", 0, FLAG_STRING(struct nvidia_options, name), .arg = "DRIVER",
	  .initial = GPU_DRIVER_NAME, .help = "the driver's name" },
	DRIVER_FLAGS(struct nvidia_options, driver),
	{ NULL },
};

struct driver_nvidia {
	struct cli *cli;
	const struct nvidia_options *options;
	struct driver_role *role;
	struct nvidia_driver *driver;
};

/* --- end ---------------------------------------------------------------------------------- */

static void nvidia_on_stopped(void *arg)
{
	struct driver_nvidia *v = arg;

	nvidia_driver_free(TAKE(v->driver));
	driver_role_stopped(v->role);
}

static void nvidia_stop(void *arg)
{
	struct driver_nvidia *v = arg;

	if (v->driver)
		nvidia_driver_stop(v->driver, nvidia_on_stopped, v);
	else
		nvidia_on_stopped(v);
}

/* --- start -------------------------------------------------------------------------------- */

static int read_shares(struct driver_nvidia *v, struct nvidia_read *to, struct error *err)
{
	struct gpu_inventory_options shares = { 0 };
	struct error why;

	if (v->options->shares && gpu_shares_parse(str_from(v->options->shares), &shares, &why) < 0)
		return cli_bad_usage(v->cli, err, "--shares %s: %s", v->options->shares, why.msg);
	to->shares = shares.shares;
	to->share_count = shares.share_count;
	return 0;
}

static int nvidia_start(void *arg, struct driver_role *role, struct error *err)
{
	struct driver_nvidia *v = arg;
	const struct nvidia_options *o = v->options;
	struct nvidia_driver_opts d = {
		.loop = role->role.loop,
		.log = &role->role.log,
		.metrics = role->metrics,
		.name = o->name,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->driver.root_dir,
		.cdi_dir = o->driver.cdi_dir,
		.library = o->library,
		.read = { .root = o->host_root,
			  .driver_root = o->driver_root,
			  .library_dir = o->library_dir,
			  .mig = !o->no_mig,
			  .static_mig = o->static_mig },
		.xid_rules = o->xid_rules,
		.evict = o->evict,
		.no_taint = o->driver.no_taint,
		.no_health = o->driver.no_health,
		.timeout_s = (uint32_t)(o->driver.timeout / CLOCK_SEC),
		.heartbeat_ms = (uint32_t)(o->driver.heartbeat / CLOCK_MS),
		.poll_ms = (uint32_t)(o->poll / CLOCK_MS),
		.deadline_ms = (uint32_t)(o->deadline / CLOCK_MS),
	};
	int r = read_shares(v, &d.read, err);

	v->role = role;
	role->kubeconfig = v->options->kubeconfig;
	if (r < 0)
		return r;
	r = nvidia_driver_new(&d, &v->driver, err);
	if (r < 0)
		v->cli->bad_usage = true;
	return r < 0 ? r : nvidia_driver_start(v->driver, err);
}

static int nvidia_check(void *arg, struct error *err)
{
	const struct driver_nvidia *v = arg;

	return nvidia_driver_check(v->driver, err);
}

static int nvidia_check_registered(void *arg, struct error *err)
{
	const struct driver_nvidia *v = arg;

	return nvidia_driver_check_registered(v->driver, err);
}

static void nvidia_announce(void *arg, FILE *out)
{
	const struct driver_nvidia *v = arg;
	const struct nvidia_options *o = v->options;

	(void)fprintf(out, "devplane driver nvidia runs as %s on node %s in %s\n", o->name,
		      o->node_name, o->driver.root_dir);
}

static const struct driver_role_ops ops = {
	.start = nvidia_start,
	.announce = nvidia_announce,
	.check = nvidia_check,
	.check_registered = nvidia_check_registered,
	.stop = nvidia_stop,
};

static int nvidia_run(struct cli *cli, struct error *err)
{
	struct driver_nvidia v = { .cli = cli, .options = cli->options };

	return driver_role_run(cli, &v.options->driver, &ops, &v, err);
}

static const struct command *const rows[] = { &cmd_driver_nvidia_list, &cmd_driver_nvidia_profiles,
					      &cmd_driver_nvidia_explain, NULL };

const struct command cmd_driver_nvidia = {
	.name = "nvidia",
	.summary = "give NVIDIA GPUs and MIG partitions of this node to pods",
	.usage = "[COMMAND] [FLAGS]",
	.about = "A DRA driver for NVIDIA GPUs. Full GPUs and MIG devices have the names, "
		 "attributes and parameters of NVIDIA's own driver, so manifests for them work "
		 "with both. It does not pass GPUs through to virtual machines (VFIO). MIG "
		 "partitions are made when a pod gets one, and removed afterwards. Containers get "
		 "the driver's libraries without the container toolkit and without hooks.\n\n"
		 "Xids, lost GPUs and pending resets become device health and taints, for the GPU "
		 "and all its partitions. They go away when the GPU works again.\n\n"
		 "It needs root to make MIG partitions. MIG instances that somebody else made are "
		 "left alone.\n\n"
		 "SIGTERM stops it cleanly: its sockets are removed, its slices stay, and pods "
		 "keep their devices.",
	.examples = "devplane driver nvidia --node-name n1\n"
		    "devplane driver nvidia --node-name n1 --shares memory\n"
		    "devplane driver nvidia list\n"
		    "devplane driver nvidia explain default/training",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.flags = flags,
	.options_size = sizeof(struct nvidia_options),
	.run = nvidia_run,
	.subcommands = rows,
};

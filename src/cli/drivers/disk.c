/*
 * `devplane driver disk`: runs the driver of drivers/disk/driver.h as a role, and prints the
 * definition of what it publishes.
 */
#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "cli/drivers/commands.h"
#include "cli/output/tabs.h"
#include "cli/program/cli.h"
#include "cli/roles/driver_role.h"
#include "drivers/disk/driver.h"

#define DAY (86400 * CLOCK_SEC)

struct disk_options {
	struct driver_options driver;
	const char *kubeconfig, *node_name, *primary;
	const char *proc_root, *sys_root, *cgroup_root;
	struct flag_list devices, excluded, capacities;
	int64_t interval, report_interval, smoothing, probe_time;
	int64_t report_change; /* per cent */
	bool install_crd, enforce;
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct disk_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account" },
	{ "node-name", 0, FLAG_STRING(struct disk_options, node_name), .arg = "NAME",
	  .required = true, .help = "the Node that has the disks" },
	{ "device", 0, FLAG_LIST(struct disk_options, devices), .arg = "GLOB",
	  .help = "whole disks to measure, by their names in /sys/block; default all hardware "
		  "disks with a medium" },
	{ "exclude", 0, FLAG_LIST(struct disk_options, excluded), .arg = "GLOB",
	  .help = "disks to leave out" },
	{ "capacity", 0, FLAG_REPEAT(struct disk_options, capacities), .arg = "DEVICE=..",
	  .help = "capacity of a disk in bytes per second, such as sda=read:500Mi,write:200Mi; "
		  "overrides the result of a probe" },
	{ "primary", 0, FLAG_STRING(struct disk_options, primary), .arg = "DEVICE",
	  .help = "disk for pods that name none; default the one with the highest write capacity" },
	{ "interval", 0, FLAG_DURATION(struct disk_options, interval), .arg = "TIME",
	  .initial = "1s", .min = 100 * CLOCK_MS, .max = DAY,
	  .help = "interval between measurements" },
	{ "smoothing", 0, FLAG_DURATION(struct disk_options, smoothing), .arg = "TIME",
	  .initial = "5s", .max = DAY,
	  .help = "time constant of the moving average: after this time, 63 % of a change is "
		  "visible; 0s: no smoothing" },
	{ "report-interval", 0, FLAG_DURATION(struct disk_options, report_interval), .arg = "TIME",
	  .initial = "10s", .min = CLOCK_SEC, .max = DAY,
	  .help = "publish at least this often, even without changes" },
	{ "report-change", 0, FLAG_INT(struct disk_options, report_change), .arg = "PERCENT",
	  .initial = "5", .min = 0, .max = 100,
	  .help = "publish immediately if a value changes by more than this share of the disk's "
		  "capacity" },
	{ "probe-time", 0, FLAG_DURATION(struct disk_options, probe_time), .arg = "TIME",
	  .initial = "2s", .min = 100 * CLOCK_MS, .max = 60 * CLOCK_SEC,
	  .help = "duration of a probe that the object's annotation requests" },
	{ "install-crd", 0, FLAG_BOOL(struct disk_options, install_crd), .initial = "true",
	  .help = "create the CustomResourceDefinition if it is missing" },
	{ "enforce", 0, FLAG_BOOL(struct disk_options, enforce), .initial = "false",
	  .help = "limit pods with cgroups, so that every pod gets the bandwidth that it "
		  "requested" },
	{ "root-dir", 0, FLAG_STRING(struct disk_options, driver.root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet",
	  .help = "root folder of the kubelet or of devplane node; results of probes are kept in "
		  "it" },
	{ "proc-root", 0, FLAG_STRING(struct disk_options, proc_root), .arg = "DIR",
	  .initial = "/proc", .help = "folder of diskstats" },
	{ "sys-root", 0, FLAG_STRING(struct disk_options, sys_root), .arg = "DIR",
	  .initial = "/sys", .help = "folder of block/" },
	{ "cgroup-root", 0, FLAG_STRING(struct disk_options, cgroup_root), .arg = "DIR",
	  .help = "folder of cgroup v1 or v2; default fs/cgroup below --sys-root" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct disk_options, driver.metrics_address),
	  .arg = "ADDRESS", .initial = "127.0.0.1:0",
	  .help = "address that serves /healthz, /readyz and /metrics; port 0 picks a free one, "
		  "\"0\" disables it" },
	ENDPOINT_GUARD_FLAGS(struct disk_options, driver.guard),
	ROLE_FLAGS(struct disk_options, driver.role),
	{ NULL },
};

struct driver_disk {
	struct cli *cli;
	const struct disk_options *options;
	struct driver_role *role;
	struct disk_driver *driver;
	struct disk_spec spec;
};

/* --- end ------------------------------------------------------------------------------------- */

static void on_driver_stopped(void *arg)
{
	struct driver_disk *v = arg;

	disk_driver_free(TAKE(v->driver));
	driver_role_stopped(v->role);
}

static void disk_stop(void *arg)
{
	struct driver_disk *v = arg;

	if (v->driver)
		disk_driver_stop(v->driver, on_driver_stopped, v);
	else
		on_driver_stopped(v);
}

/* --- starting -------------------------------------------------------------------------------- */

static int read_capacities(struct driver_disk *v, struct error *err)
{
	const struct flag_list *l = &v->options->capacities;
	struct disk_capacity *c = ARENA_ARRAY(&v->cli->arena, struct disk_capacity, l->n + 1);
	struct error why;

	v->spec.capacities = c;
	for (size_t i = 0; i < l->n; i++) {
		if (disk_capacity_parse(str_from(l->v[i]), &c[i], &why) < 0)
			return cli_bad_usage(v->cli, err, "--capacity %s: %s", l->v[i], why.msg);
		if (disk_spec_capacity(&v->spec, c[i].device))
			return cli_bad_usage(v->cli, err, "--capacity: %s is there twice",
					     c[i].device);
		v->spec.ncapacities++;
	}
	return 0;
}

static int read_spec(struct driver_disk *v, struct error *err)
{
	const struct disk_options *o = v->options;

	v->spec = (struct disk_spec){ .patterns = o->devices.v,
				      .npatterns = o->devices.n,
				      .excluded = o->excluded.v,
				      .nexcluded = o->excluded.n,
				      .primary = o->primary };
	return read_capacities(v, err);
}

static int disk_start(void *arg, struct driver_role *role, struct error *err)
{
	struct driver_disk *v = arg;
	const struct disk_options *o = v->options;
	struct disk_driver_opts d = {
		.loop = role->role.loop,
		.log = &role->role.log,
		.metrics = role->metrics,
		.kubeconfig = o->kubeconfig,
		.node_name = o->node_name,
		.root_dir = o->driver.root_dir,
		.host = { .proc_root = o->proc_root,
			  .sys_root = o->sys_root,
			  .cgroup_root = o->cgroup_root },
		.spec = &v->spec,
		.interval_ns = o->interval,
		.report_interval_ns = o->report_interval,
		.smoothing_ns = o->smoothing,
		.probe_ns = o->probe_time,
		.report_change = (double)o->report_change / 100,
		.install_crd = o->install_crd,
		.enforce = o->enforce,
	};
	int r = read_spec(v, err);

	v->role = role;
	role->kubeconfig = v->options->kubeconfig;
	if (r < 0)
		return r;
	r = disk_driver_new(&d, &v->driver, err);
	if (r == -ERR_INVALID)
		v->cli->bad_usage = true;
	return r;
}

static int disk_check(void *arg, struct error *err)
{
	const struct driver_disk *v = arg;

	return disk_driver_check(v->driver, err);
}

/* --- messages at the start ------------------------------------------------------------------- */

static void add_rate(struct buf *out, const char *what, int64_t rate)
{
	if (rate == 0) {
		(void)buf_printf(out, "\t%s not known", what);
		return;
	}
	(void)buf_printf(out, "\t%s ", what);
	(void)quantity_print(quantity_of(rate, QUANTITY_BINARY_SI), out);
	(void)buf_addz(out, "/s");
}

static void add_devices(const struct driver_disk *v, struct buf *out)
{
	const struct disk_meter *m = disk_driver_meter(v->driver);

	for (size_t i = 0; i < m->devices.n; i++) {
		const char *name = m->devices.v[i].stat.name;
		struct disk_capacity c = disk_driver_capacity(v->driver, name);

		(void)buf_printf(out, "  %s", name);
		add_rate(out, "read", c.read);
		add_rate(out, "write", c.write);
		(void)buf_addc(out, '\n');
	}
	if (m->devices.n == 0)
		(void)buf_addz(out, "  no disk yet; choose with --device\n");
}

static void disk_announce(void *arg, FILE *out)
{
	static const char *const versions[] = { [DISK_GROUPS_V1] = "v1", [DISK_GROUPS_V2] = "v2" };
	const struct driver_disk *v = arg;
	const struct disk_host *h = disk_driver_host(v->driver);
	CLEANUP(buf_release) struct buf lines = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf aligned = BUF_INIT(MIB);

	add_devices(v, &lines);
	tabs_align(&aligned, buf_str(&lines), TABS_DESCRIBE);
	(void)fprintf(out, "devplane driver disk measures node %s every %.1f s\n%.*s",
		      v->options->node_name, (double)v->options->interval / (double)CLOCK_SEC,
		      STR_ARG(buf_str(&aligned)));
	if (h->groups == DISK_GROUPS_NONE)
		(void)fprintf(out, "  usage per pod is not available: %s\n", h->groups_why.msg);
	else
		(void)fprintf(out, "  use per pod by cgroup %s in %s%s\n", versions[h->groups],
			      h->groups_dir,
			      v->options->enforce ? ", where requests are enforced" : "");
}

static const struct driver_role_ops ops = {
	.start = disk_start,
	.announce = disk_announce,
	.check = disk_check,
	.stop = disk_stop,
	.check_name = "diskstatus",
};

static int disk_run(struct cli *cli, struct error *err)
{
	struct driver_disk v = { .cli = cli, .options = cli->options };

	return driver_role_run(cli, &v.options->driver, &ops, &v, err);
}

/* --- crd ------------------------------------------------------------------------------------- */

static int run_crd(struct cli *cli, struct error *err UNUSED)
{
	(void)fputs(disk_crd_yaml, cli->out);
	return 0;
}

static const struct command crd = {
	.name = "crd",
	.summary = "print the CustomResourceDefinition, for kubectl apply",
	.examples = "devplane driver disk crd | kubectl apply -f -",
	.run = run_crd,
};

static const struct command *const rows[] = { &crd, &cmd_driver_disk_probe, NULL };

const struct command cmd_driver_disk = {
	.name = "disk",
	.summary = "publish the bandwidth of this node's disks, and how much is used",
	.usage = "[COMMAND] [FLAGS]",
	.about = "Measures the node's block devices (/proc/diskstats, and cgroup v2 or v1 for the "
		 "share of each pod). It publishes capacity and usage in a custom resource, "
		 "NodeDiskIOStatus, with the node's name. The scheduler's plugin disk_io uses it "
		 "to place pods that request bandwidth with annotations.\n\n"
		 "The capacity of a disk comes from --capacity or from a probe: `devplane driver "
		 "disk probe`, or the annotation diskio.devplane.dev/probe on the object.\n\n"
		 "SIGTERM stops it cleanly; the object is kept.",
	.examples =
		"devplane driver disk --kubeconfig d/admin.kubeconfig --node-name n1 --root-dir "
		"d/n1\n"
		"devplane driver disk --node-name n1 --device 'nvme*' --capacity "
		"nvme0n1=read:2Gi,write:800Mi\n"
		"devplane driver disk probe sda --root-dir d/n1\n"
		"kubectl annotate nodediskiostatus n1 diskio.devplane.dev/probe=sda",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.flags = flags,
	.options_size = sizeof(struct disk_options),
	.run = disk_run,
	.subcommands = rows,
};

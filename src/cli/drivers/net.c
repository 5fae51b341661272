/*
 * `devplane driver net`: runs the network driver of drivers/nic/driver.h as a role, and shows its
 * devices.
 */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "cli/connect/ask_socket.h"
#include "cli/drivers/commands.h"
#include "cli/output/output.h"
#include "cli/output/tabs.h"
#include "cli/program/cli.h"
#include "cli/roles/driver_role.h"
#include "drivers/cni/nic_socket.h"
#include "drivers/nic/driver.h"

/* Devices of one kind that are named at the start; for the others, only their number. */
enum { NAMED_MAX = 4 };

struct net_options {
	struct driver_options driver;
	const char *kubeconfig, *node_name, *name, *cni_path, *claim_cni;
	struct flag_list interfaces, excluded, creates;
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct net_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account" },
	{ "node-name", 0, FLAG_STRING(struct net_options, node_name), .arg = "NAME",
	  .required = true, .help = "the Node that has the interfaces" },
	{ "interface", 0, FLAG_LIST(struct net_options, interfaces), .arg = "GLOB",
	  .help = "interfaces to offer; default all hardware interfaces without a default route "
		  "that are not in a bridge or bond" },
	{ "exclude", 0, FLAG_LIST(struct net_options, excluded), .arg = "GLOB",
	  .help = "interfaces to leave out" },
	{ "create", 0, FLAG_REPEAT(struct net_options, creates), .arg = "KIND:..",
	  .help = "interfaces to offer that are created when a pod gets one: veth:COUNT[:BRIDGE], "
		  "macvlan:COUNT:PARENT[:MODE] or vlan:ID[-ID]:PARENT" },
	{ "cni-path", 0, FLAG_STRING(struct net_options, cni_path), .arg = "DIR:..",
	  .help = "folders of the CNI plugins that `cni` parameters name; default those of the "
		  "runtime" },
	{ "claim-cni", 0, FLAG_STRING(struct net_options, claim_cni), .arg = "TYPE,..",
	  .initial = NIC_CLAIM_CNI,
	  .help = "types of CNI plugins that a claim can name (they run as root), none, or * for "
		  "all; a DeviceClass can name any" },
	{ "name", 0, FLAG_STRING(struct net_options, name), .arg = "DRIVER",
	  .initial = NIC_DRIVER_NAME, .help = "the driver's name" },
	DRIVER_FLAGS(struct net_options, driver),
	{ NULL },
};

struct driver_net {
	struct cli *cli;
	const struct net_options *options;
	struct driver_role *role;
	struct nic_driver *driver;
	struct nic_create *creates; /* in the run's arena */
	struct nic_spec spec;
	struct buf skipped; /* a line for each skipped interface */
};

/* --- end ---------------------------------------------------------------------------------- */

static void on_driver_stopped(void *arg)
{
	struct driver_net *v = arg;

	nic_driver_free(TAKE(v->driver));
	driver_role_stopped(v->role);
}

static void net_stop(void *arg)
{
	struct driver_net *v = arg;

	if (v->driver)
		nic_driver_stop(v->driver, on_driver_stopped, v);
	else
		on_driver_stopped(v);
}

/* --- starting ----------------------------------------------------------------------------- */

static bool has_capability(unsigned number)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &h, data) == 0 &&
	       (data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number));
}

/* Required to change interfaces and to enter namespaces. */
static int need_capabilities(struct error *err)
{
	bool net = has_capability(CAP_NET_ADMIN), sys = has_capability(CAP_SYS_ADMIN);

	if (net && sys)
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "needs root (CAP_NET_ADMIN, CAP_SYS_ADMIN); this process lacks %s%s%s",
			 net ? "" : "CAP_NET_ADMIN", net || sys ? "" : " and ",
			 sys ? "" : "CAP_SYS_ADMIN");
}

static int read_creates(struct driver_net *v, struct error *err)
{
	const struct flag_list *l = &v->options->creates;
	int r;

	v->creates = ARENA_ARRAY(&v->cli->arena, struct nic_create, l->n + 1);
	for (size_t i = 0; i < l->n; i++) {
		struct error why;

		r = nic_create_parse(str_from(l->v[i]), &v->creates[i], &why);
		if (r < 0)
			return cli_bad_usage(v->cli, err, "--create %s: %s", l->v[i], why.msg);
	}
	return 0;
}

static int read_spec(struct driver_net *v, struct error *err)
{
	const struct net_options *o = v->options;
	struct error why;
	int r = read_creates(v, err);

	if (r < 0)
		return r;
	v->spec = (struct nic_spec){ .patterns = o->interfaces.v,
				     .npatterns = o->interfaces.n,
				     .excluded = o->excluded.v,
				     .nexcluded = o->excluded.n,
				     .creates = v->creates,
				     .ncreates = o->creates.n };
	if (nic_spec_check(&v->spec, &why) < 0)
		return cli_bad_usage(v->cli, err, "--create: %s", why.msg);
	if (nic_spec_check_cni(o->claim_cni, &why) < 0)
		return cli_bad_usage(v->cli, err, "--claim-cni %s: %s", o->claim_cni, why.msg);
	return 0;
}

static void on_skip(void *arg, const struct nic_create *c, const struct error *why)
{
	struct driver_net *v = arg;

	(void)buf_printf(&v->skipped, "  %s\tskipped\t", nic_kind_name(c->kind));
	if (c->parent[0])
		(void)buf_printf(&v->skipped, "on %s: ", c->parent);
	(void)buf_printf(&v->skipped, "%s\n", why->msg);
}

static int net_start(void *arg, struct driver_role *role, struct error *err)
{
	struct driver_net *v = arg;
	const struct net_options *o = v->options;
	struct nic_driver_opts d = {
		.loop = role->role.loop,
		.log = &role->role.log,
		.metrics = role->metrics,
		.name = o->name,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->driver.root_dir,
		.cdi_dir = o->driver.cdi_dir,
		.cni_path = o->cni_path,
		.claim_cni = o->claim_cni,
		.spec = &v->spec,
		.no_taint = o->driver.no_taint,
		.no_health = o->driver.no_health,
		.timeout_s = (uint32_t)(o->driver.timeout / CLOCK_SEC),
		.heartbeat_ms = (uint32_t)(o->driver.heartbeat / CLOCK_MS),
		.on_skip = on_skip,
		.arg = v,
	};
	int r = read_spec(v, err);

	v->role = role;
	role->kubeconfig = v->options->kubeconfig;
	if (r == 0)
		r = need_capabilities(err);
	if (r < 0)
		return r;
	r = nic_driver_new(&d, &v->driver, err);
	if (r < 0)
		v->cli->bad_usage = true;
	return r < 0 ? r : nic_driver_start(v->driver, err);
}

static int net_check(void *arg, struct error *err)
{
	const struct driver_net *v = arg;

	return nic_driver_check(v->driver, err);
}

static int net_check_registered(void *arg, struct error *err)
{
	const struct driver_net *v = arg;

	return nic_driver_check_registered(v->driver, err);
}

/* --- messages at the start ---------------------------------------------------------------- */

static struct json *list_devices(const struct driver_net *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * MIB);
	struct json *tree = NULL;
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	nic_driver_list(v->driver, &w);
	(void)json_writer_finish(&w);
	(void)json_parse(&v->cli->arena, arena_str(&v->cli->arena, buf_str(&text)), NULL, &tree,
			 NULL);
	return tree;
}

/* "  veth\t2\tveth-0, veth-1" */
static void add_kind(struct buf *out, const struct json *devices, const char *kind)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(4 * KIB);
	size_t n = 0;

	JSON_FOREACH (it, devices) {
		if (!str_eqz(json_text_at(it, "kind"), kind))
			continue;
		if (n++ < NAMED_MAX)
			(void)buf_printf(&names, "%s%.*s", n > 1 ? ", " : "",
					 STR_ARG(json_text_at(it, "device")));
	}
	if (n > NAMED_MAX)
		(void)buf_printf(&names, " and %zu more", n - NAMED_MAX);
	if (n > 0)
		(void)buf_printf(out, "  %s\t%zu\t%s\n", kind, n, names.p);
}

static void net_announce(void *arg, FILE *out)
{
	struct driver_net *v = arg;
	const struct net_options *o = v->options;
	CLEANUP(buf_release) struct buf lines = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf aligned = BUF_INIT(MIB);
	const struct json *devices = list_devices(v);

	for (int kind = NIC_HOST; kind <= NIC_VLAN; kind++)
		add_kind(&lines, devices, nic_kind_name((enum nic_kind)kind));
	if (json_count(devices) == 0)
		(void)buf_addz(&lines,
			       "  no device yet: no interface is left to offer; choose with "
			       "--interface, or --create some\n");
	(void)buf_add_str(&lines, buf_str(&v->skipped));
	tabs_align(&aligned, buf_str(&lines), TABS_DESCRIBE);
	(void)fprintf(out, "devplane driver net runs as %s on node %s in %s\n%.*s",
		      nic_driver_name(v->driver), o->node_name, o->driver.root_dir,
		      STR_ARG(buf_str(&aligned)));
}

static const struct driver_role_ops ops = {
	.start = net_start,
	.announce = net_announce,
	.check = net_check,
	.check_registered = net_check_registered,
	.stop = net_stop,
};

static int net_run(struct cli *cli, struct error *err)
{
	struct driver_net v = { .cli = cli, .options = cli->options, .skipped = BUF_INIT(MIB) };
	int r = driver_role_run(cli, &v.options->driver, &ops, &v, err);

	buf_release(&v.skipped);
	return r;
}

/* --- list --------------------------------------------------------------------------------- */

struct list_options {
	const char *root_dir, *name, *output;
};

static const struct flag list_flags[] = {
	{ "output", 'o', FLAG_STRING(struct list_options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "output format" },
	{ "root-dir", 0, FLAG_STRING(struct list_options, root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet", .help = "the --root-dir of the running driver" },
	{ "name", 0, FLAG_STRING(struct list_options, name), .arg = "DRIVER",
	  .initial = NIC_DRIVER_NAME, .help = "the --name of the running driver" },
	{ NULL },
};

static void net_add_row(struct buf *out, const struct json *device)
{
	static const char *const columns[] = { "device", "kind",  "state",  "interface",
					       "pod",    "claim", "message" };

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		struct str text = json_text_at(device, columns[i]);

		(void)buf_addz(out, i ? "\t" : "");
		output_clean(out, text.n > 0 || i == ARRAY_SIZE(columns) - 1 ? text : STR("-"));
	}
	(void)buf_addc(out, '\n');
}

static void net_print_table(struct cli *cli, const struct json *devices)
{
	CLEANUP(buf_release) struct buf lines = BUF_INIT(64 * MIB);
	CLEANUP(buf_release) struct buf aligned = BUF_INIT(64 * MIB);

	(void)buf_addz(&lines, "DEVICE\tKIND\tSTATE\tINTERFACE\tPOD\tCLAIM\tMESSAGE\n");
	JSON_FOREACH (it, devices)
		net_add_row(&lines, it);
	tabs_align(&aligned, buf_str(&lines), TABS_TABLE);
	output_table(cli, buf_str(&aligned), true);
}

static int run_list(struct cli *cli, struct error *err)
{
	const struct list_options *o = cli->options;
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct ask_socket ask = { .method = STR("GET"), .target = STR("/devices") };
	struct json *devices;
	int r = nic_socket_path(o->root_dir, o->name, &path, err);

	if (r < 0)
		return r;
	if (access(path.p, F_OK) < 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"no `devplane driver net` runs as %s with --root-dir %s; start one, or "
			"name another with --root-dir and --name",
			o->name, o->root_dir);
	ask.path = path.p;
	r = ask_socket_tree(&ask, &cli->arena, &devices, err);
	if (r < 0)
		return r;
	if (strcmp(o->output, "text") != 0)
		return output_tree(cli, o->output, devices, err);
	net_print_table(cli, devices);
	return 0;
}

static const struct command list = {
	.name = "list",
	.summary = "list the devices of a running driver net, and who holds them",
	.examples = "devplane driver net list --root-dir d/n1",
	.flags = list_flags,
	.options_size = sizeof(struct list_options),
	.run = run_list,
};

static const struct command *const rows[] = { &list, NULL };

const struct command cmd_driver_net = {
	.name = "net",
	.summary = "give network interfaces of this node to pods",
	.usage = "[COMMAND] [FLAGS]",
	.about = "A DRA driver for network interfaces. It publishes existing interfaces, and those "
		 "that it can create (--create), in ResourceSlices. A pod with a claim finds its "
		 "interface in its network namespace, with the name, addresses, routes and MTU "
		 "that the claim or its class requests. The claim's status shows what the kernel "
		 "reports, and is kept up to date. Chain the CNI plugin `devplane cni` after the "
		 "cluster's own.\n\n"
		 "It needs root. Link types that the kernel lacks are skipped and logged.\n\n"
		 "SIGTERM stops it cleanly: its sockets are removed, its slices stay, and pods "
		 "keep their interfaces.",
	.examples = "devplane driver net --kubeconfig d/admin.kubeconfig --node-name n1 --root-dir "
		    "d/n1\n"
		    "devplane driver net --node-name n1 --interface 'eth[1-9],ib*' --exclude eth4\n"
		    "devplane driver net --node-name n1 --create veth:8:br0 --create "
		    "macvlan:4:eth1\n"
		    "devplane driver net --node-name n1 --create vlan:100-115:eth1\n"
		    "devplane driver net list --root-dir d/n1",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.flags = flags,
	.options_size = sizeof(struct net_options),
	.run = net_run,
	.subcommands = rows,
};

/*
 * `devplane node`: the node agent. Flags that kubelet has keep its names and meaning. With --nodes
 * COUNT one process is several hollow nodes for scale tests: NAME-0 and so on, each with its own
 * folder, all with one client.
 */
#include <unistd.h>

#include "api/api_limits.h"
#include "api/schema/gates_metrics.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/quantity.h"
#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "cli/commands/commands.h"
#include "cli/program/cli.h"
#include "cli/roles/endpoint.h"
#include "cli/roles/endpoint_guard.h"
#include "cli/roles/node_api.h"
#include "cli/roles/node_attach.h"
#include "cli/roles/node_podres.h"
#include "cli/roles/node_upkeep.h"
#include "cli/roles/role.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "node/agent/agents.h"
#include "node/agent/attached.h"

enum { TIDY_FIRST_MS = 2 * 1000, TIDY_MS = 10 * 1000 };

/* Kubelet's address, and the next port for attach mode beside a kubelet. */
#define ADDRESS        "127.0.0.1:10248"
#define ATTACH_ADDRESS "127.0.0.1:10247"

#define CONTAINERD "/run/containerd/containerd.sock"

struct node_options {
	struct role_options role;
	struct endpoint_guard_options guard;
	const char *kubeconfig, *context, *metrics_address, *node_name, *root_dir;
	const char *endpoint, *runtime, *log_dir, *node_ip;
	const char *cpu_policy, *memory_policy, *topology_policy, *topology_scope, *reserved_cpus;
	const char *sysfs, *procfs, *etc, *resolv_conf, *cluster_domain;
	struct flag_list cluster_dns;
	struct flag_list feature_gates, labels, taints, cdi_dirs, kube_reserved, system_reserved;
	struct flag_list reserved_memory;
	int64_t nodes, max_pods, hollow_cpus, hollow_numa;
	int64_t machine_check, log_interval; /* ns */
	int64_t log_files;
	const char *log_size;
	const char *hollow_memory;
	struct node_podres_options podres;
	struct node_api_options api;
	struct node_upkeep_options upkeep;
	bool attach, seccomp_default;
	struct node_attach_options health; /* of attach mode */
	const char *kubelet_socket;
	int64_t attach_qps, attach_interval; /* ns */
	const char *on_unhealthy;
	int64_t unhealthy_grace; /* ns */
};

static const struct flag flags[] = {
	{ "kubeconfig", 0, FLAG_STRING(struct node_options, kubeconfig), .arg = "FILE",
	  .help = "kubeconfig of the API server; default $KUBECONFIG, ~/.kube/config or the pod's "
		  "service account" },
	{ "context", 0, FLAG_STRING(struct node_options, context), .arg = "NAME",
	  .help = "kubeconfig context to use instead of the current one" },
	{ "node-name", 0, FLAG_STRING(struct node_options, node_name), .arg = "NAME",
	  .help = "name of the Node; default the host name in lower case" },
	{ "root-dir", 0, FLAG_STRING(struct node_options, root_dir), .arg = "DIR",
	  .initial = "/var/lib/kubelet",
	  .help = "folder for the agent's sockets, volumes and state; one agent per folder" },
	{ "container-runtime-endpoint", 0, FLAG_STRING(struct node_options, endpoint),
	  .arg = "SOCKET", .help = "socket of a CRI v1 runtime; default containerd's" },
	{ "runtime", 0, FLAG_STRING(struct node_options, runtime), .choices = "cri|hollow",
	  .initial = "cri", .help = "cri runs containers; hollow only simulates pods" },
	{ "nodes", 0, FLAG_INT(struct node_options, nodes), .arg = "COUNT", .initial = "1",
	  .min = 1, .max = 10000,
	  .help = "number of hollow nodes in this process, named NAME-0, NAME-1 and so on" },
	{ "cdi-dir", 0, FLAG_LIST(struct node_options, cdi_dirs), .arg = "DIR",
	  .help = "folders of CDI files, the last takes precedence; default /etc/cdi and "
		  "/var/run/cdi" },
	{ "pod-logs-dir", 0, FLAG_STRING(struct node_options, log_dir), .arg = "DIR",
	  .initial = "/var/log/pods", .help = "where the runtime writes containers' logs" },
	{ "seccomp-default", 0, FLAG_BOOL(struct node_options, seccomp_default), .initial = "true",
	  .help = "use the runtime's seccomp profile for containers without one" },
	{ "container-log-max-size", 0, FLAG_STRING(struct node_options, log_size), .arg = "SIZE",
	  .initial = "10Mi", .help = "rotate a container's log at this size" },
	{ "container-log-max-files", 0, FLAG_INT(struct node_options, log_files), .arg = "COUNT",
	  .initial = "5", .min = 2, .max = 1000,
	  .help = "maximum number of log files per container" },
	{ "container-log-monitor-interval", 0, FLAG_DURATION(struct node_options, log_interval),
	  .arg = "TIME", .initial = "10s",
	  .help = "interval between checks of log sizes; 0: never" },
	{ "node-ip", 0, FLAG_STRING(struct node_options, node_ip), .arg = "ADDRESS",
	  .help = "IP address of the node; default that of the default route" },
	{ "cluster-dns", 0, FLAG_LIST(struct node_options, cluster_dns), .arg = "ADDRESS",
	  .help = "name servers of pods with dnsPolicy ClusterFirst; default the node's" },
	{ "cluster-domain", 0, FLAG_STRING(struct node_options, cluster_domain), .arg = "DOMAIN",
	  .help = "DNS domain of the cluster, which these pods search first" },
	{ "resolv-conf", 0, FLAG_STRING(struct node_options, resolv_conf), .arg = "FILE",
	  .help = "resolver configuration of the node; default /etc/resolv.conf" },
	{ "node-labels", 0, FLAG_LIST(struct node_options, labels), .arg = "KEY=VALUE",
	  .help = "labels for the Node" },
	{ "register-with-taints", 0, FLAG_LIST(struct node_options, taints),
	  .arg = "KEY=VALUE:EFFECT", .help = "taints for the Node if the agent creates it" },
	{ "max-pods", 0, FLAG_INT(struct node_options, max_pods), .arg = "COUNT", .initial = "110",
	  .min = 1, .max = 10000, .help = "maximum number of pods" },
	{ "on-unhealthy-device", 0, FLAG_STRING(struct node_options, on_unhealthy),
	  .choices = "none|fail|restart|evict", .initial = "none",
	  .help = "action for pods that hold an unhealthy device of a device plugin; a pod's "
		  "annotation devplane.dev/on-unhealthy-device takes precedence" },
	{ "on-unhealthy-device-grace", 0, FLAG_DURATION(struct node_options, unhealthy_grace),
	  .arg = "TIME", .initial = "30s",
	  .help = "how long a device must be unhealthy before that action" },
	{ "cpu-manager-policy", 0, FLAG_STRING(struct node_options, cpu_policy),
	  .choices = "none|static", .initial = "none",
	  .help = "static: Guaranteed pods with whole CPUs get exclusive CPUs" },
	{ "reserved-cpus", 0, FLAG_STRING(struct node_options, reserved_cpus), .arg = "CPUS",
	  .help = "CPUs that are never exclusive to a pod, such as 0-1" },
	{ "memory-manager-policy", 0, FLAG_STRING(struct node_options, memory_policy),
	  .choices = "None|Static", .initial = "None",
	  .help = "Static: memory of Guaranteed pods is pinned to NUMA nodes" },
	{ "reserved-memory", 0, FLAG_REPEAT(struct node_options, reserved_memory),
	  .arg = "NODE:memory=SIZE", .help = "memory of a NUMA node that pods cannot use" },
	{ "topology-manager-policy", 0, FLAG_STRING(struct node_options, topology_policy),
	  .choices = "none|best-effort|restricted|single-numa-node", .initial = "none",
	  .help = "how strictly devices, CPUs and memory are aligned on NUMA nodes" },
	{ "topology-manager-scope", 0, FLAG_STRING(struct node_options, topology_scope),
	  .choices = "container|pod", .initial = "container",
	  .help = "align each container, or each pod as a whole" },
	{ "kube-reserved", 0, FLAG_LIST(struct node_options, kube_reserved), .arg = "NAME=AMOUNT",
	  .help = "cpu and memory to subtract from allocatable" },
	{ "system-reserved", 0, FLAG_LIST(struct node_options, system_reserved),
	  .arg = "NAME=AMOUNT",
	  .help = "cpu and memory to subtract in addition to --kube-reserved" },
	{ "hollow-cpus", 0, FLAG_INT(struct node_options, hollow_cpus), .arg = "COUNT",
	  .initial = "32", .min = 1, .max = 4096, .help = "CPUs of a hollow node" },
	{ "hollow-memory", 0, FLAG_STRING(struct node_options, hollow_memory), .arg = "AMOUNT",
	  .initial = "256Gi", .help = "memory of a hollow node" },
	{ "hollow-numa-nodes", 0, FLAG_INT(struct node_options, hollow_numa), .arg = "COUNT",
	  .initial = "1", .min = 1, .max = 64, .help = "NUMA nodes of a hollow node" },
	{ "sysfs-root", 0, FLAG_STRING(struct node_options, sysfs), .arg = "DIR",
	  .help = "sysfs folder to read CPUs and NUMA nodes from; default /sys; a hollow node "
		  "simulates them" },
	{ "procfs-root", 0, FLAG_STRING(struct node_options, procfs), .arg = "DIR",
	  .help = "procfs folder to read memory from; default /proc; a hollow node simulates it" },
	{ "machine-check-period", 0, FLAG_DURATION(struct node_options, machine_check),
	  .arg = "TIME", .initial = "10s",
	  .help = "interval between checks for hot-plugged CPUs and memory; 0: never" },
	{ "etc-root", 0, FLAG_STRING(struct node_options, etc), .arg = "DIR", .initial = "/etc",
	  .help = "folder of machine-id and os-release" },
	{ "metrics-bind-address", 0, FLAG_STRING(struct node_options, metrics_address),
	  .arg = "ADDRESS",
	  .help = "address that serves /healthz, /readyz and /metrics; " ADDRESS
		  " by default, " ATTACH_ADDRESS
		  " with --attach; port 0 picks a free one, \"0\" disables it" },
	ENDPOINT_GUARD_FLAGS(struct node_options, guard),
	{ "feature-gates", 0, FLAG_LIST(struct node_options, feature_gates), .arg = "NAME=BOOL",
	  .help = "switch features on or off, such as ResourceHealthStatus=false" },
	NODE_API_FLAGS(struct node_options, api),
	NODE_PODRES_FLAGS(struct node_options, podres),
	NODE_UPKEEP_FLAGS(struct node_options, upkeep),
	{ "attach", 0, FLAG_BOOL(struct node_options, attach),
	  .help = "run no pods: follow the kubelet in --root-dir, serve the PodResources watch for "
		  "it, and report the health of devices" },
	{ "kubelet-socket", 0, FLAG_STRING(struct node_options, kubelet_socket), .arg = "PATH",
	  .help = "with --attach: the kubelet's PodResources socket; default "
		  "pod-resources/kubelet.sock below --root-dir" },
	{ "attach-qps", 0, FLAG_INT(struct node_options, attach_qps), .arg = "COUNT",
	  .initial = "10", .min = 1, .max = 100,
	  .help = "with --attach: maximum calls per second to the kubelet" },
	{ "attach-interval", 0, FLAG_DURATION(struct node_options, attach_interval), .arg = "TIME",
	  .initial = "10s",
	  .help = "with --attach: interval between calls to the kubelet when nothing seems to "
		  "change" },
	NODE_ATTACH_FLAGS(struct node_options, health),
	ROLE_FLAGS(struct node_options, role),
	{ NULL },
};

struct node {
	struct cli *cli;
	const struct node_options *options;
	struct role role;
	struct arena arena;
	struct kubeconfig kubeconfig;
	struct client *client;
	struct metrics *metrics;
	struct endpoint *endpoint; /* NULL: disabled */
	struct agents *agents; /* NULL: attach mode, or not started */
	struct attached *attached; /* NULL: not attach mode */
	const char *kubelet_socket, *attach_socket; /* for attach mode */
	struct beside_opts beside; /* the same */
	struct agent_opts opts;
	struct loop_timer tidy; /* returns unused memory to the system */
	struct error failure; /* why it could not start */
	bool stopping;
};

/* --- options ---------------------------------------------------------------------- */

static int read_gates(struct node *v, struct error *err)
{
	const struct flag_list *list = &v->options->feature_gates;
	struct error why;

	gates_init(&v->opts.gates);
	for (size_t i = 0; i < list->n; i++) {
		if (gates_set(&v->opts.gates, str_from(list->v[i]), &why) < 0)
			return cli_bad_usage(v->cli, err, "--feature-gates: %s", why.msg);
	}
	return 0;
}

/* "cpu=500m", "memory=1Gi". Other resources are accepted but ignored, as kubelet may have them. */
static int read_reserved(struct node *v, const char *flag, const struct flag_list *list,
			 struct error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct str value = str_from(list->v[i]), name;
		struct quantity q;

		if (!str_split(&value, '=', &name) || quantity_parse(value, &q, NULL) < 0)
			return cli_bad_usage(v->cli, err, "--%s: \"%s\" is not NAME=AMOUNT", flag,
					     list->v[i]);
		if (str_eqz(name, "cpu"))
			v->opts.reserved_cpu_milli += quantity_milli(q);
		else if (str_eqz(name, "memory"))
			v->opts.reserved_memory += quantity_value(q);
		else if (!str_eqz(name, "ephemeral-storage") && !str_eqz(name, "pid"))
			return cli_bad_usage(v->cli, err, "--%s: \"%.*s\" cannot be reserved", flag,
					     STR_ARG(name));
	}
	return 0;
}

/* "0:memory=1Gi". */
static int read_reserved_memory(struct node *v, struct error *err)
{
	const struct flag_list *list = &v->options->reserved_memory;
	int64_t *bytes = arena_calloc(&v->arena, 64 * sizeof(*bytes));

	for (size_t i = 0; i < list->n; i++) {
		struct str rest = str_from(list->v[i]), node, name;
		struct quantity q;
		int64_t id;

		if (!str_split(&rest, ':', &node) || !str_split(&rest, '=', &name) ||
		    !str_to_i64(node, &id) || id < 0 || id >= 64 || !str_eqz(name, "memory") ||
		    quantity_parse(rest, &q, NULL) < 0)
			return cli_bad_usage(v->cli, err,
					     "--reserved-memory: \"%s\" is not NODE:memory=SIZE",
					     list->v[i]);
		bytes[id] += quantity_value(q);
	}
	v->opts.assign.reserved_memory = bytes;
	v->opts.assign.nreserved_memory = 64;
	return 0;
}

static int read_policies(struct node *v, struct error *err)
{
	static const char *const names[] = { "none", "best-effort", "restricted",
					     "single-numa-node" };
	const struct node_options *o = v->options;
	struct assign_opts *s = &v->opts.assign;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(o->topology_policy, names[i]) == 0)
			s->topology = (enum topology_policy)i;
	}
	s->topology_pod_scope = strcmp(o->topology_scope, "pod") == 0;
	s->static_cpus = strcmp(o->cpu_policy, "static") == 0;
	s->static_memory = strcmp(o->memory_policy, "Static") == 0;
	s->reserved_cpus = o->reserved_cpus ? str_from(o->reserved_cpus) : STR_NULL;
	return read_reserved_memory(v, err);
}

static int read_runtime(struct node *v, struct error *err)
{
	const struct node_options *o = v->options;
	struct quantity q;

	if (o->attach) {
		if (o->endpoint || o->nodes > 1 || strcmp(o->runtime, "hollow") == 0)
			return cli_bad_usage(v->cli, err,
					     "--attach runs no pods: remove --runtime hollow, "
					     "--nodes and --container-runtime-endpoint");
		return 0;
	}
	if (o->kubelet_socket)
		return cli_bad_usage(v->cli, err, "--kubelet-socket needs --attach");
	if (o->nodes > 1 && o->podres.socket)
		return cli_bad_usage(v->cli, err,
				     "--pod-resources-socket and --nodes exclude each other: each "
				     "node has its own socket");
	if (strcmp(o->runtime, "hollow") == 0) {
		if (o->endpoint)
			return cli_bad_usage(v->cli, err,
					     "--container-runtime-endpoint and --runtime hollow "
					     "exclude each other");
		if (quantity_parse(str_from(o->hollow_memory), &q, NULL) < 0)
			return cli_bad_usage(v->cli, err,
					     "--hollow-memory: \"%s\" is not a quantity such as "
					     "16Gi",
					     o->hollow_memory);
		v->opts.hollow_memory = quantity_value(q);
		v->opts.hollow_cpus = o->hollow_cpus;
		v->opts.hollow_numa = o->hollow_numa;
		return 0;
	}
	if (o->nodes > 1)
		return cli_bad_usage(v->cli, err, "--nodes above 1 needs --runtime hollow");
	if (!o->endpoint && access(CONTAINERD, F_OK) < 0)
		return cli_bad_usage(v->cli, err,
				     "no container runtime at " CONTAINERD
				     ": name one with --container-runtime-endpoint, or use "
				     "--runtime hollow to only simulate pods");
	v->opts.runtime_endpoint = o->endpoint ? o->endpoint : "unix://" CONTAINERD;
	return 0;
}

static int read_logs(struct node *v, struct error *err)
{
	const struct node_options *o = v->options;
	struct quantity q;

	if (quantity_parse(str_from(o->log_size), &q, NULL) < 0 || quantity_value(q) <= 0)
		return cli_bad_usage(v->cli, err,
				     "--container-log-max-size: \"%s\" is not a quantity such as "
				     "10Mi",
				     o->log_size);
	v->opts.logs = (struct agent_log_opts){ .max_size = quantity_value(q),
						.max_files = (size_t)o->log_files,
						.interval_ms = o->log_interval / CLOCK_MS };
	return 0;
}

static int read_name(struct node *v, struct error *err)
{
	char host[256] = "";

	if (v->options->node_name) {
		v->opts.node_name = v->options->node_name;
		return 0;
	}
	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		return cli_bad_usage(v->cli, err, "the host has no name: set --node-name");
	v->opts.node_name = arena_strdup(&v->arena, arena_lower(&v->arena, str_from(host)));
	return 0;
}

static int read_options(struct node *v, struct error *err)
{
	static const char *const cdi_dirs[] = { "/etc/cdi", "/var/run/cdi" };
	const struct node_options *o = v->options;
	int r;

	v->opts.root_dir = o->root_dir;
	v->opts.log_root = o->log_dir;
	v->opts.node_ip = o->node_ip;
	v->opts.no_seccomp_default = !o->seccomp_default;
	(void)device_policy_parse(str_from(o->on_unhealthy), &v->opts.device_policy.action);
	v->opts.device_policy.grace_ms = o->unhealthy_grace / CLOCK_MS;
	v->opts.resolv_conf = o->resolv_conf;
	v->opts.cluster_domain = o->cluster_domain;
	v->opts.cluster_dns = o->cluster_dns.v;
	v->opts.ncluster_dns = o->cluster_dns.n;
	v->opts.sysfs = o->sysfs;
	v->opts.procfs = o->procfs;
	v->opts.etc = o->etc;
	v->opts.machine_check_ms = o->machine_check / CLOCK_MS;
	v->opts.labels = o->labels.v;
	v->opts.nlabels = o->labels.n;
	v->opts.taints = o->taints.v;
	v->opts.ntaints = o->taints.n;
	v->opts.max_pods = o->max_pods;
	v->opts.cdi_dirs = o->cdi_dirs.n > 0 ? (struct cdi_dirs){ o->cdi_dirs.v, o->cdi_dirs.n }
					     : (struct cdi_dirs){ cdi_dirs, ARRAY_SIZE(cdi_dirs) };
	r = read_gates(v, err);
	if (r == 0)
		r = read_runtime(v, err);
	if (r == 0)
		r = node_podres_read(v->cli, &o->podres, &v->opts.podres, err);
	if (r == 0)
		r = node_api_read(v->cli, &o->api, !v->opts.runtime_endpoint, o->nodes > 1,
				  &v->opts.api, err);
	if (r == 0)
		r = node_upkeep_read(v->cli, &o->upkeep, &v->opts, err);
	if (r == 0)
		r = node_attach_read(v->cli, &o->health, o->attach, &v->arena, &v->beside, err);
	if (r == 0)
		r = read_logs(v, err);
	if (r == 0)
		r = read_policies(v, err);
	if (r == 0)
		r = read_reserved(v, "kube-reserved", &o->kube_reserved, err);
	if (r == 0)
		r = read_reserved(v, "system-reserved", &o->system_reserved, err);
	return r < 0 ? r : read_name(v, err);
}

/* --- health ----------------------------------------------------------------------- */

static int check_alive(void *arg, struct error *err)
{
	const struct node *v = arg;

	return v->agents ? agents_check(v->agents, err) : 0;
}

static int node_check_ready(void *arg, struct error *err)
{
	const struct node *v = arg;

	if (v->stopping)
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	if (v->attached)
		return attached_check(v->attached, err);
	return v->agents ? agents_check_ready(v->agents, err) : 0;
}

static const struct endpoint_check checks[] = {
	{ .name = "agent", .run = check_alive },
	{ .name = "node-ready", .ready_only = true, .run = node_check_ready },
	{ NULL },
};

static int check_socket(void *arg, struct error *err)
{
	const struct node *v = arg;

	return v->attached && !v->stopping ? attached_check_socket(v->attached, err) : 0;
}

static void note_socket(void *arg, struct buf *out)
{
	const struct node *v = arg;

	(void)buf_printf(out, "connected to %s", v->kubelet_socket);
}

static int check_registry(void *arg, struct error *err)
{
	const struct node *v = arg;

	return v->attached && !v->stopping ? attached_check_registry(v->attached, err) : 0;
}

static void note_registry(void *arg, struct buf *out)
{
	const struct node *v = arg;
	int n = v->attached && !v->stopping ? attached_drivers(v->attached) : -1;

	if (n < 0)
		(void)buf_addz(out, "not read: the health of devices is not followed");
	else
		(void)buf_printf(out, "%d DRA driver%s in %s/plugins_registry", n,
				 n == 1 ? "" : "s", v->options->root_dir);
}

/* For attach mode. The first row that fails has the cause, so sockets come before "node-ready". */
static const struct endpoint_check attach_checks[] = {
	{ .name = "kubelet-socket", .ready_only = true, .run = check_socket, .note = note_socket },
	{ .name = "plugin-registry",
	  .ready_only = true,
	  .run = check_registry,
	  .note = note_registry },
	{ .name = "node-ready", .ready_only = true, .run = node_check_ready },
	{ NULL },
};

/* --- life ------------------------------------------------------------------------- */

static void on_tidy(struct loop_timer *t)
{
	mem_tidy();
	loop_timer_start(t, TIDY_MS);
}

/* Connections free their memory in the loop's next turn. */
static void on_silent(void *arg)
{
	struct node *v = arg;

	agents_free(TAKE(v->agents));
	attached_free(TAKE(v->attached));
	client_free(TAKE(v->client));
	loop_timer_stop(&v->tidy);
	endpoint_free(TAKE(v->endpoint));
	role_stop_soon(&v->role);
}

static void node_on_stopped(void *arg)
{
	struct node *v = arg;

	endpoint_stop(v->endpoint, on_silent, v);
}

static void node_on_stop(void *arg)
{
	struct node *v = arg;

	if (v->stopping)
		return;
	v->stopping = true;
	if (v->agents)
		agents_stop(v->agents, node_on_stopped, v);
	else if (v->attached)
		attached_stop(v->attached, node_on_stopped, v);
	else
		node_on_stopped(v);
}

/* Serves from the kubelet's folder, so that clients that mount it find both sockets. */
static int start_attached(struct node *v, struct error *err)
{
	const struct node_options *o = v->options;
	struct attached_opts n = { .attach = { .loop = v->role.loop,
					       .client = v->client,
					       .node_name = v->opts.node_name,
					       .calls_per_s = (double)o->attach_qps,
					       .idle_ms = o->attach_interval / CLOCK_MS,
					       .metrics = v->metrics,
					       .log = &v->role.log },
				   .server = v->opts.podres,
				   .health = v->beside,
				   .no_health = !gates_on(&v->opts.gates,
							  GATE_ResourceHealthStatus) };
	const char *folder = arena_printf(&v->arena, "%s/pod-resources", o->root_dir);

	v->kubelet_socket = o->kubelet_socket ? o->kubelet_socket
					      : arena_printf(&v->arena, "%s/kubelet.sock", folder);
	v->attach_socket = o->podres.socket ? o->podres.socket
					    : arena_printf(&v->arena, "%s/devplane.sock", folder);
	if (strcmp(v->kubelet_socket, v->attach_socket) == 0)
		return cli_bad_usage(v->cli, err, "--pod-resources-socket: %s is the kubelet's own",
				     v->attach_socket);
	n.attach.kubelet_socket = v->kubelet_socket;
	n.health.root_dir = o->root_dir;
	n.health.messages = gates_on(&v->opts.gates, GATE_ResourceHealthStatusMessage);
	n.server.loop = v->role.loop;
	n.server.path = v->attach_socket;
	n.server.watch = gates_on(&v->opts.gates, GATE_KubeletPodResourcesWatch);
	n.server.metrics = v->metrics;
	n.server.log = &v->role.log;
	return attached_new(&n, &v->attached, err);
}

static int node_start(struct node *v, struct error *err)
{
	const struct node_options *o = v->options;
	struct kubeconfig_opts k = { .path = o->kubeconfig, .context = o->context };
	struct client_opts c = { .config = &v->kubeconfig, .role = "node", .metrics = v->metrics };
	struct endpoint_opts e = { .loop = v->role.loop,
				   .address = o->metrics_address ? o->metrics_address
					      : o->attach        ? ATTACH_ADDRESS
								 : ADDRESS,
				   .checks = o->attach ? attach_checks : checks,
				   .arg = v,
				   .metrics = v->metrics,
				   .kubeconfig = &v->kubeconfig,
				   .guard = &o->guard,
				   .log = &v->role.log };
	int r;

	r = read_options(v, err);
	if (r == 0)
		r = kubeconfig_load(&v->kubeconfig, &k, err);
	if (r == 0)
		r = gates_metrics_register(v->metrics, &v->opts.gates, err);
	if (r == 0)
		r = client_new(v->role.loop, &c, &v->client, err);
	if (r == 0 && strcmp(e.address, "0") != 0)
		r = endpoint_new(&e, &v->endpoint, err);
	if (r < 0)
		return r;
	v->opts.loop = v->role.loop;
	v->opts.client = v->client;
	v->opts.metrics = v->metrics;
	v->opts.log = &v->role.log;
	if (o->attach)
		return start_attached(v, err);
	r = agents_new(&v->opts, (size_t)o->nodes, &v->agents, err);
	return r < 0 ? r : agents_start(v->agents, err);
}

static void announce_attached(struct node *v)
{
	(void)fprintf(v->cli->out, "devplane node is attached to the kubelet of %s, for %.*s\n",
		      v->opts.node_name, STR_ARG(v->kubeconfig.server));
	(void)fprintf(v->cli->out, "  asks at %s\n", v->kubelet_socket);
	(void)fprintf(v->cli->out, "  PodResources with watch at %s\n", v->attach_socket);
}

static void announce_agents(struct node *v)
{
	const struct node_options *o = v->options;

	if (o->nodes > 1)
		(void)fprintf(v->cli->out,
			      "devplane node is %d hollow nodes, %s-0 and on, for %.*s\n",
			      (int)o->nodes, v->opts.node_name, STR_ARG(v->kubeconfig.server));
	else
		(void)fprintf(v->cli->out, "devplane node %s runs for %.*s\n", v->opts.node_name,
			      STR_ARG(v->kubeconfig.server));
	if (v->opts.runtime_endpoint)
		(void)fprintf(v->cli->out, "  containers by %s\n", v->opts.runtime_endpoint);
	else
		(void)fprintf(v->cli->out, "  hollow: runs no containers, only simulates pods\n");
	(void)fprintf(v->cli->out, "  plugins and drivers below %s\n", v->opts.root_dir);
	if (agents_api_addr(v->agents))
		(void)fprintf(v->cli->out, "  kubelet API at https://%s\n",
			      agents_api_addr(v->agents)->text);
}

static void node_announce(struct node *v)
{
	if (v->attached)
		announce_attached(v);
	else
		announce_agents(v);
	endpoint_announce(v->endpoint, v->cli->out);
	(void)fflush(v->cli->out);
	role_ready(&v->role);
}

static int node(struct node *v, struct error *err)
{
	struct error why;
	int r;

	if (node_start(v, &why) < 0) {
		v->failure = why;
		node_on_stop(v);
	} else {
		node_announce(v);
	}
	r = role_run(&v->role, err);
	return r != 0 || v->failure.code == ERR_OK ? r : error_copy(err, &v->failure);
}

static int node_run(struct cli *cli, struct error *err)
{
	struct node v = { .cli = cli, .options = cli->options };
	int r;

	r = role_init(&v.role, &v.options->role, node_on_stop, &v, err);
	if (r < 0)
		return r;
	arena_init(&v.arena, REQUEST_WORK_MAX);
	v.metrics = metrics_new();
	(void)metrics_process_register(v.metrics, NULL);
	loop_timer_init(&v.tidy, v.role.loop, on_tidy);
	loop_timer_start(&v.tidy, TIDY_FIRST_MS);
	r = node(&v, err);
	endpoint_free(v.endpoint);
	metrics_free(v.metrics);
	kubeconfig_release(&v.kubeconfig);
	role_release(&v.role);
	arena_release(&v.arena);
	return r;
}

static const struct command_note files[] = {
	{ "/var/lib/kubelet/", "the default --root-dir" },
	{ "/run/containerd/containerd.sock", "the default --container-runtime-endpoint" },
	{ "/etc/cdi/, /var/run/cdi/", "descriptions of devices for containers (CDI)" },
	{ "/etc/devplane/node.kubeconfig", "the kubeconfig of the systemd unit" },
	{ "/etc/default/devplane-node", "DEVPLANE_ARGS: more flags for the systemd unit" },
	{ NULL },
};

const struct command cmd_node = {
	.name = "node",
	.summary = "run the pods of a node, with device plugins, DRA drivers and device health",
	.group = COMMAND_ROLE,
	.about = "The device side of a kubelet, for a devplane server or kube-apiserver. It "
		 "registers the node, runs its pods with a CRI runtime, gives them devices of "
		 "device plugins and DRA drivers, and writes the health of each device into the "
		 "status of the pods that hold it.\n\n"
		 "Below --root-dir: device-plugins/kubelet.sock, where device plugins register; "
		 "plugins_registry/, where DRA drivers put their sockets; "
		 "pod-resources/kubelet.sock, where monitoring agents list and watch the devices "
		 "of pods; pki/, the certificate of the kubelet's API; and the state that survives "
		 "restarts.\n\n"
		 "On --address and --port it serves the kubelet's API over HTTPS: logs, exec, "
		 "attach, port-forward, pods, metrics. Callers authenticate with a client "
		 "certificate signed by --client-ca-file, or with a bearer token that the API "
		 "server accepts. The API server authorizes each request.\n\n"
		 "With --attach it runs no pods and follows a kubelet instead: it calls the "
		 "kubelet's PodResources socket when pods of this node change, and serves the "
		 "watch that the kubelet does not have. SIGTERM stops the agent; pods keep "
		 "running, and the next agent finds them.",
	.examples = "  devplane node --kubeconfig d/admin.kubeconfig --node-name n1 --root-dir n1\n"
		    "  devplane node --kubeconfig d/admin.kubeconfig --node-name hollow \\\n"
		    "    --root-dir h --runtime hollow --nodes 100\n"
		    "  devplane node --attach --kubeconfig /etc/kubernetes/kubelet.conf\n",
	.exit_status = role_exit_status,
	.environment = role_environment,
	.files = files,
	.flags = flags,
	.options_size = sizeof(struct node_options),
	.run = node_run,
};

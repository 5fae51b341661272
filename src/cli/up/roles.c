/*
 * Leader election is off while everything is in one folder: the lock ensures that there is one of
 * each role, and a restarted role need not wait for the lease of the one that died. Servers that
 * share an etcd may have controllers and schedulers elsewhere, so there it is on.
 */
#include "cli/up/roles.h"

#include "base/core/vec.h"
#include "controller/run/controller.h"

enum { WORDS_MAX = 256 };

struct words {
	struct arena *arena;
	VEC(const char *) v;
};

static void roles_add(struct words *w, const char *word)
{
	(void)vec_push(&w->v, word);
}

static void add_flag(struct words *w, const char *name, const char *value)
{
	roles_add(w, arena_printf(w->arena, "--%s=%s", name, value));
}

static void roles_add_number(struct words *w, const char *name, int64_t value)
{
	roles_add(w, arena_printf(w->arena, "--%s=%lld", name, (long long)value));
}

static void roles_add_list(struct words *w, const char *name, const struct flag_list *list)
{
	for (size_t i = 0; list && i < list->n; i++)
		add_flag(w, name, list->v[i]);
}

static void add_identity(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	add_flag(w, "kubeconfig", up_layout_kubeconfig(&p->layout, r->name));
	add_flag(w, "metrics-bind-address", "127.0.0.1:0");
}

const char *up_role_served_node(const struct up_plan *p, const struct up_role *r)
{
	if (r->kind == UP_HOLLOW && p->hollow == 1)
		return arena_printf(p->arena, "%s-0", r->node);
	return r->kind == UP_NODE ? r->node : NULL;
}

/* --- a row for each kind -------------------------------------------------------------------- */

static void server_words(struct words *w, const struct up_plan *p, const struct up_role *r UNUSED)
{
	roles_add(w, "server");
	add_flag(w, "data-dir", p->layout.dir);
	add_flag(w, "bind-address", p->bind_address);
	roles_add_number(w, "secure-port", p->port);
	/* The supervisor writes it: the server may not write to its folder. */
	roles_add(w, "--write-kubeconfig=false");
	/* The server may not start processes. */
	roles_add(w, "--ui-explain=supervisor");
	roles_add_list(w, "etcd-servers", p->etcd_servers);
	roles_add_list(w, "feature-gates", p->feature_gates);
	/* The names of its nodes need not be in DNS, but their certificates contain them. */
	add_flag(w, "kubelet-preferred-address-types", "InternalIP,Hostname");
	if (!p->any_kubelet) {
		add_flag(w, "kubelet-certificate-authority", up_layout_ca(&p->layout));
		roles_add(w, "--kubelet-certificate-names");
	}
}

static void elected_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	add_identity(w, p, r);
	if (!p->etcd_servers || p->etcd_servers->n == 0)
		roles_add(w, "--leader-elect=false");
	roles_add_list(w, "feature-gates", p->feature_gates);
}

/* A list for --controllers, without those that the other program runs. */
static const char *controllers(const struct up_plan *p, const char *list, bool leave_out)
{
	for (const struct controller_name *n = controller_names(); leave_out && n->name; n++)
		if (n->upstream)
			list = arena_printf(p->arena, "%s,-%s", list, n->name);
	return list;
}

static void controller_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	roles_add(w, "controller");
	add_flag(w, "controllers",
		 controllers(p, "*,device-health-taints,device-history",
			     p->controller_manager && p->prefer_upstream));
	elected_words(w, p, r);
}

/*
 * It gets no private key: neither the one that signs tokens nor the CA's. So it fills no Secrets
 * with tokens and signs no certificates.
 */
static void controller_manager_words(struct words *w, const struct up_plan *p,
				     const struct up_role *r)
{
	const char *kubeconfig = up_layout_kubeconfig(&p->layout, r->name);

	add_flag(w, "kubeconfig", kubeconfig);
	add_flag(w, "authentication-kubeconfig", kubeconfig);
	add_flag(w, "authorization-kubeconfig", kubeconfig);
	add_flag(w, "bind-address", "127.0.0.1");
	roles_add_number(w, "secure-port", p->ports[0]);
	add_flag(w, "root-ca-file", up_layout_ca(&p->layout));
	add_flag(w, "use-service-account-credentials", "true");
	add_flag(w, "controllers", controllers(p, "*", !p->prefer_upstream));
	/* The server learns from its lease that it runs. A new process takes over soon. */
	add_flag(w, "leader-elect-lease-duration", "6s");
	add_flag(w, "leader-elect-renew-deadline", "4s");
	add_flag(w, "leader-elect-retry-period", "1s");
}

/* It leaves the kernel's limits of connections as they are. */
static void kube_proxy_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	add_flag(w, "kubeconfig", up_layout_kubeconfig(&p->layout, r->name));
	add_flag(w, "hostname-override", r->node);
	add_flag(w, "healthz-bind-address", arena_printf(w->arena, "127.0.0.1:%d", p->ports[0]));
	add_flag(w, "metrics-bind-address", arena_printf(w->arena, "127.0.0.1:%d", p->ports[1]));
	add_flag(w, "conntrack-max-per-core", "0");
	add_flag(w, "conntrack-tcp-timeout-established", "0s");
	add_flag(w, "conntrack-tcp-timeout-close-wait", "0s");
}

const char *up_role_health(const struct up_plan *p, const struct up_role *r)
{
	return r->program ? arena_printf(p->arena, "%s://127.0.0.1:%d",
					 r->kind == UP_KUBE_PROXY ? "http" : "https", p->ports[0])
			  : NULL;
}

static void scheduler_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	roles_add(w, "scheduler");
	if (p->scheduler_config)
		add_flag(w, "config", p->scheduler_config);
	elected_words(w, p, r);
}

/*
 * Uses free ports, so that clusters can run side by side; the Node's status publishes them. A
 * hollow node listens on this machine only.
 */
static void add_api(struct words *w, const struct up_plan *p, const struct up_role *r, bool hollow)
{
	add_flag(w, "port", "0");
	add_flag(w, "client-ca-file", up_layout_ca(&p->layout));
	add_flag(w, "tls-cert-file", up_layout_serving(&p->layout, r->name));
	add_flag(w, "tls-private-key-file", up_layout_serving(&p->layout, r->name));
	if (hollow) {
		add_flag(w, "address", "127.0.0.1");
		add_flag(w, "node-ip", "127.0.0.1");
	}
}

static void node_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	roles_add(w, "node");
	add_flag(w, "node-name", r->node);
	add_flag(w, "root-dir", up_layout_node(&p->layout, r->node));
	add_identity(w, p, r);
	if (r->runtime) {
		add_flag(w, "container-runtime-endpoint", p->runtime_endpoint);
	} else {
		add_flag(w, "runtime", "hollow");
		add_flag(w, "cdi-dir", p->layout.cdi);
	}
	add_api(w, p, r, !r->runtime);
	roles_add_list(w, "feature-gates", p->feature_gates);
}

/* A single node gets its full name here; `devplane node` appends numbers only to several. */
static void hollow_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	const char *root = up_layout_node(&p->layout, r->node);
	const char *name = up_role_served_node(p, r);
	bool one = name != NULL;

	roles_add(w, "node");
	add_flag(w, "node-name", one ? name : r->node);
	add_flag(w, "root-dir", one ? arena_printf(w->arena, "%s/0", root) : root);
	roles_add_number(w, "nodes", p->hollow);
	add_flag(w, "runtime", "hollow");
	add_flag(w, "cdi-dir", p->layout.cdi);
	add_identity(w, p, r);
	if (one)
		add_api(w, p, r, true);
	roles_add_list(w, "feature-gates", p->feature_gates);
}

static const char *const demo_nodes[2] = { "demo-0", "demo-1" };

enum { DEMO_FABRIC = 2 }; /* devices that both nodes of the demo reach */

static void driver_words(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	roles_add(w, "driver");
	roles_add(w, "sim");
	add_flag(w, "kind", r->simulates ? r->simulates : r->device);
	roles_add_number(w, "devices", r->devices);
	if (r->simulates)
		add_flag(w, "name", up_driver_name(p, r));
	if (r->partitions)
		roles_add(w, "--partitions");
	if (r->shares)
		roles_add(w, "--shares");
	if (r->fabric) {
		roles_add_number(w, "fabric", DEMO_FABRIC);
		add_flag(w, "fabric-publisher", demo_nodes[0]);
	}
	add_flag(w, "node-name", r->node);
	add_flag(w, "root-dir", up_layout_node(&p->layout, r->node));
	add_flag(w, "cdi-dir", p->layout.cdi);
	add_identity(w, p, r);
}

static const struct kind {
	void (*words)(struct words *w, const struct up_plan *p, const struct up_role *r);
	const char *user_name, *group; /* %s is the node */
	const char *account; /* %s is the kind of devices */
	const char *syscalls;
	int user; /* an enum up_number; 0: no user, or one for each role */
} kinds[UP_KINDS] = {
	[UP_SERVER] = { server_words, .syscalls = "server", .user = UP_SERVER_USER },
	[UP_CONTROLLER] = { controller_words, .user_name = "system:devplane-controller",
			    .syscalls = "controller", .user = UP_CONTROLLER_USER },
	[UP_CONTROLLER_MANAGER] = { controller_manager_words,
				    .user_name = "system:kube-controller-manager",
				    .syscalls = "all", .user = UP_CONTROLLER_MANAGER_USER },
	[UP_KUBE_PROXY] = { kube_proxy_words, .user_name = "system:kube-proxy", .syscalls = "all" },
	[UP_SCHEDULER] = { scheduler_words, .user_name = "system:kube-scheduler",
			   .syscalls = "scheduler", .user = UP_SCHEDULER_USER },
	/*
	 * Agents stay root, like kubelets: third-party drivers create sockets that only root can
	 * use.
	 */
	[UP_NODE] = { node_words, "system:node:%s", "system:nodes", .syscalls = "node" },
	[UP_HOLLOW] = { hollow_words, .user_name = "system:devplane-hollow-nodes",
			.syscalls = "node" },
	[UP_DRIVER] = { driver_words, .account = "devplane-sim-%s", .syscalls = "driver" },
	[UP_EXPLAIN] = { .syscalls = "explain", .user = UP_EXPLAIN_USER },
};

const struct up_role up_explain_role = {
	.name = "explain", .kind = UP_EXPLAIN, .user = UP_EXPLAIN_USER, .place = -1
};

/* --- the plan -------------------------------------------------------------------------------- */

static struct up_role *add_role(struct up_plan *p, enum up_kind kind, const char *name)
{
	struct up_role *r = &p->roles[p->n++];

	*r = (struct up_role){ .name = name, .kind = kind, .user = kinds[kind].user, .place = -1 };
	return r;
}

static void add_demo_nodes(struct up_plan *p)
{
	for (int i = 0; i < 2; i++) {
		struct up_role *r = add_role(p, UP_NODE,
					     arena_printf(p->arena, "node-%s", demo_nodes[i]));

		r->node = demo_nodes[i];
		r->place = i;
	}
}

static void add_demo_driver(struct up_plan *p, const struct up_role *like, int place, int user)
{
	const char *node = demo_nodes[place];
	struct up_role *r = add_role(p, UP_DRIVER,
				     arena_printf(p->arena, "driver-%s-%s", like->device, node));
	const char *name = r->name;

	*r = *like;
	r->name = name;
	r->kind = UP_DRIVER;
	r->node = node;
	r->place = place;
	r->user = UP_DRIVER_USERS + user;
}

static void add_demo_drivers(struct up_plan *p)
{
	static const struct up_role plain[] = { { .device = "gpu", .devices = 4 },
						{ .device = "nic", .devices = 2 } };
	static const struct up_role fpga = {
		.device = "fpga", .devices = 1, .shares = true, .fabric = true
	};
	static const struct up_role mig = {
		.device = "mig", .devices = 1, .simulates = "gpu", .partitions = true
	};
	int user = 0;

	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < ARRAY_SIZE(plain); j++)
			add_demo_driver(p, &plain[j], i, user++);
	if (!p->varied)
		return;
	for (int i = 0; i < 2; i++)
		add_demo_driver(p, &fpga, i, user++);
	add_demo_driver(p, &mig, 1, user);
}

void up_plan_roles(struct up_plan *p)
{
	struct up_role *r;

	p->roles = ARENA_ARRAY(p->arena, struct up_role, 16);
	(void)add_role(p, UP_SERVER, "server");
	(void)add_role(p, UP_CONTROLLER, "controller");
	if (p->controller_manager)
		add_role(p, UP_CONTROLLER_MANAGER, "controller-manager")->program =
			p->controller_manager;
	(void)add_role(p, UP_SCHEDULER, "scheduler");
	if (p->kube_proxy) {
		r = add_role(p, UP_KUBE_PROXY, "kube-proxy");
		r->program = p->kube_proxy;
		r->node = p->local_node;
	}
	if (p->local_node) {
		r = add_role(p, UP_NODE, "node");
		r->node = p->local_node;
		r->runtime = p->runtime_endpoint != NULL;
	}
	if (p->demo)
		add_demo_nodes(p);
	if (p->hollow > 0)
		add_role(p, UP_HOLLOW, "hollow")->node = "hollow";
	if (p->demo)
		add_demo_drivers(p);
}

size_t up_plan_nodes(const struct up_plan *p)
{
	return (size_t)p->hollow + (p->local_node ? 1 : 0) + (p->demo ? 2 : 0);
}

const char *const *up_role_words(const struct up_plan *p, const struct up_role *r)
{
	struct words w = { .arena = p->arena };
	const char **copy;

	vec_init(&w.v, WORDS_MAX);
	kinds[r->kind].words(&w, p, r);
	if (!r->program)
		add_flag(&w, "log-format", "json");
	if (p->v)
		roles_add_number(&w, "v", p->v);
	copy = ARENA_ARRAY(p->arena, const char *, w.v.n + 1);
	for (size_t i = 0; i < w.v.n; i++)
		copy[i] = w.v.v[i];
	vec_release(&w.v);
	return copy;
}

const char *up_role_capabilities(const struct up_plan *p, const struct up_role *r)
{
	if ((r->kind == UP_NODE && r->runtime) || r->kind == UP_KUBE_PROXY)
		return "all";
	return r->kind == UP_SERVER && p->port > 0 && p->port < 1024 ? "bind" : "none";
}

static const char *roles_fill(struct arena *a, const char *form, const char *value)
{
	const char *hole = form ? strstr(form, "%s") : NULL;

	return hole ? arena_printf(a, "%.*s%s", (int)(hole - form), form, value) : form;
}

struct up_identity up_role_identity(const struct up_plan *p, const struct up_role *r)
{
	const struct kind *k = &kinds[r->kind];

	return (struct up_identity){ .user = roles_fill(p->arena, k->user_name, r->node),
				     .group = k->group,
				     .account = roles_fill(p->arena, k->account, r->device) };
}

/* --- the system ------------------------------------------------------------------------------ */

unsigned up_node_group(const struct up_plan *p, int place)
{
	return p->uid_base && place >= 0
		       ? (unsigned)p->uid_base + UP_NODE_GROUPS + 2 * (unsigned)place
		       : 0;
}

unsigned up_driver_group(const struct up_plan *p, int place)
{
	unsigned group = up_node_group(p, place);

	return group ? group + 1 : 0;
}

const char *up_driver_name(const struct up_plan *p, const struct up_role *r)
{
	return arena_printf(p->arena, "%s.sim.devplane.dev", r->device);
}

struct up_user up_role_user(const struct up_plan *p, const struct up_role *r)
{
	struct up_user u = { 0 };

	if (!p->uid_base)
		return u;
	if (r->user)
		u.uid = (unsigned)(p->uid_base + r->user);
	/* An explanation needs nothing of the data folder. */
	if (r->user && r->kind != UP_EXPLAIN)
		u.groups[u.ngroups++] = (unsigned)p->uid_base + UP_ALL;
	if (r->kind == UP_DRIVER) {
		u.groups[u.ngroups++] = (unsigned)p->uid_base + UP_DRIVERS;
		u.groups[u.ngroups++] = up_driver_group(p, r->place);
	} else if (r->kind == UP_NODE && r->place >= 0) {
		u.groups[u.ngroups++] = up_node_group(p, r->place);
	}
	return u;
}

/*
 * Files of the machine: libraries, host names, certificates, clocks, and what nodes report about
 * it.
 */
static const char *const libraries[] = { "/lib",       "/lib32",     "/lib64",         "/usr/lib",
					 "/usr/lib32", "/usr/lib64", "/usr/local/lib", NULL };
static const char *const machine[] = {
	"/usr",
	"/proc",
	"/sys",
	"/dev/null",
	"/dev/random",
	"/dev/urandom",
	"/dev/zero",
	"/etc/ca-certificates",
	"/etc/gai.conf",
	"/etc/host.conf",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/ld.so.cache",
	"/etc/localtime",
	"/etc/machine-id",
	"/etc/nsswitch.conf",
	"/etc/os-release",
	"/etc/pki",
	"/etc/resolv.conf",
	"/etc/services",
	"/etc/ssl",
	"/run/systemd/resolve",
	NULL,
};

static void read_paths(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	for (size_t i = 0; machine[i]; i++)
		roles_add(w, machine[i]);
	/* A driver's token is replaced by another file while it runs, so it needs the folder. */
	if (r->kind == UP_DRIVER)
		roles_add(w, p->layout.kubeconfigs);
	else if (r->kind != UP_SERVER && r->kind != UP_EXPLAIN)
		roles_add(w, up_layout_kubeconfig(&p->layout, r->name));
	if (r->kind == UP_SERVER)
		roles_add(w, arena_printf(p->arena, "%s/server-id", p->layout.dir));
	if (r->kind == UP_SCHEDULER && p->scheduler_config)
		roles_add(w, p->scheduler_config);
	if (r->kind == UP_SCHEDULER && p->scheduler_plugin)
		roles_add(w, p->scheduler_plugin);
	if (r->program) {
		roles_add(w, r->program);
		roles_add(w, up_layout_ca(&p->layout));
	}
	if (r->kind == UP_NODE || r->kind == UP_HOLLOW) {
		roles_add(w, up_layout_ca(&p->layout));
		roles_add(w, up_layout_serving(&p->layout, r->name));
		roles_add(w, p->layout.cdi);
	}
}

static void execute_paths(struct words *w, const struct up_plan *p UNUSED, const struct up_role *r)
{
	for (size_t i = 0; libraries[i]; i++)
		roles_add(w, libraries[i]);
	if (r->program)
		roles_add(w, r->program);
}

static void write_paths(struct words *w, const struct up_plan *p, const struct up_role *r)
{
	const char *node = r->node ? up_layout_node(&p->layout, r->node) : NULL;

	roles_add(w, "/dev/null");
	if (r->kind == UP_SERVER) {
		roles_add(w, arena_printf(p->arena, "%s/pki", p->layout.dir));
		roles_add(w, arena_printf(p->arena, "%s/store", p->layout.dir));
	} else if (r->kind == UP_DRIVER) {
		roles_add(w, p->layout.cdi);
		roles_add(w, arena_printf(p->arena, "%s/devplane-sim", node));
		roles_add(w, arena_printf(p->arena, "%s/plugins_registry", node));
		roles_add(w, arena_printf(p->arena, "%s/plugins/%s", node, up_driver_name(p, r)));
	} else if (node) {
		roles_add(w, node);
	}
}

typedef void paths_fn(struct words *w, const struct up_plan *p, const struct up_role *r);

static const char *const *list_paths(const struct up_plan *p, const struct up_role *r, paths_fn *fn)
{
	struct words w = { .arena = p->arena };
	const char **copy;

	vec_init(&w.v, WORDS_MAX);
	fn(&w, p, r);
	copy = ARENA_ARRAY(p->arena, const char *, w.v.n + 1);
	for (size_t i = 0; i < w.v.n; i++)
		copy[i] = w.v.v[i];
	vec_release(&w.v);
	return copy;
}

struct up_sandbox up_role_sandbox(const struct up_plan *p, const struct up_role *r)
{
	static const char *const none[] = { NULL };

	if (!p->sandbox || r->runtime || r->kind == UP_KUBE_PROXY)
		return (struct up_sandbox){ none, none, none, "all", false };
	return (struct up_sandbox){ .execute = list_paths(p, r, execute_paths),
				    .read = list_paths(p, r, read_paths),
				    .write = list_paths(p, r, write_paths),
				    .syscalls = kinds[r->kind].syscalls,
				    .landlock = true };
}

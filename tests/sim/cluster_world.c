/*
 * Life of the world, and its steps.
 */
#include "cluster_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "cluster_attach.h"
#include "cluster_control.h"
#include "cluster_history.h"
#include "cluster_node.h"
#include "cluster_random.h"
#include "cluster_server.h"
#include "cluster_workloads.h"
#include "store/lmdb/faults.h"

enum {
	UP_MS = 120 * 1000,
	SETTLE_MS = 180 * 1000, /* until all is as it should be */
	FAR_US = 40 * 1000, /* latency where hosts are far from each other */
	GONE_MS = 120 * 1000,
	WORKLOADS_MS = 900 * 1000, /* a Job waits minutes after several failures */
	KEEPALIVE_MS = 45 * 1000,
	WATCH_MS = 50, /* between two looks of the supervisor */
};

/* --- chance, and log output ------------------------------------------------------------- */

unsigned cluster_pick(struct cluster *w, unsigned n)
{
	return (unsigned)prng_below(&w->prng, n);
}

bool cluster_chance(struct cluster *w, double p)
{
	return prng_unit(&w->prng) < p;
}

void cluster_tell(struct cluster *w, const char *fmt, ...)
{
	char *line = w->told[w->ntold++ % CLUSTER_TOLD];
	int n = snprintf(line, sizeof(w->told[0]), "%4u %8.3f s  ", w->steps,
			 (double)sim_elapsed_ms(w->sim) / 1000);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof(w->told[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	log_info(&w->log, "step", LOG_Z("what", line));
}

void cluster_fail(struct cluster *w, const char *fmt, ...)
{
	size_t first = w->ntold > CLUSTER_TOLD ? w->ntold - CLUSTER_TOLD : 0;
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print_error("seed %llu, step %u, %lld ms: %s\nthe last steps:\n",
		    (unsigned long long)w->seed, w->steps, (long long)sim_elapsed_ms(w->sim), text);
	for (size_t i = first; i < w->ntold; i++)
		print_error("  %s\n", w->told[i % CLUSTER_TOLD]);
	for (size_t i = 0; i < w->nroles; i++)
		print_error("  %-14s %s, %u starts, %u kills\n", w->roles[i].host,
			    w->roles[i].state == CLUSTER_UP ? "up" : "down", w->roles[i].starts,
			    w->roles[i].kills);
	fail_msg("again by SIM_SEED=%llu: %s", (unsigned long long)w->seed, text);
}

static void on_trace(void *arg, struct str line)
{
	struct cluster *w = arg;

	ptrdiff_t at = str_find(line, str_from(w->dir));

	/* The folder's name is another one in each run. */
	w->hash = hash_bytes(at < 0 ? line : str_of(line.p, (size_t)at), w->hash);
	if (at >= 0)
		w->hash = hash_bytes(str_skip(line, (size_t)at + strlen(w->dir)), w->hash);
	w->lines++;
	if (getenv("SIM_TRACE"))
		(void)fprintf(stderr, "%.*s\n", STR_ARG(line));
}

/* --- roles -------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	struct error err;

	if (file_write_atomic(path, str_from(text), 0600, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Nodes last. */
static const struct cluster_identity identities[] = {
	{ "user", "admin", "system:masters" },
	{ "scheduler", "system:kube-scheduler", "" },
	{ "controller", "system:devplane-controller", "" },
	{ "driver", "driver", "system:masters" },
	{ "server", "nobody", "" }, /* servers and members of etcd use no kubeconfig */
	{ "n0", "system:node:n0", "system:nodes" },
	{ "n1", "system:node:n1", "system:nodes" },
	{ "attach", "attach", "" },
};

static const struct cluster_identity *identity_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(identities); i++)
		if (strcmp(name, identities[i].name) == 0)
			return &identities[i];
	fail_msg("there is no identity %s", name);
	return NULL;
}

/* Writes a kubeconfig of a user for one of the servers. */
static void write_kubeconfig(struct cluster *w, const char *name, unsigned server, char *ret_path,
			     size_t size)
{
	char text[1024], host[32] = "server", path[32] = "", trust[256] = "", user[512];

	if (w->parts & CLUSTER_ETCD) {
		(void)snprintf(host, sizeof(host), "server-%u", server);
		(void)snprintf(path, sizeof(path), "-%u", server);
	}
	(void)snprintf(ret_path, size, "%s/%s%s.kubeconfig", w->dir, name, path);
	(void)snprintf(user, sizeof(user), "\"token\":\"%s-token\"", name);
	if (w->tls)
		tls_describe(w, identity_of(name), server, trust, sizeof(trust), user,
			     sizeof(user));
	(void)snprintf(text, sizeof(text),
		       "{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":"
		       "\"%s://%s:%u\"%s}}],\"contexts\":[{\"name\":\"x\",\"context\":{"
		       "\"cluster\":\"c\",\"user\":\"u\"}}],\"users\":[{\"name\":\"u\",\"user\":{"
		       "%s}}],\"current-context\":\"x\"}",
		       w->tls ? "https" : "http", host, CLUSTER_PORT + server, trust, user);
	write_file(ret_path, text);
}

static void write_tokens(struct cluster *w)
{
	char text[2048], path[128];
	int n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(identities); i++) {
		const struct cluster_identity *who = &identities[i];

		if (strcmp(who->name, "server") == 0)
			continue;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s-token,%s,%u%s%s\n", who->name,
			      who->user, i + 1, who->group[0] ? "," : "", who->group);
	}
	(void)snprintf(path, sizeof(path), "%s/tokens.csv", w->dir);
	write_file(path, text);
}

static struct cluster_role *add_role(struct cluster *w, const struct cluster_role_ops *ops,
				     const char *host, const char *user)
{
	struct cluster_role *role = &w->roles[w->nroles++];

	*role = (struct cluster_role){
		.ops = ops, .sim = w->sim, .log = &w->log, .start_ms = INT64_MAX
	};
	(void)snprintf(role->host, sizeof(role->host), "%s", host);
	(void)snprintf(role->dir, sizeof(role->dir), "%s/%s", w->dir, host);
	(void)snprintf(role->tokens, sizeof(role->tokens), "%s/tokens.csv", w->dir);
	write_kubeconfig(w, user, (unsigned)(w->nroles % w->nservers), role->kubeconfig,
			 sizeof(role->kubeconfig));
	assert_int_equal(mkdir(role->dir, 0700), 0);
	return role;
}

static void add_numbered(struct cluster *w, const struct cluster_role_ops *ops, const char *prefix,
			 const char *user, unsigned n)
{
	char host[32];

	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(host, sizeof(host), "%s%u", prefix, i);
		(void)add_role(w, ops, host, user ? user : host);
	}
}

/* Each server asks another member first. */
static void configure_server(struct cluster *w, unsigned i)
{
	struct cluster_server_config *c = &w->configs[i];

	c->port = CLUSTER_PORT + (int)i;
	c->ring_bytes = w->ring_bytes;
	c->unfenced = w->unfenced;
	for (unsigned k = 0; k < w->nmembers; k++) {
		unsigned member = (i + k) % CLUSTER_ETCD_MEMBERS;

		(void)snprintf(c->etcd[k], sizeof(c->etcd[k]), "http://etcd-%u:%u", member,
			       CLUSTER_ETCD_PORT + member);
		c->urls[k] = c->etcd[k];
	}
	c->nurls = w->nmembers;
	w->servers[i].arg = c;
	if (w->tls)
		tls_configure(w, i);
}

static void add_servers(struct cluster *w)
{
	w->servers = w->server = &w->roles[w->nroles];
	if (w->parts & CLUSTER_ETCD) {
		add_numbered(w, &cluster_server_ops, "server-", "server", CLUSTER_SERVERS);
		w->members = &w->roles[w->nroles];
		w->nmembers = CLUSTER_ETCD_MEMBERS;
		add_numbered(w, &cluster_etcd_ops, "etcd-", "server", CLUSTER_ETCD_MEMBERS);
		w->etcd = cluster_etcd_new(w->sim, w->seed);
	} else {
		(void)add_role(w, &cluster_server_ops, "server", "server");
	}
	for (unsigned i = 0; i < w->nmembers; i++)
		w->members[i].arg = cluster_etcd_member(w->etcd, i);
	for (unsigned i = 0; i < w->nservers; i++)
		configure_server(w, i);
}

static void add_roles(struct cluster *w)
{
	add_servers(w);
	w->schedulers = &w->roles[w->nroles];
	add_numbered(w, &cluster_scheduler_ops, "scheduler-", "scheduler", CLUSTER_SCHEDULERS);
	w->controllers = &w->roles[w->nroles];
	add_numbered(w, &cluster_controller_ops, "controller-", "controller", CLUSTER_CONTROLLERS);
	w->nodes = &w->roles[w->nroles];
	add_numbered(w, &cluster_node_ops, "n", NULL, CLUSTER_NODES);
	w->drivers = &w->roles[w->nroles];
	add_numbered(w, &cluster_driver_ops, "driver-", "driver", CLUSTER_NODES);
	w->plugins = &w->roles[w->nroles];
	if (w->parts & CLUSTER_PLUGINS)
		add_numbered(w, &cluster_plugin_ops, "plugin-", "driver", CLUSTER_NODES);
	w->attached = &w->roles[w->nroles];
	if (w->parts & CLUSTER_ATTACH)
		add_numbered(w, &cluster_attach_ops, "attach-", "attach", CLUSTER_NODES);
	w->upstream = &w->roles[w->nroles];
	if (w->parts & CLUSTER_ATTACH)
		add_numbered(w, &cluster_kubelet_ops, "kubelet-", "attach", CLUSTER_NODES - 1);
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		struct cluster_hardware *h = &w->hardware[i];

		(void)snprintf(h->node, sizeof(h->node), "%s", w->nodes[i].host);
		(void)snprintf(h->root, sizeof(h->root), "%s/root", w->nodes[i].dir);
		(void)snprintf(h->cdi, sizeof(h->cdi), "%s/cdi", w->nodes[i].dir);
		assert_int_equal(mkdir(h->cdi, 0700), 0);
		w->drivers[i].arg = h;
		w->nodes[i].arg = &w->node_config;
		(void)snprintf(w->cards[i].root, sizeof(w->cards[i].root), "%s", h->root);
		if (w->parts & CLUSTER_PLUGINS)
			w->plugins[i].arg = &w->cards[i];
		if (w->parts & CLUSTER_ATTACH)
			attached_add(w, i);
	}
}

/* --- time --------------------------------------------------------------------------------- */

static void watch(struct cluster *w)
{
	for (size_t i = 0; i < w->nroles; i++)
		cluster_role_watch(&w->roles[i]);
	cluster_faults_watch(w);
	if (w->tls)
		tls_watch(w);
}

void cluster_run(struct cluster *w, int64_t ms)
{
	while (ms > 0) {
		int64_t piece = MIN(ms, WATCH_MS);

		sim_run_for(w->sim, piece);
		watch(w);
		ms -= piece;
	}
}

/* --- life --------------------------------------------------------------------------------- */

static struct client *make_client(struct cluster *w, struct loop *l, unsigned server)
{
	struct client_opts o = { .config = &w->kubeconfigs[server] };
	struct client *c;
	struct error err;

	if (client_new(l, &o, &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void make_user(struct cluster *w)
{
	char path[128];
	struct error err;

	for (unsigned i = 0; i < w->nservers; i++) {
		write_kubeconfig(w, "user", i, path, sizeof(path));
		if (kubeconfig_load(&w->kubeconfigs[i], &(struct kubeconfig_opts){ .path = path },
				    &err) < 0)
			fail_msg("%s", err.msg);
	}
	w->user = sim_loop_new(w->sim, "user");
	for (unsigned i = 0; i < w->nservers; i++)
		w->clients[i] = make_client(w, w->user, i);
	w->watcher = sim_loop_new(w->sim, "watcher");
	for (unsigned i = 0; i < w->nservers; i++)
		w->watch_clients[i] = make_client(w, w->watcher, i);
}

struct client *cluster_client(struct cluster *w)
{
	return w->clients[w->nservers > 1 ? cluster_pick(w, (unsigned)w->nservers) : 0];
}

static void init_log(struct cluster *w)
{
	const char *level = getenv("SIM_LOG");
	struct log_options o = { .level = LOG_LEVEL_NONE,
				 .fd = STDERR_FILENO,
				 .clock = clock_system() };

	if (level)
		o.level = strcmp(level, "debug") == 0 ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;
	log_init(&w->log, &o);
}

static void wait_ready(struct cluster *w)
{
	for (unsigned i = 0; i < w->nservers; i++) {
		const struct cluster_role *server = &w->servers[i];

		for (int64_t ms = 0; ms < UP_MS && !cluster_server_ready(server); ms += WATCH_MS)
			cluster_run(w, WATCH_MS);
		if (!cluster_server_ready(server))
			cluster_fail(w, "%s does not begin: %s", server->host, server->failure.msg);
	}
}

/* Every world has a temper of its own. */
static void draw(struct cluster *w, struct sim_opts *o)
{
	static const int64_t stalls[] = { 100, 3000, 30000 };
	static const double faults[] = { 0.03, 0.1, 0.2, 0.4 };
	static const unsigned paces[] = { 20, 300, 300, 2000 };

	o->stall = cluster_chance(w, 0.5) ? 0.0005 : 0;
	o->stall_max_ms = stalls[cluster_pick(w, ARRAY_SIZE(stalls))];
	o->lose = cluster_chance(w, 0.5) ? 0.0005 : 0;
	o->refuse = cluster_chance(w, 0.5) ? 0.02 : 0;
	o->latency_max_us = cluster_chance(w, 0.3) ? FAR_US : 2000;
	w->faults = faults[cluster_pick(w, ARRAY_SIZE(faults))];
	w->pace_ms = paces[cluster_pick(w, ARRAY_SIZE(paces))];
	w->burst = 1 + cluster_pick(w, 8);
	w->ring_bytes = cluster_chance(w, 0.5) ? (size_t)32 << 10 : (size_t)4 << 20;
}

/* Drawn apart, so that a world without any of them is the same whatever else there may be. */
static void draw_parts(struct cluster *w)
{
	static const char *const names[] = { "etcd",   "races",   "clocks",  "priority",
					     "taints", "plugins", "quota",   "attach",
					     "tls",    "crds",    "leaders", "workloads" };
	const char *with = getenv("SIM_WITH");
	struct prng prng;

	prng_init(&prng, w->seed ^ UINT64_C(0x5d1f7c92e86ab034));
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		bool drawn = prng_below(&prng, 2) == 0;

		if (with ? strstr(with, names[i]) != NULL : drawn)
			w->parts |= 1U << i;
	}
	w->nservers = w->parts & CLUSTER_ETCD ? CLUSTER_SERVERS : 1;
}

/*
 * etcd's history is short in some worlds, so that servers that are held up are outrun; reading all
 * takes less. Where hosts are far from each other it may take more than the shortest.
 */
static void draw_etcd(struct cluster *w, const struct sim_opts *o)
{
	static const int64_t histories[] = { 15 * 1000, 40 * 1000, 0 };
	unsigned drawn;

	if (!w->etcd)
		return;
	drawn = cluster_pick(w, ARRAY_SIZE(histories));
	if (drawn == 0 && o->latency_max_us == FAR_US)
		drawn = 1;
	for (unsigned i = 0; i < w->nservers; i++)
		w->configs[i].history_ms = histories[drawn];
}

/* Clocks of machines need not agree. */
static void skew_clocks(struct cluster *w)
{
	if (!cluster_chance(w, 0.5))
		return;
	for (size_t i = 0; i < w->nroles; i++)
		w->roles[i].skew_ns = ((int64_t)cluster_pick(w, 7200) - 3600) * CLOCK_SEC;
	/* A driver, and an attached agent, run on their node's machine. */
	for (unsigned i = 0; i < CLUSTER_NODES; i++) {
		w->drivers[i].skew_ns = w->nodes[i].skew_ns;
		if (w->parts & CLUSTER_ATTACH)
			w->attached[i].skew_ns = w->nodes[i].skew_ns;
	}
}

void cluster_init(struct cluster *w, uint64_t seed, const char *dir)
{
	struct sim_opts o = { .seed = seed,
			      .trace = on_trace,
			      .arg = w,
			      .keepalive_ms = KEEPALIVE_MS,
			      .unix_files = true };

	memset(w, 0, sizeof(*w));
	cluster_random_begin(seed);
	cluster_history_begin();
	prng_init(&w->prng, seed);
	w->seed = seed;
	w->unfenced = getenv("SIM_UNFENCED") != NULL;
	(void)snprintf(w->dir, sizeof(w->dir), "%s", dir);
	init_log(w);
	arena_init(&w->arena, SIZE_MAX);
	vec_init(&w->things, SIZE_MAX / sizeof(struct thing *));
	list_init(&w->asks);
	draw_parts(w);
	w->node_config.static_cpus = w->parts & CLUSTER_ATTACH;
	draw(w, &o);
	w->sim = sim_new(&o);
	write_tokens(w);
	if (w->parts & CLUSTER_TLS)
		tls_begin(w);
	add_roles(w);
	skew_clocks(w);
	draw_etcd(w, &o);
	make_user(w);
	for (unsigned i = 0; i < w->nservers + w->nmembers; i++)
		cluster_role_start(&w->roles[i]);
	wait_ready(w);
	cluster_load_begin(w);
	displace_begin(w);
	attached_begin(w);
	if (w->parts & CLUSTER_RACES)
		races_begin(w);
	if (w->parts & CLUSTER_CRDS)
		crds_begin(w);
	if (w->parts & CLUSTER_WORKLOADS)
		workloads_begin(w);
	observer_begin(w);
	monitors_begin(w);
	for (size_t i = 0; i < w->nroles; i++)
		cluster_role_start(&w->roles[i]);
	cluster_run(w, 1000);
}

void cluster_release(struct cluster *w)
{
	for (size_t i = w->nroles; i-- > 0;)
		cluster_role_release(&w->roles[i]);
	observer_release(w);
	monitors_end(w);
	cluster_load_release(w);
	races_release(w);
	tls_release(w);
	crds_release(w);
	workloads_release(w);
	for (unsigned i = 0; i < w->nservers; i++) {
		client_free(w->clients[i]);
		client_free(w->watch_clients[i]);
	}
	sim_run_for(w->sim, 1000);
	loop_free(w->user);
	loop_free(w->watcher);
	monitors_release(w);
	for (unsigned i = 0; i < w->nservers; i++)
		kubeconfig_release(&w->kubeconfigs[i]);
	cluster_etcd_free(w->etcd);
	lmdb_faults_watch(NULL);
	cluster_history_release();
	sim_free(w->sim);
	arena_release(&w->arena);
	log_release(&w->log);
}

/* --- steps -------------------------------------------------------------------------------- */

static void load_step(struct cluster *w)
{
	if (w->tls && cluster_chance(w, 0.1))
		tls_ask(w);
	else if (w->workloads && cluster_chance(w, 0.15))
		workloads_step(w);
	else if (w->crds && cluster_chance(w, 0.3))
		crds_step(w);
	else if (w->races && cluster_chance(w, 0.3))
		races_step(w);
	else if ((w->parts & CLUSTER_PLUGINS) && cluster_chance(w, 0.2))
		cards_create_pod(w);
	else if ((w->parts & (CLUSTER_PRIORITY | CLUSTER_TAINTS)) && cluster_chance(w, 0.25))
		displace_step(w);
	else if (w->monitors && cluster_chance(w, 0.1))
		monitors_step(w);
	else if ((w->parts & CLUSTER_ATTACH) && cluster_chance(w, 0.25))
		attached_step(w);
	else
		cluster_load_step(w);
}

void cluster_step(struct cluster *w)
{
	w->steps++;
	if (cluster_chance(w, w->faults))
		cluster_faults_step(w);
	else
		for (unsigned i = 1 + cluster_pick(w, w->burst); i > 0; i--)
			load_step(w);
	cluster_run(w, cluster_chance(w, 0.05) ? 5000 : 1 + cluster_pick(w, w->pace_ms));
	cluster_check(w);
}

static void wait_for(struct cluster *w, bool (*holds)(struct cluster *w, char *why, size_t size),
		     int64_t max_ms, const char *what)
{
	char why[4096] = "";

	for (int64_t ms = 0; ms < max_ms; ms += 500) {
		cluster_run(w, 500);
		cluster_check(w);
		if (holds(w, why, sizeof(why)))
			return;
	}
	cluster_fail(w, "%s, after %lld s: %s", what, (long long)max_ms / 1000, why);
}

static bool is_idle(struct cluster *w, char *why, size_t size)
{
	(void)snprintf(why, size, "requests are under way, or the server is down");
	if (w->etcd && !cluster_etcd_settled(w->etcd))
		return false;
	return cluster_load_idle(w) && races_idle(w) && crds_idle(w) && workloads_idle(w) &&
	       cluster_choose_server(w);
}

/* Deletes all objects, again if there was no reply. */
static bool is_deleted(struct cluster *w, char *why, size_t size)
{
	if (!is_idle(w, why, size))
		return false;
	cluster_load_adopt(w);
	return !cluster_load_delete_all(w);
}

/*
 * A server pursues a creation for some seconds after its client has gone, so an object may come
 * after all others were deleted: it is deleted as well.
 */
static bool is_emptied(struct cluster *w, char *why, size_t size)
{
	if (is_idle(w, why, size)) {
		cluster_load_adopt(w);
		(void)cluster_load_delete_all(w);
	}
	return cluster_empty(w, why, size);
}

static void converge_workloads(struct cluster *w)
{
	do
		wait_for(w, workloads_settled, WORKLOADS_MS, "a workload is not as it should be");
	while (workloads_calm_round(w));
	cluster_tell(w, "workloads are deleted");
	wait_for(w, workloads_gone, WORKLOADS_MS, "something of the workloads is left");
}

void cluster_converge(struct cluster *w)
{
	cluster_tell(w, "faults end");
	cluster_faults_end(w);
	wait_for(w, is_idle, UP_MS, "the user's requests do not end");
	cluster_load_adopt(w);
	wait_for(w, cluster_settled, SETTLE_MS, "not all is as it should be");
	wait_for(w, observer_caught_up, SETTLE_MS, "the observer lacks something");
	observer_check(w);
	if (w->workloads)
		converge_workloads(w);
	if (w->tls)
		wait_for(w, tls_settled, SETTLE_MS, "a stranger is not refused as he should be");
	cluster_tell(w, "all is deleted");
	wait_for(w, is_deleted, UP_MS, "not all can be deleted");
	wait_for(w, is_emptied, GONE_MS, "something is left");
	if (w->crds)
		wait_for(w, crds_gone, GONE_MS, "the custom kind is left");
	wait_for(w, observer_caught_up, SETTLE_MS, "the observer lacks something");
	if (w->crds)
		wait_for(w, crds_empty_again, GONE_MS, "the custom kind does not come back");
}

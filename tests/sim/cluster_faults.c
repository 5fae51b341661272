/*
 * Faults: processes and machines die or are stopped, paths are cut, connections break, the disk is
 * full or fails, devices break.
 */
#include "cluster_server.h"
#include "cluster_workloads.h"
#include "cluster_world.h"

#include "store/lmdb/faults.h"

int64_t cluster_faults_ms(struct cluster *w)
{
	return cluster_chance(w, 0.2) ? cluster_pick(w, 30000) : cluster_pick(w, 2000);
}

static void watch_disk(struct cluster *w)
{
	char path[192];

	(void)snprintf(path, sizeof(path), "%s/store/data.mdb", w->server->dir);
	lmdb_faults_watch(path);
}

/*
 * A write that the dead server had not committed is either lost or committed without a reply: both
 * can happen. The store commits while it is buried, so a full disk decides.
 */
static void kill_server(struct cluster *w, int64_t pause_ms)
{
	watch_disk(w);
	if (cluster_chance(w, 0.5))
		lmdb_faults_set(LMDB_FAULT_FULL, 0);
	cluster_role_kill(w->server, SIM_CRASH_PROCESS, pause_ms);
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
}

static void kill_one(struct cluster *w)
{
	struct cluster_role *role = &w->roles[cluster_pick(w, (unsigned)w->nroles)];
	int64_t pause = cluster_faults_ms(w);
	bool server = !w->etcd && role == w->server;
	bool machine = !server && cluster_chance(w, 0.3);

	cluster_tell(w, "kill %s%s for %lld ms", role->host, machine ? " (machine)" : "",
		     (long long)pause);
	if (server)
		kill_server(w, pause);
	else
		cluster_role_kill(role, machine ? SIM_CRASH_MACHINE : SIM_CRASH_PROCESS, pause);
}

static void stop_one(struct cluster *w)
{
	struct cluster_role *role = &w->roles[cluster_pick(w, (unsigned)w->nroles)];
	int64_t pause = cluster_faults_ms(w);

	cluster_tell(w, "stop %s for %lld ms", role->host, (long long)pause);
	cluster_role_stop(role, pause);
}

/* As a machine that swaps, or SIGSTOP: it goes on later as if nothing had been. */
static void pause_one(struct cluster *w)
{
	struct cluster_role *role = &w->roles[cluster_pick(w, (unsigned)w->nroles)];
	int64_t ms = cluster_faults_ms(w);

	if (role->state != CLUSTER_UP)
		return;
	cluster_tell(w, "pause %s for %lld ms", role->host, (long long)ms);
	sim_pause(role->loops[0], ms);
}

static const char *some_host(struct cluster *w)
{
	unsigned i = cluster_pick(w, (unsigned)w->nroles + 2);

	if (i < w->nroles)
		return w->roles[i].host;
	return i == w->nroles ? "user" : "watcher";
}

static void cut(struct cluster *w)
{
	const struct cluster_role *server =
		&w->servers[w->nservers > 1 ? cluster_pick(w, (unsigned)w->nservers) : 0];
	const char *a = cluster_chance(w, 0.7) ? server->host : some_host(w);
	const char *b = cluster_chance(w, 0.1) ? NULL : some_host(w);
	int64_t ms = cluster_faults_ms(w);

	cluster_tell(w, "cut %s from %s for %lld ms", a, b ? b : "all", (long long)ms);
	sim_cut(w->sim, a, b);
	w->heal_ms = sim_elapsed_ms(w->sim) + ms;
}

static void break_conns(struct cluster *w)
{
	cluster_tell(w, "break connections");
	(void)sim_break_conns(w->sim, prng_unit(&w->prng));
}

static void hurt_disk(struct cluster *w)
{
	bool full = cluster_chance(w, 0.7);

	if (w->etcd || w->disk_ms || !cluster_server_ready(w->server))
		return;
	cluster_tell(w, "the disk %s", full ? "is full" : "fails to sync");
	watch_disk(w);
	lmdb_faults_set(full ? LMDB_FAULT_FULL : LMDB_FAULT_SYNC, cluster_pick(w, 3));
	w->disk_ms = sim_elapsed_ms(w->sim) + cluster_faults_ms(w);
}

static void fill_node_disk(struct cluster *w)
{
	struct cluster_role *role = &w->nodes[cluster_pick(w, CLUSTER_NODES)];

	cluster_tell(w, "the disk of %s is full", role->host);
	role->disk_full = true;
	w->node_disk_ms = sim_elapsed_ms(w->sim) + cluster_faults_ms(w);
}

static void free_node_disks(struct cluster *w)
{
	for (unsigned i = 0; i < CLUSTER_NODES; i++)
		w->nodes[i].disk_full = false;
	w->node_disk_ms = 0;
}

/* Several at once, as when a rack loses its power. */
static void kill_many(struct cluster *w)
{
	cluster_tell(w, "kill many");
	for (size_t i = 0; i < w->nroles; i++) {
		if (cluster_chance(w, 0.5))
			continue;
		if (!w->etcd && &w->roles[i] == w->server)
			kill_server(w, cluster_faults_ms(w));
		else
			cluster_role_kill(&w->roles[i], SIM_CRASH_MACHINE, cluster_faults_ms(w));
	}
}

static void break_device(struct cluster *w)
{
	struct cluster_role *role = &w->drivers[cluster_pick(w, CLUSTER_NODES)];
	unsigned device = cluster_pick(w, CLUSTER_DEVICES);
	struct cluster_hardware *h = role->arg;
	bool broken = !h->broken[device];

	if (cluster_chance(w, 0.3)) {
		cluster_tell(w, "silence gpu-%u of %s", device, h->node);
		cluster_driver_silence(role, device);
		return;
	}
	cluster_tell(w, "%s gpu-%u of %s", broken ? "break" : "mend", device, h->node);
	cluster_driver_break(role, device, broken);
}

void cluster_faults_step(struct cluster *w)
{
	static void (*const faults[])(struct cluster *) = {
		kill_one,     kill_one,    stop_one,       stop_one,  cut,
		cut,          cut,         hurt_disk,      kill_many, break_device,
		break_device, break_conns, fill_node_disk, pause_one, pause_one,
	};

	if (!w->quiet && w->etcd && cluster_chance(w, 0.4))
		cluster_faults_etcd_step(w);
	else if (!w->quiet && w->tls && cluster_chance(w, 0.15))
		tls_renew(w);
	else if (!w->quiet && (w->parts & CLUSTER_PLUGINS) && cluster_chance(w, 0.1))
		cards_hurt(w);
	else if (!w->quiet && (w->parts & CLUSTER_ATTACH) && cluster_chance(w, 0.2))
		attached_hurt(w);
	else if (!w->quiet && (w->parts & CLUSTER_CLOCKS) && cluster_chance(w, 0.2))
		cluster_clock_jump(w);
	else if (!w->quiet && (w->parts & CLUSTER_LEADERS) && cluster_chance(w, 0.2))
		leaders_hold_up(w);
	else if (!w->quiet && w->workloads && cluster_chance(w, 0.04))
		workloads_lose_node(w);
	else if (!w->quiet && w->workloads && cluster_chance(w, 0.1))
		controllers_hold_up(w);
	else if (!w->quiet && w->workloads && cluster_chance(w, 0.2))
		workloads_strike(w);
	else if (!w->quiet)
		faults[cluster_pick(w, sizeof(faults) / sizeof(faults[0]))](w);
}

void cluster_faults_watch(struct cluster *w)
{
	int64_t now = sim_elapsed_ms(w->sim);
	struct error err;

	if (w->heal_ms && now >= w->heal_ms) {
		sim_heal(w->sim, NULL, NULL);
		w->heal_ms = 0;
	}
	if (w->etcd_ms && now >= w->etcd_ms) {
		cluster_etcd_calm(w->etcd);
		w->etcd_ms = 0;
	}
	if (w->disk_ms && now >= w->disk_ms) {
		lmdb_faults_set(LMDB_FAULT_NONE, 0);
		w->disk_ms = 0;
	}
	if (w->node_disk_ms && now >= w->node_disk_ms)
		free_node_disks(w);
	/* A store that failed for good: somebody sees that the server is not ready. */
	if (!w->etcd && !w->disk_ms && cluster_server_ready(w->server) &&
	    cluster_server_health(w->server, &err) < 0 && err.code == ERR_IO)
		cluster_role_kill(w->server, SIM_CRASH_PROCESS, 100);
}

void cluster_faults_end(struct cluster *w)
{
	w->quiet = true;
	w->heal_ms = w->disk_ms = w->etcd_ms = 0;
	if (w->etcd)
		cluster_etcd_calm(w->etcd);
	free_node_disks(w);
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	sim_heal(w->sim, NULL, NULL);
	sim_calm(w->sim);
	monitors_calm(w);
	for (size_t i = 0; i < w->nroles; i++)
		if (w->roles[i].state == CLUSTER_DOWN)
			cluster_role_start(&w->roles[i]);
}

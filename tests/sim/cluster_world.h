/*
 * cluster_world - a whole cluster in one process, on the seeded simulation of net/sim.h.
 *
 * It has one API server on LMDB, or three on a simulated etcd (cluster_etcd.h), and two schedulers
 * and two controllers that elect a leader. It has two nodes, each with an agent with the hollow
 * runtime and a DRA driver with a few devices. All of it is the real code. Each runs on its own
 * host, and they talk only by simulated sockets. A user makes load (cluster_load.c), and many race
 * for the same thing (cluster_race.c), an observer watches (cluster_observe.c), strangers ask
 * (cluster_tls.c), custom kinds come and go (cluster_crds.c), faults strike (cluster_faults.c,
 * cluster_faults_etcd.c), and after every step what must hold is checked (cluster_check.c). With
 * the part `attach` an attached agent (cluster_attach.h) runs beside each node's agent, and clients
 * follow PodResources (cluster_monitor.c). With `workloads` the controllers have pods to make
 * (cluster_workloads.h).
 *
 * The seed draws which of the world's parts there are (enum cluster_part).
 *
 * Time, sockets and chance are simulated; files are real, below a folder of the run's own.
 * Failures are cmocka's, and say the seed and the last steps.
 */
#ifndef SIM_CLUSTER_WORLD_H
#define SIM_CLUSTER_WORLD_H

#include "base/core/arena.h"
#include "base/core/list.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/ordered/omap.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "cluster_attach.h"
#include "cluster_driver.h"
#include "cluster_etcd.h"
#include "cluster_kubelet.h"
#include "cluster_node.h"
#include "cluster_plugin.h"
#include "cluster_role.h"
#include "cluster_server.h"

enum {
	CLUSTER_SERVERS = 3, /* at most */
	CLUSTER_SCHEDULERS = 2,
	CLUSTER_CONTROLLERS = 2,
	CLUSTER_NODES = 2,
	CLUSTER_ROLES = CLUSTER_SERVERS + CLUSTER_ETCD_MEMBERS + CLUSTER_SCHEDULERS +
			CLUSTER_CONTROLLERS + 5 * CLUSTER_NODES,
	CLUSTER_TOLD = 40, /* steps that a failure shows */
	CLUSTER_MAPS = 6,
};

/* Optional parts of a world; SIM_WITH names them, else the seed draws them. */
enum cluster_part {
	CLUSTER_ETCD = 1 << 0, /* three servers on etcd, not one on LMDB */
	CLUSTER_RACES = 1 << 1, /* clients that race for one thing */
	CLUSTER_CLOCKS = 1 << 2, /* clocks jump */
	CLUSTER_PRIORITY = 1 << 3, /* pods of high priority need the CPUs of others */
	CLUSTER_TAINTS = 1 << 4, /* rules taint devices, and pods leave them */
	CLUSTER_PLUGINS = 1 << 5, /* device plugins */
	CLUSTER_QUOTA = 1 << 6, /* with CLUSTER_RACES: they race for a quota, too */
	CLUSTER_ATTACH = 1 << 7, /* attached agents, and monitors of PodResources */
	CLUSTER_TLS = 1 << 8, /* servers and their clients speak TLS, and strangers ask */
	CLUSTER_CRDS = 1 << 9, /* a custom kind, and a scheduler plugin that reads it */
	CLUSTER_LEADERS = 1 << 10, /* the leading scheduler is held up until another one leads */
	CLUSTER_WORKLOADS = 1 << 11, /* Jobs, Deployments, DaemonSets; nodes are lost for long */
};

struct crds;
struct monitors;
struct observer;
struct races;
struct tls_world;
struct workloads;

/* The holder of a kubeconfig. */
struct cluster_identity {
	const char *name; /* of the file */
	const char *user;
	const char *group; /* or "" */
};

/* An object that the user created, according to the replies. */
struct thing {
	const char *resource; /* "pods", "resourceclaims", "namespaces", "devicetaintrules" */
	const char *ns; /* "default"; "" of those that have none */
	char name[24];
	char uid[40]; /* as the create was answered; empty: it was not, or not well */
	bool asked_delete; /* a delete was sent: it may be gone */
	bool deleted; /* and was answered well: it is going, or gone */
	bool may_go; /* a pod that may be preempted or evicted */
	bool reused; /* its name is used again and again: nothing is known of this one */
};

/* A ConfigMap that only the user writes: its value counts upwards. */
struct counter {
	char name[24];
	int64_t value; /* the last that was acknowledged */
	int64_t tried; /* the last that was tried */
	int64_t rv; /* to write on; 0: it must be read first */
	bool busy;
};

struct cluster {
	struct sim *sim;
	uint64_t seed;
	struct prng prng; /* of load and faults */
	char dir[64];
	struct log log;
	bool unfenced; /* the servers let a device be held twice: counted, and no failure */
	uint64_t doubles;
	uint64_t hash; /* of the trace */
	uint64_t lines;
	struct cluster_role roles[CLUSTER_ROLES];
	size_t nroles;
	/* Of these: */
	struct cluster_role *servers, *members, *schedulers, *controllers, *nodes, *drivers,
		*plugins, *attached, *upstream;
	size_t nservers, nmembers;
	struct cluster_role *server; /* whose state is checked: of several, that is furthest */
	unsigned parts; /* enum cluster_part */
	struct cluster_etcd *etcd; /* NULL: LMDB */
	struct cluster_server_config configs[CLUSTER_SERVERS];
	struct cluster_hardware hardware[CLUSTER_NODES];
	struct cluster_cards cards[CLUSTER_NODES];
	struct cluster_node_config node_config;
	struct cluster_attach attaches[CLUSTER_NODES];
	struct cluster_kubelet kubelets[CLUSTER_NODES];

	/* The user. */
	struct kubeconfig kubeconfigs[CLUSTER_SERVERS];
	struct loop *user;
	struct client *clients[CLUSTER_SERVERS]; /* one for each server */
	struct list asks; /* struct ask: requests under way */
	VEC(struct thing *) things;
	struct counter counters[CLUSTER_MAPS];
	unsigned names; /* given out */
	uint64_t acked, refused, unknown; /* writes */
	int64_t acked_revision; /* etcd was not behind it when the last was acknowledged */
	struct races *races; /* NULL: none */
	struct tls_world *tls; /* NULL: none */
	struct crds *crds; /* NULL: none */
	struct workloads *workloads; /* NULL: none */
	bool nodes_deleted; /* some Node was deleted, so any pod may have gone with it */

	struct loop *watcher;
	struct client *watch_clients[CLUSTER_SERVERS];
	struct observer *observer;
	struct monitors *monitors; /* NULL: none */

	/* How it goes: drawn at the beginning. */
	double faults; /* chance of a step to be one */
	size_t ring_bytes; /* of the servers' watch caches, for each resource */
	unsigned pace_ms, burst; /* between steps, and requests at once, at most */

	/* Faults that end by themselves. */
	int64_t heal_ms, disk_ms, node_disk_ms, etcd_ms;
	bool quiet; /* faults have ended */

	unsigned steps;
	char told[CLUSTER_TOLD][96]; /* a ring */
	size_t ntold;
	struct arena arena; /* of checks */
};

/* Makes it and runs until all is up. `dir` exists and is empty. */
void cluster_init(struct cluster *w, uint64_t seed, const char *dir);
void cluster_release(struct cluster *w);

/* One step: something is done, some time passes, what must hold is checked. */
void cluster_step(struct cluster *w);

/* Faults and load end; all must become as it should be. Then all is deleted, and must be gone. */
void cluster_converge(struct cluster *w);

/* Lets time pass, with the supervisor at work. */
void cluster_run(struct cluster *w, int64_t ms);

/* For the report of a failure. */
void cluster_tell(struct cluster *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void cluster_fail(struct cluster *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

unsigned cluster_pick(struct cluster *w, unsigned n);
bool cluster_chance(struct cluster *w, double p);

/* One of the user's clients: each speaks to another server. */
struct client *cluster_client(struct cluster *w);

/*
 * Chooses w->server, the one that is furthest. True: it is ready and has all that was
 * acknowledged.
 */
bool cluster_choose_server(struct cluster *w);

/* A write was acknowledged. */
void cluster_acknowledged(struct cluster *w);

/* --- cluster_load.c ----------------------------------------------------------------------- */

void cluster_load_begin(struct cluster *w); /* classes, templates, counters: before faults */
void cluster_load_step(struct cluster *w);
/* Sends deletes of all that was not deleted yet; false: there is no such thing. */
bool cluster_load_delete_all(struct cluster *w);
/* Things that are there and nobody knows of: their creates were not answered. */
void cluster_load_adopt(struct cluster *w);
bool cluster_load_idle(const struct cluster *w);
/* A pod with these texts in its spec and in its container: ",\"name\":.." or nothing. */
void cluster_load_pod(struct cluster *w, const char *spec, const char *container, bool may_go);
/* One of the cluster's or of its namespace "default" that the user remembers. */
void cluster_load_thing(struct cluster *w, const char *resource, const char *prefix,
			const char *spec);
/* Asks until it is there; before faults. */
void cluster_load_make(struct cluster *w, const char *resource, const char *text);
/* Writes of which the user remembers nothing; `grace_s` 0 deletes at once. */
void cluster_load_try(struct cluster *w, const char *resource, const char *text);
void cluster_load_try_delete(struct cluster *w, const char *resource, const char *name,
			     int64_t grace_s);
/* One of the resource that is there and not being deleted, or NULL; and its deletion. */
struct thing *cluster_load_some(struct cluster *w, const char *resource);
void cluster_load_delete(struct cluster *w, struct thing *t);
void cluster_load_release(struct cluster *w);

/* --- cluster_faults.c --------------------------------------------------------------------- */

/*
 * cluster_leaders.c. The leading scheduler is held up until another one leads; and the same while
 * its allocation is on its way and the other one gives all devices away, on an idle cluster.
 */
void leaders_hold_up(struct cluster *w);
void controllers_hold_up(struct cluster *w); /* the same of the leading controller */
void controllers_strike(struct cluster *w); /* it is killed, or held up */
void leaders_be_late(struct cluster *w);

void cluster_faults_step(struct cluster *w);
void cluster_faults_watch(struct cluster *w); /* ends what has lasted long enough */
void cluster_faults_end(struct cluster *w);
int64_t cluster_faults_ms(struct cluster *w); /* how long a fault lasts */

/* --- cluster_faults_etcd.c ---------------------------------------------------------------- */

void cluster_faults_etcd_step(struct cluster *w);

/* --- cluster_clock.c ---------------------------------------------------------------------- */

void cluster_clock_jump(struct cluster *w);

/* --- cluster_displace.c: pods that have to go ---------------------------------------------- */

struct json;
struct displaced;

void displace_begin(struct cluster *w);
void displace_step(struct cluster *w);
/* The number of the template whose claims a pod uses that wants `count` devices. */
unsigned displace_template(struct cluster *w, unsigned count);
/* Whether a pod that needs no device, and has no node, waits rightly: why not, or NULL. */
const char *displace_waits(struct cluster *w, const struct json *pod);
/* Why it is not as it should be in the end, or NULL. */
const char *displace_settled(struct cluster *w);
/* Whether a rule keeps all that tolerate nothing from the device. */
bool displace_is_tainted(struct cluster *w, const char *node, unsigned device);

/* --- cluster_cards.c: of device plugins ---------------------------------------------------- */

void cards_create_pod(struct cluster *w);
void cards_hurt(struct cluster *w);
void cards_check(struct cluster *w);
int64_t cards_of_pod(const struct json *pod);
bool cards_are_free(struct cluster *w, int64_t n); /* so many, on one node */
bool cards_settled(struct cluster *w); /* nodes offer what is well */

/* --- cluster_attach.c ---------------------------------------------------------------------- */

#define CLUSTER_REUSED "again-" /* names of pods that follow each other */

void attached_add(struct cluster *w, unsigned node); /* what its roles need */
void attached_begin(struct cluster *w); /* rights: before faults */
void attached_step(struct cluster *w);
void attached_hurt(struct cluster *w);

/* --- cluster_monitor.c: clients of PodResources -------------------------------------------- */

void monitors_begin(struct cluster *w);
void monitors_step(struct cluster *w);
void monitors_calm(struct cluster *w); /* they read all there is */
/* Why they do not know what they should in the end, or NULL. */
const char *monitors_settled(struct cluster *w);
void monitors_end(struct cluster *w);
void monitors_release(struct cluster *w); /* after some turns */

/* --- cluster_race.c ----------------------------------------------------------------------- */

void races_begin(struct cluster *w);
void races_step(struct cluster *w);
/* Checks the invariants at each server, and at w->server, which has all acknowledged writes. */
void races_check(struct cluster *w);
bool races_idle(const struct cluster *w);
void races_release(struct cluster *w);

/* --- cluster_tls.c: certificates, and strangers without good ones ---------------------------- */

/* Before roles are added. */
void tls_begin(struct cluster *w);
/* Makes the serving certificate of the server and configures it. */
void tls_configure(struct cluster *w, unsigned server);
/* Writes what a kubeconfig says of trust, and of its user where that has a certificate. */
void tls_describe(struct cluster *w, const struct cluster_identity *who, unsigned server,
		  char *trust, size_t trust_size, char *user, size_t user_size);
void tls_ask(struct cluster *w); /* as a stranger */
void tls_renew(struct cluster *w); /* a fault: some certificate is replaced */
void tls_watch(struct cluster *w);
void tls_check(struct cluster *w);
/* Each kind of stranger has been refused in the way that it should. */
bool tls_settled(struct cluster *w, char *why, size_t size);
void tls_release(struct cluster *w);

/* --- cluster_crds.c, cluster_berths.c: custom resources --------------------------------------- */

void crds_begin(struct cluster *w); /* before schedulers are started */
void crds_step(struct cluster *w);
bool crds_idle(const struct cluster *w);
void crds_check(struct cluster *w);
/* Whether a pod waits rightly for an object that is not there. */
bool crds_waits(struct cluster *w, const struct json *pod);
/* The definition is as it is in the end. */
bool crds_settled(struct cluster *w);
/* It and its objects are gone, and its watch has ended. */
bool crds_gone(struct cluster *w, char *why, size_t size);
/* It was made again and has no objects. */
bool crds_empty_again(struct cluster *w, char *why, size_t size);
void crds_release(struct cluster *w);

/* --- cluster_observe.c -------------------------------------------------------------------- */

void observer_begin(struct cluster *w);
/* All that was acknowledged up to its revision has been seen; fails if not. */
void observer_check(struct cluster *w);
/* It has seen all up to the server's revision, and its copy is the server's. */
bool observer_caught_up(struct cluster *w, char *why, size_t size);
/* An acknowledged write of ours: the observer must see this version, or begin anew. */
void observer_expect(struct cluster *w, struct str resource, struct str name, int64_t rv);
/* The custom kind is not served, and nothing of it is left in the observer's copy. */
bool observer_sees_no_definition(const struct cluster *w);
void observer_release(struct cluster *w);

/* --- cluster_check_etcd.c ----------------------------------------------------------------- */

/* The server's copy is what etcd had at the server's revision; nothing without etcd. */
void cluster_check_copy(struct cluster *w, const struct cluster_role *server);

/* --- cluster_check.c ---------------------------------------------------------------------- */

/* After every step. */
void cluster_check(struct cluster *w);
/* Whether all is as it should be in the end; else the first that is not. */
bool cluster_settled(struct cluster *w, char *why, size_t size);
/* Whether nothing is left of pods and claims. */
bool cluster_empty(struct cluster *w, char *why, size_t size);

#endif

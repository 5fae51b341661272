/*
 * Starts node agents, as cli/commands/node.c does for the real ones.
 */
#include "cluster_node.h"

#include <errno.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "client/api/client.h"
#include "client/informer/cache.h"
#include "client/kubeconfig/kubeconfig.h"
#include "node/agent/agent_impl.h"
#include "node/host/saver.h"
#include "node/status/pod_level.h"

struct node {
	struct kubeconfig kubeconfig;
	struct client *client;
	struct saver *saver;
	struct agent *agent;
	struct pod_level *pod_level;
	char root[192], cdi[192], etc[192], logs[192];
	const char *cdi_dirs[1];
};

static void on_pod_level(void *arg, bool known)
{
	agent_set_pod_level(((struct node *)arg)->agent, known);
}

static int write_state(void *arg, const char *path, struct str content, struct error *err)
{
	const struct cluster_role *role = arg;

	if (role->disk_full)
		return error_set_errno(err, ERR_IO, ENOSPC, "cannot write %s", path);
	return file_write_atomic(path, content, 0600, err);
}

static int begin(struct cluster_role *role, struct node *n, struct error *err)
{
	struct client_opts c = { .config = &n->kubeconfig, .role = "node" };
	struct saver_opts s = { .inline_write = true, .write = write_state, .arg = role };
	int r = kubeconfig_load(&n->kubeconfig,
				&(struct kubeconfig_opts){ .path = role->kubeconfig }, err);

	if (r == 0)
		r = client_new(role->loops[0], &c, &n->client, err);
	if (r == 0)
		r = saver_new_with(role->loops[0], &s, &n->saver, err);
	return r;
}

static int start(struct cluster_role *role, struct error *err)
{
	const struct cluster_node_config *config = role->arg;
	struct node *n = XNEW(struct node);
	struct agent_opts o = { .loop = role->loops[0],
				.node_name = role->host,
				.root_dir = n->root,
				.cdi_dirs = { n->cdi_dirs, 1 },
				.log_root = n->logs,
				.etc = n->etc,
				.max_pods = 110,
				.hollow_cpus = 32,
				.hollow_memory = INT64_C(256) << 30,
				.hollow_numa = 1,
				.node_ip = "192.0.2.1",
				.log = role->log };
	int r;

	role->impl = n;
	(void)snprintf(n->root, sizeof(n->root), "%s/root", role->dir);
	(void)snprintf(n->cdi, sizeof(n->cdi), "%s/cdi", role->dir);
	(void)snprintf(n->etc, sizeof(n->etc), "%s/etc", role->dir);
	(void)snprintf(n->logs, sizeof(n->logs), "%s/logs", role->dir);
	n->cdi_dirs[0] = n->cdi;
	gates_init(&o.gates);
	o.assign.static_cpus = config && config->static_cpus;
	o.reserved_cpu_milli = o.assign.static_cpus ? 1000 : 0;
	r = begin(role, n, err);
	o.client = n->client;
	o.saver = n->saver;
	if (r == 0)
		r = agent_new(&o, &n->agent, err);
	if (r == 0)
		n->pod_level = pod_level_ask(n->client, on_pod_level, n);
	return r;
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	struct node *n = role->impl;

	pod_level_free(TAKE(n->pod_level));
	agent_stop(n->agent, done, arg);
}

static void drop(struct cluster_role *role)
{
	struct node *n = role->impl;

	pod_level_free(n->pod_level);
	agent_free(n->agent);
	saver_free(n->saver);
	client_free(n->client);
	kubeconfig_release(&n->kubeconfig);
	free(n);
}

const struct cluster_role_ops cluster_node_ops = {
	.start = start, .stop = stop, .drop = drop, .nloops = 1
};

static struct assign *log_of(const struct cluster_role *role)
{
	const struct node *n = role->impl;

	return role->state == CLUSTER_UP && n ? n->agent->host.assign : NULL;
}

void cluster_node_each(const struct cluster_role *role, struct arena *a,
		       void (*fn)(void *arg, const struct cluster_node_claim *c), void *arg)
{
	const struct assign *log = log_of(role);
	struct assign_claim claim;
	struct str at = STR_NULL;

	while (log && assign_claim_next(log, &at, a, &claim))
		for (size_t i = 0; i < claim.ndevices; i++) {
			const struct assign_claim_device *d = &claim.devices[i];

			fn(arg, &(struct cluster_node_claim){ claim.uid, d->driver, d->pool,
							      d->device });
		}
}

void cluster_node_each_card(const struct cluster_role *role, struct arena *a,
			    void (*fn)(void *arg, struct str pod, struct str id), void *arg)
{
	const struct assign *log = log_of(role);
	const struct assign_use *uses = NULL;
	struct str at = STR_NULL;
	bool ended;

	while (log && assign_next_pod(log, &at, &ended)) {
		size_t n = assign_uses(log, at, a, &uses);

		for (size_t i = 0; i < n; i++)
			if (uses[i].resource.n > 0 && !uses[i].past)
				fn(arg, at, uses[i].id);
	}
}

size_t cluster_node_pods(const struct cluster_role *role)
{
	const struct assign *log = log_of(role);
	struct str at = STR_NULL;
	size_t n = 0;
	bool ended;

	while (log && assign_next_pod(log, &at, &ended))
		n += !ended;
	return n;
}

struct podres *cluster_node_book(const struct cluster_role *role)
{
	const struct node *n = role->impl;

	return role->state == CLUSTER_UP && n ? n->agent->book : NULL;
}

bool cluster_node_knows(const struct cluster_role *role, struct str ns, struct str name,
			struct str uid)
{
	const struct node *n = role->impl;
	const struct cached *o = NULL;

	if (role->state == CLUSTER_UP && n)
		o = cache_get_in(informer_cache(n->agent->pods), ns, name);
	return o && str_eq(o->uid, uid);
}

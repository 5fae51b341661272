/*
 * cmd_node.c does the same for a real one. It has the rights that docs/attach.md gives it, and none
 * to write: so it can change no pod, neither of its node nor of another.
 */
#include "cluster_attach.h"

#include <stdio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "cluster_world.h"
#include "node/agent/attached.h"

enum { NAMES = 4 }; /* of pods that follow each other */

struct attach_role {
	struct kubeconfig kubeconfig;
	struct client *client;
	struct attached *attach;
};

static int start(struct cluster_role *role, struct error *err)
{
	const struct cluster_attach *config = role->arg;
	struct attach_role *n = XNEW(struct attach_role);
	struct client_opts c = { .config = &n->kubeconfig, .role = "node" };
	char own[256];
	struct attached_opts o = { .attach = { .loop = role->loops[0],
					       .node_name = config->hardware->node,
					       .kubelet_socket = config->kubelet,
					       .log = role->log },
				   .server = { .loop = role->loops[0],
					       .path = own,
					       .group = -1,
					       .watch = true,
					       .log = role->log } };
	int r;

	role->impl = n;
	(void)snprintf(own, sizeof(own), "%s/" CLUSTER_ATTACH_SOCKET, config->hardware->root);
	r = kubeconfig_load(&n->kubeconfig, &(struct kubeconfig_opts){ .path = role->kubeconfig },
			    err);
	if (r == 0)
		r = client_new(role->loops[0], &c, &n->client, err);
	o.attach.client = n->client;
	return r < 0 ? r : attached_new(&o, &n->attach, err);
}

static void stop(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	attached_stop(((struct attach_role *)role->impl)->attach, done, arg);
}

static void die(struct cluster_role *role UNUSED, bool stopping, void (*done)(void *arg), void *arg)
{
	if (!stopping)
		done(arg);
}

static void drop(struct cluster_role *role)
{
	struct attach_role *n = role->impl;

	attached_free(n->attach);
	client_free(n->client);
	kubeconfig_release(&n->kubeconfig);
	free(n);
}

const struct cluster_role_ops cluster_attach_ops = {
	.start = start, .stop = stop, .drop = drop, .die = die, .nloops = 1
};

int cluster_attach_ready(const struct cluster_role *role, struct error *err)
{
	const struct attach_role *n = role->impl;

	if (role->state != CLUSTER_UP)
		return error_set(err, ERR_UNAVAILABLE, "%s does not run", role->host);
	return attached_check(n->attach, err);
}

/* --- the world's part ---------------------------------------------------------------------- */

/* After the nodes' other roles: the kubelets' answers, and those that follow them. */
void attached_add(struct cluster *w, unsigned i)
{
	struct cluster_attach *a = &w->attaches[i];
	struct cluster_kubelet *k = &w->kubelets[i];
	const char *socket = i == 0 ? CLUSTER_KUBELET_SOCKET : CLUSTER_UPSTREAM_SOCKET;

	*k = (struct cluster_kubelet){ .node = &w->nodes[i], .no_get = w->seed % 3 == 0 };
	(void)snprintf(k->socket, sizeof(k->socket), "%s/root/%s", k->node->dir, socket);
	*a = (struct cluster_attach){ &w->hardware[i], k->socket };
	w->attached[i].arg = a;
	if (i > 0)
		w->upstream[i - 1].arg = k;
}

void attached_begin(struct cluster *w)
{
	if (!(w->parts & CLUSTER_ATTACH))
		return;
	cluster_load_make(w, "clusterroles",
			  "{\"metadata\":{\"name\":\"devplane-attach\"},\"rules\":[{\"apiGroups\":["
			  "\"\"],\"resources\":[\"pods\",\"nodes\"],\"verbs\":[\"get\",\"list\","
			  "\"watch\"]}]}");
	cluster_load_make(w, "clusterrolebindings",
			  "{\"metadata\":{\"name\":\"devplane-attach\"},\"roleRef\":{\"apiGroup\":"
			  "\"rbac.authorization.k8s.io\",\"kind\":\"ClusterRole\",\"name\":"
			  "\"devplane-attach\"},\"subjects\":[{\"apiGroup\":"
			  "\"rbac.authorization.k8s.io\",\"kind\":\"User\",\"name\":\"attach\"}]}");
	for (int64_t ms = 0; ms < 120000 && !cluster_load_idle(w); ms += 100)
		cluster_run(w, 100);
}

/*
 * Pods of one name follow each other, as those of a StatefulSet do; some are deleted at once, while
 * their containers still run. They hold cards or CPUs: a kubelet does not hand those out twice.
 */
static void create_again(struct cluster *w, const char *name)
{
	bool card = (w->parts & CLUSTER_PLUGINS) && cluster_chance(w, 0.6);
	unsigned grace = 1 + cluster_pick(w, 5), n = 1 + cluster_pick(w, 2);
	char text[512], limits[96];

	if (card)
		(void)snprintf(limits, sizeof(limits), "\"" CLUSTER_CARD "\":\"%u\"", n);
	else
		(void)snprintf(limits, sizeof(limits), "\"cpu\":\"%u\",\"memory\":\"1Gi\"", n);
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
		       "\"automountServiceAccountToken\":false,"
		       "\"terminationGracePeriodSeconds\":%u,\"containers\":[{\"name\":\"c\","
		       "\"image\":\"i\",\"resources\":{\"limits\":{%s}}}]}}",
		       name, grace, limits);
	cluster_tell(w, "create pod %s with %s", name, limits);
	cluster_load_try(w, "pods", text);
}

void attached_step(struct cluster *w)
{
	bool at_once = cluster_chance(w, 0.3);
	unsigned i = cluster_pick(w, NAMES);
	char name[24];

	(void)snprintf(name, sizeof(name), CLUSTER_REUSED "%u", i);
	if (cluster_chance(w, 0.6)) {
		create_again(w, name);
	} else {
		cluster_tell(w, "delete pod %s%s", name, at_once ? " at once" : "");
		cluster_load_try_delete(w, "pods", name, at_once ? 0 : 3);
	}
}

/* Somebody removes the file of a socket: nobody can connect until its owner makes it again. */
static void remove_socket(struct cluster *w, unsigned node)
{
	bool own = cluster_chance(w, 0.3);
	const char *socket = own ? CLUSTER_ATTACH_SOCKET : CLUSTER_KUBELET_SOCKET;
	char path[256], folder[256];

	(void)snprintf(folder, sizeof(folder), "%s/pod-resources", w->hardware[node].root);
	(void)snprintf(path, sizeof(path), "%s/%s", w->hardware[node].root, socket);
	cluster_tell(w, "remove %s of n%u", socket, node);
	if (unlink(path) == 0)
		sim_touch(w->sim, folder, strrchr(path, '/') + 1);
}

void attached_hurt(struct cluster *w)
{
	unsigned node = cluster_pick(w, CLUSTER_NODES), kind = cluster_pick(w, 4);
	struct cluster_role *role = kind == 0 ? &w->nodes[node] : &w->attached[node];
	int64_t ms = cluster_faults_ms(w);

	if (kind == 3) {
		remove_socket(w, node);
	} else if (kind == 2) {
		cluster_tell(w, "cut %s from n%u for %lld ms", role->host, node, (long long)ms);
		sim_cut(w->sim, role->host, w->nodes[node].host);
		w->heal_ms = sim_elapsed_ms(w->sim) + ms;
	} else {
		cluster_tell(w, "kill %s for %lld ms", role->host, (long long)ms);
		cluster_role_kill(role, SIM_CRASH_PROCESS, ms);
	}
}

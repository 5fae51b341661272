/*
 * The model: pods by their history.
 *
 * During faults there may be a pod too many for a while, as upstream: a request of an old leader
 * may come late, and a controller that has work left over scales one ReplicaSet down and another
 * one up at once. A Deployment limits the sum of their replicas, not of their pods, and new pods
 * may come before old ones go. In the calm time only a rolling Deployment has one too many, for a
 * moment.
 */
#include "api/schema/tree.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_workloads_impl.h"
#include "cluster_world.h"

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

static bool is_deleting(const struct json *tree)
{
	return json_pointer(tree, STR("/metadata/deletionTimestamp")) != NULL;
}

int64_t workload_number(struct str name)
{
	int64_t n = -1;

	while (str_chr(name, '-') >= 0)
		name = str_skip(name, (size_t)str_chr(name, '-') + 1);
	(void)str_to_i64(name, &n);
	return n;
}

bool workload_was_suspended(const struct workloads *x, struct str job)
{
	for (size_t i = 0; i < x->suspended.n; i++)
		if (x->suspended.v[i] == workload_number(job))
			return true;
	return false;
}

bool workload_is_ready(const struct json *pod)
{
	return tree_condition_is_true(pod, STR("Ready"));
}

/* --- versions ------------------------------------------------------------------------------ */

static struct workload_pod *pod_of(struct workloads *x, struct str uid)
{
	for (size_t i = x->pods.n; i-- > 0;)
		if (str_eqz(uid, x->pods.v[i]->uid))
			return x->pods.v[i];
	return NULL;
}

static int index_of(const struct json *pod)
{
	int64_t index = -1;

	(void)str_to_i64(json_text_at(json_pointer(pod, STR("/metadata/annotations")),
				      "batch.kubernetes.io/job-completion-index"),
			 &index);
	return (int)index;
}

static struct str app_of(const struct json *pod)
{
	struct str app = text_at(pod, "/metadata/labels/app");

	return app.n > 0 ? app : text_at(pod, "/metadata/labels/job-name");
}

static struct workload_pod *pod_add(struct workloads *x, const struct json *pod)
{
	const struct json *owner = json_pointer(pod, STR("/metadata/ownerReferences/0"));
	struct workload_pod *p = XNEW(struct workload_pod);

	(void)snprintf(p->uid, sizeof(p->uid), "%.*s", STR_ARG(text_at(pod, "/metadata/uid")));
	(void)snprintf(p->owner, sizeof(p->owner), "%.*s", STR_ARG(json_text_at(owner, "uid")));
	(void)snprintf(p->kind, sizeof(p->kind), "%.*s", STR_ARG(json_text_at(owner, "kind")));
	(void)snprintf(p->app, sizeof(p->app), "%.*s", STR_ARG(app_of(pod)));
	(void)snprintf(p->version, sizeof(p->version), "%.*s",
		       STR_ARG(text_at(pod, "/metadata/labels/v")));
	p->index = index_of(pod);
	x->made++;
	(void)vec_push(&x->pods, p);
	return p;
}

/* A pod of a DaemonSet has to go to the node that its affinity names. */
struct str workloads_node_of(const struct json *pod)
{
	struct str node = text_at(pod, "/spec/nodeName");

	if (node.n > 0)
		return node;
	return text_at(pod, "/spec/affinity/nodeAffinity/"
			    "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/"
			    "matchFields/0/values/0");
}

static bool is_tracked(const struct json *pod)
{
	JSON_FOREACH (f, json_pointer(pod, STR("/metadata/finalizers")))
		if (str_eqz(json_str(f), WORKLOADS_TRACKING))
			return true;
	return false;
}

static bool is_disrupted(const struct json *pod)
{
	return tree_condition_is_true(pod, STR("DisruptionTarget"));
}

static void note(struct workload_pod *p, const struct json *pod)
{
	struct str phase = text_at(pod, "/status/phase");
	bool succeeded = str_eqz(phase, "Succeeded"), failed = str_eqz(phase, "Failed");
	bool ends = succeeded || failed || is_deleting(pod);

	(void)snprintf(p->node, sizeof(p->node), "%.*s", STR_ARG(workloads_node_of(pod)));
	p->spared = p->spared ||
		    (strcmp(p->kind, "Job") == 0 && !p->ended && !ends && !is_tracked(pod));
	if (failed && !p->failed && !p->late_failed)
		p->disrupted = is_disrupted(pod);
	else if (failed)
		p->late_disrupted = p->late_disrupted || is_disrupted(pod);
	if (ends && !p->ended) {
		p->succeeded = succeeded;
		p->failed = failed;
	}
	p->late = p->late || (p->ended && !p->failed && !p->succeeded && succeeded);
	p->late_failed = p->late_failed || (p->ended && !p->failed && !p->succeeded && failed);
	p->ended = p->ended || ends;
	p->active = !ends;
	p->ready = workload_is_ready(pod);
	p->here = !succeeded && !failed;
}

/* Those like it that are active, too. */
static int active_like(const struct workloads *x, const struct workload_pod *p, bool index)
{
	int n = 0;

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *o = x->pods.v[i];
		bool deployed = strcmp(p->kind, "ReplicaSet") == 0;

		if (!o->active || strcmp(o->kind, p->kind) != 0)
			continue;
		if (deployed ? strcmp(o->app, p->app) != 0 : strcmp(o->owner, p->owner) != 0)
			continue;
		if (strcmp(p->kind, "DaemonSet") == 0 && strcmp(o->node, p->node) != 0)
			continue;
		n += !index || o->index == p->index;
	}
	return n;
}

/* The number of pods that p's Job needs beside those that have succeeded. */
static int needed_like(const struct workloads *x, const struct workload_pod *p)
{
	bool done[WORKLOADS_COMPLETIONS] = { false };
	int n = WORKLOADS_COMPLETIONS;

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *o = x->pods.v[i];

		if ((!o->succeeded && !o->late) || o->spared || strcmp(o->owner, p->owner) != 0)
			continue;
		if (o->index >= 0 && o->index < WORKLOADS_COMPLETIONS) {
			n -= !done[o->index];
			done[o->index] = true;
		} else {
			n--;
		}
	}
	return MIN(MAX(n, 0), (int)WORKLOADS_PARALLELISM);
}

/* If p's Job has more active pods than it needs, any of them may be let go from now on. */
static void note_surplus(struct workloads *x, const struct workload_pod *p)
{
	bool all = active_like(x, p, false) > needed_like(x, p);
	bool like = p->index >= 0 && active_like(x, p, true) > 1;

	for (size_t i = 0; i < x->pods.n && (all || like); i++) {
		struct workload_pod *o = x->pods.v[i];

		if (o->active && strcmp(o->owner, p->owner) == 0)
			o->surplus = o->surplus || all || o->index == p->index;
	}
}

/* A Recreate Deployment has no new pod before all old ones have ended. */
static void check_recreate(struct cluster *w, const struct workload_pod *p)
{
	const struct workloads *x = w->workloads;

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *o = x->pods.v[i];

		if (o->here && strcmp(o->app, p->app) == 0 && strcmp(o->version, p->version) != 0)
			cluster_fail(w, "%s has pods of two templates at once", p->app);
	}
}

static void check_calm_daemon(struct cluster *w, const struct workload_pod *p)
{
	int most = strncmp(p->app, "su-", 3) == 0 ? 2 : 1;
	int n = active_like(w->workloads, p, false);

	if (n > most)
		cluster_fail(w, "%s has %d pods on %s", p->app, n, p->node);
}

static void check_calm(struct cluster *w, const struct workload_pod *p)
{
	const struct workloads *x = w->workloads;
	bool recreate = strncmp(p->app, "rec-", 4) == 0;
	int n = active_like(x, p, false);
	/* An old pod may go a moment after its successor has come. */
	int more = recreate ? 0 : WORKLOADS_SURGE + WORKLOADS_UNAVAILABLE;

	if (!p->active)
		return;
	if (strcmp(p->kind, "DaemonSet") == 0)
		check_calm_daemon(w, p);
	if (strcmp(p->kind, "ReplicaSet") == 0 && n > WORKLOADS_REPLICAS_MAX + more)
		cluster_fail(w, "%s has %d pods", p->app, n);
	if (recreate)
		check_recreate(w, p);
	if (strcmp(p->kind, "Job") == 0 && n > needed_like(x, p))
		cluster_fail(w, "%s has %d active pods and needs %d", p->app, n, needed_like(x, p));
	if (strcmp(p->kind, "Job") == 0 && p->index >= 0 && active_like(x, p, true) > 1)
		cluster_fail(w, "two pods of %s have index %d", p->app, p->index);
}

static bool has_ready_peer(const struct workloads *x, const struct workload_pod *p)
{
	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *o = x->pods.v[i];

		if (o != p && o->active && o->ready && strcmp(o->owner, p->owner) == 0 &&
		    strcmp(o->node, p->node) == 0)
			return true;
	}
	return false;
}

/* Whether its DaemonSet is there; else the pod is garbage. */
static bool has_daemon_set(struct cluster *w, const struct workload_pod *p)
{
	const struct json *d = cluster_server_get(w->server, "apps", "daemonsets", "default",
						  p->app, &w->arena);

	return d && !is_deleting(d) && str_eqz(text_at(d, "/metadata/uid"), p->owner);
}

/* A pod of a DaemonSet has just ended in the calm time. */
static void check_end(struct cluster *w, const struct workload_pod *p, bool was_ready)
{
	const struct workloads *x = w->workloads;

	if (x->deleting || strcmp(p->kind, "DaemonSet") != 0 || !has_daemon_set(w, p))
		return;
	if (strncmp(p->app, "od-", 3) == 0 && !x->replacing)
		cluster_fail(w, "a pod of %s was deleted by its controller", p->app);
	if (strncmp(p->app, "su-", 3) == 0 && was_ready && !has_ready_peer(x, p))
		cluster_fail(w, "%s has no ready pod on %s", p->app, p->node);
}

void workloads_see(struct cluster *w, const struct json *pod, bool gone)
{
	struct workloads *x = w->workloads;
	struct workload_pod *p;
	bool ended, ready;

	if (json_count(json_pointer(pod, STR("/metadata/ownerReferences"))) == 0)
		return;
	p = pod_of(x, text_at(pod, "/metadata/uid"));
	if (!p)
		p = pod_add(x, pod);
	ended = p->ended;
	ready = p->ready;
	note(p, pod);
	x->ends += p->ended && !ended;
	if (gone) {
		p->active = p->here = false;
		p->ended = true;
	}
	if (strcmp(p->kind, "Job") == 0)
		note_surplus(x, p);
	if (!x->calm || workload_number(str_from(p->app)) < x->exact_from)
		return;
	check_calm(w, p);
	if (p->ended && !ended)
		check_end(w, p, ready);
}

void workloads_forget(struct cluster *w)
{
	struct workloads *x = w->workloads;

	x->exact_from = x->names;
	for (size_t i = 0; i < x->pods.n; i++)
		x->pods.v[i]->active = x->pods.v[i]->here = false;
}

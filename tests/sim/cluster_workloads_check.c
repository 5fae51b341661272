/*
 * The model: pods by their history, and what workloads must be like by it.
 *
 * A pod of a Job counts once: when it has ended, or when its deletion begins, as upstream counts
 * one that may never end. One that ends while it is being deleted may count either way. A Job lets
 * go of a pod before it deletes it, and then does not count it, only if there were too many.
 *
 * During faults there may be a pod too many for a while, as upstream: a request of an old leader
 * may come late, and a controller that has work left over scales one ReplicaSet down and another
 * one up at once. A Deployment limits the sum of their replicas, not of their pods, and new pods
 * may come before old ones go. In the calm time there is never one too many.
 */
#include "cluster_workloads.h"

#include <stdarg.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_world.h"

#define TRACKING "batch.kubernetes.io/job-tracking"

static struct str text_at(const struct json *tree, const char *pointer)
{
	return json_str(json_pointer(tree, str_from(pointer)));
}

static bool is_deleting(const struct json *tree)
{
	return json_pointer(tree, STR("/metadata/deletionTimestamp")) != NULL;
}

static int64_t status_of(const struct json *tree, const char *key)
{
	return json_i64_at(json_getz(tree, "status"), key, 0);
}

/* --- history ------------------------------------------------------------------------------- */

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

static struct workload_pod *pod_add(struct workloads *x, const struct json *pod)
{
	const struct json *owner = json_pointer(pod, STR("/metadata/ownerReferences/0"));
	struct workload_pod *p = XNEW(struct workload_pod);

	(void)snprintf(p->uid, sizeof(p->uid), "%.*s", STR_ARG(text_at(pod, "/metadata/uid")));
	(void)snprintf(p->owner, sizeof(p->owner), "%.*s", STR_ARG(json_text_at(owner, "uid")));
	(void)snprintf(p->kind, sizeof(p->kind), "%.*s", STR_ARG(json_text_at(owner, "kind")));
	(void)snprintf(p->app, sizeof(p->app), "%.*s",
		       STR_ARG(text_at(pod, "/metadata/labels/app")));
	p->index = index_of(pod);
	x->made++;
	(void)vec_push(&x->pods, p);
	return p;
}

/* A pod of a DaemonSet has to go to the node that its affinity names. */
static struct str node_of(const struct json *pod)
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
		if (str_eqz(json_str(f), TRACKING))
			return true;
	return false;
}

static void note(struct workload_pod *p, const struct json *pod)
{
	struct str phase = text_at(pod, "/status/phase");
	bool succeeded = str_eqz(phase, "Succeeded"), failed = str_eqz(phase, "Failed");
	bool ends = succeeded || failed || is_deleting(pod);

	(void)snprintf(p->node, sizeof(p->node), "%.*s", STR_ARG(node_of(pod)));
	if (ends && !p->ended) {
		p->succeeded = succeeded;
		p->failed = failed;
	}
	p->spared = p->spared ||
		    (strcmp(p->kind, "Job") == 0 && !p->ended && !ends && !is_tracked(pod));
	p->late = p->late || (p->ended && !p->failed && !p->succeeded && succeeded);
	p->late_failed = p->late_failed || (p->ended && !p->failed && !p->succeeded && failed);
	p->ended = p->ended || ends;
	p->active = !ends;
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

static void check_calm(struct cluster *w, const struct workload_pod *p)
{
	const struct workloads *x = w->workloads;
	int n = active_like(x, p, false);

	if (!p->active)
		return;
	if (strcmp(p->kind, "DaemonSet") == 0 && n > 1)
		cluster_fail(w, "%s has %d pods on %s", p->app, n, p->node);
	if (strcmp(p->kind, "ReplicaSet") == 0 && n > WORKLOADS_REPLICAS_MAX + WORKLOADS_SURGE)
		cluster_fail(w, "%s has %d pods", p->app, n);
	if (strcmp(p->kind, "Job") == 0 && n > needed_like(x, p))
		cluster_fail(w, "a Job has %d active pods and needs %d", n, needed_like(x, p));
	if (strcmp(p->kind, "Job") == 0 && p->index >= 0 && active_like(x, p, true) > 1)
		cluster_fail(w, "two pods of a Job have index %d", p->index);
}

void workloads_see(struct cluster *w, const struct json *pod, bool gone)
{
	struct workloads *x = w->workloads;
	struct workload_pod *p;
	bool ended;

	if (json_count(json_pointer(pod, STR("/metadata/ownerReferences"))) == 0)
		return;
	p = pod_of(x, text_at(pod, "/metadata/uid"));
	if (!p)
		p = pod_add(x, pod);
	ended = p->ended;
	note(p, pod);
	x->ends += p->ended && !ended;
	if (gone) {
		p->active = false;
		p->ended = true;
	}
	if (strcmp(p->kind, "Job") == 0)
		note_surplus(x, p);
	if (x->calm)
		check_calm(w, p);
}

void workloads_forget(struct cluster *w)
{
	struct workloads *x = w->workloads;

	x->exact_from = x->names;
	for (size_t i = 0; i < x->pods.n; i++)
		x->pods.v[i]->active = false;
}

/* --- in the end ---------------------------------------------------------------------------- */

struct settling {
	struct cluster *w;
	char *why;
	size_t size;
	bool bad;
	const struct json *workload;
	int64_t pods, per_node[CLUSTER_NODES];
};

static void object_to(struct settling *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The first reason stays. */
static void object_to(struct settling *s, const char *fmt, ...)
{
	va_list ap;

	if (s->bad)
		return;
	s->bad = true;
	va_start(ap, fmt);
	(void)vsnprintf(s->why, s->size, fmt, ap);
	va_end(ap);
}

static const char *print(struct cluster *w, const struct json *tree)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	if (tree)
		(void)json_print(&text, tree, NULL);
	return arena_strdup(&w->arena, buf_str(&text));
}

static bool has_condition(const struct json *job, const char *type)
{
	JSON_FOREACH (c, json_pointer(job, STR("/status/conditions")))
		if (str_eqz(json_text_at(c, "type"), type) &&
		    str_eqz(json_text_at(c, "status"), "True"))
			return true;
	return false;
}

struct tally {
	int64_t ended, succeeded, failed, either;
	bool succeeded_of[WORKLOADS_COMPLETIONS];
};

static struct tally tally_of(const struct workloads *x, struct str job)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *p = x->pods.v[i];

		if (!p->ended || p->spared || !str_eqz(job, p->owner))
			continue;
		t.ended++;
		t.succeeded += p->succeeded;
		t.failed += p->failed || (!p->succeeded && !p->late);
		t.either += p->late;
		if ((p->succeeded || p->late) && p->index >= 0 && p->index < WORKLOADS_COMPLETIONS)
			t.succeeded_of[p->index] = true;
	}
	return t;
}

/* A pod that was let go was too many, and has been deleted or has ended since. */
static void check_spared(struct settling *s, const struct json *job)
{
	const struct workloads *x = s->w->workloads;
	struct str uid = text_at(job, "/metadata/uid"), name = text_at(job, "/metadata/name");

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *p = x->pods.v[i];

		if (!p->spared || !str_eqz(uid, p->owner))
			continue;
		if (!p->surplus)
			object_to(s, "%.*s let go of pod %s, which it needed", STR_ARG(name),
				  p->uid);
		if (!p->ended)
			object_to(s, "%.*s let go of pod %s, and did not delete it", STR_ARG(name),
				  p->uid);
	}
}

static int64_t number_of(struct str name)
{
	int64_t n = -1;

	while (str_chr(name, '-') >= 0)
		name = str_skip(name, (size_t)str_chr(name, '-') + 1);
	(void)str_to_i64(name, &n);
	return n;
}

/* Each pod counts once. If several of one index succeed, one of them counts. */
static void check_counts(struct settling *s, const struct json *job)
{
	struct str name = text_at(job, "/metadata/name");
	struct tally t = tally_of(s->w->workloads, text_at(job, "/metadata/uid"));
	int64_t succeeded = status_of(job, "succeeded"), failed = status_of(job, "failed");
	int64_t most = t.failed + t.either;
	bool indexed = str_eqz(text_at(job, "/spec/completionMode"), "Indexed");

	if (number_of(name) < s->w->workloads->exact_from)
		return;
	check_spared(s, job);
	if (failed < t.failed || failed > most)
		object_to(s, "%.*s counts %lld failed pods, and %lld to %lld failed", STR_ARG(name),
			  (long long)failed, (long long)t.failed, (long long)most);
	if (!indexed && succeeded + failed != t.ended)
		object_to(s, "%.*s counts %lld pods that succeeded and %lld that failed, of %lld",
			  STR_ARG(name), (long long)succeeded, (long long)failed,
			  (long long)t.ended);
	for (unsigned i = 0; indexed && i < WORKLOADS_COMPLETIONS; i++)
		if (has_condition(job, "Complete") && !t.succeeded_of[i])
			object_to(s, "%.*s is Complete, and no pod of index %u succeeded",
				  STR_ARG(name), i);
}

static void check_outcome(struct settling *s, const struct json *job)
{
	struct str name = text_at(job, "/metadata/name");
	bool complete = str_starts(name, STR("job-ok")) || str_starts(name, STR("job-ix"));
	bool indexed = str_eqz(text_at(job, "/spec/completionMode"), "Indexed");
	int64_t succeeded = status_of(job, "succeeded");
	/* One may be made too many while leaders change, and succeed; an index counts once. */
	bool all = indexed ? succeeded == WORKLOADS_COMPLETIONS
			   : succeeded >= WORKLOADS_COMPLETIONS;

	if (!has_condition(job, complete ? "Complete" : "Failed"))
		object_to(s, "%.*s is not %s: %s", STR_ARG(name), complete ? "Complete" : "Failed",
			  print(s->w, json_getz(job, "status")));
	else if (has_condition(job, complete ? "Failed" : "Complete"))
		object_to(s, "%.*s is both Complete and Failed", STR_ARG(name));
	else if (complete ? !all : succeeded != 0)
		object_to(s, "%.*s counts %lld pods that succeeded", STR_ARG(name),
			  (long long)succeeded);
	if (complete && indexed && !str_eqz(text_at(job, "/status/completedIndexes"), "0-2"))
		object_to(s, "%.*s completed indexes %.*s", STR_ARG(name),
			  STR_ARG(text_at(job, "/status/completedIndexes")));
}

static void check_job(void *arg, const struct json *job)
{
	struct settling *s = arg;
	const struct json *uncounted = json_pointer(job, STR("/status/uncountedTerminatedPods"));
	struct str name = text_at(job, "/metadata/name");

	if (is_deleting(job))
		object_to(s, "%.*s is still being deleted", STR_ARG(name));
	check_outcome(s, job);
	if (json_count(json_getz(uncounted, "succeeded")) > 0 ||
	    json_count(json_getz(uncounted, "failed")) > 0)
		object_to(s, "%.*s has pods that it has not counted", STR_ARG(name));
	if (status_of(job, "active") != 0 || status_of(job, "terminating") != 0)
		object_to(s, "%.*s says that it has active pods", STR_ARG(name));
	check_counts(s, job);
}

/* Finalizers are gone, and so is what has no owner. */
static void check_pod(void *arg, const struct json *pod)
{
	struct str name = text_at(pod, "/metadata/name");
	struct settling *s = arg;

	JSON_FOREACH (f, json_pointer(pod, STR("/metadata/finalizers")))
		if (str_eqz(json_str(f), TRACKING))
			object_to(s, "pod %.*s is still tracked", STR_ARG(name));
}

/* --- Deployments and DaemonSets ------------------------------------------------------------ */

static void count_pod(void *arg, const struct json *pod)
{
	struct settling *s = arg;
	struct str name = text_at(s->workload, "/metadata/name"), node = node_of(pod);

	if (!str_eq(text_at(pod, "/metadata/labels/app"), name) ||
	    str_eqz(text_at(pod, "/status/phase"), "Failed"))
		return;
	if (is_deleting(pod))
		object_to(s, "a pod of %.*s is still being deleted", STR_ARG(name));
	if (!str_eq(text_at(pod, "/metadata/labels/v"),
		    text_at(s->workload, "/spec/template/metadata/labels/v")))
		object_to(s, "%.*s has a pod of an old template", STR_ARG(name));
	s->pods++;
	if (node.n == 2 && node.p[1] - '0' < CLUSTER_NODES)
		s->per_node[node.p[1] - '0']++;
}

static void count_pods(struct settling *s, const struct json *workload)
{
	struct str name = text_at(workload, "/metadata/name");

	s->workload = workload;
	s->pods = 0;
	memset(s->per_node, 0, sizeof(s->per_node));
	cluster_server_each(s->w->server, "", "pods", &s->w->arena, count_pod, s);
	if (is_deleting(workload))
		object_to(s, "%.*s is still being deleted", STR_ARG(name));
	if (status_of(workload, "observedGeneration") !=
	    json_i64_at(json_getz(workload, "metadata"), "generation", -1))
		object_to(s, "the newest %.*s was not observed", STR_ARG(name));
}

static void check_deployment(void *arg, const struct json *d)
{
	struct settling *s = arg;
	int64_t replicas = json_i64_at(json_getz(d, "spec"), "replicas", -1);

	if (s->bad)
		return;
	count_pods(s, d);
	if (s->pods != replicas || status_of(d, "updatedReplicas") != replicas ||
	    status_of(d, "replicas") != replicas || status_of(d, "availableReplicas") != replicas)
		object_to(s, "%.*s has %lld pods of %lld and says %lld, %lld new, %lld available",
			  STR_ARG(text_at(d, "/metadata/name")), (long long)s->pods,
			  (long long)replicas, (long long)status_of(d, "replicas"),
			  (long long)status_of(d, "updatedReplicas"),
			  (long long)status_of(d, "availableReplicas"));
}

static void check_daemon_set(void *arg, const struct json *d)
{
	struct settling *s = arg;
	struct str name = text_at(d, "/metadata/name");

	if (s->bad)
		return;
	count_pods(s, d);
	for (unsigned i = 0; i < CLUSTER_NODES; i++)
		if (s->per_node[i] != 1)
			object_to(s, "%.*s has %lld pods on n%u", STR_ARG(name),
				  (long long)s->per_node[i], i);
	if (s->pods != CLUSTER_NODES || status_of(d, "numberAvailable") != CLUSTER_NODES ||
	    status_of(d, "updatedNumberScheduled") != CLUSTER_NODES ||
	    status_of(d, "desiredNumberScheduled") != CLUSTER_NODES)
		object_to(s, "%.*s has %lld pods and says %lld available", STR_ARG(name),
			  (long long)s->pods, (long long)status_of(d, "numberAvailable"));
}

bool workloads_settled(struct cluster *w, char *why, size_t size)
{
	struct settling s = { .w = w, .why = why, .size = size };

	if (!workloads_idle(w)) {
		(void)snprintf(why, size, "requests for workloads are under way");
		return false;
	}
	/* The history is complete. */
	if (!observer_caught_up(w, why, size))
		return false;
	cluster_server_each(w->server, "batch", "jobs", &w->arena, check_job, &s);
	cluster_server_each(w->server, "", "pods", &w->arena, check_pod, &s);
	cluster_server_each(w->server, "apps", "deployments", &w->arena, check_deployment, &s);
	cluster_server_each(w->server, "apps", "daemonsets", &w->arena, check_daemon_set, &s);
	arena_clear(&w->arena);
	return !s.bad;
}

/* --- nothing is left ----------------------------------------------------------------------- */

static void check_gone(void *arg, const struct json *tree)
{
	object_to(arg, "%.*s is still there", STR_ARG(text_at(tree, "/metadata/name")));
}

static void check_pod_gone(void *arg, const struct json *pod)
{
	if (json_count(json_pointer(pod, STR("/metadata/ownerReferences"))) > 0)
		check_gone(arg, pod);
}

bool workloads_gone(struct cluster *w, char *why, size_t size)
{
	static const char *const apps[] = { "deployments", "replicasets", "daemonsets",
					    "controllerrevisions" };
	struct settling s = { .w = w, .why = why, .size = size };

	(void)snprintf(why, size, "workloads are not deleted");
	if (!workloads_idle(w) || !cluster_choose_server(w) || workloads_delete_all(w))
		return false;
	cluster_server_each(w->server, "batch", "jobs", &w->arena, check_gone, &s);
	for (unsigned i = 0; i < ARRAY_SIZE(apps); i++)
		cluster_server_each(w->server, "apps", apps[i], &w->arena, check_gone, &s);
	cluster_server_each(w->server, "", "pods", &w->arena, check_pod_gone, &s);
	arena_clear(&w->arena);
	return !s.bad;
}

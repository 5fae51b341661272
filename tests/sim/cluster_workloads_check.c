/*
 * What workloads must be like in the end, by their specs and the history of their pods.
 *
 * A pod of a Job counts once: when it has ended, or when its deletion begins, as upstream counts
 * one that may never end. One that ends while it is being deleted may count either way. A Job with
 * a podFailurePolicy counts a pod only when it has ended. A Job lets go of a pod before it deletes
 * it, and then does not count it, only if there were too many or if it was suspended.
 */
#include <stdarg.h>

#include "api/schema/tree.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
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

static int64_t status_of(const struct json *tree, const char *key)
{
	return json_i64_at(json_getz(tree, "status"), key, 0);
}

/* --- in the end ---------------------------------------------------------------------------- */

struct settling {
	struct cluster *w;
	char *why;
	size_t size;
	bool bad;
	const struct json *workload;
	struct str version; /* of the template that its pods must have; empty: any */
	int64_t pods, updated, per_node[CLUSTER_NODES];
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
	return tree_condition_is_true(job, str_from(type));
}

struct tally {
	int64_t ended, succeeded, failed, either;
	int64_t open; /* a Job with a policy need not have counted them */
	bool succeeded_of[WORKLOADS_COMPLETIONS];
};

static bool has_policy(struct str job)
{
	return str_starts(job, STR("job-pol")) || str_starts(job, STR("job-ign"));
}

static void tally_add(struct tally *t, const struct workload_pod *p)
{
	t->ended++;
	t->succeeded += p->succeeded;
	t->failed += p->failed || (!p->succeeded && !p->late);
	t->either += p->late;
}

/* With a policy a pod counts by its phase in the end, and not if a rule ignores it. */
static void tally_add_by_policy(struct tally *t, const struct workload_pod *p, bool ignores)
{
	bool failed = p->failed || p->late_failed, succeeded = p->succeeded || p->late;
	bool open = (!failed && !succeeded) || (failed && ignores && p->late_disrupted);

	if (open) {
		t->open++;
	} else if (!failed || !ignores || !p->disrupted) {
		t->ended++;
		t->succeeded += succeeded;
		t->failed += failed;
	}
}

static struct tally tally_of(const struct workloads *x, struct str uid, struct str name)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *p = x->pods.v[i];

		if (!p->ended || p->spared || !str_eqz(uid, p->owner))
			continue;
		if (has_policy(name))
			tally_add_by_policy(&t, p, str_starts(name, STR("job-ign")));
		else
			tally_add(&t, p);
		if ((p->succeeded || p->late) && p->index >= 0 && p->index < WORKLOADS_COMPLETIONS)
			t.succeeded_of[p->index] = true;
	}
	return t;
}

/*
 * A pod that was let go was too many, or its Job was suspended. It was deleted or has ended since.
 */
static void check_spared(struct settling *s, const struct json *job)
{
	const struct workloads *x = s->w->workloads;
	struct str uid = text_at(job, "/metadata/uid"), name = text_at(job, "/metadata/name");

	for (size_t i = 0; i < x->pods.n; i++) {
		const struct workload_pod *p = x->pods.v[i];

		if (!p->spared || !str_eqz(uid, p->owner))
			continue;
		if (!p->surplus && !workload_was_suspended(x, name))
			object_to(s, "%.*s let go of pod %s, which it needed", STR_ARG(name),
				  p->uid);
		if (!p->ended)
			object_to(s, "%.*s let go of pod %s, and did not delete it", STR_ARG(name),
				  p->uid);
	}
}

/* Each pod counts once. If several of one index succeed, one of them counts. */
static void check_counts(struct settling *s, const struct json *job)
{
	struct str name = text_at(job, "/metadata/name");
	struct tally t = tally_of(s->w->workloads, text_at(job, "/metadata/uid"), name);
	int64_t succeeded = status_of(job, "succeeded"), failed = status_of(job, "failed");
	int64_t most = t.failed + t.either + t.open;
	bool indexed = str_eqz(text_at(job, "/spec/completionMode"), "Indexed");

	if (workload_number(name) < s->w->workloads->exact_from)
		return;
	check_spared(s, job);
	if (failed < t.failed || failed > most)
		object_to(s, "%.*s counts %lld failed pods, and %lld to %lld failed", STR_ARG(name),
			  (long long)failed, (long long)t.failed, (long long)most);
	if (!indexed && (succeeded + failed < t.ended || succeeded + failed > t.ended + t.open))
		object_to(s,
			  "%.*s counts %lld pods that succeeded and %lld that failed, of %lld: %s",
			  STR_ARG(name), (long long)succeeded, (long long)failed,
			  (long long)t.ended, print(s->w, json_getz(job, "status")));
	for (unsigned i = 0; indexed && i < WORKLOADS_COMPLETIONS; i++)
		if (has_condition(job, "Complete") && !t.succeeded_of[i])
			object_to(s, "%.*s is Complete, and no pod of index %u succeeded",
				  STR_ARG(name), i);
}

/* As the kinds of struct job_kind say it. */
static bool should_complete(struct str name)
{
	return str_starts(name, STR("job-ok")) || str_starts(name, STR("job-ix")) ||
	       str_starts(name, STR("job-ign")) || str_starts(name, STR("job-ttl"));
}

static struct str reason_of_failure(const struct json *job)
{
	return json_text_at(
		json_find(json_pointer(job, STR("/status/conditions")), "type", STR("Failed")),
		"reason");
}

static void check_outcome(struct settling *s, const struct json *job)
{
	struct str name = text_at(job, "/metadata/name");
	bool complete = should_complete(name);
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
	if (str_starts(name, STR("job-pol")) && !s->bad &&
	    !str_eqz(reason_of_failure(job), "PodFailurePolicy"))
		object_to(s, "%.*s failed by another reason than its policy: %s", STR_ARG(name),
			  print(s->w, json_getz(job, "status")));
	if (complete && indexed && !str_eqz(text_at(job, "/status/completedIndexes"), "0-2"))
		object_to(s, "%.*s completed indexes %.*s", STR_ARG(name),
			  STR_ARG(text_at(job, "/status/completedIndexes")));
}

static bool is_finished(const struct json *job)
{
	return has_condition(job, "Complete") || has_condition(job, "Failed");
}

/* A suspended Job has no pods. */
static void check_suspended(struct settling *s, const struct json *job)
{
	const struct workloads *x = s->w->workloads;
	struct str name = text_at(job, "/metadata/name"), uid = text_at(job, "/metadata/uid");

	if (!has_condition(job, "Suspended"))
		object_to(s, "%.*s does not say that it is suspended: %s", STR_ARG(name),
			  print(s->w, json_getz(job, "status")));
	for (size_t i = 0; i < x->pods.n; i++)
		if (x->pods.v[i]->active && str_eqz(uid, x->pods.v[i]->owner))
			object_to(s, "%.*s is suspended and has pods", STR_ARG(name));
}

/*
 * The leader that notes when a Job finished need not be the one that deletes it, and their clocks
 * may differ by hours.
 */
static bool clocks_agree(const struct cluster *w)
{
	for (unsigned i = 1; i < CLUSTER_CONTROLLERS; i++)
		if (w->controllers[i].skew_ns != w->controllers[0].skew_ns)
			return false;
	return !(w->parts & CLUSTER_CLOCKS);
}

static void check_job(void *arg, const struct json *job)
{
	struct settling *s = arg;
	const struct json *uncounted = json_pointer(job, STR("/status/uncountedTerminatedPods"));
	struct str name = text_at(job, "/metadata/name");

	if (is_deleting(job))
		object_to(s, "%.*s is still being deleted", STR_ARG(name));
	if (json_true_at(json_getz(job, "spec"), "suspend") && !is_finished(job))
		check_suspended(s, job);
	else
		check_outcome(s, job);
	if (str_starts(name, STR("job-ttl")) && is_finished(job) && clocks_agree(s->w))
		object_to(s, "%.*s has finished and is still there", STR_ARG(name));
	if (json_count(json_getz(uncounted, "succeeded")) > 0 ||
	    json_count(json_getz(uncounted, "failed")) > 0)
		object_to(s, "%.*s has pods that it has not counted", STR_ARG(name));
	if (status_of(job, "active") != 0 || status_of(job, "terminating") != 0)
		object_to(s, "%.*s says that it has active pods", STR_ARG(name));
	check_counts(s, job);
}

/* A Job that is deleted after it has finished has finished before. */
static void check_vanished(struct settling *s)
{
	const struct workloads *x = s->w->workloads;

	for (size_t i = 0; i < x->pods.n && !s->bad; i++) {
		const struct workload_pod *p = x->pods.v[i];
		struct str app = str_from(p->app);
		int64_t succeeded = 0;

		if (!str_starts(app, STR("job-ttl")) || workload_number(app) < x->exact_from ||
		    cluster_server_get(s->w->server, "batch", "jobs", "default", p->app,
				       &s->w->arena))
			continue;
		for (size_t k = 0; k < x->pods.n; k++)
			succeeded += strcmp(x->pods.v[k]->owner, p->owner) == 0 &&
				     (x->pods.v[k]->succeeded || x->pods.v[k]->late);
		if (succeeded < WORKLOADS_COMPLETIONS)
			object_to(s, "%s was deleted after %lld pods", p->app,
				  (long long)succeeded);
	}
}

/* Finalizers are gone, and so is what has no owner. */
static void check_pod(void *arg, const struct json *pod)
{
	struct str name = text_at(pod, "/metadata/name");
	struct settling *s = arg;

	JSON_FOREACH (f, json_pointer(pod, STR("/metadata/finalizers")))
		if (str_eqz(json_str(f), WORKLOADS_TRACKING))
			object_to(s, "pod %.*s is still tracked", STR_ARG(name));
}

/* --- Deployments and DaemonSets ------------------------------------------------------------ */

static void count_pod(void *arg, const struct json *pod)
{
	struct settling *s = arg;
	struct str name = text_at(s->workload, "/metadata/name");
	struct str node = workloads_node_of(pod);

	if (!str_eq(text_at(pod, "/metadata/labels/app"), name) ||
	    str_eqz(text_at(pod, "/status/phase"), "Failed"))
		return;
	if (is_deleting(pod))
		object_to(s, "a pod of %.*s is still being deleted", STR_ARG(name));
	if (s->version.n > 0 && !str_eq(text_at(pod, "/metadata/labels/v"), s->version))
		object_to(s, "%.*s has a pod of another template than %.*s", STR_ARG(name),
			  STR_ARG(s->version));
	s->pods++;
	s->updated += str_eq(text_at(pod, "/metadata/labels/v"),
			     text_at(s->workload, "/spec/template/metadata/labels/v"));
	if (node.n == 2 && node.p[1] - '0' < CLUSTER_NODES)
		s->per_node[node.p[1] - '0']++;
}

/*
 * Pods of a paused Deployment keep the template that they had; those of an OnDelete DaemonSet have
 * any, until all of them were deleted.
 */
static struct str version_of(const struct json *workload)
{
	const struct json *annotations = json_pointer(workload, STR("/metadata/annotations"));

	if (json_true_at(json_getz(workload, "spec"), "paused"))
		return json_text_at(annotations, "held");
	if (str_starts(text_at(workload, "/metadata/name"), STR("od-")) &&
	    !json_getz(annotations, "fresh"))
		return STR_NULL;
	return text_at(workload, "/spec/template/metadata/labels/v");
}

static void count_pods(struct settling *s, const struct json *workload)
{
	struct str name = text_at(workload, "/metadata/name");

	s->workload = workload;
	s->version = version_of(workload);
	s->pods = s->updated = 0;
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
	if (s->pods != replicas || status_of(d, "updatedReplicas") != s->updated ||
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
	    status_of(d, "updatedNumberScheduled") != s->updated ||
	    status_of(d, "desiredNumberScheduled") != CLUSTER_NODES)
		object_to(s, "%.*s has %lld pods and says %lld available", STR_ARG(name),
			  (long long)s->pods, (long long)status_of(d, "numberAvailable"));
}

/* --- Services ------------------------------------------------------------------------------ */

/* What a Service's slices and pods say. */
struct endpoints {
	struct settling *s;
	const struct json *service;
	VEC(struct str) ready; /* uids of pods, by the slices */
	size_t pods; /* ready, by the pods */
};

static void note_slice(void *arg, const struct json *slice)
{
	struct endpoints *e = arg;
	struct str name = text_at(e->service, "/metadata/name");

	if (!str_eq(json_text_at(json_pointer(slice, STR("/metadata/labels")),
				 "kubernetes.io/service-name"),
		    name))
		return;
	JSON_FOREACH (it, json_getz(slice, "endpoints"))
		if (json_true_at(json_getz(it, "conditions"), "ready"))
			(void)vec_push(&e->ready, text_at(it, "/targetRef/uid"));
}

static void note_endpoint(void *arg, const struct json *pod)
{
	struct endpoints *e = arg;
	struct str name = text_at(e->service, "/metadata/name"),
		   uid = text_at(pod, "/metadata/uid");
	size_t n = 0;

	if (!str_eq(text_at(pod, "/metadata/labels/app"),
		    text_at(e->service, "/spec/selector/app")) ||
	    is_deleting(pod) || !workload_is_ready(pod))
		return;
	e->pods++;
	for (size_t i = 0; i < e->ready.n; i++)
		n += str_eq(e->ready.v[i], uid);
	if (n != 1)
		object_to(e->s, "%.*s has the ready pod %.*s %zu times as an endpoint",
			  STR_ARG(name), STR_ARG(text_at(pod, "/metadata/name")), n);
}

/* Its ready pods, and no others, are its endpoints. */
static void check_service(void *arg, const struct json *service)
{
	struct endpoints e = { .s = arg, .service = service };
	struct str name = text_at(service, "/metadata/name");
	struct cluster *w = e.s->w;

	if (!str_starts(name, STR("svc-")))
		return;
	vec_init(&e.ready, SIZE_MAX / sizeof(*e.ready.v));
	if (is_deleting(service))
		object_to(e.s, "%.*s is still being deleted", STR_ARG(name));
	cluster_server_each(w->server, "discovery.k8s.io", "endpointslices", &w->arena, note_slice,
			    &e);
	cluster_server_each(w->server, "", "pods", &w->arena, note_endpoint, &e);
	if (e.pods != e.ready.n)
		object_to(e.s, "%.*s has %zu endpoints of %zu ready pods", STR_ARG(name), e.ready.n,
			  e.pods);
	vec_release(&e.ready);
}

/* --- all of them --------------------------------------------------------------------------- */

static void check_all(struct settling *s)
{
	struct cluster *w = s->w;

	cluster_server_each(w->server, "batch", "jobs", &w->arena, check_job, s);
	cluster_server_each(w->server, "", "pods", &w->arena, check_pod, s);
	cluster_server_each(w->server, "apps", "deployments", &w->arena, check_deployment, s);
	cluster_server_each(w->server, "apps", "daemonsets", &w->arena, check_daemon_set, s);
	cluster_server_each(w->server, "", "services", &w->arena, check_service, s);
	check_vanished(s);
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
	if (workloads_resume_all(w)) {
		(void)snprintf(why, size, "workloads are suspended or paused");
		return false;
	}
	check_all(&s);
	arena_clear(&w->arena);
	return !s.bad;
}

/* --- nothing is left ----------------------------------------------------------------------- */

static void check_gone(void *arg, const struct json *tree)
{
	object_to(arg, "%.*s is still there", STR_ARG(text_at(tree, "/metadata/name")));
}

static void check_service_gone(void *arg, const struct json *service)
{
	if (str_starts(text_at(service, "/metadata/name"), STR("svc-")))
		check_gone(arg, service);
}

static void check_slice_gone(void *arg, const struct json *slice)
{
	if (str_starts(json_text_at(json_pointer(slice, STR("/metadata/labels")),
				    "kubernetes.io/service-name"),
		       STR("svc-")))
		check_gone(arg, slice);
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
	cluster_server_each(w->server, "", "services", &w->arena, check_service_gone, &s);
	cluster_server_each(w->server, "discovery.k8s.io", "endpointslices", &w->arena,
			    check_slice_gone, &s);
	cluster_server_each(w->server, "", "pods", &w->arena, check_pod_gone, &s);
	arena_clear(&w->arena);
	return !s.bad;
}

/*
 * Requests for workloads are sent once, and their outcome does not matter: the checks compare what
 * is committed with the history of pods. Names are never used twice.
 */
#include "cluster_workloads_impl.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_world.h"

enum { ASK_MS = 20 * 1000, TTL_MAX_S = 10 };

static const char *const resources[] = {
	[RESOURCE_JOBS] = "jobs",
	[RESOURCE_DEPLOYMENTS] = "deployments",
	[RESOURCE_DAEMON_SETS] = "daemonsets",
	[RESOURCE_SERVICES] = "services",
};

struct ask {
	struct list link;
	struct workloads *x;
	struct client_request request;
};

const char *workloads_resource(unsigned resource)
{
	return resources[resource];
}

static const char *group_of(const char *resource)
{
	if (strcmp(resource, "jobs") == 0)
		return "batch";
	return strcmp(resource, "deployments") == 0 || strcmp(resource, "daemonsets") == 0 ? "apps"
											   : "";
}

/* --- requests ------------------------------------------------------------------------------ */

static void on_done(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct ask *k = CONTAINER_OF(r, struct ask, request);
	struct cluster *w = k->x->w;

	list_remove(&k->link);
	free(k);
	if (!err)
		cluster_acknowledged(w);
	else if (answer->status >= 400 && answer->status < 500)
		w->refused++;
	else
		w->unknown++;
}

static struct ask *ask_new(struct workloads *x, const char *body)
{
	struct ask *k = XNEW(struct ask);

	k->x = x;
	k->request = (struct client_request){
		.no_retry = true, .timeout_ms = ASK_MS, .body = str_from(body), .on_done = on_done
	};
	list_push_back(&x->asks, &k->link);
	return k;
}

size_t workloads_under_way(const struct workloads *x)
{
	size_t n = 0;

	LIST_FOREACH (it, &x->asks)
		n++;
	return n;
}

static void send_new(struct workloads *x, unsigned resource, const char *text)
{
	struct resource what = resource_builtin(group_of(resources[resource]), "v1",
						resources[resource]);

	client_create(cluster_client(x->w), &ask_new(x, text)->request, &what, STR("default"),
		      NULL);
}

static void send_change(struct workloads *x, unsigned resource, struct str name, const char *text)
{
	struct resource what = resource_builtin(group_of(resources[resource]), "v1",
						resources[resource]);

	client_patch(cluster_client(x->w), &ask_new(x, text)->request, &what,
		     (struct resource_name){ .ns = STR("default"), .name = name },
		     CLIENT_PATCH_MERGE, NULL);
}

static void send_deletion(struct workloads *x, const char *resource, struct str ns, struct str name,
			  const char *propagation)
{
	struct resource what = resource_builtin(group_of(resource), "v1", resource);
	struct client_delete_opts o = { .propagation = propagation };

	client_delete(cluster_client(x->w), &ask_new(x, "")->request, &what, ns, name, &o);
}

void workloads_release(struct cluster *w)
{
	struct workloads *x = w->workloads;

	if (!x)
		return;
	LIST_FOREACH_SAFE (it, &x->asks) {
		struct ask *k = LIST_ENTRY(it, struct ask, link);

		client_cancel(&k->request);
		free(k);
	}
	for (size_t i = 0; i < x->pods.n; i++)
		free(x->pods.v[i]);
	vec_release(&x->pods);
	vec_release(&x->suspended);
	free(TAKE(w->workloads));
}

/* --- what is there ------------------------------------------------------------------------- */

static void note_name(void *arg, const struct json *tree)
{
	struct workload_look *l = arg;
	const struct json *labels = json_pointer(tree, STR("/metadata/labels"));

	if (l->app && !str_eqz(json_text_at(labels, "app"), l->app))
		return;
	l->n++;
	if (json_pointer(tree, STR("/metadata/deletionTimestamp")) ||
	    json_pointer(tree, STR("/metadata/labels/component")))
		return; /* the second is the service `kubernetes` */
	(void)vec_push(&l->names, json_str(json_pointer(tree, STR("/metadata/name"))));
	(void)vec_push(&l->versions,
		       json_str(json_pointer(tree, STR("/spec/template/metadata/labels/v"))));
	(void)vec_push(&l->sizes, json_i64_at(json_getz(tree, "spec"), "replicas", 0));
}

void workloads_look(struct workloads *x, const char *resource, const char *app,
		    struct workload_look *l)
{
	*l = (struct workload_look){ .app = app };
	vec_init(&l->names, SIZE_MAX / sizeof(*l->names.v));
	vec_init(&l->versions, SIZE_MAX / sizeof(*l->versions.v));
	vec_init(&l->sizes, SIZE_MAX / sizeof(*l->sizes.v));
	if (cluster_server_ready(x->w->server))
		cluster_server_each(x->w->server, group_of(resource), resource, &x->w->arena,
				    note_name, l);
}

void workload_look_release(struct workload_look *l)
{
	vec_release(&l->names);
	vec_release(&l->versions);
	vec_release(&l->sizes);
}

/* --- texts --------------------------------------------------------------------------------- */

/* Those whose node is lost leave it soon, or after minutes as by default. */
static const char *tolerations(struct workloads *x)
{
	if (cluster_chance(x->w, 0.3))
		return "";
	return ",\"tolerations\":["
	       "{\"key\":\"node.kubernetes.io/unreachable\",\"operator\":\"Exists\","
	       "\"effect\":\"NoExecute\",\"tolerationSeconds\":3},"
	       "{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
	       "\"effect\":\"NoExecute\",\"tolerationSeconds\":3}]";
}

#define POD_SPEC                                                                       \
	"\"automountServiceAccountToken\":false,\"terminationGracePeriodSeconds\":%u," \
	"\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]%s"

#define RULE(action, condition)                                   \
	",\"podFailurePolicy\":{\"rules\":[{\"action\":\"" action \
	"\",\"onPodConditions\":[{\"type\":\"" condition "\",\"status\":\"True\"}]}]}"

static const struct {
	const char *name, *backoff, *more;
	bool indexed, bad; /* bad: its pods fail */
} jobs[] = {
	[JOB_OK] = { .name = "job-ok" },
	[JOB_INDEXED] = { .name = "job-ix", .indexed = true },
	[JOB_BAD] = { .name = "job-bad", .backoff = "\"backoffLimit\":1", .bad = true },
	[JOB_PER_INDEX] = { .name = "job-per",
			    .backoff = "\"backoffLimitPerIndex\":0",
			    .indexed = true,
			    .bad = true },
	/* Each pod that has a node has this condition. */
	[JOB_POLICY] = { .name = "job-pol", .more = RULE("FailJob", "PodScheduled"), .bad = true },
	[JOB_IGNORE] = { .name = "job-ign", .more = RULE("Ignore", "DisruptionTarget") },
	[JOB_TTL] = { .name = "job-ttl" },
};

static void describe_limits(struct workloads *x, enum job_kind kind, char *text, size_t size)
{
	unsigned ttl = 1 + cluster_pick(x->w, TTL_MAX_S);
	char more[64] = "";

	if (kind == JOB_TTL)
		(void)snprintf(more, sizeof(more), ",\"ttlSecondsAfterFinished\":%u", ttl);
	(void)snprintf(text, size,
		       "\"completions\":%d,\"parallelism\":%d,\"completionMode\":\"%s\",%s%s%s",
		       WORKLOADS_COMPLETIONS, WORKLOADS_PARALLELISM,
		       jobs[kind].indexed ? "Indexed" : "NonIndexed",
		       jobs[kind].backoff ? jobs[kind].backoff : "\"backoffLimit\":1000",
		       jobs[kind].more ? jobs[kind].more : "", more);
}

void workloads_create_job(struct workloads *x, enum job_kind kind)
{
	unsigned seconds = cluster_pick(x->w, 8), grace = 1 + cluster_pick(x->w, 3);
	const char *tolerated = tolerations(x);
	char limits[320], text[2048];

	describe_limits(x, kind, limits, sizeof(limits));
	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s-%u\"},\"spec\":{%s,\"template\":{\"metadata\":{"
		"\"annotations\":{\"devplane.dev/hollow-exit.c\":\"%d after %us\"}},"
		"\"spec\":{\"restartPolicy\":\"Never\"," POD_SPEC "}}}}",
		jobs[kind].name, x->names, limits, jobs[kind].bad, seconds, grace, tolerated);
	cluster_tell(x->w, "create %s-%u", jobs[kind].name, x->names++);
	send_new(x, RESOURCE_JOBS, text);
}

#define ROLLING \
	"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":%d,\"maxUnavailable\":%d}}"

void workloads_create_deployment(struct workloads *x, bool recreate)
{
	unsigned replicas = cluster_pick(x->w, WORKLOADS_REPLICAS_MAX + 1);
	unsigned grace = 1 + cluster_pick(x->w, 3), n = x->names++;
	const char *tolerated = tolerations(x);
	char strategy[96] = "{\"type\":\"Recreate\"}", name[24], text[2048];

	(void)snprintf(name, sizeof(name), "%s-%u", recreate ? "rec" : "dep", n);
	if (!recreate)
		(void)snprintf(strategy, sizeof(strategy), ROLLING, WORKLOADS_SURGE,
			       WORKLOADS_UNAVAILABLE);
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"replicas\":%u,\"selector\":{"
		       "\"matchLabels\":{\"app\":\"%s\"}},\"strategy\":%s,"
		       "\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\",\"v\":\"0\"}},"
		       "\"spec\":{" POD_SPEC "}}}}",
		       name, replicas, name, strategy, name, grace, tolerated);
	cluster_tell(x->w, "create %s of %u", name, replicas);
	send_new(x, RESOURCE_DEPLOYMENTS, text);
}

void workloads_create_daemon_set(struct workloads *x, const char *prefix)
{
	unsigned grace = 1 + cluster_pick(x->w, 3), n = x->names++;
	bool surge = strcmp(prefix, "su") == 0;
	char strategy[96] = "{\"type\":\"OnDelete\"}", name[24], text[1024];

	(void)snprintf(name, sizeof(name), "%s-%u", prefix, n);
	if (strcmp(prefix, "od") != 0)
		(void)snprintf(strategy, sizeof(strategy), ROLLING, surge, !surge);
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"selector\":{\"matchLabels\":{"
		       "\"app\":\"%s\"}},\"updateStrategy\":%s,\"template\":{\"metadata\":{"
		       "\"labels\":{\"app\":\"%s\",\"v\":\"0\"}},\"spec\":{" POD_SPEC "}}}}",
		       name, name, strategy, name, grace, "");
	cluster_tell(x->w, "create %s", name);
	send_new(x, RESOURCE_DAEMON_SETS, text);
}

/* With a cluster IP, or without. */
void workloads_create_service(struct workloads *x, const char *app)
{
	bool headless = cluster_chance(x->w, 0.5);
	unsigned n = x->names++;
	char text[256];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"svc-%u\"},\"spec\":{\"selector\":{\"app\":\"%s\"},"
		"\"ports\":[{\"port\":80}]%s}}",
		n, app, headless ? ",\"clusterIP\":\"None\"" : "");
	cluster_tell(x->w, "create svc-%u of %s", n, app);
	send_new(x, RESOURCE_SERVICES, text);
}

/* A Deployment's or DaemonSet's name. */
static const char *some_app(struct workloads *x)
{
	struct workload_look l;
	struct str name = STR("dep-0");

	workloads_look(
		x,
		resources[cluster_chance(x->w, 0.7) ? RESOURCE_DEPLOYMENTS : RESOURCE_DAEMON_SETS],
		NULL, &l);
	if (l.names.n > 0)
		name = l.names.v[cluster_pick(x->w, (unsigned)l.names.n)];
	workload_look_release(&l);
	return arena_strdup(&x->w->arena, name);
}

void workloads_create(struct workloads *x, unsigned resource)
{
	static const char *const daemons[] = { "ds", "od", "su" };

	if (resource == RESOURCE_JOBS)
		workloads_create_job(x, cluster_pick(x->w, JOB_KINDS));
	else if (resource == RESOURCE_DEPLOYMENTS)
		workloads_create_deployment(x, cluster_chance(x->w, 0.4));
	else if (resource == RESOURCE_DAEMON_SETS)
		workloads_create_daemon_set(x, daemons[cluster_pick(x->w, ARRAY_SIZE(daemons))]);
	else
		workloads_create_service(x, some_app(x));
}

/* --- changes ------------------------------------------------------------------------------- */

void workloads_roll(struct workloads *x, unsigned resource, struct str name)
{
	const char *app = resource == RESOURCE_SERVICES ? some_app(x) : NULL;
	char text[192];

	if (app)
		(void)snprintf(text, sizeof(text), "{\"spec\":{\"selector\":{\"app\":\"%s\"}}}",
			       app);
	else
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"annotations\":{\"fresh\":null}},\"spec\":{"
			       "\"template\":{\"metadata\":{\"labels\":{\"v\":\"%u\"}}}}}",
			       x->names++);
	cluster_tell(x->w, "roll %.*s", STR_ARG(name));
	send_change(x, resource, name, text);
}

void workloads_scale(struct workloads *x, struct str name)
{
	unsigned replicas = cluster_pick(x->w, WORKLOADS_REPLICAS_MAX + 1);
	char text[64];

	(void)snprintf(text, sizeof(text), "{\"spec\":{\"replicas\":%u}}", replicas);
	cluster_tell(x->w, "scale %.*s to %u", STR_ARG(name), replicas);
	send_change(x, RESOURCE_DEPLOYMENTS, name, text);
}

void workloads_suspend(struct workloads *x, struct str job, bool suspend)
{
	cluster_tell(x->w, "%s %.*s", suspend ? "suspend" : "resume", STR_ARG(job));
	if (suspend)
		(void)vec_push(&x->suspended, workload_number(job));
	send_change(x, RESOURCE_JOBS, job,
		    suspend ? "{\"spec\":{\"suspend\":true}}" : "{\"spec\":{\"suspend\":false}}");
}

void workloads_pause(struct workloads *x, struct str deployment, bool pause, struct str held)
{
	char text[160];

	cluster_tell(x->w, "%s %.*s", pause ? "pause" : "resume", STR_ARG(deployment));
	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"annotations\":{\"held\":\"%.*s\"}},\"spec\":{\"paused\":%s}}",
		STR_ARG(held), pause ? "true" : "false");
	send_change(x, RESOURCE_DEPLOYMENTS, deployment, text);
}

void workloads_nudge(struct workloads *x, unsigned resource)
{
	struct workload_look l;
	char text[96];

	workloads_look(x, resources[resource], NULL, &l);
	for (size_t i = 0; i < l.names.n; i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"annotations\":{\"nudge\":\"%u\"}}}", x->names++);
		send_change(x, resource, l.names.v[i], text);
	}
	workload_look_release(&l);
}

void workloads_delete(struct workloads *x, unsigned resource, struct str name)
{
	bool foreground = cluster_chance(x->w, 0.3);

	cluster_tell(x->w, "delete %.*s", STR_ARG(name));
	send_deletion(x, resources[resource], STR("default"), name,
		      foreground ? "Foreground" : "Background");
}

void workloads_replace(struct workloads *x, struct str daemon_set, bool all)
{
	struct workload_look l;

	cluster_tell(x->w, "delete pods of %.*s", STR_ARG(daemon_set));
	if (all)
		send_change(x, RESOURCE_DAEMON_SETS, daemon_set,
			    "{\"metadata\":{\"annotations\":{\"fresh\":\"yes\"}}}");
	workloads_look(x, "pods", arena_strdup(&x->w->arena, daemon_set), &l);
	for (size_t i = 0; i < l.names.n; i++)
		if (all || cluster_chance(x->w, 0.5))
			send_deletion(x, "pods", STR("default"), l.names.v[i], "Background");
	workload_look_release(&l);
}

void workloads_delete_node(struct workloads *x, const char *name)
{
	cluster_tell(x->w, "delete node %s", name);
	send_deletion(x, "nodes", STR(""), str_from(name), "Background");
}

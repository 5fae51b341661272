/*
 * The load of workloads: a few of few pods.
 *
 * Requests are sent once, and their outcome does not matter: the checks compare what is committed
 * with the history of pods. Names are never used twice.
 */
#include "cluster_workloads.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_world.h"

enum {
	ASK_MS = 20 * 1000,
	ASKS_MAX = 4,
	JOBS_MAX = 4,
	KIND_MAX = 2, /* of Deployments, and of DaemonSets */
	GONE_MIN_MS = 45 * 1000, /* a node may be silent for 40 seconds */
	ROUNDS = 2,
	STRIKE_MS = 5000,
	STRIKE_TURNS = 60,
	NUDGES = 12, /* of what has just been made */
	NUDGE_TURNS = 6,
};

static const char *const resources[] = { "jobs", "deployments", "daemonsets" };

struct ask {
	struct list link;
	struct workloads *x;
	struct client_request request;
};

static const char *group_of(const char *resource)
{
	return strcmp(resource, "jobs") == 0 ? "batch" : "apps";
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

static void send_new(struct workloads *x, const char *resource, const char *text)
{
	struct resource what = resource_builtin(group_of(resource), "v1", resource);

	client_create(cluster_client(x->w), &ask_new(x, text)->request, &what, STR("default"),
		      NULL);
}

static void send_change(struct workloads *x, const char *resource, struct str name,
			const char *text)
{
	struct resource what = resource_builtin(group_of(resource), "v1", resource);

	client_patch(cluster_client(x->w), &ask_new(x, text)->request, &what,
		     (struct resource_name){ .ns = STR("default"), .name = name },
		     CLIENT_PATCH_MERGE, NULL);
}

static void send_deletion(struct workloads *x, const char *resource, struct str name,
			  const char *propagation)
{
	struct resource what = resource_builtin(group_of(resource), "v1", resource);
	struct client_delete_opts o = { .propagation = propagation };

	client_delete(cluster_client(x->w), &ask_new(x, "")->request, &what, STR("default"), name,
		      &o);
}

/* --- what is there ------------------------------------------------------------------------- */

struct look {
	VEC(struct str) names; /* of those that are not being deleted, in the world's arena */
	size_t n; /* all */
};

static void note_name(void *arg, const struct json *tree)
{
	struct look *l = arg;

	l->n++;
	if (!json_pointer(tree, STR("/metadata/deletionTimestamp")))
		(void)vec_push(&l->names, json_str(json_pointer(tree, STR("/metadata/name"))));
}

static void look_at(struct workloads *x, const char *resource, struct look *l)
{
	l->n = 0;
	vec_init(&l->names, SIZE_MAX / sizeof(*l->names.v));
	if (cluster_server_ready(x->w->server))
		cluster_server_each(x->w->server, group_of(resource), resource, &x->w->arena,
				    note_name, l);
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

enum job_kind { JOB_OK, JOB_INDEXED, JOB_BAD, JOB_PER_INDEX, JOB_KINDS };

static const char *const job_names[] = { "job-ok", "job-ix", "job-bad", "job-per" };

static void describe_limits(enum job_kind kind, char *text, size_t size)
{
	bool indexed = kind == JOB_INDEXED || kind == JOB_PER_INDEX;
	const char *backoff = "\"backoffLimit\":1000";

	if (kind == JOB_BAD)
		backoff = "\"backoffLimit\":1";
	if (kind == JOB_PER_INDEX)
		backoff = "\"backoffLimitPerIndex\":0";
	(void)snprintf(text, size,
		       "\"completions\":%d,\"parallelism\":%d,\"completionMode\":\"%s\",%s",
		       WORKLOADS_COMPLETIONS, WORKLOADS_PARALLELISM,
		       indexed ? "Indexed" : "NonIndexed", backoff);
}

static void create_job(struct workloads *x, enum job_kind kind)
{
	bool bad = kind == JOB_BAD || kind == JOB_PER_INDEX;
	unsigned seconds = cluster_pick(x->w, 8), grace = 1 + cluster_pick(x->w, 3);
	const char *tolerated = tolerations(x);
	char limits[160], text[2048];

	describe_limits(kind, limits, sizeof(limits));
	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"%s-%u\"},\"spec\":{%s,\"template\":{\"metadata\":{"
		"\"annotations\":{\"devplane.dev/hollow-exit.c\":\"%d after %us\"}},"
		"\"spec\":{\"restartPolicy\":\"Never\"," POD_SPEC "}}}}",
		job_names[kind], x->names, limits, bad, seconds, grace, tolerated);
	cluster_tell(x->w, "create %s-%u", job_names[kind], x->names++);
	send_new(x, "jobs", text);
}

static void create_deployment(struct workloads *x)
{
	unsigned replicas = cluster_pick(x->w, WORKLOADS_REPLICAS_MAX + 1);
	unsigned grace = 1 + cluster_pick(x->w, 3), n = x->names++;
	const char *tolerated = tolerations(x);
	char text[2048];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"dep-%u\"},\"spec\":{\"replicas\":%u,\"selector\":{"
		"\"matchLabels\":{\"app\":\"dep-%u\"}},\"strategy\":{\"rollingUpdate\":{"
		"\"maxSurge\":%d,\"maxUnavailable\":1}},\"template\":{\"metadata\":{\"labels\""
		":{\"app\":\"dep-%u\",\"v\":\"0\"}},\"spec\":{" POD_SPEC "}}}}",
		n, replicas, n, WORKLOADS_SURGE, n, grace, tolerated);
	cluster_tell(x->w, "create dep-%u of %u", n, replicas);
	send_new(x, "deployments", text);
}

static void create_daemon_set(struct workloads *x)
{
	unsigned grace = 1 + cluster_pick(x->w, 3), n = x->names++;
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"name\":\"ds-%u\"},\"spec\":{\"selector\":{\"matchLabels\":{"
		"\"app\":\"ds-%u\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"ds-%u\","
		"\"v\":\"0\"}},\"spec\":{" POD_SPEC "}}}}",
		n, n, n, grace, "");
	cluster_tell(x->w, "create ds-%u", n);
	send_new(x, "daemonsets", text);
}

/* --- changes ------------------------------------------------------------------------------- */

static void roll(struct workloads *x, const char *resource, struct str name)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "{\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"v\":\"%u\"}}}}}",
		       x->names++);
	cluster_tell(x->w, "roll %.*s", STR_ARG(name));
	send_change(x, resource, name, text);
}

static void scale(struct workloads *x, struct str name)
{
	unsigned replicas = cluster_pick(x->w, WORKLOADS_REPLICAS_MAX + 1);
	char text[64];

	(void)snprintf(text, sizeof(text), "{\"spec\":{\"replicas\":%u}}", replicas);
	cluster_tell(x->w, "scale %.*s to %u", STR_ARG(name), replicas);
	send_change(x, "deployments", name, text);
}

static void delete_one(struct workloads *x, const char *resource, struct str name)
{
	bool foreground = cluster_chance(x->w, 0.3);

	cluster_tell(x->w, "delete %.*s", STR_ARG(name));
	send_deletion(x, resource, name, foreground ? "Foreground" : "Background");
}

static void create_one(struct workloads *x, const char *resource)
{
	if (resource == resources[0])
		create_job(x, cluster_pick(x->w, JOB_KINDS));
	else if (resource == resources[1])
		create_deployment(x);
	else
		create_daemon_set(x);
}

static void change_one(struct workloads *x, const char *resource, struct str name)
{
	if (resource == resources[0] || cluster_chance(x->w, 0.15))
		delete_one(x, resource, name);
	else if (resource == resources[1] && cluster_chance(x->w, 0.5))
		scale(x, name);
	else
		roll(x, resource, name);
}

static size_t under_way(const struct workloads *x)
{
	size_t n = 0;

	LIST_FOREACH (it, &x->asks)
		n++;
	return n;
}

void workloads_step(struct cluster *w)
{
	struct workloads *x = w->workloads;
	const char *resource = resources[cluster_pick(w, 3)];
	size_t most = resource == resources[0] ? JOBS_MAX : KIND_MAX;
	bool create = cluster_chance(w, 0.3);
	struct look l;

	if (under_way(x) >= ASKS_MAX || !cluster_server_ready(w->server))
		return;
	look_at(x, resource, &l);
	if (l.n == 0 || (create && l.n < most))
		create_one(x, resource);
	else if (l.names.n > 0)
		change_one(x, resource, l.names.v[cluster_pick(w, (unsigned)l.names.n)]);
	vec_release(&l.names);
}

void workloads_lose_node(struct cluster *w)
{
	struct cluster_role *role = &w->nodes[cluster_pick(w, CLUSTER_NODES)];
	int64_t ms = GONE_MIN_MS + cluster_pick(w, 45000);
	bool wait = cluster_chance(w, 0.5);

	if (role->state != CLUSTER_UP)
		return;
	cluster_tell(w, "lose %s for %lld ms", role->host, (long long)ms);
	cluster_role_kill(role, SIM_CRASH_MACHINE, ms);
	if (wait)
		cluster_run(w, ms + 10000);
}

struct moment {
	const struct workloads *x;
	uint64_t made, ends;
};

static bool some_is_made(void *arg)
{
	const struct moment *m = arg;

	return m->x->made > m->made;
}

static bool some_ends(void *arg)
{
	const struct moment *m = arg;

	return m->x->ends > m->ends;
}

void workloads_strike(struct cluster *w)
{
	struct workloads *x = w->workloads;
	struct moment m = { x, x->made, x->ends };
	bool ends = cluster_chance(w, 0.6);
	unsigned turns = cluster_pick(w, STRIKE_TURNS), kind = cluster_pick(w, JOB_KINDS);

	create_job(x, kind);
	(void)sim_run_until(w->sim, ends ? some_ends : some_is_made, &m, STRIKE_MS);
	while (turns-- > 0)
		(void)sim_step(w->sim);
	controllers_strike(w);
}

/* --- the end ------------------------------------------------------------------------------- */

static void create_all(struct workloads *x)
{
	for (unsigned kind = 0; kind < JOB_KINDS; kind++)
		create_job(x, kind);
	create_deployment(x);
	create_daemon_set(x);
}

/* Makes controllers look at them again, while news of what they have made is still on its way. */
static void nudge(struct workloads *x, const char *resource)
{
	struct look l;
	char text[96];

	look_at(x, resource, &l);
	for (size_t i = 0; i < l.names.n; i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"annotations\":{\"nudge\":\"%u\"}}}", x->names++);
		send_change(x, resource, l.names.v[i], text);
	}
	vec_release(&l.names);
}

static void create_and_nudge(struct workloads *x)
{
	create_all(x);
	for (unsigned i = 0; i < NUDGES; i++) {
		unsigned turns = cluster_pick(x->w, NUDGE_TURNS);

		nudge(x, resources[0]);
		nudge(x, resources[1]);
		nudge(x, resources[2]);
		while (turns-- > 0)
			(void)sim_step(x->w->sim);
	}
}

bool workloads_calm_round(struct cluster *w)
{
	struct workloads *x = w->workloads;
	struct look l;

	x->calm = true;
	if (x->rounds++ >= ROUNDS)
		return false;
	if (x->rounds == 1)
		create_and_nudge(x);
	for (unsigned i = 1; x->rounds > 1 && i < 3; i++) {
		look_at(x, resources[i], &l);
		for (size_t k = 0; k < l.names.n; k++) {
			roll(x, resources[i], l.names.v[k]);
			if (i == 1)
				scale(x, l.names.v[k]);
		}
		vec_release(&l.names);
	}
	return true;
}

bool workloads_delete_all(struct cluster *w)
{
	struct workloads *x = w->workloads;
	struct look l;
	bool any = false;

	for (unsigned i = 0; i < 3; i++) {
		look_at(x, resources[i], &l);
		for (size_t k = 0; k < l.names.n; k++)
			delete_one(x, resources[i], l.names.v[k]);
		any = any || l.n > 0;
		vec_release(&l.names);
	}
	return any;
}

bool workloads_idle(const struct cluster *w)
{
	return !w->workloads || list_empty(&w->workloads->asks);
}

void workloads_begin(struct cluster *w)
{
	struct workloads *x = XNEW(struct workloads);

	w->workloads = x;
	x->w = w;
	list_init(&x->asks);
	vec_init(&x->pods, SIZE_MAX / sizeof(*x->pods.v));
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
	free(TAKE(w->workloads));
}

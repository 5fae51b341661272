/*
 * The load of workloads: a few of few pods.
 */
#include "cluster_workloads.h"

#include "base/core/mem.h"
#include "base/json/json.h"
#include "cluster_server.h"
#include "cluster_workloads_impl.h"
#include "cluster_world.h"

enum {
	ASKS_MAX = 4,
	JOBS_MAX = 5,
	KIND_MAX = 3, /* of each other kind */
	GONE_MIN_MS = 45 * 1000, /* a node may be silent for 40 seconds */
	ORPHAN_MIN_MS = 50 * 1000, /* pods of a Node that is gone stay for 40 seconds */
	STRIKE_MS = 5000,
	STRIKE_TURNS = 60,
	NUDGES = 12, /* of what has just been made */
	NUDGE_TURNS = 6,
};

/* --- steps --------------------------------------------------------------------------------- */

static void change_job(struct workloads *x, struct str name)
{
	/* One that its time to live deletes is deleted by nothing else. */
	bool keep = str_starts(name, STR("job-ttl")) || cluster_chance(x->w, 0.5);

	if (keep)
		workloads_suspend(x, name, cluster_chance(x->w, 0.5));
	else
		workloads_delete(x, RESOURCE_JOBS, name);
}

static void change_deployment(struct workloads *x, struct str name)
{
	unsigned what = cluster_pick(x->w, 10);

	if (what < 4)
		workloads_scale(x, name);
	else if (what < 6)
		workloads_pause(x, name, cluster_chance(x->w, 0.5), STR(""));
	else
		workloads_roll(x, RESOURCE_DEPLOYMENTS, name);
}

static void change_one(struct workloads *x, unsigned resource, struct str name)
{
	if (resource == RESOURCE_JOBS)
		change_job(x, name);
	else if (cluster_chance(x->w, 0.15))
		workloads_delete(x, resource, name);
	else if (resource == RESOURCE_DEPLOYMENTS)
		change_deployment(x, name);
	else if (str_starts(name, STR("od-")) && cluster_chance(x->w, 0.5))
		workloads_replace(x, name, false);
	else
		workloads_roll(x, resource, name);
}

void workloads_step(struct cluster *w)
{
	struct workloads *x = w->workloads;
	unsigned resource = cluster_pick(w, RESOURCES);
	size_t most = resource == RESOURCE_JOBS ? JOBS_MAX : KIND_MAX;
	bool create = cluster_chance(w, 0.3);
	struct workload_look l;

	if (workloads_under_way(x) >= ASKS_MAX || !cluster_server_ready(w->server))
		return;
	workloads_look(x, workloads_resource(resource), NULL, &l);
	if (l.names.n == 0 || (create && l.n < most))
		workloads_create(x, resource);
	else
		change_one(x, resource, l.names.v[cluster_pick(w, (unsigned)l.names.n)]);
	workload_look_release(&l);
}

/* --- faults -------------------------------------------------------------------------------- */

void workloads_lose_node(struct cluster *w)
{
	struct cluster_role *role = &w->nodes[cluster_pick(w, CLUSTER_NODES)];
	bool wait = cluster_chance(w, 0.5), delete = cluster_chance(w, 0.4);
	int64_t ms = (delete ? ORPHAN_MIN_MS : GONE_MIN_MS) + cluster_pick(w, 45000);

	if (role->state != CLUSTER_UP)
		return;
	cluster_tell(w, "lose %s for %lld ms", role->host, (long long)ms);
	cluster_role_kill(role, SIM_CRASH_MACHINE, ms);
	if (delete) {
		w->nodes_deleted = true;
		workloads_delete_node(w->workloads, role->host);
	}
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

/* Makes controllers of one kind create or delete pods. */
static void stir(struct workloads *x)
{
	unsigned resource = cluster_chance(x->w, 0.5) ? RESOURCE_JOBS : 1 + cluster_pick(x->w, 2);
	struct workload_look l;

	workloads_look(x, workloads_resource(resource), NULL, &l);
	if (resource == RESOURCE_JOBS || l.names.n == 0 ||
	    (l.n < KIND_MAX && cluster_chance(x->w, 0.4)))
		workloads_create(x, resource);
	else
		change_one(x, resource, l.names.v[cluster_pick(x->w, (unsigned)l.names.n)]);
	workload_look_release(&l);
}

void workloads_strike(struct cluster *w)
{
	struct workloads *x = w->workloads;
	struct moment m = { x, x->made, x->ends };
	bool ends = cluster_chance(w, 0.6);
	unsigned turns = cluster_pick(w, STRIKE_TURNS);

	stir(x);
	(void)sim_run_until(w->sim, ends ? some_ends : some_is_made, &m, STRIKE_MS);
	while (turns-- > 0)
		(void)sim_step(w->sim);
	controllers_strike(w);
}

/* --- the calm time ------------------------------------------------------------------------- */

static void create_all(struct workloads *x)
{
	char dep[24], su[24];

	for (unsigned kind = 0; kind < JOB_KINDS; kind++)
		workloads_create_job(x, kind);
	(void)snprintf(dep, sizeof(dep), "dep-%u", x->names);
	workloads_create_deployment(x, false);
	workloads_create_deployment(x, true);
	workloads_create_daemon_set(x, "ds");
	workloads_create_daemon_set(x, "od");
	(void)snprintf(su, sizeof(su), "su-%u", x->names);
	workloads_create_daemon_set(x, "su");
	workloads_create_service(x, dep);
	workloads_create_service(x, su);
}

/* Makes controllers look at them again, while news of what they have made is still on its way. */
static void create_and_nudge(struct workloads *x)
{
	create_all(x);
	for (unsigned i = 0; i < NUDGES; i++) {
		unsigned turns = cluster_pick(x->w, NUDGE_TURNS);

		for (unsigned r = 0; r < RESOURCES; r++)
			workloads_nudge(x, r);
		while (turns-- > 0)
			(void)sim_step(x->w->sim);
	}
}

static void roll_all(struct workloads *x, unsigned resource)
{
	struct workload_look l;

	workloads_look(x, workloads_resource(resource), NULL, &l);
	for (size_t i = 0; i < l.names.n; i++) {
		workloads_roll(x, resource, l.names.v[i]);
		if (resource == RESOURCE_DEPLOYMENTS)
			workloads_scale(x, l.names.v[i]);
	}
	workload_look_release(&l);
}

/* Pauses Deployments, suspends new Jobs soon after their creation. */
static void hold_all(struct workloads *x)
{
	unsigned turns = cluster_pick(x->w, STRIKE_TURNS);
	struct workload_look l;

	x->held = true;
	workloads_look(x, "deployments", NULL, &l);
	for (size_t i = 0; i < l.names.n; i++)
		/* Without pods, the ReplicaSet that is made last counts, and clocks may differ. */
		workloads_pause(x, l.names.v[i], true,
				l.sizes.v[i] > 0 ? l.versions.v[i] : STR(""));
	workload_look_release(&l);
	for (unsigned kind = 0; kind < JOB_KINDS; kind++)
		workloads_create_job(x, kind);
	while (turns-- > 0)
		(void)sim_step(x->w->sim);
	workloads_look(x, "jobs", NULL, &l);
	for (size_t i = 0; i < l.names.n; i++)
		workloads_suspend(x, l.names.v[i], true);
	workload_look_release(&l);
}

/* Pods of OnDelete DaemonSets are replaced only so. */
static void replace_all(struct workloads *x)
{
	struct workload_look l;

	x->replacing = true;
	workloads_look(x, "daemonsets", NULL, &l);
	for (size_t i = 0; i < l.names.n; i++)
		if (str_starts(l.names.v[i], STR("od-")))
			workloads_replace(x, l.names.v[i], true);
	workload_look_release(&l);
}

bool workloads_calm_round(struct cluster *w)
{
	struct workloads *x = w->workloads;

	x->calm = true;
	switch (x->rounds++) {
	case 0:
		create_and_nudge(x);
		return true;
	case 1:
		roll_all(x, RESOURCE_DEPLOYMENTS);
		roll_all(x, RESOURCE_DAEMON_SETS);
		roll_all(x, RESOURCE_SERVICES);
		return true;
	case 2:
		hold_all(x);
		replace_all(x);
		return true;
	case 3:
		roll_all(x, RESOURCE_DEPLOYMENTS);
		return true;
	case 4:
		x->held = false;
		return true;
	default:
		return false;
	}
}

struct held {
	struct workloads *x;
	bool any;
};

static void resume_job(void *arg, const struct json *job)
{
	struct held *h = arg;

	if (!json_true_at(json_getz(job, "spec"), "suspend"))
		return;
	h->any = true;
	workloads_suspend(h->x, json_text_at(json_getz(job, "metadata"), "name"), false);
}

static void resume_deployment(void *arg, const struct json *d)
{
	struct held *h = arg;

	if (!json_true_at(json_getz(d, "spec"), "paused"))
		return;
	h->any = true;
	workloads_pause(h->x, json_text_at(json_getz(d, "metadata"), "name"), false, STR(""));
}

bool workloads_resume_all(struct cluster *w)
{
	struct held h = { .x = w->workloads };

	if (h.x->held)
		return false;
	cluster_server_each(w->server, "batch", "jobs", &w->arena, resume_job, &h);
	cluster_server_each(w->server, "apps", "deployments", &w->arena, resume_deployment, &h);
	return h.any;
}

/* --- the end ------------------------------------------------------------------------------- */

bool workloads_delete_all(struct cluster *w)
{
	struct workloads *x = w->workloads;
	struct workload_look l;
	bool any = false;

	x->deleting = true;
	for (unsigned i = 0; i < RESOURCES; i++) {
		workloads_look(x, workloads_resource(i), NULL, &l);
		for (size_t k = 0; k < l.names.n; k++)
			workloads_delete(x, i, l.names.v[k]);
		any = any || l.names.n > 0 || (i != RESOURCE_SERVICES && l.n > 0);
		workload_look_release(&l);
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
	vec_init(&x->suspended, SIZE_MAX / sizeof(*x->suspended.v));
}

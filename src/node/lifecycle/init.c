/*
 * Init containers and sidecars. They are walked from the last one back: runtimes forget ended
 * containers, so the latest one that exists shows how far the pod has come, and all before it count
 * as done. Sidecars before it are kept running; the one after it is next.
 */
#include "node/lifecycle/lifecycle_impl.h"

struct init_entry {
	struct json *container;
	struct str name;
	bool sidecar;
	bool start; /* to be started */
};

struct init_walk {
	struct lifecycle_planner *p;
	struct init_entry *v;
	size_t n;
	bool before_done; /* all before the current one are done */
	bool through; /* the last one is done */
	bool failed; /* for good */
};

static size_t init_collect(struct lifecycle_planner *p, struct init_entry **ret_entries)
{
	const struct pod *pod = p->v.in->pod;
	struct init_entry *v = ARENA_ARRAY(p->v.arena, struct init_entry,
					   json_count(json_getz(pod->spec, "initContainers")) + 1);
	struct pod_containers c = pod_containers(pod);
	size_t n = 0;

	while (pod_containers_next(&c)) {
		if (c.kind == POD_INIT || c.kind == POD_SIDECAR)
			v[n++] = (struct init_entry){ .container = c.container,
						      .name = c.name,
						      .sidecar = c.kind == POD_SIDECAR };
	}
	*ret_entries = v;
	return n;
}

static void done(struct init_walk *w, size_t i)
{
	if (i + 1 == w->n)
		w->through = true;
	else if (!w->before_done)
		w->v[i + 1].start = true;
}

static bool started(const struct lifecycle_planner *p, const struct json *container,
		    const struct runtime_container *c)
{
	const struct json *old = lifecycle_old_status(&p->v, c->name, POD_SIDECAR);
	struct str id = json_text_at(old, "containerID");
	int known = lifecycle_outcome(p->v.l, c->id, LIFECYCLE_STARTUP);

	if (known != 0 || !json_getz(container, "startupProbe"))
		return known >= 0;
	return json_true_at(old, "started") && str_ends(id, c->id);
}

static void on_running(struct init_walk *w, size_t i, const struct runtime_container *c)
{
	struct init_entry *e = &w->v[i];
	int64_t grace;
	bool changed;
	struct str why;

	why = lifecycle_why_kill(&w->p->v, e->container, c, "Init container", &grace, &changed);
	if (!e->sidecar) {
		/* A running one is ended only by a failed hook. */
		if (why.n > 0 && !changed)
			lifecycle_stop(w->p, c, grace, why);
		return;
	}
	if (started(w->p, e->container, c))
		done(w, i);
	if (why.n == 0)
		return;
	(void)lifecycle_crash_allows(w->p, lifecycle_item_now(&w->p->v, e->container, e->name),
				     lifecycle_seen_dead(w->p->v.in, e->name), c->id);
	lifecycle_stop(w->p, c, grace, why);
}

static void on_exited(struct init_walk *w, size_t i, const struct runtime_container *c)
{
	struct init_entry *e = &w->v[i];

	if (!e->sidecar && c->exit_code == 0)
		done(w, i);
	else if (e->sidecar || lifecycle_restarts(w->p->v.in->pod, e->container, c->exit_code))
		e->start = true;
	else
		w->failed = true;
}

static void on_unknown(struct init_walk *w, size_t i, const struct runtime_container *c)
{
	struct init_entry *e = &w->v[i];

	if (!e->sidecar && !lifecycle_restarts_unknown(w->p->v.in->pod, e->container))
		w->failed = true;
	else
		lifecycle_stop(w->p, c, w->p->v.in->pod->grace_s,
			       STR("Init container is in \"unknown\" state, try killing it before "
				   "restart"));
}

static void walk_one(struct init_walk *w, size_t i)
{
	struct init_entry *e = &w->v[i];
	const struct runtime_container *c = lifecycle_seen_active(&w->p->v, e->name);

	if (!c) {
		/* Its record was removed; a sidecar is needed nevertheless. */
		e->start = e->start || (w->before_done && e->sidecar);
		return;
	}
	if (w->before_done && !e->sidecar)
		return;
	if (c->state == RUNTIME_CREATED)
		e->start = true;
	else if (c->state == RUNTIME_RUNNING)
		on_running(w, i, c);
	else if (c->state == RUNTIME_EXITED)
		on_exited(w, i, c);
	else
		on_unknown(w, i, c);
	w->before_done = true;
}

bool lifecycle_plan_init(struct lifecycle_planner *p, bool *ret_kill)
{
	struct init_walk w = { .p = p,
			       .before_done = p->v.initialized,
			       .through = p->v.initialized };

	w.n = init_collect(p, &w.v);
	*ret_kill = false;
	if (w.n == 0)
		return true;
	for (size_t i = w.n; i-- > 0 && !w.failed;)
		walk_one(&w, i);
	*ret_kill = w.failed;
	if (w.failed)
		return false;
	if (!w.before_done)
		w.v[0].start = true;
	for (size_t i = 0; i < w.n; i++) {
		enum pod_container_kind kind = w.v[i].sidecar ? POD_SIDECAR : POD_INIT;

		/* The next one waits for this one, unless it is a sidecar that ran before. */
		if (w.v[i].start && !lifecycle_try_start(p, w.v[i].container, w.v[i].name, kind) &&
		    !w.v[i].sidecar)
			break;
	}
	return w.through;
}

/*
 * Termination. Main containers and running init containers are stopped at once, all with the pod's
 * grace period. A sidecar is stopped when all main containers and the later sidecars have ended, or
 * the grace period is used up, with the rest of it. Then the sandboxes are stopped. Afterwards old
 * containers are removed. For each name two stay: the newest, and the newest that has ended, for
 * lastState.
 */
#include "node/lifecycle/lifecycle_impl.h"

static bool is_running(const struct lifecycle_input *in, struct str name)
{
	const struct runtime_container *c;

	for (size_t i = 0; (c = lifecycle_seen(in, name, i)); i++) {
		if (c->state == RUNTIME_RUNNING)
			return true;
	}
	return false;
}

static int64_t stop_grace(const struct lifecycle_input *in)
{
	if (in->stop_reason.n > 0 && in->stop_grace_s > 0)
		return MIN(in->stop_grace_s, in->pod->grace_s);
	return in->pod->grace_s;
}

/* Whether a sidecar must wait for other containers. */
static bool must_wait(const struct lifecycle_input *in, struct str sidecar)
{
	struct pod_containers c = pod_containers(in->pod);
	bool later = false;

	while (pod_containers_next(&c)) {
		if (str_eq(c.name, sidecar))
			later = true;
		else if ((c.kind == POD_MAIN || (later && c.kind == POD_SIDECAR)) &&
			 is_running(in, c.name))
			return true;
	}
	return false;
}

/*
 * Fixed when the container's turn comes, so that repeated calls return the same; a shorter grace
 * period takes effect at once.
 */
static int64_t grace_of(struct lifecycle_planner *p, const struct runtime_container *c,
			int64_t left_s)
{
	struct lifecycle_item *i = lifecycle_item(p->v.l, c->name);

	if (!i)
		return left_s;
	if (!i->stop_id || !str_eqz(c->id, i->stop_id)) {
		lifecycle_set_text(&i->stop_id, c->id);
		i->stop_grace_s = left_s;
	}
	return MIN(i->stop_grace_s, stop_grace(p->v.in));
}

static void stop_one(struct lifecycle_planner *p, const struct runtime_container *c)
{
	const struct lifecycle_input *in = p->v.in;
	enum pod_container_kind kind = POD_MAIN;
	int64_t spent_ms = in->mono_ms - p->v.l->stopping_ms;

	(void)pod_container(in->pod, c->name, &kind);
	if (kind != POD_SIDECAR) {
		lifecycle_stop(p, c, stop_grace(in), STR_NULL);
		return;
	}
	if (spent_ms < stop_grace(in) * 1000 && must_wait(in, c->name)) {
		lifecycle_wake(p, p->v.l->stopping_ms + stop_grace(in) * 1000);
		return;
	}
	lifecycle_stop(p, c, grace_of(p, c, stop_grace(in) - spent_ms / 1000), STR_NULL);
}

void lifecycle_plan_stop(struct lifecycle_planner *p)
{
	const struct runtime_pod *seen = p->v.in->seen;

	if (p->v.l->stopping_ms == 0)
		p->v.l->stopping_ms = MAX(p->v.in->mono_ms, 1);
	for (size_t i = 0; seen && i < seen->ncontainers; i++) {
		if (seen->containers[i].state == RUNTIME_RUNNING)
			stop_one(p, &seen->containers[i]);
	}
	for (size_t i = 0; p->v.idle && seen && i < seen->nsandboxes; i++) {
		if (seen->sandboxes[i].ready)
			lifecycle_add(p, LIFECYCLE_STOP_SANDBOX)->id = seen->sandboxes[i].id;
	}
}

/* --- restarting all ----------------------------------------------------------------- */

static bool started_it(const struct lifecycle_input *in, const struct runtime_container *c)
{
	const struct json *container = pod_container(in->pod, c->name, NULL);

	return c->state == RUNTIME_EXITED &&
	       str_eqz(lifecycle_rule(container, c->exit_code), "RestartAllContainers");
}

static bool takes_part(const struct lifecycle_input *in, const struct runtime_container *c)
{
	enum pod_container_kind kind;

	return pod_container(in->pod, c->name, &kind) && kind != POD_EPHEMERAL;
}

/* Containers that caused the restart are removed last, so that a new agent still sees them. */
void lifecycle_plan_restart_all(struct lifecycle_planner *p)
{
	const struct lifecycle_input *in = p->v.in;
	size_t left = 0;

	for (size_t i = 0; in->seen && i < in->seen->ncontainers; i++) {
		const struct runtime_container *c = &in->seen->containers[i];

		if (!takes_part(in, c) || started_it(in, c))
			continue;
		left++;
		if (c->state == RUNTIME_RUNNING || c->state == RUNTIME_UNKNOWN)
			lifecycle_stop(p, c, 0, STR("killing"));
		else
			lifecycle_add(p, LIFECYCLE_REMOVE_CONTAINER)->id = c->id;
	}
	for (size_t i = 0; left == 0 && in->seen && i < in->seen->ncontainers; i++) {
		if (started_it(in, &in->seen->containers[i]))
			lifecycle_add(p, LIFECYCLE_REMOVE_CONTAINER)->id =
				in->seen->containers[i].id;
	}
}

/* --- old containers ----------------------------------------------------------------- */

static bool is_old(const struct runtime_pod *seen, size_t at)
{
	const struct runtime_container *c = &seen->containers[at];
	bool newer = false, newer_dead = false;

	for (size_t i = 0; i < at; i++) {
		if (!str_eq(seen->containers[i].name, c->name))
			continue;
		newer = true;
		newer_dead = newer_dead || seen->containers[i].state == RUNTIME_EXITED;
	}
	return c->state == RUNTIME_EXITED ? newer_dead : newer;
}

static bool in_use(const struct runtime_pod *seen, const struct runtime_sandbox *s)
{
	for (size_t i = 0; i < seen->ncontainers; i++) {
		if (str_eq(seen->containers[i].sandbox_id, s->id))
			return true;
	}
	return s->ready;
}

void lifecycle_plan_clean(struct lifecycle_planner *p)
{
	const struct runtime_pod *seen = p->v.in->seen;

	for (size_t i = 0; seen && i < seen->ncontainers; i++) {
		const struct runtime_container *c = &seen->containers[i];

		if (!is_old(seen, i))
			continue;
		if (c->state != RUNTIME_RUNNING)
			lifecycle_add(p, LIFECYCLE_REMOVE_CONTAINER)->id = c->id;
		else if (!p->v.ending && p->v.l->stopping_ms == 0)
			lifecycle_stop(p, c, p->v.in->pod->grace_s, STR_NULL);
	}
	for (size_t i = 1; seen && i < seen->nsandboxes; i++) {
		if (!in_use(seen, &seen->sandboxes[i]))
			lifecycle_add(p, LIFECYCLE_REMOVE_SANDBOX)->id = seen->sandboxes[i].id;
	}
}

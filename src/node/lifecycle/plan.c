/*
 * The next actions, in upstream's order. A pod that ends is stopped. A missing sandbox is created
 * before anything in it. Then come ephemeral, init and main containers. Upstream stops a container
 * and starts it again in one step; here actions are independent, so the start comes once the
 * runtime shows that the old container has ended.
 */
#include "node/lifecycle/lifecycle_impl.h"

/* --- the plan ----------------------------------------------------------------------- */

struct lifecycle_action *lifecycle_add(struct lifecycle_planner *p, enum lifecycle_action_type type)
{
	struct lifecycle_plan *plan = p->plan;

	if (plan->n == p->actions_max) {
		struct lifecycle_action *more = ARENA_ARRAY(p->v.arena, struct lifecycle_action,
							    p->actions_max * 2);

		memcpy(more, plan->actions, plan->n * sizeof(*more));
		plan->actions = more;
		p->actions_max *= 2;
	}
	plan->actions[plan->n] = (struct lifecycle_action){ .type = type };
	return &plan->actions[plan->n++];
}

void lifecycle_tell(struct lifecycle_planner *p, struct str container, const char *reason,
		    struct str message, bool warning)
{
	if (p->plan->nnotes < p->notes_max)
		p->plan->notes[p->plan->nnotes++] = (struct lifecycle_note){
			.container = container,
			.reason = reason,
			.message = message,
			.warning = warning,
		};
}

void lifecycle_wake(struct lifecycle_planner *p, int64_t mono_ms)
{
	p->plan->wake_ms = MIN(p->plan->wake_ms, mono_ms);
}

static void planner_init(struct lifecycle_planner *p, struct arena *a,
			 struct lifecycle_plan *ret_plan)
{
	p->actions_max = p->notes_max = 16;
	p->plan = ret_plan;
	*ret_plan = (struct lifecycle_plan){
		.actions = ARENA_ARRAY(a, struct lifecycle_action, p->actions_max),
		.notes = ARENA_ARRAY(a, struct lifecycle_note, p->notes_max),
		.wake_ms = INT64_MAX,
	};
}

/* --- one container ------------------------------------------------------------------ */

void lifecycle_stop(struct lifecycle_planner *p, const struct runtime_container *c, int64_t grace_s,
		    struct str message)
{
	struct lifecycle_action *a = lifecycle_add(p, LIFECYCLE_STOP_CONTAINER);

	a->container = c->name;
	a->id = c->id;
	a->grace_s = MAX(grace_s, LIFECYCLE_GRACE_MIN_S);
	a->reason = STR("Killing");
	a->message = message;
	if (message.n == 0)
		a->message = str_from(
			arena_printf(p->v.arena, "Stopping container %.*s", STR_ARG(c->name)));
}

static bool was_changed(const struct json *container, const struct runtime_container *c)
{
	uint64_t made_of = 0;

	for (size_t i = 0; i < c->hash.n; i++) {
		int digit = str_hex_digit(c->hash.p[i]);

		if (digit < 0 || made_of > UINT32_MAX)
			return false;
		made_of = made_of * 16 + (uint64_t)digit;
	}
	return c->hash.n > 0 && made_of != lifecycle_container_hash(container);
}

struct str lifecycle_why_kill(const struct lifecycle_view *v, const struct json *container,
			      const struct runtime_container *c, const char *what,
			      int64_t *ret_grace_s, bool *ret_changed)
{
	static const struct {
		enum lifecycle_probe probe;
		const char *field, *name;
	} probes[] = {
		{ LIFECYCLE_LIVENESS, "livenessProbe", "liveness" },
		{ LIFECYCLE_STARTUP, "startupProbe", "startup" },
	};

	*ret_grace_s = v->in->pod->grace_s;
	*ret_changed = was_changed(container, c);
	if (*ret_changed)
		return str_from(arena_printf(v->arena, "%s %.*s definition changed", what,
					     STR_ARG(c->name)));
	if (lifecycle_bad_device(v->l, c->id))
		return str_from(arena_printf(v->arena, "%s %.*s has an unhealthy device", what,
					     STR_ARG(c->name)));
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		const struct json *spec = json_getz(container, probes[i].field);

		if (lifecycle_outcome(v->l, c->id, probes[i].probe) >= 0)
			continue;
		if (!spec)
			return STR("FailedPostStartHook");
		*ret_grace_s = json_i64_at(spec, "terminationGracePeriodSeconds",
					   v->in->pod->grace_s);
		return str_from(arena_printf(v->arena, "%s %.*s failed %s probe", what,
					     STR_ARG(c->name), probes[i].name));
	}
	return STR("");
}

/* --- main containers ---------------------------------------------------------------- */

struct main_count {
	size_t kept, wanted;
};

/* As upstream, the back-off counts from the end before this one. */
static void come_back(struct lifecycle_planner *p, const struct pod_containers *c,
		      const struct runtime_container *newest)
{
	struct lifecycle_item *i = lifecycle_item_now(&p->v, c->container, c->name);

	if (!i)
		return;
	lifecycle_set_text(&i->restart_id, newest->id);
	(void)lifecycle_crash_allows(p, i, lifecycle_seen_dead(p->v.in, c->name), newest->id);
}

static void plan_running(struct lifecycle_planner *p, const struct pod_containers *c,
			 const struct runtime_container *newest, struct main_count *count)
{
	bool restart = lifecycle_restarts_unknown(p->v.in->pod, c->container), changed;
	int64_t grace;
	struct str why = lifecycle_why_kill(&p->v, c->container, newest, "Container", &grace,
					    &changed);

	if (why.n == 0) {
		count->kept++;
		return;
	}
	if (restart || changed) {
		why = str_from(arena_printf(p->v.arena, "%.*s, will be restarted", STR_ARG(why)));
		count->wanted++;
		come_back(p, c, newest);
	}
	lifecycle_stop(p, newest, grace, why);
}

static void plan_main_one(struct lifecycle_planner *p, const struct pod_containers *c,
			  struct main_count *count)
{
	const struct runtime_container *newest = lifecycle_newest(&p->v, c->name, c->kind);

	if (newest && newest->state == RUNTIME_RUNNING) {
		plan_running(p, c, newest, count);
		return;
	}
	if (!lifecycle_should_start(&p->v, c->container, c->name, c->kind))
		return;
	count->wanted++;
	if (newest && newest->state == RUNTIME_UNKNOWN)
		lifecycle_stop(p, newest, p->v.in->pod->grace_s,
			       STR("Container is in \"unknown\" state, try killing it before "
				   "restart"));
	else
		(void)lifecycle_try_start(p, c->container, c->name, c->kind);
}

/* Returns false if none runs and none will. */
static bool plan_main(struct lifecycle_planner *p)
{
	struct pod_containers c = pod_containers(p->v.in->pod);
	struct main_count count = { 0 };

	while (pod_containers_next(&c)) {
		if (c.kind == POD_MAIN)
			plan_main_one(p, &c, &count);
	}
	return count.kept + count.wanted > 0;
}

/* Ephemeral containers start whatever the others do, and are never restarted. */
static void plan_ephemeral(struct lifecycle_planner *p)
{
	struct pod_containers c = pod_containers(p->v.in->pod);

	while (pod_containers_next(&c)) {
		if (c.kind == POD_EPHEMERAL && !lifecycle_seen(p->v.in, c.name, 0) &&
		    !lifecycle_state(lifecycle_old_status(&p->v, c.name, c.kind), "terminated"))
			(void)lifecycle_try_start(p, c.container, c.name, c.kind);
	}
}

/* --- the sandbox -------------------------------------------------------------------- */

static bool ran_once(const struct lifecycle_view *v, const struct pod_containers *c)
{
	const struct runtime_container *newest = lifecycle_seen(v->in, c->name, 0);
	struct str policy = json_text_at(c->container, "restartPolicy");

	if (policy.n == 0)
		policy = pod_restart_policy(v->in->pod);
	return str_eqz(policy, "OnFailure") && newest && newest->state == RUNTIME_EXITED &&
	       newest->exit_code == 0;
}

/* A pod that may not start again, or has nothing to start, gets no new sandbox. */
static bool worth_a_sandbox(const struct lifecycle_view *v)
{
	struct pod_containers c = pod_containers(v->in->pod);
	size_t wanted = 0;

	if (str_eqz(pod_restart_policy(v->in->pod), "Never") && v->sandbox_attempt > 0 &&
	    v->in->seen->ncontainers > 0)
		return false;
	while (pod_containers_next(&c)) {
		const struct runtime_container *newest = lifecycle_seen(v->in, c.name, 0);

		if (c.kind != POD_MAIN || ran_once(v, &c))
			continue;
		wanted += lifecycle_should_start(v, c.container, c.name, c.kind) ||
			  (newest && newest->state == RUNTIME_RUNNING);
	}
	return wanted > 0 || !lifecycle_main_created(v->in);
}

static bool any_ready(const struct runtime_pod *seen)
{
	for (size_t i = 0; seen && i < seen->nsandboxes; i++) {
		if (seen->sandboxes[i].ready)
			return true;
	}
	return false;
}

static void plan_sandbox(struct lifecycle_planner *p)
{
	const struct lifecycle_input *in = p->v.in;
	struct str old = in->seen && in->seen->nsandboxes ? in->seen->sandboxes[0].id : STR_NULL;

	if (!worth_a_sandbox(&p->v)) {
		p->v.ending = p->v.l->ended = true;
		return;
	}
	if (old.n > 0 && !str_eq(old, lifecycle_text(p->v.l->noted_sandbox))) {
		lifecycle_set_text(&p->v.l->noted_sandbox, old);
		lifecycle_tell(p, STR_NULL, "SandboxChanged",
			       STR("Pod sandbox changed, it will be killed and re-created."),
			       false);
	}
	if (!p->v.idle || any_ready(in->seen)) {
		lifecycle_plan_stop(p);
		return;
	}
	p->v.l->stopping_ms = 0;
	if (!in->prepared)
		return;
	if (in->mono_ms < p->v.l->sandbox_retry_ms)
		lifecycle_wake(p, p->v.l->sandbox_retry_ms);
	else
		lifecycle_add(p, LIFECYCLE_RUN_SANDBOX)->attempt = p->v.sandbox_attempt;
}

/* --- all ---------------------------------------------------------------------------- */

static void plan_containers(struct lifecycle_planner *p)
{
	struct lifecycle_plan *plan = p->plan;
	bool kill = false;

	plan_ephemeral(p);
	if (lifecycle_plan_init(p, &kill))
		kill = !plan_main(p);
	if (!kill) {
		p->v.l->stopping_ms = 0;
		return;
	}
	plan->n = 0;
	plan->wake_ms = INT64_MAX;
	lifecycle_plan_stop(p);
}

static void look_end(struct lifecycle_view *v)
{
	struct json *status = json_make_object(v->arena);

	lifecycle_put_containers(v, status);
	lifecycle_look_end(v, status);
}

static void plan_deadline(struct lifecycle_planner *p)
{
	int64_t end = lifecycle_deadline_ns(&p->v), left = end - p->v.in->wall_ns;

	if (end != INT64_MAX && left > 0)
		lifecycle_wake(p, p->v.in->mono_ms + left / CLOCK_MS + 1);
}

static void plan_end(struct lifecycle_planner *p)
{
	lifecycle_plan_stop(p);
	p->plan->over = p->v.idle;
	p->plan->done = p->v.idle && p->v.in->cleaned && !any_ready(p->v.in->seen);
}

void lifecycle_plan(struct lifecycle *l, const struct lifecycle_input *in, struct arena *a,
		    struct lifecycle_plan *ret_plan)
{
	bool told = l->stop_reason != NULL;
	struct lifecycle_planner p;

	planner_init(&p, a, ret_plan);
	lifecycle_look(l, in, a, &p.v);
	if (!told && l->stop_reason && strcmp(l->stop_reason, "DeadlineExceeded") == 0)
		lifecycle_tell(&p, STR_NULL, "DeadlineExceeded", lifecycle_text(l->stop_message),
			       false);
	if (!p.v.ending)
		look_end(&p.v);
	if (!p.v.ending) {
		if (l->restarting && !l->restart_removed)
			lifecycle_plan_restart_all(&p);
		else if (p.v.sandbox_changed)
			plan_sandbox(&p);
		else
			plan_containers(&p);
	}
	if (p.v.ending)
		plan_end(&p);
	else
		plan_deadline(&p);
	if (!l->restarting)
		lifecycle_plan_clean(&p);
}

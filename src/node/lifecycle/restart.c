/*
 * Decides whether and when a container starts again. Policies and their rules decide by exit code.
 * The crash-loop back-off is upstream's: the first restart comes at once; each further one doubles
 * the wait from 10 s to 300 s, counted from the end of the container. If the container ran for more
 * than ten minutes since the last restart, the back-off is reset. A wait is fixed once per dead
 * container, on the monotonic clock, so that a jump of the wall clock neither ends nor extends it.
 */
#include "base/time/duration.h"
#include "node/lifecycle/lifecycle_impl.h"

/* --- policies ----------------------------------------------------------------------- */

static bool rule_fits(const struct json *rule, int64_t exit_code)
{
	const struct json *codes = json_getz(rule, "exitCodes");
	struct str op = json_text_at(codes, "operator");
	bool listed = false;

	if (!codes)
		return false;
	JSON_FOREACH (value, json_getz(codes, "values")) {
		int64_t code;

		listed = listed || (json_i64(value, &code) && code == exit_code);
	}
	return str_eqz(op, "In") ? listed : str_eqz(op, "NotIn") && !listed;
}

struct str lifecycle_rule(const struct json *container, int64_t exit_code)
{
	JSON_FOREACH (rule, json_getz(container, "restartPolicyRules")) {
		if (rule_fits(rule, exit_code))
			return json_text_at(rule, "action");
	}
	return STR("");
}

static bool by_policy(struct str policy, int64_t exit_code)
{
	if (str_eqz(policy, "Never"))
		return false;
	return !str_eqz(policy, "OnFailure") || exit_code != 0;
}

bool lifecycle_restarts(const struct pod *pod, const struct json *container, int64_t exit_code)
{
	struct str own = json_text_at(container, "restartPolicy");
	struct str action = lifecycle_rule(container, exit_code);

	if (own.n == 0)
		return by_policy(pod_restart_policy(pod), exit_code);
	if (str_eqz(action, "Restart") || str_eqz(action, "RestartAllContainers"))
		return true;
	return by_policy(own, exit_code);
}

bool lifecycle_restarts_unknown(const struct pod *pod, const struct json *container)
{
	struct str own = json_text_at(container, "restartPolicy");

	return !str_eqz(own.n > 0 ? own : pod_restart_policy(pod), "Never");
}

/* --- restarting all containers ------------------------------------------------------ */

static bool restarts_others(const struct json *container)
{
	JSON_FOREACH (rule, json_getz(container, "restartPolicyRules")) {
		if (str_eqz(json_text_at(rule, "action"), "RestartAllContainers"))
			return true;
	}
	return false;
}

bool lifecycle_could_restart_all(const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);

	while (pod_containers_next(&c)) {
		if (c.kind != POD_EPHEMERAL && restarts_others(c.container))
			return true;
	}
	return false;
}

static bool told_restarting(const struct json *status)
{
	JSON_FOREACH (it, json_getz(status, "conditions")) {
		if (str_eqz(json_text_at(it, "type"), "AllContainersRestarting"))
			return str_eqz(json_text_at(it, "status"), "True");
	}
	return false;
}

static bool exit_restarts_all(const struct lifecycle_input *in, const struct pod_containers *c)
{
	const struct runtime_container *newest = lifecycle_seen(in, c->name, 0);

	return newest && newest->state == RUNTIME_EXITED &&
	       str_eqz(lifecycle_rule(c->container, newest->exit_code), "RestartAllContainers");
}

void lifecycle_look_restart(struct lifecycle_view *v)
{
	struct pod_containers c = pod_containers(v->in->pod);
	struct lifecycle *l = v->l;
	bool none = true;

	if (v->ending || !lifecycle_could_restart_all(v->in->pod)) {
		l->restarting = l->restart_removed = false;
		return;
	}
	/* A new agent continues where the last one was. */
	if (l->last.n == 0 && told_restarting(v->in->pod->status))
		l->restarting = true;
	while (pod_containers_next(&c)) {
		if (c.kind == POD_EPHEMERAL)
			continue;
		none = none && !lifecycle_seen(v->in, c.name, 0);
		if (!l->restart_removed && exit_restarts_all(v->in, &c))
			l->restarting = true;
	}
	if (l->restarting && none)
		l->restart_removed = true;
}

/* --- one container ------------------------------------------------------------------ */

/* The runtime no longer has the container; the status does. */
static bool should_start_lost(const struct lifecycle_view *v, const struct json *container,
			      struct str name, enum pod_container_kind kind)
{
	const struct json *old = lifecycle_old_status(v, name, kind);
	const struct json *ended = lifecycle_state(old, "terminated");

	if (kind != POD_MAIN || v->l->restarting)
		return true;
	if (!ended)
		ended = lifecycle_last_ended(old);
	if (lifecycle_state(old, "running"))
		return lifecycle_restarts(v->in->pod, container, LIFECYCLE_LOST_CODE);
	return !ended || str_eqz(json_text_at(ended, "reason"), "RestartingAllContainers") ||
	       lifecycle_restarts(v->in->pod, container, json_i64_at(ended, "exitCode", 0));
}

bool lifecycle_comes_back(const struct lifecycle_view *v, struct str name)
{
	const struct lifecycle_item *i = lifecycle_find_item(v->l, name);
	const struct runtime_container *newest = lifecycle_seen(v->in, name, 0);

	return i && i->restart_id && newest && newest->state == RUNTIME_EXITED &&
	       str_eqz(newest->id, i->restart_id) && !v->in->pod->deleting;
}

bool lifecycle_should_start(const struct lifecycle_view *v, const struct json *container,
			    struct str name, enum pod_container_kind kind)
{
	const struct runtime_container *newest = lifecycle_newest(v, name, kind);

	if (v->in->pod->deleting)
		return false;
	if (!newest)
		return should_start_lost(v, container, name, kind);
	if (newest->state == RUNTIME_EXITED)
		return lifecycle_restarts(v->in->pod, container, newest->exit_code) ||
		       lifecycle_comes_back(v, name);
	return newest->state != RUNTIME_RUNNING;
}

static unsigned next_attempt(const struct lifecycle_view *v, struct str name,
			     enum pod_container_kind kind)
{
	const struct runtime_container *newest = lifecycle_seen(v->in, name, 0);
	const struct json *old = lifecycle_old_status(v, name, kind);
	int64_t count = json_i64_at(old, "restartCount", 0);
	unsigned next = (unsigned)MAX(count, 0);

	/*
	 * A status with an id belongs to the container that ran. A status without one was counted
	 * when that container was lost.
	 */
	if (json_text_at(old, "containerID").n > 0 || lifecycle_state(old, "terminated"))
		next++;
	return newest ? MAX(newest->attempt + 1, next) : next;
}

/* --- the crash loop ----------------------------------------------------------------- */

static bool forgotten(const struct lifecycle_item *i, int64_t ended_ns)
{
	return i->crash_ms == 0 ||
	       ended_ns - i->crash_updated_ns > 2 * LIFECYCLE_BACKOFF_MAX_MS * CLOCK_MS;
}

/* Returns when the wait after this end is over; fixed when the end is first seen. */
static int64_t wait_until(struct lifecycle_item *i, const struct lifecycle_input *in,
			  const struct runtime_container *dead)
{
	int64_t since;

	if (i->crash_id && str_eqz(dead->id, i->crash_id))
		return i->crash_until_ms;
	since = (in->wall_ns - dead->finished_ns) / CLOCK_MS;
	lifecycle_set_text(&i->crash_id, dead->id);
	i->crash_until_ms = in->mono_ms;
	if (!forgotten(i, dead->finished_ns))
		i->crash_until_ms += MAX(0, i->crash_ms - MAX(since, 0));
	return i->crash_until_ms;
}

static void grant(struct lifecycle_item *i, const struct lifecycle_input *in, int64_t ended_ns,
		  struct str after)
{
	if (forgotten(i, ended_ns))
		i->crash_ms = LIFECYCLE_BACKOFF_MS;
	else
		i->crash_ms = MIN(i->crash_ms * 2, LIFECYCLE_BACKOFF_MAX_MS);
	i->crash_updated_ns = in->wall_ns;
	lifecycle_set_text(&i->granted, after);
}

static void back_off(struct lifecycle_planner *p, struct lifecycle_item *i, struct str newest)
{
	const struct pod *pod = p->v.in->pod;
	struct arena *a = p->v.arena;
	char text[DURATION_SIZE];
	struct str wait = duration_print(i->crash_ms * CLOCK_MS, text);
	const char *message = arena_printf(
		a, "back-off %.*s restarting failed container=%s pod=%.*s_%.*s(%.*s)",
		STR_ARG(wait), i->name, STR_ARG(pod->name), STR_ARG(pod->ns), STR_ARG(pod->uid));

	if (!i->reason || strcmp(i->reason, "CrashLoopBackOff") != 0 ||
	    strcmp(i->message, message) != 0)
		lifecycle_tell(p, lifecycle_text(i->name), "BackOff",
			       str_from(arena_printf(a,
						     "Back-off restarting failed container %s in "
						     "pod %.*s_%.*s(%.*s)",
						     i->name, STR_ARG(pod->name), STR_ARG(pod->ns),
						     STR_ARG(pod->uid))),
			       true);
	lifecycle_set_text(&i->reason, STR("CrashLoopBackOff"));
	lifecycle_set_text(&i->message, str_from(message));
	lifecycle_set_text(&i->bound, newest);
}

bool lifecycle_crash_allows(struct lifecycle_planner *p, struct lifecycle_item *item,
			    const struct runtime_container *dead, struct str after)
{
	const struct lifecycle_input *in = p->v.in;
	const struct runtime_container *newest = lifecycle_seen(in, lifecycle_text(item->name), 0);
	int64_t until;

	if (!dead || (item->granted && str_eqz(after, item->granted)))
		return true;
	until = wait_until(item, in, dead);
	if (in->mono_ms >= until) {
		grant(item, in, dead->finished_ns, after);
		return true;
	}
	if (newest->state != RUNTIME_RUNNING)
		back_off(p, item, newest->id);
	lifecycle_wake(p, until);
	return false;
}

/* --- starts ------------------------------------------------------------------------- */

/* A failed pull shows its error for a moment, then the back-off. */
static void show_pull_backoff(struct lifecycle_planner *p, struct lifecycle_item *i,
			      const struct json *container)
{
	const struct lifecycle_input *in = p->v.in;
	struct str image = json_text_at(container, "image"), message;

	if (i->pull_ms == 0 || in->mono_ms >= i->pull_failed_ms + i->pull_ms)
		return;
	if (in->mono_ms < i->pull_failed_ms + LIFECYCLE_ERROR_SHOWN_MS) {
		lifecycle_wake(p, i->pull_failed_ms + LIFECYCLE_ERROR_SHOWN_MS);
		return;
	}
	message = str_from(
		arena_printf(p->v.arena, "Back-off pulling image \"%.*s\"", STR_ARG(image)));
	if (strcmp(i->reason, "ImagePullBackOff") != 0)
		lifecycle_tell(p, lifecycle_text(i->name), "BackOff", message, false);
	lifecycle_set_text(&i->reason, STR("ImagePullBackOff"));
	lifecycle_set_text(&i->message, str_from(arena_printf(p->v.arena, "%.*s: %s",
							      STR_ARG(message), i->pull_error)));
}

bool lifecycle_try_start(struct lifecycle_planner *p, const struct json *container, struct str name,
			 enum pod_container_kind kind)
{
	const struct lifecycle_input *in = p->v.in;
	struct lifecycle_item *i = lifecycle_item_now(&p->v, container, name);
	const struct runtime_container *dead = lifecycle_seen_dead(in, name);
	struct lifecycle_action *a;

	if (!i || !in->prepared || !p->v.sandbox)
		return false;
	if (i->reason && in->mono_ms < i->retry_ms) {
		show_pull_backoff(p, i, container);
		lifecycle_wake(p, i->retry_ms);
		return false;
	}
	if (!lifecycle_crash_allows(p, i, dead, dead ? dead->id : STR_NULL))
		return false;
	a = lifecycle_add(p, LIFECYCLE_START_CONTAINER);
	a->container = name;
	a->id = p->v.sandbox->id;
	a->attempt = next_attempt(&p->v, name, kind);
	return true;
}

/*
 * The statuses of all containers and the phase derived from them, by upstream's rules. Ended
 * sidecars do not count. A waiting container counts by its last end. A pod has failed or succeeded
 * only if none of its containers starts again.
 */
#include "node/lifecycle/lifecycle_impl.h"

/* --- ready and started -------------------------------------------------------------- */

static bool same_container(const struct json *a, const struct json *b)
{
	struct str id = json_text_at(a, "containerID");

	return id.n > 0 && str_eq(id, json_text_at(b, "containerID"));
}

static struct str runtime_id(const struct json *status)
{
	struct str id = json_text_at(status, "containerID");
	ptrdiff_t at = str_find(id, STR("://"));

	return at < 0 ? id : str_skip(id, (size_t)at + 3);
}

/* Before the first probe result, the previous status of this same container holds. */
static bool is_started(const struct lifecycle_view *v, const struct json *container,
		       const struct json *status, const struct json *old)
{
	int known;

	if (!lifecycle_state(status, "running"))
		return false;
	known = lifecycle_outcome(v->l, runtime_id(status), LIFECYCLE_STARTUP);
	if (known != 0 || !json_getz(container, "startupProbe"))
		return known >= 0;
	return same_container(status, old) && json_true_at(old, "started");
}

static bool phase_is_ready(const struct lifecycle_view *v, const struct json *container,
			   const struct json *status, const struct json *old)
{
	int known = lifecycle_outcome(v->l, runtime_id(status), LIFECYCLE_READINESS);

	if (known != 0 || !json_getz(container, "readinessProbe"))
		return known >= 0;
	return same_container(status, old) && json_true_at(old, "ready");
}

static void put_ready(struct lifecycle_view *v, struct json *status, const struct pod_containers *c)
{
	const struct json *old = lifecycle_old_status(v, c->name, c->kind);
	const struct json *ended = lifecycle_state(status, "terminated");
	bool started, ready;

	if (c->kind == POD_EPHEMERAL) {
		json_put_bool(v->arena, status, "ready", false);
		return;
	}
	started = is_started(v, c->container, status, old);
	json_put_bool(v->arena, status, "started", started);
	if (c->kind == POD_INIT)
		ready = ended && json_i64_at(ended, "exitCode", -1) == 0;
	else
		ready = started && phase_is_ready(v, c->container, status, old);
	json_put_bool(v->arena, status, "ready", ready);
}

/* --- lists -------------------------------------------------------------------------- */

/* Upstream sorts statuses by name, except those of init containers, which keep the spec's order. */
static void insert_sorted(struct json *list, struct json *status)
{
	struct str name = json_text_at(status, "name");
	size_t at = 0;

	JSON_FOREACH (it, list) {
		if (str_cmp(json_text_at(it, "name"), name) > 0)
			break;
		at++;
	}
	json_insert(list, at, status);
}

void lifecycle_put_containers(struct lifecycle_view *v, struct json *status)
{
	struct pod_containers c = pod_containers(v->in->pod);

	while (pod_containers_next(&c)) {
		struct json *list = json_need_array(v->arena, status, lifecycle_list_of(c.kind));
		struct json *one = lifecycle_container_status(v, c.container, c.name, c.kind);

		put_ready(v, one, &c);
		if (c.kind == POD_INIT || c.kind == POD_SIDECAR)
			json_append(list, one);
		else
			insert_sorted(list, one);
	}
}

/* --- the phase ---------------------------------------------------------------------- */

struct counts {
	size_t init_pending, init_failed; /* init containers; failed for good */
	size_t sidecar_pending;
	size_t unknown, running, waiting, stopped, final, succeeded;
};

static bool starts_again(const struct pod *pod, const struct json *container,
			 const struct json *ended)
{
	return lifecycle_restarts(pod, container, json_i64_at(ended, "exitCode", 0)) ||
	       str_eqz(json_text_at(ended, "reason"), "RestartingAllContainers");
}

static void count_init(const struct lifecycle_view *v, const struct pod_containers *c,
		       const struct json *status, struct counts *n)
{
	const struct json *ended = lifecycle_state(status, "terminated");

	if (!ended && lifecycle_state(status, "waiting"))
		ended = lifecycle_last_ended(status);
	if (!ended)
		n->init_pending++;
	else if (json_i64_at(ended, "exitCode", 0) != 0 &&
		 !starts_again(v->in->pod, c->container, ended))
		n->init_failed++;
}

static void count_sidecar(const struct json *status, struct counts *n)
{
	if (lifecycle_state(status, "running")) {
		n->sidecar_pending += !json_true_at(status, "started");
		n->running++;
	} else if (lifecycle_state(status, "waiting") && !lifecycle_last_ended(status)) {
		n->sidecar_pending++;
		n->waiting++;
	}
}

static void count_main(const struct lifecycle_view *v, const struct pod_containers *c,
		       const struct json *status, struct counts *n)
{
	const struct json *ended = lifecycle_state(status, "terminated");

	if (lifecycle_state(status, "running")) {
		n->running++;
		return;
	}
	n->succeeded += ended && json_i64_at(ended, "exitCode", 0) == 0;
	if (!ended)
		ended = lifecycle_last_ended(status);
	if (!ended) {
		n->waiting++;
		return;
	}
	n->stopped++;
	n->final += !starts_again(v->in->pod, c->container, ended) &&
		    !lifecycle_comes_back(v, c->name);
}

static struct counts phase_count(const struct lifecycle_view *v, const struct json *status)
{
	struct pod_containers c = pod_containers(v->in->pod);
	struct counts n = { 0 };

	while (pod_containers_next(&c)) {
		const struct json *one = json_find(json_getz(status, lifecycle_list_of(c.kind)),
						   "name", c.name);

		if (c.kind == POD_INIT)
			count_init(v, &c, one, &n);
		else if (c.kind == POD_SIDECAR)
			count_sidecar(one, &n);
		else if (c.kind == POD_MAIN)
			count_main(v, &c, one, &n);
	}
	return n;
}

const char *lifecycle_phase(const struct lifecycle_view *v, const struct json *status, bool final)
{
	struct counts n = phase_count(v, status);

	if (n.init_failed > 0)
		return "Failed";
	if (n.init_pending > 0 || (n.sidecar_pending > 0 && !v->initialized) || n.waiting > 0)
		return "Pending";
	if (n.running > 0)
		return "Running";
	if (n.stopped == 0)
		return "Pending";
	if (!final && n.final != n.stopped)
		return "Running";
	return n.stopped == n.succeeded ? "Succeeded" : "Failed";
}

bool lifecycle_phase_terminal(struct str phase)
{
	return str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed");
}

void lifecycle_look_end(struct lifecycle_view *v, const struct json *status)
{
	if (!v->ending && lifecycle_phase_terminal(str_from(lifecycle_phase(v, status, false))))
		v->ending = v->l->ended = true;
}

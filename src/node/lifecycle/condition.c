/*
 * The pod conditions that a node agent owns, with upstream's reasons and messages. Conditions of
 * others stay as they are. A condition whose status is unchanged keeps its transition time.
 */
#include "api/api_limits.h"
#include "base/time/timestamp.h"
#include "node/lifecycle/lifecycle_impl.h"
#include "node/pod/pod_condition.h"

struct condition {
	const char *type;
	bool good;
	const char *reason; /* or NULL */
	struct str message; /* or empty */
};

static void condition_put(struct lifecycle_view *v, struct json *list, const struct condition *c)
{
	struct arena *a = v->arena;
	const struct json *before = json_find(json_getz(v->old, "conditions"), "type",
					      str_from(c->type));
	struct str status = c->good ? STR("True") : STR("False");
	struct json *now = json_make_object(a);
	int64_t generation = json_i64_at(v->in->pod->metadata, "generation", 0);
	struct str since = json_text_at(before, "lastTransitionTime");

	json_append(list, now);
	json_put_str(a, now, "type", str_from(c->type));
	if (generation > 0)
		json_put_i64(a, now, "observedGeneration", generation);
	json_put_str(a, now, "status", status);
	json_setz(now, "lastProbeTime", json_make_null(a));
	if (since.n > 0 && str_eq(json_text_at(before, "status"), status))
		json_put_str(a, now, "lastTransitionTime", since);
	else
		lifecycle_put_time(a, now, "lastTransitionTime", v->in->wall_ns);
	if (c->reason)
		json_put_str(a, now, "reason", str_from(c->reason));
	if (c->message.n > 0)
		json_put_str(a, now, "message", c->message);
}

/* --- names in messages -------------------------------------------------------------- */

/* "containers with unready status: [a b]" */
static void add_names(struct buf *b, const char *what, struct buf *names)
{
	if (names->n == 0)
		return;
	if (b->n > 0)
		(void)buf_addz(b, ", ");
	(void)buf_printf(b, "%s: [%.*s]", what, STR_ARG(buf_str(names)));
}

static void condition_add_name(struct buf *names, struct str name)
{
	if (names->n > 0)
		(void)buf_addc(names, ' ');
	(void)buf_add_str(names, name);
}

/* --- each condition ----------------------------------------------------------------- */

static const struct json *condition_status_of(const struct json *status,
					      const struct pod_containers *c)
{
	return json_find(json_getz(status, lifecycle_list_of(c->kind)), "name", c->name);
}

static struct str unready(struct lifecycle_view *v, const struct json *status)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(REQUEST_WORK_MAX);
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);
	struct pod_containers c = pod_containers(v->in->pod);

	while (pod_containers_next(&c)) {
		if ((c.kind == POD_SIDECAR || c.kind == POD_MAIN) &&
		    !json_true_at(condition_status_of(status, &c), "ready"))
			condition_add_name(&names, c.name);
	}
	add_names(&text, "containers with unready status", &names);
	return arena_str(v->arena, buf_str(&text));
}

static struct condition containers_ready(struct lifecycle_view *v, const struct json *status,
					 struct str phase)
{
	struct condition c = { .type = "ContainersReady" };

	if (str_eqz(phase, "Succeeded")) {
		c.reason = "PodCompleted";
	} else if (str_eqz(phase, "Failed")) {
		c.reason = "PodFailed";
	} else {
		c.message = unready(v, status);
		c.good = c.message.n == 0;
		c.reason = c.good ? NULL : "ContainersNotReady";
	}
	return c;
}

/* Checks the pod's readiness gates, which others set. */
static struct str gates_closed(struct lifecycle_view *v, const struct json *conditions)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

	JSON_FOREACH (gate, json_getz(v->in->pod->spec, "readinessGates")) {
		struct str type = json_text_at(gate, "conditionType");
		const struct json *c = json_find(conditions, "type", type);
		struct str status = json_text_at(c, "status");

		if (c && str_eqz(status, "True"))
			continue;
		if (text.n > 0)
			(void)buf_addz(&text, ", ");
		if (!c)
			(void)buf_printf(&text,
					 "corresponding condition of pod readiness gate \"%.*s\" "
					 "does not exist.",
					 STR_ARG(type));
		else
			(void)buf_printf(&text,
					 "the status of pod readiness gate \"%.*s\" is not "
					 "\"True\", but %.*s",
					 STR_ARG(type), STR_ARG(status));
	}
	return arena_str(v->arena, buf_str(&text));
}

static struct condition ready(struct lifecycle_view *v, const struct json *conditions,
			      struct condition containers)
{
	containers.type = "Ready";
	if (!containers.good)
		return containers;
	containers.message = gates_closed(v, conditions);
	containers.good = containers.message.n == 0;
	containers.reason = containers.good ? NULL : "ReadinessGatesNotReady";
	return containers;
}

static bool main_has_started(struct lifecycle_view *v, const struct json *status)
{
	struct pod_containers c = pod_containers(v->in->pod);

	while (pod_containers_next(&c)) {
		if (c.kind == POD_MAIN &&
		    !lifecycle_state(condition_status_of(status, &c), "waiting"))
			return true;
	}
	return false;
}

static struct str incomplete(struct lifecycle_view *v, const struct json *status)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(REQUEST_WORK_MAX);
	CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);
	struct pod_containers c = pod_containers(v->in->pod);

	while (pod_containers_next(&c)) {
		if ((c.kind == POD_INIT &&
		     !json_true_at(condition_status_of(status, &c), "ready")) ||
		    (c.kind == POD_SIDECAR &&
		     !json_true_at(condition_status_of(status, &c), "started")))
			condition_add_name(&names, c.name);
	}
	add_names(&text, "containers with incomplete status", &names);
	return arena_str(v->arena, buf_str(&text));
}

/* Once initialized, a pod stays initialized. */
static struct condition initialized(struct lifecycle_view *v, const struct json *status,
				    struct str phase)
{
	struct condition c = { .type = "Initialized", .good = true };
	const struct json *before = json_find(json_getz(v->old, "conditions"), "type",
					      STR("Initialized"));

	if (str_eqz(phase, "Succeeded")) {
		c.reason = "PodCompleted";
		return c;
	}
	if (main_has_started(v, status) || str_eqz(json_text_at(before, "status"), "True"))
		return c;
	c.message = incomplete(v, status);
	c.good = c.message.n == 0;
	c.reason = c.good ? NULL : "ContainersNotInitialized";
	return c;
}

static struct condition restarting(const struct lifecycle_view *v, struct str phase)
{
	struct condition c = { .type = "AllContainersRestarting" };

	if (str_eqz(phase, "Succeeded")) {
		c.reason = "PodCompleted";
	} else if (str_eqz(phase, "Failed")) {
		c.reason = "PodFailed";
	} else if (v->l->restarting && !v->l->restart_removed) {
		c.good = true;
		c.reason = "RestartAllContainersStarted";
		c.message = STR("container exited with restart policy rule");
	}
	return c;
}

/* --- all conditions ----------------------------------------------------------------- */

static bool disrupts(const struct lifecycle_view *v)
{
	return v->in->stop_reason.n > 0 && v->in->stop_disrupts;
}

static void put_others(struct lifecycle_view *v, struct json *list)
{
	JSON_FOREACH (it, json_getz(v->in->pod->status, "conditions")) {
		struct str type = json_text_at(it, "type");

		if (!pod_condition_is_own(type) &&
		    !(disrupts(v) && str_eqz(type, POD_DISRUPTION_CONDITION)))
			json_append(list, lifecycle_copy(v->arena, it));
	}
}

void lifecycle_put_conditions(struct lifecycle_view *v, struct json *status, struct str phase)
{
	struct json *list = json_need_array(v->arena, status, "conditions");
	struct condition sandbox = { .type = "PodReadyToStartContainers",
				     .good = !v->sandbox_changed,
				     .reason = v->sandbox_changed ? "PodSandboxNotReady" : NULL,
				     .message = str_from(v->sandbox_message) };
	struct condition scheduled = { .type = "PodScheduled", .good = true };
	struct condition containers = containers_ready(v, status, phase), c;

	put_others(v, list);
	condition_put(v, list, &sandbox);
	c = initialized(v, status, phase);
	condition_put(v, list, &c);
	c = ready(v, list, containers);
	condition_put(v, list, &c);
	condition_put(v, list, &containers);
	condition_put(v, list, &scheduled);
	if (disrupts(v)) {
		c = (struct condition){ .type = POD_DISRUPTION_CONDITION,
					.good = true,
					.reason = POD_DISRUPTION_REASON,
					.message = v->in->stop_message };
		condition_put(v, list, &c);
	}
	if (lifecycle_could_restart_all(v->in->pod)) {
		c = restarting(v, phase);
		condition_put(v, list, &c);
	}
}

/*
 * The status of a pod. The phase becomes terminal only when nothing runs and everything is cleaned
 * up. So a client that sees a failed or succeeded pod can treat its devices, claims and volumes as
 * free. The status returned last is kept as text, as the base of the next one: the server may not
 * have it yet.
 */
#include "node/lifecycle/lifecycle_impl.h"

/* --- addresses ---------------------------------------------------------------------- */

static struct json *put_list(struct arena *a, struct json *status, const char *key)
{
	struct json *list = json_make_array(a);

	json_setz(status, key, list);
	return list;
}

static void add_ip(struct arena *a, struct json *list, struct str ip)
{
	struct json *o = json_make_object(a);

	json_append(list, o);
	json_put_str(a, o, "ip", ip);
}

static bool is_v6(struct str ip)
{
	return str_chr(ip, ':') >= 0;
}

/* The first address of the node's family, then the first of the other family. */
static void put_sandbox_ips(struct lifecycle_view *v, struct json *status)
{
	struct json *list = put_list(v->arena, status, "podIPs");
	bool first = is_v6(v->in->host_ip);

	for (int turn = 0; turn < 2; turn++) {
		for (size_t i = 0; i < v->sandbox->nips; i++) {
			if (is_v6(v->sandbox->ips[i]) != (turn == 0 ? first : !first))
				continue;
			add_ip(v->arena, list, arena_str(v->arena, v->sandbox->ips[i]));
			break;
		}
	}
	json_put_str(v->arena, status, "podIP", json_text_at(json_first(list), "ip"));
}

static void put_pod_ips(struct lifecycle_view *v, struct json *status)
{
	struct arena *a = v->arena;
	struct str before = json_text_at(v->old, "podIP");

	if (pod_host_network(v->in->pod)) {
		if (v->in->host_ip.n == 0)
			return;
		json_put_str(a, status, "podIP", arena_str(a, v->in->host_ip));
		add_ip(a, put_list(a, status, "podIPs"), arena_str(a, v->in->host_ip));
	} else if (v->sandbox && v->sandbox->nips > 0) {
		put_sandbox_ips(v, status);
	} else if (v->ending && before.n > 0) {
		/* A pod that ends keeps its address. */
		json_put_str(a, status, "podIP", before);
		json_setz(status, "podIPs", lifecycle_copy(a, json_getz(v->old, "podIPs")));
	}
}

static void put_addresses(struct lifecycle_view *v, struct json *status)
{
	struct arena *a = v->arena;

	if (v->in->host_ip.n > 0) {
		json_put_str(a, status, "hostIP", arena_str(a, v->in->host_ip));
		add_ip(a, put_list(a, status, "hostIPs"), arena_str(a, v->in->host_ip));
	}
	put_pod_ips(v, status);
}

/* --- the end ------------------------------------------------------------------------ */

static void put_ended(struct lifecycle_view *v, struct json *status)
{
	struct json *state = json_make_object(v->arena), *ended = json_make_object(v->arena);

	json_setz(status, "state", state);
	json_setz(state, "terminated", ended);
	json_put_i64(v->arena, ended, "exitCode", LIFECYCLE_LOST_CODE);
	json_put_str(v->arena, ended, "reason", STR("ContainerStatusUnknown"));
	json_put_str(v->arena, ended, "message",
		     STR("The container could not be located when the pod was terminated"));
	lifecycle_put_time(v->arena, ended, "startedAt", 0);
	lifecycle_put_time(v->arena, ended, "finishedAt", 0);
	json_put_bool(v->arena, status, "ready", false);
	json_put_bool(v->arena, status, "started", false);
}

/* Number of init containers that ever tried to start; the first always counts. */
static size_t tried(const struct json *list)
{
	size_t n = 0, i = 0;

	JSON_FOREACH (it, list) {
		i++;
		if (!lifecycle_state(it, "waiting") || lifecycle_last_ended(it))
			n = i;
	}
	return MAX(n, MIN(i, 1));
}

static bool was_initialized(const struct lifecycle_view *v, const struct json *status)
{
	const struct json *list = json_getz(status, "initContainerStatuses");
	const struct json *last = json_at(list, json_count(list) > 0 ? json_count(list) - 1 : 0);
	const struct json *ended = lifecycle_state(last, "terminated");

	if (!last)
		return true;
	JSON_FOREACH (it, json_getz(status, "containerStatuses")) {
		if (!lifecycle_state(it, "waiting") || lifecycle_last_ended(it))
			return true;
	}
	(void)v;
	return ended && json_i64_at(ended, "exitCode", -1) == 0;
}

/* Containers that have not ended by now count as failed. */
static void status_finish(struct lifecycle_view *v, struct json *status)
{
	struct json *init = json_getz(status, "initContainerStatuses");
	size_t left = tried(init);

	if (was_initialized(v, status)) {
		JSON_FOREACH (it, json_getz(status, "containerStatuses")) {
			if (!lifecycle_state(it, "terminated"))
				put_ended(v, it);
		}
	}
	JSON_FOREACH (it, init) {
		if (left-- == 0)
			break;
		if (!lifecycle_state(it, "terminated"))
			put_ended(v, it);
	}
}

/* --- phase -------------------------------------------------------------------------- */

struct verdict {
	struct str phase, reason, message;
};

/* The pod's actual phase, reported or not. */
static struct verdict status_judge(struct lifecycle_view *v, const struct json *status, bool final)
{
	struct str before = json_text_at(v->old, "phase");
	struct str given = json_text_at(v->in->pod->status, "phase");
	struct verdict now = { .phase = str_from(lifecycle_phase(v, status, final)) };

	/* A terminal phase never changes. */
	if (lifecycle_phase_terminal(before))
		now.phase = before;
	if (v->l->stop_reason && !lifecycle_phase_terminal(given) &&
	    !lifecycle_phase_terminal(before))
		return (struct verdict){ STR("Failed"),
					 arena_str(v->arena, lifecycle_text(v->l->stop_reason)),
					 arena_str(v->arena, lifecycle_text(v->l->stop_message)) };
	if (lifecycle_phase_terminal(given))
		now.phase = given;
	if (final && v->in->cleaned && !lifecycle_phase_terminal(now.phase))
		now.phase = STR("Failed");
	if (str_eq(now.phase, before)) {
		now.reason = json_text_at(v->old, "reason");
		now.message = json_text_at(v->old, "message");
	}
	if (str_eq(now.phase, given) && now.reason.n + now.message.n == 0) {
		now.reason = json_text_at(v->in->pod->status, "reason");
		now.message = json_text_at(v->in->pod->status, "message");
	}
	return now;
}

/*
 * The phase to report: a terminal one only if it is final, or if somebody else gave it. Taking that
 * back would hide it from controllers.
 */
static struct verdict status_tell(const struct lifecycle_view *v, struct verdict now, bool final)
{
	struct str before = json_text_at(v->old, "phase");
	struct str given = json_text_at(v->in->pod->status, "phase");

	if (!lifecycle_phase_terminal(now.phase) || lifecycle_phase_terminal(before) ||
	    lifecycle_phase_terminal(given) || (final && v->in->cleaned))
		return now;
	return (struct verdict){ before.n > 0 ? before : STR("Pending"),
				 json_text_at(v->old, "reason"), json_text_at(v->old, "message") };
}

/* --- all ---------------------------------------------------------------------------- */

static void status_put_text(struct arena *a, struct json *o, const char *key, struct str s)
{
	if (s.n > 0)
		json_put_str(a, o, key, s);
}

static void put_basics(struct lifecycle_view *v, struct json *status)
{
	const struct pod *pod = v->in->pod;
	int64_t generation = json_i64_at(pod->metadata, "generation", 0);
	int64_t observed = json_i64_at(v->old, "observedGeneration", 0);
	struct str started = json_text_at(v->old, "startTime");

	status_put_text(v->arena, status, "qosClass", json_text_at(pod->status, "qosClass"));
	if (MAX(generation, observed) > 0)
		json_put_i64(v->arena, status, "observedGeneration", MAX(generation, observed));
	if (started.n > 0)
		json_put_str(v->arena, status, "startTime", started);
	else
		lifecycle_put_time(v->arena, status, "startTime", v->in->wall_ns);
}

static void status_remember(struct lifecycle *l, const struct json *status)
{
	buf_clear(&l->last);
	if (json_print(&l->last, status, NULL) < 0)
		buf_clear(&l->last);
}

/* A pod that was never admitted has nothing but the reason. */
static bool never_began(const struct lifecycle_view *v)
{
	return v->l->rejected && (!v->in->seen || v->in->seen->ncontainers == 0) &&
	       json_count(json_getz(v->old, "containerStatuses")) == 0;
}

static void keep_conditions(struct lifecycle_view *v, struct json *status)
{
	const struct json *list = json_getz(v->in->pod->status, "conditions");

	if (json_count(list) > 0)
		json_setz(status, "conditions", lifecycle_copy(v->arena, list));
}

struct json *lifecycle_status(struct lifecycle *l, const struct lifecycle_input *in,
			      struct arena *a)
{
	struct json *status = json_make_object(a);
	struct lifecycle_view v;
	struct verdict now, told;
	bool final, bare;

	lifecycle_look(l, in, a, &v);
	bare = never_began(&v);
	if (!bare)
		lifecycle_put_containers(&v, status);
	lifecycle_look_end(&v, status);
	final = v.ending && v.idle;
	now = status_judge(&v, status, final);
	if (!bare && final && in->cleaned)
		status_finish(&v, status);
	told = status_tell(&v, now, final);
	json_put_str(a, status, "phase", told.phase);
	status_put_text(a, status, "reason", told.reason);
	status_put_text(a, status, "message", told.message);
	if (bare)
		keep_conditions(&v, status);
	else
		lifecycle_put_conditions(&v, status, now.phase);
	put_addresses(&v, status);
	put_basics(&v, status);
	if (l->restart_removed)
		l->restarting = l->restart_removed = false;
	status_remember(l, status);
	return status;
}

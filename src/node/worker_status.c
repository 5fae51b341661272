/*
 * The status of a pod: what its life cycle says, with the health of its devices; what differs of
 * the latter from the last time is told as events. Nothing here asks anybody: it is called as often
 * as anything changes.
 */
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "node/device_status.h"
#include "node/probes.h"
#include "node/status_writer.h"
#include "node/worker_impl.h"

void worker_status_free(struct worker_status *s)
{
	if (!s)
		return;
	arena_release(&s->arena);
	free(s);
}

void worker_tell_device(struct worker *w, const struct device_status_change *c)
{
	static const char *const reasons[] = { [ASSIGN_HEALTHY] = "DeviceHealthy",
					       [ASSIGN_UNHEALTHY] = "DeviceUnhealthy",
					       [ASSIGN_UNKNOWN] = "DeviceHealthUnknown" };
	enum recorder_type type = c->now == ASSIGN_HEALTHY ? RECORDER_NORMAL : RECORDER_WARNING;

	worker_event(w, STR_NULL, type, reasons[c->now], "Device %.*s of %.*s: %s -> %s%s%.*s",
		     STR_ARG(c->id), STR_ARG(c->resource), assign_health_name(c->before),
		     assign_health_name(c->now), c->message.n ? ": " : "", STR_ARG(c->message));
}

static void on_tell(void *arg, struct str pod_uid, const struct device_status_change *c)
{
	(void)pod_uid;
	worker_tell_device(arg, c);
}

static void tell_devices(struct worker *w, const struct json *before, struct worker_status *now)
{
	const struct device_status_change *v;
	size_t n = device_status_diff(&now->arena, before, now->tree, &v);

	for (size_t i = 0; i < n; i++)
		device_events_change(w->host->events, w->pod->uid, &v[i], loop_now(w->host->loop),
				     on_tell, w);
}

static struct json *json_copy_of(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	return v && json_copy(a, v, &copy, NULL) == 0 ? copy : json_make_array(a);
}

/* One container's: devices of plugins that are to come back stay as they were. */
static bool keep_devices(struct worker *w, struct arena *a, struct json *now,
			 const struct json *before)
{
	const struct json *old = json_getz(before, "allocatedResourcesStatus");
	bool kept = false;

	JSON_FOREACH (resource, json_getz(now, "allocatedResourcesStatus")) {
		struct str name = json_text_at(resource, "name");
		const struct json *was = json_find(old, "name", name);

		if (!was || !w->host->settling(w->host->arg, name))
			continue;
		json_setz(resource, "resources", json_copy_of(a, json_getz(was, "resources")));
		kept = true;
	}
	return kept;
}

static void keep_condition(struct arena *a, struct json *status, const struct json *before)
{
	struct json *list = json_getz(status, "conditions");
	const struct json *old = json_find(json_getz(before, "conditions"), "type",
					   STR(DEVICES_HEALTHY_CONDITION));

	JSON_FOREACH_SAFE (it, list) {
		if (old && str_eqz(json_text_at(it, "type"), DEVICES_HEALTHY_CONDITION))
			json_replace(list, it, json_copy_of(a, old));
	}
}

/* After a restart of the agent plugins need a moment: no device is Unknown for that. */
static void keep_settling(struct worker *w, struct arena *a, struct json *status,
			  const struct json *before)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	bool kept = false;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct json *old = json_getz(before, lists[i]);

		JSON_FOREACH (it, json_getz(status, lists[i]))
			kept |= keep_devices(w, a, it,
					     json_find(old, "name", json_text_at(it, "name")));
	}
	if (kept)
		keep_condition(a, status, before);
}

static void add_devices(struct worker *w, struct worker_status *s)
{
	struct worker_host *h = w->host;
	const struct json *before = w->status && w->status->tree ? w->status->tree : w->pod->status;
	struct device_status_opts o = {
		.assign = h->assign,
		.health = h->health,
		.messages = gates_on(h->gates, GATE_ResourceHealthStatusMessage),
		.pod_level = h->pod_level,
		.wall_ns = clock_wall(loop_clock(h->loop)),
	};

	if (!gates_on(h->gates, GATE_ResourceHealthStatus))
		return;
	device_status_fill(&s->arena, w->pod, &o, s->tree, before);
	keep_settling(w, &s->arena, s->tree, before);
	tell_devices(w, before, s);
}

/* Probes run while the life cycle wants them. */
static void follow_probes(struct worker *w, const struct lifecycle_input *in)
{
	static const enum lifecycle_probe kinds[] = { LIFECYCLE_STARTUP, LIFECYCLE_LIVENESS,
						      LIFECYCLE_READINESS };
	struct str ip = worker_ip(w);
	struct pod_containers c = pod_containers(w->pod);

	while (pod_containers_next(&c)) {
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			struct str id = STR_NULL;

			bool wanted = lifecycle_wants_probe(w->life, in, c.name, kinds[i], &id);

			if (wanted && w->host->hollow)
				lifecycle_probed(w->life, id, kinds[i], true, STR_NULL);
			else if (wanted)
				probes_start(w->host->probes, w->pod, c.name, id, kinds[i], ip);
			else if (id.n > 0)
				probes_stop(w->host->probes, id, kinds[i]);
		}
	}
}

/* A status has texts of the pod, the runtime and the log of assignments; what is kept has none. */
static void keep(struct worker *w, const struct json *status)
{
	struct worker_status *s = XNEW(struct worker_status);

	arena_init(&s->arena, REQUEST_WORK_MAX);
	(void)json_copy(&s->arena, status, &s->tree, NULL);
	worker_status_free(w->status);
	w->status = s;
}

void worker_write_status(struct worker *w)
{
	struct lifecycle_input in = worker_input(w);
	struct worker_status now;

	if (w->gone || w->seen_at == 0)
		return;
	if (!w->ended)
		follow_probes(w, &in);
	arena_init(&now.arena, REQUEST_WORK_MAX);
	now.tree = lifecycle_status(w->life, &in, &now.arena);
	add_devices(w, &now);
	status_writer_set(w->host->writer, w->pod, now.tree);
	keep(w, now.tree);
	arena_release(&now.arena);
}

/*
 * The status of a pod: the life cycle's status with device health (KEP-4680). Changes of health
 * since the last status are reported as events. Nothing here makes a call: it runs whenever
 * anything changes.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "node/pod/pod_condition.h"
#include "node/probes/probes.h"
#include "node/status/device_event_text.h"
#include "node/status/device_status.h"
#include "node/status/writer.h"
#include "node/worker/worker_impl.h"

enum {
	STACK_BLOCK = 32 * 1024, /* arena on the stack: large enough for most statuses */
};

void worker_tell_device(struct worker *w, const struct device_status_change *c)
{
	enum recorder_type type = c->now == ASSIGN_HEALTHY ? RECORDER_NORMAL : RECORDER_WARNING;
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	device_event_print(&text, c, w->host->health, clock_wall(loop_clock(w->host->loop)));
	worker_event(w, STR_NULL, type, device_event_reason(c), "%.*s", STR_ARG(buf_str(&text)));
}

static void on_tell(void *arg, struct str pod_uid, const struct device_status_change *c)
{
	(void)pod_uid;
	worker_tell_device(arg, c);
}

static void tell_devices(struct worker *w, struct arena *a, const struct json *before,
			 const struct json *now)
{
	const struct device_status_change *v;
	size_t n = device_status_diff(a, before, now, &v);

	for (size_t i = 0; i < n; i++)
		device_events_change(w->host->events, w->pod->uid, &v[i], loop_now(w->host->loop),
				     on_tell, w);
}

static struct json *json_copy_of(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	return v && json_copy(a, v, &copy, NULL) == 0 ? copy : json_make_array(a);
}

/* For one container: devices whose plugins may still come back keep their health. */
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

/* After a restart of the agent, plugins need a moment; until then no device becomes Unknown. */
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

/* The status set last; after a restart, the server's. */
static const struct json *status_before(const struct worker *w, struct arena *a)
{
	const struct pod *pod = worker_api_pod(w) ? worker_api_pod(w) : w->pod;
	struct str text = status_writer_wanted(w->host->writer, pod->uid);
	struct json *tree;

	return text.p && json_parse(a, text, NULL, &tree, NULL) == 0 ? tree : pod->status;
}

static void add_devices(struct worker *w, struct arena *a, struct json *status)
{
	struct worker_host *h = w->host;
	struct device_status_opts o = {
		.assign = h->assign,
		.health = h->health,
		.messages = gates_on(h->gates, GATE_ResourceHealthStatusMessage),
		.pod_level = h->pod_level,
		.wall_ns = clock_wall(loop_clock(h->loop)),
	};
	const struct json *before;

	if (!gates_on(h->gates, GATE_ResourceHealthStatus))
		return;
	before = status_before(w, a);
	device_status_fill(a, w->pod, &o, status, before);
	keep_settling(w, a, status, before);
	tell_devices(w, a, before, status);
}

/* Starts and stops probes as the life cycle wants. */
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

void worker_write_status(struct worker *w)
{
	struct lifecycle_input in = worker_input(w);
	char block[STACK_BLOCK] UNZEROED;
	struct json *status;
	struct arena a;

	if (w->gone || w->seen_at == 0)
		return;
	if (!w->ended)
		follow_probes(w, &in);
	arena_init_in(&a, REQUEST_WORK_MAX, block, sizeof(block));
	status = lifecycle_status(w->life, &in, &a);
	add_devices(w, &a, status);
	if (worker_api_pod(w))
		status_writer_set(w->host->writer, worker_api_pod(w), status);
	arena_release(&a);
}

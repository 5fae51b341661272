/*
 * The status of a pod: the life cycle's status with device health (KEP-4680). Changes of health
 * since the last status are reported as events. Nothing here makes a call: it runs whenever
 * anything changes.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "node/pod/pod_condition.h"
#include "node/probes/probes.h"
#include "node/status/device_status.h"
#include "node/status/writer.h"
#include "node/worker/worker_impl.h"

enum {
	STACK_BLOCK = 32 * 1024, /* arena on the stack: large enough for most statuses */
	MINUTE_S = 60,
	DETERMINED_SIZE = 64,
};

/* Finds a claim device by its id, DRIVER/POOL/DEVICE; a pool may contain slashes. */
static bool find_health(const struct worker *w, const struct device_status_change *c,
			struct health_device *ret_device)
{
	ptrdiff_t first = str_chr(c->id, '/'), last = (ptrdiff_t)c->id.n - 1;

	if (!str_starts(c->resource, STR("claim:")) || first < 0)
		return false;
	while (c->id.p[last] != '/')
		last--;
	return last > first && health_get(w->host->health, str_of(c->id.p, (size_t)first),
					  str_of(c->id.p + first + 1, (size_t)(last - first - 1)),
					  str_skip(c->id, (size_t)last + 1), ret_device);
}

/*
 * ", determined TIME" by the driver's clock, if that differs from the event's time by a minute or
 * more.
 */
static const char *determined(const struct worker *w, const struct device_status_change *c,
			      char room[static DETERMINED_SIZE])
{
	int64_t wall_s = clock_wall(loop_clock(w->host->loop)) / CLOCK_SEC;
	char text[TIMESTAMP_SIZE];
	struct health_device d;
	struct str at;

	if (!find_health(w, c, &d) || d.health != c->now || d.updated_s <= 0 ||
	    d.updated_s > INT64_MAX / CLOCK_SEC ||
	    (d.updated_s > wall_s - MINUTE_S && d.updated_s < wall_s + MINUTE_S))
		return "";
	at = timestamp_print(d.updated_s * CLOCK_SEC, TIMESTAMP_SECONDS, text);
	(void)snprintf(room, DETERMINED_SIZE, ", determined %.*s", STR_ARG(at));
	return room;
}

void worker_tell_device(struct worker *w, const struct device_status_change *c)
{
	static const char *const reasons[] = { [ASSIGN_HEALTHY] = "DeviceHealthy",
					       [ASSIGN_UNHEALTHY] = "DeviceUnhealthy",
					       [ASSIGN_UNKNOWN] = "DeviceHealthUnknown" };
	enum recorder_type type = c->now == ASSIGN_HEALTHY ? RECORDER_NORMAL : RECORDER_WARNING;
	char room[DETERMINED_SIZE];

	worker_event(w, STR_NULL, type, reasons[c->now], "Device %.*s of %.*s: %s -> %s%s%s%.*s",
		     STR_ARG(c->id), STR_ARG(c->resource), assign_health_name(c->before),
		     assign_health_name(c->now), determined(w, c, room), c->message.n ? ": " : "",
		     STR_ARG(c->message));
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
	struct str text = status_writer_wanted(w->host->writer, w->pod->uid);
	struct json *tree;

	return text.p && json_parse(a, text, NULL, &tree, NULL) == 0 ? tree : w->pod->status;
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
	status_writer_set(w->host->writer, w->pod, status);
	arena_release(&a);
}

/* A report is encoded once per protocol and turn, and shared by all its streams. */
#include "drivers/sdk/reporter.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "deviceplugin.pb-c.h"
#include "drahealth.pb-c.h"
#include "grpc/grpc.h"
#include "grpc/message.h"

struct reporter {
	struct loop *loop;
	const struct device_table *table;
	int64_t heartbeat_ms;
	struct loop_timer heartbeat;
	struct loop_task task;
	struct list streams;
	size_t nstreams;
	bool paused;
	struct metrics_counter *reports; /* or NULL */
};

struct stream {
	struct list link;
	struct reporter *owner;
	struct grpc_call *call;
	enum reporter_dialect dialect;
	bool owed; /* a report is due, but the stream had no room */
};

/* --- reports ------------------------------------------------------------------------------ */

static const char *health_word(uint32_t health)
{
	static const char *const words[] = { "Healthy", "Unhealthy", "Unknown" };

	return words[health];
}

static char *reporter_message_of(const struct device *d)
{
	return d->message ? d->message : (char *)(uintptr_t) "";
}

static struct bytes *pack_dra(struct arena *a, const struct device_table *t)
{
	static const Drahealth__HealthStatus codes[] = { DRAHEALTH__HEALTH_STATUS__HEALTHY,
							 DRAHEALTH__HEALTH_STATUS__UNHEALTHY,
							 DRAHEALTH__HEALTH_STATUS__UNKNOWN };
	Drahealth__WatchResponse out = DRAHEALTH__WATCH_RESPONSE__INIT;

	out.devices = ARENA_ARRAY(a, Drahealth__DeviceHealth *, t->n + 1);
	for (size_t i = 0; i < t->n; i++) {
		const struct device *d = &t->v[i];
		Drahealth__DeviceHealth *h;

		if (d->health == DP_UNREPORTED)
			continue;
		h = ARENA_NEW(a, Drahealth__DeviceHealth);
		drahealth__device_health__init(h);
		h->device = ARENA_NEW(a, Drahealth__DeviceIdentifier);
		drahealth__device_identifier__init(h->device);
		h->device->pool_name = (char *)(uintptr_t)d->pool.p;
		h->device->device_name = (char *)(uintptr_t)d->name.p;
		h->health = codes[d->health];
		h->last_updated_time = d->updated_s;
		h->health_check_timeout_seconds = d->timeout_s;
		h->message = reporter_message_of(d);
		out.devices[out.n_devices++] = h;
	}
	return grpc_message_pack(&out.base);
}

static struct bytes *pack_node(struct arena *a, const struct device_table *t)
{
	Drahealth__NodeHealthResponse out = DRAHEALTH__NODE_HEALTH_RESPONSE__INIT;

	out.devices = ARENA_ARRAY(a, Drahealth__NodeDeviceHealth *, t->n + 1);
	for (size_t i = 0; i < t->n; i++) {
		const struct device *d = &t->v[i];
		Drahealth__NodeDeviceHealth *h;

		if (d->health == DP_UNREPORTED)
			continue;
		h = ARENA_NEW(a, Drahealth__NodeDeviceHealth);
		drahealth__node_device_health__init(h);
		h->pool_name = (char *)(uintptr_t)d->pool.p;
		h->device_name = (char *)(uintptr_t)d->name.p;
		h->health_status = (char *)(uintptr_t)health_word(d->health);
		h->last_updated_timestamp = d->updated_s;
		h->health_check_timeout_seconds = d->timeout_s;
		h->message = reporter_message_of(d);
		out.devices[out.n_devices++] = h;
	}
	return grpc_message_pack(&out.base);
}

static Deviceplugin__TopologyInfo *topology(struct arena *a, int32_t numa)
{
	Deviceplugin__TopologyInfo *t = ARENA_NEW(a, Deviceplugin__TopologyInfo);

	deviceplugin__topology_info__init(t);
	t->n_nodes = 1;
	t->nodes = ARENA_ARRAY(a, Deviceplugin__NumaNode *, 1);
	t->nodes[0] = ARENA_NEW(a, Deviceplugin__NumaNode);
	deviceplugin__numa_node__init(t->nodes[0]);
	t->nodes[0]->id = numa;
	return t;
}

/* This protocol has only two values, so Unknown is reported as Unhealthy. */
static struct bytes *pack_plugin(struct arena *a, const struct device_table *t)
{
	Deviceplugin__ListAndWatchResponse out = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;

	out.devices = ARENA_ARRAY(a, Deviceplugin__Device *, t->n + 1);
	for (size_t i = 0; i < t->n; i++) {
		const struct device *d = &t->v[i];
		Deviceplugin__Device *h;

		if (d->health == DP_UNREPORTED)
			continue;
		h = ARENA_NEW(a, Deviceplugin__Device);
		deviceplugin__device__init(h);
		h->id = (char *)(uintptr_t)d->name.p;
		h->health = (char *)(uintptr_t)health_word(d->health == DP_HEALTHY ? DP_HEALTHY
										   : DP_UNHEALTHY);
		h->message = reporter_message_of(d);
		if (d->numa >= 0)
			h->topology = topology(a, d->numa);
		out.devices[out.n_devices++] = h;
	}
	return grpc_message_pack(&out.base);
}

static struct bytes *pack(const struct device_table *t, enum reporter_dialect dialect)
{
	static struct bytes *(*const how[])(struct arena *, const struct device_table *) = {
		[REPORTER_DRA] = pack_dra,
		[REPORTER_NODE] = pack_node,
		[REPORTER_PLUGIN] = pack_plugin,
	};
	struct bytes *packed;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	packed = how[dialect](&a, t);
	arena_release(&a);
	return packed;
}

/* --- streams ------------------------------------------------------------------------------ */

static void send_to(struct stream *s, struct bytes *packed)
{
	s->owed = grpc_call_room(s->call) == 0;
	if (s->owed || !packed)
		return;
	(void)grpc_call_send_packed(s->call, packed);
	if (s->owner->reports)
		metrics_counter_add(s->owner->reports, 1);
}

static void send_one(struct stream *s)
{
	struct bytes *packed;

	if (!s->owner->table || s->owner->paused)
		return;
	packed = pack(s->owner->table, s->dialect);
	send_to(s, packed);
	bytes_unref(packed);
}

static void send_all(struct reporter *r)
{
	struct bytes *packed[REPORTER_DIALECTS] = { NULL };

	if (!r->table || r->paused)
		return;
	/* Sending may end a call and remove it from the list, but never a different one. */
	LIST_FOREACH_SAFE (it, &r->streams) {
		struct stream *s = LIST_ENTRY(it, struct stream, link);

		if (!packed[s->dialect])
			packed[s->dialect] = pack(r->table, s->dialect);
		send_to(s, packed[s->dialect]);
	}
	for (int i = 0; i < REPORTER_DIALECTS; i++)
		bytes_unref(packed[i]);
}

void reporter_on_writable(struct grpc_call *c)
{
	struct stream *s = grpc_call_data(c);

	if (s && s->owed)
		send_one(s);
}

void reporter_on_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct stream *s = grpc_call_data(c);

	if (!s)
		return;
	grpc_call_set_data(c, NULL);
	list_remove(&s->link);
	s->owner->nstreams--;
	free(s);
}

void reporter_watch(struct reporter *r, struct grpc_call *call, enum reporter_dialect dialect)
{
	struct stream *s = XNEW(struct stream);

	*s = (struct stream){ .owner = r, .call = call, .dialect = dialect };
	grpc_call_set_data(call, s);
	list_push_back(&r->streams, &s->link);
	r->nstreams++;
	(void)grpc_call_send_headers(call);
	send_one(s);
}

/* --- time --------------------------------------------------------------------------------- */

static void restart(struct reporter *r)
{
	if (r->heartbeat_ms > 0 && !r->paused)
		loop_timer_start(&r->heartbeat, r->heartbeat_ms);
}

static void reporter_on_task(struct loop_task *t)
{
	struct reporter *r = CONTAINER_OF(t, struct reporter, task);

	send_all(r);
	restart(r);
}

/* The driver is alive, so its last report is still valid, as of now. */
static void on_heartbeat(struct loop_timer *t)
{
	struct reporter *r = CONTAINER_OF(t, struct reporter, heartbeat);
	int64_t now_s = clock_wall(loop_clock(r->loop)) / CLOCK_SEC;

	for (size_t i = 0; r->table && i < r->table->n; i++)
		r->table->v[i].updated_s = now_s;
	send_all(r);
	restart(r);
}

void reporter_set(struct reporter *r, const struct device_table *t)
{
	r->table = t;
	reporter_changed(r);
}

void reporter_changed(struct reporter *r)
{
	loop_defer(r->loop, &r->task);
}

void reporter_pause(struct reporter *r, bool paused)
{
	r->paused = paused;
	if (paused)
		loop_timer_stop(&r->heartbeat);
	else
		reporter_changed(r);
}

/* --- life --------------------------------------------------------------------------------- */

static void reporter_add_metrics(struct reporter *r, struct metrics *m)
{
	struct metrics_spec spec = { .name = "devplane_driver_health_reports_total",
				     .help = "Health reports sent, one per stream.",
				     .type = METRICS_COUNTER };
	struct metrics_family *f;

	if (m && metrics_register(m, &spec, &f, NULL) == 0)
		r->reports = metrics_counter_of(f, NULL, 0);
}

struct reporter *reporter_new(struct loop *l, int64_t heartbeat_ms, struct metrics *metrics)
{
	struct reporter *r = XNEW(struct reporter);

	r->loop = l;
	r->heartbeat_ms = heartbeat_ms;
	list_init(&r->streams);
	loop_timer_init(&r->heartbeat, l, on_heartbeat);
	loop_task_init(&r->task, reporter_on_task);
	reporter_add_metrics(r, metrics);
	restart(r);
	return r;
}

void reporter_end(struct reporter *r)
{
	LIST_FOREACH_SAFE (it, &r->streams) {
		struct stream *s = LIST_ENTRY(it, struct stream, link);

		(void)grpc_call_finish(s->call, GRPC_UNAVAILABLE, STR("the driver stops"));
	}
}

void reporter_free(struct reporter *r)
{
	if (!r)
		return;
	loop_timer_stop(&r->heartbeat);
	loop_task_cancel(&r->task);
	LIST_FOREACH_SAFE (it, &r->streams) {
		struct stream *s = LIST_ENTRY(it, struct stream, link);

		grpc_call_set_data(s->call, NULL);
		list_remove(it);
		free(s);
	}
	free(r);
}

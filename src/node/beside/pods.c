/*
 * A pod's status with health is the kubelet's status, its reports of devices replaced by ours. It
 * is never written as a whole: events come from its differences, and the writer takes the condition
 * from it. The last status is kept, because it has the health that devices had when a container
 * ended.
 */
#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "client/events/recorder.h"
#include "grpc/message.h"
#include "node/beside/beside_impl.h"
#include "node/podresources/view.h"
#include "node/status/device_event_text.h"
#include "node/status/device_status.h"

/* --- records --------------------------------------------------------------------------------- */

static struct beside_pod *pods_of(struct beside *b, struct str uid)
{
	struct beside_pod *p = map_get(&b->pods, uid);

	if (p)
		return p;
	p = XNEW(struct beside_pod);
	p->b = b;
	p->uid = str_dup(uid);
	arena_init(&p->series_arena, REQUEST_WORK_MAX);
	(void)map_put(&b->pods, str_from(p->uid), p);
	return p;
}

static void pods_free(struct beside_pod *p)
{
	beside_metrics_pod(p->b, p, NULL, 0);
	beside_differences_release(&p->differences);
	arena_release(&p->series_arena);
	cached_unref(p->object);
	cached_unref(p->holder);
	free(p->packed);
	free(p->status);
	free(p->ns);
	free(p->name);
	free(p->uid);
	free(p);
}

/* A pod that neither the API nor the book has is forgotten. */
static void pods_drop_unused(struct beside_pod *p)
{
	if (p->object || p->in_book)
		return;
	(void)map_remove(&p->b->pods, str_from(p->uid));
	pods_free(p);
}

static void pods_mark(struct beside_pod *p)
{
	p->dirty = true;
	loop_defer(p->b->opts.loop, &p->b->dirty_task);
}

/* --- the book -------------------------------------------------------------------------------- */

static void pods_remember(struct beside_pod *p, const Podresources__PodResources *state)
{
	size_t n = podresources__pod_resources__get_packed_size(state);

	free(p->packed);
	p->packed = xmalloc(n + 1);
	p->packed_n = podresources__pod_resources__pack(state, (uint8_t *)p->packed);
}

static void pods_hold(struct beside_pod *p)
{
	struct str phase;

	if (!p->object || !p->in_book)
		return;
	phase = cached_field(p->object, "status.phase", NULL);
	if (str_eqz(phase, "Succeeded") || str_eqz(phase, "Failed"))
		return;
	cached_unref(p->holder);
	p->holder = cached_ref(p->object);
}

/* A pod that has ended holds nothing. Its last devices are remembered. */
void beside_on_pod(void *arg, struct str uid, Podresources__PodResources *state, struct arena *a)
{
	struct beside *b = arg;
	struct beside_pod *p = pods_of(b, uid);

	p->in_book = state != NULL;
	p->current = state && (beside_has_devices(state) || !p->packed);
	if (p->current)
		pods_remember(p, state);
	pods_hold(p);
	if (state) {
		podres_view_health(state, b->assign, b->health, a);
		pods_mark(p);
		return;
	}
	pods_drop_unused(p);
}

static Podresources__PodResources *pods_unpack(const struct beside_pod *p, struct arena *a)
{
	void *state = NULL;

	(void)grpc_message_unpack(&podresources__pod_resources__descriptor,
				  str_of(p->packed, p->packed_n), a, &state, NULL);
	return state;
}

static void set_book(struct beside *b, const struct beside_pod *p, struct arena *a)
{
	Podresources__PodResources *state;

	if (!p->in_book || !p->current)
		return;
	state = pods_unpack(p, a);
	podres_view_health(state, b->assign, b->health, a);
	(void)podres_set_pod(b->opts.book, str_from(p->uid), state, 0);
}

/* --- events ---------------------------------------------------------------------------------- */

static void pods_on_tell(void *arg, struct str uid, const struct device_status_change *c)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	struct beside *b = arg;
	const struct beside_pod *p = map_get(&b->pods, uid);
	struct recorder_object about = { .api_version = STR("v1"), .kind = STR("Pod"), .uid = uid };

	if (!p || !p->object)
		return;
	about.ns = cached_ns(p->object);
	about.name = cached_name(p->object);
	about.resource_version = p->object->resource_version;
	device_event_print(&text, c, b->health, clock_wall(loop_clock(b->opts.loop)));
	recorder_event(b->recorder, &about,
		       c->now == ASSIGN_HEALTHY ? RECORDER_NORMAL : RECORDER_WARNING,
		       device_event_reason(c), buf_str(&text));
}

void beside_events_due(struct beside *b)
{
	int64_t now = loop_now(b->opts.loop), next;

	device_events_due(b->events, now, pods_on_tell, b);
	next = device_events_next(b->events);
	if (next != INT64_MAX)
		loop_timer_start(&b->events_timer, MAX(0, next - now));
}

static void pods_tell(struct beside *b, struct str uid, struct arena *a, const struct json *before,
		      const struct json *now)
{
	const struct device_status_change *v;
	size_t n = device_status_diff(a, before, now, &v);

	for (size_t i = 0; i < n; i++)
		device_events_change(b->events, uid, &v[i], loop_now(b->opts.loop), pods_on_tell,
				     b);
}

/* --- status ---------------------------------------------------------------------------------- */

/* Whether the first report of a device may still come. */
static bool pods_wait(const struct beside *b, const struct assign_use *v, size_t n)
{
	struct health_device d;

	for (size_t i = 0; b->settling && i < n; i++) {
		const struct assign_claim_device *c = &v[i].device;

		if (v[i].pod_claim.n > 0 ? !health_get(b->health, c->driver, c->pool, c->device, &d)
					 : !assign_is_connected(b->assign, v[i].resource))
			return true;
	}
	return false;
}

static void drop_reports(struct json *status)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
	struct str field = STR("allocatedResourcesStatus");

	(void)json_remove(status, field);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		JSON_FOREACH (it, json_getz(status, lists[i]))
			(void)json_remove(it, field);
	}
}

static char *pods_print(const struct json *v)
{
	struct buf text = BUF_INIT(OBJECT_MAX);

	(void)json_print(&text, v, NULL);
	return buf_take(&text);
}

static struct json *pods_status(struct beside *b, const struct pod *pod, const struct json *before,
				const struct assign_use *uses, size_t n, struct arena *a)
{
	const struct device_status_opts o = { .assign = b->assign,
					      .health = b->health,
					      .messages = b->opts.messages,
					      .pod_level = true,
					      .wall_ns = clock_wall(loop_clock(b->opts.loop)),
					      .uses = uses,
					      .nuses = n };
	struct json *status = NULL;

	if (json_copy(a, pod->status, &status, NULL) < 0)
		return NULL;
	drop_reports(status);
	device_status_fill(a, pod, &o, status, before);
	return status;
}

/* A kubelet does not change the reports of a pod that has ended. */
static void pods_compare(struct beside *b, struct beside_pod *p, const struct pod *pod,
			 const struct json *theirs, const struct json *ours)
{
	bool ended = pod_terminal(pod) || pod->deleting;

	beside_compare(b, p, ended ? NULL : theirs, ours);
}

static void pods_make(struct beside *b, struct beside_pod *p, const struct pod *pod,
		      struct arena *a)
{
	const struct assign_use *uses;
	struct json *status, *before, *theirs;
	CLEANUP(pod_unref) struct pod *holder = NULL;
	size_t n;

	if (p->holder && p->holder != p->object)
		(void)pod_new(p->holder, &holder, NULL);
	n = beside_uses(b, pods_unpack(p, a), holder ? holder : pod, a, &uses);
	if (n == 0 || (!p->status && pods_wait(b, uses, n)))
		return;
	beside_metrics_pod(b, p, uses, n);
	theirs = beside_theirs(pod, uses, n, a);
	if (!p->status || json_parse(a, str_from(p->status), NULL, &before, NULL) < 0)
		before = theirs;
	status = pods_status(b, pod, before, uses, n, a);
	if (!status)
		return;
	pods_tell(b, pod->uid, a, before, status);
	pods_compare(b, p, pod, theirs, status);
	if (b->writer)
		status_writer_set(b->writer, pod, status);
	free(p->status);
	p->status = pods_print(status);
}

static void pods_look(struct beside *b, struct beside_pod *p)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(pod_unref) struct pod *pod = NULL;
	struct error err;

	arena_init(&a, REQUEST_WORK_MAX);
	p->dirty = false;
	if (!p->packed)
		return;
	set_book(b, p, &a);
	if (p->object && pod_new(p->object, &pod, &err) == 0)
		pods_make(b, p, pod, &a);
}

void beside_pods_look(struct beside *b)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(&b->pods, &at, &key, &v)) {
		struct beside_pod *p = v;

		if (p->dirty)
			pods_look(b, p);
	}
}

/* --- the API --------------------------------------------------------------------------------- */

static void pods_take(struct beside *b, struct cached *o)
{
	struct beside_pod *p = pods_of(b, o->uid);

	cached_unref(p->object);
	p->object = cached_ref(o);
	pods_hold(p);
	pods_mark(p);
}

static void pods_drop(struct beside *b, const struct cached *o)
{
	struct beside_pod *p = map_get(&b->pods, o->uid);

	if (!p)
		return;
	cached_unref(TAKE(p->object));
	beside_metrics_pod(b, p, NULL, 0);
	beside_compare(b, p, NULL, NULL);
	device_events_forget(b->events, str_from(p->uid));
	if (b->writer)
		status_writer_forget(b->writer, str_from(p->uid));
	pods_drop_unused(p);
}

static void pods_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	pods_take(CONTAINER_OF(h, struct beside, handler), o);
}

static void pods_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct beside *b = CONTAINER_OF(h, struct beside, handler);

	if (!str_eq(old->uid, o->uid))
		pods_drop(b, old);
	pods_take(b, o);
}

static void pods_on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	pods_drop(CONTAINER_OF(h, struct beside, handler), last);
}

void beside_pods_follow(struct beside *b, struct informer *pods)
{
	b->handler = (struct informer_handler){ .on_add = pods_on_add,
						.on_update = pods_on_update,
						.on_delete = pods_on_delete };
	informer_add_handler(pods, &b->handler);
}

void beside_pods_release(struct beside *b)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(&b->pods, &at, &key, &v))
		pods_free(v);
	map_release(&b->pods);
}

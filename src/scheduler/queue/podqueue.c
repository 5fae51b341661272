/*
 * The places of waiting pods and the moves between them, as in upstream's scheduling queue.
 *
 * PreEnqueue is called whenever a pod enters active or backoff from elsewhere, but not from backoff
 * to active. While active is empty, pods leave backoff early, except those that failed with an
 * error: they would put load on a broken component.
 */
#include "scheduler/queue/podqueue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "scheduler/queue/podqueue_impl.h"

/* Events that only the queue makes, by upstream's names. */
static const char label_add[] = "UnscheduledPodAdd";
static const char label_failed[] = "ScheduleAttemptFailure";
static const char label_unfinished[] = "ScheduleAttemptUnfinished"; /* ours */
static const char label_backoff[] = "BackoffComplete";
static const char label_early[] = "PopFromBackoffQ";
static const char label_activate[] = "ForceActivate";
static const char label_timeout[] = "UnschedulableTimeout";

struct podqueue *podqueue_new(const struct podqueue_opts *opts)
{
	struct podqueue *q = XNEW(struct podqueue);

	q->opts = *opts;
	if (!q->opts.initial_backoff_ms)
		q->opts.initial_backoff_ms = 1000;
	if (!q->opts.max_backoff_ms)
		q->opts.max_backoff_ms = 10000;
	if (!q->opts.flush_after_ms)
		q->opts.flush_after_ms = INT64_C(5) * 60 * 1000;
	map_init(&q->pods);
	map_init(&q->group_by_key);
	heap_init(&q->active, struct queued_pod, at, queue_less_active);
	heap_init(&q->backoff, struct queued_pod, at, queue_less_backoff);
	heap_init(&q->errors, struct queued_pod, at, queue_less_error);
	heap_init(&q->waiting, struct queued_pod, at, queue_less_flush);
	vec_init(&q->profiles, SIZE_MAX / sizeof(void *));
	vec_init(&q->groups, SIZE_MAX / sizeof(void *));
	vec_init(&q->moving, SIZE_MAX / sizeof(void *));
	list_init(&q->flight);
	list_init(&q->events);
	queue_nominations_init(q);
	queue_metrics_init(&q->metrics, opts->metrics);
	arena_init(&q->scratch, SIZE_MAX);
	return q;
}

/* --- in and out of places ------------------------------------------------------------------ */

static struct heap *heap_of(struct podqueue *q, const struct queued_pod *p)
{
	switch (p->place) {
	case QUEUE_ACTIVE:
		return &q->active;
	case QUEUE_BACKOFF:
		return p->rejectors || p->pending ? &q->backoff : &q->errors;
	case QUEUE_UNSCHEDULABLE:
	case QUEUE_GATED:
		return &q->waiting;
	default:
		return NULL;
	}
}

/* Out of wherever it is. */
static void podqueue_leave(struct podqueue *q, struct queued_pod *p)
{
	struct heap *h = heap_of(q, p);

	if (p->group)
		queue_group_leave(q, p);
	if (h)
		heap_remove(h, p);
	if (p->place == QUEUE_IN_FLIGHT)
		queue_flight_end(q, p);
	q->counts[p->place]--;
	queue_metrics_place(q, p->place, -1);
	p->place = QUEUE_NOWHERE;
	q->counts[QUEUE_NOWHERE]++;
}

static void podqueue_enter(struct podqueue *q, struct queued_pod *p, enum queue_place place)
{
	struct heap *h;

	assert(p->place == QUEUE_NOWHERE);
	q->counts[QUEUE_NOWHERE]--;
	p->place = place;
	h = heap_of(q, p);
	if (h)
		heap_push(h, p);
	if (h == &q->waiting)
		queue_group_join(q, p);
	if (place == QUEUE_IN_FLIGHT)
		queue_flight_begin(q, p);
	if (h == &q->active || h == &q->backoff)
		q->ready = true;
	q->counts[place]++;
	queue_metrics_place(q, place, 1);
}

static void tell_ready(struct podqueue *q)
{
	bool ready = q->ready && (heap_first(&q->active) || heap_first(&q->backoff));

	q->ready = false;
	if (ready && q->opts.on_ready)
		q->opts.on_ready(q->opts.arg);
}

static void pod_free(struct podqueue *q, struct queued_pod *p)
{
	(void)map_remove(&q->pods, p->pod->uid);
	podinfo_unref(p->pod);
	podinfo_unref(p->newer);
	free(p);
	q->counts[QUEUE_NOWHERE]--;
}

static void pod_discard(struct podqueue *q, struct queued_pod *p)
{
	podqueue_nominate(q, p->pod, STR_NULL);
	queue_metrics_reasons(q, p->view, p->rejectors, -1);
	podqueue_leave(q, p);
	pod_free(q, p);
}

void podqueue_free(struct podqueue *q)
{
	struct str key;
	void *value;
	size_t at = 0;

	if (!q)
		return;
	queue_nominations_release(q);
	for (enum queue_place place = QUEUE_NOWHERE; place <= QUEUE_IN_FLIGHT; place++)
		queue_metrics_place(q, place, -(int)q->counts[place]);
	queue_flight_release(q);
	for (size_t i = 0; i < q->groups.n; i++)
		free(q->groups.v[i]);
	while (map_next(&q->pods, &at, &key, &value)) {
		struct queued_pod *p = value;

		podinfo_unref(p->pod);
		podinfo_unref(p->newer);
		free(p);
	}
	for (size_t i = 0; i < q->profiles.n; i++)
		free(q->profiles.v[i]);
	map_release(&q->pods);
	map_release(&q->group_by_key);
	heap_release(&q->active);
	heap_release(&q->backoff);
	heap_release(&q->errors);
	heap_release(&q->waiting);
	vec_release(&q->profiles);
	vec_release(&q->groups);
	vec_release(&q->moving);
	arena_release(&q->scratch);
	free(q);
}

/* --- moves ----------------------------------------------------------------------------------- */

/* Calls PreEnqueue. A plugin that rejects the pod becomes one of its rejectors. */
static bool admitted(struct podqueue *q, struct queued_pod *p)
{
	struct verdict v = profile_pre_enqueue(p->profile, p->pod, &q->scratch);

	arena_clear(&q->scratch);
	p->gated_by = NULL;
	if (v.code == VERDICT_SUCCESS || !v.plugin)
		return true;
	p->gated_by = v.plugin;
	if (!(p->rejectors >> v.plugin->at & 1)) {
		p->rejectors |= UINT64_C(1) << v.plugin->at;
		queue_metrics_reasons(q, p->view, UINT64_C(1) << v.plugin->at, 1);
	}
	return false;
}

static void stay_gated(struct podqueue *q, struct queued_pod *p, const char *label, bool waited)
{
	podqueue_enter(q, p, QUEUE_GATED);
	if (!waited)
		queue_metrics_incoming(q, QUEUE_GATED, label);
}

/*
 * The functions below remove the pod from its place. They check first whether it was waiting: a pod
 * that is gated again does not count as newly added.
 */
static bool waits(const struct queued_pod *p)
{
	return p->place == QUEUE_UNSCHEDULABLE || p->place == QUEUE_GATED;
}

static void to_active(struct podqueue *q, struct queued_pod *p, const char *label, int64_t now_ms)
{
	bool waited = waits(p), passed = p->place == QUEUE_BACKOFF;

	podqueue_leave(q, p);
	if (!passed && !admitted(q, p)) {
		stay_gated(q, p, label, waited);
		return;
	}
	if (!p->first_ms)
		p->first_ms = now_ms;
	podqueue_enter(q, p, QUEUE_ACTIVE);
	queue_metrics_incoming(q, QUEUE_ACTIVE, label);
}

static void to_backoff(struct podqueue *q, struct queued_pod *p, const char *label)
{
	bool waited = waits(p);

	podqueue_leave(q, p);
	if (!admitted(q, p)) {
		stay_gated(q, p, label, waited);
		return;
	}
	podqueue_enter(q, p, QUEUE_BACKOFF);
	queue_metrics_incoming(q, QUEUE_BACKOFF, label);
}

static int64_t window(int64_t ms)
{
	return ms - ms % BACKOFF_WINDOW_MS;
}

static bool backing_off(const struct queued_pod *p, int64_t now_ms)
{
	return (p->unschedulable_count || p->error_count) && p->backoff_until_ms >= window(now_ms);
}

/* Doubles with every failure; errors in a row have a count of their own. */
static int64_t backoff_ms(const struct podqueue *q, const struct queued_pod *p)
{
	uint32_t n = p->error_count ? p->error_count : p->unschedulable_count;
	int64_t max = q->opts.max_backoff_ms;

	if (!n)
		return 0;
	if (n > 62 || q->opts.initial_backoff_ms > max >> (n - 1))
		return max;
	return q->opts.initial_backoff_ms << (n - 1);
}

static void podqueue_wake(struct podqueue *q, struct queued_pod *p, enum queue_wake how,
			  const char *label, int64_t now_ms)
{
	if (how == WAKE_NOT)
		return;
	if (how == WAKE_AFTER_BACKOFF && backing_off(p, now_ms))
		to_backoff(q, p, label);
	else
		to_active(q, p, label, now_ms);
}

/* --- pods ----------------------------------------------------------------------------------- */

void podqueue_add(struct podqueue *q, struct podinfo *pod, int64_t now_ms)
{
	struct profile *profile = q->opts.profile(q->opts.arg, pod->scheduler);
	struct queued_pod *p;

	if (!profile)
		return;
	if (map_get(&q->pods, pod->uid)) {
		podqueue_update(q, NULL, pod, now_ms);
		return;
	}
	p = XNEW(struct queued_pod);
	p->at = SIZE_MAX;
	p->pod = podinfo_ref(pod);
	p->profile = profile;
	p->view = queue_profile_of(q, profile);
	p->since_ms = now_ms;
	p->order = q->order++;
	list_init(&p->link);
	q->counts[QUEUE_NOWHERE]++;
	(void)map_put(&q->pods, pod->uid, p);
	queue_nominate_by_status(q, pod);
	to_active(q, p, label_add, now_ms);
	tell_ready(q);
}

/* The map's key is the pod's own text. */
static void replace_pod(struct podqueue *q, struct queued_pod *p, struct podinfo *pod)
{
	struct podinfo *old = p->pod;

	p->pod = podinfo_ref(pod);
	(void)map_put(&q->pods, pod->uid, p);
	podinfo_unref(old);
}

/* Upstream makes an event of each change; the name is that of its first. */
static const char *update_label(unsigned actions)
{
	static const struct {
		unsigned action;
		const char *label;
	} names[] = {
		{ EVENT_UPDATE_POD_LABEL, "TargetPodUpdatePodLabel" },
		{ EVENT_UPDATE_POD_SCALE_DOWN, "TargetPodUpdatePodScaleDown" },
		{ EVENT_UPDATE_POD_GATES, "TargetPodUpdatePodSchedulingGatesEliminated" },
		{ EVENT_UPDATE_POD_TOLERATION, "TargetPodUpdatePodToleration" },
		{ EVENT_UPDATE_POD_GENERATED_CLAIM, "TargetPodUpdatePodGeneratedResourceClaim" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (actions & names[i].action)
			return names[i].label;
	return "TargetPodUpdate";
}

static void update_in_flight(struct podqueue *q, struct queued_pod *p, struct podinfo *pod,
			     const struct cluster_event *e)
{
	if (!p->settled)
		queue_flight_note(q, e);
	podinfo_unref(p->newer);
	p->newer = podinfo_ref(pod);
}

void podqueue_update(struct podqueue *q, struct podinfo *old, struct podinfo *pod, int64_t now_ms)
{
	struct queued_pod *p = map_get(&q->pods, pod->uid);
	CLEANUP(podinfo_unref) struct podinfo *before = NULL;
	struct cluster_event e = { .kind = EVENT_UNSCHEDULED_POD, .pod = pod };

	if (!p) {
		podqueue_add(q, pod, now_ms);
		return;
	}
	before = podinfo_ref(old ? old : p->newer ? p->newer : p->pod);
	e.old_pod = before;
	e.actions = podinfo_changes(before, pod);
	e.label = update_label(e.actions);
	if (p->place == QUEUE_IN_FLIGHT) {
		update_in_flight(q, p, pod, &e);
		return;
	}
	replace_pod(q, p, pod);
	queue_nominate_update(q, before, pod);
	if (waits(p))
		podqueue_wake(q, p, queue_worth(p, &e), e.label, now_ms);
	else
		heap_fix(heap_of(q, p), p);
	tell_ready(q);
}

void podqueue_remove(struct podqueue *q, struct str uid)
{
	struct queued_pod *p = map_get(&q->pods, uid);

	if (!p)
		return;
	if (p->place != QUEUE_IN_FLIGHT) {
		pod_discard(q, p);
		return;
	}
	p->deleted = true;
	podqueue_nominate(q, p->pod, STR_NULL);
}

struct queued_pod *podqueue_find(const struct podqueue *q, struct str uid)
{
	return map_get(&q->pods, uid);
}

const struct queued_pod *podqueue_first(const struct podqueue *q)
{
	return heap_first(&q->active);
}

struct queued_pod *podqueue_pop(struct podqueue *q, int64_t now_ms)
{
	struct queued_pod *p = heap_first(&q->active);

	if (!p) {
		p = heap_first(&q->backoff);
		if (!p)
			return NULL;
		queue_metrics_incoming(q, QUEUE_ACTIVE, label_early);
	}
	podqueue_leave(q, p);
	queue_metrics_reasons(q, p->view, p->rejectors, -1);
	p->rejectors = 0;
	p->pending = false;
	p->attempts++;
	if (!p->first_ms)
		p->first_ms = now_ms;
	podqueue_enter(q, p, QUEUE_IN_FLIGHT);
	return p;
}

void podqueue_done(struct podqueue *q, struct queued_pod *p)
{
	p->rejectors = 0;
	pod_discard(q, p);
}

void podqueue_return(struct podqueue *q, struct queued_pod *p, int64_t now_ms)
{
	enum queue_wake how;

	assert(p->place == QUEUE_IN_FLIGHT);
	if (p->deleted) {
		podqueue_done(q, p);
		return;
	}
	if (p->newer) {
		CLEANUP(podinfo_unref) struct podinfo *newer = TAKE(p->newer);

		replace_pod(q, p, newer);
	}
	if (!p->nominated.n)
		queue_nominate_by_status(q, p->pod);
	if (p->rejectors || p->pending) {
		p->unschedulable_count++;
		p->error_count = 0;
	} else {
		p->error_count++;
	}
	p->since_ms = now_ms;
	p->order = q->order++;
	p->flushed_ms = 0;
	p->backoff_until_ms = window(now_ms + backoff_ms(q, p));
	queue_metrics_reasons(q, p->view, p->rejectors, 1);
	how = queue_flight_worth(q, p);
	if (how == WAKE_NOT) {
		podqueue_leave(q, p);
		podqueue_enter(q, p, QUEUE_UNSCHEDULABLE);
		queue_metrics_incoming(q, QUEUE_UNSCHEDULABLE, label_failed);
	} else {
		podqueue_wake(q, p, how, label_failed, now_ms);
	}
	tell_ready(q);
}

void podqueue_go_on(struct podqueue *q, struct queued_pod *p, int64_t now_ms)
{
	assert(p->place == QUEUE_IN_FLIGHT);
	if (p->deleted) {
		podqueue_done(q, p);
		return;
	}
	if (p->newer) {
		CLEANUP(podinfo_unref) struct podinfo *newer = TAKE(p->newer);

		replace_pod(q, p, newer);
	}
	p->attempts--; /* it is the same one */
	p->since_ms = now_ms;
	p->order = q->order++;
	podqueue_wake(q, p, WAKE_NOW, label_unfinished, now_ms);
	tell_ready(q);
}

/* --- time and events ----------------------------------------------------------------------- */

void podqueue_event(struct podqueue *q, const struct cluster_event *e, int64_t now_ms)
{
	const char *label = cluster_event_label(e);

	queue_collect(q, e);
	for (size_t i = 0; i < q->moving.n; i++) {
		struct queued_pod *p = q->moving.v[i];
		bool now = p->pending && e->kind != EVENT_WILDCARD;

		podqueue_wake(q, p, now ? WAKE_NOW : WAKE_AFTER_BACKOFF, label, now_ms);
	}
	queue_flight_note(q, e);
	tell_ready(q);
}

static void tick_backoff(struct podqueue *q, struct heap *h, int64_t now_ms)
{
	struct queued_pod *p;

	while ((p = heap_first(h)) && !backing_off(p, now_ms))
		to_active(q, p, label_backoff, now_ms);
}

static int64_t flush_at(const struct podqueue *q, const struct queued_pod *p)
{
	return MAX(p->since_ms, p->flushed_ms) + q->opts.flush_after_ms;
}

void podqueue_tick(struct podqueue *q, int64_t now_ms)
{
	struct queued_pod *p;

	tick_backoff(q, &q->backoff, now_ms);
	tick_backoff(q, &q->errors, now_ms);
	while ((p = heap_first(&q->waiting)) && flush_at(q, p) <= now_ms) {
		/* It may be gated again: then it waits as long once more. */
		p->flushed_ms = now_ms;
		heap_fix(&q->waiting, p);
		podqueue_wake(q, p, WAKE_AFTER_BACKOFF, label_timeout, now_ms);
	}
	tell_ready(q);
}

int64_t podqueue_next_tick(const struct podqueue *q)
{
	const struct queued_pod *p;
	int64_t next = INT64_MAX;

	/* A back-off is over when the window after its own begins. */
	p = heap_first(&q->backoff);
	if (p)
		next = MIN(next, p->backoff_until_ms + BACKOFF_WINDOW_MS);
	p = heap_first(&q->errors);
	if (p)
		next = MIN(next, p->backoff_until_ms + BACKOFF_WINDOW_MS);
	p = heap_first(&q->waiting);
	if (p)
		next = MIN(next, flush_at(q, p));
	return next;
}

void podqueue_activate(struct podqueue *q, struct str uid, int64_t now_ms)
{
	struct queued_pod *p = map_get(&q->pods, uid);
	struct cluster_event e = { .kind = EVENT_WILDCARD,
				   .actions = EVENT_ALL,
				   .label = label_activate };

	if (!p)
		return;
	if (p->place == QUEUE_IN_FLIGHT) {
		e.pod = p->pod;
		if (!p->settled)
			queue_flight_note(q, &e);
		return;
	}
	if (p->place == QUEUE_ACTIVE)
		return;
	to_active(q, p, label_activate, now_ms);
	tell_ready(q);
}

size_t podqueue_count(const struct podqueue *q, enum queue_place place)
{
	return q->counts[place];
}

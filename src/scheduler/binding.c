/*
 * The steps are a small machine: wait for permission, then each pre_bind plugin, then bind plugins
 * until one does not skip. A plugin may answer from within its call or later; `calling` tells the
 * two apart, so that a chain of immediate answers is a loop and no recursion.
 */
#include "scheduler/binding.h"

#include "base/log.h"
#include "base/mem.h"
#include "client/recorder.h"
#include "scheduler/nodecache.h"
#include "scheduler/plugin_common.h"
#include "scheduler/scheduler_impl.h"

enum { SLOW_MS = 1000 };

enum binding_step { BINDING_PERMIT, BINDING_PRE_BIND, BINDING_BIND };

struct binding {
	struct list link;
	struct scheduler *scheduler;
	struct queued_pod *queued;
	struct cycle *cycle;
	struct podinfo *assumed; /* reference; its node is the node */
	enum binding_step step;
	unsigned at; /* of the step's plugins */
	bool calling, answered, cancelled;
	bool gone; /* the server has no such pod */
	bool held; /* before bind: see hold() */
	struct verdict answer;
	void (*on_cancel)(void *arg, struct binding *b);
	void *cancel_arg;
	int64_t began_ns, permit_ns;
	int64_t point_since, plugin_since; /* profile_now() */

	uint64_t waiting; /* plugins of permit that have not allowed it yet */
	const int64_t *timeouts_ms; /* theirs, by number; from permit_ns on */
	const struct plugin *first; /* whose time-out comes first */
	struct loop_timer timeout; /* of permit; then: it takes long */
	bool slow; /* it has given back its place among those that write */
};

struct cycle *binding_cycle(struct binding *b)
{
	return b->cycle;
}

struct podinfo *binding_pod(struct binding *b)
{
	return b->cycle->pod;
}

struct str binding_node(struct binding *b)
{
	return b->assumed->node;
}

bool binding_cancelled(const struct binding *b)
{
	return b->cancelled;
}

void binding_note_gone(struct binding *b)
{
	b->gone = true;
}

bool binding_gone(const struct binding *b)
{
	return b->gone || b->cancelled;
}

void binding_on_cancel(struct binding *b, void (*fn)(void *arg, struct binding *b), void *arg)
{
	b->on_cancel = fn;
	b->cancel_arg = arg;
}

static int64_t now_ns(const struct scheduler *s)
{
	return clock_monotonic(loop_clock(s->opts.loop));
}

/* --- the end -------------------------------------------------------------------------------- */

static void binding_free(struct binding *b)
{
	list_remove(&b->link);
	(void)map_remove(&b->scheduler->by_uid, b->assumed->uid);
	loop_timer_stop(&b->timeout);
	podinfo_unref(b->assumed);
	cycle_free(b->cycle);
	free(b);
}

/* Ours no more, whatever became of the pod; there is room for the next. */
static void leave(struct binding *b)
{
	struct scheduler *s = b->scheduler;

	if (b->step != BINDING_PERMIT && !b->slow)
		s->writing--;
	binding_free(b);
	attempt_soon(s);
}

static void tell_user(struct binding *b)
{
	struct scheduler *s = b->scheduler;
	const struct podinfo *p = b->cycle->pod;
	struct recorder_object about = pod_about(p);
	struct buf text;

	buf_init(&text, 1024);
	(void)buf_printf(&text, "Successfully assigned %.*s to %.*s", STR_ARG(p->key),
			 STR_ARG(b->assumed->node));
	recorder_event_detailed(scheduler_recorder(s, b->cycle->profile), &about, RECORDER_NORMAL,
				"Scheduled", buf_str(&text),
				&(struct recorder_detail){ .action = "Binding" });
	buf_release(&text);
}

static void succeed(struct binding *b)
{
	struct scheduler *s = b->scheduler;

	/* When we end, recorders go first. */
	if (!s->stopped)
		tell_user(b);
	measures_attempt(&s->measures, b->cycle->profile, MEASURES_SCHEDULED,
			 now_ns(s) - b->began_ns);
	measures_bound(&s->measures, b->queued->attempts,
		       (loop_now(s->opts.loop) - b->queued->first_ms) * CLOCK_MS);
	profile_post_bind(b->cycle->profile, b->cycle, b->assumed->node);
	podqueue_done(s->queue, b->queued);
	leave(b);
}

static void fail(struct binding *b, const struct verdict *v)
{
	struct scheduler *s = b->scheduler;
	CLEANUP(podinfo_unref) struct podinfo *assumed = podinfo_ref(b->assumed);
	const struct podinfo *known = nodecache_pod(s->nodes, assumed->uid);
	bool was_there = nodecache_is_assumed(s->nodes, assumed->uid);

	/* The watch shows it on our node: the server did it, only its answer was lost. */
	if (b->step == BINDING_BIND && known && !was_there && str_eq(known->node, assumed->node)) {
		succeed(b);
		return;
	}
	profile_unreserve(b->cycle->profile, b->cycle, assumed->node);
	if (was_there)
		(void)nodecache_forget(s->nodes, assumed, NULL);
	/* A pod that was rejected goes back first: what its own leaving frees is no news for it. */
	if (was_there && !verdict_rejects(v))
		follow_tell_pod(s, EVENT_DELETE, assumed, NULL);
	if (b->cancelled || s->stopped)
		podqueue_done(s->queue, b->queued);
	else if (b->step == BINDING_PERMIT)
		failure_on_node(s, b->queued, b->cycle, v, b->began_ns);
	else
		failure_handle(s, b->queued,
			       &(struct failure){ .verdict = *v,
						  .message = verdict_message(v, &b->cycle->arena),
						  .nominating = true,
						  .began_ns = b->began_ns });
	if (was_there && verdict_rejects(v))
		follow_tell_pod(s, EVENT_DELETE, assumed, NULL);
	leave(b);
}

/* --- steps ---------------------------------------------------------------------------------- */

static const struct profile_point *point(const struct binding *b)
{
	const struct profile *p = b->cycle->profile;

	return b->step == BINDING_PRE_BIND ? &p->pre_bind : &p->bind;
}

/* Asks one plugin. True: it has answered. */
static bool ask(struct binding *b)
{
	struct plugin *p = &b->cycle->profile->plugins[point(b)->at[b->at]];

	b->answered = false;
	b->on_cancel = NULL;
	b->plugin_since = profile_now(b->cycle->profile);
	if (b->at == 0)
		b->point_since = b->plugin_since;
	b->calling = true;
	if (b->step == BINDING_PRE_BIND)
		p->kind->pre_bind(p, b);
	else
		p->kind->bind(p, b);
	b->calling = false;
	return b->answered;
}

/* The plugin's time, and with its last one's the point's. */
static void measure(const struct binding *b, const struct plugin *p, enum verdict_code code)
{
	enum profile_measure m = b->step == BINDING_BIND ? MEASURE_BIND : MEASURE_PRE_BIND;
	bool goes_on = b->step == BINDING_BIND ? code == VERDICT_SKIP : code == VERDICT_SUCCESS;

	profile_took(b->cycle->profile, b->cycle, p, m, code, b->plugin_since);
	if (!goes_on || b->at == point(b)->n)
		profile_took(b->cycle->profile, b->cycle, NULL, m, code, b->point_since);
}

/* Looks at an answer. True: go on with the next plugin. */
static bool take_answer(struct binding *b)
{
	const struct plugin *p = &b->cycle->profile->plugins[point(b)->at[b->at]];
	struct arena *a = &b->cycle->arena;
	struct verdict v = b->answer;
	struct str why;

	b->at++;
	measure(b, p, v.code);
	if (b->step == BINDING_BIND && v.code == VERDICT_SUCCESS) {
		succeed(b);
		return false;
	}
	if (v.code == VERDICT_SKIP || v.code == VERDICT_SUCCESS)
		return true;
	if (!verdict_rejects(&v)) {
		why = verdict_message(&v, a);
		v = verdict_print(a, VERDICT_ERROR, "running %s plugin \"%s\": %.*s",
				  b->step == BINDING_BIND ? "Bind" : "PreBind", p->name,
				  STR_ARG(why));
	}
	v.plugin = p;
	fail(b, &v);
	return false;
}

static void advance(struct binding *b);

static void on_held_cancel(void *arg UNUSED, struct binding *b)
{
	b->held = false;
	advance(b);
}

/*
 * That it did not fit is still being written. Side by side with the binding that could come last
 * and deny what the server says of a bound pod.
 */
static bool hold(struct binding *b)
{
	b->held = failure_is_written(b->scheduler, b->assumed->uid);
	if (b->held)
		binding_on_cancel(b, on_held_cancel, NULL);
	return b->held;
}

static void advance(struct binding *b)
{
	struct verdict v;

	for (;;) {
		if (b->cancelled) {
			v = verdict_of(&b->cycle->arena, VERDICT_ERROR, STR("the pod was deleted"));
			fail(b, &v);
			return;
		}
		if (b->at >= point(b)->n && b->step == BINDING_BIND) {
			v = verdict_of(&b->cycle->arena, VERDICT_ERROR,
				       STR("no plugin of the profile binds the pod"));
			fail(b, &v);
			return;
		}
		if (b->at >= point(b)->n) {
			b->step = BINDING_BIND;
			b->at = 0;
			if (hold(b))
				return;
			continue;
		}
		if (!ask(b) || !take_answer(b))
			return;
	}
}

void binding_done(struct binding *b, struct verdict v)
{
	b->answer = v;
	b->answered = true;
	if (!b->calling && take_answer(b))
		advance(b);
}

void binding_failed(struct binding *b, const struct error *why)
{
	binding_done(b, verdict_print(&b->cycle->arena, VERDICT_ERROR, "%s", why->msg));
}

/* It waits for a volume, a device or a plugin rather than for an answer: others may go on. */
static void on_slow(struct loop_timer *t)
{
	struct binding *b = CONTAINER_OF(t, struct binding, timeout);

	b->slow = true;
	b->scheduler->writing--;
	attempt_soon(b->scheduler);
}

static void permitted(struct binding *b)
{
	struct scheduler *s = b->scheduler;

	loop_timer_stop(&b->timeout);
	loop_timer_init(&b->timeout, s->opts.loop, on_slow);
	loop_timer_start(&b->timeout, SLOW_MS);
	if (b->permit_ns)
		measures_permit(&s->measures, MEASURES_SCHEDULED, now_ns(s) - b->permit_ns);
	b->step = BINDING_PRE_BIND;
	s->writing++;
	podqueue_settle(s->queue, b->queued);
	advance(b);
}

/* --- permit --------------------------------------------------------------------------------- */

static void refuse(struct binding *b, const struct plugin *plugin, struct str reason)
{
	struct verdict v = verdict_of(&b->cycle->arena, VERDICT_UNSCHEDULABLE,
				      arena_str(&b->cycle->arena, reason));

	v.plugin = plugin;
	measures_permit(&b->scheduler->measures, MEASURES_UNSCHEDULABLE,
			now_ns(b->scheduler) - b->permit_ns);
	fail(b, &v);
}

static void on_timeout(struct loop_timer *t)
{
	struct binding *b = CONTAINER_OF(t, struct binding, timeout);
	char *text = arena_printf(&b->cycle->arena,
				  "rejected due to timeout after waiting %gs at plugin %s",
				  (double)b->timeouts_ms[b->first->at] / 1000, b->first->name);

	refuse(b, b->first, str_from(text));
}

/* The earliest time-out of those that still keep it. */
static void start_timeout(struct binding *b)
{
	int64_t least = INT64_MAX, waited = (now_ns(b->scheduler) - b->permit_ns) / CLOCK_MS;

	for (size_t i = 0; i < b->cycle->profile->n; i++) {
		if ((b->waiting >> i & 1) && b->timeouts_ms[i] < least) {
			least = b->timeouts_ms[i];
			b->first = &b->cycle->profile->plugins[i];
		}
	}
	loop_timer_start(&b->timeout, MAX(least - waited, (int64_t)0));
}

void binding_begin(struct scheduler *s, const struct binding_start *start)
{
	struct binding *b = XNEW(struct binding);
	int64_t *timeouts;

	b->scheduler = s;
	b->queued = start->queued;
	b->cycle = start->cycle;
	b->assumed = start->assumed;
	b->waiting = start->waiting;
	b->began_ns = start->began_ns;
	b->cycle->snapshot = NULL;
	loop_timer_init(&b->timeout, s->opts.loop, on_timeout);
	list_push_back(&s->bindings, &b->link);
	(void)map_put(&s->by_uid, b->assumed->uid, b);
	if (!b->waiting) {
		permitted(b);
		return;
	}
	timeouts = arena_alloc(&b->cycle->arena, PLUGINS_MAX * sizeof(*timeouts));
	memcpy(timeouts, start->timeouts, PLUGINS_MAX * sizeof(*timeouts));
	b->timeouts_ms = timeouts;
	b->permit_ns = now_ns(s);
	start_timeout(b);
}

bool binding_allow(struct scheduler *s, struct str uid, const struct plugin *plugin)
{
	struct binding *b = map_get(&s->by_uid, uid);

	if (!b || b->step != BINDING_PERMIT)
		return false;
	b->waiting = plugin ? b->waiting & ~(UINT64_C(1) << plugin->at) : 0;
	if (b->waiting)
		start_timeout(b);
	else
		permitted(b);
	return true;
}

void binding_go_on(struct scheduler *s, struct str uid)
{
	struct binding *b = map_get(&s->by_uid, uid);

	if (!b || !b->held || s->stopped)
		return;
	b->held = false;
	advance(b);
}

bool binding_reject(struct scheduler *s, struct str uid, const struct plugin *plugin,
		    struct str reason)
{
	struct binding *b = map_get(&s->by_uid, uid);

	if (!b || b->step != BINDING_PERMIT)
		return false;
	refuse(b, plugin, reason);
	return true;
}

bool binding_cancel(struct scheduler *s, struct str uid)
{
	struct binding *b = map_get(&s->by_uid, uid);

	if (!b || b->cancelled)
		return false;
	b->cancelled = true;
	if (b->step == BINDING_PERMIT)
		refuse(b, NULL, STR("the pod was deleted"));
	else if (b->on_cancel)
		b->on_cancel(b->cancel_arg, b);
	return true;
}

/* What waits for something that is no request is told to end; what does not is ended. */
void bindings_release(struct scheduler *s)
{
	while (!list_empty(&s->bindings)) {
		struct binding *b = LIST_ENTRY(s->bindings.next, struct binding, link);

		if (!b->cancelled) {
			(void)binding_cancel(s, b->assumed->uid);
			continue;
		}
		profile_unreserve(b->cycle->profile, b->cycle, b->assumed->node);
		podqueue_done(s->queue, b->queued);
		binding_free(b);
	}
}

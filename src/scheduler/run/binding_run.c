/*
 * Runs the steps after a pod is scheduled: permit, pre_bind, bind, post_bind.
 *
 * It begins after the pod was assumed and reserved. Each step may be asynchronous; other pods are
 * scheduled meanwhile. If a step fails, it is undone: plugins unreserve in reverse order, the cache
 * forgets the pod, and the pod goes back to the queue. A pod that is deleted on the way is
 * cancelled at its next step.
 *
 * The steps are a small machine: wait for permission, then each pre_bind plugin, then bind plugins
 * until one does not skip. A plugin may end its step within the call or later. The flag `calling`
 * distinguishes the two, so that a chain of immediate results is a loop, not a recursion.
 */
#include "scheduler/framework/binding.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/framework/common.h"
#include "scheduler/run/scheduler_impl.h"

enum { SLOW_MS = 1000 };

enum binding_step { BINDING_PERMIT, BINDING_PRE_BIND, BINDING_BIND };

struct binding_run {
	struct binding binding; /* the part that plugins see */
	struct list link;
	struct scheduler *scheduler;
	struct queued_pod *queued;
	struct podinfo *assumed; /* reference; its node is the node */
	enum binding_step step;
	unsigned at; /* of the step's plugins */
	bool calling, answered;
	bool held; /* before bind: see binding_run_hold() */
	struct verdict answer;
	int64_t began_ns, permit_ns;
	int64_t point_since, plugin_since; /* profile_now() */

	uint64_t waiting; /* plugins of permit that have not allowed it yet */
	const int64_t *timeouts_ms; /* theirs, by number; from permit_ns on */
	const struct plugin *first; /* whose time-out comes first */
	struct loop_timer timeout; /* of permit; then: it takes long */
	bool slow; /* no longer counted in scheduler->writing */
};

static int64_t binding_run_now_ns(const struct scheduler *s)
{
	return clock_monotonic(loop_clock(s->opts.loop));
}

/* --- the end -------------------------------------------------------------------------------- */

static void binding_free(struct binding_run *r)
{
	list_remove(&r->link);
	(void)map_remove(&r->scheduler->by_uid, r->assumed->uid);
	loop_timer_stop(&r->timeout);
	podinfo_unref(r->assumed);
	cycle_free(r->binding.cycle);
	free(r);
}

/* Frees the binding, and makes room for the next one. */
static void binding_run_leave(struct binding_run *r)
{
	struct scheduler *s = r->scheduler;

	if (r->step != BINDING_PERMIT && !r->slow)
		s->writing--;
	binding_free(r);
	attempt_soon(s);
}

static void tell_user(struct binding_run *r)
{
	struct scheduler *s = r->scheduler;
	const struct podinfo *p = r->binding.cycle->pod;
	struct recorder_object about = pod_about(p);
	struct buf text;

	buf_init(&text, 1024);
	(void)buf_printf(&text, "Successfully assigned %.*s to %.*s", STR_ARG(p->key),
			 STR_ARG(r->assumed->node));
	recorder_event_detailed(scheduler_recorder(s, r->binding.cycle->profile), &about,
				RECORDER_NORMAL, "Scheduled", buf_str(&text),
				&(struct recorder_detail){ .action = "Binding" });
	buf_release(&text);
}

static void binding_run_succeed(struct binding_run *r)
{
	struct scheduler *s = r->scheduler;

	/* At shutdown, the recorders are freed first. */
	if (!s->stopped)
		tell_user(r);
	measures_attempt(&s->measures, r->binding.cycle->profile, MEASURES_SCHEDULED,
			 binding_run_now_ns(s) - r->began_ns);
	measures_bound(&s->measures, r->queued->attempts,
		       (loop_now(s->opts.loop) - r->queued->first_ms) * CLOCK_MS);
	profile_post_bind(r->binding.cycle->profile, r->binding.cycle, r->assumed->node);
	podqueue_done(s->queue, r->queued);
	binding_run_leave(r);
}

static void binding_run_fail(struct binding_run *r, const struct verdict *v)
{
	struct scheduler *s = r->scheduler;
	CLEANUP(podinfo_unref) struct podinfo *assumed = podinfo_ref(r->assumed);
	const struct podinfo *known = nodecache_pod(s->nodes, assumed->uid);
	bool was_there = nodecache_is_assumed(s->nodes, assumed->uid);

	/* The watch shows it on our node: the server did it, only its answer was lost. */
	if (r->step == BINDING_BIND && known && !was_there && str_eq(known->node, assumed->node)) {
		binding_run_succeed(r);
		return;
	}
	profile_unreserve(r->binding.cycle->profile, r->binding.cycle, assumed->node);
	if (was_there)
		(void)nodecache_forget(s->nodes, assumed, NULL);
	/*
	 * A rejected pod returns to the queue first, so that the resources it releases do not wake
	 * it.
	 */
	if (was_there && !verdict_rejects(v))
		follow_tell_pod(s, EVENT_DELETE, assumed, NULL);
	if (r->binding.cancelled || s->stopped)
		podqueue_done(s->queue, r->queued);
	else if (r->step == BINDING_PERMIT)
		failure_on_node(s, r->queued, r->binding.cycle, v, r->began_ns);
	else
		failure_handle(
			s, r->queued,
			&(struct failure){ .verdict = *v,
					   .message = verdict_message(v, &r->binding.cycle->arena),
					   .nominating = true,
					   .began_ns = r->began_ns });
	if (was_there && verdict_rejects(v))
		follow_tell_pod(s, EVENT_DELETE, assumed, NULL);
	binding_run_leave(r);
}

/* --- steps ---------------------------------------------------------------------------------- */

static const struct profile_point *point(const struct binding_run *r)
{
	const struct profile *p = r->binding.cycle->profile;

	return r->step == BINDING_PRE_BIND ? &p->pre_bind : &p->bind;
}

/* Calls one plugin. Returns true if it has ended its step. */
static bool binding_run_ask(struct binding_run *r)
{
	struct plugin *p = &r->binding.cycle->profile->plugins[point(r)->at[r->at]];

	r->answered = false;
	r->binding.on_cancel = NULL;
	r->plugin_since = profile_now(r->binding.cycle->profile);
	if (r->at == 0)
		r->point_since = r->plugin_since;
	r->calling = true;
	if (r->step == BINDING_PRE_BIND)
		p->kind->pre_bind(p, &r->binding);
	else
		p->kind->bind(p, &r->binding);
	r->calling = false;
	return r->answered;
}

/* The plugin's time, and with its last one's the point's. */
static void binding_run_measure(const struct binding_run *r, const struct plugin *p,
				enum verdict_code code)
{
	enum profile_measure m = r->step == BINDING_BIND ? MEASURE_BIND : MEASURE_PRE_BIND;
	bool goes_on = r->step == BINDING_BIND ? code == VERDICT_SKIP : code == VERDICT_SUCCESS;

	profile_took(r->binding.cycle->profile, r->binding.cycle, p, m, code, r->plugin_since);
	if (!goes_on || r->at == point(r)->n)
		profile_took(r->binding.cycle->profile, r->binding.cycle, NULL, m, code,
			     r->point_since);
}

/* Looks at an answer. True: go on with the next plugin. */
static bool take_answer(struct binding_run *r)
{
	const struct plugin *p = &r->binding.cycle->profile->plugins[point(r)->at[r->at]];
	struct arena *a = &r->binding.cycle->arena;
	struct verdict v = r->answer;
	struct str why;

	r->at++;
	binding_run_measure(r, p, v.code);
	if (r->step == BINDING_BIND && v.code == VERDICT_SUCCESS) {
		binding_run_succeed(r);
		return false;
	}
	if (v.code == VERDICT_SKIP || v.code == VERDICT_SUCCESS)
		return true;
	if (!verdict_rejects(&v)) {
		why = verdict_message(&v, a);
		v = verdict_print(a, VERDICT_ERROR, "running %s plugin \"%s\": %.*s",
				  r->step == BINDING_BIND ? "Bind" : "PreBind", p->name,
				  STR_ARG(why));
	}
	v.plugin = p;
	binding_run_fail(r, &v);
	return false;
}

static void advance(struct binding_run *r);

static void on_held_cancel(void *arg UNUSED, struct binding *b)
{
	struct binding_run *r = CONTAINER_OF(b, struct binding_run, binding);

	r->held = false;
	advance(r);
}

/*
 * Waits while an earlier failure condition of the pod is still being written. Concurrently with the
 * binding, it could be applied last and contradict the bound pod's condition.
 */
static bool binding_run_hold(struct binding_run *r)
{
	r->held = failure_is_written(r->scheduler, r->assumed->uid);
	if (r->held)
		binding_on_cancel(&r->binding, on_held_cancel, NULL);
	return r->held;
}

static void advance(struct binding_run *r)
{
	struct verdict v;

	for (;;) {
		if (r->binding.cancelled) {
			v = verdict_of(&r->binding.cycle->arena, VERDICT_ERROR,
				       STR("the pod was deleted"));
			binding_run_fail(r, &v);
			return;
		}
		if (r->at >= point(r)->n && r->step == BINDING_BIND) {
			v = verdict_of(&r->binding.cycle->arena, VERDICT_ERROR,
				       STR("no plugin of the profile binds the pod"));
			binding_run_fail(r, &v);
			return;
		}
		if (r->at >= point(r)->n) {
			r->step = BINDING_BIND;
			r->at = 0;
			if (binding_run_hold(r))
				return;
			continue;
		}
		if (!binding_run_ask(r) || !take_answer(r))
			return;
	}
}

static void binding_run_on_done(struct binding *b, struct verdict v)
{
	struct binding_run *r = CONTAINER_OF(b, struct binding_run, binding);

	r->answer = v;
	r->answered = true;
	if (!r->calling && take_answer(r))
		advance(r);
}

/* It waits for a volume, a device or a plugin rather than for an answer: others may go on. */
static void on_slow(struct loop_timer *t)
{
	struct binding_run *r = CONTAINER_OF(t, struct binding_run, timeout);

	r->slow = true;
	r->scheduler->writing--;
	attempt_soon(r->scheduler);
}

static void permitted(struct binding_run *r)
{
	struct scheduler *s = r->scheduler;

	loop_timer_stop(&r->timeout);
	loop_timer_init(&r->timeout, s->opts.loop, on_slow);
	loop_timer_start(&r->timeout, SLOW_MS);
	if (r->permit_ns)
		measures_permit(&s->measures, MEASURES_SCHEDULED,
				binding_run_now_ns(s) - r->permit_ns);
	r->step = BINDING_PRE_BIND;
	s->writing++;
	podqueue_settle(s->queue, r->queued);
	advance(r);
}

/* --- permit --------------------------------------------------------------------------------- */

static void binding_run_refuse(struct binding_run *r, const struct plugin *plugin,
			       struct str reason)
{
	struct verdict v = verdict_of(&r->binding.cycle->arena, VERDICT_UNSCHEDULABLE,
				      arena_str(&r->binding.cycle->arena, reason));

	v.plugin = plugin;
	measures_permit(&r->scheduler->measures, MEASURES_UNSCHEDULABLE,
			binding_run_now_ns(r->scheduler) - r->permit_ns);
	binding_run_fail(r, &v);
}

static void on_timeout(struct loop_timer *t)
{
	struct binding_run *r = CONTAINER_OF(t, struct binding_run, timeout);
	char *text = arena_printf(&r->binding.cycle->arena,
				  "rejected due to timeout after waiting %gs at plugin %s",
				  (double)r->timeouts_ms[r->first->at] / 1000, r->first->name);

	binding_run_refuse(r, r->first, str_from(text));
}

/* The earliest time-out of those that still keep it. */
static void start_timeout(struct binding_run *r)
{
	int64_t least = INT64_MAX,
		waited = (binding_run_now_ns(r->scheduler) - r->permit_ns) / CLOCK_MS;

	for (size_t i = 0; i < r->binding.cycle->profile->n; i++) {
		if ((r->waiting >> i & 1) && r->timeouts_ms[i] < least) {
			least = r->timeouts_ms[i];
			r->first = &r->binding.cycle->profile->plugins[i];
		}
	}
	loop_timer_start(&r->timeout, MAX(least - waited, (int64_t)0));
}

void binding_begin(struct scheduler *s, const struct binding_start *start)
{
	struct binding_run *r = XNEW(struct binding_run);
	int64_t *timeouts;

	r->scheduler = s;
	r->queued = start->queued;
	r->binding = (struct binding){ .cycle = start->cycle,
				       .node = start->assumed->node,
				       .done = binding_run_on_done };
	r->assumed = start->assumed;
	r->waiting = start->waiting;
	r->began_ns = start->began_ns;
	r->binding.cycle->snapshot = NULL;
	loop_timer_init(&r->timeout, s->opts.loop, on_timeout);
	list_push_back(&s->bindings, &r->link);
	(void)map_put(&s->by_uid, r->assumed->uid, r);
	if (!r->waiting) {
		permitted(r);
		return;
	}
	timeouts = arena_alloc(&r->binding.cycle->arena, PLUGINS_MAX * sizeof(*timeouts));
	memcpy(timeouts, start->timeouts, PLUGINS_MAX * sizeof(*timeouts));
	r->timeouts_ms = timeouts;
	r->permit_ns = binding_run_now_ns(s);
	start_timeout(r);
}

bool binding_allow(struct scheduler *s, struct str uid, const struct plugin *plugin)
{
	struct binding_run *r = map_get(&s->by_uid, uid);

	if (!r || r->step != BINDING_PERMIT)
		return false;
	r->waiting = plugin ? r->waiting & ~(UINT64_C(1) << plugin->at) : 0;
	if (r->waiting)
		start_timeout(r);
	else
		permitted(r);
	return true;
}

void binding_go_on(struct scheduler *s, struct str uid)
{
	struct binding_run *r = map_get(&s->by_uid, uid);

	if (!r || !r->held || s->stopped)
		return;
	r->held = false;
	advance(r);
}

bool binding_reject(struct scheduler *s, struct str uid, const struct plugin *plugin,
		    struct str reason)
{
	struct binding_run *r = map_get(&s->by_uid, uid);

	if (!r || r->step != BINDING_PERMIT)
		return false;
	binding_run_refuse(r, plugin, reason);
	return true;
}

bool binding_cancel(struct scheduler *s, struct str uid)
{
	struct binding_run *r = map_get(&s->by_uid, uid);

	if (!r || r->binding.cancelled)
		return false;
	r->binding.cancelled = true;
	if (r->step == BINDING_PERMIT)
		binding_run_refuse(r, NULL, STR("the pod was deleted"));
	else if (r->binding.on_cancel)
		r->binding.on_cancel(r->binding.cancel_arg, &r->binding);
	return true;
}

/*
 * Cancels each binding, so that steps that wait for other things than requests end. Bindings that
 * do not end by themselves are freed.
 */
void bindings_release(struct scheduler *s)
{
	while (!list_empty(&s->bindings)) {
		struct binding_run *r = LIST_ENTRY(s->bindings.next, struct binding_run, link);

		if (!r->binding.cancelled) {
			(void)binding_cancel(s, r->assumed->uid);
			continue;
		}
		profile_unreserve(r->binding.cycle->profile, r->binding.cycle, r->assumed->node);
		podqueue_done(s->queue, r->queued);
		binding_free(r);
	}
}

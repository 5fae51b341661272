/*
 * A worker runs one step at a time: `busy` while a call is in flight, `retry_at` while it waits for
 * a retry. Every change (of the object, the runtime, a plugin) only schedules the worker at the end
 * of the turn, so a burst of changes causes one run, and callbacks never nest.
 *
 * Calls to other modules return exactly once. A worker that is to be freed waits for them
 * (`calls`).
 */
#include "node/worker/worker_impl.h"

#include <stdarg.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "node/pod/pod_condition.h"
#include "node/probes/probes.h"
#include "node/registration/object.h"
#include "node/status/device_status.h"
#include "node/status/writer.h"

enum {
	RETRY_LEAST_MS = 500,
	SEEN_BLOCK = 1280, /* the runtime's state of a pod with one container */
};

/* --- events ----------------------------------------------------------------------- */

static void event(struct worker *w, struct str container, enum recorder_type type,
		  const char *reason, struct str message)
{
	char path[320];
	struct recorder_object about = { .api_version = STR("v1"),
					 .kind = STR("Pod"),
					 .ns = w->pod->ns,
					 .name = w->pod->name,
					 .uid = w->pod->uid };
	enum pod_container_kind kind;

	about.resource_version = json_text_at(w->pod->metadata, "resourceVersion");
	if (container.n > 0 && pod_container(w->pod, container, &kind)) {
		(void)snprintf(path, sizeof(path), "spec.%s{%.*s}",
			       kind == POD_MAIN        ? "containers"
			       : kind == POD_EPHEMERAL ? "ephemeralContainers"
						       : "initContainers",
			       STR_ARG(container));
		about.field_path = str_from(path);
	}
	recorder_event(w->host->recorder, &about, type, reason, message);
}

void worker_event(struct worker *w, struct str container, enum recorder_type type,
		  const char *reason, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	event(w, container, type, reason, buf_str(&text));
}

void worker_warn(struct worker *w, const char *reason, struct str message)
{
	event(w, STR_NULL, RECORDER_WARNING, reason, message);
}

void worker_problem(struct worker *w, const char *reason, struct str message)
{
	if (w->host->problems)
		metrics_counter_add(w->host->problems, 1);
	worker_warn(w, reason, message);
}

/* --- state ------------------------------------------------------------------------ */

static bool ending(const struct worker *w)
{
	return w->gone || w->pod->deleting || w->reject_reason || w->stop_reason;
}

bool worker_sees(const struct worker *w)
{
	return w->seen_at > 0 && w->seen_at >= w->seen_need;
}

void worker_relist(struct worker *w)
{
	w->seen_need = w->host->relist(w->host->arg);
}

static struct str worker_text_of(const char *z)
{
	return z ? str_from(z) : STR_NULL;
}

struct lifecycle_input worker_input(const struct worker *w)
{
	const struct clock *clock = loop_clock(w->host->loop);

	return (struct lifecycle_input){
		.pod = w->pod,
		.seen = w->seen,
		.wall_ns = clock_wall(clock),
		.mono_ms = loop_now(w->host->loop),
		.reject_reason = worker_text_of(w->reject_reason),
		.reject_message = worker_text_of(w->reject_message),
		.prepared = w->prepared,
		.stop_reason = w->gone ? STR("Deleted") : worker_text_of(w->stop_reason),
		.stop_message = worker_text_of(w->stop_message),
		.stop_grace_s = w->stop_grace_s,
		.stop_disrupts = w->evicted,
		.cleaned = w->cleaned,
		.host_ip = node_object_ip(w->host->node),
		.id_prefix = w->host->id_prefix,
	};
}

const struct pod *worker_api_pod(const struct worker *w)
{
	return w->pod->is_static ? w->mirror : w->pod;
}

void worker_reject(struct worker *w, const char *reason, const char *message)
{
	w->reject_reason = str_dup(str_from(reason));
	w->reject_message = str_dup(str_from(message));
	worker_event(w, STR_NULL, RECORDER_WARNING, reason, "%s", message);
	worker_step_done(w, WORKER_RUN);
}

/* --- steps ------------------------------------------------------------------------ */

void worker_step_done(struct worker *w, enum worker_step next)
{
	w->step = next;
	w->busy = false;
	w->failures = 0;
	w->told = 0;
	w->retry_at = 0;
	backoff_reset(&w->backoff);
	worker_look(w);
}

void worker_step_failed(struct worker *w, const char *reason, const char *prefix,
			const struct error *err)
{
	int64_t delay = backoff_next(&w->backoff, loop_prng(w->host->loop));
	int64_t now = loop_now(w->host->loop);
	uint64_t what = hash_bytes(str_from(err->msg), 1) | 1;

	log_debug(w->host->log, "a step of a pod failed", LOG_STR("pod", w->pod->name),
		  LOG_Z("reason", reason), LOG_ERR(err));
	/* After a restart of the agent, drivers need a moment to come back. */
	if (++w->failures >= (w->admitted ? 2 : 1) && w->told != what) {
		worker_event(w, STR_NULL, RECORDER_WARNING, reason, "%s%s", prefix, err->msg);
		w->told = what;
	}
	w->busy = false;
	w->failed_at = now;
	w->retry_at = now + delay;
	loop_timer_start(&w->timer, delay);
	/* The pod must end since the call began: that does not wait for the retry. */
	if (w->step < WORKER_RUN && ending(w))
		worker_look(w);
}

static bool waits(struct worker *w)
{
	return w->retry_at > loop_now(w->host->loop);
}

/* Carries out the life cycle's actions, and sets the timer for the next call. */
static void worker_run(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;
	struct lifecycle_input in = worker_input(w);
	struct lifecycle_plan plan = { 0 };

	arena_init(&a, REQUEST_WORK_MAX);
	if (!worker_sees(w))
		return;
	worker_policy(w);
	lifecycle_plan(w->life, &in, &a, &plan);
	for (size_t i = 0; i < plan.nnotes; i++)
		event(w, plan.notes[i].container,
		      plan.notes[i].warning ? RECORDER_WARNING : RECORDER_NORMAL,
		      plan.notes[i].reason, plan.notes[i].message);
	for (size_t i = 0; i < plan.n; i++)
		worker_act(w, &plan.actions[i]);
	if (plan.over)
		worker_ops_drop(w);
	if (plan.wake_ms != INT64_MAX)
		loop_timer_start(&w->timer, MAX(0, plan.wake_ms - loop_now(w->host->loop)));
	if (plan.over && !w->cleaned && list_empty(&w->ops))
		worker_step_done(w, WORKER_CLEAN);
	else if (plan.done && w->cleaned && list_empty(&w->ops))
		worker_step_done(w, w->gone ? WORKER_REMOVE : WORKER_ENDED);
}

/* The last status is being written; the deletion waits for us to report the end. */
static void rest(struct worker *w)
{
	if (w->gone)
		worker_step_done(w, WORKER_REMOVE);
	else if (w->pod->deleting)
		status_writer_delete(w->host->writer, w->pod);
}

static void (*const steps[])(struct worker *w) = {
	[WORKER_ADMIT] = worker_step_admit,
	[WORKER_HOLD] = worker_step_hold,
	[WORKER_ALLOCATE] = worker_step_allocate,
	[WORKER_CLAIMS] = worker_step_claims,
	[WORKER_SOURCES] = worker_step_sources,
	[WORKER_VOLUMES] = worker_step_volumes,
	[WORKER_RUN] = worker_run,
	[WORKER_CLEAN] = worker_step_clean,
	[WORKER_RELEASE] = worker_step_release,
	[WORKER_ENDED] = rest,
};

static void worker_on_task(struct loop_task *t)
{
	struct worker *w = CONTAINER_OF(t, struct worker, task);

	if (!w->busy && w->step < WORKER_RUN && ending(w)) {
		w->step = WORKER_RUN;
		w->retry_at = 0;
	}
	if (w->busy || waits(w)) {
		worker_write_status(w);
		return;
	}
	w->retry_at = 0;
	if (w->step == WORKER_REMOVE) {
		worker_step_remove(w); /* may free the worker */
		return;
	}
	steps[w->step](w);
	worker_write_status(w);
}

static void worker_on_timer(struct loop_timer *t)
{
	worker_look(CONTAINER_OF(t, struct worker, timer));
}

void worker_look(struct worker *w)
{
	loop_defer(w->host->loop, &w->task);
}

/* --- changes ---------------------------------------------------------------------- */

static bool differ(const struct json *a, const struct json *b, const char *key)
{
	const struct json *x = json_getz(a, key), *y = json_getz(b, key);

	return !x != !y || (x && !json_equal(x, y));
}

/* Fields that files of the downward API may show. */
static bool texts_differ(const struct pod *a, const struct pod *b)
{
	return differ(a->metadata, b->metadata, "labels") ||
	       differ(a->metadata, b->metadata, "annotations");
}

/* Claims created for the pod: a step may wait for them. */
static bool claims_differ(const struct pod *a, const struct pod *b)
{
	return differ(a->status, b->status, "resourceClaimStatuses") ||
	       differ(a->status, b->status, "extendedResourceClaimStatus");
}

static bool is_one_of(struct str name, const char *const *names)
{
	for (; *names; names++) {
		if (str_eqz(name, *names))
			return true;
	}
	return false;
}

/* Compares objects whose members have the same order, as one server prints them. */
static bool differ_but(const struct json *a, const struct json *b, const char *const *names)
{
	const struct json *x = json_first(a), *y = json_first(b);

	for (; x && y && str_eq(json_key(x), json_key(y)); x = x->next, y = y->next) {
		if (!is_one_of(json_key(x), names) && !json_equal(x, y))
			return true;
	}
	return x || y;
}

static bool conditions_differ(const struct json *a, const struct json *b)
{
	const struct json *x = json_first(a), *y = json_first(b);

	for (; x && y; x = x->next, y = y->next) {
		if (!json_equal(x, y) &&
		    !(str_eqz(json_text_at(x, "type"), DEVICES_HEALTHY_CONDITION) &&
		      str_eqz(json_text_at(y, "type"), DEVICES_HEALTHY_CONDITION)))
			return true;
	}
	return x || y;
}

/*
 * Whether the object has changes for the life cycle. Most changes are our own status coming back
 * from the server; the status writer handles those.
 */
static bool is_news(const struct pod *old, const struct pod *now)
{
	static const char *const of_metadata[] = { "resourceVersion", "managedFields", NULL };
	static const char *const of_status[] = { "conditions", "containerStatuses",
						 "initContainerStatuses",
						 "allocatedResourcesStatus", NULL };

	return differ_but(old->metadata, now->metadata, of_metadata) ||
	       !json_equal(old->spec, now->spec) ||
	       differ_but(old->status, now->status, of_status) ||
	       conditions_differ(json_getz(old->status, "conditions"),
				 json_getz(now->status, "conditions"));
}

static void set_pod(struct worker *w, struct pod *pod)
{
	w->pod = pod_ref(pod);
	w->asks = (struct fit_sum){ 0 };
	fit_add(&w->asks, pod);
}

void worker_update(struct worker *w, struct pod *pod)
{
	bool refresh = texts_differ(w->pod, pod), news = is_news(w->pod, pod);

	if (differ(w->pod->spec, pod->spec, "ephemeralContainers"))
		w->want_again = refresh = true;
	if (w->step < WORKER_RUN && claims_differ(w->pod, pod))
		worker_retry(w);
	pod_unref(w->pod);
	set_pod(w, pod);
	status_writer_seen(w->host->writer, pod);
	if (refresh)
		worker_sources_changed(w);
	if (news)
		worker_look(w);
}

void worker_set_mirror(struct worker *w, struct pod *mirror)
{
	struct pod *old = w->mirror;

	w->mirror = mirror ? pod_ref(mirror) : NULL;
	if (old && (!mirror || !str_eq(old->uid, mirror->uid)))
		status_writer_forget(w->host->writer, old->uid);
	else if (mirror)
		status_writer_seen(w->host->writer, mirror);
	if (mirror && (!old || !str_eq(old->uid, mirror->uid)))
		worker_write_status(w);
	pod_unref(old);
}

void worker_gone(struct worker *w)
{
	w->gone = true;
	if (worker_api_pod(w))
		status_writer_forget(w->host->writer, worker_api_pod(w)->uid);
	probes_stop_pod(w->host->probes, w->pod->uid);
	worker_look(w);
}

void worker_seen(struct worker *w, const struct runtime_pod *seen, uint64_t look)
{
	struct arena *a = NULL;
	bool waited = !worker_sees(w);

	/* A change of one pod lists the pods of the whole runtime, so most are unchanged. */
	if (w->seen_at > 0 && runtime_pod_equal(w->seen, seen)) {
		w->seen_at = look;
		if (waited)
			worker_look(w);
		worker_cpus_follow(w);
		return;
	}
	if (seen) {
		a = xcalloc(1, sizeof(*a) + SEEN_BLOCK);
		arena_init_in(a, REQUEST_WORK_MAX, a + 1, SEEN_BLOCK);
		w->seen = runtime_pod_copy(a, seen);
	} else {
		w->seen = NULL;
	}
	if (w->seen_arena)
		arena_release(w->seen_arena);
	free(w->seen_arena);
	w->seen_arena = a;
	w->seen_at = look;
	worker_cpus_follow(w);
	worker_look(w);
}

void worker_sources_changed(struct worker *w)
{
	/* The mount in flight may have read the old content, or waits for this change. */
	if (w->step == WORKER_VOLUMES && w->busy)
		w->refresh_again = true;
	else if (w->step == WORKER_SOURCES || w->step == WORKER_VOLUMES)
		worker_retry(w);
	else if (w->prepared && !ending(w) && !w->ended && !w->host->hollow)
		worker_refresh_volumes(w);
}

void worker_probed(struct worker *w, struct str container_id, enum lifecycle_probe probe, bool good,
		   struct str message)
{
	lifecycle_probed(w->life, container_id, probe, good, message);
	worker_look(w);
}

void worker_retry(struct worker *w)
{
	int64_t now = loop_now(w->host->loop);

	/* Also for a call in flight: it may still fail because of the old state. */
	backoff_reset(&w->backoff);
	if (w->retry_at == 0)
		return;
	/* A plugin that sends many lists does not cause constant retries. */
	w->retry_at = MIN(w->retry_at, MAX(now, w->failed_at + RETRY_LEAST_MS));
	loop_timer_start(&w->timer, w->retry_at - now);
}

static bool runs(const struct runtime_pod *seen)
{
	for (size_t i = 0; seen && i < seen->ncontainers; i++) {
		if (seen->containers[i].state == RUNTIME_RUNNING ||
		    seen->containers[i].state == RUNTIME_UNKNOWN)
			return true;
	}
	return false;
}

void worker_settle(struct worker *w)
{
	if (worker_sees(w) && !runs(w->seen))
		assign_settle_doubt(w->host->assign, w->pod->uid);
}

void worker_was_admitted(struct worker *w)
{
	w->admitted = true;
}

void worker_recovered(struct worker *w)
{
	worker_look(w);
}

bool worker_evictable(const struct worker *w)
{
	return w->step == WORKER_RUN && !w->ended && !w->cleaned && !ending(w) && runs(w->seen);
}

void worker_evict(struct worker *w, struct str message, int64_t grace_s)
{
	if (!worker_evictable(w))
		return;
	worker_warn(w, "Evicted", message);
	w->stop_reason = str_dup(STR("Evicted"));
	w->stop_message = str_dup(message);
	w->stop_grace_s = grace_s;
	w->evicted = true;
	worker_look(w);
}

bool worker_mark(struct worker *w)
{
	bool first = !w->marked;

	w->marked = true;
	return first;
}

void worker_health_changed(struct worker *w)
{
	w->marked = false;
	if (w->gone)
		return;
	worker_policy(w);
	worker_write_status(w);
}

/* --- life ------------------------------------------------------------------------- */

struct worker *worker_new(struct worker_host *host, struct pod *pod, bool admitted)
{
	struct worker *w = XNEW(struct worker);

	w->host = host;
	w->uid = str_dup(pod->uid);
	set_pod(w, pod);
	w->life = lifecycle_new();
	w->admitted = admitted;
	w->backoff = (struct backoff){
		.initial_ms = 500, .max_ms = 60000, .factor = 2, .jitter = 0.1
	};
	w->op_backoff = (struct backoff){
		.initial_ms = 500, .max_ms = 10000, .factor = 2, .jitter = 0.1
	};
	list_init(&w->ops);
	list_init(&w->dropped);
	worker_cpus_init(w);
	worker_policy_init(w);
	loop_timer_init(&w->timer, host->loop, worker_on_timer);
	loop_task_init(&w->task, worker_on_task);
	worker_look(w);
	return w;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	loop_timer_stop(&w->timer);
	loop_task_cancel(&w->task);
	worker_ops_free(w);
	worker_cpus_release(w);
	worker_policy_release(w);
	lifecycle_free(w->life);
	pod_unref(w->pod);
	pod_unref(w->mirror);
	free(w->uid);
	if (w->seen_arena)
		arena_release(w->seen_arena);
	free(w->seen_arena);
	free(w->reject_reason);
	free(w->reject_message);
	free(w->stop_reason);
	free(w->stop_message);
	free(w);
}

struct str worker_uid(const struct worker *w)
{
	return str_from(w->uid);
}

struct pod *worker_pod(const struct worker *w)
{
	return w->pod;
}

const struct runtime_pod *worker_runtime(const struct worker *w)
{
	return w->seen;
}

const struct fit_sum *worker_asks(const struct worker *w)
{
	return &w->asks;
}

bool worker_active(const struct worker *w)
{
	return !w->ended;
}

bool worker_admitted(const struct worker *w)
{
	return !w->ended && !w->reject_reason && !pod_terminal(w->pod) &&
	       (w->admitted || w->step > WORKER_ADMIT);
}

bool worker_counts(const struct worker *w)
{
	return worker_admitted(w) && !w->gone;
}

void worker_probe_failed(struct worker *w, struct str container, struct str message)
{
	event(w, container, RECORDER_WARNING, "Unhealthy", message);
}

void worker_probe_warned(struct worker *w, struct str container, struct str message)
{
	event(w, container, RECORDER_WARNING, "ProbeWarning", message);
}

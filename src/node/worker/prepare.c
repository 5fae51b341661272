/*
 * The steps around the life of containers. Before: admission and devices, claims, volumes. A
 * failure is reported as an event and retried. One exception, as in kubelet: if devices are not
 * available, a pod that was never admitted, or that lost its devices before it had containers, is
 * rejected for good. After: the same in reverse.
 *
 * Order of durability: devices are held; the log is saved; plugins are called; their replies are
 * saved; containers start. So an agent that dies at any point finds everything that it has
 * assigned.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "node/claims/claims.h"
#include "node/container/config.h"
#include "node/plugins/plugins.h"
#include "node/pod/fit.h"
#include "node/probes/probes.h"
#include "node/sources/sources.h"
#include "node/status/writer.h"
#include "node/volumes/volumes.h"
#include "node/worker/worker_impl.h"

/* A call begins; it ends with came_back(), which returns whether the result is still needed. */
static void call(struct worker *w)
{
	w->busy = true;
	w->calls++;
}

static void came_back(struct worker *w)
{
	w->calls--;
	w->busy = false;
}

/* --- admission -------------------------------------------------------------------- */

static bool wants_preferred(void *arg, struct str resource)
{
	struct worker *w = arg;

	return plugins_wants_preferred(w->host->plugins, resource);
}

/* A plugin's preference, for the next try of the admission. */
struct wish {
	struct worker *worker;
	struct arena arena;
	struct assign_wish wish;
};

static void prepare_refuse(struct worker *w, const char *reason, const struct error *err)
{
	char text[sizeof(err->msg) + 64];

	if (strcmp(reason, "UnexpectedAdmissionError") == 0)
		(void)snprintf(text, sizeof(text), "Allocate failed due to %s, which is unexpected",
			       err->msg);
	else
		(void)snprintf(text, sizeof(text), "%s", err->msg);
	assign_end_pod(w->host->assign, w->pod->uid);
	worker_reject(w, reason, text);
}

static void on_preferred(void *arg, const struct str *ids, size_t n, const struct error *err)
{
	struct wish *s = arg;
	struct worker *w = s->worker;

	came_back(w);
	if (err && w->admitted)
		worker_step_failed(w, "FailedAllocateDevices", "", err);
	else if (err)
		prepare_refuse(w, "UnexpectedAdmissionError", err);
	else
		assign_prefer(w->host->assign, w->pod->uid, &s->wish, ids, n);
	arena_release(&s->arena);
	free(s);
	worker_look(w);
}

static void ask_preferred(struct worker *w, const struct assign_wish *wish)
{
	struct wish *s = XNEW(struct wish);

	s->worker = w;
	arena_init(&s->arena, REQUEST_WORK_MAX);
	s->wish = *wish;
	s->wish.resource = arena_str(&s->arena, wish->resource);
	s->wish.container = arena_str(&s->arena, wish->container);
	s->wish.available = arena_strs(&s->arena, wish->available, wish->navailable);
	s->wish.must = arena_strs(&s->arena, wish->must, wish->nmust);
	call(w);
	plugins_preferred(w->host->plugins, &s->wish, on_preferred, s);
}

/*
 * An earlier agent released the pod's devices and died before its status was written. Its
 * containers' results decide the phase. Without containers it was rejected, or its end is unknown.
 * Nothing may be started.
 */
static void end_again(struct worker *w)
{
	if (!worker_sees(w))
		return;
	if (w->seen && w->seen->ncontainers > 0)
		worker_step_done(w, WORKER_RUN);
	else
		worker_reject(w, "UnexpectedAdmissionError",
			      "its devices were released before the agent was restarted");
}

static bool asks_for_settling(struct worker *w, const struct json *container)
{
	JSON_FOREACH (it, json_getz(json_getz(container, "resources"), "limits")) {
		if (w->host->settling(w->host->arg, json_key(it)))
			return true;
	}
	return false;
}

/*
 * Whether a pod that an earlier agent admitted waits for its devices. A pod that has containers
 * does. A pod without containers, whose devices were not on disk when that agent died, is like a
 * new one: another pod may have its devices for good. It only waits for plugins that may come back.
 */
static bool waits_for_devices(struct worker *w)
{
	struct pod_containers c = pod_containers(w->pod);

	if (!w->admitted)
		return false;
	if (!worker_sees(w) || (w->seen && w->seen->ncontainers > 0))
		return true;
	while (pod_containers_next(&c)) {
		if (asks_for_settling(w, c.container))
			return true;
	}
	return false;
}

static void hold_devices(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;
	struct assign_admission io = { .wants_preferred = wants_preferred, .arg = w };
	struct error err;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	worker_settle(w);
	r = assign_admit(w->host->assign, w->pod, &a, &io, &err);
	if (r < 0 && waits_for_devices(w))
		worker_step_failed(w, "FailedAllocateDevices", "", &err);
	else if (r == 0 && io.ended)
		end_again(w);
	else if (r == 0 && io.doubt)
		return; /* until its containers have ended, or it must end */
	else if (r < 0)
		prepare_refuse(w, io.reason ? io.reason : "UnexpectedAdmissionError", &err);
	else if (io.waiting)
		ask_preferred(w, &io.wish);
	else
		worker_step_done(w, WORKER_HOLD);
}

static bool asks_for_devices(const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);

	while (pod_containers_next(&c)) {
		JSON_FOREACH (it, json_getz(json_getz(c.container, "resources"), "limits")) {
			if (str_chr(json_key(it), '/') >= 0)
				return true;
		}
	}
	return false;
}

/*
 * The record of devices is being rebuilt, which needs the pods of the API server. That server may
 * itself be a static pod, so one without devices does not wait.
 */
static bool waits_for_recovery(struct worker *w)
{
	return !w->admitted && w->host->recovering(w->host->arg) &&
	       (!w->pod->is_static || asks_for_devices(w->pod));
}

void worker_step_admit(struct worker *w)
{
	char reason[FIT_REASON_SIZE];
	struct error err;
	int r = w->host->hollow ? 0 : container_config_check(w->pod, &err);

	if (pod_terminal(w->pod)) {
		worker_step_done(w, WORKER_RUN);
	} else if (waits_for_recovery(w)) {
		return; /* worker_recovered() continues */
	} else if (r == -ERR_FORBIDDEN) {
		worker_reject(w, "SysctlForbidden", err.msg);
	} else if (r < 0) {
		worker_step_failed(w, "FailedCreatePodContainer", "cannot run this pod: ", &err);
	} else if (!w->admitted && w->host->fits(w->host->arg, w->pod, reason, &err) < 0) {
		prepare_refuse(w, reason, &err);
	} else {
		hold_devices(w);
	}
}

static void on_held(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err)
		worker_step_failed(w, "FailedSaveState", "cannot save the node's state: ", err);
	else
		worker_step_done(w, WORKER_ALLOCATE);
}

void worker_step_hold(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;
	struct assign_request request;

	arena_init(&a, REQUEST_WORK_MAX);
	if (!assign_next_request(w->host->assign, w->pod->uid, &a, &request)) {
		worker_step_done(w, WORKER_ALLOCATE);
		return;
	}
	call(w);
	w->host->save(w->host->arg, on_held, w);
}

/* --- plugins ---------------------------------------------------------------------- */

static void on_answers_saved(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err)
		worker_step_failed(w, "FailedSaveState", "cannot save the node's state: ", err);
	else
		worker_step_done(w, WORKER_CLAIMS);
}

static void on_allocated(void *arg, struct str packed, const struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct worker *w = arg;
	struct assign_request request;

	came_back(w);
	arena_init(&a, REQUEST_WORK_MAX);
	if (err && w->admitted)
		worker_step_failed(w, "FailedAllocateDevices", "", err);
	else if (err)
		prepare_refuse(w, "UnexpectedAdmissionError", err);
	else if (assign_next_request(w->host->assign, w->pod->uid, &a, &request))
		assign_set_answer(w->host->assign, w->pod->uid, request.container, request.resource,
				  packed);
	worker_look(w);
}

/* One request after the other: a reply belongs to the first waiting request. */
void worker_step_allocate(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;
	struct assign_request request;

	arena_init(&a, REQUEST_WORK_MAX);
	call(w);
	if (assign_next_request(w->host->assign, w->pod->uid, &a, &request))
		plugins_allocate(w->host->plugins, request.resource, request.ids, request.nids,
				 on_allocated, w);
	else
		w->host->save(w->host->arg, on_answers_saved, w);
}

/* --- claims and volumes ----------------------------------------------------------- */

static void on_claims(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err)
		worker_step_failed(w, "FailedPrepareDynamicResources",
				   "Failed to prepare dynamic resources: ", err);
	else
		worker_step_done(w, WORKER_SOURCES);
}

void worker_step_claims(struct worker *w)
{
	call(w);
	claims_prepare(w->host->claims, w->pod, on_claims, w);
}

static void on_sources(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err)
		worker_step_failed(w, "FailedMount", "", err);
	else
		worker_step_done(w, WORKER_VOLUMES);
}

void worker_step_sources(struct worker *w)
{
	if (w->host->hollow) {
		w->prepared = true;
		worker_step_done(w, WORKER_RUN);
		return;
	}
	/* A static pod names no API objects, and must start without a server. */
	if (w->pod->is_static) {
		worker_step_done(w, WORKER_VOLUMES);
		return;
	}
	call(w);
	sources_want(w->host->sources, w->pod, on_sources, w);
}

static void on_volumes(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err) {
		worker_step_failed(w, "FailedMount", "", err);
		return;
	}
	w->prepared = true;
	worker_step_done(w, WORKER_RUN);
	if (w->refresh_again || w->want_again)
		worker_refresh_volumes(w);
}

void worker_step_volumes(struct worker *w)
{
	w->refresh_again = false;
	call(w);
	volumes_mount(w->host->volumes, w->pod, on_volumes, w);
}

static void on_refreshed(void *arg, const struct error *err)
{
	struct worker *w = arg;
	bool again = w->refresh_again;

	w->calls--;
	w->refreshing = w->refresh_again = false;
	if (err)
		log_debug(w->host->log, "volumes are stale", LOG_STR("pod", w->pod->name),
			  LOG_ERR(err));
	if (again)
		worker_refresh_volumes(w);
	worker_look(w);
}

static void on_wanted_again(void *arg, const struct error *err)
{
	struct worker *w = arg;

	if (err)
		log_debug(w->host->log, "cannot get what a pod's volumes need",
			  LOG_STR("pod", w->pod->name), LOG_ERR(err));
	volumes_mount(w->host->volumes, w->pod, on_refreshed, w);
}

void worker_refresh_volumes(struct worker *w)
{
	bool want = w->want_again;

	if (w->refreshing) {
		w->refresh_again = true;
		return;
	}
	w->refreshing = true;
	w->refresh_again = w->want_again = false;
	w->calls++;
	if (want)
		sources_want(w->host->sources, w->pod, on_wanted_again, w);
	else
		volumes_mount(w->host->volumes, w->pod, on_refreshed, w);
}

/* --- the end ---------------------------------------------------------------------- */

static void on_unprepared(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	if (err)
		worker_step_failed(w, "FailedUnprepareDynamicResources",
				   "Failed to unprepare dynamic resources: ", err);
	else
		worker_step_done(w, WORKER_RELEASE);
}

void worker_step_clean(struct worker *w)
{
	probes_stop_pod(w->host->probes, w->pod->uid);
	call(w);
	claims_unprepare(w->host->claims, w->pod->uid, on_unprepared, w);
}

static void on_released(void *arg, const struct error *err)
{
	struct worker *w = arg;

	/*
	 * A full disk does not keep a pod from ending. If a later agent finds the pod in the log,
	 * it releases it again, because the pod object has ended or is deleted.
	 */
	(void)err;
	came_back(w);
	w->cleaned = w->ended = true;
	worker_step_done(w, WORKER_RUN);
}

void worker_step_release(struct worker *w)
{
	struct error err;

	if (w->refreshing)
		return;
	sources_drop(w->host->sources, w->pod->uid);
	if (!w->host->hollow && volumes_unmount(w->host->volumes, w->pod->uid, &err) < 0) {
		worker_step_failed(w, "FailedUnmount", "cannot remove the pod's volumes: ", &err);
		return;
	}
	assign_end_pod(w->host->assign, w->pod->uid);
	call(w);
	w->host->save(w->host->arg, on_released, w);
}

static void prepare_on_removed(void *arg, const struct error *err)
{
	struct worker *w = arg;

	came_back(w);
	worker_relist(w);
	if (err && err->code != ERR_NOT_FOUND)
		worker_step_failed(w, "FailedRemovePodSandBox", "", err);
}

/* Removes one sandbox after the other, with its containers. */
void worker_step_remove(struct worker *w)
{
	if (w->calls > 0 || !list_empty(&w->ops) || !worker_sees(w))
		return;
	if (w->seen && w->seen->nsandboxes > 0) {
		call(w);
		w->host->runtime->ops->remove_sandbox(w->host->runtime, w->seen->sandboxes[0].id,
						      prepare_on_removed, w);
	} else if (list_empty(&w->dropped)) {
		w->host->over(w->host->arg, w);
	}
}

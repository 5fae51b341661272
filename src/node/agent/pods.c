/*
 * Pods: those of the API come from a watch of this node's pods, those of the runtime from its
 * lists. Each pod of the API has a worker until its object is deleted and nothing is left of it.
 * Pods that the runtime has and the API does not are left over from an earlier agent: once both are
 * known, they are removed.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/informer/cached.h"
#include "node/agent/agent_impl.h"
#include "node/agent/statics.h"
#include "node/agent/upkeep.h"
#include "node/claims/claims.h"
#include "node/pod/fit.h"
#include "node/registration/object.h"
#include "node/status/device_status.h"
#include "node/status/writer.h"
#include "node/volumes/volumes.h"

enum { CONDITION_MS = 10 * 1000, CONDITION_SOON_MS = 500 };

struct worker *agent_worker(const struct agent *a, struct str pod_uid)
{
	return map_get(&a->workers, pod_uid);
}

static struct agent_orphan *find_orphan(const struct agent *a, struct str pod_uid)
{
	LIST_FOREACH (it, &a->orphans) {
		struct agent_orphan *o = LIST_ENTRY(it, struct agent_orphan, link);

		if (str_eq(o->pod->uid, pod_uid))
			return o;
	}
	return NULL;
}

bool agent_pod_active(void *arg, struct str pod_uid)
{
	const struct agent *a = arg;
	const struct worker *w = agent_worker(a, pod_uid);

	if (!informer_synced(a->pods) || (w && worker_active(w)))
		return true;
	/* Leftovers of an earlier agent may still run until the first comparison. */
	return list_empty(&a->orphans) ? a->left_over : find_orphan(a, pod_uid) != NULL;
}

bool agent_pod_here(void *arg, struct str pod_uid)
{
	const struct worker *w = agent_worker(arg, pod_uid);

	return w && worker_admitted(w);
}

/* Calls fn for each worker; workers must not be added or removed meanwhile. */
static void each(struct agent *a, void (*fn)(struct worker *w))
{
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w))
		fn(w);
}

void agent_retry_all(struct agent *a)
{
	each(a, worker_retry);
}

void agent_refresh_all(struct agent *a)
{
	each(a, worker_health_changed);
	agent_events_follow(a);
}

/* --- admission -------------------------------------------------------------------- */

static bool is_device(void *arg, struct str resource)
{
	const struct agent *a = arg;

	return assign_has_resource(a->host.assign, resource);
}

static int64_t used_of(void *arg, struct str resource)
{
	const struct agent *a = arg;
	struct str key;
	int64_t sum = 0;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w)) {
		if (worker_counts(w))
			sum += fit_extended(worker_pod(w), resource);
	}
	return sum;
}

int agent_fits(void *arg, const struct pod *pod, char *ret_reason, struct error *err)
{
	struct agent *a = arg;
	struct fit_node node = { .object = a->node,
				 .cpu_milli = node_object_cpu_milli(a->host.node),
				 .memory = node_object_memory(a->host.node),
				 .max_pods = a->opts.max_pods,
				 .name = str_from(a->opts.node_name),
				 .is_device = is_device,
				 .used = used_of,
				 .arg = a };
	struct fit_sum used = { 0 };
	char message[128];
	struct str key;
	size_t at = 0;
	void *w;

	if (!agent_upkeep_admits(a->upkeep, pod, message)) {
		(void)snprintf(ret_reason, FIT_REASON_SIZE, "Evicted");
		return error_set(err, ERR_INVALID, "%s", message);
	}
	while (map_next(&a->workers, &at, &key, &w)) {
		if (worker_counts(w) && !str_eq(key, pod->uid))
			fit_sum_add(&used, worker_asks(w));
	}
	return fit_check(&node, &used, pod, ret_reason, err);
}

/* --- the runtime ------------------------------------------------------------------ */

static void end_next(struct agent_orphan *o);

static void on_orphan_removed(void *arg, const struct error *err)
{
	struct agent_orphan *o = arg;

	if (err && err->code != ERR_NOT_FOUND) {
		log_warn(o->agent->opts.log, "cannot remove the remains of a pod",
			 LOG_STR("pod", o->pod->name), LOG_ERR(err));
		o->failed = true;
	}
	o->next++;
	end_next(o);
}

static void on_orphan_stopped(void *arg, const struct error *err)
{
	struct agent_orphan *o = arg;
	struct runtime *r = o->agent->host.runtime;

	(void)err;
	r->ops->remove_sandbox(r, o->pod->sandboxes[o->next].id, on_orphan_removed, o);
}

static void orphan_free(struct agent_orphan *o)
{
	list_remove(&o->link);
	loop_timer_stop(&o->timer);
	arena_release(&o->arena);
	free(o);
}

static void on_orphan_timer(struct loop_timer *t)
{
	struct agent_orphan *o = CONTAINER_OF(t, struct agent_orphan, timer);

	o->next = 0;
	o->failed = false;
	end_next(o);
}

static void end_next(struct agent_orphan *o)
{
	struct agent *a = o->agent;
	struct runtime *r = a->host.runtime;

	if (o->next < o->pod->nsandboxes) {
		r->ops->stop_sandbox(r, o->pod->sandboxes[o->next].id, on_orphan_stopped, o);
	} else if (o->pod->nsandboxes == 0 && o->next < o->pod->ncontainers) {
		r->ops->remove(r, o->pod->containers[o->next].id, on_orphan_removed, o);
	} else if (o->failed) {
		loop_timer_start(&o->timer, backoff_next(&o->backoff, loop_prng(a->opts.loop)));
	} else {
		agent_logs_remove(a, o->pod->ns, o->pod->name, o->pod->uid);
		orphan_free(o);
		(void)agent_relist(a);
	}
}

/*
 * Stops and removes the pod with its containers. Its devices are released when the runtime no
 * longer lists it.
 */
static void end_orphan(struct agent *a, const struct runtime_pod *p)
{
	struct agent_orphan *o;

	if (find_orphan(a, p->uid) || p->nsandboxes + p->ncontainers == 0)
		return;
	log_info(a->opts.log, "terminating a pod that the API server does not have",
		 LOG_STR("pod", p->name), LOG_STR("uid", p->uid));
	o = XNEW(struct agent_orphan);
	o->agent = a;
	arena_init(&o->arena, REQUEST_WORK_MAX);
	o->pod = runtime_pod_copy(&o->arena, p);
	o->backoff = (struct backoff){
		.initial_ms = 1000, .max_ms = 60000, .factor = 2, .jitter = 0.1
	};
	loop_timer_init(&o->timer, a->opts.loop, on_orphan_timer);
	list_push_back(&a->orphans, &o->link);
	a->left_over = true;
	end_next(o);
}

/*
 * Removes what earlier agents left of pods that neither the API nor the runtime has: volumes,
 * assignments, claims.
 */
static void clear_left_over(struct agent *a, const struct map *seen)
{
	CLEANUP(arena_release) struct arena scratch;
	struct str at = STR_NULL;
	const struct str *uids;
	struct error err;
	bool ended;
	size_t n;

	arena_init(&scratch, REQUEST_WORK_MAX);
	n = volumes_left(a->host.volumes, &scratch, &uids);
	for (size_t i = 0; i < n; i++) {
		if (!agent_worker(a, uids[i]) && !map_get(seen, uids[i]) &&
		    volumes_unmount(a->host.volumes, uids[i], &err) < 0)
			log_warn(a->opts.log, "cannot remove left-over volumes", LOG_ERR(&err));
	}
	while (assign_next_pod(a->host.assign, &at, &ended)) {
		at = arena_str(&scratch, at);
		if (!agent_worker(a, at) && !map_get(seen, at))
			assign_forget_pod(a->host.assign, at);
	}
	a->left_over = !list_empty(&a->orphans);
	claims_reconcile(a->host.claims);
	agent_save(a, NULL, NULL);
}

/* Asks the runtime, and settles unfounded doubts, before new pods request devices. */
static void end_recovery(struct agent *a)
{
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w))
		agent_recover_running(a, w);
	each(a, worker_settle);
	a->recovering = false;
	each(a, worker_recovered);
}

bool agent_recovering(void *arg)
{
	const struct agent *a = arg;

	return a->recovering;
}

/* All pods that this agent should run are known: those of the API and those of manifests. */
static bool pods_known(const struct agent *a)
{
	return informer_synced(a->pods) && agent_statics_known(a->statics);
}

static void pods_on_list(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct agent *a = arg;
	struct map seen;
	struct str key;
	size_t at = 0;
	void *w;

	a->listing = false;
	if (err) {
		log_debug(a->opts.log, "cannot list the containers of the runtime", LOG_ERR(err));
		a->list_failed = true;
		/* Callers that wait for this listing wait for the next one. */
		if (loop_timer_running(&a->condition_timer))
			loop_timer_start(&a->condition_timer, CONDITION_SOON_MS);
		return;
	}
	a->list_failed = false;
	a->runtime_heard_ms = loop_now(a->opts.loop);
	map_init(&seen);
	for (size_t i = 0; i < pods->n; i++) {
		(void)map_put(&seen, pods->v[i].uid, (void *)&pods->v[i]);
		if (pods_known(a) && !agent_worker(a, pods->v[i].uid))
			end_orphan(a, &pods->v[i]);
	}
	if (a->left_over && pods_known(a))
		clear_left_over(a, &seen);
	while (map_next(&a->workers, &at, &key, &w))
		worker_seen(w, map_get(&seen, key), a->looks);
	map_release(&seen);
	if (a->recovering && informer_synced(a->pods))
		end_recovery(a);
	if (a->list_again)
		(void)agent_relist(a);
}

static void on_list_task(struct loop_task *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, list_task);

	a->list_again = false;
	a->listing = true;
	a->looks++;
	a->host.runtime->ops->list(a->host.runtime, pods_on_list, a);
}

uint64_t agent_relist(void *arg)
{
	struct agent *a = arg;

	if (a->listing)
		a->list_again = true;
	else if (!a->stopping)
		loop_defer(a->opts.loop, &a->list_task);
	return a->looks + 1;
}

static void on_runtime_change(void *arg, struct str pod_uid)
{
	(void)pod_uid;
	(void)agent_relist(arg);
}

static void set_id_prefix(struct agent *a, struct str name)
{
	if (str_eqz(name, a->id_prefix ? a->id_prefix : ""))
		return;
	free(a->id_prefix);
	a->id_prefix = str_dup(name);
	a->host.id_prefix = str_from(a->id_prefix);
}

static void on_condition(void *arg, const struct runtime_condition *c, const struct error *err)
{
	struct agent *a = arg;
	bool ready = !err && c->runtime_ready && c->network_ready;
	struct str message = err ? str_from(err->msg) : c->message;

	if (!err) {
		a->runtime_heard_ms = loop_now(a->opts.loop);
		a->host.runtime_does_cdi = c->does_cdi;
		set_id_prefix(a, c->name);
	}
	node_object_set_runtime(a->host.node, ready, message, err ? STR_NULL : c->name,
				err ? STR_NULL : c->version);
	/* Pods on the host's network can run without a pod network. */
	if (!err && c->runtime_ready && (!a->runtime_ready || a->list_failed))
		(void)agent_relist(a);
	a->runtime_ready = !err && c->runtime_ready;
	loop_timer_start(&a->condition_timer, a->runtime_ready ? CONDITION_MS : CONDITION_SOON_MS);
}

static void on_condition_timer(struct loop_timer *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, condition_timer);

	a->host.runtime->ops->condition(a->host.runtime, on_condition, a);
}

/* --- the API ---------------------------------------------------------------------- */

static void pods_take(struct agent *a, struct cached *o)
{
	CLEANUP(pod_unref) struct pod *pod = NULL;
	struct worker *w;
	struct error err;

	if (pod_new(o, &pod, &err) < 0) {
		log_warn(a->opts.log, "cannot read a pod", LOG_STR("pod", o->key), LOG_ERR(&err));
		return;
	}
	if (agent_statics_mirror(a->statics, pod))
		return;
	w = agent_worker(a, pod->uid);
	if (w) {
		worker_update(w, pod);
		return;
	}
	w = worker_new(&a->host, pod,
		       assign_has_pod(a->host.assign, pod->uid) ||
			       json_getz(pod->status, "startTime"));
	(void)map_put(&a->workers, worker_uid(w), w);
	agent_recover(a, w);
	agent_podres_refresh(a, worker_uid(w));
	(void)agent_relist(a);
}

static void pods_on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	(void)initial;
	pods_take(CONTAINER_OF(h, struct agent, handler), o);
}

static void pods_drop(struct agent *a, struct cached *o)
{
	struct worker *w = agent_worker(a, o->uid);

	if (!agent_statics_mirror_gone(a->statics, o->uid, o->key) && w &&
	    !worker_pod(w)->is_static)
		worker_gone(w);
}

/* Another pod of the same name may have replaced it unnoticed. */
static void pods_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct agent *a = CONTAINER_OF(h, struct agent, handler);

	if (!str_eq(old->uid, o->uid))
		pods_drop(a, old);
	pods_take(a, o);
}

static void pods_on_delete(struct informer_handler *h, struct cached *last, bool unknown)
{
	(void)unknown;
	pods_drop(CONTAINER_OF(h, struct agent, handler), last);
}

static void pods_on_synced(struct informer_handler *h)
{
	struct agent *a = CONTAINER_OF(h, struct agent, handler);

	a->left_over = true;
	agent_statics_follow(a->statics);
	(void)agent_relist(a);
}

void agent_worker_over(void *arg, struct worker *w)
{
	struct agent *a = arg;

	(void)map_remove(&a->workers, worker_uid(w));
	for (size_t i = 0; i < a->dirty.n; i++) {
		if (a->dirty.v[i] == w)
			vec_remove_swap(&a->dirty, i);
	}
	device_events_forget(a->host.events, worker_uid(w));
	status_writer_forget(a->host.writer, worker_uid(w));
	assign_forget_pod(a->host.assign, worker_uid(w));
	agent_save(a, NULL, NULL);
	agent_logs_remove(a, worker_pod(w)->ns, worker_pod(w)->name, worker_uid(w));
	agent_statics_over(a->statics, w);
	worker_free(w);
}

/* --- life ------------------------------------------------------------------------- */

void agent_pods_init(struct agent *a)
{
	map_init(&a->workers);
	list_init(&a->orphans);
	loop_task_init(&a->list_task, on_list_task);
	loop_timer_init(&a->condition_timer, a->opts.loop, on_condition_timer);
}

void agent_pods_start(struct agent *a)
{
	CLEANUP(buf_release) struct buf selector = BUF_INIT(1024);
	struct resource pods = resource_builtin("", "v1", "pods");

	(void)buf_printf(&selector, "spec.nodeName=%s", a->opts.node_name);
	a->pods = informers_get(a->informers,
				&(struct informer_spec){ .resource = &pods,
							 .field_selector = buf_str(&selector),
							 .slim = true });
	a->handler = (struct informer_handler){ .on_add = pods_on_add,
						.on_update = pods_on_update,
						.on_delete = pods_on_delete,
						.on_synced = pods_on_synced };
	informer_add_handler(a->pods, &a->handler);
	a->host.runtime->on_change = on_runtime_change;
	a->host.runtime->arg = a;
	a->runtime_heard_ms = loop_now(a->opts.loop);
	loop_timer_start(&a->condition_timer, 0);
}

void agent_pods_release(struct agent *a)
{
	struct str key;
	size_t at = 0;
	void *w;

	LIST_FOREACH_SAFE (it, &a->orphans)
		orphan_free(LIST_ENTRY(it, struct agent_orphan, link));
	loop_task_cancel(&a->list_task);
	loop_timer_stop(&a->condition_timer);
	while (map_next(&a->workers, &at, &key, &w))
		worker_free(w);
	map_clear(&a->workers);
	free(TAKE(a->id_prefix));
}

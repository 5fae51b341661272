/*
 * Actions of the life cycle, each a chain of calls to the runtime. An action is identified by its
 * object (a container's name, a sandbox): while one is in flight, the same is not begun again,
 * however often the life cycle requests it. When an action ends, the runtime is listed, and the
 * life cycle decides again.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "net/loop/loop.h"
#include "node/container/config.h"
#include "node/logs/rotate.h"
#include "node/probes/probes.h"
#include "node/registration/object.h"
#include "node/worker/worker_impl.h"

static bool act_same(const struct worker_op *op, const struct lifecycle_action *a)
{
	if (a->type == LIFECYCLE_START_CONTAINER || a->type == LIFECYCLE_RUN_SANDBOX)
		return op->type == a->type && str_eq(op->container, a->container);
	if (op->type != a->type || !str_eq(op->id, a->id))
		return false;
	/* A second deletion with a shorter grace period does not wait for the first stop. */
	return a->type != LIFECYCLE_STOP_CONTAINER || op->grace_s <= a->grace_s;
}

static bool under_way(const struct worker *w, const struct lifecycle_action *a)
{
	LIST_FOREACH (it, &w->ops) {
		if (act_same(LIST_ENTRY(it, struct worker_op, link), a))
			return true;
	}
	return false;
}

static void on_pause(struct loop_timer *t)
{
	worker_op_end(CONTAINER_OF(t, struct worker_op, pause), NULL, STR_NULL);
}

static struct worker_op *op_new(struct worker *w, const struct lifecycle_action *a)
{
	struct worker_op *op = XNEW(struct worker_op);

	arena_init(&op->arena, REQUEST_WORK_MAX);
	op->worker = w;
	op->type = a->type;
	op->pod = pod_ref(w->pod);
	op->container = arena_str(&op->arena, a->container);
	op->id = arena_str(&op->arena, a->id);
	op->attempt = a->attempt;
	op->grace_s = a->grace_s;
	op->began_ms = loop_now(w->host->loop);
	op->spec = pod_container(op->pod, op->container, NULL);
	loop_timer_init(&op->pause, w->host->loop, on_pause);
	list_push_back(&w->ops, &op->link);
	return op;
}

static void op_free(struct worker_op *op)
{
	list_remove(&op->link);
	loop_timer_stop(&op->pause);
	pod_unref(op->pod);
	arena_release(&op->arena);
	free(op);
}

void worker_op_end(struct worker_op *op, const char *reason, struct str message)
{
	struct worker *w = op->worker;

	if (reason)
		lifecycle_failed(w->life, op->container, str_from(reason), message,
				 loop_now(w->host->loop));
	op_free(op);
	worker_relist(w);
	worker_look(w);
}

void worker_ops_free(struct worker *w)
{
	LIST_FOREACH_SAFE (it, &w->ops)
		op_free(LIST_ENTRY(it, struct worker_op, link));
	LIST_FOREACH_SAFE (it, &w->dropped)
		op_free(LIST_ENTRY(it, struct worker_op, link));
}

static void act_drop(struct worker_op *op)
{
	op->dropped = true;
	list_remove(&op->link);
	list_push_back(&op->worker->dropped, &op->link);
}

void worker_ops_drop(struct worker *w)
{
	LIST_FOREACH_SAFE (it, &w->ops) {
		struct worker_op *op = LIST_ENTRY(it, struct worker_op, link);

		if (op->endless)
			act_drop(op);
	}
}

bool worker_op_dropped(struct worker_op *op)
{
	struct worker *w = op->worker;

	op->endless = false;
	if (!op->dropped)
		return false;
	op_free(op);
	worker_look(w);
	return true;
}

const struct runtime_sandbox *worker_sandbox(const struct worker *w)
{
	for (size_t i = 0; w->seen && i < w->seen->nsandboxes; i++) {
		if (w->seen->sandboxes[i].ready)
			return &w->seen->sandboxes[i];
	}
	return NULL;
}

struct str worker_ip(const struct worker *w)
{
	const struct runtime_sandbox *sandbox = worker_sandbox(w);

	if (pod_host_network(w->pod))
		return node_object_ip(w->host->node);
	return sandbox && sandbox->nips ? sandbox->ips[0] : STR_NULL;
}

/* --- sandboxes -------------------------------------------------------------------- */

static void on_sandbox(void *arg, struct str id, const struct error *err)
{
	struct worker_op *op = arg;

	(void)id;
	if (err)
		worker_event(op->worker, STR_NULL, RECORDER_WARNING, "FailedCreatePodSandBox",
			     "Failed to create pod sandbox: %s", err->msg);
	worker_op_end(op, err ? "FailedCreatePodSandBox" : NULL,
		      err ? str_from(err->msg) : STR_NULL);
}

static void run_sandbox(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;
	struct sandbox_parts parts = h->sandbox;
	struct sandbox_spec spec = { 0 };
	struct error err;

	parts.attempt = op->attempt;
	if (container_config_sandbox(op->pod, &parts, &op->arena, &spec, &err) < 0) {
		worker_event(op->worker, STR_NULL, RECORDER_WARNING, "FailedCreatePodSandBox",
			     "Failed to create pod sandbox: %s", err.msg);
		worker_op_end(op, "FailedCreatePodSandBox", str_from(err.msg));
		return;
	}
	h->runtime->ops->run_sandbox(h->runtime, &spec, on_sandbox, op);
}

/* --- stop and remove -------------------------------------------------------------- */

static void on_ended(void *arg, const struct error *err)
{
	struct worker_op *op = arg;
	struct worker *w = op->worker;

	if (worker_op_dropped(op))
		return;
	if (!err || err->code == ERR_NOT_FOUND) {
		backoff_reset(&w->op_backoff);
		if (op->log_path.n > 0)
			log_rotate_remove(op->log_path.p);
		worker_op_end(op, NULL, STR_NULL);
		return;
	}
	/* It counts as in flight during the pause, so the life cycle does not repeat it. */
	log_debug(w->host->log, "the runtime could not stop it", LOG_STR("id", op->id),
		  LOG_ERR(err));
	loop_timer_start(&op->pause, backoff_next(&w->op_backoff, loop_prng(w->host->loop)));
}

static void stop_container(struct worker_op *op)
{
	struct worker_host *h = op->worker->host;
	int64_t spent = (loop_now(h->loop) - op->began_ms) / 1000;

	h->runtime->ops->stop(h->runtime, op->id, MAX(op->grace_s - spent, op->grace_s > 2 ? 2 : 0),
			      on_ended, op);
}

static void on_pre_stop(void *arg, const struct error *err)
{
	struct worker_op *op = arg;

	if (worker_op_dropped(op))
		return;
	if (err)
		worker_event(op->worker, op->container, RECORDER_WARNING, "FailedPreStopHook",
			     "PreStopHook failed");
	stop_container(op);
}

/*
 * Drops stops of this container in flight, which have run the hook and written the event. Returns
 * whether there were any.
 */
static bool drop_stops(struct worker *w, struct str id)
{
	bool any = false;

	LIST_FOREACH_SAFE (it, &w->ops) {
		struct worker_op *op = LIST_ENTRY(it, struct worker_op, link);

		if (op->type != LIFECYCLE_STOP_CONTAINER || !str_eq(op->id, id))
			continue;
		act_drop(op);
		any = true;
	}
	return any;
}

static void begin_stop(struct worker_op *op, const struct lifecycle_action *a)
{
	struct worker_host *h = op->worker->host;
	const struct json *hook = json_getz(json_getz(op->spec, "lifecycle"), "preStop");

	worker_event(op->worker, op->container, RECORDER_NORMAL, "Killing", "%.*s",
		     STR_ARG(a->message));
	if (hook && op->grace_s > 0 && !h->hollow)
		probes_hook(h->probes, op->pod,
			    &(struct probes_hook){ .container = op->spec,
						   .handler = hook,
						   .container_id = op->id,
						   .pod_ip = worker_ip(op->worker),
						   .timeout_ms = op->grace_s * 1000 },
			    on_pre_stop, op);
	else
		stop_container(op);
}

/* Removes its log, too. */
static void remove_container(struct worker_op *op)
{
	const struct runtime_pod *p = op->worker->seen;
	struct runtime *r = op->worker->host->runtime;

	for (size_t i = 0; p && i < p->ncontainers; i++) {
		if (str_eq(p->containers[i].id, op->id))
			op->log_path = arena_str(&op->arena, p->containers[i].log_path);
	}
	r->ops->remove(r, op->id, on_ended, op);
}

/* --- all actions ------------------------------------------------------------------ */

void worker_act(struct worker *w, const struct lifecycle_action *a)
{
	struct runtime *r = w->host->runtime;
	struct worker_op *op;
	bool hurried;

	if (under_way(w, a))
		return;
	hurried = a->type == LIFECYCLE_STOP_CONTAINER && drop_stops(w, a->id);
	op = op_new(w, a);
	switch (a->type) {
	case LIFECYCLE_RUN_SANDBOX:
		run_sandbox(op);
		break;
	case LIFECYCLE_STOP_SANDBOX:
		r->ops->stop_sandbox(r, op->id, on_ended, op);
		break;
	case LIFECYCLE_REMOVE_SANDBOX:
		r->ops->remove_sandbox(r, op->id, on_ended, op);
		break;
	case LIFECYCLE_START_CONTAINER:
		worker_start(op);
		break;
	case LIFECYCLE_STOP_CONTAINER:
		if (hurried)
			stop_container(op);
		else
			begin_stop(op, a);
		break;
	case LIFECYCLE_REMOVE_CONTAINER:
		remove_container(op);
		break;
	}
}

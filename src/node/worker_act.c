/*
 * Actions of the life cycle, each a chain of calls to the runtime. An action is known by what it is about (a
 * container's name, a sandbox): while one is under way the same is not begun again, however often the
 * life cycle asks for it. When one ends the runtime is asked for its state, and the life cycle decides anew.
 */
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/loop.h"
#include "node/container_config.h"
#include "node/probes.h"
#include "node/worker_impl.h"

static bool same(const struct worker_op *op, const struct lifecycle_action *a)
{
	if (a->type == LIFECYCLE_START_CONTAINER || a->type == LIFECYCLE_RUN_SANDBOX)
		return op->type == a->type && str_eq(op->container, a->container);
	return str_eq(op->id, a->id) && op->type == a->type;
}

static bool under_way(const struct worker *w, const struct lifecycle_action *a)
{
	LIST_FOREACH (it, &w->ops) {
		if (same(LIST_ENTRY(it, struct worker_op, link), a))
			return true;
	}
	return false;
}

struct worker_op *worker_op_new(struct worker *w, const struct lifecycle_action *a)
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
	list_push_back(&w->ops, &op->link);
	return op;
}

static void op_free(struct worker_op *op)
{
	list_remove(&op->link);
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
}

const struct runtime_sandbox *worker_sandbox(const struct worker *w)
{
	for (size_t i = 0; w->seen && i < w->seen->nsandboxes; i++) {
		if (w->seen->sandboxes[i].ready)
			return &w->seen->sandboxes[i];
	}
	return NULL;
}

/* --- sandboxes ----------------------------------------------------------------------------------- */

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
	struct sandbox_parts parts = { .attempt = op->attempt, .log_root = str_from(h->log_root) };
	struct sandbox_spec spec = { 0 };
	struct error err;

	if (container_config_sandbox(op->pod, &parts, &op->arena, &spec, &err) < 0) {
		worker_event(op->worker, STR_NULL, RECORDER_WARNING, "FailedCreatePodSandBox",
			     "Failed to create pod sandbox: %s", err.msg);
		worker_op_end(op, "FailedCreatePodSandBox", str_from(err.msg));
		return;
	}
	h->runtime->ops->run_sandbox(h->runtime, &spec, on_sandbox, op);
}

/* --- ends ------------------------------------------------------------------------------------------ */

static void on_ended(void *arg, const struct error *err)
{
	struct worker_op *op = arg;

	if (err && err->code != ERR_NOT_FOUND)
		log_debug(op->worker->host->log, "the runtime could not end it",
			  LOG_STR("id", op->id), LOG_ERR(err));
	worker_op_end(op, NULL, STR_NULL);
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

	if (err)
		worker_event(op->worker, op->container, RECORDER_WARNING, "FailedPreStopHook",
			     "PreStopHook failed");
	stop_container(op);
}

static void begin_stop(struct worker_op *op, const struct lifecycle_action *a)
{
	struct worker_host *h = op->worker->host;
	const struct json *hook = json_getz(json_getz(op->spec, "lifecycle"), "preStop");
	const struct runtime_sandbox *sandbox = worker_sandbox(op->worker);

	worker_event(op->worker, op->container, RECORDER_NORMAL, "Killing", "%.*s",
		     STR_ARG(a->message));
	if (hook && op->grace_s > 0)
		probes_hook(h->probes, op->pod,
			    &(struct probes_hook){
				    .container = op->spec,
				    .handler = hook,
				    .container_id = op->id,
				    .pod_ip = sandbox && sandbox->nips ? sandbox->ips[0] : STR_NULL,
				    .timeout_ms = op->grace_s * 1000 },
			    on_pre_stop, op);
	else
		stop_container(op);
}

/* --- one of each ------------------------------------------------------------------------------------- */

void worker_act(struct worker *w, const struct lifecycle_action *a)
{
	struct runtime *r = w->host->runtime;
	struct worker_op *op;

	if (under_way(w, a))
		return;
	op = worker_op_new(w, a);
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
		begin_stop(op, a);
		break;
	case LIFECYCLE_REMOVE_CONTAINER:
		r->ops->remove(r, op->id, on_ended, op);
		break;
	}
}

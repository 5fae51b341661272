/*
 * Carries out the decisions of device_policy.h for one pod. It is called whenever the worker runs,
 * and has its own timer for the end of grace periods.
 */
#include "api/api_limits.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "node/worker/worker_impl.h"

static struct str words(const struct device_policy_due *due, struct arena *a)
{
	return str_from(arena_printf(a, "Device %.*s of %.*s in container %.*s is unhealthy%s%.*s",
				     STR_ARG(due->device), STR_ARG(due->resource),
				     STR_ARG(due->container), due->message.n > 0 ? ": " : "",
				     STR_ARG(due->message)));
}

static void on_evicted(struct client_request *r, const struct client_answer *answer,
		       const struct error *err)
{
	struct worker *w = r->arg;

	(void)answer;
	if (!err)
		return;
	/* A disruption budget forbids it, or the server is away. */
	worker_event(w, STR_NULL, RECORDER_WARNING, "FailedEviction",
		     "cannot evict for an unhealthy device, will try again: %s", err->msg);
	device_policy_again(&w->sick, str_from(w->evicting_for), loop_now(w->host->loop));
	worker_policy(w);
}

static void evict(struct worker *w, const struct device_policy_due *due, struct arena *a)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct json *body = json_make_object(a), *metadata = json_make_object(a);

	/* Nobody would create a static pod elsewhere. */
	if (client_busy(&w->eviction) || w->pod->is_static)
		return;
	free(w->evicting_for);
	w->evicting_for = str_dup(due->container_id);
	json_put_str(a, body, "apiVersion", STR("policy/v1"));
	json_put_str(a, body, "kind", STR("Eviction"));
	json_setz(body, "metadata", metadata);
	json_put_str(a, metadata, "name", w->pod->name);
	json_put_str(a, metadata, "namespace", w->pod->ns);
	w->eviction = (struct client_request){
		.method = STR("POST"), .no_retry = true, .on_done = on_evicted, .arg = w
	};
	client_call(w->host->client, &w->eviction, &pods,
		    (struct resource_name){ w->pod->ns, w->pod->name, STR("eviction") }, body);
}

static void act(struct worker *w, enum device_policy_action action,
		const struct device_policy_due *due, struct arena *a)
{
	struct str message = words(due, a);

	worker_event(w, due->container, RECORDER_WARNING, "UnhealthyDevice", "%.*s",
		     STR_ARG(message));
	if (action == DEVICE_POLICY_FAIL) {
		w->stop_reason = str_dup(STR("UnhealthyDevice"));
		w->stop_message = str_dup(message);
	} else if (action == DEVICE_POLICY_RESTART) {
		lifecycle_device_failed(w->life, due->container_id);
	} else {
		evict(w, due, a);
	}
	worker_look(w);
}

void worker_policy(struct worker *w)
{
	CLEANUP(arena_release) struct arena a;
	struct device_policy_input in = { .assign = w->host->assign,
					  .pod = w->pod,
					  .seen = w->seen,
					  .now_ms = loop_now(w->host->loop) };
	struct device_policy_due due;
	struct str problem;
	int64_t wake_ms;

	arena_init(&a, REQUEST_WORK_MAX);
	if (w->step != WORKER_RUN || w->gone || w->pod->deleting || w->stop_reason || w->ended)
		return;
	in.policy = device_policy_of(w->pod, &w->host->policy, &a, &problem);
	if (problem.n > 0 && !w->policy_told)
		worker_warn(w, "InvalidDevicePolicy", problem);
	w->policy_told = problem.n > 0;
	if (device_policy_look(&w->sick, &in, &a, &due, &wake_ms))
		act(w, in.policy.action, &due, &a);
	if (wake_ms != INT64_MAX)
		loop_timer_start(&w->policy_timer, MAX(0, wake_ms - in.now_ms));
}

static void policy_on_timer(struct loop_timer *t)
{
	worker_policy(CONTAINER_OF(t, struct worker, policy_timer));
}

void worker_policy_init(struct worker *w)
{
	vec_init(&w->sick.cases, SIZE_MAX);
	loop_timer_init(&w->policy_timer, w->host->loop, policy_on_timer);
}

void worker_policy_release(struct worker *w)
{
	loop_timer_stop(&w->policy_timer);
	client_cancel(&w->eviction);
	device_policy_release(&w->sick);
	free(w->evicting_for);
}

/*
 * Lifecycle handlers. The runtime cannot cancel a running command, so its callback gets a separate
 * object that outlives the hook.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/text/print.h"
#include "net/loop/loop.h"
#include "node/node_limits.h"
#include "node/probes/probes_impl.h"

struct hook_exec {
	struct hook *hook; /* NULL: the hook was freed */
};

struct hook {
	struct list link;
	struct pod *pod;
	char *container;
	struct str what; /* "Exec lifecycle hook ([a b])" */
	struct arena arena;
	struct probe_run *run;
	struct hook_exec *exec;
	struct loop_timer timer;
	struct loop_task task;
	bool too_short; /* the time-out cuts the sleep */
	const char *fault; /* reported by `task` */
	probes_hook_done *done;
	void *arg;
};

static void hook_free(struct hook *h)
{
	list_remove(&h->link);
	loop_timer_stop(&h->timer);
	loop_task_cancel(&h->task);
	probe_run_free(h->run);
	if (h->exec)
		h->exec->hook = NULL;
	pod_unref(h->pod);
	free(h->container);
	arena_release(&h->arena);
	free(h);
}

static void over(struct hook *h, const struct error *err)
{
	probes_hook_done *done = h->done;
	void *arg = h->arg;

	hook_free(h);
	done(arg, err);
}

/* `more` follows the error: the output of a command. */
static void hook_failed(struct hook *h, struct str why, struct str more)
{
	struct error err;

	(void)error_set(&err, ERR_INTERNAL,
			"%.*s for Container \"%s\" in Pod \"%.*s_%.*s(%.*s)\" failed - error: "
			"%.*s%.*s",
			STR_ARG(h->what), h->container, STR_ARG(h->pod->name), STR_ARG(h->pod->ns),
			STR_ARG(h->pod->uid), STR_ARG(why), STR_ARG(more));
	over(h, &err);
}

/* --- exec ----------------------------------------------------------------------------------- */

static void exec_exited(struct hook *h, const struct runtime_exec *result, struct str command)
{
	CLEANUP(buf_release)
	struct buf why = BUF_INIT(PROBE_OUTPUT_MAX), more = BUF_INIT(PROBE_OUTPUT_MAX),
		   out = BUF_INIT(PROBE_OUTPUT_MAX);

	(void)buf_printf(&why, "command '%.*s' exited with %d: %.*s", STR_ARG(command),
			 result->exit_code, STR_ARG(result->err));
	(void)buf_add(&out, result->out.p, MIN(result->out.n, PROBE_OUTPUT_MAX));
	(void)buf_add(&out, result->err.p, MIN(result->err.n, PROBE_OUTPUT_MAX - out.n));
	(void)buf_addz(&more, ", message: ");
	(void)print_quoted(&more, buf_str(&out));
	hook_failed(h, buf_str(&why), buf_str(&more));
}

/* The words between "([" and "])". */
static struct str words_of(const struct hook *h)
{
	struct str s = str_skip(h->what, strlen("Exec lifecycle hook (["));

	s.n = s.n >= 2 ? s.n - 2 : 0;
	return s;
}

static void on_exec(void *arg, const struct runtime_exec *result, const struct error *err)
{
	struct hook_exec *x = arg;
	struct hook *h = x->hook;

	free(x);
	if (!h)
		return;
	h->exec = NULL;
	if (err)
		hook_failed(h, str_from(err->msg), STR(", message: \"\""));
	else if (result->exit_code != 0)
		exec_exited(h, result, words_of(h));
	else
		over(h, NULL);
}

static void begin_exec(struct probes *p, struct hook *h, struct str id, const struct json *action,
		       int64_t timeout_ms)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT(PROBE_OUTPUT_MAX);
	const struct json *words = json_getz(action, "command");
	struct runtime_strs command = { .v = ARENA_ARRAY(&h->arena, struct str,
							 json_count(words) + 1) };
	struct runtime *runtime = p->opts.runtime;

	(void)buf_addz(&what, "Exec lifecycle hook ([");
	JSON_FOREACH (it, words) {
		(void)buf_printf(&what, "%s%.*s", command.n > 0 ? " " : "", STR_ARG(json_str(it)));
		command.v[command.n++] = json_str(it);
	}
	(void)buf_addz(&what, "])");
	h->what = arena_str(&h->arena, buf_str(&what));
	h->exec = XNEW(struct hook_exec);
	h->exec->hook = h;
	runtime->ops->exec(runtime, id, &command, timeout_ms, on_exec, h->exec);
}

/* --- httpGet and sleep ---------------------------------------------------------------------- */

static void hook_on_http(void *arg, enum probe_result result, struct str message)
{
	struct hook *h = arg;

	h->run = NULL;
	if (result == PROBE_SUCCESS || result == PROBE_WARNING)
		over(h, NULL);
	else
		hook_failed(h, message, STR_NULL);
}

static void begin_http(struct hook *h, const struct probe_target *t, const struct json *handler,
		       int64_t timeout_ms)
{
	struct str path = json_text_at(json_getz(handler, "httpGet"), "path");

	h->what = str_from(arena_printf(&h->arena, "HTTP lifecycle hook (%.*s)", STR_ARG(path)));
	h->run = probe_run_new(t, handler, timeout_ms, hook_on_http, h);
}

static void on_slept(struct loop_timer *t)
{
	struct hook *h = CONTAINER_OF(t, struct hook, timer);

	if (h->too_short)
		hook_failed(h, STR("container terminated before sleep hook finished"), STR_NULL);
	else
		over(h, NULL);
}

static void begin_sleep(struct hook *h, const struct json *action, int64_t timeout_ms)
{
	int64_t seconds = MAX(json_i64_at(action, "seconds", 0), INT64_C(0));
	int64_t ms = seconds > INT32_MAX ? INT64_C(1000) * INT32_MAX : seconds * 1000;

	h->what = str_from(
		arena_printf(&h->arena, "Sleep lifecycle hook (%lld)", (long long)seconds));
	h->too_short = timeout_ms > 0 && ms > timeout_ms;
	loop_timer_start(&h->timer, h->too_short ? timeout_ms : ms);
}

/* --- all hooks ------------------------------------------------------------------------------ */

static void on_fault(struct loop_task *t)
{
	struct hook *h = CONTAINER_OF(t, struct hook, task);
	struct error err;

	(void)error_set(&err, ERR_INVALID, "Cannot run handler: invalid handler: %s", h->fault);
	over(h, &err);
}

void probes_hook(struct probes *p, struct pod *pod, const struct probes_hook *hook,
		 probes_hook_done *done, void *arg)
{
	struct probe_target t = { .loop = p->opts.loop,
				  .runtime = p->opts.runtime,
				  .container = hook->container,
				  .container_id = hook->container_id,
				  .pod_ip = hook->pod_ip,
				  .purpose = "lifecycle",
				  .any_status = true };
	const struct json *handler = hook->handler, *action;
	struct hook *h = XNEW(struct hook);

	h->pod = pod_ref(pod);
	h->container = str_dup(json_text_at(hook->container, "name"));
	h->done = done;
	h->arg = arg;
	arena_init(&h->arena, REQUEST_WORK_MAX);
	loop_timer_init(&h->timer, p->opts.loop, on_slept);
	loop_task_init(&h->task, on_fault);
	list_push_back(&p->hooks, &h->link);
	if ((action = json_getz(handler, "exec"))) {
		begin_exec(p, h, hook->container_id, action, hook->timeout_ms);
	} else if (json_getz(handler, "httpGet")) {
		t.tls = probes_tls(p);
		begin_http(h, &t, handler, hook->timeout_ms);
	} else if ((action = json_getz(handler, "sleep"))) {
		begin_sleep(h, action, hook->timeout_ms);
	} else {
		h->fault = json_getz(handler, "tcpSocket") ? "tcpSocket is not supported"
							   : "it has no action";
		loop_defer(p->opts.loop, &h->task);
	}
}

void probes_hooks_free(struct probes *p)
{
	while (!list_empty(&p->hooks))
		hook_free(LIST_ENTRY(p->hooks.next, struct hook, link));
}

/*
 * Every event ends in attach_follow(): it makes the call that is due, checks whether we are behind,
 * and sets the one timer for the next time that either may change.
 */
#include "base/core/mem.h"
#include "base/report/log.h"
#include "net/net_limits.h"
#include "node/attach/attach_impl.h"

enum {
	RECONNECT_MS = 50,
	RECONNECT_MAX_MS = 1000,
	LOOK_MS = 250, /* while something waits */
};

static void attach_tick(struct attach *a)
{
	int64_t wait = attach_calls_next(a);
	bool waits = a->call || a->unknown_ms != INT64_MAX || !a->listed || !a->ready ||
		     a->behind ||
		     attach_poll_waiting_since(&a->poll, loop_now(a->opts.loop)) != INT64_MAX;

	attach_behind_look(a);
	if (waits)
		wait = wait < 0 ? LOOK_MS : MIN(wait, LOOK_MS);
	if (wait >= 0)
		loop_timer_start(&a->timer, wait);
}

static void attach_on_timer(struct loop_timer *t)
{
	attach_tick(CONTAINER_OF(t, struct attach, timer));
}

void attach_follow(struct attach *a)
{
	if (!a->stopping)
		loop_timer_start(&a->timer, 0);
}

/* --- the kubelet ---------------------------------------------------------------------- */

/*
 * A kubelet that connects may be another one than before: everything is requested, and Get is tried
 * again.
 */
static void attach_on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct attach *a = arg;
	bool ready = state == GRPC_CHANNEL_READY;
	int64_t now = loop_now(a->opts.loop);

	if (a->stopping)
		return;
	if (err && !ready)
		(void)snprintf(a->problem, sizeof(a->problem), "%s", err->msg);
	if (ready == a->ready)
		return;
	a->ready = ready;
	attach_poll_list(&a->poll, now);
	attach_poll_allocatable(&a->poll, now);
	attach_poll_offer_get(&a->poll, true);
	attach_poll_resume(&a->poll);
	attach_follow(a);
}

static void on_folder(void *arg, struct str name, const struct error *err)
{
	struct attach *a = arg;

	(void)name;
	if (err)
		loop_watch_free(TAKE(a->folder));
	else if (!a->ready)
		grpc_channel_connect(a->channel);
}

static void watch_folder(struct attach *a)
{
	CLEANUP(free) char *folder = xstrdup(a->socket);
	char *end = strrchr(folder, '/');
	struct error err;

	if (!end || end == folder)
		return;
	*end = '\0';
	if (loop_watch_new(a->opts.loop, folder, on_folder, a, &a->folder, &err) < 0)
		log_debug(a->opts.log, "cannot watch the kubelet's folder", LOG_ERR(&err));
}

static int connect_kubelet(struct attach *a, struct error *err)
{
	CLEANUP(free) char *text = NULL;
	struct grpc_channel_opts opts = { .eager = true,
					  .backoff_initial_ms = RECONNECT_MS,
					  .backoff_max_ms = RECONNECT_MAX_MS,
					  .on_state = attach_on_state,
					  .arg = a };
	struct buf to = BUF_INIT(NET_ADDRESS_MAX);
	int r;

	(void)buf_printf(&to, "unix:%s", a->socket);
	text = buf_take(&to);
	r = addr_parse(&opts.to, str_from(text), 0, err);
	if (r < 0)
		return error_wrap(err, r, "kubelet's socket %s", a->socket);
	a->channel = grpc_channel_new(a->opts.loop, &opts);
	watch_folder(a);
	return 0;
}

/* --- life ----------------------------------------------------------------------------- */

static bool asks_get(void *arg, struct str uid)
{
	const struct attach *a = arg;
	struct str ns, name;

	return attach_merge_asks_get(a->merge, uid, &ns, &name);
}

static bool is_settled(void *arg, struct str uid)
{
	const struct attach *a = arg;

	return attach_merge_settled(a->merge, uid);
}

static void attach_end(struct attach *a)
{
	a->stopping = true;
	loop_timer_stop(&a->timer);
	if (a->informers)
		attach_api_stop(a);
	attach_calls_stop(a);
}

static void attach_on_stopped(struct loop_task *t)
{
	struct attach *a = CONTAINER_OF(t, struct attach, stop_task);

	a->stopped(a->stopped_arg);
}

int attach_new(const struct attach_opts *opts, struct attach **ret_attach, struct error *err)
{
	CLEANUP(attach_free) struct attach *a = XNEW(struct attach);
	int64_t now = loop_now(opts->loop);
	int r;

	a->opts = *opts;
	a->node_name = xstrdup(opts->node_name);
	a->socket = xstrdup(opts->kubelet_socket);
	a->merge = attach_merge_new(opts->book, 0);
	if (opts->hooks)
		attach_merge_hook(a->merge, opts->hooks);
	attach_poll_init(&a->poll, opts->calls_per_s, opts->idle_ms, now);
	a->poll_ops = (struct attach_poll_ops){ asks_get, is_settled, a };
	a->began_ms = a->last_answer_ms = now;
	a->unknown_ms = INT64_MAX;
	loop_timer_init(&a->timer, opts->loop, attach_on_timer);
	loop_task_init(&a->stop_task, attach_on_stopped);
	attach_behind_init(a);
	r = connect_kubelet(a, err);
	if (r < 0)
		return r;
	attach_api_start(a);
	attach_follow(a);
	*ret_attach = TAKE(a);
	return 0;
}

void attach_stop(struct attach *a, void (*done)(void *arg), void *arg)
{
	attach_end(a);
	a->stopped = done;
	a->stopped_arg = arg;
	loop_defer(a->opts.loop, &a->stop_task);
}

void attach_free(struct attach *a)
{
	if (!a)
		return;
	attach_end(a);
	loop_task_cancel(&a->stop_task);
	attach_merge_free(a->merge);
	attach_poll_release(&a->poll);
	free(a->node_name);
	free(a->socket);
	free(a);
}

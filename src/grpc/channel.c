/*
 * A channel has at most one connection for new calls (`link`) and any number of retired ones, which
 * live until their last call has ended.
 *
 * One task at the end of the turn handles the consequences of changes: connecting, starting or
 * failing waiting calls, dropping unused connections. So functions never call back, and callbacks
 * may do anything, even free the channel: then only `freed` is checked, and the memory is freed
 * after the turn.
 */
#include "grpc/channel.h"

#include "base/core/mem.h"
#include "base/time/backoff.h"
#include "grpc/client_call.h"
#include "net/http/client.h"
#include "net/tls/tls.h"

enum {
	CONNECT_TIMEOUT_MS = 20 * 1000,
	BACKOFF_INITIAL_MS = 1000,
	BACKOFF_MAX_MS = 120 * 1000,
	/*
	 * A connection that lasted this long was not a failed attempt, even if it was never used.
	 */
	PROVEN_MS = 1000,
};

struct grpc_link {
	struct list node; /* channel's links */
	struct grpc_channel *channel;
	struct http_client *client;
	unsigned calls;
	int64_t opened_at; /* ms; -1: not yet */
	bool answered;
	bool retired; /* takes no new calls */
};

struct grpc_channel {
	struct loop *loop;
	struct grpc_channel_opts opts;
	char *server_name, *authority;
	enum grpc_channel_state state;
	struct error failure; /* why the last attempt failed */
	struct grpc_link *link; /* connecting or ready; NULL in other states */
	struct list links;
	struct list waiting, running; /* calls */
	struct backoff backoff;
	struct loop_timer timer; /* ends a back-off */
	struct loop_task task;
	int64_t tried_at; /* ms: start of the last attempt */
	bool asked; /* connect without a call */
	bool freed;
};

static void kick(struct grpc_channel *ch)
{
	loop_defer(ch->loop, &ch->task);
}

static void set_state(struct grpc_channel *ch, enum grpc_channel_state state,
		      const struct error *err)
{
	if (ch->state == state)
		return;
	ch->state = state;
	kick(ch);
	if (ch->opts.on_state)
		ch->opts.on_state(ch->opts.arg, state, err);
}

/* --- calls ---------------------------------------------------------------------------- */

/* Makes the request. On failure the call waits again, or is marked if the failure is its own. */
static int start_call(struct grpc_channel *ch, struct grpc_client_call *cc, struct error *err)
{
	struct grpc_link *link = ch->link;
	struct str scheme = ch->opts.tls ? STR("https") : STR("http");
	int r;

	list_remove(&cc->node);
	list_push_back(&ch->running, &cc->node);
	link->calls++;
	r = grpc_client_call_start(cc, link->client, link, scheme, str_from(ch->authority), err);
	if (r == 0)
		return 0;
	link->calls--;
	list_remove(&cc->node);
	list_push_front(&ch->waiting, &cc->node);
	if (r != -ERR_UNAVAILABLE) {
		cc->failed = true;
		cc->failure = grpc_status_of_error(err);
		cc->failure.message = arena_str(&cc->call.arena, cc->failure.message);
	}
	return r;
}

/*
 * Ends the waiting calls that are `hopeless`. They stay in the channel's list until it is their
 * turn, so that freeing the channel finds them all.
 */
static void fail_waiting(struct grpc_channel *ch, bool hopeless(const struct grpc_client_call *cc),
			 struct grpc_status st)
{
	size_t n = 0;

	LIST_FOREACH (it, &ch->waiting)
		n++;
	for (; n > 0 && !list_empty(&ch->waiting); n--) {
		struct list *node = ch->waiting.next;
		struct grpc_client_call *cc = LIST_ENTRY(node, struct grpc_client_call, node);

		list_remove(node);
		list_push_back(&ch->waiting, node);
		if (hopeless(cc))
			grpc_client_call_fail(cc, cc->failed ? cc->failure : st);
	}
}

static bool is_failed(const struct grpc_client_call *cc)
{
	return cc->failed;
}

static bool is_impatient(const struct grpc_client_call *cc)
{
	return cc->failed || !cc->wait_for_ready;
}

static bool is_any(const struct grpc_client_call *cc UNUSED)
{
	return true;
}

void grpc_channel_forget(struct grpc_channel *ch, struct grpc_client_call *cc)
{
	struct grpc_link *link = TAKE(cc->link);

	list_remove(&cc->node);
	if (link && --link->calls == 0 && link->retired)
		kick(ch);
}

/* --- connections ----------------------------------------------------------------------- */

void grpc_link_proven(struct grpc_link *link)
{
	if (link)
		link->answered = true;
}

static void link_free(struct grpc_link *link)
{
	list_remove(&link->node);
	http_client_free(link->client);
	free(link);
}

static void attempt_failed(struct grpc_channel *ch, const struct error *err)
{
	int64_t wait = backoff_next(&ch->backoff, loop_prng(ch->loop));

	(void)error_set(&ch->failure, ERR_UNAVAILABLE, "connection error: %s",
			err ? err->msg : "the connection was closed");
	ch->failure.sys_errno = err ? err->sys_errno : 0;
	/* The duration of the attempt counts as part of the wait. */
	loop_timer_start(&ch->timer, ch->tried_at + wait - loop_now(ch->loop));
	set_state(ch, GRPC_CHANNEL_TRANSIENT_FAILURE, &ch->failure);
}

static bool is_proven(const struct grpc_link *link)
{
	int64_t now = loop_now(link->channel->loop);

	return link->opened_at >= 0 && (link->answered || now - link->opened_at >= PROVEN_MS);
}

static void link_lost(struct grpc_link *link, const struct error *err)
{
	struct grpc_channel *ch = link->channel;

	if (link->retired)
		return;
	link->retired = true;
	ch->link = NULL;
	kick(ch);
	if (!is_proven(link)) {
		attempt_failed(ch, err);
		return;
	}
	backoff_reset(&ch->backoff);
	set_state(ch, GRPC_CHANNEL_IDLE, NULL);
}

static void on_link_open(void *arg)
{
	struct grpc_link *link = arg;

	link->opened_at = loop_now(link->channel->loop);
	set_state(link->channel, GRPC_CHANNEL_READY, NULL);
}

static void on_link_close(void *arg, const struct error *err)
{
	link_lost(arg, err);
}

static void begin_attempt(struct grpc_channel *ch)
{
	struct http_client_opts o = {
		.to = ch->opts.to,
		.tls = ch->opts.tls,
		.server_name = ch->server_name,
		.protocol = HTTP_PROTOCOL_2,
		.config.window = ch->opts.window,
		.connect_timeout_ms = ch->opts.connect_timeout_ms,
		.ping_interval_ms = ch->opts.ping_interval_ms,
		.ping_busy_only = true,
		.on_open = on_link_open,
		.on_close = on_link_close,
	};
	struct grpc_link *link;
	struct error err;

	ch->asked = false;
	ch->tried_at = loop_now(ch->loop);
	set_state(ch, GRPC_CHANNEL_CONNECTING, NULL);
	if (ch->freed)
		return;
	link = XNEW(struct grpc_link);
	o.arg = link;
	if (http_client_new(ch->loop, &o, &link->client, &err) < 0) {
		free(link);
		attempt_failed(ch, &err);
		return;
	}
	link->channel = ch;
	link->opened_at = -1;
	list_push_back(&ch->links, &link->node);
	ch->link = link;
}

static bool channel_is_wanted(const struct grpc_channel *ch)
{
	return ch->opts.eager || ch->asked || !list_empty(&ch->waiting);
}

static void on_backoff_end(struct loop_timer *t)
{
	struct grpc_channel *ch = CONTAINER_OF(t, struct grpc_channel, timer);

	if (channel_is_wanted(ch))
		begin_attempt(ch);
	else
		set_state(ch, GRPC_CHANNEL_IDLE, NULL);
}

/* --- the task -------------------------------------------------------------------------- */

static void start_waiting(struct grpc_channel *ch)
{
	struct error err;

	while (!ch->freed && ch->state == GRPC_CHANNEL_READY && !list_empty(&ch->waiting)) {
		struct list *first = ch->waiting.next;

		if (start_call(ch, LIST_ENTRY(first, struct grpc_client_call, node), &err) == 0)
			continue;
		if (err.code == ERR_UNAVAILABLE)
			link_lost(ch->link, &err);
		else
			fail_waiting(ch, is_failed, (struct grpc_status){ 0 });
	}
}

static void free_spent_links(struct grpc_channel *ch)
{
	LIST_FOREACH_SAFE (it, &ch->links) {
		struct grpc_link *link = LIST_ENTRY(it, struct grpc_link, node);

		if (link->retired && link->calls == 0)
			link_free(link);
	}
}

static void channel_work(struct loop_task *t)
{
	struct grpc_channel *ch = CONTAINER_OF(t, struct grpc_channel, task);

	free_spent_links(ch);
	fail_waiting(ch, is_failed, (struct grpc_status){ 0 });
	if (ch->freed)
		return;
	if (ch->state == GRPC_CHANNEL_IDLE && channel_is_wanted(ch))
		begin_attempt(ch);
	else if (ch->state == GRPC_CHANNEL_READY)
		start_waiting(ch);
	else if (ch->state == GRPC_CHANNEL_TRANSIENT_FAILURE)
		fail_waiting(ch, is_impatient, grpc_status_of_error(&ch->failure));
}

static void channel_release(struct loop_task *t)
{
	struct grpc_channel *ch = CONTAINER_OF(t, struct grpc_channel, task);

	/* Calls made by on_end callbacks while the channel was being freed. */
	fail_waiting(ch, is_any,
		     (struct grpc_status){ GRPC_CANCELLED, STR("the channel is closed") });
	if (!list_empty(&ch->waiting)) {
		kick(ch);
		return;
	}
	tls_unref(ch->opts.tls);
	free(ch->server_name);
	free(ch->authority);
	free(ch);
}

/* --- the channel's verbs ---------------------------------------------------------------- */

static char *choose_authority(const struct grpc_channel_opts *opts)
{
	if (opts->authority)
		return xstrdup(opts->authority);
	/* Like grpc-go: a path is not a valid authority, and servers reject it. */
	return xstrdup(opts->to.kind == ADDR_UNIX ? "localhost" : opts->to.text);
}

struct grpc_channel *grpc_channel_new(struct loop *l, const struct grpc_channel_opts *opts)
{
	struct grpc_channel *ch = XNEW(struct grpc_channel);
	int64_t initial = opts->backoff_initial_ms ? opts->backoff_initial_ms : BACKOFF_INITIAL_MS;
	int64_t max = opts->backoff_max_ms ? opts->backoff_max_ms : BACKOFF_MAX_MS;

	ch->loop = l;
	ch->opts = *opts;
	if (!opts->connect_timeout_ms)
		ch->opts.connect_timeout_ms = CONNECT_TIMEOUT_MS;
	if (opts->tls)
		(void)tls_ref(opts->tls);
	ch->server_name = opts->server_name ? xstrdup(opts->server_name) : NULL;
	ch->authority = choose_authority(opts);
	ch->backoff = (struct backoff){
		.initial_ms = initial, .max_ms = MAX(initial, max), .factor = 1.6, .jitter = 0.2
	};
	list_init(&ch->links);
	list_init(&ch->waiting);
	list_init(&ch->running);
	loop_timer_init(&ch->timer, l, on_backoff_end);
	loop_task_init(&ch->task, channel_work);
	if (opts->eager)
		kick(ch);
	return ch;
}

static void end_calls(struct list *calls)
{
	struct grpc_status st = { GRPC_CANCELLED, STR("the channel is closed") };
	struct list now, *node;

	list_init(&now);
	list_splice_back(&now, calls);
	while ((node = list_pop_front(&now)))
		grpc_client_call_fail(LIST_ENTRY(node, struct grpc_client_call, node), st);
}

void grpc_channel_free(struct grpc_channel *ch)
{
	if (!ch || ch->freed)
		return;
	ch->freed = true;
	ch->state = GRPC_CHANNEL_SHUTDOWN;
	ch->link = NULL;
	loop_timer_stop(&ch->timer);
	end_calls(&ch->running);
	end_calls(&ch->waiting);
	LIST_FOREACH_SAFE (it, &ch->links)
		link_free(LIST_ENTRY(it, struct grpc_link, node));
	loop_task_cancel(&ch->task);
	ch->task.fn = channel_release;
	kick(ch);
}

enum grpc_channel_state grpc_channel_state(const struct grpc_channel *ch)
{
	return ch->state;
}

int64_t grpc_channel_input_at(const struct grpc_channel *ch)
{
	return ch->link ? http_client_input_at(ch->link->client) : 0;
}

void grpc_channel_connect(struct grpc_channel *ch)
{
	ch->asked = true;
	if (ch->state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
		backoff_reset(&ch->backoff);
		loop_timer_start(&ch->timer, 0);
	}
	kick(ch);
}

struct grpc_call *grpc_channel_call(struct grpc_channel *ch, const struct grpc_method *method,
				    const struct grpc_call_opts *opts,
				    const struct grpc_call_ops *ops, void *data)
{
	struct grpc_client_call *cc = grpc_client_call_new(ch->loop, method, opts, ops, data);
	bool first = list_empty(&ch->waiting);
	struct error err UNZEROED;

	cc->channel = ch;
	list_push_back(&ch->waiting, &cc->node);
	if (cc->failed || !first || ch->state != GRPC_CHANNEL_READY || start_call(ch, cc, &err) < 0)
		kick(ch);
	return &cc->call;
}

/* --- one request, one reply --------------------------------------------------------------- */

static void unary_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct grpc_client_call *cc = CONTAINER_OF(c, struct grpc_client_call, call);

	cc->done(c->data, c, st, st->code == GRPC_OK ? c->message : NULL);
}

struct grpc_call *grpc_channel_unary(struct grpc_channel *ch, const struct grpc_method *method,
				     const ProtobufCMessage *request,
				     const struct grpc_call_opts *opts,
				     void (*done)(void *arg, struct grpc_call *c,
						  const struct grpc_status *st, const void *reply),
				     void *arg)
{
	static const struct grpc_call_ops ops = { .on_end = unary_end };
	struct grpc_call *c = grpc_channel_call(ch, method, opts, &ops, arg);
	struct grpc_client_call *cc = CONTAINER_OF(c, struct grpc_client_call, call);

	cc->done = done;
	if (grpc_call_send(c, request) == -ERR_TOO_LARGE) {
		cc->failed = true;
		cc->failure = (struct grpc_status){ GRPC_RESOURCE_EXHAUSTED,
						    STR("the request is too large to be sent") };
	}
	(void)grpc_call_half_close(c);
	return c;
}

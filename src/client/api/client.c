/*
 * The life of a request: it waits for a connection (or rests, because of the rate limit or a
 * Retry-After), runs, and is answered or retried. Its text is copied into the attempt, so that it
 * can be sent again.
 */
#include "client/api/client.h"

#include <assert.h>

#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/metrics.h"
#include "base/system/version.h"
#include "client/api/client_impl.h"
#include "client/client_limits.h"
#include "net/net_limits.h"
#include "net/tls/tls.h"

enum {
	RETRIES_MAX = 10,
	TIMEOUT_MS = 60 * 1000,
	CONNECT_BACKOFF_MS = 100,
	CONNECT_BACKOFF_MAX_MS = 5000,
	LOGIN_CHECK_MS = 1000,
};

void client_kick(struct client *c)
{
	loop_defer(c->loop, &c->task);
}

/* --- attempts -------------------------------------------------------------------------- */

static void attempt_free(struct client_attempt *a)
{
	list_remove(&a->node);
	loop_timer_stop(&a->deadline);
	loop_timer_stop(&a->rest);
	bytes_unref(a->body);
	buf_release(&a->text);
	arena_release(&a->arena);
	free(a);
}

/* Separates the request from its attempt and returns it. */
static struct client_request *detach(struct client_attempt *a)
{
	struct client_request *r = TAKE(a->request);

	loop_timer_stop(&a->deadline);
	loop_timer_stop(&a->rest);
	if (r)
		r->attempt = NULL;
	return r;
}

static void count_request(const struct client_attempt *a)
{
	char code[16] = "<error>";

	if (!a->client->requests)
		return;
	if (a->answer.status)
		(void)snprintf(code, sizeof(code), "%d", a->answer.status);
	metrics_counter_add(metrics_counter(a->client->requests, str_from(code), a->method,
					    a->client->authority),
			    1);
}

void client_attempt_end(struct client_attempt *a, const struct error *err)
{
	struct client_request *r = detach(a);

	count_request(a);
	a->answer.body = buf_str(&a->text);
	a->answer.retry_after_s = MAX(a->answer.retry_after_s, 0);
	/* Taken off the list first: on_done may do anything, even free the client. */
	a->ending = true;
	list_remove(&a->node);
	if (a->stream)
		http_stream_reset(a->stream, err);
	r->on_done(r, &a->answer, err);
	attempt_free(a);
}

static void begin_again(struct client_attempt *a, int64_t delay_ms)
{
	struct client *c = a->client;

	buf_clear(&a->text);
	a->answer = (struct client_answer){ 0 };
	a->ended = false;
	list_remove(&a->node);
	if (delay_ms > 0) {
		list_push_back(&c->resting, &a->node);
		loop_timer_start(&a->rest, delay_ms);
		return;
	}
	/* Started once: retries share the request's timeout. */
	if (a->timeout_ms > 0)
		loop_timer_start(&a->deadline, a->timeout_ms);
	a->timeout_ms = 0;
	list_push_back(&c->waiting, &a->node);
	client_kick(c);
}

static void on_rested(struct loop_timer *t)
{
	begin_again(CONTAINER_OF(t, struct client_attempt, rest), 0);
}

static void on_deadline(struct loop_timer *t)
{
	struct client_attempt *a = CONTAINER_OF(t, struct client_attempt, deadline);
	struct error err;

	/* It was not sent yet. The plugin that it waits for has its own time limit. */
	if (a->client->login.run && !a->stream) {
		loop_timer_start(&a->deadline, LOGIN_CHECK_MS);
		return;
	}
	(void)error_set(&err, ERR_TIMEOUT, "%s did not answer in time", a->client->to.text);
	client_attempt_end(a, &err);
}

static bool wants_retry(const struct client_attempt *a)
{
	int status = a->answer.status;

	return !a->request->no_retry && a->retries < RETRIES_MAX &&
	       (status == 429 || status / 100 == 5) && a->answer.retry_after_s >= 0;
}

static void client_answered(struct client_attempt *a)
{
	struct error err;

	if (a->answer.status / 100 == 2) {
		client_attempt_end(a, NULL);
		return;
	}
	if (wants_retry(a)) {
		count_request(a);
		a->retries++;
		begin_again(a, MAX(a->answer.retry_after_s * 1000L, 1L));
		return;
	}
	client_error_of_status(buf_str(&a->text), a->answer.status, &err, NULL);
	client_attempt_end(a, &err);
}

static void died(struct client_attempt *a, const struct error *cause)
{
	struct error err;

	/*
	 * The connection may have been dead before we wrote to it. A read can be repeated safely.
	 */
	if (!a->answer.status && !a->again && str_eq(a->method, STR("GET"))) {
		a->again = true;
		begin_again(a, 0);
		return;
	}
	(void)error_set(&err, cause ? cause->code : ERR_UNAVAILABLE, "the request to %s failed: %s",
			a->client->to.text, cause ? cause->msg : "the answer has no end");
	client_attempt_end(a, &err);
}

void client_attempt_closed(struct client_attempt *a, const struct error *err)
{
	if (a->ending)
		return;
	if (!a->request)
		attempt_free(a);
	else if (a->ended)
		client_answered(a);
	else
		died(a, err);
}

/* --- requests ------------------------------------------------------------------------------ */

static struct str or_default(struct arena *a, struct str s, struct str initial)
{
	return s.n ? arena_str(a, s) : initial;
}

static struct client_attempt *attempt_new(struct client *c, struct client_request *r)
{
	struct client_attempt *a = XNEW(struct client_attempt);

	a->client = c;
	a->request = r;
	list_init(&a->node);
	arena_init(&a->arena, HTTP_HEADERS_MAX);
	a->method = or_default(&a->arena, r->method, STR("GET"));
	a->accept = or_default(&a->arena, r->accept, STR("application/json"));
	a->content_type = or_default(&a->arena, r->content_type, STR("application/json"));
	a->target = str_from(arena_printf(&a->arena, "%.*s%.*s%s%.*s", STR_ARG(c->prefix),
					  STR_ARG(r->path), r->query.n ? "?" : "",
					  STR_ARG(r->query)));
	if (r->bearer.n)
		a->bearer = str_from(arena_printf(&a->arena, "Bearer %.*s", STR_ARG(r->bearer)));
	a->body = r->body.n ? bytes_copy(r->body) : NULL;
	buf_init(&a->text, CLIENT_ANSWER_MAX);
	loop_timer_init(&a->deadline, c->loop, on_deadline);
	loop_timer_init(&a->rest, c->loop, on_rested);
	return a;
}

void client_send(struct client *c, struct client_request *r)
{
	struct client_attempt *a;
	int64_t wait = 0;

	assert(!r->attempt && r->on_done);
	a = attempt_new(c, r);
	r->attempt = a;
	a->timeout_ms = r->timeout_ms ? r->timeout_ms : c->opts.timeout_ms;
	if (c->opts.qps > 0)
		wait = bucket_reserve(&c->limit, loop_now(c->loop) * CLOCK_MS) / CLOCK_MS;
	begin_again(a, wait);
}

void client_cancel(struct client_request *r)
{
	struct client_attempt *a = r->attempt;
	struct error err;

	if (!a)
		return;
	(void)error_set(&err, ERR_CANCELED, "the request was cancelled");
	(void)detach(a);
	if (a->stream)
		http_stream_reset(a->stream, &err); /* and on_close frees it */
	else
		attempt_free(a);
}

int client_answer_tree(const struct client_answer *answer, struct arena *a, struct json **ret_tree,
		       struct error *err)
{
	struct error why;

	if (json_parse(a, arena_str(a, answer->body), NULL, ret_tree, &why) == 0)
		return 0;
	return error_set(err, ERR_PROTOCOL, "the server's reply is not JSON: %s", why.msg);
}

/* --- the client ------------------------------------------------------------------------- */

static void client_work(struct loop_task *t)
{
	client_link_work(CONTAINER_OF(t, struct client, task));
}

static void client_on_timer(struct loop_timer *t)
{
	client_kick(CONTAINER_OF(t, struct client, timer));
}

static void copy_config(struct client *c, const struct kubeconfig *from)
{
	struct kubeconfig *k = &c->config;
	struct str *text[] = { &k->source, &k->context,         &k->cluster, &k->user, &k->ns,
			       &k->server, &k->tls_server_name, &k->ca,      &k->cert, &k->key,
			       &k->token,  &k->username,        &k->password };
	const char **paths[] = { &k->ca_file, &k->cert_file, &k->key_file, &k->token_file };

	*k = *from;
	k->arena = (struct arena){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		*text[i] = arena_str(&c->arena, *text[i]);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (*paths[i])
			*paths[i] = arena_strdup(&c->arena, str_from(*paths[i]));
	k->exec = client_login_copy(c, from->exec);
	client_link_act_as(c, from);
	k->as = k->as_uid = STR_NULL; /* sent as headers; we do not own their text */
	k->as_groups = NULL;
	k->as_extra = NULL;
	k->nas_groups = k->nas_extra = 0;
}

static int register_metrics(struct client *c, struct error *err)
{
	static const char *const labels[] = { "code", "method", "host" };
	struct metrics_spec spec = { .name = "rest_client_requests_total",
				     .help = "Requests to the API server by code, method and host.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = ARRAY_SIZE(labels) };

	return c->opts.metrics ? metrics_register(c->opts.metrics, &spec, &c->requests, err) : 0;
}

static void client_dispose(struct client *c)
{
	client_link_release(c);
	arena_release(&c->arena);
	free(c);
}

static void set_defaults(struct client *c)
{
	const char *role = c->opts.role ? c->opts.role : "client";

	if (!c->opts.timeout_ms)
		c->opts.timeout_ms = TIMEOUT_MS;
	c->user_agent = str_from(
		arena_printf(&c->arena, "devplane-%s/%s", role, version_get()->version));
	c->backoff = (struct backoff){ .initial_ms = CONNECT_BACKOFF_MS,
				       .max_ms = CONNECT_BACKOFF_MAX_MS,
				       .factor = 2,
				       .jitter = 0.5 };
	if (c->opts.qps > 0)
		bucket_init(&c->limit, c->opts.qps, MAX(c->opts.burst, 1.0));
}

int client_new(struct loop *l, const struct client_opts *opts, struct client **ret_client,
	       struct error *err)
{
	struct client *c = XNEW(struct client);
	int r;

	c->loop = l;
	c->opts = *opts;
	arena_init(&c->arena, SIZE_MAX);
	copy_config(c, opts->config);
	list_init(&c->links);
	list_init(&c->waiting);
	list_init(&c->resting);
	list_init(&c->running);
	loop_timer_init(&c->timer, l, client_on_timer);
	loop_task_init(&c->task, client_work);
	set_defaults(c);
	r = client_link_setup(c, err);
	if (r == 0)
		r = register_metrics(c, err);
	if (r < 0) {
		client_dispose(c);
		return r;
	}
	*ret_client = c;
	return 0;
}

static void end_all(struct list *attempts)
{
	struct error err;

	(void)error_set(&err, ERR_CANCELED, "the client was closed");
	while (!list_empty(attempts))
		client_attempt_end(LIST_ENTRY(attempts->next, struct client_attempt, node), &err);
}

/* Also ends requests that on_done callbacks made while the client was being freed. */
static void client_release(struct loop_task *t)
{
	struct client *c = CONTAINER_OF(t, struct client, task);

	if (!list_empty(&c->waiting) || !list_empty(&c->resting)) {
		end_all(&c->waiting);
		end_all(&c->resting);
		client_kick(c);
		return;
	}
	client_dispose(c);
}

void client_free(struct client *c)
{
	if (!c || c->freed)
		return;
	c->freed = true;
	loop_timer_stop(&c->timer);
	client_login_stop(c);
	end_all(&c->running);
	end_all(&c->waiting);
	end_all(&c->resting);
	client_link_free_all(c);
	loop_task_cancel(&c->task);
	c->task.fn = client_release;
	client_kick(c);
}

struct loop *client_loop(const struct client *c)
{
	return c->loop;
}

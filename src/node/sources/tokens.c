/*
 * Tokens, one per pod, audience and lifetime. A timer requests the next one in time. While that
 * fails, the old one is used as long as it is valid. Waiting callers share one request.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/time/backoff.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "node/sources/sources_impl.h"

/* If our clock is ahead, a token always looks old: it is renewed, but not constantly. */
enum { JITTER_S = 10, RENEW_LEAST_MS = 10000, RETRY_MS = 1000, RETRY_MAX_MS = 60000 };

#define DAY_NS (INT64_C(86400) * CLOCK_SEC)

struct token_waiter {
	struct list link;
	sources_token_done *done;
	void *arg;
};

struct token {
	struct list link;
	struct sources *owner;
	struct str uid, ns, name, account, audience; /* in `arena` */
	struct arena arena;
	int64_t expiry_s;
	char *text; /* NULL: none yet */
	int64_t expires_ns, renew_ns; /* wall */
	struct client_request request;
	struct loop_timer timer;
	struct loop_task task;
	struct list waiters;
	struct backoff backoff;
	bool telling; /* callbacks are being called */
	bool dropped; /* its pod is gone: waiting callers get an error, then it is freed */
};

static int64_t wall(const struct token *t)
{
	return clock_wall(loop_clock(t->owner->opts.loop));
}

static bool valid(const struct token *t)
{
	return t->text && wall(t) <= t->expires_ns;
}

static void forget_text(struct token *t)
{
	if (t->text)
		explicit_bzero(t->text, strlen(t->text));
	free(t->text);
	t->text = NULL;
}

static void token_free(struct token *t)
{
	struct list *node;

	list_remove(&t->link);
	client_cancel(&t->request);
	loop_timer_stop(&t->timer);
	loop_task_cancel(&t->task);
	while ((node = list_pop_front(&t->waiters)))
		free(LIST_ENTRY(node, struct token_waiter, link));
	forget_text(t);
	arena_release(&t->arena);
	free(t);
}

/*
 * Callbacks may request again, cancel others or drop the pod: meanwhile only `dropped` may be set.
 */
static void tell_waiters(struct token *t, const struct error *err)
{
	size_t n = 0;

	LIST_FOREACH (it, &t->waiters)
		n++;
	t->telling = true;
	for (; n > 0 && !list_empty(&t->waiters); n--) {
		struct list *node = list_pop_front(&t->waiters);
		struct token_waiter w = *LIST_ENTRY(node, struct token_waiter, link);

		free(LIST_ENTRY(node, struct token_waiter, link));
		w.done(w.arg, err ? STR_NULL : str_from(t->text), err);
	}
	t->telling = false;
}

/* --- requests ------------------------------------------------------------------------------- */

static struct json *request_tree(struct arena *a, const struct token *t)
{
	struct json *tree = json_make_object(a), *spec, *ref;

	json_put_str(a, tree, "apiVersion", STR("authentication.k8s.io/v1"));
	json_put_str(a, tree, "kind", STR("TokenRequest"));
	spec = json_need_object(a, tree, "spec");
	if (t->audience.n > 0)
		json_append(json_need_array(a, spec, "audiences"), json_make_str(a, t->audience));
	else
		(void)json_need_array(a, spec, "audiences");
	json_put_i64(a, spec, "expirationSeconds", t->expiry_s);
	ref = json_need_object(a, spec, "boundObjectRef");
	json_put_str(a, ref, "apiVersion", STR("v1"));
	json_put_str(a, ref, "kind", STR("Pod"));
	json_put_str(a, ref, "name", t->name);
	json_put_str(a, ref, "uid", t->uid);
	return tree;
}

static void tokens_ask(struct token *t)
{
	struct resource accounts = resource_builtin("", "v1", "serviceaccounts");
	struct resource_name name = { .ns = t->ns,
				      .name = t->account,
				      .subresource = STR("token") };
	struct arena a;

	if (client_busy(&t->request))
		return;
	arena_init(&a, REQUEST_WORK_MAX);
	t->request.method = STR("POST");
	client_call(t->owner->opts.client, &t->request, &accounts, name, request_tree(&a, t));
	arena_release(&a);
}

static void tokens_on_timer(struct loop_timer *timer)
{
	tokens_ask(CONTAINER_OF(timer, struct token, timer));
}

/* When to request the next one: at four fifths of its life, or after a day, minus some seconds. */
static void plan_renewal(struct token *t, int64_t life_s)
{
	int64_t jitter = (int64_t)prng_below(loop_prng(t->owner->opts.loop), JITTER_S) * CLOCK_SEC;
	int64_t issued = t->expires_ns - life_s * CLOCK_SEC;
	int64_t late = t->expires_ns - life_s / 5 * CLOCK_SEC;

	t->renew_ns = MIN(late, issued + DAY_NS) - jitter;
	loop_timer_start(&t->timer,
			 MAX((t->renew_ns - wall(t)) / CLOCK_MS, (int64_t)RENEW_LEAST_MS));
}

static int take_answer(struct token *t, const struct client_answer *answer, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree = NULL, *status;
	struct str text;
	int64_t life_s;
	int r;

	arena_init(&a, REQUEST_WORK_MAX);
	r = client_answer_tree(answer, &a, &tree, err);
	if (r < 0)
		return r;
	status = json_getz(tree, "status");
	text = json_text_at(status, "token");
	if (text.n == 0 || memchr(text.p, '\0', text.n))
		return error_set(err, ERR_PROTOCOL, "the answer has no token");
	r = timestamp_parse(json_text_at(status, "expirationTimestamp"), &t->expires_ns, err);
	if (r < 0)
		return r;
	life_s = json_i64_at(json_getz(tree, "spec"), "expirationSeconds", t->expiry_s);
	forget_text(t);
	t->text = str_dup(text);
	plan_renewal(t, MAX(life_s, INT64_C(1)));
	return 0;
}

static void tokens_failed(struct token *t, struct error *failure)
{
	loop_timer_start(&t->timer, backoff_next(&t->backoff, loop_prng(t->owner->opts.loop)));
	if (valid(t)) {
		tell_waiters(t, NULL);
		return;
	}
	(void)error_wrap(failure, -(int)failure->code,
			 t->text ? "token expired and refresh failed" : "failed to fetch token");
	tell_waiters(t, failure);
}

static void tokens_on_done(struct client_request *r, const struct client_answer *answer,
			   const struct error *err)
{
	struct token *t = r->arg;
	const struct sources_opts *o = &t->owner->opts;
	bool renewed = t->text != NULL;
	struct error why;

	if (err)
		why = *err;
	if (err || take_answer(t, answer, &why) < 0) {
		tokens_failed(t, &why);
		return;
	}
	backoff_reset(&t->backoff);
	if (!list_empty(&t->waiters))
		tell_waiters(t, NULL);
	else if (renewed && o->on_change)
		o->on_change(o->arg, t->uid);
}

/* --- waiting callers ------------------------------------------------------------------------ */

static void tokens_on_task(struct loop_task *task)
{
	struct token *t = CONTAINER_OF(task, struct token, task);
	struct error err;

	if (t->dropped) {
		(void)error_set(&err, ERR_CANCELED, "the pod has gone");
		tell_waiters(t, &err);
		token_free(t);
	} else if (t->text && wall(t) < t->renew_ns) {
		tell_waiters(t, NULL);
	} else if (t->owner->opts.client) {
		tokens_ask(t);
	} else {
		(void)error_set(&err, ERR_UNAVAILABLE, "there is no API server");
		tell_waiters(t, &err);
	}
}

static struct token *token_new(struct sources *s, const struct pod *pod, struct str audience,
			       int64_t expiry_s)
{
	struct token *t = XNEW(struct token);
	struct str account = json_text_at(pod->spec, "serviceAccountName");

	arena_init(&t->arena, REQUEST_WORK_MAX);
	t->owner = s;
	t->uid = arena_str(&t->arena, pod->uid);
	t->ns = arena_str(&t->arena, pod->ns);
	t->name = arena_str(&t->arena, pod->name);
	t->account = account.n > 0 ? arena_str(&t->arena, account) : STR("default");
	t->audience = arena_str(&t->arena, audience);
	t->expiry_s = expiry_s;
	t->request.on_done = tokens_on_done;
	t->request.arg = t;
	t->backoff = (struct backoff){
		.initial_ms = RETRY_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.5
	};
	loop_timer_init(&t->timer, s->opts.loop, tokens_on_timer);
	loop_task_init(&t->task, tokens_on_task);
	list_init(&t->waiters);
	list_push_back(&s->tokens, &t->link);
	return t;
}

static struct token *token_find(struct sources *s, struct str uid, struct str audience,
				int64_t expiry_s)
{
	LIST_FOREACH (it, &s->tokens) {
		struct token *t = LIST_ENTRY(it, struct token, link);

		if (!t->dropped && t->expiry_s == expiry_s && str_eq(t->audience, audience) &&
		    str_eq(t->uid, uid))
			return t;
	}
	return NULL;
}

void sources_token(struct sources *s, struct pod *pod, struct str audience, int64_t expiry_s,
		   sources_token_done *done, void *arg)
{
	struct token *t = token_find(s, pod->uid, audience, expiry_s);
	struct token_waiter *w = XNEW(struct token_waiter);

	if (!t)
		t = token_new(s, pod, audience, expiry_s);
	w->done = done;
	w->arg = arg;
	list_push_back(&t->waiters, &w->link);
	loop_defer(s->opts.loop, &t->task);
}

static void cancel_waiters(struct token *t, const void *arg)
{
	LIST_FOREACH_SAFE (it, &t->waiters) {
		struct token_waiter *w = LIST_ENTRY(it, struct token_waiter, link);

		if (w->arg != arg)
			continue;
		list_remove(&w->link);
		free(w);
	}
}

void sources_token_cancel(struct sources *s, void *arg)
{
	LIST_FOREACH (it, &s->tokens)
		cancel_waiters(LIST_ENTRY(it, struct token, link), arg);
}

void sources_tokens_drop(struct sources *s, struct str pod_uid)
{
	LIST_FOREACH_SAFE (it, &s->tokens) {
		struct token *t = LIST_ENTRY(it, struct token, link);

		if (!str_eq(t->uid, pod_uid))
			continue;
		client_cancel(&t->request);
		loop_timer_stop(&t->timer);
		t->dropped = true;
		loop_defer(s->opts.loop, &t->task);
	}
}

void sources_tokens_free(struct sources *s)
{
	while (!list_empty(&s->tokens))
		token_free(LIST_ENTRY(s->tokens.next, struct token, link));
}

/*
 * One call, and the answers that a write has received. A write is decided again after each call,
 * so the same question comes up repeatedly. An answer is valid if the webhook and the question
 * are the same to the byte. If they differ, because someone else changed the object meanwhile,
 * the webhook is called again with the current question, a limited number of times.
 */
#include "base/core/clock.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/system/uuid.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/server_limits.h"
#include "server/webhooks/target.h"
#include "server/webhooks/webhooks_impl.h"

enum { ASKED_MAX = 10 }; /* questions to one webhook about one write */

struct webhook_memo {
	struct webhook_answer *answers;
	unsigned open; /* calls under way */
	struct webhook_rounds rounds;
};

static const char memo_key;

/* It has memory of its own, freed with it: one write may ask many questions. */
struct webhook_call {
	struct webhook_post post;
	struct arena arena;
	struct list link; /* in the list of all calls */
	struct webhooks *webhooks;
	struct admission_request *req;
	struct webhook_answer *answer;
	enum webhook_type type;
	enum webhook_version version;
	enum admission_op op;
	bool fails_open;
	struct str name, url;
	int64_t begun; /* monotonic ns */
	bool cut; /* limited by the rest of the request's time */
	char uid[UUID_TEXT_SIZE];
};

static struct webhook_memo *memo_of(struct admission_request *req)
{
	return admission_memo(req, &memo_key, sizeof(struct webhook_memo));
}

struct webhook_rounds *webhook_rounds(struct admission_request *req)
{
	return &memo_of(req)->rounds;
}

/* --- the end of a call ------------------------------------------------------------ */

static void call_free(struct webhook_call *c)
{
	arena_release(&c->arena);
	free(c);
}

/* Reads the verdict; or returns an error. */
static int read_answer(struct webhook_call *c, struct error *err)
{
	struct webhook_post *p = &c->post;
	int r;

	if (p->err.code)
		return error_set(err, ERR_UNAVAILABLE, "failed to call webhook: Post \"%.*s\": %s",
				 STR_ARG(c->url), p->err.msg);
	if (p->status < 200 || p->status > 299)
		return webhook_review_bad_status(p->status, buf_str(&p->answer), err);
	r = webhook_review_read(&c->arena, buf_str(&p->answer), c->version, str_from(c->uid),
				c->type == WEBHOOK_MUTATING, &c->answer->verdict, err);
	if (r == 0)
		r = webhook_verdict_keep(c->req->work, &c->answer->verdict, err);
	return r;
}

static void call_count(struct webhook_call *c)
{
	const struct webhook_answer *answer = c->answer;
	const struct clock *clock = c->webhooks->server->clock;
	double seconds = (double)(clock_monotonic(clock) - c->begun) / 1e9;
	enum webhook_end end = WEBHOOK_ALLOWED;
	int64_t code = 200;

	if (answer->err) {
		end = c->fails_open ? WEBHOOK_FAILED_OPEN : WEBHOOK_FAILED;
		code = 503;
	} else if (!answer->verdict.allowed) {
		end = WEBHOOK_REFUSED;
		code = json_i64_at(answer->verdict.status, "code", 400);
		code = MIN(MAX(code, INT64_C(400)), INT64_C(600));
	}
	webhook_metrics_count(c->webhooks, c->type, c->name, c->op, end, (int)code, seconds);
}

/* Records why there is no verdict. */
static void call_fail(struct webhook_call *c, const struct error *err)
{
	const struct log *log = c->webhooks->server->opts.log;
	struct error *kept = ARENA_NEW(c->req->work, struct error);

	*kept = *err;
	c->answer->err = kept;
	c->answer->stopped = c->webhooks->stopping;
	log_warn(log, "a webhook failed", LOG_STR("webhook", c->name),
		 LOG_BOOL("ignored", c->fails_open), LOG_ERR(kept));
}

static void call_on_done(struct webhook_post *post)
{
	struct webhook_call *c = CONTAINER_OF(post, struct webhook_call, post);
	struct webhook_memo *memo = memo_of(c->req);
	struct webhooks *w = c->webhooks;
	struct admission_request *req = c->req;
	struct error err;

	list_remove(&c->link);
	c->answer->late = c->cut && post->err.code == ERR_TIMEOUT;
	if (read_answer(c, &err) < 0)
		call_fail(c, &err);
	buf_release(&post->answer);
	c->answer->done = true;
	call_count(c);
	call_free(c);
	if (--memo->open == 0)
		admission_resume(req);
	if (w->stopping && list_empty(&w->calls))
		w->on_stopped(w->stop_arg);
}

void webhooks_stop(struct webhooks *w, void (*done)(void *arg), void *arg)
{
	struct error err;

	if (w)
		w->stopping = true;
	if (!w || list_empty(&w->calls)) {
		done(arg);
		return;
	}
	w->on_stopped = done;
	w->stop_arg = arg;
	(void)error_set(&err, ERR_UNAVAILABLE, "the server is being stopped");
	LIST_FOREACH (it, &w->calls)
		webhook_post_cancel(&LIST_ENTRY(it, struct webhook_call, link)->post, &err);
}

/* --- starting a call -------------------------------------------------------------- */

/* Limits the call to the request's remaining time; at least 1, so that it ends with a timeout. */
static void limit_time(struct webhook_call *c, const struct webhook *h)
{
	int64_t left_ns = c->req->deadline_ns - c->begun;
	int64_t left_ms = MAX((left_ns + CLOCK_MS - 1) / CLOCK_MS, INT64_C(1));

	c->cut = left_ms < h->timeout_s * 1000;
	c->post.timeout_ms = c->cut ? left_ms : h->timeout_s * 1000;
	c->post.target = webhook_target_within(&c->arena, h, (c->post.timeout_ms + 999) / 1000);
}

static void call_start(struct webhook_call *c, const struct webhook *h, struct str text)
{
	struct arena *a = &c->arena;
	char *body = arena_strdup(a, text);
	struct uuid uuid;

	uuid_make_seeded(&uuid, c->req->write->prng);
	webhook_review_name(c->version, body, uuid_print(&uuid, c->uid));
	limit_time(c, h);
	c->post.server_name = arena_strdup(a, str_from(h->server_name));
	c->post.authority = arena_str(a, h->authority);
	c->post.body = str_of(body, text.n);
	c->post.done = call_on_done;
	list_push_back(&c->webhooks->calls, &c->link);
	memo_of(c->req)->open++;
	webhook_peer_post(h->peer, &c->post);
}

/* Makes a call, or an answer that says why it is impossible. */
static void call(struct admission_request *req, const struct webhook *h, enum webhook_type type,
		 struct webhook_answer *answer, struct str text)
{
	struct webhooks *w = req->server->webhooks;
	struct webhook_call *c = XNEW(struct webhook_call);
	struct arena *a = &c->arena;
	struct error err = { 0 }, why;
	int r = 0;

	*c = (struct webhook_call){ .webhooks = w,
				    .req = req,
				    .answer = answer,
				    .type = type,
				    .version = h->version,
				    .op = req->op,
				    .fails_open = h->fails_open,
				    .begun = clock_monotonic(w->server->clock) };
	arena_init(a, SIZE_MAX);
	c->name = arena_str(a, h->name);
	c->url = str_from(
		arena_printf(a, "https://%.*s%.*s", STR_ARG(h->authority), STR_ARG(h->target)));
	if (w->stopping)
		r = error_set(&err, ERR_UNAVAILABLE, "the server is being stopped");
	if (r == 0)
		r = webhook_target(req->state, h, req->write->prng, a, &c->post.to, &err);
	if (r == 0) {
		call_start(c, h, text);
		return;
	}
	(void)error_set(&why, ERR_UNAVAILABLE, "failed to call webhook: Post \"%.*s\": %s",
			STR_ARG(c->url), err.msg);
	call_fail(c, &why);
	answer->done = true;
	call_count(c);
	call_free(c);
}

static struct webhook_answer *call_find(const struct webhook_memo *memo, const struct webhook *h,
					const uint64_t hash[2], unsigned *ret_asked)
{
	struct webhook_answer *found = NULL;

	*ret_asked = 0;
	for (struct webhook_answer *it = memo->answers; it; it = it->next) {
		if (it->hook != h->id)
			continue;
		(*ret_asked)++;
		if (it->hash[0] == hash[0] && it->hash[1] == hash[1])
			found = it;
	}
	return found;
}

static void refuse_version(struct webhook_answer *answer)
{
	static const struct error err = {
		.code = ERR_UNAVAILABLE,
		.msg = "could not create admission objects: webhook does not accept known "
		       "AdmissionReview versions (v1, v1beta1)",
	};

	answer->done = true;
	answer->err = &err;
}

int webhook_ask(struct admission_request *req, const struct webhook *h, enum webhook_type type,
		const struct webhook_question *q, struct webhook_answer **ret_answer,
		struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(WEBHOOK_REVIEW_MAX);
	struct webhook_memo *memo = memo_of(req);
	struct webhook_answer *answer;
	uint64_t hash[2];
	unsigned asked;
	int r;

	r = webhook_review_print(q, &text);
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "the object is too large for a webhook");
	hash[0] = hash_bytes(buf_str(&text), hash_process_seed());
	hash[1] = hash_bytes(buf_str(&text), ~hash_process_seed());
	answer = call_find(memo, h, hash, &asked);
	if (!answer && asked >= ASKED_MAX)
		return error_set(err, ERR_CONFLICT,
				 "the object was changed by others during each of the %d calls of "
				 "admission webhook \"%.*s\"; please try again",
				 ASKED_MAX, STR_ARG(h->name));
	if (!answer) {
		answer = ARENA_NEW(req->work, struct webhook_answer);
		*answer = (struct webhook_answer){ .next = memo->answers,
						   .hook = h->id,
						   .hash = { hash[0], hash[1] } };
		memo->answers = answer;
		if (h->version == WEBHOOK_NO_VERSION)
			refuse_version(answer);
		else
			call(req, h, type, answer, buf_str(&text));
	}
	*ret_answer = answer;
	return 0;
}

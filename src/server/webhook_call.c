/*
 * One call, and the memory of a write for the answers it got. A write is decided anew after
 * each; so the question is asked again and again, and an answer counts when who is asked and
 * what is asked are the same to the byte. Where they are not, because the object was changed by
 * somebody else meanwhile, the webhook is asked about what it is now: a bounded number of times.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/uuid.h"
#include "server/server_impl.h"
#include "server/verb_impl.h"
#include "server/webhook_target.h"
#include "server/webhooks_impl.h"

enum { ASKED_MAX = 10 }; /* questions to one webhook about one write */

struct webhook_memo {
	struct webhook_answer *answers;
	unsigned open; /* calls under way */
	struct webhook_rounds rounds;
};

static const char memo_key;

struct webhook_call {
	struct webhook_post post;
	struct list link; /* of all calls */
	struct webhooks *webhooks;
	struct mutation *m;
	struct webhook_answer *answer;
	enum webhook_type type;
	enum webhook_version version;
	enum admission_op op;
	bool fails_open;
	struct str name, url;
	int64_t begun; /* monotonic ns */
	char uid[UUID_TEXT_SIZE];
};

static struct webhook_memo *memo_of(struct mutation *m)
{
	return mutation_memo(m, &memo_key, sizeof(struct webhook_memo));
}

struct webhook_rounds *webhook_rounds(struct mutation *m)
{
	return &memo_of(m)->rounds;
}

/* --- the end of a call ------------------------------------------------------------ */

/* Whether there is a verdict; else why not. */
static int read_answer(struct webhook_call *c, struct error *err)
{
	struct webhook_post *p = &c->post;
	struct arena *a = &c->m->x->work;

	if (p->err.code)
		return error_set(err, ERR_UNAVAILABLE, "failed to call webhook: Post \"%.*s\": %s",
				 STR_ARG(c->url), p->err.msg);
	if (p->status < 200 || p->status > 299)
		return webhook_review_bad_status(p->status, buf_str(&p->answer), err);
	return webhook_review_read(a, arena_str(a, buf_str(&p->answer)), c->version,
				   str_from(c->uid), c->type == WEBHOOK_MUTATING,
				   &c->answer->verdict, err);
}

static void count(struct webhook_call *c)
{
	const struct webhook_answer *answer = c->answer;
	const struct clock *clock = c->webhooks->server->clock;
	double seconds = (double)(clock_monotonic(clock) - c->begun) / 1e9;
	enum webhook_end end = WEBHOOK_ALLOWED;
	int64_t code = 200;

	if (answer->err.code) {
		end = c->fails_open ? WEBHOOK_FAILED_OPEN : WEBHOOK_FAILED;
		code = 503;
	} else if (!answer->verdict.allowed) {
		end = WEBHOOK_REFUSED;
		code = json_i64_at(answer->verdict.status, "code", 400);
		code = MIN(MAX(code, INT64_C(400)), INT64_C(600));
	}
	webhook_metrics_count(c->webhooks, c->type, c->name, c->op, end, (int)code, seconds);
}

static void tell_failure(struct webhook_call *c)
{
	const struct log *log = c->webhooks->server->opts.log;

	log_warn(log, "a webhook failed", LOG_STR("webhook", c->name),
		 LOG_BOOL("ignored", c->fails_open), LOG_ERR(&c->answer->err));
}

static void on_done(struct webhook_post *post)
{
	struct webhook_call *c = CONTAINER_OF(post, struct webhook_call, post);
	struct webhook_memo *memo = memo_of(c->m);
	struct webhooks *w = c->webhooks;

	list_remove(&c->link);
	if (read_answer(c, &c->answer->err) < 0)
		tell_failure(c);
	buf_release(&post->answer);
	c->answer->stopped = c->answer->err.code && w->stopping;
	c->answer->done = true;
	count(c);
	if (--memo->open == 0)
		mutation_resume(c->m);
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

/* --- its beginning ---------------------------------------------------------------- */

static void start(struct webhook_call *c, const struct webhook *h, struct str text,
		  enum webhook_version version)
{
	struct arena *a = &c->m->x->work;
	char *body = arena_strdup(a, text);
	struct uuid uuid;

	uuid_make_seeded(&uuid, c->m->write.prng);
	webhook_review_name(version, body, uuid_print(&uuid, c->uid));
	c->begun = clock_monotonic(c->webhooks->server->clock);
	c->post.server_name = arena_strdup(a, str_from(h->server_name));
	c->post.authority = arena_str(a, h->authority);
	c->post.target = arena_str(a, h->target);
	c->post.body = str_of(body, text.n);
	c->post.timeout_ms = h->timeout_s * 1000;
	c->post.done = on_done;
	list_push_back(&c->webhooks->calls, &c->link);
	memo_of(c->m)->open++;
	webhook_peer_post(h->peer, &c->post);
}

/* A call, or an answer that says why there can be none. */
static void call(struct mutation *m, const struct webhook *h, enum webhook_type type,
		 struct webhook_answer *answer, struct str text)
{
	struct webhooks *w = m->x->server->webhooks;
	struct arena *a = &m->x->work;
	struct webhook_call *c = ARENA_NEW(a, struct webhook_call);
	struct error err = { 0 };
	int r = 0;

	*c = (struct webhook_call){ .webhooks = w,
				    .m = m,
				    .answer = answer,
				    .type = type,
				    .version = h->version,
				    .op = m->op,
				    .fails_open = h->fails_open,
				    .name = arena_str(a, h->name) };
	c->url = str_from(
		arena_printf(a, "https://%.*s%.*s", STR_ARG(h->authority), STR_ARG(h->target)));
	if (w->stopping)
		r = error_set(&err, ERR_UNAVAILABLE, "the server is being stopped");
	if (r == 0)
		r = webhook_target(m->state, h, m->write.prng, a, &c->post.to, &err);
	if (r == 0) {
		start(c, h, text, h->version);
		return;
	}
	(void)error_set(&answer->err, ERR_UNAVAILABLE, "failed to call webhook: Post \"%.*s\": %s",
			STR_ARG(c->url), err.msg);
	answer->stopped = w->stopping;
	answer->done = true;
	c->begun = clock_monotonic(w->server->clock);
	tell_failure(c);
	count(c);
}

static struct webhook_answer *find(const struct webhook_memo *memo, const struct webhook *h,
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

static int no_version(struct webhook_answer *answer)
{
	answer->done = true;
	return error_set(&answer->err, ERR_UNAVAILABLE,
			 "could not create admission objects: webhook does not accept known "
			 "AdmissionReview versions (v1, v1beta1)");
}

int webhook_ask(struct mutation *m, const struct webhook *h, enum webhook_type type,
		const struct webhook_question *q, struct webhook_answer **ret_answer,
		struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(WEBHOOK_REVIEW_MAX);
	struct webhook_memo *memo = memo_of(m);
	struct webhook_answer *answer;
	uint64_t hash[2];
	unsigned asked;
	int r;

	r = webhook_review_print(q, &text);
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "the object is too large for a webhook");
	hash[0] = hash_bytes(buf_str(&text), hash_process_seed());
	hash[1] = hash_bytes(buf_str(&text), ~hash_process_seed());
	answer = find(memo, h, hash, &asked);
	if (!answer && asked >= ASKED_MAX) {
		*err = (struct error){ .code = ERR_CONFLICT };
		return -ERR_CONFLICT;
	}
	if (!answer) {
		answer = ARENA_NEW(&m->x->work, struct webhook_answer);
		*answer = (struct webhook_answer){ .next = memo->answers,
						   .hook = h->id,
						   .hash = { hash[0], hash[1] } };
		memo->answers = answer;
		if (h->version == WEBHOOK_NO_VERSION)
			(void)no_version(answer);
		else
			call(m, h, type, answer, buf_str(&text));
	}
	*ret_answer = answer;
	return 0;
}

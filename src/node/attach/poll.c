/*
 * Each reason has a time from which its call may be made; that implements both coalescing and
 * repetition. A reason that comes while its call is in flight stays after the reply, which may have
 * been built before it.
 */
#include "node/attach/poll.h"

#include <assert.h>

#include "base/core/mem.h"
#include "base/core/vec.h"

enum {
	TOGETHER_MS = 20,
	NEAR_MS = 1000, /* two pods with expected changes are requested together */
	AGAIN_MS = 50,
	AGAIN_MAX_MS = 4000,
	BURST = 5, /* half of what a kubelet grants to all its clients */
	FAILED_MS = 100,
	FAILED_MAX_MS = 5000,
	MS_NS = 1000 * 1000,
};

struct attach_poll_pod {
	int64_t due;
	int64_t again_ms; /* delay before the next request, if nothing has changed */
	bool asked; /* the call in flight covers it, and nothing has happened since */
	size_t uid_n;
	char uid[];
};

static struct str uid_of(const struct attach_poll_pod *q)
{
	return str_of(q->uid, q->uid_n);
}

void attach_poll_init(struct attach_poll *p, double calls_per_s, int64_t idle_ms, int64_t now)
{
	*p = (struct attach_poll){ .idle_ms = idle_ms > 0 ? idle_ms : 10 * 1000,
				   .list_due = now,
				   .allocatable_due = now,
				   .hold_until = now };
	bucket_init(&p->bucket, calls_per_s > 0 ? calls_per_s : 10, BURST);
	p->backoff = (struct backoff){
		.initial_ms = FAILED_MS, .max_ms = FAILED_MAX_MS, .factor = 2, .jitter = 0.2
	};
	map_init(&p->pods);
}

void attach_poll_release(struct attach_poll *p)
{
	struct str uid;
	size_t at = 0;
	void *q;

	while (map_next(&p->pods, &at, &uid, &q))
		free(q);
	map_release(&p->pods);
	free(TAKE(p->asking_uid));
}

/* --- reasons -------------------------------------------------------------------------- */

static struct attach_poll_pod *poll_need(struct attach_poll *p, struct str uid)
{
	struct attach_poll_pod *q = map_get(&p->pods, uid);

	if (q)
		return q;
	q = xcalloc(1, sizeof(*q) + uid.n);
	q->uid_n = uid.n;
	str_put(q->uid, uid);
	q->due = INT64_MAX;
	(void)map_put(&p->pods, uid_of(q), q);
	return q;
}

void attach_poll_pod(struct attach_poll *p, struct str uid, int64_t now)
{
	struct attach_poll_pod *q = poll_need(p, uid);

	q->due = q->asked ? now + TOGETHER_MS : MIN(q->due, now + TOGETHER_MS);
	q->again_ms = AGAIN_MS;
	q->asked = false;
}

void attach_poll_expect(struct attach_poll *p, struct str uid, int64_t now)
{
	if (map_get(&p->pods, uid))
		return;
	poll_need(p, uid)->due = now + AGAIN_MS;
	poll_need(p, uid)->again_ms = 2 * AGAIN_MS;
}

void attach_poll_list(struct attach_poll *p, int64_t now)
{
	p->again = p->again || p->asking == ATTACH_ASK_LIST;
	p->list_due = MIN(p->list_due, now);
}

void attach_poll_allocatable(struct attach_poll *p, int64_t now)
{
	p->again = p->again || p->asking == ATTACH_ASK_ALLOCATABLE;
	p->allocatable_due = MIN(p->allocatable_due, now);
}

void attach_poll_offer_get(struct attach_poll *p, bool offered)
{
	p->no_get = !offered;
}

/* --- calls ---------------------------------------------------------------------------- */

/* Returns how many pods are due, one of them, and when the next one is due. */
static size_t due_pods(const struct attach_poll *p, int64_t now, struct str *ret_uid,
		       int64_t *ret_next)
{
	struct str uid;
	size_t at = 0, n = 0;
	void *v;

	*ret_next = INT64_MAX;
	while (map_next(&p->pods, &at, &uid, &v)) {
		const struct attach_poll_pod *q = v;

		if (q->due > now) {
			*ret_next = MIN(*ret_next, q->due);
			continue;
		}
		*ret_uid = uid;
		n++;
	}
	return n;
}

static enum attach_ask poll_choose(const struct attach_poll *p, const struct attach_poll_ops *ops,
				   int64_t now, struct str *ret_uid, int64_t *ret_due)
{
	int64_t next_pod;
	size_t n = due_pods(p, now, ret_uid, &next_pod);

	/* Allocatable before the pods that use it, so that sums stay below it. */
	if (p->allocatable_due <= now && !(p->allocatable_failed && (p->list_due <= now || n > 0)))
		return ATTACH_ASK_ALLOCATABLE;
	if (p->list_due <= now || n > 1)
		return ATTACH_ASK_LIST;
	if (n == 1 && next_pod < now + NEAR_MS)
		return ATTACH_ASK_LIST;
	if (n == 1)
		return !p->no_get && ops->asks_get(ops->arg, *ret_uid) ? ATTACH_ASK_GET
								       : ATTACH_ASK_LIST;
	*ret_due = MIN(next_pod, MIN(p->list_due, p->allocatable_due));
	return ATTACH_ASK_NOTHING;
}

static void mark_asked(struct attach_poll *p)
{
	struct str uid;
	size_t at = 0;
	void *v;

	while (map_next(&p->pods, &at, &uid, &v)) {
		struct attach_poll_pod *q = v;

		q->asked = p->asking == ATTACH_ASK_LIST ||
			   (p->asking == ATTACH_ASK_GET && str_eqz(uid, p->asking_uid));
	}
}

/* Returns when a call that is due at `due` may be made; takes the token if that is now. */
static int64_t allowed(struct attach_poll *p, int64_t due, int64_t now)
{
	if (MAX(due, p->hold_until) > now)
		return MAX(due, p->hold_until);
	if (bucket_take(&p->bucket, now * MS_NS))
		return now;
	return now + 1 + (int64_t)((1 - p->bucket.tokens) * 1000 / p->bucket.per_s);
}

enum attach_ask attach_poll_next(struct attach_poll *p, const struct attach_poll_ops *ops,
				 int64_t now, struct str *ret_uid, int64_t *ret_wait)
{
	int64_t due = now, at;
	enum attach_ask ask;

	*ret_wait = -1;
	if (p->asking != ATTACH_ASK_NOTHING)
		return ATTACH_ASK_NOTHING;
	ask = poll_choose(p, ops, now, ret_uid, &due);
	at = allowed(p, due, now);
	if (at > now) {
		*ret_wait = at - now;
		return ATTACH_ASK_NOTHING;
	}
	p->asking = ask;
	p->again = false;
	if (ask == ATTACH_ASK_GET) {
		p->asking_uid = str_dup(*ret_uid);
		*ret_uid = str_from(p->asking_uid);
	}
	mark_asked(p);
	return ask;
}

/* Returns whether no further change of the pod is expected. */
static bool poll_answered(const struct attach_poll_ops *ops, struct attach_poll_pod *q, int64_t now)
{
	if (!q->asked)
		return false;
	q->asked = false;
	q->due = now + q->again_ms;
	q->again_ms = MIN(q->again_ms * 2, AGAIN_MAX_MS);
	return ops->settled(ops->arg, uid_of(q));
}

static void answered_pods(struct attach_poll *p, const struct attach_poll_ops *ops, int64_t now)
{
	VEC(struct attach_poll_pod *) over;
	struct str uid;
	size_t at = 0;
	void *q;

	vec_init(&over, SIZE_MAX / sizeof(*over.v));
	while (map_next(&p->pods, &at, &uid, &q)) {
		if (poll_answered(ops, q, now))
			(void)vec_push(&over, q);
	}
	for (size_t i = 0; i < over.n; i++) {
		(void)map_remove(&p->pods, uid_of(over.v[i]));
		free(over.v[i]);
	}
	vec_release(&over);
}

static enum attach_ask end_call(struct attach_poll *p)
{
	enum attach_ask ask = p->asking;

	assert(ask != ATTACH_ASK_NOTHING);
	p->asking = ATTACH_ASK_NOTHING;
	free(TAKE(p->asking_uid));
	return ask;
}

void attach_poll_answered(struct attach_poll *p, const struct attach_poll_ops *ops, int64_t now)
{
	enum attach_ask ask = end_call(p);
	int64_t next = p->again ? now + TOGETHER_MS : now + p->idle_ms;

	backoff_reset(&p->backoff);
	p->allocatable_failed = false;
	if (ask == ATTACH_ASK_LIST)
		p->list_due = next;
	else if (ask == ATTACH_ASK_ALLOCATABLE)
		p->allocatable_due = next;
	answered_pods(p, ops, now);
}

void attach_poll_failed(struct attach_poll *p, struct prng *g, int64_t now)
{
	struct str uid;
	size_t at = 0;
	void *v;

	p->allocatable_failed = end_call(p) == ATTACH_ASK_ALLOCATABLE;
	p->hold_until = now + backoff_next(&p->backoff, g);
	while (map_next(&p->pods, &at, &uid, &v))
		((struct attach_poll_pod *)v)->asked = false;
}

void attach_poll_resume(struct attach_poll *p)
{
	backoff_reset(&p->backoff);
	p->hold_until = INT64_MIN;
}

int64_t attach_poll_waiting_since(const struct attach_poll *p, int64_t now)
{
	int64_t since = MIN(p->list_due, p->allocatable_due);
	struct str uid;
	size_t at = 0;
	void *v;

	while (map_next(&p->pods, &at, &uid, &v))
		since = MIN(since, ((const struct attach_poll_pod *)v)->due);
	return since <= now ? since : INT64_MAX;
}

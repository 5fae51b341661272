/*
 * The stream is held during the check at the state, so the exchange still exists when the result
 * arrives, though the watch may have ended by then.
 */
#include "server/gate/watch_right.h"

#include "net/loop/loop.h"
#include "server/core/parts.h"
#include "server/engine/watch.h"
#include "server/gate/access.h"
#include "server/http/exchange.h"

enum { ASK_MS = 15 * 1000, SPREAD_MS = 10 * 1000 };

struct watch_right {
	struct exchange *x;
	struct loop_timer timer; /* for the next check */
	struct job job;
	bool lost, over;
};

static struct watch_right *right_of(struct job *j)
{
	return CONTAINER_OF(j, struct watch_right, job);
}

static void watch_right_plan(struct watch_right *r)
{
	loop_timer_start(&r->timer, ASK_MS + (int64_t)prng_below(loop_prng(r->x->home), SPREAD_MS));
}

static void ask_again(struct state *st, struct job *j, const struct error *err)
{
	struct watch_right *r = right_of(j);

	/* A store that does not answer is not a reason to deny access. */
	r->lost = !err && !access_still_granted(r->x, st);
	job_finish(j);
}

/* Another server may have granted the right just now. */
static void watch_right_ask(struct state *st, struct job *j)
{
	struct watch_right *r = right_of(j);

	r->lost = !access_still_granted(r->x, st);
	if (r->lost && state_is_shared(st))
		state_sync(st, j, 0, ask_again);
	else
		job_finish(j);
}

static void watch_right_answered(struct job *j)
{
	struct watch_right *r = right_of(j);
	struct http_stream *stream = r->x->stream;

	if (!r->over && r->lost)
		watch_revoke(stream);
	else if (!r->over)
		watch_right_plan(r);
	http_stream_unref(stream);
}

static void watch_right_on_timer(struct loop_timer *t)
{
	struct watch_right *r = CONTAINER_OF(t, struct watch_right, timer);

	r->job = (struct job){ .home = r->x->home,
			       .run = watch_right_ask,
			       .done = watch_right_answered };
	(void)http_stream_ref(r->x->stream);
	state_submit(r->x->server->state, &r->job);
}

struct watch_right *watch_right_new(struct exchange *x)
{
	struct watch_right *r = ARENA_NEW(x->arena, struct watch_right);

	r->x = x;
	loop_timer_init(&r->timer, x->home, watch_right_on_timer);
	watch_right_plan(r);
	return r;
}

void watch_right_end(struct watch_right *r)
{
	r->over = true;
	loop_timer_stop(&r->timer);
}

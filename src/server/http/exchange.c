/*
 * The exchange itself; front/begin.c has the steps of a request. An exchange lives in a block of
 * its loop, and the rest of that block is the first memory of its job: a GET allocates nothing.
 * The job's memory is separate from the stream's, because the two are used on different loops at
 * the same time: while a job is at the state, its stream may be answered (timeout) or closed.
 */
#include "server/http/exchange.h"

#include "api/api_limits.h"
#include "api/crd/crd.h"
#include "base/core/limits.h"
#include "base/system/recycler.h"
#include "server/core/parts.h"
#include "server/http/audit.h"
#include "server/http/metrics.h"
#include "server/http/reply.h"

enum {
	REQUEST_TIMEOUT_MS = 60 * 1000,
	EXCHANGE_BLOCK = 2048, /* an exchange and the first block of its arena */
	HEAVY_BODY = 16 * 1024, /* worth being freed before the stream ends */
	HEAVY_WORK = 32 * 1024,
	LARGE_BODY = 128 * 1024, /* deciding on it, and replying, take more than 10 ms each */
	KEPT_NAME_MAX = 1024, /* longest name of an object that is kept for audit */
};

_Static_assert(sizeof(struct exchange) + 640 <= EXCHANGE_BLOCK, "a GET's job fits beside it");

/* --- lifecycle -------------------------------------------------------------------- */

static void exchange_drop(void *object)
{
	struct exchange *x = object;

	flow_forget(&x->flow);
	memory_end(x);
	arena_release(&x->work);
	buf_release(&x->incoming);
	recycler_free(loop_recycler(x->home), x->room);
	recycler_free(loop_recycler(x->home), x);
}

/* --- after the reply -------------------------------------------------------------- */

static void drop_crd(void *crd)
{
	crd_unref(crd);
}

/* Audit and metrics need these when the stream ends. */
static void keep_for_the_end(struct exchange *x)
{
	struct audit_annotation *kept = NULL;

	if (x->custom)
		arena_hold(x->arena, drop_crd, crd_ref(crd_of(x->custom)));
	for (struct audit_annotation *a = x->about.annotations; a; a = a->next)
		audit_annotate(&kept, x->arena, a->key, a->value);
	x->about.annotations = kept;
	x->about.name = x->about.name.n <= KEPT_NAME_MAX ? arena_str(x->arena, x->about.name)
							 : STR_NULL;
	x->write = NULL;
	x->catalogue = NULL;
}

/*
 * Frees the memory from which a reply was made. The client may read the reply slowly, and would
 * otherwise decide how long a tree of many times its body is kept.
 */
static void shed(struct exchange *x)
{
	if (!x->answered || x->at_state || x->produce || x->keeps)
		return;
	if (x->made) {
		keep_for_the_end(x); /* some of it is in the body */
		arena_clear(&x->work);
		recycler_free(loop_recycler(x->home), TAKE(x->room));
	}
	buf_release(&x->incoming);
	x->body = STR_NULL;
	memory_give_request(x);
}

static bool is_heavy(const struct exchange *x)
{
	return x->incoming.cap >= HEAVY_BODY || x->work.used >= HEAVY_WORK;
}

void exchange_shed_later(struct exchange *x)
{
	if (x->home && !x->over && !x->at_state && !x->produce && is_heavy(x))
		loop_defer(x->home, &x->task);
}

void exchange_made(struct exchange *x)
{
	x->made = true;
	exchange_shed_later(x);
}

/* --- flow control -------------------------------------------------------------------- */

static void refuse_turn(struct flow_ticket *t)
{
	static const struct http_field nosniff[] = {
		{ { "x-content-type-options", 22 }, { "nosniff", 7 } },
	};
	struct exchange *x = exchange_of_ticket(t);

	x->about.retry_after_s = 1;
	x->more = nosniff;
	x->nmore = 1;
	reply_text(x, error_http_status(ERR_TOO_MANY_REQUESTS), STR("text/plain; charset=utf-8"),
		   STR("Too many requests, please try again later.\n"));
}

/* --- time ------------------------------------------------------------------------- */

static void exchange_on_timer(struct loop_timer *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, timer);
	struct error err;

	if (flow_time_out(&x->flow))
		return;
	/* A client that does not read the reply must not keep its seat. */
	if (x->answered) {
		flow_leave(&x->flow);
		return;
	}
	(void)error_set(&err, ERR_TIMEOUT, "request did not complete within the allotted timeout");
	x->write = NULL; /* it may be in the job's memory */
	reply_error(x, &err, NULL);
}

static void exchange_on_task(struct loop_task *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, task);

	if (x->produce)
		x->produce(x);
	else
		shed(x);
}

struct exchange *exchange_new(struct server *s, struct http_stream *stream, size_t lane)
{
	struct loop *home = http_stream_loop(stream);
	struct exchange *x = recycler_alloc(loop_recycler(home), EXCHANGE_BLOCK);

	memset(x, 0, sizeof(*x));
	x->server = s;
	x->stream = stream;
	x->lane = lane;
	x->home = home;
	x->arena = &stream->arena;
	x->begun_ns = clock_monotonic(s->clock);
	x->wall_ns = clock_wall(s->clock);
	x->flow.flow = s->flow;
	x->flow.lane = lane;
	x->flow.request = &x->request;
	x->flow.timer = &x->timer;
	x->flow.refuse = refuse_turn;
	x->flow.begun_ns = x->begun_ns;
	arena_init_in(&x->work, REQUEST_WORK_MAX, x + 1, EXCHANGE_BLOCK - sizeof(*x));
	buf_init(&x->incoming, HTTP_BODY_MAX);
	loop_timer_init(&x->timer, home, exchange_on_timer);
	loop_task_init(&x->task, exchange_on_task);
	arena_hold(x->arena, exchange_drop, x);
	return x;
}

void exchange_over(struct exchange *x)
{
	if (x->over)
		return;
	x->over = true;
	x->produce = NULL;
	if (!x->status)
		x->status = error_http_status(ERR_CANCELED);
	loop_timer_stop(&x->timer);
	loop_task_cancel(&x->task);
	/* A job at the state is still under way. */
	if (!x->at_state)
		flow_leave(&x->flow);
	audit_end(x);
	server_metrics_end(x);
}

/* --- jobs ------------------------------------------------------------------------- */

int64_t exchange_time_limit(const struct exchange *x)
{
	int64_t limit = x->server->opts.request_timeout_ms, asked = x->request.deadline_ms;

	if (limit <= 0)
		limit = REQUEST_TIMEOUT_MS;
	return asked > 0 ? MIN(asked, limit) : limit;
}

/* The stream is held, because a reply may close it. */
static void settle(struct exchange *x)
{
	if (!x->over && !x->answered)
		x->finish(x);
	if (x->over)
		flow_leave(&x->flow);
	else if (x->answered && x->flow.state == FLOW_RUNS)
		loop_timer_start(&x->timer, exchange_time_limit(x));
	if (x->answered)
		exchange_shed_later(x);
	http_stream_unref(x->stream);
}

static void job_back(struct job *j)
{
	struct exchange *x = exchange_of(j);

	x->at_state = false;
	loop_timer_stop(&x->timer);
	settle(x);
}

void exchange_finish(struct exchange *x, void (*finish)(struct exchange *x))
{
	x->finish = finish;
	(void)http_stream_ref(x->stream);
	settle(x);
}

static void leave_home(struct exchange *x, void (*run)(struct state *st, struct job *j),
		       void (*finish)(struct exchange *x))
{
	x->finish = finish;
	x->job.home = x->home;
	x->job.writes = request_verb_writes(x->request.verb);
	x->job.large = x->job.writes && x->body.n >= LARGE_BODY;
	x->job.run = run;
	x->job.done = job_back;
	x->job.limit_ms = exchange_time_limit(x);
	x->job.named = x->request.revision > 0 || x->request.cont.n;
	x->at_state = true;
	(void)http_stream_ref(x->stream);
}

void exchange_submit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		     void (*finish)(struct exchange *x))
{
	leave_home(x, run, finish);
	/* A GET waits only for things that have limits of their own, and GETs are frequent. */
	if (x->request.verb != REQUEST_GET)
		loop_timer_start(&x->timer, exchange_time_limit(x));
	state_submit(x->server->state, &x->job);
}

static void on_visit(struct loop_msg *m)
{
	struct job *j = CONTAINER_OF(m, struct job, msg);

	j->run(j->state, j);
}

void exchange_visit(struct exchange *x, void (*run)(struct state *st, struct job *j),
		    void (*finish)(struct exchange *x))
{
	struct loop *first = x->server->opts.loops[0];

	leave_home(x, run, finish);
	x->job.state = x->server->state;
	x->job.msg.fn = on_visit;
	if (x->home == first)
		on_visit(&x->job.msg);
	else
		loop_post(first, &x->job.msg);
}

/* --- the form of the reply ---------------------------------------------------------- */

int exchange_negotiate(struct exchange *x, unsigned forms, struct error *err)
{
	const struct http_fields *f = &x->stream->in.fields;
	const struct request *r = &x->request;
	int ret;

	/* The query's `pretty` takes precedence over the guess from the user agent. */
	ret = negotiate_accept(forms, http_fields_get(f, STR("accept")),
			       http_fields_get(f, STR("accept-encoding")),
			       r->pretty_given ? STR_NULL : http_fields_get(f, STR("user-agent")),
			       &x->accept, err);
	x->accept.pretty = x->accept.pretty || r->pretty;
	return ret;
}

void exchange_refuse_memory(struct exchange *x)
{
	struct error err;

	(void)error_set(&err, ERR_TOO_MANY_REQUESTS,
			"too much memory is held for requests and unread answers of this client");
	x->about.retry_after_s = 1;
	reply_error(x, &err, NULL);
}

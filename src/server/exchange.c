/*
 * The course of a request. All that needs no body is decided when the head is
 * there (who asks, what for, whether they may, in which form), so that what is refused is
 * refused early; the verb runs when the request is complete.
 *
 * An exchange lives in a block of its loop, and the rest of that block is the
 * beginning of its job's memory: a GET allocates nothing. The job's memory is
 * apart from the stream's because the two are used on different loops at the
 * same time: while a job is at the state its stream may be answered (time-out)
 * or closed.
 */
#include "server/exchange.h"

#include "base/limits.h"
#include "base/recycler.h"
#include "server/access.h"
#include "server/audit.h"
#include "server/custom.h"
#include "server/exchange_route.h"
#include "server/nonresource.h"
#include "server/reply_impl.h"
#include "server/server_impl.h"
#include "server/server_metrics.h"
#include "server/ui.h"
#include "server/ui_sessions.h"

enum {
	REQUEST_TIMEOUT_MS = 60 * 1000,
	EXCHANGE_BLOCK = 2048, /* an exchange and the first room of its arena */
	HEAVY_BODY = 16 * 1024, /* what is worth being freed before the stream ends */
	HEAVY_WORK = 32 * 1024,
	LARGE_BODY = 128 * 1024, /* deciding on it, and answering, take more than 10 ms each */
	KEPT_NAME_MAX = 1024, /* of an object, for audit */
	WRITE_ROOM = 24 * 1024 - 256, /* what nearly all writes need beside */
};

_Static_assert(sizeof(struct exchange) + 640 <= EXCHANGE_BLOCK, "a GET's job fits beside it");

/* --- life ------------------------------------------------------------------------- */

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

/* --- after the answer ------------------------------------------------------------- */

/* Audit and metrics look at these when the stream ends. */
static void keep_for_the_end(struct exchange *x)
{
	struct audit_annotation *kept = NULL;

	custom_hold(x, x->arena);
	if (x->session)
		ui_session_hold(x->session, x->arena);
	for (struct audit_annotation *a = x->annotations; a; a = a->next)
		audit_annotate(&kept, x->arena, a->key, a->value);
	x->annotations = kept;
	x->about_name = x->about_name.n <= KEPT_NAME_MAX ? arena_str(x->arena, x->about_name)
							 : STR_NULL;
	x->message = STR_NULL;
	x->warnings = NULL;
	x->conflicts = NULL;
	x->catalogue = NULL;
}

/*
 * Frees what an answer was made of. The client may take the answer as slowly as it likes, and
 * would decide how long a tree of many times its body is kept. A relay goes on to use both; the
 * user of the device page is in `work`.
 */
static void shed(struct exchange *x)
{
	if (!x->answered || x->at_state || x->produce || x->verb == verb_connect ||
	    x->verb == ui_handle)
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

/* --- its turn ------------------------------------------------------------------------ */

static struct exchange *exchange_of_ticket(struct flow_ticket *t)
{
	return CONTAINER_OF(t, struct exchange, flow);
}

static void refuse_turn(struct flow_ticket *t)
{
	static const struct http_field nosniff[] = {
		{ { "x-content-type-options", 22 }, { "nosniff", 7 } },
	};
	struct exchange *x = exchange_of_ticket(t);

	x->retry_after_s = 1;
	x->more = nosniff;
	x->nmore = 1;
	reply_text(x, error_http_status(ERR_TOO_MANY_REQUESTS), STR("text/plain; charset=utf-8"),
		   STR("Too many requests, please try again later.\n"));
}

/* --- time ------------------------------------------------------------------------- */

static void on_timer(struct loop_timer *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, timer);
	struct error err;

	if (flow_time_out(&x->flow))
		return;
	/* Who does not take the answer keeps no seat with it. */
	if (x->answered) {
		flow_leave(&x->flow);
		return;
	}
	(void)error_set(&err, ERR_TIMEOUT, "request did not complete within the allotted timeout");
	x->warnings = NULL; /* they may be in the job's memory */
	reply_error(x, &err, NULL);
}

static void on_task(struct loop_task *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, task);

	if (x->produce)
		x->produce(x);
	else
		shed(x);
}

static struct exchange *exchange_new(struct server *s, struct http_stream *stream, size_t lane)
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
	loop_timer_init(&x->timer, home, on_timer);
	loop_task_init(&x->task, on_task);
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
	/* What is at the state is still under way. */
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

static void job_back(struct job *j)
{
	struct exchange *x = exchange_of(j);

	x->at_state = false;
	loop_timer_stop(&x->timer);
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
	/* A get waits for nothing that has no limit of its own, and there are many. */
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

/* --- the stream's side ------------------------------------------------------------ */

static void refuse_size(struct exchange *x)
{
	struct error err;

	(void)error_set(&err, ERR_TOO_LARGE, "limit is %zu", x->incoming.max);
	reply_error(x, &err, NULL);
}

void exchange_refuse_memory(struct exchange *x)
{
	struct error err;

	(void)error_set(&err, ERR_TOO_MANY_REQUESTS,
			"too much memory is held for requests and unread answers of this client");
	x->retry_after_s = 1;
	reply_error(x, &err, NULL);
}

/* The head is held until the stream ends, whatever is answered: so on HTTP/2, that is now. */
static bool take_head(struct exchange *x)
{
	struct error err;

	if (memory_take_rest(x, x->arena->used))
		return true;
	x->status = error_http_status(ERR_TOO_MANY_REQUESTS);
	(void)error_set(&err, ERR_TOO_MANY_REQUESTS, "too much memory is held for the client");
	http_stream_reset(x->stream, &err);
	return false;
}

/* The server passes the body of a relayed request on, and makes no tree of it. */
static bool take_work(struct exchange *x)
{
	return x->verb == verb_connect ||
	       memory_take_request(x, x->incoming.n * MEMORY_WORK_FACTOR);
}

static void act(struct exchange *x)
{
	if (!take_work(x)) {
		exchange_refuse_memory(x);
		return;
	}
	x->body = buf_str(&x->incoming);
	if (request_verb_writes(x->request.verb) && !x->room) {
		x->room = recycler_alloc(loop_recycler(x->home), WRITE_ROOM);
		arena_lend(&x->work, x->room, WRITE_ROOM);
	}
	x->verb(x);
}

static void enter(struct exchange *x, void (*then)(struct flow_ticket *t))
{
	flow_enter(&x->flow,
		   &(struct flow_arrival){ .user = &x->user,
					   .head = &x->stream->in,
					   .arena = x->arena,
					   .body_n = x->incoming.n,
					   .limit_ms = exchange_time_limit(x) },
		   then);
}

static void act_in_turn(struct flow_ticket *t)
{
	act(exchange_of_ticket(t));
}

/* The request is complete and may be done, when it is its turn. */
static void perform(struct exchange *x)
{
	if (x->entered) {
		act(x);
		return;
	}
	x->entered = true;
	enter(x, act_in_turn);
}

static void on_body(struct http_stream *s, struct str piece)
{
	struct exchange *x = s->data;
	size_t before = x->incoming.cap;

	if (!x->answered && buf_add_str(&x->incoming, piece) < 0)
		refuse_size(x);
	else if (!x->answered && !memory_take_request(x, x->incoming.cap - before))
		exchange_refuse_memory(x);
	http_stream_consume(s, piece.n);
}

static void on_end(struct http_stream *s)
{
	struct exchange *x = s->data;

	x->complete = true;
	if (x->admitted && !x->answered)
		perform(x);
}

static void on_writable(struct http_stream *s)
{
	struct exchange *x = s->data;

	if (x->produce)
		x->produce(x);
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	exchange_over(s->data);
}

static const struct http_stream_ops stream_ops = {
	.on_body = on_body,
	.on_end = on_end,
	.on_writable = on_writable,
	.on_close = on_close,
};

/* --- beginning -------------------------------------------------------------------- */

static void answer_nonresource(struct exchange *x)
{
	if (!nonresource_handle(x))
		reply_no_page(x);
}

/* What is wrong with a request; told only to who may make it. */
struct exchange_fault {
	struct error err;
	struct field_errors causes;
};

static void parse(struct exchange *x)
{
	const struct http_head *in = &x->stream->in;
	struct exchange_fault f, *kept;

	f.err = (struct error){ 0 };
	field_errors_init(&f.causes, x->arena);
	if (request_parse(&x->request, x->arena, in->method, in->path, in->query, &f.causes,
			  &f.err) == 0)
		return;
	kept = arena_alloc(x->arena, sizeof(*kept));
	*kept = f;
	x->fault = kept;
}

static void refuse_fault(struct exchange *x)
{
	const struct exchange_fault *f = x->fault;

	if (f->err.code == ERR_NOT_FOUND)
		reply_no_page(x);
	else
		reply_bad_options(x, request_options_kind(&x->request), &f->err, &f->causes);
}

/*
 * The limit is kept here, not by the net layer: its answer is a Status, not a text. Requests that
 * are answered when they are complete do not wait for that without limit, whatever their method.
 */
static void expect_body(struct exchange *x)
{
	const struct http_head *in = &x->stream->in;

	if (!str_eq(in->method, STR("GET"))) {
		http_stream_limit_body(x->stream, -1);
		if (in->length > (int64_t)x->incoming.max) {
			refuse_size(x);
			return;
		}
	}
	if (in->length != 0 && x->home)
		http_stream_body_timeout(x->stream, exchange_time_limit(x), HTTP_BODY_RATE_MIN);
}

/* x->user is known. */
static void identified(struct exchange *x)
{
	if (!user_in_group(&x->user, USER_UNAUTHENTICATED))
		http_stream_vouch(x->stream);
	memory_identified(x);
}

static void on_admitted(struct exchange *x)
{
	x->admitted = true;
	identified(x);
	if (x->answered)
		return;
	if (x->fault) {
		refuse_fault(x);
		return;
	}
	if (x->request.verb == REQUEST_NONE && !x->request.resource.n) {
		exchange_negotiate(x, ACCEPT_OF_DISCOVERY, NULL);
		x->verb = answer_nonresource;
	} else if (!exchange_route(x)) {
		return;
	}
	server_metrics_begin(x);
	if (x->complete)
		perform(x);
}

static void ask(struct exchange *x)
{
	access_ask(x, on_admitted);
}

static void ask_in_turn(struct flow_ticket *t)
{
	ask(exchange_of_ticket(t));
}

/* The device page decides by itself who may what. */
static void begin_page(struct exchange *x)
{
	ui_begin(x);
	x->verb = ui_handle;
	x->admitted = true;
	server_metrics_begin(x);
	expect_body(x);
}

void exchange_begin(struct server *s, struct http_stream *stream, size_t lane)
{
	struct exchange *x = exchange_new(s, stream, lane);
	struct error err UNZEROED;

	stream->ops = &stream_ops;
	stream->data = x;
	audit_begin(x);
	if (!take_head(x))
		return;
	if (ui_is_path(stream->in.path)) {
		begin_page(x);
		return;
	}
	if (!access_identify(x))
		return;
	identified(x);
	if (!audit_received(x)) {
		(void)error_set(&err, ERR_INTERNAL, "the audit log cannot be written");
		reply_error(x, &err, NULL);
		return;
	}
	parse(x);
	expect_body(x);
	if (x->answered)
		return;
	/*
	 * What has no body waits for its turn at once, and is then done in one go; unless the state
	 * has to say first who it is, or whether they may ask as somebody else.
	 */
	x->entered = (stream->in.length == 0 || str_eq(stream->in.method, STR("GET"))) &&
		     !x->session_id.p &&
		     !http_fields_get(&stream->in.fields, STR("impersonate-user")).n;
	if (x->entered)
		enter(x, ask_in_turn);
	else
		ask(x);
}

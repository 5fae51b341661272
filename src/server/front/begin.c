/*
 * The first steps of a request. Everything that needs no body is decided when the head is
 * complete (the user, the request, the right, the form), so that requests are rejected early. The
 * verb runs when the request is complete.
 */
#include "server/front/begin.h"

#include "base/system/recycler.h"
#include "server/connect/connect.h"
#include "server/front/nonresource.h"
#include "server/front/route.h"
#include "server/gate/access.h"
#include "server/http/audit.h"
#include "server/http/metrics.h"
#include "server/http/reply.h"
#include "server/server_limits.h"
#include "server/ui/ui.h"

enum { WRITE_ROOM = 24 * 1024 - 256 }; /* additional memory that is enough for nearly all writes */

/* --- the stream's side ------------------------------------------------------------ */

static void refuse_size(struct exchange *x)
{
	struct error err;

	(void)error_set(&err, ERR_TOO_LARGE, "limit is %zu", x->incoming.max);
	reply_error(x, &err, NULL);
}

/*
 * The head is kept until the stream ends, whatever the reply. So if it exceeds a limit, the
 * stream is reset instead of answered; on HTTP/2 that ends it now.
 */
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

static void act(struct exchange *x)
{
	/* The body of a proxied request is passed on, and not parsed. */
	if (x->verb != verb_connect &&
	    !memory_take_request(x, x->incoming.n * MEMORY_WORK_FACTOR)) {
		exchange_refuse_memory(x);
		return;
	}
	x->body = buf_str(&x->incoming);
	if (x->audit && x->verb != verb_connect)
		audit_request(x);
	if (request_verb_writes(x->request.verb) && !x->room) {
		x->room = recycler_alloc(loop_recycler(x->home), WRITE_ROOM);
		arena_lend(&x->work, x->room, WRITE_ROOM);
	}
	x->verb(x);
}

static void begin_enter(struct exchange *x, void (*then)(struct flow_ticket *t))
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

/* The request is complete and allowed; it runs when it is its turn. */
static void perform(struct exchange *x)
{
	if (x->entered) {
		act(x);
		return;
	}
	x->entered = true;
	begin_enter(x, act_in_turn);
}

static void begin_on_body(struct http_stream *s, struct str piece)
{
	struct exchange *x = s->data;
	size_t before = x->incoming.cap;

	if (!x->answered && buf_add_str(&x->incoming, piece) < 0)
		refuse_size(x);
	else if (!x->answered && !memory_take_request(x, x->incoming.cap - before))
		exchange_refuse_memory(x);
	http_stream_consume(s, piece.n);
}

static void begin_on_end(struct http_stream *s)
{
	struct exchange *x = s->data;

	x->complete = true;
	if (x->admitted && !x->answered)
		perform(x);
}

static void begin_on_writable(struct http_stream *s)
{
	struct exchange *x = s->data;

	if (x->produce)
		x->produce(x);
}

static void begin_on_close(struct http_stream *s, const struct error *err UNUSED)
{
	exchange_over(s->data);
}

static const struct http_stream_ops stream_ops = {
	.on_body = begin_on_body,
	.on_end = begin_on_end,
	.on_writable = begin_on_writable,
	.on_close = begin_on_close,
};

/* --- beginning -------------------------------------------------------------------- */

static void answer_nonresource(struct exchange *x)
{
	if (!nonresource_handle(x))
		reply_no_page(x);
}

/* An error in a request; reported only to users who may make the request. */
struct exchange_fault {
	struct error err;
	struct field_errors causes;
};

static void begin_parse(struct exchange *x)
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
 * The limit is enforced here, not by the net layer, because the reply is a Status, not a text.
 * The wait for a complete request is limited, whatever its method.
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

/* Returns false if the request was rejected, because the audit log cannot record it. */
static bool is_recorded(struct exchange *x)
{
	struct error err UNZEROED;

	if (audit_received(x))
		return true;
	(void)error_set(&err, ERR_INTERNAL, "cannot write the audit log");
	reply_error(x, &err, NULL);
	return false;
}

/* The state knows the user of a session, so such a request is recorded when it was admitted. */
static void on_admitted(struct exchange *x)
{
	x->admitted = true;
	identified(x);
	if (x->answered || (x->session_id.p && !is_recorded(x)))
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

static void begin_ask(struct exchange *x)
{
	access_ask(x, on_admitted);
}

static void ask_in_turn(struct flow_ticket *t)
{
	begin_ask(exchange_of_ticket(t));
}

/* The device page decides about access itself. */
static void begin_page(struct exchange *x)
{
	ui_begin(x);
	x->verb = ui_handle;
	x->keeps = true; /* its user is in `work` */
	x->admitted = true;
	server_metrics_begin(x);
	if (is_recorded(x))
		expect_body(x);
}

void exchange_begin(struct server *s, struct http_stream *stream, size_t lane)
{
	struct exchange *x = exchange_new(s, stream, lane);

	stream->ops = &stream_ops;
	stream->data = x;
	audit_begin(x);
	if (!take_head(x))
		return;
	if (ui_is_path(stream->in.path) || ui_wants_page(s, &stream->in)) {
		begin_page(x);
		return;
	}
	if (!access_identify(x))
		return;
	identified(x);
	begin_parse(x);
	if (!x->session_id.p && !is_recorded(x))
		return;
	expect_body(x);
	if (x->answered)
		return;
	/*
	 * A request without a body queues for its turn immediately, and then runs in one go;
	 * unless the state must first find its user, or decide about impersonation.
	 */
	x->entered = (stream->in.length == 0 || str_eq(stream->in.method, STR("GET"))) &&
		     !x->session_id.p &&
		     !http_fields_get(&stream->in.fields, STR("impersonate-user")).n;
	if (x->entered)
		begin_enter(x, ask_in_turn);
	else
		begin_ask(x);
}

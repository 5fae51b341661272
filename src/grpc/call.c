/*
 * The part of a call that both ends share.
 *
 * Receiving: HTTP passes pieces, the frame decoder cuts messages out of them, and each is unpacked
 * and delivered before the next one. Bytes that arrive during a pause are copied to `held` and
 * count against HTTP's window until they are delivered. So a slow reader holds at most that window
 * and the one message in the decoder. Pieces of an incomplete message are consumed at once, because
 * a message may be larger than the window.
 *
 * Callbacks may do anything to the call, even end it: `deaf` is checked after each, and a reference
 * is held meanwhile.
 */
#include "grpc/call_impl.h"

#include <assert.h>

#include "base/core/mem.h"
#include "grpc/grpc_limits.h"

const struct grpc_call_ops grpc_call_no_ops = { 0 };
const struct http_stream_ops grpc_stream_no_ops = { 0 };

/* --- life ------------------------------------------------------------------------ */

static void call_on_timer(struct loop_timer *t)
{
	struct grpc_call *c = CONTAINER_OF(t, struct grpc_call, timer);

	c->role->on_deadline(c);
}

void grpc_call_init(struct grpc_call *c, const struct grpc_role *role, struct loop *l,
		    const struct grpc_method *m, size_t in_max)
{
	c->role = role;
	c->method = m;
	c->ops = &grpc_call_no_ops;
	c->loop = l;
	c->refs = 1;
	c->deadline = INT64_MAX;
	c->in_type = role->server ? m->request : m->response;
	c->in_streams = m->kind == GRPC_BIDI_STREAM ||
			m->kind == (role->server ? GRPC_CLIENT_STREAM : GRPC_SERVER_STREAM);
	grpc_frame_init(&c->frame, in_max);
	buf_init(&c->held, SIZE_MAX / 2); /* bounded by HTTP's window */
	in_max = c->frame.max * GRPC_UNPACK_FACTOR;
	arena_init_in(&c->arena, in_max, c->block, sizeof(c->block));
	arena_init_in(&c->passing, in_max, c->passing_block, sizeof(c->passing_block));
	loop_timer_init(&c->timer, l, call_on_timer);
}

void grpc_call_attach(struct grpc_call *c, struct http_stream *s, const struct http_stream_ops *ops)
{
	c->stream = http_stream_ref(s);
	s->ops = ops;
	s->data = c;
}

void grpc_call_set_timeout(struct grpc_call *c, int64_t ms)
{
	int64_t now = loop_now(c->loop);

	c->deadline = ms < INT64_MAX - now ? now + ms : INT64_MAX;
	loop_timer_start(&c->timer, c->deadline - now);
}

struct grpc_call *grpc_call_ref(struct grpc_call *c)
{
	c->refs++;
	return c;
}

void grpc_call_unref(struct grpc_call *c)
{
	if (!c || --c->refs > 0)
		return;
	assert(c->ended);
	c->role->release(c);
	if (c->stream)
		http_stream_unref(c->stream);
	arena_release(&c->passing);
	arena_release(&c->arena);
	free(c);
}

void grpc_call_end(struct grpc_call *c, struct grpc_status st)
{
	if (c->ended)
		return;
	c->ended = c->deaf = true;
	loop_timer_stop(&c->timer);
	if (c->stream) {
		c->stream->ops = &grpc_stream_no_ops;
		c->stream->data = NULL;
	}
	c->role->detach(c);
	if (c->ops->on_end)
		c->ops->on_end(c, &st);
	c->ops = &grpc_call_no_ops;
	buf_release(&c->held);
	grpc_frame_release(&c->frame);
	grpc_call_unref(c);
}

void grpc_call_reset(struct grpc_call *c, enum error_code why)
{
	struct error err;

	if (!c->stream)
		return;
	(void)error_set(&err, why, "the call was cancelled");
	c->stream->ops = &grpc_stream_no_ops;
	http_stream_reset(c->stream, &err);
}

void grpc_call_cancel(struct grpc_call *c)
{
	if (c->ended)
		return;
	grpc_call_reset(c, ERR_CANCELED);
	grpc_call_end(c, (struct grpc_status){ GRPC_CANCELLED, STR("the call was cancelled") });
}

/* --- what it is ------------------------------------------------------------------ */

const struct grpc_method *grpc_call_method(const struct grpc_call *c)
{
	return c->method;
}

struct loop *grpc_call_loop(const struct grpc_call *c)
{
	return c->loop;
}

void *grpc_call_data(const struct grpc_call *c)
{
	return c->data;
}

void grpc_call_set_data(struct grpc_call *c, void *data)
{
	c->data = data;
}

int64_t grpc_call_deadline(const struct grpc_call *c)
{
	return c->deadline;
}

bool grpc_call_ended(const struct grpc_call *c)
{
	return c->ended;
}

struct http_stream *grpc_call_stream(const struct grpc_call *c)
{
	return c->stream;
}

struct str grpc_call_header(const struct grpc_call *c, struct str key)
{
	return grpc_metadata_get(&c->headers, key);
}

struct str grpc_call_trailer(const struct grpc_call *c, struct str key)
{
	return grpc_metadata_get(&c->trailers, key);
}

const struct grpc_metadata *grpc_call_headers(const struct grpc_call *c, size_t *ret_n)
{
	*ret_n = c->headers.n;
	return c->headers.v;
}

const struct grpc_metadata *grpc_call_trailers(const struct grpc_call *c, size_t *ret_n)
{
	*ret_n = c->trailers.n;
	return c->trailers.v;
}

/* --- sending --------------------------------------------------------------------- */

int grpc_call_send(struct grpc_call *c, const ProtobufCMessage *message)
{
	struct bytes *b;

	if (c->ended)
		return -ERR_CANCELED;
	b = grpc_message_pack(message);
	if (!b)
		return -ERR_TOO_LARGE;
	return c->role->send(c, (struct slice){ b->data, b->n, b });
}

int grpc_call_send_packed(struct grpc_call *c, struct bytes *packed)
{
	return c->ended ? -ERR_CANCELED : c->role->send(c, slice_of(packed));
}

size_t grpc_call_room(struct grpc_call *c)
{
	return c->ended ? 0 : c->role->room(c);
}

void grpc_call_on_writable(struct http_stream *s)
{
	struct grpc_call *c = s->data;

	if (c->ops->on_writable)
		c->ops->on_writable(c);
}

/* --- receiving ------------------------------------------------------------------- */

static int call_deliver(struct grpc_call *c, struct str wire, struct error *err)
{
	void *message;
	int r;

	if (!c->in_streams && c->received)
		return error_set(err, ERR_UNIMPLEMENTED,
				 "cardinality violation: more than one message for %s",
				 c->method->path);
	r = grpc_message_unpack(c->in_type, wire, c->in_streams ? &c->passing : &c->arena, &message,
				err);
	grpc_frame_drop(&c->frame);
	if (r < 0)
		return r;
	c->received++;
	if (!c->in_streams)
		c->message = message;
	if (c->ops->on_message)
		c->ops->on_message(c, message);
	arena_clear(&c->passing);
	return 0;
}

/* Delivers messages from the front of *in until it is used up or the call is paused or ended. */
static void receive(struct grpc_call *c, struct str *in)
{
	struct error err UNZEROED;
	struct str wire;
	int r = 0;

	c->delivering = true;
	while (!c->paused && !c->deaf) {
		r = grpc_frame_next(&c->frame, in, &wire, &err);
		if (r > 0)
			r = call_deliver(c, wire, &err);
		else if (r == 0)
			break;
		if (r < 0)
			break;
	}
	c->delivering = false;
	if (r < 0 && !c->deaf)
		c->role->on_input_error(c, &err);
	if (c->deaf) {
		grpc_frame_release(&c->frame);
		*in = STR_NULL;
	}
}

static void call_hold(struct grpc_call *c, struct str in)
{
	if (c->held_at > c->held.n / 2) {
		buf_consume(&c->held, c->held_at);
		c->held_at = 0;
	}
	(void)buf_add_str(&c->held, in);
}

void grpc_call_on_body(struct http_stream *s, struct str piece)
{
	CLEANUP(grpc_call_unref) struct grpc_call *c = grpc_call_ref(s->data);
	struct str in = piece;

	if (!c->paused || c->deaf)
		receive(c, &in);
	if (in.n)
		call_hold(c, in);
	http_stream_consume(s, piece.n - in.n);
}

static void check_input_end(struct grpc_call *c)
{
	if (!c->in_ended || c->in_told || c->deaf || c->held.n)
		return;
	c->in_told = true;
	c->role->on_input_end(c);
}

void grpc_call_input_end(struct grpc_call *c)
{
	c->in_ended = true;
	check_input_end(c);
}

void grpc_call_on_end(struct http_stream *s)
{
	CLEANUP(grpc_call_unref) struct grpc_call *c = grpc_call_ref(s->data);

	grpc_call_input_end(c);
}

void grpc_call_pause(struct grpc_call *c)
{
	c->paused = true;
}

/* Delivers what arrived during a pause. */
static void receive_held(struct grpc_call *c)
{
	struct str in = str_skip(buf_str(&c->held), c->held_at);
	size_t n = in.n;

	receive(c, &in);
	c->held_at += n - in.n;
	if (in.n == 0) {
		buf_release(&c->held);
		c->held_at = 0;
	}
	if (c->stream)
		http_stream_consume(c->stream, n - in.n);
}

void grpc_call_resume(struct grpc_call *c)
{
	if (!c->paused)
		return;
	c->paused = false;
	if (c->delivering || c->deaf)
		return;
	(void)grpc_call_ref(c);
	if (c->held.n)
		receive_held(c);
	check_input_end(c);
	grpc_call_unref(c);
}

/*
 * A relay has two streams: `front` to the client, and `back` to the server. Bytes from one are
 * copied into the queue of the other. They are consumed at their sender only while that queue has
 * room, the rest when it has run low. Functions on one side may close the other, and the last one
 * to close frees the relay. So a callback must call such functions last.
 */
#include "base/core/mem.h"
#include "net/http/client.h"
#include "net/loop/conn.h"
#include "net/relay/http_relay_impl.h"

enum {
	HALF_IDLE_MS = 30 * 1000,
	LOOK_MS = 10 * 1000, /* interval of checks whether the client is still there */
};

/* --- ends ------------------------------------------------------------------------- */

void http_relay_put(struct http_relay *r)
{
	if (r->front || r->back)
		return;
	loop_timer_stop(&r->timer);
	http_client_leave(TAKE(r->client));
	buf_release(&r->refusal);
	free(r);
}

void http_relay_cut_back(struct http_relay *r)
{
	if (r->back)
		http_client_free(TAKE(r->client)); /* closes `back`, which frees the relay */
	else
		http_relay_put(r);
}

/* Hands the stream back, so that others respond to it. May free the relay. */
static void http_relay_refuse(struct http_relay *r, int status, struct str body,
			      const struct error *err)
{
	struct http_stream *s = TAKE(r->front);

	loop_timer_stop(&r->timer);
	s->ops = r->front_ops;
	s->data = r->front_data;
	http_stream_consume(s, r->front_held);
	if (r->opts.on_refused)
		r->opts.on_refused(r->opts.arg, s, status, body, err);
	else
		http_stream_fail(s, err);
	http_stream_unref(s);
	http_relay_cut_back(r);
}

/* The client has left, and we are paused because nobody takes its last bytes. */
static bool has_left(const struct http_relay *r)
{
	const struct conn *c = r->front ? http_stream_conn(r->front) : NULL;

	return c && conn_hung_up(c);
}

/* The last messages of a WebSocket may be read as slowly as those before. */
static bool http_relay_is_taken(const struct http_relay *r)
{
	return r->complete && r->front && !r->front->in_ended && !http_stream_was_shut(r->front);
}

/* How long it may stand still. */
static int64_t still_max(const struct http_relay *r)
{
	if (r->half || has_left(r))
		return HALF_IDLE_MS;
	return r->back && r->back->raw && r->opts.idle_ms > 0 ? r->opts.idle_ms : INT64_MAX;
}

static void look_later(struct http_relay *r)
{
	int64_t now = loop_now(r->loop), max = still_max(r), ms = LOOK_MS;

	if (!r->answered)
		ms = MIN(ms, r->answer_due - now);
	if (max < INT64_MAX)
		ms = MIN(ms, r->moved_at + max - now);
	loop_timer_start(&r->timer, MAX(ms, (int64_t)1));
}

static void http_relay_on_timer(struct loop_timer *t)
{
	struct http_relay *r = CONTAINER_OF(t, struct http_relay, timer);
	int64_t now = loop_now(r->loop);
	struct error err;

	if (!r->answered && r->front && now >= r->answer_due) {
		(void)error_set(&err, ERR_TIMEOUT, "%s did not answer in time", r->opts.to.text);
		http_relay_refuse(r, 0, STR_NULL, &err);
		return;
	}
	if (http_relay_is_taken(r))
		r->moved_at = now;
	if (now - r->moved_at < still_max(r)) {
		look_later(r);
		return;
	}
	(void)error_set(&err, ERR_TIMEOUT, "the connection was idle for too long");
	if (r->front)
		http_stream_reset(r->front, &err);
	else
		http_relay_cut_back(r);
}

void http_relay_half(struct http_relay *r)
{
	r->half = true;
	r->moved_at = loop_now(r->loop);
	look_later(r);
}

/* One direction has ended. */
static void ended(struct http_relay *r)
{
	if (r->back && r->back->raw)
		http_relay_half(r);
}

/* --- bytes ------------------------------------------------------------------------ */

static void carry(struct http_relay *r, struct http_stream *from, struct http_stream *to,
		  size_t *held, struct str piece)
{
	r->moved_at = loop_now(r->loop);
	*held += piece.n;
	/* Hold back only if `to` is full: one that is closed must not block the sender. */
	if (to && http_stream_send_copy(to, piece) == 0 && http_stream_room(to) == 0)
		return;
	http_stream_consume(from, *held);
	*held = 0;
}

void http_relay_give_back(struct http_relay *r, struct http_stream *from, size_t *held)
{
	size_t n = *held;

	*held = 0;
	if (!n || !from)
		return;
	r->moved_at = loop_now(r->loop);
	http_stream_consume(from, n);
}

/* --- who asks --------------------------------------------------------------------- */

static void front_body(struct http_stream *s, struct str piece)
{
	struct http_relay *r = s->data;

	carry(r, s, r->back, &r->front_held, piece);
}

static void front_end(struct http_stream *s)
{
	struct http_relay *r = s->data;

	if (!r->back)
		return;
	(void)http_stream_end(r->back, NULL, 0);
	ended(r);
}

static void front_writable(struct http_stream *s)
{
	struct http_relay *r = s->data;

	http_relay_give_back(r, r->back, &r->back_held);
}

/* The client's last bytes may still be on their way to the server. */
void http_relay_front_close(struct http_stream *s, const struct error *err)
{
	struct http_relay *r = s->data;
	bool wait = !err && r->back && r->back->raw;

	r->front = NULL;
	if (r->opts.on_over)
		r->opts.on_over(r->opts.arg, s, err);
	http_stream_unref(s);
	if (wait)
		http_relay_give_back(r, r->back, &r->back_held);
	else
		http_relay_cut_back(r);
}

static const struct http_stream_ops front_stream_ops = {
	.on_body = front_body,
	.on_end = front_end,
	.on_writable = front_writable,
	.on_close = http_relay_front_close,
};

/* --- who is asked ----------------------------------------------------------------- */

/* Hop-by-hop fields, and those that our own response sets again. */
static bool is_said_anew(const struct http_fields *f, struct str name)
{
	return str_eqz(name, "content-length") || str_eqz(name, "date") ||
	       http_fields_is_of_hop(f, name);
}

static struct http_head handed_on(struct http_stream *s)
{
	struct http_head head = s->in;
	struct http_fields *f = &head.fields;

	f->v = ARENA_ARRAY(&s->arena, struct http_field, f->n);
	f->n = 0;
	for (size_t i = 0; i < s->in.fields.n; i++)
		if (!is_said_anew(&s->in.fields, s->in.fields.v[i].name))
			f->v[f->n++] = s->in.fields.v[i];
	return head;
}

static int http_relay_answer(struct http_relay *r, struct http_stream *s, struct error *err)
{
	struct http_head head = handed_on(s);
	const struct http_field *fields = head.fields.v;
	size_t n = head.fields.n;
	struct str protocol;

	if (s->upgrade.n && !s->raw && s->in.status < 400)
		return error_set(err, ERR_PROTOCOL, "invalid upgrade response: status code %d",
				 s->in.status);
	(void)error_set(err, ERR_PROTOCOL, "the answer of %s cannot be handed on", r->opts.to.text);
	if (r->opts.on_answer)
		n = r->opts.on_answer(r->opts.arg, &head, &fields);
	if (!s->raw)
		return http_stream_respond(r->front, s->in.status, fields, n, s->in.length);
	protocol = http_fields_get(&s->in.fields, STR("upgrade"));
	return http_stream_upgrade(r->front, protocol.n ? protocol : s->upgrade, fields, n);
}

void http_relay_started(struct http_relay *r)
{
	if (r->opts.on_started)
		r->opts.on_started(r->opts.arg, r->front->out_status);
}

static bool is_handed_on(const struct http_relay *r, int status)
{
	return r->opts.refusal_max <= 0 || status == 101 || (status >= 200 && status < 300);
}

static void back_head(struct http_stream *s)
{
	struct http_relay *r = s->data;
	struct error err;

	if (!r->front)
		return;
	if (!is_handed_on(r, s->in.status)) {
		r->refusing = true;
		buf_init(&r->refusal, (size_t)r->opts.refusal_max);
		return;
	}
	r->answered = true;
	if (r->opts.nwebsocket) {
		http_relay_websocket(r);
		return;
	}
	if (http_relay_answer(r, s, &err) < 0) {
		http_relay_refuse(r, 0, STR_NULL, &err);
		return;
	}
	http_relay_started(r);
	http_stream_patient(r->front);
	r->moved_at = loop_now(r->loop);
}

static void back_body(struct http_stream *s, struct str piece)
{
	struct http_relay *r = s->data;

	if (!r->refusing) {
		carry(r, s, r->front, &r->back_held, piece);
		return;
	}
	(void)buf_add_str(&r->refusal,
			  str_of(piece.p, MIN(piece.n, r->refusal.max - r->refusal.n)));
	http_stream_consume(s, piece.n);
}

static void back_end(struct http_stream *s)
{
	struct http_relay *r = s->data;

	if (!r->front)
		return;
	if (r->refusing) {
		http_relay_refuse(r, s->in.status, buf_str(&r->refusal), NULL);
		return;
	}
	if (http_stream_end(r->front, s->trailers.v, s->trailers.n) < 0)
		(void)http_stream_end(r->front, NULL, 0);
	ended(r);
}

static void back_writable(struct http_stream *s)
{
	struct http_relay *r = s->data;

	http_relay_give_back(r, r->front, &r->front_held);
}

void http_relay_lose_back(struct http_relay *r, const struct error *err)
{
	http_stream_unref(TAKE(r->back));
	if (err && r->client)
		http_client_free(TAKE(r->client));
}

static void back_close(struct http_stream *s, const struct error *err)
{
	struct http_relay *r = s->data;

	http_relay_lose_back(r, err);
	if (!r->front)
		http_relay_put(r);
	else if (!r->answered)
		http_relay_refuse(r, 0, STR_NULL, err);
	else if (err)
		http_stream_reset(r->front, err);
	else
		http_relay_give_back(r, r->front, &r->front_held);
}

static const struct http_stream_ops back_stream_ops = {
	.on_head = back_head,
	.on_body = back_body,
	.on_end = back_end,
	.on_writable = back_writable,
	.on_close = back_close,
};

/* --- beginning -------------------------------------------------------------------- */

/* Whether more of the request's body comes; if only its end shows that, by the method. */
static bool has_body(const struct http_stream *s)
{
	if (s->in_ended || s->in.length == 0)
		return false;
	if (s->in.version == HTTP_2)
		return !str_eq(s->in.method, STR("GET")) && !str_eq(s->in.method, STR("HEAD"));
	return s->in.length > 0 || http_fields_get(&s->in.fields, STR("transfer-encoding")).p;
}

static int http_relay_ask(struct http_relay *r, struct http_stream *s, struct error *err)
{
	const struct http_relay_opts *o = &r->opts;
	bool more = has_body(s);
	struct http_request request = {
		.method = o->method,
		.scheme = o->tls ? STR("https") : STR("http"),
		.authority = o->authority,
		.target = o->target,
		.upgrade = o->upgrade,
		.fields = o->fields,
		.nfields = o->nfields,
		.length = (int64_t)o->body.n,
		.end = !more && !o->body.n,
		.ops = &back_stream_ops,
		.data = r,
	};
	int ret;

	if (more)
		request.length = o->body.n ? -1 : s->in.length;
	ret = http_client_request(r->client, &request, &r->back, err);
	if (ret < 0)
		return ret;
	(void)http_stream_ref(r->back);
	if (o->body.n)
		(void)http_stream_send_copy(r->back, o->body);
	if (o->body.n && !more)
		(void)http_stream_end(r->back, NULL, 0);
	return 0;
}

int http_relay(struct http_stream *s, const struct http_relay_opts *opts, struct error *err)
{
	struct http_client_opts to = { .to = opts->to,
				       .tls = opts->tls,
				       .server_name = opts->server_name,
				       .protocol = HTTP_PROTOCOL_1,
				       .connect_timeout_ms = opts->connect_timeout_ms };
	struct loop *l = http_stream_loop(s);
	struct http_relay *r;
	int ret;

	if (s->closed || s->out_head)
		return error_set(err, ERR_CANCELED, "the request is over");
	r = XNEW(struct http_relay);
	r->opts = *opts;
	r->loop = l;
	loop_timer_init(&r->timer, l, http_relay_on_timer);
	ret = http_client_new(l, &to, &r->client, err);
	if (ret == 0)
		ret = http_relay_ask(r, s, err);
	if (ret < 0) {
		http_client_free(r->client);
		free(r);
		return ret;
	}
	r->front = http_stream_ref(s);
	r->front_ops = s->ops;
	r->front_data = s->data;
	s->ops = &front_stream_ops;
	s->data = r;
	r->moved_at = loop_now(l);
	r->answer_due = opts->answer_timeout_ms > 0 ? loop_now(l) + opts->answer_timeout_ms
						    : INT64_MAX;
	look_later(r);
	return 0;
}

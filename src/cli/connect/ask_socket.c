/*
 * The request is sent when the connection is established. The loop runs until the stream is
 * closed, the connection fails, or the timeout expires.
 */
#include "cli/connect/ask_socket.h"

#include "base/core/limits.h"
#include "net/http/client.h"
#include "net/loop/loop.h"

enum { TIMEOUT_MS = 10000 };

struct ask {
	const struct ask_socket *what;
	struct loop *loop;
	struct http_client *client;
	struct loop_timer timer;
	struct buf *answer;
	int64_t timeout_ms;
	int status;
	bool asked, done; /* asked: the connection is or was established */
	struct error err; /* code ERR_OK: no failure */
};

static void ask_socket_finish(struct ask *a, const struct error *err)
{
	if (a->done)
		return;
	a->done = true;
	if (err)
		a->err = *err;
	loop_stop(a->loop);
}

static void ask_socket_on_head(struct http_stream *s)
{
	((struct ask *)s->data)->status = s->in.status;
}

static void ask_socket_on_body(struct http_stream *s, struct str piece)
{
	struct ask *a = s->data;
	struct error err;

	if (buf_add_str(a->answer, piece) < 0) {
		(void)error_set(&err, ERR_TOO_LARGE, "the answer is larger than %zu bytes",
				a->answer->max);
		ask_socket_finish(a, &err);
	}
	http_stream_consume(s, piece.n);
}

static void ask_socket_on_close(struct http_stream *s, const struct error *err)
{
	ask_socket_finish(s->data, err);
}

static const struct http_stream_ops stream_ops = { .on_head = ask_socket_on_head,
						   .on_body = ask_socket_on_body,
						   .on_close = ask_socket_on_close };

static void ask_socket_on_open(void *arg)
{
	struct ask *a = arg;
	struct http_request r = { .method = a->what->method,
				  .scheme = STR("http"),
				  .authority = STR("localhost"),
				  .target = a->what->target,
				  .length = (int64_t)a->what->body.n,
				  .end = a->what->body.n == 0,
				  .ops = &stream_ops,
				  .data = a };
	struct http_stream *s;
	struct error err;

	a->asked = true;
	if (http_client_request(a->client, &r, &s, &err) < 0) {
		ask_socket_finish(a, &err);
	} else if (!r.end) {
		(void)http_stream_send_copy(s, a->what->body);
		(void)http_stream_end(s, NULL, 0);
	}
}

static void ask_socket_on_client_close(void *arg, const struct error *err)
{
	struct ask *a = arg;

	if (!a->asked)
		ask_socket_finish(a, err);
}

static void on_timeout(struct loop_timer *t)
{
	struct ask *a = CONTAINER_OF(t, struct ask, timer);
	struct error err;

	(void)error_set(&err, ERR_TIMEOUT, "no answer within %lld ms", (long long)a->timeout_ms);
	ask_socket_finish(a, &err);
}

static int exchange(struct ask *a, struct error *err)
{
	struct http_client_opts o = { .on_open = ask_socket_on_open,
				      .on_close = ask_socket_on_client_close,
				      .arg = a };
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	int r;

	(void)buf_printf(&text, "unix:%s", a->what->path);
	r = addr_parse(&o.to, buf_str(&text), 0, err);
	if (r == 0)
		r = http_client_new(a->loop, &o, &a->client, err);
	if (r < 0)
		return r;
	loop_timer_init(&a->timer, a->loop, on_timeout);
	loop_timer_start(&a->timer, a->timeout_ms);
	loop_run(a->loop);
	loop_timer_stop(&a->timer);
	http_client_free(a->client);
	return 0;
}

int ask_socket(const struct ask_socket *ask, struct buf *answer, int *ret_status, struct error *err)
{
	struct ask a = { .what = ask,
			 .answer = answer,
			 .timeout_ms = ask->timeout_ms > 0 ? ask->timeout_ms : TIMEOUT_MS };
	int r = loop_new(&a.loop, err);

	if (r == 0)
		r = exchange(&a, err);
	loop_free(a.loop);
	if (ask->ret_connected)
		*ask->ret_connected = a.asked;
	if (r == 0 && a.err.code != ERR_OK) {
		if (err)
			*err = a.err;
		r = -(int)a.err.code;
	}
	if (r < 0)
		return error_wrap(err, r, "%s", ask->path);
	*ret_status = a.status;
	return 0;
}

/* The reply's text, or the message in its object. */
static int refused(struct arena *a, struct str text, struct error *err)
{
	struct json *tree = NULL;
	struct str message;

	(void)json_parse(a, text, NULL, &tree, NULL);
	message = json_text_at(tree, "message");
	return error_set(err, ERR_INVALID, "%.*s", STR_ARG(message.n > 0 ? message : text));
}

int ask_socket_tree(const struct ask_socket *ask, struct arena *a, struct json **ret_tree,
		    struct error *err)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT(64 * MIB);
	struct str text;
	int r, status;

	r = ask_socket(ask, &answer, &status, err);
	if (r < 0)
		return error_wrap(err, r, "no driver answers");
	text = arena_str(a, buf_str(&answer));
	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	return status >= 400 ? refused(a, text, err) : json_parse(a, text, NULL, ret_tree, err);
}

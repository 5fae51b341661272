/*
 * A connection ("line") carries one request at a time. The other side may close an idle
 * connection at the very moment in which it is reused. So a request that fails on a reused
 * connection before a reply began is sent once more, on a new one. If a request fails while its
 * owner is still on the stack (no address, no memory for certificates, a cancellation), its timer
 * reports the end, in the next turn.
 */
#include "server/webhooks/peer.h"

#include "base/core/mem.h"
#include "net/http/client.h"
#include "net/net_limits.h"
#include "net/tls/tls.h"
#include "server/server_limits.h"

enum {
	LINES_MAX = 64, /* connections at a time; further posts wait */
	IDLE_MS = 90 * 1000,
};

struct webhook_line {
	struct webhook_peer *peer;
	struct list link; /* in the peer's lines */
	struct http_client *http;
	struct http_stream *stream; /* for the post; or NULL */
	struct webhook_post *post; /* NULL: idle */
	char *server_name;
	char to[NET_ADDRESS_MAX];
	bool used; /* a request was answered on it */
	bool spent; /* cannot be reused */
	bool ended; /* the reply is complete */
};

struct webhook_peer {
	unsigned refs;
	struct loop *loop;
	struct tls *tls; /* made on first use */
	char *ca;
	size_t ca_n;
	struct list lines, waiting;
	size_t nlines;
};

static void pump(struct webhook_peer *p);

/* --- lifecycle -------------------------------------------------------------------- */

struct webhook_peer *webhook_peer_new(struct loop *l, struct str ca)
{
	struct webhook_peer *p = XNEW(struct webhook_peer);

	p->refs = 1;
	p->loop = l;
	p->ca = xmalloc(ca.n + 1);
	str_put(p->ca, ca);
	p->ca_n = ca.n;
	list_init(&p->lines);
	list_init(&p->waiting);
	return p;
}

struct webhook_peer *webhook_peer_ref(struct webhook_peer *p)
{
	p->refs++;
	return p;
}

static void line_free(struct webhook_line *line)
{
	list_remove(&line->link);
	line->peer->nlines--;
	line->post = NULL;
	http_client_free(line->http);
	free(line->server_name);
	free(line);
}

void webhook_peer_unref(struct webhook_peer *p)
{
	if (!p || --p->refs)
		return;
	LIST_FOREACH_SAFE (it, &p->lines)
		line_free(LIST_ENTRY(it, struct webhook_line, link));
	tls_unref(p->tls);
	free(p->ca);
	free(p);
}

/* --- ends of posts ---------------------------------------------------------------- */

static void post_end(struct webhook_post *post)
{
	struct webhook_peer *p = post->peer;

	loop_timer_stop(&post->timer);
	post->done(post);
	pump(p);
	webhook_peer_unref(p);
}

/* Removes it from the list, or closes its line, which cannot be reused. */
static void detach(struct webhook_post *post)
{
	struct webhook_line *line = TAKE(post->line);

	if (line)
		line_free(line);
	else
		list_remove(&post->link);
	list_init(&post->link);
}

static void peer_on_timer(struct loop_timer *t)
{
	struct webhook_post *post = CONTAINER_OF(t, struct webhook_post, timer);

	if (!post->err.code) {
		detach(post);
		(void)error_set(&post->err, ERR_TIMEOUT, "context deadline exceeded");
	}
	post_end(post);
}

/* Reports the end in the next turn. */
static void fail_soon(struct webhook_post *post, const struct error *err)
{
	detach(post);
	post->err = *err;
	loop_timer_start(&post->timer, 0);
}

void webhook_post_cancel(struct webhook_post *post, const struct error *why)
{
	if (!post->err.code)
		fail_soon(post, why);
}

/* --- answers ---------------------------------------------------------------------- */

static void peer_on_head(struct http_stream *s)
{
	struct webhook_line *line = s->data;

	if (line->post)
		line->post->status = s->in.status;
}

static void peer_on_body(struct http_stream *s, struct str piece)
{
	struct webhook_line *line = s->data;
	struct webhook_post *post = line->post;

	http_stream_consume(s, piece.n);
	if (!post || buf_add_str(&post->answer, piece) == 0)
		return;
	post->line = NULL;
	line_free(line);
	(void)error_set(&post->err, ERR_TOO_LARGE, "the answer has more than %lu bytes",
			WEBHOOK_ANSWER_MAX);
	post_end(post);
}

static void peer_on_end(struct http_stream *s)
{
	struct webhook_line *line = s->data;

	line->ended = true;
}

static void peer_again(struct webhook_post *post)
{
	post->retried = true;
	post->status = 0;
	list_push_front(&post->peer->waiting, &post->link);
	pump(post->peer);
}

/* Also called while the line is freed: then it has no post. */
static void on_stream_close(struct http_stream *s, const struct error *err)
{
	struct webhook_line *line = s->data;
	struct webhook_post *post = TAKE(line->post);
	bool fresh = !line->used;

	line->stream = NULL;
	if (!post)
		return;
	post->line = NULL;
	line->used = true;
	if (line->ended && !err) {
		if (line->spent)
			line_free(line);
		post_end(post);
		return;
	}
	line_free(line);
	if (!fresh && !post->status && !post->retried) {
		peer_again(post);
		return;
	}
	if (err)
		post->err = *err;
	else
		(void)error_set(&post->err, ERR_UNAVAILABLE, "EOF");
	post_end(post);
}

static const struct http_stream_ops stream_ops = {
	.on_head = peer_on_head,
	.on_body = peer_on_body,
	.on_end = peer_on_end,
	.on_close = on_stream_close,
};

/* --- lines ------------------------------------------------------------------------ */

/* An open stream reports its own end. */
static void on_line_close(void *arg, const struct error *err UNUSED)
{
	struct webhook_line *line = arg;

	line->spent = true;
	if (!line->post)
		line_free(line);
}

static int need_tls(struct webhook_peer *p, struct error *err)
{
	static const char *const alpn[] = { "http/1.1", NULL };
	struct tls_opts o = { .ca = str_of(p->ca, p->ca_n), .alpn = alpn };

	return p->tls ? 0 : tls_new(&o, &p->tls, err);
}

static int line_new(struct webhook_peer *p, const struct webhook_post *post,
		    struct webhook_line **ret_line, struct error *err)
{
	struct webhook_line *line;
	struct http_client_opts o = { .to = post->to,
				      .server_name = post->server_name,
				      .protocol = HTTP_PROTOCOL_1,
				      .config.idle_timeout_ms = IDLE_MS,
				      .connect_timeout_ms = post->timeout_ms,
				      .on_close = on_line_close };
	int r;

	r = need_tls(p, err);
	if (r < 0)
		return r;
	line = XNEW(struct webhook_line);
	o.tls = p->tls;
	o.arg = line;
	line->peer = p;
	r = http_client_new(p->loop, &o, &line->http, err);
	if (r < 0) {
		free(line);
		return r;
	}
	(void)snprintf(line->to, sizeof(line->to), "%s", post->to.text);
	line->server_name = xstrdup(post->server_name);
	list_push_back(&p->lines, &line->link);
	p->nlines++;
	*ret_line = line;
	return 0;
}

static struct webhook_line *find_line(struct webhook_peer *p, const struct webhook_post *post)
{
	if (post->retried)
		return NULL;
	LIST_FOREACH (it, &p->lines) {
		struct webhook_line *line = LIST_ENTRY(it, struct webhook_line, link);

		if (!line->post && !line->stream && !line->spent &&
		    strcmp(line->to, post->to.text) == 0 &&
		    strcmp(line->server_name, post->server_name) == 0)
			return line;
	}
	return NULL;
}

/* Closes an idle connection to make room. */
static void drop_idle(struct webhook_peer *p)
{
	LIST_FOREACH (it, &p->lines) {
		struct webhook_line *line = LIST_ENTRY(it, struct webhook_line, link);

		if (line->post)
			continue;
		line_free(line);
		return;
	}
}

static int send_post(struct webhook_line *line, struct webhook_post *post, struct error *err)
{
	const struct http_field fields[] = {
		HTTP_FIELD("user-agent", STR("kube-apiserver-admission")),
		HTTP_FIELD("accept", STR("application/json")),
		HTTP_FIELD("content-type", STR("application/json")),
	};
	struct http_request r = { .method = STR("POST"),
				  .scheme = STR("https"),
				  .authority = post->authority,
				  .target = post->target,
				  .fields = fields,
				  .nfields = ARRAY_SIZE(fields),
				  .length = (int64_t)post->body.n,
				  .ops = &stream_ops,
				  .data = line };
	int ret;

	line->ended = false;
	ret = http_client_request(line->http, &r, &line->stream, err);
	if (ret < 0)
		return ret;
	http_stream_limit_body(line->stream, -1); /* the buffer of the reply has its own limit */
	line->post = post;
	post->line = line;
	(void)http_stream_send_copy(line->stream, post->body);
	(void)http_stream_end(line->stream, NULL, 0);
	return 0;
}

/* Returns false if there is no free connection now. */
static bool peer_start(struct webhook_peer *p, struct webhook_post *post)
{
	struct webhook_line *line = find_line(p, post);
	struct error err = { 0 };
	int r = 0;

	if (!line && p->nlines >= LINES_MAX)
		drop_idle(p);
	if (!line && p->nlines >= LINES_MAX)
		return false;
	if (!line)
		r = line_new(p, post, &line, &err);
	if (r < 0) {
		fail_soon(post, &err);
		return true;
	}
	list_remove(&post->link);
	list_init(&post->link);
	r = send_post(line, post, &err);
	if (r == 0)
		return true;
	post->line = line; /* the line carries it */
	fail_soon(post, &err);
	return true;
}

static void pump(struct webhook_peer *p)
{
	while (!list_empty(&p->waiting) &&
	       peer_start(p, LIST_ENTRY(p->waiting.next, struct webhook_post, link)))
		;
}

void webhook_peer_post(struct webhook_peer *p, struct webhook_post *post)
{
	post->peer = webhook_peer_ref(p);
	post->line = NULL;
	post->err = (struct error){ 0 };
	post->status = 0;
	post->retried = false;
	buf_init(&post->answer, WEBHOOK_ANSWER_MAX);
	loop_timer_init(&post->timer, p->loop, peer_on_timer);
	loop_timer_start(&post->timer, post->timeout_ms);
	list_push_back(&p->waiting, &post->link);
	pump(p);
}

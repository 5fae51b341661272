/*
 * A forwarded request goes over a connection of its own (net/relay), so credentials of two users
 * never share one, a watch streams without buffering, and a slow browser slows the API server down.
 *
 * Fields are copied by name in both directions: only those of these lists pass, so neither the
 * browser's cookie and Authorization nor a Set-Cookie can.
 */
#include "base/report/metrics.h"
#include "base/text/print.h"
#include "cli/ui/allowed.h"
#include "cli/ui/site_impl.h"
#include "net/loop/conn.h"
#include "net/relay/http_relay.h"
#include "web/session/page.h"
#include "web/web_limits.h"

enum {
	FORWARDS_MAX = 4096,
	SESSION_FORWARDS_MAX = 256,
	ANSWER_MS = 60 * 1000,
	SWEEP_MS = 1000,
	END_MS = 3000, /* for a browser to read the end of a watch */
	OWN_FIELDS = 3, /* user-agent, authorization, x-forwarded-for */
};

/* In its stream's arena. */
struct site_forward {
	struct list node;
	struct site *site;
	struct ui_session *session; /* referenced while it is in the list */
	struct http_stream *stream;
	struct client *client;
	struct client_request probe; /* makes an exec plugin run */
	struct client_access access;
	struct str target;
	struct buf body; /* that came before it could be forwarded */
	int64_t ends_ns; /* of the session, wall time */
	int64_t ended_at; /* ms: when a watch was ended in order; or 0 */
	bool watch;
};

static const char *const request_fields[] = { "accept", "accept-encoding", "content-type" };
static const char *const answer_fields[] = { "content-type", "content-encoding", "retry-after",
					     "warning", "audit-id" };

static bool passes(struct str name, const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(name, v[i]))
			return true;
	return false;
}

/* --- life ------------------------------------------------------------------------------- */

static void forward_over(struct site_forward *f)
{
	client_cancel(&f->probe);
	if (!f->session)
		return;
	buf_release(&f->body);
	list_remove(&f->node);
	f->site->nforwards--;
	ui_session_unref(TAKE(f->session));
}

static void forward_on_close(struct http_stream *h, const struct error *err UNUSED)
{
	forward_over(h->data);
}

static void forward_on_body(struct http_stream *h, struct str piece)
{
	struct site_forward *f = h->data;

	(void)buf_add_str(&f->body, piece);
	http_stream_consume(h, piece.n);
}

/* Until the relay takes the stream over, and again if it fails. */
static const struct http_stream_ops forward_ops = { .on_body = forward_on_body,
						    .on_close = forward_on_close };

/*
 * A watch ends in order, so that the page sees that its session is over; unless the browser does
 * not read it.
 */
static void forward_end(struct site_forward *f)
{
	struct http_stream *h = f->stream;
	int64_t now = loop_now(f->site->opts.loop);
	struct error err;

	if (f->ended_at && now < f->ended_at + END_MS)
		return;
	if (f->watch && h->out_head && !f->ended_at) {
		f->ended_at = now;
		(void)http_stream_end(h, NULL, 0);
		return;
	}
	(void)error_set(&err, ERR_UNAUTHORIZED, "the session is over");
	http_stream_reset(h, &err);
}

void site_sweep(struct site *s)
{
	int64_t now = site_now(s).wall_ns;

	LIST_FOREACH_SAFE (it, &s->forwards) {
		struct site_forward *f = LIST_ENTRY(it, struct site_forward, node);

		if (atomic_load(&f->session->over) || now >= f->ends_ns)
			forward_end(f);
	}
}

void site_on_sweep(struct loop_timer *t)
{
	struct site *s = CONTAINER_OF(t, struct site, sweep);

	site_sweep(s);
	if (!list_empty(&s->forwards))
		loop_timer_start(t, SWEEP_MS);
}

void site_sweep_soon(struct site *s)
{
	if (!loop_timer_running(&s->sweep))
		loop_timer_start(&s->sweep, SWEEP_MS);
}

/* --- the answer --------------------------------------------------------------------------- */

static size_t forward_on_answer(void *arg, const struct http_head *answer,
				const struct http_field **ret_fields)
{
	const struct site_forward *f = arg;
	struct arena *a = &f->stream->arena;
	struct http_field *v = ARENA_ARRAY(a, struct http_field, answer->fields.n + UI_FIELDS + 1);
	size_t n = UI_FIELDS;

	memcpy(v, ui_fields, sizeof(ui_fields));
	v[n++] = HTTP_FIELD("cache-control", STR("no-store"));
	for (size_t i = 0; i < answer->fields.n; i++)
		if (passes(answer->fields.v[i].name, answer_fields, ARRAY_SIZE(answer_fields)))
			v[n++] = answer->fields.v[i];
	*ret_fields = v;
	return n;
}

/* Credentials that the API server rejects end the session, unless a plugin can get others. */
static void forward_on_started(void *arg, int status)
{
	struct site_forward *f = arg;
	char code[STR_DIGITS];

	metrics_counter_add(metrics_counter(f->site->forwarded, str_print_i64(code, status)), 1);
	if (status != 401)
		return;
	if (site_user_of(f->session)->token.n)
		ui_sessions_end(f->site->sessions, f->session);
	else
		client_access_rejected(f->client, &f->access);
}

static void forward_on_refused(void *arg, struct http_stream *h, int status UNUSED,
			       struct str body UNUSED, const struct error *err)
{
	const struct site_forward *f = arg;

	metrics_counter_add(metrics_counter(f->site->forwarded, STR("<error>")), 1);
	site_refuse(h, ERR_UNAVAILABLE,
		    arena_printf(&h->arena, "cannot reach the API server at %.*s: %s",
				 STR_ARG(f->access.authority), err->msg));
}

static void forward_on_over(void *arg, struct http_stream *h UNUSED, const struct error *err UNUSED)
{
	forward_over(arg);
}

/* --- the request -------------------------------------------------------------------------- */

static size_t forward_fields(const struct site_forward *f, struct http_field **ret_fields)
{
	struct http_stream *h = f->stream;
	const struct http_fields *in = &h->in.fields;
	const struct client_access *to = &f->access;
	const struct site_user *u = site_user_of(f->session);
	const struct conn *conn = http_stream_conn(h);
	struct http_field *v = ARENA_ARRAY(&h->arena, struct http_field,
					   in->n + OWN_FIELDS + to->nacting);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (passes(in->v[i].name, request_fields, ARRAY_SIZE(request_fields)))
			v[n++] = in->v[i];
	v[n++] = HTTP_FIELD("user-agent", to->user_agent);
	if (conn && conn_peer(conn)->host[0])
		v[n++] = HTTP_FIELD("x-forwarded-for", str_from(conn_peer(conn)->host));
	if (u->token.n)
		v[n++] = HTTP_FIELD("authorization", str_from(arena_printf(&h->arena, "Bearer %.*s",
									   STR_ARG(u->token))));
	else if (to->authorization.n)
		v[n++] = HTTP_FIELD("authorization", to->authorization);
	for (size_t i = 0; i < to->nacting && !u->token.n; i++)
		v[n++] = to->acting[i];
	*ret_fields = v;
	return n;
}

static void forward_relay(struct site_forward *f)
{
	struct http_stream *h = f->stream;
	struct http_field *fields;
	struct http_relay_opts o = {
		.to = f->access.to,
		.tls = f->access.tls,
		.server_name = f->access.server_name,
		.method = h->in.method,
		.authority = f->access.authority,
		.target = str_from(arena_printf(&h->arena, "%.*s%.*s", STR_ARG(f->access.prefix),
						STR_ARG(f->target))),
		.body = buf_str(&f->body),
		.answer_timeout_ms = ANSWER_MS,
		.on_refused = forward_on_refused,
		.on_answer = forward_on_answer,
		.on_started = forward_on_started,
		.on_over = forward_on_over,
		.arg = f,
	};
	struct error err;

	o.nfields = forward_fields(f, &fields);
	o.fields = fields;
	if (http_relay(h, &o, &err) < 0)
		forward_on_refused(f, h, 0, STR_NULL, &err);
}

/* The plugin has run. */
static void forward_on_probed(struct client_request *r, const struct client_answer *answer UNUSED,
			      const struct error *err)
{
	struct site_forward *f = r->arg;

	if (client_access(f->client, &f->access))
		forward_relay(f);
	else
		site_refuse(f->stream, ERR_UNAVAILABLE,
			    err ? arena_strdup(&f->stream->arena, str_from(err->msg))
				: "the exec plugin of the kubeconfig has given no credentials");
}

static void forward_begin(struct site *s, struct http_stream *h, struct site_forward *f)
{
	f->site = s;
	f->stream = h;
	buf_init(&f->body, UI_BODY_MAX);
	f->watch = allowed_is_watch(h->in.query);
	f->ends_ns = ui_session_ends(f->session, site_now(s));
	(void)ui_session_ref(f->session);
	list_push_back(&s->forwards, &f->node);
	s->nforwards++;
	site_sweep_soon(s);
	h->ops = &forward_ops;
	h->data = f;
	http_stream_limit_body(h, UI_BODY_MAX);
	if (client_access(f->client, &f->access)) {
		forward_relay(f);
		return;
	}
	f->probe = (struct client_request){
		.path = STR("/version"), .no_retry = true, .on_done = forward_on_probed, .arg = f
	};
	client_send(f->client, &f->probe);
}

/* --- which requests ----------------------------------------------------------------------- */

/* Takes "/clusters/N" off the path and the target. Without it, it is the first cluster. */
static int take_cluster(const struct site *s, struct str *path, struct str *target, size_t *ret_at,
			struct error *err)
{
	struct str rest = str_skip(*path, STR("/clusters/").n), number;
	uint64_t at;

	*ret_at = 0;
	if (!str_starts(*path, STR("/clusters/")))
		return 0;
	(void)str_split(&rest, '/', &number);
	if (!str_to_u64(number, &at) || at >= s->nclusters)
		return error_set(err, ERR_NOT_FOUND,
				 "there is no such cluster; /ui/clusters has a list");
	*ret_at = (size_t)at;
	*path = str_skip(*path, STR("/clusters/").n + number.n);
	*target = str_skip(*target, STR("/clusters/").n + number.n);
	return 0;
}

static bool is_crowded(const struct site *s, const struct ui_session *e)
{
	size_t n = 0;

	LIST_FOREACH (it, &s->forwards)
		n += LIST_ENTRY(it, struct site_forward, node)->session == e;
	return s->nforwards >= FORWARDS_MAX || n >= SESSION_FORWARDS_MAX;
}

static int forward_check(struct site *s, struct http_stream *h, struct site_forward *f,
			 struct error *err)
{
	const struct site_user *u = site_user_of(f->session);
	struct str path = h->in.path;
	size_t at;
	int r;

	f->target = h->in.target;
	r = take_cluster(s, &path, &f->target, &at, err);
	if (r == 0)
		r = allowed_check(h->in.method, path, err);
	if (r < 0)
		return r;
	if (u->token.n && u->cluster != at)
		return error_set(err, ERR_FORBIDDEN,
				 "your token is for another cluster; log in to this one");
	if (http_stream_wants_upgrade(h))
		return error_set(err, ERR_BAD_REQUEST, "upgrades are not forwarded");
	if (h->in.length > (int64_t)UI_BODY_MAX)
		return error_set(err, ERR_TOO_LARGE, "the page sends no such request");
	if (is_crowded(s, f->session))
		return error_set(err, ERR_TOO_MANY_REQUESTS,
				 "too many requests are under way; try again in a second");
	f->client = u->token.n ? s->clusters[at].plain : s->clusters[at].own;
	return 0;
}

void site_forward(struct site *s, struct http_stream *h)
{
	struct site_forward *f = ARENA_NEW(&h->arena, struct site_forward);
	struct ui_session *e = site_find_session(s, h);
	struct error err;

	if (!e)
		return;
	f->session = e;
	if (forward_check(s, h, f, &err) < 0)
		site_fail(h, &err);
	else
		forward_begin(s, h, f);
}

/*
 * Proxied requests: pods/log, exec, attach, portforward and proxy, nodes/proxy and
 * services/proxy. The state authorizes the request, runs admission (except for logs, which are
 * reads), and finds the destination. Then a relay (net/relay/http_relay.h) connects the request
 * to the kubelet or the pod, on the request's own loop, as long as it lasts.
 *
 * WebSocket and SPDY are both tunnelled unchanged. A kubelet that does not support the requested
 * protocol rejects the upgrade; the client gets the rejection and tries the other one (kubectl
 * does). A log requested by WebSocket is converted here, because kubelets send only a plain
 * reply. Errors before the relay has anything to pass on are a Status, in upstream's wording.
 */
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/text/print.h"
#include "net/loop/conn.h"
#include "net/relay/http_relay.h"
#include "net/relay/websocket.h"
#include "net/tls/tls.h"
#include "server/authz/authz.h"
#include "server/connect/connect.h"
#include "server/connect/connect_impl.h"
#include "server/connect/fields.h"
#include "server/connect/location.h"
#include "server/core/parts.h"
#include "server/flow/flow.h"
#include "server/http/audit.h"
#include "server/http/reply.h"
#include "server/reach/kubelets.h"
#include "server/request/connect_options.h"
#include "server/verbs/mutation.h"

enum {
	DIAL_MS = 30 * 1000,
	IDLE_MS = 4 * 3600 * 1000, /* for an upgraded connection, as kubelets */
	REFUSAL_MAX = 50000, /* bytes read from a kubelet's error, as upstream */
	FLOW_FIELDS = 2, /* limit of flow_fields() */
};

/* Upstream's protocols for a stream in one direction. */
static const struct websocket_protocol log_protocols[] = {
	{ "", false },
	{ "binary.k8s.io", false },
	{ "base64.binary.k8s.io", true },
};

/* --- on the state's loop ---------------------------------------------------------- */

/*
 * A command is not a read. A user who runs one by GET, as WebSockets do, needs the right that
 * POST needs (upstream's AuthorizePodWebsocketUpgradeCreatePermission). So does a user who
 * upgrades a connection through a node's proxy: the kubelet runs commands for it, and sees only
 * the server's identity.
 */
static int may_create(struct connect *c)
{
	struct exchange *x = c->x;
	const struct request *r = &x->request;
	struct authz_query q = { .user = &x->user,
				 .verb = STR("create"),
				 .group = r->group,
				 .version = r->version,
				 .resource = r->resource,
				 .target = r->target };

	if (c->log || r->verb == REQUEST_CREATE)
		return 0;
	if (c->proxy && !(c->upgrade && str_eqz(r->resource, "nodes")))
		return 0;
	return authz_require(x->server->authz, &q, &x->work, &c->err);
}

static void connect_again(struct mutation *m);

static void connect_decide(struct mutation *m)
{
	struct connect *c = m->data;

	c->err = (struct error){ 0 };
	c->nobody = false;
	m->again = connect_again;
	if (may_create(c) == 0 && connect_admit(c) == 0)
		(void)connect_find(c, m->req.state);
	if (m->req.parked)
		return;
	if (c->err.code)
		mutation_fail(m, &c->err);
	else
		mutation_end(m, NULL);
}

/* Admission resumes the request. */
static void connect_again(struct mutation *m)
{
	if (mutation_renew(m))
		connect_decide(m);
}

static void connect_on_synced(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct mutation *m = exchange_of(j)->data;

	if (err)
		mutation_fail(m, err);
	else
		connect_decide(m);
}

static void connect_on_state(struct state *st, struct job *j)
{
	(void)mutation_arrive(st, j);
	state_sync(st, j, 0, connect_on_synced);
}

/* --- the forwarded request -------------------------------------------------------- */

static struct str forwarded_for(const struct connect *c)
{
	struct http_stream *s = c->x->stream;
	struct str before = http_fields_get(&s->in.fields, STR("x-forwarded-for"));
	const struct conn *conn = http_stream_conn(s);

	return str_from(arena_printf(c->x->arena, "%.*s%s%s", STR_ARG(before), before.n ? ", " : "",
				     conn ? conn_peer(conn)->host : ""));
}

/* The path of the proxy itself, before the part that is passed on. */
static struct str own_path(const struct connect *c)
{
	struct str path = c->x->stream->in.path;

	path.n -= c->x->request.tail.n;
	return path;
}

enum { FORWARDED = 4 };

static size_t sent_fields(const struct connect *c, struct http_field **ret_fields)
{
	const struct http_head *in = &c->x->stream->in;
	size_t n = connect_fields_request(&in->fields, c->x->arena, FORWARDED, ret_fields);
	struct http_field *v = *ret_fields;

	v[n++] = HTTP_FIELD("x-forwarded-for", forwarded_for(c));
	if (c->proxy) {
		v[n++] = HTTP_FIELD("x-forwarded-uri", in->path);
		v[n++] = HTTP_FIELD("x-forwarded-host", in->authority);
		v[n++] = HTTP_FIELD("x-forwarded-proto", in->scheme);
	}
	return n;
}

/* --- the reply -------------------------------------------------------------------- */

/* A log is text, whatever content type the kubelet sends. */
static size_t log_head(const struct connect *c, const struct http_field **ret_fields)
{
	struct http_field *v = ARENA_ARRAY(c->x->arena, struct http_field, 3 + FLOW_FIELDS);

	v[0] = HTTP_FIELD("audit-id", str_from(c->x->audit_id));
	v[1] = HTTP_FIELD("cache-control", STR("no-cache, private"));
	v[2] = HTTP_FIELD("content-type", STR("text/plain"));
	*ret_fields = v;
	return 3 + flow_fields(&c->x->flow, v + 3);
}

/* A redirect to a path of the proxied server must go through the proxy again. */
static struct str location(const struct connect *c, struct str theirs)
{
	struct connect_place at = { .proxy = own_path(c),
				    .asked = c->x->stream->in.authority,
				    .backend = str_from(c->to.text) };

	return connect_location(c->x->arena, theirs, &at);
}

static size_t connect_on_answer(void *arg, const struct http_head *answer,
				const struct http_field **ret_fields)
{
	const struct connect *c = arg;
	struct http_field *v, *warnings = NULL;
	size_t n, nwarnings;

	if (c->log)
		return log_head(c, ret_fields);
	nwarnings = reply_warnings(c->x, &warnings);
	n = connect_fields_answer(&answer->fields, c->x->arena, 1 + FLOW_FIELDS + nwarnings, &v);
	for (size_t i = 0; i < n; i++)
		if (c->proxy && str_eqz(v[i].name, "location"))
			v[i].value = location(c, v[i].value);
	v[n++] = HTTP_FIELD("audit-id", str_from(c->x->audit_id));
	for (size_t i = 0; i < nwarnings; i++)
		v[n++] = warnings[i];
	*ret_fields = v;
	return n + flow_fields(&c->x->flow, v + n);
}

static void connect_on_started(void *arg, int status)
{
	struct connect *c = arg;

	c->x->status = status;
	audit_started(c->x);
}

static void connect_on_over(void *arg, struct http_stream *s, const struct error *err UNUSED)
{
	struct connect *c = arg;

	c->x->status = s->out_status;
	exchange_over(c->x);
}

/* Upstream's wording for a kubelet's error. */
struct refusal {
	int status;
	enum error_code code;
	const char *words; /* NULL: the kubelet's */
	bool bare; /* without naming the requested object */
};

static const struct refusal refusals[] = {
	{ 400, ERR_BAD_REQUEST, NULL, true },
	{ 401, ERR_UNAUTHORIZED, "the server has asked for the client to provide credentials",
	  false },
	{ 403, ERR_FORBIDDEN, NULL, false },
	{ 404, ERR_NOT_FOUND, "the server could not find the requested resource", false },
	{ 405, ERR_METHOD_NOT_ALLOWED,
	  "the server does not allow this method on the requested resource", false },
	{ 429, ERR_TOO_MANY_REQUESTS,
	  "the server has received too many requests and has asked us to try again later", false },
	{ 500, ERR_INTERNAL, NULL, true },
	{ 503, ERR_UNAVAILABLE, "the server is currently unable to handle the request", false },
	{ 504, ERR_TIMEOUT,
	  "the server was unable to return a response in the time allotted, but may still be "
	  "processing the request",
	  false },
};

static void refuse_text(struct connect *c, int status, struct str body)
{
	const struct refusal *r = refusals, *end = refusals + ARRAY_SIZE(refusals);
	struct status_about about = { .resource = STR("pods/log"), .name = c->x->request.name };
	CLEANUP(buf_release) struct buf text = BUF_INIT(REFUSAL_MAX + KIB);
	struct error err = { .code = ERR_UNTYPED };

	while (r < end && r->status != status)
		r++;
	if (r < end)
		err.code = r->code;
	if (r == end)
		(void)buf_printf(&text,
				 "an error on the server (\"%.*s\") has prevented the request "
				 "from succeeding",
				 STR_ARG(body));
	else if (r->words)
		(void)buf_addz(&text, r->words);
	else
		(void)buf_add_str(&text, body);
	if (r == end || !r->bare)
		(void)buf_printf(&text, " ( pods/log %.*s)", STR_ARG(about.name));
	about.message = buf_str(&text);
	reply_status(c->x, &err, &about);
}

static void on_refused(void *arg, struct http_stream *s UNUSED, int status, struct str body,
		       const struct error *err)
{
	struct connect *c = arg;
	struct error told;

	c->x->answered = false;
	if (!err) {
		refuse_text(c, status, body);
		return;
	}
	if (err->code == ERR_PROTOCOL)
		(void)error_set(&told, ERR_UNTYPED, "%s", err->msg);
	else if (err->code == ERR_FORBIDDEN)
		(void)error_set(&told, ERR_BAD_REQUEST, "address not allowed");
	else if (c->log)
		(void)error_set(&told, ERR_UNTYPED, "Get \"https://%s%.*s\": %s", c->to.text,
				STR_ARG(c->target), err->msg);
	else if (c->proxy && !http_stream_wants_upgrade(c->x->stream))
		(void)error_set(&told, ERR_UNAVAILABLE, "error trying to reach service: %s",
				err->msg);
	else
		(void)error_set(&told, ERR_UNTYPED, "error dialing backend: %s", err->msg);
	reply_status(c->x, &told, &(struct status_about){ 0 });
}

/* --- steps ------------------------------------------------------------------------ */

static struct tls *tls_for(const struct connect *c)
{
	struct kubelets *k = c->x->server->kubelets;

	if (c->clear)
		return NULL;
	return c->kubelet ? kubelets_tls(k, c->query.skip_verify) : kubelets_plain_tls(k);
}

static void lead_on(struct connect *c)
{
	struct exchange *x = c->x;
	const struct http_head *in = &x->stream->in;
	CLEANUP(tls_unref) struct tls *tls = tls_for(c);
	struct http_field *fields = NULL;
	struct http_relay_opts opts = { .to = c->to,
					.tls = tls,
					.server_name = c->kubelet ? c->kubelet_name : NULL,
					.method = c->log ? STR("GET") : in->method,
					.authority = c->log ? str_from(c->to.text) : in->authority,
					.target = c->target,
					.connect_timeout_ms = DIAL_MS,
					.idle_ms = IDLE_MS,
					.refusal_max = c->log ? REFUSAL_MAX : 0,
					.on_refused = on_refused,
					.on_answer = connect_on_answer,
					.on_started = connect_on_started,
					.on_over = connect_on_over,
					.arg = c };
	struct error err;

	if (!c->log) {
		opts.nfields = sent_fields(c, &fields);
		opts.fields = fields;
		opts.body = x->body;
	}
	if (!c->log && http_stream_wants_upgrade(x->stream))
		opts.upgrade = http_fields_get(&in->fields, STR("upgrade"));
	if (c->log && websocket_is_asked(x->stream)) {
		opts.websocket = log_protocols;
		opts.nwebsocket = ARRAY_SIZE(log_protocols);
	}
	x->answered = true; /* from here on by the relay */
	flow_leave(&x->flow); /* long-running requests hold no seat */
	if (http_relay(x->stream, &opts, &err) < 0)
		on_refused(c, x->stream, 0, STR_NULL, &err);
}

/* As upstream: relative links of a page need a trailing slash in its URL. */
static bool redirect(struct connect *c)
{
	struct exchange *x = c->x;
	const struct http_head *in = &x->stream->in;

	if (!c->proxy || c->tail.n || x->request.verb != REQUEST_GET ||
	    http_stream_wants_upgrade(x->stream))
		return false;
	x->location = str_from(arena_printf(x->arena, "%.*s/%s%.*s", STR_ARG(in->path),
					    in->query.n ? "?" : "", STR_ARG(in->query)));
	reply_text(x, 301, STR_NULL, STR_NULL);
	return true;
}

static void connect_finish(struct exchange *x)
{
	struct mutation *m = x->data;
	struct connect *c = m->data;
	bool upgrade = http_stream_wants_upgrade(x->stream);

	x->write = &m->write;
	x->about.annotations = m->req.about.annotations;
	if (m->committed.err.code && c->nobody) {
		reply_status(x, &m->committed.err, &(struct status_about){ 0 });
	} else if (m->committed.err.code) {
		mutation_refuse(m, &m->committed.err);
	} else if (c->nowhere) {
		reply_text(x, 204, STR_NULL, STR_NULL);
	} else if (!c->log && !c->proxy && !upgrade) {
		(void)error_set(&c->err, ERR_BAD_REQUEST, "Upgrade request required");
		reply_error(x, &c->err, NULL);
	} else if (!redirect(c)) {
		lead_on(c);
	}
}

static void refuse_options(struct exchange *x, const struct error *err,
			   const struct field_errors *causes)
{
	struct status_about about = { 0 };

	if (err->code == ERR_INVALID)
		about = (struct status_about){ .kind = STR("PodLogOptions"),
					       .name = x->request.name,
					       .causes = causes };
	reply_status(x, err, &about);
}

/* The object for admission is made again for each try. */
static int connect_decode(struct mutation *m, struct error *err)
{
	const struct connect *c = m->data;

	return c->options ? json_copy(m->write.arena, c->options, &m->req.tree, err) : 0;
}

/* The options that admission will see. A log is a read, without admission. */
static int read_options(struct connect *c, struct error *err)
{
	struct exchange *x = c->x;
	struct str query = x->stream->in.query;
	int r;

	if (c->log)
		return 0;
	if (connect_options_given(x->arena, query, "dryRun"))
		return error_set(err, ERR_BAD_REQUEST, "dryRun is not supported");
	r = connect_options_read(&x->work, x->sub->kind, query, c->tail, &c->options, err);
	return r < 0 ? r : connect_decode(c->m, err);
}

void verb_connect(struct exchange *x)
{
	static const struct mutation_ops ops = { .decode = connect_decode };
	struct connect *c = ARENA_NEW(&x->work, struct connect);
	struct str sub = x->request.subresource;
	struct field_errors errs;
	struct error err;
	int r = 0;

	c->x = x;
	c->m = mutation_new(x, &ops);
	c->m->data = c;
	c->log = str_eqz(sub, "log");
	c->proxy = str_eqz(sub, "proxy");
	c->upgrade = http_stream_wants_upgrade(x->stream);
	c->tail = x->request.tail;
	field_errors_init(&errs, x->arena);
	if (!c->proxy)
		r = connect_query_parse(sub, x->stream->in.query, x->arena, &c->query, &errs, &err);
	if (r == 0)
		r = read_options(c, &err);
	if (r < 0)
		refuse_options(x, &err, &errs);
	else
		exchange_submit(x, connect_on_state, connect_finish);
}

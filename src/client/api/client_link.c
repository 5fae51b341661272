/*
 * Connections. For HTTP/2 one is enough; another is opened if it carries so many streams that
 * servers hold back further ones (upstream's limit is 100). With HTTP/1.1 each connection carries
 * one request.
 *
 * A failed attempt to connect ends the requests that wait for it, unless another connection is
 * open. Their owners know best when to retry, and the back-off here keeps the attempts apart.
 *
 * Certificate files are checked before each attempt, a token file once a minute and after a 401, so
 * renewed files are used without a restart. If an exec plugin provides the credentials
 * (client_login.c), no connection is made and nothing is sent before it has.
 */
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/text/base64.h"
#include "client/api/client_impl.h"
#include "client/client_limits.h"
#include "client/kubeconfig/exec_credential.h"
#include "net/net_limits.h"
#include "net/tls/tls.h"

enum {
	H2_STREAMS = 90,
	WINDOW = 1024 * 1024,
	PING_MS = 30 * 1000,
	TOKEN_MS = 60 * 1000,
	H1_IDLE_KEPT = 2,
};

/* --- identity ------------------------------------------------------------------------------ */

/* Returns true if the file could be read and has changed. */
static bool reread(const char *path, struct buf *content)
{
	struct buf now = BUF_INIT(PEM_FILE_MAX);
	bool differs;

	if (!path || file_read(path, &now, NULL) < 0) {
		buf_release(&now);
		return false;
	}
	differs = !str_eq(buf_str(&now), buf_str(content));
	if (differs) {
		buf_release(content);
		*content = now;
	} else {
		buf_release(&now);
	}
	return differs;
}

static int client_link_make_tls(struct client *c, struct tls **ret_tls, struct error *err)
{
	static const char *const any[] = { "h2", "http/1.1", NULL }, *const one[] = { "http/1.1",
										      NULL };
	struct tls_pair pair = { buf_str(&c->cert), buf_str(&c->key) };
	struct tls_opts o = { .pairs = &pair,
			      .npairs = c->cert.n ? 1 : 0,
			      .ca = buf_str(&c->ca),
			      .insecure_skip_verify = c->config.insecure,
			      .alpn = c->opts.protocol == HTTP_PROTOCOL_1 ? one : any };

	return tls_new(&o, ret_tls, err);
}

/* If a renewed pair of certificate and key does not match yet, it is tried again next time. */
static void renew_tls(struct client *c)
{
	bool differs = reread(c->config.ca_file, &c->ca);
	struct tls *tls;

	differs |= reread(c->config.cert_file, &c->cert);
	differs |= reread(c->config.key_file, &c->key);
	if (!c->tls || !differs || client_link_make_tls(c, &tls, NULL) < 0)
		return;
	tls_unref(c->tls);
	c->tls = tls;
}

static void set_bearer(struct client *c, struct str token)
{
	while (token.n && strchr(" \t\r\n", token.p[token.n - 1]))
		token.n--;
	if (!token.n)
		return;
	buf_clear(&c->credentials);
	(void)buf_printf(&c->credentials, "Bearer %.*s", STR_ARG(token));
}

static void set_basic(struct client *c)
{
	char *pair = arena_printf(&c->arena, "%.*s:%.*s", STR_ARG(c->config.username),
				  STR_ARG(c->config.password));

	(void)buf_addz(&c->credentials, "Basic ");
	(void)base64_encode(&c->credentials, str_from(pair), BASE64_STD);
}

static void renew_token(struct client *c)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(PEM_FILE_MAX);
	int64_t now = loop_now(c->loop);

	if (!c->config.token_file || now - c->token_read_at < TOKEN_MS)
		return;
	c->token_read_at = now;
	if (file_read(c->config.token_file, &b, NULL) == 0)
		set_bearer(c, buf_str(&b));
}

/* Connections made with another certificate end together with the requests that they carry. */
static int become_bearer_of(struct client *c, const struct exec_answer *answer, struct error *err)
{
	struct tls *tls;
	int r;

	if (str_eq(buf_str(&c->cert), answer->cert) && str_eq(buf_str(&c->key), answer->key))
		return 0;
	buf_clear(&c->cert);
	buf_clear(&c->key);
	(void)buf_add_str(&c->cert, answer->cert);
	(void)buf_add_str(&c->key, answer->key);
	if (!c->tls)
		return 0;
	r = client_link_make_tls(c, &tls, err);
	if (r < 0)
		return error_wrap(err, r, "failed parsing client key/certificate");
	tls_unref(c->tls);
	c->tls = tls;
	LIST_FOREACH (it, &c->links)
		LIST_ENTRY(it, struct client_link, node)->retired = true;
	return 0;
}

int client_link_become(struct client *c, const struct exec_answer *answer, struct error *err)
{
	int r = become_bearer_of(c, answer, err);

	if (r < 0)
		return r;
	buf_clear(&c->credentials);
	set_bearer(c, answer->token);
	return 0;
}

static void add_acting(struct client *c, struct str name, struct str value)
{
	if (value.n)
		c->acting[c->nacting++] = (struct http_field){
			.name = name, .value = arena_str(&c->arena, value)
		};
}

void client_link_act_as(struct client *c, const struct kubeconfig *k)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(HTTP_HEADERS_MAX);

	if (!k->as.n)
		return;
	c->acting = ARENA_ARRAY(&c->arena, struct http_field, 2 + k->nas_groups + k->nas_extra);
	add_acting(c, STR("impersonate-user"), k->as);
	add_acting(c, STR("impersonate-uid"), k->as_uid);
	for (size_t i = 0; i < k->nas_groups; i++)
		add_acting(c, STR("impersonate-group"), k->as_groups[i]);
	for (size_t i = 0; i < k->nas_extra; i++) {
		buf_clear(&name);
		(void)buf_addz(&name, "impersonate-extra-");
		/* Header names are case-insensitive; servers turn the keys to lower case. */
		resource_escape(&name, arena_lower(&c->arena, k->as_extra[i].key));
		add_acting(c, arena_lower(&c->arena, buf_str(&name)), k->as_extra[i].value);
	}
}

static int split_url(struct client *c, struct error *err)
{
	struct str url = c->config.server, host;
	bool tls = str_starts(url, STR("https://"));
	ptrdiff_t slash;

	if (!tls && !str_starts(url, STR("http://")))
		return error_set(err, ERR_INVALID,
				 "%.*s: the server \"%.*s\" must begin with https:// or http://",
				 STR_ARG(c->config.source), STR_ARG(url));
	c->scheme = tls ? STR("https") : STR("http");
	host = str_skip(url, c->scheme.n + 3);
	slash = str_chr(host, '/');
	c->prefix = slash < 0 ? STR_NULL : str_skip(host, (size_t)slash);
	while (c->prefix.n && c->prefix.p[c->prefix.n - 1] == '/')
		c->prefix.n--;
	c->authority = slash < 0 ? host : str_of(host.p, (size_t)slash);
	return addr_parse(&c->to, c->authority, tls ? 443 : 80, err);
}

int client_link_setup(struct client *c, struct error *err)
{
	int r = split_url(c, err);

	if (r < 0)
		return error_wrap(err, r, "%.*s: the server", STR_ARG(c->config.source));
	if (c->config.tls_server_name.n)
		c->server_name = arena_strdup(&c->arena, c->config.tls_server_name);
	buf_init(&c->ca, PEM_FILE_MAX);
	buf_init(&c->cert, PEM_FILE_MAX);
	buf_init(&c->key, PEM_FILE_MAX);
	buf_init(&c->credentials, HTTP_HEADERS_MAX);
	(void)buf_add_str(&c->ca, c->config.ca);
	(void)buf_add_str(&c->cert, c->config.cert);
	(void)buf_add_str(&c->key, c->config.key);
	if (c->config.token.n)
		set_bearer(c, c->config.token);
	else if (c->config.username.n)
		set_basic(c);
	c->token_read_at = loop_now(c->loop);
	if (c->scheme.n == sizeof("http") - 1)
		return 0;
	r = client_link_make_tls(c, &c->tls, err);
	return r < 0 ? error_wrap(err, r, "%.*s", STR_ARG(c->config.source)) : 0;
}

bool client_access(struct client *c, struct client_access *ret_access)
{
	if (!client_login_ready(c))
		return false;
	renew_tls(c);
	renew_token(c);
	*ret_access = (struct client_access){ .to = c->to,
					      .tls = c->tls,
					      .server_name = c->server_name,
					      .authority = c->authority,
					      .prefix = c->prefix,
					      .user_agent = c->user_agent,
					      .authorization = buf_str(&c->credentials),
					      .acting = c->acting,
					      .nacting = c->nacting,
					      .login = c->login.count };
	return true;
}

void client_access_rejected(struct client *c, const struct client_access *access)
{
	client_login_refused(c, access->login);
}

void client_link_release(struct client *c)
{
	tls_unref(c->tls);
	buf_release(&c->ca);
	buf_release(&c->cert);
	buf_release(&c->key);
	buf_release(&c->credentials);
}

/* --- streams ---------------------------------------------------------------------------- */

static void read_warnings(struct client_attempt *a, const struct http_fields *fields)
{
	for (size_t i = 0; i < fields->n; i++) {
		if (str_eqz(fields->v[i].name, "warning"))
			client_warning_read(&a->answer, &a->arena, fields->v[i].value);
	}
}

static void client_link_on_head(struct http_stream *s)
{
	struct client_attempt *a = s->data;
	struct str after = http_fields_get(&s->in.fields, STR("retry-after"));
	int64_t seconds;

	a->answer.status = s->in.status;
	a->answer.content_type = arena_str(&a->arena,
					   http_fields_get(&s->in.fields, STR("content-type")));
	if (after.p && str_to_i64(after, &seconds) && seconds >= 0 && seconds <= INT32_MAX)
		a->answer.retry_after_s = (int)seconds;
	else
		a->answer.retry_after_s = -1;
	read_warnings(a, &s->in.fields);
	backoff_reset(&a->client->backoff);
	if (s->in.status == 401) {
		client_login_refused(a->client, a->login);
		a->client->token_read_at = loop_now(a->client->loop) - TOKEN_MS;
	}
	if (a->request && a->request->on_open && s->in.status / 100 == 2)
		a->request->on_open(a->request);
}

static void client_link_on_body(struct http_stream *s, struct str piece)
{
	struct client_attempt *a = s->data;
	struct error err;

	http_stream_consume(s, piece.n);
	if (!a->request)
		return;
	if (a->request->on_data && s->in.status / 100 == 2) {
		a->request->on_data(a->request, piece);
		return;
	}
	if (buf_add_str(&a->text, piece) == 0)
		return;
	(void)error_set(&err, ERR_TOO_LARGE, "the server's answer is larger than %zu bytes",
			a->text.max);
	client_attempt_end(a, &err);
}

static void client_link_on_end(struct http_stream *s)
{
	((struct client_attempt *)s->data)->ended = true;
}

static void on_stream_close(struct http_stream *s, const struct error *err)
{
	struct client_attempt *a = s->data;
	struct client_link *link = TAKE(a->link);

	a->stream = NULL;
	if (link) {
		link->requests--;
		link->streams = false;
		client_kick(a->client);
	}
	client_attempt_closed(a, err);
}

static const struct http_stream_ops stream_ops = {
	.on_head = client_link_on_head,
	.on_body = client_link_on_body,
	.on_end = client_link_on_end,
	.on_close = on_stream_close,
};

static int send_request(struct client_link *link, struct client_attempt *a, struct error *err)
{
	struct client *c = link->client;
	struct http_field few[5], *fields = few;
	struct http_request r = { .method = a->method,
				  .scheme = c->scheme,
				  .authority = c->authority,
				  .target = a->target,
				  .length = a->body ? (int64_t)a->body->n : 0,
				  .end = !a->body,
				  .ops = &stream_ops,
				  .data = a };
	int ret;

	renew_token(c);
	if (c->nacting)
		fields = ARENA_ARRAY(&a->arena, struct http_field, ARRAY_SIZE(few) + c->nacting);
	r.fields = fields;
	fields[r.nfields++] = HTTP_FIELD("user-agent", c->user_agent);
	fields[r.nfields++] = HTTP_FIELD("accept", a->accept);
	if (a->bearer.n)
		fields[r.nfields++] = HTTP_FIELD("authorization", a->bearer);
	else if (c->credentials.n)
		fields[r.nfields++] = HTTP_FIELD("authorization", buf_str(&c->credentials));
	if (a->body)
		fields[r.nfields++] = HTTP_FIELD("content-type", a->content_type);
	for (size_t i = 0; i < c->nacting && !a->bearer.n; i++)
		fields[r.nfields++] = c->acting[i];
	ret = http_client_request(link->http, &r, &a->stream, err);
	if (ret < 0)
		return ret;
	a->link = link;
	a->login = c->login.count;
	link->requests++;
	link->streams = link->max == 1 && a->request->on_data;
	if (a->body) {
		(void)http_stream_send(a->stream, slice_of(a->body));
		(void)http_stream_end(a->stream, NULL, 0);
	}
	return 0;
}

/* --- connections ------------------------------------------------------------------------ */

static void link_free(struct client_link *link)
{
	list_remove(&link->node);
	http_client_free(link->http);
	free(link);
}

static struct client_link *pick_link(struct client *c)
{
	LIST_FOREACH (it, &c->links) {
		struct client_link *link = LIST_ENTRY(it, struct client_link, node);

		if (link->open && !link->retired && link->requests < link->max)
			return link;
	}
	return NULL;
}

static bool has_link(const struct client *c, bool open)
{
	LIST_FOREACH (it, &c->links) {
		const struct client_link *link = LIST_ENTRY(it, struct client_link, node);

		if (!link->retired && link->open == open)
			return true;
	}
	return false;
}

void client_link_fail_waiting(struct client *c, const struct error *err)
{
	size_t n = 0;

	LIST_FOREACH (it, &c->waiting)
		n++;
	for (; n > 0 && !c->freed && !list_empty(&c->waiting); n--) {
		struct list *node = list_pop_front(&c->waiting);

		list_push_back(&c->running, node);
		client_attempt_end(LIST_ENTRY(node, struct client_attempt, node), err);
	}
}

static void connect_failed(struct client *c, const struct error *err)
{
	struct error why;

	/* The error of a plain connection names the address already. */
	if (err && strstr(err->msg, c->to.text))
		(void)error_set(&why, ERR_UNAVAILABLE, "%s", err->msg);
	else
		(void)error_set(&why, ERR_UNAVAILABLE, "cannot connect to %s: %s", c->to.text,
				err ? err->msg : "the connection was closed");
	c->connect_at = loop_now(c->loop) + backoff_next(&c->backoff, loop_prng(c->loop));
	client_kick(c);
	if (!has_link(c, true)) /* otherwise they can wait for that one */
		client_link_fail_waiting(c, &why);
}

static void on_link_open(void *arg)
{
	struct client_link *link = arg;

	link->open = true;
	link->max = http_client_version(link->http) == HTTP_2 ? H2_STREAMS : 1;
	client_kick(link->client);
}

static void on_link_close(void *arg, const struct error *err)
{
	struct client_link *link = arg;

	link->retired = true;
	client_kick(link->client);
	if (!link->open)
		connect_failed(link->client, err);
}

static void connect_link(struct client *c)
{
	struct http_client_opts o = { .to = c->to,
				      .tls = c->tls,
				      .server_name = c->server_name,
				      .protocol = c->opts.protocol,
				      .config.window = WINDOW,
				      .ping_interval_ms = PING_MS,
				      .on_open = on_link_open,
				      .on_close = on_link_close };
	struct client_link *link = XNEW(struct client_link);
	struct error err;

	renew_tls(c);
	o.tls = c->tls;
	o.arg = link;
	link->client = c;
	list_push_back(&c->links, &link->node);
	if (http_client_new(c->loop, &o, &link->http, &err) == 0)
		return;
	list_remove(&link->node);
	free(link);
	connect_failed(c, &err);
}

/* Watches do not count, or they would leave no connection for other requests. */
static bool may_connect(const struct client *c)
{
	size_t n = 0, streams = 0;

	LIST_FOREACH (it, &c->links) {
		n++;
		streams += LIST_ENTRY(it, struct client_link, node)->streams;
	}
	return n - streams < CLIENT_LINKS_MAX && n < CLIENT_WATCH_LINKS_MAX;
}

/* Opens another connection if the existing ones cannot carry the waiting requests. */
static void want_link(struct client *c)
{
	int64_t now = loop_now(c->loop);

	if (has_link(c, false) || !may_connect(c))
		return;
	if (now < c->connect_at) {
		loop_timer_start(&c->timer, c->connect_at - now);
		return;
	}
	connect_link(c);
}

static void free_spent_links(struct client *c)
{
	size_t idle = 0;

	LIST_FOREACH_SAFE (it, &c->links) {
		struct client_link *link = LIST_ENTRY(it, struct client_link, node);
		bool spare = link->open && link->requests == 0 && link->max == 1 &&
			     ++idle > H1_IDLE_KEPT;

		if ((link->retired || spare) && link->requests == 0)
			link_free(link);
	}
}

void client_link_work(struct client *c)
{
	struct client_link *link;
	struct client_attempt *a;
	struct error err;

	if (!list_empty(&c->waiting) && !client_login_ready(c))
		return;
	while (!c->freed && !list_empty(&c->waiting) && (link = pick_link(c))) {
		a = LIST_ENTRY(c->waiting.next, struct client_attempt, node);
		list_remove(&a->node);
		list_push_back(&c->running, &a->node);
		if (send_request(link, a, &err) == 0)
			continue;
		if (err.code != ERR_UNAVAILABLE) {
			client_attempt_end(a, &err);
			continue;
		}
		link->retired = true;
		list_remove(&a->node);
		list_push_front(&c->waiting, &a->node);
	}
	if (c->freed)
		return;
	if (!list_empty(&c->waiting))
		want_link(c);
	else
		client_login_spent(c);
	if (!c->freed)
		free_spent_links(c);
}

void client_link_free_all(struct client *c)
{
	LIST_FOREACH_SAFE (it, &c->links)
		link_free(LIST_ENTRY(it, struct client_link, node));
}

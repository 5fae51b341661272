/*
 * Two requests of the browser: one starts a login and is redirected to the provider, the other one
 * comes back with a code. Between them the browser has a cookie with the login's state, so a code
 * that another browser got is rejected here. The cookie is SameSite=Lax, because the provider's
 * page leads back; it only proves which browser started the login.
 *
 * The code is exchanged for an ID token, which from then on is like a token that was pasted: the
 * API server verifies it, and forwarded requests carry it.
 */
#include "cli/ui/oidc.h"

#include "base/core/mem.h"
#include "cli/ui/site_impl.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/url.h"
#include "net/tls/pki_sign.h"

enum { FLOWS_MAX = 1024, PROVIDER_MS = 20 * 1000 };
#define FLOW_NS (600 * CLOCK_SEC)

/* A login whose browser is at the provider. */
struct site_flow {
	struct list node;
	struct oidc_flow secrets;
	char *token_endpoint;
	bool post; /* struct oidc_metadata */
	int64_t ends_ns; /* monotonic */
};

/* A request of the browser, in its stream's arena. */
struct oidc_call {
	struct site *site;
	struct http_stream *stream;
	struct client *provider; /* owned */
	struct client_request request; /* to the provider, then to the API server */
	struct oidc_flow secrets;
	struct site_user user;
	int64_t ends_s;
	bool counted; /* in nlogins */
};

/* --- flows ----------------------------------------------------------------------------- */

static void flow_free(struct site_flow *f)
{
	list_remove(&f->node);
	free(f->token_endpoint);
	explicit_bzero(f, sizeof(*f));
	free(f);
}

void site_oidc_release(struct site *s)
{
	LIST_FOREACH_SAFE (it, &s->flows)
		flow_free(LIST_ENTRY(it, struct site_flow, node));
}

/* Keeps a new one; drops those that have expired, and the oldest if there are too many. */
static struct site_flow *flow_new(struct site *s, const struct oidc_metadata *m)
{
	struct site_flow *f = XNEW(struct site_flow);
	int64_t now = site_now(s).mono_ns;
	size_t n = 0;

	LIST_FOREACH (it, &s->flows)
		n++;
	LIST_FOREACH_SAFE (it, &s->flows) {
		struct site_flow *old = LIST_ENTRY(it, struct site_flow, node);

		if (old->ends_ns > now && n < FLOWS_MAX)
			break;
		flow_free(old);
		n--;
	}
	oidc_flow_init(&f->secrets);
	f->token_endpoint = str_dup(m->token_endpoint);
	f->post = m->post;
	f->ends_ns = now + FLOW_NS;
	list_push_back(&s->flows, &f->node);
	return f;
}

static struct site_flow *flow_find(struct site *s, struct str state)
{
	LIST_FOREACH (it, &s->flows) {
		struct site_flow *f = LIST_ENTRY(it, struct site_flow, node);

		if (state.n == OIDC_SECRET_SIZE - 1 && f->ends_ns > site_now(s).mono_ns &&
		    pki_equal(f->secrets.state, state.p, state.n))
			return f;
	}
	return NULL;
}

/* --- calls ----------------------------------------------------------------------------- */

/* The one place where a call stops to count, however it ends. */
static void call_over(struct oidc_call *c)
{
	client_cancel(&c->request);
	client_free(TAKE(c->provider));
	if (c->counted)
		c->site->nlogins--;
	c->counted = false;
}

static void call_on_close(struct http_stream *h, const struct error *err UNUSED)
{
	struct oidc_call *c = h->data;

	call_over(c);
	if (c->user.token.n)
		explicit_bzero((char *)(uintptr_t)c->user.token.p, c->user.token.n);
	explicit_bzero(&c->secrets, sizeof(c->secrets));
}

static void call_on_body(struct http_stream *h, struct str piece)
{
	http_stream_consume(h, piece.n);
}

static const struct http_stream_ops call_ops = { .on_body = call_on_body,
						 .on_close = call_on_close };

static struct oidc_call *call_new(struct site *s, struct http_stream *h)
{
	struct oidc_call *c = ARENA_NEW(&h->arena, struct oidc_call);

	c->site = s;
	c->stream = h;
	c->counted = true;
	s->nlogins++;
	h->ops = &call_ops;
	h->data = c;
	return c;
}

/* A person reads this. */
static void call_fail(struct oidc_call *c, enum error_code code, const char *why)
{
	struct http_stream *h = c->stream;

	call_over(c);
	site_count_login(c->site, code == ERR_UNAUTHORIZED ? "rejected" : "failed");
	site_reply(h, error_http_status(code), STR("text/plain; charset=utf-8"),
		   str_from(arena_printf(&h->arena,
					 "The login failed: %s.\nOpen /ui/ to try again.\n", why)),
		   NULL, 0);
}

/* A client of the host of `url`; the rest of the URL is its path. */
static int call_open(struct oidc_call *c, struct str url, bool basic, struct error *err)
{
	const struct oidc_provider *p = c->site->opts.oidc;
	ptrdiff_t slash = str_chr(str_skip(url, STR("https://").n), '/');
	size_t host = slash < 0 ? url.n : STR("https://").n + (size_t)slash;
	struct kubeconfig k = { .source = STR("the OIDC provider"),
				.server = str_of(url.p, host),
				.ca = c->site->opts.oidc_ca };
	struct client_opts o = { .config = &k, .role = "ui", .log = c->site->opts.log };

	if (basic && p->client_secret.n) {
		k.username = str_from(p->client_id);
		k.password = p->client_secret;
	}
	c->request = (struct client_request){ .path = slash < 0 ? STR("/") : str_skip(url, host),
					      .timeout_ms = PROVIDER_MS,
					      .no_retry = true,
					      .arg = c };
	return client_new(c->site->opts.loop, &o, &c->provider, err);
}

/* --- the start -------------------------------------------------------------------------- */

static void start_redirect(struct oidc_call *c, const struct oidc_metadata *m)
{
	struct site *s = c->site;
	struct http_stream *h = c->stream;
	const struct site_flow *f = flow_new(s, m);
	struct str url = oidc_authorize_url(&h->arena, s->opts.oidc, m, &f->secrets);
	const char *cookie = arena_printf(
		&h->arena, "%s=%s; Path=/; Max-Age=600; HttpOnly; SameSite=Lax%s",
		s->flow_cookie.name, f->secrets.state, s->flow_cookie.plain ? "" : "; Secure");
	struct http_field v[] = { HTTP_FIELD("location", url),
				  HTTP_FIELD("set-cookie", str_from(cookie)) };

	v[1].unique = true;
	call_over(c);
	site_reply(h, 302, STR_NULL, STR_NULL, v, ARRAY_SIZE(v));
}

static void start_on_metadata(struct client_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct oidc_call *c = r->arg;
	struct oidc_metadata m;
	struct error why;

	if (err)
		call_fail(c, ERR_UNAVAILABLE,
			  arena_printf(&c->stream->arena, "the provider did not answer: %s",
				       err->msg));
	else if (oidc_read_metadata(&c->stream->arena, answer->body, c->site->opts.oidc, &m, &why) <
		 0)
		call_fail(c, ERR_INTERNAL, arena_strdup(&c->stream->arena, str_from(why.msg)));
	else
		start_redirect(c, &m);
}

static bool is_from_elsewhere(const struct http_stream *h)
{
	struct str site = http_fields_get(&h->in.fields, STR("sec-fetch-site"));

	return site.p && !str_eqz(site, "same-origin") && !str_eqz(site, "none");
}

static bool may_begin(struct site *s, struct http_stream *h)
{
	if (!s->opts.oidc)
		site_refuse(h, ERR_NOT_FOUND, "there is no login by OIDC here");
	else if (s->nlogins >= SITE_LOGINS_MAX)
		site_refuse(h, ERR_TOO_MANY_REQUESTS,
			    "too many logins are under way; try again in a second");
	else
		return true;
	return false;
}

void site_oidc_start(struct site *s, struct http_stream *h)
{
	struct oidc_call *c;
	struct error err;
	struct str url;

	if (!may_begin(s, h))
		return;
	if (is_from_elsewhere(h)) {
		site_refuse(h, ERR_FORBIDDEN, "a login must be started by the page itself");
		return;
	}
	c = call_new(s, h);
	url = str_from(s->opts.oidc->issuer);
	while (str_ends(url, STR("/")))
		url.n--;
	url = str_from(
		arena_printf(&h->arena, "%.*s/.well-known/openid-configuration", STR_ARG(url)));
	if (call_open(c, url, false, &err) < 0) {
		call_fail(c, ERR_INTERNAL, arena_strdup(&h->arena, str_from(err.msg)));
		return;
	}
	c->request.on_done = start_on_metadata;
	client_send(c->provider, &c->request);
}

/* --- the return ------------------------------------------------------------------------- */

static void back_accept(struct oidc_call *c)
{
	struct site *s = c->site;
	struct http_stream *h = c->stream;
	const char *gone = arena_printf(
		&h->arena, "%s=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax%s", s->flow_cookie.name,
		s->flow_cookie.plain ? "" : "; Secure");
	struct http_field v[] = { HTTP_FIELD("location", STR("/ui/")),
				  HTTP_FIELD("set-cookie", str_from(gone)),
				  HTTP_FIELD("set-cookie", STR_NULL) };
	char secret[UI_SECRET_SIZE];

	(void)site_open_session(s, h, &c->user, c->ends_s, secret);
	v[2].value = str_from(ui_cookie_text(&h->arena, &s->cookie, secret));
	v[1].unique = v[2].unique = true;
	call_over(c);
	site_reply(h, 303, STR_NULL, STR_NULL, v, ARRAY_SIZE(v));
	site_sweep(s);
}

static void back_on_review(struct client_request *r, const struct client_answer *answer,
			   const struct error *err)
{
	struct oidc_call *c = r->arg;
	struct error why;

	if (site_review_read(answer, err, &c->stream->arena, &c->user, &why) == 0)
		back_accept(c);
	else if (why.code == ERR_UNAUTHORIZED)
		call_fail(c, ERR_UNAUTHORIZED,
			  "the API server does not accept the provider's ID token; compare issuer "
			  "and client ID with its configuration");
	else
		call_fail(c, ERR_UNAVAILABLE, arena_strdup(&c->stream->arena, str_from(why.msg)));
}

static void back_on_token(struct client_request *r, const struct client_answer *answer,
			  const struct error *err)
{
	struct oidc_call *c = r->arg;
	struct arena *a = &c->stream->arena;
	int64_t now_s = site_now(c->site).wall_ns / CLOCK_SEC;
	struct error why;

	if (err && answer->status) {
		call_fail(c, ERR_UNAUTHORIZED, "the provider does not accept the code");
	} else if (err) {
		call_fail(c, ERR_UNAVAILABLE,
			  arena_printf(a, "the provider did not answer: %s", err->msg));
	} else if (oidc_read_token(a, answer->body, c->site->opts.oidc, &c->secrets, now_s,
				   &c->user.token, &why) < 0) {
		call_fail(c, ERR_UNAUTHORIZED, arena_strdup(a, str_from(why.msg)));
	} else if (!site_user_is_token(a, c->user.token, &c->ends_s)) {
		call_fail(c, ERR_UNAUTHORIZED, "the provider's ID token is malformed");
	} else {
		c->request = (struct client_request){ .bearer = c->user.token,
						      .timeout_ms = PROVIDER_MS,
						      .on_done = back_on_review,
						      .arg = c };
		site_review(c->site->clusters[0].plain, &c->request);
	}
}

static void back_exchange(struct oidc_call *c, const struct site_flow *f, struct str code)
{
	struct oidc_metadata m = { .token_endpoint = str_from(f->token_endpoint), .post = f->post };
	struct arena *a = &c->stream->arena;
	struct error err;

	c->secrets = f->secrets;
	m.token_endpoint = arena_str(a, m.token_endpoint);
	if (call_open(c, m.token_endpoint, !m.post, &err) < 0) {
		call_fail(c, ERR_INTERNAL, arena_strdup(a, str_from(err.msg)));
		return;
	}
	c->request.method = STR("POST");
	c->request.content_type = STR("application/x-www-form-urlencoded");
	c->request.body = oidc_token_form(a, c->site->opts.oidc, &m, &c->secrets, code);
	c->request.on_done = back_on_token;
	client_send(c->provider, &c->request);
}

void site_oidc_back(struct site *s, struct http_stream *h)
{
	struct str rest = h->in.query, name, value, ours;
	struct str state = STR_NULL, code = STR_NULL, failure = STR_NULL;
	struct site_flow *f;
	struct oidc_call *c;

	if (!may_begin(s, h))
		return;
	c = call_new(s, h);
	while (url_param(&rest, &h->arena, &name, &value)) {
		if (str_eqz(name, "state"))
			state = value;
		else if (str_eqz(name, "code"))
			code = value;
		else if (str_eqz(name, "error"))
			failure = str_is_utf8(value) ? value : STR("not UTF-8");
	}
	f = flow_find(s, state);
	if (!f || ui_cookie_read(&s->flow_cookie, &h->in.fields, &ours) != UI_COOKIE_ONE ||
	    !str_eq(ours, state)) {
		call_fail(c, ERR_UNAUTHORIZED,
			  "it was not started by this browser, or too long ago");
		return;
	}
	if (failure.p || !code.n)
		call_fail(c, ERR_UNAUTHORIZED,
			  arena_printf(&h->arena, "the provider says \"%.*s\"", STR_ARG(failure)));
	else
		back_exchange(c, f, code);
	flow_free(f);
}

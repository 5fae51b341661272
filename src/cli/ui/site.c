/*
 * A table of paths below /ui; everything else is forwarded.
 *
 * Each cluster has two clients. One knows only the address and the CA: sessions of tokens use it,
 * and add their token. The other one has the kubeconfig's own credentials, and only exists if a
 * link may log in with them. So a mistake cannot lend the kubeconfig's rights to a token.
 */
#include "cli/ui/site.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "cli/roles/serving_cert.h"
#include "cli/ui/site_impl.h"
#include "client/kubeconfig/kubeconfig.h"
#include "net/loop/conn.h"
#include "net/net_limits.h"
#include "web/session/passes.h"

enum {
	CONNS_MAX = 8192,
	STRANGERS_MAX = 1024, /* connections from one address without a session */
	GRACE_MS = 1000,
	LINK_S = 600,
};

struct ui_now site_now(const struct site *s)
{
	const struct clock *c = loop_clock(s->opts.loop);

	return (struct ui_now){ clock_monotonic(c), clock_wall(c) };
}

/* --- requests ---------------------------------------------------------------------- */

/*
 * Plain HTTP has no certificate that binds the address to us. A page of another site whose name
 * was made to point here would be of our origin, so it is rejected by the name that it uses.
 */
static bool is_named_wrong(const struct site *s, const struct http_stream *h)
{
	char local[NET_ADDRESS_MAX];

	if (!s->cookie.plain || str_eqz(h->in.authority, s->at.text))
		return false;
	(void)snprintf(local, sizeof(local), "localhost:%u", (unsigned)s->at.port);
	return !str_ieq(h->in.authority, str_from(local));
}

static const struct {
	struct str name, method;
	void (*handle)(struct site *s, struct http_stream *h);
} routes[] = {
	{ { "login", 5 }, { "POST", 4 }, site_login },
	{ { "session", 7 }, { "GET", 3 }, site_session },
	{ { "logout", 6 }, { "POST", 4 }, site_logout },
	{ { "clusters", 8 }, { "GET", 3 }, site_list_clusters },
	{ { "explain", 7 }, { "GET", 3 }, site_explain },
	{ { "oidc", 4 }, { "GET", 3 }, site_oidc_start },
	{ { "oidc/callback", 13 }, { "GET", 3 }, site_oidc_back },
};

static void site_route(struct site *s, struct http_stream *h, struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!str_eq(routes[i].name, name))
			continue;
		if (str_eq(routes[i].method, h->in.method))
			routes[i].handle(s, h);
		else
			site_refuse(h, ERR_METHOD_NOT_ALLOWED, "this path has another method");
		return;
	}
	site_send_file(h, name);
}

static void site_on_request(void *arg, struct http_stream *h, size_t lane UNUSED)
{
	struct site *s = arg;
	struct str path = h->in.path;

	h->ops = &site_quiet_ops;
	if (is_named_wrong(s, h))
		site_refuse(h, ERR_FORBIDDEN,
			    arena_printf(&h->arena, "this page is only served as %s/ui/", s->url));
	else if (str_eqz(path, "/") || str_eqz(path, "/ui"))
		site_redirect(h, STR("/ui/"));
	else if (str_starts(path, STR("/ui/")))
		site_route(s, h, str_skip(path, 4));
	else
		site_forward(s, h);
}

/* --- who the kubeconfig's user is ---------------------------------------------------- */

void site_review(struct client *c, struct client_request *r)
{
	r->method = STR("POST");
	r->path = STR("/apis/authentication.k8s.io/v1/selfsubjectreviews");
	r->body = STR("{\"apiVersion\":\"authentication.k8s.io/v1\","
		      "\"kind\":\"SelfSubjectReview\"}");
	r->no_retry = true;
	client_send(c, r);
}

int site_review_read(const struct client_answer *answer, const struct error *err, struct arena *a,
		     struct site_user *u, struct error *ret_err)
{
	struct json *tree;
	int r;

	if (err)
		return error_copy(ret_err, err);
	r = client_answer_tree(answer, a, &tree, ret_err);
	return r < 0 ? r : site_user_read(a, tree, u, ret_err);
}

static void on_identified(struct client_request *r, const struct client_answer *answer,
			  const struct error *err)
{
	struct site *s = r->arg;
	struct site_user u = { .cluster = 0 };
	struct error why;
	int ret = site_review_read(answer, err, &s->arena, &u, &why);

	if (ret == 0) {
		s->user = *(const struct site_user *)site_user_ops.copy(&s->arena, &u);
		s->identified(s->identified_arg, NULL);
	} else {
		s->identified(s->identified_arg, &why);
	}
}

void site_identify(struct site *s, void (*done)(void *arg, const struct error *err), void *arg)
{
	s->identified = done;
	s->identified_arg = arg;
	s->identify = (struct client_request){ .on_done = on_identified, .arg = s };
	site_review(s->clusters[0].own, &s->identify);
}

struct str site_own_name(const struct site *s)
{
	return s->user.name;
}

int64_t site_link(struct site *s, char ret_code[static UI_SECRET_SIZE])
{
	struct ui_login who = { .name = s->user.name, .user = &s->user };

	return ui_sessions_add_code(s->sessions, &who, LINK_S * CLOCK_SEC, site_now(s), ret_code);
}

/* --- life -------------------------------------------------------------------------- */

static int cluster_open(struct site *s, struct site_cluster *c, const struct kubeconfig *k,
			struct error *err)
{
	struct client_opts o = { .role = "ui",
				 .protocol = HTTP_PROTOCOL_1,
				 .metrics = s->opts.metrics,
				 .log = s->opts.log };
	struct kubeconfig plain = *k;
	int r;

	plain.cert = plain.key = plain.token = plain.username = plain.password = STR_NULL;
	plain.cert_file = plain.key_file = plain.token_file = NULL;
	plain.exec = NULL;
	plain.as = STR_NULL;
	c->config = k;
	c->name = arena_str(&s->arena, k->context.n ? k->context : k->server);
	o.config = &plain;
	r = client_new(s->opts.loop, &o, &c->plain, err);
	o.config = k;
	if (r == 0 && s->opts.own)
		r = client_new(s->opts.loop, &o, &c->own, err);
	return r;
}

static int site_count(struct site *s, struct error *err)
{
	static const char *const code[] = { "code" }, *const result[] = { "result" };
	struct metrics_spec forwarded = { .name = "devplane_ui_forwarded_requests_total",
					  .help = "Requests of sessions that were forwarded to an "
						  "API server, by the HTTP status of its reply.",
					  .type = METRICS_COUNTER,
					  .labels = code,
					  .labels_n = 1 };
	struct metrics_spec logins = { .name = "devplane_ui_logins_total",
				       .help = "Attempts to log in to the device page, by result.",
				       .type = METRICS_COUNTER,
				       .labels = result,
				       .labels_n = 1 };
	int r = metrics_register(s->opts.metrics, &forwarded, &s->forwarded, err);

	return r < 0 ? r : metrics_register(s->opts.metrics, &logins, &s->logins, err);
}

static int site_listen(struct site *s, struct error *err)
{
	struct http_server_opts o = { .loops = &s->opts.loop,
				      .nloops = 1,
				      .handler = site_on_request,
				      .arg = s,
				      .max_conns = CONNS_MAX,
				      .max_strangers = STRANGERS_MAX };
	bool plain = !s->opts.cert;
	int r;

	s->server = http_server_new(&o);
	r = plain ? http_server_listen(s->server, &s->opts.at, NULL, 0, &s->at, err)
		  : serving_cert_listen(s->opts.cert, s->server, &s->opts.at, &s->at, err);
	if (r < 0)
		return r;
	s->url = arena_printf(&s->arena, "http%s://%s", plain ? "" : "s", s->at.text);
	s->cookie = ui_cookie_host;
	s->cookie.plain = s->flow_cookie.plain = plain;
	s->flow_cookie.name = "__Host-devplane-login";
	if (plain) {
		s->cookie.name = arena_printf(&s->arena, "devplane-%u", (unsigned)s->at.port);
		s->flow_cookie.name = arena_printf(&s->arena, "%s-login", s->cookie.name);
	}
	return 0;
}

int site_new(const struct site_opts *opts, struct site **ret_site, struct error *err)
{
	struct site *s = XNEW(struct site);
	int r = 0;

	s->opts = *opts;
	s->nclusters = opts->nclusters;
	arena_init(&s->arena, SIZE_MAX);
	list_init(&s->forwards);
	list_init(&s->flows);
	loop_timer_init(&s->sweep, opts->loop, site_on_sweep);
	s->sessions = ui_sessions_new(&site_user_ops);
	s->passes = ui_passes_new();
	s->clusters = ARENA_ARRAY(&s->arena, struct site_cluster, s->nclusters);
	for (size_t i = 0; r == 0 && i < s->nclusters; i++)
		r = cluster_open(s, &s->clusters[i], opts->clusters[i], err);
	if (r == 0)
		r = site_count(s, err);
	if (r == 0)
		r = site_listen(s, err);
	s->opts.clusters = NULL;
	if (r < 0)
		site_free(s);
	else
		*ret_site = s;
	return r;
}

const char *site_url(const struct site *s)
{
	return s->url;
}

static bool site_ends_all(const void *user UNUSED, const void *arg UNUSED)
{
	return true;
}

void site_stop(struct site *s, void (*done)(void *arg), void *arg)
{
	s->stopping = true;
	client_cancel(&s->identify);
	ui_sessions_end_if(s->sessions, site_ends_all, NULL);
	site_sweep(s);
	http_server_drain(s->server, GRACE_MS, done, arg);
}

void site_free(struct site *s)
{
	if (!s)
		return;
	client_cancel(&s->identify);
	http_server_free(s->server);
	loop_timer_stop(&s->sweep);
	for (size_t i = 0; i < s->nclusters; i++) {
		client_free(s->clusters[i].plain);
		client_free(s->clusters[i].own);
	}
	ui_passes_free(s->passes);
	ui_sessions_free(s->sessions);
	site_oidc_release(s);
	arena_release(&s->arena);
	free(s);
}

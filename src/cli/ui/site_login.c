/*
 * A token is verified by the API server that it is for: a SelfSubjectReview with this token. That
 * is the only request that is sent without a session, so the number of such requests under way is
 * limited. As on our own API server, a valid token or code is accepted however many logins fail
 * meanwhile.
 */
#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "cli/ui/site_impl.h"
#include "web/session/page.h"
#include "web/web_limits.h"

enum { BODY_MS = 10 * 1000, REVIEW_MS = 20 * 1000 };

/* A login under way, in its stream's arena. */
struct site_login {
	struct site *site;
	struct http_stream *stream;
	struct client_request review;
	struct site_user user;
	int64_t ends_s;
	struct str code; /* or the token is in `user` */
	struct str id; /* of the session that it replaces */
};

/* --- the session --------------------------------------------------------------------- */

static void reply_session(struct site *s, struct http_stream *h, const struct ui_session *e,
			  const char *secret)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const struct site_user *u = site_user_of(e);
	struct ui_session_info info = { u->name, u->groups, u->ngroups,
					ui_session_ends(e, site_now(s)) };
	struct http_field cookie = { .unique = true };

	ui_session_print(&out, &info);
	if (secret) {
		cookie.name = STR("set-cookie");
		cookie.value = str_from(ui_cookie_text(&h->arena, &s->cookie, secret));
	}
	site_reply(h, 200, STR("application/json"), buf_str(&out), &cookie, secret ? 1 : 0);
}

struct ui_session *site_find_session(struct site *s, struct http_stream *h)
{
	struct ui_session *e = NULL;
	struct error err;
	struct str id;
	int r = ui_cookie_claim(&s->cookie, &h->in, &id, &err);

	if (r == 1)
		e = ui_sessions_find(s->sessions, id, site_now(s));
	if (r < 0)
		site_fail(h, &err);
	else if (!e)
		site_refuse_login(s, h, "Unauthorized");
	else
		http_stream_vouch(h);
	return e;
}

void site_session(struct site *s, struct http_stream *h)
{
	const struct ui_session *e = site_find_session(s, h);

	if (e)
		reply_session(s, h, e, NULL);
}

void site_logout(struct site *s, struct http_stream *h)
{
	struct http_field cookie = { .name = STR("set-cookie"), .unique = true };
	struct error err;
	struct str id;

	if (ui_cookie_check_page(&s->cookie, &h->in, &err) < 0) {
		site_fail(h, &err);
		return;
	}
	if (ui_cookie_read(&s->cookie, &h->in.fields, &id) == UI_COOKIE_ONE) {
		(void)ui_sessions_close(s->sessions, id);
		site_sweep(s);
	}
	cookie.value = str_from(ui_cookie_text(&h->arena, &s->cookie, NULL));
	site_reply(h, 204, STR_NULL, STR_NULL, &cookie, 1);
}

/* --- login --------------------------------------------------------------------------- */

void site_count_login(struct site *s, const char *result)
{
	metrics_counter_add(metrics_counter(s->logins, str_from(result)), 1);
}

const struct ui_session *site_open_session(struct site *s, struct http_stream *h,
					   const struct site_user *u, int64_t ends_s,
					   char ret_secret[static UI_SECRET_SIZE])
{
	struct ui_login who = { .name = u->name, .ends_s = ends_s, .user = u };
	const struct ui_session *e = ui_sessions_open(s->sessions, &who, site_now(s), ret_secret);

	site_count_login(s, "accepted");
	log_info(s->opts.log, "login", LOG_STR("user", u->name));
	http_stream_vouch(h);
	return e;
}

static void login_accept(struct site_login *l, const struct site_user *u, int64_t ends_s)
{
	struct site *s = l->site;
	char secret[UI_SECRET_SIZE];
	const struct ui_session *e;

	/* The browser drops its previous session, and nobody else has it. */
	(void)ui_sessions_close(s->sessions, l->id);
	e = site_open_session(s, l->stream, u, ends_s, secret);
	reply_session(s, l->stream, e, secret);
	site_sweep(s);
}

static void login_reject(struct site_login *l, const char *why)
{
	struct site *s = l->site;

	site_count_login(s, "rejected");
	if (ui_sessions_busy(s->sessions, site_now(s))) {
		site_refuse(l->stream, ERR_TOO_MANY_REQUESTS,
			    "too many logins have failed just now; try again in a second");
		return;
	}
	ui_sessions_failed(s->sessions, site_now(s));
	site_refuse_login(s, l->stream, why);
}

static void login_on_close(struct http_stream *h, const struct error *err UNUSED)
{
	struct site_login *l = h->data;

	if (client_busy(&l->review))
		l->site->nlogins--;
	client_cancel(&l->review);
	if (l->user.token.n)
		explicit_bzero((char *)(uintptr_t)l->user.token.p, l->user.token.n);
}

static const struct http_stream_ops login_ops = { .on_close = login_on_close };

static void login_on_review(struct client_request *r, const struct client_answer *answer,
			    const struct error *err)
{
	struct site_login *l = r->arg;
	struct error why;

	l->site->nlogins--;
	if (site_review_read(answer, err, &l->stream->arena, &l->user, &why) == 0) {
		login_accept(l, &l->user, l->ends_s);
	} else if (why.code == ERR_UNAUTHORIZED) {
		login_reject(l, "the token is not accepted");
	} else {
		site_count_login(l->site, "failed");
		if (why.code != ERR_FORBIDDEN)
			why.code = ERR_UNAVAILABLE;
		site_fail(l->stream, &why);
	}
}

static void login_by_token(struct site_login *l)
{
	struct site *s = l->site;

	if (!site_user_is_token(&l->stream->arena, l->user.token, &l->ends_s)) {
		login_reject(l, "the token is not accepted");
		return;
	}
	if (s->nlogins >= SITE_LOGINS_MAX) {
		site_refuse(l->stream, ERR_TOO_MANY_REQUESTS,
			    "too many logins are under way; try again in a second");
		return;
	}
	s->nlogins++;
	l->review = (struct client_request){ .bearer = l->user.token,
					     .timeout_ms = REVIEW_MS,
					     .on_done = login_on_review,
					     .arg = l };
	site_review(s->clusters[l->user.cluster].plain, &l->review);
}

static void login_by_code(struct site_login *l)
{
	struct site *s = l->site;
	struct ui_session *coded = ui_sessions_take_code(s->sessions, l->code, site_now(s));

	if (!coded) {
		login_reject(l, "the link is no longer valid: each works once and for a short "
				"time; start \"devplane ui\" again for a new one");
		return;
	}
	ui_session_hold(coded, &l->stream->arena);
	ui_session_unref(coded);
	login_accept(l, site_user_of(coded), 0);
}

static int find_cluster(const struct site *s, struct str name, size_t *ret_at, struct error *err)
{
	for (size_t i = 0; i < s->nclusters; i++)
		if (!name.p || str_eq(s->clusters[i].name, name)) {
			*ret_at = i;
			return 0;
		}
	return error_set(err, ERR_BAD_REQUEST, "there is no such cluster; /ui/clusters has a list");
}

static int login_read(struct site_login *l, struct str body, struct error *err)
{
	struct http_stream *h = l->stream;
	struct json *tree;
	int r = json_parse(&h->arena, body, NULL, &tree, err);

	if (r < 0)
		return r;
	l->code = json_text_at(tree, "code");
	l->user.token = json_text_at(tree, "token");
	if (!l->code.p == !l->user.token.p)
		return error_set(err, ERR_BAD_REQUEST, "a login has either a code or a token");
	/* A copy: the text of the body is borrowed. */
	l->user.token = arena_str(&h->arena, ui_token_trim(l->user.token));
	if (ui_cookie_read(&l->site->cookie, &h->in.fields, &l->id) != UI_COOKIE_ONE)
		l->id = STR_NULL;
	return find_cluster(l->site, json_text_at(tree, "cluster"), &l->user.cluster, err);
}

static void login_on_body(struct http_stream *h, struct str body)
{
	struct site_login *l = h->data;
	struct error err;

	if (login_read(l, body, &err) < 0)
		site_fail(h, &err);
	else if (l->code.p)
		login_by_code(l);
	else
		login_by_token(l);
}

void site_login(struct site *s, struct http_stream *h)
{
	struct site_login *l = ARENA_NEW(&h->arena, struct site_login);
	struct error err;

	if (ui_cookie_check_page(&s->cookie, &h->in, &err) < 0) {
		site_fail(h, &err);
		return;
	}
	if (h->in.length > (int64_t)UI_BODY_MAX) {
		site_refuse(h, ERR_TOO_LARGE, "a login is not that large");
		return;
	}
	*l = (struct site_login){ .site = s, .stream = h };
	h->ops = &login_ops;
	h->data = l;
	http_stream_limit_body(h, UI_BODY_MAX);
	http_stream_body_timeout(h, BODY_MS, 0);
	http_stream_collect(h, login_on_body);
}

/* --- clusters -------------------------------------------------------------------------- */

void site_list_clusters(struct site *s, struct http_stream *h)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const struct ui_session *e = site_find_session(s, h);
	struct json_writer w;

	if (!e)
		return;
	json_writer_init(&w, &out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "clusters");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < s->nclusters; i++) {
		if (site_user_of(e)->token.n && site_user_of(e)->cluster != i)
			continue;
		json_writer_begin_object(&w);
		json_writer_keyz(&w, "name");
		json_writer_str(&w, s->clusters[i].name);
		json_writer_keyz(&w, "path");
		json_writer_strz(&w, arena_printf(&h->arena, "/clusters/%zu", i));
		json_writer_end_object(&w);
	}
	json_writer_end_array(&w);
	json_writer_keyz(&w, "explain");
	json_writer_bool(&w, true);
	json_writer_end_object(&w);
	(void)json_writer_finish(&w);
	site_reply(h, 200, STR("application/json"), buf_str(&out), NULL, 0);
}

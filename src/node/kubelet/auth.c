/*
 * The reviewer asks about tokens and permissions. This file has kubelet's rules: which
 * subresources permit a request, and the texts of rejections.
 */
#include "node/kubelet/auth.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "net/http/http.h"
#include "net/tls/tls.h"

struct kubelet_auth {
	struct kubelet_auth_opts opts;
	struct reviewer *reviewer;
};

struct kubelet_auth *kubelet_auth_new(const struct kubelet_auth_opts *opts)
{
	struct kubelet_auth *a = XNEW(struct kubelet_auth);

	a->opts = *opts;
	a->reviewer = reviewer_new(opts->client);
	return a;
}

void kubelet_auth_free(struct kubelet_auth *a)
{
	if (!a)
		return;
	reviewer_free(a->reviewer);
	free(a);
}

static struct arena *arena_of(const struct kubelet_ask *q)
{
	return &q->http->arena;
}

static struct str user_name(const struct kubelet_ask *q)
{
	return json_text_at(q->review.user, "username");
}

static void auth_fail(struct kubelet_ask *q, enum error_code code, const char *text)
{
	struct error err;

	(void)error_set(&err, code, "%s", text);
	q->done(q, &err);
}

/* --- authorization ---------------------------------------------------------------- */

static const char *verb_of(const struct kubelet_ask *q)
{
	return kubelet_route_verb(q->http->in.method, q->http->in.path);
}

/* "Forbidden (user=u, verb=get, resource=nodes, subresource(s)=[pods proxy])\n" */
static void auth_forbid(struct kubelet_ask *q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	(void)buf_printf(&text, "Forbidden (user=%.*s, verb=%s, resource=nodes, subresource(s)=[",
			 STR_ARG(user_name(q)), verb_of(q));
	for (size_t i = 0; i < q->n; i++)
		(void)buf_printf(&text, "%s%s", i > 0 ? " " : "", q->subresources[i]);
	(void)buf_addz(&text, "])\n");
	auth_fail(q, ERR_FORBIDDEN, text.p);
}

static void auth_next_right(struct kubelet_ask *q);

static void auth_on_right(struct review *v, bool yes, const struct error *err)
{
	struct kubelet_ask *q = CONTAINER_OF(v, struct kubelet_ask, review);

	if (err && err->code == ERR_TOO_LARGE) {
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
	} else if (err) {
		auth_fail(q, ERR_INTERNAL,
			  arena_printf(arena_of(q),
				       "Authorization error (user=%.*s, verb=%s, resource=nodes, "
				       "subresource=%s)",
				       STR_ARG(user_name(q)), verb_of(q), q->subresources[q->at]));
	} else if (yes) {
		q->done(q, NULL);
	} else {
		q->at++;
		auth_next_right(q);
	}
}

static void auth_next_right(struct kubelet_ask *q)
{
	struct arena *a = arena_of(q);
	struct json *at;

	if (q->at == q->n) {
		auth_forbid(q);
		return;
	}
	at = json_make_object(a);
	json_put_str(a, at, "verb", str_from(verb_of(q)));
	json_put_str(a, at, "version", STR("v1"));
	json_put_str(a, at, "resource", STR("nodes"));
	json_put_str(a, at, "subresource", str_from(q->subresources[q->at]));
	json_put_str(a, at, "name", str_from(q->auth->opts.node_name));
	q->review.done = auth_on_right;
	reviewer_access(q->auth->reviewer, &q->review, at);
}

static void user_known(struct kubelet_ask *q, struct json *user)
{
	q->review.user = user;
	q->n = kubelet_route_subresources(q->http->in.path, q->subresources);
	q->at = 0;
	auth_next_right(q);
}

/* --- authentication --------------------------------------------------------------- */

static void auth_on_token(struct review *v, bool yes, const struct error *err)
{
	struct kubelet_ask *q = CONTAINER_OF(v, struct kubelet_ask, review);

	if (err || !yes)
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
	else
		user_known(q, v->user);
}

static struct json *make_user(struct arena *a, struct str name, const struct str *groups, size_t n,
			      const char *last_group)
{
	struct json *user = json_make_object(a), *list;

	json_put_str(a, user, "username", name);
	list = json_need_array(a, user, "groups");
	for (size_t i = 0; i < n; i++)
		json_append(list, json_make_str(a, groups[i]));
	json_append(list, json_make_str(a, str_from(last_group)));
	return user;
}

/* NULL: no certificate, or one that has expired meanwhile. */
static struct json *user_of_certificate(struct kubelet_ask *q)
{
	const struct clock *clock = loop_clock(client_loop(q->auth->opts.client));
	struct conn *conn = http_stream_conn(q->http);
	struct tls_peer peer;

	if (!conn || !conn_is_tls(conn) || tls_peer(conn, arena_of(q), &peer, NULL) < 0 ||
	    peer.common_name.n == 0 || peer.not_after * CLOCK_SEC < clock_wall(clock))
		return NULL;
	return make_user(arena_of(q), peer.common_name, peer.organizations, peer.norganizations,
			 "system:authenticated");
}

void kubelet_auth_ask(struct kubelet_auth *a, struct kubelet_ask *q)
{
	struct json *user;
	struct str token;
	bool bearer;

	q->auth = a;
	q->review = (struct review){ .arena = arena_of(q), .done = auth_on_token };
	bearer = reviewer_bearer(&q->http->in.fields, &token);
	user = user_of_certificate(q);
	if (user)
		user_known(q, user);
	else if (token.n > 0)
		reviewer_token(a->reviewer, &q->review, token);
	else if (a->opts.anonymous && !bearer)
		user_known(q, make_user(arena_of(q), STR("system:anonymous"), NULL, 0,
					"system:unauthenticated"));
	else
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
}

void kubelet_auth_cancel(struct kubelet_ask *q)
{
	reviewer_cancel(&q->review);
}

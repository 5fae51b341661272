/*
 * Cache keys: a hash of the token, so that no token stays in memory; for permissions, user, verb
 * and subresource as text.
 */
#include "node/kubelet/auth.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "net/http/http.h"
#include "net/tls/pki_sign.h"
#include "net/tls/tls.h"
#include "node/kubelet/review_cache.h"

enum {
	TOKEN_MS = 2 * 60 * 1000,
	ALLOWED_MS = 5 * 60 * 1000,
	DENIED_MS = 30 * 1000,
	REVIEW_MS = 10 * 1000,
};

struct kubelet_auth {
	struct kubelet_auth_opts opts;
	struct resource tokens, access; /* reviews */
	struct review_cache known_tokens, known_rights;
};

struct kubelet_auth *kubelet_auth_new(const struct kubelet_auth_opts *opts)
{
	struct kubelet_auth *a = XNEW(struct kubelet_auth);

	a->opts = *opts;
	a->tokens = resource_builtin("authentication.k8s.io", "v1", "tokenreviews");
	a->access = resource_builtin("authorization.k8s.io", "v1", "subjectaccessreviews");
	review_cache_init(&a->known_tokens);
	review_cache_init(&a->known_rights);
	return a;
}

void kubelet_auth_free(struct kubelet_auth *a)
{
	if (!a)
		return;
	review_cache_release(&a->known_tokens);
	review_cache_release(&a->known_rights);
	free(a);
}

static int64_t auth_now_ms(const struct kubelet_ask *q)
{
	return loop_now(client_loop(q->auth->opts.client));
}

static struct arena *arena_of(const struct kubelet_ask *q)
{
	return &q->http->arena;
}

static struct str user_name(const struct kubelet_ask *q)
{
	return json_text_at(q->user, "username");
}

static void auth_fail(struct kubelet_ask *q, enum error_code code, const char *text)
{
	struct error err;

	(void)error_set(&err, code, "%s", text);
	q->done(q, &err);
}

static void send_review(struct kubelet_ask *q, const struct resource *what, struct json *review)
{
	q->call.timeout_ms = REVIEW_MS;
	q->call.arg = q;
	client_create(q->auth->opts.client, &q->call, what, STR_NULL, review);
}

static struct json *new_review(struct kubelet_ask *q, const struct resource *what, const char *kind,
			       struct json **ret_spec)
{
	struct arena *a = arena_of(q);
	struct json *review = json_make_object(a);

	json_put_str(a, review, "apiVersion", resource_api_version(a, what));
	json_put_str(a, review, "kind", str_from(kind));
	*ret_spec = json_need_object(a, review, "spec");
	return review;
}

/* --- authorization ---------------------------------------------------------------- */

static void next_right(struct kubelet_ask *q);

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

static void right_known(struct kubelet_ask *q, bool yes)
{
	if (yes) {
		q->done(q, NULL);
	} else {
		q->at++;
		next_right(q);
	}
}

static void on_right(struct client_request *r, const struct client_answer *answer,
		     const struct error *err)
{
	struct kubelet_ask *q = r->arg;
	const struct json *status;
	struct json *tree;
	bool yes;

	if (err || client_answer_tree(answer, arena_of(q), &tree, NULL) < 0) {
		auth_fail(q, ERR_INTERNAL,
			  arena_printf(arena_of(q),
				       "Authorization error (user=%.*s, verb=%s, resource=nodes, "
				       "subresource=%s)",
				       STR_ARG(user_name(q)), verb_of(q), q->subresources[q->at]));
		return;
	}
	status = json_getz(tree, "status");
	yes = json_true_at(status, "allowed");
	review_cache_put(&q->auth->known_rights, q->key, yes, STR_NULL,
			 auth_now_ms(q) + (yes ? ALLOWED_MS : DENIED_MS));
	right_known(q, yes);
}

static void ask_right(struct kubelet_ask *q)
{
	struct arena *a = arena_of(q);
	struct json *spec, *at, *review, *copy;

	review = new_review(q, &q->auth->access, "SubjectAccessReview", &spec);
	json_put_str(a, spec, "user", user_name(q));
	JSON_FOREACH (field, q->user) {
		if (str_eqz(json_key(field), "username") || json_copy(a, field, &copy, NULL) < 0)
			continue;
		json_set(spec, json_key(field), copy);
	}
	at = json_need_object(a, spec, "resourceAttributes");
	json_put_str(a, at, "verb", str_from(verb_of(q)));
	json_put_str(a, at, "version", STR("v1"));
	json_put_str(a, at, "resource", STR("nodes"));
	json_put_str(a, at, "subresource", str_from(q->subresources[q->at]));
	json_put_str(a, at, "name", str_from(q->auth->opts.node_name));
	q->call = (struct client_request){ .on_done = on_right };
	send_review(q, &q->auth->access, review);
}

static void next_right(struct kubelet_ask *q)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(MIB);
	struct str text;
	bool yes;

	if (q->at == q->n) {
		auth_forbid(q);
		return;
	}
	(void)buf_printf(&key, "%s %s ", verb_of(q), q->subresources[q->at]);
	(void)json_print(&key, q->user, NULL);
	if (key.overflow) {
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
		return;
	}
	q->key = arena_str(arena_of(q), buf_str(&key));
	if (review_cache_get(&q->auth->known_rights, q->key, auth_now_ms(q), &yes, &text))
		right_known(q, yes);
	else
		ask_right(q);
}

static void user_known(struct kubelet_ask *q, struct json *user)
{
	q->user = user;
	q->n = kubelet_route_subresources(q->http->in.path, q->subresources);
	q->at = 0;
	next_right(q);
}

/* --- authentication --------------------------------------------------------------- */

static void token_known(struct kubelet_ask *q, bool yes, struct str user)
{
	struct json *tree;

	if (!yes || json_parse(arena_of(q), arena_str(arena_of(q), user), NULL, &tree, NULL) < 0)
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
	else
		user_known(q, tree);
}

static void on_token(struct client_request *r, const struct client_answer *answer,
		     const struct error *err)
{
	CLEANUP(buf_release) struct buf user = BUF_INIT(MIB);
	struct kubelet_ask *q = r->arg;
	const struct json *status;
	struct json *tree;
	bool yes;

	if (err || client_answer_tree(answer, arena_of(q), &tree, NULL) < 0) {
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
		return;
	}
	status = json_getz(tree, "status");
	yes = json_true_at(status, "authenticated");
	if (yes)
		yes = json_print(&user, json_getz(status, "user"), NULL) == 0;
	review_cache_put(&q->auth->known_tokens, q->key, yes, buf_str(&user),
			 auth_now_ms(q) + TOKEN_MS);
	token_known(q, yes, buf_str(&user));
}

static void review_token(struct kubelet_ask *q, struct str token)
{
	uint8_t *hash = arena_alloc(arena_of(q), PKI_SHA256_SIZE);
	struct json *spec, *review;
	struct str user;
	bool yes;

	pki_sha256(token, hash);
	q->key = str_of(hash, PKI_SHA256_SIZE);
	if (review_cache_get(&q->auth->known_tokens, q->key, auth_now_ms(q), &yes, &user)) {
		token_known(q, yes, user);
		return;
	}
	review = new_review(q, &q->auth->tokens, "TokenReview", &spec);
	json_put_str(arena_of(q), spec, "token", token);
	q->call = (struct client_request){ .on_done = on_token };
	send_review(q, &q->auth->tokens, review);
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
	struct str token = http_fields_get(&q->http->in.fields, STR("authorization"));
	struct str scheme = STR_NULL;
	struct json *user;

	q->auth = a;
	user = user_of_certificate(q);
	if (user)
		user_known(q, user);
	else if (str_split(&token, ' ', &scheme) && str_ieq(scheme, STR("bearer")) &&
		 str_trim(token).n > 0 && str_is_utf8(token))
		review_token(q, str_trim(token));
	else if (a->opts.anonymous && !str_ieq(scheme, STR("bearer")))
		user_known(q, make_user(arena_of(q), STR("system:anonymous"), NULL, 0,
					"system:unauthenticated"));
	else
		auth_fail(q, ERR_UNAUTHORIZED, "Unauthorized");
}

void kubelet_auth_cancel(struct kubelet_ask *q)
{
	client_cancel(&q->call);
}

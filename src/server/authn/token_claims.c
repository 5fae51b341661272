/*
 * Members are printed in name order, as upstream's map encoder does. Tokens that never expire are
 * rejected: they are no longer issued.
 */
#include "server/authn/token_claims.h"

#include "base/core/arena.h"
#include "base/json/writer.h"
#include "net/tls/jwt.h"
#include "server/server_limits.h"

#define EXTRAS_MAX 5

/* --- printing ---------------------------------------------------------------------------- */

static void print_ref(struct json_writer *w, const char *key, struct str name, struct str uid)
{
	if (!name.n)
		return;
	json_writer_keyz(w, key);
	json_writer_begin_object(w);
	json_writer_keyz(w, "name");
	json_writer_str(w, name);
	if (uid.n) {
		json_writer_keyz(w, "uid");
		json_writer_str(w, uid);
	}
	json_writer_end_object(w);
}

static void print_binding(struct json_writer *w, const struct token_claims *c)
{
	const struct user_binding *b = &c->binding;

	json_writer_keyz(w, "kubernetes.io");
	json_writer_begin_object(w);
	json_writer_keyz(w, "namespace");
	json_writer_str(w, b->ns);
	print_ref(w, "node", b->node, b->node_uid);
	print_ref(w, "pod", b->pod, b->pod_uid);
	print_ref(w, "secret", b->secret, b->secret_uid);
	print_ref(w, "serviceaccount", b->account, b->account_uid);
	if (c->warn_after_s) {
		json_writer_keyz(w, "warnafter");
		json_writer_i64(w, c->warn_after_s);
	}
	json_writer_end_object(w);
}

static void print_audiences(struct json_writer *w, const struct token_claims *c)
{
	json_writer_keyz(w, "aud");
	json_writer_begin_array(w);
	for (size_t i = 0; i < c->naudiences; i++)
		json_writer_str(w, c->audiences[i]);
	json_writer_end_array(w);
}

static struct str subject(const struct user_binding *b, struct arena *a)
{
	return str_from(arena_printf(a, "system:serviceaccount:%.*s:%.*s", STR_ARG(b->ns),
				     STR_ARG(b->account)));
}

int token_claims_print(const struct token_claims *c, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	struct json_writer w;

	arena_init(&a, SIZE_MAX);
	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	print_audiences(&w, c);
	json_writer_keyz(&w, "exp");
	json_writer_i64(&w, c->expires_s);
	json_writer_keyz(&w, "iat");
	json_writer_i64(&w, c->issued_s);
	json_writer_keyz(&w, "iss");
	json_writer_str(&w, c->issuer);
	json_writer_keyz(&w, "jti");
	json_writer_str(&w, c->jti);
	print_binding(&w, c);
	json_writer_keyz(&w, "nbf");
	json_writer_i64(&w, c->not_before_s);
	json_writer_keyz(&w, "sub");
	json_writer_str(&w, subject(&c->binding, &a));
	json_writer_end_object(&w);
	return json_writer_finish(&w);
}

/* --- reading ----------------------------------------------------------------------------- */

static int bad(struct error *err)
{
	return error_set(err, ERR_UNAUTHORIZED, "service account token claims could not be read");
}

/* Absent text is empty; other types than text are rejected. */
static bool token_claims_read_text(const struct json *object, const char *key, struct str *ret_text)
{
	const struct json *v = json_getz(object, key);

	*ret_text = json_str(v);
	return !v || json_is(v, JSON_STRING);
}

static bool read_ref(const struct json *parent, const char *key, struct str *ret_name,
		     struct str *ret_uid)
{
	const struct json *ref = json_getz(parent, key);

	if (!ref || json_is(ref, JSON_NULL))
		return true;
	return json_is(ref, JSON_OBJECT) && token_claims_read_text(ref, "name", ret_name) &&
	       token_claims_read_text(ref, "uid", ret_uid) && ret_name->n > 0;
}

static bool read_binding(const struct json *k, struct user_binding *b)
{
	return token_claims_read_text(k, "namespace", &b->ns) &&
	       read_ref(k, "serviceaccount", &b->account, &b->account_uid) &&
	       read_ref(k, "pod", &b->pod, &b->pod_uid) &&
	       read_ref(k, "node", &b->node, &b->node_uid) &&
	       read_ref(k, "secret", &b->secret, &b->secret_uid) && b->ns.n && b->account.n &&
	       b->account_uid.n;
}

/* One text or a list of texts. */
static bool read_audiences(const struct json *aud, struct arena *a, struct token_claims *c)
{
	struct str *list;
	size_t n = 0;

	if (json_is(aud, JSON_STRING)) {
		list = ARENA_NEW(a, struct str);
		*list = json_str(aud);
		n = 1;
	} else if (json_is(aud, JSON_ARRAY) && json_count(aud) <= TOKEN_AUDIENCES_MAX) {
		list = ARENA_ARRAY(a, struct str, json_count(aud));
		JSON_FOREACH (v, aud) {
			if (!json_is(v, JSON_STRING))
				return false;
			list[n++] = json_str(v);
		}
	} else {
		return !aud;
	}
	c->audiences = list;
	c->naudiences = n;
	return true;
}

/* An absent time is 0; a wrong type is rejected. */
static bool token_claims_read_time(const struct jwt *t, const char *claim, int64_t *ret_seconds)
{
	return jwt_time(t, claim, ret_seconds) || !json_getz(t->payload, claim);
}

int token_claims_read(const struct jwt *t, struct arena *a, struct token_claims *ret_claims,
		      struct error *err)
{
	const struct json *k = json_getz(t->payload, "kubernetes.io");
	struct token_claims c = { 0 };
	struct str sub;

	if (!read_binding(k, &c.binding) || !read_audiences(json_getz(t->payload, "aud"), a, &c) ||
	    !token_claims_read_text(t->payload, "iss", &c.issuer) ||
	    !token_claims_read_text(t->payload, "jti", &c.jti) ||
	    !token_claims_read_text(t->payload, "sub", &sub))
		return bad(err);
	if (!token_claims_read_time(t, "iat", &c.issued_s) ||
	    !token_claims_read_time(t, "nbf", &c.not_before_s) || !jwt_time(t, "exp", &c.expires_s))
		return bad(err);
	if (!str_eq(sub, subject(&c.binding, a)))
		return bad(err);
	*ret_claims = c;
	return 0;
}

int token_claims_check_time(const struct token_claims *c, int64_t now_s, struct error *err)
{
	if (now_s + TOKEN_CLAIMS_LEEWAY_S < c->not_before_s)
		return error_set(err, ERR_UNAUTHORIZED, "service account token is not valid yet");
	if (now_s - TOKEN_CLAIMS_LEEWAY_S > c->expires_s)
		return error_set(err, ERR_UNAUTHORIZED, "service account token has expired");
	if (now_s + TOKEN_CLAIMS_LEEWAY_S < c->issued_s)
		return error_set(err, ERR_UNAUTHORIZED,
				 "service account token is issued in the future");
	return 0;
}

/* --- the user ---------------------------------------------------------------------------- */

static void add_extra(struct user_extra *extras, size_t *n, struct arena *a, struct str key,
		      struct str value)
{
	struct str *values;

	if (!value.n)
		return;
	values = ARENA_NEW(a, struct str);
	*values = value;
	extras[(*n)++] = (struct user_extra){ key, values, 1 };
}

static void set_extras(const struct token_claims *c, struct arena *a, struct user *u)
{
	const struct user_binding *b = &c->binding;
	struct user_extra *extras = ARENA_ARRAY(a, struct user_extra, EXTRAS_MAX);
	size_t n = 0;

	if (c->jti.n)
		add_extra(extras, &n, a, USER_EXTRA_CREDENTIAL_ID,
			  str_from(arena_printf(a, "JTI=%.*s", STR_ARG(c->jti))));
	if (b->node.n) {
		add_extra(extras, &n, a, USER_EXTRA_NODE_NAME, b->node);
		add_extra(extras, &n, a, USER_EXTRA_NODE_UID, b->node_uid);
	}
	if (b->pod.n && b->pod_uid.n) {
		add_extra(extras, &n, a, USER_EXTRA_POD_NAME, b->pod);
		add_extra(extras, &n, a, USER_EXTRA_POD_UID, b->pod_uid);
	}
	u->extras = extras;
	u->nextras = n;
}

void token_claims_user(const struct token_claims *c, struct arena *a, struct user *ret_user)
{
	struct user_binding *b = ARENA_NEW(a, struct user_binding);
	struct str *groups = ARENA_ARRAY(a, struct str, 3);

	*b = c->binding;
	groups[0] = USER_SERVICE_ACCOUNTS;
	groups[1] = str_from(arena_printf(a, "system:serviceaccounts:%.*s", STR_ARG(b->ns)));
	groups[2] = USER_AUTHENTICATED;
	*ret_user = (struct user){ .name = subject(b, a),
				   .uid = b->account_uid,
				   .groups = groups,
				   .ngroups = 3,
				   .binding = b,
				   .ends_s = c->expires_s,
				   .authenticated = true };
	set_extras(c, a, ret_user);
}

/*
 * Cache keys: a hash of the token, so that no token stays in memory; for permissions, attributes
 * and user as text.
 */
#include "client/reviews/reviewer.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/reviews/review_cache.h"
#include "net/http/http.h"
#include "net/tls/pki_sign.h"

enum {
	TOKEN_MS = 2 * 60 * 1000,
	ALLOWED_MS = 5 * 60 * 1000,
	DENIED_MS = 30 * 1000,
	REVIEW_MS = 10 * 1000,
};

struct reviewer {
	struct client *client;
	struct resource tokens, access; /* reviews */
	struct review_cache known_tokens, known_rights;
};

struct reviewer *reviewer_new(struct client *c)
{
	struct reviewer *r = XNEW(struct reviewer);

	r->client = c;
	r->tokens = resource_builtin("authentication.k8s.io", "v1", "tokenreviews");
	r->access = resource_builtin("authorization.k8s.io", "v1", "subjectaccessreviews");
	review_cache_init(&r->known_tokens);
	review_cache_init(&r->known_rights);
	return r;
}

void reviewer_free(struct reviewer *r)
{
	if (!r)
		return;
	review_cache_release(&r->known_tokens);
	review_cache_release(&r->known_rights);
	free(r);
}

static int64_t reviewer_now_ms(const struct reviewer *r)
{
	return loop_now(client_loop(r->client));
}

static struct json *review_new(struct review *v, const struct resource *what, const char *kind,
			       struct json **ret_spec)
{
	struct json *review = json_make_object(v->arena);

	json_put_str(v->arena, review, "apiVersion", resource_api_version(v->arena, what));
	json_put_str(v->arena, review, "kind", str_from(kind));
	*ret_spec = json_need_object(v->arena, review, "spec");
	return review;
}

static void review_send(struct review *v, const struct resource *what, struct json *review,
			void (*on_done)(struct client_request *r, const struct client_answer *a,
					const struct error *err))
{
	v->call = (struct client_request){ .on_done = on_done, .timeout_ms = REVIEW_MS, .arg = v };
	client_create(v->reviewer->client, &v->call, what, STR_NULL, review);
}

/* The review's status, or NULL after a failure, which `done` got. */
static const struct json *review_status(struct review *v, const struct client_answer *answer,
					const struct error *err)
{
	const struct json *status = NULL;
	struct json *tree = NULL;
	struct error why;

	if (!err && client_answer_tree(answer, v->arena, &tree, &why) < 0)
		err = &why;
	status = json_getz(tree, "status");
	if (!err && !status) {
		(void)error_set(&why, ERR_PROTOCOL, "the review's reply has no status");
		err = &why;
	}
	if (err)
		v->done(v, false, err);
	return err ? NULL : status;
}

/* --- tokens ------------------------------------------------------------------------ */

static void review_token_known(struct review *v, bool yes, struct str user)
{
	struct json *tree;

	if (yes)
		yes = json_parse(v->arena, arena_str(v->arena, user), NULL, &tree, NULL) == 0;
	if (yes)
		v->user = tree;
	v->done(v, yes, NULL);
}

static void review_on_token(struct client_request *call, const struct client_answer *answer,
			    const struct error *err)
{
	CLEANUP(buf_release) struct buf user = BUF_INIT(MIB);
	struct review *v = call->arg;
	struct reviewer *r = v->reviewer;
	const struct json *status = review_status(v, answer, err);
	bool yes;

	if (!status)
		return;
	yes = json_true_at(status, "authenticated") &&
	      json_print(&user, json_getz(status, "user"), NULL) == 0;
	review_cache_put(&r->known_tokens, v->key, yes, buf_str(&user),
			 reviewer_now_ms(r) + TOKEN_MS);
	review_token_known(v, yes, buf_str(&user));
}

void reviewer_token(struct reviewer *r, struct review *v, struct str token)
{
	uint8_t *hash = arena_alloc(v->arena, PKI_SHA256_SIZE);
	struct json *spec, *review;
	struct str user;
	bool yes;

	v->reviewer = r;
	pki_sha256(token, hash);
	v->key = str_of(hash, PKI_SHA256_SIZE);
	if (review_cache_get(&r->known_tokens, v->key, reviewer_now_ms(r), &yes, &user)) {
		review_token_known(v, yes, user);
		return;
	}
	review = review_new(v, &r->tokens, "TokenReview", &spec);
	json_put_str(v->arena, spec, "token", token);
	review_send(v, &r->tokens, review, review_on_token);
}

/* --- permissions ------------------------------------------------------------------- */

static void review_on_access(struct client_request *call, const struct client_answer *answer,
			     const struct error *err)
{
	struct review *v = call->arg;
	struct reviewer *r = v->reviewer;
	const struct json *status = review_status(v, answer, err);
	bool yes;

	if (!status)
		return;
	yes = json_true_at(status, "allowed");
	review_cache_put(&r->known_rights, v->key, yes, STR_NULL,
			 reviewer_now_ms(r) + (yes ? ALLOWED_MS : DENIED_MS));
	v->done(v, yes, NULL);
}

static struct json *review_of_access(struct review *v, struct json *attributes)
{
	struct json *spec, *review, *copy;

	review = review_new(v, &v->reviewer->access, "SubjectAccessReview", &spec);
	json_put_str(v->arena, spec, "user", json_text_at(v->user, "username"));
	JSON_FOREACH (field, v->user) {
		if (str_eqz(json_key(field), "username") ||
		    json_copy(v->arena, field, &copy, NULL) < 0)
			continue;
		json_set(spec, json_key(field), copy);
	}
	json_setz(spec,
		  json_getz(attributes, "path") ? "nonResourceAttributes" : "resourceAttributes",
		  attributes);
	return review;
}

void reviewer_access(struct reviewer *r, struct review *v, struct json *attributes)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(MIB);
	struct error err;
	struct str text;
	bool yes;

	v->reviewer = r;
	(void)json_print(&key, attributes, NULL);
	(void)buf_addc(&key, ' ');
	(void)json_print(&key, v->user, NULL);
	if (key.overflow) {
		(void)error_set(&err, ERR_TOO_LARGE, "the user's description is too large");
		v->done(v, false, &err);
		return;
	}
	v->key = arena_str(v->arena, buf_str(&key));
	if (review_cache_get(&r->known_rights, v->key, reviewer_now_ms(r), &yes, &text))
		v->done(v, yes, NULL);
	else
		review_send(v, &r->access, review_of_access(v, attributes), review_on_access);
}

void reviewer_cancel(struct review *v)
{
	client_cancel(&v->call);
}

bool reviewer_bearer(const struct http_fields *fields, struct str *ret_token)
{
	struct str token = http_fields_get(fields, STR("authorization"));
	struct str scheme = STR_NULL;
	bool split = str_split(&token, ' ', &scheme);

	*ret_token = STR_NULL;
	if (!str_ieq(scheme, STR("bearer")))
		return false;
	if (split && str_is_utf8(token))
		*ret_token = str_trim(token);
	return true;
}

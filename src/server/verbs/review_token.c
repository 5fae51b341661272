/*
 * POST serviceaccounts/NAME/token: makes a token for a TokenRequest. The object that the token is
 * bound to must exist, and a pod must run as that account. The pod's node also goes into the
 * token.
 */
#include "server/verbs/review.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/system/uuid.h"
#include "base/time/timestamp.h"
#include "net/net_limits.h"
#include "server/authn/service_accounts.h"
#include "server/authn/token_claims.h"
#include "server/core/parts.h"
#include "server/server_limits.h"

enum {
	TOKEN_AGE_DEFAULT = 3600, /* seconds */
	TOKEN_AGE_MIN = 600,
	/* The age that kubelets request for pods; such tokens may live longer than they say. */
	TOKEN_AGE_OF_PODS = 3607,
	TOKEN_AGE_EXTENDED = 365 * 24 * 3600,
};
#define TOKEN_AGE_MAX (INT64_C(1) << 32)

struct ask {
	struct review *review;
	struct str ns, name; /* of the account, from the path */
	struct object *account;
	struct json *meta, *spec;
	int64_t age_s;
	struct token_claims claims;
	bool of_pod;
};

static const struct schema_kind *core_kind(struct str resource)
{
	return schema_find_resource(STR(""), STR("v1"), resource);
}

static struct object *review_token_find(const struct ask *q, struct str resource, struct str ns,
					struct str name)
{
	return resource_get(state_resource(q->review->state, core_kind(resource)), ns, name);
}

static int fail_not_found(struct ask *q, struct str resource, struct str name, struct error *err)
{
	q->review->about_kind = core_kind(resource);
	q->review->about_name = name;
	return error_set(err, ERR_NOT_FOUND, "%s", "");
}

/* As upstream, a conflict names a kind in place of a resource. */
static int blame_kind(struct review *r, struct str group, struct str kind, struct str name, int ret)
{
	struct schema_kind *k = ARENA_NEW(r->arena, struct schema_kind);

	k->group = group;
	k->resource = k->kind = kind;
	r->about_kind = k;
	r->about_name = name;
	return ret;
}

/* --- the request -------------------------------------------------------------------------- */

static struct json *object_in(struct arena *a, struct json *parent, const char *key)
{
	struct json *v = json_getz(parent, key);

	if (!json_is(v, JSON_OBJECT)) {
		v = json_make_object(a);
		json_setz(parent, key, v);
	}
	return v;
}

static int fail_name(struct ask *q, struct str name, struct error *err)
{
	struct field_path meta = field_path_name(NULL, "metadata");
	struct field_path path = field_path_name(&meta, "name");

	field_errors_invalid(&q->review->errs, &path, FIELD_STR(name),
			     "must match the service account name if specified");
	return error_set(err, ERR_INVALID, "%s", "");
}

/* The body may name the account, but no other one. */
static int check_metadata(struct ask *q, struct error *err)
{
	struct str name = json_text_at(q->meta, "name");
	struct str ns = json_text_at(q->meta, "namespace");
	struct str uid = json_text_at(q->meta, "uid");
	struct review *r = q->review;

	(void)blame_kind(r, r->kind->group, r->kind->kind, q->name, 0);
	if (name.n && !str_eq(name, q->name))
		return fail_name(q, name, err);
	if (ns.n && !str_eq(ns, q->ns))
		return error_set(err, ERR_BAD_REQUEST,
				 "the namespace of the provided object does not match the "
				 "namespace sent on the request");
	q->account = review_token_find(q, STR("serviceaccounts"), q->ns, q->name);
	if (!q->account)
		return fail_not_found(q, STR("serviceaccounts"), q->name, err);
	if (uid.n && !str_eq(uid, q->account->uid))
		return error_set(err, ERR_CONFLICT,
				 "the UID in the token request (%.*s) does not match the UID of "
				 "the service account (%.*s)",
				 STR_ARG(uid), STR_ARG(q->account->uid));
	return 0;
}

static void check_attestations(struct ask *q, const struct field_path *spec)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct field_path path = field_path_name(spec, "attestations");
	const struct json *v = json_getz(q->spec, "attestations");

	if (!json_count(v))
		return;
	(void)json_print(&text, v, NULL);
	field_errors_invalid(&q->review->errs, &path,
			     text.overflow ? FIELD_OMITTED : FIELD_JSON(buf_str(&text)),
			     "attestations may only be specified with a webhook bound object "
			     "reference");
}

/* As upstream, these errors name no object. */
static int check_spec(struct ask *q, struct error *err)
{
	struct field_errors *errs = &q->review->errs;
	struct field_path spec = field_path_name(NULL, "spec");
	struct field_path age = field_path_name(&spec, "expirationSeconds");

	if (q->age_s < TOKEN_AGE_MIN)
		field_errors_invalid(errs, &age, FIELD_I64(q->age_s),
				     "may not specify a duration less than 10 minutes");
	if (q->age_s > TOKEN_AGE_MAX)
		field_errors_invalid(errs, &age, FIELD_I64(q->age_s),
				     "may not specify a duration larger than 2^32 seconds");
	check_attestations(q, &spec);
	if (!field_errors_any(errs))
		return 0;
	q->review->about_name = STR("");
	return error_set(err, ERR_INVALID, "%s", "");
}

/* Without audiences the token is for the API. The reply lists them. */
static void read_audiences(struct ask *q)
{
	struct arena *a = q->review->arena;
	struct json *list = json_getz(q->spec, "audiences");
	const struct str *own;
	struct str *v;
	size_t n = 0;

	if (!json_count(list)) {
		own = service_accounts_audiences(q->review->server->accounts, &n);
		list = json_make_array(a);
		for (size_t i = 0; i < n; i++)
			json_append(list, json_make_str(a, own[i]));
		json_setz(q->spec, "audiences", list);
	}
	n = 0;
	v = ARENA_ARRAY(a, struct str, json_count(list));
	JSON_FOREACH (audience, list)
		v[n++] = json_str(audience);
	q->claims.audiences = v;
	q->claims.naudiences = n;
}

static int read_request(struct ask *q, struct error *err)
{
	struct review *r = q->review;
	int ret;

	q->meta = object_in(r->arena, r->tree, "metadata");
	q->spec = object_in(r->arena, r->tree, "spec");
	ret = check_metadata(q, err);
	if (ret < 0)
		return ret;
	if (!json_i64(json_getz(q->spec, "expirationSeconds"), &q->age_s))
		q->age_s = TOKEN_AGE_DEFAULT;
	read_audiences(q);
	if (q->claims.naudiences > TOKEN_AUDIENCES_MAX)
		return error_set(err, ERR_BAD_REQUEST, "more than %d audiences",
				 TOKEN_AUDIENCES_MAX);
	return check_spec(q, err);
}

/* --- binding -------------------------------------------------------------------------------- */

static int bind_pod(struct ask *q, struct str name, struct object **ret_object, struct error *err)
{
	struct object_source pod = { review_token_find(q, STR("pods"), q->ns, name),
				     core_kind(STR("pods")) };
	struct user_binding *b = &q->claims.binding;
	const struct object *node;

	if (!pod.object)
		return fail_not_found(q, STR("pods"), name, err);
	if (!str_eq(object_field(&pod, STR("spec.serviceAccountName")), q->name))
		return error_set(err, ERR_BAD_REQUEST,
				 "cannot bind token for serviceaccount \"%.*s\" to pod running "
				 "with different serviceaccount name.",
				 STR_ARG(q->name));
	b->pod = object_name(pod.object);
	b->pod_uid = pod.object->uid;
	b->node = object_field(&pod, STR("spec.nodeName"));
	node = b->node.n ? review_token_find(q, STR("nodes"), STR(""), b->node) : NULL;
	b->node_uid = node ? node->uid : STR_NULL;
	q->of_pod = true;
	*ret_object = (struct object *)pod.object;
	return 0;
}

static int bind_node(struct ask *q, struct str name, struct object **ret_object, struct error *err)
{
	struct object *node = review_token_find(q, STR("nodes"), STR(""), name);

	if (!node)
		return fail_not_found(q, STR("nodes"), name, err);
	q->claims.binding.node = object_name(node);
	q->claims.binding.node_uid = node->uid;
	*ret_object = node;
	return 0;
}

static int bind_secret(struct ask *q, struct str name, struct object **ret_object,
		       struct error *err)
{
	struct object *secret = review_token_find(q, STR("secrets"), q->ns, name);

	if (!secret)
		return fail_not_found(q, STR("secrets"), name, err);
	q->claims.binding.secret = object_name(secret);
	q->claims.binding.secret_uid = secret->uid;
	*ret_object = secret;
	return 0;
}

static const struct {
	struct str kind;
	int (*bind)(struct ask *q, struct str name, struct object **ret_object, struct error *err);
} bindings[] = {
	{ { "Pod", 3 }, bind_pod },
	{ { "Node", 4 }, bind_node },
	{ { "Secret", 6 }, bind_secret },
};

/* Only the group counts; an invalid group version counts as the core group. */
static bool is_core(struct str api_version)
{
	ptrdiff_t slash = str_chr(api_version, '/');

	return slash < 0 || str_chr(str_skip(api_version, (size_t)slash + 1), '/') >= 0;
}

static int fail_binding(struct str api_version, struct str kind, struct error *err)
{
	return error_set(err, ERR_BAD_REQUEST,
			 "cannot bind token to object of type %s%.*s, Kind=%.*s",
			 is_core(api_version) ? "/" : "", STR_ARG(api_version), STR_ARG(kind));
}

static int bind_to_object(struct ask *q, struct error *err)
{
	const struct json *ref = json_getz(q->spec, "boundObjectRef");
	struct str api_version = json_text_at(ref, "apiVersion");
	struct str kind = json_text_at(ref, "kind"), uid = json_text_at(ref, "uid");
	struct str name = json_text_at(ref, "name");
	struct object *object;
	size_t i = 0;
	int r;

	if (!json_is(ref, JSON_OBJECT))
		return 0;
	while (i < ARRAY_SIZE(bindings) && !str_eq(bindings[i].kind, kind))
		i++;
	if (i == ARRAY_SIZE(bindings) || !is_core(api_version))
		return fail_binding(api_version, kind, err);
	r = bindings[i].bind(q, name, &object, err);
	if (r < 0 || !uid.n || str_eq(uid, object->uid))
		return r;
	r = error_set(err, ERR_CONFLICT,
		      "the UID in the bound object reference (%.*s) does not match the UID in "
		      "record. The object might have been deleted and then recreated",
		      STR_ARG(uid));
	return blame_kind(q->review, STR(""), kind, name, r);
}

/* --- the reply ------------------------------------------------------------------------------ */

static void warn(struct review *r, struct str text)
{
	struct text_list **at = r->warnings;

	while (*at)
		at = &(*at)->next;
	*at = ARENA_NEW(r->arena, struct text_list);
	(*at)->text = text;
}

static bool is_for_api(const struct ask *q)
{
	for (size_t i = 0; i < q->claims.naudiences; i++)
		if (!service_accounts_is_audience(q->review->server->accounts,
						  q->claims.audiences[i]))
			return false;
	return true;
}

/*
 * Sets the token's lifetime, and the owner's warning about it. Tokens of pods are extended, so
 * that old programs that read their token only once still work after an hour, unless a flag
 * disables that.
 */
static void set_times(struct ask *q)
{
	struct review *r = q->review;
	const struct server_opts *o = &r->server->opts;
	int64_t now_s = r->x->wall_ns / CLOCK_SEC, age_s;

	if (o->token_max_s && q->age_s > o->token_max_s) {
		warn(r, str_from(arena_printf(r->arena,
					      "requested expiration of %lld seconds shortened to "
					      "%lld seconds",
					      (long long)q->age_s, (long long)o->token_max_s)));
		q->age_s = o->token_max_s;
	}
	age_s = q->age_s;
	if (!o->no_token_extension && q->of_pod && age_s == TOKEN_AGE_OF_PODS && is_for_api(q)) {
		q->claims.warn_after_s = now_s + age_s;
		age_s = TOKEN_AGE_EXTENDED;
	}
	q->claims.issued_s = q->claims.not_before_s = now_s;
	q->claims.expires_s = now_s + age_s;
}

static struct json *time_node(struct arena *a, int64_t ns)
{
	char *text = arena_alloc(a, TIMESTAMP_SIZE);

	return json_make_str(a, timestamp_print(ns, TIMESTAMP_SECONDS, text));
}

static void fill_in(struct ask *q, struct str token)
{
	struct review *r = q->review;
	struct arena *a = r->arena;
	struct json *status = json_make_object(a);
	int64_t ends_ns = r->x->wall_ns + q->age_s * CLOCK_SEC;

	json_put_str(a, q->meta, "name", q->name);
	json_put_str(a, q->meta, "namespace", q->ns);
	json_put_str(a, q->meta, "uid", arena_str(a, q->account->uid));
	json_setz(q->meta, "creationTimestamp", time_node(a, r->x->wall_ns));
	json_put_i64(a, q->spec, "expirationSeconds", q->age_s);
	json_put_str(a, status, "token", arena_str(a, token));
	json_setz(status, "expirationTimestamp", time_node(a, ends_ns));
	json_setz(r->tree, "status", status);
}

int review_token_request(struct review *r, struct error *err)
{
	struct ask q = { .review = r, .ns = r->x->request.ns, .name = r->x->request.name };
	CLEANUP(buf_release) struct buf token = BUF_INIT(JWT_MAX);
	char jti[UUID_TEXT_SIZE];
	struct uuid uuid;
	int ret;

	if (!r->server->accounts)
		return error_set(err, ERR_NOT_FOUND, "this server issues no tokens");
	ret = read_request(&q, err);
	if (ret == 0)
		ret = bind_to_object(&q, err);
	if (ret < 0)
		return ret;
	set_times(&q);
	uuid_make(&uuid);
	q.claims.jti = uuid_print(&uuid, jti);
	q.claims.binding.ns = q.ns;
	q.claims.binding.account = q.name;
	q.claims.binding.account_uid = q.account->uid;
	ret = service_accounts_issue(r->server->accounts, &q.claims, &token, err);
	if (ret == 0)
		fill_in(&q, buf_str(&token));
	return ret;
}

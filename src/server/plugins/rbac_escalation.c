/*
 * Users cannot grant rights that they lack. To write a role, a user must have all its rules, or
 * the verb `escalate` on it. To write a binding, a user must have all rules of its role, or the
 * verb `bind` on it. Updates that change only fields of the garbage collector are not checked.
 */
#include <stdlib.h>

#include "api/api_limits.h"
#include "base/text/print.h"
#include "server/admission/request.h"
#include "server/authz/authorizers.h"
#include "server/core/parts.h"
#include "server/plugins/authz.h"

static struct authz *authz_of(const struct admission_request *req)
{
	return req->server->authz;
}

/* --- changes of an update ------------------------------------------------------------- */

static bool is_gc_field(struct str key)
{
	return str_eqz(key, "ownerReferences") || str_eqz(key, "finalizers") ||
	       str_eqz(key, "managedFields") || str_eqz(key, "selfLink") ||
	       str_eqz(key, "resourceVersion");
}

/* Whether all members of `a`, except those of the garbage collector, are the same in `b`. */
static bool meta_within(const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		if (!is_gc_field(json_key(it)) && !json_equal(it, json_get(b, json_key(it))))
			return false;
	}
	return true;
}

static bool rest_within(const struct json *a, const struct json *b)
{
	JSON_FOREACH (it, a) {
		const struct json *other = json_get(b, json_key(it));

		if (str_eqz(json_key(it), "metadata"))
			continue;
		if (!other ? !(json_is_container(it) && json_count(it) == 0)
			   : !json_equal(it, other))
			return false;
	}
	return true;
}

bool authz_only_gc_fields(const struct json *old, const struct json *object)
{
	const struct json *a = json_getz(old, "metadata"), *b = json_getz(object, "metadata");

	return old && meta_within(a, b) && meta_within(b, a) && rest_within(old, object) &&
	       rest_within(object, old);
}

/* --- rejecting ---------------------------------------------------------------------- */

/* One rule per line, sorted, without duplicates. */
static void print_missing(struct arena *a, struct buf *out, struct rbac_rules missing)
{
	struct str *lines = ARENA_ARRAY(a, struct str, missing.n + 1);

	for (size_t i = 0; i < missing.n; i++) {
		CLEANUP(buf_release) struct buf line = BUF_INIT(OBJECT_MAX);

		rbac_rule_print(&line, &missing.v[i]);
		lines[i] = arena_str(a, buf_str(&line));
	}
	qsort(lines, missing.n, sizeof(*lines), str_order);
	for (size_t i = 0; i < missing.n; i++)
		if (i == 0 || !str_eq(lines[i], lines[i - 1]))
			(void)buf_printf(out, "\n%.*s", STR_ARG(lines[i]));
}

static void print_user(struct buf *out, const struct user *u)
{
	(void)buf_addz(out, "user ");
	(void)print_quoted(out, u->name);
	(void)buf_addz(out, " (groups=[");
	for (size_t i = 0; i < u->ngroups; i++) {
		(void)buf_addz(out, i ? " " : "");
		(void)print_quoted(out, u->groups[i]);
	}
	(void)buf_addz(out, "])");
}

/* Whether the user has all of `wanted` in the namespace of the write. */
static int require_held(struct admission_request *req, struct rbac_rules wanted, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	CLEANUP(buf_release) struct buf faults = BUF_INIT(OBJECT_MAX);
	struct arena *a = req->work;
	struct rbac_rules held = rbac_rules_of(authz_of(req)->rbac, req->user, req->ns, a, &faults);
	struct rbac_rules missing = rbac_missing(a, held, wanted);

	if (missing.n == 0)
		return 0;
	print_user(&text, req->user);
	(void)buf_addz(&text, " is attempting to grant RBAC permissions not currently held:");
	print_missing(a, &text, missing);
	if (faults.n)
		(void)buf_printf(&text, "; resolution errors: [%.*s]", STR_ARG(buf_str(&faults)));
	return error_set(err, ERR_FORBIDDEN, "%.*s", STR_ARG(buf_str(&text)));
}

static bool may(struct admission_request *req, const char *verb, struct str resource,
		struct str name)
{
	struct authz_query q = { .user = req->user,
				 .verb = str_from(verb),
				 .group = RBAC_GROUP,
				 .version = STR("*"),
				 .resource = resource,
				 .ns = req->ns,
				 .name = name };

	return authz_decide(authz_of(req), &q, req->work, NULL) == AUTHZ_ALLOW;
}

/* --- roles and bindings ------------------------------------------------------------- */

static bool gathers(const struct json *role)
{
	return json_count(json_getz(json_getz(role, "aggregationRule"), "clusterRoleSelectors")) >
	       0;
}

/* An aggregated role can get any rule, so its writer must have all rights. */
static int require_everything(struct admission_request *req, struct error *err)
{
	static const struct str all = { "*", 1 };
	static const struct rbac_texts any = { &all, 1 };
	const struct rbac_rule rules[] = { { .verbs = any, .groups = any, .resources = any },
					   { .verbs = any, .urls = any } };

	if (require_held(req, (struct rbac_rules){ rules, ARRAY_SIZE(rules) }, err) == 0)
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "must have cluster-admin privileges to use the aggregationRule");
}

static int admit_role(struct admission_request *req, const struct json *old,
		      const struct json *role, struct error *err)
{
	struct rbac_rules wanted = rbac_rules_parse(req->work, json_getz(role, "rules"));
	int r;

	if (may(req, "escalate", req->write->kind->resource, req->request->name))
		return 0;
	r = require_held(req, wanted, err);
	if (r == 0 && (gathers(role) || (old && gathers(old))))
		r = require_everything(req, err);
	return r;
}

static int admit_binding(struct admission_request *req, const struct json *binding,
			 struct error *err)
{
	const struct json *ref = json_getz(binding, "roleRef");
	struct str name = json_text_at(ref, "name");
	bool local = str_eqz(json_text_at(ref, "kind"), "Role");
	const struct rbac_rules *rules;

	if (may(req, "bind", local ? STR("roles") : STR("clusterroles"), name))
		return 0;
	rules = rbac_role(authz_of(req)->rbac, local ? req->ns : STR_NULL, name);
	if (rules)
		return require_held(req, *rules, err);
	/* Upstream combines the binding's resource with the role's name. */
	return error_set(err, ERR_NOT_FOUND, "%.*s.%.*s \"%.*s\" not found",
			 STR_ARG(req->write->kind->resource), STR_ARG(RBAC_GROUP), STR_ARG(name));
}

int admit_rbac(struct admission_request *req, const struct json *old, struct json *object,
	       struct error *err)
{
	if (!object || req->request->verb == REQUEST_DELETE ||
	    req->request->verb == REQUEST_DELETE_COLLECTION ||
	    user_in_group(req->user, USER_MASTERS) || authz_only_gc_fields(old, object))
		return 0;
	if (json_getz(object, "roleRef"))
		return admit_binding(req, object, err);
	return admit_role(req, old, object, err);
}

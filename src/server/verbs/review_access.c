/*
 * Access reviews: whether a user may do something, and the caller's own rights. The question
 * comes from the body; the answer is the same decision that a request would get.
 */
#include "api/api_limits.h"
#include "api/validate/validate.h"
#include "server/authz/authorizers.h"
#include "server/core/parts.h"
#include "server/verbs/review.h"

/* --- validation --------------------------------------------------------------------- */

static struct field_value review_access_shown(struct review *r, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);

	if (!v)
		return FIELD_JSON(STR("null"));
	(void)json_print(&text, v, NULL);
	return FIELD_JSON(arena_str(r->arena, buf_str(&text)));
}

static void check_meta(struct review *r, bool local)
{
	struct field_path path = field_path_name(NULL, "metadata");
	const struct json *meta = json_getz(r->tree, "metadata");

	JSON_FOREACH (it, meta) {
		if (validate_is_unset(it) || str_eqz(json_key(it), "managedFields") ||
		    (local && str_eqz(json_key(it), "namespace")))
			continue;
		field_errors_invalid(&r->errs, &path, review_access_shown(r, meta),
				     local ? "must be empty except for namespace"
					   : "must be empty");
		return;
	}
}

static void check_selector(struct review *r, const struct json *attributes, const char *name)
{
	struct field_path attributes_at = field_path_name(NULL, "spec.resourceAttributes");
	struct field_path path = field_path_name(&attributes_at, name);
	struct field_path raw_at = field_path_name(&path, "rawSelector");
	struct field_path requirements_at = field_path_name(&path, "requirements");
	const struct json *selector = json_getz(attributes, name);
	bool raw = json_text_at(selector, "rawSelector").n > 0;
	bool listed = json_count(json_getz(selector, "requirements")) > 0;

	if (!selector)
		return;
	if (raw && listed)
		field_errors_invalid(&r->errs, &raw_at,
				     FIELD_STR(json_text_at(selector, "rawSelector")),
				     "may not specified at the same time as requirements");
	if (!raw && !listed)
		field_errors_required(&r->errs, &requirements_at,
				      arena_printf(r->arena,
						   "when spec.resourceAttributes.%s is specified, "
						   "requirements or rawSelector is required",
						   name));
}

static void check_spec(struct review *r, bool self)
{
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path user_at = field_path_name(&path, "user");
	const struct json *spec = json_getz(r->tree, "spec");
	const struct json *attributes = json_getz(spec, "resourceAttributes");
	const struct json *other = json_getz(spec, "nonResourceAttributes");

	if (!attributes == !other)
		field_errors_invalid(&r->errs, &path, review_access_shown(r, other),
				     "exactly one of nonResourceAttributes or resourceAttributes "
				     "must be specified");
	if (!self && !json_text_at(spec, "user").n && !json_count(json_getz(spec, "groups")))
		field_errors_invalid(&r->errs, &user_at, FIELD_STR(STR("")),
				     "at least one of user or group must be specified");
	check_selector(r, attributes, "fieldSelector");
	check_selector(r, attributes, "labelSelector");
}

static void check_local(struct review *r)
{
	struct field_path ns_at = field_path_name(NULL, "spec.resourceAttributes.namespace");
	struct field_path other_at = field_path_name(NULL, "spec.nonResourceAttributes");
	const struct json *spec = json_getz(r->tree, "spec");
	const struct json *attributes = json_getz(spec, "resourceAttributes");
	const struct json *other = json_getz(spec, "nonResourceAttributes");
	struct str ns = json_text_at(json_getz(r->tree, "metadata"), "namespace");

	if (attributes && !str_eq(json_text_at(attributes, "namespace"), ns))
		field_errors_invalid(&r->errs, &ns_at,
				     FIELD_STR(json_text_at(attributes, "namespace")),
				     "must match metadata.namespace");
	if (other)
		field_errors_invalid(&r->errs, &other_at, review_access_shown(r, other),
				     "disallowed on this kind of request");
}

static int checked(struct review *r, struct error *err)
{
	if (!field_errors_any(&r->errs))
		return 0;
	return error_copy(err, &(struct error){ .code = ERR_INVALID });
}

/* --- the question ------------------------------------------------------------------- */

struct question {
	struct authz_query query;
	struct user user;
	struct selector fields, labels;
	struct buf faults; /* parts of the selectors that were not understood */
};

static void review_access_fault(struct question *q, const char *which, bool partly)
{
	(void)buf_printf(&q->faults, "%sspec.resourceAttributes.%s %signored due to parse error",
			 q->faults.n ? "; " : "", which, partly ? "partially " : "");
}

struct op_row {
	const char *name;
	enum selector_op op;
	bool one; /* requires exactly one value */
};

static const struct op_row field_ops[] = { { "In", SELECTOR_EQUALS, true },
					   { "NotIn", SELECTOR_NOT_EQUALS, true },
					   { NULL, 0, false } };
static const struct op_row label_ops[] = { { "In", SELECTOR_IN, false },
					   { "NotIn", SELECTOR_NOT_IN, false },
					   { "Exists", SELECTOR_EXISTS, false },
					   { "DoesNotExist", SELECTOR_NOT_EXISTS, false },
					   { NULL, 0, false } };

/* Parses one requirement; returns false if it is not understood. */
static bool read_term(struct arena *a, const struct json *tree, const struct op_row *ops,
		      struct selector_term *ret_term)
{
	const struct json *values = json_getz(tree, "values");
	struct str *v = ARENA_ARRAY(a, struct str, json_count(values) + 1);
	size_t n = 0;

	JSON_FOREACH (it, values)
		v[n++] = json_str(it);
	while (ops->name && !str_eqz(json_text_at(tree, "operator"), ops->name))
		ops++;
	if (!ops->name || (ops->one && n != 1))
		return false;
	*ret_term = (struct selector_term){ json_text_at(tree, "key"), ops->op, v, n };
	return true;
}

/*
 * Requirements that are not understood are left out, which makes the query broader, not narrower.
 */
static void review_access_read_selector(struct review *r, struct question *q,
					const struct json *attributes, bool fields)
{
	const char *name = fields ? "fieldSelector" : "labelSelector";
	struct selector *to = fields ? &q->fields : &q->labels;
	const struct json *tree = json_getz(attributes, name);
	const struct json *list = json_getz(tree, "requirements");
	struct str raw = json_text_at(tree, "rawSelector");
	struct selector_term *terms = ARENA_ARRAY(r->arena, struct selector_term,
						  json_count(list) + 1);
	size_t n = 0;
	int bad = 0;

	if (raw.n)
		bad = fields ? selector_parse_fields(r->arena, raw, to, NULL)
			     : selector_parse_labels(r->arena, raw, to, NULL);
	if (json_count(list)) {
		JSON_FOREACH (it, list) {
			if (read_term(r->arena, it, fields ? field_ops : label_ops, &terms[n]))
				n++;
			else
				bad = -1;
		}
		*to = (struct selector){ terms, n };
	}
	if (bad)
		review_access_fault(q, name, n > 0);
}

static void read_question(struct review *r, struct question *q, const struct user *u)
{
	const struct json *spec = json_getz(r->tree, "spec");
	const struct json *attributes = json_getz(spec, "resourceAttributes");
	const struct json *other = json_getz(spec, "nonResourceAttributes");

	buf_init(&q->faults, 4096);
	if (!attributes) {
		q->query = (struct authz_query){ .user = u,
						 .is_path = true,
						 .path = json_text_at(other, "path"),
						 .verb = json_text_at(other, "verb") };
		return;
	}
	review_access_read_selector(r, q, attributes, true);
	review_access_read_selector(r, q, attributes, false);
	q->query = (struct authz_query){
		.user = u,
		.verb = json_text_at(attributes, "verb"),
		.group = json_text_at(attributes, "group"),
		.version = json_text_at(attributes, "version"),
		.resource = json_text_at(attributes, "resource"),
		.subresource = json_text_at(attributes, "subresource"),
		.ns = json_text_at(attributes, "namespace"),
		.name = json_text_at(attributes, "name"),
		.fields = &q->fields,
		.labels = &q->labels,
	};
}

static const struct str *read_texts(struct arena *a, const struct json *list, size_t *ret_n)
{
	struct str *v = ARENA_ARRAY(a, struct str, json_count(list) + 1);

	*ret_n = 0;
	JSON_FOREACH (it, list)
		v[(*ret_n)++] = json_str(it);
	return v;
}

/* The user in the body. */
static struct user read_user(struct review *r)
{
	const struct json *spec = json_getz(r->tree, "spec"), *extra = json_getz(spec, "extra");
	struct user_extra *extras = ARENA_ARRAY(r->arena, struct user_extra, json_count(extra) + 1);
	struct user u = { .name = json_text_at(spec, "user"),
			  .uid = json_text_at(spec, "uid"),
			  .extras = extras,
			  .authenticated = true };

	u.groups = read_texts(r->arena, json_getz(spec, "groups"), &u.ngroups);
	JSON_FOREACH (it, extra) {
		struct user_extra *e = &extras[u.nextras++];

		e->key = json_key(it);
		e->values = read_texts(r->arena, it, &e->nvalues);
	}
	return u;
}

/* --- the reply ---------------------------------------------------------------------- */

static struct json *answer_status(struct review *r)
{
	struct json *status = json_make_object(r->arena);

	json_setz(r->tree, "status", status);
	return status;
}

static void review_access_set_text(struct review *r, struct json *object, const char *key,
				   struct str text)
{
	if (text.n)
		json_put_str(r->arena, object, key, text);
}

static void review_access_answer(struct review *r, const struct user *u)
{
	struct json *status = answer_status(r);
	struct question q = { 0 };
	enum authz_decision decision;
	struct str reason;

	read_question(r, &q, u);
	decision = authz_decide(r->server->authz, &q.query, r->arena, &reason);
	json_put_bool(r->arena, status, "allowed", decision == AUTHZ_ALLOW);
	if (decision == AUTHZ_DENY)
		json_put_bool(r->arena, status, "denied", true);
	review_access_set_text(r, status, "reason", reason);
	if (q.faults.n)
		review_access_set_text(r, status, "evaluationError",
				       arena_str(r->arena, buf_str(&q.faults)));
	buf_release(&q.faults);
}

static int answer_about(struct review *r, struct error *err)
{
	struct user u = read_user(r);
	int ret = checked(r, err);

	if (ret == 0)
		review_access_answer(r, &u);
	return ret;
}

int review_subject_access(struct review *r, struct error *err)
{
	check_spec(r, false);
	check_meta(r, false);
	return answer_about(r, err);
}

int review_local_subject_access(struct review *r, struct error *err)
{
	struct str ns = json_text_at(json_getz(r->tree, "metadata"), "namespace");

	check_spec(r, false);
	check_meta(r, true);
	check_local(r);
	if (checked(r, err) == 0 && !str_eq(ns, r->x->request.ns))
		return error_set(err, ERR_BAD_REQUEST,
				 "spec.resourceAttributes.namespace must match namespace: %.*s",
				 STR_ARG(r->x->request.ns));
	return answer_about(r, err);
}

int review_self_subject_access(struct review *r, struct error *err)
{
	int ret;

	check_spec(r, true);
	check_meta(r, false);
	ret = checked(r, err);
	if (ret == 0)
		review_access_answer(r, &r->x->user);
	return ret;
}

/* --- the caller's own rights -------------------------------------------------------- */

/* Rules for resources, or for paths, as listed in the reply. */
static struct json *listed_rules(struct review *r, struct rbac_rules rules, bool paths)
{
	struct rbac_rule *v = ARENA_ARRAY(r->arena, struct rbac_rule, rules.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < rules.n; i++) {
		const struct rbac_rule *rule = &rules.v[i];

		if (paths && rule->urls.n)
			v[n++] = (struct rbac_rule){ .verbs = rule->verbs, .urls = rule->urls };
		if (!paths && rule->resources.n)
			v[n++] = (struct rbac_rule){ .verbs = rule->verbs,
						     .groups = rule->groups,
						     .resources = rule->resources,
						     .names = rule->names };
	}
	return rbac_rules_tree(r->arena, (struct rbac_rules){ v, n });
}

int review_self_subject_rules(struct review *r, struct error *err)
{
	CLEANUP(buf_release) struct buf faults = BUF_INIT(OBJECT_MAX);
	struct str ns = json_text_at(json_getz(r->tree, "spec"), "namespace");
	bool node = user_node(&r->x->user).p != NULL;
	struct json *status, *copy;
	struct rbac_rules rules;

	if (!ns.n)
		return error_set(err, ERR_BAD_REQUEST, "no namespace on request");
	rules = rbac_rules_of(r->server->authz->rbac, &r->x->user, ns, r->arena, &faults);
	/* The rules are text of the roles, and the reply is sent after this turn. */
	status = answer_status(r);
	json_setz(r->tree, "spec", json_make_object(r->arena));
	if (json_copy(r->arena, listed_rules(r, rules, false), &copy, err) < 0)
		return -ERR_TOO_LARGE;
	json_setz(status, "resourceRules", copy);
	if (json_copy(r->arena, listed_rules(r, rules, true), &copy, err) < 0)
		return -ERR_TOO_LARGE;
	json_setz(status, "nonResourceRules", copy);
	json_put_bool(r->arena, status, "incomplete", node);
	if (node) /* not all rights of nodes are rules */
		(void)buf_printf(&faults, "%snode authorizer does not support user rule resolution",
				 faults.n ? ", " : "");
	if (faults.n)
		review_access_set_text(r, status, "evaluationError",
				       arena_str(r->arena, buf_str(&faults)));
	return 0;
}

/*
 * ResourceQuotas, and resource names: any name, those of containers, and those of quotas.
 */
#include "api/check/quota.h"

#include "api/quota/amount_list.h"
#include "api/schema/names.h"
#include "base/json/index.h"

/* --- names of resources ------------------------------------------------------------------- */

static bool quota_is_among(struct str name, const char *const *names)
{
	for (; *names; names++)
		if (str_eqz(name, *names))
			return true;
	return false;
}

static bool is_qualified(struct str name)
{
	return str_chr(name, '/') >= 0;
}

static bool is_standard_quota(struct str name)
{
	static const char *const names[] = {
		"cpu",
		"memory",
		"ephemeral-storage",
		"requests.cpu",
		"requests.memory",
		"requests.storage",
		"requests.ephemeral-storage",
		"limits.cpu",
		"limits.memory",
		"limits.ephemeral-storage",
		"pods",
		"resourcequotas",
		"services",
		"replicationcontrollers",
		"secrets",
		"persistentvolumeclaims",
		"configmaps",
		"services.nodeports",
		"services.loadbalancers",
		NULL,
	};

	return quota_is_among(name, names) || str_starts(name, STR("hugepages-")) ||
	       str_starts(name, STR("requests.hugepages-"));
}

static bool is_whole_number(struct str name)
{
	static const char *const names[] = {
		"pods",
		"resourcequotas",
		"services",
		"secrets",
		"replicationcontrollers",
		"configmaps",
		"services.nodeports",
		"services.loadbalancers",
		"persistentvolumeclaims",
		NULL,
	};

	return quota_is_among(name, names) || names_is_extended_resource(name);
}

static void invalid_name(struct validation *v, struct str name, const struct field_path *path,
			 const char *words)
{
	field_errors_invalid(v->errs, path, FIELD_STR(name), words);
}

void check_resource_name(struct validation *v, struct str name, const struct field_path *path)
{
	if (names_qualified(name))
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, name, path);
	else if (!is_qualified(name) && !str_eqz(name, "storage") && !is_standard_quota(name))
		invalid_name(v, name, path, "must be a standard resource type or fully qualified");
}

void check_container_resource_name(struct validation *v, struct str name,
				   const struct field_path *path)
{
	static const char *const names[] = { "cpu", "memory", "ephemeral-storage", NULL };

	check_resource_name(v, name, path);
	if (!is_qualified(name)) {
		if (!quota_is_among(name, names) && !str_starts(name, STR("hugepages-")))
			invalid_name(v, name, path, "must be a standard resource for containers");
	} else if (str_find(name, STR("kubernetes.io/")) < 0 && !names_is_extended_resource(name)) {
		invalid_name(v, name, path, "doesn't follow extended resource name standard");
	}
}

/* --- quotas ------------------------------------------------------------------------------- */

static void check_quota_amounts(struct validation *v, const struct json *amounts,
				const struct field_path *path)
{
	JSON_FOREACH (it, amounts) {
		struct str name = json_key(it);
		struct field_path at = field_path_key(path, name);
		struct quantity q;

		check_resource_name(v, name, &at);
		if (!is_qualified(name) && !is_standard_quota(name))
			invalid_name(v, name, &at, "must be a standard resource for quota");
		if (!quantity_read(it, &q))
			continue;
		if (quantity_sign(q) < 0)
			field_errors_invalid(v->errs, &at, validate_shown(v, it),
					     "must be greater than or equal to 0");
		if (is_whole_number(name) && quantity_milli(q) % 1000 != 0)
			field_errors_invalid(v->errs, &at, validate_shown(v, it),
					     "must be an integer");
	}
}

static const char *const scope_names[] = {
	"Terminating",
	"NotTerminating",
	"BestEffort",
	"NotBestEffort",
	"PriorityClass",
	"CrossNamespacePodAffinity",
	"VolumeAttributesClass",
	NULL,
};

enum { SCOPES = ARRAY_SIZE(scope_names) - 1 };

static bool is_scope(struct str scope)
{
	return quota_is_among(scope, scope_names);
}

static bool scope_has(struct str scope, struct str name)
{
	static const char *const compute[] = {
		"pods",          "cpu",          "memory",          "limits.cpu",
		"limits.memory", "requests.cpu", "requests.memory", NULL
	};

	if (str_eqz(scope, "BestEffort"))
		return str_eqz(name, "pods");
	if (str_eqz(scope, "VolumeAttributesClass"))
		return str_eqz(name, "persistentvolumeclaims") || str_eqz(name, "requests.storage");
	return quota_is_among(name, compute);
}

/* For each scope, the number of the quota's standard names that do not support it. */
struct unsuited {
	size_t n[SCOPES];
};

static struct unsuited count_unsuited(const struct json *hard)
{
	struct unsuited u = { 0 };

	JSON_FOREACH (it, hard) {
		if (!is_standard_quota(json_key(it)))
			continue;
		for (size_t i = 0; i < SCOPES; i++)
			u.n[i] += !scope_has(str_from(scope_names[i]), json_key(it));
	}
	return u;
}

static size_t unsuited(const struct unsuited *u, struct str scope)
{
	for (size_t i = 0; i < SCOPES; i++)
		if (str_eqz(scope, scope_names[i]))
			return u->n[i];
	return 0;
}

/* Formats the selector as upstream does: with the names of its own structs. */
static struct field_value shown_selector(struct validation *v, const struct json *selector)
{
	struct json *map = json_make_object(v->arena), *list = json_make_array(v->arena);

	if (field_errors_full(v->errs))
		return FIELD_OMITTED;
	json_setz(map, "MatchExpressions", list);
	JSON_FOREACH (it, json_getz(selector, "matchExpressions")) {
		struct json *term = json_make_object(v->arena), *values = NULL;

		json_put_str(v->arena, term, "ScopeName", json_text_at(it, "scopeName"));
		json_put_str(v->arena, term, "Operator", json_text_at(it, "operator"));
		if (json_count(json_getz(it, "values")))
			(void)json_copy(v->arena, json_getz(it, "values"), &values, NULL);
		json_setz(term, "Values", values ? values : json_make_null(v->arena));
		json_append(list, term);
	}
	return validate_shown(v, map);
}

/* Counts pairs of scopes that exclude each other. */
static size_t conflicts(bool (*has)(const struct json *list, const char *scope),
			const struct json *list)
{
	return (size_t)(has(list, "BestEffort") && has(list, "NotBestEffort")) +
	       (size_t)(has(list, "Terminating") && has(list, "NotTerminating"));
}

static bool scopes_have(const struct json *scopes, const char *scope)
{
	return json_has_text(scopes, str_from(scope));
}

static bool terms_have(const struct json *terms, const char *scope)
{
	return json_find(terms, "scopeName", str_from(scope)) != NULL;
}

static void check_scopes(struct validation *v, const struct json *spec,
			 const struct field_path *path)
{
	const struct json *scopes = json_getz(spec, "scopes");
	struct field_path at = field_path_name(path, "scopes");
	struct unsuited u = count_unsuited(json_getz(spec, "hard"));

	JSON_FOREACH (it, scopes) {
		if (!is_scope(json_str(it)))
			field_errors_invalid(v->errs, &at, validate_shown(v, scopes),
					     "unsupported scope");
		for (size_t n = unsuited(&u, json_str(it)); n > 0; n--)
			field_errors_invalid(v->errs, &at, validate_shown(v, scopes),
					     "unsupported scope applied to resource");
	}
	for (size_t n = conflicts(scopes_have, scopes); n > 0; n--)
		field_errors_invalid(v->errs, &at, validate_shown(v, scopes), "conflicting scopes");
}

static void check_operator(struct validation *v, const struct json *term,
			   const struct field_path *path)
{
	struct field_path op_at = field_path_name(path, "operator");
	struct field_path values_at = field_path_name(path, "values");
	struct str scope = json_text_at(term, "scopeName"), op = json_text_at(term, "operator");
	const struct json *values = json_getz(term, "values");
	bool free = str_eqz(scope, "PriorityClass") || str_eqz(scope, "VolumeAttributesClass");

	if (is_scope(scope) && !free && !str_eqz(op, "Exists"))
		field_errors_invalid(v->errs, &op_at, FIELD_STR(op),
				     "must be 'Exists' when scope is any of "
				     "ResourceQuotaScopeTerminating, "
				     "ResourceQuotaScopeNotTerminating, "
				     "ResourceQuotaScopeBestEffort, "
				     "ResourceQuotaScopeNotBestEffort or "
				     "ResourceQuotaScopeCrossNamespacePodAffinity");
	if (str_eqz(op, "In") || str_eqz(op, "NotIn")) {
		if (!json_count(values))
			field_errors_required(v->errs, &values_at,
					      "must be at least one value when `operator` is 'In' "
					      "or 'NotIn' for scope selector");
	} else if (str_eqz(op, "Exists") || str_eqz(op, "DoesNotExist")) {
		if (json_count(values))
			field_errors_invalid(v->errs, &values_at, validate_shown(v, values),
					     "must be no value when `operator` is 'Exist' or "
					     "'DoesNotExist' for scope selector");
	} else {
		field_errors_invalid(v->errs, &op_at, FIELD_STR(op),
				     "not a valid selector operator");
	}
}

static void check_selector(struct validation *v, const struct json *spec,
			   const struct field_path *path)
{
	const struct json *selector = json_getz(spec, "scopeSelector");
	const struct json *terms = json_getz(selector, "matchExpressions");
	struct field_path selector_at = field_path_name(path, "scopeSelector");
	struct field_path at = field_path_name(&selector_at, "matchExpressions");
	struct field_path name_at = field_path_name(&at, "scopeName");
	struct unsuited u = count_unsuited(json_getz(spec, "hard"));

	JSON_FOREACH (it, terms) {
		struct str scope = json_text_at(it, "scopeName");

		if (!is_scope(scope))
			invalid_name(v, scope, &name_at, "unsupported scope");
		for (size_t n = unsuited(&u, scope); n > 0; n--)
			field_errors_invalid(v->errs, &at, shown_selector(v, selector),
					     "unsupported scope applied to resource");
		check_operator(v, it, &at);
	}
	/* Upstream shows the other list in this error. */
	for (size_t n = conflicts(terms_have, terms); n > 0; n--)
		field_errors_invalid(v->errs, &at, validate_shown(v, json_getz(spec, "scopes")),
				     "conflicting scopes");
}

static void warn_of(struct validation *v, const struct amount_list *hard, const char *resource)
{
	const char *request_name = arena_printf(v->arena, "requests.%s", resource);
	const char *limit_name = arena_printf(v->arena, "limits.%s", resource);
	const struct quantity *request = amount_list_get(hard, str_from(request_name));
	const struct quantity *limit = amount_list_get(hard, str_from(limit_name));
	CLEANUP(buf_release) struct buf r = BUF_INIT(256);
	CLEANUP(buf_release) struct buf l = BUF_INIT(256);
	bool bare = str_eqz(str_from(resource), "cpu") || str_eqz(str_from(resource), "memory");

	if (!request && bare) {
		request = amount_list_get(hard, str_from(resource));
		request_name = resource;
	}
	if (!request || !limit || quantity_cmp(*request, *limit) <= 0)
		return;
	(void)quantity_print(*request, &r);
	(void)quantity_print(*limit, &l);
	validation_warn(v, "ResourceQuota %s (%s) should be less than %s (%s)", request_name, r.p,
			limit_name, l.p);
}

void check_resource_quota(struct validation *v, const struct json *quota)
{
	static const char *const names[] = { "cpu", "memory", "storage", "ephemeral-storage" };
	const struct json *spec = json_getz(quota, "spec");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path hard_at = field_path_name(&spec_at, "hard");
	struct amount_list hard = amount_list_read(v->arena, json_getz(spec, "hard"));

	check_quota_amounts(v, json_getz(spec, "hard"), &hard_at);
	check_scopes(v, spec, &spec_at);
	check_selector(v, spec, &spec_at);
	for (size_t i = 0; i < ARRAY_SIZE(names) && !v->old; i++)
		warn_of(v, &hard, names[i]);
}

static bool has_all(const struct json *list, const struct json *of)
{
	CLEANUP(json_index_release) struct json_index texts;

	json_index_init(&texts, list, NULL);
	JSON_FOREACH (it, of)
		if (!json_index_get(&texts, json_str(it)))
			return false;
	return true;
}

void check_resource_quota_update(struct validation *v, const struct json *quota,
				 const struct json *old)
{
	const struct json *scopes = json_getz(json_getz(quota, "spec"), "scopes");
	const struct json *stored = json_getz(json_getz(old, "spec"), "scopes");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&spec_at, "scopes");

	if (!has_all(scopes, stored) || !has_all(stored, scopes))
		field_errors_invalid(v->errs, &at, validate_shown(v, scopes), "field is immutable");
}

void check_resource_quota_status(struct validation *v, const struct json *quota,
				 const struct json *old)
{
	const struct json *status = json_getz(quota, "status");
	struct field_path status_at = field_path_name(NULL, "status");
	struct field_path hard_at = field_path_name(&status_at, "hard");
	struct field_path used_at = field_path_name(&status_at, "used");

	(void)old;
	check_quota_amounts(v, json_getz(status, "hard"), &hard_at);
	check_quota_amounts(v, json_getz(status, "used"), &used_at);
}

/*
 * FlowSchemas, and functions shared with levels. The kind's check validates the whole spec:
 * upstream's order of errors is not that of the members, and the rules depend on the name.
 */
#include "api/check/flow.h"

#include "api/check/checks.h"
#include "api/schema/names.h"
#include "base/json/index.h"

enum { PRECEDENCE_MAX = 10000 };

static const struct json none = { .type = JSON_OBJECT };

/* --- shared functions ------------------------------------------------------------- */

static struct json *go_object(struct arena *a, const struct schema_type *type,
			      const struct json *object);

static struct str go_name(struct arena *a, struct str name)
{
	if (str_eqz(name, "apiGroups"))
		return STR("APIGroups");
	return str_from(
		arena_printf(a, "%c%.*s", name.p[0] - 'a' + 'A', STR_ARG(str_skip(name, 1))));
}

static struct json *go_absent(struct arena *a, const struct schema_field *f)
{
	bool pointer = (f->flags & SCHEMA_POINTER) != 0;

	if (f->shape != SCHEMA_ONE || pointer)
		return json_make_null(a);
	if (f->value == SCHEMA_OBJECT)
		return f->flags & SCHEMA_ALWAYS ? go_object(a, f->type, &none) : json_make_null(a);
	if (f->value == SCHEMA_BOOL)
		return json_make_bool(a, false);
	return f->value == SCHEMA_STRING ? json_make_str(a, STR("")) : json_make_i64(a, 0);
}

static struct json *go_list(struct arena *a, const struct schema_type *type,
			    const struct json *list)
{
	struct json *to = json_make_array(a);

	JSON_FOREACH (it, list)
		json_append(to, go_object(a, type, it));
	return to;
}

static struct json *go_member(struct arena *a, const struct schema_field *f,
			      const struct json *value)
{
	struct json *copy = NULL;

	if (!value)
		return go_absent(a, f);
	if (f->value == SCHEMA_OBJECT)
		return f->shape == SCHEMA_LIST ? go_list(a, f->type, value)
					       : go_object(a, f->type, value);
	(void)json_copy(a, value, &copy, NULL);
	return copy;
}

static struct json *go_object(struct arena *a, const struct schema_type *type,
			      const struct json *object)
{
	struct json *to = json_make_object(a);

	for (size_t i = 0; i < type->nfields; i++) {
		const struct schema_field *f = &type->fields[i];

		json_set(to, go_name(a, f->name), go_member(a, f, json_get(object, f->name)));
	}
	return to;
}

struct field_value check_flow_shown(struct validation *v, const char *type,
				    const struct json *object)
{
	struct str name = str_from(arena_printf(v->arena, "io.k8s.api.flowcontrol.v1.%s", type));

	return validate_shown(v, go_object(v->arena, schema_type_find(name), object));
}

bool check_flow_known(struct str text, const struct str *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(text, known[i]))
			return true;
	return false;
}

const struct json *check_flow_fixed(struct validation *v, enum flow_kind kind, struct str name)
{
	struct json *spec = NULL;
	size_t n;
	const struct flow_default *all = flow_defaults(kind, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i].mandatory && str_eqz(name, all[i].name))
			(void)json_parse(v->arena, str_from(all[i].spec), NULL, &spec, NULL);
	return spec;
}

void check_flow_conditions(struct validation *v, const struct json *conditions,
			   const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index types;
	size_t i = 0;

	json_index_init(&types, conditions, "type");
	JSON_FOREACH (it, conditions) {
		struct field_path at = field_path_index(path, i++);
		struct field_path type_at = field_path_name(&at, "type");
		struct str type = json_text_at(it, "type");

		if (json_index_came_before(&types, it))
			field_errors_duplicate(v->errs, &type_at, FIELD_STR(type));
		if (!type.n)
			field_errors_required(v->errs, &type_at, NULL);
	}
}

/* --- subjects --------------------------------------------------------------------- */

static void check_account(struct validation *v, const struct json *account,
			  const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path ns_at = field_path_name(path, "namespace");
	struct str name = json_text_at(account, "name"), ns = json_text_at(account, "namespace");

	if (!name.n)
		field_errors_required(v->errs, &name_at, NULL);
	else if (!str_eqz(name, "*"))
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &name_at);
	if (ns.n)
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, ns, &ns_at);
	else
		field_errors_required(v->errs, &ns_at,
				      "must specify namespace for service account");
}

static void check_named(struct validation *v, const struct json *named,
			const struct field_path *path)
{
	struct field_path at = field_path_name(path, "name");

	if (!json_text_at(named, "name").n)
		field_errors_required(v->errs, &at, NULL);
}

/* In the order in which upstream reports forbidden members. */
static const struct {
	const char *kind, *member;
	void (*check)(struct validation *v, const struct json *value,
		      const struct field_path *path);
} subjects[] = {
	{ "ServiceAccount", "serviceAccount", check_account },
	{ "User", "user", check_named },
	{ "Group", "group", check_named },
};

static void check_member(struct validation *v, const struct json *subject, size_t i, bool wanted,
			 const struct field_path *path)
{
	struct field_path at = field_path_name(path, subjects[i].member);
	const struct json *value = json_getz(subject, subjects[i].member);

	if (wanted && value)
		subjects[i].check(v, value, &at);
	else if (wanted)
		field_errors_addf(v->errs, FIELD_REQUIRED, &at, FIELD_OMITTED,
				  "%s is required when subject kind is '%s'", subjects[i].member,
				  subjects[i].kind);
	else if (value)
		field_errors_addf(v->errs, FIELD_FORBIDDEN, &at, FIELD_OMITTED,
				  "%s is forbidden when subject kind is not '%s'",
				  subjects[i].member, subjects[i].kind);
}

static void check_subject(struct validation *v, const struct json *subject,
			  const struct field_path *path)
{
	static const struct str kinds[] = { { "Group", 5 },
					    { "ServiceAccount", 14 },
					    { "User", 4 } };
	struct field_path kind_at = field_path_name(path, "kind");
	struct str kind = json_text_at(subject, "kind");
	size_t own = 0;

	while (own < ARRAY_SIZE(subjects) && !str_eqz(kind, subjects[own].kind))
		own++;
	if (own == ARRAY_SIZE(subjects)) {
		field_errors_not_supported(v->errs, &kind_at, FIELD_STR(kind), kinds,
					   ARRAY_SIZE(kinds));
		return;
	}
	check_member(v, subject, own, true, path);
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		if (i != own)
			check_member(v, subject, i, false, path);
}

/* --- rules ------------------------------------------------------------------------ */

static bool has_all(const struct json *list)
{
	return json_has_text(list, STR("*"));
}

/*
 * Checks that a list is not empty, and has "*" only alone. Returns false if it reported an error.
 */
static bool flow_check_list(struct validation *v, const struct json *list, const char *empty,
			    const char *beside, const struct field_path *path)
{
	if (json_count(list) == 0)
		field_errors_required(v->errs, path, empty);
	else if (has_all(list) && json_count(list) > 1)
		field_errors_addf(v->errs, FIELD_INVALID, path, validate_shown(v, list),
				  "if '*' is present, must not specify other %s", beside);
	else
		return true;
	return false;
}

static void check_verbs(struct validation *v, const struct json *rule,
			const struct field_path *path)
{
	static const struct str verbs[] = {
		{ "create", 6 }, { "delete", 6 }, { "deletecollection", 16 },
		{ "get", 3 },    { "list", 4 },   { "patch", 5 },
		{ "proxy", 5 },  { "update", 6 }, { "watch", 5 }
	};
	struct field_path at = field_path_name(path, "verbs");
	const struct json *list = json_getz(rule, "verbs");
	bool known = true;

	if (!flow_check_list(v, list, "verbs must contain at least one value", "verbs", &at) ||
	    has_all(list))
		return;
	JSON_FOREACH (it, list)
		known = known && check_flow_known(json_str(it), verbs, ARRAY_SIZE(verbs));
	if (!known)
		field_errors_not_supported(v->errs, &at, validate_shown(v, list), verbs,
					   ARRAY_SIZE(verbs));
}

static void check_namespace(struct validation *v, struct str ns, const struct field_path *path)
{
	struct names_faults f;

	names_find_faults(SCHEMA_FORMAT_DNS_LABEL, ns, &f);
	for (size_t i = 0; i < f.n; i++)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(ns),
				  "each member of this list must be '*' or a DNS-1123 label; %s",
				  f.text[i]);
}

static void check_namespaces(struct validation *v, const struct json *rule,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "namespaces");
	const struct json *list = json_getz(rule, "namespaces"), *cluster;
	size_t i = 0;

	cluster = json_getz(rule, "clusterScope");
	if (json_count(list) == 0 && cluster && cluster->boolean)
		return;
	if (!flow_check_list(v, list,
			     "resource rules that are not cluster scoped must supply at least one "
			     "namespace",
			     "namespaces", &at) ||
	    has_all(list))
		return;
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, i++);

		check_namespace(v, json_str(it), &item);
	}
}

static void check_resource_rule(struct validation *v, const struct json *rule,
				const struct field_path *path)
{
	struct field_path groups_at = field_path_name(path, "apiGroups");
	struct field_path resources_at = field_path_name(path, "resources");

	check_verbs(v, rule, path);
	(void)flow_check_list(v, json_getz(rule, "apiGroups"),
			      "resource rules must supply at least one api group", "api groups",
			      &groups_at);
	(void)flow_check_list(v, json_getz(rule, "resources"),
			      "resource rules must supply at least one resource", "resources",
			      &resources_at);
	check_namespaces(v, rule, path);
}

/* Returns the fault of a request path, or NULL. */
static const char *url_fault(struct str url)
{
	ptrdiff_t star = str_chr(url, '*');

	if (!url.n)
		return "must not be empty";
	if (url.p[0] != '/')
		return "must start with slash";
	if (str_chr(url, ' ') >= 0)
		return "must not contain white-space";
	if (str_find(url, STR("//")) >= 0)
		return "must not contain double slash";
	if (star >= 0 && ((size_t)star + 1 != url.n || url.p[star - 1] != '/'))
		return "wildcard can only do suffix matching";
	return NULL;
}

static void check_path_rule(struct validation *v, const struct json *rule,
			    const struct field_path *path)
{
	struct field_path at = field_path_name(path, "nonResourceURLs");
	const struct json *list = json_getz(rule, "nonResourceURLs");
	size_t i = 0;

	check_verbs(v, rule, path);
	if (!flow_check_list(v, list, "nonResourceURLs must contain at least one value",
			     "non-resource URLs", &at) ||
	    has_all(list))
		return;
	JSON_FOREACH (it, list) {
		struct field_path item = field_path_index(&at, i++);
		const char *fault = url_fault(json_str(it));

		if (fault)
			field_errors_invalid(v->errs, &item, FIELD_STR(json_str(it)), fault);
	}
}

typedef void check_fn(struct validation *v, const struct json *value,
		      const struct field_path *path);

static void check_each(struct validation *v, const struct json *parent, const char *name,
		       check_fn *check, const struct field_path *path)
{
	struct field_path list_at = field_path_name(path, name);
	size_t i = 0;

	JSON_FOREACH (it, json_getz(parent, name)) {
		struct field_path at = field_path_index(&list_at, i++);

		check(v, it, &at);
	}
}

static void check_rule(struct validation *v, const struct json *rule, const struct field_path *path)
{
	struct field_path subjects_at = field_path_name(path, "subjects");

	if (json_count(json_getz(rule, "subjects")) == 0)
		field_errors_required(v->errs, &subjects_at,
				      "subjects must contain at least one value");
	check_each(v, rule, "subjects", check_subject, path);
	if (json_count(json_getz(rule, "resourceRules")) == 0 &&
	    json_count(json_getz(rule, "nonResourceRules")) == 0)
		field_errors_required(v->errs, path,
				      "at least one of resourceRules and nonResourceRules has to "
				      "be non-empty");
	check_each(v, rule, "resourceRules", check_resource_rule, path);
	check_each(v, rule, "nonResourceRules", check_path_rule, path);
}

/* --- schemas ---------------------------------------------------------------------- */

static void check_precedence(struct validation *v, const struct json *spec, struct str name,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "matchingPrecedence");
	int64_t n = json_i64_at(spec, "matchingPrecedence", 0);

	if (n <= 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(n), "must be a positive value");
	if (n > PRECEDENCE_MAX)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(n),
				  "must not be greater than %d", PRECEDENCE_MAX);
	if (n == 1 && !str_eqz(name, "exempt"))
		field_errors_invalid(
			v->errs, &at, FIELD_I64(n),
			"only the schema named 'exempt' may have matchingPrecedence 1");
}

static void check_distinguisher(struct validation *v, const struct json *spec,
				const struct field_path *path)
{
	static const struct str types[] = { { "ByNamespace", 11 }, { "ByUser", 6 } };
	struct field_path by_at = field_path_name(path, "distinguisherMethod");
	struct field_path at = field_path_name(&by_at, "type");
	const struct json *by = json_getz(spec, "distinguisherMethod");

	if (by && !check_flow_known(json_text_at(by, "type"), types, ARRAY_SIZE(types)))
		field_errors_not_supported(v->errs, &at,
					   check_flow_shown(v, "FlowDistinguisherMethod", by),
					   types, ARRAY_SIZE(types));
}

static void check_level_name(struct validation *v, const struct json *spec,
			     const struct field_path *path)
{
	struct field_path level_at = field_path_name(path, "priorityLevelConfiguration");
	struct field_path at = field_path_name(&level_at, "name");
	struct str name = json_text_at(json_getz(spec, "priorityLevelConfiguration"), "name");

	if (name.n)
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &at);
	else
		field_errors_required(v->errs, &at, "must reference a priority level");
}

void check_flow_schema(struct validation *v, const struct json *schema)
{
	struct field_path path = field_path_name(NULL, "spec");
	struct str name = json_text_at(json_getz(schema, "metadata"), "name");
	const struct json *spec = json_getz(schema, "spec"), *fixed;

	spec = spec ? spec : &none;
	check_precedence(v, spec, name, &path);
	check_distinguisher(v, spec, &path);
	check_level_name(v, spec, &path);
	check_each(v, spec, "rules", check_rule, &path);
	fixed = check_flow_fixed(v, FLOW_SCHEMA, name);
	if (fixed && !json_equal(spec, fixed))
		field_errors_addf(v->errs, FIELD_INVALID, &path,
				  check_flow_shown(v, "FlowSchemaSpec", spec),
				  "spec of '%.*s' must equal the fixed value", STR_ARG(name));
}

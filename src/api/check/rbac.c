/*
 * Roles and bindings.
 */
#include "api/check/checks.h"
#include "api/schema/names.h"

#define GROUP STR("rbac.authorization.k8s.io")

static bool rbac_has(const struct json *object, const char *name)
{
	return json_count(json_getz(object, name)) > 0;
}

/* --- roles ------------------------------------------------------------------------ */

static void check_urls(struct validation *v, const struct json *rule, bool namespaced,
		       const struct field_path *path)
{
	struct field_path at = field_path_name(path, "nonResourceURLs");
	struct field_value value = validate_shown(v, json_getz(rule, "nonResourceURLs"));

	if (namespaced)
		field_errors_invalid(v->errs, &at, value,
				     "namespaced rules cannot apply to non-resource URLs");
	if (rbac_has(rule, "apiGroups") || rbac_has(rule, "resources") ||
	    rbac_has(rule, "resourceNames"))
		field_errors_invalid(v->errs, &at, value,
				     "rules cannot apply to both regular resources and "
				     "non-resource URLs");
}

static void check_rule(struct validation *v, const struct json *rule, bool namespaced,
		       const struct field_path *path)
{
	struct field_path verbs_at = field_path_name(path, "verbs");
	struct field_path groups_at = field_path_name(path, "apiGroups");
	struct field_path resources_at = field_path_name(path, "resources");

	if (!rbac_has(rule, "verbs"))
		field_errors_required(v->errs, &verbs_at, NULL);
	if (rbac_has(rule, "nonResourceURLs")) {
		check_urls(v, rule, namespaced, path);
		return;
	}
	if (!rbac_has(rule, "apiGroups"))
		field_errors_required(v->errs, &groups_at,
				      "resource rules must supply at least one api group");
	if (!rbac_has(rule, "resources"))
		field_errors_required(v->errs, &resources_at,
				      "resource rules must supply at least one resource");
}

static void check_rules(struct validation *v, const struct json *role, bool namespaced)
{
	struct field_path path = field_path_name(NULL, "rules");
	size_t i = 0;

	JSON_FOREACH (it, json_getz(role, "rules")) {
		struct field_path at = field_path_index(&path, i++);

		check_rule(v, it, namespaced, &at);
	}
}

void check_role(struct validation *v, const struct json *role)
{
	check_rules(v, role, true);
}

void check_cluster_role(struct validation *v, const struct json *role)
{
	struct field_path path = field_path_name(NULL, "aggregationRule");
	struct field_path at = field_path_name(&path, "clusterRoleSelectors");
	const struct json *gathers = json_getz(role, "aggregationRule");

	check_rules(v, role, false);
	if (gathers && !rbac_has(gathers, "clusterRoleSelectors"))
		field_errors_required(v->errs, &at,
				      "at least one clusterRoleSelector required if "
				      "aggregationRule is non-nil");
}

/* --- bindings --------------------------------------------------------------------- */

void fill_subject(struct arena *a, struct json *subject, int64_t now_ns)
{
	struct str kind = json_text_at(subject, "kind");

	(void)now_ns;
	if (!json_text_at(subject, "apiGroup").n &&
	    (str_eqz(kind, "User") || str_eqz(kind, "Group")))
		json_put_str(a, subject, "apiGroup", GROUP);
}

static void check_api_group(struct validation *v, const struct json *object, struct str wanted,
			    const struct field_path *path)
{
	struct field_path at = field_path_name(path, "apiGroup");

	if (!str_eq(json_text_at(object, "apiGroup"), wanted))
		field_errors_not_supported(v->errs, &at,
					   FIELD_STR(json_text_at(object, "apiGroup")), &wanted, 1);
}

static void check_account(struct validation *v, const struct json *subject, bool namespaced,
			  const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path ns_at = field_path_name(path, "namespace");
	const char *fault = names_dns_subdomain(json_text_at(subject, "name"));

	if (json_text_at(subject, "name").n && fault)
		field_errors_invalid(v->errs, &name_at, FIELD_STR(json_text_at(subject, "name")),
				     fault);
	check_api_group(v, subject, STR(""), path);
	if (!namespaced && !json_text_at(subject, "namespace").n)
		field_errors_required(v->errs, &ns_at, NULL);
}

static void check_subject(struct validation *v, const struct json *subject, bool namespaced,
			  const struct field_path *path)
{
	static const struct str kinds[] = { { "ServiceAccount", 14 },
					    { "User", 4 },
					    { "Group", 5 } };
	struct field_path name_at = field_path_name(path, "name");
	struct field_path kind_at = field_path_name(path, "kind");
	struct str kind = json_text_at(subject, "kind");

	if (!json_text_at(subject, "name").n)
		field_errors_required(v->errs, &name_at, NULL);
	if (str_eq(kind, kinds[0]))
		check_account(v, subject, namespaced, path);
	else if (str_eq(kind, kinds[1]) || str_eq(kind, kinds[2]))
		check_api_group(v, subject, GROUP, path);
	else
		field_errors_not_supported(v->errs, &kind_at, FIELD_STR(kind), kinds, 3);
}

static void check_role_ref(struct validation *v, const struct json *ref, bool namespaced)
{
	static const struct str kinds[] = { { "Role", 4 }, { "ClusterRole", 11 } };
	struct field_path path = field_path_name(NULL, "roleRef");
	struct field_path kind_at = field_path_name(&path, "kind");
	struct field_path name_at = field_path_name(&path, "name");
	struct str kind = json_text_at(ref, "kind"), name = json_text_at(ref, "name");
	const char *fault = names_path_segment(name);

	check_api_group(v, ref, GROUP, &path);
	if (!str_eq(kind, kinds[1]) && !(namespaced && str_eq(kind, kinds[0])))
		field_errors_not_supported(v->errs, &kind_at, FIELD_STR(kind),
					   namespaced ? kinds : &kinds[1], namespaced ? 2 : 1);
	if (!name.n)
		field_errors_required(v->errs, &name_at, NULL);
	else if (fault)
		field_errors_invalid(v->errs, &name_at, FIELD_STR(name), fault);
}

static void check_binding(struct validation *v, const struct json *binding, bool namespaced)
{
	struct field_path path = field_path_name(NULL, "subjects");
	size_t i = 0;

	check_role_ref(v, json_getz(binding, "roleRef"), namespaced);
	JSON_FOREACH (it, json_getz(binding, "subjects")) {
		struct field_path at = field_path_index(&path, i++);

		check_subject(v, it, namespaced, &at);
	}
}

void check_role_binding(struct validation *v, const struct json *binding)
{
	check_binding(v, binding, true);
}

void check_cluster_role_binding(struct validation *v, const struct json *binding)
{
	check_binding(v, binding, false);
}

/*
 * Definitions: names, versions, columns, subresources, and immutable fields. In upstream's storage
 * form, the schema, subresources, columns and selectable fields that all versions share are in one
 * place at the top. Upstream reports errors in them with the paths of that form, so we do the same.
 */
#include "api/crd/definition.h"

#include "api/api_limits.h"
#include "api/crd/checks.h"
#include "api/schema/names.h"
#include "api/schema/tree.h"
#include "base/core/limits.h"
#include "base/json/index.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"

enum { WARNING_MAX = 256, SELECTABLE_MAX = 8 };

/* Returns all faults, joined by commas; n 0: the text is valid. */
static struct str joined_faults(struct arena *a, enum schema_format format, struct str text)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT(4 * KIB);
	struct names_faults faults;

	names_find_faults(format, text, &faults);
	for (size_t i = 0; i < faults.n; i++)
		(void)buf_printf(&all, "%s%s", i ? "," : "", faults.text[i]);
	return arena_str(a, buf_str(&all));
}

/* --- names ------------------------------------------------------------------------ */

static void check_label(struct validation *v, struct str text, const struct field_path *path)
{
	struct str faults = joined_faults(v->arena, SCHEMA_FORMAT_DNS1035_LABEL, text);

	if (faults.n)
		field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(text), faults);
}

static void check_kind_name(struct validation *v, struct str text, const struct field_path *path)
{
	struct str faults = joined_faults(v->arena, SCHEMA_FORMAT_DNS1035_LABEL,
					  arena_lower(v->arena, text));

	if (text.n && faults.n)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "may have mixed case, but should otherwise match: %.*s",
				  STR_ARG(faults));
}

static void check_labels(struct validation *v, const struct json *list,
			 const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		check_label(v, json_str(item), &at);
	}
}

static void definition_check_names(struct validation *v, const struct json *names,
				   const struct field_path *path)
{
	struct field_path plural = field_path_name(path, "plural");
	struct field_path singular = field_path_name(path, "singular");
	struct field_path kind = field_path_name(path, "kind");
	struct field_path list_kind = field_path_name(path, "listKind");
	struct field_path short_names = field_path_name(path, "shortNames");
	struct field_path categories = field_path_name(path, "categories");

	if (json_text_at(names, "plural").n)
		check_label(v, json_text_at(names, "plural"), &plural);
	if (json_text_at(names, "singular").n)
		check_label(v, json_text_at(names, "singular"), &singular);
	check_kind_name(v, json_text_at(names, "kind"), &kind);
	check_kind_name(v, json_text_at(names, "listKind"), &list_kind);
	check_labels(v, json_getz(names, "shortNames"), &short_names);
	if (json_text_at(names, "kind").n &&
	    str_eq(json_text_at(names, "kind"), json_text_at(names, "listKind")))
		field_errors_invalid(v->errs, &list_kind,
				     FIELD_STR(json_text_at(names, "listKind")),
				     "kind and listKind may not be the same");
	check_labels(v, json_getz(names, "categories"), &categories);
}

static void require_names(struct validation *v, const struct json *names,
			  const struct field_path *path)
{
	static const char *const needed[] = { "plural", "singular", "kind", "listKind" };

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		struct field_path at = field_path_name(path, needed[i]);

		if (json_text_at(names, needed[i]).n == 0)
			field_errors_required(v->errs, &at, NULL);
	}
}

static void check_own_name(struct validation *v, const struct json *object, const struct json *spec)
{
	struct field_path meta = field_path_name(NULL, "metadata");
	struct field_path at = field_path_name(&meta, "name");
	struct str name = json_text_at(json_getz(object, "metadata"), "name");
	struct str plural = json_text_at(json_getz(spec, "names"), "plural");
	struct str want = str_from(arena_printf(v->arena, "%.*s.%.*s", STR_ARG(plural),
						STR_ARG(json_text_at(spec, "group"))));

	if (!v->old && !str_eq(name, want))
		field_errors_invalid(v->errs, &at, FIELD_STR(name),
				     "must be spec.names.plural+\".\"+spec.group");
}

static void check_group(struct validation *v, struct str group, const struct field_path *spec)
{
	struct field_path at = field_path_name(spec, "group");
	struct str faults = joined_faults(v->arena, SCHEMA_FORMAT_DNS_SUBDOMAIN, group);

	if (group.n == 0)
		field_errors_required(v->errs, &at, NULL);
	else if (faults.n)
		field_errors_add(v->errs, FIELD_INVALID, &at, FIELD_STR(group), faults);
	else if (str_chr(group, '.') < 0)
		field_errors_invalid(v->errs, &at, FIELD_STR(group),
				     "should be a domain with at least one dot");
}

static void check_choice(struct validation *v, struct str value, const struct str *choices,
			 size_t n, const struct field_path *path)
{
	if (value.n == 0) {
		field_errors_required(v->errs, path, NULL);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (str_eq(value, choices[i]))
			return;
	field_errors_not_supported(v->errs, path, FIELD_STR(value), choices, n);
}

/* --- parts of versions ------------------------------------------------------------ */

static bool is_simple_path(struct validation *v, struct str path, const struct field_path *at)
{
	if (path.n && path.p[0] == '.')
		return true;
	field_errors_invalid(v->errs, at, FIELD_STR(path),
			     "must be a simple json path starting with .");
	return false;
}

static void check_column(struct validation *v, const struct json *column,
			 const struct field_path *path)
{
	static const struct str types[] = { STR("boolean"), STR("date"), STR("integer"),
					    STR("number"), STR("string") };
	static const struct str formats[] = { STR("byte"),   STR("date"),    STR("date-time"),
					      STR("double"), STR("float"),   STR("int32"),
					      STR("int64"),  STR("password") };
	static const char of_types[] = "must be one of boolean,date,integer,number,string";
	static const char of_formats[] =
		"must be one of byte,date,date-time,double,float,int32,int64,password";
	struct field_path name = field_path_name(path, "name");
	struct field_path type = field_path_name(path, "type");
	struct field_path format = field_path_name(path, "format");
	struct field_path json_path = field_path_name(path, "JSONPath");
	struct str given = json_text_at(column, "format");
	bool known = given.n == 0, typed = false;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		known |= str_eq(given, formats[i]);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		typed |= str_eq(json_text_at(column, "type"), types[i]);
	if (json_text_at(column, "name").n == 0)
		field_errors_required(v->errs, &name, NULL);
	if (json_text_at(column, "type").n == 0)
		field_errors_required(v->errs, &type, of_types);
	else if (!typed)
		field_errors_invalid(v->errs, &type, FIELD_STR(json_text_at(column, "type")),
				     of_types);
	if (!known)
		field_errors_invalid(v->errs, &format, FIELD_STR(given), of_formats);
	if (json_text_at(column, "jsonPath").n == 0)
		field_errors_required(v->errs, &json_path, NULL);
	else
		(void)is_simple_path(v, json_text_at(column, "jsonPath"), &json_path);
}

static void check_columns(struct validation *v, const struct json *columns,
			  const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (column, columns) {
		struct field_path at = field_path_index(path, i++);

		check_column(v, column, &at);
	}
}

/* Checks a path of the scale subresource, which must lie below one of two names. */
static void check_scale_path(struct validation *v, const struct json *scale, const char *key,
			     const char *below, const char *or_below, const struct field_path *path)
{
	struct field_path parent = field_path_name(path, "scale");
	struct field_path at = field_path_name(&parent, key);
	struct str given = json_text_at(scale, key);

	if (given.n == 0) {
		if (!or_below)
			field_errors_required(v->errs, &at, NULL);
		return;
	}
	if (!is_simple_path(v, given, &at) || str_starts(given, str_from(below)) ||
	    (or_below && str_starts(given, str_from(or_below))))
		return;
	if (or_below)
		field_errors_invalid(v->errs, &at, FIELD_STR(given),
				     "should be a json path under either .spec or .status");
	else
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(given),
				  "should be a json path under %.*s", (int)strlen(below) - 1,
				  below);
}

static void check_subresources(struct validation *v, const struct json *subresources,
			       const struct field_path *path)
{
	const struct json *scale = json_getz(subresources, "scale");

	if (!scale)
		return;
	check_scale_path(v, scale, "specReplicasPath", ".spec.", NULL, path);
	check_scale_path(v, scale, "statusReplicasPath", ".status.", NULL, path);
	check_scale_path(v, scale, "labelSelectorPath", ".spec.", ".status.", path);
}

static bool is_selectable(const struct json *schema)
{
	struct str type = json_text_at(schema, "type");

	return str_eqz(type, "string") || str_eqz(type, "boolean") || str_eqz(type, "integer");
}

/* Returns true if it counts as a further field. */
static bool check_selectable(struct validation *v, struct json_index *paths,
			     const struct json *item, const struct json *schema,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "jsonPath");
	struct str given = json_text_at(item, "jsonPath");
	const struct json *found;
	const char *why = NULL;

	if (given.n == 0) {
		field_errors_required(v->errs, &at, NULL);
		return false;
	}
	found = crd_field_path(v->arena, schema, given, false, NULL, &why);
	if (!found) {
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(given),
				  "is an invalid path: %s", why);
		return false;
	}
	if (str_eqz(given, ".metadata") || str_starts(given, STR(".metadata.")))
		field_errors_invalid(v->errs, &at, FIELD_STR(given),
				     "must not point to fields in metadata");
	if (!is_selectable(found))
		field_errors_invalid(v->errs, &at, FIELD_STR(given),
				     "must point to a field of type string, boolean or integer. "
				     "Enum string fields and strings with formats are allowed.");
	if (!json_index_came_before(paths, item))
		return true;
	field_errors_duplicate(v->errs, &at, FIELD_STR(given));
	return false;
}

static void check_selectables(struct validation *v, const struct json *list,
			      const struct json *schema, const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index paths;
	size_t i = 0, n = 0;

	json_index_init(&paths, list, "jsonPath");
	JSON_FOREACH (item, list) {
		struct field_path at = field_path_index(path, i++);

		n += check_selectable(v, &paths, item, schema, &at);
	}
	if (n > SELECTABLE_MAX)
		field_errors_too_many(v->errs, path, (int64_t)n, SELECTABLE_MAX);
}

static void check_deprecation(struct validation *v, const struct json *version,
			      const struct field_path *path)
{
	struct field_path at = field_path_name(path, "deprecationWarning");
	struct str text = json_text_at(version, "deprecationWarning");

	if (!text.p)
		return;
	if (!json_true_at(version, "deprecated")) {
		field_errors_invalid(v->errs, &at, FIELD_STR(text),
				     "can only be set for deprecated versions");
		return;
	}
	if (text.n > WARNING_MAX)
		field_errors_invalid(v->errs, &at, FIELD_STR(text),
				     "must be <= 256 characters long");
	if (text.n == 0)
		field_errors_invalid(v->errs, &at, FIELD_STR(text), "must not be an empty string");
	for (size_t i = 0; i < text.n; i++) {
		if ((unsigned char)text.p[i] >= ' ' && text.p[i] != 0x7f)
			continue;
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(text),
				  "must only contain printable UTF-8 characters; non-printable "
				  "character found at index %zu",
				  i);
		return;
	}
}

/* --- versions --------------------------------------------------------------------- */

/* Whether all versions have the same value, or none: then errors are reported at the top. */
static bool is_common(const struct json *versions, const char *key)
{
	const struct json *first = json_getz(json_first(versions), key);

	JSON_FOREACH (version, versions)
		if (!json_equal(first, json_getz(version, key)))
			return false;
	return json_first(versions) != NULL;
}

static bool has_status(const struct json *version)
{
	return json_getz(json_getz(version, "subresources"), "status") != NULL;
}

static const struct json *schema_of(const struct json *version)
{
	return json_getz(json_getz(version, "schema"), "openAPIV3Schema");
}

static bool any_status(const struct json *versions)
{
	JSON_FOREACH (version, versions)
		if (has_status(version))
			return true;
	return false;
}

/* Whether the version is stored with this schema. */
static bool is_stored(const struct json *old, const struct json *version)
{
	const struct json *before = json_find(json_getz(json_getz(old, "spec"), "versions"), "name",
					      json_text_at(version, "name"));

	return before && schema_of(before) && schema_of(version) &&
	       json_equal(schema_of(before), schema_of(version));
}

/* Parts that all versions have in common: errors in them are reported at the top. */
struct hoisted {
	bool schema, subresources, columns, selectables;
};

/* Checks the common parts (`top`), or those that are this version's own. */
static void check_parts(struct validation *v, const struct json *version,
			const struct json *versions, const struct hoisted *hoisted, bool top,
			const struct field_path *path)
{
	struct field_path schema = field_path_name(path, top ? "validation" : "schema");
	struct field_path subresources = field_path_name(path, "subresources");
	struct field_path columns = field_path_name(path, "additionalPrinterColumns");
	struct field_path selectables = field_path_name(path, "selectableFields");
	bool status = top ? any_status(versions) : has_status(version);

	if (hoisted->schema == top)
		check_crd_validation(v, json_getz(version, "schema"), status,
				     is_stored(v->old, version), &schema);
	if (hoisted->subresources == top)
		check_subresources(v, json_getz(version, "subresources"), &subresources);
	if (hoisted->columns == top)
		check_columns(v, json_getz(version, "additionalPrinterColumns"), &columns);
	if (hoisted->selectables == top)
		check_selectables(v, json_getz(version, "selectableFields"), schema_of(version),
				  &selectables);
}

static void require_schemas(struct validation *v, const struct json *versions,
			    const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (version, versions) {
		struct field_path item = field_path_index(path, i++);
		struct field_path schema = field_path_name(&item, "schema");
		struct field_path at = field_path_name(&schema, "openAPIV3Schema");

		if (!schema_of(version))
			field_errors_required(v->errs, &at, NULL);
	}
}

/* Formats the list as upstream does: with Go's names, without the common parts. */
static struct field_value shown_versions(struct validation *v, const struct json *versions)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(VALIDATE_SHOWN_MAX);

	(void)buf_addc(&text, '[');
	JSON_FOREACH (version, versions) {
		(void)buf_printf(&text, "%s{\"Name\":", text.n > 1 ? "," : "");
		(void)json_print_str(&text, json_text_at(version, "name"), NULL);
		(void)buf_printf(&text,
				 ",\"Served\":%s,\"Storage\":%s,\"Deprecated\":%s,"
				 "\"DeprecationWarning\":null,\"Schema\":null,"
				 "\"Subresources\":null,\"AdditionalPrinterColumns\":null,"
				 "\"SelectableFields\":null}",
				 json_true_at(version, "served") ? "true" : "false",
				 json_true_at(version, "storage") ? "true" : "false",
				 json_true_at(version, "deprecated") ? "true" : "false");
	}
	(void)buf_addc(&text, ']');
	return FIELD_JSON(arena_str(v->arena, buf_str(&text)));
}

static void check_version_list(struct validation *v, const struct json *versions,
			       const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index names;
	bool unique = true;
	size_t stored = 0;

	json_index_init(&names, versions, "name");
	JSON_FOREACH (version, versions) {
		unique &= !json_index_came_before(&names, version);
		stored += json_true_at(version, "storage");
	}
	if (!unique)
		field_errors_invalid(v->errs, path, shown_versions(v, versions),
				     "must contain unique version names");
	if (stored != 1)
		field_errors_invalid(v->errs, path, shown_versions(v, versions),
				     "must have exactly one version marked as storage version");
}

static void check_versions(struct validation *v, const struct json *versions,
			   const struct hoisted *hoisted, const struct field_path *spec)
{
	struct field_path path = field_path_name(spec, "versions");
	struct field_path first = field_path_name(spec, "version");
	size_t i = 0;

	require_schemas(v, versions, &path);
	JSON_FOREACH (version, versions) {
		struct field_path item = field_path_index(&path, i++);
		struct field_path name = field_path_name(&item, "name");

		check_label(v, json_text_at(version, "name"), &name);
		check_deprecation(v, version, &item);
		check_parts(v, version, versions, hoisted, false, &item);
	}
	check_version_list(v, versions, &path);
	if (json_first(versions))
		check_label(v, json_text_at(json_first(versions), "name"), &first);
}

/* --- conversion ------------------------------------------------------------------- */

/* The server calls no conversion webhooks, so it rejects a definition that needs one. */
static void check_conversion(struct validation *v, const struct json *conversion,
			     const struct field_path *spec)
{
	static const struct str strategies[] = { STR("None") };
	struct field_path path = field_path_name(spec, "conversion");
	struct field_path strategy = field_path_name(&path, "strategy");
	struct field_path config = field_path_name(&path, "webhookClientConfig");
	struct field_path reviews = field_path_name(&path, "conversionReviewVersions");
	const struct json *webhook = json_getz(conversion, "webhook");
	static const char idle[] = "should not be set when strategy is not set to Webhook";

	check_choice(v, json_text_at(conversion, "strategy"), strategies, ARRAY_SIZE(strategies),
		     &strategy);
	if (str_eqz(json_text_at(conversion, "strategy"), "Webhook"))
		return;
	if (json_getz(webhook, "clientConfig"))
		field_errors_forbidden(v->errs, &config, idle);
	if (json_count(json_getz(webhook, "conversionReviewVersions")))
		field_errors_forbidden(v->errs, &reviews, idle);
}

/* --- status ----------------------------------------------------------------------- */

static void check_stored_versions(struct validation *v, const struct json *object)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "storedVersions");
	const struct json *stored = json_getz(json_getz(object, "status"), "storedVersions");
	const struct json *versions = json_getz(json_getz(object, "spec"), "versions");
	CLEANUP(json_index_release) struct json_index names;
	CLEANUP(json_index_release) struct json_index had;
	size_t i = 0;

	json_index_init(&names, versions, "name");
	json_index_init(&had, stored, NULL);
	if (json_count(stored) == 0) {
		field_errors_invalid(v->errs, &path, validate_shown(v, NULL),
				     "must have at least one stored version");
		return;
	}
	JSON_FOREACH (version, versions) {
		struct str name = json_text_at(version, "name");

		if (json_true_at(version, "storage") && !json_index_get(&had, name))
			field_errors_addf(v->errs, FIELD_INVALID, &path, validate_shown(v, stored),
					  "must have the storage version %.*s", STR_ARG(name));
	}
	JSON_FOREACH (item, stored) {
		struct field_path at = field_path_index(&path, i++);
		struct str name = json_str(item);

		if (!json_index_get(&names, name))
			field_errors_addf(
				v->errs, FIELD_INVALID, &at, FIELD_STR(name),
				"missing from spec.versions; %.*s was previously a "
				"storage version, and must remain in spec.versions until a "
				"storage migration ensures no data remains persisted in "
				"%.*s and removes %.*s from status.storedVersions",
				STR_ARG(name), STR_ARG(name), STR_ARG(name));
	}
}

static void check_accepted_names(struct validation *v, const struct json *object)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path path = field_path_name(&status, "acceptedNames");

	definition_check_names(v, json_getz(json_getz(object, "status"), "acceptedNames"), &path);
}

static void check_approval(struct validation *v, const struct json *object, struct str group)
{
	struct field_path meta = field_path_name(NULL, "metadata");
	struct field_path annotations = field_path_name(&meta, "annotations");
	struct field_path at = field_path_key(&annotations, STR("api-approved.kubernetes.io"));
	const struct json *given = json_getz(
		json_getz(json_getz(object, "metadata"), "annotations"),
		"api-approved.kubernetes.io");
	enum crd_approval state;
	struct str reason, before;

	if (!crd_is_protected(group))
		return;
	state = crd_approval(v->arena, object, &reason);
	if (v->old && crd_approval(v->arena, v->old, &before) == state)
		return;
	if (state == CRD_APPROVAL_MISSING)
		field_errors_required(v->errs, &at, arena_strdup(v->arena, reason));
	else if (state == CRD_APPROVAL_INVALID)
		field_errors_add(v->errs, FIELD_INVALID, &at, FIELD_STR(json_str(given)), reason);
}

/* --- the whole -------------------------------------------------------------------- */

static void check_spec(struct validation *v, const struct json *spec)
{
	static const struct str scopes[] = { STR("Cluster"), STR("Namespaced") };
	const struct json *versions = json_getz(spec, "versions");
	const struct json *names = json_getz(spec, "names");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path scope = field_path_name(&path, "scope");
	struct field_path names_at = field_path_name(&path, "names");
	const struct hoisted hoisted = {
		.schema = is_common(versions, "schema"),
		.subresources = is_common(versions, "subresources"),
		.columns = is_common(versions, "additionalPrinterColumns"),
		.selectables = is_common(versions, "selectableFields"),
	};

	check_group(v, json_text_at(spec, "group"), &path);
	check_choice(v, json_text_at(spec, "scope"), scopes, ARRAY_SIZE(scopes), &scope);
	check_versions(v, versions, &hoisted, &path);
	require_names(v, names, &names_at);
	definition_check_names(v, names, &names_at);
	if (json_first(versions))
		check_parts(v, json_first(versions), versions, &hoisted, true, &path);
	check_conversion(v, json_getz(spec, "conversion"), &path);
}

void check_crd(struct validation *v, const struct json *object)
{
	const struct json *spec = json_getz(object, "spec");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path preserve = field_path_name(&path, "preserveUnknownFields");
	struct cel_budget budget = { .left = CEL_COMPILE_CRD_MAX };

	check_own_name(v, object, spec);
	/* A stored spec passed the checks before: a stricter limit must not lock out its owner. */
	v->budget = v->old && json_equal(spec, json_getz(v->old, "spec")) ? NULL : &budget;
	check_spec(v, spec);
	check_accepted_names(v, object);
	check_stored_versions(v, object);
	check_approval(v, object, json_text_at(spec, "group"));
	if (json_true_at(spec, "preserveUnknownFields"))
		field_errors_invalid(v->errs, &preserve, FIELD_BOOL(true),
				     "cannot set to true, set x-kubernetes-preserve-unknown-fields "
				     "to true in spec.versions[*].schema instead");
	if (!field_errors_any(v->errs))
		check_crd_warn(v);
	v->budget = NULL;
}

void check_crd_update(struct validation *v, const struct json *object, const struct json *old)
{
	const struct json *spec = json_getz(object, "spec"), *old_spec = json_getz(old, "spec");
	const struct json *names = json_getz(spec, "names");
	const struct json *old_names = json_getz(old_spec, "names");
	struct field_path path = field_path_name(NULL, "spec");
	struct field_path names_at = field_path_name(&path, "names");
	struct field_path scope = field_path_name(&path, "scope");
	struct field_path kind = field_path_name(&names_at, "kind");
	struct field_path group = field_path_name(&path, "group");
	struct field_path plural = field_path_name(&names_at, "plural");

	if (tree_condition_is_true(old, STR("Established"))) {
		validate_immutable(v, json_getz(spec, "scope"), json_getz(old_spec, "scope"),
				   &scope);
		validate_immutable(v, json_getz(names, "kind"), json_getz(old_names, "kind"),
				   &kind);
	}
	validate_immutable(v, json_getz(spec, "group"), json_getz(old_spec, "group"), &group);
	validate_immutable(v, json_getz(names, "plural"), json_getz(old_names, "plural"), &plural);
}

void check_crd_status(struct validation *v, const struct json *object, const struct json *old)
{
	check_accepted_names(v, object);
}

/*
 * ObjectMeta: names, labels, annotations, owners, finalizers, managed fields, and immutable
 * members.
 */
#include "api/validate/validate.h"

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/json/index.h"

static const char *name_fault(const struct schema_kind *kind, struct str name)
{
	/* Upstream does not check the names of events; here they must be valid path segments. */
	if (kind->flags & (SCHEMA_PATH_NAMES | SCHEMA_EVENTS))
		return names_path_segment(name);
	if (kind->flags & SCHEMA_DNS_LABEL_NAMES)
		return names_dns_label(name);
	if (kind->flags & SCHEMA_DNS1035_NAMES)
		return names_dns1035_label(name);
	return names_dns_subdomain(name);
}

static void meta_check_name(struct validation *v, const struct json *meta,
			    const struct field_path *path)
{
	struct field_path prefix_at = field_path_name(path, "generateName");
	struct field_path at = field_path_name(path, "name");
	struct str prefix = json_text_at(meta, "generateName");
	struct str name = json_text_at(meta, "name");
	const char *fault = NULL;
	char *room;

	if (prefix.n) {
		room = arena_alloc(v->arena, prefix.n);
		fault = name_fault(v->kind, names_mask_prefix(prefix, room));
	}
	if (fault)
		field_errors_invalid(v->errs, &prefix_at, FIELD_STR(prefix), fault);
	if (name.n == 0) {
		field_errors_required(v->errs, &at, "name or generateName is required");
		return;
	}
	fault = name_fault(v->kind, name);
	if (fault)
		field_errors_invalid(v->errs, &at, FIELD_STR(name), fault);
}

static void check_namespace(struct validation *v, const struct json *meta,
			    const struct field_path *path)
{
	struct field_path at = field_path_name(path, "namespace");
	struct str ns = json_text_at(meta, "namespace");

	if (!(v->kind->flags & SCHEMA_NAMESPACED)) {
		if (ns.n)
			field_errors_forbidden(v->errs, &at, "not allowed on this type");
	} else if (ns.n == 0) {
		field_errors_required(v->errs, &at, NULL);
	} else {
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, ns, &at);
	}
}

void validate_labels(struct validation *v, const struct json *labels, const struct field_path *path)
{
	JSON_FOREACH (label, labels) {
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_key(label), path);
		validate_format(v, SCHEMA_FORMAT_LABEL_VALUE, json_str(label), path);
	}
}

/* An annotation's domain may have upper case, so the key is checked in lower case. */
static void check_annotation_key(struct validation *v, struct str key,
				 const struct field_path *path)
{
	struct names_faults faults;

	names_find_faults(SCHEMA_FORMAT_LABEL_KEY, arena_lower(v->arena, key), &faults);
	for (size_t i = 0; i < faults.n; i++)
		field_errors_invalid(v->errs, path, FIELD_STR(key), faults.text[i]);
}

void validate_annotations(struct validation *v, const struct json *annotations,
			  const struct field_path *path)
{
	size_t size = 0;

	JSON_FOREACH (annotation, annotations) {
		size += json_key(annotation).n + json_str(annotation).n;
		if (names_qualified(json_key(annotation)))
			check_annotation_key(v, json_key(annotation), path);
	}
	if (size > ANNOTATIONS_MAX)
		field_errors_too_long(v->errs, path, ANNOTATIONS_MAX);
}

static void require(struct validation *v, const struct json *object, const char *name,
		    const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);

	if (json_text_at(object, name).n == 0)
		field_errors_required(v->errs, &at, "must not be empty");
}

/* "version" or "group/version". */
static bool is_api_version(struct str s)
{
	ptrdiff_t slash = str_chr(s, '/');
	struct str version = slash < 0 ? s : str_skip(s, (size_t)slash + 1);

	return version.n > 0 && str_chr(version, '/') < 0;
}

static void check_owner(struct validation *v, const struct json *owner,
			const struct field_path *path)
{
	struct field_path at = field_path_name(path, "apiVersion");
	struct str version = json_text_at(owner, "apiVersion");

	require(v, owner, "apiVersion", path);
	if (version.n && !is_api_version(version))
		field_errors_invalid(v->errs, &at, FIELD_STR(version),
				     "must be <group>/<version> or <version>");
	require(v, owner, "kind", path);
	require(v, owner, "name", path);
	require(v, owner, "uid", path);
	if (str_eqz(version, "v1") && str_eqz(json_text_at(owner, "kind"), "Event"))
		field_errors_invalid(v->errs, path, validate_shown(v, owner),
				     "/v1, Kind=Event is disallowed from being an owner");
}

static void check_owners(struct validation *v, const struct json *owners,
			 const struct field_path *path)
{
	const struct json *first = NULL;
	size_t i = 0;

	JSON_FOREACH (owner, owners) {
		struct field_path at = field_path_index(path, i++);

		check_owner(v, owner, &at);
		if (!json_true_at(owner, "controller"))
			continue;
		if (first)
			field_errors_addf(
				v->errs, FIELD_INVALID, path, validate_shown(v, owners),
				"Only one reference can have Controller set to true. Found "
				"\"true\" "
				"in references for %.*s/%.*s and %.*s/%.*s",
				STR_ARG(json_text_at(first, "kind")),
				STR_ARG(json_text_at(first, "name")),
				STR_ARG(json_text_at(owner, "kind")),
				STR_ARG(json_text_at(owner, "name")));
		else
			first = owner;
	}
}

static void check_finalizers(struct validation *v, const struct json *finalizers,
			     const struct field_path *path)
{
	bool orphan = false, foreground = false;

	JSON_FOREACH (finalizer, finalizers) {
		struct str name = json_str(finalizer);

		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, name, path);
		orphan |= str_eqz(name, "orphan");
		foreground |= str_eqz(name, "foregroundDeletion");
	}
	if (orphan && foreground)
		field_errors_invalid(v->errs, path, validate_shown(v, finalizers),
				     "finalizer orphan and foregroundDeletion cannot be both set");
}

static void check_manager(struct validation *v, struct str manager, const struct field_path *path)
{
	if (manager.n > FIELD_MANAGER_MAX)
		field_errors_too_long(v->errs, path, FIELD_MANAGER_MAX);
	for (size_t i = 0; i < manager.n; i++) {
		unsigned char c = (unsigned char)manager.p[i];

		if (c < 0x20 || c == 0x7f)
			field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(manager),
					  "invalid character U+%04X (at position %zu)", c, i);
	}
}

static void check_managed_entry(struct validation *v, const struct json *entry,
				const struct field_path *path)
{
	static const struct str operations[] = { { "Apply", 5 }, { "Update", 6 } };
	struct field_path operation_at = field_path_name(path, "operation");
	struct field_path type_at = field_path_name(path, "fieldsType");
	struct field_path manager_at = field_path_name(path, "manager");
	struct field_path sub_at = field_path_name(path, "subresource");
	struct str operation = json_text_at(entry, "operation");
	struct str type = json_text_at(entry, "fieldsType");

	if (operation.n == 0)
		field_errors_required(v->errs, &operation_at, "must not be empty");
	else if (!str_eq(operation, operations[0]) && !str_eq(operation, operations[1]))
		field_errors_not_supported(v->errs, &operation_at, FIELD_STR(operation), operations,
					   ARRAY_SIZE(operations));
	if (type.n && !str_eqz(type, "FieldsV1"))
		field_errors_invalid(v->errs, &type_at, FIELD_STR(type), "must be `FieldsV1`");
	check_manager(v, json_text_at(entry, "manager"), &manager_at);
	if (json_text_at(entry, "subresource").n > SUBRESOURCE_NAME_MAX)
		field_errors_too_long(v->errs, &sub_at, SUBRESOURCE_NAME_MAX);
}

static void check_managed_fields(struct validation *v, const struct json *entries,
				 const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (entry, entries) {
		struct field_path at = field_path_index(path, i++);

		check_managed_entry(v, entry, &at);
	}
}

/* Parts of metadata that are checked separately; a part that equals the stored one is skipped. */
struct part {
	const char *name;
	void (*check)(struct validation *v, const struct json *value,
		      const struct field_path *path);
};

static const struct part parts[] = {
	{ "labels", validate_labels },
	{ "annotations", validate_annotations },
	{ "ownerReferences", check_owners },
	{ "finalizers", check_finalizers },
	{ "managedFields", check_managed_fields },
};

static void check_parts(struct validation *v, const struct json *meta, const struct json *old,
			const struct field_path *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct field_path at = field_path_name(path, parts[i].name);
		const struct json *value = json_getz(meta, parts[i].name);
		const struct json *stored = json_getz(old, parts[i].name);

		if (value && !json_equal(value, stored))
			parts[i].check(v, value, &at);
	}
}

static void check_no_new_finalizers(struct validation *v, const struct json *meta,
				    const struct json *old, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf found = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct field_path at = field_path_name(path, "finalizers");
	CLEANUP(json_index_release) struct json_index stored;

	json_index_init(&stored, json_getz(old, "finalizers"), NULL);
	JSON_FOREACH (finalizer, json_getz(meta, "finalizers")) {
		if (json_index_get(&stored, json_str(finalizer)))
			continue;
		(void)buf_addz(&found, found.n ? ", " : "");
		(void)json_print_str(&found, json_str(finalizer), NULL);
	}
	if (found.n)
		field_errors_addf(v->errs, FIELD_FORBIDDEN, &at, FIELD_OMITTED,
				  "no new finalizers can be added if the object is being deleted, "
				  "found new finalizers []string{%s}",
				  found.p);
}

static void check_generation(struct validation *v, const struct json *meta, const struct json *old,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "generation");
	int64_t generation = 0, stored = 0;

	(void)json_i64(json_getz(meta, "generation"), &generation);
	(void)json_i64(json_getz(old, "generation"), &stored);
	if (generation < 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(generation),
				     "must be greater than or equal to 0");
	if (old && generation < stored)
		field_errors_invalid(v->errs, &at, FIELD_I64(generation),
				     "must not be decremented");
}

static void check_meta_update(struct validation *v, const struct json *meta, const struct json *old,
			      const struct field_path *path)
{
	static const char *const immutable[] = { "name",
						 "namespace",
						 "uid",
						 "creationTimestamp",
						 "deletionTimestamp",
						 "deletionGracePeriodSeconds" };
	struct field_path version_at = field_path_name(path, "resourceVersion");

	if (!validate_is_unset(json_getz(old, "deletionTimestamp")))
		check_no_new_finalizers(v, meta, old, path);
	if (json_text_at(meta, "resourceVersion").n == 0 &&
	    !(v->kind->flags & SCHEMA_UNCONDITIONAL_UPDATE))
		field_errors_invalid(v->errs, &version_at, FIELD_STR(STR("")),
				     "must be specified for an update");
	for (size_t i = 0; i < ARRAY_SIZE(immutable); i++) {
		struct field_path at = field_path_name(path, immutable[i]);

		validate_immutable(v, json_getz(meta, immutable[i]), json_getz(old, immutable[i]),
				   &at);
	}
}

void validate_meta(struct validation *v, const struct json *meta, const struct json *old_meta)
{
	struct field_path path = field_path_name(NULL, "metadata");

	check_generation(v, meta, old_meta, &path);
	if (old_meta) {
		check_meta_update(v, meta, old_meta, &path);
	} else {
		meta_check_name(v, meta, &path);
		check_namespace(v, meta, &path);
	}
	check_parts(v, meta, old_meta, &path);
}

void validate_embedded_meta(struct validation *v, const struct json *meta,
			    const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path namespace_at = field_path_name(path, "namespace");
	struct str name = json_text_at(meta, "name"), ns = json_text_at(meta, "namespace");
	const char *fault = name.n ? names_path_segment(name) : NULL;

	if (fault)
		field_errors_invalid(v->errs, &name_at, FIELD_STR(name), fault);
	if (ns.n)
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, ns, &namespace_at);
	check_parts(v, meta, NULL, path);
}

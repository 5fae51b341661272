/*
 * PersistentVolumeClaims: required fields, and fields that exclude each other. A claim without a
 * spec has the errors of an empty one.
 */
#include "api/check/checks.h"
#include "api/schema/names.h"
#include "base/json/quantity.h"

static void check_modes(struct validation *v, const struct json *spec,
			const struct field_path *spec_at)
{
	const struct json *modes = json_getz(spec, "accessModes");
	struct field_path at = field_path_name(spec_at, "accessModes");

	if (!json_count(modes))
		field_errors_required(v->errs, &at, "at least 1 access mode is required");
	if (json_count(modes) > 1 && json_has_text(modes, STR("ReadWriteOncePod")))
		JSON_FOREACH (it, modes)
			if (!str_eqz(json_str(it), "ReadWriteOncePod")) {
				field_errors_forbidden(
					v->errs, &at,
					"may not use ReadWriteOncePod with other access modes");
				return;
			}
}

static void check_storage(struct validation *v, const struct json *spec,
			  const struct field_path *spec_at)
{
	const struct json *requests = json_getz(json_getz(spec, "resources"), "requests");
	const struct json *storage = json_getz(requests, "storage");
	struct field_path resources_at = field_path_name(spec_at, "resources");
	struct field_path at = field_path_key(&resources_at, STR("storage"));
	struct quantity q;

	if (!storage)
		field_errors_required(v->errs, &at, "");
	else if (quantity_read(storage, &q) && quantity_sign(q) <= 0)
		field_errors_invalid(v->errs, &at, validate_shown(v, storage),
				     "must be greater than zero");
}

static void check_class(struct validation *v, const struct json *spec,
			const struct field_path *spec_at, const char *name)
{
	struct str class = json_text_at(spec, name);
	const char *fault = class.n ? names_dns_subdomain(class) : NULL;
	struct field_path at = field_path_name(spec_at, name);

	if (fault)
		field_errors_invalid(v->errs, &at, FIELD_STR(class), fault);
}

void check_volume_claim(struct validation *v, const struct json *claim)
{
	const struct json *spec = json_getz(claim, "spec");
	struct field_path at = field_path_name(NULL, "spec");

	check_modes(v, spec, &at);
	check_storage(v, spec, &at);
	check_class(v, spec, &at, "storageClassName");
	check_class(v, spec, &at, "volumeAttributesClassName");
}

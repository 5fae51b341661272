/*
 * Taints of devices, tolerations for them, and the rules that taint devices of any driver.
 */
#include "api/devices/checks.h"
#include "api/schema/names.h"
#include "base/time/timestamp.h"

void fill_device_taint(struct arena *a, struct json *taint, int64_t now_ns)
{
	char text[TIMESTAMP_SIZE];
	struct str now = timestamp_print(now_ns, TIMESTAMP_SECONDS, text);

	if (validate_is_unset(json_getz(taint, "timeAdded")))
		json_put_str(a, taint, "timeAdded", arena_str(a, now));
}

void check_device_toleration(struct validation *v, const struct json *toleration,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "value");
	struct str how = json_text_at(toleration, "operator");
	struct str value = json_text_at(toleration, "value");

	if (str_eqz(how, "Exists") && value.n)
		field_errors_invalid(v->errs, &at, FIELD_STR(value),
				     "must be empty for operator `Exists`");
	else if (str_eqz(how, "Equal"))
		validate_format(v, SCHEMA_FORMAT_LABEL_VALUE, value, &at);
}

/* Names that are pointers upstream: an empty one is another error than a malformed one. */
void check_driver_name(struct validation *v, const struct json *name, const struct field_path *path)
{
	struct str text = json_str(name);

	if (text.n == 0) {
		field_errors_required(v->errs, path, NULL);
		return;
	}
	if (text.n > NAMES_DRIVER_MAX)
		field_errors_too_long(v->errs, path, NAMES_DRIVER_MAX);
	validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS, text, path);
}

void check_pool_name(struct validation *v, const struct json *name, const struct field_path *path)
{
	if (json_str(name).n == 0)
		field_errors_required(v->errs, path, NULL);
	else
		validate_format(v, SCHEMA_FORMAT_POOL_NAME, json_str(name), path);
}

/*
 * StorageVersions: the name must be that of a kind, and the servers' entries must agree with the
 * status. As upstream, paths of conditions lack the list's name, and their type and status may be
 * any key.
 */
#include "api/api_limits.h"
#include "api/check/checks.h"
#include "api/schema/names.h"
#include "base/json/index.h"

/* --- names and versions ------------------------------------------------------------------- */

static void add_faults(struct validation *v, const char *part, const struct names_faults *faults,
		       struct str name, const struct field_path *path)
{
	for (size_t i = 0; i < faults->n; i++)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(name), "%s%s", part,
				  faults->text[i]);
}

void check_storage_version(struct validation *v, const struct json *object)
{
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path at = field_path_name(&meta_at, "name");
	struct str name = json_text_at(json_getz(object, "metadata"), "name");
	struct names_faults group = { .n = 0 }, resource = { .n = 0 };
	size_t dot = name.n;

	while (dot > 0 && name.p[dot - 1] != '.')
		dot--;
	if (dot == 0) {
		field_errors_invalid(v->errs, &at, FIELD_STR(name),
				     "name must be in the form of <group>.<resource>");
		return;
	}
	names_subdomain_faults(str_of(name.p, dot - 1), &group);
	names_dns1035_faults(str_skip(name, dot), &resource);
	add_faults(v, "the group segment ", &group, name, &at);
	add_faults(v, "the resource segment ", &resource, name, &at);
}

/* Appends faults to `out`, separated by commas; the part is "group" or "version". */
static void print_faults(struct arena *a, const char **out, const char *part,
			 const struct names_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		*out = arena_printf(a, "%s%s%s part: %s", *out ? *out : "", *out ? "," : "", part,
				    faults->text[i]);
}

/* Returns the fault of "group/version" or "version", or NULL. */
static const char *version_fault(struct arena *a, struct str text)
{
	struct names_faults group = { .n = 0 }, version = { .n = 0 };
	ptrdiff_t slash = str_chr(text, '/');
	const char *out = NULL;

	if (slash >= 0 && str_chr(str_skip(text, (size_t)slash + 1), '/') >= 0)
		return "an apiVersion is a DNS-1035 label, which must consist of lower case "
		       "alphanumeric characters or '-', start with an alphabetic character, and "
		       "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex "
		       "used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS "
		       "subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
	if (slash == 0)
		names_add_fault(&group, "must be non-empty");
	else if (slash > 0)
		names_subdomain_faults(str_of(text.p, (size_t)slash), &group);
	text = str_skip(text, (size_t)(slash + 1));
	if (text.n == 0)
		names_add_fault(&version, "must be non-empty");
	else
		names_dns1035_faults(text, &version);
	print_faults(a, &out, "group", &group);
	print_faults(a, &out, "version", &version);
	return out;
}

static void storage_version_check_version(struct validation *v, struct str text,
					  const struct field_path *path)
{
	const char *fault = version_fault(v->arena, text);

	if (fault)
		field_errors_invalid(v->errs, path, FIELD_STR(text), fault);
}

/* --- one server ----------------------------------------------------------------------------- */

/* Prints a list of strings as Go does. */
static struct str printed(struct validation *v, const struct json *list)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(VALIDATE_SHOWN_MAX);

	(void)buf_addc(&out, '[');
	JSON_FOREACH (it, list)
		(void)buf_printf(&out, "%s%.*s", out.n > 1 ? " " : "", STR_ARG(json_str(it)));
	(void)buf_addc(&out, ']');
	return arena_str(v->arena, buf_str(&out));
}

static void check_decodable(struct validation *v, const struct json *decodable, struct str encoding,
			    const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (it, decodable) {
		struct field_path at = field_path_index(path, i++);

		storage_version_check_version(v, json_str(it), &at);
	}
	if (!json_has_text(decodable, encoding))
		field_errors_addf(v->errs, FIELD_INVALID, path, validate_shown(v, decodable),
				  "decodableVersions must include encodingVersion %.*s",
				  STR_ARG(encoding));
}

static void check_served(struct validation *v, const struct json *served,
			 const struct json *decodable, const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index known;
	struct str list = STR_NULL;
	size_t i = 0;

	json_index_init(&known, decodable, NULL);
	JSON_FOREACH (it, served) {
		struct field_path at = field_path_index(path, i++);
		struct str text = json_str(it);

		storage_version_check_version(v, text, &at);
		if (json_index_get(&known, text))
			continue;
		if (!list.p)
			list = printed(v, decodable);
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(text),
				  "individual served version : %.*s must be included in "
				  "decodableVersions : %.*s",
				  STR_ARG(text), STR_ARG(list));
	}
}

static void check_server(struct validation *v, const struct json *entry,
			 const struct field_path *path)
{
	struct field_path id_at = field_path_name(path, "apiServerID");
	struct field_path encoding_at = field_path_name(path, "encodingVersion");
	struct field_path decodable_at = field_path_name(path, "decodableVersions");
	struct field_path served_at = field_path_name(path, "servedVersions");
	const struct json *decodable = json_getz(entry, "decodableVersions");
	struct str encoding = json_text_at(entry, "encodingVersion");

	validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, json_text_at(entry, "apiServerID"), &id_at);
	storage_version_check_version(v, encoding, &encoding_at);
	check_decodable(v, decodable, encoding, &decodable_at);
	check_served(v, json_getz(entry, "servedVersions"), decodable, &served_at);
}

static void check_servers(struct validation *v, const struct json *entries,
			  const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index ids;
	size_t i = 0;

	json_index_init(&ids, entries, "apiServerID");
	JSON_FOREACH (it, entries) {
		struct field_path at = field_path_index(path, i++);
		struct field_path id_at = field_path_name(&at, "apiServerID");
		struct str id = json_text_at(it, "apiServerID");

		if (json_index_came_before(&ids, it))
			field_errors_duplicate(v->errs, &id_at, FIELD_STR(id));
		check_server(v, it, &at);
	}
}

/* --- all of them ---------------------------------------------------------------------------- */

/* Returns the encoding version that all entries share; p NULL if they differ. */
static struct str common_of(const struct json *entries)
{
	const struct json *first = json_first(entries);
	struct str common = json_text_at(first, "encodingVersion");

	JSON_FOREACH (it, entries)
		if (!str_eq(json_text_at(it, "encodingVersion"), common))
			return STR_NULL;
	return first ? str_of(common.p ? common.p : "", common.n) : STR_NULL;
}

static void check_common(struct validation *v, const struct json *status,
			 const struct field_path *path)
{
	struct str common = common_of(json_getz(status, "storageVersions"));
	const struct json *said = json_getz(status, "commonEncodingVersion");
	bool is_said = json_is(said, JSON_STRING);

	if (!common.p && is_said)
		field_errors_invalid(v->errs, path, FIELD_STR(json_str(said)),
				     "should be nil if servers do not agree on the same encoding "
				     "version, or if there is no server reporting the supported "
				     "versions yet");
	else if (common.p && !is_said)
		field_errors_addf(v->errs, FIELD_INVALID, path, validate_shown(v, NULL),
				  "the common encoding version is %.*s", STR_ARG(common));
	else if (common.p && !str_eq(json_str(said), common))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(json_str(said)),
				  "the actual common encoding version is %.*s", STR_ARG(common));
}

static size_t storage_version_place_of(const struct json *list, const struct json *item)
{
	size_t i = 0;

	for (const struct json *it = json_first(list); it != item; it = it->next)
		i++;
	return i;
}

static void check_observations(struct validation *v, const struct json *conditions,
			       const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index types;
	size_t i = 0;

	json_index_init(&types, conditions, "type");
	JSON_FOREACH (it, conditions) {
		struct field_path at = field_path_index(path, i++);
		struct field_path type_at = field_path_name(&at, "type");
		struct field_path status_at = field_path_name(&at, "status");
		struct field_path reason_at = field_path_name(&at, "reason");
		struct field_path message_at = field_path_name(&at, "message");
		struct str type = json_text_at(it, "type");

		if (json_index_came_before(&types, it) && !field_errors_full(v->errs))
			field_errors_addf(
				v->errs, FIELD_INVALID, &type_at, FIELD_STR(type),
				"the type of the condition is not unique, it also "
				"appears in conditions[%zu]",
				storage_version_place_of(conditions, json_index_get(&types, type)));
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, type, &type_at);
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(it, "status"), &status_at);
		if (!json_text_at(it, "reason").n)
			field_errors_required(v->errs, &reason_at, NULL);
		if (!json_text_at(it, "message").n)
			field_errors_required(v->errs, &message_at, NULL);
	}
}

void check_storage_version_status(struct validation *v, const struct json *object,
				  const struct json *old)
{
	struct field_path at = field_path_name(NULL, "status");
	struct field_path servers_at = field_path_name(&at, "storageVersions");
	struct field_path common_at = field_path_name(&at, "commonEncodingVersion");
	const struct json *status = json_getz(object, "status");

	(void)old;
	check_servers(v, json_getz(status, "storageVersions"), &servers_at);
	check_common(v, status, &common_at);
	check_observations(v, json_getz(status, "conditions"), &at);
}

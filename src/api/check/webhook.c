/*
 * Configurations of webhooks, in upstream's order. Unchanged parts are not checked again. The
 * tables check selectors and most enumerated values.
 */
#include "api/api_limits.h"
#include "api/check/admission.h"
#include "api/check/checks.h"
#include "api/schema/names.h"

#define URL_FORM "; desired format: https://host[/path]"

/* --- client configuration --------------------------------------------------------- */

static void webhook_refuse(struct validation *v, const struct field_path *path, struct str value,
			   const char *why)
{
	field_errors_invalid(v->errs, path, FIELD_STR(value), why);
}

/* Cuts `*rest` at the first such character; returns the text after it, or p NULL. */
static struct str webhook_cut(struct str *rest, char at)
{
	ptrdiff_t i = str_chr(*rest, at);
	struct str behind;

	if (i < 0)
		return STR_NULL;
	behind = str_skip(*rest, (size_t)i + 1);
	rest->n = (size_t)i;
	return behind;
}

static void check_url(struct validation *v, struct str url, const struct field_path *path)
{
	struct str fragment = webhook_cut(&url, '#'), query = webhook_cut(&url, '?'),
		   scheme = STR(""), host;
	ptrdiff_t colon = str_chr(url, ':');
	ptrdiff_t at;

	if (colon > 0 && str_chr(str_of(url.p, (size_t)colon), '/') < 0) {
		scheme = str_of(url.p, (size_t)colon);
		url = str_skip(url, (size_t)colon + 1);
	}
	host = str_starts(url, STR("//")) ? str_skip(url, 2) : STR("");
	(void)webhook_cut(&host, '/');
	at = str_chr(host, '@');
	if (!str_eqz(scheme, "https"))
		webhook_refuse(v, path, scheme, "'https' is the only allowed URL scheme" URL_FORM);
	if (host.n == (size_t)(at + 1))
		webhook_refuse(v, path, STR(""), "host must be specified" URL_FORM);
	if (at >= 0)
		webhook_refuse(v, path, str_of(host.p, (size_t)at),
			       "user information is not permitted in the URL");
	if (fragment.n)
		webhook_refuse(v, path, fragment, "fragments are not permitted in the URL");
	if (query.n)
		webhook_refuse(v, path, query, "query parameters are not permitted in the URL");
}

static void check_segment(struct validation *v, struct str path, struct str step, size_t i,
			  const struct field_path *at)
{
	struct names_faults faults;

	if (!step.n) {
		field_errors_addf(v->errs, FIELD_INVALID, at, FIELD_STR(path),
				  "segment[%zu] may not be empty", i);
		return;
	}
	names_find_faults(SCHEMA_FORMAT_DNS_SUBDOMAIN, step, &faults);
	for (size_t k = 0; k < faults.n; k++)
		field_errors_addf(v->errs, FIELD_INVALID, at, FIELD_STR(path), "segment[%zu]: %s",
				  i, faults.text[k]);
}

static void check_path(struct validation *v, struct str path, const struct field_path *at)
{
	struct str rest = path, step;
	size_t i = 0;

	if (!path.n || str_eqz(path, "/"))
		return;
	if (str_eqz(path, "//")) {
		webhook_refuse(v, at, path, "segment[0] may not be empty");
		return;
	}
	if (path.p[0] != '/')
		webhook_refuse(v, at, path, "must start with a '/'");
	rest = str_skip(rest, 1);
	if (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	while (rest.p) {
		struct str behind = webhook_cut(&rest, '/');

		step = rest;
		rest = behind;
		check_segment(v, path, step, i++, at);
	}
}

static void check_service(struct validation *v, const struct json *service,
			  const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path ns_at = field_path_name(path, "namespace");
	struct field_path port_at = field_path_name(path, "port");
	struct field_path path_at = field_path_name(path, "path");
	int64_t port = json_i64_at(service, "port", 443);

	if (!json_text_at(service, "name").n)
		field_errors_required(v->errs, &name_at, NULL);
	if (!json_text_at(service, "namespace").n)
		field_errors_required(v->errs, &ns_at, NULL);
	if (port < 1 || port > 65535)
		field_errors_invalid(v->errs, &port_at, FIELD_I64(port),
				     "port is not valid: must be between 1 and 65535, inclusive");
	check_path(v, json_text_at(service, "path"), &path_at);
}

static void check_client(struct validation *v, const struct json *client,
			 const struct field_path *path)
{
	struct field_path url_at = field_path_name(path, "url");
	struct field_path service_at = field_path_name(path, "service");
	const struct json *service = json_getz(client, "service");
	struct str url = json_text_at(client, "url");
	bool serves = json_is(service, JSON_OBJECT);

	if ((url.p != NULL) == serves)
		field_errors_required(v->errs, path, "exactly one of url or service is required");
	else if (serves)
		check_service(v, service, &service_at);
	else
		check_url(v, url, &url_at);
}

/* --- a webhook -------------------------------------------------------------------- */

static size_t count_dots(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == '.';
	return n;
}

static void webhook_check_name(struct validation *v, struct str name, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct names_faults faults;

	if (!name.n) {
		field_errors_required(v->errs, path, NULL);
		return;
	}
	names_find_faults(SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &faults);
	for (size_t i = 0; i < faults.n; i++)
		(void)buf_printf(&detail, "%s%s", i ? "," : "", faults.text[i]);
	if (faults.n)
		field_errors_add(v->errs, FIELD_INVALID, path, FIELD_STR(name), buf_str(&detail));
	else if (count_dots(name) < 2)
		webhook_refuse(v, path, name,
			       "should be a domain with at least three segments separated by dots");
}

static void check_side_effects(struct validation *v, const struct json *hook,
			       const struct field_path *path)
{
	static const struct str allowed[] = { STR("None"), STR("NoneOnDryRun") };
	struct field_path at = field_path_name(path, "sideEffects");
	struct str value = json_text_at(hook, "sideEffects");

	if (!value.p)
		field_errors_required(v->errs, &at, "must specify one of None, NoneOnDryRun");
	else if (str_eqz(value, "Some") || str_eqz(value, "Unknown"))
		field_errors_not_supported(v->errs, &at, FIELD_STR(value), allowed,
					   ARRAY_SIZE(allowed));
}

static void check_timeout(struct validation *v, const struct json *hook,
			  const struct field_path *path)
{
	struct field_path at = field_path_name(path, "timeoutSeconds");
	int64_t seconds = json_i64_at(hook, "timeoutSeconds", 10);

	if (seconds < 1 || seconds > 30)
		field_errors_invalid(v->errs, &at, FIELD_I64(seconds),
				     "the timeout value must be between 1 and 30 seconds");
}

static void webhook_check_version(struct validation *v, struct str version,
				  const struct field_path *path)
{
	struct names_faults faults;

	names_find_faults(SCHEMA_FORMAT_DNS1035_LABEL, version, &faults);
	for (size_t i = 0; i < faults.n; i++)
		webhook_refuse(v, path, version, faults.text[i]);
}

static void check_versions(struct validation *v, const struct json *list,
			   const struct field_path *path)
{
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	if (json_count(list) == 0) {
		field_errors_required(v->errs, path, "must specify one of v1, v1beta1");
		return;
	}
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(path, i++);

		if (check_admission_seen(&seen, json_str(it)))
			webhook_refuse(v, &at, json_str(it), "duplicate version");
		else
			webhook_check_version(v, json_str(it), &at);
	}
	if (!json_has_text(list, STR("v1")) && !json_has_text(list, STR("v1beta1")))
		field_errors_invalid(v->errs, path, validate_shown(v, list),
				     "must include at least one of v1, v1beta1");
}

static void check_rules(struct validation *v, const struct json *rules,
			const struct field_path *path)
{
	size_t i = 0;

	JSON_FOREACH (it, rules) {
		struct field_path at = field_path_index(path, i++);

		check_admission_rule(v, it, &at);
	}
}

static void check_webhook(struct validation *v, const struct json *hook,
			  const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path rules_at = field_path_name(path, "rules");
	struct field_path client_at = field_path_name(path, "clientConfig");
	struct field_path conditions_at = field_path_name(path, "matchConditions");
	struct field_path versions_at = field_path_name(path, "admissionReviewVersions");

	webhook_check_name(v, json_text_at(hook, "name"), &name_at);
	check_rules(v, json_getz(hook, "rules"), &rules_at);
	check_side_effects(v, hook, path);
	check_timeout(v, hook, path);
	check_client(v, json_getz(hook, "clientConfig"), &client_at);
	check_match_conditions(v, json_getz(hook, "matchConditions"), false, &conditions_at);
	check_versions(v, json_getz(hook, "admissionReviewVersions"), &versions_at);
}

void check_webhooks(struct validation *v, const struct json *object)
{
	const struct json *list = json_getz(object, "webhooks");
	struct field_path path = field_path_name(NULL, "webhooks");
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	if (v->old && json_equal(list, json_getz(v->old, "webhooks")))
		return;
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(&path, i++);
		struct field_path name_at = field_path_name(&at, "name");
		struct str name = json_text_at(it, "name");

		check_webhook(v, it, &at);
		if (name.n && check_admission_seen(&seen, name))
			field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
	}
}

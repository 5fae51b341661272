/*
 * The small kinds: ConfigMaps, Secrets, Nodes, Events, Leases.
 */
#include "api/api_limits.h"
#include "api/check/pod.h"
#include "api/schema/names.h"
#include "base/core/map.h"

/* --- ConfigMaps and Secrets --------------------------------------------------------------- */

/* Decoded size of base64 text, precise enough for a limit in MiB. */
static size_t decoded_size(struct str text)
{
	size_t n = text.n / 4 * 3;

	for (size_t i = text.n; i > 0 && text.p[i - 1] == '='; i--)
		n -= n > 0;
	return n;
}

static size_t check_data(struct validation *v, const struct json *object, const char *name,
			 bool encoded)
{
	struct field_path path = field_path_name(NULL, name);
	size_t size = 0;

	JSON_FOREACH (entry, json_getz(object, name)) {
		struct field_path at = field_path_key(&path, json_key(entry));
		const char *fault = names_config_key(json_key(entry));

		if (fault)
			field_errors_invalid(v->errs, &at, FIELD_STR(json_key(entry)), fault);
		size += encoded ? decoded_size(json_str(entry)) : json_str(entry).n;
	}
	return size;
}

static void check_immutable_data(struct validation *v, const struct json *object,
				 const char *const *names)
{
	static const char words[] = "field is immutable when `immutable` is set";
	struct field_path flag_at = field_path_name(NULL, "immutable");

	if (!json_true_at(v->old, "immutable"))
		return;
	if (!json_true_at(object, "immutable"))
		field_errors_forbidden(v->errs, &flag_at, words);
	for (; *names; names++) {
		struct field_path at = field_path_name(NULL, *names);
		const struct json *value = json_getz(object, *names);
		const struct json *old = json_getz(v->old, *names);
		bool same = validate_is_unset(value) ? validate_is_unset(old)
						     : old && json_equal(value, old);

		if (!same)
			field_errors_forbidden(v->errs, &at, words);
	}
}

void check_config_map(struct validation *v, const struct json *map)
{
	static const char *const names[] = { "data", "binaryData", NULL };
	struct field_path data_at = field_path_name(NULL, "data");
	struct field_path whole = field_path_name(NULL, "");
	const struct json *binary = json_getz(map, "binaryData");
	size_t size = check_data(v, map, "data", false) + check_data(v, map, "binaryData", true);

	JSON_FOREACH (entry, json_getz(map, "data")) {
		struct field_path at = field_path_key(&data_at, json_key(entry));

		if (json_get(binary, json_key(entry)))
			field_errors_invalid(v->errs, &at, FIELD_STR(json_key(entry)),
					     "duplicate of key present in binaryData");
	}
	if (size > SECRET_MAX)
		field_errors_too_long(v->errs, &whole, SECRET_MAX);
	check_immutable_data(v, map, names);
}

/* Keys that a type of secret must have. */
struct secret_type {
	const char *type, *keys[2];
	bool any; /* one of them suffices */
};

static const struct secret_type secret_types[] = {
	{ "kubernetes.io/dockercfg", { ".dockercfg" }, false },
	{ "kubernetes.io/dockerconfigjson", { ".dockerconfigjson" }, false },
	{ "kubernetes.io/basic-auth", { "username", "password" }, true },
	{ "kubernetes.io/ssh-auth", { "ssh-privatekey" }, false },
	{ "kubernetes.io/tls", { "tls.crt", "tls.key" }, false },
};

static void check_secret_keys(struct validation *v, const struct json *data,
			      const struct secret_type *type)
{
	struct field_path path = field_path_name(NULL, "data");

	for (size_t i = 0; type->any && i < ARRAY_SIZE(type->keys); i++) {
		if (json_getz(data, type->keys[i]))
			return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(type->keys) && type->keys[i]; i++) {
		struct field_path at = field_path_key(&path, str_from(type->keys[i]));

		if (!json_getz(data, type->keys[i]))
			field_errors_required(v->errs, &at, NULL);
	}
}

static void check_token_secret(struct validation *v, const struct json *secret)
{
	static const char key[] = "kubernetes.io/service-account.name";
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path annotations_at = field_path_name(&meta_at, "annotations");
	struct field_path at = field_path_key(&annotations_at, str_from(key));
	const struct json *annotations = json_getz(json_getz(secret, "metadata"), "annotations");

	if (str_eqz(json_text_at(secret, "type"), "kubernetes.io/service-account-token") &&
	    json_text_at(annotations, key).n == 0)
		field_errors_required(v->errs, &at, NULL);
}

void check_secret(struct validation *v, const struct json *secret)
{
	static const char *const names[] = { "data", NULL };
	struct field_path data_at = field_path_name(NULL, "data");
	size_t size = check_data(v, secret, "data", true);

	if (size > SECRET_MAX)
		field_errors_too_long(v->errs, &data_at, SECRET_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(secret_types); i++) {
		if (str_eqz(json_text_at(secret, "type"), secret_types[i].type))
			check_secret_keys(v, json_getz(secret, "data"), &secret_types[i]);
	}
	check_token_secret(v, secret);
	check_immutable_data(v, secret, names);
}

/* --- Nodes -------------------------------------------------------------------------------- */

/* Upstream's path is metadata.taints, although they are in the spec. */
void check_node(struct validation *v, const struct json *node)
{
	const struct json *taints = json_getz(json_getz(node, "spec"), "taints");
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path list = field_path_name(&meta_at, "taints");
	CLEANUP(map_release) struct map seen;
	size_t i = 0;

	map_init(&seen);
	JSON_FOREACH (taint, taints) {
		struct field_path at = field_path_index(&list, i++);
		struct field_path key_at = field_path_name(&at, "key");
		struct field_path value_at = field_path_name(&at, "value");
		/* JSON text cannot contain the separating byte. */
		struct str what = str_from(arena_printf(v->arena, "%.*s\xff%.*s",
							STR_ARG(json_text_at(taint, "key")),
							STR_ARG(json_text_at(taint, "effect"))));

		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(taint, "key"), &key_at);
		validate_format(v, SCHEMA_FORMAT_LABEL_VALUE, json_text_at(taint, "value"),
				&value_at);
		if (map_put(&seen, what, taint))
			field_errors_duplicate(v->errs, &at, validate_shown(v, taint));
	}
}

void check_node_update(struct validation *v, const struct json *node, const struct json *old)
{
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path cidrs_at = field_path_name(&spec_at, "podCIDRs");
	struct field_path id_at = field_path_name(&spec_at, "providerID");
	const struct json *spec = json_getz(node, "spec"), *stored = json_getz(old, "spec");
	const struct json *cidrs = json_getz(stored, "podCIDRs");
	struct str id = json_text_at(spec, "providerID"),
		   old_id = json_text_at(stored, "providerID");

	if (json_count(cidrs) && !json_equal(cidrs, json_getz(spec, "podCIDRs")))
		field_errors_forbidden(v->errs, &cidrs_at,
				       "node updates may not change podCIDR except from \"\" to "
				       "valid");
	if (old_id.n && !str_eq(id, old_id))
		field_errors_invalid(v->errs, &id_at, FIELD_JSON(STR("null")),
				     id.n ? "field cannot be modified once set"
					  : "field cannot be cleared once set");
}

/* --- Events ------------------------------------------------------------------------------- */

static void require_text(struct validation *v, const struct json *event, const char *name,
			 size_t max)
{
	struct field_path at = field_path_name(NULL, name);
	size_t n = json_text_at(event, name).n;

	if (n == 0)
		field_errors_required(v->errs, &at, NULL);
	if (n > max)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(STR("")),
				  "can have at most %zu characters", max);
}

static void check_event_namespace(struct validation *v, const struct json *event, bool is_new)
{
	struct field_path object_at = field_path_name(NULL, "involvedObject");
	struct field_path at = field_path_name(&object_at, "namespace");
	struct str ns = json_text_at(json_getz(event, "metadata"), "namespace");
	struct str of = json_text_at(json_getz(event, "involvedObject"), "namespace");
	bool fine = str_eqz(ns, "default") || (is_new && str_eqz(ns, "kube-system"));

	if (of.n)
		fine = is_new || str_eq(ns, of);
	if (!fine)
		field_errors_invalid(v->errs, &at, FIELD_STR(of), "does not match event.namespace");
}

/* Events with an eventTime are of the new kind and must be complete. */
void check_event(struct validation *v, const struct json *event)
{
	struct field_path at = field_path_name(NULL, "reportingComponent");
	bool is_new = !validate_is_unset(json_getz(event, "eventTime"));
	struct str component = json_text_at(event, "reportingComponent");

	if (v->old)
		return;
	check_event_namespace(v, event, is_new);
	if (!is_new)
		return;
	if (component.n == 0)
		field_errors_required(v->errs, &at, NULL);
	validate_format(v, SCHEMA_FORMAT_LABEL_KEY, component, &at);
	require_text(v, event, "reportingInstance", 128);
	require_text(v, event, "action", 128);
	require_text(v, event, "reason", 128);
	if (json_text_at(event, "message").n > 1024) {
		at = field_path_name(NULL, "message");
		field_errors_invalid(v->errs, &at, FIELD_STR(STR("")),
				     "can have at most 1024 characters");
	}
}

/* --- Leases ------------------------------------------------------------------------------- */

void check_lease_spec(struct validation *v, const struct json *spec, const struct field_path *path)
{
	struct field_path duration_at = field_path_name(path, "leaseDurationSeconds");
	struct field_path transitions_at = field_path_name(path, "leaseTransitions");
	struct field_path holder_at = field_path_name(path, "preferredHolder");
	int64_t n;

	if (json_i64(json_getz(spec, "leaseDurationSeconds"), &n) && n <= 0)
		field_errors_invalid(v->errs, &duration_at, FIELD_I64(n), "must be greater than 0");
	if (json_i64(json_getz(spec, "leaseTransitions"), &n) && n < 0)
		field_errors_invalid(v->errs, &transitions_at, FIELD_I64(n),
				     "must be greater than or equal to 0");
	if (json_text_at(spec, "preferredHolder").n && json_text_at(spec, "strategy").n == 0)
		field_errors_forbidden(v->errs, &holder_at,
				       "may only be specified if `strategy` is defined");
}

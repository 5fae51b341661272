/*
 * The spec of pods, also in templates.
 */
#include "api/check/pod.h"
#include "api/schema/names.h"

static void pod_check_name(struct validation *v, struct json_index *names, const struct json *item,
			   const struct field_path *path)
{
	struct field_path at = field_path_name(path, "name");
	struct str name = json_text_at(item, "name");

	if (name.n == 0)
		field_errors_required(v->errs, &at, NULL);
	else if (json_index_came_before(names, item))
		field_errors_duplicate(v->errs, &at, FIELD_STR(name));
	else
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, name, &at);
}

static void check_volume_source(struct validation *v, const struct json *volume,
				const struct field_path *path)
{
	size_t n = 0;

	JSON_FOREACH (member, volume) {
		struct field_path at = { path, json_key(member), 0, FIELD_PATH_NAME };

		if (str_eqz(json_key(member), "name") || member->type != JSON_OBJECT)
			continue;
		if (n++ > 0)
			field_errors_forbidden(v->errs, &at,
					       "may not specify more than 1 volume type");
	}
	if (n == 0)
		field_errors_required(v->errs, path, "must specify a volume type");
}

static void check_volumes(struct validation *v, struct check_pod *pod,
			  const struct field_path *path)
{
	struct field_path list = field_path_name(path, "volumes");
	size_t i = 0;

	JSON_FOREACH (volume, pod->volumes.of) {
		struct field_path at = field_path_index(&list, i++);

		check_volume_source(v, volume, &at);
		pod_check_name(v, &pod->volumes, volume, &at);
	}
}

enum { CONTAINER_LISTS = 3 };

/* Names are unique over all lists of containers; `names` has the lists up to this one. */
static bool name_is_taken(struct json_index *names, size_t list, const struct json *container)
{
	for (size_t i = 0; i < list; i++)
		if (json_index_get(&names[i], json_text_at(container, "name")))
			return true;
	return json_index_came_before(&names[list], container);
}

static void check_all_containers(struct validation *v, struct check_pod *pod,
				 const struct field_path *path)
{
	static const char *const lists[CONTAINER_LISTS] = { "containers", "initContainers",
							    "ephemeralContainers" };
	struct json_index names[CONTAINER_LISTS];

	for (size_t k = 0; k < CONTAINER_LISTS; k++) {
		struct field_path list = field_path_name(path, lists[k]);
		size_t i = 0;

		json_index_init(&names[k], json_getz(pod->spec, lists[k]), "name");
		JSON_FOREACH (container, names[k].of) {
			struct field_path at = field_path_index(&list, i++);
			struct field_path name_at = field_path_name(&at, "name");
			struct str name = json_text_at(container, "name");

			check_container(v, container, pod, &at);
			if (name.n && name_is_taken(names, k, container))
				field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
		}
	}
	for (size_t k = 0; k < CONTAINER_LISTS; k++)
		json_index_release(&names[k]);
}

static void check_claim_name(struct validation *v, const struct json *claim, const char *name,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);

	if (json_getz(claim, name))
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, json_text_at(claim, name), &at);
}

static void check_resource_claims(struct validation *v, struct check_pod *pod,
				  const struct field_path *path)
{
	struct field_path list = field_path_name(path, "resourceClaims");
	size_t i = 0;

	JSON_FOREACH (claim, pod->claims.of) {
		struct field_path at = field_path_index(&list, i++);
		bool by_name = json_getz(claim, "resourceClaimName");
		bool by_template = json_getz(claim, "resourceClaimTemplateName");

		pod_check_name(v, &pod->claims, claim, &at);
		if (by_name && by_template)
			field_errors_invalid(v->errs, &at, validate_shown(v, claim),
					     "at most one of `resourceClaimName` or "
					     "`resourceClaimTemplateName` may be specified");
		if (!by_name && !by_template)
			field_errors_invalid(v->errs, &at, validate_shown(v, claim),
					     "must specify one of: `resourceClaimName`, "
					     "`resourceClaimTemplateName`");
		check_claim_name(v, claim, "resourceClaimName", &at);
		check_claim_name(v, claim, "resourceClaimTemplateName", &at);
	}
}

static void check_seconds(struct validation *v, const struct json *spec,
			  const struct field_path *path)
{
	struct field_path deadline_at = field_path_name(path, "activeDeadlineSeconds");
	struct field_path grace_at = field_path_name(path, "terminationGracePeriodSeconds");
	int64_t n;

	if (json_i64(json_getz(spec, "activeDeadlineSeconds"), &n) && (n < 1 || n > INT32_MAX))
		field_errors_invalid(v->errs, &deadline_at, FIELD_I64(n),
				     "must be between 1 and 2147483647, inclusive");
	if (json_i64(json_getz(spec, "terminationGracePeriodSeconds"), &n) && n < 0)
		field_errors_invalid(v->errs, &grace_at, FIELD_I64(n),
				     "must be greater than or equal to 0");
}

void check_pod_spec(struct validation *v, const struct json *spec, const struct field_path *path)
{
	struct field_path selector_at = field_path_name(path, "nodeSelector");
	struct check_pod pod = { .spec = spec };

	json_index_init(&pod.volumes, json_getz(spec, "volumes"), "name");
	json_index_init(&pod.claims, json_getz(spec, "resourceClaims"), "name");
	check_volumes(v, &pod, path);
	check_all_containers(v, &pod, path);
	check_resource_claims(v, &pod, path);
	json_index_release(&pod.volumes);
	json_index_release(&pod.claims);
	check_seconds(v, spec, path);
	validate_labels(v, json_getz(spec, "nodeSelector"), &selector_at);
}

/* A missing operator means Equal. */
void check_toleration(struct validation *v, const struct json *toleration,
		      const struct field_path *path)
{
	struct field_path operator_at = field_path_name(path, "operator");
	struct field_path effect_at = field_path_name(path, "effect");
	struct field_path value_at = field_path_name(path, "value");
	struct str how = json_text_at(toleration, "operator"),
		   value = json_text_at(toleration, "value");
	struct str effect = json_text_at(toleration, "effect");
	bool exists = str_eqz(how, "Exists");
	const char *fault = names_label_value(value);
	int64_t n;

	if (json_text_at(toleration, "key").n == 0 && !exists)
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(how),
				     "operator must be Exists when `key` is empty, which means "
				     "\"match all values and all keys\"");
	if (json_getz(toleration, "tolerationSeconds") && !str_eqz(effect, "NoExecute"))
		field_errors_invalid(v->errs, &effect_at, FIELD_STR(effect),
				     "effect must be 'NoExecute' when `tolerationSeconds` is set");
	if (exists && value.n)
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(value),
				     "value must be empty when `operator` is 'Exists'");
	if ((how.n == 0 || str_eqz(how, "Equal")) && fault)
		field_errors_invalid(v->errs, &operator_at, FIELD_STR(value), fault);
	if ((str_eqz(how, "Lt") || str_eqz(how, "Gt")) && !str_to_i64(value, &n))
		field_errors_invalid(v->errs, &value_at, FIELD_STR(value),
				     "must be a valid decimal integer");
}

/* Kubernetes' own signers issue for at most a day. */
void check_pod_certificate(struct validation *v, const struct json *value,
			   const struct field_path *path)
{
	enum { SHORTEST_S = 3600, LONGEST_S = 91 * 86400, LONGEST_OWN_S = 86400 };
	struct field_path at = field_path_name(path, "maxExpirationSeconds");
	bool own = str_starts(json_text_at(value, "signerName"), STR("kubernetes.io/"));
	int64_t longest = own ? LONGEST_OWN_S : LONGEST_S, seconds;
	const struct json *given = json_getz(value, "maxExpirationSeconds");

	if (!json_i64(given, &seconds))
		return;
	if (seconds < SHORTEST_S)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(seconds),
				  "if provided, maxExpirationSeconds must be >= %d", SHORTEST_S);
	if (seconds > longest)
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_I64(seconds),
				  "if provided, maxExpirationSeconds must be <= %lld",
				  (long long)longest);
}

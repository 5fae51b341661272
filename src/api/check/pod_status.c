/*
 * The status of pods, as node agents and controllers write it.
 *
 * allocatedResourcesStatus reports the health of devices (KEP-4680). An entry has the name of the
 * container's request: "claim:<claim>" or "claim:<claim>/<request>" for a claim, and the resource's
 * own name for a device plugin's. The pod's own field is for claims that no container names.
 */
#include "api/api_limits.h"
#include "api/check/pod.h"

static bool is_claim(struct str name)
{
	return str_starts(name, STR("claim:"));
}

/* Splits "claim:NAME/REQUEST"; the request is empty if absent. */
static struct str cut_claim(struct str name, struct str *ret_request)
{
	struct str claim = str_skip(name, STR("claim:").n);
	ptrdiff_t slash = str_chr(claim, '/');

	*ret_request = slash < 0 ? STR("") : str_skip(claim, (size_t)slash + 1);
	return slash < 0 ? claim : str_of(claim.p, (size_t)slash);
}

/* The resources of a container that may have a status. */
struct known {
	struct json_index requests;
	struct map claims; /* keys as claim_key() makes them */
};

/* JSON text cannot contain the separating byte. */
static struct str claim_key(struct validation *v, struct str claim, struct str request)
{
	return str_from(arena_printf(v->arena, "%.*s\xff%.*s", STR_ARG(claim), STR_ARG(request)));
}

/* Adds extended resources that a claim provides. */
static void add_extended(struct validation *v, struct known *known, const struct json *container,
			 const struct json *extended)
{
	struct str claim = json_text_at(extended, "resourceClaimName");

	JSON_FOREACH (mapping, json_getz(extended, "requestMappings")) {
		struct str request = json_text_at(mapping, "requestName");

		if (request.n &&
		    str_eq(json_text_at(mapping, "containerName"),
			   json_text_at(container, "name")) &&
		    json_index_get(&known->requests, json_text_at(mapping, "resourceName")))
			(void)map_put(&known->claims, claim_key(v, claim, request), mapping);
	}
}

static void known_init(struct validation *v, struct known *known, const struct json *container,
		       const struct json *status)
{
	const struct json *resources = json_getz(container, "resources");

	json_index_init(&known->requests, json_getz(resources, "requests"), NULL);
	map_init(&known->claims);
	JSON_FOREACH (item, json_getz(resources, "claims"))
		(void)map_put(
			&known->claims,
			claim_key(v, json_text_at(item, "name"), json_text_at(item, "request")),
			item);
	add_extended(v, known, container, json_getz(status, "extendedResourceClaimStatus"));
}

static void known_release(struct known *known)
{
	json_index_release(&known->requests);
	map_release(&known->claims);
}

static void check_resource_name(struct validation *v, struct known *known, struct str name,
				const struct field_path *path)
{
	struct str request, claim;

	if (!is_claim(name)) {
		if (!json_index_get(&known->requests, name))
			field_errors_invalid(v->errs, path, FIELD_STR(name),
					     "must match one of the container's resource requests");
		return;
	}
	claim = cut_claim(name, &request);
	if (!map_get(&known->claims, claim_key(v, claim, request)))
		field_errors_invalid(
			v->errs, path, FIELD_STR(name),
			"must match one of the container's resource claims as "
			"'claim:<claimName>/<requestName>' when "
			"container.resources.claims[*].request is set or 'claim:<claimName>' when "
			"it is empty");
}

static void check_health(struct validation *v, struct json_index *ids, const struct json *health,
			 const struct field_path *path)
{
	static const struct str states[] = { { "Healthy", 7 },
					     { "Unhealthy", 9 },
					     { "Unknown", 7 } };
	struct field_path health_at = field_path_name(path, "health");
	struct field_path message_at = field_path_name(path, "message");
	struct field_path id_at = field_path_name(path, "resourceID");
	struct str state = json_text_at(health, "health"),
		   message = json_text_at(health, "message");
	struct str id = json_text_at(health, "resourceID");

	if (!str_eq(state, states[0]) && !str_eq(state, states[1]) && !str_eq(state, states[2]))
		field_errors_not_supported(v->errs, &health_at, FIELD_STR(state), states,
					   ARRAY_SIZE(states));
	if (message.p && message.n == 0)
		field_errors_required(v->errs, &message_at, "must be non-empty if specified");
	else if (message.n > RESOURCE_HEALTH_MESSAGE_MAX)
		field_errors_too_long(v->errs, &message_at, RESOURCE_HEALTH_MESSAGE_MAX);
	if (id.n == 0)
		field_errors_required(v->errs, &id_at, NULL);
	else if (json_index_came_before(ids, health))
		field_errors_duplicate(v->errs, &id_at, FIELD_STR(id));
}

void check_resource_status(struct validation *v, const struct json *status,
			   const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index ids;
	const struct json *resources = json_getz(status, "resources");
	struct field_path list = field_path_name(path, "resources");
	size_t i = 0;

	json_index_init(&ids, resources, "resourceID");
	JSON_FOREACH (health, resources) {
		struct field_path at = field_path_index(&list, i++);

		check_health(v, &ids, health, &at);
	}
}

/* As upstream, accepts a status of a container that the pod does not have. */
static void check_container_resources(struct validation *v, const struct json *pod,
				      const struct json *container_status,
				      struct json_index *containers, const struct field_path *path)
{
	const struct json *status = json_getz(pod, "status");
	const struct json *container = json_index_get(containers,
						      json_text_at(container_status, "name"));
	const struct json *resources = json_getz(container_status, "allocatedResourcesStatus");
	struct field_path list = field_path_name(path, "allocatedResourcesStatus");
	struct known known;
	size_t i = 0;

	if (!container || json_count(resources) == 0)
		return;
	known_init(v, &known, container, status);
	JSON_FOREACH (resource, resources) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "name");

		check_resource_name(v, &known, json_text_at(resource, "name"), &at);
	}
	known_release(&known);
}

static bool rule_fits(const struct json *rule, int64_t exit_code)
{
	const struct json *codes = json_getz(rule, "exitCodes");
	struct str op = json_text_at(codes, "operator");
	bool listed = false;

	JSON_FOREACH (value, json_getz(codes, "values")) {
		int64_t code;

		listed = listed || (json_i64(value, &code) && code == exit_code);
	}
	return str_eqz(op, "In") ? listed : str_eqz(op, "NotIn") && !listed;
}

/* The first matching rule decides; every action that we know restarts the container. */
static bool restarted_by_rule(const struct json *container, int64_t exit_code)
{
	JSON_FOREACH (rule, json_getz(container, "restartPolicyRules")) {
		if (rule_fits(rule, exit_code))
			return str_starts(json_text_at(rule, "action"), STR("Restart"));
	}
	return false;
}

/* Whether nothing restarts an ended container. */
static bool stays_ended(const struct json *container, const struct json *spec,
			const struct json *ended)
{
	struct str policy = json_text_at(container, "restartPolicy");
	int64_t code = 0;

	(void)json_i64(json_getz(ended, "exitCode"), &code);
	if (!container)
		return true;
	if (policy.n > 0 && restarted_by_rule(container, code))
		return false;
	if (policy.n == 0)
		policy = json_text_at(spec, "restartPolicy");
	return str_eqz(policy, "Never") || (str_eqz(policy, "OnFailure") && code == 0);
}

/* A rule of any container may restart all of them, whatever their own policies. */
static bool may_restart_all(const struct json *containers)
{
	JSON_FOREACH (container, containers) {
		JSON_FOREACH (rule, json_getz(container, "restartPolicyRules")) {
			if (str_eqz(json_text_at(rule, "action"), "RestartAllContainers"))
				return true;
		}
	}
	return false;
}

static void check_transition(struct validation *v, const struct json *container_status,
			     struct json_index *old_statuses, struct json_index *containers,
			     const struct field_path *path)
{
	const struct json *spec = json_getz(v->old, "spec");
	struct str name = json_text_at(container_status, "name");
	const struct json *old = json_index_get(old_statuses, name);
	const struct json *ended = json_getz(json_getz(old, "state"), "terminated");
	const struct json *container = json_index_get(containers, name);
	struct field_path at = field_path_name(path, "state");

	if (ended && !json_getz(json_getz(container_status, "state"), "terminated") &&
	    stays_ended(container, spec, ended) &&
	    !may_restart_all(json_getz(spec, "initContainers")) &&
	    !may_restart_all(json_getz(spec, "containers")))
		field_errors_forbidden(v->errs, &at,
				       "may not be transitioned to non-terminated state");
}

static void check_container_statuses(struct validation *v, const struct json *pod, const char *name,
				     const char *containers, const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index old_statuses;
	CLEANUP(json_index_release) struct json_index had;
	CLEANUP(json_index_release) struct json_index has;
	struct field_path list = field_path_name(path, name);
	size_t i = 0;

	json_index_init(&old_statuses, json_getz(json_getz(v->old, "status"), name), "name");
	json_index_init(&had, json_getz(json_getz(v->old, "spec"), containers), "name");
	json_index_init(&has, json_getz(json_getz(pod, "spec"), containers), "name");
	JSON_FOREACH (status, json_getz(json_getz(pod, "status"), name)) {
		struct field_path at = field_path_index(&list, i++);

		check_container_resources(v, pod, status, &has, &at);
		check_transition(v, status, &old_statuses, &had, &at);
	}
}

static void check_ephemeral_statuses(struct validation *v, const struct json *status,
				     const struct field_path *path)
{
	struct field_path list = field_path_name(path, "ephemeralContainerStatuses");
	size_t i = 0;

	JSON_FOREACH (item, json_getz(status, "ephemeralContainerStatuses")) {
		struct field_path item_at = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item_at, "allocatedResourcesStatus");

		if (json_count(json_getz(item, "allocatedResourcesStatus")))
			field_errors_forbidden(v->errs, &at,
					       "must not be specified in container status");
	}
}

static bool names_pods_claim(const struct json *pod, struct json_index *claims, struct str name)
{
	const struct json *extended = json_getz(json_getz(pod, "status"),
						"extendedResourceClaimStatus");
	struct str claim, request;

	if (!is_claim(name) || str_ends(name, STR("/")))
		return false;
	claim = cut_claim(name, &request);
	return json_index_get(claims, claim) ||
	       (extended && str_eq(claim, json_text_at(extended, "resourceClaimName")));
}

/* Stored names stay valid: earlier servers accepted any. */
static void check_pod_resources(struct validation *v, const struct json *pod,
				const struct json *old, const struct field_path *path)
{
	static const char field[] = "allocatedResourcesStatus";
	CLEANUP(json_index_release) struct json_index claims;
	CLEANUP(json_index_release) struct json_index stored;
	struct field_path list = field_path_name(path, field);
	size_t i = 0;

	json_index_init(&claims, json_getz(json_getz(pod, "spec"), "resourceClaims"), "name");
	json_index_init(&stored, json_getz(json_getz(old, "status"), field), "name");
	JSON_FOREACH (resource, json_getz(json_getz(pod, "status"), field)) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "name");
		struct str name = json_text_at(resource, "name");

		if (!names_pods_claim(pod, &claims, name) && !json_index_get(&stored, name))
			field_errors_invalid(v->errs, &at, FIELD_STR(name),
					     "must match one of the pod's resource claims as "
					     "'claim:<claimName>' or "
					     "'claim:<claimName>/<requestName>'");
	}
}

static void check_claim_statuses(struct validation *v, const struct json *pod,
				 const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index names;
	CLEANUP(json_index_release) struct json_index claims;
	const struct json *statuses = json_getz(json_getz(pod, "status"), "resourceClaimStatuses");
	struct field_path list = field_path_name(path, "resourceClaimStatuses");
	size_t i = 0;

	json_index_init(&names, statuses, "name");
	json_index_init(&claims, json_getz(json_getz(pod, "spec"), "resourceClaims"), "name");
	JSON_FOREACH (status, statuses) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path name_at = field_path_name(&item, "name");
		struct field_path claim_at = field_path_name(&item, "resourceClaimName");
		struct str name = json_text_at(status, "name");

		if (!json_index_get(&claims, name))
			field_errors_invalid(v->errs, &name_at, FIELD_STR(name),
					     "must match the name of an entry in "
					     "`spec.resourceClaims`");
		if (json_index_came_before(&names, status))
			field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
		if (json_getz(status, "resourceClaimName"))
			validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN,
					json_text_at(status, "resourceClaimName"), &claim_at);
	}
}

static void check_pod_conditions(struct validation *v, const struct json *status,
				 const struct field_path *path)
{
	struct field_path list = field_path_name(path, "conditions");
	size_t i = 0;

	JSON_FOREACH (condition, json_getz(status, "conditions")) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "Type");

		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, json_text_at(condition, "type"), &at);
	}
}

void check_pod_status_update(struct validation *v, const struct json *pod, const struct json *old)
{
	struct field_path path = field_path_name(NULL, "status");
	struct field_path qos_at = field_path_name(&path, "qosClass");
	struct field_path node_at = field_path_name(&path, "nominatedNodeName");
	const struct json *status = json_getz(pod, "status"), *stored = json_getz(old, "status");
	struct str node = json_text_at(status, "nominatedNodeName");

	check_pod_mirror(v, pod, old);
	check_pod_conditions(v, status, &path);
	if (node.n && !str_eq(node, json_text_at(stored, "nominatedNodeName")))
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, node, &node_at);
	validate_immutable(v, json_getz(status, "qosClass"), json_getz(stored, "qosClass"),
			   &qos_at);
	check_container_statuses(v, pod, "containerStatuses", "containers", &path);
	check_container_statuses(v, pod, "initContainerStatuses", "initContainers", &path);
	check_ephemeral_statuses(v, status, &path);
	check_pod_resources(v, pod, old, &path);
	check_claim_statuses(v, pod, &path);
}

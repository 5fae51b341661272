/*
 * Containers of a pod: names, ports, environment, mounts, resources. Checks that need the pod
 * (volumes, claims, its network) get the pod's spec.
 */
#include "api/check/pod.h"

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/json/quantity.h"

static int64_t number_at(const struct json *object, const char *name)
{
	int64_t n = 0;

	(void)json_i64(json_getz(object, name), &n);
	return n;
}

/* --- ports ---------------------------------------------------------------------------- */

void check_port_number(struct validation *v, int64_t port, const struct field_path *path)
{
	if (port < 1 || port > 65535)
		field_errors_invalid(v->errs, path, FIELD_I64(port),
				     "must be between 1 and 65535, inclusive");
}

static void check_port(struct validation *v, struct json_index *names, const struct json *port,
		       bool host_network, const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path port_at = field_path_name(path, "containerPort");
	struct field_path host_at = field_path_name(path, "hostPort");
	struct str name = json_text_at(port, "name");
	int64_t inner = number_at(port, "containerPort"), outer = number_at(port, "hostPort");
	const char *fault = name.n ? names_port_name(name) : NULL;

	if (fault)
		field_errors_invalid(v->errs, &name_at, FIELD_STR(name), fault);
	else if (name.n && json_index_came_before(names, port))
		field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
	if (inner == 0)
		field_errors_required(v->errs, &port_at, NULL);
	else
		check_port_number(v, inner, &port_at);
	if (outer)
		check_port_number(v, outer, &host_at);
	if (host_network && outer && outer != inner)
		field_errors_invalid(v->errs, &port_at, FIELD_I64(inner),
				     "must match `hostPort` when `hostNetwork` is true");
}

static void check_ports(struct validation *v, const struct json *container, bool host_network,
			const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index names;
	const struct json *ports = json_getz(container, "ports");
	struct field_path list = field_path_name(path, "ports");
	size_t i = 0;

	json_index_init(&names, ports, "name");
	JSON_FOREACH (port, ports) {
		struct field_path at = field_path_index(&list, i++);

		check_port(v, &names, port, host_network, &at);
	}
}

/* --- environment ------------------------------------------------------------------------ */

static void check_value_from(struct validation *v, const struct json *var,
			     const struct field_path *path)
{
	const struct json *from = json_getz(var, "valueFrom");
	size_t n = json_count(from);

	if (!from)
		return;
	if (n == 0)
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")),
				     "must specify one of: `fieldRef`, `resourceFieldRef`, "
				     "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
	else if (json_text_at(var, "value").n)
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")),
				     "may not be specified when `value` is not empty");
	else if (n > 1)
		field_errors_invalid(v->errs, path, FIELD_STR(STR("")),
				     "may not have more than one field specified at a time");
}

static void check_env(struct validation *v, const struct json *container,
		      const struct field_path *path)
{
	struct field_path list = field_path_name(path, "env");
	size_t i = 0;

	JSON_FOREACH (var, json_getz(container, "env")) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path name_at = field_path_name(&item, "name");
		struct field_path from_at = field_path_name(&item, "valueFrom");
		struct str name = json_text_at(var, "name");
		const char *fault = names_env(name);

		if (name.n == 0)
			field_errors_required(v->errs, &name_at, NULL);
		else if (fault)
			field_errors_invalid(v->errs, &name_at, FIELD_STR(name), fault);
		check_value_from(v, var, &from_at);
	}
}

/* --- mounts ------------------------------------------------------------------------------ */

static void check_mounts(struct validation *v, const struct json *container,
			 struct json_index *volumes, const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index places;
	const struct json *mounts = json_getz(container, "volumeMounts");
	struct field_path list = field_path_name(path, "volumeMounts");
	size_t i = 0;

	json_index_init(&places, mounts, "mountPath");
	JSON_FOREACH (mount, mounts) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path name_at = field_path_name(&item, "name");
		struct field_path path_at = field_path_name(&item, "mountPath");
		struct str name = json_text_at(mount, "name"),
			   where = json_text_at(mount, "mountPath");

		if (name.n == 0)
			field_errors_required(v->errs, &name_at, NULL);
		if (!json_index_get(volumes, name))
			field_errors_not_found(v->errs, &name_at, FIELD_STR(name));
		if (where.n == 0)
			field_errors_required(v->errs, &path_at, NULL);
		else if (json_index_came_before(&places, mount))
			field_errors_invalid(v->errs, &path_at, FIELD_STR(where), "must be unique");
	}
}

/* --- resources ---------------------------------------------------------------------------- */

static bool is_huge_pages(struct str name)
{
	return str_starts(name, STR("hugepages-"));
}

static bool is_standard(struct str name)
{
	return str_eqz(name, "cpu") || str_eqz(name, "memory") ||
	       str_eqz(name, "ephemeral-storage") || is_huge_pages(name);
}

static void check_resource_name(struct validation *v, struct str name,
				const struct field_path *path)
{
	bool native = str_chr(name, '/') < 0 || str_find(name, STR("kubernetes.io/")) >= 0;

	if (names_qualified(name)) {
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, name, path);
		return;
	}
	if (str_chr(name, '/') < 0 && !is_standard(name)) {
		field_errors_invalid(v->errs, path, FIELD_STR(name),
				     "must be a standard resource type or fully qualified");
		field_errors_invalid(v->errs, path, FIELD_STR(name),
				     "must be a standard resource for containers");
	} else if (!native && !names_is_extended_resource(name)) {
		field_errors_invalid(v->errs, path, FIELD_STR(name),
				     "doesn't follow extended resource name standard");
	}
}

static struct quantity amount_of(const struct json *amount)
{
	struct quantity q = { 0 };

	(void)quantity_parse(json_str(amount), &q, NULL);
	return q;
}

static void check_amounts(struct validation *v, const struct json *amounts,
			  const struct field_path *path)
{
	JSON_FOREACH (amount, amounts) {
		struct field_path at = field_path_key(path, json_key(amount));
		struct quantity q = amount_of(amount);

		check_resource_name(v, json_key(amount), &at);
		if (q.nano < 0)
			field_errors_invalid(v->errs, &at, validate_shown(v, amount),
					     "must be greater than or equal to 0");
		if (names_is_extended_resource(json_key(amount)) && q.nano % 1000000000)
			field_errors_invalid(v->errs, &at, validate_shown(v, amount),
					     "must be an integer");
	}
}

static void check_request(struct validation *v, const struct json *request,
			  struct json_index *limits, const struct field_path *limits_at,
			  const struct field_path *requests_at)
{
	struct str name = json_key(request);
	const struct json *limit = json_index_get(limits, name);
	int cmp = quantity_cmp(amount_of(request), amount_of(limit));
	/* Containers cannot share these: the request must equal the limit. */
	bool exclusive = is_huge_pages(name) || names_is_extended_resource(name);

	if (!limit && exclusive)
		field_errors_required(v->errs, limits_at,
				      "Limit must be set for non overcommitable resources");
	if (limit && (exclusive ? cmp != 0 : cmp > 0))
		field_errors_addf(v->errs, FIELD_INVALID, requests_at, validate_shown(v, request),
				  "must be %s %.*s limit of %.*s",
				  exclusive ? "equal to" : "less than or equal to", STR_ARG(name),
				  STR_ARG(json_str(limit)));
}

static bool names_compute(const struct json *amounts)
{
	return json_getz(amounts, "cpu") || json_getz(amounts, "memory");
}

static bool names_huge_pages(const struct json *amounts)
{
	JSON_FOREACH (amount, amounts) {
		if (is_huge_pages(json_key(amount)))
			return true;
	}
	return false;
}

void check_resources(struct validation *v, const struct json *resources,
		     const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index by_name;
	const struct json *limits = json_getz(resources, "limits");
	const struct json *requests = json_getz(resources, "requests");
	struct field_path limits_at = field_path_name(path, "limits");
	struct field_path requests_at = field_path_name(path, "requests");

	check_amounts(v, limits, &limits_at);
	check_amounts(v, requests, &requests_at);
	json_index_init(&by_name, limits, NULL);
	JSON_FOREACH (request, requests)
		check_request(v, request, &by_name, &limits_at, &requests_at);
	if ((names_huge_pages(limits) || names_huge_pages(requests)) && !names_compute(limits) &&
	    !names_compute(requests))
		field_errors_forbidden(v->errs, path, "HugePages require cpu or memory");
}

/* Separates names in a key: JSON text cannot contain this byte. */
#define BETWEEN "\xff"

/*
 * Whether an earlier entry names the same claim and request, or the whole claim. `taken` has the
 * entries so far: the claim alone, and the claim with its request, which may be empty.
 */
static bool claim_is_taken(struct validation *v, struct map *taken, const struct json *claim)
{
	struct str name = json_text_at(claim, "name"), request = json_text_at(claim, "request");
	struct str all = str_from(arena_printf(v->arena, "%.*s" BETWEEN, STR_ARG(name)));
	struct str one = str_from(
		arena_printf(v->arena, "%.*s" BETWEEN "%.*s", STR_ARG(name), STR_ARG(request)));
	bool is = map_get(taken, all) || map_get(taken, request.n ? one : name);

	map_put(taken, name, (void *)(uintptr_t)claim);
	map_put(taken, one, (void *)(uintptr_t)claim);
	return is;
}

static void report_unknown_claim(struct validation *v, struct str name, struct check_pod *pod,
				 const struct field_path *path)
{
	CLEANUP(buf_release) struct buf known = BUF_INIT(VALIDATE_SHOWN_MAX);

	if (!pod->claim_names.p) {
		JSON_FOREACH (claim, pod->claims.of)
			(void)buf_printf(&known, "%s%.*s", known.n ? ", " : ": ",
					 STR_ARG(json_text_at(claim, "name")));
		pod->claim_names = known.n ? arena_str(v->arena, buf_str(&known))
					   : STR(" which is empty");
	}
	field_errors_addf(v->errs, FIELD_NOT_FOUND, path, FIELD_STR(name),
			  "must be one of the names in pod.spec.resourceClaims%.*s",
			  STR_ARG(pod->claim_names));
}

static void check_claims(struct validation *v, const struct json *container, struct check_pod *pod,
			 const struct field_path *path)
{
	CLEANUP(map_release) struct map taken;
	const struct json *claims = json_getz(json_getz(container, "resources"), "claims");
	struct field_path resources = field_path_name(path, "resources");
	struct field_path list = field_path_name(&resources, "claims");
	size_t i = 0;

	map_init(&taken);
	JSON_FOREACH (claim, claims) {
		struct field_path at = field_path_index(&list, i++);
		struct field_path request_at = field_path_name(&at, "request");
		struct str name = json_text_at(claim, "name"),
			   request = json_text_at(claim, "request");

		if (name.n == 0) {
			field_errors_required(v->errs, &at, NULL);
			continue;
		}
		if (claim_is_taken(v, &taken, claim))
			field_errors_duplicate(v->errs, &at, FIELD_STR(name));
		if (request.n)
			validate_format(v, SCHEMA_FORMAT_DNS_LABEL, request, &request_at);
		if (!json_index_get(&pod->claims, name))
			report_unknown_claim(v, name, pod, &at);
	}
}

void check_container(struct validation *v, const struct json *container, struct check_pod *pod,
		     const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path image_at = field_path_name(path, "image");
	struct str name = json_text_at(container, "name");
	bool host_network = json_true_at(pod->spec, "hostNetwork");

	if (name.n == 0)
		field_errors_required(v->errs, &name_at, NULL);
	else
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, name, &name_at);
	if (json_text_at(container, "image").n == 0)
		field_errors_required(v->errs, &image_at, NULL);
	check_ports(v, container, host_network, path);
	check_env(v, container, path);
	check_mounts(v, container, &pod->volumes, path);
	check_claims(v, container, pod, path);
}

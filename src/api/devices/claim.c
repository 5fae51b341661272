/*
 * The spec of claims and of claim templates. It is immutable, so all of this
 * runs only when an object is created.
 *
 * References to requests are looked up in the list itself: it has at most 32
 * entries, each with at most 8 alternatives.
 */
#include "api/devices/checks.h"
#include "api/devices/claim_rules.h"
#include "api/schema/names.h"
#include "cel/kubernetes/device.h"

static const char bad_reference[] =
	"must be the name of a request in the claim or the name of a request and a subrequest "
	"separated by '/'";
static const char admin_label[] = "resource.kubernetes.io/admin-access";

void fill_device_count(struct arena *a, struct json *request, int64_t now_ns)
{
	bool exact = str_eqz(json_text_at(request, "allocationMode"), "ExactCount");

	(void)now_ns;
	if (exact && validate_is_unset(json_getz(request, "count")))
		json_put_i64(a, request, "count", 1);
}

void check_device_count(struct validation *v, const struct json *request,
			const struct field_path *path)
{
	struct field_path at = field_path_name(path, "count");
	struct str mode = json_text_at(request, "allocationMode");
	int64_t count = 0;

	(void)json_i64(json_getz(request, "count"), &count);
	if (str_eqz(mode, "All") && count != 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(count),
				     "must not be specified when allocationMode is 'All'");
	else if (str_eqz(mode, "ExactCount") && count <= 0)
		field_errors_invalid(v->errs, &at, FIELD_I64(count), "must be greater than zero");
}

void check_device_request(struct validation *v, const struct json *request,
			  const struct field_path *path)
{
	bool exactly = json_is(json_getz(request, "exactly"), JSON_OBJECT);
	bool first = json_count(json_getz(request, "firstAvailable")) > 0;

	if (!exactly && !first)
		field_errors_required(v->errs, path,
				      "exactly one of `exactly` or `firstAvailable` is required");
	else if (exactly && first)
		field_errors_invalid(v->errs, path, FIELD_JSON(STR("null")),
				     "exactly one of `exactly` or `firstAvailable` is required, "
				     "but multiple fields are set");
}

void check_device_constraint(struct validation *v, const struct json *constraint,
			     const struct field_path *path)
{
	struct field_path at = field_path_name(path, "matchAttribute");

	if (json_getz(constraint, "matchAttribute") || json_getz(constraint, "distinctAttribute"))
		return;
	if (gates_on(v->gates, GATE_DRAConsumableCapacity))
		field_errors_required(v->errs, path,
				      "exactly one of \"matchAttribute\" or \"distinctAttribute\" "
				      "is required, but multiple fields are set");
	else
		field_errors_required(v->errs, &at, NULL);
}

static const struct json *find_named(const struct json *list, struct str name)
{
	JSON_FOREACH (item, list) {
		if (str_eq(json_text_at(item, "name"), name))
			return item;
	}
	return NULL;
}

/* Splits "request/subrequest"; sub.p is NULL without a slash. */
static struct str cut_reference(struct str reference, struct str *ret_sub)
{
	ptrdiff_t slash = str_chr(reference, '/');

	*ret_sub = slash < 0 ? STR_NULL
			     : str_of(reference.p + slash + 1, reference.n - (size_t)slash - 1);
	return slash < 0 ? reference : str_of(reference.p, (size_t)slash);
}

void check_request_reference(struct validation *v, const struct json *requests,
			     struct str reference, const struct field_path *path)
{
	struct str sub, name = cut_reference(reference, &sub);
	const struct json *request = find_named(requests, name);
	bool fine = !sub.p || str_chr(sub, '/') < 0;

	if (fine) {
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, name, path);
		if (sub.p)
			validate_format(v, SCHEMA_FORMAT_DNS_LABEL, sub, path);
		fine = request && (!sub.p || find_named(json_getz(request, "firstAvailable"), sub));
	}
	if (!fine)
		field_errors_invalid(v->errs, path, FIELD_STR(reference), bad_reference);
}

void check_request_references(struct validation *v, const struct json *requests,
			      const struct json *holder, const struct field_path *path)
{
	struct field_path list = field_path_name(path, "requests");
	size_t i = 0;

	JSON_FOREACH (reference, json_getz(holder, "requests")) {
		struct field_path at = field_path_index(&list, i++);

		check_request_reference(v, requests, json_str(reference), &at);
	}
}

/* Whether the constraint applies to the request, or to its parent. */
static bool is_targeted(const struct json *constraint, struct str request, struct str sub)
{
	const struct json *requests = json_getz(constraint, "requests");

	if (json_count(requests) == 0)
		return true;
	JSON_FOREACH (reference, requests) {
		struct str of_sub, of = cut_reference(json_str(reference), &of_sub);

		if (str_eq(of, request) && (!of_sub.p || (sub.p && str_eq(of_sub, sub))))
			return true;
	}
	return false;
}

static bool is_constrained(const struct json *claim, struct str attribute, struct str request,
			   struct str sub)
{
	JSON_FOREACH (constraint, json_getz(claim, "constraints")) {
		const struct json *name = json_getz(constraint, "matchAttribute");

		name = name ? name : json_getz(constraint, "distinctAttribute");
		if (str_eq(json_str(name), attribute) && is_targeted(constraint, request, sub))
			return true;
	}
	return false;
}

static void check_derived(struct validation *v, const struct json *claim,
			  const struct json *request, struct str name, struct str sub,
			  const struct field_path *path)
{
	struct field_path list = field_path_name(path, "derivedAttributes");
	size_t i = 0;

	JSON_FOREACH (attribute, json_getz(request, "derivedAttributes")) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "name");
		struct str of = json_text_at(attribute, "name");

		if (of.n && !is_constrained(claim, of, name, sub))
			field_errors_invalid(v->errs, &at, FIELD_STR(of),
					     "must be referenced by at least one matchAttribute or "
					     "distinctAttribute constraint targeting this request");
	}
}

/*
 * All expressions of a claim together may cost as much as one alone. Few claims have more than one.
 */
static uint64_t derived_cost(const struct validation *v, const struct json *request)
{
	uint64_t cost = 0;

	JSON_FOREACH (attribute, json_getz(request, "derivedAttributes"))
		cost += check_derived_attribute_cost(v, json_text_at(attribute, "expression"));
	return cost;
}

static void check_derived_total(struct validation *v, const struct json *requests,
				const struct field_path *path)
{
	bool spent = v->budget && v->budget->spent;
	uint64_t cost = 0;

	JSON_FOREACH (request, requests) {
		cost += derived_cost(v, json_getz(request, "exactly"));
		JSON_FOREACH (sub, json_getz(request, "firstAvailable"))
			cost += derived_cost(v, sub);
	}
	if (!spent && v->budget && v->budget->spent)
		check_report_spent(v, path);
	if (cost > CEL_DEVICE_COST_MAX)
		field_errors_forbidden(v->errs, path,
				       "too complex, total cost of derived attribute CEL "
				       "expressions in the claim exceeds cost limit");
}

static void check_request_derived(struct validation *v, const struct json *claim,
				  const struct json *request, const struct field_path *path)
{
	struct str name = json_text_at(request, "name");
	struct field_path exactly = field_path_name(path, "exactly");
	struct field_path list = field_path_name(path, "firstAvailable");
	size_t i = 0;

	check_derived(v, claim, json_getz(request, "exactly"), name, STR_NULL, &exactly);
	JSON_FOREACH (sub, json_getz(request, "firstAvailable")) {
		struct field_path at = field_path_index(&list, i++);

		check_derived(v, claim, sub, name, json_text_at(sub, "name"), &at);
	}
}

void check_device_claim(struct validation *v, const struct json *claim,
			const struct field_path *path)
{
	const struct json *requests = json_getz(claim, "requests");
	struct field_path request_list = field_path_name(path, "requests");
	struct field_path constraint_list = field_path_name(path, "constraints");
	struct field_path config_list = field_path_name(path, "config");
	size_t i = 0;

	JSON_FOREACH (request, requests) {
		struct field_path at = field_path_index(&request_list, i++);

		check_request_derived(v, claim, request, &at);
	}
	check_derived_total(v, requests, path);
	i = 0;
	JSON_FOREACH (constraint, json_getz(claim, "constraints")) {
		struct field_path at = field_path_index(&constraint_list, i++);

		check_request_references(v, requests, constraint, &at);
	}
	i = 0;
	JSON_FOREACH (config, json_getz(claim, "config")) {
		struct field_path at = field_path_index(&config_list, i++);

		check_request_references(v, requests, config, &at);
	}
}

bool check_admin_namespace(const struct validation *v)
{
	return str_eqz(json_text_at(v->namespace_labels, admin_label), "true");
}

void check_report_admin_access(struct validation *v, const struct field_path *path)
{
	field_errors_forbidden(v->errs, path,
			       "admin access to devices requires the "
			       "`resource.kubernetes.io/admin-access: true` label on the "
			       "containing namespace");
}

bool check_wants_admin_access(const struct json *holder)
{
	return json_true_at(holder, "adminAccess");
}

/* Upstream's path leaves out `exactly`, and names templates' requests as a claim's. */
static void check_admin_access(struct validation *v, const struct json *devices)
{
	struct field_path spec = field_path_name(NULL, "spec");
	struct field_path claim = field_path_name(&spec, "devices");
	struct field_path list = field_path_name(&claim, "requests");
	size_t i = 0;

	if (v->old || check_admin_namespace(v))
		return;
	JSON_FOREACH (request, json_getz(devices, "requests")) {
		struct field_path item = field_path_index(&list, i++);
		struct field_path at = field_path_name(&item, "adminAccess");

		if (check_wants_admin_access(json_getz(request, "exactly"))) {
			check_report_admin_access(v, &at);
			return;
		}
	}
}

void check_resource_claim(struct validation *v, const struct json *claim)
{
	check_admin_access(v, json_getz(json_getz(claim, "spec"), "devices"));
}

void check_resource_claim_template(struct validation *v, const struct json *template)
{
	const struct json *spec = json_getz(json_getz(template, "spec"), "spec");

	check_admin_access(v, json_getz(spec, "devices"));
}

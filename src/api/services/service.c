/*
 * Follows upstream's order step by step, because it decides which error clients see first, and
 * which field is filled in from which other.
 */
#include "api/services/service.h"

#include "api/schema/address.h"
#include "api/schema/tree.h"
#include "api/services/port_set.h"
#include "base/core/map.h"

#define NONE STR("None")

bool service_is_type(const struct json *spec, const char *type)
{
	return str_eqz(json_text_at(spec, "type"), type);
}

static struct json *ips_of(const struct json *spec)
{
	return json_getz(spec, "clusterIPs");
}

bool service_is_headless(const struct json *spec)
{
	const struct json *ips = ips_of(spec);

	return json_count(ips) == 1 && str_eq(json_str(json_first(ips)), NONE);
}

bool service_has_ip(const struct json *spec, struct str text)
{
	struct address ip, other;

	if (!address_read(text, &ip))
		return false;
	JSON_FOREACH (it, ips_of(spec))
		if (address_read(json_str(it), &other) && other.is4 == ip.is4 &&
		    address_compare(&other, &ip) == 0)
			return true;
	return false;
}

bool service_has_ports(const struct json *spec)
{
	return service_is_type(spec, "NodePort") || service_is_type(spec, "LoadBalancer");
}

bool service_wants_ports(const struct json *spec)
{
	bool allocate = true;

	if (!service_is_type(spec, "LoadBalancer"))
		return service_is_type(spec, "NodePort");
	(void)json_bool(json_getz(spec, "allocateLoadBalancerNodePorts"), &allocate);
	return allocate;
}

bool service_wants_health_port(const struct json *spec)
{
	return service_is_type(spec, "LoadBalancer") &&
	       str_eqz(json_text_at(spec, "externalTrafficPolicy"), "Local");
}

bool service_is_external(const struct json *spec)
{
	return service_has_ports(spec) ||
	       (service_is_type(spec, "ClusterIP") && json_count(json_getz(spec, "externalIPs")));
}

static bool is_named(const struct json *spec)
{
	return service_is_type(spec, "ExternalName");
}

/* Absent and empty lists are equal. */
static bool same_list(const struct json *a, const struct json *b)
{
	if (json_count(a) == 0 || json_count(b) == 0)
		return json_count(a) == json_count(b);
	return json_equal(a, b);
}

static bool service_same(const struct json *spec, const struct json *old, const char *name)
{
	const struct json *a = json_getz(spec, name), *b = json_getz(old, name);

	if (validate_is_unset(a) || validate_is_unset(b))
		return validate_is_unset(a) == validate_is_unset(b);
	return json_equal(a, b);
}

static bool same_ips(const struct json *spec, const struct json *old)
{
	return same_list(ips_of(spec), ips_of(old));
}

static bool same_families(const struct json *spec, const struct json *old)
{
	return same_list(json_getz(spec, "ipFamilies"), json_getz(old, "ipFamilies"));
}

/* --- a type that changes --------------------------------------------------------------- */

static struct port_set node_ports(const struct json *spec)
{
	struct port_set set = { 0 };

	JSON_FOREACH (port, json_getz(spec, "ports"))
		port_set_add(&set, json_i64_at(port, "nodePort", 0));
	return set;
}

static bool adds_node_ports(const struct json *spec, const struct json *old)
{
	struct port_set before = node_ports(old);

	JSON_FOREACH (port, json_getz(spec, "ports")) {
		int64_t number = json_i64_at(port, "nodePort", 0);

		if (number && !port_set_has(&before, number))
			return true;
	}
	return false;
}

static void drop_addresses(struct json *spec, const struct json *old)
{
	bool ips = service_same(spec, old, "clusterIP") && same_ips(spec, old);
	bool families = same_families(spec, old);

	if (service_same(spec, old, "ipFamilyPolicy"))
		json_remove(spec, STR("ipFamilyPolicy"));
	if (families)
		json_remove(spec, STR("ipFamilies"));
	if (!ips)
		return;
	json_remove(spec, STR("clusterIP"));
	json_remove(spec, STR("clusterIPs"));
}

static void drop_same(struct json *spec, const struct json *old, const char *name)
{
	if (service_same(spec, old, name))
		json_remove(spec, str_from(name));
}

void service_drop_fields(struct arena *a, struct json *service, const struct json *stored)
{
	struct json *spec = json_getz(service, "spec"), *status = json_getz(service, "status");
	const struct json *old = json_getz(stored, "spec");
	bool left = service_is_type(old, "LoadBalancer") && !service_is_type(spec, "LoadBalancer");

	if (!is_named(old) && is_named(spec))
		drop_addresses(spec, old);
	if (service_has_ports(old) && !service_has_ports(spec) && !adds_node_ports(spec, old))
		JSON_FOREACH (port, json_getz(spec, "ports"))
			json_remove(port, STR("nodePort"));
	if (service_wants_health_port(old) && !service_wants_health_port(spec))
		drop_same(spec, old, "healthCheckNodePort");
	if (left && json_getz(spec, "allocateLoadBalancerNodePorts"))
		drop_same(spec, old, "allocateLoadBalancerNodePorts");
	if (left)
		drop_same(spec, old, "loadBalancerClass");
	if (service_is_external(old) && !service_is_external(spec))
		drop_same(spec, old, "externalTrafficPolicy");
	if (status && !service_is_type(spec, "LoadBalancer"))
		json_setz(status, "loadBalancer", json_make_object(a));
}

/* --- allocated values ------------------------------------------------------------------ */

static void keep_addresses(struct arena *a, struct json *spec, const struct json *old)
{
	if (is_named(old) || is_named(spec))
		return;
	if (!json_text_at(spec, "clusterIP").n)
		tree_carry(a, spec, old, "clusterIP");
	if (json_count(ips_of(spec)) == 0 && json_count(ips_of(old)))
		tree_carry(a, spec, old, "clusterIPs");
}

/* Matches ports by name; a number that another port of the new service has is not used twice. */
static void keep_ports(struct arena *a, struct json *spec, const struct json *old)
{
	CLEANUP(map_release) struct map names;
	struct port_set has;

	map_init(&names);
	if (!service_wants_ports(old) || !service_wants_ports(spec))
		return;
	has = node_ports(spec);
	JSON_FOREACH (port, json_getz(old, "ports"))
		(void)map_put(&names, json_text_at(port, "name"), port);
	JSON_FOREACH (port, json_getz(spec, "ports")) {
		const struct json *before = map_get(&names, json_text_at(port, "name"));
		int64_t number = json_i64_at(before, "nodePort", 0);

		if (!number || json_i64_at(port, "nodePort", 0) || port_set_has(&has, number))
			continue;
		json_put_i64(a, port, "nodePort", number);
		port_set_add(&has, number);
	}
}

static void keep_allocated(struct arena *a, struct json *spec, const struct json *old)
{
	keep_addresses(a, spec, old);
	keep_ports(a, spec, old);
	if (service_wants_health_port(old) && service_wants_health_port(spec) &&
	    !json_i64_at(spec, "healthCheckNodePort", 0))
		tree_carry(a, spec, old, "healthCheckNodePort");
}

static void set_only_ip(struct arena *a, struct json *spec, struct str ip)
{
	struct json *ips = json_make_array(a);

	json_append(ips, json_make_str(a, ip));
	json_setz(spec, "clusterIPs", ips);
}

/* Fills in clusterIP and clusterIPs from each other: clients may know only one of them. */
static void join_addresses(struct arena *a, struct json *spec, const struct json *old)
{
	struct str ip = json_text_at(spec, "clusterIP"), old_ip = json_text_at(old, "clusterIP");

	if (!old) {
		if (ip.n && json_count(ips_of(spec)) == 0)
			set_only_ip(a, spec, ip);
		return;
	}
	if (json_count(ips_of(old)) && json_count(ips_of(spec)) == 0 && str_eq(ip, old_ip))
		tree_carry(a, spec, old, "clusterIPs");
	if (str_eq(ip, old_ip) || !same_ips(spec, old))
		return;
	if (ip.n)
		set_only_ip(a, spec, ip);
	else
		json_remove(spec, STR("clusterIPs"));
}

/* --- families --------------------------------------------------------------------------- */

static struct str policy_of(const struct json *spec)
{
	return json_text_at(spec, "ipFamilyPolicy");
}

static bool is_single(const struct json *spec)
{
	return str_eqz(policy_of(spec), "SingleStack");
}

/*
 * Whether it prefers two families and got those available: it stays so until a client changes it.
 */
static bool is_settled(const struct json *spec, const struct json *old)
{
	const struct str prefer = STR("PreferDualStack");

	return old && policy_of(spec).n && service_same(spec, old, "type") && !is_named(spec) &&
	       str_eq(policy_of(spec), prefer) &&
	       (!policy_of(old).n || str_eq(policy_of(old), prefer)) && same_ips(spec, old) &&
	       same_families(spec, old);
}

/* Headless without a selector: the creator of its endpoints knows the families. */
static bool is_open(const struct json *spec)
{
	return str_eq(json_text_at(spec, "clusterIP"), NONE) &&
	       json_count(json_getz(spec, "selector")) == 0;
}

static void set_policy(struct arena *a, struct json *spec, const struct json *old)
{
	if (policy_of(spec).n)
		return;
	if (policy_of(old).n)
		tree_carry(a, spec, old, "ipFamilyPolicy");
	else
		json_put_str(a, spec, "ipFamilyPolicy",
			     is_open(spec) ? STR("RequireDualStack") : STR("SingleStack"));
}

static void cut_to_one(struct arena *a, struct json *spec, const char *name)
{
	struct json *list = json_make_array(a);

	json_append(list, json_make_str(a, json_str(json_first(json_getz(spec, name)))));
	json_setz(spec, name, list);
}

static void refuse_policy(struct validation *v, const struct json *spec, const char *why)
{
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&spec_at, "ipFamilyPolicy");

	field_errors_invalid(v->errs, &at, FIELD_STR(policy_of(spec)), why);
}

static bool is_shorter(const struct json *spec, const struct json *old, const char *name)
{
	size_t n = json_count(json_getz(spec, name));

	return n > 0 && n < json_count(json_getz(old, name));
}

static void release_second(struct validation *v, struct json *spec, const struct json *old)
{
	if (is_single(spec)) {
		if (same_ips(spec, old) && json_count(ips_of(spec)) > 1)
			cut_to_one(v->arena, spec, "clusterIPs");
		if (same_families(spec, old) && json_count(json_getz(spec, "ipFamilies")) > 1)
			cut_to_one(v->arena, spec, "ipFamilies");
		return;
	}
	if (is_shorter(spec, old, "clusterIPs"))
		refuse_policy(v, spec, "must be 'SingleStack' to release the secondary cluster IP");
	if (is_shorter(spec, old, "ipFamilies"))
		refuse_policy(v, spec, "must be 'SingleStack' to release the secondary IP family");
}

static void check_single(struct validation *v, const struct json *spec)
{
	if (!is_single(spec))
		return;
	if (json_count(ips_of(spec)) == 2)
		refuse_policy(v, spec,
			      "must be 'RequireDualStack' or 'PreferDualStack' when multiple "
			      "cluster IPs are specified");
	if (json_count(json_getz(spec, "ipFamilies")) == 2)
		refuse_policy(v, spec,
			      "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP "
			      "families are specified");
}

static bool is_configured(const struct service_families *f, struct str family)
{
	return str_eqz(family, "IPv6") ? f->has6 : str_eqz(family, "IPv4") && f->has4;
}

static void add_family(struct arena *a, struct json *spec, struct str family)
{
	struct json *list = json_getz(spec, "ipFamilies");

	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(a);
		json_setz(spec, "ipFamilies", list);
	}
	json_append(list, json_make_str(a, family));
}

/* Derives the families from the requested addresses. */
static void infer_families(struct validation *v, struct json *spec,
			   const struct service_families *f)
{
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list_at = field_path_name(&spec_at, "clusterIPs");
	size_t i = 0;

	JSON_FOREACH (it, ips_of(spec)) {
		struct field_path at = field_path_index(&list_at, i++);
		struct address ip;
		struct str family;

		if (str_eq(json_str(it), NONE))
			break;
		if (i <= json_count(json_getz(spec, "ipFamilies")) ||
		    !address_read(json_str(it), &ip))
			continue;
		family = ip.is4 ? STR("IPv4") : STR("IPv6");
		if (is_configured(f, family))
			add_family(v->arena, spec, family);
		else
			field_errors_addf(
				v->errs, FIELD_INVALID, &at, validate_shown(v, ips_of(spec)),
				"%.*s is not configured on this cluster", STR_ARG(family));
	}
}

static void check_configured(struct validation *v, const struct json *spec,
			     const struct service_families *f)
{
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list_at = field_path_name(&spec_at, "ipFamilies");
	size_t i = 0;

	if (str_eqz(policy_of(spec), "RequireDualStack") && !(f->has4 && f->has6))
		refuse_policy(v, spec, "this cluster is not configured for dual-stack services");
	JSON_FOREACH (family, json_getz(spec, "ipFamilies")) {
		struct field_path at = field_path_index(&list_at, i++);

		if (!is_configured(f, json_str(family)))
			field_errors_invalid(v->errs, &at, FIELD_STR(json_str(family)),
					     "not configured on this cluster");
	}
}

static void complete_families(struct arena *a, struct json *spec, const struct service_families *f,
			      bool both)
{
	if (json_count(json_getz(spec, "ipFamilies")) == 0)
		add_family(a, spec, f->first6 ? STR("IPv6") : STR("IPv4"));
	if (is_single(spec) || !both || json_count(json_getz(spec, "ipFamilies")) != 1)
		return;
	add_family(a, spec,
		   str_eqz(json_str(json_first(json_getz(spec, "ipFamilies"))), "IPv4")
			   ? STR("IPv6")
			   : STR("IPv4"));
}

static void settle_families(struct validation *v, struct json *service, const struct json *stored,
			    const struct service_families *f)
{
	struct json *spec = json_getz(service, "spec");
	const struct json *old = json_getz(stored, "spec");

	if (is_named(spec) || is_settled(spec, old))
		return;
	set_policy(v->arena, spec, old);
	service_check_addresses(v, service, stored);
	if (field_errors_any(v->errs))
		return;
	if (old)
		release_second(v, spec, old);
	check_single(v, spec);
	infer_families(v, spec, f);
	if (field_errors_any(v->errs))
		return;
	if (is_open(spec)) {
		complete_families(v->arena, spec, f, true);
		return;
	}
	check_configured(v, spec, f);
	if (!field_errors_any(v->errs))
		complete_families(v->arena, spec, f, f->has4 && f->has6);
}

void service_settle(struct validation *v, struct json *service, const struct json *stored,
		    const struct service_families *families)
{
	struct json *spec = json_need_object(v->arena, service, "spec");
	const struct json *old = json_getz(stored, "spec");

	if (stored)
		keep_allocated(v->arena, spec, old);
	join_addresses(v->arena, spec, stored ? old : NULL);
	settle_families(v, service, stored, families);
}

/*
 * Services, and the objects behind their addresses: upstream's rules with upstream's messages.
 */
#include "api/check/pod.h"
#include "api/schema/address.h"
#include "api/schema/names.h"
#include "api/services/checks.h"
#include "api/services/service.h"
#include "base/json/index.h"

/* --- addresses ------------------------------------------------------------------------------ */

/* Checks an address of a legacy field: unless the list `old` has it, it must be strictly valid. */
static bool check_address(struct validation *v, struct str text, struct json_index *old,
			  const struct field_path *path)
{
	struct address ip;
	char canonical[ADDRESS_TEXT];

	if (old && json_index_get(old, text))
		return true;
	if (!address_read(text, &ip)) {
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must be a valid IP address, (e.g. 10.9.8.7 or "
				     "2001:db8::ffff)");
		return false;
	}
	if (ip.is4 && str_chr(text, ':') >= 0) {
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must not be an IPv4-mapped IPv6 address");
		return false;
	}
	if (ip.is4 && !str_eqz(text, address_print(&ip, canonical))) {
		field_errors_invalid(v->errs, path, FIELD_STR(text), "must not have leading 0s");
		return false;
	}
	return true;
}

static bool is_ipv6(struct str text)
{
	struct address ip;

	return address_read(text, &ip) && !ip.is4;
}

static void check_families(struct validation *v, const struct json *families,
			   const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index seen;
	size_t i = 0;

	json_index_init(&seen, families, NULL);
	JSON_FOREACH (family, families) {
		struct field_path at = field_path_index(path, i++);

		if (json_index_came_before(&seen, family))
			field_errors_duplicate(v->errs, &at, FIELD_STR(json_str(family)));
	}
}

/* Returns false if an address is invalid: then the list is not checked further. */
static bool check_each_ip(struct validation *v, const struct json *ips, const struct json *stored,
			  const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index old;
	bool fine = true;
	size_t i = 0;

	json_index_init(&old, stored, NULL);
	JSON_FOREACH (ip, ips) {
		struct field_path at = field_path_index(path, i);

		if (i++ > 0 || !str_eqz(json_str(ip), "None")) {
			fine &= check_address(v, json_str(ip), &old, &at);
		} else if (json_count(ips) > 1) {
			fine = false;
			field_errors_invalid(v->errs, path, validate_shown(v, ips),
					     "'None' must be the first and only value");
		}
	}
	return fine;
}

static void check_ips_match(struct validation *v, const struct json *spec,
			    const struct field_path *path)
{
	const struct json *ips = json_getz(spec, "clusterIPs");
	const struct json *family = json_first(json_getz(spec, "ipFamilies"));
	size_t i = 0;

	if (json_count(ips) > 1 && is_ipv6(json_str(json_at(ips, 0))) ==
					   is_ipv6(json_str(json_at(ips, json_count(ips) - 1))))
		field_errors_invalid(v->errs, path, validate_shown(v, ips),
				     "may specify no more than one IP for each IP family");
	if (service_is_headless(spec))
		return;
	JSON_FOREACH (ip, ips) {
		struct field_path at = field_path_index(path, i);
		bool six = is_ipv6(json_str(ip));

		if (!family)
			break;
		if (str_eqz(json_str(family), six ? "IPv4" : "IPv6"))
			field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(json_str(ip)),
					  "expected an IPv%d value as indicated by "
					  "`ipFamilies[%zu]`",
					  six ? 4 : 6, i);
		family = family->next;
		i++;
	}
}

static void check_first_ip(struct validation *v, const struct json *spec,
			   const struct field_path *path)
{
	const struct json *ips = json_getz(spec, "clusterIPs");
	struct str ip = json_text_at(spec, "clusterIP");

	if (ip.n && json_count(ips) == 0)
		field_errors_required(v->errs, path, NULL);
	else if (ip.n && !str_eq(json_str(json_first(ips)), ip))
		field_errors_invalid(v->errs, path, validate_shown(v, ips),
				     "first value must match `clusterIP`");
	else if (!ip.n && json_count(ips))
		field_errors_invalid(v->errs, path, validate_shown(v, ips),
				     "must be empty when `clusterIP` is not specified");
}

void service_check_addresses(struct validation *v, const struct json *service,
			     const struct json *old)
{
	const struct json *spec = json_getz(service, "spec");
	const struct json *ips = json_getz(spec, "clusterIPs");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path ips_at = field_path_name(&spec_at, "clusterIPs");
	struct field_path families_at = field_path_name(&spec_at, "ipFamilies");
	bool fine;

	if (service_is_type(spec, "ExternalName"))
		return;
	check_first_ip(v, spec, &ips_at);
	check_families(v, json_getz(spec, "ipFamilies"), &families_at);
	fine = check_each_ip(v, ips, json_getz(json_getz(old, "spec"), "clusterIPs"), &ips_at);
	if (json_count(ips) > 2)
		field_errors_invalid(v->errs, &ips_at, validate_shown(v, ips),
				     "may only hold up to 2 values");
	if (fine)
		check_ips_match(v, spec, &ips_at);
}

/* --- ports ---------------------------------------------------------------------------------- */

/* Values of the earlier ports, in maps because a body may have many ports. */
struct seen {
	struct map names, numbers, node_ports;
};

/* Returns whether the key was seen before; adds it. */
static bool is_seen(struct map *seen, struct str key, const struct json *port)
{
	return map_put(seen, key, (void *)port) != NULL;
}

static void check_port_names(struct validation *v, const struct json *ports,
			     const struct json *port, struct seen *seen,
			     const struct field_path *path)
{
	struct field_path name_at = field_path_name(path, "name");
	struct field_path protocol_at = field_path_name(path, "appProtocol");
	struct str name = json_text_at(port, "name"), protocol = json_text_at(port, "appProtocol");

	if (name.n == 0 && json_count(ports) > 1)
		field_errors_required(v->errs, &name_at, NULL);
	else if (name.n)
		validate_format(v, SCHEMA_FORMAT_DNS_LABEL, name, &name_at);
	if (name.n && is_seen(&seen->names, name, port))
		field_errors_duplicate(v->errs, &name_at, FIELD_STR(name));
	if (protocol.n)
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, protocol, &protocol_at);
}

static void check_service_port(struct validation *v, const struct json *ports,
			       const struct json *port, struct seen *seen,
			       const struct field_path *path)
{
	struct field_path port_at = field_path_name(path, "port");
	struct field_path target_at = field_path_name(path, "targetPort");
	const struct json *target = json_getz(port, "targetPort");
	const char *fault = json_is(target, JSON_STRING) ? names_port_name(json_str(target)) : NULL;
	int64_t number = 0;

	check_port_names(v, ports, port, seen, path);
	(void)json_i64(json_getz(port, "port"), &number);
	check_port_number(v, number, &port_at);
	if (fault)
		field_errors_invalid(v->errs, &target_at, FIELD_STR(json_str(target)), fault);
	else if (json_i64(target, &number))
		check_port_number(v, number, &target_at);
}

/* The same number is a separate port for each protocol. */
static struct str port_key(struct validation *v, const struct json *port, const char *name)
{
	return str_from(arena_printf(v->arena, "%lld/%.*s", (long long)json_i64_at(port, name, 0),
				     STR_ARG(json_text_at(port, "protocol"))));
}

static void check_numbers(struct validation *v, const struct json *spec, const struct json *port,
			  struct seen *seen, const struct field_path *path)
{
	struct field_path node_at = field_path_name(path, "nodePort");
	int64_t number = json_i64_at(port, "nodePort", 0);

	if (number && service_is_type(spec, "ClusterIP"))
		field_errors_forbidden(v->errs, &node_at,
				       "may not be used when `type` is 'ClusterIP'");
	if (number && is_seen(&seen->node_ports, port_key(v, port, "nodePort"), port))
		field_errors_duplicate(v->errs, &node_at, FIELD_I64(number));
	if (is_seen(&seen->numbers, port_key(v, port, "port"), port))
		field_errors_duplicate(
			v->errs, path,
			FIELD_JSON(str_from(arena_printf(
				v->arena,
				"{\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,"
				"\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
				STR_ARG(json_text_at(port, "protocol")),
				(long long)json_i64_at(port, "port", 0)))));
}

static void check_ports(struct validation *v, const struct json *spec,
			const struct field_path *path)
{
	const struct json *ports = json_getz(spec, "ports");
	struct field_path list = field_path_name(path, "ports");
	struct seen seen;
	size_t i = 0;

	map_init(&seen.names);
	map_init(&seen.numbers);
	map_init(&seen.node_ports);
	JSON_FOREACH (port, ports) {
		struct field_path at = field_path_index(&list, i++);

		check_service_port(v, ports, port, &seen, &at);
	}
	i = 0;
	JSON_FOREACH (port, ports) {
		struct field_path at = field_path_index(&list, i++);

		check_numbers(v, spec, port, &seen, &at);
	}
	map_release(&seen.names);
	map_release(&seen.numbers);
	map_release(&seen.node_ports);
}

/* --- the rest of the spec ------------------------------------------------------------------- */

static void check_forbid(struct validation *v, const struct json *spec, const char *name,
			 const struct field_path *path)
{
	struct field_path at = field_path_name(path, name);

	if (!validate_is_unset(json_getz(spec, name)))
		field_errors_forbidden(v->errs, &at, "may not be set for ExternalName services");
}

static void check_external_name(struct validation *v, const struct json *spec,
				const struct field_path *path)
{
	struct field_path at = field_path_name(path, "externalName");
	struct str name = json_text_at(spec, "externalName");

	check_forbid(v, spec, "clusterIPs", path);
	check_forbid(v, spec, "ipFamilies", path);
	check_forbid(v, spec, "ipFamilyPolicy", path);
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	if (name.n)
		validate_format(v, SCHEMA_FORMAT_DNS_SUBDOMAIN, name, &at);
	else
		field_errors_required(v->errs, &at, NULL);
}

static void services_check_type(struct validation *v, const struct json *spec,
				const struct field_path *path)
{
	struct field_path list = field_path_name(path, "ports");
	struct field_path ips_at = field_path_name(path, "clusterIPs");
	struct field_path first_at = field_path_index(&ips_at, 0);
	bool headless = service_is_headless(spec), named = service_is_type(spec, "ExternalName");

	if (json_count(json_getz(spec, "ports")) == 0 && !named && !headless)
		field_errors_required(v->errs, &list, NULL);
	if (named)
		check_external_name(v, spec, path);
	else if (headless && service_has_ports(spec))
		field_errors_addf(v->errs, FIELD_INVALID, &first_at, FIELD_STR(STR("None")),
				  "may not be set to 'None' for %.*s services",
				  STR_ARG(json_text_at(spec, "type")));
}

static void check_affinity(struct validation *v, const struct json *spec,
			   const struct field_path *path)
{
	struct field_path config_at = field_path_name(path, "sessionAffinityConfig");
	struct field_path ip_at = field_path_name(&config_at, "clientIP");
	struct field_path at = field_path_name(&ip_at, "timeoutSeconds");
	const struct json *ip = json_getz(json_getz(spec, "sessionAffinityConfig"), "clientIP");
	int64_t n;

	if (json_i64(json_getz(ip, "timeoutSeconds"), &n) && (n <= 0 || n > 86400))
		field_errors_invalid(v->errs, &at, FIELD_I64(n),
				     "must be greater than 0 and less than 86400");
}

static bool check_is_among(const struct address *ip, const char *range)
{
	struct address r;

	return address_read_cidr(str_from(range), &r) && address_contains(&r, ip);
}

static void check_external_ip(struct validation *v, struct str text, const struct field_path *path)
{
	struct address ip;

	if (!address_read(text, &ip))
		return;
	if (check_is_among(&ip, "0.0.0.0/32") || check_is_among(&ip, "::/128"))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "may not be unspecified (%.*s)", STR_ARG(text));
	if (check_is_among(&ip, "127.0.0.0/8") || check_is_among(&ip, "::1/128"))
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "may not be in the loopback range (127.0.0.0/8, ::1/128)");
	if (check_is_among(&ip, "169.254.0.0/16") || check_is_among(&ip, "fe80::/10"))
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "may not be in the link-local range (169.254.0.0/16, "
				     "fe80::/10)");
	if (check_is_among(&ip, "224.0.0.0/24") || check_is_among(&ip, "ff02::/16"))
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "may not be in the link-local multicast range "
				     "(224.0.0.0/24, ff02::/10)");
}

static void check_external_ips(struct validation *v, const struct json *spec,
			       const struct field_path *path)
{
	CLEANUP(json_index_release) struct json_index old;
	struct field_path list = field_path_name(path, "externalIPs");
	size_t i = 0;

	json_index_init(&old, json_getz(v->old_value, "externalIPs"), NULL);
	JSON_FOREACH (ip, json_getz(spec, "externalIPs")) {
		struct field_path at = field_path_index(&list, i++);

		if (check_address(v, json_str(ip), &old, &at))
			check_external_ip(v, json_str(ip), &at);
	}
}

static void services_check_range(struct validation *v, struct str text, const struct map *old,
				 const struct field_path *path)
{
	struct address range;

	text = str_trim(text);
	if (map_get(old, text))
		return;
	if (!address_read_cidr(text, &range))
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
				     "2001:db8::/64)");
}

static void check_balancer(struct validation *v, const struct json *spec,
			   const struct field_path *path)
{
	static const char only[] = "may only be used when `type` is 'LoadBalancer'";
	const struct json *ranges = json_getz(spec, "loadBalancerSourceRanges");
	struct field_path ranges_at = field_path_name(path, "LoadBalancerSourceRanges");
	struct field_path ports_at = field_path_name(path, "allocateLoadBalancerNodePorts");
	struct field_path class_at = field_path_name(path, "loadBalancerClass");
	struct str class = json_text_at(spec, "loadBalancerClass");
	bool is = service_is_type(spec, "LoadBalancer");
	CLEANUP(map_release) struct map old;
	size_t i = 0;

	map_init(&old);
	JSON_FOREACH (range, json_getz(v->old_value, "loadBalancerSourceRanges"))
		(void)map_put(&old, str_trim(json_str(range)), range);
	if (json_count(ranges) && !is)
		field_errors_forbidden(v->errs, &ranges_at, only);
	JSON_FOREACH (range, ranges) {
		struct field_path at = field_path_index(&ranges_at, i++);

		services_check_range(v, json_str(range), &old, &at);
	}
	if (json_getz(spec, "allocateLoadBalancerNodePorts") && !is)
		field_errors_forbidden(v->errs, &ports_at, only);
	if (class.p && !is)
		field_errors_forbidden(v->errs, &class_at, only);
	else if (class.p)
		validate_format(v, SCHEMA_FORMAT_LABEL_KEY, class, &class_at);
}

static void check_traffic(struct validation *v, const struct json *spec,
			  const struct field_path *path)
{
	struct field_path policy_at = field_path_name(path, "externalTrafficPolicy");
	struct field_path port_at = field_path_name(path, "healthCheckNodePort");
	struct str policy = json_text_at(spec, "externalTrafficPolicy");
	int64_t port = json_i64_at(spec, "healthCheckNodePort", 0);

	if (policy.n && !service_is_external(spec))
		field_errors_invalid(v->errs, &policy_at, FIELD_STR(policy),
				     "may only be set for externally-accessible services");
	if (port && !service_wants_health_port(spec))
		field_errors_invalid(v->errs, &port_at, FIELD_I64(port),
				     "may only be set when `type` is 'LoadBalancer' and "
				     "`externalTrafficPolicy` is 'Local'");
	else if (port)
		check_port_number(v, port, &port_at);
}

static void check_distribution(struct validation *v, const struct json *spec,
			       const struct field_path *path)
{
	static const struct str known[] = { { "PreferClose", 11 },
					    { "PreferSameZone", 14 },
					    { "PreferSameNode", 14 } };
	struct field_path at = field_path_name(path, "trafficDistribution");
	struct str value = json_text_at(spec, "trafficDistribution");

	if (!value.p)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (str_eq(value, known[i]))
			return;
	field_errors_not_supported(v->errs, &at, FIELD_STR(value), known, ARRAY_SIZE(known));
}

/* Warns about fields that have no effect, or are deprecated. */
static void warn(struct validation *v, const struct json *spec)
{
	bool headless = service_is_type(spec, "ClusterIP") && service_is_headless(spec);
	bool named = service_is_type(spec, "ExternalName");
	bool external = json_count(json_getz(spec, "externalIPs"));

	if (headless && json_text_at(spec, "loadBalancerIP").n)
		validation_warn(v, "spec.loadBalancerIP is ignored for headless services");
	if (headless && external)
		validation_warn(v, "spec.externalIPs is ignored for headless services");
	if (headless && !str_eqz(json_text_at(spec, "sessionAffinity"), "None"))
		validation_warn(v, "spec.SessionAffinity is ignored for headless services");
	if (external && !headless && !named)
		validation_warn(v, "spec.externalIPs is deprecated and may no longer be "
				   "implemented in some clusters");
	if (external && named)
		validation_warn(v,
				"spec.externalIPs is ignored when spec.type is \"ExternalName\"");
	if (!named && json_text_at(spec, "externalName").n)
		validation_warn(v, "spec.externalName is ignored when spec.type is not "
				   "\"ExternalName\"");
	if (str_eqz(json_text_at(spec, "trafficDistribution"), "PreferClose"))
		validation_warn(v, "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
				   "\"PreferSameZone\"");
}

void check_service_spec(struct validation *v, const struct json *spec,
			const struct field_path *path)
{
	struct field_path selector_at = field_path_name(path, "selector");

	services_check_type(v, spec, path);
	check_ports(v, spec, path);
	validate_labels(v, json_getz(spec, "selector"), &selector_at);
	check_affinity(v, spec, path);
	service_check_addresses(v, v->object, v->old);
	check_external_ips(v, spec, path);
	check_balancer(v, spec, path);
	check_traffic(v, spec, path);
	check_distribution(v, spec, path);
	if (!field_errors_any(v->errs))
		warn(v, spec);
}

/* --- updates -------------------------------------------------------------------------------- */

static void check_refuse(struct validation *v, const struct json *spec, const char *name,
			 bool element, size_t i, const char *why)
{
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list = field_path_name(&spec_at, name);
	struct field_path at = field_path_index(&list, i);

	field_errors_invalid(v->errs, element ? &at : &list,
			     validate_shown(v, json_getz(spec, name)), why);
}

/*
 * The first element must not change. The second may be added, and removed with the policy
 * SingleStack.
 */
static void check_list_update(struct validation *v, const struct json *spec, const struct json *old,
			      const char *name, const char *unset, const char *released)
{
	const struct json *list = json_getz(spec, name), *before = json_getz(old, name);
	const struct json *now = json_first(list);
	bool ips = str_eqz(str_from(name), "clusterIPs");
	size_t i = 0;

	if (json_count(list) == json_count(before)) {
		JSON_FOREACH (it, before) {
			if (!json_equal(it, now))
				check_refuse(v, spec, name, true, ips ? i : 0,
					     "may not change once set");
			now = now->next;
			i++;
		}
		return;
	}
	if (json_count(list) == 0)
		check_refuse(v, spec, name, true, 0, unset);
	else if (json_count(before) && !json_equal(now, json_first(before)))
		check_refuse(v, spec, name, true, 0, "may not change once set");
	if (json_count(before) > json_count(list) && json_count(list) == 1 &&
	    !str_eqz(json_text_at(spec, "ipFamilyPolicy"), "SingleStack"))
		check_refuse(v, spec, "ipFamilyPolicy", false, 0, released);
}

static void check_addresses_update(struct validation *v, const struct json *spec,
				   const struct json *old)
{
	bool headless = service_is_headless(spec), was = service_is_headless(old);

	if (service_is_type(spec, "ExternalName") || service_is_type(old, "ExternalName"))
		return;
	if (!(headless && was))
		check_list_update(v, spec, old, "clusterIPs", "primary clusterIP can not be unset",
				  "must be set to 'SingleStack' when releasing the secondary "
				  "clusterIP");
	if (!headless && !was)
		check_list_update(v, spec, old, "ipFamilies", "primary ipFamily can not be unset",
				  "must be set to 'SingleStack' when releasing the secondary "
				  "ipFamily");
}

void check_service_update(struct validation *v, const struct json *service, const struct json *old)
{
	const struct json *spec = json_getz(service, "spec"), *stored = json_getz(old, "spec");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path port_at = field_path_name(&spec_at, "healthCheckNodePort");
	bool balanced = service_is_type(spec, "LoadBalancer") &&
			service_is_type(stored, "LoadBalancer");

	check_addresses_update(v, spec, stored);
	if (balanced && !str_eq(json_text_at(spec, "loadBalancerClass"),
				json_text_at(stored, "loadBalancerClass")))
		check_refuse(v, spec, "loadBalancerClass", false, 0, "may not change once set");
	if (service_wants_health_port(spec) && service_wants_health_port(stored) &&
	    json_i64_at(spec, "healthCheckNodePort", 0) !=
		    json_i64_at(stored, "healthCheckNodePort", 0))
		field_errors_forbidden(v->errs, &port_at, "field is immutable");
}

/* --- IPAddresses and ServiceCIDRs ----------------------------------------------------------- */

void check_ip_address(struct validation *v, const struct json *object)
{
	struct field_path meta_at = field_path_name(NULL, "metadata");
	struct field_path at = field_path_name(&meta_at, "name");
	struct str name = json_text_at(json_getz(object, "metadata"), "name");
	struct address ip;
	char canonical[ADDRESS_TEXT];

	if (check_address(v, name, NULL, &at) && address_read(name, &ip) &&
	    !str_eqz(name, address_print(&ip, canonical)))
		field_errors_addf(v->errs, FIELD_INVALID, &at, FIELD_STR(name),
				  "must be in canonical form (\"%s\")", canonical);
}

static void check_cidr(struct validation *v, struct str text, const struct field_path *path)
{
	struct address range, first;
	char canonical[ADDRESS_TEXT];

	if (!address_read_cidr(text, &range)) {
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
				     "2001:db8::/64)");
		return;
	}
	first = address_masked(&range);
	if (address_compare(&first, &range) != 0)
		field_errors_invalid(v->errs, path, FIELD_STR(text),
				     "must not have bits set beyond the prefix length");
	else if (!str_eqz(text, address_print_cidr(&range, canonical)))
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_STR(text),
				  "must be in canonical form (\"%s\")", canonical);
}

void check_service_cidr_spec(struct validation *v, const struct json *spec,
			     const struct field_path *path)
{
	const struct json *list = json_getz(spec, "cidrs");
	struct field_path list_at = field_path_name(path, "cidrs");
	struct address a, b;
	size_t i = 0;

	if (json_count(list) == 0) {
		field_errors_required(v->errs, &list_at, "at least one CIDR required");
		return;
	}
	if (json_count(list) > 2) {
		field_errors_invalid(v->errs, &list_at, validate_shown(v, list),
				     "may only hold up to 2 values");
		return;
	}
	JSON_FOREACH (it, list) {
		struct field_path at = field_path_index(&list_at, i++);

		check_cidr(v, json_str(it), &at);
	}
	if (i == 2 && address_read_cidr(json_str(json_at(list, 0)), &a) &&
	    address_read_cidr(json_str(json_at(list, 1)), &b) && a.is4 == b.is4)
		field_errors_invalid(v->errs, &list_at, validate_shown(v, list),
				     "may specify no more than one IP for each IP family, i.e "
				     "192.168.0.0/24 and 2001:db8::/64");
}

/* Only a second family may be added. */
void check_service_cidr_update(struct validation *v, const struct json *object,
			       const struct json *old)
{
	const struct json *list = json_getz(json_getz(object, "spec"), "cidrs");
	const struct json *before = json_getz(json_getz(old, "spec"), "cidrs");
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path list_at = field_path_name(&spec_at, "cidrs");
	const struct json *now = json_first(list);
	size_t n = json_count(list), i = 0;

	if (n != json_count(before) && !(n == 2 && json_count(before) == 1)) {
		field_errors_invalid(v->errs, &list_at, validate_shown(v, list),
				     "field is immutable");
		return;
	}
	JSON_FOREACH (it, before) {
		struct field_path at = field_path_index(&list_at, i++);

		if (!json_equal(it, now))
			field_errors_invalid(v->errs, &at, validate_shown(v, now),
					     "field is immutable");
		now = now->next;
	}
}

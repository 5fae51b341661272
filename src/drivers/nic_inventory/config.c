/*
 * One table lists the members and their parsers; a route has its own table. A parser gets the value
 * with its path, so that every error has its position.
 *
 * Parameters from several sources are merged as trees, member by member, and parsed as one. Before
 * that each is parsed alone, so that an error names its source.
 */
#include "drivers/nic_inventory/config.h"

#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>

#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/text/nearest.h"
#include "devplane/driver.h"
#include "drivers/drivers_limits.h"

static const char api_version[] = "net.devplane.dev/v1";
static const char config_kind[] = "InterfaceConfig";

/* A value and its path. */
struct place {
	const char *path; /* "parameters.mtu" */
	const struct json *value;
	struct arena *arena;
};

/* A row; a table ends with a row without a name. `into` is the struct that the table fills. */
struct member {
	const char *name;
	int (*read)(const struct place *at, void *into, struct error *err);
};

/* --- pieces ------------------------------------------------------------------------------- */

static int config_fault(const struct place *at, struct error *err, const char *what)
{
	return error_set(err, ERR_INVALID, "%s: %s", at->path, what);
}

static int wrong_type(const struct place *at, const char *wanted, struct error *err)
{
	static const char *const words[] = {
		[JSON_NULL] = "null",     [JSON_BOOL] = "a boolean",   [JSON_INT] = "an integer",
		[JSON_UINT] = "a number", [JSON_DOUBLE] = "a number",  [JSON_STRING] = "a string",
		[JSON_ARRAY] = "a list",  [JSON_OBJECT] = "an object",
	};

	return error_set(err, ERR_INVALID, "%s: must be %s, not %s", at->path, wanted,
			 words[at->value->type]);
}

static int need_text(const struct place *at, struct str *ret_text, struct error *err)
{
	if (!json_is(at->value, JSON_STRING))
		return wrong_type(at, "a string", err);
	*ret_text = json_str(at->value);
	return 0;
}

static int need_number(const struct place *at, int64_t low, int64_t high, uint32_t *ret_number,
		       struct error *err)
{
	int64_t n;

	if (!json_i64(at->value, &n) && at->value->type != JSON_UINT)
		return wrong_type(at, "an integer", err);
	if (at->value->type == JSON_UINT || n < low || n > high)
		return error_set(err, ERR_INVALID, "%s: must be %lld to %lld", at->path,
				 (long long)low, (long long)high);
	*ret_number = (uint32_t)n;
	return 0;
}

/* Allocates the elements of a list, which has at most `max`. */
static int need_list(const struct place *at, size_t max, size_t size, void **ret_room,
		     struct error *err)
{
	if (!json_is(at->value, JSON_ARRAY))
		return wrong_type(at, "a list", err);
	if (json_count(at->value) > max)
		return error_set(err, ERR_INVALID, "%s: has %zu, %zu are the most", at->path,
				 json_count(at->value), max);
	*ret_room = arena_calloc(at->arena, json_count(at->value) * size + 1);
	return 0;
}

/* Shortens a name for an error message, because long messages are cut at the end. */
static const char *config_shown(struct arena *a, struct str key)
{
	return key.n <= NEAREST_WORD_MAX ? arena_strdup(a, key)
					 : arena_printf(a, "(a name of %zu bytes)", key.n);
}

static int unknown(const struct place *at, const struct member *members, struct str key,
		   struct error *err)
{
	struct str meant;
	struct nearest n;

	nearest_init(&n, key);
	for (; members->name; members++)
		nearest_offer(&n, str_from(members->name));
	meant = nearest_get(&n);
	return error_set(err, ERR_INVALID, "%s.%s: unknown field%s%.*s%s", at->path,
			 config_shown(at->arena, key), meant.n > 0 ? ", did you mean " : "",
			 STR_ARG(meant), meant.n > 0 ? "?" : "");
}

static const struct member *find_member(const struct member *members, struct str key)
{
	for (; members->name; members++)
		if (str_eqz(key, members->name))
			return members;
	return NULL;
}

static int read_object(const struct place *at, const struct member *members, void *into,
		       struct error *err)
{
	if (!json_is(at->value, JSON_OBJECT))
		return wrong_type(at, "an object", err);
	JSON_FOREACH (it, at->value) {
		const struct member *m = find_member(members, json_key(it));
		struct place below = { .value = it, .arena = at->arena };
		int r;

		if (!m)
			return unknown(at, members, json_key(it), err);
		below.path = arena_printf(at->arena, "%s.%s", at->path, m->name);
		r = m->read(&below, into, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- addresses and routes ----------------------------------------------------------------- */

static bool ip_equal(const struct rtnl_ip *a, const struct rtnl_ip *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool all_zero(const unsigned char *p, size_t n)
{
	while (n > 0 && *p == 0) {
		p++;
		n--;
	}
	return n == 0;
}

/* Rejects addresses that only a loopback, or no interface, can have. */
static const char *no_address(const struct rtnl_ip *ip)
{
	static const unsigned char loopback6[16] = { [15] = 1 };
	bool six = ip->family == AF_INET6;

	if (all_zero(ip->bytes, six ? 16 : 4))
		return "is the unspecified address";
	if (six ? ip->bytes[0] == 0xff : (ip->bytes[0] & 0xf0) == 0xe0)
		return "is a multicast address";
	if (six ? memcmp(ip->bytes, loopback6, 16) == 0 : ip->bytes[0] == 127)
		return "is a loopback address";
	return NULL;
}

static int read_ip(const struct place *at, bool plain, struct rtnl_ip *ret_ip, struct error *err)
{
	struct str text;
	int r = need_text(at, &text, err);

	if (r < 0)
		return r;
	if (!rtnl_ip_parse(text, plain, ret_ip))
		return config_fault(
			at, err,
			plain ? "must be an address without a prefix, such as 192.0.2.1 or "
				"2001:db8::1"
			      : "must be an address with its prefix, such as 192.0.2.5/24 or "
				"2001:db8::5/64");
	return 0;
}

static int read_address(const struct place *at, struct rtnl_ip *all, size_t before,
			struct error *err)
{
	const char *why;
	int r = read_ip(at, false, &all[before], err);

	if (r < 0)
		return r;
	why = no_address(&all[before]);
	if (why)
		return config_fault(at, err, why);
	for (size_t i = 0; i < before; i++)
		if (ip_equal(&all[i], &all[before]))
			return error_set(err, ERR_INVALID, "%s: is addresses[%zu] again", at->path,
					 i);
	return 0;
}

static int read_addresses(const struct place *at, void *into, struct error *err)
{
	struct nic_config *c = into;
	void *room;
	int r = need_list(at, NIC_ADDRESSES_MAX, sizeof(struct rtnl_ip), &room, err);

	if (r < 0)
		return r;
	c->addresses = room;
	c->naddresses = 0;
	JSON_FOREACH (it, at->value) {
		struct place below = { .value = it, .arena = at->arena };

		below.path = arena_printf(at->arena, "%s[%zu]", at->path, c->naddresses);
		r = read_address(&below, room, c->naddresses, err);
		if (r < 0)
			return r;
		c->naddresses++;
	}
	return 0;
}

/* Clears the bits after the prefix. */
static struct rtnl_ip network_of(struct rtnl_ip ip)
{
	for (unsigned bit = ip.prefix; bit < 128; bit++)
		ip.bytes[bit / 8] &= (unsigned char)~(0x80U >> (bit % 8));
	return ip;
}

static int read_to(const struct place *at, void *into, struct error *err)
{
	struct rtnl_route *t = into;
	char text[RTNL_IP_TEXT];
	struct rtnl_ip network;
	int r = read_ip(at, false, &t->to, err);

	if (r < 0 || rtnl_ip_is_network(&t->to))
		return r;
	network = network_of(t->to);
	rtnl_ip_print(&network, text);
	return error_set(err, ERR_INVALID, "%s: has bits behind its prefix, did you mean %s?",
			 at->path, text);
}

static int read_via(const struct place *at, void *into, struct error *err)
{
	struct rtnl_route *t = into;
	const char *why;
	int r = read_ip(at, true, &t->via, err);

	why = r < 0 ? NULL : no_address(&t->via);
	return why ? config_fault(at, err, why) : r;
}

static int read_metric(const struct place *at, void *into, struct error *err)
{
	return need_number(at, 0, UINT32_MAX, &((struct rtnl_route *)into)->metric, err);
}

static const struct member route_members[] = {
	{ "to", read_to },
	{ "via", read_via },
	{ "metric", read_metric },
	{ NULL, NULL },
};

static int read_route(const struct place *at, struct rtnl_route *all, size_t before,
		      struct error *err)
{
	struct rtnl_route *t = &all[before];
	int r = read_object(at, route_members, t, err);

	if (r < 0)
		return r;
	if (t->to.family == 0)
		return error_set(err, ERR_INVALID, "%s.to: is missing", at->path);
	if (t->via.family != 0 && t->via.family != t->to.family)
		return error_set(err, ERR_INVALID, "%s.via: must be IPv%d, as \"to\" is", at->path,
				 t->to.family == AF_INET ? 4 : 6);
	for (size_t i = 0; i < before; i++)
		if (ip_equal(&all[i].to, &t->to) && all[i].to.prefix == t->to.prefix &&
		    all[i].metric == t->metric)
			return error_set(err, ERR_INVALID, "%s: leads where routes[%zu] does",
					 at->path, i);
	return 0;
}

static int read_routes(const struct place *at, void *into, struct error *err)
{
	struct nic_config *c = into;
	void *room;
	int r = need_list(at, NIC_ROUTES_MAX, sizeof(struct rtnl_route), &room, err);

	if (r < 0)
		return r;
	c->routes = room;
	c->nroutes = 0;
	JSON_FOREACH (it, at->value) {
		struct place below = { .value = it, .arena = at->arena };

		below.path = arena_printf(at->arena, "%s[%zu]", at->path, c->nroutes);
		r = read_route(&below, room, c->nroutes, err);
		if (r < 0)
			return r;
		c->nroutes++;
	}
	return 0;
}

/* --- the other members -------------------------------------------------------------------- */

static int read_constant(const struct place *at, const char *value, struct error *err)
{
	struct str text = STR_NULL;
	int r = need_text(at, &text, err);

	if (r == 0 && !str_eqz(text, value))
		return error_set(err, ERR_INVALID, "%s: must be \"%s\"", at->path, value);
	return r;
}

static int read_api_version(const struct place *at, void *into, struct error *err)
{
	(void)into;
	return read_constant(at, api_version, err);
}

static int read_kind(const struct place *at, void *into, struct error *err)
{
	(void)into;
	return read_constant(at, config_kind, err);
}

static int read_network(const struct place *at, void *into, struct error *err)
{
	struct str text;
	int r = need_text(at, &text, err);

	if (r < 0)
		return r;
	if (names_dns_label(text))
		return config_fault(at, err,
				    "must be a DNS label: a-z, 0-9 and '-', at most 63 of them");
	((struct nic_config *)into)->network = arena_strdup(at->arena, text);
	return 0;
}

static int read_interface_name(const struct place *at, void *into, struct error *err)
{
	struct nic_config *c = into;
	struct str text;
	int r = need_text(at, &text, err);

	if (r < 0)
		return r;
	if (!rtnl_name_is_valid(text) || !str_is_utf8(text) || memchr(text.p, '%', text.n))
		return config_fault(at, err,
				    "must be 1 to 15 bytes without '/', ':', '%' and spaces");
	if (str_eqz(text, "lo") || str_eqz(text, "eth0"))
		return error_set(err, ERR_INVALID, "%s: %.*s is the pod's own", at->path,
				 STR_ARG(text));
	(void)snprintf(c->interface_name, sizeof(c->interface_name), "%.*s", STR_ARG(text));
	return 0;
}

static int read_mtu(const struct place *at, void *into, struct error *err)
{
	return need_number(at, NIC_MTU_MIN, NIC_MTU_MAX, &((struct nic_config *)into)->mtu, err);
}

static int read_mac(const struct place *at, void *into, struct error *err)
{
	struct nic_config *c = into;
	struct rtnl_mac mac;
	struct str text;
	int r = need_text(at, &text, err);

	if (r < 0)
		return r;
	if (!rtnl_mac_parse(text, &mac))
		return config_fault(at, err, "must be six bytes, such as 02:00:00:00:00:05");
	if ((mac.bytes[0] & 1) || all_zero(mac.bytes, mac.n))
		return config_fault(
			at, err, "must be an address of one interface: not zero, first byte even");
	c->mac = mac;
	return 0;
}

static int read_cni(const struct place *at, void *into, struct error *err)
{
	struct nic_config *c = into;
	struct json *copy;
	struct str type;
	int r;

	if (!json_is(at->value, JSON_OBJECT))
		return wrong_type(at, "an object", err);
	type = json_text_at(at->value, "type");
	if (type.n == 0 || type.n > 255 || memchr(type.p, '/', type.n) || memchr(type.p, 0, type.n))
		return error_set(err, ERR_INVALID, "%s.type: must be the name of a plugin",
				 at->path);
	if (str_eqz(type, "devplane-cni"))
		return error_set(err, ERR_INVALID, "%s.type: %.*s is the calling plugin itself",
				 at->path, STR_ARG(type));
	r = json_copy(at->arena, at->value, &copy, err);
	c->cni = copy;
	return r;
}

static const struct member members[] = {
	{ "apiVersion", read_api_version },
	{ "kind", read_kind },
	{ "network", read_network },
	{ "interfaceName", read_interface_name },
	{ "addresses", read_addresses },
	{ "routes", read_routes },
	{ "mtu", read_mtu },
	{ "hardwareAddress", read_mac },
	{ "cni", read_cni },
	{ NULL, NULL },
};

/* --- what a claim may have run ------------------------------------------------------------ */

static bool lists(struct str list, struct str name)
{
	struct str piece;

	while (list.n > 0 && str_split(&list, ',', &piece))
		if (str_eq(piece, name))
			return true;
	return false;
}

static int refuse_plugin(struct arena *a, const char *path, struct str name, const char *list,
			 struct error *err)
{
	CLEANUP(buf_release) struct buf types = BUF_INIT(KIB);
	struct str rest = str_from(list), piece;

	while (rest.n > 0 && str_split(&rest, ',', &piece))
		(void)buf_printf(&types, "%s%.*s", types.n > 0 ? ", " : "", STR_ARG(piece));
	return error_set(err, ERR_INVALID,
			 "%s: a claim may not name the plugin \"%s\": this node allows %s; a "
			 "DeviceClass may",
			 path, config_shown(a, name), types.n > 0 ? types.p : "none");
}

/* Plugins are written in Go and match names of members in any case. */
static bool is_read_as(struct str key, const char *name)
{
	return key.n == strlen(name) && strncasecmp(key.p, name, key.n) == 0;
}

static int check_spelling(struct arena *a, const char *path, struct str key, const char *name,
			  struct error *err)
{
	if (str_eqz(key, name))
		return 0;
	return error_set(err, ERR_INVALID, "%s.%s: must be spelled %s", path, config_shown(a, key),
			 name);
}

static int check_ipam(struct arena *a, const struct json *ipam, const char *claim_cni,
		      struct error *err)
{
	static const char path[] = "parameters.cni.ipam", usual[] = "host-local,static,dhcp";
	struct place at = { .path = path, .value = ipam, .arena = a };
	int r;

	if (!json_is(ipam, JSON_OBJECT))
		return wrong_type(&at, "an object", err);
	JSON_FOREACH (it, ipam) {
		if (!is_read_as(json_key(it), "type"))
			continue;
		r = check_spelling(a, path, json_key(it), "type", err);
		if (r < 0)
			return r;
		at = (struct place){ .path = "parameters.cni.ipam.type", .value = it, .arena = a };
		if (!json_is(it, JSON_STRING))
			return wrong_type(&at, "a string", err);
		if (json_str(it).n > 0 && !lists(str_from(usual), json_str(it)) &&
		    !lists(str_from(claim_cni), json_str(it)))
			return refuse_plugin(a, at.path, json_str(it), usual, err);
	}
	return 0;
}

static int check_claims_plugin(struct arena *a, const struct json *cni, const char *claim_cni,
			       struct error *err)
{
	static const char path[] = "parameters.cni", delegate[] = "delegate";
	struct str type = json_text_at(cni, "type");
	int r = 0;

	if (strcmp(claim_cni, "*") == 0)
		return 0;
	if (strcmp(claim_cni, "none") == 0 || !lists(str_from(claim_cni), type))
		return refuse_plugin(a, "parameters.cni.type", type, claim_cni, err);
	JSON_FOREACH (it, cni) {
		struct str key = json_key(it);

		if (is_read_as(key, "ipam")) {
			r = check_spelling(a, path, key, "ipam", err);
			if (r == 0)
				r = check_ipam(a, it, claim_cni, err);
		} else if (key.n >= strlen(delegate) &&
			   is_read_as(str_of(key.p, strlen(delegate)), delegate)) {
			r = error_set(err, ERR_INVALID,
				      "%s.%s: a claim's plugin may not have others below it; a "
				      "DeviceClass's may",
				      path, config_shown(a, key));
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- the whole ---------------------------------------------------------------------------- */

int nic_config_from_tree(struct arena *a, const struct json *tree, struct nic_config *ret_config,
			 struct error *err)
{
	static const char *const not_with_cni[] = { "addresses", "routes", "mtu",
						    "hardwareAddress" };
	struct place at = { .path = "parameters", .value = tree, .arena = a };
	struct nic_config c = { .mtu = 0 };
	int r = read_object(&at, members, &c, err);

	if (r < 0)
		return r;
	for (size_t i = 0; c.cni && i < ARRAY_SIZE(not_with_cni); i++)
		if (json_getz(tree, not_with_cni[i]))
			return error_set(
				err, ERR_INVALID,
				"parameters.%s: cannot be together with cni, which sets it",
				not_with_cni[i]);
	*ret_config = c;
	return 0;
}

static int config_parse(struct arena *a, const char *text, struct json **ret_tree,
			struct error *err)
{
	struct json_report report = { 0 };
	struct json_options o = { .depth_max = 1000, .report = &report };

	if (json_parse(a, str_from(text), &o, ret_tree, err) < 0) {
		if (err)
			err->code = ERR_INVALID;
		return error_wrap(err, -ERR_INVALID, "parameters");
	}
	if (report.duplicates)
		return error_set(err, ERR_INVALID, "parameters: %s is there twice",
				 config_shown(a, report.duplicates->key));
	return 0;
}

/* Parses one source alone, then merges it over earlier ones. */
static int add_source(struct arena *a, const struct dp_opaque *o, struct json *all,
		      struct error *err)
{
	struct nic_config alone;
	struct json *tree, *copy;
	int r = config_parse(a, o->parameters, &tree, err);

	if (r == 0)
		r = nic_config_from_tree(a, tree, &alone, err);
	if (r == 0)
		r = json_copy(a, tree, &copy, err);
	if (r < 0)
		return o->source == DP_FROM_CLASS ? error_wrap(err, r, "device class") : r;
	JSON_FOREACH_SAFE (it, copy) {
		struct json *child = json_unlink(copy, it);

		json_set(all, json_key(child), child);
	}
	return 0;
}

int nic_config_read(struct arena *a, const struct dp_result *result, const char *claim_cni,
		    struct nic_config *ret_config, struct error *err)
{
	struct json *all = json_make_object(a);
	const struct json *cni = NULL;
	bool claims = false; /* the effective `cni` is from the claim */
	int r = 0;

	for (uint64_t i = 0; i < result->nconfigs; i++) {
		r = add_source(a, result->configs[i], all, err);
		if (r < 0)
			return r;
		if (json_getz(all, "cni") != cni)
			claims = result->configs[i]->source != DP_FROM_CLASS;
		cni = json_getz(all, "cni");
	}
	if (cni && claims)
		r = check_claims_plugin(a, cni, claim_cni, err);
	return r < 0 ? r : nic_config_from_tree(a, all, ret_config, err);
}

static void put_ip(struct arena *a, struct json *to, const char *key, const struct rtnl_ip *ip,
		   bool plain)
{
	char text[RTNL_IP_TEXT];

	if (plain)
		rtnl_ip_print_plain(ip, text);
	else
		rtnl_ip_print(ip, text);
	if (key)
		json_put_str(a, to, key, arena_str(a, str_from(text)));
	else
		json_append(to, json_make_str(a, arena_str(a, str_from(text))));
}

static struct json *route_tree(const struct rtnl_route *t, struct arena *a)
{
	struct json *o = json_make_object(a);

	put_ip(a, o, "to", &t->to, false);
	if (t->via.family)
		put_ip(a, o, "via", &t->via, true);
	if (t->metric)
		json_put_i64(a, o, "metric", t->metric);
	return o;
}

static void put_lists(const struct nic_config *c, struct json *o, struct arena *a)
{
	struct json *list;

	if (c->naddresses > 0) {
		list = json_need_array(a, o, "addresses");
		for (size_t i = 0; i < c->naddresses; i++)
			put_ip(a, list, NULL, &c->addresses[i], false);
	}
	if (c->nroutes > 0) {
		list = json_need_array(a, o, "routes");
		for (size_t i = 0; i < c->nroutes; i++)
			json_append(list, route_tree(&c->routes[i], a));
	}
}

struct json *nic_config_tree(const struct nic_config *c, struct arena *a)
{
	struct json *o = json_make_object(a), *copy;
	char mac[RTNL_MAC_TEXT];

	if (c->network)
		json_put_str(a, o, "network", arena_str(a, str_from(c->network)));
	if (c->interface_name[0])
		json_put_str(a, o, "interfaceName", arena_str(a, str_from(c->interface_name)));
	put_lists(c, o, a);
	if (c->mtu)
		json_put_i64(a, o, "mtu", c->mtu);
	if (c->mac.n) {
		rtnl_mac_print(&c->mac, mac);
		json_put_str(a, o, "hardwareAddress", arena_str(a, str_from(mac)));
	}
	if (c->cni && json_copy(a, c->cni, &copy, NULL) == 0)
		json_setz(o, "cni", copy);
	return o;
}

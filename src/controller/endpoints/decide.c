/*
 * Pods are added one by one and only their endpoints are kept, so a Service costs the memory of
 * its endpoints. Ports, conditions, names and limits are those of upstream's EndpointSlice
 * controller; only the source of the addresses differs (KEP-4817).
 */
#include "api/api_limits.h"
#include "api/schema/tree.h"
#include "controller/endpoints/decide.h"
#include "controller/endpoints/slices.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "dra/claims/pod_claims.h"
/* --- a Service ------------------------------------------------------------------------------- */

struct selector network_selector_of_map(struct arena *a, const struct json *map)
{
	struct selector_term *terms = ARENA_ARRAY(a, struct selector_term, json_count(map));
	size_t n = 0;

	JSON_FOREACH (it, map) {
		struct str *value = ARENA_NEW(a, struct str);

		*value = json_str(it);
		terms[n++] = (struct selector_term){
			.key = json_key(it), .op = SELECTOR_EQUALS, .values = value, .nvalues = 1
		};
	}
	return (struct selector){ .terms = terms, .n = n };
}

/* If a Service has no families, its server does not support them. */
void network_service_families(const struct json *spec, struct network_service *s)
{
	const struct json *families = json_getz(spec, "ipFamilies");
	struct str ip = json_text_at(spec, "clusterIP");

	if (json_count(families) > 0) {
		s->ipv4 = json_has_text(families, STR("IPv4"));
		s->ipv6 = json_has_text(families, STR("IPv6"));
	} else {
		s->ipv4 = s->headless || str_chr(ip, ':') < 0;
		s->ipv6 = s->headless || str_chr(ip, ':') >= 0;
	}
}

static int decide_read_selector(struct arena *a, const struct json *spec,
				const struct json *annotations, struct network_service *s,
				struct error *err)
{
	const struct json *map = json_getz(spec, "selector");
	const struct json *text = json_get(annotations, NETWORK_SELECTOR_ANNOTATION);
	struct error why;

	s->selects = json_count(map) > 0 || text;
	if (json_count(map) > 0) {
		s->selector = network_selector_of_map(a, map);
		return 0;
	}
	if (!text)
		return 0;
	if (str_trim(json_str(text)).n == 0)
		return error_set(err, ERR_INVALID,
				 "annotation devplane.dev/network-selector is empty");
	if (selector_parse_labels(a, json_str(text), &s->selector, &why) < 0)
		return error_set(err, ERR_INVALID, "annotation devplane.dev/network-selector: %s",
				 why.msg);
	return 0;
}

int network_service_read(struct arena *a, const struct json *service,
			 struct network_service *ret_service, struct error *err)
{
	const struct json *annotations = json_getz(json_getz(service, "metadata"), "annotations");
	const struct json *network = json_get(annotations, NETWORK_ANNOTATION);
	const struct json *spec = json_getz(service, "spec");
	struct str ip = json_text_at(spec, "clusterIP");
	struct network_service s = { .network = json_str(network) };
	int r;

	if (!network || str_eqz(json_text_at(spec, "type"), "ExternalName"))
		return 0;
	if (str_trim(s.network).n == 0)
		return error_set(err, ERR_INVALID, "annotation devplane.dev/network is empty");
	s.network = str_trim(s.network);
	s.headless = ip.n == 0 || str_eqz(ip, "None");
	s.publish_not_ready = json_true_at(spec, "publishNotReadyAddresses");
	network_service_families(spec, &s);
	r = decide_read_selector(a, spec, annotations, &s, err);
	if (r < 0)
		return r;
	*ret_service = s;
	return 1;
}

bool network_service_selects(const struct network_service *s,
			     struct str (*get)(const void *source, struct str key),
			     const void *source)
{
	return s->selects && selector_matches(&s->selector, get, source);
}

/* --- a pod ----------------------------------------------------------------------------------- */

size_t network_pod_claims(struct arena *a, const struct json *pod,
			  struct network_claim_ref **ret_refs)
{
	const struct json *list = json_getz(json_getz(pod, "spec"), "resourceClaims");
	struct network_claim_ref *refs = ARENA_ARRAY(a, struct network_claim_ref, json_count(list));
	size_t n = 0;

	JSON_FOREACH (it, list) {
		struct pod_claims_ref ref = pod_claims_ref_of(pod, it);

		if (ref.claim.n > 0)
			refs[n++] = (struct network_claim_ref){ ref.pod_claim, ref.claim };
	}
	*ret_refs = refs;
	return n;
}

static struct str condition_status(const struct json *object, const char *type)
{
	return json_text_at(json_find(json_getz(object, "conditions"), "type", str_from(type)),
			    "status");
}

bool network_pod_ready(const struct json *pod)
{
	return tree_condition_is_true(pod, STR("Ready"));
}

/* Whether it is on a node and has not ended. */
static bool may_have_endpoints(const struct json *pod)
{
	struct str phase = json_text_at(json_getz(pod, "status"), "phase");

	return json_text_at(json_getz(pod, "spec"), "nodeName").n > 0 &&
	       !str_eqz(phase, "Succeeded") && !str_eqz(phase, "Failed");
}

/* --- ports ----------------------------------------------------------------------------------- */

struct port {
	struct str name, protocol, app;
	int64_t number; /* -1: any */
};

static int port_cmp(const void *a, const void *b)
{
	return str_cmp(((const struct port *)a)->name, ((const struct port *)b)->name);
}

static int64_t port_in(const struct json *containers, struct str name, struct str protocol,
		       bool sidecars)
{
	JSON_FOREACH (c, containers) {
		if (sidecars && !str_eqz(json_text_at(c, "restartPolicy"), "Always"))
			continue;
		JSON_FOREACH (it, json_getz(c, "ports")) {
			struct str has = json_text_at(it, "protocol");

			if (str_eq(json_text_at(it, "name"), name) &&
			    str_eq(has.n ? has : STR("TCP"), protocol))
				return json_i64_at(it, "containerPort", -1);
		}
	}
	return -1;
}

/* The pod's port for that port of the Service; -1 if the pod does not have a port of that name. */
static int64_t target_port(const struct json *pod, const struct json *port, struct str protocol)
{
	const struct json *target = json_getz(port, "targetPort");
	const struct json *spec = json_getz(pod, "spec");
	struct str name = json_str(target);
	int64_t number;

	if (name.n == 0) {
		number = json_i64_at(port, "targetPort", 0);
		return number > 0 ? number : json_i64_at(port, "port", -1);
	}
	number = port_in(json_getz(spec, "containers"), name, protocol, false);
	return number > 0 ? number
			  : port_in(json_getz(spec, "initContainers"), name, protocol, true);
}

/* Resolves the ports of a Service for this pod; skips names that the pod does not have. */
static size_t resolve_ports(struct arena *a, const struct json *service, const struct json *pod,
			    struct port **ret_ports)
{
	const struct json *list = json_getz(json_getz(service, "spec"), "ports");
	struct port *ports = ARENA_ARRAY(a, struct port, json_count(list));
	size_t n = 0;

	JSON_FOREACH (it, list) {
		struct port p = { .name = json_text_at(it, "name"),
				  .protocol = json_text_at(it, "protocol"),
				  .app = json_text_at(it, "appProtocol") };

		if (p.protocol.n == 0)
			p.protocol = STR("TCP");
		p.number = target_port(pod, it, p.protocol);
		if (p.number > 0)
			ports[n++] = p;
	}
	*ret_ports = ports;
	return n;
}

/* The same text for the same ports in any order. Sorts them. */
static struct str ports_key(struct arena *a, struct str type, struct port *ports, size_t n)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT(OBJECT_MAX);

	qsort(ports, n, sizeof(*ports), port_cmp);
	(void)buf_add_str(&key, type);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&key, " %.*s/%.*s/%lld/%.*s", STR_ARG(ports[i].name),
				 STR_ARG(ports[i].protocol), (long long)ports[i].number,
				 STR_ARG(ports[i].app));
	return arena_str(a, buf_str(&key));
}

struct str network_group_key(struct arena *a, struct str address_type, const struct json *list)
{
	struct port *ports = ARENA_ARRAY(a, struct port, json_count(list));
	size_t n = 0;

	JSON_FOREACH (it, list)
		ports[n++] = (struct port){ .name = json_text_at(it, "name"),
					    .protocol = json_text_at(it, "protocol"),
					    .app = json_text_at(it, "appProtocol"),
					    .number = json_i64_at(it, "port", -1) };
	return ports_key(a, address_type, ports, n);
}

static struct json *ports_tree(struct arena *a, const struct port *ports, size_t n)
{
	struct json *list = json_make_array(a);

	for (size_t i = 0; i < n; i++) {
		struct json *it = json_make_object(a);

		json_put_str(a, it, "name", arena_str(a, ports[i].name));
		json_put_str(a, it, "protocol", arena_str(a, ports[i].protocol));
		json_put_i64(a, it, "port", ports[i].number);
		if (ports[i].app.n > 0)
			json_put_str(a, it, "appProtocol", arena_str(a, ports[i].app));
		json_append(list, it);
	}
	return list;
}

/* --- addresses ------------------------------------------------------------------------------- */

/* "IPv4" or "IPv6"; NULL for addresses that the API rejects in a slice, such as link-local ones. */
static const char *address_type_of(struct str address)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	uint32_t v4;

	if (address.n >= sizeof(text))
		return NULL;
	str_put(text, address);
	text[address.n] = '\0';
	if (inet_pton(AF_INET, text, &v4) == 1) {
		v4 = ntohl(v4);
		return v4 == 0 || v4 >> 24 == 127 || v4 >> 16 == 0xa9fe || v4 >> 8 == 0xe00000
			       ? NULL
			       : "IPv4";
	}
	if (inet_pton(AF_INET6, text, &v6) != 1)
		return NULL;
	return IN6_IS_ADDR_UNSPECIFIED(&v6) || IN6_IS_ADDR_LOOPBACK(&v6) ||
			       IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_MC_LINKLOCAL(&v6) ||
			       IN6_IS_ADDR_V4MAPPED(&v6)
		       ? NULL
		       : "IPv6";
}

static bool is_reserved_for(const struct json *claim, struct str uid)
{
	const struct json *list = json_getz(json_getz(claim, "status"), "reservedFor");
	const struct json *user = json_find(list, "uid", uid);

	return uid.n > 0 && user && str_eqz(json_text_at(user, "resource"), "pods");
}

static bool is_on_network(const struct json *device, struct str claim_name, struct str network)
{
	struct str named = json_text_at(json_getz(device, "data"), "network");

	return str_eq(named.n > 0 ? named : claim_name, network);
}

/* --- the desired endpoints ------------------------------------------------------------------- */

void network_wanted_init(struct network_wanted *w, struct arena *a, const struct json *service,
			 const struct network_service *says)
{
	*w = (struct network_wanted){
		.arena = a, .service = service, .says = *says, .manager = STR(NETWORK_MANAGER)
	};
	w->last = &w->first;
	map_init(&w->groups);
	map_init(&w->endpoints);
}

void network_wanted_release(struct network_wanted *w)
{
	map_release(&w->groups);
	map_release(&w->endpoints);
}

/* The pod that is being added. */
struct addition {
	struct network_wanted *w;
	const struct json *pod;
	struct port *ports;
	size_t nports;
	struct network_endpoint about; /* the common members of its endpoints */
	struct network_group *groups[2]; /* by family; NULL: not looked up yet */
};

static struct network_group *group_of(struct addition *add, const char *type)
{
	struct network_wanted *w = add->w;
	struct network_group **known = &add->groups[strcmp(type, "IPv6") == 0];
	struct str key;

	if (*known)
		return *known;
	key = ports_key(w->arena, str_from(type), add->ports, add->nports);
	*known = map_get(&w->groups, key);
	if (*known)
		return *known;
	*known = ARENA_NEW(w->arena, struct network_group);
	**known = (struct network_group){ .key = key,
					  .address_type = type,
					  .ports = ports_tree(w->arena, add->ports, add->nports),
					  .last = &(*known)->first,
					  .number = w->groups.n };
	(void)map_put(&w->groups, key, *known);
	*w->last = *known;
	w->last = &(*known)->next;
	return *known;
}

/*
 * If two entries of one pod have the same address, that is one endpoint; the better state counts.
 */
static void add_endpoint(struct addition *add, struct str address, const char *type, bool works)
{
	struct network_group *g = group_of(add, type);
	struct arena *a = add->w->arena;
	struct str key = str_from(arena_printf(a, "%zu %.*s %.*s", g->number, STR_ARG(address),
					       STR_ARG(add->about.pod)));
	struct network_endpoint *e = map_get(&add->w->endpoints, key);

	if (!e) {
		e = ARENA_NEW(a, struct network_endpoint);
		*e = add->about;
		e->address = arena_str(a, address);
		e->serving = false;
		(void)map_put(&add->w->endpoints, key, e);
		*g->last = e;
		g->last = &e->next;
		g->n++;
	}
	e->serving = e->serving || (works && add->about.serving);
	e->ready = add->w->says.publish_not_ready || (e->serving && !e->terminating);
}

/* If the API and the Service's families admit it. */
static void add_address(struct addition *add, struct str address, bool works)
{
	const struct network_service *says = &add->w->says;
	const char *type = address_type_of(address);

	if (type && (strcmp(type, "IPv4") == 0 ? says->ipv4 : says->ipv6))
		add_endpoint(add, address, type, works);
}

static void decide_add_device(struct addition *add, const struct json *device)
{
	bool works = !str_eqz(condition_status(device, "Ready"), "False");

	JSON_FOREACH (it, json_getz(json_getz(device, "networkData"), "ips")) {
		struct str rest = json_str(it), address = STR_NULL;

		(void)str_split(&rest, '/', &address);
		add_address(add, address, works);
	}
}

/* Upstream's rule for the name that DNS serves. */
static struct str hostname_of(const struct network_wanted *w, const struct json *pod)
{
	const struct json *spec = json_getz(pod, "spec");
	struct str service = json_text_at(json_getz(w->service, "metadata"), "name");

	return str_eq(json_text_at(spec, "subdomain"), service) ? json_text_at(spec, "hostname")
								: STR_NULL;
}

static struct addition begin_pod(struct network_wanted *w, const struct json *pod, struct str zone)
{
	const struct json *meta = json_getz(pod, "metadata");
	struct addition add = { .w = w, .pod = pod };

	add.nports = resolve_ports(w->arena, w->service, pod, &add.ports);
	add.about = (struct network_endpoint){
		.pod = arena_str(w->arena, json_text_at(meta, "name")),
		.uid = arena_str(w->arena, json_text_at(meta, "uid")),
		.node = arena_str(w->arena, json_text_at(json_getz(pod, "spec"), "nodeName")),
		.hostname = arena_str(w->arena, hostname_of(w, pod)),
		.zone = arena_str(w->arena, zone),
		.terminating = json_getz(meta, "deletionTimestamp") != NULL,
		.serving = network_pod_ready(pod),
	};
	return add;
}

void network_wanted_add(struct network_wanted *w, const struct json *pod,
			const struct network_claim_ref *refs, const struct json *const *claims,
			size_t n)
{
	struct addition add;

	if (!may_have_endpoints(pod))
		return;
	add = begin_pod(w, pod, STR_NULL);
	for (size_t i = 0; i < n; i++) {
		if (!claims[i] || !is_reserved_for(claims[i], add.about.uid))
			continue;
		JSON_FOREACH (it, json_getz(json_getz(claims[i], "status"), "devices")) {
			if (is_on_network(it, refs[i].name, w->says.network))
				decide_add_device(&add, it);
		}
	}
}

void network_wanted_add_addresses(struct network_wanted *w, const struct json *pod, struct str zone,
				  const struct str *addresses, size_t n)
{
	struct addition add = begin_pod(w, pod, zone);

	for (size_t i = 0; i < n; i++)
		add_address(&add, addresses[i], true);
}

/*
 * One check decides about all objects and writes the differences, usually only the Lease. Servers
 * that check at the same time write the same.
 */
#include "server/services/kubernetes_service.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/services/services.h"
#include "server/startup/identity.h"

enum { LOOK_MS = 10 * 1000, LEASE_S = 15, PORT = 443 };

#define NAMESPACE  STR("default")
#define NAME       STR("kubernetes")
#define SYSTEM     STR("kube-system")
#define ANNOTATION "devplane.dev/endpoint"
#define PREFIX     "kubernetes-endpoint-"

struct kubernetes_service {
	struct server *server;
	struct loop_timer timer;
	void (*done)(void *arg, const struct error *err); /* NULL if it was called */
	void *arg;
	struct addr at; /* the address at which others reach this server; len 0: unknown */
	char lease[128];
	bool told_range, told_ip; /* whether these problems were logged */
};

static const struct schema_kind *kubernetes_service_kind_of(const char *group, const char *resource)
{
	return schema_find_resource(str_from(group), STR("v1"), str_from(resource));
}

static bool is_shared(const struct kubernetes_service *k)
{
	return k->server->opts.netcd_servers > 0;
}

/* --- the address ---------------------------------------------------------------------------- */

static bool is_unspecified(const struct addr *at)
{
	return str_eqz(str_from(at->host), "0.0.0.0") || str_eqz(str_from(at->host), "::");
}

/* The first address of an interface that is up and not the loopback. */
static bool find_interface(bool is4, struct addr *ret_at, uint16_t port)
{
	struct ifaddrs *all, *it;
	struct addr at;
	int family = is4 ? AF_INET : AF_INET6;

	if (getifaddrs(&all) < 0)
		return false;
	for (it = all; it; it = it->ifa_next)
		if (it->ifa_addr && it->ifa_addr->sa_family == family && (it->ifa_flags & IFF_UP) &&
		    !(it->ifa_flags & IFF_LOOPBACK))
			break;
	if (it)
		addr_from_sockaddr(&at, it->ifa_addr,
				   is4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	freeifaddrs(all);
	return it && addr_parse(ret_at, str_from(at.host), port, NULL) == 0;
}

static void find_address(struct kubernetes_service *k)
{
	const struct server *s = k->server;
	struct error err;

	if (s->opts.advertise_address) {
		if (addr_parse(&k->at, str_from(s->opts.advertise_address), s->at.port, &err) < 0)
			log_warn(s->opts.log, "--advertise-address", LOG_ERR(&err));
		return;
	}
	k->at = s->at;
	if (is_unspecified(&s->at) &&
	    (s->opts.simulated ||
	     !find_interface(services_first(s->services).is4, &k->at, s->at.port)))
		k->at = (struct addr){ 0 };
}

/* --- the range ------------------------------------------------------------------------------ */

static struct json *ready_condition(const struct kubernetes_service *k, struct arena *a)
{
	struct json *list = json_make_array(a), *c = json_make_object(a);
	char now[TIMESTAMP_SIZE];

	json_put_str(a, c, "type", STR("Ready"));
	json_put_str(a, c, "status", STR("True"));
	json_put_str(a, c, "lastTransitionTime",
		     arena_str(a, timestamp_print(clock_wall(k->server->clock), TIMESTAMP_SECONDS,
						  now)));
	json_put_str(a, c, "reason", STR(""));
	json_put_str(a, c, "message", STR("Kubernetes default Service CIDR is ready"));
	json_append(list, c);
	return list;
}

static struct json *body_of(struct arena *a, const char *version, const char *kind, bool namespaced)
{
	struct json *body = json_make_object(a), *meta = json_need_object(a, body, "metadata");

	json_put_str(a, body, "apiVersion", str_from(version));
	json_put_str(a, body, "kind", str_from(kind));
	json_put_str(a, meta, "name", NAME);
	if (namespaced)
		json_put_str(a, meta, "namespace", NAMESPACE);
	return body;
}

static void set_ready(struct kubernetes_service *k, struct ensure *e, const struct json *there)
{
	struct arena *a = ensure_arena(e);
	const struct json *list = json_getz(json_getz(there, "status"), "conditions");
	struct json *patch = json_make_object(a);

	/* If someone has set that it is not ready, that is respected. */
	if (json_find(list, "type", STR("Ready")))
		return;
	json_setz(json_need_object(a, patch, "status"), "conditions", ready_condition(k, a));
	ensure_patch_status(e, kubernetes_service_kind_of("networking.k8s.io", "servicecidrs"),
			    there, patch, ENSURE_MANAGER);
}

static void ensure_cidr(struct kubernetes_service *k, struct ensure *e)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("networking.k8s.io",
								    "servicecidrs");
	struct arena *a = ensure_arena(e);
	struct json *cidrs = services_cidrs(k->server->services, a), *body;
	struct json *there = ensure_tree(e, kind, STR(""), NAME);
	const struct json *has = json_getz(json_getz(there, "spec"), "cidrs");

	if (!there) {
		body = body_of(a, "networking.k8s.io/v1", "ServiceCIDR", false);
		json_setz(json_need_object(a, body, "spec"), "cidrs", cidrs);
		json_setz(json_need_object(a, body, "status"), "conditions", ready_condition(k, a));
		ensure_create_status(e, kind, body, ENSURE_MANAGER);
	} else if (json_equal(has, cidrs)) {
		k->told_range = false;
		set_ready(k, e, there);
	} else if (json_count(cidrs) == 2 && json_count(has) == 1 &&
		   json_equal(json_first(has), json_first(cidrs))) {
		body = json_make_object(a);
		json_setz(json_need_object(a, body, "spec"), "cidrs", cidrs);
		ensure_patch(e, kind, there, body, ENSURE_MANAGER);
	} else if (!k->told_range) {
		k->told_range = true;
		log_warn(k->server->opts.log,
			 "--service-cluster-ip-range differs from ServiceCIDR kubernetes, which "
			 "takes precedence: change the flag, or create a ServiceCIDR with another "
			 "name");
	}
}

/* --- the service ---------------------------------------------------------------------------- */

static struct json *service_of(struct arena *a, struct str ip, bool is4, int64_t target)
{
	struct json *body = body_of(a, "v1", "Service", true);
	struct json *labels = json_need_object(a, json_getz(body, "metadata"), "labels");
	struct json *spec = json_need_object(a, body, "spec");
	struct json *ips = json_make_array(a), *families = json_make_array(a);
	struct json *ports = json_make_array(a), *port = json_make_object(a);

	json_put_str(a, labels, "component", STR("apiserver"));
	json_put_str(a, labels, "provider", STR("kubernetes"));
	json_put_str(a, spec, "clusterIP", ip);
	json_append(ips, json_make_str(a, ip));
	json_setz(spec, "clusterIPs", ips);
	json_append(families, json_make_str(a, is4 ? STR("IPv4") : STR("IPv6")));
	json_setz(spec, "ipFamilies", families);
	json_put_str(a, spec, "ipFamilyPolicy", STR("SingleStack"));
	json_put_str(a, port, "name", STR("https"));
	json_put_str(a, port, "protocol", STR("TCP"));
	json_put_i64(a, port, "port", PORT);
	json_put_i64(a, port, "targetPort", target);
	json_append(ports, port);
	json_setz(spec, "ports", ports);
	return body;
}

static bool is_own(const struct json *address)
{
	const struct json *parent = json_getz(json_getz(address, "spec"), "parentRef");

	return str_eqz(json_text_at(parent, "resource"), "services") &&
	       str_eq(json_text_at(parent, "namespace"), NAMESPACE) &&
	       str_eq(json_text_at(parent, "name"), NAME);
}

/* The servers are behind its own port; ports that someone added stay. */
static void ensure_target(struct ensure *e, const struct json *there, int64_t target)
{
	struct arena *a = ensure_arena(e);
	struct json *patch = json_make_object(a);
	struct json *ports = NULL;
	bool differs = false;

	if (json_copy(a, json_getz(json_getz(there, "spec"), "ports"), &ports, NULL) < 0)
		return;
	JSON_FOREACH (port, ports) {
		if (json_i64_at(port, "port", 0) != PORT ||
		    json_i64_at(port, "targetPort", 0) == target)
			continue;
		json_put_i64(a, port, "targetPort", target);
		differs = true;
	}
	if (!differs)
		return;
	json_setz(json_need_object(a, patch, "spec"), "ports", ports);
	ensure_patch(e, kubernetes_service_kind_of("", "services"), there, patch, ENSURE_MANAGER);
}

/* `target` is 0 if no server's address is known. */
static void ensure_service(struct kubernetes_service *k, struct ensure *e, int64_t target)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("", "services");
	struct arena *a = ensure_arena(e);
	struct address ip = services_first(k->server->services);
	char text[ADDRESS_TEXT];
	struct str name = arena_str(a, str_from(address_print(&ip, text)));
	struct json *address, *there = ensure_tree(e, kind, NAMESPACE, NAME);

	if (there && target)
		ensure_target(e, there, target);
	if (there) {
		k->told_ip = false;
		return;
	}
	address = ensure_tree(e, kubernetes_service_kind_of("networking.k8s.io", "ipaddresses"),
			      STR(""), name);
	if (address && !is_own(address)) {
		if (!k->told_ip)
			log_warn(
				k->server->opts.log,
				"cannot create service kubernetes: another service has its address",
				LOG_STR("ip", name));
		k->told_ip = true;
		return;
	}
	if (!address)
		services_lock(e, &ip, NAMESPACE, NAME);
	ensure_create(e, kind, service_of(a, name, ip.is4, target ? target : k->server->at.port),
		      ENSURE_MANAGER);
}

/* --- leases --------------------------------------------------------------------------------- */

static void put_lease(struct kubernetes_service *k, struct ensure *e)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("coordination.k8s.io",
								    "leases");
	struct arena *a = ensure_arena(e);
	struct json *lease = json_make_object(a), *meta = json_need_object(a, lease, "metadata");
	struct json *spec = json_need_object(a, lease, "spec"), *there;
	char now[TIMESTAMP_SIZE];

	json_put_str(a, lease, "apiVersion", STR("coordination.k8s.io/v1"));
	json_put_str(a, lease, "kind", STR("Lease"));
	json_put_str(a, meta, "name", str_from(k->lease));
	json_put_str(a, meta, "namespace", SYSTEM);
	json_put_str(a, json_need_object(a, meta, "annotations"), ANNOTATION, str_from(k->at.text));
	json_put_str(a, spec, "holderIdentity", identity_name(k->server->identity));
	json_put_i64(a, spec, "leaseDurationSeconds", LEASE_S);
	json_put_str(
		a, spec, "renewTime",
		arena_str(a, timestamp_print(clock_wall(k->server->clock), TIMESTAMP_MICRO, now)));
	there = ensure_tree(e, kind, SYSTEM, str_from(k->lease));
	if (there)
		ensure_patch(e, kind, there, lease, ENSURE_MANAGER);
	else
		ensure_create(e, kind, lease, ENSURE_MANAGER);
}

static bool has_run_out(const struct kubernetes_service *k, const struct json *lease)
{
	const struct json *spec = json_getz(lease, "spec");
	int64_t renewed, lasts = json_i64_at(spec, "leaseDurationSeconds", 0);

	return timestamp_parse(json_text_at(spec, "renewTime"), &renewed, NULL) < 0 ||
	       renewed + lasts * CLOCK_SEC < clock_wall(k->server->clock);
}

/* The addresses of live servers with the same port, because a slice can have only one. */
struct live {
	struct json *hosts;
	struct str first; /* the Lease that determines the port: the same for all servers */
	uint16_t port;
};

/* Others come in name order: only the first of them may determine another port. */
static void add_server(struct arena *a, struct live *live, struct str lease, const struct addr *at)
{
	struct str host = str_from(at->host);

	if (!live->hosts || str_cmp(lease, live->first) < 0) {
		live->first = lease;
		if (!live->hosts || live->port != at->port)
			live->hosts = json_make_array(a);
		live->port = at->port;
	}
	if (live->port == at->port && !json_has_text(live->hosts, host))
		json_append(live->hosts, json_make_str(a, arena_str(a, host)));
}

/* All live servers; deletes expired Leases. */
static struct live live_servers(struct kubernetes_service *k, struct ensure *e)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("coordination.k8s.io",
								    "leases");
	struct arena *a = ensure_arena(e);
	struct live live = { 0 };

	if (k->at.len)
		add_server(a, &live, str_from(k->lease), &k->at);
	if (!is_shared(k))
		return live;
	JSON_FOREACH (it, ensure_names(e, kind, SYSTEM)) {
		struct json *lease = str_starts(json_str(it), STR(PREFIX))
					     ? ensure_tree(e, kind, SYSTEM, json_str(it))
					     : NULL;
		const struct json *notes = json_getz(json_getz(lease, "metadata"), "annotations");
		struct addr at;

		if (!json_text_at(notes, ANNOTATION).n || str_eqz(json_str(it), k->lease))
			continue;
		if (has_run_out(k, lease))
			ensure_delete(e, kind, lease);
		else if (addr_parse(&at, json_text_at(notes, ANNOTATION), 0, NULL) == 0)
			add_server(a, &live, json_str(it), &at);
	}
	return live;
}

/* --- endpoints ------------------------------------------------------------------------------ */

static bool same_ports(const struct json *ports, const struct live *live)
{
	return json_count(ports) == 1 && json_i64_at(json_first(ports), "port", 0) == live->port;
}

static struct json *port_list(const struct live *live, struct arena *a)
{
	struct json *list = json_make_array(a), *port = json_make_object(a);

	json_put_str(a, port, "name", STR("https"));
	json_put_i64(a, port, "port", live->port);
	json_put_str(a, port, "protocol", STR("TCP"));
	json_append(list, port);
	return list;
}

/* Only addresses of the first one's family: a slice has one family. */
static struct json *endpoints_of(struct arena *a, const struct json *hosts, bool is6)
{
	struct json *list = json_make_array(a);

	JSON_FOREACH (host, hosts) {
		struct json *endpoint, *addresses;

		if ((str_chr(json_str(host), ':') >= 0) != is6)
			continue;
		endpoint = json_make_object(a);
		addresses = json_make_array(a);
		json_append(addresses, json_make_str(a, json_str(host)));
		json_setz(endpoint, "addresses", addresses);
		json_put_bool(a, json_need_object(a, endpoint, "conditions"), "ready", true);
		json_append(list, endpoint);
	}
	return list;
}

static bool same_hosts(const struct json *there, const struct json *hosts)
{
	if (json_count(there) != json_count(hosts))
		return false;
	JSON_FOREACH (it, there)
		if (!json_has_text(hosts, json_text_at(it, "ip")))
			return false;
	return true;
}

static void ensure_endpoints(struct ensure *e, const struct live *live)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("", "endpoints");
	struct arena *a = ensure_arena(e);
	struct json *there = ensure_tree(e, kind, NAMESPACE, NAME);
	struct json *body = body_of(a, "v1", "Endpoints", true), *list = json_make_array(a);
	struct json *subset = json_make_object(a), *subsets = json_make_array(a);
	const struct json *first = json_first(json_getz(there, "subsets"));

	if (json_count(json_getz(there, "subsets")) == 1 &&
	    same_hosts(json_getz(first, "addresses"), live->hosts) &&
	    same_ports(json_getz(first, "ports"), live))
		return;
	json_put_str(a, json_need_object(a, json_getz(body, "metadata"), "labels"),
		     "endpointslice.kubernetes.io/skip-mirror", STR("true"));
	JSON_FOREACH (host, live->hosts) {
		struct json *address = json_make_object(a);

		json_put_str(a, address, "ip", json_str(host));
		json_append(list, address);
	}
	json_setz(subset, "addresses", list);
	json_setz(subset, "ports", port_list(live, a));
	json_append(subsets, subset);
	json_setz(body, "subsets", subsets);
	if (there)
		ensure_patch(e, kind, there, body, ENSURE_MANAGER);
	else
		ensure_create(e, kind, body, ENSURE_MANAGER);
}

static bool same_slice(const struct json *there, const struct json *endpoints)
{
	const struct json *list = json_getz(there, "endpoints");

	if (json_count(list) != json_count(endpoints))
		return false;
	JSON_FOREACH (it, list) {
		bool found = false;

		JSON_FOREACH (other, endpoints)
			found |= json_equal(json_getz(it, "addresses"),
					    json_getz(other, "addresses"));
		if (!found)
			return false;
	}
	return true;
}

static void ensure_slice(struct ensure *e, const struct live *live)
{
	const struct schema_kind *kind = kubernetes_service_kind_of("discovery.k8s.io",
								    "endpointslices");
	struct arena *a = ensure_arena(e);
	struct json *there = ensure_tree(e, kind, NAMESPACE, NAME);
	struct json *body = body_of(a, "discovery.k8s.io/v1", "EndpointSlice", true);
	bool is6 = str_chr(json_str(json_first(live->hosts)), ':') >= 0;
	struct str type = is6 ? STR("IPv6") : STR("IPv4");
	struct json *endpoints = endpoints_of(a, live->hosts, is6);

	/* A slice cannot change its family; the next check creates a new one. */
	if (there && !str_eq(json_text_at(there, "addressType"), type)) {
		ensure_delete(e, kind, there);
		return;
	}
	if (there && same_slice(there, endpoints) && same_ports(json_getz(there, "ports"), live))
		return;
	json_put_str(a, json_need_object(a, json_getz(body, "metadata"), "labels"),
		     "kubernetes.io/service-name", NAME);
	json_put_str(a, body, "addressType", type);
	json_setz(body, "endpoints", endpoints);
	json_setz(body, "ports", port_list(live, a));
	if (there)
		ensure_patch(e, kind, there, body, ENSURE_MANAGER);
	else
		ensure_create(e, kind, body, ENSURE_MANAGER);
}

/* --- steps ---------------------------------------------------------------------------------- */

/* A later failure is retried with the next check. */
static void kubernetes_service_on_written(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct kubernetes_service *k = arg;
	void (*done)(void *arg, const struct error *err) = k->done;

	k->done = NULL;
	if (done)
		done(k->arg, err);
	else if (err && !atomic_load(&k->server->stopping))
		log_warn(k->server->opts.log, "cannot keep service kubernetes up to date",
			 LOG_ERR(err));
}

static void services_kubernetes_service_look(struct kubernetes_service *k)
{
	struct ensure *e = ensure_new(k->server, kubernetes_service_on_written, k);
	struct live live = live_servers(k, e);

	ensure_cidr(k, e);
	ensure_service(k, e, live.port);
	if (is_shared(k) && k->at.len)
		put_lease(k, e);
	if (json_count(live.hosts)) {
		ensure_endpoints(e, &live);
		ensure_slice(e, &live);
	}
	loop_timer_start(&k->timer, LOOK_MS);
	ensure_end(e);
}

static void kubernetes_service_on_timer(struct loop_timer *t)
{
	services_kubernetes_service_look(CONTAINER_OF(t, struct kubernetes_service, timer));
}

struct kubernetes_service *kubernetes_service_new(struct server *s,
						  void (*done)(void *arg, const struct error *err),
						  void *arg)
{
	struct kubernetes_service *k = xcalloc(1, sizeof(*k));

	k->server = s;
	k->done = done;
	k->arg = arg;
	loop_timer_init(&k->timer, s->opts.loops[0], kubernetes_service_on_timer);
	find_address(k);
	(void)snprintf(k->lease, sizeof(k->lease), PREFIX "%.*s",
		       STR_ARG(identity_name(s->identity)));
	services_kubernetes_service_look(k);
	return k;
}

void kubernetes_service_look(struct kubernetes_service *k)
{
	loop_timer_start(&k->timer, 0);
}

static void on_dropped(void *arg UNUSED, const struct error *err UNUSED, bool outrun UNUSED)
{
}

void kubernetes_service_stop(struct kubernetes_service *k)
{
	struct json *lease;
	struct ensure *e;

	if (!k)
		return;
	loop_timer_stop(&k->timer);
	if (!is_shared(k) || state_health(k->server->state, NULL) < 0)
		return;
	e = ensure_new(k->server, on_dropped, NULL);
	lease = ensure_tree(e, kubernetes_service_kind_of("coordination.k8s.io", "leases"), SYSTEM,
			    str_from(k->lease));
	if (lease)
		ensure_delete(e, kubernetes_service_kind_of("coordination.k8s.io", "leases"),
			      lease);
	ensure_end(e);
}

void kubernetes_service_free(struct kubernetes_service *k)
{
	free(k);
}

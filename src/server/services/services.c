/*
 * Knowledge of addresses comes from observing services and IPAddresses. Decisions read the
 * objects themselves, pending writes included, so two writes in one turn do not get the same
 * address.
 */
#include "server/services/services.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/services/services_impl.h"

enum { IPS_MAX = 1 << 24 };

static const char default_cidr[] = SERVER_SERVICE_CIDR;

const struct schema_kind *services_kind(void)
{
	return schema_find_resource(STR(""), STR("v1"), STR("services"));
}

const struct schema_kind *services_address_kind(void)
{
	return schema_find_resource(STR("networking.k8s.io"), STR("v1"), STR("ipaddresses"));
}

/* --- flags ---------------------------------------------------------------------------------- */

static int add_cidr(struct services *sv, struct str text, struct error *err)
{
	struct address cidr;
	struct service_range range;

	if (!address_read_cidr(text, &cidr))
		return error_set(err, ERR_INVALID,
				 "--service-cluster-ip-range: %.*s is not a range such as %s",
				 STR_ARG(text), default_cidr);
	cidr = address_masked(&cidr);
	if (!service_range_init(&range, &cidr) || range.size < 8)
		return error_set(err, ERR_INVALID,
				 "--service-cluster-ip-range: %.*s must have at least 8 addresses",
				 STR_ARG(text));
	/* As upstream, whose bitmap has a bit for each address. */
	if (cidr.is4 ? cidr.prefix < 12 : cidr.prefix < 64)
		return error_set(err, ERR_INVALID,
				 "--service-cluster-ip-range: %.*s is too large: a prefix of %d is "
				 "the shortest",
				 STR_ARG(text), cidr.is4 ? 12 : 64);
	if (sv->ncidrs == 2 || (sv->ncidrs == 1 && sv->cidrs[0].is4 == cidr.is4))
		return error_set(err, ERR_INVALID,
				 "--service-cluster-ip-range: one range, or one of IPv4 and one "
				 "of IPv6");
	sv->cidrs[sv->ncidrs++] = cidr;
	if (cidr.is4)
		sv->families.has4 = true;
	else
		sv->families.has6 = true;
	sv->families.first6 = !sv->cidrs[0].is4;
	return 0;
}

static int read_cidrs(struct services *sv, const char *const *v, size_t n, struct error *err)
{
	int r = 0;

	if (n == 0)
		return add_cidr(sv, str_from(default_cidr), err);
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_cidr(sv, str_from(v[i]), err);
	return r;
}

/* --- lifecycle ------------------------------------------------------------------------------ */

int services_new(struct server *s, const struct server_opts *opts, struct services **ret_services,
		 struct error *err)
{
	struct services *sv = xcalloc(1, sizeof(*sv));
	int r;

	sv->server = s;
	vec_init(&sv->known, IPS_MAX);
	vec_init(&sv->queue, IPS_MAX);
	map_init(&sv->ips);
	loop_timer_init(&sv->work, opts->loops[0], services_on_work);
	loop_timer_init(&sv->repair, opts->loops[0], services_on_repair);
	r = read_cidrs(sv, opts->service_cluster_ip_ranges, opts->nservice_cluster_ip_ranges, err);
	if (r == 0)
		r = services_ports_init(sv, opts->service_node_port_range, err);
	if (r < 0)
		services_free(sv);
	else
		*ret_services = sv;
	return r;
}

void services_start(struct services *sv)
{
	sv->started = true;
	services_on_repair(&sv->repair);
}

void services_stop(struct services *sv)
{
	if (!sv)
		return;
	sv->started = false;
	loop_timer_stop(&sv->work);
	loop_timer_stop(&sv->repair);
	loop_timer_stop(&sv->ports.work);
}

static void service_ip_free(struct service_ip *e)
{
	free(e->user);
	free(e->parent);
	free(e->left);
	free(e);
}

void services_free(struct services *sv)
{
	struct str key;
	void *entry;
	size_t at = 0;

	if (!sv)
		return;
	while (map_next(&sv->ips, &at, &key, &entry))
		service_ip_free(entry);
	map_release(&sv->ips);
	for (size_t i = 0; i < sv->known.n; i++)
		free(sv->known.v[i].name);
	vec_release(&sv->known);
	vec_release(&sv->queue);
	services_ports_release(sv);
	free(sv);
}

char *services_key(struct str ns, struct str name)
{
	size_t n = ns.n + name.n + 2;
	char *key = xmalloc(n);

	(void)snprintf(key, n, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
	return key;
}

/* --- entries -------------------------------------------------------------------------------- */

struct service_ip *services_ip(struct services *sv, struct str ip, bool make)
{
	struct service_ip *e = map_get(&sv->ips, ip);

	if (e || !make || ip.n >= sizeof(e->ip))
		return e;
	e = xcalloc(1, sizeof(*e));
	str_put(e->ip, ip);
	(void)map_put(&sv->ips, str_from(e->ip), e);
	return e;
}

void services_ip_settle(struct services *sv, struct service_ip *e)
{
	if (e->user || e->parent || e->foreign || e->queued)
		return;
	(void)map_remove(&sv->ips, str_from(e->ip));
	service_ip_free(e);
}

/* --- addresses ------------------------------------------------------------------------------ */

const struct service_families *services_families(const struct services *sv)
{
	return &sv->families;
}

struct json *services_cidrs(const struct services *sv, struct arena *a)
{
	struct json *list = json_make_array(a);
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < sv->ncidrs; i++)
		json_append(list, json_make_str(a, arena_str(a, str_from(address_print_cidr(
									&sv->cidrs[i], text)))));
	return list;
}

struct address services_first(const struct services *sv)
{
	struct address first = address_add(&sv->cidrs[0], 1);

	first.prefix = first.is4 ? 32 : 128;
	return first;
}

bool services_has(const struct services *sv, const struct address *ip)
{
	for (size_t i = 0; i < sv->known.n; i++) {
		const struct service_cidr *c = &sv->known.v[i];

		for (size_t k = 0; k < c->n && c->ready; k++)
			if (service_range_has(&c->ranges[k], ip))
				return true;
	}
	return false;
}

bool services_has_family(const struct services *sv, bool is4)
{
	for (size_t i = 0; i < sv->known.n; i++) {
		const struct service_cidr *c = &sv->known.v[i];

		for (size_t k = 0; k < c->n && c->ready; k++)
			if (c->ranges[k].cidr.is4 == is4)
				return true;
	}
	return false;
}

static struct object *object_of(const struct services *sv, const struct address *ip)
{
	struct resource *r = state_resource(sv->server->state, services_address_kind());
	char text[ADDRESS_TEXT];

	return resource_tip(r, STR(""), str_from(address_print(ip, text)));
}

bool services_is_taken(const struct services *sv, const struct address *ip)
{
	return object_of(sv, ip) != NULL;
}

bool services_is_left(const struct services *sv, const struct address *ip)
{
	char text[ADDRESS_TEXT];
	const struct service_ip *e = map_get(&sv->ips, str_from(address_print(ip, text)));

	return e && e->parent && !e->user && !e->foreign;
}

/* The service kubernetes must get its own address back if someone deleted it. */
static bool server_services_is_taken(void *arg, const struct address *ip)
{
	struct address first = services_first(arg);

	return (first.is4 == ip->is4 && address_compare(&first, ip) == 0) ||
	       services_is_taken(arg, ip);
}

bool services_pick(struct services *sv, bool is4, struct address *ret_ip)
{
	struct prng *prng = loop_prng(sv->server->opts.loops[0]);

	for (size_t i = 0; i < sv->known.n; i++) {
		const struct service_cidr *c = &sv->known.v[i];

		for (size_t k = 0; k < c->n && c->ready; k++)
			if (c->ranges[k].cidr.is4 == is4 &&
			    service_range_pick(&c->ranges[k], prng, server_services_is_taken, sv,
					       ret_ip))
				return true;
	}
	return false;
}

struct address services_shown(const struct services *sv, bool is4)
{
	return sv->ncidrs == 2 && sv->cidrs[1].is4 == is4 ? sv->cidrs[1] : sv->cidrs[0];
}

void services_lock(struct ensure *e, const struct address *ip, struct str ns, struct str name)
{
	struct arena *a = ensure_arena(e);
	struct json *body = json_make_object(a), *meta = json_need_object(a, body, "metadata");
	struct json *labels = json_need_object(a, meta, "labels");
	struct json *parent = json_need_object(a, json_need_object(a, body, "spec"), "parentRef");
	char text[ADDRESS_TEXT];

	json_put_str(a, body, "apiVersion", STR("networking.k8s.io/v1"));
	json_put_str(a, body, "kind", STR("IPAddress"));
	json_put_str(a, meta, "name", arena_str(a, str_from(address_print(ip, text))));
	json_put_str(a, labels, "ipaddress.kubernetes.io/ip-family",
		     ip->is4 ? STR("IPv4") : STR("IPv6"));
	json_put_str(a, labels, "ipaddress.kubernetes.io/managed-by", STR("ipallocator.k8s.io"));
	json_put_str(a, parent, "resource", STR("services"));
	json_put_str(a, parent, "namespace", arena_str(a, ns));
	json_put_str(a, parent, "name", arena_str(a, name));
	ensure_create(e, services_address_kind(), body, ENSURE_MANAGER);
}

void services_release(struct services *sv, struct str ip, struct str ns, struct str name)
{
	struct service_ip *e = services_ip(sv, ip, true);

	if (!e)
		return;
	free(e->left);
	e->left = services_key(ns, name);
	services_look_at(sv, e);
}

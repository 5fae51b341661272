/*
 * Follows the objects of addresses, and repairs addresses that are neither free nor in use: one
 * timer for addresses in recent changes, another for all of them. services/ports.c does the same
 * for ports.
 */
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/services/kubernetes_service.h"
#include "server/services/services_impl.h"

enum {
	REPAIR_MS = 3 * 60 * 1000,
	ORPHAN_S = 60, /* the service of a younger one may still be written, by any server */
};

#define MANAGED_BY "ipaddress.kubernetes.io/managed-by"

/* --- services ------------------------------------------------------------------------------- */

/*
 * The entry of an address in any notation that a service may use; IPAddresses are named by the
 * canonical one.
 */
static struct service_ip *follow_entry_of(struct services *sv, struct str text, bool make)
{
	struct address ip;
	char canonical[ADDRESS_TEXT];

	return address_read(text, &ip)
		       ? services_ip(sv, str_from(address_print(&ip, canonical)), make)
		       : NULL;
}

static void set_user(struct service_ip *e, struct str key)
{
	free(e->user);
	e->user = xstrndup(key.p, key.n);
}

static void note_users(struct services *sv, const struct json *spec, struct str key)
{
	JSON_FOREACH (it, json_getz(spec, "clusterIPs")) {
		struct service_ip *e = follow_entry_of(sv, json_str(it), true);

		if (!e)
			continue;
		set_user(e, key);
		/*
		 * Usually the IPAddress was seen before the service; otherwise it is missing, or
		 * another service's.
		 */
		if (!e->foreign && sv->started && (!e->parent || !str_eqz(key, e->parent)))
			services_look_at(sv, e);
	}
}

static void drop_users(struct services *sv, const struct json *spec, const struct json *now,
		       struct str key)
{
	JSON_FOREACH (it, json_getz(spec, "clusterIPs")) {
		struct service_ip *e = follow_entry_of(sv, json_str(it), false);

		if (!e || service_has_ip(now, json_str(it)) || !e->user || !str_eqz(key, e->user))
			continue;
		free(e->left);
		e->left = e->user;
		e->user = NULL;
		services_look_at(sv, e);
	}
}

static const struct json *spec_of(struct object *o, struct arena *a)
{
	struct json *tree = NULL;

	if (o)
		(void)object_tree(o, a, &tree, NULL);
	return json_getz(tree, "spec");
}

static void on_service(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct services *sv = arg;
	const struct json *spec, *old;

	arena_init(&a, SIZE_MAX);
	spec = spec_of(now, &a);
	old = spec_of(before, &a);
	services_ports_changed(sv, spec, old);
	if (before)
		drop_users(sv, old, spec, before->key);
	if (now)
		note_users(sv, spec, now->key);
}

static void on_services_reset(void *arg)
{
	struct services *sv = arg;
	struct str key;
	void *value;
	size_t at = 0;

	services_ports_reset(sv);
	while (map_next(&sv->ips, &at, &key, &value)) {
		struct service_ip *e = value;

		free(e->user);
		e->user = NULL;
	}
}

/* --- IPAddresses ---------------------------------------------------------------------------- */

static void forget_parent(struct service_ip *e)
{
	free(e->parent);
	e->parent = NULL;
	e->foreign = false;
}

static void note_parent(struct service_ip *e, struct object *o, struct arena *a)
{
	const struct json *spec = spec_of(o, a), *parent = json_getz(spec, "parentRef");
	struct str ns = json_text_at(parent, "namespace"), name = json_text_at(parent, "name");
	struct json *tree = NULL;

	forget_parent(e);
	(void)object_tree(o, a, &tree, NULL);
	e->created_s = o->created_s;
	if (!str_eqz(json_text_at(parent, "resource"), "services") ||
	    json_text_at(parent, "group").n ||
	    !json_text_at(json_getz(json_getz(tree, "metadata"), "labels"), MANAGED_BY).n)
		e->foreign = true;
	else
		e->parent = services_key(ns, name);
}

static void on_address(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct services *sv = arg;
	struct service_ip *e = services_ip(sv, now ? now->key : before->key, now != NULL);

	arena_init(&a, SIZE_MAX);
	if (!e)
		return;
	if (now)
		note_parent(e, now, &a);
	else
		forget_parent(e);
	/* A new IPAddress is not the one that was released. */
	if (now && !before) {
		free(e->left);
		e->left = NULL;
	}
	/* Someone deleted it though a service has the address. */
	if (!now && e->user)
		services_look_at(sv, e);
	services_ip_settle(sv, e);
}

static void on_addresses_reset(void *arg)
{
	struct services *sv = arg;
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&sv->ips, &at, &key, &value))
		forget_parent(value);
}

/* --- ServiceCIDRs --------------------------------------------------------------------------- */

static void drop_cidr(struct services *sv, struct str name)
{
	for (size_t i = 0; i < sv->known.n; i++) {
		if (!str_eqz(name, sv->known.v[i].name))
			continue;
		free(sv->known.v[i].name);
		vec_remove(&sv->known, i);
		return;
	}
}

/* Without the condition it counts as ready: there may be no controller that sets it. */
static bool follow_is_ready(const struct json *tree)
{
	const struct json *list = json_getz(json_getz(tree, "status"), "conditions");
	const struct json *c = json_find(list, "type", STR("Ready"));

	return !c || str_eqz(json_text_at(c, "status"), "True");
}

static bool comes_before(struct str a, struct str b)
{
	bool first = str_eqz(a, "kubernetes"), second = str_eqz(b, "kubernetes");

	return first != second ? first : str_cmp(a, b) < 0;
}

static void add_cidr(struct services *sv, const struct json *tree, struct object *o)
{
	struct service_cidr c = { .ready = follow_is_ready(tree) && !o->deleting };
	size_t at = 0;

	JSON_FOREACH (it, json_getz(json_getz(tree, "spec"), "cidrs")) {
		struct address cidr;

		if (c.n < 2 && address_read_cidr(json_str(it), &cidr) &&
		    service_range_init(&c.ranges[c.n], &cidr))
			c.n++;
	}
	c.name = xstrndup(o->key.p, o->key.n);
	if (!vec_push(&sv->known, c)) {
		free(c.name);
		return;
	}
	while (at < sv->known.n - 1 && comes_before(str_from(sv->known.v[at].name), o->key))
		at++;
	memmove(&sv->known.v[at + 1], &sv->known.v[at],
		(sv->known.n - 1 - at) * sizeof(*sv->known.v));
	sv->known.v[at] = c;
}

static void on_cidr(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct services *sv = arg;
	struct json *tree = NULL;

	arena_init(&a, SIZE_MAX);
	drop_cidr(sv, now ? now->key : before->key);
	if (now && object_tree(now, &a, &tree, NULL) == 0)
		add_cidr(sv, tree, now);
	/* Until it is back, no service gets an address. */
	if (!now && sv->started && sv->server->kubernetes && str_eqz(before->key, "kubernetes"))
		kubernetes_service_look(sv->server->kubernetes);
}

static void on_cidrs_reset(void *arg)
{
	struct services *sv = arg;

	while (sv->known.n)
		free(sv->known.v[--sv->known.n].name);
}

void services_observe(struct services *sv, struct state_observer out[static SERVICES_OBSERVERS])
{
	out[0] = (struct state_observer){ .group = STR(""),
					  .resource = STR("services"),
					  .changed = on_service,
					  .reset = on_services_reset,
					  .arg = sv };
	out[1] = (struct state_observer){ .group = STR("networking.k8s.io"),
					  .resource = STR("ipaddresses"),
					  .changed = on_address,
					  .reset = on_addresses_reset,
					  .arg = sv };
	out[2] = (struct state_observer){ .group = STR("networking.k8s.io"),
					  .resource = STR("servicecidrs"),
					  .changed = on_cidr,
					  .reset = on_cidrs_reset,
					  .arg = sv };
	out[3] = (struct state_observer){ .group = STR(""),
					  .resource = STR("configmaps"),
					  .changed = services_ports_on_record,
					  .reset = services_ports_on_record_reset,
					  .arg = sv };
}

/* --- periodic checks ------------------------------------------------------------------------ */

void services_look_at(struct services *sv, struct service_ip *e)
{
	if (!e->queued)
		e->queued = vec_push(&sv->queue, e);
	if (sv->started)
		loop_timer_start(&sv->work, 0);
}

static bool names_service(const struct json *object, const char *key)
{
	const struct json *parent = json_getz(json_getz(object, "spec"), "parentRef");
	struct str rest = str_from(key), ns;

	return str_split(&rest, '/', &ns) && str_eq(json_text_at(parent, "namespace"), ns) &&
	       str_eq(json_text_at(parent, "name"), rest) &&
	       str_eqz(json_text_at(parent, "resource"), "services");
}

static void drop_object(struct ensure *e, struct service_ip *ip, const char *key)
{
	struct json *there = ensure_tree(e, services_address_kind(), STR(""), str_from(ip->ip));

	if (there && names_service(there, key))
		ensure_delete(e, services_address_kind(), there);
}

/* The first owner keeps it: if another service has the address by now, creates nothing. */
static void make_object(struct services *sv, struct ensure *e, const struct service_ip *ip)
{
	struct str name = str_from(ip->user), ns;
	struct address at;

	if (address_read(str_from(ip->ip), &at) && services_has(sv, &at) &&
	    !services_is_taken(sv, &at) && str_split(&name, '/', &ns))
		services_lock(e, &at, ns, name);
}

/* Whether the service has it, pending writes included: several services may claim one address. */
static bool has_address(struct ensure *e, const char *key, const char *ip)
{
	struct str name = str_from(key), ns;

	return str_split(&name, '/', &ns) &&
	       service_has_ip(json_getz(ensure_tree(e, services_kind(), ns, name), "spec"),
			      str_from(ip));
}

static bool is_users(const struct service_ip *ip, const char *key)
{
	return ip->user && strcmp(ip->user, key) == 0;
}

/* Checks an IPAddress whose service is not known to have the address. */
static void look_at_parent(struct services *sv, struct ensure *e, struct service_ip *ip)
{
	int64_t now_s = clock_wall(sv->server->clock) / CLOCK_SEC;
	bool has = has_address(e, ip->parent, ip->ip);

	if (has && ip->user)
		log_warn(sv->server->opts.log,
			 "two services have the same address: delete one of them and create it "
			 "again",
			 LOG_STR("ip", str_from(ip->ip)), LOG_STR("service", str_from(ip->user)),
			 LOG_STR("owner", str_from(ip->parent)));
	if (has)
		set_user(ip, str_from(ip->parent));
	else if (ip->created_s + ORPHAN_S < now_s)
		drop_object(e, ip, ip->parent);
}

static void follow_look(struct services *sv, struct ensure *e, struct service_ip *ip)
{
	if (ip->foreign)
		return;
	if (ip->left && !is_users(ip, ip->left) && !has_address(e, ip->left, ip->ip))
		drop_object(e, ip, ip->left);
	else if (ip->parent && !is_users(ip, ip->parent))
		look_at_parent(sv, e, ip);
	else if (ip->user && !ip->parent)
		make_object(sv, e, ip);
	free(ip->left);
	ip->left = NULL;
}

/* A failure is retried with the next check of all. */
static void follow_on_written(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct services *sv = arg;

	if (err && !atomic_load(&sv->server->stopping))
		log_warn(sv->server->opts.log, "cannot check the addresses of services",
			 LOG_ERR(err));
}

void services_on_work(struct loop_timer *t)
{
	struct services *sv = CONTAINER_OF(t, struct services, work);
	struct ensure *e = ensure_new(sv->server, follow_on_written, sv);

	while (sv->queue.n) {
		struct service_ip *ip = sv->queue.v[--sv->queue.n];

		ip->queued = false;
		follow_look(sv, e, ip);
		services_ip_settle(sv, ip);
	}
	ensure_end(e);
}

void services_on_repair(struct loop_timer *t)
{
	struct services *sv = CONTAINER_OF(t, struct services, repair);
	struct str key;
	void *value;
	size_t at = 0;

	while (map_next(&sv->ips, &at, &key, &value)) {
		struct service_ip *e = value;
		bool matches = e->user && e->parent && strcmp(e->user, e->parent) == 0;

		if (!matches && !e->foreign)
			services_look_at(sv, e);
	}
	loop_timer_start(&sv->work, 0);
	services_ports_repair(sv);
	loop_timer_start(t, REPAIR_MS);
}

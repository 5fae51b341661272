/*
 * A write chooses addresses and ports when it is decided, which may happen several times. Its
 * choices are kept in a memo, so that the next try takes the same. Nothing is written until
 * everything is valid. Then the IPAddresses are created, ports are locked if needed, and the
 * write waits. If another writer took one first, another one is chosen, unless the client
 * requested that very one. A write that fails releases its choices.
 */
#include "server/services/admit.h"

#include "api/services/service.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/services/admit_impl.h"

static const char memo_key;

/* --- giving back ---------------------------------------------------------------------------- */

static void release_ip(struct held *h, struct held_ip *ip)
{
	char text[ADDRESS_TEXT];

	if (ip->held)
		services_release(h->services, str_from(address_print(&ip->ip, text)), h->req->ns,
				 h->name);
	*ip = (struct held_ip){ 0 };
}

static void admit_on_over(struct admission_request *req, void *arg, const struct error *err)
{
	struct held *h = arg;
	/*
	 * The outcome of the write is unknown. If it was made, the address is the service's;
	 * otherwise a later check finds it unused.
	 */
	bool unknown = err && req->in_doubt;

	write_ports_return(&h->ports, unknown);
	if (unknown)
		return;
	for (size_t i = 0; i < SERVICE_IPS_MAX; i++)
		if (err || !h->ips[i].used)
			release_ip(h, &h->ips[i]);
}

static struct held *held_of(struct admission_request *req)
{
	struct held *h = admission_memo(req, &memo_key, sizeof(*h));

	if (!h->req) {
		h->req = req;
		h->services = req->server->services;
		write_ports_init(&h->ports, h->services, req->work, req->dry_run);
		admission_on_over(req, admit_on_over, h);
	}
	return h;
}

void held_close(struct held *h)
{
	if (--h->open == 0 && h->parked) {
		h->parked = false;
		admission_resume(h->req);
	}
}

/* --- rejections ----------------------------------------------------------------------------- */

int held_refuse(struct error *err)
{
	return error_copy(err, &(struct error){ .code = ERR_INVALID });
}

static int refuse_ip(struct admission_request *req, const struct json *service,
		     const struct address *ip, const char *why, struct error *err)
{
	struct validation v = { .errs = &req->write->errs, .arena = req->write->arena };
	struct field_path spec_at = field_path_name(NULL, "spec");
	struct field_path at = field_path_name(&spec_at, "clusterIPs");
	char text[ADDRESS_TEXT];

	field_errors_addf(&req->write->errs, FIELD_INVALID, &at,
			  validate_shown(&v, json_getz(json_getz(service, "spec"), "clusterIPs")),
			  "failed to allocate IP %s: %s", address_print(ip, text), why);
	return held_refuse(err);
}

/* --- addresses ------------------------------------------------------------------------------ */

static struct str admit_name_of(const struct admission_request *req, const struct json *service)
{
	struct str name = json_text_at(json_getz(service, "metadata"), "name");

	return name.n ? name : req->name;
}

static int take_fixed(struct held *h, struct held_ip *slot, const struct json *service,
		      const struct address *ip, struct error *err)
{
	struct admission_request *req = h->req;

	if (slot->chosen && address_compare(&slot->ip, ip) == 0 && !slot->lost)
		return 0;
	release_ip(h, slot);
	if (!services_has(h->services, ip))
		return refuse_ip(req, service, ip,
				 "the provided network does not match the current range", err);
	if (!req->dry_run && services_is_taken(h->services, ip)) {
		/* The service that released it may be about to delete the IPAddress. */
		if (services_is_left(h->services, ip) && !h->waited) {
			h->waited = true;
			return admission_park_for_commit(req, err);
		}
		return refuse_ip(req, service, ip, "provided IP is already allocated", err);
	}
	*slot = (struct held_ip){ .ip = *ip, .chosen = true, .fixed = true };
	return 0;
}

static int take_any(struct held *h, struct held_ip *slot, const struct json *service, bool is4,
		    struct error *err)
{
	if (slot->chosen && !slot->fixed && !slot->lost)
		return 0;
	release_ip(h, slot);
	if (h->req->dry_run)
		slot->ip = services_shown(h->services, is4);
	else if (!services_pick(h->services, is4, &slot->ip))
		return error_set(err, ERR_INTERNAL,
				 "failed to allocate a serviceIP for Service \"%.*s\": %s",
				 STR_ARG(admit_name_of(h->req, service)),
				 services_has_family(h->services, is4) ? "range is full"
				 : is4 ? "no ServiceCIDR of family IPv4 is ready"
				       : "no ServiceCIDR of family IPv6 is ready");
	slot->chosen = true;
	return 0;
}

/* Chooses the addresses from index `i` on, by the service's families. */
static int take_ips(struct held *h, struct json *service, size_t i, struct error *err)
{
	struct json *spec = json_getz(service, "spec"), *ips = json_getz(spec, "clusterIPs");
	struct arena *a = h->req->write->arena;
	int r = 0;

	if (!json_is(ips, JSON_ARRAY)) {
		ips = json_make_array(a);
		json_setz(spec, "clusterIPs", ips);
	}
	for (; i < json_count(json_getz(spec, "ipFamilies")) && r == 0; i++) {
		bool is4 = str_eqz(json_str(json_at(json_getz(spec, "ipFamilies"), i)), "IPv4");
		struct held_ip *slot = &h->ips[is4 ? 0 : 1];
		struct address ip;
		char text[ADDRESS_TEXT];

		if (i < json_count(ips)) {
			if (address_read(json_str(json_at(ips, i)), &ip))
				r = take_fixed(h, slot, service, &ip, err);
			continue;
		}
		r = take_any(h, slot, service, is4, err);
		if (r == 0)
			json_append(ips, json_make_str(a, arena_str(a, str_from(address_print(
									       &slot->ip, text)))));
	}
	if (r == 0 && json_count(ips))
		json_put_str(a, spec, "clusterIP", json_str(json_first(ips)));
	return r;
}

static int choose_ips(struct held *h, const struct json *old, struct json *service,
		      struct error *err)
{
	const struct json *spec = json_getz(service, "spec"), *before = json_getz(old, "spec");
	size_t had = json_count(json_getz(before, "clusterIPs"));

	if (service_is_type(spec, "ExternalName") || service_is_headless(spec) ||
	    service_is_headless(before))
		return 0;
	/* Validation reports changes that are not allowed. */
	if (had && !service_is_type(before, "ExternalName")) {
		if (json_count(json_getz(spec, "ipFamilies")) <= had)
			return 0;
		return take_ips(h, service, had, err);
	}
	return take_ips(h, service, 0, err);
}

/* --- the two phases ------------------------------------------------------------------------- */

bool admit_service_concerns(const struct admission_request *req)
{
	return !req->write->subresource.n && req->server->services;
}

int admit_service(struct admission_request *req, const struct json *old, struct json *service,
		  struct error *err)
{
	struct held *h = held_of(req);
	struct validation v = { .errs = &req->write->errs, .arena = req->write->arena };
	int r;

	/* After a webhook all plugins run once more: the service at that time counts. */
	if (req->reinvoke && !req->reinvoking)
		return 0;
	service_settle(&v, service, old, services_families(h->services));
	if (field_errors_any(&req->write->errs))
		return held_refuse(err);
	r = choose_ips(h, old, service, err);
	return r < 0 ? r : held_choose_ports(h, old, service, err);
}

static void on_locked(void *arg, const struct error *err, bool outrun);

/* Replaces a chosen address wherever the service has it. */
static void put_other(struct admission_request *req, struct json *service,
		      const struct address *old, const struct address *now)
{
	struct json *spec = json_getz(service, "spec"), *ips = json_make_array(req->write->arena);
	char is[ADDRESS_TEXT];
	struct str text = arena_str(req->write->arena, str_from(address_print(now, is)));

	JSON_FOREACH (it, json_getz(spec, "clusterIPs")) {
		struct address ip;
		bool same = address_read(json_str(it), &ip) && ip.is4 == old->is4 &&
			    address_compare(&ip, old) == 0;

		json_append(ips, json_make_str(req->write->arena, same ? text : json_str(it)));
	}
	json_setz(spec, "clusterIPs", ips);
	json_put_str(req->write->arena, spec, "clusterIP", json_str(json_first(ips)));
}

/* Another writer has the address: chooses another one, or fails. */
static int replace_lost(struct held *h, struct held_ip *slot, struct json *service,
			struct error *err)
{
	struct address lost = slot->ip;
	int r;

	if (slot->fixed)
		return refuse_ip(h->req, service, &lost, "provided IP is already allocated", err);
	r = take_any(h, slot, service, lost.is4, err);
	if (r < 0)
		return r;
	put_other(h->req, service, &lost, &slot->ip);
	slot->used = true;
	return 0;
}

struct locking {
	struct held *held;
	struct held_ip *slot;
};

static void lock(struct held *h, struct held_ip *slot, struct str name)
{
	struct locking *l = ARENA_NEW(h->req->work, struct locking);
	struct ensure *e = ensure_new(h->req->server, on_locked, l);

	*l = (struct locking){ h, slot };
	h->open++;
	services_lock(e, &slot->ip, h->req->ns, name);
	ensure_end(e);
}

static void on_locked(void *arg, const struct error *err, bool outrun)
{
	struct locking *l = arg;
	struct held *h = l->held;

	if (err)
		h->err = *err;
	else if (outrun)
		l->slot->lost = true;
	else
		l->slot->held = true;
	held_close(h);
}

/* A generated name may differ in the next try: then its IPAddresses are of no use. */
static void keep_name(struct held *h, struct str name)
{
	char text[ADDRESS_TEXT];

	for (size_t i = 0; i < SERVICE_IPS_MAX && h->name.n && !str_eq(h->name, name); i++) {
		struct held_ip *slot = &h->ips[i];

		if (!slot->held)
			continue;
		services_release(h->services, str_from(address_print(&slot->ip, text)), h->req->ns,
				 h->name);
		slot->held = false;
		slot->lost = true;
	}
	if (!str_eq(h->name, name))
		h->name = arena_str(h->req->work, name);
}

/* Returns 0 if this address is locked or being locked. */
static int lock_one(struct held *h, struct held_ip *slot, struct json *service, struct error *err)
{
	char text[ADDRESS_TEXT];
	int r = 0;

	slot->used = slot->chosen && service_has_ip(json_getz(service, "spec"),
						    str_from(address_print(&slot->ip, text)));
	if (!slot->used)
		return 0;
	if (slot->lost || (!slot->held && services_is_taken(h->services, &slot->ip)))
		r = replace_lost(h, slot, service, err);
	/*
	 * After the store has failed a lock, it is not tried again: it might fail immediately,
	 * and forever.
	 */
	if (r == 0 && !slot->held && h->err.code == ERR_OK)
		lock(h, slot, h->name);
	return r;
}

int admit_service_lock(struct admission_request *req, const struct json *old UNUSED,
		       struct json *service, struct error *err)
{
	struct held *h = held_of(req);
	int r = 0;

	if (req->dry_run || !service)
		return 0;
	/* Everything was valid up to here; earlier errors will be found again. */
	field_errors_init(&req->write->errs, req->write->arena);
	keep_name(h, admit_name_of(req, service));
	for (size_t i = 0; i < SERVICE_IPS_MAX && r == 0; i++)
		r = lock_one(h, &h->ips[i], service, err);
	if (r == 0)
		r = held_lock_ports(h, service, err);
	/* Waits for open operations in any case; errors will be found again. */
	if (h->open > 0) {
		h->parked = true;
		return admission_park(req, err);
	}
	return r != 0 || h->err.code == ERR_OK ? r : error_copy(err, &h->err);
}

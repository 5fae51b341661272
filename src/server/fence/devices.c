/*
 * There are two steps, so that the stored claim is parsed only once. The first step has its tree
 * and notes the devices that the claim held. The second step runs when the write is decided and
 * valid, and checks the new devices.
 */
#include "server/fence/devices.h"

#include "base/core/buf.h"
#include "dra/inventory/content.h"
#include "dra/inventory/excess.h"
#include "server/admission/request.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/fence/device_holds.h"
#include "store/store.h"

struct fence {
	struct admission_request *req;
	struct state_wait wait; /* for a pending write with a guard that this one wants */
	struct str guard; /* the guard it waits for */
	/* For the current try: */
	const struct device_use *had;
	size_t nhad;
};

static struct fence *fence_of(struct admission_request *req)
{
	static const char key;
	struct fence *f = admission_memo(req, &key, sizeof(*f));

	f->req = req;
	return f;
}

bool admit_devices_concerns(const struct admission_request *req)
{
	return str_eqz(req->write->subresource, "status") &&
	       gates_on(req->write->gates, GATE_DeviceAllocationFence);
}

int admit_devices_note(struct admission_request *req, const struct json *old, struct json *claim,
		       struct error *err UNUSED)
{
	const struct json *was = device_results(old), *is = device_results(claim);
	struct device_use *had;
	struct fence *f;

	req->terms.guards = NULL;
	req->terms.nguards = 0;
	req->allocates = is && !(was && json_equal(was, is));
	if (!req->allocates)
		return 0;
	f = fence_of(req);
	f->nhad = device_uses(was, req->write->arena, &had);
	f->had = had;
	return 0;
}

bool admit_devices_allocates(const struct admission_request *req)
{
	return req->allocates && admit_devices_concerns(req);
}

/* --- rejecting -------------------------------------------------------------------- */

static bool may_read(struct admission_request *req, struct str ns, struct str name)
{
	const struct authz_query q = { .user = req->user,
				       .verb = STR("get"),
				       .group = req->write->kind->group,
				       .version = req->write->kind->version,
				       .resource = req->write->kind->resource,
				       .ns = ns,
				       .name = name };

	return authz_decide(req->server->authz, &q, req->write->arena, NULL) == AUTHZ_ALLOW;
}

static const char *devices_field(struct arena *a, size_t place)
{
	return arena_printf(a, "status.allocation.devices.results[%zu]", place);
}

static int devices_refuse_held(struct admission_request *req, const struct device_use *use,
			       struct str holder, struct error *err)
{
	struct arena *a = req->write->arena;
	struct str name = holder, ns;

	req->about.cause_reason = "DeviceHeld";
	req->about.cause_field = devices_field(a, use->place);
	if (!str_split(&name, '/', &ns) || !may_read(req, ns, name)) {
		req->about.cause_message = "";
		return error_set(err, ERR_CONFLICT, "device %.*s is held by another claim",
				 STR_ARG(use->device));
	}
	req->about.cause_message = arena_printf(a, "%.*s", STR_ARG(holder));
	return error_set(err, ERR_CONFLICT, "device %.*s is held by claim %.*s",
			 STR_ARG(use->device), STR_ARG(holder));
}

static const char *devices_amount(struct arena *a, struct quantity q)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64);

	(void)quantity_print(q, &text);
	return arena_printf(a, "%.*s", STR_ARG(buf_str(&text)));
}

static int devices_refuse_excess(struct admission_request *req, const struct device_use *use,
				 const struct inventory_excess *x, struct error *err)
{
	struct arena *a = req->write->arena;
	const char *left = arena_printf(a, "%s left of %s", devices_amount(a, x->left),
					devices_amount(a, x->offered));
	const char *wanted = devices_amount(a, x->wanted);

	req->about.cause_field = devices_field(a, use->place);
	if (!x->set.p) {
		req->about.cause_reason = "DeviceCapacityExceeded";
		req->about.cause_message = arena_printf(a, "%.*s: %s", STR_ARG(x->name), left);
		return error_set(err, ERR_CONFLICT,
				 "device %.*s has %s of the capacity %.*s, and the claim would "
				 "consume %s",
				 STR_ARG(use->device), left, STR_ARG(x->name), wanted);
	}
	req->about.cause_reason = "DeviceCountersExceeded";
	req->about.cause_message = arena_printf(a, "%.*s/%.*s: %s", STR_ARG(x->set),
						STR_ARG(x->name), left);
	return error_set(err, ERR_CONFLICT,
			 "pool %.*s/%.*s has %s of the counter %.*s/%.*s, and the claim would "
			 "consume %s",
			 STR_ARG(use->driver), STR_ARG(use->pool), left, STR_ARG(x->set),
			 STR_ARG(x->name), wanted);
}

/* --- waiting ---------------------------------------------------------------------- */

/*
 * The first write that waited for the guard may have taken it in this turn. Then the others wait
 * for that write, without being decided again for nothing.
 */
static void devices_on_turn(struct state_wait *wait)
{
	struct fence *f = CONTAINER_OF(wait, struct fence, wait);
	struct state_write *other = state_guard_owner(f->req->state, f->guard);

	admission_check_deadline(f->req);
	if (other && !f->req->cancelled)
		state_write_wait(other, &f->wait);
	else
		admission_resume(f->req);
}

static int devices_wait_for(struct admission_request *req, struct state_write *other,
			    struct str guard, struct error *err)
{
	struct fence *f = fence_of(req);

	f->guard = guard;
	f->wait.over = devices_on_turn;
	state_write_wait(other, &f->wait);
	return admission_park(req, err);
}

/* --- the rule --------------------------------------------------------------------- */

static bool has_use(const struct device_use *uses, size_t n, const struct device_use *use)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(uses[i].device, use->device) && str_eq(uses[i].share, use->share))
			return true;
	return false;
}

/* Keeps only the uses that the stored claim does not have. */
static size_t only_added(struct device_use *uses, size_t n, const struct fence *f)
{
	size_t added = 0;

	for (size_t i = 0; i < n; i++)
		if (!has_use(f->had, f->nhad, &uses[i]))
			uses[added++] = uses[i];
	return added;
}

/* Rejects the write if a device is held by another claim. */
static int devices_check_holders(struct admission_request *req, const struct device_use *uses,
				 size_t n, struct error *err)
{
	struct str key = str_from(
		arena_printf(req->write->arena, "%.*s/%.*s", STR_ARG(req->ns), STR_ARG(req->name)));

	for (size_t i = 0; i < n; i++) {
		struct str holder = device_holds_find(req->server->holds, &uses[i], key);

		if (holder.n)
			return devices_refuse_held(req, &uses[i], holder, err);
	}
	return 0;
}

/* Rejects the write if it consumes more than is offered. */
static int devices_check_offers(struct admission_request *req, const struct json *results,
				const struct device_use *uses, size_t n, struct error *err)
{
	struct arena *a = req->write->arena;
	bool *added = ARENA_ARRAY(a, bool, json_count(results) + 1);
	const struct inventory_wish wish = {
		.namespace = req->ns, .name = req->name, .results = results, .added = added
	};
	struct inventory_excess x;

	for (size_t i = 0; i < n; i++)
		added[uses[i].place] = true;
	if (!inventory_exceeds(device_holds_inventory(req->server->holds), &wish, a, &x))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (uses[i].place == x.place)
			return devices_refuse_excess(req, &uses[i], &x, err);
	return 0;
}

static void add_guard(struct admission_request *req, struct str *guards, struct str name)
{
	for (size_t i = 0; i < req->terms.nguards; i++)
		if (str_eq(guards[i], name))
			return;
	guards[req->terms.nguards++] = name;
}

static int devices_refuse_many(const struct admission_request *req, size_t devices,
			       struct error *err)
{
	return error_set(err, ERR_TOO_LARGE,
			 "the claim adds %zu devices that consume counters of %zu sets; the server "
			 "can check %d devices and sets in one write: use several claims",
			 devices, req->terms.nguards - devices, STORE_GUARDS_MAX);
}

/* Takes a guard for each counter set that the device consumes. */
static void add_set_guards(struct admission_request *req, struct str *guards,
			   const struct device_use *use, const struct inventory_device *d)
{
	for (size_t i = 0; i < d->ncounters; i++)
		if (i == 0 || !str_eq(d->counters[i].set, d->counters[i - 1].set))
			add_guard(req, guards,
				  str_from(arena_printf(req->write->arena, "%.*s/%.*s//%.*s",
							STR_ARG(use->driver), STR_ARG(use->pool),
							STR_ARG(d->counters[i].set))));
}

/*
 * Takes one guard per device, as a claim may have several shares of a device, and one per counter
 * set. Also for a device that is held in shares and so consumes nothing more: if these are released
 * meanwhile, it does.
 */
static int devices_take_guards(struct admission_request *req, const struct device_use *uses,
			       size_t n, struct error *err)
{
	struct arena *a = req->write->arena;
	struct inventory *inv = device_holds_inventory(req->server->holds);
	const struct inventory_device **known = ARENA_ARRAY(a, const struct inventory_device *,
							    n + 1);
	size_t most = n + 1, devices;
	struct str *guards;

	for (size_t i = 0; i < n; i++) {
		known[i] = inventory_device(inv, uses[i].driver, uses[i].pool, uses[i].name);
		most += known[i] ? known[i]->ncounters : 0;
	}
	guards = ARENA_ARRAY(a, struct str, most);
	req->terms.guards = guards;
	for (size_t i = 0; i < n; i++)
		add_guard(req, guards, uses[i].device);
	devices = req->terms.nguards;
	for (size_t i = 0; i < n; i++)
		if (known[i])
			add_set_guards(req, guards, &uses[i], known[i]);
	return req->terms.nguards > STORE_GUARDS_MAX ? devices_refuse_many(req, devices, err) : 0;
}

int admit_devices(struct admission_request *req, const struct json *old UNUSED, struct json *claim,
		  struct error *err)
{
	struct arena *a = req->write->arena;
	const struct json *results = device_results(claim);
	struct device_use *uses;
	size_t n = device_uses(results, a, &uses);
	int r;

	req->terms.nguards = 0;
	n = only_added(uses, n, fence_of(req));
	r = admission_check_memory(a, err);
	if (r == 0)
		r = devices_check_holders(req, uses, n, err);
	if (r == 0)
		r = devices_check_offers(req, results, uses, n, err);
	if (r == 0)
		r = devices_take_guards(req, uses, n, err);
	for (size_t i = 0; r == 0 && i < req->terms.nguards; i++) {
		struct state_write *other = state_guard_owner(req->state, req->terms.guards[i]);

		if (other)
			r = devices_wait_for(req, other, req->terms.guards[i], err);
	}
	return r;
}

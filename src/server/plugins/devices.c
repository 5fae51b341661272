/*
 * There are two steps, so that the stored claim is parsed only once. The first step has its tree
 * and notes the devices that the claim held. The second step runs when the write is decided and
 * valid, and checks the new devices.
 */
#include "server/plugins/devices.h"

#include "server/admission/request.h"
#include "server/authz/authz.h"
#include "server/core/parts.h"
#include "server/plugins/device_holds.h"

struct fence {
	struct admission_request *req;
	struct state_wait wait; /* for a pending write that takes a device that this one wants */
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

static int devices_refuse(struct admission_request *req, const struct device_use *use,
			  const struct device_hold *hold, struct error *err)
{
	struct arena *a = req->write->arena;
	struct str name = hold->claim, ns;

	req->about.cause_reason = "DeviceHeld";
	req->about.cause_field = arena_printf(a, "status.allocation.devices.results[%zu]",
					      use->place);
	if (!str_split(&name, '/', &ns) || !may_read(req, ns, name)) {
		req->about.cause_message = "";
		return error_set(err, ERR_CONFLICT, "device %.*s is held by another claim",
				 STR_ARG(use->device));
	}
	req->about.cause_message = arena_printf(a, "%.*s", STR_ARG(hold->claim));
	return error_set(err, ERR_CONFLICT, "device %.*s is held by claim %.*s",
			 STR_ARG(use->device), STR_ARG(hold->claim));
}

/* --- waiting ---------------------------------------------------------------------- */

static void devices_on_turn(struct state_wait *wait)
{
	admission_resume(CONTAINER_OF(wait, struct fence, wait)->req);
}

static int devices_wait_for(struct admission_request *req, struct state_write *other,
			    struct error *err)
{
	struct fence *f = fence_of(req);

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

static bool has_guard(const struct str *guards, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(guards[i], name))
			return true;
	return false;
}

/* One guard per device; a claim may have several shares of a device. */
static void take_guards(struct admission_request *req, const struct device_use *uses, size_t n)
{
	struct str *guards = ARENA_ARRAY(req->write->arena, struct str, n + 1);

	req->terms.guards = guards;
	for (size_t i = 0; i < n; i++)
		if (!has_guard(guards, req->terms.nguards, uses[i].device))
			guards[req->terms.nguards++] = uses[i].device;
}

int admit_devices(struct admission_request *req, const struct json *old UNUSED, struct json *claim,
		  struct error *err)
{
	struct arena *a = req->write->arena;
	struct str key = str_from(
		arena_printf(a, "%.*s/%.*s", STR_ARG(req->ns), STR_ARG(req->name)));
	struct device_use *uses;
	size_t n = device_uses(device_results(claim), a, &uses);
	int r;

	req->terms.nguards = 0;
	n = only_added(uses, n, fence_of(req));
	r = admission_check_memory(a, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		const struct device_hold *hold = device_holds_find(req->server->holds, &uses[i],
								   key);

		if (hold)
			return devices_refuse(req, &uses[i], hold, err);
	}
	for (size_t i = 0; i < n; i++) {
		struct state_write *other = state_guard_owner(req->state, uses[i].device);

		if (other)
			return devices_wait_for(req, other, err);
	}
	take_guards(req, uses, n);
	return 0;
}

/*
 * Two steps, so that what is stored is not parsed once more: the first, which has its tree, notes
 * what the claim held; the second, when all is decided and valid, judges what is new.
 */
#include "server/admit_devices.h"

#include "base/limits.h"
#include "server/authz.h"
#include "server/device_holds.h"
#include "server/server_impl.h"
#include "server/verb_impl.h"

struct fence {
	struct mutation *m;
	struct state_wait wait; /* for another write, under way, of a device that it wants */
	/* Of this try. */
	const struct device_use *had;
	size_t nhad;
};

static struct fence *fence_of(struct mutation *m)
{
	static const char key;
	struct fence *f = mutation_memo(m, &key, sizeof(*f));

	f->m = m;
	return f;
}

bool admit_devices_concerns(const struct mutation *m)
{
	return str_eqz(m->write.subresource, "status") &&
	       gates_on(m->write.gates, GATE_DeviceAllocationFence);
}

int admit_devices_note(struct mutation *m, const struct json *old, struct json *claim,
		       struct error *err UNUSED)
{
	const struct json *was = device_results(old), *is = device_results(claim);
	struct device_use *had;
	struct fence *f;

	m->guards = NULL;
	m->nguards = 0;
	m->allocates = is && !(was && json_equal(was, is));
	if (!m->allocates)
		return 0;
	f = fence_of(m);
	f->nhad = device_uses(was, m->write.arena, &had);
	f->had = had;
	return 0;
}

bool admit_devices_allocates(const struct mutation *m)
{
	return m->allocates && admit_devices_concerns(m);
}

/* --- refusing --------------------------------------------------------------------- */

static bool may_read(struct mutation *m, struct str ns, struct str name)
{
	const struct authz_query q = { .user = &m->x->user,
				       .verb = STR("get"),
				       .group = m->kind->group,
				       .version = m->kind->version,
				       .resource = m->kind->resource,
				       .ns = ns,
				       .name = name };

	return authz_decide(m->x->server->authz, &q, m->write.arena, NULL) == AUTHZ_ALLOW;
}

static int refuse(struct mutation *m, const struct device_use *use, const struct device_hold *hold,
		  struct error *err)
{
	struct arena *a = m->write.arena;
	struct str name = hold->claim, ns;

	m->cause_reason = "DeviceHeld";
	m->cause_field = arena_printf(a, "status.allocation.devices.results[%zu]", use->place);
	if (!str_split(&name, '/', &ns) || !may_read(m, ns, name)) {
		m->cause_message = "";
		return error_set(err, ERR_CONFLICT, "device %.*s is held by another claim",
				 STR_ARG(use->device));
	}
	m->cause_message = arena_printf(a, "%.*s", STR_ARG(hold->claim));
	return error_set(err, ERR_CONFLICT, "device %.*s is held by claim %.*s",
			 STR_ARG(use->device), STR_ARG(hold->claim));
}

/* --- waiting ---------------------------------------------------------------------- */

static void on_turn(struct state_wait *wait)
{
	mutation_resume(CONTAINER_OF(wait, struct fence, wait)->m);
}

static int wait_for(struct mutation *m, struct state_write *other, struct error *err)
{
	struct fence *f = fence_of(m);

	f->wait.over = on_turn;
	state_write_wait(other, &f->wait);
	return mutation_park(m, err);
}

/* --- the rule --------------------------------------------------------------------- */

static bool has_use(const struct device_use *uses, size_t n, const struct device_use *use)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(uses[i].device, use->device) && str_eq(uses[i].share, use->share))
			return true;
	return false;
}

/* Leaves those that the stored claim has not. */
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

/* One for each device, of which a claim may have several shares. */
static void take_guards(struct mutation *m, const struct device_use *uses, size_t n)
{
	struct str *guards = ARENA_ARRAY(m->write.arena, struct str, n + 1);

	m->guards = guards;
	for (size_t i = 0; i < n; i++)
		if (!has_guard(guards, m->nguards, uses[i].device))
			guards[m->nguards++] = uses[i].device;
}

int admit_devices(struct mutation *m, const struct json *old UNUSED, struct json *claim,
		  struct error *err)
{
	struct arena *a = m->write.arena;
	struct str key = str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(m->ns), STR_ARG(m->name)));
	struct device_use *uses;
	size_t n = device_uses(device_results(claim), a, &uses);
	int r;

	m->nguards = 0;
	n = only_added(uses, n, fence_of(m));
	r = mutation_check_memory(a, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		const struct device_hold *hold = device_holds_find(m->x->server->holds, &uses[i],
								   key);

		if (hold)
			return refuse(m, &uses[i], hold, err);
	}
	for (size_t i = 0; i < n; i++) {
		struct state_write *other = state_guard_owner(m->state, uses[i].device);

		if (other)
			return wait_for(m, other, err);
	}
	take_guards(m, uses, n);
	return 0;
}

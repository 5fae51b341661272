/*
 * Kinds of resource.k8s.io. When a device is no longer allocated to a claim, the status that its
 * driver reported (KEP-4817) is removed automatically.
 */
#include "api/write/strategies.h"

#include "api/write/write_impl.h"

static const struct json *results(const struct json *claim)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");

	return json_getz(json_getz(allocation, "devices"), "results");
}

static bool has_device(const struct json *list, const struct json *device)
{
	JSON_FOREACH (it, list)
		if (tree_same(it, device, "driver") && tree_same(it, device, "pool") &&
		    tree_same(it, device, "device") && tree_same(it, device, "shareID"))
			return true;
	return false;
}

/*
 * With the gate off, clients neither see nor write device status. Stored entries are kept while
 * their device is allocated: a client that replaces the status does not mean fields that it could
 * not see.
 */
static void keep_hidden_devices(struct write *w, struct json *object, const struct json *old)
{
	const struct json *devices = json_getz(json_getz(old, "status"), "devices");

	if (devices)
		json_setz(json_need_object(w->arena, object, "status"), "devices",
			  tree_copy(w->arena, devices));
	else
		json_remove(json_getz(object, "status"), STR("devices"));
}

void strategy_claim_update(struct write *w, struct json *object, const struct json *old)
{
	struct json *status, *devices;

	if (!str_eq(w->subresource, STR("status")))
		return;
	if (!gates_on(w->gates, GATE_DRAResourceClaimDeviceStatus))
		keep_hidden_devices(w, object, old);
	status = json_getz(object, "status");
	devices = json_getz(status, "devices");
	JSON_FOREACH_SAFE (device, devices)
		if (has_device(results(old), device) && !has_device(results(object), device))
			json_unlink(devices, device);
	if (devices && json_count(devices) == 0)
		json_remove(status, STR("devices"));
}

/* The time says since when the taint has its effect; tolerations count from it. */
void strategy_taint_rule_update(struct write *w, struct json *object, const struct json *old)
{
	struct json *taint = json_getz(json_getz(object, "spec"), "taint");
	const struct json *old_taint = json_getz(json_getz(old, "spec"), "taint");

	if (w->subresource.n || !json_is(taint, JSON_OBJECT))
		return;
	if (!tree_same(taint, old_taint, "effect") && tree_same(taint, old_taint, "timeAdded"))
		tree_set_time(w->arena, taint, "timeAdded", w->now_ns);
}

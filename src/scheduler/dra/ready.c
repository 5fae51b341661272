/*
 * Reads a claim's status: its reservations, and whether its devices are ready for a pod.
 *
 * A device may name conditions that its driver sets in status.devices once it is attached, and
 * others that say that this failed.
 */
#include <limits.h>

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "net/loop/loop.h"
#include "scheduler/dra/plugin.h"

const struct resource dra_claims_resource = {
	.group = { "resource.k8s.io", sizeof("resource.k8s.io") - 1 },
	.version = { "v1", 2 },
	.resource = { "resourceclaims", sizeof("resourceclaims") - 1 },
	.kind = { "ResourceClaim", sizeof("ResourceClaim") - 1 },
	.namespaced = true,
};

static const struct json *results_of(const struct json *claim)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");

	return json_getz(json_getz(allocation, "devices"), "results");
}

static bool ready_same(const struct json *a, const struct json *b, const char *key)
{
	return str_eq(json_text_at(a, key), json_text_at(b, key));
}

/* The entry of status.devices about the device of a result. */
static const struct json *device_status(const struct json *claim, const struct json *result)
{
	JSON_FOREACH (it, json_getz(json_getz(claim, "status"), "devices"))
		if (ready_same(it, result, "device") && ready_same(it, result, "driver") &&
		    ready_same(it, result, "pool"))
			return it;
	return NULL;
}

/* The condition when it is True; else NULL. */
static const struct json *condition_true(const struct json *device, struct str type)
{
	const struct json *c = json_find(json_getz(device, "conditions"), "type", type);

	return str_eqz(json_text_at(c, "status"), "True") ? c : NULL;
}

static int result_ready(const struct json *claim, const struct json *result, struct error *err)
{
	const struct json *conditions = json_getz(result, "bindingConditions");
	const struct json *device = device_status(claim, result);

	if (json_count(conditions) == 0)
		return 1;
	if (!device)
		return 0;
	JSON_FOREACH (it, json_getz(result, "bindingFailureConditions")) {
		const struct json *c = condition_true(device, json_str(it));
		const struct json *meta = json_getz(claim, "metadata");

		if (c)
			return error_set(
				err, ERR_INVALID,
				"device binding failed: claim=%.*s, reason=%.*s, message=\"%.*s\"",
				STR_ARG(json_text_at(meta, "name")),
				STR_ARG(json_text_at(c, "reason")),
				STR_ARG(json_text_at(c, "message")));
	}
	JSON_FOREACH (it, conditions)
		if (!condition_true(device, json_str(it)))
			return 0;
	return 1;
}

int dra_ready(const struct json *claim, struct error *err)
{
	if (!json_is(json_getz(json_getz(claim, "status"), "allocation"), JSON_OBJECT))
		return 0;
	JSON_FOREACH (it, results_of(claim)) {
		int r = result_ready(claim, it, err);

		if (r <= 0)
			return r;
	}
	return 1;
}

bool dra_has_conditions(const struct json *claim)
{
	JSON_FOREACH (it, results_of(claim))
		if (json_count(json_getz(it, "bindingConditions")))
			return true;
	return false;
}

int64_t dra_ready_until(const struct json *claim, int64_t timeout_ns)
{
	const struct json *allocation = json_getz(json_getz(claim, "status"), "allocation");
	struct str when = json_text_at(allocation, "allocationTimestamp");
	int64_t ns;

	if (!dra_has_conditions(claim) || !when.p || timestamp_parse(when, &ns, NULL) < 0)
		return INT64_MAX;
	return ns > INT64_MAX - timeout_ns ? INT64_MAX : ns + timeout_ns;
}

bool dra_reserved_for(const struct json *claim, struct str pod_uid)
{
	return json_find(json_getz(json_getz(claim, "status"), "reservedFor"), "uid", pod_uid);
}

int64_t dra_wall_ns(const struct services *s)
{
	return clock_wall(s->loop ? loop_clock(s->loop) : clock_system());
}

/*
 * A container is the same in both statuses if its id is. The health in `before` is the one at its
 * end, even if `before` still shows it running: every change of health makes a new status, so it
 * was the last known health.
 */
#include "node/status/device_evidence.h"

static const struct json *ended(const struct json *status)
{
	return json_getz(json_getz(status, "state"), "terminated");
}

bool device_evidence_over(const struct json *before, const struct json *now)
{
	const struct json *list = json_getz(now, "containerStatuses");
	struct str phase = json_text_at(before, "phase");

	if (str_eqz(phase, "Failed") || str_eqz(phase, "Succeeded"))
		return true;
	JSON_FOREACH (it, list) {
		if (!ended(it))
			return false;
	}
	return json_count(list) > 0;
}

const struct json *device_evidence_of(const struct json *before, const struct json *now, bool over)
{
	const struct json *end = ended(now);

	if (!before ||
	    !str_eq(json_text_at(before, "containerID"), json_text_at(now, "containerID")))
		return NULL;
	if (!over && (!end || json_i64_at(end, "exitCode", 0) == 0))
		return NULL;
	return json_getz(before, "allocatedResourcesStatus");
}

enum assign_health device_evidence_health(const struct json *entry)
{
	struct str text = json_text_at(entry, "health");

	if (str_eqz(text, "Healthy"))
		return ASSIGN_HEALTHY;
	return str_eqz(text, "Unhealthy") ? ASSIGN_UNHEALTHY : ASSIGN_UNKNOWN;
}

bool device_evidence_holds(const struct json *kept, enum assign_health now,
			   enum assign_health *ret_health, struct str *ret_message)
{
	enum assign_health was = device_evidence_health(kept);

	if (!kept || (now == ASSIGN_UNHEALTHY && was != ASSIGN_UNHEALTHY))
		return false;
	*ret_health = was;
	*ret_message = json_text_at(kept, "message");
	return true;
}

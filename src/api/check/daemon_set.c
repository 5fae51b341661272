/*
 * DaemonSets and ControllerRevisions: how many pods an update may touch, and which templates and
 * data are possible.
 */
#include "api/check/checks.h"

#include "base/json/json.h"

/* --- DaemonSets ------------------------------------------------------------------------------ */

static void check_daemon_amount(struct validation *v, const struct json *value,
				const struct field_path *at)
{
	check_amount(v, value, at);
	check_amount_at_most_all(v, value, at);
}

void check_daemon_set_strategy(struct validation *v, const struct json *strategy,
			       const struct field_path *path)
{
	const struct json *rolling = json_getz(strategy, "rollingUpdate");
	struct field_path at = field_path_name(path, "rollingUpdate");
	struct field_path surge_at = field_path_name(&at, "maxSurge");
	struct field_path unavailable_at = field_path_name(&at, "maxUnavailable");
	bool surge = check_amount_of(json_getz(rolling, "maxSurge")) != 0;
	bool unavailable = check_amount_of(json_getz(rolling, "maxUnavailable")) != 0;

	if (!str_eqz(json_text_at(strategy, "type"), "RollingUpdate"))
		return;
	check_daemon_amount(v, json_getz(rolling, "maxUnavailable"), &unavailable_at);
	check_daemon_amount(v, json_getz(rolling, "maxSurge"), &surge_at);
	if (surge && unavailable)
		field_errors_invalid(v->errs, &surge_at,
				     validate_shown(v, json_getz(rolling, "maxSurge")),
				     "may not be set when maxUnavailable is non-zero");
	else if (!surge && !unavailable)
		field_errors_required(v->errs, &unavailable_at, "cannot be 0 when maxSurge is 0");
}

/* Counts collisions of names, which old pods have in their labels. */
void check_daemon_set_status(struct validation *v, const struct json *set, const struct json *old)
{
	struct field_path status = field_path_name(NULL, "status");
	struct field_path at = field_path_name(&status, "collisionCount");
	const struct json *count = json_getz(json_getz(set, "status"), "collisionCount");

	if (json_i64_at(json_getz(set, "status"), "collisionCount", 0) <
	    json_i64_at(json_getz(old, "status"), "collisionCount", 0))
		field_errors_addf(v->errs, FIELD_INVALID, &at, validate_shown(v, count),
				  "cannot be decremented");
}

/* --- ControllerRevisions --------------------------------------------------------------------- */

void check_controller_revision(struct validation *v, const struct json *revision)
{
	const struct json *data = json_getz(revision, "data");
	struct field_path at = field_path_name(NULL, "data");

	if (!data || data->type == JSON_NULL)
		field_errors_required(v->errs, &at, "data is mandatory");
	else if (data->type != JSON_OBJECT)
		field_errors_required(v->errs, &at, "data must be a valid JSON object");
}

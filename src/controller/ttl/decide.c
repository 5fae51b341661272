/*
 * The first condition Complete or Failed that is True has the time, as upstream.
 */
#include "controller/ttl/decide.h"

#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

static const struct json *final_condition(const struct json *job)
{
	JSON_FOREACH (it, json_getz(json_getz(job, "status"), "conditions")) {
		struct str type = json_text_at(it, "type");

		if ((str_eqz(type, "Complete") || str_eqz(type, "Failed")) &&
		    str_eqz(json_text_at(it, "status"), "True"))
			return it;
	}
	return NULL;
}

bool ttl_decide(const struct json *job, int64_t now_ns, int64_t *ret_left_ns)
{
	int64_t ttl = json_i64_at(json_getz(job, "spec"), "ttlSecondsAfterFinished", -1), end;
	struct str text = json_text_at(final_condition(job), "lastTransitionTime");

	if (ttl < 0 || text.n == 0 || timestamp_parse(text, &end, NULL) < 0 ||
	    json_text_at(json_getz(job, "metadata"), "deletionTimestamp").n > 0)
		return false;
	*ret_left_ns = end + MIN(ttl, (int64_t)INT32_MAX) * CLOCK_SEC - now_ns;
	return true;
}

/*
 * Upstream sorts the pods by their ends; the result depends only on the latest success and on the
 * failures after it, so one pass is enough.
 */
#include "controller/job/backoff.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"

/* --- a pod's end ----------------------------------------------------------------------------- */

static int64_t backoff_time_at(const struct json *object, const char *key)
{
	struct str text = json_text_at(object, key);
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

/*
 * The latest end of these containers and `before`; 0 if one of them has not ended. With `sidecars`
 * only those count that are sidecars.
 */
static int64_t latest_end(int64_t before, const struct json *statuses, const struct json *sidecars)
{
	int64_t latest = before;

	JSON_FOREACH (it, statuses) {
		const struct json *spec = json_find(sidecars, "name", json_text_at(it, "name"));
		int64_t end = backoff_time_at(json_getz(json_getz(it, "state"), "terminated"),
					      "finishedAt");

		if (sidecars && !str_eqz(json_text_at(spec, "restartPolicy"), "Always"))
			continue;
		if (!end)
			return 0;
		latest = MAX(latest, end);
	}
	return latest;
}

static int64_t containers_end(const struct json *pod)
{
	const struct json *status = json_getz(pod, "status");
	const struct json *init = json_getz(json_getz(pod, "spec"), "initContainers");
	int64_t end = latest_end(0, json_getz(status, "containerStatuses"), NULL);

	return init ? latest_end(end, json_getz(status, "initContainerStatuses"), init) : end;
}

int64_t job_backoff_pod_end(const struct json *pod)
{
	const struct json *meta = json_getz(pod, "metadata"), *ready;
	int64_t end = containers_end(pod), grace;

	ready = json_find(json_getz(json_getz(pod, "status"), "conditions"), "type", STR("Ready"));
	if (!end && str_eqz(json_text_at(ready, "status"), "False"))
		end = backoff_time_at(ready, "lastTransitionTime");
	if (!end) {
		end = backoff_time_at(meta, "deletionTimestamp");
		grace = json_i64_at(meta, "deletionGracePeriodSeconds", 0);
		if (end && grace > 0 && grace < INT32_MAX)
			end -= grace * CLOCK_SEC;
	}
	return end ? end : backoff_time_at(meta, "creationTimestamp");
}

/* --- the record ------------------------------------------------------------------------------ */

struct job_backoff job_backoff_after(struct job_backoff record, const int64_t *succeeded,
				     size_t nsucceeded, const int64_t *failed, size_t nfailed)
{
	int64_t since = INT64_MIN, last = 0;
	size_t after = 0;

	for (size_t i = 0; i < nsucceeded; i++)
		since = MAX(since, succeeded[i]);
	for (size_t i = 0; i < nfailed; i++) {
		if (nsucceeded > 0 && failed[i] <= since)
			continue;
		last = after++ ? MAX(last, failed[i]) : failed[i];
	}
	if (nsucceeded > 0)
		record = (struct job_backoff){ 0 };
	if (after > 0) {
		record.failures += (int64_t)after;
		record.last_ns = last;
	}
	return record;
}

int64_t job_backoff_wait_ns(struct job_backoff record, int64_t now_ns)
{
	int64_t wait = JOB_BACKOFF_BASE_S, elapsed;

	if (record.failures <= 0)
		return 0;
	for (int64_t i = 1; i < record.failures && wait < JOB_BACKOFF_MAX_S; i++)
		wait = MIN(wait * 2, (int64_t)JOB_BACKOFF_MAX_S);
	/* A node whose clock is ahead must not stop the Job for longer than this. */
	elapsed = MAX(now_ns - record.last_ns, (int64_t)0);
	return MAX(wait * CLOCK_SEC - elapsed, (int64_t)0);
}

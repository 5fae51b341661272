/*
 * The status of a Job. Anybody may manage a Job (spec.managedBy), so transitions are checked: an
 * end is final, counters do not go down, a finished Job has no pods left. A rule that only a change
 * can break is applied only if the field has changed, because a change of the spec may leave a
 * status behind that its controller has yet to correct.
 */
#include "api/check/checks.h"
#include "api/check/job.h"
#include "base/core/map.h"
#include "base/time/timestamp.h"

struct status_check {
	struct validation *v;
	const struct json *spec, *status, *old;
	struct field_path path;
};

static bool is_true(const struct json *status, const char *type)
{
	JSON_FOREACH (it, json_getz(status, "conditions")) {
		if (str_eqz(json_text_at(it, "type"), type) &&
		    str_eqz(json_text_at(it, "status"), "True"))
			return true;
	}
	return false;
}

static bool is_finished(const struct json *status)
{
	return is_true(status, "Complete") || is_true(status, "Failed");
}

/* Absent, zero and empty are equal. */
static bool status_changed(const struct status_check *c, const char *name)
{
	const struct json *is = json_getz(c->status, name), *was = json_getz(c->old, name);

	if (validate_is_unset(is) || validate_is_unset(was))
		return validate_is_unset(is) != validate_is_unset(was);
	return !json_equal(is, was);
}

static bool condition_changed(const struct status_check *c, const char *type)
{
	return is_true(c->status, type) != is_true(c->old, type);
}

static bool finish_changed(const struct status_check *c)
{
	return is_finished(c->status) != is_finished(c->old);
}

static int64_t status_count(const struct status_check *c, const char *name)
{
	return json_i64_at(c->status, name, 0);
}

static void status_invalid(const struct status_check *c, const char *name, const char *words)
{
	struct field_path at = field_path_name(&c->path, name);
	bool conditions = strcmp(name, "conditions") == 0;

	field_errors_invalid(c->v->errs, &at,
			     conditions ? FIELD_OMITTED
					: validate_shown(c->v, json_getz(c->status, name)),
			     words);
}

static void status_required(const struct status_check *c, const char *name, const char *words)
{
	struct field_path at = field_path_name(&c->path, name);

	field_errors_required(c->v->errs, &at, words);
}

/* --- uncounted pods -------------------------------------------------------------------------- */

static void check_uids(const struct status_check *c, const char *name, struct map *seen)
{
	const struct json *list = json_getz(c->status, "uncountedTerminatedPods");
	struct field_path list_at = field_path_name(&c->path, "uncountedTerminatedPods");
	struct field_path name_at = field_path_name(&list_at, name);
	size_t index = 0;

	JSON_FOREACH (it, json_getz(list, name)) {
		struct field_path at = field_path_index(&name_at, index++);
		struct str uid = json_str(it);

		if (uid.n == 0)
			field_errors_invalid(c->v->errs, &at, FIELD_STR(uid), "must not be empty");
		else if (map_get(seen, uid))
			field_errors_duplicate(c->v->errs, &at, FIELD_STR(uid));
		else
			(void)map_put(seen, uid, it);
	}
}

static void check_uncounted(const struct status_check *c)
{
	struct map seen;

	map_init(&seen);
	check_uids(c, "succeeded", &seen);
	check_uids(c, "failed", &seen);
	map_release(&seen);
}

/* --- conditions ------------------------------------------------------------------------------ */

/* Pairs that must not both be True. */
static void check_pairs(const struct status_check *c)
{
	bool complete = condition_changed(c, "Complete");

	if ((complete || condition_changed(c, "Failed")) && is_true(c->status, "Complete") &&
	    is_true(c->status, "Failed"))
		status_invalid(c, "conditions",
			       "cannot set Complete=True and Failed=true conditions");
	if ((complete || condition_changed(c, "FailureTarget")) && is_true(c->status, "Complete") &&
	    is_true(c->status, "FailureTarget"))
		status_invalid(c, "conditions",
			       "cannot set Complete=True and FailureTarget=true conditions");
	if (is_true(c->status, "SuccessCriteriaMet") && is_true(c->status, "Failed"))
		status_invalid(c, "conditions",
			       "cannot set SuccessCriteriaMet=True and Failed=true conditions");
	if (is_true(c->status, "SuccessCriteriaMet") && is_true(c->status, "FailureTarget"))
		status_invalid(c, "conditions",
			       "cannot set SuccessCriteriaMet=True and FailureTarget=true "
			       "conditions");
}

/* A Job announces its end before it ends. */
static void check_announced(const struct status_check *c)
{
	if ((condition_changed(c, "Failed") || status_changed(c, "failedIndexes")) &&
	    is_true(c->status, "Failed") && !is_true(c->status, "FailureTarget"))
		status_invalid(c, "conditions",
			       "cannot set Failed=True condition without the FailureTarget=true "
			       "condition");
	if ((condition_changed(c, "Complete") || condition_changed(c, "SuccessCriteriaMet")) &&
	    is_true(c->status, "Complete") && !is_true(c->status, "SuccessCriteriaMet"))
		status_invalid(c, "conditions",
			       "cannot set Complete=True condition without the "
			       "SuccessCriteriaMet=true condition");
}

static void check_final(const struct status_check *c)
{
	static const char *const types[] = { "Failed", "Complete", "FailureTarget" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (is_true(c->old, types[i]) && !is_true(c->status, types[i]))
			status_invalid(c, "conditions",
				       arena_printf(c->v->arena,
						    "cannot disable the terminal %s=True condition",
						    types[i]));
	}
	if (is_true(c->old, "SuccessCriteriaMet") && !is_true(c->status, "SuccessCriteriaMet"))
		status_invalid(c, "conditions",
			       "cannot disable the SuccessCriteriaMet=True condition");
	if (is_true(c->old, "Complete") && !is_true(c->old, "SuccessCriteriaMet") &&
	    is_true(c->status, "SuccessCriteriaMet"))
		status_invalid(c, "conditions",
			       "cannot set SuccessCriteriaMet=True for Job already has "
			       "Complete=true conditions");
}

/* --- times ----------------------------------------------------------------------------------- */

static int64_t status_time(const struct json *status, const char *name)
{
	struct str text = json_text_at(status, name);
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static bool is_resuming(const struct status_check *c)
{
	const struct json *now = json_find(json_getz(c->status, "conditions"), "type",
					   STR("Suspended"));

	return is_true(c->old, "Suspended") && str_eqz(json_text_at(now, "status"), "False");
}

static void check_times(const struct status_check *c)
{
	int64_t start = status_time(c->status, "startTime");
	int64_t end = status_time(c->status, "completionTime");
	bool complete = is_true(c->status, "Complete");
	bool end_changed = condition_changed(c, "Complete") || status_changed(c, "completionTime");

	if (end_changed && end && !complete)
		status_invalid(
			c, "completionTime",
			"cannot set completionTime when there is no Complete=True condition");
	if (end_changed && !end && complete)
		status_required(c, "completionTime",
				"completionTime is required for Complete jobs");
	if ((status_changed(c, "startTime") || status_changed(c, "completionTime")) && start &&
	    end && end < start)
		status_invalid(c, "completionTime", "must be equal to or after `startTime`");
	if (end && status_time(c->old, "completionTime") && status_changed(c, "completionTime"))
		status_invalid(c, "completionTime", "field is immutable");
	if (status_changed(c, "startTime") && !is_resuming(c) && status_time(c->old, "startTime") &&
	    !json_true_at(c->spec, "suspend"))
		status_invalid(c, "startTime", "field is immutable for unsuspended job once set");
}

/* --- finished Jobs --------------------------------------------------------------------------- */

static void check_finished(const struct status_check *c)
{
	const struct json *uncounted = json_getz(c->status, "uncountedTerminatedPods");
	bool changed = finish_changed(c);
	bool idle = json_true_at(c->spec, "suspend") &&
		    json_i64_at(c->spec, "completions", -1) == 0;

	if (!is_finished(c->status))
		return;
	if ((changed || status_changed(c, "active")) && status_count(c, "active") > 0)
		status_invalid(c, "active", "active>0 is invalid for finished job");
	if ((changed || status_changed(c, "terminating")) && status_count(c, "terminating") > 0)
		status_invalid(c, "terminating", "terminating>0 is invalid for finished job");
	if ((changed || status_changed(c, "startTime")) && !idle &&
	    !status_time(c->status, "startTime"))
		status_required(c, "startTime", "startTime is required for finished job");
	if ((changed || status_changed(c, "uncountedTerminatedPods")) &&
	    json_count(json_getz(uncounted, "succeeded")) +
			    json_count(json_getz(uncounted, "failed")) >
		    0)
		status_invalid(c, "uncountedTerminatedPods", "must be empty for finished job");
}

/* --- counters -------------------------------------------------------------------------------- */

static void check_counters(const struct status_check *c)
{
	bool indexed = str_eqz(json_text_at(c->spec, "completionMode"), "Indexed");
	bool tandem = json_equal(json_getz(c->spec, "completions"),
				 json_getz(c->spec, "parallelism"));

	if (status_count(c, "failed") < json_i64_at(c->old, "failed", 0))
		status_invalid(c, "failed", "cannot decrease the failed counter");
	/* An indexed Job may get fewer completions, and with them fewer successes. */
	if (!(indexed && tandem) &&
	    status_count(c, "succeeded") < json_i64_at(c->old, "succeeded", 0))
		status_invalid(c, "succeeded", "cannot decrease the succeeded counter");
	if ((status_changed(c, "ready") || status_changed(c, "active")) &&
	    status_count(c, "ready") > status_count(c, "active"))
		status_invalid(c, "ready", "cannot set more ready pods than active");
}

/* --- indexes --------------------------------------------------------------------------------- */

static void check_status_indexes(const struct status_check *c, const char *name)
{
	const struct json *completions = json_getz(c->spec, "completions");
	int64_t total, most;
	struct error err;

	if (status_changed(c, name) && json_i64(completions, &most) &&
	    check_job_indexes(json_text_at(c->status, name), most, &total, &err) < 0)
		status_invalid(c, name,
			       arena_printf(c->v->arena, "error parsing %s: %s", name, err.msg));
}

/* Both lists are in order; malformed intervals are reported by their own check. */
static void check_overlap(const struct status_check *c)
{
	struct str done = json_text_at(c->status, "completedIndexes"), piece;
	struct str failed = json_text_at(c->status, "failedIndexes");
	struct check_interval x = { 0, -1 }, y = { 0, -1 }, fresh;

	for (;;) {
		bool next_x = x.last < y.last || x.last < 0;
		struct str *list = next_x ? &done : &failed;
		struct check_interval *i = next_x ? &x : &y;

		if (list->n == 0)
			return;
		(void)str_split(list, ',', &piece);
		if (check_job_interval(piece, INT64_MAX, &fresh, NULL) < 0)
			continue;
		*i = fresh;
		if (y.last < 0)
			continue;
		if (x.first <= y.last && y.first <= x.last) {
			status_invalid(c, "failedIndexes",
				       arena_printf(c->v->arena,
						    "failedIndexes and completedIndexes overlap at "
						    "index: %lld",
						    (long long)MAX(x.first, y.first)));
			return;
		}
	}
}

static void check_all_indexes(const struct status_check *c)
{
	bool failed = json_getz(c->status, "failedIndexes") != NULL;
	bool failed_changed = failed != (json_getz(c->old, "failedIndexes") != NULL) ||
			      status_changed(c, "failedIndexes");

	check_status_indexes(c, "completedIndexes");
	if (failed && json_getz(c->spec, "backoffLimitPerIndex"))
		check_status_indexes(c, "failedIndexes");
	if (status_changed(c, "completedIndexes") &&
	    json_text_at(c->status, "completedIndexes").n > 0 &&
	    !str_eqz(json_text_at(c->spec, "completionMode"), "Indexed"))
		status_invalid(c, "completedIndexes",
			       "cannot set non-empty completedIndexes when non-indexed completion "
			       "mode");
	if (failed_changed && failed && !json_getz(c->spec, "backoffLimitPerIndex"))
		status_invalid(
			c, "failedIndexes",
			"cannot set non-null failedIndexes when backoffLimitPerIndex is null");
	if (failed_changed || status_changed(c, "completedIndexes"))
		check_overlap(c);
}

void check_job_status(struct validation *v, const struct json *job, const struct json *old)
{
	struct status_check c = { .v = v,
				  .spec = json_getz(job, "spec"),
				  .status = json_getz(job, "status"),
				  .old = json_getz(old, "status"),
				  .path = field_path_name(NULL, "status") };

	check_uncounted(&c);
	check_pairs(&c);
	check_announced(&c);
	check_final(&c);
	check_times(&c);
	check_finished(&c);
	check_counters(&c);
	check_all_indexes(&c);
}

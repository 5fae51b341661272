/*
 * Reading and judging. Conditions that an earlier check wrote come first, then reasons to fail,
 * then reasons to succeed. So a Job whose end was announced never ends in another way.
 */
#include "controller/job/view.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "controller/job/view_impl.h"

enum { DEADLINE_CHECK_MAX_S = 1000000 /* a longer deadline is checked again on the way */ };

/* --- reading --------------------------------------------------------------------------------- */

static int64_t count_at(const struct json *spec, const char *name, int64_t absent)
{
	int64_t n = json_i64_at(spec, name, absent);

	return n < 0 ? absent : n;
}

static int64_t number_at(const struct json *spec, const char *name, int64_t absent)
{
	int64_t n = json_i64_at(spec, name, absent);

	return n < 0 && n != absent ? 0 : n;
}

struct job_spec job_spec_read(const struct json *job)
{
	const struct json *spec = json_getz(job, "spec"), *template = json_getz(spec, "template");
	struct str mode = json_text_at(spec, "completionMode");
	struct str restart = json_text_at(json_getz(template, "spec"), "restartPolicy");
	struct job_spec s = {
		.indexed = str_eqz(mode, "Indexed"),
		.suspended = json_true_at(spec, "suspend"),
		.restarts_on_failure = str_eqz(restart, "OnFailure"),
		.replace_failed_only = str_eqz(json_text_at(spec, "podReplacementPolicy"),
					       "Failed"),
		.parallelism = number_at(spec, "parallelism", 1),
		.completions = number_at(spec, "completions", -1),
		.backoff_limit = number_at(spec, "backoffLimit", 6),
		.index_limit = number_at(spec, "backoffLimitPerIndex", -1),
		.max_failed_indexes = number_at(spec, "maxFailedIndexes", -1),
		.deadline_s = number_at(spec, "activeDeadlineSeconds", -1),
		.template = template,
		.failure_policy = json_getz(spec, "podFailurePolicy"),
		.success_policy = json_getz(spec, "successPolicy"),
	};

	s.per_index = s.indexed && s.index_limit >= 0;
	s.bad_mode = (mode.n > 0 && !s.indexed && !str_eqz(mode, "NonIndexed")) ||
		     (s.indexed && s.completions < 0);
	return s;
}

bool job_spec_foreign(const struct json *job)
{
	struct str by = json_text_at(json_getz(job, "spec"), "managedBy");

	return by.n > 0 && !str_eqz(by, JOB_CONTROLLER_NAME);
}

void job_view_init(struct job_view *v, struct arena *a, struct json *job, int64_t now_ns)
{
	*v = (struct job_view){ .arena = a, .job = job, .now_ns = now_ns };
	map_init(&v->by_uid);
	v->status = json_need_object(a, job, "status");
	v->spec = job_spec_read(job);
	v->deleting = json_text_at(json_getz(job, "metadata"), "deletionTimestamp").n > 0;
}

static int compare_pods(const void *a, const void *b)
{
	const struct job_pod *x = a, *y = b;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return str_cmp(x->name, y->name);
}

static void note_counted(struct job_view *v, const char *name, enum job_counted counted)
{
	JSON_FOREACH (it, job_view_uncounted(v, name)) {
		struct job_pod *p = map_get(&v->by_uid, json_str(it));

		if (p)
			p->counted = counted;
	}
}

void job_view_pods(struct job_view *v)
{
	if (v->spec.indexed && v->n > 0)
		qsort(v->pods, v->n, sizeof(*v->pods), compare_pods);
	map_reserve(&v->by_uid, v->n);
	for (size_t i = 0; i < v->n; i++) {
		struct job_pod *p = &v->pods[i];

		p->valid = !v->spec.indexed || (p->index >= 0 && p->index < v->spec.completions);
		(void)map_put(&v->by_uid, p->uid, p);
	}
	note_counted(v, "succeeded", JOB_COUNTED_SUCCEEDED);
	note_counted(v, "failed", JOB_COUNTED_FAILED);
}

void job_view_release(struct job_view *v)
{
	map_release(&v->by_uid);
}

int64_t job_view_counter(const struct job_view *v, const char *name)
{
	int64_t n = count_at(v->status, name, 0);

	return MIN(n, (int64_t)INT32_MAX);
}

struct json *job_view_uncounted(const struct job_view *v, const char *name)
{
	return json_getz(json_getz(v->status, "uncountedTerminatedPods"), name);
}

const struct job_pod *job_view_replaced(const struct job_view *v, int64_t index)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->pods[mid].index >= index)
			high = mid;
		else
			low = mid + 1;
	}
	for (; low < v->n && v->pods[low].index == index; low++) {
		if (v->pods[low].delayed)
			return &v->pods[low];
	}
	return NULL;
}

/* --- counting -------------------------------------------------------------------------------- */

/* A pod that ended and is not in the status yet. */
static bool is_new(const struct job_pod *p, bool success)
{
	if (!p->held || !p->valid)
		return false;
	return success ? p->succeeded && p->counted != JOB_COUNTED_SUCCEEDED
		       : p->failed && p->counted != JOB_COUNTED_FAILED;
}

static void count_states(struct job_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct job_pod *p = &v->pods[i];

		v->active += p->active;
		v->ready += p->active && p->ready;
		v->terminating += p->terminating;
	}
}

static void count_ends(struct job_view *v)
{
	int64_t *succeeded = ARENA_ARRAY(v->arena, int64_t, v->n);
	int64_t *failed = ARENA_ARRAY(v->arena, int64_t, v->n);
	size_t nsucceeded = 0, nfailed = 0, ignored = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct job_pod *p = &v->pods[i];

		if (is_new(p, true))
			succeeded[nsucceeded++] = p->end_ns;
		if (is_new(p, false)) {
			/* If its node's clock is ahead, back-off begins now. */
			failed[nfailed++] = MIN(p->end_ns, v->now_ns);
			ignored += p->verdict.action == JOB_IGNORE;
		}
	}
	v->succeeded = job_view_counter(v, "succeeded") + (int64_t)nsucceeded +
		       (int64_t)json_count(job_view_uncounted(v, "succeeded"));
	v->failed = job_view_counter(v, "failed") + (int64_t)(nfailed - ignored) +
		    (int64_t)json_count(job_view_uncounted(v, "failed"));
	v->backoff = job_backoff_after(v->backoff, succeeded, nsucceeded, failed, nfailed);
}

/* --- reasons to end -------------------------------------------------------------------------- */

static void view_end(struct job_view *v, const char *type, const char *reason, const char *message)
{
	v->end = (struct job_condition){ .type = type,
					 .reason = str_from(reason),
					 .message = str_from(message) };
}

static void view_fail(struct job_view *v, const char *reason, const char *message)
{
	view_end(v, "FailureTarget", reason, message);
}

static void assess_failure_policy(struct job_view *v)
{
	for (size_t i = 0; v->spec.failure_policy && i < v->n; i++) {
		const struct job_pod *p = &v->pods[i];

		if (!p->failed || p->verdict.action != JOB_FAIL_JOB)
			continue;
		v->end = (struct job_condition){ .type = "FailureTarget",
						 .reason = STR("PodFailurePolicy"),
						 .message = p->verdict.message };
		return;
	}
}

/* Pods that restart their containers have no failed pods to count. */
static bool past_restarts(const struct job_view *v)
{
	int64_t restarts = 0;

	if (!v->spec.restarts_on_failure)
		return false;
	for (size_t i = 0; i < v->n; i++)
		restarts += v->pods[i].restarts;
	return v->spec.backoff_limit == 0 ? restarts > 0 : restarts >= v->spec.backoff_limit;
}

int64_t job_view_start_ns(const struct job_view *v)
{
	struct str text = json_text_at(v->status, "startTime");
	int64_t ns = 0;

	return text.n > 0 && timestamp_parse(text, &ns, NULL) == 0 ? ns : 0;
}

static void assess_deadline(struct job_view *v)
{
	int64_t start = job_view_start_ns(v), elapsed = v->now_ns - start, left;

	if (v->spec.deadline_s < 0 || v->spec.suspended || !start)
		return;
	left = MIN(v->spec.deadline_s, (int64_t)DEADLINE_CHECK_MAX_S) * CLOCK_SEC - elapsed;
	if (elapsed / CLOCK_SEC >= v->spec.deadline_s)
		view_fail(v, "DeadlineExceeded", "Job was active longer than specified deadline");
	else
		v->check_after_ns = MAX(left, CLOCK_SEC);
}

static void assess_limits(struct job_view *v)
{
	if (v->failed > v->spec.backoff_limit || past_restarts(v))
		view_fail(v, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
	else
		assess_deadline(v);
}

/* --- indexes --------------------------------------------------------------------------------- */

static bool index_failed(const struct job_view *v, const struct job_pod *p)
{
	if (!p->failed || !p->finalizer || !p->valid)
		return false;
	if (p->verdict.action == JOB_FAIL_INDEX)
		return true;
	return p->verdict.action != JOB_IGNORE && p->index_failures >= v->spec.index_limit;
}

static struct job_indexes add_indexes(struct job_view *v, const struct job_indexes *before,
				      bool (*test)(const struct job_view *, const struct job_pod *))
{
	int64_t *found = ARENA_ARRAY(v->arena, int64_t, v->n);
	struct job_indexes set;
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		if (test(v, &v->pods[i]))
			found[n++] = v->pods[i].index;
	}
	set = job_indexes_of(v->arena, found, n);
	return job_indexes_merge(v->arena, before, &set);
}

static bool index_succeeded(const struct job_view *v UNUSED, const struct job_pod *p)
{
	return p->succeeded && p->valid && p->finalizer;
}

/*
 * If an index has failed pods and no successor yet, the last of them keeps its finalizer: the
 * successor inherits its failure count.
 */
static void mark_delayed(struct job_view *v)
{
	struct job_pod *last = NULL;
	bool active = false;

	for (size_t i = 0; i < v->n; i++) {
		struct job_pod *p = &v->pods[i];
		bool same = i > 0 && v->pods[i - 1].index == p->index;

		if (!same) {
			last = NULL;
			active = false;
		}
		if (p->active)
			active = true;
		if (active && last)
			last->delayed = false;
		if (active || !p->failed || !p->held || !p->valid ||
		    job_indexes_has(&v->succeeded_indexes, p->index) ||
		    job_indexes_has(&v->failed_indexes, p->index))
			continue;
		if (last && (last->index_failures + last->index_ignored >
				     p->index_failures + p->index_ignored ||
			     p->end_ns < last->end_ns))
			continue;
		if (last)
			last->delayed = false;
		p->delayed = true;
		last = p;
	}
}

static void assess_failed_indexes(struct job_view *v)
{
	struct job_indexes before = job_indexes_read(
		v->arena, json_text_at(v->status, "failedIndexes"), v->spec.completions);
	int64_t failed;

	v->failed_indexes = add_indexes(v, &before, index_failed);
	failed = job_indexes_total(&v->failed_indexes);
	mark_delayed(v);
	if (v->end.type)
		return;
	if (v->spec.max_failed_indexes >= 0 && failed > v->spec.max_failed_indexes)
		view_fail(v, "MaxFailedIndexesExceeded",
			  "Job has exceeded the specified maximal number of failed indexes");
	else if (failed > 0 &&
		 failed + job_indexes_total(&v->succeeded_indexes) >= v->spec.completions)
		view_fail(v, "FailedIndexes", "Job has failed indexes");
}

static void assess_indexes(struct job_view *v)
{
	struct str met;

	v->succeeded_before = job_indexes_read(
		v->arena, json_text_at(v->status, "completedIndexes"), v->spec.completions);
	v->succeeded_indexes = add_indexes(v, &v->succeeded_before, index_succeeded);
	v->succeeded = job_indexes_total(&v->succeeded_indexes);
	if (v->spec.per_index)
		assess_failed_indexes(v);
	if (!v->end.type && job_success_policy(v->arena, v->spec.success_policy,
					       v->spec.completions, &v->succeeded_indexes, &met))
		v->end = (struct job_condition){ .type = "SuccessCriteriaMet",
						 .reason = STR("SuccessPolicy"),
						 .message = met };
}

void job_assess(struct job_view *v)
{
	count_states(v);
	count_ends(v);
	if (!job_view_start_ns(v) && !v->spec.suspended) {
		job_status_time(v->arena, v->status, "startTime", v->now_ns);
		v->changed = true;
	}
	v->end = job_status_condition(v->job, "SuccessCriteriaMet");
	if (!v->end.type) {
		v->end = job_status_condition(v->job, "FailureTarget");
		if (v->end.type)
			v->end.type = "Failed";
		else
			assess_failure_policy(v);
	}
	if (!v->end.type)
		assess_limits(v);
	if (v->spec.indexed)
		assess_indexes(v);
}

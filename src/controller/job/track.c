/*
 * Counting pods that have ended. See view.h for the order of steps and writes.
 */
#include "controller/job/view.h"
#include "controller/job/view_impl.h"

#define UNCOUNTED "uncountedTerminatedPods"

/* --- from the list to the counters ----------------------------------------------------------- */

/* Removes uids whose pods have no finalizer any more; returns how many. */
static int64_t drop_released(struct job_view *v, const char *name)
{
	struct json *list = job_view_uncounted(v, name);
	int64_t n = 0;

	JSON_FOREACH_SAFE (it, list) {
		const struct job_pod *p = map_get(&v->by_uid, json_str(it));

		if (p && p->held)
			continue;
		(void)json_unlink(list, it);
		n++;
	}
	if (list && json_count(list) == 0)
		(void)json_remove(json_getz(v->status, UNCOUNTED), str_from(name));
	return n;
}

bool job_count(struct job_view *v)
{
	int64_t succeeded = drop_released(v, "succeeded"), failed = drop_released(v, "failed");

	(void)json_need_object(v->arena, v->status, UNCOUNTED);
	(void)job_status_count(v->arena, v->status, "succeeded",
			       job_view_counter(v, "succeeded") + succeeded, false);
	(void)job_status_count(v->arena, v->status, "failed",
			       job_view_counter(v, "failed") + failed, false);
	return succeeded > 0 || failed > 0;
}

/* --- from the pods to the list --------------------------------------------------------------- */

static void list_uid(struct job_view *v, const char *name, const struct job_pod *p)
{
	struct json *uncounted = json_need_object(v->arena, v->status, UNCOUNTED);

	json_append(json_need_array(v->arena, uncounted, name),
		    json_make_str(v->arena, arena_str(v->arena, p->uid)));
	v->changed = true;
}

static bool may_release(const struct job_view *v, const struct job_pod *p)
{
	if (v->deleting || v->end.type || p->succeeded)
		return true;
	return p->failed && !p->delayed;
}

/* A succeeded index is counted by itself; otherwise the uid is noted. */
static void track_success(struct job_view *v, const struct job_pod *p, int64_t *indexes, size_t *n)
{
	if (!v->spec.indexed) {
		if (p->counted != JOB_COUNTED_SUCCEEDED)
			list_uid(v, "succeeded", p);
	} else if (p->valid && !job_indexes_has(&v->succeeded_before, p->index)) {
		indexes[(*n)++] = p->index;
		v->changed = true;
	}
}

/* When a Job fails, all its pods that have not ended count as failed. */
static void track_failure(struct job_view *v, const struct job_pod *p)
{
	bool fails = v->end.type && strcmp(v->end.type, "SuccessCriteriaMet") != 0;

	if ((p->failed || fails) && p->counted != JOB_COUNTED_FAILED && p->valid &&
	    p->verdict.action != JOB_IGNORE)
		list_uid(v, "failed", p);
}

static void track_pods(struct job_view *v, int64_t *indexes, size_t *ret_n)
{
	v->release = ARENA_ARRAY(v->arena, struct job_pod *, v->n);
	for (size_t i = 0; i < v->n && !v->more; i++) {
		struct job_pod *p = &v->pods[i];

		if (!p->held || !may_release(v, p))
			continue;
		v->release[v->nrelease++] = p;
		if (p->succeeded && p->counted != JOB_COUNTED_FAILED)
			track_success(v, p, indexes, ret_n);
		else
			track_failure(v, p);
		v->more = *ret_n + json_count(job_view_uncounted(v, "succeeded")) +
				  json_count(job_view_uncounted(v, "failed")) >=
			  JOB_UNCOUNTED_MAX;
	}
}

static void track_indexes(struct job_view *v, int64_t *indexes, size_t n)
{
	struct job_indexes fresh = job_indexes_of(v->arena, indexes, n);
	struct json *status = v->status;
	struct str failed;

	v->succeeded_indexes = job_indexes_merge(v->arena, &v->succeeded_indexes, &fresh);
	v->changed |= job_status_text(v->arena, status, "completedIndexes",
				      job_indexes_print(v->arena, &v->succeeded_indexes));
	(void)job_status_count(v->arena, status, "succeeded",
			       job_indexes_total(&v->succeeded_indexes), false);
	if (!v->spec.per_index) {
		v->changed |= json_remove(status, STR("failedIndexes")) != NULL;
		return;
	}
	failed = job_indexes_print(v->arena, &v->failed_indexes);
	if (!json_getz(status, "failedIndexes") ||
	    !str_eq(json_text_at(status, "failedIndexes"), failed)) {
		json_put_str(v->arena, status, "failedIndexes", failed);
		v->changed = true;
	}
}

/* The condition that announces the end is written before finalizers go; the last one after it. */
static void announce_end(struct job_view *v)
{
	const char *last = NULL;

	if (!v->end.type)
		return;
	if (strcmp(v->end.type, "FailureTarget") == 0)
		last = "Failed";
	else if (strcmp(v->end.type, "SuccessCriteriaMet") == 0)
		last = "Complete";
	if (!last)
		return;
	if (!job_status_has(v->job, v->end.type))
		v->changed |= job_status_set(v->arena, v->status, &v->end, true, v->now_ns);
	v->end.type = last;
}

void job_track(struct job_view *v)
{
	int64_t *indexes = ARENA_ARRAY(v->arena, int64_t, v->n);
	size_t n = 0;

	v->changed |= job_count(v);
	track_pods(v, indexes, &n);
	if (v->spec.indexed)
		track_indexes(v, indexes, n);
	announce_end(v);
}

/* --- the end --------------------------------------------------------------------------------- */

bool job_enact(struct job_view *v)
{
	if (!v->end.type || v->more || v->terminating > 0 ||
	    json_count(job_view_uncounted(v, "succeeded")) > 0 ||
	    json_count(job_view_uncounted(v, "failed")) > 0)
		return false;
	(void)job_status_set(v->arena, v->status, &v->end, true, v->now_ns);
	/* A suspended Job has none, and its pods may have ended it. The server wants one. */
	if (!job_view_start_ns(v) && v->spec.completions != 0)
		job_status_time(v->arena, v->status, "startTime", v->now_ns);
	if (strcmp(v->end.type, "Complete") == 0)
		/* The leader that started the Job may have had a clock that is ahead of ours. */
		job_status_time(v->arena, v->status, "completionTime",
				MAX(v->now_ns, job_view_start_ns(v)));
	return true;
}

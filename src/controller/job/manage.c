/*
 * Which pods to delete or to create. A check does one of the two, as upstream: deletions go first.
 */
#include "base/core/clock.h"
#include "client/informer/cached.h"
#include "controller/job/view.h"
#include "controller/job/view_impl.h"
#include "controller/pods/pod_state.h"

enum { WAIT_MIN_MS = 1000 /* pods' events come in batches of a second, too */ };

/* --- deleting -------------------------------------------------------------------------------- */

struct ranked {
	struct pod_rank rank;
	struct job_pod *pod;
};

/*
 * A pod whose finalizer is gone already was about to be deleted when a controller crashed: it goes
 * first, because its end would not be counted.
 */
static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->pod->finalizer != y->pod->finalizer)
		return x->pod->finalizer ? 1 : -1;
	return pod_rank_compare(&x->rank, &y->rank);
}

/* Orders the pods so that those to delete come first. */
static void rank_pods(struct job_view *v, struct job_pod **pods, size_t n)
{
	struct ranked *r = ARENA_ARRAY(v->arena, struct ranked, n);

	for (size_t i = 0; i < n; i++) {
		struct json *tree = NULL;

		if (pods[i]->object)
			(void)cached_tree(pods[i]->object, v->arena, &tree, NULL);
		r[i] = (struct ranked){ .pod = pods[i], .rank = { .pod = tree } };
	}
	qsort(r, n, sizeof(*r), compare_ranked);
	for (size_t i = 0; i < n; i++)
		pods[i] = r[i].pod;
}

static void remove_pod(struct job_view *v, struct job_pod *p)
{
	v->removed[v->nremoved++] = p;
}

/*
 * An indexed Job removes pods without a valid index, and all but one pod of each index. Returns the
 * number of pods that remain, in `left`.
 */
static size_t remove_repeated(struct job_view *v, struct job_pod **active, size_t n,
			      struct job_pod **left)
{
	size_t nleft = 0, first = 0;

	while (first < n) {
		size_t end = first + 1;

		while (end < n && active[end]->index == active[first]->index)
			end++;
		if (active[first]->valid && end - first > 1)
			rank_pods(v, active + first, end - first);
		for (size_t i = first; i < end; i++) {
			if (active[i]->valid && i + 1 == end)
				left[nleft++] = active[i];
			else
				remove_pod(v, active[i]);
		}
		first = end;
	}
	return nleft;
}

/* Chooses at least `least` active pods. */
static void choose_removed(struct job_view *v, size_t least)
{
	struct job_pod **active = ARENA_ARRAY(v->arena, struct job_pod *, v->n);
	struct job_pod **left = active;
	size_t n = 0, nleft;

	for (size_t i = 0; i < v->n; i++) {
		if (v->pods[i].active)
			active[n++] = &v->pods[i];
	}
	v->removed = ARENA_ARRAY(v->arena, struct job_pod *, n);
	nleft = n;
	if (v->spec.indexed) {
		left = ARENA_ARRAY(v->arena, struct job_pod *, n);
		nleft = remove_repeated(v, active, n, left);
	}
	if (v->nremoved < least && least - v->nremoved < nleft)
		rank_pods(v, left, nleft);
	for (size_t i = 0; i < nleft && v->nremoved < least; i++)
		remove_pod(v, left[i]);
}

/* --- creating -------------------------------------------------------------------------------- */

static struct job_indexes indexes_where(struct job_view *v, bool terminating)
{
	int64_t *found = ARENA_ARRAY(v->arena, int64_t, v->n);
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct job_pod *p = &v->pods[i];

		if (p->index >= 0 && (terminating ? p->terminating : p->active))
			found[n++] = p->index;
	}
	return job_indexes_of(v->arena, found, n);
}

/* The first indexes that need a pod, at most `max`. */
static size_t pending_indexes(struct job_view *v, size_t max)
{
	struct job_indexes busy = indexes_where(v, false), more;

	busy = job_indexes_merge(v->arena, &busy, &v->succeeded_indexes);
	busy = job_indexes_merge(v->arena, &busy, &v->failed_indexes);
	if (v->spec.replace_failed_only) {
		more = indexes_where(v, true);
		busy = job_indexes_merge(v->arena, &busy, &more);
	}
	v->indexes = ARENA_ARRAY(v->arena, int64_t, max);
	return job_indexes_missing(&busy, v->spec.completions, v->indexes, max);
}

static void view_wait(struct job_view *v, int64_t ns)
{
	ns = MAX(ns, WAIT_MIN_MS * CLOCK_MS);
	v->check_after_ns = v->check_after_ns ? MIN(v->check_after_ns, ns) : ns;
}

/* Keeps the indexes whose back-off is over; if all must wait, sets the timer. */
static size_t ready_indexes(struct job_view *v, size_t n)
{
	int64_t least = INT64_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct job_pod *p = job_view_replaced(v, v->indexes[i]);
		struct job_backoff b = { 0 };
		int64_t wait;

		if (p)
			b = (struct job_backoff){ p->index_failures + p->index_ignored + 1,
						  p->end_ns };
		wait = job_backoff_wait_ns(b, v->now_ns);
		if (wait == 0)
			v->indexes[kept++] = v->indexes[i];
		else
			least = MIN(least, wait);
	}
	if (kept == 0 && n > 0)
		view_wait(v, least);
	return kept;
}

static int64_t wanted_active(const struct job_view *v)
{
	int64_t wanted;

	if (v->spec.completions < 0)
		return v->succeeded > 0 ? v->active : v->spec.parallelism;
	wanted = MIN(v->spec.completions - v->succeeded, v->spec.parallelism);
	return MAX(wanted, (int64_t)0);
}

static void create_pods(struct job_view *v, int64_t missing)
{
	int64_t wait = v->spec.per_index ? 0 : job_backoff_wait_ns(v->backoff, v->now_ns);

	if (wait > 0) {
		view_wait(v, wait);
		return;
	}
	v->created = (size_t)MIN(missing, (int64_t)JOB_PODS_PER_CHECK);
	if (v->spec.indexed)
		v->created = pending_indexes(v, v->created);
	if (v->spec.per_index)
		v->created = ready_indexes(v, v->created);
}

void job_manage(struct job_view *v)
{
	int64_t wanted, missing;

	if (v->end.type || !v->expected || v->deleting)
		return;
	v->managed = true;
	if (v->spec.suspended) {
		choose_removed(v, (size_t)v->active);
		return;
	}
	wanted = wanted_active(v);
	choose_removed(v, (size_t)MAX(v->active - wanted, (int64_t)0));
	v->nremoved = MIN(v->nremoved, (size_t)JOB_PODS_PER_CHECK);
	if (v->nremoved > 0)
		return;
	missing = wanted - v->active - (v->spec.replace_failed_only ? v->terminating : 0);
	if (missing > 0)
		create_pods(v, missing);
}

/* --- afterwards ------------------------------------------------------------------------------ */

static bool is_complete(const struct job_view *v)
{
	if (v->active > 0)
		return false;
	return v->spec.completions < 0 ? v->succeeded > 0 : v->succeeded >= v->spec.completions;
}

/* A Job that goes on starts its time anew. */
static void settle_suspension(struct job_view *v)
{
	struct job_condition c = { .type = "Suspended",
				   .reason = STR("JobSuspended"),
				   .message = STR("Job suspended") };
	bool suspended = v->spec.suspended;

	if (!suspended) {
		c.reason = STR("JobResumed");
		c.message = STR("Job resumed");
	}
	if (!job_status_set(v->arena, v->status, &c, suspended, v->now_ns))
		return;
	v->event = suspended ? "Suspended" : "Resumed";
	v->changed = true;
	job_status_time(v->arena, v->status, "startTime", suspended ? 0 : v->now_ns);
}

void job_settle(struct job_view *v)
{
	if (v->end.type) {
		/* Pods may be left that were not deleted, or that the cache does not show. */
		if (v->active > 0 || !v->expected)
			v->end.type = NULL;
	} else if (is_complete(v)) {
		v->end = (struct job_condition){
			.type = "SuccessCriteriaMet",
			.reason = STR("CompletionsReached"),
			.message = STR("Reached expected number of succeeded pods")
		};
	} else if (v->managed) {
		settle_suspension(v);
	}
	v->changed |= job_status_count(v->arena, v->status, "active", v->active, false);
	v->changed |= job_status_count(v->arena, v->status, "ready", v->ready, true);
	v->changed |= job_status_count(v->arena, v->status, "terminating", v->terminating, true);
}

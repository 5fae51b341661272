/*
 * A pod is read, marked and deleted (pods/removal.h). Between two requests the book is checked,
 * because a rule may have been withdrawn meanwhile.
 */
#include "base/core/clock.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "controller/taint_eviction/taint_eviction_impl.h"

static int64_t now_of(const struct taint_job *j)
{
	return clock_wall(loop_clock(j->owner->ctx.loop));
}

/* Whether it is the same pod, and its time has come. */
static bool still_due(const struct taint_job *j)
{
	const struct taint_pod *pod = taint_book_find(j->owner->book, j->name);

	return pod && !pod->evicted && str_eq(pod->uid, j->uid) &&
	       eviction_is_due(pod->eviction, now_of(j));
}

/* Nothing is left to do for a deleted pod, whoever deleted it. */
static void pod_finish(struct taint_job *j)
{
	taint_book_evicted(j->owner->book, j->name, j->uid);
	work_end(&j->work, false);
}

/* --- removal --------------------------------------------------------------------------------- */

static bool eviction_due(struct pod_removal *r, const struct json *pod UNUSED)
{
	return still_due(r->arg);
}

static void eviction_marking(struct pod_removal *r)
{
	struct taint_job *j = r->arg;

	taint_eviction_event(j->owner, j->name, j->uid, "Marking for deletion");
}

static void pod_evicted(struct taint_job *j)
{
	struct taint_eviction *t = j->owner;
	int64_t late = MAX(now_of(j) - j->eviction->when, 0);

	log_info(t->ctx.log, "pod evicted from tainted devices", LOG_STR("pod", j->name),
		 LOG_STR("because", eviction_print(j->eviction, &j->work.arena)),
		 LOG_NS("late", late));
	if (t->deletions)
		metrics_counter_add(t->deletions, 1);
	if (t->latency)
		metrics_histogram_observe(t->latency, (double)late / CLOCK_SEC);
	taint_rules_concerned(t, j->eviction, true);
	pod_finish(j);
}

static void eviction_done(struct pod_removal *r, enum pod_removal_end end, const char *what,
			  const struct error *err)
{
	struct taint_job *j = r->arg;

	if (end == POD_REMOVAL_DONE)
		pod_evicted(j);
	else if (end == POD_REMOVAL_GONE)
		pod_finish(j);
	else if (end == POD_REMOVAL_SPARED)
		work_end(&j->work, false);
	else
		work_fail(&j->work, what, err);
}

static void eviction_start(struct taint_job *j)
{
	j->removal = (struct pod_removal){
		.ctx = &j->owner->ctx,
		.arena = &j->work.arena,
		.ns = j->ns,
		.name = j->pod,
		.uid = j->uid,
		.manager = TAINT_CONTROLLER,
		.reason = "DeletionByDeviceTaintManager",
		.message = "Device Taint manager: deleting due to NoExecute taint",
		.due = eviction_due,
		.marking = eviction_marking,
		.done = eviction_done,
		.arg = j,
	};
	pod_removal_start(&j->removal);
}

void taint_pod_begin(struct taint_job *j)
{
	struct taint_eviction *t = j->owner;
	const struct taint_pod *pod = taint_book_find(t->book, j->name);
	struct eviction_draft draft = { .arena = &j->work.arena };

	if (!pod || pod->evicted) {
		work_end(&j->work, false);
		return;
	}
	if (!eviction_is_due(pod->eviction, now_of(j))) {
		taint_job_wait(j, (pod->eviction->when - now_of(j)) / CLOCK_MS + 1);
		return;
	}
	j->pod = j->name;
	(void)str_split(&j->pod, '/', &j->ns);
	j->uid = arena_str(&j->work.arena, pod->uid);
	eviction_join(&draft, pod->eviction);
	j->eviction = eviction_new(&draft);
	eviction_start(j);
}

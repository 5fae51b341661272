/*
 * A pod is read, marked and deleted. Between two requests the book is checked, because a rule may
 * have been withdrawn meanwhile.
 */
#include "base/core/clock.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
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
	taint_job_end(j, false);
}

/* --- deleting -------------------------------------------------------------------------------- */

static void on_deleted(struct taint_job *j, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	struct taint_eviction *t = j->owner;
	int64_t late = MAX(now_of(j) - j->eviction->when, 0);

	if (err && err->code == ERR_NOT_FOUND) {
		pod_finish(j);
		return;
	}
	if (err) {
		taint_job_fail(j, "cannot evict a pod from tainted devices", err);
		return;
	}
	log_info(t->ctx.log, "pod evicted from tainted devices", LOG_STR("pod", j->name),
		 LOG_STR("because", eviction_print(j->eviction, &j->arena)), LOG_NS("late", late));
	if (t->deletions)
		metrics_counter_add(t->deletions, 1);
	if (t->latency)
		metrics_histogram_observe(t->latency, (double)late / CLOCK_SEC);
	taint_rules_concerned(t, j->eviction, true);
	pod_finish(j);
}

static void delete_pod(struct taint_job *j)
{
	struct taint_eviction *t = j->owner;

	if (!still_due(j)) {
		taint_job_end(j, false);
		return;
	}
	j->on_answer = on_deleted;
	client_delete(t->ctx.client, &j->request, &t->pods_resource, j->ns, j->pod,
		      &(struct client_delete_opts){ .uid = j->uid });
}

/* --- marking --------------------------------------------------------------------------------- */

#define REASON  STR("DeletionByDeviceTaintManager")
#define MESSAGE STR("Device Taint manager: deleting due to NoExecute taint")

static const struct json *disruption_of(const struct json *pod)
{
	return json_find(json_getz(json_getz(pod, "status"), "conditions"), "type",
			 STR("DisruptionTarget"));
}

static bool is_marked(const struct json *pod)
{
	const struct json *c = disruption_of(pod);

	return str_eqz(json_text_at(c, "status"), "True") &&
	       str_eq(json_text_at(c, "reason"), REASON) &&
	       str_eq(json_text_at(c, "message"), MESSAGE);
}

/* Conditions are merged by their type; the uid protects another pod of that name. */
static struct json *make_mark(struct taint_job *j, const struct json *pod)
{
	struct arena *a = &j->arena;
	struct json *patch = json_make_object(a), *c = json_make_object(a);
	const struct json *had = disruption_of(pod);
	char text[TIMESTAMP_SIZE];
	struct str now = timestamp_print(now_of(j), TIMESTAMP_SECONDS, text);

	if (str_eqz(json_text_at(had, "status"), "True"))
		now = json_text_at(had, "lastTransitionTime");
	json_put_str(a, json_need_object(a, patch, "metadata"), "uid", j->uid);
	json_put_str(a, c, "type", STR("DisruptionTarget"));
	json_put_str(a, c, "status", STR("True"));
	json_put_str(a, c, "reason", REASON);
	json_put_str(a, c, "message", MESSAGE);
	json_put_str(a, c, "lastTransitionTime", arena_str(a, now));
	json_append(json_need_array(a, json_need_object(a, patch, "status"), "conditions"), c);
	return patch;
}

static void on_marked(struct taint_job *j, const struct client_answer *a UNUSED,
		      const struct error *err)
{
	if (err && err->code == ERR_NOT_FOUND)
		pod_finish(j);
	else if (err)
		taint_job_fail(j, "cannot mark a pod that is to be evicted", err);
	else
		delete_pod(j);
}

static void mark_pod(struct taint_job *j, const struct json *pod)
{
	struct taint_eviction *t = j->owner;
	struct resource_name name = { .ns = j->ns, .name = j->pod, .subresource = STR("status") };

	taint_eviction_event(t, j->name, j->uid, "Marking for deletion");
	if (is_marked(pod)) {
		delete_pod(j);
		return;
	}
	j->on_answer = on_marked;
	j->request.query = STR("fieldManager=" TAINT_CONTROLLER);
	client_patch(t->ctx.client, &j->request, &t->pods_resource, name, CLIENT_PATCH_STRATEGIC,
		     make_mark(j, pod));
}

/* --- reading --------------------------------------------------------------------------------- */

static void pod_on_read(struct taint_job *j, const struct client_answer *a, const struct error *err)
{
	struct json *pod = NULL;
	const struct json *meta;
	struct error bad;

	if (err && err->code == ERR_NOT_FOUND) {
		pod_finish(j);
		return;
	}
	if (err || client_answer_tree(a, &j->arena, &pod, &bad) < 0) {
		taint_job_fail(j, "cannot read a pod that is to be evicted", err ? err : &bad);
		return;
	}
	meta = json_getz(pod, "metadata");
	if (!str_eq(json_text_at(meta, "uid"), j->uid) || json_getz(meta, "deletionTimestamp"))
		pod_finish(j);
	else if (!still_due(j))
		taint_job_end(j, false);
	else
		mark_pod(j, pod);
}

void taint_pod_begin(struct taint_job *j)
{
	struct taint_eviction *t = j->owner;
	const struct taint_pod *pod = taint_book_find(t->book, j->name);
	struct eviction_draft draft = { .arena = &j->arena };

	if (!pod || pod->evicted) {
		taint_job_end(j, false);
		return;
	}
	if (!eviction_is_due(pod->eviction, now_of(j))) {
		taint_job_wait(j, (pod->eviction->when - now_of(j)) / CLOCK_MS + 1);
		return;
	}
	j->pod = j->name;
	(void)str_split(&j->pod, '/', &j->ns);
	j->uid = arena_str(&j->arena, pod->uid);
	eviction_join(&draft, pod->eviction);
	j->eviction = eviction_new(&draft);
	j->on_answer = pod_on_read;
	client_get(t->ctx.client, &j->request, &t->pods_resource, j->ns, j->pod);
}

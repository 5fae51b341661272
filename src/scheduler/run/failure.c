/*
 * A pod without a node returns to the queue with the plugins that rejected it. An event and the
 * condition PodScheduled give the reason, both worded as upstream. The condition is only written if
 * it differs from the pod's current one, with one request per pod at a time. A newer condition is
 * written after the request in progress.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "scheduler/framework/common.h"
#include "scheduler/run/scheduler_impl.h"

enum { NOTE_MAX = 1024 }; /* of an event's message, the API's limit */

struct pod_patch {
	struct list link;
	struct scheduler *scheduler;
	struct podinfo *pod; /* reference */
	struct client_request request;
	struct buf next; /* newer patch, written after this one; or empty */
};

struct recorder *scheduler_recorder(struct scheduler *s, const struct profile *p)
{
	for (size_t i = 0; i < s->nprofiles; i++) {
		if (s->profiles[i] == p)
			return s->recorders[i];
	}
	return s->recorders[0];
}

/* --- the condition -------------------------------------------------------------------------- */

static const struct json *find_condition(const struct podinfo *p)
{
	const struct json *v = json_getz(json_getz(p->tree, "status"), "conditions");

	for (const struct json *c = json_is(v, JSON_ARRAY) ? v->first : NULL; c; c = c->next) {
		if (str_eq(json_str(json_getz(c, "type")), STR("PodScheduled")))
			return c;
	}
	return NULL;
}

static bool says(const struct json *c, const char *field, struct str text)
{
	return str_eq(json_str(json_getz(c, field)), text);
}

static struct str failure_reason_of(const struct failure *f)
{
	return verdict_rejects(&f->verdict) ? STR("Unschedulable") : STR("SchedulerError");
}

static void write_condition(struct scheduler *s, struct json_writer *w, const struct podinfo *p,
			    const struct failure *f, const struct json *was)
{
	char text[TIMESTAMP_SIZE];
	struct str since = json_str(json_getz(was, "lastTransitionTime"));

	if (!was || !says(was, "status", STR("False")) || since.n == 0)
		since = timestamp_print(clock_wall(loop_clock(s->opts.loop)), TIMESTAMP_SECONDS,
					text);
	json_writer_keyz(w, "conditions");
	json_writer_begin_array(w);
	json_writer_begin_object(w);
	json_writer_keyz(w, "type");
	json_writer_strz(w, "PodScheduled");
	json_writer_keyz(w, "status");
	json_writer_strz(w, "False");
	json_writer_keyz(w, "reason");
	json_writer_str(w, failure_reason_of(f));
	json_writer_keyz(w, "message");
	json_writer_str(w, f->message);
	json_writer_keyz(w, "lastProbeTime");
	json_writer_null(w);
	json_writer_keyz(w, "lastTransitionTime");
	json_writer_str(w, since);
	if (p->generation > 0) {
		json_writer_keyz(w, "observedGeneration");
		json_writer_i64(w, p->generation);
	}
	json_writer_end_object(w);
	json_writer_end_array(w);
}

/* The body of the patch; false: nothing has changed. */
static bool make_patch(struct scheduler *s, const struct podinfo *p, const struct failure *f,
		       struct buf *out)
{
	const struct json *was = find_condition(p);
	bool condition = !was || !says(was, "status", STR("False")) ||
			 !says(was, "reason", failure_reason_of(f)) ||
			 !says(was, "message", f->message);
	bool nominate = f->nominating && !str_eq(p->nominated, f->nominated);
	struct json_writer w;

	if (!condition && !nominate)
		return false;
	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "metadata");
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "uid");
	json_writer_str(&w, p->uid);
	json_writer_end_object(&w);
	json_writer_keyz(&w, "status");
	json_writer_begin_object(&w);
	if (condition)
		write_condition(s, &w, p, f, was);
	if (nominate) {
		json_writer_keyz(&w, "nominatedNodeName");
		if (f->nominated.n > 0)
			json_writer_str(&w, f->nominated);
		else
			json_writer_null(&w);
	}
	json_writer_end_object(&w);
	json_writer_end_object(&w);
	return json_writer_finish(&w) == 0;
}

static void patch_free(struct pod_patch *p)
{
	CLEANUP(podinfo_unref) struct podinfo *pod = TAKE(p->pod);
	struct scheduler *s = p->scheduler;

	client_cancel(&p->request);
	list_remove(&p->link);
	(void)map_remove(&s->patching, pod->uid);
	buf_release(&p->next);
	free(p);
	binding_go_on(s, pod->uid);
}

bool failure_is_written(const struct scheduler *s, struct str uid)
{
	return map_get(&s->patching, uid) != NULL;
}

static void on_patched(struct client_request *r, const struct client_answer *a,
		       const struct error *err);

static void patch_send(struct pod_patch *p, struct str body)
{
	struct scheduler *s = p->scheduler;

	p->request = (struct client_request){ .on_done = on_patched, .arg = p, .body = body };
	client_patch(s->client, &p->request, &s->pods.resource,
		     (struct resource_name){ p->pod->ns, p->pod->name, STR("status") },
		     CLIENT_PATCH_STRATEGIC, NULL);
}

static void on_patched(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	struct pod_patch *p = r->arg;
	struct buf next = p->next;

	/* The pod is gone or was replaced: nothing to report. */
	if (err && err->code != ERR_NOT_FOUND && err->code != ERR_CONFLICT &&
	    err->code != ERR_CANCELED)
		log_warn(p->scheduler->opts.log, "cannot write the pod's condition",
			 LOG_STR("pod", p->pod->key), LOG_ERR(err));
	if (err || next.n == 0) {
		patch_free(p);
		return;
	}
	buf_init(&p->next, REQUEST_WORK_MAX);
	patch_send(p, buf_str(&next));
	buf_release(&next);
}

/* Sends one patch at a time per pod, so that the newest condition is written last. */
static void write_patch(struct scheduler *s, struct podinfo *pod, struct str body)
{
	struct pod_patch *p = map_get(&s->patching, pod->uid);

	if (p) {
		buf_clear(&p->next);
		(void)buf_add_str(&p->next, body);
		return;
	}
	p = XNEW(struct pod_patch);
	p->scheduler = s;
	p->pod = podinfo_ref(pod);
	buf_init(&p->next, REQUEST_WORK_MAX);
	list_push_back(&s->patches, &p->link);
	(void)map_put(&s->patching, p->pod->uid, p);
	patch_send(p, body);
}

/* --- the whole ------------------------------------------------------------------------------ */

static void tell_user(struct scheduler *s, const struct queued_pod *q, const struct failure *f)
{
	struct recorder_object about = pod_about(q->pod);
	char text[NOTE_MAX + 1];
	struct str note = f->message;

	if (note.n > NOTE_MAX) {
		size_t n = NOTE_MAX - 4;

		while (n > 0 && ((unsigned char)note.p[n] & 0xc0) == 0x80)
			n--;
		(void)snprintf(text, sizeof(text), "%.*s ...", (int)n, note.p);
		note = str_from(text);
	}
	recorder_event_detailed(scheduler_recorder(s, q->profile), &about, RECORDER_WARNING,
				"FailedScheduling", note,
				&(struct recorder_detail){ .action = "Scheduling" });
}

static void log_failure(struct scheduler *s, const struct queued_pod *q, const struct failure *f)
{
	if (verdict_rejects(&f->verdict))
		log_debug(s->opts.log, "pod does not fit", LOG_STR("pod", q->pod->key),
			  LOG_STR("why", f->message));
	else
		log_warn(s->opts.log, "pod could not be scheduled; retrying",
			 LOG_STR("pod", q->pod->key), LOG_STR("why", f->message));
}

void failure_handle(struct scheduler *s, struct queued_pod *q, const struct failure *f)
{
	CLEANUP(podinfo_unref) struct podinfo *pod = podinfo_ref(q->newer ? q->newer : q->pod);
	struct cached *shown = follow_pod(s, pod->key);
	bool rejected = verdict_rejects(&f->verdict);
	struct buf body;

	measures_attempt(&s->measures, q->profile,
			 rejected ? MEASURES_UNSCHEDULABLE : MEASURES_ERROR,
			 clock_monotonic(loop_clock(s->opts.loop)) - f->began_ns);
	q->rejectors = f->rejectors;
	q->pending = f->pending;
	log_failure(s, q, f);
	/* Gone, replaced, or bound after all: by another, or by a request that seemed to fail. */
	if (!shown || !str_eq(shown->uid, pod->uid) ||
	    cached_field(shown, "spec.nodeName", NULL).n > 0) {
		podqueue_done(s->queue, q);
		return;
	}
	tell_user(s, q, f);
	podqueue_return(s->queue, q, loop_now(s->opts.loop));
	if (f->nominating)
		podqueue_nominate(s->queue, pod, f->nominated);
	buf_init(&body, REQUEST_WORK_MAX);
	if (make_patch(s, pod, f, &body))
		write_patch(s, pod, buf_str(&body));
	buf_release(&body);
	attempt_soon(s);
}

void failure_on_node(struct scheduler *s, struct queued_pod *q, struct cycle *c,
		     const struct verdict *v, int64_t began_ns)
{
	struct failure f = { .verdict = *v,
			     .message = verdict_message(v, &c->arena),
			     .nominating = true,
			     .began_ns = began_ns };

	if (verdict_rejects(v)) {
		f.message = str_from(arena_printf(&c->arena, "0/1 nodes are available: 1 %.*s.",
						  STR_ARG(f.message)));
		f.rejectors = v->plugin ? UINT64_C(1) << v->plugin->at : 0;
		f.pending = v->code == VERDICT_PENDING;
	}
	failure_handle(s, q, &f);
}

void failure_release(struct scheduler *s)
{
	while (!list_empty(&s->patches))
		patch_free(LIST_ENTRY(s->patches.next, struct pod_patch, link));
}

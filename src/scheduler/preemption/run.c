/*
 * There is one run per preemptor. Requests are separate structs, since nobody waits for the patches
 * that clear nominations. When a request ends, the run is removed before the queue is changed, so
 * that the preemptor's own run does not hold it back.
 */
#include "scheduler/preemption/run.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/cached.h"
#include "scheduler/framework/common.h"
#include "scheduler/framework/profile.h"
#include "scheduler/queue/podqueue.h"

struct preemption_run {
	struct preemption_runs *runs;
	struct podinfo *preemptor;
	char *node;
	struct podinfo **victims; /* to be deleted; references */
	size_t n, under_way;
	bool last, failed;
	bool deleted; /* the last one: its end will be an event */
	bool canceled; /* the client goes, and perhaps the queue with it */
};

/* A request, and what it is for. */
struct step {
	struct list link;
	struct preemption_runs *runs;
	struct preemption_run *run; /* NULL: clears a nomination */
	struct podinfo *pod;
	struct client_request request;
};

void preemption_runs_init(struct preemption_runs *r, const struct services *services)
{
	*r = (struct preemption_runs){ .services = services };
	map_init(&r->by_uid);
	list_init(&r->requests);
}

static void step_free(struct step *s)
{
	client_cancel(&s->request);
	list_remove(&s->link);
	podinfo_unref(s->pod);
	free(s);
}

static void run_free(struct preemption_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		podinfo_unref(run->victims[i]);
	podinfo_unref(run->preemptor);
	free(run->victims);
	free(run->node);
	free(run);
}

void preemption_runs_release(struct preemption_runs *r)
{
	struct str key;
	void *value;
	size_t at = 0;

	while (!list_empty(&r->requests))
		step_free(LIST_ENTRY(r->requests.next, struct step, link));
	while (map_next(&r->by_uid, &at, &key, &value))
		run_free(value);
	map_release(&r->by_uid);
}

static const struct log *log_of(const struct preemption_runs *r)
{
	return r->services->log ? r->services->log : log_null();
}

/* --- requests -------------------------------------------------------------------------------- */

static struct step *step_new(struct preemption_runs *r, struct preemption_run *run,
			     struct podinfo *pod)
{
	struct step *s = XNEW(struct step);

	s->runs = r;
	s->run = run;
	s->pod = podinfo_ref(pod);
	s->request.arg = s;
	list_push_back(&r->requests, &s->link);
	return s;
}

static void send_patch(struct step *s, struct str body)
{
	struct resource pods = resource_builtin("", "v1", "pods");

	s->request.body = body;
	client_patch(s->runs->services->client, &s->request, &pods,
		     (struct resource_name){ s->pod->ns, s->pod->name, STR("status") },
		     CLIENT_PATCH_STRATEGIC, NULL);
}

/* Opens {"metadata":{"uid":..},"status":{: another pod of the name is not meant. */
static void begin_status(struct json_writer *w, struct buf *out, const struct podinfo *p)
{
	json_writer_init(w, out, NULL);
	json_writer_begin_object(w);
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	json_writer_keyz(w, "uid");
	json_writer_str(w, p->uid);
	json_writer_end_object(w);
	json_writer_keyz(w, "status");
	json_writer_begin_object(w);
}

static void end_status(struct json_writer *w)
{
	json_writer_end_object(w);
	json_writer_end_object(w);
	(void)json_writer_finish(w);
}

/* Gone, or another one has its name. */
static bool run_is_gone(const struct error *err)
{
	return err && (err->code == ERR_NOT_FOUND || err->code == ERR_CONFLICT);
}

/* --- nominations --------------------------------------------------------------------------- */

static void on_cleared(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	struct step *s = r->arg;

	if (err && !run_is_gone(err) && err->code != ERR_CANCELED)
		log_warn(log_of(s->runs), "cannot clear the nomination of a pod of lower priority",
			 LOG_STR("pod", s->pod->key), LOG_ERR(err));
	step_free(s);
}

static void clear_nomination(struct preemption_runs *r, struct podinfo *p)
{
	struct step *s = step_new(r, NULL, p);
	struct json_writer w;
	struct buf body;

	buf_init(&body, REQUEST_WORK_MAX);
	begin_status(&w, &body, p);
	json_writer_keyz(&w, "nominatedNodeName");
	json_writer_null(&w);
	end_status(&w);
	s->request.on_done = on_cleared;
	send_patch(s, buf_str(&body));
	buf_release(&body);
}

/*
 * Clears nominations that are only in the queue at once. Others are patched, and cleared when the
 * update arrives.
 */
static void clear_lower(struct preemption_runs *r, const struct podinfo *preemptor, struct str node)
{
	struct podqueue *q = r->services->queue;
	struct podinfo *const *nominated;
	VEC(struct podinfo *) lower;
	size_t n = 0;

	vec_init(&lower, SIZE_MAX / sizeof(void *));
	nominated = q ? podqueue_nominated_on(q, node, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		if (nominated[i]->priority < preemptor->priority)
			(void)vec_push(&lower, podinfo_ref(nominated[i]));
	for (size_t i = 0; i < lower.n; i++) {
		if (lower.v[i]->nominated.n)
			clear_nomination(r, lower.v[i]);
		else
			podqueue_nominate(q, lower.v[i], STR_NULL);
		podinfo_unref(lower.v[i]);
	}
	vec_release(&lower);
}

/* --- victims --------------------------------------------------------------------------------- */

static void tell_preempted(struct preemption_run *run, const struct podinfo *victim, bool in_memory)
{
	struct recorder_object whom = pod_about(victim), by = pod_about(run->preemptor);
	struct recorder *recorder = run->runs->services->recorder;
	struct arena a;
	char *text;

	log_info(log_of(run->runs), "pod was preempted", LOG_STR("pod", victim->key),
		 LOG_STR("by", run->preemptor->key), LOG_Z("node", run->node));
	if (!recorder)
		return;
	arena_init(&a, SIZE_MAX);
	text = arena_printf(&a, "Preempted by pod %.*s on node %s%s", STR_ARG(run->preemptor->uid),
			    run->node, in_memory ? " (in kube-scheduler memory)." : "");
	recorder_event_detailed(
		recorder, &whom, RECORDER_NORMAL, "Preempted", str_from(text),
		&(struct recorder_detail){ .action = "Preempting", .related = &by });
	arena_release(&a);
}

static void evict(struct preemption_run *run, struct podinfo *victim);

/* All requests of the run have ended: then comes the last victim, or the end. */
static void run_go_on(struct preemption_run *run)
{
	struct preemption_runs *r = run->runs;
	CLEANUP(podinfo_unref) struct podinfo *preemptor = NULL;
	bool activate;

	if (run->under_way)
		return;
	if (!run->last && !run->failed && r->services->client) {
		run->last = true;
		evict(run, run->victims[run->n - 1]);
		return;
	}
	/* The event of one that had gone already may have come while it was held back. */
	activate = !run->deleted && !run->canceled;
	preemptor = podinfo_ref(run->preemptor);
	(void)map_remove(&r->by_uid, preemptor->uid);
	run_free(run);
	if (activate && r->services->queue)
		podqueue_activate(r->services->queue, preemptor->uid, loop_now(r->services->loop));
}

static void step_end(struct step *s, const char *what, const struct error *err)
{
	struct preemption_run *run = s->run;

	if (err && err->code == ERR_CANCELED) {
		run->failed = run->canceled = true;
	} else if (err && !run_is_gone(err)) {
		run->failed = true;
		log_warn(log_of(s->runs), what, LOG_STR("pod", s->pod->key),
			 LOG_STR("preemptor", run->preemptor->key), LOG_ERR(err));
	}
	if (!err) {
		run->deleted |= run->last;
		tell_preempted(run, s->pod, false);
	}
	run->under_way--;
	step_free(s);
	run_go_on(run);
}

static void on_deleted(struct client_request *r, const struct client_answer *a UNUSED,
		       const struct error *err)
{
	step_end(r->arg, "cannot delete a victim of preemption", err);
}

static void on_condition(struct client_request *r, const struct client_answer *a UNUSED,
			 const struct error *err)
{
	struct resource pods = resource_builtin("", "v1", "pods");
	struct step *s = r->arg;

	if (err || !s->runs->services->client) {
		step_end(s, "cannot write the condition of a victim of preemption",
			 err ? err : &(struct error){ .code = ERR_CANCELED });
		return;
	}
	s->request = (struct client_request){ .arg = s, .on_done = on_deleted };
	client_delete(s->runs->services->client, &s->request, &pods, s->pod->ns, s->pod->name,
		      &(struct client_delete_opts){ .uid = s->pod->uid });
}

static void write_condition(const struct preemption_run *run, const struct podinfo *victim,
			    struct buf *out)
{
	const struct clock *clock = loop_clock(run->runs->services->loop);
	char now[TIMESTAMP_SIZE], message[512];
	struct json_writer w;

	(void)snprintf(message, sizeof(message),
		       "%.*s: preempting to accommodate a higher priority pod",
		       STR_ARG(run->preemptor->scheduler));
	begin_status(&w, out, victim);
	json_writer_keyz(&w, "conditions");
	json_writer_begin_array(&w);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "type");
	json_writer_strz(&w, "DisruptionTarget");
	json_writer_keyz(&w, "status");
	json_writer_strz(&w, "True");
	json_writer_keyz(&w, "reason");
	json_writer_strz(&w, "PreemptionByScheduler");
	json_writer_keyz(&w, "message");
	json_writer_strz(&w, message);
	json_writer_keyz(&w, "lastProbeTime");
	json_writer_null(&w);
	json_writer_keyz(&w, "lastTransitionTime");
	json_writer_str(&w, timestamp_print(clock_wall(clock), TIMESTAMP_SECONDS, now));
	if (victim->generation > 0) {
		json_writer_keyz(&w, "observedGeneration");
		json_writer_i64(&w, victim->generation);
	}
	json_writer_end_object(&w);
	json_writer_end_array(&w);
	end_status(&w);
}

/* Ends in run_go_on(), now or later. */
static void evict(struct preemption_run *run, struct podinfo *victim)
{
	const struct preemption_hooks *hooks = &run->runs->hooks;
	struct step *s;
	struct buf body;

	if (hooks->reject_waiting && hooks->reject_waiting(hooks->arg, victim->uid)) {
		tell_preempted(run, victim, true);
		if (run->last)
			run_go_on(run);
		return;
	}
	buf_init(&body, REQUEST_WORK_MAX);
	write_condition(run, victim, &body);
	s = step_new(run->runs, run, victim);
	s->request.on_done = on_condition;
	run->under_way++;
	send_patch(s, buf_str(&body));
	buf_release(&body);
}

/* Those that are being deleted already need no request. */
static struct preemption_run *run_new(struct preemption_runs *r, struct podinfo *preemptor,
				      const struct preemption_choice *choice)
{
	struct preemption_run *run = XNEW(struct preemption_run);

	run->runs = r;
	run->preemptor = podinfo_ref(preemptor);
	run->node = str_dup(choice->node->name);
	run->victims = xcalloc(choice->n + 1, sizeof(struct podinfo *));
	for (size_t i = 0; i < choice->n; i++)
		if (!choice->victims[i]->deleting)
			run->victims[run->n++] = podinfo_ref(choice->victims[i]);
	return run;
}

void preemption_runs_begin(struct preemption_runs *r, struct podinfo *preemptor,
			   const struct preemption_choice *choice)
{
	struct preemption_run *run;

	if (!r->services->client || map_get(&r->by_uid, preemptor->uid))
		return;
	run = run_new(r, preemptor, choice);
	if (!run->n) {
		run_free(run);
		return;
	}
	(void)map_put(&r->by_uid, run->preemptor->uid, run);
	clear_lower(r, preemptor, choice->node->name);
	for (size_t i = 0; i + 1 < run->n; i++)
		evict(run, run->victims[i]);
	run_go_on(run);
}

bool preemption_runs_pending(const struct preemption_runs *r, struct str uid)
{
	const struct preemption_run *run = map_get(&r->by_uid, uid);
	const struct podinfo *last;

	if (!run)
		return false;
	if (!run->last || !r->services->nodes)
		return true;
	last = nodecache_pod(r->services->nodes, run->victims[run->n - 1]->uid);
	return last && !last->deleting;
}

/*
 * The life of a job: one at a time for each pod and each claim, started by the queue.
 */
#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/work/workqueue.h"
#include "controller/pod_claims/pod_claims_impl.h"

enum { UNSEEN_MS = 5000 }; /* until a user that the informer does not show is read again */

static void pod_claims_job_free(struct pod_claims_job *j)
{
	list_remove(&j->link);
	client_cancel(&j->request);
	arena_release(&j->arena);
	free(j);
}

void pod_claims_job_end(struct pod_claims_job *j, bool again)
{
	struct workqueue *queue = j->owner->queue;
	struct str key = j->key;

	if (j->unseen && !again)
		workqueue_add_after(queue, key, UNSEEN_MS);
	pod_claims_job_free(j);
	workqueue_finish(queue, key, again);
}

/* Conflicts are expected: the server was ahead of our copy. */
void pod_claims_job_fail(struct pod_claims_job *j, const char *what, const struct error *err)
{
	if (err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND)
		log_debug(j->owner->ctx.log, what, LOG_STR("key", j->key), LOG_ERR(err));
	else
		log_warn(j->owner->ctx.log, what, LOG_STR("key", j->key), LOG_ERR(err));
	pod_claims_job_end(j, true);
}

static void job_on_done(struct client_request *r, const struct client_answer *a,
			const struct error *err)
{
	struct pod_claims_job *j = r->arg;

	r->query = STR_NULL;
	j->on_answer(j, a, err);
}

void pod_claims_handle(void *arg, struct str key)
{
	struct pod_claims *c = arg;
	struct pod_claims_job *j = XNEW(struct pod_claims_job);
	bool pod = str_starts(key, POD_CLAIMS_POD_KEY);

	j->owner = c;
	j->key = key;
	j->name = str_skip(key, pod ? POD_CLAIMS_POD_KEY.n : POD_CLAIMS_CLAIM_KEY.n);
	(void)str_split(&j->name, '/', &j->ns);
	j->request.arg = j;
	j->request.on_done = job_on_done;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	list_push_back(&c->jobs, &j->link);
	if (pod)
		pod_claims_pod_begin(j);
	else
		pod_claims_claim_begin(j);
}

void pod_claims_jobs_release(struct pod_claims *c)
{
	LIST_FOREACH_SAFE (l, &c->jobs)
		pod_claims_job_free(LIST_ENTRY(l, struct pod_claims_job, link));
}

/*
 * The life of a job: one at a time for each pod and each claim, started by the queue.
 */
#include "client/work/workqueue.h"
#include "controller/pod_claims/pod_claims_impl.h"

enum { UNSEEN_MS = 5000 }; /* until a user that the informer does not show is read again */

void pod_claims_job_end(struct pod_claims_job *j, bool again)
{
	if (j->unseen && !again)
		workqueue_add_after(j->owner->queue, j->work.key, UNSEEN_MS);
	work_end(&j->work, again);
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
	struct pod_claims_job *j = work_new(&c->jobs, sizeof(*j), key);
	bool pod = str_starts(key, POD_CLAIMS_POD_KEY);

	j->owner = c;
	j->name = str_skip(key, pod ? POD_CLAIMS_POD_KEY.n : POD_CLAIMS_CLAIM_KEY.n);
	(void)str_split(&j->name, '/', &j->ns);
	j->work.request.on_done = job_on_done;
	if (pod)
		pod_claims_pod_begin(j);
	else
		pod_claims_claim_begin(j);
}

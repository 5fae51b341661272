/*
 * Reads the state: both lists at once, then the status of everything that has changed, a few at a
 * time. There is one read at a time. A list() call during a read gets its result, unless one of our
 * own calls has ended since the read began. Such a read may have missed that change, so the caller
 * waits for the next one.
 *
 * A failed status call leaves its sandbox or container as it was and does not fail the read: one
 * stuck container must not hide the others. A failed list does.
 */
#include "base/core/mem.h"
#include "node/runtime/cri_impl.h"
#include "node/runtime/cri_log.h"

static void cri_list_ask(struct runtime_cri *r);

/* --- the end of a read ---------------------------------------------------------------------- */

static void tell_changed(void *arg, struct str pod_uid)
{
	struct runtime_cri *r = arg;

	if (!r->freed && r->runtime.on_change)
		r->runtime.on_change(r->runtime.arg, pod_uid);
}

static void drop_lists(struct runtime_cri *r)
{
	grpc_call_unref(TAKE(r->sandboxes_call));
	grpc_call_unref(TAKE(r->containers_call));
	r->sandboxes = NULL;
	r->containers = NULL;
}

/* Callbacks may free the runtime: its memory stays until the end of the turn. */
static void answer_waiters(struct runtime_cri *r, const struct error *err)
{
	__typeof__(r->now) waiters = r->now;

	vec_init(&r->now, SIZE_MAX);
	for (size_t i = 0; i < waiters.n && !r->freed; i++)
		waiters.v[i].done(waiters.v[i].arg, err ? NULL : cri_state_pods(r->state), err);
	free(waiters.v);
}

static void look_end(struct runtime_cri *r)
{
	bool failed = r->failure.code != ERR_OK;
	struct error err = r->failure;

	drop_lists(r);
	r->looking = false;
	r->look_failed = failed;
	answer_waiters(r, failed ? &err : NULL);
	if (!failed && !r->freed)
		cri_state_end(r->state, tell_changed, r);
	if (r->freed || r->looking)
		return;
	loop_timer_start(&r->timer, r->relist_ms);
	if (r->next.n > 0)
		loop_defer(r->loop, &r->answer);
}

static void cri_list_answered(struct runtime_cri *r)
{
	r->pending--;
	cri_list_ask(r);
}

/* --- statuses ------------------------------------------------------------------------------- */

/* "Not found" is a valid reply; other failures are not. */
static bool cri_list_is_gone(const struct error *err)
{
	return err && err->code == ERR_NOT_FOUND;
}

static void sandbox_answered(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__PodSandboxStatusResponse *m = reply;

	if (cri_list_is_gone(err) || (m && m->status))
		cri_state_sandbox(op->r->state, str_from(op->id), m ? m->status : NULL);
	cri_list_answered(op->r);
}

static void container_answered(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ContainerStatusResponse *m = reply;
	CLEANUP(arena_release) struct arena a;
	struct str message = STR_NULL;

	arena_init(&a, SIZE_MAX);
	if (m && m->status && m->status->state == CRI__CONTAINER_STATE__CONTAINER_EXITED)
		message = cri_log_termination(m->status, &a);
	if (cri_list_is_gone(err) || (m && m->status))
		cri_state_container(op->r->state, str_from(op->id), m ? m->status : NULL, message);
	cri_list_answered(op->r);
}

static void ask_one(struct runtime_cri *r, const struct cri_question *q)
{
	struct cri_op op = { .r = r, .id = str_dup(q->id) };
	Cri__PodSandboxStatusRequest sandbox = CRI__POD_SANDBOX_STATUS_REQUEST__INIT;
	Cri__ContainerStatusRequest container = CRI__CONTAINER_STATUS_REQUEST__INIT;

	r->pending++;
	sandbox.pod_sandbox_id = container.container_id = op.id;
	op.method = q->container ? CRI_CONTAINER_STATUS : CRI_SANDBOX_STATUS;
	op.fn = q->container ? container_answered : sandbox_answered;
	cri_call(&op, q->container ? &container.base : &sandbox.base, CRI_STATUS_TIMEOUT_MS);
}

static void cri_list_ask(struct runtime_cri *r)
{
	struct cri_question q;

	while (r->pending < CRI_QUESTIONS_MAX && cri_state_next_question(r->state, &q))
		ask_one(r, &q);
	if (r->pending == 0)
		look_end(r);
}

/* --- lists ---------------------------------------------------------------------------------- */

static void lists_done(struct runtime_cri *r)
{
	if (--r->pending > 0)
		return;
	if (r->failure.code != ERR_OK) {
		look_end(r);
		return;
	}
	cri_state_listed(r->state, r->sandboxes, r->containers);
	drop_lists(r);
	cri_list_ask(r);
}

static void sandboxes_listed(struct cri_op *op, const void *reply, const struct error *err)
{
	if (err)
		op->r->failure = *err;
	else
		op->r->sandboxes_call = grpc_call_ref(op->call);
	op->r->sandboxes = reply;
	lists_done(op->r);
}

static void containers_listed(struct cri_op *op, const void *reply, const struct error *err)
{
	if (err)
		op->r->failure = *err;
	else
		op->r->containers_call = grpc_call_ref(op->call);
	op->r->containers = reply;
	lists_done(op->r);
}

static void cri_list_look(struct runtime_cri *r)
{
	struct cri_op sandboxes = { .r = r, .method = CRI_LIST_SANDBOXES, .fn = sandboxes_listed };
	struct cri_op containers = { .r = r,
				     .method = CRI_LIST_CONTAINERS,
				     .fn = containers_listed };
	Cri__ListPodSandboxRequest all_sandboxes = CRI__LIST_POD_SANDBOX_REQUEST__INIT;
	Cri__ListContainersRequest all_containers = CRI__LIST_CONTAINERS_REQUEST__INIT;
	__typeof__(r->now) waiters = r->now;

	loop_timer_stop(&r->timer);
	r->looking = true;
	r->dirty = false;
	r->looked_at = loop_now(r->loop);
	r->failure.code = ERR_OK;
	r->pending = 2;
	r->now = r->next;
	r->next = waiters; /* empty: callers of the last read have been answered */
	cri_call(&sandboxes, &all_sandboxes.base, CRI_TIMEOUT_MS);
	cri_call(&containers, &all_containers.base, CRI_TIMEOUT_MS);
}

static void look_again(struct loop_timer *t)
{
	cri_list_look(CONTAINER_OF(t, struct runtime_cri, timer));
}

/* --- list() calls --------------------------------------------------------------------------- */

static bool is_fresh(const struct runtime_cri *r)
{
	return !r->dirty && !r->look_failed && r->looked_at != INT64_MIN &&
	       loop_now(r->loop) - r->looked_at < r->relist_ms;
}

static void answer_known(struct loop_task *t)
{
	struct runtime_cri *r = CONTAINER_OF(t, struct runtime_cri, answer);

	if (r->freed || r->looking || r->next.n == 0)
		return;
	if (!is_fresh(r)) {
		cri_list_look(r);
		return;
	}
	r->now = r->next;
	vec_init(&r->next, SIZE_MAX);
	answer_waiters(r, NULL);
}

void cri_list(struct runtime *rt, runtime_pods_done *done, void *arg)
{
	struct runtime_cri *r = CONTAINER_OF(rt, struct runtime_cri, runtime);

	(void)vec_push(&r->next, (struct cri_waiter){ done, arg });
	if (!r->looking)
		loop_defer(r->loop, &r->answer);
}

/* --- life ----------------------------------------------------------------------------------- */

void cri_list_init(struct runtime_cri *r)
{
	r->state = cri_state_new();
	r->looked_at = INT64_MIN;
	vec_init(&r->now, SIZE_MAX);
	vec_init(&r->next, SIZE_MAX);
	loop_task_init(&r->answer, answer_known);
	loop_timer_init(&r->timer, r->loop, look_again);
	loop_timer_start(&r->timer, 0);
}

void cri_list_release(struct runtime_cri *r)
{
	loop_timer_stop(&r->timer);
	drop_lists(r);
	vec_release(&r->now);
	vec_release(&r->next);
	cri_state_free(TAKE(r->state));
}

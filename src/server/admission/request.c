/*
 * How a write waits. The code that parks a write must arrange for admission_resume(): a plugin
 * when its result has arrived, or the functions here when a write has ended or anything was
 * committed.
 */
#include "server/admission/request.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "server/core/parts.h"
#include "server/flow/flow.h"

enum { WAITS_MAX = 100 }; /* timeouts while waiting for a commit */

/* --- memory ------------------------------------------------------------------------- */

struct admission_memo {
	struct admission_memo *next;
	const void *key;
	_Alignas(max_align_t) unsigned char data[];
};

void *admission_memo(struct admission_request *req, const void *key, size_t size)
{
	struct admission_memo *memo = req->memos;

	while (memo && memo->key != key)
		memo = memo->next;
	if (memo)
		return memo->data;
	memo = arena_alloc(req->work, sizeof(*memo) + size);
	memset(memo, 0, sizeof(*memo) + size);
	memo->key = key;
	memo->next = req->memos;
	req->memos = memo;
	return memo->data;
}

int admission_check_memory(const struct arena *a, struct error *err)
{
	if (!a->refused)
		return 0;
	return error_set(err, ERR_TOO_LARGE, "the object takes more than %lu MiB of memory",
			 REQUEST_WORK_MAX / MIB);
}

/* --- waiting ------------------------------------------------------------------------ */

int admission_park(struct admission_request *req, struct error *err)
{
	req->parked = true;
	flow_pause(req->flow);
	return error_set(err, ERR_UNAVAILABLE, "admission is not decided yet");
}

static struct error *cancelled(struct admission_request *req)
{
	if (!req->cancelled)
		req->cancelled = ARENA_NEW(req->work, struct error);
	return req->cancelled;
}

void admission_check_deadline(struct admission_request *req)
{
	if (clock_monotonic(req->server->clock) >= req->deadline_ns)
		(void)error_set(cancelled(req), ERR_TIMEOUT,
				"request did not complete within the allotted timeout");
}

void admission_resume(struct admission_request *req)
{
	req->parked = false;
	admission_check_deadline(req);
	req->resume(req);
}

static void on_settled(struct state_wait *wait)
{
	admission_resume(CONTAINER_OF(wait, struct admission_request, settling));
}

void admission_resume_after(struct admission_request *req, struct state_write *pending)
{
	req->settling.over = on_settled;
	state_write_wait(pending, &req->settling);
}

int admission_park_for_write(struct admission_request *req, struct resource *r, struct str ns,
			     struct str name, struct error *err)
{
	struct state_write *pending = resource_pending(r, ns, name);
	int ret;

	if (!pending)
		return admission_park_for_commit(req, err);
	ret = admission_park(req, err);
	admission_resume_after(req, pending);
	return ret;
}

int admission_park_for_base(struct admission_request *req, struct error *err)
{
	return admission_park_for_write(req, state_resource(req->state, req->write->kind), req->ns,
					req->name, err);
}

static void on_commit(struct state *st UNUSED, struct job *j, const struct error *err)
{
	struct admission_request *req = CONTAINER_OF(j, struct admission_request, sync);

	if (err && (err->code != ERR_TIMEOUT || ++req->waits > WAITS_MAX))
		*cancelled(req) = *err;
	admission_resume(req);
}

int admission_park_for_commit(struct admission_request *req, struct error *err)
{
	int r;

	/* A stopping state would call back immediately, from within. The reason is in /readyz. */
	if (state_health(req->state, NULL) < 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "the server cannot write at the moment; try again");
	r = admission_park(req, err);
	state_sync(req->state, &req->sync, state_revision(req->state) + 1, on_commit);
	return r;
}

bool admission_is_current(const struct admission_request *req)
{
	return req->synced || !state_is_shared(req->state);
}

/* --- the end ------------------------------------------------------------------------ */

struct admission_hook {
	struct admission_hook *next;
	void (*fn)(struct admission_request *req, void *arg, const struct error *err);
	void *arg;
};

void admission_on_over(struct admission_request *req,
		       void (*fn)(struct admission_request *req, void *arg,
				  const struct error *err),
		       void *arg)
{
	struct admission_hook *h = ARENA_NEW(req->work, struct admission_hook);

	*h = (struct admission_hook){ req->hooks, fn, arg };
	req->hooks = h;
}

void admission_over(struct admission_request *req, const struct error *err)
{
	for (struct admission_hook *h = req->hooks; h; h = h->next)
		h->fn(req, h->arg, err);
	req->hooks = NULL;
}

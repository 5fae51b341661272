/*
 * A loop and a thread.
 */
#include "server/audit/worker.h"

#include "base/core/mem.h"
#include "base/core/queue.h"
#include "net/loop/loop.h"

struct audit_worker {
	struct thread thread;
	struct loop *loop;
	bool started;
};

int audit_worker_new(struct audit_worker **ret_worker, struct error *err)
{
	struct audit_worker *w = XNEW(struct audit_worker);
	int r = loop_new(&w->loop, err);

	if (r < 0) {
		free(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

static void run(void *arg)
{
	struct audit_worker *w = arg;

	loop_run(w->loop);
}

int audit_worker_start(struct audit_worker *w, const char *name, struct error *err)
{
	int r = thread_start(&w->thread, name, run, w, err);

	w->started = r == 0;
	return r;
}

struct loop *audit_worker_loop(struct audit_worker *w)
{
	return w->loop;
}

void audit_worker_end(struct audit_worker *w)
{
	loop_stop(w->loop);
}

void audit_worker_free(struct audit_worker *w)
{
	if (!w)
		return;
	if (w->started)
		thread_join(&w->thread);
	loop_free(w->loop);
	free(w);
}

/*
 * The work's structure is freed before the queue is notified, because the queue may then handle the
 * key again.
 */
#include "controller/shared/work.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/work/workqueue.h"

void works_init(struct works *s, struct workqueue *queue, const struct log *log, const char *label,
		void (*release)(struct work *w))
{
	*s = (struct works){ queue, log, label, release, { 0 } };
	list_init(&s->all);
}

void *work_new(struct works *s, size_t size, struct str key)
{
	struct work *w = xcalloc(1, size);

	w->of = s;
	w->key = key;
	w->request.arg = w;
	arena_init(&w->arena, REQUEST_WORK_MAX);
	list_push_back(&s->all, &w->link);
	return w;
}

static void work_free(struct work *w)
{
	list_remove(&w->link);
	client_cancel(&w->request);
	if (w->of->release)
		w->of->release(w);
	arena_release(&w->arena);
	free(w);
}

void works_release(struct works *s)
{
	LIST_FOREACH_SAFE (it, &s->all)
		work_free(LIST_ENTRY(it, struct work, link));
}

void work_end(struct work *w, bool again)
{
	struct workqueue *queue = w->of->queue;
	struct str key = w->key;

	work_free(w);
	workqueue_finish(queue, key, again);
}

void work_log(const struct work *w, const char *what, const struct error *err)
{
	const struct works *s = w->of;

	if (err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND)
		log_debug(s->log, what, LOG_STR(s->label, w->key), LOG_ERR(err));
	else
		log_warn(s->log, what, LOG_STR(s->label, w->key), LOG_ERR(err));
}

void work_fail(struct work *w, const char *what, const struct error *err)
{
	work_log(w, what, err);
	work_end(w, true);
}

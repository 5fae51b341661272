/*
 * All bookkeeping is on the loop: a list of waiting files, each with its newest content and its
 * callbacks. One file at a time is passed to the thread as a job. The thread touches only that job,
 * and returns it by a message. So nothing is shared, and content that is replaced while it waits
 * costs a copy and no write.
 *
 * The job may outlive the saver: if its message is in the loop's inbox when the saver is freed, it
 * finds that it has no owner.
 */
#include "node/host/saver.h"

#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/system/file.h"
#include "net/loop/loop.h"
#include "node/host/saver_header.h"
#include "node/node_limits.h"

enum { FILE_MODE = 0600 };

struct waiter {
	struct list link;
	saver_done *done;
	void *arg;
};

/* A file to be written. */
struct file {
	struct list link;
	char *path, *kind;
	unsigned version;
	struct buf body;
	struct list waiters;
};

/* The thread's data. */
struct job {
	struct queue_node node;
	struct loop_msg finished;
	struct saver *saver; /* NULL: freed */
	struct file *file; /* NULL: no write in flight */
	int result;
	struct error err;
};

struct saver {
	struct loop *loop;
	struct saver_opts opts;
	struct list waiting; /* of struct file */
	struct list told; /* the file whose callbacks are being called, if any */
	struct job *job;
	struct loop_task start;
	struct thread thread;
	struct queue work; /* for the thread */
	struct queue_node stop;
	struct event wake;
};

static int write_file(void *arg UNUSED, const char *path, struct str content, struct error *err)
{
	return file_write_atomic(path, content, FILE_MODE, err);
}

static void forget_waiters(struct file *f)
{
	struct list *it;

	while ((it = list_pop_front(&f->waiters)))
		free(LIST_ENTRY(it, struct waiter, link));
}

static void file_free(struct file *f)
{
	forget_waiters(f);
	buf_release(&f->body);
	free(f->path);
	free(f->kind);
	free(f);
}

/* --- the thread ------------------------------------------------------------------------------ */

static int write_content(const struct file *f, struct buf *content, const struct saver_opts *opts,
			 struct error *err)
{
	(void)saver_header_add(content, f->kind, f->version, buf_str(&f->body));
	(void)buf_add_str(content, buf_str(&f->body));
	if (f->body.overflow || content->overflow)
		return error_set(err, ERR_TOO_LARGE, "%s would be larger than %zu bytes", f->path,
				 content->max);
	return opts->write(opts->arg, f->path, buf_str(content), err);
}

static void run_job(struct job *j, const struct saver_opts *opts)
{
	CLEANUP(buf_release) struct buf content = BUF_INIT(STATE_FILE_MAX);

	j->result = write_content(j->file, &content, opts, &j->err);
}

static void run_thread(void *arg)
{
	struct saver *s = arg;
	struct queue_node *batch, *node;

	for (;;) {
		(void)event_wait(&s->wake, -1);
		event_reset(&s->wake);
		batch = queue_pop_all(&s->work);
		while ((node = queue_batch_next(&batch))) {
			struct job *j = QUEUE_ENTRY(node, struct job, node);

			if (node == &s->stop)
				return;
			run_job(j, &s->opts);
			loop_post(s->loop, &j->finished);
		}
	}
}

static void saver_push(struct saver *s, struct queue_node *node)
{
	if (queue_push(&s->work, node))
		event_set(&s->wake);
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Callbacks may save, forget, or free the saver. */
static void saver_finish(struct saver *s)
{
	struct file *f = TAKE(s->job->file);
	struct error err = s->job->err;
	bool failed = s->job->result < 0;
	struct list *it;

	list_push_back(&s->told, &f->link);
	if (!list_empty(&s->waiting))
		loop_defer(s->loop, &s->start);
	while ((it = list_pop_front(&f->waiters))) {
		struct waiter w = *LIST_ENTRY(it, struct waiter, link);

		free(LIST_ENTRY(it, struct waiter, link));
		if (w.done)
			w.done(w.arg, failed ? &err : NULL);
	}
	list_remove(&f->link);
	file_free(f);
}

static void saver_job_free(struct job *j)
{
	if (j->file)
		file_free(j->file);
	free(j);
}

static void on_finished(struct loop_msg *m)
{
	struct job *j = CONTAINER_OF(m, struct job, finished);

	if (j->saver)
		saver_finish(j->saver);
	else
		saver_job_free(j);
}

static void on_start(struct loop_task *t)
{
	struct saver *s = CONTAINER_OF(t, struct saver, start);
	struct list *first = s->job->file ? NULL : list_pop_front(&s->waiting);

	if (!first)
		return;
	s->job->file = LIST_ENTRY(first, struct file, link);
	if (!s->opts.inline_write) {
		saver_push(s, &s->job->node);
		return;
	}
	run_job(s->job, &s->opts);
	saver_finish(s);
}

/* --- life ------------------------------------------------------------------------------------ */

int saver_new_with(struct loop *l, const struct saver_opts *opts, struct saver **ret_saver,
		   struct error *err)
{
	struct saver *s = XNEW(struct saver);
	int r = 0;

	s->loop = l;
	s->opts = *opts;
	if (!s->opts.write)
		s->opts.write = write_file;
	s->job = XNEW(struct job);
	s->job->saver = s;
	s->job->finished.fn = on_finished;
	list_init(&s->waiting);
	list_init(&s->told);
	loop_task_init(&s->start, on_start);
	queue_init(&s->work);
	event_init(&s->wake);
	if (!opts->inline_write)
		r = thread_start(&s->thread, "saver", run_thread, s, err);
	if (r < 0) {
		event_release(&s->wake);
		free(s->job);
		free(s);
		return r;
	}
	*ret_saver = s;
	return 0;
}

int saver_new(struct loop *l, struct saver **ret_saver, struct error *err)
{
	return saver_new_with(l, &(struct saver_opts){ 0 }, ret_saver, err);
}

/*
 * The thread's write is complete when the thread has ended; its message may still be in the inbox.
 */
static void end_thread(struct saver *s)
{
	if (!s->opts.inline_write) {
		saver_push(s, &s->stop);
		thread_join(&s->thread);
	}
	s->job->saver = NULL;
	if (!s->job->file)
		saver_job_free(s->job);
}

void saver_free(struct saver *s)
{
	struct job last = { 0 };
	struct list *it;

	if (!s)
		return;
	loop_task_cancel(&s->start);
	end_thread(s);
	while ((it = list_pop_front(&s->waiting))) {
		last.file = LIST_ENTRY(it, struct file, link);
		run_job(&last, &s->opts);
		file_free(last.file);
	}
	/* saver_finish() frees the file whose callbacks are being called. */
	it = list_pop_front(&s->told);
	if (it)
		forget_waiters(LIST_ENTRY(it, struct file, link));
	event_release(&s->wake);
	free(s);
}

/* --- saving ---------------------------------------------------------------------------------- */

static struct file *file_of(struct saver *s, const char *path)
{
	struct file *f;

	LIST_FOREACH (it, &s->waiting) {
		f = LIST_ENTRY(it, struct file, link);
		if (strcmp(f->path, path) == 0)
			return f;
	}
	f = XNEW(struct file);
	f->path = xstrdup(path);
	buf_init(&f->body, STATE_FILE_MAX);
	list_init(&f->waiters);
	list_push_back(&s->waiting, &f->link);
	return f;
}

void saver_save(struct saver *s, const char *path, const char *kind, unsigned version,
		struct str body, saver_done *done, void *arg)
{
	struct file *f = file_of(s, path);
	struct waiter *w = XNEW(struct waiter);

	free(f->kind);
	f->kind = xstrdup(kind);
	f->version = version;
	buf_clear(&f->body);
	(void)buf_add_str(&f->body, body);
	w->done = done;
	w->arg = arg;
	list_push_back(&f->waiters, &w->link);
	if (!s->job->file)
		loop_defer(s->loop, &s->start);
}

static void forget_in(struct file *f, const void *arg)
{
	LIST_FOREACH_SAFE (it, &f->waiters) {
		struct waiter *w = LIST_ENTRY(it, struct waiter, link);

		if (w->arg != arg)
			continue;
		list_remove(&w->link);
		free(w);
	}
}

void saver_forget(struct saver *s, const void *arg)
{
	LIST_FOREACH (it, &s->waiting)
		forget_in(LIST_ENTRY(it, struct file, link), arg);
	LIST_FOREACH (it, &s->told)
		forget_in(LIST_ENTRY(it, struct file, link), arg);
	if (s->job->file)
		forget_in(s->job->file, arg);
}

size_t saver_pending(const struct saver *s)
{
	size_t n = s->job->file ? 1 : 0;

	LIST_FOREACH (it, &s->waiting)
		n++;
	return n;
}

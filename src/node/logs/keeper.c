/*
 * A round collects paths, then checks each again in its turn: compressing takes time, and a
 * container may have ended since. A missing log is reopened only if it was also missing when
 * collected.
 */
#include "node/logs/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/report/log.h"
#include "net/loop/loop.h"
#include "node/logs/rotate.h"
#include "node/runtime/runtime.h"

enum { STOP_MS = 5000, LOGS_MAX = 100000 };

enum fault { FINE, TOO_LARGE, MISSING };

struct entry {
	struct str id;
	const char *path;
	enum fault fault;
};

struct log_keeper {
	struct log_keeper_opts opts;
	struct loop_timer timer; /* until the next round */
	struct loop_task task; /* the next entry */
	struct arena arena; /* for this round */
	VEC(struct entry) entries; /* of this round */
	size_t next;
	struct log_rotate *rotation; /* in flight; or NULL */
	int64_t stop_at; /* ms: when to stop waiting; 0: not stopping */
};

static enum fault keeper_look(const struct log_keeper *k, const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? MISSING : FINE;
	return S_ISREG(st.st_mode) && st.st_size >= k->opts.max_size ? TOO_LARGE : FINE;
}

/* The entry is finished, successfully or not. */
static void keeper_go_on(struct log_keeper *k, const char *what, const struct error *err)
{
	const struct entry *e = &k->entries.v[k->next];

	if (err)
		log_warn(k->opts.log, what, LOG_STR("container", e->id), LOG_Z("path", e->path),
			 LOG_ERR(err));
	k->next++;
	if (k->stop_at == 0)
		loop_defer(k->opts.loop, &k->task);
}

static void on_rotated(void *arg, const struct error *err)
{
	struct log_keeper *k = arg;

	log_rotate_free(TAKE(k->rotation));
	keeper_go_on(k, "a container's log cannot be rotated", err);
}

static void on_reopened(void *arg, const struct error *err)
{
	keeper_go_on(arg, "a container's log is missing and cannot be opened anew", err);
}

static void rotate(struct log_keeper *k, const struct entry *e)
{
	k->rotation = log_rotate_new(&(struct log_rotate_opts){ .loop = k->opts.loop,
								.runtime = k->opts.runtime,
								.container_id = e->id,
								.path = str_from(e->path),
								.max_files = k->opts.max_files,
								.done = on_rotated,
								.arg = k });
}

static void keeper_on_task(struct loop_task *t)
{
	struct log_keeper *k = CONTAINER_OF(t, struct log_keeper, task);
	struct runtime *rt = k->opts.runtime;

	for (; k->next < k->entries.n; k->next++) {
		const struct entry *e = &k->entries.v[k->next];

		if (keeper_look(k, e->path) != e->fault)
			continue;
		if (e->fault == TOO_LARGE)
			rotate(k, e);
		else
			rt->ops->reopen_log(rt, e->id, on_reopened, k);
		return;
	}
	loop_timer_start(&k->timer, k->opts.interval_ms);
}

static void keeper_on_timer(struct loop_timer *t)
{
	struct log_keeper *k = CONTAINER_OF(t, struct log_keeper, timer);

	arena_clear(&k->arena);
	k->entries.n = 0;
	k->next = 0;
	k->opts.each(k->opts.arg, k);
	loop_defer(k->opts.loop, &k->task);
}

void log_keeper_add(struct log_keeper *k, struct str container_id, struct str path)
{
	struct entry e = { .path = arena_strdup(&k->arena, path) };

	e.fault = keeper_look(k, e.path);
	if (path.n == 0 || e.fault == FINE)
		return;
	e.id = arena_str(&k->arena, container_id);
	/* Further logs are left for the next round. */
	(void)vec_push(&k->entries, e);
}

struct log_keeper *log_keeper_new(const struct log_keeper_opts *opts)
{
	struct log_keeper *k = XNEW(struct log_keeper);

	k->opts = *opts;
	arena_init(&k->arena, SIZE_MAX);
	vec_init(&k->entries, LOGS_MAX);
	loop_task_init(&k->task, keeper_on_task);
	loop_timer_init(&k->timer, opts->loop, keeper_on_timer);
	loop_timer_start(&k->timer, opts->interval_ms);
	return k;
}

void log_keeper_stop(struct log_keeper *k)
{
	k->stop_at = loop_now(k->opts.loop) + STOP_MS;
	loop_timer_stop(&k->timer);
	loop_task_cancel(&k->task);
	if (k->rotation && !log_rotate_moved(k->rotation))
		log_rotate_free(TAKE(k->rotation));
}

bool log_keeper_pending(const struct log_keeper *k)
{
	return k->rotation && loop_now(k->opts.loop) < k->stop_at;
}

void log_keeper_free(struct log_keeper *k)
{
	if (!k)
		return;
	loop_timer_stop(&k->timer);
	loop_task_cancel(&k->task);
	log_rotate_free(k->rotation);
	vec_release(&k->entries);
	arena_release(&k->arena);
	free(k);
}

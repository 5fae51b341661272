/*
 * Logs of this node's containers: every few seconds those that have grown too large are rotated,
 * one after the other, and what pods that are gone have left is removed.
 */
#include <sys/stat.h>

#include "base/log.h"
#include "node/agent_impl.h"
#include "node/log_rotate.h"

static void rotate_next(struct agent *a);

static void on_rotated(void *arg, const struct error *err)
{
	struct agent *a = arg;

	if (err)
		log_warn(a->opts.log, "a container's log cannot be rotated", LOG_ERR(err));
	log_rotate_free(TAKE(a->rotation));
	/* One that cannot be rotated is not tried again before the next look. */
	if (err)
		loop_timer_start(&a->logs_timer, a->opts.logs.interval_ms);
	else
		rotate_next(a);
}

static bool is_too_large(const struct agent *a, const struct runtime_container *c)
{
	char path[4096];
	struct stat st;

	if (c->state != RUNTIME_RUNNING || c->log_path.n == 0 || c->log_path.n >= sizeof(path))
		return false;
	(void)snprintf(path, sizeof(path), "%.*s", STR_ARG(c->log_path));
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= a->opts.logs.max_size;
}

static const struct runtime_container *find_large(const struct agent *a)
{
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w)) {
		const struct runtime_pod *p = worker_runtime(w);

		for (size_t i = 0; p && i < p->ncontainers; i++) {
			if (is_too_large(a, &p->containers[i]))
				return &p->containers[i];
		}
	}
	return NULL;
}

static void rotate_next(struct agent *a)
{
	const struct runtime_container *c = a->stopping ? NULL : find_large(a);

	if (!c) {
		loop_timer_start(&a->logs_timer, a->opts.logs.interval_ms);
		return;
	}
	a->rotation = log_rotate_new(&(struct log_rotate_opts){ .loop = a->opts.loop,
								.runtime = a->host.runtime,
								.container_id = c->id,
								.path = c->log_path,
								.max_files = a->opts.logs.max_files,
								.done = on_rotated,
								.arg = a });
}

static void on_logs_timer(struct loop_timer *t)
{
	rotate_next(CONTAINER_OF(t, struct agent, logs_timer));
}

void agent_logs_start(struct agent *a)
{
	if (a->opts.runtime_endpoint && a->opts.logs.interval_ms > 0)
		loop_timer_start(&a->logs_timer, a->opts.logs.interval_ms);
}

void agent_logs_remove(struct agent *a, struct str ns, struct str name, struct str uid)
{
	CLEANUP(arena_release) struct arena scratch;

	arena_init(&scratch, SIZE_MAX);
	if (!a->opts.runtime_endpoint)
		return;
	log_rotate_remove_pod(arena_printf(&scratch, "%s/%.*s_%.*s_%.*s", a->opts.log_root,
					   STR_ARG(ns), STR_ARG(name), STR_ARG(uid)));
}

void agent_logs_init(struct agent *a)
{
	loop_timer_init(&a->logs_timer, a->opts.loop, on_logs_timer);
}

void agent_logs_release(struct agent *a)
{
	loop_timer_stop(&a->logs_timer);
	log_rotate_free(TAKE(a->rotation));
}

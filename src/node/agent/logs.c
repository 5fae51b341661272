/*
 * Logs of this node's containers: rotated while the containers run, and removed when their pods are
 * deleted.
 */
#include "node/agent/agent_impl.h"
#include "node/logs/keeper.h"
#include "node/logs/rotate.h"

static void each_log(void *arg, struct log_keeper *k)
{
	const struct agent *a = arg;
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&a->workers, &at, &key, &w)) {
		const struct runtime_pod *p = worker_runtime(w);

		for (size_t i = 0; p && i < p->ncontainers; i++) {
			if (p->containers[i].state == RUNTIME_RUNNING)
				log_keeper_add(k, p->containers[i].id, p->containers[i].log_path);
		}
	}
}

void agent_logs_start(struct agent *a)
{
	const struct agent_log_opts *logs = &a->opts.logs;

	if (!a->opts.runtime_endpoint || logs->interval_ms <= 0)
		return;
	a->logs = log_keeper_new(&(struct log_keeper_opts){ .loop = a->opts.loop,
							    .runtime = a->host.runtime,
							    .interval_ms = logs->interval_ms,
							    .max_size = logs->max_size,
							    .max_files = logs->max_files,
							    .each = each_log,
							    .arg = a,
							    .log = a->opts.log });
}

void agent_logs_stop(struct agent *a)
{
	if (a->logs)
		log_keeper_stop(a->logs);
}

bool agent_logs_pending(const struct agent *a)
{
	return a->logs && log_keeper_pending(a->logs);
}

void agent_logs_release(struct agent *a)
{
	log_keeper_free(TAKE(a->logs));
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

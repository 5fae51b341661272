/*
 * The server's own writes are seen, too: the run that follows finds no difference, and writes
 * nothing. A run only removes entries. If it also added this server's own, two servers of which one
 * takes the other for gone would write against each other for ever.
 */
#include "server/startup/storage_watch.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "net/loop/loop.h"
#include "server/core/parts.h"
#include "server/startup/storage_versions.h"

struct storage_watch {
	struct server *server;
	struct loop_timer timer;
	bool running; /* a run is under way */
	bool again; /* something has changed since it began */
	bool freed; /* storage_watch_free() was called meanwhile */
};

static void start_timer(struct storage_watch *w)
{
	const struct server *s = w->server;

	if (atomic_load(&s->ready) && !atomic_load(&s->stopping) && !loop_timer_running(&w->timer))
		loop_timer_start(&w->timer, STORAGE_WATCH_MS);
}

static void on_tidied(void *arg, const struct error *err)
{
	struct storage_watch *w = arg;

	w->running = false;
	if (w->freed) {
		free(w);
		return;
	}
	if (err && !atomic_load(&w->server->stopping))
		log_warn(w->server->opts.log, "cannot update the StorageVersion objects",
			 LOG_ERR(err));
	if (w->again && !err)
		start_timer(w);
	w->again = false;
}

static void storage_watch_run(struct loop_timer *t)
{
	struct storage_watch *w = CONTAINER_OF(t, struct storage_watch, timer);

	w->running = true;
	storage_versions_tidy(w->server, on_tidied, w);
}

static void storage_watch_on_changed(void *arg, struct object *now, struct object *before UNUSED)
{
	struct storage_watch *w = arg;

	if (!now)
		return;
	if (w->running)
		w->again = true;
	else
		start_timer(w);
}

struct state_observer storage_watch_observer(struct storage_watch *w)
{
	return (struct state_observer){ .group = STR("internal.apiserver.k8s.io"),
					.resource = STR("storageversions"),
					.changed = storage_watch_on_changed,
					.arg = w };
}

struct storage_watch *storage_watch_new(struct server *s)
{
	struct storage_watch *w = XNEW(struct storage_watch);

	*w = (struct storage_watch){ .server = s };
	loop_timer_init(&w->timer, s->opts.loops[0], storage_watch_run);
	return w;
}

void storage_watch_stop(struct storage_watch *w)
{
	loop_timer_stop(&w->timer);
}

void storage_watch_free(struct storage_watch *w)
{
	if (!w)
		return;
	if (w->running)
		w->freed = true;
	else
		free(w);
}

/*
 * One timer is enough: the steps of a start run one after the other.
 */
#include "server/server_wait.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/core/parts.h"
#include "store/store.h"

enum {
	RETRY_MS = 1000,
	GAP_MIN_MS = 10 * 1000,
	GAP_MAX_MS = 5 * 60 * 1000,
};

struct server_wait {
	struct server *server;
	struct loop_timer timer;
	void (*step)(struct server *s); /* to retry */
	int64_t log_at; /* ms: no log line before that */
	int64_t gap_ms; /* to the following log line */
};

static void server_wait_on_timer(struct loop_timer *t)
{
	struct server_wait *w = CONTAINER_OF(t, struct server_wait, timer);

	w->step(w->server);
}

struct server_wait *server_wait_new(struct server *s)
{
	struct server_wait *w = XNEW(struct server_wait);

	w->server = s;
	loop_timer_init(&w->timer, s->opts.loops[0], server_wait_on_timer);
	w->gap_ms = GAP_MIN_MS;
	return w;
}

void server_wait_free(struct server_wait *w)
{
	free(w);
}

void server_wait_stop(struct server *s)
{
	loop_timer_stop(&s->wait->timer);
}

void server_wait_log(struct server *s, const struct error *err)
{
	int64_t now = loop_now(s->opts.loops[0]);
	struct error why;

	if (now < s->wait->log_at)
		return;
	/* The store's health names each etcd member and its condition. */
	if (store_health(s->store, &why) == 0)
		why = *err;
	log_warn(s->opts.log, "waiting for the store", LOG_ERR(&why));
	s->wait->log_at = now + s->wait->gap_ms;
	s->wait->gap_ms = MIN(2 * s->wait->gap_ms, (int64_t)GAP_MAX_MS);
}

bool server_wait_again(struct server *s, const struct error *err, void (*step)(struct server *s))
{
	/* A folder that accepts no writes needs a person. */
	if (!s->opts.netcd_servers || atomic_load(&s->stopping) ||
	    (err->code != ERR_UNAVAILABLE && err->code != ERR_TIMEOUT))
		return false;
	server_wait_log(s, err);
	s->wait->step = step;
	loop_timer_start(&s->wait->timer, RETRY_MS);
	return true;
}

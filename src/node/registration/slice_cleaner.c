/*
 * One entry for each driver whose slices must be removed, and one without a name for all slices.
 */
#include "node/registration/slice_cleaner.h"

#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/time/backoff.h"
#include "client/api/client.h"
#include "net/loop/loop.h"

enum { DELAY_MS = 30 * 1000 };

struct wiping {
	struct list link;
	struct slice_cleaner *cleaner;
	char *driver; /* "": all */
	struct loop_timer timer;
	struct client_request request;
	struct backoff backoff;
};

struct slice_cleaner {
	struct slice_cleaner_opts opts;
	struct list entries;
	struct resource slices;
};

static void wiping_free(struct wiping *w)
{
	client_cancel(&w->request);
	loop_timer_stop(&w->timer);
	list_remove(&w->link);
	free(w->driver);
	free(w);
}

static void slice_cleaner_on_done(struct client_request *r, const struct client_answer *answer,
				  const struct error *err)
{
	struct wiping *w = CONTAINER_OF(r, struct wiping, request);

	(void)answer;
	if (!err) {
		wiping_free(w);
		return;
	}
	log_debug(w->cleaner->opts.log, "cannot delete ResourceSlices", LOG_Z("driver", w->driver),
		  LOG_ERR(err));
	loop_timer_start(&w->timer, backoff_next(&w->backoff, loop_prng(w->cleaner->opts.loop)));
}

static void slice_cleaner_on_timer(struct loop_timer *t)
{
	struct wiping *w = CONTAINER_OF(t, struct wiping, timer);
	struct slice_cleaner *c = w->cleaner;
	CLEANUP(buf_release) struct buf selector = BUF_INIT(1024), query = BUF_INIT(4096);

	(void)buf_printf(&selector, "spec.nodeName=%s", c->opts.node_name);
	if (w->driver[0])
		(void)buf_printf(&selector, ",spec.driver=%s", w->driver);
	client_query_add(&query, "fieldSelector", buf_str(&selector));
	w->request = (struct client_request){ .on_done = slice_cleaner_on_done,
					      .query = buf_str(&query) };
	client_delete_collection(c->opts.client, &w->request, &c->slices, STR_NULL, NULL);
}

static void wipe(struct slice_cleaner *c, struct str driver, int64_t delay_ms)
{
	struct wiping *w = XNEW(struct wiping);

	w->cleaner = c;
	w->driver = str_dup(driver);
	w->backoff = (struct backoff){
		.initial_ms = 1000, .max_ms = 300000, .factor = 2, .jitter = 0.2
	};
	loop_timer_init(&w->timer, c->opts.loop, slice_cleaner_on_timer);
	list_push_back(&c->entries, &w->link);
	loop_timer_start(&w->timer, delay_ms);
}

struct slice_cleaner *slice_cleaner_new(const struct slice_cleaner_opts *opts)
{
	struct slice_cleaner *c = XNEW(struct slice_cleaner);

	c->opts = *opts;
	if (c->opts.delay_ms == 0)
		c->opts.delay_ms = DELAY_MS;
	list_init(&c->entries);
	c->slices = resource_builtin("resource.k8s.io", "v1", "resourceslices");
	return c;
}

void slice_cleaner_free(struct slice_cleaner *c)
{
	if (!c)
		return;
	LIST_FOREACH_SAFE (it, &c->entries)
		wiping_free(LIST_ENTRY(it, struct wiping, link));
	free(c);
}

void slice_cleaner_driver(struct slice_cleaner *c, struct str driver, bool registered)
{
	LIST_FOREACH_SAFE (it, &c->entries) {
		struct wiping *w = LIST_ENTRY(it, struct wiping, link);

		if (str_eqz(driver, w->driver))
			wiping_free(w);
	}
	if (!registered)
		wipe(c, driver, c->opts.delay_ms);
}

void slice_cleaner_all(struct slice_cleaner *c)
{
	wipe(c, STR(""), 0);
}

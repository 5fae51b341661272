/*
 * extension_fixture - a small scheduler with plugins from shared objects, for tests.
 *
 * The test's first argument is the folder of the shared objects.
 */
#ifndef SCHEDULER_EXTENSION_EXTENSION_FIXTURE_H
#define SCHEDULER_EXTENSION_EXTENSION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/informer/cached.h"
#include "net/sim/sim.h"
#include "scheduler/config/config.h"
#include "scheduler/extension/extension_impl.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/queue/podqueue.h"
#include "scheduler/run/scheduler_fixture.h"

struct extension_world {
	struct sim *sim;
	struct loop *loop;
	struct scheduler_fixture f; /* its profile has the plugins */
	struct profile *second; /* another profile, or NULL */
	struct extended_types types;
	struct metrics *metrics;
	struct extension *e;
	char text[512]; /* arguments of the last allow or reject */
	struct error err;
};

static inline bool extension_world_allow(void *arg, struct str uid, const struct plugin *p)
{
	struct extension_world *w = arg;

	snprintf(w->text, sizeof(w->text), "allow %.*s by %s", STR_ARG(uid), p->name);
	return true;
}

static inline bool extension_world_reject(void *arg, struct str uid, const struct plugin *p,
					  struct str reason)
{
	struct extension_world *w = arg;

	snprintf(w->text, sizeof(w->text), "reject %.*s by %s: %.*s", STR_ARG(uid), p->name,
		 STR_ARG(reason));
	return true;
}

static inline struct profile *extension_world_profile(void *arg, struct str scheduler UNUSED)
{
	struct extension_world *w = arg;

	return w->f.profile;
}

/* Uses the caller's loop, or, if it is NULL, one of its own simulated world. */
static inline void extension_world_init(struct extension_world *w, struct loop *loop)
{
	*w = (struct extension_world){ .loop = loop };
	if (!loop) {
		w->sim = sim_new(&(struct sim_opts){ .seed = 1 });
		w->loop = sim_loop_new(w->sim, "scheduler");
	}
	w->metrics = metrics_new();
	scheduler_fixture_init(&w->f);
	extended_types_init(&w->types, NULL);
	w->f.services.loop = w->loop;
	w->f.services.extended = &w->types;
	w->f.services.queue = podqueue_new(
		&(struct podqueue_opts){ .profile = extension_world_profile, .arg = w });
	w->e = extension_new(&(struct extension_opts){ .loop = w->loop,
						       .types = &w->types,
						       .metrics = w->metrics,
						       .allow = extension_world_allow,
						       .reject = extension_world_reject,
						       .arg = w });
}

static inline void extension_world_release(struct extension_world *w)
{
	podqueue_free(TAKE(w->f.services.queue));
	profile_free(w->second);
	scheduler_fixture_release(&w->f);
	extended_types_release(&w->types);
	extension_free(w->e);
	metrics_free(w->metrics);
	if (!w->sim)
		return;
	sim_run_for(w->sim, 1);
	loop_free(w->loop);
	sim_free(w->sim);
}

static inline int extension_world_load(struct extension_world *w, const char *folder,
				       const char *name)
{
	struct buf path = BUF_INIT(4096);
	int r;

	(void)buf_printf(&path, "%s/%s.so", folder, name);
	w->err = (struct error){ 0 };
	r = extension_load(w->e, buf_str(&path), &w->err);
	buf_release(&path);
	return r;
}

/* Creates a profile with that plugin and the plugins that every profile needs. */
static inline int extension_world_try_profile(struct extension_world *w, const char *plugin,
					      struct json *args, struct profile **ret_profile)
{
	struct config_plugin enabled[] = { { STR("PrioritySort"), 0 },
					   { STR("DefaultBinder"), 0 },
					   { str_from(plugin), 0 } };
	struct config_plugin_args said[] = { { str_from(plugin), args } };
	struct config_profile config = { .name = STR("default-scheduler"),
					 .args = said,
					 .nargs = args ? 1 : 0 };
	struct plugin_kinds kinds = { .built_in = plugins_built_in };

	kinds.loaded = extension_kinds(w->e, &kinds.nloaded);
	config.points[POINT_MULTI] = (struct config_set){ .enabled = enabled,
							  .nenabled = ARRAY_SIZE(enabled) };
	w->err = (struct error){ 0 };
	return profile_new(&config, &kinds, &w->f.services, ret_profile, &w->err);
}

/* Loads the plugin, creates a profile and runs it. */
static inline void extension_world_start(struct extension_world *w, const char *folder,
					 const char *file, const char *plugin)
{
	if (extension_world_load(w, folder, file) < 0 ||
	    extension_world_try_profile(w, plugin, NULL, &w->f.profile) < 0 ||
	    extension_run(w->e, &w->f.services, NULL, &w->err) < 0)
		fail_msg("%s", w->err.msg);
}

/* Delivers an event of a watch. Objects are written with ' for ". */
static inline void extension_world_tell(struct extension_world *w, const char *old, const char *now)
{
	struct informer_handler *h = &w->e->watches.v[0]->handler;
	struct cached *a = old ? scheduler_fixture_object(&w->f, old) : NULL;
	struct cached *b = now ? scheduler_fixture_object(&w->f, now) : NULL;

	if (a && b)
		h->on_update(h, a, b);
	else if (b)
		h->on_add(h, b, false);
	else
		h->on_delete(h, a, false);
	cached_unref(a);
	cached_unref(b);
}

/* Adds a pod that the plugin has rejected. */
static inline void extension_world_reject_pod(struct extension_world *w, const char *plugin,
					      const char *text)
{
	CLEANUP(podinfo_unref) struct podinfo *p = scheduler_fixture_make_pod(&w->f, text);
	struct queued_pod *q;

	podqueue_add(w->f.services.queue, p, loop_now(w->loop));
	q = podqueue_pop(w->f.services.queue, loop_now(w->loop));
	assert_non_null(q);
	q->rejectors = UINT64_C(1) << scheduler_fixture_plugin(&w->f, plugin)->at;
	podqueue_return(w->f.services.queue, q, loop_now(w->loop));
	assert_int_equal(podqueue_count(w->f.services.queue, QUEUE_UNSCHEDULABLE), 1);
}

static inline size_t extension_world_waiting(struct extension_world *w)
{
	return podqueue_count(w->f.services.queue, QUEUE_UNSCHEDULABLE);
}

#endif

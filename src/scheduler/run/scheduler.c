/*
 * Creates and frees the parts. The order matters. Plugins' inits register types of extended
 * resources, so profiles are created before the handles run, and handles run before the first
 * event. The cache has values of plugins, so it is freed before the plugins are closed. The leader
 * election has its own client, so that load does not delay a renewal.
 */
#include "scheduler/run/scheduler.h"

#include <unistd.h>

#include "api/schema/gates.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/kubeconfig/kubeconfig.h"
#include "client/work/leader.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/config/config.h"
#include "scheduler/dra/state.h"
#include "scheduler/extension/extension.h"
#include "scheduler/plugins/plugins.h"
#include "scheduler/preemption/run.h"
#include "scheduler/run/scheduler_impl.h"

enum { EVENTS_AT_ONCE = 32 };
enum { EXPIRED_MS = 20 * 1000 }; /* how long after the lease ran out we are called sick */

static struct profile *find_profile(void *arg, struct str name)
{
	const struct scheduler *s = arg;

	for (size_t i = 0; i < s->nprofiles; i++) {
		if (s->profiles[i] && str_eq(s->profiles[i]->name, name))
			return s->profiles[i];
	}
	return NULL;
}

static void on_queue_ready(void *arg)
{
	attempt_soon(arg);
}

static bool on_allow(void *arg, struct str uid, const struct plugin *p)
{
	return binding_allow(arg, uid, p);
}

static bool on_reject(void *arg, struct str uid, const struct plugin *p, struct str reason)
{
	return binding_reject(arg, uid, p, reason);
}

/* A victim that still waits in permit is rejected and returns to the queue. */
static bool on_preempted(void *arg, struct str uid)
{
	return binding_reject(arg, uid, NULL, STR("preempted"));
}

/* --- parts ---------------------------------------------------------------------------------- */

static int load_plugins(struct scheduler *s, struct error *err)
{
	const struct config *c = s->opts.config;
	struct extension_opts o = { .loop = s->opts.loop,
				    .types = &s->types,
				    .metrics = s->opts.metrics,
				    .log = s->opts.log,
				    .allow = on_allow,
				    .reject = on_reject,
				    .arg = s };
	int r = 0;

	s->extension = extension_new(&o);
	for (size_t i = 0; r == 0 && i < c->nplugin_paths; i++)
		r = extension_load(s->extension, c->plugin_paths[i], err);
	return r;
}

static int make_profiles(struct scheduler *s, struct error *err)
{
	const struct config *c = s->opts.config;
	struct plugin_kinds kinds = { .built_in = plugins_built_in };
	int r = 0;

	kinds.loaded = extension_kinds(s->extension, &kinds.nloaded);
	s->nprofiles = c->nprofiles;
	s->profiles = xcalloc(c->nprofiles, sizeof(struct profile *));
	s->recorders = xcalloc(c->nprofiles, sizeof(struct recorder *));
	s->profile_services = xcalloc(c->nprofiles, sizeof(*s->profile_services));
	for (size_t i = 0; r == 0 && i < c->nprofiles; i++) {
		char *name = str_dup(c->profiles[i].name), instance[512], host[256] = "";

		(void)gethostname(host, sizeof(host) - 1);
		(void)snprintf(instance, sizeof(instance), "%s-%s", name, host);
		s->recorders[i] = recorder_new(&(struct recorder_opts){ .client = s->client,
									.component = name,
									.instance = instance,
									.series = true,
									.queue_max = 8192,
									.at_once = EVENTS_AT_ONCE,
									.metrics = s->opts.metrics,
									.log = s->opts.log });
		free(name);
		s->profile_services[i] = s->services;
		s->profile_services[i].recorder = s->recorders[i];
		r = profile_new(&c->profiles[i], &kinds, &s->profile_services[i], &s->profiles[i],
				err);
		if (r == 0)
			preemption_set_hooks(s->profiles[i],
					     &(struct preemption_hooks){ on_preempted, s });
	}
	return r;
}

static void make_services(struct scheduler *s)
{
	s->services = (struct services){ .loop = s->opts.loop,
					 .client = s->client,
					 .nodes = s->nodes,
					 .queue = s->queue,
					 .names = &s->names,
					 .dra = s->dra,
					 .extended = &s->types,
					 .metrics = s->opts.metrics,
					 .clock = loop_clock(s->opts.loop),
					 .log = s->opts.log,
					 .gates = s->opts.gates };
}

static int make_parts(struct scheduler *s, struct error *err)
{
	const struct config *c = s->opts.config;
	int r;

	s->nodes = nodecache_new();
	s->queue = podqueue_new(
		&(struct podqueue_opts){ .initial_backoff_ms = c->initial_backoff_ms,
					 .max_backoff_ms = c->max_backoff_ms,
					 .metrics = s->opts.metrics,
					 .profile = find_profile,
					 .on_ready = on_queue_ready,
					 .arg = s });
	if (gates_on(s->opts.gates, GATE_DynamicResourceAllocation))
		s->dra = dra_state_new(s->opts.gates, s->opts.log);
	s->informers = informers_new(s->client, s->opts.metrics);
	make_services(s);
	r = load_plugins(s, err);
	if (r < 0)
		return r;
	follow_begin(s);
	r = make_profiles(s, err);
	if (r < 0)
		return r;
	return extension_run(s->extension, &s->services, s->informers, err);
}

/* Cancels requests first, which ends most waiting operations. Plugins are closed last. */
static void end_work(struct scheduler *s)
{
	struct client *client = TAKE(s->client);

	s->stopped = true;
	loop_timer_stop(&s->tick);
	loop_timer_stop(&s->catch_up_again);
	loop_task_cancel(&s->work);
	s->services.client = NULL;
	for (size_t i = 0; i < s->nprofiles; i++) {
		s->profile_services[i].client = NULL;
		recorder_free(TAKE(s->recorders[i]));
		s->profile_services[i].recorder = NULL;
	}
	failure_release(s);
	informers_free(TAKE(s->informers));
	client_free(client);
	if (s->queue)
		bindings_release(s);
}

static void release_parts(struct scheduler *s)
{
	podqueue_free(TAKE(s->queue));
	for (size_t i = 0; i < s->nprofiles; i++)
		profile_free(TAKE(s->profiles[i]));
	nodecache_free(TAKE(s->nodes));
	s->services.queue = NULL;
	s->services.nodes = NULL;
	dra_state_free(TAKE(s->dra));
	extended_types_release(&s->types);
	extension_free(TAKE(s->extension));
	amount_names_release(&s->names);
	map_release(&s->by_uid);
	map_release(&s->patching);
	free(s->profiles);
	free(s->recorders);
	free(s->profile_services);
}

/* --- the election --------------------------------------------------------------------------- */

static void on_started(void *arg)
{
	struct scheduler *s = arg;

	log_info(s->opts.log, "leading", LOG_Z("identity", s->opts.identity));
	catch_up(s);
}

static void scheduler_on_lost(void *arg, const struct error *why)
{
	struct scheduler *s = arg;

	s->leading = false;
	end_work(s);
	s->opts.on_lost(s->opts.arg, why);
}

static void on_new_leader(void *arg, struct str identity)
{
	struct scheduler *s = arg;

	if (identity.n > 0 && !str_eqz(identity, s->opts.identity))
		log_info(s->opts.log, "another instance is the leader",
			 LOG_STR("identity", identity));
}

static int stand(struct scheduler *s, struct error *err)
{
	const struct config *c = s->opts.config;
	char *ns = str_dup(c->lease_namespace), *name = str_dup(c->lease_name);
	struct leader_opts l = { .ns = ns,
				 .name = name,
				 .identity = s->opts.identity,
				 .lease_duration_ms = c->lease_duration_ms,
				 .renew_deadline_ms = c->renew_deadline_ms,
				 .retry_period_ms = c->retry_period_ms,
				 .started_leading = on_started,
				 .stopped_leading = scheduler_on_lost,
				 .new_leader = on_new_leader,
				 .arg = s,
				 .metrics = s->opts.metrics,
				 .log = s->opts.log };
	struct client_opts client = { .config = s->opts.kubeconfig, .role = "scheduler" };
	int r;

	r = client_new(s->opts.loop, &client, &s->election_client, err);
	if (r == 0) {
		l.client = s->election_client;
		r = leader_new(&l, &s->leader, err);
	}
	if (r == 0) {
		leader_start(s->leader);
		s->services.leader = s->leader;
		for (size_t i = 0; i < s->nprofiles; i++)
			s->profile_services[i].leader = s->leader;
	}
	free(ns);
	free(name);
	return r;
}

/* --- life ----------------------------------------------------------------------------------- */

static void scheduler_on_later(struct loop_timer *t)
{
	struct scheduler *s = CONTAINER_OF(t, struct scheduler, later);

	s->done(s->done_arg);
}

static int scheduler_begin(struct scheduler *s, struct error *err)
{
	struct client_opts client = { .config = s->opts.kubeconfig,
				      .role = "scheduler",
				      .qps = s->opts.config->qps,
				      .burst = s->opts.config->burst,
				      .metrics = s->opts.metrics,
				      .log = s->opts.log };
	int r;

	r = client_new(s->opts.loop, &client, &s->client, err);
	if (r == 0)
		r = make_parts(s, err);
	if (r == 0 && s->opts.config->leader_elect)
		r = stand(s, err);
	if (r < 0)
		return r;
	s->leading = !s->leader;
	informers_start(s->informers);
	attempt_soon(s);
	return 0;
}

int scheduler_new(const struct scheduler_opts *opts, struct scheduler **ret_scheduler,
		  struct error *err)
{
	struct scheduler *s = XNEW(struct scheduler);
	int r;

	s->opts = *opts;
	amount_names_init(&s->names);
	extended_types_init(&s->types, opts->log);
	list_init(&s->bindings);
	list_init(&s->patches);
	map_init(&s->by_uid);
	map_init(&s->patching);
	loop_task_init(&s->work, attempt_work);
	loop_timer_init(&s->tick, opts->loop, attempt_tick);
	loop_timer_init(&s->later, opts->loop, scheduler_on_later);
	loop_timer_init(&s->catch_up_again, opts->loop, catch_up_again);
	measures_init(&s->measures, opts->metrics);
	r = scheduler_begin(s, err);
	if (r < 0) {
		scheduler_free(s);
		return r;
	}
	*ret_scheduler = s;
	return 0;
}

void scheduler_stop(struct scheduler *s, void (*done)(void *arg), void *arg)
{
	end_work(s);
	s->done = done;
	s->done_arg = arg;
	if (s->leader)
		leader_stop(s->leader, done, arg);
	else
		loop_timer_start(&s->later, 0);
}

void scheduler_free(struct scheduler *s)
{
	if (!s)
		return;
	end_work(s);
	release_parts(s);
	loop_timer_stop(&s->later);
	leader_free(s->leader);
	client_free(s->election_client);
	free(s);
}

/* --- to look at ----------------------------------------------------------------------------- */

int scheduler_check(const struct scheduler *s, struct error *err)
{
	return s->leader ? leader_check(s->leader, EXPIRED_MS, err) : 0;
}

int scheduler_check_ready(const struct scheduler *s, struct error *err)
{
	if (!s->stopped && !s->ready)
		return error_set(err, ERR_UNAVAILABLE, "the state is not known yet");
	return 0;
}

void scheduler_dump_cache(const struct scheduler *s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	nodecache_dump(s->nodes, &s->names, &w);
	(void)json_writer_finish(&w);
}

void scheduler_dump_queue(const struct scheduler *s, struct buf *out)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	podqueue_dump(s->queue, loop_now(s->opts.loop), &w);
	(void)json_writer_finish(&w);
}

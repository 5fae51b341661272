/*
 * Creates the parts when we become the leader and frees them when that ends. The election has its
 * own client, so that no amount of work delays a renewal.
 */
#include "controller/run/controller.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/informer/informer.h"
#include "client/kubeconfig/kubeconfig.h"
#include "client/work/leader.h"
#include "controller/run/parts.h"
#include "controller/shared/context.h"
#include "controller/shared/pod_trim.h"
#include "controller/shared/served.h"

enum { EXPIRED_MS = 20 * 1000 }; /* how long after the lease expired we are unhealthy */

struct controller {
	struct controller_opts opts;
	struct context ctx;
	struct client *election_client;
	struct leader *leader; /* NULL: no election */
	void *engines[CONTROLLER_ENGINES_MAX]; /* as in the table; NULL: does not run */
	struct loop_timer later; /* calls `done` without an election */
	void (*done)(void *arg);
	void *done_arg;
	bool working;
};

/* --- work ------------------------------------------------------------------------------------ */

static void begin_work(struct controller *c)
{
	struct resource pods = resource_builtin("", "v1", "pods");

	c->working = true;
	c->ctx.informers = informers_new(c->ctx.client, c->opts.metrics);
	informers_trim(c->ctx.informers, &pods, pod_trim);
	c->ctx.served = served_new(c->ctx.client);
	c->ctx.recorder = recorder_new(&(struct recorder_opts){ .client = c->ctx.client,
								.component = "devplane-controller",
								.metrics = c->opts.metrics,
								.log = c->opts.log });
	for (size_t i = 0; controller_engines[i].parts != 0; i++) {
		if (controller_engines[i].parts & c->opts.parts)
			c->engines[i] = controller_engines[i].begin(&c->ctx, &c->opts);
	}
	informers_start(c->ctx.informers);
}

static void end_work(struct controller *c)
{
	if (!c->working)
		return;
	c->working = false;
	for (size_t i = CONTROLLER_ENGINES_MAX; i-- > 0;) {
		if (c->engines[i])
			controller_engines[i].end(TAKE(c->engines[i]));
	}
	recorder_free(TAKE(c->ctx.recorder));
	served_free(TAKE(c->ctx.served));
	informers_free(TAKE(c->ctx.informers));
}

/* --- the election ---------------------------------------------------------------------------- */

static void on_started(void *arg)
{
	struct controller *c = arg;

	log_info(c->opts.log, "leading", LOG_Z("identity", c->opts.identity));
	begin_work(c);
}

static void controller_on_lost(void *arg, const struct error *why)
{
	struct controller *c = arg;

	end_work(c);
	c->opts.on_lost(c->opts.arg, why);
}

static void on_new_leader(void *arg, struct str identity)
{
	struct controller *c = arg;

	if (identity.n > 0 && !str_eqz(identity, c->opts.identity))
		log_info(c->opts.log, "another instance is the leader",
			 LOG_STR("identity", identity));
}

static int stand(struct controller *c, struct error *err)
{
	struct controller_opts *o = &c->opts;
	struct leader_opts l = {
		.ns = o->lease_namespace ? o->lease_namespace : "kube-system",
		.name = o->lease_name ? o->lease_name : "devplane-controller",
		.identity = o->identity,
		.lease_duration_ms = o->lease_duration_ms,
		.renew_deadline_ms = o->renew_deadline_ms,
		.retry_period_ms = o->retry_period_ms,
		.started_leading = on_started,
		.stopped_leading = controller_on_lost,
		.new_leader = on_new_leader,
		.arg = c,
		.metrics = o->metrics,
		.log = o->log,
	};
	struct client_opts client = { .config = o->kubeconfig, .role = "controller" };
	int r;

	r = client_new(o->loop, &client, &c->election_client, err);
	if (r < 0)
		return r;
	l.client = c->election_client;
	r = leader_new(&l, &c->leader, err);
	if (r < 0)
		return r;
	leader_start(c->leader);
	return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

static void controller_on_later(struct loop_timer *t)
{
	struct controller *c = CONTAINER_OF(t, struct controller, later);

	c->done(c->done_arg);
}

int controller_new(const struct controller_opts *opts, struct controller **ret_controller,
		   struct error *err)
{
	struct controller *c = XNEW(struct controller);
	struct client_opts client = { .config = opts->kubeconfig,
				      .role = "controller",
				      .qps = opts->qps,
				      .burst = opts->burst,
				      .metrics = opts->metrics,
				      .log = opts->log };
	int r;

	c->opts = *opts;
	if (c->opts.parts == 0)
		c->opts.parts = CONTROLLER_ALL;
	if (c->opts.root_ca.n == 0)
		c->opts.root_ca = opts->kubeconfig->ca;
	c->ctx = (struct context){ .loop = opts->loop, .metrics = opts->metrics, .log = opts->log };
	loop_timer_init(&c->later, opts->loop, controller_on_later);
	r = client_new(opts->loop, &client, &c->ctx.client, err);
	if (r == 0 && !opts->no_election)
		r = stand(c, err);
	if (r < 0) {
		controller_free(c);
		return r;
	}
	if (opts->no_election)
		begin_work(c);
	*ret_controller = c;
	return 0;
}

void controller_stop(struct controller *c, void (*done)(void *arg), void *arg)
{
	end_work(c);
	c->done = done;
	c->done_arg = arg;
	if (c->leader)
		leader_stop(c->leader, done, arg);
	else
		loop_timer_start(&c->later, 0);
}

void controller_free(struct controller *c)
{
	if (!c)
		return;
	end_work(c);
	loop_timer_stop(&c->later);
	leader_free(c->leader);
	client_free(c->election_client);
	client_free(c->ctx.client);
	free(c);
}

/* --- health ---------------------------------------------------------------------------------- */

int controller_check(const struct controller *c, struct error *err)
{
	return c->leader ? leader_check(c->leader, EXPIRED_MS, err) : 0;
}

static bool engines_synced(const struct controller *c)
{
	for (size_t i = 0; controller_engines[i].parts != 0; i++) {
		if (c->engines[i] && controller_engines[i].synced &&
		    !controller_engines[i].synced(c->engines[i]))
			return false;
	}
	return true;
}

int controller_check_ready(const struct controller *c, struct error *err)
{
	if (c->working && !informers_synced(c->ctx.informers))
		return error_set(err, ERR_UNAVAILABLE, "the state is not known yet");
	if (!engines_synced(c))
		return error_set(err, ERR_UNAVAILABLE, "not all resources are known yet");
	if (!c->working && c->leader && leader_holder(c->leader).n == 0)
		return error_set(err, ERR_UNAVAILABLE, "no leader has been seen yet");
	return 0;
}

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
#include "controller/accounts/root_ca.h"
#include "controller/accounts/service_account.h"
#include "controller/endpoints/network_endpoints.h"
#include "controller/quota/resource_quota.h"
#include "controller/run/availability.h"
#include "controller/shared/context.h"
#include "controller/shared/per_namespace.h"
#include "controller/shared/served.h"

enum { EXPIRED_MS = 20 * 1000 }; /* how long after the lease expired we are unhealthy */

struct controller {
	struct controller_opts opts;
	struct context ctx;
	struct str root_ca;
	struct client *election_client;
	struct leader *leader; /* NULL: no election */
	struct namespaces *namespaces;
	struct garbage *garbage;
	struct per_namespace *accounts, *root_cas;
	struct pod_claims *pod_claims;
	struct availability *availability;
	struct network_endpoints *network_endpoints;
	struct resource_quotas *quotas;
	struct loop_timer later; /* calls `done` without an election */
	void (*done)(void *arg);
	void *done_arg;
	bool working;
};

static const struct {
	const char *name;
	enum controller_part part;
} parts[] = {
	{ "namespace-controller", CONTROLLER_NAMESPACE },
	{ "garbage-collector-controller", CONTROLLER_GARBAGE },
	{ "serviceaccount-controller", CONTROLLER_SERVICE_ACCOUNT },
	{ "root-ca-certificate-publisher-controller", CONTROLLER_ROOT_CA },
	{ "resourceclaim-controller", CONTROLLER_CLAIMS },
	{ "resourceslice-status-controller", CONTROLLER_SLICE_STATUS },
	{ "resourcepoolstatusrequest-controller", CONTROLLER_POOL_REQUESTS },
	{ "device-taint-eviction-controller", CONTROLLER_TAINT_EVICTION },
	{ "device-health-taints", CONTROLLER_HEALTH_TAINTS },
	{ "network-endpoints-controller", CONTROLLER_NETWORK_ENDPOINTS },
	{ "resourcequota-controller", CONTROLLER_QUOTAS },
};

unsigned controller_part_find(struct str name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (str_eqz(name, parts[i].name))
			return parts[i].part;
	}
	return 0;
}

/* --- work ------------------------------------------------------------------------------------ */

static void begin_availability(struct controller *c)
{
	struct availability_opts o = {
		.slice_status = c->opts.parts & CONTROLLER_SLICE_STATUS,
		.pool_requests = c->opts.parts & CONTROLLER_POOL_REQUESTS,
		.taint_eviction = c->opts.parts & CONTROLLER_TAINT_EVICTION,
		.health_taints = c->opts.parts & CONTROLLER_HEALTH_TAINTS,
		.health_limits = c->opts.health_taints,
		.workers = c->opts.slice_status_workers,
		.evictions = c->opts.taint_eviction_workers,
	};

	if (o.slice_status || o.pool_requests || o.taint_eviction || o.health_taints)
		c->availability = availability_new(&c->ctx, &o);
}

static void begin_work(struct controller *c)
{
	unsigned want = c->opts.parts;

	c->working = true;
	c->ctx.informers = informers_new(c->ctx.client, c->opts.metrics);
	c->ctx.served = served_new(c->ctx.client);
	c->ctx.recorder = recorder_new(&(struct recorder_opts){ .client = c->ctx.client,
								.component = "devplane-controller",
								.metrics = c->opts.metrics,
								.log = c->opts.log });
	if (want & CONTROLLER_NAMESPACE)
		c->namespaces = namespaces_new(&c->ctx, &c->opts.namespaces);
	if (want & CONTROLLER_GARBAGE)
		c->garbage = garbage_new(&c->ctx, &c->opts.garbage);
	if (want & CONTROLLER_SERVICE_ACCOUNT)
		c->accounts = service_account_new(&c->ctx);
	if ((want & CONTROLLER_ROOT_CA) && c->root_ca.n > 0)
		c->root_cas = root_ca_new(&c->ctx, &c->root_ca);
	if (want & CONTROLLER_CLAIMS)
		c->pod_claims = pod_claims_new(&c->ctx, &c->opts.claims);
	begin_availability(c);
	if (want & CONTROLLER_NETWORK_ENDPOINTS)
		c->network_endpoints = network_endpoints_new(&c->ctx);
	if (want & CONTROLLER_QUOTAS)
		c->quotas = resource_quotas_new(&c->ctx);
	informers_start(c->ctx.informers);
}

static void end_work(struct controller *c)
{
	if (!c->working)
		return;
	c->working = false;
	resource_quotas_free(TAKE(c->quotas));
	network_endpoints_free(TAKE(c->network_endpoints));
	availability_free(TAKE(c->availability));
	pod_claims_free(TAKE(c->pod_claims));
	per_namespace_free(TAKE(c->root_cas));
	per_namespace_free(TAKE(c->accounts));
	garbage_free(TAKE(c->garbage));
	namespaces_free(TAKE(c->namespaces));
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
	c->root_ca = opts->root_ca.n > 0 ? opts->root_ca : opts->kubeconfig->ca;
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

int controller_check_ready(const struct controller *c, struct error *err)
{
	if (c->working && !informers_synced(c->ctx.informers))
		return error_set(err, ERR_UNAVAILABLE, "the state is not known yet");
	if ((c->garbage && !garbage_synced(c->garbage)) ||
	    (c->pod_claims && !pod_claims_synced(c->pod_claims)) ||
	    (c->availability && !availability_synced(c->availability)))
		return error_set(err, ERR_UNAVAILABLE, "not all resources are known yet");
	if (!c->working && c->leader && leader_holder(c->leader).n == 0)
		return error_set(err, ERR_UNAVAILABLE, "no leader has been seen yet");
	return 0;
}

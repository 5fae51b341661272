/*
 * Starts schedulers and controllers, as cli/commands/scheduler.c and controller.c do for the real
 * ones.
 */
#include "cluster_control.h"

#include "api/schema/gates.h"
#include "base/core/mem.h"
#include "client/kubeconfig/kubeconfig.h"
#include "controller/run/controller.h"
#include "scheduler/config/config.h"
#include "scheduler/run/scheduler.h"

struct control {
	struct kubeconfig kubeconfig;
	struct config config;
	struct gates gates;
	struct scheduler *scheduler; /* one of these two */
	struct controller *controller;
	char identity[64];
};

static void on_lost(void *arg, const struct error *why)
{
	struct cluster_role *role = arg;

	role->failed = true;
	role->failure = *why;
}

static int begin(struct cluster_role *role, struct control **ret_control, struct error *err)
{
	struct control *c = XNEW(struct control);

	role->impl = *ret_control = c;
	gates_init(&c->gates);
	config_init(&c->config);
	(void)snprintf(c->identity, sizeof(c->identity), "%s_%u", role->host, role->starts);
	if (role->arg && config_read(&c->config, str_from(role->arg), err) < 0)
		return -ERR_INVALID;
	return kubeconfig_load(&c->kubeconfig,
			       &(struct kubeconfig_opts){ .path = role->kubeconfig }, err);
}

static void end(struct cluster_role *role)
{
	struct control *c = role->impl;

	scheduler_free(c->scheduler);
	controller_free(c->controller);
	config_release(&c->config);
	kubeconfig_release(&c->kubeconfig);
	free(c);
}

/* --- schedulers --------------------------------------------------------------------------- */

static int start_scheduler(struct cluster_role *role, struct error *err)
{
	struct control *c;
	int r = begin(role, &c, err);
	struct scheduler_opts o = { .loop = role->loops[0],
				    .kubeconfig = &c->kubeconfig,
				    .config = &c->config,
				    .gates = &c->gates,
				    .identity = c->identity,
				    .log = role->log,
				    .on_lost = on_lost,
				    .arg = role };

	return r < 0 ? r : scheduler_new(&o, &c->scheduler, err);
}

static void stop_scheduler(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	scheduler_stop(((struct control *)role->impl)->scheduler, done, arg);
}

const struct cluster_role_ops cluster_scheduler_ops = {
	.start = start_scheduler, .stop = stop_scheduler, .drop = end, .nloops = 1
};

void cluster_scheduler_dump(const struct cluster_role *role, struct buf *out)
{
	const struct control *c = role->impl;

	if (role->state == CLUSTER_UP)
		scheduler_dump_queue(c->scheduler, out);
}

/* --- controllers -------------------------------------------------------------------------- */

static int start_controller(struct cluster_role *role, struct error *err)
{
	struct control *c;
	int r = begin(role, &c, err);
	struct controller_opts o = { .loop = role->loops[0],
				     .kubeconfig = &c->kubeconfig,
				     .root_ca = STR("no CA in a simulated world\n"),
				     .parts = CONTROLLER_ALL,
				     .identity = c->identity,
				     .lease_namespace = "kube-system",
				     .lease_name = "devplane-controller",
				     .lease_duration_ms = 15 * 1000,
				     .renew_deadline_ms = 10 * 1000,
				     .retry_period_ms = 2 * 1000,
				     .namespaces = { .workers = 10 },
				     .garbage = { .workers = 20, .sync_period_ms = 30 * 1000 },
				     .claims = { .workers = 50 },
				     .slice_status_workers = 32,
				     .log = role->log,
				     .on_lost = on_lost,
				     .arg = role };

	return r < 0 ? r : controller_new(&o, &c->controller, err);
}

static void stop_controller(struct cluster_role *role, void (*done)(void *arg), void *arg)
{
	controller_stop(((struct control *)role->impl)->controller, done, arg);
}

const struct cluster_role_ops cluster_controller_ops = {
	.start = start_controller, .stop = stop_controller, .drop = end, .nloops = 1
};

/*
 * The driver ends before the endpoint, so that /readyz reports "not ready" while claims are still
 * being finished.
 */
#include "cli/roles/driver_role.h"

#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "cli/program/cli.h"
#include "client/kubeconfig/kubeconfig.h"

static int driver_role_check_ready(void *arg, struct error *err)
{
	const struct driver_role *r = arg;

	if (r->stopping)
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	return r->ops->check(r->arg, err);
}

static int driver_role_check_registered(void *arg, struct error *err)
{
	const struct driver_role *r = arg;

	return r->stopping ? 0 : r->ops->check_registered(r->arg, err);
}

static void driver_role_note_registered(void *arg, struct buf *out)
{
	const struct driver_role *r = arg;

	(void)buf_printf(out, "registered in %s", r->root_dir);
}

/* The registration comes first: without it nothing else works. */
static void driver_role_list_checks(struct driver_role *r)
{
	struct endpoint_check *c = r->checks;

	if (r->ops->check_registered)
		*c++ = (struct endpoint_check){ .name = "kubelet-registration",
						.ready_only = true,
						.run = driver_role_check_registered,
						.note = driver_role_note_registered };
	*c = (struct endpoint_check){ .name = r->ops->check_name ? r->ops->check_name
								 : "resourceslices",
				      .ready_only = true,
				      .run = driver_role_check_ready };
}

static void on_silent(void *arg)
{
	struct driver_role *r = arg;

	endpoint_free(TAKE(r->endpoint));
	role_stop_soon(&r->role);
}

void driver_role_stopped(struct driver_role *r)
{
	endpoint_stop(r->endpoint, on_silent, r);
}

static void driver_role_on_stop(void *arg)
{
	struct driver_role *r = arg;

	if (r->stopping)
		return;
	r->stopping = true;
	r->ops->stop(r->arg);
}

static int driver_role_serve(struct driver_role *r, const struct driver_options *o,
			     struct error *err)
{
	CLEANUP(kubeconfig_release) struct kubeconfig config = { 0 };
	struct kubeconfig_opts k = { .path = r->kubeconfig };
	struct endpoint_opts e = { .loop = r->role.loop,
				   .address = o->metrics_address,
				   .checks = r->checks,
				   .arg = r,
				   .metrics = r->metrics,
				   .guard = &o->guard,
				   .log = &r->role.log };
	struct addr at;
	int n = addr_parse(&at, str_from(o->metrics_address), 0, err);

	/* Device plugins need no API server, so only a guard requires a kubeconfig. */
	if (n == 0 && endpoint_guard_wanted(&o->guard, &at)) {
		n = kubeconfig_load(&config, &k, err);
		e.kubeconfig = &config;
	}
	return n < 0 ? n : endpoint_new(&e, &r->endpoint, err);
}

static int driver_role_start(struct driver_role *r, const struct driver_options *o,
			     struct error *err)
{
	int n = r->ops->start(r->arg, r, err);

	if (n == 0 && strcmp(o->metrics_address, "0") != 0)
		n = driver_role_serve(r, o, err);
	return n;
}

static void driver_role_announce(struct driver_role *r)
{
	r->ops->announce(r->arg, r->cli->out);
	endpoint_announce(r->endpoint, r->cli->out);
	(void)fflush(r->cli->out);
	role_ready(&r->role);
}

int driver_role_run(struct cli *cli, const struct driver_options *o,
		    const struct driver_role_ops *ops, void *arg, struct error *err)
{
	struct driver_role r = {
		.cli = cli,
		.ops = ops,
		.arg = arg,
		.root_dir = o->root_dir,
	};
	int n = role_init(&r.role, &o->role, driver_role_on_stop, &r, err);

	if (n < 0)
		return n;
	driver_role_list_checks(&r);
	r.metrics = metrics_new();
	(void)metrics_process_register(r.metrics, NULL);
	if (driver_role_start(&r, o, &r.failure) < 0)
		driver_role_on_stop(&r);
	else
		driver_role_announce(&r);
	n = role_run(&r.role, err);
	if (n == 0 && r.failure.code != ERR_OK)
		n = error_copy(err, &r.failure);
	metrics_free(r.metrics);
	role_release(&r.role);
	return n;
}

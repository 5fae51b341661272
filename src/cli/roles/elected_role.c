/*
 * The endpoint starts before the role and ends after it, so that /readyz reports "not ready" in
 * between.
 */
#include "cli/roles/elected_role.h"

#include "base/report/metrics.h"
#include "base/report/metrics_process.h"
#include "cli/program/cli.h"

static int check_alive(void *arg, struct error *err)
{
	const struct elected_role *r = arg;

	return r->started ? r->ops->check(r->arg, err) : 0;
}

static int elected_role_check_ready(void *arg, struct error *err)
{
	const struct elected_role *r = arg;

	if (r->stopping || !r->started)
		return error_set(err, ERR_UNAVAILABLE, "process is shutting down");
	return r->ops->check_ready(r->arg, err);
}

/* Connections free their memory in the loop's next turn. */
static void on_silent(void *arg)
{
	struct elected_role *r = arg;

	if (r->started)
		r->ops->free(r->arg);
	r->started = false;
	endpoint_free(TAKE(r->endpoint));
	role_stop_soon(&r->role);
}

static void elected_role_on_stopped(void *arg)
{
	struct elected_role *r = arg;

	endpoint_stop(r->endpoint, on_silent, r);
}

static void elected_role_on_stop(void *arg)
{
	struct elected_role *r = arg;

	if (r->stopping)
		return;
	r->stopping = true;
	if (r->started)
		r->ops->stop(r->arg, elected_role_on_stopped, r);
	else
		elected_role_on_stopped(r);
}

void elected_role_lost(void *role, const struct error *why)
{
	struct elected_role *r = role;

	r->failure = *why;
	elected_role_on_stop(r);
}

static int elected_role_start(struct elected_role *r, const struct elected_role_serving *serving,
			      struct error *err)
{
	struct endpoint_opts e = { .loop = r->role.loop,
				   .address = serving->address,
				   .checks = r->checks,
				   .pages = r->ops->pages,
				   .arg = r,
				   .metrics = r->metrics,
				   .kubeconfig = &r->kubeconfig,
				   .guard = serving->guard,
				   .log = &r->role.log };
	int ret = r->ops->read(r->arg, err);

	if (ret == 0 && strcmp(serving->address, "0") != 0)
		ret = endpoint_new(&e, &r->endpoint, err);
	if (ret == 0)
		ret = r->ops->start(r->arg, err);
	r->started = ret == 0;
	return ret;
}

static void elected_role_announce(struct elected_role *r)
{
	(void)fprintf(r->cli->out, "devplane %s runs for %.*s\n", r->ops->name,
		      STR_ARG(r->kubeconfig.server));
	endpoint_announce(r->endpoint, r->cli->out);
	(void)fflush(r->cli->out);
	role_ready(&r->role);
}

int elected_role_run(struct elected_role *r, struct cli *cli, const struct role_options *o,
		     const struct elected_role_serving *serving, const struct elected_role_ops *ops,
		     void *arg, struct error *err)
{
	int ret;

	*r = (struct elected_role){
		.cli = cli,
		.ops = ops,
		.arg = arg,
		.checks = { { .name = "leaderElection", .run = check_alive },
			    { .name = ops->ready_check,
			      .ready_only = true,
			      .run = elected_role_check_ready } },
	};
	ret = role_init(&r->role, o, elected_role_on_stop, r, err);
	if (ret < 0)
		return ret;
	r->metrics = metrics_new();
	(void)metrics_process_register(r->metrics, NULL);
	role_identity(r->identity);
	if (elected_role_start(r, serving, &r->failure) < 0)
		elected_role_on_stop(r);
	else
		elected_role_announce(r);
	ret = role_run(&r->role, err);
	if (ret == 0 && r->failure.code != ERR_OK)
		ret = error_copy(err, &r->failure);
	endpoint_free(r->endpoint);
	metrics_free(r->metrics);
	kubeconfig_release(&r->kubeconfig);
	role_release(&r->role);
	return ret;
}

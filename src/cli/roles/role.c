/*
 * The frame of a long-running command.
 */
#include "cli/roles/role.h"

#include <signal.h>
#include <unistd.h>

#include "api/schema/gates.h"
#include "base/system/cpus.h"
#include "base/system/uuid.h"
#include "cli/program/cli.h"
#include "cli/roles/syscalls.h"

const struct command_note role_exit_status[] = {
	{ "0", "it stopped cleanly after SIGTERM or SIGINT" },
	{ "1", "it could not start, failed, or a second signal interrupted the shutdown" },
	{ "2", "the command line is not valid" },
	{ NULL },
};

const struct command_note role_environment[] = {
	{ "NO_COLOR", "if set, text logs on a terminal have no colours" },
	{ "NOTIFY_SOCKET", "socket of the service manager that is notified of startup and "
			   "shutdown; systemd sets it" },
	{ NULL },
};

/*
 * On two CPUs the thread that writes to disk and the kernel need the second one. Beyond eight
 * threads the limit is the first loop, through which all writes go.
 */
enum { IO_THREADS_USUAL_MAX = 8, IO_THREADS_CPUS_MIN = 3 };

/* With fewer threads, the first one's share of the connections is worth more than its speed. */
enum { IO_THREADS_SPARE_MIN = 4 };

static void role_on_signal(void *arg, int signum)
{
	struct role *r = arg;

	/* Connections are still open, so an orderly shutdown is not possible. */
	if (r->stopping) {
		log_warn(&r->log, "stopping immediately", LOG_INT("signal", signum));
		_exit(CLI_FAILURE);
	}
	r->stopping = true;
	log_info(&r->log, "stopping", LOG_INT("signal", signum));
	notify_send(&r->notify, "STOPPING=1");
	r->on_stop(r->arg);
}

static void init_log(struct role *r, const struct role_options *o)
{
	struct log_options lo = { .level = log_level_from_v((int)o->v), .fd = STDERR_FILENO };

	if (o->log_format)
		(void)log_format_parse(str_from(o->log_format), &lo.format);
	log_init(&r->log, &lo);
}

size_t role_threads_for(size_t cpus)
{
	return cpus < IO_THREADS_CPUS_MIN ? 1 : MIN(cpus, (size_t)IO_THREADS_USUAL_MAX);
}

bool role_spares_first(size_t threads)
{
	return threads >= IO_THREADS_SPARE_MIN;
}

int role_init(struct role *r, const struct role_options *o, void (*on_stop)(void *arg), void *arg,
	      struct error *err)
{
	static const int signums[] = { SIGTERM, SIGINT };
	size_t threads = o->io_threads ? (size_t)o->io_threads : role_threads_for(cpus_usable());
	int ret;

	*r = (struct role){ .on_stop = on_stop, .arg = arg };
	r->spared = o->orders && role_spares_first(threads);
	notify_init(&r->notify);
	init_log(r, o);
	ret = syscalls_limit_by_variable(err);
	if (ret == -ERR_UNIMPLEMENTED)
		log_warn(&r->log, "the kernel does not support system call filters (seccomp)");
	else if (ret < 0)
		goto out_release;
	ret = io_threads_new(threads + r->spared, &r->io, err);
	if (ret < 0)
		goto out_release;
	log_debug(&r->log, "starting", LOG_INT("ioThreads", (int64_t)threads));
	r->loop = io_threads_loops(r->io)[0];
	for (size_t i = 0; i < ARRAY_SIZE(signums); i++) {
		ret = loop_signal_new(r->loop, signums[i], role_on_signal, r, &r->signals[i], err);
		if (ret < 0)
			goto out_release;
	}
	return 0;
out_release:
	role_release(r);
	return ret;
}

void role_ready(const struct role *r)
{
	notify_send(&r->notify, "READY=1");
}

static void role_on_last(struct loop_timer *t)
{
	role_stop(CONTAINER_OF(t, struct role, last));
}

void role_stop_soon(struct role *r)
{
	loop_timer_init(&r->last, r->loop, role_on_last);
	loop_timer_start(&r->last, 0);
}

int role_run(struct role *r, struct error *err)
{
	return io_threads_run(r->io, err);
}

void role_stop(struct role *r)
{
	loop_stop(r->loop);
}

void role_release(struct role *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->signals); i++)
		loop_signal_free(r->signals[i]);
	io_threads_free(r->io);
	log_release(&r->log);
}

void role_identity(char out[static ROLE_IDENTITY_SIZE])
{
	char host[256] = "", id[UUID_TEXT_SIZE];
	struct uuid u;

	(void)gethostname(host, sizeof(host) - 1);
	uuid_make(&u);
	(void)uuid_print(&u, id);
	(void)snprintf(out, ROLE_IDENTITY_SIZE, "%s_%s", host[0] ? host : "devplane", id);
}

int role_gates(struct cli *cli, const struct flag_list *list, struct gates *ret_gates,
	       struct error *err)
{
	struct error why;

	gates_init(ret_gates);
	for (size_t i = 0; i < list->n; i++) {
		if (gates_set(ret_gates, str_from(list->v[i]), &why) < 0)
			return cli_bad_usage(cli, err, "--feature-gates: %s", why.msg);
	}
	return 0;
}

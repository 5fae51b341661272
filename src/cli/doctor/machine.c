/*
 * Checks this machine: limits, control groups, a container runtime, kubectl, the scheduler's
 * plugin.
 */
#include <sys/resource.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/doctor/doctor.h"
#include "cli/up/check.h"
#include "net/loop/loop.h"
#include "net/loop/program.h"

enum { FILES_FEW = 1024, KUBECTL_MS = 10 * 1000, KUBECTL_OLDEST = 29 };

/* --- limits ---------------------------------------------------------------------------------- */

static void check_limits(struct doctor *d)
{
	struct rlimit files, processes;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0 || getrlimit(RLIMIT_NPROC, &processes) < 0)
		return;
	if (files.rlim_cur < FILES_FEW)
		doctor_say(d, DOCTOR_WARN, "open files", "raise it: ulimit -n 4096",
			   "a process may have %llu; hundreds of clients need more",
			   (unsigned long long)files.rlim_cur);
	else
		doctor_say(d, DOCTOR_OK, "open files", NULL, "a process may have %llu",
			   (unsigned long long)files.rlim_cur);
	if (processes.rlim_cur < 64)
		doctor_say(d, DOCTOR_WARN, "processes", "raise it: ulimit -u 4096",
			   "this user may have %llu", (unsigned long long)processes.rlim_cur);
}

/* --- containers ------------------------------------------------------------------------------ */

static void check_groups(struct doctor *d)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)
		doctor_say(d, DOCTOR_OK, "control groups", NULL, "version 2");
	else if (access("/sys/fs/cgroup/memory", X_OK) == 0)
		doctor_say(d, DOCTOR_OK, "control groups", NULL,
			   "cgroup v1: per-pod disk usage is less accurate");
	else
		doctor_say(d, DOCTOR_WARN, "control groups",
			   "mount them at /sys/fs/cgroup; hollow nodes do not need them",
			   "not found");
}

static void check_runtime(struct doctor *d)
{
	const char *endpoint = NULL, *what = "";
	struct error err;

	if (up_check_runtime(d->cli, d->runtime_endpoint, &endpoint, &what, &err) < 0)
		doctor_say(d, DOCTOR_WARN, "containers", NULL, "%s", err.msg);
	else
		doctor_say(d, DOCTOR_OK, "containers", NULL, "%s at %s", what, endpoint);
}

/* --- kubectl --------------------------------------------------------------------------------- */

struct kubectl {
	struct doctor *doctor;
	struct loop *loop;
};

static int64_t minor_of(struct str version)
{
	struct str rest = str_skip(version, 1), major, minor;
	int64_t n = 0;

	if (str_split(&rest, '.', &major) && str_split(&rest, '.', &minor))
		(void)str_to_i64(minor, &n);
	return n;
}

static void on_kubectl(void *arg, const struct program_end *end)
{
	const struct kubectl *k = arg;
	struct doctor *d = k->doctor;
	struct json *tree = NULL;
	struct str version;

	(void)json_parse(d->arena, arena_str(d->arena, end->out), NULL, &tree, NULL);
	version = json_text_at(json_getz(tree, "clientVersion"), "gitVersion");
	if (end->status != 0 || version.n == 0)
		doctor_say(d, DOCTOR_WARN, "kubectl", "reinstall it", "it does not work: %.*s",
			   STR_ARG(program_last_line(end->err)));
	else if (minor_of(version) < KUBECTL_OLDEST)
		doctor_say(d, DOCTOR_WARN, "kubectl",
			   "install a newer one, which knows more kinds, or use `devplane get`",
			   "%.*s is old", STR_ARG(version));
	else
		doctor_say(d, DOCTOR_OK, "kubectl", NULL, "%.*s", STR_ARG(version));
	loop_stop(k->loop);
}

static void machine_on_last(struct loop_timer *t)
{
	loop_stop(t->loop);
}

static void check_kubectl(struct doctor *d)
{
	static const char *const argv[] = { "kubectl", "version", "--client", "-o", "json", NULL };
	struct kubectl k = { .doctor = d };
	struct program_opts o = { .argv = argv,
				  .output_max = 16 * KIB,
				  .timeout_ms = KUBECTL_MS,
				  .on_end = on_kubectl,
				  .arg = &k };
	struct program *p = NULL;
	struct loop_timer last;

	if (loop_new(&k.loop, NULL) < 0)
		return;
	if (program_new(k.loop, &o, &p, NULL) < 0)
		doctor_say(d, DOCTOR_WARN, "kubectl",
			   "install it, or use `devplane get`, `describe` and `apply`",
			   "it is not in $PATH");
	else
		loop_run(k.loop);
	program_free(p);
	loop_timer_init(&last, k.loop, machine_on_last);
	loop_timer_start(&last, 0);
	loop_run(k.loop);
	loop_free(k.loop);
}

static void check_plugin(struct doctor *d)
{
	const char *path = up_check_plugin(d->arena, "disk_io");

	if (path)
		doctor_say(d, DOCTOR_OK, "disk plugin", NULL, "%s", path);
	else
		doctor_say(d, DOCTOR_WARN, "disk plugin",
			   "`make install` puts it into lib/devplane/scheduler",
			   "disk_io.so was not found: the scheduler ignores disk bandwidth");
}

void doctor_check_machine(struct doctor *d)
{
	check_limits(d);
	check_groups(d);
	check_runtime(d);
	check_kubectl(d);
	check_plugin(d);
}

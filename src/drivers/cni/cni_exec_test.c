/*
 * Plugins that are real (Debian's containernetworking-plugins, in network namespaces of this
 * process's own) and ones that misbehave, which are shell scripts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "drivers/cni/cni_exec.h"
#include "drivers/drivers_limits.h"
#include "net/loop/loop.h"

#define REAL "/usr/lib/cni"

struct world {
	char dir[64]; /* of scripts and of what plugins remember */
	struct loop *loop;
	struct arena arena;
	struct cni_exec *exec;
	struct cni_exec_opts opts;
	bool free_in_callback;

	int done;
	struct buf result; /* printed */
	struct error err; /* ERR_OK: none */
};

static void on_done(void *arg, const struct json *result, const struct error *err)
{
	struct world *w = arg;

	w->done++;
	if (result)
		assert_int_equal(json_print(&w->result, result, NULL), 0);
	w->err = err ? *err : (struct error){ 0 };
	if (w->free_in_callback) {
		cni_exec_free(w->exec);
		w->exec = NULL;
	}
	loop_stop(w->loop);
}

static int set_up(void **state)
{
	struct world *w = XNEW(struct world);

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/cni-exec-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	arena_init(&w->arena, CNI_WORK_MAX);
	buf_init(&w->result, CNI_OUTPUT_MAX);
	w->opts = (struct cni_exec_opts){ .command = CNI_ADD,
					  .container_id = "c1",
					  .netns = "/var/run/netns/none",
					  .ifname = "net1",
					  .path = w->dir,
					  .pod_uid = "u1",
					  .pod_name = "p1",
					  .pod_namespace = "ns1",
					  .on_done = on_done,
					  .arg = w };
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	cni_exec_free(w->exec);
	loop_free(w->loop);
	arena_release(&w->arena);
	buf_release(&w->result);
	/* Plugins make folders of their own. */
	folder_fixture_remove(w->dir);
	free(w);
	return 0;
}

static void script(struct world *w, const char *name, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	assert_int_equal(file_write_atomic(path, str_from(text), 0755, NULL), 0);
}

static struct json *tree(struct world *w, const char *text)
{
	struct json *v;
	struct error err;

	if (json_parse(&w->arena, arena_str(&w->arena, str_from(text)), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return v;
}

/* Runs it to its end. */
static void run(struct world *w, const char *config)
{
	struct error err;

	cni_exec_free(w->exec);
	w->done = 0;
	buf_clear(&w->result);
	w->opts.config = tree(w, config);
	if (cni_exec_new(w->loop, &w->opts, &w->exec, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(w->done, 0);
	loop_run(w->loop);
	assert_int_equal(w->done, 1);
}

static void run_well(struct world *w, const char *config)
{
	run(w, config);
	if (w->err.code != ERR_OK)
		fail_msg("%s", w->err.msg);
}

/* --- environment and input ---------------------------------------------------------------- */

#define TELL                                                                           \
	"#!/bin/sh\n"                                                                  \
	"printf '{\"env\":\"%s|%s|%s|%s|%s|%s|%s\",\"in\":' \"$CNI_COMMAND\" "         \
	"\"$CNI_CONTAINERID\" \"$CNI_NETNS\" \"$CNI_IFNAME\" \"$CNI_ARGS\" \"$KEPT\" " \
	"\"$CNI_LEFTOVER\"; cat; echo '}'\n"

static void a_plugin_is_told_as_the_specification_says(void **state)
{
	struct world *w = *state;

	script(w, "tell", TELL);
	assert_int_equal(setenv("KEPT", "kept", 1), 0);
	assert_int_equal(setenv("CNI_LEFTOVER", "left", 1), 0);
	assert_int_equal(setenv("CNI_COMMAND", "DEL", 1), 0);
	run_well(w, "{\"type\":\"tell\",\"capabilities\":{\"ips\":true},\"x\":[1]}");
	assert_string_equal(w->result.p,
			    "{\"env\":\"ADD|c1|/var/run/netns/none|net1|IgnoreUnknown=1;"
			    "K8S_POD_NAMESPACE=ns1;K8S_POD_NAME=p1;K8S_POD_INFRA_CONTAINER_ID=c1;"
			    "K8S_POD_UID=u1|kept|\",\"in\":{\"type\":\"tell\",\"x\":[1],"
			    "\"cniVersion\":\"0.4.0\",\"name\":\"devplane\"}}");
	w->opts.pod_uid = "";
	w->opts.pod_name = NULL;
	w->opts.network = "blue";
	w->opts.prev_result = tree(w, "{\"ips\":[]}");
	run_well(w, "{\"type\":\"tell\",\"cniVersion\":\"1.0.0\",\"prevResult\":{\"old\":1}}");
	assert_non_null(strstr(w->result.p, "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns1;"
					    "K8S_POD_INFRA_CONTAINER_ID=c1|"));
	assert_non_null(strstr(w->result.p, "\"in\":{\"type\":\"tell\",\"cniVersion\":\"1.0.0\","
					    "\"name\":\"blue\",\"prevResult\":{\"ips\":[]}}}"));
	(void)unsetenv("CNI_COMMAND");
	(void)unsetenv("CNI_LEFTOVER");
}

static void a_long_configuration_and_a_long_result_pass(void **state)
{
	enum { LONG = 500000 };
	CLEANUP(buf_release) struct buf config = BUF_INIT(MIB);
	struct world *w = *state;

	script(w, "echo", "#!/bin/sh\ncat\n");
	(void)buf_addz(&config, "{\"type\":\"echo\",\"long\":\"");
	for (size_t i = 0; i < LONG; i++)
		(void)buf_addc(&config, 'x');
	(void)buf_addz(&config, "\"}");
	run_well(w, config.p);
	assert_in_range(w->result.n, LONG, LONG + 200);
}

/* --- plugins that fail -------------------------------------------------------------------- */

static void a_failure_has_the_plugins_own_message(void **state)
{
	static const struct {
		const char *text, *message;
		enum error_code code;
	} v[] = {
		{ "echo '{\"code\":7,\"msg\":\"no mode\",\"details\":\"x\"}'; exit 1",
		  "bad: no mode; x", ERR_INVALID },
		{ "echo some log >&2; echo oops >&2; echo >&2; exit 3", "bad: oops", ERR_INTERNAL },
		{ "exit 3", "bad: it failed with status 3 and said nothing", ERR_INTERNAL },
		{ "kill -KILL $$", "bad: it was ended by signal 9", ERR_INTERNAL },
		{ "echo hello; exit 1", "bad: hello", ERR_INTERNAL },
		{ "echo '[]'", "bad: its result is not an object", ERR_PROTOCOL },
	};
	struct world *w = *state;
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		(void)snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", v[i].text);
		script(w, "bad", text);
		run(w, "{\"type\":\"bad\"}");
		assert_string_equal(w->err.msg, v[i].message);
		assert_int_equal(w->err.code, v[i].code);
		assert_int_equal(w->result.n, 0);
	}
	script(w, "bad", "#!/bin/sh\necho hello\n");
	run(w, "{\"type\":\"bad\"}");
	assert_memory_equal(w->err.msg, "bad: its result cannot be read: ", 32);
	/* Where no result is wanted its output does not matter. */
	w->opts.command = CNI_DEL;
	run_well(w, "{\"type\":\"bad\"}");
	assert_int_equal(w->result.n, 0);
}

static void a_plugin_that_cannot_run_fails_at_once(void **state)
{
	struct world *w = *state;
	struct error err;
	char wanted[256];

	w->opts.config = tree(w, "{\"type\":\"none\"}");
	w->opts.path = "/nowhere::/usr/lib";
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, &err), -ERR_NOT_FOUND);
	assert_string_equal(err.msg, "no CNI plugin \"none\" in /nowhere::/usr/lib");
	w->opts.config = tree(w, "{\"type\":\"../bin/sh\"}");
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, &err), -ERR_INVALID);
	w->opts.config = tree(w, "{}");
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "type: must be the name of a CNI plugin");
	w->opts.path = w->dir;
	w->opts.config = tree(w, "{\"type\":\"text\"}");
	script(w, "text", "#!/no/such/shell\n");
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, &err), -ERR_NOT_FOUND);
	(void)snprintf(wanted, sizeof(wanted), "text: %s/text: No such file or directory", w->dir);
	assert_string_equal(err.msg, wanted);
	assert_null(w->exec);
}

static void a_plugin_that_hangs_is_killed(void **state)
{
	struct world *w = *state;

	script(w, "hang", "#!/bin/sh\nexec sleep 1000\n");
	w->opts.timeout_ms = 20;
	run(w, "{\"type\":\"hang\"}");
	assert_string_equal(w->err.msg, "hang: no answer within 20 ms; it was killed");
	assert_int_equal(w->err.code, ERR_TIMEOUT);
	/* So is who prints without end. */
	script(w, "hang", "#!/bin/sh\nexec yes\n");
	run(w, "{\"type\":\"hang\"}");
	assert_int_equal(w->err.code, ERR_TIMEOUT);
}

/* Its pid, once it has written it. */
static bool read_pid(const struct world *w, int *ret_pid)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/pid", w->dir);
	if (file_read(path, &text, NULL) < 0)
		return false;
	*ret_pid = (int)strtol(text.p, NULL, 10);
	return true;
}

struct ending {
	struct loop_timer tick;
	int pid;
};

/* It has ended; whether anybody has collected it does not matter. */
static bool is_over(int pid)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return file_read(path, &text, NULL) < 0 || strstr(text.p, ") Z ");
}

static void on_tick(struct loop_timer *t)
{
	struct ending *e = CONTAINER_OF(t, struct ending, tick);

	if (is_over(e->pid))
		loop_stop(t->loop);
	else
		loop_timer_start(t, 1);
}

static void wait_for_end(struct world *w, int pid)
{
	struct ending e = { .pid = pid };

	loop_timer_init(&e.tick, w->loop, on_tick);
	loop_timer_start(&e.tick, 0);
	loop_run(w->loop);
}

static void freeing_kills_what_still_runs(void **state)
{
	struct world *w = *state;
	char text[256];
	int pid = 0;

	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\necho $$ > %s/tmp; mv %s/tmp %s/pid; exec sleep 1000\n", w->dir,
		       w->dir, w->dir);
	script(w, "hang", text);
	w->opts.config = tree(w, "{\"type\":\"hang\"}");
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, NULL), 0);
	while (!read_pid(w, &pid))
		(void)sched_yield();
	cni_exec_free(w->exec);
	w->exec = NULL;
	/* The loop collects it: there is no zombie. */
	wait_for_end(w, pid);
	while (kill(pid, 0) == 0)
		wait_for_end(w, pid);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(w->done, 0);
}

static void a_plugin_that_hangs_is_killed_with_its_children(void **state)
{
	struct world *w = *state;
	char text[256];
	int pid = 0;

	(void)snprintf(text, sizeof(text),
		       "#!/bin/sh\nsleep 1000 &\necho $! > %s/tmp; mv %s/tmp %s/pid; wait\n",
		       w->dir, w->dir, w->dir);
	script(w, "hang", text);
	w->opts.config = tree(w, "{\"type\":\"hang\"}");
	w->opts.timeout_ms = 60000;
	assert_int_equal(cni_exec_new(w->loop, &w->opts, &w->exec, NULL), 0);
	while (!read_pid(w, &pid))
		(void)sched_yield();
	assert_false(is_over(pid));
	cni_exec_free(w->exec);
	w->exec = NULL;
	wait_for_end(w, pid);

	/* By the time-out, too; it may come before the plugin has got so far. */
	(void)snprintf(text, sizeof(text), "%s/pid", w->dir);
	assert_int_equal(unlink(text), 0);
	for (w->opts.timeout_ms = 50; !read_pid(w, &pid); w->opts.timeout_ms *= 2) {
		run(w, "{\"type\":\"hang\"}");
		assert_int_equal(w->err.code, ERR_TIMEOUT);
	}
	wait_for_end(w, pid);
}

static void it_may_be_freed_when_it_is_done(void **state)
{
	struct world *w = *state;

	w->free_in_callback = true;
	script(w, "quick", "#!/bin/sh\necho '{}'\n");
	run_well(w, "{\"type\":\"quick\"}");
	assert_null(w->exec);
	assert_string_equal(w->result.p, "{}");
}

/* --- real plugins ------------------------------------------------------------------------- */

/* Two namespaces: this process's own from now on, and the pod's, by its path. */
static bool make_namespaces(char *path, size_t size)
{
	int fd;

	if (access(REAL "/ptp", X_OK) < 0 || access(REAL "/host-local", X_OK) < 0) {
		print_message("skipped: there are no CNI plugins in " REAL "\n");
		return false;
	}
	if (unshare(CLONE_NEWNET) < 0) {
		print_message("skipped: no network namespace: %s\n", strerrordesc_np(errno));
		return false;
	}
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(fd > 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	(void)snprintf(path, size, "/proc/%d/fd/%d", (int)getpid(), fd);
	return true;
}

static void real_plugins_add_check_and_delete(void **state)
{
	struct world *w = *state;
	char netns[64], config[512];
	struct json *result;

	if (!make_namespaces(netns, sizeof(netns)))
		skip();
	w->opts.netns = netns;
	w->opts.path = "/nowhere:" REAL;
	run_well(w, "{\"type\":\"loopback\"}");
	assert_non_null(strstr(w->result.p, "\"name\":\"lo\""));
	(void)snprintf(config, sizeof(config),
		       "{\"type\":\"ptp\",\"ipam\":{\"type\":\"host-local\",\"dataDir\":\"%s\","
		       "\"subnet\":\"192.0.2.0/28\"}}",
		       w->dir);
	run_well(w, config);
	result = tree(w, w->result.p);
	assert_true(str_eqz(cni_result_interface(result), "net1"));
	assert_non_null(strstr(w->result.p, "\"address\":\"192.0.2.2/28\""));
	w->opts.prev_result = result;
	w->opts.command = CNI_CHECK;
	run_well(w, config);
	w->opts.command = CNI_DEL;
	run_well(w, config);
	w->opts.command = CNI_CHECK;
	run(w, config);
	assert_string_equal(w->err.msg,
			    "ptp: host-local: Failed to find address added by container c1");
	w->opts.command = CNI_ADD;
	w->opts.prev_result = NULL;
	run(w, "{\"type\":\"macvlan\",\"master\":\"none0\",\"ipam\":{}}");
	assert_string_equal(w->err.msg, "macvlan: Link not found");
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(a_plugin_is_told_as_the_specification_says),
		IN_WORLD(a_long_configuration_and_a_long_result_pass),
		IN_WORLD(a_failure_has_the_plugins_own_message),
		IN_WORLD(a_plugin_that_cannot_run_fails_at_once),
		IN_WORLD(a_plugin_that_hangs_is_killed),
		IN_WORLD(freeing_kills_what_still_runs),
		IN_WORLD(a_plugin_that_hangs_is_killed_with_its_children),
		IN_WORLD(it_may_be_freed_when_it_is_done),
		IN_WORLD(real_plugins_add_check_and_delete),
	};

	return cmocka_run_group_tests_name("drivers/cni_exec", tests, NULL, NULL);
}

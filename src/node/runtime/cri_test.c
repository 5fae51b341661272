/*
 * The CRI client against a fake runtime, both in one simulated world.
 */
#include "node/runtime/cri.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/system/file.h"
#include "node/runtime/cri_impl.h"
#include "node/runtime/cri_world.h"

/* Results that the caller got. */
struct told {
	unsigned done;
	char id[64], text[128];
	struct error err;
	unsigned npods;
	struct runtime_condition condition;
	int exit_code;
};

struct world {
	struct cri_world cri;
	struct told told;
	struct runtime_pod *seen; /* the first of the last list; or NULL */
};

static int setup(void **state)
{
	struct world *w = XNEW(struct world);

	cri_world_init(&w->cri);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cri_world_release(&w->cri);
	free(w);
	return 0;
}

/* --- callbacks ------------------------------------------------------------------------------ */

static void note(struct world *w, const struct error *err)
{
	w->told.done++;
	w->told.err = err ? *err : (struct error){ 0 };
}

static void told_done(void *arg, const struct error *err)
{
	note(arg, err);
}

static void told_id(void *arg, struct str id, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	(void)snprintf(w->told.id, sizeof(w->told.id), "%.*s", STR_ARG(id));
}

static void told_pods(void *arg, const struct runtime_pods *pods, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	w->told.npods = pods ? (unsigned)pods->n : 0;
	w->seen = pods && pods->n > 0 ? runtime_pod_copy(&w->cri.a, &pods->v[0]) : NULL;
}

static void told_exec(void *arg, const struct runtime_exec *x, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	w->told.exit_code = x ? x->exit_code : -1;
	if (x)
		(void)snprintf(w->told.text, sizeof(w->told.text), "%.*s", STR_ARG(x->out));
}

static void told_image(void *arg, const struct runtime_image *i, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	(void)snprintf(w->told.text, sizeof(w->told.text), "%.*s user=%d name=%.*s",
		       STR_ARG(i ? i->ref : STR_NULL), i ? (int)i->user : -2,
		       STR_ARG(i ? i->username : STR_NULL));
}

static void told_condition(void *arg, const struct runtime_condition *c, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	if (!c)
		return;
	w->told.condition = *c;
	(void)snprintf(w->told.text, sizeof(w->told.text), "%.*s", STR_ARG(c->message));
	(void)snprintf(w->told.id, sizeof(w->told.id), "%.*s %.*s", STR_ARG(c->name),
		       STR_ARG(c->version));
}

static void await(struct world *w)
{
	unsigned before = w->told.done;

	cri_world_settle(&w->cri);
	assert_int_equal(w->told.done, before + 1);
}

static void list(struct world *w)
{
	w->cri.runtime->ops->list(w->cri.runtime, told_pods, w);
	await(w);
	assert_int_equal(w->told.err.code, 0);
}

static struct sandbox_spec sandbox_spec(struct world *w)
{
	return (struct sandbox_spec){
		.uid = STR("u1"),
		.ns = STR("ns"),
		.name = STR("pod"),
		.log_dir = str_from(arena_printf(&w->cri.a, "%s/logs/ns_pod_u1", w->cri.root)),
		.security = { .run_as_user = -1, .run_as_group = 0 },
	};
}

static void make_sandbox(struct world *w)
{
	struct sandbox_spec s = sandbox_spec(w);

	w->cri.runtime->ops->run_sandbox(w->cri.runtime, &s, told_id, w);
	await(w);
	assert_int_equal(w->told.err.code, 0);
}

static void make_container(struct world *w, const char *policy)
{
	struct sandbox_spec s = sandbox_spec(w);
	struct runtime_pair labels[] = { { STR("io.kubernetes.pod.uid"), STR("u1") },
					 { STR("io.kubernetes.pod.name"), STR("pod") },
					 { STR("io.kubernetes.pod.namespace"), STR("ns") },
					 { STR("io.kubernetes.container.name"), STR("main") } };
	struct runtime_pair notes[] = { { STR("io.kubernetes.container.hash"), STR("beef") },
					{ STR(RUNTIME_PLUGIN_DEVICES), STR("{}") },
					{ STR("io.kubernetes.container.terminationMessagePath"),
					  STR("/dev/termination-log") },
					{ STR("io.kubernetes.container.terminationMessagePolicy"),
					  str_from(policy) } };
	struct str command[] = { STR("/bin/true") };
	struct runtime_device device = { STR("/dev/x"), STR("/dev/null"), STR("rw") };
	struct container_spec c = { .name = STR("main"),
				    .attempt = 2,
				    .image = STR("sha256:def"),
				    .command = { command, 1 },
				    .devices = &device,
				    .ndevices = 1,
				    .labels = { labels, 4 },
				    .annotations = { notes, 4 },
				    .log_path = STR("main/2.log"),
				    .limits = { .cpu_shares = 102 },
				    .security = { .run_as_user = 0,
						  .run_as_group = -1,
						  .seccomp = STR("RuntimeDefault"),
						  .apparmor = STR("prof") } };

	w->cri.runtime->ops->create(w->cri.runtime, STR("s0"), &s, &c, told_id, w);
	await(w);
	assert_int_equal(w->told.err.code, 0);
	assert_string_equal(w->told.id, arena_printf(&w->cri.a, "c%zu", w->cri.ncontainers - 1));
	w->cri.runtime->ops->start(w->cri.runtime, str_from(w->told.id), told_done, w);
	await(w);
}

/* --- tests ---------------------------------------------------------------------------------- */

static void a_container_is_created_as_the_spec_says(void **state)
{
	struct world *w = *state;
	const Cri__ContainerConfig *c;
	struct stat st;

	make_sandbox(w);
	assert_string_equal(w->told.id, "s0");
	assert_null(w->cri.sandboxes[0].config->linux_config->security_context->run_as_user);
	assert_int_equal(
		w->cri.sandboxes[0].config->linux_config->security_context->run_as_group->value, 0);
	make_container(w, "File");
	c = w->cri.containers[0].config;
	assert_string_equal(c->command[0], "/bin/true");
	assert_int_equal(c->metadata->attempt, 2);
	assert_string_equal(c->devices[0]->host_path, "/dev/null");
	assert_int_equal(c->linux_config->resources->cpu_shares, 102);
	assert_int_equal(c->linux_config->security_context->run_as_user->value, 0);
	assert_null(c->linux_config->security_context->run_as_group);
	assert_string_equal(c->linux_config->security_context->apparmor->localhost_ref, "prof");
	assert_string_equal(c->linux_config->security_context->apparmor_profile, "localhost/prof");
	assert_int_equal(stat(arena_printf(&w->cri.a, "%s/logs/ns_pod_u1/main", w->cri.root), &st),
			 0);
}

static void the_list_shows_pods_with_all_that_is_known(void **state)
{
	struct world *w = *state;

	make_sandbox(w);
	make_container(w, "File");
	list(w);
	assert_int_equal(w->told.npods, 1);
	assert_true(str_eqz(w->seen->uid, "u1"));
	assert_true(str_eqz(w->seen->ns, "ns"));
	assert_int_equal(w->seen->nsandboxes, 1);
	assert_true(w->seen->sandboxes[0].ready);
	assert_true(str_eqz(w->seen->sandboxes[0].ips[0], "10.0.0.5"));
	assert_int_equal(w->seen->ncontainers, 1);
	assert_int_equal(w->seen->containers[0].state, RUNTIME_RUNNING);
	assert_true(str_eqz(w->seen->containers[0].name, "main"));
	assert_true(str_eqz(w->seen->containers[0].hash, "beef"));
	assert_true(str_eqz(w->seen->containers[0].devices, "{}"));
	assert_true(str_eqz(w->seen->containers[0].image_id, "sha256:abc"));
	assert_int_equal(w->seen->containers[0].attempt, 2);
	assert_int_equal(w->seen->containers[0].started_ns, 3000);
}

static void idle_costs_two_lists_a_period_and_no_status(void **state)
{
	struct world *w = *state;
	unsigned statuses, lists, changes;

	make_sandbox(w);
	make_container(w, "File");
	list(w);
	cri_world_run(&w->cri, 3000);
	statuses = w->cri.calls[CRI_CONTAINER_STATUS] + w->cri.calls[CRI_SANDBOX_STATUS];
	lists = w->cri.calls[CRI_LIST_CONTAINERS];
	changes = w->cri.changes;
	assert_true(changes > 0);
	cri_world_run(&w->cri, 10000);
	assert_in_range(w->cri.calls[CRI_LIST_CONTAINERS] - lists, 9, 10);
	assert_int_equal(w->cri.calls[CRI_CONTAINER_STATUS] + w->cri.calls[CRI_SANDBOX_STATUS],
			 statuses);
	assert_int_equal(w->cri.changes, changes);
}

static void a_change_is_told_once_and_a_fresh_list_costs_nothing(void **state)
{
	struct world *w = *state;
	unsigned changes, lists;

	make_sandbox(w);
	make_container(w, "File");
	list(w);
	changes = w->cri.changes;
	w->cri.containers[0].state = RUNTIME_EXITED;
	w->cri.containers[0].exit_code = 9;
	w->cri.changed[0] = '\0';
	cri_world_run(&w->cri, 1200);
	assert_int_equal(w->cri.changes, changes + 1);
	assert_string_equal(w->cri.changed, "u1");
	lists = w->cri.calls[CRI_LIST_CONTAINERS];
	w->cri.runtime->ops->list(w->cri.runtime, told_pods, w);
	w->cri.runtime->ops->list(w->cri.runtime, told_pods, w);
	cri_world_settle(&w->cri);
	assert_int_equal(w->cri.calls[CRI_LIST_CONTAINERS], lists);
	assert_int_equal(w->seen->containers[0].state, RUNTIME_EXITED);
	assert_int_equal(w->seen->containers[0].exit_code, 9);
	assert_true(str_eqz(w->seen->containers[0].reason, "Error"));
}

static void after_a_verb_the_list_looks_anew(void **state)
{
	struct world *w = *state;

	make_sandbox(w);
	make_container(w, "File");
	list(w);
	w->cri.runtime->ops->stop(w->cri.runtime, STR("c0"), 12, told_done, w);
	await(w);
	assert_int_equal(w->cri.stop_timeout, 12);
	list(w);
	assert_int_equal(w->seen->containers[0].state, RUNTIME_EXITED);
	assert_int_equal(w->seen->containers[0].exit_code, 143);
	w->cri.runtime->ops->remove(w->cri.runtime, STR("c0"), told_done, w);
	await(w);
	w->cri.runtime->ops->stop_sandbox(w->cri.runtime, STR("s0"), told_done, w);
	await(w);
	list(w);
	assert_int_equal(w->seen->ncontainers, 0);
	assert_false(w->seen->sandboxes[0].ready);
	assert_int_equal(w->seen->sandboxes[0].nips, 1); /* still known */
	w->cri.runtime->ops->remove_sandbox(w->cri.runtime, STR("s0"), told_done, w);
	await(w);
	list(w);
	assert_int_equal(w->told.npods, 0);
}

static void the_termination_message_is_read(void **state)
{
	struct world *w = *state;

	w->cri.mount_host = arena_printf(&w->cri.a, "%s/message", w->cri.root);
	assert_int_equal(file_write_atomic(w->cri.mount_host, STR("out of \xff luck"), 0600, NULL),
			 0);
	make_sandbox(w);
	make_container(w, "File");
	w->cri.containers[0].state = RUNTIME_EXITED;
	list(w);
	assert_true(str_eqz(w->seen->containers[0].message, "out of \xef\xbf\xbd luck"));
}

static void the_log_stands_in_after_a_failure(void **state)
{
	struct world *w = *state;

	w->cri.log_path = arena_printf(&w->cri.a, "%s/log", w->cri.root);
	assert_int_equal(file_write_atomic(w->cri.log_path,
					   STR("2024-01-01T00:00:00Z stdout F one\n"
					       "2024-01-01T00:00:00Z stderr P tw\n"
					       "2024-01-01T00:00:00Z stderr F o\n"),
					   0600, NULL),
			 0);
	make_sandbox(w);
	make_container(w, "FallbackToLogsOnError");
	w->cri.containers[0].state = RUNTIME_EXITED;
	w->cri.containers[0].exit_code = 1;
	list(w);
	assert_true(str_eqz(w->seen->containers[0].message, "one\ntwo\n"));
}

static void a_status_that_fails_hides_nothing_else(void **state)
{
	struct world *w = *state;

	make_sandbox(w);
	make_container(w, "File");
	w->cri.fail_method = CRI_CONTAINER_STATUS;
	w->cri.fail_code = GRPC_UNKNOWN;
	w->cri.fail_text = "stuck";
	list(w);
	assert_int_equal(w->seen->nsandboxes, 1);
	assert_int_equal(w->seen->containers[0].state, RUNTIME_UNKNOWN);
	w->cri.fail_method = -1;
	cri_world_run(&w->cri, 1200);
	list(w);
	assert_int_equal(w->seen->containers[0].state, RUNTIME_RUNNING);
}

static void a_container_that_vanished_meanwhile_is_not_listed(void **state)
{
	struct world *w = *state;

	make_sandbox(w);
	make_container(w, "File");
	w->cri.fail_method = CRI_CONTAINER_STATUS;
	w->cri.fail_code = GRPC_NOT_FOUND;
	w->cri.fail_text = "no such container";
	list(w);
	assert_int_equal(w->seen->ncontainers, 0);
}

static void a_list_that_fails_is_told_and_tried_again(void **state)
{
	struct world *w = *state;

	cri_world_settle(&w->cri);
	w->cri.fail_method = CRI_LIST_SANDBOXES;
	w->cri.fail_code = GRPC_UNKNOWN;
	w->cri.fail_text = "no way";
	make_sandbox(w);
	w->cri.runtime->ops->list(w->cri.runtime, told_pods, w);
	await(w);
	assert_string_equal(w->told.err.msg, "no way");
	w->cri.fail_method = -1;
	list(w);
	assert_int_equal(w->told.npods, 1);
}

static void failures_bear_the_runtimes_words(void **state)
{
	struct world *w = *state;
	struct sandbox_spec s = sandbox_spec(w);

	w->cri.fail_method = CRI_RUN_SANDBOX;
	w->cri.fail_code = GRPC_UNKNOWN;
	w->cri.fail_text = "failed to set up sandbox container";
	w->cri.runtime->ops->run_sandbox(w->cri.runtime, &s, told_id, w);
	await(w);
	assert_string_equal(w->told.err.msg, "failed to set up sandbox container");
	assert_string_equal(w->told.id, "");
	s.log_dir = STR("/proc/none/such");
	w->cri.runtime->ops->run_sandbox(w->cri.runtime, &s, told_id, w);
	await(w);
	assert_int_equal(w->told.err.code, ERR_IO);
	assert_int_equal(w->cri.calls[CRI_RUN_SANDBOX], 1);
}

static void images_are_named_as_upstream_names_them(void **state)
{
	struct world *w = *state;
	struct runtime_auth auth = { .username = STR("me"), .password = STR("pw") };

	w->cri.runtime->ops->image(w->cri.runtime, STR("busybox"), told_image, w);
	await(w);
	assert_string_equal(w->cri.image->image->image, "busybox:latest");
	assert_string_equal(w->told.text, "sha256:def user=0 name=");
	w->cri.with_user = true;
	w->cri.runtime->ops->image(w->cri.runtime, STR("busybox:1"), told_image, w);
	await(w);
	assert_string_equal(w->told.text, "sha256:def user=-1 name=worker");
	w->cri.runtime->ops->image(w->cri.runtime, STR("absent"), told_image, w);
	await(w);
	assert_string_equal(w->told.text, " user=0 name=");
	w->cri.runtime->ops->image(w->cri.runtime, STR("No Image"), told_image, w);
	await(w);
	assert_int_equal(w->told.err.code, ERR_INVALID);
	w->cri.runtime->ops->pull(w->cri.runtime, STR("a.b/c"), &auth, NULL, told_id, w);
	await(w);
	assert_string_equal(w->told.id, "sha256:def");
	assert_string_equal(w->cri.pull->image->image, "a.b/c:latest");
	assert_string_equal(w->cri.pull->auth->username, "me");
}

static void exec_tells_output_and_code_or_that_it_took_too_long(void **state)
{
	struct world *w = *state;
	struct str words[] = { STR("/bin/echo"), STR("x") };
	struct runtime_strs command = { words, 2 };

	w->cri.runtime->ops->exec(w->cri.runtime, STR("c0"), &command, 1500, told_exec, w);
	await(w);
	assert_int_equal(w->told.exit_code, 3);
	assert_string_equal(w->told.text, "/bin/echo");
	assert_int_equal(w->cri.exec_timeout, 2);
	w->cri.fail_method = CRI_EXEC;
	w->cri.fail_code = GRPC_DEADLINE_EXCEEDED;
	w->cri.fail_text = "timeout 1s exceeded";
	w->cri.runtime->ops->exec(w->cri.runtime, STR("c0"), &command, 1000, told_exec, w);
	await(w);
	assert_int_equal(w->told.err.code, ERR_TIMEOUT);
	w->cri.runtime->ops->reopen_log(w->cri.runtime, STR("c0"), told_done, w);
	await(w);
	assert_int_equal(w->told.err.code, 0);
}

static void streams_are_where_the_runtime_says(void **state)
{
	struct world *w = *state;
	struct runtime *r = w->cri.runtime;
	struct str word = STR("sh");
	int32_t port = 80;
	struct runtime_stream s = {
		.id = STR("c0"), .command = { &word, 1 }, .with_in = true, .with_err = true
	};

	r->ops->stream(r, &s, told_id, w);
	await(w);
	assert_string_equal(w->told.id, "http://127.0.0.1:1/exec/c0/sh/0101");
	s.kind = RUNTIME_STREAM_ATTACH;
	s.tty = s.with_out = true;
	s.with_err = false;
	r->ops->stream(r, &s, told_id, w);
	await(w);
	assert_string_equal(w->told.id, "http://127.0.0.1:1/attach/c0/1110");
	s = (struct runtime_stream){
		.kind = RUNTIME_STREAM_PORTS, .id = STR("s0"), .ports = &port, .nports = 1
	};
	r->ops->stream(r, &s, told_id, w);
	await(w);
	assert_string_equal(w->told.id, "http://127.0.0.1:1/portforward/s0/80");
}

static void a_container_that_runs_gets_other_cpus(void **state)
{
	struct world *w = *state;
	struct runtime_limits limits = { .cpus = STR("0,3-7") };

	make_sandbox(w);
	make_container(w, "File");
	w->cri.runtime->ops->update(w->cri.runtime, STR("c0"), &limits, told_done, w);
	await(w);
	assert_int_equal(w->told.err.code, 0);
	assert_string_equal(w->cri.containers[0].cpus, "0,3-7");
	w->cri.fail_method = CRI_UPDATE;
	w->cri.fail_code = GRPC_NOT_FOUND;
	w->cri.fail_text = "gone";
	w->cri.runtime->ops->update(w->cri.runtime, STR("c0"), &limits, told_done, w);
	await(w);
	assert_int_equal(w->told.err.code, ERR_NOT_FOUND);
}

static void the_condition_says_who_it_is_and_why_it_is_not_ready(void **state)
{
	struct world *w = *state;

	w->cri.config = "{\"enableCDI\":true}";
	w->cri.runtime->ops->condition(w->cri.runtime, told_condition, w);
	await(w);
	assert_true(w->told.condition.runtime_ready && w->told.condition.network_ready);
	assert_string_equal(w->told.id, "containerd 1.6.20");
	assert_true(w->told.condition.does_cdi);
	w->cri.network_down = true;
	w->cri.runtime->ops->condition(w->cri.runtime, told_condition, w);
	await(w);
	assert_true(w->told.condition.does_cdi);
	assert_false(w->told.condition.network_ready);
	assert_string_equal(w->told.text,
			    "container runtime network not ready: NetworkReady=false "
			    "reason:NetworkPluginNotReady message:cni plugin not initialized");
}

static void runtimes_with_cdi_are_known(void **state)
{
	static const struct {
		const char *name, *version, *config;
		bool does;
	} cases[] = {
		{ "containerd", "1.6.20~ds1", "{\"x\":1}", false },
		{ "containerd", "1.7.2", "{\"enableCDI\":false}", false },
		{ "containerd", "1.7.2", "{\"enableCDI\":true}", true },
		{ "containerd", "v2.0.1", "", true },
		{ "containerd", "v2.0.1", "{\"enableCDI\":false}", false },
		{ "cri-o", "1.27.9", "", false },
		{ "cri-o", "1.30.0", "", true },
		{ "other", "9.9", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cri_does_cdi(str_from(cases[i].name), str_from(cases[i].version),
					      str_from(cases[i].config)),
				 cases[i].does);
}

static void the_cgroup_driver_is_read_from_containerds_configuration(void **state)
{
#define RUNC(options) \
	"{\"containerd\":{\"defaultRuntimeName\":\"runc\",\"runtimes\":{\"runc\":{" options "}}}}"
	(void)state;
	assert_string_equal(cri_cgroup_driver(STR(RUNC("\"options\":{\"SystemdCgroup\":true}"))),
			    "systemd");
	assert_string_equal(cri_cgroup_driver(STR(RUNC("\"options\":{\"SystemdCgroup\":false}"))),
			    "cgroupfs");
	assert_string_equal(cri_cgroup_driver(STR(RUNC("\"options\":{}"))), "cgroupfs");
	assert_null(cri_cgroup_driver(STR(RUNC("\"options\":null"))));
	assert_null(cri_cgroup_driver(STR("{}")));
	assert_null(cri_cgroup_driver(STR("nonsense")));
#undef RUNC
}

static void freeing_it_ends_all_in_silence(void **state)
{
	struct world *w = *state;

	cri_world_settle(&w->cri);
	w->cri.hold_method = CRI_LIST_SANDBOXES;
	cri_world_run(&w->cri, 1500);
	w->cri.runtime->ops->list(w->cri.runtime, told_pods, w);
	w->cri.runtime->ops->condition(w->cri.runtime, told_condition, w);
	w->cri.runtime->ops->image(w->cri.runtime, STR("No Image"), told_image, w);
	runtime_free(TAKE(w->cri.runtime));
	cri_world_settle(&w->cri);
	assert_int_equal(w->told.done, 0);
}

static void an_endpoint_must_be_an_address(void **state)
{
	struct world *w = *state;
	struct runtime_cri_opts opts = { .loop = w->cri.client_loop, .endpoint = "unix://" };
	struct runtime *r = NULL;
	struct error err;

	assert_true(runtime_cri_new(&opts, &r, &err) < 0);
	assert_non_null(strstr(err.msg, "endpoint"));
	opts.endpoint = "/run/fake.sock";
	assert_int_equal(runtime_cri_new(&opts, &r, &err), 0);
	runtime_free(r);
	cri_world_settle(&w->cri);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static void told_images(void *arg, const struct runtime_image_info *v, size_t n,
			const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	w->told.text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		size_t at = strlen(w->told.text);

		(void)snprintf(w->told.text + at, sizeof(w->told.text) - at, "%.*s%s ",
			       STR_ARG(v[i].id), v[i].pinned ? "!" : "");
	}
	if (n == 3) {
		assert_int_equal(v[2].size, INT64_MAX);
		assert_true(str_eqz(v[2].names[0], "x@sha256:7"));
	}
}

static void told_stats(void *arg, const struct runtime_usage *v, size_t n, const struct error *err)
{
	struct world *w = arg;

	note(w, err);
	assert_int_equal(n, err ? 0 : 2);
	if (n < 2)
		return;
	assert_true(str_eqz(v[0].pod_uid, "u1"));
	assert_int_equal(v[0].memory, 4096);
	assert_int_equal(v[0].disk, 512);
	assert_int_equal(v[0].inodes, -1);
	assert_int_equal(v[1].pod_uid.n, 0);
	assert_int_equal(v[1].memory, -1);
}

/* An old containerd only has the image of sandboxes in its configuration. */
static void images_and_usage_are_read(void **state)
{
	struct world *w = *state;
	struct runtime *r = w->cri.runtime;

	r->ops->images(r, told_images, w);
	await(w);
	assert_string_equal(w->told.text, "sha256:1 sha256:2! sha256:3 ");
	w->cri.config = "{\"sandboxImage\":\"pause:1\"}";
	w->cri.version = "1.6.30";
	r->ops->condition(r, told_condition, w);
	await(w);
	r->ops->images(r, told_images, w);
	await(w);
	assert_string_equal(w->told.text, "sha256:1! sha256:2! sha256:3 ");
	r->ops->image_fs(r, told_id, w);
	await(w);
	assert_string_equal(w->told.id, "/images");
	r->ops->remove_image(r, STR("sha256:3"), told_done, w);
	await(w);
	r->ops->stats(r, told_stats, w);
	await(w);
	assert_int_equal(w->cri.calls[CRI_STATS], 1);
	assert_int_equal(w->cri.calls[CRI_REMOVE_IMAGE], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_container_is_created_as_the_spec_says),
		CASE(the_list_shows_pods_with_all_that_is_known),
		CASE(idle_costs_two_lists_a_period_and_no_status),
		CASE(a_change_is_told_once_and_a_fresh_list_costs_nothing),
		CASE(after_a_verb_the_list_looks_anew),
		CASE(the_termination_message_is_read),
		CASE(the_log_stands_in_after_a_failure),
		CASE(a_status_that_fails_hides_nothing_else),
		CASE(a_container_that_vanished_meanwhile_is_not_listed),
		CASE(a_list_that_fails_is_told_and_tried_again),
		CASE(failures_bear_the_runtimes_words),
		CASE(images_are_named_as_upstream_names_them),
		CASE(exec_tells_output_and_code_or_that_it_took_too_long),
		CASE(streams_are_where_the_runtime_says),
		CASE(a_container_that_runs_gets_other_cpus),
		CASE(the_condition_says_who_it_is_and_why_it_is_not_ready),
		CASE(images_and_usage_are_read),
		cmocka_unit_test(runtimes_with_cdi_are_known),
		CASE(the_cgroup_driver_is_read_from_containerds_configuration),
		CASE(freeing_it_ends_all_in_silence),
		CASE(an_endpoint_must_be_an_address),
	};

	return cmocka_run_group_tests_name("node/runtime_cri", tests, NULL, NULL);
}

/*
 * Health checks of a hollow agent whose disk is full or whose runtime is silent, in a simulated
 * world with an empty API server.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/folder_fixture.h"
#include "client/testing/api_world.h"
#include "node/agent/agent_impl.h"
#include "node/host/saver.h"
#include "node/node_limits.h"
#include "node/plugins/plugins.h"

struct world {
	struct api_world api;
	char dir[32], root[64];
	struct saver *saver;
	struct agent *agent;
	const struct runtime_ops *ops; /* of the hollow runtime */
	struct runtime_ops silent;
	bool disk_full, stopped;
};

static int write_state(void *arg, const char *path, struct str content, struct error *err)
{
	const struct world *w = arg;

	if (w->disk_full)
		return error_set_errno(err, ERR_IO, ENOSPC, "cannot write %s", path);
	return file_write_atomic(path, content, 0600, err);
}

static struct world *world_new(void)
{
	struct world *w = XNEW(struct world);
	struct agent_opts o = { .node_name = "n1",
				.root_dir = w->root,
				.max_pods = 110,
				.hollow_cpus = 4,
				.hollow_memory = INT64_C(1) << 30,
				.hollow_numa = 1,
				.node_ip = "192.0.2.1" };
	struct error err;

	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/agent-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->root, sizeof(w->root), "%s/root", w->dir);
	api_world_init(&w->api, &(struct sim_opts){ .seed = 7 }, HTTP_PROTOCOL_2);
	assert_int_equal(saver_new_with(w->api.outside,
					&(struct saver_opts){ .inline_write = true,
							      .write = write_state,
							      .arg = w },
					&w->saver, &err),
			 0);
	gates_init(&o.gates);
	o.loop = w->api.outside;
	o.client = w->api.client;
	o.saver = w->saver;
	o.log = log_null();
	if (agent_new(&o, &w->agent, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

static void on_stopped(void *arg)
{
	((struct world *)arg)->stopped = true;
}

static void world_free(struct world *w)
{
	agent_stop(w->agent, on_stopped, w);
	sim_run_for(w->api.sim, 1000);
	assert_true(w->stopped);
	agent_free(w->agent);
	saver_free(w->saver);
	sim_run_for(w->api.sim, 100);
	api_world_release(&w->api);
	folder_fixture_remove(w->dir);
	free(w);
}

static void assert_check(const struct world *w, int result, const char *words)
{
	struct error err = { 0 };

	assert_int_equal(agent_check(w->agent, &err), result);
	if (!strstr(err.msg, words))
		fail_msg("%s", err.msg);
}

static void an_agent_that_cannot_save_is_not_healthy_until_it_can(void **state UNUSED)
{
	struct world *w = world_new();
	struct assign_device device = { .id = STR("d0"), .health = ASSIGN_HEALTHY };

	sim_run_for(w->api.sim, 1000);
	assert_check(w, 0, "");
	w->disk_full = true;
	assign_set_resource(w->agent->host.assign, STR("example.com/gpu"), &device, 1);
	sim_run_for(w->api.sim, 1000);
	assert_check(w, -ERR_IO, "the state of devices cannot be saved: cannot write");
	sim_run_for(w->api.sim, 60000);
	assert_check(w, -ERR_IO, "No space left");
	/* No caller requests a save. */
	w->disk_full = false;
	sim_run_for(w->api.sim, 6000);
	assert_check(w, 0, "");
	world_free(w);
}

static void on_saved(void *arg, const struct error *err)
{
	*(int *)arg = err ? -(int)err->code : 0;
}

/* Half of it would be worse than the older state, which stays in the file. */
static void state_that_is_too_large_is_not_saved(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf before = BUF_INIT(MIB), after = BUF_INIT(MIB);
	struct world *w = world_new();
	struct assign *assign = w->agent->host.assign;
	char *name = xmalloc(STATE_FILE_MAX);
	struct assign_claim claim = { .uid = STR("c"), .ns = STR("ns") };
	struct pod *pod;
	int saved = 1;

	memset(name, 'a', STATE_FILE_MAX);
	claim.name = str_of(name, STATE_FILE_MAX);
	assert_int_equal(pod_parse(STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\","
				       "\"uid\":\"u\"},\"spec\":{}}"),
				   &pod, NULL),
			 0);
	agent_save(w->agent, on_saved, &saved);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(saved, 0);
	assert_int_equal(file_read(w->agent->assign_path, &before, NULL), 0);
	assert_int_equal(assign_claim_use(assign, pod, STR("x"), &claim, NULL), 0);
	agent_save(w->agent, on_saved, &saved);
	sim_run_for(w->api.sim, 1000);
	assert_int_equal(saved, -ERR_TOO_LARGE);
	assert_check(w, -ERR_IO, "the state of devices cannot be saved: it is larger than 64 MiB");
	assert_int_equal(file_read(w->agent->assign_path, &after, NULL), 0);
	assert_true(str_eq(buf_str(&after), buf_str(&before)));
	/* No caller requests a save. */
	(void)assign_claim_unuse(assign, STR("c"), STR("u"));
	assign_claim_forget(assign, STR("c"));
	assign_forget_pod(assign, STR("u"));
	sim_run_for(w->api.sim, 6000);
	assert_check(w, 0, "");
	pod_unref(pod);
	free(name);
	world_free(w);
}

static void health_that_cannot_be_saved_counts_as_well(void **state UNUSED)
{
	struct plugin_health v = { .pool = STR("p"), .device = STR("d"), .timeout_s = 3600 };
	struct world *w = world_new();

	sim_run_for(w->api.sim, 1000);
	w->disk_full = true;
	agent_plugin_events.on_health(w->agent, STR("gpu.example.com"), &v, 1);
	sim_run_for(w->api.sim, 1000);
	assert_check(w, -ERR_IO, "the state of health cannot be saved");
	w->disk_full = false;
	sim_run_for(w->api.sim, 6000);
	assert_check(w, 0, "");
	world_free(w);
}

static void say_nothing(struct runtime *r UNUSED, runtime_condition_done *done UNUSED,
			void *arg UNUSED)
{
}

static void a_runtime_that_is_silent_for_minutes_is_told(void **state UNUSED)
{
	struct world *w = world_new();
	struct runtime *r = w->agent->host.runtime;

	sim_run_for(w->api.sim, 300 * 1000);
	assert_check(w, 0, "");
	w->ops = r->ops;
	w->silent = *r->ops;
	w->silent.condition = say_nothing;
	r->ops = &w->silent;
	sim_run_for(w->api.sim, 160 * 1000);
	assert_check(w, 0, "");
	sim_run_for(w->api.sim, 40 * 1000);
	assert_check(w, -ERR_UNAVAILABLE, "the container runtime has not answered for");
	r->ops = w->ops;
	loop_timer_start(&w->agent->condition_timer, 0); /* as if the reply came */
	sim_run_for(w->api.sim, 1000);
	assert_check(w, 0, "");
	world_free(w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_agent_that_cannot_save_is_not_healthy_until_it_can),
		cmocka_unit_test(state_that_is_too_large_is_not_saved),
		cmocka_unit_test(health_that_cannot_be_saved_counts_as_well),
		cmocka_unit_test(a_runtime_that_is_silent_for_minutes_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

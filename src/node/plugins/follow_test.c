/*
 * Beside a kubelet: drivers and device plugins that are registered with it have a second client,
 * which changes nothing in the kubelet's folders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "base/core/mem.h"
#include "node/plugins/plugins_world.h"

#define DRIVER "gpu.example.com"
#define GPU    "example.com/gpu"

static const char *const usual[] = { "v1.DRAPlugin", "v1.DRAResourceHealth",
				     "v1alpha1.DRAResourceHealth", NULL };
static const char *const alpha[] = { "v1.DRAPlugin", "v1alpha1.DRAResourceHealth", NULL };
static const char *const none[] = { "v1.DRAPlugin", NULL };

static int set_up(void **state)
{
	struct plugins_world *w = XNEW(struct plugins_world);

	plugins_world_init(w, 12);
	w->opts.beside = true;
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	plugins_world_release(*state);
	free(*state);
	return 0;
}

static bool exists(const struct plugins_world *w, const char *name)
{
	char path[128];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	return lstat(path, &st) == 0;
}

static void nothing_is_made_in_the_kubelets_folders(void **state)
{
	struct plugins_world *w = *state;

	plugins_world_start(w);
	plugins_world_run(w, 5000);
	assert_false(exists(w, "plugins_registry"));
	assert_false(exists(w, "device-plugins"));
	assert_int_equal(w->problems.n, 0);
}

static void sockets_of_the_kubelet_stay(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/gpu.sock", FAKE_DEVICE);

	plugins_world_start(w);
	plugins_world_run(w, 5000);
	assert_true(exists(w, "device-plugins/gpu.sock"));
	assert_false(exists(w, "device-plugins/kubelet.sock"));
	assert_int_equal(f->options + f->lists, 0);
}

/* Sends a report in the dialect and expects it. */
static void follows_health(struct plugins_world *w, const char *const *versions, unsigned service,
			   unsigned dialect)
{
	struct fake_plugin *f = fake_driver_new(w, "gpu-reg.sock", DRIVER, FAKE_DRA | service,
						versions);

	plugins_world_run(w, 2000);
	plugins_world_expect(w, "driver " DRIVER " registered\n");
	fake_plugin_send_health(f, dialect, "pool/gpu0:Unhealthy|hot");
	plugins_world_settle(w);
	plugins_world_expect(w, "health " DRIVER " pool/gpu0:Unhealthy/hot\n");
	assert_int_equal(f->infos, 1);
	assert_int_equal(f->notifies, 0);
	assert_int_equal(f->calls, 0);
	fake_plugin_stop(f, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "driver " DRIVER " gone\n");
}

static void health_is_followed_in_each_dialect_without_a_notification(void **state)
{
	struct plugins_world *w = *state;

	plugins_world_start(w);
	follows_health(w, usual, FAKE_HEALTH | FAKE_HEALTH_ALPHA, 0);
	follows_health(w, alpha, FAKE_HEALTH_ALPHA, 1);
	follows_health(w, none, FAKE_NODE_HEALTH, 2);
}

static void other_types_of_plugins_are_left_alone(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f;

	plugins_world_start(w);
	f = fake_driver_new(w, "gpu-reg.sock", GPU, FAKE_DEVICE, none);
	f->type = "DevicePlugin";
	plugins_world_run(w, 5000);
	f = fake_driver_new(w, "csi-reg.sock", "csi.example.com", 0, none);
	f->type = "CSIPlugin";
	plugins_world_run(w, 5000);
	assert_int_equal(f->infos, 1);
	assert_int_equal(f->notifies + f->options + f->lists, 0);
	plugins_world_expect(w, "");
	assert_int_equal(w->problems.n, 0);
}

static void a_named_device_plugin_is_read_again_after_a_restart(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/gpu.sock", FAKE_DEVICE);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/device-plugins/gpu.sock", w->dir);
	plugins_world_start(w);
	plugins_follow(w->plugins, STR(GPU), path);
	plugins_world_settle(w);
	fake_plugin_send_list(f, "gpu0:Healthy gpu1:Unhealthy/hot");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy gpu1:Unhealthy/hot\n");
	fake_plugin_stop(f, true);
	plugins_world_settle(w);
	plugins_world_expect(w, "resource-gone " GPU "\n");
	plugins_world_run(w, 3000);
	f = fake_plugin_new(w, "device-plugins/gpu.sock", FAKE_DEVICE);
	plugins_world_run(w, 15000);
	fake_plugin_send_list(f, "gpu0:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\n");
}

static void an_absent_device_plugin_is_reported_once(void **state)
{
	struct plugins_world *w = *state;

	plugins_world_start(w);
	plugins_follow(w->plugins, STR(GPU), "/nowhere/gpu.sock");
	plugins_world_run(w, 15000);
	plugins_world_expect_problem(w,
				     "device plugin " GPU " at /nowhere/gpu.sock: failed to dial");
	plugins_world_run(w, 60000);
	assert_int_equal(w->problems.n, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(nothing_is_made_in_the_kubelets_folders),
		T(sockets_of_the_kubelet_stay),
		T(health_is_followed_in_each_dialect_without_a_notification),
		T(other_types_of_plugins_are_left_alone),
		T(a_named_device_plugin_is_read_again_after_a_restart),
		T(an_absent_device_plugin_is_reported_once),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}

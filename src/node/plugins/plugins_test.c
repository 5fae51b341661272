/*
 * Device plugins: registration over kubelet.sock and over plugins_registry, lists, calls, ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "grpc/channel.h"
#include "node/plugins/plugins_world.h"

#define GPU "example.com/gpu"

static int set_up(void **state)
{
	struct plugins_world *w = XNEW(struct plugins_world);

	plugins_world_init(w, 7);
	plugins_world_start(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	plugins_world_release(*state);
	free(*state);
	return 0;
}

static struct fake_plugin *plugin_without_list(struct plugins_world *w, const char *file)
{
	char path[64];
	struct fake_plugin *f;

	(void)snprintf(path, sizeof(path), "device-plugins/%s", file);
	f = fake_plugin_new(w, path, FAKE_DEVICE);
	fake_plugin_register(f, "v1beta1", GPU, file);
	plugins_world_settle(w);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, GRPC_OK);
	return f;
}

/* A plugin that is registered and has sent a list. */
static struct fake_plugin *plugin_with(struct plugins_world *w, const char *file,
				       const char *devices)
{
	struct fake_plugin *f = plugin_without_list(w, file);

	fake_plugin_send_list(f, devices);
	plugins_world_settle(w);
	return f;
}

static void a_plugin_registers_and_sends_its_devices(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock",
					    "gpu0:Healthy gpu1:Unhealthy/hot gpu2:Odd");

	plugins_world_expect(w,
			     "resource " GPU " gpu0:Healthy gpu1:Unhealthy/hot gpu2:Unhealthy\n");
	assert_true(plugins_has_resource(w->plugins, STR(GPU)));
	assert_false(plugins_wants_preferred(w->plugins, STR(GPU)));
	assert_false(plugins_wants_prestart(w->plugins, STR(GPU)));
	assert_int_equal(f->options, 1);
	assert_int_equal(f->lists, 1);

	fake_plugin_send_list(f, "");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU "\n");
}

static void the_end_of_a_stream_is_the_end_of_the_plugin(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");

	(void)grpc_call_finish(f->list, GRPC_OK, STR_NULL);
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource-gone " GPU "\n");
	plugins_world_expect_problem(w, "ListAndWatch ended: EOF");
	assert_false(plugins_has_resource(w->plugins, STR(GPU)));
	/* The agent does not retry; the plugin must register again. */
	plugins_world_run(w, 300 * 1000);
	assert_int_equal(f->lists, 1);
	fake_plugin_register(f, "v1beta1", GPU, "gpu.sock");
	plugins_world_settle(w);
	assert_int_equal(f->code, GRPC_OK);
	assert_int_equal(f->lists, 2);
}

static void a_plugin_that_dies_is_gone_at_once(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");

	fake_plugin_stop(f, false);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource-gone " GPU "\n");
}

static void a_bad_request_is_refused_in_upstreams_words(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);

	fake_plugin_register(f, "v1alpha", GPU, "a");
	plugins_world_settle(w);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_string_equal(f->message, "requested API version \"v1alpha\" is not supported by "
					"kubelet. Supported version is [\"v1beta1\"]");
	fake_plugin_register(f, "v1beta1", "gpu", "a");
	plugins_world_settle(w);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_string_equal(f->message, "the ResourceName \"gpu\" is invalid");
	fake_plugin_register(f, "v1beta1", "requests.example.com/gpu", "a");
	plugins_world_settle(w);
	assert_string_equal(f->message, "the ResourceName \"requests.example.com/gpu\" is invalid");
	assert_int_equal(f->options, 0);
	plugins_world_expect(w, "");
}

static void a_socket_that_nobody_answers_on_fails_after_ten_seconds(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);

	fake_plugin_register(f, "v1beta1", GPU, "nobody.sock");
	plugins_world_run(w, 9500);
	assert_int_equal(f->answers, 0);
	plugins_world_run(w, 1000);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_string_equal(f->message, "failed to dial device plugin: context deadline exceeded");
}

static void a_plugin_may_listen_a_little_later_than_it_registers(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE), *late;

	fake_plugin_register(f, "v1beta1", GPU, "late.sock");
	plugins_world_run(w, 3000);
	late = fake_plugin_new(w, "device-plugins/late.sock", FAKE_DEVICE);
	plugins_world_run(w, 6000);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, GRPC_OK);
	assert_int_equal(late->lists, 1);
}

static void a_path_that_is_too_long_is_refused_at_once(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);
	char name[200];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	fake_plugin_register(f, "v1beta1", GPU, name);
	plugins_world_settle(w);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_non_null(strstr(f->message, "failed to dial device plugin: "));
}

static void a_plugin_that_hangs_does_not_hold_up_others(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);

	f->hang_options = true;
	fake_plugin_register(f, "v1beta1", "example.com/hung", "a");
	plugins_world_settle(w);
	(void)plugin_with(w, "gpu.sock", "gpu0:Healthy");
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\n");
	assert_int_equal(f->answers, 0);
	plugins_world_run(w, 11 * 1000);
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_non_null(strstr(f->message, "failed to get device plugin options: rpc error: code = "
					   "DeadlineExceeded desc = "));
	assert_false(plugins_has_resource(w->plugins, STR("example.com/hung")));
}

static void a_client_that_gives_up_registering_is_forgotten(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);

	f->hang_options = true;
	fake_plugin_register(f, "v1beta1", GPU, "a");
	plugins_world_settle(w);
	grpc_channel_free(TAKE(f->channel));
	plugins_world_run(w, 30 * 1000);
	assert_int_equal(f->options, 1);
	assert_int_equal(f->code, GRPC_CANCELLED);
	plugins_world_expect(w, "");
}

static void the_same_socket_registers_once_while_it_is_connected(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");
	char text[256];

	fake_plugin_register(f, "v1beta1", GPU, "gpu.sock");
	plugins_world_settle(w);
	(void)snprintf(text, sizeof(text), "device plugin already connected: %s", f->path);
	assert_int_equal(f->code, GRPC_UNKNOWN);
	assert_string_equal(f->message, text);
	/* The first is unchanged. */
	fake_plugin_send_list(f, "gpu1:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource " GPU " gpu1:Healthy\n");
	/* Another resource from the same socket is another endpoint. */
	fake_plugin_register(f, "v1beta1", "example.com/other", "gpu.sock");
	plugins_world_settle(w);
	assert_int_equal(f->code, GRPC_OK);
	assert_true(plugins_has_resource(w->plugins, STR("example.com/other")));
}

struct answer {
	unsigned n;
	char text[512];
	enum error_code code;
};

static void on_packed(void *arg, struct str packed, const struct error *err)
{
	struct answer *a = arg;
	Deviceplugin__ContainerAllocateResponse *m;

	a->n++;
	a->code = err ? err->code : ERR_OK;
	if (err) {
		(void)snprintf(a->text, sizeof(a->text), "%s", err->msg);
		return;
	}
	m = deviceplugin__container_allocate_response__unpack(NULL, packed.n,
							      (const uint8_t *)packed.p);
	assert_non_null(m);
	assert_int_equal(m->n_envs, 1);
	(void)snprintf(a->text, sizeof(a->text), "%s=%s", m->envs[0]->key, m->envs[0]->value);
	deviceplugin__container_allocate_response__free_unpacked(m, NULL);
}

static void the_newest_of_two_endpoints_is_asked(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *old = plugin_with(w, "old.sock", "gpu0:Healthy");
	struct fake_plugin *new = plugin_with(w, "new.sock", "gpu0:Healthy gpu1:Healthy");
	struct str ids[] = { STR("gpu0"), STR("gpu1") };
	struct answer a = { 0 };

	plugins_allocate(w->plugins, STR(GPU), ids, 2, on_packed, &a);
	assert_int_equal(a.n, 0);
	plugins_world_settle(w);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.text, "DEVICE=gpu0");
	assert_int_equal(old->calls, 0);
	assert_string_equal(new->asked, "gpu0 gpu1");
	/* Only the newest one's list counts, even if the other sends later. */
	fake_plugin_send_list(old, "gpu5:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\n"
				"resource " GPU " gpu0:Healthy gpu1:Healthy\n");
	/*
	 * When the newest goes, the other takes over with its own list; the resource is not gone.
	 */
	fake_plugin_stop(new, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "resource " GPU " gpu5:Healthy\n");
	plugins_allocate(w->plugins, STR(GPU), ids, 1, on_packed, &a);
	plugins_world_settle(w);
	assert_int_equal(old->calls, 1);
	fake_plugin_stop(old, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "resource-gone " GPU "\n");
}

static void an_older_endpoint_without_a_list_does_not_keep_the_newest_ones(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *old = plugin_without_list(w, "old.sock");
	struct fake_plugin *new = plugin_with(w, "new.sock", "gpu0:Healthy");

	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\n");
	fake_plugin_stop(new, true);
	plugins_world_run(w, 2000);
	plugins_world_expect(w, "resource-gone " GPU "\n");
	fake_plugin_send_list(old, "gpu1:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu1:Healthy\n");
}

static void on_ids(void *arg, const struct str *ids, size_t n, const struct error *err)
{
	struct answer *a = arg;

	a->n++;
	a->code = err ? err->code : ERR_OK;
	a->text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		(void)snprintf(a->text + strlen(a->text), 32, "%.*s,", STR_ARG(ids[i]));
	if (err)
		(void)snprintf(a->text, sizeof(a->text), "%s", err->msg);
}

static void on_plain(void *arg, const struct error *err)
{
	struct answer *a = arg;

	a->n++;
	a->code = err ? err->code : ERR_OK;
	(void)snprintf(a->text, sizeof(a->text), "%s", err ? err->msg : "");
}

static struct fake_plugin *plugin_with_options(struct plugins_world *w)
{
	struct fake_plugin *f = fake_plugin_new(w, "device-plugins/a", FAKE_DEVICE);

	f->preferred = f->prestart = true;
	fake_plugin_register(f, "v1beta1", GPU, "a");
	plugins_world_settle(w);
	assert_int_equal(f->code, GRPC_OK);
	return f;
}

static void options_and_the_calls_that_they_stand_for(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with_options(w);
	struct str ids[] = { STR("a"), STR("b"), STR("c") };
	struct assign_wish wish = {
		.resource = STR(GPU), .available = ids, .navailable = 3, .size = 2
	};
	struct answer a = { 0 };

	assert_true(plugins_wants_preferred(w->plugins, STR(GPU)));
	assert_true(plugins_wants_prestart(w->plugins, STR(GPU)));
	plugins_preferred(w->plugins, &wish, on_ids, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text, "b,c,");
	plugins_prestart(w->plugins, STR(GPU), ids, 2, on_plain, &a);
	plugins_world_settle(w);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.code, ERR_OK);
	assert_string_equal(f->asked, "a b");

	f->fail_calls = GRPC_FAILED_PRECONDITION;
	plugins_prestart(w->plugins, STR(GPU), ids, 2, on_plain, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text,
			    "device plugin PreStartContainer rpc failed with err: rpc error: "
			    "code = FailedPrecondition desc = out of order");
	plugins_preferred(w->plugins, &wish, on_ids, &a);
	plugins_world_settle(w);
	assert_string_equal(a.text,
			    "device plugin GetPreferredAllocation rpc failed with err: rpc error: "
			    "code = FailedPrecondition desc = out of order");
	f->fail_calls = GRPC_OK;
	f->skip_claim = true; /* a reply without containers */
	plugins_allocate(w->plugins, STR(GPU), ids, 1, on_packed, &a);
	plugins_world_settle(w);
	assert_int_equal(a.code, ERR_PROTOCOL);
}

static void calls_that_hang_end(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with_options(w);
	struct str id = STR("a");
	struct answer a = { 0 }, b = { 0 };

	f->hang_calls = true;
	plugins_allocate(w->plugins, STR(GPU), &id, 1, on_packed, &a);
	plugins_prestart(w->plugins, STR(GPU), &id, 1, on_plain, &b);
	plugins_world_run(w, 29 * 1000);
	assert_int_equal(a.n + b.n, 0);
	plugins_world_run(w, 2000);
	assert_int_equal(b.n, 1);
	assert_int_equal(b.code, ERR_TIMEOUT);
	plugins_world_run(w, 30 * 1000);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.code, ERR_TIMEOUT);
}

static void calls_end_when_the_plugin_does(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with_options(w);
	struct str id = STR("a");
	struct answer a = { 0 };

	f->hang_calls = true;
	plugins_allocate(w->plugins, STR(GPU), &id, 1, on_packed, &a);
	plugins_world_settle(w);
	fake_plugin_stop(f, true);
	plugins_world_run(w, 2000);
	assert_int_equal(a.n, 1);
	assert_int_not_equal(a.code, ERR_OK);
	plugins_allocate(w->plugins, STR(GPU), &id, 1, on_packed, &a);
	assert_int_equal(a.n, 1); /* never from within */
	plugins_world_settle(w);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.code, ERR_UNAVAILABLE);
}

static void garbage_drops_the_plugin(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");

	fake_plugin_send_garbage(f->list);
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource-gone " GPU "\n");
	plugins_world_expect_problem(w, "failed to unmarshal message");
	plugins_world_run(w, 60 * 1000);
	assert_int_equal(f->lists, 1);
}

/* A list of n devices with ids of 63 characters and a text: about `bytes` each. */
static void send_many(struct fake_plugin *f, size_t n, size_t bytes)
{
	Deviceplugin__ListAndWatchResponse m = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;
	Deviceplugin__Device *v = xcalloc(n, sizeof(*v)), **all = xcalloc(n, sizeof(*all));
	char *message = xcalloc(1, bytes), *ids = xcalloc(n, 64);

	memset(message, 'm', bytes - 1);
	for (size_t i = 0; i < n; i++) {
		v[i] = (Deviceplugin__Device)DEVICEPLUGIN__DEVICE__INIT;
		(void)snprintf(ids + i * 64, 64, "%063zu", i);
		v[i].id = ids + i * 64;
		v[i].health = (char *)(uintptr_t) "Healthy";
		v[i].message = message;
		all[i] = &v[i];
	}
	m.devices = all;
	m.n_devices = n;
	assert_int_equal(grpc_call_send(f->list, &m.base), 0);
	free(v);
	free(all);
	free(ids);
	free(message);
}

static void a_list_may_be_larger_than_four_mebibytes(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");

	send_many(f, 20000, 500); /* 12 MB */
	plugins_world_run(w, 60 * 1000);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource " GPU " 20000 devices\n");
}

static void a_list_of_a_hundred_megabytes_drops_the_plugin(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");

	send_many(f, 1000, 100 * 1000);
	plugins_world_run(w, 1000);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource-gone " GPU "\n");
	plugins_world_expect_problem(w, "received message larger than max");
}

static void sockets_of_the_past_are_removed_and_files_stay(void **state)
{
	struct plugins_world *w = *state;
	struct stat st;
	char file[128];
	struct fake_plugin *f;
	FILE *out;

	plugins_world_stop(w);
	f = fake_plugin_new(w, "device-plugins/old.sock", FAKE_DEVICE);
	(void)snprintf(file, sizeof(file), "%s/device-plugins/kubelet_internal_checkpoint", w->dir);
	out = fopen(file, "w");
	assert_non_null(out);
	(void)fclose(out);
	plugins_world_start(w);
	assert_int_equal(stat(f->path, &st), -1);
	assert_int_equal(stat(file, &st), 0);
}

static void a_plugin_may_come_by_the_registry(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "plugins_registry/gpu-reg.sock",
						FAKE_DEVICE | FAKE_REGISTRATION);

	f->type = "DevicePlugin";
	f->name = GPU;
	f->versions[0] = "v1beta1";
	plugins_world_settle(w);
	assert_true(f->registered);
	assert_int_equal(f->notifies, 1);
	fake_plugin_send_list(f, "gpu0:Healthy");
	plugins_world_settle(w);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\n");
	/* Removing the socket deregisters it, although it runs. */
	fake_plugin_file(f, false);
	plugins_world_settle(w);
	plugins_world_expect(w, "resource-gone " GPU "\n");
}

static void a_plugin_of_the_registry_is_checked(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = fake_plugin_new(w, "plugins_registry/gpu-reg.sock",
						FAKE_DEVICE | FAKE_REGISTRATION);

	f->type = "DevicePlugin";
	f->name = GPU;
	f->versions[0] = "v1";
	plugins_world_settle(w);
	assert_false(f->registered);
	assert_string_equal(f->error, "RegisterPlugin error -- plugin validation failed with err: "
				      "manager version, v1beta1, is not among plugin supported "
				      "versions [v1]");
	f->versions[0] = "v1beta1";
	f->name = "gpu";
	plugins_world_run(w, 700);
	assert_int_equal(f->notifies, 2);
	assert_string_equal(f->error,
			    "RegisterPlugin error -- plugin validation failed with err: "
			    "invalid name of device plugin socket: the ResourceName \"gpu\" is "
			    "invalid");
	/* Retried after 0.5 s, then 1 s: now it succeeds. */
	f->name = GPU;
	plugins_world_run(w, 1200);
	assert_int_equal(f->notifies, 3);
	assert_true(f->registered);
}

static void registrations_and_allocations_are_counted(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy");
	struct str id = STR("gpu0");
	struct buf text = BUF_INIT(MIB);
	struct answer a = { 0 };

	plugins_allocate(w->plugins, STR(GPU), &id, 1, on_packed, &a);
	fake_plugin_register(f, "v1beta1", GPU, "gpu.sock");
	plugins_world_settle(w);
	assert_int_equal(metrics_print(w->metrics, &text), 0);
	assert_non_null(strstr(
		text.p, "kubelet_device_plugin_registration_total{resource_name=\"" GPU "\"} 2\n"));
	assert_non_null(strstr(text.p, "kubelet_device_plugin_alloc_duration_seconds_count"
				       "{resource_name=\"" GPU "\"} 1\n"));
	buf_release(&text);
}

static void everything_may_be_freed_from_an_event(void **state)
{
	struct plugins_world *w = *state;
	struct fake_plugin *f = plugin_with(w, "gpu.sock", "gpu0:Healthy"), *g;
	struct str id = STR("gpu0");
	struct answer a = { 0 };

	f->hang_calls = true;
	plugins_allocate(w->plugins, STR(GPU), &id, 1, on_packed, &a);
	g = fake_plugin_new(w, "device-plugins/b", FAKE_DEVICE);
	g->hang_options = true;
	fake_plugin_register(g, "v1beta1", GPU, "b");
	plugins_world_settle(w);
	w->free_at_event = true;
	fake_plugin_send_list(f, "gpu0:Unhealthy");
	plugins_world_run(w, 3000);
	assert_null(w->plugins);
	assert_int_equal(a.n, 0);
	assert_int_not_equal(g->code, GRPC_OK);
	plugins_world_expect(w, "resource " GPU " gpu0:Healthy\nresource " GPU " gpu0:Unhealthy\n");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plugin_registers_and_sends_its_devices),
		TEST(the_end_of_a_stream_is_the_end_of_the_plugin),
		TEST(a_plugin_that_dies_is_gone_at_once),
		TEST(a_bad_request_is_refused_in_upstreams_words),
		TEST(a_socket_that_nobody_answers_on_fails_after_ten_seconds),
		TEST(a_plugin_may_listen_a_little_later_than_it_registers),
		TEST(a_path_that_is_too_long_is_refused_at_once),
		TEST(a_plugin_that_hangs_does_not_hold_up_others),
		TEST(a_client_that_gives_up_registering_is_forgotten),
		TEST(the_same_socket_registers_once_while_it_is_connected),
		TEST(the_newest_of_two_endpoints_is_asked),
		TEST(an_older_endpoint_without_a_list_does_not_keep_the_newest_ones),
		TEST(options_and_the_calls_that_they_stand_for),
		TEST(calls_that_hang_end),
		TEST(calls_end_when_the_plugin_does),
		TEST(garbage_drops_the_plugin),
		TEST(a_list_may_be_larger_than_four_mebibytes),
		TEST(a_list_of_a_hundred_megabytes_drops_the_plugin),
		TEST(sockets_of_the_past_are_removed_and_files_stay),
		TEST(a_plugin_may_come_by_the_registry),
		TEST(a_plugin_of_the_registry_is_checked),
		TEST(registrations_and_allocations_are_counted),
		TEST(everything_may_be_freed_from_an_event),
	};

	return cmocka_run_group_tests_name("node/plugins", tests, NULL, NULL);
}

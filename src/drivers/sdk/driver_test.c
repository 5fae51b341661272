/*
 * The public interface as a vendor uses it: real sockets, real threads, a device plugin (which
 * needs no API server).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "deviceplugin.pb-c.h"
#include "devplane/driver.h"
#include "drivers/prepare/socket_path.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"

enum { THREADS = 4, TIMES = 500, DEVICES = THREADS };

static void on_log(void *arg, uint32_t level, const char *line)
{
	(void)arg;
	(void)level;
	(void)line;
}

static int prepare(void *arg, struct dp_claim *c)
{
	(void)arg;
	(void)c;
	return 0;
}

static struct dp_driver_config config_of(const char *root)
{
	return (struct dp_driver_config){ .size = sizeof(struct dp_driver_config),
					  .abi = DP_DRIVER_ABI,
					  .mode = DP_MODE_PLUGIN,
					  .name = "plug",
					  .resource = "example.com/plug",
					  .root_dir = root,
					  .log = on_log };
}

static void make_devices(struct dp_device v[DEVICES])
{
	static const char *const names[DEVICES] = { "d0", "d1", "d2", "d3" };

	for (int i = 0; i < DEVICES; i++)
		v[i] = (struct dp_device){ .size = sizeof(v[i]), .name = names[i] };
}

/* --- what cannot be ----------------------------------------------------------------------- */

static void a_configuration_that_cannot_be_is_refused(void **state UNUSED)
{
	struct dp_driver_config c[7];
	static const char *const words[] = { "ABI 2",          "size",
					     "driver name",    "resource \"cpu\"",
					     "mode 7",         "node name",
					     "needs prepare()" };
	struct dp_driver *d = NULL;
	char message[256];

	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = config_of("/tmp");
	c[0].abi = 2;
	c[1].size = 0;
	c[2].name = "Not A Name";
	c[3].resource = "cpu";
	c[4].mode = 7;
	c[5].mode = c[6].mode = DP_MODE_DRA;
	c[5].prepare = prepare;
	c[6].node_name = "n";
	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		assert_int_equal(dp_driver_new(&c[i], &d, message, sizeof(message)), -1);
		assert_non_null(strstr(message, words[i]));
		assert_null(d);
		assert_int_equal(dp_driver_new(&c[i], &d, NULL, 0), -1);
	}
}

static void a_driver_that_never_ran_is_freed_with_what_it_was_told(void **state UNUSED)
{
	struct dp_driver_config c = config_of("/tmp");
	struct dp_device v[DEVICES];
	struct dp_driver *d;

	make_devices(v);
	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(dp_driver_set_devices(d, v, DEVICES, NULL, 0), 0);
	assert_int_equal(dp_driver_set_health(d, NULL, "d1", DP_UNHEALTHY, "x"), 0);
	assert_int_equal(dp_driver_set_health(d, NULL, "d1", 99, "x"), -1);
	dp_driver_pause_health(d, 1);
	dp_driver_free(d);
	dp_driver_free(NULL);
}

static void a_status_that_cannot_be_is_refused(void **state UNUSED)
{
	struct dp_driver_config c = config_of("/tmp");
	struct dp_claim_id id = { .size = sizeof(id), .ns = "ns", .name = "c", .uid = "u" };
	struct dp_claim_id none = { .size = sizeof(none), .ns = "ns" }, sizeless = { 0 };
	struct dp_device_status s = { .size = sizeof(s), .device = "x" };
	struct dp_driver *d;
	char message[256];

	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(dp_driver_set_status(d, &id, &s, message, sizeof(message)), -1);
	assert_non_null(strstr(message, "device plugin"));
	dp_driver_free(d);
	c.mode = DP_MODE_DRA;
	c.node_name = "n";
	c.prepare = prepare;
	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(dp_driver_set_status(d, &id, &s, NULL, 0), 0);
	assert_int_equal(dp_driver_set_status(d, &none, &s, NULL, 0), -1);
	assert_int_equal(dp_driver_set_status(d, &sizeless, &s, message, sizeof(message)), -1);
	assert_non_null(strstr(message, "dp_claim_id"));
	dp_driver_clear_status(d, &id);
	dp_driver_clear_status(d, &none);
	s.device = "Not A Name";
	assert_int_equal(dp_driver_set_status(d, &id, &s, message, sizeof(message)), -1);
	assert_non_null(strstr(message, "device \"Not A Name\""));
	dp_driver_free(d);
}

static void a_root_folder_that_cannot_be_ends_the_run(void **state UNUSED)
{
	struct dp_driver_config c = config_of("/proc/no/such");
	struct dp_driver *d;
	char message[256];

	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(dp_driver_run(d, message, sizeof(message)), -1);
	assert_non_null(strstr(message, "/proc/no"));
	dp_driver_free(d);
}

/* --- threads ------------------------------------------------------------------------------ */

struct teller {
	struct dp_driver *driver;
	int index;
};

static void *tell(void *arg)
{
	struct teller *t = arg;
	char name[8], text[32];

	(void)snprintf(name, sizeof(name), "d%d", t->index);
	for (int i = 1; i <= TIMES; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		if (dp_driver_set_health(t->driver, NULL, name, i % 2 ? DP_HEALTHY : DP_UNHEALTHY,
					 text) < 0)
			return arg;
	}
	return NULL;
}

static void *run(void *arg)
{
	return dp_driver_run(arg, NULL, 0) < 0 ? arg : NULL;
}

struct watcher {
	struct loop *loop;
	unsigned messages;
	bool complete; /* all devices are in their last state */
};

static void on_message(struct grpc_call *c, const void *message)
{
	const Deviceplugin__ListAndWatchResponse *in = message;
	struct watcher *w = grpc_call_data(c);

	w->messages++;
	w->complete = in->n_devices == DEVICES;
	for (size_t i = 0; i < in->n_devices; i++)
		if (strcmp(in->devices[i]->message, "500") != 0 ||
		    strcmp(in->devices[i]->health, "Unhealthy") != 0)
			w->complete = false;
	if (w->complete)
		loop_stop(w->loop);
}

static void on_end(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	loop_stop(((struct watcher *)grpc_call_data(c))->loop);
}

static const struct grpc_method list_and_watch = {
	"/v1beta1.DevicePlugin/ListAndWatch", GRPC_SERVER_STREAM, &deviceplugin__empty__descriptor,
	&deviceplugin__list_and_watch_response__descriptor
};

/* Reads what the driver says until all is in its last state. */
static void watch(struct watcher *w, const char *path)
{
	static const struct grpc_call_ops ops = { .on_message = on_message, .on_end = on_end };
	Deviceplugin__Empty empty = DEVICEPLUGIN__EMPTY__INIT;
	struct grpc_channel_opts o = { .backoff_initial_ms = 5 };
	struct grpc_call_opts wait = { .wait_for_ready = true };
	struct grpc_channel *channel;
	struct grpc_call *call;

	assert_int_equal(loop_new(&w->loop, NULL), 0);
	assert_int_equal(socket_path_addr(str_from(path), &o.to, NULL), 0);
	channel = grpc_channel_new(w->loop, &o);
	call = grpc_channel_call(channel, &list_and_watch, &wait, &ops, w);
	(void)grpc_call_send(call, &empty.base);
	(void)grpc_call_half_close(call);
	loop_run(w->loop);
	grpc_channel_free(channel);
	loop_free(w->loop);
}

static void any_thread_may_tell_health_and_the_last_word_counts(void **state UNUSED)
{
	char root[] = "/tmp/devplane-driver.XXXXXX", path[128], dir[64];
	struct teller tellers[THREADS];
	pthread_t threads[THREADS], runner;
	struct dp_device v[DEVICES];
	struct watcher w = { 0 };
	struct dp_driver *d;
	void *failed;

	assert_non_null(mkdtemp(root));
	(void)snprintf(dir, sizeof(dir), "%s/device-plugins", root);
	(void)snprintf(path, sizeof(path), "%s/plug.sock", dir);
	make_devices(v);
	{
		struct dp_driver_config c = config_of(root);

		assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	}
	assert_int_equal(dp_driver_set_devices(d, v, DEVICES, NULL, 0), 0);
	assert_int_equal(pthread_create(&runner, NULL, run, d), 0);
	for (int i = 0; i < THREADS; i++) {
		tellers[i] = (struct teller){ d, i };
		assert_int_equal(pthread_create(&threads[i], NULL, tell, &tellers[i]), 0);
	}
	watch(&w, path);
	assert_true(w.complete);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	dp_driver_stop(d);
	assert_int_equal(pthread_join(runner, &failed), 0);
	assert_null(failed);
	dp_driver_free(d);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(root), 0);
}

/* --- HTTP --------------------------------------------------------------------------------- */

/* The reply to a GET; waits until the socket is there. */
static void get(const char *socket_path, const char *path, char *reply, size_t size)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char request[128];
	ssize_t n = 1;
	size_t have = 0;
	int fd = -1, r = -1;

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", socket_path);
	while (r < 0) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		r = connect(fd, (struct sockaddr *)&at, sizeof(at));
		if (r < 0)
			close(fd);
		(void)sched_yield();
	}
	(void)snprintf(request, sizeof(request),
		       "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	assert_int_equal(write(fd, request, strlen(request)), strlen(request));
	for (; n > 0 && have + 1 < size; have += (size_t)n) {
		n = read(fd, reply + have, size - have - 1);
		assert_true(n >= 0);
	}
	reply[have] = 0;
	close(fd);
}

static void add_metrics(void *arg UNUSED, struct dp_metrics *m)
{
	static const char *const labels[] = { "gpu", "0", NULL };

	(void)dp_metrics_add(m, "plug_temperature", "Degrees.", DP_GAUGE, labels, 42);
}

static void a_driver_serves_its_metrics_and_says_whether_it_is_ready(void **state UNUSED)
{
	char root[] = "/tmp/devplane-driver.XXXXXX", at[64], dir[64], reply[65536];
	struct dp_driver_config c = config_of(root);
	pthread_t runner;
	struct dp_driver *d;
	void *failed;

	assert_non_null(mkdtemp(root));
	(void)snprintf(at, sizeof(at), "unix:%s/http.sock", root);
	(void)snprintf(dir, sizeof(dir), "%s/device-plugins", root);
	c.metrics_address = at;
	c.metrics = add_metrics;
	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(pthread_create(&runner, NULL, run, d), 0);
	get(at + strlen("unix:"), "/metrics", reply, sizeof(reply));
	assert_non_null(strstr(reply, " 200 "));
	assert_non_null(strstr(reply, "devplane_driver_health_reports_total 0\n"));
	assert_non_null(strstr(reply, "\nplug_temperature{gpu=\"0\"} 42\n"));
	get(at + strlen("unix:"), "/healthz", reply, sizeof(reply));
	assert_non_null(strstr(reply, " 200 "));
	get(at + strlen("unix:"), "/readyz", reply, sizeof(reply));
	assert_non_null(strstr(reply, " 503 "));
	assert_non_null(strstr(reply, "not registered"));
	get(at + strlen("unix:"), "/other", reply, sizeof(reply));
	assert_non_null(strstr(reply, " 404 "));
	dp_driver_stop(d);
	assert_int_equal(pthread_join(runner, &failed), 0);
	assert_null(failed);
	dp_driver_free(d);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(root), 0);
}

static void a_metrics_address_that_cannot_be_ends_the_run(void **state UNUSED)
{
	char root[] = "/tmp/devplane-driver.XXXXXX", message[256];
	struct dp_driver_config c = config_of(root);
	struct dp_driver *d;

	assert_non_null(mkdtemp(root));
	c.metrics_address = "nowhere";
	assert_int_equal(dp_driver_new(&c, &d, NULL, 0), 0);
	assert_int_equal(dp_driver_run(d, message, sizeof(message)), -1);
	assert_non_null(strstr(message, "metrics address \"nowhere\""));
	dp_driver_free(d);
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_that_cannot_be_is_refused),
		cmocka_unit_test(a_driver_that_never_ran_is_freed_with_what_it_was_told),
		cmocka_unit_test(a_status_that_cannot_be_is_refused),
		cmocka_unit_test(a_root_folder_that_cannot_be_ends_the_run),
		cmocka_unit_test(any_thread_may_tell_health_and_the_last_word_counts),
		cmocka_unit_test(a_driver_serves_its_metrics_and_says_whether_it_is_ready),
		cmocka_unit_test(a_metrics_address_that_cannot_be_ends_the_run),
	};

	return cmocka_run_group_tests_name("drivers/driver", tests, NULL, NULL);
}

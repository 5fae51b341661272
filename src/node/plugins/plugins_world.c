/*
 * A fake serves the methods of plugins/wire.h from the other end. Each fake has its own simulated
 * host, so that it may end without the agent's.
 */
#include "node/plugins/plugins_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/system/folder_fixture.h"
#include "grpc/channel.h"
#include "grpc/server.h"
#include "net/http/server.h"

enum { SETTLE_MS = 100, CLOSE_MS = 3000, LINES_MAX = 64 * 1024 };

/* --- events -------------------------------------------------------------------------- */

static const char *const health_words[] = { "Healthy", "Unhealthy", "Unknown" };

static void after_event(struct plugins_world *w)
{
	if (w->free_at_event)
		plugins_free(TAKE(w->plugins));
}

static void on_resource(void *arg, struct str resource, const struct assign_device *v, size_t n)
{
	struct plugins_world *w = arg;

	(void)buf_printf(&w->lines, "resource %.*s", STR_ARG(resource));
	if (n > 100)
		(void)buf_printf(&w->lines, " %zu devices", n);
	for (size_t i = 0; i < n && n <= 100; i++) {
		(void)buf_printf(&w->lines, " %.*s:%s", STR_ARG(v[i].id),
				 health_words[v[i].health]);
		if (v[i].message.n)
			(void)buf_printf(&w->lines, "/%.*s", STR_ARG(v[i].message));
	}
	(void)buf_addc(&w->lines, '\n');
	after_event(w);
}

static void on_resource_gone(void *arg, struct str resource)
{
	struct plugins_world *w = arg;

	(void)buf_printf(&w->lines, "resource-gone %.*s\n", STR_ARG(resource));
	after_event(w);
}

static void on_driver(void *arg, struct str driver, bool registered)
{
	struct plugins_world *w = arg;

	(void)buf_printf(&w->lines, "driver %.*s %s\n", STR_ARG(driver),
			 registered ? "registered" : "gone");
	after_event(w);
}

static void plugins_world_on_health(void *arg, struct str driver, const struct plugin_health *v,
				    size_t n)
{
	struct plugins_world *w = arg;

	(void)buf_printf(&w->lines, "health %.*s", STR_ARG(driver));
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&w->lines, " %.*s/%.*s:%s", STR_ARG(v[i].pool),
				 STR_ARG(v[i].device), health_words[v[i].health]);
		if (v[i].message.n)
			(void)buf_printf(&w->lines, "/%.*s", STR_ARG(v[i].message));
	}
	(void)buf_addc(&w->lines, '\n');
	after_event(w);
}

static void on_no_health(void *arg, struct str driver)
{
	struct plugins_world *w = arg;

	(void)buf_printf(&w->lines, "no-health %.*s\n", STR_ARG(driver));
	after_event(w);
}

static void plugins_world_on_problem(void *arg, struct str what, const struct error *err)
{
	struct plugins_world *w = arg;

	assert_int_not_equal(err->code, ERR_OK);
	(void)buf_printf(&w->problems, "problem %.*s: %s\n", STR_ARG(what), err->msg);
}

static const struct plugins_events events = {
	.on_resource = on_resource,
	.on_resource_gone = on_resource_gone,
	.on_driver = on_driver,
	.on_health = plugins_world_on_health,
	.on_no_health = on_no_health,
	.on_problem = plugins_world_on_problem,
};

/* --- the world ----------------------------------------------------------------------- */

void plugins_world_init(struct plugins_world *w, uint64_t seed)
{
	struct sim_opts so = { .seed = seed, .latency_min_us = 10, .latency_max_us = 200 };

	*w = (struct plugins_world){ .dir = "/tmp/plugins_XXXXXX" };
	assert_non_null(mkdtemp(w->dir));
	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "node");
	w->metrics = metrics_new();
	buf_init(&w->lines, LINES_MAX);
	buf_init(&w->problems, LINES_MAX);
	list_init(&w->fakes);
	w->opts = (struct plugins_opts){ .loop = w->loop,
					 .root_dir = w->dir,
					 .watch_health = true,
					 .events = &events,
					 .arg = w,
					 .metrics = w->metrics };
}

void plugins_world_start(struct plugins_world *w)
{
	struct error err;

	if (plugins_new(&w->opts, &w->plugins, &err) < 0)
		fail_msg("%s", err.msg);
	plugins_world_settle(w);
}

static void plugins_world_on_closed(void *arg)
{
	((struct plugins_world *)arg)->closed = true;
}

void plugins_world_stop(struct plugins_world *w)
{
	if (!w->plugins)
		return;
	w->closed = false;
	plugins_close(TAKE(w->plugins), plugins_world_on_closed, w);
	plugins_world_run(w, CLOSE_MS);
	assert_true(w->closed);
}

static void fake_free(struct fake_plugin *f)
{
	list_remove(&f->link);
	loop_free(f->loop);
	free(f);
}

void plugins_world_release(struct plugins_world *w)
{
	plugins_world_stop(w);
	LIST_FOREACH (it, &w->fakes)
		fake_plugin_stop(LIST_ENTRY(it, struct fake_plugin, link), false);
	plugins_world_run(w, CLOSE_MS);
	LIST_FOREACH_SAFE (it, &w->fakes)
		fake_free(LIST_ENTRY(it, struct fake_plugin, link));
	loop_free(w->loop);
	sim_free(w->sim);
	metrics_free(w->metrics);
	buf_release(&w->lines);
	buf_release(&w->problems);
	folder_fixture_remove(w->dir);
}

void plugins_world_run(struct plugins_world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

void plugins_world_settle(struct plugins_world *w)
{
	sim_run_for(w->sim, SETTLE_MS);
}

void plugins_world_expect(struct plugins_world *w, const char *lines)
{
	assert_string_equal(w->lines.p ? w->lines.p : "", lines);
	buf_clear(&w->lines);
	if (w->lines.p)
		w->lines.p[0] = '\0';
}

void plugins_world_expect_problem(struct plugins_world *w, const char *words)
{
	if (!w->problems.p || str_find(buf_str(&w->problems), str_from(words)) < 0)
		fail_msg("no problem with \"%s\" in: %s", words, w->problems.p);
	buf_clear(&w->problems);
	w->problems.p[0] = '\0';
}

/* --- a fake's services --------------------------------------------------------------- */

static struct fake_plugin *fake_of(struct grpc_call *c)
{
	return grpc_call_service(c);
}

static void serve_info(struct grpc_call *c, const void *request UNUSED)
{
	Pluginregistration__PluginInfo m = PLUGINREGISTRATION__PLUGIN_INFO__INIT;
	struct fake_plugin *f = fake_of(c);

	f->infos++;
	if (f->hang_info)
		return;
	m.type = (char *)(uintptr_t)f->type;
	m.name = (char *)(uintptr_t)f->name;
	m.endpoint = (char *)(uintptr_t)f->endpoint;
	m.supported_versions = (char **)(uintptr_t)f->versions;
	while (m.n_supported_versions < ARRAY_SIZE(f->versions) &&
	       f->versions[m.n_supported_versions])
		m.n_supported_versions++;
	(void)grpc_call_reply(c, &m.base);
}

static void serve_notify(struct grpc_call *c, const void *request)
{
	Pluginregistration__RegistrationStatusResponse m =
		PLUGINREGISTRATION__REGISTRATION_STATUS_RESPONSE__INIT;
	const Pluginregistration__RegistrationStatus *in = request;
	struct fake_plugin *f = fake_of(c);

	f->notifies++;
	f->registered = in->plugin_registered;
	(void)snprintf(f->error, sizeof(f->error), "%s", in->error);
	if (f->fail_notify)
		(void)grpc_call_finish(c, f->fail_notify, STR("no"));
	else if (!f->hang_notify)
		(void)grpc_call_reply(c, &m.base);
}

static void serve_options(struct grpc_call *c, const void *request UNUSED)
{
	Deviceplugin__Options m = DEVICEPLUGIN__OPTIONS__INIT;
	struct fake_plugin *f = fake_of(c);

	f->options++;
	m.pre_start_required = f->prestart;
	m.get_preferred_allocation_available = f->preferred;
	if (!f->hang_options)
		(void)grpc_call_reply(c, &m.base);
}

static void serve_list(struct grpc_call *c, const void *request UNUSED)
{
	struct fake_plugin *f = fake_of(c);

	f->lists++;
	f->list = grpc_call_ref(c);
}

static void end_list(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct fake_plugin *f = fake_of(c);

	if (f->list == c)
		f->list = NULL;
	grpc_call_unref(c);
}

/* Records the ids; returns false if the call must not be answered now. */
static bool begin_call(struct grpc_call *c, char *const *ids, size_t n)
{
	struct fake_plugin *f = fake_of(c);
	struct buf b = BUF_INIT(sizeof(f->asked) - 1);

	f->calls++;
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, i ? " %s" : "%s", ids[i]);
	(void)snprintf(f->asked, sizeof(f->asked), "%s", b.p ? b.p : "");
	buf_release(&b);
	if (f->fail_calls)
		(void)grpc_call_finish(c, f->fail_calls, STR("out of order"));
	return !f->fail_calls && !f->hang_calls;
}

/* Prefers the last of the available ids. */
static void serve_preferred(struct grpc_call *c, const void *request)
{
	const Deviceplugin__PreferredAllocationRequest *in = request;
	const Deviceplugin__ContainerPreferredAllocationRequest *one = in->container_requests[0];
	Deviceplugin__ContainerPreferredAllocationResponse answer =
		DEVICEPLUGIN__CONTAINER_PREFERRED_ALLOCATION_RESPONSE__INIT;
	Deviceplugin__ContainerPreferredAllocationResponse *answers[] = { &answer };
	Deviceplugin__PreferredAllocationResponse m =
		DEVICEPLUGIN__PREFERRED_ALLOCATION_RESPONSE__INIT;

	if (!begin_call(c, one->available_device_ids, one->n_available_device_ids))
		return;
	answer.n_device_ids = (size_t)one->allocation_size;
	answer.device_ids = one->available_device_ids + one->n_available_device_ids -
			    (size_t)one->allocation_size;
	m.container_responses = answers;
	m.n_container_responses = 1;
	(void)grpc_call_reply(c, &m.base);
}

static void serve_allocate(struct grpc_call *c, const void *request)
{
	const Deviceplugin__AllocateRequest *in = request;
	const Deviceplugin__ContainerAllocateRequest *one = in->container_requests[0];
	Deviceplugin__Pair env = DEVICEPLUGIN__PAIR__INIT, *envs[] = { &env };
	Deviceplugin__ContainerAllocateResponse answer =
		DEVICEPLUGIN__CONTAINER_ALLOCATE_RESPONSE__INIT;
	Deviceplugin__ContainerAllocateResponse *answers[] = { &answer };
	Deviceplugin__AllocateResponse m = DEVICEPLUGIN__ALLOCATE_RESPONSE__INIT;

	if (!begin_call(c, one->devices_ids, one->n_devices_ids))
		return;
	env.key = (char *)(uintptr_t) "DEVICE";
	env.value = one->n_devices_ids ? one->devices_ids[0] : env.value;
	answer.envs = envs;
	answer.n_envs = 1;
	m.container_responses = answers;
	m.n_container_responses = fake_of(c)->skip_claim ? 0 : 1;
	(void)grpc_call_reply(c, &m.base);
}

static void serve_prestart(struct grpc_call *c, const void *request)
{
	const Deviceplugin__PreStartContainerRequest *in = request;
	Deviceplugin__PreStartContainerResponse m =
		DEVICEPLUGIN__PRE_START_CONTAINER_RESPONSE__INIT;

	if (begin_call(c, in->devices_ids, in->n_devices_ids))
		(void)grpc_call_reply(c, &m.base);
}

enum { CLAIMS_MAX = 8 };

/* "uid" gets device "gpu-uid" of pool "pool"; a claim named "bad" gets an error. */
static void serve_prepare(struct grpc_call *c, const void *request)
{
	const Dra__NodePrepareResourcesRequest *in = request;
	Dra__NodePrepareResourcesResponse m = DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;
	Dra__PreparedEntry entries[CLAIMS_MAX], *all[CLAIMS_MAX];
	Dra__NodePrepareResourceResponse values[CLAIMS_MAX];
	Dra__Device device = DRA__DEVICE__INIT, *devices[] = { &device };
	char *texts[] = { (char *)(uintptr_t) "r", (char *)(uintptr_t) "vendor.com/gpu=0" };
	char *ids[CLAIMS_MAX];
	struct fake_plugin *f = fake_of(c);

	for (size_t i = 0; i < in->n_claims; i++)
		ids[i] = in->claims[i]->uid;
	if (!begin_call(c, ids, in->n_claims))
		return;
	device.pool_name = (char *)(uintptr_t) "pool";
	device.device_name = (char *)(uintptr_t) "gpu";
	device.request_names = texts;
	device.n_request_names = 1;
	device.cdi_device_ids = texts + 1;
	device.n_cdi_device_ids = 1;
	for (size_t i = 0; i < in->n_claims; i++) {
		values[i] = (Dra__NodePrepareResourceResponse)
			DRA__NODE_PREPARE_RESOURCE_RESPONSE__INIT;
		values[i].devices = devices;
		values[i].n_devices = 1;
		if (strcmp(in->claims[i]->name, "bad") == 0)
			values[i].error = (char *)(uintptr_t) "no such device";
		entries[i] = (Dra__PreparedEntry)DRA__PREPARED_ENTRY__INIT;
		entries[i].key = ids[i];
		entries[i].value = &values[i];
		all[in->n_claims - 1 - i] = &entries[i]; /* in another order */
	}
	if (f->add_claim)
		entries[0].key = (char *)(uintptr_t) "nobody";
	m.claims = all;
	m.n_claims = in->n_claims - f->skip_claim;
	(void)grpc_call_reply(c, &m.base);
}

static void serve_unprepare(struct grpc_call *c, const void *request)
{
	const Dra__NodeUnprepareResourcesRequest *in = request;
	Dra__NodeUnprepareResourcesResponse m = DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
	Dra__UnpreparedEntry entries[CLAIMS_MAX], *all[CLAIMS_MAX];
	struct fake_plugin *f = fake_of(c);
	char *ids[CLAIMS_MAX];

	for (size_t i = 0; i < in->n_claims; i++)
		ids[i] = in->claims[i]->uid;
	if (!begin_call(c, ids, in->n_claims))
		return;
	for (size_t i = 0; i < in->n_claims; i++) {
		entries[i] = (Dra__UnpreparedEntry)DRA__UNPREPARED_ENTRY__INIT;
		entries[i].key = ids[i];
		all[i] = &entries[i];
	}
	if (f->add_claim)
		entries[0].key = (char *)(uintptr_t) "nobody";
	m.claims = all;
	m.n_claims = in->n_claims - f->skip_claim;
	(void)grpc_call_reply(c, &m.base);
}

static size_t dialect_of(struct grpc_call *c)
{
	for (size_t i = 0; i < PLUGIN_WIRE_HEALTH; i++)
		if (grpc_call_method(c) == &plugin_wire_health[i].watch)
			return i;
	fail();
	return 0;
}

static void serve_health(struct grpc_call *c, const void *request UNUSED)
{
	struct fake_plugin *f = fake_of(c);
	size_t dialect = dialect_of(c);

	f->health_opens[dialect]++;
	f->health[dialect] = grpc_call_ref(c);
	if (f->fail_health)
		(void)grpc_call_finish(c, f->fail_health, STR("no health today"));
}

static void end_health(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	struct fake_plugin *f = fake_of(c);
	size_t dialect = dialect_of(c);

	if (f->health[dialect] == c)
		f->health[dialect] = NULL;
	grpc_call_unref(c);
}

static const struct grpc_handler registration_rows[] = {
	{ .method = &plugin_wire_get_info, .on_request = serve_info },
	{ .method = &plugin_wire_notify, .on_request = serve_notify },
};
static const struct grpc_handler device_rows[] = {
	{ .method = &plugin_wire_options, .on_request = serve_options },
	{ .method = &plugin_wire_list_and_watch, .on_request = serve_list, .ops.on_end = end_list },
	{ .method = &plugin_wire_preferred, .on_request = serve_preferred },
	{ .method = &plugin_wire_allocate, .on_request = serve_allocate },
	{ .method = &plugin_wire_prestart, .on_request = serve_prestart },
};
static const struct grpc_handler dra_rows[][2] = {
	{ { .method = &plugin_wire_dra[0].prepare, .on_request = serve_prepare },
	  { .method = &plugin_wire_dra[0].unprepare, .on_request = serve_unprepare } },
	{ { .method = &plugin_wire_dra[1].prepare, .on_request = serve_prepare },
	  { .method = &plugin_wire_dra[1].unprepare, .on_request = serve_unprepare } },
};
static const struct grpc_handler health_rows[PLUGIN_WIRE_HEALTH] = {
	{ .method = &plugin_wire_health[0].watch,
	  .on_request = serve_health,
	  .ops.on_end = end_health },
	{ .method = &plugin_wire_health[1].watch,
	  .on_request = serve_health,
	  .ops.on_end = end_health },
	{ .method = &plugin_wire_health[2].watch,
	  .on_request = serve_health,
	  .ops.on_end = end_health },
};

static void add_services(struct fake_plugin *f, unsigned services)
{
	if (services & FAKE_REGISTRATION)
		grpc_server_add(f->grpc, registration_rows, ARRAY_SIZE(registration_rows), f);
	if (services & FAKE_DEVICE)
		grpc_server_add(f->grpc, device_rows, ARRAY_SIZE(device_rows), f);
	for (unsigned i = 0; i < PLUGIN_WIRE_DRA; i++)
		if (services & ((unsigned)FAKE_DRA << i))
			grpc_server_add(f->grpc, dra_rows[i], 2, f);
	for (unsigned i = 0; i < PLUGIN_WIRE_HEALTH; i++)
		if (services & ((unsigned)FAKE_HEALTH << i))
			grpc_server_add(f->grpc, &health_rows[i], 1, f);
}

/* --- a fake's life ------------------------------------------------------------------- */

static void plugins_world_on_http(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	grpc_server_handle(((struct fake_plugin *)arg)->grpc, s);
}

static void address_of(const char *path, struct addr *ret_addr)
{
	char text[160];

	(void)snprintf(text, sizeof(text), "unix:%s", path);
	assert_int_equal(addr_parse(ret_addr, str_from(text), 0, NULL), 0);
}

static void make_parents(char *path)
{
	for (char *at = path + 5; (at = strchr(at + 1, '/'));) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
}

/* Notifies the watchers of all parent folders, because its own folder may be new. */
static void touch_parents(const struct fake_plugin *f)
{
	char folder[128];

	(void)snprintf(folder, sizeof(folder), "%s", f->path);
	for (char *slash; (slash = strrchr(folder, '/')) && strlen(folder) > strlen(f->w->dir);) {
		*slash = '\0';
		sim_touch(f->w->sim, folder, slash + 1);
	}
}

void fake_plugin_file(struct fake_plugin *f, bool there)
{
	if (there) {
		make_parents(f->path);
		assert_int_equal(mknod(f->path, S_IFSOCK | 0600, 0), 0);
	} else {
		(void)unlink(f->path);
	}
	touch_parents(f);
}

void fake_plugin_renew_file(struct fake_plugin *f)
{
	char path[128];

	/* Both files exist for a moment, so the inode differs. */
	(void)snprintf(path, sizeof(path), "%s/renewed", f->w->dir);
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
	assert_int_equal(rename(path, f->path), 0);
	touch_parents(f);
}

struct fake_plugin *fake_plugin_new(struct plugins_world *w, const char *path, unsigned services)
{
	struct fake_plugin *f = XNEW(struct fake_plugin);
	struct http_server_opts opts = { .nloops = 1, .handler = plugins_world_on_http, .arg = f };
	struct addr at;

	f->w = w;
	f->type = f->name = f->endpoint = "";
	f->loop = sim_loop_new(w->sim, path);
	opts.loops = &f->loop;
	(void)snprintf(f->path, sizeof(f->path), "%s/%s", w->dir, path);
	address_of(f->path, &at);
	f->grpc = grpc_server_new(NULL);
	add_services(f, services);
	f->http = http_server_new(&opts);
	assert_int_equal(http_server_listen(f->http, &at, NULL, 0, NULL, NULL), 0);
	list_push_back(&w->fakes, &f->link);
	fake_plugin_file(f, true);
	return f;
}

struct fake_plugin *fake_driver_new(struct plugins_world *w, const char *file, const char *name,
				    unsigned services, const char *const *versions)
{
	char path[64];
	struct fake_plugin *f;

	(void)snprintf(path, sizeof(path), "plugins_registry/%s", file);
	f = fake_plugin_new(w, path, services | FAKE_REGISTRATION);
	f->type = "DRAPlugin";
	f->name = name;
	for (size_t i = 0; i < ARRAY_SIZE(f->versions) && versions[i]; i++)
		f->versions[i] = versions[i];
	return f;
}

static void plugins_world_on_drained(void *arg)
{
	struct fake_plugin *f = arg;

	http_server_free(TAKE(f->http));
	grpc_server_free(TAKE(f->grpc));
}

void fake_plugin_stop(struct fake_plugin *f, bool remove_file)
{
	grpc_channel_free(TAKE(f->channel));
	if (f->http && !f->drained)
		http_server_drain(f->http, 0, plugins_world_on_drained, f);
	f->drained = true;
	if (remove_file)
		fake_plugin_file(f, false);
}

/* --- messages of a fake -------------------------------------------------------------- */

static void on_register_end(void *arg, struct grpc_call *c UNUSED, const struct grpc_status *st,
			    const void *reply UNUSED)
{
	struct fake_plugin *f = arg;

	f->answers++;
	f->code = st->code;
	(void)snprintf(f->message, sizeof(f->message), "%.*s", STR_ARG(st->message));
}

void fake_plugin_register(struct fake_plugin *f, const char *version, const char *resource,
			  const char *endpoint)
{
	Deviceplugin__RegisterRequest m = DEVICEPLUGIN__REGISTER_REQUEST__INIT;
	struct grpc_channel_opts opts = { 0 };
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/device-plugins/kubelet.sock", f->w->dir);
	address_of(path, &opts.to);
	if (!f->channel)
		f->channel = grpc_channel_new(f->loop, &opts);
	m.version = (char *)(uintptr_t)version;
	m.resource_name = (char *)(uintptr_t)resource;
	m.endpoint = (char *)(uintptr_t)endpoint;
	(void)grpc_channel_unary(f->channel, &plugin_wire_register, &m.base, NULL, on_register_end,
				 f);
}

/* Cuts at the first `sep`, and returns the rest or NULL. */
static char *plugins_world_cut(char *text, char sep)
{
	char *at = text ? strchr(text, sep) : NULL;

	if (at)
		*at++ = '\0';
	return at;
}

enum { DEVICES_MAX = 16 };

void fake_plugin_send_list(struct fake_plugin *f, const char *devices)
{
	Deviceplugin__ListAndWatchResponse m = DEVICEPLUGIN__LIST_AND_WATCH_RESPONSE__INIT;
	Deviceplugin__Device v[DEVICES_MAX], *all[DEVICES_MAX];
	char *text = xstrdup(devices), *next = text;

	assert_non_null(f->list);
	for (char *at = text; at && *at; at = next) {
		Deviceplugin__Device *d = &v[m.n_devices];
		char *message;

		next = plugins_world_cut(at, ' ');
		*d = (Deviceplugin__Device)DEVICEPLUGIN__DEVICE__INIT;
		d->health = plugins_world_cut(at, ':');
		message = plugins_world_cut(d->health, '/');
		d->id = at;
		if (message)
			d->message = message;
		all[m.n_devices++] = d;
	}
	m.devices = all;
	assert_int_equal(grpc_call_send(f->list, &m.base), 0);
	free(text);
}

static void send_node_health(struct grpc_call *c, char *text)
{
	Drahealth__NodeHealthResponse m = DRAHEALTH__NODE_HEALTH_RESPONSE__INIT;
	Drahealth__NodeDeviceHealth v[DEVICES_MAX], *all[DEVICES_MAX];

	for (char *at = text, *next; at && *at; at = next) {
		Drahealth__NodeDeviceHealth *d = &v[m.n_devices];
		char *message;

		next = plugins_world_cut(at, ' ');
		*d = (Drahealth__NodeDeviceHealth)DRAHEALTH__NODE_DEVICE_HEALTH__INIT;
		d->health_status = plugins_world_cut(at, ':');
		message = plugins_world_cut(d->health_status, '|');
		d->device_name = plugins_world_cut(at, '/');
		d->pool_name = at;
		if (message)
			d->message = message;
		all[m.n_devices++] = d;
	}
	m.devices = all;
	assert_int_equal(grpc_call_send(c, &m.base), 0);
}

static void send_health(struct grpc_call *c, char *text)
{
	Drahealth__WatchResponse m = DRAHEALTH__WATCH_RESPONSE__INIT;
	Drahealth__DeviceHealth v[DEVICES_MAX], *all[DEVICES_MAX];
	Drahealth__DeviceIdentifier ids[DEVICES_MAX];

	for (char *at = text, *next; at && *at; at = next) {
		Drahealth__DeviceHealth *d = &v[m.n_devices];
		Drahealth__DeviceIdentifier *id = &ids[m.n_devices];
		char *word, *message;

		next = plugins_world_cut(at, ' ');
		*d = (Drahealth__DeviceHealth)DRAHEALTH__DEVICE_HEALTH__INIT;
		*id = (Drahealth__DeviceIdentifier)DRAHEALTH__DEVICE_IDENTIFIER__INIT;
		word = plugins_world_cut(at, ':');
		message = plugins_world_cut(word, '|');
		id->device_name = plugins_world_cut(at, '/');
		id->pool_name = at;
		d->device = id;
		d->health = word[0] == 'H'                   ? DRAHEALTH__HEALTH_STATUS__HEALTHY
			    : strcmp(word, "Unhealthy") == 0 ? DRAHEALTH__HEALTH_STATUS__UNHEALTHY
							     : DRAHEALTH__HEALTH_STATUS__UNKNOWN;
		if (message)
			d->message = message;
		all[m.n_devices++] = d;
	}
	m.devices = all;
	assert_int_equal(grpc_call_send(c, &m.base), 0);
}

void fake_plugin_send_health(struct fake_plugin *f, unsigned dialect, const char *devices)
{
	char *text = xstrdup(devices);

	assert_non_null(f->health[dialect]);
	if (dialect == PLUGIN_WIRE_HEALTH - 1)
		send_node_health(f->health[dialect], text);
	else
		send_health(f->health[dialect], text);
	free(text);
}

void fake_plugin_send_garbage(struct grpc_call *stream)
{
	/* A message of three bytes: a field whose length runs beyond its end. */
	static const char garbage[] = { 0, 0, 0, 0, 3, 0x0A, 0x7F, 0x01 };
	struct bytes *b = bytes_copy(str_of(garbage, sizeof(garbage)));

	assert_int_equal(grpc_call_send_packed(stream, b), 0);
	bytes_unref(b);
}

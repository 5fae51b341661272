/*
 * In the real world the condition is checked in each turn, without waiting; the guard ends tests
 * that hang.
 */
#include "node/podresources/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "net/sim/sim.h"
#include "node/book/methods.h"

enum { GUARD_MS = 60 * 1000 };

/* --- the world ----------------------------------------------------------------------- */

static void world_on_look(struct loop_task *t)
{
	struct podres_world *w = CONTAINER_OF(t, struct podres_world, look);

	if (w->holds(w->arg))
		loop_stop(w->loop);
	else
		loop_defer(w->loop, t);
}

static void on_guard(struct loop_timer *t)
{
	struct podres_world *w = CONTAINER_OF(t, struct podres_world, guard);

	w->hung = true;
	loop_stop(w->loop);
}

void podres_world_run_until(struct podres_world *w, bool (*holds)(void *arg), void *arg)
{
	if (w->sim) {
		assert_true(sim_run_until(w->sim, holds, arg, GUARD_MS));
		return;
	}
	w->holds = holds;
	w->arg = arg;
	loop_defer(w->loop, &w->look);
	loop_timer_start(&w->guard, GUARD_MS);
	loop_run(w->loop);
	loop_timer_stop(&w->guard);
	loop_task_cancel(&w->look);
	assert_false(w->hung);
}

void podres_world_settle(struct podres_world *w)
{
	sim_run_for(w->sim, 200);
}

struct grpc_channel *podres_world_connect(struct podres_world *w)
{
	struct grpc_channel_opts opts = { .backoff_initial_ms = 10, .backoff_max_ms = 100 };
	char text[96];

	(void)snprintf(text, sizeof(text), "unix:%s", w->path);
	assert_int_equal(addr_parse(&opts.to, str_from(text), 0, NULL), 0);
	return grpc_channel_new(w->client_loop, &opts);
}

void podres_world_start(struct podres_world *w)
{
	struct error err;

	if (podres_server_new(&w->opts, &w->server, &err) < 0)
		fail_msg("%s", err.msg);
	w->closed = false;
	if (!w->channel)
		w->channel = podres_world_connect(w);
}

void podres_world_init(struct podres_world *w, bool simulated)
{
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/podres-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/below/kubelet.sock", w->dir);
	if (simulated) {
		w->sim = sim_new(&(struct sim_opts){ .seed = 11 });
		w->loop = sim_loop_new(w->sim, "node");
		w->client_loop = sim_loop_new(w->sim, "client");
	} else {
		assert_int_equal(loop_new(&w->loop, NULL), 0);
		w->client_loop = w->loop;
		loop_task_init(&w->look, world_on_look);
		loop_timer_init(&w->guard, w->loop, on_guard);
	}
	w->book = podres_new(PODRES_WORLD_EPOCH);
	w->metrics = metrics_new();
	w->opts = (struct podres_server_opts){
		.loop = w->loop,
		.book = w->book,
		.path = w->path,
		.group = -1,
		.watch = true,
		.metrics = w->metrics,
		.log = log_null(),
	};
}

static void world_on_closed(void *arg)
{
	((struct podres_world *)arg)->closed = true;
}

static bool is_closed(void *arg)
{
	return ((struct podres_world *)arg)->closed;
}

void podres_world_stop(struct podres_world *w)
{
	podres_server_close(w->server, world_on_closed, w);
	w->server = NULL;
	podres_world_run_until(w, is_closed, w);
}

static bool turned_enough(void *arg)
{
	return ++*(int *)arg > 20; /* lets closed handles be freed */
}

void podres_world_release(struct podres_world *w)
{
	char below[64];
	int turns = 0;

	if (w->channel)
		grpc_channel_free(w->channel);
	if (w->server)
		podres_world_stop(w);
	if (w->sim)
		podres_world_settle(w);
	else
		podres_world_run_until(w, turned_enough, &turns);
	if (w->sim)
		loop_free(w->client_loop);
	loop_free(w->loop);
	sim_free(w->sim);
	podres_free(w->book);
	metrics_free(w->metrics);
	(void)snprintf(below, sizeof(below), "%s/below", w->dir);
	(void)unlink(w->path);
	(void)rmdir(below);
	assert_int_equal(rmdir(w->dir), 0);
}

double podres_world_value(struct podres_world *w, const char *series)
{
	struct buf text = BUF_INIT(METRICS_TEXT_MAX);
	const char *at;
	double v;

	assert_int_equal(metrics_print(w->metrics, &text), 0);
	at = strstr(text.p, series);
	while (at && at != text.p && at[-1] != '\n')
		at = strstr(at + 1, series);
	if (!at)
		fail_msg("no %s in:\n%s", series, text.p);
	v = strtod(at + strlen(series), NULL);
	buf_release(&text);
	return v;
}

/* --- pods ---------------------------------------------------------------------------- */

void podres_world_set_padded(struct podres_world *w, const char *name, const char *device,
			     size_t pad)
{
	Podresources__PodResources pod = PODRESOURCES__POD_RESOURCES__INIT;
	Podresources__ContainerResources container = PODRESOURCES__CONTAINER_RESOURCES__INIT;
	Podresources__ContainerResources *containers[] = { &container };
	Podresources__ContainerDevices devices = PODRESOURCES__CONTAINER_DEVICES__INIT;
	Podresources__ContainerDevices *lists[] = { &devices };
	char id[PODRES_WORLD_PAD + 64], uid[64];
	char *ids[] = { id };

	(void)snprintf(uid, sizeof(uid), "uid-%s", name);
	(void)snprintf(id, sizeof(id), "%s%0*d", device, (int)pad, 0);
	pod.name = (char *)(uintptr_t)name;
	pod.namespace_ = (char *)(uintptr_t) "default";
	pod.containers = containers;
	pod.n_containers = 1;
	container.name = (char *)(uintptr_t) "main";
	container.devices = lists;
	container.n_devices = 1;
	devices.resource_name = (char *)(uintptr_t) "example.com/gpu";
	devices.device_ids = ids;
	devices.n_device_ids = 1;
	(void)podres_set_pod(w->book, str_from(uid), &pod, 0);
}

void podres_world_set_pod(struct podres_world *w, const char *name, const char *device)
{
	podres_world_set_padded(w, name, device, 1);
}

void podres_world_drop_pod(struct podres_world *w, const char *name)
{
	char uid[64];

	(void)snprintf(uid, sizeof(uid), "uid-%s", name);
	assert_true(podres_drop_pod(w->book, str_from(uid)));
}

void podres_world_set_cpus(struct podres_world *w, size_t n)
{
	Podresources__AllocatableResponse m = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	int64_t cpus[64];

	for (size_t i = 0; i < n; i++)
		cpus[i] = (int64_t)i;
	m.cpu_ids = cpus;
	m.n_cpu_ids = n;
	(void)podres_set_allocatable(w->book, &m);
}

/* --- unary calls --------------------------------------------------------------------- */

static void print_pods(struct podres_answer *a, Podresources__PodResources *const *v, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n && at < sizeof(a->text); i++)
		at += (size_t)snprintf(a->text + at, sizeof(a->text) - at, "%s/%s:%.4s ",
				       v[i]->namespace_, v[i]->name,
				       v[i]->containers[0]->devices[0]->device_ids[0]);
}

static void read_answer(struct podres_answer *a, const struct grpc_method *m, const void *reply)
{
	const Podresources__ListResponse *list = reply;
	const Podresources__GetResponse *get = reply;
	const Podresources__AllocatableResponse *allocatable = reply;

	if (m == &podres_method_get) {
		print_pods(a, &get->pod_resources, 1);
	} else if (m == &podres_method_allocatable) {
		(void)snprintf(a->text, sizeof(a->text), "%zu cpus", allocatable->n_cpu_ids);
		a->revision = allocatable->revision;
	} else {
		print_pods(a, list->pod_resources, list->n_pod_resources);
		a->revision = list->revision;
	}
}

static void world_on_answer(void *arg, struct grpc_call *c, const struct grpc_status *st,
			    const void *reply)
{
	struct podres_answer *a = arg;

	a->done = true;
	a->code = st->code;
	(void)snprintf(a->message, sizeof(a->message), "%.*s", STR_ARG(st->message));
	if (reply)
		read_answer(a, grpc_call_method(c), reply);
}

static bool is_answered(void *arg)
{
	return ((struct podres_answer *)arg)->done;
}

void podres_world_call(struct podres_world *w, const struct grpc_method *m,
		       const ProtobufCMessage *request, struct podres_answer *ret_answer)
{
	*ret_answer = (struct podres_answer){ 0 };
	(void)grpc_channel_unary(w->channel, m, request, NULL, world_on_answer, ret_answer);
	podres_world_run_until(w, is_answered, ret_answer);
}

void podres_world_get(struct podres_world *w, const char *ns, const char *name,
		      struct podres_answer *ret_answer)
{
	Podresources__GetRequest m = PODRESOURCES__GET_REQUEST__INIT;

	m.pod_namespace = (char *)(uintptr_t)ns;
	m.pod_name = (char *)(uintptr_t)name;
	podres_world_call(w, &podres_method_get, &m.base, ret_answer);
}

/* --- watches ------------------------------------------------------------------------- */

static const char *const actions[] = { "ADDED", "DELETED", "UPDATED" };

static void world_on_head(struct grpc_call *c)
{
	((struct podres_seen *)grpc_call_data(c))->opened = true;
}

static void note_pod(struct podres_seen *z, const Podresources__PodEvent *e)
{
	const Podresources__PodResources *p = e->n_pod_resources ? e->pod_resources[0] : NULL;

	z->revision = e->revision;
	if (e->initial_end)
		(void)buf_printf(&z->lines, "END ");
	else if (!p)
		(void)buf_printf(&z->lines, "RESET ");
	else if (p->n_containers && p->containers[0]->n_devices)
		(void)buf_printf(&z->lines, "%s %s:%.4s ", actions[e->action], p->name,
				 p->containers[0]->devices[0]->device_ids[0]);
	else
		(void)buf_printf(&z->lines, "%s %s ", actions[e->action], p->name);
}

static void note_allocatable(struct podres_seen *z, const Podresources__AllocatableEvent *e)
{
	z->revision = e->revision;
	if (e->initial_end)
		(void)buf_printf(&z->lines, "END ");
	else
		(void)buf_printf(&z->lines, "%s %zu cpus ", actions[e->action], e->n_cpu_ids);
}

static void on_event(struct grpc_call *c, const void *message)
{
	struct podres_seen *z = grpc_call_data(c);

	z->messages++;
	if (grpc_call_method(c) == &podres_method_watch)
		note_pod(z, message);
	else
		note_allocatable(z, message);
}

static void on_watch_end(struct grpc_call *c, const struct grpc_status *st)
{
	struct podres_seen *z = grpc_call_data(c);

	z->call = NULL;
	z->ended = true;
	z->code = st->code;
	(void)snprintf(z->message, sizeof(z->message), "%.*s", STR_ARG(st->message));
}

static const struct grpc_call_ops watch_ops = {
	.on_metadata = world_on_head,
	.on_message = on_event,
	.on_end = on_watch_end,
};

void podres_seen_send(struct grpc_channel *ch, const struct grpc_method *m,
		      const Podresources__WatchRequest *request, const struct grpc_call_opts *opts,
		      struct podres_seen *z)
{
	*z = (struct podres_seen){ .lines = BUF_INIT(16UL * MIB) };
	z->call = grpc_channel_call(ch, m, opts, &watch_ops, z);
	assert_int_equal(grpc_call_send(z->call, &request->base), 0);
	assert_int_equal(grpc_call_half_close(z->call), 0);
}

bool podres_seen_is_open(void *arg)
{
	struct podres_seen *z = arg;

	return z->opened || z->ended;
}

bool podres_seen_has_ended(void *arg)
{
	return ((struct podres_seen *)arg)->ended;
}

void podres_seen_open(struct podres_world *w, const struct grpc_method *m, bool initial,
		      int64_t after, struct podres_seen *z)
{
	Podresources__WatchRequest request = PODRESOURCES__WATCH_REQUEST__INIT;

	request.send_initial = initial;
	request.after_revision = after;
	podres_seen_send(w->channel, m, &request, NULL, z);
	podres_world_run_until(w, podres_seen_is_open, z);
}

static bool is_caught_up(void *arg)
{
	struct podres_seen *z = ((void **)arg)[0];
	struct podres_world *w = ((void **)arg)[1];

	return z->ended || z->revision == podres_revision(w->book);
}

void podres_seen_catch_up(struct podres_world *w, struct podres_seen *z)
{
	void *both[] = { z, w };

	podres_world_run_until(w, is_caught_up, both);
}

void podres_seen_expect(struct podres_world *w, struct podres_seen *z, const char *lines)
{
	podres_seen_catch_up(w, z);
	assert_string_equal(z->lines.p ? z->lines.p : "", lines);
	buf_clear(&z->lines);
}

void podres_seen_close(struct podres_seen *z)
{
	if (z->call)
		grpc_call_cancel(z->call);
	buf_release(&z->lines);
}

/*
 * Sets up a scheduler for tests, like cmd_scheduler.c does for the real one.
 */
#include "scheduler/run/scheduler_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "scheduler/cache/nodecache.h"

/* --- requests ----------------------------------------------------------------------------- */

static int faulty(struct scheduler_world *w, int fault)
{
	if (fault == FAKEAPI_WELL)
		return fault;
	if (w->fault_count > 0 && --w->fault_count == 0)
		w->on_bind = w->on_status = FAKEAPI_WELL;
	return fault;
}

static int scheduler_world_on_request(void *arg, const struct fakeapi_query *q)
{
	struct scheduler_world *w = arg;

	if (str_eq(q->method, STR("POST")) && str_ends(q->path, STR("/binding"))) {
		w->bindings++;
		return faulty(w, w->on_bind);
	}
	if (str_eq(q->method, STR("PATCH")) && str_ends(q->path, STR("/status"))) {
		w->patches++;
		return faulty(w, w->on_status);
	}
	w->leases += str_find(q->path, STR("/leases")) >= 0;
	return FAKEAPI_WELL;
}

/* --- life --------------------------------------------------------------------------------- */

static void read_config(struct scheduler_world *w, const char *config)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct error err;

	(void)buf_printf(&text,
			 "apiVersion: kubescheduler.config.k8s.io/v1\n"
			 "kind: KubeSchedulerConfiguration\n%s",
			 config[0] ? config : "leaderElection: {leaderElect: false}\n");
	config_init(&w->config);
	if (config_read(&w->config, buf_str(&text), &err) < 0)
		fail_msg("%s", err.msg);
	buf_release(&text);
}

static void read_kubeconfig(struct scheduler_world *w)
{
	static const struct str text = STR(
		"{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"http://api:80\"}}],"
		"\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],"
		"\"users\":[{\"name\":\"u\",\"user\":{}}],\"current-context\":\"x\"}");
	struct error err;

	if (kubeconfig_parse(&w->kubeconfig, text, "test", "/", NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

struct scheduler_world *scheduler_world_new(uint64_t seed, const char *config)
{
	struct scheduler_world *w = XNEW(struct scheduler_world);

	w->sim = sim_new(&(struct sim_opts){ .seed = seed });
	w->api = fakeapi_new(w->sim, seed);
	w->api->fault = scheduler_world_on_request;
	w->api->fault_arg = w;
	w->loop = sim_loop_new(w->sim, "scheduler");
	gates_init(&w->gates);
	read_config(w, config);
	read_kubeconfig(w);
	return w;
}

void scheduler_world_free(struct scheduler_world *w)
{
	if (w->scheduler)
		scheduler_world_stop(w);
	fakeapi_free(w->api);
	loop_free(w->loop);
	sim_free(w->sim);
	config_release(&w->config);
	kubeconfig_release(&w->kubeconfig);
	free(w);
}

static void scheduler_world_on_lost(void *arg, const struct error *why UNUSED)
{
	((struct scheduler_world *)arg)->lost++;
}

static bool scheduler_world_is_ready(void *arg)
{
	return scheduler_check_ready(((struct scheduler_world *)arg)->scheduler, NULL) == 0;
}

void scheduler_world_start(struct scheduler_world *w)
{
	struct scheduler_opts o = { .loop = w->loop,
				    .kubeconfig = &w->kubeconfig,
				    .config = &w->config,
				    .gates = &w->gates,
				    .identity = "us",
				    .log = log_null(),
				    .on_lost = scheduler_world_on_lost,
				    .arg = w };
	struct error err;

	if (scheduler_new(&o, &w->scheduler, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(sim_run_until(w->sim, scheduler_world_is_ready, w, 60000));
}

static void scheduler_world_on_stopped(void *arg)
{
	((struct scheduler_world *)arg)->stopped = true;
}

static bool is_stopped(void *arg)
{
	return ((struct scheduler_world *)arg)->stopped;
}

void scheduler_world_drop(struct scheduler_world *w)
{
	scheduler_free(TAKE(w->scheduler));
	sim_run_for(w->sim, 100);
}

void scheduler_world_stop(struct scheduler_world *w)
{
	w->stopped = false;
	scheduler_stop(w->scheduler, scheduler_world_on_stopped, w);
	assert_true(sim_run_until(w->sim, is_stopped, w, 60000));
	scheduler_world_drop(w);
}

void scheduler_world_run(struct scheduler_world *w, int64_t ms)
{
	sim_run_for(w->sim, ms);
}

/* --- objects ------------------------------------------------------------------------------ */

void scheduler_world_node(struct scheduler_world *w, const char *name, int cpu)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       ",\"spec\":{},\"status\":{\"allocatable\":{\"cpu\":\"%d\",\"memory\":"
		       "\"64Gi\",\"pods\":\"110\"}}",
		       cpu);
	fakeapi_add(w->api, "nodes", "", name, "", text);
}

void scheduler_world_pod_with(struct scheduler_world *w, const char *name, int cpu,
			      const char *meta)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       ",\"spec\":{\"schedulerName\":\"default-scheduler\",\"containers\":[{"
		       "\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}",
		       cpu);
	fakeapi_add(w->api, "pods", "default", name, meta, text);
}

void scheduler_world_pod(struct scheduler_world *w, const char *name, int cpu)
{
	scheduler_world_pod_with(w, name, cpu, "");
}

void scheduler_world_remove_node(struct scheduler_world *w, const char *name)
{
	char target[256];

	(void)snprintf(target, sizeof(target), "/api/v1/nodes/%s", name);
	assert_int_equal(fakeapi_call(w->api, "DELETE", target, STR_NULL, NULL), 200);
}

/* A bound pod is removed when its node confirms it: here by any write after the deletion. */
void scheduler_world_remove_pod(struct scheduler_world *w, const char *name)
{
	char target[256];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/default/pods/%s", name);
	assert_int_equal(fakeapi_call(w->api, "DELETE", target, STR_NULL, NULL), 200);
	if (fakeapi_find(w->api, "pods", "default", name))
		(void)fakeapi_call(w->api, "PATCH", target,
				   STR("{\"metadata\":{\"finalizers\":null}}"), NULL);
	assert_null(fakeapi_find(w->api, "pods", "default", name));
}

int scheduler_world_bind(struct scheduler_world *w, const char *pod, const char *node)
{
	char target[256], body[256];

	(void)snprintf(target, sizeof(target), "/api/v1/namespaces/default/pods/%s/binding", pod);
	(void)snprintf(body, sizeof(body), "{\"metadata\":{},\"target\":{\"name\":\"%s\"}}", node);
	return fakeapi_call(w->api, "POST", target, str_from(body), NULL);
}

/* --- what has become of it ---------------------------------------------------------------- */

bool scheduler_world_is_on(const struct scheduler_world *w, const char *pod, const char *node)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "\"nodeName\":\"%s\"", node);
	if (!fakeapi_find(w->api, "pods", "default", pod))
		return false;
	if (!node[0])
		return !fakeapi_has(w->api, "pods", "default", pod, "\"nodeName\"");
	return fakeapi_has(w->api, "pods", "default", pod, text);
}

size_t scheduler_world_events(const struct scheduler_world *w, const char *text)
{
	struct omap_cursor c;
	size_t n = 0;

	for (bool ok = omap_first(&w->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);

		n += strcmp(o->kind->group, "events.k8s.io") == 0 && strstr(o->text, text);
	}
	return n;
}

void scheduler_world_check(const struct scheduler_world *w)
{
	struct buf faults = BUF_INIT(MIB);

	nodecache_check(w->scheduler->nodes, &faults);
	if (faults.n > 0)
		fail_msg("%.*s", STR_ARG(buf_str(&faults)));
	buf_release(&faults);
}

void scheduler_world_check_quiet(const struct scheduler_world *w)
{
	scheduler_world_check(w);
	assert_int_equal(nodecache_assumed(w->scheduler->nodes), 0);
	assert_true(list_empty(&w->scheduler->bindings));
	assert_int_equal(w->scheduler->by_uid.n, 0);
	assert_true(list_empty(&w->scheduler->patches));
	assert_int_equal(w->scheduler->writing, 0);
	assert_int_equal(podqueue_count(w->scheduler->queue, QUEUE_IN_FLIGHT), 0);
}

int64_t scheduler_world_taken(const struct scheduler_world *w, const char *node)
{
	const struct nodeinfo *n = nodecache_node(w->scheduler->nodes, str_from(node));

	return n && n->node ? n->requested.cpu_milli : -1;
}

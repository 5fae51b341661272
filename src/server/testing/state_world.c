/*
 * The server's side: lifecycle, and shortcuts for tests without HTTP.
 */
#include "server/testing/state_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/system/folder_fixture.h"
#include "net/http/server.h"
#include "net/sim/sim.h"
#include "server/engine/watch.h"
#include "store/lmdb/store.h"

enum { HANG_MS = 600 * 1000 };

static const char *const resources[] = { "pods", "configmaps", "nodes", "events" };

const struct schema_kind *state_world_kind(struct str resource)
{
	const struct schema_kind *k = schema_find_resource(STR(""), STR("v1"), resource);

	assert_non_null(k);
	return k;
}

struct resource *state_world_resource(struct state_world *w, const char *resource)
{
	struct resource *r = state_resource(w->state, state_world_kind(str_from(resource)));

	assert_non_null(r);
	return r;
}

/* --- lifecycle -------------------------------------------------------------------- */

static void on_ready(void *arg, const struct error *err)
{
	struct state_world *w = arg;

	assert_false(w->ready);
	w->ready = true;
	if (err)
		w->err = *err;
}

static void on_waiting(void *arg, const struct error *err)
{
	struct state_world *w = arg;

	assert_true(err->code == ERR_UNAVAILABLE || err->code == ERR_EXPIRED);
	w->waits++;
}

static bool state_world_is_ready(void *arg)
{
	return ((struct state_world *)arg)->ready;
}

static struct store *open_store(struct state_world *w)
{
	struct store_lmdb_opts opts = { .dir = w->opts.lmdb,
					.inline_commit = true,
					.map_size = 64 * 1024 * 1024 };
	struct store *s;

	w->opts.store.seed = w->opts.seed + 7;
	if (!w->opts.lmdb)
		return fake_store_open(w->loop, w->data, &w->opts.store);
	assert_int_equal(store_lmdb_open(w->loop, &opts, &s, NULL), 0);
	return s;
}

void state_world_begin(struct state_world *w)
{
	const struct schema_kind *kinds[ARRAY_SIZE(resources)];
	struct state_opts opts = {
		.loop = w->loop,
		.gates = &w->gates,
		.lanes = w->lanes,
		.nlanes = w->nlanes,
		.kinds = kinds,
		.nkinds = ARRAY_SIZE(resources),
		.ring_bytes = w->opts.ring_bytes,
		.event_ttl_ms = w->opts.event_ttl_ms,
		.observers = w->opts.observers,
		.nobservers = w->opts.nobservers,
		.on_ready = on_ready,
		.on_waiting = on_waiting,
		.arg = w,
	};

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++)
		kinds[i] = state_world_kind(str_from(resources[i]))->storage;
	w->ready = w->stopping = w->stopped = false;
	if (!w->store)
		w->store = open_store(w);
	opts.store = w->store;
	w->state = state_new(&opts);
}

void state_world_start(struct state_world *w)
{
	state_world_begin(w);
	assert_true(sim_run_until(w->sim, state_world_is_ready, w, HANG_MS));
}

static void state_world_on_stopped(void *arg)
{
	struct state_world *w = arg;

	assert_false(w->stopped);
	w->stopped = true;
}

static bool is_stopped(void *arg)
{
	return ((struct state_world *)arg)->stopped;
}

void state_world_stop(struct state_world *w)
{
	w->stopping = true;
	watch_stop(w->state);
	state_stop(w->state, state_world_on_stopped, w);
	assert_true(sim_run_until(w->sim, is_stopped, w, HANG_MS));
	assert_int_equal(watch_count(w->state), 0);
	sim_run_for(w->sim, 1); /* runs deferred work */
	state_free(w->state);
	w->state = NULL;
	w->store = NULL;
}

static void testing_state_world_serve(struct state_world *w)
{
	char at[64];

	(void)snprintf(at, sizeof(at), ":%d", 80 + w->opts.port);
	state_world_serve(w, str_from(at));
	(void)snprintf(at, sizeof(at), "%s:%d", w->opts.host ? w->opts.host : "server",
		       80 + w->opts.port);
	assert_int_equal(addr_parse(&w->at, str_from(at), 0, NULL), 0);
}

void state_world_init(struct state_world *w, const struct state_world_opts *opts)
{
	const char *host = opts->host ? opts->host : "server";
	struct sim_opts sim = { .seed = opts->seed };

	*w = (struct state_world){ .opts = *opts, .sim = opts->sim, .data = opts->data };
	gates_init(&w->gates);
	arena_init(&w->arena, SIZE_MAX);
	if (!w->sim)
		w->sim = sim_new(&sim);
	if (!w->data)
		w->data = fake_data_new();
	w->nlanes = opts->nlanes ? opts->nlanes : 1;
	assert_true(w->nlanes <= STATE_WORLD_LANES);
	for (size_t i = 0; i < w->nlanes; i++)
		w->lanes[i] = sim_loop_new(w->sim, host);
	w->loop = opts->apart ? sim_loop_new(w->sim, host) : w->lanes[0];
	state_world_start(w);
	if (opts->http)
		testing_state_world_serve(w);
}

static void state_world_on_drained(void *arg)
{
	((struct state_world *)arg)->drained = true;
}

static bool is_drained(void *arg)
{
	return ((struct state_world *)arg)->drained;
}

static void stop_http(struct state_world *w)
{
	if (!w->http)
		return;
	http_server_drain(w->http, 1000, state_world_on_drained, w);
	assert_true(sim_run_until(w->sim, is_drained, w, HANG_MS));
	http_server_free(w->http);
}

void state_world_release(struct state_world *w)
{
	if (w->state)
		state_world_stop(w);
	stop_http(w);
	sim_run_for(w->sim, 10);
	arena_release(&w->arena);
	if (w->loop != w->lanes[0])
		loop_free(w->loop);
	for (size_t i = 0; i < w->nlanes; i++)
		loop_free(w->lanes[i]);
	if (!w->opts.data)
		fake_data_free(w->data);
	if (!w->opts.sim)
		sim_free(w->sim);
}

/* --- objects ---------------------------------------------------------------------- */

struct json *state_world_object(struct arena *a, const struct schema_kind *kind, const char *ns,
				const char *name, const char *rest)
{
	struct json *tree;
	const char *text = arena_printf(
		a,
		"{\"apiVersion\":\"%.*s\",\"kind\":\"%.*s\",\"metadata\":{\"name\":\"%s\"%s%s%s,"
		"\"uid\":\"u-%s\",\"creationTimestamp\":\"2024-01-01T00:00:00Z\"}%s%s}",
		STR_ARG(kind->api_version), STR_ARG(kind->kind), name,
		ns && *ns ? ",\"namespace\":\"" : "", ns ? ns : "", ns && *ns ? "\"" : "", name,
		rest ? "," : "", rest ? rest : "");

	assert_int_equal(json_parse(a, str_from(text), NULL, &tree, NULL), 0);
	return tree;
}

struct json *state_world_pod(struct arena *a, const char *ns, const char *name, const char *labels,
			     const char *node)
{
	struct json *tree = state_world_object(
		a, state_world_kind(STR("pods")), ns, name,
		node ? arena_printf(a, "\"spec\":{\"nodeName\":\"%s\"}", node) : "\"spec\":{}");
	struct json *parsed;

	if (labels) {
		assert_int_equal(json_parse(a, str_from(labels), NULL, &parsed, NULL), 0);
		json_setz(json_getz(tree, "metadata"), "labels", parsed);
	}
	return tree;
}

struct one_write {
	struct job job;
	struct state_write write;
	struct state_world *world;
	struct resource *resource;
	struct str ns, name;
	const struct json *tree;
	int64_t result;
	bool over;
};

static void one_done(struct job *j)
{
	CONTAINER_OF(j, struct one_write, job)->over = true;
}

static void one_written(struct state_write *w, struct object *o, const struct error *err)
{
	struct one_write *one = CONTAINER_OF(w, struct one_write, write);

	one->result = err ? -(int64_t)err->code : o->revision;
	job_finish(&one->job);
}

static void one_run(struct state *st, struct job *j)
{
	struct one_write *one = CONTAINER_OF(j, struct one_write, job);
	struct object *tip = resource_tip(one->resource, one->ns, one->name);
	int r;

	one->write.done = one_written;
	r = state_write(&one->write, one->resource, one->ns, one->name, tip, one->tree,
			&one->world->arena, NULL);
	if (r < 0) {
		one->result = r;
		job_finish(j);
	}
}

static bool one_over(void *arg)
{
	return ((struct one_write *)arg)->over;
}

int64_t state_world_write(struct state_world *w, const char *resource, const char *ns,
			  const char *name, const struct json *tree)
{
	struct one_write one = {
		.job = { .home = w->loop, .run = one_run, .done = one_done },
		.world = w,
		.resource = state_world_resource(w, resource),
		.ns = str_from(ns),
		.name = str_from(name),
		.tree = tree,
	};

	state_submit(w->state, &one.job);
	assert_true(sim_run_until(w->sim, one_over, &one, HANG_MS));
	return one.result;
}

static void listed(void *arg, const struct list_result *result, const struct error *err)
{
	if (err)
		fail_msg("list: %s", err->msg);
	*(struct list_result *)arg = *result;
}

struct list_result state_world_list(struct state_world *w, const char *resource,
				    const struct list_query *q)
{
	struct list_result result = { .n = SIZE_MAX };

	resource_list(state_world_resource(w, resource), q, &w->arena, listed, &result);
	assert_true(result.n != SIZE_MAX);
	return result;
}

void state_world_remove(const char *folder)
{
	folder_fixture_remove(folder);
}

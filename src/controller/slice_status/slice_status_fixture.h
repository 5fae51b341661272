/*
 * slice_status_fixture - for tests: a controller that publishes the status of slices to a fake API
 * server. Objects are written in the line format of dra/inventory/inventory_fixture.h.
 */
#ifndef CONTROLLER_SLICE_STATUS_SLICE_STATUS_FIXTURE_H
#define CONTROLLER_SLICE_STATUS_SLICE_STATUS_FIXTURE_H

#include "dra/inventory/inventory_fixture.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/report/metrics.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/run/controller_world.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_status.h"
#include "dra/availability/availability.h"
#include "net/loop/loop.h"

#define SLICES  "/apis/resource.k8s.io/v1/resourceslices"
#define CLAIMS  "/apis/resource.k8s.io/v1/namespaces/"
#define RULES   "/apis/resource.k8s.io/v1/devicetaintrules"
#define OBJECTS "/apis/devplane.dev/v1alpha1/resourceslicestatuses"

struct bench_write {
	int64_t at; /* ms */
	char slice[64];
};

struct bench {
	struct controller_world *w;
	struct devices *devices;
	struct slice_status *status;
	struct metrics *metrics;
	bool objects; /* the status is stored in separate objects */
	bool health; /* and includes health */
	unsigned unserved; /* how often `unserved` was called */
	VEC(struct bench_write) writes; /* of status, as the server received them */
	bool carried_spec; /* one of the writes had a spec */
	/* Injects faults into the writes; or NULL. */
	int (*fault)(struct bench *b, const struct fakeapi_query *q);
	int faults; /* counter for `fault` */
	void (*on_write)(struct bench *b, const char *slice, struct str body); /* or NULL */
};

static inline int bench_on_request(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;
	struct bench_write w = { .at = sim_elapsed_ms(b->w->sim) };
	const char *under = b->objects ? OBJECTS : SLICES "/";
	struct str slice = q->path;

	if (!str_starts(slice, str_from(under)) || str_eq(q->method, STR("GET")))
		return FAKEAPI_WELL;
	slice = str_skip(slice, strlen(under));
	(void)snprintf(w.slice, sizeof(w.slice), "%.*s",
		       (int)(slice.n - (b->objects ? 0 : strlen("/status"))), slice.p);
	assert_true(vec_push(&b->writes, w));
	b->carried_spec |= !b->objects && str_find(q->body, STR("\"spec\"")) >= 0;
	if (b->on_write)
		b->on_write(b, w.slice, q->body);
	return b->fault ? b->fault(b, q) : FAKEAPI_WELL;
}

static inline void bench_unserved(void *arg)
{
	((struct bench *)arg)->unserved++;
}

static inline void bench_start(struct bench *b)
{
	struct slice_status_opts opts = { .unserved = bench_unserved, .arg = b };

	controller_world_start(b->w);
	b->w->ctx.metrics = b->metrics;
	b->devices = controller_world_devices(b->w, b->health);
	b->status = slice_status_new(&b->w->ctx, b->devices,
				     b->objects ? slice_sink_object_new(&b->w->ctx, b->devices)
						: slice_sink_status_new(&b->w->ctx, b->devices),
				     &opts);
	informers_start(b->w->ctx.informers);
}

static inline void bench_stop(struct bench *b)
{
	slice_status_free(TAKE(b->status));
	devices_free(TAKE(b->devices));
	controller_world_stop(b->w);
}

/* `b` is zeroed, except for the options. */
static inline void bench_init(struct bench *b, uint64_t seed)
{
	b->w = controller_world_new(seed);
	b->w->api->fault = bench_on_request;
	b->w->api->fault_arg = b;
	/* A watch from 0 would not get the events that the server has dropped. */
	b->w->api->rv = 100;
	vec_init(&b->writes, SIZE_MAX);
	bench_start(b);
}

static inline void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
	vec_release(&b->writes);
	metrics_free(b->metrics);
}

static inline bool bench_is_settled(void *arg)
{
	return slice_status_settled(((struct bench *)arg)->status);
}

/* Runs until nothing is left to do. */
static inline void run(struct bench *b)
{
	controller_world_run(b->w, 1000);
	if (!sim_run_until(b->w->sim, bench_is_settled, b, 600 * 1000))
		fail_msg("it does not come to rest");
	controller_world_run(b->w, 100);
	assert_true(slice_status_settled(b->status));
}

/* --- objects --------------------------------------------------------------------------------- */

static inline void bench_target(struct buf *out, struct str kind, struct str name)
{
	struct str ns;

	if (str_eqz(kind, "claim") && world_cut(name, '/', &ns, &name))
		buf_printf(out, CLAIMS "%.*s/resourceclaims/%.*s", STR_ARG(ns), STR_ARG(name));
	else if (str_eqz(kind, "node"))
		buf_printf(out, "/api/v1/nodes/%.*s", STR_ARG(name));
	else
		buf_printf(out, str_eqz(kind, "rule") ? RULES "/%.*s" : SLICES "/%.*s",
			   STR_ARG(name));
}

/*
 * Creates or updates an object; for a slice, its spec. A claim with another uid replaces the old.
 */
static inline void bench_put(struct bench *b, struct str kind, struct str line)
{
	struct buf body = BUF_INIT(4 * MIB), target = BUF_INIT(KIB);
	struct str rest = line;
	int status;

	if (str_eqz(kind, "claim"))
		world_claim(&body, line);
	else if (str_eqz(kind, "rule"))
		world_rule(&body, line);
	else if (str_eqz(kind, "node"))
		buf_printf(&body, "{\"metadata\":{\"name\":\"%.*s\"}}", STR_ARG(line));
	else
		world_slice(&body, line, str_eqz(kind, "counters"));
	bench_target(&target, kind, world_word(&rest));
	status = fakeapi_call(b->w->api, "PUT", target.p, buf_str(&body), NULL);
	if (status == 409)
		(void)fakeapi_call(b->w->api, "DELETE", target.p, STR_NULL, NULL);
	if (status == 404 || status == 409) {
		*strrchr(target.p, '/') = '\0';
		status = fakeapi_call(b->w->api, "POST", target.p, buf_str(&body), NULL);
	}
	if (status != 200 && status != 201)
		fail_msg("%.*s: %d", STR_ARG(line), status);
	buf_release(&body);
	buf_release(&target);
}

/* One line: slice|counters|claim|rule .., node NAME, remove slice|claim|rule|node NAME. */
static inline void tell_line(struct bench *b, struct str line)
{
	struct str kind = world_word(&line);
	struct buf target = BUF_INIT(KIB);

	if (!str_eqz(kind, "remove")) {
		bench_put(b, kind, line);
		return;
	}
	kind = world_word(&line);
	bench_target(&target, kind, world_word(&line));
	(void)fakeapi_call(b->w->api, "DELETE", target.p, STR_NULL, NULL);
	buf_release(&target);
}

#define tell(b, line) tell_line((b), STR(line))

/* Merges `body` into a slice, or into its status. */
static inline void merge(struct bench *b, const char *target, const char *body)
{
	assert_int_equal(fakeapi_call(b->w->api, "PATCH", target, str_from(body), NULL), 200);
}

static inline struct json *bench_object(struct bench *b, const char *resource, const char *name,
					struct arena *a)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, resource, "", name);
	struct json *v;

	if (!o)
		fail_msg("there is no %s", name);
	assert_int_equal(
		json_parse(a, str_from(arena_strdup(a, str_from(o->text))), NULL, &v, NULL), 0);
	return v;
}

/* Compares the value at a JSON Pointer into the slice's status; "null": absent. */
static inline void assert_status(struct bench *b, const char *slice, const char *pointer,
				 const char *expected)
{
	const struct json *got;
	struct buf text = BUF_INIT(MIB);
	struct json *want;
	struct arena a;

	arena_init(&a, 64 * MIB);
	got = json_getz(bench_object(b, "resourceslices", slice, &a), "status");
	got = got ? json_pointer(got, str_from(pointer)) : NULL;
	assert_int_equal(json_parse(&a, str_from(expected), NULL, &want, NULL), 0);
	if (got)
		(void)json_print(&text, got, NULL);
	if (got ? !json_equal(got, want) : !json_is(want, JSON_NULL))
		fail_msg("%s%s is %.*s and not %s", slice, pointer, (int)text.n, text.p ?: "",
			 expected);
	buf_release(&text);
	arena_release(&a);
}

static inline size_t writes_of(const struct bench *b, const char *slice)
{
	size_t n = 0;

	for (size_t i = 0; i < b->writes.n; i++)
		n += strcmp(b->writes.v[i].slice, slice) == 0;
	return n;
}

/* --- from scratch ---------------------------------------------------------------------------- */

static inline void drop_times(struct json *status)
{
	JSON_FOREACH (c, json_pointer(status, STR("/poolStatus/conditions")))
		(void)json_remove(c, STR("lastTransitionTime"));
}

/* An inventory of all objects on the server. */
static inline struct inventory *bench_inventory(struct bench *b, struct arena *a)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct omap_cursor c;

	for (bool ok = omap_first(&b->w->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);
		struct str text = str_from(arena_strdup(a, str_from(o->text)));
		struct json *v;

		assert_int_equal(json_parse(a, text, NULL, &v, NULL), 0);
		if (strcmp(o->kind->resource, "resourceslices") == 0)
			(void)inventory_put_slice(inv, v, NULL);
		else if (strcmp(o->kind->resource, "resourceclaims") == 0)
			(void)inventory_put_claim(inv, v, NULL);
		else if (strcmp(o->kind->resource, "devicetaintrules") == 0)
			(void)inventory_put_taint_rule(inv, v, NULL);
	}
	return inv;
}

static inline void bench_fail(const char *when, const char *text, const struct json *want)
{
	struct buf b = BUF_INIT(MIB);

	if (want)
		(void)json_print(&b, want, NULL);
	(void)fprintf(stderr, "%s\nshould have the status %.*s\n", text, (int)b.n, b.n ? b.p : "");
	fail_msg("%s: a status is wrong", when);
}

/* The server's status of a slice, wherever it is stored; or NULL. */
static inline struct json *bench_status(struct bench *b, const char *slice, struct arena *a)
{
	const char *resource = b->objects ? "resourceslicestatuses" : "resourceslices";

	if (!fakeapi_find(b->w->api, resource, "", slice))
		return NULL;
	return json_getz(bench_object(b, resource, slice, a), "status");
}

/* Every slice's status on the server equals what availability.h computes from all objects there. */
static inline void assert_all_right(struct bench *b, const char *when)
{
	struct inventory *inv;
	struct omap_cursor c;
	struct arena a;

	arena_init(&a, 256 * MIB);
	inv = bench_inventory(b, &a);
	for (bool ok = omap_first(&b->w->api->objects, &c); ok; ok = omap_next(&c)) {
		const struct fakeapi_object *o = omap_value(&c);
		const char *name = strrchr(o->key, '/') + 1;
		struct json *got, *want;

		if (strcmp(o->kind->resource, "resourceslices") != 0)
			continue;
		got = bench_status(b, name, &a);
		want = availability_slice_status(inv, NULL, str_from(name), NULL, 0, &a);
		drop_times(got);
		drop_times(want);
		if (got && want ? !json_equal(got, want) : got || want)
			bench_fail(when, o->text, want);
	}
	inventory_free(inv);
	arena_release(&a);
}

#endif

/*
 * The status of slices in our own objects, against a fake API server: the kind's definition, and
 * the fate of the objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "client/informer/informer.h"
#include "controller/devices/devices.h"
#include "controller/run/controller_world.h"
#include "controller/slice_status/slice_sink.h"
#include "controller/slice_status/slice_status.h"

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define DEFINITION  "resourceslicestatuses.devplane.dev"
#define OBJECTS     "/apis/devplane.dev/v1alpha1/resourceslicestatuses"
#define SLICES      "/apis/resource.k8s.io/v1/resourceslices"

struct bench {
	struct controller_world *w;
	struct devices *devices;
	struct slice_sink *sink;
	unsigned ready, changed;
	bool forbidden; /* may not define kinds */
	unsigned defined; /* how often that was tried */
	bool done;
	enum error_code code; /* the result of a write */
};

static void on_ready(void *arg)
{
	((struct bench *)arg)->ready++;
}

static void on_changed(void *arg, struct str slice UNUSED)
{
	((struct bench *)arg)->changed++;
}

static int on_request(void *arg, const struct fakeapi_query *q)
{
	struct bench *b = arg;

	if (!str_eq(q->method, STR("POST")) || !str_starts(q->path, STR(DEFINITIONS)))
		return FAKEAPI_WELL;
	b->defined++;
	return b->forbidden ? 403 : FAKEAPI_WELL;
}

static void bench_start(struct bench *b)
{
	struct devices_opts o = { .loop = b->w->loop };

	b->w->api->fault = on_request;
	b->w->api->fault_arg = b;
	controller_world_start(b->w);
	o.informers = b->w->ctx.informers;
	o.served.slices = resource_builtin("resource.k8s.io", "v1", "resourceslices");
	o.served.claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	b->devices = devices_new(&o);
	b->sink = slice_sink_object_new(&b->w->ctx, b->devices);
	b->sink->ready = on_ready;
	b->sink->changed = on_changed;
	b->sink->arg = b;
	b->ready = b->changed = 0;
	informers_start(b->w->ctx.informers);
}

static void bench_stop(struct bench *b)
{
	slice_sink_free(TAKE(b->sink));
	devices_free(TAKE(b->devices));
	controller_world_stop(b->w);
}

static void bench_release(struct bench *b)
{
	bench_stop(b);
	controller_world_free(b->w);
}

static void run(struct bench *b)
{
	controller_world_run(b->w, 3000);
}

static void add_slice(struct bench *b, const char *name, const char *uid)
{
	char meta[128];

	(void)snprintf(meta, sizeof(meta), ",\"generation\":1,\"uid\":\"%s\"", uid);
	fakeapi_add(b->w->api, "resourceslices", "", name, meta,
		    ",\"spec\":{\"driver\":\"d\",\"nodeName\":\"n\",\"pool\":{\"name\":\"p\","
		    "\"generation\":3,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"x\"}]}");
}

static void add_object(struct bench *b, const char *name)
{
	struct buf body = BUF_INIT(KIB);

	(void)buf_printf(&body, "{\"metadata\":{\"name\":\"%s\"},\"status\":{\"a\":1}}", name);
	assert_int_equal(fakeapi_call(b->w->api, "POST", OBJECTS, buf_str(&body), NULL), 201);
	buf_release(&body);
}

static void define(struct bench *b)
{
	fakeapi_add(b->w->api, "customresourcedefinitions", "", DEFINITION, "", "");
}

static bool is_there(struct bench *b, const char *name)
{
	return fakeapi_find(b->w->api, "resourceslicestatuses", "", name) != NULL;
}

static void assert_has(struct bench *b, const char *name, const char *text)
{
	const struct fakeapi_object *o = fakeapi_find(b->w->api, "resourceslicestatuses", "", name);

	if (!o || !strstr(o->text, text))
		fail_msg("there is no %s in %s", text, o ? o->text : "nothing");
}

static void on_done(struct client_request *r, const struct client_answer *a UNUSED,
		    const struct error *err)
{
	struct bench *b = r->arg;

	b->done = true;
	b->code = err ? err->code : ERR_OK;
}

/* Writes the status, or none. Returns false if there was nothing to do. */
static bool write_status(struct bench *b, const char *slice, const char *status)
{
	struct client_request r = { .on_done = on_done, .arg = b };
	const struct cached *o = cache_get(informer_cache(devices_slices(b->devices)),
					   str_from(slice));
	struct arena a;
	bool sent;

	assert_non_null(o);
	arena_init(&a, MIB);
	b->done = false;
	sent = b->sink->ops->write(b->sink, o, str_from(status), &r, &a);
	arena_release(&a);
	run(b);
	assert_int_equal(b->done, sent);
	return sent;
}

static void assert_stored(struct bench *b, const char *slice, const char *status)
{
	struct slice_stored s = b->sink->ops->read(b->sink, str_from(slice));

	if (!status)
		assert_null(s.status.p);
	else if (!str_eqz(s.status, status))
		fail_msg("%.*s is not %s", STR_ARG(s.status), status);
}

/* --- objects --------------------------------------------------------------------------------- */

static void a_status_is_an_object_that_the_slice_owns(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };

	add_slice(&b, "s", "u1");
	bench_start(&b);
	run(&b);
	assert_int_equal(b.ready, 1);
	assert_int_equal(b.defined, 1);
	assert_stored(&b, "s", NULL);
	assert_false(write_status(&b, "s", NULL));
	assert_true(write_status(&b, "s", "{\"a\":{\"x\":1,\"y\":2}}"));
	assert_int_equal(b.code, ERR_OK);
	assert_int_equal(b.changed, 1);
	assert_has(&b, "s",
		   "\"ownerReferences\":[{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":"
		   "\"ResourceSlice\",\"name\":\"s\",\"uid\":\"u1\"}]");
	assert_has(&b, "s",
		   "\"spec\":{\"driver\":\"d\",\"nodeName\":\"n\",\"pool\":{\"name\":\"p\","
		   "\"generation\":3}},\"status\":{\"a\":{\"x\":1,\"y\":2}}");
	assert_stored(&b, "s", "{\"a\":{\"x\":1,\"y\":2}}");
	/* Labels belong to somebody else and stay; the old status is replaced completely. */
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", OBJECTS "/s",
				      STR("{\"metadata\":{\"labels\":{\"l\":\"1\"}}}"), NULL),
			 200);
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":{\"z\":3}}"));
	assert_stored(&b, "s", "{\"a\":{\"z\":3}}");
	assert_has(&b, "s", "\"labels\":{\"l\":\"1\"}");
	assert_true(write_status(&b, "s", NULL));
	assert_false(is_there(&b, "s"));
	assert_stored(&b, "s", NULL);
	bench_release(&b);
}

static void a_write_without_the_last_change_conflicts(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(2) };

	add_slice(&b, "s", "u1");
	bench_start(&b);
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	fakeapi_hold_back(b.w->api, "resourceslicestatuses");
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", OBJECTS "/s",
				      STR("{\"metadata\":{\"labels\":{\"l\":\"1\"}}}"), NULL),
			 200);
	assert_true(write_status(&b, "s", "{\"a\":2}"));
	assert_int_equal(b.code, ERR_CONFLICT);
	assert_true(write_status(&b, "s", NULL));
	assert_int_equal(b.code, ERR_CONFLICT);
	fakeapi_catch_up(b.w->api);
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":2}"));
	assert_int_equal(b.code, ERR_OK);
	bench_release(&b);
}

static void an_object_that_says_another_pool_is_put_right(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(12) };

	add_slice(&b, "s", "u1");
	bench_start(&b);
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	assert_stored(&b, "s", "{\"a\":1}");
	assert_int_equal(fakeapi_call(b.w->api, "PATCH", OBJECTS "/s",
				      STR("{\"spec\":{\"pool\":{\"name\":\"other\"}}}"), NULL),
			 200);
	run(&b);
	assert_stored(&b, "s", "{}");
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	assert_stored(&b, "s", "{\"a\":1}");
	bench_release(&b);
}

static void an_object_goes_with_its_slice(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(3) };

	define(&b);
	add_slice(&b, "s", "u1");
	add_slice(&b, "t", "u2");
	add_object(&b, "lost");
	bench_start(&b);
	run(&b);
	assert_false(is_there(&b, "lost"));
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	assert_true(write_status(&b, "t", "{\"a\":1}"));
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", SLICES "/s", STR_NULL, NULL), 200);
	run(&b);
	assert_false(is_there(&b, "s"));
	assert_true(is_there(&b, "t"));
	/* Also if the controller was down. */
	bench_stop(&b);
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", SLICES "/t", STR_NULL, NULL), 200);
	bench_start(&b);
	run(&b);
	assert_false(is_there(&b, "t"));
	add_object(&b, "stray");
	run(&b);
	assert_false(is_there(&b, "stray"));
	bench_release(&b);
}

/* There are so many other slices that the objects are known before this slice is. */
static void an_object_is_not_taken_for_lost_before_the_slices_are_known(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(10) };
	char note[512], meta[600], name[16];

	memset(note, 'x', sizeof(note) - 1);
	note[sizeof(note) - 1] = '\0';
	(void)snprintf(meta, sizeof(meta), ",\"annotations\":{\"a\":\"%s\"}", note);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "c%d", i);
		fakeapi_add(b.w->api, "resourceslices", "", name, meta, "");
	}
	define(&b);
	add_slice(&b, "s", "u1");
	add_object(&b, "s");
	add_object(&b, "lost");
	bench_start(&b);
	for (int i = 0; i < 1000 && b.ready == 0; i++)
		controller_world_run(b.w, 1);
	assert_false(devices_synced(b.devices));
	assert_true(is_there(&b, "lost"));
	run(&b);
	assert_true(is_there(&b, "s"));
	assert_false(is_there(&b, "lost"));
	bench_release(&b);
}

static void a_slice_that_was_replaced_takes_the_object_over(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(4) };

	add_slice(&b, "s", "u1");
	bench_start(&b);
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	bench_stop(&b);
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", SLICES "/s", STR_NULL, NULL), 200);
	add_slice(&b, "s", "u2");
	bench_start(&b);
	run(&b);
	/* Even if equal, the status of the old slice is not that of the new one. */
	assert_stored(&b, "s", "{}");
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	assert_has(&b, "s", "\"name\":\"s\",\"uid\":\"u2\"}]");
	assert_stored(&b, "s", "{\"a\":1}");
	bench_release(&b);
}

static void statuses_follow_what_happens(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(9) };
	struct slice_status *s;
	uint64_t writes;

	add_slice(&b, "s", "u1");
	bench_start(&b);
	s = slice_status_new(&b.w->ctx, b.devices, TAKE(b.sink), &(struct slice_status_opts){ 0 });
	run(&b);
	assert_true(slice_status_settled(s));
	assert_has(&b, "s", "\"totalDevices\":1,\"allocatedDevices\":0,\"availableDevices\":1");
	fakeapi_add(b.w->api, "resourceclaims", "n", "c", "",
		    ",\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
		    "\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"}]}}}");
	run(&b);
	assert_has(&b, "s", "\"totalDevices\":1,\"allocatedDevices\":1,\"availableDevices\":0");
	writes = b.w->api->writes;
	controller_world_run(b.w, 60 * 1000);
	assert_int_equal(b.w->api->writes, writes);
	/* Somebody deletes it. */
	assert_int_equal(fakeapi_call(b.w->api, "DELETE", OBJECTS "/s", STR_NULL, NULL), 200);
	run(&b);
	assert_has(&b, "s", "\"allocatedDevices\":1");
	/* The pool has a newer generation: the slice is old, and loses its status. */
	fakeapi_add(b.w->api, "resourceslices", "", "t", ",\"generation\":1,\"uid\":\"u2\"",
		    ",\"spec\":{\"driver\":\"d\",\"nodeName\":\"n\",\"pool\":{\"name\":\"p\","
		    "\"generation\":4,\"resourceSliceCount\":1},\"devices\":[{\"name\":\"x\"}]}");
	run(&b);
	assert_false(is_there(&b, "s"));
	assert_has(&b, "t", "\"allocatedDevices\":1");
	controller_world_run(b.w, 10 * 1000);
	assert_true(slice_status_settled(s));
	slice_status_free(s);
	bench_release(&b);
}

static void counts_add_up_to_the_devices(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(1) };

	add_slice(&b, "s", "u1");
	bench_start(&b);
	run(&b);
	assert_true(write_status(&b, "s",
				 "{\"summary\":{\"totalDevices\":10,\"allocatedDevices\":5,"
				 "\"availableDevices\":3,\"partiallyAllocatedDevices\":1,"
				 "\"unhealthyDevices\":6}}"));
	assert_has(&b, "s",
		   "\"counts\":{\"available\":3,\"partiallyAllocated\":1,\"allocated\":4,"
		   "\"unavailable\":2,\"unhealthy\":6}");
	bench_release(&b);
}

/* --- the definition -------------------------------------------------------------------------- */

static void a_definition_that_is_there_is_left_alone(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(5) };

	define(&b);
	bench_start(&b);
	run(&b);
	assert_int_equal(b.ready, 1);
	assert_int_equal(b.defined, 0);
	bench_release(&b);
}

static const char *doc_of(const char *type, const char *field)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "io.k8s.api.resource.v1.%s", type);
	return schema_field(schema_type_find(str_from(name)), str_from(field))->doc;
}

static void the_definition_has_a_schema_and_columns(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(6) };
	const struct fakeapi_object *o;

	bench_start(&b);
	run(&b);
	o = fakeapi_find(b.w->api, "customresourcedefinitions", "", DEFINITION);
	assert_non_null(o);
	assert_non_null(strstr(o->text, "\"scope\":\"Cluster\""));
	assert_non_null(strstr(o->text, "\"observedGeneration\":{\"type\":\"integer\""));
	assert_non_null(strstr(o->text, "\"jsonPath\":\".counts.available\""));
	assert_null(strstr(o->text, "\"subresources\""));
	/* The descriptions are those of ResourceSlice. */
	assert_non_null(strstr(o->text, doc_of("DeviceStatus", "stateReason")));
	assert_non_null(strstr(o->text, doc_of("DeviceStatus", "state")));
	bench_release(&b);
}

static void a_controller_without_the_right_waits_for_the_definition(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(7), .forbidden = true };

	bench_start(&b);
	controller_world_run(b.w, 300 * 1000);
	assert_int_equal(b.ready, 0);
	/* Retried, less and less often. */
	assert_in_range(b.defined, 10, 25);
	define(&b);
	controller_world_run(b.w, 60 * 1000);
	assert_int_equal(b.ready, 1);
	bench_release(&b);
}

static void a_definition_that_is_taken_away_is_made_again(void **state UNUSED)
{
	struct bench b = { .w = controller_world_new(8) };

	bench_start(&b);
	run(&b);
	assert_int_equal(
		fakeapi_call(b.w->api, "DELETE", DEFINITIONS "/" DEFINITION, STR_NULL, NULL), 200);
	fakeapi_forget_past(b.w->api);
	controller_world_run(b.w, 120 * 1000);
	assert_int_equal(b.defined, 2);
	add_slice(&b, "s", "u1");
	run(&b);
	assert_true(write_status(&b, "s", "{\"a\":1}"));
	assert_int_equal(b.code, ERR_OK);
	controller_world_run(b.w, 60 * 1000);
	assert_stored(&b, "s", "{\"a\":1}");
	bench_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_is_an_object_that_the_slice_owns),
		cmocka_unit_test(a_write_without_the_last_change_conflicts),
		cmocka_unit_test(an_object_that_says_another_pool_is_put_right),
		cmocka_unit_test(an_object_goes_with_its_slice),
		cmocka_unit_test(an_object_is_not_taken_for_lost_before_the_slices_are_known),
		cmocka_unit_test(a_slice_that_was_replaced_takes_the_object_over),
		cmocka_unit_test(statuses_follow_what_happens),
		cmocka_unit_test(a_definition_that_is_there_is_left_alone),
		cmocka_unit_test(counts_add_up_to_the_devices),
		cmocka_unit_test(the_definition_has_a_schema_and_columns),
		cmocka_unit_test(a_controller_without_the_right_waits_for_the_definition),
		cmocka_unit_test(a_definition_that_is_taken_away_is_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

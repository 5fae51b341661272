/*
 * Node ports if several servers share the store: over the whole path of a request, with another
 * server that writes to the store in between.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/services/port_record.h"
#include "server/services/services_impl.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define RECORD   "/api/v1/namespaces/kube-system/configmaps/devplane-node-ports"
#define MERGE    "application/merge-patch+json"

static void range(struct verb_world *w)
{
	(void)verb_world_call(w, "POST", "/apis/networking.k8s.io/v1/servicecidrs",
			      "{\"metadata\":{\"name\":\"kubernetes\"},\"spec\":{\"cidrs\":"
			      "[\"10.0.0.0/24\"]}}",
			      201);
}

/* And a service "a" without a node port. */
static void range_and_service(struct verb_world *w)
{
	range(w);
	(void)verb_world_call(w, "POST", SERVICES,
			      "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":["
			      "{\"port\":80}]}}",
			      201);
}

/* Runs the server's own writes that follow a reply. */
static void settle(struct verb_world *w)
{
	sim_run_for(w->sim, 100);
}

static int64_t port_of(const struct json *service)
{
	return json_i64_at(json_pointer(service, STR("/spec/ports/0")), "nodePort", 0);
}

static bool has_object(void *arg)
{
	struct verb_world *w = arg;

	return resource_get(state_resource(w->server.state, services_address_kind()), STR(""),
			    STR("10.0.0.7"));
}

static struct json *ask_port(struct verb_world *w, const char *name, int port, int status)
{
	const char *body = arena_printf(&w->arena,
					"{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"type\":"
					"\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":%d}]}}",
					name, port);

	return verb_world_call(w, "POST", SERVICES, body, status);
}

static const char *taken(struct verb_world *w)
{
	return verb_world_text(w, verb_world_call(w, "GET", RECORD, NULL, 200), "/data/taken");
}

/* As another server would write it; the store has no rules. */
static void put_record(struct verb_world *w, const char *ports)
{
	const char *value = arena_printf(&w->arena,
					 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
					 "\"metadata\":{\"name\":\"devplane-node-ports\","
					 "\"namespace\":\"kube-system\",\"uid\":\"u\"},"
					 "\"data\":{\"taken\":\"%s\"}}",
					 ports);

	(void)fake_data_put(w->data, STR("core/configmaps"), PORT_RECORD_NS, PORT_RECORD_NAME,
			    str_from(value));
}

static void put_service(struct verb_world *w, const char *name, int port)
{
	const char *value = arena_printf(
		&w->arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{\"type\":\"NodePort\","
		"\"clusterIP\":\"None\",\"ports\":[{\"port\":80,\"nodePort\":%d}]}}",
		name, port);

	(void)fake_data_put(w->data, STR("core/services"), STR("default"), str_from(name),
			    str_from(value));
}

static void node_ports_are_in_the_record_as_long_as_a_service_has_them(void **state)
{
	struct verb_world *w = *state;

	range(w);
	(void)verb_world_call(w, "GET", RECORD, NULL, 404);
	(void)ask_port(w, "a", 30080, 201);
	(void)ask_port(w, "b", 30081, 201);
	assert_string_equal(taken(w), "30080-30081");
	(void)ask_port(w, "c", 30080, 422);
	(void)ask_port(w, "a", 30090, 409);
	(void)verb_world_patch(w, SERVICES "/b", MERGE,
			       "{\"spec\":{\"ports\":[{\"port\":80,\"nodePort\":30082}]}}", 200);
	settle(w);
	assert_string_equal(taken(w), "30080,30082");
	(void)verb_world_patch(w, SERVICES "/b", MERGE, "{\"spec\":{\"type\":\"ClusterIP\"}}", 200);
	(void)verb_world_call(w, "DELETE", SERVICES "/a", NULL, 200);
	/* Immediately, though the record may still have it. */
	(void)ask_port(w, "c", 30080, 201);
	settle(w);
	assert_string_equal(taken(w), "30080");
}

static void a_node_port_that_another_server_locked_is_not_given(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w);
	put_record(w, "30000-30079,30081-32767");
	got = ask_port(w, "a", 30081, 422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "Invalid value: 30081: provided port is already allocated");
	assert_int_equal(port_of(ask_port(w, "b", 0, 201)), 30080);
	assert_string_equal(taken(w), "30000-32767");
	got = ask_port(w, "c", 0, 500);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Internal error occurred: failed to allocate a nodePort: range is full");
}

/* Another server's write of the record comes first. */
static struct json *outrun(struct verb_world *w, const char *spec, const char *record, int status)
{
	struct verb_ask ask = { .method = "POST",
				.target = SERVICES,
				.content_type = "application/json" };
	struct json *tree = NULL;

	ask.body = arena_printf(&w->arena,
				"{\"metadata\":{\"name\":\"o\"},\"spec\":{\"type\":\"NodePort\","
				"\"ports\":[%s]}}",
				spec);
	fake_store_hold(w->server.store, true);
	verb_world_begin(w, &ask);
	settle(w);
	put_record(w, record);
	fake_store_hold(w->server.store, false);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, status);
	assert_int_equal(
		json_parse(&w->arena, arena_str(&w->arena, buf_str(&ask.got)), NULL, &tree, NULL),
		0);
	verb_ask_release(&ask);
	return tree;
}

static void a_write_that_lost_a_race_takes_another_port_unless_it_set_one(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w);
	put_record(w, "30000-32766");
	settle(w);
	got = outrun(w, "{\"port\":80,\"nodePort\":32767}", "30000-32767", 422);
	assert_int_equal(json_count(json_pointer(got, STR("/details/causes"))), 1);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "Invalid value: 32767: provided port is already allocated");
	put_record(w, "30000-32766");
	settle(w);
	/* Both ports have the same number, so they get the same node port. */
	got = outrun(w,
		     "{\"name\":\"t\",\"port\":53},"
		     "{\"name\":\"u\",\"port\":53,\"protocol\":\"UDP\"}",
		     "30001-32767", 201);
	assert_int_equal(port_of(got), 30000);
	assert_int_equal(json_i64_at(json_pointer(got, STR("/spec/ports/1")), "nodePort", 0),
			 30000);
	assert_string_equal(taken(w), "30000-32767");
	(void)verb_world_call(w, "DELETE", SERVICES "/o", NULL, 200);
	settle(w);
	got = outrun(w, "{\"port\":80}", "30000-32767", 500);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Internal error occurred: failed to allocate a nodePort: range is full");
	settle(w);
	got = verb_world_call(w, "GET", "/apis/networking.k8s.io/v1/ipaddresses", NULL, 200);
	assert_int_equal(json_count(json_getz(got, "items")), 0);
}

static void an_update_that_lost_a_race_takes_another_node_port(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask ask = { .method = "PATCH",
				.target = SERVICES "/a",
				.content_type = MERGE,
				.body = "{\"spec\":{\"type\":\"NodePort\"}}" };

	range_and_service(w);
	put_record(w, "30000-32766");
	settle(w);
	fake_store_hold(w->server.store, true);
	verb_world_begin(w, &ask);
	settle(w);
	put_record(w, "30001-32767");
	fake_store_hold(w->server.store, false);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 200);
	verb_ask_release(&ask);
	assert_int_equal(port_of(verb_world_call(w, "GET", SERVICES "/a", NULL, 200)), 30000);
	assert_string_equal(taken(w), "30000-32767");
}

static void a_record_that_is_outrun_by_other_ports_is_written_again(void **state)
{
	struct verb_world *w = *state;

	range(w);
	(void)outrun(w, "{\"port\":80,\"nodePort\":30080}", "30090", 201);
	assert_string_equal(taken(w), "30080,30090");
}

static void a_record_that_is_lost_or_damaged_is_made_of_the_services(void **state)
{
	struct verb_world *w = *state;

	range(w);
	put_service(w, "old", 30070);
	settle(w);
	(void)ask_port(w, "a", 30080, 201);
	assert_string_equal(taken(w), "30070,30080");
	(void)verb_world_call(w, "DELETE", RECORD, NULL, 200);
	settle(w);
	assert_string_equal(taken(w), "30070,30080");
	(void)verb_world_patch(w, RECORD, MERGE, "{\"data\":{\"taken\":\"all of them\"}}", 200);
	settle(w);
	assert_string_equal(taken(w), "30070,30080");
	(void)verb_world_patch(w, RECORD, MERGE, "{\"data\":{\"taken\":\"30080,40000\"}}", 200);
	settle(w);
	/* It may be in another server's range. */
	assert_string_equal(taken(w), "30070,30080,40000");
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(taken(w), "30070,30080,40000");
}

static void a_node_port_that_nobody_has_is_free_after_some_minutes(void **state)
{
	struct verb_world *w = *state;

	range(w);
	(void)ask_port(w, "a", 30080, 201);
	put_record(w, "30080,30090");
	sim_run_for(w->sim, 4 * 60 * 1000);
	assert_string_equal(taken(w), "30080,30090");
	sim_run_for(w->sim, 3 * 60 * 1000);
	assert_string_equal(taken(w), "30080");
}

/* `late`: while our own write of the record is under way. */
static void give_anew(struct verb_world *w, bool late)
{
	(void)ask_port(w, "a", 30080, 201);
	(void)verb_world_call(w, "DELETE", SERVICES "/a", NULL, 200);
	fake_store_hold(w->server.store, true);
	if (late)
		settle(w);
	put_record(w, "");
	put_record(w, "30080");
	fake_store_hold(w->server.store, false);
	sim_run_for(w->sim, 2 * 60 * 1000);
	assert_string_equal(taken(w), "30080");
	put_service(w, "b", 30080);
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(taken(w), "30080");
	(void)verb_world_call(w, "DELETE", SERVICES "/b", NULL, 200);
	settle(w);
	assert_string_equal(taken(w), "");
}

/* It belonged to another service in between: the earlier check does not count. */
static void a_node_port_that_was_given_anew_is_not_taken_out(void **state)
{
	struct verb_world *w = *state;

	range(w);
	give_anew(w, false);
	give_anew(w, true);
}

static bool is_locked(void *arg)
{
	struct verb_world *w = arg;

	return services_is_port_recorded(w->server.services, 30080);
}

static void fail_with(struct verb_world *w, enum error_code code, int status)
{
	struct verb_ask ask = { .method = "POST",
				.target = SERVICES,
				.content_type = "application/json",
				.body = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"type\":"
					"\"NodePort\",\"clusterIP\":\"10.0.0.7\",\"ports\":["
					"{\"port\":80,\"nodePort\":30080}]}}" };

	verb_world_begin(w, &ask);
	assert_true(sim_run_until(w->sim, is_locked, w, 10000));
	if (!has_object(w))
		assert_true(sim_run_until(w->sim, has_object, w, 10000));
	fake_store_fail(w->server.store, 1, code);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, status);
	verb_ask_release(&ask);
	settle(w);
}

static void a_write_that_fails_gives_its_node_port_back(void **state)
{
	struct verb_world *w = *state;

	range(w);
	fail_with(w, ERR_UNAVAILABLE, 503);
	assert_string_equal(taken(w), "");
	fail_with(w, ERR_TIMEOUT, 504);
	assert_string_equal(taken(w), "30080");
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(taken(w), "");
}

static void many_who_ask_at_once_share_writes_of_the_record(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[40];
	struct port_set got = { 0 };

	range(w);
	for (int i = 0; i < 40; i++) {
		asks[i] = (struct verb_ask){ .method = "POST",
					     .target = SERVICES,
					     .content_type = "application/json" };
		asks[i].body = arena_printf(&w->arena,
					    "{\"metadata\":{\"name\":\"s%d\"},\"spec\":{\"type\":"
					    "\"NodePort\",\"ports\":[{\"port\":80}]}}",
					    i);
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < 40; i++) {
		struct json *tree = NULL;

		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 201);
		(void)json_parse(&w->arena, arena_str(&w->arena, buf_str(&asks[i].got)), NULL,
				 &tree, NULL);
		assert_false(port_set_has(&got, port_of(tree)));
		port_set_add(&got, port_of(tree));
		verb_ask_release(&asks[i]);
	}
	assert_string_equal(taken(w), port_record_print(&got, &w->arena).p);
}

/* Another server is always first. */
static void a_write_that_keeps_losing_the_race_fails(void **state)
{
	struct verb_world *w = *state;
	const struct service_ports *ports = &w->server.services->ports;
	struct verb_ask ask = { .method = "PATCH",
				.target = SERVICES "/a?timeout=5s",
				.content_type = MERGE,
				.body = "{\"spec\":{\"type\":\"NodePort\"}}" };

	range_and_service(w);
	fake_store_fail(w->server.store, UINT_MAX, ERR_CONFLICT);
	verb_world_begin(w, &ask);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, 504);
	verb_ask_release(&ask);
	/* Only as often as the store is asked. */
	assert_in_range(fake_store_asked(w->server.store), 10, 5000);
	settle(w);
	assert_true(list_empty(&ports->waiting) && list_empty(&ports->asked));
	assert_true(port_set_empty(&ports->held));
	fake_store_fail(w->server.store, 0, ERR_OK);
	(void)ask_port(w, "b", 30080, 201);
	assert_string_equal(taken(w), "30080");
}

static void a_folder_has_no_record(void **state)
{
	struct verb_world *w = *state;

	range(w);
	(void)ask_port(w, "a", 30080, 201);
	(void)verb_world_call(w, "DELETE", SERVICES "/a", NULL, 200);
	(void)ask_port(w, "b", 30080, 201);
	sim_run_for(w->sim, 10 * 60 * 1000);
	(void)verb_world_call(w, "GET", RECORD, NULL, 404);
	/* A ConfigMap of that name means nothing here. */
	put_record(w, "30000-32767");
	settle(w);
	(void)ask_port(w, "c", 30081, 201);
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(taken(w), "30000-32767");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
#define SHARED(name) \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARED(node_ports_are_in_the_record_as_long_as_a_service_has_them),
		SHARED(a_node_port_that_another_server_locked_is_not_given),
		SHARED(a_write_that_lost_a_race_takes_another_port_unless_it_set_one),
		SHARED(an_update_that_lost_a_race_takes_another_node_port),
		SHARED(a_record_that_is_outrun_by_other_ports_is_written_again),
		SHARED(a_record_that_is_lost_or_damaged_is_made_of_the_services),
		SHARED(a_node_port_that_nobody_has_is_free_after_some_minutes),
		SHARED(a_node_port_that_was_given_anew_is_not_taken_out),
		SHARED(a_write_that_fails_gives_its_node_port_back),
		SHARED(many_who_ask_at_once_share_writes_of_the_record),
		SHARED(a_write_that_keeps_losing_the_race_fails),
		TEST(a_folder_has_no_record),
	};

	return cmocka_run_group_tests_name("server/services_ports", tests, NULL, NULL);
}

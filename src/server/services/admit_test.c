/*
 * Addresses and node ports of services, over the whole path of a request.
 */
#include "server/services/admit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/sim/sim.h"
#include "server/services/services_impl.h"
#include "server/services/write_ports.h"
#include "server/testing/state_fake.h"
#include "server/testing/verb_world.h"

#define SERVICES  "/api/v1/namespaces/default/services"
#define ADDRESSES "/apis/networking.k8s.io/v1/ipaddresses"
#define CIDRS     "/apis/networking.k8s.io/v1/servicecidrs"
#define MERGE     "application/merge-patch+json"

static void range(struct verb_world *w, const char *name, const char *cidr)
{
	(void)verb_world_call(w, "POST", CIDRS,
			      arena_printf(&w->arena,
					   "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"cidrs\":"
					   "[\"%s\"]}}",
					   name, cidr),
			      201);
}

static struct json *ask(struct verb_world *w, const char *name, const char *spec, int status)
{
	const char *body = arena_printf(&w->arena,
					"{\"metadata\":{\"name\":\"%s\"},\"spec\":{"
					"\"ports\":[{\"port\":80}]%s%s}}",
					name, *spec ? "," : "", spec);

	return verb_world_call(w, "POST", SERVICES, body, status);
}

static const char *ip_of(struct verb_world *w, const struct json *service)
{
	return verb_world_text(w, service, "/spec/clusterIP");
}

static size_t addresses(struct verb_world *w)
{
	return json_count(json_getz(verb_world_call(w, "GET", ADDRESSES, NULL, 200), "items"));
}

/* Runs the server's own writes that follow a reply. */
static void settle(struct verb_world *w)
{
	sim_run_for(w->sim, 100);
}

static void a_service_gets_an_address_and_an_object_that_holds_it(void **state)
{
	struct verb_world *w = *state;
	struct json *got, *object;

	range(w, "kubernetes", "10.0.0.0/24");
	got = ask(w, "a", "", 201);
	assert_string_equal(verb_world_text(w, got, "/spec/clusterIPs/0"), ip_of(w, got));
	assert_string_equal(verb_world_text(w, got, "/spec/ipFamilies/0"), "IPv4");
	assert_string_equal(verb_world_text(w, got, "/spec/ipFamilyPolicy"), "SingleStack");
	object = verb_world_call(w, "GET", arena_printf(&w->arena, ADDRESSES "/%s", ip_of(w, got)),
				 NULL, 200);
	assert_string_equal(verb_world_text(w, object, "/spec/parentRef/name"), "a");
	assert_string_equal(verb_world_text(w, object, "/spec/parentRef/namespace"), "default");
	assert_string_equal(verb_world_text(w, object, "/spec/parentRef/resource"), "services");
}

static void a_range_is_given_out_to_the_last_address_and_no_further(void **state)
{
	struct verb_world *w = *state;
	struct json *got;
	char name[8];

	got = ask(w, "early", "", 500);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Internal error occurred: failed to allocate a serviceIP for Service "
			    "\"early\": no ServiceCIDR of family IPv4 is ready");
	/* The first is for the service kubernetes, though that does not exist. */
	range(w, "kubernetes", "10.0.0.0/28");
	for (int i = 0; i < 13; i++) {
		(void)snprintf(name, sizeof(name), "s%d", i);
		(void)ask(w, name, "", 201);
	}
	assert_int_equal(addresses(w), 13);
	got = ask(w, "more", "", 500);
	assert_string_equal(verb_world_text(w, got, "/message"),
			    "Internal error occurred: failed to allocate a serviceIP for Service "
			    "\"more\": range is full");
	(void)verb_world_call(w, "GET", ADDRESSES "/10.0.0.1", NULL, 404);
	range(w, "second", "10.1.0.0/28");
	assert_memory_equal(ip_of(w, ask(w, "more", "", 201)), "10.1.0.", 7);
}

static void an_address_that_is_asked_for_is_given_once(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w, "kubernetes", "10.0.0.0/24");
	(void)ask(w, "a", "\"clusterIP\":\"10.0.0.7\"", 201);
	got = ask(w, "b", "\"clusterIP\":\"10.0.0.7\"", 422);
	assert_string_equal(
		verb_world_text(w, got, "/details/causes/0/message"),
		"Invalid value: [\"10.0.0.7\"]: failed to allocate IP 10.0.0.7: provided "
		"IP is already allocated");
	got = ask(w, "c", "\"clusterIP\":\"10.9.0.7\"", 422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "Invalid value: [\"10.9.0.7\"]: failed to allocate IP 10.9.0.7: the "
			    "provided network does not match the current range");
	(void)verb_world_call(w, "DELETE", SERVICES "/a", NULL, 200);
	(void)ask(w, "b", "\"clusterIP\":\"10.0.0.7\"", 201);
	assert_int_equal(addresses(w), 1);
}

static void two_who_ask_at_once_do_not_get_the_same(void **state)
{
	struct verb_world *w = *state;
	struct verb_ask asks[2] = { { .method = "POST", .target = SERVICES },
				    { .method = "POST", .target = SERVICES } };

	range(w, "kubernetes", "10.0.0.0/24");
	for (int i = 0; i < 2; i++) {
		asks[i].content_type = "application/json";
		asks[i].body = arena_printf(&w->arena,
					    "{\"metadata\":{\"name\":\"s%d\"},\"spec\":{\"ports\":"
					    "[{\"port\":80}],\"clusterIP\":\"10.0.0.7\"}}",
					    i);
		verb_world_begin(w, &asks[i]);
	}
	for (int i = 0; i < 2; i++)
		verb_world_finish(w, &asks[i]);
	assert_int_equal(asks[0].status + asks[1].status, 201 + 422);
	for (int i = 0; i < 2; i++)
		verb_ask_release(&asks[i]);
	assert_int_equal(addresses(w), 1);
}

static void a_rejected_service_leaves_nothing_behind(void **state)
{
	struct verb_world *w = *state;

	range(w, "kubernetes", "10.0.0.0/24");
	(void)ask(w, "a", "\"externalTrafficPolicy\":\"Local\"", 422);
	(void)ask(w, "Bad_Name", "", 422);
	(void)verb_world_call(w, "POST", SERVICES "?dryRun=All",
			      "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"type\":\"NodePort\","
			      "\"ports\":[{\"port\":80}]}}",
			      201);
	assert_int_equal(addresses(w), 0);
}

static void an_address_goes_with_the_service_or_with_its_type(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w, "kubernetes", "10.0.0.0/24");
	(void)ask(w, "a", "", 201);
	got = verb_world_patch(w, SERVICES "/a", MERGE,
			       "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"x.y\"}}",
			       200);
	assert_null(json_getz(json_getz(got, "spec"), "clusterIPs"));
	settle(w);
	assert_int_equal(addresses(w), 0);
	got = verb_world_patch(w, SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"ClusterIP\"}}", 200);
	assert_true(*ip_of(w, got) != '\0');
	(void)verb_world_call(w, "DELETE", SERVICES, NULL, 200);
	settle(w);
	assert_int_equal(addresses(w), 0);
}

static void an_address_object_that_is_lost_comes_back_and_one_without_a_service_goes(void **state)
{
	struct verb_world *w = *state;
	const char *path;

	range(w, "kubernetes", "10.0.0.0/24");
	path = arena_printf(&w->arena, ADDRESSES "/%s", ip_of(w, ask(w, "a", "", 201)));
	(void)verb_world_call(w, "DELETE", path, NULL, 200);
	settle(w);
	(void)verb_world_call(w, "GET", path, NULL, 200);
	(void)verb_world_call(w, "POST", ADDRESSES,
			      "{\"metadata\":{\"name\":\"10.0.0.5\",\"labels\":{"
			      "\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}},"
			      "\"spec\":{\"parentRef\":{\"resource\":\"services\",\"namespace\":"
			      "\"default\",\"name\":\"gone\"}}}",
			      201);
	(void)verb_world_call(
		w, "POST", ADDRESSES,
		"{\"metadata\":{\"name\":\"10.0.0.6\"},\"spec\":{\"parentRef\":{"
		"\"resource\":\"gateways\",\"group\":\"example.com\",\"name\":\"g\"}}}",
		201);
	sim_run_for(w->sim, 10 * 60 * 1000);
	(void)verb_world_call(w, "GET", ADDRESSES "/10.0.0.5", NULL, 404);
	(void)verb_world_call(w, "GET", ADDRESSES "/10.0.0.6", NULL, 200);
	(void)verb_world_call(w, "GET", path, NULL, 200);
}

static int64_t port_of(const struct json *service)
{
	return json_i64_at(json_pointer(service, STR("/spec/ports/0")), "nodePort", 0);
}

static void node_ports_are_given_kept_and_returned(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w, "kubernetes", "10.0.0.0/24");
	got = ask(w, "a", "\"type\":\"NodePort\"", 201);
	assert_in_range(port_of(got), 30000, 32767);
	assert_int_equal(port_of(verb_world_patch(w, SERVICES "/a", MERGE,
						  "{\"spec\":{\"ports\":[{\"port\":81}]}}", 200)),
			 port_of(got));
	(void)verb_world_patch(w, SERVICES "/a", MERGE,
			       "{\"spec\":{\"ports\":[{\"port\":81,\"nodePort\":30080}]}}", 200);
	got = verb_world_call(w, "POST", SERVICES,
			      "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"type\":\"NodePort\","
			      "\"ports\":[{\"port\":80,\"nodePort\":30080}]}}",
			      422);
	assert_string_equal(verb_world_text(w, got, "/details/causes/0/message"),
			    "Invalid value: 30080: provided port is already allocated");
	got = verb_world_patch(w, SERVICES "/a", MERGE, "{\"spec\":{\"type\":\"ClusterIP\"}}", 200);
	assert_int_equal(port_of(got), 0);
	got = verb_world_call(w, "POST", SERVICES,
			      "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"type\":\"NodePort\","
			      "\"ports\":[{\"name\":\"t\",\"port\":53,\"nodePort\":30080},"
			      "{\"name\":\"u\",\"port\":53,\"protocol\":\"UDP\"}]}}",
			      201);
	assert_int_equal(json_i64_at(json_pointer(got, STR("/spec/ports/1")), "nodePort", 0),
			 30080);
}

/* A webhook that was called for the first try is not called for another. */
static void the_next_try_has_the_node_ports_of_the_last_and_gives_back_the_others(void **state)
{
	struct verb_world *w = *state;
	struct services *sv = w->server.services;
	struct write_ports p;
	int64_t first, second;

	write_ports_init(&p, sv, &w->arena, false);
	write_ports_begin(&p, 2);
	first = write_ports_take_any(&p, 0);
	second = write_ports_take_any(&p, 1);
	assert_true(write_ports_take(&p, 30001));
	assert_false(write_ports_take(&p, 30001));
	write_ports_settle(&p);
	write_ports_begin(&p, 3);
	assert_int_equal(write_ports_take_any(&p, 0), first);
	assert_true(write_ports_take(&p, 30001));
	write_ports_settle(&p);
	assert_true(services_is_port_taken(sv, first));
	assert_true(services_is_port_taken(sv, 30001));
	assert_false(services_is_port_taken(sv, second));
	write_ports_return(&p, false);
	assert_false(services_is_port_taken(sv, first));
	assert_false(services_is_port_taken(sv, 30001));
}

static struct json *ask_many(struct verb_world *w, const char *target, const char *type, int n,
			     int status)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(16 << 20);
	struct verb_ask ask = { .method = "POST",
				.target = target,
				.content_type = "application/json" };
	struct json *got;

	(void)buf_printf(&body,
			 "{\"metadata\":{\"name\":\"m\"},\"spec\":{\"type\":\"%s\",\"ports\":[",
			 type);
	for (int i = 0; i < n; i++)
		(void)buf_printf(&body, "%s{\"name\":\"p%d\",\"port\":%d}", i ? "," : "", i, 1 + i);
	(void)buf_printf(&body, "]}}");
	ask.body = body.p;
	ask.body_n = body.n;
	got = verb_world_ask(w, &ask);
	assert_int_equal(ask.status, status);
	verb_ask_release(&ask);
	return got;
}

/* If each port were compared with all others, this would take minutes. */
static void a_service_may_have_very_many_ports(void **state)
{
	struct verb_world *w = *state;
	struct json *got;

	range(w, "kubernetes", "10.0.0.0/24");
	got = ask_many(w, SERVICES, "NodePort", 60000, 500);
	assert_string_equal(
		verb_world_text(w, got, "/message"),
		"Internal error occurred: failed to allocate a nodePort: range is full");
	(void)ask_many(w, SERVICES "?dryRun=All", "NodePort", 60000, 500);
	assert_int_equal(addresses(w), 0);
	(void)ask_many(w, SERVICES, "ClusterIP", 4000, 201);
}

static const char *uid_of(struct verb_world *w, const char *ip)
{
	return verb_world_text(
		w,
		verb_world_call(w, "GET", arena_printf(&w->arena, ADDRESSES "/%s", ip), NULL, 200),
		"/metadata/uid");
}

static void an_address_is_the_same_in_any_form(void **state)
{
	struct verb_world *w = *state;
	const char *uid;

	w->server.services->families.has6 = true;
	range(w, "six", "fd00::/112");
	(void)ask(w, "a", "\"clusterIP\":\"FD00::0005\"", 201);
	uid = uid_of(w, "fd00::5");
	(void)ask(w, "b", "\"clusterIP\":\"fd00::5\"", 422);
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(uid_of(w, "fd00::5"), uid);
	(void)verb_world_call(w, "DELETE", SERVICES "/a", NULL, 200);
	settle(w);
	assert_int_equal(addresses(w), 0);
}

/* As an upstream server may leave them: nothing here would write the second. */
static void of_two_services_with_one_address_the_one_that_owns_it_keeps_it(void **state)
{
	struct verb_world *w = *state;
	const char *uid;

	range(w, "kubernetes", "10.0.0.0/24");
	(void)ask(w, "a", "\"clusterIP\":\"10.0.0.7\"", 201);
	uid = uid_of(w, "10.0.0.7");
	(void)fake_data_put(w->data, STR("core/services"), STR("default"), STR("b"),
			    STR("{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{"
				"\"name\":\"b\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{"
				"\"type\":\"ClusterIP\",\"clusterIP\":\"10.0.0.7\",\"clusterIPs\":["
				"\"10.0.0.7\"],\"ports\":[{\"port\":80}]}}"));
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(uid_of(w, "10.0.0.7"), uid);
	(void)verb_world_call(w, "DELETE", SERVICES "/b", NULL, 200);
	sim_run_for(w->sim, 10 * 60 * 1000);
	assert_string_equal(uid_of(w, "10.0.0.7"), uid);
}

static bool has_object(void *arg)
{
	struct verb_world *w = arg;

	return resource_get(state_resource(w->server.state, services_address_kind()), STR(""),
			    STR("10.0.0.7"));
}

/* The creation of a service fails in the store after its address was written. */
static void fail_service(struct verb_world *w, enum error_code code, int status)
{
	struct verb_ask ask = { .method = "POST",
				.target = SERVICES,
				.content_type = "application/json",
				.body = "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"ports\":["
					"{\"port\":80}],\"clusterIP\":\"10.0.0.7\"}}" };

	verb_world_begin(w, &ask);
	assert_true(sim_run_until(w->sim, has_object, w, 10000));
	fake_store_fail(w->server.store, 1, code);
	verb_world_finish(w, &ask);
	assert_int_equal(ask.status, status);
	verb_ask_release(&ask);
	settle(w);
}

static void an_address_stays_while_nobody_knows_whether_its_service_was_written(void **state)
{
	static const struct {
		enum error_code code;
		int status;
	} rows[] = { { ERR_TIMEOUT, 504 }, { ERR_IO, 500 } };
	struct verb_world *w = *state;

	range(w, "kubernetes", "10.0.0.0/24");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fail_service(w, rows[i].code, rows[i].status);
		assert_int_equal(addresses(w), 1);
		sim_run_for(w->sim, 10 * 60 * 1000);
		assert_int_equal(addresses(w), 0);
	}
}

/*
 * If retried, a store that fails immediately would keep the loop busy forever: SIM_SEED=13000025.
 */
static void an_address_that_the_store_refuses_is_not_asked_for_again(void **state)
{
	struct verb_world *w = *state;

	range(w, "kubernetes", "10.0.0.0/24");
	fake_store_fail(w->server.store, 2, ERR_IO);
	(void)ask(w, "a", "", 500);
	(void)ask(w, "a", "", 500);
	settle(w);
	assert_int_equal(addresses(w), 0);
	(void)ask(w, "a", "", 201);
	assert_int_equal(addresses(w), 1);
}

static void an_address_that_the_last_try_did_not_need_is_given_back(void **state)
{
	struct verb_world *w = *state;
	static const char *const bodies[] = {
		"{\"spec\":{\"type\":\"ClusterIP\"}}",
		"{\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"None\"}}",
	};
	struct verb_ask asks[2];

	range(w, "kubernetes", "10.0.0.0/24");
	(void)ask(w, "a", "\"type\":\"ExternalName\",\"externalName\":\"x.y\"", 201);
	/* The second is written while the first waits for its IPAddress. */
	fake_store_hold(w->server.store, true);
	for (int i = 0; i < 2; i++) {
		asks[i] = (struct verb_ask){ .method = "PATCH",
					     .target = SERVICES "/a",
					     .content_type = MERGE,
					     .body = bodies[i] };
		verb_world_begin(w, &asks[i]);
		settle(w);
	}
	fake_store_hold(w->server.store, false);
	for (int i = 0; i < 2; i++) {
		verb_world_finish(w, &asks[i]);
		assert_int_equal(asks[i].status, 200);
		verb_ask_release(&asks[i]);
	}
	settle(w);
	assert_string_equal(ip_of(w, verb_world_call(w, "GET", SERVICES "/a", NULL, 200)), "None");
	assert_int_equal(addresses(w), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, verb_world_set_up, verb_world_tear_down)
#define SHARED(name) \
	cmocka_unit_test_setup_teardown(name, verb_world_set_up_http1, verb_world_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_service_gets_an_address_and_an_object_that_holds_it),
		SHARED(a_service_gets_an_address_and_an_object_that_holds_it),
		TEST(a_range_is_given_out_to_the_last_address_and_no_further),
		TEST(an_address_that_is_asked_for_is_given_once),
		SHARED(an_address_that_is_asked_for_is_given_once),
		TEST(two_who_ask_at_once_do_not_get_the_same),
		SHARED(two_who_ask_at_once_do_not_get_the_same),
		TEST(a_rejected_service_leaves_nothing_behind),
		TEST(an_address_goes_with_the_service_or_with_its_type),
		TEST(an_address_object_that_is_lost_comes_back_and_one_without_a_service_goes),
		TEST(node_ports_are_given_kept_and_returned),
		TEST(the_next_try_has_the_node_ports_of_the_last_and_gives_back_the_others),
		TEST(a_service_may_have_very_many_ports),
		TEST(an_address_is_the_same_in_any_form),
		SHARED(of_two_services_with_one_address_the_one_that_owns_it_keeps_it),
		SHARED(an_address_stays_while_nobody_knows_whether_its_service_was_written),
		TEST(an_address_that_the_store_refuses_is_not_asked_for_again),
		TEST(an_address_that_the_last_try_did_not_need_is_given_back),
		SHARED(node_ports_are_given_kept_and_returned),
		SHARED(the_next_try_has_the_node_ports_of_the_last_and_gives_back_the_others),
		SHARED(a_service_may_have_very_many_ports),
	};

	return cmocka_run_group_tests_name("server/admit_service", tests, NULL, NULL);
}

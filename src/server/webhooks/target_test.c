/*
 * Compiled configurations, and the addresses of their webhooks.
 */
#include "server/webhooks/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/loop/loop.h"
#include "server/testing/verb_world.h"
#include "server/webhooks/config.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define SLICES   "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

static struct webhook_config *compile(struct verb_world *w, const char *text,
				      const struct webhook_config *before, uint64_t *next_id)
{
	struct json *tree;

	assert_int_equal(json_parse(&w->arena, str_from(text), NULL, &tree, NULL), 0);
	return webhook_config_new(w->lanes[0], tree, before, next_id);
}

static void a_url_is_taken_apart(void **state)
{
	struct verb_world *w = *state;
	uint64_t id = 0;
	struct webhook_config *c = compile(
		w,
		"{\"metadata\":{\"name\":\"c\"},\"webhooks\":[{\"name\":\"a.b.c\","
		"\"timeoutSeconds\":3,"
		"\"clientConfig\":{\"url\":\"https://hook.example.com/x/y\"}},"
		"{\"name\":\"d.b.c\",\"clientConfig\":{\"url\":\"https://[::1]:8443\"}}]}",
		NULL, &id);

	assert_int_equal(c->n, 2);
	assert_int_equal(c->hooks[0].to.port, 443);
	assert_string_equal(c->hooks[0].server_name, "hook.example.com");
	assert_true(str_eqz(c->hooks[0].authority, "hook.example.com"));
	assert_true(str_eqz(c->hooks[0].target, "/x/y?timeout=3s"));
	assert_string_equal(c->hooks[1].server_name, "::1");
	assert_int_equal(c->hooks[1].to.port, 8443);
	assert_true(str_eqz(c->hooks[1].target, "/?timeout=10s"));
	webhook_config_free(c);
}

static void connections_outlive_a_change_that_does_not_touch_trust(void **state)
{
	static const char first[] = "{\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"url\":"
				    "\"https://x/1\"}}]}";
	static const char other[] = "{\"webhooks\":[{\"name\":\"a\",\"clientConfig\":{\"url\":"
				    "\"https://x/1\",\"caBundle\":\"AAAA\"}}]}";
	struct verb_world *w = *state;
	uint64_t id = 0;
	struct webhook_config *a = compile(w, first, NULL, &id);
	struct webhook_config *b = compile(w, first, a, &id);
	struct webhook_config *c = compile(w, other, b, &id);

	assert_ptr_equal(a->hooks[0].peer, b->hooks[0].peer);
	assert_ptr_not_equal(b->hooks[0].peer, c->hooks[0].peer);
	assert_int_not_equal(a->hooks[0].id, b->hooks[0].id);
	webhook_config_free(a);
	webhook_config_free(b);
	webhook_config_free(c);
}

/* The address of a service, or the error. */
static const char *address(struct verb_world *w, const struct webhook *h)
{
	struct addr to;
	struct error err;

	if (webhook_target(w->server.state, h, loop_prng(w->lanes[0]), &w->arena, &to, &err) < 0)
		return arena_printf(&w->arena, "%s", err.msg);
	return arena_printf(&w->arena, "%s", to.text);
}

static void a_service_is_at_its_cluster_ip_or_at_an_endpoint_that_is_ready(void **state)
{
	static const struct webhook h = { .service_ns = STR("default"),
					  .service = STR("hook"),
					  .port = 8443 };
	struct verb_world *w = *state;

	assert_string_equal(address(w, &h), "service \"hook\" not found");
	(void)verb_world_call(w, "POST", SERVICES,
			      "{\"metadata\":{\"name\":\"hook\"},\"spec\":{\"clusterIP\":\"None\","
			      "\"ports\":[{\"name\":\"tls\",\"port\":8443}]}}",
			      201);
	assert_string_equal(address(w, &h), "no endpoints available for service \"hook\"");
	(void)verb_world_call(w, "POST", SLICES,
			      "{\"metadata\":{\"name\":\"s\",\"labels\":{\"kubernetes.io/"
			      "service-name\":\"hook\"}},"
			      "\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"tls\",\"port\":9443}"
			      "],\"endpoints\":["
			      "{\"addresses\":[\"10.1.2.3\"],\"conditions\":{\"ready\":false}},"
			      "{\"addresses\":[\"10.1.2.4\"]}]}",
			      201);
	for (int i = 0; i < 10; i++)
		assert_string_equal(address(w, &h), "10.1.2.4:9443");
	assert_string_equal(address(w, &(struct webhook){ .service_ns = STR("default"),
							  .service = STR("hook"),
							  .port = 443 }),
			    "no service port 443 found for service \"hook\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_url_is_taken_apart, verb_world_set_up,
						verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			connections_outlive_a_change_that_does_not_touch_trust, verb_world_set_up,
			verb_world_tear_down),
		cmocka_unit_test_setup_teardown(
			a_service_is_at_its_cluster_ip_or_at_an_endpoint_that_is_ready,
			verb_world_set_up, verb_world_tear_down),
	};

	return cmocka_run_group_tests_name("server/webhook_target", tests, NULL, NULL);
}

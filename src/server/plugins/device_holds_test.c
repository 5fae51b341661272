/*
 * The index, which gets claims as from the state.
 */
#include "server/plugins/device_holds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "server/engine/state.h"

#define GPU "gpu.example.com/n1/a/gpu-0"

static const char exclusive[] =
	"{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
	"\"device\":\"gpu-0\"}";
static const char admin[] = "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
			    "\"device\":\"gpu-0\",\"adminAccess\":true}";
static const char share[] = "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
			    "\"device\":\"gpu-0\",\"shareID\":\"s1\"}";

static const struct schema_kind *claim_kind(void)
{
	return schema_find_resource(STR("resource.k8s.io"), STR("v1"), STR("resourceclaims"));
}

/* A claim of namespace ns with these results; NULL: it is not allocated. */
static struct object *claim(const char *name, const char *results)
{
	struct gates gates;
	struct object *o = NULL;
	struct arena a;
	const char *text;

	gates_init(&gates);
	arena_init(&a, MIB);
	text = arena_printf(&a,
			    "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
			    "\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{"
			    "\"status\":{}},\"status\":{%s%s%s}}",
			    name, results ? "\"allocation\":{\"devices\":{\"results\":[" : "",
			    results ? results : "", results ? "]}}" : "");
	assert_int_equal(object_new(claim_kind(), str_from(text), 1, &gates, &o, NULL), 0);
	arena_release(&a);
	return o;
}

static void tell(struct device_holds *h, struct object *now, struct object *before)
{
	struct state_observer o = device_holds_observer(h);

	o.changed(o.arg, now, before);
}

/* The claim that excludes claim ns/me; "" if none does. */
static const char *in_the_way(struct device_holds *h, const char *me, const char *share_id)
{
	struct device_use use = { .device = STR(GPU), .share = str_from(share_id) };
	const struct device_hold *hold = device_holds_find(h, &use, str_from(me));
	static char text[64];

	(void)snprintf(text, sizeof(text), "%.*s", hold ? (int)hold->claim.n : 0,
		       hold ? hold->claim.p : "");
	return text;
}

static void a_claim_holds_its_devices_while_it_is_allocated(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct object *free_claim = claim("a", NULL), *allocated = claim("a", exclusive);

	tell(h, free_claim, NULL);
	assert_string_equal(in_the_way(h, "ns/b", ""), "");
	tell(h, allocated, free_claim);
	assert_string_equal(in_the_way(h, "ns/b", ""), "ns/a");
	assert_string_equal(in_the_way(h, "ns/b", "s1"), "ns/a");
	assert_string_equal(in_the_way(h, "ns/a", ""), "");
	tell(h, allocated, allocated);
	assert_string_equal(in_the_way(h, "ns/b", ""), "ns/a");
	tell(h, free_claim, allocated);
	assert_string_equal(in_the_way(h, "ns/b", ""), "");
	tell(h, allocated, free_claim);
	tell(h, NULL, allocated);
	assert_string_equal(in_the_way(h, "ns/b", ""), "");
	object_unref(free_claim);
	object_unref(allocated);
	device_holds_free(h);
}

static void shares_exclude_only_exclusive_holds(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct object *a = claim("a", share), *b = claim("b", share);

	tell(h, a, NULL);
	tell(h, b, NULL);
	assert_string_equal(in_the_way(h, "ns/c", "s2"), "");
	assert_string_not_equal(in_the_way(h, "ns/c", ""), "");
	tell(h, NULL, a);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/b");
	tell(h, NULL, b);
	assert_string_equal(in_the_way(h, "ns/c", ""), "");
	object_unref(a);
	object_unref(b);
	device_holds_free(h);
}

static void admin_access_holds_nothing(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct object *a = claim("a", admin), *b = claim("a", exclusive);

	tell(h, a, NULL);
	assert_string_equal(in_the_way(h, "ns/c", ""), "");
	tell(h, b, a);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/a");
	object_unref(a);
	object_unref(b);
	device_holds_free(h);
}

static void old_data_may_have_several_holders(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct object *a = claim("a", exclusive), *b = claim("b", exclusive);
	struct state_observer o = device_holds_observer(h);

	tell(h, a, NULL);
	tell(h, b, NULL);
	tell(h, NULL, b);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/a");
	o.reset(o.arg);
	assert_string_equal(in_the_way(h, "ns/c", ""), "");
	tell(h, b, NULL);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/b");
	object_unref(a);
	object_unref(b);
	device_holds_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_holds_its_devices_while_it_is_allocated),
		cmocka_unit_test(shares_exclude_only_exclusive_holds),
		cmocka_unit_test(admin_access_holds_nothing),
		cmocka_unit_test(old_data_may_have_several_holders),
	};

	return cmocka_run_group_tests_name("server/device_holds", tests, NULL, NULL);
}

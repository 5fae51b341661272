/*
 * The index, which gets claims as from the state.
 */
#include "server/fence/device_holds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "dra/inventory/inventory.h"
#include "server/engine/state.h"

static const char exclusive[] =
	"{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
	"\"device\":\"gpu-0\"}";
static const char admin[] = "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
			    "\"device\":\"gpu-0\",\"adminAccess\":true}";
static const char share[] = "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
			    "\"device\":\"gpu-0\",\"shareID\":\"s1\"}";

static struct object *object(const char *resource, const char *text)
{
	const struct schema_kind *kind = schema_find_resource(STR("resource.k8s.io"), STR("v1"),
							      str_from(resource));
	struct object *o = NULL;
	struct gates gates;

	gates_init(&gates);
	assert_int_equal(object_new(kind, str_from(text), 1, &gates, &o, NULL), 0);
	return o;
}

/* A claim of namespace ns with these results; NULL: it is not allocated. */
static struct object *claim(const char *name, const char *results)
{
	struct object *o;
	struct arena a;
	const char *text;

	arena_init(&a, MIB);
	text = arena_printf(&a,
			    "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
			    "\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\"},\"spec\":{"
			    "\"status\":{}},\"status\":{%s%s%s}}",
			    name, results ? "\"allocation\":{\"devices\":{\"results\":[" : "",
			    results ? results : "", results ? "]}}" : "");
	o = object("resourceclaims", text);
	arena_release(&a);
	return o;
}

/* A slice of pool n1/a with these devices. */
static struct object *slice(const char *name, int generation, const char *devices)
{
	struct object *o;
	struct arena a;

	arena_init(&a, MIB);
	o = object("resourceslices",
		   arena_printf(&a,
				"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
				"\"metadata\":{\"name\":\"%s\"},\"spec\":{\"driver\":"
				"\"gpu.example.com\",\"pool\":{\"name\":\"n1/a\",\"generation\":%d,"
				"\"resourceSliceCount\":1},\"nodeName\":\"n1\",\"devices\":[%s]}}",
				name, generation, devices));
	arena_release(&a);
	return o;
}

static void tell(struct device_holds *h, struct object *now, struct object *before)
{
	struct state_observer o[DEVICE_HOLDS_OBSERVERS];

	device_holds_observe(h, o);
	o[0].changed(o[0].arg, now, before);
}

static void tell_slice(struct device_holds *h, struct object *now, struct object *before)
{
	struct state_observer o[DEVICE_HOLDS_OBSERVERS];

	device_holds_observe(h, o);
	o[1].changed(o[1].arg, now, before);
}

/* The claim that excludes claim ns/me; "" if none does. */
static const char *in_the_way(struct device_holds *h, const char *me, const char *share_id)
{
	struct device_use use = { .driver = STR("gpu.example.com"),
				  .pool = STR("n1/a"),
				  .name = STR("gpu-0"),
				  .share = str_from(share_id) };
	struct str holder = device_holds_find(h, &use, str_from(me));
	static char text[64];

	(void)snprintf(text, sizeof(text), "%.*s", STR_ARG(holder));
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
	struct state_observer o[DEVICE_HOLDS_OBSERVERS];

	device_holds_observe(h, o);
	tell(h, a, NULL);
	tell(h, b, NULL);
	tell(h, NULL, b);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/a");
	o[0].reset(o[0].arg);
	assert_string_equal(in_the_way(h, "ns/c", ""), "");
	tell(h, b, NULL);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/b");
	object_unref(a);
	object_unref(b);
	device_holds_free(h);
}

static void only_devices_with_limits_are_kept(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct inventory *inv = device_holds_inventory(h);
	struct object *plain = slice("s", 1, "{\"name\":\"a\"},{\"name\":\"b\"}");
	struct object *some = slice("s", 1,
				    "{\"name\":\"a\",\"allowMultipleAllocations\":true},{"
				    "\"name\":\"b\",\"allowMultipleAllocations\":false},{"
				    "\"name\":\"c\",\"consumesCounters\":[{\"counterSet\":\"s\","
				    "\"counters\":{\"m\":{\"value\":\"1\"}}}]},{\"name\":\"d\"}");
	struct object *newer = slice("t", 2, "{\"name\":\"a\"}");
	struct state_observer o[DEVICE_HOLDS_OBSERVERS];

	tell_slice(h, plain, NULL);
	assert_int_equal(inventory_devices(inv), 0);
	tell_slice(h, some, plain);
	assert_int_equal(inventory_devices(inv), 2);
	tell_slice(h, newer, NULL);
	assert_int_equal(inventory_devices(inv), 0);
	tell_slice(h, NULL, newer);
	assert_int_equal(inventory_devices(inv), 2);
	device_holds_observe(h, o);
	o[1].reset(o[1].arg);
	assert_int_equal(inventory_devices(inv), 0);
	tell_slice(h, some, NULL);
	assert_int_equal(inventory_devices(inv), 2);
	tell_slice(h, plain, some);
	assert_int_equal(inventory_devices(inv), 0);
	object_unref(plain);
	object_unref(some);
	object_unref(newer);
	device_holds_free(h);
}

/* The API does not limit the capacities that a result consumes. */
static void a_claim_holds_its_device_whatever_it_consumes(void **state UNUSED)
{
	struct device_holds *h = device_holds_new();
	struct buf b = BUF_INIT(MIB);
	struct object *a;

	buf_printf(&b, "{\"request\":\"r\",\"driver\":\"gpu.example.com\",\"pool\":\"n1/a\","
		       "\"device\":\"gpu-0\",\"shareID\":\"s1\",\"consumedCapacity\":{");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%s\"c%d\":\"1\"", i ? "," : "", i);
	buf_printf(&b, "}}");
	buf_addc(&b, 0);
	a = claim("a", b.p);
	tell(h, a, NULL);
	assert_string_equal(in_the_way(h, "ns/c", ""), "ns/a");
	object_unref(a);
	buf_release(&b);
	device_holds_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_holds_its_devices_while_it_is_allocated),
		cmocka_unit_test(shares_exclude_only_exclusive_holds),
		cmocka_unit_test(admin_access_holds_nothing),
		cmocka_unit_test(old_data_may_have_several_holders),
		cmocka_unit_test(only_devices_with_limits_are_kept),
		cmocka_unit_test(a_claim_holds_its_device_whatever_it_consumes),
	};

	return cmocka_run_group_tests_name("server/device_holds", tests, NULL, NULL);
}

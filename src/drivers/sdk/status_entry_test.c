/*
 * Entries are made and merged without any server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/sdk/status_entry.h"

#define SHARE "01234567-89ab-4def-8123-456789abcdef"
#define EARLY "2001-02-03T04:05:06Z"
#define NOW   "2009-02-13T23:31:30Z"

static struct dp_condition ready(uint32_t status)
{
	return (struct dp_condition){ .size = sizeof(struct dp_condition),
				      .status = status,
				      .type = "Ready",
				      .reason = "Because" };
}

static struct dp_device_status of_device(const char *device)
{
	return (struct dp_device_status){ .size = sizeof(struct dp_device_status),
					  .device = device };
}

static struct status_entry *make(const struct dp_device_status *s)
{
	struct status_entry *e = NULL;
	struct error err;

	if (status_entry_new(s, "d", "p", &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

/* --- what may be said --------------------------------------------------------------------- */

static void an_entry_has_what_was_said(void **state UNUSED)
{
	struct dp_condition c = ready(DP_UNKNOWN_CONDITION);
	const char *const ips[] = { "192.0.2.5/24", "2001:db8::5/64" };
	struct dp_device_status s = of_device("x");
	struct status_entry *e;

	s.share_id = SHARE;
	s.conditions = &c;
	s.nconditions = 1;
	s.data = " { \"a\" : [ 1, 2 ] } ";
	s.interface_name = "net1";
	s.ips = ips;
	s.nips = 2;
	s.hardware_address = "02:00:00:00:00:01";
	e = make(&s);
	assert_string_equal(e->text,
			    "{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"shareID\":\"" SHARE
			    "\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\","
			    "\"reason\":\"Because\",\"message\":\"\"}],\"data\":{\"a\":[1,2]},"
			    "\"networkData\":{\"interfaceName\":\"net1\",\"ips\":[\"192.0.2.5/24\","
			    "\"2001:db8::5/64\"],\"hardwareAddress\":\"02:00:00:00:00:01\"}}");
	assert_string_equal(e->pool, "p");
	assert_string_equal(e->share, SHARE);
	status_entry_free(e);
	s = of_device("x");
	s.pool = "q";
	e = make(&s);
	assert_string_equal(e->text, "{\"driver\":\"d\",\"pool\":\"q\",\"device\":\"x\"}");
	status_entry_free(e);
	status_entry_free(NULL);
}

/* Entries that the server would reject are rejected here. */
struct bad {
	const char *words; /* part of the error message */
	struct dp_device_status status;
	struct dp_condition conditions[DEVICE_STATUS_CONDITIONS_MAX + 1];
	const char *ips[DEVICE_STATUS_ADDRESSES_MAX + 1];
};

#define CONDITION(t, r)                                                         \
	{                                                                       \
		.size = sizeof(struct dp_condition), .type = (t), .reason = (r) \
	}

static const struct bad bads[] = {
	{ "device", { .device = "Not A Label" } },
	{ "device", { .device = NULL } },
	{ "pool", { .device = "x", .pool = "" } },
	{ "share id", { .device = "x", .share_id = "0" } },
	{ "condition type", { .device = "x", .nconditions = 1 }, { CONDITION(NULL, "R") } },
	{ "condition type", { .device = "x", .nconditions = 1 }, { CONDITION("a b", "R") } },
	{ "reason", { .device = "x", .nconditions = 1 }, { CONDITION("A", NULL) } },
	{ "reason", { .device = "x", .nconditions = 1 }, { CONDITION("A", "two words") } },
	{ "no size", { .device = "x", .nconditions = 1 }, { { .type = "A", .reason = "R" } } },
	{ "twice",
	  { .device = "x", .nconditions = 2 },
	  { CONDITION("A", "R"), CONDITION("A", "S") } },
	{ "9 conditions", { .device = "x", .nconditions = 9 } },
	{ "data", { .device = "x", .data = "{" } },
	{ "not a JSON object", { .device = "x", .data = "[]" } },
	{ "17 addresses", { .device = "x", .nips = 17 } },
	{ "is not an address", { .device = "x", .nips = 1 }, .ips = { "192.0.2.5" } },
	{ "is not an address", { .device = "x", .nips = 1 }, .ips = { NULL } },
	{ "written as 192.0.2.5/24", { .device = "x", .nips = 1 }, .ips = { "192.0.2.05/24" } },
	{ "written as 2001:db8::1/64",
	  { .device = "x", .nips = 1 },
	  .ips = { "2001:DB8:0::1/64" } },
	{ "twice", { .device = "x", .nips = 2 }, .ips = { "192.0.2.5/24", "192.0.2.5/24" } },
	{ "interface's name", { .device = "x", .interface_name = "\xff" } },
	{ "hardware address", { .device = "x", .hardware_address = "\xff" } },
};

static void an_invalid_entry_is_rejected_with_a_reason(void **state UNUSED)
{
	struct status_entry *e = NULL;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(bads); i++) {
		struct dp_device_status s = bads[i].status;

		s.size = sizeof(s);
		s.conditions = bads[i].conditions;
		s.ips = bads[i].ips;
		assert_int_equal(status_entry_new(&s, "d", "p", &e, &err), -ERR_INVALID);
		if (!strstr(err.msg, bads[i].words))
			fail_msg("%zu: \"%s\" without \"%s\"", i, err.msg, bads[i].words);
		assert_null(e);
		s.size = 4;
		assert_int_equal(status_entry_new(&s, "d", "p", &e, &err), -ERR_INVALID);
	}
}

/* `n` bytes of text, with what stands around it. */
static char *long_text(const char *before, size_t n, const char *after)
{
	struct buf b = BUF_INIT(MIB);

	(void)buf_addz(&b, before);
	for (size_t i = 0; i < n; i++)
		(void)buf_addc(&b, 'x');
	(void)buf_addz(&b, after);
	return buf_take(&b);
}

static void expect_limit(const char *before, size_t most, const char *after, size_t field)
{
	struct dp_condition c = ready(DP_TRUE);
	struct dp_device_status s = of_device("x");
	const char **at = field ? (const char **)(uintptr_t)((char *)&s + field) : &c.message;
	struct status_entry *e = NULL;
	char *text = long_text(before, most, after);

	s.conditions = &c;
	s.nconditions = 1;
	*at = text;
	status_entry_free(make(&s));
	free(text);
	*at = text = long_text(before, most + 1, after);
	assert_int_equal(status_entry_new(&s, "d", "p", &e, NULL), -ERR_INVALID);
	free(text);
}

static void limits_are_the_servers_to_the_byte(void **state UNUSED)
{
	expect_limit("{\"a\":\"", 10 * KIB - 8, "\"}", offsetof(struct dp_device_status, data));
	/* White space does not count. */
	expect_limit("{ \"a\":\n\"", 10 * KIB - 8, "\" }", offsetof(struct dp_device_status, data));
	expect_limit("", 256, "", offsetof(struct dp_device_status, interface_name));
	expect_limit("", 128, "", offsetof(struct dp_device_status, hardware_address));
	expect_limit("", 32 * KIB, "", 0);
}

/* --- merging ------------------------------------------------------------------------------ */

struct merging {
	struct list wanted;
	struct status_merge m;
	struct buf out;
	int changed;
};

static void begin(struct merging *g)
{
	list_init(&g->wanted);
	g->m = (struct status_merge){ "d", &g->wanted, false, INT64_C(1234567890) * CLOCK_SEC };
	g->out = BUF_INIT(MIB);
}

static void want(struct merging *g, const char *device, const char *share, uint32_t status)
{
	struct dp_condition c = ready(status);
	struct dp_device_status s = of_device(device);

	s.share_id = share;
	s.conditions = &c;
	s.nconditions = 1;
	list_push_back(&g->wanted, &make(&s)->link);
}

static void merge(struct merging *g, const char *devices, const char *expected)
{
	struct error err;

	buf_clear(&g->out);
	g->changed = status_entry_merge(&g->m, str_from(devices), &g->out, &err);
	if (g->changed < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(g->out.p, expected);
}

static void end(struct merging *g)
{
	LIST_FOREACH_SAFE (it, &g->wanted)
		status_entry_free(LIST_ENTRY(it, struct status_entry, link));
	buf_release(&g->out);
}

#define ENTRY(device, status, time)                                                    \
	"{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"" device "\",\"conditions\":[{" \
	"\"type\":\"Ready\",\"status\":\"" status "\",\"reason\":\"Because\","         \
	"\"message\":\"\",\"lastTransitionTime\":\"" time "\"}]}"

static void a_condition_keeps_its_time_while_its_status_is_the_same(void **state UNUSED)
{
	struct merging g;

	begin(&g);
	want(&g, "x", NULL, DP_TRUE);
	merge(&g, "", "[" ENTRY("x", "True", NOW) "]");
	assert_int_equal(g.changed, 1);
	merge(&g, "[" ENTRY("x", "False", EARLY) "]", "[" ENTRY("x", "True", NOW) "]");
	assert_int_equal(g.changed, 1);
	merge(&g, "[" ENTRY("x", "True", EARLY) "]", "[" ENTRY("x", "True", EARLY) "]");
	assert_int_equal(g.changed, 0);
	/* Another reason is a change, but no transition. */
	merge(&g,
	      "[{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"conditions\":[{\"type\":"
	      "\"Ready\",\"status\":\"True\",\"reason\":\"Other\",\"lastTransitionTime\":\"" EARLY
	      "\"}]}]",
	      "[" ENTRY("x", "True", EARLY) "]");
	assert_int_equal(g.changed, 1);
	end(&g);
}

static void entries_of_others_stay_as_they_were(void **state UNUSED)
{
	static const char others[] = "{\"driver\":\"e\",\"pool\":\"p\",\"device\":\"x\",\"data\":"
				     "{\"n\":1.0,\"m\":12345678901234567890123,\"s\":\"\\u0041\"},"
				     "\"conditions\":null}";
	CLEANUP(buf_release) struct buf before = BUF_INIT(KIB), after = BUF_INIT(KIB);
	struct merging g;

	begin(&g);
	want(&g, "y", NULL, DP_TRUE);
	(void)buf_printf(&before, "[%s," ENTRY("x", "True", EARLY) "]", others);
	(void)buf_printf(&after, "[%s," ENTRY("x", "True", EARLY) "," ENTRY("y", "True", NOW) "]",
			 others);
	merge(&g, before.p, after.p);
	assert_int_equal(g.changed, 1);
	/* All of ours that are not wanted go; the other's stays. */
	g.m.clear = true;
	buf_clear(&after);
	(void)buf_printf(&after, "[%s," ENTRY("y", "True", NOW) "]", others);
	merge(&g, before.p, after.p);
	assert_int_equal(g.changed, 1);
	end(&g);
}

static void network_data_is_spelled_once(void **state UNUSED)
{
	struct merging g;

	begin(&g);
	g.m.clear = true;
	merge(&g,
	      "[{\"driver\":\"e\",\"networkData\":{\"ips\":[\"192.0.2.5/24\"],\"addresses\":["
	      "\"192.0.2.5/24\"],\"hwAddress\":\"aa\",\"interfaceName\":\"n\"}}]",
	      "[{\"driver\":\"e\",\"networkData\":{\"ips\":[\"192.0.2.5/24\"],\"interfaceName\":"
	      "\"n\",\"hardwareAddress\":\"aa\"}}]");
	assert_int_equal(g.changed, 0);
	merge(&g, "[" ENTRY("x", "True", EARLY) "]", "null");
	assert_int_equal(g.changed, 1);
	merge(&g, "", "null");
	assert_int_equal(g.changed, 0);
	end(&g);
}

static void our_own_network_data_is_compared_in_one_spelling(void **state UNUSED)
{
	const char *const ips[] = { "192.0.2.5/24" };
	struct dp_device_status s = of_device("x");
	struct merging g;

	s.ips = ips;
	s.nips = 1;
	begin(&g);
	list_push_back(&g.wanted, &make(&s)->link);
	merge(&g,
	      "[{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"conditions\":null,"
	      "\"networkData\":{\"ips\":[\"192.0.2.5/24\"],\"addresses\":[\"192.0.2.5/24\"]}}]",
	      "[{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\",\"networkData\":{\"ips\":["
	      "\"192.0.2.5/24\"]}}]");
	assert_int_equal(g.changed, 0);
	end(&g);
}

static void shares_of_a_device_are_devices_of_their_own(void **state UNUSED)
{
	static const char allocated[] = "[{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\"},"
					"{\"driver\":\"e\",\"pool\":\"p\",\"device\":\"y\"}]";
	struct merging g;
	struct status_entry *e;

	begin(&g);
	want(&g, "x", NULL, DP_TRUE);
	want(&g, "x", SHARE, DP_TRUE);
	want(&g, "y", NULL, DP_TRUE);
	merge(&g, "[" ENTRY("x", "True", EARLY) "]",
	      "[" ENTRY("x", "True", EARLY) ",{\"driver\":\"d\",\"pool\":\"p\",\"device\":\"x\","
					    "\"shareID\":\"" SHARE "\",\"conditions\":[{\"type\":"
					    "\"Ready\",\"status\":\"True\",\"reason\":\"Because\","
					    "\"message\":\"\",\"lastTransitionTime\":\"" NOW
					    "\"}]}," ENTRY("y", "True", NOW) "]");
	e = LIST_ENTRY(g.wanted.next, struct status_entry, link);
	assert_true(status_entry_is_allocated(e, "d", str_from(allocated)));
	assert_false(status_entry_is_allocated(e, "e", str_from(allocated)));
	assert_false(status_entry_is_allocated(e, "d", STR("")));
	assert_false(status_entry_is_allocated(e, "d", STR("[")));
	e = LIST_ENTRY(g.wanted.next->next, struct status_entry, link);
	assert_false(status_entry_is_allocated(e, "d", str_from(allocated)));
	e = LIST_ENTRY(g.wanted.prev, struct status_entry, link);
	assert_false(status_entry_is_allocated(e, "d", str_from(allocated)));
	end(&g);
}

static void an_empty_entry_stays_valid_json(void **state UNUSED)
{
	struct merging g;

	begin(&g);
	want(&g, "y", NULL, DP_TRUE);
	merge(&g, "[{}]", "[{}," ENTRY("y", "True", NOW) "]");
	merge(&g, "[{\"networkData\":{}}]", "[{\"networkData\":{}}," ENTRY("y", "True", NOW) "]");
	end(&g);
}

static void a_list_that_is_damaged_is_an_error(void **state UNUSED)
{
	static const char *const damaged[] = { "[", "[{]", "{}", "[{\"driver\":}]", "[1" };
	struct merging g;

	begin(&g);
	want(&g, "x", NULL, DP_TRUE);
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++)
		assert_int_equal(status_entry_merge(&g.m, str_from(damaged[i]), &g.out, NULL),
				 -ERR_PROTOCOL);
	end(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_has_what_was_said),
		cmocka_unit_test(an_invalid_entry_is_rejected_with_a_reason),
		cmocka_unit_test(limits_are_the_servers_to_the_byte),
		cmocka_unit_test(a_condition_keeps_its_time_while_its_status_is_the_same),
		cmocka_unit_test(entries_of_others_stay_as_they_were),
		cmocka_unit_test(network_data_is_spelled_once),
		cmocka_unit_test(our_own_network_data_is_compared_in_one_spelling),
		cmocka_unit_test(shares_of_a_device_are_devices_of_their_own),
		cmocka_unit_test(an_empty_entry_stays_valid_json),
		cmocka_unit_test(a_list_that_is_damaged_is_an_error),
	};

	return cmocka_run_group_tests_name("drivers/status_entry", tests, NULL, NULL);
}

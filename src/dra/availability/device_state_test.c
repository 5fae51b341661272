/*
 * Compares the state of every device of random clusters with the allocator: a device is available,
 * or available in part, if and only if a claim without tolerations gets it on some existing node.
 * Each reason is also tested once by hand.
 */
#include "dra/inventory/inventory_fixture.h"

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "dra/allocate/allocate.h"
#include "dra/allocate/explain.h"
#include "dra/availability/device_state.h"

/* A node that no slice names, and that always exists. */
#define NOWHERE "n2"

enum { WORLDS = 4000, SLICES = 5, DEVICES = 12, CLAIMS = 5, RULES = 2, LINE = 1024 };

static struct json *parse(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static void tell(struct inventory *inv, const char *line)
{
	assert_int_equal(world_tell(inv, str_from(line)), 0);
}

/* --- what the allocator says ---------------------------------------------------------------- */

/* A claim for the least possible amount of this device, selected by its own attribute. */
static const struct json *claim_for(struct arena *a, const struct inventory_device *d)
{
	struct buf text = BUF_INIT(64 * KIB), amounts = BUF_INIT(KIB);
	struct json *claim;

	for (size_t i = 0; i < d->view.ncapacity && d->view.allow_multiple; i++) {
		struct quantity least, most;

		(void)device_share(d, &d->capacities[i], &least, &most);
		(void)buf_printf(&amounts, "%s\"%.*s\":\"", i ? "," : "",
				 STR_ARG(d->capacities[i].name));
		(void)quantity_print(least, &amounts);
		(void)buf_addc(&amounts, '"');
	}
	(void)buf_printf(&text,
			 "{\"metadata\":{\"name\":\"c\",\"namespace\":\"test\",\"uid\":\"u\"},"
			 "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
			 "\"deviceClassName\":\"any\",\"allocationMode\":\"ExactCount\","
			 "\"count\":1,\"capacity\":{\"requests\":{%.*s}},\"selectors\":[{\"cel\":{"
			 "\"expression\":\"device.attributes['" WORLD_DRIVER "'].id == "
			 "'%.*s-%.*s'\"}}]}}]}}}",
			 STR_ARG(buf_str(&amounts)), STR_ARG(d->slice->name), STR_ARG(d->name));
	claim = parse(a, arena_strdup(a, buf_str(&text)));
	buf_release(&text);
	buf_release(&amounts);
	return claim;
}

static bool is_given(struct inventory *inv, const struct inventory_device *d)
{
	static const char *const nodes[] = { "n0", "n1", NOWHERE };
	bool given = false;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		const struct inventory_nodes node = { INVENTORY_NODES_NAME, str_from(nodes[i]),
						      NULL };
		const struct json *claim = claim_for(&a, d);
		struct json *result;
		struct error err;

		if (inventory_nodes_gone(inv, &node))
			continue;
		given |= allocate(inv, &(struct allocate_node){ .name = str_from(nodes[i]) },
				  &claim, 1, NULL, &a, &result, &err) == 1;
	}
	arena_release(&a);
	return given;
}

/* --- random clusters ------------------------------------------------------------------------ */

static unsigned below(struct prng *g, unsigned n)
{
	return (unsigned)prng_below(g, n);
}

/* Names are unique with a few exceptions. `each`: the device has its own node selection. */
static void add_device(struct prng *g, struct buf *line, unsigned slice, unsigned n, bool each)
{
	static const char *const places[] = { "on=n0", "on=n0", "on=n1", "onall" };
	unsigned id = below(g, 20) ? 3 * slice + n - 4 : below(g, DEVICES);

	(void)buf_printf(line, " g%u(@id=s%u-g%u", id, slice, id);
	if (below(g, 3) == 0)
		(void)buf_printf(line, ",c%u.x:%u,c%u.y:%u", below(g, 2), 1 + below(g, 5),
				 below(g, 2), 1 + below(g, 5));
	if (below(g, 2))
		(void)buf_printf(line, ",multi,memory=%u,cores=%u", 1 + below(g, 3),
				 1 + below(g, 3));
	if (below(g, 6) == 0)
		(void)buf_printf(line, ",!k%u=%s", below(g, 2),
				 below(g, 2) ? "NoSchedule" : "None");
	/* Unsupported groups make the slice ignored, and missing in its pool. */
	if (below(g, 20) == 0)
		(void)buf_addz(line, ",groups");
	/* A device without a node selection is reached by no node. */
	if (each && below(g, 10))
		(void)buf_printf(line, ",%s", places[below(g, ARRAY_SIZE(places))]);
	(void)buf_addc(line, ')');
}

static void add_slice(struct prng *g, struct inventory *inv, unsigned i)
{
	static const char *const places[] = { "n0",   "n0",   "n1",   "all", "all",
					      "each", "each", "each", "none" };
	/* Counters are in the first slice; the second may repeat a set of them. */
	bool counters = i == 0 || (i == 1 && below(g, 6) == 0);
	unsigned place = below(g, counters ? 5 : ARRAY_SIZE(places));
	struct buf line = BUF_INIT(LINE);

	(void)buf_printf(&line, "%s s%u p%u %u/%u %s", counters ? "counters" : "slice", i,
			 below(g, 9) / 8, 1 + below(g, 20) / 19,
			 below(g, 3) ? SLICES : 1 + below(g, SLICES), places[place]);
	if (i == 0)
		(void)buf_printf(&line, " c0.x=%u c0.y=%u c1.x=%u c1.y=%u", below(g, 9),
				 below(g, 9), below(g, 9), below(g, 9));
	else if (counters)
		(void)buf_printf(&line, " c%u.x=%u", 1 + below(g, 2), below(g, 9));
	for (unsigned n = counters ? 0 : below(g, 4); n > 0; n--)
		add_device(g, &line, i, n, strcmp(places[place], "each") == 0);
	/* A slice with two devices of the same name is rejected: then it does not exist. */
	(void)world_tell(inv, buf_str(&line));
	buf_release(&line);
}

static void add_claim(struct prng *g, struct inventory *inv, unsigned i)
{
	struct buf line = BUF_INIT(LINE);

	(void)buf_printf(&line, "claim ns/c%u", i);
	for (unsigned n = 1 + below(g, 3); n > 0; n--) {
		(void)buf_printf(&line, " p%u/g%u", below(g, 9) / 8, below(g, DEVICES));
		if (below(g, 2))
			(void)buf_printf(&line, "(share=s%u-%u,memory=%u,cores=%u)", i, n,
					 below(g, 3), below(g, 3));
		else if (below(g, 5) == 0)
			(void)buf_addz(&line, "(admin)");
	}
	tell(inv, line.p);
	buf_release(&line);
}

/* In half of the worlds the inventory knows which nodes exist. */
static void add_nodes(struct prng *g, struct inventory *inv)
{
	tell(inv, "node " NOWHERE);
	if (below(g, 2))
		tell(inv, "node n0");
	if (below(g, 2))
		tell(inv, "node n1");
	if (below(g, 2))
		inventory_know_nodes(inv);
}

/* With the class "any". */
static struct inventory *new_world(struct inventory_features features)
{
	struct inventory *inv = inventory_new(features);
	struct arena a;

	arena_init(&a, SIZE_MAX);
	assert_int_equal(
		inventory_put_class(inv, parse(&a, "{\"metadata\":{\"name\":\"any\"}}"), NULL), 0);
	arena_release(&a);
	return inv;
}

static struct inventory *random_world(struct prng *g)
{
	struct inventory_features features = inventory_everything;
	struct inventory *inv;
	char line[LINE];

	features.partitionable = below(g, 6) > 0;
	features.compatibility_groups = below(g, 2) > 0;
	inv = new_world(features);
	for (unsigned i = 0; i < SLICES; i++)
		add_slice(g, inv, i);
	for (unsigned i = below(g, CLAIMS + 1); i > 0; i--)
		add_claim(g, inv, i);
	for (unsigned i = below(g, 4) / 2 * below(g, RULES + 1); i > 0; i--) {
		(void)snprintf(line, sizeof(line), "rule r%u p%u g%u NoExecute", i, below(g, 2),
			       below(g, DEVICES));
		tell(inv, line);
	}
	add_nodes(g, inv);
	return inv;
}

/* Counts each state, so that the test can check that all of them occur. */
static void check_slice(struct inventory *inv, struct str name, unsigned seed, unsigned *states)
{
	const struct inventory_slice *s = inventory_slice(inv, name);
	enum device_reason reason;

	if (!s || !s->current)
		return;
	reason = device_slice_reason(inv, s);
	for (size_t i = 0; i < s->ndevices; i++) {
		const struct inventory_device *d = &s->devices[i];
		struct device_standing is = device_standing(inv, d, reason);
		bool free = is.state == DEVICE_AVAILABLE || is.state == DEVICE_PARTIALLY_ALLOCATED;

		if (is_given(inv, d) != free)
			fail_msg("world %u: device %.*s of %.*s is %s (%s), and the allocator "
				 "says otherwise",
				 seed, STR_ARG(d->name), STR_ARG(name), device_state_name(is.state),
				 is.reason ? device_reason_name(is.reason) : "no reason");
		states[is.state]++;
	}
}

static void available_is_what_the_allocator_gives(void **state)
{
	unsigned states[DEVICE_STATES] = { 0 };

	(void)state;
	for (unsigned seed = 0; seed < WORLDS; seed++) {
		struct inventory *inv;
		struct prng g;

		prng_init(&g, seed);
		inv = random_world(&g);
		for (unsigned i = 1; i < SLICES; i++) {
			char name[] = { 's', (char)('0' + i), '\0' };

			check_slice(inv, str_from(name), seed, states);
		}
		inventory_free(inv);
	}
	for (size_t i = 0; i < DEVICE_STATES; i++)
		assert_in_range(states[i], 100, UINT_MAX);
}

/* --- reasons -------------------------------------------------------------------------------- */

static void expect(struct inventory *inv, const char *slice, const char *device, const char *want)
{
	const struct inventory_slice *s = inventory_slice(inv, str_from(slice));
	const struct inventory_device *d;
	struct device_standing is;
	char text[256];
	struct arena a;

	assert_non_null(s);
	d = inventory_pool_device(s->pool, str_from(device));
	assert_non_null(d);
	is = device_standing(inv, d, device_slice_reason(inv, s));
	arena_init(&a, SIZE_MAX);
	(void)snprintf(text, sizeof(text), "%s %.*s", device_state_name(is.state),
		       STR_ARG(device_standing_text(&is, &a)));
	arena_release(&a);
	assert_string_equal(text, want);
}

static void each_reason_has_its_name(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);

	(void)state;
	tell(inv, "slice s1 whole 1/1 n1 a b(!maintenance=NoSchedule) c d(!note=None)");
	tell(inv, "slice s2 part 1/2 n1 a b");
	tell(inv, "slice s3 twice 1/2 n1 a b");
	tell(inv, "slice s4 twice 1/2 n1 a");
	tell(inv, "slice s5 nowhere 1/1 none a");
	tell(inv, "slice s6 shared 1/1 n1 a(multi,cores=4,memory=80) b(multi,cores=4,memory=80)");
	tell(inv, "counters s7 parts 1/2 n1 set.x=4");
	tell(inv, "slice s8 parts 1/2 n1 half(set.x:2) whole(set.x:4)");
	tell(inv, "rule r whole c NoExecute");
	tell(inv, "claim ns/c1 whole/a part/b shared/a(share=1,cores=4,memory=10) parts/half");
	tell(inv, "claim ns/c2 shared/b(share=2,cores=1,memory=10)");
	expect(inv, "s1", "a", "Allocated ");
	expect(inv, "s1", "b", "Unavailable Tainted: maintenance");
	expect(inv, "s1", "c", "Unavailable Tainted: r");
	expect(inv, "s1", "d", "Available ");
	expect(inv, "s2", "a", "Unavailable PoolIncomplete");
	expect(inv, "s2", "b", "Allocated ");
	expect(inv, "s3", "b", "Unavailable PoolInvalid");
	expect(inv, "s5", "a", "Unavailable NoNode");
	/* 70 of memory are left, but no claim can use them without a core. */
	expect(inv, "s6", "a", "Allocated CapacityExhausted");
	expect(inv, "s6", "b", "PartiallyAllocated ");
	expect(inv, "s8", "half", "Allocated ");
	expect(inv, "s8", "whole", "Unavailable CountersExhausted");
	inventory_free(inv);
}

/* The description of stateReason lists all names, with "Tainted: KEY". */
static void assert_explains(const char *type, struct arena *a)
{
	const struct schema_type *t = schema_type_find(str_from(type));
	const struct schema_field *f = t ? schema_field(t, STR("stateReason")) : NULL;
	struct buf want = BUF_INIT(KIB);

	if (!f)
		fail_msg("%s has no stateReason", type);
	(void)buf_addz(&want, "Why no further claim gets it: ");
	for (int r = DEVICE_NO_REASON + 1; r < DEVICE_REASONS; r++) {
		const char *end = r + 1 == DEVICE_REASONS ? "." : ", ";

		if (r + 1 == DEVICE_REASONS)
			(void)buf_addz(&want, "or ");
		(void)buf_printf(&want, "%s%s%s", device_reason_name((enum device_reason)r),
				 r == DEVICE_TAINTED ? ": KEY" : "", end);
	}
	assert_string_equal(f->doc, arena_strdup(a, buf_str(&want)));
	buf_release(&want);
}

static void the_schema_names_every_reason(void **state)
{
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	assert_explains("io.k8s.api.resource.v1.DeviceStatus", &a);
	assert_explains("io.k8s.api.resource.v1beta1.DeviceStatus", &a);
	assert_explains("io.k8s.api.resource.v1beta2.DeviceStatus", &a);
	arena_release(&a);
}

static void devices_of_a_node_that_does_not_exist_are_unavailable(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);

	(void)state;
	tell(inv, "slice s1 p 1/2 n1 a b");
	tell(inv, "slice s2 p 1/2 each c(on=n1) d(on=n2) e(onall)");
	tell(inv, "claim ns/c p/b");
	tell(inv, "node n2");
	expect(inv, "s1", "a", "Available ");
	inventory_know_nodes(inv);
	expect(inv, "s1", "a", "Unavailable NodeGone");
	expect(inv, "s1", "b", "Allocated ");
	expect(inv, "s2", "c", "Unavailable NodeGone");
	expect(inv, "s2", "d", "Available ");
	expect(inv, "s2", "e", "Available ");
	tell(inv, "node n1");
	tell(inv, "remove node n2");
	expect(inv, "s1", "a", "Available ");
	expect(inv, "s2", "d", "Unavailable NodeGone");
	inventory_free(inv);
}

static void a_faulty_pool_is_judged_from_nodes_that_reach_the_device(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);

	(void)state;
	tell(inv, "slice s1 part 1/2 each a(on=n1) b(onall) c");
	expect(inv, "s1", "a", "Unavailable PoolIncomplete");
	expect(inv, "s1", "b", "Unavailable PoolIncomplete");
	expect(inv, "s1", "c", "Unavailable NoNode");
	tell(inv, "slice s2 part 1/2 n1 d");
	expect(inv, "s1", "a", "Available ");
	expect(inv, "s1", "b", "Available ");
	/*
	 * There are three slices. n1 and n2 see two each, the expected count; other nodes see one.
	 */
	tell(inv, "slice s3 some 1/2 n1 e");
	tell(inv, "slice s4 some 1/2 n2 f");
	tell(inv, "slice s5 some 1/2 all g");
	expect(inv, "s5", "g", "Available ");
	inventory_know_nodes(inv);
	expect(inv, "s5", "g", "Unavailable PoolIncomplete");
	expect(inv, "s3", "e", "Unavailable NodeGone");
	tell(inv, "node n2");
	expect(inv, "s5", "g", "Available ");
	expect(inv, "s4", "f", "Available ");
	inventory_free(inv);
}

/* --- explanations --------------------------------------------------------------------------- */

static void explains(struct inventory *inv, const char *node, const char *want)
{
	struct allocate_node on = { .name = str_from(node) };
	struct buf out = BUF_INIT(MIB);
	const struct json *claim;
	struct explain e;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	claim = parse(&a, "{\"metadata\":{\"name\":\"c\",\"namespace\":\"test\",\"uid\":\"u\"},"
			  "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
			  "\"deviceClassName\":\"any\",\"allocationMode\":\"ExactCount\","
			  "\"count\":4}}]}}}");
	explain_fit(inv, &on, &claim, 1, NULL, &a, &e);
	assert_false(e.fits);
	explain_print(&e, &on, 8, &out);
	assert_string_equal(out.p, want);
	arena_release(&a);
	buf_release(&out);
}

static void explanations_have_the_same_reason(void **state)
{
	struct inventory *inv = new_world(inventory_everything);
	struct str *gone;
	struct arena a;

	(void)state;
	tell(inv, "slice s1 p 1/2 n1 a b x(!maintenance=NoSchedule)");
	tell(inv, "slice s2 p 1/2 each c(on=n1) d(on=n2) e(onall)");
	tell(inv, "slice s3 part 1/2 n1 f");
	tell(inv, "claim ns/c p/b");
	tell(inv, "node n2");
	arena_init(&a, SIZE_MAX);
	assert_int_equal(inventory_gone_nodes(inv, &a, &gone), 0);
	inventory_know_nodes(inv);
	expect(inv, "s2", "c", "Unavailable NodeGone");
	explains(inv, "n2",
		 "node n2: request \"r\" wants 4 devices of class any, 2 fit\n"
		 "  1 device NodeGone: c\n");
	expect(inv, "s1", "x", "Unavailable NodeGone");
	expect(inv, "s3", "f", "Unavailable NodeGone");
	explains(inv, "n1",
		 "node n1: request \"r\" wants 4 devices of class any, 0 fit\n"
		 "  4 devices NodeGone: a, x, f, c\n"
		 "  1 device in use: b (claim ns/c)\n");
	assert_int_equal(inventory_gone_nodes(inv, &a, &gone), 1);
	assert_true(str_eqz(gone[0], "n1"));
	arena_release(&a);
	inventory_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(available_is_what_the_allocator_gives),
		cmocka_unit_test(each_reason_has_its_name),
		cmocka_unit_test(the_schema_names_every_reason),
		cmocka_unit_test(devices_of_a_node_that_does_not_exist_are_unavailable),
		cmocka_unit_test(a_faulty_pool_is_judged_from_nodes_that_reach_the_device),
		cmocka_unit_test(explanations_have_the_same_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

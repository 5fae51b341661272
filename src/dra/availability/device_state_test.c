/*
 * Compares the state of every device of random clusters with the allocator: a device is available,
 * or available in part, if and only if a claim without tolerations gets it on some existing node.
 * Then a claim gets its largest share, and no claim gets more of any capacity.
 * Each reason is also tested once by hand.
 */
#include "dra/inventory/inventory_fixture.h"

#include "api/schema/schema.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "dra/allocate/allocate.h"
#include "dra/allocate/explain.h"
#include "dra/availability/availability_impl.h"

enum { NODES = 3 }; /* n0, n1, and n2, which no slice names */

/* The node's labels, or NULL if it does not exist. */
static const char *const labels_of[] = {
	NULL,
	"{}",
	"{\"zone\":\"a\"}",
	"{\"zone\":\"b\",\"rack\":\"r\"}",
};

struct random_nodes {
	const char *labels[NODES];
};

enum { WORLDS = 4000, ROUNDS = 2, SLICES = 5, DEVICES = 12, CLAIMS = 5, RULES = 2, LINE = 1024 };

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

static void add_amount(struct buf *amounts, struct str name, struct quantity q)
{
	(void)buf_printf(amounts, "%s\"%.*s\":\"", amounts->n ? "," : "", STR_ARG(name));
	(void)quantity_print(q, amounts);
	(void)buf_addc(amounts, '"');
}

/* The least amount that a claim can take of each capacity. */
static void least_amounts(struct buf *ret_amounts, const struct inventory_device *d)
{
	for (size_t i = 0; i < d->view.ncapacity && d->view.allow_multiple; i++) {
		struct quantity least, most;

		(void)device_share(d, &d->capacities[i], &least, &most);
		add_amount(ret_amounts, d->capacities[i].name, least);
	}
}

/* A claim for these amounts of the device, which is selected by its own attribute. */
static const struct json *claim_for(struct arena *a, const struct inventory_device *d,
				    const struct buf *amounts)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct json *claim;

	(void)buf_printf(&text,
			 "{\"metadata\":{\"name\":\"c\",\"namespace\":\"test\",\"uid\":\"u\"},"
			 "\"spec\":{\"devices\":{\"requests\":[{\"name\":\"r\",\"exactly\":{"
			 "\"deviceClassName\":\"any\",\"allocationMode\":\"ExactCount\","
			 "\"count\":1,\"capacity\":{\"requests\":{%.*s}},\"selectors\":[{\"cel\":{"
			 "\"expression\":\"device.attributes['" WORLD_DRIVER "'].id == "
			 "'%.*s-%.*s'\"}}]}}]}}}",
			 STR_ARG(buf_str(amounts)), STR_ARG(d->slice->name), STR_ARG(d->name));
	claim = parse(a, arena_strdup(a, buf_str(&text)));
	buf_release(&text);
	return claim;
}

static bool is_given(struct inventory *inv, const struct random_nodes *nodes,
		     const struct inventory_device *d, const struct buf *amounts)
{
	bool given = false;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < NODES; i++) {
		const struct json *claim = claim_for(&a, d, amounts);
		char name[] = { 'n', (char)('0' + i), '\0' };
		struct allocate_node node = { .name = str_from(name) };
		struct json *result;
		struct error err;

		if (!nodes->labels[i])
			continue;
		node.labels = parse(&a, nodes->labels[i]);
		given |= allocate(inv, &node, &claim, 1, NULL, &a, &result, &err) == 1;
	}
	arena_release(&a);
	return given;
}

/*
 * A claim for the largest share gets it, and a claim for one more of some capacity does not.
 * Returns the number of capacities.
 */
static size_t check_share(struct inventory *inv, const struct random_nodes *nodes,
			  const struct inventory_device *d, const struct device_standing *is,
			  unsigned seed)
{
	const struct json *share;
	size_t n;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	share = availability_largest_share(inv, d, is, &a);
	n = json_count(share);
	/* The first round raises nothing. */
	for (size_t raised = 0; raised <= n && share; raised++) {
		struct buf amounts = BUF_INIT(KIB);
		size_t i = 0;

		JSON_FOREACH (it, share) {
			struct quantity q;

			assert_true(quantity_read(it, &q));
			if (++i == raised)
				q = quantity_add(q, quantity_of(1, q.format));
			add_amount(&amounts, json_key(it), q);
		}
		if (is_given(inv, nodes, d, &amounts) != (raised == 0))
			fail_msg("world %u: device %.*s of %.*s: largest share and one more of "
				 "capacity %zu: {%.*s}",
				 seed, STR_ARG(d->name), STR_ARG(d->slice->name), raised,
				 STR_ARG(buf_str(&amounts)));
		buf_release(&amounts);
	}
	arena_release(&a);
	return n;
}

/* --- random clusters ------------------------------------------------------------------------ */

static unsigned below(struct prng *g, unsigned n)
{
	return (unsigned)prng_below(g, n);
}

/* Policies are such that the API takes: a range with or without steps, or values. */
static void add_capacity(struct prng *g, struct buf *line, const char *name, bool multi)
{
	unsigned value = 2 + below(g, 7), min = 1 + below(g, 2), step = 1 + below(g, 2);
	unsigned max = min + step * below(g, (value - min) / step + 1),
		 policy = multi ? below(g, 6) : 0;

	(void)buf_printf(line, ",%s=%u", name, value);
	if (policy == 1 || policy == 2)
		(void)buf_printf(line, ";min:%u;default:%u", min, below(g, 2) ? min : max);
	if (policy == 2)
		(void)buf_printf(line, ";step:%u", step);
	if ((policy == 1 || policy == 2) && below(g, 2))
		(void)buf_printf(line, ";max:%u", max);
	if (policy == 3)
		(void)buf_printf(line, ";value:%u;value:%u;default:%u", min, value, min);
}

/* Names are unique with a few exceptions. `each`: the device has its own node selection. */
static void add_device(struct prng *g, struct buf *line, unsigned slice, unsigned n, bool each)
{
	static const char *const places[] = { "on=n0", "on=n0",     "on=n1",
					      "onall", "in=zone=a", "in=zone=b" };
	unsigned id = below(g, 20) ? 3 * slice + n - 4 : below(g, DEVICES);

	(void)buf_printf(line, " g%u(@id=s%u-g%u", id, slice, id);
	if (below(g, 3) == 0)
		(void)buf_printf(line, ",c%u.x:%u,c%u.y:%u", below(g, 2), 1 + below(g, 5),
				 below(g, 2), 1 + below(g, 5));
	if (below(g, 2)) {
		bool multi = below(g, 4) > 0;

		(void)buf_addz(line, multi ? ",multi" : "");
		add_capacity(g, line, "memory", multi);
		add_capacity(g, line, "cores", multi);
	}
	if (below(g, 6) == 0)
		(void)buf_printf(line, ",!k%u=%s", below(g, 2),
				 below(g, 2) ? "NoSchedule" : "None");
	if (below(g, 6) == 0)
		(void)buf_addz(line, ",bind");
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
	static const char *const places[] = { "n0",   "n0",   "n1",   "all",    "all",    "zone=a",
					      "each", "each", "each", "zone=a", "rack=r", "none" };
	/* Counters are in the first slice; the second may repeat a set of them. */
	bool counters = i == 0 || (i == 1 && below(g, 6) == 0);
	unsigned place = below(g, counters ? 6 : ARRAY_SIZE(places));
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

/* Some nodes exist, and some change their labels or go before they are asked for. */
static void add_nodes(struct prng *g, struct inventory *inv, struct random_nodes *nodes)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (unsigned change = 0; change < 2 * NODES; change++) {
		unsigned i = change < NODES ? change : below(g, NODES);
		char name[] = { 'n', (char)('0' + i), '\0' };

		/* The last node always exists. */
		nodes->labels[i] = labels_of[i == NODES - 1 ? 1 + below(g, 3) : below(g, 4)];
		if (nodes->labels[i])
			inventory_put_node(inv, str_from(name), parse(&a, nodes->labels[i]));
		else if (below(g, 2))
			inventory_put_lost_node(inv, str_from(name), 1);
		else
			inventory_remove_node(inv, str_from(name));
	}
	inventory_know_nodes(inv);
	arena_release(&a);
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
	return inv;
}

/* The numbers of each state and of capacities of shares: the test checks that all of them occur. */
struct met {
	unsigned states[DEVICE_STATES];
	size_t shares;
};

static void check_device(struct inventory *inv, const struct random_nodes *nodes,
			 const struct inventory_device *d, enum device_reason of_slice,
			 unsigned seed, struct met *met)
{
	struct device_standing is = device_standing(inv, d, of_slice);
	bool free = is.state == DEVICE_AVAILABLE || is.state == DEVICE_PARTIALLY_ALLOCATED;
	struct buf least = BUF_INIT(KIB);

	least_amounts(&least, d);
	if (is_given(inv, nodes, d, &least) != free)
		fail_msg("world %u: device %.*s of %.*s is %s (%s), and the allocator says "
			 "otherwise",
			 seed, STR_ARG(d->name), STR_ARG(d->slice->name),
			 device_state_name(is.state),
			 is.reason ? device_reason_name(is.reason) : "no reason");
	buf_release(&least);
	met->states[is.state]++;
	if (free)
		met->shares += check_share(inv, nodes, d, &is, seed);
}

static void check_slice(struct inventory *inv, const struct random_nodes *nodes, struct str name,
			unsigned seed, struct met *met)
{
	const struct inventory_slice *s = inventory_slice(inv, name);
	enum device_reason reason;

	if (!s || !s->current)
		return;
	reason = device_slice_reason(inv, s);
	for (size_t i = 0; i < s->ndevices; i++)
		check_device(inv, nodes, &s->devices[i], reason, seed, met);
}

/* The second round finds what the first one cached, and other nodes. */
static void check_round(struct prng *g, struct inventory *inv, unsigned seed, struct met *met)
{
	struct random_nodes nodes;

	add_nodes(g, inv, &nodes);
	for (unsigned i = 1; i < SLICES; i++) {
		char name[] = { 's', (char)('0' + i), '\0' };

		check_slice(inv, &nodes, str_from(name), seed, met);
	}
}

static void available_is_what_the_allocator_gives(void **state)
{
	struct met met = { .shares = 0 };

	(void)state;
	for (unsigned seed = 0; seed < WORLDS; seed++) {
		struct inventory *inv;
		struct prng g;

		prng_init(&g, seed);
		inv = random_world(&g);
		for (unsigned round = 0; round < ROUNDS; round++)
			check_round(&g, inv, seed, &met);
		inventory_free(inv);
	}
	for (size_t i = 0; i < DEVICE_STATES; i++)
		assert_in_range(met.states[i], 100, UINT_MAX);
	assert_in_range(met.shares, 1000, SIZE_MAX);
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
	(void)buf_addz(&want, "Why no claim gets it: ");
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

static void devices_of_a_lost_node_are_unavailable(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);

	(void)state;
	tell(inv, "slice s1 p 1/2 n1 a b");
	tell(inv, "slice s2 p 1/2 each c(on=n1) d(on=n2) e(onall)");
	tell(inv, "slice s3 net 1/1 all f");
	tell(inv, "claim ns/c p/b");
	tell(inv, "node n2");
	tell(inv, "lost n1");
	expect(inv, "s1", "a", "Unavailable NodeUnreachable");
	inventory_know_nodes(inv);
	expect(inv, "s1", "a", "Unavailable NodeUnreachable");
	expect(inv, "s1", "b", "Allocated ");
	expect(inv, "s2", "c", "Unavailable NodeUnreachable");
	expect(inv, "s2", "d", "Available ");
	expect(inv, "s2", "e", "Available ");
	expect(inv, "s3", "f", "Available ");
	tell(inv, "node n1");
	expect(inv, "s1", "a", "Available ");
	tell(inv, "lost n1");
	tell(inv, "remove node n1");
	expect(inv, "s1", "a", "Unavailable NodeGone");
	inventory_free(inv);
}

static int64_t lost_since(struct arena *a, const char *taints, const char *ready)
{
	return inventory_node_lost_since(parse(
		a, arena_printf(a, "{\"spec\":{\"taints\":%s},\"status\":{\"conditions\":[%s]}}",
				taints, ready)));
}

#define DEAD(key, time) "{\"key\":\"node.kubernetes.io/" key "\"" time "}"

static void taints_say_that_a_node_is_lost(void **state)
{
	const char *ready = "{\"type\":\"Ready\",\"status\":\"Unknown\","
			    "\"lastTransitionTime\":\"1970-01-01T00:00:07Z\"}";
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	assert_int_equal(lost_since(&a, "[]", ready), 0);
	assert_int_equal(lost_since(&a, "[" DEAD("not-ready", "") "]", ready), 0);
	assert_int_equal(lost_since(&a, "[" DEAD("unreachable", "") "]", ready), 7000000000);
	assert_int_equal(lost_since(&a, "[" DEAD("out-of-service", "") "]", ""), 1);
	assert_int_equal(
		lost_since(
			&a,
			"[" DEAD("unreachable", ",\"timeAdded\":\"1970-01-01T00:00:09Z\"") "," DEAD(
				"out-of-service",
				"") "," DEAD("unreachable",
					     ",\"timeAdded\":\"1970-01-01T00:00:05Z\"") "]",
			ready),
		5000000000);
	assert_int_equal(lost_since(&a, "[7,{\"key\":8}]", "9"), 0);
	assert_int_equal(lost_since(&a, "{\"key\":8}", ""), 0);
	arena_release(&a);
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

static void a_node_selector_counts_for_the_nodes_that_it_matches(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);

	(void)state;
	tell(inv, "slice s1 p 1/2 zone=a a");
	tell(inv, "slice s2 p 1/2 each b(in=zone=b) c(in=zone=a) d(onall)");
	/* One node sees both slices, other nodes see one of two. */
	tell(inv, "slice s3 part 1/3 zone=a e");
	tell(inv, "slice s4 part 1/3 each f(on=n1) g(in=rack=r)");
	tell(inv, "slice s5 part 1/3 each h(on=n1) i(in=rack=r)");
	tell(inv, "slice s6 part 1/3 n9 j");
	expect(inv, "s1", "a", "Available ");
	inventory_know_nodes(inv);
	expect(inv, "s1", "a", "Unavailable NoNode");
	expect(inv, "s2", "d", "Available ");
	tell(inv, "node n1 zone=b");
	expect(inv, "s1", "a", "Unavailable NoNode");
	expect(inv, "s2", "b", "Available ");
	expect(inv, "s2", "c", "Unavailable NoNode");
	expect(inv, "s2", "d", "Available ");
	expect(inv, "s3", "e", "Unavailable NoNode");
	expect(inv, "s4", "f", "Unavailable PoolIncomplete");
	/* n1 sees s4 and s5 by its name and by its label, and counts each of them once. */
	tell(inv, "node n1 zone=a rack=r");
	expect(inv, "s1", "a", "Available ");
	expect(inv, "s2", "b", "Unavailable NoNode");
	expect(inv, "s3", "e", "Available ");
	expect(inv, "s4", "f", "Available ");
	expect(inv, "s5", "i", "Available ");
	tell(inv, "remove node n1");
	expect(inv, "s3", "e", "Unavailable NoNode");
	expect(inv, "s4", "f", "Unavailable NodeGone");
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

static void explanations_know_lost_nodes(void **state)
{
	struct inventory *inv = new_world(inventory_everything);

	(void)state;
	tell(inv, "slice s1 p 1/2 n1 a b x(!maintenance=NoSchedule)");
	tell(inv, "slice s2 p 1/2 each c(on=n1) d(on=n2) e(onall)");
	tell(inv, "slice s3 part 1/2 n1 f");
	tell(inv, "claim ns/c p/b");
	tell(inv, "node n2");
	tell(inv, "lost n1");
	inventory_know_nodes(inv);
	expect(inv, "s2", "c", "Unavailable NodeUnreachable");
	explains(inv, "n2",
		 "node n2: request \"r\" wants 4 devices of class any, 2 fit\n"
		 "  1 device NodeUnreachable: c\n");
	expect(inv, "s1", "x", "Unavailable NodeUnreachable");
	expect(inv, "s3", "f", "Unavailable NodeUnreachable");
	explains(inv, "n1",
		 "node n1: request \"r\" wants 4 devices of class any, 0 fit\n"
		 "  4 devices NodeUnreachable: a, x, f, c\n"
		 "  1 device in use: b (claim ns/c)\n");
	inventory_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(available_is_what_the_allocator_gives),
		cmocka_unit_test(each_reason_has_its_name),
		cmocka_unit_test(the_schema_names_every_reason),
		cmocka_unit_test(devices_of_a_node_that_does_not_exist_are_unavailable),
		cmocka_unit_test(devices_of_a_lost_node_are_unavailable),
		cmocka_unit_test(taints_say_that_a_node_is_lost),
		cmocka_unit_test(a_faulty_pool_is_judged_from_nodes_that_reach_the_device),
		cmocka_unit_test(a_node_selector_counts_for_the_nodes_that_it_matches),
		cmocka_unit_test(explanations_have_the_same_reason),
		cmocka_unit_test(explanations_know_lost_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

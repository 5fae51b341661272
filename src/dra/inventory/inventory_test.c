/*
 * After any sequence of puts and removes, an inventory must equal a fresh one with the same
 * objects. The single rules are in pools.cases and availability.cases; see availability_test.c.
 */
#include "dra/inventory/inventory_fixture.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "dra/availability/availability.h"
#include "dra/dra_limits.h"

/* --- a dump of everything ------------------------------------------------------------ */

static void dump_quantity(struct buf *out, struct quantity q)
{
	buf_printf(out, "%lld.%lld", (long long)(q.nano / 1000000000),
		   (long long)(q.nano % 1000000000));
}

static void dump_use(struct buf *out, const struct inventory_use *use)
{
	if (!use)
		return;
	buf_printf(out, " held %u/%u/%u", use->whole, use->shares, use->admins);
	LIST_FOREACH (it, &use->holders) {
		const struct inventory_holder *h = LIST_ENTRY(it, struct inventory_holder, link);

		buf_printf(out, " %.*s:%.*s:%.*s%s%s", STR_ARG(h->claim->key),
			   STR_ARG(h->claim->uid), STR_ARG(h->share_id), h->admin ? ":admin" : "",
			   h->claim->assumed ? ":assumed" : "");
	}
	for (size_t i = 0; i < use->nconsumed; i++) {
		buf_printf(out, " %.*s=", STR_ARG(use->consumed[i].name));
		dump_quantity(out, use->consumed[i].value);
	}
}

static void dump_slice(struct buf *out, const struct inventory_slice *s)
{
	buf_printf(out, " slice %.*s at %s\n", STR_ARG(s->name),
		   s->at == SIZE_MAX ? "no node" : "nodes");
	for (size_t i = 0; i < s->ndevices; i++) {
		const struct inventory_device *d = &s->devices[i];
		const struct inventory_taint *taint;
		size_t at = 0;

		assert_ptr_equal(d->slice, s);
		buf_printf(out, "  device %.*s", STR_ARG(d->name));
		dump_use(out, d->use);
		while ((taint = inventory_next_taint(d, &at)))
			buf_printf(out, " !%.*s=%d", STR_ARG(taint->key), taint->effect);
		for (size_t k = 0; k < d->ncounters; k++)
			buf_printf(out, " counter %d", (int)d->counters[k].index);
		buf_addc(out, '\n');
	}
}

static int by_name(const void *a, const void *b)
{
	return str_cmp((*(struct inventory_use *const *)a)->name,
		       (*(struct inventory_use *const *)b)->name);
}

static void dump_uses(struct buf *out, const struct inventory_pool *pool)
{
	struct inventory_use *uses[64];
	size_t n = 0, at = 0;
	struct str name;
	void *value;

	while (map_next(&pool->uses, &at, &name, &value) && n < ARRAY_SIZE(uses))
		uses[n++] = value;
	qsort(uses, n, sizeof(*uses), by_name);
	assert_int_equal(n, pool->nuses);
	for (size_t i = 0; i < n; i++) {
		buf_printf(out, " use %.*s", STR_ARG(uses[i]->name));
		dump_use(out, uses[i]);
		buf_addc(out, '\n');
	}
}

static void dump_pool(struct buf *out, const struct inventory_pool *pool)
{
	buf_printf(out,
		   "pool %.*s generation %lld older %u devices %zu %u/%lld %d %d %.*s over %u\n",
		   STR_ARG(pool->key), pool->nslices ? (long long)pool->generation : -1,
		   pool->nolder, pool->ndevices, pool->observed, (long long)pool->expected,
		   pool->incomplete, pool->invalid, STR_ARG(pool->invalid_reason), pool->overdrawn);
	for (size_t i = 0; i < pool->ncounters; i++) {
		buf_printf(out, " %.*s.%.*s ", STR_ARG(pool->counters[i].set),
			   STR_ARG(pool->counters[i].name));
		dump_quantity(out, pool->counters[i].value);
		buf_addz(out, " held ");
		dump_quantity(out, pool->counters[i].held);
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < pool->nslices; i++)
		dump_slice(out, pool->slices[i]);
	dump_uses(out, pool);
}

static void dump_statuses(struct buf *out, struct inventory *inv, const struct inventory_pool *pool,
			  struct arena *a)
{
	for (size_t i = 0; i < pool->nslices; i++) {
		json_print(out,
			   availability_slice_status(inv, NULL, pool->slices[i]->name, NULL, 0, a),
			   NULL);
		buf_addc(out, '\n');
	}
}

static void dump_node(struct buf *out, struct inventory *inv, const char *name, struct arena *a)
{
	struct inventory_node node = { .name = str_from(name) };
	struct inventory_node_pool *pools;
	size_t n = inventory_node_pools(inv, &node, a, &pools);

	for (size_t i = 0; i < n; i++) {
		buf_printf(out, "%s sees %.*s %d %d %.*s %d", name, STR_ARG(pools[i].pool->key),
			   pools[i].incomplete, pools[i].invalid, STR_ARG(pools[i].invalid_reason),
			   pools[i].binding);
		for (size_t k = 0; k < pools[i].n; k++)
			buf_printf(out, " %.*s", STR_ARG(pools[i].slices[k]->name));
		buf_addc(out, '\n');
	}
}

static void dump(struct buf *out, struct inventory *inv)
{
	struct inventory_pool *pool;
	struct str after = STR("");
	struct json *spec;
	struct arena a;
	int64_t total;

	arena_init(&a, 64 * MIB);
	assert_int_equal(
		json_parse(&a,
			   STR("{\"driver\":\"" WORLD_DRIVER
			       "\",\"defaultPartitionTypeAttribute\":\"d.example.com/k\"}"),
			   NULL, &spec, NULL),
		0);
	buf_printf(out, "%zu devices\n", inventory_devices(inv));
	while ((pool = inventory_pool_after(inv, after))) {
		dump_pool(out, pool);
		dump_statuses(out, inv, pool, &a);
		after = pool->key;
	}
	json_print(out, availability_pools(inv, spec, &a, &total), NULL);
	buf_printf(out, "\n%lld pools\n", (long long)total);
	dump_node(out, inv, "n0", &a);
	dump_node(out, inv, "n1", &a);
	dump_node(out, inv, "n2", &a);
	arena_release(&a);
}

/* --- at random ---------------------------------------------------------------------- */

enum { SLICES = 7, CLAIMS = 8, RULES = 3, TEXT_MAX = 512 };

/* The current objects, one line each; empty if the object does not exist. */
struct model {
	char slices[SLICES][TEXT_MAX], claims[CLAIMS][TEXT_MAX], rules[RULES][TEXT_MAX];
	uint64_t random;
};

static unsigned pick(struct model *m, unsigned below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (unsigned)(m->random % below);
}

static const char *one_of(struct model *m, const char *const *texts, unsigned n)
{
	return texts[pick(m, n)];
}
#define ONE_OF(m, ...)                                    \
	one_of((m), (const char *const[]){ __VA_ARGS__ }, \
	       ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static void make_slice(struct model *m, unsigned i, char *line)
{
	bool counters = pick(m, 4) == 0;
	int n = snprintf(line, TEXT_MAX, "%s s%u p%u %u/%u %s", counters ? "counters" : "slice", i,
			 pick(m, 2), 1 + pick(m, 2), 1 + pick(m, 3),
			 ONE_OF(m, "n0", "n1", "all", "zone=a", "each", "none"));

	for (unsigned k = 1 + pick(m, 3); k > 0; k--) {
		const char *part = ONE_OF(m, "", "(multi,mem=10Gi)", "(s.a:2,@k=x)",
					  "(multi,s.a:1,t.b:1,slots=2)", "(bind,on=n0)",
					  "(!bad=NoSchedule,onall)", "(t.c:1,@k=y)");

		if (counters)
			n += snprintf(line + n, (size_t)(TEXT_MAX - n), " %s=%u",
				      ONE_OF(m, "s.a", "t.b", "t.c"), pick(m, 5));
		else
			n += snprintf(line + n, (size_t)(TEXT_MAX - n), " g%u%s", pick(m, 6), part);
	}
}

static void make_claim(struct model *m, unsigned i, char *line, bool assume)
{
	int n = snprintf(line, TEXT_MAX, "%s ns/c%u uid=%u", assume ? "assume" : "claim", i,
			 pick(m, 2));

	for (unsigned k = 1 + pick(m, 3); k > 0; k--)
		n += snprintf(line + n, (size_t)(TEXT_MAX - n), " p%u/g%u%s", pick(m, 2),
			      pick(m, 7),
			      ONE_OF(m, "", "", "(admin)", "(share=x,mem=1Gi)",
				     "(share=y,mem=2Gi,slots=1)"));
}

static void change_claim(struct model *m, struct inventory *inv)
{
	unsigned i = pick(m, CLAIMS);
	char *have = m->claims[i], line[TEXT_MAX];
	bool assumed = str_starts(str_from(have), STR("assume"));

	switch (pick(m, 5)) {
	case 0:
		snprintf(line, sizeof(line), "remove claim ns/c%u", i);
		have[0] = '\0';
		break;
	case 1:
		snprintf(line, sizeof(line), "forget ns/c%u", i);
		if (assumed)
			have[0] = '\0';
		break;
	case 2:
		if (have[0] && !assumed)
			return;
		make_claim(m, i, have, true);
		snprintf(line, sizeof(line), "%s", have);
		break;
	default:
		make_claim(m, i, have, false);
		snprintf(line, sizeof(line), "%s", have);
		break;
	}
	assert_int_equal(world_tell(inv, str_from(line)), 0);
}

static void change_slice(struct model *m, struct inventory *inv)
{
	unsigned i = pick(m, SLICES);
	char line[TEXT_MAX];

	if (pick(m, 3) == 0) {
		snprintf(line, sizeof(line), "remove slice s%u", i);
		m->slices[i][0] = '\0';
	} else {
		make_slice(m, i, m->slices[i]);
		snprintf(line, sizeof(line), "%s", m->slices[i]);
	}
	assert_int_equal(world_tell(inv, str_from(line)), 0);
}

static void change_rule(struct model *m, struct inventory *inv)
{
	unsigned i = pick(m, RULES);
	char line[TEXT_MAX];

	if (pick(m, 3) == 0) {
		snprintf(line, sizeof(line), "remove rule r%u", i);
		m->rules[i][0] = '\0';
	} else {
		snprintf(m->rules[i], TEXT_MAX, "rule r%u %s %s %s", i, ONE_OF(m, "*", "p0", "-"),
			 ONE_OF(m, "*", "g1", "g2"), ONE_OF(m, "NoExecute", "None"));
		snprintf(line, sizeof(line), "%s", m->rules[i]);
	}
	assert_int_equal(world_tell(inv, str_from(line)), 0);
}

static void change(struct model *m, struct inventory *inv)
{
	switch (pick(m, 8)) {
	case 0:
		change_rule(m, inv);
		break;
	case 1:
	case 2:
	case 3:
		change_slice(m, inv);
		break;
	default:
		change_claim(m, inv);
		break;
	}
}

static void tell_all(struct inventory *inv, char lines[][TEXT_MAX], unsigned n)
{
	for (unsigned i = n; i > 0; i--)
		if (lines[i - 1][0])
			assert_int_equal(world_tell(inv, str_from(lines[i - 1])), 0);
}

static struct inventory *from_scratch(struct model *m)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	if (pick(m, 2)) {
		tell_all(inv, m->claims, CLAIMS);
		inventory_settle(inv);
		tell_all(inv, m->rules, RULES);
		tell_all(inv, m->slices, SLICES);
	} else {
		tell_all(inv, m->slices, SLICES);
		inventory_settle(inv);
		tell_all(inv, m->claims, CLAIMS);
		tell_all(inv, m->rules, RULES);
	}
	return inv;
}

static void compare(struct model *m, struct inventory *inv, uint64_t seed)
{
	struct buf have = BUF_INIT(16 * MIB), want = BUF_INIT(16 * MIB);
	struct inventory *fresh = from_scratch(m);

	dump(&have, inv);
	dump(&want, fresh);
	if (!str_eq(buf_str(&have), buf_str(&want)))
		fail_msg("seed %llu\n--- incremental\n%.*s\n--- from scratch\n%.*s",
			 (unsigned long long)seed, STR_ARG(buf_str(&have)),
			 STR_ARG(buf_str(&want)));
	inventory_free(fresh);
	buf_release(&have);
	buf_release(&want);
}

static void any_order_of_changes_leads_to_the_same_inventory(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct inventory *inv = inventory_new(inventory_defaults);
		struct model m = { .random = seed * 0x9e3779b97f4a7c15U };

		for (int i = 0; i < 120; i++) {
			change(&m, inv);
			if (pick(&m, 3) == 0)
				inventory_settle(inv);
			if (pick(&m, 10) == 0)
				compare(&m, inv, seed);
		}
		compare(&m, inv, seed);
		inventory_free(inv);
	}
}

/* --- one by one --------------------------------------------------------------------- */

static int put_json(struct inventory *inv,
		    int (*put)(struct inventory *, const struct json *, struct error *),
		    const char *text, struct error *err)
{
	struct json *v;
	struct arena a;
	int r;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &v, NULL), 0);
	r = put(inv, v, err);
	arena_release(&a);
	return r;
}

static void an_unreadable_slice_counts_as_absent(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\"}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"devices\":[{}]}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"devices\":[{\"name\":\"g\",\"capacity\":{\"m\":{\"value\":\"x\"}}}]}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"devices\":[{\"name\":\"g\",\"capacity\":{\"m\":{\"value\":\"1\","
		"\"requestPolicy\":{"
		"\"default\":\"x\"}}}}]}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"sharedCounters\":[{\"name\":\"s\",\"counters\":{\"c\":{}}}]}}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"k\","
		"\"operator\":\"Like\"}]}]}}}",
	};

	(void)state;
	for (size_t i = 1; i < ARRAY_SIZE(bad); i++) {
		struct inventory *inv = inventory_new(inventory_defaults);

		assert_int_equal(put_json(inv, inventory_put_slice, bad[0], NULL), -ERR_INVALID);
		assert_int_equal(world_tell(inv, STR("slice a p 1/1 n g0")), 0);
		assert_int_equal(inventory_devices(inv), 1);
		assert_int_equal(put_json(inv, inventory_put_slice, bad[i], NULL), -ERR_INVALID);
		assert_int_equal(inventory_devices(inv), 0);
		assert_null(inventory_slice(inv, STR("a")));
		inventory_free(inv);
	}
}

static void a_claim_that_cannot_be_read_keeps_what_it_had(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct inventory_device *d;

	(void)state;
	world_tell(inv, STR("slice a p 1/1 n g0"));
	world_tell(inv, STR("claim ns/c p/g0"));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g0"));
	assert_true(inventory_device_in_use(d));
	assert_int_equal(world_tell(inv, STR("claim ns/c p/g0(share=x,mem=lots)")), -ERR_INVALID);
	assert_true(inventory_device_in_use(d));
	inventory_remove_claim(inv, STR("ns"), STR("c"));
	assert_false(inventory_device_held(d));
	assert_null(d->use);
	/* The claim had no devices before. */
	assert_int_equal(world_tell(inv, STR("claim ns/c p/g0(share=x,mem=lots)")), -ERR_INVALID);
	assert_false(inventory_device_held(d));
	inventory_free(inv);
}

static void a_stored_claim_cannot_be_assumed(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	assert_int_equal(world_tell(inv, STR("claim ns/c p/g0")), 0);
	assert_int_equal(world_tell(inv, STR("assume ns/c p/g1")), -ERR_CONFLICT);
	assert_int_equal(world_tell(inv, STR("assume ns/c uid=other p/g1")), 0);
	inventory_free(inv);
}

static void classes_and_their_selectors(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"gpu\",\"uid\":\"u\",\"creationTimestamp\":"
		"\"2024-01-01T00:00:00Z\"},\"spec\":{\"selectors\":[{\"cel\":{\"expression\":"
		"\"device.driver == 'd.example.com'\"}},{\"cel\":{\"expression\":\"device.\"}}],"
		"\"config\":[{\"opaque\":{\"driver\":\"d\"}}],\"extendedResourceName\":\"x.y/"
		"gpu\"}}";
	static const char newer[] =
		"{\"metadata\":{\"name\":\"new\",\"creationTimestamp\":\"2024-01-02T00:00:00Z\"},"
		"\"spec\":{\"extendedResourceName\":\"x.y/gpu\"}}";
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct inventory_class *c;

	(void)state;
	assert_int_equal(put_json(inv, inventory_put_class, text, NULL), 0);
	c = inventory_class(inv, STR("gpu"));
	assert_int_equal(c->nselectors, 2);
	assert_non_null(c->selectors[0].program);
	assert_null(c->selectors[1].program);
	assert_true(str_find(c->selectors[1].fault, STR("ERROR: <input>:1:")) >= 0);
	assert_int_equal(json_count(c->config), 1);
	assert_ptr_equal(inventory_class_of_resource(inv, STR("x.y/gpu")), c);
	assert_ptr_equal(
		inventory_class_of_resource(inv, STR("deviceclass.resource.kubernetes.io/gpu")), c);
	assert_null(inventory_class_of_resource(inv, STR("x.y/other")));
	assert_int_equal(put_json(inv, inventory_put_class, newer, NULL), 0);
	assert_true(str_eqz(inventory_class_of_resource(inv, STR("x.y/gpu"))->name, "new"));
	inventory_remove_class(inv, STR("gpu"));
	assert_null(inventory_class(inv, STR("gpu")));
	assert_int_equal(put_json(inv, inventory_put_class, "{}", NULL), -ERR_INVALID);
	inventory_free(inv);
}

static void programs_are_compiled_once_and_not_kept_for_ever(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct inventory_node node = { .name = STR("n") };
	struct inventory_compiled first, again;
	struct inventory_node_pool *pools;
	struct error err = { 0 };
	struct arena a;
	size_t bytes;

	(void)state;
	arena_init(&a, MIB);
	assert_int_equal(inventory_selector(inv, STR("true"), NULL, &first, NULL), 0);
	assert_int_equal(inventory_selector(inv, STR("true"), NULL, &again, NULL), 0);
	assert_ptr_equal(first.program, again.program);
	assert_int_equal(first.id, again.id);
	assert_int_equal(inventory_selector(inv, STR("1"), NULL, &again, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "must evaluate to bool"));
	for (int i = 0; i < INVENTORY_PROGRAMS_MAX; i++) {
		char *text = arena_printf(&a, "device.driver == '%d'", i);

		assert_int_equal(inventory_selector(inv, str_from(text), NULL, &again, NULL), 0);
	}
	bytes = inventory_bytes(inv);
	inventory_node_pools(inv, &node, &a, &pools);
	assert_true(inventory_bytes(inv) < bytes);
	arena_release(&a);
	inventory_free(inv);
}

static bool selects(const char *terms, const char *node, const char *labels)
{
	struct node_selector s;
	struct json *v, *l;
	struct arena a;
	bool matches;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(labels), NULL, &l, NULL), 0);
	assert_int_equal(json_parse(&a,
				    str_from(arena_printf(&a, "{\"nodeSelectorTerms\":%s}", terms)),
				    NULL, &v, NULL),
			 0);
	assert_int_equal(node_selector_read(&a, v, &s, NULL), 0);
	matches = node_selector_matches(&s, str_from(node), l);
	arena_release(&a);
	return matches;
}

static void node_selectors_match_labels_and_names(void **state)
{
#define EXPR(key, op, values)                                                                     \
	"[{\"matchExpressions\":[{\"key\":\"" key "\",\"operator\":\"" op "\",\"values\":" values \
	"}]}]"
#define FIELD(op, values)                                                                          \
	"[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"" op "\",\"values\":" values \
	"}]}]"
	static const struct {
		const char *terms;
		bool matches;
	} cases[] = {
		{ "[]", false },
		{ "[{}]", false },
		{ EXPR("zone", "In", "[\"a\",\"b\"]"), true },
		{ EXPR("zone", "In", "[\"c\"]"), false },
		{ EXPR("none", "In", "[\"a\"]"), false },
		{ EXPR("zone", "NotIn", "[\"c\"]"), true },
		{ EXPR("zone", "NotIn", "[\"a\"]"), false },
		{ EXPR("none", "NotIn", "[\"a\"]"), true },
		{ EXPR("zone", "Exists", "[]"), true },
		{ EXPR("none", "Exists", "[]"), false },
		{ EXPR("zone", "DoesNotExist", "[]"), false },
		{ EXPR("none", "DoesNotExist", "[]"), true },
		{ EXPR("cpus", "Gt", "[\"7\"]"), true },
		{ EXPR("cpus", "Gt", "[\"8\"]"), false },
		{ EXPR("cpus", "Lt", "[\"9\"]"), true },
		{ EXPR("cpus", "Lt", "[\"8\"]"), false },
		{ EXPR("zone", "Gt", "[\"1\"]"), false },
		{ EXPR("none", "Lt", "[\"1\"]"), false },
		{ FIELD("In", "[\"n\"]"), true },
		{ FIELD("In", "[\"m\"]"), false },
		{ FIELD("NotIn", "[\"m\"]"), true },
		{ FIELD("NotIn", "[\"n\"]"), false },
		/* Terms are ORed; requirements of one term are ANDed. */
		{ "[{},{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
		  "\"values\":[\"n\"]}]}]",
		  true },
		{ "[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"Exists\"},{\"key\":"
		  "\"none\",\"operator\":\"Exists\"}]}]",
		  false },
		{ "[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"Exists\"}],"
		  "\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":"
		  "[\"m\"]}]}]",
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (selects(cases[i].terms, "n", "{\"zone\":\"a\",\"cpus\":\"8\"}") !=
		    cases[i].matches)
			fail_msg("%s should be %d", cases[i].terms, cases[i].matches);
}

static void put_many(struct inventory *inv, const char *slice, int first, int n)
{
	struct buf line = BUF_INIT(MIB);

	buf_printf(&line, "slice %s p 1/2 n", slice);
	for (int i = first; i < first + n; i++)
		buf_printf(&line, " g%d(s.x:1)", i);
	assert_int_equal(world_tell(inv, buf_str(&line)), 0);
	buf_release(&line);
}

static void devices_of_a_large_pool_are_found_by_name(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct inventory_device *d;

	(void)state;
	world_tell(inv, STR("claim ns/early p/g7"));
	put_many(inv, "a", 0, 60);
	put_many(inv, "b", 60, 60);
	assert_int_equal(inventory_devices(inv), 120);
	assert_false(inventory_pool(inv, STR(WORLD_DRIVER), STR("p"))->duplicates);
	world_tell(inv, STR("claim ns/late p/g119"));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g119"));
	assert_true(inventory_device_in_use(d));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g7"));
	assert_true(inventory_device_in_use(d));
	assert_null(inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g120")));
	/* Duplicate names: the lookup finds the first slice's device, and both are held. */
	put_many(inv, "b", 7, 60);
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g7"));
	assert_true(str_eqz(d->slice->name, "a"));
	assert_true(d->slice->pool->duplicates && d->slice->pool->invalid);
	d = &inventory_slice(inv, STR("b"))->devices[0];
	assert_true(inventory_device_in_use(d));
	inventory_remove_claim(inv, STR("ns"), STR("early"));
	assert_false(inventory_device_in_use(d));
	inventory_free(inv);
}

static void slices_that_use_what_is_off_are_not_seen(void **state)
{
	struct inventory_features features = inventory_defaults;
	struct inventory_node node = { .name = STR("n") };
	struct inventory_node_pool *pools;
	struct inventory *inv;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	features.partitionable = false;
	inv = inventory_new(features);
	world_tell(inv, STR("slice a p 1/2 n g0(s.x:1)"));
	world_tell(inv, STR("counters b p 1/2 n t.x=1"));
	assert_int_equal(inventory_node_pools(inv, &node, &a, &pools), 1);
	/* The slice is counted but not checked, so unknown counters do not matter. */
	assert_false(pools[0].incomplete || pools[0].invalid);
	assert_int_equal(pools[0].n, 1);
	inventory_free(inv);
	arena_release(&a);
}

/* --- memory ------------------------------------------------------------------------- */

static void put_large_slice(struct inventory *inv, int node)
{
	struct buf text = BUF_INIT(MIB);

	buf_printf(&text,
		   "{\"metadata\":{\"name\":\"node-%d-gpu.example.com-x7f2k\",\"generation\":1},"
		   "\"spec\":{\"driver\":\"gpu.example.com\",\"pool\":{\"name\":\"node-%d\","
		   "\"generation\":1,\"resourceSliceCount\":1},\"nodeName\":\"node-%d\","
		   "\"devices\":[",
		   node, node, node);
	for (int i = 0; i < 8; i++)
		buf_printf(
			&text,
			"%s{\"name\":\"gpu-%d\",\"attributes\":{\"uuid\":{\"string\":"
			"\"GPU-18db0e85-99e9-c746-8531-%012d\"},\"model\":{\"string\":"
			"\"LATEST-GPU-MODEL\"},\"index\":{\"int\":%d},\"architecture\":{\"string\":"
			"\"Ampere\"},\"driverVersion\":{\"version\":\"1.0.0\"},\"ecc\":{\"bool\":"
			"true},\"minor\":{\"int\":%d},\"type\":{\"string\":\"gpu\"},"
			"\"resource.kubernetes.io/pcieRoot\":{\"string\":\"pci0000:%02d\"},"
			"\"numa\":{\"int\":%d}},\"capacity\":{\"memory\":{\"value\":\"80Gi\"}}}",
			i ? "," : "", i, node * 8 + i, i, i, i, i / 4);
	buf_addz(&text, "]}}");
	assert_int_equal(put_json(inv, inventory_put_slice, text.p, NULL), 0);
	buf_release(&text);
}

static void a_device_takes_less_than_a_kilobyte(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	size_t bytes;

	(void)state;
	for (int i = 0; i < 125; i++)
		put_large_slice(inv, i);
	assert_int_equal(inventory_devices(inv), 1000);
	bytes = inventory_bytes(inv);
	print_message("1000 devices with 10 attributes and a capacity: %zu bytes\n", bytes);
	assert_true(bytes < 1000 * KIB);
	for (int i = 0; i < 125; i++) {
		char name[64];

		snprintf(name, sizeof(name), "node-%d-gpu.example.com-x7f2k", i);
		inventory_remove_slice(inv, str_from(name));
	}
	assert_int_equal(inventory_devices(inv), 0);
	assert_true(inventory_bytes(inv) < bytes / 40);
	inventory_free(inv);
}

static size_t put_version(struct inventory *inv, const char *uid, int generation, int devices)
{
	struct error err = { 0 };
	struct arena a;
	struct json *v;
	char *text;

	arena_init(&a, MIB);
	text = arena_printf(&a,
			    "{\"metadata\":{\"name\":\"a\",\"uid\":\"%s\",\"generation\":%d},"
			    "\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":\"p\"},\"nodeName\":"
			    "\"n\",\"devices\":[{\"name\":\"g0\"}%s]}}",
			    uid, generation, devices == 2 ? ",{\"name\":\"g1\"}" : "");
	assert_int_equal(json_parse(&a, str_from(text), NULL, &v, &err), 0);
	assert_int_equal(inventory_put_slice(inv, v, &err), 0);
	arena_release(&a);
	return inventory_devices(inv);
}

static void a_slice_is_read_again_only_when_its_spec_changed(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	assert_int_equal(put_version(inv, "u", 1, 1), 1);
	/*
	 * The same generation with another spec, which no server sends, shows that the spec is not
	 * read again.
	 */
	assert_int_equal(put_version(inv, "u", 1, 2), 1);
	assert_int_equal(put_version(inv, "u", 2, 2), 2);
	assert_int_equal(put_version(inv, "v", 2, 1), 1);
	assert_int_equal(put_version(inv, "", 2, 2), 2);
	assert_int_equal(put_version(inv, "", 2, 1), 1);
	inventory_remove_slice(inv, STR("a"));
	assert_int_equal(put_version(inv, "", 2, 1), 1);
	inventory_free(inv);
}

static void text_with_zero_bytes_is_told_apart(void **state)
{
	static const char slice[] =
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{\"driver\":\"d\",\"pool\":{\"name\":"
		"\"p\"},"
		"\"nodeName\":\"n\",\"devices\":[{\"name\":\"g0\",\"capacity\":{\"a\\u0000x\":{"
		"\"value\":\"1\"},\"a\\u0000y\":{\"value\":\"2\"}}}]}}";
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct inventory_device *d;
	struct json *v;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(slice), NULL, &v, NULL), 0);
	assert_int_equal(inventory_put_slice(inv, v, NULL), 0);
	d = inventory_device(inv, STR("d"), STR("p"), STR("g0"));
	assert_int_equal(d->view.ncapacity, 2);
	assert_int_equal(quantity_value(*d->capacities[0].value), 1);
	assert_int_equal(quantity_value(*d->capacities[1].value), 2);
	assert_false(str_eq(d->capacities[0].name, d->capacities[1].name));
	inventory_free(inv);
	arena_release(&a);
}

/* A saturated sum cannot be subtracted from; it must be recomputed. */
static void sums_that_are_full_become_exact_again(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct inventory_device *d;

	(void)state;
	world_tell(inv, STR("slice a p 1/2 n g0(multi,memory=40) g1(s.m:1e29) g2(s.m:1e29) "
			    "g3(s.m:1)"));
	world_tell(inv, STR("counters c p 1/2 n s.m=5"));
	world_tell(inv, STR("claim ns/a p/g0(share=s1,memory=1e29) p/g1"));
	world_tell(inv, STR("claim ns/b p/g0(share=s2,memory=1e29) p/g2"));
	world_tell(inv, STR("claim ns/c p/g0(share=s3,memory=1) p/g3"));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g0"));
	assert_true(quantity_sign(inventory_remaining(d, &d->capacities[0])) < 0);
	world_tell(inv, STR("remove claim ns/a"));
	world_tell(inv, STR("remove claim ns/b"));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g0"));
	assert_int_equal(quantity_value(inventory_remaining(d, &d->capacities[0])), 39);
	assert_int_equal(quantity_value(inventory_counter_remaining(&d->slice->pool->counters[0])),
			 4);
	assert_int_equal(d->slice->pool->overdrawn, 0);
	inventory_free(inv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_of_changes_leads_to_the_same_inventory),
		cmocka_unit_test(an_unreadable_slice_counts_as_absent),
		cmocka_unit_test(a_claim_that_cannot_be_read_keeps_what_it_had),
		cmocka_unit_test(a_stored_claim_cannot_be_assumed),
		cmocka_unit_test(classes_and_their_selectors),
		cmocka_unit_test(programs_are_compiled_once_and_not_kept_for_ever),
		cmocka_unit_test(node_selectors_match_labels_and_names),
		cmocka_unit_test(devices_of_a_large_pool_are_found_by_name),
		cmocka_unit_test(slices_that_use_what_is_off_are_not_seen),
		cmocka_unit_test(a_device_takes_less_than_a_kilobyte),
		cmocka_unit_test(a_slice_is_read_again_only_when_its_spec_changed),
		cmocka_unit_test(text_with_zero_bytes_is_told_apart),
		cmocka_unit_test(sums_that_are_full_become_exact_again),
	};

	return cmocka_run_group_tests_name("dra/inventory", tests, NULL, NULL);
}

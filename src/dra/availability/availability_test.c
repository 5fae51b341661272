/*
 * Runs cases/availability.cases and cases/pools.cases. Blocks are separated by blank lines and
 * begin with "# name"; each has an inventory of its own. Lines are those of inventory_fixture.h,
 * and queries with the expected result as JSON after " > ":
 *
 *	status SLICE POINTER > JSON          of availability_slice_status(); POINTER is a JSON
 *	                                     Pointer into it, or "/" for all of it
 *	health NODE JSON                     the annotation of a node; turns on health in the status
 *	pools {SPEC} POINTER > JSON          of availability_pools(): {"total": .., "pools": [..]}
 *	node NAME [LABEL=VALUE] > TEXT       inventory_node_pools(): POOL[DEVICE ..], those that the
 *	                                     node does not reach in brackets; POOL incomplete;
 *	                                     POOL invalid: REASON; or nothing
 *
 * A null means that the value is absent.
 */
#include "dra/inventory/inventory_fixture.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "dra/availability/availability.h"
#include "dra/availability/availability_fixture.h"
#include "dra/availability/device_health.h"
#include "dra/dra_limits.h"

enum { NOW = 1700000000, SEEDS = 50 };

struct run {
	struct inventory *inv;
	struct device_health_book *health; /* NULL: no health */
	struct arena arena;
	const char *file;
	struct str name;
	size_t line;
	size_t cases, failed;
};

static void compare_json(struct run *r, struct str expected, const struct json *got)
{
	struct buf text = BUF_INIT(MIB);
	struct error err = { 0 };
	struct json *want;

	if (json_parse(&r->arena, expected, NULL, &want, &err) < 0)
		fail_msg("%s:%zu: %s", r->file, r->line, err.msg);
	if (got ? json_equal(want, got) : json_is(want, JSON_NULL))
		return;
	if (got)
		json_print(&text, got, NULL);
	else
		buf_addz(&text, "null");
	print_error("%s:%zu: %.*s\n  expected %.*s\n  got      %.*s\n", r->file, r->line,
		    STR_ARG(r->name), STR_ARG(expected), STR_ARG(buf_str(&text)));
	buf_release(&text);
	r->failed++;
}

static struct json *pick(const struct json *v, struct str pointer)
{
	return json_pointer(v, str_eqz(pointer, "/") ? STR("") : pointer);
}

static void ask_status(struct run *r, struct str question, struct str expected)
{
	struct str slice = world_word(&question);
	const struct json *v = availability_slice_status(r->inv, r->health, slice, NULL,
							 NOW * INT64_C(1000000000), &r->arena);

	compare_json(r, expected, v ? pick(v, world_word(&question)) : NULL);
}

static void ask_pools(struct run *r, struct str question, struct str expected)
{
	struct json *spec, *answer = json_make_object(&r->arena);
	int64_t total;

	assert_int_equal(json_parse(&r->arena, world_word(&question), NULL, &spec, NULL), 0);
	json_setz(answer, "pools", availability_pools(r->inv, spec, &r->arena, &total));
	json_put_i64(&r->arena, answer, "total", total);
	compare_json(r, expected, pick(answer, world_word(&question)));
}

static void print_pool(struct buf *out, const struct inventory_node_pool *np,
		       const struct inventory_node *node)
{
	buf_printf(out, "%s%.*s", out->n ? " " : "", STR_ARG(np->pool->name));
	if (np->incomplete) {
		buf_addz(out, " incomplete");
		return;
	}
	if (np->invalid) {
		buf_printf(out, " invalid: %.*s", STR_ARG(np->invalid_reason));
		return;
	}
	buf_addc(out, '[');
	for (size_t i = 0; i < np->n; i++) {
		for (size_t k = 0; k < np->slices[i]->ndevices; k++) {
			const struct inventory_device *d = &np->slices[i]->devices[k];
			bool there = inventory_device_reachable(d, node);

			buf_printf(out, "%s%s%.*s%s", out->p[out->n - 1] == '[' ? "" : " ",
				   there ? "" : "(", STR_ARG(d->name), there ? "" : ")");
		}
	}
	buf_addc(out, ']');
}

static void ask_node(struct run *r, struct str question, struct str expected)
{
	struct inventory_node node = { .name = world_word(&question) };
	struct inventory_node_pool *pools;
	struct buf text = BUF_INIT(MIB);
	struct str label, value;
	size_t n;

	if (world_cut(world_word(&question), '=', &label, &value)) {
		struct json *labels = json_make_object(&r->arena);

		json_add(labels, label, json_make_str(&r->arena, value));
		node.labels = labels;
	}
	n = inventory_node_pools(r->inv, &node, &r->arena, &pools);
	for (size_t i = 0; i < n; i++)
		print_pool(&text, &pools[i], &node);
	if (n == 0)
		buf_addz(&text, "nothing");
	if (!str_eq(buf_str(&text), expected)) {
		print_error("%s:%zu: %.*s\n  expected %.*s\n  got      %.*s\n", r->file, r->line,
			    STR_ARG(r->name), STR_ARG(expected), STR_ARG(buf_str(&text)));
		r->failed++;
	}
	buf_release(&text);
}

static void ask(struct run *r, struct str question, struct str expected)
{
	struct str kind = world_word(&question);

	if (str_eqz(kind, "status"))
		ask_status(r, question, expected);
	else if (str_eqz(kind, "pools"))
		ask_pools(r, question, expected);
	else if (str_eqz(kind, "node"))
		ask_node(r, question, expected);
	else
		fail_msg("%s:%zu: %.*s?", r->file, r->line, STR_ARG(kind));
}

static void begin(struct run *r, struct str name)
{
	inventory_free(r->inv);
	device_health_book_free(TAKE(r->health));
	r->inv = inventory_new(inventory_defaults);
	arena_clear(&r->arena);
	r->name = name;
	r->cases++;
}

static void put_health(struct run *r, struct str line)
{
	struct str node = world_word(&line);

	if (!r->health)
		r->health = device_health_book_new(NULL, NULL);
	assert_int_equal(device_health_book_put_node(r->health, node, str_trim(line),
						     NOW * INT64_C(1000000000), NULL),
			 0);
}

static void run_line(struct run *r, struct str line)
{
	ptrdiff_t at = str_find(line, STR(" > "));

	if (line.n == 0)
		return;
	if (line.p[0] == '#')
		begin(r, str_trim(str_skip(line, 1)));
	else if (at >= 0)
		ask(r, str_of(line.p, (size_t)at), str_skip(line, (size_t)at + 3));
	else if (str_starts(line, STR("health ")))
		put_health(r, str_skip(line, sizeof("health ") - 1));
	else if (world_tell(r->inv, line) < 0)
		fail_msg("%s:%zu: refused", r->file, r->line);
}

static void run_file(const char *name, size_t at_least)
{
	char path[4096];
	struct buf text = BUF_INIT(4 * MIB);
	struct run r = { .file = name };
	struct str rest, line;
	struct error err = { 0 };

	snprintf(path, sizeof(path), "%s/%s", DRA_CASES, name);
	if (file_read(path, &text, &err) < 0)
		fail_msg("%s", err.msg);
	arena_init(&r.arena, 64 * MIB);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		r.line++;
		run_line(&r, line);
	}
	inventory_free(r.inv);
	device_health_book_free(r.health);
	arena_release(&r.arena);
	buf_release(&text);
	assert_int_equal(r.failed, 0);
	assert_true(r.cases >= at_least);
}

static void slices_have_a_status(void **state)
{
	(void)state;
	run_file("availability.cases", 30);
}

static void pools_are_told_on_request(void **state)
{
	(void)state;
	run_file("pools.cases", 30);
}

static struct json *status_of(struct inventory *inv, const char *slice, const struct json *old,
			      int64_t now, struct arena *a)
{
	struct json *v = availability_slice_status(inv, NULL, str_from(slice), old, now, a);

	assert_non_null(v);
	return v;
}

static void conditions_keep_the_time_of_their_change(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct json *first, *second, *third;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("slice a p 1/2 n g0"));
	first = status_of(inv, "a", NULL, INT64_C(1000000000), &a);
	second = status_of(inv, "a", first, INT64_C(2000000000), &a);
	assert_true(json_equal(first, second));
	world_tell(inv, STR("slice b p 1/2 n g1"));
	third = status_of(inv, "a", second, INT64_C(3000000000), &a);
	assert_true(str_eqz(
		json_str(json_pointer(third, STR("/poolStatus/conditions/0/lastTransitionTime"))),
		"1970-01-01T00:00:03Z"));
	inventory_free(inv);
	arena_release(&a);
}

static void allocations_of_a_device_are_bounded(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct json *v;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("slice a p 1/1 n g0(multi,memory=100Gi)"));
	for (int i = 99; i >= 0; i--) {
		char *line = arena_printf(&a, "claim ns/c%02d p/g0(share=s%d,memory=1Gi)", i, i);

		assert_int_equal(world_tell(inv, str_from(line)), 0);
	}
	v = status_of(inv, "a", NULL, 0, &a);
	v = json_at(json_getz(v, "devices"), 0);
	assert_int_equal(json_count(json_getz(v, "allocations")), AVAILABILITY_ALLOCATIONS_MAX);
	assert_int_equal(json_i64_at(v, "omittedAllocations", 0), 68);
	/* The first claims by name are listed; the available capacity counts all of them. */
	assert_true(str_eqz(json_text_at(json_at(json_getz(v, "allocations"), 31), "claimName"),
			    "c31"));
	assert_true(str_eqz(json_text_at(v, "state"), "Allocated"));
	assert_true(str_eqz(json_text_at(json_getz(v, "availableCapacity"), "memory"), "0"));
	/*
	 * After removals the rest stays sorted: two of each ten claims remain, one of them with two
	 * shares.
	 */
	for (int i = 0; i < 100; i++) {
		char *line = arena_printf(&a, "remove claim ns/c%02d", i);

		if (i % 10 == 7)
			line = arena_printf(&a, "claim ns/c%02d p/g0(share=a) p/g0(share=b)", i);
		if (i % 10 != 3)
			assert_int_equal(world_tell(inv, str_from(line)), 0);
	}
	v = json_getz(json_at(json_getz(status_of(inv, "a", NULL, 0, &a), "devices"), 0),
		      "allocations");
	assert_int_equal(json_count(v), 30);
	for (size_t i = 1; i < json_count(v); i++)
		assert_true(str_cmp(json_text_at(json_at(v, i - 1), "claimName"),
				    json_text_at(json_at(v, i), "claimName")) <= 0);
	inventory_free(inv);
	arena_release(&a);
}

/*
 * Puts a slice of 128 devices, each with capacities with names of maximum length, and claims.
 * Returns the approximate JSON size of the slice.
 */
static size_t tell_large(struct inventory *inv, int capacities, bool same_names)
{
	struct buf line = BUF_INIT(4 * MIB), object = BUF_INIT(4 * MIB);
	size_t bytes;

	buf_addz(&line, "slice a p 1/1 n");
	for (int d = 0; d < 128; d++) {
		buf_printf(&line,
			   " device-with-a-long-name-that-fills-its-label-up-to-the-end-%03d("
			   "multi",
			   d);
		for (int c = 0; c < capacities; c++)
			buf_printf(&line,
				   ",a-domain-of-sixty-three-characters-%028d/c%03d-%02d=1Gi", 0,
				   same_names ? 0 : d, c);
		buf_addc(&line, ')');
	}
	assert_int_equal(world_tell(inv, buf_str(&line)), 0);
	world_slice(&object, str_skip(buf_str(&line), strlen("slice ")), false);
	bytes = object.n;
	buf_release(&object);
	for (int d = 0; d < 128 * 40; d++) {
		buf_clear(&line);
		buf_printf(&line,
			   "claim a-namespace-of-sixty-three-characters-%020d/"
			   "a-claim-with-a-name-that-is-as-long-as-names-may-be-%0180d "
			   "p/device-with-a-long-name-that-fills-its-label-up-to-the-end-%03d("
			   "share=s,request=gpu)",
			   0, d, d % 128);
		assert_int_equal(world_tell(inv, buf_str(&line)), 0);
	}
	buf_release(&line);
	return bytes;
}

static size_t printed(const struct json *v)
{
	struct buf text = BUF_INIT(16 * MIB);
	size_t n;

	assert_int_equal(json_print(&text, v, NULL), 0);
	n = text.n;
	buf_release(&text);
	return n;
}

static void a_status_is_never_larger_than_an_object_may_be(void **state)
{
	(void)state;
	for (int capacities = 0; capacities <= 32; capacities += 4) {
		struct inventory *inv = inventory_new(inventory_defaults);
		struct arena a;
		struct json *v;
		size_t n, slice;

		arena_init(&a, SIZE_MAX);
		slice = tell_large(inv, capacities, capacities % 8 == 0);
		v = status_of(inv, "a", NULL, 0, &a);
		n = printed(v);
		assert_true(n <= AVAILABILITY_BYTES_MAX + 64 * KIB);
		assert_true(n + inventory_slice(inv, STR("a"))->bytes <= OBJECT_MAX);
		/*
		 * It still fits if the slice gets annotations later. managedFields take as much
		 * again.
		 */
		n -= MIN(n, 64 * KIB);
		assert_true(2 * n + 64 * KIB + slice + ANNOTATIONS_MAX <= OBJECT_MAX);
		assert_int_equal(json_count(json_getz(v, "devices")), 128);
		inventory_free(inv);
		arena_release(&a);
	}
}

static void room_for_allocations_is_shared_by_all_devices(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct json *devices;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	(void)tell_large(inv, 0, true);
	devices = json_getz(status_of(inv, "a", NULL, 0, &a), "devices");
	JSON_FOREACH (d, devices)
		assert_in_range(json_count(json_getz(d, "allocations")), 6, 8);
	inventory_free(inv);
	arena_release(&a);
}

static void capacities_take_what_they_take_as_text(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct json *v;
	struct arena a;

	(void)state;
	arena_init(&a, SIZE_MAX);
	(void)tell_large(inv, 19, true);
	v = status_of(inv, "a", NULL, 0, &a);
	assert_int_equal(json_count(json_pointer(v, STR("/summary/availableCapacity"))), 19);
	JSON_FOREACH (d, json_getz(v, "devices")) {
		assert_int_equal(json_count(json_getz(d, "capacity")), 19);
		assert_int_equal(json_count(json_getz(d, "availableCapacity")), 19);
		assert_true(json_count(json_getz(d, "allocations")) > 0);
	}
	inventory_free(inv);
	arena_release(&a);
}

static void faults_of_a_pool_are_bounded(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	const struct json *errors;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("slice a p 1/1 n g0"));
	for (int i = 0; i < 50; i++)
		world_tell(inv, str_from(arena_printf(&a, "claim ns/c%02d p/gone-%d", i, i)));
	errors = json_pointer(status_of(inv, "a", NULL, 0, &a),
			      STR("/poolStatus/validationErrors"));
	assert_int_equal(json_count(errors), AVAILABILITY_ERRORS_MAX + 1);
	assert_true(str_eqz(json_str(json_at(errors, AVAILABILITY_ERRORS_MAX)), "and 18 more"));
	/* Errors are sorted by claim and device, after those of older slices. */
	assert_non_null(strstr(json_str(json_at(errors, 31)).p, "ns/c31 "));
	world_tell(inv, STR("claim ns/c00 p/z p/a p/z"));
	world_tell(inv, STR("slice old p 0/1 n g1"));
	errors = json_pointer(status_of(inv, "a", NULL, 0, &a),
			      STR("/poolStatus/validationErrors"));
	assert_non_null(strstr(json_str(json_at(errors, 0)).p, "ResourceSlice old "));
	assert_non_null(strstr(json_str(json_at(errors, 1)).p, "ns/c00 references non-existent "
							       "device 'a'"));
	assert_non_null(strstr(json_str(json_at(errors, 2)).p, "'z'"));
	assert_non_null(strstr(json_str(json_at(errors, 31)).p, "ns/c29 "));
	assert_true(str_eqz(json_str(json_at(errors, AVAILABILITY_ERRORS_MAX)), "and 20 more"));
	inventory_free(inv);
	arena_release(&a);
}

/* Errors that are not listed are not printed either, so memory depends on the listed ones only. */
static void many_faults_of_a_pool_cost_little(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct json *errors;
	struct arena a;
	char line[64];

	(void)state;
	arena_init(&a, SIZE_MAX);
	world_tell(inv, STR("slice a p 1/1 n g0"));
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(line, sizeof(line), "claim ns/c%04d p/gone-%d", i, i);
		world_tell(inv, str_from(line));
	}
	errors = json_pointer(status_of(inv, "a", NULL, 0, &a),
			      STR("/poolStatus/validationErrors"));
	assert_true(str_eqz(json_str(json_at(errors, AVAILABILITY_ERRORS_MAX)), "and 4968 more"));
	assert_in_range(a.used, 1, 64 * KIB);
	inventory_free(inv);
	arena_release(&a);
}

/* An observer that started later could not know the claim's earlier devices. */
static void an_observer_takes_a_claim_that_it_cannot_read_for_empty(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);
	const struct inventory_device *d;

	(void)state;
	world_tell(inv, STR("slice a p 1/1 n g0"));
	world_tell(inv, STR("claim ns/c p/g0"));
	d = inventory_device(inv, STR(WORLD_DRIVER), STR("p"), STR("g0"));
	assert_true(inventory_device_held(d));
	assert_int_equal(world_tell(inv, STR("claim ns/c p/g0(share=x,mem=lots)")), -ERR_INVALID);
	assert_false(inventory_device_held(d));
	assert_int_equal(inventory_claims(inv), 0);
	inventory_free(inv);
}

static void slices_of_a_pool_are_those_that_a_change_concerns(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct str *names;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("slice b p 2/2 n g0"));
	world_tell(inv, STR("slice a p 2/2 n g1"));
	world_tell(inv, STR("slice old p 1/1 n g1"));
	world_tell(inv, STR("slice other q 1/1 n g1"));
	assert_int_equal(availability_pool_slices(inv, STR(WORLD_DRIVER), STR("p"), &a, &names), 3);
	assert_true(str_eqz(names[0], "a") && str_eqz(names[1], "b"));
	assert_true(str_eqz(names[2], "old"));
	assert_int_equal(availability_pool_slices(inv, STR("x"), STR("p"), &a, &names), 0);
	inventory_free(inv);
	arena_release(&a);
}

/* Checks a list of slices: sorted names, joined by blanks. */
static void assert_names(const struct str *names, size_t n, const char *expected)
{
	struct buf text = BUF_INIT(MIB);
	struct omap sorted;
	struct omap_cursor c;

	omap_init(&sorted);
	for (size_t i = 0; i < n; i++)
		assert_null(omap_put(&sorted, names[i], (void *)&names[i]));
	for (bool ok = omap_first(&sorted, &c); ok; ok = omap_next(&c))
		buf_printf(&text, "%s%.*s", text.n ? " " : "",
			   STR_ARG(*(struct str *)omap_value(&c)));
	buf_addc(&text, '\0');
	assert_string_equal(text.p, expected);
	omap_release(&sorted);
	buf_release(&text);
}

/* Checks the slices of availability_claim_slices() for ns/c. */
static void assert_concerns(struct inventory *inv, const char *expected)
{
	struct str *names;
	struct arena a;
	size_t n;

	arena_init(&a, MIB);
	n = availability_claim_slices(inv, STR("ns"), STR("c"), &a, &names);
	assert_names(names, n, expected);
	arena_release(&a);
}

static void a_claim_concerns_the_slices_of_its_devices(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	world_tell(inv, STR("slice a p 1/3 n g0 g1"));
	world_tell(inv, STR("slice b p 1/3 n g2 g3"));
	world_tell(inv, STR("slice c p 1/3 n g4"));
	assert_concerns(inv, "");
	world_tell(inv, STR("claim ns/c p/g2 p/g3 p/g4"));
	assert_concerns(inv, "b c");
	/* Admin access changes nothing. */
	world_tell(inv, STR("claim ns/c p/g2(admin) p/g4"));
	assert_concerns(inv, "c");
	/* A device that does not exist is reported on the first slice, even for admin access. */
	world_tell(inv, STR("claim ns/c p/gone(admin) p/g4"));
	assert_concerns(inv, "a c");
	world_tell(inv, STR("claim ns/c q/g0"));
	assert_concerns(inv, "");
	world_tell(inv, STR("slice other q 1/1 n x"));
	assert_concerns(inv, "other");
	world_tell(inv, STR("remove claim ns/c"));
	assert_concerns(inv, "");
	inventory_free(inv);
}

static void a_claim_concerns_all_who_share_its_counters(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	world_tell(inv, STR("counters a p 1/4 n s.x=10"));
	world_tell(inv, STR("slice b p 1/4 n g0(s.x:5)"));
	world_tell(inv, STR("slice c p 1/4 n plain g1(s.x:7)"));
	world_tell(inv, STR("slice d p 1/4 n other"));
	assert_true(availability_counts(inventory_slice(inv, STR("a"))));
	assert_true(availability_counts(inventory_slice(inv, STR("c"))));
	assert_false(availability_counts(inventory_slice(inv, STR("d"))));
	world_tell(inv, STR("claim ns/c p/g0"));
	assert_concerns(inv, "b c");
	world_tell(inv, STR("claim ns/c p/plain"));
	assert_concerns(inv, "c");
	world_tell(inv, STR("claim ns/c p/other p/g1"));
	assert_concerns(inv, "b c d");
	inventory_free(inv);
}

static void a_claim_does_not_concern_who_takes_from_other_counters(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	world_tell(inv, STR("counters a p 1/5 n s.x=10 t.x=10"));
	world_tell(inv, STR("slice b p 1/5 n g0(s.x:5)"));
	world_tell(inv, STR("slice c p 1/5 n g1(t.x:5) g2(t.x:20)"));
	world_tell(inv, STR("slice d p 1/5 n g3(s.x:1,t.x:1) plain"));
	world_tell(inv, STR("slice e p 1/5 n g4(t.x:1)"));
	world_tell(inv, STR("claim ns/c p/g0"));
	assert_concerns(inv, "b d");
	world_tell(inv, STR("claim ns/c p/g1"));
	assert_concerns(inv, "c d e");
	world_tell(inv, STR("claim ns/c p/g3"));
	assert_concerns(inv, "b c d e");
	/* An overdrawn t affects all consumers. */
	world_tell(inv, STR("claim ns/c p/g2"));
	assert_concerns(inv, "b c d e");
	world_tell(inv, STR("claim ns/other p/g2"));
	world_tell(inv, STR("claim ns/c p/g0"));
	assert_concerns(inv, "b d");
	/* A changed slice changes the consumers. */
	world_tell(inv, STR("slice d p 1/5 n plain"));
	assert_concerns(inv, "b");
	inventory_free(inv);
}

static void claims_that_change_concern_all_whose_status_does(void **state)
{
	size_t changed = 0;

	(void)state;
	for (unsigned seed = 0; seed < SEEDS; seed++)
		changed += tell_story(seed);
	assert_true(changed > SEEDS * STORY_STEPS / 4);
}

static void a_partition_concerns_all_whose_share_it_may_be(void **state)
{
	struct inventory *inv = inventory_new(inventory_everything);
	struct str *names;
	struct arena a;
	size_t n;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("counters a p 1/5 all s.x=10 t.x=10"));
	world_tell(inv, STR("slice b p 1/5 all whole(s.x:10,memory=10)"));
	world_tell(inv, STR("slice c p 1/5 n1 half(s.x:5,memory=5)"));
	world_tell(inv, STR("slice d p 1/5 all other(t.x:5)"));
	world_tell(inv, STR("slice e p 1/5 n2 plain"));
	world_tell(inv, STR("rule r p half NoSchedule"));
	n = availability_rule_slices(inv, STR("r"), &a, &names);
	assert_names(names, n, "b c");
	world_tell(inv, STR("rule r p plain NoSchedule"));
	n = availability_rule_slices(inv, STR("r"), &a, &names);
	assert_names(names, n, "e");
	n = availability_node_slices(inv, STR("n1"), &a, &names);
	assert_names(names, n, "b c");
	n = availability_node_slices(inv, STR("n2"), &a, &names);
	assert_names(names, n, "e");
	inventory_free(inv);
	arena_release(&a);
}

static void a_claim_concerns_every_device_of_a_name(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);

	(void)state;
	world_tell(inv, STR("slice a p 1/3 n g0"));
	world_tell(inv, STR("slice b p 1/3 n g1"));
	world_tell(inv, STR("slice c p 1/3 n g2 g1"));
	world_tell(inv, STR("slice old p 0/3 n g1"));
	world_tell(inv, STR("claim ns/c p/g1"));
	assert_concerns(inv, "b c");
	inventory_free(inv);
}

static void partition_types_are_bounded(void **state)
{
	struct inventory *inv = inventory_new(inventory_defaults);
	struct buf line = BUF_INIT(MIB);
	struct json *spec, *pools;
	struct arena a;
	int64_t total;

	(void)state;
	arena_init(&a, MIB);
	world_tell(inv, STR("counters c p 1/2 n s.x=100"));
	buf_addz(&line, "slice a p 1/2 n type=d.example.com/kind");
	for (int i = 0; i < 33; i++)
		buf_printf(&line, " g%d(@kind=k%d,s.x:1)", i, i);
	world_tell(inv, buf_str(&line));
	assert_int_equal(
		json_parse(&a, STR("{\"driver\":\"" WORLD_DRIVER "\"}"), NULL, &spec, NULL), 0);
	pools = availability_pools(inv, spec, &a, &total);
	assert_true(str_eqz(json_text_at(json_at(pools, 0), "validationError"),
			    "PartitionSummaryOverCap: pool d.example.com/p has 33 partition types, "
			    "exceeding the maximum of 32"));
	assert_null(json_getz(json_at(pools, 0), "partitionSummary"));
	buf_release(&line);
	inventory_free(inv);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_have_a_status),
		cmocka_unit_test(pools_are_told_on_request),
		cmocka_unit_test(conditions_keep_the_time_of_their_change),
		cmocka_unit_test(allocations_of_a_device_are_bounded),
		cmocka_unit_test(a_status_is_never_larger_than_an_object_may_be),
		cmocka_unit_test(room_for_allocations_is_shared_by_all_devices),
		cmocka_unit_test(capacities_take_what_they_take_as_text),
		cmocka_unit_test(faults_of_a_pool_are_bounded),
		cmocka_unit_test(many_faults_of_a_pool_cost_little),
		cmocka_unit_test(an_observer_takes_a_claim_that_it_cannot_read_for_empty),
		cmocka_unit_test(slices_of_a_pool_are_those_that_a_change_concerns),
		cmocka_unit_test(a_claim_concerns_the_slices_of_its_devices),
		cmocka_unit_test(a_claim_concerns_all_who_share_its_counters),
		cmocka_unit_test(a_claim_does_not_concern_who_takes_from_other_counters),
		cmocka_unit_test(a_partition_concerns_all_whose_share_it_may_be),
		cmocka_unit_test(a_claim_concerns_every_device_of_a_name),
		cmocka_unit_test(claims_that_change_concern_all_whose_status_does),
		cmocka_unit_test(partition_types_are_bounded),
	};

	return cmocka_run_group_tests_name("dra/availability", tests, NULL, NULL);
}

#include "server/cache/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/json/json.h"

static struct object *make_in(const char *ns, const char *name, int64_t revision, size_t pad)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("configmaps"));
	char text[4096];
	struct object *o = NULL;
	struct gates gates;
	int n;

	gates_init(&gates);
	n = snprintf(text, sizeof(text),
		     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
		     "\"namespace\":\"%s\",\"uid\":\"u\"},\"data\":{\"x\":\"%0*d\"}}",
		     name, ns, (int)pad, 7);
	assert_int_equal(object_new(kind, str_of(text, (size_t)n), revision, &gates, &o, NULL), 0);
	return o;
}

static struct object *make(const char *name, int64_t revision, size_t pad)
{
	return make_in("a", name, revision, pad);
}

/* Adds an event in a chunk of its own, which replaces an object of `pad` bytes. */
static void add(struct ring *r, int64_t revision, size_t pad)
{
	ring_add(r, &(struct ring_event){ .revision = revision,
					  .type = RING_MODIFIED,
					  .object = make("c", revision, 1),
					  .prev = make("c", revision - 1, pad) });
	ring_seal(r);
}

static void events_are_found_by_revision(void **state UNUSED)
{
	struct ring r;
	uint64_t seq;

	ring_init(&r, 1 << 20);
	for (int64_t revision = 10; revision <= 100; revision += 10)
		add(&r, revision, 1);
	assert_int_equal(r.span.end - r.span.first, 10);
	for (int64_t after = 0; after < 100; after++) {
		seq = ring_span_find(&r.span, after);
		assert_int_equal(ring_span_at(&r.span, seq)->events[0].revision,
				 (after / 10 + 1) * 10);
	}
	assert_int_equal(ring_span_find(&r.span, 100), r.span.end);
	ring_release(&r);
}

static void a_ring_that_is_too_large_is_trimmed_from_the_front(void **state UNUSED)
{
	struct ring r;

	ring_init(&r, 10 * 1000);
	for (int64_t revision = 1; revision <= 50; revision++) {
		uint64_t batch = r.span.end;

		add(&r, revision, 1000);
		ring_trim(&r, batch);
	}
	assert_true(r.weight <= 10 * 1000);
	assert_in_range(r.span.end - r.span.first, 4, 10);
	assert_int_equal(ring_span_at(&r.span, r.span.first)->events[0].revision, r.oldest + 1);
	/* The current batch stays, whatever its weight. */
	r.max = 1;
	ring_trim(&r, r.span.end - 1);
	assert_int_equal(r.span.end - r.span.first, 1);
	assert_int_equal(r.oldest, 49);
	ring_release(&r);
}

static void a_large_batch_is_cut_into_chunks(void **state UNUSED)
{
	struct ring r;

	ring_init(&r, 1 << 30);
	for (int64_t revision = 1; revision <= 2000; revision++)
		ring_add(&r, &(struct ring_event){ .revision = revision,
						   .object = make("c", revision, 1) });
	ring_seal(&r);
	assert_in_range(r.span.end - r.span.first, 4, 10);
	for (uint64_t seq = r.span.first; seq < r.span.end; seq++)
		assert_true(ring_span_at(&r.span, seq)->n <= 512);
	ring_release(&r);
}

static void a_chunk_knows_whether_it_is_of_one_namespace(void **state UNUSED)
{
	static const struct {
		const char *ns[3];
		bool one;
	} rows[] = { { { "a", "a", "a" }, true }, { { "a", "a", "b" }, false } };
	struct ring r;

	ring_init(&r, 1 << 30);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		for (int k = 0; k < 3; k++)
			ring_add(&r, &(struct ring_event){
					     .revision = k + 1,
					     .object = make_in(rows[i].ns[k], "c", k + 1, 1) });
		ring_seal(&r);
		assert_int_equal(ring_span_at(&r.span, r.span.end - 1)->one_space, rows[i].one);
	}
	ring_release(&r);
}

static void a_span_grows_at_both_ends(void **state UNUSED)
{
	struct ring_span copy = { 0 };
	struct ring r;

	ring_init(&r, 1 << 30);
	for (int64_t revision = 1; revision <= 100; revision++)
		add(&r, revision, 1);
	copy.first = copy.end = 61;
	for (uint64_t seq = 61; seq <= 80; seq++)
		ring_span_add(&copy, ring_chunk_ref(ring_span_at(&r.span, seq)));
	for (uint64_t seq = 60; seq >= 20; seq--)
		ring_span_add(&copy, ring_chunk_ref(ring_span_at(&r.span, seq)));
	for (uint64_t seq = 81; seq <= 100; seq++)
		ring_span_add(&copy, ring_chunk_ref(ring_span_at(&r.span, seq)));
	assert_int_equal(copy.first, 20);
	assert_int_equal(copy.end, 101);
	ring_release(&r);
	ring_span_trim(&copy, 30);
	for (uint64_t seq = 30; seq <= 100; seq++)
		assert_int_equal(ring_span_at(&copy, seq)->events[0].revision, seq);
	ring_span_release(&copy);
}

static void a_ring_that_restarts_knows_nothing(void **state UNUSED)
{
	struct ring r;
	uint64_t end;

	ring_init(&r, 1 << 20);
	add(&r, 5, 1);
	end = r.span.end;
	ring_restart(&r, 77);
	assert_int_equal(r.oldest, 77);
	assert_int_equal(r.weight, 0);
	assert_int_equal(r.span.first, r.span.end);
	add(&r, 78, 1);
	assert_int_equal(ring_span_at(&r.span, end)->events[0].revision, 78);
	ring_release(&r);
}

static void old_events_are_dropped_except_for_a_few(void **state UNUSED)
{
	struct ring r;

	ring_init(&r, 1 << 30);
	r.now = 1000;
	for (int64_t revision = 1; revision <= 400; revision++)
		add(&r, revision, 3900);
	assert_true(r.weight > RING_SMALL);
	r.now += RING_FRESH_MS;
	assert_false(ring_has_surplus(&r));
	r.now++;
	assert_true(ring_has_surplus(&r));
	ring_trim(&r, r.span.end);
	assert_false(ring_has_surplus(&r));
	assert_true(r.weight <= RING_SMALL && r.weight > RING_SMALL - 8192);
	assert_int_equal(r.oldest, 400 - (int64_t)(r.span.end - r.span.first));
	ring_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_found_by_revision),
		cmocka_unit_test(a_ring_that_is_too_large_is_trimmed_from_the_front),
		cmocka_unit_test(a_large_batch_is_cut_into_chunks),
		cmocka_unit_test(a_chunk_knows_whether_it_is_of_one_namespace),
		cmocka_unit_test(a_span_grows_at_both_ends),
		cmocka_unit_test(a_ring_that_restarts_knows_nothing),
		cmocka_unit_test(old_events_are_dropped_except_for_a_few),
	};

	return cmocka_run_group_tests_name("server/ring", tests, NULL, NULL);
}

/*
 * The contract's cases about reading: order, pages, history, compaction, and where the feed begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/contract_fixture.h"

#define PODS "core/pods"

static void contract_read_fixture_fill(struct store_contract *c)
{
	(void)store_contract_must_put(c, PODS, "beta", "b", "4", 0);
	(void)store_contract_must_put(c, PODS, "alpha", "z", "2", 0);
	(void)store_contract_must_put(c, "core/nodes", "", "n", "node", 0);
	(void)store_contract_must_put(c, PODS, "alpha", "a", "1", 0);
	(void)store_contract_must_put(c, "core/podtemplates", "alpha", "a", "template", 0);
	(void)store_contract_must_put(c, PODS, "beta", "a", "3", 0);
	(void)store_contract_must_put(c, PODS, "beta", "c", "5", 0);
}

static const char *read_values(struct store_contract *c, const struct store_range *range)
{
	struct store_contract_read *r = store_contract_range(c, range);

	assert_int_equal(r->result, 0);
	return store_contract_values(c, &r->got);
}

static void an_empty_store_has_empty_ranges(struct store_contract *c)
{
	struct store_contract_read *r;

	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->result, 0);
	assert_int_equal(r->got.n, 0);
	assert_false(r->got.more);
	assert_true(r->got.revision >= 0);
}

static void a_range_is_one_resource_in_order(struct store_contract *c)
{
	contract_read_fixture_fill(c);
	assert_string_equal(read_values(c, &(struct store_range){ .resource = STR(PODS) }),
			    "alpha/a=1 alpha/z=2 beta/a=3 beta/b=4 beta/c=5");
	assert_string_equal(read_values(c, &(struct store_range){ .resource = STR("core/nodes") }),
			    "/n=node");
	assert_string_equal(read_values(c, &(struct store_range){ .resource = STR("core/none") }),
			    "");
}

static void a_range_may_be_one_namespace(struct store_contract *c)
{
	contract_read_fixture_fill(c);
	(void)store_contract_must_put(c, PODS, "alphabet", "a", "x", 0);
	assert_string_equal(
		read_values(c, &(struct store_range){ .resource = STR(PODS), .ns = STR("alpha") }),
		"alpha/a=1 alpha/z=2");
	assert_string_equal(
		read_values(c, &(struct store_range){ .resource = STR(PODS), .ns = STR("alp") }),
		"");
}

static void a_namespace_sorts_before_those_that_it_begins(struct store_contract *c)
{
	(void)store_contract_must_put(c, PODS, "a-b", "x", "2", 0);
	(void)store_contract_must_put(c, PODS, "a", "x", "1", 0);
	(void)store_contract_must_put(c, PODS, "a.b", "x", "3", 0);
	(void)store_contract_must_put(c, PODS, "a0", "x", "4", 0);
	assert_string_equal(read_values(c, &(struct store_range){ .resource = STR(PODS) }),
			    "a/x=1 a-b/x=2 a.b/x=3 a0/x=4");
}

static void pages_add_up_to_the_whole(struct store_contract *c)
{
	struct store_range page = { .resource = STR(PODS), .limit = 2 };
	struct store_contract_read *r;
	size_t total = 0, pages = 0;

	contract_read_fixture_fill(c);
	do {
		r = store_contract_range(c, &page);
		assert_int_equal(r->result, 0);
		assert_true(r->got.n <= 2);
		total += r->got.n;
		pages++;
		page.revision = r->got.revision;
		if (r->got.n) {
			page.after_ns = r->got.items[r->got.n - 1].key.ns;
			page.after_name = r->got.items[r->got.n - 1].key.name;
		}
	} while (r->got.more);
	assert_int_equal(total, 5);
	assert_int_equal(pages, 3);
	assert_string_equal(store_contract_values(c, &r->got), "beta/c=5");
}

static void a_limit_that_is_just_met_cuts_nothing(struct store_contract *c)
{
	struct store_contract_read *r;

	contract_read_fixture_fill(c);
	r = store_contract_range(
		c, &(struct store_range){ .resource = STR(PODS), .ns = STR("beta"), .limit = 3 });
	assert_int_equal(r->got.n, 3);
	assert_false(r->got.more);
}

static void pages_of_a_revision_do_not_see_later_writes(struct store_contract *c)
{
	struct store_range page = { .resource = STR(PODS), .limit = 2 };
	struct store_contract_read *r;

	contract_read_fixture_fill(c);
	r = store_contract_range(c, &page);
	assert_string_equal(store_contract_values(c, &r->got), "alpha/a=1 alpha/z=2");
	page.revision = r->got.revision;
	page.after_ns = STR("alpha");
	page.after_name = STR("z");
	page.limit = 0;
	(void)store_contract_must_put(c, PODS, "beta", "aa", "new", 0);
	(void)store_contract_must_put(c, PODS, "gamma", "a", "new", 0);
	r = store_contract_range(c,
				 &(struct store_range){ .resource = STR(PODS), .ns = STR("beta") });
	(void)store_contract_must_delete(c, PODS, "beta", "b", r->got.items[2].revision);
	(void)store_contract_must_put(c, PODS, "beta", "c", "changed", r->got.items[3].revision);
	r = store_contract_range(c, &page);
	assert_string_equal(store_contract_values(c, &r->got), "beta/a=3 beta/b=4 beta/c=5");
	assert_int_equal(r->got.revision, page.revision);
	assert_string_equal(
		read_values(c, &(struct store_range){ .resource = STR(PODS), .ns = STR("beta") }),
		"beta/a=3 beta/aa=new beta/c=changed");
}

static void every_past_state_can_be_read(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "n", "a", "1", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "n", "a", "2", r1);
	int64_t r3 = store_contract_must_delete(c, PODS, "n", "a", r2);
	int64_t r4 = store_contract_must_put(c, PODS, "n", "a", "4", 0);
	struct store_range at = { .resource = STR(PODS) };

	at.revision = r1;
	assert_string_equal(read_values(c, &at), "n/a=1");
	at.revision = r2;
	assert_string_equal(read_values(c, &at), "n/a=2");
	at.revision = r3;
	assert_string_equal(read_values(c, &at), "");
	at.revision = r4;
	assert_string_equal(read_values(c, &at), "n/a=4");
}

static void the_future_is_refused(struct store_contract *c)
{
	int64_t last = store_contract_must_put(c, PODS, "n", "a", "1", 0);
	struct store_contract_read *r;

	r = store_contract_range(
		c, &(struct store_range){ .resource = STR(PODS), .revision = last + 1000 });
	assert_int_equal(r->result, -ERR_TIMEOUT);
}

static void what_is_compacted_is_expired_and_the_rest_stays(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "n", "a", "1", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "n", "a", "2", r1);
	int64_t r3 = store_contract_must_put(c, PODS, "n", "a", "3", r2);
	struct store_range at = { .resource = STR(PODS) };

	assert_true(store_compacted(c->store) <= r1);
	store_contract_compact(c, r2);
	assert_int_equal(store_compacted(c->store), r2);
	at.revision = r1;
	assert_int_equal(store_contract_range(c, &at)->result, -ERR_EXPIRED);
	at.revision = r2;
	assert_string_equal(read_values(c, &at), "n/a=2");
	at.revision = r3;
	assert_string_equal(read_values(c, &at), "n/a=3");
	at.revision = 0;
	assert_string_equal(read_values(c, &at), "n/a=3");
}

static void the_current_revision_covers_what_was_acknowledged(struct store_contract *c)
{
	int64_t before = store_contract_current(c);
	int64_t first = store_contract_must_put(c, PODS, "n", "a", "1", 0);

	assert_true(first > before);
	assert_true(store_contract_current(c) >= first);
	assert_true(store_contract_range(c, &(struct store_range){ .resource = STR(PODS) })
			    ->got.revision >= first);
}

struct waited {
	struct store_contract *c;
	int64_t revision;
};

static bool has_delivered(void *arg)
{
	const struct waited *w = arg;

	return w->c->delivered >= w->revision;
}

static void the_feed_brings_what_came_before_it_was_followed(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "n", "a", "1", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "n", "a", "2", r1);
	int64_t r3 = store_contract_must_delete(c, PODS, "n", "a", r2);

	store_contract_follow(c, r1);
	store_contract_until(c, has_delivered, &(struct waited){ c, r3 });
	assert_int_equal(c->events.n, 2);
	assert_int_equal(c->events.v[0].revision, r2);
	assert_true(str_eqz(c->events.v[0].value, "2"));
	assert_int_equal(c->events.v[1].revision, r3);
	assert_true(c->events.v[1].deleted);
	(void)store_contract_must_put(c, PODS, "n", "b", "3", 0);
	assert_int_equal(c->events.n, 3);
}

static void a_range_and_the_feed_after_it_leave_no_gap(struct store_contract *c)
{
	enum { N = 100 };
	struct store_contract_read *r = NULL;
	char name[16];

	for (size_t i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "pod-%03zu", i);
		(void)store_contract_put(c, PODS, "n", name, STR("x"), 0);
		if (i != N / 2)
			continue;
		r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
		store_contract_follow(c, r->got.revision);
	}
	store_contract_settle(c);
	assert_non_null(r);
	assert_int_equal(r->got.n + c->events.n, N);
}

static struct store_past the_past(struct store_contract *c, int64_t revision, size_t max_bytes)
{
	struct store_past past = { .from = -1 };

	assert_int_equal(
		store_history(c->store, STR(PODS), revision, max_bytes, &c->arena, &past, NULL), 0);
	return past;
}

static void the_past_can_be_asked_for(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "n", "a", "1", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "n", "a", "2", r1);
	int64_t other = store_contract_must_put(c, "core/nodes", "", "n", "x", 0);
	int64_t r3 = store_contract_must_delete(c, PODS, "n", "a", r2);
	struct store_past past;
	struct store_change *v;

	if (c->backend->past) {
		store_contract_close(c);
		store_contract_open(c);
	}
	past = the_past(c, r1, SIZE_MAX);
	if (!c->backend->past) {
		assert_int_equal(past.n, 0);
		assert_true(past.from >= r3);
		return;
	}
	assert_int_equal(past.n, 2);
	assert_int_equal(past.from, r1);
	v = past.changes;
	assert_true(v[0].revision == r2 && v[0].prev_revision == r1);
	assert_memory_equal(v[0].value.p, "2", 1);
	assert_memory_equal(v[0].prev.p, "1", 1);
	assert_true(v[1].revision == r3 && v[1].prev_revision == r2 && r3 > other);
	assert_null(v[1].value.p);
	assert_memory_equal(v[1].prev.p, "2", 1);
	assert_true(str_eqz(v[1].key.ns, "n") && str_eqz(v[1].key.name, "a"));
}

static void of_a_long_past_the_newest_is_given(struct store_contract *c)
{
	int64_t r1 = store_contract_must_put(c, PODS, "n", "a", "1111", 0);
	int64_t r2 = store_contract_must_put(c, PODS, "n", "a", "2222", r1);
	int64_t r3 = store_contract_must_put(c, PODS, "n", "b", "3333", 0);
	int64_t r4 = store_contract_must_put(c, PODS, "n", "c", "4444", 0);
	struct store_past past;

	if (!c->backend->past)
		return;
	store_contract_close(c);
	store_contract_open(c);
	past = the_past(c, 0, 5 + c->backend->more);
	assert_int_equal(past.n, 2);
	assert_int_equal(past.from, r2);
	assert_true(past.changes[0].revision == r3 && past.changes[1].revision == r4);
	past = the_past(c, r3, 4 + c->backend->more);
	assert_int_equal(past.n, 1);
	assert_int_equal(past.from, r3);
}

#define CASE(fn)        \
	{               \
#fn, fn \
	}
const struct store_contract_case store_contract_read_cases[] = {
	CASE(an_empty_store_has_empty_ranges),
	CASE(a_range_is_one_resource_in_order),
	CASE(a_range_may_be_one_namespace),
	CASE(a_namespace_sorts_before_those_that_it_begins),
	CASE(pages_add_up_to_the_whole),
	CASE(a_limit_that_is_just_met_cuts_nothing),
	CASE(pages_of_a_revision_do_not_see_later_writes),
	CASE(every_past_state_can_be_read),
	CASE(the_future_is_refused),
	CASE(what_is_compacted_is_expired_and_the_rest_stays),
	CASE(the_current_revision_covers_what_was_acknowledged),
	CASE(the_feed_brings_what_came_before_it_was_followed),
	CASE(a_range_and_the_feed_after_it_leave_no_gap),
	CASE(the_past_can_be_asked_for),
	CASE(of_a_long_past_the_newest_is_given),
	{ NULL, NULL },
};

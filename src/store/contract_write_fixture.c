/*
 * The contract's cases about writing: acknowledgement, order, conditions,
 * chains of unfinished writes, closing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "store/contract_fixture.h"

#define PODS "core/pods"

static void a_write_is_delivered_and_then_acknowledged(struct store_contract *c)
{
	struct store_contract_write *w;

	store_contract_follow(c, store_contract_current(c));
	w = store_contract_put(c, PODS, "ns", "a", STR("one"), 0);
	assert_int_equal(store_contract_wait(w), 0);
	assert_int_equal(c->events.n, 1);
	assert_int_equal(w->events_before, 1);
	assert_true(c->events.v[0].write == &w->write);
	assert_int_equal(c->events.v[0].revision, w->write.revision);
	assert_true(str_eqz(c->events.v[0].resource, PODS));
	assert_true(str_eqz(c->events.v[0].ns, "ns"));
	assert_true(str_eqz(c->events.v[0].name, "a"));
	assert_true(str_eqz(c->events.v[0].value, "one"));
	assert_true(c->delivered >= w->write.revision);
}

static void a_delete_is_an_event_without_value(struct store_contract *c)
{
	int64_t first, gone;

	store_contract_follow(c, store_contract_current(c));
	first = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	gone = store_contract_must_delete(c, PODS, "ns", "a", first);
	assert_true(gone > first);
	assert_int_equal(c->events.n, 2);
	assert_true(c->events.v[1].deleted);
	assert_int_equal(c->events.v[1].revision, gone);
}

static void a_create_refuses_a_key_that_exists(struct store_contract *c)
{
	int64_t first = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	struct store_contract_write *w = store_contract_put(c, PODS, "ns", "a", STR("two"), 0);
	struct store_contract_read *r;

	assert_int_equal(store_contract_wait(w), -ERR_CONFLICT);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_string_equal(store_contract_values(c, &r->got), "ns/a=one");
	assert_int_equal(r->got.items[0].revision, first);
}

static void an_update_wants_the_last_revision(struct store_contract *c)
{
	int64_t first = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	int64_t second = store_contract_must_put(c, PODS, "ns", "a", "two", first);
	struct store_contract_write *stale, *missing, *gone;

	stale = store_contract_put(c, PODS, "ns", "a", STR("three"), first);
	missing = store_contract_put(c, PODS, "ns", "b", STR("three"), second);
	gone = store_contract_delete(c, PODS, "ns", "a", first);
	assert_int_equal(store_contract_wait(stale), -ERR_CONFLICT);
	assert_int_equal(store_contract_wait(missing), -ERR_CONFLICT);
	assert_int_equal(store_contract_wait(gone), -ERR_CONFLICT);
	(void)store_contract_must_delete(c, PODS, "ns", "a", second);
}

static void a_key_may_be_created_again_after_its_deletion(struct store_contract *c)
{
	int64_t first = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	struct store_contract_read *r;

	(void)store_contract_must_delete(c, PODS, "ns", "a", first);
	(void)store_contract_must_put(c, PODS, "ns", "a", "again", 0);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_string_equal(store_contract_values(c, &r->got), "ns/a=again");
}

static void revisions_and_events_follow_the_order_of_writes(struct store_contract *c)
{
	enum { N = 300 };
	struct store_contract_write *w[N];
	char name[16];

	store_contract_follow(c, store_contract_current(c));
	for (size_t i = 0; i < N; i++) {
		(void)snprintf(name, sizeof(name), "pod-%03zu", (i * 7) % N);
		w[i] = store_contract_put(c, PODS, "ns", name, str_from(name), 0);
	}
	assert_int_equal(store_pending(c->store), N);
	store_contract_settle(c);
	assert_int_equal(c->events.n, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(w[i]->result, 0);
		if (c->backend->unordered)
			continue;
		assert_true(c->events.v[i].write == &w[i]->write);
		assert_int_equal(c->events.v[i].revision, w[i]->write.revision);
		assert_true(w[i]->events_before > i);
		if (i)
			assert_true(w[i]->write.revision > w[i - 1]->write.revision);
	}
}

static void unfinished_writes_of_one_key_may_be_chained(struct store_contract *c)
{
	struct store_contract_write *w[5];
	struct store_contract_read *r;

	store_contract_follow(c, store_contract_current(c));
	w[0] = store_contract_put(c, PODS, "ns", "a", STR("1"), 0);
	w[1] = store_contract_after(w[0], "2");
	w[2] = store_contract_after(w[1], NULL);
	w[3] = store_contract_after(w[2], "4");
	w[4] = store_contract_after(w[3], "5");
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		assert_int_equal(store_contract_wait(w[i]), 0);
	assert_int_equal(c->events.n, ARRAY_SIZE(w));
	assert_true(c->events.v[2].deleted);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_string_equal(store_contract_values(c, &r->got), "ns/a=5");
	assert_int_equal(r->got.items[0].revision, w[4]->write.revision);
}

/* The chain also grows while its head is being committed. */
static void a_long_chain_over_many_commits_holds(struct store_contract *c)
{
	enum { N = 200 };
	struct store_contract_write *first = store_contract_put(c, PODS, "", "a", STR("0"), 0);
	struct store_contract_write *last = first;
	struct store_contract_read *r;
	char value[16];

	for (int i = 1; i <= N; i++) {
		(void)snprintf(value, sizeof(value), "%d", i);
		last = last->done ? store_contract_put(c, PODS, "", "a", str_from(value),
						       last->write.revision)
				  : store_contract_after(last, value);
		if (i % 50 == 0)
			assert_int_equal(store_contract_wait(first), 0);
	}
	assert_int_equal(store_contract_wait(last), 0);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_string_equal(store_contract_values(c, &r->got), "/a=200");
}

static void writes_after_a_failed_one_conflict_and_others_go_on(struct store_contract *c)
{
	struct store_contract_write *bad, *then, *later, *other;

	(void)store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	bad = store_contract_put(c, PODS, "ns", "a", STR("x"), 0);
	then = store_contract_after(bad, "y");
	other = store_contract_put(c, PODS, "ns", "b", STR("fine"), 0);
	later = store_contract_after(then, NULL);
	assert_int_equal(store_contract_wait(bad), -ERR_CONFLICT);
	assert_int_equal(store_contract_wait(then), -ERR_CONFLICT);
	assert_int_equal(store_contract_wait(other), 0);
	assert_int_equal(store_contract_wait(later), -ERR_CONFLICT);
}

static void failed_writes_make_no_events(struct store_contract *c)
{
	int64_t first = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	struct store_contract_write *bad;

	store_contract_follow(c, first);
	bad = store_contract_put(c, PODS, "ns", "a", STR("x"), 0);
	assert_int_equal(store_contract_wait(bad), -ERR_CONFLICT);
	(void)store_contract_must_put(c, PODS, "ns", "b", "two", 0);
	assert_int_equal(c->events.n, 1);
	assert_true(str_eqz(c->events.v[0].name, "b"));
}

static void values_may_be_empty_binary_and_large(struct store_contract *c)
{
	struct buf big = BUF_INIT(2 << 20);
	struct store_contract_write *w[3];
	struct store_contract_read *r;

	for (size_t i = 0; i < 1 << 20; i++)
		(void)buf_addc(&big, (char)(i * 31 >> 3));
	w[0] = store_contract_put(c, PODS, "ns", "a", STR(""), 0);
	w[1] = store_contract_put(c, PODS, "ns", "b", STR("\0\xff/\n"), 0);
	w[2] = store_contract_put(c, PODS, "ns", "c", buf_str(&big), 0);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		assert_int_equal(store_contract_wait(w[i]), 0);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->got.n, 3);
	assert_int_equal(r->got.items[0].value.n, 0);
	assert_int_equal(r->got.items[1].value.n, 4);
	assert_memory_equal(r->got.items[1].value.p, "\0\xff/\n", 4);
	assert_int_equal(r->got.items[2].value.n, big.n);
	assert_memory_equal(r->got.items[2].value.p, big.p, big.n);
	buf_release(&big);
}

static void closing_finishes_what_is_under_way(struct store_contract *c)
{
	struct store_contract_write *w[20];
	struct store_contract_read *r;
	char name[16];

	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		(void)snprintf(name, sizeof(name), "pod-%zu", i);
		w[i] = store_contract_put(c, PODS, "ns", name, STR("x"), 0);
	}
	store_contract_close(c);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		assert_true(w[i]->done && w[i]->result == 0);
	store_contract_open(c);
	r = store_contract_range(c, &(struct store_range){ .resource = STR(PODS) });
	assert_int_equal(r->got.n, ARRAY_SIZE(w));
}

static void the_data_and_its_id_survive_a_restart(struct store_contract *c)
{
	const char *before, *id = arena_strdup(&c->arena, store_cluster_id(c->store));
	int64_t last = store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	struct store_range all = { .resource = STR(PODS) };

	last = store_contract_must_put(c, PODS, "ns", "a", "two", last);
	last = store_contract_must_put(c, "core/nodes", "", "n", "node", 0);
	before = store_contract_items(c, &store_contract_range(c, &all)->got);
	assert_true(strlen(id) > 0);
	store_contract_close(c);
	store_contract_open(c);
	assert_true(str_eqz(store_cluster_id(c->store), id));
	assert_string_equal(store_contract_items(c, &store_contract_range(c, &all)->got), before);
	assert_true(store_contract_current(c) >= last);
	assert_true(store_contract_must_put(c, PODS, "ns", "b", "new", 0) > last);
}

static void a_new_store_is_healthy_and_idle(struct store_contract *c)
{
	struct error err = { 0 };

	(void)store_contract_must_put(c, PODS, "ns", "a", "one", 0);
	assert_int_equal(store_health(c->store, &err), 0);
	assert_int_equal(store_pending(c->store), 0);
}

#define CASE(fn)        \
	{               \
#fn, fn \
	}
const struct store_contract_case store_contract_write_cases[] = {
	CASE(a_write_is_delivered_and_then_acknowledged),
	CASE(a_delete_is_an_event_without_value),
	CASE(a_create_refuses_a_key_that_exists),
	CASE(an_update_wants_the_last_revision),
	CASE(a_key_may_be_created_again_after_its_deletion),
	CASE(revisions_and_events_follow_the_order_of_writes),
	CASE(unfinished_writes_of_one_key_may_be_chained),
	CASE(a_long_chain_over_many_commits_holds),
	CASE(writes_after_a_failed_one_conflict_and_others_go_on),
	CASE(failed_writes_make_no_events),
	CASE(values_may_be_empty_binary_and_large),
	CASE(closing_finishes_what_is_under_way),
	CASE(the_data_and_its_id_survive_a_restart),
	CASE(a_new_store_is_healthy_and_idle),
	{ NULL, NULL },
};

/*
 * Lists of the present and the past, compared with the expected objects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/core/vec.h"
#include "net/sim/sim.h"
#include "server/engine/sequencer.h"
#include "server/testing/state_world.h"

static const struct state_world_opts local = { .store = { .local = true }, .seed = 1 };

static int64_t pod(struct state_world *w, const char *ns, const char *name, const char *labels,
		   const char *node)
{
	return state_world_write(w, "pods", ns, name,
				 state_world_pod(&w->arena, ns, name, labels, node));
}

/* Namespaces whose order as names differs from that of keys. */
static void fill(struct state_world *w)
{
	static const char *const spaces[] = { "a", "a-b", "b" };

	for (int i = 0; i < 30; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p%02d", i);
		assert_true(pod(w, spaces[i % 3], name,
				i % 2 ? "{\"app\":\"web\"}" : "{\"app\":\"db\"}",
				i % 5 ? "n1" : "n2") > 0);
	}
}

static struct list_query select_labels(struct state_world *w, const char *text)
{
	struct list_query q = { 0 };

	assert_int_equal(selector_parse_labels(&w->arena, str_from(text), &q.labels, NULL), 0);
	return q;
}

static struct list_query select_fields(struct state_world *w, const char *text)
{
	struct list_query q = { 0 };

	assert_int_equal(selector_parse_fields(&w->arena, str_from(text), &q.fields, NULL), 0);
	return q;
}

static void a_list_shows_what_matches(void **state UNUSED)
{
	struct list_query q;
	struct state_world w;

	state_world_init(&w, &local);
	fill(&w);
	assert_int_equal(state_world_list(&w, "pods", &(struct list_query){ 0 }).n, 30);
	assert_int_equal(state_world_list(&w, "pods", &(struct list_query){ .ns = STR("a") }).n,
			 10);
	assert_int_equal(state_world_list(&w, "pods", &(struct list_query){ .ns = STR("x") }).n, 0);
	q = select_labels(&w, "app=web");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 15);
	q = select_fields(&w, "spec.nodeName=n2");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 6);
	q = select_fields(&w, "metadata.namespace=a-b");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 10);
	q = select_fields(&w, "metadata.name=p04");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 1);
	q.ns = STR("a");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 0);
	q.ns = STR("a-b");
	assert_int_equal(state_world_list(&w, "pods", &q).n, 1);
	state_world_release(&w);
}

static void a_kept_list_is_shared_until_something_changes(void **state UNUSED)
{
	struct list_query all = { 0 }, a = { .ns = STR("a") };
	struct list_result first, second;
	struct state_world w;

	state_world_init(&w, &local);
	fill(&w);
	first = state_world_list(&w, "pods", &a);
	second = state_world_list(&w, "pods", &a);
	assert_ptr_equal(first.items, second.items);
	assert_int_equal(state_world_list(&w, "pods", &all).n, 30);
	assert_true(pod(&w, "b", "p02", NULL, "n9") > 0); /* in another namespace */
	second = state_world_list(&w, "pods", &a);
	assert_ptr_equal(first.items, second.items);
	assert_true(state_world_write(&w, "pods", "a", "p00", NULL) > 0);
	second = state_world_list(&w, "pods", &a);
	assert_int_equal(second.n, 9);
	assert_int_equal(first.n, 10);
	assert_true(str_eqz(first.items[0]->key, "a/p00")); /* the list does not change */
	assert_int_equal(state_world_list(&w, "pods", &all).n, 29);
	state_world_release(&w);
}

static void check_bytes(const struct list_result *list)
{
	size_t bytes = 0;

	for (size_t i = 0; i < list->n; i++)
		bytes += object_item_size(list->items[i]);
	assert_int_equal(list->bytes, bytes);
}

/* Follows the pages; returns the number of their objects. */
static size_t page_through(struct state_world *w, struct list_query q, size_t total)
{
	struct str before = STR_NULL;
	size_t seen = 0;

	for (;;) {
		struct list_result page = state_world_list(w, "pods", &q);

		for (size_t i = 0; i < page.n; i++) {
			assert_true(!before.n || str_cmp(before, page.items[i]->key) < 0);
			before = page.items[i]->key;
		}
		seen += page.n;
		check_bytes(&page);
		if (q.labels.n || q.fields.n)
			assert_int_equal(page.remaining, -1);
		else
			assert_int_equal(page.remaining, total - seen);
		assert_int_equal(page.revision, q.revision ? q.revision : state_revision(w->state));
		if (!page.more)
			return seen;
		assert_int_equal(page.n, q.limit);
		assert_true(str_eq(page.last, before));
		q.after = page.last;
		q.revision = page.revision;
	}
}

static void pages_have_every_object_once(void **state UNUSED)
{
	struct list_query labels;
	struct state_world w;

	state_world_init(&w, &local);
	fill(&w);
	labels = select_labels(&w, "app=db");
	for (size_t limit = 1; limit <= 31; limit++) {
		assert_int_equal(page_through(&w, (struct list_query){ .limit = limit }, 30), 30);
		assert_int_equal(
			page_through(&w, (struct list_query){ .ns = STR("a"), .limit = limit }, 10),
			10);
		labels.limit = limit;
		assert_int_equal(page_through(&w, labels, 15), 15);
	}
	state_world_release(&w);
}

/* Several namespaces, each with more than one block. */
static void fill_much(struct state_world *w, int n)
{
	static const char *const spaces[] = { "a", "a-b", "b" };

	for (int i = 0; i < n; i++) {
		struct bytes *b;
		struct arena a;
		char name[16];

		arena_init(&a, SIZE_MAX);
		(void)snprintf(name, sizeof(name), "p%05d", i * 7919 % n);
		assert_int_equal(
			object_encode(state_world_pod(&a, spaces[i % 3], name,
						      i % 2 ? "{\"app\":\"web\"}" : NULL, "n1"),
				      &b, NULL),
			0);
		(void)fake_data_put(w->data, STR("core/pods"), str_from(spaces[i % 3]),
				    str_from(name), bytes_str(b));
		bytes_unref(b);
		arena_release(&a);
	}
	sim_run_for(w->sim, 100);
	assert_int_equal(resource_count(state_world_resource(w, "pods")), n);
}

static void pages_of_many_have_every_object_once(void **state UNUSED)
{
	static const size_t limits[] = { 1, 100, 128, 499, 500, 501, 1499, 1500, 2000 };
	struct list_query labels;
	struct state_world w;

	state_world_init(&w, &local);
	fill_much(&w, 1500);
	labels = select_labels(&w, "app=web");
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct list_query q = { .limit = limits[i] };

		assert_int_equal(page_through(&w, q, 1500), 1500);
		q.ns = STR("a");
		assert_int_equal(page_through(&w, q, 500), 500);
		labels.limit = limits[i];
		assert_int_equal(page_through(&w, labels, 750), 750);
	}
	state_world_release(&w);
}

/* --- in turns --------------------------------------------------------------------- */

struct later {
	struct list_result list;
	int result;
	bool over;
};

static void later_done(void *arg, const struct list_result *list, const struct error *err)
{
	struct later *l = arg;

	assert_false(l->over);
	l->over = true;
	l->result = err ? -(int)err->code : 0;
	if (list)
		l->list = *list;
}

static bool later_over(void *arg)
{
	return ((struct later *)arg)->over;
}

static void selectors_look_at_many_in_turns(void **state UNUSED)
{
	struct later l = { 0 };
	struct list_query q;
	struct state_world w;
	int64_t revision;

	state_world_init(&w, &local);
	fill_much(&w, 3000);
	revision = state_revision(w.state);
	q = select_labels(&w, "app=web");
	q.in_turns = true;
	resource_list(state_world_resource(&w, "pods"), &q, &w.arena, later_done, &l);
	assert_false(l.over);
	/* Changes in between, wherever they are, do not change the list. */
	for (int i = 1; i < 3000; i += 2) {
		struct str key = str_from(arena_printf(&w.arena, "a/p%05d", i));

		object_unref(resource_remove(state_world_resource(&w, "pods"), key));
	}
	assert_true(sim_run_until(w.sim, later_over, &l, 1000));
	assert_int_equal(l.result, 0);
	assert_int_equal(l.list.n, 1500);
	assert_int_equal(l.list.revision, revision);
	check_bytes(&l.list);
	state_world_release(&w);
}

static void few_objects_are_looked_at_at_once(void **state UNUSED)
{
	struct later l = { 0 };
	struct list_query q;
	struct state_world w;

	state_world_init(&w, &local);
	fill(&w);
	q = select_labels(&w, "app=web");
	q.in_turns = true;
	resource_list(state_world_resource(&w, "pods"), &q, &w.arena, later_done, &l);
	assert_true(l.over);
	assert_int_equal(l.list.n, 15);
	state_world_release(&w);
}

static void a_state_that_stops_finishes_its_lists(void **state UNUSED)
{
	struct later l = { 0 };
	struct list_query q;
	struct state_world w;

	state_world_init(&w, &local);
	fill_much(&w, 3000);
	q = select_labels(&w, "app=web");
	q.in_turns = true;
	resource_list(state_world_resource(&w, "pods"), &q, &w.arena, later_done, &l);
	assert_false(l.over);
	state_world_stop(&w);
	assert_true(l.over);
	assert_int_equal(l.list.n, 1500);
	check_bytes(&l.list);
	state_world_release(&w);
}

/* --- the past --------------------------------------------------------------------- */

struct moment {
	int64_t revision;
	struct list_result list;
};

struct history {
	VEC(struct moment) moments;
};

/* Random changes, and the list after each. */
static void live(struct state_world *w, struct history *h, struct prng *prng, int steps)
{
	static const char *const spaces[] = { "a", "a-b", "b" };

	for (int i = 0; i < steps; i++) {
		char name[16];
		const char *ns = spaces[prng_below(prng, 3)];
		struct moment m;

		(void)snprintf(name, sizeof(name), "p%d", (int)prng_below(prng, 6));
		if (prng_below(prng, 3) == 0 &&
		    resource_get(state_world_resource(w, "pods"), str_from(ns), str_from(name)))
			m.revision = state_world_write(w, "pods", ns, name, NULL);
		else
			m.revision = pod(w, ns, name, NULL, prng_below(prng, 2) ? "n1" : "n2");
		assert_true(m.revision > 0);
		m.list = state_world_list(w, "pods", &(struct list_query){ 0 });
		assert_true(vec_push(&h->moments, m));
	}
}

static struct later list_at(struct state_world *w, struct list_query q)
{
	struct later p = { 0 };

	resource_list(state_world_resource(w, "pods"), &q, &w->arena, later_done, &p);
	assert_true(sim_run_until(w->sim, later_over, &p, 1000));
	return p;
}

static void check_moment(struct state_world *w, const struct moment *m)
{
	struct list_query q = { .revision = m->revision };
	struct later p = list_at(w, q);
	size_t n = 0;

	assert_int_equal(p.result, 0);
	assert_int_equal(p.list.revision, m->revision);
	assert_int_equal(p.list.n, m->list.n);
	check_bytes(&p.list);
	for (size_t i = 0; i < p.list.n; i++) {
		assert_true(str_eq(p.list.items[i]->key, m->list.items[i]->key));
		assert_int_equal(p.list.items[i]->revision, m->list.items[i]->revision);
	}
	/* The same in pages. */
	q.limit = 3;
	do {
		p = list_at(w, q);
		for (size_t i = 0; i < p.list.n; i++, n++)
			assert_true(str_eq(p.list.items[i]->key, m->list.items[n]->key));
		assert_int_equal(p.list.remaining, m->list.n - n);
		q.after = p.list.last;
	} while (p.list.more);
	assert_int_equal(n, m->list.n);
}

static void the_past_is_listed_as_it_was(void **state UNUSED)
{
	static const size_t rings[] = { 0, 3000 }; /* from the ring; mostly from the store */

	for (size_t k = 0; k < ARRAY_SIZE(rings); k++) {
		struct state_world_opts opts = local;
		struct history h;
		struct state_world w;
		struct prng prng;

		opts.ring_bytes = rings[k];
		opts.store.delay_ms = 2;
		vec_init(&h.moments, 1000);
		prng_init(&prng, k);
		state_world_init(&w, &opts);
		live(&w, &h, &prng, 80);
		for (size_t i = 0; i < h.moments.n; i++)
			check_moment(&w, &h.moments.v[i]);
		vec_release(&h.moments);
		state_world_release(&w);
	}
}

/* Several events in one chunk, with the revision in the middle. */
static void a_moment_within_a_batch_is_listed_as_it_was(void **state UNUSED)
{
	struct state_world w;
	int64_t last = 0;

	state_world_init(&w, &local);
	for (int i = 0; i < 5; i++) {
		struct bytes *b;
		char name[8];

		(void)snprintf(name, sizeof(name), "p%d", i);
		assert_int_equal(
			object_encode(state_world_pod(&w.arena, "a", name, NULL, NULL), &b, NULL),
			0);
		last = fake_data_put(w.data, STR("core/pods"), STR("a"), str_from(name),
				     bytes_str(b));
		bytes_unref(b);
	}
	sim_run_for(w.sim, 10);
	assert_int_equal(state_world_resource(&w, "pods")->ring.span.end, 2);
	for (int i = 0; i < 5; i++) {
		struct list_query q = { .revision = last - 4 + i };

		assert_int_equal(list_at(&w, q).list.n, i + 1);
	}
	state_world_release(&w);
}

static void a_compacted_revision_cannot_be_listed(void **state UNUSED)
{
	struct state_world_opts opts = local;
	struct state_world w;

	opts.ring_bytes = 1000;
	state_world_init(&w, &opts);
	fill(&w);
	for (int i = 0; i < 20; i++)
		assert_true(pod(&w, "a", "p00", NULL, i % 2 ? "n1" : "n2") > 0);
	fake_data_compact(w.data, 30);
	assert_int_equal(list_at(&w, (struct list_query){ .revision = 20 }).result, -ERR_EXPIRED);
	assert_int_equal(list_at(&w, (struct list_query){ .revision = 35 }).result, 0);
	assert_int_equal(list_at(&w, (struct list_query){ .revision = 9999 }).result, -ERR_TIMEOUT);
	state_world_release(&w);
}

/* How long a token is valid depends only on its age, not on writes since. */
static void a_compacted_revision_cannot_be_listed_from_memory(void **state UNUSED)
{
	struct state_world w;
	int64_t now;

	state_world_init(&w, &local);
	fill(&w);
	now = w.state->revision;
	assert_int_equal(list_at(&w, (struct list_query){ .revision = now - 1 }).result, 0);
	fake_data_compact(w.data, now);
	assert_int_equal(list_at(&w, (struct list_query){ .revision = now - 1 }).result,
			 -ERR_EXPIRED);
	assert_int_equal(list_at(&w, (struct list_query){ .revision = now }).result, 0);
	state_world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_shows_what_matches),
		cmocka_unit_test(a_kept_list_is_shared_until_something_changes),
		cmocka_unit_test(pages_have_every_object_once),
		cmocka_unit_test(pages_of_many_have_every_object_once),
		cmocka_unit_test(selectors_look_at_many_in_turns),
		cmocka_unit_test(few_objects_are_looked_at_at_once),
		cmocka_unit_test(a_state_that_stops_finishes_its_lists),
		cmocka_unit_test(the_past_is_listed_as_it_was),
		cmocka_unit_test(a_moment_within_a_batch_is_listed_as_it_was),
		cmocka_unit_test(a_compacted_revision_cannot_be_listed),
		cmocka_unit_test(a_compacted_revision_cannot_be_listed_from_memory),
	};

	return cmocka_run_group_tests_name("server/resource", tests, NULL, NULL);
}

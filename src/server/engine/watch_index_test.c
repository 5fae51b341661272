/*
 * The watches that are visited for an event, and the number of selector evaluations.
 */
#include "server/engine/watch_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/random.h"
#include "server/engine/sequencer.h"

enum { WATCHES = 400 };

struct guest {
	struct watch_spot spot;
	struct resource_filter filter;
	bool there;
	unsigned visits;
	enum ring_type type;
};

struct world {
	struct arena arena;
	const struct schema_kind *kind;
	struct gates gates;
	struct watch_index index;
	struct guest guests[WATCHES];
	size_t n;
	bool leave; /* visited watches leave */
};

static void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	arena_init(&w->arena, 256 * MIB);
	w->kind = schema_find_kind(STR("v1"), STR("Pod"));
	gates_init(&w->gates);
	watch_index_init(&w->index);
}

static void leave(struct world *w, struct guest *g)
{
	if (g->there)
		watch_index_remove(&w->index, &g->spot);
	g->there = false;
}

static void world_release(struct world *w)
{
	for (size_t i = 0; i < w->n; i++)
		leave(w, &w->guests[i]);
	assert_true(watch_index_empty(&w->index));
	assert_int_equal(w->index.buckets.n, 0);
	assert_null(w->index.any);
	for (size_t i = 0; i < WATCH_INDEX_SLOTS; i++)
		assert_int_equal(w->index.labels[i], 0);
	for (size_t i = 0; i < WATCH_PLACES; i++)
		assert_int_equal(w->index.counts[i], 0);
	watch_index_release(&w->index);
	arena_release(&w->arena);
}

static struct guest *add(struct world *w, const char *ns, const char *labels, const char *fields)
{
	struct guest *g = &w->guests[w->n++];

	assert_true(w->n <= WATCHES);
	g->filter = (struct resource_filter){ .kind = w->kind, .ns = str_from(ns) };
	assert_int_equal(
		selector_parse_labels(&w->arena, str_from(labels), &g->filter.labels, NULL), 0);
	assert_int_equal(
		selector_parse_fields(&w->arena, str_from(fields), &g->filter.fields, NULL), 0);
	watch_index_add(&w->index, &g->spot, &g->filter, false);
	g->there = true;
	return g;
}

/* `labels`: members of a JSON object. */
static struct object *pod(struct world *w, const char *ns, const char *name, const char *labels,
			  const char *node)
{
	const char *text = arena_printf(
		&w->arena,
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"%s\",\"uid\":\"u\",\"labels\":{%s}},"
		"\"spec\":{\"nodeName\":\"%s\",\"containers\":[]}}",
		name, ns, labels, node);
	struct object *o;

	assert_int_equal(object_new(w->kind, str_from(text), 1, &w->gates, &o, NULL), 0);
	return o;
}

static void visited(struct watch_spot *spot, enum ring_type type, void *arg)
{
	struct guest *g = CONTAINER_OF(spot, struct guest, spot);
	struct world *w = arg;

	g->visits++;
	g->type = type;
	if (w->leave)
		leave(w, g);
}

/* Returns the number of evaluations. */
static size_t visit(struct world *w, const struct ring_event *e)
{
	size_t before = w->index.evaluated;

	for (size_t i = 0; i < w->n; i++)
		w->guests[i].visits = 0;
	watch_index_visit(&w->index, w->kind, e, visited, w);
	return w->index.evaluated - before;
}

/* Applies a change as an event; `prev` NULL: the object is new. */
static size_t change(struct world *w, struct object *now, struct object *prev)
{
	struct ring_event e = { 2, prev ? RING_MODIFIED : RING_ADDED, now, prev };
	size_t n = visit(w, &e);

	object_unref(now);
	object_unref(prev);
	return n;
}

/* --- places ----------------------------------------------------------------------- */

static void watches_that_cannot_match_cost_no_evaluation(void **state UNUSED)
{
	static const char *const elsewhere[][3] = {
		{ "", "app=db", "" },
		{ "a", "app=db", "" },
		{ "b", "app=web", "" },
		{ "", "x in (1,2)", "" },
		{ "a", "x in (1,2)", "" },
		{ "", "x", "" },
		{ "", "x>4", "" },
		{ "b", "!x", "" },
		{ "b", "", "" },
		{ "", "", "metadata.name=q" },
		{ "a", "", "metadata.name=q" },
		{ "", "", "spec.nodeName=n2" },
		{ "", "!y", "spec.nodeName=n2" },
		{ "", "", "status.phase=Failed" },
		{ "", "x!=1,app=db", "" },
	};
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		for (size_t k = 0; k < 20; k++)
			(void)add(&w, elsewhere[i][0], elsewhere[i][1], elsewhere[i][2]);
	assert_int_equal(change(&w, pod(&w, "a", "p", "\"app\":\"web\"", "n1"),
				pod(&w, "a", "p", "\"app\":\"web\",\"z\":\"1\"", "n1")),
			 0);
	for (size_t i = 0; i < w.n; i++)
		assert_int_equal(w.guests[i].visits, 0);
	world_release(&w);
}

static void equal_selectors_are_evaluated_once(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < 100; i++) {
		(void)add(&w, "", "app!=web", "");
		(void)add(&w, "", "app!=db", "");
		(void)add(&w, "a", "app=web", "");
	}
	/* Two that do not require a label, and one that does; each with both states. */
	assert_int_equal(change(&w, pod(&w, "a", "p", "\"app\":\"web\"", "n1"),
				pod(&w, "a", "p", "\"app\":\"web\"", "n1")),
			 6);
	for (size_t i = 0; i < w.n; i++)
		assert_int_equal(w.guests[i].visits, i % 3 ? 1 : 0);
	world_release(&w);
}

static void an_object_that_leaves_a_selector_is_deleted_for_it(void **state UNUSED)
{
	struct guest *value, *key, *node, *spaced;
	struct world w;

	world_init(&w);
	value = add(&w, "", "app=web", "");
	spaced = add(&w, "a", "app=web", "");
	key = add(&w, "", "app", "");
	node = add(&w, "", "", "spec.nodeName=n1");
	(void)change(&w, pod(&w, "a", "p", "", "n2"), pod(&w, "a", "p", "\"app\":\"web\"", "n1"));
	for (size_t i = 0; i < w.n; i++) {
		assert_int_equal(w.guests[i].visits, 1);
		assert_int_equal(w.guests[i].type, RING_DELETED);
	}
	(void)change(&w, pod(&w, "a", "p", "\"app\":\"web\"", "n1"),
		     pod(&w, "a", "p", "\"app\":\"db\"", "n1"));
	assert_int_equal(value->type, RING_ADDED);
	assert_int_equal(spaced->type, RING_ADDED);
	assert_int_equal(key->type, RING_MODIFIED);
	assert_int_equal(node->type, RING_MODIFIED);
	world_release(&w);
}

static void watches_may_leave_while_they_are_visited(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < 9; i++) {
		(void)add(&w, "", i % 3 ? "app" : "", "");
		(void)add(&w, "", i % 2 ? "app" : "!b", "");
	}
	w.leave = true;
	(void)change(&w, pod(&w, "a", "p", "\"app\":\"web\"", "n1"), NULL);
	for (size_t i = 0; i < w.n; i++)
		assert_int_equal(w.guests[i].visits, 1);
	assert_true(watch_index_empty(&w.index));
	world_release(&w);
}

/* --- against a plain walk over all watches ---------------------------------------- */

static const char *pick(struct prng *p, const char *const *v, size_t n)
{
	return v[prng_below(p, n)];
}
#define PICK(p, v) pick(p, v, ARRAY_SIZE(v))

static struct object *random_pod(struct world *w, struct prng *p, const char *ns)
{
	static const char *const labels[] = { "",
					      "\"a\":\"1\"",
					      "\"a\":\"2\"",
					      "\"a\":\"\"",
					      "\"a\":\"1\",\"b\":\"1\"",
					      "\"b\":\"2\"",
					      "\"a\":\"2\",\"b\":\"1\",\"c\":\"7\"" };
	static const char *const nodes[] = { "", "n1", "n2" };

	return pod(w, ns, "p", PICK(p, labels), PICK(p, nodes));
}

static void the_index_finds_what_a_walk_finds(void **state UNUSED)
{
	static const char *const spaces[] = { "", "s", "t" };
	static const char *const labels[] = {
		"",           "a=1",          "a=2",           "a=",    "a",      "!a",  "a!=1",
		"a in (1,2)", "a in (1)",     "a notin (1,2)", "b,a=1", "b!=1,a", "c>5", "c<5",
		"a=1,a=2",    "!b,a in (1,2)"
	};
	static const char *const fields[] = { "",
					      "spec.nodeName=n1",
					      "spec.nodeName=",
					      "spec.nodeName!=n1",
					      "metadata.name=p",
					      "metadata.name=q",
					      "metadata.name!=p" };
	struct prng p;
	struct world w;

	prng_init(&p, 1);
	world_init(&w);
	for (size_t i = 0; i < WATCHES; i++)
		(void)add(&w, PICK(&p, spaces), PICK(&p, labels), PICK(&p, fields));
	for (size_t i = 0; i < 300; i++) {
		const char *ns = spaces[1 + prng_below(&p, 2)];
		struct object *now = random_pod(&w, &p, ns);
		struct object *prev = i % 3 ? random_pod(&w, &p, ns) : NULL;
		struct ring_event e = { 2, prev ? RING_MODIFIED : RING_ADDED, now, prev };

		if (prev && i % 5 == 0)
			e.type = RING_DELETED;
		(void)visit(&w, &e);
		for (size_t k = 0; k < w.n; k++) {
			const struct guest *g = &w.guests[k];
			enum ring_type type;
			bool match = watch_index_match(&w.index, &g->filter, &e, &type);

			assert_int_equal(g->visits, match);
			if (match)
				assert_int_equal(g->type, type);
		}
		object_unref(now);
		object_unref(prev);
	}
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watches_that_cannot_match_cost_no_evaluation),
		cmocka_unit_test(equal_selectors_are_evaluated_once),
		cmocka_unit_test(an_object_that_leaves_a_selector_is_deleted_for_it),
		cmocka_unit_test(watches_may_leave_while_they_are_visited),
		cmocka_unit_test(the_index_finds_what_a_walk_finds),
	};

	return cmocka_run_group_tests_name("server/watch_index", tests, NULL, NULL);
}

/*
 * The record of what a lane has read, and the lists that the state shows to lanes. In a simulation;
 * state_look_test.c reads them on threads.
 */
#include "server/engine/looks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "net/sim/sim.h"
#include "server/engine/sequencer.h"
#include "server/testing/state_world.h"

static int set_up(void **state)
{
	static struct state_world w;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 2, .store.local = true });
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	state_world_release(*state);
	return 0;
}

static void put(struct state_world *w, const char *ns, const char *name)
{
	assert_true(state_world_write(w, "pods", ns, name,
				      state_world_pod(&w->arena, ns, name, NULL, NULL)) > 0);
}

/* The keys that a lane lists, with spaces between them. */
static const char *listed(struct state_world *w, struct looks *l, const char *ns)
{
	struct object *const *v;
	size_t n = looks_list(l, state_world_resource(w, "pods"), str_from(ns), &v);
	const char *text = "";

	for (size_t i = 0; i < n; i++)
		text = arena_printf(&w->arena, "%s%s%.*s", text, i ? " " : "", STR_ARG(v[i]->key));
	return text;
}

static void a_lane_lists_what_is_shown(void **state)
{
	struct state_world *w = *state;
	struct looks l = { .lane = 1 };

	put(w, "a", "y");
	put(w, "a", "x");
	put(w, "a-b", "z");
	put(w, "b", "z");
	assert_string_equal(listed(w, &l, "a"), "");
	assert_true(l.failed);
	looks_release(&l);
	resource_show(state_world_resource(w, "pods"));
	assert_string_equal(listed(w, &l, ""), "a-b/z a/x a/y b/z");
	assert_string_equal(listed(w, &l, "a"), "a/x a/y");
	assert_string_equal(listed(w, &l, "a-b"), "a-b/z");
	assert_string_equal(listed(w, &l, "b"), "b/z");
	assert_string_equal(listed(w, &l, "c"), "");
	assert_false(l.failed);
	assert_true(looks_are_current(&l));
	looks_release(&l);
}

static void an_empty_resource_is_shown_too(void **state)
{
	struct state_world *w = *state;
	struct looks l = { .lane = 1 };

	resource_show(state_world_resource(w, "pods"));
	assert_string_equal(listed(w, &l, ""), "");
	assert_string_equal(listed(w, &l, "a"), "");
	assert_false(l.failed);
	assert_true(looks_are_current(&l));
	put(w, "a", "x");
	assert_false(looks_are_current(&l));
	looks_release(&l);
}

static void a_change_withdraws_the_list(void **state)
{
	struct state_world *w = *state;
	struct resource *pods = state_world_resource(w, "pods");
	struct looks old = { .lane = 1 }, now = { .lane = 1 };

	put(w, "a", "x");
	resource_show(pods);
	assert_string_equal(listed(w, &old, "a"), "a/x");
	put(w, "b", "x");
	assert_false(looks_are_current(&old));
	(void)listed(w, &now, "a");
	assert_true(now.failed);
	looks_release(&now);
	resource_show(pods);
	assert_string_equal(listed(w, &now, ""), "a/x b/x");
	assert_true(looks_are_current(&now));
	assert_false(looks_are_current(&old));
	looks_release(&now);
	looks_release(&old);
}

static void an_object_is_compared_by_address(void **state)
{
	struct state_world *w = *state;
	const struct resource *pods = state_world_resource(w, "pods");
	struct looks there = { .lane = 1 }, absent = { .lane = 1 };

	put(w, "a", "x");
	assert_non_null(looks_object(&there, pods, STR("a"), STR("x")));
	assert_null(looks_object(&absent, pods, STR("a"), STR("y")));
	assert_true(looks_are_current(&there) && looks_are_current(&absent));
	put(w, "a", "x");
	put(w, "a", "y");
	assert_false(looks_are_current(&there) || looks_are_current(&absent));
	assert_true(state_world_write(w, "pods", "a", "y", NULL) > 0);
	assert_true(looks_are_current(&absent));
	looks_release(&there);
	looks_release(&absent);
}

static void ignore(struct state_write *write UNUSED, struct object *o UNUSED,
		   const struct error *err UNUSED)
{
}

/* Nobody can know yet whether the write will be there. */
static void a_pending_write_outdates(void **state)
{
	struct state_world *w = *state;
	struct resource *pods = state_world_resource(w, "pods");
	struct state_write write = { .done = ignore };
	struct looks object = { .lane = 1 }, list = { .lane = 1 }, other = { .lane = 1 };
	struct object *base;

	put(w, "a", "x");
	resource_show(pods);
	base = looks_object(&object, pods, STR("a"), STR("x"));
	(void)looks_object(&other, pods, STR("a"), STR("y"));
	(void)listed(w, &list, "b");
	assert_int_equal(state_write(&write, pods, STR("a"), STR("x"), base, NULL, &w->arena, NULL),
			 0);
	assert_false(looks_are_current(&object) || looks_are_current(&list));
	assert_true(looks_are_current(&other));
	sim_run_for(w->sim, 1000);
	looks_release(&object);
	looks_release(&list);
	looks_release(&other);
}

static void a_record_is_bounded(void **state)
{
	struct state_world *w = *state;
	struct resource *pods = state_world_resource(w, "pods");
	struct looks l = { .lane = 1 };

	put(w, "a", "x");
	for (size_t i = 0; i < LOOKS_MAX; i++)
		assert_non_null(looks_object(&l, pods, STR("a"), STR("x")));
	assert_false(l.failed);
	assert_null(looks_object(&l, pods, STR("a"), STR("x")));
	assert_true(l.failed);
	looks_release(&l);
	assert_false(l.failed);
	resource_show(pods);
	for (size_t i = 0; i < LOOKS_MAX; i++)
		assert_string_equal(listed(w, &l, ""), "a/x");
	assert_string_equal(listed(w, &l, ""), "");
	assert_true(l.failed);
	looks_release(&l);
}

static void without_lanes_nothing_is_shown(void **state UNUSED)
{
	struct state_world w;

	state_world_init(&w, &(struct state_world_opts){ .nlanes = 1 });
	resource_show(state_world_resource(&w, "pods"));
	assert_null(atomic_load(&state_world_resource(&w, "pods")->shown));
	state_world_release(&w);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_lane_lists_what_is_shown),
		TEST(an_empty_resource_is_shown_too),
		TEST(a_change_withdraws_the_list),
		TEST(an_object_is_compared_by_address),
		TEST(a_pending_write_outdates),
		TEST(a_record_is_bounded),
		cmocka_unit_test(without_lanes_nothing_is_shown),
	};

	return cmocka_run_group_tests_name("server/looks", tests, NULL, NULL);
}

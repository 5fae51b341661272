#include "base/core/limits.h"
#include "node/book/book_fixture.h"
#include "node/node_limits.h"

/* --- readers ------------------------------------------------------------------------- */

static void a_reader_without_wishes_begins_now(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0");
	c = begin(w);
	assert_int_equal(podres_backlog(w->b, &c), 0);
	assert_null(podres_read(w->b, &c));
	drop(w, "a");
	assert_string_equal(read_all(w, &c), "DELETED u-a a [ ] 104\n");
}

static void the_initial_state_ends_with_a_mark(void **state)
{
	struct world *w = *state;
	struct podres_cursor empty = begin_initial(w), c;

	assert_int_equal(podres_backlog(w->b, &empty), 1);
	assert_string_equal(read_all(w, &empty), "END 100\n");
	set(w, "a", "gpu:0");
	set(w, "b", "");
	c = begin_initial(w);
	assert_int_equal(podres_backlog(w->b, &c), 3);
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ gpu:0 ] 103\n"
					     "ADDED u-b b [ ] 103\n"
					     "END 104\n");
	assert_string_equal(read_all(w, &empty), "ADDED u-a a [ gpu:0 ] 102\n"
						 "ADDED u-b b [ ] 104\n");
}

static void the_initial_state_is_of_one_moment(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0");
	set(w, "b", "gpu:1");
	set(w, "c", "gpu:2 gpu:3");
	set(w, "d", "");
	c = begin_initial(w);
	assert_string_equal(read_some(w, &c, 1), "ADDED u-a a [ gpu:0 ] 107\n");
	drop(w, "b");
	set(w, "c", "gpu:0 gpu:2 cpu:7"); /* releases 3, gains two that it does not have yet */
	set(w, "new", "gpu:3");
	assert_string_equal(read_some(w, &c, 3), "ADDED u-c c [ gpu:2 ] 107\n"
						 "ADDED u-d d [ ] 107\n"
						 "END 108\n");
	assert_string_equal(read_all(w, &c), "DELETED u-b b [ ] 110\n"
					     "UPDATED u-c c [ gpu:2 ] 112\n"
					     "UPDATED u-c c [ gpu:0 gpu:2 cpu:7 ] 114\n"
					     "ADDED u-new new [ gpu:3 ] 116\n");
}

static void a_reader_resumes_event_by_event_within_the_ring(void **state)
{
	struct world *w = *state;
	struct podres_cursor first = begin(w), c;

	set(w, "a", "gpu:0");
	set(w, "a", "gpu:0 gpu:1");
	drop(w, "a");
	c = begin_after(w, 102);
	assert_int_equal(podres_backlog(w->b, &c), 2);
	assert_string_equal(read_all(w, &c), "UPDATED u-a a [ gpu:0 gpu:1 ] 104\n"
					     "DELETED u-a a [ ] 106\n");
	c = begin_after(w, 106);
	assert_string_equal(read_all(w, &c), "");
	(void)first;
}

static void a_revision_that_cannot_be_resumed_gives_the_full_state(void **state)
{
	static const int64_t foreign[] = { 103, 98, 106, -2, INT64_MAX, INT64_MIN };
	struct world *w = *state;

	set(w, "a", "gpu:0");
	set(w, "b", "");
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		struct podres_cursor c = begin_after(w, foreign[i]);

		assert_true(podres_backlog(w->b, &c) > 0);
		assert_string_equal(read_all(w, &c), "DELETED  103\n"
						     "ADDED u-a a [ gpu:0 ] 103\n"
						     "ADDED u-b b [ ] 103\n"
						     "END 104\n");
	}
}

static void a_book_that_nobody_asks_keeps_no_past(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0");
	set(w, "b", "");
	drop(w, "b");
	assert_null(w->b->gone.v);
	assert_null(w->b->events[PODRES_PODS].v);
	assert_true(sizeof(struct podres) < 512);
	c = begin_after(w, 104);
	assert_string_equal(read_all(w, &c), "DELETED  105\n"
					     "ADDED u-a a [ gpu:0 ] 105\n"
					     "END 106\n");
}

/* --- catching up --------------------------------------------------------------------- */

static void a_catch_up_tells_what_is_given_back_first(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;
	struct podres_entry v[2];

	set(w, "a", "gpu:0 cpu:0");
	set(w, "b", "gpu:1 cpu:1");
	set(w, "c", "gpu:2");
	set(w, "same", "gpu:3");
	c = begin(w);
	v[0] = entry(w, "a", "gpu:1 cpu:0");
	v[1] = entry(w, "b", "gpu:0 cpu:1");
	podres_set_pods(w->b, v, 2); /* 116 */
	drop(w, "c");
	set(w, "new", "gpu:2");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "UPDATED u-a a [ cpu:0 ] 119\n"
					     "UPDATED u-b b [ cpu:1 ] 119\n"
					     "DELETED u-c c [ ] 119\n"
					     "UPDATED u-a a [ gpu:1 cpu:0 ] 119\n"
					     "UPDATED u-b b [ gpu:0 cpu:1 ] 119\n"
					     "ADDED u-new new [ gpu:2 ] 120\n");
}

static void a_catch_up_tells_a_pod_once_where_that_is_enough(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "less", "gpu:0 gpu:1");
	set(w, "more", "gpu:2");
	set(w, "moved", "gpu:4 |");
	c = begin(w);
	set(w, "less", "gpu:0");
	set(w, "more", "gpu:2 gpu:3");
	set(w, "moved", "| gpu:4");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "UPDATED u-less less [ gpu:0 ] 111\n"
					     "UPDATED u-more more [ gpu:2 gpu:3 ] 111\n"
					     "UPDATED u-moved moved [ | gpu:4 ] 112\n");
	c = begin_after(w, 110);
	assert_string_equal(read_all(w, &c), "UPDATED u-moved moved [ | gpu:4 ] 112\n");
}

static void a_catch_up_may_be_one_message(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0");
	set(w, "b", "gpu:1");
	c = begin(w);
	drop(w, "a");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "DELETED u-a a [ ] 106\n");
	set(w, "b", "");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "UPDATED u-b b [ ] 108\n");
}

static void the_book_may_change_during_a_catch_up(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0 gpu:1");
	set(w, "b", "gpu:2 gpu:3");
	set(w, "c", "");
	c = begin(w);
	set(w, "a", "gpu:0"); /* 108 */
	set(w, "b", "gpu:2"); /* 110 */
	set(w, "c", "gpu:1 gpu:3"); /* 112 */
	fall_out(w);
	assert_string_equal(read_some(w, &c, 1), "UPDATED u-a a [ gpu:0 ] 111\n");
	set(w, "a", ""); /* 114 */
	set(w, "b", "gpu:0 gpu:2"); /* 116 */
	set(w, "late", "cpu:1"); /* 118 */
	/* b without what it gained after the target, and no a: its next change comes next */
	assert_string_equal(read_some(w, &c, 3), "UPDATED u-b b [ gpu:2 ] 111\n"
						 "UPDATED u-b b [ gpu:2 ] 111\n"
						 "UPDATED u-c c [ gpu:1 gpu:3 ] 112\n");
	assert_string_equal(read_all(w, &c), "UPDATED u-a a [ ] 114\n"
					     "UPDATED u-b b [ gpu:0 gpu:2 ] 116\n"
					     "ADDED u-late late [ cpu:1 ] 118\n");
}

static void a_pod_that_goes_during_round_one_holds_nothing_first(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0 gpu:1");
	set(w, "b", "gpu:2 gpu:3");
	set(w, "quiet", "cpu:0");
	c = begin(w);
	set(w, "a", "gpu:0");
	set(w, "b", "gpu:2");
	set(w, "c", "gpu:1 gpu:3"); /* 112 */
	fall_out(w);
	assert_string_equal(read_some(w, &c, 1), "UPDATED u-a a [ gpu:0 ] 111\n");
	drop(w, "b");
	drop(w, "quiet");
	assert_string_equal(read_some(w, &c, 2), "UPDATED u-b b [ ] 111\n"
						 "ADDED u-c c [ gpu:1 gpu:3 ] 112\n");
	assert_string_equal(read_all(w, &c), "DELETED u-b b [ ] 114\n"
					     "DELETED u-quiet quiet [ ] 116\n");
}

static void pods_left_in_a_catch_up_may_vanish(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "gpu:0 gpu:1");
	c = begin(w);
	set(w, "a", "gpu:0");
	set(w, "b", "gpu:1"); /* 106 */
	fall_out(w);
	assert_string_equal(read_some(w, &c, 1), "UPDATED u-a a [ gpu:0 ] 105\n");
	drop(w, "b");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "DELETED u-b b [ ] 108\n");
}

static void of_equal_things_the_oldest_stay(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	set(w, "a", "mem:64@0 |");
	c = begin(w);
	set(w, "a", "mem:64@0 | mem:64@0");
	set(w, "a", "| mem:64@0");
	fall_out(w);
	assert_string_equal(read_all(w, &c), "UPDATED u-a a [ | mem:64@0 ] 106\n");
}

/* The reader knows the pod from a List, not from its stream. */
static void devices_of_a_list_are_released_in_round_one_too(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);

	set(w, "get", "");
	set(w, "a", "gpu:0");
	set(w, "gone", "gpu:1");
	(void)list(w); /* 106 */
	set(w, "a", "");
	drop(w, "gone");
	set(w, "get", "gpu:0 gpu:1"); /* 112 */
	fall_out(w);
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ ] 111\n"
					     "DELETED u-gone gone [ ] 111\n"
					     "ADDED u-get get [ gpu:0 gpu:1 ] 111\n"
					     "ADDED u-a a [ ] 112\n");
}

static void a_reader_that_misses_tombstones_gets_the_full_state(void **state)
{
	struct world *w = *state;
	struct podres_cursor knows = begin_initial(w), kep = begin(w);

	w->b->gone.max = 2;
	(void)read_all(w, &knows);
	for (int i = 0; i < 3; i++) {
		set(w, "a", "");
		drop(w, "a");
	}
	set(w, "b", "gpu:0");
	fall_out(w);
	assert_string_equal(read_all(w, &knows), "DELETED  113\n"
						 "ADDED u-b b [ gpu:0 ] 113\n"
						 "END 114\n");
	assert_string_equal(read_all(w, &kep), "");
	assert_true(kep.lost);
	assert_null(podres_read(w->b, &kep));
}

static void tombstones_may_be_forgotten_during_a_catch_up(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d" };
	struct world *w = *state;
	struct podres_cursor early, late;

	w->b->gone.max = 2;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		set(w, names[i], "");
	early = begin_after(w, 108);
	drop(w, "a");
	drop(w, "b"); /* 112 */
	fall_out(w);
	late = early;
	assert_string_equal(read_some(w, &early, 1), "DELETED u-a a [ ] 111\n");
	late = early;
	drop(w, "c"); /* a's tombstone, which was sent, is dropped */
	assert_string_equal(read_some(w, &early, 1), "DELETED u-b b [ ] 112\n");
	drop(w, "d");
	assert_string_equal(read_all(w, &late), "DELETED  115\nEND 116\n");
	assert_string_equal(read_all(w, &early), "DELETED u-c c [ ] 114\n"
						 "DELETED u-d d [ ] 116\n");
}

static void the_ring_is_bounded_in_number_and_bytes(void **state)
{
	struct world *w = *state;
	struct podres_ring *r = &w->b->events[PODRES_PODS];
	struct podres_cursor c = begin(w);
	char *id = xcalloc(1, PODRES_EVENT_BYTES / 3);

	for (int i = 0; i < PODRES_EVENTS_MAX; i++)
		set(w, "a", i % 2 ? "cpu:0" : "");
	assert_int_equal(r->n, PODRES_EVENTS_MAX);
	assert_int_equal(podres_backlog(w->b, &c), PODRES_EVENTS_MAX);
	assert_int_equal(r->floor, EPOCH);
	set(w, "a", "");
	assert_int_equal(r->n, PODRES_EVENTS_MAX);
	assert_int_equal(r->floor, EPOCH + 2);
	memset(id, 'x', PODRES_EVENT_BYTES / 3 - 1);
	for (int i = 0; i < 5; i++)
		set(w, i % 2 ? "b" : "c", arena_printf(&w->a, "gpu:%s%d", id, i / 2));
	free(id);
	assert_true(r->bytes <= PODRES_EVENT_BYTES);
	assert_true(r->n > 0 && r->n < 5);
	assert_int_equal(c.at, EPOCH);
	(void)read_all(w, &c);
	assert_int_equal(c.at, podres_revision(w->b));
}

/* A thousand devices, all exchanged for others: the comparison must not be quadratic. */
static void a_pod_may_have_thousands_of_things(void **state)
{
	struct world *w = *state;
	struct buf before = BUF_INIT(MIB), after = BUF_INIT(MIB);
	struct podres_cursor c;

	for (int i = 0; i < 4000; i++) {
		(void)buf_printf(&before, "gpu:%d ", i);
		(void)buf_printf(&after, "gpu:%d ", 5999 - i);
	}
	set(w, "a", before.p);
	c = begin(w);
	set(w, "a", after.p);
	fall_out(w);
	assert_int_equal(podres_revision(w->b), 106);
	assert_int_equal(strlen(read_some(w, &c, 1)),
			 strlen("UPDATED u-a a [ ] 105\n") + 2000 * strlen(" gpu:2000"));
	assert_int_equal(strlen(read_some(w, &c, 1)),
			 strlen("UPDATED u-a a [ ] 106\n") + 4000 * strlen(" gpu:2000"));
	buf_release(&before);
	buf_release(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reader_without_wishes_begins_now),
		TEST(the_initial_state_ends_with_a_mark),
		TEST(the_initial_state_is_of_one_moment),
		TEST(a_reader_resumes_event_by_event_within_the_ring),
		TEST(a_revision_that_cannot_be_resumed_gives_the_full_state),
		TEST(a_book_that_nobody_asks_keeps_no_past),
		TEST(a_catch_up_tells_what_is_given_back_first),
		TEST(a_catch_up_tells_a_pod_once_where_that_is_enough),
		TEST(a_catch_up_may_be_one_message),
		TEST(the_book_may_change_during_a_catch_up),
		TEST(a_pod_that_goes_during_round_one_holds_nothing_first),
		TEST(pods_left_in_a_catch_up_may_vanish),
		TEST(of_equal_things_the_oldest_stay),
		TEST(devices_of_a_list_are_released_in_round_one_too),
		TEST(a_reader_that_misses_tombstones_gets_the_full_state),
		TEST(tombstones_may_be_forgotten_during_a_catch_up),
		TEST(the_ring_is_bounded_in_number_and_bytes),
		TEST(a_pod_may_have_thousands_of_things),
	};

	return cmocka_run_group_tests_name("node/podres_cursor", tests, NULL, NULL);
}

#include "node/podres_fixture.h"

#include "base/limits.h"
#include "base/mem.h"
#include "node/podres_impl.h"
#include "node/podres_wire.h"

/* Revisions of these tests: the first change is 102. */
enum { EPOCH = 100 };

struct world {
	struct arena a;
	struct podres *b;
	struct buf out;
	unsigned heard; /* changes */
};

static void hear(void *arg)
{
	((struct world *)arg)->heard++;
}

static int setup(void **state)
{
	struct world *w = XNEW(struct world);

	arena_init(&w->a, SIZE_MAX);
	buf_init(&w->out, 64 * MIB);
	w->b = podres_new(EPOCH);
	podres_listen(w->b, hear, w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	podres_free(w->b);
	buf_release(&w->out);
	arena_release(&w->a);
	free(w);
	return 0;
}

static struct str uid_of(struct world *w, const char *name)
{
	return str_from(arena_printf(&w->a, "u-%s", name));
}

static bool set(struct world *w, const char *name, const char *things)
{
	return podres_set_pod(w->b, uid_of(w, name), fixture_pod(&w->a, name, things), 0);
}

static bool drop(struct world *w, const char *name)
{
	return podres_drop_pod(w->b, uid_of(w, name));
}

static struct podres_entry entry(struct world *w, const char *name, const char *things)
{
	return (struct podres_entry){ uid_of(w, name),
				      things ? fixture_pod(&w->a, name, things) : NULL, 0 };
}

static struct podres_cursor begin(struct world *w)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, false, 0);
	return c;
}

static struct podres_cursor begin_initial(struct world *w)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, true, 0);
	return c;
}

static struct podres_cursor begin_after(struct world *w, int64_t revision)
{
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_PODS, false, revision);
	return c;
}

/* Up to `n` messages, in words. */
static const char *read_some(struct world *w, struct podres_cursor *c, unsigned n)
{
	buf_clear(&w->out);
	(void)buf_addz(&w->out, "");
	while (n--) {
		CLEANUP(bytes_unref) struct bytes *m = podres_read(w->b, c);

		if (!m)
			break;
		fixture_print_event(&w->out,
				    fixture_unpack(&w->a, &podresources__pod_event__descriptor, m));
	}
	return w->out.p ? w->out.p : "";
}

static const char *read_all(struct world *w, struct podres_cursor *c)
{
	const char *text = read_some(w, c, UINT32_MAX);

	assert_int_equal(podres_backlog(w->b, c), 0);
	return text;
}

/* No reader of before finds its place in the ring. */
static void fall_out(struct world *w)
{
	podres_ring_release(&w->b->events[PODRES_PODS]);
	podres_ring_init(&w->b->events[PODRES_PODS], PODRES_EVENTS_MAX, w->b->revision);
}

static Podresources__ListResponse *list(struct world *w)
{
	CLEANUP(bytes_unref) struct bytes *m = podres_list(w->b);

	return fixture_unpack(&w->a, &podresources__list_response__descriptor, m);
}

/* --- changes ------------------------------------------------------------------------- */

static void a_change_is_told_once(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);

	assert_int_equal(podres_revision(w->b), EPOCH);
	assert_true(set(w, "a", "gpu:0 cpu:1"));
	assert_false(set(w, "a", "gpu:0 cpu:1"));
	assert_true(set(w, "a", "gpu:0 gpu:1 cpu:1"));
	assert_true(set(w, "a", "gpu:1"));
	assert_true(drop(w, "a"));
	assert_false(drop(w, "a"));
	assert_int_equal(podres_revision(w->b), EPOCH + 8);
	assert_int_equal(w->heard, 4);
	assert_int_equal(podres_backlog(w->b, &c), 4);
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ gpu:0 cpu:1 ] 102\n"
					     "UPDATED u-a a [ gpu:0 gpu:1 cpu:1 ] 104\n"
					     "UPDATED u-a a [ gpu:1 ] 106\n"
					     "DELETED u-a a [ ] 108\n");
	assert_string_equal(read_all(w, &c), "");
}

static void giving_back_and_getting_are_two_changes(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);

	set(w, "a", "gpu:0 gpu:1 | cpu:1");
	assert_true(set(w, "a", "gpu:1 gpu:2 | cpu:1 cpu:2"));
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ gpu:0 gpu:1 | cpu:1 ] 102\n"
					     "UPDATED u-a a [ gpu:1 | cpu:1 ] 104\n"
					     "UPDATED u-a a [ gpu:1 gpu:2 | cpu:1 cpu:2 ] 106\n");
}

static void what_moves_within_a_pod_stays_held(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);

	set(w, "a", "gpu:0 claim:c/d | cpu:1");
	assert_true(set(w, "a", "cpu:1 | gpu:0 claim:c/d"));
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ gpu:0 claim:c/d | cpu:1 ] 102\n"
					     "UPDATED u-a a [ cpu:1 | gpu:0 claim:c/d ] 104\n");
}

static void equal_things_are_counted(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);

	set(w, "a", "mem:64@0 | mem:64@0");
	assert_true(set(w, "a", "mem:64@0 cpu:1 |"));
	assert_string_equal(read_all(w, &c), "ADDED u-a a [ mem:64@0 | mem:64@0 ] 102\n"
					     "UPDATED u-a a [ mem:64@0 | ] 104\n"
					     "UPDATED u-a a [ cpu:1 mem:64@0 | ] 106\n");
}

static void several_pods_give_back_before_any_gets(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w);
	struct podres_entry v[4];

	set(w, "a", "gpu:0");
	set(w, "b", "gpu:1");
	set(w, "c", "gpu:2");
	v[0] = entry(w, "a", "gpu:1");
	v[1] = entry(w, "new", "gpu:2");
	v[2] = entry(w, "b", "gpu:0");
	v[3] = entry(w, "c", NULL);
	podres_set_pods(w->b, v, 4);
	(void)read_some(w, &c, 3);
	assert_string_equal(read_all(w, &c), "UPDATED u-a a [ ] 108\n"
					     "UPDATED u-b b [ ] 110\n"
					     "DELETED u-c c [ ] 112\n"
					     "UPDATED u-a a [ gpu:1 ] 114\n"
					     "ADDED u-new new [ gpu:2 ] 116\n"
					     "UPDATED u-b b [ gpu:0 ] 118\n");
}

static void events_are_the_same_bytes_for_all(void **state)
{
	struct world *w = *state;
	struct podres_cursor c = begin(w), d = begin(w);
	CLEANUP(bytes_unref) struct bytes *x = NULL, *y = NULL;

	set(w, "a", "gpu:0");
	x = podres_read(w->b, &c);
	y = podres_read(w->b, &d);
	assert_ptr_equal(x, y);
}

static void events_are_packed_as_protobuf_does(void **state)
{
	struct world *w = *state;
	Podresources__PodResources *pod = fixture_pod(&w->a, "a", "gpu:0@1 cpu:200 mem:5@0");
	Podresources__PodEvent e = PODRESOURCES__POD_EVENT__INIT;
	CLEANUP(bytes_unref) struct bytes *ours = NULL, *theirs = NULL;

	e.action = PODRESOURCES__ACTION__UPDATED;
	e.uid = arena_strdup(&w->a, STR("u"));
	e.n_pod_resources = 1;
	e.pod_resources = &pod;
	e.revision = INT64_C(1) << 60;
	e.initial_end = true;
	theirs = grpc_message_pack(&e.base);
	ours = podres_pack_event(&(struct podres_event){ .action = e.action,
							 .uid = STR("u"),
							 .pod = podres_pack_pod(pod, &w->a),
							 .revision = e.revision,
							 .initial_end = true },
				 NULL, NULL);
	assert_int_equal(ours->n, theirs->n);
	assert_memory_equal(ours->data, theirs->data, ours->n);
}

/* --- the present --------------------------------------------------------------------- */

static const char *list_text(struct world *w, const Podresources__ListResponse *l)
{
	buf_clear(&w->out);
	for (size_t i = 0; i < l->n_pod_resources; i++) {
		fixture_print_pod(&w->out, l->pod_resources[i]);
		(void)buf_addc(&w->out, '\n');
	}
	(void)buf_printf(&w->out, "%" PRId64, l->revision);
	return w->out.p;
}

static void a_list_has_all_pods_and_the_revision(void **state)
{
	struct world *w = *state;

	assert_string_equal(list_text(w, list(w)), "100");
	set(w, "b", "gpu:0 | cpu:1");
	set(w, "a", "");
	assert_string_equal(list_text(w, list(w)), "b [ gpu:0 | cpu:1 ]\na [ ]\n104");
	set(w, "b", "cpu:1");
	drop(w, "a");
	assert_string_equal(list_text(w, list(w)), "b [ cpu:1 ]\n108");
}

static void a_list_is_packed_once_per_revision(void **state)
{
	struct world *w = *state;
	CLEANUP(bytes_unref) struct bytes *first = NULL, *again = NULL, *later = NULL;

	set(w, "a", "gpu:0");
	first = podres_list(w->b);
	again = podres_list(w->b);
	set(w, "b", "");
	later = podres_list(w->b);
	assert_ptr_equal(first, again);
	assert_ptr_not_equal(first, later);
}

static void the_alpha_list_has_main_containers_and_devices_only(void **state)
{
	struct world *w = *state;
	CLEANUP(bytes_unref) struct bytes *first = NULL, *again = NULL;

	podres_set_pod(w->b, STR("u-a"),
		       fixture_pod(&w->a, "a", "gpu:9 | gpu:0@1 gpu:1@0 cpu:1 mem:5@0 claim:c/d"),
		       1);
	podres_set_pod(w->b, STR("u-b"), fixture_pod(&w->a, "b", "gpu:8"), 7);
	set(w, "c", "cpu:2");
	first = podres_list_alpha(w->b);
	again = podres_list_alpha(w->b);
	assert_ptr_equal(first, again);
	assert_string_equal(
		list_text(w,
			  fixture_unpack(&w->a, &podresources__list_response__descriptor, first)),
		"a [ gpu:0 gpu:1 ]\nb [ ]\nc [ ]\n0");
}

static void one_pod_is_got_by_its_names(void **state)
{
	struct world *w = *state;
	CLEANUP(bytes_unref) struct bytes *m = NULL;
	Podresources__GetResponse *r;

	set(w, "a", "gpu:0");
	podres_set_pod(w->b, STR("other"), fixture_pod(&w->a, "a", "gpu:1"), 0);
	assert_null(podres_get(w->b, STR("elsewhere"), STR("a")));
	assert_null(podres_get(w->b, STR("ns"), STR("b")));
	m = podres_get(w->b, STR("ns"), STR("a"));
	r = fixture_unpack(&w->a, &podresources__get_response__descriptor, m);
	buf_clear(&w->out);
	fixture_print_pod(&w->out, r->pod_resources);
	assert_string_equal(w->out.p, "a [ gpu:1 ]");
}

static void pods_are_walked_by_uid(void **state)
{
	struct world *w = *state;
	struct str at = STR_NULL, packed;

	set(w, "b", "gpu:0");
	set(w, "a", "gpu:1");
	assert_true(podres_next_pod(w->b, &at, &packed));
	assert_true(str_eqz(at, "u-a"));
	assert_true(podres_next_pod(w->b, &at, &packed));
	assert_true(str_eqz(at, "u-b"));
	buf_clear(&w->out);
	fixture_print_pod(&w->out, podres_unpack_pod(packed, &w->a));
	assert_string_equal(w->out.p, "b [ gpu:0 ]");
	assert_false(podres_next_pod(w->b, &at, &packed));
}

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
	set(w, "c", "gpu:0 gpu:2 cpu:7"); /* gives 3 back, gets two that it does not have yet */
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
	/* b without what it got after the target, a no more: its next change is told next */
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

static void what_was_left_of_a_catch_up_may_vanish(void **state)
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

/* The reader knows the pod from a List, not from its stream. */
static void what_a_list_told_is_given_back_in_round_one_too(void **state)
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
	drop(w, "c"); /* a is forgotten, which was told */
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

/* A thousand devices, all exchanged for others: what is compared must not be compared pairwise. */
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

/* --- allocatable --------------------------------------------------------------------- */

static bool set_allocatable(struct world *w, const char *things)
{
	Podresources__AllocatableResponse r = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	const Podresources__ContainerResources *c = fixture_container(&w->a, str_from(things), 0);

	r.n_devices = c->n_devices;
	r.devices = c->devices;
	r.n_cpu_ids = c->n_cpu_ids;
	r.cpu_ids = c->cpu_ids;
	r.n_memory = c->n_memory;
	r.memory = c->memory;
	return podres_set_allocatable(w->b, &r);
}

static const char *read_allocatable(struct world *w, struct podres_cursor *c)
{
	struct bytes *m;

	buf_clear(&w->out);
	(void)buf_reserve(&w->out, 1);
	w->out.p[0] = '\0';
	while ((m = podres_read(w->b, c))) {
		const Podresources__AllocatableEvent *e = fixture_unpack(
			&w->a, &podresources__allocatable_event__descriptor, m);

		(void)buf_addz(&w->out, e->initial_end ? "END" : fixture_action(e->action));
		fixture_print_devices(&w->out, e->devices, e->n_devices);
		fixture_print_numbers(&w->out, e->cpu_ids, e->n_cpu_ids, e->memory, e->n_memory);
		(void)buf_printf(&w->out, " %" PRId64 "\n", e->revision);
		bytes_unref(m);
	}
	assert_int_equal(podres_backlog(w->b, c), 0);
	return w->out.p;
}

static void allocatable_says_whether_it_grew_or_shrank(void **state)
{
	struct world *w = *state;
	struct podres_cursor c;

	podres_begin(w->b, &c, PODRES_ALLOCATABLE, false, 0);
	assert_false(set_allocatable(w, ""));
	assert_true(set_allocatable(w, "gpu:0 gpu:1 cpu:1 mem:64@0"));
	assert_false(set_allocatable(w, "gpu:0 gpu:1 cpu:1 mem:64@0"));
	set(w, "a", "gpu:0");
	assert_true(set_allocatable(w, "gpu:0 cpu:1 mem:64@0"));
	assert_true(set_allocatable(w, "gpu:0 cpu:1 mem:65@0"));
	assert_int_equal(podres_backlog(w->b, &c), 4);
	assert_string_equal(read_allocatable(w, &c), "ADDED gpu:0 gpu:1 cpu:1 mem:64@0 102\n"
						     "DELETED gpu:0 cpu:1 mem:64@0 106\n"
						     "UPDATED gpu:0 cpu:1 mem:65@0 108\n");
}

static void allocatable_answers_with_its_last_change(void **state)
{
	struct world *w = *state;
	CLEANUP(bytes_unref) struct bytes *none = podres_allocatable(w->b), *some = NULL;
	Podresources__AllocatableResponse *r;

	r = fixture_unpack(&w->a, &podresources__allocatable_response__descriptor, none);
	assert_int_equal(r->revision, EPOCH);
	assert_int_equal(r->n_devices, 0);
	set_allocatable(w, "gpu:0 cpu:3");
	set(w, "a", "gpu:0");
	some = podres_allocatable(w->b);
	r = fixture_unpack(&w->a, &podresources__allocatable_response__descriptor, some);
	assert_int_equal(r->revision, 102);
	assert_int_equal(r->n_devices, 1);
	assert_int_equal(r->cpu_ids[0], 3);
}

static void allocatable_is_caught_up_by_its_present_state(void **state)
{
	struct world *w = *state;
	struct podres_cursor live, initial, foreign, resumed;

	podres_begin(w->b, &live, PODRES_ALLOCATABLE, false, 0);
	set_allocatable(w, "gpu:0");
	set_allocatable(w, "gpu:0 gpu:1");
	podres_begin(w->b, &initial, PODRES_ALLOCATABLE, true, 0);
	podres_begin(w->b, &foreign, PODRES_ALLOCATABLE, false, 7);
	podres_begin(w->b, &resumed, PODRES_ALLOCATABLE, true, 102);
	assert_string_equal(read_allocatable(w, &resumed), "ADDED gpu:0 gpu:1 104\n");
	podres_ring_release(&w->b->events[PODRES_ALLOCATABLE]);
	assert_string_equal(read_allocatable(w, &live), "UPDATED gpu:0 gpu:1 104\n");
	assert_int_equal(podres_backlog(w->b, &initial), 2);
	assert_string_equal(read_allocatable(w, &initial), "ADDED gpu:0 gpu:1 103\nEND 104\n");
	assert_string_equal(read_allocatable(w, &foreign), "UPDATED gpu:0 gpu:1 103\nEND 104\n");
	set(w, "a", "");
	assert_string_equal(read_allocatable(w, &live), "");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_change_is_told_once),
		TEST(giving_back_and_getting_are_two_changes),
		TEST(what_moves_within_a_pod_stays_held),
		TEST(equal_things_are_counted),
		TEST(several_pods_give_back_before_any_gets),
		TEST(events_are_the_same_bytes_for_all),
		TEST(events_are_packed_as_protobuf_does),
		TEST(a_list_has_all_pods_and_the_revision),
		TEST(a_list_is_packed_once_per_revision),
		TEST(the_alpha_list_has_main_containers_and_devices_only),
		TEST(one_pod_is_got_by_its_names),
		TEST(pods_are_walked_by_uid),
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
		TEST(what_was_left_of_a_catch_up_may_vanish),
		TEST(what_a_list_told_is_given_back_in_round_one_too),
		TEST(a_reader_that_misses_tombstones_gets_the_full_state),
		TEST(tombstones_may_be_forgotten_during_a_catch_up),
		TEST(the_ring_is_bounded_in_number_and_bytes),
		TEST(a_pod_may_have_thousands_of_things),
		TEST(allocatable_says_whether_it_grew_or_shrank),
		TEST(allocatable_answers_with_its_last_change),
		TEST(allocatable_is_caught_up_by_its_present_state),
	};

	return cmocka_run_group_tests_name("node/podres", tests, NULL, NULL);
}

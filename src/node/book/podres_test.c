#include "node/book/book_fixture.h"

#include "node/book/wire.h"

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

static void a_device_that_moves_within_a_pod_stays_held(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_change_is_told_once),
		TEST(giving_back_and_getting_are_two_changes),
		TEST(a_device_that_moves_within_a_pod_stays_held),
		TEST(equal_things_are_counted),
		TEST(several_pods_give_back_before_any_gets),
		TEST(events_are_the_same_bytes_for_all),
		TEST(events_are_packed_as_protobuf_does),
		TEST(a_list_has_all_pods_and_the_revision),
		TEST(a_list_is_packed_once_per_revision),
		TEST(the_alpha_list_has_main_containers_and_devices_only),
		TEST(one_pod_is_got_by_its_names),
		TEST(pods_are_walked_by_uid),
		TEST(allocatable_says_whether_it_grew_or_shrank),
		TEST(allocatable_answers_with_its_last_change),
		TEST(allocatable_is_caught_up_by_its_present_state),
	};

	return cmocka_run_group_tests_name("node/podres", tests, NULL, NULL);
}

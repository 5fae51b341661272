/*
 * Each rule of the merge: the API's and the kubelet's input, and the events that a reader gets.
 */
#include "node/attach/attach_fixture.h"
#include "node/node_limits.h"

enum { GRACE = 10 * 1000, TORN_MAX = 8 };

struct world {
	struct arena arena;
	struct podres *book;
	struct attach_merge *merge;
	struct fixture_reader reader;
	struct attach_outcome out; /* of the last reply */
	int64_t now;
};

static int setup(void **state)
{
	struct world *w = XNEW(struct world);

	arena_init(&w->arena, SIZE_MAX);
	w->book = podres_new(100);
	w->merge = attach_merge_new(w->book, 0);
	w->now = 1000;
	fixture_reader_init(&w->reader, w->book);
	fixture_read(&w->reader);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	attach_merge_free(w->merge);
	fixture_reader_release(&w->reader);
	podres_free(w->book);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static void api(struct world *w, const char *uid, const char *name, enum attach_life life)
{
	struct attach_pod_info info = {
		.uid = str_from(uid), .ns = STR("default"), .name = str_from(name), .life = life
	};
	struct error err;

	if (attach_merge_pod(w->merge, &info, w->now, &err) < 0)
		fail_msg("%s", err.msg);
}

static void gone(struct world *w, const char *uid)
{
	attach_merge_pod_gone(w->merge, str_from(uid));
}

/* The reply to the call that began before. */
static void answer(struct world *w, const char *list)
{
	attach_merge_list(w->merge, fixture_list(&w->arena, list), w->now, &w->out);
}

static void list(struct world *w, const char *text)
{
	attach_merge_begin(w->merge);
	answer(w, text);
	assert_int_equal(w->out.verdict, ATTACH_TAKEN);
}

static enum attach_verdict get(struct world *w, const char *uid, const char *text)
{
	attach_merge_begin(w->merge);
	attach_merge_get(w->merge, str_from(uid),
			 text ? fixture_pod(&w->arena, str_from(text)) : NULL, w->now, &w->out);
	return w->out.verdict;
}

/* --- coming and going -------------------------------------------------------------------- */

static void pods_come_change_and_go_as_the_list_says(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0 b=");
	fixture_expect(&w->reader, "+u1 a=gpu0\n+u2 b=\n");
	list(w, "a=gpu0 b=");
	fixture_expect(&w->reader, "");
	list(w, "a=gpu0,#1 b=");
	fixture_expect(&w->reader, "~u1 a=gpu0,#1\n");
	api(w, "u1", "a", ATTACH_ENDED);
	list(w, "b=");
	fixture_expect(&w->reader, "-u1 a\n");
}

static void another_order_alone_is_no_change(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu1,gpu0,#4,#3");
	fixture_expect(&w->reader, "+u1 a=gpu0,gpu1,#3,#4\n");
	list(w, "a=gpu0,gpu1,#3,#4");
	assert_int_equal(get(w, "u1", "a=gpu1,gpu0,#4,#3"), ATTACH_TAKEN);
	fixture_expect(&w->reader, "");
}

static void an_entry_waits_for_its_pod_in_the_api(void **state)
{
	struct world *w = *state;

	list(w, "a=gpu0");
	assert_int_equal(w->out.unknown, 1);
	fixture_expect(&w->reader, "");
	api(w, "u1", "a", ATTACH_COMING);
	list(w, "a=gpu0");
	assert_int_equal(w->out.unknown, 0);
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
}

static void a_release_is_reported_before_the_next_holder(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a= b=gpu0");
	fixture_expect(&w->reader, "+u1 a=\n+u2 b=gpu0\n");
	list(w, "a=gpu0 b=");
	fixture_expect(&w->reader, "~u2 b=\n~u1 a=gpu0\n");
	api(w, "u1", "a", ATTACH_ENDED);
	list(w, "b=gpu0");
	fixture_expect(&w->reader, "-u1 a\n~u2 b=gpu0\n");
}

static void a_pod_that_ended_stays_as_long_as_the_list_shows_it(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0 b=gpu1");
	fixture_expect(&w->reader, "+u1 a=gpu0\n+u2 b=gpu1\n");
	api(w, "u1", "a", ATTACH_ENDED);
	gone(w, "u2");
	list(w, "a=gpu0 b=gpu1,#2");
	fixture_expect(&w->reader, "~u2 b=gpu1,#2\n");
	assert_false(attach_merge_settled(w->merge, STR("u1")));
	assert_false(attach_merge_settled(w->merge, STR("u2")));
	list(w, "");
	fixture_expect(&w->reader, "-u1 a\n-u2 b\n");
	assert_true(attach_merge_settled(w->merge, STR("u1")));
	assert_true(attach_merge_settled(w->merge, STR("u2")));
}

/* --- a kubelet that has just restarted ---------------------------------------------------- */

static void an_active_pod_survives_lists_without_it_for_the_grace_only(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
	list(w, "");
	w->now += GRACE - 1;
	list(w, "");
	fixture_expect(&w->reader, "");
	list(w, "a=gpu0"); /* it is back: the grace period begins again */
	list(w, "");
	w->now += GRACE - 1;
	list(w, "");
	fixture_expect(&w->reader, "");
	w->now += 1;
	list(w, "");
	fixture_expect(&w->reader, "-u1 a\n");
}

static void a_missing_pod_goes_as_soon_as_the_api_says_that_it_ended(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0 b=gpu1");
	list(w, "");
	fixture_expect(&w->reader, "+u1 a=gpu0\n+u2 b=gpu1\n");
	api(w, "u1", "a", ATTACH_ENDED);
	fixture_expect(&w->reader, "-u1 a\n");
	gone(w, "u2");
	fixture_expect(&w->reader, "-u2 b\n");
}

static void a_missing_pod_gives_up_what_another_is_shown_with(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0,gpu1,#1,#2");
	fixture_expect(&w->reader, "+u1 a=gpu0,gpu1,#1,#2\n");
	list(w, "b=gpu1,#1");
	fixture_expect(&w->reader, "~u1 a=gpu0,#2\n+u2 b=gpu1,#1\n");
	/* The other pod need not be known. */
	list(w, "b=gpu1,#1 stranger=gpu0");
	fixture_expect(&w->reader, "~u1 a=#2\n");
	list(w, "a=gpu0,#2 b=gpu1,#1");
	fixture_expect(&w->reader, "~u1 a=gpu0,#2\n");
}

static void a_missing_pod_gives_up_memory_that_is_not_there_any_more(void **state)
{
	struct world *w = *state;

	w->reader.room = 10;
	attach_merge_allocatable(w->merge, fixture_allocatable(&w->arena, 10));
	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0,m6");
	list(w, "b=m4");
	fixture_expect(&w->reader, "+u1 a=gpu0,m6\n+u2 b=m4\n");
	list(w, "b=m4,m3");
	fixture_expect(&w->reader, "~u1 a=gpu0\n~u2 b=m3,m4\n");
}

/* --- the same name again ------------------------------------------------------------------- */

static void another_pod_of_the_name_follows_the_end_of_the_first(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_COMING);
	list(w, "a=gpu0,gpu1"); /* not the first one's devices */
	fixture_expect(&w->reader, "-u1 a\n+u2 a=gpu0,gpu1\n");
	api(w, "u3", "a", ATTACH_STARTING); /* its predecessor's end was not seen */
	list(w, "a=gpu0,gpu1");
	fixture_expect(&w->reader, "-u2 a\n+u3 a=gpu0,gpu1\n");
}

static void an_answer_from_before_it_was_seen_is_not_the_new_pods(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	attach_merge_begin(w->merge);
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_RUNNING);
	answer(w, "a=gpu0,#4");
	fixture_expect(&w->reader, "+u1 a=gpu0\n~u1 a=gpu0,#4\n");
	list(w, "a=gpu0,#4");
	fixture_expect(&w->reader, "-u1 a\n+u2 a=gpu0,#4\n");
}

static void the_same_content_is_the_first_pods_until_the_kubelet_knows_the_second(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_COMING);
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
	assert_false(attach_merge_settled(w->merge, STR("u2")));
	attach_merge_begin(w->merge);
	api(w, "u2", "a", ATTACH_STARTING); /* while the call is in flight */
	answer(w, "a=gpu0");
	fixture_expect(&w->reader, "");
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "-u1 a\n+u2 a=gpu0\n");
}

static void the_same_content_is_the_second_pods_after_the_grace(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_COMING);
	list(w, "a=gpu0");
	w->now += GRACE;
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0\n-u1 a\n+u2 a=gpu0\n");
}

static void a_pod_that_nobody_saw_leaves_no_trace(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_COMING);
	gone(w, "u2");
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0\n");
	api(w, "u3", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "-u1 a\n+u3 a=gpu0\n");
}

/* The first one was read before it went, the second one after it came. */
static void a_list_with_two_pods_of_a_name_is_torn(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=#2 b=");
	fixture_expect(&w->reader, "+u1 a=#2\n+u2 b=\n");
	gone(w, "u1");
	api(w, "u3", "a", ATTACH_COMING);
	attach_merge_begin(w->merge);
	answer(w, "a=#2 a=#4 b=");
	assert_int_equal(w->out.verdict, ATTACH_TORN);
	assert_string_equal(w->out.why, "pod default/a is listed twice");
	fixture_expect(&w->reader, "");
	list(w, "a=#4 b=#2");
	fixture_expect(&w->reader, "-u1 a\n~u2 b=#2\n+u3 a=#4\n");
}

static void two_pods_of_a_name_that_stay_listed_are_left_alone(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=#2,#3");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_RUNNING);
	api(w, "u3", "b", ATTACH_RUNNING);
	fixture_expect(&w->reader, "+u1 a=#2,#3\n");
	for (int i = 1; i <= TORN_MAX; i++) {
		fixture_expect(&w->reader, "");
		attach_merge_begin(w->merge);
		answer(w, "a=#3 a=#4 b=#2");
	}
	assert_true(w->out.applied);
	fixture_expect(&w->reader, "~u1 a=#3\n+u3 b=#2\n");
	list(w, "a=#4 b=#2");
	fixture_expect(&w->reader, "-u1 a\n+u2 a=#4\n");
}

/* --- contradictions ------------------------------------------------------------------------ */

static void a_torn_list_changes_nothing(void **state)
{
	static const char *const torn[] = { "a=gpu0 b=gpu0", "a=#1 b=gpu0,#1",
					    "a=gpu1 stranger=gpu1" };
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0 b=");
	fixture_expect(&w->reader, "+u1 a=gpu0\n+u2 b=\n");
	for (size_t i = 0; i < ARRAY_SIZE(torn); i++) {
		attach_merge_begin(w->merge);
		answer(w, torn[i]);
		assert_int_equal(w->out.verdict, ATTACH_TORN);
		fixture_expect(&w->reader, "");
	}
	assert_string_equal(
		w->out.why,
		"device gpu1 of example.com/gpu is with default/a and default/stranger");
	list(w, "a= b=gpu0");
	fixture_expect(&w->reader, "~u1 a=\n~u2 b=gpu0\n");
}

static void more_memory_than_there_is_is_torn(void **state)
{
	struct world *w = *state;

	attach_merge_allocatable(w->merge, fixture_allocatable(&w->arena, 10));
	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	attach_merge_begin(w->merge);
	answer(w, "a=m6 b=m5");
	assert_int_equal(w->out.verdict, ATTACH_TORN);
	assert_string_equal(w->out.why, "pods have more memory than there is");
	list(w, "a=m6 b=m4");
	fixture_expect(&w->reader, "+u1 a=m6\n+u2 b=m4\n");
}

static void when_contradictions_do_not_end_the_rest_is_believed(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	api(w, "u3", "c", ATTACH_RUNNING);
	list(w, "a=gpu0,gpu1 b=");
	fixture_expect(&w->reader, "+u1 a=gpu0,gpu1\n+u2 b=\n");
	for (int i = 1; i < TORN_MAX; i++) {
		attach_merge_begin(w->merge);
		answer(w, "a=gpu0 b=gpu0 c=gpu1");
		fixture_expect(&w->reader, "");
	}
	answer(w, "a=gpu0 b=gpu0 c=gpu1");
	assert_int_equal(w->out.verdict, ATTACH_TORN);
	fixture_expect(&w->reader, "~u1 a=gpu0\n+u3 c=gpu1\n");
}

static void containers_of_one_pod_may_show_the_same_thing(void **state)
{
	struct world *w = *state;
	Podresources__ListResponse *l = fixture_list(&w->arena, "a=gpu0,#1 b=gpu1");
	Podresources__PodResources *a = l->pod_resources[0];

	a->containers[a->n_containers++] = fixture_container(&w->arena, STR("gpu0,gpu0,#1"));
	a->cpu_ids = a->containers[0]->cpu_ids;
	a->n_cpu_ids = 1;
	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	attach_merge_begin(w->merge);
	attach_merge_list(w->merge, l, w->now, &w->out);
	assert_int_equal(w->out.verdict, ATTACH_TAKEN);
}

/* --- claims ---------------------------------------------------------------------------------- */

static void pods_of_one_claim_share_its_devices(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=x:gpu0 b=x:gpu0");
	fixture_expect(&w->reader, "+u1 a=x:gpu0\n+u2 b=x:gpu0\n");
}

static void a_device_that_moves_from_claim_to_claim_is_torn(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=x:gpu0 b=");
	fixture_expect(&w->reader, "+u1 a=x:gpu0\n+u2 b=\n");
	attach_merge_begin(w->merge);
	answer(w, "a=x:gpu0 b=y:gpu0");
	assert_int_equal(w->out.verdict, ATTACH_TORN);
	assert_string_equal(w->out.why, "device gpu0 of default/b is with several claims");
	fixture_expect(&w->reader, "");
	list(w, "a= b=y:gpu0");
	fixture_expect(&w->reader, "~u1 a=\n~u2 b=y:gpu0\n");
}

/* As with adminAccess; the order of a kubelet's pods is arbitrary. */
static void a_device_that_stays_with_several_claims_is_believed(void **state)
{
	struct world *w = *state;

	w->reader.admin = true;
	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	api(w, "u3", "c", ATTACH_RUNNING);
	attach_merge_begin(w->merge);
	answer(w, "a=x:gpu0 b=y:gpu0 c=z:gpu0");
	assert_int_equal(w->out.verdict, ATTACH_TORN);
	list(w, "c=z:gpu0 a=x:gpu0 b=y:gpu0");
	fixture_expect(&w->reader, "+u1 a=x:gpu0\n+u2 b=y:gpu0\n+u3 c=z:gpu0\n");
	/* A kubelet that has just started lists few pods. */
	list(w, "b=y:gpu0");
	list(w, "b=y:gpu0 c=z:gpu0 a=x:gpu0");
	assert_int_equal(get(w, "u1", "a=x:gpu0"), ATTACH_TAKEN);
	fixture_expect(&w->reader, "");
}

static void get_of_a_device_that_another_claim_has_is_a_matter_for_list(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=x:gpu0 b=");
	fixture_expect(&w->reader, "+u1 a=x:gpu0\n+u2 b=\n");
	assert_int_equal(get(w, "u2", "b=x:gpu0"), ATTACH_TAKEN);
	fixture_expect(&w->reader, "~u2 b=x:gpu0\n");
	assert_int_equal(get(w, "u2", "b=y:gpu0"), ATTACH_NEEDS_LIST);
	fixture_expect(&w->reader, "");
}

static void a_missing_pod_gives_up_a_device_that_another_claim_has(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=x:gpu0,x:gpu1 b=");
	fixture_expect(&w->reader, "+u1 a=x:gpu0,x:gpu1\n+u2 b=\n");
	list(w, "b=y:gpu0");
	fixture_expect(&w->reader, "~u1 a=x:gpu1\n~u2 b=y:gpu0\n");
}

/* --- Get ------------------------------------------------------------------------------------- */

static void get_tells_of_one_pod(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_COMING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "b=gpu1");
	assert_int_equal(get(w, "u1", NULL), ATTACH_TAKEN);
	assert_int_equal(get(w, "u1", "a="), ATTACH_TAKEN);
	assert_int_equal(get(w, "u1", "a=gpu0"), ATTACH_TAKEN);
	assert_int_equal(get(w, "u9", "z=gpu0"), ATTACH_TAKEN);
	fixture_expect(&w->reader, "+u2 b=gpu1\n+u1 a=\n~u1 a=gpu0\n");
}

static void get_tells_of_another_pod_of_the_same_name(void **state)
{
	struct world *w = *state;

	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	gone(w, "u1");
	api(w, "u2", "a", ATTACH_STARTING);
	assert_int_equal(get(w, "u2", "a=gpu0"), ATTACH_TAKEN);
	fixture_expect(&w->reader, "+u1 a=gpu0\n-u1 a\n+u2 a=gpu0\n");
}

static void a_get_that_contradicts_the_book_causes_a_list(void **state)
{
	struct world *w = *state;

	attach_merge_allocatable(w->merge, fixture_allocatable(&w->arena, 10));
	api(w, "u1", "a", ATTACH_RUNNING);
	api(w, "u2", "b", ATTACH_RUNNING);
	list(w, "a=gpu0,#1,m6 b=");
	fixture_expect(&w->reader, "+u1 a=gpu0,#1,m6\n+u2 b=\n");
	assert_int_equal(get(w, "u2", "b=gpu0"), ATTACH_NEEDS_LIST);
	assert_int_equal(get(w, "u2", "b=#1"), ATTACH_NEEDS_LIST);
	assert_int_equal(get(w, "u2", "b=m5"), ATTACH_NEEDS_LIST);
	assert_int_equal(get(w, "u2", "a=gpu2"), ATTACH_NEEDS_LIST); /* the reply of another pod */
	assert_int_equal(get(w, "u2", NULL), ATTACH_NEEDS_LIST);
	fixture_expect(&w->reader, "");
}

static void get_is_for_pods_that_are_active_and_shown(void **state)
{
	struct world *w = *state;
	struct str ns, name;

	assert_false(attach_merge_asks_get(w->merge, STR("u1"), &ns, &name));
	api(w, "u1", "a", ATTACH_COMING);
	assert_true(attach_merge_asks_get(w->merge, STR("u1"), &ns, &name));
	assert_true(str_eqz(ns, "default") && str_eqz(name, "a"));
	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	assert_true(attach_merge_asks_get(w->merge, STR("u1"), &ns, &name));
	list(w, "");
	assert_false(attach_merge_asks_get(w->merge, STR("u1"), &ns, &name));
	list(w, "a=gpu0");
	api(w, "u1", "a", ATTACH_ENDED);
	assert_false(attach_merge_asks_get(w->merge, STR("u1"), &ns, &name));
}

/* --- other ------------------------------------------------------------------------------------ */

static void a_pod_is_settled_when_it_runs_and_is_shown(void **state)
{
	struct world *w = *state;
	struct str uid = STR_NULL;

	assert_true(attach_merge_settled(w->merge, STR("u1")));
	api(w, "u1", "a", ATTACH_COMING);
	list(w, "a=gpu0");
	assert_false(attach_merge_settled(w->merge, STR("u1")));
	assert_true(attach_merge_next_unsettled(w->merge, &uid));
	assert_true(str_eqz(uid, "u1"));
	api(w, "u1", "a", ATTACH_RUNNING);
	assert_true(attach_merge_settled(w->merge, STR("u1")));
	list(w, "");
	assert_false(attach_merge_settled(w->merge, STR("u1")));
}

/* A device once per NUMA node, several ids in one entry, and fields that we do not know. */
static void content_passes_through_unchanged(void **state)
{
	struct world *w = *state;
	Podresources__PodResources *pod = fixture_pod(&w->arena, STR("a=gpu0,gpu0,#1"));
	Podresources__ContainerDevices *d = pod->containers[0]->devices[1];
	char *ids[] = { fixture_z("gpu0"), fixture_z("gpu7") };
	uint8_t data[] = "\x05later";
	ProtobufCMessageUnknownField field = {
		.tag = 77, .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, .len = 6, .data = data
	};
	Podresources__ListResponse l = PODRESOURCES__LIST_RESPONSE__INIT;
	struct str at = STR_NULL, packed;
	char *sent;
	size_t n;

	d->device_ids = ids;
	d->n_device_ids = 2;
	pod->base.unknown_fields = &field;
	pod->base.n_unknown_fields = 1;
	l.pod_resources = &pod;
	l.n_pod_resources = 1;
	n = podresources__pod_resources__get_packed_size(pod);
	sent = arena_alloc(&w->arena, n);
	(void)podresources__pod_resources__pack(pod, (uint8_t *)sent);
	api(w, "u1", "a", ATTACH_RUNNING);
	attach_merge_begin(w->merge);
	attach_merge_list(w->merge, &l, w->now, &w->out);
	assert_true(podres_next_pod(w->book, &at, &packed));
	assert_int_equal(packed.n, n);
	assert_memory_equal(packed.p, sent, n);
}

static void things_that_the_node_was_not_known_to_have_are_noticed(void **state)
{
	struct world *w = *state;
	Podresources__AllocatableResponse room = PODRESOURCES__ALLOCATABLE_RESPONSE__INIT;
	Podresources__ContainerDevices *gpu = fixture_device(&w->arena, STR("gpu0"));
	Podresources__ListResponse *l = fixture_list(&w->arena, "a=gpu0,#1 b=gpu0");
	int64_t cpu = 1;

	assert_true(attach_merge_foresees(w->merge, l->pod_resources, 2)); /* nothing is known */
	attach_merge_allocatable(w->merge, &room);
	assert_false(attach_merge_foresees(w->merge, l->pod_resources, 2));
	room.devices = &gpu;
	room.n_devices = 1;
	attach_merge_allocatable(w->merge, &room);
	assert_false(attach_merge_foresees(w->merge, l->pod_resources, 2));
	assert_true(attach_merge_foresees(w->merge, l->pod_resources + 1, 1));
	room.cpu_ids = &cpu;
	room.n_cpu_ids = 1;
	attach_merge_allocatable(w->merge, &room);
	assert_true(attach_merge_foresees(w->merge, l->pod_resources, 2));
	/* A device that failed while it was held is not a surprise. */
	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0,#1");
	room.n_devices = 0;
	attach_merge_allocatable(w->merge, &room);
	assert_true(attach_merge_foresees(w->merge, l->pod_resources, 2));
}

static void pods_beyond_the_limit_are_refused(void **state)
{
	struct world *w = *state;
	struct attach_pod_info info = { .ns = STR("default"), .name = STR("x"), .uid = STR("x") };
	struct error err;
	char name[32];

	for (int i = 0; i < NODE_PODS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		api(w, name, name, ATTACH_RUNNING);
	}
	assert_int_equal(attach_merge_pod(w->merge, &info, 0, &err), -ERR_TOO_LARGE);
	gone(w, "p7");
	assert_int_equal(attach_merge_pod(w->merge, &info, 0, &err), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

/* --- additions to the book ---------------------------------------------------------------- */

struct additions {
	unsigned pods, gone;
};

static void add_container(void *arg, struct str uid, Podresources__PodResources *state,
			  struct arena *a)
{
	struct additions *n = arg;

	(void)uid;
	n->gone += !state;
	if (!state)
		return;
	n->pods++;
	state->containers[0] = fixture_container(a, STR("gpu0,added"));
}

static void additions_enter_the_book_and_are_not_compared_with_replies(void **state)
{
	struct world *w = *state;
	struct additions n = { 0 };

	attach_merge_hook(w->merge, &(struct attach_hooks){ .on_pod = add_container, .arg = &n });
	api(w, "u1", "a", ATTACH_RUNNING);
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "+u1 a=gpu0,added\n");
	list(w, "a=gpu0");
	fixture_expect(&w->reader, "");
	assert_int_equal(n.pods, 1);
	gone(w, "u1");
	list(w, "");
	fixture_expect(&w->reader, "-u1 a\n");
	assert_int_equal(n.gone, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pods_come_change_and_go_as_the_list_says),
		TEST(another_order_alone_is_no_change),
		TEST(an_entry_waits_for_its_pod_in_the_api),
		TEST(a_release_is_reported_before_the_next_holder),
		TEST(a_pod_that_ended_stays_as_long_as_the_list_shows_it),
		TEST(an_active_pod_survives_lists_without_it_for_the_grace_only),
		TEST(a_missing_pod_goes_as_soon_as_the_api_says_that_it_ended),
		TEST(a_missing_pod_gives_up_what_another_is_shown_with),
		TEST(a_missing_pod_gives_up_memory_that_is_not_there_any_more),
		TEST(another_pod_of_the_name_follows_the_end_of_the_first),
		TEST(an_answer_from_before_it_was_seen_is_not_the_new_pods),
		TEST(the_same_content_is_the_first_pods_until_the_kubelet_knows_the_second),
		TEST(the_same_content_is_the_second_pods_after_the_grace),
		TEST(a_pod_that_nobody_saw_leaves_no_trace),
		TEST(a_list_with_two_pods_of_a_name_is_torn),
		TEST(two_pods_of_a_name_that_stay_listed_are_left_alone),
		TEST(a_torn_list_changes_nothing),
		TEST(more_memory_than_there_is_is_torn),
		TEST(when_contradictions_do_not_end_the_rest_is_believed),
		TEST(containers_of_one_pod_may_show_the_same_thing),
		TEST(pods_of_one_claim_share_its_devices),
		TEST(a_device_that_moves_from_claim_to_claim_is_torn),
		TEST(a_device_that_stays_with_several_claims_is_believed),
		TEST(get_of_a_device_that_another_claim_has_is_a_matter_for_list),
		TEST(a_missing_pod_gives_up_a_device_that_another_claim_has),
		TEST(get_tells_of_one_pod),
		TEST(get_tells_of_another_pod_of_the_same_name),
		TEST(a_get_that_contradicts_the_book_causes_a_list),
		TEST(get_is_for_pods_that_are_active_and_shown),
		TEST(a_pod_is_settled_when_it_runs_and_is_shown),
		TEST(content_passes_through_unchanged),
		TEST(things_that_the_node_was_not_known_to_have_are_noticed),
		TEST(pods_beyond_the_limit_are_refused),
		TEST(additions_enter_the_book_and_are_not_compared_with_replies),
	};

	return cmocka_run_group_tests_name("node/attach_merge", tests, NULL, NULL);
}

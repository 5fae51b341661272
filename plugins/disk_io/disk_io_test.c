/*
 * The plugin with the small host of disk_io_fixture.h.
 */
#include "disk_io_fixture.h"

/* --- what is left ---------------------------------------------------------------------------- */

static void a_request_is_kept_free_while_its_pod_rests(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *p = pod("a", NULL, "40Mi", NULL);

	(void)add_device(o, "sda", 100, 100);
	tell(w, o);
	place(w, "n1", p);
	assert_int_equal(left(w, "n1"), 60 * MIB);
	assert_int_equal(w->type.remove_pod(node_at(w, "n1")->resource, p), 0);
	assert_int_equal(left(w, "n1"), 100 * MIB);
	assert_int_not_equal(w->type.remove_pod(node_at(w, "n1")->resource, p), 0);
	free(p);
}

static void use_of_pods_is_held_against_what_they_asked_for(void **state)
{
	static const struct use uses[] = {
		{ "u-asks", 0, 30 }, { "u-greedy", 0, 50 }, { "u-quiet", 0, 7 }, { "u-gone", 0, 5 }
	};
	struct world *w = *state;
	struct dp_object *asks = pod("u-asks", NULL, "40Mi", NULL);
	struct dp_object *greedy = pod("u-greedy", NULL, "20Mi", NULL);
	struct dp_object *quiet = pod("u-quiet", NULL, NULL, NULL);
	struct dp_object *o = status("n1");

	/* 92 of pods and 8 of nobody's. */
	add_use(o, add_device(o, "sda", 0, 200), 100, uses, COUNT(uses));
	tell(w, o);
	place(w, "n1", asks);
	place(w, "n1", greedy);
	place(w, "n1", quiet);
	/* 40 asked, 50 used, 7 used, 8 of nobody's; the one that is gone does not count. */
	assert_int_equal(left(w, "n1"), (200 - 40 - 50 - 7 - 8) * MIB);
	/* A victim of preemption leaves what it used. */
	assert_int_equal(w->type.remove_pod(node_at(w, "n1")->resource, greedy), 0);
	assert_int_equal(left(w, "n1"), (200 - 40 - 7 - 8) * MIB);
	assert_int_equal(w->type.remove_pod(node_at(w, "n1")->resource, quiet), 0);
	assert_int_equal(left(w, "n1"), (200 - 40 - 8) * MIB);
	free(asks);
	free(greedy);
	free(quiet);
}

static void use_that_is_nobody_s_may_be_that_of_requests_where_pods_are_not_told_apart(void **state)
{
	struct world *w = *state;
	struct dp_object *p = pod("a", NULL, "40Mi", NULL), *o = status("n1");

	add_use(o, add_device(o, "sda", 0, 100), 30, NULL, 0);
	tell(w, o);
	assert_int_equal(left(w, "n1"), 70 * MIB);
	place(w, "n1", p);
	assert_int_equal(left(w, "n1"), 60 * MIB);
	free(p);
}

static void more_than_there_is_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct dp_object *p = pod("a", NULL, "9223372036854775807", NULL);
	struct dp_object *q = pod("b", NULL, "9223372036854775807", NULL), *o = status("n1");

	(void)add_device(o, "sda", 0, 100);
	tell(w, o);
	place(w, "n1", p);
	place(w, "n1", q);
	assert_int_equal(left(w, "n1"), 0);
	free(p);
	free(q);
}

static void pods_with_the_same_annotations_are_counted_apart(void **state)
{
	struct world *w = *state;
	struct dp_object *large = pod("a-1", NULL, "80Mi", NULL), *o = status("n1");
	struct dp_object *small = pod("a-2", NULL, "10Mi", NULL);

	put(large, "same", "kubernetes.io/config.hash");
	put(small, "same", "kubernetes.io/config.hash");
	(void)add_device(o, "sda", 0, 100);
	tell(w, o);
	place(w, "n1", large);
	place(w, "n1", small);
	assert_int_equal(w->type.remove_pod(node_at(w, "n1")->resource, small), 0);
	assert_int_equal(left(w, "n1"), 20 * MIB);
	assert_tried(w, pod("x", NULL, "80Mi", NULL), "n1", DP_UNSCHEDULABLE,
		     "Insufficient disk write bandwidth");
	free(large);
	free(small);
}

static void use_of_static_pods_counts_and_belongs_to_no_pod(void **state)
{
	static const struct use uses[] = { { "0123456789abcdef0123456789abcdef", 0, 30 } };
	struct world *w = *state;
	struct dp_object *p = pod("a-1", NULL, "40Mi", NULL), *o = status("n1");

	put(p, uses[0].uid, "kubernetes.io/config.hash");
	add_use(o, add_device(o, "sda", 0, 100), 30, uses, 1);
	tell(w, o);
	assert_int_equal(left(w, "n1"), 70 * MIB);
	place(w, "n1", p);
	assert_int_equal(left(w, "n1"), 30 * MIB);
	free(p);
}

/* --- decisions ------------------------------------------------------------------------------- */

static void pods_fit_where_enough_is_left(void **state)
{
	static const char reads[] = "Insufficient disk read bandwidth";
	static const char writes[] = "Insufficient disk write bandwidth";
	struct world *w = *state;
	struct dp_object *o = status("n1"), *p = pod("there", "60Mi", "60Mi", NULL);

	(void)add_device(o, "sda", 100, 100);
	(void)add_device(o, "sdb", 0, 50);
	tell(w, o);
	place(w, "n1", p);
	assert_tried(w, pod("x", "40Mi", "40Mi", NULL), "n1", DP_SUCCESS, "");
	assert_tried(w, pod("x", "41Mi", NULL, NULL), "n1", DP_UNSCHEDULABLE, reads);
	assert_tried(w, pod("x", "1Mi", "41Mi", NULL), "n1", DP_UNSCHEDULABLE, writes);
	assert_tried(w, pod("x", "101Mi", NULL, NULL), "n1", DP_UNRESOLVABLE, reads);
	assert_tried(w, pod("x", NULL, "101Mi", NULL), "n1", DP_UNRESOLVABLE, writes);
	assert_tried(w, pod("x", NULL, "50Mi", "sdb"), "n1", DP_SUCCESS, "");
	assert_tried(w, pod("x", "1", NULL, "sdb"), "n1", DP_UNRESOLVABLE, reads);
	assert_tried(w, pod("x", "1", NULL, "sdc"), "n1", DP_UNRESOLVABLE, "Disk device not found");
	assert_tried(w, pod("x", "1", NULL, NULL), "n2", DP_UNRESOLVABLE,
		     "Disk bandwidth not published");
	assert_int_equal(try_on(w, pod("x", NULL, NULL, NULL), "n2", NULL), DP_SKIP);
	assert_int_equal(try_on(w, pod("x", "0", NULL, "sda"), "n2", NULL), DP_SKIP);
	free(p);
}

static void an_annotation_that_is_no_quantity_is_told(void **state)
{
	struct world *w = *state;

	assert_tried(
		w, pod("x", "fast", NULL, NULL), "n1", DP_UNRESOLVABLE,
		"annotation diskio.devplane.dev/read-bps: \"fast\" is not a quantity of bytes per "
		"second");
	assert_tried(
		w, pod("x", NULL, "-1", NULL), "n1", DP_UNRESOLVABLE,
		"annotation diskio.devplane.dev/write-bps: \"-1\" is not a quantity of bytes per "
		"second");
}

static int64_t score_of(struct world *w, const char *node, const char *read, const char *write)
{
	struct dp_reason why = { .size = sizeof(why) };
	struct dp_object *o = pod("x", read, write, NULL);
	struct dp_cycle c = { 0 };
	int64_t v = -1;

	assert_int_equal(w->plugin->pre_filter(w->state, &c, o, &why), DP_SUCCESS);
	assert_int_equal(w->plugin->pre_score(w->state, &c, o, &why), DP_SUCCESS);
	assert_int_equal(w->plugin->score(w->state, &c, o, node_at(w, node), &v, &why), DP_SUCCESS);
	free(o);
	return v;
}

static void the_score_is_the_share_that_is_left(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1");

	(void)add_device(o, "sda", 100, 200);
	tell(w, o);
	assert_int_equal(score_of(w, "n1", "25Mi", NULL), 75);
	assert_int_equal(score_of(w, "n1", "100Mi", NULL), 0);
	assert_int_equal(score_of(w, "n1", "50Mi", "50Mi"), 62);
	o = status("n2");
	(void)add_device(o, "sda", 1000, 200);
	tell(w, o);
	assert_true(score_of(w, "n2", "25Mi", NULL) > score_of(w, "n1", "25Mi", NULL));
	assert_int_equal(score_of(w, "n3", "25Mi", NULL), 0);
}

static void admitting_tells_the_direction_in_which_least_is_left(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *p = pod("x", "10Mi", "20Mi", NULL);
	int64_t requested, available;

	(void)add_device(o, "sda", 100, 105);
	tell(w, o);
	w->type.admit_pod(node_at(w, "n1")->resource, p, &requested, &available);
	assert_int_equal(requested, 20 * MIB);
	assert_int_equal(available, 105 * MIB);
	free(p);
}

/* --- the cache ------------------------------------------------------------------------------- */

static void a_new_word_of_the_driver_keeps_the_pods(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *p = pod("a", NULL, "40Mi", NULL);

	(void)add_device(o, "sda", 0, 100);
	tell(w, o);
	place(w, "n1", p);
	o = status("n1");
	(void)add_device(o, "sda", 0, 90);
	tell(w, o);
	assert_int_equal(left(w, "n1"), 50 * MIB);
	/* The primary is another one now, and the request goes along. */
	o = status("n1");
	(void)add_device(o, "sdb", 0, 70);
	(void)add_device(o, "sda", 0, 90);
	tell(w, o);
	assert_int_equal(left(w, "n1"), 30 * MIB);
	free(p);
}

static void what_is_not_news_wakes_nobody(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *again = status("n1");

	(void)add_device(o, "sda", 0, 100);
	(void)add_device(again, "sda", 0, 100);
	put(again, "2006-01-02T15:04:05Z", "/status/observedTime");
	w->watch.on_add(w->watch.arg, o);
	assert_int_equal(w->changes, 1);
	w->watch.on_update(w->watch.arg, o, again);
	assert_int_equal(w->changes, 1);
	put(again, "1048576", "/status/devices/0/used/writeBytesPerSecond");
	w->watch.on_update(w->watch.arg, o, again);
	assert_int_equal(w->changes, 2);
	w->watch.on_delete(w->watch.arg, again);
	assert_int_equal(w->changes, 3);
	assert_null(node_at(w, "n1")->resource);
	free(o);
	free(again);
}

static void an_object_that_moves_to_another_node_leaves_the_first(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *moved = status("n2");

	(void)add_device(o, "sda", 0, 100);
	(void)add_device(moved, "sda", 0, 100);
	w->watch.on_add(w->watch.arg, o);
	w->watch.on_update(w->watch.arg, o, moved);
	assert_null(node_at(w, "n1")->resource);
	assert_int_equal(left(w, "n2"), 100 * MIB);
	free(o);
	free(moved);
}

static void only_pods_that_had_asked_wake_others_when_they_go(void **state)
{
	struct world *w = *state;
	struct dp_object *asked = pod("a", NULL, "1", NULL), *quiet = pod("b", NULL, NULL, NULL);
	const struct dp_event_interest *i = &w->plugin->interests[0];

	assert_string_equal(i->resource, "Pod");
	assert_int_equal(i->hint(w->state, quiet, asked, NULL), 1);
	assert_int_equal(i->hint(w->state, asked, quiet, NULL), 0);
	assert_string_equal(w->plugin->interests[1].resource, TYPE);
	free(asked);
	free(quiet);
}

static void the_cache_shows_it_as_json(void **state)
{
	struct world *w = *state;
	struct dp_object *o = status("n1"), *p = pod("a", NULL, "1", NULL);
	struct dp_sink out = { .n = 0 };

	(void)add_device(o, "sda", 0, 1);
	tell(w, o);
	place(w, "n1", p);
	w->type.describe(node_at(w, "n1")->resource, &out);
	out.text[out.n] = 0;
	assert_string_equal(out.text,
			    "{\"pods\":1,\"devices\":[{\"name\":\"sda\",\"primary\":true,"
			    "\"attributed\":false,\"read\":{\"capacity\":0,\"used\":0,"
			    "\"committed\":0,\"available\":0},\"write\":{\"capacity\":1048576,"
			    "\"used\":0,\"committed\":1,\"available\":1048575}}]}");
	free(p);
}

/* --- any order ------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static struct disk_devices *some_devices(uint64_t *seed)
{
	struct disk_devices *d = disk_devices_new(2);

	for (size_t i = 0; i < d->n; i++) {
		(void)snprintf(d->v[i].name, sizeof(d->v[i].name), "sd%c", (char)('a' + i));
		d->v[i].primary = i == 0;
		d->v[i].attributed = next_random(seed) % 2;
		for (int x = 0; x < DISK_DIRECTIONS; x++) {
			d->v[i].capacity[x] = (int64_t)(next_random(seed) % 1000);
			d->v[i].used[x] = (int64_t)(next_random(seed) % 300);
		}
		for (uint64_t p = 0; p < 6; p++) {
			struct disk_use u = { .pod = p * 3, .rate = { (int64_t)p, 9 } };

			disk_device_add_use(&d->v[i], &u);
		}
	}
	return d;
}

static void assert_same(const struct disk_node *a, const struct disk_node *b)
{
	const struct disk_devices *d = disk_node_devices(a);

	assert_int_equal(disk_node_pods(a), disk_node_pods(b));
	for (size_t i = 0; i < d->n; i++)
		for (int x = 0; x < DISK_DIRECTIONS; x++)
			assert_int_equal(disk_node_committed(a, &d->v[i], (enum disk_direction)x),
					 disk_node_committed(b, &d->v[i], (enum disk_direction)x));
}

static struct disk_request some_request(uint64_t pod)
{
	struct disk_request r = { { (int64_t)(pod % 4) * 10, (int64_t)(pod % 3) * 7 }, "" };

	if (pod % 5 == 0)
		(void)snprintf(r.device, sizeof(r.device), "sdb");
	return r;
}

static void whatever_comes_and_goes_what_is_left_is_that_of_the_pods_that_are_there(void **state)
{
	uint64_t seed = 4187;
	bool there[20] = { 0 };
	struct disk_devices *d = some_devices(&seed);
	struct disk_node *n = disk_node_new(d);

	(void)state;
	for (int step = 0; step < 5000; step++) {
		uint64_t p = next_random(&seed) % COUNT(there);
		struct disk_request r = some_request(p);
		struct disk_node *copy = disk_node_clone(n), *fresh;

		if (there[p])
			assert_true(disk_node_remove(n, p));
		else
			disk_node_add(n, p, &r);
		there[p] = !there[p];
		if (step % 100 == 0) {
			disk_devices_unref(d);
			d = some_devices(&seed);
			disk_node_set_devices(n, d);
		}
		fresh = disk_node_new(d);
		for (uint64_t i = 0; i < COUNT(there); i++) {
			r = some_request(i);
			if (there[i])
				disk_node_add(fresh, i, &r);
		}
		assert_same(n, fresh);
		/* The copy is of before. */
		assert_int_not_equal(disk_node_pods(copy), disk_node_pods(n));
		disk_node_free(copy);
		disk_node_free(fresh);
	}
	disk_node_free(n);
	disk_devices_unref(d);
}

static void arguments_are_refused_as_there_are_none(void **state)
{
	struct world *w = *state;
	struct dp_reason why = { .size = sizeof(why) };
	void *other;

	assert_int_not_equal(w->plugin->init(&w->host, "{\"a\":1}", &other, &why), 0);
	assert_string_equal(why.text, "DiskIO takes no arguments");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_request_is_kept_free_while_its_pod_rests),
		T(use_of_pods_is_held_against_what_they_asked_for),
		T(use_that_is_nobody_s_may_be_that_of_requests_where_pods_are_not_told_apart),
		T(more_than_there_is_leaves_nothing),
		T(pods_with_the_same_annotations_are_counted_apart),
		T(use_of_static_pods_counts_and_belongs_to_no_pod),
		T(pods_fit_where_enough_is_left),
		T(an_annotation_that_is_no_quantity_is_told),
		T(the_score_is_the_share_that_is_left),
		T(admitting_tells_the_direction_in_which_least_is_left),
		T(a_new_word_of_the_driver_keeps_the_pods),
		T(what_is_not_news_wakes_nobody),
		T(an_object_that_moves_to_another_node_leaves_the_first),
		T(only_pods_that_had_asked_wake_others_when_they_go),
		T(the_cache_shows_it_as_json),
		cmocka_unit_test(
			whatever_comes_and_goes_what_is_left_is_that_of_the_pods_that_are_there),
		T(arguments_are_refused_as_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The assignment log: devices, pods, replies, changes.
 */
#include "node/assign/assign_fixture.h"

#define RECORD_MAX 4096

/* Records changes: "P:uid ", "I ", "H:uid:id ", "C ". */
struct recorder {
	struct assign_watcher w;
	char text[RECORD_MAX];
	size_t n;
	uint64_t last;
};

static void record(struct assign_watcher *w, const struct assign_change *c)
{
	struct recorder *r = CONTAINER_OF(w, struct recorder, w);
	char *at = r->text + r->n;
	size_t room = RECORD_MAX - r->n;

	assert_int_equal(c->revision, r->last + 1);
	r->last = c->revision;
	switch (c->type) {
	case ASSIGN_POD:
		r->n += (size_t)snprintf(at, room, "P:%.*s ", STR_ARG(c->pod_uid));
		break;
	case ASSIGN_INVENTORY:
		r->n += (size_t)snprintf(at, room, "I ");
		break;
	case ASSIGN_DEVICE_HEALTH:
		r->n += (size_t)snprintf(at, room, "H:%.*s:%.*s ", STR_ARG(c->pod_uid),
					 STR_ARG(c->id));
		break;
	case ASSIGN_SHARED_CPUS:
		r->n += (size_t)snprintf(at, room, "S ");
		break;
	case ASSIGN_CLAIM:
		r->n += (size_t)snprintf(at, room, "C ");
		break;
	}
}

static void watch(struct fixture *f, struct recorder *r)
{
	*r = (struct recorder){ .w.on_change = record, .last = assign_revision(f->s) };
	assign_add_watcher(f->s, &r->w);
}

static void expect(struct recorder *r, const char *want)
{
	assert_string_equal(r->text, want);
	r->n = 0;
	r->text[0] = '\0';
}

static void counts(struct fixture *f, int64_t capacity, int64_t allocatable)
{
	struct str at = STR_NULL;
	int64_t c, a;

	assert_true(assign_next_resource(f->s, &at, &c, &a));
	assert_true(str_eqz(at, GPU));
	assert_int_equal(c, capacity);
	assert_int_equal(a, allocatable);
	assert_false(assign_next_resource(f->s, &at, &c, &a));
}

static void devices_are_held_until_the_pod_ends(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct recorder r;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	watch(&f, &r);
	fixture_list(&f, GPU, "abc", ASSIGN_HEALTHY);
	p = fixture_run(&f, "p", 2);
	expect(&r, "I P:p ");
	assert_string_equal(fixture_uses(&f, "p"), "main:ab");
	assert_int_equal(fixture_admit(&f, fixture_pod(&f, "q", "", fixture_gpus(&f, "m", 2))),
			 -ERR_INVALID);
	assert_string_equal(f.io.reason, "UnexpectedAdmissionError");
	assert_string_equal(f.err.msg, "requested number of devices unavailable for " GPU
				       ". Requested: 2, Available: 1");
	assert_false(assign_has_pod(f.s, STR("q")));
	expect(&r, "");
	assign_end_pod(f.s, STR("p"));
	assign_end_pod(f.s, STR("p"));
	expect(&r, "P:p ");
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_true(f.io.ended);
	fixture_run(&f, "q", 2);
	assert_false(f.io.ended);
	assert_string_equal(fixture_uses(&f, "q"), "main:ab");
	assert_string_equal(fixture_uses(&f, "p"), "main:ab");
	assign_forget_pod(f.s, STR("p"));
	expect(&r, "P:q P:p ");
	assert_string_equal(fixture_uses(&f, "p"), "");
}

static void pods_hear_that_a_device_they_hold_is_elsewhere(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	const int64_t node = 1;
	struct assign_device v[] = {
		{ .id = STR("a"), .numa = &node, .nnuma = 1, .has_topology = true },
		{ .id = STR("b") },
	};
	struct recorder r;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	fixture_run(&f, "p", 2);
	watch(&f, &r);
	assign_set_resource(f.s, STR(GPU), v, ARRAY_SIZE(v));
	expect(&r, "P:p I ");
	assign_set_resource(f.s, STR(GPU), v, ARRAY_SIZE(v));
	expect(&r, "");
	assign_end_pod(f.s, STR("p"));
	expect(&r, "P:p ");
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	expect(&r, "I ");
}

static void only_devices_that_changed_are_told(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_device v[1000];
	char ids[1000][8];
	struct recorder r;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "d%03d", i);
		v[i] = (struct assign_device){ .id = str_from(ids[i]) };
	}
	assign_set_resource(f.s, STR(GPU), v, 1000);
	fixture_run(&f, "p", 3);
	watch(&f, &r);
	assign_set_resource(f.s, STR(GPU), v, 1000);
	expect(&r, "");
	v[1].health = ASSIGN_UNHEALTHY;
	v[1].message = STR("hot");
	v[500].health = ASSIGN_UNHEALTHY;
	assign_set_resource(f.s, STR(GPU), v, 1000);
	expect(&r, "H:p:d001 H::d500 I ");
	counts(&f, 1000, 998);
	v[1].message = STR("hotter");
	assign_set_resource(f.s, STR(GPU), v, 1000);
	expect(&r, "H:p:d001 ");
	/* A held device and a free one are missing from the list. */
	assign_set_resource(f.s, STR(GPU), v + 1, 998);
	expect(&r, "H:p:d000 I ");
	counts(&f, 998, 996);
}

static void of_ids_that_repeat_the_first_counts(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_device v[] = { { .id = STR("a"), .health = ASSIGN_UNHEALTHY },
				     { .id = STR("a"), .health = ASSIGN_HEALTHY },
				     { .id = STR(""), .health = ASSIGN_HEALTHY },
				     { .id = STR("\xff"), .health = ASSIGN_HEALTHY } };
	enum assign_health h;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	assign_set_resource(f.s, STR(GPU), v, 4);
	counts(&f, 1, 0);
	assert_true(assign_device_health(f.s, STR(GPU), STR("a"), &h, NULL));
	assert_int_equal(h, ASSIGN_UNHEALTHY);
	assign_set_resource(f.s, STR(GPU), v, 4);
	counts(&f, 1, 0);
}

static void a_plugin_that_goes_leaves_unknown_devices(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	enum assign_health h = ASSIGN_HEALTHY;
	struct str message;
	struct recorder r;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	fixture_run(&f, "p", 1);
	watch(&f, &r);
	assign_resource_gone(f.s, STR(GPU));
	assign_resource_gone(f.s, STR(GPU));
	expect(&r, "H:p:a H::b I ");
	counts(&f, 2, 0);
	assert_true(assign_device_health(f.s, STR(GPU), STR("a"), &h, &message));
	assert_int_equal(h, ASSIGN_UNKNOWN);
	assert_int_equal(fixture_admit(&f, fixture_pod(&f, "q", "", fixture_gpus(&f, "m", 1))),
			 -ERR_INVALID);
	assert_non_null(strstr(f.err.msg, "no healthy devices present; cannot allocate unhealthy "
					  "devices " GPU));
	assign_drop_resource(f.s, STR(GPU));
	expect(&r, "I ");
	assert_false(assign_has_resource(f.s, STR(GPU)));
	assert_int_equal(fixture_admit(&f, fixture_pod(&f, "q", "", fixture_gpus(&f, "m", 1))),
			 -ERR_INVALID);
	assert_non_null(strstr(f.err.msg, "cannot allocate unregistered device " GPU));
	assert_string_equal(fixture_uses(&f, "p"), "main:a");
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	expect(&r, "H:p:a I ");
	fixture_run(&f, "q", 1);
	assert_string_equal(fixture_uses(&f, "q"), "main:b");
}

static void health_of_a_pod_that_has_ended_is_told(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct recorder r;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "a", ASSIGN_HEALTHY);
	fixture_run(&f, "p", 1);
	assign_end_pod(f.s, STR("p"));
	fixture_run(&f, "q", 1);
	watch(&f, &r);
	fixture_list(&f, GPU, "a", ASSIGN_UNHEALTHY);
	expect(&r, "H:p:a H:q:a I ");
	assign_forget_pod(f.s, STR("p"));
	fixture_list(&f, GPU, "a", ASSIGN_HEALTHY);
	expect(&r, "P:p H:q:a I ");
}

static void init_containers_leave_their_devices_to_later_ones(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	p = fixture_pod(
		&f, "p",
		arena_printf(&f.a,
			     "%s,%s,{\"name\":\"side\",\"restartPolicy\":\"Always\","
			     "\"resources\":{\"limits\":{\"" GPU "\":1}}}",
			     fixture_gpus(&f, "i1", 1), fixture_gpus(&f, "i2", 2)),
		arena_printf(&f.a, "%s,%s", fixture_gpus(&f, "m1", 1), fixture_gpus(&f, "m2", 2)));
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_string_equal(fixture_uses(&f, "p"), "i1:a i2:ab side:a m1:b m2:cd");
	assert_int_equal(fixture_admit(&f, p), 0);
}

static bool wanted(void *arg, struct str resource)
{
	return str_eqz(resource, GPU) && arg;
}

static void a_plugin_is_asked_for_its_wish(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct str ids[] = { STR("d"), STR("zz"), STR("b") };
	struct pod *p;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	f.io.wants_preferred = wanted;
	f.io.arg = &f;
	p = fixture_pod(&f, "p", "", fixture_gpus(&f, "m", 3));
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_true(f.io.waiting);
	assert_false(assign_has_pod(f.s, STR("p")));
	assert_int_equal(f.io.wish.navailable, 4);
	assert_int_equal(f.io.wish.nmust, 0);
	assert_int_equal(f.io.wish.size, 3);
	assign_prefer(f.s, p->uid, &f.io.wish, ids, 3);
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_false(f.io.waiting);
	assert_string_equal(fixture_uses(&f, "p"), "m:abd");
}

static void answers_are_asked_for_and_kept(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_request q;
	struct str at = STR_NULL, packed;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	fixture_list(&f, "x.com/nic", "n", ASSIGN_HEALTHY);
	assert_int_equal(
		fixture_admit(&f, fixture_pod(&f, "p", "",
					      fixture_container(&f, "m",
								"\"x.com/nic\":1,\"" GPU "\":2"))),
		0);
	assert_true(assign_next_request(f.s, STR("p"), &f.a, &q));
	assert_true(str_eqz(q.resource, GPU) && q.nids == 2 && str_eqz(q.ids[1], "b"));
	assign_set_answer(f.s, STR("p"), STR("m"), q.resource, STR("one\0two"));
	assert_true(assign_next_request(f.s, STR("p"), &f.a, &q));
	assert_true(str_eqz(q.resource, "x.com/nic"));
	assert_true(assign_next_answer(f.s, STR("p"), STR("m"), &at, &packed, &f.a, &q));
	assert_true(str_eq(packed, STR("one\0two")) && str_eqz(at, GPU));
	assert_false(assign_next_answer(f.s, STR("p"), STR("m"), &at, &packed, &f.a, &q));
	assign_set_answer(f.s, STR("p"), STR("m"), STR("x.com/nic"), STR(""));
	assert_false(assign_next_request(f.s, STR("p"), &f.a, &q));
	assert_true(assign_next_answer(f.s, STR("p"), STR("m"), &at, &packed, &f.a, &q));
	assert_int_equal(packed.n, 0);
}

static void a_resource_backed_by_a_claim_needs_no_plugin(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct pod *p = NULL;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "a", ASSIGN_HEALTHY);
	assert_int_equal(
		pod_parse(
			STR("{\"metadata\":{\"name\":\"p\",\"uid\":\"p\"},\"spec\":{\"containers\":"
			    "[{\"name\":\"m\",\"resources\":{\"limits\":{\"" GPU "\":1,"
			    "\"other.com/x\":5,\"cpu\":1}}}]},\"status\":"
			    "{\"extendedResourceClaimStatus\":{\"requestMappings\":[{"
			    "\"containerName\":\"m\",\"resourceName\":\"" GPU "\"}]}}}"),
			&p, NULL),
		0);
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_string_equal(fixture_uses(&f, "p"), "");
	assert_true(assign_has_pod(f.s, STR("p")));
	pod_unref(p);
}

static void a_request_that_changed_is_refused(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	fixture_init(&f, (struct assign_opts){ 0 }, 2, 1);
	fixture_list(&f, GPU, "abc", ASSIGN_HEALTHY);
	fixture_run(&f, "p", 2);
	assign_resource_gone(f.s, STR(GPU));
	fixture_run(&f, "p", 2);
	assert_int_equal(fixture_admit(&f, fixture_pod(&f, "p", "", fixture_gpus(&f, "main", 1))),
			 -ERR_INVALID);
	assert_non_null(strstr(f.err.msg, "pod \"p\" container \"main\" changed request for "
					  "resource \"" GPU "\" from 2 to 1"));
	assert_string_equal(fixture_uses(&f, "p"), "main:ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_are_held_until_the_pod_ends),
		cmocka_unit_test(pods_hear_that_a_device_they_hold_is_elsewhere),
		cmocka_unit_test(only_devices_that_changed_are_told),
		cmocka_unit_test(of_ids_that_repeat_the_first_counts),
		cmocka_unit_test(a_plugin_that_goes_leaves_unknown_devices),
		cmocka_unit_test(health_of_a_pod_that_has_ended_is_told),
		cmocka_unit_test(init_containers_leave_their_devices_to_later_ones),
		cmocka_unit_test(a_plugin_is_asked_for_its_wish),
		cmocka_unit_test(answers_are_asked_for_and_kept),
		cmocka_unit_test(a_resource_backed_by_a_claim_needs_no_plugin),
		cmocka_unit_test(a_request_that_changed_is_refused),
	};

	return cmocka_run_group_tests_name("node/assign", tests, NULL, NULL);
}

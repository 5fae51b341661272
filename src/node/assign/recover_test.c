/*
 * A lost log: devices named in statuses of pods are held again, and no pod gets devices in doubt.
 */
#include "node/assign/assign_fixture.h"

/* The pod as an earlier agent left it: its status names these devices of one container. */
static struct pod *left(struct fixture *f, const char *uid, int gpus, const char *entries)
{
	struct pod *p = NULL;
	char *text = arena_printf(
		&f->a,
		"{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"uid\":\"%s\"},"
		"\"spec\":{\"containers\":[%s]},\"status\":{\"phase\":\"Running\","
		"\"containerStatuses\":[{\"name\":\"main\",\"allocatedResourcesStatus\":["
		"{\"name\":\"claim:x\",\"resources\":[{\"resourceID\":\"a/b/c\"}]},"
		"{\"name\":\"" GPU "\",\"resources\":[%s]}]}]}}",
		uid, uid, fixture_gpus(f, "main", gpus), entries);

	if (pod_parse(str_from(text), &p, &f->err) < 0)
		fail_msg("%s: %s", f->err.msg, text);
	arena_hold(&f->a, (void (*)(void *))pod_unref, p);
	return p;
}

#define ID(id) "{\"resourceID\":\"" id "\",\"health\":\"Healthy\"}"

static struct assign_recovery recover(struct fixture *f, const struct pod *p)
{
	struct assign_recovery got;

	assign_recover(f->s, p, NULL, &f->a, &got);
	return got;
}

/* The same when the runtime was listed, and says that of the pod's containers. */
static struct assign_recovery recover_running(struct fixture *f, const struct pod *p,
					      const char *running)
{
	struct assign_recovery got;
	struct json *v;

	assert_int_equal(json_parse(&f->a, str_from(running), NULL, &v, NULL), 0);
	assign_recover(f->s, p, v, &f->a, &got);
	return got;
}

static void devices_that_a_status_names_are_held_and_asked_for_again(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_request request;
	struct assign_recovery got;
	struct pod *p;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	p = left(&f, "p", 2, ID("c") "," ID("a"));
	got = recover(&f, p);
	assert_true(str_eqz(got.held, GPU ": a, c"));
	assert_int_equal(got.doubt.n, 0);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_false(f.io.doubt);
	assert_string_equal(fixture_uses(&f, "p"), "main:ac");
	assert_true(assign_next_request(f.s, STR("p"), &f.a, &request));
	assert_int_equal(request.nids, 2);
	(void)fixture_run(&f, "q", 2);
	assert_string_equal(fixture_uses(&f, "q"), "main:bd");
	/* Again, or for a pod that the log has: no effect. */
	got = recover(&f, p);
	assert_int_equal(got.held.n + got.doubt.n, 0);
}

static void a_resource_in_doubt_is_given_to_nobody(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_recovery got;
	struct pod *p, *q;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	p = left(&f, "p", 2, ID("a"));
	got = recover(&f, p);
	assert_true(str_eqz(got.held, GPU ": a"));
	assert_true(str_eqz(got.doubt, GPU));
	assert_true(assign_in_doubt(f.s, STR("p")));
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_true(f.io.doubt);
	q = fixture_pod(&f, "q", "", fixture_gpus(&f, "main", 1));
	assert_int_equal(fixture_admit(&f, q), -ERR_INVALID);
	assert_non_null(strstr(f.err.msg, "may be in use by pod ns/p"));
	/* Its containers have ended: it gets devices like a new pod. */
	assign_settle_doubt(f.s, STR("p"));
	assert_int_equal(fixture_admit(&f, q), 0);
	assert_string_equal(fixture_uses(&f, "q"), "main:a");
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_string_equal(fixture_uses(&f, "p"), "main:bc");
}

static void a_device_that_two_statuses_name_is_held_once(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	(void)recover(&f, left(&f, "p", 1, ID("a")));
	(void)recover(&f, left(&f, "q", 1, ID("a")));
	(void)recover(&f, left(&f, "r", 2, ID("b") "," ID("b")));
	assert_string_equal(fixture_uses(&f, "p"), "main:a");
	assert_string_equal(fixture_uses(&f, "q"), "");
	assert_false(assign_in_doubt(f.s, STR("p")));
	assert_true(assign_in_doubt(f.s, STR("q")));
	assert_true(assign_in_doubt(f.s, STR("r")));
	/* The end of a pod ends its doubt. */
	assign_end_pod(f.s, STR("q"));
	assign_forget_pod(f.s, STR("r"));
	fixture_list(&f, GPU, "ab", ASSIGN_HEALTHY);
	(void)fixture_run(&f, "s", 1);
	assert_string_equal(fixture_uses(&f, "s"), "main:b");
}

static void the_runtime_ends_a_doubt(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_recovery got;
	struct pod *p;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_list(&f, GPU, "abcd", ASSIGN_HEALTHY);
	p = left(&f, "p", 2, ID("a"));
	got = recover(&f, p);
	assert_true(str_eqz(got.doubt, GPU));
	/* It knows nothing of the container, or not enough: the doubt stays. */
	got = recover_running(&f, p, "{}");
	assert_true(str_eqz(got.held, GPU ": a"));
	assert_true(str_eqz(got.doubt, GPU));
	got = recover_running(&f, p, "{\"main\":{\"" GPU "\":[\"c\",1]}}");
	assert_true(assign_in_doubt(f.s, STR("p")));
	got = recover_running(&f, p, "{\"main\":{\"" GPU "\":[\"d\",\"c\"]}}");
	assert_true(str_eqz(got.held, GPU ": c, d"));
	assert_int_equal(got.doubt.n, 0);
	assert_int_equal(fixture_admit(&f, p), 0);
	assert_false(f.io.doubt);
	assert_string_equal(fixture_uses(&f, "p"), "main:cd");
	(void)fixture_run(&f, "q", 2);
	assert_string_equal(fixture_uses(&f, "q"), "main:ab");
	got = recover_running(&f, p, "{\"main\":{\"" GPU "\":[\"a\",\"b\"]}}");
	assert_int_equal(got.held.n + got.doubt.n, 0);
}

/* The status of a restarted container may be that of the one before. */
static void the_runtime_counts_more_than_the_status(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct assign_recovery got;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	got = recover_running(&f, left(&f, "p", 1, ID("a")), "{\"main\":{\"" GPU "\":[\"b\"]}}");
	assert_true(str_eqz(got.held, GPU ": b"));
	assert_int_equal(got.doubt.n, 0);
}

static void a_doubt_survives_a_restart(void **state)
{
	CLEANUP(fixture_release) struct fixture f, g;
	char *text;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	fixture_init(&g, (struct assign_opts){ 0 }, 4, 1);
	(void)recover(&f, left(&f, "p", 2, ID("a")));
	text = fixture_encode(&f);
	assert_int_equal(assign_decode(g.s, str_from(text), &g.err), 0);
	assert_true(assign_in_doubt(g.s, STR("p")));
	assert_string_equal(fixture_encode(&g), text);
}

static void pods_without_devices_are_left_alone(void **state)
{
	CLEANUP(fixture_release) struct fixture f;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	(void)recover(&f, fixture_pod(&f, "p", "", fixture_container(&f, "main", "\"cpu\":\"1\"")));
	assert_false(assign_has_pod(f.s, STR("p")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_that_a_status_names_are_held_and_asked_for_again),
		cmocka_unit_test(a_resource_in_doubt_is_given_to_nobody),
		cmocka_unit_test(a_device_that_two_statuses_name_is_held_once),
		cmocka_unit_test(the_runtime_ends_a_doubt),
		cmocka_unit_test(the_runtime_counts_more_than_the_status),
		cmocka_unit_test(a_doubt_survives_a_restart),
		cmocka_unit_test(pods_without_devices_are_left_alone),
	};

	return cmocka_run_group_tests_name("node/assign_recover", tests, NULL, NULL);
}

/*
 * Decisions about pods with unhealthy devices.
 */
#include "node/assign/assign_fixture.h"
#include "node/worker/device_policy.h"

static const struct device_policy none = { .action = DEVICE_POLICY_NONE, .grace_ms = 30000 };
static const struct device_policy restart = { .action = DEVICE_POLICY_RESTART, .grace_ms = 1000 };

static struct pod *annotated(struct fixture *f, const char *annotations)
{
	struct pod *p = NULL;

	assert_int_equal(pod_parse(str_from(arena_printf(&f->a,
							 "{\"metadata\":{\"name\":\"p\",\"uid\":"
							 "\"p\",\"annotations\":{%s}},\"spec\":{}}",
							 annotations)),
				   &p, NULL),
			 0);
	arena_hold(&f->a, (void (*)(void *))pod_unref, p);
	return p;
}

static void annotations_count_where_they_are_right(void **state)
{
	CLEANUP(fixture_release) struct fixture f;
	struct device_policy got;
	struct str problem;

	(void)state;
	fixture_init(&f, (struct assign_opts){ 0 }, 4, 1);
	got = device_policy_of(annotated(&f, ""), &restart, &f.a, &problem);
	assert_int_equal(got.action, DEVICE_POLICY_RESTART);
	assert_int_equal(got.grace_ms, 1000);
	assert_int_equal(problem.n, 0);
	got = device_policy_of(annotated(&f, "\"" DEVICE_POLICY_ANNOTATION
					     "\":\"evict\",\"" DEVICE_POLICY_GRACE_ANNOTATION
					     "\":\"5s\""),
			       &none, &f.a, &problem);
	assert_int_equal(got.action, DEVICE_POLICY_EVICT);
	assert_int_equal(got.grace_ms, 5000);
	got = device_policy_of(annotated(&f, "\"" DEVICE_POLICY_ANNOTATION "\":\"none\""), &restart,
			       &f.a, &problem);
	assert_int_equal(got.action, DEVICE_POLICY_NONE);
	got = device_policy_of(annotated(&f, "\"" DEVICE_POLICY_ANNOTATION "\":\"kill\""), &restart,
			       &f.a, &problem);
	assert_int_equal(got.action, DEVICE_POLICY_RESTART);
	assert_true(str_find(problem, STR("\"kill\" is not none, fail, restart or evict")) > 0);
	got = device_policy_of(annotated(&f, "\"" DEVICE_POLICY_GRACE_ANNOTATION "\":\"soon\""),
			       &restart, &f.a, &problem);
	assert_int_equal(got.grace_ms, 1000);
	assert_true(str_find(problem, STR("\"soon\" is not a duration")) > 0);
}

struct situation {
	struct fixture f;
	struct device_policy_book book;
	struct pod *pod;
	struct runtime_container container;
	struct runtime_pod seen;
	struct device_policy_due due;
	int64_t wake_ms;
};

static void begin(struct situation *t)
{
	*t = (struct situation){ 0 };
	fixture_init(&t->f, (struct assign_opts){ 0 }, 4, 1);
	vec_init(&t->book.cases, SIZE_MAX);
	fixture_list(&t->f, GPU, "a", ASSIGN_HEALTHY);
	t->pod = fixture_run(&t->f, "p", 1);
	t->container = (struct runtime_container){ .id = STR("1"),
						   .name = STR("main"),
						   .state = RUNTIME_RUNNING };
	t->seen = (struct runtime_pod){ .containers = &t->container, .ncontainers = 1 };
}

static void end(struct situation *t)
{
	device_policy_release(&t->book);
	fixture_release_cleanup(&t->f);
}

static bool look(struct situation *t, const struct device_policy *p, int64_t now_ms)
{
	const struct device_policy_input in = {
		.policy = *p, .assign = t->f.s, .pod = t->pod, .seen = &t->seen, .now_ms = now_ms
	};

	return device_policy_look(&t->book, &in, &t->f.a, &t->due, &t->wake_ms);
}

static void a_device_must_be_unhealthy_for_the_whole_grace_period(void **state)
{
	struct situation t;

	(void)state;
	begin(&t);
	assert_false(look(&t, &restart, 0));
	assert_int_equal(t.wake_ms, INT64_MAX);
	fixture_list(&t.f, GPU, "a", ASSIGN_UNHEALTHY);
	assert_false(look(&t, &none, 0));
	assert_false(look(&t, &restart, 10));
	assert_int_equal(t.wake_ms, 1010);
	/* It recovers meanwhile: a new grace period begins. */
	fixture_list(&t.f, GPU, "a", ASSIGN_HEALTHY);
	assert_false(look(&t, &restart, 500));
	fixture_list(&t.f, GPU, "a", ASSIGN_UNHEALTHY);
	assert_false(look(&t, &restart, 600));
	assert_false(look(&t, &restart, 1599));
	assert_true(look(&t, &restart, 1600));
	assert_true(str_eqz(t.due.container, "main"));
	assert_true(str_eqz(t.due.device, "a"));
	assert_true(str_eqz(t.due.resource, GPU));
	end(&t);
}

static void a_container_is_due_once_and_its_successor_again(void **state)
{
	struct situation t;

	(void)state;
	begin(&t);
	fixture_list(&t.f, GPU, "a", ASSIGN_UNHEALTHY);
	assert_false(look(&t, &restart, 0));
	assert_true(look(&t, &restart, 1000));
	assert_false(look(&t, &restart, 5000));
	assert_int_equal(t.wake_ms, INT64_MAX);
	/* The restart has failed: it is due again a second later. */
	device_policy_again(&t.book, STR("1"), 5000);
	assert_false(look(&t, &restart, 5999));
	assert_true(look(&t, &restart, 6000));
	t.container.state = RUNTIME_EXITED;
	assert_false(look(&t, &restart, 7000));
	assert_int_equal(t.book.cases.n, 0);
	t.container.state = RUNTIME_RUNNING;
	t.container.id = STR("2");
	assert_false(look(&t, &restart, 8000));
	assert_true(look(&t, &restart, 9000));
	end(&t);
}

static void a_device_that_is_unknown_does_no_harm(void **state)
{
	struct situation t;

	(void)state;
	begin(&t);
	assign_resource_gone(t.f.s, STR(GPU));
	assert_false(look(&t, &restart, 0));
	assert_false(look(&t, &restart, 100000));
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(annotations_count_where_they_are_right),
		cmocka_unit_test(a_device_must_be_unhealthy_for_the_whole_grace_period),
		cmocka_unit_test(a_container_is_due_once_and_its_successor_again),
		cmocka_unit_test(a_device_that_is_unknown_does_no_harm),
	};

	return cmocka_run_group_tests_name("node/device_policy", tests, NULL, NULL);
}

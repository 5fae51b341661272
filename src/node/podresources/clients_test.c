/*
 * Buckets, counts of open calls, and when clients are forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "net/loop/conn.h"
#include "node/node_limits.h"
#include "node/podresources/clients.h"

static const struct podres_limits small = {
	.calls_per_s = 10,
	.burst = 3,
	.client_streams = 2,
	.streams = 3,
};

static struct conn_owner process(int64_t pid)
{
	return (struct conn_owner){ .pid = pid, .uid = 1000 };
}

/* A call that begins and ends at once; returns whether it was allowed. */
static bool call(struct podres_clients *t, const struct conn_owner *o, int64_t now)
{
	enum podres_refusal why;
	struct error err;
	struct podres_client *c = podres_clients_begin(t, o, false, now, &why, &err);

	if (c)
		podres_clients_end(t, c, false);
	else
		assert_int_equal(why, PODRES_REFUSED_RATE);
	return c != NULL;
}

static struct podres_client *open_one(struct podres_clients *t, const struct conn_owner *o,
				      bool watch, int64_t now, struct error *err)
{
	enum podres_refusal why;
	struct podres_client *c = podres_clients_begin(t, o, watch, now, &why, err);

	assert_int_equal(c == NULL, why != PODRES_TAKEN);
	return c;
}

static void a_client_has_a_burst_and_then_a_rate(void **state UNUSED)
{
	struct conn_owner o = process(7);
	enum podres_refusal why;
	struct podres_clients t;
	struct error err;

	podres_clients_init(&t, &small);
	for (int i = 0; i < 3; i++)
		assert_true(call(&t, &o, 0));
	assert_null(podres_clients_begin(&t, &o, false, 0, &why, &err));
	assert_int_equal(why, PODRES_REFUSED_RATE);
	assert_int_equal(err.code, ERR_TOO_MANY_REQUESTS);
	assert_string_equal(err.msg, "rejected by rate limit");
	/* A tenth of a second gives one token; never more than the burst. */
	assert_false(call(&t, &o, 99));
	assert_true(call(&t, &o, 100));
	assert_false(call(&t, &o, 100));
	for (int i = 0; i < 3; i++)
		assert_true(call(&t, &o, 100000));
	assert_false(call(&t, &o, 100000));
	podres_clients_release(&t);
}

/* A client may open all its watches at once; calls are counted separately. */
static void watches_begin_with_a_burst_of_their_own(void **state UNUSED)
{
	struct podres_limits limits = { .calls_per_s = 10, .burst = 3, .client_streams = 5 };
	struct conn_owner o = process(7);
	struct podres_clients t;
	struct podres_client *c;
	enum podres_refusal why;
	struct error err;

	podres_clients_init(&t, &limits);
	while (call(&t, &o, 0))
		;
	for (int i = 0; i < 5; i++) {
		c = podres_clients_begin(&t, &o, true, 0, &why, &err);
		assert_non_null(c);
		podres_clients_end(&t, c, true);
	}
	assert_null(podres_clients_begin(&t, &o, true, 0, &why, &err));
	assert_int_equal(why, PODRES_REFUSED_RATE);
	podres_clients_release(&t);
}

static void one_client_does_not_use_up_anothers_tokens(void **state UNUSED)
{
	struct conn_owner greedy = process(7), polite = process(8);
	struct podres_clients t;

	podres_clients_init(&t, &small);
	for (int i = 0; i < 100; i++)
		(void)call(&t, &greedy, 0);
	assert_false(call(&t, &greedy, 0));
	assert_true(call(&t, &polite, 0));
	/* The same process id of another user is another client. */
	greedy.uid = 0;
	assert_true(call(&t, &greedy, 0));
	podres_clients_release(&t);
}

static void those_without_a_process_share_by_user_and_the_unknown_all(void **state UNUSED)
{
	struct conn_owner root = { .pid = 0, .uid = 0, .gid = 1 };
	struct conn_owner user = { .pid = 0, .uid = 1000, .gid = 2 };
	struct podres_clients t;

	podres_clients_init(&t, &small);
	while (call(&t, &root, 0))
		;
	root.gid = 5;
	assert_false(call(&t, &root, 0));
	assert_true(call(&t, &user, 0));
	/* An unknown client does not count as root. */
	assert_true(call(&t, NULL, 0));
	while (call(&t, NULL, 0))
		;
	assert_true(call(&t, &user, 0));
	podres_clients_release(&t);
}

static void watches_are_limited_for_each_and_for_all(void **state UNUSED)
{
	struct podres_limits limits = small;
	struct conn_owner a = process(1), b = process(2);
	struct podres_client *w[3];
	struct podres_clients t;
	struct error err;

	limits.calls_per_s = 0;
	podres_clients_init(&t, &limits);
	w[0] = open_one(&t, &a, true, 0, &err);
	w[1] = open_one(&t, &a, true, 0, &err);
	assert_null(open_one(&t, &a, true, 0, &err));
	assert_string_equal(err.msg, "this process has 2 watches open, the most that one may have "
				     "(--pod-resources-client-streams)");
	w[2] = open_one(&t, &b, true, 0, &err);
	assert_non_null(w[2]);
	assert_null(open_one(&t, &b, true, 0, &err));
	assert_string_equal(err.msg, "3 watches are open, the most that there may be "
				     "(--pod-resources-streams)");
	/* An ended watch makes room; calls do not count as watches. */
	podres_clients_end(&t, w[0], true);
	w[0] = open_one(&t, &b, true, 0, &err);
	assert_non_null(w[0]);
	assert_true(call(&t, &a, 0));
	for (int i = 0; i < 3; i++)
		podres_clients_end(&t, w[i], true);
	assert_int_equal(t.streams, 0);
	podres_clients_release(&t);
}

static void zero_is_no_limit(void **state UNUSED)
{
	struct podres_limits none = { 0 };
	struct podres_client *w[5000];
	struct conn_owner o = process(1);
	struct podres_clients t;
	struct error err;

	podres_clients_init(&t, &none);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		w[i] = open_one(&t, &o, true, 0, &err);
		assert_non_null(w[i]);
	}
	assert_int_equal(t.by_owner.n, 1);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		podres_clients_end(&t, w[i], true);
	podres_clients_release(&t);
}

static void answers_that_are_not_read_are_bounded(void **state UNUSED)
{
	struct podres_limits limits = { 0 };
	struct podres_client *c[PODRES_CALLS_MAX];
	struct conn_owner o = process(1);
	struct podres_clients t;
	struct error err;

	podres_clients_init(&t, &limits);
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		c[i] = open_one(&t, &o, false, 0, &err);
	assert_null(open_one(&t, &o, false, 0, &err));
	assert_non_null(strstr(err.msg, "256 calls open"));
	for (size_t i = 0; i < ARRAY_SIZE(c); i++)
		podres_clients_end(&t, c[i], false);
	assert_true(call(&t, &o, 0));
	podres_clients_release(&t);
}

static void a_process_that_forks_for_each_call_does_not_grow_the_table(void **state UNUSED)
{
	struct conn_owner watcher = process(1), o;
	struct podres_client *w[2];
	struct podres_clients t;
	struct error err;

	podres_clients_init(&t, &small);
	w[0] = open_one(&t, &watcher, true, 0, &err);
	w[1] = open_one(&t, &watcher, true, 0, &err);
	for (int64_t pid = 2; pid < 50000; pid++) {
		o = process(pid);
		assert_true(call(&t, &o, 0));
	}
	assert_in_range(t.by_owner.n, 1, PODRES_CLIENTS_MAX + 2);
	/* A client with something open is not forgotten, nor is its count. */
	assert_null(open_one(&t, &watcher, true, 1000, &err));
	assert_non_null(strstr(err.msg, "client-streams"));
	podres_clients_end(&t, w[0], true);
	podres_clients_end(&t, w[1], true);
	podres_clients_release(&t);
}

static void a_client_with_all_its_tokens_is_forgotten(void **state UNUSED)
{
	struct podres_clients t;
	struct conn_owner o;

	podres_clients_init(&t, &small);
	for (int64_t pid = 0; pid < 100; pid++) {
		o = process(pid);
		assert_true(call(&t, &o, 0));
	}
	assert_int_equal(t.by_owner.n, 100);
	/* 1 of 3 tokens is back after 100 ms; each call forgets a few clients. */
	o = process(1000);
	(void)call(&t, &o, 99);
	assert_int_equal(t.by_owner.n, 101);
	for (int i = 0; i < 100; i++)
		(void)call(&t, &o, 100);
	assert_int_equal(t.by_owner.n, 1);
	podres_clients_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_has_a_burst_and_then_a_rate),
		cmocka_unit_test(watches_begin_with_a_burst_of_their_own),
		cmocka_unit_test(one_client_does_not_use_up_anothers_tokens),
		cmocka_unit_test(those_without_a_process_share_by_user_and_the_unknown_all),
		cmocka_unit_test(watches_are_limited_for_each_and_for_all),
		cmocka_unit_test(zero_is_no_limit),
		cmocka_unit_test(answers_that_are_not_read_are_bounded),
		cmocka_unit_test(a_process_that_forks_for_each_call_does_not_grow_the_table),
		cmocka_unit_test(a_client_with_all_its_tokens_is_forgotten),
	};

	return cmocka_run_group_tests_name("node/podres_clients", tests, NULL, NULL);
}

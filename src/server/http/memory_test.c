/*
 * Bills of requests on fake connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/report/metrics.h"
#include "net/http/session.h"
#include "server/core/parts.h"
#include "server/http/exchange.h"

static const struct str strangers[] = { { "system:unauthenticated", 22 } };

struct world {
	struct server server;
	struct http_session conns[3];
	struct http_stream streams[3];
};

static void world_init(struct world *w)
{
	struct error err;

	memset(w, 0, sizeof(*w));
	w->server.opts.nloops = 2;
	w->server.metrics = metrics_new();
	assert_int_equal(memory_new(&w->server, &w->server.memory, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(w->conns); i++) {
		/* Nothing dereferences it. */
		w->conns[i].conn = (struct conn *)&w->conns[i];
		w->streams[i].session = &w->conns[i];
	}
}

static void world_release(struct world *w)
{
	memory_free(w->server.memory);
	metrics_free(w->server.metrics);
}

/* A request on one of the connections; `user` NULL: unknown. */
static struct exchange request(struct world *w, size_t conn, const char *user)
{
	struct exchange x = { .server = &w->server, .stream = &w->streams[conn] };

	x.user = user ? (struct user){ .name = str_from(user) }
		      : (struct user){ .groups = strangers, .ngroups = 1 };
	return x;
}

static void expect_metric(struct world *w, const char *line)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * KIB);

	assert_int_equal(metrics_print(w->server.metrics, &out), 0);
	assert_int_equal(buf_addc(&out, '\0'), 0);
	if (!strstr(out.p, line))
		fail_msg("no %s in:\n%s", line, out.p);
}

static void strangers_have_little_on_one_connection(void **state UNUSED)
{
	static const struct user_binding account; /* not bound to a pod */
	struct world w;

	world_init(&w);
	struct exchange a = request(&w, 0, NULL), b = request(&w, 0, NULL);
	struct exchange other = request(&w, 1, NULL);

	assert_true(memory_take_rest(&a, 60 * KIB));
	assert_true(memory_take_request(&a, 900 * KIB));
	assert_false(memory_take_rest(&b, 100 * KIB));
	assert_true(memory_take_rest(&b, MEMORY_SMALL - 1));
	assert_true(memory_take_rest(&other, MEMORY_STRANGER_MAX));
	expect_metric(&w, "devplane_request_memory_refused_total{limit=\"unauthenticated\"} 1\n");
	memory_give_request(&a);
	assert_true(memory_take_rest(&b, 100 * KIB));
	/* One that turns out to be an account without a pod leaves room for others. */
	b.user = (struct user){ .name = STR("b"), .binding = &account };
	memory_identified(&b);
	assert_true(memory_take_request(&b, 8 * MIB));
	assert_true(memory_take_request(&a, 900 * KIB));
	memory_end(&a);
	memory_end(&b);
	memory_end(&other);
	expect_metric(&w, "devplane_request_memory_bytes 0\n");
	world_release(&w);
}

static void a_connection_and_a_user_have_limits(void **state UNUSED)
{
	struct exchange x[3];
	struct world w;

	world_init(&w);
	for (size_t i = 0; i < ARRAY_SIZE(x); i++) {
		x[i] = request(&w, i, "a");
		memory_identified(&x[i]);
	}
	assert_true(memory_take_request(&x[0], MEMORY_CONN_MAX));
	assert_false(memory_take_request(&x[0], MEMORY_SMALL));
	expect_metric(&w, "devplane_request_memory_refused_total{limit=\"connection\"} 1\n");
	/* The sum is shared by all loops. */
	x[1].lane = 1;
	assert_true(memory_take_rest(&x[1], MEMORY_USER_MAX - MEMORY_CONN_MAX));
	assert_false(memory_take_rest(&x[2], MEMORY_SMALL));
	expect_metric(&w, "devplane_request_memory_refused_total{limit=\"user\"} 1\n");
	memory_end(&x[0]);
	assert_true(memory_take_rest(&x[2], MEMORY_SMALL));
	memory_end(&x[1]);
	memory_end(&x[2]);
	expect_metric(&w, "devplane_request_memory_bytes 0\n");
	world_release(&w);
}

/* --- watches ---------------------------------------------------------------------- */

static void expect_watch(struct exchange *x, bool taken)
{
	struct error err = { 0 };

	assert_int_equal(memory_take_watch(x, &err), taken ? 0 : -ERR_TOO_MANY_REQUESTS);
}

static void watches_of_a_connection_have_a_limit(void **state UNUSED)
{
	struct exchange *x = calloc(MEMORY_CONN_WATCHES_MAX, sizeof(*x)), one_more, other;
	struct world w;

	world_init(&w);
	one_more = request(&w, 0, "a");
	other = request(&w, 1, "a");
	for (size_t i = 0; i < MEMORY_CONN_WATCHES_MAX; i++) {
		x[i] = request(&w, 0, "a");
		expect_watch(&x[i], true);
	}
	expect_watch(&one_more, false);
	expect_metric(&w, "devplane_watches_refused_total{limit=\"connection\"} 1\n");
	expect_watch(&other, true);
	memory_end(&x[7]);
	expect_watch(&one_more, true);
	memory_end(&one_more);
	memory_end(&other);
	for (size_t i = 0; i < MEMORY_CONN_WATCHES_MAX; i++)
		memory_end(&x[i]);
	free(x);
	world_release(&w);
}

static void watches_of_a_user_have_a_limit_on_all_loops(void **state UNUSED)
{
	static const struct str masters[] = { { "system:masters", 14 } };
	struct exchange first, second, master;
	struct world w;

	world_init(&w);
	w.server.opts.max_user_watches = 1;
	first = request(&w, 0, "a");
	second = request(&w, 1, "a");
	master = request(&w, 1, "a");
	second.lane = 1;
	master.lane = 1;
	master.user.groups = masters;
	master.user.ngroups = 1;
	expect_watch(&first, true);
	expect_watch(&second, false);
	expect_metric(&w, "devplane_watches_refused_total{limit=\"user\"} 1\n");
	expect_watch(&master, true);
	memory_end(&master);
	memory_end(&first);
	expect_watch(&second, true);
	memory_end(&second);
	world_release(&w);
}

static void a_user_pays_for_those_it_acts_as_and_pods_are_apart(void **state UNUSED)
{
	struct user_binding pods[] = { { .pod_uid = STR("1") }, { .pod_uid = STR("2") } };
	struct user boss = { .name = STR("boss") };
	struct exchange x[2];
	struct world w;

	world_init(&w);
	w.server.opts.max_user_watches = 1;
	for (size_t i = 0; i < 2; i++) {
		x[i] = request(&w, i, i ? "a" : "b");
		x[i].impersonator = &boss;
		expect_watch(&x[i], i == 0);
	}
	memory_end(&x[0]);
	memory_end(&x[1]);
	for (size_t i = 0; i < 2; i++) {
		x[i] = request(&w, i, "system:serviceaccount:kube-system:agent");
		x[i].user.binding = &pods[i];
		expect_watch(&x[i], true);
	}
	memory_end(&x[0]);
	memory_end(&x[1]);
	world_release(&w);
}

static void long_selectors_count_as_several_watches(void **state UNUSED)
{
	struct selector_term terms[MEMORY_WATCH_TERMS * 2] = { 0 };
	struct exchange x, other;
	struct world w;

	world_init(&w);
	w.server.opts.max_user_watches = 4;
	x = request(&w, 0, "a");
	other = request(&w, 1, "a");
	x.request.labels = (struct selector){ terms, ARRAY_SIZE(terms) };
	other.request.fields = (struct selector){ terms, MEMORY_WATCH_TERMS };
	expect_watch(&x, true);
	expect_watch(&other, false);
	other.request.fields.n--;
	expect_watch(&other, true);
	memory_end(&x);
	memory_end(&other);
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_have_little_on_one_connection),
		cmocka_unit_test(a_connection_and_a_user_have_limits),
		cmocka_unit_test(watches_of_a_connection_have_a_limit),
		cmocka_unit_test(watches_of_a_user_have_a_limit_on_all_loops),
		cmocka_unit_test(a_user_pays_for_those_it_acts_as_and_pods_are_apart),
		cmocka_unit_test(long_selectors_count_as_several_watches),
	};

	return cmocka_run_group_tests_name("server/memory", tests, NULL, NULL);
}

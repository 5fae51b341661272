/*
 * Bills of requests on made-up connections.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/metrics.h"
#include "net/http_session.h"
#include "server/exchange.h"
#include "server/server_impl.h"

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
	w->server.opts.nloops = 1;
	w->server.metrics = metrics_new();
	assert_int_equal(memory_new(&w->server, &w->server.memory, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(w->conns); i++) {
		/* Nobody looks behind it. */
		w->conns[i].conn = (struct conn *)&w->conns[i];
		w->streams[i].session = &w->conns[i];
	}
}

static void world_release(struct world *w)
{
	memory_free(w->server.memory);
	metrics_free(w->server.metrics);
}

/* A request on one of the connections; `user` NULL: nobody known. */
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
	/* One that turns out to be somebody leaves the room to others. */
	b.user = (struct user){ .name = STR("b") };
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_have_little_on_one_connection),
		cmocka_unit_test(a_connection_and_a_user_have_limits),
	};

	return cmocka_run_group_tests_name("server/memory", tests, NULL, NULL);
}

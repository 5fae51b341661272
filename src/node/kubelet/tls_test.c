/*
 * The certificate of the kubelet's API: when it is created, kept and renewed.
 */
#include "node/kubelet/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"
#include "net/tls/pki.h"
#include "net/tls/tls.h"
#include "node/kubelet/server.h"

#define DAY_MS INT64_C(86400000)

struct world {
	struct sim *sim;
	struct loop *loop;
	struct kubelet_tls_opts opts;
	char dir[64], cert[96], key[96], ca[96];
	struct buf seen; /* the last certificate */
	struct error err;
	bool closed;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };

	w->sim = sim_new(&so);
	w->loop = sim_loop_new(w->sim, "agent");
	buf_init(&w->seen, 1 << 20);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/kubelet_tls_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->cert, sizeof(w->cert), "%s/kubelet.crt", w->dir);
	(void)snprintf(w->key, sizeof(w->key), "%s/kubelet.key", w->dir);
	(void)snprintf(w->ca, sizeof(w->ca), "%s/ca.crt", w->dir);
	w->opts = (struct kubelet_tls_opts){ .folder = w->dir,
					     .node_name = STR("n1"),
					     .node_ip = STR("10.0.0.1"),
					     .clock = loop_clock(w->loop) };
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	loop_free(w->loop);
	sim_free(w->sim);
	(void)unlink(w->cert);
	(void)unlink(w->key);
	(void)unlink(w->ca);
	(void)rmdir(w->dir);
	buf_release(&w->seen);
	free(w);
	return 0;
}

static int make(struct world *w)
{
	CLEANUP(tls_unref) struct tls *tls = NULL;

	return kubelet_tls_new(&w->opts, &tls, &w->err);
}

/* Whether the certificate is another one than at the last call. */
static bool is_new(struct world *w)
{
	struct buf now = BUF_INIT(1 << 20);
	bool differs;

	assert_int_equal(file_read(w->cert, &now, NULL), 0);
	differs = !str_eq(buf_str(&now), buf_str(&w->seen));
	buf_release(&w->seen);
	w->seen = now;
	return differs;
}

static void put_ca(struct world *w, struct str text)
{
	assert_int_equal(file_write_atomic(w->ca, text, 0600, NULL), 0);
	w->opts.client_ca_file = w->ca;
}

static void a_pair_is_kept_until_a_month_is_left(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
	sim_run_for(w->sim, 330 * DAY_MS);
	assert_int_equal(make(w), 0);
	assert_false(is_new(w));
	sim_run_for(w->sim, 10 * DAY_MS);
	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
}

static void a_pair_of_no_use_is_made_anew(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
	assert_int_equal(file_write_atomic(w->key, STR("x"), 0600, NULL), 0);
	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
}

static void clients_are_verified_by_the_given_ca(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
	put_ca(w, buf_str(&w->seen));
	assert_int_equal(make(w), 0);
	assert_false(is_new(w));
}

static void a_bad_ca_is_told_and_the_pair_stays(void **state)
{
	struct world *w = *state;

	assert_int_equal(make(w), 0);
	assert_true(is_new(w));
	put_ca(w, STR("no certificate\n"));
	assert_int_not_equal(make(w), 0);
	assert_non_null(strstr(w->err.msg, w->ca));
	assert_false(is_new(w));
}

static void an_empty_ca_is_not_none(void **state)
{
	struct world *w = *state;

	put_ca(w, STR(""));
	assert_int_equal(make(w), -ERR_INVALID);
	assert_non_null(strstr(w->err.msg, "is empty"));
	assert_int_not_equal(access(w->cert, F_OK), 0);
}

static void on_closed(void *arg)
{
	((struct world *)arg)->closed = true;
}

static void a_server_renews_while_it_runs(void **state)
{
	struct world *w = *state;
	struct kubelet_server_opts o = { .loop = w->loop, .node_name = "n1", .tls = w->opts };
	struct kubelet_server *s;

	assert_int_equal(addr_parse(&o.at, STR(":10250"), 0, NULL), 0);
	assert_int_equal(kubelet_server_new(&o, &s, NULL), 0);
	assert_true(is_new(w));
	sim_run_for(w->sim, 330 * DAY_MS);
	assert_false(is_new(w));
	sim_run_for(w->sim, 10 * DAY_MS);
	assert_true(is_new(w));
	kubelet_server_close(s, on_closed, w);
	sim_run_for(w->sim, 1000);
	assert_true(w->closed);
	kubelet_server_free(s);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_pair_is_kept_until_a_month_is_left),
		CASE(a_pair_of_no_use_is_made_anew),
		CASE(clients_are_verified_by_the_given_ca),
		CASE(a_bad_ca_is_told_and_the_pair_stays),
		CASE(an_empty_ca_is_not_none),
		CASE(a_server_renews_while_it_runs),
	};

	return cmocka_run_group_tests_name("node/kubelet_tls", tests, NULL, NULL);
}

/*
 * Elections among processes in a simulated world, with an API server that fails, hosts that die
 * and networks that are cut. The invariant: there are never two leaders at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/testing/fakeapi_world.h"
#include "client/work/leader.h"
#include "client/work/lease.h"
#include "net/loop/loop.h"

enum { RIVALS = 3 };

struct rival {
	struct election *election;
	struct loop *loop;
	struct client *client;
	struct leader *leader;
	char name[8];
	char seen[16]; /* the last new leader */
	bool leading, dead, stopped;
	int started, lost;
};

struct election {
	struct sim *sim;
	struct fakeapi *api;
	struct rival rivals[RIVALS];
	struct metrics *metrics;
};

static int leaders(const struct election *e)
{
	int n = 0;

	for (int i = 0; i < RIVALS; i++)
		n += e->rivals[i].leading && !e->rivals[i].dead;
	return n;
}

static void on_started(void *arg)
{
	struct rival *r = arg;

	r->leading = true;
	r->started++;
	assert_int_equal(leaders(r->election), 1);
}

static void on_lost(void *arg, const struct error *why)
{
	struct rival *r = arg;

	assert_int_equal(why->code, ERR_TIMEOUT);
	r->leading = false;
	r->lost++;
	leader_start(r->leader);
}

static void on_new_leader(void *arg, struct str identity)
{
	struct rival *r = arg;

	(void)snprintf(r->seen, sizeof(r->seen), "%.*s", STR_ARG(identity));
}

static void on_stopped(void *arg)
{
	((struct rival *)arg)->stopped = true;
}

static struct election *election_new(uint64_t seed, int n)
{
	struct election *e = XNEW(struct election);

	e->sim = sim_new(&(struct sim_opts){ .seed = seed });
	e->api = fakeapi_new(e->sim, seed);
	e->metrics = metrics_new();
	for (int i = 0; i < RIVALS; i++) {
		struct rival *r = &e->rivals[i];
		struct leader_opts o = { .ns = "kube-system",
					 .name = "lock",
					 .identity = r->name,
					 .started_leading = on_started,
					 .stopped_leading = on_lost,
					 .new_leader = on_new_leader,
					 .arg = r,
					 .metrics = i == 0 ? e->metrics : NULL };

		(void)snprintf(r->name, sizeof(r->name), "r%d", i);
		r->election = e;
		r->loop = sim_loop_new(e->sim, r->name);
		r->client = o.client = fakeapi_client(e->api, r->loop);
		assert_int_equal(leader_new(&o, &r->leader, NULL), 0);
		if (i < n)
			leader_start(r->leader);
	}
	return e;
}

static void election_free(struct election *e)
{
	sim_heal(e->sim, NULL, NULL);
	for (int i = 0; i < RIVALS; i++) {
		leader_free(e->rivals[i].leader);
		client_free(e->rivals[i].client);
		if (e->rivals[i].dead)
			sim_loop_bury(e->rivals[i].loop);
	}
	sim_run_for(e->sim, 100);
	fakeapi_free(e->api);
	for (int i = 0; i < RIVALS; i++)
		loop_free(e->rivals[i].loop);
	metrics_free(e->metrics);
	sim_free(e->sim);
	free(e);
}

static int who_leads(const struct election *e)
{
	for (int i = 0; i < RIVALS; i++) {
		if (e->rivals[i].leading && !e->rivals[i].dead)
			return i;
	}
	return -1;
}

static void read_lease(const struct election *e, struct lease_record *ret_record)
{
	const struct fakeapi_object *o = fakeapi_find(e->api, "leases", "kube-system", "lock");

	assert_non_null(o);
	assert_int_equal(lease_record_read(str_from(o->text), ret_record, NULL), 0);
}

/* --- one ------------------------------------------------------------------------------------- */

static void one_takes_the_lease_and_renews_it(void **state UNUSED)
{
	struct election *e = election_new(1, 1);
	struct lease_record first = { NULL }, later = { NULL };

	sim_run_for(e->sim, 1000);
	assert_true(leader_is_leader(e->rivals[0].leader));
	read_lease(e, &first);
	assert_string_equal(first.holder, "r0");
	assert_int_equal(first.duration_s, 15);
	assert_int_equal(first.transitions, 0);
	sim_run_for(e->sim, 60000);
	read_lease(e, &later);
	assert_true(later.renew_ns - first.renew_ns > 57 * CLOCK_SEC);
	assert_int_equal(later.acquire_ns, first.acquire_ns);
	assert_int_equal(e->rivals[0].started, 1);
	assert_string_equal(e->rivals[0].seen, "r0");
	assert_int_equal(leader_check(e->rivals[0].leader, 0, NULL), 0);
	/* A renewal is one write, every two seconds, without a read before it. */
	assert_in_range(e->api->requests, 30, 34);
	lease_record_release(&first);
	lease_record_release(&later);
	election_free(e);
}

static void another_waits_and_takes_over_at_once_when_it_is_given_back(void **state UNUSED)
{
	struct election *e = election_new(2, 1);
	struct lease_record r = { NULL };

	sim_run_for(e->sim, 1000);
	leader_start(e->rivals[1].leader);
	sim_run_for(e->sim, 60000);
	assert_int_equal(e->rivals[1].started, 0);
	assert_string_equal(e->rivals[1].seen, "r0");
	e->rivals[0].leading = false;
	leader_stop(e->rivals[0].leader, on_stopped, &e->rivals[0]);
	sim_run_for(e->sim, 50);
	assert_true(e->rivals[0].stopped);
	read_lease(e, &r);
	assert_string_equal(r.holder, "");
	assert_int_equal(r.duration_s, 1);
	sim_run_for(e->sim, 5000);
	assert_true(e->rivals[1].leading);
	read_lease(e, &r);
	assert_string_equal(r.holder, "r1");
	assert_int_equal(r.transitions, 1);
	lease_record_release(&r);
	election_free(e);
}

static void a_dead_leader_is_followed_after_its_lease_ran_out(void **state UNUSED)
{
	struct election *e = election_new(3, 2);
	int first, second;

	sim_run_for(e->sim, 30000);
	first = who_leads(e);
	second = 1 - first;
	e->rivals[first].dead = true;
	sim_loop_crash(e->rivals[first].loop, SIM_CRASH_PROCESS);
	sim_run_for(e->sim, 12900);
	assert_false(e->rivals[second].leading);
	sim_run_for(e->sim, 8000);
	assert_true(e->rivals[second].leading);
	election_free(e);
}

static void a_leader_that_is_cut_off_stops_before_another_starts(void **state UNUSED)
{
	struct election *e = election_new(4, 2);
	int first;

	sim_run_for(e->sim, 30000);
	first = who_leads(e);
	sim_cut(e->sim, e->rivals[first].name, "api");
	sim_run_for(e->sim, 13000);
	assert_int_equal(e->rivals[first].lost, 1);
	sim_run_for(e->sim, 10000);
	assert_true(e->rivals[1 - first].leading);
	sim_heal(e->sim, NULL, NULL);
	sim_run_for(e->sim, 60000);
	assert_int_equal(leaders(e), 1);
	election_free(e);
}

static void a_leader_that_was_stopped_for_a_while_knows_it_before_it_is_told(void **state UNUSED)
{
	struct election *e = election_new(6, 2);
	struct rival *old, *new;

	sim_run_for(e->sim, 30000);
	old = &e->rivals[who_leads(e)];
	new = &e->rivals[old == e->rivals];
	old->dead = true; /* it cannot know before it resumes */
	sim_pause(old->loop, 40000);
	sim_run_for(e->sim, 30000);
	assert_true(new->leading);
	assert_true(leader_is_leader(new->leader));
	assert_false(leader_is_leader(old->leader));
	sim_run_for(e->sim, 11000);
	/* When it resumes it finds another leader, and loses at once, not only at its deadline. */
	assert_int_equal(old->lost, 1);
	old->dead = false;
	sim_run_for(e->sim, 60000);
	assert_int_equal(leaders(e), 1);
	assert_true(new->leading);
	election_free(e);
}

static void clocks_that_disagree_do_not_matter(void **state UNUSED)
{
	struct election *e = election_new(5, 1);

	sim_skew(e->rivals[1].loop, 3600 * CLOCK_SEC);
	sim_run_for(e->sim, 1000);
	leader_start(e->rivals[1].leader);
	sim_run_for(e->sim, 120000);
	assert_int_equal(e->rivals[1].started, 0);
	assert_int_equal(e->rivals[0].lost, 0);
	election_free(e);
}

static void a_lease_deleted_under_the_leader_is_made_again(void **state UNUSED)
{
	struct election *e = election_new(6, 1);

	sim_run_for(e->sim, 5000);
	assert_int_equal(fakeapi_call(e->api, "DELETE",
				      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
				      "lock",
				      STR_NULL, NULL),
			 200);
	sim_run_for(e->sim, 5000);
	assert_true(fakeapi_has(e->api, "leases", "kube-system", "lock", "\"r0\""));
	assert_int_equal(e->rivals[0].lost, 0);
	election_free(e);
}

static void the_leader_keeps_what_others_wrote_into_the_lease(void **state UNUSED)
{
	struct election *e = election_new(7, 0);

	fakeapi_add(e->api, "leases", "kube-system", "lock", ",\"labels\":{\"a\":\"b\"}", "");
	leader_start(e->rivals[0].leader);
	sim_run_for(e->sim, 10000);
	assert_true(
		fakeapi_has(e->api, "leases", "kube-system", "lock", "\"labels\":{\"a\":\"b\"}"));
	assert_true(fakeapi_has(e->api, "leases", "kube-system", "lock", "\"leaseTransitions\":1"));
	election_free(e);
}

static void times_that_do_not_fit_together_are_refused(void **state UNUSED)
{
	static const struct {
		int64_t lease, renew, retry;
		const char *why;
	} cases[] = {
		{ 10000, 10000, 2000, "leaseDuration must be greater than renewDeadline" },
		{ 15000, 2400, 2000,
		  "renewDeadline must be greater than retryPeriod*JitterFactor" },
		{ 500, 400, 100, "leaseDuration must be at least one second" },
	};
	struct leader *l = NULL;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct leader_opts o = { .ns = "a",
					 .name = "b",
					 .identity = "c",
					 .lease_duration_ms = cases[i].lease,
					 .renew_deadline_ms = cases[i].renew,
					 .retry_period_ms = cases[i].retry };

		assert_int_equal(leader_new(&o, &l, &err), -ERR_INVALID);
		assert_string_equal(err.msg, cases[i].why);
	}
}

static void metrics_say_who_leads(void **state UNUSED)
{
	struct election *e = election_new(8, 1);
	struct buf text = BUF_INIT(MIB);

	sim_run_for(e->sim, 1000);
	assert_int_equal(metrics_print(e->metrics, &text), 0);
	assert_non_null(strstr(text.p, "leader_election_master_status{name=\"lock\"} 1\n"));
	buf_release(&text);
	election_free(e);
}

/* --- random failures ------------------------------------------------------------------------- */

/* on_started() checks each time that nobody else leads. */
static void two_never_lead_whatever_fails(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 15; seed++) {
		struct election *e = election_new(seed, RIVALS);
		struct prng g;
		int started = 0;

		prng_init(&g, seed);
		for (int i = 0; i < 60; i++) {
			struct rival *r = &e->rivals[prng_below(&g, RIVALS)];

			e->api->fail = prng_below(&g, 3) == 0 ? 0.3 : 0;
			if (prng_below(&g, 3) == 0)
				sim_cut(e->sim, r->name, "api");
			if (prng_below(&g, 3) == 0)
				sim_heal(e->sim, NULL, NULL);
			if (prng_below(&g, 4) == 0)
				(void)sim_break_conns(e->sim, 0.5);
			sim_run_for(e->sim, (int64_t)prng_below(&g, 20000));
			assert_in_range(leaders(e), 0, 1);
		}
		sim_heal(e->sim, NULL, NULL);
		e->api->fail = 0;
		sim_run_for(e->sim, 120000);
		assert_int_equal(leaders(e), 1);
		for (int i = 0; i < RIVALS; i++)
			started += e->rivals[i].started;
		assert_true(started > 1);
		election_free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_takes_the_lease_and_renews_it),
		cmocka_unit_test(another_waits_and_takes_over_at_once_when_it_is_given_back),
		cmocka_unit_test(a_dead_leader_is_followed_after_its_lease_ran_out),
		cmocka_unit_test(a_leader_that_is_cut_off_stops_before_another_starts),
		cmocka_unit_test(a_leader_that_was_stopped_for_a_while_knows_it_before_it_is_told),
		cmocka_unit_test(clocks_that_disagree_do_not_matter),
		cmocka_unit_test(a_lease_deleted_under_the_leader_is_made_again),
		cmocka_unit_test(the_leader_keeps_what_others_wrote_into_the_lease),
		cmocka_unit_test(times_that_do_not_fit_together_are_refused),
		cmocka_unit_test(metrics_say_who_leads),
		cmocka_unit_test(two_never_lead_whatever_fails),
	};

	return cmocka_run_group_tests_name("client/leader", tests, NULL, NULL);
}

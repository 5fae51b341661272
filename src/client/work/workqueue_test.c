/*
 * The queue in a simulated world: order, repetition, delays, retries, the limit on handlers,
 * shutdown, and a long random run that checks the rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "client/api/bucket.h"
#include "client/work/workqueue.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

struct bench {
	struct sim *sim;
	struct loop *loop;
	struct workqueue *q;
	struct buf log; /* keys in the order of starting, each followed by a space */
	struct str held[16]; /* being handled */
	size_t nheld;
	bool at_once; /* handlers finish before they return */
	bool fail; /* and they fail */
};

static void on_key(void *arg, struct str key)
{
	struct bench *b = arg;

	(void)buf_add_str(&b->log, key);
	(void)buf_addc(&b->log, ' ');
	if (b->at_once) {
		workqueue_finish(b->q, key, b->fail);
		return;
	}
	assert_true(b->nheld < ARRAY_SIZE(b->held));
	b->held[b->nheld++] = key;
}

static void finish(struct bench *b, size_t at, bool again)
{
	struct str key = b->held[at];

	memmove(&b->held[at], &b->held[at + 1], (--b->nheld - at) * sizeof(b->held[0]));
	workqueue_finish(b->q, key, again);
}

static struct bench *bench_new(const struct workqueue_opts *opts)
{
	struct bench *b = XNEW(struct bench);
	struct workqueue_opts o = *opts;

	b->sim = sim_new(NULL);
	b->loop = sim_loop_new(b->sim, "host");
	buf_init(&b->log, MIB);
	o.loop = b->loop;
	o.handle = on_key;
	o.arg = b;
	b->q = workqueue_new(&o);
	return b;
}

static void bench_free(struct bench *b)
{
	workqueue_free(b->q);
	loop_free(b->loop);
	sim_free(b->sim);
	buf_release(&b->log);
	free(b);
}

static void assert_log(struct bench *b, const char *want)
{
	assert_string_equal(b->log.n ? b->log.p : "", want);
	buf_clear(&b->log);
}

/* --- order and repetition ---------------------------------------------------------------- */

static void keys_come_in_order_and_each_waits_once(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){ .workers = 1 });

	b->at_once = true;
	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("b"));
	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("c"));
	assert_int_equal(workqueue_len(b->q), 3);
	assert_log(b, "");
	sim_run_for(b->sim, 1);
	assert_log(b, "a b c ");
	assert_int_equal(workqueue_len(b->q), 0);
	bench_free(b);
}

static void a_key_added_at_work_is_handled_again_and_never_twice_at_once(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){ .workers = 4 });

	workqueue_add(b->q, STR("a"));
	sim_run_for(b->sim, 1);
	assert_log(b, "a ");
	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("a"));
	sim_run_for(b->sim, 1);
	assert_log(b, "");
	assert_int_equal(workqueue_len(b->q), 0);
	finish(b, 0, false);
	sim_run_for(b->sim, 1);
	assert_log(b, "a ");
	finish(b, 0, false);
	sim_run_for(b->sim, 1);
	assert_log(b, "");
	bench_free(b);
}

static void no_more_handlers_run_than_workers(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){ .workers = 2 });

	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("b"));
	workqueue_add(b->q, STR("c"));
	sim_run_for(b->sim, 1);
	assert_log(b, "a b ");
	assert_int_equal(workqueue_running(b->q), 2);
	assert_int_equal(workqueue_len(b->q), 1);
	finish(b, 1, false);
	sim_run_for(b->sim, 1);
	assert_log(b, "c ");
	bench_free(b);
}

static void a_held_queue_starts_nothing_until_it_is_let_go(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){ .workers = 1 });

	b->at_once = true;
	workqueue_hold(b->q, true);
	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("b"));
	sim_run_for(b->sim, 100);
	assert_log(b, "");
	workqueue_hold(b->q, false);
	sim_run_for(b->sim, 1);
	assert_log(b, "a b ");
	bench_free(b);
}

/* --- delays and retries ------------------------------------------------------------------ */

static void of_several_delays_the_first_to_end_counts(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){ .workers = 1 });

	b->at_once = true;
	workqueue_add_after(b->q, STR("a"), 1000);
	workqueue_add_after(b->q, STR("a"), 100);
	workqueue_add_after(b->q, STR("a"), 500);
	sim_run_for(b->sim, 99);
	assert_log(b, "");
	sim_run_for(b->sim, 2);
	assert_log(b, "a ");
	sim_run_for(b->sim, 2000);
	assert_log(b, "");
	workqueue_add_after(b->q, STR("a"), 0);
	sim_run_for(b->sim, 1);
	assert_log(b, "a ");
	bench_free(b);
}

static void failures_double_the_delay_up_to_the_most_and_are_forgotten(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){
		.workers = 1, .backoff_base_ms = 8, .backoff_max_ms = 20, .retries_per_s = -1 });

	b->at_once = b->fail = true;
	workqueue_add(b->q, STR("a"));
	sim_run_for(b->sim, 7); /* at 0; next at 8, 24, 44, 64 */
	assert_log(b, "a ");
	sim_run_for(b->sim, 3); /* 10 */
	assert_log(b, "a ");
	sim_run_for(b->sim, 10); /* 20 */
	assert_log(b, "");
	sim_run_for(b->sim, 10); /* 30 */
	assert_log(b, "a ");
	sim_run_for(b->sim, 40); /* 70 */
	assert_log(b, "a a ");
	assert_int_equal(workqueue_num_requeues(b->q, STR("a")), 5);
	b->fail = false;
	sim_run_for(b->sim, 20);
	assert_log(b, "a ");
	assert_int_equal(workqueue_num_requeues(b->q, STR("a")), 0);
	bench_free(b);
}

/* The number of handlers started since the last call; timers of one instant fire in any order. */
static int started(struct bench *b)
{
	int n = (int)b->log.n / 2;

	buf_clear(&b->log);
	return n;
}

static void retries_of_all_keys_together_keep_a_rate(void **state UNUSED)
{
	struct bench *b = bench_new(&(struct workqueue_opts){
		.workers = 1, .backoff_base_ms = 1, .retries_per_s = 10, .retries_burst = 5 });
	char key[2] = "a";

	b->at_once = true;
	for (int i = 0; i < 15; i++) {
		key[0] = (char)('a' + i);
		workqueue_add_rate_limited(b->q, str_from(key));
	}
	sim_run_for(b->sim, 50);
	assert_int_equal(started(b), 5);
	sim_run_for(b->sim, 100);
	assert_int_equal(started(b), 1);
	sim_run_for(b->sim, 900);
	assert_int_equal(started(b), 9);
	bench_free(b);
}

static void a_bucket_fills_with_time_and_not_beyond_its_burst(void **state UNUSED)
{
	struct bucket b;
	int64_t t = 1000;

	bucket_init(&b, 2, 2);
	assert_true(bucket_take(&b, t));
	assert_true(bucket_take(&b, t));
	assert_false(bucket_take(&b, t));
	assert_false(bucket_take(&b, t + 499 * CLOCK_MS));
	assert_true(bucket_take(&b, t + 500 * CLOCK_MS));
	t += 3600 * CLOCK_SEC;
	assert_int_equal(bucket_reserve(&b, t), 0);
	assert_int_equal(bucket_reserve(&b, t), 0);
	assert_int_equal(bucket_reserve(&b, t), CLOCK_SEC / 2);
	assert_int_equal(bucket_reserve(&b, t), CLOCK_SEC);
}

/* --- metrics ----------------------------------------------------------------------------- */

static void assert_metric(struct metrics *m, const char *line)
{
	struct buf text = BUF_INIT(MIB);

	assert_int_equal(metrics_print(m, &text), 0);
	if (!strstr(text.p, line))
		fail_msg("no %s in\n%s", line, text.p);
	buf_release(&text);
}

static void metrics_have_the_names_that_dashboards_know(void **state UNUSED)
{
	struct metrics *m = metrics_new();
	struct bench *b = bench_new(
		&(struct workqueue_opts){ .workers = 1, .metrics = m, .name = "things" });

	workqueue_add(b->q, STR("a"));
	workqueue_add(b->q, STR("b"));
	workqueue_add_after(b->q, STR("c"), 60000);
	sim_run_for(b->sim, 2100);
	assert_metric(m, "workqueue_depth{name=\"things\"} 1\n");
	assert_metric(m, "workqueue_adds_total{name=\"things\"} 2\n");
	assert_metric(m, "workqueue_retries_total{name=\"things\"} 1\n");
	assert_metric(m, "workqueue_unfinished_work_seconds{name=\"things\"} 2\n");
	assert_metric(m, "workqueue_longest_running_processor_seconds{name=\"things\"} 2\n");
	assert_metric(m, "workqueue_queue_duration_seconds_count{name=\"things\"} 1\n");
	b->at_once = true;
	finish(b, 0, false);
	sim_run_for(b->sim, 1000);
	assert_metric(m, "workqueue_work_duration_seconds_count{name=\"things\"} 2\n");
	assert_metric(m, "workqueue_work_duration_seconds_bucket{name=\"things\",le=\"10\"} 2\n");
	assert_metric(m, "workqueue_unfinished_work_seconds{name=\"things\"} 0\n");
	assert_metric(m, "workqueue_depth{name=\"things\"} 0\n");
	bench_free(b);
	metrics_free(m);
}

/* --- a long random run -------------------------------------------------------------------- */

enum { KEYS = 12, STEPS = 20000 };

/* Every add is followed by a start of that key; no key is handled twice at a time. */
struct random_run {
	struct bench *b;
	struct prng prng;
	bool owed[KEYS]; /* added since its last start */
	bool busy[KEYS];
	char names[KEYS][4];
	int busy_n;
};

static void on_random_key(void *arg, struct str key)
{
	struct random_run *r = arg;
	size_t k = 0;

	while (!str_eqz(key, r->names[k]))
		k++;
	assert_false(r->busy[k]);
	r->owed[k] = false;
	r->busy[k] = true;
	assert_true(++r->busy_n <= 3);
}

static void random_step(struct random_run *r)
{
	size_t k = prng_below(&r->prng, KEYS);
	struct str key = str_from(r->names[k]);

	switch (prng_below(&r->prng, 5)) {
	case 0:
		r->owed[k] = true;
		workqueue_add(r->b->q, key);
		break;
	case 1:
		r->owed[k] = true;
		workqueue_add_after(r->b->q, key, (int64_t)prng_below(&r->prng, 50));
		break;
	case 2:
		r->owed[k] = true;
		workqueue_add_rate_limited(r->b->q, key);
		break;
	case 3:
		workqueue_forget(r->b->q, key);
		break;
	default:
		sim_run_for(r->b->sim, (int64_t)prng_below(&r->prng, 20));
	}
	if (!r->busy[k])
		return;
	r->busy[k] = false;
	r->busy_n--;
	workqueue_done(r->b->q, key);
}

static bool settled(const struct random_run *r)
{
	for (size_t k = 0; k < KEYS; k++) {
		if (r->owed[k] || r->busy[k])
			return false;
	}
	return true;
}

static void finish_all(struct random_run *r)
{
	for (size_t k = 0; k < KEYS; k++) {
		if (!r->busy[k])
			continue;
		r->busy[k] = false;
		r->busy_n--;
		workqueue_done(r->b->q, str_from(r->names[k]));
	}
}

static void no_add_is_lost_in_a_random_run(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct random_run r = { .b = XNEW(struct bench) };
		struct workqueue_opts o = { .workers = 3,
					    .handle = on_random_key,
					    .arg = &r,
					    .backoff_max_ms = 100,
					    .retries_per_s = -1 };

		prng_init(&r.prng, seed);
		for (size_t k = 0; k < KEYS; k++)
			(void)snprintf(r.names[k], sizeof(r.names[k]), "k%zu", k);
		r.b->sim = sim_new(&(struct sim_opts){ .seed = seed });
		r.b->loop = o.loop = sim_loop_new(r.b->sim, "host");
		r.b->q = workqueue_new(&o);
		for (int i = 0; i < STEPS; i++)
			random_step(&r);
		for (int i = 0; i < 1000 && !settled(&r); i++) {
			finish_all(&r);
			sim_run_for(r.b->sim, 150);
		}
		assert_true(settled(&r));
		bench_free(r.b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_in_order_and_each_waits_once),
		cmocka_unit_test(a_key_added_at_work_is_handled_again_and_never_twice_at_once),
		cmocka_unit_test(no_more_handlers_run_than_workers),
		cmocka_unit_test(a_held_queue_starts_nothing_until_it_is_let_go),
		cmocka_unit_test(of_several_delays_the_first_to_end_counts),
		cmocka_unit_test(failures_double_the_delay_up_to_the_most_and_are_forgotten),
		cmocka_unit_test(retries_of_all_keys_together_keep_a_rate),
		cmocka_unit_test(a_bucket_fills_with_time_and_not_beyond_its_burst),
		cmocka_unit_test(metrics_have_the_names_that_dashboards_know),
		cmocka_unit_test(no_add_is_lost_in_a_random_run),
	};

	return cmocka_run_group_tests_name("client/workqueue", tests, NULL, NULL);
}

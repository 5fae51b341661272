/*
 * The simulated world itself: that its time is its own, that only messages keep
 * their order, that crashed hosts stay down, and how signals, folders and children
 * behave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

/* --- time and order ---------------------------------------------------------------------- */

struct ticker {
	struct loop_timer timer;
	struct buf *log;
	char letter;
	int64_t period_ms; /* 0: once */
	int fired;
};

static void on_tick(struct loop_timer *t)
{
	struct ticker *k = CONTAINER_OF(t, struct ticker, timer);

	k->fired++;
	if (k->log)
		(void)buf_addc(k->log, k->letter);
	if (k->period_ms)
		loop_timer_start(t, k->period_ms);
}

static void ticker_start(struct ticker *k, struct loop *l, int64_t delay_ms)
{
	loop_timer_init(&k->timer, l, on_tick);
	loop_timer_start(&k->timer, delay_ms);
}

static void timers_fire_in_order_and_no_real_time_passes(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l = sim_loop_new(s, "host");
	struct buf log = BUF_INIT(KIB);
	struct ticker a = { .log = &log, .letter = 'a' }, b = { .log = &log, .letter = 'b' };
	struct ticker c = { .log = &log, .letter = 'c' }, d = { .log = &log, .letter = 'd' };
	int64_t before = loop_now(l);

	ticker_start(&c, l, 86400 * 1000LL); /* a day */
	ticker_start(&a, l, 5);
	ticker_start(&b, l, 70);
	ticker_start(&d, l, 50);
	loop_timer_stop(&d.timer);
	while (sim_step(s))
		;
	assert_true(str_eqz(buf_str(&log), "abc"));
	assert_in_range(loop_now(l) - before, 86400 * 1000LL, 86400 * 1000LL + 1);
	assert_int_equal(sim_elapsed_ms(s), loop_now(l) - before);
	assert_false(sim_step(s)); /* nothing can ever happen again */
	buf_release(&log);
	loop_free(l);
	sim_free(s);
}

static void time_passes_when_nothing_happens(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "b");
	int64_t mono = clock_monotonic(loop_clock(a)), wall = clock_wall(loop_clock(a));
	struct ticker t = { 0 };
	bool never = false;

	assert_int_equal(wall, clock_wall(loop_clock(b)));
	assert_int_equal(wall / CLOCK_SEC, 1704067200);
	sim_skew(b, -3 * CLOCK_SEC);
	sim_run_for(s, 1500);
	assert_int_equal(clock_monotonic(loop_clock(a)) - mono, 1500 * CLOCK_MS);
	assert_int_equal(clock_wall(loop_clock(a)) - wall, 1500 * CLOCK_MS);
	assert_int_equal(clock_wall(loop_clock(b)) - wall, (1500 - 3000) * CLOCK_MS);
	/* A timer that the test starts between turns begins at the present time. */
	ticker_start(&t, a, 100);
	sim_run_for(s, 99);
	assert_int_equal(t.fired, 0);
	sim_run_for(s, 1);
	assert_int_equal(t.fired, 1);
	assert_false(sim_run_until(s, is_true, &never, 250));
	assert_int_equal(sim_elapsed_ms(s), 1850);
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

static void a_stopped_loop_gets_no_turns(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "b");
	struct ticker ta = { .period_ms = 10 }, tb = { .period_ms = 10 };

	ticker_start(&ta, a, 10);
	ticker_start(&tb, b, 10);
	loop_stop(a);
	sim_run_for(s, 1000);
	assert_int_equal(ta.fired, 0);
	assert_true(tb.fired > 90);
	loop_run(a); /* the stop was for this run */
	assert_int_equal(ta.fired, 0);
	sim_run_for(s, 100);
	assert_true(ta.fired > 0);
	loop_timer_stop(&ta.timer);
	loop_timer_stop(&tb.timer);
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

static void a_paused_host_goes_on_later(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "b");
	struct ticker ta = { .period_ms = 10 }, tb = { .period_ms = 10 };

	ticker_start(&ta, a, 10);
	ticker_start(&tb, b, 10);
	sim_pause(a, 1000);
	sim_run_for(s, 990);
	assert_int_equal(ta.fired, 0);
	assert_true(tb.fired > 90);
	sim_run_for(s, 110);
	assert_in_range(ta.fired, 5, 20);
	sim_pause(a, 100000);
	sim_calm(s);
	sim_run_for(s, 1000);
	assert_true(ta.fired > 90);
	loop_timer_stop(&ta.timer);
	loop_timer_stop(&tb.timer);
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

struct spinner {
	struct loop_task task;
	struct loop *loop;
	bool stop;
};

static void on_spin(struct loop_task *t)
{
	struct spinner *z = CONTAINER_OF(t, struct spinner, task);

	if (!z->stop)
		loop_defer(z->loop, t);
}

static void a_loop_that_never_rests_does_not_stop_time(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct spinner z = { .loop = sim_loop_new(s, "busy") };
	struct loop *l = sim_loop_new(s, "other");
	struct ticker t = { 0 };

	loop_task_init(&z.task, on_spin);
	loop_defer(z.loop, &z.task);
	ticker_start(&t, l, 200);
	sim_run_for(s, 201);
	assert_int_equal(t.fired, 1);
	z.stop = true;
	loop_free(z.loop);
	loop_free(l);
	sim_free(s);
}

/* --- messages ---------------------------------------------------------------------------- */

enum { SENDERS = 3, LETTERS = 40 };

struct letter {
	struct loop_msg msg;
	struct buf *log;
	int sender, number;
	int *next;
};

/* Posts one letter per turn, so that the senders get in each other's way. */
struct sender {
	struct loop_task task;
	struct loop *self, *to;
	struct letter letters[LETTERS];
	int sent;
};

static void on_letter(struct loop_msg *m)
{
	struct letter *z = CONTAINER_OF(m, struct letter, msg);

	assert_int_equal(z->number, z->next[z->sender]++);
	(void)buf_addc(z->log, (char)('a' + z->sender));
}

static void on_send(struct loop_task *t)
{
	struct sender *z = CONTAINER_OF(t, struct sender, task);

	loop_post(z->to, &z->letters[z->sent++].msg);
	if (z->sent < LETTERS)
		loop_defer(z->self, t);
}

/* The order in which the letters arrived. */
static char *post_with_seed(uint64_t seed)
{
	struct sim_opts opts = { .seed = seed, .stall = 0.05 };
	struct sim *s = sim_new(&opts);
	struct loop *to = sim_loop_new(s, "to");
	struct sender *senders = xcalloc(SENDERS, sizeof(*senders));
	struct buf log = BUF_INIT(KIB);
	int next[SENDERS] = { 0 };

	for (int i = 0; i < SENDERS; i++) {
		struct sender *z = &senders[i];

		z->self = sim_loop_new(s, "from");
		z->to = to;
		for (int k = 0; k < LETTERS; k++)
			z->letters[k] = (struct letter){ { .fn = on_letter }, &log, i, k, next };
		loop_task_init(&z->task, on_send);
		loop_defer(z->self, &z->task);
	}
	while (sim_step(s))
		;
	for (int i = 0; i < SENDERS; i++) {
		assert_int_equal(next[i], LETTERS);
		loop_free(senders[i].self);
	}
	loop_free(to);
	sim_free(s);
	free(senders);
	return buf_take(&log);
}

static void posts_of_one_sender_keep_their_order_and_no_more(void **state UNUSED)
{
	char *first = post_with_seed(0), *other;
	int different = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		other = post_with_seed(seed);
		different += strcmp(first, other) != 0;
		free(other);
	}
	free(first);
	assert_int_equal(different, 19);
}

/* --- a host's end ---------------------------------------------------------------------------- */

static void never_called(struct loop_msg *m UNUSED)
{
	fail_msg("a message reached a dead host");
}

static void nothing_runs_on_a_crashed_host(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *a2 = sim_loop_new(s, "a"),
		    *b = sim_loop_new(s, "b");
	struct ticker ta = { .period_ms = 1 }, tb = { .period_ms = 1 };
	struct loop_msg msg = { .fn = never_called };

	ticker_start(&ta, a2, 1);
	ticker_start(&tb, b, 1);
	sim_run_for(s, 10);
	assert_true(ta.fired > 0);
	loop_post(a2, &msg);
	sim_loop_crash(a, SIM_CRASH_PROCESS); /* its threads die together */
	ta.fired = 0;
	sim_run_for(s, 10);
	assert_int_equal(ta.fired, 0);
	assert_true(tb.fired > 10);
	loop_timer_stop(&tb.timer);
	loop_free(a);
	loop_free(a2);
	loop_free(b);
	sim_free(s);
}

static void timers_of_a_dead_host_fire_when_they_are_asked_for(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "a");
	struct ticker ta = { 0 }, tb = { 0 };
	int64_t before = loop_now(b);

	ticker_start(&ta, a, 5000);
	ticker_start(&tb, b, 3000);
	sim_loop_crash(a, SIM_CRASH_PROCESS);
	sim_loop_bury(a);
	assert_true(ta.fired == 0 && tb.fired == 0);
	assert_true(sim_loop_bury_timer(a));
	assert_true(ta.fired == 0 && tb.fired == 1);
	assert_true(sim_loop_bury_timer(a));
	assert_int_equal(ta.fired, 1);
	assert_int_equal(loop_now(b) - before, 5000);
	assert_int_equal(sim_elapsed_ms(s), 0);
	assert_false(sim_loop_bury_timer(a));
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

/* --- signals, folders, children ------------------------------------------------------------ */

static void count_signal(void *arg, int signum)
{
	assert_int_equal(signum, SIGTERM);
	++*(int *)arg;
}

static void a_signal_reaches_all_loops_of_its_host(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l[3] = { sim_loop_new(s, "a"), sim_loop_new(s, "a"), sim_loop_new(s, "b") };
	struct loop_signal *g[3];
	int n[3] = { 0 };

	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_signal_new(l[i], SIGTERM, count_signal, &n[i], &g[i], NULL),
				 0);
	assert_int_equal(loop_signal_new(l[0], SIGKILL, count_signal, NULL, &g[0], NULL), -ERR_IO);
	sim_raise(l[0], SIGTERM);
	sim_raise(l[1], SIGTERM);
	sim_raise(l[1], SIGHUP);
	sim_run_for(s, 100);
	assert_true(n[0] == 1 && n[1] == 1 && n[2] == 0);
	for (int i = 0; i < 3; i++) {
		loop_signal_free(g[i]);
		loop_free(l[i]);
	}
	sim_free(s);
}

struct folder {
	int notices, unnamed, ends;
	struct loop_watch *watch;
};

static void on_entry(void *arg, struct str name, const struct error *err)
{
	struct folder *f = arg;

	if (err) {
		assert_int_equal(err->code, ERR_NOT_FOUND);
		f->ends++;
		return;
	}
	assert_true(name.n == 0 || str_eq(name, STR("one")) || str_eq(name, STR("two")));
	f->notices++;
	f->unnamed += name.n == 0;
}

static void folders_tell_that_something_changed(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l = sim_loop_new(s, "host");
	struct folder a = { 0 }, b = { 0 };
	struct error err;
	int touches = 0;

	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, NULL), 0);
	assert_int_equal(loop_watch_new(l, "/b", on_entry, &b, &b.watch, NULL), 0);
	for (; touches < 400; touches += 4) {
		for (int i = 0; i < 4; i++)
			sim_touch(s, "/a", i % 2 ? "one" : "two");
		sim_run_for(s, 20);
		assert_true(a.notices > touches / 4); /* each time at least one */
	}
	assert_true(a.notices < touches && a.unnamed > 0 && a.unnamed < a.notices);
	assert_int_equal(b.notices, 0);
	sim_rmdir(s, "/a");
	sim_touch(s, "/a", "one");
	sim_run_for(s, 20);
	assert_int_equal(a.ends, 1);
	loop_watch_free(a.watch);
	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, &err), -ERR_NOT_FOUND);
	sim_mkdir(s, "/a");
	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, NULL), 0);
	loop_watch_free(a.watch);
	loop_watch_free(b.watch);
	loop_free(l);
	sim_free(s);
}

struct offspring {
	struct loop_child *child;
	int exits, status, signal;
};

static void on_child_exit(void *arg, int status, int signum)
{
	struct offspring *o = arg;

	o->exits++;
	o->status = status;
	o->signal = signum;
}

/* The program's name says what becomes of it. */
static void decide(void *arg UNUSED, const struct loop_child_opts *opts, struct sim_fate *ret_fate)
{
	const char *name = opts->argv[0];

	*ret_fate = (struct sim_fate){ .after_ms = -1 };
	if (strcmp(name, "fails") == 0)
		*ret_fate = (struct sim_fate){ .after_ms = 50, .status = 7 };
	else if (strcmp(name, "crashes") == 0)
		*ret_fate = (struct sim_fate){ .after_ms = 50, .signal = SIGSEGV };
	else if (strcmp(name, "tidies up") == 0)
		ret_fate->term_ms = 1000;
	else if (strcmp(name, "is stubborn") == 0)
		ret_fate->term_ms = -1;
	else if (strcmp(name, "missing") == 0)
		ret_fate->missing = true;
}

static void spawn(struct loop *l, const char *name, struct offspring *o)
{
	const char *argv[] = { name, NULL };
	struct loop_child_opts opts = { .argv = argv, .on_exit = on_child_exit, .arg = o };

	*o = (struct offspring){ 0 };
	assert_int_equal(loop_child_new(l, &opts, &o->child, NULL), 0);
}

static void children_do_what_they_are_told(void **state UNUSED)
{
	struct sim_opts sopts = { .spawn = decide };
	struct sim *s = sim_new(&sopts);
	struct loop *l = sim_loop_new(s, "host");
	static const char *const missing[] = { "missing", NULL };
	struct loop_child_opts opts = { .argv = missing };
	struct offspring fails, crashes, sleeps, tidy, stubborn;
	struct loop_child *none;

	assert_int_equal(loop_child_new(l, &opts, &none, NULL), -ERR_NOT_FOUND);
	spawn(l, "fails", &fails);
	spawn(l, "crashes", &crashes);
	spawn(l, "sleeps", &sleeps);
	spawn(l, "tidies up", &tidy);
	spawn(l, "is stubborn", &stubborn);
	assert_int_not_equal(loop_child_pid(fails.child), loop_child_pid(sleeps.child));
	sim_run_for(s, 49);
	assert_int_equal(fails.exits, 0);
	sim_run_for(s, 10);
	assert_true(fails.exits == 1 && fails.status == 7 && fails.signal == 0);
	assert_true(crashes.exits == 1 && crashes.signal == SIGSEGV);
	assert_int_equal(loop_child_kill(fails.child, SIGTERM, NULL), -ERR_NOT_FOUND);
	assert_int_equal(loop_child_kill(sleeps.child, SIGTERM, NULL), 0);
	assert_int_equal(loop_child_kill(tidy.child, SIGTERM, NULL), 0);
	assert_int_equal(loop_child_kill(stubborn.child, SIGTERM, NULL), 0);
	sim_run_for(s, 900);
	assert_true(sleeps.exits == 1 && sleeps.signal == SIGTERM);
	assert_true(tidy.exits == 0 && stubborn.exits == 0);
	sim_run_for(s, 200);
	assert_true(tidy.exits == 1 && tidy.status == 0 && tidy.signal == 0);
	assert_int_equal(loop_child_kill(stubborn.child, SIGKILL, NULL), 0);
	sim_run_for(s, 10);
	assert_true(stubborn.exits == 1 && stubborn.signal == SIGKILL);
	loop_child_free(fails.child);
	loop_child_free(crashes.child);
	loop_child_free(sleeps.child);
	loop_child_free(tidy.child);
	loop_child_free(stubborn.child);
	loop_free(l);
	sim_free(s);
}

static void nothing(void *arg UNUSED)
{
}

static void descriptors_are_refused(void **state UNUSED)
{
	struct sim *s = sim_new(&(struct sim_opts){ 0 });
	struct loop *l = sim_loop_new(s, "host");
	struct loop_fd *f = NULL;
	struct error err;

	assert_int_equal(loop_fd_new(l, 0, nothing, NULL, &f, &err), -ERR_UNIMPLEMENTED);
	assert_string_equal(err.msg, "cannot watch descriptor 0: a simulated world has none");
	assert_null(f);
	loop_free(l);
	sim_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order_and_no_real_time_passes),
		cmocka_unit_test(time_passes_when_nothing_happens),
		cmocka_unit_test(a_stopped_loop_gets_no_turns),
		cmocka_unit_test(a_paused_host_goes_on_later),
		cmocka_unit_test(a_loop_that_never_rests_does_not_stop_time),
		cmocka_unit_test(posts_of_one_sender_keep_their_order_and_no_more),
		cmocka_unit_test(nothing_runs_on_a_crashed_host),
		cmocka_unit_test(timers_of_a_dead_host_fire_when_they_are_asked_for),
		cmocka_unit_test(a_signal_reaches_all_loops_of_its_host),
		cmocka_unit_test(folders_tell_that_something_changed),
		cmocka_unit_test(children_do_what_they_are_told),
		cmocka_unit_test(descriptors_are_refused),
	};

	return cmocka_run_group_tests_name("net/sim", tests, NULL, NULL);
}

/*
 * HTTP in the simulated world, in fair and in foul weather: narrow pipes, slow
 * loops, fickle clients, lost connections, cuts, crashes, and a server that
 * drains in the middle of it all. What is checked is in web_world.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/limits.h"
#include "net/web_world.h"

static struct sim_opts draw_opts(uint64_t seed, double lose)
{
	static const size_t pipes[] = { 0, 700, 5000, 1000 * 1000 };

	return (struct sim_opts){ .seed = seed,
				  .pipe_max = pipes[seed % 4],
				  .stall = seed % 3 ? 0.01 : 0,
				  .stall_max_ms = 30,
				  .lose = lose,
				  .refuse = lose * 5 };
}

static void without_faults_every_request_is_answered(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ 0 });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void a_server_that_hangs_up_idle_connections_loses_no_request(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .idle_timeout_ms = 5, .gap_ms = 20 });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void fickle_clients_disturb_only_themselves(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true, .fickle = true });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void lost_connections_fail_requests_but_mix_nothing_up(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 2 ? 0.01 : 0.001);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .faulty = true, .fickle = seed % 3 == 0 });
		for (int i = 0; i < 10; i++) {
			sim_run_for(w.sim, (int64_t)web_world_draw(&w, 50));
			(void)sim_break_conns(w.sim, 0.3);
		}
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void cuts_heal_or_end_in_time_outs(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true });
		for (int i = 0; i < 3; i++) {
			sim_run_for(w.sim, (int64_t)web_world_draw(&w, 50));
			sim_cut(w.sim, "server", web_world_draw(&w, 2) ? NULL : "client-1");
			sim_run_for(w.sim, (int64_t)web_world_draw(
						   &w, web_world_draw(&w, 2) ? 100 : 40 * 1000));
			sim_heal(w.sim, NULL, NULL);
		}
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

/* With time enough, what the server has begun it ends. */
static void a_graceful_drain_loses_nothing_that_was_begun(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .leaving = true });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		web_world_drain(&w, WEB_HANG_MS);
		web_world_finish(&w);
		web_world_release(&w);
	}
}

static void a_hasty_drain_leaves_no_connection(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 3 ? 0 : 0.005);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .faulty = true, .fickle = seed % 2 == 0 });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		web_world_drain(&w, (int64_t)web_world_draw(&w, 100));
		web_world_finish(&w);
		web_world_release(&w);
	}
}

static void a_crashed_server_leaves_its_clients_with_errors(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		sim_loop_crash(w.lanes[0], seed % 2 ? SIM_CRASH_PROCESS : SIM_CRASH_MACHINE);
		web_world_finish(&w);
		sim_loop_bury(w.lanes[0]);
		web_world_release(&w);
	}
}

static void all_of_it_holds_over_tls(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 2 ? 0.003 : 0);
		struct web_climate climate = { .tls = true,
					       .faulty = seed % 2,
					       .fickle = seed % 4 == 1,
					       .leaving = seed % 4 == 2 };
		struct web_world w;

		web_world_init(&w, &opts, climate);
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		if (climate.leaving)
			web_world_drain(&w, WEB_HANG_MS);
		web_world_finish(&w);
		if (!climate.leaving)
			web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void keep_line(void *arg, struct str line)
{
	(void)buf_add_str(arg, line);
	(void)buf_addc(arg, '\n');
}

static char *trace_with_seed(uint64_t seed)
{
	struct buf lines = BUF_INIT(64 * MIB);
	struct sim_opts opts = draw_opts(seed, 0.0005);
	struct web_world w;

	opts.trace = keep_line;
	opts.arg = &lines;
	web_world_init(&w, &opts, (struct web_climate){ .faulty = true, .fickle = true });
	sim_run_for(w.sim, 50);
	(void)sim_break_conns(w.sim, 0.3);
	web_world_finish(&w);
	web_world_drain(&w, 1000);
	web_world_release(&w);
	return buf_take(&lines);
}

static void equal_seeds_repeat_to_the_byte(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		char *first = trace_with_seed(seed), *again = trace_with_seed(seed);
		char *other = trace_with_seed(seed + 5);

		assert_true(strlen(first) > 3 * 1000);
		assert_string_equal(first, again);
		assert_string_not_equal(first, other);
		free(first);
		free(again);
		free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_every_request_is_answered),
		cmocka_unit_test(a_server_that_hangs_up_idle_connections_loses_no_request),
		cmocka_unit_test(fickle_clients_disturb_only_themselves),
		cmocka_unit_test(lost_connections_fail_requests_but_mix_nothing_up),
		cmocka_unit_test(cuts_heal_or_end_in_time_outs),
		cmocka_unit_test(a_graceful_drain_loses_nothing_that_was_begun),
		cmocka_unit_test(a_hasty_drain_leaves_no_connection),
		cmocka_unit_test(a_crashed_server_leaves_its_clients_with_errors),
		cmocka_unit_test(all_of_it_holds_over_tls),
		cmocka_unit_test(equal_seeds_repeat_to_the_byte),
	};

	return cmocka_run_group_tests_name("net/sim_http", tests, NULL, NULL);
}

/*
 * Large writes are done in parts: one decision, or one reply, per turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "net/sim/sim.h"
#include "server/testing/state_world.h"

/* A part of a large write, and a small read that arrives during it. */
struct part {
	struct job job, small;
	char name;
	struct buf *order;
};

static void small_done(struct job *j UNUSED)
{
}

static void small_run(struct state *st UNUSED, struct job *j)
{
	(void)buf_addc(CONTAINER_OF(j, struct part, small)->order, '.');
	job_finish(j);
}

static void part_run(struct state *st, struct job *j)
{
	struct part *p = CONTAINER_OF(j, struct part, job);

	(void)buf_addc(p->order, p->name);
	state_submit(st, &p->small);
	job_finish(j);
}

static void part_done(struct job *j)
{
	struct part *p = CONTAINER_OF(j, struct part, job);

	(void)buf_addc(p->order, (char)(p->name + 'a' - 'A'));
}

static void part_start(struct state_world *w, struct part *p, char name, struct buf *order)
{
	*p = (struct part){ .job = { .home = w->loop, .run = part_run, .done = part_done },
			    .small = { .home = w->loop, .run = small_run, .done = small_done },
			    .name = name,
			    .order = order };
	p->job.writes = p->job.large = true;
	state_submit(w->state, &p->job);
}

static void between_the_parts_of_large_writes_others_are_served(void **state UNUSED)
{
	struct state_world_opts opts = { .store = { .local = true }, .seed = 1 };
	struct state_world w;
	struct part a, b;
	struct buf order;

	state_world_init(&w, &opts);
	buf_init(&order, 64);
	part_start(&w, &a, 'A', &order);
	part_start(&w, &b, 'B', &order);
	sim_run_for(w.sim, 10);
	assert_true(str_eqz(buf_str(&order), "A.aB.b"));
	part_start(&w, &a, 'A', &order);
	part_start(&w, &b, 'B', &order);
	state_world_release(&w); /* a stopping state completes the rest */
	assert_int_equal(order.n, 12);
	buf_release(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_the_parts_of_large_writes_others_are_served),
	};

	return cmocka_run_group_tests_name("server/state_large", tests, NULL, NULL);
}

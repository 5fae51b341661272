/*
 * The system clock and the manual one.
 */
#include "base/core/clock.h"

#include "base/core/compiler.h"

static int64_t read_clock(clockid_t id)
{
	struct timespec ts;

	(void)clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * CLOCK_SEC + ts.tv_nsec;
}

static int64_t system_monotonic(const struct clock *c UNUSED)
{
	return read_clock(CLOCK_MONOTONIC);
}

static int64_t system_wall(const struct clock *c UNUSED)
{
	return read_clock(CLOCK_REALTIME);
}

const struct clock *clock_system(void)
{
	static const struct clock system = {
		.monotonic = system_monotonic,
		.wall = system_wall,
	};

	return &system;
}

int64_t clock_thread_work(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t manual_monotonic(const struct clock *c)
{
	return ((const struct clock_manual *)(const void *)c)->monotonic_ns;
}

static int64_t manual_wall(const struct clock *c)
{
	return ((const struct clock_manual *)(const void *)c)->wall_ns;
}

void clock_manual_init(struct clock_manual *c, int64_t monotonic_ns, int64_t wall_ns)
{
	*c = (struct clock_manual){
		.clock = { .monotonic = manual_monotonic, .wall = manual_wall },
		.monotonic_ns = monotonic_ns,
		.wall_ns = wall_ns,
	};
}

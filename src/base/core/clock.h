/*
 * clock - time as a parameter.
 *
 * Code that needs the time takes a `const struct clock *` or a `now`; only this file reads the
 * kernel's clocks. A test moves a manual clock by hand.
 */
#ifndef BASE_CORE_CLOCK_H
#define BASE_CORE_CLOCK_H

#include <stdint.h>

struct clock {
	/* Nanoseconds that never decrease, from an arbitrary start: for deadlines. */
	int64_t (*monotonic)(const struct clock *c);
	/* Nanoseconds since 1970 UTC; may jump: for timestamps shown to people. */
	int64_t (*wall)(const struct clock *c);
};

#define CLOCK_MS  INT64_C(1000000)
#define CLOCK_SEC INT64_C(1000000000)

static inline int64_t clock_monotonic(const struct clock *c)
{
	return c->monotonic(c);
}

static inline int64_t clock_wall(const struct clock *c)
{
	return c->wall(c);
}

/* The kernel's clocks. */
const struct clock *clock_system(void);

/* CPU time of this thread in ns: the cost of work, without waiting. */
int64_t clock_thread_work(void);

/* A clock for tests: stands still until its fields are changed. */
struct clock_manual {
	struct clock clock;
	int64_t monotonic_ns, wall_ns;
};

void clock_manual_init(struct clock_manual *c, int64_t monotonic_ns, int64_t wall_ns);

#endif

/*
 * One counter per level, and one for all. Taking is an addition that is taken back when it was
 * too much, so two loops never both get the last seat; both may miss it in the same moment, and the
 * one that leaves next wakes whoever waits.
 */
#include "server/flow_seats.h"

bool flow_seats_take(struct flow_seats *s)
{
	long long mine = atomic_fetch_add(&s->taken, 1), all = atomic_fetch_add(&s->hall->taken, 1);
	long long nominal = atomic_load_explicit(&s->nominal, memory_order_relaxed);

	if (mine < nominal)
		return true;
	if (mine < nominal + atomic_load_explicit(&s->borrowed, memory_order_relaxed) &&
	    all < atomic_load_explicit(&s->hall->total, memory_order_relaxed))
		return true;
	flow_seats_leave(s);
	return false;
}

void flow_seats_leave(struct flow_seats *s)
{
	(void)atomic_fetch_sub(&s->hall->taken, 1);
	(void)atomic_fetch_sub(&s->taken, 1);
}

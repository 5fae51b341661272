/*
 * One counter per level, and one for all. Neither ever exceeds its limit, not even briefly. So if
 * a request finds no seat, another request holds it, and will wake the waiting ones when it
 * leaves.
 */
#include "server/flow/seats.h"

/* Adds one unless `limit` is reached. */
static bool add_below(atomic_llong *n, long long limit)
{
	long long now = atomic_load(n);

	while (now < limit)
		if (atomic_compare_exchange_weak(n, &now, now + 1))
			return true;
	return false;
}

bool flow_seats_take(struct flow_seats *s)
{
	long long nominal = atomic_load_explicit(&s->nominal, memory_order_relaxed);
	long long borrowed = atomic_load_explicit(&s->borrowed, memory_order_relaxed);

	if (add_below(&s->taken, nominal)) {
		(void)atomic_fetch_add(&s->hall->taken, 1);
		return true;
	}
	if (!add_below(&s->hall->taken, atomic_load(&s->hall->total)))
		return false;
	if (add_below(&s->taken, nominal + borrowed))
		return true;
	(void)atomic_fetch_sub(&s->hall->taken, 1);
	return false;
}

void flow_seats_leave(struct flow_seats *s)
{
	(void)atomic_fetch_sub(&s->hall->taken, 1);
	(void)atomic_fetch_sub(&s->taken, 1);
}

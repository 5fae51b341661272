/*
 * The orders of the four heaps. Each ends with the arrival number: pods that the profile's sort
 * treats as equal leave in order of arrival.
 */
#include "scheduler/queue/podqueue_impl.h"

static bool first_come(const struct queued_pod *a, const struct queued_pod *b)
{
	return a->order < b->order;
}

bool queue_less_active(const void *x, const void *y)
{
	const struct queued_pod *a = x, *b = y;
	const struct plugin *sort = a->profile->queue_sort;

	if (!sort) {
		if (a->pod->priority != b->pod->priority)
			return a->pod->priority > b->pod->priority;
		if (a->since_ms != b->since_ms)
			return a->since_ms < b->since_ms;
		return first_come(a, b);
	}
	if (sort->kind->less(sort, a, b))
		return true;
	return !sort->kind->less(sort, b, a) && first_come(a, b);
}

bool queue_less_backoff(const void *x, const void *y)
{
	const struct queued_pod *a = x, *b = y;

	if (a->backoff_until_ms != b->backoff_until_ms)
		return a->backoff_until_ms < b->backoff_until_ms;
	return queue_less_active(a, b);
}

bool queue_less_error(const void *x, const void *y)
{
	const struct queued_pod *a = x, *b = y;

	if (a->backoff_until_ms != b->backoff_until_ms)
		return a->backoff_until_ms < b->backoff_until_ms;
	return first_come(a, b);
}

bool queue_less_flush(const void *x, const void *y)
{
	const struct queued_pod *a = x, *b = y;
	int64_t last_a = MAX(a->since_ms, a->flushed_ms);
	int64_t last_b = MAX(b->since_ms, b->flushed_ms);

	return last_a != last_b ? last_a < last_b : first_come(a, b);
}

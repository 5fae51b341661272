/*
 * When retired memory is freed, and that readers on threads never read freed memory.
 */
#include "server/cache/reclaim.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/core/mem.h"

static void count(void *p)
{
	++*(unsigned *)p;
}

static void without_readers_a_flush_frees(void **state UNUSED)
{
	struct reclaim *r = reclaim_new(2);
	unsigned freed = 0;

	reclaim_flush(r);
	reclaim_retire(r, &freed, count);
	assert_int_equal(freed, 0);
	assert_int_equal(reclaim_pending(r), 1);
	reclaim_flush(r);
	assert_int_equal(freed, 1);
	assert_int_equal(reclaim_pending(r), 0);
	reclaim_free(r);
}

static void a_section_keeps_what_was_retired_during_it(void **state UNUSED)
{
	struct reclaim *r = reclaim_new(2);
	unsigned before = 0, during = 0, later = 0;

	reclaim_retire(r, &before, count);
	reclaim_flush(r);
	reclaim_enter(r, 0);
	reclaim_retire(r, &during, count);
	reclaim_flush(r);
	reclaim_enter(r, 1); /* began later, so it cannot have found `during` */
	reclaim_retire(r, &later, count);
	reclaim_flush(r);
	assert_int_equal(before, 1);
	assert_int_equal(during + later, 0);
	reclaim_leave(r, 0);
	reclaim_flush(r);
	assert_int_equal(during, 1);
	assert_int_equal(later, 0);
	reclaim_leave(r, 1);
	reclaim_flush(r);
	assert_int_equal(later, 1);
	reclaim_free(r);
}

static void an_object_retired_before_a_flush_outlives_older_sections(void **state UNUSED)
{
	struct reclaim *r = reclaim_new(1);
	unsigned freed = 0;

	reclaim_retire(r, &freed, count);
	reclaim_enter(r, 0); /* in the same epoch: it may have found the object */
	reclaim_flush(r);
	assert_int_equal(freed, 0);
	reclaim_leave(r, 0);
	reclaim_flush(r);
	assert_int_equal(freed, 1);
	reclaim_free(r);
}

static void retiring_flushes_by_itself(void **state UNUSED)
{
	struct reclaim *r = reclaim_new(1);
	unsigned freed = 0;

	for (unsigned i = 0; i < 10000; i++)
		reclaim_retire(r, &freed, count);
	assert_true(freed > 9000);
	assert_true(reclaim_pending(r) < 1000);
	reclaim_free(r);
	assert_int_equal(freed, 10000);
}

/* --- on threads --------------------------------------------------------------------- */

enum { READERS = 3, STEPS = 20000 };

struct shared {
	struct reclaim *reclaim;
	_Atomic(unsigned *) number;
	atomic_bool over;
	atomic_uint entered; /* the next reader's number */
};

static void *read_until_over(void *arg)
{
	struct shared *s = arg;
	size_t reader = atomic_fetch_add(&s->entered, 1);
	unsigned long wrong = 0;
	unsigned last = 0;

	while (!atomic_load(&s->over)) {
		unsigned seen;

		reclaim_enter(s->reclaim, reader);
		seen = *atomic_load(&s->number);
		reclaim_leave(s->reclaim, reader);
		wrong += seen < last || seen > STEPS;
		last = seen;
	}
	return (void *)wrong;
}

static unsigned *numbered(unsigned n)
{
	unsigned *p = xmalloc(sizeof(*p));

	*p = n;
	return p;
}

/* So that a reader of freed memory sees it also without a sanitizer. */
static void spoil(void *p)
{
	*(unsigned *)p = UINT32_MAX;
	free(p);
}

static void readers_never_see_freed_memory(void **state UNUSED)
{
	struct shared s = { .reclaim = reclaim_new(READERS) };
	pthread_t threads[READERS];

	atomic_store(&s.number, numbered(0));
	for (size_t i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_until_over, &s), 0);
	while (atomic_load(&s.entered) < READERS)
		(void)sched_yield();
	for (unsigned i = 1; i <= STEPS; i++) {
		reclaim_retire(s.reclaim, atomic_exchange(&s.number, numbered(i)), spoil);
		if (i % 7 == 0)
			reclaim_flush(s.reclaim);
	}
	atomic_store(&s.over, true);
	for (size_t i = 0; i < READERS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	reclaim_flush(s.reclaim);
	assert_int_equal(reclaim_pending(s.reclaim), 0);
	reclaim_free(s.reclaim);
	free(atomic_load(&s.number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_readers_a_flush_frees),
		cmocka_unit_test(a_section_keeps_what_was_retired_during_it),
		cmocka_unit_test(an_object_retired_before_a_flush_outlives_older_sections),
		cmocka_unit_test(retiring_flushes_by_itself),
		cmocka_unit_test(readers_never_see_freed_memory),
	};

	return cmocka_run_group_tests_name("server/cache_reclaim", tests, NULL, NULL);
}

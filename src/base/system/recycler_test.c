/* Memory that is kept by size: what is handed out is the caller's alone, whatever came before. */
#include "base/system/recycler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "base/core/mem.h"
#include "base/core/random.h"

enum { BLOCKS = 400, STEPS = 20000, MOST = RECYCLER_SIZES * RECYCLER_STEP + 1000 };

struct piece {
	unsigned char *p;
	size_t n;
	unsigned char fill;
};

static void check(const struct piece *b)
{
	for (size_t i = 0; i < b->n; i++)
		assert_int_equal(b->p[i], b->fill);
}

static void begin(struct recycler *r, struct piece *b, size_t n, unsigned char fill)
{
	*b = (struct piece){ recycler_alloc(r, n), n, fill };
	assert_int_equal((uintptr_t)b->p % 16, 0);
	memset(b->p, fill, n);
}

static void grow(struct recycler *r, struct piece *b, size_t n)
{
	size_t same = MIN(b->n, n);

	b->p = recycler_realloc(r, b->p, n);
	for (size_t i = 0; i < same; i++)
		assert_int_equal(b->p[i], b->fill);
	b->n = n;
	memset(b->p, b->fill, n);
}

/* Blocks come, change their size and go in any order; nobody's bytes change meanwhile. */
static void blocks_do_not_overlap(void **state UNUSED)
{
	struct piece blocks[BLOCKS] = { 0 };
	struct recycler r;
	struct prng prng;

	recycler_init(&r);
	prng_init(&prng, 7);
	for (int i = 0; i < STEPS; i++) {
		struct piece *b = &blocks[prng_below(&prng, BLOCKS)];
		size_t n = prng_below(&prng, MOST);

		if (!b->p) {
			begin(&r, b, n, (unsigned char)i);
		} else if (prng_below(&prng, 3) == 0) {
			grow(&r, b, n);
		} else {
			check(b);
			recycler_free(&r, b->p);
			b->p = NULL;
		}
		assert_true(r.kept <= RECYCLER_KEPT);
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		if (blocks[i].p)
			check(&blocks[i]);
		recycler_free(&r, blocks[i].p);
	}
	recycler_release(&r);
	assert_int_equal(r.kept, 0);
}

static void the_memory_that_a_recycler_keeps_has_a_limit(void **state UNUSED)
{
	enum { MANY = 2 * RECYCLER_KEPT / RECYCLER_STEP };
	void **all = xcalloc(MANY, sizeof(*all));
	struct recycler r;

	recycler_init(&r);
	for (size_t i = 0; i < MANY; i++)
		all[i] = recycler_alloc(&r, RECYCLER_STEP);
	for (size_t i = 0; i < MANY; i++)
		recycler_free(&r, all[i]);
	assert_true(r.kept <= RECYCLER_KEPT);
	free(all);
	recycler_release(&r);
}

static void none_is_one_that_keeps_nothing(void **state UNUSED)
{
	void *p = recycler_alloc(NULL, 10);
	struct recycler r;

	recycler_init(&r);
	p = recycler_realloc(NULL, p, 10000);
	p = recycler_realloc(&r, p, 0);
	recycler_free(&r, p);
	recycler_free(NULL, recycler_realloc(NULL, NULL, 0));
	recycler_free(&r, NULL);
	assert_true(r.kept < 10000 + RECYCLER_STEP);
	recycler_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_do_not_overlap),
		cmocka_unit_test(the_memory_that_a_recycler_keeps_has_a_limit),
		cmocka_unit_test(none_is_one_that_keeps_nothing),
	};

	return cmocka_run_group_tests_name("base/recycler", tests, NULL, NULL);
}

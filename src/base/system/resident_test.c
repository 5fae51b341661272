/* The process gives back what it freed, and does not try again for nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/core/compiler.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/resident.h"

enum { PIECES = 4096, PIECE = 16 * 1024 };

/* Many pieces, of which one at the end stays: the allocator cannot give the rest back by itself. */
static char *fragment(void)
{
	char **pieces = xcalloc(PIECES, sizeof(*pieces)), *kept;

	for (int i = 0; i < PIECES; i++)
		pieces[i] = memset(xmalloc(PIECE), 1, PIECE);
	kept = xmalloc(64);
	for (int i = 0; i < PIECES; i++)
		free(pieces[i]);
	free(pieces);
	return kept;
}

static void freed_memory_goes_back_when_there_is_much(void **state)
{
	struct resident r = { 0 };
	size_t before;
	char *kept;

	(void)state;
	if (SANITIZED)
		skip();
	(void)resident_trim(&r, 1);
	before = resident_own();
	assert_in_range(before, 1, SIZE_MAX);
	kept = fragment();
	assert_in_range(resident_freed(), 32 * MIB, SIZE_MAX);
	assert_true(resident_trim(&r, 16 * MIB));
	assert_in_range(resident_own(), 1, before + 16 * MIB);
	assert_false(resident_trim(&r, 16 * MIB));
	free(kept);
}

static void memory_in_use_is_left_alone(void **state)
{
	struct resident r = { 0 };
	char *used[64];

	(void)state;
	if (SANITIZED)
		skip();
	(void)resident_trim(&r, 1);
	for (int i = 0; i < 64; i++)
		used[i] = memset(xmalloc(100 * KIB), 1, 100 * KIB);
	assert_false(resident_trim(&r, 4 * MIB));
	for (int i = 0; i < 64; i++)
		free(used[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freed_memory_goes_back_when_there_is_much),
		cmocka_unit_test(memory_in_use_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

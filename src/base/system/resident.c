/*
 * Checking takes microseconds, returning memory takes milliseconds, so it is done only if there may
 * be something to return.
 */
#include "base/system/resident.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/compiler.h"
#include "base/core/mem.h"

/* statm: size, resident, of which shared, in pages. */
size_t resident_own(void)
{
	char text[128] = "", *at = text;
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long resident, shared;

	if (!f)
		return 0;
	BEST_EFFORT(fgets(text, sizeof(text), f));
	(void)fclose(f);
	(void)strtoull(at, &at, 10);
	resident = strtoull(at, &at, 10);
	shared = strtoull(at, &at, 10);
	return resident > shared ? (size_t)(resident - shared) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

#if defined(__GLIBC__) && !SANITIZED
size_t resident_freed(void)
{
	struct mallinfo2 m = mallinfo2();
	size_t used = m.uordblks + m.hblkhd, own = resident_own();

	return own > used ? own - used : 0;
}
#else
size_t resident_freed(void)
{
	return 0;
}
#endif

bool resident_trim(struct resident *r, size_t bytes)
{
	size_t freed = resident_freed();

	r->left = MIN(r->left, freed);
	if (freed - r->left < bytes)
		return false;
	mem_give_back();
	r->left = resident_freed();
	return true;
}

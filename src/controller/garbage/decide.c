/*
 * One solid owner keeps an object. Then references to waiting owners are removed, too, or these
 * would wait for ever.
 */
#include "controller/garbage/decide.h"

enum garbage_action garbage_decide(const struct garbage_facts *f)
{
	size_t solid = 0, waiting = 0;

	if (f->nowners == 0)
		return GARBAGE_KEEP;
	for (size_t i = 0; i < f->nowners; i++) {
		solid += f->owners[i] == GARBAGE_SOLID;
		waiting += f->owners[i] == GARBAGE_WAITING;
	}
	if (solid == f->nowners)
		return GARBAGE_KEEP;
	if (solid > 0)
		return GARBAGE_UNREFER;
	if (waiting > 0 && f->has_dependents)
		return f->dependent_waits ? GARBAGE_UNBLOCK_FOREGROUND : GARBAGE_FOREGROUND;
	return GARBAGE_DELETE;
}

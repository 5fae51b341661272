/*
 * What the scripts of all shells have in common.
 */
#include "cli/completion.h"

bool completion_wants_path(const struct flag *flag)
{
	static const char *const names[] = { "FILE", "DIR", "PATH" };

	for (size_t i = 0; flag->arg && i < ARRAY_SIZE(names); i++)
		if (strcmp(flag->arg, names[i]) == 0)
			return true;
	return false;
}

void completion_add_choices(struct buf *out, const struct flag *flag)
{
	for (const char *p = flag->choices; *p; p++)
		(void)buf_addc(out, *p == '|' ? ' ' : *p);
}

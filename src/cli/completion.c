/*
 * What the scripts of all shells have in common.
 */
#include "cli/completion.h"

bool completion_wants_path(const struct flag *flag)
{
	return flag->arg && (strcmp(flag->arg, "FILE") == 0 || strcmp(flag->arg, "DIR") == 0);
}

void completion_add_choices(struct buf *out, const struct flag *flag)
{
	for (const char *p = flag->choices; *p; p++)
		(void)buf_addc(out, *p == '|' ? ' ' : *p);
}

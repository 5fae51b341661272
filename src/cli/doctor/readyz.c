/* cli/roles/endpoint.c writes this text. */
#include "cli/doctor/readyz.h"

#include <stddef.h>

bool doctor_readyz_is(struct str text)
{
	return str_starts(text, STR("[+]")) || str_starts(text, STR("[-]"));
}

bool doctor_readyz_failure(struct str text, struct str *ret_check, struct str *ret_why)
{
	static const struct str failed = { " failed: ", 9 };
	struct str line;
	ptrdiff_t at;

	while (str_split(&text, '\n', &line)) {
		at = str_find(line, failed);
		if (!str_starts(line, STR("[-]")) || at < 0)
			continue;
		*ret_check = str_of(line.p + 3, (size_t)at - 3);
		*ret_why = str_skip(line, (size_t)at + failed.n);
		return true;
	}
	return false;
}

bool doctor_readyz_passed(struct str text, struct str name)
{
	struct str line;

	while (str_split(&text, '\n', &line))
		if (str_starts(line, STR("[+]")) && str_starts(str_skip(line, 3), name))
			return true;
	return false;
}

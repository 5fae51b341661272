/*
 * Knows the forms that the manifests have: FLAG and FLAG=VALUE. A value that is an argument of its
 * own is not seen.
 */
#include "cli/doctor/arguments.h"

#include "base/json/json.h"

static bool list_has(struct str list, const char *item)
{
	struct str name;

	while (str_split(&list, ',', &name))
		if (str_eqz(name, item))
			return true;
	return false;
}

static bool sets(struct str arg, const struct doctor_flag *flag)
{
	struct str name;

	if (!str_split(&arg, '=', &name) || !str_eqz(name, flag->name))
		return false;
	return flag->item ? list_has(arg, flag->item) : !str_eqz(arg, "false");
}

bool doctor_has_flag(const struct json *args, const struct doctor_flag *flag)
{
	if (!flag->name)
		return true;
	JSON_FOREACH (it, args)
		if (sets(json_str(it), flag))
			return true;
	return false;
}

/*
 * The common part of all shells' scripts.
 */
#include "cli/program/completion.h"

#include "api/schema/schema.h"

bool completion_wants_path(const struct flag *flag)
{
	static const char *const names[] = { "FILE", "DIR", "PATH" };

	for (size_t i = 0; flag->arg && i < ARRAY_SIZE(names); i++)
		if (strcmp(flag->arg, names[i]) == 0)
			return true;
	return false;
}

const char *completion_values(const struct flag *flag)
{
	return flag->choices ? flag->choices : flag->usual;
}

void completion_add_values(struct buf *out, const struct flag *flag)
{
	for (const char *p = completion_values(flag); *p; p++)
		(void)buf_addc(out, *p == '|' ? ' ' : *p);
}

/* Versions and groups may share a resource name. */
static bool is_told(const struct schema_kind *const *kinds, size_t n, struct str resource)
{
	for (size_t i = 0; i < n; i++)
		if ((kinds[i]->verbs & SCHEMA_LIST_VERB) && str_eq(kinds[i]->resource, resource))
			return true;
	return false;
}

void completion_add_types(struct buf *out)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		if ((kinds[i]->verbs & SCHEMA_LIST_VERB) && !is_told(kinds, i, kinds[i]->resource))
			(void)buf_printf(out, "%.*s ", STR_ARG(kinds[i]->resource));
	(void)buf_addz(out, "resourcepools devices");
}

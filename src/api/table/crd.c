/*
 * Columns of definitions of custom resources.
 */
#include "api/table/column.h"

#include <stdlib.h>

#include "api/table/columns.h"
#include "base/core/limits.h"
#include "base/core/vec.h"

static int order(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return str_cmp(column_find_str(*x, "name"), column_find_str(*y, "name"));
}

/* Prints the served versions: "v1(storage),v1beta1". */
void column_definition_versions(const struct json *object, int64_t now_ns UNUSED, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	VEC(const struct json *) served;

	vec_init(&served, SIZE_MAX);
	JSON_FOREACH (v, column_find(object, "spec.versions"))
		if (column_find_bool(v, "served"))
			(void)vec_push(&served, v);
	if (served.n)
		qsort(served.v, served.n, sizeof(*served.v), order);
	for (size_t i = 0; i < served.n; i++)
		(void)buf_printf(&text, "%s%.*s%s", i ? "," : "",
				 STR_ARG(column_find_str(served.v[i], "name")),
				 column_find_bool(served.v[i], "storage") ? "(storage)" : "");
	column_text(out, buf_str(&text), "");
	vec_release(&served);
}

void column_definition_short_names(const struct json *object, int64_t now_ns UNUSED,
				   struct buf *out)
{
	column_join(out, column_find(object, "spec.names.shortNames"), NULL, ",", "");
}

void column_definition_established(const struct json *object, int64_t now_ns UNUSED,
				   struct buf *out)
{
	(void)buf_addz(out, column_condition(object, STR("Established")) ? "true" : "false");
}

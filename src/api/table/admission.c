/*
 * Columns of admission policies and their bindings.
 */
#include "api/api_limits.h"
#include "api/table/column.h"
#include "api/table/columns.h"

void column_validation_count(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)now_ns;
	(void)buf_add_i64(out, (int64_t)json_count(column_find(object, "spec.validations")));
}

void column_mutation_count(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)now_ns;
	(void)buf_add_i64(out, (int64_t)json_count(column_find(object, "spec.mutations")));
}

void column_param_kind(const struct json *object, int64_t now_ns, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	const struct json *kind = column_find(object, "spec.paramKind");

	(void)now_ns;
	if (kind)
		(void)buf_printf(&text, "%.*s/%.*s", STR_ARG(json_text_at(kind, "apiVersion")),
				 STR_ARG(json_text_at(kind, "kind")));
	column_text(out, buf_str(&text), "<unset>");
}

/* It is not known here whether the parameters are namespaced, so they are shown as if they were. */
void column_param_ref(const struct json *object, int64_t now_ns, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	const struct json *ref = column_find(object, "spec.paramRef");
	struct str name = json_text_at(ref, "name"), ns = json_text_at(ref, "namespace");

	(void)now_ns;
	if (ref && !name.n) {
		column_label_selector(out, json_getz(ref, "selector"));
		return;
	}
	if (name.n)
		(void)buf_printf(&text, "%.*s/%.*s", STR_ARG(ns.n ? ns : STR("*")), STR_ARG(name));
	column_text(out, buf_str(&text), "<unset>");
}

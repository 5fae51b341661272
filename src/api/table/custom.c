/*
 * Cells of custom kinds. The type of the column decides how a value is shown. A value that does not
 * fit is null, and kubectl leaves the cell empty.
 */
#include "api/table/column.h"

#include "api/api_limits.h"
#include "api/table/jsonpath.h"
#include "base/text/print.h"
#include "base/time/timestamp.h"

/* Prints strings unchanged, other scalars as Go does, the rest as JSON. */
static void custom_print_text(const struct json *value, struct buf *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);

	switch (value->type) {
	case JSON_STRING:
		(void)json_print_str(out, json_str(value), NULL);
		return;
	case JSON_NULL:
		(void)buf_addz(&text, "<no value>");
		break;
	case JSON_DOUBLE:
		(void)print_f64(&text, value->f64);
		break;
	default:
		(void)json_print(&text, value, NULL);
		break;
	}
	(void)json_print_str(out, buf_str(&text), NULL);
}

static bool print_integer(const struct json *value, struct buf *out)
{
	double number;
	int64_t whole;

	if (json_i64(value, &whole))
		return buf_add_i64(out, whole) == 0;
	if (!json_f64(value, &number) || number < -9.2e18 || number > 9.2e18)
		return false;
	return buf_add_i64(out, (int64_t)number) == 0;
}

static bool print_date(const struct json *value, int64_t now_ns, struct buf *out)
{
	struct str text = json_str(value);
	int64_t ns;

	if (!text.p)
		return false;
	if (timestamp_parse(text, &ns, NULL) < 0)
		column_text(out, STR("<invalid>"), "");
	else
		column_since(out, text, now_ns, "<unknown>");
	return true;
}

static bool print_typed(const char *type, const struct json *value, int64_t now_ns, struct buf *out)
{
	double number;

	if (strcmp(type, "integer") == 0)
		return print_integer(value, out);
	if (strcmp(type, "number") == 0)
		return json_f64(value, &number) && json_print(out, value, NULL) == 0;
	if (strcmp(type, "boolean") == 0)
		return value->type == JSON_BOOL && json_print(out, value, NULL) == 0;
	return strcmp(type, "date") == 0 && print_date(value, now_ns, out);
}

void column_jsonpath(const struct schema_column *c, const struct json *object, int64_t now_ns,
		     struct buf *out)
{
	const struct json *value = jsonpath_first(c->jsonpath, object);

	if (value && strcmp(c->type, "string") == 0)
		custom_print_text(value, out);
	else if (!value || !print_typed(c->type, value, now_ns, out))
		(void)buf_addz(out, "null");
}

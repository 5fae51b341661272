/*
 * Functions that the cells of many kinds share.
 */
#include "api/table/column.h"

#include <stdarg.h>

#include "api/table/table.h"
#include "base/time/timestamp.h"

struct json *column_find(const struct json *object, const char *path)
{
	struct str rest = str_from(path), name;
	struct json *at = (struct json *)object;

	while (at && str_split(&rest, '.', &name))
		at = json_get(at, name);
	return at;
}

struct str column_find_str(const struct json *object, const char *path)
{
	return json_str(column_find(object, path));
}

int64_t column_find_i64(const struct json *object, const char *path)
{
	int64_t value;

	return json_i64(column_find(object, path), &value) ? value : 0;
}

bool column_find_bool(const struct json *object, const char *path)
{
	bool value;

	return json_bool(column_find(object, path), &value) && value;
}

void column_text(struct buf *out, struct str text, const char *absent)
{
	(void)json_print_str(out, text.n ? text : str_from(absent), NULL);
}

void column_printf(struct buf *out, const char *fmt, ...)
{
	struct buf text = BUF_INIT(CELL_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&text, fmt, ap);
	va_end(ap);
	(void)json_print_str(out, text.p ? buf_str(&text) : STR(""), NULL);
	buf_release(&text);
}

void column_since(struct buf *out, struct str time, int64_t now_ns, const char *absent)
{
	struct buf text = BUF_INIT(CELL_MAX);
	int64_t then;

	if (time.n == 0 || timestamp_parse(time, &then, NULL) < 0) {
		column_text(out, STR_NULL, absent);
		return;
	}
	(void)table_age(then, now_ns, &text);
	(void)json_print_str(out, buf_str(&text), NULL);
	buf_release(&text);
}

void column_join(struct buf *out, const struct json *list, const char *key, const char *sep,
		 const char *absent)
{
	struct buf text = BUF_INIT(CELL_MAX);
	bool first = true;

	JSON_FOREACH (item, list) {
		if (!first)
			(void)buf_addz(&text, sep);
		first = false;
		(void)buf_add_str(&text, json_str(key ? json_getz(item, key) : item));
	}
	column_text(out, buf_str(&text), absent);
	buf_release(&text);
}

bool column_condition(const struct json *object, struct str type)
{
	JSON_FOREACH (c, column_find(object, "status.conditions"))
		if (str_eq(json_text_at(c, "type"), type))
			return str_eqz(json_text_at(c, "status"), "True");
	return false;
}

/* --- labels --------------------------------------------------------------------------- */

/*
 * Returns the member with the smallest key above `after`, or of all for STR_NULL; NULL at the end.
 * Fast enough, because maps are small.
 */
static const struct json *next_member(const struct json *map, struct str after)
{
	const struct json *best = NULL;

	JSON_FOREACH (m, map) {
		if (after.p && str_cmp(json_key(m), after) <= 0)
			continue;
		if (!best || str_cmp(json_key(m), json_key(best)) < 0)
			best = m;
	}
	return best;
}

static void add_labels(struct buf *text, const struct json *map)
{
	const struct json *m = next_member(map, STR_NULL);

	for (; m; m = next_member(map, json_key(m)))
		(void)buf_printf(text, "%s%.*s=%.*s", text->n ? "," : "", STR_ARG(json_key(m)),
				 STR_ARG(json_str(m)));
}

void column_labels(struct buf *out, const struct json *map)
{
	struct buf text = BUF_INIT(CELL_MAX);

	add_labels(&text, map);
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

static void add_expression(struct buf *text, const struct json *e)
{
	struct str key = json_text_at(e, "key");
	struct str op = json_text_at(e, "operator");
	bool first = true;

	if (text->n)
		(void)buf_addc(text, ',');
	if (str_eq(op, STR("DoesNotExist")))
		(void)buf_addc(text, '!');
	(void)buf_add_str(text, key);
	if (!str_eq(op, STR("In")) && !str_eq(op, STR("NotIn")))
		return;
	(void)buf_addz(text, str_eq(op, STR("In")) ? " in (" : " notin (");
	JSON_FOREACH (v, json_getz(e, "values")) {
		(void)buf_printf(text, "%s%.*s", first ? "" : ",", STR_ARG(json_str(v)));
		first = false;
	}
	(void)buf_addc(text, ')');
}

void column_label_selector(struct buf *out, const struct json *selector)
{
	struct buf text = BUF_INIT(CELL_MAX);

	add_labels(&text, json_getz(selector, "matchLabels"));
	JSON_FOREACH (e, json_getz(selector, "matchExpressions"))
		add_expression(&text, e);
	column_text(out, buf_str(&text), "<none>");
	buf_release(&text);
}

/* --- cells of many kinds ----------------------------------------------------------------- */

void column_age(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_since(out, column_find_str(object, "metadata.creationTimestamp"), now_ns,
		     "<unknown>");
}

void column_template_containers(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "spec.template.spec.containers"), "name", ",", "");
}

void column_template_images(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "spec.template.spec.containers"), "image", ",", "");
}

void column_selector(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_label_selector(out, column_find(object, "spec.selector"));
}

void column_selector_map(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_labels(out, column_find(object, "spec.selector"));
}

void column_data_count(const struct json *object, int64_t now_ns, struct buf *out)
{
	size_t n = json_count(json_getz(object, "data"));

	(void)buf_add_u64(out, n + json_count(json_getz(object, "binaryData")));
}

void column_ready_replicas(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_printf(out, "%lld/%lld", (long long)column_find_i64(object, "status.readyReplicas"),
		      (long long)column_find_i64(object, "spec.replicas"));
}

void column_webhook_count(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_u64(out, json_count(json_getz(object, "webhooks")));
}

void column_updated_replicas(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "status.updatedReplicas"));
}

void column_available_replicas(const struct json *object, int64_t now_ns, struct buf *out)
{
	(void)buf_add_i64(out, column_find_i64(object, "status.availableReplicas"));
}

void column_template_object_containers(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "template.spec.containers"), "name", ",", "");
}

void column_template_object_images(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_join(out, column_find(object, "template.spec.containers"), "image", ",", "");
}

void column_template_object_labels(const struct json *object, int64_t now_ns, struct buf *out)
{
	column_labels(out, column_find(object, "template.metadata.labels"));
}

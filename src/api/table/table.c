/*
 * The columns of a Table are Name and those of the kind's schema; a kind without columns has Name
 * and Age. A kind that lists its own Name (events show it last) has it at that place.
 */
#include "api/table/table.h"

#include "api/table/column.h"
#include "base/json/writer.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

static const struct schema_column name_column = {
	.name = "Name",
	.type = "string",
	.format = "name",
	.doc = "Its name, unique among the objects of its kind in a namespace.",
	.path = "metadata.name",
};

static const struct schema_column age_column = {
	.name = "Age",
	.type = "string",
	.format = "",
	.doc = "How long ago it was created.",
	.cell = column_age,
};

static bool names_itself(const struct schema_kind *kind)
{
	/*
	 * A definition may give a column any name, but the object's name comes first nevertheless.
	 */
	if (kind->custom)
		return false;
	for (size_t i = 0; i < kind->ncolumns; i++)
		if (strcmp(kind->columns[i].name, "Name") == 0)
			return true;
	return false;
}

/* Returns the i-th column as shown; NULL after the last. */
static const struct schema_column *column_at(const struct schema_kind *kind, size_t i)
{
	if (!names_itself(kind)) {
		if (i == 0)
			return &name_column;
		i--;
	}
	if (kind->ncolumns == 0)
		return i == 0 ? &age_column : NULL;
	return i < kind->ncolumns ? &kind->columns[i] : NULL;
}

static void print_definition(struct json_writer *w, const struct schema_column *c)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "name");
	json_writer_strz(w, c->name);
	json_writer_keyz(w, "type");
	json_writer_strz(w, c->type);
	json_writer_keyz(w, "format");
	json_writer_strz(w, c->format ? c->format : "");
	json_writer_keyz(w, "description");
	json_writer_strz(w, c->doc ? c->doc : "");
	json_writer_keyz(w, "priority");
	json_writer_i64(w, c->priority);
	json_writer_end_object(w);
}

int table_begin(const struct schema_kind *kind, struct str version, struct str meta,
		bool with_columns, struct buf *out)
{
	const struct schema_column *c;
	struct json_writer w;

	(void)buf_printf(out,
			 "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%.*s\","
			 "\"metadata\":%.*s,\"columnDefinitions\":",
			 STR_ARG(version), STR_ARG(meta));
	json_writer_init(&w, out, NULL);
	if (with_columns) {
		json_writer_begin_array(&w);
		for (size_t i = 0; (c = column_at(kind, i)); i++)
			print_definition(&w, c);
		json_writer_end_array(&w);
	} else {
		json_writer_null(&w);
	}
	(void)json_writer_finish(&w);
	return buf_addz(out, ",\"rows\":[");
}

/* Returns the cell of an absent field, by the type of its column. */
static const char *zero_of(const struct schema_column *c)
{
	if (strcmp(c->type, "integer") == 0 || strcmp(c->type, "number") == 0)
		return "0";
	if (strcmp(c->type, "boolean") == 0)
		return "false";
	return "\"\"";
}

static void print_cell(const struct schema_column *c, const struct json *object, int64_t now_ns,
		       struct buf *out)
{
	const struct json *value;

	if (c->jsonpath) {
		column_jsonpath(c, object, now_ns, out);
		return;
	}
	if (!c->path) {
		c->cell(object, now_ns, out);
		return;
	}
	value = column_find(object, c->path);
	if (!value || value->type == JSON_NULL || json_is_container(value))
		(void)buf_addz(out, zero_of(c));
	else
		(void)json_print(out, value, NULL);
}

static void print_object(const struct json *object, enum table_include include, struct str version,
			 struct buf *out)
{
	const struct json *meta = json_getz(object, "metadata");

	if (include == TABLE_INCLUDE_OBJECT) {
		(void)json_print(out, object, NULL);
		return;
	}
	if (include == TABLE_INCLUDE_NONE) {
		(void)buf_addz(out, "null");
		return;
	}
	(void)buf_printf(out,
			 "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%.*s\","
			 "\"metadata\":",
			 STR_ARG(version));
	if (meta)
		(void)json_print(out, meta, NULL);
	else
		(void)buf_addz(out, "{}");
	(void)buf_addc(out, '}');
}

int table_row(const struct schema_kind *kind, const struct json *object, enum table_include include,
	      struct str version, int64_t now_ns, struct buf *out)
{
	const struct schema_column *c;

	(void)buf_addz(out, "{\"cells\":[");
	for (size_t i = 0; (c = column_at(kind, i)); i++) {
		if (i > 0)
			(void)buf_addc(out, ',');
		print_cell(c, object, now_ns, out);
	}
	(void)buf_addz(out, "],\"object\":");
	print_object(object, include, version, out);
	return buf_addc(out, '}');
}

int table_end(struct buf *out)
{
	return buf_addz(out, "]}");
}

int table_age(int64_t then_ns, int64_t now_ns, struct buf *out)
{
	char text[DURATION_SIZE];

	if (then_ns == 0)
		return buf_addz(out, "<unknown>");
	return buf_add_str(out, duration_print_age(now_ns - then_ns, text));
}

/*
 * Reads scalars, objects (by tables of fields) and arrays strictly. Errors have the path of the
 * field.
 */
#include "base/time/duration.h"
#include "scheduler/config/config_impl.h"

static struct field_value values_shown(struct config_reader *r, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	if (json_is(v, JSON_STRING))
		return FIELD_STR(json_str(v));
	if (json_print(&text, v, NULL) < 0)
		return FIELD_OMITTED;
	return FIELD_JSON(arena_str(&r->config->arena, buf_str(&text)));
}

static int wrong(struct config_reader *r, const struct json *v, const struct field_path *path,
		 const char *must)
{
	field_errors_invalid(&r->faults, path, values_shown(r, v), must);
	return 0;
}

int config_text(struct config_reader *r, const struct json *v, const struct field_path *path,
		void *to)
{
	if (!json_is(v, JSON_STRING))
		return wrong(r, v, path, "must be a string");
	*(struct str *)to = arena_str(&r->config->arena, json_str(v));
	return 0;
}

int config_bool(struct config_reader *r, const struct json *v, const struct field_path *path,
		void *to)
{
	return json_bool(v, to) ? 0 : wrong(r, v, path, "must be a boolean");
}

int config_i64(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to)
{
	return json_i64(v, to) ? 0 : wrong(r, v, path, "must be an integer");
}

int config_i32(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to)
{
	int64_t value;

	if (!json_i64(v, &value) || value < INT32_MIN || value > INT32_MAX)
		return wrong(r, v, path, "must be a 32-bit integer");
	*(int32_t *)to = (int32_t)value;
	return 0;
}

int config_f64(struct config_reader *r, const struct json *v, const struct field_path *path,
	       void *to)
{
	return json_f64(v, to) ? 0 : wrong(r, v, path, "must be a number");
}

int config_duration(struct config_reader *r, const struct json *v, const struct field_path *path,
		    void *to)
{
	struct error why;

	if (!json_is(v, JSON_STRING))
		return wrong(r, v, path, "must be a duration such as 15s");
	if (duration_parse(json_str(v), to, &why) < 0)
		return wrong(r, v, path, why.msg);
	return 0;
}

int config_ignored(struct config_reader *r UNUSED, const struct json *v UNUSED,
		   const struct field_path *path UNUSED, void *to UNUSED)
{
	return 0;
}

static int unknown_field(struct config_reader *r, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	(void)field_path_print(path, &text);
	return error_set(r->err, ERR_INVALID, "strict decoding error: unknown field \"%.*s\"",
			 STR_ARG(buf_str(&text)));
}

int config_object(struct config_reader *r, const struct json *v, const struct field_path *path,
		  const struct config_field *fields, void *to)
{
	if (!json_is(v, JSON_OBJECT))
		return wrong(r, v, path, "must be an object");
	JSON_FOREACH (member, v) {
		const struct config_field *f = fields;
		struct field_path at = { path, json_key(member), 0, FIELD_PATH_NAME };
		int rc;

		while (f->name && !str_eqz(at.text, f->name))
			f++;
		if (!f->name)
			return unknown_field(r, &at);
		if (json_is(member, JSON_NULL))
			continue;
		rc = f->read(r, member, &at, (char *)to + f->offset);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int config_array(struct config_reader *r, const struct json *v, const struct field_path *path,
		 const struct config_field *element, size_t size, void **ret_array, size_t *ret_n)
{
	size_t i = 0;
	char *array;

	if (!json_is(v, JSON_ARRAY))
		return wrong(r, v, path, "must be a list");
	array = arena_calloc(&r->config->arena, (json_count(v) + 1) * size);
	JSON_FOREACH (item, v) {
		struct field_path at = field_path_index(path, i);
		int rc = element->read(r, item, &at, array + i * size);

		if (rc < 0)
			return rc;
		i++;
	}
	*ret_array = array;
	*ret_n = i;
	return 0;
}

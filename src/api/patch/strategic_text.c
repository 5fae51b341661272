/*
 * Error messages of a strategic merge. People search for these texts, so they are upstream's, which
 * show values as Go prints them: map[name:a ports:[80 81]].
 *
 * A text is cut off at the end of its buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_limits.h"
#include "api/patch/strategic_impl.h"

#define TEXT_MAX 1024 /* more than an error's message can hold */

static void strategic_text_add_value(struct buf *out, struct arena *a, const struct json *value,
				     unsigned depth);

static void strategic_text_add_object(struct buf *out, struct arena *a, const struct json *object,
				      unsigned depth)
{
	struct json **members = json_sorted(a, object);

	(void)buf_addz(out, "map[");
	for (size_t i = 0; i < json_count(object); i++) {
		(void)buf_addz(out, i ? " " : "");
		(void)buf_add_str(out, json_key(members[i]));
		(void)buf_addc(out, ':');
		strategic_text_add_value(out, a, members[i], depth + 1);
	}
	(void)buf_addc(out, ']');
}

static void strategic_text_add_list(struct buf *out, struct arena *a, const struct json *list,
				    unsigned depth)
{
	const char *space = "";

	(void)buf_addc(out, '[');
	JSON_FOREACH (element, list) {
		(void)buf_addz(out, space);
		strategic_text_add_value(out, a, element, depth + 1);
		space = " ";
	}
	(void)buf_addc(out, ']');
}

static void strategic_text_add_value(struct buf *out, struct arena *a, const struct json *value,
				     unsigned depth)
{
	if (out->overflow || depth > OBJECT_DEPTH_MAX)
		return;
	if (json_is(value, JSON_OBJECT))
		strategic_text_add_object(out, a, value, depth);
	else if (json_is(value, JSON_ARRAY))
		strategic_text_add_list(out, a, value, depth);
	else if (json_is(value, JSON_STRING))
		(void)buf_add_str(out, json_str(value));
	else if (!value || value->type == JSON_NULL)
		(void)buf_addz(out, "<nil>");
	else
		(void)json_print(out, value, NULL);
}

const char *merge_text(struct merge *m, const struct json *value)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(TEXT_MAX);

	strategic_text_add_value(&out, m->arena, value, 0);
	return arena_strdup(m->arena, buf_str(&out));
}

void patch_strategic_text(struct arena *a, const struct json *patch, struct buf *out)
{
	strategic_text_add_value(out, a, patch, 0);
}

static const char *type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "%!s(<nil>)",
		[JSON_BOOL] = "bool",
		[JSON_INT] = "int64",
		[JSON_UINT] = "float64",
		[JSON_DOUBLE] = "float64",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "[]interface {}",
		[JSON_OBJECT] = "map[string]interface {}",
	};

	return names[type];
}

int merge_fail_type(struct merge *m, enum json_type expected, const struct json *actual)
{
	return error_set(m->err, ERR_INVALID, "expected a %s, but received a %s",
			 type_name(expected), type_name(actual ? actual->type : JSON_NULL));
}

int merge_fail_key(struct merge *m, const struct json *object, struct str key)
{
	return error_set(m->err, ERR_INVALID, "map: %s does not contain declared merge key: %.*s",
			 merge_text(m, object), STR_ARG(key));
}

/* Both kinds of numbers that do not fit int64 are float64 in Go. */
static bool same_type(const struct json *a, const struct json *b)
{
	return !strcmp(type_name(a->type), type_name(b->type));
}

static int fail_types(struct merge *m, const struct json *list, const struct json *patch)
{
	return error_set(m->err, ERR_INVALID, "list element types are not identical: [%s %s]",
			 list ? merge_text(m, list) : "[]", patch ? merge_text(m, patch) : "[]");
}

int merge_check_types(struct merge *m, const struct json *list, const struct json *patch)
{
	const struct json *first = json_first(list) ? json_first(list) : json_first(patch);

	if (!first)
		return error_set(m->err, ERR_INVALID, "no elements in any of the given slices");
	if (first->type == JSON_ARRAY)
		return error_set(m->err, ERR_INVALID, "lists of lists are not supported");
	JSON_FOREACH (element, list)
		if (!same_type(element, first) || element->type == JSON_NULL)
			return fail_types(m, list, patch);
	JSON_FOREACH (element, patch)
		if (!same_type(element, first) || element->type == JSON_NULL)
			return fail_types(m, list, patch);
	return 0;
}

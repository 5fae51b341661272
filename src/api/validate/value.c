/*
 * Rules of single values: formats, lengths, enums, ranges. Also the formatting of values in errors,
 * and the few rules that every kind shares with metadata.
 */
#include <inttypes.h>

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "api/validate/validate.h"
#include "api/validate/validate_impl.h"

bool validate_is_unset(const struct json *value)
{
	if (!value)
		return true;
	switch (value->type) {
	case JSON_NULL:
		return true;
	case JSON_INT:
		return value->i64 == 0;
	case JSON_STRING:
	case JSON_ARRAY:
	case JSON_OBJECT:
		return value->n == 0;
	default:
		return false;
	}
}

static struct str value_text_of(struct validation *v, const struct json *value)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(VALIDATE_SHOWN_MAX);

	/* Does not print values that are not kept, because a check may find very many errors. */
	if (field_errors_full(v->errs) || json_print(&b, value, NULL) < 0)
		return STR("<value omitted>");
	return arena_str(v->arena, buf_str(&b));
}

struct field_value validate_shown(struct validation *v, const struct json *value)
{
	if (!value || value->type == JSON_NULL)
		return FIELD_JSON(STR("null"));
	switch (value->type) {
	case JSON_STRING:
		return FIELD_STR(json_str(value));
	case JSON_BOOL:
		return FIELD_BOOL(value->boolean);
	case JSON_INT:
		return FIELD_I64(value->i64);
	case JSON_DOUBLE:
		return FIELD_F64(value->f64);
	default:
		return FIELD_JSON(value_text_of(v, value));
	}
}

/* Lengths inside a format ("32 bytes after the domain") have another error type than its form. */
static bool is_length_fault(const char *fault)
{
	static const char words[] = "may not be more than ";

	return strncmp(fault, words, sizeof(words) - 1) == 0;
}

void validate_format(struct validation *v, enum schema_format format, struct str text,
		     const struct field_path *path)
{
	struct names_faults f;

	names_find_faults(format, text, &f);
	for (size_t i = 0; i < f.n; i++) {
		enum field_error_type type = is_length_fault(f.text[i]) ? FIELD_TOO_LONG
									: FIELD_INVALID;

		field_errors_add(v->errs, type, path, FIELD_STR(f.part[i].p ? f.part[i] : text),
				 str_from(f.text[i]));
	}
}

void validate_immutable(struct validation *v, const struct json *value, const struct json *old,
			const struct field_path *path)
{
	bool same = validate_is_unset(value) ? validate_is_unset(old)
					     : old && json_equal(value, old);

	if (!same)
		field_errors_invalid(v->errs, path, validate_shown(v, value), "field is immutable");
}

static void check_enum(struct validation *v, const struct schema_rules *rules, struct str text,
		       const struct field_path *path)
{
	size_t n = 0;

	for (; rules->values[n].p; n++) {
		if (str_eq(rules->values[n], text))
			return;
	}
	field_errors_not_supported(v->errs, path, FIELD_STR(text), rules->values, n);
}

static void check_text(struct validation *v, const struct schema_field *field, struct str text,
		       const struct field_path *path)
{
	const struct schema_rules *rules = field->rules;

	if (rules->max_length && text.n > rules->max_length) {
		if (!(field->flags & SCHEMA_CHARACTERS))
			field_errors_too_long(v->errs, path, rules->max_length);
		else if (str_characters(text) > rules->max_length)
			field_errors_too_long_characters(v->errs, path, rules->max_length);
	}
	if (rules->format)
		validate_format(v, rules->format, text, path);
	if (rules->values && !(field->flags & SCHEMA_OPEN))
		check_enum(v, rules, text, path);
}

static void check_number(struct validation *v, const struct schema_field *field, int64_t n,
			 const struct field_path *path)
{
	if ((field->flags & SCHEMA_HAS_MIN) && n < field->rules->min)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_I64(n),
				  "must be greater than or equal to %" PRId64, field->rules->min);
	if ((field->flags & SCHEMA_HAS_MAX) && n > field->rules->max)
		field_errors_addf(v->errs, FIELD_INVALID, path, FIELD_I64(n),
				  "must be less than or equal to %" PRId64, field->rules->max);
}

void validate_scalar(struct validation *v, const struct schema_field *field,
		     const struct json *value, const struct field_path *path)
{
	if (!field->rules)
		return;
	if (value->type == JSON_STRING)
		check_text(v, field, json_str(value), path);
	else if (value->type == JSON_INT)
		check_number(v, field, value->i64, path);
}

/*
 * A field that is always printed may be empty or zero in JSON; the rules then apply to that value.
 */
void validate_unset_scalar(struct validation *v, const struct schema_field *field,
			   const struct field_path *path)
{
	if (!field->rules || field->shape != SCHEMA_ONE)
		return;
	if (field->value == SCHEMA_STRING && field->rules->format)
		validate_format(v, field->rules->format, STR(""), path);
	else if (field->value == SCHEMA_INT32 || field->value == SCHEMA_INT64)
		check_number(v, field, 0, path);
}

void validate_raw_object(struct validation *v, const struct json *value, size_t max,
			 const struct field_path *path)
{
	if (!value || value->type == JSON_NULL)
		field_errors_required(v->errs, path, NULL);
	else if (!json_fits(value, max))
		field_errors_too_long(v->errs, path, (int64_t)max);
	else if (value->type != JSON_OBJECT)
		field_errors_invalid(v->errs, path, FIELD_STR(STR("<value omitted>")),
				     "must be a valid JSON object");
}

void validation_warn(struct validation *v, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(VALIDATE_SHOWN_MAX);
	struct text_list *item;
	struct text_list **at = v->warnings;
	va_list ap;

	if (!at)
		return;
	va_start(ap, fmt);
	(void)buf_vprintf(&b, fmt, ap);
	va_end(ap);
	while (*at)
		at = &(*at)->next;
	item = ARENA_NEW(v->arena, struct text_list);
	item->text = arena_str(v->arena, buf_str(&b));
	*at = item;
}

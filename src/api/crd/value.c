/*
 * Single values: their type, and the rules of that type. Numbers are read as Go's decoder does: an
 * integer that fits is an int64, everything else is a float64, and a float64 without a fraction
 * counts as an integer.
 */
#include "api/crd/walk.h"

#include <math.h>

#include "api/api_limits.h"
#include "base/text/print.h"

const struct crd_rules crd_no_rules = { .min_length = -1,
					.max_length = -1,
					.min_items = -1,
					.max_items = -1,
					.min_properties = -1,
					.max_properties = -1 };

static const struct crd_rules *rules_of(const struct crd_schema *s)
{
	return s->rules ? s->rules : &crd_no_rules;
}

/* --- types ------------------------------------------------------------------------ */

static const struct {
	enum crd_type type;
	const char *name, *format;
} natures[] = {
	[JSON_NULL] = { 0, "null", "" },
	[JSON_BOOL] = { CRD_BOOLEAN, "boolean", "" },
	[JSON_INT] = { CRD_INTEGER, "integer", "int64" },
	[JSON_UINT] = { CRD_NUMBER, "number", "float64" },
	[JSON_DOUBLE] = { CRD_NUMBER, "number", "float64" },
	[JSON_STRING] = { CRD_STRING, "string", "" },
	[JSON_ARRAY] = { CRD_ARRAY, "array", "" },
	[JSON_OBJECT] = { CRD_OBJECT, "object", "" },
};

/* Whether it is an integer to JSON consumers: at most 2^53, allowing for rounding of a division. */
static bool is_whole(double f)
{
	const double most = 9007199254740991.0;
	double rounded, off;

	if (!isfinite(f) || f < -most || f > most)
		return false;
	rounded = (double)(int64_t)(f < 0 ? f - 0.5 : f + 0.5);
	off = f < rounded ? rounded - f : f - rounded;
	return off == 0 || (rounded != 0 && off < 1e-9 * (rounded < 0 ? -rounded : rounded));
}

static void add_type(struct crd_check *c, const struct field_path *path, struct str wanted,
		     const char *given)
{
	crd_check_add(c, FIELD_TYPE_INVALID, path, FIELD_STR(str_from(given)),
		      "must be of type %.*s: \"%s\"", STR_ARG(wanted), given);
}

static bool fits_type(const struct crd_schema *s, const struct json *value)
{
	double number;

	if (s->types & natures[value->type].type)
		return true;
	if (value->type == JSON_INT)
		return s->types & CRD_NUMBER;
	return natures[value->type].type == CRD_NUMBER && (s->types & CRD_INTEGER) &&
	       json_f64(value, &number) && is_whole(number);
}

unsigned crd_check_type(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			const struct field_path *path)
{
	struct str format = rules_of(s)->format_name;
	bool textual = value->type == JSON_STRING || value->type == JSON_ARRAY;

	if (value->type == JSON_NULL) {
		if (!s->types || s->nullable)
			return 1;
		add_type(c, path, crd_type_names(s), "null");
		return 0;
	}
	if (format.n && !textual && !fits_type(s, value)) {
		add_type(c, path, format, natures[value->type].format);
		return 0;
	}
	/* kube-openapi leaves strings and lists with a format to the format's check. */
	if (format.n && textual && !(s->types & (CRD_INTEGER | CRD_NUMBER)))
		return 1;
	if (!fits_type(s, value)) {
		add_type(c, path, crd_type_names(s), natures[value->type].name);
		return 0;
	}
	return 1;
}

/* --- text ------------------------------------------------------------------------- */

static void check_lengths(struct crd_check *c, const struct crd_rules *rules, struct str text,
			  const struct field_path *path)
{
	int64_t n = rules->max_length >= 0 || rules->min_length >= 0 ? (int64_t)str_characters(text)
								     : 0;

	if (rules->max_length >= 0 && n > rules->max_length)
		field_errors_too_long(c->errs, path, rules->max_length);
	else if (rules->min_length >= 0 && n < rules->min_length)
		crd_check_add(c, FIELD_INVALID, path, FIELD_STR(text),
			      "should be at least %lld chars long", (long long)rules->min_length);
	else if (rules->pattern && !regex_matches(rules->pattern, text))
		crd_check_add(c, FIELD_INVALID, path, FIELD_STR(text), "should match '%.*s'",
			      STR_ARG(rules->pattern_text));
}

unsigned crd_check_text(struct crd_check *c, const struct crd_rules *rules, struct str text,
			const struct field_path *path)
{
	CLEANUP(buf_release) struct buf quoted = BUF_INIT(REQUEST_WORK_MAX);

	check_lengths(c, rules, text, path);
	if (!rules->format)
		return 1;
	if (!crd_format_holds(rules->format, rules->format_pattern, text)) {
		(void)print_quoted(&quoted, text);
		crd_check_add(c, FIELD_TYPE_INVALID, path, FIELD_STR(text),
			      "must be of type %.*s: %.*s", STR_ARG(rules->format_name),
			      (int)quoted.n, quoted.p ? quoted.p : "");
	}
	return 2;
}

/* --- numbers ---------------------------------------------------------------------- */

struct number {
	bool is_int;
	int64_t i64;
	double f64;
};

static struct number number_of(const struct json *value)
{
	struct number n = { .is_int = value->type == JSON_INT };

	(void)json_f64(value, &n.f64);
	(void)json_i64(value, &n.i64);
	return n;
}

/* Converts as Go does; out of range, where Go's result is undefined, it saturates. */
static int64_t value_cut(double f)
{
	if (f >= 9223372036854775807.0)
		return INT64_MAX;
	return f <= -9223372036854775808.0 ? INT64_MIN : (int64_t)f;
}

static bool is_in_range(struct number n, bool integer, struct str format)
{
	bool small = str_eqz(format, "int32");

	if (!integer)
		return !str_eqz(format, "float") ||
		       (n.f64 <= 3.4028235677973366e38 && n.f64 >= -3.4028235677973366e38);
	/* Every double beyond these is an integer, but does not fit. */
	if (!n.is_int && (n.f64 >= 9223372036854775808.0 || n.f64 < -9223372036854775808.0 ||
			  n.f64 != (double)(int64_t)n.f64))
		return false;
	n.i64 = n.is_int ? n.i64 : value_cut(n.f64);
	return !small || (n.i64 >= INT32_MIN && n.i64 <= INT32_MAX);
}

/* Checks that a value, or a limit, fits its type and format. */
static bool value_check_range(struct crd_check *c, const struct crd_schema *s, struct number n,
			      const char *what, const struct field_path *path)
{
	struct str format = s->types == CRD_INTEGER || s->types == CRD_NUMBER
				    ? rules_of(s)->format_name
				    : STR_NULL;
	struct str type = crd_type_names(s), name;

	if (is_in_range(n, s->types == CRD_INTEGER, format))
		return true;
	name = crd_check_name(c, path);
	if (format.n)
		crd_check_add_plain(c, "%s value must be of type %.*s with format %.*s in %.*s",
				    what, STR_ARG(type), STR_ARG(format), STR_ARG(name));
	else
		crd_check_add_plain(c, "%s value must be of type %.*s (default format) in %.*s",
				    what, STR_ARG(type), STR_ARG(name));
	return false;
}

/* "should be less than 3": for an integer, the limit is shown without its fraction. */
static void add_limit(struct crd_check *c, const struct json *value, const char *words,
		      struct number n, double limit, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	if (n.is_int)
		(void)buf_add_i64(&text, value_cut(limit));
	else
		(void)print_f64(&text, limit);
	crd_check_add(c, FIELD_INVALID, path, validate_shown(c->v, value), "%s %.*s", words,
		      (int)text.n, text.p);
}

static bool exceeds(struct number n, double limit, bool exclusive)
{
	if (n.is_int)
		return exclusive ? n.i64 >= value_cut(limit) : n.i64 > value_cut(limit);
	return exclusive ? n.f64 >= limit : n.f64 > limit;
}

static bool falls_below(struct number n, double limit, bool exclusive)
{
	if (n.is_int)
		return exclusive ? n.i64 <= value_cut(limit) : n.i64 < value_cut(limit);
	return exclusive ? n.f64 <= limit : n.f64 < limit;
}

static bool is_multiple(struct number n, double factor)
{
	if (n.is_int)
		return n.i64 % value_cut(factor) == 0;
	return is_whole(factor < 1 ? 1 / factor * n.f64 : n.f64 / factor);
}

static void check_multiple(struct crd_check *c, const struct crd_schema *s,
			   const struct json *value, struct number n, const struct field_path *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);
	double factor = s->rules->multiple_of;

	if (!value_check_range(c, s, (struct number){ .f64 = factor }, "MultipleOf", path))
		n.is_int = false;
	if (n.is_int ? value_cut(factor) <= 0 : factor <= 0) {
		struct str name = crd_check_name(c, path);

		(void)print_f64(&text, factor);
		field_errors_addf(c->errs, FIELD_INVALID, path, FIELD_F64(factor),
				  "factor MultipleOf declared for %.*s must be positive: %.*s",
				  STR_ARG(name), (int)text.n, text.p);
	} else if (!is_multiple(n, factor)) {
		add_limit(c, value, "should be a multiple of", n, factor, path);
	}
}

unsigned crd_check_number(struct crd_check *c, const struct crd_schema *s, const struct json *value,
			  const struct field_path *path)
{
	const struct crd_rules *rules = rules_of(s);
	struct number n = number_of(value), whole;

	(void)value_check_range(c, s, n, "Checked", path);
	if (rules->has_multiple_of)
		check_multiple(c, s, value, n, path);
	if (rules->has_minimum) {
		whole = n;
		if (!value_check_range(c, s, (struct number){ .f64 = rules->minimum },
				       "Minimum boundary", path))
			whole.is_int = false;
		if (falls_below(whole, rules->minimum, rules->exclusive_minimum))
			add_limit(c, value,
				  rules->exclusive_minimum ? "should be greater than"
							   : "should be greater than or equal to",
				  whole, rules->minimum, path);
	}
	if (rules->has_maximum) {
		whole = n;
		if (!value_check_range(c, s, (struct number){ .f64 = rules->maximum },
				       "Maximum boundary", path))
			whole.is_int = false;
		if (exceeds(whole, rules->maximum, rules->exclusive_maximum))
			add_limit(c, value,
				  rules->exclusive_maximum ? "should be less than"
							   : "should be less than or equal to",
				  whole, rules->maximum, path);
	}
	return 2;
}

/* --- enums ------------------------------------------------------------------------ */

void crd_check_enum(struct crd_check *c, const struct crd_rules *rules, const struct json *value,
		    const struct field_path *path)
{
	struct str *supported;
	size_t n = 0;

	/* Null never matches an enum: upstream cannot compare it. */
	JSON_FOREACH (item, rules->values)
		if (value->type != JSON_NULL && json_equal(item, value))
			return;
	supported = ARENA_ARRAY(c->v->arena, struct str, json_count(rules->values));
	JSON_FOREACH (item, rules->values) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(REQUEST_WORK_MAX);

		if (item->type != JSON_STRING)
			(void)json_print(&text, item, NULL);
		supported[n++] = item->type == JSON_STRING ? json_str(item)
							   : arena_str(c->v->arena, buf_str(&text));
	}
	field_errors_not_supported(c->errs, path, validate_shown(c->v, value), supported, n);
}

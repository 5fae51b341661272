/*
 * Values written as text or numbers: checked, and brought into the form that upstream prints, so
 * that equal objects have equal bytes. Text that has that form already, which is nearly all, is not
 * copied.
 */
#include "api/codec/decode_step.h"

#include "base/json/quantity.h"
#include "base/text/print.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

enum { QUANTITY_SIZE = 64 }; /* maximum length of a canonical quantity */

static const char zero_time[] = "0001-01-01T00:00:00Z";

/*
 * Go's message for types that decode themselves: without the field, with the type they decode from.
 */
static int plain_mismatch(struct decode_fit *f, const struct json *v, const char *type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",   [JSON_BOOL] = "bool",     [JSON_INT] = "number",
		[JSON_UINT] = "number", [JSON_DOUBLE] = "number", [JSON_STRING] = "string",
		[JSON_ARRAY] = "array", [JSON_OBJECT] = "object",
	};

	return error_set(f->err, ERR_BAD_REQUEST,
			 "json: cannot unmarshal %s into Go value of type %s", names[v->type],
			 type);
}

/* Replaces v's text, unless it is equal. */
static void decode_scalar_set_text(struct decode_fit *f, struct json *v, struct str text)
{
	struct json *fresh;

	if (str_eq(json_str(v), text))
		return;
	fresh = json_make_str(f->arena, arena_str(f->arena, text));
	json_assign(v, fresh);
}

static int fit_string(struct decode_fit *f, struct json *v, const struct decode_step *at,
		      bool *ret_zero)
{
	if (v->type != JSON_STRING)
		return decode_mismatch(f, v, at, false);
	*ret_zero = v->n == 0;
	return 0;
}

static int fit_bool(struct decode_fit *f, struct json *v, const struct decode_step *at,
		    bool *ret_zero)
{
	if (v->type != JSON_BOOL)
		return decode_mismatch(f, v, at, false);
	*ret_zero = !v->boolean;
	return 0;
}

static int fit_integer(struct decode_fit *f, struct json *v, const struct decode_step *at,
		       bool *ret_zero)
{
	bool small = at->field->value == SCHEMA_INT32;

	if (v->type != JSON_INT || (small && v->i64 != (int32_t)v->i64))
		return decode_mismatch(f, v, at, false);
	*ret_zero = v->i64 == 0;
	return 0;
}

static int fit_double(struct decode_fit *f, struct json *v, const struct decode_step *at,
		      bool *ret_zero)
{
	double value;

	if (!json_f64(v, &value))
		return decode_mismatch(f, v, at, false);
	*ret_zero = value == 0;
	return 0;
}

/* Go's decoder skips line breaks and does not print them again. */
static struct str without_line_breaks(struct arena *a, struct str s)
{
	char *copy;
	size_t n = 0;

	if (str_chr(s, '\n') < 0 && str_chr(s, '\r') < 0)
		return s;
	copy = arena_alloc(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\n' && s.p[i] != '\r')
			copy[n++] = s.p[i];
	return str_of(copy, n);
}

/* Returns the offset at which the text stops being padded base64; s.n if it is valid. */
static size_t base64_fault(struct str s)
{
	size_t digits = s.n, i;

	while (digits > 0 && s.n - digits < 2 && s.p[digits - 1] == '=')
		digits--;
	for (i = 0; i < digits; i++)
		if (!str_is_alnum(s.p[i]) && s.p[i] != '+' && s.p[i] != '/')
			return i;
	return s.n % 4 == 0 && digits % 4 != 1 ? s.n : digits;
}

/* Go's decoder ignores the unused bits of the last digit, and prints zeros there. */
static struct str canonical_base64(struct arena *a, struct str s)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t last = s.n;
	ptrdiff_t value;
	char *copy;

	while (last > 0 && s.p[last - 1] == '=')
		last--;
	if (last == s.n || last == 0)
		return s;
	value = str_chr(str_from(digits), s.p[last - 1]);
	value &= s.n - last == 1 ? ~3 : ~15;
	if (digits[value] == s.p[last - 1])
		return s;
	copy = arena_strdup(a, s);
	copy[last - 1] = digits[value];
	return str_of(copy, s.n);
}

static int fit_bytes(struct decode_fit *f, struct json *v, const struct decode_step *at,
		     bool *ret_zero)
{
	struct str text;
	size_t bad;

	if (v->type != JSON_STRING)
		return decode_mismatch(f, v, at, false);
	text = without_line_breaks(f->arena, json_str(v));
	bad = base64_fault(text);
	if (bad != text.n || (text.n && text.n % 4))
		return error_set(f->err, ERR_BAD_REQUEST, "illegal base64 data at input byte %zu",
				 bad);
	decode_scalar_set_text(f, v, canonical_base64(f->arena, text));
	*ret_zero = text.n == 0;
	return 0;
}

static int fit_time(struct decode_fit *f, struct json *v, const struct decode_step *at,
		    bool *ret_zero)
{
	bool micro = at->field->value == SCHEMA_MICRO_TIME;
	char out[TIMESTAMP_SIZE];
	struct error why UNZEROED;
	int64_t ns;

	if (v->type != JSON_STRING)
		return plain_mismatch(f, v, "string");
	*ret_zero = str_eqz(json_str(v), zero_time);
	if (*ret_zero)
		return 0;
	if (timestamp_parse(json_str(v), &ns, &why) < 0)
		return error_set(f->err, ERR_BAD_REQUEST,
				 "parsing time \"%.*s\" as \"2006-01-02T15:04:05%sZ07:00\": %s",
				 STR_ARG(json_str(v)), micro ? ".000000" : "", why.msg);
	decode_scalar_set_text(
		f, v, timestamp_print(ns, micro ? TIMESTAMP_MICRO : TIMESTAMP_SECONDS, out));
	return 0;
}

static int fit_duration(struct decode_fit *f, struct json *v, const struct decode_step *at,
			bool *ret_zero)
{
	char out[DURATION_SIZE];
	int64_t ns;

	if (v->type != JSON_STRING)
		return plain_mismatch(f, v, "string");
	if (duration_parse(json_str(v), &ns, NULL) < 0)
		return error_set(f->err, ERR_BAD_REQUEST, "time: invalid duration \"%.*s\"",
				 STR_ARG(json_str(v)));
	decode_scalar_set_text(f, v, duration_print(ns, out));
	return 0;
}

static int fit_quantity(struct decode_fit *f, struct json *v, const struct decode_step *at,
			bool *ret_zero)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(QUANTITY_SIZE);
	struct quantity q;
	struct error why;
	struct str text;

	if (v->type == JSON_STRING && quantity_is_canonical(json_str(v)))
		return 0;
	if (v->type == JSON_STRING) {
		text = str_trim(json_str(v));
	} else {
		(void)json_print(&out, v, NULL);
		text = arena_str(f->arena, buf_str(&out));
		buf_clear(&out);
	}
	if (quantity_parse(text, &q, &why) < 0)
		return error_set(f->err, ERR_BAD_REQUEST, "%s", why.msg);
	(void)quantity_print(q, &out);
	decode_scalar_set_text(f, v, buf_str(&out));
	return 0;
}

static int fit_int_or_string(struct decode_fit *f, struct json *v, const struct decode_step *at,
			     bool *ret_zero)
{
	if (v->type == JSON_STRING || (v->type == JSON_INT && v->i64 == (int32_t)v->i64))
		return 0;
	return plain_mismatch(f, v, "int32");
}

static int fit_anything(struct decode_fit *f, struct json *v, const struct decode_step *at,
			bool *ret_zero)
{
	return 0;
}

int decode_scalar(struct decode_fit *f, struct json *v, const struct decode_step *at,
		  bool *ret_zero)
{
	static int (*const fits[])(struct decode_fit *, struct json *, const struct decode_step *,
				   bool *) = {
		[SCHEMA_STRING] = fit_string,
		[SCHEMA_BOOL] = fit_bool,
		[SCHEMA_INT32] = fit_integer,
		[SCHEMA_INT64] = fit_integer,
		[SCHEMA_DOUBLE] = fit_double,
		[SCHEMA_BYTES] = fit_bytes,
		[SCHEMA_TIME] = fit_time,
		[SCHEMA_MICRO_TIME] = fit_time,
		[SCHEMA_DURATION] = fit_duration,
		[SCHEMA_QUANTITY] = fit_quantity,
		[SCHEMA_INT_OR_STRING] = fit_int_or_string,
		[SCHEMA_RAW_OBJECT] = fit_anything,
		[SCHEMA_ANY] = fit_anything,
	};

	*ret_zero = false;
	return fits[at->field->value](f, v, at, ret_zero);
}

void decode_zero(struct json *v, const struct schema_field *field)
{
	static const struct json zeros[] = {
		[SCHEMA_STRING] = { .type = JSON_STRING, .text = "" },
		[SCHEMA_BOOL] = { .type = JSON_BOOL },
		[SCHEMA_INT32] = { .type = JSON_INT },
		[SCHEMA_INT64] = { .type = JSON_INT },
		[SCHEMA_DOUBLE] = { .type = JSON_INT },
		[SCHEMA_BYTES] = { .type = JSON_STRING, .text = "" },
		[SCHEMA_TIME] = { .type = JSON_NULL },
		[SCHEMA_MICRO_TIME] = { .type = JSON_NULL },
		[SCHEMA_DURATION] = { .type = JSON_STRING, .text = "0s", .n = 2 },
		[SCHEMA_QUANTITY] = { .type = JSON_STRING, .text = "0", .n = 1 },
		[SCHEMA_INT_OR_STRING] = { .type = JSON_INT },
		[SCHEMA_RAW_OBJECT] = { .type = JSON_NULL },
		[SCHEMA_ANY] = { .type = JSON_NULL },
		[SCHEMA_OBJECT] = { .type = JSON_OBJECT },
		[SCHEMA_PROPS_OR_LIST] = { .type = JSON_NULL },
		[SCHEMA_PROPS_OR_BOOL] = { .type = JSON_NULL },
		[SCHEMA_PROPS_OR_STRINGS] = { .type = JSON_NULL },
	};

	json_assign(v, &zeros[field->value]);
}

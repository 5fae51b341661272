/*
 * Reads single values. Several are messages of their own (Time, Quantity, IntOrString, ..) whose
 * JSON is text or a number. They are converted to the text that upstream prints; decode_fit() then
 * checks and normalises it as if a client had written it.
 */
#include <math.h>

#include "api/codec/protobuf_impl.h"
#include "base/text/base64.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

#define ZERO_TIME INT64_C(-62135596800) /* Go's zero time in seconds: year 1 */
#define NS_PER_S  INT64_C(1000000000)

typedef int (*reader)(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json **ret_value);

/* Upstream names the Go field, which is nearly always the JSON name with a capital. */
int protobuf_expect(const struct protobuf_read *d, const struct wire_field *w, enum wire_type type,
		    struct str name)
{
	char first = name.n ? name.p[0] : '?';

	if (w->type == type)
		return 0;
	first = (char)(first >= 'a' && first <= 'z' ? first - 'a' + 'A' : first);
	name = str_skip(name, 1);
	return error_set(d->err, ERR_BAD_REQUEST, "proto: wrong wireType = %d for field %c%.*s",
			 (int)w->type, first, STR_ARG(name));
}

int protobuf_read_text(const struct protobuf_read *d, const struct schema_field *f,
		       const struct wire_field *w, struct str *ret_text)
{
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	if (r < 0)
		return r;
	if (!str_is_utf8(w->bytes))
		return error_set(d->err, ERR_BAD_REQUEST,
				 "field %.*s contains text that is not UTF-8", STR_ARG(f->name));
	*ret_text = w->bytes;
	return 0;
}

int protobuf_read_small(struct protobuf_read *d, struct str message,
			struct wire_field ret_fields[static PROTOBUF_SMALL])
{
	struct wire_field w;
	int r;

	for (size_t i = 0; i < PROTOBUF_SMALL; i++)
		ret_fields[i] = (struct wire_field){ 0 };
	while ((r = wire_next(&message, &w, d->err)) > 0) {
		if (w.number <= PROTOBUF_SMALL)
			ret_fields[w.number - 1] = w;
		else
			d->unknown++;
	}
	return r;
}

/* The same for a field that must be such a message. */
static int read_small(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w,
		      struct wire_field ret_fields[static PROTOBUF_SMALL])
{
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	return r < 0 ? r : protobuf_read_small(d, w->bytes, ret_fields);
}

/* Reads an optional number; 0 if absent. */
static int optional_int(const struct protobuf_read *d, const struct schema_field *f,
			const struct wire_field *w, int64_t *ret_value)
{
	*ret_value = (int64_t)w->value;
	return w->number ? protobuf_expect(d, w, WIRE_VARINT, f->name) : 0;
}

/* Makes a string of the scratch buffer. */
static struct json *scratch_text(struct protobuf_read *d)
{
	struct json *v = json_make_str(d->arena, arena_str(d->arena, buf_str(&d->scratch)));

	buf_clear(&d->scratch);
	return v;
}

/* --- plain ------------------------------------------------------------------------ */

static int read_string(struct protobuf_read *d, const struct schema_field *f,
		       const struct wire_field *w, struct json **ret_value)
{
	struct str text;
	int r = protobuf_read_text(d, f, w, &text);

	if (r == 0)
		*ret_value = json_make_str(d->arena, text);
	return r;
}

static int read_bool(struct protobuf_read *d, const struct schema_field *f,
		     const struct wire_field *w, struct json **ret_value)
{
	int r = protobuf_expect(d, w, WIRE_VARINT, f->name);

	if (r == 0)
		*ret_value = json_make_bool(d->arena, w->value != 0);
	return r;
}

static int read_int(struct protobuf_read *d, const struct schema_field *f,
		    const struct wire_field *w, struct json **ret_value)
{
	int r = protobuf_expect(d, w, WIRE_VARINT, f->name);
	int64_t v = (int64_t)w->value;

	/* The upper bits of an int32 repeat its sign; upstream ignores them. */
	if (f->value == SCHEMA_INT32)
		v = (int32_t)v;
	if (r == 0)
		*ret_value = json_make_i64(d->arena, v);
	return r;
}

static int read_double(struct protobuf_read *d, const struct schema_field *f,
		       const struct wire_field *w, struct json **ret_value)
{
	int r = protobuf_expect(d, w, WIRE_FIXED64, f->name);
	double v;

	if (r < 0)
		return r;
	memcpy(&v, &w->value, sizeof(v));
	if (!isfinite(v))
		return error_set(d->err, ERR_BAD_REQUEST, "field %.*s is not a finite number",
				 STR_ARG(f->name));
	*ret_value = json_make_f64(d->arena, v);
	return 0;
}

static int read_bytes(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json **ret_value)
{
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	if (r == 0)
		r = base64_encode(&d->scratch, w->bytes, BASE64_STD);
	if (r == 0)
		*ret_value = scratch_text(d);
	return r;
}

/* --- messages that are text in JSON ------------------------------------------------- */

/* Time{seconds, nanos}. A Time ignores the nanos; a MicroTime truncates them to micros. */
static int protobuf_scalar_read_time(struct protobuf_read *d, const struct schema_field *f,
				     const struct wire_field *w, struct json **ret_value)
{
	enum timestamp_digits digits = f->value == SCHEMA_TIME ? TIMESTAMP_SECONDS
							       : TIMESTAMP_MICRO;
	struct wire_field fields[PROTOBUF_SMALL];
	char out[TIMESTAMP_SIZE];
	int64_t seconds = 0, nanos = 0, ns;
	int r = read_small(d, f, w, fields);

	if (r == 0)
		r = optional_int(d, f, &fields[0], &seconds);
	if (r == 0)
		r = optional_int(d, f, &fields[1], &nanos);
	if (r < 0)
		return r;
	nanos = digits == TIMESTAMP_SECONDS ? 0 : (int32_t)nanos / 1000 * 1000;
	if (w->bytes.n == 0 || (seconds == ZERO_TIME && nanos == 0)) {
		*ret_value = json_make_null(d->arena);
		return 0;
	}
	if (__builtin_mul_overflow(seconds, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, nanos, &ns))
		return error_set(d->err, ERR_BAD_REQUEST, "field %.*s is a time out of range",
				 STR_ARG(f->name));
	*ret_value = json_make_str(d->arena, arena_str(d->arena, timestamp_print(ns, digits, out)));
	return 0;
}

/* Duration{nanoseconds} */
static int read_duration(struct protobuf_read *d, const struct schema_field *f,
			 const struct wire_field *w, struct json **ret_value)
{
	struct wire_field fields[PROTOBUF_SMALL];
	char out[DURATION_SIZE];
	int64_t ns;
	int r = read_small(d, f, w, fields);

	if (r == 0)
		r = optional_int(d, f, &fields[0], &ns);
	if (r == 0)
		*ret_value = json_make_str(d->arena, arena_str(d->arena, duration_print(ns, out)));
	return r;
}

/* Quantity{text} */
static int protobuf_scalar_read_quantity(struct protobuf_read *d, const struct schema_field *f,
					 const struct wire_field *w, struct json **ret_value)
{
	struct wire_field fields[PROTOBUF_SMALL];
	struct str text = STR("0");
	int r = read_small(d, f, w, fields);

	if (r == 0 && fields[0].number)
		r = protobuf_read_text(d, f, &fields[0], &text);
	if (r == 0)
		*ret_value = json_make_str(d->arena, text);
	return r;
}

/* IntOrString{type, int, text}: type 0 is the number, 1 the text. */
static int read_int_or_string(struct protobuf_read *d, const struct schema_field *f,
			      const struct wire_field *w, struct json **ret_value)
{
	struct wire_field fields[PROTOBUF_SMALL];
	struct str text = STR("");
	int64_t type = 0, number = 0;
	int r = read_small(d, f, w, fields);

	if (r == 0)
		r = optional_int(d, f, &fields[0], &type);
	if (r == 0)
		r = optional_int(d, f, &fields[1], &number);
	if (r == 0 && fields[2].number)
		r = protobuf_read_text(d, f, &fields[2], &text);
	if (r < 0)
		return r;
	if (type != 0 && type != 1)
		return error_set(d->err, ERR_BAD_REQUEST, "impossible IntOrString.Type");
	*ret_value = type ? json_make_str(d->arena, text)
			  : json_make_i64(d->arena, (int32_t)number);
	return 0;
}

/* RawExtension, FieldsV1 and JSON: a message that holds JSON text. */
static int read_raw(struct protobuf_read *d, const struct schema_field *f,
		    const struct wire_field *w, struct json **ret_value)
{
	struct wire_field fields[PROTOBUF_SMALL];
	int r = read_small(d, f, w, fields);

	if (r == 0 && fields[0].number)
		r = protobuf_expect(d, &fields[0], WIRE_BYTES, f->name);
	if (r < 0)
		return r;
	if (fields[0].bytes.n == 0) {
		*ret_value = json_make_null(d->arena);
		return 0;
	}
	r = json_parse(d->arena, fields[0].bytes, NULL, ret_value, d->err);
	return r < 0 ? error_wrap(d->err, r, "field %.*s", STR_ARG(f->name)) : 0;
}

/* --- a CRD's schema ----------------------------------------------------------------- */

/* The content of the three forms: a schema, and the other form in field `other` of the message. */
struct props {
	struct json *schema; /* or NULL */
	struct json *list; /* of schemas or texts */
	bool allows;
};

static int read_props_schema(struct protobuf_read *d, const struct schema_field *f,
			     const struct wire_field *w, struct json **ret_schema)
{
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	if (r < 0)
		return r;
	*ret_schema = json_make_object(d->arena);
	return protobuf_read_object(d, f->type, w->bytes, *ret_schema);
}

/* Reads an element of the other form. */
static int read_props_other(struct protobuf_read *d, const struct schema_field *f,
			    const struct wire_field *w, struct props *p)
{
	struct json *v;
	int r;

	if (f->value == SCHEMA_PROPS_OR_BOOL) {
		p->allows = w->value != 0;
		return protobuf_expect(d, w, WIRE_VARINT, f->name);
	}
	if (f->value == SCHEMA_PROPS_OR_STRINGS)
		r = read_string(d, f, w, &v);
	else
		r = read_props_schema(d, f, w, &v);
	if (r == 0)
		json_append(p->list, v);
	return r;
}

static int read_props(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json **ret_value)
{
	unsigned schema = f->value == SCHEMA_PROPS_OR_BOOL ? 2 : 1;
	struct props p = { .list = json_make_array(d->arena) };
	struct wire_field part;
	struct str rest = w->bytes;
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	while (r == 0 && (r = wire_next(&rest, &part, d->err)) > 0) {
		r = 0;
		if (part.number == schema)
			r = read_props_schema(d, f, &part, &p.schema);
		else if (part.number == 3 - schema)
			r = read_props_other(d, f, &part, &p);
		else
			d->unknown++;
	}
	if (r < 0)
		return r;
	if (f->value == SCHEMA_PROPS_OR_BOOL)
		*ret_value = p.schema ? p.schema : json_make_bool(d->arena, p.allows);
	else if (json_count(p.list))
		*ret_value = p.list;
	else
		*ret_value = p.schema ? p.schema : json_make_null(d->arena);
	return 0;
}

int protobuf_read_scalar(struct protobuf_read *d, const struct schema_field *f,
			 const struct wire_field *w, struct json **ret_value)
{
	static const reader readers[] = {
		[SCHEMA_STRING] = read_string,
		[SCHEMA_BOOL] = read_bool,
		[SCHEMA_INT32] = read_int,
		[SCHEMA_INT64] = read_int,
		[SCHEMA_DOUBLE] = read_double,
		[SCHEMA_BYTES] = read_bytes,
		[SCHEMA_TIME] = protobuf_scalar_read_time,
		[SCHEMA_MICRO_TIME] = protobuf_scalar_read_time,
		[SCHEMA_DURATION] = read_duration,
		[SCHEMA_QUANTITY] = protobuf_scalar_read_quantity,
		[SCHEMA_INT_OR_STRING] = read_int_or_string,
		[SCHEMA_RAW_OBJECT] = read_raw,
		[SCHEMA_ANY] = read_raw,
		[SCHEMA_PROPS_OR_LIST] = read_props,
		[SCHEMA_PROPS_OR_BOOL] = read_props,
		[SCHEMA_PROPS_OR_STRINGS] = read_props,
	};

	return readers[f->value](d, f, w, ret_value);
}

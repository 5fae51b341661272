/*
 * One row per message. A literal becomes a CEL value at once, so only the conversions of its fields
 * are implemented. Numbers are limited to 32 bits, and a float loses digits. Values in Struct,
 * ListValue and Value are converted to JSON's types, where all numbers are doubles.
 */
#include "cel/core/wellknown.h"

#include <inttypes.h>

#include "cel/cel_limits.h"
#include "cel/core/json.h"

#define SECONDS_MIN        INT64_C(-62135596800) /* year 1 */
#define SECONDS_MAX        INT64_C(253402300799) /* year 9999 */
#define SECOND             INT64_C(1000000000)
#define JSON_INTEGER_LIMIT (UINT64_C(1) << 53) /* doubles represent all integers up to here */

static struct cel_value conversion_error(struct cel_eval *ev, const struct cel_message *m,
					 struct str field, const char *why)
{
	return cel_errorf(ev, "field type conversion error for %.*s.%.*s value type: %s",
			  STR_ARG(m->type.name), STR_ARG(field), why);
}

/* A value that is not of the field's type. */
static struct cel_value unsupported(struct cel_eval *ev, const struct cel_message *m,
				    struct str field, const struct cel_value *v)
{
	const struct cel_type *wanted = cel_message_field(m, field);
	struct str type = cel_value_type(v)->name;

	if (wanted->kind == CEL_TYPE_LIST || wanted->kind == CEL_TYPE_MAP)
		return cel_errorf(ev, "unsupported field type for %.*s.%.*s: %.*s",
				  STR_ARG(m->type.name), STR_ARG(field), STR_ARG(type));
	return cel_errorf(ev,
			  "field type conversion error for %.*s.%.*s value type: unsupported type "
			  "conversion from '%.*s' to %.*s",
			  STR_ARG(m->type.name), STR_ARG(field), STR_ARG(type),
			  STR_ARG(wanted->name));
}

/* --- wrappers ------------------------------------------------------------------------ */

static struct cel_value make_wrapper(struct cel_eval *ev, const struct cel_message *m,
				     const struct str *fields, const struct cel_value *values,
				     size_t n)
{
	if (values[n - 1].kind != m->empty.kind)
		return unsupported(ev, m, fields[n - 1], &values[n - 1]);
	return values[n - 1];
}

static struct cel_value make_int32(struct cel_eval *ev, const struct cel_message *m,
				   const struct str *fields, const struct cel_value *values,
				   size_t n)
{
	struct cel_value v = make_wrapper(ev, m, fields, values, n);

	if (v.kind == CEL_INT && v.i != (int32_t)v.i)
		return conversion_error(ev, m, fields[n - 1], "integer overflow");
	return v;
}

static struct cel_value make_uint32(struct cel_eval *ev, const struct cel_message *m,
				    const struct str *fields, const struct cel_value *values,
				    size_t n)
{
	struct cel_value v = make_wrapper(ev, m, fields, values, n);

	if (v.kind == CEL_UINT && v.u > UINT32_MAX)
		return conversion_error(ev, m, fields[n - 1], "unsigned integer overflow");
	return v;
}

static struct cel_value make_float(struct cel_eval *ev, const struct cel_message *m,
				   const struct str *fields, const struct cel_value *values,
				   size_t n)
{
	struct cel_value v = make_wrapper(ev, m, fields, values, n);

	if (v.kind == CEL_DOUBLE)
		v.d = (double)(float)v.d;
	return v;
}

/* --- times --------------------------------------------------------------------------- */

/* Fields seconds and nanos, brought to 0 <= nanos < 1 s. CEL_NULL, or an error. */
static struct cel_value wellknown_read_time(struct cel_eval *ev, const struct cel_message *m,
					    const struct str *fields,
					    const struct cel_value *values, size_t n,
					    int64_t ret_time[static 2])
{
	int64_t carry;

	ret_time[0] = ret_time[1] = 0;
	for (size_t i = 0; i < n; i++) {
		bool nanos = str_eqz(fields[i], "nanos");

		if (values[i].kind != CEL_INT)
			return unsupported(ev, m, fields[i], &values[i]);
		if (nanos && values[i].i != (int32_t)values[i].i)
			return conversion_error(ev, m, fields[i], "integer overflow");
		ret_time[nanos] = values[i].i;
	}
	carry = ret_time[1] / SECOND - (ret_time[1] % SECOND < 0);
	ret_time[1] -= carry * SECOND;
	if (__builtin_add_overflow(ret_time[0], carry, &ret_time[0]))
		return cel_errorf(ev, "integer overflow");
	return CEL_NULL_V;
}

static struct cel_value make_timestamp(struct cel_eval *ev, const struct cel_message *m,
				       const struct str *fields, const struct cel_value *values,
				       size_t n)
{
	int64_t time[2];
	struct cel_value v = wellknown_read_time(ev, m, fields, values, n, time);

	if (cel_is_error(v))
		return v;
	if (time[0] < SECONDS_MIN || time[0] > SECONDS_MAX)
		return cel_errorf(ev, "timestamp overflow");
	return (struct cel_value){ .kind = CEL_TIMESTAMP,
				   .nanos = (uint32_t)time[1],
				   .i = time[0] };
}

static struct cel_value make_duration(struct cel_eval *ev, const struct cel_message *m,
				      const struct str *fields, const struct cel_value *values,
				      size_t n)
{
	int64_t time[2], ns;
	struct cel_value v = wellknown_read_time(ev, m, fields, values, n, time);

	if (cel_is_error(v))
		return v;
	if (__builtin_mul_overflow(time[0], SECOND, &ns) ||
	    __builtin_add_overflow(ns, time[1], &ns))
		return cel_errorf(ev, "duration overflow");
	return CEL_DURATION_V(ns);
}

/* --- JSON ---------------------------------------------------------------------------- */

/* The text that JSON has for bytes and times. */
static struct cel_value json_text(struct cel_eval *ev, const struct cel_value *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CEL_SCRATCH_MAX);
	struct json_writer w;
	char *copy;

	json_writer_init(&w, &text, NULL);
	cel_write_json(ev, v, &w);
	if (json_writer_finish(&w) < 0 || text.n < 2)
		return cel_too_large();
	copy = cel_alloc(ev, text.n);
	if (!copy)
		return cel_too_large();
	memcpy(copy, text.p, text.n);
	return CEL_STRING_V(str_of(copy + 1, text.n - 2)); /* without quotes */
}

static struct cel_value json_integer(struct cel_eval *ev, const struct cel_value *v)
{
	bool negative = v->kind == CEL_INT && v->i < 0;
	uint64_t magnitude = negative ? -(uint64_t)v->i : v->u;
	char *text;
	int n;

	if (magnitude < JSON_INTEGER_LIMIT)
		return CEL_DOUBLE_V(negative ? -(double)magnitude : (double)magnitude);
	text = cel_alloc(ev, 24);
	if (!text)
		return cel_too_large();
	n = snprintf(text, 24, "%s%" PRIu64, negative ? "-" : "", magnitude);
	return CEL_STRING_V(str_of(text, (size_t)n));
}

static struct cel_value to_json(struct cel_eval *ev, const struct cel_value *v, unsigned depth);

static struct cel_value json_list(struct cel_eval *ev, const struct cel_value *v, unsigned depth)
{
	size_t n = cel_list_size(v);
	struct cel_value *items = cel_alloc(ev, (n + 1) * sizeof(*items));

	if (!items)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		struct cel_value item = cel_list_at(ev, v, i);

		items[i] = to_json(ev, &item, depth);
		if (cel_is_error(items[i]))
			return items[i];
	}
	return cel_list(ev, items, n);
}

static struct cel_value json_map(struct cel_eval *ev, const struct cel_value *v, unsigned depth)
{
	size_t n = cel_map_size(v), count = 0, at = 0;
	struct cel_value *pairs = cel_alloc(ev, (2 * n + 1) * sizeof(*pairs));
	struct cel_value key, value;

	if (!pairs)
		return cel_too_large();
	while (count < n && cel_map_next(ev, v, &at, &key, &value)) {
		if (key.kind != CEL_STRING)
			return cel_errorf(ev, "unsupported type conversion from '%.*s' to string",
					  STR_ARG(cel_value_type(&key)->name));
		pairs[2 * count] = key;
		pairs[2 * count + 1] = to_json(ev, &value, depth);
		if (cel_is_error(pairs[2 * count + 1]))
			return pairs[2 * count + 1];
		count++;
	}
	return cel_map(ev, pairs, count);
}

/* Recursive: folds can nest lists without end, so the depth is counted. */
static struct cel_value to_json(struct cel_eval *ev, const struct cel_value *v, unsigned depth)
{
	if (depth == 0)
		return cel_too_large();
	switch (v->kind) {
	case CEL_ERROR:
	case CEL_NULL:
	case CEL_BOOL:
	case CEL_DOUBLE:
	case CEL_STRING:
		return *v;
	case CEL_INT:
	case CEL_UINT:
		return json_integer(ev, v);
	case CEL_BYTES:
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		return json_text(ev, v);
	case CEL_LIST:
		return json_list(ev, v, depth - 1);
	case CEL_MAP:
		return json_map(ev, v, depth - 1);
	default:
		return cel_errorf(
			ev, "unsupported type conversion from '%.*s' to google.protobuf.Value",
			STR_ARG(cel_value_type(v)->name));
	}
}

/* Struct, ListValue and Value: the last given field is the value. */
static struct cel_value make_json(struct cel_eval *ev, const struct cel_message *m,
				  const struct str *fields, const struct cel_value *values,
				  size_t n)
{
	const struct cel_type *type = cel_message_field(m, fields[n - 1]);
	struct cel_value v;

	if (str_eqz(fields[n - 1], "null_value"))
		return CEL_NULL_V;
	if (!str_eq(cel_value_type(&values[n - 1])->name, type->name))
		return unsupported(ev, m, fields[n - 1], &values[n - 1]);
	v = to_json(ev, &values[n - 1], CEL_DEPTH_MAX);
	return cel_is_error(v) ? conversion_error(ev, m, fields[n - 1], v.error) : v;
}

/* --- Empty: the one that stays an object --------------------------------------------- */

static const struct cel_type empty_type = { .kind = CEL_TYPE_OBJECT,
					    .name = { "google.protobuf.Empty", 21 } };

static const struct cel_type *empty_object_type(const void *self)
{
	(void)self;
	return &empty_type;
}

static struct cel_value empty_object_get(struct cel_eval *ev, const void *self, struct str field)
{
	(void)ev;
	(void)self;
	(void)field;
	return CEL_NOTHING;
}

static bool empty_object_equal(struct cel_eval *ev, const void *a, const void *b)
{
	(void)ev;
	(void)a;
	(void)b;
	return true;
}

static const struct cel_object_class empty_class = {
	.type = empty_object_type,
	.get = empty_object_get,
	.equal = empty_object_equal,
};

/* --- the rows ------------------------------------------------------------------------ */

static size_t no_size(const void *self)
{
	(void)self;
	return 0;
}

static struct cel_value no_element(struct cel_eval *ev, const void *self, size_t index)
{
	(void)ev;
	(void)self;
	(void)index;
	return CEL_NOTHING;
}

static struct cel_value no_entry(struct cel_eval *ev, const void *self, const struct cel_value *key)
{
	(void)ev;
	(void)self;
	(void)key;
	return CEL_NOTHING;
}

static bool no_next(struct cel_eval *ev, const void *self, size_t *at, struct cel_value *ret_key,
		    struct cel_value *ret_value)
{
	(void)ev;
	(void)self;
	(void)at;
	(void)ret_key;
	(void)ret_value;
	return false;
}

static const struct cel_list_class no_list = { .size = no_size, .at = no_element };
static const struct cel_map_class no_map = { .size = no_size, .find = no_entry, .next = no_next };

static const struct cel_type map_string_dyn = { .kind = CEL_TYPE_MAP,
						.name = { "map", 3 },
						.params = { &cel_string, &cel_dyn } };

#define NAME(s)                  \
	{                        \
		s, sizeof(s) - 1 \
	}
#define FIELDS(which)     .fields = which, .nfields = ARRAY_SIZE(which)
#define EMPTY(kind_, ...) .empty = { .kind = kind_, __VA_ARGS__ }
#define WRAPPER(name_, primitive)                         \
	.type = { .kind = CEL_TYPE_WRAPPER,               \
		  .name = NAME("google.protobuf." name_), \
		  .params = { &cel_##primitive } },       \
	FIELDS(of_##primitive)

static const struct cel_field of_bool[] = { { NAME("value"), &cel_bool } };
static const struct cel_field of_bytes[] = { { NAME("value"), &cel_bytes } };
static const struct cel_field of_double[] = { { NAME("value"), &cel_double } };
static const struct cel_field of_int[] = { { NAME("value"), &cel_int } };
static const struct cel_field of_string[] = { { NAME("value"), &cel_string } };
static const struct cel_field of_uint[] = { { NAME("value"), &cel_uint } };
static const struct cel_field of_time[] = { { NAME("nanos"), &cel_int },
					    { NAME("seconds"), &cel_int } };
static const struct cel_field of_struct[] = { { NAME("fields"), &map_string_dyn } };
static const struct cel_field of_list[] = { { NAME("values"), &cel_list_dyn } };
static const struct cel_field of_value[] = {
	{ NAME("bool_value"), &cel_bool },     { NAME("list_value"), &cel_list_dyn },
	{ NAME("null_value"), &cel_int },      { NAME("number_value"), &cel_double },
	{ NAME("string_value"), &cel_string }, { NAME("struct_value"), &map_string_dyn },
};

static const struct cel_message messages[] = {
	{ WRAPPER("BoolValue", bool), EMPTY(CEL_BOOL, .b = false), .make = make_wrapper },
	{ WRAPPER("BytesValue", bytes), EMPTY(CEL_BYTES, .s = { "", 0 }), .make = make_wrapper },
	{ WRAPPER("DoubleValue", double), EMPTY(CEL_DOUBLE, .d = 0), .make = make_wrapper },
	{ WRAPPER("FloatValue", double), EMPTY(CEL_DOUBLE, .d = 0), .make = make_float },
	{ WRAPPER("Int32Value", int), EMPTY(CEL_INT, .i = 0), .make = make_int32 },
	{ WRAPPER("Int64Value", int), EMPTY(CEL_INT, .i = 0), .make = make_wrapper },
	{ WRAPPER("StringValue", string), EMPTY(CEL_STRING, .s = { "", 0 }), .make = make_wrapper },
	{ WRAPPER("UInt32Value", uint), EMPTY(CEL_UINT, .u = 0), .make = make_uint32 },
	{ WRAPPER("UInt64Value", uint), EMPTY(CEL_UINT, .u = 0), .make = make_wrapper },
	{ .type = { .kind = CEL_TYPE_DURATION, .name = NAME("google.protobuf.Duration") },
	  FIELDS(of_time),
	  EMPTY(CEL_DURATION, .i = 0),
	  .make = make_duration },
	{ .type = { .kind = CEL_TYPE_TIMESTAMP, .name = NAME("google.protobuf.Timestamp") },
	  FIELDS(of_time),
	  EMPTY(CEL_TIMESTAMP, .i = 0),
	  .make = make_timestamp },
	{ .type = { .kind = CEL_TYPE_OBJECT, .name = NAME("google.protobuf.Empty") },
	  EMPTY(CEL_OBJECT, .object = { &empty_class, NULL }) },
	{ .type = { .kind = CEL_TYPE_MAP,
		    .name = NAME("google.protobuf.Struct"),
		    .params = { &cel_string, &cel_dyn } },
	  FIELDS(of_struct),
	  EMPTY(CEL_MAP, .map = { &no_map, NULL }),
	  .make = make_json },
	{ .type = { .kind = CEL_TYPE_LIST,
		    .name = NAME("google.protobuf.ListValue"),
		    .params = { &cel_dyn } },
	  FIELDS(of_list),
	  EMPTY(CEL_LIST, .list = { &no_list, NULL }),
	  .make = make_json },
	{ .type = { .kind = CEL_TYPE_DYN, .name = NAME("google.protobuf.Value") },
	  FIELDS(of_value),
	  EMPTY(CEL_NULL, .i = 0),
	  .make = make_json },
};

const struct cel_message *cel_wellknown_find(struct str name)
{
	if (!str_starts(name, STR("google.protobuf.")))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (str_eq(messages[i].type.name, name))
			return &messages[i];
	}
	return NULL;
}

const struct cel_type *cel_message_field(const struct cel_message *m, struct str name)
{
	if (m->open)
		return &cel_dyn;
	for (size_t i = 0; i < m->nfields; i++) {
		if (str_eq(m->fields[i].name, name))
			return m->fields[i].type;
	}
	return NULL;
}

struct cel_value cel_wellknown_make(struct cel_eval *ev, const struct cel_type *type,
				    const struct str *fields, const struct cel_value *values,
				    size_t n)
{
	const struct cel_message *m = type->message ? type->message
						    : cel_wellknown_find(type->name);

	if (!m)
		return cel_errorf(ev, "unknown type '%.*s'", STR_ARG(type->name));
	for (size_t i = 0; i < n; i++) {
		if (!cel_message_field(m, fields[i]))
			return cel_errorf(ev, "no such field: %.*s", STR_ARG(fields[i]));
	}
	return m->make && (n > 0 || type->message) ? m->make(ev, m, fields, values, n) : m->empty;
}

/*
 * The walk in the other direction: for each field of the type, in the order of the numbers, writes
 * the tree's member. Errors are sticky, like the buffer's overflow, and are checked once at the
 * end. A tree that does not fit its type is our own mistake. But an object stored by an older
 * version could cause it, so it is an error, not an assertion.
 */
#include "api/codec/protobuf.h"

#include "api/api_limits.h"
#include "api/codec/protobuf_impl.h"
#include "base/core/mem.h"
#include "base/text/base64.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"

#define NS_PER_S INT64_C(1000000000)

struct encode {
	struct buf *out;
	const struct schema_field *bad; /* the first field that did not fit, or NULL */
	unsigned depth;
	bool deep; /* nested deeper than OBJECT_DEPTH_MAX */
};

typedef void (*putter)(struct encode *e, const struct schema_field *f, uint32_t number,
		       const struct json *v);

static void put_object(struct encode *e, const struct schema_field *f, uint32_t number,
		       const struct json *v);

static void protobuf_encode_refuse(struct encode *e, const struct schema_field *f)
{
	if (!e->bad)
		e->bad = f;
}

/* --- plain ------------------------------------------------------------------------ */

static void put_string(struct encode *e, const struct schema_field *f, uint32_t number,
		       const struct json *v)
{
	if (v->type != JSON_STRING)
		protobuf_encode_refuse(e, f);
	else
		wire_put_bytes(e->out, number, json_str(v));
}

static void put_bool(struct encode *e, const struct schema_field *f, uint32_t number,
		     const struct json *v)
{
	if (v->type != JSON_BOOL)
		protobuf_encode_refuse(e, f);
	else
		wire_put_uint(e->out, number, v->boolean);
}

static void put_int(struct encode *e, const struct schema_field *f, uint32_t number,
		    const struct json *v)
{
	if (v->type != JSON_INT)
		protobuf_encode_refuse(e, f);
	else
		wire_put_uint(e->out, number, (uint64_t)v->i64);
}

static void put_double(struct encode *e, const struct schema_field *f, uint32_t number,
		       const struct json *v)
{
	uint64_t bits;
	double d;

	if (!json_f64(v, &d)) {
		protobuf_encode_refuse(e, f);
		return;
	}
	memcpy(&bits, &d, sizeof(bits));
	wire_put_fixed64(e->out, number, bits);
}

/* Decodes in place: bytes have the same framing as a message. */
static void put_bytes(struct encode *e, const struct schema_field *f, uint32_t number,
		      const struct json *v)
{
	size_t mark = wire_open(e->out, number);

	if (v->type != JSON_STRING ||
	    base64_decode(e->out, json_str(v), BASE64_STD, NULL) == -ERR_BAD_REQUEST)
		protobuf_encode_refuse(e, f);
	wire_close(e->out, mark);
}

/* --- messages that are text in JSON ------------------------------------------------- */

/* Time{seconds, nanos} */
static void protobuf_encode_put_time(struct encode *e, const struct schema_field *f,
				     uint32_t number, const struct json *v)
{
	int64_t ns, nanos;
	size_t mark;

	if (timestamp_parse(json_str(v), &ns, NULL) < 0) {
		protobuf_encode_refuse(e, f);
		return;
	}
	nanos = (ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	mark = wire_open(e->out, number);
	wire_put_uint(e->out, 1, (uint64_t)((ns - nanos) / NS_PER_S));
	wire_put_uint(e->out, 2, f->value == SCHEMA_TIME ? 0 : (uint64_t)(nanos / 1000 * 1000));
	wire_close(e->out, mark);
}

static void put_duration(struct encode *e, const struct schema_field *f, uint32_t number,
			 const struct json *v)
{
	int64_t ns;
	size_t mark;

	if (duration_parse(json_str(v), &ns, NULL) < 0) {
		protobuf_encode_refuse(e, f);
		return;
	}
	mark = wire_open(e->out, number);
	wire_put_uint(e->out, 1, (uint64_t)ns);
	wire_close(e->out, mark);
}

static void put_quantity(struct encode *e, const struct schema_field *f, uint32_t number,
			 const struct json *v)
{
	size_t mark = wire_open(e->out, number);

	put_string(e, f, 1, v);
	wire_close(e->out, mark);
}

/* IntOrString{type, int, text}, always with all three. */
static void put_int_or_string(struct encode *e, const struct schema_field *f, uint32_t number,
			      const struct json *v)
{
	size_t mark = wire_open(e->out, number);
	int64_t value = 0;

	if (v->type != JSON_STRING && !json_i64(v, &value))
		protobuf_encode_refuse(e, f);
	wire_put_uint(e->out, 1, v->type == JSON_STRING);
	wire_put_uint(e->out, 2, (uint64_t)value);
	wire_put_bytes(e->out, 3, json_str(v));
	wire_close(e->out, mark);
}

/* RawExtension, FieldsV1, JSON: their JSON text, printed in place. */
static void put_raw(struct encode *e, const struct schema_field *f, uint32_t number,
		    const struct json *v)
{
	size_t mark = wire_open(e->out, number), text = wire_open(e->out, 1);

	(void)json_print(e->out, v, NULL);
	wire_close(e->out, text);
	wire_close(e->out, mark);
}

/* --- a CRD's schema ----------------------------------------------------------------- */

static void put_props(struct encode *e, const struct schema_field *f, uint32_t number,
		      const struct json *v)
{
	bool or_bool = f->value == SCHEMA_PROPS_OR_BOOL;
	size_t mark = wire_open(e->out, number);

	/* A schema implies true. */
	if (or_bool)
		wire_put_uint(e->out, 1, v->type == JSON_OBJECT || v->boolean);
	if (v->type == JSON_OBJECT)
		put_object(e, f, or_bool ? 2 : 1, v);
	else if (v->type != (or_bool ? JSON_BOOL : JSON_ARRAY))
		protobuf_encode_refuse(e, f);
	JSON_FOREACH (item, v->type == JSON_ARRAY ? v : NULL) {
		if (f->value == SCHEMA_PROPS_OR_STRINGS)
			put_string(e, f, 2, item);
		else
			put_object(e, f, 2, item);
	}
	wire_close(e->out, mark);
}

/* --- shapes ----------------------------------------------------------------------- */

static void put_value(struct encode *e, const struct schema_field *f, uint32_t number,
		      const struct json *v)
{
	static const putter putters[] = {
		[SCHEMA_STRING] = put_string,
		[SCHEMA_BOOL] = put_bool,
		[SCHEMA_INT32] = put_int,
		[SCHEMA_INT64] = put_int,
		[SCHEMA_DOUBLE] = put_double,
		[SCHEMA_BYTES] = put_bytes,
		[SCHEMA_TIME] = protobuf_encode_put_time,
		[SCHEMA_MICRO_TIME] = protobuf_encode_put_time,
		[SCHEMA_DURATION] = put_duration,
		[SCHEMA_QUANTITY] = put_quantity,
		[SCHEMA_INT_OR_STRING] = put_int_or_string,
		[SCHEMA_RAW_OBJECT] = put_raw,
		[SCHEMA_ANY] = put_raw,
		[SCHEMA_OBJECT] = put_object,
		[SCHEMA_PROPS_OR_LIST] = put_props,
		[SCHEMA_PROPS_OR_BOOL] = put_props,
		[SCHEMA_PROPS_OR_STRINGS] = put_props,
	};

	/* In a list or map, an empty message stands for a value that is not set. */
	if (v->type == JSON_NULL && f->value != SCHEMA_ANY)
		wire_put_bytes(e->out, number, STR(""));
	else
		putters[f->value](e, f, number, v);
}

static void put_list(struct encode *e, const struct schema_field *f, uint32_t number,
		     const struct json *list)
{
	if (list->type != JSON_ARRAY)
		protobuf_encode_refuse(e, f);
	JSON_FOREACH (v, list)
		put_value(e, f, number, v);
}

static void put_entry(struct encode *e, const struct schema_field *f, const struct json *v)
{
	size_t mark = wire_open(e->out, f->number), items;

	wire_put_bytes(e->out, 1, json_key(v));
	if (f->shape == SCHEMA_MAP_OF_LISTS) {
		items = wire_open(e->out, 2);
		put_list(e, f, 1, v);
		wire_close(e->out, items);
	} else {
		put_value(e, f, 2, v);
	}
	wire_close(e->out, mark);
}

static bool is_sorted(const struct json *map)
{
	JSON_FOREACH (v, map)
		if (v->next && str_cmp(json_key(v), json_key(v->next)) > 0)
			return false;
	return true;
}

static void put_map(struct encode *e, const struct schema_field *f, const struct json *map)
{
	const struct json **entries;
	size_t n = 0;

	if (map->type != JSON_OBJECT) {
		protobuf_encode_refuse(e, f);
		return;
	}
	if (is_sorted(map)) {
		JSON_FOREACH (v, map)
			put_entry(e, f, v);
		return;
	}
	entries = xcalloc(json_count(map), sizeof(struct json *));
	JSON_FOREACH (v, map)
		entries[n++] = v;
	qsort(entries, n, sizeof(struct json *), json_key_order);
	for (size_t i = 0; i < n; i++)
		put_entry(e, f, entries[i]);
	free(entries);
}

/* --- messages --------------------------------------------------------------------- */

static void put_member(struct encode *e, const struct schema_field *f, const struct json *v)
{
	bool absent = !v || (v->type == JSON_NULL && f->value != SCHEMA_ANY);

	if (absent || !f->number)
		return;
	if (f->shape == SCHEMA_ONE)
		put_value(e, f, f->number, v);
	else if (f->shape == SCHEMA_LIST)
		put_list(e, f, f->number, v);
	else
		put_map(e, f, v);
}

/* Returns the number of the inlined message, `level` levels down, that has the field; 0 if none. */
static unsigned inlined_in(const struct schema_field *f, unsigned level)
{
	return level == 0 ? f->inline_number : level == 1 ? f->inline_inner : 0;
}

/* Writes fields that share a message that JSON inlines, `level` levels deep. */
static void put_fields(struct encode *e, const struct schema_field *fields, unsigned n,
		       unsigned level, const struct json *object)
{
	for (unsigned i = 0, end; i < n; i = end) {
		unsigned number = inlined_in(&fields[i], level);
		size_t mark;

		end = i + 1;
		if (!number) {
			put_member(e, &fields[i], json_get(object, fields[i].name));
			continue;
		}
		while (end < n && inlined_in(&fields[end], level) == number)
			end++;
		mark = wire_open(e->out, number);
		put_fields(e, &fields[i], end - i, level + 1, object);
		wire_close(e->out, mark);
	}
}

static void put_object(struct encode *e, const struct schema_field *f, uint32_t number,
		       const struct json *v)
{
	size_t mark;

	if (v->type != JSON_OBJECT)
		protobuf_encode_refuse(e, f);
	e->deep = e->deep || e->depth >= OBJECT_DEPTH_MAX;
	if (e->deep)
		return;
	e->depth++;
	mark = wire_open(e->out, number);
	put_fields(e, f->type->fields, f->type->nfields, 0, v);
	wire_close(e->out, mark);
	e->depth--;
}

int protobuf_too_large(const struct buf *b, struct error *err)
{
	return error_set(err, ERR_TOO_LARGE, "the object takes more than %zu bytes", b->max);
}

int protobuf_encode(const struct schema_type *type, const struct json *tree, struct buf *b,
		    struct error *err)
{
	struct encode e = { .out = b, .depth = 1 };

	put_fields(&e, type->fields, type->nfields, 0, tree);
	if (b->overflow)
		return protobuf_too_large(b, err);
	if (e.deep)
		return error_set(err, ERR_INTERNAL, "exceeded max depth");
	if (e.bad)
		return error_set(err, ERR_INTERNAL, "the field %.*s does not fit its type",
				 STR_ARG(e.bad->name));
	return 0;
}

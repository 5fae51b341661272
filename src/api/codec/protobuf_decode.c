/*
 * Walks schema and message together. Fields of a message may come in any order and any number of
 * times: as in upstream's decoder, the last scalar counts, lists grow, and messages merge. Repeated
 * names of a map are merged once at the end, so that no order of fields takes quadratic time.
 *
 * A message that JSON inlines has no type of its own: its fields are those of the surrounding type
 * with its number in inline_number. So it is read into the same object with another scope.
 */
#include "api/codec/protobuf.h"

#include "api/api_limits.h"
#include "api/codec/decode_step.h"
#include "api/codec/protobuf_impl.h"
#include "base/text/base64.h"

struct scope {
	const struct schema_type *type;
	struct json *object;
	uint16_t outer[2]; /* numbers of the surrounding inlined messages, outermost first; or 0 */
	unsigned hint; /* index of the last field: fields are usually sent in order */
};

static int read_scope(struct protobuf_read *d, struct scope *s, struct str message);

/* Returns the number that identifies the field, or the inlined message with it, in the scope. */
static unsigned number_in(const struct scope *s, const struct schema_field *f, bool *ret_inlined)
{
	*ret_inlined = false;
	if (!s->outer[0]) {
		*ret_inlined = f->inline_number != 0;
		return f->inline_number ? f->inline_number : f->number;
	}
	if (f->inline_number != s->outer[0])
		return 0;
	if (!s->outer[1]) {
		*ret_inlined = f->inline_inner != 0;
		return f->inline_inner ? f->inline_inner : f->number;
	}
	return f->inline_inner == s->outer[1] ? f->number : 0;
}

static const struct schema_field *protobuf_decode_find(struct scope *s, uint32_t number,
						       bool *ret_inlined)
{
	unsigned n = s->type->nfields, at = s->hint;

	for (unsigned i = 0; i < n; i++, at = at + 1 < n ? at + 1 : 0) {
		if (number_in(s, &s->type->fields[at], ret_inlined) != number)
			continue;
		s->hint = at;
		return &s->type->fields[at];
	}
	return NULL;
}

/* --- values ----------------------------------------------------------------------- */

int protobuf_read_object(struct protobuf_read *d, const struct schema_type *type,
			 struct str message, struct json *object)
{
	struct scope s = { .type = type, .object = object };
	int r;

	if (d->depth >= OBJECT_DEPTH_MAX)
		return error_set(d->err, ERR_BAD_REQUEST, "exceeded max depth");
	d->depth++;
	r = read_scope(d, &s, message);
	d->depth--;
	return r;
}

static int read_value(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json **ret_value)
{
	int r;

	if (f->value != SCHEMA_OBJECT)
		return protobuf_read_scalar(d, f, w, ret_value);
	r = protobuf_expect(d, w, WIRE_BYTES, f->name);
	if (r < 0)
		return r;
	*ret_value = json_make_object(d->arena);
	return protobuf_read_object(d, f->type, w->bytes, *ret_value);
}

/* Returns the list or map of that field; creates it if missing. */
static struct json *container(struct protobuf_read *d, const struct schema_field *f,
			      struct json *object)
{
	struct json *v = json_get(object, f->name);
	struct protobuf_map *map;

	if (v)
		return v;
	v = f->shape == SCHEMA_LIST ? json_make_array(d->arena) : json_make_object(d->arena);
	json_add(object, f->name, v);
	if (f->shape == SCHEMA_LIST)
		return v;
	map = ARENA_NEW(d->arena, struct protobuf_map);
	map->map = v;
	map->next = d->maps;
	d->maps = map;
	return v;
}

/* Reads the numbers of a packed list, which have no tags. */
static int read_packed(struct protobuf_read *d, const struct schema_field *f, struct str packed,
		       struct json *list)
{
	struct wire_field w = { .number = f->number, .type = WIRE_VARINT };
	struct json *v;
	int r;

	while (packed.n) {
		r = wire_take_varint(&packed, &w.value, d->err);
		if (r == 0)
			r = protobuf_read_scalar(d, f, &w, &v);
		if (r < 0)
			return r;
		json_append(list, v);
	}
	return 0;
}

static int read_element(struct protobuf_read *d, const struct schema_field *f,
			const struct wire_field *w, struct json *list)
{
	bool number = f->value == SCHEMA_BOOL || f->value == SCHEMA_INT32 ||
		      f->value == SCHEMA_INT64;
	struct json *v;
	int r;

	if (number && w->type == WIRE_BYTES)
		return read_packed(d, f, w->bytes, list);
	r = read_value(d, f, w, &v);
	if (r == 0)
		json_append(list, v);
	return r;
}

/* Reads a value of a map of lists: a message whose field 1 is the list. */
static int read_items(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json **ret_list)
{
	struct str rest = w->bytes;
	struct wire_field item;
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	*ret_list = json_make_array(d->arena);
	while (r == 0 && (r = wire_next(&rest, &item, d->err)) > 0) {
		r = 0;
		if (item.number == 1)
			r = read_element(d, f, &item, *ret_list);
		else
			d->unknown++;
	}
	return r;
}

static struct json *absent_value(struct protobuf_read *d, const struct schema_field *f)
{
	struct json *v;

	if (f->shape == SCHEMA_MAP_OF_LISTS)
		return json_make_array(d->arena);
	v = json_make_null(d->arena);
	decode_zero(v, f);
	return v;
}

/* Reads an entry, a message of key and value; either may be left out if it is zero. */
static int read_entry(struct protobuf_read *d, const struct schema_field *f,
		      const struct wire_field *w, struct json *map)
{
	struct wire_field pair[PROTOBUF_SMALL];
	struct str key = STR("");
	struct json *v;
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	if (r == 0)
		r = protobuf_read_small(d, w->bytes, pair);
	if (r == 0 && pair[0].number)
		r = protobuf_read_text(d, f, &pair[0], &key);
	if (r < 0)
		return r;
	if (!pair[1].number)
		v = absent_value(d, f);
	else if (f->shape == SCHEMA_MAP_OF_LISTS)
		r = read_items(d, f, &pair[1], &v);
	else
		r = read_value(d, f, &pair[1], &v);
	if (r == 0)
		json_add(map, key, v);
	return r;
}

/* --- messages --------------------------------------------------------------------- */

static int read_member(struct protobuf_read *d, const struct schema_field *f,
		       const struct wire_field *w, struct json *object)
{
	struct json *v;
	int r;

	if (f->shape == SCHEMA_LIST)
		return read_element(d, f, w, container(d, f, object));
	if (f->shape != SCHEMA_ONE)
		return read_entry(d, f, w, container(d, f, object));
	v = f->value == SCHEMA_OBJECT ? json_get(object, f->name) : NULL;
	if (v && w->type == WIRE_BYTES)
		return protobuf_read_object(d, f->type, w->bytes, v);
	r = read_value(d, f, w, &v);
	if (r == 0)
		json_set(object, f->name, v);
	return r;
}

static int read_inlined(struct protobuf_read *d, const struct scope *s, const struct wire_field *w,
			const struct schema_field *f)
{
	struct scope inner = *s;
	int r = protobuf_expect(d, w, WIRE_BYTES, f->name);

	inner.outer[s->outer[0] ? 1 : 0] = (uint16_t)w->number;
	return r < 0 ? r : read_scope(d, &inner, w->bytes);
}

static int read_scope(struct protobuf_read *d, struct scope *s, struct str message)
{
	const struct schema_field *f;
	struct wire_field w;
	bool inlined;
	int r;

	while ((r = wire_next(&message, &w, d->err)) > 0) {
		f = protobuf_decode_find(s, w.number, &inlined);
		if (!f)
			d->unknown++;
		else if (inlined)
			r = read_inlined(d, s, &w, f);
		else
			r = read_member(d, f, &w, s->object);
		if (r < 0)
			return r;
		if (d->arena->used > d->arena->max)
			return error_set(d->err, ERR_TOO_LARGE,
					 "the object takes more than %zu bytes of memory",
					 d->arena->max);
	}
	return r;
}

/* Maps were filled without checks; now the last value of each name is kept. */
static void merge_names(struct protobuf_read *d)
{
	struct json_report ignored = { 0 };

	for (const struct protobuf_map *m = d->maps; m; m = m->next)
		(void)json_unique(d->arena, m->map, 0, &ignored);
}

int protobuf_read_message(struct arena *a, const struct schema_type *type, struct str message,
			  size_t *ret_unknown, struct json *object, struct error *err)
{
	struct protobuf_read d = { .arena = a,
				   .err = err,
				   .scratch = BUF_INIT(base64_encoded_size(message.n)) };
	int r = protobuf_read_object(&d, type, message, object);

	buf_release(&d.scratch);
	if (r < 0)
		return r;
	merge_names(&d);
	if (ret_unknown)
		*ret_unknown = d.unknown;
	return 0;
}

int protobuf_decode(struct arena *a, const struct schema_type *type, struct str message,
		    size_t *ret_unknown, struct json **ret_tree, struct error *err)
{
	struct json *object = json_make_object(a);
	int r = protobuf_read_message(a, type, message, ret_unknown, object, err);

	if (r == 0)
		*ret_tree = object;
	return r;
}

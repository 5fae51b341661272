/*
 * JSON lists and objects are linked lists, so reaching element i takes i steps. Short ones are
 * walked. For a longer list, the position of the last access is kept, so that sequential access
 * takes one step per element. Any other access builds an index: an array of the elements, or the
 * members sorted by name. Positions and indexes are in a growing hash table by container, which
 * belongs to the evaluation.
 */
#include "cel/core/json.h"

#include <math.h>

#include "base/text/base64.h"
#include "base/time/timestamp.h"
#include "cel/cel_limits.h"

enum {
	WALK_MAX = 16, /* children that are walked */
	SLOTS_MIN = 16,
};

struct index {
	const uint32_t *order; /* of an object: its members by name */
	const struct json *nodes[];
};

/* Cached data of a container. */
struct slot {
	const struct json *of; /* NULL: free */
	const struct index *index; /* NULL: not built yet */
	const struct json *last; /* for a list: the element of the last access */
	size_t at; /* its index */
};

struct cel_json_indexes {
	size_t n, cap; /* slots taken and in all, a power of two */
	struct slot slots[];
};

static const struct cel_list_class json_list_class;
static const struct cel_map_class json_map_class;

struct cel_value cel_of_json(const struct json *v)
{
	if (!v)
		return CEL_NULL_V;
	switch (v->type) {
	case JSON_BOOL:
		return CEL_BOOL_V(v->boolean);
	case JSON_INT:
		return CEL_INT_V(v->i64);
	case JSON_UINT:
		return CEL_UINT_V(v->u64);
	case JSON_DOUBLE:
		return CEL_DOUBLE_V(v->f64);
	case JSON_STRING:
		return CEL_STRING_V(str_of(v->text, v->n));
	case JSON_ARRAY:
		return (struct cel_value){ .kind = CEL_LIST, .list = { &json_list_class, v } };
	case JSON_OBJECT:
		return (struct cel_value){ .kind = CEL_MAP, .map = { &json_map_class, v } };
	case JSON_NULL:
	default:
		return CEL_NULL_V;
	}
}

bool cel_json_of(const struct cel_value *v, const struct json **ret_tree)
{
	if (v->kind == CEL_LIST && v->list.class == &json_list_class)
		*ret_tree = v->list.self;
	else if (v->kind == CEL_MAP && v->map.class == &json_map_class)
		*ret_tree = v->map.self;
	else
		return false;
	return true;
}

/* --- indexes ------------------------------------------------------------------------ */

static bool names_in_order(const void *nodes, uint32_t a, uint32_t b)
{
	const struct json *const *v = nodes;

	return str_cmp(json_key(v[a]), json_key(v[b])) <= 0;
}

/* NULL without memory. */
static const struct index *index_new(struct cel_eval *ev, const struct json *of)
{
	struct index *x = cel_alloc(ev, sizeof(*x) + of->n * sizeof(x->nodes[0]));
	size_t n = 0;

	if (!x || !cel_work(ev, of->n))
		return NULL;
	JSON_FOREACH (child, of)
		x->nodes[n++] = child;
	x->order = of->type == JSON_OBJECT ? cel_order(ev, n, names_in_order, x->nodes) : NULL;
	return x->order || of->type != JSON_OBJECT ? x : NULL;
}

/* The slot of a container, or the free one where it belongs. */
static struct slot *probe(struct cel_json_indexes *x, const struct json *of)
{
	uint64_t hash = (uint64_t)(uintptr_t)of * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & (x->cap - 1);

	while (x->slots[i].of && x->slots[i].of != of)
		i = (i + 1) & (x->cap - 1);
	return &x->slots[i];
}

/* With room for one more. False without memory. */
static bool json_make_room(struct cel_eval *ev)
{
	struct cel_json_indexes *old = ev->indexes, *x;
	size_t cap = old ? 2 * old->cap : SLOTS_MIN;

	if (old && old->n < old->cap / 4 * 3)
		return true;
	x = cel_alloc(ev, sizeof(*x) + cap * sizeof(x->slots[0]));
	if (!x)
		return false;
	memset(x->slots, 0, cap * sizeof(x->slots[0]));
	x->n = old ? old->n : 0;
	x->cap = cap;
	for (size_t i = 0; old && i < old->cap; i++)
		if (old->slots[i].of)
			*probe(x, old->slots[i].of) = old->slots[i];
	ev->indexes = x;
	return true;
}

/* Returns NULL if memory is used up. *ret_first: this is the first access to the container. */
static struct slot *slot_of(struct cel_eval *ev, const struct json *of, bool *ret_first)
{
	struct slot *slot;

	if (!json_make_room(ev))
		return NULL;
	slot = probe(ev->indexes, of);
	*ret_first = !slot->of;
	if (!slot->of) {
		slot->of = of;
		ev->indexes->n++;
	}
	return slot;
}

/* --- lists and maps ----------------------------------------------------------------- */

static size_t json_size(const void *self)
{
	return ((const struct json *)self)->n;
}

const struct json *cel_json_at(struct cel_eval *ev, const struct json *list, size_t i)
{
	struct slot *slot;
	bool first;

	slot = i < WALK_MAX ? NULL : slot_of(ev, list, &first);
	if (!slot)
		return json_at(list, i);
	if (!first && !slot->index && i != slot->at + 1)
		slot->index = index_new(ev, list);
	if (slot->index)
		return slot->index->nodes[i];
	slot->last = !first && i == slot->at + 1 ? slot->last->next : json_at(list, i);
	slot->at = i;
	return slot->last;
}

static struct cel_value json_list_at(struct cel_eval *ev, const void *self, size_t index)
{
	return cel_of_json(cel_json_at(ev, self, index));
}

static const struct json *halve(const struct index *x, size_t n, struct str name)
{
	size_t low = 0, high = n, middle;
	const struct json *member;
	int order;

	while (low < high) {
		middle = low + (high - low) / 2;
		member = x->nodes[x->order[middle]];
		order = str_cmp(name, json_key(member));
		if (order == 0)
			return member;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

const struct json *cel_json_get(struct cel_eval *ev, const struct json *map, struct str name)
{
	struct slot *slot;
	bool first;

	slot = map->n <= WALK_MAX ? NULL : slot_of(ev, map, &first);
	if (slot && !first && !slot->index)
		slot->index = index_new(ev, map);
	return slot && slot->index ? halve(slot->index, map->n, name) : json_get(map, name);
}

static struct cel_value json_map_find(struct cel_eval *ev, const void *self,
				      const struct cel_value *key)
{
	const struct json *found = key->kind == CEL_STRING ? cel_json_get(ev, self, key->s) : NULL;

	return found ? cel_of_json(found) : CEL_NOTHING;
}

/* *at is the address of the next member, or 1 after the last. */
static bool json_map_next(struct cel_eval *ev, const void *self, size_t *at,
			  struct cel_value *ret_key, struct cel_value *ret_value)
{
	const struct json *member = *at == 0 ? json_first(self) : (const struct json *)*at;

	(void)ev;
	if (*at == 1 || !member)
		return false;
	*ret_key = CEL_STRING_V(json_key(member));
	*ret_value = cel_of_json(member);
	*at = member->next ? (size_t)member->next : 1;
	return true;
}

static const struct cel_list_class json_list_class = {
	.size = json_size,
	.at = json_list_at,
};

static const struct cel_map_class json_map_class = {
	.size = json_size,
	.find = json_map_find,
	.next = json_map_next,
};

/* --- writing ------------------------------------------------------------------------ */

static void write_f64(double v, struct json_writer *w)
{
	if (isnan(v))
		json_writer_strz(w, "NaN");
	else if (isinf(v))
		json_writer_strz(w, v > 0 ? "Infinity" : "-Infinity");
	else
		json_writer_f64(w, v);
}

static void write_bytes(struct str s, struct json_writer *w)
{
	struct buf text = BUF_INIT(base64_encoded_size(s.n));

	(void)base64_encode(&text, s, BASE64_STD);
	json_writer_str(w, buf_str(&text));
	buf_release(&text);
}

/* Writes a value as text, like cel_value_text(). */
static void write_printed(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	struct buf text = BUF_INIT(CEL_SCRATCH_MAX);

	cel_value_text(ev, v, &text);
	json_writer_str(w, buf_str(&text));
	buf_release(&text);
}

static void write_list(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	size_t n = cel_list_size(v);
	struct cel_value item;

	json_writer_begin_array(w);
	for (size_t i = 0; i < n && !w->out->overflow; i++) {
		item = cel_list_at(ev, v, i);
		cel_write_json(ev, &item, w);
	}
	json_writer_end_array(w);
}

static void write_key(struct cel_eval *ev, const struct cel_value *key, struct json_writer *w)
{
	struct buf text = BUF_INIT(CEL_SCRATCH_MAX);

	if (key->kind == CEL_STRING) {
		json_writer_key(w, key->s);
		return;
	}
	cel_value_text(ev, key, &text);
	json_writer_key(w, buf_str(&text));
	buf_release(&text);
}

static void write_map(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	struct cel_value key, value;
	size_t at = 0;

	json_writer_begin_object(w);
	while (!w->out->overflow && cel_map_next(ev, v, &at, &key, &value)) {
		write_key(ev, &key, w);
		cel_write_json(ev, &value, w);
	}
	json_writer_end_object(w);
}

static void write_object(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	const struct cel_type *type = cel_value_type(v);
	struct cel_value value;

	json_writer_begin_object(w);
	for (size_t i = 0; i < type->nfields && !w->out->overflow; i++) {
		value = v->object.class->get(ev, v->object.self, type->fields[i].name);
		if (cel_is_error(value))
			continue;
		json_writer_key(w, type->fields[i].name);
		cel_write_json(ev, &value, w);
	}
	json_writer_end_object(w);
}

/* Deeper than one writer goes: by another one. */
static void write_deeper(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	struct buf text = BUF_INIT(w->out->max);
	struct json_writer deeper;

	json_writer_init(&deeper, &text, NULL);
	cel_write_json(ev, v, &deeper);
	if (json_writer_finish(&deeper) < 0)
		w->out->overflow = true;
	json_writer_raw(w, buf_str(&text));
	buf_release(&text);
}

static void write_container(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	const struct json *tree;

	if (cel_json_of(v, &tree))
		json_writer_tree(w, tree);
	else if (w->depth >= JSON_WRITER_DEPTH_MAX)
		write_deeper(ev, v, w);
	else if (v->kind == CEL_OPTIONAL)
		cel_write_json(ev, v->optional ? v->optional : &CEL_NULL_V, w);
	else if (v->kind == CEL_LIST)
		write_list(ev, v, w);
	else if (v->kind == CEL_MAP)
		write_map(ev, v, w);
	else
		write_object(ev, v, w);
}

/*
 * cel_enter() bounds the recursion. Values that are too deep or too large mark the output as
 * overflowed.
 */
static void write_parts(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	if (cel_enter(ev)) {
		write_container(ev, v, w);
	} else {
		json_writer_null(w);
		w->out->overflow = true;
	}
	cel_leave(ev);
}

void cel_write_json(struct cel_eval *ev, const struct cel_value *v, struct json_writer *w)
{
	switch (v->kind) {
	case CEL_NULL:
		json_writer_null(w);
		return;
	case CEL_BOOL:
		json_writer_bool(w, v->b);
		return;
	case CEL_INT:
		json_writer_i64(w, v->i);
		return;
	case CEL_UINT:
		json_writer_u64(w, v->u);
		return;
	case CEL_DOUBLE:
		write_f64(v->d, w);
		return;
	case CEL_STRING:
		json_writer_str(w, v->s);
		return;
	case CEL_BYTES:
		write_bytes(v->s, w);
		return;
	case CEL_LIST:
	case CEL_MAP:
	case CEL_OBJECT:
	case CEL_OPTIONAL:
		write_parts(ev, v, w);
		return;
	default:
		write_printed(ev, v, w);
		return;
	}
}

/*
 * Trees as CEL values, by their schema. A list or object is a pair of tree and schema, made in
 * scratch memory when it is read. Text in a format becomes bytes, a time or a duration. At run time
 * an object is a map of the members that its schema knows.
 *
 * Lists of type set and map are equal in any order, and `+` merges them. Their elements are
 * distinguished by their text, or by that of their keys, sorted.
 */
#include "api/crd/rule.h"

#include <stdlib.h>

#include "api/crd/cel_type.h"
#include "base/text/base64.h"
#include "base/time/timestamp.h"
#include "cel/cel_limits.h"
#include "cel/core/json.h"

/* The head of our lists and maps. */
struct node {
	const struct crd_schema *s;
	const struct json *v;
};

/* The result of `+`. */
struct merged {
	const struct crd_schema *s;
	const struct cel_value *items;
	size_t n;
};

static const struct cel_list_class plain_class, set_class, keyed_class, merged_set_class,
	merged_keyed_class;
static const struct cel_map_class map_class;

/* --- text --------------------------------------------------------------------------- */

static struct cel_value bytes_of(struct cel_eval *ev, struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(CEL_SCRATCH_MAX);
	struct error err;
	char *p;

	if (base64_decode(&out, text, BASE64_STD, &err) < 0)
		return cel_errorf(ev, "Invalid byte formatted string %.*s: %s", STR_ARG(text),
				  err.msg);
	p = cel_alloc(ev, out.n + 1);
	if (!p)
		return cel_too_large();
	if (out.n)
		memcpy(p, out.p, out.n);
	return CEL_BYTES_V(str_of(p, out.n));
}

static struct cel_value time_of(struct cel_eval *ev, struct str text, bool date)
{
	struct cel_value v = { .kind = CEL_TIMESTAMP };
	char room[TIMESTAMP_SIZE];
	struct timestamp t;
	struct error err;
	int n = 0;

	/* A date, and a time without an offset, are in UTC. */
	if (date && text.n == 10)
		n = snprintf(room, sizeof(room), "%.*sT00:00:00Z", STR_ARG(text));
	else if (text.n + 2 < sizeof(room) && str_chr(text, 'Z') < 0 && text.n == 19)
		n = snprintf(room, sizeof(room), "%.*sZ", STR_ARG(text));
	if (timestamp_parse_wide(n > 0 ? str_of(room, (size_t)n) : text, &t, &err) < 0)
		return cel_errorf(ev, "Invalid %s formatted string %.*s: %s",
				  date ? "date" : "date-time", STR_ARG(text), err.msg);
	v.i = t.seconds;
	v.nanos = t.ns;
	v.offset = t.offset;
	return v;
}

static struct cel_value duration_of(struct cel_eval *ev, struct str text)
{
	int64_t ns;

	if (!crd_format_duration(text, &ns))
		return cel_errorf(ev, "Invalid duration %.*s", STR_ARG(text));
	return CEL_DURATION_V(ns);
}

/* Returns Go's name of the tree's type. */
static const char *go_type(const struct json *v)
{
	switch (v->type) {
	case JSON_BOOL:
		return "bool";
	case JSON_INT:
		return "int64";
	case JSON_STRING:
		return "string";
	case JSON_ARRAY:
		return "[]interface {}";
	case JSON_OBJECT:
		return "map[string]interface {}";
	default:
		return "float64";
	}
}

static struct cel_value cel_value_text_of(struct cel_eval *ev, const struct crd_schema *s,
					  const struct json *v)
{
	struct str format = s->rules ? s->rules->format_name : STR(""), text = json_str(v);

	if (v->type != JSON_STRING)
		return cel_errorf(ev, "invalid data, expected string, got %s", go_type(v));
	if (str_eqz(format, "byte"))
		return bytes_of(ev, text);
	if (str_eqz(format, "duration"))
		return duration_of(ev, text);
	if (str_eqz(format, "date") || str_eqz(format, "date-time"))
		return time_of(ev, text, format.n == 4);
	return CEL_STRING_V(text);
}

/* --- values ------------------------------------------------------------------------- */

static struct cel_value number_of(struct cel_eval *ev, const struct crd_schema *s,
				  const struct json *v)
{
	double f64;

	if (s->types == CRD_NUMBER && json_f64(v, &f64))
		return CEL_DOUBLE_V(f64);
	if (s->types == CRD_INTEGER && v->type == JSON_INT)
		return CEL_INT_V(v->i64);
	return cel_errorf(ev, "invalid data, expected %s, got %s",
			  s->types == CRD_NUMBER ? "float" : "int", go_type(v));
}

static struct node *node_new(struct cel_eval *ev, const struct crd_schema *s, const struct json *v)
{
	struct node *node = cel_alloc(ev, sizeof(*node));

	if (node)
		*node = (struct node){ s, v };
	return node;
}

static struct cel_value list_of(struct cel_eval *ev, const struct crd_schema *s,
				const struct json *v)
{
	static const struct cel_list_class *const classes[] = {
		[CRD_LIST_ATOMIC] = &plain_class,
		[CRD_LIST_SET] = &set_class,
		[CRD_LIST_MAP] = &keyed_class,
	};
	struct node *node;

	if (v->type != JSON_ARRAY || !s->items)
		return cel_errorf(ev, "invalid data, expected an array for the provided schema "
				      "with type=array");
	node = node_new(ev, s, v);
	if (!node)
		return cel_too_large();
	return (struct cel_value){ .kind = CEL_LIST, .list = { classes[s->list], node } };
}

static struct cel_value map_of(struct cel_eval *ev, const struct crd_schema *s,
			       const struct json *v)
{
	struct node *node;

	if (v->type != JSON_OBJECT)
		return cel_errorf(ev, "invalid data, expected a map for the provided schema with "
				      "type=object");
	node = node_new(ev, s->resource ? s->resource : s, v);
	if (!node)
		return cel_too_large();
	return (struct cel_value){ .kind = CEL_MAP, .map = { &map_class, node } };
}

static struct cel_value int_or_string_of(struct cel_eval *ev, const struct json *v)
{
	if (v->type == JSON_STRING || v->type == JSON_INT)
		return cel_of_json(v);
	return cel_errorf(ev, "invalid data, expected XIntOrString value to be either a string or "
			      "integer");
}

struct cel_value crd_cel_value(struct cel_eval *ev, const struct crd_schema *s,
			       const struct json *v)
{
	if (v->type == JSON_NULL)
		return s->nullable ? CEL_NULL_V
				   : cel_errorf(ev, "invalid data, got null for schema with "
						    "nullable=false");
	if (s->int_or_string)
		return int_or_string_of(ev, v);
	switch (s->types) {
	case CRD_OBJECT:
		return map_of(ev, s, v);
	case CRD_ARRAY:
		return list_of(ev, s, v);
	case CRD_STRING:
		return cel_value_text_of(ev, s, v);
	case CRD_NUMBER:
	case CRD_INTEGER:
		return number_of(ev, s, v);
	case CRD_BOOLEAN:
		if (v->type != JSON_BOOL)
			return cel_errorf(ev, "invalid data, expected bool, got %s", go_type(v));
		return CEL_BOOL_V(v->boolean);
	default: /* its structure is unknown, and only comparisons need it */
		return cel_of_json(v);
	}
}

/* --- maps --------------------------------------------------------------------------- */

static size_t node_size(const void *self)
{
	return ((const struct node *)self)->v->n;
}

/* Returns the name of the member for a key; p NULL if no name has this escaped form. */
static struct str member_name(struct cel_eval *ev, const struct node *node, struct str key)
{
	struct str name = key;
	char *room;

	if (node->s->nproperties == 0 || !crd_cel_is_escaped(key))
		return key;
	room = cel_alloc(ev, key.n);
	return room && crd_cel_unescape(key, room, &name) ? name : STR_NULL;
}

/*
 * Returns a name as rules write it. Allocates for the longest case first, because scratch memory is
 * limited.
 */
static struct str escaped(struct cel_eval *ev, struct str name)
{
	enum { LONGEST = 9 }; /* length of the longest escape of one character: __slash__ */
	struct str result = name;

	if (name.n < SIZE_MAX / LONGEST && cel_alloc(ev, name.n * LONGEST))
		(void)crd_cel_escape(ev->scratch, name, &result);
	return result;
}

/* Returns the value of a set member. In an object with properties, null counts as not set. */
static struct cel_value member_value(struct cel_eval *ev, const struct node *node,
				     const struct json *member)
{
	const struct crd_schema *s = crd_member(node->s, json_key(member));

	if (!s || (member->type == JSON_NULL && node->s->nproperties))
		return CEL_NOTHING;
	return crd_cel_value(ev, s, member);
}

static struct cel_value map_find(struct cel_eval *ev, const void *self, const struct cel_value *key)
{
	const struct node *node = self;
	const struct json *member;
	struct str name;

	if (key->kind != CEL_STRING)
		return cel_no_overload(ev);
	name = member_name(ev, node, key->s);
	member = name.p ? cel_json_get(ev, node->v, name) : NULL;
	return member ? member_value(ev, node, member) : CEL_NOTHING;
}

/*
 * Returns keys as rules name them. The position is the next member's address, or 1 after the last.
 */
static bool map_next(struct cel_eval *ev, const void *self, size_t *at, struct cel_value *ret_key,
		     struct cel_value *ret_value)
{
	const struct node *node = self;
	const struct json *member = *at == 0 ? json_first(node->v) : (const struct json *)*at;

	if (*at == 1)
		return false;
	for (; member; member = member->next) {
		*ret_value = member_value(ev, node, member);
		if (ret_value->kind != CEL_ERROR || ret_value->error)
			break;
	}
	if (!member)
		return false;
	*ret_key = CEL_STRING_V(json_key(member));
	if (node->s->nproperties)
		ret_key->s = escaped(ev, ret_key->s);
	*at = member->next ? (size_t)member->next : 1;
	return true;
}

/* Members that the schema does not know are compared, too, if both have them. */
static bool map_equal(struct cel_eval *ev, const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	JSON_FOREACH (member, x->v) {
		const struct json *other = cel_json_get(ev, y->v, json_key(member));
		bool known = crd_member(x->s, json_key(member)) != NULL;
		struct cel_value p = member_value(ev, x, member);
		struct cel_value q = other ? member_value(ev, y, other) : CEL_NOTHING;

		if (!known) {
			if (other && !json_equal(member, other))
				return false;
			continue;
		}
		if (cel_is_error(p) != cel_is_error(q))
			return false;
		if (!cel_is_error(p) && !cel_equal(ev, &p, &q))
			return false;
	}
	return true;
}

static const struct cel_map_class map_class = {
	.size = node_size,
	.find = map_find,
	.next = map_next,
	.equal = map_equal,
};

/* --- lists -------------------------------------------------------------------------- */

static struct cel_value node_at(struct cel_eval *ev, const void *self, size_t index)
{
	const struct node *node = self;

	return crd_cel_value(ev, node->s->items, cel_json_at(ev, node->v, index));
}

static size_t merged_size(const void *self)
{
	return ((const struct merged *)self)->n;
}

static struct cel_value merged_at(struct cel_eval *ev, const void *self, size_t index)
{
	(void)ev;
	return ((const struct merged *)self)->items[index];
}

/* An element of a set or keyed list, by its distinguishing text. */
struct entry {
	struct str key;
	size_t at;
	bool seen;
};

static const struct crd_schema *schema_of(const struct cel_value *list)
{
	return ((const struct node *)list->list.self)->s;
}

/* Appends a key: its kind and its text. */
static void cel_value_add_key(struct cel_eval *ev, const struct cel_value *v, struct buf *out)
{
	(void)buf_addc(out, (char)('a' + v->kind));
	if (v->kind != CEL_ERROR)
		cel_value_print(ev, v, out);
	(void)buf_addc(out, '\n');
}

/* Returns false if an element of a set is not a scalar, or memory is used up. */
static bool cel_value_key_of(struct cel_eval *ev, const struct crd_schema *s,
			     const struct cel_value *item, struct str *ret_key)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CEL_SCRATCH_MAX);
	struct cel_value name, key;
	char *copy;

	if (s->list == CRD_LIST_SET) {
		if (item->kind == CEL_LIST || item->kind == CEL_MAP || item->kind == CEL_OBJECT)
			return false;
		cel_value_add_key(ev, item, &text);
	}
	for (const struct str *k = s->list == CRD_LIST_MAP ? s->keys : NULL; k && k->p; k++) {
		name = CEL_STRING_V(escaped(ev, *k));
		key = item->kind == CEL_MAP ? cel_map_find(ev, item, &name) : CEL_NOTHING;
		cel_value_add_key(ev, &key, &text);
	}
	copy = cel_alloc(ev, text.n + 1);
	if (!copy)
		return false;
	if (text.n)
		memcpy(copy, text.p, text.n);
	*ret_key = str_of(copy, text.n);
	return true;
}

static int entry_order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = str_cmp(x->key, y->key);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/*
 * Sorts the elements by key and keeps the last of each. Returns NULL if out of memory, or if an
 * element of a set is not a scalar.
 */
static struct entry *index_list(struct cel_eval *ev, const struct crd_schema *s,
				const struct cel_value *list, size_t *ret_n)
{
	size_t n = cel_list_size(list), kept = 0;
	struct entry *entries = cel_alloc(ev, (n + 1) * sizeof(*entries));

	for (size_t i = 0; i < n && entries; i++) {
		struct cel_value item = cel_list_at(ev, list, i);

		entries[i] = (struct entry){ .at = i };
		if (!cel_value_key_of(ev, s, &item, &entries[i].key))
			return NULL;
	}
	if (!entries)
		return NULL;
	qsort(entries, n, sizeof(*entries), entry_order);
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || !str_eq(entries[i].key, entries[i + 1].key))
			entries[kept++] = entries[i];
	*ret_n = kept;
	return entries;
}

static struct entry *find_entry(struct entry *entries, size_t n, struct str key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = str_cmp(key, entries[middle].key);

		if (order == 0)
			return &entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

/* Compares in any order: every element of b is in a, and the reverse. */
static bool any_order_equal(struct cel_eval *ev, const struct cel_value *a,
			    const struct cel_value *b)
{
	const struct crd_schema *s = schema_of(a);
	size_t n, seen = 0;
	struct entry *entries;

	if (cel_list_size(a) != cel_list_size(b))
		return false;
	if (!cel_work(ev, cel_list_size(a)))
		return false;
	entries = index_list(ev, s, a, &n);
	for (size_t i = 0; i < cel_list_size(b) && entries; i++) {
		struct cel_value item = cel_list_at(ev, b, i), own;
		struct entry *entry;
		struct str key;

		entry = cel_value_key_of(ev, s, &item, &key) ? find_entry(entries, n, key) : NULL;
		if (!entry)
			return false;
		own = cel_list_at(ev, a, entry->at);
		if (!cel_equal(ev, &own, &item))
			return false;
		seen += !entry->seen;
		entry->seen = true;
	}
	return entries && seen == n;
}

/*
 * Keeps a's elements in place, replaces those whose keys b also has, and appends b's other
 * elements.
 */
static struct cel_value cel_value_merge(struct cel_eval *ev, const struct cel_value *a,
					const struct cel_value *b)
{
	const struct crd_schema *s = schema_of(a);
	size_t size = cel_list_size(a), nb = cel_list_size(b), n, nnew;
	struct cel_value *items = cel_alloc(ev, (size + nb + 1) * sizeof(*items));
	struct merged *merged = cel_alloc(ev, sizeof(*merged));
	struct entry *entries = index_list(ev, s, a, &n), *added = index_list(ev, s, b, &nnew);
	bool set = s->list == CRD_LIST_SET;

	if (!entries || !added)
		return set ? cel_errorf(ev, "listSet operations are only supported on lists of "
					    "scalar values")
			   : cel_too_large();
	if (!items || !merged)
		return cel_too_large();
	for (size_t i = 0; i < size; i++)
		items[i] = cel_list_at(ev, a, i);
	*merged = (struct merged){ s, items, size };
	for (size_t i = 0; i < nb; i++) {
		struct cel_value item = cel_list_at(ev, b, i);
		struct entry *entry, *first;
		struct str key;

		if (!cel_value_key_of(ev, s, &item, &key))
			return cel_too_large();
		entry = find_entry(entries, n, key);
		first = find_entry(added, nnew, key);
		if (entry && !set)
			items[entry->at] = item;
		else if (!entry && (!set || !first->seen))
			items[merged->n++] = item;
		first->seen = true;
	}
	return (struct cel_value){
		.kind = CEL_LIST, .list = { set ? &merged_set_class : &merged_keyed_class, merged }
	};
}

static const struct cel_list_rules merge_rules = { .equal = any_order_equal,
						   .add = cel_value_merge };

static const struct cel_list_class plain_class = { .size = node_size, .at = node_at };
static const struct cel_list_class set_class = {
	.size = node_size,
	.at = node_at,
	.rules = &merge_rules,
};
static const struct cel_list_class keyed_class = {
	.size = node_size,
	.at = node_at,
	.rules = &merge_rules,
};
static const struct cel_list_class merged_set_class = {
	.size = merged_size,
	.at = merged_at,
	.rules = &merge_rules,
};
static const struct cel_list_class merged_keyed_class = {
	.size = merged_size,
	.at = merged_at,
	.rules = &merge_rules,
};

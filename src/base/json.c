/*
 * Operations on trees. Where a whole tree is walked, a list of what is still to
 * be done takes the place of recursion; its length is bounded by the number of
 * nodes, which the arena bounds.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>

#include "base/json_impl.h"
#include "base/mem.h"
#include "base/vec.h"

enum { FEW_MEMBERS = 16 }; /* so few are searched one by one rather than sorted */

static struct json *make(struct arena *a, enum json_type type)
{
	struct json *v = arena_alloc(a, sizeof(*v));

	*v = (struct json){ .type = type };
	return v;
}

struct json *json_make_null(struct arena *a)
{
	return make(a, JSON_NULL);
}

struct json *json_make_bool(struct arena *a, bool v)
{
	struct json *j = make(a, JSON_BOOL);

	j->boolean = v;
	return j;
}

struct json *json_make_i64(struct arena *a, int64_t v)
{
	struct json *j = make(a, JSON_INT);

	j->i64 = v;
	return j;
}

struct json *json_make_u64(struct arena *a, uint64_t v)
{
	struct json *j = make(a, v > INT64_MAX ? JSON_UINT : JSON_INT);

	j->u64 = v;
	return j;
}

struct json *json_make_f64(struct arena *a, double v)
{
	struct json *j = make(a, JSON_DOUBLE);

	assert(isfinite(v));
	j->f64 = v;
	return j;
}

struct json *json_make_str(struct arena *a, struct str v)
{
	struct json *j = make(a, JSON_STRING);

	assert(v.n <= UINT32_MAX);
	j->text = v.p ? v.p : "";
	j->n = (uint32_t)v.n;
	return j;
}

struct json *json_make_array(struct arena *a)
{
	return make(a, JSON_ARRAY);
}

struct json *json_make_object(struct arena *a)
{
	return make(a, JSON_OBJECT);
}

/* A container whose children are still to be copied. */
struct copying {
	const struct json *from;
	struct json *to;
};

struct copy_list {
	VEC(struct copying) todo;
};

/* A copy of the n bytes at *p, which then points to it. */
static bool copy_bytes(struct arena *a, const char **p, size_t n)
{
	char *copy;

	if (n == 0) {
		*p = "";
		return true;
	}
	copy = arena_try_alloc(a, n);
	if (!copy)
		return false;
	memcpy(copy, *p, n);
	*p = copy;
	return true;
}

/* A node like `v`, without its key and so far without its children. */
static struct json *copy_node(struct arena *a, const struct json *v, struct copy_list *list)
{
	struct json *c = arena_try_alloc(a, sizeof(*c));

	if (!c)
		return NULL;
	*c = *v;
	c->next = NULL;
	c->key = NULL;
	c->key_n = 0;
	if (c->type == JSON_STRING && !copy_bytes(a, &c->text, c->n))
		return NULL;
	if (!json_is_container(v))
		return c;
	c->first = c->last = NULL;
	c->n = 0;
	return vec_push(&list->todo, (struct copying){ v, c }) ? c : NULL;
}

static bool copy_children(struct arena *a, struct copying container, struct copy_list *list)
{
	struct json *c;

	for (const struct json *v = container.from->first; v; v = v->next) {
		c = copy_node(a, v, list);
		if (!c)
			return false;
		c->key = v->key;
		c->key_n = v->key_n;
		if (c->key && !copy_bytes(a, &c->key, c->key_n))
			return false;
		json_link(container.to, c);
	}
	return true;
}

int json_copy(struct arena *a, const struct json *v, struct json **ret_copy, struct error *err)
{
	struct copy_list list;
	struct json *root;
	bool ok;

	vec_init(&list.todo, SIZE_MAX);
	root = copy_node(a, v, &list);
	ok = root != NULL;
	while (ok && list.todo.n)
		ok = copy_children(a, list.todo.v[--list.todo.n], &list);
	vec_release(&list.todo);
	if (!ok)
		return error_set(err, ERR_TOO_LARGE, "the copy needs more than %zu bytes of memory",
				 a->max);
	*ret_copy = root;
	return 0;
}

bool json_bool(const struct json *v, bool *ret_value)
{
	if (!json_is(v, JSON_BOOL))
		return false;
	*ret_value = v->boolean;
	return true;
}

bool json_i64(const struct json *v, int64_t *ret_value)
{
	if (!json_is(v, JSON_INT))
		return false;
	*ret_value = v->i64;
	return true;
}

bool json_u64(const struct json *v, uint64_t *ret_value)
{
	if (!json_is(v, JSON_UINT) && !(json_is(v, JSON_INT) && v->i64 >= 0))
		return false;
	*ret_value = v->u64;
	return true;
}

bool json_f64(const struct json *v, double *ret_value)
{
	if (json_is(v, JSON_INT))
		*ret_value = (double)v->i64;
	else if (json_is(v, JSON_UINT))
		*ret_value = (double)v->u64;
	else if (json_is(v, JSON_DOUBLE))
		*ret_value = v->f64;
	else
		return false;
	return true;
}

struct json *json_get(const struct json *object, struct str key)
{
	if (!json_is(object, JSON_OBJECT))
		return NULL;
	for (struct json *v = object->first; v; v = v->next)
		if (v->key_n == key.n && memcmp(v->key, key.p ? key.p : "", key.n) == 0)
			return v;
	return NULL;
}

struct json *json_getz(const struct json *object, const char *key)
{
	return json_get(object, str_from(key));
}

struct json *json_at(const struct json *array, size_t index)
{
	struct json *v;

	if (!json_is(array, JSON_ARRAY) || index >= array->n)
		return NULL;
	for (v = array->first; index > 0; index--)
		v = v->next;
	return v;
}

/* Whether the token of a pointer, in which ~0 is ~ and ~1 is /, names `key`. */
static bool token_names(struct str token, struct str key)
{
	size_t at = 0;
	char c;

	for (size_t i = 0; i < token.n; i++, at++) {
		c = token.p[i];
		if (c == '~' && (++i == token.n || (token.p[i] != '0' && token.p[i] != '1')))
			return false;
		if (c == '~' && token.p[i] == '1')
			c = '/';
		if (at == key.n || key.p[at] != c)
			return false;
	}
	return at == key.n;
}

static struct json *token_find(const struct json *parent, struct str token)
{
	uint64_t index;

	if (json_is(parent, JSON_ARRAY)) {
		if ((token.n > 1 && token.p[0] == '0') || !str_to_u64(token, &index))
			return NULL;
		return json_at(parent, index);
	}
	for (struct json *v = json_first(parent); v; v = v->next)
		if (token_names(token, json_key(v)))
			return v;
	return NULL;
}

struct json *json_pointer(const struct json *root, struct str pointer)
{
	/* As strchr() does, and as the header warns. */
	struct json *v = (struct json *)(uintptr_t)root;
	struct str rest, token;

	if (pointer.n == 0)
		return v;
	if (pointer.p[0] != '/')
		return NULL;
	rest = str_of(pointer.p + 1, pointer.n - 1);
	while (v && str_split(&rest, '/', &token))
		v = token_find(v, token);
	return v;
}

/* Two values that must turn out equal. */
struct comparing {
	const struct json *a, *b;
};

struct compare_list {
	VEC(struct comparing) todo;
};

static int compare_keys(const void *a, const void *b)
{
	const struct json *const *x = a, *const *y = b;

	return str_cmp(json_key(*x), json_key(*y));
}

static const struct json **sorted_members(const struct json *object)
{
	const struct json **list = xcalloc(object->n, sizeof(*list));
	size_t n = 0;

	for (const struct json *v = object->first; v; v = v->next)
		list[n++] = v;
	qsort(list, n, sizeof(*list), compare_keys);
	return list;
}

/* Both have as many members; their names are in another order. */
static bool pair_sorted(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json **x = sorted_members(a), **y = sorted_members(b);
	bool same = true;

	for (size_t i = 0; i < a->n && same; i++)
		same = str_eq(json_key(x[i]), json_key(y[i])) &&
		       vec_push(&list->todo, (struct comparing){ x[i], y[i] });
	free(x);
	free(y);
	return same;
}

/* Lists the members of two objects by pairs; false when their names differ. */
static bool pair_members(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json *x = a->first, *y = b->first;

	for (; x && str_eq(json_key(x), json_key(y)); x = x->next, y = y->next)
		if (!vec_push(&list->todo, (struct comparing){ x, y }))
			return false;
	if (!x)
		return true;
	if (a->n > FEW_MEMBERS)
		return pair_sorted(a, b, list);
	for (; x; x = x->next) {
		y = json_get(b, json_key(x));
		if (!y || !vec_push(&list->todo, (struct comparing){ x, y }))
			return false;
	}
	return true;
}

static bool pair_elements(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json *y = b->first;

	for (const struct json *x = a->first; x; x = x->next, y = y->next)
		if (!vec_push(&list->todo, (struct comparing){ x, y }))
			return false;
	return true;
}

static bool equal_numbers(const struct json *a, const struct json *b)
{
	double x, y;

	if (a->type == b->type && a->type != JSON_DOUBLE)
		return a->u64 == b->u64;
	/* An int is never above INT64_MAX and a uint always is. */
	if (a->type != JSON_DOUBLE && b->type != JSON_DOUBLE)
		return false;
	return json_f64(a, &x) && json_f64(b, &y) && x == y;
}

/* Compares all but the children, which are put on the list. */
static bool equal_nodes(const struct json *a, const struct json *b, struct compare_list *list)
{
	double number;

	if (json_f64(a, &number))
		return json_f64(b, &number) && equal_numbers(a, b);
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case JSON_BOOL:
		return a->boolean == b->boolean;
	case JSON_STRING:
		return str_eq(json_str(a), json_str(b));
	case JSON_ARRAY:
		return a->n == b->n && pair_elements(a, b, list);
	case JSON_OBJECT:
		return a->n == b->n && pair_members(a, b, list);
	default:
		return true;
	}
}

bool json_equal(const struct json *a, const struct json *b)
{
	struct compare_list list;
	struct comparing next = { a, b };
	bool same;

	if (!a || !b)
		return a == b;
	vec_init(&list.todo, SIZE_MAX);
	same = equal_nodes(a, b, &list);
	while (same && list.todo.n) {
		next = list.todo.v[--list.todo.n];
		same = equal_nodes(next.a, next.b, &list);
	}
	vec_release(&list.todo);
	return same;
}

/* The child in front of `child`; NULL for the first. */
static struct json *find_previous(const struct json *parent, const struct json *child)
{
	struct json *v = parent->first;

	if (v == child)
		return NULL;
	while (v->next != child)
		v = v->next;
	return v;
}

/* Behind `previous`, or first when that is NULL. */
static void link_after(struct json *parent, struct json *previous, struct json *child)
{
	struct json **place = previous ? &previous->next : &parent->first;

	child->next = *place;
	*place = child;
	if (!child->next)
		parent->last = child;
	parent->n++;
}

static struct json *unlink_after(struct json *parent, struct json *previous)
{
	struct json **place = previous ? &previous->next : &parent->first;
	struct json *child = *place;

	*place = child->next;
	if (!child->next)
		parent->last = previous;
	child->next = NULL;
	parent->n--;
	return child;
}

void json_append(struct json *array, struct json *child)
{
	assert(json_is(array, JSON_ARRAY));
	child->key = NULL;
	child->key_n = 0;
	link_after(array, array->last, child);
}

void json_insert(struct json *array, size_t index, struct json *child)
{
	assert(json_is(array, JSON_ARRAY) && index <= array->n);
	child->key = NULL;
	child->key_n = 0;
	link_after(array, index ? json_at(array, index - 1) : NULL, child);
}

void json_add(struct json *object, struct str key, struct json *child)
{
	assert(json_is(object, JSON_OBJECT) && key.n <= UINT32_MAX);
	child->key = key.p ? key.p : "";
	child->key_n = (uint32_t)key.n;
	link_after(object, object->last, child);
}

void json_set(struct json *object, struct str key, struct json *child)
{
	struct json *old = json_get(object, key);

	if (old)
		json_replace(object, old, child);
	else
		json_add(object, key, child);
}

void json_setz(struct json *object, const char *key, struct json *child)
{
	json_set(object, str_from(key), child);
}

void json_replace(struct json *parent, struct json *old, struct json *child)
{
	struct json *previous = find_previous(parent, old);

	(void)unlink_after(parent, previous);
	child->key = old->key;
	child->key_n = old->key_n;
	link_after(parent, previous, child);
}

struct json *json_unlink(struct json *parent, struct json *child)
{
	assert(json_is_container(parent));
	return unlink_after(parent, find_previous(parent, child));
}

struct json *json_remove(struct json *object, struct str key)
{
	struct json *v = json_get(object, key);

	return v ? json_unlink(object, v) : NULL;
}

struct json *json_remove_at(struct json *array, size_t index)
{
	struct json *v = json_at(array, index);

	return v ? json_unlink(array, v) : NULL;
}

void json_assign(struct json *v, const struct json *from)
{
	struct json place = *v;

	*v = *from;
	v->next = place.next;
	v->key = place.key;
	v->key_n = place.key_n;
}

/*
 * Operations on whole trees. A work list replaces recursion; its length is bounded by the number of
 * nodes, which the arena limits.
 */
#include "base/json/json.h"

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/json/building.h"

enum { FEW_MEMBERS = 16 }; /* up to this many are searched linearly instead of sorted */

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

struct json *json_alias(struct arena *a, const struct json *v)
{
	struct json *alias = json_make_null(a);

	*alias = *v;
	alias->next = NULL;
	alias->key = NULL;
	alias->key_n = 0;
	return alias;
}

/* Two arrays or objects that must turn out equal. */
struct comparing {
	const struct json *a, *b;
};

struct compare_list {
	VEC(struct comparing) todo;
};

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

/* Compares everything but the children, which are put on the list; both have as many. */
static bool pair(const struct json *a, const struct json *b, struct compare_list *list)
{
	double number;

	if (a == b)
		return true;
	switch (a->type) {
	case JSON_STRING:
		return b->type == JSON_STRING && str_eq(json_str(a), json_str(b));
	case JSON_ARRAY:
	case JSON_OBJECT:
		if (a->type != b->type || a->n != b->n)
			return false;
		return a->n == 0 || vec_push(&list->todo, (struct comparing){ a, b });
	case JSON_BOOL:
		return b->type == JSON_BOOL && a->boolean == b->boolean;
	case JSON_NULL:
		return b->type == JSON_NULL;
	default:
		return json_f64(b, &number) && equal_numbers(a, b);
	}
}

int json_key_order(const void *a, const void *b)
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
	qsort(list, n, sizeof(*list), json_key_order);
	return list;
}

/* Both have as many members; their names are in a different order. */
static bool pair_sorted(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json **x = sorted_members(a), **y = sorted_members(b);
	bool same = true;

	for (size_t i = 0; i < a->n && same; i++)
		same = str_eq(json_key(x[i]), json_key(y[i])) && pair(x[i], y[i], list);
	free(x);
	free(y);
	return same;
}

/* Returns false if names differ. */
static bool pair_members(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json *x = a->first, *y = b->first;

	for (; x && str_eq(json_key(x), json_key(y)); x = x->next, y = y->next)
		if (!pair(x, y, list))
			return false;
	if (!x)
		return true;
	if (a->n > FEW_MEMBERS)
		return pair_sorted(a, b, list);
	for (; x; x = x->next) {
		y = json_get(b, json_key(x));
		if (!y || !pair(x, y, list))
			return false;
	}
	return true;
}

static bool pair_elements(const struct json *a, const struct json *b, struct compare_list *list)
{
	const struct json *y = b->first;

	for (const struct json *x = a->first; x; x = x->next, y = y->next)
		if (!pair(x, y, list))
			return false;
	return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
	struct compare_list list;
	struct comparing next;
	bool same;

	if (!a || !b)
		return a == b;
	vec_init(&list.todo, SIZE_MAX);
	same = pair(a, b, &list);
	/* Level by level: differences are mostly near the top, large parts below. */
	for (size_t i = 0; same && i < list.todo.n; i++) {
		next = list.todo.v[i];
		same = next.a->type == JSON_ARRAY ? pair_elements(next.a, next.b, &list)
						  : pair_members(next.a, next.b, &list);
	}
	vec_release(&list.todo);
	return same;
}

struct json **json_sorted(struct arena *a, const struct json *object)
{
	struct json **v = ARENA_ARRAY(a, struct json *, json_count(object) + 1);
	size_t n = 0;

	JSON_FOREACH (member, object)
		v[n++] = member;
	qsort(v, n, sizeof(*v), json_key_order);
	return v;
}

void json_sort_members(struct arena *a, struct json *object)
{
	struct json **v = json_sorted(a, object);
	struct json sorted = { .type = JSON_OBJECT };

	for (size_t i = 0; i < object->n; i++)
		json_add(&sorted, json_key(v[i]), v[i]);
	json_assign(object, &sorted);
}

void json_sort(struct arena *a, struct json *v)
{
	VEC(struct json *) todo;

	vec_init(&todo, SIZE_MAX);
	if (json_is_container(v))
		(void)vec_push(&todo, v);
	while (todo.n) {
		v = todo.v[--todo.n];
		if (v->type == JSON_OBJECT)
			json_sort_members(a, v);
		JSON_FOREACH (child, v)
			if (json_is_container(child))
				(void)vec_push(&todo, child);
	}
	vec_release(&todo);
}

/*
 * Operations on whole trees. A list of what is still to be done takes the place
 * of recursion; its length is bounded by the number of nodes, which the arena
 * bounds.
 */
#include "base/json.h"

#include "base/json_impl.h"
#include "base/mem.h"
#include "base/vec.h"

enum { FEW_MEMBERS = 16 }; /* so few are searched one by one rather than sorted */

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

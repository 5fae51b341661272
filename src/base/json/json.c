/* Operations on one node and its children. walk.c has those on whole trees. */
#include "base/json/json.h"

#include <assert.h>
#include <math.h>

static struct json *json_make(struct arena *a, enum json_type type)
{
	struct json *v = arena_alloc(a, sizeof(*v));

	*v = (struct json){ .type = type };
	return v;
}

struct json *json_make_null(struct arena *a)
{
	return json_make(a, JSON_NULL);
}

struct json *json_make_bool(struct arena *a, bool v)
{
	struct json *j = json_make(a, JSON_BOOL);

	j->boolean = v;
	return j;
}

struct json *json_make_i64(struct arena *a, int64_t v)
{
	struct json *j = json_make(a, JSON_INT);

	j->i64 = v;
	return j;
}

struct json *json_make_u64(struct arena *a, uint64_t v)
{
	struct json *j = json_make(a, v > INT64_MAX ? JSON_UINT : JSON_INT);

	j->u64 = v;
	return j;
}

struct json *json_make_f64(struct arena *a, double v)
{
	struct json *j = json_make(a, JSON_DOUBLE);

	assert(isfinite(v));
	j->f64 = v;
	return j;
}

struct json *json_make_str(struct arena *a, struct str v)
{
	struct json *j = json_make(a, JSON_STRING);

	assert(v.n <= UINT32_MAX);
	j->text = v.p ? v.p : "";
	j->n = (uint32_t)v.n;
	return j;
}

struct json *json_make_array(struct arena *a)
{
	return json_make(a, JSON_ARRAY);
}

struct json *json_make_object(struct arena *a)
{
	return json_make(a, JSON_OBJECT);
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

bool json_true_at(const struct json *object, const char *key)
{
	const struct json *v = json_getz(object, key);

	return json_is(v, JSON_BOOL) && v->boolean;
}

int64_t json_i64_at(const struct json *object, const char *key, int64_t absent)
{
	int64_t value;

	return json_i64(json_getz(object, key), &value) ? value : absent;
}

bool json_has_text(const struct json *array, struct str text)
{
	JSON_FOREACH (item, array)
		if (json_is(item, JSON_STRING) && str_eq(json_str(item), text))
			return true;
	return false;
}

struct json *json_find(const struct json *array, const char *key, struct str text)
{
	JSON_FOREACH (item, array) {
		const struct json *v = json_getz(item, key);

		if (json_is(v, JSON_STRING) && str_eq(json_str(v), text))
			return item;
	}
	return NULL;
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

/* Whether the token of a pointer, in which ~0 is ~ and ~1 is /, equals `key`. */
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
	/* Like strchr(); see the header. */
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

/* The child before `child`; NULL for the first. */
static struct json *find_previous(const struct json *parent, const struct json *child)
{
	struct json *v = parent->first;

	if (v == child)
		return NULL;
	while (v->next != child)
		v = v->next;
	return v;
}

/* After `previous`, or first if that is NULL. */
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

void json_put_str(struct arena *a, struct json *object, const char *key, struct str v)
{
	json_setz(object, key, json_make_str(a, v));
}

void json_put_i64(struct arena *a, struct json *object, const char *key, int64_t v)
{
	json_setz(object, key, json_make_i64(a, v));
}

void json_put_bool(struct arena *a, struct json *object, const char *key, bool v)
{
	json_setz(object, key, json_make_bool(a, v));
}

static struct json *json_need(struct arena *a, struct json *parent, const char *key,
			      enum json_type type)
{
	struct json *child = json_getz(parent, key);

	if (json_is(child, type))
		return child;
	child = json_make(a, type);
	json_setz(parent, key, child);
	return child;
}

struct json *json_need_object(struct arena *a, struct json *parent, const char *key)
{
	return json_need(a, parent, key, JSON_OBJECT);
}

struct json *json_need_array(struct arena *a, struct json *parent, const char *key)
{
	return json_need(a, parent, key, JSON_ARRAY);
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

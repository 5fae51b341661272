/*
 * Repeated names are searched once, when an object is complete. A small object is walked with a
 * 64-bit set of a cheap mark of each name; only a name whose mark was seen before is compared with
 * earlier ones. A large one uses a map, for whose hash nobody can prepare colliding names.
 */
#include "base/json/building.h"

#include "base/core/map.h"

enum { SMALL_MAX = 64 };

static unsigned name_mark(const struct json *v)
{
	if (v->key_n == 0)
		return 0;
	return (v->key_n * 7 + (unsigned char)v->key[0] * 3 + (unsigned char)v->key[v->key_n - 1]) %
	       SMALL_MAX;
}

static size_t decimal_width(size_t v)
{
	size_t n = 1;

	for (; v >= 10; v /= 10)
		n++;
	return n;
}

/* The length of the path's step from the parent to `v`, the newest child. */
static size_t step_width(const struct json *v, const struct json *parent)
{
	if (!parent)
		return 0;
	return parent->type == JSON_ARRAY ? decimal_width(parent->n - 1) + 2 : (size_t)v->key_n + 1;
}

/* Writes that step so that it ends at `end`; returns where it begins. */
static char *step_put(const struct json *v, const struct json *parent, char *end)
{
	size_t index;

	if (parent->type == JSON_OBJECT) {
		end -= v->key_n;
		if (v->key_n) /* a merge of YAML has no key */
			memcpy(end, v->key, v->key_n);
		*--end = '.';
		return end;
	}
	*--end = ']';
	index = parent->n - 1;
	do
		*--end = (char)('0' + index % 10);
	while ((index /= 10) > 0);
	*--end = '[';
	return end;
}

/* The path of `name` in an open object, without the dot that every name would begin with. */
static bool path_build(struct arena *a, const struct json *object, const struct json *name,
		       struct str *ret_path)
{
	size_t n = step_width(name, object);
	char *p, *end;

	for (const struct json *v = object; v; v = v->next)
		n += step_width(v, v->next);
	p = arena_try_alloc(a, n);
	if (!p)
		return false;
	end = step_put(name, object, p + n);
	for (const struct json *v = object; v->next; v = v->next)
		end = step_put(v, v->next, end);
	*ret_path = *p == '.' ? str_of(p + 1, n - 1) : str_of(p, n);
	return true;
}

static bool report_add(struct arena *a, const struct json *object, const struct json *name,
		       size_t max, struct json_report *report)
{
	struct json_duplicate *d, **tail = &report->duplicates;

	report->duplicate_count++;
	if (report->duplicate_count > max)
		return true;
	d = arena_try_alloc(a, sizeof(*d));
	if (!d)
		return false;
	*d = (struct json_duplicate){ .key = json_key(name) };
	while (*tail)
		tail = &(*tail)->next;
	*tail = d;
	return path_build(a, object, name, &d->path);
}

static struct json *find_before(const struct json *object, const struct json *name)
{
	for (struct json *v = object->first; v != name; v = v->next)
		if (v->key && v->key_n == name->key_n &&
		    memcmp(v->key, name->key, name->key_n) == 0)
			return v;
	return NULL;
}

/* The first member with v's name, unless that is v itself. Marks v as seen. */
static inline struct json *find_first(const struct json *object, struct json *v, uint64_t *seen)
{
	uint64_t bit = UINT64_C(1) << name_mark(v);

	if (LIKELY(!(*seen & bit))) {
		*seen |= bit;
		return NULL;
	}
	return find_before(object, v);
}

/* The same for large objects. */
static struct json *find_mapped(struct map *names, struct json *v)
{
	struct json *first = map_put(names, json_key(v), v);

	if (first)
		(void)map_put(names, json_key(first), first);
	return first;
}

bool json_unique(struct arena *a, struct json *object, size_t max, struct json_report *report)
{
	bool large = object->n > SMALL_MAX, ok = true;
	struct json *before = NULL, *first;
	uint64_t seen = 0;
	struct map names = { 0 };

	if (large) {
		map_init(&names);
		map_reserve(&names, object->n);
	}
	for (struct json *v = object->first; v && ok; v = v->next) {
		if (UNLIKELY(!v->key))
			first = NULL;
		else
			first = large ? find_mapped(&names, v) : find_first(object, v, &seen);
		if (LIKELY(!first)) {
			before = v;
			continue;
		}
		ok = report_add(a, object, v, max, report);
		json_assign(first, v);
		before->next = v->next;
		object->n--;
	}
	object->last = before;
	if (large)
		map_release(&names);
	return ok;
}

/*
 * Objects are text; a value is found by walking it. Labels and annotations of pods, which plugins
 * read in every cycle, have been read before.
 */
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "base/json/quantity.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/extension/extension_impl.h"

static struct extension *extension_object_of(void *host)
{
	return ((struct extension_host *)host)->extension;
}

static struct dp_text object_text_of(struct str s)
{
	return (struct dp_text){ s.p, s.n };
}

struct str extension_text(struct dp_text t)
{
	return str_of(t.p, t.n);
}

const struct dp_object *extension_object(struct extension *e, struct cached *o,
					 const struct podinfo *p)
{
	struct dp_object *object;

	if (!o)
		return NULL;
	object = ARENA_NEW(extension_scratch(e), struct dp_object);
	*object = (struct dp_object){ o, p };
	return object;
}

static struct dp_text get_name(void *host UNUSED, const struct dp_object *o)
{
	return object_text_of(cached_name(o->object));
}

static struct dp_text get_ns(void *host UNUSED, const struct dp_object *o)
{
	return object_text_of(cached_ns(o->object));
}

static struct dp_text get_uid(void *host UNUSED, const struct dp_object *o)
{
	return object_text_of(o->object->uid);
}

static struct dp_text get_label(void *host, const struct dp_object *o, const char *key)
{
	struct str name = str_from(key);

	if (o->pod)
		return object_text_of(json_str(json_get(o->pod->labels, name)));
	return object_text_of(
		cached_label(o->object, name, extension_scratch(extension_object_of(host))));
}

static struct dp_text get_annotation(void *host, const struct dp_object *o, const char *key)
{
	struct str name = str_from(key);

	if (o->pod)
		return object_text_of(json_str(json_get(o->pod->annotations, name)));
	return object_text_of(
		cached_annotation(o->object, name, extension_scratch(extension_object_of(host))));
}

/* --- paths ----------------------------------------------------------------------- */

/* RFC 6901's ~0 and ~1 undone, in place. */
static bool object_unescape(char *text, size_t *n)
{
	size_t to = 0;

	for (size_t from = 0; from < *n; from++) {
		if (text[from] != '~') {
			text[to++] = text[from];
			continue;
		}
		if (++from == *n || (text[from] != '0' && text[from] != '1'))
			return false;
		text[to++] = text[from] == '0' ? '~' : '/';
	}
	*n = to;
	return true;
}

static struct dp_path *object_compile(struct arena *a, struct str pointer)
{
	struct str rest = str_skip(pointer, 1), name;
	struct dp_path *path;
	size_t most = 0;
	char *text;

	if (pointer.n > 0 && pointer.p[0] != '/')
		return NULL;
	for (size_t i = 0; i < pointer.n; i++)
		most += pointer.p[i] == '/';
	path = arena_calloc(a, sizeof(*path) + most * sizeof(path->names[0]));
	rest.p = most > 0 ? rest.p : NULL;
	while (path->n < most && str_split(&rest, '/', &name)) {
		text = arena_strdup(a, name);
		if (!object_unescape(text, &name.n))
			return NULL;
		path->names[path->n++] = str_of(text, name.n);
	}
	/* A trailing separator names the empty member. */
	if (path->n < most)
		path->names[path->n++] = STR("");
	return path;
}

static const struct dp_path *get_path(void *host, const char *pointer)
{
	return object_compile(&extension_object_of(host)->lasting, str_from(pointer));
}

static bool find_element(struct json_cursor *c, struct str name)
{
	enum json_cursor_type type;
	struct str raw;
	uint64_t at;

	if (!str_to_u64(name, &at))
		return false;
	while (json_cursor_element(c)) {
		if (at-- == 0)
			return true;
		if (!json_cursor_value(c, &raw, &type))
			return false;
	}
	return false;
}

static bool object_walk(struct json_cursor *c, const struct dp_path *path)
{
	for (size_t i = 0; i < path->n; i++) {
		struct json_cursor array = *c;

		if (json_cursor_enter(&array, '[')) {
			*c = array;
			if (!find_element(c, path->names[i]))
				return false;
		} else if (!json_cursor_find(c, path->names[i])) {
			return false;
		}
	}
	return true;
}

static struct dp_text get_value(void *host, const struct dp_object *o, const struct dp_path *path)
{
	struct json_cursor c = json_cursor_of(o->object->json);
	enum json_cursor_type type;
	struct str raw;

	if (!path || !object_walk(&c, path) || !json_cursor_value(&c, &raw, &type) ||
	    type == JSON_CURSOR_NULL)
		return (struct dp_text){ NULL, 0 };
	if (type == JSON_CURSOR_ESCAPED)
		raw = json_cursor_text(raw, type, extension_scratch(extension_object_of(host)));
	return object_text_of(raw);
}

static struct dp_text find_value(void *host, const struct dp_object *o, const char *pointer)
{
	return get_value(
		host, o,
		object_compile(extension_scratch(extension_object_of(host)), str_from(pointer)));
}

static int64_t count_in(struct json_cursor c, bool object)
{
	enum json_cursor_type type;
	struct str key, raw;
	int64_t n = 0;

	while (object ? json_cursor_member(&c, &key, NULL) : json_cursor_element(&c)) {
		if (!json_cursor_value(&c, &raw, &type))
			return -1;
		n++;
	}
	return n;
}

static int64_t count_values(void *host, const struct dp_object *o, const char *pointer)
{
	struct dp_path *path = object_compile(extension_scratch(extension_object_of(host)),
					      str_from(pointer));
	struct json_cursor c = json_cursor_of(o->object->json), inner;

	if (!path || !object_walk(&c, path))
		return -1;
	inner = c;
	if (json_cursor_enter(&inner, '{'))
		return count_in(inner, true);
	inner = c;
	return json_cursor_enter(&inner, '[') ? count_in(inner, false) : -1;
}

static int object_read_quantity(void *host UNUSED, struct dp_text text, int64_t *ret_value)
{
	struct quantity q;

	if (!text.p || quantity_parse(extension_text(text), &q, NULL) < 0)
		return -1;
	*ret_value = quantity_value(q);
	return 0;
}

void extension_object_functions(struct dp_scheduler_host *t)
{
	t->name = get_name;
	t->ns = get_ns;
	t->uid = get_uid;
	t->label = get_label;
	t->annotation = get_annotation;
	t->path = get_path;
	t->get = get_value;
	t->find = find_value;
	t->count = count_values;
	t->quantity = object_read_quantity;
}

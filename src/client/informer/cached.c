/*
 * The header is read in one pass over the top level and the metadata; everything else is skipped.
 * One block holds the struct, then the text, then the key.
 */
#include "client/informer/cached.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"

/* Results of the pass; pointers into the source. */
struct found {
	struct str ns, name, uid, rv;
	bool kind, deleting;
	const char *cut, *cut_end; /* the member managedFields with one comma; NULL: absent */
};

static void note_meta(struct found *f, struct str key, struct str raw, enum json_cursor_type type,
		      struct arena *a)
{
	struct str *to = NULL;

	if (str_eq(key, STR("name")))
		to = &f->name;
	else if (str_eq(key, STR("namespace")))
		to = &f->ns;
	else if (str_eq(key, STR("uid")))
		to = &f->uid;
	else if (str_eq(key, STR("resourceVersion")))
		to = &f->rv;
	else if (str_eq(key, STR("deletionTimestamp")))
		f->deleting = type == JSON_CURSOR_STRING;
	if (to)
		*to = json_cursor_text(raw, type, a);
}

/* Marks the member [from, s->p) with the comma before it, or else the one after it. */
static void note_cut(struct found *f, const struct json_cursor *s, const char *before,
		     const char *from)
{
	const char *p = s->p;

	f->cut = before ? before : from;
	if (!before) {
		while (p < s->end && *p != ',' && *p != '}')
			p++;
		if (p < s->end && *p == ',')
			p++;
	}
	f->cut_end = p;
}

static bool walk_meta(struct json_cursor *s, struct found *f, struct arena *a)
{
	const char *before = NULL, *from;
	enum json_cursor_type type;
	struct str key, raw;

	if (!json_cursor_enter(s, '{'))
		return false;
	while (json_cursor_member(s, &key, &from)) {
		if (!json_cursor_value(s, &raw, &type))
			return false;
		if (str_eq(key, STR("managedFields")))
			note_cut(f, s, before, from);
		else
			note_meta(f, key, raw, type, a);
		before = s->p; /* after a value comes the next one's comma */
	}
	return s->p != NULL;
}

static bool cached_walk(struct str text, struct found *f, struct arena *a)
{
	struct json_cursor s = json_cursor_of(text);
	enum json_cursor_type type;
	struct str key, raw;

	if (!json_cursor_enter(&s, '{'))
		return false;
	while (json_cursor_member(&s, &key, NULL)) {
		if (str_eq(key, STR("metadata"))) {
			if (!walk_meta(&s, f, a))
				return false;
			continue;
		}
		if (!json_cursor_value(&s, &raw, &type))
			return false;
		f->kind |= str_eq(key, STR("kind"));
	}
	return s.p && f->name.n;
}

static char *cached_put(char *at, struct str s)
{
	str_put(at, s);
	return at + s.n;
}

/* Copies the text with a head in front and without the cut; returns the end. */
static char *cached_put_text(char *at, struct str text, struct str head, const struct found *f)
{
	const char *end = text.p + text.n, *body = text.p;

	if (head.n) {
		while (*body != '{')
			body++;
		*at++ = *body++;
		at = cached_put(at, head);
	}
	if (!f->cut)
		return cached_put(at, str_of(body, (size_t)(end - body)));
	at = cached_put(at, str_of(body, (size_t)(f->cut - body)));
	return cached_put(at, str_of(f->cut_end, (size_t)(end - f->cut_end)));
}

static struct str put_piece(char **at, struct str piece)
{
	struct str copy = str_of(*at, piece.n);

	*at = cached_put(*at, piece);
	return copy;
}

static struct cached *build(struct str text, struct str head, const struct found *f)
{
	size_t key_n = f->ns.n + (f->ns.n ? 1 : 0) + f->name.n;
	size_t n = text.n + head.n - (f->cut ? (size_t)(f->cut_end - f->cut) : 0);
	struct cached *o = xmalloc(sizeof(*o) + n + 1 + key_n + f->uid.n + f->rv.n);
	char *at = (char *)(o + 1);

	*o = (struct cached){ .refs = 1, .ns_n = (uint16_t)f->ns.n, .deleting = f->deleting };
	o->json = str_of(at, n);
	at = cached_put_text(at, text, head, f);
	*at++ = '\0';
	o->key = str_of(at, key_n);
	at = cached_put(at, f->ns);
	if (f->ns.n)
		*at++ = '/';
	at = cached_put(at, f->name);
	o->uid = put_piece(&at, f->uid);
	o->resource_version = put_piece(&at, f->rv);
	if (!str_to_u64(f->rv, &o->revision))
		o->revision = 0;
	return o;
}

int cached_new(struct str text, const struct cached_defaults *d, struct cached **ret_object,
	       struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct found f = { 0 };
	struct str head = STR_NULL;
	char room[512] UNZEROED; /* for the head; most objects then need no heap memory for it */

	arena_init_in(&a, MIB, room, sizeof(room));
	if (!cached_walk(text, &f, &a))
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an object without a name: %.*s",
				 (int)MIN(text.n, (size_t)64), text.p ? text.p : "");
	if (f.ns.n > UINT16_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an object with a "
				 "namespace of %zu bytes",
				 f.ns.n);
	if (!d || !d->slim)
		f.cut = NULL;
	if (d && !f.kind && d->kind.n)
		head = str_from(arena_printf(&a, "\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
					     STR_ARG(d->kind), STR_ARG(d->api_version)));
	*ret_object = build(text, head, &f);
	return 0;
}

struct cached *cached_ref(struct cached *o)
{
	o->refs++;
	return o;
}

void cached_unref(struct cached *o)
{
	if (o && --o->refs == 0)
		free(o);
}

static struct str read_value(struct json_cursor *s, struct arena *a)
{
	enum json_cursor_type type;
	struct str raw;

	if (!json_cursor_value(s, &raw, &type) || type == JSON_CURSOR_NULL)
		return STR_NULL;
	if (type == JSON_CURSOR_NESTED || type == JSON_CURSOR_SCALAR)
		return raw;
	return json_cursor_text(raw, type, a);
}

struct str cached_field(const struct cached *o, const char *path, struct arena *a)
{
	struct json_cursor s = json_cursor_of(o->json);
	struct str rest = str_from(path), name;

	while (str_split(&rest, '.', &name))
		if (!json_cursor_find(&s, name))
			return STR_NULL;
	return read_value(&s, a);
}

static struct str meta_member(const struct cached *o, struct str map, struct str key,
			      struct arena *a)
{
	struct json_cursor s = json_cursor_of(o->json);

	if (!json_cursor_find(&s, STR("metadata")) || !json_cursor_find(&s, map) ||
	    !json_cursor_find(&s, key))
		return STR_NULL;
	return read_value(&s, a);
}

struct str cached_label(const struct cached *o, struct str key, struct arena *a)
{
	return meta_member(o, STR("labels"), key, a);
}

struct str cached_annotation(const struct cached *o, struct str key, struct arena *a)
{
	return meta_member(o, STR("annotations"), key, a);
}

struct str cached_labels_get(const void *labels, struct str key)
{
	const struct cached_labels *l = labels;

	return cached_label(l->object, key, l->arena);
}

bool cached_same_field(const struct cached *a, const struct cached *b, const char *path)
{
	return str_eq(cached_field(a, path, NULL), cached_field(b, path, NULL));
}

bool cached_same_fields(const struct cached *a, const struct cached *b, const char *const *paths,
			size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!cached_same_field(a, b, paths[i]))
			return false;
	}
	return true;
}

int cached_tree(const struct cached *o, struct arena *a, struct json **ret_tree, struct error *err)
{
	return json_parse(a, o->json, NULL, ret_tree, err);
}

static void cached_drop(void *object)
{
	cached_unref(object);
}

int cached_tree_held(struct cached *o, struct arena *a, struct json **ret_tree, struct error *err)
{
	arena_hold(a, cached_drop, cached_ref(o));
	return cached_tree(o, a, ret_tree, err);
}

/*
 * The header is read in one pass over the top level and the metadata; everything else is skipped,
 * except where members are left out. One block holds the struct, then the text, then the key.
 */
#include "client/informer/cached.h"

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"

enum { CUTS_MAX = 64 /* after that many, members stay */ };

/* A piece of the source that is left out. */
struct cut {
	const char *from, *to;
};

/* Results of the pass; pointers into the source. */
struct found {
	const struct cached_defaults *defaults;
	struct str ns, name, uid, rv;
	bool kind, deleting;
	const char *end; /* of the object */
	size_t n, bytes; /* cuts, and how long they are together */
	struct cut cuts[CUTS_MAX];
};

/* --- what is left out ------------------------------------------------------------------------ */

/* A walk over the members of one object. */
struct members {
	const char *before; /* the end of the last member; NULL: there was none */
	bool kept; /* one of them stays */
};

static void add_cut(struct found *f, const char *from, const char *to)
{
	if (f->n > 0 && f->cuts[f->n - 1].to == from)
		f->cuts[f->n - 1].to = to;
	else if (f->n < CUTS_MAX)
		f->cuts[f->n++] = (struct cut){ from, to };
	else
		return;
	f->bytes += (size_t)(to - from);
}

/* Cuts the member [from, s->p) with the comma before it, or else the one after it. */
static void cut_member(struct found *f, const struct json_cursor *s, const struct members *m,
		       const char *from)
{
	const char *p = s->p;

	if (!m->kept) {
		while (p < s->end && *p != ',' && *p != '}')
			p++;
		if (p < s->end && *p == ',')
			p++;
	}
	add_cut(f, m->kept ? m->before : from, p);
}

static const struct cached_trim *trim_of(const struct cached_trim *t, struct str key)
{
	for (; t && t->name.n; t++)
		if (str_eq(t->name, key))
			return t;
	return NULL;
}

static bool trim_value(struct json_cursor *s, struct found *f, const struct cached_trim *t);

static bool trim_object(struct json_cursor *s, struct found *f, const struct cached_trim *t)
{
	struct members m = { 0 };
	const char *from;
	struct str key;

	if (!json_cursor_enter(s, '{'))
		return false;
	while (json_cursor_member(s, &key, &from)) {
		const struct cached_trim *of = trim_of(t, key);

		if (!trim_value(s, f, of ? of->inside : NULL))
			return false;
		if (of && !of->inside)
			cut_member(f, s, &m, from);
		else
			m.kept = true;
		m.before = s->p; /* after a value comes the next one's comma */
	}
	return s->p != NULL;
}

/* Passes a value and cuts what is to be left out inside it. */
static bool trim_value(struct json_cursor *s, struct found *f, const struct cached_trim *t)
{
	enum json_cursor_type type;
	struct str raw;

	if (!t || !s->p || (*s->p != '{' && *s->p != '['))
		return json_cursor_value(s, &raw, &type);
	if (*s->p == '{')
		return trim_object(s, f, t);
	(void)json_cursor_enter(s, '[');
	while (json_cursor_element(s)) {
		if (*s->p == '{' ? !trim_object(s, f, t) : !json_cursor_value(s, &raw, &type))
			return false;
	}
	return s->p != NULL;
}

/* --- the pass -------------------------------------------------------------------------------- */

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

static bool walk_meta(struct json_cursor *s, struct found *f, struct arena *a)
{
	struct members m = { 0 };
	enum json_cursor_type type;
	struct str key, raw;
	const char *from;

	if (!json_cursor_enter(s, '{'))
		return false;
	while (json_cursor_member(s, &key, &from)) {
		if (!json_cursor_value(s, &raw, &type))
			return false;
		if (f->defaults->slim && str_eq(key, STR("managedFields"))) {
			cut_member(f, s, &m, from);
		} else {
			note_meta(f, key, raw, type, a);
			m.kept = true;
		}
		m.before = s->p;
	}
	return s->p != NULL;
}

static bool cached_walk(struct str text, struct found *f, struct arena *a)
{
	struct json_cursor s = json_cursor_of(text);
	const struct cached_trim *of;
	struct str key;

	if (!json_cursor_enter(&s, '{'))
		return false;
	while (json_cursor_member(&s, &key, NULL)) {
		if (str_eq(key, STR("metadata"))) {
			if (!walk_meta(&s, f, a))
				return false;
			continue;
		}
		of = trim_of(f->defaults->trim, key);
		if (!trim_value(&s, f, of ? of->inside : NULL))
			return false;
		f->kind |= str_eq(key, STR("kind"));
	}
	f->end = s.p;
	return s.p && f->name.n;
}

/* --- the block ------------------------------------------------------------------------------- */

static char *cached_put(char *at, struct str s)
{
	str_put(at, s);
	return at + s.n;
}

/* Copies the text with a head in front and without the cuts; returns the end. */
static char *cached_put_text(char *at, struct str text, struct str head, const struct found *f)
{
	const char *body = text.p;

	if (head.n) {
		while (*body != '{')
			body++;
		*at++ = *body++;
		at = cached_put(at, head);
	}
	for (size_t i = 0; i < f->n; i++) {
		at = cached_put(at, str_of(body, (size_t)(f->cuts[i].from - body)));
		body = f->cuts[i].to;
	}
	return cached_put(at, str_of(body, (size_t)(text.p + text.n - body)));
}

static struct str put_piece(char **at, struct str piece)
{
	struct str copy = str_of(*at, piece.n);

	*at = cached_put(*at, piece);
	return copy;
}

/* --- the controller -------------------------------------------------------------------------- */

static struct str member(struct json_cursor object, struct str key, struct arena *a)
{
	enum json_cursor_type type;
	struct str raw;

	if (!json_cursor_find(&object, key) || !json_cursor_value(&object, &raw, &type))
		return STR_NULL;
	return type == JSON_CURSOR_SCALAR ? raw : json_cursor_text(raw, type, a);
}

/* Moves to the controller's reference. Returns false if the object has no controller. */
static bool find_controller(const struct cached *o, struct json_cursor *ret_ref)
{
	struct json_cursor s = json_cursor_of(o->json);
	enum json_cursor_type type;
	struct str raw;

	if (!json_cursor_find(&s, STR("metadata")) ||
	    !json_cursor_find(&s, STR("ownerReferences")) || !json_cursor_enter(&s, '['))
		return false;
	while (json_cursor_element(&s)) {
		*ret_ref = s;
		if (str_eq(member(s, STR("controller"), NULL), STR("true")))
			return true;
		if (!json_cursor_value(&s, &raw, &type))
			break;
	}
	return false;
}

static struct cached_controller read_controller(struct json_cursor ref, struct arena *a)
{
	return (struct cached_controller){ .kind = member(ref, STR("kind"), a),
					   .name = member(ref, STR("name"), a),
					   .uid = member(ref, STR("uid"), a) };
}

static struct cached_piece piece_of(struct cached *o, struct str s)
{
	if (!s.p) {
		o->controller_escaped = true;
		return (struct cached_piece){ 0 };
	}
	return (struct cached_piece){ (uint32_t)(s.p - o->json.p), (uint32_t)s.n };
}

/* Every event about an object asks for its controller several times. */
static void note_controller(struct cached *o)
{
	struct cached_controller c;
	struct json_cursor ref;

	if (o->json.n > UINT32_MAX) {
		o->controller_escaped = true;
		return;
	}
	if (!find_controller(o, &ref))
		return;
	c = read_controller(ref, NULL);
	o->controller_kind = piece_of(o, c.kind);
	o->controller_name = piece_of(o, c.name);
	o->controller_uid = piece_of(o, c.uid);
}

static struct str piece_text(const struct cached *o, struct cached_piece p)
{
	return str_of(o->json.p + p.at, p.n);
}

struct cached_controller cached_controller(const struct cached *o, struct arena *a)
{
	struct json_cursor ref;

	if (o->controller_escaped)
		return find_controller(o, &ref) ? read_controller(ref, a)
						: (struct cached_controller){ 0 };
	return (struct cached_controller){ .kind = piece_text(o, o->controller_kind),
					   .name = piece_text(o, o->controller_name),
					   .uid = piece_text(o, o->controller_uid) };
}

/* --- making ---------------------------------------------------------------------------------- */

static struct cached *build(struct str text, struct str head, const struct found *f)
{
	size_t key_n = f->ns.n + (f->ns.n ? 1 : 0) + f->name.n;
	size_t n = text.n + head.n - f->bytes;
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
	note_controller(o);
	return o;
}

/* Leaves the cuts as they are: an event should not have to clear a kilobyte. */
static void found_init(struct found *f, const struct cached_defaults *d)
{
	f->defaults = d;
	f->ns = f->name = f->uid = f->rv = STR_NULL;
	f->kind = f->deleting = false;
	f->end = NULL;
	f->n = f->bytes = 0;
}

int cached_new(struct str text, const struct cached_defaults *d, struct cached **ret_object,
	       struct error *err)
{
	static const struct cached_defaults none = { 0 };
	CLEANUP(arena_release) struct arena a;
	struct found f UNZEROED;
	struct str head = STR_NULL;
	char room[512] UNZEROED; /* for the head; most objects then need no heap memory for it */

	arena_init_in(&a, MIB, room, sizeof(room));
	found_init(&f, d ? d : &none);
	if (!cached_walk(text, &f, &a))
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an object without a name: %.*s",
				 (int)MIN(text.n, (size_t)64), text.p ? text.p : "");
	if (f.ns.n > UINT16_MAX)
		return error_set(err, ERR_PROTOCOL,
				 "the server sent an object with a "
				 "namespace of %zu bytes",
				 f.ns.n);
	if (d && !f.kind && d->kind.n)
		head = str_from(arena_printf(&a, "\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",",
					     STR_ARG(d->kind), STR_ARG(d->api_version)));
	*ret_object = build(str_of(text.p, (size_t)(f.end - text.p)), head, &f);
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

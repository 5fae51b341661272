/*
 * One walk over the text finds all positions (base/json/cursor.h). Then the struct, its labels,
 * fields and key are made in one allocation. Labels and fields are offsets in the text, so an
 * object needs little more than its bytes. The exception is a field whose text has escapes: its
 * value is copied to after the struct and marked OBJECT_VALUE_OWN.
 */
#include "api/object/build.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

#define PATH_MAX_BYTES 256 /* of a selectable, dotted */

/* --- the header ----------------------------------------------------------------------- */

/* The result of the walk. */
struct header {
	const struct schema_kind *kind;
	const char *text;
	struct str name, ns, uid, created, deletion, rv;
	struct str labels; /* raw text of the object */
	uint32_t nlabels;
	uint32_t status_at;
	size_t own; /* bytes that escaped fields need after the struct */
	struct object_value fields[UINT8_MAX + 1];
	char path[PATH_MAX_BYTES]; /* current path of the walk, dotted */
};

static uint32_t count_labels(struct str labels)
{
	struct json_cursor s = json_cursor_compact(labels);
	enum json_cursor_type type;
	struct str key, raw;
	uint32_t n = 0;

	if (!labels.p || !json_cursor_enter(&s, '{'))
		return 0;
	while (json_cursor_member(&s, &key, NULL) && json_cursor_value(&s, &raw, &type))
		n++;
	return n;
}

static struct str *header_slot(struct header *h, struct str key)
{
	static const struct {
		struct str key;
		size_t at;
	} slots[] = {
		{ STR("name"), offsetof(struct header, name) },
		{ STR("namespace"), offsetof(struct header, ns) },
		{ STR("uid"), offsetof(struct header, uid) },
		{ STR("resourceVersion"), offsetof(struct header, rv) },
		{ STR("creationTimestamp"), offsetof(struct header, created) },
		{ STR("deletionTimestamp"), offsetof(struct header, deletion) },
		{ STR("labels"), offsetof(struct header, labels) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(slots); i++)
		if (str_eq(key, slots[i].key))
			return (struct str *)(void *)((char *)h + slots[i].at);
	return NULL;
}

static void header_meta(struct header *h, struct json_cursor *s)
{
	enum json_cursor_type type;
	struct str key, raw;

	if (!json_cursor_enter(s, '{'))
		return;
	while (json_cursor_member(s, &key, NULL)) {
		struct str *slot = header_slot(h, key);

		if (!json_cursor_value(s, &raw, &type))
			return;
		if (slot && type != JSON_CURSOR_NULL)
			*slot = raw;
	}
	h->nlabels = count_labels(h->labels);
}

/* Returns 1 if a selectable is at this path, 2 if one lies below it, else 0. */
static int header_wants(const struct header *h, struct str path, size_t *ret_index)
{
	int below = 0;

	for (size_t i = 0; i < h->kind->nselectables; i++) {
		const struct schema_selectable *s = &h->kind->selectables[i];
		struct str want = s->storage_path.p ? s->storage_path : s->path;

		if (want.n < path.n || memcmp(want.p, path.p, path.n) != 0)
			continue;
		if (want.n == path.n) {
			*ret_index = i;
			return 1;
		}
		if (want.p[path.n] == '.')
			below = 2;
	}
	return below;
}

static void header_take(struct header *h, struct json_cursor *s, size_t i)
{
	enum json_cursor_type type;
	struct str raw;

	if (!json_cursor_value(s, &raw, &type) || type == JSON_CURSOR_NULL ||
	    type == JSON_CURSOR_NESTED)
		return;
	h->fields[i] = (struct object_value){ (uint32_t)(raw.p - h->text), (uint32_t)raw.n };
	if (type == JSON_CURSOR_ESCAPED) {
		h->fields[i].at |= OBJECT_VALUE_OWN;
		h->own += raw.n;
	}
}

/*
 * Walks the members of the object here, whose own path is the first `n` bytes of h->path. Descends
 * only towards selectables, so never deeper than their dots.
 */
static void header_members(struct header *h, struct json_cursor *s, size_t n)
{
	enum json_cursor_type type;
	struct str key, raw;
	size_t index, dot = n ? 1 : 0;

	if (s->p && s->p < s->end && *s->p != '{') {
		(void)json_cursor_value(s, &raw, &type);
		return;
	}
	if (!json_cursor_enter(s, '{'))
		return;
	while (json_cursor_member(s, &key, NULL)) {
		int wants = 0;

		if (n == 0 && str_eq(key, STR("metadata"))) {
			header_meta(h, s);
			continue;
		}
		if (n == 0 && str_eq(key, STR("status")))
			h->status_at = (uint32_t)(s->p - h->text);
		if (h->kind->nselectables && n + dot + key.n < sizeof(h->path)) {
			h->path[n] = '.'; /* overwritten at the top level */
			str_put(h->path + n + dot, key);
			wants = header_wants(h, str_of(h->path, n + dot + key.n), &index);
		}
		if (wants == 1)
			header_take(h, s, index);
		else if (wants == 2)
			header_members(h, s, n + dot + key.n);
		else
			(void)json_cursor_value(s, &raw, &type);
	}
}

static int header_read(struct header *h, const struct schema_kind *kind, struct str text,
		       struct error *err)
{
	struct json_cursor s = json_cursor_compact(text);

	*h = (struct header){ .kind = kind, .text = text.p };
	header_members(h, &s, 0);
	if (!s.p || s.p != s.end || h->name.n == 0 || !h->rv.p)
		return error_set(err, ERR_INTERNAL,
				 "the stored %.*s object is damaged; restore a backup",
				 STR_ARG(kind->storage_name));
	return 0;
}

/* --- building -------------------------------------------------------------------------- */

static int label_cmp(const void *a, const void *b, void *text)
{
	const struct object_label *x = a, *y = b;
	const char *t = text;

	return str_cmp(str_of(t + x->key, x->key_n), str_of(t + y->key, y->key_n));
}

static void fill_labels(struct object *o, const struct header *h)
{
	struct json_cursor s = json_cursor_compact(h->labels);
	enum json_cursor_type type;
	struct str key, raw;
	bool sorted = true;
	uint32_t n = 0;

	if (o->nlabels == 0)
		return;
	(void)json_cursor_enter(&s, '{');
	while (n < o->nlabels && json_cursor_member(&s, &key, NULL) &&
	       json_cursor_value(&s, &raw, &type)) {
		o->labels[n] = (struct object_label){
			.key = (uint32_t)(key.p - h->text),
			.value = (uint32_t)(raw.p - h->text),
			.key_n = (uint16_t)MIN(key.n, (size_t)UINT16_MAX),
			.value_n = (uint16_t)MIN(raw.n, (size_t)UINT16_MAX),
		};
		if (n > 0 && label_cmp(&o->labels[n - 1], &o->labels[n], o->json->data) > 0)
			sorted = false;
		n++;
	}
	if (!sorted)
		qsort_r(o->labels, n, sizeof(*o->labels), label_cmp, o->json->data);
}

/* Decodes escaped values to `own`, after the struct. */
static int fill_fields(struct object *o, const struct header *h, char *own, struct error *err)
{
	for (size_t i = 0; i < o->nfields; i++) {
		struct object_value v = h->fields[i];
		char block[1024] UNZEROED;
		struct arena a;
		struct json *text = NULL;
		int r;

		if (v.at & OBJECT_VALUE_OWN) {
			const char *raw = h->text + (v.at & ~OBJECT_VALUE_OWN);

			arena_init_in(&a, OBJECT_MAX, block, sizeof(block));
			r = json_parse(&a, str_of(raw - 1, v.n + 2), NULL, &text, err);
			if (r == 0)
				memcpy(own, text->text, text->n);
			v.at = (uint32_t)(own - (char *)o) | OBJECT_VALUE_OWN;
			v.n = r == 0 ? text->n : 0;
			own += v.n;
			arena_release(&a);
			if (r < 0)
				return error_set(err, ERR_INTERNAL,
						 "the stored %.*s object is damaged; delete it or "
						 "restore a backup",
						 STR_ARG(h->kind->storage_name));
		}
		o->fields[i] = v;
	}
	return 0;
}

static void fill_key(struct object *o, const struct header *h, char *at)
{
	size_t ns_n = h->ns.n;

	if (ns_n) {
		memcpy(at, h->ns.p, ns_n);
		at[ns_n] = '/';
		str_put(at + ns_n + 1, h->name);
	} else {
		str_put(at, h->name);
	}
	o->ns_n = (uint16_t)ns_n;
	o->key = str_of(at, h->name.n + (ns_n ? ns_n + 1 : 0));
}

/* Finds the member with its comma: the one before it, else the one after it. */
static void fill_rv(struct object *o, const struct header *h)
{
	static const size_t before = sizeof("\"resourceVersion\":\"") - 1;
	uint32_t at = (uint32_t)((size_t)(h->rv.p - h->text) - before);
	uint32_t n = (uint32_t)(before + h->rv.n + 1);

	if (h->text[at - 1] == ',') {
		at--;
		n++;
	} else if (h->text[at + n] == ',') {
		n++;
	}
	o->rv_at = at;
	o->rv_n = n;
}

static bool build_skip(struct str *text, struct str prefix)
{
	if (!str_starts(*text, prefix))
		return false;
	*text = str_skip(*text, prefix.n);
	return true;
}

/* Returns the position after apiVersion and kind if the list has the same, else after the brace. */
static uint16_t item_begin(const struct schema_kind *kind, struct str text)
{
	struct str rest = text;

	if (!kind->custom && build_skip(&rest, STR("{\"apiVersion\":\"")) &&
	    build_skip(&rest, kind->api_version) && build_skip(&rest, STR("\",\"kind\":\"")) &&
	    build_skip(&rest, kind->kind) && build_skip(&rest, STR("\",")))
		return (uint16_t)(rest.p - text.p);
	return 1;
}

int object_build(const struct schema_kind *kind, struct bytes *json, struct bytes *stored,
		 int64_t revision, struct object **ret_object, struct error *err)
{
	CLEANUP(object_unref) struct object *o = NULL;
	struct header h UNZEROED; /* header_read() sets all of it */
	size_t at = sizeof(*o), n;
	int64_t created = 0;
	int r;

	kind = kind->storage ? kind->storage : kind;
	r = header_read(&h, kind, bytes_str(json), err);
	n = r < 0 ? 0
		  : h.nlabels * sizeof(*o->labels) + kind->nselectables * sizeof(*o->fields) +
			    h.ns.n + 1 + h.name.n + h.own;
	o = xcalloc(1, at + n);
	atomic_init(&o->refs, 1);
	atomic_init(&o->message, NULL);
	o->json = json;
	o->stored = stored;
	if (r < 0)
		return r;

	o->revision = revision;
	o->nlabels = h.nlabels;
	o->status_at = h.status_at;
	o->nfields = kind->nselectables;
	o->item_at = item_begin(kind, bytes_str(json));
	o->uid = h.uid;
	o->deleting = h.deletion.n > 0;
	if (h.created.n && timestamp_parse(h.created, &created, NULL) == 0)
		o->created_s = created / 1000000000;
	o->labels = (struct object_label *)(void *)((char *)o + at);
	at += o->nlabels * sizeof(*o->labels);
	o->fields = (struct object_value *)(void *)((char *)o + at);
	at += o->nfields * sizeof(*o->fields);
	fill_key(o, &h, (char *)o + at);
	fill_rv(o, &h);
	fill_labels(o, &h);
	r = fill_fields(o, &h, (char *)o + at + o->key.n, err);
	if (r < 0)
		return r;

	*ret_object = TAKE(o);
	return 0;
}

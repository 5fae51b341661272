/*
 * Builds the text first, with the resourceVersion inserted after the uid, where upstream prints it.
 * Then walks it once for the header (object/build.h). A kind whose served form differs (write.h)
 * also keeps the stored text.
 */
#include "api/object/object.h"

#include <stdlib.h>

#include "api/api_limits.h"
#include "api/object/build.h"
#include "api/write/write.h"
#include "base/core/mem.h"
#include "base/json/cursor.h"
#include "base/json/writer.h"

/* --- encoding --------------------------------------------------------------------- */

static void encode_meta(struct json_writer *w, const struct json *meta)
{
	json_writer_keyz(w, "metadata");
	json_writer_begin_object(w);
	JSON_FOREACH (m, meta) {
		if (str_eq(json_key(m), STR("resourceVersion")))
			continue;
		json_writer_key(w, json_key(m));
		json_writer_tree(w, m);
	}
	json_writer_end_object(w);
}

static bool encoded_first(struct str key)
{
	return str_eq(key, STR("apiVersion")) || str_eq(key, STR("kind")) ||
	       str_eq(key, STR("metadata"));
}

int object_encode(const struct json *tree, struct bytes **ret_stored, struct error *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(OBJECT_MAX);
	struct json_writer w;

	json_writer_init(&w, &out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "apiVersion");
	json_writer_str(&w, json_text_at(tree, "apiVersion"));
	json_writer_keyz(&w, "kind");
	json_writer_str(&w, json_text_at(tree, "kind"));
	encode_meta(&w, json_getz(tree, "metadata"));
	JSON_FOREACH (m, tree) {
		if (encoded_first(json_key(m)))
			continue;
		json_writer_key(&w, json_key(m));
		json_writer_tree(&w, m);
	}
	json_writer_end_object(&w);
	if (json_writer_finish(&w) < 0)
		return error_set(err, ERR_TOO_LARGE, "limit is %lu", OBJECT_MAX);

	*ret_stored = bytes_copy(buf_str(&out));
	return 0;
}

/* --- the text as sent ---------------------------------------------------------------- */

/* Returns the position after metadata.uid, or at the beginning of metadata; -1 without metadata. */
static ptrdiff_t splice_point(struct str text)
{
	struct json_cursor s = json_cursor_compact(text);
	enum json_cursor_type type;
	struct str key, raw;
	const char *begin = NULL;

	if (!json_cursor_enter(&s, '{'))
		return -1;
	while (json_cursor_member(&s, &key, NULL) && !str_eq(key, STR("metadata")))
		if (!json_cursor_value(&s, &raw, &type))
			return -1;
	if (!json_cursor_enter(&s, '{'))
		return -1;
	begin = s.p;
	while (json_cursor_member(&s, &key, NULL)) {
		if (!json_cursor_value(&s, &raw, &type))
			return -1;
		if (str_eq(key, STR("uid")))
			return s.p - text.p;
	}
	return s.p ? begin - text.p : -1;
}

/* Runs for every write, so it does not use printf. */
static char *put_version(char *to, int64_t revision)
{
	static const char begin[] = "\"resourceVersion\":\"";
	char number[STR_DIGITS];
	struct str digits = str_print_i64(number, revision);

	memcpy(to, begin, sizeof(begin) - 1);
	to += sizeof(begin) - 1;
	str_put(to, digits);
	to += digits.n;
	*to++ = '"';
	return to;
}

/* Returns `text` with the resourceVersion inserted; NULL if the text is not an object. */
static struct bytes *splice(struct str text, int64_t revision)
{
	ptrdiff_t at = splice_point(text);
	char member[64], *end = member;
	struct bytes *b;
	size_t n;

	if (at < 1)
		return NULL;
	if (text.p[at - 1] != '{') /* after the uid */
		*end++ = ',';
	end = put_version(end, revision);
	if (text.p[at - 1] == '{' && text.p[at] != '}')
		*end++ = ',';
	n = (size_t)(end - member);

	b = bytes_new(text.n + n);
	memcpy(b->data, text.p, (size_t)at);
	memcpy(b->data + at, member, n);
	memcpy(b->data + at + n, text.p + at, text.n - (size_t)at);
	return b;
}

static int object_plain(const struct schema_kind *kind, struct str stored, int64_t revision,
			struct object **ret_object, struct error *err)
{
	struct bytes *json = splice(stored, revision);

	if (!json)
		return error_set(err, ERR_INTERNAL,
				 "the stored %.*s object is damaged; restore a backup",
				 STR_ARG(kind->storage_name));
	return object_build(kind, json, NULL, revision, ret_object, err);
}

/* May change `tree`. */
static int object_served(const struct schema_kind *kind, struct arena *a, struct json *tree,
			 struct str stored, int64_t revision, const struct gates *gates,
			 struct object **ret_object, struct error *err)
{
	CLEANUP(bytes_unref) struct bytes *text = NULL;
	struct bytes *json;
	int r;

	if (!write_served_form(a, tree, kind, gates))
		return object_plain(kind, stored, revision, ret_object, err);

	r = object_encode(tree, &text, err);
	if (r < 0)
		return r;
	json = splice(bytes_str(text), revision);
	if (!json)
		return error_set(err, ERR_INTERNAL,
				 "the stored %.*s object is damaged; restore a backup",
				 STR_ARG(kind->storage_name));
	return object_build(kind, json, bytes_copy(stored), revision, ret_object, err);
}

int object_new(const struct schema_kind *kind, struct str stored, int64_t revision,
	       const struct gates *gates, struct object **ret_object, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (!write_has_served_form(stored, kind, gates))
		return object_plain(kind, stored, revision, ret_object, err);

	if (json_parse(&a, stored, NULL, &tree, err) < 0)
		return error_set(err, ERR_INTERNAL,
				 "the stored %.*s object is damaged; restore a backup",
				 STR_ARG(kind->storage_name));
	return object_served(kind, &a, tree, stored, revision, gates, ret_object, err);
}

int object_new_from_tree(const struct schema_kind *kind, const struct json *tree, struct str stored,
			 int64_t revision, const struct gates *gates, struct object **ret_object,
			 struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct json *copy;
	int r;

	arena_init(&a, SIZE_MAX);
	if (!write_has_served_form(stored, kind, gates))
		return object_plain(kind, stored, revision, ret_object, err);

	r = json_copy(&a, tree, &copy, err);
	if (r < 0)
		return r;
	return object_served(kind, &a, copy, stored, revision, gates, ret_object, err);
}

/* --- another revision -------------------------------------------------------------------- */

static size_t object_size(const struct object *o)
{
	size_t n = sizeof(*o) + o->nlabels * sizeof(*o->labels) + o->nfields * sizeof(*o->fields) +
		   o->key.n;

	for (size_t i = 0; i < o->nfields; i++)
		if (o->fields[i].at & OBJECT_VALUE_OWN)
			n += o->fields[i].n;
	return n;
}

/* Returns the text of `o` with another resourceVersion; *ret_shift is the difference in length. */
static struct bytes *respliced(const struct object *o, int64_t revision, int *ret_shift)
{
	struct str text = bytes_str(o->json);
	char number[STR_DIGITS];
	struct str digits = str_print_i64(number, revision);
	size_t at = o->rv_at + (size_t)(strchr(text.p + o->rv_at, ':') + 2 - (text.p + o->rv_at));
	size_t end = (size_t)(strchr(text.p + at, '"') - text.p);
	struct bytes *b = bytes_new(text.n - (end - at) + digits.n);

	memcpy(b->data, text.p, at);
	str_put(b->data + at, digits);
	memcpy(b->data + at + digits.n, text.p + end, text.n - end);
	*ret_shift = (int)digits.n - (int)(end - at);
	return b;
}

struct object *object_at(const struct object *o, int64_t revision)
{
	size_t n = object_size(o), fixed = offsetof(struct object, nlabels);
	struct object *c = xmalloc(n);
	uint32_t after = o->rv_at;
	int shift;

	/* Copies everything except the members that other threads may change meanwhile. */
	memcpy((char *)c + fixed, (const char *)o + fixed, n - fixed);
	atomic_init(&c->refs, 1);
	atomic_init(&c->message, NULL);
	c->revision = revision;
	c->json = respliced(o, revision, &shift);
	c->stored = o->stored ? bytes_ref(o->stored) : NULL;
	c->rv_n = (uint32_t)((int)o->rv_n + shift);
	if (c->status_at > after)
		c->status_at += (uint32_t)shift;
	c->labels = (struct object_label *)(void *)((char *)c + ((char *)o->labels - (char *)o));
	c->fields = (struct object_value *)(void *)((char *)c + ((char *)o->fields - (char *)o));
	c->key.p = (char *)c + (o->key.p - (const char *)o);
	if (o->uid.p) {
		size_t at = (size_t)(o->uid.p - o->json->data);

		c->uid.p = c->json->data + at + (at > after ? shift : 0);
	}
	for (uint32_t i = 0; i < c->nlabels; i++) {
		c->labels[i].key += (uint32_t)(c->labels[i].key > after ? shift : 0);
		c->labels[i].value += (uint32_t)(c->labels[i].value > after ? shift : 0);
	}
	for (size_t i = 0; i < c->nfields; i++)
		if (!(c->fields[i].at & OBJECT_VALUE_OWN) && c->fields[i].at > after)
			c->fields[i].at += (uint32_t)shift;
	return c;
}

/* --- references and accessors ------------------------------------------------------------- */

struct object *object_ref(struct object *o)
{
	atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
	return o;
}

void object_unref(struct object *o)
{
	if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
		return;
	bytes_unref(o->json);
	bytes_unref(o->stored);
	bytes_unref(atomic_load_explicit(&o->message, memory_order_relaxed));
	free(o);
}

size_t object_weight(const struct object *o)
{
	const struct bytes *message = atomic_load_explicit(&o->message, memory_order_acquire);

	return sizeof(*o) + 64 + o->json->n + (o->stored ? o->stored->n : 0) +
	       (message ? message->n : 0);
}

struct str object_ns(const struct object *o)
{
	return str_of(o->key.p, o->ns_n);
}

struct str object_name(const struct object *o)
{
	return str_skip(o->key, o->ns_n ? o->ns_n + 1 : 0);
}

struct str object_field_at(const struct object *o, const struct schema_kind *kind, size_t i)
{
	struct object_value v = o->fields[i];

	if (v.at & OBJECT_VALUE_OWN)
		return str_of((const char *)o + (v.at & ~OBJECT_VALUE_OWN), v.n);
	if (v.at)
		return str_of(o->json->data + v.at, v.n);
	return kind->selectables[i].initial.p ? kind->selectables[i].initial : STR("");
}

struct str object_label(const void *source, struct str key)
{
	const struct object *o = ((const struct object_source *)source)->object;
	const char *text = o->json->data;
	size_t low = 0, high = o->nlabels;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct object_label *l = &o->labels[mid];
		int c = str_cmp(str_of(text + l->key, l->key_n), key);

		if (c == 0)
			return str_of(text + l->value, l->value_n);
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return STR_NULL;
}

/* Returns the i-th selectable of the source's kind, found among those of the storage version. */
static struct str field_of_storage(const struct object_source *s, size_t i)
{
	const struct schema_kind *storage = s->kind->storage;
	struct str path = s->kind->selectables[i].storage_path;

	if (storage == s->kind || !storage)
		return object_field_at(s->object, s->kind, i);
	for (size_t k = 0; k < storage->nselectables; k++)
		if (str_eq(storage->selectables[k].path, path))
			return object_field_at(s->object, storage, k);
	return STR_NULL;
}

struct str object_field(const void *source, struct str path)
{
	const struct object_source *s = source;
	struct str value = STR_NULL;

	if (str_eq(path, STR("metadata.name")))
		return object_name(s->object);
	if (str_eq(path, STR("metadata.namespace")))
		return object_ns(s->object);
	for (size_t i = 0; i < s->kind->nselectables; i++) {
		const struct schema_selectable *field = &s->kind->selectables[i];

		if (!str_eq(path, field->path))
			continue;
		value = field_of_storage(s, i);
		if (value.n || !field->otherwise.n)
			break;
		path = field->otherwise;
	}
	return value;
}

static void drop_bytes(void *bytes)
{
	bytes_unref(bytes);
}

int object_tree(const struct object *o, struct arena *a, struct json **ret_tree, struct error *err)
{
	struct bytes *text = o->stored ? o->stored : o->json;
	struct json *tree;
	int r;

	arena_hold(a, drop_bytes, bytes_ref(text));
	r = json_parse(a, bytes_str(text), NULL, &tree, err);
	if (r < 0)
		return error_wrap(err, r, "stored object");
	if (o->stored) {
		(void)write_upgrade(a, tree);
		json_put_str(a, json_getz(tree, "metadata"), "resourceVersion",
			     str_from(arena_printf(a, "%lld", (long long)o->revision)));
	}
	*ret_tree = tree;
	return 0;
}

bool object_is_stale(const struct object *o, const struct schema_kind *kind)
{
	return write_is_stale(bytes_str(o->stored ? o->stored : o->json), kind);
}

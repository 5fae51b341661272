/*
 * cached - an object as a client holds it: its JSON text and a small header.
 *
 * Immutable and counted: whoever keeps one beyond a callback takes a reference.
 * There is no resident tree: read one field by cached_field(), or parse all of it
 * into an arena by cached_tree(). One block of memory: the text, the key and 64
 * bytes.
 *
 * The text is as the server sent it, with apiVersion and kind also where a list
 * left them out, and without managedFields when that was asked for.
 * Threads: one loop's (the count is not atomic).
 */
#ifndef CLIENT_INFORMER_CACHED_H
#define CLIENT_INFORMER_CACHED_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

struct cached {
	unsigned refs;
	uint32_t mark; /* the cache's own */
	uint16_t ns_n; /* of the key */
	bool deleting; /* metadata.deletionTimestamp is set */
	uint64_t revision; /* resourceVersion as a number; 0: it is none */
	struct str key; /* "namespace/name" or "name" */
	struct str uid, resource_version;
	struct str json; /* the text; followed by a NUL */
};

/* What a list leaves out of its items. */
struct cached_defaults {
	struct str api_version, kind; /* put in front when the text has no kind; empty: do not */
	bool slim; /* leave managedFields out */
};

/*
 * Copies `text`, one JSON object. `defaults` may be NULL. -ERR_PROTOCOL when it has no
 * metadata.name or is no object.
 */
int cached_new(struct str text, const struct cached_defaults *defaults, struct cached **ret_object,
	       struct error *err);

struct cached *cached_ref(struct cached *o);
void cached_unref(struct cached *o); /* NULL allowed */

static inline struct str cached_ns(const struct cached *o)
{
	return str_of(o->key.p, o->ns_n);
}

static inline struct str cached_name(const struct cached *o)
{
	return str_skip(o->key, o->ns_n ? o->ns_n + 1u : 0);
}

/*
 * The text of the string, or the JSON text of any other value, that dotted names
 * lead to: "spec.nodeName", "metadata.deletionTimestamp". p is NULL when there is none.
 * Borrowed from the object; a string with escapes is unescaped into `a`, which may be
 * NULL: then it counts as absent. Names with dots in them (labels): cached_label().
 */
struct str cached_field(const struct cached *o, const char *path, struct arena *a);
struct str cached_label(const struct cached *o, struct str key, struct arena *a);
struct str cached_annotation(const struct cached *o, struct str key, struct arena *a);

/* All of it, in `a`; the text is borrowed from the object, so hold it as long. */
int cached_tree(const struct cached *o, struct arena *a, struct json **ret_tree, struct error *err);

/* The same, and the arena holds the object. */
int cached_tree_held(struct cached *o, struct arena *a, struct json **ret_tree, struct error *err);

DEFINE_CLEANUP(cached_unref, struct cached *);

#endif

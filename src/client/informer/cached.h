/*
 * cached - an object in a client's cache: its JSON text and a small header.
 *
 * Objects are immutable and reference-counted: to keep one beyond a callback, take a reference.
 * There is no resident tree: read one field with cached_field(), or parse the whole text into an
 * arena with cached_tree(). Each object is one block of memory: the text, the key and 120 bytes.
 *
 * The text is what the server sent, except that apiVersion and kind are added if a list omitted
 * them, and managedFields and other members are removed on request. Threads: one loop's (the count
 * is not atomic).
 */
#ifndef CLIENT_INFORMER_CACHED_H
#define CLIENT_INFORMER_CACHED_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

struct cached {
	unsigned refs;
	uint32_t mark; /* the cache's own */
	uint16_t ns_n; /* length of the namespace in `key` */
	bool deleting; /* metadata.deletionTimestamp is set */
	uint64_t revision; /* resourceVersion as a number; 0: not a number */
	struct str key; /* "namespace/name" or "name" */
	struct str uid, resource_version;
	struct str json; /* the text; followed by a NUL */
	/* Of the controller reference; lies in the text. Private: use cached_controller(). */
	struct cached_piece {
		uint32_t at, n;
	} controller_kind, controller_name, controller_uid;
	bool controller_escaped; /* the text has to be read */
};

/*
 * Members that nobody reads, by the place where they are. The last row has no name. A row without
 * `inside` is a member to leave out. Otherwise `inside` says what to leave out of the member's
 * object, or of each object in its array.
 */
struct cached_trim {
	struct str name;
	const struct cached_trim *inside;
};
#define CACHED_TRIM(member, in)                        \
	{                                              \
		{ (member), sizeof(member) - 1 }, (in) \
	}

/* The members that a list omits from its items. */
struct cached_defaults {
	struct str api_version, kind; /* prepended if the text has no kind; empty: do not */
	bool slim; /* remove managedFields */
	const struct cached_trim *trim; /* remove these members, too; or NULL */
};

/*
 * Copies `text`, one JSON object, without what follows it. `defaults` may be NULL. Returns
 * -ERR_PROTOCOL if it is not an object or has no metadata.name.
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
 * Returns the value at a dotted path such as "spec.nodeName" or "metadata.deletionTimestamp": the
 * content of a string, or the JSON text of any other value. p is NULL if it is absent. Borrowed
 * from the object; a string with escapes is unescaped into `a`. If `a` is NULL, such a string
 * counts as absent. For keys with dots in them use cached_label() or cached_annotation().
 */
struct str cached_field(const struct cached *o, const char *path, struct arena *a);
struct str cached_label(const struct cached *o, struct str key, struct arena *a);
struct str cached_annotation(const struct cached *o, struct str key, struct arena *a);

/* The owner whose reference says that it is the controller; uid empty: no owner is. */
struct cached_controller {
	struct str kind, name, uid;
};
struct cached_controller cached_controller(const struct cached *o, struct arena *a);

/* The labels of an object, as a source for selector_matches(). */
struct cached_labels {
	const struct cached *object;
	struct arena *arena; /* for labels with escapes; NULL: they count as absent */
};
struct str cached_labels_get(const void *labels, struct str key);

/* Whether two versions have the same value at a path, or both have none; by cached_field(). */
bool cached_same_field(const struct cached *a, const struct cached *b, const char *path);
/* The same for all of these paths. */
bool cached_same_fields(const struct cached *a, const struct cached *b, const char *const *paths,
			size_t n);

/* Parses the object into `a`. The tree borrows the object's text, so keep a reference as long. */
int cached_tree(const struct cached *o, struct arena *a, struct json **ret_tree, struct error *err);

/* The same, but the arena keeps the reference. */
int cached_tree_held(struct cached *o, struct arena *a, struct json **ret_tree, struct error *err);

DEFINE_CLEANUP(cached_unref, struct cached *);

#endif

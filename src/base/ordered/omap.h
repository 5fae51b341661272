/*
 * omap - a map from text to pointers in byte order of the keys (str_cmp).
 *
 * Keys are borrowed: the owner of a value keeps its key's bytes alive and unchanged while it is in
 * the map. Values are never NULL. Everything except iteration takes O(log n) comparisons. An entry
 * costs about 21 bytes if keys are added in ascending order, and 30 in any other order.
 *
 * Any change of the map invalidates all cursors. Code that changes it while iterating remembers the
 * last key and resumes with omap_seek_after().
 * Threads: one at a time.
 */
#ifndef BASE_ORDERED_OMAP_H
#define BASE_ORDERED_OMAP_H

#include "base/core/str.h"

struct omap_node;

struct omap {
	struct omap_node *root; /* NULL when empty */
	size_t n; /* entries */
	unsigned height; /* levels of inner nodes above the leaves */
};

/* Allocates nothing; the first entry does. */
void omap_init(struct omap *m);
void omap_release(struct omap *m);

/* Removes all entries and frees their memory. */
void omap_clear(struct omap *m);

/* The value, or NULL. */
void *omap_get(const struct omap *m, struct str key);

/*
 * Maps key to value (not NULL) and returns the old value, or NULL. The new key's bytes replace the
 * old one's, so the old value may be freed together with its key.
 */
void *omap_put(struct omap *m, struct str key, void *value);

/* Removes the entry and returns its value, or NULL. */
void *omap_remove(struct omap *m, struct str key);

/*
 * A position: at an entry, before the first or after the last. Valid until the map's next change.
 */
struct omap_cursor {
	const struct omap_node *leaf; /* NULL: the map is empty */
	int at; /* -1: before the first; the leaf's count: after the last */
};

/*
 * All return true if the cursor is then at an entry. Otherwise it is after the last entry (seeks,
 * next) or before the first (prev), and can move back from there.
 */
bool omap_first(const struct omap *m, struct omap_cursor *c);
bool omap_last(const struct omap *m, struct omap_cursor *c);
bool omap_seek(const struct omap *m, struct omap_cursor *c, struct str key); /* first >= key */
bool omap_seek_after(const struct omap *m, struct omap_cursor *c, struct str key); /* first > key */
bool omap_next(struct omap_cursor *c);
bool omap_prev(struct omap_cursor *c);

/*
 * The entries whose keys begin with `prefix`, in order:
 *
 *	for (bool ok = omap_seek_prefix(m, &c, prefix); ok; ok = omap_next_prefix(&c, prefix))
 */
bool omap_seek_prefix(const struct omap *m, struct omap_cursor *c, struct str prefix);
bool omap_next_prefix(struct omap_cursor *c, struct str prefix);

/* Key and value of the entry at the cursor. */
struct str omap_key(const struct omap_cursor *c);
void *omap_value(const struct omap_cursor *c);

static inline void omap_release_cleanup(struct omap *m)
{
	omap_release(m);
}

#endif

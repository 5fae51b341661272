/*
 * building - shared by the JSON and YAML parsers beyond json.h.
 *
 * While a container is being filled, its `next` points to its parent (NULL for the root). So the
 * tree under construction is its own stack, and no parser needs another one.
 */
#ifndef BASE_JSON_BUILDING_H
#define BASE_JSON_BUILDING_H

#include "base/json/json.h"

/* Appends a new node (no key, no sibling) to an open container. */
static inline void json_link(struct json *open, struct json *child)
{
	if (open->last)
		open->last->next = child;
	else
		open->first = child;
	open->last = child;
	open->n++;
}

/*
 * Merges members of the same name in an object that is complete but still open (its `next` is its
 * parent): the last value moves to the place of the first. Each one dropped is counted in the
 * report and, up to `max`, listed. Members without a key (temporary merge keys of YAML) are left
 * alone. Returns false if the arena's limit would be exceeded.
 */
bool json_unique(struct arena *a, struct json *object, size_t max, struct json_report *report);

/*
 * Decodes the escapes of the text between two quotes into `out`, which has raw.n bytes. The last
 * byte must not be a backslash. Returns NULL and the length, or the position of the invalid byte
 * and the reason.
 */
const char *json_unescape(struct str raw, char *out, size_t *ret_n, const char **ret_why);

/* The position of the first invalid sequence in a text that is not UTF-8. */
const char *json_bad_utf8(struct str s);

/* json_print() of a value at `depth`, whose parents were printed by the caller. */
int json_print_below(struct buf *b, const struct json *v, const struct json_style *style,
		     size_t depth);

#endif

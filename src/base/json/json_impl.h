/*
 * json_impl - what the JSON and YAML parsers share beyond json.h.
 *
 * While a container is being filled, its `next` points to its parent (NULL for
 * the root): the tree under construction is its own stack, and no parser needs
 * another one.
 */
#ifndef BASE_JSON_JSON_IMPL_H
#define BASE_JSON_JSON_IMPL_H

#include "base/json/json.h"

/* Puts a fresh node (no key, no sibling) behind the last child of an open container. */
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
 * Merges members of the same name of an object that is complete but still open
 * (its `next` is its parent): the last value moves to the place of the first.
 * Each one dropped is counted in the report and, up to `max`, listed. Members
 * without a key, which YAML's merges are for a while, are left alone. False
 * when the arena's limit would be passed.
 */
bool json_unique(struct arena *a, struct json *object, size_t max, struct json_report *report);

/*
 * Decodes the escapes of what stands between two quotes into `out`, which has
 * raw.n bytes. A backslash in it is never the last byte. NULL and the length,
 * or the byte that is wrong and why.
 */
const char *json_unescape(struct str raw, char *out, size_t *ret_n, const char **ret_why);

/* Where in a text that is not UTF-8 the first bad sequence begins. */
const char *json_bad_utf8(struct str s);

/* json_print() of a value whose parents, `depth` of them, somebody else has printed. */
int json_print_below(struct buf *b, const struct json *v, const struct json_style *style,
		     size_t depth);

#endif

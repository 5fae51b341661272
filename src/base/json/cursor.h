/*
 * json_cursor - walks JSON text without building a tree.
 *
 * For text of which only a few places are needed and the rest is kept as bytes: objects of a store,
 * replies of an API server. Skipped values are checked only for their brackets and quotes; parse
 * them to know more. It stays within bounds for any input. If the text is damaged, the position
 * becomes NULL, and every function keeps it NULL from then on, so one check at the end is enough.
 *
 *	struct json_cursor c = json_cursor_of(text);
 *
 *	if (json_cursor_find(&c, STR("metadata")) && json_cursor_enter(&c, '{'))
 *		while (json_cursor_member(&c, &key, NULL) && json_cursor_value(&c, &raw, &type))
 *			...
 */
#ifndef BASE_JSON_CURSOR_H
#define BASE_JSON_CURSOR_H

#include "base/core/arena.h"

struct json_cursor {
	const char *p, *end;
	bool inside; /* after a member or element: a comma precedes the next one */
	bool compact; /* white space between tokens counts as damage */
};

enum json_cursor_type {
	JSON_CURSOR_STRING,
	JSON_CURSOR_ESCAPED, /* a string with escapes */
	JSON_CURSOR_SCALAR, /* a number or boolean */
	JSON_CURSOR_NULL,
	JSON_CURSOR_NESTED, /* an object or array */
};

static inline struct json_cursor json_cursor_of(struct str text)
{
	return (struct json_cursor){ .p = text.p, .end = text.p ? text.p + text.n : NULL };
}

/* For text that we printed and that the caller will cut by offsets. */
static inline struct json_cursor json_cursor_compact(struct str text)
{
	struct json_cursor c = json_cursor_of(text);

	c.compact = true;
	return c;
}

/* Enters the object or array that begins here; `bracket` says which. */
bool json_cursor_enter(struct json_cursor *c, char bracket);

/*
 * The next member: its raw name and, unless NULL, where the name begins. The position is then at
 * the value. Returns false at the end of the object, which is skipped, and for damaged text.
 */
bool json_cursor_member(struct json_cursor *c, struct str *ret_key, const char **ret_from);

/* Moves to the next element. Returns false at the end of the array, which is skipped. */
bool json_cursor_element(struct json_cursor *c);

/* Skips one value and returns its raw text, without quotes for a string. */
bool json_cursor_value(struct json_cursor *c, struct str *ret_raw, enum json_cursor_type *ret_type);

/* Finds the member of that name in the object at the position. Returns false if not found. */
bool json_cursor_find(struct json_cursor *c, struct str key);

/*
 * The text of a string: `raw` itself, or unescaped in `a`. p is NULL if it is not a string or is
 * invalid, or if it has escapes and there is no arena.
 */
struct str json_cursor_text(struct str raw, enum json_cursor_type type, struct arena *a);

#endif

/*
 * json_cursor - walks JSON text without building a tree.
 *
 * For text of which a dozen places are wanted and the rest is kept as bytes: objects
 * of a store, answers of an API server. Values that are passed over are not checked
 * beyond their brackets and quotes; whoever wants to know parses them. Whatever it is
 * fed it stays within bounds; a position of NULL means that the text was damaged, and
 * every function keeps it NULL from then on, so that one look at the end is enough.
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
	bool inside; /* behind a member or element: a comma comes before the next */
	bool compact; /* white space between tokens is damage */
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

/* For text that we printed, into which the caller will cut by offsets. */
static inline struct json_cursor json_cursor_compact(struct str text)
{
	struct json_cursor c = json_cursor_of(text);

	c.compact = true;
	return c;
}

/* Enters the object or array that begins here, as `bracket` says. */
bool json_cursor_enter(struct json_cursor *c, char bracket);

/*
 * The next member: its name as written and, unless NULL, where the name begins; the
 * position is at the value. False at the end of the object, which is passed, and for
 * damaged text.
 */
bool json_cursor_member(struct json_cursor *c, struct str *ret_key, const char **ret_from);

/* The position is at the next element; false at the end of the array, which is passed. */
bool json_cursor_element(struct json_cursor *c);

/* Passes one value: its text, of a string without the quotes. */
bool json_cursor_value(struct json_cursor *c, struct str *ret_raw, enum json_cursor_type *ret_type);

/* The member of that name in the object at the position; false when there is none. */
bool json_cursor_find(struct json_cursor *c, struct str key);

/*
 * What a string says: `raw` itself, or unescaped in `a`. p is NULL when it is no string
 * or cannot be read, or has escapes and there is no arena.
 */
struct str json_cursor_text(struct str raw, enum json_cursor_type type, struct arena *a);

#endif

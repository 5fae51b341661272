/*
 * scan - walks JSON text without building a tree.
 *
 * For answers of an API server, of which a dozen places are wanted and the rest is
 * kept as bytes. White space is passed over. Values that are passed over are not
 * checked beyond their brackets and quotes; whoever wants to know parses them.
 * Whatever it is fed it stays within bounds; a position of NULL means that the text
 * was damaged, and every function keeps it NULL from then on.
 */
#ifndef CLIENT_SCAN_H
#define CLIENT_SCAN_H

#include "base/arena.h"

struct scan {
	const char *p, *end;
	bool inside; /* behind a member or element: a comma comes before the next */
};

enum scan_type { SCAN_TEXT, SCAN_ESCAPED_TEXT, SCAN_NUMBER_OR_BOOL, SCAN_NOTHING, SCAN_NESTED };

static inline struct scan scan_of(struct str text)
{
	return (struct scan){ text.p, text.p ? text.p + text.n : NULL, false };
}

/* Enters the object or array that begins here, as `bracket` says. */
bool scan_enter(struct scan *s, char bracket);

/*
 * The next member: its name as written, and where the name begins; the position is at
 * the value. False at the end of the object, which is passed, and for damaged text.
 */
bool scan_member(struct scan *s, struct str *ret_key, const char **ret_from);

/* The position is at the next element; false at the end of the array, which is passed. */
bool scan_element(struct scan *s);

/* Passes one value: its text, of a string without the quotes. */
bool scan_value(struct scan *s, struct str *ret_raw, enum scan_type *ret_type);

/* The member of that name in the object at the position; false when there is none. */
bool scan_find(struct scan *s, struct str key);

/*
 * What a string says: `raw` itself, or unescaped in `a`. p is NULL when it is no string
 * or cannot be read, or has escapes and there is no arena.
 */
struct str scan_text(struct str raw, enum scan_type type, struct arena *a);

#endif

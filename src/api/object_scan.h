/*
 * object_scan - walks an object's compact JSON text without building a tree.
 *
 * For text that we printed: no white space between tokens. Whatever else it
 * is fed it stays within bounds and says false. Layer-private, for object.c.
 */
#ifndef API_OBJECT_SCAN_H
#define API_OBJECT_SCAN_H

#include "base/str.h"

struct object_scan {
	const char *p, *end;
	bool inside; /* a member of the current object was read: a comma comes first */
};

static inline struct object_scan object_scan_of(struct str text)
{
	return (struct object_scan){ text.p, text.p ? text.p + text.n : NULL, false };
}

/* Enters the object that begins here. */
bool object_scan_enter(struct object_scan *s);

/*
 * The next member: its name, with the position at its value. False at the end
 * of the object, which is passed, and for damaged text, which leaves s->p NULL.
 */
bool object_scan_member(struct object_scan *s, struct str *ret_key);

/*
 * Passes one value and tells its raw text: of a string without its quotes, and
 * whether it has escapes.
 */
enum object_scan_type { SCAN_STRING, SCAN_ESCAPED, SCAN_SCALAR, SCAN_NULL, SCAN_CONTAINER };
bool object_scan_value(struct object_scan *s, struct str *ret_raw, enum object_scan_type *ret_type);

#endif

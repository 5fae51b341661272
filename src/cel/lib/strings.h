/*
 * lib_strings - helpers of the text libraries.
 *
 * Texts should be well-formed UTF-8. Invalid bytes count as one character each.
 */
#ifndef CEL_LIB_STRINGS_H
#define CEL_LIB_STRINGS_H

#include "base/core/str.h"
#include "cel/core/value.h"

/* Returns the offset of the next character after `at`, which must be before the end. */
static inline size_t cel_text_next(struct str s, size_t at)
{
	do
		at++;
	while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80);
	return at;
}

/*
 * text.indexOf(part, from) and text.lastIndexOf(part, from) as in cel-go: if `from` is beyond the
 * end, nothing is found. In the specification that is an error.
 */
struct cel_value cel_index_of_from(struct cel_eval *ev, const struct cel_value *args);
struct cel_value cel_last_index_of_from(struct cel_eval *ev, const struct cel_value *args);

#endif

/*
 * lib_strings - what the libraries of text share.
 *
 * Texts of expressions are well-formed UTF-8; where one is not, steps go on byte by byte.
 */
#ifndef CEL_LIB_STRINGS_H
#define CEL_LIB_STRINGS_H

#include "base/core/str.h"
#include "cel/core/value.h"

/* Where the character behind the one at `at` begins; `at` is before the end. */
static inline size_t cel_text_next(struct str s, size_t at)
{
	do
		at++;
	while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80);
	return at;
}

/*
 * text.indexOf(part, from) and text.lastIndexOf(part, from) as cel-go has them: nothing is found
 * from a place behind the end on. The specification calls that an error.
 */
struct cel_value cel_index_of_from(struct cel_eval *ev, const struct cel_value *args);
struct cel_value cel_last_index_of_from(struct cel_eval *ev, const struct cel_value *args);

#endif

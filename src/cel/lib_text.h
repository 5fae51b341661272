/*
 * lib_text - steps through UTF-8, for the functions of text.
 *
 * Texts of expressions are well-formed; these go on byte by byte where one is not.
 */
#ifndef CEL_LIB_TEXT_H
#define CEL_LIB_TEXT_H

#include "base/str.h"

/* Where the character behind the one at `at` begins; `at` is before the end. */
static inline size_t cel_text_next(struct str s, size_t at)
{
	do
		at++;
	while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80);
	return at;
}

#endif

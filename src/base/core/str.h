/*
 * str - a borrowed piece of text: pointer and length, not NUL-terminated.
 *
 * Somebody else owns the bytes; the function that returns a str says how long they live. An empty
 * str may have p == NULL.
 */
#ifndef BASE_CORE_STR_H
#define BASE_CORE_STR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/compiler.h"

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_NULL     ((struct str){ NULL, 0 })
/* For "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

static inline struct str str_from(const char *z)
{
	return (struct str){ z, z ? strlen(z) : 0 };
}

static inline struct str str_of(const void *p, size_t n)
{
	return (struct str){ (const char *)p, n };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_eqz(struct str a, const char *z)
{
	return str_eq(a, str_from(z));
}

/* Copies the bytes of `s` to `to`, which has room for them, and returns the end of the copy. */
static inline char *str_put(void *to, struct str s)
{
	if (s.n)
		memcpy(to, s.p, s.n);
	return (char *)to + s.n;
}

/* Byte order; a prefix sorts first. */
int str_cmp(struct str a, struct str b);

/* The same for two elements of an array of str, as qsort() and bsearch() call it. */
int str_order(const void *a, const void *b);

/* Equality that ignores the case of ASCII letters. */
bool str_ieq(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* From byte `at` on; empty if that is beyond the end. */
struct str str_skip(struct str s, size_t at);

/* Index of the byte or the needle, or -1. */
ptrdiff_t str_chr(struct str s, char c);
ptrdiff_t str_find(struct str s, struct str needle);

/* Whether `c` is one of the characters of `set`. Unlike strchr(), false for a NUL byte. */
bool str_is_one_of(char c, const char *set);

/* Without spaces and tabs at both ends. */
struct str str_trim(struct str s);

/* Without ASCII white space, including line ends, at both ends. */
struct str str_trim_space(struct str s);

/*
 * Removes the piece up to `sep` from the front of *rest. Returns false if *rest is used up (p ==
 * NULL). A trailing separator yields one empty last piece.
 */
bool str_split(struct str *rest, char sep, struct str *ret_piece);

/* Whole-string decimal integers: no spaces, no sign '+', no overflow. */
bool str_to_i64(struct str s, int64_t *ret_value);
bool str_to_u64(struct str s, uint64_t *ret_value);

/* The reverse, written at the end of `room`; not NUL-terminated. */
enum { STR_DIGITS = 20 };
struct str str_print_i64(char room[static STR_DIGITS], int64_t v);
struct str str_print_u64(char room[static STR_DIGITS], uint64_t v);

/* Well-formed UTF-8: no overlong forms, surrogates or values above 10FFFF. */
bool str_is_utf8(struct str s);

/* At most `most` bytes from the start, without splitting a UTF-8 character. */
struct str str_cut(struct str s, size_t most);

/* The number of code points; bytes that do not start one are not counted. */
size_t str_characters(struct str s);

/* The code point at *at; advances *at. Each byte that is not UTF-8 is U+FFFD. */
uint32_t str_rune(struct str s, size_t *at);

/* ASCII only, in every locale. */
static inline bool str_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool str_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool str_is_alnum(char c)
{
	return str_is_letter(c) || str_is_digit(c);
}

/* The value of a hexadecimal digit in either case; -1 for any other byte. */
int str_hex_digit(char c);

/* A NUL-terminated copy on the heap. */
char *str_dup(struct str s);

#endif

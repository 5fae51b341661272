/*
 * regex_impl - what the files of regex share: a pattern as a tree, and classes.
 */
#ifndef BASE_REGEX_IMPL_H
#define BASE_REGEX_IMPL_H

#include "base/regex.h"

#define REGEX_RUNE_MAX 0x10ffffU

struct regex_range {
	uint32_t low, high; /* both included */
};

/* A set of characters: ranges in order, none touching another; ASCII also as bits. */
struct regex_class {
	uint64_t ascii[2];
	const struct regex_range *ranges;
	uint32_t n;
};

enum regex_op {
	REGEX_EMPTY,
	REGEX_CHAR, /* one of `class` */
	REGEX_CAT, /* `first` and its siblings, in turn */
	REGEX_ALT, /* one of them */
	REGEX_REPEAT, /* `first`, min to max times; max -1: without end */
	REGEX_BEGIN_TEXT,
	REGEX_END_TEXT,
	REGEX_BEGIN_LINE,
	REGEX_END_LINE,
	REGEX_WORD, /* \b */
	REGEX_NOT_WORD,
};

struct regex_node {
	struct regex_node *next; /* sibling */
	struct regex_node *first, *last; /* children */
	const struct regex_class *class;
	int min, max;
	enum regex_op op;
};

/* The tree of a pattern. */
int regex_parse(struct arena *a, struct str pattern, struct regex_node **ret_node,
		struct error *err);

/* The character at *at, which is then behind it; what is no UTF-8 is U+FFFD, byte by byte. */
uint32_t regex_rune(struct str text, size_t *at);

static inline bool regex_is_word(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/* --- classes (regex_class.c) ------------------------------------------------------ */

/* A class that is being made: ranges in any order. */
struct regex_set {
	struct arena *arena;
	struct regex_range *v;
	size_t n, cap;
};

void regex_set_add(struct regex_set *set, uint32_t low, uint32_t high);

/* Everything of `ranges`, or everything else. */
void regex_set_add_all(struct regex_set *set, const struct regex_range *ranges, size_t n,
		       bool negated);

/* For each letter of ASCII, Latin-1, Greek and Cyrillic the other case. */
void regex_set_fold(struct regex_set *set);

/* The finished class; `negated`: of all other characters. */
const struct regex_class *regex_set_finish(struct regex_set *set, bool negated);

/* \d \s \w by their letter; [:alpha:] and such by name; NULL: there is none. */
struct regex_named {
	struct str name;
	const struct regex_range *ranges;
	size_t n;
};
const struct regex_named *regex_perl_class(char letter);
const struct regex_named *regex_posix_class(struct str name);

/* Adds a general category of Unicode, such as "L" or "Lu", or all else; false: there is none. */
bool regex_set_add_category(struct regex_set *set, struct str name, bool negated);

static inline bool regex_class_has(const struct regex_class *class, uint32_t c)
{
	size_t low = 0, high = class->n;

	if (c < 128)
		return class->ascii[c >> 6] >> (c & 63) & 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c > class->ranges[middle].high)
			low = middle + 1;
		else if (c < class->ranges[middle].low)
			high = middle;
		else
			return true;
	}
	return false;
}

#endif

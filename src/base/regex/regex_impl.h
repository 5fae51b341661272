/* regex_impl - shared by the files of regex: a pattern as a tree, classes, and programs. */
#ifndef BASE_REGEX_REGEX_IMPL_H
#define BASE_REGEX_REGEX_IMPL_H

#include "base/core/limits.h"
#include "base/regex/regex.h"

#define REGEX_RUNE_MAX 0x10ffffU

struct regex_range {
	uint32_t low, high; /* both included */
};

/* A set of characters: sorted ranges that do not touch each other; ASCII also as bits. */
struct regex_class {
	uint64_t ascii[2];
	const struct regex_range *ranges;
	uint32_t n;
	uint32_t hash; /* of the ranges */
};

enum regex_op {
	REGEX_EMPTY,
	REGEX_CHAR, /* one character of `class` */
	REGEX_CAT, /* `first` and its siblings, in sequence */
	REGEX_ALT, /* one of them */
	REGEX_REPEAT, /* `first`, min to max times, greedy or lazy; max -1: no limit */
	REGEX_BEGIN_TEXT,
	REGEX_END_TEXT,
	REGEX_BEGIN_LINE,
	REGEX_END_LINE,
	REGEX_WORD, /* \b */
	REGEX_NOT_WORD,
};

struct regex_node {
	struct regex_node *next, *prev; /* siblings */
	struct regex_node *first, *last; /* children */
	const struct regex_class *class;
	int min, max;
	bool lazy; /* repetition: prefers fewer */
	bool nullable; /* may match the empty text; set by the compiler */
	enum regex_op op;
};

/* --- programs ----------------------------------------------------------------------- */

enum regex_inst_op {
	REGEX_INST_CHAR,
	REGEX_INST_SPLIT, /* to `next`, and if that fails to `other` */
	REGEX_INST_ASSERT, /* `assertion` must hold */
	REGEX_INST_MATCH,
};

struct regex_inst {
	const struct regex_class *class;
	uint32_t next, other;
	uint8_t op; /* enum regex_inst_op */
	uint8_t assertion; /* enum regex_op */
};

struct regex {
	const struct regex_inst *program;
	uint32_t n, start;
	bool anchored; /* can match only at the start */
	const struct regex_dfa *dfa; /* the same as a table of states; or NULL */
};

/* Whether the text matches, by the table. */
bool regex_dfa_matches(const struct regex_dfa *dfa, struct str text);

/* The table of a program; NULL if it would be too large. */
const struct regex_dfa *regex_dfa_new(struct arena *a, const struct regex *re, uint64_t *steps);

/* --- trees -------------------------------------------------------------------------- */

struct regex_property;

/* Memory for compiling a pattern, and intermediate results. */
struct regex_work {
	struct arena arena;
	size_t ranges; /* number of ranges added to sets so far */
	struct regex_property *properties; /* each one once */
};

/* The limit of ranges is reached: sets are incomplete, and the pattern is rejected. */
static inline bool regex_work_is_full(const struct regex_work *work)
{
	return work->ranges > REGEX_RANGES_MAX;
}

/* Parses a pattern into a tree, in working memory. */
int regex_parse(struct regex_work *work, struct str pattern, struct regex_node **ret_node,
		struct error *err);

/* "error parsing regexp: <why>: `<part>`" */
int regex_refuse(struct error *err, const char *why, struct str part);

static inline bool regex_is_word(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/* --- classes (regex/class.c) ------------------------------------------------------ */

/* A class under construction: ranges in any order. */
struct regex_set {
	struct regex_work *work;
	struct regex_range *v;
	size_t n, cap;
};

void regex_set_add(struct regex_set *set, uint32_t low, uint32_t high);

/* Adds the `ranges`, or if `negated` everything else. */
void regex_set_add_all(struct regex_set *set, const struct regex_range *ranges, size_t n,
		       bool negated);

/* Adds for each letter those that differ only in case. */
void regex_set_fold(struct regex_set *set);

/* Adds the other set, which gets sorted, or if `negated` everything else. */
void regex_set_add_set(struct regex_set *set, struct regex_set *other, bool negated);

/* The finished class; `negated`: of all other characters. */
const struct regex_class *regex_set_finish(struct regex_set *set, bool negated);

/* \d \s \w by their letter; [:alpha:] and such by name; NULL if not found. */
struct regex_named {
	struct str name;
	const struct regex_range *ranges;
	size_t n;
};
const struct regex_named *regex_perl_class(char letter);
const struct regex_named *regex_posix_class(struct str name);

/*
 * A general category of Unicode ("L", "Lu") or a script ("Greek"), perhaps folded. It and its
 * classes are made when a pattern first uses them, because they have hundreds of ranges.
 */
struct regex_property {
	struct regex_property *next;
	struct str name; /* of the pattern */
	bool folded;
	struct regex_set set; /* sorted */
	const struct regex_class *classes[2]; /* of these characters, of all others; or NULL */
};

/* Returns NULL if not found. */
struct regex_property *regex_property(struct regex_work *work, struct str name, bool folded);
const struct regex_class *regex_property_class(struct regex_property *p, bool negated);

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

/*
 * regex - regular expressions in RE2's syntax and with its meaning.
 *
 * Patterns of Kubernetes schemas are written for Go's regexp package, so they
 * are read as it reads them, and what is found is what it finds: the leftmost
 * match, and of those the one that alternatives and repetitions prefer. Time is linear in
 * text times pattern, whatever the pattern; there are no back references and no
 * look-around, and asking for them is an error, as it is there.
 *
 * Understood: literals, ".", classes with [:names:], \d \s \w \pL \p{Lu} \p{Greek} and their
 * negations, (groups), (?:..), (?P<name>..), (?flags) and (?flags:..) with i m s U,
 * "|", "*", "+", "?", {n}, {n,}, {n,m} and their lazy forms, ^ $ \A \z \b \B, and escapes
 * \a \f \t \n \r \v \123 \x7F \x{10FFFF} \Q..\E. Letters, categories, scripts and cases are
 * those of Unicode 14; folding is the simple one, character by character.
 *
 * Threads: immutable; any thread may match.
 */
#ifndef BASE_REGEX_REGEX_H
#define BASE_REGEX_REGEX_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct regex;

/*
 * All memory is the arena's; nothing of the pattern is kept. -ERR_BAD_REQUEST with Go's words:
 * "error parsing regexp: missing closing ]: `[a`".
 */
int regex_compile(struct arena *a, struct str pattern, const struct regex **ret_regex,
		  struct error *err);

/*
 * The same within a budget of steps: bytes of the pattern, ranges of its classes, instructions of
 * its program. A repetition is reckoned before it is built. Takes off what it took; if too
 * little is left, takes all of it and returns -ERR_TOO_LARGE. Without ret_regex nothing is built:
 * it only says whether the pattern is one. `steps` may be NULL.
 */
int regex_compile_within(struct arena *a, struct str pattern, uint64_t *steps,
			 const struct regex **ret_regex, struct error *err);

/*
 * The same made faster: regex_matches() then takes a step for each character, in a table of up to
 * REGEX_DFA_MAX entries in the arena. For patterns that are matched again and again; what
 * does not fit, or looks around itself ((?m), \b), is returned as it is. Takes its steps off
 * *steps, and makes no table when they do not suffice; `steps` may be NULL.
 */
const struct regex *regex_tabulate(struct arena *a, const struct regex *re, uint64_t *steps);

/* Whether the pattern occurs anywhere in the text; ^ and $ are the pattern's to use. */
bool regex_matches(const struct regex *re, struct str text);

/* The same within so many steps, as regex_find_in(). None left: it was given up, and is false. */
bool regex_matches_in(const struct regex *re, struct str text, uint64_t *steps);

/*
 * Where it occurs first, at or behind byte `from` of the text, which begins a character (or is
 * the end): bytes [*ret_start, *ret_end), which may be none. What is before `from` is looked at
 * by ^ and \b.
 */
bool regex_find(const struct regex *re, struct str text, size_t from, size_t *ret_start,
		size_t *ret_end);

/*
 * The same with so many steps, each of them a character or a place of the pattern that it is
 * compared with. They are taken off; none left: it was given up, and is false.
 */
bool regex_find_in(const struct regex *re, struct str text, size_t from, uint64_t *steps,
		   size_t *ret_start, size_t *ret_end);

#endif

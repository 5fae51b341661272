/*
 * regex - regular expressions with RE2's syntax and semantics.
 *
 * Patterns in Kubernetes schemas are written for Go's regexp package, so they are parsed as there,
 * and give the same results: the leftmost match, and among those the one that alternatives and
 * repetitions prefer. Time is linear in text times pattern, for any pattern. Back references and
 * look-around are errors, as in Go.
 *
 * Supported syntax:
 *	literals, ".", classes with [:names:], \d \s \w \pL \p{Lu} \p{Greek} and their negations
 *	(groups), (?:..), (?P<name>..), (?flags) and (?flags:..) with i m s U
 *	"|", "*", "+", "?", {n}, {n,}, {n,m} and their lazy forms
 *	^ $ \A \z \b \B, and escapes \a \f \t \n \r \v \123 \x7F \x{10FFFF} \Q..\E
 * Letters, categories, scripts and cases are those of Unicode 14. Case folding is simple folding,
 * character by character.
 *
 * Threads: immutable; any thread may match.
 */
#ifndef BASE_REGEX_REGEX_H
#define BASE_REGEX_REGEX_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct regex;

/*
 * All memory is in the arena; the pattern is not kept. Returns -ERR_BAD_REQUEST with Go's message:
 * "error parsing regexp: missing closing ]: `[a`".
 */
int regex_compile(struct arena *a, struct str pattern, const struct regex **ret_regex,
		  struct error *err);

/*
 * The same within a budget of steps: bytes of the pattern, ranges of its classes, instructions of
 * its program. Repetitions are counted before they are built. Subtracts the steps used from *steps.
 * If they do not suffice, sets it to 0 and returns -ERR_TOO_LARGE. If ret_regex is NULL, it only
 * checks the pattern. `steps` may be NULL.
 */
int regex_compile_within(struct arena *a, struct str pattern, uint64_t *steps,
			 const struct regex **ret_regex, struct error *err);

/*
 * Returns a faster version: regex_matches() then takes one step per character, in a table of up to
 * REGEX_DFA_MAX entries in the arena. Use it for patterns that are matched often. A pattern whose
 * table would be too large, or that uses (?m) or \b, is returned unchanged. Subtracts its steps
 * from *steps, and makes no table if they do not suffice; `steps` may be NULL.
 */
const struct regex *regex_tabulate(struct arena *a, const struct regex *re, uint64_t *steps);

/* Whether the pattern occurs anywhere in the text; the pattern may use ^ and $. */
bool regex_matches(const struct regex *re, struct str text);

/* The same with a limit of steps, like regex_find_in(). If they run out, it returns false. */
bool regex_matches_in(const struct regex *re, struct str text, uint64_t *steps);

/*
 * The first match at or after byte `from`, which must start a character or be the end of the text:
 * bytes [*ret_start, *ret_end), which may be empty. ^ and \b take the text before `from` into
 * account.
 */
bool regex_find(const struct regex *re, struct str text, size_t from, size_t *ret_start,
		size_t *ret_end);

/*
 * The same with a limit of steps; a step is one character compared with one place of the pattern.
 * Subtracts the steps used from *steps. If they run out, *steps is 0 and it returns false.
 */
bool regex_find_in(const struct regex *re, struct str text, size_t from, uint64_t *steps,
		   size_t *ret_start, size_t *ret_end);

#endif

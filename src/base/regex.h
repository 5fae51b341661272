/*
 * regex - regular expressions in RE2's syntax and with its meaning.
 *
 * Patterns of Kubernetes schemas are written for Go's regexp package, so they
 * are read as it reads them: leftmost or longest does not matter, since only
 * whether a text matches is asked for. Time is linear in text times
 * pattern, whatever the pattern; there are no back references and no
 * look-around, and asking for them is an error, as it is there.
 *
 * Understood: literals, ".", classes with [:names:], \d \s \w \pL \p{Lu} and their
 * negations, (groups), (?:..), (?P<name>..), (?flags) and (?flags:..) with i m s U,
 * "|", "*", "+", "?", {n}, {n,}, {n,m} and their lazy forms, ^ $ \A \z \b \B, and escapes
 * \a \f \t \n \r \v \123 \x7F \x{10FFFF} \Q..\E. (?i) folds letters of ASCII, Latin-1,
 * Greek and Cyrillic. Of Unicode there are the general categories, no scripts.
 *
 * Threads: immutable; any thread may match.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/arena.h"
#include "base/error.h"

struct regex;

/*
 * All memory is the arena's; nothing of the pattern is kept. -ERR_BAD_REQUEST with Go's words:
 * "error parsing regexp: missing closing ]: `[a`".
 */
int regex_compile(struct arena *a, struct str pattern, const struct regex **ret_regex,
		  struct error *err);

/* Whether the pattern occurs anywhere in the text; ^ and $ are the pattern's to use. */
bool regex_matches(const struct regex *re, struct str text);

#endif

/*
 * lib_regex - regular expressions: matches(), find() and findAll().
 *
 * A constant pattern is compiled with the program, and then passed to the functions below. Other
 * patterns are compiled for each call.
 */
#ifndef CEL_LIB_REGEX_H
#define CEL_LIB_REGEX_H

#include "base/regex/regex.h"
#include "cel/core/env.h"

enum { CEL_REGEX_BAD_WORK = 256 }; /* steps per byte of an invalid pattern */

/*
 * Compiles a constant pattern for repeated use. Returns -ERR_BAD_REQUEST with Go's message ("error
 * parsing regexp: ..") if it is invalid.
 */
int cel_regex_compile(const struct cel_env *env, struct arena *a, struct str pattern,
		      const struct regex **ret_regex, struct error *err);
/*
 * Whether the pattern is valid, without compiling it. Both subtract steps from the environment's
 * budget.
 */
bool cel_regex_check(const struct cel_env *env, struct str pattern);

/* Compiles a pattern for a single use, within the limits of the evaluation. */
int cel_regex_compile_once(struct cel_eval *ev, struct arena *a, struct str pattern,
			   const struct regex **ret_regex, struct error *err);

/* text.matches(pattern), and text.find(pattern), which is "" if not found. */
struct cel_value cel_regex_matches(struct cel_eval *ev, const struct regex *re, struct str text);
struct cel_value cel_regex_find(struct cel_eval *ev, const struct regex *re, struct str text);

/* text.findAll(pattern, limit): a list of texts. A negative limit means no limit. */
struct cel_value cel_regex_find_all(struct cel_eval *ev, const struct regex *re, struct str text,
				    int64_t limit);

#endif

/*
 * lib_regex - patterns in expressions: matches(), find() and findAll().
 *
 * A pattern that is a constant is compiled with the program; the functions below then do what
 * is left. Patterns that are known at run time only are compiled for each call.
 */
#ifndef CEL_LIB_REGEX_H
#define CEL_LIB_REGEX_H

#include "base/regex/regex.h"
#include "cel/core/env.h"

enum { CEL_REGEX_BAD_WORK = 256 }; /* of each byte of what is no pattern in the end */

/*
 * Of a constant: compiled for being used again and again. -ERR_BAD_REQUEST with Go's words
 * ("error parsing regexp: ..") when it is none.
 */
int cel_regex_compile(const struct cel_env *env, struct arena *a, struct str pattern,
		      const struct regex **ret_regex, struct error *err);
/* Whether it is a pattern, without building it. Both take steps off the environment's budget. */
bool cel_regex_check(const struct cel_env *env, struct str pattern);

/* Of one that is no constant: for one use, within what the evaluation may do. */
int cel_regex_compile_once(struct cel_eval *ev, struct arena *a, struct str pattern,
			   const struct regex **ret_regex, struct error *err);

/* text.matches(pattern), text.find(pattern): "" when it is not found. */
struct cel_value cel_regex_matches(struct cel_eval *ev, const struct regex *re, struct str text);
struct cel_value cel_regex_find(struct cel_eval *ev, const struct regex *re, struct str text);

/* text.findAll(pattern, limit): a list of texts; a negative limit is none. */
struct cel_value cel_regex_find_all(struct cel_eval *ev, const struct regex *re, struct str text,
				    int64_t limit);

#endif

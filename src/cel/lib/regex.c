/*
 * Kubernetes' find() and findAll(), and the implementation of matches(). Results point into the
 * text. Matches are enumerated like in Go: they do not overlap, and an empty match right after
 * another one is skipped.
 */
#include "cel/lib/regex.h"

#include "cel/cel_limits.h"
#include "cel/lib/libraries.h"
#include "cel/lib/strings.h"

/* The steps that the environment has left. A pattern that needs more has spent them. */
static uint64_t *steps_of(const struct cel_env *env)
{
	return env->budget ? &env->budget->left : NULL;
}

int cel_regex_compile(const struct cel_env *env, struct arena *a, struct str pattern,
		      const struct regex **ret_regex, struct error *err)
{
	int r = regex_compile_within(a, pattern, steps_of(env), ret_regex, err);

	if (r == 0)
		*ret_regex = regex_tabulate(a, *ret_regex, steps_of(env));
	(void)cel_spend(env, 1);
	return r;
}

bool cel_regex_check(const struct cel_env *env, struct str pattern)
{
	int r = regex_compile_within(NULL, pattern, steps_of(env), NULL, NULL);

	(void)cel_spend(env, 1);
	return r == 0;
}

/* Convert between the evaluation's work and the remaining steps, which are at least 1. */
static uint64_t steps_left(const struct cel_eval *ev)
{
	return CEL_WORK_MAX + 1 - MIN(ev->work, CEL_WORK_MAX);
}

static bool give_back(struct cel_eval *ev, uint64_t left)
{
	ev->work = CEL_WORK_MAX + 1 - left;
	return cel_work(ev, 0);
}

struct cel_value cel_regex_matches(struct cel_eval *ev, const struct regex *re, struct str text)
{
	uint64_t left = steps_left(ev);
	bool matches = regex_matches_in(re, text, &left);

	return CEL_BOOL_V(give_back(ev, left) && matches);
}

int cel_regex_compile_once(struct cel_eval *ev, struct arena *a, struct str pattern,
			   const struct regex **ret_regex, struct error *err)
{
	uint64_t left = steps_left(ev);
	int r = regex_compile_within(a, pattern, &left, ret_regex, err);

	(void)give_back(ev, left);
	if (r < 0)
		(void)cel_work(ev, pattern.n * CEL_REGEX_BAD_WORK);
	return r;
}

/* As far as the evaluation may go: a search may look at all of the text for each thing it finds. */
static bool find_from(struct cel_eval *ev, const struct regex *re, struct str text, size_t from,
		      size_t *ret_start, size_t *ret_end)
{
	uint64_t left = steps_left(ev);
	bool found = regex_find_in(re, text, from, &left, ret_start, ret_end);

	return give_back(ev, left) && found;
}

struct cel_value cel_regex_find(struct cel_eval *ev, const struct regex *re, struct str text)
{
	size_t start, end;

	if (!find_from(ev, re, text, 0, &start, &end))
		return CEL_STRING_V(STR(""));
	return CEL_STRING_V(str_of(text.p + start, end - start));
}

/* --- all of them -------------------------------------------------------------------- */

struct finder {
	const struct regex *re;
	struct str text;
	size_t at; /* where to continue the search; beyond the end when done */
	size_t end; /* of the previous match; SIZE_MAX: no match yet */
};

/* The next match that counts. */
static bool find_next(struct cel_eval *ev, struct finder *f, struct str *ret_match)
{
	size_t start, end;
	bool counts = false;

	while (!counts && f->at <= f->text.n &&
	       find_from(ev, f->re, f->text, f->at, &start, &end)) {
		counts = end != f->at || start != f->end;
		if (end != f->at)
			f->at = end;
		else
			f->at = f->at < f->text.n ? cel_text_next(f->text, f->at) : f->at + 1;
		f->end = end;
	}
	if (counts)
		*ret_match = str_of(f->text.p + start, end - start);
	return counts;
}

static struct cel_value *regex_grow(struct cel_eval *ev, const struct cel_value *v, size_t n)
{
	struct cel_value *grown = cel_alloc(ev, 2 * MAX(n, (size_t)4) * sizeof(*grown));

	if (grown && n)
		memcpy(grown, v, n * sizeof(*v));
	return grown;
}

struct cel_value cel_regex_find_all(struct cel_eval *ev, const struct regex *re, struct str text,
				    int64_t limit)
{
	struct finder f = { re, text, 0, SIZE_MAX };
	size_t most = limit < 0 ? SIZE_MAX : (size_t)limit, n = 0, cap = 0;
	struct cel_value *found = NULL;
	struct str match;

	while (n < most && find_next(ev, &f, &match)) {
		if (n == cap) {
			found = regex_grow(ev, found, n);
			cap = 2 * MAX(n, (size_t)4);
		}
		if (!found)
			return cel_too_large();
		found[n++] = CEL_STRING_V(match);
	}
	return cel_list(ev, found, n);
}

/* --- patterns that are not compiled yet --------------------------------------------- */

/*
 * Compiles in separate memory that is freed after use: a pattern does not count as scratch memory,
 * and there may be one for each element of a list.
 */
static bool lib_regex_compile(struct cel_eval *ev, struct arena *a, struct str pattern,
			      const struct regex **ret_regex, struct cel_value *ret_error)
{
	struct error err;

	arena_init(a, SIZE_MAX);
	if (cel_regex_compile_once(ev, a, pattern, ret_regex, &err) == 0)
		return true;
	*ret_error = cel_errorf(ev, "Illegal regex: %s", err.msg);
	return false;
}

static struct cel_value lib_regex_find(struct cel_eval *ev, const struct cel_value *args)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	struct cel_value error;

	return lib_regex_compile(ev, &a, args[1].s, &re, &error) ? cel_regex_find(ev, re, args[0].s)
								 : error;
}

static struct cel_value find_limited(struct cel_eval *ev, const struct cel_value *args,
				     int64_t limit)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	struct cel_value error;

	if (!lib_regex_compile(ev, &a, args[1].s, &re, &error))
		return error;
	return cel_regex_find_all(ev, re, args[0].s, limit);
}

static struct cel_value find_all(struct cel_eval *ev, const struct cel_value *args)
{
	return find_limited(ev, args, -1);
}

static struct cel_value find_some(struct cel_eval *ev, const struct cel_value *args)
{
	return find_limited(ev, args, args[2].i);
}

#define S &cel_string

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "find", "string_find_string", S, { S, S }, 2, true, lib_regex_find },
	{ "findAll", "string_find_all_string", &cel_list_string, { S, S }, 2, true, find_all },
	{ "findAll", "string_find_all_string_int", &cel_list_string, { S, S, &cel_int }, 3, true,
	  find_some },
};
/* clang-format on */

const struct cel_library cel_lib_regex = {
	.name = "kubernetes.regex",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};

/*
 * Folds with two variables are macros; transformMap() and transformMapEntry() build their map
 * entry by entry with a function that has no name in the language. A program recognises
 * such folds and collects the entries itself; what is here copies the map each time, and
 * says what the function means.
 */
#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

static struct cel_value exists(struct cel_eval *ev, const struct cel_value *key)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	cel_value_text(ev, key, &text);
	return cel_errorf(ev, "insert failed: key %.*s already exists", STR_ARG(buf_str(&text)));
}

/* A map with one entry more. */
static struct cel_value comprehensions_insert(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_value found = cel_map_find(ev, &args[0], &args[1]);
	size_t n = cel_map_size(&args[0]) + 1, at = 0;
	struct cel_value *pairs, *next;

	if (!cel_is_error(found))
		return exists(ev, &args[1]);
	if (found.error)
		return found;
	pairs = cel_alloc(ev, 2 * n * sizeof(*pairs));
	if (!pairs)
		return cel_too_large();
	for (next = pairs; cel_map_next(ev, &args[0], &at, next, next + 1); next += 2)
		;
	next[0] = args[1];
	next[1] = args[2];
	return cel_map(ev, pairs, n);
}

static struct cel_value insert_all(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_value three[3] = { args[0] };
	size_t at = 0;

	while (!cel_is_error(three[0]) && cel_map_next(ev, &args[1], &at, &three[1], &three[2]))
		three[0] = comprehensions_insert(ev, three);
	return three[0];
}

#define M &cel_map_ab

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "cel.@mapInsert", "@mapInsert_map_key_value", M, { M, &cel_type_a, &cel_type_b }, 3,
	  false, comprehensions_insert },
	{ "cel.@mapInsert", "@mapInsert_map_map", M, { M, M }, 2, false, insert_all },
};
/* clang-format on */

const struct cel_library cel_lib_comprehensions = {
	.name = "comprehensions",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_comprehensions,
};

/*
 * Two lines, each a FieldsV1. An accepted set prints and reads back the same, and its operations
 * obey the rules of sets.
 */
#include "api/managed/set.h"
#include "base/core/limits.h"
#include "target.h"

static struct json *read_set(struct arena *a, struct str text)
{
	struct json *set;

	if (json_parse(a, text, NULL, &set, NULL) < 0 || !json_is(set, JSON_OBJECT))
		return NULL;
	return managed_set_read(a, set) ? set : NULL;
}

static bool count(void *arg, struct str path)
{
	require(path.n > 0);
	(*(size_t *)arg)++;
	return true;
}

static size_t count_fields(struct arena *a, const struct json *set)
{
	size_t n = 0;

	managed_set_paths(a, set, count, &n);
	return n;
}

static void check_alone(struct arena *a, const struct json *set)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct json *back, *copy = managed_set_copy(a, set);

	require(json_equal(copy, set));
	require(json_print(&out, set, NULL) == 0);
	back = read_set(a, buf_str(&out));
	require(back && json_equal(back, set));
	require(managed_set_covers(set, copy));
	require(managed_set_unite(a, copy, set) == 0 && json_equal(copy, set));
	require(!managed_set_subtract(a, copy, set));
}

/* The sizes of union, intersection and differences add up. */
static void check_two(struct arena *a, const struct json *x, const struct json *y)
{
	struct json *both = managed_set_intersect(a, x, y);
	struct json *either = managed_set_copy(a, x), *only = managed_set_copy(a, x);

	require(managed_set_unite(a, either, y) == 0);
	(void)managed_set_subtract(a, only, y);
	require(managed_set_covers(either, x) && managed_set_covers(either, y));
	require(managed_set_covers(x, both) && managed_set_covers(y, both));
	require(count_fields(a, both) + count_fields(a, only) == count_fields(a, x));
	require(count_fields(a, only) + count_fields(a, y) == count_fields(a, either));
	managed_set_subtract_deep(a, either, y);
	require(count_fields(a, either) <= count_fields(a, only));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str rest = str_of(data, size), first;
	struct json *x, *y;

	arena_init(&a, 512 * MIB);
	if (!str_split(&rest, '\n', &first))
		return 0;
	x = read_set(&a, first);
	y = read_set(&a, rest);
	if (x)
		check_alone(&a, x);
	if (x && y)
		check_two(&a, x, y);
	if (x && managed_set_normalise(&a, x)) {
		require(managed_set_read(&a, x));
		check_alone(&a, x);
	}
	return 0;
}

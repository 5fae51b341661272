/*
 * Folds with two variables are macros; transformMap() and transformMapEntry() build their map
 * entry by entry with a function that has no name in the language.
 *
 * A map that is made so would be copied for each entry. Instead entries are appended to an
 * array with room to spare that all the maps on the way share, each knowing how many of
 * them are its own; only adding to one that is not the longest copies. Beside the entries is
 * their order by key, in runs as long as the powers of two that make up the number of entries:
 * adding one merges runs of equal length, as adding one carries in binary, and finding a key
 * halves each run. No key, however chosen, makes either slow.
 */
#include "base/limits.h"
#include "cel/library.h"
#include "cel/macro.h"

struct entries {
	struct cel_value *pairs; /* key, value, key, .. */
	uint32_t *order, *spare; /* places of entries; room for merging */
	size_t n, cap;
};

struct grown_map {
	struct entries *entries;
	size_t n; /* of them, from the first on, are this map's */
};

/* --- the order of keys -------------------------------------------------------------- */

static int class_of(const struct cel_value *key)
{
	switch (key->kind) {
	case CEL_BOOL:
		return 0;
	case CEL_INT:
	case CEL_UINT:
	case CEL_DOUBLE:
		return 1;
	default:
		return key->kind == CEL_STRING ? 2 : 3;
	}
}

/* Numbers by value. What has no order at all is behind everything, and equal to nothing. */
static int key_cmp(const struct cel_value *a, const struct cel_value *b)
{
	int order = class_of(a) - class_of(b);

	if (order == 0 && !cel_compare(a, b, &order))
		order = 1;
	return order;
}

static void merge(struct entries *e, size_t from, size_t middle, size_t end)
{
	size_t a = from, b = middle;

	for (size_t i = from; i < end; i++) {
		bool second = a == middle || (b < end && key_cmp(&e->pairs[2 * e->order[b]],
								 &e->pairs[2 * e->order[a]]) < 0);

		e->spare[i] = second ? e->order[b++] : e->order[a++];
	}
	memcpy(e->order + from, e->spare + from, (end - from) * sizeof(*e->order));
}

/* Where the key is in the run [from, end) of the order; SIZE_MAX: it is not. */
static size_t find_in_run(const struct entries *e, size_t from, size_t end,
			  const struct cel_value *key)
{
	while (from < end) {
		size_t middle = from + (end - from) / 2;
		int order = key_cmp(key, &e->pairs[2 * e->order[middle]]);

		if (order == 0)
			return e->order[middle];
		if (order < 0)
			end = middle;
		else
			from = middle + 1;
	}
	return SIZE_MAX;
}

static size_t find_entry(const struct entries *e, const struct cel_value *key)
{
	size_t from = 0, found = SIZE_MAX;

	for (size_t run = (size_t)1 << 31; run > 0 && found == SIZE_MAX; run /= 2) {
		if (!(e->n & run))
			continue;
		found = find_in_run(e, from, from + run, key);
		from += run;
	}
	return found;
}

/* --- entries ------------------------------------------------------------------------ */

static struct entries *entries_new(struct cel_eval *ev, size_t cap)
{
	struct entries *e = cel_alloc(ev, sizeof(*e));

	if (!e || cap > UINT32_MAX / 2)
		return NULL;
	*e = (struct entries){
		.pairs = cel_alloc(ev, 2 * cap * sizeof(*e->pairs)),
		.order = cel_alloc(ev, cap * sizeof(*e->order)),
		.spare = cel_alloc(ev, cap * sizeof(*e->spare)),
		.cap = cap,
	};
	return e->pairs && e->order && e->spare ? e : NULL;
}

/* There is room, and the key is new. */
static void entries_add(struct entries *e, struct cel_value key, struct cel_value value)
{
	size_t end = e->n + 1;

	e->pairs[2 * e->n] = key;
	e->pairs[2 * e->n + 1] = value;
	e->order[e->n] = (uint32_t)e->n;
	e->n = end;
	for (size_t run = 1; !(end & run); run *= 2)
		merge(e, end - 2 * run, end - run, end);
}

/* --- the map ------------------------------------------------------------------------ */

static size_t grown_size(const void *self)
{
	return ((const struct grown_map *)self)->n;
}

static struct cel_value grown_find(struct cel_eval *ev, const void *self,
				   const struct cel_value *key)
{
	const struct grown_map *m = self;
	size_t i = find_entry(m->entries, key);

	(void)ev;
	return i < m->n ? m->entries->pairs[2 * i + 1] : CEL_NOTHING;
}

static bool grown_next(struct cel_eval *ev, const void *self, size_t *at, struct cel_value *ret_key,
		       struct cel_value *ret_value)
{
	const struct grown_map *m = self;

	(void)ev;
	if (*at >= m->n)
		return false;
	*ret_key = m->entries->pairs[2 * *at];
	*ret_value = m->entries->pairs[2 * *at + 1];
	(*at)++;
	return true;
}

static const struct cel_map_class grown_class = {
	.size = grown_size,
	.find = grown_find,
	.next = grown_next,
};

/* The entries of a map that may be added to: its own, or a copy with room for as many again. */
static struct entries *growable(struct cel_eval *ev, const struct cel_value *map)
{
	const struct grown_map *m = map->map.self;
	struct cel_value key, value;
	struct entries *copy;
	size_t at = 0;

	if (map->map.class == &grown_class && m->n == m->entries->n && m->n < m->entries->cap)
		return m->entries;
	copy = entries_new(ev, 2 * cel_map_size(map) + 4);
	while (copy && cel_map_next(ev, map, &at, &key, &value))
		entries_add(copy, key, value);
	return copy;
}

static struct cel_value exists(struct cel_eval *ev, const struct cel_value *key)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	cel_value_text(ev, key, &text);
	return cel_errorf(ev, "insert failed: key %.*s already exists", STR_ARG(buf_str(&text)));
}

static struct cel_value insert(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_value found = cel_map_find(ev, &args[0], &args[1]);
	struct grown_map *m;

	if (!cel_is_error(found))
		return exists(ev, &args[1]);
	if (found.error)
		return found;
	m = cel_alloc(ev, sizeof(*m));
	if (!m)
		return cel_too_large();
	m->entries = growable(ev, &args[0]);
	if (!m->entries)
		return cel_too_large();
	entries_add(m->entries, args[1], args[2]);
	m->n = m->entries->n;
	return (struct cel_value){ .kind = CEL_MAP, .map = { &grown_class, m } };
}

static struct cel_value insert_all(struct cel_eval *ev, const struct cel_value *args)
{
	struct cel_value three[3] = { args[0] };
	size_t at = 0;

	while (!cel_is_error(three[0]) && cel_map_next(ev, &args[1], &at, &three[1], &three[2]))
		three[0] = insert(ev, three);
	return three[0];
}

static const struct cel_overload overloads[] = {
	{ "cel.@mapInsert",
	  "@mapInsert_map_key_value",
	  &cel_map_ab,
	  { &cel_map_ab, &cel_type_a, &cel_type_b },
	  3,
	  false,
	  insert },
	{ "cel.@mapInsert",
	  "@mapInsert_map_map",
	  &cel_map_ab,
	  { &cel_map_ab, &cel_map_ab },
	  2,
	  false,
	  insert_all },
};

const struct cel_library cel_lib_comprehensions = {
	.name = "comprehensions",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_comprehensions,
};

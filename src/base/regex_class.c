/*
 * Sets of characters. While a class is read its ranges pile up; finishing
 * sorts and joins them, so that a look-up is two shifts for ASCII and a binary
 * search for the rest.
 */
#include "base/regex_impl.h"

#include "base/regex_tables.h"

#define CLASS(text, table)                          \
	{                                           \
		STR(text), table, ARRAY_SIZE(table) \
	}

void regex_set_add(struct regex_set *set, uint32_t low, uint32_t high)
{
	struct regex_range *grown;

	if (set->n == set->cap) {
		set->cap = set->cap ? set->cap * 2 : 8;
		grown = ARENA_ARRAY(set->arena, struct regex_range, set->cap);
		if (set->n)
			memcpy(grown, set->v, set->n * sizeof(*grown));
		set->v = grown;
	}
	set->v[set->n++] = (struct regex_range){ low, high };
}

void regex_set_add_all(struct regex_set *set, const struct regex_range *ranges, size_t n,
		       bool negated)
{
	uint32_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (!negated)
			regex_set_add(set, ranges[i].low, ranges[i].high);
		else if (ranges[i].low > from)
			regex_set_add(set, from, ranges[i].low - 1);
		from = ranges[i].high + 1;
	}
	if (negated && from <= REGEX_RUNE_MAX)
		regex_set_add(set, from, REGEX_RUNE_MAX);
}

/* What the part of a range that an entry speaks of folds to. */
static void fold_part(struct regex_set *set, struct regex_range r, const struct regex_fold *fold)
{
	uint32_t low = MAX(r.low, fold->low), high = MIN(r.high, fold->high);

	low += (fold->step - (low - fold->low) % fold->step) % fold->step;
	if (low > high)
		return;
	if (fold->step == 1) {
		regex_set_add(set, low + (uint32_t)fold->by, high + (uint32_t)fold->by);
		return;
	}
	for (uint32_t c = low; c <= high; c += fold->step)
		regex_set_add(set, c + (uint32_t)fold->by, c + (uint32_t)fold->by);
}

/* The first entry that does not end before `c`. */
static size_t first_fold(uint32_t c)
{
	size_t low = 0, high = regex_folds_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (regex_folds[middle].high < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void regex_set_fold(struct regex_set *set)
{
	enum { RING_MAX = 4 }; /* characters in one ring */
	size_t from = 0;

	for (int i = 1; i < RING_MAX; i++) {
		size_t end = set->n;

		for (; from < end; from++) {
			struct regex_range r = set->v[from];

			for (size_t k = first_fold(r.low);
			     k < regex_folds_n && regex_folds[k].low <= r.high; k++)
				fold_part(set, r, &regex_folds[k]);
		}
	}
}

static int range_cmp(const void *a, const void *b)
{
	const struct regex_range *x = a, *y = b;

	return x->low != y->low ? (x->low > y->low) - (x->low < y->low)
				: (x->high > y->high) - (x->high < y->high);
}

/* Sorts and joins in place; the number of ranges that are left. */
static size_t join(struct regex_range *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), range_cmp);
	for (size_t i = 0; i < n; i++) {
		if (kept && v[i].low <= v[kept - 1].high + 1)
			v[kept - 1].high = MAX(v[kept - 1].high, v[i].high);
		else
			v[kept++] = v[i];
	}
	return kept;
}

void regex_set_add_set(struct regex_set *set, struct regex_set *other, bool negated)
{
	other->n = join(other->v, other->n);
	regex_set_add_all(set, other->v, other->n, negated);
}

const struct regex_class *regex_set_finish(struct regex_set *set, bool negated)
{
	struct regex_class *class = ARENA_NEW(set->arena, struct regex_class);
	struct regex_set other = { .arena = set->arena };

	set->n = join(set->v, set->n);
	if (negated) {
		regex_set_add_all(&other, set->v, set->n, true);
		*set = other;
	}
	class->ranges = set->v;
	class->n = (uint32_t)set->n;
	for (size_t i = 0; i < set->n; i++)
		for (uint32_t c = set->v[i].low; c <= set->v[i].high && c < 128; c++)
			class->ascii[c >> 6] |= 1ULL << (c & 63);
	return class;
}

/* --- names ------------------------------------------------------------------------ */

static const struct regex_range digit[] = { { '0', '9' } };
static const struct regex_range space[] = { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } };
static const struct regex_range word[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } };
static const struct regex_range alnum[] = { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } };
static const struct regex_range alpha[] = { { 'A', 'Z' }, { 'a', 'z' } };
static const struct regex_range ascii[] = { { 0, 127 } };
static const struct regex_range blank[] = { { '\t', '\t' }, { ' ', ' ' } };
static const struct regex_range cntrl[] = { { 0, 31 }, { 127, 127 } };
static const struct regex_range graph[] = { { '!', '~' } };
static const struct regex_range lower[] = { { 'a', 'z' } };
static const struct regex_range print[] = { { ' ', '~' } };
static const struct regex_range punct[] = {
	{ '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' }
};
static const struct regex_range posix_space[] = { { '\t', '\r' }, { ' ', ' ' } };
static const struct regex_range upper[] = { { 'A', 'Z' } };
static const struct regex_range xdigit[] = { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } };

static const struct regex_named perl_classes[] = {
	CLASS("d", digit),
	CLASS("s", space),
	CLASS("w", word),
};

static const struct regex_named posix_classes[] = {
	CLASS("alnum", alnum), CLASS("alpha", alpha),       CLASS("ascii", ascii),
	CLASS("blank", blank), CLASS("cntrl", cntrl),       CLASS("digit", digit),
	CLASS("graph", graph), CLASS("lower", lower),       CLASS("print", print),
	CLASS("punct", punct), CLASS("space", posix_space), CLASS("upper", upper),
	CLASS("word", word),   CLASS("xdigit", xdigit),
};

static const struct regex_named *find(const struct regex_named *classes, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(classes[i].name, name))
			return &classes[i];
	return NULL;
}

const struct regex_named *regex_perl_class(char letter)
{
	return find(perl_classes, ARRAY_SIZE(perl_classes), str_of(&letter, 1));
}

const struct regex_named *regex_posix_class(struct str name)
{
	return find(posix_classes, ARRAY_SIZE(posix_classes), name);
}

/* "L" is every category that begins so; what is assigned to nobody ("Cn") has no name. */
static bool is_category(struct str name, const char *category)
{
	if (strcmp(category, "Cn") == 0)
		return false;
	return name.n <= 2 && memcmp(name.p, category, name.n) == 0;
}

static bool add_category(struct regex_set *set, struct str name)
{
	bool known = false;

	for (size_t i = 0; i < regex_category_names_n && name.n; i++)
		known |= is_category(name, regex_category_names[i]);
	for (size_t i = 0; i < regex_category_runs_n && known; i++) {
		uint32_t low = regex_category_runs[i] >> 5;
		uint32_t high = i + 1 < regex_category_runs_n
					? (regex_category_runs[i + 1] >> 5) - 1
					: REGEX_RUNE_MAX;

		if (is_category(name, regex_category_names[regex_category_runs[i] & 31]))
			regex_set_add(set, low, high);
	}
	return known;
}

static bool add_script(struct regex_set *set, struct str name)
{
	size_t script = regex_script_names_n - 1;

	while (script > 0 && !str_eqz(name, regex_script_names[script]))
		script--;
	for (size_t i = 0; i < regex_script_runs_n && script; i++) {
		uint32_t low = regex_script_runs[i] >> 8;
		uint32_t high = i + 1 < regex_script_runs_n ? (regex_script_runs[i + 1] >> 8) - 1
							    : REGEX_RUNE_MAX;

		if ((regex_script_runs[i] & 0xff) == script)
			regex_set_add(set, low, high);
	}
	return script > 0;
}

bool regex_set_add_property(struct regex_set *set, struct str name)
{
	if (str_eqz(name, "Any")) {
		regex_set_add(set, 0, REGEX_RUNE_MAX);
		return true;
	}
	return add_category(set, name) || add_script(set, name);
}

/*
 * Sets of characters. While a class is read its ranges pile up; finishing
 * sorts and joins them, so that a look-up is two shifts for ASCII and a binary
 * search for the rest. Most ranges come in order, and then there is nothing to sort.
 */
#include "base/regex/regex_impl.h"

#include "base/regex/tables.h"

#define CLASS(text, table)                          \
	{                                           \
		STR(text), table, ARRAY_SIZE(table) \
	}

void regex_set_add(struct regex_set *set, uint32_t low, uint32_t high)
{
	struct regex_range *grown;

	if (regex_work_is_full(set->work))
		return;
	set->work->ranges++;
	if (set->n == set->cap) {
		set->cap = set->cap ? set->cap * 2 : 4;
		grown = arena_alloc(&set->work->arena, set->cap * sizeof(*grown));
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

/* A set that is being folded. */
struct folding {
	struct regex_set *set;
	size_t n; /* ranges that it had before, in order */
};

/* Whether the set had all of these before. */
static bool had(const struct folding *f, uint32_t from, uint32_t to)
{
	const struct regex_range *v = f->set->v;
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v[middle].high < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->n && v[low].low <= from && v[low].high >= to;
}

/* Adds the folded characters of the part of a range that an entry covers. */
static void fold_part(struct folding *f, struct regex_range r, const struct regex_fold *fold)
{
	uint32_t low = MAX(r.low, fold->low), high = MIN(r.high, fold->high);
	uint32_t by = (uint32_t)fold->by;

	low += (fold->step - (low - fold->low) % fold->step) % fold->step;
	if (low > high)
		return;
	/* Both cases of a letter are mostly near each other. */
	if ((low + by >= r.low && high + by <= r.high) || had(f, low + by, high + by))
		return;
	if (fold->step == 1) {
		regex_set_add(f->set, low + by, high + by);
		return;
	}
	for (uint32_t c = low; c <= high; c += fold->step)
		if (!had(f, c + by, c + by))
			regex_set_add(f->set, c + by, c + by);
}

/* The first entry that does not end before `c`; entries before `from` do. */
static size_t first_fold(uint32_t c, size_t from)
{
	size_t low = from, high = regex_folds_n;

	/* Of characters in order it is mostly the next one. */
	for (size_t end = from + 4; low < high && low < end; low++)
		if (regex_folds[low].high >= c)
			return low;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (regex_folds[middle].high < c)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int range_cmp(const void *a, const void *b)
{
	const struct regex_range *x = a, *y = b;

	return x->low != y->low ? (x->low > y->low) - (x->low < y->low)
				: (x->high > y->high) - (x->high < y->high);
}

/* Sorts ranges from `sorted` on in among those before, which are in order. */
static void sort_rest(struct regex_set *set, size_t sorted)
{
	size_t n = set->n - sorted, to = set->n;
	struct regex_range *rest = arena_alloc(&set->work->arena, n * sizeof(*rest));

	memcpy(rest, set->v + sorted, n * sizeof(*rest));
	qsort(rest, n, sizeof(*rest), range_cmp);
	while (n > 0) {
		if (sorted > 0 && range_cmp(&set->v[sorted - 1], &rest[n - 1]) > 0)
			set->v[--to] = set->v[--sorted];
		else
			set->v[--to] = rest[--n];
	}
}

/* Sorts and joins. */
static void class_join(struct regex_set *set)
{
	struct regex_range *v = set->v;
	size_t kept = 0, sorted = 1;

	while (sorted < set->n && range_cmp(&v[sorted - 1], &v[sorted]) <= 0)
		sorted++;
	if (sorted < set->n)
		sort_rest(set, sorted);
	for (size_t i = 0; i < set->n; i++) {
		if (kept && v[i].low <= v[kept - 1].high + 1)
			v[kept - 1].high = MAX(v[kept - 1].high, v[i].high);
		else
			v[kept++] = v[i];
	}
	set->n = kept;
}

void regex_set_fold(struct regex_set *set)
{
	enum { RING_MAX = 4 }; /* characters in one ring */
	struct folding f = { .set = set };
	size_t from = 0, first = 0;

	class_join(set);
	f.n = set->n;
	for (int i = 1; i < RING_MAX; i++) {
		size_t end = set->n;

		for (; from < end; from++) {
			struct regex_range r = set->v[from];

			first = first_fold(r.low, from < f.n ? first : 0);
			for (size_t k = first; k < regex_folds_n && regex_folds[k].low <= r.high;
			     k++)
				fold_part(&f, r, &regex_folds[k]);
		}
	}
}

void regex_set_add_set(struct regex_set *set, struct regex_set *other, bool negated)
{
	class_join(other);
	regex_set_add_all(set, other->v, other->n, negated);
}

static uint32_t hash_of(const struct regex_range *v, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = (h ^ v[i].low ^ (uint64_t)v[i].high << 24) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

static const struct regex_class *class_new(const struct regex_set *set)
{
	struct regex_class *class = ARENA_NEW(&set->work->arena, struct regex_class);

	class->ranges = set->v;
	class->n = (uint32_t)set->n;
	class->hash = hash_of(set->v, set->n);
	for (size_t i = 0; i < set->n && set->v[i].low < 128; i++)
		for (uint32_t c = set->v[i].low; c <= set->v[i].high && c < 128; c++)
			class->ascii[c >> 6] |= 1ULL << (c & 63);
	return class;
}

const struct regex_class *regex_set_finish(struct regex_set *set, bool negated)
{
	struct regex_set other = { .work = set->work };

	class_join(set);
	if (!negated)
		return class_new(set);
	regex_set_add_all(&other, set->v, set->n, true);
	return class_new(&other);
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

static const struct regex_named *class_find(const struct regex_named *classes, size_t n,
					    struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(classes[i].name, name))
			return &classes[i];
	return NULL;
}

const struct regex_named *regex_perl_class(char letter)
{
	return class_find(perl_classes, ARRAY_SIZE(perl_classes), str_of(&letter, 1));
}

const struct regex_named *regex_posix_class(struct str name)
{
	return class_find(posix_classes, ARRAY_SIZE(posix_classes), name);
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
	const uint32_t none = UINT32_MAX;
	uint32_t wanted = 0; /* bits of categories */
	uint32_t from = none; /* where runs of wanted ones began */

	for (size_t i = 0; i < regex_category_names_n && name.n; i++)
		wanted |= (uint32_t)is_category(name, regex_category_names[i]) << i;
	for (size_t i = 0; i < regex_category_runs_n && wanted; i++) {
		bool within = wanted >> (regex_category_runs[i] & 31) & 1;
		uint32_t low = regex_category_runs[i] >> 5;

		if (within == (from != none))
			continue;
		if (!within)
			regex_set_add(set, from, low - 1);
		from = within ? low : none;
	}
	if (from != none)
		regex_set_add(set, from, REGEX_RUNE_MAX);
	return wanted != 0;
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

static bool add_property(struct regex_set *set, struct str name)
{
	if (str_eqz(name, "Any")) {
		regex_set_add(set, 0, REGEX_RUNE_MAX);
		return true;
	}
	return add_category(set, name) || add_script(set, name);
}

struct regex_property *regex_property(struct regex_work *work, struct str name, bool folded)
{
	struct regex_set set = { .work = work };
	struct regex_property *p;

	for (p = work->properties; p; p = p->next)
		if (p->folded == folded && str_eq(p->name, name))
			return p;
	if (!add_property(&set, name))
		return NULL;
	if (folded)
		regex_set_fold(&set);
	class_join(&set);
	p = ARENA_NEW(&work->arena, struct regex_property);
	*p = (struct regex_property){ work->properties, name, folded, set, { NULL, NULL } };
	work->properties = p;
	return p;
}

const struct regex_class *regex_property_class(struct regex_property *p, bool negated)
{
	if (!p->classes[negated])
		p->classes[negated] = regex_set_finish(&p->set, negated);
	return p->classes[negated];
}

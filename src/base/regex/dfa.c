/*
 * A program as a table. Each set of places that some text leads to is a state, and a character
 * leads from one state to the next. The sets are computed in advance; a pattern with too many of
 * them stays a program. Characters that no class of the program distinguishes share one column of
 * the table.
 *
 * Conditions on the position in the text work as follows. "^" holds in the first state only. "$" is
 * a place of its own, checked at the end of the text. Assertions that look at both neighbours have
 * no table.
 */
#include "base/core/limits.h"
#include "base/regex/regex_impl.h"

enum {
	PLACES_MAX = 256, /* instructions of a program */
	CLASSES_MAX = 64, /* classes of characters that differ */
	COLUMNS_MAX = 128,
	RANGES_MAX = 4096, /* of these classes together: they are sorted */
	STATES_MAX = 256,
	DEAD = 0, /* nothing can match any more */
	MATCH = 1, /* it has matched */
	FIRST = 2, /* the start of the text */
};

struct regex_dfa {
	uint8_t ascii[128]; /* the column of a character */
	const uint32_t *lows; /* columns of others: from each of these on .. */
	const uint8_t *columns; /* .. it is this */
	size_t nlows;
	size_t width; /* columns */
	/* By state and column: where the next state's row begins. */
	const uint16_t *next;
	bool at_end[STATES_MAX]; /* whether the text matches when it ends here */
};

_Static_assert(REGEX_DFA_MAX <= UINT16_MAX, "rows have 16 bits");

/* --- columns ------------------------------------------------------------------------ */

struct columns {
	const struct regex_class *classes[CLASSES_MAX]; /* of the program, each once */
	size_t nclasses;
	uint64_t members[COLUMNS_MAX]; /* of a column: classes that have it */
	size_t n;
};

/* The index of a class; CLASSES_MAX: there are too many. Equal classes of a program are one. */
static size_t class_index(struct columns *c, const struct regex_class *class)
{
	size_t i = 0;

	while (i < c->nclasses && c->classes[i] != class)
		i++;
	if (i == c->nclasses && i < CLASSES_MAX)
		c->classes[c->nclasses++] = class;
	return i;
}

/* The column of a character, new if need be; SIZE_MAX: there are too many. */
static size_t column_of(struct columns *c, uint32_t rune)
{
	uint64_t members = 0;
	size_t i = 0;

	for (size_t k = 0; k < c->nclasses; k++)
		members |= (uint64_t)regex_class_has(c->classes[k], rune) << k;
	while (i < c->n && c->members[i] != members)
		i++;
	if (i < c->n)
		return i;
	if (i == ARRAY_SIZE(c->members))
		return SIZE_MAX;
	c->members[c->n++] = members;
	return i;
}

static int rune_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Where characters beyond ASCII may begin to be another column; in order. NULL: too many. */
static uint32_t *boundaries(struct arena *a, const struct columns *c, size_t *ret_n)
{
	size_t n = 1, kept = 1;
	uint32_t *v;

	for (size_t k = 0; k < c->nclasses; k++)
		n += 2 * (size_t)c->classes[k]->n;
	if (n > 2 * (size_t)RANGES_MAX)
		return NULL;
	v = ARENA_ARRAY(a, uint32_t, n);
	n = 0;
	v[n++] = 128;
	for (size_t k = 0; k < c->nclasses; k++) {
		const struct regex_class *class = c->classes[k];

		for (uint32_t i = 0; i < class->n; i++) {
			if (class->ranges[i].low > 128)
				v[n++] = class->ranges[i].low;
			if (class->ranges[i].high >= 128 && class->ranges[i].high < REGEX_RUNE_MAX)
				v[n++] = class->ranges[i].high + 1;
		}
	}
	qsort(v, n, sizeof(*v), rune_cmp);
	for (size_t i = 1; i < n; i++)
		if (v[i] != v[kept - 1])
			v[kept++] = v[i];
	*ret_n = kept;
	return v;
}

/* In working memory. False: there are too many columns, or ranges. */
static bool make_columns(struct arena *work, struct columns *c, struct regex_dfa *dfa)
{
	size_t n, kept = 0, column;
	uint32_t *lows;
	uint8_t *columns;

	for (uint32_t rune = 0; rune < 128; rune++) {
		column = column_of(c, rune);
		if (column == SIZE_MAX)
			return false;
		dfa->ascii[rune] = (uint8_t)column;
	}
	lows = boundaries(work, c, &n);
	if (!lows)
		return false;
	columns = ARENA_ARRAY(work, uint8_t, n);
	for (size_t i = 0; i < n; i++) {
		column = column_of(c, lows[i]);
		if (column == SIZE_MAX)
			return false;
		if (kept && columns[kept - 1] == column)
			continue;
		lows[kept] = lows[i];
		columns[kept++] = (uint8_t)column;
	}
	dfa->lows = lows;
	dfa->columns = columns;
	dfa->nlows = kept;
	dfa->width = c->n;
	return true;
}

/* --- states ------------------------------------------------------------------------- */

struct set {
	uint64_t bits[PLACES_MAX / 64];
};

struct builder {
	const struct regex *re;
	struct columns columns;
	uint8_t class_of[PLACES_MAX]; /* by instruction, of a character */
	struct set *states; /* STATES_MAX; the first two are unused */
	size_t n;
	struct set kept; /* places that distinguish states: characters, and "$" */
	uint32_t *stack;
	uint64_t *steps; /* remaining; NULL: no limit */
};

static bool set_has(const struct set *set, uint32_t i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}

/*
 * Adds a place and what it leads to where the text is at its beginning or end, or not. True when
 * it is a match.
 */
static bool reach(struct builder *b, struct set *set, uint32_t place, bool first, bool end)
{
	uint32_t n = 0;

	b->stack[n++] = place;
	while (n > 0) {
		uint32_t i = b->stack[--n];
		const struct regex_inst *inst = &b->re->program[i];

		if (set_has(set, i))
			continue;
		set->bits[i / 64] |= (uint64_t)1 << (i % 64);
		if (inst->op == REGEX_INST_MATCH)
			return true;
		if (inst->op == REGEX_INST_SPLIT) {
			b->stack[n++] = inst->other;
			b->stack[n++] = inst->next;
		} else if (inst->op == REGEX_INST_ASSERT &&
			   (inst->assertion == REGEX_BEGIN_TEXT ? first : end)) {
			b->stack[n++] = inst->next;
		}
	}
	return false;
}

/* The state with these places, new if need be; SIZE_MAX: there are too many. */
static size_t dfa_state_of(struct builder *b, struct set set)
{
	size_t i = FIRST + 1;
	uint64_t any = 0;

	for (size_t k = 0; k < ARRAY_SIZE(set.bits); k++)
		any |= set.bits[k] &= b->kept.bits[k];
	if (!any)
		return DEAD;
	while (i < b->n && memcmp(&b->states[i], &set, sizeof(set)) != 0)
		i++;
	if (i < b->n)
		return i;
	if (i == STATES_MAX || (i + 1) * b->columns.n > REGEX_DFA_MAX)
		return SIZE_MAX;
	b->states[b->n++] = set;
	return i;
}

/* Where a character of the column leads to from a state. */
static size_t dfa_step(struct builder *b, size_t state, size_t column)
{
	struct set then = { { 0 } };

	for (uint32_t i = 0; i < b->re->n; i++) {
		const struct regex_inst *inst = &b->re->program[i];

		if (inst->op != REGEX_INST_CHAR || !set_has(&b->states[state], i) ||
		    !(b->columns.members[column] >> b->class_of[i] & 1))
			continue;
		if (reach(b, &then, inst->next, false, false))
			return MATCH;
	}
	if (reach(b, &then, b->re->start, false, false))
		return MATCH;
	return dfa_state_of(b, then);
}

/* Whether the text matches when it ends in this state. */
static bool ends(struct builder *b, size_t state)
{
	struct set at_end = { { 0 } };

	for (uint32_t i = 0; i < b->re->n; i++) {
		const struct regex_inst *inst = &b->re->program[i];

		if (inst->op == REGEX_INST_ASSERT && inst->assertion == REGEX_END_TEXT &&
		    set_has(&b->states[state], i) && reach(b, &at_end, i, state == FIRST, true))
			return true;
	}
	return false;
}

/* Takes off what an entry of the table costs: places and states are gone through. */
static bool spend(struct builder *b)
{
	uint64_t n = (b->re->n + b->n) / 8 + 1;

	if (b->steps && *b->steps < n) {
		*b->steps = 0;
		return false;
	}
	if (b->steps)
		*b->steps -= n;
	return true;
}

/* False: there are too many states, or it took too many steps. */
static bool make_states(struct builder *b, struct regex_dfa *dfa, uint16_t *next)
{
	size_t width = b->columns.n, to;

	b->n = FIRST + 1;
	dfa->at_end[MATCH] = true;
	if (reach(b, &b->states[FIRST], b->re->start, true, false)) {
		/* Matches whatever comes. */
		for (size_t column = 0; column < width; column++)
			next[FIRST * width + column] = (uint16_t)(MATCH * width);
		dfa->at_end[FIRST] = true;
		return true;
	}
	for (size_t state = FIRST; state < b->n; state++) {
		dfa->at_end[state] = ends(b, state);
		for (size_t column = 0; column < width; column++) {
			to = spend(b) ? dfa_step(b, state, column) : SIZE_MAX;
			if (to == SIZE_MAX)
				return false;
			next[state * width + column] = (uint16_t)(to * width);
		}
	}
	return true;
}

/* Whether a program has only what a table can do; its classes, and the places that count. */
static bool take_program(struct builder *b, const struct regex *re)
{
	if (re->n > PLACES_MAX)
		return false;
	for (uint32_t i = 0; i < re->n; i++) {
		const struct regex_inst *inst = &re->program[i];

		if (inst->op == REGEX_INST_CHAR)
			b->class_of[i] = (uint8_t)class_index(&b->columns, inst->class);
		if (b->class_of[i] == CLASSES_MAX)
			return false;
		if (inst->op == REGEX_INST_CHAR || inst->op == REGEX_INST_ASSERT)
			b->kept.bits[i / 64] |= (uint64_t)1 << (i % 64);
		if (inst->op == REGEX_INST_ASSERT && inst->assertion == REGEX_BEGIN_TEXT)
			b->kept.bits[i / 64] &= ~((uint64_t)1 << (i % 64));
		if (inst->op == REGEX_INST_ASSERT && inst->assertion != REGEX_BEGIN_TEXT &&
		    inst->assertion != REGEX_END_TEXT)
			return false;
	}
	return true;
}

static void *dfa_copy(struct arena *a, const void *from, size_t size)
{
	return memcpy(arena_alloc(a, size), from, size);
}

const struct regex_dfa *regex_dfa_new(struct arena *a, const struct regex *re, uint64_t *steps)
{
	CLEANUP(arena_release) struct arena work;
	struct regex_dfa *dfa;
	struct builder *b;
	uint16_t *next;

	arena_init(&work, SIZE_MAX);
	b = ARENA_NEW(&work, struct builder);
	dfa = ARENA_NEW(&work, struct regex_dfa);
	b->re = re;
	b->steps = steps;
	if (!take_program(b, re) || !make_columns(&work, &b->columns, dfa))
		return NULL;
	b->states = ARENA_ARRAY(&work, struct set, STATES_MAX);
	b->stack = ARENA_ARRAY(&work, uint32_t, 2 * (size_t)re->n + 2);
	next = ARENA_ARRAY(&work, uint16_t, (size_t)STATES_MAX * COLUMNS_MAX);
	if (!make_states(b, dfa, next))
		return NULL;
	dfa->lows = dfa_copy(a, dfa->lows, dfa->nlows * sizeof(*dfa->lows));
	dfa->columns = dfa_copy(a, dfa->columns, dfa->nlows * sizeof(*dfa->columns));
	dfa->next = dfa_copy(a, next, b->n * b->columns.n * sizeof(*next));
	return dfa_copy(a, dfa, sizeof(*dfa));
}

/* --- matching ----------------------------------------------------------------------- */

/* The column of a character that is not ASCII. */
static size_t find_column(const struct regex_dfa *dfa, uint32_t rune)
{
	size_t low = 0, high = dfa->nlows;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (rune < dfa->lows[middle])
			high = middle;
		else
			low = middle;
	}
	return dfa->columns[low];
}

bool regex_dfa_matches(const struct regex_dfa *dfa, struct str text)
{
	const uint16_t *next = dfa->next;
	size_t width = dfa->width, row = FIRST * width, at = 0;

	while (at < text.n && row > MATCH * width) {
		unsigned char c = (unsigned char)text.p[at];
		size_t column;

		if (c < 128) {
			column = dfa->ascii[c];
			at++;
		} else {
			column = find_column(dfa, str_rune(text, &at));
		}
		row = next[row + column];
	}
	return dfa->at_end[row / width];
}

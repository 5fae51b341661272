/*
 * A pattern becomes a program of a few instructions, built from its end towards its start, so that
 * each knows its successor. Matching keeps the set of places in the program that the text read so
 * far may lead to, and advances it by one character at a time: the machine of Thompson and Pike,
 * without captures. No place is in the set twice, so a character costs at most the length of the
 * program.
 *
 * Everything is made in working memory; only the program, and each of its classes once, is kept.
 */
#include "base/regex/regex.h"

#include <assert.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/regex/regex_impl.h"

/* --- compiling -------------------------------------------------------------------- */

enum {
	CLASS_BUCKETS = 128,
	RANGE_STEPS = 8, /* a range is added, sorted and folded */
	STEPS_MAX = 10 * REGEX_PROGRAM_MAX, /* nodes, which may be nothing, and their repetitions */
};

/* A class of the program, in the arena that it is for. */
struct kept_class {
	struct kept_class *next;
	struct regex_class class;
};

struct compiler {
	struct regex_work work;
	struct arena *arena; /* of the result */
	struct regex_inst *v;
	uint32_t n, cap;
	uint32_t steps;
	bool full;
	struct kept_class *classes[CLASS_BUCKETS]; /* by hash */
};

static uint32_t emit(struct compiler *c, struct regex_inst inst)
{
	struct regex_inst *grown;

	if (c->n >= REGEX_PROGRAM_MAX) {
		c->full = true;
		return 0;
	}
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 32;
		grown = ARENA_ARRAY(&c->work.arena, struct regex_inst, c->cap);
		if (c->n)
			memcpy(grown, c->v, c->n * sizeof(*grown));
		c->v = grown;
	}
	c->v[c->n] = inst;
	return c->n++;
}

static uint32_t base_regex_compile(struct compiler *c, const struct regex_node *node,
				   uint32_t next);

/* The children in turn; each is compiled when what follows it is known. */
static uint32_t compile_sequence(struct compiler *c, const struct regex_node *cat, uint32_t next)
{
	for (const struct regex_node *child = cat->last; child && !c->full; child = child->prev)
		next = base_regex_compile(c, child, next);
	return next;
}

static uint32_t emit_split(struct compiler *c, uint32_t first, uint32_t second)
{
	return emit(c,
		    (struct regex_inst){ .op = REGEX_INST_SPLIT, .next = first, .other = second });
}

/* The first is tried first. */
static uint32_t compile_alternatives(struct compiler *c, const struct regex_node *alt,
				     uint32_t next)
{
	uint32_t start = base_regex_compile(c, alt->first, next);

	for (const struct regex_node *child = alt->first->next; child && !c->full;
	     child = child->next)
		start = emit_split(c, start, base_regex_compile(c, child, next));
	return start;
}

/* The choice to repeat or not: `more` or `next`, in the preferred order. */
static uint32_t emit_choice(struct compiler *c, const struct regex_node *repeat, uint32_t more,
			    uint32_t next)
{
	return repeat->lazy ? emit_split(c, next, more) : emit_split(c, more, next);
}

/*
 * An endless repetition, at least `min` times. If its body may match the empty text, the loop is
 * entered at its body and is optional as a whole. If it were entered at the choice, an empty pass
 * would come back to a choice that was already made, and the order of preference would be lost.
 */
static uint32_t compile_endless(struct compiler *c, const struct regex_node *repeat, uint32_t next)
{
	uint32_t loop = emit_choice(c, repeat, next, next);
	uint32_t body = base_regex_compile(c, repeat->first, loop);

	if (c->full)
		return 0;
	if (repeat->lazy)
		c->v[loop].other = body;
	else
		c->v[loop].next = body;
	if (repeat->min > 0)
		return body;
	return repeat->first->nullable ? emit_choice(c, repeat, body, next) : loop;
}

static uint32_t compile_repeat(struct compiler *c, const struct regex_node *repeat, uint32_t next)
{
	uint32_t at = next;
	int copies = repeat->min;

	if (repeat->max < 0) {
		at = compile_endless(c, repeat, next);
		copies = MAX(copies - 1, 0);
	}
	for (int i = repeat->min; i < repeat->max && !c->full; i++)
		at = emit_choice(c, repeat, base_regex_compile(c, repeat->first, at), next);
	for (int i = 0; i < copies && !c->full; i++)
		at = base_regex_compile(c, repeat->first, at);
	return at;
}

static uint32_t base_regex_compile(struct compiler *c, const struct regex_node *node, uint32_t next)
{
	c->full = c->full || c->steps++ >= STEPS_MAX;
	if (c->full)
		return 0;
	switch (node->op) {
	case REGEX_EMPTY:
		return next;
	case REGEX_CHAR:
		return emit(c, (struct regex_inst){
				       .op = REGEX_INST_CHAR, .class = node->class, .next = next });
	case REGEX_CAT:
		return compile_sequence(c, node, next);
	case REGEX_ALT:
		return compile_alternatives(c, node, next);
	case REGEX_REPEAT:
		return compile_repeat(c, node, next);
	default:
		return emit(c, (struct regex_inst){ .op = REGEX_INST_ASSERT,
						    .assertion = (uint8_t)node->op,
						    .next = next });
	}
}

static bool same_class(const struct regex_class *a, const struct regex_class *b)
{
	return a->hash == b->hash && a->n == b->n &&
	       (a->n == 0 || memcmp(a->ranges, b->ranges, a->n * sizeof(*a->ranges)) == 0);
}

/* The same class in the arena of the result. */
static const struct regex_class *keep_class(struct compiler *c, const struct regex_class *class)
{
	struct kept_class **first = &c->classes[class->hash % CLASS_BUCKETS], *k;
	struct regex_range *ranges;

	for (k = *first; k; k = k->next)
		if (same_class(&k->class, class))
			return &k->class;
	k = ARENA_NEW(c->arena, struct kept_class);
	k->class = *class;
	if (class->n) {
		ranges = arena_alloc(c->arena, class->n * sizeof(*ranges));
		memcpy(ranges, class->ranges, class->n * sizeof(*ranges));
		k->class.ranges = ranges;
	}
	k->next = *first;
	*first = k;
	return &k->class;
}

/* Keeps classes and marks what may match nothing. Recursion is bounded by REGEX_DEPTH_MAX. */
static bool regex_settle(struct compiler *c, struct regex_node *node)
{
	bool all = true, any = false;

	for (struct regex_node *child = node->first; child; child = child->next) {
		bool nullable = regex_settle(c, child);

		all = all && nullable;
		any = any || nullable;
	}
	if (node->op == REGEX_CHAR)
		node->class = keep_class(c, node->class);
	if (node->op == REGEX_ALT)
		node->nullable = any;
	else if (node->op == REGEX_REPEAT)
		node->nullable = all || node->min == 0;
	else
		node->nullable = all && node->op != REGEX_CHAR;
	return node->nullable;
}

static const struct regex *regex_of(const struct compiler *c, uint32_t start)
{
	struct regex *re = ARENA_NEW(c->arena, struct regex);
	struct regex_inst *program = arena_alloc(c->arena, c->n * sizeof(*program));

	memcpy(program, c->v, c->n * sizeof(*program));
	re->program = program;
	re->n = c->n;
	re->start = start;
	re->anchored = program[start].op == REGEX_INST_ASSERT &&
		       program[start].assertion == REGEX_BEGIN_TEXT;
	return re;
}

/* The size of base_regex_compile()'s result for a node, computed in advance. */
struct size {
	uint64_t insts; /* emitted */
	uint64_t steps; /* calls of base_regex_compile() */
};

static struct size size_add(struct size a, struct size b)
{
	return (struct size){ a.insts + b.insts, a.steps + b.steps };
}

static struct size size_times(struct size a, uint64_t n)
{
	return (struct size){ a.insts * n, a.steps * n };
}

/* `each` is what is repeated. Counts within counts are REGEX_REPEAT_MAX at most: no overflow. */
static struct size repeat_size(const struct regex_node *repeat, struct size each)
{
	uint64_t min = (uint64_t)repeat->min, max;
	struct size choice = { 1, 0 };

	if (repeat->max < 0) {
		if (min == 0 && repeat->first->nullable)
			choice.insts++;
		return size_add(size_times(each, MAX(min, UINT64_C(1))), choice);
	}
	max = (uint64_t)repeat->max;
	return size_add(size_times(each, min), size_times(size_add(each, choice), max - min));
}

/* For a node that regex_settle() has processed. Recursion is bounded by REGEX_DEPTH_MAX. */
static struct size regex_size_of(const struct regex_node *node)
{
	struct size size = { 0, 0 };
	size_t n = 0;

	for (const struct regex_node *child = node->first; child; child = child->next, n++)
		size = size_add(size, regex_size_of(child));
	switch (node->op) {
	case REGEX_EMPTY:
	case REGEX_CAT:
		break;
	case REGEX_ALT:
		size.insts += n - 1;
		break;
	case REGEX_REPEAT:
		size = repeat_size(node, size);
		break;
	default:
		size.insts++;
	}
	size.steps++;
	return size;
}

/* Subtracts n. Returns false, with nothing left, if there is less than that. */
static bool take_steps(uint64_t *steps, uint64_t n)
{
	bool enough = !steps || *steps >= n;

	if (steps)
		*steps = enough ? *steps - n : 0;
	return enough;
}

static int too_costly(struct error *err)
{
	return error_set(err, ERR_TOO_LARGE, "error parsing regexp: expression too large");
}

static int compile_pattern(struct compiler *c, struct str pattern, uint64_t *steps,
			   const struct regex **ret_regex, struct error *err)
{
	struct regex_node *node;
	struct size size;
	uint32_t start;
	int r;

	if (!take_steps(steps, pattern.n))
		return too_costly(err);
	r = regex_parse(&c->work, pattern, &node, err);
	if (!take_steps(steps, RANGE_STEPS * (uint64_t)c->work.ranges))
		return too_costly(err);
	if (r < 0)
		return r;
	(void)regex_settle(c, node);
	size = regex_size_of(node);
	if (size.insts >= REGEX_PROGRAM_MAX || size.steps > STEPS_MAX)
		return regex_refuse(err, "expression too large", pattern);
	if (!ret_regex)
		return 0;
	if (!take_steps(steps, size.insts + size.steps))
		return too_costly(err);
	start = emit(c, (struct regex_inst){ .op = REGEX_INST_MATCH });
	start = base_regex_compile(c, node, start);
	assert(!c->full && c->n == size.insts + 1 && c->steps == size.steps);
	*ret_regex = regex_of(c, start);
	return 0;
}

int regex_compile_within(struct arena *a, struct str pattern, uint64_t *steps,
			 const struct regex **ret_regex, struct error *err)
{
	struct compiler c = { .arena = a };
	char block[8 * KIB] UNZEROED;
	int r;

	arena_init_in(&c.work.arena, SIZE_MAX, block, sizeof(block));
	if (!ret_regex)
		c.arena = &c.work.arena;
	r = compile_pattern(&c, pattern, steps, ret_regex, err);
	arena_release(&c.work.arena);
	return r;
}

int regex_compile(struct arena *a, struct str pattern, const struct regex **ret_regex,
		  struct error *err)
{
	return regex_compile_within(a, pattern, NULL, ret_regex, err);
}

const struct regex *regex_tabulate(struct arena *a, const struct regex *re, uint64_t *steps)
{
	const struct regex_dfa *dfa = re->dfa ? re->dfa : regex_dfa_new(a, re, steps);
	struct regex *copy;

	if (!dfa)
		return re;
	copy = ARENA_NEW(a, struct regex);
	*copy = *re;
	copy->dfa = dfa;
	return copy;
}

/* --- matching --------------------------------------------------------------------- */

#define NO_RUNE UINT32_MAX

/* Places in the program: in the order they came, and where each of them is. */
struct places {
	uint32_t *dense, *sparse;
	uint32_t n;
};

struct machine {
	const struct regex *re;
	struct places now, then;
	uint32_t *stack;
	uint32_t before, after; /* characters around the place in the text; NO_RUNE: none */
};

static bool places_add(struct places *s, uint32_t i)
{
	if (s->sparse[i] < s->n && s->dense[s->sparse[i]] == i)
		return false;
	s->sparse[i] = s->n;
	s->dense[s->n++] = i;
	return true;
}

static bool holds(const struct machine *m, enum regex_op assertion)
{
	bool word = (m->before != NO_RUNE && regex_is_word(m->before)) !=
		    (m->after != NO_RUNE && regex_is_word(m->after));

	switch (assertion) {
	case REGEX_BEGIN_TEXT:
		return m->before == NO_RUNE;
	case REGEX_END_TEXT:
		return m->after == NO_RUNE;
	case REGEX_BEGIN_LINE:
		return m->before == NO_RUNE || m->before == '\n';
	case REGEX_END_LINE:
		return m->after == NO_RUNE || m->after == '\n';
	default:
		return word == (assertion == REGEX_WORD);
	}
}

/*
 * Adds a place and all that it leads to without a character, what is preferred first. True, when
 * it is to stop there, at the end of the program.
 */
static bool reach(struct machine *m, struct places *set, uint32_t start, bool stop)
{
	uint32_t n = 0;

	m->stack[n++] = start;
	while (n > 0) {
		uint32_t i = m->stack[--n];
		const struct regex_inst *inst = &m->re->program[i];

		if (!places_add(set, i))
			continue;
		if (inst->op == REGEX_INST_MATCH && stop)
			return true;
		if (inst->op == REGEX_INST_SPLIT) {
			m->stack[n++] = inst->other;
			m->stack[n++] = inst->next;
		} else if (inst->op == REGEX_INST_ASSERT && holds(m, inst->assertion)) {
			m->stack[n++] = inst->next;
		}
	}
	return false;
}

/* Moves all places over the character `c`. True when one of them is at the end. */
static bool regex_step(struct machine *m, uint32_t c)
{
	struct places passed = m->now;

	for (uint32_t i = 0; i < passed.n; i++) {
		const struct regex_inst *inst = &m->re->program[passed.dense[i]];

		if (inst->op == REGEX_INST_CHAR && regex_class_has(inst->class, c) &&
		    reach(m, &m->then, inst->next, true))
			return true;
	}
	passed.n = 0;
	m->now = m->then;
	m->then = passed;
	return false;
}

static uint32_t rune_at(struct str text, size_t at)
{
	return at < text.n ? str_rune(text, &at) : NO_RUNE;
}

/* Each character takes a step and one for each place that it is compared with. */
static bool regex_run(struct machine *m, struct str text, uint64_t *steps)
{
	size_t at = 0;

	m->before = NO_RUNE;
	m->after = rune_at(text, 0);
	for (;;) {
		uint32_t c = m->after;

		if ((!m->re->anchored || at == 0) && reach(m, &m->now, m->re->start, true))
			return true;
		if (c == NO_RUNE || (m->now.n == 0 && m->re->anchored) ||
		    !take_steps(steps, (uint64_t)m->now.n + 1))
			return false;
		(void)str_rune(text, &at);
		m->before = c;
		m->after = rune_at(text, at);
		if (regex_step(m, c))
			return true;
	}
}

enum { FEW = 256 }; /* instructions for which the stack has room */

/* Two sets of two arrays each, and a stack on which each instruction may leave two places. */
static size_t memory_size(const struct regex *re)
{
	return 6 * (size_t)re->n + 2;
}

static struct machine machine_in(uint32_t *memory, const struct regex *re)
{
	/* A sparse set needs no zeroes, but we never read uninitialised memory. */
	memset(memory, 0, 4UL * re->n * sizeof(*memory));
	return (struct machine){
		.re = re,
		.now = { memory, memory + re->n, 0 },
		.then = { memory + 2UL * re->n, memory + 3UL * re->n, 0 },
		.stack = memory + 4UL * re->n,
	};
}

/* With a table a step is a character; without, the memory of the machine is cleared first. */
bool regex_matches_in(const struct regex *re, struct str text, uint64_t *steps)
{
	uint32_t few[6 * FEW + 2];
	uint32_t *memory;
	struct machine m;
	bool matches;

	if (!take_steps(steps, re->dfa ? text.n / 4 : re->n / 4))
		return false;
	if (re->dfa)
		return regex_dfa_matches(re->dfa, text);
	memory = re->n <= FEW ? few : xmalloc(memory_size(re) * sizeof(*memory));
	m = machine_in(memory, re);
	matches = regex_run(&m, text, steps);
	if (memory != few)
		free(memory);
	return matches;
}

bool regex_matches(const struct regex *re, struct str text)
{
	return regex_matches_in(re, text, NULL);
}

/* --- finding ------------------------------------------------------------------------ */

/*
 * The same, but places are in the order of preference, and each knows where its match would
 * begin. One that is at the end of the program cuts off all behind it, and stands until one
 * before it gets there, too.
 */
struct search {
	struct machine m;
	size_t *now_starts, *then_starts; /* by index in m.now and m.then */
	size_t start, end; /* of the best match so far */
	bool found;
};

/* Adds a place and what it leads to, preferred ones first. */
static void regex_follow(struct search *s, struct places *set, size_t *starts, uint32_t place,
			 size_t start)
{
	uint32_t before = set->n;

	(void)reach(&s->m, set, place, false);
	for (uint32_t i = before; i < set->n; i++)
		starts[i] = start;
}

/* Moves all places over `c`, which is NO_RUNE at the end of the text; `at` is before it. */
static void advance(struct search *s, uint32_t c, size_t at)
{
	struct places passed = s->m.now;
	size_t *starts = s->now_starts;

	for (uint32_t i = 0; i < passed.n; i++) {
		const struct regex_inst *inst = &s->m.re->program[passed.dense[i]];

		if (inst->op == REGEX_INST_MATCH) {
			s->found = true;
			s->start = starts[i];
			s->end = at;
			break;
		}
		if (inst->op == REGEX_INST_CHAR && c != NO_RUNE && regex_class_has(inst->class, c))
			regex_follow(s, &s->m.then, s->then_starts, inst->next, starts[i]);
	}
	passed.n = 0;
	s->m.now = s->m.then;
	s->now_starts = s->then_starts;
	s->m.then = passed;
	s->then_starts = starts;
}

/* Takes off what a character takes; false: too much. */
static bool spend(struct search *s, uint64_t *steps)
{
	uint64_t n = (uint64_t)s->m.now.n + 1;

	if (*steps > n) {
		*steps -= n;
		return true;
	}
	*steps = 0;
	s->found = false;
	return false;
}

static void regex_search(struct search *s, struct str text, size_t at, uint64_t *steps)
{
	struct machine *m = &s->m;

	/* Only ASCII counts in what assertions ask for. */
	m->before = at == 0 ? NO_RUNE : (unsigned char)text.p[at - 1];
	m->after = rune_at(text, at);
	for (;;) {
		uint32_t c = m->after;
		size_t next = at;

		if (!s->found && (!m->re->anchored || at == 0))
			regex_follow(s, &m->now, s->now_starts, m->re->start, at);
		if ((m->now.n == 0 && (s->found || m->re->anchored)) || !spend(s, steps))
			return;
		if (c != NO_RUNE) {
			(void)str_rune(text, &next);
			m->before = c;
			m->after = rune_at(text, next);
		}
		advance(s, c, at);
		if (c == NO_RUNE)
			return;
		at = next;
	}
}

bool regex_find_in(const struct regex *re, struct str text, size_t from, uint64_t *steps,
		   size_t *ret_start, size_t *ret_end)
{
	uint32_t few[6 * FEW + 2];
	size_t few_starts[2 * FEW];
	uint32_t *memory = few;
	size_t *starts = few_starts;
	struct search s = { .found = false };

	if (re->dfa && from == 0 && !regex_dfa_matches(re->dfa, text))
		return false;
	if (re->n > FEW) {
		memory = xmalloc(memory_size(re) * sizeof(*memory));
		starts = xmalloc(2 * (size_t)re->n * sizeof(*starts));
	}
	s.m = machine_in(memory, re);
	s.now_starts = starts;
	s.then_starts = starts + re->n;
	regex_search(&s, text, from, steps);
	if (re->n > FEW) {
		free(memory);
		free(starts);
	}
	if (s.found) {
		*ret_start = s.start;
		*ret_end = s.end;
	}
	return s.found;
}

bool regex_find(const struct regex *re, struct str text, size_t from, size_t *ret_start,
		size_t *ret_end)
{
	uint64_t steps = UINT64_MAX;

	return regex_find_in(re, text, from, &steps, ret_start, ret_end);
}

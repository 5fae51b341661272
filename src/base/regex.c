/*
 * A pattern becomes a program of a few instructions, built from its end
 * towards its beginning so that each knows where it goes on. Matching
 * keeps the set of places in the program that the text read so far may lead
 * to, and moves it on by one character at a time: the machine of Thompson and
 * Pike, without captures. No place is in the set twice, so a character costs at
 * most the length of the program.
 */
#include "base/regex.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/regex_impl.h"

enum inst_op {
	INST_CHAR,
	INST_SPLIT, /* to both `next` and `other` */
	INST_ASSERT, /* `op` of the node must hold */
	INST_MATCH,
};

struct inst {
	const struct regex_class *class;
	uint32_t next, other;
	uint8_t op; /* enum inst_op */
	uint8_t assertion; /* enum regex_op */
};

struct regex {
	const struct inst *program;
	uint32_t n, start;
	bool anchored; /* can match at the beginning only */
};

/* --- compiling -------------------------------------------------------------------- */

struct compiler {
	struct arena *arena;
	struct inst *v;
	uint32_t n, cap;
	bool full;
};

static uint32_t emit(struct compiler *c, struct inst inst)
{
	struct inst *grown;

	if (c->n >= REGEX_PROGRAM_MAX) {
		c->full = true;
		return 0;
	}
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 32;
		grown = ARENA_ARRAY(c->arena, struct inst, c->cap);
		if (c->n)
			memcpy(grown, c->v, c->n * sizeof(*grown));
		c->v = grown;
	}
	c->v[c->n] = inst;
	return c->n++;
}

static uint32_t compile(struct compiler *c, const struct regex_node *node, uint32_t next);

/* The children in turn; each is compiled when what follows it is known. */
static uint32_t compile_sequence(struct compiler *c, const struct regex_node *cat, uint32_t next)
{
	const struct regex_node **children;
	size_t n = 0;

	for (const struct regex_node *child = cat->first; child; child = child->next)
		n++;
	children = ARENA_ARRAY(c->arena, const struct regex_node *, n + 1);
	n = 0;
	for (const struct regex_node *child = cat->first; child; child = child->next)
		children[n++] = child;
	while (n > 0)
		next = compile(c, children[--n], next);
	return next;
}

static uint32_t compile_alternatives(struct compiler *c, const struct regex_node *alt,
				     uint32_t next)
{
	uint32_t start = compile(c, alt->first, next);

	for (const struct regex_node *child = alt->first->next; child && !c->full;
	     child = child->next) {
		uint32_t branch = compile(c, child, next);

		start = emit(c, (struct inst){ .op = INST_SPLIT, .next = start, .other = branch });
	}
	return start;
}

static uint32_t compile_repeat(struct compiler *c, const struct regex_node *repeat, uint32_t next)
{
	uint32_t at = next, loop;

	if (repeat->max < 0) {
		loop = emit(c, (struct inst){ .op = INST_SPLIT, .other = next });
		at = compile(c, repeat->first, loop);
		if (!c->full)
			c->v[loop].next = at;
		at = loop;
	}
	for (int i = repeat->min; i < repeat->max && !c->full; i++) {
		at = compile(c, repeat->first, at);
		at = emit(c, (struct inst){ .op = INST_SPLIT, .next = at, .other = next });
	}
	for (int i = 0; i < repeat->min && !c->full; i++)
		at = compile(c, repeat->first, at);
	return at;
}

static uint32_t compile(struct compiler *c, const struct regex_node *node, uint32_t next)
{
	if (c->full)
		return 0;
	switch (node->op) {
	case REGEX_EMPTY:
		return next;
	case REGEX_CHAR:
		return emit(c,
			    (struct inst){ .op = INST_CHAR, .class = node->class, .next = next });
	case REGEX_CAT:
		return compile_sequence(c, node, next);
	case REGEX_ALT:
		return compile_alternatives(c, node, next);
	case REGEX_REPEAT:
		return compile_repeat(c, node, next);
	default:
		return emit(c, (struct inst){ .op = INST_ASSERT,
					      .assertion = (uint8_t)node->op,
					      .next = next });
	}
}

int regex_compile(struct arena *a, struct str pattern, const struct regex **ret_regex,
		  struct error *err)
{
	struct compiler c = { .arena = a };
	struct regex_node *node;
	struct regex *re;
	uint32_t match;
	int r;

	r = regex_parse(a, pattern, &node, err);
	if (r < 0)
		return r;
	re = ARENA_NEW(a, struct regex);
	match = emit(&c, (struct inst){ .op = INST_MATCH });
	re->start = compile(&c, node, match);
	if (c.full)
		return error_set(err, ERR_BAD_REQUEST,
				 "error parsing regexp: expression too large: `%.*s`",
				 STR_ARG(pattern));
	re->program = c.v;
	re->n = c.n;
	re->anchored = c.v[re->start].op == INST_ASSERT &&
		       c.v[re->start].assertion == REGEX_BEGIN_TEXT;
	*ret_regex = re;
	return 0;
}

/* --- matching --------------------------------------------------------------------- */

uint32_t regex_rune(struct str text, size_t *at)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text.p + *at;
	size_t left = text.n - *at, n;
	uint32_t c;

	*at += 1;
	if (p[0] < 0x80)
		return p[0];
	n = p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc0 || p[0] >= 0xf8 || n > left)
		return 0xfffd;
	c = p[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[n] || c > REGEX_RUNE_MAX || (c >= 0xd800 && c <= 0xdfff))
		return 0xfffd;
	*at += n - 1;
	return c;
}

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

/* Adds a place and all that it leads to without a character. True when that is the end. */
static bool reach(struct machine *m, struct places *set, uint32_t start)
{
	uint32_t n = 0;

	m->stack[n++] = start;
	while (n > 0) {
		uint32_t i = m->stack[--n];
		const struct inst *inst = &m->re->program[i];

		if (!places_add(set, i))
			continue;
		if (inst->op == INST_MATCH)
			return true;
		if (inst->op == INST_SPLIT) {
			m->stack[n++] = inst->other;
			m->stack[n++] = inst->next;
		} else if (inst->op == INST_ASSERT && holds(m, inst->assertion)) {
			m->stack[n++] = inst->next;
		}
	}
	return false;
}

/* Moves all places over the character `c`. True when one of them is at the end. */
static bool step(struct machine *m, uint32_t c)
{
	struct places passed = m->now;

	for (uint32_t i = 0; i < passed.n; i++) {
		const struct inst *inst = &m->re->program[passed.dense[i]];

		if (inst->op == INST_CHAR && regex_class_has(inst->class, c) &&
		    reach(m, &m->then, inst->next))
			return true;
	}
	passed.n = 0;
	m->now = m->then;
	m->then = passed;
	return false;
}

static uint32_t rune_at(struct str text, size_t at)
{
	return at < text.n ? regex_rune(text, &at) : NO_RUNE;
}

static bool run(struct machine *m, struct str text)
{
	size_t at = 0;

	m->before = NO_RUNE;
	m->after = rune_at(text, 0);
	for (;;) {
		uint32_t c = m->after;

		if ((!m->re->anchored || at == 0) && reach(m, &m->now, m->re->start))
			return true;
		if (c == NO_RUNE || (m->now.n == 0 && m->re->anchored))
			return false;
		(void)regex_rune(text, &at);
		m->before = c;
		m->after = rune_at(text, at);
		if (step(m, c))
			return true;
	}
}

bool regex_matches(const struct regex *re, struct str text)
{
	enum { FEW = 256 };
	/* Two sets of two arrays, and a stack on which each instruction may leave two places. */
	uint32_t few[6 * FEW + 2];
	uint32_t *memory = re->n <= FEW ? few : xmalloc((6 * (size_t)re->n + 2) * sizeof(*memory));
	struct machine m = {
		.re = re,
		.now = { memory, memory + re->n, 0 },
		.then = { memory + 2UL * re->n, memory + 3UL * re->n, 0 },
		.stack = memory + 4UL * re->n,
	};
	bool matches;

	/* A sparse set needs no zeroes, but reading what nobody wrote is not for us. */
	memset(memory, 0, 4UL * re->n * sizeof(*memory));
	matches = run(&m, text);
	if (memory != few)
		free(memory);
	return matches;
}

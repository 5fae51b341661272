/*
 * Words of 64 bits. Walks skip empty words, so sets of few CPUs are cheap at any size.
 */
#include "base/text/cpu_set.h"

static bool in_range(int64_t id)
{
	return id >= 0 && id < CPU_SET_MAX;
}

static uint64_t bit(int id)
{
	return UINT64_C(1) << (id % 64);
}

bool cpu_set_has(const struct cpu_set *s, int id)
{
	return in_range(id) && (s->w[id / 64] & bit(id)) != 0;
}

void cpu_set_add(struct cpu_set *s, int id)
{
	if (in_range(id))
		s->w[id / 64] |= bit(id);
}

void cpu_set_remove(struct cpu_set *s, int id)
{
	if (in_range(id))
		s->w[id / 64] &= ~bit(id);
}

void cpu_set_and(struct cpu_set *s, const struct cpu_set *other)
{
	for (int i = 0; i < CPU_SET_WORDS; i++)
		s->w[i] &= other->w[i];
}

void cpu_set_or(struct cpu_set *s, const struct cpu_set *other)
{
	for (int i = 0; i < CPU_SET_WORDS; i++)
		s->w[i] |= other->w[i];
}

void cpu_set_minus(struct cpu_set *s, const struct cpu_set *other)
{
	for (int i = 0; i < CPU_SET_WORDS; i++)
		s->w[i] &= ~other->w[i];
}

bool cpu_set_empty(const struct cpu_set *s)
{
	return cpu_set_next(s, -1) < 0;
}

int cpu_set_count(const struct cpu_set *s)
{
	int n = 0;

	for (int i = 0; i < CPU_SET_WORDS; i++)
		n += __builtin_popcountll(s->w[i]);
	return n;
}

bool cpu_set_equal(const struct cpu_set *a, const struct cpu_set *b)
{
	return memcmp(a->w, b->w, sizeof(a->w)) == 0;
}

int cpu_set_next(const struct cpu_set *s, int after)
{
	int id = after + 1;

	while (id < CPU_SET_MAX) {
		uint64_t rest = s->w[id / 64] >> (id % 64);

		if (rest)
			return id + __builtin_ctzll(rest);
		id = (id / 64 + 1) * 64;
	}
	return -1;
}

/* --- text ------------------------------------------------------------------------------------ */

static int parse_range(struct str piece, struct cpu_set *s, struct error *err)
{
	ptrdiff_t dash = str_chr(piece, '-');
	struct str low = dash < 0 ? piece : str_of(piece.p, (size_t)dash);
	struct str high = dash < 0 ? piece : str_skip(piece, (size_t)dash + 1);
	int64_t from, to;

	if (!str_to_i64(low, &from) || !str_to_i64(high, &to) || from > to)
		return error_set(err, ERR_INVALID, "%.*s is not a range of CPUs", STR_ARG(piece));
	if (!in_range(from) || !in_range(to))
		return error_set(err, ERR_INVALID, "there is no CPU %.*s: the last one is %d",
				 STR_ARG(piece), CPU_SET_MAX - 1);
	for (int64_t id = from; id <= to; id++)
		cpu_set_add(s, (int)id);
	return 0;
}

int cpu_set_parse(struct str text, struct cpu_set *ret_set, struct error *err)
{
	struct cpu_set s = { 0 };
	struct str piece;
	int r = 0;

	if (str_ends(text, STR("\n")))
		text.n--;
	if (text.n == 0)
		text.p = NULL;
	while (r == 0 && str_split(&text, ',', &piece))
		r = parse_range(piece, &s, err);
	if (r == 0)
		*ret_set = s;
	return r;
}

struct str cpu_set_print(const struct cpu_set *s, struct arena *a)
{
	/* "0,2,4,.." is the longest: less than six bytes for each id. */
	struct buf b = BUF_INIT((size_t)CPU_SET_MAX * 6);
	struct str text;
	int from = cpu_set_next(s, -1);

	while (from >= 0) {
		int to = from;

		while (cpu_set_has(s, to + 1))
			to++;
		if (to == from)
			(void)buf_printf(&b, "%s%d", b.n > 0 ? "," : "", from);
		else
			(void)buf_printf(&b, "%s%d-%d", b.n > 0 ? "," : "", from, to);
		from = cpu_set_next(s, to);
	}
	text = arena_str(a, buf_str(&b));
	buf_release(&b);
	return text;
}

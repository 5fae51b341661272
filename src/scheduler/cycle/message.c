/*
 * Upstream's FitError: how many nodes have which reason. Sorted as text with the number in front,
 * so "10 .." comes before "2 ..".
 */
#include "base/core/map.h"
#include "scheduler/cycle/cycle_impl.h"

enum { MESSAGE_MAX = 1 << 20 };

struct tally {
	struct str reason, line;
	size_t nodes;
};

struct tallies {
	struct arena *arena;
	struct map by_reason;
	VEC(struct tally *) all;
};

static void count_reason(struct tallies *t, struct str reason)
{
	struct tally *y = map_get(&t->by_reason, reason);

	if (!y) {
		y = ARENA_NEW(t->arena, struct tally);
		y->reason = reason;
		(void)map_put(&t->by_reason, y->reason, y);
		(void)vec_push(&t->all, y);
	}
	y->nodes++;
}

static int by_line(const void *a, const void *b)
{
	return str_cmp((*(struct tally *const *)a)->line, (*(struct tally *const *)b)->line);
}

static void print_tallies(struct tallies *t, struct buf *out)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct tally *y = t->all.v[i];

		y->line = str_from(
			arena_printf(t->arena, "%zu %.*s", y->nodes, STR_ARG(y->reason)));
	}
	if (t->all.n)
		qsort(t->all.v, t->all.n, sizeof(t->all.v[0]), by_line);
	for (size_t i = 0; i < t->all.n; i++) {
		(void)buf_addz(out, i ? ", " : " ");
		(void)buf_add_str(out, t->all.v[i]->line);
	}
	if (t->all.n)
		(void)buf_addc(out, '.');
}

static void print_nodes(struct cycle *c, struct buf *out)
{
	struct tallies t = { .arena = &c->arena };

	map_init(&t.by_reason);
	vec_init(&t.all, MESSAGE_MAX);
	for (size_t i = 0; c->diagnosis.nodes && i < c->snapshot->n; i++) {
		const struct verdict *v = &c->diagnosis.nodes[i];

		for (size_t k = 0; k < v->n; k++)
			count_reason(&t, v->reasons[k]);
	}
	print_tallies(&t, out);
	vec_release(&t.all);
	map_release(&t.by_reason);
}

struct str cycle_message(struct cycle *c)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MESSAGE_MAX);
	struct str why;

	if (c->snapshot->n == 0)
		return STR("no nodes available to schedule pods");
	(void)buf_printf(&out, "0/%zu nodes are available:", c->snapshot->n);
	why = verdict_message(&c->diagnosis.pre_filter, &c->arena);
	if (why.n)
		(void)buf_printf(&out, " %.*s.", STR_ARG(why));
	else
		print_nodes(c, &out);
	if (c->diagnosis.post_filter.n)
		(void)buf_printf(&out, " %.*s", STR_ARG(c->diagnosis.post_filter));
	return arena_str(&c->arena, buf_str(&out));
}

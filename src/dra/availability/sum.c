/*
 * Sums of capacities. Devices of a pool share a few names, so lookup is a linear search. The caller
 * sorts once at the end.
 */
#include "dra/availability/availability_impl.h"

struct json *availability_quantity(struct arena *a, struct quantity q)
{
	struct buf text = BUF_INIT(64);
	struct json *v;

	(void)quantity_print(q, &text);
	v = json_make_str(a, arena_str(a, buf_str(&text)));
	buf_release(&text);
	return v;
}

struct quantity availability_positive(struct quantity q)
{
	return q.nano < 0 ? quantity_of(0, q.format) : q;
}

static void sum_grow(struct availability_sums *sums)
{
	size_t cap = MAX(sums->cap * 2, (size_t)8);
	struct inventory_amount *v = ARENA_ARRAY(sums->arena, struct inventory_amount, cap);

	if (sums->n > 0)
		memcpy(v, sums->v, sums->n * sizeof(*v));
	sums->v = v;
	sums->cap = cap;
}

void availability_sum(struct availability_sums *sums, struct str name, struct quantity q)
{
	for (size_t i = 0; i < sums->n; i++) {
		if (!str_eq(sums->v[i].name, name))
			continue;
		sums->v[i].value = quantity_add(sums->v[i].value, q);
		return;
	}
	if (sums->n == sums->cap)
		sum_grow(sums);
	sums->v[sums->n++] = (struct inventory_amount){ name, q };
}

static int sum_by_name(const void *a, const void *b)
{
	const struct inventory_amount *x = a, *y = b;

	return str_cmp(x->name, y->name);
}

void availability_sums_sort(struct availability_sums *sums)
{
	if (sums->n > 0)
		qsort(sums->v, sums->n, sizeof(*sums->v), sum_by_name);
}

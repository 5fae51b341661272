/*
 * Walks two sorted lists in parallel, a group at a time. Within a group it prints what stayed,
 * what was added and what was removed, in this order.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/json/quantity.h"
#include "base/text/cpu_set.h"
#include "cli/podresources/items_impl.h"

/* --- ids ---------------------------------------------------------------------------------- */

/* The number of consecutive CPUs from v on. */
static size_t range_of(const struct podres_item *v, size_t n)
{
	size_t run = 1;

	while (run < n && v[0].kind == PODRES_CPU && v[run].amount == v[0].amount + run)
		run++;
	return run;
}

static void add_health(struct buf *out, const struct podres_item *item, bool messages)
{
	if (item->health != DEVICE_UNHEALTHY && item->health != DEVICE_UNKNOWN)
		return;
	(void)buf_printf(out, "(%s", device_health_name(item->health));
	if (messages && item->message.n > 0)
		(void)buf_printf(out, ": %.*s", STR_ARG(item->message));
	(void)buf_addc(out, ')');
}

void podres_items_ids(struct buf *out, const struct podres_item *v, size_t n, size_t most,
		      bool messages)
{
	size_t run;

	for (size_t i = 0; i < n; i += run) {
		(void)buf_addz(out, i > 0 ? "," : "");
		if (most > 0 && i >= most && v[0].kind != PODRES_CPU) {
			(void)buf_printf(out, "... %zu more", n - i);
			return;
		}
		run = range_of(v + i, n - i);
		(void)buf_add_str(out, v[i].id);
		add_health(out, &v[i], messages);
		if (run > 1)
			(void)buf_printf(out, "-%.*s", STR_ARG(v[i + run - 1].id));
	}
}

void podres_items_sum(struct buf *out, const struct podres_item *v, size_t n)
{
	struct quantity sum = quantity_of(0, QUANTITY_BINARY_SI);

	if (n == 0 || v[0].kind != PODRES_MEMORY) {
		(void)buf_add_u64(out, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		sum = quantity_add(sum, quantity_of((int64_t)MIN(v[i].amount, (uint64_t)INT64_MAX),
						    QUANTITY_BINARY_SI));
	(void)quantity_print(sum, out);
}

void podres_items_health(struct buf *out, const struct podres_item *v, size_t n)
{
	enum device_health worst = DEVICE_NOT_REPORTED;
	bool some = false;

	for (size_t i = 0; i < n; i++) {
		some |= v[i].kind == PODRES_DEVICE || v[i].kind == PODRES_CLAIM;
		worst = MAX(worst, v[i].health);
	}
	(void)buf_addz(out, some ? device_health_name(worst) : "<none>");
}

void podres_items_numa(struct buf *out, const struct podres_items *items)
{
	struct cpu_set all = { { 0 } }, one;
	struct arena a;

	for (size_t i = 0; i < items->n; i++)
		if (items->v[i].numa.n > 0 && cpu_set_parse(items->v[i].numa, &one, NULL) == 0)
			cpu_set_or(&all, &one);
	arena_init(&a, MIB);
	(void)buf_add_str(out, cpu_set_empty(&all) ? STR("<none>") : cpu_set_print(&all, &a));
	arena_release(&a);
}

static int items_print_by_name(const void *a, const void *b)
{
	return podres_items_cmp_names(*(const struct str *)a, *(const struct str *)b);
}

void podres_items_cdi(struct buf *out, const struct podres_items *items)
{
	VEC(struct str) names;
	size_t before = out->n;

	vec_init(&names, PODRES_ITEMS_MAX);
	for (size_t i = 0; i < items->n; i++) {
		struct str rest = items->v[i].cdi, name;

		while (rest.n > 0 && str_split(&rest, ',', &name))
			(void)vec_push(&names, name);
	}
	if (names.n > 0)
		qsort(names.v, names.n, sizeof(*names.v), items_print_by_name);
	/* A kubelet repeats names of a driver's other devices in a claim. */
	for (size_t i = 0; i < names.n; i++)
		if (i == 0 || !str_eq(names.v[i - 1], names.v[i]))
			(void)buf_printf(out, "%s%.*s", out->n > before ? "," : "",
					 STR_ARG(names.v[i]));
	if (out->n == before)
		(void)buf_addz(out, "<none>");
	vec_release(&names);
}

/* --- groups ------------------------------------------------------------------------------- */

/* Parts of one group. */
struct parts {
	VEC(struct podres_item) now, kept, added, gone;
};

static bool same_group(const struct podres_item *a, const struct podres_item *b)
{
	return str_eq(a->container, b->container) && a->kind == b->kind &&
	       str_eq(a->group, b->group);
}

/* Which of the two comes first: -1, 1, or 0 for both. At least one is not NULL. */
static int first_of(const struct podres_item *a, const struct podres_item *b)
{
	if (!a || !b)
		return a ? -1 : 1;
	return podres_item_cmp(a, b);
}

static const struct podres_item *at(const struct podres_items *items, size_t i)
{
	return i < items->n ? &items->v[i] : NULL;
}

static void parts_release(struct parts *p)
{
	vec_release(&p->now);
	vec_release(&p->kept);
	vec_release(&p->added);
	vec_release(&p->gone);
}

static void items_print_mark(struct buf *out, char sign, const struct podres_item *v, size_t n,
			     const struct podres_items_style *style)
{
	const char *colour = sign == '+' ? "\033[32m" : "\033[31m";

	if (n == 0)
		return;
	(void)buf_printf(out, " %s%c", style->colour ? colour : "", sign);
	podres_items_ids(out, v, n, 0, style->messages);
	(void)buf_addz(out, style->colour ? "\033[0m" : "");
}

static void print_group(struct buf *out, const struct podres_item *of, const struct parts *p,
			const struct podres_items_style *style)
{
	(void)buf_printf(out, "%.*s:", STR_ARG(of->group));
	if (style->counts) {
		(void)buf_addc(out, ' ');
		podres_items_sum(out, p->now.v, p->now.n);
	} else if (p->kept.n > 0) {
		(void)buf_addc(out, ' ');
		podres_items_ids(out, p->kept.v, p->kept.n, 0, style->messages);
	}
	items_print_mark(out, '+', p->added.v, p->added.n, style);
	items_print_mark(out, '-', p->gone.v, p->gone.n, style);
}

/* Takes the next group off both lists; returns one of its items. */
static const struct podres_item *next_group(const struct podres_items *before,
					    const struct podres_items *now, size_t *io_i,
					    size_t *io_j, struct parts *p)
{
	const struct podres_item *x = at(before, *io_i), *y = at(now, *io_j), *head;

	head = first_of(x, y) <= 0 ? x : y;
	p->now.n = p->kept.n = p->added.n = p->gone.n = 0;
	for (;;) {
		x = at(before, *io_i);
		y = at(now, *io_j);
		x = x && same_group(x, head) ? x : NULL;
		y = y && same_group(y, head) ? y : NULL;
		if (!x && !y)
			return head;
		int c = first_of(x, y);

		if (c < 0)
			(void)vec_push(&p->gone, *x);
		else if (c > 0)
			(void)vec_push(&p->added, *y);
		else
			(void)vec_push(&p->kept, *y);
		if (c >= 0)
			(void)vec_push(&p->now, *y);
		*io_i += c <= 0;
		*io_j += c >= 0;
	}
}

void podres_items_print(struct buf *out, const struct podres_items *before,
			const struct podres_items *now, const struct podres_items_style *style)
{
	const struct podres_items *old = before ? before : now;
	const struct podres_item *group;
	struct str container = STR_NULL;
	struct parts p;
	size_t i = 0, j = 0;

	vec_init(&p.now, PODRES_ITEMS_MAX);
	vec_init(&p.kept, PODRES_ITEMS_MAX);
	vec_init(&p.added, PODRES_ITEMS_MAX);
	vec_init(&p.gone, PODRES_ITEMS_MAX);
	while (i < old->n || j < now->n) {
		bool first = i == 0 && j == 0;

		group = next_group(old, now, &i, &j, &p);
		if (!str_eq(group->container, container)) {
			(void)buf_printf(out, "%s(%.*s) ", first ? "" : " ",
					 STR_ARG(group->container));
			container = group->container;
		} else if (!first) {
			(void)buf_addz(out, "; ");
		}
		print_group(out, group, &p, style);
	}
	if (i == 0 && j == 0)
		(void)buf_addz(out, "<none>");
	parts_release(&p);
}

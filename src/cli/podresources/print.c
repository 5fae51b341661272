/*
 * Tables. Rows of a pod keep the order of containers in its spec.
 */
#include "cli/podresources/print.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "cli/output/output.h"
#include "cli/podresources/items.h"

/* Devices shown in a row of `allocatable`, without `wide`. */
enum { DEVICES_SHOWN = 8 };

/* --- pods --------------------------------------------------------------------------------- */

struct pod_table {
	struct buf *out;
	const struct podres_print_style *style;
	const Podresources__PodResources *pod; /* whose rows are being made */
	struct arena arena; /* for one row */
	size_t rows;
};

static void print_add_row(struct pod_table *t, const char *container,
			  const struct podres_items *items)
{
	const struct podres_items_style style = { .messages = t->style->wide };

	output_clean(t->out, str_from(t->pod->namespace_));
	(void)buf_addc(t->out, '\t');
	output_clean(t->out, str_from(t->pod->name));
	(void)buf_addc(t->out, '\t');
	output_clean(t->out, str_from(container));
	(void)buf_addc(t->out, '\t');
	podres_items_print(t->out, NULL, items, &style);
	(void)buf_addc(t->out, '\t');
	podres_items_health(t->out, items->v, items->n);
	if (t->style->wide) {
		(void)buf_addc(t->out, '\t');
		podres_items_numa(t->out, items);
		(void)buf_addc(t->out, '\t');
		podres_items_cdi(t->out, items);
	}
	(void)buf_addc(t->out, '\n');
	t->rows++;
}

static void print_add_pod(struct pod_table *t)
{
	struct podres_items items = podres_items_of_whole(&t->arena, t->pod);

	if (items.n > 0)
		print_add_row(t, PODRES_WHOLE_POD, &items);
	for (size_t i = 0; i < t->pod->n_containers; i++) {
		items = podres_items_of_container(&t->arena, t->pod->containers[i]);
		if (items.n > 0 || t->style->empty)
			print_add_row(t, t->pod->containers[i]->name, &items);
		arena_clear(&t->arena);
	}
	if (t->pod->n_containers == 0 && t->style->empty && items.n == 0)
		print_add_row(t, "<none>", &items);
}

static int print_by_name(const void *a, const void *b)
{
	const Podresources__PodResources *x = *(Podresources__PodResources *const *)a;
	const Podresources__PodResources *y = *(Podresources__PodResources *const *)b;
	int c = str_cmp(str_from(x->namespace_), str_from(y->namespace_));

	return c != 0 ? c : podres_items_cmp_names(str_from(x->name), str_from(y->name));
}

size_t podres_print_pods(struct buf *out, Podresources__PodResources *const *v, size_t n,
			 const struct podres_print_style *style)
{
	struct pod_table t = { .out = out, .style = style };
	const Podresources__PodResources **sorted;

	arena_init(&t.arena, PODRES_TEXT_MAX);
	sorted = xcalloc(n + 1, sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = v[i];
	qsort(sorted, n, sizeof(*sorted), print_by_name);
	(void)buf_printf(out, "NAMESPACE\tPOD\tCONTAINER\tRESOURCES\tHEALTH%s\n",
			 style->wide ? "\tNUMA\tCDI" : "");
	for (size_t i = 0; i < n; i++) {
		t.pod = sorted[i];
		print_add_pod(&t);
	}
	free(sorted);
	arena_release(&t.arena);
	return t.rows;
}

/* --- allocatable -------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct podres_item *x = a, *y = b;
	int c = (int)x->kind - (int)y->kind;

	if (c == 0)
		c = str_cmp(x->group, y->group);
	if (c == 0)
		c = podres_items_cmp_names(x->numa, y->numa);
	return c != 0 ? c : podres_items_cmp_names(x->id, y->id);
}

static size_t print_place_of(const struct podres_item *v, size_t n)
{
	size_t same = 1;

	while (same < n && str_eq(v[0].group, v[same].group) && str_eq(v[0].numa, v[same].numa))
		same++;
	return same;
}

static void add_place(struct buf *out, const struct podres_item *v, size_t n, bool wide)
{
	(void)buf_printf(out, "%.*s\t", STR_ARG(v->group));
	podres_items_sum(out, v, n);
	(void)buf_printf(out, "\t%.*s\t", STR_ARG(v->numa.n > 0 ? v->numa : STR("<none>")));
	podres_items_health(out, v, n);
	(void)buf_addc(out, '\t');
	if (v->kind == PODRES_MEMORY)
		(void)buf_addz(out, "<none>");
	else
		podres_items_ids(out, v, n, wide ? 0 : DEVICES_SHOWN, wide);
	(void)buf_addc(out, '\n');
}

size_t podres_print_allocatable(struct buf *out, const Podresources__AllocatableResponse *r,
				const struct podres_print_style *style)
{
	struct podres_items items;
	struct arena a;
	size_t n, rows = 0;

	arena_init(&a, PODRES_TEXT_MAX);
	items = podres_items_of_node(&a, r);
	if (items.n > 0)
		qsort(items.v, items.n, sizeof(*items.v), by_place);
	(void)buf_addz(out, "RESOURCE\tCOUNT\tNUMA\tHEALTH\tDEVICES\n");
	for (size_t i = 0; i < items.n; i += n, rows++) {
		n = print_place_of(items.v + i, items.n - i);
		add_place(out, items.v + i, n, style->wide);
	}
	arena_release(&a);
	return rows;
}

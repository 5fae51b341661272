/*
 * Slices in a table of our own: the server's columns plus availability (KEP-5677), which other
 * servers do not show. A watch has the same columns, filled from the objects themselves.
 */
#include "base/core/limits.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "cli/devices/pools.h"
#include "cli/get/get.h"
#include "cli/output/output.h"
#include "client/api/discovery.h"

bool get_is_slices(const struct discovery_resource *type)
{
	const struct resource *r = &type->resource;

	return str_eqz(r->resource, "resourceslices") && str_eqz(r->group, "resource.k8s.io") &&
	       (str_eqz(r->version, "v1") || str_eqz(r->version, "v1beta2"));
}

void get_hide(const struct get *g, const struct discovery_resource *type, struct json *tree)
{
	const struct resource *r = &type->resource;

	if (!g->hidden || !str_eqz(r->resource, "resourceslices") ||
	    !str_eqz(r->group, "resource.k8s.io"))
		return;
	(void)json_remove(tree, STR("status"));
	JSON_FOREACH (it, json_getz(tree, "items"))
		(void)json_remove(it, STR("status"));
}

/* --- tables ---------------------------------------------------------------------------------- */

struct json *get_make_table(struct arena *a, const struct get_column *columns, size_t n)
{
	struct json *table = json_make_object(a), *list;

	list = json_need_array(a, table, "columnDefinitions");
	for (size_t i = 0; i < n; i++) {
		struct json *c = json_make_object(a);

		json_put_str(a, c, "name", str_from(columns[i].name));
		json_put_i64(a, c, "priority", columns[i].wide ? 1 : 0);
		json_append(list, c);
	}
	(void)json_need_array(a, table, "rows");
	return table;
}

struct json *get_make_row(struct arena *a, struct json *table, const struct json *object)
{
	struct json *row = json_make_object(a);

	(void)json_need_array(a, row, "cells");
	if (object)
		json_setz(row, "object", json_alias(a, object));
	json_append(json_getz(table, "rows"), row);
	return json_getz(row, "cells");
}

void get_add_cell(struct arena *a, struct json *cells, struct str text)
{
	json_append(cells, json_make_str(a, text));
}

void get_add_count(struct arena *a, struct json *cells, bool known, size_t n)
{
	json_append(cells,
		    known ? json_make_i64(a, (int64_t)n) : json_make_str(a, STR("<unknown>")));
}

static struct json *count_cell(struct arena *a, size_t n, size_t unknown, size_t all)
{
	if (unknown == 0)
		return json_make_i64(a, (int64_t)n);
	if (unknown == all)
		return json_make_str(a, STR("<unknown>"));
	return json_make_str(a, str_from(arena_printf(a, "%zu+", n)));
}

void get_add_counts(struct arena *a, struct json *cells, const struct device_counts *c)
{
	for (size_t i = 0; i < DEVICE_COUNTS_COLUMNS; i++)
		json_append(cells, count_cell(a, device_counts_at(c, i),
					      device_counts_unknown_at(c, i), c->devices));
}

/* --- slices ---------------------------------------------------------------------------------- */

static const struct get_column slice_columns[] = {
	{ "Name", false },      { "Node", false },      { "Driver", false },
	{ "Pool", false },      { "Devices", false },   { "Free", false },
	{ "Partial", false },   { "Allocated", false }, { "Unavailable", false },
	{ "Unhealthy", false }, { "Age", false },
};

/* If the gate is off: only what slices contain; our server's table has more. */
static const struct get_column plain_columns[] = {
	{ "Name", false }, { "Node", false }, { "Driver", false },
	{ "Pool", false }, { "Age", false },
};

static struct json *slice_table(const struct get *g, struct arena *a)
{
	return g->hidden ? get_make_table(a, plain_columns, ARRAY_SIZE(plain_columns))
			 : get_make_table(a, slice_columns, ARRAY_SIZE(slice_columns));
}

static void add_counts(struct arena *a, struct json *cells, const struct device_view_slice *s)
{
	struct device_counts counts = device_view_count(s);

	if (!s->older) {
		get_add_counts(a, cells, &counts);
		return;
	}
	/* An older generation is not allocated any more: its devices are neither free nor taken. */
	get_add_count(a, cells, true, counts.devices);
	for (size_t i = 1; i < DEVICE_COUNTS_COLUMNS; i++)
		get_add_cell(a, cells, STR("<none>"));
}

static struct str age_of(struct arena *a, const struct json *meta, int64_t wall_ns)
{
	char text[DURATION_SIZE];
	int64_t at;

	if (timestamp_parse(json_text_at(meta, "creationTimestamp"), &at, NULL) < 0)
		return STR("<unknown>");
	return arena_str(a, duration_print_age(wall_ns - at, text));
}

static void slices_add_slice(struct get *g, struct arena *a, struct json *table,
			     const struct device_view_slice *s)
{
	const struct json *meta = json_getz(s->object, "metadata");
	struct json *cells = get_make_row(a, table, s->object);

	get_add_cell(a, cells, json_text_at(meta, "name"));
	get_add_cell(a, cells, s->node);
	get_add_cell(a, cells, json_text_at(s->spec, "driver"));
	get_add_cell(a, cells, json_text_at(json_getz(s->spec, "pool"), "name"));
	if (!g->hidden)
		add_counts(a, cells, s);
	get_add_cell(a, cells, age_of(a, meta, g->style.wall_ns));
}

static int slices_by_name(const void *a, const void *b)
{
	return str_cmp(((const struct device_view_slice *)a)->name,
		       ((const struct device_view_slice *)b)->name);
}

void get_say_note(const struct get *g, const struct device_view *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	size_t stale = 0;

	for (size_t i = 0; i < v->n; i++)
		stale += v->slices[i].stale && !v->slices[i].older;
	output_clean(&text, v->note);
	if (v->note.n > 0)
		(void)fprintf(g->cli->err, "Note: %.*s\n", STR_ARG(buf_str(&text)));
	if (stale > 0)
		(void)fprintf(g->cli->err,
			      "Note: %zu slice%s changed since %s status was written\n", stale,
			      stale == 1 ? " has" : "s have", stale == 1 ? "its" : "their");
}

int get_slices(struct get *g, const struct object_arg *arg, struct json **ret_table,
	       struct error *err)
{
	struct device_view_query q = { .slice = arg->name,
				       .label_selector = str_from(g->options->selector),
				       .field_selector = str_from(g->options->field_selector),
				       .hidden = g->hidden };
	struct arena *a = &g->cli->arena;
	struct device_view v;
	struct json *table;
	int r = device_view_load(&g->kube, &q, &v, err);

	if (r < 0)
		return r;
	get_say_note(g, &v);
	g->newest = v.newest;
	/* Sorted by name, as in a server's list. */
	qsort(v.slices, v.n, sizeof(*v.slices), slices_by_name);
	table = slice_table(g, a);
	if (v.version.n > 0 && arg->name.n == 0)
		json_put_str(a, json_need_object(a, table, "metadata"), "resourceVersion",
			     v.version);
	for (size_t i = 0; i < v.n; i++)
		slices_add_slice(g, a, table, &v.slices[i]);
	*ret_table = table;
	return 0;
}

struct json *get_slice_event(struct get *g, struct arena *a, struct json *slice)
{
	struct json *table = slice_table(g, a);
	struct json *one = json_make_array(a);
	struct device_view v;

	json_append(one, slice);
	device_view_make(a, one, &v);
	v.slices[0].older = g->newest && !device_newest_put(g->newest, v.slices[0].spec);
	slices_add_slice(g, a, table, &v.slices[0]);
	return table;
}

/*
 * Pools are summed up from all slices each time, which is less work than drawing them. Only the
 * lines on the screen are made, and only for these it is checked which claims may be named.
 */
#include "cli/live/draw_impl.h"

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "cli/output/columns.h"
#include "cli/output/output.h"

enum {
	HEAD_LINES = 3, /* totals, source, titles */
	GAP = 2,
	HOLDERS_MAX = 64, /* named in a line */
	HOLDERS_MIN = 24, /* columns they should have */
	NAME_MIN = 14, /* columns of a device's name .. */
	STATE_MIN = sizeof("Available, unhealthy") - 1, /* .. and of its state */
};

/* --- what is shown --------------------------------------------------------------------------- */

bool draw_may_name(const struct top_view *view, struct str ns)
{
	return !view->may || view->may(view->arg, ns);
}

/* Whether the pool is shown: all of them, or the one that the user opened. */
static bool is_open(const struct top_view *v, struct str driver, struct str pool)
{
	return v->depth == TOP_ALL ||
	       (str_eqz(driver, v->open.driver) && str_eqz(pool, v->open.pool));
}

static bool lists_devices(const struct top_view *v)
{
	return v->devices || v->depth != TOP_ALL;
}

/* All the text of a device that the user can see. */
static bool draw_matches(const struct drawing *w, const struct top_slice *s,
			 const struct top_device *d, struct str filter)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;

	(void)buf_printf(&text, "%.*s/%.*s/%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n%.*s\n",
			 STR_ARG(s->driver), STR_ARG(s->pool), STR_ARG(d->name), STR_ARG(s->node),
			 STR_ARG(device_fact_state_text(&d->fact)), STR_ARG(d->fact.reason),
			 STR_ARG(device_fact_health_name(&d->fact)), STR_ARG(d->fact.message));
	for (size_t i = 0; i < d->nholders; i++)
		if (draw_may_name(w->view, d->holders[i].ns))
			(void)buf_printf(&text, "%.*s/%.*s %.*s\n", STR_ARG(d->holders[i].ns),
					 STR_ARG(d->holders[i].claim), STR_ARG(d->holders[i].pods));
	arena_init(&a, 4 * MIB);
	return str_find(arena_lower(&a, buf_str(&text)), arena_lower(&a, filter)) >= 0;
}

/* The slice with the devices that are shown; NULL: none of them are. */
static struct top_slice *draw_filter(struct drawing *w, struct top_slice *s)
{
	struct str filter = str_from(w->view->filter);
	bool all = (filter.n == 0 && !w->view->unhealthy) || w->view->depth == TOP_ONE_DEVICE;
	struct top_slice *some;

	if (s->elsewhere || !is_open(w->view, s->driver, s->pool))
		return NULL;
	if (all)
		return s;
	some = ARENA_NEW(&w->arena, struct top_slice);
	*some = *s;
	some->devices = ARENA_ARRAY(&w->arena, struct top_device, s->n + 1);
	some->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct top_device *d = &s->devices[i];

		if ((!w->view->unhealthy || d->fact.unhealthy) &&
		    (filter.n == 0 || draw_matches(w, s, d, filter)))
			some->devices[some->n++] = *d;
	}
	return some->n > 0 ? some : NULL;
}

/* --- sums ------------------------------------------------------------------------------------ */

static struct str pool_key(struct drawing *w, const struct top_slice *s)
{
	return str_from(arena_printf(&w->arena, "%.*s/%.*s", STR_ARG(s->driver), STR_ARG(s->pool)));
}

static struct line *line_of(struct drawing *w, const struct top_slice *s)
{
	struct str key = pool_key(w, s);
	struct line *l = map_get(&w->by_pool, key);

	if (l)
		return l;
	l = ARENA_NEW(&w->arena, struct line);
	*l = (struct line){ .driver = s->driver, .pool = s->pool, .node = s->node };
	(void)map_put(&w->by_pool, key, l);
	(void)vec_push(&w->lines, l);
	return l;
}

/* One slice of a pool has its conditions; while these move to another slice, two may have them. */
static enum top_truth both(enum top_truth a, enum top_truth b)
{
	return a == TOP_NO || b == TOP_NO ? TOP_NO : MAX(a, b);
}

/* Of pools that are shown. */
static void add_pool(struct drawing *w, const struct top_slice *s)
{
	struct line *l = map_get(&w->by_pool, pool_key(w, s));

	if (!l || !s->has_pool)
		return;
	l->complete = both(l->complete, s->complete);
	l->valid = both(l->valid, s->valid);
}

static void draw_add_slice(struct drawing *w, struct top_slice *s)
{
	struct line *l;

	s = draw_filter(w, s);
	if (!s)
		return;
	l = line_of(w, s);
	if (!str_eq(l->node, s->node))
		l->node = STR("<some>");
	if ((l->nslices & (l->nslices - 1)) == 0) { /* full: 0, 1, 2, 4 .. */
		struct top_slice **more = ARENA_ARRAY(&w->arena, struct top_slice *,
						      MAX(2 * l->nslices, (size_t)1));

		if (l->nslices)
			memcpy(more, l->slices, l->nslices * sizeof(*more));
		l->slices = more;
	}
	l->slices[l->nslices++] = s;
	l->stale |= s->stale;
	for (size_t i = 0; i < s->n; i++)
		device_counts_add(&l->counts, &s->devices[i].fact);
}

static int draw_by_name(const struct line *a, const struct line *b)
{
	int r = str_cmp(a->pool, b->pool);

	return r ? r : str_cmp(a->driver, b->driver);
}

static int by_pool(const void *a, const void *b)
{
	return draw_by_name(*(struct line *const *)a, *(struct line *const *)b);
}

static int by_number(const void *a, const void *b, enum device_state s)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->counts.by_state[s] != y->counts.by_state[s])
		return x->counts.by_state[s] > y->counts.by_state[s] ? -1 : 1;
	return draw_by_name(x, y);
}

static int by_free(const void *a, const void *b)
{
	return by_number(a, b, DEVICE_AVAILABLE);
}

static int by_allocated(const void *a, const void *b)
{
	return by_number(a, b, DEVICE_ALLOCATED);
}

static int by_unhealthy(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;

	if (x->counts.unhealthy != y->counts.unhealthy)
		return x->counts.unhealthy > y->counts.unhealthy ? -1 : 1;
	return draw_by_name(x, y);
}

static void sum_up(struct drawing *w)
{
	static int (*const orders[TOP_SORTS])(const void *, const void *) = {
		[TOP_BY_POOL] = by_pool,
		[TOP_BY_FREE] = by_free,
		[TOP_BY_ALLOCATED] = by_allocated,
		[TOP_BY_UNHEALTHY] = by_unhealthy,
	};
	struct omap_cursor c;

	for (bool more = omap_first(&w->model->slices, &c); more; more = omap_next(&c))
		draw_add_slice(w, omap_value(&c));
	for (bool more = omap_first(&w->model->slices, &c); more; more = omap_next(&c))
		add_pool(w, omap_value(&c));
	if (w->lines.n)
		qsort(w->lines.v, w->lines.n, sizeof(*w->lines.v), orders[w->view->sort]);
	for (size_t i = 0; i < w->lines.n; i++)
		w->rows += 1 + (lists_devices(w->view) ? w->lines.v[i]->counts.devices : 0);
}

void draw_begin(struct drawing *w, const struct top_model *m, struct top_view *view)
{
	*w = (struct drawing){ .model = m, .view = view };
	w->left = view->height ? view->height : SIZE_MAX;
	arena_init(&w->arena, SIZE_MAX);
	map_init(&w->by_pool);
	vec_init(&w->lines, SIZE_MAX);
	sum_up(w);
}

void draw_end(struct drawing *w)
{
	vec_release(&w->lines);
	map_release(&w->by_pool);
	arena_release(&w->arena);
}

/* --- text ------------------------------------------------------------------------------------ */

/* Prints as much of a line as fits, without characters that could move the cursor. */
static void put_line(struct drawing *w, struct str text, const char *style)
{
	CLEANUP(buf_release) struct buf clean = BUF_INIT(MIB);
	struct str line;
	size_t n;

	if (w->left == 0)
		return;
	w->left--;
	output_clean(&clean, text);
	line = buf_str(&clean);
	n = columns_cut(line, w->view->width ? w->view->width : SIZE_MAX);
	while (n > 0 && line.p[n - 1] == ' ')
		n--;
	if (w->chosen)
		style = style ? "7;31" : "7";
	if (style && (w->view->colour || w->chosen))
		(void)buf_printf(w->out, "\033[%sm%.*s\033[0m\n", style, (int)n, line.p);
	else
		(void)buf_printf(w->out, "%.*s\n", (int)n, line.p);
}

struct device_counts draw_totals(const struct drawing *w)
{
	struct device_counts all = { 0 };

	for (size_t i = 0; i < w->lines.n; i++)
		device_counts_sum(&all, &w->lines.v[i]->counts);
	return all;
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* A number that may be too low by `unknown`: "3", "3+", "?". */
static struct str count_text(struct drawing *w, size_t n, size_t unknown)
{
	if (n == 0 && unknown > 0)
		return STR("?");
	return str_from(arena_printf(&w->arena, "%zu%s", n, unknown > 0 ? "+" : ""));
}

static void add_totals(struct drawing *w, const struct device_counts *all, struct buf *text)
{
	const size_t *n = all->by_state;

	(void)buf_printf(text, "%zu free, %zu allocated", n[DEVICE_AVAILABLE], n[DEVICE_ALLOCATED]);
	if (n[DEVICE_PARTIALLY_ALLOCATED])
		(void)buf_printf(text, ", %zu partially", n[DEVICE_PARTIALLY_ALLOCATED]);
	if (n[DEVICE_UNAVAILABLE])
		(void)buf_printf(text, ", %zu unavailable", n[DEVICE_UNAVAILABLE]);
	if (n[DEVICE_FACT_UNKNOWN])
		(void)buf_printf(text, ", %zu unknown", n[DEVICE_FACT_UNKNOWN]);
	(void)buf_printf(text, "; %.*s unhealthy",
			 STR_ARG(count_text(w, all->unhealthy, all->unsure)));
	if (all->free_unhealthy)
		(void)buf_printf(text, " (%zu free)", all->free_unhealthy);
}

static void put_head(struct drawing *w)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	char time[TIMESTAMP_SIZE];
	struct device_counts all = draw_totals(w);

	(void)buf_printf(&text, "%zu device%s in %zu pool%s: ", all.devices, plural(all.devices),
			 w->lines.n, plural(w->lines.n));
	add_totals(w, &all, &text);
	(void)buf_addz(&text, w->view->loading ? " (loading)" : "");
	put_line(w, buf_str(&text), "1");
	buf_clear(&text);
	(void)buf_printf(&text, "%.*s %.*s",
			 STR_ARG(timestamp_print(w->view->wall_ns, TIMESTAMP_SECONDS, time)),
			 STR_ARG(w->view->message.n ? w->view->message : w->view->source));
	put_line(w, buf_str(&text), w->view->message.n ? "31" : NULL);
}

/* Full titles, and short ones for screens on which holders would not fit. */
static const char *const titles[2][DRAW_CELLS] = {
	{ "DRIVER", "POOL", "NODE", "DEVICES", "FREE", "PARTIAL", "ALLOCATED", "UNAVAILABLE",
	  "UNHEALTHY" },
	{ "DRIVER", "POOL", "NODE", "DEV", "FREE", "PART", "ALLOC", "UNAV", "SICK" },
};

static struct str pool_cell(struct drawing *w, const struct line *l)
{
	const char *what = NULL;

	if (l->complete == TOP_NO)
		what = "incomplete";
	else if (l->valid == TOP_NO)
		what = "invalid";
	else if (l->stale)
		what = "stale";
	else if (l->complete == TOP_UNTOLD || l->valid == TOP_UNTOLD)
		what = "?";
	if (!what)
		return l->pool;
	return str_from(arena_printf(&w->arena, "%.*s (%s)", STR_ARG(l->pool), what));
}

static void make_cells(struct drawing *w, const struct line *l, struct str cells[static DRAW_CELLS])
{
	size_t n = 0;

	cells[n++] = l->driver;
	cells[n++] = pool_cell(w, l);
	cells[n++] = l->node;
	for (size_t i = 0; i < DEVICE_COUNTS_COLUMNS; i++)
		cells[n++] = count_text(w, device_counts_at(&l->counts, i),
					device_counts_unknown_at(&l->counts, i));
}

static size_t title_widths(struct drawing *w)
{
	size_t all = 0;

	for (size_t k = 0; k < DRAW_CELLS; k++) {
		w->widths[k] = MAX(w->cells[k], strlen(titles[w->narrow][k]));
		all += w->widths[k] + GAP;
	}
	return all;
}

/* Measures all lines, so that columns do not move when the table is scrolled. */
static void draw_measure(struct drawing *w)
{
	struct str cells[DRAW_CELLS];

	for (size_t i = 0; i < w->lines.n; i++) {
		make_cells(w, w->lines.v[i], cells);
		for (size_t k = 0; k < DRAW_CELLS; k++)
			w->cells[k] = MAX(w->cells[k], str_characters(cells[k]));
	}
	w->narrow = w->view->width > 0 && title_widths(w) + HOLDERS_MIN > w->view->width;
	(void)title_widths(w);
}

static void add_cell(struct buf *out, struct str text, size_t width, bool right)
{
	size_t n = str_characters(text), pad = width > n ? width - n : 0;

	(void)buf_printf(out, "%*s%.*s%*s", right ? (int)pad : 0, "", STR_ARG(text),
			 (int)(right ? 0 : pad) + GAP, "");
}

static void put_cells(struct drawing *w, const struct str cells[static DRAW_CELLS], struct str rest,
		      const char *style)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	for (size_t k = 0; k < DRAW_CELLS; k++)
		add_cell(&text, cells[k], w->widths[k], k >= 3);
	(void)buf_add_str(&text, rest);
	put_line(w, buf_str(&text), style);
}

static void put_titles(struct drawing *w)
{
	struct str cells[DRAW_CELLS];

	for (size_t k = 0; k < DRAW_CELLS; k++)
		cells[k] = str_from(titles[w->narrow][k]);
	put_cells(w, cells, STR("HOLDERS"), "7");
}

void top_print_holders(const struct top_view *view, const struct top_holder *holders, size_t n,
		       size_t omitted, struct buf *out)
{
	size_t named = 0, hidden = 0;

	for (size_t i = 0; i < n; i++) {
		if (named == HOLDERS_MAX || !draw_may_name(view, holders[i].ns)) {
			hidden++;
			continue;
		}
		(void)buf_printf(out, "%s%.*s/%.*s", named++ ? ", " : "", STR_ARG(holders[i].ns),
				 STR_ARG(holders[i].claim));
	}
	if (hidden)
		(void)buf_printf(out, named ? " (+%zu claim%s)" : "%zu claim%s", hidden,
				 plural(hidden));
	if (omitted)
		(void)buf_printf(out, named + hidden ? " (+%zu allocation%s)" : "%zu allocation%s",
				 omitted, plural(omitted));
}

typedef VEC(struct top_holder) holder_list;

static void gather_holders(struct drawing *w, const struct top_device *d, struct map *seen,
			   holder_list *out)
{
	for (size_t i = 0; i < d->nholders; i++) {
		const struct top_holder *h = &d->holders[i];
		struct str key = str_from(
			arena_printf(&w->arena, "%.*s/%.*s", STR_ARG(h->ns), STR_ARG(h->claim)));

		if (map_get(seen, key))
			continue;
		(void)map_put(seen, key, w);
		(void)vec_push(out, *h);
	}
}

/* The claims that hold devices of the pool, each once, in the order of its devices. */
static size_t holders_of(struct drawing *w, const struct line *l, holder_list *out)
{
	size_t omitted = 0;
	struct map seen;

	map_init(&seen);
	for (size_t i = 0; i < l->nslices; i++)
		for (size_t k = 0; k < l->slices[i]->n; k++) {
			gather_holders(w, &l->slices[i]->devices[k], &seen, out);
			omitted += l->slices[i]->devices[k].fact.omitted;
		}
	map_release(&seen);
	return omitted;
}

static void put_pool(struct drawing *w, const struct line *l)
{
	CLEANUP(buf_release) struct buf rest = BUF_INIT(MIB);
	struct str cells[DRAW_CELLS];
	holder_list holders;
	size_t omitted;
	bool bad;

	vec_init(&holders, SIZE_MAX);
	omitted = holders_of(w, l, &holders);
	make_cells(w, l, cells);
	top_print_holders(w->view, holders.v, holders.n, omitted, &rest);
	vec_release(&holders);
	bad = l->counts.unhealthy || l->complete == TOP_NO || l->valid == TOP_NO;
	put_cells(w, cells, buf_str(&rest), bad ? "31" : NULL);
}

static void put_device(struct drawing *w, const struct top_device *d)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)buf_addz(&text, "    ");
	add_cell(&text, d->name, NAME_MIN, false);
	add_cell(&text, device_fact_state_text(&d->fact), STATE_MIN, false);
	(void)buf_add_str(&text, device_fact_health_name(&d->fact));
	if (d->fact.message.n)
		(void)buf_printf(&text, ": %.*s", STR_ARG(d->fact.message));
	if (d->fact.reason.n)
		(void)buf_printf(&text, "  %.*s", STR_ARG(d->fact.reason));
	else if (d->taint.n)
		(void)buf_printf(&text, "  taint %.*s", STR_ARG(d->taint));
	if (d->nholders + d->fact.omitted > 0)
		(void)buf_addz(&text, "  ");
	top_print_holders(w->view, d->holders, d->nholders, d->fact.omitted, &text);
	for (size_t i = 0; i < d->nholders; i++)
		if (d->holders[i].pods.n && draw_may_name(w->view, d->holders[i].ns))
			(void)buf_printf(&text, " [%.*s]", STR_ARG(d->holders[i].pods));
	put_line(w, buf_str(&text), d->fact.unhealthy ? "31" : NULL);
}

/* --- the screen ------------------------------------------------------------------------------ */

size_t top_page(const struct top_view *view)
{
	size_t fixed = HEAD_LINES + 1; /* and the line of keys */

	return view->height > fixed ? view->height - fixed : 1;
}

/* The visible rows. */
struct window {
	size_t at, first, end;
};

static void draw_put_devices(struct drawing *w, const struct top_slice *s, struct window *p)
{
	for (size_t k = 0; k < s->n && p->at < p->end; k++, p->at++) {
		w->chosen = w->view->cursor && p->at == w->view->selected;
		if (p->at >= p->first)
			put_device(w, &s->devices[k]);
	}
}

static void put_rows(struct drawing *w, size_t first, size_t room)
{
	struct window p = { .first = first, .end = first + room };

	for (size_t i = 0; i < w->lines.n && p.at < p.end; i++) {
		const struct line *l = w->lines.v[i];

		w->chosen = w->view->cursor && p.at == w->view->selected;
		if (p.at++ >= first)
			put_pool(w, l);
		if (!lists_devices(w->view))
			continue;
		if (p.at + l->counts.devices <= first) { /* all above */
			p.at += l->counts.devices;
			continue;
		}
		for (size_t k = 0; k < l->nslices; k++)
			draw_put_devices(w, l->slices[k], &p);
	}
	w->chosen = false;
}

/* --- the selected row ------------------------------------------------------------------------ */

static void place_set(struct top_place *p, const struct line *l, struct str device)
{
	(void)snprintf(p->driver, sizeof(p->driver), "%.*s", STR_ARG(l->driver));
	(void)snprintf(p->pool, sizeof(p->pool), "%.*s", STR_ARG(l->pool));
	(void)snprintf(p->device, sizeof(p->device), "%.*s", STR_ARG(device));
}

/* A row of the table, while all are walked. Zero: before the first. */
struct row {
	const struct line *line;
	const struct top_slice *slice; /* NULL: the line of the pool */
	const struct top_device *device;
	size_t at, next_line, next_slice, next_device;
};

static bool next_device(const struct drawing *w, struct row *r)
{
	if (!r->line || !lists_devices(w->view))
		return false;
	while (r->next_slice < r->line->nslices &&
	       r->next_device >= r->line->slices[r->next_slice]->n) {
		r->next_slice++;
		r->next_device = 0;
	}
	if (r->next_slice == r->line->nslices)
		return false;
	r->slice = r->line->slices[r->next_slice];
	r->device = &r->slice->devices[r->next_device++];
	return true;
}

static bool next_row(const struct drawing *w, struct row *r)
{
	r->at += r->line != NULL;
	if (next_device(w, r))
		return true;
	if (r->next_line == w->lines.n)
		return false;
	*r = (struct row){ .at = r->at,
			   .line = w->lines.v[r->next_line],
			   .next_line = r->next_line + 1 };
	return true;
}

static bool is_at(const struct row *r, const struct top_place *p)
{
	return str_eqz(r->line->driver, p->driver) && str_eqz(r->line->pool, p->pool) &&
	       str_eqz(r->device ? r->device->name : STR(""), p->device);
}

/* Rows move when devices change: the selection stays on its pool or device while there is one. */
static void select_row(struct drawing *w)
{
	struct top_view *v = w->view;
	struct row r = { 0 };

	while (v->follow && next_row(w, &r))
		if (is_at(&r, &v->at))
			v->selected = r.at;
	v->selected = MIN(v->selected, w->rows ? w->rows - 1 : 0);
	v->at = (struct top_place){ .pool = "" };
	r = (struct row){ 0 };
	while (next_row(w, &r))
		if (r.at == v->selected)
			place_set(&v->at, r.line, r.device ? r.device->name : STR(""));
	v->follow = true;
}

/* Scrolls as little as shows the selected row. */
static void scroll(struct drawing *w, size_t page)
{
	struct top_view *v = w->view;

	v->scroll = MIN(v->scroll, w->rows > page ? w->rows - page : 0);
	if (!v->cursor)
		return;
	select_row(w);
	if (v->selected < v->scroll)
		v->scroll = v->selected;
	else if (v->selected - v->scroll >= page)
		v->scroll = v->selected - page + 1;
}

/* --- one device ------------------------------------------------------------------------------ */

static void put_field(struct drawing *w, const char *label, struct str text)
{
	if (text.n > 0)
		put_line(w, str_from(arena_printf(&w->arena, "%-10s%.*s", label, STR_ARG(text))),
			 NULL);
}

static void put_holders(struct drawing *w, const struct top_device *d)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	size_t hidden = 0;

	for (size_t i = 0; i < d->nholders; i++) {
		const struct top_holder *h = &d->holders[i];

		if (!draw_may_name(w->view, h->ns)) {
			hidden++;
			continue;
		}
		buf_clear(&text);
		(void)buf_printf(&text, h->pods.n ? "%.*s/%.*s [%.*s]" : "%.*s/%.*s",
				 STR_ARG(h->ns), STR_ARG(h->claim), STR_ARG(h->pods));
		put_field(w, "Holder:", buf_str(&text));
	}
	if (hidden > 0)
		put_field(w, "Holder:",
			  str_from(arena_printf(&w->arena, "%zu claim%s that you cannot read",
						hidden, plural(hidden))));
	if (d->fact.omitted > 0)
		put_field(w, "Holder:",
			  str_from(arena_printf(&w->arena, "%zu more allocation%s", d->fact.omitted,
						plural(d->fact.omitted))));
}

static void put_one_device(struct drawing *w, const struct row *r)
{
	const struct device_fact *f = &r->device->fact;

	put_field(w, "Device:", r->device->name);
	put_field(w, "Driver:", r->line->driver);
	put_field(w, "Pool:", pool_cell(w, r->line));
	put_field(w, "Node:", r->slice->node);
	put_field(w, "State:", device_fact_state_text(f));
	put_field(w, "Reason:", f->reason);
	put_field(w, "Taint:", r->device->taint);
	put_field(w, "Health:", device_fact_health_name(f));
	put_field(w, "Message:", f->message);
	put_field(w, "Since:", f->since);
	put_field(w, "Source:", f->source);
	put_holders(w, r->device);
}

/* The device that the user opened. */
static void put_open(struct drawing *w)
{
	struct row r = { 0 };
	struct top_view *v = w->view;

	while (next_row(w, &r)) {
		if (is_at(&r, &v->open)) {
			put_one_device(w, &r);
			return;
		}
	}
	put_line(w, STR("no slice has this device any more"), "31");
}

static void put_keys(struct drawing *w, size_t shown)
{
	static const char *const sorts[TOP_SORTS] = { "pool", "free", "allocated", "unhealthy" };
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	if (w->view->depth == TOP_ONE_DEVICE)
		(void)buf_addz(&text, "q quit  Esc back");
	else if (w->view->editing)
		(void)buf_printf(&text, "filter: %s_  Enter: done, Ctrl-U: clear", w->view->filter);
	else
		(void)buf_printf(&text,
				 "%zu-%zu of %zu  q quit  Enter open%s  d %s  s sorted by %s  "
				 "u %s  / %s%s",
				 w->rows ? w->view->scroll + 1 : 0, w->view->scroll + shown,
				 w->rows, w->view->depth == TOP_ALL ? "" : "  Esc back",
				 w->view->devices ? "pools only" : "devices", sorts[w->view->sort],
				 w->view->unhealthy ? "all" : "unhealthy",
				 w->view->filter[0] ? "filter: " : "filter", w->view->filter);
	put_line(w, buf_str(&text), "7");
}

/* Returns the number of rows. */
static size_t put_table(struct drawing *w, size_t page)
{
	size_t shown;

	draw_measure(w);
	scroll(w, page);
	shown = MIN(page, w->rows - w->view->scroll);
	put_titles(w);
	put_rows(w, w->view->scroll, shown);
	return shown;
}

void top_settle(const struct top_model *m, struct top_view *view)
{
	struct drawing w;

	draw_begin(&w, m, view);
	if (view->depth != TOP_ONE_DEVICE)
		scroll(&w, top_page(view));
	draw_end(&w);
}

void top_draw(const struct top_model *m, struct top_view *view, struct buf *out)
{
	size_t page = view->height ? top_page(view) : SIZE_MAX / 2, shown = 0;
	struct drawing w;

	draw_begin(&w, m, view);
	w.out = out;
	put_head(&w);
	if (view->depth == TOP_ONE_DEVICE)
		put_open(&w);
	else
		shown = put_table(&w, page);
	while (view->height && w.left > 1)
		put_line(&w, STR_NULL, NULL);
	if (view->height)
		put_keys(&w, shown);
	draw_end(&w);
}

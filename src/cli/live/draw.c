/*
 * Pools are summed up from all slices each time, which is less work than drawing them. Only the
 * lines on the screen are made, and only for these it is checked which claims may be named.
 */
#include "cli/live/draw.h"

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/vec.h"
#include "base/time/timestamp.h"
#include "cli/output/output.h"

enum {
	HEAD_LINES = 3, /* totals, source, titles */
	CELLS = 9, /* in a line, before the holders */
	GAP = 2,
	HOLDERS_MAX = 64, /* named in a line */
	HOLDERS_MIN = 24, /* columns they should have */
	NAME_MIN = 14, /* columns of a device's name .. */
	STATE_MIN = sizeof("Available, unhealthy") - 1, /* .. and of its state */
};

/* One line of the table, before it is formatted. */
struct line {
	struct str driver, pool, node;
	struct device_counts counts;
	enum top_truth complete, valid;
	bool stale; /* some state may be outdated */
	struct top_slice **slices;
	size_t nslices;
};

struct drawing {
	const struct top_model *model;
	struct top_view *view;
	struct arena arena;
	struct buf *out;
	struct map by_pool; /* "driver/pool" -> struct line */
	VEC(struct line *) lines;
	size_t cells[CELLS], widths[CELLS]; /* without and with titles */
	bool narrow;
	size_t rows; /* in the table, including devices */
	size_t left; /* lines left on the screen */
};

/* --- sums ------------------------------------------------------------------------------------ */

static struct line *line_of(struct drawing *w, const struct top_slice *s)
{
	struct str key = str_from(
		arena_printf(&w->arena, "%.*s/%.*s", STR_ARG(s->driver), STR_ARG(s->pool)));
	struct line *l = map_get(&w->by_pool, key);

	if (l || s->elsewhere)
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

static void add_pool(struct drawing *w, const struct top_slice *s)
{
	struct line *l = line_of(w, s);

	if (!l || !s->has_pool)
		return;
	l->complete = both(l->complete, s->complete);
	l->valid = both(l->valid, s->valid);
}

static void draw_add_slice(struct drawing *w, struct top_slice *s)
{
	struct line *l = line_of(w, s);

	if (s->elsewhere)
		return;
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

static void sum_up(struct drawing *w)
{
	static int (*const orders[TOP_SORTS])(const void *, const void *) = {
		[TOP_BY_POOL] = by_pool,
		[TOP_BY_FREE] = by_free,
		[TOP_BY_ALLOCATED] = by_allocated,
	};
	struct omap_cursor c;

	for (bool more = omap_first(&w->model->slices, &c); more; more = omap_next(&c))
		draw_add_slice(w, omap_value(&c));
	for (bool more = omap_first(&w->model->slices, &c); more; more = omap_next(&c))
		add_pool(w, omap_value(&c));
	if (w->lines.n)
		qsort(w->lines.v, w->lines.n, sizeof(*w->lines.v), orders[w->view->sort]);
	for (size_t i = 0; i < w->lines.n; i++)
		w->rows += 1 + (w->view->devices ? w->lines.v[i]->counts.devices : 0);
}

static void draw_begin(struct drawing *w, const struct top_model *m, struct top_view *view)
{
	*w = (struct drawing){ .model = m, .view = view };
	w->left = view->height ? view->height : SIZE_MAX;
	arena_init(&w->arena, SIZE_MAX);
	map_init(&w->by_pool);
	vec_init(&w->lines, SIZE_MAX);
	sum_up(w);
}

static void draw_end(struct drawing *w)
{
	vec_release(&w->lines);
	map_release(&w->by_pool);
	arena_release(&w->arena);
}

/* --- text ------------------------------------------------------------------------------------ */

/*
 * The columns that a terminal uses for a character: East Asian and emoji two, combining ones none.
 */
static size_t rune_columns(uint32_t rune)
{
	static const struct {
		uint32_t first, last;
		size_t columns;
	} v[] = {
		{ 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },   { 0x200b, 0x200f, 0 },
		{ 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
		{ 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
		{ 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
		{ 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (rune >= v[i].first && rune <= v[i].last)
			return v[i].columns;
	return 1;
}

/* The number of bytes of the line that fit into the columns. */
static size_t cut_at(struct str line, size_t width)
{
	size_t at = 0, next = 0, columns = 0;

	while (at < line.n) {
		columns += rune_columns(str_rune(line, &next));
		if (columns > width)
			break;
		at = next;
	}
	return at;
}

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
	n = cut_at(line, w->view->width ? w->view->width : SIZE_MAX);
	while (n > 0 && line.p[n - 1] == ' ')
		n--;
	if (style && w->view->colour)
		(void)buf_printf(w->out, "\033[%sm%.*s\033[0m\n", style, (int)n, line.p);
	else
		(void)buf_printf(w->out, "%.*s\n", (int)n, line.p);
}

static struct device_counts count_totals(const struct drawing *w)
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
	struct device_counts all = count_totals(w);

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
static const char *const titles[2][CELLS] = {
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

static void make_cells(struct drawing *w, const struct line *l, struct str cells[static CELLS])
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

	for (size_t k = 0; k < CELLS; k++) {
		w->widths[k] = MAX(w->cells[k], strlen(titles[w->narrow][k]));
		all += w->widths[k] + GAP;
	}
	return all;
}

/* Measures all lines, so that columns do not move when the table is scrolled. */
static void draw_measure(struct drawing *w)
{
	struct str cells[CELLS];

	for (size_t i = 0; i < w->lines.n; i++) {
		make_cells(w, w->lines.v[i], cells);
		for (size_t k = 0; k < CELLS; k++)
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

static void put_cells(struct drawing *w, const struct str cells[static CELLS], struct str rest,
		      const char *style)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	for (size_t k = 0; k < CELLS; k++)
		add_cell(&text, cells[k], w->widths[k], k >= 3);
	(void)buf_add_str(&text, rest);
	put_line(w, buf_str(&text), style);
}

static void put_titles(struct drawing *w)
{
	struct str cells[CELLS];

	for (size_t k = 0; k < CELLS; k++)
		cells[k] = str_from(titles[w->narrow][k]);
	put_cells(w, cells, STR("HOLDERS"), "7");
}

static bool may_name(const struct top_view *view, struct str ns)
{
	return !view->may || view->may(view->arg, ns);
}

void top_print_holders(const struct top_view *view, const struct top_holder *holders, size_t n,
		       size_t omitted, struct buf *out)
{
	size_t named = 0, hidden = 0;

	for (size_t i = 0; i < n; i++) {
		if (named == HOLDERS_MAX || !may_name(view, holders[i].ns)) {
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
	struct str cells[CELLS];
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
		if (d->holders[i].pods.n && may_name(w->view, d->holders[i].ns))
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
	for (size_t k = 0; k < s->n && p->at < p->end; k++)
		if (p->at++ >= p->first)
			put_device(w, &s->devices[k]);
}

static void put_rows(struct drawing *w, size_t first, size_t room)
{
	struct window p = { .first = first, .end = first + room };

	for (size_t i = 0; i < w->lines.n && p.at < p.end; i++) {
		const struct line *l = w->lines.v[i];

		if (p.at++ >= first)
			put_pool(w, l);
		if (!w->view->devices)
			continue;
		if (p.at + l->counts.devices <= first) { /* all above */
			p.at += l->counts.devices;
			continue;
		}
		for (size_t k = 0; k < l->nslices; k++)
			draw_put_devices(w, l->slices[k], &p);
	}
}

static void put_keys(struct drawing *w, size_t shown)
{
	static const char *const sorts[TOP_SORTS] = { "pool", "free", "allocated" };
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)buf_printf(&text, "%zu-%zu of %zu  q quit  arrows scroll  d %s  s sorted by %s",
			 w->rows ? w->view->scroll + 1 : 0, w->view->scroll + shown, w->rows,
			 w->view->devices ? "pools only" : "devices", sorts[w->view->sort]);
	put_line(w, buf_str(&text), "7");
}

void top_draw(const struct top_model *m, struct top_view *view, struct buf *out)
{
	size_t page = view->height ? top_page(view) : SIZE_MAX / 2, shown;
	struct drawing w;

	draw_begin(&w, m, view);
	w.out = out;
	draw_measure(&w);
	view->scroll = MIN(view->scroll, w.rows > page ? w.rows - page : 0);
	shown = MIN(page, w.rows - view->scroll);
	put_head(&w);
	put_titles(&w);
	put_rows(&w, view->scroll, shown);
	if (view->height) {
		for (size_t i = shown; i < page; i++)
			put_line(&w, STR_NULL, NULL);
		put_keys(&w, shown);
	}
	draw_end(&w);
}

/* --- as a tree ------------------------------------------------------------------------------- */

static struct json *holders_tree(const struct top_view *view, const struct top_holder *holders,
				 size_t n, struct arena *a, size_t *ret_hidden)
{
	struct json *list = json_make_array(a);

	*ret_hidden = 0;
	for (size_t i = 0; i < n; i++) {
		struct json *h;

		if (!may_name(view, holders[i].ns)) {
			++*ret_hidden;
			continue;
		}
		h = json_make_object(a);
		json_put_str(a, h, "namespace", holders[i].ns);
		json_put_str(a, h, "claim", holders[i].claim);
		if (holders[i].pods.n)
			json_put_str(a, h, "pods", arena_str(a, holders[i].pods));
		json_append(list, h);
	}
	return list;
}

static void draw_put_text(struct json *o, const char *name, struct str text, struct arena *a)
{
	if (text.n)
		json_put_str(a, o, name, text);
}

static struct json *device_tree(const struct top_view *view, const struct top_device *d,
				struct arena *a)
{
	struct json *o = json_make_object(a);
	size_t hidden;

	json_put_str(a, o, "name", d->name);
	json_put_str(a, o, "state", str_from(device_fact_state_name(d->fact.state)));
	draw_put_text(o, "stateReason", d->fact.reason, a);
	draw_put_text(o, "taint", d->taint, a);
	if (!d->fact.unsure)
		json_put_str(a, o, "health", device_fact_health_name(&d->fact));
	draw_put_text(o, "healthMessage", d->fact.message, a);
	draw_put_text(o, "healthSince", d->fact.since, a);
	draw_put_text(o, "healthSource", d->fact.source, a);
	if (d->fact.omitted)
		json_put_i64(a, o, "omittedAllocations", (int64_t)d->fact.omitted);
	if (!d->nholders)
		return o;
	json_setz(o, "holders", holders_tree(view, d->holders, d->nholders, a, &hidden));
	if (hidden)
		json_put_i64(a, o, "hiddenHolders", (int64_t)hidden);
	return o;
}

static void put_truth(struct json *o, const char *name, enum top_truth v, struct arena *a)
{
	if (v != TOP_UNTOLD)
		json_put_bool(a, o, name, v == TOP_YES);
}

static struct json *pool_tree(const struct top_view *view, const struct line *l, struct arena *a)
{
	struct json *o = json_make_object(a), *list = json_make_array(a);

	json_put_str(a, o, "driver", l->driver);
	json_put_str(a, o, "pool", l->pool);
	json_put_str(a, o, "node", l->node);
	put_truth(o, "complete", l->complete, a);
	put_truth(o, "valid", l->valid, a);
	if (l->stale)
		json_put_bool(a, o, "stale", true);
	device_counts_put(a, o, &l->counts);
	for (size_t s = 0; s < l->nslices; s++)
		for (size_t k = 0; k < l->slices[s]->n; k++)
			json_append(list, device_tree(view, &l->slices[s]->devices[k], a));
	json_setz(o, "deviceList", list);
	return o;
}

struct json *top_tree(const struct top_model *m, const struct top_view *view, struct arena *a)
{
	struct json *o = json_make_object(a), *pools = json_make_array(a);
	struct top_view own = *view;
	char time[TIMESTAMP_SIZE];
	struct drawing w;
	struct device_counts all;

	draw_begin(&w, m, &own);
	all = count_totals(&w);
	json_put_str(a, o, "time",
		     arena_str(a, timestamp_print(view->wall_ns, TIMESTAMP_SECONDS, time)));
	json_put_str(a, o, "source", view->source);
	device_counts_put(a, json_need_object(a, o, "totals"), &all);
	for (size_t i = 0; i < w.lines.n; i++)
		json_append(pools, pool_tree(view, w.lines.v[i], a));
	json_setz(o, "pools", pools);
	draw_end(&w);
	return o;
}

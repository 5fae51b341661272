/*
 * A series is found by its label values in printed form: the text between the braces is the key, so
 * printing copies it and never escapes again. Handles are plain pointers. Printing holds the lock
 * only to copy a list of the series; it counts as a user of each, so that one that is removed
 * meanwhile lives until it is printed.
 */
#include "base/report/metrics.h"

#include <assert.h>
#include <math.h>

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/queue.h"
#include "base/ordered/omap.h"
#include "base/text/print.h"

struct series {
	double (*callback)(void *ctx); /* NULL: the value is below; constant */
	void *ctx;
	union {
		struct metrics_counter counter;
		struct metrics_gauge gauge;
		struct metrics_histogram histogram;
	};
	size_t users; /* the family, and those who print; changed under the lock */
	size_t labels_n;
	char labels[]; /* verb="GET",code="200" */
};

struct metrics_family {
	struct metrics *registry;
	char *name, *help;
	enum metrics_type type;
	char **labels;
	size_t labels_n;
	double *bounds;
	size_t bounds_n;
	struct map series; /* by labels */
};

struct metrics {
	struct lock lock; /* for the maps, and the users of series */
	struct omap families; /* by name */
};

static struct str labels_of(const struct series *s)
{
	return str_of(s->labels, s->labels_n);
}

/* Both kinds of names; a metric's may also hold colons. */
static bool name_is_valid(const char *name, bool colons)
{
	if (!name || !*name || str_is_digit(*name))
		return false;
	for (; *name; name++) {
		if (!str_is_alnum(*name) && *name != '_' && !(colons && *name == ':'))
			return false;
	}
	return true;
}

static int check_labels(const struct metrics_spec *spec, struct error *err)
{
	for (size_t i = 0; i < spec->labels_n; i++) {
		const char *label = spec->labels[i];

		if (!name_is_valid(label, false) || str_starts(str_from(label), STR("__")) ||
		    (spec->type == METRICS_HISTOGRAM && str_eqz(STR("le"), label)))
			return error_set(err, ERR_INVALID, "metric %s: invalid label \"%s\"",
					 spec->name, label ? label : "");
		for (size_t j = 0; j < i; j++)
			if (str_eqz(str_from(label), spec->labels[j]))
				return error_set(err, ERR_INVALID, "metric %s: label %s twice",
						 spec->name, label);
	}
	return 0;
}

static int check_spec(const struct metrics_spec *spec, struct error *err)
{
	if (!name_is_valid(spec->name, true))
		return error_set(err, ERR_INVALID, "invalid metric name \"%s\"",
				 spec->name ? spec->name : "");
	if ((spec->type == METRICS_HISTOGRAM) != (spec->bounds_n > 0))
		return error_set(err, ERR_INVALID, "metric %s: bounds are for histograms",
				 spec->name);
	for (size_t i = 0; i < spec->bounds_n; i++)
		if (!isfinite(spec->bounds[i]) || (i > 0 && spec->bounds[i] <= spec->bounds[i - 1]))
			return error_set(err, ERR_INVALID, "metric %s: bounds do not ascend",
					 spec->name);
	return check_labels(spec, err);
}

static bool has_shape(const struct metrics_family *f, const struct metrics_spec *spec)
{
	if (f->type != spec->type || f->labels_n != spec->labels_n || f->bounds_n != spec->bounds_n)
		return false;
	for (size_t i = 0; i < f->labels_n; i++)
		if (!str_eqz(str_from(f->labels[i]), spec->labels[i]))
			return false;
	for (size_t i = 0; i < f->bounds_n; i++)
		if (f->bounds[i] != spec->bounds[i])
			return false;
	return true;
}

static struct metrics_family *family_new(struct metrics *m, const struct metrics_spec *spec)
{
	struct metrics_family *f = XNEW(struct metrics_family);

	f->registry = m;
	f->name = xstrdup(spec->name);
	f->help = xstrdup(spec->help ? spec->help : "");
	f->type = spec->type;
	f->labels_n = spec->labels_n;
	f->labels = xcalloc(spec->labels_n, sizeof(*f->labels));
	for (size_t i = 0; i < spec->labels_n; i++)
		f->labels[i] = xstrdup(spec->labels[i]);
	f->bounds_n = spec->bounds_n;
	f->bounds = xcalloc(spec->bounds_n, sizeof(*f->bounds));
	for (size_t i = 0; i < spec->bounds_n; i++)
		f->bounds[i] = spec->bounds[i];
	map_init(&f->series);
	return f;
}

static void series_free(const struct metrics_family *f, struct series *s)
{
	if (f->type == METRICS_HISTOGRAM)
		free(s->histogram.buckets);
	free(s);
}

/* The caller holds the lock. */
static void series_drop(const struct metrics_family *f, struct series *s)
{
	if (--s->users == 0)
		series_free(f, s);
}

static void family_free(struct metrics_family *f)
{
	struct str key;
	size_t at = 0;
	void *s;

	while (map_next(&f->series, &at, &key, &s))
		series_free(f, s);
	map_release(&f->series);
	for (size_t i = 0; i < f->labels_n; i++)
		free(f->labels[i]);
	free(f->labels);
	free(f->bounds);
	free(f->help);
	free(f->name);
	free(f);
}

struct metrics *metrics_new(void)
{
	struct metrics *m = XNEW(struct metrics);

	lock_init(&m->lock);
	omap_init(&m->families);
	return m;
}

void metrics_free(struct metrics *m)
{
	struct omap_cursor c;

	if (!m)
		return;
	for (bool ok = omap_first(&m->families, &c); ok; ok = omap_next(&c))
		family_free(omap_value(&c));
	omap_release(&m->families);
	lock_destroy(&m->lock);
	free(m);
}

int metrics_register(struct metrics *m, const struct metrics_spec *spec,
		     struct metrics_family **ret_family, struct error *err)
{
	struct metrics_family *f;
	int r = check_spec(spec, err);

	if (r < 0)
		return r;
	lock_acquire(&m->lock);
	f = omap_get(&m->families, str_from(spec->name));
	if (!f) {
		f = family_new(m, spec);
		omap_put(&m->families, str_from(f->name), f);
	}
	lock_release(&m->lock);
	if (!has_shape(f, spec))
		return error_set(err, ERR_CONFLICT,
				 "metric %s exists already, with another type, labels or bounds",
				 spec->name);
	*ret_family = f;
	return 0;
}

/* Escapes as the format requires: backslash and newline, and the quote in label values. */
static void add_escaped(struct buf *out, struct str s, bool quote)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n')
			(void)buf_addz(out, "\\n");
		else if (s.p[i] == '\\' || (quote && s.p[i] == '"'))
			(void)buf_add(out, (char[]){ '\\', s.p[i] }, 2);
		else
			(void)buf_addc(out, s.p[i]);
	}
}

static void add_label(struct buf *out, const char *name, struct str value)
{
	struct buf clean = BUF_INIT(4 * METRICS_LABEL_VALUE_MAX);

	value.n = MIN(value.n, (size_t)METRICS_LABEL_VALUE_MAX);
	(void)print_utf8(&clean, value);
	(void)buf_printf(out, "%s%s=\"", out->n ? "," : "", name);
	add_escaped(out, buf_str(&clean), true);
	(void)buf_addc(out, '"');
	buf_release(&clean);
}

static struct series *series_new(struct metrics_family *f, struct str labels,
				 double (*callback)(void *ctx), void *ctx)
{
	struct series *s = xcalloc(1, sizeof(*s) + labels.n + 1);

	s->callback = callback;
	s->ctx = ctx;
	s->users = 1;
	s->labels_n = labels.n;
	str_put(s->labels, labels);
	if (f->type == METRICS_HISTOGRAM) {
		s->histogram.bounds = f->bounds;
		s->histogram.bounds_n = f->bounds_n;
		s->histogram.buckets = xcalloc(f->bounds_n + 1, sizeof(_Atomic uint64_t));
	}
	map_put(&f->series, labels_of(s), s);
	return s;
}

/* Renders the values, or "other" for each of them when `values` is NULL. */
static void render_labels(const struct metrics_family *f, const struct str *values, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < f->labels_n; i++)
		add_label(out, f->labels[i], values ? values[i] : STR("other"));
}

/* The callback is for a new series; an existing one keeps its own. */
static struct series *series_of(struct metrics_family *f, const struct str *values, size_t n,
				double (*callback)(void *ctx), void *ctx)
{
	struct buf labels = BUF_INIT(SIZE_MAX / 2);
	struct series *s;

	assert(n == f->labels_n);
	render_labels(f, values, &labels);
	lock_acquire(&f->registry->lock);
	s = map_get(&f->series, buf_str(&labels));
	if (!s && f->series.n >= METRICS_SERIES_MAX) {
		render_labels(f, NULL, &labels);
		s = map_get(&f->series, buf_str(&labels));
	}
	if (!s)
		s = series_new(f, buf_str(&labels), callback, ctx);
	lock_release(&f->registry->lock);
	buf_release(&labels);
	return s;
}

struct metrics_counter *metrics_counter_of(struct metrics_family *f, const struct str *values,
					   size_t n)
{
	assert(f->type == METRICS_COUNTER);
	return &series_of(f, values, n, NULL, NULL)->counter;
}

struct metrics_counter *metrics_counter_alone(struct metrics *m, const char *name, const char *help)
{
	struct metrics_spec spec = { .name = name, .help = help, .type = METRICS_COUNTER };
	struct metrics_family *f;

	if (!m || metrics_register(m, &spec, &f, NULL) < 0)
		return NULL;
	return metrics_counter_of(f, NULL, 0);
}

struct metrics_gauge *metrics_gauge_of(struct metrics_family *f, const struct str *values, size_t n)
{
	assert(f->type == METRICS_GAUGE);
	return &series_of(f, values, n, NULL, NULL)->gauge;
}

struct metrics_histogram *metrics_histogram_of(struct metrics_family *f, const struct str *values,
					       size_t n)
{
	assert(f->type == METRICS_HISTOGRAM);
	return &series_of(f, values, n, NULL, NULL)->histogram;
}

void metrics_callback_of(struct metrics_family *f, double (*fn)(void *ctx), void *ctx,
			 const struct str *values, size_t n)
{
	assert(f->type != METRICS_HISTOGRAM);
	(void)series_of(f, values, n, fn, ctx);
}

void metrics_remove_of(struct metrics_family *f, const struct str *values, size_t n)
{
	struct buf labels = BUF_INIT(SIZE_MAX / 2);
	struct series *s;

	assert(n == f->labels_n);
	render_labels(f, values, &labels);
	lock_acquire(&f->registry->lock);
	s = map_remove(&f->series, buf_str(&labels));
	if (s)
		series_drop(f, s);
	lock_release(&f->registry->lock);
	buf_release(&labels);
}

void metrics_histogram_observe(struct metrics_histogram *h, double v)
{
	size_t low = 0, n = h->bounds_n, half;

	while (n > 0) {
		half = n / 2;
		if (v <= h->bounds[low + half]) {
			n = half;
		} else {
			low += half + 1;
			n -= half + 1;
		}
	}
	atomic_fetch_add_explicit(&h->buckets[low], 1, memory_order_relaxed);
	metrics_f64_add(&h->sum, v);
}

/* name_suffix{labels,le="bound"}, and a space for the value. `le` may be NULL. */
static void metrics_print_name(const struct metrics_family *f, const struct series *s,
			       const char *suffix, const double *le, struct buf *out)
{
	(void)buf_printf(out, "%s%s", f->name, suffix);
	if (s->labels_n || le)
		(void)buf_addc(out, '{');
	(void)buf_add_str(out, labels_of(s));
	if (le) {
		(void)buf_addz(out, s->labels_n ? ",le=\"" : "le=\"");
		(void)print_f64(out, *le);
		(void)buf_addc(out, '"');
	}
	(void)buf_addz(out, s->labels_n || le ? "} " : " ");
}

static void print_u64_line(uint64_t v, struct buf *out)
{
	(void)buf_add_u64(out, v);
	(void)buf_addc(out, '\n');
}

static void print_f64_line(double v, struct buf *out)
{
	(void)print_f64(out, v);
	(void)buf_addc(out, '\n');
}

/*
 * The count is the sum of the buckets just read, so that it always equals the last cumulative one
 * although threads continue to count.
 */
static void print_histogram(const struct metrics_family *f, const struct series *s, struct buf *out)
{
	const struct metrics_histogram *h = &s->histogram;
	const double infinite = INFINITY;
	uint64_t count = 0;

	for (size_t i = 0; i <= h->bounds_n; i++) {
		count += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
		metrics_print_name(f, s, "_bucket", i < h->bounds_n ? &h->bounds[i] : &infinite,
				   out);
		print_u64_line(count, out);
	}
	metrics_print_name(f, s, "_sum", NULL, out);
	print_f64_line(atomic_load_explicit(&h->sum, memory_order_relaxed), out);
	metrics_print_name(f, s, "_count", NULL, out);
	print_u64_line(count, out);
}

static void print_counter(const struct metrics_counter *c, struct buf *out)
{
	uint64_t whole = atomic_load_explicit(&c->whole, memory_order_relaxed);
	double part = atomic_load_explicit(&c->part, memory_order_relaxed);

	/* While only integers were added, all 64 bits are shown. */
	if (part == 0)
		print_u64_line(whole, out);
	else
		print_f64_line((double)whole + part, out);
}

static void print_series(const struct metrics_family *f, const struct series *s, struct buf *out)
{
	if (f->type == METRICS_HISTOGRAM) {
		print_histogram(f, s, out);
		return;
	}
	metrics_print_name(f, s, "", NULL, out);
	if (s->callback)
		print_f64_line(s->callback(s->ctx), out);
	else if (f->type == METRICS_COUNTER)
		print_counter(&s->counter, out);
	else
		print_f64_line(atomic_load_explicit(&s->gauge.value, memory_order_relaxed), out);
}

static int compare_series(const void *a, const void *b)
{
	return str_cmp(labels_of(*(struct series *const *)a),
		       labels_of(*(struct series *const *)b));
}

/* Returns all series in order, with a use of each: pass the array to drop_series(). */
static struct series **list_series(const struct metrics_family *f, size_t *ret_n)
{
	struct series **list;
	struct str key;
	size_t at = 0, n = 0;
	void *s;

	lock_acquire(&f->registry->lock);
	list = xcalloc(f->series.n, sizeof(struct series *));
	while (map_next(&f->series, &at, &key, &s)) {
		list[n] = s;
		list[n++]->users++;
	}
	lock_release(&f->registry->lock);
	qsort(list, n, sizeof(struct series *), compare_series);
	*ret_n = n;
	return list;
}

static void drop_series(const struct metrics_family *f, struct series **list, size_t n)
{
	lock_acquire(&f->registry->lock);
	for (size_t i = 0; i < n; i++)
		series_drop(f, list[i]);
	lock_release(&f->registry->lock);
	free(list);
}

static void print_family(const struct metrics_family *f, struct buf *out)
{
	static const char *const types[] = {
		[METRICS_COUNTER] = "counter",
		[METRICS_GAUGE] = "gauge",
		[METRICS_HISTOGRAM] = "histogram",
	};
	struct series **list;
	size_t n;

	(void)buf_printf(out, "# HELP %s ", f->name);
	add_escaped(out, str_from(f->help), false);
	(void)buf_printf(out, "\n# TYPE %s %s\n", f->name, types[f->type]);
	list = list_series(f, &n);
	for (size_t i = 0; i < n; i++)
		print_series(f, list[i], out);
	drop_series(f, list, n);
}

int metrics_print(struct metrics *m, struct buf *out)
{
	struct metrics_family **list;
	struct omap_cursor c;
	size_t n = 0;

	lock_acquire(&m->lock);
	list = xcalloc(m->families.n, sizeof(struct metrics_family *));
	for (bool ok = omap_first(&m->families, &c); ok; ok = omap_next(&c))
		list[n++] = omap_value(&c);
	lock_release(&m->lock);
	for (size_t i = 0; i < n; i++)
		print_family(list[i], out);
	free(list);
	return out->overflow ? -ERR_TOO_LARGE : 0;
}

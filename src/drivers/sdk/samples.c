/*
 * Each name collects its lines in a buffer. A set of all "name{labels}" finds samples that are
 * there twice: Prometheus rejects a whole scrape because of one.
 */
#include "drivers/sdk/samples.h"

#include "base/core/limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/text/print.h"
#include "drivers/drivers_limits.h"

struct family {
	char *name;
	struct buf lines; /* HELP, TYPE and the samples */
};

struct dp_metrics {
	struct map by_name; /* to struct family */
	struct map seen; /* "name{labels}" to itself, on the heap */
	VEC(struct family *) families; /* in the order of their first samples */
	size_t n, rejected;
};

struct dp_metrics *samples_new(void)
{
	struct dp_metrics *m = XNEW(struct dp_metrics);

	map_init(&m->by_name);
	map_init(&m->seen);
	vec_init(&m->families, DRIVER_SAMPLES_MAX);
	return m;
}

void samples_free(struct dp_metrics *m)
{
	struct str key;
	size_t at = 0;
	void *value;

	if (!m)
		return;
	while (map_next(&m->seen, &at, &key, &value))
		free(value);
	for (size_t i = 0; i < m->families.n; i++) {
		buf_release(&m->families.v[i]->lines);
		free(m->families.v[i]->name);
		free(m->families.v[i]);
	}
	vec_release(&m->families);
	map_release(&m->by_name);
	map_release(&m->seen);
	free(m);
}

static bool samples_is_name(const char *name, bool colons)
{
	if (!name || !*name || str_is_digit(*name))
		return false;
	for (; *name; name++)
		if (!str_is_alnum(*name) && *name != '_' && !(colons && *name == ':'))
			return false;
	return true;
}

/* The format escapes backslashes and line ends, and quotes in labels. */
static void add_escaped(struct buf *out, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\n')
			(void)buf_addz(out, "\\n");
		else if (*text == '\\' || (quotes && *text == '"'))
			(void)buf_printf(out, "\\%c", *text);
		else
			(void)buf_addc(out, *text);
	}
}

/* Writes {a="b"}, or nothing without labels. Returns false if a label is invalid. */
static bool add_labels(struct buf *out, const char *const *labels)
{
	if (!labels || !labels[0])
		return true;
	for (size_t i = 0; labels[i]; i += 2) {
		const char *value = labels[i + 1];

		if (!samples_is_name(labels[i], false) ||
		    str_starts(str_from(labels[i]), STR("__")))
			return false;
		if (!value || !str_is_utf8(str_from(value)))
			return false;
		(void)buf_printf(out, "%c%s=\"", i ? ',' : '{', labels[i]);
		add_escaped(out, value, true);
		(void)buf_addc(out, '"');
	}
	return buf_addc(out, '}') == 0;
}

static struct family *need_family(struct dp_metrics *m, const char *name, const char *help,
				  uint32_t type)
{
	struct family *f = map_get(&m->by_name, str_from(name));

	if (f)
		return f;
	f = XNEW(struct family);
	f->name = xstrdup(name);
	buf_init(&f->lines, METRICS_TEXT_MAX);
	if (help && str_is_utf8(str_from(help))) {
		(void)buf_printf(&f->lines, "# HELP %s ", name);
		add_escaped(&f->lines, help, false);
		(void)buf_addc(&f->lines, '\n');
	}
	(void)buf_printf(&f->lines, "# TYPE %s %s\n", name,
			 type == DP_COUNTER ? "counter" : "gauge");
	(void)vec_push(&m->families, f);
	(void)map_put(&m->by_name, str_from(f->name), f);
	return f;
}

static int samples_add(struct dp_metrics *m, const char *name, const char *help, uint32_t type,
		       const char *const *labels, double value)
{
	CLEANUP(buf_release) struct buf series = BUF_INIT(DRIVER_SAMPLE_MAX);
	struct family *f;
	char *key;

	if (m->n >= DRIVER_SAMPLES_MAX || type > DP_GAUGE || !samples_is_name(name, true) ||
	    str_starts(str_from(name), STR("devplane_")))
		return -1;
	(void)buf_addz(&series, name);
	if (!add_labels(&series, labels) || map_get(&m->seen, buf_str(&series)))
		return -1;
	f = need_family(m, name, help, type);
	(void)buf_add_str(&f->lines, buf_str(&series));
	(void)buf_addc(&f->lines, ' ');
	(void)print_f64(&f->lines, value);
	(void)buf_addc(&f->lines, '\n');
	key = str_dup(buf_str(&series));
	(void)map_put(&m->seen, str_from(key), key);
	m->n++;
	return 0;
}

int dp_metrics_add(struct dp_metrics *m, const char *name, const char *help, uint32_t type,
		   const char *const *labels, double value)
{
	int r = samples_add(m, name, help, type, labels, value);

	m->rejected += r < 0;
	return r;
}

int samples_print(const struct dp_metrics *m, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->families.n; i++)
		r = buf_add_str(out, buf_str(&m->families.v[i]->lines));
	return r;
}

size_t samples_rejected(const struct dp_metrics *m)
{
	return m->rejected;
}

/*
 * The open levels are bits of one word, so a writer is small, needs no memory
 * and still notices every misuse.
 */
#include "base/json/writer.h"

#include <assert.h>
#include <math.h>

#include "base/json/building.h"
#include "base/text/number.h"

void json_writer_init(struct json_writer *w, struct buf *out, const struct json_style *style)
{
	*w = (struct json_writer){ .out = out };
	if (style)
		w->style = *style;
}

static bool in_object(const struct json_writer *w)
{
	return w->depth > 0 && (w->objects & 1);
}

static void new_line(struct json_writer *w)
{
	size_t n = (size_t)w->depth * w->style.indent;

	if (w->style.indent == 0 || buf_reserve(w->out, n + 1) < 0)
		return;
	w->out->p[w->out->n] = '\n';
	memset(w->out->p + w->out->n + 1, ' ', n);
	w->out->n += n + 1;
}

/* Writes the separator between earlier siblings and the next child. */
static void separate(struct json_writer *w)
{
	assert(w->depth > 0 || !w->follows); /* one value only */
	if (w->follows)
		(void)buf_addc(w->out, ',');
	if (w->depth > 0)
		new_line(w);
	w->follows = true;
}

static void before_value(struct json_writer *w)
{
	assert(in_object(w) == w->keyed); /* a key before a member, and only there */
	if (!w->keyed)
		separate(w);
	w->keyed = false;
}

static void writer_begin(struct json_writer *w, bool object)
{
	before_value(w);
	assert(w->depth < JSON_WRITER_DEPTH_MAX);
	(void)buf_addc(w->out, object ? '{' : '[');
	w->depth++;
	w->objects = w->objects << 1 | object;
	w->follows = false;
}

static void writer_end(struct json_writer *w, bool object)
{
	assert(w->depth > 0 && in_object(w) == object && !w->keyed);
	w->depth--;
	w->objects >>= 1;
	if (w->follows)
		new_line(w);
	(void)buf_addc(w->out, object ? '}' : ']');
	w->follows = true;
}

void json_writer_begin_object(struct json_writer *w)
{
	writer_begin(w, true);
}

void json_writer_end_object(struct json_writer *w)
{
	writer_end(w, true);
}

void json_writer_begin_array(struct json_writer *w)
{
	writer_begin(w, false);
}

void json_writer_end_array(struct json_writer *w)
{
	writer_end(w, false);
}

void json_writer_key(struct json_writer *w, struct str key)
{
	assert(in_object(w) && !w->keyed);
	separate(w);
	(void)json_print_str(w->out, key, &w->style);
	(void)buf_add_str(w->out, w->style.indent ? STR(": ") : STR(":"));
	w->keyed = true;
}

void json_writer_keyz(struct json_writer *w, const char *key)
{
	json_writer_key(w, str_from(key));
}

void json_writer_null(struct json_writer *w)
{
	json_writer_raw(w, STR("null"));
}

void json_writer_bool(struct json_writer *w, bool v)
{
	json_writer_raw(w, v ? STR("true") : STR("false"));
}

void json_writer_i64(struct json_writer *w, int64_t v)
{
	before_value(w);
	(void)buf_add_i64(w->out, v);
}

void json_writer_u64(struct json_writer *w, uint64_t v)
{
	before_value(w);
	(void)buf_add_u64(w->out, v);
}

void json_writer_f64(struct json_writer *w, double v)
{
	char text[JSON_NUMBER_MAX];

	assert(isfinite(v));
	json_writer_raw(w, str_of(text, json_number_print(v, text)));
}

void json_writer_str(struct json_writer *w, struct str v)
{
	before_value(w);
	(void)json_print_str(w->out, v, &w->style);
}

void json_writer_strz(struct json_writer *w, const char *v)
{
	json_writer_str(w, str_from(v));
}

void json_writer_tree(struct json_writer *w, const struct json *v)
{
	before_value(w);
	(void)json_print_below(w->out, v, &w->style, w->depth);
}

void json_writer_raw(struct json_writer *w, struct str text)
{
	before_value(w);
	(void)buf_add_str(w->out, text);
}

int json_writer_finish(struct json_writer *w)
{
	assert(w->depth == 0 && w->follows);
	return w->out->overflow ? -ERR_TOO_LARGE : 0;
}

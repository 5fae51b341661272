/*
 * libyaml's emitter does the layout; go-yaml's is modelled on it, so the text is the same as
 * upstream's. This file decides the style of each scalar.
 *
 * The tree is walked with a list of the containers above the current one, each with its children in
 * printing order.
 */
#include "base/yaml/yaml.h"

#include <yaml.h>

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/text/number.h"
#include "base/yaml/order.h"
#include "base/yaml/resolve.h"

struct frame {
	const struct json **children;
	size_t n, at;
	bool object;
};

struct printer {
	yaml_emitter_t emitter;
	bool sort;
	VEC(struct frame) open;
};

static int write_out(void *data, unsigned char *bytes, size_t n)
{
	return buf_add(data, bytes, n) == 0;
}

static void push_frame(struct printer *p, const struct json *v)
{
	struct frame f = { .object = v->type == JSON_OBJECT };

	f.children = xcalloc(v->n ? v->n : 1, sizeof(*f.children));
	for (const struct json *child = v->first; child; child = child->next)
		f.children[f.n++] = child;
	if (f.object && p->sort)
		yaml_order(f.children, f.n);
	(void)vec_push(&p->open, f);
}

static void pop_frame(struct printer *p)
{
	free(p->open.v[--p->open.n].children);
}

/* Hands the event over, which the emitter frees in any case. */
static bool emit(struct printer *p, int initialized, yaml_event_t *event)
{
	return initialized && yaml_emitter_emit(&p->emitter, event);
}

static bool emit_scalar(struct printer *p, struct str text, yaml_scalar_style_t style)
{
	yaml_event_t event;
	int ok;

	if (text.n > INT32_MAX)
		return false;
	ok = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text.p,
					  (int)text.n, 1, 1, style);
	return emit(p, ok, &event);
}

/* Line breaks other than newlines would be read back as newlines: U+0085, U+2028, U+2029. */
static bool has_odd_breaks(struct str s)
{
	return str_chr(s, '\r') >= 0 || str_find(s, STR("\xc2\x85")) >= 0 ||
	       str_find(s, STR("\xe2\x80\xa8")) >= 0 || str_find(s, STR("\xe2\x80\xa9")) >= 0;
}

/* The emitter falls back to quotes where the content does not allow the style. */
static yaml_scalar_style_t str_style(struct str s)
{
	if (has_odd_breaks(s))
		return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	if (str_chr(s, '\n') >= 0)
		return YAML_LITERAL_SCALAR_STYLE;
	return yaml_needs_quotes(s) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE;
}

static bool emit_str(struct printer *p, struct str s)
{
	return emit_scalar(p, s, str_style(s));
}

/*
 * A double that Go's JSON shows without point and exponent is an integer to
 * its YAML, if it fits one; others take the general format.
 */
static struct str double_text(double v, char out[static JSON_NUMBER_MAX])
{
	struct str s = str_of(out, json_number_print(v, out));
	struct json_digits digits;
	uint64_t magnitude;

	/* "-0" would be read as an integer, which has no negative zero. */
	if (str_eq(s, STR("-0")))
		return STR("-0.0");
	if (str_to_u64(s.p[0] == '-' ? str_skip(s, 1) : s, &magnitude) &&
	    (s.p[0] != '-' || magnitude <= (uint64_t)INT64_MAX + 1))
		return s;
	json_digits_f64(v, &digits);
	return str_of(out, json_digits_print_general(&digits, out));
}

static bool emit_number(struct printer *p, const struct json *v)
{
	char text[JSON_NUMBER_MAX];
	struct str s = STR_NULL;

	if (v->type == JSON_DOUBLE)
		s = double_text(v->f64, text);
	else if (v->type == JSON_INT)
		s = str_of(text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)v->i64));
	else
		s = str_of(text, (size_t)snprintf(text, sizeof(text), "%llu",
						  (unsigned long long)v->u64));
	return emit_scalar(p, s, YAML_PLAIN_SCALAR_STYLE);
}

static bool emit_container(struct printer *p, const struct json *v)
{
	yaml_event_t event;
	int ok;

	push_frame(p, v);
	if (v->type == JSON_OBJECT)
		ok = yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
							 YAML_BLOCK_MAPPING_STYLE);
	else
		ok = yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
							  YAML_BLOCK_SEQUENCE_STYLE);
	return emit(p, ok, &event);
}

static bool emit_value(struct printer *p, const struct json *v)
{
	switch (v->type) {
	case JSON_NULL:
		return emit_scalar(p, STR("null"), YAML_PLAIN_SCALAR_STYLE);
	case JSON_BOOL:
		return emit_scalar(p, v->boolean ? STR("true") : STR("false"),
				   YAML_PLAIN_SCALAR_STYLE);
	case JSON_STRING:
		return emit_str(p, json_str(v));
	case JSON_ARRAY:
	case JSON_OBJECT:
		return emit_container(p, v);
	default:
		return emit_number(p, v);
	}
}

/* The next child of the innermost container, or the end of that. */
static bool emit_next(struct printer *p)
{
	struct frame *f = &p->open.v[p->open.n - 1];
	const struct json *v;
	yaml_event_t event;
	int ok;

	if (f->at < f->n) {
		v = f->children[f->at++];
		if (f->object && !emit_str(p, json_key(v)))
			return false;
		return emit_value(p, v);
	}
	ok = f->object ? yaml_mapping_end_event_initialize(&event)
		       : yaml_sequence_end_event_initialize(&event);
	pop_frame(p);
	return emit(p, ok, &event);
}

static bool emit_tree(struct printer *p, const struct json *v)
{
	bool ok = emit_value(p, v);

	while (ok && p->open.n)
		ok = emit_next(p);
	return ok;
}

static bool emit_document(struct printer *p, const struct json *v)
{
	yaml_event_t event;
	int ok = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);

	if (!emit(p, ok, &event))
		return false;
	ok = yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
	if (!emit(p, ok, &event) || !emit_tree(p, v))
		return false;
	ok = yaml_document_end_event_initialize(&event, 1);
	if (!emit(p, ok, &event))
		return false;
	/* As upstream does, lest the end of an open-ended scalar be marked by "...". */
	p->emitter.open_ended = 0;
	ok = yaml_stream_end_event_initialize(&event);
	return emit(p, ok, &event);
}

int yaml_print(struct buf *b, const struct json *v, const struct yaml_style *style,
	       struct error *err)
{
	struct printer p = { .sort = style && style->sort };
	bool ok;

	if (!yaml_emitter_initialize(&p.emitter))
		abort();
	yaml_emitter_set_output(&p.emitter, write_out, b);
	yaml_emitter_set_unicode(&p.emitter, 1);
	yaml_emitter_set_width(&p.emitter, -1);
	vec_init(&p.open, SIZE_MAX);
	if (style && style->separate)
		(void)buf_addz(b, "---\n");
	ok = emit_document(&p, v);
	while (p.open.n)
		pop_frame(&p);
	vec_release(&p.open);
	yaml_emitter_delete(&p.emitter);
	if (b->overflow)
		return error_set(err, ERR_TOO_LARGE, "the YAML text is longer than %zu bytes",
				 b->max);
	/* Beside the lack of memory, only text that is not UTF-8 stops the emitter. */
	return ok ? 0
		  : error_set(err, ERR_INTERNAL,
			      "a text is not UTF-8, so it cannot be written as YAML");
}

/*
 * The tree is walked with a list of the containers above the current one, so
 * depth costs no stack. Every piece asks the buffer for its exact length once
 * and is then stored raw; a document that just fits the buffer's limit fits.
 *
 * A string is copied and examined in the same pass, sixteen bytes at a time.
 * Only when that finds something to escape is it written again, run by run.
 */
#include "base/json/json.h"

#include "base/core/vec.h"
#include "base/json/building.h"
#include "base/json/scan.h"
#include "base/text/number.h"

struct printer {
	struct buf *b;
	unsigned indent;
	size_t above; /* levels that were open before */
	bool html;
	VEC(const struct json *) open; /* containers being printed, outermost first */
};

/* Where the next n bytes go; NULL at the buffer's limit. */
static inline char *room(struct buf *b, size_t n)
{
	if (UNLIKELY(n > b->cap - b->n || !b->p) && buf_reserve(b, n) < 0)
		return NULL;
	return b->p + b->n;
}

static inline bool put_byte(struct buf *b, char c)
{
	char *out = room(b, 1);

	if (UNLIKELY(!out))
		return false;
	*out = c;
	b->n++;
	return true;
}

/* The length of the character at p that is unsafe in HTML (or JavaScript: U+2028, U+2029), or 0. */
static size_t html_length(const char *p, const char *end)
{
	if (*p == '<' || *p == '>' || *p == '&')
		return 1;
	if (end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && ((unsigned char)p[2] & ~1) == 0xa8)
		return 3;
	return 0;
}

static const char *scan_html(const char *p, const char *end)
{
	while (p < end && !json_scan_escaped(*p) && html_length(p, end) == 0)
		p++;
	return p;
}

/* The letter of an escape such as "\n"; 0 for characters that have none. */
static const char escape_letters[256] = {
	['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
	['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't',
};

/* Writes the escape for the byte or sequence at p; returns what follows it. */
static const char *put_escape(struct buf *b, const char *p, const char *end)
{
	unsigned char c = (unsigned char)*p;

	if (escape_letters[c])
		(void)buf_add(b, (char[]){ '\\', escape_letters[c] }, 2);
	else if (c < 0x80)
		(void)buf_printf(b, "\\u%04x", c);
	else
		(void)buf_printf(b, "\\u20%02x", (unsigned char)p[2] - 0x80);
	return p + (c < 0x80 ? 1 : html_length(p, end));
}

static __attribute__((noinline)) bool put_escaped(struct buf *b, struct str s, bool html)
{
	const char *p = s.p, *end = s.p + s.n, *run;

	(void)buf_addc(b, '"');
	while (p < end) {
		run = html ? scan_html(p, end) : json_scan_plain(p, end);
		(void)buf_add(b, p, (size_t)(run - p));
		p = run < end ? put_escape(b, run, end) : end;
	}
	(void)buf_addc(b, '"');
	return !b->overflow;
}

static ALWAYS_INLINE bool put_str(struct buf *b, const char *s, size_t n, bool html)
{
	char *out;

	if (UNLIKELY(html))
		return put_escaped(b, str_of(s, n), true);
	out = room(b, n + 2);
	if (UNLIKELY(!out))
		return false;
	if (UNLIKELY(!json_scan_copy(out + 1, s, n)))
		return put_escaped(b, str_of(s, n), false);
	out[0] = '"';
	out[n + 1] = '"';
	b->n += n + 2;
	return true;
}

static size_t u64_length(uint64_t v)
{
	size_t n = 1;

	for (; v >= 10; v /= 10)
		n++;
	return n;
}

static bool put_u64(struct buf *b, bool negative, uint64_t v)
{
	size_t n = negative + u64_length(v);
	char *out = room(b, n);

	if (UNLIKELY(!out))
		return false;
	b->n += n;
	if (negative)
		out[0] = '-';
	do {
		out[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return true;
}

static bool put_double(struct buf *b, double v)
{
	char text[JSON_NUMBER_MAX];
	size_t n = json_number_print(v, text);

	return buf_add(b, text, n) == 0;
}

static bool put_scalar(struct printer *p, const struct json *v)
{
	switch (v->type) {
	case JSON_STRING:
		return put_str(p->b, v->text, v->n, p->html);
	case JSON_INT:
		return put_u64(p->b, v->i64 < 0, v->i64 < 0 ? 0 - v->u64 : v->u64);
	case JSON_UINT:
		return put_u64(p->b, false, v->u64);
	case JSON_DOUBLE:
		return put_double(p->b, v->f64);
	case JSON_BOOL:
		return buf_add_str(p->b, v->boolean ? STR("true") : STR("false")) == 0;
	default:
		return buf_add_str(p->b, STR("null")) == 0;
	}
}

static bool put_line(struct printer *p)
{
	size_t n = (p->above + p->open.n) * p->indent + 1;
	char *out = room(p->b, n);

	if (!out)
		return false;
	out[0] = '\n';
	memset(out + 1, ' ', n - 1);
	p->b->n += n;
	return true;
}

static inline bool put_key(struct printer *p, const struct json *v)
{
	if (!put_str(p->b, v->key, v->key_n, p->html))
		return false;
	return put_byte(p->b, ':') && (p->indent == 0 || put_byte(p->b, ' '));
}

/* Writes v, or only opens it if it is a container with content. */
static inline bool put_node(struct printer *p, const struct json *v)
{
	bool object = v->type == JSON_OBJECT;

	if (!json_is_container(v))
		return put_scalar(p, v);
	if (v->n == 0)
		return buf_add_str(p->b, object ? STR("{}") : STR("[]")) == 0;
	return put_byte(p->b, object ? '{' : '[') && vec_push(&p->open, v);
}

/* Closes the containers whose last child is `v`, and so on; returns the next node to print. */
static inline const struct json *print_after_node(struct printer *p, const struct json *v)
{
	while (p->open.n && !v->next) {
		v = p->open.v[--p->open.n];
		if (p->indent && !put_line(p))
			return NULL;
		if (!put_byte(p->b, v->type == JSON_OBJECT ? '}' : ']'))
			return NULL;
	}
	if (p->open.n == 0)
		return NULL;
	return put_byte(p->b, ',') ? v->next : NULL;
}

static void json_print_tree(struct printer *p, const struct json *v)
{
	size_t depth;

	while (v) {
		depth = p->open.n;
		if (depth && p->indent && !put_line(p))
			return;
		if (depth && p->open.v[depth - 1]->type == JSON_OBJECT && !put_key(p, v))
			return;
		if (!put_node(p, v))
			return;
		v = p->open.n > depth ? v->first : print_after_node(p, v);
	}
}

int json_print_below(struct buf *b, const struct json *v, const struct json_style *style,
		     size_t depth)
{
	struct printer p = { .b = b, .above = depth };

	if (style) {
		p.indent = style->indent;
		p.html = style->html;
	}
	vec_init(&p.open, SIZE_MAX);
	json_print_tree(&p, v);
	vec_release(&p.open);
	if (b->p)
		b->p[b->n] = '\0';
	return b->overflow ? -ERR_TOO_LARGE : 0;
}

int json_print(struct buf *b, const struct json *v, const struct json_style *style)
{
	return json_print_below(b, v, style, 0);
}

int json_print_str(struct buf *b, struct str s, const struct json_style *style)
{
	(void)put_str(b, s.p ? s.p : "", s.n, style && style->html);
	if (b->p)
		b->p[b->n] = '\0';
	return b->overflow ? -ERR_TOO_LARGE : 0;
}

/* --- measuring -------------------------------------------------------------------- */

struct measure {
	VEC(const struct json *) open; /* containers whose children are not counted yet */
	size_t n; /* bytes */
};

static size_t str_length(const char *p, size_t size)
{
	const char *end = p + size;
	size_t n = size + 2;

	if (LIKELY(json_scan_clean(p, size)))
		return n;
	for (p = json_scan_plain(p, end); p < end; p = json_scan_plain(p + 1, end))
		n += escape_letters[(unsigned char)*p] ? 1 : strlen("u0000");
	return n;
}

/* Apart, so that only doubles pay for the text on the stack. */
static __attribute__((noinline)) size_t double_length(double v)
{
	char text[JSON_NUMBER_MAX];

	return json_number_print(v, text);
}

static size_t scalar_length(const struct json *v)
{
	switch (v->type) {
	case JSON_STRING:
		return str_length(v->text, v->n);
	case JSON_INT:
		return v->i64 < 0 ? 1 + u64_length(0 - v->u64) : u64_length(v->u64);
	case JSON_UINT:
		return u64_length(v->u64);
	case JSON_DOUBLE:
		return double_length(v->f64);
	case JSON_BOOL:
		return v->boolean ? strlen("true") : strlen("false");
	default:
		return strlen("null");
	}
}

static void measure_node(struct measure *m, const struct json *v)
{
	if (!json_is_container(v)) {
		m->n += scalar_length(v);
		return;
	}
	m->n += 2 + (v->n ? v->n - 1 : 0); /* brackets and commas */
	if (v->n)
		(void)vec_push(&m->open, v);
}

bool json_fits(const struct json *v, size_t max)
{
	struct measure m = { .n = 0 };

	vec_init(&m.open, SIZE_MAX);
	measure_node(&m, v);
	while (m.open.n && m.n <= max) {
		const struct json *parent = m.open.v[--m.open.n];

		JSON_FOREACH (child, parent) {
			if (parent->type == JSON_OBJECT)
				m.n += str_length(child->key, child->key_n) + 1;
			measure_node(&m, child);
		}
	}
	vec_release(&m.open);
	return m.n <= max;
}

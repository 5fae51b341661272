/*
 * One pass over the text, no recursion. Each step of the main loop is at a place where a child of
 * the innermost open container is expected. It reads the child, and moves to the next such place:
 * after a comma, or inside a container just opened. Containers are linked to their parents while
 * open (see building.h), so the tree is the stack.
 *
 * Steps take the position and return the next one, or NULL after recording a failure, so that the
 * position stays in a register. Lines and columns are counted only for an error. Strings are
 * scanned with vector compares; rare cases (escapes, non-ASCII bytes) are handled afterwards in one
 * piece.
 */
#include "base/json/json.h"

#include "base/core/limits.h"
#include "base/json/building.h"
#include "base/json/scan.h"
#include "base/text/number.h"

struct parser {
	const char *end;
	struct json *open; /* innermost container being filled */
	struct json *node, *node_end; /* nodes ready for use */
	size_t depth, depth_max, duplicates_max;
	bool keep_repeated;
	struct json *root;
	struct arena *arena;
	struct str text;
	struct json_report *report;
	struct error *err;
	int r; /* result, once a step has returned NULL */
};

static void report_position(struct parser *p, const char *at)
{
	struct json_report *r = p->report;
	const char *line = p->text.p, *newline;

	r->line = 1;
	while (line < at && (newline = memchr(line, '\n', (size_t)(at - line)))) {
		line = newline + 1;
		r->line++;
	}
	r->offset = (size_t)(at - p->text.p);
	r->column = (size_t)(at - line) + 1;
}

static void describe_byte(const struct parser *p, const char *at, char out[static 16])
{
	if (at >= p->end)
		(void)snprintf(out, 16, "end of input");
	else if (*at > ' ' && *at < 0x7f)
		(void)snprintf(out, 16, "'%c'", *at);
	else
		(void)snprintf(out, 16, "byte 0x%02x", (unsigned char)*at);
}

/* `what` describes the byte expected at `at`, or the error there. */
static __attribute__((cold, noinline)) const char *fail(struct parser *p, const char *at,
							const char *what)
{
	const struct json_report *r = p->report;
	char found[16];

	report_position(p, at);
	describe_byte(p, at, found);
	p->r = error_set(p->err, ERR_BAD_REQUEST, "line %zu, column %zu (byte %zu): %s, found %s",
			 r->line, r->column, r->offset, what, found);
	return NULL;
}

static __attribute__((cold, noinline)) const char *fail_memory(struct parser *p)
{
	p->r = error_set(p->err, ERR_TOO_LARGE, "the document needs more than %zu bytes of memory",
			 p->arena->max);
	return NULL;
}

/* Nodes are allocated in strips, sized by the rest of the text. */
static __attribute__((noinline)) bool refill(struct parser *p, const char *at)
{
	size_t count = MIN((size_t)(p->end - at) / 16 + 1, (size_t)128);

	p->node = arena_try_alloc(p->arena, count * sizeof(struct json));
	p->node_end = p->node ? p->node + count : NULL;
	return p->node != NULL;
}

static inline struct json *take_node(struct parser *p, const char *at)
{
	struct json *v;

	if (UNLIKELY(p->node == p->node_end) && !refill(p, at)) {
		(void)fail_memory(p);
		return NULL;
	}
	v = p->node++;
	v->next = NULL;
	v->key = NULL;
	v->key_n = 0;
	return v;
}

/* Indented text has a newline and then blanks, eight of which fit a register. */
static const char *skip_blanks(const char *at, const char *end)
{
	const uint64_t blanks = UINT64_C(0x2020202020202020);
	uint64_t word;

	for (; end - at >= (ptrdiff_t)sizeof(word); at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		word ^= blanks;
		if (word)
			return at + __builtin_ctzll(word) / 8;
	}
	return at;
}

static __attribute__((noinline)) const char *skip_spaces(const char *at, const char *end)
{
	while (at < end && json_is_space(*at))
		at = skip_blanks(at + 1, end);
	return at;
}

static inline const char *parse_skip(const char *at, const char *end)
{
	if (LIKELY(at < end && (unsigned char)*at > ' '))
		return at;
	return skip_spaces(at, end);
}

/* Decodes the text between two quotes, which does not end within an escape. */
static bool parse_unescape(struct parser *p, struct str raw, struct str *ret)
{
	char *out = arena_try_alloc(p->arena, raw.n);
	const char *wrong, *why;

	if (!out) {
		(void)fail_memory(p);
		return false;
	}
	wrong = json_unescape(raw, out, &ret->n, &why);
	if (wrong) {
		(void)fail(p, wrong, why);
		return false;
	}
	ret->p = out;
	return true;
}

/* A string that does not end at the first byte of interest, `at`. */
static __attribute__((noinline)) const char *string_slow(struct parser *p, const char *start,
							 const char *at, struct str *ret)
{
	bool escaped = false, wide = false;
	struct str raw;

	while (at < p->end && *at != '"') {
		if (*at == '\\') {
			escaped = true;
			at += MIN(p->end - at, (ptrdiff_t)2);
		} else if ((unsigned char)*at >= 0x80) {
			wide = true;
			at++;
		} else {
			return fail(p, at, "a control character in a string must be escaped");
		}
		at = at < p->end ? json_scan_text(at, p->end) : at;
	}
	if (at >= p->end)
		return fail(p, p->end, "a string is not closed");
	raw = str_of(start, (size_t)(at - start));
	if (wide && !str_is_utf8(raw))
		return fail(p, json_bad_utf8(raw), "a string is not valid UTF-8");
	*ret = raw;
	if (escaped && !parse_unescape(p, raw, ret))
		return NULL;
	return at + 1;
}

/* at: after the opening quote. */
static inline const char *string(struct parser *p, const char *at, struct str *ret)
{
	const char *stop = json_scan_text(at, p->end);

	if (LIKELY(stop < p->end && *stop == '"')) {
		*ret = str_of(at, (size_t)(stop - at));
		return stop + 1;
	}
	return string_slow(p, at, stop, ret);
}

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && str_is_digit(*at))
		at++;
	return at;
}

/* at: after the integer part of the number that begins at `start`. */
static __attribute__((noinline)) const char *number_double(struct parser *p, const char *start,
							   const char *at, struct json *v)
{
	const char *digits;

	if (at < p->end && *at == '.') {
		digits = at + 1;
		at = skip_digits(digits, p->end);
		if (at == digits)
			return fail(p, at, "expected a digit after the decimal point");
	}
	if (at < p->end && (*at | 32) == 'e') {
		digits = at + 1;
		if (digits < p->end && (*digits == '+' || *digits == '-'))
			digits++;
		at = skip_digits(digits, p->end);
		if (at == digits)
			return fail(p, at, "expected a digit in the exponent");
	}
	v->type = JSON_DOUBLE;
	if (!json_number_parse(str_of(start, (size_t)(at - start)), &v->f64))
		return fail(p, start, "expected a number in the range of a 64-bit float");
	return at;
}

static void integer(struct json *v, bool negative, uint64_t m)
{
	v->type = !negative && m > INT64_MAX ? JSON_UINT : JSON_INT;
	v->u64 = negative ? 0 - m : m;
}

static const char *parse_number(struct parser *p, const char *start, struct json *v)
{
	const char *at = start, *digits;
	bool negative = *at == '-';
	uint64_t m = 0;

	digits = at += negative;
	for (; at < p->end && str_is_digit(*at); at++)
		m = m * 10 + (uint64_t)(*at - '0');
	if (UNLIKELY(at == digits))
		return fail(p, at, negative ? "expected a digit after '-'" : "expected a value");
	if (*digits == '0' && at - digits > 1)
		return fail(p, digits + 1, "a number may not begin with zero");
	if (UNLIKELY(at < p->end && (*at == '.' || (*at | 32) == 'e')))
		return number_double(p, start, at, v);
	/* Nineteen digits always fit; twenty are few enough to be looked at again. */
	if (UNLIKELY(at - digits > 19) && !str_to_u64(str_of(digits, (size_t)(at - digits)), &m))
		return number_double(p, start, at, v);
	if (UNLIKELY(negative && (m == 0 || m > (uint64_t)INT64_MAX + 1)))
		return number_double(p, start, at, v);
	integer(v, negative, m);
	return at;
}

static const char *literal(struct parser *p, const char *at, struct json *v)
{
	size_t left = (size_t)(p->end - at);

	v->type = JSON_BOOL;
	if (left >= 4 && memcmp(at, "true", 4) == 0) {
		v->boolean = true;
		return at + 4;
	}
	if (left >= 5 && memcmp(at, "false", 5) == 0) {
		v->boolean = false;
		return at + 5;
	}
	v->type = JSON_NULL;
	if (left >= 4 && memcmp(at, "null", 4) == 0)
		return at + 4;
	return fail(p, at, "expected one of true, false and null");
}

/* at: the opening bracket. An empty container is complete at once. */
static const char *container(struct parser *p, const char *at, struct json *v)
{
	char close = *at == '{' ? '}' : ']';

	v->type = *at == '{' ? JSON_OBJECT : JSON_ARRAY;
	v->n = 0;
	v->first = v->last = NULL;
	if (UNLIKELY(p->depth >= p->depth_max))
		return fail(p, at, "arrays and objects are nested too deeply");
	at = parse_skip(at + 1, p->end);
	if (at < p->end && *at == close)
		return at + 1;
	p->depth++;
	v->next = p->open;
	p->open = v;
	return at;
}

/* Reads the value at `at`, or opens it if it is a container with content. */
static inline const char *value(struct parser *p, const char *at, struct json *v)
{
	struct str s;

	if (UNLIKELY(at == p->end))
		return fail(p, at, "expected a value");
	switch (*at) {
	case '"':
		at = string(p, at + 1, &s);
		v->type = JSON_STRING;
		v->text = s.p;
		v->n = (uint32_t)s.n;
		return at;
	case '{':
	case '[':
		return container(p, at, v);
	case 't':
	case 'f':
	case 'n':
		return literal(p, at, v);
	default:
		return parse_number(p, at, v);
	}
}

/* Reads a name and its colon; returns the position of the value. */
static inline const char *name(struct parser *p, const char *at, struct json *v)
{
	struct str s;

	if (UNLIKELY(at == p->end || *at != '"'))
		return fail(p, at, "expected a name in double quotes");
	at = string(p, at + 1, &s);
	if (UNLIKELY(!at))
		return NULL;
	v->key = s.p;
	v->key_n = (uint32_t)s.n;
	at = parse_skip(at, p->end);
	if (UNLIKELY(at == p->end || *at != ':'))
		return fail(p, at, "expected ':' after a name");
	return parse_skip(at + 1, p->end);
}

static inline bool close_container(struct parser *p)
{
	struct json *v = p->open;

	if (v->type == JSON_OBJECT && !p->keep_repeated &&
	    !json_unique(p->arena, v, p->duplicates_max, p->report)) {
		(void)fail_memory(p);
		return false;
	}
	p->open = v->next;
	v->next = NULL;
	p->depth--;
	return true;
}

/* at: after a value. Closes containers that end here; returns the position of the next child. */
static inline const char *after_value(struct parser *p, const char *at)
{
	while (p->open) {
		bool object = p->open->type == JSON_OBJECT;

		at = parse_skip(at, p->end);
		if (at < p->end && *at == ',')
			return parse_skip(at + 1, p->end);
		if (UNLIKELY(at == p->end || *at != (object ? '}' : ']')))
			return fail(p, at,
				    object ? "expected ',' or '}' after a member"
					   : "expected ',' or ']' after an element");
		if (UNLIKELY(!close_container(p)))
			return NULL;
		at++;
	}
	return at;
}

/* at: where a child of the open container is expected. */
static inline const char *child(struct parser *p, const char *at)
{
	struct json *parent = p->open, *v = take_node(p, at);

	if (UNLIKELY(!v))
		return NULL;
	if (parent->type == JSON_OBJECT)
		at = name(p, at, v);
	json_link(parent, v);
	if (LIKELY(at))
		at = value(p, at, v);
	if (UNLIKELY(!at) || p->open != parent)
		return at;
	return after_value(p, at);
}

static int document(struct parser *p)
{
	const char *at = parse_skip(p->text.p, p->end);

	p->root = take_node(p, at);
	if (!p->root)
		return p->r;
	at = value(p, at, p->root);
	while (at && p->open)
		at = child(p, at);
	if (!at)
		return p->r;
	at = parse_skip(at, p->end);
	if (at != p->end)
		(void)fail(p, at, "expected the end of the document");
	return p->r;
}

int json_parse(struct arena *a, struct str text, const struct json_options *options,
	       struct json **ret_value, struct error *err)
{
	static const struct json_options defaults = { 0 };
	const struct json_options *o = options ? options : &defaults;
	struct json_report unused, *report = o->report ? o->report : &unused;
	size_t size_max = o->size_max ? MIN(o->size_max, (size_t)UINT32_MAX) : UINT32_MAX;
	struct parser p = {
		.arena = a,
		.text = text.p ? text : STR(""),
		.depth_max = o->depth_max ? o->depth_max : JSON_DEPTH_MAX,
		.duplicates_max = o->duplicates_max ? o->duplicates_max : JSON_DUPLICATES_MAX,
		.keep_repeated = o->keep_repeated,
		.report = report,
		.err = err,
	};
	int r;

	*report = (struct json_report){ 0 };
	if (text.n > size_max)
		return error_set(err, ERR_TOO_LARGE, "the document has %zu bytes, limit %zu",
				 text.n, size_max);
	p.end = p.text.p + p.text.n;
	r = document(&p);
	if (r < 0)
		return r;
	*ret_value = p.root;
	return 0;
}

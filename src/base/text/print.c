/*
 * Both quotings walk the text one character at a time and differ only in what
 * they do with it, so that is a function parameter. A character is appended in
 * one piece or not at all, which keeps a cut text valid.
 */
#include "base/text/print.h"

#include <math.h>

#include "base/text/number.h"

/* Appends one character: `code` from the bytes `s`, or -1 when they are not UTF-8. */
typedef int print_char_fn(struct buf *b, struct str s, int32_t code);

struct range {
	int32_t first, last;
};

/* Rejected by unicode.IsPrint above U+007E: spaces, formats, private use, noncharacters. */
static const struct range unprintable[] = {
	{ 0x7f, 0xa0 },        { 0xad, 0xad },       { 0x600, 0x605 },     { 0x61c, 0x61c },
	{ 0x6dd, 0x6dd },      { 0x70f, 0x70f },     { 0x8e2, 0x8e2 },     { 0x1680, 0x1680 },
	{ 0x180e, 0x180e },    { 0x2000, 0x200f },   { 0x2028, 0x202f },   { 0x205f, 0x206f },
	{ 0x3000, 0x3000 },    { 0xe000, 0xf8ff },   { 0xfdd0, 0xfdef },   { 0xfeff, 0xfeff },
	{ 0xfff0, 0xfffb },    { 0xfffe, 0xffff },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd },
	{ 0x13430, 0x1343f },  { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe00ff },
	{ 0xf0000, 0x10ffff },
};

static bool is_printable(int32_t code)
{
	if (code < 0x7f)
		return code >= ' ';
	for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++)
		if (code <= unprintable[i].last)
			return code < unprintable[i].first;
	return true;
}

/* Size and code of the first character of s (s.n > 0); 1 and -1 if it is invalid. */
static size_t print_decode(struct str s, int32_t *ret_code)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t n = p[0] < 0xc0 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	int32_t code = n == 1 ? p[0] : p[0] & (0x7f >> n);

	*ret_code = -1;
	if (n > s.n || !str_is_utf8(str_of(s.p, n)))
		return 1;
	for (size_t i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3f);
	*ret_code = code;
	return n;
}

static int text_print_text(struct buf *b, struct str s, print_char_fn *print_char)
{
	int r = buf_addc(b, '"');
	int32_t code;
	size_t n;

	for (; s.n > 0 && r == 0; s = str_skip(s, n)) {
		n = print_decode(s, &code);
		r = print_char(b, str_of(s.p, n), code);
	}
	return r < 0 ? r : buf_addc(b, '"');
}

/* The letter behind the backslash, or 0. */
static char short_escape(int32_t code)
{
	static const char letters[] = { '\a', 'a',  '\b', 'b',  '\f', 'f', '\n', 'n',  '\r',
					'r',  '\t', 't',  '\v', 'v',  '"', '"',  '\\', '\\' };

	for (size_t i = 0; i < sizeof(letters); i += 2)
		if (code == letters[i])
			return letters[i + 1];
	return 0;
}

static int print_quoted_char(struct buf *b, struct str s, int32_t code)
{
	if (code < 0)
		return buf_printf(b, "\\x%02x", (unsigned char)s.p[0]);
	if (short_escape(code))
		return buf_add(b, (char[]){ '\\', short_escape(code) }, 2);
	if (is_printable(code))
		return buf_add_str(b, s);
	if (code < 0x80)
		return buf_printf(b, "\\x%02x", (unsigned)code);
	return buf_printf(b, code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

static int print_json_char(struct buf *b, struct str s, int32_t code)
{
	if (code < 0)
		return buf_addz(b, "\\ufffd");
	if (code == '\n' || code == '\t' || code == '"' || code == '\\')
		return buf_add(b, (char[]){ '\\', short_escape(code) }, 2);
	/* DEL and the C1 controls are legal in JSON, but not good for a terminal. */
	if (code < ' ' || (code >= 0x7f && code < 0xa0))
		return buf_printf(b, "\\u%04x", (unsigned)code);
	return buf_add_str(b, s);
}

int print_quoted(struct buf *b, struct str s)
{
	return text_print_text(b, s, print_quoted_char);
}

int print_json(struct buf *b, struct str s)
{
	return text_print_text(b, s, print_json_char);
}

int print_utf8(struct buf *b, struct str s)
{
	int32_t code;
	size_t n;
	int r = 0;

	if (str_is_utf8(s))
		return buf_add_str(b, s);
	for (; s.n > 0 && r == 0; s = str_skip(s, n)) {
		n = print_decode(s, &code);
		r = code < 0 ? buf_addz(b, "\xef\xbf\xbd") : buf_add(b, s.p, n);
	}
	return r;
}

int print_f64(struct buf *b, double v)
{
	char text[JSON_NUMBER_MAX];
	struct json_digits digits;

	if (isnan(v))
		return buf_addz(b, "NaN");
	if (isinf(v))
		return buf_addz(b, v > 0 ? "+Inf" : "-Inf");
	json_digits_f64(v, &digits);
	return buf_add(b, text, json_digits_print_general(&digits, text));
}

static int add_zeros(struct buf *b, int n)
{
	int r = 0;

	while (r == 0 && n-- > 0)
		r = buf_addc(b, '0');
	return r;
}

int print_f64_fixed(struct buf *b, double v)
{
	struct json_digits d;
	int whole;

	json_digits_f64(v, &d);
	whole = MIN(MAX(d.point, 0), d.count);
	if (d.negative)
		(void)buf_addc(b, '-');
	if (d.point <= 0)
		(void)buf_addc(b, '0');
	(void)buf_add(b, d.digits, (size_t)whole);
	(void)add_zeros(b, d.point - d.count);
	if (whole < d.count) {
		(void)buf_addc(b, '.');
		(void)add_zeros(b, -d.point);
		(void)buf_add(b, d.digits + whole, (size_t)(d.count - whole));
	}
	return b->overflow ? -ERR_TOO_LARGE : 0;
}

bool print_is_clean(struct str s)
{
	int32_t code;
	size_t n;

	for (; s.n > 0; s = str_skip(s, n)) {
		n = print_decode(s, &code);
		if (code < 0 || !is_printable(code))
			return false;
	}
	return true;
}

/*
 * Printable are Unicode's letters, marks, numbers, punctuation and symbols, and the space. The
 * table lists the unprintable characters that occur in practice: controls, spaces, invisible
 * formatting, private use. Unassigned code points count as printable.
 */
#include "base/text/quote.h"

static const struct {
	uint32_t first, last;
} unprintable[] = {
	{ 0x0, 0x1f },      { 0x7f, 0xa0 },       { 0xad, 0xad },        { 0x600, 0x605 },
	{ 0x61c, 0x61c },   { 0x6dd, 0x6dd },     { 0x70f, 0x70f },      { 0x1680, 0x1680 },
	{ 0x180e, 0x180e }, { 0x2000, 0x200f },   { 0x2028, 0x202f },    { 0x205f, 0x206f },
	{ 0x3000, 0x3000 }, { 0xd800, 0xf8ff },   { 0xfeff, 0xfeff },    { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff }, { 0xe0000, 0xe00ff }, { 0xe01f0, 0x10ffff },
};

static bool is_printable(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(unprintable); i++) {
		if (c >= unprintable[i].first && c <= unprintable[i].last)
			return false;
	}
	return true;
}

static void print_escape(uint32_t c, struct buf *out)
{
	static const char named[] = "abtnvfr"; /* from 7 on */

	if (c >= 7 && c <= 13)
		(void)buf_printf(out, "\\%c", named[c - 7]);
	else if (c < 0x80)
		(void)buf_printf(out, "\\x%02x", c);
	else if (c < 0x10000)
		(void)buf_printf(out, "\\u%04x", c);
	else
		(void)buf_printf(out, "\\U%08x", c);
}

static size_t print_one(struct str s, struct buf *out)
{
	size_t n = 0;
	uint32_t c = str_rune(s, &n);

	if (c == 0xfffd && n == 1)
		(void)buf_printf(out, "\\x%02x", (unsigned char)s.p[0]);
	else if (c == '"' || c == '\\')
		(void)buf_printf(out, "\\%c", (char)c);
	else if (is_printable(c))
		(void)buf_add(out, s.p, n);
	else
		print_escape(c, out);
	return n;
}

void quote_print(struct str s, struct buf *out)
{
	(void)buf_addc(out, '"');
	while (s.n)
		s = str_skip(s, print_one(s, out));
	(void)buf_addc(out, '"');
}

const char *quote_text(struct str s, char out[static QUOTE_SIZE])
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(QUOTE_SIZE - 2);

	(void)buf_addc(&b, '"');
	while (s.n && !b.overflow)
		s = str_skip(s, print_one(s, &b));
	memcpy(out, b.p, b.n);
	memcpy(out + b.n, "\"", 2);
	return out;
}

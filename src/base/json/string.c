/*
 * The rare cases of strings: escapes, and text that is not UTF-8. The parser finds the end of a
 * string first, so everything here works on a whole one.
 */
#include "base/json/building.h"

/* The character of a one-letter escape; zero if there is no such escape. */
static const char escapes[256] = {
	['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static bool hex4(const char *p, const char *end, unsigned *ret_code)
{
	unsigned code = 0;

	if (end - p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = str_hex_digit(p[i]);

		if (digit < 0)
			return false;
		code = code * 16 + (unsigned)digit;
	}
	*ret_code = code;
	return true;
}

static size_t put_utf8(unsigned code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/*
 * Decodes the escape whose hexadecimal digits begin at *at, and advances *at and *out. Returns
 * NULL, or the error at *at. A character beyond the first 65536 is two such escapes.
 */
static const char *unescape_unicode(const char **at, const char *end, char **out)
{
	const char *p = *at;
	unsigned code, low;

	if (!hex4(p, end, &code))
		return "expected four hexadecimal digits after \\u";
	if (code >= 0xdc00 && code <= 0xdfff)
		return "the low half of a surrogate pair has no high half";
	*at = p += 4;
	if (code >= 0xd800 && code <= 0xdbff) {
		if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !hex4(p + 2, end, &low) ||
		    low < 0xdc00 || low > 0xdfff)
			return "expected the low half of a surrogate pair";
		*at = p + 6;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	*out += put_utf8(code, *out);
	return NULL;
}

const char *json_unescape(struct str raw, char *out, size_t *ret_n, const char **ret_why)
{
	const char *at = raw.p, *end = raw.p + raw.n, *run;
	char *start = out;

	while (at < end) {
		run = memchr(at, '\\', (size_t)(end - at));
		run = run ? run : end;
		memcpy(out, at, (size_t)(run - at));
		out += run - at;
		if (run == end)
			break;
		at = run + 2;
		if (escapes[(unsigned char)run[1]]) {
			*out++ = escapes[(unsigned char)run[1]];
			continue;
		}
		*ret_why = "expected an escape, one of \"\\/bfnrtu";
		if (run[1] != 'u')
			return run + 1;
		*ret_why = unescape_unicode(&at, end, &out);
		if (*ret_why)
			return at;
	}
	*ret_n = (size_t)(out - start);
	return NULL;
}

const char *json_bad_utf8(struct str s)
{
	size_t at = 0, n;

	while (at < s.n) {
		n = 1;
		while (n <= 4 && n <= s.n - at && !str_is_utf8(str_of(s.p + at, n)))
			n++;
		if (n > 4 || n > s.n - at)
			break;
		at += n;
	}
	return s.p + at;
}

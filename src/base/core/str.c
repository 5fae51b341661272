/*
 * String views. Nothing here allocates except str_dup.
 */
#include "base/core/str.h"

#include "base/core/mem.h"

int str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int r = n ? memcmp(a.p, b.p, n) : 0;

	if (r != 0)
		return r;
	return (a.n > b.n) - (a.n < b.n);
}

int str_order(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_ieq(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (lower(a.p[i]) != lower(b.p[i]))
			return false;
	return true;
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_of(s.p, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_skip(s, s.n - suffix.n), suffix);
}

struct str str_skip(struct str s, size_t at)
{
	if (at >= s.n)
		return str_of(s.p ? s.p + s.n : NULL, 0);
	return str_of(s.p + at, s.n - at);
}

ptrdiff_t str_chr(struct str s, char c)
{
	const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;

	return hit ? hit - s.p : -1;
}

ptrdiff_t str_find(struct str s, struct str needle)
{
	const char *hit;

	if (needle.n == 0)
		return 0;
	hit = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
	return hit ? hit - s.p : -1;
}

bool str_is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

struct str str_trim(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_of(s.p + 1, s.n - 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim_space(struct str s)
{
	while (s.n && is_space(s.p[0]))
		s = str_of(s.p + 1, s.n - 1);
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool str_split(struct str *rest, char sep, struct str *ret_piece)
{
	ptrdiff_t at;

	if (!rest->p)
		return false;
	at = str_chr(*rest, sep);
	if (at < 0) {
		*ret_piece = *rest;
		*rest = STR_NULL;
		return true;
	}
	*ret_piece = str_of(rest->p, (size_t)at);
	*rest = str_of(rest->p + at + 1, rest->n - (size_t)at - 1);
	return true;
}

bool str_to_u64(struct str s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';

		if (digit > 9 || __builtin_mul_overflow(v, 10U, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret_value = v;
	return true;
}

struct str str_print_u64(char room[static STR_DIGITS], uint64_t v)
{
	size_t at = STR_DIGITS;

	do {
		room[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	return str_of(room + at, STR_DIGITS - at);
}

/* The longest, -9223372036854775808, fits: it has 19 digits. */
struct str str_print_i64(char room[static STR_DIGITS], int64_t v)
{
	struct str digits = str_print_u64(room, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);

	if (v >= 0)
		return digits;
	room[STR_DIGITS - digits.n - 1] = '-';
	return str_of(room + STR_DIGITS - digits.n - 1, digits.n + 1);
}

bool str_to_i64(struct str s, int64_t *ret_value)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t v;

	if (!str_to_u64(negative ? str_skip(s, 1) : s, &v))
		return false;
	if (v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return false;
	*ret_value = negative ? (int64_t)(0 - v) : (int64_t)v;
	return true;
}

/* Length of the valid sequence at p (n > 0 bytes), or 0. Table 3-7 of the Unicode standard. */
static size_t utf8_sequence(const unsigned char *p, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (n < len || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool str_is_utf8(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t i = 0, len;
	uint64_t word;

	while (i < s.n) {
		while (s.n - i >= sizeof(word)) {
			memcpy(&word, p + i, sizeof(word));
			if (word & UINT64_C(0x8080808080808080))
				break;
			i += sizeof(word);
		}
		if (i == s.n)
			break;
		len = utf8_sequence(p + i, s.n - i);
		if (len == 0)
			return false;
		i += len;
	}
	return true;
}

struct str str_cut(struct str s, size_t most)
{
	size_t n = MIN(s.n, most);

	while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_of(s.p, n);
}

size_t str_characters(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

uint32_t str_rune(struct str s, size_t *at)
{
	const unsigned char *p = (const unsigned char *)s.p + *at;
	size_t len = utf8_sequence(p, s.n - *at);
	uint32_t c;

	*at += MAX(len, (size_t)1);
	if (len <= 1)
		return len ? p[0] : 0xfffd;
	c = p[0] & (0xffU >> (len + 1));
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3fU);
	return c;
}

int str_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *str_dup(struct str s)
{
	return xstrndup(s.p ? s.p : "", s.n);
}

/*
 * go-yaml's comparison is not transitive: 10a < 20a < 2b < 10a. Handing it to
 * qsort() would be undefined, and the outcome would hang on the order of the
 * input. So names are first sorted by their bytes and then by a merge sort of
 * our own, which does no harm whatever the comparison says.
 */
#include "base/yaml/order.h"

#include "base/core/mem.h"

/* go-yaml asks whether a character is a letter; for us all beyond ASCII are. */
static bool is_letter(char c)
{
	return str_is_letter(c) || (unsigned char)c >= 0x80;
}

/* The number in the digits from `at` on, put behind those of `before`. */
static uint64_t number_at(struct str s, size_t at, uint64_t before, size_t *ret_end)
{
	uint64_t v = before;

	for (; at < s.n && str_is_digit(s.p[at]); at++)
		if (v < UINT64_MAX / 10 - 9)
			v = v * 10 + (uint64_t)(s.p[at] - '0');
	*ret_end = at;
	return v;
}

/* Names that first differ at `at`, neither in a letter: digits there compare as numbers. */
static int compare_numbers(struct str a, struct str b, size_t at)
{
	uint64_t before = 0, x, y;
	size_t x_end, y_end;

	/* Within a number, after a digit that is not zero, a zero counts too. */
	if (a.p[at] == '0' || b.p[at] == '0')
		for (size_t i = at; i > 0 && str_is_digit(a.p[i - 1]) && before == 0; i--)
			before = a.p[i - 1] != '0';
	x = number_at(a, at, before, &x_end);
	y = number_at(b, at, before, &y_end);
	if (x != y)
		return x < y ? -1 : 1;
	if (x_end != y_end)
		return x_end < y_end ? -1 : 1;
	return (unsigned char)a.p[at] < (unsigned char)b.p[at] ? -1 : 1;
}

static int compare_names(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n), at = 0;
	bool x, y;

	while (at < n && a.p[at] == b.p[at])
		at++;
	if (at == n)
		return (a.n > b.n) - (a.n < b.n);
	x = is_letter(a.p[at]);
	y = is_letter(b.p[at]);
	if (x && y)
		return (unsigned char)a.p[at] < (unsigned char)b.p[at] ? -1 : 1;
	if (x || y)
		return y ? -1 : 1;
	return compare_numbers(a, b, at);
}

/* Merges the sorted runs v[0, half) and v[half, n) into out. */
static void order_merge(const struct json **v, size_t half, size_t n, const struct json **out)
{
	size_t left = 0, right = half;

	while (left < half && right < n) {
		if (compare_names(json_key(v[right]), json_key(v[left])) < 0)
			*out++ = v[right++];
		else
			*out++ = v[left++];
	}
	while (left < half)
		*out++ = v[left++];
	while (right < n)
		*out++ = v[right++];
}

void yaml_order(const struct json **members, size_t n)
{
	const struct json **room, **from = members, **to, **swap;

	if (n < 2)
		return;
	qsort(members, n, sizeof(*members), json_key_order);
	to = room = xcalloc(n, sizeof(*room));
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t at = 0; at < n; at += 2 * width)
			order_merge(from + at, MIN(width, n - at), MIN(2 * width, n - at), to + at);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != members)
		memcpy(members, from, n * sizeof(*members));
	free(room);
}

/* Escapes are decoded in one pass, and text without escapes is not copied. */
#include "net/loop/url.h"

bool url_unescape(struct arena *a, struct str s, bool plus, struct str *ret_text)
{
	char *out;
	size_t n = 0;

	if (str_chr(s, '%') < 0 && (!plus || str_chr(s, '+') < 0)) {
		*ret_text = s;
		return true;
	}
	out = arena_alloc(a, s.n + 1);
	for (size_t i = 0; i < s.n; i++) {
		int high, low;

		if (s.p[i] != '%') {
			out[n++] = plus && s.p[i] == '+' ? ' ' : s.p[i];
			continue;
		}
		high = i + 2 < s.n ? str_hex_digit(s.p[i + 1]) : -1;
		low = i + 2 < s.n ? str_hex_digit(s.p[i + 2]) : -1;
		if (high < 0 || low < 0)
			return false;
		out[n++] = (char)(high << 4 | low);
		i += 2;
	}
	*ret_text = str_of(out, n);
	return true;
}

bool url_param(struct str *rest, struct arena *a, struct str *ret_name, struct str *ret_value)
{
	struct str pair, value;
	ptrdiff_t eq;

	while (rest->n && str_split(rest, '&', &pair)) {
		/* Go drops pairs with a ';' and malformed pairs, and continues. */
		if (!pair.n || str_chr(pair, ';') >= 0)
			continue;
		eq = str_chr(pair, '=');
		value = eq < 0 ? STR("") : str_skip(pair, (size_t)eq + 1);
		if (eq >= 0)
			pair.n = (size_t)eq;
		if (url_unescape(a, pair, true, ret_name) &&
		    url_unescape(a, value, true, ret_value))
			return true;
	}
	return false;
}

/*
 * The first byte decides what a scalar can be, which settles most strings at once. Words are looked
 * up in a table. Numbers follow Go's ParseInt with base 0, after underscores are dropped, and
 * go-yaml's own pattern for floats. A number that fits neither, such as 1e999, is a string.
 */
#include "base/yaml/resolve.h"

#include <math.h>

#include "base/core/mem.h"
#include "base/text/number.h"

struct word {
	struct str text;
	enum yaml_kind kind;
	double value; /* of a bool or a float */
};

#define WORD(text, kind, value)                                     \
	{                                                           \
		{ text, sizeof(text) - 1 }, YAML_KIND_##kind, value \
	}

static const struct word words[] = {
	WORD("", NULL, 0),
	WORD("~", NULL, 0),
	WORD("null", NULL, 0),
	WORD("Null", NULL, 0),
	WORD("NULL", NULL, 0),
	WORD("y", BOOL, 1),
	WORD("Y", BOOL, 1),
	WORD("yes", BOOL, 1),
	WORD("Yes", BOOL, 1),
	WORD("YES", BOOL, 1),
	WORD("true", BOOL, 1),
	WORD("True", BOOL, 1),
	WORD("TRUE", BOOL, 1),
	WORD("on", BOOL, 1),
	WORD("On", BOOL, 1),
	WORD("ON", BOOL, 1),
	WORD("n", BOOL, 0),
	WORD("N", BOOL, 0),
	WORD("no", BOOL, 0),
	WORD("No", BOOL, 0),
	WORD("NO", BOOL, 0),
	WORD("false", BOOL, 0),
	WORD("False", BOOL, 0),
	WORD("FALSE", BOOL, 0),
	WORD("off", BOOL, 0),
	WORD("Off", BOOL, 0),
	WORD("OFF", BOOL, 0),
	WORD(".nan", FLOAT, NAN),
	WORD(".NaN", FLOAT, NAN),
	WORD(".NAN", FLOAT, NAN),
	WORD(".inf", FLOAT, INFINITY),
	WORD(".Inf", FLOAT, INFINITY),
	WORD(".INF", FLOAT, INFINITY),
	WORD("+.inf", FLOAT, INFINITY),
	WORD("+.Inf", FLOAT, INFINITY),
	WORD("+.INF", FLOAT, INFINITY),
	WORD("-.inf", FLOAT, -INFINITY),
	WORD("-.Inf", FLOAT, -INFINITY),
	WORD("-.INF", FLOAT, -INFINITY),
};

enum { WORD_MAX = 5 };

static bool is_sign(char c)
{
	return c == '+' || c == '-';
}

static void set_double(struct json *v, double value)
{
	v->type = JSON_DOUBLE;
	v->f64 = value;
}

static enum yaml_kind resolve_word(struct str text, struct json *v)
{
	const struct word *w = words, *end = words + ARRAY_SIZE(words);

	if (text.n > WORD_MAX)
		return YAML_KIND_STR;
	while (w < end && !str_eq(w->text, text))
		w++;
	if (w == end)
		return YAML_KIND_STR;
	if (w->kind == YAML_KIND_FLOAT) {
		set_double(v, w->value);
		return w->kind;
	}
	v->type = w->kind == YAML_KIND_NULL ? JSON_NULL : JSON_BOOL;
	v->boolean = w->value != 0;
	return w->kind;
}

/* Removes a number of one to `width` digits from the front; returns -1 if there is no digit. */
static int take_number(struct str *s, size_t width)
{
	size_t n = 0;
	int v = 0;

	for (; n < width && n < s->n && str_is_digit(s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	*s = str_skip(*s, n);
	return n ? v : -1;
}

static bool take_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static bool take_date(struct str *s)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	struct str start = *s;
	int year = take_number(s, 4), month, day;
	bool leap;

	if (start.n - s->n != 4 || !take_char(s, '-'))
		return false;
	month = take_number(s, 2);
	if (month < 1 || month > 12 || !take_char(s, '-'))
		return false;
	day = take_number(s, 2);
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool take_time(struct str *s)
{
	int part = take_number(s, 2);

	if (part < 0 || part > 23)
		return false;
	for (int i = 0; i < 2; i++) {
		if (!take_char(s, ':'))
			return false;
		part = take_number(s, 2);
		if (part < 0 || part > 59)
			return false;
	}
	if (take_char(s, '.') && take_number(s, 1) < 0)
		return false;
	while (s->n && str_is_digit(s->p[0]))
		*s = str_skip(*s, 1);
	return true;
}

static bool take_zone(struct str *s)
{
	if (take_char(s, 'Z'))
		return true;
	if (!take_char(s, '+') && !take_char(s, '-'))
		return false;
	return take_number(s, 2) >= 0 && take_char(s, ':') && take_number(s, 2) >= 0;
}

/* 2001-1-2, 2001-1-2 3:4:5.6, 2001-1-2T3:4:5.6Z or with an offset. */
static bool is_timestamp(struct str s)
{
	if (!take_date(&s))
		return false;
	if (s.n == 0)
		return true;
	if (take_char(&s, ' '))
		return take_time(&s) && s.n == 0;
	return (take_char(&s, 'T') || take_char(&s, 't')) && take_time(&s) && take_zone(&s) &&
	       s.n == 0;
}

/* [-+]? ( .ddd | ddd [. d*]? ) [eE [-+]? ddd]? */
static bool is_float(struct str s)
{
	size_t whole = 0, fraction = 0, at = 0;

	if (at < s.n && is_sign(s.p[at]))
		at++;
	for (; at < s.n && str_is_digit(s.p[at]); at++)
		whole++;
	if (at < s.n && s.p[at] == '.')
		for (at++; at < s.n && str_is_digit(s.p[at]); at++)
			fraction++;
	if (whole + fraction == 0)
		return false;
	if (at == s.n)
		return true;
	if ((s.p[at++] | 32) != 'e')
		return false;
	if (at < s.n && is_sign(s.p[at]))
		at++;
	s = str_skip(s, at);
	for (at = 0; at < s.n && str_is_digit(s.p[at]); at++)
		;
	return s.n > 0 && at == s.n;
}

/* Takes Go's base prefix off; a zero in front alone means octal. */
static unsigned take_base(struct str *s)
{
	char c;

	if (s->n == 0 || s->p[0] != '0')
		return 10;
	c = s->n >= 3 ? (char)(s->p[1] | 32) : '\0';
	*s = str_skip(*s, c == 'b' || c == 'o' || c == 'x' ? 2 : 1);
	return c == 'b' ? 2 : c == 'x' ? 16 : 8;
}

static bool take_digits(struct str s, unsigned base, uint64_t *ret_value)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++) {
		int digit = str_hex_digit(s.p[i]);

		if (digit < 0 || (unsigned)digit >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (unsigned)digit, &v))
			return false;
	}
	*ret_value = v;
	return true;
}

static bool resolve_int(struct str s, struct json *v)
{
	bool sign = s.n && is_sign(s.p[0]), negative = sign && s.p[0] == '-';
	unsigned base;
	uint64_t m;

	if (sign)
		s = str_skip(s, 1);
	if (s.n == 0)
		return false;
	base = take_base(&s);
	if (!take_digits(s, base, &m))
		return false;
	/* Beyond int64 Go tries an unsigned integer, and that may have no sign. */
	if (m > (uint64_t)INT64_MAX + negative && sign)
		return false;
	v->type = m > INT64_MAX && !negative ? JSON_UINT : JSON_INT;
	v->u64 = negative ? 0 - m : m;
	return true;
}

static enum yaml_kind resolve_number(struct str s, struct json *v)
{
	double value;

	if (resolve_int(s, v))
		return YAML_KIND_INT;
	if (!is_float(s) || !json_number_parse(s, &value))
		return YAML_KIND_STR;
	set_double(v, value);
	return YAML_KIND_FLOAT;
}

/* The same without the underscores in `s`. */
static enum yaml_kind resolve_underscored(struct str s, struct json *v)
{
	CLEANUP(free) char *plain = xmalloc(s.n);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '_')
			plain[n++] = s.p[i];
	return resolve_number(str_of(plain, n), v);
}

enum yaml_kind yaml_resolve(struct str text, struct json *v)
{
	enum yaml_kind kind = YAML_KIND_STR;
	char first = text.n ? text.p[0] : '~';

	v->type = JSON_STRING;
	v->text = text.p ? text.p : "";
	v->n = (uint32_t)text.n;
	if (strchr("~yYnNtTfFoO", first) && first)
		return resolve_word(text, v);
	if (!str_is_digit(first) && !is_sign(first) && first != '.')
		return kind;
	if (is_timestamp(text))
		return YAML_KIND_TIMESTAMP;
	if (first != '.' && str_chr(text, '_') >= 0)
		kind = resolve_underscored(text, v);
	else
		kind = resolve_number(text, v);
	return kind != YAML_KIND_STR ? kind : resolve_word(text, v);
}

/* Sexagesimal numbers of YAML 1.1, such as 190:20:30; go-yaml quotes them but reads strings. */
static bool is_base60(struct str s)
{
	size_t at = s.n && is_sign(s.p[0]), groups = 0, digits;

	if (at >= s.n || !str_is_digit(s.p[at]))
		return false;
	while (at < s.n && (str_is_digit(s.p[at]) || s.p[at] == '_'))
		at++;
	for (; at < s.n && s.p[at] == ':'; groups++) {
		for (digits = 0, at++; at < s.n && str_is_digit(s.p[at]); at++)
			digits++;
		if (digits == 0 || digits > 2 || (digits == 2 && s.p[at - 2] > '5'))
			return false;
	}
	if (at < s.n && s.p[at] == '.')
		for (at++; at < s.n && (str_is_digit(s.p[at]) || s.p[at] == '_');)
			at++;
	return groups > 0 && at == s.n;
}

bool yaml_needs_quotes(struct str text)
{
	struct json unused;

	if (yaml_resolve(text, &unused) != YAML_KIND_STR || is_base60(text))
		return true;
	/* The merge key and the default value of YAML 1.1. */
	return str_eq(text, STR("<<")) || str_eq(text, STR("="));
}

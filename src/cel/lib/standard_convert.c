/*
 * Conversions between types. A text that cannot be converted is an error that names text and type;
 * a value out of range is an overflow. Texts are accepted like in Go's strconv and time packages,
 * since existing expressions rely on these.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/text/number.h"
#include "base/time/duration.h"
#include "base/time/timestamp.h"
#include "cel/cel_limits.h"
#include "cel/lib/standard.h"

#define INT_OVERFLOW  CEL_ERROR_V("integer overflow")
#define UINT_OVERFLOW CEL_ERROR_V("unsigned integer overflow")

static struct cel_value not_convertible(struct cel_eval *ev, const struct cel_type *to)
{
	return cel_errorf(ev, "type conversion error from 'string' to '%.*s'", STR_ARG(to->name));
}

struct cel_value cel_std_same(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0];
}

struct cel_value cel_std_type(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_TYPE_V(cel_value_type(&args[0]));
}

struct cel_value cel_std_bool_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	static const char *const words[2][6] = {
		{ "0", "f", "F", "false", "FALSE", "False" },
		{ "1", "t", "T", "true", "TRUE", "True" },
	};

	for (size_t value = 0; value < 2; value++)
		for (size_t i = 0; i < ARRAY_SIZE(words[0]); i++)
			if (str_eqz(args[0].s, words[value][i]))
				return CEL_BOOL_V(value == 1);
	return not_convertible(ev, &cel_bool);
}

struct cel_value cel_std_bytes_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_BYTES_V(args[0].s);
}

/* --- numbers ------------------------------------------------------------------------ */

struct cel_value cel_std_int_of_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].u > INT64_MAX ? INT_OVERFLOW : CEL_INT_V((int64_t)args[0].u);
}

/* Upstream excludes both ends of the range, although -2^63 is an int. */
struct cel_value cel_std_int_of_double(struct cel_eval *ev, const struct cel_value *args)
{
	double d = args[0].d;

	(void)ev;
	return d > -0x1p63 && d < 0x1p63 ? CEL_INT_V((int64_t)d) : INT_OVERFLOW;
}

struct cel_value cel_std_int_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	int64_t v;

	if (s.n > 1 && s.p[0] == '+' && s.p[1] != '-')
		s = str_skip(s, 1);
	return str_to_i64(s, &v) ? CEL_INT_V(v) : not_convertible(ev, &cel_int);
}

struct cel_value cel_std_int_of_timestamp(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(args[0].i);
}

struct cel_value cel_std_int_of_duration(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(args[0].i);
}

struct cel_value cel_std_uint_of_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return args[0].i < 0 ? UINT_OVERFLOW : CEL_UINT_V((uint64_t)args[0].i);
}

struct cel_value cel_std_uint_of_double(struct cel_eval *ev, const struct cel_value *args)
{
	double d = args[0].d;

	(void)ev;
	return d >= 0 && d < 0x1p64 ? CEL_UINT_V((uint64_t)d) : UINT_OVERFLOW;
}

struct cel_value cel_std_uint_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	uint64_t v;

	return str_to_u64(args[0].s, &v) ? CEL_UINT_V(v) : not_convertible(ev, &cel_uint);
}

struct cel_value cel_std_double_of_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V((double)args[0].i);
}

struct cel_value cel_std_double_of_uint(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_DOUBLE_V((double)args[0].u);
}

static bool is_digit(char c, bool hex)
{
	return hex ? str_hex_digit(c) >= 0 : str_is_digit(c);
}

static size_t skip_digits(struct str s, size_t at, bool hex)
{
	while (at < s.n && is_digit(s.p[at], hex))
		at++;
	return at;
}

/* [sign] digits [. digits] [e [sign] digits], at least one digit before the exponent. */
static bool is_decimal(struct str s)
{
	size_t at = s.n && (s.p[0] == '+' || s.p[0] == '-') ? 1 : 0, from = at, digits;

	at = skip_digits(s, at, false);
	digits = at - from;
	if (at < s.n && s.p[at] == '.') {
		from = ++at;
		at = skip_digits(s, at, false);
		digits += at - from;
	}
	if (digits == 0)
		return false;
	if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
		at++;
		at += at < s.n && (s.p[at] == '+' || s.p[at] == '-');
		from = at;
		at = skip_digits(s, at, false);
		if (at == from)
			return false;
	}
	return at == s.n;
}

/* "inf", "infinity" and "nan" in any case; a sign only before the first two. */
static bool parse_special(struct str s, double *ret_value)
{
	bool negative = s.n && s.p[0] == '-';
	struct str word = s.n && (negative || s.p[0] == '+') ? str_skip(s, 1) : s;

	if (str_ieq(s, STR("nan")))
		*ret_value = NAN;
	else if (str_ieq(word, STR("inf")) || str_ieq(word, STR("infinity")))
		*ret_value = negative ? -INFINITY : INFINITY;
	else
		return false;
	return true;
}

/* Checks the form [sign] 0x digits [. digits] p [sign] digits, then calls strtod(). */
static bool parse_hex(struct str s, double *ret_value)
{
	size_t at = s.n && (s.p[0] == '+' || s.p[0] == '-') ? 1 : 0, from, digits;
	char text[128];

	if (s.n >= sizeof(text) ||
	    !(str_starts(str_skip(s, at), STR("0x")) || str_starts(str_skip(s, at), STR("0X"))))
		return false;
	from = at + 2;
	at = skip_digits(s, from, true);
	digits = at - from;
	if (at < s.n && s.p[at] == '.') {
		from = at + 1;
		at = skip_digits(s, from, true);
		digits += at - from;
	}
	if (digits == 0 || at + 1 >= s.n || (s.p[at] | 0x20) != 'p')
		return false;
	at += s.p[at + 1] == '+' || s.p[at + 1] == '-' ? 2 : 1;
	if (at == s.n || skip_digits(s, at, false) != s.n)
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	*ret_value = strtod(text, NULL);
	return isfinite(*ret_value);
}

static bool parse_double(struct str s, double *ret_value)
{
	if (parse_special(s, ret_value) || parse_hex(s, ret_value))
		return true;
	if (!is_decimal(s))
		return false;
	return json_number_parse(s.p[0] == '+' ? str_skip(s, 1) : s, ret_value);
}

/*
 * The number without its underscores, which may stand between digits and behind "0x"; as it was
 * when one stands elsewhere. `out` has room.
 */
static struct str without_underscores(struct str s, char *out)
{
	bool hex = str_chr(s, 'x') >= 0 || str_chr(s, 'X') >= 0;
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		char before = i > 0 ? s.p[i - 1] : 0, behind = i + 1 < s.n ? s.p[i + 1] : 0;

		if (s.p[i] != '_')
			out[n++] = s.p[i];
		else if (!(is_digit(before, hex) || (hex && (before | 0x20) == 'x')) ||
			 !is_digit(behind, hex))
			return s;
	}
	return str_of(out, n);
}

struct cel_value cel_std_double_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	char *plain;
	double v;

	if (str_chr(s, '_') >= 0) {
		plain = cel_alloc(ev, s.n);
		if (!plain)
			return cel_too_large();
		s = without_underscores(s, plain);
	}
	return parse_double(s, &v) ? CEL_DOUBLE_V(v) : not_convertible(ev, &cel_double);
}

/* --- text and times ----------------------------------------------------------------- */

struct cel_value cel_std_string_of_bytes(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	if (!str_is_utf8(args[0].s))
		return CEL_ERROR_V("invalid UTF-8 in bytes, cannot convert to string");
	return CEL_STRING_V(args[0].s);
}

struct cel_value cel_std_string_of_bool(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_STRING_V(args[0].b ? STR("true") : STR("false"));
}

enum { INTEGER_SIZE = 24 }; /* the longest text and a NUL */

struct cel_value cel_std_string_of_int(struct cel_eval *ev, const struct cel_value *args)
{
	char *p = cel_alloc(ev, INTEGER_SIZE);

	if (!p)
		return cel_too_large();
	return CEL_STRING_V(str_of(p, (size_t)snprintf(p, INTEGER_SIZE, "%" PRId64, args[0].i)));
}

struct cel_value cel_std_string_of_uint(struct cel_eval *ev, const struct cel_value *args)
{
	char *p = cel_alloc(ev, INTEGER_SIZE);

	if (!p)
		return cel_too_large();
	return CEL_STRING_V(str_of(p, (size_t)snprintf(p, INTEGER_SIZE, "%" PRIu64, args[0].u)));
}

/* Converts doubles and times with cel_value_text(). */
struct cel_value cel_std_string_of_any(struct cel_eval *ev, const struct cel_value *args)
{
	struct buf text = BUF_INIT(CEL_TEXT_MAX);
	struct cel_value v;
	char *p;

	cel_value_text(ev, &args[0], &text);
	p = cel_alloc(ev, text.n);
	if (p && text.n > 0)
		memcpy(p, text.p, text.n);
	v = p && !text.overflow ? CEL_STRING_V(str_of(p, text.n)) : cel_too_large();
	buf_release(&text);
	return v;
}

/* From 0001-01-01 to 9999-12-31. */
static struct cel_value timestamp_of(struct timestamp t)
{
	if (t.seconds < CEL_TIMESTAMP_MIN || t.seconds > CEL_TIMESTAMP_MAX)
		return CEL_ERROR_V("timestamp overflow");
	return (struct cel_value){
		.kind = CEL_TIMESTAMP, .offset = t.offset, .nanos = t.ns, .i = t.seconds
	};
}

struct cel_value cel_std_timestamp_of_int(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return timestamp_of((struct timestamp){ .seconds = args[0].i });
}

struct cel_value cel_std_timestamp_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	struct timestamp t;

	if (timestamp_parse_wide(args[0].s, &t, NULL) < 0)
		return not_convertible(ev, &cel_timestamp);
	return timestamp_of(t);
}

struct cel_value cel_std_duration_of_string(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t ns;

	if (duration_parse(args[0].s, &ns, NULL) < 0)
		return not_convertible(ev, &cel_duration);
	return CEL_DURATION_V(ns);
}

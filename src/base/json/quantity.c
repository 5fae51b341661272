/*
 * A quantity is nano units in 128 bits. Upstream reads any number of digits; values beyond 10^29
 * units, which 128 bits cannot hold, are cut to that: nothing in a cluster counts so far, and
 * comparisons stay right.
 *
 * The grammar is upstream's with its oddities: a sign or a point alone is zero, "1E" is exa while
 * "1E3" has an exponent.
 */
#include "base/json/quantity.h"

#include "base/json/json.h"

#define NANO      ((__int128)1000000000)
#define UNITS_MAX (NANO * NANO * NANO * 100) /* 10^29 */
#define NANO_MAX  (UNITS_MAX * NANO)

static const char format_wrong[] = "quantities must match the regular expression "
				   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
static const char suffix_wrong[] = "unable to parse quantity's suffix";

struct suffix {
	const char *text;
	int exponent; /* of ten, or of two */
	enum quantity_format format;
};

static const struct suffix suffixes[] = {
	{ "", 0, QUANTITY_DECIMAL_SI },   { "m", -3, QUANTITY_DECIMAL_SI },
	{ "u", -6, QUANTITY_DECIMAL_SI }, { "n", -9, QUANTITY_DECIMAL_SI },
	{ "k", 3, QUANTITY_DECIMAL_SI },  { "M", 6, QUANTITY_DECIMAL_SI },
	{ "G", 9, QUANTITY_DECIMAL_SI },  { "T", 12, QUANTITY_DECIMAL_SI },
	{ "P", 15, QUANTITY_DECIMAL_SI }, { "E", 18, QUANTITY_DECIMAL_SI },
	{ "Ki", 10, QUANTITY_BINARY_SI }, { "Mi", 20, QUANTITY_BINARY_SI },
	{ "Gi", 30, QUANTITY_BINARY_SI }, { "Ti", 40, QUANTITY_BINARY_SI },
	{ "Pi", 50, QUANTITY_BINARY_SI }, { "Ei", 60, QUANTITY_BINARY_SI },
};

static struct str take_digits(struct str *rest)
{
	size_t n = 0;

	while (n < rest->n && str_is_digit(rest->p[n]))
		n++;
	*rest = str_skip(*rest, n);
	return str_of(rest->p - n, n);
}

/* "e3", "E-6": far exponents are cut, they saturate anyway. */
static bool read_exponent(struct str s, int *ret_exponent)
{
	int64_t v;

	if (s.n < 2 || (s.p[0] != 'e' && s.p[0] != 'E'))
		return false;
	s = str_skip(s, s.p[1] == '+' ? 2 : 1);
	if (s.n == 0 || !str_to_i64(s, &v))
		return false;
	*ret_exponent = (int)MAX(-1000, MIN(v, 1000));
	return true;
}

static bool read_suffix(struct str s, struct suffix *ret_suffix)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (str_eqz(s, suffixes[i].text)) {
			*ret_suffix = suffixes[i];
			return true;
		}
	}
	ret_suffix->format = QUANTITY_DECIMAL_EXPONENT;
	return read_exponent(s, &ret_suffix->exponent);
}

/* Whether the rest has the form of a suffix: letters, a sign, digits. */
static bool suffix_shaped(struct str rest)
{
	size_t i = 0;

	while (i < rest.n && rest.p[i] && strchr("eEinumkKMGTP", rest.p[i]))
		i++;
	if (i < rest.n && (rest.p[i] == '-' || rest.p[i] == '+'))
		i++;
	while (i < rest.n && str_is_digit(rest.p[i]))
		i++;
	return i == rest.n;
}

/* A magnitude under construction, and whether smaller parts were cut off: then it rounds up. */
struct magnitude {
	__int128 v;
	bool inexact;
};

/* Unsigned, since the checked signed product of 128 bits needs a library that GCC lacks. */
static __int128 product(__int128 v, unsigned factor)
{
	return (__int128)((unsigned __int128)v * factor);
}

static void times(struct magnitude *m, unsigned factor)
{
	m->v = m->v > NANO_MAX / factor ? NANO_MAX : product(m->v, factor);
}

/* Returns false if there is no room for the digit, which then only affects exactness. */
static bool add_digit(struct magnitude *m, char c)
{
	if (m->v >= NANO_MAX / 10) {
		m->inexact |= c != '0';
		return false;
	}
	m->v = product(m->v, 10) + (c - '0');
	return true;
}

/* whole.fraction * 10^exponent, in nano. */
static __int128 decimal(struct str whole, struct str fraction, int exponent)
{
	struct magnitude m = { 0, false };
	int scale = 9 + exponent;

	for (size_t i = 0; i < whole.n; i++)
		scale += !add_digit(&m, whole.p[i]);
	for (size_t i = 0; i < fraction.n; i++)
		scale -= add_digit(&m, fraction.p[i]);
	for (; scale > 0 && m.v && m.v < NANO_MAX; scale--)
		times(&m, 10);
	for (; scale < 0 && m.v; scale++) {
		m.inexact |= m.v % 10 != 0;
		m.v /= 10;
	}
	return MIN(NANO_MAX, m.v + m.inexact);
}

/*
 * whole.fraction * 2^shift, in nano. The first twenty digits of the fraction are exact:
 * 10^20 * 2^60 just fits.
 */
static __int128 binary(struct str whole, struct str fraction, int shift)
{
	struct magnitude m = { 0, false }, f = { 0, false };

	for (size_t i = 0; i < whole.n; i++) {
		if (!add_digit(&m, whole.p[i]))
			m.v = NANO_MAX;
	}
	for (size_t i = 0; i < 20; i++)
		(void)add_digit(&f, i < fraction.n ? fraction.p[i] : '0');
	for (int i = 0; i < shift; i++) {
		times(&m, 2);
		f.v = product(f.v, 2);
	}
	times(&m, 1000000000);
	f.v = f.v / (NANO * 100) + (f.v % (NANO * 100) != 0);
	return MIN(NANO_MAX, m.v + f.v);
}

/*
 * Upstream reads at most 18 digits, and no binary fraction, into 64 bits; a binary number of 15
 * digits, by a rough count of what its suffix takes.
 */
static bool is_narrow(struct str whole, struct str fraction, const struct suffix *suffix)
{
	size_t digits;

	while (whole.n && whole.p[0] == '0')
		whole = str_skip(whole, 1);
	digits = MAX(whole.n, 1U);
	if (suffix->format == QUANTITY_BINARY_SI)
		return fraction.n == 0 && digits + (unsigned)suffix->exponent * 3 / 10 + 1 <= 15;
	return digits + fraction.n <= 18 && suffix->exponent - (int)fraction.n >= -9;
}

static void set_scale(struct quantity *q, struct str whole, struct str fraction,
		      const struct suffix *suffix)
{
	bool power2 = suffix->format == QUANTITY_BINARY_SI;

	q->wide = !is_narrow(whole, fraction, suffix);
	if (q->wide)
		q->scale = -9;
	else
		q->scale = power2 ? 0 : (int8_t)MIN(suffix->exponent - (int)fraction.n, 29);
}

int quantity_parse(struct str s, struct quantity *ret_q, struct error *err)
{
	struct suffix suffix = { 0 };
	struct str rest = s, whole, fraction = STR_NULL;
	bool negative = s.n && s.p[0] == '-';
	bool power2;

	if (s.n == 0)
		return error_set(err, ERR_INVALID, "%s", format_wrong);
	if (s.p[0] == '-' || s.p[0] == '+')
		rest = str_skip(s, 1);
	whole = take_digits(&rest);
	if (rest.n && rest.p[0] == '.') {
		rest = str_skip(rest, 1);
		fraction = take_digits(&rest);
	}
	if (!suffix_shaped(rest))
		return error_set(err, ERR_INVALID, "%s", format_wrong);
	if (!read_suffix(rest, &suffix))
		return error_set(err, ERR_INVALID, "%s", suffix_wrong);
	power2 = suffix.format == QUANTITY_BINARY_SI;
	ret_q->nano = power2 ? binary(whole, fraction, suffix.exponent)
			     : decimal(whole, fraction, suffix.exponent);
	ret_q->format = suffix.format;
	set_scale(ret_q, whole, fraction, &suffix);
	if (power2 && ret_q->nano > INT64_MAX * NANO) {
		ret_q->nano = INT64_MAX * NANO;
		ret_q->scale = 0;
	}
	if (power2 && ret_q->nano < NANO && ret_q->nano > 0)
		ret_q->format = QUANTITY_DECIMAL_SI;
	if (negative)
		ret_q->nano = -ret_q->nano;
	return 0;
}

bool quantity_read(const struct json *v, struct quantity *ret_q)
{
	int64_t units;

	if (!json_i64(v, &units))
		return json_is(v, JSON_STRING) && quantity_parse(json_str(v), ret_q, NULL) == 0;
	*ret_q = quantity_of(units, QUANTITY_DECIMAL_SI);
	return true;
}

struct quantity quantity_of(int64_t units, enum quantity_format format)
{
	return (struct quantity){ .nano = product(units, 1000000000), .format = format };
}

struct quantity quantity_of_milli(int64_t milli)
{
	return (struct quantity){ .nano = product(milli, 1000000),
				  .format = QUANTITY_DECIMAL_SI,
				  .scale = -3 };
}

int quantity_cmp(struct quantity a, struct quantity b)
{
	return (a.nano > b.nano) - (a.nano < b.nano);
}

static __int128 sum(__int128 a, __int128 b)
{
	__int128 v;

	if (__builtin_add_overflow(a, b, &v))
		return b < 0 ? -NANO_MAX : NANO_MAX;
	return MAX(-NANO_MAX, MIN(v, NANO_MAX));
}

static __int128 power10(int exponent)
{
	__int128 v = 1;

	while (exponent-- > 0)
		v = product(v, 10);
	return v;
}

static __int128 unscaled(struct quantity q)
{
	return q.nano / power10(q.scale + 9);
}

/*
 * Zero has no format of its own, so it takes the other's, as upstream. Nor has it a scale,
 * unless it has many digits.
 */
static struct quantity joined(struct quantity a, struct quantity b, __int128 nano)
{
	struct quantity q = { .nano = nano, .wide = a.wide || b.wide };

	q.format = a.nano == 0 ? b.format : a.format;
	q.scale = MIN(a.scale, b.scale);
	if (!q.wide && b.nano == 0)
		q.scale = a.scale;
	else if (!q.wide && a.nano == 0)
		q.scale = b.scale;
	q.wide |= unscaled(q) != (int64_t)unscaled(q);
	return q;
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
	return joined(a, b, sum(a.nano, b.nano));
}

struct quantity quantity_sub(struct quantity a, struct quantity b)
{
	return joined(a, b, sum(a.nano, -b.nano));
}

int quantity_sign(struct quantity q)
{
	return (q.nano > 0) - (q.nano < 0);
}

bool quantity_integer(struct quantity q, int64_t *ret_value)
{
	__int128 units = q.nano / NANO;

	if (q.wide || q.scale < 0 || units != (int64_t)units)
		return false;
	*ret_value = (int64_t)units;
	return true;
}

double quantity_double(struct quantity q)
{
	double base = (double)unscaled(q);

	if (q.scale == 0)
		return base;
	return base * (q.scale > 0 ? (double)power10(q.scale) : 1 / (double)power10(-q.scale));
}

static int64_t scaled(struct quantity q, __int128 unit)
{
	__int128 size = q.nano < 0 ? -q.nano : q.nano;
	__int128 v = size / unit + (size % unit != 0);

	if (v > INT64_MAX)
		return q.nano < 0 ? INT64_MIN : INT64_MAX;
	return q.nano < 0 ? -(int64_t)v : (int64_t)v;
}

int64_t quantity_value(struct quantity q)
{
	return scaled(q, NANO);
}

int64_t quantity_milli(struct quantity q)
{
	return scaled(q, NANO / 1000);
}

static int print_i128(__int128 v, struct buf *out)
{
	char digits[48];
	size_t at = sizeof(digits);
	unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;

	do {
		digits[--at] = (char)('0' + (int)(rest % 10));
		rest /= 10;
	} while (rest);
	if (v < 0)
		digits[--at] = '-';
	return buf_add(out, digits + at, sizeof(digits) - at);
}

static const char *suffix_text(enum quantity_format format, int exponent)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (suffixes[i].format == format && suffixes[i].exponent == exponent)
			return suffixes[i].text;
	}
	return "";
}

/* The largest power of a thousand that leaves a whole number; SI ends at exa. */
static int print_decimal(struct quantity q, struct buf *out)
{
	bool si = q.format != QUANTITY_DECIMAL_EXPONENT;
	int exponent = -9;

	while (q.nano % 1000 == 0 && (!si || exponent < 18)) {
		q.nano /= 1000;
		exponent += 3;
	}
	(void)print_i128(q.nano, out);
	if (si)
		return buf_addz(out, suffix_text(QUANTITY_DECIMAL_SI, exponent));
	return exponent ? buf_printf(out, "e%d", exponent) : 0;
}

static int print_binary(__int128 units, struct buf *out)
{
	int exponent = 0;

	while (units % 1024 == 0 && exponent < 60) {
		units /= 1024;
		exponent += 10;
	}
	(void)print_i128(units, out);
	return exponent ? buf_addz(out, suffix_text(QUANTITY_BINARY_SI, exponent)) : 0;
}

/*
 * Small numbers and fractions are decimal, like upstream; so are sums beyond the range of a binary
 * suffix.
 */
static bool prints_binary(struct quantity q)
{
	__int128 size = q.nano < 0 ? -q.nano : q.nano;

	return q.format == QUANTITY_BINARY_SI && size >= 1024 * NANO && size % NANO == 0 &&
	       size <= INT64_MAX * NANO;
}

int quantity_print(struct quantity q, struct buf *out)
{
	int r;

	if (q.nano == 0)
		r = buf_addc(out, '0');
	else if (prints_binary(q))
		r = print_binary(q.nano / NANO, out);
	else
		r = print_decimal(q, out);
	return out->overflow ? -ERR_TOO_LARGE : r;
}

/* One to three digits, and a suffix to which they are not too many: "8", "500m", "80Gi". */
bool quantity_is_canonical(struct str text)
{
	static const char binary[] = "KMGT", decimal[] = "mkMGT";
	size_t digits = 0;
	char suffix;

	while (digits < text.n && digits < 4 && str_is_digit(text.p[digits]))
		digits++;
	if (digits == 0 || digits > 3 || text.p[0] == '0')
		return str_eq(text, STR("0"));
	if (digits == text.n)
		return true;
	suffix = text.p[digits];
	if (text.n == digits + 2)
		return text.p[digits + 1] == 'i' && strchr(binary, suffix) && suffix;
	return text.n == digits + 1 && strchr(decimal, suffix) && suffix;
}

/*
 * Reading. The digits are gathered in a 64-bit integer. If it and the power of
 * ten are both exact doubles, one multiplication or division is
 * correctly rounded (Clinger's fast path); that settles nearly every number
 * met in practice. The rest goes to strtod, in the "C" locale and rewritten to
 * a bounded length: beyond 767 significant digits only "is there anything
 * more" can change the rounding, and one digit says that.
 *
 * Writing. A double holds every decimal of up to fifteen digits, so if m / 10^k
 * gives back the value for such an m, m's digits are the shortest: again nearly
 * every number in practice. Otherwise fifteen, sixteen and seventeen digits are
 * tried in turn; subnormal numbers, which hold fewer, start from one.
 */
#include "base/text/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>

enum {
	SIGNIFICANT_MAX = 770, /* a few above 767 */
	POWER_MAX = 22, /* 10^22 is the largest power of ten that a double holds exactly */
	EXPONENT_MAX = 100000, /* beyond it everything is zero or infinite */
};

#define MANTISSA_MAX (UINT64_C(1) << 53)

static const double powers_of_ten[POWER_MAX + 1] = {
	1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* A decimal taken apart: digits (with a point among them), then times 10^exponent. */
struct decimal {
	const char *digits, *end;
	int64_t exponent;
	bool negative;
};

static struct decimal decimal_split(struct str text)
{
	const char *p = text.p, *end = text.p + text.n;
	struct decimal d = { .negative = *p == '-' };
	bool minus = false;

	if (*p == '-' || *p == '+')
		p++;
	d.digits = p;
	while (p < end && (str_is_digit(*p) || *p == '.'))
		p++;
	d.end = p;
	if (p == end)
		return d;
	p++; /* the e */
	if (*p == '-' || *p == '+')
		minus = *p++ == '-';
	for (; p < end; p++)
		if (d.exponent < INT32_MAX)
			d.exponent = d.exponent * 10 + (*p - '0');
	if (minus)
		d.exponent = -d.exponent;
	return d;
}

/* Keeps what may matter of the digits, and the power of ten that belongs to them. */
static size_t decimal_digits(const struct decimal *d, char out[SIGNIFICANT_MAX + 1],
			     int64_t *ret_exponent)
{
	bool fraction = false, more = false;
	int64_t exponent = d->exponent;
	size_t n = 0;

	for (const char *p = d->digits; p < d->end; p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		exponent -= fraction;
		if (n == 0 && *p == '0')
			continue;
		if (n < SIGNIFICANT_MAX) {
			out[n++] = *p;
			continue;
		}
		more = more || *p != '0';
		exponent++;
	}
	if (more) {
		out[n++] = '1';
		exponent--;
	}
	*ret_exponent = exponent;
	return n;
}

static bool parse_slow(const struct decimal *d, double *ret_value)
{
	char text[SIGNIFICANT_MAX + 32];
	int64_t exponent;
	size_t n = decimal_digits(d, text, &exponent);
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double v;

	exponent = MAX(MIN(exponent, EXPONENT_MAX), -EXPONENT_MAX);
	if (n == 0)
		text[n++] = '0';
	(void)snprintf(text + n, sizeof(text) - n, "e%d", (int)exponent);
	v = strtod_l(text, NULL, c);
	freelocale(c);
	if (isinf(v))
		return false;
	*ret_value = d->negative ? -v : v;
	return true;
}

bool json_number_parse(struct str text, double *ret_value)
{
	struct decimal d = decimal_split(text);
	int64_t exponent = d.exponent;
	bool fraction = false;
	uint64_t m = 0;
	double v;

	for (const char *p = d.digits; p < d.end; p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		if (m > MANTISSA_MAX)
			return parse_slow(&d, ret_value);
		m = m * 10 + (uint64_t)(*p - '0');
		exponent -= fraction;
	}
	if (m > MANTISSA_MAX || exponent > POWER_MAX || exponent < -POWER_MAX)
		return parse_slow(&d, ret_value);
	v = (double)m;
	v = exponent < 0 ? v / powers_of_ten[-exponent] : v * powers_of_ten[exponent];
	*ret_value = d.negative ? -v : v;
	return true;
}

static void digits_set(struct json_digits *d, uint64_t m, int exponent)
{
	char reversed[20];
	int n = 0;

	for (; m % 10 == 0; m /= 10)
		exponent++;
	for (; m; m /= 10)
		reversed[n++] = (char)('0' + m % 10);
	d->count = n;
	d->point = n + exponent;
	for (int i = 0; i < n; i++)
		d->digits[i] = reversed[n - 1 - i];
}

/* v is positive. True when at most fifteen digits are the value. */
static bool digits_easy(double v, struct json_digits *d)
{
	const double limit = 1e15;
	double m;

	for (int k = 0; k <= POWER_MAX; k++) {
		m = v * powers_of_ten[k];
		if (m >= limit)
			return false;
		if (m < 1 || m != (double)(uint64_t)m || m / powers_of_ten[k] != v)
			continue;
		digits_set(d, (uint64_t)m, -k);
		return true;
	}
	return false;
}

/* The `count` digits nearest to v > 0. printf's decimal point is whatever the locale says. */
static void digits_round(double v, int count, struct json_digits *d)
{
	char text[64], *e;
	int n = 0;

	(void)snprintf(text, sizeof(text), "%.*e", count - 1, v);
	e = strchr(text, 'e');
	for (char *p = text; p < e && n < count; p++)
		if (str_is_digit(*p))
			d->digits[n++] = *p;
	while (n > 1 && d->digits[n - 1] == '0')
		n--;
	d->count = n;
	d->point = (int)strtol(e + 1, NULL, 10) + 1;
}

/* One unit up in the last place of `count`. */
static void digits_increment(struct json_digits *d, int count)
{
	int i = count - 1;

	memset(d->digits + d->count, '0', (size_t)(count - d->count));
	while (i >= 0 && d->digits[i] == '9')
		i--;
	if (i < 0) {
		d->digits[0] = '0';
		d->point++;
		i = 0;
	}
	d->digits[i]++;
	d->count = i + 1;
}

static double digits_value(const struct json_digits *d)
{
	char text[48];
	double v = INFINITY;
	int n;

	n = snprintf(text, sizeof(text), "%.*se%d", d->count, d->digits, d->point - d->count);
	(void)json_number_parse(str_of(text, (size_t)n), &v);
	return v;
}

/*
 * Below a power of two the doubles lie twice as dense as above it, so the
 * nearest decimal may fall short while one a little above reads back.
 */
static bool digits_try(double v, int count, struct json_digits *d)
{
	int exponent;

	digits_round(v, count, d);
	if (digits_value(d) == v)
		return true;
	if (frexp(v, &exponent) != 0.5)
		return false;
	digits_increment(d, count);
	return digits_value(d) == v;
}

void json_digits_f64(double v, struct json_digits *ret_digits)
{
	*ret_digits = (struct json_digits){ .digits = "0", .count = 1, .point = 1 };
	ret_digits->negative = signbit(v);
	v = fabs(v);
	if (v == 0 || digits_easy(v, ret_digits))
		return;
	for (int count = v < DBL_MIN ? 1 : 15; count <= 17; count++)
		if (digits_try(v, count, ret_digits))
			return;
}

void json_digits_f32(float v, struct json_digits *ret_digits)
{
	*ret_digits = (struct json_digits){ .digits = "0", .count = 1, .point = 1 };
	ret_digits->negative = signbit(v);
	v = fabsf(v);
	for (int count = 1; v != 0 && count <= 9; count++) {
		digits_round((double)v, count, ret_digits);
		if ((float)digits_value(ret_digits) == v)
			return;
	}
}

static size_t put_zeros(char *out, int n)
{
	memset(out, '0', (size_t)n);
	return (size_t)n;
}

/* ddd, ddd000, dd.d or 0.000ddd */
static size_t print_fixed(const struct json_digits *d, char *out)
{
	int whole = MIN(MAX(d->point, 0), d->count);
	size_t n = 0;

	if (d->point <= 0)
		out[n++] = '0';
	memcpy(out + n, d->digits, (size_t)whole);
	n += (size_t)whole;
	if (d->point >= d->count)
		return n + put_zeros(out + n, d->point - d->count);
	out[n++] = '.';
	if (d->point < 0)
		n += put_zeros(out + n, -d->point);
	memcpy(out + n, d->digits + whole, (size_t)(d->count - whole));
	return n + (size_t)(d->count - whole);
}

/* d.ddde+XX with at least `width` digits of exponent */
static size_t print_exponent(const struct json_digits *d, int width, char *out)
{
	int exponent = d->point - 1;
	size_t n = 0;

	out[n++] = d->digits[0];
	if (d->count > 1)
		out[n++] = '.';
	memcpy(out + n, d->digits + 1, (size_t)(d->count - 1));
	n += (size_t)(d->count - 1);
	return n + (size_t)snprintf(out + n, 8, "e%c%0*d", exponent < 0 ? '-' : '+', width,
				    exponent < 0 ? -exponent : exponent);
}

size_t json_number_print(double v, char out[static JSON_NUMBER_MAX])
{
	struct json_digits d;
	size_t sign;

	json_digits_f64(v, &d);
	sign = d.negative ? 1 : 0;
	out[0] = '-';
	/* 1e-6 has its point at -5, 1e21 at 22. */
	if (d.point < -5 || d.point > 21)
		return sign + print_exponent(&d, 1, out + sign);
	return sign + print_fixed(&d, out + sign);
}

size_t json_digits_print_general(const struct json_digits *d, char out[static JSON_NUMBER_MAX])
{
	size_t sign = d->negative ? 1 : 0;

	out[0] = '-';
	if (d->point < -3 || d->point > 6)
		return sign + print_exponent(d, 2, out + sign);
	return sign + print_fixed(d, out + sign);
}

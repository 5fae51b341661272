/*
 * Parsing keeps Go's arithmetic, down to its rounding of fractions by a double,
 * so that a value read here and there is the same number. The ages are a table
 * of thresholds; the thresholds are those of upstream's HumanDuration.
 */
#include "base/time/duration.h"

#include <inttypes.h>

#include "base/core/clock.h"

#define MINUTE_S INT64_C(60)
#define HOUR_S   (60 * MINUTE_S)
#define DAY_S    (24 * HOUR_S)
#define YEAR_S   (365 * DAY_S)

/* The magnitude of INT64_MIN: reading stays below it and decides about the sign last. */
#define MAGNITUDE_MAX (UINT64_C(1) << 63)

/* Prints whole.fraction without trailing zeros, the fraction having `digits` digits. */
static size_t print_decimal(char *out, size_t size, uint64_t whole, uint64_t fraction, int digits)
{
	int n = snprintf(out, size, "%" PRIu64 ".%0*" PRIu64, whole, digits, fraction);

	while (out[n - 1] == '0')
		n--;
	return (size_t)(out[n - 1] == '.' ? n - 1 : n);
}

/* Below one second: in the largest unit that leaves something before the point. */
static size_t print_below_second(char *out, size_t size, uint64_t ns)
{
	size_t n;

	if (ns == 0)
		return (size_t)snprintf(out, size, "0s");
	if (ns < 1000)
		return (size_t)snprintf(out, size, "%" PRIu64 "ns", ns);
	if (ns < 1000000) {
		n = print_decimal(out, size, ns / 1000, ns % 1000, 3);
		return n + (size_t)snprintf(out + n, size - n, "\xc2\xb5s");
	}
	n = print_decimal(out, size, ns / 1000000, ns % 1000000, 6);
	return n + (size_t)snprintf(out + n, size - n, "ms");
}

struct str duration_print(int64_t ns, char out[static DURATION_SIZE])
{
	uint64_t rest = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint64_t seconds = rest / CLOCK_SEC;
	size_t n = 0;

	if (ns < 0)
		out[n++] = '-';
	if (seconds == 0)
		return str_of(out, n + print_below_second(out + n, DURATION_SIZE - n, rest));
	if (seconds >= HOUR_S)
		n += (size_t)snprintf(out + n, DURATION_SIZE - n, "%" PRIu64 "h", seconds / HOUR_S);
	if (seconds >= MINUTE_S)
		n += (size_t)snprintf(out + n, DURATION_SIZE - n, "%" PRIu64 "m",
				      seconds / MINUTE_S % 60);
	n += print_decimal(out + n, DURATION_SIZE - n, seconds % 60, rest % CLOCK_SEC, 9);
	out[n++] = 's';
	out[n] = '\0';
	return str_of(out, n);
}

/* Ages below `below` are shown in `unit`, and what is left over in `minor` if there is one. */
struct age_row {
	int64_t below, unit, minor;
	char letter, minor_letter;
};

static const struct age_row ages[] = {
	{ .below = 2 * MINUTE_S, .unit = 1, .letter = 's' },
	{ 10 * MINUTE_S, MINUTE_S, 1, 'm', 's' },
	{ .below = 3 * HOUR_S, .unit = MINUTE_S, .letter = 'm' },
	{ 8 * HOUR_S, HOUR_S, MINUTE_S, 'h', 'm' },
	{ .below = 2 * DAY_S, .unit = HOUR_S, .letter = 'h' },
	{ 8 * DAY_S, DAY_S, HOUR_S, 'd', 'h' },
	{ .below = 2 * YEAR_S, .unit = DAY_S, .letter = 'd' },
	{ 8 * YEAR_S, YEAR_S, DAY_S, 'y', 'd' },
	{ .below = INT64_MAX, .unit = YEAR_S, .letter = 'y' },
};

struct str duration_print_age(int64_t ns, char out[static DURATION_SIZE])
{
	const struct age_row *row = ages;
	int64_t seconds = ns / CLOCK_SEC, minor;
	int n;

	/* Clocks of two machines may differ a little. */
	if (seconds < -1)
		return str_of(out, (size_t)snprintf(out, DURATION_SIZE, "<invalid>"));
	seconds = MAX(seconds, 0);
	while (seconds >= row->below)
		row++;
	minor = row->minor ? seconds % row->unit / row->minor : 0;
	n = snprintf(out, DURATION_SIZE, "%" PRId64 "%c", seconds / row->unit, row->letter);
	if (minor)
		n += snprintf(out + n, DURATION_SIZE - (size_t)n, "%" PRId64 "%c", minor,
			      row->minor_letter);
	return str_of(out, (size_t)n);
}

struct unit {
	struct str name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ { "ns", 2 }, 1 },
	{ { "us", 2 }, 1000 },
	{ { "\xc2\xb5s", 3 }, 1000 }, /* U+00B5, micro sign */
	{ { "\xce\xbcs", 3 }, 1000 }, /* U+03BC, Greek mu */
	{ { "ms", 2 }, 1000000 },
	{ { "s", 1 }, CLOCK_SEC },
	{ { "m", 1 }, 60 * CLOCK_SEC },
	{ { "h", 1 }, 3600 * CLOCK_SEC },
};

static bool starts_number(struct str s)
{
	return s.n && (s.p[0] == '.' || str_is_digit(s.p[0]));
}

static bool starts_digit(struct str s)
{
	return starts_number(s) && s.p[0] != '.';
}

/* Digits before the point; false beyond MAGNITUDE_MAX. */
static bool read_whole(struct str *s, uint64_t *ret_value)
{
	uint64_t v = 0;

	for (; starts_digit(*s); *s = str_skip(*s, 1)) {
		if (v > MAGNITUDE_MAX / 10)
			return false;
		v = v * 10 + (uint64_t)(s->p[0] - '0');
		if (v > MAGNITUDE_MAX)
			return false;
	}
	*ret_value = v;
	return true;
}

/* Digits behind the point as value / *ret_scale; those that no longer fit are dropped, as in Go. */
static uint64_t read_fraction(struct str *s, double *ret_scale)
{
	uint64_t v = 0, next;
	bool full = false;

	for (*ret_scale = 1; starts_digit(*s); *s = str_skip(*s, 1)) {
		next = v * 10 + (uint64_t)(s->p[0] - '0');
		full = full || v > (MAGNITUDE_MAX - 1) / 10 || next > MAGNITUDE_MAX;
		if (full)
			continue;
		v = next;
		*ret_scale *= 10;
	}
	return v;
}

/* Takes a unit's name, all up to the next number; NULL when there is no such unit. */
static const struct unit *read_unit(struct str *s)
{
	struct str name = *s;

	while (s->n && !starts_number(*s))
		*s = str_skip(*s, 1);
	name.n -= s->n;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (str_eq(units[i].name, name))
			return &units[i];
	return NULL;
}

/* Takes one number with its unit and adds it to *sum. NULL, or what is wrong. */
static const char *read_term(struct str *s, uint64_t *sum)
{
	bool digits = starts_digit(*s);
	const struct unit *unit;
	uint64_t whole, fraction = 0;
	double scale = 1;

	if (!read_whole(s, &whole))
		return "is too long";
	if (s->n && s->p[0] == '.') {
		*s = str_skip(*s, 1);
		digits = digits || starts_digit(*s);
		fraction = read_fraction(s, &scale);
	}
	if (!digits)
		return "is not a number with a unit, such as 1h30m or 300ms";
	unit = read_unit(s);
	if (!unit)
		return "has a number without a unit (ns, us, ms, s, m, h)";
	if (whole > MAGNITUDE_MAX / unit->ns)
		return "is too long";
	whole = whole * unit->ns + (uint64_t)((double)fraction * ((double)unit->ns / scale));
	if (whole > MAGNITUDE_MAX || *sum > MAGNITUDE_MAX - whole)
		return "is too long";
	*sum += whole;
	return NULL;
}

int duration_parse(struct str text, int64_t *ret_ns, struct error *err)
{
	bool negative = text.n && text.p[0] == '-';
	struct str s = negative || (text.n && text.p[0] == '+') ? str_skip(text, 1) : text;
	const char *fault = s.n ? NULL : "is empty";
	uint64_t sum = 0;

	if (str_eqz(s, "0"))
		s = STR_NULL;
	while (s.n && !fault)
		fault = read_term(&s, &sum);
	if (!fault && sum > MAGNITUDE_MAX - (negative ? 0 : 1))
		fault = "is too long";
	if (fault)
		return error_set(err, ERR_BAD_REQUEST, "duration \"%.*s\" %s", STR_ARG(text),
				 fault);
	*ret_ns = negative ? (int64_t)(0 - sum) : (int64_t)sum;
	return 0;
}

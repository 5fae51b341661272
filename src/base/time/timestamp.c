/*
 * Calendar arithmetic counts from 1 March: the leap day is then the last of
 * the year, the lengths of the months follow one linear formula, and leap
 * years need no special case. Reading goes field by field over a shrinking
 * str; the ranges are checked once all fields are known.
 */
#include "base/time/timestamp.h"

#include "base/core/clock.h"

enum {
	DAY_S = 86400,
	DAYS_4 = 4 * 365 + 1, /* days of 4, 100 and 400 years, a leap year in the last place */
	DAYS_100 = 25 * DAYS_4 - 1,
	DAYS_400 = 4 * DAYS_100 + 1,
	EPOCH_DAYS = 719468, /* from 0000-03-01 to 1970-01-01 */
};

struct civil {
	int year, month, day;
	int hour, minute, second;
	int nanosecond;
	int offset_s; /* east of UTC */
	int offset_hour, offset_minute; /* as written */
};

/* Days since 1970-01-01 of a date from year 0 on. */
static int64_t days_from_civil(const struct civil *c)
{
	/* 400 years later, so that January and February of year 0 stay positive too. */
	int64_t year = c->year + 400 - (c->month <= 2);
	int month = (c->month + 9) % 12; /* March is 0 */

	return year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + c->day -
	       1 - DAYS_400 - EPOCH_DAYS;
}

/* The other way round, for days not before 0000-03-01. */
static void civil_from_days(int64_t days, struct civil *c)
{
	int64_t day = days + EPOCH_DAYS, cycle = day / DAYS_400, year;
	int month;

	day %= DAYS_400;
	/* Taking the leap days passed out of the count leaves years of 365 days. */
	year = (day - day / (DAYS_4 - 1) + day / DAYS_100 - day / (DAYS_400 - 1)) / 365;
	day -= year * 365 + year / 4 - year / 100;
	month = (int)(5 * day + 2) / 153;
	c->day = (int)day - (153 * month + 2) / 5 + 1;
	c->month = month < 10 ? month + 3 : month - 9;
	c->year = (int)(cycle * 400 + year) + (c->month <= 2);
}

/* Rounds down, where C rounds to zero. */
static int64_t divide(int64_t v, int64_t by, int64_t *ret_rest)
{
	int64_t quotient = v / by;

	*ret_rest = v % by;
	if (*ret_rest < 0) {
		*ret_rest += by;
		quotient--;
	}
	return quotient;
}

static struct civil civil_from_seconds(int64_t seconds, int64_t ns)
{
	struct civil c = { .nanosecond = (int)ns };
	int64_t second, days = divide(seconds, DAY_S, &second);

	civil_from_days(days, &c);
	c.hour = (int)second / 3600;
	c.minute = (int)second / 60 % 60;
	c.second = (int)second % 60;
	return c;
}

int64_t timestamp_of_date(int year, int month, int day)
{
	return days_from_civil(&(struct civil){ .year = year, .month = month, .day = day }) * DAY_S;
}

struct timestamp_civil timestamp_civil(int64_t seconds)
{
	struct civil c = civil_from_seconds(seconds, 0);
	int64_t second, weekday, days = divide(seconds, DAY_S, &second);

	/* 1970 began on a Thursday. */
	(void)divide(days + 4, 7, &weekday);
	return (struct timestamp_civil){
		.year = c.year,
		.month = c.month,
		.day = c.day,
		.hour = c.hour,
		.minute = c.minute,
		.second = c.second,
		.weekday = (int)weekday,
		.yearday = (int)(days - timestamp_of_date(c.year, 1, 1) / DAY_S),
	};
}

/* Writes `width` digits and then a character; returns what follows. */
static char *timestamp_put(char *out, int value, int width, char after)
{
	for (int i = width; i-- > 0; value /= 10)
		out[i] = (char)('0' + value % 10);
	out[width] = after;
	return out + width + 1;
}

/* Writes all nine digits of the fraction; returns where the first of them is. */
static char *time_timestamp_print(struct civil c, char out[static TIMESTAMP_SIZE])
{
	char *at = out;

	at = timestamp_put(at, c.year, 4, '-');
	at = timestamp_put(at, c.month, 2, '-');
	at = timestamp_put(at, c.day, 2, 'T');
	at = timestamp_put(at, c.hour, 2, ':');
	at = timestamp_put(at, c.minute, 2, ':');
	at = timestamp_put(at, c.second, 2, '.');
	(void)timestamp_put(at, c.nanosecond, TIMESTAMP_NANO, 'Z');
	return at;
}

struct str timestamp_print(int64_t ns, enum timestamp_digits digits,
			   char out[static TIMESTAMP_SIZE])
{
	int64_t rest, seconds = divide(ns, CLOCK_SEC, &rest);
	char *at = time_timestamp_print(civil_from_seconds(seconds, rest), out);

	/* The coarser forms end before, or without, the point. */
	at = digits ? at + digits : at - 1;
	*at++ = 'Z';
	*at = '\0';
	return str_of(out, (size_t)(at - out));
}

struct str timestamp_print_wide(struct timestamp t, char out[static TIMESTAMP_SIZE])
{
	int minutes = t.offset < 0 ? -t.offset : t.offset;
	char *at = time_timestamp_print(civil_from_seconds(t.seconds + t.offset * 60, t.ns), out) +
		   TIMESTAMP_NANO;

	while (at[-1] == '0' && t.ns != 0)
		at--;
	if (t.ns == 0)
		at -= TIMESTAMP_NANO + 1;
	if (t.offset == 0) {
		*at++ = 'Z';
	} else {
		*at++ = t.offset < 0 ? '-' : '+';
		at = timestamp_put(timestamp_put(at, minutes / 60, 2, ':'), minutes % 60, 2, '\0') -
		     1;
	}
	*at = '\0';
	return str_of(out, (size_t)(at - out));
}

static bool is_digit(struct str s, size_t at)
{
	return at < s.n && str_is_digit(s.p[at]);
}

/* Takes exactly n digits off the front. */
static bool read_digits(struct str *s, size_t n, int *ret_value)
{
	int v = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_digit(*s, i))
			return false;
		v = v * 10 + (s->p[i] - '0');
	}
	*s = str_skip(*s, n);
	*ret_value = v;
	return true;
}

static bool read_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static bool read_date_and_time(struct str *s, struct civil *c)
{
	return read_digits(s, 4, &c->year) && read_char(s, '-') && read_digits(s, 2, &c->month) &&
	       read_char(s, '-') && read_digits(s, 2, &c->day) && read_char(s, 'T') &&
	       read_digits(s, is_digit(*s, 1) ? 2 : 1, &c->hour) && read_char(s, ':') &&
	       read_digits(s, 2, &c->minute) && read_char(s, ':') && read_digits(s, 2, &c->second);
}

/* A point without a digit behind it is left for the next reader to refuse. */
static void read_fraction(struct str *s, struct civil *c)
{
	int scale = (int)CLOCK_SEC / 10;

	if (s->n == 0 || (s->p[0] != '.' && s->p[0] != ',') || !is_digit(*s, 1))
		return;
	for (*s = str_skip(*s, 1); is_digit(*s, 0); *s = str_skip(*s, 1)) {
		c->nanosecond += (s->p[0] - '0') * scale;
		scale /= 10;
	}
}

static bool read_offset(struct str *s, struct civil *c)
{
	int sign = 1;

	if (read_char(s, 'Z'))
		return true;
	if (read_char(s, '-'))
		sign = -1;
	else if (!read_char(s, '+'))
		return false;
	if (!read_digits(s, 2, &c->offset_hour) || !read_char(s, ':') ||
	    !read_digits(s, 2, &c->offset_minute))
		return false;
	c->offset_s = sign * (c->offset_hour * 3600 + c->offset_minute * 60);
	return true;
}

static int days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* The field that is out of range, or NULL. */
static const char *out_of_range(const struct civil *c)
{
	if (c->month < 1 || c->month > 12)
		return "month";
	if (c->day < 1 || c->day > days_in_month(c->year, c->month))
		return "day";
	if (c->hour > 23)
		return "hour";
	if (c->minute > 59)
		return "minute";
	if (c->second > 59)
		return "second";
	/* "as some people do write offsets of 24 hours or 60 minutes", says time.Parse. */
	if (c->offset_hour > 24)
		return "offset hour";
	return c->offset_minute > 60 ? "offset minute" : NULL;
}

static int64_t to_seconds(const struct civil *c)
{
	return days_from_civil(c) * DAY_S + c->hour * 3600 + c->minute * 60 + c->second -
	       c->offset_s;
}

static bool to_ns(const struct civil *c, int64_t *ret_ns)
{
	int64_t seconds = to_seconds(c), nanoseconds = c->nanosecond, ns;

	/* Before 1970 the product alone may pass the limit that the fraction leads back from. */
	if (seconds < 0 && nanoseconds > 0) {
		seconds++;
		nanoseconds -= CLOCK_SEC;
	}
	if (__builtin_mul_overflow(seconds, CLOCK_SEC, &ns) ||
	    __builtin_add_overflow(ns, nanoseconds, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

static int time_timestamp_parse(struct str text, struct civil *c, struct error *err)
{
	struct str s = text;
	const char *field;
	bool ok;

	ok = read_date_and_time(&s, c);
	if (ok)
		read_fraction(&s, c);
	if (!ok || !read_offset(&s, c) || s.n != 0)
		return error_set(err, ERR_BAD_REQUEST,
				 "\"%.*s\" is not an RFC 3339 time such as 2006-01-02T15:04:05Z",
				 STR_ARG(text));
	field = out_of_range(c);
	if (field)
		return error_set(err, ERR_BAD_REQUEST, "time \"%.*s\": %s out of range",
				 STR_ARG(text), field);
	return 0;
}

int timestamp_parse(struct str text, int64_t *ret_ns, struct error *err)
{
	struct civil c = { 0 };
	int r = time_timestamp_parse(text, &c, err);

	if (r < 0)
		return r;
	if (!to_ns(&c, ret_ns))
		return error_set(err, ERR_BAD_REQUEST,
				 "time \"%.*s\" is not between the years 1677 and 2262",
				 STR_ARG(text));
	return 0;
}

int timestamp_parse_wide(struct str text, struct timestamp *ret_time, struct error *err)
{
	struct civil c = { 0 };
	int r = time_timestamp_parse(text, &c, err);

	if (r < 0)
		return r;
	*ret_time = (struct timestamp){ .seconds = to_seconds(&c),
					.ns = (uint32_t)c.nanosecond,
					.offset = (int16_t)(c.offset_s / 60) };
	return 0;
}

/* Parsed by hand: a pattern would have to be compiled, and does not know the calendar. */
#include "base/time/date.h"

static bool two_digits(struct str s, size_t at, unsigned min, unsigned max)
{
	uint64_t value;

	return at + 2 <= s.n && str_to_u64(str_of(s.p + at, 2), &value) && value >= min &&
	       value <= max;
}

static unsigned days_of(unsigned year, unsigned month)
{
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	if (month == 2)
		return leap ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

bool date_is_valid(struct str s)
{
	uint64_t year, month;

	if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-' || !str_to_u64(str_of(s.p, 4), &year) ||
	    !two_digits(s, 5, 1, 12) || !str_to_u64(str_of(s.p + 5, 2), &month))
		return false;
	return two_digits(s, 8, 1, days_of((unsigned)year, (unsigned)month));
}

/* hh:mm:ss[.fraction](z|+hh:mm), in either case. */
static bool is_time(struct str s)
{
	size_t at = 8;

	if (s.n < 9 || s.p[2] != ':' || s.p[5] != ':' || !two_digits(s, 0, 0, 23) ||
	    !two_digits(s, 3, 0, 59) || !two_digits(s, 6, 0, 59))
		return false;
	if (str_is_digit(s.p[at]))
		return false;
	/* strfmt's pattern accepts any character for the point. */
	if (at + 1 < s.n && str_is_digit(s.p[at + 1]) && !(s.n == at + 6 && s.p[at + 3] == ':')) {
		at++;
		while (at < s.n && str_is_digit(s.p[at]))
			at++;
	}
	if (at + 1 == s.n)
		return s.p[at] == 'z' || s.p[at] == 'Z';
	return at + 6 == s.n && (s.p[at] == '+' || s.p[at] == '-') && s.p[at + 3] == ':' &&
	       two_digits(s, at + 1, 0, 99) && two_digits(s, at + 4, 0, 99);
}

bool date_time_is_valid(struct str s)
{
	struct str time = str_skip(s, 11);

	if (s.n < 12 || (s.p[10] != 'T' && s.p[10] != 't'))
		return false;
	/* strfmt splits at every T and uses the first two pieces. */
	for (size_t i = 0; i < time.n; i++) {
		if (time.p[i] == 'T' || time.p[i] == 't')
			time.n = i;
	}
	return date_is_valid(str_of(s.p, 10)) && is_time(time);
}

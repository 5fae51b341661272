/*
 * A file has its data twice: for version 1 with 32-bit times, which is skipped, then with 64-bit
 * times. These are kept as they are and searched by halving; all that a search relies on is checked
 * once, when reading.
 *
 * Under a rule clocks are changed twice a year. The change that was last is looked for among those
 * of three years, since far from Greenwich a year begins in another one.
 */
#include "base/time/zone.h"

#include "base/time/timestamp.h"

enum {
	HEADER_SIZE = 44,
	TYPE_SIZE = 6,
	DAY_S = 86400,
	HOUR_S = 3600,
	/* The range of offsets in RFC 8536. */
	OFFSET_MIN = -25 * HOUR_S + 1,
	OFFSET_MAX = 26 * HOUR_S - 1,
};

/* Years 1 to 9999, which the calendar supports. */
#define SECONDS_MIN INT64_C(-62135596800)
#define SECONDS_MAX INT64_C(253402300799)

/* --- the file ----------------------------------------------------------------------- */

/* Counts of a data block. */
struct header {
	uint32_t isut, isstd, leap, time, type, chars;
};

static uint32_t get_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t get_i64(const unsigned char *p)
{
	return (int64_t)((uint64_t)get_u32(p) << 32 | get_u32(p + 4));
}

/* Takes a header off the front. */
static bool read_header(struct str *s, struct header *h)
{
	const unsigned char *p = (const unsigned char *)s->p;

	if (s->n < HEADER_SIZE || !str_starts(*s, STR("TZif")) || p[4] < '2')
		return false;
	*h = (struct header){ get_u32(p + 20), get_u32(p + 24), get_u32(p + 28),
			      get_u32(p + 32), get_u32(p + 36), get_u32(p + 40) };
	*s = str_skip(*s, HEADER_SIZE);
	return true;
}

/* Bytes of a data block whose times have `width` bytes. */
static uint64_t block_size(const struct header *h, unsigned width)
{
	return (uint64_t)h->time * (width + 1) + (uint64_t)h->type * TYPE_SIZE + h->chars +
	       (uint64_t)h->leap * (width + 4) + h->isstd + h->isut;
}

/* Times ascend, types exist, offsets are such. */
static bool is_sound(const struct zone *z)
{
	for (uint32_t i = 0; i < z->ntimes; i++) {
		const unsigned char *at = z->times + (size_t)i * 8;

		if (z->types_at[i] >= z->ntypes || (i > 0 && get_i64(at - 8) >= get_i64(at)))
			return false;
	}
	for (uint32_t i = 0; i < z->ntypes; i++) {
		int32_t offset = (int32_t)get_u32(z->types + (size_t)i * TYPE_SIZE);

		if (offset < OFFSET_MIN || offset > OFFSET_MAX)
			return false;
	}
	return z->ntypes > 0;
}

static bool read_block(struct str *s, struct zone *z)
{
	struct header h;

	if (!read_header(s, &h) || block_size(&h, 8) > s->n)
		return false;
	z->ntimes = h.time;
	z->ntypes = h.type;
	z->times = (const unsigned char *)s->p;
	z->types_at = z->times + (size_t)h.time * 8;
	z->types = z->types_at + h.time;
	*s = str_skip(*s, block_size(&h, 8));
	return is_sound(z);
}

/* --- the rule ----------------------------------------------------------------------- */

static bool read_char(struct str *s, char c)
{
	if (s->n == 0 || s->p[0] != c)
		return false;
	*s = str_skip(*s, 1);
	return true;
}

static bool zone_read_number(struct str *s, int max, int *ret_value)
{
	size_t n = 0;
	int v = 0;

	for (; n < s->n && n < 4 && str_is_digit(s->p[n]); n++)
		v = v * 10 + (s->p[n] - '0');
	if (n == 0 || v > max)
		return false;
	*s = str_skip(*s, n);
	*ret_value = v;
	return true;
}

/* [+-]hh[:mm[:ss]] in seconds. */
static bool zone_read_time(struct str *s, int hours_max, int32_t *ret_seconds)
{
	int hours, minutes = 0, seconds = 0, sign = 1;

	if (read_char(s, '-'))
		sign = -1;
	else
		(void)read_char(s, '+');
	if (!zone_read_number(s, hours_max, &hours) ||
	    (read_char(s, ':') && (!zone_read_number(s, 59, &minutes) ||
				   (read_char(s, ':') && !zone_read_number(s, 59, &seconds)))))
		return false;
	*ret_seconds = sign * (hours * HOUR_S + minutes * 60 + seconds);
	return true;
}

/* Letters, or anything in angle brackets; what it is does not matter. */
static bool read_name(struct str *s)
{
	size_t n = 0;
	ptrdiff_t end;

	if (read_char(s, '<')) {
		end = str_chr(*s, '>');
		*s = end < 0 ? *s : str_skip(*s, (size_t)end + 1);
		return end > 0;
	}
	while (n < s->n && str_is_letter(s->p[n]))
		n++;
	*s = str_skip(*s, n);
	return n >= 3;
}

/* ",Mm.w.d", ",Jn" or ",n", then "/time". */
static bool read_change(struct str *s, struct zone_change *c)
{
	bool ok;

	*c = (struct zone_change){ .time = 2 * HOUR_S };
	if (!read_char(s, ','))
		return false;
	if (read_char(s, 'M')) {
		c->kind = ZONE_WEEKDAY;
		ok = zone_read_number(s, 12, &c->month) && c->month > 0 && read_char(s, '.') &&
		     zone_read_number(s, 5, &c->week) && c->week > 0 && read_char(s, '.') &&
		     zone_read_number(s, 6, &c->day);
	} else if (read_char(s, 'J')) {
		c->kind = ZONE_JULIAN;
		ok = zone_read_number(s, 365, &c->day) && c->day > 0;
	} else {
		c->kind = ZONE_DAY;
		ok = zone_read_number(s, 365, &c->day);
	}
	return ok && (!read_char(s, '/') || zone_read_time(s, 167, &c->time));
}

/* Offsets of rules count west of Greenwich. */
static bool read_rule(struct str s, struct zone *z)
{
	int32_t west;

	if (!read_name(&s) || !zone_read_time(&s, 24, &west))
		return false;
	z->has_rule = true;
	z->standard_offset = -west;
	if (s.n == 0)
		return true;
	z->has_summer = true;
	z->summer_offset = z->standard_offset + HOUR_S;
	if (!read_name(&s))
		return false;
	if (s.n > 0 && s.p[0] != ',') {
		if (!zone_read_time(&s, 24, &west))
			return false;
		z->summer_offset = -west;
	}
	/* POSIX leaves open when summer is; everybody takes what holds in North America. */
	if (s.n == 0)
		s = STR(",M3.2.0,M11.1.0");
	return read_change(&s, &z->summer_begins) && read_change(&s, &z->summer_ends) && s.n == 0;
}

int zone_of_rule(struct str rule, struct zone *ret_zone, struct error *err)
{
	struct zone z = { 0 };

	if (!read_rule(rule, &z))
		return error_set(err, ERR_BAD_REQUEST, "\"%.*s\" is not a valid time zone rule",
				 STR_ARG(rule));
	*ret_zone = z;
	return 0;
}

int zone_parse(struct str bytes, struct zone *ret_zone, struct error *err)
{
	struct str s = bytes, footer;
	struct zone z = { 0 };
	struct header h;

	if (!read_header(&s, &h) || block_size(&h, 4) > s.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "no time zone in the format TZif, version 2 or later");
	s = str_skip(s, block_size(&h, 4));
	if (!read_block(&s, &z))
		return error_set(err, ERR_BAD_REQUEST, "the data of the time zone is damaged");
	if (!read_char(&s, '\n') || str_chr(s, '\n') < 0)
		return error_set(
			err, ERR_BAD_REQUEST,
			"the time zone data have no footer, which has the rule for later years");
	footer = str_of(s.p, (size_t)str_chr(s, '\n'));
	if (footer.n > 0 && !read_rule(footer, &z))
		return error_set(err, ERR_BAD_REQUEST, "the rule of the time zone is damaged");
	*ret_zone = z;
	return 0;
}

/* --- offsets ------------------------------------------------------------------------ */

static bool is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from the beginning of the year. */
static int64_t day_of_change(const struct zone_change *c, int year)
{
	int64_t first, next, day;
	int weekday;

	if (c->kind == ZONE_DAY)
		return c->day;
	if (c->kind == ZONE_JULIAN) /* day 60 is 1 March, in leap years one day later */
		return c->day - 1 + (c->day >= 60 && is_leap(year));
	first = timestamp_of_date(year, c->month, 1);
	next = timestamp_of_date(c->month == 12 ? year + 1 : year, c->month % 12 + 1, 1);
	weekday = timestamp_civil(first).weekday;
	day = (c->day - weekday + 7) % 7 + (int64_t)(c->week - 1) * 7;
	if (day >= (next - first) / DAY_S)
		day -= 7;
	return (first - timestamp_of_date(year, 1, 1)) / DAY_S + day;
}

/* When that is; `offset` holds until then. */
static int64_t time_of_change(const struct zone_change *c, int year, int32_t offset)
{
	return timestamp_of_date(year, 1, 1) + day_of_change(c, year) * DAY_S + c->time - offset;
}

static int32_t rule_offset(const struct zone *z, int64_t seconds)
{
	int64_t last = INT64_MIN, begins, ends;
	bool summer = false;
	int year;

	if (!z->has_summer)
		return z->standard_offset;
	seconds = MIN(MAX(seconds, SECONDS_MIN), SECONDS_MAX);
	year = timestamp_civil(seconds).year;
	for (int y = year - 1; y <= year + 1; y++) {
		begins = time_of_change(&z->summer_begins, y, z->standard_offset);
		ends = time_of_change(&z->summer_ends, y, z->summer_offset);
		if (ends <= seconds && ends > last) {
			last = ends;
			summer = false;
		}
		/* Where one summer ends as the next begins, there is no other season. */
		if (begins <= seconds && begins >= last) {
			last = begins;
			summer = true;
		}
	}
	return summer ? z->summer_offset : z->standard_offset;
}

int32_t zone_offset(const struct zone *z, int64_t seconds)
{
	uint32_t low = 0, high = z->ntimes, middle, type;

	/* How many transitions are past. */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (get_i64(z->times + (size_t)middle * 8) <= seconds)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == z->ntimes && z->has_rule)
		return rule_offset(z, seconds);
	type = low == 0 ? 0 : z->types_at[low - 1];
	return (int32_t)get_u32(z->types + (size_t)type * TYPE_SIZE);
}

/*
 * Arithmetic on times, and their calendar and clock fields. For a time zone, the timestamp is
 * shifted by the zone's offset, so that its UTC calendar shows the local date.
 */
#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "cel/lib/standard.h"

struct cel_value cel_std_add_durations(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t sum;

	(void)ev;
	if (__builtin_add_overflow(args[0].i, args[1].i, &sum))
		return CEL_ERROR_V("integer overflow");
	return CEL_DURATION_V(sum);
}

struct cel_value cel_std_subtract_durations(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t rest;

	(void)ev;
	if (__builtin_sub_overflow(args[0].i, args[1].i, &rest))
		return CEL_ERROR_V("integer overflow");
	return CEL_DURATION_V(rest);
}

struct cel_value cel_std_subtract_timestamps(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t ns, nanos = (int64_t)args[0].nanos - args[1].nanos;

	(void)ev;
	/* Seconds span some 3e11, so that only the product can overflow. */
	if (__builtin_mul_overflow(args[0].i - args[1].i, CLOCK_SEC, &ns) ||
	    __builtin_add_overflow(ns, nanos, &ns))
		return CEL_ERROR_V("integer overflow");
	return CEL_DURATION_V(ns);
}

static struct cel_value standard_time_add(struct cel_value timestamp, int64_t ns)
{
	int64_t nanos = (int64_t)timestamp.nanos + ns % CLOCK_SEC;

	timestamp.i += ns / CLOCK_SEC;
	if (nanos < 0 || nanos >= CLOCK_SEC) {
		timestamp.i += nanos < 0 ? -1 : 1;
		nanos += nanos < 0 ? CLOCK_SEC : -CLOCK_SEC;
	}
	timestamp.nanos = (uint32_t)nanos;
	if (timestamp.i < CEL_TIMESTAMP_MIN || timestamp.i > CEL_TIMESTAMP_MAX)
		return CEL_ERROR_V("timestamp overflow");
	return timestamp;
}

struct cel_value cel_std_add_timestamp_duration(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return standard_time_add(args[0], args[1].i);
}

struct cel_value cel_std_add_duration_timestamp(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return standard_time_add(args[1], args[0].i);
}

struct cel_value cel_std_subtract_timestamp_duration(struct cel_eval *ev,
						     const struct cel_value *args)
{
	(void)ev;
	if (args[1].i == INT64_MIN)
		return CEL_ERROR_V("integer overflow");
	return standard_time_add(args[0], -args[1].i);
}

/* --- time zones --------------------------------------------------------------------- */

/* Of numbers in an offset: far beyond what is used, and nothing overflows. */
enum { OFFSET_NUMBER_MAX = 10000 };

/* A number as Go's Atoi reads it: a sign of either kind. */
static bool standard_time_read_number(struct str s, int64_t *ret_value)
{
	if (s.n > 1 && s.p[0] == '+' && s.p[1] != '-')
		s = str_skip(s, 1);
	return str_to_i64(s, ret_value);
}

static bool is_small(int64_t v)
{
	return v >= -OFFSET_NUMBER_MAX && v <= OFFSET_NUMBER_MAX;
}

/* "+02:00", "-08:00", "02:00": hours and minutes that have the sign of the whole. */
static struct cel_value numeric_offset(struct cel_eval *ev, struct str zone, size_t colon,
				       int32_t *ret_offset)
{
	struct str whole = str_of(zone.p, colon), part = str_skip(zone, colon + 1);
	int64_t hours, minutes;

	if (!standard_time_read_number(whole, &hours) || !standard_time_read_number(part, &minutes))
		return cel_errorf(ev, "strconv.Atoi: parsing \"%.*s\": invalid syntax",
				  STR_ARG(standard_time_read_number(whole, &hours) ? part : whole));
	if (!is_small(hours) || !is_small(minutes))
		return cel_errorf(ev, "timezone offset out of range: %.*s", STR_ARG(zone));
	*ret_offset = (int32_t)(hours * 3600 + (zone.p[0] == '-' ? -minutes : minutes) * 60);
	return CEL_NULL_V;
}

/*
 * Sets *ret_offset and returns null, or returns an error. Rejects names with a path out of the zone
 * folder.
 */
static struct cel_value offset_of(struct cel_eval *ev, const struct cel_value *timestamp,
				  struct str zone, int32_t *ret_offset)
{
	ptrdiff_t colon = str_chr(zone, ':');

	*ret_offset = 0;
	if (colon >= 0)
		return numeric_offset(ev, zone, (size_t)colon, ret_offset);
	if (zone.n == 0 || str_eqz(zone, "UTC"))
		return CEL_NULL_V;
	if (zone.p[0] == '/' || zone.p[0] == '\\' || str_find(zone, STR("..")) >= 0)
		return CEL_ERROR_V("time: invalid location name");
	if (!ev->zone_offset || !ev->zone_offset(ev->zones, zone, timestamp->i, ret_offset))
		return cel_errorf(ev, "unknown time zone %.*s", STR_ARG(zone));
	return CEL_NULL_V;
}

/* The calendar counts from 0000-03-01. */
#define CALENDAR_MIN INT64_C(-62162035200)

/*
 * For each part one function of a timestamp in UTC and one of a timestamp and a zone. `c` is
 * what the calendar shows, `t` the timestamp.
 */
#define PART(name, value)                                                                         \
	static struct cel_value part_##name(const struct cel_value *t, struct timestamp_civil c)  \
	{                                                                                         \
		(void)t;                                                                          \
		(void)c;                                                                          \
		return CEL_INT_V(value);                                                          \
	}                                                                                         \
                                                                                                  \
	struct cel_value cel_std_##name(struct cel_eval *ev, const struct cel_value *args)        \
	{                                                                                         \
		(void)ev;                                                                         \
		return part_##name(args, timestamp_civil(args[0].i));                             \
	}                                                                                         \
                                                                                                  \
	struct cel_value cel_std_##name##_in(struct cel_eval *ev, const struct cel_value *args)   \
	{                                                                                         \
		struct cel_value error;                                                           \
		int32_t offset;                                                                   \
                                                                                                  \
		error = offset_of(ev, &args[0], args[1].s, &offset);                              \
		if (cel_is_error(error))                                                          \
			return error;                                                             \
		return part_##name(args, timestamp_civil(MAX(args[0].i + offset, CALENDAR_MIN))); \
	}

PART(year, c.year)
PART(month, c.month - 1)
PART(day_of_year, c.yearday)
PART(day_of_month, c.day - 1)
PART(date, c.day)
PART(day_of_week, c.weekday)
PART(hours, c.hour)
PART(minutes, c.minute)
PART(seconds, c.second)
PART(milliseconds, t->nanos / 1000000)

/* --- durations ---------------------------------------------------------------------- */

/*
 * Upstream goes by way of a double, which rounds a length of years that lacks a nanosecond up to
 * the whole unit.
 */
static struct cel_value whole(int64_t ns, int64_t unit)
{
	int64_t units = ns / unit, rest = ns % unit;

	return CEL_INT_V((int64_t)((double)units + (double)rest / (double)unit));
}

struct cel_value cel_std_duration_hours(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return whole(args[0].i, 3600 * CLOCK_SEC);
}

struct cel_value cel_std_duration_minutes(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return whole(args[0].i, 60 * CLOCK_SEC);
}

struct cel_value cel_std_duration_seconds(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return whole(args[0].i, CLOCK_SEC);
}

/* All of them, as clusters have it; the specification would have the part below a second. */
struct cel_value cel_std_duration_milliseconds(struct cel_eval *ev, const struct cel_value *args)
{
	(void)ev;
	return CEL_INT_V(args[0].i / CLOCK_MS);
}

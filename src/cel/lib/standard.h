/*
 * lib_standard - the functions in the table of lib/standard.c.
 *
 * Private to it. Arguments are as in the signature of the overload.
 */
#ifndef CEL_LIB_STANDARD_H
#define CEL_LIB_STANDARD_H

#include "cel/core/library.h"

/* All functions have this type. */
struct cel_value cel_std_not(struct cel_eval *ev, const struct cel_value *args);

/* lib/standard_operators.c */
__typeof__(cel_std_not) cel_std_negate_int, cel_std_negate_double;
__typeof__(cel_std_not) cel_std_add_int, cel_std_add_uint, cel_std_add_double, cel_std_add_text,
	cel_std_add_list;
__typeof__(cel_std_not) cel_std_subtract_int, cel_std_subtract_uint, cel_std_subtract_double;
__typeof__(cel_std_not) cel_std_multiply_int, cel_std_multiply_uint, cel_std_multiply_double;
__typeof__(cel_std_not) cel_std_divide_int, cel_std_divide_uint, cel_std_divide_double;
__typeof__(cel_std_not) cel_std_modulo_int, cel_std_modulo_uint;
__typeof__(cel_std_not) cel_std_equals, cel_std_not_equals;
__typeof__(cel_std_not) cel_std_less, cel_std_less_equals, cel_std_greater, cel_std_greater_equals;
__typeof__(cel_std_not) cel_std_in_list, cel_std_in_map, cel_std_index;
__typeof__(cel_std_not) cel_std_size, cel_std_contains, cel_std_starts_with, cel_std_ends_with,
	cel_std_matches;

/* lib/standard_convert.c */
__typeof__(cel_std_not) cel_std_same; /* identity conversions, and dyn() */
__typeof__(cel_std_not) cel_std_type;
__typeof__(cel_std_not) cel_std_bool_of_string, cel_std_bytes_of_string;
__typeof__(cel_std_not) cel_std_double_of_int, cel_std_double_of_uint, cel_std_double_of_string;
__typeof__(cel_std_not) cel_std_int_of_uint, cel_std_int_of_double, cel_std_int_of_string,
	cel_std_int_of_timestamp, cel_std_int_of_duration;
__typeof__(cel_std_not) cel_std_uint_of_int, cel_std_uint_of_double, cel_std_uint_of_string;
__typeof__(cel_std_not) cel_std_string_of_bytes, cel_std_string_of_bool, cel_std_string_of_int,
	cel_std_string_of_uint, cel_std_string_of_any;
__typeof__(cel_std_not) cel_std_timestamp_of_int, cel_std_timestamp_of_string,
	cel_std_duration_of_string;

/* lib/standard_time.c; the time zone of timestamp functions is optional */
__typeof__(cel_std_not) cel_std_add_durations, cel_std_subtract_durations,
	cel_std_subtract_timestamps;
__typeof__(cel_std_not) cel_std_add_timestamp_duration, cel_std_add_duration_timestamp,
	cel_std_subtract_timestamp_duration;
__typeof__(cel_std_not) cel_std_year, cel_std_month, cel_std_day_of_year, cel_std_day_of_month,
	cel_std_date, cel_std_day_of_week, cel_std_hours, cel_std_minutes, cel_std_seconds,
	cel_std_milliseconds;
__typeof__(cel_std_not) cel_std_year_in, cel_std_month_in, cel_std_day_of_year_in,
	cel_std_day_of_month_in, cel_std_date_in, cel_std_day_of_week_in, cel_std_hours_in,
	cel_std_minutes_in, cel_std_seconds_in, cel_std_milliseconds_in;
__typeof__(cel_std_not) cel_std_duration_hours, cel_std_duration_minutes, cel_std_duration_seconds,
	cel_std_duration_milliseconds;

#endif

/*
 * The table of CEL's standard library, with the overload IDs that costs use. Rows of one function
 * are in upstream's order, which messages about several candidates show.
 */
#include "cel/lib/standard.h"

#include "cel/lib/libraries.h"
#include "cel/parse/macro.h"

#define UNARY(function, id, result, a, call)                              \
	{                                                                 \
		function, id, &cel_##result, { &cel_##a }, 1, false, call \
	}
#define BINARY(function, id, result, a, b, call)                                    \
	{                                                                           \
		function, id, &cel_##result, { &cel_##a, &cel_##b }, 2, false, call \
	}
#define TERNARY(function, id, result, a, b, c, call)                                          \
	{                                                                                     \
		function, id, &cel_##result, { &cel_##a, &cel_##b, &cel_##c }, 3, false, call \
	}
#define METHOD(function, id, result, a, call)                            \
	{                                                                \
		function, id, &cel_##result, { &cel_##a }, 1, true, call \
	}
#define METHOD2(function, id, result, a, b, call)                                  \
	{                                                                          \
		function, id, &cel_##result, { &cel_##a, &cel_##b }, 2, true, call \
	}

/* All that has an order; numbers of any two types. */
#define COMPARISONS(function, id, call)                                              \
	BINARY(function, id "_bool", bool, bool, bool, call),                        \
		BINARY(function, id "_int64", bool, int, int, call),                 \
		BINARY(function, id "_int64_double", bool, int, double, call),       \
		BINARY(function, id "_int64_uint64", bool, int, uint, call),         \
		BINARY(function, id "_uint64", bool, uint, uint, call),              \
		BINARY(function, id "_uint64_double", bool, uint, double, call),     \
		BINARY(function, id "_uint64_int64", bool, uint, int, call),         \
		BINARY(function, id "_double", bool, double, double, call),          \
		BINARY(function, id "_double_int64", bool, double, int, call),       \
		BINARY(function, id "_double_uint64", bool, double, uint, call),     \
		BINARY(function, id "_string", bool, string, string, call),          \
		BINARY(function, id "_bytes", bool, bytes, bytes, call),             \
		BINARY(function, id "_timestamp", bool, timestamp, timestamp, call), \
		BINARY(function, id "_duration", bool, duration, duration, call)

/* clang-format off: one row, one line. */
static const struct cel_overload overloads[] = {
	UNARY("!_", "logical_not", bool, bool, cel_std_not),
	UNARY("-_", "negate_double", double, double, cel_std_negate_double),
	UNARY("-_", "negate_int64", int, int, cel_std_negate_int),
	BINARY("@in", "in_list", bool, type_a, list_a, cel_std_in_list),
	BINARY("@in", "in_map", bool, type_a, map_ab, cel_std_in_map),
	UNARY("@not_strictly_false", "not_strictly_false", bool, bool, NULL),
	BINARY("_!=_", "not_equals", bool, type_a, type_a, cel_std_not_equals),
	BINARY("_%_", "modulo_int64", int, int, int, cel_std_modulo_int),
	BINARY("_%_", "modulo_uint64", uint, uint, uint, cel_std_modulo_uint),
	BINARY("_&&_", "logical_and", bool, bool, bool, NULL),
	BINARY("_*_", "multiply_double", double, double, double, cel_std_multiply_double),
	BINARY("_*_", "multiply_int64", int, int, int, cel_std_multiply_int),
	BINARY("_*_", "multiply_uint64", uint, uint, uint, cel_std_multiply_uint),
	BINARY("_+_", "add_bytes", bytes, bytes, bytes, cel_std_add_text),
	BINARY("_+_", "add_double", double, double, double, cel_std_add_double),
	BINARY("_+_", "add_duration_duration", duration, duration, duration, cel_std_add_durations),
	BINARY("_+_", "add_duration_timestamp", timestamp, duration, timestamp,
	       cel_std_add_duration_timestamp),
	BINARY("_+_", "add_timestamp_duration", timestamp, timestamp, duration,
	       cel_std_add_timestamp_duration),
	BINARY("_+_", "add_int64", int, int, int, cel_std_add_int),
	BINARY("_+_", "add_list", list_a, list_a, list_a, cel_std_add_list),
	BINARY("_+_", "add_string", string, string, string, cel_std_add_text),
	BINARY("_+_", "add_uint64", uint, uint, uint, cel_std_add_uint),
	BINARY("_-_", "subtract_double", double, double, double, cel_std_subtract_double),
	BINARY("_-_", "subtract_duration_duration", duration, duration, duration,
	       cel_std_subtract_durations),
	BINARY("_-_", "subtract_int64", int, int, int, cel_std_subtract_int),
	BINARY("_-_", "subtract_timestamp_duration", timestamp, timestamp, duration,
	       cel_std_subtract_timestamp_duration),
	BINARY("_-_", "subtract_timestamp_timestamp", duration, timestamp, timestamp,
	       cel_std_subtract_timestamps),
	BINARY("_-_", "subtract_uint64", uint, uint, uint, cel_std_subtract_uint),
	BINARY("_/_", "divide_double", double, double, double, cel_std_divide_double),
	BINARY("_/_", "divide_int64", int, int, int, cel_std_divide_int),
	BINARY("_/_", "divide_uint64", uint, uint, uint, cel_std_divide_uint),
	COMPARISONS("_<=_", "less_equals", cel_std_less_equals),
	COMPARISONS("_<_", "less", cel_std_less),
	BINARY("_==_", "equals", bool, type_a, type_a, cel_std_equals),
	COMPARISONS("_>=_", "greater_equals", cel_std_greater_equals),
	COMPARISONS("_>_", "greater", cel_std_greater),
	TERNARY("_?_:_", "conditional", type_a, bool, type_a, type_a, NULL),
	BINARY("_[_]", "index_list", type_a, list_a, int, cel_std_index),
	BINARY("_[_]", "index_map", type_b, map_ab, type_a, cel_std_index),
	BINARY("_||_", "logical_or", bool, bool, bool, NULL),
	UNARY("bool", "bool_to_bool", bool, bool, cel_std_same),
	UNARY("bool", "string_to_bool", bool, string, cel_std_bool_of_string),
	UNARY("bytes", "bytes_to_bytes", bytes, bytes, cel_std_same),
	UNARY("bytes", "string_to_bytes", bytes, string, cel_std_bytes_of_string),
	METHOD2("contains", "contains_string", bool, string, string, cel_std_contains),
	UNARY("double", "double_to_double", double, double, cel_std_same),
	UNARY("double", "int64_to_double", double, int, cel_std_double_of_int),
	UNARY("double", "string_to_double", double, string, cel_std_double_of_string),
	UNARY("double", "uint64_to_double", double, uint, cel_std_double_of_uint),
	UNARY("duration", "duration_to_duration", duration, duration, cel_std_same),
	UNARY("duration", "string_to_duration", duration, string, cel_std_duration_of_string),
	UNARY("dyn", "to_dyn", dyn, type_a, cel_std_same),
	METHOD2("endsWith", "ends_with_string", bool, string, string, cel_std_ends_with),
	METHOD("getDate", "timestamp_to_day_of_month_1_based", int, timestamp, cel_std_date),
	METHOD2("getDate", "timestamp_to_day_of_month_1_based_with_tz", int, timestamp, string,
		cel_std_date_in),
	METHOD("getDayOfMonth", "timestamp_to_day_of_month", int, timestamp, cel_std_day_of_month),
	METHOD2("getDayOfMonth", "timestamp_to_day_of_month_with_tz", int, timestamp, string,
		cel_std_day_of_month_in),
	METHOD("getDayOfWeek", "timestamp_to_day_of_week", int, timestamp, cel_std_day_of_week),
	METHOD2("getDayOfWeek", "timestamp_to_day_of_week_with_tz", int, timestamp, string,
		cel_std_day_of_week_in),
	METHOD("getDayOfYear", "timestamp_to_day_of_year", int, timestamp, cel_std_day_of_year),
	METHOD2("getDayOfYear", "timestamp_to_day_of_year_with_tz", int, timestamp, string,
		cel_std_day_of_year_in),
	METHOD("getFullYear", "timestamp_to_year", int, timestamp, cel_std_year),
	METHOD2("getFullYear", "timestamp_to_year_with_tz", int, timestamp, string,
		cel_std_year_in),
	METHOD("getHours", "timestamp_to_hours", int, timestamp, cel_std_hours),
	METHOD2("getHours", "timestamp_to_hours_with_tz", int, timestamp, string, cel_std_hours_in),
	METHOD("getHours", "duration_to_hours", int, duration, cel_std_duration_hours),
	METHOD("getMilliseconds", "timestamp_to_milliseconds", int, timestamp,
	       cel_std_milliseconds),
	METHOD2("getMilliseconds", "timestamp_to_milliseconds_with_tz", int, timestamp, string,
		cel_std_milliseconds_in),
	METHOD("getMilliseconds", "duration_to_milliseconds", int, duration,
	       cel_std_duration_milliseconds),
	METHOD("getMinutes", "timestamp_to_minutes", int, timestamp, cel_std_minutes),
	METHOD2("getMinutes", "timestamp_to_minutes_with_tz", int, timestamp, string,
		cel_std_minutes_in),
	METHOD("getMinutes", "duration_to_minutes", int, duration, cel_std_duration_minutes),
	METHOD("getMonth", "timestamp_to_month", int, timestamp, cel_std_month),
	METHOD2("getMonth", "timestamp_to_month_with_tz", int, timestamp, string, cel_std_month_in),
	METHOD("getSeconds", "timestamp_to_seconds", int, timestamp, cel_std_seconds),
	METHOD2("getSeconds", "timestamp_to_seconds_tz", int, timestamp, string,
		cel_std_seconds_in),
	METHOD("getSeconds", "duration_to_seconds", int, duration, cel_std_duration_seconds),
	UNARY("int", "int64_to_int64", int, int, cel_std_same),
	UNARY("int", "double_to_int64", int, double, cel_std_int_of_double),
	UNARY("int", "duration_to_int64", int, duration, cel_std_int_of_duration),
	UNARY("int", "string_to_int64", int, string, cel_std_int_of_string),
	UNARY("int", "timestamp_to_int64", int, timestamp, cel_std_int_of_timestamp),
	UNARY("int", "uint64_to_int64", int, uint, cel_std_int_of_uint),
	BINARY("matches", "matches", bool, string, string, cel_std_matches),
	METHOD2("matches", "matches_string", bool, string, string, cel_std_matches),
	UNARY("size", "size_bytes", int, bytes, cel_std_size),
	METHOD("size", "bytes_size", int, bytes, cel_std_size),
	UNARY("size", "size_list", int, list_a, cel_std_size),
	METHOD("size", "list_size", int, list_a, cel_std_size),
	UNARY("size", "size_map", int, map_ab, cel_std_size),
	METHOD("size", "map_size", int, map_ab, cel_std_size),
	UNARY("size", "size_string", int, string, cel_std_size),
	METHOD("size", "string_size", int, string, cel_std_size),
	METHOD2("startsWith", "starts_with_string", bool, string, string, cel_std_starts_with),
	UNARY("string", "string_to_string", string, string, cel_std_same),
	UNARY("string", "bool_to_string", string, bool, cel_std_string_of_bool),
	UNARY("string", "bytes_to_string", string, bytes, cel_std_string_of_bytes),
	UNARY("string", "double_to_string", string, double, cel_std_string_of_any),
	UNARY("string", "duration_to_string", string, duration, cel_std_string_of_any),
	UNARY("string", "int64_to_string", string, int, cel_std_string_of_int),
	UNARY("string", "timestamp_to_string", string, timestamp, cel_std_string_of_any),
	UNARY("string", "uint64_to_string", string, uint, cel_std_string_of_uint),
	UNARY("timestamp", "timestamp_to_timestamp", timestamp, timestamp, cel_std_same),
	UNARY("timestamp", "int64_to_timestamp", timestamp, int, cel_std_timestamp_of_int),
	UNARY("timestamp", "string_to_timestamp", timestamp, string, cel_std_timestamp_of_string),
	{ "type", "type", &cel_type_type_a, { &cel_type_a }, 1, false, cel_std_type },
	UNARY("uint", "uint64_to_uint64", uint, uint, cel_std_same),
	UNARY("uint", "double_to_uint64", uint, double, cel_std_uint_of_double),
	UNARY("uint", "int64_to_uint64", uint, int, cel_std_uint_of_int),
	UNARY("uint", "string_to_uint64", uint, string, cel_std_uint_of_string),
};
/* clang-format on */

static const struct cel_type *const types[] = {
	&cel_bool,      &cel_bytes,   &cel_double, &cel_duration, &cel_int,
	&cel_list_dyn,  &cel_map_dyn, &cel_null,   &cel_string,   &cel_timestamp,
	&cel_type_type, &cel_uint,    NULL,
};

const struct cel_library cel_lib_standard = {
	.name = "standard",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
	.macros = cel_macros_standard,
	.types = types,
};

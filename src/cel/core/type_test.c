/* Types by themselves, tables of libraries, and literals of well-known messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/core/env.h"
#include "cel/core/wellknown.h"
#include "cel/lib/libraries.h"

static const struct cel_type wrapper_int = { .kind = CEL_TYPE_WRAPPER,
					     .name = { "int", 3 },
					     .params = { &cel_int } };
static const struct cel_field service_fields[] = {
	{ { "limit", 5 }, &cel_quantity },
	{ { "name", 4 }, &cel_string },
	{ { "ports", 5 }, &cel_list_int },
};
static const struct cel_type service = {
	.kind = CEL_TYPE_OBJECT, .name = { "Service", 7 }, .fields = service_fields, .nfields = 3
};

/* --- types, libraries ---------------------------------------------------------------- */

static void assert_prints(const struct cel_type *type, const char *expected)
{
	struct buf out = BUF_INIT(KIB);

	cel_type_print(type, &out);
	assert_string_equal(out.p, expected);
	buf_release(&out);
}

static void types_print_and_compare(void **state)
{
	struct arena a;
	const struct cel_type *list, *map;

	(void)state;
	arena_init(&a, MIB);
	list = cel_list_of(&a, &cel_string);
	map = cel_map_of(&a, &cel_int, list);
	assert_prints(&cel_timestamp, "timestamp");
	assert_prints(&cel_type_error, "!error!");
	assert_prints(&cel_any, "any");
	assert_prints(map, "map(int, list(string))");
	assert_prints(cel_optional_of(&a, map), "optional_type(map(int, list(string)))");
	assert_prints(cel_type_of(&a, &cel_semver), "type(kubernetes.Semver)");
	assert_prints(&wrapper_int, "wrapper(int)");
	assert_prints(&cel_type_type, "type");
	assert_true(cel_type_equal(list, &cel_list_string));
	assert_false(cel_type_equal(list, &cel_list_int));
	assert_false(cel_type_equal(list, map));
	assert_false(cel_type_equal(&cel_ip, &cel_cidr));
	assert_false(cel_type_equal(&cel_type_a, &cel_type_b));
	assert_false(cel_type_equal(&cel_int, &wrapper_int));
	assert_int_equal(cel_type_sized(&a, list, 7)->max_size, 7);
	assert_true(cel_type_equal(cel_type_sized(&a, list, 7), list));
	assert_ptr_equal(cel_type_field(&service, STR("limit"))->type, &cel_quantity);
	assert_ptr_equal(cel_type_field(&service, STR("ports"))->type, &cel_list_int);
	assert_null(cel_type_field(&service, STR("limits")));
	arena_release(&a);
}

static void a_large_type_stops_at_the_end_of_the_buffer(void **state)
{
	struct buf out = BUF_INIT(100);
	const struct cel_type *t = &cel_int;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	for (int i = 0; i < 60; i++)
		t = cel_map_of(&a, t, t);
	cel_type_print(t, &out);
	assert_true(out.overflow);
	assert_in_range(out.n, 90, 100);
	buf_release(&out);
	arena_release(&a);
}

static void kinds_of_values_fit_types(void **state)
{
	struct cel_value one = CEL_INT_V(1), null = CEL_NULL_V;
	struct cel_value address = { .kind = CEL_IP }, type = CEL_TYPE_V(&cel_int);

	(void)state;
	assert_true(cel_type_admits(&cel_int, &one));
	assert_true(cel_type_admits(&cel_dyn, &one));
	assert_true(cel_type_admits(&cel_type_a, &one));
	assert_true(cel_type_admits(&wrapper_int, &one));
	assert_true(cel_type_admits(&wrapper_int, &null));
	assert_false(cel_type_admits(&cel_int, &null));
	assert_false(cel_type_admits(&cel_uint, &one));
	assert_false(cel_type_admits(&cel_list_dyn, &one));
	assert_true(cel_type_admits(&cel_ip, &address));
	assert_false(cel_type_admits(&cel_cidr, &address));
	assert_false(cel_type_admits(&cel_ip, &one));
	assert_true(cel_type_admits(&cel_type_type_a, &type));
	assert_false(cel_type_admits(&service, &one));
}

static void assert_overload_is_whole(const struct cel_library *lib, size_t i)
{
	const struct cel_overload *o = &lib->overloads[i];
	size_t n = 0;

	if (i > 0 && strcmp(o[-1].function, o->function) > 0)
		fail_msg("%s: %s is out of order", lib->name, o->function);
	if (!o->id || !o->result || o->nargs > CEL_ARGS_MAX)
		fail_msg("%s: %s is incomplete", lib->name, o->function);
	for (size_t k = 0; k < o->nargs; k++)
		assert_non_null(o->args[k]);
	assert_non_null(cel_library_find(lib, str_from(o->function), &n));
	assert_true(n > 0);
}

/* Binary search and the checker rely on this. */
static void libraries_are_sorted_and_whole(void **state)
{
	(void)state;
	for (size_t l = 0; cel_libraries_all[l]; l++) {
		for (size_t i = 0; i < cel_libraries_all[l]->n; i++)
			assert_overload_is_whole(cel_libraries_all[l], i);
	}
	for (size_t l = 0; cel_libraries_kubernetes[l]; l++) {
		for (size_t i = 0; i < cel_libraries_kubernetes[l]->n; i++)
			assert_overload_is_whole(cel_libraries_kubernetes[l], i);
	}
	assert_null(cel_library_find(cel_libraries_all[0], STR("noSuchFunction"), &(size_t){ 0 }));
}

static bool has_library(const struct cel_library *const *list, const struct cel_library *lib)
{
	while (*list && *list != lib)
		list++;
	return *list;
}

static void environments_have_their_libraries(void **state)
{
	(void)state;
	assert_true(has_library(cel_libraries_all, &cel_lib_math));
	assert_true(has_library(cel_libraries_all, &cel_lib_encoders));
	assert_true(has_library(cel_libraries_all, &cel_lib_format));
	assert_false(has_library(cel_libraries_kubernetes, &cel_lib_math));
	assert_false(has_library(cel_libraries_kubernetes, &cel_lib_encoders));
	assert_false(has_library(cel_libraries_kubernetes, &cel_lib_bindings));
	assert_false(has_library(cel_libraries_kubernetes, &cel_lib_strings_later));
	assert_true(has_library(cel_libraries_kubernetes, &cel_lib_quantity));
	assert_true(has_library(cel_libraries_device, &cel_lib_bindings));
	assert_true(has_library(cel_libraries_device, &cel_lib_semver));
	assert_false(has_library(cel_libraries_device, &cel_lib_math));
}

/* --- messages ------------------------------------------------------------------------ */

static struct cel_value make(struct cel_eval *ev, const char *name, const char *field,
			     struct cel_value value)
{
	const struct cel_message *m = cel_wellknown_find(str_from(name));
	struct str fields[] = { str_from(field) };

	assert_non_null(m);
	return cel_wellknown_make(ev, &m->type, fields, &value, field ? 1 : 0);
}

static void wrappers_yield_what_they_wrap(void **state)
{
	struct cel_eval ev = { 0 };
	struct arena a;
	struct cel_value v;

	(void)state;
	arena_init(&a, MIB);
	ev.scratch = &a;
	v = make(&ev, "google.protobuf.Int32Value", "value", CEL_INT_V(-5));
	assert_int_equal(v.kind, CEL_INT);
	assert_int_equal(v.i, -5);
	v = make(&ev, "google.protobuf.Int32Value", "value", CEL_INT_V(INT64_C(1) << 31));
	assert_int_equal(v.kind, CEL_ERROR);
	assert_string_equal(v.error,
			    "field type conversion error for google.protobuf.Int32Value.value "
			    "value type: integer overflow");
	v = make(&ev, "google.protobuf.Int64Value", "value", CEL_INT_V(INT64_C(1) << 31));
	assert_int_equal(v.kind, CEL_INT);
	v = make(&ev, "google.protobuf.UInt32Value", "value", CEL_UINT_V(UINT64_C(1) << 32));
	assert_int_equal(v.kind, CEL_ERROR);
	v = make(&ev, "google.protobuf.FloatValue", "value", CEL_DOUBLE_V(1.333));
	assert_true(v.d == (double)1.333F);
	v = make(&ev, "google.protobuf.StringValue", NULL, CEL_NULL_V);
	assert_int_equal(v.kind, CEL_STRING);
	assert_int_equal(v.s.n, 0);
	v = make(&ev, "google.protobuf.StringValue", "value", CEL_INT_V(1));
	assert_string_equal(
		v.error,
		"field type conversion error for google.protobuf.StringValue.value value type: "
		"unsupported type conversion from 'int' to string");
	v = make(&ev, "google.protobuf.StringValue", "foo", CEL_INT_V(1));
	assert_string_equal(v.error, "no such field: foo");
	assert_null(cel_wellknown_find(STR("google.protobuf.Any")));
	assert_null(cel_wellknown_find(STR("Int32Value")));
	arena_release(&a);
}

static void times_are_made_of_seconds_and_nanos(void **state)
{
	const struct str fields[] = { STR("seconds"), STR("nanos") };
	struct cel_value values[] = { CEL_INT_V(5), CEL_INT_V(-1) };
	const struct cel_message *m = cel_wellknown_find(STR("google.protobuf.Timestamp"));
	struct cel_eval ev = { 0 };
	struct arena a;
	struct cel_value v;

	(void)state;
	arena_init(&a, MIB);
	ev.scratch = &a;
	v = cel_wellknown_make(&ev, &m->type, fields, values, 2);
	assert_int_equal(v.kind, CEL_TIMESTAMP);
	assert_int_equal(v.i, 4);
	assert_int_equal(v.nanos, 999999999);
	v = cel_wellknown_make(&ev, &cel_duration, fields, values, 2);
	assert_int_equal(v.kind, CEL_DURATION);
	assert_int_equal(v.i, INT64_C(4999999999));
	values[0] = CEL_INT_V(INT64_MAX);
	assert_string_equal(cel_wellknown_make(&ev, &cel_duration, fields, values, 2).error,
			    "duration overflow");
	assert_int_equal(cel_wellknown_make(&ev, &cel_timestamp, fields, values, 1).kind,
			 CEL_ERROR);
	arena_release(&a);
}

static void values_converted_to_json_are_json(void **state)
{
	struct cel_value items[] = { CEL_INT_V(1), CEL_INT_V(INT64_MIN), CEL_BYTES_V(STR("hi")),
				     CEL_DURATION_V(1500000000), CEL_NULL_V };
	struct cel_eval ev = { 0 };
	struct cel_value v, item;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	ev.scratch = &a;
	v = make(&ev, "google.protobuf.ListValue", "values", cel_list(&ev, items, 5));
	assert_int_equal(v.kind, CEL_LIST);
	item = cel_list_at(&ev, &v, 0);
	assert_int_equal(item.kind, CEL_DOUBLE);
	item = cel_list_at(&ev, &v, 1);
	assert_true(str_eqz(item.s, "-9223372036854775808"));
	item = cel_list_at(&ev, &v, 2);
	assert_true(str_eqz(item.s, "aGk="));
	item = cel_list_at(&ev, &v, 3);
	assert_true(str_eqz(item.s, "1.5s"));
	item = cel_list_at(&ev, &v, 4);
	assert_int_equal(item.kind, CEL_NULL);
	v = make(&ev, "google.protobuf.Struct", "fields", cel_map(&ev, items, 1));
	assert_string_equal(
		v.error,
		"field type conversion error for google.protobuf.Struct.fields value type: "
		"unsupported type conversion from 'int' to string");
	v = make(&ev, "google.protobuf.Struct", NULL, CEL_NULL_V);
	assert_int_equal(v.kind, CEL_MAP);
	assert_int_equal(cel_map_size(&v), 0);
	v = make(&ev, "google.protobuf.Value", "number_value", CEL_DOUBLE_V(1.5));
	assert_true(v.d == 1.5);
	v = make(&ev, "google.protobuf.Value", "null_value", CEL_INT_V(0));
	assert_int_equal(v.kind, CEL_NULL);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_print_and_compare),
		cmocka_unit_test(a_large_type_stops_at_the_end_of_the_buffer),
		cmocka_unit_test(kinds_of_values_fit_types),
		cmocka_unit_test(libraries_are_sorted_and_whole),
		cmocka_unit_test(environments_have_their_libraries),
		cmocka_unit_test(wrappers_yield_what_they_wrap),
		cmocka_unit_test(times_are_made_of_seconds_and_nanos),
		cmocka_unit_test(values_converted_to_json_are_json),
	};

	return cmocka_run_group_tests_name("cel/type", tests, NULL, NULL);
}

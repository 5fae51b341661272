/*
 * The messages are upstream's, word for word.
 */
#include "base/report/field_errors.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/limits.h"

struct fixture {
	struct arena arena;
	struct field_errors errs;
	struct buf out;
};

static struct fixture make_fixture(size_t arena_max)
{
	struct fixture f = { .out = BUF_INIT(1 * MIB) };

	arena_init(&f.arena, arena_max);
	return f;
}

static void release_fixture(struct fixture *f)
{
	arena_release(&f->arena);
	buf_release(&f->out);
}

static const char *last_body(struct fixture *f)
{
	buf_clear(&f->out);
	assert_non_null(f->errs.last);
	assert_int_equal(field_error_print_body(f->errs.last, &f->out), 0);
	return f->out.p;
}

static const char *aggregate(struct fixture *f)
{
	buf_clear(&f->out);
	assert_int_equal(field_errors_aggregate(&f->errs, &f->out), 0);
	return f->out.p ? f->out.p : "";
}

static void paths_read_as_upstreams(void **state)
{
	struct field_path spec = field_path_name(NULL, "spec");
	struct field_path devices = field_path_name(&spec, "devices");
	struct field_path requests = field_path_name(&devices, "requests");
	struct field_path item = field_path_index(&requests, 0);
	struct field_path exactly = field_path_name(&item, "exactly");
	struct field_path metadata = field_path_name(NULL, "metadata");
	struct field_path labels = field_path_name(&metadata, "labels");
	struct field_path foo = field_path_key(&labels, STR("foo"));
	struct buf b = BUF_INIT(1000);

	assert_int_equal(field_path_print(&exactly, &b), 0);
	assert_string_equal(b.p, "spec.devices.requests[0].exactly");
	buf_clear(&b);
	assert_int_equal(field_path_print(&foo, &b), 0);
	assert_string_equal(b.p, "metadata.labels[foo]");
	buf_clear(&b);
	assert_int_equal(field_path_print(NULL, &b), 0);
	assert_string_equal(b.p, "<nil>");
	buf_clear(&b);
	item = field_path_index(NULL, SIZE_MAX);
	assert_int_equal(field_path_print(&item, &b), 0);
	assert_string_equal(b.p, "[18446744073709551615]");
	buf_release(&b);
}

static void a_deep_path_neither_recurses_nor_takes_long(void **state)
{
	enum { DEPTH = 10000 };
	static struct field_path steps[DEPTH];
	struct buf b = BUF_INIT(1 * MIB);

	for (size_t i = 0; i < DEPTH; i++)
		steps[i] = field_path_index(i ? &steps[i - 1] : NULL, 7);
	for (int i = 0; i < 1000; i++) {
		buf_clear(&b);
		assert_int_equal(field_path_print(&steps[DEPTH - 1], &b), 0);
	}
	assert_int_equal(b.n, 3 * DEPTH);
	buf_release(&b);
}

static void bodies_read_as_upstreams(void **state)
{
	struct field_path p = field_path_name(NULL, "f");
	struct str modes[] = { STR("ExactCount"), STR("All") };
	struct fixture f = make_fixture(1 * MIB);
	struct field_errors *fe = &f.errs;
	struct error cause;

	field_errors_init(fe, &f.arena);
	field_errors_required(fe, &p, NULL);
	assert_string_equal(last_body(&f), "Required value");
	field_errors_required(fe, &p, "name is required");
	assert_string_equal(last_body(&f), "Required value: name is required");
	field_errors_invalid(fe, &p, FIELD_STR(STR("a\"b\n")), "must be lower case");
	assert_string_equal(last_body(&f), "Invalid value: \"a\\\"b\\n\": must be lower case");
	field_errors_invalid(fe, &p, FIELD_I64(-3), "must be greater than zero");
	assert_string_equal(last_body(&f), "Invalid value: -3: must be greater than zero");
	field_errors_invalid(fe, &p, FIELD_F64(1e6), NULL);
	assert_string_equal(last_body(&f), "Invalid value: 1e+06");
	field_errors_invalid(fe, &p, FIELD_JSON(STR("{\"a\":1}")), "odd");
	assert_string_equal(last_body(&f), "Invalid value: {\"a\":1}: odd");
	field_errors_add(fe, FIELD_TYPE_INVALID, &p, FIELD_BOOL(true), STR("must be a string"));
	assert_string_equal(last_body(&f), "Invalid value: true: must be a string");
	field_errors_not_supported(fe, &p, FIELD_STR(STR("Some")), modes, 2);
	assert_string_equal(last_body(&f), "Unsupported value: \"Some\": "
					   "supported values: \"ExactCount\", \"All\"");
	field_errors_not_supported(fe, &p, FIELD_STR(STR("")), NULL, 0);
	assert_string_equal(last_body(&f), "Unsupported value: \"\"");
	field_errors_duplicate(fe, &p, FIELD_STR(STR("x")));
	assert_string_equal(last_body(&f), "Duplicate value: \"x\"");
	field_errors_not_found(fe, &p, FIELD_STR(STR("x")));
	assert_string_equal(last_body(&f), "Not found: \"x\"");
	field_errors_forbidden(fe, &p, "not now");
	assert_string_equal(last_body(&f), "Forbidden: not now");
	field_errors_add(fe, FIELD_FORBIDDEN, &p, FIELD_STR(STR("hidden")), STR("not now"));
	assert_string_equal(last_body(&f), "Forbidden: not now");
	error_set(&cause, ERR_IO, "disk on fire");
	field_errors_internal(fe, &p, &cause);
	assert_string_equal(last_body(&f), "Internal error: disk on fire");
	release_fixture(&f);
}

static void limits_are_told_in_the_right_number(void **state)
{
	struct field_path p = field_path_name(NULL, "f");
	struct fixture f = make_fixture(1 * MIB);
	struct field_errors *fe = &f.errs;

	field_errors_init(fe, &f.arena);
	field_errors_too_long(fe, &p, 63);
	assert_string_equal(last_body(&f), "Too long: may not be more than 63 bytes");
	field_errors_too_long(fe, &p, 1);
	assert_string_equal(last_body(&f), "Too long: may not be more than 1 byte");
	field_errors_too_long(fe, &p, -1);
	assert_string_equal(last_body(&f), "Too long: value is too long");
	field_errors_too_long_characters(fe, &p, 5);
	assert_string_equal(last_body(&f), "Too long: may not be more than 5 characters");
	field_errors_too_many(fe, &p, 5, 3);
	assert_string_equal(last_body(&f), "Too many: 5: must have at most 3 items");
	field_errors_too_many(fe, &p, 2, 1);
	assert_string_equal(last_body(&f), "Too many: 2: must have at most 1 item");
	field_errors_too_many(fe, &p, -1, -1);
	assert_string_equal(last_body(&f), "Too many: has too many items");
	field_errors_too_few(fe, &p, 0, 1);
	assert_string_equal(last_body(&f), "Too few: 0: must have at least 1 item");
	release_fixture(&f);
}

static void reasons_are_those_of_status_causes(void **state)
{
	assert_string_equal(field_error_reason(FIELD_REQUIRED), "FieldValueRequired");
	assert_string_equal(field_error_reason(FIELD_NOT_SUPPORTED), "FieldValueNotSupported");
	assert_string_equal(field_error_reason(FIELD_INTERNAL), "InternalError");
	assert_string_equal(field_error_reason(FIELD_TYPE_INVALID), "FieldValueTypeInvalid");
}

static void the_aggregate_lists_each_message_once(void **state)
{
	struct field_path a = field_path_name(NULL, "a"), b = field_path_name(NULL, "b");
	struct fixture f = make_fixture(1 * MIB);

	field_errors_init(&f.errs, &f.arena);
	assert_false(field_errors_any(&f.errs));
	assert_string_equal(aggregate(&f), "");
	field_errors_required(&f.errs, &a, NULL);
	assert_string_equal(aggregate(&f), "a: Required value");
	field_errors_required(&f.errs, &a, NULL);
	assert_string_equal(aggregate(&f), "a: Required value");
	field_errors_forbidden(&f.errs, &b, "no");
	field_errors_required(&f.errs, &a, NULL);
	assert_string_equal(aggregate(&f), "[a: Required value, b: Forbidden: no]");
	assert_int_equal(f.errs.n, 4);
	assert_true(field_errors_any(&f.errs));
	release_fixture(&f);
}

static void errors_beyond_the_limit_are_only_counted(void **state)
{
	struct field_path list = field_path_name(NULL, "l");
	struct fixture f = make_fixture(10 * MIB);
	struct str end;

	field_errors_init(&f.errs, &f.arena);
	for (size_t i = 0; i < FIELD_ERRORS_MAX + 7; i++) {
		struct field_path item = field_path_index(&list, i);

		field_errors_required(&f.errs, &item, NULL);
	}
	assert_int_equal(f.errs.n, FIELD_ERRORS_MAX);
	assert_int_equal(f.errs.dropped, 7);
	end = str_from(aggregate(&f));
	assert_true(str_ends(end, STR("l[999]: Required value, and 7 more]")));
	release_fixture(&f);
}

/* The answer that carries them must not become larger than what was sent. */
static void long_texts_are_cut_and_do_not_add_up(void **state)
{
	static char text[3 * MIB];
	struct field_path key = field_path_key(NULL, str_of(text, sizeof(text)));
	struct field_path p = field_path_name(NULL, "f");
	struct fixture f = make_fixture(100 * MIB);

	memset(text, 'x', sizeof(text));
	field_errors_init(&f.errs, &f.arena);
	field_errors_invalid(&f.errs, &p, FIELD_STR(str_of(text, sizeof(text))), "bad");
	assert_true(str_ends(str_from(last_body(&f)), STR("xxx\"...: bad")));
	field_errors_invalid(&f.errs, &key, FIELD_JSON(str_of(text, sizeof(text))), "bad");
	assert_true(str_eqz(f.errs.last->path, "(a path of more than 8192 bytes)"));
	assert_true(str_ends(str_from(last_body(&f)), STR("xxx...: bad")));
	for (size_t i = 0; i < FIELD_ERRORS_MAX; i++)
		field_errors_invalid(&f.errs, &key, FIELD_STR(str_of(text, sizeof(text))), "bad");
	assert_true(f.errs.bytes < MIB);
	assert_int_equal(f.errs.n + f.errs.dropped, FIELD_ERRORS_MAX + 2);
	release_fixture(&f);
}

static void an_arena_without_room_never_hides_a_fault(void **state)
{
	struct field_path p = field_path_name(NULL, "f");
	struct fixture f = make_fixture(4 * KIB);
	struct str huge = { (char[8192]){ [0 ... 8191] = 'x' }, 8192 };

	field_errors_init(&f.errs, &f.arena);
	field_errors_invalid(&f.errs, &p, FIELD_STR(huge), "too big to keep");
	assert_int_equal(f.errs.n, 0);
	assert_true(field_errors_any(&f.errs));
	assert_string_equal(aggregate(&f), "and 1 more");
	release_fixture(&f);
}

static void values_and_keys_with_nul_bytes_are_shown_whole(void **state)
{
	struct field_path m = field_path_name(NULL, "m");
	struct field_path key = field_path_key(&m, STR("a\0b"));
	struct fixture f = make_fixture(1 * MIB);

	field_errors_init(&f.errs, &f.arena);
	field_errors_invalid(&f.errs, &key, FIELD_STR(STR("c\0d")), "no");
	(void)aggregate(&f);
	assert_true(str_eq(buf_str(&f.out), STR("m[a\0b]: Invalid value: \"c\\x00d\": no")));
	release_fixture(&f);
}

static void formatted_details_are_copied(void **state)
{
	struct field_path p = field_path_name(NULL, "f");
	struct fixture f = make_fixture(1 * MIB);
	char value[] = "abc";

	field_errors_init(&f.errs, &f.arena);
	field_errors_addf(&f.errs, FIELD_INVALID, &p, FIELD_STR(str_from(value)),
			  "must be %d to %d", 1, 5);
	memset(value, 'z', 3);
	assert_string_equal(last_body(&f), "Invalid value: \"abc\": must be 1 to 5");
	release_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_read_as_upstreams),
		cmocka_unit_test(a_deep_path_neither_recurses_nor_takes_long),
		cmocka_unit_test(bodies_read_as_upstreams),
		cmocka_unit_test(limits_are_told_in_the_right_number),
		cmocka_unit_test(reasons_are_those_of_status_causes),
		cmocka_unit_test(the_aggregate_lists_each_message_once),
		cmocka_unit_test(errors_beyond_the_limit_are_only_counted),
		cmocka_unit_test(long_texts_are_cut_and_do_not_add_up),
		cmocka_unit_test(an_arena_without_room_never_hides_a_fault),
		cmocka_unit_test(values_and_keys_with_nul_bytes_are_shown_whole),
		cmocka_unit_test(formatted_details_are_copied),
	};

	return cmocka_run_group_tests_name("base/field_errors", tests, NULL, NULL);
}

/*
 * The walker on small tables of our own. The real tables are tested by devices/devices_test.c and
 * check/core_test.c.
 */
#include "api/validate/validate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/defaults/defaults.h"
#include "base/core/limits.h"

static unsigned checked; /* how often count_check() was called in a test */

static void count_check(struct validation *v, const struct json *value,
			const struct field_path *path)
{
	(void)v;
	(void)value;
	(void)path;
	checked++;
}

static const struct str colours[] = { STR("blue"), STR("red"), { NULL, 0 } };
static const struct str keys[] = { STR("name"), { NULL, 0 } };

static const struct schema_rules colour_rules = { .values = colours };
static const struct schema_rules name_rules = { .format = SCHEMA_FORMAT_DNS_LABEL };
static const struct schema_rules short_rules = { .max_length = 3 };
static const struct schema_rules number_rules = { .min = 2, .max = 4 };
static const struct schema_rules list_rules = { .min_items = 1, .max_items = 3 };
static const struct schema_rules map_rules = {
	.max_items = 2,
	.key_format = SCHEMA_FORMAT_DNS_LABEL,
	.key_max_length = 4,
};

static const struct schema_type part_type;

static const struct schema_field part_fields[] = {
	{ .name = STR("colour"), .rules = &colour_rules },
	{ .name = STR("deep"), .value = SCHEMA_OBJECT, .type = &part_type },
	{ .name = STR("name"), .rules = &name_rules, .flags = SCHEMA_ALWAYS },
};
static const uint16_t part_order[] = { 0, 1, 2 };
static const struct schema_type part_type = {
	.name = STR("Part"),
	.fields = part_fields,
	.by_name = part_order,
	.nfields = ARRAY_SIZE(part_fields),
	.check = count_check,
};

static const struct schema_union unions[] = { { .required = true }, { .required = false } };

static const struct schema_field thing_fields[] = {
	{ .name = STR("a"), .flags = SCHEMA_POINTER, .oneof = 1 },
	{ .name = STR("b"), .flags = SCHEMA_POINTER, .oneof = 1 },
	{ .name = STR("c"), .oneof = 2 },
	{ .name = STR("d"), .oneof = 2 },
	{ .name = STR("frozen"), .flags = SCHEMA_NO_MODIFY },
	{ .name = STR("kept"), .flags = SCHEMA_IMMUTABLE },
	{ .name = STR("map"), .shape = SCHEMA_MAP, .rules = &map_rules },
	{ .name = STR("number"),
	  .value = SCHEMA_INT32,
	  .rules = &number_rules,
	  .flags = SCHEMA_POINTER | SCHEMA_HAS_MIN | SCHEMA_HAS_MAX },
	{ .name = STR("parts"),
	  .value = SCHEMA_OBJECT,
	  .type = &part_type,
	  .shape = SCHEMA_LIST,
	  .rules = &list_rules,
	  .list_keys = keys,
	  .flags = SCHEMA_UNIQUE },
	{ .name = STR("short"), .rules = &short_rules, .flags = SCHEMA_CHARACTERS },
	{ .name = STR("wanted"), .flags = SCHEMA_REQUIRED },
};
static const uint16_t thing_order[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
static const struct schema_type thing_type = {
	.name = STR("Thing"),
	.fields = thing_fields,
	.by_name = thing_order,
	.nfields = ARRAY_SIZE(thing_fields),
	.unions = unions,
	.nunions = ARRAY_SIZE(unions),
};

static const struct schema_field kind_fields[] = {
	{ .name = STR("spec"), .value = SCHEMA_OBJECT, .type = &thing_type },
};
static const uint16_t kind_order[] = { 0 };
static const struct schema_type kind_type = {
	.fields = kind_fields,
	.by_name = kind_order,
	.nfields = ARRAY_SIZE(kind_fields),
};
static const struct schema_kind kind = { .type = &kind_type, .flags = SCHEMA_UNCONDITIONAL_UPDATE };

static struct json *object_of(struct arena *a, const char *spec)
{
	struct json *v = NULL;
	char *text = arena_printf(a, "{\"metadata\":{\"name\":\"x\"},\"spec\":%s}", spec);

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

/* Compares all errors of a spec, as an update of `old` if given, with one text. */
static void expect(const char *old, const char *spec, const char *expected)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB);
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct validation v = { .errs = &errs, .arena = &arena, .kind = &kind };

	arena_init(&arena, 16 * MIB);
	field_errors_init(&errs, &arena);
	v.object = object_of(&arena, spec);
	v.old = old ? object_of(&arena, old) : NULL;
	(old ? validate_update : validate_create)(&v);
	(void)field_errors_aggregate(&errs, &text);
	assert_string_equal(text.n ? text.p : "", expected);
}

static void fields_obey_their_rules(void **state)
{
	(void)state;
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\"}", "");
	expect(NULL, "{\"a\":\"\"}", "spec.wanted: Required value");
	expect(NULL, "{\"wanted\":\"\",\"a\":\"\"}", "spec.wanted: Required value");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"number\":0}",
	       "spec.number: Invalid value: 0: must be greater than or equal to 2");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"number\":5}",
	       "spec.number: Invalid value: 5: must be less than or equal to 4");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"short\":\"\xc3\xa4\xc3\xa4\xc3\xa4\"}", "");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"short\":\"abcd\"}",
	       "spec.short: Too long: may not be more than 3 characters");
}

static void lists_and_maps_obey_their_rules(void **state)
{
	(void)state;
	expect(NULL,
	       "{\"wanted\":\"x\",\"a\":\"\",\"parts\":[{\"name\":\"p\",\"colour\":\"red\"},"
	       "{\"name\":\"p\",\"colour\":\"green\"}]}",
	       "[spec.parts[1].colour: Unsupported value: \"green\": supported values: \"blue\", "
	       "\"red\", spec.parts[1]: Duplicate value: \"p\"]");
	expect(NULL,
	       "{\"wanted\":\"x\",\"a\":\"\",\"parts\":[{\"name\":\"p\"},{\"name\":\"q\"},"
	       "{\"name\":\"r\"},{\"name\":\"!\"}]}",
	       "spec.parts: Too many: 4: must have at most 3 items");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"map\":{\"one\":\"\",\"two\":\"\"}}", "");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"map\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}",
	       "spec.map: Too many: 3: must have at most 2 items");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"\",\"map\":{\"threee\":\"\"}}",
	       "spec.map: Too long: may not be more than 4 bytes");
}

static void unions_have_one_member(void **state)
{
	(void)state;
	expect(NULL, "{\"wanted\":\"x\"}",
	       "spec: Invalid value: \"\": must specify one of: `a`, `b`");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"1\",\"b\":\"\"}",
	       "spec: Invalid value: \"{`a`, `b`}\": must specify exactly one of: `a`, `b`");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"1\",\"c\":\"1\",\"d\":\"2\"}",
	       "spec: Invalid value: \"{`c`, `d`}\": must specify at most one of: `c`, `d`");
	expect(NULL, "{\"wanted\":\"x\",\"a\":\"1\",\"c\":\"1\",\"d\":\"\"}", "");
}

static void immutable_fields_do_not_change(void **state)
{
	static const char none[] = "{\"wanted\":\"x\",\"a\":\"\"}";
	static const char kept[] = "{\"wanted\":\"x\",\"a\":\"\",\"kept\":\"1\"}";
	static const char frozen[] = "{\"wanted\":\"x\",\"a\":\"\",\"frozen\":\"1\"}";

	(void)state;
	expect(kept, kept, "");
	expect(none, kept, "spec.kept: Invalid value: \"1\": field is immutable");
	expect(kept, none, "spec.kept: Invalid value: null: field is immutable");
	expect(none, frozen, "");
	expect(frozen, none, "");
	expect(frozen, "{\"wanted\":\"x\",\"a\":\"\",\"frozen\":\"2\"}",
	       "spec.frozen: Invalid value: \"2\": field is immutable");
}

static void unchanged_stored_values_are_not_validated_again(void **state)
{
	static const char old[] = "{\"wanted\":\"\",\"a\":\"\",\"number\":9,\"map\":{\"A\":\"\"},"
				  "\"parts\":[{\"name\":\"p\",\"colour\":\"green\"}]}";

	(void)state;
	expect(old, old, "");
	expect(old,
	       "{\"wanted\":\"\",\"a\":\"new\",\"number\":9,\"map\":{\"A\":\"\",\"b\":\"\"},"
	       "\"parts\":[{\"name\":\"q\"},{\"name\":\"p\",\"colour\":\"green\"}]}",
	       "");
	expect(old,
	       "{\"wanted\":\"\",\"a\":\"\",\"number\":8,\"parts\":[{\"name\":\"p\","
	       "\"colour\":\"grey\"}]}",
	       "[spec.number: Invalid value: 8: must be less than or equal to 4, "
	       "spec.parts[0].colour: Unsupported value: \"grey\": supported values: \"blue\", "
	       "\"red\"]");
}

static void checks_see_only_what_changed(void **state)
{
	static const char old[] = "{\"wanted\":\"x\",\"a\":\"\",\"parts\":[{\"name\":\"p\"},"
				  "{\"name\":\"q\"}]}";

	(void)state;
	checked = 0;
	expect(NULL, old, "");
	assert_int_equal(checked, 2);
	checked = 0;
	expect(old,
	       "{\"wanted\":\"x\",\"a\":\"\",\"parts\":[{\"name\":\"p\"},"
	       "{\"name\":\"q\",\"colour\":\"red\"}]}",
	       "");
	assert_int_equal(checked, 1);
}

static void depth_is_bounded(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct validation v = { .errs = &errs, .arena = &arena };
	struct json *tree = NULL;

	(void)state;
	for (int i = 0; i < 5000; i++)
		(void)buf_addz(&b, "{\"name\":\"x\",\"deep\":");
	(void)buf_addz(&b, "{}");
	for (int i = 0; i < 5000; i++)
		(void)buf_addz(&b, "}");
	arena_init(&arena, 64 * MIB);
	field_errors_init(&errs, &arena);
	assert_int_equal(json_parse(&arena, buf_str(&b), NULL, &tree, NULL), 0);
	validate_type(&v, tree, &part_type, NULL);
	assert_int_equal(errs.n, 1);
	assert_true(str_eqz(errs.first->detail, "nested too deeply"));
	defaults_fill(&arena, tree, &part_type, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_obey_their_rules),
		cmocka_unit_test(lists_and_maps_obey_their_rules),
		cmocka_unit_test(unions_have_one_member),
		cmocka_unit_test(immutable_fields_do_not_change),
		cmocka_unit_test(unchanged_stored_values_are_not_validated_again),
		cmocka_unit_test(checks_see_only_what_changed),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests_name("api/validate", tests, NULL, NULL);
}

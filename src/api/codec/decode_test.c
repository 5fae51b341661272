/*
 * Fitting to a small type of our own that has every kind of value, so that each rule is tested
 * alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/codec/decode.h"
#include "base/core/limits.h"

/* clang-format off */
#define NAMED(n) .name = { n, sizeof(n) - 1 }
/* clang-format on */

static const struct schema_rules port_rules = { .initial = { "\"TCP\"", 5 } };

/* Sorted by name, so that by_name is the identity. */
static const struct schema_field part_fields[] = {
	{ NAMED("alpha"), .value = SCHEMA_STRING, .gate = GATE_DRADerivedAttributes },
	{ NAMED("amount"), .value = SCHEMA_QUANTITY },
	{ NAMED("any"), .value = SCHEMA_ANY },
	{ NAMED("big"), .value = SCHEMA_INT64, .flags = SCHEMA_POINTER },
	{ NAMED("data"), .value = SCHEMA_BYTES },
	{ NAMED("exact"), .value = SCHEMA_MICRO_TIME },
	{ NAMED("hidden"), .value = SCHEMA_STRING, .gate = GATE_DRAListTypeAttributes,
	  .flags = SCHEMA_GATE_SERVED },
	{ NAMED("name"), .value = SCHEMA_STRING, .flags = SCHEMA_ALWAYS },
	{ NAMED("nil"), .value = SCHEMA_STRING, .flags = SCHEMA_NULLABLE },
	{ NAMED("on"), .value = SCHEMA_BOOL },
	{ NAMED("port"), .value = SCHEMA_INT_OR_STRING },
	{ NAMED("protocol"), .value = SCHEMA_STRING, .flags = SCHEMA_ALWAYS, .rules = &port_rules },
	{ NAMED("ratio"), .value = SCHEMA_DOUBLE },
	{ NAMED("raw"), .value = SCHEMA_RAW_OBJECT },
	{ NAMED("size"), .value = SCHEMA_INT32 },
	{ NAMED("wait"), .value = SCHEMA_DURATION },
	{ NAMED("when"), .value = SCHEMA_TIME },
};
static const uint16_t identity[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static const struct schema_type part = {
	NAMED("Part"),       .openapi = { "io.k8s.api.test.v1.Part", 23 }, .fields = part_fields,
	.by_name = identity, .nfields = ARRAY_SIZE(part_fields),
};

static const struct schema_type empty_type = { NAMED("Status"), .by_name = identity };
static const struct schema_type whole;

static const struct schema_field whole_fields[] = {
	{ NAMED("apiVersion"), .value = SCHEMA_STRING },
	{ NAMED("extra"), .value = SCHEMA_STRING, .shape = SCHEMA_MAP_OF_LISTS },
	{ NAMED("inner"), .value = SCHEMA_OBJECT, .type = &whole },
	{ NAMED("kind"), .value = SCHEMA_STRING },
	{ NAMED("labels"), .value = SCHEMA_STRING, .shape = SCHEMA_MAP },
	{ NAMED("list"), .value = SCHEMA_OBJECT, .type = &part, .shape = SCHEMA_LIST },
	{ NAMED("map"), .value = SCHEMA_OBJECT, .type = &part, .shape = SCHEMA_MAP },
	{ NAMED("numbers"), .value = SCHEMA_INT32, .shape = SCHEMA_LIST },
	{ NAMED("part"), .value = SCHEMA_OBJECT, .type = &part },
	{ NAMED("status"), .value = SCHEMA_OBJECT, .type = &empty_type, .flags = SCHEMA_ALWAYS },
};

static const struct schema_type whole = {
	NAMED("Whole"),      .openapi = { "io.k8s.api.test.v1.Whole", 24 }, .fields = whole_fields,
	.by_name = identity, .nfields = ARRAY_SIZE(whole_fields),
};

static const struct schema_kind kind = { .kind = { "Whole", 5 }, .version = { "v1", 2 } };

struct fixture {
	struct arena arena;
	struct decode_report report;
	struct error err;
	struct buf out;
};

static struct json *parse(struct fixture *x, const char *text)
{
	struct json *v = NULL;

	assert_int_equal(
		decode_parse(&x->arena, str_from(text), DECODE_JSON, &x->report, &v, &x->err), 0);
	return v;
}

static void begin(struct fixture *x)
{
	*x = (struct fixture){ 0 };
	arena_init(&x->arena, 64 * MIB);
	buf_init(&x->out, 64 * MIB);
}

static void end(struct fixture *x)
{
	buf_release(&x->out);
	arena_release(&x->arena);
}

static void assert_prints(struct fixture *x, const struct json *v, const char *expected)
{
	buf_clear(&x->out);
	assert_int_equal(json_print(&x->out, v, NULL), 0);
	assert_string_equal(x->out.p, expected);
}

static void assert_fits(const struct schema_type *type, const char *text, const char *expected)
{
	struct fixture x;
	struct json *v;

	begin(&x);
	v = parse(&x, text);
	if (decode_fit(&x.arena, v, type, &x.report, &x.err) < 0)
		fail_msg("%s: %s", text, x.err.msg);
	assert_prints(&x, v, expected);
	/* Fitting again changes nothing. */
	assert_int_equal(decode_fit(&x.arena, v, type, &x.report, &x.err), 0);
	assert_prints(&x, v, expected);
	end(&x);
}

/* A Part, without the members that it always has. */
static void assert_part(const char *text, const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	(void)buf_printf(&b, "{%s%s\"name\":\"\"}", expected, expected[0] ? "," : "");
	assert_fits(&part, text, b.p);
}

static void assert_refused(const struct schema_type *type, const char *text, const char *why)
{
	struct fixture x;

	begin(&x);
	assert_int_equal(decode_fit(&x.arena, parse(&x, text), type, &x.report, &x.err),
			 -ERR_BAD_REQUEST);
	assert_string_equal(x.err.msg, why);
	end(&x);
}

static void zero_values_of_optional_fields_are_dropped(void **state)
{
	assert_part("{\"size\":0,\"on\":false,\"data\":\"\",\"ratio\":0}", "");
	assert_part("{\"size\":7,\"on\":true}", "\"size\":7,\"on\":true");
	assert_fits(&whole, "{\"kind\":\"\",\"list\":[],\"labels\":{}}", "{\"status\":{}}");
}

static void zero_values_of_pointers_stay(void **state)
{
	assert_part("{\"big\":0}", "\"big\":0");
}

static void zero_values_of_structs_stay(void **state)
{
	assert_part("{\"port\":0,\"amount\":\"0\",\"wait\":\"0\"}",
		    "\"port\":0,\"amount\":\"0\",\"wait\":\"0s\"");
	assert_fits(&whole, "{\"inner\":{}}", "{\"inner\":{\"status\":{}},\"status\":{}}");
}

static void fields_that_are_always_printed_are_added(void **state)
{
	assert_fits(&part, "{}", "{\"name\":\"\"}");
	assert_fits(&whole, "{}", "{\"status\":{}}");
	assert_fits(&whole, "{\"part\":{}}", "{\"part\":{\"name\":\"\"},\"status\":{}}");
}

static void an_empty_field_with_a_default_is_dropped(void **state)
{
	assert_part("{\"protocol\":\"\"}", "");
	assert_part("{\"protocol\":\"UDP\"}", "\"protocol\":\"UDP\"");
}

static void null_is_absence_unless_the_field_holds_it(void **state)
{
	assert_part("{\"size\":null,\"when\":null,\"any\":null,\"raw\":null,\"amount\":null}", "");
	assert_part("{\"nil\":null}", "\"nil\":null");
	assert_fits(&whole, "{\"list\":null,\"part\":null,\"status\":null}", "{\"status\":{}}");
	assert_fits(&whole, "null", "{\"status\":{}}");
}

static void null_among_others_is_a_zero_value(void **state)
{
	assert_fits(&whole, "{\"labels\":{\"a\":null},\"list\":[null],\"numbers\":[1,null]}",
		    "{\"labels\":{\"a\":\"\"},\"list\":[{\"name\":\"\"}],\"numbers\":[1,0],"
		    "\"status\":{}}");
	assert_fits(&whole, "{\"extra\":{\"a\":null,\"b\":[\"x\",null]}}",
		    "{\"extra\":{\"a\":[],\"b\":[\"x\",\"\"]},\"status\":{}}");
}

static void times_are_told_in_utc_with_the_fields_digits(void **state)
{
	assert_part("{\"when\":\"2024-05-06T07:08:09.123+02:00\"}",
		    "\"when\":\"2024-05-06T05:08:09Z\"");
	assert_part("{\"exact\":\"2024-05-06T07:08:09.1Z\"}",
		    "\"exact\":\"2024-05-06T07:08:09.100000Z\"");
	assert_part("{\"when\":\"0001-01-01T00:00:00Z\"}", "");
}

static void quantities_become_canonical_text(void **state)
{
	assert_part("{\"amount\":1}", "\"amount\":\"1\"");
	assert_part("{\"amount\":1.5}", "\"amount\":\"1500m\"");
	assert_part("{\"amount\":\"1024Mi\"}", "\"amount\":\"1Gi\"");
	assert_part("{\"amount\":\" 5 \"}", "\"amount\":\"5\"");
}

static void durations_become_canonical_text(void **state)
{
	assert_part("{\"wait\":\"90s\"}", "\"wait\":\"1m30s\"");
}

static void large_integers_are_exact(void **state)
{
	assert_part("{\"big\":9007199254740993}", "\"big\":9007199254740993");
	assert_part("{\"big\":-9223372036854775808}", "\"big\":-9223372036854775808");
}

static void bytes_are_base64(void **state)
{
	assert_part("{\"data\":\"aGk=\"}", "\"data\":\"aGk=\"");
	assert_part("{\"data\":\"aG\\nk=\\n\"}", "\"data\":\"aGk=\"");
	/* Unused bits become zero, as Go prints them. */
	assert_part("{\"data\":\"aGl=\"}", "\"data\":\"aGk=\"");
	assert_part("{\"data\":\"aP==\"}", "\"data\":\"aA==\"");
	assert_refused(&part, "{\"data\":\"a!==\"}", "illegal base64 data at input byte 1");
	assert_refused(&part, "{\"data\":\"aGk\"}", "illegal base64 data at input byte 3");
	assert_refused(&part, "{\"data\":\"a===\"}", "illegal base64 data at input byte 1");
}

static void raw_values_are_kept_as_they_are(void **state)
{
	assert_part("{\"any\":[1,{\"x\":null}],\"raw\":{\"y\":null,\"z\":0}}",
		    "\"any\":[1,{\"x\":null}],\"raw\":{\"y\":null,\"z\":0}");
	assert_part("{\"any\":0,\"raw\":{}}", "\"any\":0,\"raw\":{}");
}

static void a_value_of_the_wrong_type_is_named(void **state)
{
	assert_refused(&part, "{\"size\":\"x\"}",
		       "json: cannot unmarshal string into Go struct field Part.size of type "
		       "int32");
	assert_refused(&part, "{\"name\":7}",
		       "json: cannot unmarshal number into Go struct field Part.name of type "
		       "string");
	assert_refused(&whole, "{\"inner\":{\"list\":[{},{\"on\":1}]}}",
		       "json: cannot unmarshal number into Go struct field Part.inner.list.on of "
		       "type bool");
	assert_refused(&whole, "{\"list\":{}}",
		       "json: cannot unmarshal object into Go struct field Whole.list of type "
		       "[]v1.Part");
	assert_refused(&whole, "{\"list\":[\"x\"]}",
		       "json: cannot unmarshal string into Go struct field Whole.list of type "
		       "v1.Part");
	assert_refused(&whole, "{\"labels\":{\"a\":true}}",
		       "json: cannot unmarshal bool into Go struct field Whole.labels of type "
		       "string");
	assert_refused(&whole, "{\"labels\":[]}",
		       "json: cannot unmarshal array into Go struct field Whole.labels of type "
		       "map[string]string");
	assert_refused(&whole, "{\"extra\":{\"a\":\"b\"}}",
		       "json: cannot unmarshal string into Go struct field Whole.extra of type "
		       "map[string][]string");
	assert_refused(&whole, "[]", "json: cannot unmarshal array into Go value of type v1.Whole");
}

static void numbers_that_are_no_integers_or_too_large_are_refused(void **state)
{
	assert_refused(&part, "{\"size\":1.5}",
		       "json: cannot unmarshal number 1.5 into Go struct field Part.size of type "
		       "int32");
	assert_refused(&part, "{\"size\":2147483648}",
		       "json: cannot unmarshal number 2147483648 into Go struct field Part.size "
		       "of type int32");
	assert_refused(&part, "{\"big\":9223372036854775808}",
		       "json: cannot unmarshal number 9223372036854775808 into Go struct field "
		       "Part.big of type int64");
	assert_refused(&part, "{\"port\":1.5}",
		       "json: cannot unmarshal number into Go value of type int32");
}

static void types_that_decode_themselves_have_their_own_words(void **state)
{
	assert_refused(&part, "{\"when\":7}",
		       "json: cannot unmarshal number into Go value of type string");
	assert_refused(&part, "{\"wait\":\"x\"}", "time: invalid duration \"x\"");
	assert_refused(&part, "{\"amount\":\"x\"}",
		       "quantities must match the regular expression "
		       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

static void assert_faults(const char *text, const char *expected)
{
	struct fixture x;
	struct json *v;

	begin(&x);
	v = parse(&x, text);
	assert_int_equal(decode_fit(&x.arena, v, &whole, &x.report, &x.err), 0);
	if (decode_is_unordered(&x.report, DECODE_JSON)) {
		assert_int_equal(decode_reparse(&x.arena, str_from(text), DECODE_JSON, &x.report,
						&v, &x.err),
				 0);
		assert_int_equal(decode_refit(&x.arena, v, &whole, &x.report, &x.err), 0);
	}
	assert_int_equal(decode_strict_error(&x.report, &x.err), -ERR_BAD_REQUEST);
	assert_string_equal(x.err.msg, expected);
	end(&x);
}

static void unknown_and_repeated_fields_are_reported_with_their_path(void **state)
{
	assert_faults("{\"foo\":1}", "strict decoding error: unknown field \"foo\"");
	assert_faults("{\"part\":{\"Size\":1}}",
		      "strict decoding error: unknown field \"part.Size\"");
	assert_faults("{\"list\":[{},{\"foo\":{\"bar\":1}}],\"map\":{\"k\":{\"x\":1}}}",
		      "strict decoding error: unknown field \"list[1].foo\", unknown field "
		      "\"map.k.x\"");
	assert_faults("{\"part\":{\"size\":1,\"size\":2,\"size\":3}}",
		      "strict decoding error: duplicate field \"part.size\"");
}

static void unknown_fields_are_gone(void **state)
{
	assert_fits(&whole, "{\"a\":1,\"part\":{\"b\":2,\"size\":3},\"c\":[]}",
		    "{\"part\":{\"size\":3,\"name\":\"\"},\"status\":{}}");
}

static void a_body_of_unknown_fields_is_read_in_time_and_told_in_part(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);
	struct fixture x;
	struct json *v;

	begin(&x);
	(void)buf_addc(&b, '{');
	for (int i = 0; i < 200000; i++)
		(void)buf_printf(&b, "%s\"f%d\":0", i ? "," : "", i);
	(void)buf_addc(&b, '}');
	v = parse(&x, b.p);
	assert_int_equal(decode_fit(&x.arena, v, &whole, &x.report, &x.err), 0);
	assert_prints(&x, v, "{\"status\":{}}");
	assert_int_equal(x.report.n, DECODE_FAULTS_MAX);
	end(&x);
}

static void depth_is_bounded(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	for (int i = 0; i < 1000; i++)
		(void)buf_addz(&b, "{\"inner\":");
	(void)buf_addz(&b, "{}");
	for (int i = 0; i < 1000; i++)
		(void)buf_addc(&b, '}');
	assert_refused(&whole, b.p, "exceeded max depth");
}

static void a_body_that_is_not_json_is_rejected_with_upstreams_message(void **state)
{
	const struct str body = STR("{\"kind\":\"Whole\",}");
	struct fixture x;
	struct json *v = NULL;
	int r;

	begin(&x);
	r = decode_parse(&x.arena, body, DECODE_JSON, &x.report, &v, &x.err);
	assert_int_equal(decode_wrap(&x.err, r, &kind, NULL, body), -ERR_BAD_REQUEST);
	assert_non_null(strstr(x.err.msg, "the object provided is unrecognized (must be of type "
					  "Whole): couldn't get version/kind; json parse error: "));
	assert_non_null(strstr(x.err.msg, "({\"kind\":\"Whole\",})"));
	end(&x);
}

static void a_misfit_is_told_with_its_kind_and_version(void **state)
{
	struct fixture x;
	struct json *v;
	int r;

	begin(&x);
	v = parse(&x, "{\"apiVersion\":\"test.k8s.io/v1beta1\",\"kind\":\"Other\",\"part\":7}");
	r = decode_fit(&x.arena, v, &whole, &x.report, &x.err);
	assert_int_equal(decode_wrap(&x.err, r, &kind, v, STR_NULL), -ERR_BAD_REQUEST);
	assert_string_equal(x.err.msg,
			    "Other in version \"v1beta1\" cannot be handled as a Whole: json: "
			    "cannot unmarshal number into Go struct field Whole.part of type "
			    "v1.Part");
	end(&x);
}

static void yaml_is_read_where_it_is_allowed(void **state)
{
	struct fixture x;
	struct json *v;

	begin(&x);
	assert_int_equal(decode_parse(&x.arena, STR("part:\n  size: 3\n"), DECODE_YAML, &x.report,
				      &v, &x.err),
			 0);
	assert_int_equal(decode_fit(&x.arena, v, &whole, &x.report, &x.err), 0);
	assert_prints(&x, v, "{\"part\":{\"size\":3,\"name\":\"\"},\"status\":{}}");
	end(&x);
}

static void yaml_may_look_like_json_that_it_is_not(void **state)
{
	struct fixture x;
	struct json *v;

	begin(&x);
	assert_int_equal(decode_parse(&x.arena, STR("{\n\t\"part\": {\"size\": 3,},\n}"),
				      DECODE_YAML, &x.report, &v, &x.err),
			 0);
	assert_prints(&x, v, "{\"part\":{\"size\":3}}");
	assert_int_equal(decode_parse(&x.arena, STR("{\"part\": {\"size\": 3,}"), DECODE_YAML,
				      &x.report, &v, &x.err),
			 -ERR_BAD_REQUEST);
	assert_non_null(strstr(x.err.msg, "json parse error"));
	assert_int_equal(decode_parse(&x.arena, STR("{\"part\": {\"size\": 3,}}"), DECODE_JSON,
				      &x.report, &v, &x.err),
			 -ERR_BAD_REQUEST);
	end(&x);
}

static void assert_gated(const char *text, const char *old, const char *expected)
{
	struct gates gates = { .on = { true } };
	struct fixture x;
	struct json *v;

	begin(&x);
	v = parse(&x, text);
	decode_drop_gated(v, old ? parse(&x, old) : NULL, &whole, &gates);
	assert_prints(&x, v, expected);
	end(&x);
}

static void a_gated_field_is_dropped_unless_it_was_in_use(void **state)
{
	const char *with = "{\"list\":[{\"alpha\":\"x\",\"size\":1}]}";

	assert_gated(with, NULL, "{\"list\":[{\"size\":1}]}");
	assert_gated(with, "{\"list\":[{\"size\":1}]}", "{\"list\":[{\"size\":1}]}");
	assert_gated(with, "{\"part\":{\"alpha\":\"y\"}}", with);
	assert_gated("{\"map\":{\"k\":{\"alpha\":\"x\"}}}", NULL, "{\"map\":{\"k\":{}}}");
	assert_gated("{\"part\":{\"alpha\":\"x\",\"hidden\":\"y\"}}",
		     "{\"part\":{\"hidden\":\"y\"}}", "{\"part\":{\"hidden\":\"y\"}}");
}

static void a_gated_field_stays_while_its_gate_is_on(void **state)
{
	struct gates gates = { .on = { true } };
	struct fixture x;
	struct json *v;

	begin(&x);
	gates.on[GATE_DRADerivedAttributes] = true;
	v = parse(&x, "{\"part\":{\"alpha\":\"x\"}}");
	decode_drop_gated(v, NULL, &whole, &gates);
	assert_prints(&x, v, "{\"part\":{\"alpha\":\"x\"}}");
	end(&x);
}

static void a_served_gate_hides_what_is_stored(void **state)
{
	struct gates gates = { .on = { true } };
	struct fixture x;
	struct json *v;

	begin(&x);
	v = parse(&x, "{\"part\":{\"alpha\":\"x\",\"hidden\":\"y\"}}");
	assert_true(decode_drops_served(&whole, &gates));
	assert_false(decode_drops_served(&empty_type, &gates));
	assert_true(decode_drop_served(v, &whole, &gates));
	assert_prints(&x, v, "{\"part\":{\"alpha\":\"x\"}}");
	assert_false(decode_drop_served(v, &whole, &gates));
	gates.on[GATE_DRAListTypeAttributes] = true;
	assert_false(decode_drops_served(&whole, &gates));
	end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_values_of_optional_fields_are_dropped),
		cmocka_unit_test(zero_values_of_pointers_stay),
		cmocka_unit_test(zero_values_of_structs_stay),
		cmocka_unit_test(fields_that_are_always_printed_are_added),
		cmocka_unit_test(an_empty_field_with_a_default_is_dropped),
		cmocka_unit_test(null_is_absence_unless_the_field_holds_it),
		cmocka_unit_test(null_among_others_is_a_zero_value),
		cmocka_unit_test(times_are_told_in_utc_with_the_fields_digits),
		cmocka_unit_test(quantities_become_canonical_text),
		cmocka_unit_test(durations_become_canonical_text),
		cmocka_unit_test(large_integers_are_exact),
		cmocka_unit_test(bytes_are_base64),
		cmocka_unit_test(raw_values_are_kept_as_they_are),
		cmocka_unit_test(a_value_of_the_wrong_type_is_named),
		cmocka_unit_test(numbers_that_are_no_integers_or_too_large_are_refused),
		cmocka_unit_test(types_that_decode_themselves_have_their_own_words),
		cmocka_unit_test(unknown_and_repeated_fields_are_reported_with_their_path),
		cmocka_unit_test(unknown_fields_are_gone),
		cmocka_unit_test(a_body_of_unknown_fields_is_read_in_time_and_told_in_part),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(a_body_that_is_not_json_is_rejected_with_upstreams_message),
		cmocka_unit_test(a_misfit_is_told_with_its_kind_and_version),
		cmocka_unit_test(yaml_is_read_where_it_is_allowed),
		cmocka_unit_test(yaml_may_look_like_json_that_it_is_not),
		cmocka_unit_test(a_gated_field_is_dropped_unless_it_was_in_use),
		cmocka_unit_test(a_gated_field_stays_while_its_gate_is_on),
		cmocka_unit_test(a_served_gate_hides_what_is_stored),
	};

	return cmocka_run_group_tests_name("api/decode", tests, NULL, NULL);
}

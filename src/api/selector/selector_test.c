/*
 * The grammar of both selectors, with upstream's messages for invalid ones, and matching.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/selector/selector.h"
#include "base/core/buf.h"
#include "base/core/limits.h"

typedef int parse_fn(struct arena *a, struct str text, struct selector *ret_selector,
		     struct error *err);

/* Reads values from "a=1 b=": a key without '=' is absent. */
static struct str get(const void *source, struct str key)
{
	struct str rest = str_from(source), piece;

	while (str_split(&rest, ' ', &piece)) {
		ptrdiff_t at = str_chr(piece, '=');

		if (at >= 0 && str_eq(str_of(piece.p, (size_t)at), key))
			return str_skip(piece, (size_t)at + 1).p ? str_skip(piece, (size_t)at + 1)
								 : STR("");
	}
	return STR_NULL;
}

static bool matches(parse_fn *parse, const char *text, const char *labels)
{
	CLEANUP(arena_release) struct arena a;
	struct selector s;
	struct error err;

	arena_init(&a, MIB);
	if (parse(&a, str_from(text), &s, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return selector_matches(&s, get, labels);
}

static void assert_refused(parse_fn *parse, const char *text, const char *why)
{
	CLEANUP(arena_release) struct arena a;
	struct selector s;
	struct error err;

	arena_init(&a, MIB);
	assert_int_equal(parse(&a, str_from(text), &s, &err), -ERR_BAD_REQUEST);
	assert_string_equal(err.msg, why);
}

#define LABELS(text, labels) matches(selector_parse_labels, text, labels)
#define FIELDS(text, fields) matches(selector_parse_fields, text, fields)

static void an_empty_selector_matches_everything(void **state)
{
	assert_true(LABELS("", "a=1"));
	assert_true(LABELS(" \t", ""));
	assert_true(FIELDS("", "a=1"));
	assert_true(FIELDS(",,", "a=1"));
	assert_true(FIELDS("=", "a=1"));
}

static void equality_needs_the_key(void **state)
{
	assert_true(LABELS("a=1", "a=1 b=2"));
	assert_true(LABELS("a == 1", "a=1"));
	assert_true(LABELS(" a = 1 , b = 2 ", "a=1 b=2"));
	assert_false(LABELS("a=1,b=3", "a=1 b=2"));
	assert_false(LABELS("a=1", "b=1"));
	assert_true(LABELS("a=", "a="));
	assert_true(LABELS("a=,b", "a= b=1"));
	assert_false(LABELS("a=", "b=1"));
}

static void inequality_does_not_need_the_key(void **state)
{
	assert_true(LABELS("a!=1", "a=2"));
	assert_true(LABELS("a!=1", "b=1"));
	assert_false(LABELS("a!=1", "a=1"));
}

static void sets_hold_several_values_and_empty_ones(void **state)
{
	assert_true(LABELS("a in (1,2)", "a=2"));
	assert_false(LABELS("a in (1, 2)", "a=3"));
	assert_false(LABELS("a in (1,2)", "b=1"));
	assert_true(LABELS("a notin (1,2)", "a=3"));
	assert_true(LABELS("a notin (1,2)", "b=1"));
	assert_false(LABELS("a notin (1,2)", "a=1"));
	assert_true(LABELS("a in ()", "a="));
	assert_true(LABELS("a in (,1)", "a="));
	assert_true(LABELS("a in (1,)", "a="));
	assert_true(LABELS("a in (1,,2)", "a="));
	assert_false(LABELS("a in (1,2)", "a="));
}

static void keywords_are_names_where_no_operator_stands(void **state)
{
	assert_true(LABELS("in in (in,notin)", "in=notin"));
	assert_true(LABELS("notin=in", "notin=in"));
	assert_true(LABELS("in", "in=1"));
}

static void existence_is_a_key_alone(void **state)
{
	assert_true(LABELS("a", "a="));
	assert_false(LABELS("a", "b=1"));
	assert_true(LABELS("!a", "b=1"));
	assert_false(LABELS("! a", "a=1"));
	assert_true(LABELS("example.com/a,!b", "example.com/a=1"));
}

static void comparisons_are_of_integers(void **state)
{
	assert_true(LABELS("a>5", "a=6"));
	assert_false(LABELS("a>5", "a=5"));
	assert_true(LABELS("a<5", "a=4"));
	assert_false(LABELS("a<5", "a=x"));
	assert_false(LABELS("a<5", "b=1"));
	assert_refused(selector_parse_labels, "a>x",
		       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', "
		       "'Lt' operators, the value must be an integer");
}

static void label_selectors_that_are_none_are_told_as_upstream_does(void **state)
{
	assert_refused(selector_parse_labels, "=",
		       "found '=', expected: !, identifier, or 'end of string'");
	assert_refused(selector_parse_labels, ",a",
		       "found ',', expected: !, identifier, or 'end of string'");
	assert_refused(selector_parse_labels, "a,", "found '', expected: identifier after ','");
	assert_refused(selector_parse_labels, "a,,b", "found ',', expected: identifier after ','");
	assert_refused(selector_parse_labels, "a=1 b",
		       "found 'b', expected: ',' or 'end of string'");
	assert_refused(selector_parse_labels, "a b",
		       "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, "
		       "gt, lt");
	assert_refused(selector_parse_labels, "!",
		       "unable to parse requirement: found '', expected: identifier");
	assert_refused(selector_parse_labels, "a in b",
		       "unable to parse requirement: found 'b' expected: '('");
	assert_refused(selector_parse_labels, "a in (",
		       "unable to parse requirement: found '', expected: ',', ')' or identifier");
	assert_refused(selector_parse_labels, "a in (b",
		       "unable to parse requirement: found '', expected: ',' or ')'");
	assert_refused(selector_parse_labels, "a in (b c)",
		       "unable to parse requirement: found 'c', expected: ',' or ')'");
	assert_refused(selector_parse_labels, "a in (b,",
		       "unable to parse requirement: found '', expected: ',', or identifier");
	assert_refused(selector_parse_labels, "a==(",
		       "unable to parse requirement: found '(', expected: identifier");
	assert_refused(selector_parse_labels, "!a=1",
		       "found '=', expected: ',' or 'end of string'");
}

static void keys_and_values_of_labels_are_checked(void **state)
{
	assert_refused(selector_parse_labels, "*bar",
		       "unable to parse requirement: <nil>: Invalid value: \"*bar\": name part "
		       "must consist of alphanumeric characters, '-', '_' or '.', and must start "
		       "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
		       "'123-abc', regex used for validation is "
		       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')");
	assert_refused(selector_parse_labels, "a=b/c",
		       "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a valid "
		       "label must be an empty string or consist of alphanumeric characters, '-', "
		       "'_' or '.', and must start and end with an alphanumeric character (e.g. "
		       "'MyValue',  or 'my_value',  or '12345', regex used for validation is "
		       "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

static void fields_know_equality_and_its_opposite(void **state)
{
	assert_true(FIELDS("spec.nodeName=n1", "spec.nodeName=n1"));
	assert_true(FIELDS("spec.nodeName==n1", "spec.nodeName=n1"));
	assert_true(FIELDS("spec.nodeName!=n1", "spec.nodeName=n2"));
	assert_false(
		FIELDS("spec.nodeName!=n1,metadata.name=x", "spec.nodeName=n1 metadata.name=x"));
	assert_true(FIELDS("a=", "a="));
}

static void escapes_stand_for_what_separates(void **state)
{
	assert_true(FIELDS("a=x\\,y", "a=x,y"));
	assert_true(FIELDS("a=x\\\\y", "a=x\\y"));
	assert_true(FIELDS("a=x\\=,b=1", "a=x= b=1"));
	assert_refused(selector_parse_fields, "a=x\\y",
		       "invalid field selector: invalid escape sequence: \\y");
	assert_refused(selector_parse_fields, "a=x\\",
		       "invalid field selector: invalid escape sequence: \\");
	assert_refused(selector_parse_fields, "a=x=y",
		       "invalid field selector: unescaped character in value: 61");
	assert_refused(selector_parse_fields, "a,b=1",
		       "invalid selector: 'a,b=1'; can't understand 'a'");
}

static void the_required_value_is_what_indexes_need(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct selector s;

	arena_init(&a, MIB);
	assert_int_equal(selector_parse_fields(&a, STR("a=1,b!=2"), &s, NULL), 0);
	assert_true(str_eqz(selector_required_value(&s, STR("a")), "1"));
	assert_null(selector_required_value(&s, STR("b")).p);
	assert_int_equal(selector_parse_labels(&a, STR("a in (1),b in (1,2),c="), &s, NULL), 0);
	assert_true(str_eqz(selector_required_value(&s, STR("a")), "1"));
	assert_null(selector_required_value(&s, STR("b")).p);
	assert_non_null(selector_required_value(&s, STR("c")).p);
	assert_int_equal(selector_required_value(&s, STR("c")).n, 0);
}

static void a_copy_outlives_its_origin(void **state)
{
	CLEANUP(arena_release) struct arena a, b;
	struct selector s, copy;
	char text[] = "a in (1,2),!b,c=3";

	arena_init(&a, MIB);
	arena_init(&b, MIB);
	assert_int_equal(selector_parse_labels(&a, str_from(text), &s, NULL), 0);
	memset(text, 'z', sizeof(text) - 1);
	copy = selector_copy(&b, &s);
	arena_clear(&a);
	assert_int_equal(copy.n, 3);
	assert_true(selector_matches(&copy, get, "a=2 c=3"));
	assert_false(selector_matches(&copy, get, "a=2 c=3 b=1"));
	copy = selector_copy(&b, &(struct selector){ 0 });
	assert_true(selector_matches(&copy, get, ""));
}

/* The piece `n` times, separated by commas, in parentheses that `head` opens. */
static const char *many(struct arena *a, const char *head, const char *piece, size_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_addz(&b, head);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%s%s", i ? "," : "", piece);
	(void)buf_addz(&b, head[0] ? ")" : "");
	return arena_strdup(a, buf_str(&b));
}

static void requirements_and_values_are_bounded(void **state)
{
	static const char terms[] = "a selector may have at most 256 requirements";
	static const char label_terms[] =
		"unable to parse requirement: a selector may have at most 256 requirements";
	static const char values[] =
		"unable to parse requirement: a selector may have at most 512 values";
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, 16 * MIB);
	assert_true(LABELS(many(&a, "", "a=1", 256), "a=1"));
	assert_refused(selector_parse_labels, many(&a, "", "a=1", 257), label_terms);
	assert_refused(selector_parse_labels, many(&a, "", "!a", 257), label_terms);
	assert_true(LABELS(many(&a, "a in (", "1", 512), "a=1"));
	assert_refused(selector_parse_labels, many(&a, "a in (", "1", 513), values);
	assert_refused(selector_parse_labels, many(&a, "a=1,b notin (", "", 512), values);
	assert_true(FIELDS(many(&a, "", "a=1", 256), "a=1"));
	assert_refused(selector_parse_fields, many(&a, "", "a=1", 257), terms);
	/* Empty places have no effect. */
	assert_true(FIELDS(many(&a, "", "", 9000), "a=1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_selector_matches_everything),
		cmocka_unit_test(equality_needs_the_key),
		cmocka_unit_test(inequality_does_not_need_the_key),
		cmocka_unit_test(sets_hold_several_values_and_empty_ones),
		cmocka_unit_test(keywords_are_names_where_no_operator_stands),
		cmocka_unit_test(existence_is_a_key_alone),
		cmocka_unit_test(comparisons_are_of_integers),
		cmocka_unit_test(label_selectors_that_are_none_are_told_as_upstream_does),
		cmocka_unit_test(keys_and_values_of_labels_are_checked),
		cmocka_unit_test(fields_know_equality_and_its_opposite),
		cmocka_unit_test(escapes_stand_for_what_separates),
		cmocka_unit_test(the_required_value_is_what_indexes_need),
		cmocka_unit_test(a_copy_outlives_its_origin),
		cmocka_unit_test(requirements_and_values_are_bounded),
	};

	return cmocka_run_group_tests_name("api/selector", tests, NULL, NULL);
}

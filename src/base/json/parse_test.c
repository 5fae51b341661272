/*
 * The parser: accepted texts and their trees, rejected texts and the position of the error, and
 * that malicious input causes nothing worse than an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"

struct accepted {
	const char *name;
	struct str text;
	const char *printed; /* compactly; NULL: as the text */
};

struct refused {
	const char *name;
	struct str text;
	size_t offset; /* of the byte complained about */
	const char *what; /* part of the message */
};

/* clang-format off */
#define SAME(name, text)                  { name, { text, sizeof(text) - 1 }, NULL }
#define BECOMES(name, text, printed)      { name, { text, sizeof(text) - 1 }, printed }
#define REFUSED(name, text, offset, what) { name, { text, sizeof(text) - 1 }, offset, what }
/* clang-format on */

static const struct accepted structures[] = {
	SAME("empty array", "[]"),
	SAME("empty object", "{}"),
	SAME("array in array", "[[]]"),
	SAME("array of arrays", "[[],[[]],[]]"),
	SAME("object in array", "[{}]"),
	SAME("array in object", "{\"a\":[]}"),
	SAME("false alone", "false"),
	SAME("true alone", "true"),
	SAME("null alone", "null"),
	SAME("string alone", "\"asd\""),
	SAME("empty string alone", "\"\""),
	SAME("integer alone", "42"),
	SAME("negative alone", "-1"),
	SAME("double alone", "-0.1"),
	SAME("array of literals", "[null,1,\"1\",{},true,false]"),
	SAME("array with several nulls", "[1,null,null,null,2]"),
	SAME("member", "{\"asd\":\"sdf\"}"),
	SAME("two members", "{\"asd\":\"sdf\",\"dfg\":\"fgh\"}"),
	SAME("empty name", "{\"\":0}"),
	SAME("names that differ in length", "{\"a\":1,\"aa\":2,\"aaa\":3}"),
	SAME("names that differ in case", "{\"a\":1,\"A\":2}"),
	SAME("members keep their order", "{\"z\":1,\"a\":2,\"m\":3}"),
	SAME("deep mixture", "{\"a\":[{\"b\":[{\"c\":[1,{\"d\":null}]}]}],\"e\":{}}"),
	SAME("long strings", "{\"x\":[{\"id\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}],"
			     "\"id\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}"),
	BECOMES("escaped name", "{\"foo\\nbar\":42}", "{\"foo\\nbar\":42}"),
	BECOMES("NUL in a name", "{\"foo\\u0000bar\":42}", "{\"foo\\u0000bar\":42}"),
};

static const struct accepted spaces[] = {
	BECOMES("space in array", "[ ]", "[]"),
	BECOMES("space in object", "{ }", "{}"),
	BECOMES("newline before a bracket", "[1\n]", "[1]"),
	BECOMES("leading space", " [1]", "[1]"),
	BECOMES("trailing space", "[2] ", "[2]"),
	BECOMES("trailing newline", "[\"a\"]\n", "[\"a\"]"),
	BECOMES("every kind of space", "\t[\n\r \"a\"\t,\r\n 1 ]\n\r\t ", "[\"a\",1]"),
	BECOMES("space around a colon", "{\"a\" \n:\t1}", "{\"a\":1}"),
	BECOMES("space around a comma", "{\"a\":1 , \"b\":2}", "{\"a\":1,\"b\":2}"),
	BECOMES("indented",
		"{\n    \"a\": [\n        1,\n        {\n            \"b\": null\n        }\n"
		"    ]\n}\n",
		"{\"a\":[1,{\"b\":null}]}"),
	BECOMES("a long run of blanks",
		"[                                                                     1]", "[1]"),
	BECOMES("a long run of newlines", "[\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n1]", "[1]"),
	BECOMES("space before a number alone", " 1 ", "1"),
};

static const struct accepted numbers[] = {
	SAME("zero", "0"),
	SAME("one", "1"),
	SAME("minus one", "-1"),
	SAME("minus zero", "-0"),
	BECOMES("minus zero with a fraction", "-0.0", "-0"),
	BECOMES("minus zero with an exponent", "-0e5", "-0"),
	SAME("123", "123"),
	SAME("a small negative", "-123"),
	SAME("largest int64", "9223372036854775807"),
	SAME("smallest int64", "-9223372036854775808"),
	SAME("above int64", "9223372036854775808"),
	SAME("largest uint64", "18446744073709551615"),
	BECOMES("above uint64", "18446744073709551616", "18446744073709552000"),
	BECOMES("below int64", "-9223372036854775809", "-9223372036854776000"),
	BECOMES("twenty digits", "99999999999999999999", "100000000000000000000"),
	BECOMES("thirty digits", "123456789012345678901234567890", "1.2345678901234568e+29"),
	SAME("above 2^53", "9007199254740993"),
	BECOMES("a whole double", "1.0", "1"),
	BECOMES("exponent", "1e2", "100"),
	BECOMES("capital exponent", "1E2", "100"),
	BECOMES("exponent with plus", "1E+2", "100"),
	BECOMES("exponent with minus", "1E-2", "0.01"),
	BECOMES("zero with exponent", "0e1", "0"),
	BECOMES("zero with exponent and plus", "0e+1", "0"),
	BECOMES("fraction and exponent", "123.456e78", "1.23456e+80"),
	SAME("fraction", "123.456789"),
	SAME("tenth", "0.1"),
	BECOMES("trailing zeros", "1.500000", "1.5"),
	BECOMES("many leading fraction zeros", "0.000001", "0.000001"),
	BECOMES("a small double", "0.0000001", "1e-7"),
	BECOMES("1e20", "1e20", "100000000000000000000"),
	BECOMES("1e21", "1e21", "1e+21"),
	BECOMES("near zero",
		"-0.0000000000000000000000000000000000000000000000000000000000000000001", "-1e-67"),
	SAME("seventeen digits", "0.30000000000000004"),
	BECOMES("largest double", "1.7976931348623157e308", "1.7976931348623157e+308"),
	BECOMES("smallest normal", "2.2250738585072014e-308", "2.2250738585072014e-308"),
	BECOMES("smallest subnormal", "4.9e-324", "5e-324"),
	BECOMES("underflow", "123e-10000000", "0"),
	BECOMES("huge negative exponent", "1e-99999999999999999999", "0"),
	BECOMES("zero with a huge exponent", "0e99999999999999999999", "0"),
	BECOMES("half way, to even", "9007199254740993.0", "9007199254740992"),
	BECOMES("above half way", "9007199254740993.00000000000000000000000001",
		"9007199254740994"),
	BECOMES("exponent with leading zeros", "1e0000000000000000000002", "100"),
};

static const struct accepted strings[] = {
	SAME("space", "\" \""),
	BECOMES("all short escapes", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
		"\"\\\"\\\\/\\b\\f\\n\\r\\t\""),
	BECOMES("unicode escapes", "\"\\u0060\\u012a\\u12AB\"", "\"`\xc4\xaa\xe1\x8a\xab\""),
	BECOMES("capital hex digits", "\"\\uABCD\\uabcd\"", "\"\xea\xaf\x8d\xea\xaf\x8d\""),
	BECOMES("surrogate pair", "\"\\uD801\\udc37\"", "\"\xf0\x90\x90\xb7\""),
	BECOMES("two surrogate pairs", "\"\\ud83d\\ude39\\ud83d\\udc8d\"",
		"\"\xf0\x9f\x98\xb9\xf0\x9f\x92\x8d\""),
	BECOMES("first pair", "\"\\ud800\\udc00\"", "\"\xf0\x90\x80\x80\""),
	BECOMES("last pair", "\"\\udbff\\udfff\"", "\"\xf4\x8f\xbf\xbf\""),
	BECOMES("backslash before u", "\"\\\\u0000\"", "\"\\\\u0000\""),
	BECOMES("escaped backslash at the end", "\"a\\\\\"", "\"a\\\\\""),
	BECOMES("escaped quote", "\"\\\"\"", "\"\\\"\""),
	BECOMES("escaped control", "\"\\u0012\"", "\"\\u0012\""),
	BECOMES("escaped NUL", "\"\\u0000\"", "\"\\u0000\""),
	BECOMES("escaped quote by number", "\"\\u0022\"", "\"\\\"\""),
	BECOMES("escaped backslash by number", "\"\\u005C\"", "\"\\\\\""),
	BECOMES("escaped DEL", "\"\\u007f\"", "\"\x7f\""),
	SAME("DEL", "\"\x7f\""),
	SAME("two bytes", "\"\xc3\xa9\""),
	SAME("first and last of two bytes", "\"\xc2\x80\xdf\xbf\""),
	SAME("three bytes", "\"\xe2\x82\xac\""),
	SAME("first and last of three bytes", "\"\xe0\xa0\x80\xef\xbf\xbf\""),
	SAME("around the surrogates", "\"\xed\x9f\xbf\xee\x80\x80\""),
	SAME("four bytes", "\"\xf0\x9d\x84\x9e\""),
	SAME("first and last of four bytes", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""),
	SAME("non-characters", "\"\xef\xbf\xbe\xf4\x8f\xbf\xbe\""),
	SAME("line separators", "\"\xe2\x80\xa8\xe2\x80\xa9\""),
	SAME("BOM inside", "\"\xef\xbb\xbf\""),
	SAME("sixteen bytes", "\"0123456789abcdef\""),
	SAME("what looks like a comment", "\"a/*b*/c/*d//e\""),
	SAME("what looks like structure", "\"[{}],:\""),
	SAME("wide in the second piece", "\"0123456789abcdef0123\xc3\xa9xyz0123456789abcdef\""),
	BECOMES("escape in the second piece", "\"0123456789abcdef0123\\txyz0123456789abcdef\"",
		"\"0123456789abcdef0123\\txyz0123456789abcdef\""),
	BECOMES("escapes and wide characters", "\"\xc3\xa9\\n\xe2\x82\xac\\u00e9\\\"\"",
		"\"\xc3\xa9\\n\xe2\x82\xac\xc3\xa9\\\"\""),
};

static const struct refused bad_structures[] = {
	REFUSED("nothing", "", 0, "expected a value, found end of input"),
	REFUSED("only space", " \n ", 3, "expected a value"),
	REFUSED("BOM", "\xef\xbb\xbf{}", 0, "found byte 0xef"),
	REFUSED("UTF-16", "\xff\xfe[\0]\0", 0, "expected a value"),
	REFUSED("NUL", "\0", 0, "found byte 0x00"),
	REFUSED("NUL behind a document", "[]\0", 2, "expected the end of the document"),
	REFUSED("NUL inside", "[1\0]", 2, "expected ',' or ']'"),
	REFUSED("form feed", "[\f]", 1, "found byte 0x0c"),
	REFUSED("no-break space", "[\xc2\xa0]", 1, "found byte 0xc2"),
	REFUSED("word joiner", "[\xe2\x81\xa0]", 1, "expected a value"),
	REFUSED("unclosed array", "[", 1, "found end of input"),
	REFUSED("unclosed array with element", "[1", 2, "expected ',' or ']'"),
	REFUSED("unclosed array with comma", "[1,", 3, "expected a value"),
	REFUSED("unclosed object", "{", 1, "expected a name"),
	REFUSED("unclosed object with member", "{\"a\":1", 6, "expected ',' or '}'"),
	REFUSED("unopened array", "]", 0, "expected a value"),
	REFUSED("unopened object", "}", 0, "expected a value"),
	REFUSED("one bracket too many", "[1]]", 3, "expected the end"),
	REFUSED("one brace too many", "{\"a\":1}}", 7, "expected the end"),
	REFUSED("mismatched brackets", "[1}", 2, "expected ',' or ']' after an element, found '}'"),
	REFUSED("mismatched braces", "{\"a\":1]", 6, "expected ',' or '}' after a member"),
	REFUSED("trailing comma in array", "[1,]", 3, "expected a value, found ']'"),
	REFUSED("two trailing commas", "[1,,]", 3, "expected a value"),
	REFUSED("double comma", "[1,,2]", 3, "expected a value"),
	REFUSED("leading comma", "[,1]", 1, "expected a value"),
	REFUSED("only a comma", "[,]", 1, "expected a value"),
	REFUSED("colon for comma", "[\"\":1]", 3, "expected ','"),
	REFUSED("missing comma", "[1 2]", 3, "expected ','"),
	REFUSED("missing comma between arrays", "[3[4]]", 2, "expected ','"),
	REFUSED("missing comma in object", "{\"a\":1 \"b\":2}", 7, "expected ','"),
	REFUSED("trailing comma in object", "{\"a\":1,}", 7, "expected a name"),
	REFUSED("double comma in object", "{\"a\":1,,\"b\":2}", 7, "expected a name"),
	REFUSED("comma for colon", "{\"a\",1}", 4, "expected ':'"),
	REFUSED("double colon", "{\"a\"::1}", 5, "expected a value"),
	REFUSED("missing colon", "{\"a\" 1}", 5, "expected ':'"),
	REFUSED("missing value", "{\"a\":}", 5, "expected a value"),
	REFUSED("missing value, then comma", "{\"a\":,\"b\":1}", 5, "expected a value"),
	REFUSED("name alone", "{\"a\"}", 4, "expected ':'"),
	REFUSED("unquoted name", "{a:1}", 1, "expected a name"),
	REFUSED("single-quoted name", "{'a':1}", 1, "expected a name in double quotes, found '"),
	REFUSED("number as name", "{1:1}", 1, "expected a name"),
	REFUSED("null as name", "{null:1}", 1, "expected a name"),
	REFUSED("array as name", "{[]:1}", 1, "expected a name"),
	REFUSED("two documents", "{}{}", 2, "expected the end"),
	REFUSED("two numbers", "1 2", 2, "expected the end"),
	REFUSED("trailing text", "[]x", 2, "found 'x'"),
	REFUSED("line comment", "[1] // x", 4, "expected the end"),
	REFUSED("block comment", "[/* x */1]", 1, "expected a value"),
	REFUSED("hash comment", "{\"a\":1}#", 7, "expected the end"),
	REFUSED("capital literal", "[True]", 1, "expected a value"),
	REFUSED("cut true", "[tru]", 1, "expected one of true"),
	REFUSED("cut false", "[fals]", 1, "expected one of true"),
	REFUSED("cut null", "[nul]", 1, "expected one of true"),
	REFUSED("true with a tail", "[truex]", 5, "expected ','"),
	REFUSED("cut true alone", "tr", 0, "expected one of true"),
	REFUSED("undefined", "undefined", 0, "expected a value"),
	REFUSED("bare word", "[a]", 1, "expected a value"),
	REFUSED("asterisk", "[*]", 1, "found '*'"),
	REFUSED("angle brackets", "<null>", 0, "expected a value"),
	REFUSED("wide character", "\xc3\xa5", 0, "found byte 0xc3"),
	REFUSED("escape outside a string", "[\\u000A\"\"]", 1, "expected a value"),
	REFUSED("semicolon", "[1;2]", 2, "expected ','"),
};

static const struct refused bad_numbers[] = {
	REFUSED("plus", "+1", 0, "expected a value"),
	REFUSED("minus alone", "-", 1, "expected a digit after '-'"),
	REFUSED("two minus", "[--1]", 2, "expected a digit"),
	REFUSED("minus and a space", "[- 1]", 2, "expected a digit"),
	REFUSED("minus and a word", "[-foo]", 2, "expected a digit"),
	REFUSED("leading zero", "[012]", 2, "may not begin with zero"),
	REFUSED("leading zero after minus", "[-012]", 3, "may not begin with zero"),
	REFUSED("two zeros", "00", 1, "may not begin with zero"),
	REFUSED("zeros and a fraction", "[00.5]", 2, "may not begin with zero"),
	REFUSED("leading point", "[.5]", 1, "expected a value"),
	REFUSED("leading point after minus", "[-.5]", 2, "expected a digit"),
	REFUSED("trailing point", "[1.]", 3, "after the decimal point"),
	REFUSED("trailing point after zero", "0.", 2, "after the decimal point"),
	REFUSED("point and exponent", "[1.e5]", 3, "after the decimal point"),
	REFUSED("two points", "[1.2.3]", 4, "expected ','"),
	REFUSED("empty exponent", "[1e]", 3, "in the exponent"),
	REFUSED("exponent plus", "[1e+]", 4, "in the exponent"),
	REFUSED("exponent minus at the end", "1e-", 3, "in the exponent"),
	REFUSED("exponent twice", "[1e2e3]", 4, "expected ','"),
	REFUSED("exponent with fraction", "[1e2.3]", 4, "expected ','"),
	REFUSED("exponent with two signs", "[1e+-2]", 4, "in the exponent"),
	REFUSED("exponent alone", "[e2]", 1, "expected a value"),
	REFUSED("hexadecimal", "[0x1F]", 2, "expected ','"),
	REFUSED("octal", "[0o17]", 2, "expected ','"),
	REFUSED("underscore", "[1_000]", 2, "expected ','"),
	REFUSED("NaN", "[NaN]", 1, "expected a value"),
	REFUSED("nan", "[nan]", 1, "expected one of"),
	REFUSED("Infinity", "[Infinity]", 1, "expected a value"),
	REFUSED("minus Infinity", "[-Infinity]", 2, "expected a digit"),
	REFUSED("inf", "[inf]", 1, "expected a value"),
	REFUSED("letter in a number", "[1a]", 2, "expected ','"),
	REFUSED("letter after minus", "[-1x]", 3, "expected ','"),
	REFUSED("overflow", "1e309", 0, "a number in the range of a 64-bit float"),
	REFUSED("overflow by digits", "-1234567890123e300", 0, "the range of a 64-bit float"),
	REFUSED("overflow by rounding", "[1.7976931348623159e308]", 1,
		"the range of a 64-bit float"),
	REFUSED("huge exponent", "[0.4e00669999999999999999999999999999]", 1,
		"the range of a 64-bit float"),
	REFUSED("wide digit", "[\xef\xbc\x91]", 1, "expected a value"),
	REFUSED("wide character behind a digit", "[1\xc3\xa9]", 2, "expected ','"),
};

static const struct refused bad_strings[] = {
	REFUSED("only a quote", "\"", 1, "a string is not closed, found end of input"),
	REFUSED("unclosed", "[\"a", 3, "not closed"),
	REFUSED("unclosed over many bytes", "\"0123456789abcdef0123456789abcdef", 33, "not closed"),
	REFUSED("unclosed by an escaped quote", "\"\\\"", 3, "not closed"),
	REFUSED("backslash at the end", "\"\\", 2, "not closed"),
	REFUSED("half an escape", "[\"\\\\\\\"]", 7, "not closed"),
	REFUSED("single quotes", "['a']", 1, "expected a value, found '"),
	REFUSED("newline", "\"a\nb\"", 2, "a control character in a string must be escaped"),
	REFUSED("tab", "\"\t\"", 1, "must be escaped, found byte 0x09"),
	REFUSED("NUL", "\"a\0b\"", 2, "found byte 0x00"),
	REFUSED("unit separator", "\"\x1f\"", 1, "found byte 0x1f"),
	REFUSED("control in the second piece", "\"0123456789abcdef\x01\"", 17, "found byte 0x01"),
	REFUSED("unknown escape", "\"\\a\"", 2, "expected an escape"),
	REFUSED("hexadecimal escape", "\"\\x00\"", 2, "expected an escape"),
	REFUSED("octal escape", "\"\\012\"", 2, "expected an escape"),
	REFUSED("escaped newline", "\"\\\n\"", 2, "expected an escape, one of"),
	REFUSED("escaped NUL byte", "\"\\\0\"", 2, "expected an escape"),
	REFUSED("escaped wide character", "\"\\\xc3\xa9\"", 2, "expected an escape"),
	REFUSED("capital U", "\"\\U0041\"", 2, "expected an escape"),
	REFUSED("no hex digits", "\"\\u\"", 3, "four hexadecimal digits"),
	REFUSED("one hex digit", "\"\\u1\"", 3, "four hexadecimal digits"),
	REFUSED("three hex digits", "\"\\u00A\"", 3, "four hexadecimal digits"),
	REFUSED("bad hex digit", "\"\\u00Zq\"", 3, "four hexadecimal digits"),
	REFUSED("sign as hex digit", "\"\\u+041\"", 3, "four hexadecimal digits"),
	REFUSED("lone high surrogate", "\"\\uD800\"", 7, "expected the low half"),
	REFUSED("high surrogate and text", "\"\\uD800abcdef\"", 7, "expected the low half"),
	REFUSED("high surrogate and escape", "\"\\uD800\\n\\u0000\"", 7, "expected the low half"),
	REFUSED("two high surrogates", "\"\\uD800\\uD800\"", 7, "expected the low half"),
	REFUSED("high surrogate and half an escape", "\"\\uD800\\u\"", 7, "expected the low half"),
	REFUSED("high surrogate and bad hex", "\"\\uD800\\uDCxx\"", 7, "expected the low half"),
	REFUSED("lone low surrogate", "\"\\uDC00\"", 3,
		"low half of a surrogate pair has no high half"),
	REFUSED("inverted surrogates", "\"\\uDd1e\\uD834\"", 3, "has no high half"),
	REFUSED("lone continuation byte", "\"\x81\"", 1, "not valid UTF-8, found byte 0x81"),
	REFUSED("byte ff", "\"ab\xff\"", 3, "not valid UTF-8"),
	REFUSED("overlong slash", "\"\xc0\xaf\"", 1, "not valid UTF-8"),
	REFUSED("overlong in two bytes", "\"\xc1\xbf\"", 1, "not valid UTF-8"),
	REFUSED("overlong in three bytes", "\"\xe0\x9f\xbf\"", 1, "not valid UTF-8"),
	REFUSED("overlong in four bytes", "\"\xf0\x8f\xbf\xbf\"", 1, "not valid UTF-8"),
	REFUSED("surrogate", "\"\xed\xa0\x80\"", 1, "not valid UTF-8"),
	REFUSED("surrogates as a pair", "\"\xed\xa0\x81\xed\xb0\xb7\"", 1, "not valid UTF-8"),
	REFUSED("above 10FFFF", "\"\xf4\x90\x80\x80\"", 1, "not valid UTF-8"),
	REFUSED("five bytes", "\"\xf8\x88\x80\x80\x80\"", 1, "not valid UTF-8"),
	REFUSED("cut sequence", "\"\xe2\x82\"", 1, "not valid UTF-8"),
	REFUSED("cut four-byte sequence", "\"\xf0\x9d\x84\"", 1, "not valid UTF-8"),
	REFUSED("Latin-1", "\"caf\xe9\"", 4, "not valid UTF-8, found byte 0xe9"),
	REFUSED("good and then bad", "\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\xc3(\"", 10,
		"not valid UTF-8"),
	REFUSED("bad name", "{\"\xff\":1}", 2, "not valid UTF-8"),
	REFUSED("bad beside an escape", "\"\\n\xff\"", 3, "not valid UTF-8"),
};

static void check_accepted(const struct accepted *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
		CLEANUP(arena_release) struct arena a;
		struct error err = { 0 };
		struct json *v;

		arena_init(&a, MIB);
		if (json_parse(&a, cases[i].text, NULL, &v, &err) < 0)
			fail_msg("%s: %s", cases[i].name, err.msg);
		assert_int_equal(json_print(&b, v, NULL), 0);
		if (!str_eq(buf_str(&b),
			    cases[i].printed ? str_from(cases[i].printed) : cases[i].text))
			fail_msg("%s: printed as %s", cases[i].name, b.p);
	}
}

static void check_refused(const struct refused *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP(arena_release) struct arena a;
		struct json_report report;
		struct error err = { 0 };
		struct json *v = NULL;
		int r;

		arena_init(&a, MIB);
		r = json_parse(&a, cases[i].text, &(struct json_options){ .report = &report }, &v,
			       &err);
		if (r != -ERR_BAD_REQUEST || v)
			fail_msg("%s: result %d", cases[i].name, r);
		if (report.offset != cases[i].offset)
			fail_msg("%s: byte %zu, expected %zu: %s", cases[i].name, report.offset,
				 cases[i].offset, err.msg);
		if (!strstr(err.msg, cases[i].what))
			fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].name, err.msg, cases[i].what);
	}
}

static void structures_are_read(void **state)
{
	check_accepted(structures, ARRAY_SIZE(structures));
}

static void spaces_are_skipped(void **state)
{
	check_accepted(spaces, ARRAY_SIZE(spaces));
}

static void numbers_are_read_exactly(void **state)
{
	check_accepted(numbers, ARRAY_SIZE(numbers));
}

static void strings_are_read(void **state)
{
	check_accepted(strings, ARRAY_SIZE(strings));
}

static void bad_structures_are_refused(void **state)
{
	check_refused(bad_structures, ARRAY_SIZE(bad_structures));
}

static void bad_numbers_are_refused(void **state)
{
	check_refused(bad_numbers, ARRAY_SIZE(bad_numbers));
}

static void bad_strings_are_refused(void **state)
{
	check_refused(bad_strings, ARRAY_SIZE(bad_strings));
}

static struct json *parse(struct arena *a, const char *text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (json_parse(a, str_from(text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void numbers_get_the_type_that_holds_them(void **state)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(parse(&a, "0")->type, JSON_INT);
	assert_int_equal(parse(&a, "-9223372036854775808")->i64, INT64_MIN);
	assert_int_equal(parse(&a, "9223372036854775807")->type, JSON_INT);
	assert_int_equal(parse(&a, "9223372036854775808")->type, JSON_UINT);
	assert_true(parse(&a, "18446744073709551615")->u64 == UINT64_MAX);
	assert_int_equal(parse(&a, "18446744073709551616")->type, JSON_DOUBLE);
	assert_int_equal(parse(&a, "1.0")->type, JSON_DOUBLE);
	assert_int_equal(parse(&a, "1e0")->type, JSON_DOUBLE);
	assert_int_equal(parse(&a, "-0")->type, JSON_DOUBLE);
}

static void plain_strings_point_into_the_source(void **state)
{
	static const char text[] = "{\"key\":\"value\",\"k\\ney\":\"\"}";
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, text);
	assert_ptr_equal(v->first->key, text + 2);
	assert_ptr_equal(v->first->text, text + 8);
	assert_false(v->last->key >= text && v->last->key < text + sizeof(text));
	assert_non_null(json_str(v->last).p);
}

static void an_error_carries_line_and_column(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct error err;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, STR("{\n  \"a\": 1,\n  \"b\": x\n}"),
				    &(struct json_options){ .report = &report }, &v, &err),
			 -ERR_BAD_REQUEST);
	assert_int_equal(report.line, 3);
	assert_int_equal(report.column, 8);
	assert_int_equal(report.offset, 19);
	assert_string_equal(err.msg, "line 3, column 8 (byte 19): expected a value, found 'x'");
}

/* Every beginning of this one is incomplete. */
static const char whole[] =
	"{\"kind\":\"Pod\",\"n\":[0,-1,2.5e+3,true,false,null,\"\"],"
	"\"t\":\"tab\\t\\u00e9\\ud83d\\ude00 \xc3\xa9\xe2\x82\xac\",\"o\":{\"a\":{}}}";

static void every_truncation_is_refused(void **state)
{
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		CLEANUP(arena_release) struct arena a;
		struct json *v = NULL;
		/* Exactly as long as it is, so that reading on is noticed. */
		CLEANUP(free) char *copy = str_dup(str_of(whole, n));
		CLEANUP(free) char *exact = malloc(n ? n : 1);

		memcpy(exact, copy, n);
		arena_init(&a, MIB);
		assert_int_equal(json_parse(&a, str_of(exact, n), NULL, &v, NULL),
				 -ERR_BAD_REQUEST);
		assert_null(v);
	}
}

static void every_changed_byte_is_survived(void **state)
{
	char text[sizeof(whole)];
	struct json *v;

	for (size_t at = 0; at < sizeof(whole) - 1; at++) {
		for (int byte = 0; byte < 256; byte++) {
			CLEANUP(arena_release) struct arena a;
			struct json_report report = { 0 };

			memcpy(text, whole, sizeof(text));
			text[at] = (char)byte;
			arena_init(&a, MIB);
			if (json_parse(&a, str_of(text, sizeof(text) - 1),
				       &(struct json_options){ .report = &report }, &v, NULL) < 0)
				assert_in_range(report.offset, at > 12 ? at - 12 : 0,
						sizeof(text) - 1);
		}
	}
}

static char *nested(const char *open, const char *close, size_t depth)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);

	for (size_t i = 0; i < depth; i++)
		(void)buf_addz(&b, open);
	for (size_t i = 0; i < depth; i++)
		(void)buf_addz(&b, close);
	return buf_take(&b);
}

static int parse_nested(const char *open, const char *close, size_t depth, size_t depth_max)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(free) char *text = nested(open, close, depth);
	struct json *v;

	arena_init(&a, 64 * MIB);
	return json_parse(&a, str_from(text), &(struct json_options){ .depth_max = depth_max }, &v,
			  NULL);
}

static void depth_is_limited(void **state)
{
	assert_int_equal(parse_nested("[", "]", JSON_DEPTH_MAX, 0), 0);
	assert_int_equal(parse_nested("[", "]", JSON_DEPTH_MAX + 1, 0), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("[", "]", 100000, 0), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("[", "", 100000, 0), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("{\"a\":[", "]}", 100000, 0), -ERR_BAD_REQUEST);
	assert_int_equal(parse_nested("[", "]", 100000, 100000), 0);
	assert_int_equal(parse_nested("[", "]", 3, 3), 0);
	assert_int_equal(parse_nested("[", "]", 4, 3), -ERR_BAD_REQUEST);
}

static void size_is_limited(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(
		json_parse(&a, STR("[1,2]"), &(struct json_options){ .size_max = 5 }, &v, NULL), 0);
	assert_int_equal(
		json_parse(&a, STR("[1,2]"), &(struct json_options){ .size_max = 4 }, &v, NULL),
		-ERR_TOO_LARGE);
}

static void memory_is_limited(void **state)
{
	CLEANUP(free) char *many = nested("1,", "", 10000);
	CLEANUP(free) char *text = NULL;
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct error err;
	struct json *v;

	(void)buf_printf(&b, "[%s0]", many);
	arena_init(&a, 100000);
	assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, &err), -ERR_TOO_LARGE);
	assert_true(a.used <= 100000 + 256 * KIB); /* the arena rounds up to a block */
	buf_clear(&b);
	text = nested("x", "", 200000);
	(void)buf_printf(&b, "[\"\\n%s\"]", text);
	assert_int_equal(json_parse(&a, buf_str(&b), NULL, &v, &err), -ERR_TOO_LARGE);
}

static void check_duplicates(const char *text, const char *printed, const char *paths)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct json_report report;
	struct json *v = NULL;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), &(struct json_options){ .report = &report },
				    &v, NULL),
			 0);
	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, printed);
	buf_clear(&b);
	for (struct json_duplicate *d = report.duplicates; d; d = d->next)
		(void)buf_printf(&b, "%.*s(%.*s) ", STR_ARG(d->path), STR_ARG(d->key));
	assert_string_equal(b.p ? b.p : "", paths);
}

static void repeated_names_are_merged_and_reported(void **state)
{
	check_duplicates("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", "");
	check_duplicates("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}", "a(a) ");
	check_duplicates("{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", "a(a) a(a) ");
	check_duplicates("{\"a\":1,\"\\u0061\":2}", "{\"a\":2}", "a(a) ");
	check_duplicates("{\"a\":[1],\"a\":{\"b\":{}}}", "{\"a\":{\"b\":{}}}", "a(a) ");
	check_duplicates("{\"a\":{\"b\":1,\"b\":2},\"c\":0}", "{\"a\":{\"b\":2},\"c\":0}",
			 "a.b(b) ");
	check_duplicates("{\"spec\":{\"containers\":[{},{\"name\":\"x\",\"name\":\"y\"}]}}",
			 "{\"spec\":{\"containers\":[{},{\"name\":\"y\"}]}}",
			 "spec.containers[1].name(name) ");
	check_duplicates("[0,[[{\"x\":1,\"x\":2}]]]", "[0,[[{\"x\":2}]]]", "[1][0][0].x(x) ");
	check_duplicates("[0,1,2,3,4,5,6,7,8,9,{\"\":1,\"\":2}]", "[0,1,2,3,4,5,6,7,8,9,{\"\":2}]",
			 "[10].() ");
	check_duplicates("{\"a\":{\"x\":1,\"x\":2},\"a\":{\"y\":1,\"y\":2}}", "{\"a\":{\"y\":2}}",
			 "a.x(x) a.y(y) a(a) ");
}

static void the_tree_is_sound_after_a_merge(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	v = parse(&a, "{\"a\":1,\"b\":2,\"b\":3,\"a\":4}");
	assert_int_equal(v->n, 2);
	assert_ptr_equal(v->first->next, v->last);
	assert_null(v->last->next);
	assert_int_equal(v->first->i64, 4);
	assert_int_equal(v->last->i64, 3);
	json_add(v, STR("c"), json_make_null(&a));
	assert_int_equal(json_count(v), 3);
	assert_non_null(json_getz(v, "c"));
}

static void large_objects_are_searched_by_hash(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct json *v;

	(void)buf_addc(&b, '{');
	for (int i = 0; i < 200000; i++)
		(void)buf_printf(&b, "\"key-%d\":%d,", i % 199999, i);
	(void)buf_addz(&b, "\"\":0,\"key-5\":true}");
	arena_init(&a, 64 * MIB);
	assert_int_equal(
		json_parse(&a, buf_str(&b), &(struct json_options){ .report = &report }, &v, NULL),
		0);
	assert_int_equal(v->n, 200000);
	assert_int_equal(report.duplicate_count, 2);
	assert_true(str_eq(report.duplicates->path, STR("key-0")));
	assert_true(str_eq(report.duplicates->next->path, STR("key-5")));
	assert_int_equal(v->first->i64, 199999);
	assert_int_equal(json_getz(v, "key-5")->type, JSON_BOOL);
	assert_true(str_eq(json_key(v->last), STR("")));
}

static void repeated_members_are_kept_where_that_is_asked_for(void **state)
{
	const struct json_options keep = { .keep_repeated = true };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	struct json *v;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(
		json_parse(&a, STR("{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":3}"), &keep, &v, NULL),
		0);
	assert_int_equal(json_print(&b, v, NULL), 0);
	assert_string_equal(b.p, "{\"a\":1,\"b\":{\"c\":1,\"c\":2},\"a\":3}");
	arena_release(&a);
}

static void the_list_of_duplicates_is_limited(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(16 * MIB);
	CLEANUP(arena_release) struct arena a;
	struct json_report report;
	struct json_options options = { .report = &report };
	struct json_duplicate *d;
	struct json *v;
	size_t n = 0;

	(void)buf_addc(&b, '{');
	for (int i = 0; i < 1000; i++)
		(void)buf_addz(&b, "\"a\":0,");
	(void)buf_addz(&b, "\"a\":1}");
	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, buf_str(&b), &options, &v, NULL), 0);
	for (d = report.duplicates; d; d = d->next)
		n++;
	assert_int_equal(n, JSON_DUPLICATES_MAX);
	assert_int_equal(report.duplicate_count, 1000);
	assert_int_equal(v->n, 1);
	options.duplicates_max = 2;
	assert_int_equal(json_parse(&a, buf_str(&b), &options, &v, NULL), 0);
	assert_null(report.duplicates->next->next);
}

static void all_lengths_of_strings_are_read(void **state)
{
	char text[80];

	for (size_t n = 0; n < 70; n++) {
		CLEANUP(arena_release) struct arena a;
		struct json *v = NULL;

		memset(text, 'x', sizeof(text));
		text[0] = text[n + 1] = '"';
		arena_init(&a, MIB);
		assert_int_equal(json_parse(&a, str_of(text, n + 2), NULL, &v, NULL), 0);
		assert_int_equal(v->n, n);
		for (size_t at = 1; at <= n; at++) {
			text[at] = '\x1f';
			assert_int_equal(json_parse(&a, str_of(text, n + 2), NULL, &v, NULL),
					 -ERR_BAD_REQUEST);
			text[at] = 'x';
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_are_read),
		cmocka_unit_test(spaces_are_skipped),
		cmocka_unit_test(numbers_are_read_exactly),
		cmocka_unit_test(strings_are_read),
		cmocka_unit_test(bad_structures_are_refused),
		cmocka_unit_test(bad_numbers_are_refused),
		cmocka_unit_test(bad_strings_are_refused),
		cmocka_unit_test(numbers_get_the_type_that_holds_them),
		cmocka_unit_test(plain_strings_point_into_the_source),
		cmocka_unit_test(an_error_carries_line_and_column),
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_changed_byte_is_survived),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(size_is_limited),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(repeated_names_are_merged_and_reported),
		cmocka_unit_test(the_tree_is_sound_after_a_merge),
		cmocka_unit_test(large_objects_are_searched_by_hash),
		cmocka_unit_test(repeated_members_are_kept_where_that_is_asked_for),
		cmocka_unit_test(the_list_of_duplicates_is_limited),
		cmocka_unit_test(all_lengths_of_strings_are_read),
	};

	return cmocka_run_group_tests_name("base/json_parse", tests, NULL, NULL);
}

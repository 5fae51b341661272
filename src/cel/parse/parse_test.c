#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "cel/parse/macro.h"
#include "cel/parse/parse.h"

/* Libraries of macros only: the parser needs nothing else of them. */
static const struct cel_library standard = { .name = "standard", .macros = cel_macros_standard };
static const struct cel_library folds = { .name = "folds", .macros = cel_macros_comprehensions };
static const struct cel_library bindings = { .name = "bindings", .macros = cel_macros_bindings };
static const struct cel_library optional = { .name = "optional", .macros = cel_macros_optional };
static const struct cel_library numbers = { .name = "math", .macros = cel_macros_math };
static const struct cel_library lists = { .name = "lists", .macros = cel_macros_lists };
static const struct cel_library *const all[] = { &standard, &folds, &bindings, &optional,
						 &numbers,  &lists, NULL };
static const struct cel_library *const plain[] = { &standard, NULL };
static const struct cel_library *const none[] = { NULL };

#define EXPECTED_EXPR                                                                  \
	"{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, " \
	"NUM_UINT, STRING, BYTES, IDENTIFIER}"

struct parsed {
	struct arena arena;
	struct cel_issues issues;
	struct cel_expr *expr;
	struct buf out;
};

static void parse_with(struct parsed *r, const struct cel_library *const *libs, struct str text)
{
	struct cel_env env = { .libraries = libs };

	arena_init(&r->arena, 64 * MIB);
	cel_issues_init(&r->issues, &r->arena, text);
	buf_init(&r->out, 16 * MIB);
	r->expr = cel_parse(&env, &r->issues);
	assert_int_equal(r->expr == NULL, r->issues.n > 0);
}

static void parsed_release(struct parsed *r)
{
	buf_release(&r->out);
	arena_release(&r->arena);
}

static void print(struct parsed *r)
{
	if (r->expr)
		cel_expr_print(r->expr, &r->out);
	else
		cel_issues_print(&r->issues, &r->out);
}

static void gives(const struct cel_library *const *libs, const char *text, const char *printed)
{
	struct parsed r;

	parse_with(&r, libs, str_from(text));
	print(&r);
	assert_string_equal(r.out.p, printed);
	parsed_release(&r);
}

struct pair {
	const char *text, *printed;
};

static void give(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gives(all, pairs[i].text, pairs[i].printed);
}

/* The messages alone, each with its place: "1:2: text; 1:3: text". */
static void fails_with(const struct cel_library *const *libs, const char *text,
		       const char *messages)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(16 * MIB);
	struct parsed r;
	struct str rest, line;

	parse_with(&r, libs, str_from(text));
	print(&r);
	rest = buf_str(&r.out);
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts(line, STR("ERROR: <input>:")))
			continue;
		(void)buf_printf(&got, "%s%.*s", got.n ? "; " : "", STR_ARG(str_skip(line, 15)));
	}
	assert_string_equal(got.p ? got.p : "parsed", messages);
	parsed_release(&r);
}

static void fails(const char *text, const char *messages)
{
	fails_with(all, text, messages);
}

static void literals_have_all_forms_of_the_language(void **state)
{
	static const struct pair pairs[] = {
		{ "null", "null" },
		{ "true", "true" },
		{ "false", "false" },
		{ "0", "0" },
		{ "007", "7" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "0x1F", "31" },
		{ "-0xff", "-255" },
		{ "-0x8000000000000000", "-9223372036854775808" },
		{ "5u", "5u" },
		{ "18446744073709551615U", "18446744073709551615u" },
		{ "0xFu", "15u" },
		{ "1.5", "1.5" },
		{ "1e3", "1000.0" },
		{ "1.25E-2", "0.0125" },
		{ ".5", "0.5" },
		{ "-.5e+1", "-5.0" },
		{ "1e-400", "0.0" },
		{ "-0.0", "-0.0" },
		{ "1e30", "1e+30" },
		{ "''", "\"\"" },
		{ "\"it's\"", "\"it's\"" },
		{ "'say \"x\"'", "\"say \\\"x\\\"\"" },
		{ "'''a'b''c'''", "\"a'b''c\"" },
		{ "\"\"\"a\n\"b\"\n\"\"\"", "\"a\\x0a\\\"b\\\"\\x0a\"" },
		{ "'''a\r\nb\rc'''", "\"a\\x0ab\\x0ac\"" },
		{ "''''''", "\"\"" },
		{ "r'\\n'", "\"\\\\n\"" },
		{ "R\"\\\"", "\"\\\\\"" },
		{ "r'''a\\'''", "\"a\\\\\"" },
		{ "b'abc'", "b\"abc\"" },
		{ "B\"\xc3\xa9\"", "b\"\\xc3\\xa9\"" },
		{ "br'\\n'", "b\"\\\\n\"" },
		{ "bR'''x'y'''", "b\"x'y\"" },
		{ "'\xf0\x9f\x98\x81'", "\"\xf0\x9f\x98\x81\"" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
}

static void escapes_mean_characters_in_text_and_bytes_in_bytes(void **state)
{
	static const struct pair pairs[] = {
		{ "'\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\`\\'\\\"'",
		  "\"\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b\\\\?`'\\\"\"" },
		{ "'\\u00e9\\U0001F601'", "\"\xc3\xa9\xf0\x9f\x98\x81\"" },
		{ "'\\xe9\\XE9\\351'", "\"\xc3\xa9\xc3\xa9\xc3\xa9\"" },
		{ "b'\\xe9\\XE9\\351\\000'", "b\"\\xe9\\xe9\\xe9\\x00\"" },
		{ "b'\\n\\\\'", "b\"\\x0a\\\\\"" },
		{ "'''\\''''", "\"'\"" },
		{ "'\\u20ac'", "\"\xe2\x82\xac\"" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
	fails("'\\ud800'", "1:1: invalid unicode code point");
	fails("'\\U00110000'", "1:1: invalid unicode code point");
	fails("b'\\u00e9'", "1:1: unable to unescape string");
	fails("1 + b'\\U000000e9'", "1:5: unable to unescape string");
}

static void numbers_out_of_range_are_refused_at_their_sign(void **state)
{
	(void)state;
	fails("9223372036854775808", "1:1: invalid int literal");
	fails("1 + -9223372036854775809", "1:5: invalid int literal");
	fails("0x8000000000000000", "1:1: invalid int literal");
	fails("0x10000000000000000", "1:1: invalid int literal");
	fails("18446744073709551616u", "1:1: invalid uint literal");
	fails("1e999", "1:1: invalid double literal");
	fails("--9223372036854775808", "1:3: invalid int literal");
}

static void operators_bind_as_the_language_says(void **state)
{
	static const struct pair pairs[] = {
		{ "1 + 2 * 3 - 4 / 5 % 6", "((1 + (2 * 3)) - ((4 / 5) % 6))" },
		{ "a || b && c || d", "((a || (b && c)) || d)" },
		{ "a < b == c != d in e", "((((a < b) == c) != d) in e)" },
		{ "a <= b", "(a <= b)" },
		{ "a >= b > c", "((a >= b) > c)" },
		{ "a + b < c - d", "((a + b) < (c - d))" },
		{ "a ? b : c ? d : e", "(a ? b : (c ? d : e))" },
		{ "a || b ? c && d : e", "((a || b) ? (c && d) : e)" },
		{ "(a + b) * c", "((a + b) * c)" },
		{ "!a.b", "!(a.b)" },
		{ "!!a", "a" },
		{ "!!!a", "!(a)" },
		{ "-a", "-(a)" },
		{ "--a", "a" },
		{ "-1", "-1" },
		{ "- 1", "-1" },
		{ "--1", "1" },
		{ "---1", "-(1)" },
		{ "-(1)", "-(1)" },
		{ "1-1", "(1 - 1)" },
		{ "1--1", "(1 - -1)" },
		{ "!-1", "!(-1)" },
		{ "-1u", "-(1u)" },
		{ "-a.b(c)[0]", "-(a.b(c)[0])" },
		{ "a && b && c && d", "((a && b) && (c && d))" },
		{ "a || b || c", "((a || b) || c)" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
}

static void members_calls_and_literals_of_all_kinds_parse(void **state)
{
	static const struct pair pairs[] = {
		{ "a.b.c", "a.b.c" },
		{ ".a.b", ".a.b" },
		{ ". a (1)", ".a(1)" },
		{ "f()", "f()" },
		{ "f(1, 'x').g(y)", "f(1, \"x\").g(y)" },
		{ "a[1][b]", "a[1][b]" },
		{ "[1, 2][0]", "[1, 2][0]" },
		{ "[]", "[]" },
		{ "[,]", "[]" },
		{ "[1,]", "[1]" },
		{ "{}", "{}" },
		{ "{,}", "{}" },
		{ "{1: 'a', 'b': 2,}", "{1: \"a\", \"b\": 2}" },
		{ "a.b.C{}", "a.b.C{}" },
		{ ".a . C{x: 1, y: 2,}", ".a.C{x: 1, y: 2}" },
		{ "C{`x-y`: 1}.x", "C{`x-y`: 1}.x" },
		{ "a.`b-c/d.e f`", "a.`b-c/d.e f`" },
		{ "a.`b`", "a.b" },
		{ "a.?b", "a.?b" },
		{ "a.?`b-c`", "a.?`b-c`" },
		{ "a[?b]", "a[?b]" },
		{ "[?a, b]", "[?a, b]" },
		{ "{?a: b, c: d}", "{?a: b, c: d}" },
		{ "C{?a: b}", "C{?a: b}" },
		{ "a.for.while", "a.for.while" },
		{ "a.if(1)", "a.if(1)" },
		{ "1.5.x", "(1.5).x" },
		{ "a // b\n + // c\r d\n c//", "(a + c)" },
		{ "\ta\f\r\n+b ", "(a + b)" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
}

/* Nodes from the root down, each with its place. */
static void print_places(const struct cel_expr *e, struct buf *out)
{
	(void)buf_printf(out, "%s%.*s@%" PRIu32, out->n ? " " : "", STR_ARG(e->name), e->offset);
	for (uint32_t i = 0; i < e->n; i++)
		print_places(e->children[i], out);
	for (uint32_t i = 0; e->field_offsets && i < e->n; i++)
		(void)buf_printf(out, " :%" PRIu32, e->field_offsets[i]);
	if (!e->fold)
		return;
	print_places(e->fold->range, out);
	print_places(e->fold->init, out);
	print_places(e->fold->condition, out);
	print_places(e->fold->step, out);
	print_places(e->fold->result, out);
}

static void places(const char *text, const char *expected)
{
	struct parsed r;

	parse_with(&r, all, str_from(text));
	assert_non_null(r.expr);
	print_places(r.expr, &r.out);
	assert_string_equal(r.out.p, expected);
	parsed_release(&r);
}

static void nodes_stand_where_messages_point(void **state)
{
	(void)state;
	places("a + b", "_+_@2 a@0 b@4");
	places("a.b", "b@1 a@0");
	places(".a", ".a@1");
	places("f(x)", "f@1 x@2");
	places("a.f(x)", "f@3 a@0 x@4");
	places("a[x]", "_[_]@1 a@0 x@2");
	places("a[?x]", "_[?_]@1 a@0 x@3");
	places("a.?x", "_?._@1 a@0 @3");
	places(" [a, -1]", "@1 a@2 @5");
	places("{a: b}", "@0 a@1 b@4");
	places("a.B{c: d, e : f}", "a.B@3 d@7 f@14 :5 :12");
	places("a ? b : c", "_?_:_@2 a@0 b@4 c@8");
	places("!!!a", "!_@0 a@3");
	places(" -a", "-_@1 a@2");
	places("a && b && c", "_&&_@7 _&&_@2 a@0 b@5 c@10");
	places("has(a.b)", "b@3 a@4");
	places("a.exists(x, x)", "@8 a@0 @8 @not_strictly_false@8 !_@8 @result@8 _||_@8 "
				 "@result@8 x@12 @result@8");
	places("a.b.optMap(x, x)", "_?_:_@10 hasValue@10 b@1 a@0 optional.of@10 @10 @10 value@10 "
				   "b@1 a@0 @10 x@10 x@14 optional.none@10");
}

static void macros_of_the_language_become_folds(void **state)
{
	static const struct pair pairs[] = {
		{ "has(a.b)", "has(a.b)" },
		{ "a.all(x, p)", "@fold(x, @result, a, true, @not_strictly_false(@result), "
				 "(@result && p), @result)" },
		{ "a.exists(x, p)", "@fold(x, @result, a, false, @not_strictly_false(!(@result)), "
				    "(@result || p), @result)" },
		{ "a.exists_one(x, p)", "@fold(x, @result, a, 0, true, "
					"(p ? (@result + 1) : @result), (@result == 1))" },
		{ "a.existsOne(x, p)", "@fold(x, @result, a, 0, true, "
				       "(p ? (@result + 1) : @result), (@result == 1))" },
		{ "a.map(x, f)", "@fold(x, @result, a, [], true, (@result + [f]), @result)" },
		{ "a.map(x, p, f)",
		  "@fold(x, @result, a, [], true, (p ? (@result + [f]) : @result), @result)" },
		{ "a.filter(x, p)",
		  "@fold(x, @result, a, [], true, (p ? (@result + [x]) : @result), @result)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		gives(plain, pairs[i].text, pairs[i].printed);
}

static void macros_with_two_variables_become_folds(void **state)
{
	static const struct pair pairs[] = {
		{ "a.all(i, x, p)", "@fold(i, x, @result, a, true, @not_strictly_false(@result), "
				    "(@result && p), @result)" },
		{ "a.exists(i, x, p)",
		  "@fold(i, x, @result, a, false, @not_strictly_false(!(@result)), "
		  "(@result || p), @result)" },
		{ "a.existsOne(i, x, p)", "@fold(i, x, @result, a, 0, true, "
					  "(p ? (@result + 1) : @result), (@result == 1))" },
		{ "a.exists_one(i, x, p)", "@fold(i, x, @result, a, 0, true, "
					   "(p ? (@result + 1) : @result), (@result == 1))" },
		{ "a.transformList(i, x, f)",
		  "@fold(i, x, @result, a, [], true, (@result + [f]), @result)" },
		{ "a.transformList(i, x, p, f)",
		  "@fold(i, x, @result, a, [], true, (p ? (@result + [f]) : @result), @result)" },
		{ "a.transformMap(k, x, f)",
		  "@fold(k, x, @result, a, {}, true, cel.@mapInsert(@result, k, f), @result)" },
		{ "a.transformMap(k, x, p, f)",
		  "@fold(k, x, @result, a, {}, true, "
		  "(p ? cel.@mapInsert(@result, k, f) : @result), @result)" },
		{ "a.transformMapEntry(k, x, f)",
		  "@fold(k, x, @result, a, {}, true, cel.@mapInsert(@result, f), @result)" },
		{ "a.transformMapEntry(k, x, p, f)",
		  "@fold(k, x, @result, a, {}, true, "
		  "(p ? cel.@mapInsert(@result, f) : @result), @result)" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
}

static void macros_of_libraries_expand(void **state)
{
	static const struct pair pairs[] = {
		{ "cel.bind(x, 1, x + x)", "@fold(#unused, x, [], 1, false, x, (x + x))" },
		{ "a.bind(x, 1, x)", "a.bind(x, 1, x)" },
		{ "a.optMap(x, f)", "(a.hasValue() ? optional.of(@fold(#unused, x, [], a.value(), "
				    "false, x, f)) : optional.none())" },
		{ "a.optFlatMap(x, f)", "(a.hasValue() ? @fold(#unused, x, [], a.value(), false, "
					"x, f) : optional.none())" },
		{ "math.greatest(a)", "math.@max(a)" },
		{ "math.greatest([1, a])", "math.@max([1, a])" },
		{ "math.greatest(1, 2.0)", "math.@max(1, 2.0)" },
		{ "math.least(1, 2u, a)", "math.@min([1, 2u, a])" },
		{ "a.least(1)", "a.least(1)" },
		{ "a.sortBy(x, x.y)",
		  "@fold(#unused, @__sortBy_input__, [], a, false, @__sortBy_input__, "
		  "@__sortBy_input__.@sortByAssociatedKeys(@fold(x, @result, @__sortBy_input__, "
		  "[], true, (@result + [x.y]), @result)))" },
	};

	(void)state;
	give(pairs, ARRAY_SIZE(pairs));
}

static void without_a_library_its_macros_are_calls(void **state)
{
	(void)state;
	gives(none, "a.all(x, y)", "a.all(x, y)");
	gives(none, "has(1)", "has(1)");
	gives(plain, "a.all(i, x, y)", "a.all(i, x, y)");
	gives(plain, "math.greatest('x')", "math.greatest(\"x\")");
	fails_with(plain, "a.?b", "1:2: unsupported syntax '.?'");
	fails_with(plain, "a[?b]", "1:2: unsupported syntax '[?'");
	fails_with(plain, "[1, ?b]", "1:5: unsupported syntax '?'");
	fails_with(plain, "{?b: 1}", "1:2: unsupported syntax '?'");
	fails_with(plain, "C{?b: 1}", "1:3: unsupported syntax '?'");
}

static void macros_refuse_what_they_cannot_take(void **state)
{
	(void)state;
	fails("has(a)", "1:5: invalid argument to has() macro");
	fails("has(a.?b)", "1:6: invalid argument to has() macro");
	fails("a.all(1, p)", "1:7: argument must be a simple name");
	fails("a.exists(b.c, p)", "1:11: argument must be a simple name");
	fails("a.exists_one([], p)", "1:14: argument must be a simple name");
	fails("a.map(1, p)", "1:7: argument is not an identifier");
	fails("a.filter(f(), p)", "1:11: argument is not an identifier");
	fails("a.all(__result__, p)", "1:7: iteration variable overwrites accumulator variable");
	fails("a.map(__result__, p)", "1:7: iteration variable overwrites accumulator variable");
	fails("a.all(i, 1, p)", "1:10: argument must be a simple name");
	fails("a.all(i, i, p)", "1:10: duplicate variable name: i");
	fails("a.transformMap(__result__, v, p)",
	      "1:16: iteration variable overwrites accumulator variable");
	fails("a.transformList(k, __result__, p)",
	      "1:20: iteration variable overwrites accumulator variable");
	fails("cel.bind(1, 2, 3)", "1:10: cel.bind() variable names must be simple identifiers");
	fails("a.optMap(1, 2)", "1:10: optMap() variable name must be a simple identifier");
	fails("a.optFlatMap(1, 2)", "1:14: optFlatMap() variable name must be a simple identifier");
	fails("math.greatest()", "1:1: math.greatest() requires at least one argument");
	fails("math.least('a')", "1:12: math.least() invalid single argument value");
	fails("math.least([])", "1:12: math.least() invalid single argument value");
	fails("math.least(1, 'a')", "1:15: math.least() simple literal arguments must be numeric");
	fails("math.greatest(1, 2, {})",
	      "1:21: math.greatest() simple literal arguments must be numeric");
	fails("1.sortBy(x, x)", "1:1: sortBy can only be applied to a list, identifier, "
				"comprehension, call or select expression");
	fails("a.sortBy(1, x)", "1:10: argument is not an identifier");
	fails("[1, 2].map(var, var * a)", "1:12: reserved identifier: var; "
					  "1:12: argument is not an identifier; "
					  "1:17: reserved identifier: var");
}

static void reserved_words_are_no_names_but_fields(void **state)
{
	static const char *const words[] = { "as",    "break",    "const",  "continue", "else",
					     "for",   "function", "if",     "import",   "let",
					     "loop",  "package",  "return", "var",      "void",
					     "while", "namespace" };
	char text[64], expected[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		(void)snprintf(text, sizeof(text), "1 + %s", words[i]);
		(void)snprintf(expected, sizeof(expected), "1:5: reserved identifier: %s",
			       words[i]);
		fails(text, expected);
		(void)snprintf(text, sizeof(text), "a.%s", words[i]);
		gives(all, text, text);
	}
	fails(".if", "1:1: reserved identifier: if");
	fails("while(1)", "1:1: reserved identifier: while");
	fails("a.true", "1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER");
	fails("a.in", "1:3: Syntax error: no viable alternative at input '.in'; "
		      "1:5: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
}

static void faults_of_syntax_are_told_as_clients_know_them(void **state)
{
	(void)state;
	fails("", "1:0: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("1 +", "1:4: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("a &&", "1:5: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("(1", "1:3: Syntax error: missing ')' at '<EOF>'");
	fails("((1", "1:4: Syntax error: mismatched input '<EOF>' expecting ')'");
	fails("f(1", "1:4: Syntax error: missing ')' at '<EOF>'");
	fails("a[1", "1:4: Syntax error: missing ']' at '<EOF>'");
	fails("[1", "1:3: Syntax error: mismatched input '<EOF>' expecting {']', ','}");
	fails("[1 2]", "1:4: Syntax error: extraneous input '2' expecting {']', ','}");
	fails("[1 2 3]", "1:4: Syntax error: mismatched input '2' expecting {']', ','}");
	fails("1 2", "1:3: Syntax error: extraneous input '2' expecting <EOF>");
	fails("1 2 3", "1:3: Syntax error: mismatched input '2' expecting <EOF>");
	fails("f(1,)", "1:5: Syntax error: mismatched input ')' expecting " EXPECTED_EXPR);
	fails("{a}", "1:3: Syntax error: mismatched input '}' expecting ':'");
	fails("C{a}", "1:4: Syntax error: mismatched input '}' expecting ':'");
	fails("a ? b", "1:6: Syntax error: mismatched input '<EOF>' expecting ':'");
	fails("a.", "1:3: Syntax error: no viable alternative at input '.'");
	fails("a.?", "1:4: Syntax error: mismatched input '<EOF>' expecting "
		     "{IDENTIFIER, ESC_IDENTIFIER}; "
		     "1:4: unsupported ident kind");
	fails("a.\n", "2:1: Syntax error: no viable alternative at input '.\\n'");
	fails("-!a", "1:2: Syntax error: no viable alternative at input '-!'");
	fails("!-a", "1:3: Syntax error: no viable alternative at input '-a'");
	fails(".", "1:2: Syntax error: no viable alternative at input '.'");
	fails("* a", "1:1: Syntax error: extraneous input '*' expecting " EXPECTED_EXPR);
	fails("--", "1:3: Syntax error: no viable alternative at input '-'; "
		    "1:3: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("?", "1:1: Syntax error: mismatched input '?' expecting " EXPECTED_EXPR
		   "; 1:2: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("t{>C}", "1:3: Syntax error: extraneous input '>' expecting "
		       "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}; "
		       "1:5: Syntax error: mismatched input '}' expecting ':'");
	fails("f{{a}}", "1:3: Syntax error: extraneous input '{' expecting "
			"{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}; "
			"1:5: Syntax error: mismatched input '}' expecting ':'; "
			"1:6: Syntax error: extraneous input '}' expecting <EOF>");
}

static void an_invalid_token_is_reported_and_skipped(void **state)
{
	(void)state;
	fails("a $ + b", "1:3: Syntax error: token recognition error at: '$'");
	fails("a = b", "1:3: Syntax error: token recognition error at: '= '; "
		       "1:5: Syntax error: extraneous input 'b' expecting <EOF>");
	fails("a | b", "1:3: Syntax error: token recognition error at: '| '; "
		       "1:5: Syntax error: extraneous input 'b' expecting <EOF>");
	fails("a &", "1:3: Syntax error: token recognition error at: '&'");
	fails("a + 'b", "1:5: Syntax error: token recognition error at: ''b'; "
			"1:7: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("a.`b~`", "1:3: Syntax error: token recognition error at: '`b~'; "
			"1:6: Syntax error: token recognition error at: '`'; "
			"1:7: Syntax error: no viable alternative at input '.'");
	fails("a || '\\q'",
	      "1:6: Syntax error: token recognition error at: ''\\q'; "
	      "1:9: Syntax error: token recognition error at: '''; "
	      "1:10: Syntax error: mismatched input '<EOF>' expecting " EXPECTED_EXPR);
	fails("a.\\ $)", "1:3: Syntax error: token recognition error at: '\\'; "
			 "1:5: Syntax error: token recognition error at: '$'; "
			 "1:6: Syntax error: no viable alternative at input '. )'");
	fails("`a`", "1:1: Syntax error: mismatched input '`a`' expecting " EXPECTED_EXPR);
	fails("'''a", "1:3: Syntax error: token recognition error at: ''a'");
	fails("1 \xc3\xa9 + 2", "1:3: Syntax error: token recognition error at: '\xc3\xa9'");
}

static void messages_show_the_line_and_the_place(void **state)
{
	(void)state;
	gives(all, "1 +\n\ta $ ",
	      "ERROR: <input>:2:4: Syntax error: token recognition error at: '$'\n"
	      " |  a $ \n"
	      " | ...^");
	gives(all, "'\xf0\x9f\x98\x81' + \xf0\x9f\x98\x81 1",
	      "ERROR: <input>:1:7: Syntax error: token recognition error at: '\xf0\x9f\x98\x81'\n"
	      " | '\xf0\x9f\x98\x81' + \xf0\x9f\x98\x81 1\n"
	      " | .\xef\xbc\x8e....\xef\xbc\xbe");
	gives(all, "",
	      "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' "
	      "expecting " EXPECTED_EXPR);
}

static void issues_are_sorted_and_bounded(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct cel_issues issues;
	struct arena a;

	(void)state;
	arena_init(&a, MIB);
	cel_issues_init(&issues, &a, STR("a\nb"));
	cel_issue_add(&issues, 2, "third");
	cel_issue_add(&issues, 0, "second %d", 2);
	cel_issue_add(&issues, 2, "fourth");
	cel_issue_add(&issues, SIZE_MAX, "first");
	cel_issues_print(&issues, &out);
	assert_string_equal(out.p, "ERROR: <input>:-1:0: first\n"
				   "ERROR: <input>:1:1: second 2\n | a\n | ^\n"
				   "ERROR: <input>:2:1: third\n | b\n | ^\n"
				   "ERROR: <input>:2:1: fourth\n | b\n | ^");
	for (int i = 0; i < 2 * CEL_ISSUES_MAX; i++)
		cel_issue_add(&issues, 1, "more");
	buf_clear(&out);
	cel_issues_print(&issues, &out);
	assert_int_equal(issues.n, 2 * CEL_ISSUES_MAX + 4);
	assert_true(str_ends(buf_str(&out), STR("\n104 more errors were truncated")));
	arena_release(&a);
}

static void repeat(struct buf *b, const char *z, size_t n)
{
	while (n-- > 0)
		assert_int_equal(buf_addz(b, z), 0);
}

/* `n` times before, a middle, `n` times after: the message, or "parsed". */
static void nests(const char *before, const char *middle, const char *after, size_t n,
		  const char *expected)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	repeat(&b, before, n);
	repeat(&b, middle, 1);
	repeat(&b, after, n);
	fails(b.p, expected);
}

#define TOO_DEEP   "-1:0: expression recursion limit exceeded: 250"
#define TOO_NESTED "-1:0: max recursion depth exceeded"

static void nesting_is_bounded(void **state)
{
	(void)state;
	nests("(", "a", ")", 249, "parsed");
	nests("(", "a", ")", 250, TOO_DEEP);
	nests("[", "", "]", 249, "parsed");
	nests("[", "", "]", 20000, TOO_DEEP);
	nests("", "a", "+a", 250, "parsed");
	nests("", "a", "+a", 251, TOO_NESTED);
	nests("", "a", ".b", 250, "parsed");
	nests("", "a", ".b", 251, TOO_NESTED);
	nests("a+(", "a", ")", 124, "parsed");
	nests("a+(", "a", ")", 125, TOO_DEEP);
	nests("a?b:", "a", "", 249, "parsed");
	nests("a?b:", "a", "", 250, TOO_DEEP);
	nests("!", "a", "", 50000, "parsed");
	nests("-", "a", "", 50000, "parsed");
}

static void long_chains_of_logic_are_shallow(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct parsed r;

	(void)state;
	repeat(&b, "a", 1);
	repeat(&b, "&&a", 9999);
	repeat(&b, "||a", 9999);
	parse_with(&r, all, buf_str(&b));
	assert_non_null(r.expr);
	assert_true(cel_expr_height(r.expr) < 32);
	parsed_release(&r);
}

static void too_much_text_or_too_many_nodes_are_refused(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)state;
	repeat(&b, " ", CEL_TEXT_MAX - 1);
	repeat(&b, "1", 1);
	gives(all, b.p, "1");
	repeat(&b, " ", 1);
	fails(b.p, "-1:0: expression code point size exceeds limit: size: 100001, limit 100000");
	nests("", "a", ".optMap(x, x)", 30, "-1:0: expression has more than 200000 parts");
	fails("a\xff", "-1:0: expression is not valid UTF-8");
}

static void printed_trees_parse_to_themselves(void **state)
{
	static const char *const texts[] = {
		"-(1) + - -1 - -a.b.c[-1] * -2.5e10 / (1u % 2u)",
		"!(a && !b || c) ? [1, ?a, 'x\\ny'] : {?'k': b'\\xff', 1: {}}",
		"a.`b-c`.?`d e`[?f.in_].g(h, i.`true`)",
		".x.Y{a: 1, ?`b.c`: [[], {}]} in [null, true, 1e300, 4.9e-324]",
		"has(a.b.c) && a.all(x, x.exists(y, y == x))",
		"a.map(x, x > 1, x).filter(y, y).transformMap(k, v, v).sortBy(z, z)",
		"cel.bind(x, 1, a.optMap(y, math.greatest(1, 2, x))).orValue(1) == 1",
		"(1).f() + 'a'.g() + (-1).h() + (!a).i()",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct parsed r;

		parse_with(&r, all, str_from(texts[i]));
		assert_non_null(r.expr);
		print(&r);
		for (char *c = r.out.p; *c; c++) /* what cannot be written, made a name */
			if (*c == '@' || *c == '#')
				*c = '_';
		gives(all, r.out.p, r.out.p);
		parsed_release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_have_all_forms_of_the_language),
		cmocka_unit_test(escapes_mean_characters_in_text_and_bytes_in_bytes),
		cmocka_unit_test(numbers_out_of_range_are_refused_at_their_sign),
		cmocka_unit_test(operators_bind_as_the_language_says),
		cmocka_unit_test(members_calls_and_literals_of_all_kinds_parse),
		cmocka_unit_test(nodes_stand_where_messages_point),
		cmocka_unit_test(macros_of_the_language_become_folds),
		cmocka_unit_test(macros_with_two_variables_become_folds),
		cmocka_unit_test(macros_of_libraries_expand),
		cmocka_unit_test(without_a_library_its_macros_are_calls),
		cmocka_unit_test(macros_refuse_what_they_cannot_take),
		cmocka_unit_test(reserved_words_are_no_names_but_fields),
		cmocka_unit_test(faults_of_syntax_are_told_as_clients_know_them),
		cmocka_unit_test(an_invalid_token_is_reported_and_skipped),
		cmocka_unit_test(messages_show_the_line_and_the_place),
		cmocka_unit_test(issues_are_sorted_and_bounded),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(long_chains_of_logic_are_shallow),
		cmocka_unit_test(too_much_text_or_too_many_nodes_are_refused),
		cmocka_unit_test(printed_trees_parse_to_themselves),
	};

	return cmocka_run_group_tests_name("cel/parse", tests, NULL, NULL);
}

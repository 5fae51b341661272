/* Types of expressions, and what is said of those that have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "cel/cel_limits.h"
#include "cel/check/check.h"
#include "cel/lib/libraries.h"
#include "cel/parse/parse.h"

#define KUBERNETES (CEL_HOMOGENEOUS | CEL_LITERALS)

static const struct cel_type wrapper_int = { .kind = CEL_TYPE_WRAPPER,
					     .name = { "int", 3 },
					     .params = { &cel_int } };
static const struct cel_type map_string_int = { .kind = CEL_TYPE_MAP,
						.name = { "map", 3 },
						.params = { &cel_string, &cel_int } };
static const struct cel_type optional_string = { .kind = CEL_TYPE_OPTIONAL,
						 .name = { "optional_type", 13 },
						 .params = { &cel_string } };
static const struct cel_type optional_map = { .kind = CEL_TYPE_OPTIONAL,
					      .name = { "optional_type", 13 },
					      .params = { &map_string_int } };
static const struct cel_field port_fields[] = {
	{ { "name", 4 }, &cel_string },
	{ { "number", 6 }, &cel_int },
};
static const struct cel_type port = {
	.kind = CEL_TYPE_OBJECT, .name = { "Port", 4 }, .fields = port_fields, .nfields = 2
};
static const struct cel_type ports = { .kind = CEL_TYPE_LIST,
				       .name = { "list", 4 },
				       .params = { &port } };
static const struct cel_field service_fields[] = {
	{ { "labels", 6 }, &map_string_int },
	{ { "limit", 5 }, &cel_quantity },
	{ { "ports", 5 }, &ports },
};
static const struct cel_type service = {
	.kind = CEL_TYPE_OBJECT, .name = { "Service", 7 }, .fields = service_fields, .nfields = 3
};

static const struct cel_variable variables[] = {
	{ { "a.b.c", 5 }, &cel_string },
	{ { "a.b", 3 }, &map_string_int },
	{ { "b", 1 }, &cel_bool },
	{ { "d", 1 }, &cel_dyn },
	{ { "i", 1 }, &cel_int },
	{ { "l", 1 }, &cel_list_int },
	{ { "m", 1 }, &map_string_int },
	{ { "o", 1 }, &optional_string },
	{ { "om", 2 }, &optional_map },
	{ { "s", 1 }, &cel_string },
	{ { "service", 7 }, &service },
	{ { "t", 1 }, &cel_timestamp },
	{ { "w", 1 }, &wrapper_int },
	{ { "acme.rocket.fuel", 16 }, &cel_double },
	{ { "acme.speed", 10 }, &cel_uint },
};

struct fixture {
	struct arena arena;
	struct cel_issues issues;
	struct cel_env env;
	struct cel_expr *root;
};

/* Parses and checks; the result of checking, or 1 when it does not parse. */
static int check_text(struct fixture *f, const char *text, unsigned flags, const char *container)
{
	arena_init(&f->arena, CEL_PROGRAM_MAX);
	cel_issues_init(&f->issues, &f->arena, str_from(text));
	f->env = (struct cel_env){
		.libraries = flags & CEL_HOMOGENEOUS ? cel_libraries_kubernetes : cel_libraries_all,
		.variables = variables,
		.nvariables = ARRAY_SIZE(variables),
		.flags = flags,
		.container = str_from(container),
	};
	f->root = cel_parse(&f->env, &f->issues);
	return f->root ? cel_check(&f->env, f->root, &f->issues) : 1;
}

/* "int", or all issues: "1:3: what is wrong | 1:9: and this". */
static void describe(const struct fixture *f, struct buf *out)
{
	if (f->issues.n == 0) {
		cel_type_print(f->root->type, out);
		return;
	}
	for (const struct cel_issue *i = f->issues.first; i; i = i->next) {
		size_t line, column;

		cel_issue_place(&f->issues, i, &line, &column);
		(void)buf_printf(out, "%s%zu:%zu: %.*s", out->n > 0 ? " | " : "", line, column,
				 STR_ARG(i->message));
	}
}

/* Prints what differs. */
static bool checks_as(const char *text, unsigned flags, const char *container, const char *expected)
{
	struct buf out = BUF_INIT(64 * KIB);
	struct fixture f;
	int r = check_text(&f, text, flags, container);
	bool same;

	describe(&f, &out);
	same = str_eqz(buf_str(&out), expected);
	if (!same)
		print_error("%s\n  is:     %s\n  wanted: %s\n", text, out.p, expected);
	assert_int_equal(r, f.issues.n == 0 ? 0 : -ERR_INVALID);
	buf_release(&out);
	arena_release(&f.arena);
	return same;
}

struct row {
	const char *text, *expected;
};

static void assert_rows(const struct row *rows, size_t n, unsigned flags)
{
	size_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ += !checks_as(rows[i].text, flags, "", rows[i].expected);
	assert_int_equal(differ, 0);
}

static const struct row types_of[] = {
	/* literals */
	{ "1", "int" },
	{ "1u", "uint" },
	{ "1.5", "double" },
	{ "true", "bool" },
	{ "null", "null" },
	{ "'x'", "string" },
	{ "b'x'", "bytes" },
	{ "[]", "list(dyn)" },
	{ "{}", "map(dyn, dyn)" },
	{ "[1, 2]", "list(int)" },
	{ "[1, 'a']", "list(dyn)" },
	{ "[[], [1]]", "list(list(int))" },
	{ "[[1], []]", "list(list(int))" },
	{ "[1, d]", "list(dyn)" },
	{ "[d, 1]", "list(dyn)" },
	{ "[w, 1]", "list(wrapper(int))" },
	{ "[1, w]", "list(int)" },
	{ "[t, null]", "list(null)" },
	{ "[null, t]", "list(timestamp)" },
	{ "{'a': 1}", "map(string, int)" },
	{ "{'a': 1, 'b': 'x'}", "map(string, dyn)" },
	{ "{'a': 1, 2: 2}", "map(dyn, int)" },
	{ "{'a': [], 'b': [true]}", "map(string, list(bool))" },
	{ "[?o, 'x']", "list(string)" },
	{ "[?d]", "list(dyn)" },
	{ "{?'a': o}", "map(string, string)" },
	/* names */
	{ "i", "int" },
	{ ".i", "int" },
	{ "a.b.c", "string" },
	{ "a.b.x", "int" },
	{ "a.b", "map(string, int)" },
	{ ".a.b.c", "string" },
	{ "acme.rocket.fuel", "double" },
	{ "int", "type(int)" },
	{ "list", "type(list(dyn))" },
	{ "map", "type(map(dyn, dyn))" },
	{ "type", "type(type)" },
	{ "null_type", "type(null)" },
	{ "google.protobuf.Timestamp", "type(timestamp)" },
	{ "google.protobuf.Duration", "type(duration)" },
	{ "google.protobuf.StringValue", "type(wrapper(string))" },
	{ "optional_type", "type(optional_type(dyn))" },
	{ "net.IP", "type(net.IP)" },
	{ "net.CIDR", "type(net.CIDR)" },
	{ "google.protobuf.NullValue.NULL_VALUE", "int" },
	/* selects */
	{ "m.x", "int" },
	{ "m['x']", "int" },
	{ "m.x.y", "1:4: type 'int' does not support field selection" },
	{ "d.x.y", "dyn" },
	{ "has(m.x)", "bool" },
	{ "has(d.x.y)", "bool" },
	{ "has(service.limit)", "bool" },
	{ "service.ports", "list(Port)" },
	{ "service.ports[0].name", "string" },
	{ "service.limit", "kubernetes.Quantity" },
	{ "service", "Service" },
	{ "om.x", "optional_type(int)" },
	{ "m.?x", "optional_type(int)" },
	{ "om.?x", "optional_type(int)" },
	{ "d.?x.y", "optional_type(dyn)" },
	{ "m[?'x']", "optional_type(int)" },
	{ "om[?'x']", "optional_type(int)" },
	{ "l[?0]", "optional_type(int)" },
	{ "service.?limit", "optional_type(kubernetes.Quantity)" },
	/* operators */
	{ "1 + 2", "int" },
	{ "1u * 2u", "uint" },
	{ "1.0 / 2.0", "double" },
	{ "'a' + 'b'", "string" },
	{ "b'a' + b'b'", "bytes" },
	{ "[1] + [2]", "list(int)" },
	{ "[] + [2]", "list(int)" },
	{ "[1] + []", "list(int)" },
	{ "[] + []", "list(dyn)" },
	{ "[1] + ['a']", "1:5: found no matching overload for '_+_' applied to "
			 "'(list(int), list(string))'" },
	{ "t - t", "duration" },
	{ "t - duration('1s')", "timestamp" },
	{ "d + 1", "int" },
	{ "d + d", "dyn" },
	{ "-i", "int" },
	{ "-d", "dyn" },
	{ "!b", "bool" },
	{ "!d", "bool" },
	{ "b && d || !b", "bool" },
	{ "1 < 2.0", "bool" },
	{ "d < 1", "bool" },
	{ "1 == 1", "bool" },
	{ "w == 1", "bool" },
	{ "w == null", "bool" },
	{ "w + 1", "int" },
	{ "t == null", "bool" },
	{ "service == null", "bool" },
	{ "o == null", "bool" },
	{ "[1] == []", "bool" },
	{ "i in l", "bool" },
	{ "'a' in m", "bool" },
	{ "'a' in d", "bool" },
	{ "1 in []", "bool" },
	{ "b ? 1 : 2", "int" },
	{ "b ? 1 : d", "dyn" },
	{ "b ? d : 1", "dyn" },
	{ "b ? [] : [1]", "list(int)" },
	{ "b ? null : t", "null" },
	{ "b ? w : null", "wrapper(int)" },
	{ "l[0]", "int" },
	{ "d[0]", "dyn" },
	{ "{}['a']", "dyn" },
	{ "[][0]", "dyn" },
	/* calls */
	{ "size(s)", "int" },
	{ "s.size()", "int" },
	{ "size(d)", "int" },
	{ "s.startsWith('a')", "bool" },
	{ "type(1)", "type(int)" },
	{ "type(type(1))", "type(type(int))" },
	{ "type(d) == int", "bool" },
	{ "dyn(1)", "dyn" },
	{ "dyn([1])[0]", "dyn" },
	{ "string(1)", "string" },
	{ "timestamp('2020-01-01T00:00:00Z').getFullYear()", "int" },
	{ "optional.of(1)", "optional_type(int)" },
	{ "optional.none()", "optional_type(dyn)" },
	{ "o.orValue('x')", "string" },
	{ "o.or(optional.none())", "optional_type(string)" },
	{ "optional.none().orValue(1)", "int" },
	{ "optional.of(m).x.hasValue()", "bool" },
	{ "o.optMap(x, x.size())", "optional_type(int)" },
	{ "math.greatest(1, 2)", "int" },
	{ "lists.range(3)", "list(int)" },
	{ "base64.encode(b'x')", "string" },
	{ "sets.contains([1], [])", "bool" },
	{ "ip('::1')", "net.IP" },
	{ "ip.isCanonical('::1')", "bool" },
	{ "quantity('1').add(1)", "kubernetes.Quantity" },
	{ "cel.bind(x, 1, x + 1)", "int" },
	{ "cel.bind(i, 'a', i)", "string" },
	/* comprehensions */
	{ "l.all(x, x > 0)", "bool" },
	{ "l.map(x, string(x))", "list(string)" },
	{ "l.filter(x, x > 1)", "list(int)" },
	{ "m.map(k, k)", "list(string)" },
	{ "m.exists(k, m[k] > 1)", "bool" },
	{ "d.map(x, x)", "list(dyn)" },
	{ "[].map(x, x)", "list(dyn)" },
	{ "[].map(x, x + 1)", "list(int)" },
	{ "l.map(x, x > 1, [x])", "list(list(int))" },
	{ "service.ports.exists_one(p, p.number == 1)", "bool" },
	{ "l.map(i, s + string(i))", "list(string)" },
	{ "['a'].map(i, i)", "list(string)" },
	{ "['a'].map(i, .i)", "list(int)" },
	{ "['a'].map(i, l.map(i, i))", "list(list(int))" },
	{ "[m].map(a, a.b)", "list(int)" },
	{ "[1].all(k, v, k == v)", "bool" },
	{ "m.transformList(k, v, k + string(v))", "list(string)" },
	{ "m.transformMap(k, v, v > 1)", "map(string, bool)" },
	{ "l.transformMap(k, v, 'x')", "map(int, string)" },
	/* messages */
	{ "google.protobuf.Int32Value{value: 1}", "wrapper(int)" },
	{ "google.protobuf.StringValue{}", "wrapper(string)" },
	{ "google.protobuf.Timestamp{seconds: 1}", "timestamp" },
	{ "google.protobuf.Struct{fields: {'a': 1}}", "map(string, dyn)" },
	{ "google.protobuf.ListValue{values: [1, 'a']}", "list(dyn)" },
	{ "google.protobuf.Value{number_value: 1.0}", "dyn" },
	{ "google.protobuf.Empty{}", "google.protobuf.Empty" },
	{ "google.protobuf.Int64Value{?value: optional.of(1)}", "wrapper(int)" },
};

static void expressions_have_types(void **state)
{
	(void)state;
	assert_rows(types_of, ARRAY_SIZE(types_of), 0);
}

static const struct row faults_of[] = {
	{ "x", "1:1: undeclared reference to 'x' (in container '')" },
	{ "x + y", "1:1: undeclared reference to 'x' (in container '') | "
		   "1:5: undeclared reference to 'y' (in container '')" },
	{ "x.y.z", "1:1: undeclared reference to 'x' (in container '')" },
	{ ".l.map(l, .x)", "1:12: undeclared reference to '.x' (in container '')" },
	{ "f(1)", "1:2: undeclared reference to 'f' (in container '')" },
	{ "s.f(1)", "1:4: undeclared reference to 'f' (in container '')" },
	{ "x.f(1)", "1:1: undeclared reference to 'x' (in container '') | "
		    "1:4: undeclared reference to 'f' (in container '')" },
	{ "1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'" },
	{ "1 +\n'a' * 2", "2:5: found no matching overload for '_*_' applied to '(string, int)'" },
	{ "1 == 'a'", "1:3: found no matching overload for '_==_' applied to '(int, string)'" },
	{ "!1", "1:1: found no matching overload for '!_' applied to '(int)'" },
	{ "-s", "1:1: found no matching overload for '-_' applied to '(string)'" },
	{ "[] < []", "1:4: found no matching overload for '_<_' applied to "
		     "'(list(dyn), list(dyn))'" },
	{ "s.size(1)", "1:7: found no matching overload for 'size' applied to 'string.(int)'" },
	{ "i.size()", "1:7: found no matching overload for 'size' applied to 'int.()'" },
	{ "size()", "1:5: found no matching overload for 'size' applied to '()'" },
	{ "startsWith(s, 'a')", "1:11: found no matching overload for 'startsWith' applied to "
				"'(string, string)'" },
	{ "1 && b || 'a'", "1:1: expected type 'bool' but found 'int' | "
			   "1:11: expected type 'bool' but found 'string'" },
	{ "1 ? 2 : 3", "1:3: found no matching overload for '_?_:_' applied to "
		       "'(int, int, int)'" },
	{ "b ? 1 : 'a'", "1:3: found no matching overload for '_?_:_' applied to "
			 "'(bool, int, string)'" },
	{ "i.x", "1:2: type 'int' does not support field selection" },
	{ "[1].x", "1:4: type 'list(int)' does not support field selection" },
	{ "t.x", "1:2: type 'timestamp' does not support field selection" },
	{ "null.x", "1:5: type 'null' does not support field selection" },
	{ "int.x", "1:4: type 'type(int)' does not support field selection" },
	{ "o.x", "1:2: type 'string' does not support field selection" },
	{ "has(i.x)", "1:4: type 'int' does not support field selection" },
	{ "service.x", "1:8: undefined field 'x'" },
	{ "has(service.x)", "1:4: undefined field 'x'" },
	{ "service.?x", "1:8: undefined field 'x'" },
	{ "service.ports[0].x", "1:17: undefined field 'x'" },
	{ "m[1]", "1:2: found no matching overload for '_[_]' applied to "
		  "'(map(string, int), int)'" },
	{ "l['a']", "1:2: found no matching overload for '_[_]' applied to "
		    "'(list(int), string)'" },
	{ "'a' in l", "1:5: found no matching overload for '@in' applied to "
		      "'(string, list(int))'" },
	{ "[?1]", "1:3: expected type 'optional_type(int)' but found 'int'" },
	{ "{?'a': 1}", "1:8: expected type 'optional_type(int)' but found 'int'" },
	{ "i.all(x, true)", "1:1: expression of type 'int' cannot be range of a comprehension "
			    "(must be list, map, or dynamic)" },
	{ "l.all(x, x)", "1:10: expected type 'bool' but found 'int'" },
	{ "l.filter(x, x)", "1:9: found no matching overload for '_?_:_' applied to "
			    "'(int, list(int), list(int))'" },
	{ "l.map(x, y)", "1:10: undeclared reference to 'y' (in container '')" },
	{ "l.all(x, true) && x > 1", "1:19: undeclared reference to 'x' (in container '')" },
	{ "Foo{a: 1}", "1:4: undeclared reference to 'Foo' (in container '')" },
	{ "int{}", "1:4: 'int' is not a message type" },
	{ "google.protobuf.Int32Value{value: 's'}",
	  "1:33: expected type of field 'value' is 'int' but provided type is 'string'" },
	{ "google.protobuf.Int32Value{foo: 1}", "1:31: undefined field 'foo'" },
	{ "google.protobuf.Empty{foo: 1}", "1:26: undefined field 'foo'" },
	{ "math.foo(1)", "1:1: undeclared reference to 'math' (in container '') | "
			 "1:9: undeclared reference to 'foo' (in container '')" },
	{ "optional.of(1, 2)", "1:12: found no matching overload for 'optional.of' applied to "
			       "'(int, int)'" },
	{ "dyn", "1:1: undeclared reference to 'dyn' (in container '')" },
};

static void faults_are_told_with_their_place(void **state)
{
	(void)state;
	assert_rows(faults_of, ARRAY_SIZE(faults_of), 0);
}

static void kubernetes_wants_literals_of_one_type(void **state)
{
	static const struct row rows[] = {
		{ "[1, 2]", "list(int)" },
		{ "[1, 'a']", "1:5: expected type 'int' but found 'string'" },
		{ "[[], 1]", "1:6: expected type 'list(dyn)' but found 'int'" },
		{ "[1, dyn('a')]", "1:8: expected type 'int' but found 'dyn'" },
		{ "[dyn(1), 'a']", "1:10: expected type 'dyn' but found 'string'" },
		{ "[t, null]", "1:5: expected type 'timestamp' but found 'null'" },
		{ "[[1], [dyn(1)]]", "1:7: expected type 'list(int)' but found 'list(dyn)'" },
		{ "[[1], []]", "list(list(int))" },
		{ "{'a': 1, 'b': 'x'}", "1:15: expected type 'int' but found 'string'" },
		{ "{'a': 1, 2: 2}", "1:10: expected type 'string' but found 'int'" },
		{ "{'a': 1, dyn(2): dyn(2)}", "1:13: expected type 'string' but found 'dyn' | "
					      "1:21: expected type 'int' but found 'dyn'" },
		{ "['a', ?o]", "list(string)" },
		{ "['a', ?optional.of(1)]", "1:19: expected type 'string' but found 'int'" },
		{ "'%d %s'.format([1, 'a'])", "string" },
		{ "'%s'.format([[1, 'a']])", "string" },
		{ "1 < 2.0", "bool" },
		{ "math.greatest(1, 2)",
		  "1:1: undeclared reference to 'math' (in container '') | "
		  "1:14: undeclared reference to 'greatest' (in container '')" },
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), KUBERNETES);
}

static void constant_arguments_are_checked(void **state)
{
	static const struct row rows[] = {
		{ "duration('1h')", "duration" },
		{ "duration('x')", "1:10: invalid duration argument" },
		{ "duration(s)", "duration" },
		{ "duration(null)", "1:10: invalid duration argument" },
		{ "timestamp('x')", "1:11: invalid timestamp argument" },
		{ "timestamp(1)", "timestamp" },
		{ "timestamp('2023-01-01T00:00:00Z') < t", "bool" },
		{ "s.matches('a[')", "1:11: invalid matches argument" },
		{ "s.matches('a(b)*')", "bool" },
		{ "matches(s, 'a[')", "bool" },
		{ "matches('a[', s)", "1:9: invalid matches argument" },
		{ "l.all(x, s.matches('(') && duration('1') == duration('1s'))",
		  "1:20: invalid matches argument | 1:37: invalid duration argument" },
		{ "'%d'.format([1])", "string" },
		{ "'100%%'.format([])", "string" },
		{ "'%.3f %e'.format([1.0, 2.0])", "string" },
		{ "'%s'.format([[1, 2]])", "string" },
		{ "'%s'.format([{'a': [t]}])", "string" },
		{ "'%d'.format(['a'])",
		  "1:14: error during formatting: decimal clause can only be used "
		  "on integers, was given string" },
		{ "'%b'.format([1.0])",
		  "1:14: error during formatting: only integers and bools can be "
		  "formatted as binary, was given double" },
		{ "'%s'.format([[service]])",
		  "1:15: error during formatting: string clause can only be used on strings, "
		  "bools, "
		  "bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given "
		  "Service" },
		{ "'%d %d'.format([1])", "1:15: index 1 out of range" },
		{ "'%d'.format([1, 2])", "1:12: too many arguments supplied to string.format "
					 "(expected 1, got 2)" },
		{ "'%'.format([1])", "1:11: unexpected end of string" },
		{ "'%q'.format([1])",
		  "1:12: could not parse formatting clause: unrecognized formatting "
		  "clause \"q\"" },
		{ "'%.3'.format([1])", "1:13: could not parse formatting clause: error while "
				       "parsing precision: could not "
				       "find end of precision specifier" },
		{ "'%.f'.format([1.0])",
		  "1:13: could not parse formatting clause: error while parsing precision: error "
		  "while "
		  "converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax" },
		{ "s.format(['a'])", "string" },
	};

	(void)state;
	assert_rows(rows, ARRAY_SIZE(rows), KUBERNETES);
}

static void names_are_looked_for_from_the_container_outwards(void **state)
{
	(void)state;
	assert_true(checks_as("fuel", 0, "acme.rocket", "double"));
	assert_true(checks_as("speed", 0, "acme.rocket", "uint"));
	assert_true(checks_as("rocket.fuel", 0, "acme", "double"));
	assert_true(checks_as(".acme.speed", 0, "acme.rocket", "uint"));
	assert_true(checks_as("i", 0, "acme.rocket", "int"));
	assert_true(checks_as(".speed", 0, "acme",
			      "1:2: undeclared reference to '.speed' (in container 'acme')"));
	assert_true(checks_as("Timestamp", 0, "google.protobuf", "type(timestamp)"));
	assert_true(checks_as("Int32Value{value: 1}", 0, "google.protobuf", "wrapper(int)"));
	assert_true(checks_as("speed", 0, "",
			      "1:1: undeclared reference to 'speed' (in container '')"));
	assert_true(checks_as("[1].map(speed, speed)", 0, "acme", "list(int)"));
	assert_true(checks_as("[1].map(speed, .acme.speed)", 0, "acme", "list(uint)"));
}

/* The only child of a list literal. */
static struct cel_expr *element(const struct fixture *f, size_t i)
{
	assert_int_equal(f->root->kind, CEL_EXPR_LIST);
	return f->root->children[i];
}

static void names_become_variables_and_constants(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(check_text(&f, "[a.b.c, i, l.map(i, i), int, a.b.x]", 0, ""), 0);
	assert_int_equal(element(&f, 0)->kind, CEL_EXPR_IDENT);
	assert_int_equal(element(&f, 0)->variable, 0);
	assert_true(str_eqz(element(&f, 0)->name, "a.b.c"));
	assert_int_equal(element(&f, 1)->variable, 4);
	assert_int_equal(element(&f, 2)->fold->step->children[1]->children[0]->variable, -1);
	assert_int_equal(element(&f, 3)->kind, CEL_EXPR_CONST);
	assert_int_equal(element(&f, 3)->constant.kind, CEL_TYPE);
	assert_ptr_equal(element(&f, 3)->constant.type, &cel_int);
	assert_int_equal(element(&f, 4)->kind, CEL_EXPR_SELECT);
	assert_int_equal(element(&f, 4)->children[0]->variable, 1);
	arena_release(&f.arena);
}

static void overloads_that_fit_are_kept(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(check_text(&f, "[1 + 2, d + 1, d + d, lists.range(2), d.size()]", 0, ""),
			 0);
	assert_int_equal(element(&f, 0)->noverloads, 1);
	assert_string_equal(element(&f, 0)->overloads[0]->id, "add_int64");
	assert_int_equal(element(&f, 1)->noverloads, 1);
	assert_true(element(&f, 2)->noverloads > 5);
	assert_int_equal(element(&f, 3)->noverloads, 1);
	assert_false(element(&f, 3)->member);
	assert_int_equal(element(&f, 3)->n, 1);
	assert_true(str_eqz(element(&f, 3)->name, "lists.range"));
	assert_true(element(&f, 4)->noverloads > 3);
	arena_release(&f.arena);
}

/* Each level holds the one before twice: the type has 2^30 parts. */
static void types_too_large_to_look_at_are_refused(void **state)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct fixture f;

	(void)state;
	(void)buf_addz(&text, "cel.bind(x0, 1, ");
	for (int i = 1; i <= 30; i++)
		(void)buf_printf(&text, "cel.bind(x%d, {x%d: x%d}, ", i, i - 1, i - 1);
	(void)buf_addz(&text, "x30 == x30");
	for (int i = 0; i <= 30; i++)
		(void)buf_addc(&text, ')');
	assert_int_equal(check_text(&f, text.p, 0, ""), -ERR_INVALID);
	assert_true(str_eqz(f.issues.first->message, "types of the expression are too complex"));
	arena_release(&f.arena);
	buf_release(&text);
}

/* Lists of lists, each bound and put into more of them. */
static int check_deep(int levels)
{
	struct buf text = BUF_INIT(64 * KIB);
	struct fixture f;
	int r;

	(void)buf_addz(&text, "cel.bind(x0, 1, ");
	for (int i = 1; i <= levels; i++)
		(void)buf_printf(&text, "cel.bind(x%d, [[[[[[[[[[x%d]]]]]]]]]], ", i, i - 1);
	(void)buf_printf(&text, "x%d == x%d", levels, levels);
	for (int i = 0; i <= levels; i++)
		(void)buf_addc(&text, ')');
	r = check_text(&f, text.p, 0, "");
	if (r < 0)
		assert_true(str_eqz(f.issues.first->message,
				    "types of the expression are too complex"));
	arena_release(&f.arena);
	buf_release(&text);
	return r;
}

static void types_that_are_too_deep_are_refused(void **state)
{
	(void)state;
	assert_int_equal(check_deep(80), 0);
	assert_int_equal(check_deep(120), -ERR_INVALID);
	assert_int_equal(check_deep(200), -ERR_INVALID);
}

/* Variables that stand for one another in a long row, and many types that hold them. */
static void many_empty_lists_are_no_trouble(void **state)
{
	struct buf text = BUF_INIT(CEL_TEXT_MAX);
	struct fixture f;

	(void)state;
	(void)buf_addz(&text, "cel.bind(x, [], [");
	for (int i = 0; i < 12000; i++)
		(void)buf_addz(&text, "x==[],");
	(void)buf_addz(&text, "x==['a']])");
	assert_int_equal(check_text(&f, text.p, 0, ""), 0);
	assert_ptr_equal(f.root->fold->result->children[0]->children[0]->type->params[0],
			 &cel_string);
	arena_release(&f.arena);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_have_types),
		cmocka_unit_test(faults_are_told_with_their_place),
		cmocka_unit_test(kubernetes_wants_literals_of_one_type),
		cmocka_unit_test(constant_arguments_are_checked),
		cmocka_unit_test(names_are_looked_for_from_the_container_outwards),
		cmocka_unit_test(names_become_variables_and_constants),
		cmocka_unit_test(overloads_that_fit_are_kept),
		cmocka_unit_test(types_too_large_to_look_at_are_refused),
		cmocka_unit_test(many_empty_lists_are_no_trouble),
		cmocka_unit_test(types_that_are_too_deep_are_refused),
	};

	return cmocka_run_group_tests_name("cel/check", tests, NULL, NULL);
}

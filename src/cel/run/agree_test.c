/*
 * Programs against the reference: random expressions from a grammar of templates, most of
 * them well typed, many that fail while they run. Both must yield the same value or both an
 * error; what an evaluation costs must be just enough as its limit.
 *
 * A letter behind % is a part of that type: b bool, i int, u uint, d double, s string, y bytes,
 * L list(int), S list(string), M map(string, int), t timestamp, D duration, O optional(int),
 * * anything as dyn. @ is a new variable, an int in what follows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/random.h"
#include "cel/cel_limits.h"
#include "cel/check/reference.h"
#include "cel/lib/libraries.h"
#include "cel/run/program.h"

enum { EXPRESSIONS = 20000, DEPTH = 4, LOCALS = 8, STEPS = 200000 };

static const char *const bools[] = {
	"true",
	"false",
	"b",
	"nob",
	"%b && %b",
	"%b || %b",
	"(%b && %b) || %b && %b",
	"!%b",
	"%b ? %b : %b",
	"%i == %i",
	"%i != %i",
	"%i < %i",
	"%i <= %i",
	"%i > %i",
	"%i >= %i",
	"%u < %u",
	"%d >= %d",
	"%s == %s",
	"%s < %s",
	"%y == %y",
	"%t < %t",
	"%D <= %D",
	"%L == %L",
	"%M == %M",
	"%O == %O",
	"%* == %*",
	"%* != %*",
	"%* < %i",
	"%i in %L",
	"%i in [1, 2, 3]",
	"%s in ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']",
	"%s in %S",
	"%s in %M",
	"%* in %L",
	"%i in []",
	"%L.all(@, %b)",
	"%L.exists(@, %b)",
	"%L.exists_one(@, %b)",
	"%L.all(@, %i > 1 || %b)",
	"%M.all(k, k.size() > 0 && %b)",
	"%L.exists(j, @, %b)",
	"has(m.a)",
	"has(m.nothing)",
	"has(d.a.b)",
	"has(%M.x)",
	"has(%O.x)",
	"%O.hasValue()",
	"%s.startsWith(%s)",
	"%s.contains('a')",
	"%s.matches('^[a-c]+$')",
	"%s.matches(%s)",
	"type(%*) == type(%*)",
	"dyn(%*) ? true : %b",
	"dyn(%*) && %b",
	"cel.bind(@, %i, %b)",
};
static const char *const ints[] = {
	"0",
	"1",
	"2",
	"-7",
	"9223372036854775807",
	"i",
	"noi",
	"%i + %i",
	"%i - %i",
	"%i * %i",
	"%i / %i",
	"%i %% %i",
	"-(%i)",
	"%b ? %i : %i",
	"(%b ? m : %M).a",
	"%L[%i]",
	"%L[0]",
	"%M['a']",
	"%M[%s]",
	"m.a",
	"m.nothing",
	"d.a.b",
	"d[%s][%s]",
	"[1, 2, 3][%i]",
	"{'a': 1, 'b': %i}[%s]",
	"{1: 2, 3: 4}[%*]",
	"%L[%*]",
	"%* + %i",
	"int(%d)",
	"int(%u)",
	"int(%s)",
	"size(%s)",
	"size(%L)",
	"%M.size()",
	"%O.orValue(%i)",
	"%O.value()",
	"%t.getFullYear()",
	"%D.getSeconds()",
	"cel.bind(@, %i, %i + %i)",
	"cel.bind(q, %L, q.map(@, %i).size() + size(q))",
	"%L.map(@, %i)[0]",
	"google.protobuf.Int64Value{value: %i}",
};
static const char *const uints[] = { "0u",          "3u",      "18446744073709551615u",
				     "u",           "%u + %u", "%u - %u",
				     "%u * %u",     "%u / %u", "uint(%i)",
				     "%b ? %u : %u" };
static const char *const doubles[] = { "0.0",        "1.5",         "-1e300",  "0.0 / 0.0",
				       "%d + %d",    "%d * %d",     "%d / %d", "double(%i)",
				       "double(%s)", "%b ? %d : %d" };
static const char *const strings[] = {
	"''",
	"'a'",
	"'b'",
	"'\\u00e9\\u4e2d'",
	"s",
	"nos",
	"%s + %s",
	"%b ? %s : %s",
	"string(%i)",
	"string(%d)",
	"string(%y)",
	"%S[%i]",
	"%s.substring(%i)",
	"%s.replace(%s, %s)",
	"string(%b)",
	"string(%t)",
	"string(%D)",
	"%S.join(%s)",
	"%s.upperAscii()",
};
static const char *const bytes[] = { "b''", "b'ab'", "%y + %y", "bytes(%s)" };
static const char *const int_lists[] = {
	"[]",
	"[1]",
	"[1, 2, 3]",
	"l",
	"nol",
	"[%i]",
	"[%i, %i]",
	"[%i, ?%O, %i]",
	"[?%O]",
	"%L + %L",
	"%L.filter(@, %b)",
	"%L.map(@, %i)",
	"%L.map(@, %b, %i)",
	"%L.transformList(j, @, %i)",
	"%L.transformList(j, @, %b, %i + j)",
	"%M.map(k, %M[k])",
	"%b ? %L : %L",
	"%L.map(@, %L).map(z, z.size())",
	"lists.range(%i)",
};
static const char *const string_lists[] = {
	"[]",           "['a', 'b']",           "[%s, %s]",      "%S + %S",
	"%M.map(k, k)", "%S.filter(t, t < %s)", "%s.split('a')", "%L.map(@, string(@))"
};
static const char *const maps[] = {
	"{}",
	"{'a': 1}",
	"m",
	"nom",
	"{'a': %i, 'b': %i}",
	"{%s: %i, %s: %i}",
	"{?'a': %O, 'b': %i}",
	"{'a': %i, ?%s: %O}",
	"%b ? %M : %M",
	"%M.transformMap(k, @, %i)",
	"%M.transformMap(k, @, %b, %i)",
	"%S.transformMapEntry(j, v, {v: j})",
	"%L.transformMapEntry(j, @, {string(@): %i})",
	"%L.transformMapEntry(j, @, %b, {string(%i): @})",
};
static const char *const times[] = { "timestamp('2024-02-29T23:59:59.5Z')",
				     "timestamp(%i)",
				     "timestamp(%s)",
				     "%t + %D",
				     "%t - %D",
				     "timestamp('0001-01-01T00:00:00Z')" };
static const char *const durations[] = { "duration('1h30m')", "duration('-1ms')", "%D + %D",
					 "%D - %D",           "%t - %t",          "duration(%s)" };
static const char *const optionals[] = {
	"optional.none()",
	"optional.of(%i)",
	"optional.ofNonZeroValue(%i)",
	"m.?a",
	"%M.?x",
	"%M[?%s]",
	"%L[?%i]",
	"%O.or(%O)",
	"%O.optMap(@, %i)",
	"%O.optFlatMap(@, %O)",
	"%b ? %O : %O",
	"optional.of(%M).a",
	"optional.of(%L)[?%i]",
	"optional.of(%M).?a",
	"d.?a.?b",
};
static const char *const anything[] = {
	"dyn(%b)", "dyn(%i)", "dyn(%u)",   "dyn(%d)", "dyn(%s)",  "dyn(%y)",
	"dyn(%L)", "dyn(%M)", "dyn(null)", "dyn(%t)", "dyn(%D)",  "dyn(%O)",
	"d",       "d.a",     "d[%*]",     "dyn(%S)", "dyn(int)", "dyn(quantity('1Gi'))"
};

static const struct {
	char letter;
	const char *const *templates;
	size_t n, leaves; /* the first ones, which have no parts */
} types[] = {
	{ 'b', bools, ARRAY_SIZE(bools), 4 },
	{ 'i', ints, ARRAY_SIZE(ints), 7 },
	{ 'u', uints, ARRAY_SIZE(uints), 4 },
	{ 'd', doubles, ARRAY_SIZE(doubles), 4 },
	{ 's', strings, ARRAY_SIZE(strings), 6 },
	{ 'y', bytes, ARRAY_SIZE(bytes), 2 },
	{ 'L', int_lists, ARRAY_SIZE(int_lists), 5 },
	{ 'S', string_lists, ARRAY_SIZE(string_lists), 2 },
	{ 'M', maps, ARRAY_SIZE(maps), 4 },
	{ 't', times, ARRAY_SIZE(times), 1 },
	{ 'D', durations, ARRAY_SIZE(durations), 2 },
	{ 'O', optionals, ARRAY_SIZE(optionals), 1 },
	{ '*', anything, ARRAY_SIZE(anything), 1 },
};

struct generator {
	struct prng prng;
	struct buf text;
	unsigned locals; /* variables in scope: v0, v1, .. */
};

static void generate(struct generator *g, char letter, unsigned depth);

/* Recursion is bounded by `depth`. */
static void fill(struct generator *g, const char *template, unsigned depth)
{
	unsigned locals = g->locals, mine = 0;

	for (const char *p = template; *p; p++) {
		if (*p == '@') {
			if (g->locals == locals)
				mine = g->locals++;
			(void)buf_printf(&g->text, "v%u", mine);
		} else if (*p == '%' && p[1] == '%') {
			(void)buf_addc(&g->text, *p++);
		} else if (*p == '%') {
			generate(g, *++p, depth);
		} else {
			(void)buf_addc(&g->text, *p);
		}
	}
	g->locals = locals;
}

static void generate(struct generator *g, char letter, unsigned depth)
{
	size_t t = 0, pick;

	while (types[t].letter != letter)
		t++;
	if (letter == 'i' && g->locals > 0 && prng_below(&g->prng, 3) == 0) {
		(void)buf_printf(&g->text, "v%u", (unsigned)prng_below(&g->prng, g->locals));
		return;
	}
	pick = prng_below(&g->prng, depth > 0 ? types[t].n : types[t].leaves);
	if (letter == '*' && depth == 0) {
		(void)buf_addz(&g->text, "d");
		return;
	}
	(void)buf_addc(&g->text, '(');
	fill(g, types[t].templates[pick], depth > 0 ? depth - 1 : 0);
	(void)buf_addc(&g->text, ')');
}

/* --- comparing ---------------------------------------------------------------------- */

static const struct cel_type list_of_int = { .kind = CEL_TYPE_LIST,
					     .name = STR("list"),
					     .params = { &cel_int } };
static const struct cel_type map_to_int = { .kind = CEL_TYPE_MAP,
					    .name = STR("map"),
					    .params = { &cel_string, &cel_int } };

/* Those that begin with "no" have no value. */
static const struct cel_variable variables[] = {
	{ STR("b"), &cel_bool },     { STR("i"), &cel_int },       { STR("u"), &cel_uint },
	{ STR("s"), &cel_string },   { STR("l"), &list_of_int },   { STR("m"), &map_to_int },
	{ STR("d"), &cel_dyn },      { STR("nob"), &cel_bool },    { STR("noi"), &cel_int },
	{ STR("nos"), &cel_string }, { STR("nol"), &list_of_int }, { STR("nom"), &map_to_int },
};

struct world {
	struct cel_env env;
	struct arena arena; /* of the variables */
	struct cel_value vars[ARRAY_SIZE(variables)];
	struct cel_value items[4], pairs[4], inner[2], outer[4];
};

static void make_world(struct world *w)
{
	struct cel_eval ev = { .scratch = &w->arena };

	*w = (struct world){ .env = { .libraries = cel_libraries_all,
				      .variables = variables,
				      .nvariables = ARRAY_SIZE(variables) } };
	arena_init(&w->arena, CEL_SCRATCH_MAX);
	w->vars[0] = CEL_BOOL_V(true);
	w->vars[1] = CEL_INT_V(5);
	w->vars[2] = CEL_UINT_V(7);
	w->vars[3] = CEL_STRING_V(STR("abc"));
	for (int i = 0; i < 4; i++)
		w->items[i] = CEL_INT_V(i * i);
	w->vars[4] = cel_list(&ev, w->items, 4);
	w->pairs[0] = CEL_STRING_V(STR("a"));
	w->pairs[1] = CEL_INT_V(1);
	w->pairs[2] = CEL_STRING_V(STR("bc"));
	w->pairs[3] = CEL_INT_V(2);
	w->vars[5] = cel_map(&ev, w->pairs, 2);
	w->inner[0] = CEL_STRING_V(STR("b"));
	w->inner[1] = CEL_INT_V(3);
	w->outer[0] = CEL_STRING_V(STR("a"));
	w->outer[1] = cel_map(&ev, w->inner, 1);
	w->outer[2] = CEL_INT_V(1);
	w->outer[3] = CEL_NULL_V;
	w->vars[6] = cel_map(&ev, w->outer, 2);
}

static void print(struct cel_eval *ev, struct cel_value v, struct buf *out)
{
	buf_clear(out);
	if (cel_is_error(v))
		(void)buf_addz(out, "error");
	else
		cel_value_print(ev, &v, out);
}

/* Runs with a limit; the cost of the evaluation is in ev->cost. */
static struct cel_value run(const struct world *w, const struct cel_program *p, struct cel_eval *ev,
			    uint64_t limit)
{
	ev->cost = 0;
	ev->cost_limit = limit;
	return cel_run(p, ev, w->vars);
}

static bool exceeded(struct cel_value v)
{
	return cel_is_error(v) && strcmp(v.error, CEL_COST_EXCEEDED) == 0;
}

struct tally {
	size_t compiled, errors;
	struct buf ours, theirs;
};

static void compare(const struct world *w, const struct cel_program *p, struct str text,
		    struct arena *scratch, struct tally *tally)
{
	struct cel_eval ev = { .scratch = scratch }, other = { .scratch = scratch };
	struct cel_value ours = run(w, p, &ev, 0), theirs;
	uint64_t cost = ev.cost;

	theirs = cel_reference(&w->env, cel_program_tree(p), &other, w->vars, STEPS);
	if (cel_is_error(theirs) && strcmp(theirs.error, CEL_REFERENCE_EXCEEDED) == 0)
		return;
	print(&ev, ours, &tally->ours);
	print(&other, theirs, &tally->theirs);
	if (!str_eq(buf_str(&tally->ours), buf_str(&tally->theirs)))
		fail_msg("%.*s\nprogram:   %.*s %s\nreference: %.*s %s", STR_ARG(text),
			 STR_ARG(buf_str(&tally->ours)), cel_is_error(ours) ? ours.error : "",
			 STR_ARG(buf_str(&tally->theirs)),
			 cel_is_error(theirs) ? theirs.error : "");
	tally->errors += cel_is_error(ours);
	if (cost > 1 && (exceeded(run(w, p, &ev, cost)) || !exceeded(run(w, p, &ev, cost - 1))))
		fail_msg("%.*s\ndoes not cost %llu", STR_ARG(text), (unsigned long long)cost);
}

static void programs_agree_with_the_reference(void **state)
{
	struct generator g = { .text = BUF_INIT(CEL_TEXT_MAX) };
	struct tally tally = { .ours = BUF_INIT(MIB), .theirs = BUF_INIT(MIB) };
	struct world w;
	struct arena a;

	(void)state;
	prng_init(&g.prng, 8);
	make_world(&w);
	arena_init(&a, CEL_PROGRAM_MAX + CEL_SCRATCH_MAX);
	for (size_t i = 0; i < EXPRESSIONS; i++) {
		const struct cel_program *p;
		struct cel_issues issues;

		buf_clear(&g.text);
		generate(&g, types[prng_below(&g.prng, ARRAY_SIZE(types))].letter, DEPTH);
		cel_issues_init(&issues, &a, buf_str(&g.text));
		p = cel_compile(&w.env, buf_str(&g.text), &a, &issues);
		if (p) {
			tally.compiled++;
			compare(&w, p, buf_str(&g.text), &a, &tally);
		}
		arena_clear(&a);
	}
	print_message("# %zu of %d expressions compile, %zu of them yield errors\n", tally.compiled,
		      EXPRESSIONS, tally.errors);
	assert_true(tally.compiled > EXPRESSIONS / 2);
	assert_true(tally.errors > tally.compiled / 10 && tally.errors < tally.compiled);
	arena_release(&a);
	arena_release(&w.arena);
	buf_release(&g.text);
	buf_release(&tally.ours);
	buf_release(&tally.theirs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_agree_with_the_reference),
	};

	return cmocka_run_group_tests_name("cel/agree", tests, NULL, NULL);
}

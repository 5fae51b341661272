/*
 * Runs cases/rules.cases. A block `rules NAME` has the schema of a definition and, if that is
 * rejected, the reasons. A block `case NAME: TITLE` has the spec of an object of it, and below:
 *
 *	< SPEC		it is an update: the spec stored before there were rules
 *	> CAUSE		an error, as `reason field: message`; in any order; a line break is \n
 *	! WARNING	in any order
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/crd/cases_fixture.h"
#include "api/crd/cel_type.h"
#include "api/crd/crd.h"
#include "api/write/write.h"
#include "base/core/limits.h"

struct world {
	struct arena arena;
	struct gates gates;
	struct prng prng;
	struct write write;
	struct crd *crd;
	struct str rules; /* name */
};

static void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	arena_init(&w->arena, 1024 * MIB);
	gates_init(&w->gates);
	prng_init(&w->prng, 1);
}

static void world_release(struct world *w)
{
	crd_unref(w->crd);
	arena_release(&w->arena);
}

static struct json *parse(struct world *w, struct str text)
{
	struct error err;
	struct json *v;

	if (json_parse(&w->arena, text, NULL, &v, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), err.msg);
	return v;
}

static void begin(struct world *w, const struct schema_kind *kind, struct str name)
{
	w->write = (struct write){ .arena = &w->arena,
				   .ns = kind->custom ? STR("default") : STR_NULL,
				   .name = name,
				   .kind = kind,
				   .gates = &w->gates,
				   .prng = &w->prng,
				   .options.field_validation = WRITE_WARN,
				   .now_ns = INT64_C(1700000000) * 1000000000 };
	write_init(&w->write);
}

/* On one line, after its mark. */
static struct str marked(struct world *w, char mark, struct str text)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(MIB);

	(void)buf_printf(&line, "%c ", mark);
	for (size_t i = 0; i < text.n; i++)
		(void)(text.p[i] == '\n' ? buf_addz(&line, "\\n") : buf_addc(&line, text.p[i]));
	return arena_str(&w->arena, buf_str(&line));
}

static struct str fault_line(struct world *w, const struct field_error *e)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)buf_printf(&text, "%s %.*s: ", field_error_reason(e->type), STR_ARG(e->path));
	(void)field_error_print_body(e, &text);
	return marked(w, '>', buf_str(&text));
}

/* Whether the write reported exactly the expected lines. */
static bool says(struct world *w, struct str title, struct lines want)
{
	bool fine = true;

	for (const struct field_error *e = w->write.errs.first; e; e = e->next) {
		struct str line = fault_line(w, e);

		if (take(&want, line))
			continue;
		print_message("%.*s: unexpected %.*s\n", STR_ARG(title), STR_ARG(line));
		fine = false;
	}
	for (const struct text_list *t = w->write.warnings; t; t = t->next) {
		struct str line = marked(w, '!', t->text);

		if (take(&want, line))
			continue;
		print_message("%.*s: unexpected %.*s\n", STR_ARG(title), STR_ARG(line));
		fine = false;
	}
	for (size_t i = 0; i < want.n; i++)
		print_message("%.*s: missing %.*s\n", STR_ARG(title), STR_ARG(want.v[i]));
	return fine && want.n == 0;
}

static int create(struct world *w, struct str body, struct json **ret_object, struct error *err)
{
	struct json *tree;
	int r;

	r = write_decode(&w->write, body, DECODE_JSON, &tree, err);
	return r < 0 ? r : write_create(&w->write, tree, ret_object, err);
}

/* --- definitions -------------------------------------------------------------------- */

static bool define(struct world *w, struct str name, struct lines want)
{
	struct str body = str_from(arena_printf(
		&w->arena,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
		"\"metadata\":{\"name\":\"cases.example.com\"},\"spec\":{\"group\":\"example.com\","
		"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"cases\",\"singular\":\"case\","
		"\"kind\":\"KCase\",\"listKind\":\"KCaseList\"},\"versions\":[{\"name\":\"v1\","
		"\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":%.*s}}]}}",
		STR_ARG(want.v[0])));
	struct json *definition;
	struct error err = { 0 };
	int r;

	want.v[0] = want.v[--want.n];
	begin(w,
	      schema_find_resource(STR("apiextensions.k8s.io"), STR("v1"),
				   STR("customresourcedefinitions")),
	      STR_NULL);
	crd_unref(w->crd);
	w->crd = NULL;
	w->rules = name;
	r = create(w, body, &definition, &err);
	if (r == 0 && crd_compile(definition, &w->gates, &w->crd, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(name), err.msg);
	return says(w, name, want);
}

/* --- objects ------------------------------------------------------------------------ */

static struct str object_text(struct world *w, struct str spec, bool stored)
{
	return str_from(arena_printf(&w->arena,
				     "{\"apiVersion\":\"example.com/v1\",\"kind\":\"KCase\","
				     "\"metadata\":{\"name\":\"x\"%s},\"spec\":%.*s}",
				     stored ? ",\"namespace\":\"default\",\"uid\":\"u\","
					      "\"resourceVersion\":\"7\""
					    : "",
				     STR_ARG(spec)));
}

static bool run_case(struct world *w, struct str title, struct lines want)
{
	struct str spec = want.v[0], old = STR_NULL;
	struct json *tree, *object;
	struct error err = { 0 };
	size_t n;
	int r;

	want.v[0] = want.v[--want.n];
	for (size_t i = 0; i < want.n; i++)
		if (want.v[i].p[0] == '<')
			old = want.v[i];
	(void)take(&want, old);
	begin(w, crd_kinds(w->crd, &n)[0], old.n ? STR("x") : STR_NULL);
	if (old.n == 0) {
		r = create(w, object_text(w, spec, false), &object, &err);
	} else {
		tree = parse(w, object_text(w, str_skip(old, 2), true));
		(void)crd_served_form(&w->arena, tree, w->write.kind);
		r = write_decode(&w->write, object_text(w, spec, true), DECODE_JSON, &object, &err);
		r = r < 0 ? r : write_update(&w->write, tree, object, &object, &err);
	}
	if (r < 0 && r != -ERR_INVALID) {
		print_message("%.*s: %s\n", STR_ARG(title), err.msg);
		return false;
	}
	return says(w, title, want);
}

/* --- the file ----------------------------------------------------------------------- */

static bool run_block(struct world *w, struct str head, const struct lines *lines)
{
	struct str rest = head, word, name;

	(void)str_split(&rest, ' ', &word);
	if (str_eqz(word, "rules"))
		return define(w, rest, *lines);
	assert_true(str_eqz(word, "case"));
	(void)str_split(&rest, ':', &name);
	assert_true(str_eq(name, w->rules));
	if (w->crd)
		return run_case(w, head, *lines);
	print_message("%.*s: no definition\n", STR_ARG(head));
	return false;
}

static void kube_apiserver_s_answers_are_ours(void **state)
{
	size_t cases = 0, failed = 0;
	struct cases file;
	struct lines lines;
	struct str head;
	struct world w;

	world_init(&w);
	cases_open(&file, API_CASES "/rules.cases");
	while (cases_next(&file, &head, &lines)) {
		cases++;
		failed += !run_block(&w, head, &lines);
	}
	world_release(&w);
	if (failed)
		fail_msg("%zu of %zu cases", failed, cases);
	assert_true(cases >= 200);
}

/* --- stored objects ----------------------------------------------------------------- */

/* A rule that costs 2.5 times the limit. */
static struct str costly_definition(struct world *w, const char *description)
{
	return str_from(arena_printf(
		&w->arena,
		"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
		"\"metadata\":{\"name\":\"cases.example.com\",\"uid\":\"u\","
		"\"resourceVersion\":\"7\"},\"spec\":{\"group\":\"example.com\","
		"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"cases\",\"singular\":\"case\","
		"\"kind\":\"KCase\",\"listKind\":\"KCaseList\"},\"conversion\":{\"strategy\":"
		"\"None\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
		"\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"description\":\"%s\","
		"\"properties\":{\"l\":{\"type\":\"array\",\"maxItems\":5000000,\"items\":"
		"{\"type\":\"integer\"},\"x-kubernetes-validations\":[{\"rule\":"
		"\"self.all(x, x > 1)\"}]}}}}}]},\"status\":{\"storedVersions\":[\"v1\"]}}",
		description));
}

static int update_definition(struct world *w, const char *description)
{
	struct json *old = parse(w, costly_definition(w, "old")), *body, *object;
	struct error err = { 0 };

	begin(w,
	      schema_find_resource(STR("apiextensions.k8s.io"), STR("v1"),
				   STR("customresourcedefinitions")),
	      STR("cases.example.com"));
	assert_int_equal(write_decode(&w->write, costly_definition(w, description), DECODE_JSON,
				      &body, &err),
			 0);
	json_put_str(&w->arena, json_need_object(&w->arena, json_getz(body, "metadata"), "labels"),
		     "a", STR("b"));
	return write_update(&w->write, old, body, &object, &err);
}

static void a_schema_that_was_stored_keeps_its_costly_rules(void **state)
{
	struct world w;

	world_init(&w);
	assert_int_equal(update_definition(&w, "old"), 0);
	assert_int_equal(update_definition(&w, "new"), -ERR_INVALID);
	assert_int_equal(w.write.errs.n, 1);
	assert_true(str_starts(w.write.errs.first->detail,
			       STR("estimated rule cost exceeds budget by factor of 2.")));
	world_release(&w);
}

/* --- names -------------------------------------------------------------------------- */

static void names_become_identifiers_and_back(void **state)
{
	static const struct {
		const char *name, *escaped;
	} rows[] = {
		{ "a", "a" },
		{ "aB_9", "aB_9" },
		{ "a.b-c/d", "a__dot__b__dash__c__slash__d" },
		{ "a__b", "a__underscores__b" },
		{ "a___b", "a__underscores___b" },
		{ "namespace", "__namespace__" },
		{ "int", "int" },
		{ "_", "_" },
	};
	struct str escaped, name;
	struct arena a;
	char room[64];

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_true(crd_cel_escape(&a, str_from(rows[i].name), &escaped));
		assert_true(str_eqz(escaped, rows[i].escaped));
		assert_true(crd_cel_unescape(escaped, room, &name));
		assert_true(str_eqz(name, rows[i].name));
	}
	assert_false(crd_cel_escape(&a, STR("1a"), &escaped));
	assert_false(crd_cel_escape(&a, STR(""), &escaped));
	assert_false(crd_cel_escape(&a, STR("a b"), &escaped));
	assert_false(crd_cel_unescape(STR("a__foo__"), room, &name));
	assert_false(crd_cel_unescape(STR("a__in__"), room, &name));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kube_apiserver_s_answers_are_ours),
		cmocka_unit_test(a_schema_that_was_stored_keeps_its_costly_rules),
		cmocka_unit_test(names_become_identifiers_and_back),
	};

	return cmocka_run_group_tests_name("api/crd_rules", tests, NULL, NULL);
}

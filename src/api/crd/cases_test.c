/*
 * Runs cases/objects.cases. A block `schema NAME` has the schema of a kind. A block `case NAME:
 * TITLE` has the spec of an object of it, and below:
 *
 *	! WARNING	unknown fields that are reported, in order
 *	= SPEC		the resulting spec; without this line it is unchanged
 *	? MESSAGE	the body cannot be decoded
 *	> CAUSE		an error, as `reason field: message`; in any order
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/crd/cases_fixture.h"
#include "api/crd/crd.h"
#include "api/write/write.h"
#include "base/core/limits.h"

struct world {
	struct arena arena;
	struct gates gates;
	struct prng prng;
	struct crd *crd;
	struct str schema; /* name */
};

static struct json *parse(struct arena *a, struct str text)
{
	struct error err;
	struct json *v;

	if (json_parse(a, text, NULL, &v, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), err.msg);
	return v;
}

/* A definition with this schema as its only version. */
static void define(struct world *w, struct str name, struct str schema)
{
	struct error err;
	struct str text = str_from(arena_printf(
		&w->arena,
		"{\"metadata\":{\"name\":\"%.*s.example.com\"},\"spec\":{\"group\":\"example.com\","
		"\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%.*s\",\"singular\":\"x\","
		"\"kind\":\"KCase\",\"listKind\":\"KCaseList\"},\"versions\":[{\"name\":\"v1\","
		"\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":%.*s}}]}}",
		STR_ARG(name), STR_ARG(name), STR_ARG(schema)));

	crd_unref(w->crd);
	w->crd = NULL;
	w->schema = name;
	if (crd_compile(parse(&w->arena, text), &w->gates, &w->crd, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(name), err.msg);
}

/* The lines of the case with this mark, in order. */
static struct lines marked(const struct lines *all, char mark)
{
	struct lines found = { 0 };

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].n > 2 && all->v[i].p[0] == mark && all->v[i].p[1] == ' ')
			found.v[found.n++] = str_skip(all->v[i], 2);
	return found;
}

static size_t check_faults(struct world *w, const struct write *write, struct lines want,
			   const char *title)
{
	size_t failed = 0;

	for (const struct field_error *e = write->errs.first; e; e = e->next) {
		CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

		(void)buf_printf(&text, "%s %.*s: ", field_error_reason(e->type), STR_ARG(e->path));
		(void)field_error_print_body(e, &text);
		if (take(&want, buf_str(&text)))
			continue;
		print_message("%s: unexpected > %.*s\n", title, (int)text.n, text.p);
		failed++;
	}
	for (size_t i = 0; i < want.n; i++)
		print_message("%s: missing > %.*s\n", title, STR_ARG(want.v[i]));
	return failed + want.n;
}

static size_t check_warnings(const struct write *write, const struct lines *want, const char *title)
{
	const struct text_list *t = write->warnings;
	size_t failed = 0;

	for (size_t i = 0; i < want->n; i++, t = t ? t->next : NULL) {
		if (t && str_eq(t->text, want->v[i]))
			continue;
		print_message("%s: warning %.*s, not %.*s\n", title, STR_ARG(want->v[i]),
			      STR_ARG(t ? t->text : STR("")));
		failed++;
	}
	return failed + (t != NULL);
}

static size_t check_spec(struct world *w, const struct json *object, struct str want,
			 const char *title)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	const struct json *spec = json_getz(object, "spec");

	if (spec && json_equal(spec, parse(&w->arena, want)))
		return 0;
	if (spec)
		(void)json_print(&text, spec, NULL);
	print_message("%s: became %s\n", title, text.p ? text.p : "nothing");
	return 1;
}

/* An object that is read again is not changed. */
static size_t check_stable(struct world *w, struct json *object, const char *title)
{
	size_t n;

	if (!crd_served_form(&w->arena, object, crd_kinds(w->crd, &n)[0]))
		return 0;
	print_message("%s: what is stored is not what is served\n", title);
	return 1;
}

static size_t run_case(struct world *w, const char *title, const struct lines *lines)
{
	struct lines refusal = marked(lines, '?'), faults = marked(lines, '>');
	struct lines warnings = marked(lines, '!'), became = marked(lines, '=');
	struct str body = str_from(arena_printf(&w->arena,
						"{\"apiVersion\":\"example.com/v1\",\"kind\":"
						"\"KCase\",\"metadata\":{\"name\":\"x\"},"
						"\"spec\":%.*s}",
						STR_ARG(lines->v[0])));
	struct write write = { .arena = &w->arena,
			       .ns = STR("default"),
			       .gates = &w->gates,
			       .prng = &w->prng,
			       .options.field_validation = WRITE_WARN,
			       .now_ns = INT64_C(1700000000) * 1000000000 };
	struct error err = { 0 };
	struct json *tree, *object = NULL;
	size_t n, failed;
	int r;

	write.kind = crd_kinds(w->crd, &n)[0];
	write_init(&write);
	r = write_decode(&write, body, DECODE_JSON, &tree, &err);
	if (r == 0)
		r = write_create(&write, tree, &object, &err);
	if (refusal.n) {
		if (r == -ERR_BAD_REQUEST && str_eqz(refusal.v[0], err.msg))
			return 0;
		print_message("%s: %d %s\n", title, r, err.msg);
		return 1;
	}
	failed = check_faults(w, &write, faults, title) + check_warnings(&write, &warnings, title);
	if (r == 0)
		failed += check_spec(w, object, became.n ? became.v[0] : lines->v[0], title) +
			  check_stable(w, object, title);
	else if (faults.n == 0) {
		print_message("%s: %s\n", title, err.msg);
		failed++;
	}
	return failed;
}

static void run_block(struct world *w, struct str head, const struct lines *lines, size_t *cases,
		      size_t *failed)
{
	struct str rest = head, word, name;

	(void)str_split(&rest, ' ', &word);
	if (str_eqz(word, "schema")) {
		define(w, rest, lines->v[0]);
		return;
	}
	assert_true(str_eqz(word, "case"));
	(void)str_split(&rest, ':', &name);
	assert_true(str_eq(name, w->schema));
	(*cases)++;
	*failed += run_case(w, arena_strdup(&w->arena, head), lines) != 0;
}

static void kube_apiserver_s_answers_are_ours(void **state)
{
	size_t cases = 0, failed = 0;
	struct world w = { 0 };
	struct cases file;
	struct lines lines;
	struct str head;

	arena_init(&w.arena, 256 * MIB);
	gates_init(&w.gates);
	prng_init(&w.prng, 1);
	cases_open(&file, API_CASES "/objects.cases");
	while (cases_next(&file, &head, &lines))
		run_block(&w, head, &lines, &cases, &failed);
	crd_unref(w.crd);
	arena_release(&w.arena);
	if (failed)
		fail_msg("%zu of %zu cases", failed, cases);
	assert_true(cases >= 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kube_apiserver_s_answers_are_ours),
	};

	return cmocka_run_group_tests_name("api/crd_cases", tests, NULL, NULL);
}

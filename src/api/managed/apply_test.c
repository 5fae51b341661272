/*
 * Server-side apply by tables: the files cases/apply_*.cases. They expect what a kube-apiserver
 * answers to the same requests. Each case runs twice, on the engine and on the slow reference, so
 * that both obey the same rules.
 *
 * A block is a sentence and lines that begin with a tab:
 *
 *	of VERSION KIND           the object, in its storage version; the first line
 *	apply WHO BODY            force WHO BODY; update WHO BODY (the first one creates); patch
 *	                          WHO BODY (a merge patch). WHO is MANAGER[/SUBRESOURCE][@VERSION].
 *	                          BODY is YAML; apiVersion, kind and name are filled in.
 *	default BODY              fields that the server fills in, and nobody owns.
 *	fails REASON MESSAGE      the previous step was rejected; REASON is - if it has no reason.
 *	cause MESSAGE FIELD       one of its conflicts; list all of them or none.
 *	applied WHO PATH..        all fields of the Apply entry; - if the entry is missing.
 *	updated WHO PATH..        the same for an Update entry.
 *	entries N                 the number of entries in managedFields.
 *	since WHO STEP            the Apply entry has the time of this step; the first is 1.
 *	untimed WHO               the Apply entry has no time.
 *	has POINTER VALUE         the value at a JSON pointer; lacks POINTER
 *	alone                     not for the reference, which knows less.
 *	here                      an object that validation would reject.
 *
 * A block `definition` has a CustomResourceDefinition for later blocks.
 */
#include "api/crd/cases_fixture.h"
#include "api/managed/managed_fixture.h"
#include "api/object/status.h"
#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "base/yaml/yaml.h"

struct runner {
	struct arena arena;
	struct world world;
	struct crd *crd;
	struct str title;
	int r; /* result of the last step */
	bool expected; /* the case expected it to fail */
	bool causes; /* the case lists conflicts */
	size_t ncauses;
	int faults, cases;
};

#define FAULT(x, ...)                                             \
	do {                                                      \
		print_error("# %.*s\n#   ", STR_ARG((x)->title)); \
		print_error(__VA_ARGS__);                         \
		print_error("\n");                                \
		(x)->faults++;                                    \
	} while (0)

static struct str word(struct str *rest)
{
	struct str w = STR_NULL;

	(void)str_split(rest, ' ', &w);
	return w;
}

static struct json *yaml(struct runner *x, struct str text)
{
	struct error err = { 0 };
	struct json *v = NULL;

	if (yaml_parse(&x->arena, text, NULL, &v, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(x->title), err.msg);
	return v;
}

static const struct schema_kind *kind_of(const struct runner *x, struct str version,
					 struct str kind)
{
	const struct schema_kind *const *kinds = NULL;
	size_t n = 0;

	if (x->crd)
		kinds = crd_kinds(x->crd, &n);
	for (size_t i = 0; i < n; i++)
		if (str_eq(kinds[i]->api_version, version) && str_eq(kinds[i]->kind, kind))
			return kinds[i];
	return schema_find_kind(version, kind);
}

static struct world_writer writer_of(const struct runner *x, struct str text)
{
	struct world_writer who = { .kind = x->world.kind, .subresource = STR("") };
	ptrdiff_t at = str_chr(text, '@'), slash;

	if (at >= 0) {
		who.kind = kind_of(x, str_skip(text, (size_t)at + 1), x->world.kind->kind);
		assert_non_null(who.kind);
		text.n = (size_t)at;
	}
	slash = str_chr(text, '/');
	if (slash >= 0) {
		who.subresource = str_skip(text, (size_t)slash + 1);
		text.n = (size_t)slash;
	}
	who.manager = text;
	return who;
}

/* Adds apiVersion, kind and name that the case left out. */
static struct json *complete(struct runner *x, const struct world_writer *who, struct json *body)
{
	struct json *meta;

	if (!json_getz(body, "apiVersion"))
		json_put_str(&x->arena, body, "apiVersion", who->kind->api_version);
	if (!json_getz(body, "kind"))
		json_put_str(&x->arena, body, "kind", who->kind->kind);
	meta = json_need_object(&x->arena, body, "metadata");
	json_put_str(&x->arena, meta, "name", STR("x"));
	if (who->kind->flags & SCHEMA_NAMESPACED)
		json_put_str(&x->arena, meta, "namespace", STR("default"));
	return body;
}

/* --- expectations ---------------------------------------------------------------------- */

static int text_cmp(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Words sorted by bytes, separated by one space. */
static struct str sorted(struct runner *x, struct str *words, size_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	if (n)
		qsort(words, n, sizeof(*words), text_cmp);
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%s%.*s", i ? " " : "", STR_ARG(words[i]));
	return arena_str(&x->arena, buf_str(&b));
}

static const struct reference_entry *entry_of(struct runner *x, struct str text,
					      const char *operation)
{
	struct world_writer who = writer_of(x, text);
	const struct reference_state *s = &x->world.state;

	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->v[i].manager, who.manager) && str_eqz(s->v[i].operation, operation) &&
		    str_eq(s->v[i].subresource, who.subresource) &&
		    (str_chr(text, '@') < 0 || str_eq(s->v[i].api_version, who.kind->api_version)))
			return &s->v[i];
	return NULL;
}

static void check_owned(struct runner *x, struct str rest, const char *operation)
{
	struct str who = word(&rest), got = STR("-"), want, *words, w;
	const struct reference_entry *e = entry_of(x, who, operation);
	size_t n = 0;

	words = ARENA_ARRAY(&x->arena, struct str, rest.n + 1 + (e ? e->set.n : 0));
	for (size_t i = 0; e && i < e->set.n; i++)
		words[n++] = reference_path_text(&x->arena, e->set.v[i]);
	if (e)
		got = sorted(x, words, n);
	for (n = 0; (w = word(&rest)).p;)
		words[n++] = w;
	want = sorted(x, words, n);
	if (!str_eq(got, want))
		FAULT(x, "%s %.*s\n#   should own %.*s\n#   and owns   %.*s", operation,
		      STR_ARG(who), STR_ARG(want), STR_ARG(got));
}

static void check_time(struct runner *x, struct str rest, bool timed)
{
	struct str who = word(&rest), want = STR_NULL;
	const struct reference_entry *e = entry_of(x, who, "Apply");
	char text[TIMESTAMP_SIZE];
	int64_t step = 0;

	if (timed) {
		assert_true(str_to_i64(rest, &step));
		want = timestamp_print((WORLD_BEGIN_S + step) * SECOND_NS, TIMESTAMP_SECONDS, text);
	}
	if (!e || !str_eq(e->time, want))
		FAULT(x, "time of %.*s is \"%.*s\", should be \"%.*s\"", STR_ARG(who),
		      STR_ARG(e ? e->time : STR("(no entry)")), STR_ARG(want));
}

static void check_value(struct runner *x, struct str rest, bool there)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct str pointer = word(&rest);
	const struct json *got = json_pointer(x->world.state.object, pointer), *want;

	want = there ? yaml(x, rest) : NULL;
	if (got)
		(void)json_print(&b, got, NULL);
	if (there ? !got || !json_equal(got, want) : got != NULL)
		FAULT(x, "%.*s is %s, should be %.*s", STR_ARG(pointer), got ? b.p : "(absent)",
		      STR_ARG(there ? rest : STR("absent")));
}

static void check_count(struct runner *x, struct str rest)
{
	int64_t n;

	assert_true(str_to_i64(rest, &n));
	if ((int64_t)x->world.state.n != n)
		FAULT(x, "%zu entries, should be %.*s", x->world.state.n, STR_ARG(rest));
}

/* Newlines of a message are \n in the file. */
static struct str unescaped(struct runner *x, struct str text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	for (size_t i = 0; i < text.n; i++) {
		bool escape = text.p[i] == '\\' && i + 1 < text.n && text.p[i + 1] == 'n';

		(void)buf_addc(&b, escape ? '\n' : text.p[i]);
		i += escape;
	}
	return arena_str(&x->arena, buf_str(&b));
}

/* The Status that the client would get. */
static struct json *status_of(struct runner *x)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	const struct status_about about = { .conflicts = &x->world.applied };
	struct json *status = NULL;

	assert_int_equal(status_print(&x->world.err, &about, &b), 0);
	assert_int_equal(
		json_parse(&x->arena, arena_str(&x->arena, buf_str(&b)), NULL, &status, NULL), 0);
	return status;
}

static void check_failure(struct runner *x, struct str rest)
{
	struct str reason = word(&rest), message = unescaped(x, rest), got;
	struct json *status;

	x->expected = true;
	if (x->r == 0)
		FAULT(x, "it should have failed: %.*s", STR_ARG(rest));
	/* The reference has no messages. */
	if (x->r == 0 || x->world.by_reference)
		return;
	status = status_of(x);
	got = json_text_at(status, "reason");
	if (!str_eq(reason, got.n ? got : STR("-")))
		FAULT(x, "the reason is %.*s, should be %.*s", STR_ARG(got), STR_ARG(reason));
	got = json_text_at(status, "message");
	if (!str_eq(message, got))
		FAULT(x, "says   %.*s\n#   should %.*s", STR_ARG(got), STR_ARG(message));
}

static struct str nth_cause(struct runner *x, const struct json *causes, size_t i)
{
	const struct json *c = json_at(causes, i);

	if (x->world.by_reference)
		return reference_conflict_text(&x->arena, &x->world.request.conflicts[i]);
	return str_from(arena_printf(&x->arena, "%.*s %.*s", STR_ARG(json_text_at(c, "message")),
				     STR_ARG(json_text_at(c, "field"))));
}

static void check_cause(struct runner *x, struct str rest)
{
	const struct json *causes = x->world.by_reference
					    ? NULL
					    : json_getz(json_getz(status_of(x), "details"),
							"causes");
	size_t n = x->world.by_reference ? x->world.request.nconflicts : json_count(causes);

	x->causes = true;
	x->ncauses++;
	for (size_t i = 0; i < n; i++)
		if (str_eq(nth_cause(x, causes, i), rest))
			return;
	FAULT(x, "no %.*s among %zu", STR_ARG(rest), n);
}

/* --- running --------------------------------------------------------------------------- */

/* The previous step must have succeeded, unless the case said otherwise. */
static void settle(struct runner *x)
{
	size_t n = x->world.by_reference ? x->world.request.nconflicts
					 : x->world.applied.nconflicts;

	if (x->r < 0 && !x->expected)
		FAULT(x, "failed: %s %s", error_reason(-x->r), x->world.err.msg);
	if (x->causes && n != x->ncauses)
		FAULT(x, "%zu conflicts, should be %zu", n, x->ncauses);
	x->r = 0;
	x->expected = x->causes = false;
	x->ncauses = 0;
}

static void run_step(struct runner *x, struct str verb, struct str rest)
{
	struct world_writer who = writer_of(x, word(&rest));
	struct json *body = yaml(x, rest);

	settle(x);
	if (str_eqz(verb, "patch"))
		world_patch(&x->world, &who, body);
	else if (str_eqz(verb, "update"))
		world_update(&x->world, &who, complete(x, &who, body));
	else
		x->r = world_apply(&x->world, &who, complete(x, &who, body),
				   str_eqz(verb, "force"));
}

static void run_check(struct runner *x, struct str verb, struct str rest)
{
	if (str_eqz(verb, "fails"))
		check_failure(x, rest);
	else if (str_eqz(verb, "cause"))
		check_cause(x, rest);
	else if (str_eqz(verb, "applied") || str_eqz(verb, "updated"))
		check_owned(x, rest, str_eqz(verb, "applied") ? "Apply" : "Update");
	else if (str_eqz(verb, "since") || str_eqz(verb, "untimed"))
		check_time(x, rest, str_eqz(verb, "since"));
	else if (str_eqz(verb, "has") || str_eqz(verb, "lacks"))
		check_value(x, rest, str_eqz(verb, "has"));
	else if (str_eqz(verb, "entries"))
		check_count(x, rest);
	else if (str_eqz(verb, "default"))
		world_default(&x->world, yaml(x, rest));
	else if (!str_eqz(verb, "alone") && !str_eqz(verb, "here"))
		fail_msg("%.*s: no word %.*s", STR_ARG(x->title), STR_ARG(verb));
}

static bool is_step(struct str verb)
{
	static const char *const steps[] = { "apply", "force", "update", "patch" };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (str_eqz(verb, steps[i]))
			return true;
	return false;
}

/* The reference checks no types, so such errors are not expected from it. */
static bool is_beyond(const struct runner *x, const struct lines *lines, size_t i)
{
	struct str next = i + 1 < lines->n ? lines->v[i + 1] : STR_NULL;

	return x->world.by_reference && str_starts(next, STR("fails ")) &&
	       !str_starts(next, STR("fails Conflict"));
}

static void run_case(struct runner *x, const struct lines *lines)
{
	struct str rest = lines->v[0];

	assert_true(str_eqz(word(&rest), "of"));
	x->world = (struct world){ .arena = &x->arena, .by_reference = x->world.by_reference };
	x->world.kind = kind_of(x, word(&rest), rest);
	assert_non_null(x->world.kind);
	for (size_t i = 1; i < lines->n; i++) {
		struct str verb = STR_NULL;

		rest = lines->v[i];
		verb = word(&rest);
		if (is_step(verb) && is_beyond(x, lines, i))
			i++;
		else if (is_step(verb))
			run_step(x, verb, rest);
		else
			run_check(x, verb, rest);
	}
	settle(x);
	x->cases++;
}

static void define(struct runner *x, const struct lines *lines)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct gates gates;
	struct error err = { 0 };

	gates_init(&gates);
	for (size_t i = 0; i < lines->n; i++)
		(void)buf_printf(&b, "%.*s\n", STR_ARG(lines->v[i]));
	if (crd_compile(yaml(x, buf_str(&b)), &gates, &x->crd, &err) < 0)
		fail_msg("%s", err.msg);
}

static bool has_line(const struct lines *lines, const char *line)
{
	for (size_t i = 0; i < lines->n; i++)
		if (str_eqz(lines->v[i], line))
			return true;
	return false;
}

static int run_file(const char *name, bool by_reference)
{
	struct runner x = { .world.by_reference = by_reference };
	struct lines lines;
	struct cases cases;
	char path[512];

	arena_init(&x.arena, 256 * MIB);
	(void)snprintf(path, sizeof(path), "%s/apply_%s.cases", API_CASES, name);
	cases_open(&cases, path);
	while (cases_next(&cases, &x.title, &lines)) {
		if (str_eqz(x.title, "definition"))
			define(&x, &lines);
		else if (!by_reference || !has_line(&lines, "alone"))
			run_case(&x, &lines);
	}
	crd_unref(x.crd);
	arena_release(&x.arena);
	assert_int_equal(x.faults, 0);
	return x.cases;
}

static const char *const files[] = { "maps", "lists", "writers", "wrong", "custom", "versions" };

static void the_engine_applies_as_upstream_does(void **state)
{
	int cases = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		cases += run_file(files[i], false);
	assert_true(cases >= 120);
}

static void the_reference_applies_as_upstream_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)run_file(files[i], true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reference_applies_as_upstream_does),
		cmocka_unit_test(the_engine_applies_as_upstream_does),
	};

	return cmocka_run_group_tests_name("api/managed_apply", tests, NULL, NULL);
}

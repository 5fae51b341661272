/*
 * check_fixture - runs .cases files of valid and invalid objects through validation.
 *
 * A .cases file has blocks, separated by empty lines; lines that begin with # are comments. `base
 * NAME` defines a valid object as JSON. Every other block takes a base, edits it and lists the
 * expected errors:
 *
 *	create slice: a device without a name
 *		spec.devices[0].name=""
 *		> Invalid spec.devices[0].name: a lowercase RFC 1123 label
 *
 * The first word is `create`, `update` or `status`. Then follow the base, optionally with a
 * /subresource, and flags: `in-admin-namespace`, `default-gates` (otherwise all gates are on). An
 * edit is PATH=JSON; a path has names, [indexes] and {keys}. An empty value removes the member.
 * PATH*N=JSON makes a list of N, or a map; a % in the JSON is the number. PATH^N="text" repeats the
 * text N times. `stored PATH=JSON` also edits the stored object. Errors are `> Type path` or `>
 * Type path: words`; all must be found and no others, in any order.
 */
#ifndef API_CHECK_CHECK_FIXTURE_H
#define API_CHECK_CHECK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/defaults/defaults.h"
#include "api/validate/validate.h"
#include "base/core/limits.h"
#include "base/system/file.h"

#define NOW_NS (INT64_C(1790000000) * 1000000000)

struct check_base {
	struct check_base *next;
	struct str name, json;
};

/* One block. */
struct check_case {
	struct str file, title; /* title: the first line */
	struct str operation, base, subresource, flags;
	struct str lines; /* the rest */
};

/* --- edits -------------------------------------------------------------------------- */

static struct json *parsed(struct arena *a, struct str text)
{
	struct json *v = NULL;
	struct error err;

	if (json_parse(a, arena_str(a, text), NULL, &v, &err) < 0)
		fail_msg("%.*s: %s", STR_ARG(text), err.msg);
	return v;
}

/* Takes one step off a path: a name, [index] or {key}. */
static struct str step(struct str *path, bool *ret_index)
{
	char closing = path->p[0] == '[' ? ']' : path->p[0] == '{' ? '}' : '\0';
	size_t from = closing ? 1 : 0, n = from;
	struct str text;

	*ret_index = closing == ']';
	while (n < path->n && (closing ? path->p[n] != closing : !memchr(".[{", path->p[n], 3)))
		n++;
	text = str_of(path->p + from, n - from);
	*path = str_skip(*path, n + (closing ? 1 : 0));
	if (path->n && path->p[0] == '.')
		*path = str_skip(*path, 1);
	return text;
}

static struct json *child_of(struct arena *a, struct json *parent, struct str name, bool index,
			     struct str rest)
{
	struct json *child;
	int64_t i;

	if (index) {
		assert_true(str_to_i64(name, &i));
		while (json_count(parent) <= (size_t)i)
			json_append(parent, json_make_object(a));
		return json_at(parent, (size_t)i);
	}
	child = json_get(parent, name);
	if (!child) {
		child = rest.p[0] == '[' ? json_make_array(a) : json_make_object(a);
		json_set(parent, arena_str(a, name), child);
	}
	return child;
}

static void put(struct arena *a, struct json *parent, struct str name, bool index, struct str text)
{
	int64_t i = 0;

	if (text.n == 0) {
		json_remove(parent, name);
	} else if (!index) {
		json_set(parent, arena_str(a, name), parsed(a, text));
	} else {
		assert_true(str_to_i64(name, &i));
		if ((size_t)i < json_count(parent))
			json_remove_at(parent, (size_t)i);
		json_insert(parent, (size_t)i, parsed(a, text));
	}
}

/* Makes a list (or, if the template begins with a quoted name, a map) of `n` elements. */
static struct str many(struct arena *a, struct str template, int64_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(8 * MIB);
	bool map = template.p[0] == '"' && str_find(template, STR("\":")) >= 0;

	(void)buf_addc(&b, map ? '{' : '[');
	for (int64_t i = 0; i < n; i++) {
		(void)buf_addz(&b, i ? "," : "");
		for (size_t at = 0; at < template.n; at++) {
			if (template.p[at] == '%')
				(void)buf_add_i64(&b, i);
			else
				(void)buf_addc(&b, template.p[at]);
		}
	}
	(void)buf_addc(&b, map ? '}' : ']');
	return arena_str(a, buf_str(&b));
}

/* Repeats the text between the quotes n times; the result is quoted. */
static struct str repeated(struct arena *a, struct str quoted, int64_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	(void)buf_addc(&b, '"');
	for (int64_t i = 0; i < n; i++)
		(void)buf_add_str(&b, str_of(quoted.p + 1, quoted.n - 2));
	(void)buf_addc(&b, '"');
	return arena_str(a, buf_str(&b));
}

/* Takes the count after `mark` off the path; returns false if it has none. */
static bool take_count(struct str *path, char mark, int64_t *ret_n)
{
	ptrdiff_t at = str_chr(*path, mark);

	if (at < 0)
		return false;
	assert_true(str_to_i64(str_skip(*path, (size_t)at + 1), ret_n));
	path->n = (size_t)at;
	return true;
}

static void edit(struct arena *a, struct json *root, struct str text)
{
	ptrdiff_t equals = str_chr(text, '=');
	struct str path = str_of(text.p, (size_t)equals);
	struct str value = str_skip(text, (size_t)equals + 1), name;
	struct json *parent = root;
	bool index;
	int64_t n;

	if (take_count(&path, '*', &n))
		value = many(a, value, n);
	else if (take_count(&path, '^', &n))
		value = repeated(a, value, n);
	name = step(&path, &index);
	while (path.n) {
		parent = child_of(a, parent, name, index, path);
		name = step(&path, &index);
	}
	put(a, parent, name, index, value);
}

/* --- reported errors ----------------------------------------------------------------- */

static const char *const type_names[FIELD_ERROR_TYPES] = {
	[FIELD_NOT_FOUND] = "NotFound",         [FIELD_REQUIRED] = "Required",
	[FIELD_DUPLICATE] = "Duplicate",        [FIELD_INVALID] = "Invalid",
	[FIELD_NOT_SUPPORTED] = "NotSupported", [FIELD_FORBIDDEN] = "Forbidden",
	[FIELD_TOO_LONG] = "TooLong",           [FIELD_TOO_SHORT] = "TooShort",
	[FIELD_TOO_MANY] = "TooMany",           [FIELD_TOO_FEW] = "TooFew",
	[FIELD_INTERNAL] = "Internal",          [FIELD_TYPE_INVALID] = "TypeInvalid",
};

static bool fits(const struct field_error *e, struct str line)
{
	ptrdiff_t space = str_chr(line, ' ');
	struct str type = str_of(line.p, (size_t)space), path = str_skip(line, (size_t)space + 1);
	ptrdiff_t colon = str_find(path, STR(": "));
	struct str words = colon < 0 ? STR_NULL : str_skip(path, (size_t)colon + 2);

	if (colon >= 0)
		path.n = (size_t)colon;
	return str_eqz(type, type_names[e->type]) && str_eq(path, e->path) &&
	       (!words.n || str_find(e->detail, words) >= 0);
}

static const struct field_error *find(const struct field_errors *errs, struct str line,
				      const bool *taken, size_t *ret_at)
{
	size_t i = 0;

	for (const struct field_error *e = errs->first; e; e = e->next, i++) {
		if (!taken[i] && fits(e, line)) {
			*ret_at = i;
			return e;
		}
	}
	return NULL;
}

static void print_found(const struct field_errors *errs, struct buf *out)
{
	for (const struct field_error *e = errs->first; e; e = e->next)
		(void)buf_printf(out, "\n  %s %.*s: %.*s", type_names[e->type], STR_ARG(e->path),
				 STR_ARG(e->detail));
}

/* --- lines of a case ----------------------------------------------------------------- */

/* Takes off the next line, without its indentation; returns false at the end. */
static bool next_line(struct str *rest, struct str *ret_line)
{
	if (rest->n == 0 || !str_split(rest, '\n', ret_line))
		return false;
	*ret_line = str_trim(*ret_line);
	return true;
}

static bool take_word(struct str *line, struct str word)
{
	if (!str_starts(*line, word))
		return false;
	*line = str_skip(*line, word.n);
	return true;
}

static void apply(struct arena *a, struct json *root, struct str lines, bool stored)
{
	struct str line;

	while (next_line(&lines, &line)) {
		if (line.n == 0 || line.p[0] == '>' || take_word(&line, STR("stored ")) != stored)
			continue;
		edit(a, root, line);
	}
}

/* Whether the found and the expected errors are the same. */
static bool agree(const struct field_errors *errs, struct str lines)
{
	bool taken[FIELD_ERRORS_MAX] = { false };
	struct str line;
	size_t n = 0, at;

	while (next_line(&lines, &line)) {
		if (!take_word(&line, STR("> ")))
			continue;
		if (!find(errs, line, taken, &at))
			return false;
		taken[at] = true;
		n++;
	}
	return n == errs->n && errs->dropped == 0;
}

/* --- running -------------------------------------------------------------------------- */

static struct json *copied(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	assert_int_equal(json_copy(a, v, &copy, NULL), 0);
	return copy;
}

static void run(const struct check_case *c, struct str base, struct validation *v)
{
	struct json *object = parsed(v->arena, base);
	bool create = str_eqz(c->operation, "create");

	v->kind = schema_find_kind(json_text_at(object, "apiVersion"),
				   json_text_at(object, "kind"));
	assert_non_null(v->kind);
	v->subresource = c->subresource;
	apply(v->arena, object, c->lines, true);
	if (!create) {
		defaults_fill(v->arena, object, v->kind->type, NOW_NS);
		v->old = copied(v->arena, object);
	}
	apply(v->arena, object, c->lines, false);
	defaults_fill(v->arena, object, v->kind->type, NOW_NS);
	v->object = object;
	if (create)
		validate_create(v);
	else if (str_eqz(c->operation, "status"))
		validate_status_update(v);
	else
		validate_update(v);
}

static bool passes(const struct check_case *c, struct str base)
{
	CLEANUP(buf_release) struct buf found = BUF_INIT(64 * KIB);
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct gates gates;
	struct validation v = { .errs = &errs, .arena = &arena, .gates = &gates, .now_ns = NOW_NS };
	bool fine;

	arena_init(&arena, 64 * MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	for (size_t i = 0; i < GATE_COUNT && str_find(c->flags, STR("default-gates")) < 0; i++)
		gates.on[i] = true;
	if (str_find(c->flags, STR("in-admin-namespace")) >= 0)
		v.namespace_labels = parsed(
			&arena, STR("{\"resource.kubernetes.io/admin-access\":\"true\"}"));
	run(c, base, &v);
	fine = agree(&errs, c->lines);
	if (!fine) {
		print_found(&errs, &found);
		print_error("%.*s: %.*s\n%.*s\nfound%s\n", STR_ARG(c->file), STR_ARG(c->title),
			    STR_ARG(c->lines), found.n ? found.p : " nothing");
	}
	return fine;
}

/* --- files ----------------------------------------------------------------------------- */

static struct str read_cases(struct arena *a, const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1 * MIB);
	const char *path = arena_printf(a, "%s/%s", API_CASES, name);
	struct error err;

	if (file_read(path, &text, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	return arena_str(a, buf_str(&text));
}

static struct str base_of(const struct check_base *bases, struct str name)
{
	for (; bases; bases = bases->next) {
		if (str_eq(bases->name, name))
			return bases->json;
	}
	fail_msg("there is no base %.*s", STR_ARG(name));
	return STR_NULL;
}

/* "create pod/resize default-gates: name" */
static struct check_case case_of(struct str file, struct str title, struct str lines)
{
	struct check_case c = { .file = file, .title = title, .lines = lines };
	struct str head = str_of(title.p, (size_t)MAX(0, str_chr(title, ':'))), rest;

	(void)str_split(&head, ' ', &c.operation);
	if (!str_split(&head, ' ', &rest))
		fail_msg("%.*s: what is \"%.*s\"", STR_ARG(file), STR_ARG(title));
	(void)str_split(&rest, '/', &c.base);
	c.subresource = rest;
	c.flags = head;
	return c;
}

/* Reads a block up to an empty line; skips comments before it. */
static bool next_block(struct str *rest, struct str *ret_title, struct str *ret_lines)
{
	struct str line;
	ptrdiff_t end;

	do {
		if (rest->n == 0 || !str_split(rest, '\n', ret_title))
			return false;
		line = *ret_title;
	} while (line.n == 0 || line.p[0] == '#');
	end = rest->n && rest->p[0] == '\n' ? 0 : str_find(*rest, STR("\n\n"));
	*ret_lines = end < 0 ? *rest : str_of(rest->p, (size_t)end);
	*rest = end < 0 ? STR_NULL : str_skip(*rest, (size_t)end);
	return true;
}

/* Runs the file; fails the test if a case fails. Returns the number of cases. */
static size_t run_cases(const char *name)
{
	CLEANUP(arena_release) struct arena a;
	struct check_base *bases = NULL;
	struct str file = str_from(name), rest, title, lines;
	size_t n = 0, failed = 0;

	arena_init(&a, 4 * MIB);
	rest = read_cases(&a, name);
	while (next_block(&rest, &title, &lines)) {
		struct check_case c;

		if (take_word(&title, STR("base "))) {
			struct check_base *base = ARENA_NEW(&a, struct check_base);

			*base = (struct check_base){ bases, title, lines };
			bases = base;
			continue;
		}
		c = case_of(file, title, lines);
		failed += !passes(&c, base_of(bases, c.base));
		n++;
	}
	if (failed)
		fail_msg("%s: %zu of %zu cases", name, failed, n);
	return n;
}

#endif

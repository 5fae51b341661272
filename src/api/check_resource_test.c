/*
 * Runs the rows of check_resource_cases: objects of resource.k8s.io through
 * defaults and validation, as a write would take them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/check_resource_cases.h"
#include "api/check_resource_cases_claim.h"
#include "api/check_resource_cases_slice.h"

#include "api/check_resource_cases_other.h"
#include "api/check_resource_cases_status.h"
#include "api/validate.h"
#include "base/limits.h"

#define NOW_NS (INT64_C(1790000000) * 1000000000)

static const char *const bases[BASE_COUNT] = {
	[BASE_SLICE] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
		"\"metadata\":{\"name\":\"slice-1\",\"resourceVersion\":\"1\"},"
		"\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"node-1\","
		"\"pool\":{\"name\":\"node-1\",\"generation\":1,\"resourceSliceCount\":1},"
		"\"devices\":[{\"name\":\"gpu-0\",\"attributes\":{\"model\":{\"string\":\"a\"}},"
		"\"capacity\":{\"memory\":{\"value\":\"40Gi\"}}},{\"name\":\"gpu-1\"}]}}",
	[BASE_SHARED] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\","
		"\"metadata\":{\"name\":\"slice-1\",\"resourceVersion\":\"1\"},"
		"\"spec\":{\"driver\":\"gpu.example.com\",\"nodeName\":\"node-1\","
		"\"pool\":{\"name\":\"node-1\",\"generation\":1,\"resourceSliceCount\":1},"
		"\"devices\":[{\"name\":\"gpu-0\",\"allowMultipleAllocations\":true,"
		"\"capacity\":{\"memory\":{\"value\":\"10\",\"requestPolicy\":{\"default\":\"1\","
		"\"validRange\":{\"min\":\"1\",\"max\":\"9\",\"step\":\"2\"}}}}}]}}",
	[BASE_CLAIM] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
		"\"metadata\":{\"name\":\"claim-1\",\"namespace\":\"default\",\"resourceVersion\":"
		"\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"req-0\",\"exactly\":"
		"{\"deviceClassName\":\"class\"}},{\"name\":\"req-1\",\"firstAvailable\":[{"
		"\"name\":"
		"\"sub-0\",\"deviceClassName\":\"class\"},{\"name\":\"sub-1\",\"deviceClassName\":"
		"\"class\"}]}]}}}",
	[BASE_ALLOCATED] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaim\","
		"\"metadata\":{\"name\":\"claim-1\",\"namespace\":\"default\",\"resourceVersion\":"
		"\"1\"},\"spec\":{\"devices\":{\"requests\":[{\"name\":\"req-0\",\"exactly\":"
		"{\"deviceClassName\":\"class\"}}]}},\"status\":{\"allocation\":{\"devices\":"
		"{\"results\":[{\"request\":\"req-0\",\"driver\":\"gpu.example.com\",\"pool\":"
		"\"node-1\",\"device\":\"gpu-0\"}]}}}}",
	[BASE_TEMPLATE] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceClaimTemplate\","
		"\"metadata\":{\"name\":\"template-1\",\"namespace\":\"default\","
		"\"resourceVersion\":"
		"\"1\"},\"spec\":{\"spec\":{\"devices\":{\"requests\":[{\"name\":\"req-0\","
		"\"exactly\":{\"deviceClassName\":\"class\"}}]}}}}",
	[BASE_CLASS] = "{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceClass\","
		       "\"metadata\":{\"name\":\"gpu.example.com\",\"resourceVersion\":\"1\"},"
		       "\"spec\":{\"selectors\":[{\"cel\":{\"expression\":\"true\"}}]}}",
	[BASE_TAINT_RULE] =
		"{\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"DeviceTaintRule\","
		"\"metadata\":{\"name\":\"rule-1\",\"resourceVersion\":\"1\"},"
		"\"spec\":{\"taint\":{\"key\":\"example.com/broken\",\"effect\":\"NoExecute\"}}}",
	[BASE_POOL_REQUEST] = "{\"apiVersion\":\"resource.k8s.io/"
			      "v1alpha3\",\"kind\":\"ResourcePoolStatusRequest\","
			      "\"metadata\":{\"name\":\"request-1\",\"resourceVersion\":\"1\"},"
			      "\"spec\":{\"driver\":\"gpu.example.com\"}}",
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

/* Takes one step of a path off: a name, [index] or {key}. */
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

/* A list (or, for a template that begins with a quoted name, a map) of many. */
static struct str many(struct arena *a, struct str template, int64_t n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
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

static void edit(struct arena *a, struct json *root, struct str text)
{
	ptrdiff_t equals = str_chr(text, '='), star;
	struct str path = str_of(text.p, (size_t)equals);
	struct str value = str_skip(text, (size_t)equals + 1), name;
	struct json *parent = root;
	bool index;
	int64_t n;

	star = str_chr(path, '*');
	if (star >= 0) {
		assert_true(str_to_i64(str_skip(path, (size_t)star + 1), &n));
		value = many(a, value, n);
		path.n = (size_t)star;
	}
	name = step(&path, &index);
	while (path.n) {
		parent = child_of(a, parent, name, index, path);
		name = step(&path, &index);
	}
	put(a, parent, name, index, value);
}

static void apply(struct arena *a, struct json *root, const char *edits)
{
	struct str rest = str_from(edits);

	while (rest.n) {
		ptrdiff_t end = str_find(rest, STR(" ; "));
		struct str one = end < 0 ? rest : str_of(rest.p, (size_t)end);

		edit(a, root, one);
		rest = str_skip(rest, end < 0 ? rest.n : (size_t)end + 3);
	}
}

/* --- what was found ------------------------------------------------------------------ */

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

/* False when what was found and what was expected are not the same, line by line. */
static bool agree(const struct field_errors *errs, const char *expected)
{
	bool taken[FIELD_ERRORS_MAX] = { false };
	struct str rest = str_from(expected), line;
	size_t n = 0, at;

	while (rest.n && str_split(&rest, '\n', &line)) {
		if (!find(errs, line, taken, &at))
			return false;
		taken[at] = true;
		n++;
	}
	return n == errs->n && errs->dropped == 0;
}

/* --- running --------------------------------------------------------------------------- */

static struct json *copied(struct arena *a, const struct json *v)
{
	struct json *copy = NULL;

	assert_int_equal(json_copy(a, v, &copy, NULL), 0);
	return copy;
}

static void run(const struct resource_case *c, struct validation *v)
{
	static void (*const functions[])(struct validation * v) = {
		[ON_CREATE] = validate_create,
		[ON_UPDATE] = validate_update,
		[ON_STATUS] = validate_status_update,
	};
	struct json *object = parsed(v->arena, str_from(bases[c->base]));

	v->kind = schema_find_kind(json_str(json_getz(object, "apiVersion")),
				   json_str(json_getz(object, "kind")));
	assert_non_null(v->kind);
	apply(v->arena, object, c->prepare);
	if (c->op != ON_CREATE) {
		defaults_fill(v->arena, object, v->kind->type, NOW_NS);
		v->old = copied(v->arena, object);
	}
	apply(v->arena, object, c->edits);
	defaults_fill(v->arena, object, v->kind->type, NOW_NS);
	v->object = object;
	functions[c->op](v);
}

static bool passes(const struct resource_case *c)
{
	CLEANUP(buf_release) struct buf found = BUF_INIT(64 * KIB);
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct text_list *warnings = NULL;
	struct gates gates;
	struct validation v = {
		.errs = &errs,
		.arena = &arena,
		.gates = &gates,
		.now_ns = NOW_NS,
		.warnings = &warnings,
	};
	bool fine;

	arena_init(&arena, 64 * MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	for (size_t i = 0; i < GATE_COUNT && !(c->flags & ONLY_DEFAULT_GATES); i++)
		gates.on[i] = true;
	if (c->flags & ADMIN_NAMESPACE)
		v.namespace_labels = parsed(
			&arena, STR("{\"resource.kubernetes.io/admin-access\":\"true\"}"));
	run(c, &v);
	fine = agree(&errs, c->expected);
	if (!fine) {
		print_found(&errs, &found);
		print_error("%s: expected\n  %s\nfound%s\n", c->name, c->expected,
			    found.n ? found.p : " nothing");
	}
	return fine;
}

static void run_all(const struct resource_case *cases, size_t n)
{
	size_t failed = 0;

	for (size_t i = 0; i < n; i++)
		failed += !passes(&cases[i]);
	if (failed)
		fail_msg("%zu of %zu rows", failed, n);
	print_message("%zu rows\n", n);
}

static void slices_are_judged_as_upstream_does(void **state)
{
	(void)state;
	run_all(slice_cases, ARRAY_SIZE(slice_cases));
}

static void claims_are_judged_as_upstream_does(void **state)
{
	(void)state;
	run_all(claim_cases, ARRAY_SIZE(claim_cases));
}

static void the_status_of_claims_is_judged_as_upstream_does(void **state)
{
	(void)state;
	run_all(status_cases, ARRAY_SIZE(status_cases));
}

static void the_other_kinds_are_judged_as_upstream_does(void **state)
{
	(void)state;
	run_all(other_cases, ARRAY_SIZE(other_cases));
}

static void upper_case_drivers_are_warned_of(void **state)
{
	CLEANUP(arena_release) struct arena arena;
	struct field_errors errs;
	struct text_list *warnings = NULL;
	struct gates gates;
	struct validation v = {
		.errs = &errs,
		.arena = &arena,
		.gates = &gates,
		.warnings = &warnings,
	};
	const struct resource_case row = {
		"upper case", BASE_SLICE, ON_CREATE, NULL, "spec.driver=\"GPU.example.com\"", "", 0
	};

	(void)state;
	arena_init(&arena, MIB);
	field_errors_init(&errs, &arena);
	gates_init(&gates);
	run(&row, &v);
	assert_int_equal(errs.n, 0);
	assert_non_null(warnings);
	assert_true(str_find(warnings->text, STR("should be lowercase")) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_judged_as_upstream_does),
		cmocka_unit_test(claims_are_judged_as_upstream_does),
		cmocka_unit_test(the_status_of_claims_is_judged_as_upstream_does),
		cmocka_unit_test(the_other_kinds_are_judged_as_upstream_does),
		cmocka_unit_test(upper_case_drivers_are_warned_of),
	};

	return cmocka_run_group_tests_name("api/check_resource", tests, NULL, NULL);
}

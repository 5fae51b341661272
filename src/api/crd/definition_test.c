/*
 * Runs cases/definitions.cases. A block `case TITLE` has a definition, and below:
 *
 *	! WARNING	in any order
 *	> CAUSE		an error, as `reason field: message`; in any order; a line break is \n
 *
 * Separate tests check what may not change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/crd/cases_fixture.h"
#include "api/crd/crd.h"
#include "api/schema/tree.h"
#include "api/write/write.h"
#include "base/core/limits.h"

struct world {
	struct arena arena;
	struct gates gates;
	struct prng prng;
	struct write write;
};

static void world_init(struct world *w)
{
	arena_init(&w->arena, 256 * MIB);
	gates_init(&w->gates);
	prng_init(&w->prng, 1);
}

static void begin(struct world *w, struct str name)
{
	w->write = (struct write){
		.arena = &w->arena,
		.gates = &w->gates,
		.prng = &w->prng,
		.name = name,
		.kind = schema_find_resource(STR("apiextensions.k8s.io"), STR("v1"),
					     STR("customresourcedefinitions")),
		.now_ns = INT64_C(1700000000) * 1000000000,
	};
	write_init(&w->write);
}

static int create(struct world *w, struct str body, struct json **ret_object, struct error *err)
{
	struct json *tree;
	int r;

	begin(w, STR_NULL);
	r = write_decode(&w->write, body, DECODE_JSON, &tree, err);
	return r < 0 ? r : write_create(&w->write, tree, ret_object, err);
}

/* "> reason field: message" of a fault, on one line. */
static struct str fault_line(struct world *w, const struct field_error *e)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf line = BUF_INIT(MIB);

	(void)buf_printf(&text, "> %s %.*s: ", field_error_reason(e->type), STR_ARG(e->path));
	(void)field_error_print_body(e, &text);
	for (size_t i = 0; i < text.n; i++)
		(void)(text.p[i] == '\n' ? buf_addz(&line, "\\n") : buf_addc(&line, text.p[i]));
	return arena_str(&w->arena, buf_str(&line));
}

static bool run_case(struct world *w, struct str title, struct lines want)
{
	struct json *object = NULL;
	struct error err = { 0 };
	bool fine = true;
	struct str body = want.v[0];
	int r;

	want.v[0] = want.v[--want.n];
	r = create(w, body, &object, &err);
	if (r < 0 && r != -ERR_INVALID) {
		print_message("%.*s: %s\n", STR_ARG(title), err.msg);
		return false;
	}
	for (const struct field_error *e = w->write.errs.first; e; e = e->next) {
		struct str line = fault_line(w, e);

		if (take(&want, line))
			continue;
		print_message("%.*s: unexpected %.*s\n", STR_ARG(title), STR_ARG(line));
		fine = false;
	}
	for (const struct text_list *t = w->write.warnings; t; t = t->next)
		fine &= take(&want, str_from(arena_printf(&w->arena, "! %.*s", STR_ARG(t->text))));
	for (size_t i = 0; i < want.n; i++)
		print_message("%.*s: missing %.*s\n", STR_ARG(title), STR_ARG(want.v[i]));
	return fine && want.n == 0;
}

/* A valid definition must also compile. */
static bool compiles(struct world *w, struct str title, const struct lines *lines)
{
	CLEANUP(crd_unref) struct crd *crd = NULL;
	struct json *object;
	struct error err;

	if (create(w, lines->v[0], &object, &err) < 0)
		return true;
	if (crd_compile(object, &w->gates, &crd, &err) == 0)
		return true;
	print_message("%.*s: %s\n", STR_ARG(title), err.msg);
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
	cases_open(&file, API_CASES "/definitions.cases");
	while (cases_next(&file, &head, &lines)) {
		cases++;
		failed += !run_case(&w, head, lines) || !compiles(&w, head, &lines);
	}
	arena_release(&w.arena);
	if (failed)
		fail_msg("%zu of %zu cases", failed, cases);
	assert_true(cases >= 80);
}

/* --- updates ---------------------------------------------------------------------- */

#define BODY                                                                                   \
	"{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","   \
	"\"metadata\":{\"name\":\"cases.example.com\",\"resourceVersion\":\"%s\"},\"spec\":{"  \
	"\"group\":\"example.com\",\"scope\":\"%s\",\"names\":{\"plural\":\"cases\",\"kind\":" \
	"\"%s\"},\"versions\":[%s]}}"
#define V1                                                               \
	"{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{" \
	"\"openAPIV3Schema\":{\"type\":\"object\"}}}"
#define V1_OLD                                                            \
	"{\"name\":\"v1\",\"served\":true,\"storage\":false,\"schema\":{" \
	"\"openAPIV3Schema\":{\"type\":\"object\"}}}"
#define V2                                                               \
	"{\"name\":\"v2\",\"served\":true,\"storage\":true,\"schema\":{" \
	"\"openAPIV3Schema\":{\"type\":\"object\"}}}"

static struct str body(struct world *w, const char *version, const char *scope, const char *kind,
		       const char *versions)
{
	return str_from(arena_printf(&w->arena, BODY, version, scope, kind, versions));
}

/* The definition once its names are accepted and it is served. */
static struct json *stored(struct world *w, bool established)
{
	struct json *object;
	struct error err;

	if (create(w, body(w, "", "Namespaced", "Case", V1), &object, &err) < 0)
		fail_msg("%s", err.msg);
	if (established)
		(void)crd_set_condition(&w->arena, object, &crd_established, 1);
	json_put_str(&w->arena, json_getz(object, "metadata"), "resourceVersion", STR("7"));
	return object;
}

static int update(struct world *w, const struct json *old, struct str text,
		  struct json **ret_object)
{
	struct json *tree;
	struct error err;
	int r;

	begin(w, STR("cases.example.com"));
	r = write_decode(&w->write, text, DECODE_JSON, &tree, &err);
	if (r == 0)
		r = write_update(&w->write, old, tree, ret_object, &err);
	if (r < 0 && r != -ERR_INVALID)
		fail_msg("%s", err.msg);
	return r;
}

static void assert_fault(struct world *w, const char *want)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	(void)field_errors_aggregate(&w->write.errs, &text);
	assert_string_equal(text.p, want);
}

static void scope_and_kind_are_fixed_once_it_is_established(void **state)
{
	struct json *object;
	struct world w;

	world_init(&w);
	assert_int_equal(
		update(&w, stored(&w, true), body(&w, "7", "Cluster", "Case", V1), &object),
		-ERR_INVALID);
	assert_fault(&w, "spec.scope: Invalid value: \"Cluster\": field is immutable");
	assert_int_equal(
		update(&w, stored(&w, true), body(&w, "7", "Namespaced", "Other", V1), &object),
		-ERR_INVALID);
	assert_fault(&w, "spec.names.kind: Invalid value: \"Other\": field is immutable");
	assert_int_equal(
		update(&w, stored(&w, false), body(&w, "7", "Cluster", "Other", V1), &object), 0);
	arena_release(&w.arena);
}

static void versions_that_were_stored_stay(void **state)
{
	struct json *object, *later, *status;
	struct world w;

	world_init(&w);
	assert_int_equal(update(&w, stored(&w, true),
				body(&w, "7", "Namespaced", "Case", V1_OLD "," V2), &object),
			 0);
	status = json_getz(object, "status");
	assert_int_equal(json_count(json_getz(status, "storedVersions")), 2);
	assert_int_equal(update(&w, object, body(&w, "7", "Namespaced", "Case", V2), &later),
			 -ERR_INVALID);
	assert_fault(&w, "status.storedVersions[0]: Invalid value: \"v1\": missing from "
			 "spec.versions; v1 was previously a storage version, and must remain in "
			 "spec.versions until a storage migration ensures no data remains "
			 "persisted in v1 and removes v1 from status.storedVersions");
	arena_release(&w.arena);
}

static void a_new_one_has_its_storage_version_and_no_status(void **state)
{
	struct json *object, *status, *names;
	struct world w;

	world_init(&w);
	object = stored(&w, false);
	status = json_getz(object, "status");
	names = json_getz(json_getz(object, "spec"), "names");
	assert_true(str_eqz(json_str(json_at(json_getz(status, "storedVersions"), 0)), "v1"));
	assert_null(json_getz(status, "conditions"));
	assert_true(str_eqz(json_text_at(names, "singular"), "case"));
	assert_true(str_eqz(json_text_at(names, "listKind"), "CaseList"));
	assert_true(
		str_eqz(json_str(json_pointer(object, STR("/spec/conversion/strategy"))), "None"));
	arena_release(&w.arena);
}

static void deletion_waits_for_its_objects(void **state)
{
	struct delete_options options = { .grace_s = -1 };
	struct json *object = NULL, *old;
	struct world w;

	world_init(&w);
	old = stored(&w, true);
	begin(&w, STR("cases.example.com"));
	assert_int_equal(write_delete(&w.write, old, &options, &object, NULL), 0);
	assert_non_null(object);
	assert_true(tree_condition_is_true(object, STR("Terminating")));
	assert_non_null(json_pointer(object, STR("/metadata/deletionTimestamp")));
	assert_true(str_eqz(json_str(json_pointer(object, STR("/metadata/finalizers/0"))),
			    CRD_FINALIZER));
	assert_true(crd_remove_finalizer(object));
	assert_false(crd_remove_finalizer(object));
	assert_null(json_pointer(object, STR("/metadata/finalizers")));
	arena_release(&w.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kube_apiserver_s_answers_are_ours),
		cmocka_unit_test(scope_and_kind_are_fixed_once_it_is_established),
		cmocka_unit_test(versions_that_were_stored_stay),
		cmocka_unit_test(a_new_one_has_its_storage_version_and_no_status),
		cmocka_unit_test(deletion_waits_for_its_objects),
	};

	return cmocka_run_group_tests_name("api/check_crd", tests, NULL, NULL);
}

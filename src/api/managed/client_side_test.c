/*
 * Handing over, on hand-written lists of entries, in the order in which servers have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/managed/client_side.h"
#include "base/core/limits.h"
#include "base/json/json.h"

#define ANNOTATED                                \
	"'f:metadata':{'f:annotations':{'.':{}," \
	"'f:kubectl.kubernetes.io/last-applied-configuration':{}}}"
#define UPDATE(manager, fields) \
	"{'manager':'" manager "','operation':'Update','apiVersion':'v1','fieldsV1':{" fields "}}"
#define APPLY(manager, fields) \
	"{'manager':'" manager "','operation':'Apply','apiVersion':'v1','fieldsV1':{" fields "}}"

/* Single quotes stand for double ones. */
static struct json *object_of(struct arena *a, const char *entries)
{
	char *text = arena_printf(a, "{'apiVersion':'v1','metadata':{'managedFields':[%s]}}",
				  entries);
	struct json *object = NULL;
	struct error err;

	for (char *p = text; *p; p++) {
		if (*p == '\'')
			*p = '"';
	}
	if (json_parse(a, str_from(text), NULL, &object, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return object;
}

static void assert_handed_over(const char *before, const char *after)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json *object;

	arena_init(&a, MIB);
	object = object_of(&a, before);
	assert_int_equal(client_side_hand_over(&a, object, STR("me")), strcmp(before, after) != 0);
	if (!json_equal(object, object_of(&a, after))) {
		(void)json_print(&got, object, NULL);
		fail_msg("want %s\ngot %.*s", after, (int)got.n, got.p);
	}
	assert_false(client_side_hand_over(&a, object, STR("me")));
}

static void an_update_entry_becomes_the_managers_apply_entry(void **state UNUSED)
{
	assert_handed_over(UPDATE("csa", ANNOTATED ",'f:data':{}") "," UPDATE("x", "'f:a':{}"),
			   APPLY("me", ANNOTATED ",'f:data':{}") "," UPDATE("x", "'f:a':{}"));
}

static void an_apply_entry_gets_what_updates_had(void **state UNUSED)
{
	assert_handed_over(APPLY("me", "'f:data':{'f:a':{}}") "," UPDATE(
				   "csa", ANNOTATED ",'f:data':{'.':{},'f:b':{}}"),
			   APPLY("me", ANNOTATED ",'f:data':{'.':{},'f:a':{},'f:b':{}}"));
}

static void a_field_that_one_has_whole_stays_in_the_set(void **state UNUSED)
{
	assert_handed_over(
		APPLY("me", "'f:data':{}") "," UPDATE("csa", ANNOTATED ",'f:data':{'f:b':{}}"),
		APPLY("me", ANNOTATED ",'f:data':{'.':{},'f:b':{}}"));
	assert_handed_over(
		APPLY("me", "'f:data':{'f:b':{}}") "," UPDATE("csa", ANNOTATED ",'f:data':{}"),
		APPLY("me", ANNOTATED ",'f:data':{'.':{},'f:b':{}}"));
}

static void several_who_applied_become_one(void **state UNUSED)
{
	assert_handed_over(UPDATE("kubectl-client-side-apply", ANNOTATED ",'f:a':{}") "," UPDATE(
				   "devplane-client-side-apply", ANNOTATED ",'f:b':{}"),
			   APPLY("me", ANNOTATED ",'f:a':{},'f:b':{}"));
}

static void entries_of_other_versions_are_dropped(void **state UNUSED)
{
	assert_handed_over(
		"{'manager':'csa','operation':'Update','apiVersion':'v1beta1',"
		"'fieldsV1':{'f:old':{}}}," APPLY("me", "'f:a':{}") "," UPDATE("csa", ANNOTATED),
		APPLY("me", "'f:a':{}," ANNOTATED));
}

static void entries_of_status_stay(void **state UNUSED)
{
	const char status[] = ",{'manager':'csa','operation':'Update','apiVersion':'v1',"
			      "'subresource':'status','fieldsV1':{'f:status':{}}}";
	char before[1024], after[1024];

	(void)snprintf(before, sizeof(before), "%s%s", UPDATE("csa", ANNOTATED), status);
	(void)snprintf(after, sizeof(after), "%s%s", APPLY("me", ANNOTATED), status);
	assert_handed_over(before, after);
}

static void a_manager_that_never_applied_keeps_its_fields(void **state UNUSED)
{
	assert_handed_over("", "");
	assert_handed_over(UPDATE("csa", "'f:metadata':{'f:annotations':{'f:x':{}}}"),
			   UPDATE("csa", "'f:metadata':{'f:annotations':{'f:x':{}}}"));
	assert_handed_over(APPLY("kubectl-last-applied", ANNOTATED),
			   APPLY("kubectl-last-applied", ANNOTATED));
}

static void owners_are_known_by_name(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct json *object;

	arena_init(&a, MIB);
	object = object_of(&a, UPDATE("csa", ANNOTATED) "," UPDATE("x", "'f:a':{}"));
	assert_true(client_side_owns(object, STR_NULL));
	assert_true(client_side_owns(object, STR("csa")));
	assert_false(client_side_owns(object, STR("x")));
	assert_false(client_side_owns(object_of(&a, ""), STR_NULL));
}

static bool add_path(void *arg, struct str path)
{
	return buf_printf(arg, "%.*s ", STR_ARG(path)) == 0;
}

static void assert_lost(const char *entries, const char *want)
{
	CLEANUP(buf_release) struct buf got = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct json *object, *fields;

	arena_init(&a, MIB);
	object = object_of(&a, entries);
	fields = client_side_fields(&a, object);
	assert_non_null(fields);
	client_side_lost(&a, object, fields, add_path, &got);
	assert_string_equal(got.p ? got.p : "", want);
}

static void fields_without_another_manager_are_lost(void **state UNUSED)
{
	assert_lost(UPDATE("csa", ANNOTATED ",'f:data':{'.':{},'f:a':{},'f:b':{}}") "," APPLY(
			    "me", "'f:data':{'f:a':{}}"),
		    ".data.b ");
	assert_lost(UPDATE("csa", ANNOTATED ",'f:data':{'.':{},'f:a':{},'f:b':{}}") "," APPLY(
			    "me", "'f:data':{'f:a':{}}") "," UPDATE("x", "'f:data':{'f:b':{}}"),
		    "");
	assert_lost(APPLY("me", "'f:data':{'f:a':{}}") "," UPDATE("csa", ANNOTATED), "");
	assert_lost(UPDATE("csa", ANNOTATED), "");
}

static void a_subtree_that_is_lost_as_a_whole_is_named_once(void **state UNUSED)
{
	assert_lost(APPLY("me", "'f:metadata':{'f:labels':{'f:a':{}}}") "," UPDATE(
			    "csa",
			    ANNOTATED ",'f:data':{'.':{},'f:a':{},'f:b':{}},'f:spec':{'f:x':{},"
				      "'f:list':{'k:{\\'name\\':1}':{'.':{},'f:name':{}}}}"),
		    ".data .spec.x .spec.list[name=1] ");
}

static void nobody_applied_on_the_clients_side(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, MIB);
	assert_null(client_side_fields(&a, object_of(&a, APPLY("me", ANNOTATED))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_update_entry_becomes_the_managers_apply_entry),
		cmocka_unit_test(an_apply_entry_gets_what_updates_had),
		cmocka_unit_test(a_field_that_one_has_whole_stays_in_the_set),
		cmocka_unit_test(several_who_applied_become_one),
		cmocka_unit_test(entries_of_other_versions_are_dropped),
		cmocka_unit_test(entries_of_status_stay),
		cmocka_unit_test(a_manager_that_never_applied_keeps_its_fields),
		cmocka_unit_test(owners_are_known_by_name),
		cmocka_unit_test(fields_without_another_manager_are_lost),
		cmocka_unit_test(a_subtree_that_is_lost_as_a_whole_is_named_once),
		cmocka_unit_test(nobody_applied_on_the_clients_side),
	};

	return cmocka_run_group_tests_name("cli/client_side", tests, NULL, NULL);
}

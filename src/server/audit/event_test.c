/*
 * Events as text: their members, bytes that are not UTF-8, and objects.
 */
#include "server/audit/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "server/core/user.h"
#include "server/server_limits.h"

static const struct str groups[] = { STR("g\xff"), STR("h") };
static const struct str values[] = { STR("1"), STR("2") };
static const struct user_extra extras[] = { { STR("k"), values, 2 } };
static const struct user someone = {
	.name = STR("u"), .groups = groups, .ngroups = 2, .extras = extras, .nextras = 1
};

static struct audit_event event(void)
{
	return (struct audit_event){ .level = AUDIT_REQUEST,
				     .stage = AUDIT_COMPLETE,
				     .id = STR("id"),
				     .uri = STR("/api"),
				     .verb = STR("create"),
				     .user = &someone,
				     .resource = STR("pods"),
				     .code = 201 };
}

static struct str print(const struct audit_event *e, struct buf *out)
{
	buf_clear(out);
	assert_int_equal(audit_event_print(e, out), 0);
	assert_int_equal(out->p[out->n - 1], '\n');
	assert_ptr_equal(memchr(out->p, '\n', out->n), out->p + out->n - 1);
	assert_true(str_starts(buf_str(out), STR(AUDIT_EVENT_HEAD)));
	return buf_str(out);
}

static void check_text(const struct json *tree, const char *pointer, const char *text)
{
	struct str got = json_str(json_pointer(tree, str_from(pointer)));

	if (!str_eqz(got, text))
		fail_msg("%s: %.*s instead of %s", pointer, STR_ARG(got), text);
}

static void an_event_is_one_line_with_upstreams_members(void **state UNUSED)
{
	struct buf out = BUF_INIT(AUDIT_LINE_MAX);
	struct audit_annotation *list = NULL;
	struct audit_event e = event();
	struct json *tree;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	audit_annotate(&list, &a, STR("a"), STR("first"));
	audit_annotate(&list, &a, STR("a"), STR("second"));
	e.annotations = list;
	e.decision = STR("allow");
	e.cut = true;
	e.request = STR("{\"kind\":\"Pod\"}");
	assert_int_equal(json_parse(&a, print(&e, &out), NULL, &tree, NULL), 0);
	check_text(tree, "/level", "Request");
	check_text(tree, "/stage", "ResponseComplete");
	check_text(tree, "/user/groups/0", "(not UTF-8)");
	check_text(tree, "/user/extra/k/1", "2");
	check_text(tree, "/objectRef/resource", "pods");
	check_text(tree, "/requestObject/kind", "Pod");
	check_text(tree, "/annotations/a", "first");
	check_text(tree, "/annotations/audit.k8s.io~1truncated", "true");
	check_text(tree, "/annotations/authorization.k8s.io~1decision", "allow");
	check_text(tree, "/annotations/authorization.k8s.io~1reason", "");
	assert_null(json_getz(tree, "responseObject"));
	assert_null(json_getz(tree, "impersonatedUser"));
	assert_int_equal(json_pointer(tree, STR("/responseStatus/code"))->i64, 201);
	arena_release(&a);
	buf_release(&out);
}

static void a_failure_has_its_status_without_a_kind(void **state UNUSED)
{
	struct buf out = BUF_INIT(AUDIT_LINE_MAX);
	struct audit_event e = event();
	struct json *tree;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	e.code = 404;
	e.status = STR("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"reason\":"
		       "\"NotFound\",\"code\":404}");
	assert_int_equal(json_parse(&a, print(&e, &out), NULL, &tree, NULL), 0);
	check_text(tree, "/responseStatus/reason", "NotFound");
	assert_null(json_pointer(tree, STR("/responseStatus/kind")));
	arena_release(&a);
	buf_release(&out);
}

static void check_object(const char *text, bool omit, const char *want)
{
	struct bytes *got = audit_object_of_text(str_from(text), omit);

	assert_non_null(got);
	assert_string_equal(got->data, want);
	bytes_unref(got);
}

static void managed_fields_are_left_out_of_objects_and_lists(void **state UNUSED)
{
	check_object("{ \"metadata\": {\"managedFields\": [], \"name\": \"x\"},\n\"a\": 1 }", true,
		     "{\"metadata\":{\"name\":\"x\"},\"a\":1}");
	check_object("{\"metadata\":{\"managedFields\":[]}}", false,
		     "{\"metadata\":{\"managedFields\":[]}}");
	check_object("{\"items\":[{\"metadata\":{\"managedFields\":[]}},1]}", true,
		     "{\"items\":[{\"metadata\":{}},1]}");
	check_object("{\"rows\":[{\"object\":{\"metadata\":{\"managedFields\":1}}}]}", true,
		     "{\"rows\":[{\"object\":{\"metadata\":{}}}]}");
	check_object("[{\"op\":\"add\"}]", true, "[{\"op\":\"add\"}]");
	assert_null(audit_object_of_text(STR("{"), false));
}

static void an_object_that_is_too_large_is_none(void **state UNUSED)
{
	struct buf text = BUF_INIT(AUDIT_OBJECT_MAX + 100);

	(void)buf_addc(&text, '"');
	while (text.n < AUDIT_OBJECT_MAX)
		(void)buf_addc(&text, 'x');
	(void)buf_addc(&text, '"');
	assert_null(audit_object_of_text(buf_str(&text), false));
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_one_line_with_upstreams_members),
		cmocka_unit_test(a_failure_has_its_status_without_a_kind),
		cmocka_unit_test(managed_fields_are_left_out_of_objects_and_lists),
		cmocka_unit_test(an_object_that_is_too_large_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

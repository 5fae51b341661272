/*
 * Options of connections: made from queries, and fitted after changes.
 */
#include "server/request/connect_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/json.h"

/* The tree's text, in the arena; fails the test if it cannot be printed. */
static const char *printed(struct arena *a, const struct json *tree)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(OBJECT_MAX);

	assert_int_equal(json_print(&out, tree, NULL), 0);
	return arena_strdup(a, buf_str(&out));
}

static void queries_become_objects(void **state UNUSED)
{
	static const struct {
		const char *kind, *query, *tail;
		const char *members; /* after kind and apiVersion; or the error's message */
	} v[] = {
		{ "PodExecOptions", "container=c&command=a&command=b+c%26&stdin=true&tty=0&stderr",
		  "",
		  ",\"container\":\"c\",\"command\":[\"a\",\"b c&\"],\"stdin\":true,"
		  "\"stderr\":true}" },
		{ "PodExecOptions", "stdout=false&stdout=true&other=1", "", ",\"command\":null}" },
		{ "PodAttachOptions", "command=no&stdout=1&container=", "", ",\"stdout\":true}" },
		{ "PodPortForwardOptions", "ports=80&ports=443", "", ",\"ports\":[80,443]}" },
		{ "PodPortForwardOptions", "ports=http", "",
		  "strconv.ParseInt: parsing \"http\": invalid syntax" },
		{ "PodPortForwardOptions", "", "", "}" },
		{ "PodProxyOptions", "path=no", "/a%20b//", ",\"path\":\"/a b//\"}" },
		{ "NodeProxyOptions", "", "", "}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct json *options = NULL;
		const char *want;
		struct error err;
		struct arena a;
		int r;

		arena_init(&a, SIZE_MAX);
		want = arena_printf(&a, "{\"kind\":\"%s\",\"apiVersion\":\"v1\"%s", v[i].kind,
				    v[i].members);
		r = connect_options_read(&a, str_from(v[i].kind), str_from(v[i].query),
					 str_from(v[i].tail), &options, &err);
		if (r < 0)
			assert_string_equal(err.msg, v[i].members);
		else
			assert_string_equal(printed(&a, options), want);
		arena_release(&a);
	}
}

static void changed_options_are_in_the_query(void **state UNUSED)
{
	static const struct {
		const char *options;
		const char *query; /* or the error's message */
	} v[] = {
		{ "{\"kind\":\"PodExecOptions\",\"apiVersion\":\"v1\",\"tty\":false,\"stdin\":true,"
		  "\"command\":[\"a b\",\"&\"],\"container\":null,\"metadata\":{\"name\":\"x\"}}",
		  "stdin=true&container=&command=a+b&command=%26" },
		{ "{\"kind\":\"PodPortForwardOptions\",\"ports\":[1,2]}", "ports=1&ports=2" },
		{ "{\"kind\":\"PodPortForwardOptions\",\"ports\":[\"1\"]}",
		  "PodPortForwardOptions.ports is of another type" },
		{ "{\"kind\":\"PodPortForwardOptions\",\"ports\":[4294967296]}",
		  "PodPortForwardOptions.ports is of another type" },
		{ "{\"kind\":\"PodExecOptions\",\"command\":\"a\"}",
		  "PodExecOptions.command is of another type" },
		{ "{\"kind\":\"PodExecOptions\",\"command\":[1]}",
		  "PodExecOptions.command is of another type" },
		{ "{\"kind\":\"PodAttachOptions\",\"tty\":\"true\"}",
		  "PodAttachOptions.tty is of another type" },
		{ "{\"kind\":\"Pod\"}", "the object is of no kind any more" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct json *options;
		struct error err;
		struct str query;
		struct arena a;
		int r;

		arena_init(&a, SIZE_MAX);
		assert_int_equal(json_parse(&a, str_from(v[i].options), NULL, &options, &err), 0);
		r = connect_options_fit(options, &err);
		if (r == 0)
			r = connect_options_query(&a, options, &query, &err);
		assert_string_equal(r < 0 ? err.msg : arena_strdup(&a, query), v[i].query);
		assert_null(json_getz(options, "metadata"));
		arena_release(&a);
	}
}

static void paths_are_escaped_and_begin_with_a_slash(void **state UNUSED)
{
	static const struct {
		const char *path, *sent;
	} v[] = { { "", "/" }, { "/", "/" }, { "a/b c/", "/a/b%20c/" }, { "//?x", "//%3Fx" } };

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct json *options;
		struct error err;
		struct str path;
		struct arena a;

		arena_init(&a, SIZE_MAX);
		options = json_make_object(&a);
		json_put_str(&a, options, "path", str_from(v[i].path));
		assert_int_equal(connect_options_path(&a, options, &path, &err), 0);
		assert_string_equal(arena_strdup(&a, path), v[i].sent);
		arena_release(&a);
	}
}

static void options_that_are_too_long_for_a_target_are_rejected(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(OBJECT_MAX);
	struct json *options, *command;
	struct str query;
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < OBJECT_MAX / 2; i++)
		(void)buf_addc(&text, 'x');
	options = json_make_object(&a);
	json_put_str(&a, options, "kind", STR("PodExecOptions"));
	command = json_need_array(&a, options, "command");
	json_append(command, json_make_str(&a, buf_str(&text)));
	assert_int_equal(connect_options_query(&a, options, &query, NULL), -ERR_TOO_LARGE);
	arena_release(&a);
}

static void a_parameter_is_found_by_its_name(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, SIZE_MAX);
	assert_true(connect_options_given(&a, STR("a=1&dry%52un"), "dryRun"));
	assert_false(connect_options_given(&a, STR("a=dryRun&dryrun=1"), "dryRun"));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_become_objects),
		cmocka_unit_test(changed_options_are_in_the_query),
		cmocka_unit_test(paths_are_escaped_and_begin_with_a_slash),
		cmocka_unit_test(options_that_are_too_long_for_a_target_are_rejected),
		cmocka_unit_test(a_parameter_is_found_by_its_name),
	};

	return cmocka_run_group_tests_name("server/connect_options", tests, NULL, NULL);
}

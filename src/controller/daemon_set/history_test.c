/*
 * Revisions: which is current, its number, the one to create, those to delete.
 */
#include "controller/daemon_set/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/yaml/yaml.h"
#include "controller/daemon_set/rules.h"
#include "controller/pods/owned.h"

static struct json *history_parse(struct arena *a, const char *yaml)
{
	struct json *v = NULL;
	struct error err;

	if (yaml_parse(a, str_from(arena_strdup(a, str_from(yaml))), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, yaml);
	return v;
}

static struct json *set_of(struct arena *a, const char *image)
{
	return history_parse(a,
			     arena_printf(a,
					  "metadata: {name: d, annotations: {why: because}}\nspec: "
					  "{template: {metadata: {labels: {app: d}}, spec: "
					  "{containers: [{image: %s}]}}}",
					  image));
}

static struct json *revision_of(struct arena *a, const char *name, int number, const char *image)
{
	return history_parse(a, arena_printf(a,
					     "metadata: {name: %s, uid: u-%s, labels: "
					     "{controller-revision-hash: h-%s}}\nrevision: %d\n"
					     "data: {spec: {template: {$patch: replace, metadata: "
					     "{labels: {app: d}}, spec: {containers: [{image: "
					     "%s}]}}}}",
					     name, name, name, number, image));
}

static void the_current_one_has_the_template(void **state UNUSED)
{
	struct daemon_history h;
	struct json *trees[4];
	struct arena a;

	arena_init(&a, MIB);
	trees[0] = revision_of(&a, "c", 3, "v3");
	trees[1] = revision_of(&a, "a", 1, "v1");
	trees[2] = revision_of(&a, "b", 2, "v2");
	daemon_history_read(&a, set_of(&a, "v2"), trees, 3, &h);
	assert_true(str_eqz(h.current->name, "b"));
	assert_int_equal(h.number, 4);
	assert_true(str_eqz(h.current->hash, "h-b"));
	daemon_history_read(&a, set_of(&a, "v9"), trees, 3, &h);
	assert_null(h.current);
	assert_int_equal(h.number, 4);
	/* If two have the template, the one with the higher number is kept. */
	trees[3] = revision_of(&a, "twin", 7, "v2");
	daemon_history_read(&a, set_of(&a, "v2"), trees, 4, &h);
	assert_true(str_eqz(h.current->name, "twin"));
	assert_int_equal(h.number, 4);
	daemon_history_read(&a, set_of(&a, "v1"), trees, 0, &h);
	assert_int_equal(h.number, 1);
	arena_release(&a);
}

static void nonsense_is_not_current(void **state UNUSED)
{
	static const char *const revisions[] = { "{}", "data: 7", "data: {spec: {template: []}}",
						 "{revision: x, data: {spec: 5}, metadata: 7}" };
	struct daemon_history h;
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(revisions); i++) {
		struct json *tree = history_parse(&a, revisions[i]);

		daemon_history_read(&a, set_of(&a, "v1"), &tree, 1, &h);
		assert_null(h.current);
		daemon_history_read(&a, history_parse(&a, "{}"), &tree, 1, &h);
		assert_null(h.current);
	}
	arena_release(&a);
}

static void a_snapshot_has_its_own_template(void **state UNUSED)
{
	struct owner owner = { .api_version = STR("apps/v1"),
			       .kind = STR("DaemonSet"),
			       .ns = STR("n"),
			       .name = STR("d"),
			       .uid = STR("u1") };
	struct json *set, *made, *again;
	const struct json *meta;
	struct daemon_history h;
	struct arena a;

	arena_init(&a, MIB);
	set = set_of(&a, "v1");
	made = daemon_history_snapshot(&a, set, &owner, 5);
	meta = json_getz(made, "metadata");
	assert_true(daemon_history_matches(&a, set, made));
	assert_false(daemon_history_matches(&a, set_of(&a, "v2"), made));
	assert_int_equal(json_i64_at(made, "revision", 0), 5);
	assert_true(str_eqz(json_text_at(json_getz(meta, "annotations"), "why"), "because"));
	assert_true(str_eqz(json_text_at(json_getz(meta, "labels"), "app"), "d"));
	daemon_history_read(&a, set, &made, 1, &h);
	assert_true(str_eq(h.current->name,
			   str_from(arena_printf(&a, "d-%.*s", STR_ARG(h.current->hash)))));
	/* After a collision it has another name. */
	(void)json_need_object(&a, set, "status");
	json_put_i64(&a, json_getz(set, "status"), "collisionCount", 1);
	again = daemon_history_snapshot(&a, set, &owner, 5);
	assert_false(str_eq(json_text_at(json_getz(again, "metadata"), "name"), h.current->name));
	arena_release(&a);
}

static void a_snapshot_is_sorted(void **state UNUSED)
{
	struct owner owner = { .name = STR("d"), .uid = STR("u1") };
	struct buf text = BUF_INIT(MIB);
	struct json *made, *set;
	struct arena a;

	arena_init(&a, MIB);
	set = history_parse(&a, "{spec: {template: {spec: {tolerations: [{operator: Exists, "
				"key: k}], containers: []}, metadata: {}}}}");
	made = daemon_history_snapshot(&a, set, &owner, 1);
	(void)json_print(&text, json_getz(made, "data"), NULL);
	assert_string_equal(text.p,
			    "{\"spec\":{\"template\":{\"$patch\":\"replace\",\"metadata\":{},"
			    "\"spec\":{\"containers\":[],\"tolerations\":[{\"key\":\"k\","
			    "\"operator\":\"Exists\"}]}}}}");
	buf_release(&text);
	arena_release(&a);
}

static bool is_second(void *arg UNUSED, struct str hash)
{
	return str_eqz(hash, "h-b");
}

static void old_ones_beyond_the_limit_go(void **state UNUSED)
{
	static const struct {
		int64_t limit;
		const char *expected;
	} cases[] = {
		{ 10, "" },   { 4, "" },    { 3, "a" },    { 2, "ac" },
		{ 1, "acd" }, { 0, "acd" }, { -5, "acd" },
	};
	static const char *const names[] = { "e", "d", "c", "b", "a" };
	const struct daemon_revision **list;
	struct daemon_history h;
	struct json *trees[5];
	struct arena a;

	arena_init(&a, MIB);
	for (int i = 0; i < 5; i++)
		trees[i] = revision_of(&a, names[i], 5 - i,
				       arena_printf(&a, "v%d", 5 - i)); /* e is current */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n;
		char text[8] = "";

		daemon_history_read(&a, set_of(&a, "v5"), trees, 5, &h);
		n = daemon_history_excess(&a, &h, cases[i].limit, is_second, NULL, &list);
		for (size_t k = 0; k < n; k++)
			text[k] = list[k]->name.p[0];
		if (strcmp(text, cases[i].expected) != 0)
			fail_msg("limit %d: \"%s\"", (int)cases[i].limit, text);
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_current_one_has_the_template),
		cmocka_unit_test(nonsense_is_not_current),
		cmocka_unit_test(a_snapshot_has_its_own_template),
		cmocka_unit_test(a_snapshot_is_sorted),
		cmocka_unit_test(old_ones_beyond_the_limit_go),
	};

	return cmocka_run_group_tests_name("controller/daemon_history", tests, NULL, NULL);
}

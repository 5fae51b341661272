#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "cli/ui/site_user.h"

static int read_review(struct arena *a, const char *text, struct site_user *u, struct error *err)
{
	struct json *tree;

	assert_int_equal(json_parse(a, str_from(text), NULL, &tree, NULL), 0);
	return site_user_read(a, tree, u, err);
}

static void a_review_names_the_user_and_the_groups(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct site_user u = { .cluster = 1 };

	arena_init(&a, MIB);
	assert_int_equal(read_review(&a,
				     "{\"status\":{\"userInfo\":{\"username\":\"alice\","
				     "\"groups\":[\"team\",\"system:authenticated\"]}}}",
				     &u, NULL),
			 0);
	assert_true(str_eqz(u.name, "alice"));
	assert_int_equal(u.ngroups, 2);
	assert_true(str_eqz(u.groups[0], "team"));
}

static void nobody_is_not_a_user(void **state UNUSED)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"status\":{\"userInfo\":{\"username\":\"\"}}}",
		"{\"status\":{\"userInfo\":{\"username\":\"system:anonymous\"}}}",
	};
	CLEANUP(arena_release) struct arena a;
	struct site_user u = { .cluster = 0 };
	struct error err;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(read_review(&a, texts[i], &u, &err), -ERR_UNAUTHORIZED);
}

/* The payloads are {"exp":1700000000}, {"exp":"x"} and {}. */
static void a_token_may_say_when_it_ends(void **state UNUSED)
{
	static const struct {
		const char *token;
		int64_t ends_s;
	} cases[] = {
		{ "e30.eyJleHAiOjE3MDAwMDAwMDB9.sig", 1700000000 },
		{ "e30.eyJleHAiOiJ4In0.sig", 0 },
		{ "e30.e30.sig", 0 },
		{ "opaque", 0 },
		{ "a.b.c", 0 },
		{ "a.b", 0 },
	};
	CLEANUP(arena_release) struct arena a;
	int64_t ends_s;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ends_s = -1;
		assert_true(site_user_is_token(&a, str_from(cases[i].token), &ends_s));
		assert_int_equal(ends_s, cases[i].ends_s);
	}
}

static void a_token_cannot_add_a_header(void **state UNUSED)
{
	static const char *const tokens[] = { "",     "a b",  "a\r\nX-Remote-User: root",
					      "a\tb", "\x7f", "\xc3\xa4" };
	CLEANUP(arena_release) struct arena a;
	int64_t ends_s;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		assert_false(site_user_is_token(&a, str_from(tokens[i]), &ends_s));
	assert_false(site_user_is_token(&a, str_of("a\0b", 3), &ends_s));
}

static void a_session_owns_its_user_and_erases_the_token(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct str groups[] = { STR("team") };
	char token[] = "secret";
	struct site_user u = { .name = STR("alice"),
			       .groups = groups,
			       .ngroups = 1,
			       .token = str_from(token),
			       .cluster = 2 };
	struct site_user *copy;

	arena_init(&a, MIB);
	copy = site_user_ops.copy(&a, &u);
	token[0] = 'x';
	groups[0] = STR_NULL;
	assert_true(str_eqz(copy->token, "secret"));
	assert_true(str_eqz(copy->groups[0], "team"));
	assert_int_equal(copy->cluster, 2);
	site_user_ops.wipe(copy);
	assert_memory_equal(copy->token.p, "\0\0\0\0\0\0", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_review_names_the_user_and_the_groups),
		cmocka_unit_test(nobody_is_not_a_user),
		cmocka_unit_test(a_token_may_say_when_it_ends),
		cmocka_unit_test(a_token_cannot_add_a_header),
		cmocka_unit_test(a_session_owns_its_user_and_erases_the_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Limits on what a client can make apply do: reported errors and conflicts, memory, managers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/api_limits.h"
#include "api/codec/decode.h"
#include "api/managed/managed.h"
#include "base/core/limits.h"

struct fixture {
	struct arena arena;
	const struct schema_kind *kind;
	struct managed_applied applied;
	struct error err;
};

static void begin(struct fixture *f, const char *kind, size_t max)
{
	*f = (struct fixture){ 0 };
	arena_init(&f->arena, max);
	f->kind = schema_find_kind(STR("v1"), str_from(kind));
	assert_non_null(f->kind);
}

static void end(struct fixture *f)
{
	arena_release(&f->arena);
}

static struct json *parse(struct fixture *f, struct str text)
{
	struct json *v;

	assert_int_equal(json_parse(&f->arena, text, NULL, &v, NULL), 0);
	return v;
}

static int apply(struct fixture *f, const struct json *live, const char *manager,
		 const struct json *config)
{
	const struct managed_writer writer = {
		.manager = str_from(manager),
		.api_version = STR("v1"),
		.subresource = STR(""),
		.now_ns = 1,
	};

	return managed_apply(&f->arena, f->kind, live, config, &writer, false, &f->applied,
			     &f->err);
}

/* A ConfigMap of n members, each with the value. */
static struct json *map_of(struct fixture *f, size_t n, const char *value)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);

	(void)buf_addz(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
			   "\"c\"},\"data\":{");
	for (size_t i = 0; i < n; i++)
		(void)buf_printf(&b, "%s\"%0100zu\":\"%s\"", i ? "," : "", i, value);
	(void)buf_addz(&b, "}}");
	return parse(f, arena_str(&f->arena, buf_str(&b)));
}

static void faults_are_told_up_to_a_number(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct fixture f;
	size_t used;

	begin(&f, "Pod", 256 * MIB);
	(void)buf_printf(&b,
			 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":[{"
			 "\"name\":\"%01000d\",\"args\":[0",
			 0);
	for (int i = 0; i < 100000; i++)
		(void)buf_addz(&b, ",1");
	(void)buf_addz(&b, "]}]}}");
	struct json *config = parse(&f, buf_str(&b));

	used = f.arena.used;
	assert_int_equal(apply(&f, NULL, "m", config), -ERR_UNTYPED);
	assert_true(f.arena.used - used < MIB);
	end(&f);
}

static void conflicts_are_listed_up_to_a_size_and_all_are_counted(void **state)
{
	enum { MANY = 20000 };
	struct fixture f;
	struct json *live;

	begin(&f, "ConfigMap", 1024 * MIB);
	assert_int_equal(apply(&f, NULL, "a", map_of(&f, MANY, "1")), 0);
	live = f.applied.object;
	assert_int_equal(apply(&f, live, "b", map_of(&f, MANY, "2")), -ERR_APPLY_CONFLICT);
	assert_true(f.applied.nconflicts > 1000 && f.applied.untold > 0);
	assert_int_equal(f.applied.nconflicts + f.applied.untold, MANY);
	assert_string_equal(f.err.msg, "Apply failed with 20000 conflicts");
	assert_int_equal(apply(&f, live, "b", map_of(&f, 2, "2")), -ERR_APPLY_CONFLICT);
	assert_int_equal(f.applied.nconflicts, 2);
	assert_int_equal(f.applied.untold, 0);
	end(&f);
}

static void an_apply_that_exceeds_the_memory_limit_is_rejected(void **state)
{
	struct fixture f;
	struct json *live, *config;

	begin(&f, "ConfigMap", 1024 * MIB);
	assert_int_equal(apply(&f, NULL, "a", map_of(&f, 10000, "1")), 0);
	live = f.applied.object;
	config = map_of(&f, 1, "1");
	f.arena.max = f.arena.used + KIB;
	assert_int_equal(apply(&f, live, "b", config), -ERR_TOO_LARGE);
	assert_null(f.applied.object);
	end(&f);
}

static void managers_are_taken_up_to_a_number_and_those_that_are_there_stay(void **state)
{
	struct fixture f;
	struct json *live = NULL;
	char name[16];

	begin(&f, "ConfigMap", 1024 * MIB);
	for (int i = 0; i < MANAGED_ENTRIES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "m%d", i);
		assert_int_equal(
			apply(&f, live, arena_strdup(&f.arena, str_from(name)), map_of(&f, 1, "1")),
			0);
		live = f.applied.object;
	}
	assert_int_equal(apply(&f, live, "one-more", map_of(&f, 1, "1")), -ERR_TOO_LARGE);
	assert_int_equal(apply(&f, live, "m7", map_of(&f, 1, "1")), 0);
	assert_int_equal(json_count(json_pointer(f.applied.object, STR("/metadata/managedFields"))),
			 MANAGED_ENTRIES_MAX);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_told_up_to_a_number),
		cmocka_unit_test(conflicts_are_listed_up_to_a_size_and_all_are_counted),
		cmocka_unit_test(an_apply_that_exceeds_the_memory_limit_is_rejected),
		cmocka_unit_test(managers_are_taken_up_to_a_number_and_those_that_are_there_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

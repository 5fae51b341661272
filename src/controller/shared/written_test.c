/*
 * Versions of our own writes, until the copy has caught up.
 */
#include "controller/shared/written.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/json.h"

static void note_version(struct written *w, const char *key, const char *version)
{
	struct arena a;
	struct json *object;

	arena_init(&a, KIB);
	object = json_make_object(&a);
	json_put_str(&a, json_need_object(&a, object, "metadata"), "resourceVersion",
		     str_from(version));
	written_note(w, str_from(key), object);
	arena_release(&a);
}

static void a_key_waits_until_the_copy_has_its_newest_write(void **state UNUSED)
{
	struct written w;

	written_init(&w);
	note_version(&w, "a", "7");
	note_version(&w, "a", "5");
	note_version(&w, "b", "9");
	note_version(&w, "c", "opaque");
	written_note(&w, STR("c"), NULL);
	assert_true(written_is_ahead(&w, STR("a"), 6));
	assert_false(written_is_ahead(&w, STR("a"), 7));
	assert_true(written_is_ahead(&w, STR("b"), 8));
	assert_false(written_is_ahead(&w, STR("c"), 0));
	written_release(&w);
}

static void an_entry_is_forgotten_when_the_copy_has_caught_up(void **state UNUSED)
{
	struct written w;

	written_init(&w);
	note_version(&w, "a", "7");
	assert_false(written_is_ahead(&w, STR("a"), 8));
	assert_false(written_is_ahead(&w, STR("a"), 1));
	note_version(&w, "a", "7");
	written_forget(&w, STR("a"));
	assert_false(written_is_ahead(&w, STR("a"), 1));
	written_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_waits_until_the_copy_has_its_newest_write),
		cmocka_unit_test(an_entry_is_forgotten_when_the_copy_has_caught_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Names of images. */
#include "node/runtime/cri_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_are_completed_as_upstream_does(void **state)
{
#define SHA "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *image, *name, *full;
	} cases[] = {
		{ "busybox", "busybox:latest", "docker.io/library/busybox:latest" },
		{ "busybox:1.36", "busybox:1.36", "docker.io/library/busybox:1.36" },
		{ "team/app", "team/app:latest", "docker.io/team/app:latest" },
		{ "localhost/app", "localhost/app:latest", "localhost/app:latest" },
		{ "host:5000/app", "host:5000/app:latest", "host:5000/app:latest" },
		{ "r.example.com/a/b_c/d--e:V1", "r.example.com/a/b_c/d--e:V1",
		  "r.example.com/a/b_c/d--e:V1" },
		{ "index.docker.io/library/x", "index.docker.io/library/x:latest",
		  "docker.io/library/x:latest" },
		{ "busybox@" SHA, "busybox@" SHA, "docker.io/library/busybox@" SHA },
		{ "a.b/c:t@" SHA, "a.b/c:t@" SHA, "a.b/c:t@" SHA },
	};
	CLEANUP(arena_release) struct arena a;
	struct str got;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cri_image_name(str_from(cases[i].image), &a, &got, NULL), 0);
		assert_string_equal(got.p, cases[i].name);
		assert_int_equal(cri_image_full(str_from(cases[i].image), &a, &got, NULL), 0);
		assert_string_equal(got.p, cases[i].full);
	}
}

static void an_invalid_image_name_is_rejected(void **state)
{
	static const char *const bad[] = { "",          "Busybox", "a//b",   "a:",          "a:b:c",
					   "a b",       "/a",      "a/",     "a@sha256:12", "a._b",
					   "-a",        "a___b",   "a.b:/c", "a:-tag",      "x@y",
					   "http://a/b" };
	CLEANUP(arena_release) struct arena a;
	struct error err;
	struct str got;

	(void)state;
	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (cri_image_name(str_from(bad[i]), &a, &got, &err) != -ERR_INVALID)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_non_null(strstr(err.msg, "couldn't parse image name"));
	}
}

/* A path has at most 255 bytes, including the hub's prefix. */
static void a_path_is_bounded_as_a_whole(void **state)
{
	CLEANUP(arena_release) struct arena a;
	char name[249];
	struct str got;

	(void)state;
	arena_init(&a, SIZE_MAX);
	memset(name, 'a', sizeof(name));
	assert_int_equal(cri_image_name(str_of(name, 247), &a, &got, NULL), 0);
	assert_int_equal(cri_image_name(str_of(name, 248), &a, &got, NULL), -ERR_INVALID);
	name[0] = 'b';
	name[1] = '/';
	assert_int_equal(cri_image_name(str_of(name, 249), &a, &got, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_completed_as_upstream_does),
		cmocka_unit_test(an_invalid_image_name_is_rejected),
		cmocka_unit_test(a_path_is_bounded_as_a_whole),
	};

	return cmocka_run_group_tests_name("node/cri_image", tests, NULL, NULL);
}

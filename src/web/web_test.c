#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "net/loop/gzip.h"
#include "web/web.h"

static void every_file_is_found_by_its_name(void **state UNUSED)
{
	size_t n;
	const struct web_file *all = web_all(&n);

	assert_true(n >= 4);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(web_find(all[i].name), &all[i]);
		assert_true(all[i].bytes.n > 0);
		assert_int_equal(strlen(all[i].etag), 34);
		assert_non_null(strchr(all[i].content_type, '/'));
	}
	assert_non_null(web_find(STR("index.html")));
}

static void other_names_are_not_found(void **state UNUSED)
{
	static const char *const names[] = {
		"", "/", "index", "index.html/", "Index.html", "../index.html", "%69ndex.html", "."
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_null(web_find(str_from(names[i])));
	assert_null(web_find(str_of("index.html\0", 11)));
}

static void the_gzipped_form_is_the_same_file(void **state UNUSED)
{
	size_t n, zipped = 0;
	const struct web_file *all = web_all(&n);

	for (size_t i = 0; i < n; i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(all[i].bytes.n);

		if (!all[i].zipped.n)
			continue;
		zipped++;
		assert_int_equal(gzip_inflate(all[i].zipped, &out, all[i].bytes.n, NULL), 0);
		assert_true(str_eq(buf_str(&out), all[i].bytes));
	}
	assert_true(zipped > 0);
}

/* The policy that the page is sent with forbids both, so a file that has one would not work. */
static void no_page_has_script_or_style_in_line(void **state UNUSED)
{
	struct str page = web_find(STR("index.html"))->bytes;

	assert_true(str_find(page, STR("<style")) < 0);
	assert_true(str_find(page, STR(" style=")) < 0);
	assert_true(str_find(page, STR("<script>")) < 0);
	assert_true(str_find(page, STR("javascript:")) < 0);
	assert_true(str_find(page, STR("http://")) < 0);
	assert_true(str_find(page, STR("https://")) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_found_by_its_name),
		cmocka_unit_test(other_names_are_not_found),
		cmocka_unit_test(the_gzipped_form_is_the_same_file),
		cmocka_unit_test(no_page_has_script_or_style_in_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The expected texts are those of kubectl 1.32 for the same template and object. */
#include "api/table/jsonpath_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"p\",\"labels\":{\"b\":\"x<y\",\"a\":\"1\"}},"
	"\"spec\":{\"nodeName\":\"n\",\"hostNetwork\":true,\"containers\":["
	"{\"name\":\"c1\",\"image\":\"i1\",\"ports\":[{\"containerPort\":80},{\"containerPort\":81}"
	"]},"
	"{\"name\":\"c2\",\"image\":\"i2\"}]}}";

/* Prints the object, or the message of the error. */
static int print(const char *template, size_t max, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	const struct jsonpath_template *t;
	struct error err = { 0 };
	struct json *root;
	int r;

	arena_init(&a, 64 * MIB);
	assert_int_equal(json_parse(&a, str_from(object), NULL, &root, NULL), 0);
	r = jsonpath_template_compile(&a, str_of(template, max), &t, &err);
	if (r == 0)
		r = jsonpath_template_print(t, root, &a, out, &err);
	if (r < 0) {
		assert_true(err.msg[0]);
		buf_clear(out);
		(void)buf_addz(out, err.msg);
	}
	return r;
}

static void check(const char *template, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	if (print(template, strlen(template), &b) < 0 || !str_eqz(buf_str(&b), want))
		fail_msg("%s prints \"%.*s\", not \"%s\"", template, STR_ARG(buf_str(&b)), want);
}

static void check_error(const char *template, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	if (print(template, strlen(template), &b) != -ERR_BAD_REQUEST ||
	    !str_eqz(buf_str(&b), want))
		fail_msg("%s: \"%.*s\", not the error \"%s\"", template, STR_ARG(buf_str(&b)),
			 want);
}

static void text_outside_of_braces_is_literal(void **state)
{
	check(".spec.nodeName", ".spec.nodeName");
	check("x{.spec.nodeName}y", "xny");
	check("a}b", "a}b");
	check("a\\n{\"b\\n\"}", "a\\nb\n");
	check("{\"{}\"}{'a\\'b'}", "{}a'b");
	check("{1}{1.50}{true}{\"s\"}", "11.5trues");
}

static void several_values_are_separated_by_spaces(void **state)
{
	check("{.spec.containers[*].name}", "c1 c2");
	check("{.spec.containers[0,1].name}", "c1 c2");
	check("{.spec.containers[*]['name','image']}", "c1 c2 i1 i2");
	check("{..containerPort}", "80 81");
	check("{.spec..name}", "c1 c2");
	check("{.spec.containers[-1:].name}{.spec.containers[::2].name}", "c2c1");
	check("{.spec.containers[?(@.name==\"c1\")].ports[*].containerPort}", "80 81");
	check("{.spec.containers[?(@.image>\"i1\")].name}", "c2");
	check("{.spec.missing}{.x[0]}|", "|");
}

static void objects_are_json_with_sorted_names(void **state)
{
	check("{.metadata.labels}", "{\"a\":\"1\",\"b\":\"x\\u003cy\"}");
	check("{.spec.containers[*].ports[*]}", "{\"containerPort\":80} {\"containerPort\":81}");
	check("{.spec.hostNetwork}", "true");
}

static void ranges_repeat_what_is_in_them(void **state)
{
	check("{range .spec.containers[*]}{.name}{\"\\t\"}{.image}{\"\\n\"}{end}",
	      "c1\ti1\nc2\ti2\n");
	check("{range .none[*]}x{end}y", "y");
	check("{range .spec.containers[*]}{range .ports[*]}{.containerPort};{end}-{end}",
	      "80;81;--");
	check("{range .spec.containers[*]}{$.name} {end}", "c1 c2 ");
}

static void errors_are_those_of_kubectl(void **state)
{
	check_error("{.spec.containers[0:5].name}", "array index out of bounds: index 4, length 2");
	check_error("{.spec.containers[5].name}", "array index out of bounds: index 5, length 2");
	check_error("{.spec.containers[1:0].name}",
		    "starting index 1 is greater than ending index 0");
	check_error("{end}", "not in range, nothing to end");
	check_error("{.spec", "unclosed action");
	check_error("{foo}", "unrecognized identifier foo");
	check_error("{.spec.containers[?(@.name==1)].name}", "incompatible types for comparison");
	check_error("{.spec.containers[?(@.ports[*].containerPort==80)].name}",
		    "can only compare one element at a time");
	check_error("{.metadata.labels[*]}", "map is not array or slice");
	check_error("{range .spec.containers[*]}{.name}", "a {range} has no {end}");
}

/* Each range repeats the next, and each finds everything. */
static void work_is_bounded(void **state)
{
	static const char template[] =
		"{range ..}{range ..}{range ..}{range ..}{range ..}{range ..}{range ..}x{end}{end}"
		"{end}{end}{end}{end}{end}";
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * MIB);
	int r;

	r = print(template, sizeof(template) - 1, &b);
	assert_true(r == 0 || r == -ERR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_outside_of_braces_is_literal),
		cmocka_unit_test(several_values_are_separated_by_spaces),
		cmocka_unit_test(objects_are_json_with_sorted_names),
		cmocka_unit_test(ranges_repeat_what_is_in_them),
		cmocka_unit_test(errors_are_those_of_kubectl),
		cmocka_unit_test(work_is_bounded),
	};

	return cmocka_run_group_tests_name("api/jsonpath_template", tests, NULL, NULL);
}

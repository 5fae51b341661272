/* The expected texts are those of kubectl 1.32. */
#include "cli/output/custom_columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"p\",\"labels\":{\"b\":\"x<y\",\"a\":\"\\u001b[1m\"}},"
	"\"list\":[{\"n\":1},{\"n\":2.5}],\"on\":true,\"nothing\":null}";

static int print(struct str spec, bool file, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	const struct custom_columns *c;
	struct error err;
	struct json *v;
	int r;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(object), NULL, &v, NULL), 0);
	r = (file ? custom_columns_parse_file : custom_columns_parse)(&a, spec, &c, &err);
	if (r == 0) {
		custom_columns_head(c, out);
		r = custom_columns_row(c, v, out, &err);
	}
	if (r < 0) {
		buf_clear(out);
		(void)buf_addz(out, err.msg);
	}
	return r;
}

static void check(const char *spec, bool file, int want_r, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);
	int r = print(str_from(spec), file, &b);

	if (r != want_r || !str_eqz(buf_str(&b), want))
		fail_msg("%s: %d \"%.*s\", not \"%s\"", spec, r, STR_ARG(buf_str(&b)), want);
}

static void columns_are_named_and_found_by_paths(void **state)
{
	check("NAME:.metadata.name,On:on,x:{.missing}", false, 0, "NAME\tOn\tx\np\ttrue\t<none>\n");
	check("N:.list[*].n,L:.list,M:metadata,Z:.nothing", false, 0,
	      "N\tL\tM\tZ\n1,2.5\t[map[n:1] map[n:2.5]]\t"
	      "map[labels:map[a:^[[1m b:x<y] name:p]\t<nil>\n");
	check("NAME   ON\n.metadata.name  {.on}\n", true, 0, "NAME\tON\np\ttrue\n");
}

static void mistakes_are_named(void **state)
{
	check("", false, -ERR_BAD_REQUEST, "no column is given: write NAME:PATH,..");
	check("NAME", false, -ERR_BAD_REQUEST, "\"NAME\" is not NAME:PATH");
	check("A:", false, -ERR_BAD_REQUEST,
	      "column \"A\": \"\" is not a path such as .metadata.name");
	check("A:{.a}{.b}", false, -ERR_BAD_REQUEST,
	      "column \"A\": \"{.a}{.b}\" is not a path such as .metadata.name");
	check("A:.list[7]", false, -ERR_BAD_REQUEST,
	      "column \"A\": array index out of bounds: index 7, length 2");
	check("A B\n.a\n", true, -ERR_BAD_REQUEST,
	      "the first line has a name for each path of the second");
	check("\n", true, -ERR_BAD_REQUEST, "it needs a line of names and a line of paths");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_named_and_found_by_paths),
		cmocka_unit_test(mistakes_are_named),
	};

	return cmocka_run_group_tests_name("cli/custom_columns", tests, NULL, NULL);
}

#include "api/table/jsonpath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static const char object[] =
	"{\"metadata\":{\"name\":\"n\",\"annotations\":{\"a.b/c\":\"dotted\"}},"
	"\"spec\":{\"n\":3,\"f\":1.5,\"on\":true,\"list\":[10,20,30],"
	"\"ports\":[{\"name\":\"http\",\"port\":80},{\"name\":\"https\",\"port\":443}],"
	"\"map\":{\"x\":{\"v\":1},\"y\":{\"v\":2}}},"
	"\"status\":{\"conditions\":[{\"type\":\"Synced\",\"status\":\"False\"},"
	"{\"type\":\"Ready\",\"status\":\"True\",\"n\":7}]}}";

/* Checks the value that the path finds in the object, as JSON text; "" for nothing. */
static void check(const char *path, const char *want)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);
	const struct jsonpath *p;
	const struct json *found;
	struct error err;
	struct json *root;

	arena_init(&a, 64 * MIB);
	assert_int_equal(json_parse(&a, str_from(object), NULL, &root, NULL), 0);
	if (jsonpath_compile(&a, str_from(path), &p, &err) < 0)
		fail_msg("%s: %s", path, err.msg);
	found = jsonpath_first(p, root);
	if (found)
		(void)json_print(&b, found, NULL);
	if (!str_eqz(buf_str(&b), want))
		fail_msg("%s found %s, not %s", path, b.p ? b.p : "nothing", want);
}

static void names_lead_down(void **state)
{
	check(".metadata.name", "\"n\"");
	check("$.metadata.name", "\"n\"");
	check("@.metadata.name", "\"n\"");
	check(".spec.n", "3");
	check(".spec['n']", "3");
	check("['spec'].n", "3");
	check(".spec['map.x'].v", "1");
	check(".metadata.annotations.a\\.b/c", "\"dotted\"");
	check(".metadata.annotations['a\\.b/c']", "\"dotted\"");
	check(".nope", "");
	check(".spec.n.deeper", "");
	check(".spec.list.name", "");
}

static void indexes_and_slices_choose(void **state)
{
	check(".spec.list[0]", "10");
	check(".spec.list[2]", "30");
	check(".spec.list[-1]", "30");
	check(".spec.list[3]", "");
	check(".spec.list[-4]", "");
	check(".spec.list[1:]", "20");
	check(".spec.list[1:2]", "20");
	check(".spec.list[0:0]", "");
	check(".spec.list[-2:]", "20");
	check(".spec.list[::2]", "10");
	check(".spec.list[*]", "10");
	check(".spec.ports[*].port", "80");
	check(".spec.ports[1,0].port", "443");
	check(".spec['n','f']", "3");
	check(".spec.map.*.v", "1");
	check(".spec.n[0]", "");
}

static void filters_select(void **state)
{
	check(".status.conditions[?(@.type==\"Ready\")].status", "\"True\"");
	check(".status.conditions[?(@.type=='Ready')].status", "\"True\"");
	check(".status.conditions[?(@.type == \"Ready\")].status", "\"True\"");
	check(".status.conditions[?(@.type!=\"Ready\")].status", "\"False\"");
	check(".status.conditions[?(@.type==\"Nope\")].status", "");
	check(".status.conditions[?(@.n)].type", "\"Ready\"");
	check(".status.conditions[?(@.n>5)].type", "\"Ready\"");
	check(".status.conditions[?(@.n<=6.5)].type", "");
	check(".spec.ports[?(@.port>=443)].name", "\"https\"");
	check(".spec.ports[?(@.name==\"a)b\")].name", "");
	check(".status.conditions[?(@.type==1)].status", "");
	check(".spec[?(@.x==1)]", "");
	check(".status.conditions[?(@.status==true)].status", "");
}

static void descent_searches_everywhere(void **state)
{
	check("..port", "80");
	check("..name", "\"n\"");
	check(".spec..name", "\"http\"");
	check(".status..type", "\"Synced\"");
	check(".spec..v", "1");
}

static void paths_that_client_go_rejects_are_rejected(void **state)
{
	static const char *const paths[] = {
		".a[",         ".a[x]", ".a[?(@.b==\"c\"]",  ".a[?(@.b)", ".a{", ".a[0",
		".a[1:2:3:4]", ".a[]",  ".a[?(@.b=~\"c\")]", "a b",       ".a]", ".a[?(@.b==\"c)]",
		".a,b",
	};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		CLEANUP(arena_release) struct arena a;
		const struct jsonpath *p;
		struct error err;

		arena_init(&a, 64 * MIB);
		if (jsonpath_compile(&a, str_from(paths[i]), &p, &err) != -ERR_BAD_REQUEST)
			fail_msg("%s was taken", paths[i]);
	}
}

static void work_is_bounded(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *root, *at;
	const struct jsonpath *p;

	arena_init(&a, 256 * MIB);
	root = at = json_make_array(&a);
	for (size_t i = 0; i < 300; i++) {
		struct json *child = json_make_array(&a);

		for (size_t k = 0; k < 10; k++)
			json_append(at, json_make_array(&a));
		json_append(at, child);
		at = child;
	}
	assert_int_equal(jsonpath_compile(&a, STR("..[*]..[*]..[*]..x"), &p, NULL), 0);
	assert_null(jsonpath_first(p, root));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_down),
		cmocka_unit_test(indexes_and_slices_choose),
		cmocka_unit_test(filters_select),
		cmocka_unit_test(descent_searches_everywhere),
		cmocka_unit_test(paths_that_client_go_rejects_are_rejected),
		cmocka_unit_test(work_is_bounded),
	};

	return cmocka_run_group_tests_name("api/jsonpath", tests, NULL, NULL);
}

/*
 * Copies without what no controller reads: wherever the members are, the rest is what it was.
 */
#include "controller/shared/pod_trim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/json/json.h"

#define META "\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"}"

static void copies_of_pods_have_only_what_controllers_read(void **state UNUSED)
{
	static const char *const cases[][2] = {
		{ "{" META ",\"spec\":{\"volumes\":[{\"name\":\"v\"}],\"nodeName\":\"a\"}}",
		  "{" META ",\"spec\":{\"nodeName\":\"a\"}}" },
		{ "{" META ",\"spec\":{\"nodeName\":\"a\",\"dnsPolicy\":\"x\",\"volumes\":[],"
		  "\"priority\":0,\"schedulerName\":\"s\"}}",
		  "{" META ",\"spec\":{\"nodeName\":\"a\",\"priority\":0}}" },
		{ "{" META ",\"spec\":{\"dnsPolicy\":\"x\" , \"volumes\":[] }}",
		  "{" META ",\"spec\":{ }}" },
		{ "{" META ",\"spec\":{\"containers\":[{\"env\":[{\"name\":\"]\"}],\"image\":\"i\","
		  "\"name\":\"c\",\"command\":[\"a\"],\"ports\":[]},{\"name\":\"d\",\"args\":null}]"
		  "}}",
		  "{" META
		  ",\"spec\":{\"containers\":[{\"name\":\"c\",\"ports\":[]},{\"name\":\"d\"}]}}" },
		{ "{" META ",\"spec\":null,\"status\":{\"conditions\":[{\"type\":\"Ready\","
		  "\"lastProbeTime\":null}],\"containerStatuses\":[{\"name\":\"c\",\"imageID\":"
		  "\"x\","
		  "\"restartCount\":1}]}}",
		  "{" META ",\"spec\":null,\"status\":{\"conditions\":[{\"type\":\"Ready\"}],"
		  "\"containerStatuses\":[{\"name\":\"c\",\"restartCount\":1}]}}" },
		{ "{" META ",\"spec\":{\"containers\":[5,\"env\"],\"initContainers\":{\"env\":1}},"
		  "\"volumes\":1}",
		  "{" META
		  ",\"spec\":{\"containers\":[5,\"env\"],\"initContainers\":{}},\"volumes\":1}" },
	};
	struct cached_defaults d = { .slim = true, .trim = pod_trim };
	struct cached *o;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(cached_new(str_from(cases[i][0]), &d, &o, NULL), 0);
		assert_string_equal(o->json.p, cases[i][1]);
		cached_unref(o);
	}
}

/* More containers than a copy has cuts for: the rest stays whole. */
static void a_pod_with_many_containers_stays_readable(void **state UNUSED)
{
	struct cached_defaults d = { .slim = true, .trim = pod_trim };
	struct buf text = BUF_INIT(SIZE_MAX);
	struct cached *o;
	struct arena a;
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	(void)buf_addz(&text, "{" META ",\"spec\":{\"containers\":[");
	for (int i = 0; i < 500; i++)
		(void)buf_printf(&text, "%s{\"env\":[],\"name\":\"c%d\",\"image\":\"i\"}",
				 i > 0 ? "," : "", i);
	(void)buf_addz(&text, "]}}");
	assert_int_equal(cached_new(buf_str(&text), &d, &o, NULL), 0);
	assert_int_equal(cached_tree(o, &a, &tree, NULL), 0);
	assert_int_equal(json_count(json_getz(json_getz(tree, "spec"), "containers")), 500);
	cached_unref(o);
	arena_release(&a);
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_of_pods_have_only_what_controllers_read),
		cmocka_unit_test(a_pod_with_many_containers_stays_readable),
	};

	return cmocka_run_group_tests_name("controller/pod_trim", tests, NULL, NULL);
}

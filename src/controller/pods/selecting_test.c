/*
 * Owners of an orphan: by a label, by an expression, never by an empty or unknown selector.
 */
#include "controller/pods/selecting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"

struct selecting_bench {
	struct cache owners;
	struct arena arena;
	char found[256];
};

static struct cached *made(const char *ns, const char *name, const char *rest)
{
	struct cached *o;
	char text[512];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"%s}",
		       name, ns, rest);
	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	return o;
}

static void put(struct selecting_bench *b, const char *ns, const char *name, const char *selector)
{
	char rest[256];

	(void)snprintf(rest, sizeof(rest), "},\"spec\":{\"selector\":%s}", selector);
	cached_unref(cache_put(&b->owners, made(ns, name, rest)));
}

static void on_found(void *arg, const struct cached *owner)
{
	struct selecting_bench *b = arg;
	size_t n = strlen(b->found);

	(void)snprintf(b->found + n, sizeof(b->found) - n, "%.*s ", STR_ARG(owner->key));
}

static void assert_found(struct selecting_bench *b, const char *labels, const char *expected)
{
	char rest[256];
	struct cached *pod;

	(void)snprintf(rest, sizeof(rest), ",\"labels\":%s}", labels);
	pod = made("n", "pod", rest);
	b->found[0] = '\0';
	selecting_each(&b->owners, pod, &b->arena, on_found, b);
	assert_string_equal(b->found, expected);
	cached_unref(pod);
}

static void owners_are_found_by_their_selectors(void **state UNUSED)
{
	struct selecting_bench b = { .found = "" };
	const struct cache_index index = { SELECTING, selecting_index, NULL };

	cache_init(&b.owners);
	arena_init(&b.arena, SIZE_MAX);
	cache_add_index(&b.owners, &index);
	put(&b, "n", "web", "{\"matchLabels\":{\"app\":\"web\"}}");
	put(&b, "n", "both", "{\"matchLabels\":{\"app\":\"web\",\"tier\":\"a\"}}");
	put(&b, "n", "in",
	    "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"In\","
	    "\"values\":[\"web\",\"db\"]}]}");
	put(&b, "n", "empty", "{}");
	put(&b, "n", "none", "null");
	put(&b, "n", "number", "{\"matchLabels\":{\"app\":7}}");
	put(&b, "n", "unknown", "{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Is\"}]}");
	put(&b, "other", "web", "{\"matchLabels\":{\"app\":\"web\"}}");
	assert_found(&b, "{\"app\":\"web\"}", "n/in n/web ");
	assert_found(&b, "{\"tier\":\"a\",\"app\":\"web\"}", "n/in n/both n/web ");
	assert_found(&b, "{\"app\":\"db\"}", "n/in ");
	assert_found(&b, "{\"x\":\"y\"}", "");
	assert_found(&b, "{}", "");
	assert_found(&b, "null", "");
	cache_release(&b.owners);
	arena_release(&b.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_are_found_by_their_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

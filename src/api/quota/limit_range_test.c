/*
 * Limit ranges: defaults and errors of kube-apiserver 1.37, word for word.
 */
#include "api/quota/limit_range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"

#define CPU(request, limit)                                               \
	"{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"" request \
	"\",\"memory\":\"1Gi\"},\"limits\":{\"cpu\":\"" limit "\",\"memory\":\"2Gi\"}}}"
#define POD(containers) "{\"spec\":{\"containers\":[" containers "]}}"

static struct json *parsed(struct arena *a, const char *text)
{
	struct json *tree = NULL;
	struct error err;

	if (json_parse(a, str_from(text), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return tree;
}

static const struct json *range(struct arena *a, const char *item)
{
	return parsed(a, arena_printf(a, "{\"spec\":{\"limits\":[%s]}}", item));
}

static void assert_text(const struct json *tree, const char *want)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	assert_int_equal(json_print(&b, tree, NULL), 0);
	assert_string_equal(b.p, want);
}

static void fill(const struct json *range, struct json *pod, struct arena *a)
{
	assert_int_equal(limit_range_fill(range, pod, a, NULL), 0);
}

static void containers_get_what_they_do_not_say(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *pod;

	(void)state;
	arena_init(&a, SIZE_MAX);
	pod = parsed(
		&a,
		"{\"spec\":{\"containers\":[{\"name\":\"x\",\"resources\":{\"requests\":{\"cpu\":"
		"\"1\"}}}],\"initContainers\":[{\"name\":\"i\"}]}}");
	fill(range(&a, "{\"type\":\"Pod\"},{\"type\":\"Container\",\"default\":{\"memory\":"
		       "\"1Gi\",\"cpu\":\"2\"},\"defaultRequest\":{\"cpu\":\"100m\"}}"),
	     pod, &a);
	assert_text(
		json_getz(pod, "metadata"),
		"{\"annotations\":{\"kubernetes.io/limit-ranger\":\"LimitRanger plugin set: cpu, "
		"memory limit for container x; cpu request for init container i; cpu, memory "
		"limit for init container i\"}}");
	assert_text(json_pointer(pod, STR("/spec/containers/0/resources")),
		    "{\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"}}");
	assert_text(
		json_pointer(pod, STR("/spec/initContainers/0/resources")),
		"{\"limits\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},\"requests\":{\"cpu\":\"100m\"}}");
}

static void a_pod_that_says_all_is_left_alone(void **state)
{
	CLEANUP(arena_release) struct arena a;
	struct json *pod;

	(void)state;
	arena_init(&a, SIZE_MAX);
	pod = parsed(&a, POD(CPU("1", "1")));
	fill(range(&a, "{\"type\":\"Container\",\"default\":{\"cpu\":\"2\"},"
		       "\"defaultRequest\":{\"cpu\":\"2\"}}"),
	     pod, &a);
	assert_text(pod, POD(CPU("1", "1")));
}

static const struct json *range_of_names(struct arena *a, int n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);

	(void)buf_addz(&b, "{\"type\":\"Container\",\"default\":{");
	for (int i = 0; i < n; i++)
		(void)buf_printf(&b, "%s\"example.com/r%d\":\"1\"", i ? "," : "", i);
	(void)buf_addz(&b, "}}");
	return range(a, b.p);
}

static struct json *pod_of_containers(struct arena *a, int n)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * MIB);

	(void)buf_addz(&b, "{\"spec\":{\"containers\":[");
	for (int i = 0; i < n; i++)
		(void)buf_printf(&b,
				 "%s{\"name\":\"c%d\",\"resources\":{\"limits\":{\"z\":\"1\","
				 "\"example.com/r3\":\"2\"}}}",
				 i ? "," : "", i);
	(void)buf_addz(&b, "]}}");
	return parsed(a, arena_strdup(a, buf_str(&b)));
}

static void defaults_for_more_than_can_be_stored_are_refused(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const struct json *many;
	struct error err = { 0 };
	struct json *pod;
	size_t before;

	(void)state;
	arena_init(&a, SIZE_MAX);
	many = range_of_names(&a, 10000);
	pod = pod_of_containers(&a, 5);
	fill(many, pod, &a);
	assert_int_equal(json_count(json_pointer(pod, STR("/spec/containers/4/resources/limits"))),
			 10001);
	assert_text(json_pointer(pod, STR("/spec/containers/4/resources/limits/example.com~1r3")),
		    "\"2\"");
	pod = pod_of_containers(&a, 8000);
	before = a.used;
	assert_int_equal(limit_range_fill(many, pod, &a, &err), -ERR_TOO_LARGE);
	assert_true(a.used - before < 32 * MIB);
}

static void bounds_of_many_containers_are_checked_in_the_memory_of_one(void **state)
{
	static const char item[] = "{\"type\":\"Container\",\"max\":{\"example.com/r3\":\"1\"}}";
	CLEANUP(arena_release) struct arena a;
	struct error err = { 0 };
	const struct json *pod;
	size_t before;

	(void)state;
	arena_init(&a, SIZE_MAX);
	pod = pod_of_containers(&a, 8000);
	before = a.used;
	assert_int_equal(limit_range_check_pod(range(&a, item), pod, &a, &err), -ERR_FORBIDDEN);
	assert_string_equal(err.msg,
			    "maximum example.com/r3 usage per Container is 1, but limit is 2");
	assert_true(a.used - before < 512 * KIB);
}

static const struct {
	const char *item, *pod, *words; /* NULL: it is fine */
} table[] = {
	{ "{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"},\"max\":{\"cpu\":\"2\"}}",
	  POD(CPU("1", "2")), NULL },
	{ "{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"}}", POD(CPU("10m", "2")),
	  "minimum cpu usage per Container is 50m, but request is 10m" },
	{ "{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"}}", POD(CPU("50m", "20m")),
	  "minimum cpu usage per Container is 50m, but limit is 20m" },
	{ "{\"type\":\"Container\",\"min\":{\"cpu\":\"50m\"}}", POD("{\"name\":\"c\"}"),
	  "minimum cpu usage per Container is 50m.  No request is specified" },
	{ "{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}", POD("{\"name\":\"c\"}"),
	  "maximum cpu usage per Container is 2.  No limit is specified" },
	{ "{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}", POD(CPU("1", "3")),
	  "maximum cpu usage per Container is 2, but limit is 3" },
	{ "{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}", POD(CPU("3", "2")),
	  "maximum cpu usage per Container is 2, but request is 3" },
	{ "{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"1500m\"}}",
	  POD(CPU("1", "2")),
	  "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000" },
	{ "{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}", POD(CPU("1", "2")),
	  NULL },
	{ "{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}", POD(CPU("0", "2")),
	  "cpu max limit to request ratio per Container is 2, but no request is specified or "
	  "request is 0" },
	{ "{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}", POD(CPU("1", "0")),
	  "cpu max limit to request ratio per Container is 2, but no limit is specified or limit "
	  "is 0" },
	/* The same error of two containers is reported once. */
	{ "{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}", POD(CPU("1", "3") "," CPU("1", "3")),
	  "maximum cpu usage per Container is 2, but limit is 3" },
	{ "{\"type\":\"Container\",\"max\":{\"cpu\":\"2\"}}", POD(CPU("1", "3") "," CPU("1", "4")),
	  "[maximum cpu usage per Container is 2, but limit is 3, maximum cpu usage per Container "
	  "is 2, but limit is 4]" },
	/* An error that is the end of another one is reported, too. */
	{ "{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"a.io/cpu\":\"2\",\"cpu\":\"2\"}}",
	  POD("{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"a.io/cpu\":\"1\"},"
	      "\"limits\":{\"cpu\":\"4\",\"a.io/cpu\":\"4\"}}}"),
	  "[a.io/cpu max limit to request ratio per Container is 2, but provided ratio is "
	  "4.000000, "
	  "cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000]" },
	{ "{\"type\":\"Pod\",\"max\":{\"cpu\":\"3\"}}", POD(CPU("1", "2") "," CPU("1", "2")),
	  "maximum cpu usage per Pod is 3, but limit is 4" },
	{ "{\"type\":\"Pod\",\"max\":{\"memory\":\"3Gi\"}}",
	  "{\"spec\":{\"resources\":{\"limits\":{\"memory\":\"3Gi\"}},\"containers\":[" CPU(
		  "1", "2") "," CPU("1", "2") "]}}",
	  NULL },
	{ "{\"type\":\"PersistentVolumeClaim\",\"max\":{\"storage\":\"1\"}}", POD(CPU("1", "2")),
	  NULL },
};

static void pods_are_refused_in_upstreams_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		CLEANUP(arena_release) struct arena a;
		struct error err = { 0 };
		int r;

		arena_init(&a, SIZE_MAX);
		r = limit_range_check_pod(range(&a, table[i].item), parsed(&a, table[i].pod), &a,
					  &err);
		assert_string_equal(err.msg, table[i].words ? table[i].words : "");
		assert_int_equal(r, table[i].words ? -ERR_FORBIDDEN : 0);
	}
}

static void claims_are_refused_in_upstreams_words(void **state)
{
	static const char item[] =
		"{\"type\":\"PersistentVolumeClaim\",\"min\":{\"storage\":\"1Gi\"},"
		"\"max\":{\"storage\":\"8Gi\"}}";
	static const char *const sizes[] = { "500Mi", "9Gi", "8Gi" };
	static const char *const words[] = {
		"minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi",
		"maximum storage usage per PersistentVolumeClaim is 8Gi, but request is 9Gi", ""
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		CLEANUP(arena_release) struct arena a;
		struct error err = { 0 };
		const char *claim;

		arena_init(&a, SIZE_MAX);
		claim = arena_printf(
			&a, "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}",
			sizes[i]);
		(void)limit_range_check_volume_claim(range(&a, item), parsed(&a, claim), &a, &err);
		assert_string_equal(err.msg, words[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_get_what_they_do_not_say),
		cmocka_unit_test(a_pod_that_says_all_is_left_alone),
		cmocka_unit_test(defaults_for_more_than_can_be_stored_are_refused),
		cmocka_unit_test(bounds_of_many_containers_are_checked_in_the_memory_of_one),
		cmocka_unit_test(pods_are_refused_in_upstreams_words),
		cmocka_unit_test(claims_are_refused_in_upstreams_words),
	};

	return cmocka_run_group_tests_name("api/limit_range", tests, NULL, NULL);
}

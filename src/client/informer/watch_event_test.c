/*
 * Event streams cut at any place, and lists.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "client/informer/reflector_list.h"
#include "client/informer/watch_event.h"

#define ASSERT_STR(s, z) assert_true(str_eqz(s, z))

static void a_stream_may_be_cut_anywhere(void **state UNUSED)
{
	static const char stream[] = "first\n\nsecond line\nthird\nrest";
	static const char *const lines[] = { "first", "second line", "third" };

	for (size_t cut = 0; cut < sizeof(stream) - 1; cut++)
		for (size_t again = cut; again < sizeof(stream) - 1; again++) {
			struct str pieces[] = {
				str_of(stream, cut), str_of(stream + cut, again - cut),
				str_of(stream + again, sizeof(stream) - 1 - again)
			};
			struct event_lines l;
			struct str line;
			size_t n = 0;

			event_lines_init(&l);
			for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
				while (event_lines_next(&l, &pieces[i], &line, NULL) > 0) {
					assert_true(n < ARRAY_SIZE(lines));
					ASSERT_STR(line, lines[n]);
					n++;
				}
			assert_int_equal(n, ARRAY_SIZE(lines));
			ASSERT_STR(buf_str(&l.rest), "rest");
			event_lines_release(&l);
		}
}

static void a_line_without_end_is_refused(void **state UNUSED)
{
	char *much = xmalloc(8 * MIB);
	struct event_lines l;
	struct error err;
	struct str line;
	int r = 0;

	memset(much, 'x', 8 * MIB);
	event_lines_init(&l);
	for (int i = 0; r == 0 && i < 100; i++) {
		struct str piece = str_of(much, 8 * MIB);

		r = event_lines_next(&l, &piece, &line, &err);
	}
	assert_int_equal(r, -ERR_TOO_LARGE);
	event_lines_release(&l);
	free(much);
}

static void events_are_read_in_any_order(void **state UNUSED)
{
	static const struct {
		const char *line;
		enum watch_event_type type;
	} cases[] = {
		{ "{\"type\":\"ADDED\",\"object\":{\"a\":\"}\\\"\"}}", WATCH_EVENT_ADDED },
		{ " { \"object\" : {\"a\":\"}\\\"\"} , \"type\" : \"MODIFIED\" } ",
		  WATCH_EVENT_MODIFIED },
		{ "{\"x\":[{}],\"type\":\"DELETED\",\"object\":{\"a\":\"}\\\"\"}}",
		  WATCH_EVENT_DELETED },
		{ "{\"type\":\"BOOKMARK\",\"object\":{\"a\":\"}\\\"\"}}", WATCH_EVENT_BOOKMARK },
		{ "{\"type\":\"ERROR\",\"object\":{\"a\":\"}\\\"\"}}", WATCH_EVENT_ERROR },
		{ "{\"type\":\"LATER\",\"object\":{\"a\":\"}\\\"\"}}", WATCH_EVENT_UNKNOWN },
	};
	struct watch_event e;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(watch_event_parse(str_from(cases[i].line), &e, NULL), 0);
		assert_int_equal(e.type, cases[i].type);
		ASSERT_STR(e.object, "{\"a\":\"}\\\"\"}");
	}
}

static void the_end_of_a_changed_object_is_not_looked_for(void **state UNUSED)
{
	static const char *const exact[] = {
		"{\"type\":\"BOOKMARK\",\"object\":{\"a\":1}}",
		"{\"object\":{\"a\":1},\"type\":\"ADDED\"}",
	};
	struct watch_event e;
	struct error err;

	assert_int_equal(
		watch_event_begin(STR("{\"type\":\"DELETED\",\"object\":{\"a\":1}}"), &e, &err), 0);
	assert_int_equal(e.type, WATCH_EVENT_DELETED);
	ASSERT_STR(e.object, "{\"a\":1}}");
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		assert_int_equal(watch_event_begin(str_from(exact[i]), &e, &err), 0);
		ASSERT_STR(e.object, "{\"a\":1}");
	}
	assert_int_equal(watch_event_begin(STR("{\"type\":\"ADDED\"}"), &e, &err), -ERR_PROTOCOL);
}

static void an_invalid_event_is_rejected(void **state UNUSED)
{
	static const char *const bad[] = { "",
					   "x",
					   "[]",
					   "{",
					   "{}",
					   "{\"type\":\"ADDED\"}",
					   "{\"object\":{}}",
					   "{\"type\":5,\"object\":{}}",
					   "{\"type\":\"ADDED\",\"object\":5}",
					   "{\"type\":\"ADDED\",\"object\":{}",
					   "{\"type\":\"ADDED\" \"object\":{}}" };
	struct watch_event e;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (watch_event_parse(str_from(bad[i]), &e, &err) != -ERR_PROTOCOL)
			fail_msg("%s was taken", bad[i]);
}

static void bookmarks_tell_a_version(void **state UNUSED)
{
	struct error err;
	struct str rv;
	bool end;

	assert_int_equal(
		watch_event_bookmark(
			STR("{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"12\"}}"), &rv,
			&end, &err),
		0);
	ASSERT_STR(rv, "12");
	assert_false(end);
	assert_int_equal(
		watch_event_bookmark(
			STR("{\"metadata\":{\"annotations\":{\"a\":\"b\","
			    "\"k8s.io/initial-events-end\":\"true\"},\"resourceVersion\":\"12\"}}"),
			&rv, &end, &err),
		0);
	assert_true(end);
	assert_int_equal(watch_event_bookmark(STR("{\"metadata\":{}}"), &rv, &end, &err),
			 -ERR_PROTOCOL);
	assert_int_equal(watch_event_bookmark(STR("5"), &rv, &end, &err), -ERR_PROTOCOL);
}

/* --- lists ------------------------------------------------------------------------------- */

static void lists_are_cut_into_objects(void **state UNUSED)
{
	static const char text[] =
		"{ \"items\": [ {\"metadata\":{\"name\":\"a\",\"namespace\":\"s\"}} ,\n"
		"{\"metadata\":{\"name\":\"b\",\"namespace\":\"s\",\"managedFields\":[{}]},\"x\":"
		"\"]\"}],"
		"\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":\"t\","
		"\"resourceVersion\":\"9\"}}\n";
	struct cached_defaults d = { .slim = true };
	struct reflector_page page;
	struct cache c;

	cache_init(&c);
	assert_int_equal(reflector_list_parse(str_from(text), &d, &c, &page, NULL), 0);
	assert_int_equal(page.n, 2);
	ASSERT_STR(page.rv, "9");
	ASSERT_STR(page.next, "t");
	ASSERT_STR(cache_get(&c, STR("s/b"))->json,
		   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"b\","
		   "\"namespace\":\"s\"},\"x\":\"]\"}");
	assert_int_equal(
		reflector_list_parse(STR("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":"
					 "{\"resourceVersion\":\"9\"},\"items\":null}"),
				     &d, &c, &page, NULL),
		0);
	assert_int_equal(page.n, 0);
	assert_int_equal(page.next.n, 0);
	cache_release(&c);
}

static void an_invalid_list_is_rejected(void **state UNUSED)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"kind\":\"Status\"}",
		"{\"kind\":\"PodList\",\"items\":[]}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":{}}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[5]}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{}]}",
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[",
	};
	struct cached_defaults d = { 0 };
	struct reflector_page page;
	struct error err;
	struct cache c;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cache_init(&c);
		if (reflector_list_parse(str_from(bad[i]), &d, &c, &page, &err) != -ERR_PROTOCOL)
			fail_msg("%s was taken", bad[i]);
		cache_release(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_may_be_cut_anywhere),
		cmocka_unit_test(a_line_without_end_is_refused),
		cmocka_unit_test(events_are_read_in_any_order),
		cmocka_unit_test(the_end_of_a_changed_object_is_not_looked_for),
		cmocka_unit_test(an_invalid_event_is_rejected),
		cmocka_unit_test(bookmarks_tell_a_version),
		cmocka_unit_test(lists_are_cut_into_objects),
		cmocka_unit_test(an_invalid_list_is_rejected),
	};

	return cmocka_run_group_tests_name("client/watch_event", tests, NULL, NULL);
}

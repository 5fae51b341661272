/*
 * The mark that a pod gets before it is deleted, one table row per rule. The requests are tested
 * with the controllers that use them.
 */
#include "controller/pods/removal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/time/timestamp.h"

#define MARKED(reason, time)                                                      \
	"{\"type\":\"DisruptionTarget\",\"status\":\"True\",\"reason\":\"" reason \
	"\",\"message\":"                                                         \
	"\"m\",\"lastTransitionTime\":\"" time "\"}"
#define OLD    "2026-01-01T00:00:00Z"
#define NOW    "2026-01-02T00:00:00Z"
#define UID    "{\"metadata\":{\"uid\":\"u\"},\"status\":{"
#define FAILED "\"phase\":\"Failed\""
#define NEW    "\"conditions\":[" MARKED("R", NOW) "]}}"
#define KEPT   "\"conditions\":[" MARKED("R", OLD) "]}}"

static const struct {
	const char *name, *status;
	const char *reason;
	bool fail;
	const char *patch; /* NULL: none */
} marks[] = {
	{ "a running pod", "\"phase\":\"Running\"", "R", false, UID NEW },
	{ "no status at all", "", "R", false, UID NEW },
	{ "conditions that are no list", "\"conditions\":7", "R", false, UID NEW },
	{ "marked by us", "\"conditions\":[" MARKED("R", OLD) "]", "R", false, NULL },
	{ "marked by others keeps its time", "\"conditions\":[" MARKED("X", OLD) "]", "R", false,
	  UID KEPT },
	{ "a finished pod is marked, too", "\"phase\":\"Succeeded\"", "R", false, UID NEW },
	{ "fails", "\"phase\":\"Running\"", NULL, true, UID FAILED "}}" },
	{ "fails with a condition", "\"phase\":\"Pending\"", "R", true, UID FAILED "," NEW },
	{ "marked, not failed yet", "\"conditions\":[" MARKED("R", OLD) "]", "R", true,
	  UID FAILED "}}" },
	{ "failed already", "\"phase\":\"Failed\"", "R", true, NULL },
	{ "succeeded stays so", "\"phase\":\"Succeeded\"", "R", true, NULL },
	{ "neither", "\"phase\":\"Running\"", NULL, false, NULL },
};

static void marks_follow_the_table(void **state UNUSED)
{
	int64_t now;

	assert_int_equal(timestamp_parse(STR(NOW), &now, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		struct buf text = BUF_INIT(64 * KIB);
		struct arena a;
		struct json *pod, *patch;
		char *source;

		arena_init(&a, MIB);
		source = arena_printf(&a, "{\"metadata\":{\"uid\":\"u\"},\"status\":{%s}}",
				      marks[i].status);
		assert_int_equal(json_parse(&a, str_from(source), NULL, &pod, NULL), 0);
		patch = pod_removal_mark(&a, pod, marks[i].reason, "m", marks[i].fail, now);
		if (patch)
			assert_int_equal(json_print(&text, patch, NULL), 0);
		if (!str_eqz(buf_str(&text), marks[i].patch ? marks[i].patch : ""))
			fail_msg("%s: %.*s", marks[i].name, STR_ARG(buf_str(&text)));
		buf_release(&text);
		arena_release(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_follow_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

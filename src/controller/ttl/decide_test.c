/*
 * Which Jobs are deleted, and when: a table.
 */
#include "controller/ttl/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "base/time/timestamp.h"

#define ENDED(type, status)                                                        \
	"\"status\":{\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"," \
	"\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"" type       \
	"\",\"status\":\"" status "\",\"lastTransitionTime\":\"2026-01-02T00:00:00Z\"}]}"
#define TTL(s) "\"spec\":{\"ttlSecondsAfterFinished\":" s "},"

static void a_finished_job_with_a_ttl_is_deleted_after_it(void **state UNUSED)
{
	static const struct {
		const char *job;
		bool due;
		int64_t left_s; /* 100 s after its end */
	} cases[] = {
		{ "{}", false, 0 },
		{ "{\"spec\":{}," ENDED("Complete", "True") "}", false, 0 },
		{ "{" TTL("10") "\"status\":{}}", false, 0 },
		{ "{" TTL("10") ENDED("Complete", "False") "}", false, 0 },
		{ "{" TTL("10") ENDED("FailureTarget", "True") "}", false, 0 },
		{ "{" TTL("10") ENDED("Complete", "True") "}", true, -90 },
		{ "{" TTL("0") ENDED("Failed", "True") "}", true, -100 },
		{ "{" TTL("130") ENDED("Failed", "True") "}", true, 30 },
		{ "{" TTL("2147483647") ENDED("Failed", "True") "}", true, 2147483547 },
		{ "{" TTL("9223372036854775807") ENDED("Failed", "True") "}", true, 2147483547 },
		{ "{" TTL("-1") ENDED("Failed", "True") "}", false, 0 },
		{ "{" TTL("\"10\"") ENDED("Failed", "True") "}", false, 0 },
		{ "{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T00:00:00Z\"}," TTL("10")
			  ENDED("Complete", "True") "}",
		  false, 0 },
		{ "{" TTL("10") "\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":"
				"\"True\"}]}}",
		  false, 0 },
		{ "{" TTL("10") "\"status\":{\"conditions\":[{\"type\":\"Complete\",\"status\":"
				"\"True\",\"lastTransitionTime\":\"soon\"}]}}",
		  false, 0 },
		{ "[1]", false, 0 },
	};
	int64_t end, left;
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(timestamp_parse(STR("2026-01-02T00:00:00Z"), &end, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *job;

		left = 0;
		assert_int_equal(json_parse(&a, str_from(cases[i].job), NULL, &job, NULL), 0);
		if (ttl_decide(job, end + 100 * CLOCK_SEC, &left) != cases[i].due ||
		    left != cases[i].left_s * CLOCK_SEC)
			fail_msg("%s: %lld", cases[i].job, (long long)left);
	}
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_finished_job_with_a_ttl_is_deleted_after_it),
	};

	return cmocka_run_group_tests_name("controller/ttl_decide", tests, NULL, NULL);
}

/*
 * Which pods are garbage: one table row per rule, and nonsense.
 */
#include "controller/pod_garbage/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

#define THERE    POD_GARBAGE_NODE_THERE
#define GONE     POD_GARBAGE_NODE_GONE
#define OUT      POD_GARBAGE_NODE_OUT_OF_SERVICE
#define DELETED  "\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}"
#define BOUND    "\"spec\":{\"nodeName\":\"n\"}"
#define FINISHED "\"status\":{\"phase\":\"Failed\"}"

static const struct {
	const char *pod;
	enum pod_garbage_node node;
	enum pod_garbage_reason reason;
} pods[] = {
	{ "", THERE, POD_GARBAGE_NOT },
	{ "", GONE, POD_GARBAGE_NOT },
	{ DELETED, THERE, POD_GARBAGE_UNSCHEDULED },
	{ BOUND, THERE, POD_GARBAGE_NOT },
	{ BOUND, GONE, POD_GARBAGE_ORPHAN },
	{ BOUND "," FINISHED, GONE, POD_GARBAGE_ORPHAN },
	{ BOUND "," DELETED, GONE, POD_GARBAGE_ORPHAN },
	{ BOUND, OUT, POD_GARBAGE_NOT },
	{ BOUND "," DELETED, OUT, POD_GARBAGE_OUT_OF_SERVICE },
	{ BOUND "," DELETED, THERE, POD_GARBAGE_NOT },
	{ "\"metadata\":7,\"spec\":[]", GONE, POD_GARBAGE_NOT },
};

#define READY(is) "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" is "\"}]}"
#define TAINT     "\"spec\":{\"taints\":[{\"key\":\"node.kubernetes.io/out-of-service\"}]}"

static const struct {
	const char *node;
	bool out;
} nodes[] = {
	{ "", false },
	{ TAINT, true },
	{ TAINT "," READY("Unknown"), true },
	{ TAINT "," READY("False"), true },
	{ TAINT "," READY("True"), false },
	{ READY("Unknown"), false },
	{ "\"spec\":{\"taints\":{\"key\":7}},\"status\":9", false },
};

static struct json *object_of(struct arena *a, const char *text)
{
	struct json *v;

	if (json_parse(a, str_from(arena_printf(a, "{%s}", text)), NULL, &v, NULL) < 0)
		fail_msg("%s", text);
	return v;
}

static void reasons_follow_the_table(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		enum pod_garbage_reason is = pod_garbage_decide(object_of(&a, pods[i].pod),
								pods[i].node);

		if (is != pods[i].reason)
			fail_msg("%s: %d", pods[i].pod, is);
	}
	arena_release(&a);
}

static void out_of_service_follows_the_table(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
		if (pod_garbage_out_of_service(object_of(&a, nodes[i].node)) != nodes[i].out)
			fail_msg("%s", nodes[i].node);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_follow_the_table),
		cmocka_unit_test(out_of_service_follows_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

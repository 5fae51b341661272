/*
 * The rules for ReplicaSets, as tables: differences, counts, statuses, ranks.
 */
#include "controller/replica_set/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"

#define SECOND INT64_C(1000000000)

static struct json *tree_of(struct arena *a, const char *text)
{
	struct json *v;

	assert_int_equal(json_parse(a, str_from(text), NULL, &v, NULL), 0);
	return v;
}

static void differences_are_bounded(void **state UNUSED)
{
	static const struct {
		const char *set;
		size_t active;
		int64_t expected;
	} cases[] = {
		{ "{\"spec\":{\"replicas\":3}}", 0, 3 },
		{ "{\"spec\":{\"replicas\":3}}", 3, 0 },
		{ "{\"spec\":{\"replicas\":3}}", 5, -2 },
		{ "{\"spec\":{\"replicas\":2000}}", 0, 500 },
		{ "{\"spec\":{\"replicas\":0}}", 2000, -500 },
		{ "{\"spec\":{}}", 0, 1 },
		{ "{}", 3, -2 },
		{ "{\"spec\":{\"replicas\":-4}}", 0, 0 },
		{ "{\"spec\":{\"replicas\":-9223372036854775808}}", 1, -1 },
		{ "{\"spec\":{\"replicas\":9223372036854775807}}", 7, 500 },
		{ "{\"spec\":{\"replicas\":\"3\"}}", 0, 1 },
		{ "{\"spec\":[]}", 0, 1 },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct replica_set_spec spec = replica_set_spec(tree_of(&a, cases[i].set));

		assert_int_equal(replica_set_difference(&spec, cases[i].active), cases[i].expected);
	}
	arena_release(&a);
}

/* Pods: what they add to the counts, 100 s after the epoch, with 10 s of minReadySeconds. */
static void pods_are_counted(void **state UNUSED)
{
	static const struct {
		struct replica_pod pod;
		struct replica_counts expected;
	} cases[] = {
		{ { .active = true }, { .replicas = 1 } },
		{ { .active = true, .labeled = true }, { .replicas = 1, .labeled = 1 } },
		{ { .terminating = true, .ready = true, .labeled = true }, { .terminating = 1 } },
		{ { .ready = true, .labeled = true }, { 0 } },
		{ { .active = true, .ready = true, .ready_since_ns = 50 * SECOND },
		  { .replicas = 1, .ready = 1, .available = 1 } },
		{ { .active = true, .ready = true, .ready_since_ns = 90 * SECOND },
		  { .replicas = 1, .ready = 1, .available = 1 } },
		{ { .active = true, .ready = true, .ready_since_ns = 94 * SECOND },
		  { .replicas = 1, .ready = 1, .next_ns = 4 * SECOND } },
		{ { .active = true, .ready = true }, { .replicas = 1, .ready = 1 } },
	};
	struct replica_set_spec spec = { .replicas = 1, .min_ready_s = 10 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct replica_counts c = { 0 };

		replica_counts_add(&c, &cases[i].pod, &spec, 100 * SECOND);
		assert_memory_equal(&c, &cases[i].expected, sizeof(c));
	}
}

static void the_next_check_is_for_the_first_pod(void **state UNUSED)
{
	static const int64_t since[] = { 97, 93, 99, 80 };
	struct replica_set_spec spec = { .replicas = 4, .min_ready_s = 10 };
	struct replica_counts c = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(since); i++)
		replica_counts_add(&c,
				   &(struct replica_pod){ .active = true,
							  .ready = true,
							  .ready_since_ns = since[i] * SECOND },
				   &spec, 100 * SECOND);
	assert_int_equal(c.next_ns, 3 * SECOND);
	assert_int_equal(c.available, 1);
}

#define FAILED(reason, message)                                                                    \
	"\"conditions\":[{\"type\":\"ReplicaFailure\",\"status\":\"True\",\"lastTransitionTime\":" \
	"\"1970-01-01T00:00:09Z\",\"reason\":\"" reason "\",\"message\":\"" message "\"}]"
#define NOTHING "\"replicas\":0,\"terminatingReplicas\":0"

static void statuses_follow_counts_and_failures(void **state UNUSED)
{
	static const struct {
		const char *set;
		struct replica_counts counts;
		const char *failure, *expected; /* expected NULL: no write */
	} cases[] = {
		{ "{\"spec\":{\"replicas\":0}}", { 0 }, NULL, "{" NOTHING "}" },
		{ "{\"spec\":{},\"status\":{" NOTHING "}}", { 0 }, NULL, NULL },
		{ "{\"metadata\":{\"generation\":2},\"spec\":{},\"status\":{" NOTHING
		  ",\"observedGeneration\":1}}",
		  { 0 },
		  NULL,
		  "{" NOTHING ",\"observedGeneration\":2}" },
		{ "{\"spec\":{\"replicas\":4}}",
		  { .replicas = 4, .labeled = 3, .ready = 2, .available = 1, .terminating = 5 },
		  NULL,
		  "{\"replicas\":4,\"fullyLabeledReplicas\":3,\"readyReplicas\":2,"
		  "\"availableReplicas\":1,\"terminatingReplicas\":5}" },
		{ "{\"status\":{\"readyReplicas\":3," NOTHING "}}", { 0 }, NULL, "{" NOTHING "}" },
		{ "{\"spec\":{\"replicas\":1}}",
		  { 0 },
		  "quota",
		  "{" NOTHING "," FAILED("FailedCreate", "quota") "}" },
		{ "{\"spec\":{\"replicas\":0}}",
		  { .replicas = 1 },
		  "no",
		  "{\"replicas\":1,\"terminatingReplicas\":0," FAILED("FailedDelete", "no") "}" },
		/* The first failure stays until a step succeeds. */
		{ "{\"spec\":{\"replicas\":1},\"status\":{" NOTHING
		  "," FAILED("FailedCreate", "quota") "}}",
		  { 0 },
		  "another",
		  NULL },
		{ "{\"spec\":{\"replicas\":1},\"status\":{" NOTHING
		  "," FAILED("FailedCreate", "quota") "}}",
		  { 0 },
		  NULL,
		  "{" NOTHING "}" },
		/* Nonsense. */
		{ "{\"status\":[7],\"metadata\":7}", { 0 }, NULL, "{" NOTHING "}" },
		{ "{\"status\":{\"conditions\":7," NOTHING "}}",
		  { 0 },
		  "quota",
		  "{" NOTHING "," FAILED("FailedCreate", "quota") "}" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json *status = replica_set_status(
			&a, tree_of(&a, cases[i].set), &cases[i].counts, str_from(cases[i].failure),
			true, 9 * SECOND);

		if (!cases[i].expected)
			assert_null(status);
		else if (!json_equal(status, tree_of(&a, cases[i].expected)))
			fail_msg("case %zu", i);
		arena_clear(&a);
	}
	arena_release(&a);
}

/* While pods that were created are not in the cache, the counts are not those of the new size. */
static void an_early_status_keeps_its_generation(void **state UNUSED)
{
	struct replica_counts none = { 0 };
	struct json *set, *status;
	struct arena a;

	arena_init(&a, MIB);
	set = tree_of(&a, "{\"metadata\":{\"generation\":3},\"spec\":{\"replicas\":0},"
			  "\"status\":{" NOTHING ",\"observedGeneration\":1}}");
	assert_null(replica_set_status(&a, set, &none, STR_NULL, false, 9 * SECOND));
	status = replica_set_status(&a, set, &none, STR_NULL, true, 9 * SECOND);
	assert_int_equal(json_i64_at(status, "observedGeneration", 0), 3);
	arena_release(&a);
}

static void crowded_nodes_lose_pods_first(void **state UNUSED)
{
	enum { PODS = 3, RELATED = 5 };
	static const char *const texts[RELATED] = {
		"{\"metadata\":{\"uid\":\"a\"},\"spec\":{\"nodeName\":\"n1\"}}",
		"{\"metadata\":{\"uid\":\"b\"},\"spec\":{\"nodeName\":\"n2\"}}",
		"{\"metadata\":{\"uid\":\"c\"},\"spec\":{\"nodeName\":\"n3\"}}",
		"{\"metadata\":{\"uid\":\"d\"},\"spec\":{\"nodeName\":\"n2\"}}",
		("{\"metadata\":{\"uid\":\"e\"},\"spec\":{\"nodeName\":\"n1\"},"
		 "\"status\":{\"phase\":\"Failed\"}}"),
	};
	const struct json *trees[RELATED];
	struct pod_rank ranks[PODS];
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < RELATED; i++)
		trees[i] = tree_of(&a, texts[i]);
	for (size_t i = 0; i < PODS; i++)
		ranks[i] = (struct pod_rank){ .pod = trees[i] };
	replica_pods_rank(ranks, PODS, trees, RELATED);
	assert_int_equal(ranks[0].beside, 1);
	assert_int_equal(ranks[1].beside, 2);
	replica_pods_sort(ranks, PODS);
	assert_ptr_equal(ranks[0].pod, trees[1]);
	/* Without related pods nothing is crowded. */
	replica_pods_rank(ranks, PODS, NULL, 0);
	assert_int_equal(ranks[0].beside, 0);
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_bounded),
		cmocka_unit_test(pods_are_counted),
		cmocka_unit_test(the_next_check_is_for_the_first_pod),
		cmocka_unit_test(statuses_follow_counts_and_failures),
		cmocka_unit_test(an_early_status_keeps_its_generation),
		cmocka_unit_test(crowded_nodes_lose_pods_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

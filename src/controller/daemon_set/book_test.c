/*
 * The book of nodes and pods: what counts as a change, and the places in the order of their names.
 */
#include "controller/daemon_set/book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "client/informer/cached.h"

#define REF                                                                          \
	"\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"name\":\"d\",\"uid\":\"u\"," \
	"\"controller\":"                                                            \
	"true}]"
#define ON(node) "\"spec\":{\"nodeName\":\"" node "\"}"
#define FOR(node)                                                                             \
	"\"spec\":{\"affinity\":{\"nodeAffinity\":{"                                          \
	"\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{"        \
	"\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"" node \
	"\"]}]}]}}}}"

static struct cached *object(const char *name, const char *meta, const char *rest)
{
	char text[2048];
	struct cached *o;

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\"%s%s,\"uid\":\"u-%s\"}%s%s}", name,
		       meta[0] ? "," : "", meta, name, rest[0] ? "," : "", rest);
	assert_int_equal(cached_new(str_from(text), NULL, &o, NULL), 0);
	return o;
}

static bool put_pod(struct daemon_book *b, const char *name, const char *meta, const char *rest)
{
	struct cached *o = object(name, meta, rest);
	bool changed = daemon_book_pod_put(b, o);

	cached_unref(o);
	return changed;
}

static void put_node(struct daemon_book *b, const char *name, const char *meta)
{
	struct cached *o = object(name, meta, "");

	daemon_book_node_free(daemon_book_node_put(b, daemon_book_node_read(o)));
	cached_unref(o);
}

/* "n1:p1,p2 n2: (gone):p3" */
static void assert_places(const struct daemon_book *b, const char *expected)
{
	struct daemon_rules rules = { .tolerations = NULL };
	struct buf out = BUF_INIT(MIB);
	struct daemon_place *places;
	struct arena a;
	size_t n;

	arena_init(&a, MIB);
	n = daemon_book_places(b, &a, STR("u"), &rules, &places);
	for (size_t i = 0; i < n; i++) {
		(void)buf_printf(&out, "%s%.*s%s:", i ? " " : "", STR_ARG(places[i].node),
				 places[i].exists ? "" : "(gone)");
		for (size_t k = 0; k < places[i].n; k++)
			(void)buf_printf(&out, "%s%.*s", k ? "," : "",
					 STR_ARG(places[i].pods[k]->name));
	}
	assert_string_equal(out.n ? out.p : "", expected);
	buf_release(&out);
	arena_release(&a);
}

static void places_are_nodes_and_strange_pods(void **state UNUSED)
{
	struct daemon_book b;

	daemon_book_init(&b);
	assert_places(&b, "");
	put_node(&b, "n2", "");
	put_node(&b, "n10", "");
	put_node(&b, "n1", "");
	assert_true(put_pod(&b, "p1", REF, ON("n1")));
	assert_true(put_pod(&b, "p3", REF, ON("n3")));
	assert_true(put_pod(&b, "p0", REF, FOR("n0")));
	assert_true(put_pod(&b, "p2", REF, FOR("n1")));
	assert_true(put_pod(&b, "nowhere", REF, ""));
	assert_false(put_pod(&b, "other", "", ON("n1")));
	assert_places(&b, "n0(gone):p0 n1:p1,p2 n10: n2: n3(gone):p3");
	assert_true(daemon_book_has_pod(&b, STR("u"), STR("n1")));
	assert_false(daemon_book_has_pod(&b, STR("u"), STR("n10")));
	assert_false(daemon_book_has_pod(&b, STR("u"), STR("n")));
	assert_false(daemon_book_has_pod(&b, STR("x"), STR("n1")));
	daemon_book_node_free(daemon_book_node_remove(&b, STR("n1")));
	daemon_book_pod_remove(&b, STR("p3"));
	daemon_book_pod_remove(&b, STR("p3"));
	assert_places(&b, "n0(gone):p0 n1(gone):p1,p2 n10: n2:");
	daemon_book_release(&b);
}

static void only_what_counts_is_a_change(void **state UNUSED)
{
#define READY(status)                                                                        \
	ON("n1")                                                                             \
	",\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":" \
	"\"" status "\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}"
	static const struct {
		const char *meta, *rest;
		bool changes;
	} steps[] = {
		{ REF, FOR("n1"), true },
		{ REF, FOR("n1"), false },
		{ REF, ON("n1"), true },
		{ REF ",\"annotations\":{\"a\":\"b\"}", ON("n1"), false },
		{ REF, READY("False"), false },
		{ REF, READY("True"), true },
		{ REF ",\"labels\":{\"controller-revision-hash\":\"h\"}", READY("True"), true },
		{ REF ",\"labels\":{\"controller-revision-hash\":\"h\"}", READY("True"), false },
		{ REF ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", READY("True"), true },
		{ "", READY("True"), true },
		{ "", READY("True"), false },
		{ "\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"d\",\"uid\":\"u\","
		  "\"controller\":true}]",
		  READY("True"), false },
	};
	struct daemon_book b;

	daemon_book_init(&b);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (put_pod(&b, "p", steps[i].meta, steps[i].rest) != steps[i].changes)
			fail_msg("step %zu", i);
	}
	assert_places(&b, "");
	daemon_book_release(&b);
}

static void ended_pods_that_go_do_not_count(void **state UNUSED)
{
	struct daemon_book b;

	daemon_book_init(&b);
	put_node(&b, "n1", "");
	assert_true(put_pod(&b, "p", REF ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"",
			    ON("n1") ",\"status\":{\"phase\":\"Failed\"}"));
	assert_places(&b, "n1:");
	assert_false(daemon_book_has_pod(&b, STR("u"), STR("n1")));
	daemon_book_release(&b);
}

static void labels_of_live_pods_are_in_use(void **state UNUSED)
{
	struct daemon_book b;

	daemon_book_init(&b);
	(void)put_pod(&b, "p", REF ",\"labels\":{\"controller-revision-hash\":\"h\"}", ON("n1"));
	assert_true(daemon_book_uses(&b, STR("u"), STR("h")));
	assert_false(daemon_book_uses(&b, STR("u"), STR("i")));
	assert_false(daemon_book_uses(&b, STR("v"), STR("h")));
	daemon_book_release(&b);
}

static void nonsense_has_no_node(void **state UNUSED)
{
	static const char *const specs[] = {
		("\"spec\":{\"nodeName\":{}},\"status\":{\"conditions\":[7,{\"type\":5}],"
		 "\"phase\":[]}"),
		"\"spec\":{\"affinity\":[]},\"status\":{\"conditions\":7}",
		"\"spec\":7",
	};
	struct daemon_book b;

	daemon_book_init(&b);
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		(void)put_pod(&b, "p", REF, specs[i]);
	put_node(&b, "n1", "\"labels\":[7]");
	assert_places(&b, "n1:");
	daemon_book_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_nodes_and_strange_pods),
		cmocka_unit_test(only_what_counts_is_a_change),
		cmocka_unit_test(ended_pods_that_go_do_not_count),
		cmocka_unit_test(labels_of_live_pods_are_in_use),
		cmocka_unit_test(nonsense_has_no_node),
	};

	return cmocka_run_group_tests_name("controller/daemon_book", tests, NULL, NULL);
}

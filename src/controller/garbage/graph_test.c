/*
 * The graph alone: the requests caused by each event, and the graph's content afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "controller/garbage/decide.h"
#include "controller/garbage/graph.h"

/* The requests: "d:UID ", "l:UID " (later), "o:UID ", "n:UID " (invalid namespace). */
struct bench {
	struct garbage_graph *g;
	struct buf log;
};

static void attempt_delete(void *arg, struct str uid, bool later)
{
	(void)buf_printf(&((struct bench *)arg)->log, "%c:%.*s ", later ? 'l' : 'd', STR_ARG(uid));
}

static void attempt_orphan(void *arg, struct str uid)
{
	(void)buf_printf(&((struct bench *)arg)->log, "o:%.*s ", STR_ARG(uid));
}

static void invalid_namespace(void *arg, const struct garbage_edge *e)
{
	(void)buf_printf(&((struct bench *)arg)->log, "n:%.*s ", STR_ARG(e->dependent->uid));
}

static const struct garbage_graph_ops ops = { attempt_delete, attempt_orphan, invalid_namespace };

static void bench_init(struct bench *b)
{
	b->g = garbage_graph_new(&ops, b);
	buf_init(&b->log, KIB);
}

static void bench_release(struct bench *b)
{
	garbage_graph_free(b->g);
	buf_release(&b->log);
}

static void assert_asked(struct bench *b, const char *want)
{
	assert_string_equal(b->log.n ? b->log.p : "", want);
	buf_clear(&b->log);
}

static struct garbage_owner owner(const char *kind, const char *uid)
{
	return (struct garbage_owner){ STR("v1"), str_from(kind), str_from(uid), str_from(uid),
				       .blocking = true };
}

static struct garbage_object object(const char *ns, const char *uid)
{
	return (struct garbage_object){ .api_version = STR("v1"),
					.kind = STR("A"),
					.ns = str_from(ns),
					.name = str_from(uid),
					.uid = str_from(uid) };
}

static void see(struct bench *b, const char *ns, const char *uid,
		const struct garbage_owner *owners, size_t n)
{
	struct garbage_object o = object(ns, uid);

	o.owners = owners;
	o.nowners = n;
	garbage_graph_observe(b->g, &o);
}

static struct garbage_identity identity(const char *kind, const char *ns, const char *uid)
{
	return (struct garbage_identity){ STR("v1"), str_from(kind), str_from(ns), str_from(uid),
					  str_from(uid) };
}

/* --- events ---------------------------------------------------------------------------------- */

static void an_owner_that_was_not_seen_is_asked_for_once(void **state UNUSED)
{
	struct garbage_owner x = owner("A", "x");
	struct bench b;

	bench_init(&b);
	see(&b, "n", "one", &x, 1);
	see(&b, "n", "two", &x, 1);
	assert_asked(&b, "d:x ");
	see(&b, "n", "x", NULL, 0);
	assert_asked(&b, "");
	assert_false(garbage_graph_find(b.g, STR("x"))->virt);
	/* The same event again causes no request. */
	see(&b, "n", "one", &x, 1);
	assert_asked(&b, "");
	bench_release(&b);
}

static void with_an_owner_its_dependents_are_looked_at(void **state UNUSED)
{
	struct garbage_owner x = owner("A", "x");
	struct bench b;

	bench_init(&b);
	see(&b, "n", "x", NULL, 0);
	see(&b, "n", "one", &x, 1);
	see(&b, "n", "two", &x, 1);
	garbage_graph_deleted(b.g, STR("x"));
	assert_asked(&b, "d:one d:two ");
	assert_true(garbage_graph_is_absent(b.g, &x, STR("n")));
	assert_null(garbage_graph_find(b.g, STR("x")));
	garbage_graph_deleted(b.g, STR("one"));
	garbage_graph_deleted(b.g, STR("two"));
	assert_int_equal(garbage_graph_count(b.g), 0);
	bench_release(&b);
}

static void deletion_in_the_foreground_asks_for_dependents_and_then_the_owner(void **state UNUSED)
{
	struct garbage_owner x = owner("A", "x");
	struct garbage_object o = object("n", "x");
	struct bench b;

	bench_init(&b);
	garbage_graph_observe(b.g, &o);
	see(&b, "n", "one", &x, 1);
	o.deleting = o.foreground = true;
	garbage_graph_observe(b.g, &o);
	assert_asked(&b, "d:one d:x ");
	garbage_graph_observe(b.g, &o);
	assert_asked(&b, "");
	garbage_graph_deleted(b.g, STR("one"));
	assert_asked(&b, "d:x ");
	assert_false(garbage_node_is_blocked(garbage_graph_find(b.g, STR("x"))));
	bench_release(&b);
}

static void a_reference_that_does_not_block_any_more_frees_the_owner(void **state UNUSED)
{
	struct garbage_owner x = owner("A", "x");
	struct bench b;

	bench_init(&b);
	see(&b, "n", "x", NULL, 0);
	see(&b, "n", "one", &x, 1);
	x.blocking = false;
	see(&b, "n", "one", &x, 1);
	assert_asked(&b, "d:x ");
	see(&b, "n", "one", NULL, 0);
	assert_asked(&b, "");
	assert_true(list_empty(&garbage_graph_find(b.g, STR("x"))->dependents));
	bench_release(&b);
}

static void orphaning_is_asked_for_once(void **state UNUSED)
{
	struct garbage_object o = object("n", "x");
	struct bench b;

	bench_init(&b);
	o.deleting = o.orphan = true;
	garbage_graph_observe(b.g, &o);
	garbage_graph_observe(b.g, &o);
	assert_asked(&b, "o:x ");
	bench_release(&b);
}

/* --- identities ------------------------------------------------------------------------------ */

static void an_owner_in_another_namespace_is_told_and_looked_at(void **state UNUSED)
{
	struct garbage_owner x = owner("A", "x");
	struct bench b;

	bench_init(&b);
	see(&b, "there", "x", NULL, 0);
	see(&b, "here", "one", &x, 1);
	assert_asked(&b, "n:one d:one ");
	bench_release(&b);
	/* The same if the dependent is seen first. */
	bench_init(&b);
	see(&b, "here", "one", &x, 1);
	see(&b, "there", "x", NULL, 0);
	assert_asked(&b, "d:x n:one d:one ");
	bench_release(&b);
}

static void dependents_that_disagree_have_each_of_their_owners_looked_for(void **state UNUSED)
{
	struct garbage_owner a = owner("A", "x"), z = owner("Z", "x");
	struct garbage_identity who;
	struct bench b;

	bench_init(&b);
	see(&b, "n", "one", &a, 1);
	see(&b, "n", "two", &z, 1);
	assert_asked(&b, "d:x d:two ");
	who = identity("A", "n", "x");
	garbage_graph_absent(b.g, &who);
	/* The dependent that meant it is checked; the other's owner is looked up next. */
	assert_asked(&b, "d:one l:x ");
	assert_true(str_eq(garbage_graph_find(b.g, STR("x"))->kind->kind, STR("Z")));
	garbage_graph_deleted(b.g, STR("one"));
	who = identity("Z", "n", "x");
	garbage_graph_absent(b.g, &who);
	assert_asked(&b, "d:two ");
	assert_null(garbage_graph_find(b.g, STR("x")));
	bench_release(&b);
}

static void one_that_was_seen_is_not_taken_out_for_another_of_its_uid(void **state UNUSED)
{
	struct garbage_owner z = owner("Z", "x");
	struct garbage_identity who = identity("Z", "n", "x");
	struct bench b;

	bench_init(&b);
	see(&b, "n", "x", NULL, 0);
	see(&b, "n", "one", &z, 1);
	assert_asked(&b, "d:one ");
	garbage_graph_absent(b.g, &who);
	assert_asked(&b, "d:one ");
	assert_non_null(garbage_graph_find(b.g, STR("x")));
	bench_release(&b);
}

/* --- deciding -------------------------------------------------------------------------------- */

/* Owners as letters: solid, dangling, waiting. */
static enum garbage_class class_of(char letter)
{
	return letter == 's' ? GARBAGE_SOLID : letter == 'd' ? GARBAGE_DANGLING : GARBAGE_WAITING;
}

static void the_owners_decide_what_happens_to_an_object(void **state UNUSED)
{
	static const struct {
		const char *owners;
		bool dependents, waits;
		enum garbage_action want;
	} cases[] = {
		{ "", false, false, GARBAGE_KEEP },
		{ "s", true, false, GARBAGE_KEEP },
		{ "ss", false, false, GARBAGE_KEEP },
		{ "sd", false, false, GARBAGE_UNREFER },
		{ "ws", true, true, GARBAGE_UNREFER },
		{ "d", true, false, GARBAGE_DELETE },
		{ "ddd", false, false, GARBAGE_DELETE },
		{ "w", false, false, GARBAGE_DELETE },
		{ "w", true, false, GARBAGE_FOREGROUND },
		{ "wd", true, false, GARBAGE_FOREGROUND },
		{ "w", true, true, GARBAGE_UNBLOCK_FOREGROUND },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum garbage_class owners[3];
		struct garbage_facts f = { owners, strlen(cases[i].owners), cases[i].dependents,
					   cases[i].waits };

		for (size_t k = 0; k < f.nowners; k++)
			owners[k] = class_of(cases[i].owners[k]);
		assert_int_equal(garbage_decide(&f), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_owner_that_was_not_seen_is_asked_for_once),
		cmocka_unit_test(with_an_owner_its_dependents_are_looked_at),
		cmocka_unit_test(deletion_in_the_foreground_asks_for_dependents_and_then_the_owner),
		cmocka_unit_test(a_reference_that_does_not_block_any_more_frees_the_owner),
		cmocka_unit_test(orphaning_is_asked_for_once),
		cmocka_unit_test(an_owner_in_another_namespace_is_told_and_looked_at),
		cmocka_unit_test(dependents_that_disagree_have_each_of_their_owners_looked_for),
		cmocka_unit_test(one_that_was_seen_is_not_taken_out_for_another_of_its_uid),
		cmocka_unit_test(the_owners_decide_what_happens_to_an_object),
	};

	return cmocka_run_group_tests_name("controller/garbage_graph", tests, NULL, NULL);
}

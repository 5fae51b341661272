/*
 * The rules for pods' claims: users of a claim and the consequences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "controller/pod_claims/decide.h"
#include "controller/pod_claims/gone.h"

/* Parses text with ' for "; lives in the arena. */
static struct json *tree(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, str_from(text));
	struct json *v;

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	if (json_parse(a, str_from(copy), NULL, &v, NULL) < 0)
		fail_msg("no JSON: %s", copy);
	return v;
}

static void assert_json(const struct json *v, const char *expected)
{
	struct buf out = BUF_INIT(MIB);
	struct arena a;

	arena_init(&a, MIB);
	(void)json_print(&out, v, NULL);
	if (!json_equal(v, tree(&a, expected)))
		fail_msg("expected %s, got %s", expected, out.p);
	arena_release(&a);
	buf_release(&out);
}

/* --- pods ------------------------------------------------------------------------------------ */

static void a_pod_is_done_when_it_ended_or_never_began(void **state UNUSED)
{
	static const struct {
		const char *pod;
		bool done;
	} rows[] = {
		{ "{}", false },
		{ "{'status':{'phase':'Running'}}", false },
		{ "{'status':{'phase':'Succeeded'}}", true },
		{ "{'status':{'phase':'Failed'},'spec':{'nodeName':'n'}}", true },
		{ "{'metadata':{'deletionTimestamp':'t'}}", true },
		{ "{'metadata':{'deletionTimestamp':'t'},'spec':{'nodeName':'n'}}", false },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (pod_claims_pod_done(tree(&a, rows[i].pod)) != rows[i].done)
			fail_msg("%s", rows[i].pod);
	}
	arena_release(&a);
}

/* --- created claims -------------------------------------------------------------------------- */

static void the_patch_tells_what_is_new_beside_what_was_told(void **state UNUSED)
{
	struct pod_claims_made second = { NULL, STR("b"), STR("p-b-2") };
	struct pod_claims_made first = { &second, STR("a"), STR("p-a-2") };
	struct arena a;

	arena_init(&a, MIB);
	assert_json(pod_claims_status_patch(
			    &a,
			    tree(&a, "{'metadata':{'uid':'u'},'status':{'resourceClaimStatuses':["
				     "{'name':'a','resourceClaimName':'p-a-1'},{'name':'none'},"
				     "{'name':'c','resourceClaimName':'p-c-1'}]}}"),
			    &first),
		    "{'metadata':{'uid':'u'},'status':{'resourceClaimStatuses':["
		    "{'name':'a','resourceClaimName':'p-a-2'},{'name':'none'},"
		    "{'name':'c','resourceClaimName':'p-c-1'},"
		    "{'name':'b','resourceClaimName':'p-b-2'}]}}");
	arena_release(&a);
}

/* --- users of a claim ------------------------------------------------------------------------ */

#define POD_ENTRY "{'resource':'pods','name':'p','uid':'u'}"

static void a_user_counts_while_its_pod_may_run(void **state UNUSED)
{
	static const struct {
		const char *entry, *pod;
		bool gone, asked;
		enum pod_claims_verdict verdict;
	} rows[] = {
		{ POD_ENTRY, "{'metadata':{'uid':'u'}}", false, false, POD_CLAIMS_KEEP },
		{ POD_ENTRY, "{'metadata':{'uid':'u'},'status':{'phase':'Failed'}}", false, false,
		  POD_CLAIMS_DROP },
		{ POD_ENTRY, "{'metadata':{'uid':'u','deletionTimestamp':'t'}}", false, false,
		  POD_CLAIMS_DROP },
		{ POD_ENTRY,
		  "{'metadata':{'uid':'u','deletionTimestamp':'t'},'spec':{'nodeName':'n'}}", false,
		  false, POD_CLAIMS_KEEP },
		/* Only the server knows whether that one is older or newer. */
		{ POD_ENTRY, "{'metadata':{'uid':'v'}}", false, false, POD_CLAIMS_ASK },
		{ POD_ENTRY, "{'metadata':{'uid':'v'}}", false, true, POD_CLAIMS_DROP },
		{ POD_ENTRY, "{'metadata':{'uid':'v'}}", true, false, POD_CLAIMS_DROP },
		{ POD_ENTRY, NULL, false, false, POD_CLAIMS_ASK },
		{ POD_ENTRY, NULL, false, true, POD_CLAIMS_DROP },
		{ POD_ENTRY, "{'metadata':{'uid':'u'}}", false, true, POD_CLAIMS_KEEP },
		{ POD_ENTRY, NULL, true, false, POD_CLAIMS_DROP },
		/* Unknown users are kept. */
		{ "{'apiGroup':'scheduling.k8s.io','resource':'podgroups','name':'p','uid':'u'}",
		  NULL, true, false, POD_CLAIMS_KEEP },
		{ "{'resource':'others','name':'p','uid':'u'}", NULL, true, true, POD_CLAIMS_KEEP },
		{ "{'apiGroup':'example.com','resource':'pods','name':'p','uid':'u'}", NULL, true,
		  true, POD_CLAIMS_KEEP },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum pod_claims_verdict v = pod_claims_judge(
			tree(&a, rows[i].entry), rows[i].gone,
			rows[i].pod ? tree(&a, rows[i].pod) : NULL, rows[i].asked);

		if (v != rows[i].verdict)
			fail_msg("row %zu: %d", i, (int)v);
	}
	arena_release(&a);
}

#define FINALIZER "'finalizers':['resource.kubernetes.io/delete-protection']"
#define TWO       "'reservedFor':[{'uid':'1'},{'uid':'2'}]"

static void the_users_of_a_claim_decide_what_happens_to_it(void **state UNUSED)
{
	static const enum pod_claims_verdict none[] = { POD_CLAIMS_KEEP, POD_CLAIMS_KEEP };
	static const enum pod_claims_verdict first[] = { POD_CLAIMS_DROP, POD_CLAIMS_KEEP };
	static const enum pod_claims_verdict all[] = { POD_CLAIMS_DROP, POD_CLAIMS_DROP };
	static const struct {
		const char *meta, *status;
		const enum pod_claims_verdict *verdicts;
		struct pod_claims_plan plan;
		const char *after;
	} rows[] = {
		{ FINALIZER, "'allocation':{}," TWO, none, { 0 }, "'allocation':{}," TWO },
		{ FINALIZER,
		  "'allocation':{}," TWO,
		  first,
		  { .write_status = true, .drop_finalizer = true },
		  "'allocation':{},'reservedFor':[{'uid':'2'}]" },
		{ FINALIZER,
		  "'allocation':{}," TWO,
		  all,
		  { .write_status = true, .drop_finalizer = true, .unused = true },
		  "" },
		/* Without our finalizer the allocation is not ours to remove. */
		{ "'finalizers':['x']",
		  "'allocation':{}," TWO,
		  all,
		  { .write_status = true, .unused = true },
		  "'allocation':{}" },
		/* A claim that was never used stays allocated. */
		{ FINALIZER, "'allocation':{}", none, { .unused = true }, "'allocation':{}" },
		{ FINALIZER ",'deletionTimestamp':'t'",
		  "'allocation':{}",
		  none,
		  { .write_status = true, .drop_finalizer = true, .unused = true },
		  "" },
		{ FINALIZER ",'deletionTimestamp':'t'",
		  "",
		  none,
		  { .drop_finalizer = true, .unused = true },
		  "" },
		{ FINALIZER ",'deletionTimestamp':'t'",
		  "'allocation':{}," TWO,
		  none,
		  { 0 },
		  "'allocation':{}," TWO },
		{ "'deletionTimestamp':'t'",
		  "'allocation':{}",
		  none,
		  { .unused = true },
		  "'allocation':{}" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *claim = tree(&a, arena_printf(&a, "{'metadata':{%s},'status':{%s}}",
							   rows[i].meta, rows[i].status));
		struct pod_claims_plan p = pod_claims_settle(claim, rows[i].verdicts);

		if (p.write_status != rows[i].plan.write_status ||
		    p.drop_finalizer != rows[i].plan.drop_finalizer ||
		    p.unused != rows[i].plan.unused)
			fail_msg("row %zu: %d %d %d", i, p.write_status, p.drop_finalizer,
				 p.unused);
		assert_json(json_getz(claim, "status"), arena_printf(&a, "{%s}", rows[i].after));
	}
	arena_release(&a);
}

static void a_claim_without_status_is_unused(void **state UNUSED)
{
	struct pod_claims_plan p;
	struct arena a;

	arena_init(&a, MIB);
	p = pod_claims_settle(tree(&a, "{'metadata':{" FINALIZER ",'deletionTimestamp':'t'}}"),
			      NULL);
	assert_true(p.unused && p.drop_finalizer && !p.write_status);
	arena_release(&a);
}

static void only_our_finalizer_goes(void **state UNUSED)
{
	struct json *claim;
	struct arena a;

	arena_init(&a, MIB);
	claim = tree(&a,
		     "{'metadata':{'finalizers':['a','resource.kubernetes.io/delete-protection',"
		     "'b']}}");
	assert_true(pod_claims_has_finalizer(claim));
	pod_claims_drop_finalizer(claim);
	assert_json(claim, "{'metadata':{'finalizers':['a','b']}}");
	assert_false(pod_claims_has_finalizer(claim));
	arena_release(&a);
}

static void an_allocated_claim_is_reserved_once(void **state UNUSED)
{
	struct json *claim;
	struct arena a;

	arena_init(&a, MIB);
	assert_false(pod_claims_wants_reservation(tree(&a, "{'status':{}}"), STR("u")));
	claim = tree(&a, "{'status':{'allocation':{}}}");
	assert_true(pod_claims_wants_reservation(claim, STR("u")));
	pod_claims_reserve(&a, claim, tree(&a, "{'metadata':{'name':'p','uid':'u'}}"));
	assert_false(pod_claims_wants_reservation(claim, STR("u")));
	assert_true(pod_claims_wants_reservation(claim, STR("v")));
	assert_json(claim, "{'status':{'allocation':{},'reservedFor':[" POD_ENTRY "]}}");
	arena_release(&a);
}

#define OWNED(more)                                                            \
	"{'metadata':{" more                                                   \
	"'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p','uid':" \
	"'u','controller':true}]}}"

static void an_unused_claim_goes_when_its_pod_is_done_with_it(void **state UNUSED)
{
	static const struct {
		const char *claim, *pod;
		bool asked;
		enum pod_claims_verdict verdict;
	} rows[] = {
		{ OWNED(""), "{'metadata':{'uid':'u'}}", false, POD_CLAIMS_KEEP },
		{ OWNED(""), "{'metadata':{'uid':'v'}}", false, POD_CLAIMS_ASK },
		{ OWNED(""), "{'metadata':{'uid':'v'}}", true, POD_CLAIMS_DROP },
		{ OWNED(""), "{'metadata':{'uid':'u'},'status':{'phase':'Succeeded'}}", false,
		  POD_CLAIMS_DROP },
		{ OWNED(""), NULL, false, POD_CLAIMS_KEEP },
		{ OWNED(""), NULL, true, POD_CLAIMS_KEEP },
		{ OWNED("'deletionTimestamp':'t',"), "{'metadata':{'uid':'v'}}", true,
		  POD_CLAIMS_KEEP },
		{ "{'metadata':{}}", "{'metadata':{'uid':'v'}}", true, POD_CLAIMS_KEEP },
		{ "{'metadata':{'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'p',"
		  "'uid':'u'}]}}",
		  "{'metadata':{'uid':'v'}}", true, POD_CLAIMS_KEEP },
		{ "{'metadata':{'ownerReferences':[{'apiVersion':'apps/v1','kind':'Pod','name':'p',"
		  "'uid':'u','controller':true}]}}",
		  "{'metadata':{'uid':'v'}}", true, POD_CLAIMS_KEEP },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum pod_claims_verdict v = pod_claims_judge_unused(
			tree(&a, rows[i].claim), rows[i].pod ? tree(&a, rows[i].pod) : NULL,
			rows[i].asked);

		if (v != rows[i].verdict)
			fail_msg("row %zu", i);
	}
	arena_release(&a);
}

static void the_oldest_of_many_that_went_is_forgotten(void **state UNUSED)
{
	struct pod_claims_gone g;
	char uid[16];

	pod_claims_gone_init(&g);
	pod_claims_gone_add(&g, STR_NULL);
	for (int i = 0; i < POD_CLAIMS_GONE_MAX; i++) {
		(void)snprintf(uid, sizeof(uid), "u%d", i);
		pod_claims_gone_add(&g, str_from(uid));
		pod_claims_gone_add(&g, str_from(uid));
	}
	/* It was looked up, so it is no longer the oldest. */
	assert_true(pod_claims_gone_has(&g, STR("u0")));
	pod_claims_gone_add(&g, STR("one more"));
	assert_true(pod_claims_gone_has(&g, STR("u0")));
	assert_false(pod_claims_gone_has(&g, STR("u1")));
	assert_true(pod_claims_gone_has(&g, STR("u2")));
	assert_int_equal(g.entries.n, POD_CLAIMS_GONE_MAX);
	pod_claims_gone_release(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_done_when_it_ended_or_never_began),
		cmocka_unit_test(the_patch_tells_what_is_new_beside_what_was_told),
		cmocka_unit_test(a_user_counts_while_its_pod_may_run),
		cmocka_unit_test(the_users_of_a_claim_decide_what_happens_to_it),
		cmocka_unit_test(a_claim_without_status_is_unused),
		cmocka_unit_test(only_our_finalizer_goes),
		cmocka_unit_test(an_allocated_claim_is_reserved_once),
		cmocka_unit_test(an_unused_claim_goes_when_its_pod_is_done_with_it),
		cmocka_unit_test(the_oldest_of_many_that_went_is_forgotten),
	};

	return cmocka_run_group_tests_name("controller/pod_claims_decide", tests, NULL, NULL);
}

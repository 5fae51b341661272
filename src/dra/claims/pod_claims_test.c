/*
 * Which claims a pod refers to, names of claims, and templates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "dra/claims/pod_claims.h"

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

static void assert_str(struct str got, const char *expected)
{
	if (!str_eqz(got, expected))
		fail_msg("expected %s, got %.*s", expected, STR_ARG(got));
}

static void an_entry_leads_to_its_claim(void **state UNUSED)
{
	static const struct {
		const char *entry, *statuses;
		enum pod_claims_ref_state state;
		const char *claim;
	} rows[] = {
		{ "'resourceClaimName':'c'", "", POD_CLAIMS_REF_NAMED, "c" },
		{ "'resourceClaimName':'c'", "{'name':'x','resourceClaimName':'other'}",
		  POD_CLAIMS_REF_NAMED, "c" },
		{ "'resourceClaimTemplateName':'t'", "", POD_CLAIMS_REF_MISSING, "" },
		{ "'resourceClaimTemplateName':'t'", "{'name':'y','resourceClaimName':'made'}",
		  POD_CLAIMS_REF_MISSING, "" },
		{ "'resourceClaimTemplateName':'t'", "{'name':'x','resourceClaimName':'made'}",
		  POD_CLAIMS_REF_NAMED, "made" },
		{ "'resourceClaimTemplateName':'t'", "{'name':'x'}", POD_CLAIMS_REF_UNNEEDED, "" },
		{ "'somethingNew':'t'", "", POD_CLAIMS_REF_UNKNOWN, "" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json *pod = tree(&a, arena_printf(&a,
							 "{'spec':{'resourceClaims':[{'name':'x',"
							 "%s}]},'status':{'resourceClaimStatuses':"
							 "[%s]}}",
							 rows[i].entry, rows[i].statuses));
		struct pod_claims_ref ref = pod_claims_ref_of(
			pod, json_first(json_getz(json_getz(pod, "spec"), "resourceClaims")));

		if (ref.state != rows[i].state)
			fail_msg("row %zu: state %d", i, (int)ref.state);
		assert_str(ref.claim, rows[i].claim);
		assert_str(ref.pod_claim, "x");
	}
	arena_release(&a);
}

#define A30 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B30 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static void long_names_are_shortened_in_proportion(void **state UNUSED)
{
	static const struct {
		const char *pod, *entry, *base;
	} rows[] = {
		{ "web", "gpu", "web-gpu-" },
		/* 57 with both dashes: unchanged. */
		{ A30, "bbbbbbbbbbbbbbbbbbbbbbbbb", A30 "-bbbbbbbbbbbbbbbbbbbbbbbbb-" },
		/* 62: 57/62 of each. */
		{ A30, B30, "aaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbbbbbbb" },
		/* The claim's name is not lost after a pod's name of full length. */
		{ A30 A30 A30, "gpu", A30 "aaaaaaaaaaaaaaaaaaaaaaaa-g" },
		/* A cut after a dot would make an invalid name. */
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaa.aaa", B30,
		  "aaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbbbbbbb" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str base = pod_claims_generate_name(&a, str_from(rows[i].pod),
							   str_from(rows[i].entry));

		assert_str(base, rows[i].base);
		assert_true(base.n <= POD_CLAIMS_BASE_MAX);
	}
	arena_release(&a);
}

static void a_template_becomes_a_claim_of_the_pod(void **state UNUSED)
{
	struct arena a;
	struct json *pod, *template, *claim, *name;

	arena_init(&a, MIB);
	pod = tree(&a, "{'metadata':{'name':'web','namespace':'n','uid':'u1'}}");
	template = tree(&a, "{'metadata':{'name':'t','labels':{'not':'this'}},'spec':{'metadata':{"
			    "'labels':{'l':'1'},'annotations':{'a':'2',"
			    "'resource.kubernetes.io/pod-claim-name':'no'}},'spec':{'devices':{"
			    "'requests':[{'name':'r','exactly':{'deviceClassName':'c'}}]}}}}");
	claim = pod_claims_make(&a, pod, STR("gpu"), template, 0);
	assert_true(pod_claims_made_for(claim, STR("u1"), STR("gpu")));
	assert_false(pod_claims_made_for(claim, STR("u1"), STR("nic")));
	assert_false(pod_claims_made_for(claim, STR("u2"), STR("gpu")));
	name = json_remove(json_getz(claim, "metadata"), STR("name"));
	assert_true(str_starts(json_str(name), STR("web-gpu-")));
	assert_int_equal(json_str(name).n, 13);
	assert_json(claim,
		    "{'apiVersion':'resource.k8s.io/v1','kind':'ResourceClaim','metadata':{"
		    "'generateName':'web-gpu-','namespace':'n','labels':{'l':'1'},'annotations':{"
		    "'a':'2','resource.kubernetes.io/pod-claim-name':'gpu'},'ownerReferences':[{"
		    "'apiVersion':'v1','kind':'Pod','name':'web','uid':'u1','controller':true,"
		    "'blockOwnerDeletion':true}]},'spec':{'devices':{'requests':[{'name':'r',"
		    "'exactly':{'deviceClassName':'c'}}]}}}");
	arena_release(&a);
}

static struct str name_for(struct arena *a, const char *uid, const char *entry, unsigned attempt)
{
	struct json *pod = tree(a, arena_printf(a, "{'metadata':{'name':'p','uid':'%s'}}", uid));
	struct json *claim = pod_claims_make(a, pod, str_from(entry), tree(a, "{'spec':{}}"),
					     attempt);

	return json_text_at(json_getz(claim, "metadata"), "name");
}

static void the_same_claim_gets_the_same_name_and_no_other_does(void **state UNUSED)
{
	struct arena a;

	arena_init(&a, MIB);
	assert_true(str_eq(name_for(&a, "u1", "x", 0), name_for(&a, "u1", "x", 0)));
	assert_false(str_eq(name_for(&a, "u1", "x", 0), name_for(&a, "u2", "x", 0)));
	assert_false(str_eq(name_for(&a, "u1", "x", 0), name_for(&a, "u1", "x", 1)));
	/* Another process, another day, the same name: this must never change. */
	assert_str(name_for(&a, "u1", "x", 0), "p-x-75btt");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_leads_to_its_claim),
		cmocka_unit_test(long_names_are_shortened_in_proportion),
		cmocka_unit_test(a_template_becomes_a_claim_of_the_pod),
		cmocka_unit_test(the_same_claim_gets_the_same_name_and_no_other_does),
	};

	return cmocka_run_group_tests_name("dra/claims_pod_claims", tests, NULL, NULL);
}

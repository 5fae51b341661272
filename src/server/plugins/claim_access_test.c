/*
 * The node of a claim, and the node of a caller; tests/e2e has the consequences.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/json/json.h"
#include "server/core/user.h"
#include "server/plugins/claim_access.h"

#define TERM(fields)   "{\"matchFields\":[" fields "]}"
#define FIELD(values)  "{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[" values "]}"
#define SELECTS(terms) "{\"nodeSelector\":{\"nodeSelectorTerms\":[" terms "]}}"

static void a_claims_node_is_known_in_one_form_only(void **state)
{
	static const struct {
		const char *allocation, *node; /* NULL: none */
	} cases[] = {
		{ SELECTS(TERM(FIELD("\"n1\""))), "n1" },
		{ SELECTS("{\"matchExpressions\":[],\"matchFields\":[" FIELD("\"n1\"") "]}"),
		  "n1" },
		{ "{}", NULL },
		{ "{\"nodeSelector\":{}}", NULL },
		{ SELECTS(""), NULL },
		{ SELECTS("{}"), NULL },
		{ SELECTS(TERM(FIELD("\"n1\"")) "," TERM(FIELD("\"n1\""))), NULL },
		{ SELECTS(TERM(FIELD("\"n1\"") "," FIELD("\"n1\""))), NULL },
		{ SELECTS(TERM(FIELD("\"n1\",\"n2\""))), NULL },
		{ SELECTS(TERM(FIELD(""))), NULL },
		{ SELECTS(TERM(FIELD("\"\""))), NULL },
		{ SELECTS("{\"matchFields\":[" FIELD(
			  "\"n1\"") "],\"matchExpressions\":[{\"key\":\"a\","
				    "\"operator\":\"Exists\"}]}"),
		  NULL },
		{ SELECTS("{\"matchExpressions\":[{\"key\":\"metadata.name\",\"operator\":\"In\","
			  "\"values\":[\"n1\"]}]}"),
		  NULL },
		{ SELECTS(TERM("{\"key\":\"metadata.name\",\"operator\":\"NotIn\",\"values\":["
			       "\"n1\"]}")),
		  NULL },
		{ SELECTS(TERM(
			  "{\"key\":\"metadata.uid\",\"operator\":\"In\",\"values\":[\"n1\"]}")),
		  NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		struct json *allocation = NULL;
		struct str node;

		arena_init(&a, MIB);
		assert_int_equal(
			json_parse(&a, str_from(cases[i].allocation), NULL, &allocation, NULL), 0);
		node = claim_access_node(allocation);
		if (cases[i].node ? !str_eqz(node, cases[i].node) : node.p != NULL)
			fail_msg("%s is on \"%.*s\"", cases[i].allocation, STR_ARG(node));
	}
	assert_null(claim_access_node(NULL).p);
}

static void a_caller_is_on_a_node_by_name_or_by_token(void **state)
{
	static const struct str one[] = { STR("n1") }, two[] = { STR("n1"), STR("n2") },
				bad[] = { STR("N_1") };
	static const struct {
		const char *name;
		const struct str *nodes;
		size_t nnodes;
		bool on_node, account;
		const char *node; /* NULL: none */
	} cases[] = {
		{ "system:serviceaccount:ns:driver", one, 1, true, true, "n1" },
		{ "system:serviceaccount:ns:driver", NULL, 0, false, true, NULL },
		{ "system:serviceaccount:ns:driver", two, 2, true, true, NULL },
		{ "system:serviceaccount:ns:driver", bad, 1, true, true, NULL },
		{ "system:serviceaccount:ns", one, 1, false, false, NULL },
		{ "system:node:n1", NULL, 0, true, false, "n1" },
		{ "system:node:", NULL, 0, true, false, NULL },
		{ "alice", one, 1, false, false, NULL },
		{ "alice", NULL, 0, false, false, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct user_extra extra = { USER_EXTRA_NODE_NAME, cases[i].nodes,
						  cases[i].nnodes };
		const struct user u = { .name = str_from(cases[i].name),
					.extras = &extra,
					.nextras = cases[i].nnodes ? 1 : 0 };
		struct claim_access_place place = claim_access_place(&u);

		if (place.on_node != cases[i].on_node || place.account != cases[i].account ||
		    (cases[i].node ? !str_eqz(place.node, cases[i].node) : place.node.p != NULL))
			fail_msg("%zu: %s is on \"%.*s\"", i, cases[i].name, STR_ARG(place.node));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claims_node_is_known_in_one_form_only),
		cmocka_unit_test(a_caller_is_on_a_node_by_name_or_by_token),
	};

	return cmocka_run_group_tests_name("server/claim_access", tests, NULL, NULL);
}

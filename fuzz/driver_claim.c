/*
 * Any JSON as a claim of a driver's checkpoint and as a ResourceClaim of an API server. A claim
 * from a checkpoint is the same after it is written and read back.
 */
#include "base/core/limits.h"
#include "drivers/prepare/claim.h"
#include "target.h"

static struct str print(struct arena *a, const struct dp_claim *c)
{
	struct buf text = BUF_INIT(64 * MIB);
	struct str copy;

	require(json_print(&text, claim_tree(c, a), NULL) == 0);
	copy = arena_str(a, buf_str(&text));
	buf_release(&text);
	return copy;
}

static void check_checkpoint(struct arena *a, const struct json *tree)
{
	struct dp_claim *c, *again;
	struct json *back;
	struct str text;

	if (claim_from_tree(tree, &c, NULL) < 0)
		return;
	text = print(a, c);
	require(json_parse(a, text, NULL, &back, NULL) == 0);
	require(claim_from_tree(back, &again, NULL) == 0);
	require(str_eq(print(a, again), text));
	claim_free(again);
	claim_free(c);
}

static void check_object(const struct json *tree)
{
	struct dp_claim *c = claim_new(STR("u"), STR("ns"), STR("n"));

	if (claim_read(c, tree, STR("d"), NULL) == 0) {
		for (size_t i = 0; i < dp_claim_count(c); i++) {
			const struct dp_result *r = dp_claim_result(c, i);

			require(r->request && r->pool && r->device && !strchr(r->request, '/'));
			for (uint64_t k = 0; k < r->nconfigs; k++)
				require(r->configs[k]->parameters != NULL);
		}
	}
	claim_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json *tree;
	struct arena a;

	arena_init(&a, 64 * MIB);
	if (json_parse(&a, str_of(data, size), NULL, &tree, NULL) == 0) {
		check_checkpoint(&a, tree);
		check_object(tree);
	}
	arena_release(&a);
	return 0;
}

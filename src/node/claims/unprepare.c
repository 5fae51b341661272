/*
 * Unpreparing. If other pods use a claim, the pod only stops using it. Claims that it was the last
 * to use are marked, so that no pod can begin to use them, and their drivers are called. When all
 * drivers of a claim have succeeded, it is forgotten. Only then the pod's use ends, so that after a
 * failure or a crash the claim is found again by its pod.
 */
#include "node/claims/claims_impl.h"

static bool is_in(struct str uid, const struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(v[i], uid))
			return true;
	}
	return false;
}

/* An operation without a pod handles claims without pods. */
static bool concerns(const struct claims_op *op, const struct assign_claim *claim)
{
	return op->pod_uid.n > 0 ? is_in(op->pod_uid, claim->pods, claim->npods)
				 : claim->npods == 0;
}

/* Copies everything that must outlive changes of the log. */
static void add_item(struct claims_op *op, const struct assign_claim *claim)
{
	struct claims_item *item = &op->items[op->n++];

	item->op = op;
	item->claim = (struct assign_claim){ .uid = arena_str(&op->arena, claim->uid),
					     .ns = arena_str(&op->arena, claim->ns),
					     .name = arena_str(&op->arena, claim->name),
					     .drivers = arena_strs(&op->arena, claim->drivers,
								   claim->ndrivers),
					     .ndrivers = claim->ndrivers };
}

static void unprepare_start(struct claims_op *op)
{
	CLEANUP(arena_release) struct arena a;
	const struct assign *assign = op->claims->opts.assign;
	struct assign_claim claim;
	struct str at = STR_NULL;
	size_t n = 0;

	arena_init(&a, op->arena.max);
	while (assign_claim_next(assign, &at, &a, &claim))
		n += concerns(op, &claim);
	op->items = ARENA_ARRAY(&op->arena, struct claims_item, n);
	for (at = STR_NULL; assign_claim_next(assign, &at, &a, &claim);) {
		if (concerns(op, &claim))
			add_item(op, &claim);
	}
	if (op->n > 0)
		claims_op_ready(op);
	else
		claims_op_end(op);
}

static void go(struct claims_op *op)
{
	CLEANUP(arena_release) struct arena a;
	struct assign *assign = op->claims->opts.assign;
	struct assign_claim claim;

	arena_init(&a, op->arena.max);
	for (size_t i = 0; i < op->n; i++) {
		struct claims_item *item = &op->items[i];

		/* It may have changed while this operation waited. */
		if (!assign_claim_get(assign, item->claim.uid, &a, &claim) || !concerns(op, &claim))
			continue;
		item->asks = claim.npods <= 1;
		if (item->asks)
			assign_claim_set_state(assign, item->claim.uid, ASSIGN_CLAIM_UNPREPARING);
		else
			(void)assign_claim_unuse(assign, item->claim.uid, op->pod_uid);
	}
	claims_op_call(op);
}

static void unprepare_answered(struct claims_item *item UNUSED, struct str driver UNUSED,
			       const struct plugin_claim_result *result UNUSED)
{
}

static void all_answered(struct claims_op *op)
{
	struct claims *c = op->claims;

	for (size_t i = 0; i < op->n; i++) {
		struct claims_item *item = &op->items[i];

		if (!item->asks || item->failed)
			continue;
		(void)assign_claim_unuse(c->opts.assign, item->claim.uid, op->pod_uid);
		assign_claim_forget(c->opts.assign, item->claim.uid);
	}
	claims_op_save(op);
}

const struct claims_op_type claims_unprepare_type = {
	.metric = "UnprepareResources",
	.method = "NodeUnprepareResources",
	.wrap = "unprepare dynamic resources",
	.start = unprepare_start,
	.go = go,
	.answered = unprepare_answered,
	.all_answered = all_answered,
};

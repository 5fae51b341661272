/*
 * Preparing: records the pod as a user of its claims and saves that; calls the drivers of claims
 * that are not prepared yet; records their devices and saves that. A crash at any point leaves a
 * claim in the log. It is then either prepared again with its pod, or unprepared without it.
 */
#include "base/json/json.h"
#include "node/claims/claims_impl.h"

/* --- leftovers of earlier pods --------------------------------------------------------------- */

static bool wants_device(const struct claims_item *item, const struct assign_claim_device *d)
{
	const struct json *results = json_pointer(item->tree,
						  STR("/status/allocation/devices/results"));

	JSON_FOREACH (r, results) {
		if (str_eq(json_text_at(r, "device"), d->device) &&
		    str_eq(json_text_at(r, "pool"), d->pool) &&
		    str_eq(json_text_at(r, "driver"), d->driver))
			return true;
	}
	return false;
}

/* Whether the operation would use the claim itself, or one of its devices. */
static bool meets(const struct claims_op *op, const struct assign_claim *claim)
{
	for (size_t i = 0; i < op->n; i++) {
		if (str_eq(op->items[i].claim.uid, claim->uid))
			return true;
		for (size_t d = 0; d < claim->ndevices; d++) {
			if (wants_device(&op->items[i], &claim->devices[d]))
				return true;
		}
	}
	return false;
}

static bool is_left(const struct claims *c, const struct assign_claim *claim)
{
	for (size_t i = 0; i < claim->npods; i++) {
		if (c->opts.pod_here(c->opts.arg, claim->pods[i]))
			return false;
	}
	return true;
}

/*
 * The log may have claims of pods that have ended: the disk was full at that time, and then the
 * agent restarted. Meanwhile the scheduler may have given their devices to other claims, and other
 * devices to the claims. They must be unprepared first.
 */
static int check_left(const struct claims_op *op, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct claims *c = op->claims;
	struct assign_claim claim;
	struct str at = STR_NULL;

	arena_init(&a, op->arena.max);
	while (c->opts.pod_here && assign_claim_next(c->opts.assign, &at, &a, &claim)) {
		if (!is_left(c, &claim) || !meets(op, &claim))
			continue;
		claims_reconcile(c);
		return error_set(err, ERR_CONFLICT,
				 "ResourceClaim %.*s of a pod that has ended is not unprepared yet",
				 STR_ARG(claim.name));
	}
	return 0;
}

/* --- preparing ------------------------------------------------------------------------------- */

/*
 * An earlier agent died while it unprepared the claim for this same pod, which had ended from its
 * point of view. For this agent the pod has not ended, and no other operation will unprepare the
 * claim. So the claim is prepared again.
 */
static void come_back(struct claims_op *op, const struct assign_claim *known)
{
	if (known->state == ASSIGN_CLAIM_UNPREPARING && known->npods == 1 &&
	    str_eq(known->pods[0], op->pod_uid))
		assign_claim_set_state(op->claims->opts.assign, known->uid, ASSIGN_CLAIM_PREPARING);
}

static int use_all(struct claims_op *op, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct assign *assign = op->claims->opts.assign;
	struct assign_claim known;

	arena_init(&a, op->arena.max);
	for (size_t i = 0; i < op->n; i++) {
		struct claims_item *item = &op->items[i];
		int r;

		if (assign_claim_get(assign, item->claim.uid, &a, &known))
			come_back(op, &known);
		r = assign_claim_use(assign, op->pod, item->pod_claim, &item->claim, err);
		if (r < 0)
			return r;
		item->asks = !item->repeated &&
			     assign_claim_get(assign, item->claim.uid, &a, &known) &&
			     known.state != ASSIGN_CLAIM_PREPARED;
	}
	return 0;
}

static void on_used(void *arg, const struct error *err)
{
	struct claims_op *op = arg;
	bool asks = false;
	struct error own;

	if (err) {
		own = *err;
		(void)error_wrap(&own, -(int)own.code, "checkpoint ResourceClaim cache");
		claims_op_fail(op, &own);
		claims_op_end(op);
		return;
	}
	for (size_t i = 0; i < op->n; i++)
		asks |= op->items[i].asks;
	if (asks)
		claims_op_call(op);
	else
		claims_op_end(op);
}

static void go(struct claims_op *op)
{
	struct claims *c = op->claims;
	struct error err;

	if (check_left(op, &err) < 0 || use_all(op, &err) < 0) {
		claims_op_fail(op, &err);
		claims_op_end(op);
		return;
	}
	c->opts.save(c->opts.arg, on_used, op);
}

static void prepare_answered(struct claims_item *item, struct str driver,
			     const struct plugin_claim_result *result)
{
	struct arena *a = &item->op->arena;
	struct assign_claim_device *devices = ARENA_ARRAY(a, struct assign_claim_device,
							  result->ndevices);

	for (size_t i = 0; i < result->ndevices; i++) {
		struct str *requests = ARENA_ARRAY(a, struct str, result->devices[i].nrequests);

		devices[i] = result->devices[i];
		for (size_t k = 0; k < devices[i].nrequests; k++)
			requests[k] = claims_base_request(devices[i].requests[k]);
		devices[i].requests = requests;
	}
	assign_claim_set_devices(item->op->claims->opts.assign, item->claim.uid, driver, devices,
				 result->ndevices);
}

/*
 * A claim is prepared when all its drivers have succeeded. If a driver failed, the claim
 * stays in state PREPARING, and the next try calls its drivers again.
 */
static void all_answered(struct claims_op *op)
{
	struct claims *c = op->claims;
	bool changed = false;

	for (size_t i = 0; i < op->n; i++) {
		if (!op->items[i].asks || op->items[i].failed)
			continue;
		assign_claim_set_state(c->opts.assign, op->items[i].claim.uid,
				       ASSIGN_CLAIM_PREPARED);
		changed = true;
	}
	if (changed)
		claims_op_save(op);
	else
		claims_op_end(op);
}

const struct claims_op_type claims_prepare_type = {
	.metric = "PrepareResources",
	.method = "NodePrepareResources",
	.wrap = "prepare dynamic resources",
	.start = claims_fetch,
	.go = go,
	.answered = prepare_answered,
	.all_answered = all_answered,
};

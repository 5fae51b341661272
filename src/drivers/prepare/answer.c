/* The reply of a call, with all its claims. */
#include "base/report/metrics.h"
#include "drivers/prepare/prepare_impl.h"
#include "grpc/grpc.h"

void prepare_batch_free(struct batch *b)
{
	grpc_call_unref(b->call);
	arena_release(&b->arena);
	free(b);
}

void prepare_reply(struct batch *b)
{
	Dra__NodeUnprepareResourcesResponse un = DRA__NODE_UNPREPARE_RESOURCES_RESPONSE__INIT;
	Dra__NodePrepareResourcesResponse pre = DRA__NODE_PREPARE_RESOURCES_RESPONSE__INIT;

	un.claims = ARENA_ARRAY(&b->arena, Dra__UnpreparedEntry *, b->n + 1);
	pre.claims = ARENA_ARRAY(&b->arena, Dra__PreparedEntry *, b->n + 1);
	for (size_t i = 0; i < b->n; i++) {
		un.claims[i] = &b->ops[i].unprepared;
		pre.claims[i] = &b->ops[i].prepared;
	}
	if (b->unprepare) {
		un.n_claims = b->n;
		(void)grpc_call_reply(b->call, &un.base);
	} else {
		pre.n_claims = b->n;
		(void)grpc_call_reply(b->call, &pre.base);
	}
	prepare_batch_free(b);
}

static Dra__Device *device_answer(struct arena *a, const struct claim_result *r, bool shares)
{
	Dra__Device *d = ARENA_NEW(a, Dra__Device);
	size_t n = 0;

	dra__device__init(d);
	d->n_request_names = 1;
	d->request_names = ARENA_ARRAY(a, char *, 1);
	d->request_names[0] = arena_strdup(a, str_from(r->result.request));
	d->pool_name = arena_strdup(a, str_from(r->result.pool));
	d->device_name = arena_strdup(a, str_from(r->result.device));
	d->cdi_device_ids = ARENA_ARRAY(a, char *, json_count(r->cdi) + 1);
	JSON_FOREACH (it, r->cdi)
		d->cdi_device_ids[n++] = arena_strdup(a, json_str(it));
	d->n_cdi_device_ids = n;
	if (shares && r->result.share_id) {
		d->share_case = DRA__DEVICE__SHARE_SHARE_ID;
		d->share_id = arena_strdup(a, str_from(r->result.share_id));
	}
	return d;
}

static void answer_devices(struct prepare_op *op)
{
	const struct dp_claim *c = op->claim;
	struct arena *a = &op->batch->arena;
	/* v1beta1 has no share_id. */
	bool shares = !strstr(grpc_call_method(op->batch->call)->path, "v1beta1");

	op->prepared_value.devices = ARENA_ARRAY(a, Dra__Device *, c->nresults + 1);
	for (size_t i = 0; i < c->nresults; i++)
		op->prepared_value.devices[i] = device_answer(a, &c->results[i], shares);
	op->prepared_value.n_devices = c->nresults;
}

void prepare_answer(struct prepare_op *op, const struct error *err)
{
	struct metrics_counter *count = op->batch->owner->counts[op->unprepare][err != NULL];
	struct arena *a = &op->batch->arena;

	if (count)
		metrics_counter_add(count, 1);
	if (err && op->unprepare)
		op->unprepared_value.error = arena_strdup(a, str_from(err->msg));
	else if (err)
		op->prepared_value.error = arena_strdup(a, str_from(err->msg));
	else if (!op->unprepare)
		answer_devices(op);
}

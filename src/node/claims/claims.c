/*
 * Operations run one per call, in the order of the calls. An operation begins when no earlier one
 * is for its pod. It determines its claims, waits until no other operation has any of them, and
 * takes all of them at once. So no operation holds a claim while it waits for another, and there is
 * no deadlock. At its end it releases them, and waiting operations check again. The steps of
 * prepare and unprepare are in their files, each as a struct claims_op_type.
 */
#include "node/claims/claims.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "node/claims/claims_impl.h"

static const struct claims_drivers plugin_drivers = {
	.has = plugins_has_driver,
	.prepare = plugins_prepare,
	.unprepare = plugins_unprepare,
};

/* --- the next operation ---------------------------------------------------------------------- */

static bool is_first_of_pod(const struct claims_op *op)
{
	for (const struct list *it = op->link.prev; it != &op->claims->ops; it = it->prev) {
		if (str_eq(LIST_ENTRY(it, struct claims_op, link)->pod_uid, op->pod_uid))
			return false;
	}
	return true;
}

static bool can_hold(const struct claims_op *op)
{
	for (size_t i = 0; i < op->n; i++) {
		if (map_get(&op->claims->busy, op->items[i].claim.uid))
			return false;
	}
	return true;
}

static void claims_hold(struct claims_op *op)
{
	op->waiting = false;
	op->holds = true;
	for (size_t i = 0; i < op->n; i++) {
		struct claims_item *item = &op->items[i];

		/* A pod may name one claim twice. */
		item->repeated = map_get(&op->claims->busy, item->claim.uid) != NULL;
		if (!item->repeated)
			(void)map_put(&op->claims->busy, item->claim.uid, op);
	}
}

static void claims_let_go(struct claims_op *op)
{
	for (size_t i = 0; op->holds && i < op->n; i++) {
		if (!op->items[i].repeated)
			(void)map_remove(&op->claims->busy, op->items[i].claim.uid);
	}
	op->holds = false;
}

static void claims_look(struct claims *c)
{
	loop_defer(c->opts.loop, &c->look);
}

static bool has_turn(const struct claims_op *op)
{
	return (!op->started && is_first_of_pod(op)) || (op->waiting && can_hold(op));
}

static void take_turn(struct claims_op *op)
{
	if (!op->started) {
		op->started = true;
		op->type->start(op);
	} else {
		claims_hold(op);
		op->type->go(op);
	}
}

/* Runs one operation, then checks again: any step may end operations, or free everything. */
static void claims_on_look(struct loop_task *t)
{
	struct claims *c = CONTAINER_OF(t, struct claims, look);

	LIST_FOREACH (it, &c->ops) {
		struct claims_op *op = LIST_ENTRY(it, struct claims_op, link);

		if (!has_turn(op))
			continue;
		claims_look(c);
		take_turn(op);
		return;
	}
}

void claims_op_ready(struct claims_op *op)
{
	op->waiting = true;
	claims_look(op->claims);
}

/* --- drivers --------------------------------------------------------------------------------- */

void claims_op_fail(struct claims_op *op, const struct error *err)
{
	if (op->err.code == ERR_OK)
		op->err = *err;
}

static struct claims_call *call_of(struct claims_op *op, struct str driver)
{
	struct claims_call *call;

	for (size_t i = 0; i < op->ncalls; i++) {
		if (str_eq(op->calls[i].driver, driver))
			return &op->calls[i];
	}
	call = &op->calls[op->ncalls++];
	*call = (struct claims_call){ .op = op, .driver = driver };
	call->items = ARENA_ARRAY(&op->arena, struct claims_item *, op->n);
	call->v = ARENA_ARRAY(&op->arena, struct plugin_claim, op->n);
	return call;
}

static void batch(struct claims_op *op)
{
	size_t drivers = 0;

	for (size_t i = 0; i < op->n; i++)
		drivers += op->items[i].asks ? op->items[i].claim.ndrivers : 0;
	op->calls = ARENA_ARRAY(&op->arena, struct claims_call, drivers + 1);
	op->ncalls = 0;
	for (size_t i = 0; i < op->n; i++) {
		const struct assign_claim *claim = &op->items[i].claim;

		for (size_t d = 0; op->items[i].asks && d < claim->ndrivers; d++) {
			struct claims_call *call = call_of(op, claim->drivers[d]);

			call->items[call->n] = &op->items[i];
			call->v[call->n++] = (struct plugin_claim){ .ns = claim->ns,
								    .uid = claim->uid,
								    .name = claim->name };
		}
	}
}

static void fail_call(struct claims_call *call, const struct error *err)
{
	for (size_t i = 0; i < call->n; i++)
		call->items[i]->failed = true;
	claims_op_fail(call->op, err);
}

static void call_answered(struct claims_call *call, const struct plugin_claim_result *v, size_t n)
{
	const char *method = call->op->type->method;
	struct error err;

	if (n != call->n) {
		(void)error_set(&err, ERR_PROTOCOL, "%s skipped %zu ResourceClaims", method,
				call->n - MIN(n, call->n));
		fail_call(call, &err);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (v[i].error.n == 0) {
			call->op->type->answered(call->items[i], call->driver, &v[i]);
			continue;
		}
		(void)error_set(&err, ERR_INTERNAL, "%s failed for ResourceClaim %.*s: %.*s",
				method, STR_ARG(call->v[i].name), STR_ARG(v[i].error));
		call->items[i]->failed = true;
		claims_op_fail(call->op, &err);
	}
}

static void call_over(struct claims_op *op)
{
	if (--op->pending == 0)
		op->type->all_answered(op);
}

static void claims_on_answer(void *arg, const struct plugin_claim_result *v, size_t n,
			     const struct error *err)
{
	struct claims_call *call = arg;
	struct error own;

	if (err) {
		own = *err;
		(void)error_wrap(&own, -(int)own.code, "%s", call->op->type->method);
		fail_call(call, &own);
	} else {
		call_answered(call, v, n);
	}
	call_over(call->op);
}

void claims_op_call(struct claims_op *op)
{
	struct claims *c = op->claims;
	struct error err;

	batch(op);
	op->pending = op->ncalls + 1;
	for (size_t i = 0; i < op->ncalls; i++) {
		struct claims_call *call = &op->calls[i];

		if (!c->drivers->has(c->opts.plugins, call->driver)) {
			(void)error_set(&err, ERR_UNAVAILABLE, "DRA driver %.*s is not registered",
					STR_ARG(call->driver));
			fail_call(call, &err);
			op->pending--;
		} else if (op->type == &claims_prepare_type) {
			c->drivers->prepare(c->opts.plugins, call->driver, call->v, call->n,
					    claims_on_answer, call);
		} else {
			c->drivers->unprepare(c->opts.plugins, call->driver, call->v, call->n,
					      claims_on_answer, call);
		}
	}
	call_over(op);
}

/* --- life of an operation -------------------------------------------------------------------- */

static struct claims_op *op_new(struct claims *c, const struct claims_op_type *type,
				struct str pod_uid, claims_done *done, void *arg)
{
	struct claims_op *op = XNEW(struct claims_op);

	op->claims = c;
	op->type = type;
	op->done = done;
	op->arg = arg;
	op->began_ms = loop_now(c->opts.loop);
	arena_init(&op->arena, REQUEST_WORK_MAX);
	op->pod_uid = arena_str(&op->arena, pod_uid);
	list_push_back(&c->ops, &op->link);
	claims_look(c);
	return op;
}

static void op_free(struct claims_op *op)
{
	for (size_t i = 0; i < op->n; i++)
		client_cancel(&op->items[i].request);
	claims_let_go(op);
	list_remove(&op->link);
	pod_unref(op->pod);
	arena_release(&op->arena);
	free(op);
}

void claims_op_end(struct claims_op *op)
{
	struct claims *c = op->claims;
	claims_done *done = op->done;
	void *arg = op->arg;
	struct error err = op->err;

	if (err.code != ERR_OK)
		(void)error_wrap(&err, -(int)err.code, "%s", op->type->wrap);
	claims_metrics_over(c, op);
	claims_metrics_count(c);
	op_free(op);
	claims_look(c);
	if (done)
		done(arg, err.code != ERR_OK ? &err : NULL);
}

static void on_saved(void *arg, const struct error *err)
{
	struct claims_op *op = arg;
	struct error own;

	if (err) {
		own = *err;
		(void)error_wrap(&own, -(int)own.code, "checkpoint ResourceClaim state");
		claims_op_fail(op, &own);
	}
	claims_op_end(op);
}

void claims_op_save(struct claims_op *op)
{
	op->claims->opts.save(op->claims->opts.arg, on_saved, op);
}

void claims_prepare(struct claims *c, struct pod *pod, claims_done *done, void *arg)
{
	op_new(c, &claims_prepare_type, pod->uid, done, arg)->pod = pod_ref(pod);
}

void claims_unprepare(struct claims *c, struct str pod_uid, claims_done *done, void *arg)
{
	(void)op_new(c, &claims_unprepare_type, pod_uid, done, arg);
}

size_t claims_pending(const struct claims *c)
{
	size_t n = 0;

	LIST_FOREACH (it, &c->ops)
		n++;
	return n;
}

/* --- claims that no pod needs ---------------------------------------------------------------- */

static bool has_op(const struct claims *c, struct str pod_uid)
{
	LIST_FOREACH (it, &c->ops) {
		if (str_eq(LIST_ENTRY(it, struct claims_op, link)->pod_uid, pod_uid))
			return true;
	}
	return false;
}

static void on_reconciled(void *arg, const struct error *err)
{
	struct claims *c = arg;

	if (!err)
		return;
	log_debug(c->opts.log, "periodic unprepare failed", LOG_ERR(err));
	if (c->asked)
		claims_reconcile(c);
}

static void drop_unused(struct claims *c, const struct assign_claim *claim)
{
	if (claim->npods == 0 && !has_op(c, STR_NULL))
		claims_unprepare(c, STR_NULL, on_reconciled, c);
	for (size_t i = 0; i < claim->npods; i++) {
		if (!c->opts.pod_active(c->opts.arg, claim->pods[i]) && !has_op(c, claim->pods[i]))
			claims_unprepare(c, claim->pods[i], on_reconciled, c);
	}
}

static void on_reconcile(struct loop_timer *t)
{
	struct claims *c = CONTAINER_OF(t, struct claims, reconcile);
	CLEANUP(arena_release) struct arena a;
	struct assign_claim claim;
	struct str at = STR_NULL;

	arena_init(&a, REQUEST_WORK_MAX);
	while (assign_claim_next(c->opts.assign, &at, &a, &claim))
		drop_unused(c, &claim);
	claims_metrics_count(c);
	loop_timer_start(&c->reconcile, CLAIMS_RECONCILE_MS);
}

/* --- life ------------------------------------------------------------------------------------ */

/* An operation in flight may have missed a new driver. If it fails, the check is repeated. */
void claims_reconcile(struct claims *c)
{
	c->asked = !list_empty(&c->ops);
	loop_timer_start(&c->reconcile, 0);
}

struct claims *claims_new(const struct claims_opts *opts)
{
	struct claims *c = XNEW(struct claims);

	c->opts = *opts;
	c->drivers = opts->drivers ? opts->drivers : &plugin_drivers;
	if (!c->opts.log)
		c->opts.log = log_null();
	list_init(&c->ops);
	map_init(&c->busy);
	loop_task_init(&c->look, claims_on_look);
	loop_timer_init(&c->reconcile, opts->loop, on_reconcile);
	loop_timer_start(&c->reconcile, CLAIMS_RECONCILE_MS);
	claims_metrics_init(c);
	claims_metrics_count(c);
	return c;
}

void claims_free(struct claims *c)
{
	if (!c)
		return;
	while (!list_empty(&c->ops))
		op_free(LIST_ENTRY(c->ops.next, struct claims_op, link));
	loop_task_cancel(&c->look);
	loop_timer_stop(&c->reconcile);
	claims_metrics_release(c);
	map_release(&c->busy);
	free(c);
}

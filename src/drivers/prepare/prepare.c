/*
 * An op is one claim in one call. The first op of a claim runs, the others wait behind it. A
 * prepare goes through these steps: the lock (if there are other instances), the API server, the
 * checkpoint, the vendor, the CDI file, and the checkpoint again. An unprepare: the lock, the
 * checkpoint, the vendor, the CDI file, and the checkpoint again. An op may end at each step.
 *
 * An op whose call has ended is dropped before the vendor is called. Requests on different
 * connections are read in any order: after a pause, or from a connection that was lost, a prepare
 * can be read after the unprepare that the kubelet sent later. The kubelet never undoes such a
 * prepare, so its device would stay with the claim while the scheduler gives it to another one. A
 * kubelet that still wants the op sends it again.
 *
 * With DP_FLAG_PREPARE_AGAIN a prepared claim gets a second copy, its `again`, which is read from
 * the API server and given to the vendor. On success it replaces the claim's content, else it is
 * dropped.
 */
#include "drivers/prepare/prepare.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/cdi_file.h"
#include "drivers/prepare/prepare_impl.h"
#include "grpc/grpc.h"

enum {
	LOCK_RETRY_MS = 20,
	GET_TIMEOUT_MS = 20000, /* well within the 45 s of a call */
};

static void op_begin(struct prepare_op *op);
static void op_run(struct prepare_op *op);

/* --- the lock between instances ----------------------------------------------------------- */

static bool lock(struct prepare *p)
{
	struct error err;

	if (p->lock_fd < 0)
		return true;
	if (p->locked == 0) {
		if (flock(p->lock_fd, LOCK_EX | LOCK_NB) < 0)
			return false;
		if (prepare_load(p, &err) < 0)
			driver_log(p->opts.log, DP_LOG_ERROR, "%s", err.msg);
	}
	p->locked++;
	return true;
}

static void unlock(struct prepare *p)
{
	if (p->lock_fd >= 0 && --p->locked == 0)
		(void)flock(p->lock_fd, LOCK_UN);
}

static void on_lock_retry(struct loop_timer *t)
{
	struct prepare *p = CONTAINER_OF(t, struct prepare, retry);
	struct list ready;

	if (!lock(p)) {
		loop_timer_start(&p->retry, LOCK_RETRY_MS);
		return;
	}
	list_init(&ready);
	list_splice_back(&ready, &p->waiting);
	for (struct list *it; (it = list_pop_front(&ready));) {
		(void)lock(p);
		op_run(LIST_ENTRY(it, struct prepare_op, wait));
	}
	unlock(p);
}

/* --- beginning and end of an op ----------------------------------------------------------- */

static void op_begin(struct prepare_op *op)
{
	struct prepare *p = op->batch->owner;

	op->claim->busy = true;
	p->working++;
	/* Keep the order: a later op must not overtake those that wait. */
	if (list_empty(&p->waiting) && lock(p)) {
		op_run(op);
		return;
	}
	list_push_back(&p->waiting, &op->wait);
	if (!loop_timer_running(&p->retry))
		loop_timer_start(&p->retry, LOCK_RETRY_MS);
}

static void op_end(struct prepare_op *op, const struct error *err)
{
	struct prepare *p = op->batch->owner;
	struct dp_claim *c = op->claim;
	struct batch *b = op->batch;

	if (err)
		driver_log(p->opts.log, DP_LOG_WARN, "cannot %sprepare claim %s/%s (%s): %s",
			   op->unprepare ? "un" : "", c->ns, c->name, c->uid, err->msg);
	prepare_answer(op, err);
	list_remove(&op->link);
	unlock(p);
	c->busy = false;
	p->working--;
	if (--b->left == 0)
		prepare_reply(b);
	if (!list_empty(&c->ops)) {
		op_begin(LIST_ENTRY(c->ops.next, struct prepare_op, link));
	} else if (c->state == CLAIM_NEW) {
		(void)map_remove(&p->claims, str_from(c->uid));
		claim_free(c);
	}
}

/* --- stations ----------------------------------------------------------------------------- */

static struct prepare_op *op_of(struct dp_claim *c)
{
	const struct dp_claim *of = c->of ? c->of : c;

	return LIST_ENTRY(of->ops.next, struct prepare_op, link);
}

/* The op's last step. */
static void prepare_end(struct prepare_op *op, const struct error *err)
{
	claim_free(TAKE(op->claim->again));
	op_end(op, err);
}

static struct cdi_file file_of(const struct dp_claim *c)
{
	const struct prepare_opts *o = &c->owner->opts;

	return (struct cdi_file){ o->cdi_dir, o->driver, "claim", c->uid };
}

static int end_prepare(struct dp_claim *c, struct error *err)
{
	struct prepare *p = c->owner;
	int r = claim_write_cdi(c, p->opts.cdi_dir, p->opts.driver, err);

	if (r < 0)
		return r;
	c->state = CLAIM_PREPARED;
	r = prepare_save(p, err);
	if (r < 0)
		c->state = CLAIM_STARTED;
	return r;
}

/* The result of the new prepare() replaces the earlier one. */
static int end_again(struct dp_claim *c, struct error *err)
{
	struct prepare *p = c->owner;
	struct dp_claim *of = c->of;
	struct cdi_file f = file_of(of);
	int r = claim_write_cdi(c, p->opts.cdi_dir, p->opts.driver, err);

	if (r == 0 && !c->own_file)
		r = cdi_file_remove(&f, err);
	if (r < 0)
		return r;
	c->state = CLAIM_PREPARED;
	claim_adopt(of, TAKE(of->again));
	return prepare_save(p, err);
}

static int end_unprepare(struct dp_claim *c, struct error *err)
{
	struct cdi_file f = file_of(c);
	int r = cdi_file_remove(&f, err);

	if (r < 0)
		return r;
	c->state = CLAIM_NEW;
	r = prepare_save(c->owner, err);
	if (r < 0)
		c->state = CLAIM_STARTED;
	return r;
}

static void vendor_done(struct dp_claim *c, int result)
{
	struct prepare_op *op = op_of(c);
	struct error err;
	int r;

	c->nconsumers = 0;
	if (result < 0)
		r = error_set(&err, ERR_INTERNAL, "%s",
			      c->failure[0] ? c->failure
					    : "the driver failed without an error message");
	else if (c->of)
		r = end_again(c, &err);
	else
		r = op->unprepare ? end_unprepare(c, &err) : end_prepare(c, &err);
	prepare_end(op, r < 0 ? &err : NULL);
}

static void prepare_on_later(struct loop_msg *m)
{
	struct dp_claim *c = CONTAINER_OF(m, struct dp_claim, done);

	c->owner->asked--;
	vendor_done(c, c->result);
}

void dp_claim_done(struct dp_claim *c, int result)
{
	c->result = result;
	loop_post(c->owner->opts.loop, &c->done);
}

static void ask_vendor(struct dp_claim *c, int (*fn)(void *arg, struct dp_claim *c))
{
	int result;

	c->failure[0] = 0;
	c->done.fn = prepare_on_later;
	/* The vendor may call dp_claim_done() before it returns. */
	c->owner->asked++;
	result = fn ? fn(c->owner->opts.arg, c) : 0;
	if (result == DP_LATER)
		return;
	c->owner->asked--;
	vendor_done(c, result);
}

static int check_caller(const struct prepare_op *op, struct error *err)
{
	if (!grpc_call_ended(op->batch->call))
		return 0;
	return error_set(err, ERR_CANCELED, "the caller no longer waits for it");
}

static int check_devices(const struct dp_claim *c, struct error *err)
{
	const struct prepare_opts *o = &c->owner->opts;

	for (size_t i = 0; i < c->nresults; i++) {
		const struct dp_result *r = &c->results[i].result;

		if (!o->has_device(o->has_arg, r->pool, r->device))
			return error_set(err, ERR_NOT_FOUND,
					 "driver %s has no device %s in pool %s", o->driver,
					 r->device, r->pool);
	}
	return 0;
}

static int prepare_read_claim(struct dp_claim *c, const struct client_answer *answer,
			      struct error *err)
{
	struct json *tree;
	struct arena a;
	int r;

	arena_init(&a, OBJECT_MAX * 16);
	r = client_answer_tree(answer, &a, &tree, err);
	if (r == 0)
		r = claim_read(c, tree, str_from(c->owner->opts.driver), err);
	if (r == 0)
		r = check_devices(c, err);
	arena_release(&a);
	if (r == 0 && c->owner->opts.seen)
		c->owner->opts.seen(c->owner->opts.seen_arg, c, answer->body);
	return r;
}

static void prepare_on_claim(struct client_request *q, const struct client_answer *answer,
			     const struct error *failure)
{
	struct dp_claim *c = q->arg;
	enum claim_state before = c->state;
	struct error err;
	int r;

	if (failure) {
		err = *failure;
		(void)error_wrap(&err, -(int)err.code, "retrieve claim %s/%s", c->ns, c->name);
		prepare_end(op_of(c), &err);
		return;
	}
	r = check_caller(op_of(c), &err);
	if (r == 0)
		r = prepare_read_claim(c, answer, &err);
	if (r == 0 && !c->of) {
		c->state = CLAIM_STARTED;
		r = prepare_save(c->owner, &err);
		if (r < 0)
			c->state = before;
	}
	if (r < 0)
		prepare_end(op_of(c), &err);
	else
		ask_vendor(c, c->owner->opts.prepare);
}

static void fetch(struct dp_claim *c)
{
	struct prepare *p = c->owner;

	c->get = (struct client_request){ .on_done = prepare_on_claim,
					  .arg = c,
					  .timeout_ms = GET_TIMEOUT_MS };
	client_get(p->opts.client, &c->get, &p->claims_resource, str_from(c->ns),
		   str_from(c->name));
}

static bool is_prepared(const struct dp_claim *c)
{
	struct cdi_file f = file_of(c);

	return c->state == CLAIM_PREPARED && (!c->own_file || cdi_file_exists(&f));
}

/* Whether the claim is already in the state that the op wants. */
static bool is_done(const struct prepare_op *op)
{
	const struct dp_claim *c = op->claim;

	if (op->unprepare)
		return c->state == CLAIM_NEW;
	return is_prepared(c) && !c->owner->opts.again;
}

static struct dp_claim *again_new(struct dp_claim *c)
{
	c->again = claim_new(str_from(c->uid), str_from(c->ns), str_from(c->name));
	c->again->owner = c->owner;
	c->again->of = c;
	return c->again;
}

/*
 * A vendor that dies in the middle of unprepare() may have undone the claim already. So the claim
 * is no longer prepared from here on, and the next prepare() does it again.
 */
static void start_unprepare(struct prepare_op *op)
{
	struct dp_claim *c = op->claim;
	enum claim_state before = c->state;
	struct error err;

	if (c->owner->opts.unprepare && before == CLAIM_PREPARED) {
		c->state = CLAIM_STARTED;
		if (prepare_save(c->owner, &err) < 0) {
			c->state = before;
			op_end(op, &err);
			return;
		}
	}
	ask_vendor(c, c->owner->opts.unprepare);
}

static void op_run(struct prepare_op *op)
{
	struct dp_claim *c = op->claim;
	struct error err;

	if (is_done(op))
		op_end(op, NULL);
	else if (check_caller(op, &err) < 0)
		op_end(op, &err);
	else if (op->unprepare)
		start_unprepare(op);
	else
		fetch(is_prepared(c) ? again_new(c) : c);
}

/* --- calls -------------------------------------------------------------------------------- */

static struct dp_claim *claim_of(struct prepare *p, const Dra__Claim *in, const char **ret_fault)
{
	struct dp_claim *c = map_get(&p->claims, str_from(in->uid));

	if (c)
		return c;
	if (!cdi_file_is_safe(str_from(in->uid))) {
		*ret_fault = "the claim's uid is invalid";
		return NULL;
	}
	if (p->claims.n >= DRIVER_CLAIMS_MAX) {
		*ret_fault = "too many claims are prepared";
		return NULL;
	}
	c = claim_new(str_from(in->uid), str_from(in->namespace_), str_from(in->name));
	c->owner = p;
	(void)map_put(&p->claims, str_from(c->uid), c);
	return c;
}

static void op_init(struct prepare_op *op, struct batch *b, const Dra__Claim *in)
{
	char *key = arena_strdup(&b->arena, str_from(in->uid));

	op->batch = b;
	op->unprepare = b->unprepare;
	list_init(&op->link);
	list_init(&op->wait);
	dra__prepared_entry__init(&op->prepared);
	dra__node_prepare_resource_response__init(&op->prepared_value);
	dra__unprepared_entry__init(&op->unprepared);
	dra__node_unprepare_resource_response__init(&op->unprepared_value);
	op->prepared.key = op->unprepared.key = key;
	op->prepared.value = &op->prepared_value;
	op->unprepared.value = &op->unprepared_value;
}

/* Appends the op to its claim's queue. Returns NULL, or why not. */
static const char *op_queue(struct prepare_op *op, const Dra__Claim *in)
{
	const char *fault = NULL;
	struct dp_claim *c = claim_of(op->batch->owner, in, &fault);

	if (!c)
		return fault;
	if (!list_empty(&c->ops) &&
	    LIST_ENTRY(c->ops.prev, struct prepare_op, link)->batch == op->batch)
		return "the claim is there twice";
	op->claim = c;
	list_push_back(&c->ops, &op->link);
	return NULL;
}

static void prepare_begin(struct prepare *p, struct grpc_call *call, Dra__Claim *const *v, size_t n,
			  bool unprepare)
{
	struct batch *b = xcalloc(1, sizeof(*b) + n * sizeof(b->ops[0]));
	struct error err;
	const char *fault;

	b->owner = p;
	b->call = grpc_call_ref(call);
	b->unprepare = unprepare;
	b->n = n;
	b->left = n + 1; /* one for this function */
	arena_init(&b->arena, SIZE_MAX);
	for (size_t i = 0; i < n; i++)
		op_init(&b->ops[i], b, v[i]);
	for (size_t i = 0; i < n; i++) {
		fault = op_queue(&b->ops[i], v[i]);
		if (fault) {
			(void)error_set(&err, ERR_INVALID, "%s", fault);
			prepare_answer(&b->ops[i], &err);
			b->left--;
		} else if (!b->ops[i].claim->busy) {
			op_begin(&b->ops[i]);
		}
	}
	if (--b->left == 0)
		prepare_reply(b);
}

void prepare_call(struct prepare *p, struct grpc_call *call, const void *request)
{
	const Dra__NodePrepareResourcesRequest *in = request;

	prepare_begin(p, call, in->claims, in->n_claims, false);
}

void unprepare_call(struct prepare *p, struct grpc_call *call, const void *request)
{
	const Dra__NodeUnprepareResourcesRequest *in = request;

	prepare_begin(p, call, in->claims, in->n_claims, true);
}

/* --- life --------------------------------------------------------------------------------- */

static void prepare_add_metrics(struct prepare *p)
{
	static const char *const labels[] = { "operation", "result" };
	struct metrics_spec spec = { .name = "devplane_driver_claims_total",
				     .help = "Claims prepared and unprepared, by result.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = 2 };
	struct metrics_family *f;

	if (!p->opts.metrics || metrics_register(p->opts.metrics, &spec, &f, NULL) < 0)
		return;
	for (int un = 0; un < 2; un++)
		for (int bad = 0; bad < 2; bad++)
			p->counts[un][bad] = metrics_counter(f,
							     un ? STR("unprepare") : STR("prepare"),
							     bad ? STR("failure") : STR("success"));
}

static int open_lock(struct prepare *p, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);

	if (!p->opts.shared)
		return 0;
	(void)buf_printf(&path, "%s/serialize.lock", p->opts.dir);
	p->lock_fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (p->lock_fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", path.p);
	return 0;
}

/* Temporary files of a driver that died while it wrote. */
static void sweep(const struct prepare *p)
{
	CLEANUP(buf_release) struct buf cdi = BUF_INIT(KIB);

	file_sweep(p->opts.dir, "prepared.json");
	(void)buf_printf(&cdi, "k8s.%s-claim-", p->opts.driver);
	file_sweep(p->opts.cdi_dir, cdi.p);
}

int prepare_new(const struct prepare_opts *opts, struct prepare **ret_prepare, struct error *err)
{
	struct buf file = BUF_INIT(4 * KIB);
	struct prepare *p = XNEW(struct prepare);
	int r;

	p->opts = *opts;
	p->lock_fd = -1;
	p->claims_resource = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	map_init(&p->claims);
	list_init(&p->waiting);
	loop_timer_init(&p->retry, opts->loop, on_lock_retry);
	(void)buf_printf(&file, "%s/prepared.json", opts->dir);
	p->file = buf_take(&file);
	p->boot = boot_id();
	prepare_add_metrics(p);
	r = folder_make(opts->dir, 0750, err);
	if (r == 0)
		r = open_lock(p, err);
	if (r == 0)
		r = prepare_load(p, err);
	/* Another instance may be writing right now. */
	if (r == 0 && !opts->shared)
		sweep(p);
	if (r < 0) {
		prepare_free(p);
		return r;
	}
	*ret_prepare = p;
	return 0;
}

/* Ends the calls of ops that will not run any more. */
static void drop_ops(struct dp_claim *c)
{
	LIST_FOREACH_SAFE (it, &c->ops) {
		struct batch *b = LIST_ENTRY(it, struct prepare_op, link)->batch;

		list_remove(it);
		if (--b->left > 0)
			continue;
		(void)grpc_call_finish(b->call, GRPC_UNAVAILABLE, STR("the driver has ended"));
		prepare_batch_free(b);
	}
}

void prepare_free(struct prepare *p)
{
	struct str key;
	size_t at = 0;
	void *value;

	if (!p)
		return;
	loop_timer_stop(&p->retry);
	while (map_next(&p->claims, &at, &key, &value)) {
		drop_ops(value);
		claim_free(value);
	}
	map_release(&p->claims);
	if (p->lock_fd >= 0)
		(void)close(p->lock_fd);
	free(p->file);
	free(p->boot);
	free(p);
}

bool prepare_idle(const struct prepare *p)
{
	return p->working == 0;
}

bool prepare_owed(const struct prepare *p)
{
	return p->asked > 0;
}

void prepare_each(const struct prepare *p, void (*fn)(void *arg, const struct dp_claim *c),
		  void *arg)
{
	const struct dp_claim *c;
	struct str key;
	size_t at = 0;
	void *value;

	while (map_next(&p->claims, &at, &key, &value)) {
		c = value;
		if (c->state == CLAIM_PREPARED)
			fn(arg, c);
	}
}

static void add_one(void *arg, const struct dp_claim *c UNUSED)
{
	++*(size_t *)arg;
}

bool prepare_knows(const struct prepare *p, struct str claim_uid)
{
	return map_get(&p->claims, claim_uid) != NULL;
}

size_t prepare_count(const struct prepare *p)
{
	size_t n = 0;

	prepare_each(p, add_one, &n);
	return n;
}

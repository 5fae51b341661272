/*
 * Claims: each prepare and unprepare is a job of the worker. If NVML does not answer in time, the
 * kubelet gets an error and tries again; the job continues, and the next one finds its result in
 * the book.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_cdi/edits.h"
#include "drivers/gpu_config/config.h"
#include "drivers/gpu_share/mps_commands.h"
#include "drivers/nvidia/driver_impl.h"

#define ENDING "the driver is ending; it is tried again by the next one"

struct claim_job {
	struct nvml_job job;
	struct list link;
	struct nvidia_driver *d;
	struct gpu_prepare *prepare;
	struct dp_claim *claim; /* NULL: nobody waits for an answer */
	bool undo;
	bool waits; /* for the worker */
	struct arena arena;
	struct gpu_claim id;
	struct nvidia_snapshot *snapshot;
	const char *root;
	size_t n;
	struct gpu_want *wants;
	struct gpu_prepared *prepared;
	struct gpu_edits *edits;
	struct gpu_config *configs;
	int64_t *share_mib; /* memory of a share of a full GPU; 0: not limited */
	struct nvidia_holders *holders;
	int64_t begun_ns; /* monotonic: the request came */
	int64_t nvml_ns; /* of it, in NVML's calls */
};

static struct claim_job *claim_job_new(struct nvidia_driver *d, struct dp_claim *c,
				       struct gpu_claim id, bool undo)
{
	struct claim_job *j = XNEW(struct claim_job);

	arena_init(&j->arena, DRIVER_CLAIM_MAX);
	j->d = d;
	j->prepare = d->prepare;
	j->claim = c;
	j->undo = undo;
	j->begun_ns = clock_monotonic(clock_system());
	j->root = d->opts.read.root;
	j->id = (struct gpu_claim){
		.uid = arena_str(&j->arena, id.uid),
		.ns = arena_str(&j->arena, id.ns),
		.name = arena_str(&j->arena, id.name),
		.pod = arena_str(&j->arena, id.pod),
	};
	list_push_back(&d->claims, &j->link);
	return j;
}

static void claim_job_free(struct claim_job *j)
{
	list_remove(&j->link);
	nvidia_snapshot_unref(j->snapshot);
	nvidia_holders_free(j->holders);
	arena_release(&j->arena);
	free(j);
}

/* --- on the worker's thread ------------------------------------------------------------------ */

static int make_edits(struct claim_job *j, struct error *err)
{
	for (size_t i = 0; i < j->n; i++) {
		const struct gpu_prepared *p = &j->prepared[i];
		struct gpu_edits_device at = {
			.minor = p->minor,
			.gi = p->mig ? (int32_t)p->gi : GPU_NO_INSTANCE,
			.ci = p->mig ? (int32_t)p->ci : GPU_NO_INSTANCE,
		};
		int r = gpu_edits_make(&j->arena, j->root, &j->snapshot->libraries, &at,
				       &j->edits[i], err);

		if (r < 0)
			return error_wrap(err, r, "%s", j->wants[i].device->name);
	}
	return 0;
}

static int claim_run(struct nvml_job *job, struct nvml *n, struct error *err)
{
	struct claim_job *j = CONTAINER_OF(job, struct claim_job, job);
	int64_t before = n ? nvml_time(n) : 0;
	int r;

	if (j->undo) {
		r = gpu_claim_undo(j->prepare, n, j->id.uid, err);
	} else {
		r = gpu_claim_prepare(j->prepare, n, &j->id, j->wants, j->n, &j->arena, j->prepared,
				      err);
		if (r == 0)
			r = make_edits(j, err);
	}
	j->holders = nvidia_holders_read(j->prepare);
	j->nvml_ns = n ? nvml_time(n) - before : 0;
	return r;
}

/* --- answers --------------------------------------------------------------------------------- */

static void put_edits(struct arena *a, const struct gpu_edits *from, struct dp_edits *to)
{
	struct dp_node *nodes = ARENA_ARRAY(a, struct dp_node, from->nnodes + 1);
	struct dp_mount *mounts = ARENA_ARRAY(a, struct dp_mount, from->nfiles + 1);

	for (size_t i = 0; i < from->nnodes; i++) {
		const struct gpu_node *g = &from->nodes[i];

		nodes[i] = (struct dp_node){ .size = sizeof(*nodes),
					     .path = g->path,
					     .type = arena_printf(a, "%c", g->type),
					     .major = g->major,
					     .minor = g->minor,
					     .has_numbers = 1,
					     .has_mode = 1,
					     .mode = g->mode };
	}
	for (size_t i = 0; i < from->nfiles; i++)
		mounts[i] = (struct dp_mount){ .size = sizeof(*mounts),
					       .read_only = 1,
					       .path = from->files[i].path,
					       .host_path = from->files[i].host_path };
	*to = (struct dp_edits){ .size = sizeof(*to),
				 .nnodes = (uint32_t)from->nnodes,
				 .nmounts = (uint32_t)from->nfiles,
				 .env = from->env,
				 .nodes = nodes,
				 .mounts = mounts };
}

/* A claim with MPS gets the daemon's folder and its environment with each device. */
static void add_mps(struct claim_job *j, struct dp_edits *to)
{
	struct dp_mount *mounts = ARENA_ARRAY(&j->arena, struct dp_mount, to->nmounts + 1);
	const char *const *more = NULL;
	const char **env, *pipe = NULL;
	size_t n = 0, m = 0;

	if (!nvidia_share_mps(j->d->shares, j->id.uid, &j->arena, &more, &pipe))
		return;
	while (to->env[n])
		n++;
	while (more[m])
		m++;
	env = ARENA_ARRAY(&j->arena, const char *, n + m + 1);
	for (size_t i = 0; i < n + m; i++)
		env[i] = i < n ? to->env[i] : more[i - n];
	for (uint32_t i = 0; i < to->nmounts; i++)
		mounts[i] = to->mounts[i];
	mounts[to->nmounts++] = (struct dp_mount){ .size = sizeof(*mounts),
						   .read_only = 1,
						   .path = MPS_CONTAINER_PIPE,
						   .host_path = pipe };
	to->mounts = mounts;
	to->env = env;
}

static int claim_finish(struct claim_job *j)
{
	for (size_t i = 0; i < j->n; i++) {
		struct dp_edits e;

		put_edits(&j->arena, &j->edits[i], &e);
		add_mps(j, &e);
		if (dp_claim_edit(j->claim, i, &e) < 0)
			return -1;
	}
	return 0;
}

static void claim_answer(struct claim_job *j, int result, const struct error *err)
{
	struct dp_claim *c = TAKE(j->claim);

	if (!c)
		return;
	if (result < 0)
		(void)dp_claim_fail(c, err ? err->msg : ENDING);
	dp_claim_done(c, result < 0 ? -1 : 0);
}

static void claim_end(struct claim_job *j, int result, const struct error *err)
{
	if (result == 0 && j->undo)
		dp_driver_clear_status(j->d->driver,
				       &(struct dp_claim_id){ .size = sizeof(struct dp_claim_id),
							      .ns = j->id.ns.p,
							      .name = j->id.name.p,
							      .uid = j->id.uid.p });
	log_debug(j->d->opts.log, j->undo ? "claim unprepared" : "claim prepared",
		  LOG_STR("claim", j->id.name), LOG_INT("result", result),
		  LOG_F64("ms", (double)(clock_monotonic(clock_system()) - j->begun_ns) / CLOCK_MS),
		  LOG_F64("nvml_ms", (double)j->nvml_ns / CLOCK_MS));
	claim_answer(j, result, err);
	claim_job_free(j);
}

static void claim_on_shared(void *arg, const struct error *err)
{
	struct claim_job *j = arg;

	claim_end(j, err ? -1 : claim_finish(j), err);
}

/* Limits of the parameters and of the share; the smaller one counts. */
static int read_limit(struct claim_job *j, size_t i, const char *const *uuids, int64_t *ret_mib,
		      struct error *err)
{
	int64_t *mib = ARENA_ARRAY(&j->arena, int64_t, j->n + 1);
	int r = gpu_config_limits(&j->configs[i], uuids, j->n, mib, err);

	*ret_mib = mib[i];
	if (j->share_mib[i] && (!mib[i] || j->share_mib[i] < mib[i]))
		*ret_mib = j->share_mib[i];
	return r;
}

static int plan_shares(struct claim_job *j, struct nvidia_share_device *v, bool *any,
		       struct error *err)
{
	const char **uuids = ARENA_ARRAY(&j->arena, const char *, j->n + 1);
	int r = 0;

	for (size_t i = 0; i < j->n; i++)
		uuids[i] = arena_strdup(&j->arena, j->prepared[i].uuid);
	for (size_t i = 0; i < j->n && r == 0; i++) {
		const struct gpu_config *c = &j->configs[i];

		v[i] = (struct nvidia_share_device){ .uuid = uuids[i],
						     .threads = c->threads,
						     .multi_user = c->multi_user,
						     .exclusive = j->prepared[i].exclusive };
		v[i].mps = c->sharing == GPU_SHARING_MPS || j->share_mib[i];
		if (c->sharing == GPU_SHARING_TIME && !j->prepared[i].mig)
			v[i].interval = c->interval;
		if (v[i].mps)
			r = read_limit(j, i, uuids, &v[i].memory_mib, err);
		*any = *any || v[i].mps || v[i].interval;
	}
	return r;
}

static void claim_share(struct claim_job *j)
{
	struct nvidia_share_device *v = ARENA_ARRAY(&j->arena, struct nvidia_share_device,
						    j->n + 1);
	bool any = false;
	struct error err;
	int r = plan_shares(j, v, &any, &err);

	if (r < 0)
		claim_end(j, r, &err);
	else if (any)
		nvidia_share_begin(j->d->shares, j->id.uid, v, j->n, claim_on_shared, j);
	else
		claim_end(j, claim_finish(j), NULL);
}

static void claim_done(struct nvml_job *job, int result, const struct error *err)
{
	struct claim_job *j = CONTAINER_OF(job, struct claim_job, job);

	if (result == -ERR_TIMEOUT) {
		claim_answer(j, result, err);
		return;
	}
	j->waits = false;
	nvidia_set_holders(j->d, &j->holders);
	/* Nobody waits any more: the next try finds the result in the book. */
	if (!j->claim && !j->undo)
		claim_job_free(j);
	else if (result == 0 && !j->undo)
		claim_share(j);
	else
		claim_end(j, result, err);
}

static void claim_late(struct nvml_job *job, int result UNUSED, const struct error *err UNUSED)
{
	struct claim_job *j = CONTAINER_OF(job, struct claim_job, job);

	nvidia_set_holders(j->d, &j->holders);
	claim_job_free(j);
}

static int claim_submit(struct claim_job *j)
{
	j->waits = true;
	j->job = (struct nvml_job){ .run = claim_run, .done = claim_done, .late = claim_late };
	nvml_worker_run(j->d->worker, &j->job, MIN(NVIDIA_CLAIM_MS, 4 * nvidia_deadline_ms(j->d)));
	return DP_LATER;
}

/* Programs of the claim use the GPU until its MPS daemon is gone. */
static void claim_on_unshared(void *arg)
{
	struct claim_job *j = arg;

	if (j->d->worker) {
		(void)claim_submit(j);
		return;
	}
	claim_answer(j, -1, NULL);
	claim_job_free(j);
}

static int claim_undo(struct claim_job *j)
{
	nvidia_share_end(j->d->shares, j->id.uid, claim_on_unshared, j);
	return DP_LATER;
}

/* --- requests -------------------------------------------------------------------------------- */

/* The memory that the claim consumes of a shared GPU. */
static int read_memory(const struct dp_result *r, int64_t *ret_mib, struct error *err)
{
	for (size_t i = 0; r->share_id && i < r->nconsumed; i++)
		if (strcmp(r->consumed[i].name, "memory") == 0)
			return mps_memory_of(str_from(r->consumed[i].quantity), ret_mib, err);
	return 0;
}

/* Parameters are checked before anything is made. */
static int check_config(struct claim_job *j, size_t i, const struct dp_result *r,
			const struct gpu_device *d, struct error *err)
{
	struct gpu_config_source *v = ARENA_ARRAY(&j->arena, struct gpu_config_source,
						  r->nconfigs + 1);
	int failed;

	for (size_t k = 0; k < r->nconfigs; k++)
		v[k] = (struct gpu_config_source){
			.parameters = str_from(r->configs[k]->parameters),
			.named = r->configs[k]->named || r->configs[k]->source == DP_FROM_CLASS,
			.from_class = r->configs[k]->source == DP_FROM_CLASS,
		};
	failed = gpu_config_choose(&j->arena, v, r->nconfigs,
				   d->kind == GPU_FULL ? GPU_CONFIG_GPU : GPU_CONFIG_MIG,
				   &j->configs[i], err);
	if (failed < 0)
		return error_wrap(err, failed, "parameters of request %s", r->request);
	if (d->kind == GPU_FULL && j->d->opts.read.shares == GPU_SHARES_MEMORY)
		failed = read_memory(r, &j->share_mib[i], err);
	return failed;
}

static int resolve_result(struct claim_job *j, size_t i, struct error *err)
{
	const struct dp_result *r = dp_claim_result(j->claim, i);
	const struct gpu_device *d = gpu_inventory_find(&j->snapshot->inventory,
							str_from(r->device));
	int failed;

	if (!d)
		return error_set(err, ERR_NOT_FOUND, "%s is not on this node", r->device);
	j->wants[i] = (struct gpu_want){ .device = d,
					 .shared = r->share_id != NULL,
					 .admin = r->admin != 0 };
	failed = check_config(j, i, r, d, err);
	j->wants[i].exclusive = failed == 0 && d->kind == GPU_FULL && !r->share_id && !r->admin &&
				j->configs[i].sharing == GPU_SHARING_MPS;
	return failed;
}

static int resolve_claim(struct claim_job *j, struct error *err)
{
	struct nvidia_driver *d = j->d;
	int r = 0;

	if (!d->snapshot)
		return error_copy(err, &d->failure);
	if (d->snapshot->no_libraries.code)
		return error_copy(err, &d->snapshot->no_libraries);
	j->snapshot = nvidia_snapshot_ref(d->snapshot);
	j->n = dp_claim_count(j->claim);
	j->wants = ARENA_ARRAY(&j->arena, struct gpu_want, j->n + 1);
	j->prepared = ARENA_ARRAY(&j->arena, struct gpu_prepared, j->n + 1);
	j->edits = ARENA_ARRAY(&j->arena, struct gpu_edits, j->n + 1);
	j->configs = ARENA_ARRAY(&j->arena, struct gpu_config, j->n + 1);
	j->share_mib = ARENA_ARRAY(&j->arena, int64_t, j->n + 1);
	for (size_t i = 0; i < j->n && r == 0; i++)
		r = resolve_result(j, i, err);
	return r;
}

static struct gpu_claim id_of(const struct dp_claim *c)
{
	const struct dp_consumer *first = dp_claim_consumer(c, 0);

	return (struct gpu_claim){ .uid = str_from(dp_claim_uid(c)),
				   .ns = str_from(dp_claim_namespace(c)),
				   .name = str_from(dp_claim_name(c)),
				   .pod = first && strcmp(first->resource, "pods") == 0
						  ? str_from(first->name)
						  : STR("") };
}

static int refuse_ending(struct error *err)
{
	return error_set(err, ERR_UNAVAILABLE, ENDING);
}

static int refuse_silent(struct error *err)
{
	return error_set(err, ERR_TIMEOUT,
			 "NVML does not answer; see the kernel log for Xid messages of the GPU");
}

/* Claims that wait in the worker's queue get their answer now, not at their own deadline. */
void nvidia_claims_on_silent(struct nvidia_driver *d)
{
	struct error err;
	int r = refuse_silent(&err);

	LIST_FOREACH_SAFE (it, &d->claims)
		if (LIST_ENTRY(it, struct claim_job, link)->waits)
			claim_answer(LIST_ENTRY(it, struct claim_job, link), r, &err);
}

int nvidia_prepare(void *arg, struct dp_claim *c)
{
	struct nvidia_driver *d = arg;
	struct claim_job *j = claim_job_new(d, c, id_of(c), false);
	struct error err;
	int r = !d->worker                      ? refuse_ending(&err)
		: nvml_worker_silent(d->worker) ? refuse_silent(&err)
						: resolve_claim(j, &err);

	if (r == 0) {
		log_debug(d->opts.log, "claim begun", LOG_STR("claim", j->id.name));
		return claim_submit(j);
	}
	claim_job_free(j);
	return dp_claim_fail(c, err.msg);
}

int nvidia_unprepare(void *arg, struct dp_claim *c)
{
	struct nvidia_driver *d = arg;

	if (d->worker)
		return claim_undo(claim_job_new(d, c, id_of(c), true));
	return dp_claim_fail(c, ENDING);
}

static bool has_job(const struct nvidia_driver *d, struct str uid)
{
	LIST_FOREACH (it, &d->claims)
		if (str_eq(LIST_ENTRY(it, struct claim_job, link)->id.uid, uid))
			return true;
	return false;
}

void nvidia_claims_drop_forgotten(struct nvidia_driver *d)
{
	const struct prepare *p = d->driver->prepare;

	for (size_t i = 0; d->claims_known && p && d->holders && i < d->holders->n; i++) {
		struct gpu_claim id = d->holders->v[i].claim;

		if (!d->holders->v[i].done || prepare_knows(p, id.uid) || has_job(d, id.uid))
			continue;
		log_warn(d->opts.log, "devices are free: their claim is no longer prepared",
			 LOG_STR("claim", id.name), LOG_STR("namespace", id.ns));
		(void)claim_undo(claim_job_new(d, NULL, id, true));
	}
}

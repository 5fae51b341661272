/*
 * A share is a chain: the time slice of each GPU, one after another, then the MPS daemon. It ends
 * in reverse: the daemon first, because its server uses the GPU, then the time slices go back to
 * the default.
 */
#include "drivers/nvidia/share.h"

#include <stdlib.h>

#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_share/mps.h"
#include "drivers/gpu_share/mps_process.h"
#include "drivers/gpu_share/timeslice.h"
#include "net/loop/loop.h"

struct nvidia_shares {
	struct loop *loop;
	const struct log *log;
	const char *dir;
	struct list all; /* of struct nvidia_share */
};

struct nvidia_share {
	struct list link;
	struct nvidia_shares *of;
	struct arena arena;
	const char *uid;
	struct nvidia_share_device *v;
	size_t n;
	size_t at; /* time slices that are set */
	struct mps_device *devices; /* of the MPS daemon */
	size_t ndevices;
	int32_t threads;
	struct mps *mps;
	struct gpu_timeslice *slice; /* under way */
	bool is_ready, ending;
	void (*ready)(void *arg, const struct error *err); /* NULL: it was called */
	void (*done)(void *arg);
	void *arg;
};

struct nvidia_shares *nvidia_shares_new(struct loop *l, const struct log *log, const char *dir)
{
	struct nvidia_shares *s = XNEW(struct nvidia_shares);

	s->loop = l;
	s->log = log;
	s->dir = dir;
	list_init(&s->all);
	return s;
}

static void share_free(struct nvidia_share *x)
{
	list_remove(&x->link);
	mps_free(x->mps);
	gpu_timeslice_free(x->slice);
	arena_release(&x->arena);
	free(x);
}

void nvidia_shares_free(struct nvidia_shares *s)
{
	if (!s)
		return;
	LIST_FOREACH_SAFE (it, &s->all)
		share_free(LIST_ENTRY(it, struct nvidia_share, link));
	free(s);
}

static struct nvidia_share *share_find(const struct nvidia_shares *s, struct str uid)
{
	LIST_FOREACH (it, &s->all) {
		struct nvidia_share *x = LIST_ENTRY(it, struct nvidia_share, link);

		if (str_eqz(uid, x->uid))
			return x;
	}
	return NULL;
}

void nvidia_shares_sweep(struct nvidia_shares *s, bool (*knows)(void *arg, const char *uid),
			 void *arg)
{
	size_t n = mps_sweep(s->dir, knows, arg);

	if (n)
		log_warn(s->log, "MPS daemons of claims that are gone were ended",
			 LOG_UINT("daemons", n));
}

/* --- end ------------------------------------------------------------------------------------- */

static void share_reset_next(struct nvidia_share *x);

static void share_on_reset(void *arg, const struct error *err)
{
	struct nvidia_share *x = arg;

	if (err)
		log_warn(x->of->log, "cannot set the time slice back", LOG_ERR(err));
	gpu_timeslice_free(TAKE(x->slice));
	share_reset_next(x);
}

static void share_reset_next(struct nvidia_share *x)
{
	void (*done)(void *arg) = x->done;
	void *arg = x->arg;

	while (x->at > 0) {
		const struct nvidia_share_device *v = &x->v[--x->at];
		struct gpu_timeslice_opts o = { .uuid = v->uuid,
						.on_done = share_on_reset,
						.arg = x };

		if (v->interval && gpu_timeslice_new(x->of->loop, &o, &x->slice, NULL) == 0)
			return;
	}
	share_free(x);
	done(arg);
}

static void share_on_mps_stopped(void *arg)
{
	struct nvidia_share *x = arg;

	mps_free(TAKE(x->mps));
	share_reset_next(x);
}

static void share_finish(struct nvidia_share *x, void (*done)(void *arg), void *arg)
{
	x->ending = true;
	x->done = done;
	x->arg = arg;
	gpu_timeslice_free(TAKE(x->slice));
	if (x->mps)
		mps_stop(x->mps, share_on_mps_stopped, x);
	else
		share_reset_next(x);
}

struct sweep_one {
	struct str uid;
};

static bool share_is_other(void *arg, const char *name)
{
	const struct sweep_one *one = arg;

	return !str_eqz(one->uid, name);
}

void nvidia_share_end(struct nvidia_shares *s, struct str uid, void (*done)(void *arg), void *arg)
{
	struct nvidia_share *x = share_find(s, uid);
	struct sweep_one one = { uid };

	if (x && !x->ending) {
		share_finish(x, done, arg);
		return;
	}
	/* An earlier run of the driver may have left a daemon. */
	if (!x)
		(void)mps_sweep(s->dir, share_is_other, &one);
	done(arg);
}

/* --- begin ----------------------------------------------------------------------------------- */

static void share_ignore(void *arg UNUSED)
{
}

static void share_answer(struct nvidia_share *x, const struct error *err)
{
	void (*ready)(void *arg, const struct error *err) = TAKE(x->ready);
	void *arg = x->arg;

	x->is_ready = !err;
	if (err)
		share_finish(x, share_ignore, NULL);
	if (ready)
		ready(arg, err);
}

static void share_on_mps(void *arg, bool ready, const char *message)
{
	struct nvidia_share *x = arg;
	struct error err;

	if (ready && !x->is_ready) {
		share_answer(x, NULL);
	} else if (!ready && x->ready) {
		(void)error_set(&err, ERR_UNAVAILABLE, "cannot start MPS: %s", message);
		share_answer(x, &err);
	} else if (!ready) {
		log_warn(x->of->log, "MPS is broken, and started again", LOG_Z("claim", x->uid),
			 LOG_Z("why", message));
	}
}

static int share_start_mps(struct nvidia_share *x, struct error *err)
{
	struct mps_opts o = { .devices = x->devices,
			      .ndevices = x->ndevices,
			      .threads = x->threads,
			      .on_change = share_on_mps,
			      .arg = x };

	for (size_t i = 0; i < x->n; i++)
		o.multi_user = o.multi_user || x->v[i].multi_user;
	o.dir = arena_printf(&x->arena, "%s/%s", x->of->dir, x->uid);
	return mps_new(x->of->loop, &o, &x->mps, err);
}

static void share_next(struct nvidia_share *x);

static void share_on_slice(void *arg, const struct error *err)
{
	struct nvidia_share *x = arg;
	struct error why;

	gpu_timeslice_free(TAKE(x->slice));
	if (!err) {
		share_next(x);
		return;
	}
	why = *err;
	share_answer(x, &why);
}

static void share_next(struct nvidia_share *x)
{
	struct error err;
	int r = 0;

	while (x->at < x->n && r == 0) {
		const struct nvidia_share_device *v = &x->v[x->at++];
		struct gpu_timeslice_opts o = { .uuid = v->uuid,
						.interval = v->interval,
						.on_done = share_on_slice,
						.arg = x };

		if (!v->interval)
			continue;
		r = gpu_timeslice_new(x->of->loop, &o, &x->slice, &err);
		if (r == 0)
			return;
	}
	if (r == 0 && x->ndevices && !x->mps)
		r = share_start_mps(x, &err);
	if (r < 0)
		share_answer(x, &err);
	else if (!x->ndevices)
		share_answer(x, NULL);
}

static void share_copy(struct nvidia_share *x, const struct nvidia_share_device *v, size_t n)
{
	x->v = ARENA_ARRAY(&x->arena, struct nvidia_share_device, n + 1);
	x->devices = ARENA_ARRAY(&x->arena, struct mps_device, n + 1);
	x->n = n;
	x->threads = MPS_THREADS_UNSET;
	for (size_t i = 0; i < n; i++) {
		x->v[i] = v[i];
		x->v[i].uuid = arena_strdup(&x->arena, str_from(v[i].uuid));
		if (!v[i].mps)
			continue;
		x->devices[x->ndevices++] = (struct mps_device){ x->v[i].uuid, v[i].memory_mib };
		if (v[i].threads > x->threads)
			x->threads = v[i].threads;
	}
}

void nvidia_share_begin(struct nvidia_shares *s, struct str uid,
			const struct nvidia_share_device *v, size_t n,
			void (*ready)(void *arg, const struct error *err), void *arg)
{
	struct nvidia_share *x = share_find(s, uid);
	struct error busy;

	if (x && x->is_ready) {
		ready(arg, NULL);
		return;
	}
	if (x) {
		(void)error_set(&busy, ERR_UNAVAILABLE, "sharing of the claim is still changing");
		ready(arg, &busy);
		return;
	}
	x = XNEW(struct nvidia_share);
	arena_init(&x->arena, GPU_SCRATCH_MAX);
	x->of = s;
	x->uid = arena_strdup(&x->arena, uid);
	x->ready = ready;
	x->arg = arg;
	list_push_back(&s->all, &x->link);
	share_copy(x, v, n);
	share_next(x);
}

bool nvidia_share_mps(const struct nvidia_shares *s, struct str uid, struct arena *a,
		      const char *const **ret_env, const char **ret_pipe)
{
	const struct nvidia_share *x = share_find(s, uid);

	if (!x || !x->mps)
		return false;
	*ret_env = mps_container_env(a, x->devices, x->ndevices, x->threads);
	*ret_pipe = arena_strdup(a, str_from(mps_pipe(x->mps)));
	return true;
}

/*
 * A share is a chain: the time slice of each GPU, one after another, then the MPS daemon. It ends
 * in reverse: the daemon first, because its server uses the GPU, then the time slices go back to
 * the default.
 */
#include "drivers/nvidia/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/json/writer.h"
#include "base/report/log.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_share/mps.h"
#include "drivers/gpu_share/mps_process.h"
#include "drivers/gpu_share/timeslice.h"
#include "drivers/gpu_share/tool.h"
#include "net/loop/loop.h"

struct nvidia_shares {
	struct loop *loop;
	const struct log *log;
	const char *dir;
	struct arena arena;
	const char *smi, *mps; /* programs */
	char *libraries; /* folder of their libraries; NULL: not known */
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

struct nvidia_shares *nvidia_shares_new(struct loop *l, const struct log *log, const char *dir,
					const char *root, const char *driver_root)
{
	struct nvidia_shares *s = XNEW(struct nvidia_shares);

	s->loop = l;
	s->log = log;
	s->dir = dir;
	arena_init(&s->arena, GPU_SCRATCH_MAX);
	s->smi = gpu_tool_find(&s->arena, root, driver_root, "nvidia-smi");
	s->mps = gpu_tool_find(&s->arena, root, driver_root, "nvidia-cuda-mps-control");
	list_init(&s->all);
	return s;
}

void nvidia_shares_set_libraries(struct nvidia_shares *s, const char *root, const char *folder)
{
	size_t n = strlen(root) + strlen(folder) + 1;

	free(s->libraries);
	s->libraries = xmalloc(n);
	(void)snprintf(s->libraries, n, "%s%s", root, folder);
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
	arena_release(&s->arena);
	free(s->libraries);
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

/* --- end ------------------------------------------------------------------------------------- */

static void share_reset_next(struct nvidia_share *x);

static const char *share_dir(struct nvidia_share *x)
{
	return arena_printf(&x->arena, "%s/%s", x->of->dir, x->uid);
}

/* Removes the record, and the folder of a daemon that has ended. */
static void share_forget(struct nvidia_share *x)
{
	struct mps_paths p;

	if (mps_paths_init(&p, share_dir(x), NULL) == 0)
		mps_paths_remove(&p);
}

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
		struct gpu_timeslice_opts o = { .program = x->of->smi,
						.libraries = x->of->libraries,
						.uuid = v->uuid,
						.on_done = share_on_reset,
						.arg = x };

		if (v->interval && gpu_timeslice_new(x->of->loop, &o, &x->slice, NULL) == 0)
			return;
	}
	share_forget(x);
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

static void write_device(struct json_writer *w, const struct nvidia_share_device *v)
{
	json_writer_begin_object(w);
	json_writer_keyz(w, "uuid");
	json_writer_strz(w, v->uuid);
	json_writer_keyz(w, "interval");
	json_writer_u64(w, v->interval);
	json_writer_keyz(w, "memoryMiB");
	json_writer_i64(w, v->memory_mib);
	json_writer_keyz(w, "threads");
	json_writer_i64(w, v->threads);
	json_writer_keyz(w, "mps");
	json_writer_bool(w, v->mps);
	json_writer_keyz(w, "multiUser");
	json_writer_bool(w, v->multi_user);
	json_writer_keyz(w, "exclusive");
	json_writer_bool(w, v->exclusive);
	json_writer_end_object(w);
}

/* For the next run of the driver. */
static int share_save(struct nvidia_share *x, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_SCRATCH_MAX);
	struct json_writer w;
	const char *dir = share_dir(x);
	int r = folder_make(dir, 0755, err);

	json_writer_init(&w, &text, NULL);
	json_writer_begin_array(&w);
	for (size_t i = 0; i < x->n; i++)
		write_device(&w, &x->v[i]);
	json_writer_end_array(&w);
	if (r == 0 && json_writer_finish(&w) < 0)
		r = error_set(err, ERR_TOO_LARGE, "too many devices");
	return r < 0 ? r
		     : file_write_atomic(arena_printf(&x->arena, "%s/" MPS_OWNER_FILE, dir),
					 buf_str(&text), 0600, err);
}

static int share_start_mps(struct nvidia_share *x, struct error *err)
{
	struct mps_opts o = { .program = x->of->mps,
			      .libraries = x->of->libraries,
			      .dir = share_dir(x),
			      .devices = x->devices,
			      .ndevices = x->ndevices,
			      .threads = x->threads,
			      .on_change = share_on_mps,
			      .arg = x };

	for (size_t i = 0; i < x->n; i++) {
		o.multi_user = o.multi_user || x->v[i].multi_user;
		o.hold = o.hold || (x->v[i].mps && x->v[i].exclusive);
	}
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
		struct gpu_timeslice_opts o = { .program = x->of->smi,
						.libraries = x->of->libraries,
						.uuid = v->uuid,
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

static struct nvidia_share *share_new(struct nvidia_shares *s, struct str uid)
{
	struct nvidia_share *x = XNEW(struct nvidia_share);

	arena_init(&x->arena, GPU_SCRATCH_MAX);
	x->of = s;
	x->uid = arena_strdup(&x->arena, uid);
	list_push_back(&s->all, &x->link);
	return x;
}

/* --- an earlier run's ------------------------------------------------------------------------ */

static int share_load(struct nvidia_share *x, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_SCRATCH_MAX);
	struct nvidia_share_device *v;
	struct json *tree = NULL;
	size_t n = 0;
	int r = file_read(arena_printf(&x->arena, "%s/%s/" MPS_OWNER_FILE, x->of->dir, x->uid),
			  &text, err);

	if (r == 0)
		r = json_parse(&x->arena, buf_str(&text), NULL, &tree, err);
	if (r < 0)
		return r;
	v = ARENA_ARRAY(&x->arena, struct nvidia_share_device, json_count(tree) + 1);
	JSON_FOREACH (it, tree) {
		struct str uuid = json_text_at(it, "uuid");

		if (!uuid.p)
			return error_set(err, ERR_INVALID, "a device has no uuid");
		v[n++] = (struct nvidia_share_device){
			.uuid = arena_strdup(&x->arena, uuid),
			.interval = (uint32_t)json_i64_at(it, "interval", 0),
			.memory_mib = json_i64_at(it, "memoryMiB", 0),
			.threads = (int32_t)json_i64_at(it, "threads", MPS_THREADS_UNSET),
			.mps = json_true_at(it, "mps"),
			.multi_user = json_true_at(it, "multiUser"),
			.exclusive = json_true_at(it, "exclusive"),
		};
	}
	share_copy(x, v, n);
	return x->n ? 0 : error_set(err, ERR_INVALID, "there is no device");
}

static bool share_has_record(const struct nvidia_shares *s, struct str uid)
{
	char path[MPS_PATH_SIZE];

	return snprintf(path, sizeof(path), "%s/%.*s/" MPS_OWNER_FILE, s->dir, STR_ARG(uid)) <
		       MPS_PATH_SIZE &&
	       access(path, F_OK) == 0;
}

/* Time slices are set already; they are only set back at the end. NULL: there is no record. */
static struct nvidia_share *share_adopt(struct nvidia_shares *s, struct str uid)
{
	struct nvidia_share *x = share_new(s, uid);
	struct error err;
	int r = share_load(x, &err);

	x->at = x->n;
	x->is_ready = true;
	if (r == 0 && x->ndevices)
		r = share_start_mps(x, &err);
	if (r == 0)
		return x;
	log_warn(s->log, "what a claim shares is not known", LOG_Z("claim", x->uid), LOG_ERR(&err));
	share_free(x);
	return NULL;
}

struct sweep_all {
	struct nvidia_shares *shares;
	bool (*knows)(void *arg, const char *uid);
	void *arg;
};

static bool share_keep(void *arg, const char *name)
{
	const struct sweep_all *all = arg;
	bool known = all->knows(all->arg, name);
	struct nvidia_share *x = share_find(all->shares, str_from(name));

	if (x)
		return true;
	x = share_adopt(all->shares, str_from(name));
	if (x && known && x->mps)
		log_info(all->shares->log, "MPS daemon was taken over", LOG_Z("claim", x->uid));
	if (x && !known) {
		log_warn(all->shares->log, "the claim is gone: its sharing ends",
			 LOG_Z("claim", x->uid));
		share_finish(x, share_ignore, NULL);
	}
	return x || known;
}

void nvidia_shares_sweep(struct nvidia_shares *s, bool (*knows)(void *arg, const char *uid),
			 void *arg)
{
	struct sweep_all all = { s, knows, arg };
	size_t n = mps_sweep(s->dir, share_keep, &all);

	if (n)
		log_warn(s->log, "MPS daemons of claims that are gone were ended",
			 LOG_UINT("daemons", n));
}

/* --- public ---------------------------------------------------------------------------------- */

void nvidia_share_begin(struct nvidia_shares *s, struct str uid,
			const struct nvidia_share_device *v, size_t n,
			void (*ready)(void *arg, const struct error *err), void *arg)
{
	struct nvidia_share *x = share_find(s, uid);
	struct error busy, failure;

	if (x && x->is_ready) {
		ready(arg, NULL);
		return;
	}
	if (x) {
		(void)error_set(&busy, ERR_UNAVAILABLE, "sharing of the claim is still changing");
		ready(arg, &busy);
		return;
	}
	x = share_new(s, uid);
	x->ready = ready;
	x->arg = arg;
	share_copy(x, v, n);
	/* Before the first change: the next run of the driver undoes it. */
	if (share_save(x, &failure) < 0)
		share_answer(x, &failure);
	else
		share_next(x);
}

void nvidia_share_end(struct nvidia_shares *s, struct str uid, void (*done)(void *arg), void *arg)
{
	struct nvidia_share *x = share_find(s, uid);

	/* An earlier run of the driver may have left a daemon or time slices. */
	if (!x && share_has_record(s, uid))
		x = share_adopt(s, uid);
	if (x && !x->ending)
		share_finish(x, done, arg);
	else
		done(arg);
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

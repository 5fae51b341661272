/* All text is in the snapshot's arena, so it needs nothing else once it is filled. */
#include "drivers/nvidia/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_cdi/proc.h"
#include "drivers/nvidia/known.h"

struct nvidia_snapshot *nvidia_snapshot_new(void)
{
	struct nvidia_snapshot *s = XNEW(struct nvidia_snapshot);

	s->refs = 1;
	arena_init(&s->arena, GPU_SNAPSHOT_MAX);
	return s;
}

struct nvidia_snapshot *nvidia_snapshot_ref(struct nvidia_snapshot *s)
{
	s->refs++;
	return s;
}

void nvidia_snapshot_unref(struct nvidia_snapshot *s)
{
	if (!s || --s->refs)
		return;
	arena_release(&s->arena);
	free(s);
}

/* --- reading --------------------------------------------------------------------------------- */

/* Without them nothing can be prepared, but devices are published all the same. */
static void find_libraries(struct nvidia_snapshot *s, const struct nvidia_read *r)
{
	struct gpu_libraries_opts o = { .root = r->root,
					.driver_root = r->driver_root,
					.library_dir = r->library_dir };
	char version[GPU_VERSION_SIZE];
	int failed = gpu_proc_version(r->root, version, &s->no_libraries);

	o.version = version;
	if (failed == 0)
		failed = gpu_libraries_find(&s->arena, &o, &s->libraries, &s->no_libraries);
	if (failed == 0)
		s->no_libraries.code = ERR_OK;
}

static int read_source(struct nvidia_snapshot *s, struct nvml *n, const struct nvidia_read *r,
		       struct gpu_source *to, struct error *err)
{
	struct nvml_profile *profiles = NULL;
	int failed = 0;

	if (to->gpu.mig != NVML_MIG_NONE)
		failed = nvml_profiles(n, &to->gpu, &s->arena, &profiles, &to->nprofiles, err);
	if (failed == -ERR_UNIMPLEMENTED)
		failed = 0;
	if (failed < 0)
		return error_wrap(err, failed, "GPU %" PRIu32, to->gpu.minor);
	to->profiles = profiles;
	gpu_sysfs_read(arena_printf(&s->arena, "%s/sys", r->root), &s->arena, to);
	return 0;
}

static bool has_gpu(const struct nvidia_snapshot *s, struct str uuid)
{
	for (size_t i = 0; i < s->n; i++)
		if (str_eq(s->sources[i].gpu.uuid, uuid))
			return true;
	return false;
}

/* Damaged text is no reason to fail: the GPUs that work are served. */
static void add_lost(struct nvidia_snapshot *s, const struct nvidia_read *r)
{
	struct gpu_source *known = NULL, *all;
	size_t n = 0;

	if (!s->skipped.n || !r->known.n ||
	    nvidia_known_parse(&s->arena, r->known, r->boot_id, &known, &n, NULL) < 0)
		return;
	all = ARENA_ARRAY(&s->arena, struct gpu_source, s->n + n + 1);
	for (size_t i = 0; i < s->n; i++)
		all[i] = s->sources[i];
	s->sources = all;
	for (size_t i = 0; i < n; i++) {
		if (has_gpu(s, known[i].gpu.uuid))
			continue;
		all[s->n++] = known[i];
		s->nlost++;
	}
}

int nvidia_snapshot_read(struct nvidia_snapshot *s, struct nvml *n, const struct nvidia_read *r,
			 struct error *err)
{
	struct nvml_gpu *gpus = NULL;
	int failed = nvml_gpus(n, &s->arena, &gpus, &s->n, &s->skipped, err);

	if (failed < 0)
		return failed;
	s->sources = ARENA_ARRAY(&s->arena, struct gpu_source, s->n + 1);
	for (size_t i = 0; i < s->n && failed == 0; i++) {
		s->sources[i].gpu = gpus[i];
		failed = read_source(s, n, r, &s->sources[i], err);
	}
	if (failed == 0)
		add_lost(s, r);
	find_libraries(s, r);
	return failed;
}

struct nvml_gpu *nvidia_snapshot_gpus(struct nvidia_snapshot *s, size_t *count)
{
	struct nvml_gpu *v = ARENA_ARRAY(&s->arena, struct nvml_gpu, s->n + 1);

	*count = s->n - s->nlost;
	for (size_t i = 0; i < *count; i++)
		v[i] = s->sources[i].gpu;
	return v;
}

int nvidia_snapshot_finish(struct nvidia_snapshot *s, struct nvml *n, const struct nvidia_read *r,
			   struct gpu_prepare *p, struct error *err)
{
	struct gpu_inventory_options o = { .mig = r->mig,
					   .static_mig = r->static_mig,
					   .shares = r->shares,
					   .share_count = r->share_count };
	struct gpu_seen *seen = NULL;
	size_t count = 0;
	int failed = nvml_versions(n, &s->arena, &o.driver_version, &o.cuda_version, err);

	if (failed == 0)
		failed = gpu_prepare_look(p, n, &s->arena, &seen, &count, err);
	if (failed < 0)
		return failed;
	for (size_t i = 0; i < s->n && i < count; i++) {
		s->sources[i].foreign = seen[i].foreign;
		s->sources[i].nforeign = seen[i].nforeign;
		s->sources[i].foreign_mig = seen[i].foreign_mig;
		if (seen[i].mig != NVML_MIG_NONE)
			s->sources[i].gpu.mig = seen[i].mig;
	}
	gpu_inventory_make(&s->arena, s->sources, s->n, &o, &s->inventory);
	return 0;
}

const struct gpu_source *nvidia_snapshot_by_handle(const struct nvidia_snapshot *s,
						   const void *handle)
{
	for (size_t i = 0; s && i < s->n; i++)
		if (s->sources[i].gpu.handle == handle)
			return &s->sources[i];
	return NULL;
}

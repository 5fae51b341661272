/*
 * Images on the disk, and the usage of containers.
 */
#include "base/core/mem.h"
#include "node/runtime/cri_image.h"
#include "node/runtime/cri_impl.h"
#include "node/runtime/cri_messages.h"

static struct runtime_cri *space_cri_of(struct runtime *rt)
{
	return CONTAINER_OF(rt, struct runtime_cri, runtime);
}

/* Numbers of the runtime are unsigned, ours are not. */
static int64_t space_value(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int64_t space_optional(const Cri__UInt64Value *v)
{
	return v ? space_value(v->value) : -1;
}

/* --- images ------------------------------------------------------------------------- */

static bool space_is_of_sandboxes(struct arena *a, const struct runtime_cri *r,
				  const struct str *names, size_t n)
{
	struct str full;

	for (size_t i = 0; i < n && r->sandbox_image; i++) {
		if (cri_image_full(names[i], a, &full, NULL) == 0 &&
		    str_eqz(full, r->sandbox_image))
			return true;
	}
	return false;
}

static void space_take_image(struct arena *a, const struct runtime_cri *r, const Cri__Image *from,
			     struct runtime_image_info *to)
{
	struct str *names = ARENA_ARRAY(a, struct str, from->n_repo_tags + from->n_repo_digests);
	size_t n = 0;

	for (size_t i = 0; i < from->n_repo_tags; i++)
		names[n++] = str_from(from->repo_tags[i]);
	for (size_t i = 0; i < from->n_repo_digests; i++)
		names[n++] = str_from(from->repo_digests[i]);
	*to = (struct runtime_image_info){ .id = str_from(from->id),
					   .names = names,
					   .nnames = n,
					   .size = space_value(from->size),
					   .pinned = from->pinned ||
						     space_is_of_sandboxes(a, r, names, n) };
}

static void images_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ListImagesResponse *m = reply;
	CLEANUP(arena_release) struct arena a;
	struct runtime_image_info *v;

	arena_init(&a, SIZE_MAX);
	if (err) {
		op->images_done(op->arg, NULL, 0, err);
		return;
	}
	v = ARENA_ARRAY(&a, struct runtime_image_info, m->n_images);
	for (size_t i = 0; i < m->n_images; i++)
		space_take_image(&a, op->r, m->images[i], &v[i]);
	op->images_done(op->arg, v, m->n_images, NULL);
}

void cri_images(struct runtime *rt, runtime_images_done *done, void *arg)
{
	struct cri_op op = { .r = space_cri_of(rt), .method = CRI_LIST_IMAGES, .fn = images_done };
	Cri__ListImagesRequest m = CRI__LIST_IMAGES_REQUEST__INIT;

	op.images_done = done;
	op.arg = arg;
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void remove_image_done(struct cri_op *op, const void *reply, const struct error *err)
{
	(void)reply;
	op->done(op->arg, err);
}

void cri_remove_image(struct runtime *rt, struct str id, runtime_done *done, void *arg)
{
	struct cri_op op = { .r = space_cri_of(rt),
			     .method = CRI_REMOVE_IMAGE,
			     .fn = remove_image_done };
	Cri__RemoveImageRequest m = CRI__REMOVE_IMAGE_REQUEST__INIT;
	CLEANUP(arena_release) struct arena a;

	arena_init(&a, SIZE_MAX);
	op.done = done;
	op.arg = arg;
	m.image = cri_image_spec(&a, id);
	cri_call(&op, &m.base, CRI_TIMEOUT_MS);
}

static void image_fs_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ImageFsInfoResponse *m = reply;
	const Cri__FilesystemUsage *fs = m && m->n_image_filesystems > 0 ? m->image_filesystems[0]
									 : NULL;

	op->id_done(op->arg, fs && fs->fs_id ? str_from(fs->fs_id->mountpoint) : STR_NULL, err);
}

void cri_image_fs(struct runtime *rt, runtime_id_done *done, void *arg)
{
	struct cri_op op = { .r = space_cri_of(rt), .method = CRI_IMAGE_FS, .fn = image_fs_done };
	Cri__ImageFsInfoRequest m = CRI__IMAGE_FS_INFO_REQUEST__INIT;

	op.id_done = done;
	op.arg = arg;
	cri_call(&op, &m.base, CRI_STATUS_TIMEOUT_MS);
}

/* --- statistics --------------------------------------------------------------------- */

static void space_take_stats(const Cri__ContainerStats *from, struct runtime_usage *to)
{
	const Cri__ContainerAttributes *a = from->attributes;
	const Cri__FilesystemUsage *disk = from->writable_layer;

	*to = (struct runtime_usage){ .memory = -1, .disk = -1, .inodes = -1 };
	if (a) {
		to->pod_uid = cri_pair(a->labels, a->n_labels, RUNTIME_LABEL_POD_UID);
		to->container = cri_pair(a->labels, a->n_labels, RUNTIME_LABEL_CONTAINER_NAME);
	}
	if (from->memory)
		to->memory = space_optional(from->memory->working_set_bytes);
	if (disk) {
		to->disk = space_optional(disk->used_bytes);
		to->inodes = space_optional(disk->inodes_used);
	}
}

static void stats_done(struct cri_op *op, const void *reply, const struct error *err)
{
	const Cri__ListContainerStatsResponse *m = reply;
	CLEANUP(arena_release) struct arena a;
	struct runtime_usage *v;

	arena_init(&a, SIZE_MAX);
	if (err) {
		op->stats_done(op->arg, NULL, 0, err);
		return;
	}
	v = ARENA_ARRAY(&a, struct runtime_usage, m->n_stats);
	for (size_t i = 0; i < m->n_stats; i++)
		space_take_stats(m->stats[i], &v[i]);
	op->stats_done(op->arg, v, m->n_stats, NULL);
}

void cri_stats(struct runtime *rt, runtime_stats_done *done, void *arg)
{
	struct cri_op op = { .r = space_cri_of(rt), .method = CRI_STATS, .fn = stats_done };
	Cri__ListContainerStatsRequest m = CRI__LIST_CONTAINER_STATS_REQUEST__INIT;

	op.stats_done = done;
	op.arg = arg;
	cri_call(&op, &m.base, CRI_STATUS_TIMEOUT_MS);
}

/*
 * prepare_fixture - for tests: two H200s of nvml_fake with their inventory, and a book in a folder.
 * Include cmocka first.
 */
#ifndef DRIVERS_GPU_PREPARE_PREPARE_FIXTURE_H
#define DRIVERS_GPU_PREPARE_PREPARE_FIXTURE_H

#include <stdlib.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_inventory/gpu_fixture.h"
#include "drivers/gpu_prepare/nvml_fake.h"
#include "drivers/gpu_prepare/prepare.h"

struct world {
	char dir[64], path[96], proc[96];
	struct arena arena;
	struct fake_nvml *fake;
	struct gpu_source sources[FAKE_GPUS];
	struct gpu_inventory inventory;
	struct gpu_prepare_options options;
	struct gpu_prepare *prepare;
	struct buf notes;
	struct error err;
};

static inline void world_open(struct world *w)
{
	assert_null(w->prepare);
	if (gpu_prepare_open(&w->options, &w->prepare, &w->err) < 0)
		fail_msg("%s", w->err.msg);
}

static inline int world_start(struct world *w)
{
	buf_clear(&w->notes);
	return gpu_prepare_start(w->prepare, fake_nvml_session(w->fake), fake_nvml_gpus(),
				 FAKE_GPUS, &w->notes, &w->err);
}

/* As after a crash: the memory is lost, the file and the GPUs stay. */
static inline void world_restart(struct world *w)
{
	gpu_prepare_close(TAKE(w->prepare));
	world_open(w);
	assert_int_equal(world_start(w), 0);
}

static inline struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	arena_init(&w->arena, MIB);
	buf_init(&w->notes, MIB);
	/* A file system in memory, because every step is synced. */
	(void)snprintf(w->dir, sizeof(w->dir), "%s/gpu-prepare-XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/plugins/book.json", w->dir);
	(void)snprintf(w->proc, sizeof(w->proc), "%s/proc", w->dir);
	w->fake = fake_nvml_new();
	assert_non_null(w->fake);
	w->sources[0] = gpu_fixture_h200(0, STR("GPU-a"));
	w->sources[1] = gpu_fixture_h200(1, STR("GPU-b"));
	gpu_inventory_make(&w->arena, w->sources, FAKE_GPUS, &gpu_fixture_options, &w->inventory);
	w->options = (struct gpu_prepare_options){ .path = w->path,
						   .boot_id = "boot-1",
						   .proc = w->proc };
	world_open(w);
	assert_int_equal(world_start(w), 0);
	return w;
}

static inline void world_free(struct world *w)
{
	gpu_prepare_close(w->prepare);
	fake_nvml_free(w->fake);
	folder_fixture_remove(w->dir);
	buf_release(&w->notes);
	arena_release(&w->arena);
	free(w);
}

static inline const struct gpu_device *world_device(const struct world *w, const char *name)
{
	const struct gpu_device *d = gpu_inventory_find(&w->inventory, str_from(name));

	if (!d)
		fail_msg("there is no device %s", name);
	return d;
}

static inline int world_prepare(struct world *w, const char *uid, const struct gpu_want *wants,
				size_t n, struct gpu_prepared *ret)
{
	struct gpu_claim c = { .uid = str_from(uid), .ns = STR("default"), .name = str_from(uid) };

	return gpu_claim_prepare(w->prepare, fake_nvml_session(w->fake), &c, wants, n, &w->arena,
				 ret, &w->err);
}

static inline int world_undo(struct world *w, const char *uid)
{
	return gpu_claim_undo(w->prepare, fake_nvml_session(w->fake), str_from(uid), &w->err);
}

#endif

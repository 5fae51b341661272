/*
 * gpu_book - the NVIDIA driver's record of which claim uses which device, and its file.
 *
 * A use is one device of one claim. It is in the file before anything is done for it, and until
 * everything is undone. So after a crash the file names every GPU instance that this driver may
 * have made, by GPU, profile and place. An instance that the file does not name is somebody else's.
 *
 * The file is replaced atomically and synced. Unknown members are ignored. GPU instances do not
 * survive a reboot: if the file is of an earlier boot, the uses in it are dropped.
 *
 * If the file is damaged, opening fails and nothing is changed, because a guess could destroy
 * instances that containers use.
 * Threads: one at a time.
 */
#ifndef DRIVERS_GPU_PREPARE_BOOK_H
#define DRIVERS_GPU_PREPARE_BOOK_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "base/core/vec.h"
#include "drivers/gpu_inventory/inventory.h"

enum {
	GPU_BOOK_UID = 128, /* of a claim */
	GPU_BOOK_NAME = 256, /* of a claim or namespace */
	GPU_BOOK_DEVICE = 64,
	GPU_BOOK_UUID = 96, /* of a GPU or MIG device */
};

struct gpu_use {
	char claim_uid[GPU_BOOK_UID], claim_ns[GPU_BOOK_NAME], claim_name[GPU_BOOK_NAME];
	char claim_pod[GPU_BOOK_NAME]; /* "": unknown */
	char device[GPU_BOOK_DEVICE];
	char gpu[GPU_BOOK_UUID]; /* of the physical GPU */
	enum gpu_kind kind;
	bool shared; /* GPU_FULL: other claims may use it as well */
	bool exclusive; /* GPU_FULL: only the claim's MPS server may use the GPU */
	bool done; /* prepared; else begun, and anything may exist */
	/* The claim is undone, but its GPU was lost: the instance is removed if it comes back. */
	bool abandoned;
	/* Only for MIG devices. */
	uint32_t profile, slices;
	struct nvml_placement place;
	/* Valid when done. */
	uint32_t gi, ci;
	char uuid[GPU_BOOK_UUID]; /* "MIG-.."; "" for a full GPU */

	/* Not saved: this call began it; an instance of it may exist. */
	bool begun, made;
};

/* Modes that this driver has switched on. */
enum gpu_mode {
	GPU_MODE_MIG = 1 << 0,
	GPU_MODE_EXCLUSIVE = 1 << 1, /* compute mode "exclusive process" */
};

struct gpu_switched {
	char gpu[GPU_BOOK_UUID];
	uint32_t modes; /* enum gpu_mode */
};

struct gpu_book {
	char *path, *boot_id; /* heap */
	VEC(struct gpu_use) uses;
	VEC(struct gpu_switched) switched;
};

/*
 * Reads the file; a missing one is an empty book. `boot_id` NULL: the kernel's. Returns
 * -ERR_INVALID for a damaged file, with a message that says what to do.
 */
int gpu_book_open(struct gpu_book *b, const char *path, const char *boot_id, struct error *err);
void gpu_book_release(struct gpu_book *b);

/* Creates the folder if missing. If it fails, the file is unchanged. */
int gpu_book_save(const struct gpu_book *b, struct error *err);

/* The use of a device by a claim; NULL: none. */
struct gpu_use *gpu_book_find(const struct gpu_book *b, struct str claim_uid, const char *device);

bool gpu_book_switched(const struct gpu_book *b, struct str gpu, enum gpu_mode mode);
/* Returns false if the book is full. */
bool gpu_book_set_switched(struct gpu_book *b, struct str gpu, enum gpu_mode mode, bool on);

/* Copies text into a field. Returns false if it does not fit or has a NUL. */
bool gpu_book_put(char *to, size_t size, struct str text);

DEFINE_CLEANUP(gpu_book_release, struct gpu_book *);

#endif

/*
 * gpu_prepare - makes the devices of a claim usable, and undoes that: MIG mode, GPU instances and
 * compute instances.
 *
 * Every use is booked before the first step and until after the last (book.h). A prepare that fails
 * destroys what it has made. After a crash, gpu_prepare_start() destroys what an unfinished prepare
 * has left. Every function can be repeated at any point.
 *
 * Instances that somebody else made are not touched, and gpu_prepare_look() lists them. Exception:
 * a crash left a use unfinished, and before the next start somebody else made an instance of its
 * profile in its place.
 *
 * Threads: the calls block, so all of them run in jobs of one nvml_worker, one at a time.
 */
#ifndef DRIVERS_GPU_PREPARE_PREPARE_H
#define DRIVERS_GPU_PREPARE_PREPARE_H

#include "drivers/gpu_inventory/inventory.h"

struct buf;
struct gpu_prepare;

struct gpu_prepare_options {
	const char *path; /* of the book */
	const char *boot_id; /* NULL: the kernel's */
	const char *proc; /* NULL: "/proc" */
	/*
	 * For tests: called before each step that changes the file or a GPU. If it returns a
	 * negative number, the step fails with that. If it does not return, that is a crash.
	 */
	int (*on_step)(void *arg, const char *step, struct error *err);
	void *arg;
};

/* Reads the book. See gpu_book_open() for its errors. */
int gpu_prepare_open(const struct gpu_prepare_options *o, struct gpu_prepare **ret,
		     struct error *err);
void gpu_prepare_close(struct gpu_prepare *p); /* NULL allowed; changes no GPU */

/*
 * Call it first, and again when the list of GPUs has changed. Undoes unfinished uses. Switches MIG
 * off where this driver had switched it on and no instance is left, and sets compute modes. A step
 * that fails is only noted: it appends a line to `notes`, and is retried by the next call.
 */
int gpu_prepare_start(struct gpu_prepare *p, struct nvml *n, const struct nvml_gpu *gpus,
		      size_t ngpus, struct buf *notes, struct error *err);

/*
 * Only the first part of it: sets the list of GPUs, and changes nothing. For programs that look at
 * a book that another process writes.
 */
void gpu_prepare_set_gpus(struct gpu_prepare *p, const struct nvml_gpu *gpus, size_t n);

struct gpu_claim {
	struct str uid, ns, name;
	struct str pod; /* the pod that it is reserved for; empty: unknown */
};

/* A device that the claim got. */
struct gpu_want {
	const struct gpu_device *device;
	bool shared; /* a share of a full GPU */
	/*
	 * A full GPU that only one process may use: the claim's MPS server, which limits programs.
	 * Its compute mode becomes "exclusive process" until the claim is undone, unless somebody
	 * else had changed it, or the library cannot.
	 */
	bool exclusive;
	bool admin; /* adminAccess: others may use the device at the same time; not booked */
};

struct gpu_prepared {
	struct str uuid; /* of the MIG device, or of the GPU */
	uint32_t minor; /* of the GPU */
	bool mig;
	bool exclusive; /* its compute mode is "exclusive process" */
	uint32_t gi, ci;
};

/*
 * Makes the devices and fills `ret`, which has an element per want, with text in `a`. If the claim
 * is prepared already, it only checks that its instances exist. Codes:
 *
 *   -ERR_CONFLICT   another claim, an instance of somebody else or a process is in the way
 *   -ERR_NOT_FOUND  there is no such GPU
 *   other           what NVML or the file returned; gpu_claim_undo() or another try cleans up
 */
int gpu_claim_prepare(struct gpu_prepare *p, struct nvml *n, const struct gpu_claim *c,
		      const struct gpu_want *wants, size_t nwants, struct arena *a,
		      struct gpu_prepared *ret, struct error *err);

/*
 * Destroys the claim's instances, sets the compute mode back, and switches MIG off if this driver
 * had switched it on and no instance is left. Returns 0 for an unknown claim. -ERR_CONFLICT: a
 * process uses an instance; the message names it. The other devices of the claim are undone all
 * the same.
 */
int gpu_claim_undo(struct gpu_prepare *p, struct nvml *n, struct str uid, struct error *err);

/* The current state of one GPU. */
struct gpu_seen {
	struct str gpu; /* its UUID */
	enum nvml_mig mig;
	bool foreign_mig; /* MIG is on, and this driver did not switch it on */
	struct gpu_foreign *foreign; /* instances that the book does not name */
	size_t nforeign;
};

/* An element per GPU of gpu_prepare_start(), in the same order. */
int gpu_prepare_look(struct gpu_prepare *p, struct nvml *n, struct arena *a, struct gpu_seen **ret,
		     size_t *count, struct error *err);

/* A use of the book. */
struct gpu_holder {
	struct gpu_claim claim;
	const char *device;
	struct str gpu, uuid; /* uuid is empty for a full GPU */
	bool mig, done;
	uint32_t gi, ci;
};
/* Use `i`; returns false beyond the last one. The text is valid until the next call. */
bool gpu_prepare_holder(const struct gpu_prepare *p, size_t i, struct gpu_holder *ret);

DEFINE_CLEANUP(gpu_prepare_close, struct gpu_prepare *);

#endif

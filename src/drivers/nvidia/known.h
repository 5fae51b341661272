/*
 * nvidia_known - the details of GPUs as text, for the time in which a GPU is lost.
 *
 * NVML does not describe a GPU that is lost, but its devices must stay in the slices: they carry
 * the taints and the health. So the last details are kept in a file, with the ID of the boot.
 */
#ifndef DRIVERS_NVIDIA_KNOWN_H
#define DRIVERS_NVIDIA_KNOWN_H

#include "base/core/buf.h"
#include "drivers/gpu_inventory/inventory.h"

/* Appends the text. -ERR_TOO_LARGE: `out` is full. */
int nvidia_known_print(const struct gpu_source *v, size_t n, const char *boot, struct buf *out,
		       struct error *err);

/*
 * Reads it again; handles are NULL. Text of another boot gives no GPUs, because a reboot may give
 * other numbers to them. -ERR_INVALID: the text is damaged.
 */
int nvidia_known_parse(struct arena *a, struct str text, const char *boot, struct gpu_source **ret,
		       size_t *count, struct error *err);

#endif

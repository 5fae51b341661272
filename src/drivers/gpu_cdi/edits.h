/*
 * gpu_edits - all that a container needs to use a GPU or a MIG device: nodes, files, environment.
 *
 * Nodes have type, major and minor, because the runtime's /dev may lack them: NVML makes the nodes
 * of MIG instances in the /dev of its own process only. Containers get the nodes of their device
 * and no others; the runtime's device rules follow from that list, and keep tenants apart.
 */
#ifndef DRIVERS_GPU_CDI_EDITS_H
#define DRIVERS_GPU_CDI_EDITS_H

#include "drivers/gpu_cdi/libraries.h"

enum { GPU_NODES_MOST = 6, GPU_NO_INSTANCE = -1 };

struct gpu_node {
	const char *path; /* in the container and on the machine */
	char type; /* 'c' */
	uint32_t major, minor, mode;
};

/* A file; binds are read-only. */
struct gpu_edits {
	struct gpu_node nodes[GPU_NODES_MOST];
	size_t nnodes;
	const struct gpu_file *files; /* borrowed from the libraries */
	size_t nfiles;
	const char *const *env; /* NULL-terminated; constants */
};

struct gpu_edits_device {
	uint32_t minor; /* of the physical GPU: /dev/nvidia<minor> */
	int32_t gi, ci; /* both GPU_NO_INSTANCE: the full GPU */
};

/*
 * Text is in `a`; `libraries` must outlive the result. `root` is as in proc.h. The error says which
 * kernel module is missing, or which MIG instance.
 */
int gpu_edits_make(struct arena *a, const char *root, const struct gpu_libraries *libraries,
		   const struct gpu_edits_device *d, struct gpu_edits *ret_edits,
		   struct error *err);

#endif

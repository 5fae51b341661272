/*
 * eviction_figures - reads what the machine has left.
 *
 * Memory is MemAvailable of /proc/meminfo, which is the kernel's own estimate. Files and bytes of
 * file systems are those that may be used without privileges.
 */
#ifndef NODE_EVICTION_FIGURES_H
#define NODE_EVICTION_FIGURES_H

#include "node/eviction/eviction.h"

/* Where the figures come from; tests replace it. */
struct eviction_machine {
	const char *procfs; /* "/proc"; NULL: memory is unknown */
	const char *nodefs, *imagefs; /* folders; NULL: unknown */
};

/* Fills EVICTION_SIGNALS figures. Whatever cannot be read is unknown. */
void eviction_figures_read(const struct eviction_machine *m, struct eviction_figure *ret_figures);

/* Reads the text of /proc/meminfo. Returns false if it lacks a figure, or has a wrong one. */
bool eviction_figures_memory(struct str meminfo, struct eviction_figure *ret_figure);

/* Whether both folders are on one file system. False if one cannot be read. */
bool eviction_figures_same(const char *a, const char *b);

/*
 * Adds up the files below a folder, as far as `*left` files go, which it counts down. Follows no
 * links and stays on the folder's file system.
 */
void eviction_figures_usage(const char *folder, size_t *left, int64_t *bytes, int64_t *inodes);

#endif

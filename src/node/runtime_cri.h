/*
 * runtime_cri - a CRI v1 runtime on its socket (containerd, CRI-O).
 */
#ifndef NODE_RUNTIME_CRI_H
#define NODE_RUNTIME_CRI_H

#include "base/error.h"
#include "node/runtime.h"

struct log;
struct loop;
struct metrics;

struct runtime_cri_opts {
	struct loop *loop;
	const char *endpoint; /* "unix:///run/containerd/containerd.sock" */
	int64_t relist_ms; /* how often the state is looked at for changes; 1 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log;
};

/* Connects by itself, and again. on_change is called for pods whose containers changed since the last look. */
int runtime_cri_new(const struct runtime_cri_opts *opts, struct runtime **ret_runtime,
		    struct error *err);

#endif

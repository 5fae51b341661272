/*
 * runtime_cri - a CRI v1 runtime on its socket (containerd, CRI-O).
 *
 * The state is looked at every relist period: two lists, and the status of what has changed since
 * (cri_state.h). `on_change` is called for the pods in which something has. list() answers with
 * what the last look saw when that is younger than the period and no verb of ours has ended since;
 * otherwise it looks first.
 *
 * Time-outs are upstream's: two minutes, and for stop and exec that much above what the caller
 * gives; a pull may take as long as it takes. Folders for logs are made here.
 */
#ifndef NODE_RUNTIME_CRI_H
#define NODE_RUNTIME_CRI_H

#include "base/core/error.h"
#include "node/runtime/runtime.h"

struct log;
struct loop;
struct metrics;

struct runtime_cri_opts {
	struct loop *loop;
	const char *endpoint; /* "unix:///run/containerd/containerd.sock" */
	int64_t relist_ms; /* how often the state is looked at for changes; 1 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* or NULL */
};

/* Connects by itself, and again. -ERR_INVALID: the endpoint is no address. */
int runtime_cri_new(const struct runtime_cri_opts *opts, struct runtime **ret_runtime,
		    struct error *err);

#endif

/*
 * runtime_cri - a CRI v1 runtime on its socket (containerd, CRI-O).
 *
 * Each relist period it reads the state: two lists, and the status of everything that has changed
 * since (cri_state.h). It calls `on_change` for the changed pods. list() returns the last state if
 * that is younger than the period and none of our own calls has ended since; otherwise it reads
 * first.
 *
 * Time-outs are upstream's: two minutes; for stop and exec two minutes more than the caller's
 * value; none for pulls. Log folders are created here.
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
	int64_t relist_ms; /* period of reading the state; 1 s */
	struct metrics *metrics; /* or NULL */
	const struct log *log; /* or NULL */
};

/* Connects and reconnects by itself. Returns -ERR_INVALID if the endpoint is not an address. */
int runtime_cri_new(const struct runtime_cri_opts *opts, struct runtime **ret_runtime,
		    struct error *err);

#endif

/*
 * gpu_health - decides the health of one physical GPU from events and polls.
 *
 * Inputs are Xids, polls that NVML answered, and the news that NVML is silent or has lost the GPU.
 * Each becomes a finding. The output is one health with a message and taints, for the GPU and all
 * its partitions. A finding goes away after GPU_GOOD_POLLS polls in a row without its cause, so a
 * flapping cause gives one change.
 *
 *	application Xid: Healthy, no taint. The holder's claim gets a condition.
 *	contained Xid, pending row remapping, long slowdown: Healthy, degraded:None.
 *	fatal Xid: Unhealthy, xid:NoSchedule.
 *	recovery action: Unhealthy, recovery:NoSchedule.
 *	lost: Unhealthy, gpu-lost:NoSchedule, or NoExecute by option.
 *	failed row remapping: Unhealthy, row-remap-failure with the same effect.
 *	NVML is silent: Unknown, unmonitored:NoSchedule.
 *
 * Taint keys have the prefix "gpu.nvidia.com/".
 *
 * Does no I/O and reads no clock. Threads: one at a time.
 */
#ifndef DRIVERS_GPU_HEALTH_HEALTH_H
#define DRIVERS_GPU_HEALTH_HEALTH_H

#include "base/core/buf.h"
#include "drivers/gpu_health/rules.h"

enum { GPU_GOOD_POLLS = 2 };

/* In the order in which messages list them: the most serious first. */
enum gpu_finding {
	GPU_LOST,
	GPU_REMAP_FAILURE,
	GPU_FATAL,
	GPU_RECOVERY,
	GPU_SILENT,
	GPU_CONTAINED,
	GPU_REMAP_PENDING,
	GPU_SLOWDOWN,
	GPU_FINDINGS,
};

enum { GPU_DETAIL_SIZE = 256, GPU_UNSUPPORTED = -1, GPU_WHOLE = -1 };

struct gpu_finding_state {
	bool active;
	uint32_t good; /* polls in a row without the cause */
	uint32_t number; /* the Xid, or the recovery action */
	int64_t at_ns; /* wall time at which it was found */
	char detail[GPU_DETAIL_SIZE]; /* ends the message */
};

/* Read the fields freely; only functions change them. */
struct gpu_health {
	struct gpu_finding_state findings[GPU_FINDINGS];
	bool polled; /* a poll was answered since the driver's start */
	int64_t slow_since_ns; /* wall time of the first poll of a slowdown; 0: not slow */
};

/* Zero means the default. */
struct gpu_health_opts {
	bool evict; /* a GPU that is lost gets NoExecute: its pods end */
	int64_t slow_ns; /* a slowdown this long is a finding; one minute */
};

struct gpu_xid {
	uint32_t xid;
	int32_t gi, ci; /* of a MIG device; GPU_WHOLE */
	uint32_t pid; /* 0: unknown */
	struct str name; /* of the process; may be empty */
	int64_t at_ns; /* wall time */
};

/* The answers of NVML about one GPU. */
struct gpu_poll {
	int32_t recovery; /* NVML's recovery action; GPU_UNSUPPORTED by drivers before R565 */
	bool remap_known; /* NVML does not say while the GPU has MIG instances */
	bool remap_pending, remap_failure;
	uint64_t slowdown; /* clocks event reasons */
};

/* A new GPU is Unknown until the first poll. */
void gpu_health_init(struct gpu_health *h);

/* Each returns whether the view has changed. */
/* Poll soon after any Xid: NVML knows then whether the GPU needs a reset. */
bool gpu_health_note_xid(struct gpu_health *h, const struct gpu_xid *x, const struct xid_rule *r);
bool gpu_health_note_poll(struct gpu_health *h, const struct gpu_poll *p,
			  const struct gpu_health_opts *o, int64_t now_ns);
/* NVML has returned "GPU is lost". */
bool gpu_health_note_lost(struct gpu_health *h, int64_t now_ns);
/* NVML did not answer within `deadline_ms`. */
bool gpu_health_note_silent(struct gpu_health *h, int64_t deadline_ms, int64_t now_ns);

/* --- the result ----------------------------------------------------------------------------- */

enum { GPU_TAINT_VALUE_SIZE = 64, GPU_MESSAGE_SIZE = 2048 };

struct gpu_taint {
	const char *key, *effect; /* constants */
	char value[GPU_TAINT_VALUE_SIZE]; /* may be empty */
};

struct gpu_health_view {
	uint32_t health; /* DP_HEALTHY, DP_UNHEALTHY or DP_UNKNOWN */
	char message[GPU_MESSAGE_SIZE]; /* empty if there is nothing to say */
	struct gpu_taint taints[GPU_FINDINGS];
	size_t ntaints;
};

void gpu_health_view(const struct gpu_health *h, const struct gpu_health_opts *o,
		     struct gpu_health_view *ret_view);

/* Appends one sentence about an Xid, for a condition of the claim whose program caused it. */
void gpu_xid_print(const struct gpu_xid *x, const struct xid_rule *r, struct buf *out);

/* "fatal"; for files. */
const char *gpu_finding_name(enum gpu_finding f);

#endif

/*
 * state - the GPUs of the fake NVML library, in a file that several processes map.
 *
 * Instances outlive the process that made them, as on a card. The environment names the file:
 *
 *   FAKE_NVML_STATE  the file; created with FAKE_NVML_GPUS GPUs if it is missing
 *   FAKE_NVML_GPUS   how many H200 a new file has; default 2
 *   FAKE_NVML_ROOT   a folder that gets the files of a machine with the driver: capabilities in
 *                    /proc, the GPUs in /sys, and a libcuda
 *
 * A lock on the file excludes other processes, a mutex other threads. A process that dies while it
 * holds the lock leaves the state as its last store left it.
 */
#ifndef TESTS_FAKE_NVML_STATE_H
#define TESTS_FAKE_NVML_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FAKE_GPUS = 16,
	FAKE_SLICES = 8, /* memory slices of a GPU, so also its GPU instances at most */
	FAKE_CIS = 8, /* compute instances of a GPU instance */
	FAKE_GI_IDS = 16,
	FAKE_FAULTS = 64,
	FAKE_EVENTS = 1024, /* the latest ones are kept */
	FAKE_PROCESSES = 32,
	FAKE_NAME = 64,
};

#define FAKE_NONE UINT32_MAX

struct fake_process {
	uint32_t pid; /* 0: the entry is free */
	uint32_t gi, ci; /* FAKE_NONE: the whole GPU */
};

struct fake_ci {
	bool used;
	uint32_t profile, start, slices; /* in compute slices of the GPU instance */
};

struct fake_gi {
	bool used;
	uint32_t id, profile, start, size;
	struct fake_ci cis[FAKE_CIS]; /* the index is the id */
};

struct fake_gpu {
	char uuid[FAKE_NAME];
	uint32_t minor;
	bool mig, no_mig; /* switched on; the GPU does not have MIG */
	bool mig_pending, mig_reset; /* the next mode; it needs a reset to take effect */
	uint32_t lost; /* the code that every call returns: 0, 15 or 16 */
	uint32_t recovery;
	bool remap_pending, remap_failed;
	uint64_t clock_reasons;
	uint32_t compute_mode;
	struct fake_gi gis[FAKE_SLICES];
	struct fake_process processes[FAKE_PROCESSES];
};

enum fake_kind {
	FAKE_NO_FAULT,
	FAKE_FAIL,
	FAKE_SLOW,
	FAKE_HANG,
	FAKE_CRASH_BEFORE, /* the process ends at the start of the call */
	FAKE_CRASH_AFTER, /* the call takes effect, but does not return */
};

struct fake_fault {
	enum fake_kind kind;
	char call[FAKE_NAME];
	int64_t code; /* of FAKE_FAIL; milliseconds of FAKE_SLOW */
	int64_t count; /* calls that are left; negative: all */
};

struct fake_event {
	uint32_t gpu, gi, ci;
	uint64_t type, data;
};

struct fake_state {
	uint64_t magic;
	uint32_t gpus_n;
	struct fake_gpu gpus[FAKE_GPUS];
	struct fake_fault faults[FAKE_FAULTS];
	struct fake_event events[FAKE_EVENTS]; /* number n is at n % FAKE_EVENTS */
	uint64_t events_end; /* the number of the next event */
	uint32_t hanging; /* calls that hang now */
	_Atomic uint32_t changes; /* a futex: moves with every command and event */
};

/* Opens the file of the environment, unless it is open. Returns false if that failed. */
bool fake_open(void);
/* Forgets the file, so that the environment may name another one. */
void fake_close(void);

struct fake_state *fake_lock(void);
/* The state while the caller holds the lock. */
struct fake_state *fake_lock_held(void);
void fake_unlock(void);

/* Writes the initial state of `gpus` GPUs. Under the lock. */
void fake_reset(struct fake_state *s, uint32_t gpus);

/* Wakes everybody who waits for a change. Under the lock. */
void fake_changed(struct fake_state *s);
/*
 * Releases the lock, waits for a change after `seen` (at most `ms`; negative: for ever), and takes
 * the lock again. It may return early.
 */
void fake_wait(struct fake_state *s, uint32_t seen, int64_t ms);

void fake_push_event(struct fake_state *s, const struct fake_event *e);

#endif

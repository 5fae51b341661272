/*
 * fake - what the calls of the fake library share: handles, the frame of a call, capability files.
 */
#ifndef TESTS_FAKE_NVML_FAKE_H
#define TESTS_FAKE_NVML_FAKE_H

#include "drivers/nvml/abi.h"
#include "state.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Prototypes of all calls. */
#define FAKE_PROTOTYPE(symbol, parameters) FAKE_EXPORT int symbol parameters;
NVML_CALLS(FAKE_PROTOTYPE)
#undef FAKE_PROTOTYPE
FAKE_EXPORT const char *nvmlErrorString(int code);

/* Runs one command (control.h) in the process that loaded the library. 0, or -1 with *why set. */
FAKE_EXPORT int fake_nvml_command(int argc, const char *const *argv, const char **why);

enum fake_handle { FAKE_GPU, FAKE_GI, FAKE_CI, FAKE_MIG, FAKE_HANDLES };

struct fake_ref {
	enum fake_handle kind;
	uint32_t gpu, gi, ci; /* gi and ci are ids; 0 where the kind has none */
};

void *fake_handle_of(struct fake_ref r);
/* Returns false if it is not a handle of ours. */
bool fake_handle_read(const void *handle, struct fake_ref *r);

/*
 * Begins a call: applies faults, and takes the lock. If it returns a code other than 0 the lock is
 * not held, and the call returns that code. Else the call ends with `return fake_end(..)`.
 */
int fake_begin(const char *symbol, struct fake_state **s);
int fake_end(const char *symbol, int code);

/* The same for a call on a device. Only a GPU: a MIG device is refused as an invalid argument. */
int fake_begin_gpu(const char *symbol, void *device, struct fake_state **s, struct fake_gpu **g);

struct fake_gi *fake_find_gi(struct fake_gpu *g, uint32_t id);
bool fake_has_instances(const struct fake_gpu *g);

/* The files of /proc below FAKE_NVML_ROOT; without that they do nothing. */
void fake_files_init(const struct fake_state *s);
void fake_files_add(const struct fake_gpu *g, uint32_t gi, uint32_t ci);
void fake_files_remove(const struct fake_gpu *g, uint32_t gi, uint32_t ci);

#endif

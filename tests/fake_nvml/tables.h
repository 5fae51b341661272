/*
 * tables - the MIG profiles of an H200, as driver 580 reports them.
 */
#ifndef TESTS_FAKE_NVML_TABLES_H
#define TESTS_FAKE_NVML_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct fake_profile {
	uint32_t number, id;
	const char *name;
	uint32_t slices, multiprocessors, copy_engines, decoders, ofa_engines;
	uint32_t memory_mib;
	uint32_t instances;
	uint32_t size; /* memory slices of a placement */
	uint8_t starts[8];
	uint32_t starts_n;
};

enum { FAKE_PROFILES = 7, FAKE_PROFILE_NUMBERS = 18, FAKE_CI_PROFILES = 9 };

extern const struct fake_profile fake_profiles[FAKE_PROFILES];

/* NULL: the GPU does not have it. */
const struct fake_profile *fake_profile_by_number(uint32_t number);
const struct fake_profile *fake_profile_by_id(uint32_t id);

/*
 * The compute slices and multiprocessors of compute profile `number` in a GPU instance of profile
 * `p`. Returns 0 slices if it does not have that. A compute profile's id is its number.
 */
uint32_t fake_compute_slices(const struct fake_profile *p, uint32_t number,
			     uint32_t *multiprocessors);

/* The GPU instance id of a placement: fixed on one GPU, another one on the next. */
uint32_t fake_gi_id(uint32_t gpu, uint32_t start, uint32_t size);

#endif

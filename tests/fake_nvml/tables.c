/*
 * tables - the MIG profiles of an H200, as driver 580 reports them.
 */
#include "tables.h"

const struct fake_profile fake_profiles[FAKE_PROFILES] = {
	{ 0, 19, "MIG 1g.18gb", 1, 16, 1, 1, 0, 16384, 7, 1, { 0, 1, 2, 3, 4, 5, 6 }, 7 },
	{ 1, 14, "MIG 2g.35gb", 2, 32, 2, 2, 0, 33280, 3, 2, { 0, 2, 4 }, 3 },
	{ 2, 9, "MIG 3g.71gb", 3, 60, 3, 3, 0, 71424, 2, 4, { 0, 4 }, 2 },
	{ 3, 5, "MIG 4g.71gb", 4, 64, 4, 4, 0, 71424, 1, 4, { 0 }, 1 },
	{ 4, 0, "MIG 7g.141gb", 7, 132, 8, 7, 1, 143360, 1, 8, { 0 }, 1 },
	{ 7, 20, "MIG 1g.18gb+me", 1, 16, 1, 1, 1, 16384, 1, 1, { 0, 1, 2, 3, 4, 5, 6 }, 7 },
	{ 9, 15, "MIG 1g.35gb", 1, 26, 1, 1, 0, 33280, 4, 2, { 0, 2, 4, 6 }, 4 },
};

const struct fake_profile *fake_profile_by_number(uint32_t number)
{
	for (size_t i = 0; i < FAKE_PROFILES; i++) {
		if (fake_profiles[i].number == number)
			return &fake_profiles[i];
	}
	return NULL;
}

const struct fake_profile *fake_profile_by_id(uint32_t id)
{
	for (size_t i = 0; i < FAKE_PROFILES; i++) {
		if (fake_profiles[i].id == id)
			return &fake_profiles[i];
	}
	return NULL;
}

uint32_t fake_compute_slices(const struct fake_profile *p, uint32_t number,
			     uint32_t *multiprocessors)
{
	static const uint32_t slices[FAKE_CI_PROFILES] = { 1, 2, 3, 4, 7, 8, 6, 1, 7 };
	/* A one-slice GPU instance with more multiprocessors has a profile of its own: number 7. */
	uint32_t large = p->slices == 1 && p->multiprocessors > 16, n;

	if (number >= FAKE_CI_PROFILES || number == 8 || large != (number == 7))
		return 0;
	n = slices[number];
	*multiprocessors = n == p->slices ? p->multiprocessors : 16 * n;
	return n <= p->slices ? n : 0;
}

uint32_t fake_gi_id(uint32_t gpu, uint32_t start, uint32_t size)
{
	uint32_t count = size == 1 ? 7 : 8 / size, place = start / size;
	uint32_t first = size == 8 ? 0 : size == 4 ? 1 : size == 2 ? 3 : 7;

	return first + (gpu % 2 ? count - 1 - place : place);
}

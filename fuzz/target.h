/*
 * target - what fuzz targets have in common: the entry, and facts that hold whatever comes in.
 */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool fact)
{
	if (!fact)
		abort();
}

#endif

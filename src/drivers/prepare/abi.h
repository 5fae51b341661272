/*
 * abi - structs that a vendor compiled with another version of devplane/driver.h.
 *
 * A struct begins with its size as its author knew it; elements of an array are that far apart.
 * What is read is a copy of our own size: what theirs lacks is zero, what it has beyond is not
 * seen.
 */
#ifndef DRIVERS_PREPARE_ABI_H
#define DRIVERS_PREPARE_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies element `i`; false when its size is below `least`, that of the first version. */
static inline int abi_read(void *ret, size_t size, size_t least, const void *array, size_t i)
{
	uint32_t theirs;

	memcpy(&theirs, array, sizeof(theirs));
	if (theirs < least)
		return 0;
	memset(ret, 0, size);
	memcpy(ret, (const char *)array + (size_t)theirs * i, theirs < size ? theirs : size);
	return 1;
}

/* All structs have the size of the first version today. */
#define ABI_READ(ret, array, i) abi_read((ret), sizeof(*(ret)), sizeof(*(ret)), (array), (i))

#endif

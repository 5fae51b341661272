/*
 * abi - reads structs from a vendor that was compiled with another version of devplane/driver.h.
 *
 * A struct begins with its size in the vendor's version, which is also the stride of arrays.
 * Reading yields a copy of our size: fields that the vendor's struct lacks are zero, and extra
 * fields are ignored.
 */
#ifndef DRIVERS_PREPARE_ABI_H
#define DRIVERS_PREPARE_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies element `i`. Returns false if its size is below `least`, that of the first version. */
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

/* Reads a struct that still has the size of its first version. */
#define ABI_READ(ret, array, i) abi_read((ret), sizeof(*(ret)), sizeof(*(ret)), (array), (i))

/* Reads a struct that has grown: `added` is the first member that its first version lacks. */
#define ABI_READ_GROWN(ret, array, i, added) \
	abi_read((ret), sizeof(*(ret)), offsetof(__typeof__(*(ret)), added), (array), (i))

#endif

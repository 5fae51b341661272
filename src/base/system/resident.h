/*
 * resident - the memory that this process has of its own, and keeping it small.
 *
 * The allocator keeps freed memory for the next that asks. After a client has made a server hold
 * hundreds of MiB, that would be for good.
 * Threads: one at a time.
 */
#ifndef BASE_SYSTEM_RESIDENT_H
#define BASE_SYSTEM_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes in memory that are no file's; 0: the system does not say. */
size_t resident_own(void);

/* Bytes of it that nothing is in: freed, and kept by the allocator. */
size_t resident_freed(void);

struct resident {
	size_t left; /* freed memory that could not be given back: something is beside it */
};

/*
 * For a timer: gives freed memory back if there are so many bytes of it, beyond those that could
 * not be given back the last time. True if it did.
 */
bool resident_trim(struct resident *r, size_t bytes);

#endif

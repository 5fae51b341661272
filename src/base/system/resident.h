/*
 * resident - the private memory of this process, and keeping it small.
 *
 * The allocator keeps freed memory for reuse. After a client has made a server use hundreds of MiB,
 * it would keep that for ever.
 * Threads: one at a time.
 */
#ifndef BASE_SYSTEM_RESIDENT_H
#define BASE_SYSTEM_RESIDENT_H

#include <stdbool.h>
#include <stddef.h>

/* Resident bytes that are not backed by a file; 0 if the system does not report it. */
size_t resident_own(void);

/* Bytes of it that are free: kept by the allocator. */
size_t resident_freed(void);

struct resident {
	size_t left; /* freed memory that could not be returned, because it is fragmented */
};

/*
 * For a timer: returns freed memory to the system if there are at least `bytes` of it, beyond those
 * that could not be returned the last time. Returns true if it did.
 */
bool resident_trim(struct resident *r, size_t bytes);

#endif

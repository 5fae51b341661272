/*
 * uuid - the UIDs of objects: random UUIDs of RFC 9562, version 4.
 *
 * Text is written in lower case, in the form 8-4-4-4-12.
 */
#ifndef BASE_SYSTEM_UUID_H
#define BASE_SYSTEM_UUID_H

#include "base/core/str.h"

struct prng;

struct uuid {
	uint8_t bytes[16];
};

enum { UUID_TEXT_SIZE = 37 }; /* 36 characters and a NUL */

/* From the kernel's generator. Any thread. */
void uuid_make(struct uuid *ret_uuid);

/* From a seeded generator: the same UIDs in every run of a simulation. */
void uuid_make_seeded(struct uuid *ret_uuid, struct prng *g);

/* Writes the text, NUL-terminated, and returns it as a str into `out`. */
struct str uuid_print(const struct uuid *u, char out[static UUID_TEXT_SIZE]);

#endif

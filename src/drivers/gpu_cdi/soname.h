/*
 * soname - reads the name by which programs load a shared library, from its ELF file.
 *
 * Only the headers, the dynamic section and the name are read: the driver's libraries have up to
 * 100 MiB. Every offset comes from the file and is checked. 64-bit little-endian files only.
 */
#ifndef DRIVERS_GPU_CDI_SONAME_H
#define DRIVERS_GPU_CDI_SONAME_H

#include "base/core/error.h"
#include "base/core/str.h"

enum { SONAME_SIZE = 128 };

struct soname {
	uint16_t machine; /* EM_X86_64 .. */
	char name[SONAME_SIZE]; /* a file name without '/' */
};

/* Copies `n` bytes at `at` to `to`. Returns false if the file does not have all of them. */
struct soname_source {
	bool (*read)(void *arg, uint64_t at, void *to, size_t n);
	void *arg;
};

/* -ERR_INVALID: not such a library, or without a name. */
int soname_parse(const struct soname_source *s, struct soname *ret_soname, struct error *err);

/* The same for a file; -ERR_NOT_FOUND or -ERR_IO if it cannot be read. The error names it. */
int soname_read(const char *path, struct soname *ret_soname, struct error *err);

#endif

/*
 * disk_spec - the user's choice of devices to measure, and their capacities.
 *
 *	sda=read:500Mi,write:200Mi        quantities of bytes per second; either may be omitted
 *
 * No I/O.
 */
#ifndef DRIVERS_DISK_SPEC_H
#define DRIVERS_DISK_SPEC_H

#include "base/core/error.h"
#include "drivers/disk/stat.h"

/* Bytes per second; 0: unknown. */
struct disk_capacity {
	char device[DISK_NAME_SIZE];
	int64_t read, write;
};

/* Returns -ERR_INVALID with the reason. */
int disk_capacity_parse(struct str text, struct disk_capacity *ret_capacity, struct error *err);

/* Borrowed while in use. */
struct disk_spec {
	const char *const *patterns; /* globs as in fnmatch(3); none: all hardware */
	size_t npatterns;
	const char *const *excluded;
	size_t nexcluded;
	const struct disk_capacity *capacities;
	size_t ncapacities;
	const char *primary; /* NULL: chosen by capacity */
};

/* A device's properties from /sys/block. */
struct disk_hardware {
	bool whole; /* a disk, not a partition */
	bool device; /* real or virtual hardware */
	bool empty; /* size 0: no medium, or an unused loop device */
};

/* Without patterns: hardware with a medium, except CD and floppy drives. */
bool disk_spec_wants(const struct disk_spec *s, const char *name, const struct disk_hardware *h);

/* Returns NULL if the user did not set it. */
const struct disk_capacity *disk_spec_capacity(const struct disk_spec *s, const char *name);

#endif

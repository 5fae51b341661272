/*
 * disk_spec - which devices are measured and what they can do, as the user says it.
 *
 *	sda=read:500Mi,write:200Mi        quantities of bytes per second; either may be left out
 *
 * Pure.
 */
#ifndef DRIVERS_DISK_SPEC_H
#define DRIVERS_DISK_SPEC_H

#include "base/core/error.h"
#include "drivers/disk/stat.h"

/* Bytes per second; 0: not known. */
struct disk_capacity {
	char device[DISK_NAME_SIZE];
	int64_t read, write;
};

/* -ERR_INVALID says what is wrong with it. */
int disk_capacity_parse(struct str text, struct disk_capacity *ret_capacity, struct error *err);

/* Borrowed for as long as it is used. */
struct disk_spec {
	const char *const *patterns; /* globs as fnmatch(3); n 0: hardware */
	size_t npatterns;
	const char *const *excluded;
	size_t nexcluded;
	const struct disk_capacity *capacities;
	size_t ncapacities;
	const char *primary; /* or NULL: by capacity */
};

/* What /sys/block says of a device. */
struct disk_hardware {
	bool whole; /* a disk, no partition */
	bool device; /* there is hardware behind it, real or a hypervisor's */
	bool empty; /* its size is 0: no medium, an unused loop device */
};

/* Without patterns: hardware with a medium that is neither a CD nor a floppy drive. */
bool disk_spec_wants(const struct disk_spec *s, const char *name, const struct disk_hardware *h);

/* NULL: the user said nothing about it. */
const struct disk_capacity *disk_spec_capacity(const struct disk_spec *s, const char *name);

#endif

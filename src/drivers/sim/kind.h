/* vendor_kind - the kinds of simulated devices (GPUs, NICs, FPGAs) and their attributes. */
#ifndef DRIVERS_SIM_KIND_H
#define DRIVERS_SIM_KIND_H

#include <stdbool.h>

#include "devplane/driver.h"

enum { VENDOR_TEXT = 64, VENDOR_ATTRIBUTES = 10, VENDOR_CAPACITIES = 2 };

struct vendor_profile;

struct vendor_device {
	char name[VENDOR_TEXT]; /* "gpu-0" */
	char uuid[VENDOR_TEXT]; /* the same in every run on the same node */
	char detail[VENDOR_TEXT]; /* depends on the kind: architecture, address, bitstream */
	char bus[VENDOR_TEXT]; /* PCI address */
	unsigned index;
	int numa;
	char *message; /* heap, or NULL */
	bool failed, silent, removed;
	bool fabric; /* in the pool that several nodes reach */
	/* Only for a part of a GPU; see partition.h. */
	const struct vendor_profile *profile; /* NULL: a whole device */
	const struct vendor_device *parent;
	unsigned placement;
};

struct vendor_kind {
	const char *name; /* "gpu" */
	const char *model, *uuid_prefix, *detail_name;
	const char *capacity[VENDOR_CAPACITIES][2]; /* name, quantity; unused ones are NULL */
};

/* Returns NULL if not found. */
const struct vendor_kind *vendor_kind_find(const char *name);

/*
 * Fills in the device with that index. Its UUID is derived from `seed`, so that nodes differ.
 * Devices are named KIND-INDEX.
 */
void vendor_kind_fill(const struct vendor_kind *k, const char *seed, unsigned index, int numa,
		      struct vendor_device *ret_device);

/* Describes the device for the SDK, in arrays provided by the caller. */
void vendor_kind_describe(const struct vendor_kind *k, const struct vendor_device *v,
			  struct dp_attribute *attributes, struct dp_capacity *capacity,
			  struct dp_device *ret_device);

#endif

/*
 * vendor_kind - what the simulated GPUs, NICs and FPGAs say about themselves.
 */
#ifndef DRIVERS_SIM_KIND_H
#define DRIVERS_SIM_KIND_H

#include <stdbool.h>

#include "devplane/driver.h"

enum { VENDOR_TEXT = 64, VENDOR_ATTRIBUTES = 8, VENDOR_CAPACITIES = 2 };

struct vendor_device {
	char name[VENDOR_TEXT]; /* "gpu-0" */
	char uuid[VENDOR_TEXT]; /* the same in every run on the same node */
	char detail[VENDOR_TEXT]; /* the kind's own: architecture, address, bitstream */
	char bus[VENDOR_TEXT]; /* PCI address */
	unsigned index;
	int numa;
	char *message; /* heap; NULL: none */
	bool failed, silent, removed;
};

struct vendor_kind {
	const char *name; /* "gpu" */
	const char *model, *uuid_prefix, *detail_name;
	const char *capacity[VENDOR_CAPACITIES][2]; /* name, quantity; NULL: fewer */
};

/* NULL when there is none of that name. */
const struct vendor_kind *vendor_kind_find(const char *name);

/* Fills the device of that index; `seed` is what makes its uuid another than a neighbour's. */
void vendor_kind_fill(const struct vendor_kind *k, const char *seed, unsigned index, int numa,
		      struct vendor_device *ret_device);

/* What the SDK is told; room for attributes and capacities is the caller's. */
void vendor_kind_describe(const struct vendor_kind *k, const struct vendor_device *v,
			  struct dp_attribute *attributes, struct dp_capacity *capacity,
			  struct dp_device *ret_device);

#endif

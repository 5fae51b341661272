/*
 * kmsg_xid - finds reports of Xids in the kernel's log.
 *
 * NVML reports the MIG instance of an Xid, the kernel's line has the process. The line also comes
 * when NVML hangs. A record of /dev/kmsg, or only its text, looks like this:
 *
 *	4,1181,3151213,-;NVRM: Xid (PCI:0000:00:06): 31, pid=2307, name=train, Ch 00000008, ..
 */
#ifndef DRIVERS_GPU_HEALTH_KMSG_H
#define DRIVERS_GPU_HEALTH_KMSG_H

#include "base/core/str.h"

/* A GPU's place, without the function: the kernel's line does not have it. */
struct kmsg_pci {
	uint32_t domain, bus, device;
};

struct kmsg_xid {
	struct kmsg_pci pci;
	uint32_t xid;
	uint32_t pid; /* 0: unknown */
	struct str name; /* of the process; may be empty; borrowed from the line */
	struct str detail; /* the rest of the line; borrowed */
	uint64_t seq; /* number of the record; 0 without a record's head */
	uint64_t at_us; /* since boot; 0 without a record's head */
};

/* Returns false if the line is not a report of an Xid. */
bool kmsg_xid_read(struct str line, struct kmsg_xid *ret_xid);

/* Reads "0000:00:06", and NVML's "00000000:00:06.0". */
bool kmsg_pci_read(struct str text, struct kmsg_pci *ret_pci);

bool kmsg_pci_equal(const struct kmsg_pci *a, const struct kmsg_pci *b);

#endif

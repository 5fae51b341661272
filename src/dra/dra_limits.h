/*
 * dra_limits - limits of inventory, allocation and availability of devices; see base/core/limits.h.
 */
#ifndef DRA_DRA_LIMITS_H
#define DRA_DRA_LIMITS_H

#include "base/core/limits.h"

/* Devices in the health report of one pod or node; bytes of a node's annotation. */
#define DEVICE_HEALTH_REPORTS_MAX    1024
#define DEVICE_HEALTH_ANNOTATION_MAX (32UL * KIB)

/* Search of the device allocator: devices tried for the claims of one pod on one node. */
#define ALLOCATE_STEPS_MAX 1000000
/* The same on all nodes together, for one attempt to schedule the pod. */
#define ALLOCATE_ATTEMPT_STEPS_MAX 4000000
/* Compiled selectors of claims that are kept, in addition to those in use by an allocation. */
#define INVENTORY_PROGRAMS_MAX      2048
#define INVENTORY_PROGRAM_BYTES_MAX (64UL * MIB) /* applies above half of that number */
/* Cost of evaluating selectors for one attempt to schedule a pod: some 0.3 s. */
#define ALLOCATE_ATTEMPT_COST_MAX 30000000

/*
 * Status of a slice: allocations listed per device, bytes of all those lists, and errors of a pool.
 * Slices with partitions of one device: if there are more, its largest share is not computed.
 * Status of pools on request: entries of a list, and bytes of an error.
 */
#define AVAILABILITY_ALLOCATIONS_MAX 32
#define AVAILABILITY_BYTES_MAX       (512UL * KIB)
#define AVAILABILITY_ERRORS_MAX      32
#define AVAILABILITY_SLICES_MAX      16
#define POOL_STATUS_ITEMS_MAX        32
#define POOL_STATUS_ERROR_MAX        256
#define POOL_STATUS_LIMIT            100 /* pools per reply, unless the request sets it */

#endif

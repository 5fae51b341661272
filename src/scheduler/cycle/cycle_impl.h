/*
 * cycle_impl - private to the files of cycle.
 *
 * While nodes are tried, their verdicts are in the profile's scratch memory, which is as large as
 * the node list. Most cycles succeed and discard them. Only a failed cycle takes the memory over.
 */
#ifndef SCHEDULER_CYCLE_CYCLE_IMPL_H
#define SCHEDULER_CYCLE_CYCLE_IMPL_H

#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/profile_metrics.h"

/*
 * Fills `feasible` and `diagnosis`, after pre_filter. Returns SUCCESS even if no node fits; else
 * ERROR.
 */
struct verdict cycle_find(struct cycle *c, size_t *start);

/* Ends a run: moves the remaining verdicts from the scratch memory to the cycle. */
void cycle_keep_verdicts(struct cycle *c);

/*
 * Returns how many feasible nodes are enough. Percentage 0: adaptive, a smaller share in larger
 * clusters.
 */
size_t cycle_enough(size_t nodes, int32_t percentage);

#endif

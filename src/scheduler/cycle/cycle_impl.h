/*
 * cycle_impl - between the files of cycle.
 *
 * Verdicts of nodes lie in the profile's scratch memory while nodes are tried: it is as long as the
 * node list, and most cycles succeed and need none of it. Only a cycle that failed takes it over.
 */
#ifndef SCHEDULER_CYCLE_CYCLE_IMPL_H
#define SCHEDULER_CYCLE_CYCLE_IMPL_H

#include "scheduler/cycle/cycle.h"
#include "scheduler/framework/profile_impl.h"

/* Fills feasible and diagnosis, after pre_filter. SUCCESS also when none fits; else ERROR. */
struct verdict cycle_find(struct cycle *c, size_t *start);

/* The end of a run: the verdicts, where there are any left, become the cycle's own. */
void cycle_keep_verdicts(struct cycle *c);

/* How many nodes that fit are enough, of so many; percentage 0: fewer in larger clusters. */
size_t cycle_enough(size_t nodes, int32_t percentage);

#endif

/*
 * cluster_random - the randomness of this program, drawn from a seed.
 */
#ifndef SIM_CLUSTER_RANDOM_H
#define SIM_CLUSTER_RANDOM_H

#include <stdint.h>

/* Before anything else is made. */
void cluster_random_begin(uint64_t seed);

#endif
